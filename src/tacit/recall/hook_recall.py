"""Recall for hooks: a prompt or an error's signature → what to show, from the hook's index of the store. Loads nothing heavy.

Weighs by `signals` and decides by `ranking`, as `selection` does. It uses the texts as they were rendered, and
has no filters by tool, category or reliability and no search by meaning: the index does not hold what these need, and an
embedder takes too long to load.
"""

from __future__ import annotations

import re

from tacit.domain.reach import is_anothers
from tacit.domain.reason_code import ReasonCode
from tacit.recall.ranking import (
    RecallDecision,
    Rejected,
    Row,
    TokenBudget,
    decide,
    filter_code,
    narrowest_scopes,
    sort_rows,
)
from tacit.recall.signals import (
    CANDIDATE_HITS,
    WEIGHTS,
    QueryTerms,
    Rarity,
    SkillTerms,
    example_similarity,
    identifiers_in,
    known_query_terms,
    prominence,
    relevance_of,
    scope_proximity,
    term_overlap,
    word_match_nats,
    word_signals,
)
from tacit.store.lexical_search import VERSION_WEIGHTS, score
from tacit.text.context_frame import SAMPLE_NUMBER, framed
from tacit.text.words import estimate_tokens, joined_words, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tacit.recall.ranking import ScopedName
    from tacit.store.hook_index import HookIndex, SkillRow


BY_OCCASION = frozenset({"lesson", "fact", "norm", "preference"})
"""Kinds whose occasion is described by their example queries. A prompt alone brings only those that have such queries."""
MAX_BY_OCCASION = 2
"""How many skills of these kinds one prompt brings."""
FIRST_PROMPT_NATS, LATER_PROMPT_NATS = 25.0, 40.0
"""What must speak for a skill of these kinds before a prompt brings it (`occasion_nats`), at the first prompt of a session and
at later ones. One or two rare words are not enough. Calibrated in docs/lab.md; larger values show less."""
MAX_RULES_READ = 200
CONFIRMED = 2
"""How many further sessions make a person's wish a way of working, which a session starts with."""
LEAST_WITHOUT_NAMES = 0.5
"""The share of these nats that the prompt must bring without the files, addresses and code it names: a note on a file comes
where the task is about the same thing, not whenever the file is named."""
MAX_TASK_CHARACTERS = 500
"""Of what a prompt says without names: what follows is mostly pasted, and its many words match anything."""
_NAMED = re.compile(
    r"`[^`\n]+`|\[[^\]\n]{1,120}\]\([^)\n]{1,200}\)|https?://\S+|(?<![\w.~/-])@?(?:[\w.~-]*/)+[\w.-]+|"
    r"(?<![\w.-])[\w-]+\.(?:c|cc|cpp|cs|css|go|h|html|java|jsx?|json|kt|md|php|py|rb|rs|sh|sql|swift|toml|tsx?|vue|ya?ml)\b"
)
"""Code, links, addresses, paths and file names in a prompt."""
CALL_TERM = "call"
"""The first term of a lesson's tags where it is about one command (the tag `call:GOAL`); the terms of its program follow."""


class HookLimits:
    """How much may be given, how relevant it must be, and which skills may be given at all."""

    __slots__ = ("budget_tokens", "by_words", "k", "kinds", "min_nats", "min_relevance", "person")

    def __init__(self, *, k: int = 3, budget_tokens: int = 1500, min_relevance: float = 0.18) -> None:
        self.k = k
        self.budget_tokens = budget_tokens
        self.min_relevance = min_relevance
        self.kinds: Collection[str] | None = None
        """The kinds that may be given; `None` for all."""
        self.by_words = False
        """Whether the words of a prompt are all that is known: the kinds in `BY_OCCASION` are then chosen by occasion."""
        self.min_nats = FIRST_PROMPT_NATS
        """The least `occasion_nats` of such a skill."""
        self.person = ""
        """Whose preferences may be given."""


