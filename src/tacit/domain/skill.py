"""Skills: a lasting identity, and immutable versions of its content, each named by its hash.

A version never changes; its status does, by appended transitions (see lifecycle). Who wrote each field (its origin) and
which spans it came from (its provenance) travel beside the content and are not part of the content hash, so that a
person's unchanged copy of an exported skill is recognised as the same content.

`FIELD_ROLES` says what each field of a content is for: mining, origins and the checks take their lists from that one table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Flag, StrEnum, auto
from typing import Any

from tacit.domain.errors import Mistake
from tacit.domain.identity import content_id, digest
from tacit.domain.scope import Scope
from tacit.domain.trajectory import Origin, Span, lowest


class FieldRole(Flag):
    """What holds of a field. A field has several roles."""

    SCANNED = auto()
    """The checks read its text. Files are split and decoded separately; declared capabilities are compared, not read."""
    HAS_ORIGIN = auto()
    """It has an origin where it is filled."""
    ONE_ORIGIN = auto()
    """A list of many small entries, which have one origin together: the lowest of theirs."""
    MINED = auto()
    """Mining determines it."""
    DESCRIBES = auto()
    """Mining rewrites it only where no person wrote it."""
    INSTRUCTS = auto()
    """It tells an agent what to do, or when."""
    REQUEST = auto()
    """A person's request or circumstances: they say when a skill is used, not what to do."""
    OBSERVED = auto()
    """It describes what was observed."""
    EXECUTED = auto()
    """An agent carries it out."""
    LOCAL = auto()
    """Its text may tie a skill to one project; names of skills and tools and computed values do not."""
    RECORD = auto()
    """The record of a document has it: nothing in it could be followed."""


SCANNED, HAS_ORIGIN, ONE_ORIGIN, MINED, DESCRIBES, INSTRUCTS, REQUEST, OBSERVED, EXECUTED, LOCAL, RECORD = FieldRole
_TEXT = SCANNED | HAS_ORIGIN
FIELD_ROLES: Mapping[str, FieldRole] = {
    "kind": FieldRole(0),
    "name": _TEXT | LOCAL | RECORD,
    "description": _TEXT | DESCRIBES | LOCAL | RECORD,
    "category": _TEXT | DESCRIBES | RECORD,
    "tags": _TEXT | DESCRIBES | REQUEST | LOCAL | RECORD,
    "example_queries": _TEXT | DESCRIBES | REQUEST | LOCAL,
    "steps": _TEXT | MINED | INSTRUCTS | EXECUTED | LOCAL,
    "parameters": _TEXT | MINED | OBSERVED | EXECUTED | LOCAL,
    "preconditions": _TEXT | MINED | INSTRUCTS | OBSERVED | EXECUTED | LOCAL,
    "postconditions": _TEXT | MINED | INSTRUCTS | OBSERVED | EXECUTED | LOCAL,
    "signature": _TEXT | OBSERVED | LOCAL,
    "cases": _TEXT | MINED | INSTRUCTS | REQUEST | EXECUTED | LOCAL,
    "cues": _TEXT | ONE_ORIGIN | MINED | REQUEST,
    "pitfalls": _TEXT | MINED | INSTRUCTS | OBSERVED | LOCAL,
    "after": _TEXT | ONE_ORIGIN | MINED,
    "sub_skills": _TEXT | MINED,
    "surroundings": _TEXT | ONE_ORIGIN | MINED,
    "extends": _TEXT,
    "body": _TEXT | DESCRIBES | INSTRUCTS | LOCAL,
    "files": HAS_ORIGIN | LOCAL,
    "capabilities": HAS_ORIGIN,
    "allowed_tools": _TEXT,
    "license": _TEXT,
    "compatibility": _TEXT,
    "metadata": _TEXT | RECORD,
    "portable": FieldRole(0),
    "shareable": FieldRole(0),
    "person": LOCAL,
}
"""Field of `SkillContent` → its roles, in the order of the fields."""
ENTRY_NAMES: Mapping[str, str] = {
    "tags": "tag",
    "example_queries": "example query",
    "steps": "step",
    "parameters": "parameter",
    "preconditions": "precondition",
    "postconditions": "postcondition",
    "cases": "case",
    "cues": "cue",
    "pitfalls": "pitfall",
    "after": "predecessor",
    "sub_skills": "part",
    "surroundings": "tool at hand",
    "files": "file",
    "allowed_tools": "allowed tool",
}
"""Field that is a list → what a person calls one entry of it."""


def fields_with(role: FieldRole) -> tuple[str, ...]:
    """Return the fields that have a role, in the order of the table."""
    return tuple(name for name, roles in FIELD_ROLES.items() if role in roles)


