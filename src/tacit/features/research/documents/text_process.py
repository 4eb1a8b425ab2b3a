"""The process that makes passages: a text, a page, or what was told of a PDF's pages → one JSON line. Run as a file.

The work is linear in its input as far as it is our own; this holds whatever is not. First line of the input: limits, module
folders, sort and name; the rest is the text. The answer is `{"end": …, "reading": …}` or `{"refused": …}`.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Read one text, as the first line of the input says."""
    request = json.loads(sys.stdin.buffer.readline())
    sys.path.extend(request["modules"])
    import dataclasses

    from tacit.domain.errors import Mistake, Refusal
    from tacit.features.research.documents import pdf, reading
    from tacit.features.research.documents.pdf_process import block_system_access, limit, tell

    limit(request)
    block_system_access([os.path.realpath(folder) for folder in sys.path if folder])
    sort, name = reading.Sort(request["sort"]), str(request["name"])
    try:
        data = sys.stdin.buffer.read()
        if sort is reading.Sort.PDF:
            made = reading.read_pages(pdf.whole(map(json.loads, data.splitlines()), name=name), name=name)
        else:
            made = reading.read_text(sort, data, name=name)
        tell({"end": True, "reading": dataclasses.asdict(made)})
    except (Mistake, Refusal) as error:
        tell({"refused": type(error).__name__, "message": error.message, "hint": error.hint})
    except MemoryError:
        tell({"refused": "memory"})
    except RecursionError:
        tell({"refused": "damaged"})


if __name__ == "__main__":
    main()
