"""Other people's words on their way out: any value of a line → the same without characters that nobody sees. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from tacit.gate.safety import hidden_characters

_HIDING = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def visible(value: Any) -> Any:
    """Take hidden characters out of every text in a value; a text that hides nothing stays as it is."""
    if isinstance(value, str):
        return "".join(filter(_is_seen, value)) if hidden_characters(value) else value
    if isinstance(value, Mapping):
        return {visible(str(name)): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, list | tuple) else value


def _is_seen(character: str) -> bool:
    return character in "\n\t" or (
        unicodedata.category(character) not in _HIDING and not hidden_characters(f"x{character}")
    )