def for_start(index: HookIndex, *, scope: str, person: str, now: float) -> tuple[list[SkillRow], list[SkillRow]]:
    """Return the norms and preferences that a session starts with, the best first, and its card of facts.

    Of one kind and name only the narrowest scope is in it, and of equal texts the first. A rule that names its occasion waits
    for it; a preference only until other sessions confirm it twice, since what a person says again is a way of working.
    """
    found = [*index.norms(scope=scope, limit=MAX_RULES_READ), *index.cards(scope=scope)]
    rows = [
        _weighed_row(each, {"relevance": 0.0}, scope=scope, now=now)
        for each in found
        if not is_anothers(each.person, person)
    ]
    kept, _ = narrowest_scopes(rows, _scoped_name, _rule)
    best_first: dict[str, SkillRow] = {}
    for row in sort_rows(kept, 0.0):
        best_first.setdefault(row.source.text, row.source)
    shown = best_first.values()
    standing = [row for row in shown if not row.examples or (row.kind == "preference" and row.reinforced >= CONFIRMED)]
    return [row for row in standing if row.kind != "fact"], [row for row in shown if row.kind == "fact"]


def for_task(
    index: HookIndex, text: str, *, scope: str, now: float, limits: HookLimits, skip: Collection[str] = ()
) -> RecallDecision:
    """Decide what to show for a task. `skip` names versions that were shown already."""
    found = known_query_terms(text, index.frequencies(list(joined_words(text)))[0])
    matches, frequencies, corpus_size = index.by_words(found, limit=CANDIDATE_HITS)
    asked = QueryTerms(found, Rarity.for_query(text, frequencies, corpus_size), identifiers=identifiers_in(text))
    task = _NAMED.sub(" ", text[: 8 * MAX_TASK_CHARACTERS])[:MAX_TASK_CHARACTERS] if limits.by_words else ""
    unnamed = QueryTerms(known_query_terms(task, frequencies), asked.rarity)
    rows = []
    for match in matches:
        name, description, body, _ = match.words
        skill_words = SkillTerms(name, [*description, *match.row.subject], examples=match.row.examples, rest=body)
        fit = relevance_of(term_overlap(asked, skill_words)[0], match.lexical)
        signals = {"relevance": fit, **word_signals(asked, match.lexical, match.words)}
        if alike := example_similarity(asked, skill_words):
            signals["example"] = alike
        row = _weighed_row(match.row, signals, scope=scope, now=now)
        if limits.by_words and _is_by_occasion(match.row):
            nats = score(unnamed.worth, match.words, weights=VERSION_WEIGHTS)
            alike = example_similarity(unnamed, skill_words)
            least = occasion_nats({**word_signals(unnamed, nats, match.words), "example": alike})
            row.relevant = least >= LEAST_WITHOUT_NAMES * limits.min_nats and occasion_nats(signals) >= limits.min_nats
        rows.append(row)
    return _decide(index, rows, scope=scope, now=now, limits=limits, skip=skip)


def for_error(
    index: HookIndex,
    signatures: Sequence[str],
    *,
    program: str,
    scope: str,
    now: float,
    limits: HookLimits,
    skip: Collection[str] = (),
) -> RecallDecision:
    """Decide what to show for an error, by its possible signatures; lessons about calls of other programs are left out."""
    same = {"relevance": 1.0, "signature": 1.0}
    found = {row.version_id: row for line in signatures for row in index.by_signature(line, scope=scope)}
    fitting = [row for row in found.values() if _answers_call_of(row, program)]
    rows = [_weighed_row(skill, {**same}, scope=scope, now=now) for skill in fitting]
    return _decide(index, rows, scope=scope, now=now, limits=limits, skip=skip)


def for_skill(
    index: HookIndex, name: str, *, scope: str, now: float, limits: HookLimits, skip: Collection[str] = ()
) -> RecallDecision:
    """Decide which overlays of a skill to show that the client has loaded."""
    found = index.extending(name, scope=scope)
    rows = [_weighed_row(skill, {"relevance": 1.0}, scope=scope, now=now) for skill in found]
    return _decide(index, rows, scope=scope, now=now, limits=limits, skip=skip)


def for_call(index: HookIndex, version_ids: Sequence[str], *, scope: str) -> list[SkillRow]:
    """Return those of these versions that may be shown: no narrower scope has a skill of their kind and name."""
    rows = [row for version_id in version_ids for row in index.by_version(version_id, scope=scope)]
    namesakes = {row.version_id: row for row in (*rows, *(index.narrower_namesakes(rows, scope=scope) if rows else ()))}
    kept, _ = narrowest_scopes(
        namesakes.values(), lambda row: (row.kind, row.name, row.scope, row.sequence), lambda row: row.description
    )
    return [row for row in kept if row.version_id in version_ids]


