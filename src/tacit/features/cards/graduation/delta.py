"""Two states of a file → what has to be put back to get from the later one to the earlier one, byte for byte. Pure.

Kept in the ledger, so that an undo needs neither git nor a copy of the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from tacit.domain.errors import StoreOutage
from tacit.features.cards.graduation.patch import lines_of
from tacit.features.cards.graduation.text_file import fingerprint

Delta = Mapping[str, Any]


def way_back(before: bytes | None, after: bytes | None) -> dict[str, Any]:
    """How the earlier state is made from the later one."""
    if before is None:
        return {"was": "", "is": fingerprint(after), "edits": []}
    old, new = lines_of(before), lines_of(after)
    edits = [
        [start, end, "".join(old[old_start:old_end])]
        for tag, start, end, old_start, old_end in SequenceMatcher(None, new, old).get_opcodes()
        if tag != "equal"
    ]
    return {"was": fingerprint(before), "is": fingerprint(after), "edits": edits}


def put_back(delta: Delta, after: bytes) -> bytes | None:
    """The earlier state; the later one has to be just what it was."""
    if not delta["was"]:
        return None
    lines = lines_of(after)
    edits: Sequence[Sequence[Any]] = delta["edits"]
    for start, end, text in reversed(edits):
        lines[int(start) : int(end)] = [str(text)]
    before = "".join(lines).encode()
    if fingerprint(before) != delta["was"]:
        raise StoreOutage("the record of a backport does not lead back to what was there", hint="see `tacit verify`")
    return before
