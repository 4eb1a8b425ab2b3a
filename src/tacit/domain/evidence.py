"""Uses of skills and their results. A grade says who verified a result; self-reports can lower a rank, never raise it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.domain.identity import assign_id


class Grade(StrEnum):
    """Who verified an outcome, strongest first."""

    MACHINE = "machine-verified"
    HUMAN = "human-verified"
    SELF = "self-reported"

    @property
    def verified(self) -> bool:
        """Whether it may raise a rank."""
        return self is not Grade.SELF


class Outcome(StrEnum):
    """How something ended. Unknown never counts as success."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    UNKNOWN = "unknown"


WORTH = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILURE: 0.0}
"""The value of a result; an unknown one counts nothing and is not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The outcome of an attempt, who verified it, and why."""

    outcome: Outcome = Outcome.UNKNOWN
    grade: Grade = Grade.SELF
    verifier: str = ""
    reason: str = ""
    step: int | None = None
    """The step that showed it."""

    @property
    def verified_success(self) -> bool:
        """Whether it is a success that was verified independently of the agent."""
        return self.outcome is Outcome.SUCCESS and self.grade.verified

    @property
    def verified_failure(self) -> bool:
        """Whether it is a failure that was verified independently of the agent."""
        return self.outcome is Outcome.FAILURE and self.grade.verified


class Following(StrEnum):
    """How far a run followed a skill that it was shown."""

    FOLLOWED = "followed"
    PARTLY = "partly"
    IGNORED = "ignored"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The effort of a run."""

    steps: int = 0
    retries: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """These versions were shown to a run through a surface, or held out of it."""

    version_ids: tuple[str, ...]
    task: str
    at: datetime
    surface: str = "api"
    session_id: str = ""
    model: str = ""
    held_back: bool = False
    """Whether they were not shown: for lack of budget, or, with `shares`, as a control."""
    shares: tuple[float, ...] = ()
    """The chance that each version had of being held out at random; empty without a draw."""
    commit: str = ""
    """The commit that was checked out then, where it is known: the baseline of later checks."""
    principal: str = ""
    """The person the agent worked for; empty: the owner of the store."""
    scope: str = ""
    """The scope it was used in."""
    id: str = ""

    def __post_init__(self) -> None:
        assign_id(self, "u", self.version_ids, self.task, self.at, self.surface, self.session_id)


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
    """How far the run followed the skill, 0 to 1; `None` where it was not examined."""
    following: Following | None = None
    """Whether the run followed the skill; if not, it is not credited. `None` where it was not examined."""
    control: bool = False
    """Whether the run is a control, without the skill: it counts for the lift, never for reliability."""
    share: float = 0.0
    """The chance that the run had of being a control; 0 without a draw."""
    effort: Effort | None = None
    task: str = ""
    """A digest of the task: one principal has one vote for one task."""
    principal: str = ""
    scope: str = ""
    weight: float = 1.0
    """The share of the run's credit: less than one where several skills were shown and it is not known which was
    followed."""
    cost_usd: float | None = None
    model: str = ""
    by: str = ""
    note: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        found = (self.version_id, self.outcome, self.grade, self.at)
        assign_id(self, "e", *found, self.use_id, self.trajectory_id, self.by, self.note)


LEAST_TRIALS = 2.5
"""Below this nothing is claimed. Three recent results, the fewest whose interval can exclude one half, weigh 2.9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How often a version helped, as an interval; not known with too little verified evidence."""

    successes: float = 0.0
    trials: float = 0.0
    low: float = 0.0
    high: float = 1.0
    self_reported: int = 0
    """Self-reports; they can lower `low` and `high`, never raise them."""
    votes: int = 0
    """The number of verified results; `trials` is their weight, recent ones more."""
    worked: float = 0.0
    """The number of successes among them, a partial one counting half."""

    @property
    def known(self) -> bool:
        """Whether there is enough verified evidence to claim anything."""
        return self.trials >= LEAST_TRIALS
