r"""Files before and after → one patch that `git apply` and `patch -p1` take, in the repository's root. Pure.

Lines end where their files end them, a file without a last line end is told as such, and paths with spaces or other
scripts are written as both programs read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from tacit.features.cards.graduation.text_file import Change

CONTEXT = 3
_NO_END = "\\ No newline at end of file\n"
_QUOTED = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}
_NEEDS_QUOTES = re.compile(r'[\x00-\x1f\x7f"\\]')


def make_patch(changes: Sequence[Change]) -> bytes:
    """Write the changes as one patch; without changes it is empty."""
    return "".join(part for change in changes for part in _file(change)).encode()


def lines_of(data: bytes | None) -> list[str]:
    """The lines of a file with their ends; only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", (data or b"").decode())


def _file(change: Change) -> Iterator[str]:
    if change.before == change.after:
        return
    old, new = f"a/{change.path}", f"b/{change.path}"
    yield f"diff --git {_name(old)} {_name(new)}\n"
    if change.before is None:
        yield "new file mode 100644\n"
    if change.after is None:
        yield "deleted file mode 100644\n"
    yield f"--- {_ended(old) if change.before is not None else '/dev/null'}\n"
    yield f"+++ {_ended(new) if change.after is not None else '/dev/null'}\n"
    before, after = lines_of(change.before), lines_of(change.after)
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from _signed(" ", before[start:end])
            else:
                yield from _signed("-", before[start:end])
                yield from _signed("+", after[new_start:new_end])


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_END}"


def _range(start: int, end: int) -> str:
    """Where a hunk stands: an empty one is told by the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"


def _ended(path: str) -> str:
    """A path in a line of its own; a tab tells where one with blanks ends."""
    name = _name(path)
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _name(path: str) -> str:
    if not _NEEDS_QUOTES.search(path):
        return path
    return '"' + _NEEDS_QUOTES.sub(lambda found: "\\" + _escape(found[0]), path) + '"'


def _escape(character: str) -> str:
    return _QUOTED.get(character) or f"{ord(character):03o}"
