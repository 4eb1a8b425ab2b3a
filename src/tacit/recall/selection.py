"""Selection: hits and what is known of them → ranked items within a hard token budget, or an explained abstention. Pure."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial

from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Hit, Stored
from tacit.domain.reach import is_anothers
from tacit.domain.selection import Item, LeftOut, Plan, Query, Selection
from tacit.domain.skill import Kind
from tacit.recall.budget import NO_ROOM, Render, budgets, left_out, within
from tacit.recall.composites import gathered
from tacit.recall.filters import ANOTHERS, current_only, obstacle, unshadowed
from tacit.recall.passages import is_document
from tacit.recall.purse import Purse
from tacit.recall.ranking import BEHIND_BEST, Asked, fits, most_of, order
from tacit.recall.state import broken
from tacit.recall.ties import Footing, is_turnable, spread
from tacit.recall.weighing import CLOSE, Known, Scales, said
from tacit.store.lexical import version_words
from tacit.text.inert import shown_line

NEAREST = 3
"""How many near misses an abstention names."""
LEAD = 0.5
"""Nats that tell two skills apart at least; age and scope alone give about as much, and do not."""
COMPARED = 5
"""How many of the first are looked at for ties, at least: each is compared with all that come after it."""
SEEN = 0.005
"""Less is a relevance of 0.00 as it is written: nothing to call near."""
SCOPES = 3
"""How many other scopes an abstention names."""
UNWEIGHED = "more norms hold here than are weighed"


def select(
    query: Query, hits: Sequence[Hit], known: Known, *, render: Render, now: datetime, min_relevance: float
) -> Selection:
    """Choose what to give for a query."""
    by_id = {hit.stored.version.id: hit for hit in hits}
    eligible, barred, elsewhere = _eligible(query, by_id, known)
    barred.sort(key=lambda left: -by_id[left.version_id].lexical)
    scales = Scales(query, known, now=now)
    scored = [scales.weigh(by_id[each.version.id]) for each in eligible if not is_document(each.version.content)]
    places = {chosen.version_id: place for place, chosen in enumerate(known.plan.chosen)}
    best = most_of(item.signals for item in scored)
    fitting = {
        item.version_id
        for item in scored
        if item.version_id in places or (_found(by_id[item.version_id]) and _fits(item, min_relevance, best))
    }
    scored = scales.renew(scored, only=fitting | {item.version_id for item in scored if _stands(item)})
    scored.sort(key=lambda item: (places.get(item.version_id, len(places)), order(item.signals, item.version_id)))
    relevant = [item for item in scored if item.version_id in fitting]
    if known.plan.lacking:  # what is called for cannot be done here, and the next best would do something else
        relevant = [item for item in relevant if item.version_id not in known.plan.strengths]
    relevant, inside = gathered(relevant, partial(_fitting, query, render), planned=places)
    cited, unquoted = _cited(eligible, known, best["relevance"])
    purse = Purse(query.budget_tokens)
    tied = _with_ties(query, relevant, by_id, scales.asked, known)
    items, over = within([*tied, *cited], query.k, purse, render)
    standing, silent = _standing(scored, items, purse, render)
    silent += _beyond(known, purse)
    answer = Selection(
        query=query,
        items=tuple(items),
        standing=tuple(standing),
        confidence=max((best["relevance"], *known.documents.values())),
        tokens=sum(item.tokens for item in (*items, *standing)),
        budgets=budgets(purse),
        crowded_out=tuple(left.name for left in silent if left.reason.startswith((NO_ROOM, UNWEIGHED))),
    )
    left = _Left(
        [*relevant, *cited],
        scored,
        over=inside + over,
        silent=silent,
        unquoted=unquoted,
        barred=barred,
        elsewhere=elsewhere,
        hits=by_id,
    )
    return _explained(answer, left, known)


@dataclass(frozen=True)
class _Left:
    """All that was looked at: what was relevant, what was weighed, and why some is not given."""

    relevant: Sequence[Item]
    scored: Sequence[Item]
    over: Sequence[LeftOut]
    silent: Sequence[LeftOut]
    """Norms that do not stand."""
    unquoted: Sequence[LeftOut]
    """Documents in which nothing is close enough."""
    barred: Sequence[LeftOut]
    elsewhere: Sequence[Hit]
    """What matches and belongs to another scope, the best first."""
    hits: Mapping[str, Hit]

    def all_barred(self, query: Query) -> list[LeftOut]:
        """All that may not be used here, what belongs elsewhere last."""
        return [*self.barred, *(_foreign(hit.stored, query) for hit in self.elsewhere)]


def _explained(answer: Selection, left: _Left, known: Known) -> Selection:
    """The answer with all that is not given, and, where that is everything, why."""
    shown = {item.version_id for item in answer.standing}
    if not answer.items:
        reason, near = _why_nothing(answer.query, left, known)
        rest = (*(near or left.over), *left.silent, *left.unquoted, *left.all_barred(answer.query))
        named = [each for each in rest if each.version_id not in shown]
        return dataclasses.replace(answer, left_out=_once(named), reason=reason + _of_norms(answer))
    given = {item.version_id for item in left.relevant} | shown
    below = [left_out(item, "less relevant") for item in left.scored if item.version_id not in given]
    silent = [each for each in left.silent if each.version_id not in given]
    every = _once([*left.over, *silent, *below, *left.unquoted, *left.all_barred(answer.query)])
    return dataclasses.replace(answer, left_out=every, plan=_given(known.plan, answer.items))


def _cited(eligible: Sequence[Stored], known: Known, best: float) -> tuple[list[Item], list[LeftOut]]:
    """The documents that are quoted, in their order, and why the others are not; `best` is how well anything else fits."""
    documents = {each.version.id: each for each in eligible if is_document(each.version.content)}
    quoted = [item for item in known.cited if item.version_id in documents]
    fitting = [item for item in quoted if item.signals["relevance"] >= BEHIND_BEST * best]
    given = {item.version_id for item in fitting}
    unquoted = [
        LeftOut(
            version_id=version_id,
            name=each.version.name,
            reason=f"nothing in it is close enough, relevance {known.documents.get(version_id, 0.0):.2f}",
        )
        for version_id, each in documents.items()
        if version_id not in given
    ]
    return fitting, unquoted


def _beyond(known: Known, purse: Purse) -> list[LeftOut]:
    """Norms that hold and were not even weighed."""
    for each in known.unweighed:
        purse.refuse(Kind.NORM, each.version.id)
    return [LeftOut(version_id=each.version.id, name=each.version.name, reason=UNWEIGHED) for each in known.unweighed]


def _fitting(query: Query, render: Render, items: Sequence[Item]) -> list[Item]:
    return within(items, query.k, Purse(query.budget_tokens), render)[0]


def _standing(
    scored: Sequence[Item], items: Sequence[Item], purse: Purse, render: Render
) -> tuple[list[Item], list[LeftOut]]:
    """Norms hold whatever the task is: all that fit into their share of the budget, the best first."""
    given = {item.version_id for item in items}
    norms = [item for item in scored if _stands(item) and item.version_id not in given]
    return within(norms, len(norms), purse, render)


def _once(left: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple({each.version_id: each for each in reversed(list(left))}.values())[::-1]


def _with_ties(
    query: Query, relevant: Sequence[Item], hits: Mapping[str, Hit], asked: Asked, known: Known
) -> list[Item]:
    """Name, with each that may be given, all that it is not told apart from by anything that is known.

    What a plan puts in order, and what answers this very error, stands where it stands whatever the words weigh.
    """
    moves = spread(asked.terms, known.rarity.frequency, known.rarity.documents)
    planned = {chosen.version_id for chosen in known.plan.chosen}
    ordered = [item for item in relevant if item.version_id not in planned]

    @cache
    def footing(version_id: str) -> Footing:
        content = hits[version_id].stored.version.content
        words = hits[version_id].words or version_words(content)
        return Footing(words, said(content, words).requests(), asked=asked, moves=moves)

    tied: dict[str, list[str]] = {}
    standings = {item.version_id: order(item.signals, "") for item in ordered}
    for one, two in (
        (one, two) for at, one in enumerate(ordered[: max(query.k, COMPARED)]) for two in ordered[at + 1 :]
    ):
        ahead = standings[two.version_id][1] - standings[one.version_id][1]
        if standings[one.version_id][0] != standings[two.version_id][0]:
            continue
        if ahead <= LEAD or is_turnable(ahead, footing(one.version_id), footing(two.version_id), moves):
            tied.setdefault(one.version_id, []).append(two.name)
            tied.setdefault(two.version_id, []).append(one.name)
    return [dataclasses.replace(item, tied_with=tuple(tied.get(item.version_id, ()))) for item in relevant]


def _given(plan: Plan, items: Sequence[Item]) -> Plan:
    """The plan as far as what it is made of is given: it never speaks of a skill that nobody can see."""
    shown = {item.version_id for item in items}
    missing = [chosen.name for chosen in plan.chosen if chosen.version_id not in shown]
    if not missing:
        return plan
    return dataclasses.replace(
        plan,
        chosen=tuple(chosen for chosen in plan.chosen if chosen.version_id in shown),
        steps=tuple(step for step in plan.steps if step.version_id in shown),
        reason=f"left out of what the task calls for: {', '.join(f'`{name}`' for name in missing)}",
    )


def _stands(item: Item) -> bool:
    return item.version.content.kind is Kind.NORM


def _found(hit: Hit) -> bool:
    """Whether something of the query led to it; a norm may be there because it always is."""
    return hit.stored.version.content.kind is not Kind.NORM or hit.lexical > 0 or hit.semantic is not None


def _fits(item: Item, min_relevance: float, best: Mapping[str, float]) -> bool:
    return fits(item.version.content.kind, item.signals, min_relevance, best=best)


def _eligible(query: Query, hits: Mapping[str, Hit], known: Known) -> tuple[list[Stored], list[LeftOut], list[Hit]]:
    """What may be given, what may not be used here and why, and what matches and belongs to another scope."""
    recallable = [hit.stored for hit in hits.values() if hit.stored.status in RECALLABLE]
    barred: list[LeftOut] = []
    usable: list[Stored] = []
    elsewhere: list[Hit] = []
    for item in current_only(recallable):
        if not item.skill.scope.contains(query.scope):
            if _matches(hits[item.version.id], known):
                elsewhere.append(hits[item.version.id])
            continue
        why = obstacle(item, query) or _unmet(item, known) or _unreliable(item, query, known)
        if why:
            name = "a preference" if why == ANOTHERS else item.version.name  # the name alone would tell what it is
            barred.append(LeftOut(version_id=item.version.id, name=name, reason=why))
        else:
            usable.append(item)
    passed, shadowed = unshadowed(usable)  # what may not be used here shadows nothing
    elsewhere.sort(key=lambda hit: (-hit.lexical, hit.stored.version.id))
    return passed, [*barred, *shadowed], elsewhere


def _matches(hit: Hit, known: Known) -> bool:
    """Whether it has to do with what was asked, as far as that shows unweighed; something is always nearest in meaning."""
    content = hit.stored.version.content
    answers = bool(known.signature) and content.signature == known.signature
    return hit.lexical > 0 or (hit.semantic or 0.0) >= CLOSE or answers or is_document(content)


def _foreign(stored: Stored, query: Query) -> LeftOut:
    """Why something of another scope is not given; of a preference of somebody else not even its name is told."""
    content = stored.version.content
    if content.kind is Kind.PREFERENCE and is_anothers(content.person, query.person):
        return LeftOut(version_id=stored.version.id, name="a preference", reason=ANOTHERS)
    return LeftOut(version_id=stored.version.id, name=content.name, reason=obstacle(stored, query))


def _unmet(stored: Stored, known: Known) -> str:
    lacking = known.lacking.get(stored.version.id)
    if lacking:
        return f"its parts need {', '.join(lacking)}, not at hand"
    if stored.version.id in known.barred:
        return f"its parts touch what is not allowed here: {known.barred[stored.version.id]}"
    false = broken(known.situation, stored.version.content)
    return f"does not hold here: {false}" if false else ""


def _unreliable(stored: Stored, query: Query, known: Known) -> str:
    if query.min_reliability is None:
        return ""
    measured = known.reliability.get(stored.version.id, Reliability())
    if measured.low >= query.min_reliability:
        return ""
    told = f"at least {measured.low:.0%}" if measured.known else "not known yet"
    return f"reliability is {told}, {query.min_reliability:.0%} was asked for"


def _why_nothing(query: Query, left: _Left, known: Known) -> tuple[str, list[LeftOut]]:
    """Why nothing is given, and what came nearest where nothing was relevant."""
    if left.relevant:
        return ("the best match does not fit into the token budget" if query.k > 0 else "none was asked for"), []
    scored = [item for item in left.scored if not _stands(item)]  # norms are given or had no room, and that is told
    scored.sort(key=lambda item: (-item.signals["relevance"], item.version_id))
    near = [item for item in scored if item.signals["relevance"] >= SEEN][:NEAREST]
    named = [left_out(item, f"nearest, relevance {item.signals['relevance']:.2f}") for item in near]
    named += [left_out(item, "less relevant") for item in scored if item not in near]
    if known.plan.lacking:
        return known.plan.reason, named
    away = _told_elsewhere(query, left.elsewhere)
    if near:
        words = left.hits[near[0].version_id].lexical
        better = any(hit.lexical > words for hit in left.elsewhere)  # else what is near here is as near as what is not
        return _nearest(near[0].name, near[0].signals["relevance"]) + (away if better else ""), named
    if left.barred:
        return f"what matches may not be used here: `{left.barred[0].name}` {left.barred[0].reason}", named
    quoted = {each.name: known.documents.get(each.version_id, 0.0) for each in left.unquoted}
    if quoted and max(quoted.values()) >= SEEN:
        nearest = max(quoted, key=lambda name: quoted[name])
        return _nearest(nearest, quoted[nearest]) + away, named
    wanted = " or ".join(query.kinds) if query.kinds else "skill"
    here = f" that holds in {shown_line(str(query.scope))}" if away else ""
    shared = "more than everyday words" if scored or quoted else "a word"
    return f"no approved {wanted}{here} shares {shared} with this task{away}", named


def _nearest(name: str, relevance: float) -> str:
    return f"nothing is close enough; the nearest, `{name}`, has relevance {relevance:.2f}"


def _told_elsewhere(query: Query, hits: Sequence[Hit]) -> str:
    """How many that match could be given in other scopes, and how to ask there; empty if none could."""
    scopes = Counter(
        hit.stored.skill.scope
        for hit in hits
        if not obstacle(hit.stored, dataclasses.replace(query, scope=hit.stored.skill.scope))
    )
    if not scopes:
        return ""
    names = [shown_line(str(scope)) for scope in sorted(scopes, key=lambda each: (-scopes[each], str(each)))]
    told = ", ".join(names[:SCOPES]) + (f" and {len(names) - SCOPES} more" if len(names) > SCOPES else "")
    verb = "belongs" if scopes.total() == 1 else "belong"
    return f"; {scopes.total()} that may match {verb} to {told} (`--scope {names[0]}` asks there)"


def _of_norms(answer: Selection) -> str:
    """What is said all the same where nothing matched: what always holds, or that it found no room."""
    given, crowded = len(answer.standing), len(answer.crowded_out)
    if given:
        return f"; only what always holds is given: {given} norm{'' if given == 1 else 's'}"
    if crowded:
        return f"; {crowded} norm{' holds' if crowded == 1 else 's hold'} here and none fits into the token budget"
    return ""
