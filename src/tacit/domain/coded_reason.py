"""A reason as a code with values. It is stored and compared as text; surfaces turn it into a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Value = str | int | float
_CODED = re.compile(r"([a-z][a-z0-9_]*)(?:: (\{.*\}))?")
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class CodedReason:
    """Why something happened: a code for programs, and the values that a sentence about it needs."""

    code: str
    values: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.values:
            return self.code
        return f"{self.code}: {json.dumps(self.values, ensure_ascii=False, sort_keys=True)}"


def coded(code: str, **values: Value) -> CodedReason:
    """Return a reason with these values; fractions are rounded, because they are stored as text."""
    return CodedReason(str(code), {key: round(v, _DIGITS) if isinstance(v, float) else v for key, v in values.items()})


def joined_text(reasons: Iterable[CodedReason]) -> str:
    """Return several reasons as one text, a line each: the form that a transition stores."""
    return "\n".join(map(str, reasons))


def parse_reasons(text: str) -> list[CodedReason] | None:
    """Read a stored text back; None where it is a sentence that a person or an older version wrote."""
    found: list[CodedReason] = []
    for line in text.split("\n"):
        match = _CODED.fullmatch(line)
        if match is None:
            return None
        try:
            found.append(CodedReason(match[1], json.loads(match[2]) if match[2] else {}))
        except ValueError:
            return None
    return found