def has_role(path: str, role: FieldRole) -> bool:
    """Whether the field of a path, such as `steps.2.arguments`, has a role."""
    return role in FIELD_ROLES.get(path.partition(".")[0], FieldRole(0))


class Kind(StrEnum):
    """What sort of knowledge a skill holds; each kind has its own recall strategy."""

    PROCEDURE = "procedure"
    LESSON = "lesson"
    NORM = "norm"
    PREFERENCE = "preference"
    REFERENCE = "reference"
    FACT = "fact"
    """What sessions show about a project, kept current by counting."""


RULE_KINDS = frozenset({Kind.NORM, Kind.PREFERENCE})
"""Kinds that hold what a person wants."""
STATED_KINDS = RULE_KINDS | {Kind.LESSON}
"""Kinds that are shown as sentences; steps are only added to them."""


ENDS_TASK_TAG = "alone"
"""The tag of a skill that ends the task, such as handing it over, so that no other skill follows it."""
CALL_TAG = "call:"
"""Begins the tag of a lesson that names the form of the call that fails."""
BEFORE_TAG = "before"
"""The tag of a lesson that is worth showing before the call runs."""


def parse_kinds(kinds: Sequence[Kind | str] | str | None) -> tuple[Kind, ...] | None:
    """Read one kind or several; nothing stays nothing, which means all."""
    if kinds is None:
        return None
    try:
        return tuple(Kind(kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    except ValueError as error:
        raise Mistake(str(error), hint=f"the kinds are {', '.join(Kind)}") from None


def parse_names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Read a list of tools' names; nothing stays nothing. A single text is one name, not its letters."""
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value that differs from use to use, and where it is to be found if attempts have shown that."""

    name: str
    description: str = ""
    type: str = "string"
    example: str = ""
    reading: str = ""
    """The tool whose answer holds it; `task` for the words of the task itself; empty where that is not known."""
    key: str = ""
    """Which part of the answer; for the task the shape of the value, as `text.value_lookup` writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Something that must hold before (pre-) or after (postcondition); `check` is a command that shows it, if known.

    Where a tool's answer shows it, `reading` names the tool, `key` the part of the answer, `relation` and `value` what is
    asked of that part; then a program can tell whether it holds (see `text.facts`).
    """

    text: str
    check: str = ""
    reading: str = ""
    """The tool whose answer shows it; `task` for the words of the task itself."""
    key: str = ""
    relation: str = ""
    """`is`, `is not`, `has`, `lacks`, `over` or `under`; empty where only prose is known."""
    value: str = ""
    when: str = ""
    """A word of the task for which alone it is asked; empty: for every task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One situation that calls for a skill: all its conditions hold. Counted over the attempts it was learned from."""

    conditions: tuple[Condition, ...]
    support: int = 0
    """Successful attempts that stood in this case and took the skill."""
    against: int = 0
    """Successful attempts that stood in this case and did without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A word or pair of words of a task that speaks for a skill, or, with a negative weight, against it."""

    term: str
    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "weight", float(self.weight)
        )  # 1 and 1.0 are one weight, and must give one content hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Pitfall:
    """What went wrong in attempts that should have gone this way: the kind of failure, the step at fault, how often."""

    text: str
    kind: str = ""
    step: int | None = None
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillStep:
    """One step: always a text, and the tool call where the source had one. Parameters stand as ``{name}``."""

    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """A bundled file of tier 3, by its path below the skill's folder."""

    path: str
    content: str
    encoding: str = "utf-8"
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a skill may touch, as declared."""

    hosts: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillContent:
    """All that a skill says. Two equal contents have one hash."""

    kind: Kind
    name: str
    description: str
    category: str = ""
    tags: tuple[str, ...] = ()
    example_queries: tuple[str, ...] = ()
    steps: tuple[SkillStep, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    preconditions: tuple[Condition, ...] = ()
    postconditions: tuple[Condition, ...] = ()
    signature: str = ""
    """For a lesson: the error it answers, reduced to its invariant text."""
    cases: tuple[Case, ...] = ()
    """Situations that call for it, any of which is enough; none means that the task's words decide."""
    cues: tuple[Cue, ...] = ()
    """Words of a task that speak for or against it; the cue with an empty term is what holds without any word."""
    pitfalls: tuple[Pitfall, ...] = ()
    after: tuple[str, ...] = ()
    """Names of skills that come before this one where both are needed."""
    sub_skills: tuple[str, ...] = ()
    """Names of the skills it is composed of, in order."""
    surroundings: tuple[str, ...] = ()
    """Tools that were at hand wherever it was used, beside its own: where most of them are, it belongs."""
    extends: str = ""
    """Name of the skill that this one overlays."""
    body: str = ""
    files: tuple[SkillFile, ...] = ()
    capabilities: Capabilities = Capabilities()
    allowed_tools: tuple[str, ...] = ()
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Foreign metadata, kept as it was."""
    portable: bool = False
    """Whether it makes sense outside the project it came from."""
    shareable: bool = True
    person: str = ""
    """Of a preference: whose it is; empty: of whoever works where it is kept."""

    def hash(self) -> str:
        """The content hash that approvals are bound to."""
        return digest(self)


def of_person(content: SkillContent, person: str) -> SkillContent:
    """A preference as that person's, unless it is somebody's already; anything else stays as it is."""
    if content.kind is not Kind.PREFERENCE or content.person or not person:
        return content
    return dataclasses.replace(content, person=person)


READ_INSTRUCTIONS = "instructed"
"""A key of `Provenance.grounding` that is no field: the texts with instructions that an attempt had read before it acted."""


def filled_fields(content: SkillContent) -> dict[str, Any]:
    """Return every field with a value, as path → value; entries of lists each for themselves (``steps.2``)."""
    found: dict[str, Any] = {}
    for each in dataclasses.fields(content):
        value = getattr(content, each.name)
        if isinstance(value, tuple):
            found |= {f"{each.name}.{index}": item for index, item in enumerate(value)}
        elif has_role(each.name, FieldRole.HAS_ORIGIN) and value and value != each.default:
            found[each.name] = value
    return found


def fields_without_origin(content: SkillContent, origins: Mapping[str, Origin]) -> tuple[str, ...]:
    """Return the filled fields without an origin; an entry of a list has one by its parts or by its list."""
    noted = {path.rpartition(".")[0] for path in origins if path.count(".") > 1} | set(origins)
    return tuple(path for path in filled_fields(content) if path not in noted and path.partition(".")[0] not in noted)


def with_default_origins(content: SkillContent, origins: Mapping[str, Origin]) -> dict[str, Origin]:
    """Return the origins, with external for every field that has none."""
    return dict(origins) | dict.fromkeys(fields_without_origin(content, origins), Origin.EXTERNAL)


def lowest_of(content: SkillContent, origins: Mapping[str, Origin]) -> Origin:
    """Return the least trusted origin of any field; a field without an origin counts as external."""
    return Origin.EXTERNAL if fields_without_origin(content, origins) else lowest(origins.values())


OWN_PREFIX = "tacit."
"""The names under which Tacit itself makes and decides something begin with this; nobody else may use it."""
MADE_BY_SYNTHESIS = "tacit.synthesis/1"
"""The `made_by` of what one attempt, or a person's words, gave."""
MADE_BY_MINING = "tacit.mining"
"""How `made_by` begins of what comes from comparing attempts: like runs merged into one procedure, and calls counted."""
MADE_BY_READING = "tacit.reading"
"""How `made_by` begins of what a language model read out of sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a version was made from, by whom, and which spans each field rests on."""

    trajectory_ids: tuple[str, ...] = ()
    grounding: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    """Field path, such as ``steps.2`` → the spans it came from."""
    made_by: str = ""
    """The distiller, importer or person."""
    model: str = ""
    prompt_version: str = ""
    source: str = ""
    """Path or address of an imported file."""

    @property
    def by_tacit(self) -> bool:
        """Whether Tacit itself made it, of attempts or of other versions."""
        return self.made_by.startswith(OWN_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A lasting identity. Its current version is the newest recallable one."""

    id: str
    kind: Kind
    name: str
    scope: Scope
    created_at: datetime

    @classmethod
    def create(cls, content: SkillContent, scope: Scope, *, at: datetime) -> Skill:
        """Give an identity to a first version; the same content in the same scope gives the same skill."""
        identity = content_id("s", (content.kind, scope, content.hash()))
        return cls(id=identity, kind=content.kind, name=content.name, scope=scope, created_at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersion:
    """Immutable content of a skill with its origins, sources and parents."""

    skill_id: str
    content: SkillContent
    origins: Mapping[str, Origin]
    provenance: Provenance
    created_at: datetime
    parents: tuple[str, ...] = ()
    id: str = ""
    hash: str = ""

    def __post_init__(self) -> None:
        if not self.hash:
            object.__setattr__(self, "hash", self.content.hash())
        if not self.id:
            object.__setattr__(self, "id", self.content_id())

    def content_id(self) -> str:
        """Compute the id from skill and content hash, ignoring what the `id` field says."""
        return content_id("v", (self.skill_id, self.hash))

    @property
    def name(self) -> str:
        """The skill's name in this version."""
        return self.content.name

    @property
    def lowest_origin(self) -> Origin:
        """The least trusted origin of any field; one without an origin counts as external."""
        return lowest_of(self.content, self.origins)
