"""Hits and what is known of them → ranked items within a hard token budget, or an explained abstention. Pure.

Example, with the usual threshold of 0.18 and `k` = 3: five procedures have the relevance 0.90, 0.50, 0.40, 0.30 and 0.10. The
last is below the threshold, and 0.30 is less than 0.4 of the best (`SHARE_OF_BEST_MIN`): both are listed as left out. The other
three are ordered by their match score and written until the budget is used up. Norms that hold here come in any case, from
their own share of the budget. If nothing is relevant, the answer is empty and says what came nearest.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Budget, Item, LeftOut, Plan, Query, Selection
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import Hit, StoredVersion, current_only
from tacit.recall import reasons
from tacit.recall.filters import (
    filter_reason,
    foreign_reason,
    is_asked_by_words,
    stored_left_out,
    unshadowed,
)
from tacit.recall.passages import is_document
from tacit.recall.ranking import (
    VISIBLE_RELEVANCE_MIN,
    Rejected,
    Row,
    TokenBudget,
    replaces_parts,
    sort_rows,
    take_within_budget,
    why_nothing,
)
from tacit.recall.signals import SHARE_OF_BEST_MIN, best_of, sort_key
from tacit.recall.weighing import CLOSE_MEANING_MIN, RecallContext, Weigher, violated_precondition
from tacit.text.similarity import jaccard
from tacit.text.words import term_set

Render = Callable[[Item, int], str]
"""Writes an item as the agent sees it in at most so many tokens; empty if that is too little."""
Fitting = Callable[[Sequence[Row]], Sequence[Row]]
"""Relevant rows, in order → those that are given, with their texts."""

MAX_NEAR_MISSES = 3
"""How many near misses an abstention names."""
TIE_MARGIN = 0.5
"""Skills whose match scores differ by no more than this are tied: age and scope alone make up as much of a difference."""
MIN_COMPARED = 5
"""For ties, the first `k` rows, and at least so many, are compared with all that come after them; the rest is rarely shown."""
MAX_NAMED_SCOPES = 3
"""How many other scopes an abstention names."""
SAME_CONTENT_MIN = 0.9
"""Two skills that share this part of their words have the same content."""


def select(
    query: Query, hits: Sequence[Hit], context: RecallContext, *, render: Render, now: datetime, min_relevance: float
) -> Selection:
    """Choose what to give for a query."""
    by_id = {hit.stored.version.id: hit for hit in hits}
    eligible, filtered, elsewhere = _eligible(query, by_id, context)
    filtered.sort(key=lambda left: -by_id[left.version_id].lexical)
    weigher = Weigher(query, context, now=now)
    rows = [
        _weighed_row(weigher, by_id[each.version.id], context)
        for each in eligible
        if not is_document(each.version.content)
    ]
    best = best_of(row.signals for row in rows)["relevance"]
    ranked = sort_rows(rows, min_relevance)

    def write(row: Row, max_tokens: int) -> str:
        return render(row.source, max_tokens)

    def fitting(some: Sequence[Row]) -> list[Row]:
        """Return which rows would fit. This sets the `text` of these rows; the final cut below sets it anew."""
        return take_within_budget(some, query.k, TokenBudget(query.budget_tokens), write, repeats=_repeats)[0]

    planned = {chosen.version_id for chosen in context.plan.chosen}
    relevant, parts = replace_parts([row for row in ranked if row.relevant], fitting, planned=planned)
    quoted, unquoted = _quoted_documents(eligible, context, best)
    budget = TokenBudget(query.budget_tokens)
    _mark_ties(query, relevant, planned)
    matched = [*relevant, *quoted]
    budget.reserve([*matched[: query.k], *(row for row in ranked if row.kind == Kind.NORM and not row.relevant)], write)
    given, rejected = take_within_budget(matched, query.k, budget, write, repeats=_repeats)
    standing, norms_left_out = _always_on_norms(ranked, given, budget, write)
    for each in context.unweighed:
        budget.refuse(Kind.NORM, each.version.id)
    unweighed = [stored_left_out(each, ReasonCode.NOT_WEIGHED) for each in context.unweighed]
    crowded = [left.row.name for left in norms_left_out if left.code is ReasonCode.OVER_BUDGET]
    answer = Selection(
        query=query,
        items=tuple(_item(row) for row in given),
        standing=tuple(_item(row) for row in standing),
        confidence=max((best, *context.document_relevance.values())),
        tokens=sum(row.tokens for row in (*given, *standing)),
        budgets=tuple(Budget(kind, *budget.account(kind)) for kind in Kind),
        crowded_out=(*crowded, *(left.name for left in unweighed)),
    )
    considered = _Considered(
        [*relevant, *quoted],
        ranked,
        rejected=parts + rejected,
        norms_left_out=[*(_left_out(each) for each in norms_left_out), *unweighed],
        unquoted=unquoted,
        filtered=filtered,
        elsewhere=elsewhere,
        hits=by_id,
    )
    return _explained(answer, considered, context)


@dataclass(frozen=True)
class _Considered:
    """Everything that was considered: what was relevant, what was weighed, and what is not given."""

    relevant: Sequence[Row]
    ranked: Sequence[Row]
    rejected: Sequence[Rejected]
    """Relevant rows that are not given."""
    norms_left_out: Sequence[LeftOut]
    """Norms that are not given."""
    unquoted: Sequence[LeftOut]
    """Documents in which no passage is close enough."""
    filtered: Sequence[LeftOut]
    elsewhere: Sequence[Hit]
    """What matches and belongs to another scope, the best first."""
    hits: Mapping[str, Hit]


def _weighed_row(weigher: Weigher, hit: Hit, context: RecallContext) -> Row:
    """Weigh one hit; a plan decides on its position and relevance before the signals do."""
    item = weigher.weigh(hit)
    row = Row(
        item, version_id=item.version_id, name=item.name, kind=item.version.content.kind, signals={**item.signals}
    )
    positions = {chosen.version_id: position for position, chosen in enumerate(context.plan.chosen)}
    row.priority = positions.get(row.version_id, len(positions))
    if context.plan.lacking and row.version_id in context.plan.strengths:
        row.relevant = False  # the task needs a tool that is missing, and the next best skill would do something else
    elif row.version_id in positions:
        row.relevant = True
    elif row.kind == Kind.NORM and hit.lexical <= 0 and hit.semantic is None:
        row.relevant = False  # only here because norms always are
    return row


def _item(row: Row) -> Item:
    item: Item = row.source
    return dataclasses.replace(item, text=row.text, tokens=row.tokens)


def _left_out(rejected: Rejected) -> LeftOut:
    item: Item = rejected.row.source
    return LeftOut(
        version_id=item.version_id,
        name=item.name,
        code=rejected.code,
        reason=reasons.left_out_reason(rejected.code, **rejected.values),
        score=item.score,
        signals=item.signals,
    )


def _explained(answer: Selection, considered: _Considered, context: RecallContext) -> Selection:
    """Add the plan, everything that is not given, and, where that is everything, why."""
    shown = {item.version_id for item in answer.standing}
    rejected = [_left_out(each) for each in considered.rejected]
    foreign = (foreign_reason(hit.stored, answer.query) for hit in considered.elsewhere)
    filtered = [*considered.filtered, *(each for each in foreign if each is not None)]
    answer = dataclasses.replace(answer, plan=_given_plan(context.plan, answer.items))
    if not answer.items:
        code, reason, near_misses = _why_nothing(answer.query, considered, context)
        rest = (*(near_misses or rejected), *considered.norms_left_out, *considered.unquoted, *filtered)
        named = [each for each in rest if each.version_id not in shown]
        reason += reasons.norms_only(len(answer.standing), len(answer.crowded_out))
        return dataclasses.replace(answer, left_out=_once(named), code=code, reason=reason)
    accounted_for = {row.version_id for row in considered.relevant} | shown  # given, or rejected
    others = [row for row in considered.ranked if row.version_id not in accounted_for]
    below = [_left_out(Rejected(row, ReasonCode.BELOW_THRESHOLD)) for row in others]
    norms_left_out = [each for each in considered.norms_left_out if each.version_id not in accounted_for]
    every = _once([*rejected, *norms_left_out, *below, *considered.unquoted, *filtered])
    return dataclasses.replace(answer, left_out=every)


def _quoted_documents(
    eligible: Sequence[StoredVersion], context: RecallContext, best: float
) -> tuple[list[Row], list[LeftOut]]:
    """Return the documents that are quoted, in their order, and the others; `best` is how well anything else fits."""
    documents = {each.version.id: each for each in eligible if is_document(each.version.content)}
    quoted = [
        Row(item, version_id=item.version_id, name=item.name, kind=item.version.content.kind, signals={**item.signals})
        for item in context.quoted
        if item.version_id in documents and item.signals["relevance"] >= SHARE_OF_BEST_MIN * best
    ]
    given = {row.version_id for row in quoted}
    unquoted = [
        stored_left_out(each, ReasonCode.NO_CLOSE_PASSAGE, relevance=context.document_relevance.get(version_id, 0.0))
        for version_id, each in documents.items()
        if version_id not in given
    ]
    return quoted, unquoted


def _always_on_norms(
    ranked: Sequence[Row], given: Sequence[Row], budget: TokenBudget, write: Callable[[Row, int], str]
) -> tuple[list[Row], list[Rejected]]:
    """Norms hold whatever the task is: return all that fit into their share of the budget, the best first."""
    shown = {row.version_id for row in given}
    norms = [row for row in ranked if row.kind == Kind.NORM and row.version_id not in shown]
    return take_within_budget(norms, len(norms), budget, write, repeats=_repeats, beyond_shares=False)


def _once(left_out: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
    """Keep the first entry of each version."""
    kept: dict[str, LeftOut] = {}
    for each in left_out:
        kept.setdefault(each.version_id, each)
    return tuple(kept.values())


def _mark_ties(query: Query, relevant: Sequence[Row], planned: Collection[str]) -> None:
    """Give each row the names of those that it leads or follows by too little to matter.

    What a plan puts in order, and what answers this very error, keeps its place.
    """
    ordered = [(sort_key(row.signals, ""), row) for row in relevant if row.version_id not in planned]
    tied: dict[str, list[str]] = {}
    for position, ((answers, score, _), one) in enumerate(ordered[: max(query.k, MIN_COMPARED)]):
        for (other_answers, other_score, _), two in ordered[position + 1 :]:
            if answers == other_answers and other_score - score <= TIE_MARGIN:
                tied.setdefault(one.version_id, []).append(two.name)
                tied.setdefault(two.version_id, []).append(one.name)
    for row in relevant:
        row.source = dataclasses.replace(row.source, tied_with=tuple(tied.get(row.version_id, ())))


def _given_plan(plan: Plan, items: Sequence[Item]) -> Plan:
    """Return the plan without the skills that are not given."""
    shown = {item.version_id for item in items}
    missing = [chosen.name for chosen in plan.chosen if chosen.version_id not in shown]
    if not missing:
        return plan
    return dataclasses.replace(
        plan,
        chosen=tuple(chosen for chosen in plan.chosen if chosen.version_id in shown),
        steps=tuple(step for step in plan.steps if step.version_id in shown),
        code=ReasonCode.PARTLY_GIVEN,
        reason=reasons.parts_left_out(missing),
    )


def _eligible(
    query: Query, hits: Mapping[str, Hit], context: RecallContext
) -> tuple[list[StoredVersion], list[LeftOut], list[Hit]]:
    """Return what may be given, what may not be used here and why, and what matches and belongs to another scope."""
    recallable = [hit.stored for hit in hits.values() if hit.stored.status in RECALLABLE]
    filtered: list[LeftOut] = []
    usable: list[StoredVersion] = []
    elsewhere: list[Hit] = []
    for item in current_only(recallable):
        if not context.signature and not is_asked_by_words(item.version.content, query):
            if _matches(hits[item.version.id], context):
                other = stored_left_out(item, ReasonCode.OTHER_MOMENT, name=item.version.name)
                filtered.append(foreign_reason(item, query) or other)
            continue
        if not item.skill.scope.contains(query.scope):
            if _matches(hits[item.version.id], context):
                elsewhere.append(hits[item.version.id])
            continue
        why = filter_reason(item, query) or _unmet_requirement(item, context) or _too_unreliable(item, query, context)
        if why:
            filtered.append(why)
        else:
            usable.append(item)
    passed, shadowed = unshadowed(usable)  # what may not be used here shadows nothing
    elsewhere.sort(key=lambda hit: (-hit.lexical, hit.stored.version.id))
    return passed, [*filtered, *shadowed], elsewhere


def _matches(hit: Hit, context: RecallContext) -> bool:
    """Return whether a hit that is not weighed has to do with the query: by words, by a close meaning, by its error, or as a
    document. The nearest in meaning alone is no sign: something is always nearest."""
    content = hit.stored.version.content
    answers = bool(context.signature) and content.signature == context.signature
    return hit.lexical > 0 or (hit.semantic or 0.0) >= CLOSE_MEANING_MIN or answers or is_document(content)


def _unmet_requirement(stored: StoredVersion, context: RecallContext) -> LeftOut | None:
    if stored.version.id in context.unusable_parts:
        return context.unusable_parts[stored.version.id]
    false = violated_precondition(context.situation, stored.version.content)
    return stored_left_out(stored, ReasonCode.PRECONDITION_FALSE, condition=false) if false else None


def _too_unreliable(stored: StoredVersion, query: Query, context: RecallContext) -> LeftOut | None:
    if query.min_reliability is None:
        return None
    measured = context.reliability.get(stored.version.id, Reliability())
    if measured.low >= query.min_reliability:
        return None
    low = reasons.measured_at_least(measured)
    return stored_left_out(stored, ReasonCode.LOW_RELIABILITY, measured=low, wanted=query.min_reliability)


def _why_nothing(
    query: Query, considered: _Considered, context: RecallContext
) -> tuple[ReasonCode, str, list[LeftOut]]:
    """Return why nothing is given, by code and in English, and what came nearest where nothing was relevant."""
    matched = [row for row in considered.ranked if row.kind != Kind.NORM]  # norms are listed as given or over budget
    code = why_nothing(matched, considered.rejected, k=query.k)
    if considered.relevant:
        return code, reasons.nothing_given(code), []
    matched.sort(key=lambda row: (-row.relevance, row.version_id))
    near_misses = [row for row in matched if row.relevance >= VISIBLE_RELEVANCE_MIN][:MAX_NEAR_MISSES]
    named = [_left_out(Rejected(row, ReasonCode.NEAREST_MISS, relevance=row.relevance)) for row in near_misses]
    named += [_left_out(Rejected(row, ReasonCode.BELOW_THRESHOLD)) for row in matched if row not in near_misses]
    if context.plan.lacking:
        return ReasonCode.MISSING_TOOLS, context.plan.reason, named
    away = _elsewhere_reason(query, considered.elsewhere)
    if near_misses:
        nearest = near_misses[0]
        # Other scopes are named only where something there matches better than the nearest here.
        better = any(hit.lexical > considered.hits[nearest.version_id].lexical for hit in considered.elsewhere)
        return code, reasons.nothing_close(nearest.name, nearest.relevance) + (away if better else ""), named
    if considered.filtered:
        return (
            ReasonCode.NOT_USABLE_HERE,
            reasons.not_usable(considered.filtered[0].name, considered.filtered[0].reason),
            named,
        )
    quoted = {each.name: context.document_relevance.get(each.version_id, 0.0) for each in considered.unquoted}
    if quoted and max(quoted.values()) >= VISIBLE_RELEVANCE_MIN:
        title, relevance = max(quoted.items(), key=lambda each: each[1])
        return ReasonCode.BELOW_THRESHOLD, reasons.nothing_close(title, relevance) + away, named
    code = ReasonCode.ONLY_COMMON_WORDS if quoted else code
    scope = str(query.scope) if away else ""
    only_common = code is ReasonCode.ONLY_COMMON_WORDS
    return code, reasons.nothing_shared(query.kinds, scope, only_common=only_common) + away, named


def _elsewhere_reason(query: Query, hits: Sequence[Hit]) -> str:
    """Return how many matches could be given in other scopes, and how to ask there; empty if none could."""
    scopes = Counter(
        hit.stored.skill.scope
        for hit in hits
        if filter_reason(hit.stored, dataclasses.replace(query, scope=hit.stored.skill.scope)) is None
    )
    if not scopes:
        return ""
    names = [str(scope) for scope in sorted(scopes, key=lambda each: (-scopes[each], str(each)))]
    return reasons.matches_elsewhere(scopes.total(), names, most=MAX_NAMED_SCOPES)


def _repeats(row: Row, other: Row) -> bool:
    return has_same_content(row.source.version.content, other.source.version.content)


def has_same_content(one: SkillContent, other: SkillContent) -> bool:
    """Return whether two skills of one kind read alike: same calls, same error, and the same words."""
    if (one.kind, one.sub_skills, one.signature) != (other.kind, other.sub_skills, other.signature):
        return False
    if [(step.tool, step.arguments) for step in one.steps] != [(step.tool, step.arguments) for step in other.steps]:
        return False
    titles = [_term_set(f"{each.name} {each.description}") for each in (one, other)]
    if jaccard(*titles) < SAME_CONTENT_MIN:
        return False
    texts = [
        "\n".join([each.name, each.description, each.body, *(s.text for s in each.steps)]) for each in (one, other)
    ]
    return jaccard(*map(_term_set, texts)) >= SAME_CONTENT_MIN


@lru_cache(maxsize=256)
def _term_set(text: str) -> frozenset[str]:
    """Cached: every item is compared with all that are given before it."""
    return term_set(text)


# --- composites -----------------------------------------------------------------------------------------------------
# Each step is shown once: a part whose steps a composite shows is not given in addition. This is only for composites that
# copied the steps of their parts; one that merely names its parts does not show how they are done. A single part that fits
# better than the composite keeps its position: the task asks for it and not for the rest (`ranking.replaces_parts`).


def replace_parts(
    relevant: Sequence[Row], fitting: Fitting, *, planned: Collection[str] = ()
) -> tuple[list[Row], list[Rejected]]:
    """Return the relevant rows without parts that a composite shows, and those parts.

    The composite takes the position of the first of them. What a plan names is not touched.
    """
    rows, gone = list(relevant), list[Rejected]()
    while found := _composite_with_parts(rows, fitting, planned):
        composite, parts = found
        gone += [Rejected(part, ReasonCode.PART_OF_COMPOSITE, composite=composite.name) for part in parts]
        together = {composite.version_id, *(part.version_id for part in parts)}
        first = next(position for position, each in enumerate(rows) if each.version_id in together)
        others = [each for each in rows if each.version_id not in together]
        rows = [*others[:first], composite, *others[first:]]
    return rows, gone


def _composite_with_parts(
    rows: Sequence[Row], fitting: Fitting, planned: Collection[str]
) -> tuple[Row, list[Row]] | None:
    """Return the first composite that fits with all its steps, and its parts that are not needed in addition."""
    if not any(_parts(row, rows, planned) for row in rows):
        return None
    shown = {row.version_id for row in fitting(rows) if _shows_steps(row)}
    for position, row in enumerate(rows):
        parts = _parts(row, rows, planned) if row.version_id in shown else []
        if replaces_parts(parts, rows[position:]):
            return row, parts
    return None


def _parts(row: Row, among: Sequence[Row], planned: Collection[str]) -> list[Row]:
    """Return the rows that a composite copied as they are now."""
    item: Item = row.source
    parents, named = item.version.parents, item.version.content.sub_skills
    copied = (each for each in among if each.version_id in parents and each.name in named)
    return [each for each in copied if each.version_id not in planned]


def _shows_steps(row: Row) -> bool:
    """Return whether the text has all steps; a short one may leave them out."""
    item: Item = row.source
    text = " ".join(row.text.split())
    return all(" ".join(step.text.split()) in text for step in item.steps)
