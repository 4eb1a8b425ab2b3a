"""Promotion: what is known of a learning → whether it may move to a broader scope, what is there and what is missing. Pure.

Each rung has a gate that filters harder than the one before. A person may stand in for recurrence and for a second project;
nobody stands in for the judge before global, and a preference never leaves its person. Nothing is moved here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from tacit.domain.errors import TacitError
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.scope import Level
from tacit.domain.skill import Kind, SkillContent
from tacit.maintain.refinement.standing import RULES
from tacit.text.opposition import opposed
from tacit.text.words import term_set, terms

SESSIONS = 3
"""Distinct sessions that must have shown the same learning."""
PROJECTS = 2
SAME_MEANING = 0.72
"""Cosine of two learnings that mean the same; chosen on the written pairs beside the tests, see decision 0039."""
SAME_WORDS = 0.35
"""Shared terms of two learnings that mean the same, where nothing measures meaning."""
TRIVIAL_TERMS = 4
"""A learning without steps or an error that says less than this says nothing."""

Same = Callable[[SkillContent, SkillContent], bool]
"""Whether two contents are the same learning, by meaning and not by wording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A judge's answer: whether a content makes sense in any project, and why."""

    agnostic: bool
    reason: str
    judge: str


Judge = Callable[[SkillContent], Ruling]
"""Looks at a content; whatever keeps it from answering is raised as a `TacitError`, and counts as a no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominee:
    """What is known of a learning that could move up."""

    content: SkillContent
    level: Level
    sessions: Collection[str] = ()
    """Distinct sessions that have shown it."""
    projects: Collection[str] = ()
    contradicted: str = ""
    """By what; empty where by nothing."""
    local: Sequence[str] = ()
    """What ties it to its project, one message each."""
    ruling: Ruling | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A gate's answer: what is there, and what is missing; open where nothing is."""

    to: Level
    there: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it lets the learning through."""
        return not self.missing


def passages(nominee: Nominee, to: Level, *, person: str = "") -> tuple[Passage, ...]:
    """The gates from where a learning is to where it would go, one for each rung; none where it would not go up."""
    rungs = [level for level in Level if nominee.level.breadth < level.breadth <= to.breadth]
    return tuple(_passage(nominee, rung, person=person) for rung in rungs)


def _passage(nominee: Nominee, to: Level, *, person: str) -> Passage:
    if nominee.content.kind is Kind.PREFERENCE and to.breadth > Level.SESSION.breadth:
        return Passage(to=to, missing=("a preference never leaves its person",))
    if nominee.content.kind is Kind.REFERENCE:
        return Passage(to=to, missing=("a document is quoted where it was added, and never promoted",))
    return _GATES[to](nominee, person)


def _to_session(nominee: Nominee, person: str) -> Passage:
    missing = [f"it is contradicted by {nominee.contradicted}"] if nominee.contradicted else []
    missing += ["it says next to nothing"] if is_trivial(nominee.content) else []
    there = () if missing else ("kept at the session's end: not contradicted, not trivial",)
    return Passage(to=Level.SESSION, there=there, missing=tuple(missing))


def _to_project(nominee: Nominee, person: str) -> Passage:
    seen = len(set(nominee.sessions))
    told = f"seen in {seen} of {SESSIONS} distinct sessions"
    if seen >= SESSIONS:
        return Passage(to=Level.PROJECT, there=(f"seen in {seen} distinct sessions",))
    if person:
        return Passage(to=Level.PROJECT, there=(told, f"{person} decides"))
    return Passage(to=Level.PROJECT, there=(told,), missing=(f"{SESSIONS - seen} more, or a person",))


def _to_organisation(nominee: Nominee, person: str) -> Passage:
    seen = len(set(nominee.projects))
    there = [f"seen in {seen} of {PROJECTS} projects" if seen < PROJECTS else f"seen in {seen} projects"]
    there += [] if nominee.local else ["portable by lint"]
    if person:
        return Passage(to=Level.ORGANISATION, there=(*there, f"{person} decides"))
    missing = [f"{PROJECTS - seen} more, or a person"] if seen < PROJECTS else []
    missing += [f"not portable: {message}" for message in nominee.local]
    return Passage(to=Level.ORGANISATION, there=tuple(there), missing=tuple(missing))


def _to_global(nominee: Nominee, person: str) -> Passage:
    ruling = nominee.ruling or Ruling(agnostic=False, reason="no judge has looked at it", judge="")
    told = f"{ruling.judge}: {ruling.reason}" if ruling.judge else ruling.reason
    if ruling.agnostic:
        return Passage(to=Level.GLOBAL, there=(told,))
    return Passage(to=Level.GLOBAL, missing=(f"project-agnostic by a judge ({told})",))


_GATES: dict[Level, Callable[[Nominee, str], Passage]] = {
    Level.SESSION: _to_session,
    Level.PROJECT: _to_project,
    Level.ORGANISATION: _to_organisation,
    Level.GLOBAL: _to_global,
}


def record_told(known: Reliability) -> str:
    """A record in words that go along with a skill; empty where too little was verified to say anything."""
    if not known.known:
        return ""
    return f"worked in {known.worked:g} of {known.votes} verified uses ({known.low:.0%} to {known.high:.0%})"


def doubts(known: Reliability, moves: Iterable[Transition]) -> list[str]:
    """What a version's own record says against taking it further: it works too seldom, or evidence has taken it out before."""
    found = [f"it {record_told(known)}, which is too seldom"] if known.known and known.high < RULES.line else []
    taken = [move for move in moves if move.evidence_ids and move.after in _TAKEN_OUT]
    return found + [f"evidence took it out of use on {move.at:%Y-%m-%d}: {move.reason}" for move in taken[-1:]]


