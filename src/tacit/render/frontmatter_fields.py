"""The values of a front matter, as both its reader and its writer know them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Plain = str | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Field:
    """One value of the front matter, the line it starts on, and whether it was written as a block (``|`` or ``>``)."""

    data: Plain
    line: int
    block: bool = False


_SURROGATE = re.compile("[\ud800-\udfff]")


def holds_surrogate(value: object) -> bool:
    """Whether a text, or one inside lists, tuples and maps, holds half a character, which has no UTF-8 form."""
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(holds_surrogate(each) for pair in value.items() for each in pair)
    return isinstance(value, list | tuple) and any(map(holds_surrogate, value))