def occasion_nats(signals: Mapping[str, float]) -> float:
    """Return what speaks for a skill at this moment, in nats: shared words, identifiers, and likeness to its occasion."""
    return word_match_nats(signals) + WEIGHTS["example"] * signals.get("example", 0.0)


def _answers_call_of(row: SkillRow, program: str) -> bool:
    """Return whether a lesson is about a call of this program, or about no call in particular.

    `subject` holds the terms of the tags and then those of the signature (`store.renderings.derived`): what is left without
    the signature's are the tags, and a tag `call:GOAL` comes first among them (`learn.fix_lessons`).
    """
    tags = row.subject[: len(row.subject) - len(terms(row.signature))]
    own = terms(program)
    return tags[:1] != [CALL_TERM] or (bool(own) and tags[1 : 1 + len(own)] == own)


def _weighed_row(skill: SkillRow, signals: dict[str, float], *, scope: str, now: float) -> Row:
    signals["reliability"] = skill.reliability
    signals["prominence"] = prominence(skill.importance, skill.fresh_at, now, reinforced=skill.reinforced)
    signals["scope"] = scope_proximity(skill.scope, scope)
    return Row(skill, version_id=skill.version_id, name=skill.name, kind=skill.kind, signals=signals)


def _decide(
    index: HookIndex, rows: list[Row], *, scope: str, now: float, limits: HookLimits, skip: Collection[str]
) -> RecallDecision:
    """Filter, rank, and cut to number and budget, or say why nothing is given.

    A skill of a narrower scope hides its namesakes even if it was not found itself.
    """
    allowed: list[Row] = []
    filtered: list[Rejected] = []
    found = {row.version_id for row in rows}
    narrower = index.narrower_namesakes([row.source for row in rows], scope=scope)
    unfound = [each for each in narrower if each.version_id not in found]
    for row in (*rows, *(_weighed_row(each, {"relevance": 0.0}, scope=scope, now=now) for each in unfound)):
        skill: SkillRow = row.source
        code = filter_code(
            skill.kind, skill.scope, skill.person, asked_scope=scope, kinds=limits.kinds, asked_person=limits.person
        )
        if code is None:
            allowed.append(row)
        elif row.version_id in found:
            filtered.append(Rejected(row, code, scope=skill.scope, kind=skill.kind, name=skill.name))
    kept, hidden = narrowest_scopes(allowed, _scoped_name, _rule)
    kept = [row for row in kept if row.version_id in found]
    if limits.by_words:
        later = [row for row in kept if row.kind in BY_OCCASION and not row.source.examples]
        filtered += [Rejected(row, ReasonCode.OTHER_MOMENT, kind=row.kind, name=row.name) for row in later]
        kept = [row for row in kept if row not in later]
        _choose_by_occasion(kept, skip)
    budget = TokenBudget(limits.budget_tokens - estimate_tokens(framed([" "], number=SAMPLE_NUMBER)))
    decision = decide(
        kept, k=limits.k, min_relevance=limits.min_relevance, budget=budget, write=_rendered_text, shown=skip
    )
    decision.rejected += [Rejected(row, ReasonCode.SHADOWED, name=by[1], scope=by[2]) for row, by in hidden] + filtered
    return decision


def _is_by_occasion(skill: SkillRow) -> bool:
    """Return whether a prompt brings a skill by its occasion: also a procedure of which only one line is shown."""
    return skill.kind in BY_OCCASION or bool(skill.examples and skill.text.startswith("- "))


def _choose_by_occasion(rows: list[Row], skip: Collection[str]) -> None:
    """Keep the few best as relevant, of the skills that come by their occasion and were not shown."""
    found = [row for row in rows if _is_by_occasion(row.source) and row.relevant and row.version_id not in skip]
    found.sort(key=lambda row: (-occasion_nats(row.signals), row.version_id))
    for row in found[MAX_BY_OCCASION:]:
        row.relevant = False


def _scoped_name(row: Row) -> ScopedName:
    skill: SkillRow = row.source
    return skill.kind, skill.name, skill.scope, skill.sequence


def _rule(row: Row) -> str:
    skill: SkillRow = row.source
    text: str = skill.description
    return text


def _rendered_text(row: Row, max_tokens: int) -> str:
    """Return the stored text; empty if it does not fit."""
    skill: SkillRow = row.source
    text: str = skill.text
    return text if skill.tokens <= max_tokens else ""
