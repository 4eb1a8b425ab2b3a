"""What is asked of memory, and what it answers: a ranked selection with reasons, or an explained nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.document import Passage
from tacit.domain.errors import Mistake
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Scope
from tacit.domain.skill import Capabilities, Kind, SkillStep, SkillVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A task with its state, scope, tools at hand and budget."""

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
    """The language model that will use it, where known: evidence from that model counts, exclusions of it hold."""
    without: tuple[str, ...] = ()
    """Ids of versions or skills, or names, that are taken as absent."""
    allowed: Capabilities | None = None
    """What the caller may touch: whatever needs more is not weighed at all. Nothing: all may be touched."""
    person: str = ""
    """Who is helped: preferences of anybody else are not weighed. Nobody in particular sees only those of everybody."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise Mistake(f"a task is a text, not {type(self.text).__name__}", hint='recall("add a column")')
        if not isinstance(self.person, str):
            raise Mistake(f"a person is named by a text, not {type(self.person).__name__}", hint='person="ann"')
        if not isinstance(self.state, Mapping):
            raise Mistake("a state is a mapping", hint='state={"error": "…", "files": ["app.py"]}')
        if self.allowed is not None and not isinstance(self.allowed, Capabilities):
            raise Mistake("an allowance is `Capabilities`", hint='Capabilities(hosts=("api.example.com",))')
        if self.min_reliability is not None and not 0 <= self.min_reliability <= 1:
            raise Mistake("a reliability lies between 0 and 1", hint="min_reliability=0.8")


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
    """The skills that a composite is made of, in order; those that may not be used now are missing."""
    tied_with: tuple[str, ...] = ()
    """Names of neighbours that fit as well: which of them is right is for the reader to decide."""
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
    reason: str
    score: float = 0.0
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Budget:
    """What one kind may take of the room for an answer, and what it took."""

    kind: Kind
    share: float
    """The part of all room that it may take at most."""
    allowed_tokens: int
    """The same in tokens; what other kinds took before it is not taken off."""
    used_tokens: int = 0
    given: int = 0
    left_out: int = 0
    """Items that would have been given and found no room."""


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
    reason: str = ""
    lacking: tuple[str, ...] = ()
    """Tools that what is called for most needs, and that are not at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Ranked items within the budget, what was left out and why, or an explained abstention."""

    query: Query
    items: tuple[Item, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    reason: str = ""
    """Why it abstained; empty otherwise."""
    confidence: float = 0.0
    """How likely it is that the best of all that was weighed fits, 0 to 1, whether it was given or not."""
    standing: tuple[Item, ...] = ()
    """Norms that hold for whatever is done in this scope; given beside what was matched."""
    note: str = ""
    """What could not be asked, such as an embedder that did not answer."""
    budgets: tuple[Budget, ...] = ()
    """How the room was shared out among the kinds; empty where nothing was weighed."""
    crowded_out: tuple[str, ...] = ()
    """Names of norms that hold here and found no room in their share."""
    plan: Plan = Plan()
    """How skills that know which tasks call for them are put together for this one; empty where there are none."""
    text: str = ""
    """The whole block for the agent's context."""
    tokens: int = 0
    use_id: str = ""

    @property
    def version_ids(self) -> tuple[str, ...]:
        """All versions that were matched and are shown, the parts of composites too, each once.

        What stands for every task earns nothing by one: it is not among them.
        """
        shown = (version for item in self.items for version in (item.version, *item.parts))
        return tuple(dict.fromkeys(version.id for version in shown))

    @property
    def abstained(self) -> bool:
        """Whether nothing fitted the task; norms may stand all the same."""
        return not self.items
