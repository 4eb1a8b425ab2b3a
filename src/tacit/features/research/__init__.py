"""Research: documents and papers that agents may cite. A file, an address or an identifier → a reference with its passages.

`gathering` reads and looks up, `keeping` puts what came of it through the gate's door. A document is quoted, never obeyed:
all of it has external origin, and it is never promoted.
"""

from tacit.features.research.document_sources import Papers, Said
from tacit.features.research.research import Added, Research, Withheld

__all__ = ["Added", "Papers", "Research", "Said", "Withheld"]
