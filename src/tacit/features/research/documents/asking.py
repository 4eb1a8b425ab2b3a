"""Asking: a file's bytes → its reading, by processes with limits that can do nothing else. Only what they say comes here."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from tacit.domain.document import Passage
from tacit.domain.errors import Mistake, Refusal
from tacit.features.research.documents.confined import Limits, answers, overtaxed
from tacit.features.research.documents.pdf import Progress, pages_told
from tacit.features.research.documents.reading import Reading, Sort, sort_of


def read(
    data: bytes, *, name: str, media_type: str = "", limits: Limits | None = None, progress: Progress | None = None
) -> Reading:
    """Read a file; raises `Refusal` where that cannot be done and `Mistake` where it is of no sort that is known."""
    limits = limits or Limits()
    sort = sort_of(data, name=name, media_type=media_type)
    if sort is Sort.PDF:
        told = pages_told(data, name=name, limits=limits, progress=progress)
        data = b"\n".join(json.dumps(answer).encode() for answer in told)
    asked = {"sort": sort, "name": name}
    last: dict[str, Any] = {}
    for last in answers("text_process.py", data, name=name, limits=limits, told=asked):
        if "refused" in last:
            raise _refusal(name, last, limits)
    return _reading(last["reading"])


def _refusal(name: str, answer: dict[str, Any], limits: Limits) -> Refusal | Mistake:
    why, hint = str(answer["refused"]), str(answer.get("hint", ""))
    if why in ("Mistake", "Refusal"):
        return (Mistake if why == "Mistake" else Refusal)(str(answer["message"]), hint=hint)
    return overtaxed(name, why, limits) or Refusal(
        f"{name} cannot be read", hint="save it anew, as plain text if need be"
    )


def _reading(told: dict[str, Any]) -> Reading:
    fields = {field.name: told[field.name] for field in dataclasses.fields(Reading)}
    fields |= {name: tuple(told[name]) for name in ("authors", "notes")}
    return Reading(**fields | {"passages": tuple(Passage(**each) for each in told["passages"])})
