"""Uses of skills and what came of them. Grades say who vouches; self-reports can lower a rank, never raise it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.domain.identity import content_id


class Grade(StrEnum):
    """Who vouches for an outcome, strongest first."""

    MACHINE = "machine-verified"
    HUMAN = "human-verified"
    SELF = "self-reported"

    @property
    def verified(self) -> bool:
        """Whether it may raise a rank."""
        return self is not Grade.SELF


class Outcome(StrEnum):
    """How something ended. Unknown is an honest answer and never counts as success."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    UNKNOWN = "unknown"


WORTH = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILURE: 0.0}
"""What a result counts; one that nobody knows counts nothing, and is not in here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What is known of an attempt's outcome, on whose word, and why."""

    outcome: Outcome = Outcome.UNKNOWN
    grade: Grade = Grade.SELF
    verifier: str = ""
    reason: str = ""
    step: int | None = None
    """The step that showed it."""

    @property
    def verified_success(self) -> bool:
        """Success that somebody other than the agent vouches for."""
        return self.outcome is Outcome.SUCCESS and self.grade.verified

    @property
    def verified_failure(self) -> bool:
        """Failure that somebody other than the agent vouches for."""
        return self.outcome is Outcome.FAILURE and self.grade.verified


class Following(StrEnum):
    """How a run stands to a skill that it was shown."""

    FOLLOWED = "followed"
    PARTLY = "partly"
    IGNORED = "ignored"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What a run took."""

    steps: int = 0
    retries: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """These versions were shown to that run through this surface (or held back from it)."""

    version_ids: tuple[str, ...]
    task: str
    at: datetime
    surface: str = "api"
    session_id: str = ""
    model: str = ""
    held_back: bool = False
    """Whether they were not shown: for want of room, or, with `shares`, as a control."""
    shares: tuple[float, ...] = ()
    """The chance that each version had of being held back, by lot; empty where no lot was drawn."""
    commit: str = ""
    """What was checked out at that moment, where that is known: a check is held against it."""
    principal: str = ""
    """On whose behalf the agent worked; empty: the store's own person."""
    scope: str = ""
    """Where it was used."""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            key = (self.version_ids, self.task, self.at, self.surface, self.session_id)
            object.__setattr__(self, "id", content_id("u", key))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A result of a use of one version."""

    version_id: str
    outcome: Outcome
    grade: Grade
    at: datetime
    use_id: str = ""
    trajectory_id: str = ""
    verifier: str = ""
    adherence: float | None = None
    """How far the run followed the skill, 0 to 1; `None` where nobody looked."""
    following: Following | None = None
    """How the run stands to the skill; only what was followed is credited. `None` where nobody looked."""
    control: bool = False
    """Whether the skill was held back from the run by lot: it tells of the runs without it, never of its reliability."""
    share: float = 0.0
    """The chance that the run had of going without the skill; 0: no lot was drawn."""
    effort: Effort | None = None
    task: str = ""
    """A digest of what was asked: one principal has one vote for one task."""
    principal: str = ""
    scope: str = ""
    weight: float = 1.0
    """The share of the run's credit: less than one where several skills were shown and nobody said which was followed."""
    cost_usd: float | None = None
    model: str = ""
    by: str = ""
    note: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            key = (
                self.version_id,
                self.outcome,
                self.grade,
                self.at,
                self.use_id,
                self.trajectory_id,
                self.by,
                self.note,
            )
            object.__setattr__(self, "id", content_id("e", key))


LEAST_TRIALS = 2.5
"""Below this nothing is claimed: three recent results, the fewest whose interval can be clear of one half, weigh 2.9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How often a version helped, as an interval. Too little verified evidence means: not known."""

    successes: float = 0.0
    trials: float = 0.0
    low: float = 0.0
    high: float = 1.0
    self_reported: int = 0
    """Reports without a verifier; they can pull `low` and `high` down, never up."""
    votes: int = 0
    """How many verified results there are; `trials` is what they weigh, recent ones more."""
    worked: float = 0.0
    """How many of them were successes, a partial one counting half."""

    @property
    def known(self) -> bool:
        """Whether there is enough verified evidence to claim anything."""
        return self.trials >= LEAST_TRIALS