_TAKEN_OUT = frozenset({Status.RETIRED, Status.STALE})


def ruled(content: SkillContent, judges: Sequence[Judge]) -> Ruling:
    """What the judges say together: all must say yes, and no judge, or one that fails, means no."""
    yes: list[Ruling] = []
    for judge in judges:
        try:
            ruling = judge(content)
        except TacitError as error:
            return Ruling(agnostic=False, reason=f"the judge failed: {error.message}", judge="")
        if not ruling.agnostic:
            return ruling
        yes.append(ruling)
    if not yes:
        return Ruling(agnostic=False, reason="no judge has looked at it", judge="")
    return Ruling(
        agnostic=True, reason="; ".join(each.reason for each in yes), judge=" and ".join(each.judge for each in yes)
    )


def is_trivial(content: SkillContent) -> bool:
    """Whether a content says next to nothing: neither steps nor an error, and hardly a word."""
    if content.steps or content.signature or content.sub_skills or content.files:
        return False
    return len(term_set(f"{content.description} {content.body}")) < TRIVIAL_TERMS


def meaning_of(content: SkillContent) -> str:
    """The words that two learnings are compared by: what is said, not what it is called."""
    told = content.body.strip() or " ".join(step.text for step in content.steps)
    return f"{content.description}\n{told}".strip()


def same_learning(left: SkillContent, right: SkillContent, *, nearness: float, least: float) -> bool:
    """Whether two contents are one learning: of one kind, near enough, and not the one turned round into the other."""
    if left.kind is not right.kind or nearness < least:
        return False
    ours, theirs = meaning_of(left), meaning_of(right)
    return ours == theirs or not is_reversed(ours, theirs)


def is_reversed(left: str, right: str) -> bool:
    """Whether two texts that look alike say the opposite: both cannot be done, or two words have changed places.

    Neither words nor vectors see it: "npm, never pnpm" is as near to "pnpm, never npm" as a text can be.
    """
    if opposed(left, right):
        return True
    ours, theirs = terms(left), terms(right)
    if sorted(ours) != sorted(theirs):
        return False
    moved = sum(one != other for one, other in zip(ours, theirs, strict=True))
    return 0 < moved <= len(ours) / 2  # where most words moved, it is told the other way round and means the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One version of a learning, and the sessions that it comes from."""

    version_id: str
    content: SkillContent
    sessions: frozenset[str]


def recurring(sightings: Sequence[Sighting], same: Same) -> list[tuple[Sighting, ...]]:
    """Group what is the same learning; every member of a group is the same as every other, so that meaning does not drift."""
    groups: list[list[Sighting]] = []
    for sighting in sightings:
        fitting = (g for g in groups if all(same(each.content, sighting.content) for each in g))
        group = next(fitting, None)
        if group is None:
            groups.append([sighting])
        else:
            group.append(sighting)
    return [tuple(group) for group in groups]


def sessions_of(group: Sequence[Sighting]) -> frozenset[str]:
    """The distinct sessions of a group; the same one twice counts once."""
    return frozenset().union(*(sighting.sessions for sighting in group))
