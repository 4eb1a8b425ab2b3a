"""Documents: a file's bytes → its text with sections and pages, in passages that can be cited. Pure but for the PDF reader.

`reading` chooses the reader; `pdf` asks a confined process for the pieces of each page, and `layout` puts them in order;
`html` and `markdown` read by themselves; `sections` and `passages` are the same for all. What was read is somebody else's
text: it is quoted, and nothing in it is obeyed, fetched or run.
"""

from tacit.documents.citations import cited, opening
from tacit.documents.pdf import Limits
from tacit.documents.reading import Reading, read

__all__ = ["Limits", "Reading", "cited", "opening", "read"]
