"""Remarks: what was noted of a skill or version beside its status, by whom and why. Appended, never changed.

What holds now is the last remark of its sort: a pin stands until it is taken out. Nothing here moves a status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.domain.identity import content_id

_TOLD = 160
_UNWRITTEN = re.compile(r"[^\w .,:%()/-]")
"""What a record from elsewhere never holds: agents read it, and a folder may be called anything."""


class About(StrEnum):
    """The sort of a remark."""

    PIN = "pin"
    """The skill is left alone by all that looks after the library by itself; `text` is empty once that ends."""
    CONTRADICTION = "contradiction"
    """The version and `other` say what cannot both be done; `text` tells the kind and how it was settled."""
    PROMOTION = "promotion"
    """The skill was taken to a broader scope, or nominated for it; `other` is where it came from."""
    CONTRACT = "contract"
    """What the version relies on in its surroundings, as it was found then; `text` is the record of it."""
    FRICTION = "friction"
    """A run met resistance at a step of the version; `other` is the trajectory, `text` the record of it."""
    VALIDATION = "validation"
    """The version was tried again; `text` tells what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing noted."""

    subject: str
    """The id of a skill or version."""
    about: About
    by: str
    at: datetime
    other: str = ""
    text: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            key = (self.subject, self.about, self.by, self.at, self.other, self.text)
            object.__setattr__(self, "id", content_id("n", key))


def noted(remark: Remark) -> dict[str, str]:
    """What a remark on a promotion says; nothing where somebody else wrote it otherwise."""
    try:
        found = json.loads(remark.text)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def record_elsewhere(remarks: Iterable[Remark]) -> str:
    """How a promoted skill had done where it came from, in words; empty where it was not promoted or not measured.

    It is told and never counted: results that a store has not seen are no evidence in it.
    """
    told: dict[str, str] = {}
    for remark in remarks:
        said = noted(remark) if remark.about is About.PROMOTION else {}
        if said.get("record") and said.get("name"):
            told[remark.other] = _UNWRITTEN.sub("", f"in {said['name']} it {said['record']}")[:_TOLD]
    return "; ".join(told.values())


def pinned(remarks: Iterable[Remark]) -> frozenset[str]:
    """Ids of the skills that a person wants left alone: those whose last word on it is not empty."""
    last = {remark.subject: remark.text for remark in remarks if remark.about is About.PIN}
    return frozenset(subject for subject, text in last.items() if text)
