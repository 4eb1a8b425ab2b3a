"""What the loop answers: what was captured, what one pass of learning did, what was activated. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import render as application
from tacit.domain.candidate import Decision, Relation, Verdict
from tacit.domain.lifecycle import Transition
from tacit.domain.model import Spending

if TYPE_CHECKING:  # the values name what they hold, and need nothing that makes it
    from tacit.learn import language
    from tacit.learn.single_attempt import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Helped:
    """What a language model did in one pass of learning, and what it took."""

    name: str
    news: int = 0
    """Candidates that were there to be worded; those known before are not asked about again."""
    worded: int = 0
    """How many of these it worded; the others stand as they were mined."""
    proposed: int = 0
    """Lessons that it found where mining had not."""
    spent: Spending = Spending()
    remarks: tuple[language.Remark, ...] = ()
    """What was not taken, or did not come, and why."""
    stopped: bool = False
    """Whether a limit, or too many failures, ended the asking before the pass was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What one pass of learning did, with every reason."""

    trajectories: int = 0
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[Note, ...] = ()
    model: Helped | None = None
    """What a language model did, if one was there."""
    settled: tuple[Transition, ...] = ()
    """What verified evidence has moved since: trusted, back on trial, suspended, retired."""

    def _decided(self, decision: Decision) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.decision is decision and v.relation is not Relation.REINFORCE)

    @property
    def accepted(self) -> tuple[Verdict, ...]:
        """On trial now."""
        return self._decided(Decision.ACCEPT)

    @property
    def held(self) -> tuple[Verdict, ...]:
        """Waiting for a person."""
        return self._decided(Decision.HOLD)

    @property
    def quarantined(self) -> tuple[Verdict, ...]:
        """Set apart as suspicious."""
        return self._decided(Decision.QUARANTINE)

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        """Not made into skills, with the reason."""
        return self._decided(Decision.REJECT)

    @property
    def reinforced(self) -> tuple[Verdict, ...]:
        """Seen again; what is known already says it."""
        return tuple(v for v in self.verdicts if v.relation is Relation.REINFORCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """An activated skill."""

    entry: application.Entry
    text: str
    files: tuple[str, ...]
    tools: application.GatedTools | None
    use_id: str = ""
    """What its outcome is recorded under; empty for a static skill."""

    def read(self, path: str) -> bytes:
        """Read one of its files."""
        return application.read_file(self.entry, path)
