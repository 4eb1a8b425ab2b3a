"""Promotion rules: may a skill move to a broader scope, what is fulfilled and what is missing, and are two skills the same?

Each scope has a gate that is stricter than the one before. A person can replace recurrence and a second project;
nothing replaces the judge before global, and a preference never leaves its person.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import mul

from tacit.config.settings import Policy
from tacit.domain.errors import TacitError
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import CodedReason, Status, Transition, coded
from tacit.domain.ports import Embedder, LanguageModel
from tacit.domain.reach import CARD
from tacit.domain.scope import Level
from tacit.domain.skill import Kind, SkillContent
from tacit.gate.duplicates import similarity
from tacit.learn.reading.prompt_files import prompt_file
from tacit.maintain.portability import ProjectFacts, portability
from tacit.maintain.status_changes import STATUS_RULES
from tacit.text.opposition import opposed
from tacit.text.similarity import text_similarity
from tacit.text.words import term_set, terms

SESSIONS = 3
"""Distinct sessions that must have learned the same."""
PROJECTS = 2
SAME_MEANING = 0.72
"""Cosine of two skills with the same meaning; chosen on labelled pairs, see decision 0039."""
SAME_WORDS = 0.35
"""Shared terms of two skills with the same meaning, where there is no embedder."""
TRIVIAL_TERMS = 4
"""A skill without steps or an error signature is trivial with fewer terms than this."""
AGNOSTIC_PROMPT = "agnostic-1"
_EMBEDDED_CHARS = 600
"""An embedder reads a few hundred words at most."""
_PROJECT_FILE = re.compile(
    r"(?<![\w/.:{<>~$-])(?!path/|node_modules/|dist/|build/)(?:[\w-]{1,64}/){1,12}[\w.-]{1,64}\.[a-z]\w{0,4}\b"
)
_THIS_PROJECT = re.compile(
    r"\b(?:this|our) (?:repo(?:sitory)?|project|codebase|monorepo|team|app|company|product)\b", re.IGNORECASE
)
_TAKEN_OUT = frozenset({Status.RETIRED, Status.STALE})

Same = Callable[[SkillContent, SkillContent], bool]
"""Whether two contents mean the same, whatever their wording."""


class PromotionReason(StrEnum):
    """What a gate found fulfilled or missing, and what objects to a promotion."""

    NOT_CONTRADICTED = "not_contradicted"
    CONTRADICTED_BY = "contradicted_by"
    TRIVIAL = "trivial"
    SESSIONS_SEEN = "sessions_seen"
    SESSIONS_MISSING = "sessions_missing"
    PROJECTS_SEEN = "projects_seen"
    PROJECTS_MISSING = "projects_missing"
    PERSON_DECIDES = "person_promotes"
    PORTABLE = "portable"
    NOT_PORTABLE = "not_portable"
    PREFERENCE_STAYS = "preference_stays"
    DOCUMENT_STAYS = "document_stays"
    PROJECT_CARD_STAYS = "project_card_stays"
    NO_JUDGE = "no_judge"
    JUDGE_FAILED = "judge_failed"
    JUDGED_AGNOSTIC = "judged_agnostic"
    JUDGED_LOCAL = "judged_local"
    POOR_RECORD = "poor_record"
    REMOVED_BY_EVIDENCE = "removed_by_evidence"
    DOUBTED_ELSEWHERE = "doubted_elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominee:
    """What is known of a skill that could move to a broader scope."""

    content: SkillContent
    level: Level
    sessions: Collection[str] = ()
    """Distinct sessions that have learned it."""
    projects: Collection[str] = ()
    contradicted: str = ""
    """By what; empty where nothing contradicts it."""
    local: Sequence[str] = ()
    """What ties it to its project, one message each."""
    ruling: CodedReason | None = None
    """What judges found: whether it makes sense in any project; None where none has looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeGate:
    """The gate before a scope: what is fulfilled, and what is missing."""

    to: Level
    fulfilled: tuple[CodedReason, ...] = ()
    missing: tuple[CodedReason, ...] = ()

    @property
    def open(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


def scope_gates(nominee: Nominee, to: Level, *, person: str = "") -> tuple[ScopeGate, ...]:
    """Return the gates from a skill's scope to a broader one, in order; none where the scope is not broader."""
    levels = [level for level in Level if nominee.level.breadth < level.breadth <= to.breadth]
    return tuple(_gate(nominee, level, person=person) for level in levels)


def _gate(nominee: Nominee, to: Level, *, person: str) -> ScopeGate:
    """The gate before one scope."""
    content, fulfilled, missing = nominee.content, list[CodedReason](), list[CodedReason]()
    decides = [coded(PromotionReason.PERSON_DECIDES, person=person)] if person else []
    if content.kind is Kind.PREFERENCE and to.breadth > Level.SESSION.breadth:
        missing = [coded(PromotionReason.PREFERENCE_STAYS)]
    elif content.name == CARD and to.breadth > Level.PROJECT.breadth:
        missing = [coded(PromotionReason.PROJECT_CARD_STAYS)]
    elif content.kind is Kind.REFERENCE:
        missing = [coded(PromotionReason.DOCUMENT_STAYS)]
    elif to is Level.SESSION:
        missing += [coded(PromotionReason.CONTRADICTED_BY, name=nominee.contradicted)] if nominee.contradicted else []
        missing += [coded(PromotionReason.TRIVIAL)] if is_trivial(content) else []
        fulfilled += [] if missing else [coded(PromotionReason.NOT_CONTRADICTED)]
    elif to is Level.PROJECT:
        seen = len(set(nominee.sessions))
        fulfilled.append(coded(PromotionReason.SESSIONS_SEEN, seen=seen, needed=SESSIONS))
        if seen < SESSIONS:
            fulfilled += decides
            missing += [] if person else [coded(PromotionReason.SESSIONS_MISSING, count=SESSIONS - seen)]
    elif to is Level.ORGANISATION:
        seen = len(set(nominee.projects))
        fulfilled.append(coded(PromotionReason.PROJECTS_SEEN, seen=seen, needed=PROJECTS))
        fulfilled += [*([] if nominee.local else [coded(PromotionReason.PORTABLE)]), *decides]
        if not person:
            missing += [coded(PromotionReason.PROJECTS_MISSING, count=PROJECTS - seen)] if seen < PROJECTS else []
            missing += [coded(PromotionReason.NOT_PORTABLE, detail=message) for message in nominee.local]
    else:
        ruling = nominee.ruling or coded(PromotionReason.NO_JUDGE)
        (fulfilled if ruling.code == PromotionReason.JUDGED_AGNOSTIC else missing).append(ruling)
    return ScopeGate(to=to, fulfilled=tuple(fulfilled), missing=tuple(missing))


def record_sentence(known: Reliability) -> str:
    """Return a record in the words that are stored with a promoted skill; empty where too little was verified."""
    if not known.known:
        return ""
    return f"worked in {known.worked:g} of {known.votes} verified uses ({known.low:.0%} to {known.high:.0%})"


def doubts(known: Reliability, moves: Iterable[Transition]) -> list[CodedReason]:
    """Return what a version's own record objects: it works too seldom, or evidence has taken it out of use before."""
    found: list[CodedReason] = []
    if known.known and known.high < STATUS_RULES.line:
        figures = {"worked": known.worked, "votes": known.votes, "low": known.low, "high": known.high}
        found.append(coded(PromotionReason.POOR_RECORD, **figures))
    taken = [move for move in moves if move.evidence_ids and move.after in _TAKEN_OUT]
    found += [coded(PromotionReason.REMOVED_BY_EVIDENCE, on=f"{m.at:%Y-%m-%d}", why=m.reason) for m in taken[-1:]]
    return found


def is_trivial(content: SkillContent) -> bool:
    """Whether a content has neither steps nor an error signature, and hardly a word."""
    if content.steps or content.signature or content.sub_skills or content.files:
        return False
    return len(term_set(f"{content.description} {content.body}")) < TRIVIAL_TERMS


# --- does a content make sense in any project? ------------------------------------------------------------------------


def ruling_of(content: SkillContent, local: ProjectFacts, *, model: LanguageModel | None = None) -> CodedReason:
    """Judge by rules, which look for ties to one project, and by a language model if there is one: both must agree.

    A model that does not answer, or not clearly, means no.
    """
    own = {file.path for file in content.files}
    steps = [f"{step.text} {' '.join(map(str, step.arguments.values()))}" for step in content.steps]
    text = "\n".join([content.description, content.body, *steps, *(c.check for c in content.postconditions)])
    files = [found for found in _PROJECT_FILE.findall(text) if found not in own]
    ties = [finding.message for finding in portability(content, local)]
    ties += [f"it names `{file}`, a file of one project" for file in files]
    ties += [f'it refers to "{words}"' for words in _THIS_PROJECT.findall(text)]
    if ties:
        return coded(PromotionReason.JUDGED_LOCAL, judge="rules", why=ties[0])
    by_rules = "nothing in it belongs to one project"
    if model is None:
        return coded(PromotionReason.JUDGED_AGNOSTIC, judge="rules", why=by_rules)
    try:
        answer = model.ask(prompt_file(AGNOSTIC_PROMPT).request("\n".join([content.name, comparable_text(content)])))
    except TacitError as error:
        return coded(PromotionReason.JUDGE_FAILED, detail=error.message)
    agnostic, reason = answer.get("agnostic"), answer.get("reason")
    if not isinstance(agnostic, bool) or not isinstance(reason, str):
        return coded(PromotionReason.JUDGE_FAILED, detail="the model gave no clear answer")
    why = " ".join(reason.split())[:300]
    if not agnostic:
        return coded(PromotionReason.JUDGED_LOCAL, judge=model.name, why=why)
    return coded(PromotionReason.JUDGED_AGNOSTIC, judge=f"rules and {model.name}", why=f"{by_rules}; {why}")


# --- sameness ---------------------------------------------------------------------------------------------------------


class SameMeaning:
    """Decides whether two contents mean the same: by vectors where an embedder answers, else by words."""

    def __init__(self, embedder: Embedder | None = None, policy: Policy | None = None) -> None:
        self._embedder = embedder
        self._policy = policy or Policy()
        self._vectors: dict[str, array[float]] = {}

    def __call__(self, left: SkillContent, right: SkillContent) -> bool:
        """Whether they do."""
        if left.hash() == right.hash():
            return True
        if (left.steps and right.steps) or (left.signature and right.signature):  # actions and errors are more exact
            actions = similarity(left, right, duplicate_from=self._policy.duplicate_similarity)
            if is_same_meaning(left, right, similarity=actions, least=self._policy.duplicate_similarity):
                return True
        cosine = self._cosine(left, right)
        if cosine is not None:
            return is_same_meaning(left, right, similarity=cosine, least=SAME_MEANING)
        words = text_similarity(comparable_text(left), comparable_text(right))
        return is_same_meaning(left, right, similarity=words, least=SAME_WORDS)

    def _cosine(self, left: SkillContent, right: SkillContent) -> float | None:
        try:
            return sum(map(mul, self._vector(left), self._vector(right))) if self._embedder else None
        except TacitError:  # the embedder is not available: fall back to words
            self._embedder = None
            return None

    def _vector(self, content: SkillContent) -> array[float]:
        text = comparable_text(content)[:_EMBEDDED_CHARS]
        if text not in self._vectors and self._embedder:
            vector = array("f")
            vector.frombytes(self._embedder.embed([text])[0])
            self._vectors[text] = vector
        return self._vectors[text]


def comparable_text(content: SkillContent) -> str:
    """Return the text that two skills are compared by: description and body or steps, without the name."""
    body = content.body.strip() or " ".join(step.text for step in content.steps)
    return f"{content.description}\n{body}".strip()


def is_same_meaning(left: SkillContent, right: SkillContent, *, similarity: float, least: float) -> bool:
    """Whether two contents mean the same: of one kind, similar enough, and not each other's reversal."""
    if left.kind is not right.kind or similarity < least:
        return False
    ours, theirs = comparable_text(left), comparable_text(right)
    return ours == theirs or not is_reversed(ours, theirs)


def is_reversed(left: str, right: str) -> bool:
    """Whether two similar texts mean the opposite: both cannot be followed, or two words have swapped places.

    Neither words nor vectors notice it: "npm, never pnpm" is very similar to "pnpm, never npm".
    """
    if opposed(left, right):
        return True
    ours, theirs = terms(left), terms(right)
    if sorted(ours) != sorted(theirs):
        return False
    moved = sum(one != other for one, other in zip(ours, theirs, strict=True))
    return 0 < moved <= len(ours) / 2  # where most words moved, the sentence was rearranged and means the same


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLearning:
    """One version that sessions have learned, and these sessions."""

    version_id: str
    content: SkillContent
    sessions: frozenset[str]


def recurring(learnings: Sequence[SessionLearning], same: Same) -> list[tuple[SessionLearning, ...]]:
    """Group what means the same; each member of a group must match every other, so that meaning does not drift."""
    groups: list[list[SessionLearning]] = []
    for learning in learnings:
        group = next((g for g in groups if all(same(each.content, learning.content) for each in g)), None)
        if group is None:
            groups.append(group := [])
        group.append(learning)
    return [tuple(group) for group in groups]


def sessions_of(group: Sequence[SessionLearning]) -> frozenset[str]:
    """Return the distinct sessions of a group."""
    return frozenset().union(*(learning.sessions for learning in group))
