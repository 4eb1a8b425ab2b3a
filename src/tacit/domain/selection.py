"""What recall is asked, and what it answers: ranked skills with reasons, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Scope
from tacit.domain.skill import Capabilities, Kind, SkillStep, SkillVersion
from tacit.domain.stored import Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A task with its state, scope, available tools and budget."""

    text: str
    k: int = 3
    budget_tokens: int = 1500
    scope: Scope = Scope()
    state: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    category: str = ""
    min_reliability: float | None = None
    model: str = ""
    """The language model that will use the skills, if known: its own evidence counts, its exclusions apply."""
    without: tuple[str, ...] = ()
    """Ids of versions or skills, or names, to leave out."""
    allowed: Capabilities | None = None
    """What the caller may touch: a skill that needs more is not considered. `None` allows everything."""
    person: str = ""
    """Whose preferences count. Empty: only preferences that hold for everyone."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise Mistake(
                f"a task is a text, not {type(self.text).__name__}", code="task_not_text", hint='recall("add a column")'
            )
        if not isinstance(self.person, str):
            raise Mistake(
                f"a person is named by a text, not {type(self.person).__name__}",
                code="person_not_text",
                hint='person="ann"',
            )
        if not isinstance(self.state, Mapping):
            raise Mistake(
                "a state is a mapping", code="state_not_mapping", hint='state={"error": "…", "files": ["app.py"]}'
            )
        if self.allowed is not None and not isinstance(self.allowed, Capabilities):
            raise Mistake(
                "an allowance is `Capabilities`", code="bad_allowance", hint='Capabilities(hosts=("api.example.com",))'
            )
        if self.min_reliability is not None and not 0 <= self.min_reliability <= 1:
            raise Mistake("a reliability lies between 0 and 1", code="bad_reliability", hint="min_reliability=0.8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One recalled version with the signals that carried it."""

    version: SkillVersion
    status: Status
    score: float
    signals: Mapping[str, float]
    reasons: tuple[str, ...]
    text: str
    """As the agent will see it."""
    tokens: int
    reliability: Reliability = Reliability()
    parts: tuple[SkillVersion, ...] = ()
    """The skills that a composite consists of, in order, without those that may not be used now."""
    tied_with: tuple[str, ...] = ()
    """Names of skills that fit equally well; the reader decides which one is right."""
    passages: tuple[Passage, ...] = ()
    """Of a document: what is quoted, in the order of the quotations."""

    @property
    def name(self) -> str:
        """The skill's name."""
        return self.version.content.name

    @property
    def steps(self) -> tuple[SkillStep, ...]:
        """The skill's steps."""
        return self.version.content.steps

    @property
    def version_id(self) -> str:
        """Which version it is."""
        return self.version.id


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A version that was considered and not given, and why."""

    version_id: str
    name: str
    code: ReasonCode
    reason: str
    """The code in English."""
    score: float = 0.0
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Budget:
    """What one kind may take of the token budget, and what it took."""

    kind: Kind
    share: float
    """The part of the budget that it may take; what matches may take more where other kinds leave it."""
    allowed_tokens: int
    """The same in tokens; what other kinds took before it is not taken off."""
    used_tokens: int = 0
    given: int = 0
    left_out: int = 0
    """Items that did not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A skill in the plan: how often it is to be done, and how strongly the task calls for it."""

    version_id: str
    name: str
    times: int
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step of the plan, by the skill version and the number of the step in it; `turn` counts repeats from 0."""

    version_id: str
    step: int
    tool: str
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do, in order; empty with a reason where nothing fits."""

    chosen: tuple[Chosen, ...] = ()
    steps: tuple[PlannedStep, ...] = ()
    strengths: Mapping[str, float] = field(default_factory=dict)
    """Version id → strength, of all parts that had cues, the strongest first."""
    code: ReasonCode | None = None
    """Why it is empty or incomplete."""
    reason: str = ""
    alternatives: tuple[tuple[PlannedStep, ...], ...] = ()
    """What successes at similar tasks did instead, with the same skills, the most similar task first."""
    lacking: tuple[str, ...] = ()
    """Tools that the best matching skills need and that are not available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSkill:
    """A static skill that fits: a file that people keep in the project, which Tacit has neither reviewed nor stored."""

    name: str
    description: str
    path: str
    """Of its SKILL.md, within the project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Ranked items within the budget, what was left out and why, or an explained abstention."""

    query: Query
    items: tuple[Item, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    code: ReasonCode | None = None
    """Why it abstained; nothing otherwise."""
    reason: str = ""
    """The same in English."""
    confidence: float = 0.0
    """How likely the best candidate fits, 0 to 1, whether it was given or not."""
    standing: tuple[Item, ...] = ()
    """Norms that hold for every task in this scope; given in addition to the matches."""
    note: str = ""
    """What recall could not use, such as an embedder that did not answer."""
    budgets: tuple[Budget, ...] = ()
    """How the token budget was divided among the kinds; empty where nothing was ranked."""
    crowded_out: tuple[str, ...] = ()
    """Names of norms that hold here and did not fit into their share of the budget."""
    static: tuple[StaticSkill, ...] = ()
    """Static skills that fit, too; named in the text where the budget has space left."""
    plan: Plan = Plan()
    """How skills with cues are combined for this task; empty where there are none."""
    text: str = ""
    """The whole block for the agent's context."""
    tokens: int = 0
    use_id: str = ""

    @property
    def version_ids(self) -> tuple[str, ...]:
        """All matched versions that are shown, including the parts of composites, each once.

        Norms that hold for every task are not included: one task's outcome says nothing about them.
        """
        shown = (version for item in self.items for version in (item.version, *item.parts))
        return tuple(dict.fromkeys(version.id for version in shown))

    @property
    def abstained(self) -> bool:
        """Whether nothing matched the task; norms may be given nevertheless."""
        return not self.items
