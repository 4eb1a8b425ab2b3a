"""Documents: a file's bytes → its text with sections and pages, in passages that can be cited. Pure but for the processes.

`asking` has a file read by processes that can do nothing else: `pdf_process` tells the pieces of a PDF's pages, and
`text_process` makes passages of them, of a page or of a text. There `reading` chooses the reader: `layout` puts pieces in
order, `html` and `markdown` read by themselves; `sections` and `passages` are the same for all. What was read is somebody
else's text: it is quoted, and nothing in it is obeyed, fetched or run.
"""

from tacit.features.research.documents.confined_process import Limits
from tacit.features.research.documents.passages import cited, opening
from tacit.features.research.documents.reading import Reading, read

__all__ = ["Limits", "Reading", "cited", "opening", "read"]
