"""The lifecycle of a version: which status may follow which.

A version begins as candidate, quarantined, rejected or on trial; evidence makes it trusted or stale, and it ends retired
(`LIFECYCLE` has every step). Trial and trusted versions can be recalled. Nothing is deleted: a rejected version can wait
again as it did before, a stale or retired one can be restored to trial. A status changes only by an appended `Transition`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tacit.domain.errors import IllegalTransition
from tacit.domain.identity import assign_id

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


class Status(StrEnum):
    """The status of a version."""

    CANDIDATE = "candidate"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"
    TRIAL = "trial"
    TRUSTED = "trusted"
    STALE = "stale"
    RETIRED = "retired"


RECALLABLE = frozenset({Status.TRIAL, Status.TRUSTED})
WAITING = frozenset({Status.CANDIDATE, Status.QUARANTINED})

LIFECYCLE: dict[Status | None, frozenset[Status]] = {
    None: frozenset({Status.CANDIDATE, Status.QUARANTINED, Status.REJECTED, Status.TRIAL}),
    Status.CANDIDATE: frozenset({Status.TRIAL, Status.QUARANTINED, Status.REJECTED}),
    Status.QUARANTINED: frozenset({Status.TRIAL, Status.REJECTED}),
    Status.REJECTED: frozenset({Status.CANDIDATE, Status.QUARANTINED}),
    Status.TRIAL: frozenset({Status.TRUSTED, Status.STALE, Status.RETIRED, Status.QUARANTINED, Status.CANDIDATE}),
    Status.TRUSTED: frozenset({Status.TRIAL, Status.STALE, Status.RETIRED, Status.QUARANTINED, Status.CANDIDATE}),
    Status.STALE: frozenset({Status.TRIAL, Status.RETIRED, Status.QUARANTINED}),
    Status.RETIRED: frozenset({Status.TRIAL, Status.STALE}),
}
"""From → to. `None` is the creation of a version. Trusted is reached from trial only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """An appended change of status, with its reason and its evidence.

    `reason` is text: codes as `coded` makes them where Tacit decides, or the words of a person.
    """

    version_id: str
    content_hash: str
    before: Status | None
    after: Status
    reason: str
    by: str
    at: datetime
    evidence_ids: tuple[str, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        assign_id(self, "x", self.version_id, self.before, self.after, self.reason, self.by, self.at)


def check_transition(before: Status | None, after: Status) -> None:
    """Raise unless the table allows this change."""
    if after not in LIFECYCLE[before]:
        allowed = ", ".join(sorted(LIFECYCLE[before]))
        raise IllegalTransition(
            f"a {before or 'new'} version cannot become {after}",
            hint=f"from {before or 'new'} it may become: {allowed}",
        )
