"""Laws of recall that hold for a whole library: what may be given, how much of it, and in an order that others cannot turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tacit.api import Tacit
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Condition, Kind, Skill, SkillContent
from tacit.recall import publishing
from tacit.recall.hook_recall import HookLimits, for_error, for_start, for_task
from tacit.recall.retrieval import choose
from tacit.store import Store, open_store
from tacit.store.hook_index import HookIndex
from tacit.text.error_signatures import error_signature
from tacit.text.words import estimate_tokens
from tests.lengths import EXHAUSTIVE
from tests.spelling import SpellingEmbedder
from tests.unit.store.samples import at, birth_of, evidence, step_to, version_of

HERE = Scope(Level.PROJECT, "a")
SCOPES = (HERE, Scope(Level.PROJECT), Scope(Level.GLOBAL), Scope(Level.PROJECT, "b"), Scope(Level.ORGANISATION, "o"))
ERROR = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"
WORDS = "rotate keys database password deploy staging image cache purge report export run file check penguin".split()
LIVES = {
    Status.CANDIDATE: (Status.CANDIDATE,),
    Status.QUARANTINED: (Status.TRIAL, Status.QUARANTINED),
    Status.REJECTED: (Status.REJECTED,),
    Status.TRIAL: (Status.TRIAL,),
    Status.TRUSTED: (Status.TRIAL, Status.TRUSTED),
    Status.STALE: (Status.TRIAL, Status.TRUSTED, Status.STALE),
    Status.RETIRED: (Status.TRIAL, Status.RETIRED),
}
"""The way by which a version gets to a status; whoever was recallable on it was rendered and embedded then."""
BY_SPELLING = SpellingEmbedder(32)


@dataclass(frozen=True)
class Held:
    """A skill to be put into a library."""

    content: SkillContent
    scope: Scope = HERE
    status: Status = Status.TRIAL
    successes: int = 0


def said(most: int, least: int = 0) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), min_size=least, max_size=most).map(" ".join)


@st.composite
def contents(draw: st.DrawFn, *, kinds: Sequence[Kind] = tuple(Kind)) -> SkillContent:
    kind = draw(st.sampled_from(kinds))
    return SkillContent(
        kind=kind,
        name="-".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
        description=draw(said(5)),
        body=draw(said(12)),
        example_queries=tuple(draw(st.lists(said(5, 1), max_size=2))),
        signature=error_signature(ERROR) if kind is Kind.LESSON and draw(st.booleans()) else "",
    )


@st.composite
def libraries(draw: st.DrawFn, *, scope: Scope | None = None, status: Status | None = None) -> list[Held]:
    made = draw(st.lists(contents(), min_size=1, max_size=6, unique_by=lambda each: each.name))
    return [
        Held(
            content=each,
            scope=scope or draw(st.sampled_from(SCOPES)),
            status=status or draw(st.sampled_from(Status)),
            successes=draw(st.integers(0, 4)),
        )
        for each in made
    ]


def library(held: Sequence[Held], path: str | Path = ":memory:") -> Store:
    """A library, each of its skills with the life it had, published as it went."""
    store = open_store(path)
    for number, each in enumerate(held):
        skill = Skill.create(each.content, each.scope, at=at())
        version = version_of(skill, each.content)
        life = LIVES[each.status]
        store.add_version(skill, version, birth_of(version, life[0]))
        for minutes, status in enumerate(life[1:], start=1):
            publishing.publish(store, BY_SPELLING)
            store.add_transition(step_to(store.version(version.id), status, minutes=minutes))
        for use in range(each.successes):
            store.add(evidence(version.id, minutes=10 + use, use_id=f"u{number}-{use}"))
        publishing.publish(store, BY_SPELLING)
    return store


def ask(store: Store, text: str, *, by_meaning: bool = True, **more: Any) -> Selection:
    query = Query(text=text, **{"k": 20, "budget_tokens": 100_000, "scope": HERE, **more})
    return choose(store, query, now=at(600), min_relevance=0.1, embedder=BY_SPELLING if by_meaning else None)


def shown(selection: Selection) -> list[str]:
    return [item.version_id for item in (*selection.items, *selection.standing)]


ASKED = said(6, 1)
STATES = st.fixed_dictionaries(
    {},
    optional={
        "error": st.sampled_from([ERROR, "KeyError: 'colour'", ""]),
        "last_action": said(2),
        "files": st.lists(said(1, 1), max_size=2),
    },
)


@given(libraries(), ASKED, STATES, st.booleans())
def test_what_is_not_approved_here_is_given_by_no_path(held, text, state, by_meaning):
    store = library(held)
    for item_id in shown(ask(store, text, state=state, by_meaning=by_meaning)):
        found = store.version(item_id)
        assert found.status in RECALLABLE
        assert found.skill.scope.contains(HERE)


@given(contents(), st.sampled_from(sorted(set(Status) - RECALLABLE)), STATES)
def test_not_even_a_skill_that_says_just_what_is_asked_is_given_unless_it_was_approved(made, status, state):
    asked = f"{made.name} {made.description} {made.body}"
    assert shown(ask(library([Held(made, status=status)]), asked, state={"error": ERROR, **state})) == []
    assert shown(ask(library([Held(made, scope=Scope(Level.PROJECT, "b"))]), asked, state={"error": ERROR})) == []
    assert len(shown(ask(library([Held(made)]), asked, state={"error": ERROR, **state}))) == 1


@given(libraries(scope=HERE, status=Status.TRIAL), ASKED, STATES, st.integers(1, 900), st.integers(0, 5))
def test_all_that_is_given_fits_into_the_budget_with_its_frame_and_the_norms(held, text, state, budget, k):
    loop = Tacit(library(held), scope=HERE, embedder=BY_SPELLING, clock=lambda: at(600))
    selection = loop.recall(text, state=state, budget_tokens=budget, k=k)
    assert estimate_tokens(selection.text) <= budget
    assert selection.tokens == estimate_tokens(selection.text)
    assert len(selection.items) <= k


@given(libraries(scope=HERE), ASKED, STATES, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_when_skills_came_nor_on_how_often_one_asks(held, text, state, random):
    shuffled = list(held)
    random.shuffle(shuffled)
    store = library(held)
    first, again = (ask(store, text, state=state) for _ in range(2))
    assert first == again
    other = ask(library(shuffled), text, state=state)
    assert shown(first) == shown(other)
    assert [item.signals for item in first.items] == [item.signals for item in other.items]
    assert [set(item.tied_with) for item in first.items] == [set(item.tied_with) for item in other.items]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["error", "command", "last_action", "files", "environment", "readings", "holds", "colour"])


@given(
    st.text(max_size=80) | ASKED,
    st.dictionaries(KEYS, ANYTHING, max_size=5),
    st.none() | st.lists(st.text(max_size=8), max_size=3).map(tuple),
    st.integers(-3, 60),
    st.integers(-100, 3000),
)
def test_no_words_state_or_tools_make_it_fail(text, state, tools, k, budget):
    condition = Condition(text="the keys are there", check="ls keys", reading="get", key="a", relation="is", value="b")
    made = SkillContent(
        kind=Kind.PROCEDURE, name="rotate-keys", description="rotate the keys", preconditions=(condition,)
    )
    selection = ask(
        library([Held(made), Held(replace(made, name="purge-cache", description="purge the cache"))]),
        text, state=state, tools=tools, k=k, budget_tokens=budget,
    )  # fmt: skip
    assert selection.abstained == bool(selection.reason)
    assert selection.tokens <= max(0, budget)
    assert 0 <= selection.confidence <= 1


@st.composite
def namesakes(draw: st.DrawFn) -> list[Held]:
    """Skills of few names and kinds, at scopes of which each may see the broader ones."""
    ladder = [scope for scope in SCOPES if scope.contains(HERE)]
    kinds = st.sampled_from([Kind.NORM, Kind.PREFERENCE, Kind.LESSON, Kind.PROCEDURE])
    names = st.sampled_from(["rotate-keys", "purge-cache"])
    made = draw(st.lists(st.tuples(kinds, names, st.sampled_from(ladder), contents()), min_size=2, max_size=7))
    return [
        Held(replace(each, kind=kind, name=name, signature=error_signature(ERROR) * (kind is Kind.LESSON)), scope)
        for kind, name, scope, each in made
    ]


# Each example makes a store on disk.
@settings(max_examples=200 if EXHAUSTIVE else 30, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(namesakes(), ASKED)
def test_hooks_and_recall_agree_on_what_a_narrower_scope_shadows(held, text):
    with TemporaryDirectory() as folder:
        store = library(held, Path(folder) / "tacit.db")
        kept = {each.version.id: each for each in store.catalogue(statuses=RECALLABLE)}
        index = HookIndex.open(str(Path(folder) / "tacit.db"))
        assert index is not None
        limits, now = HookLimits(k=50, budget_tokens=100_000, min_relevance=0.0), at(600).timestamp()
        here, error = str(HERE), [error_signature(ERROR)]
        started = [row.version_id for rows in for_start(index, person="", scope=here, now=now) for row in rows]
        decisions = [
            for_task(index, text, limits=limits, scope=here, now=now),
            for_error(index, error, program="python", limits=limits, scope=here, now=now),
        ]
        by_hook = [started, *([row.version_id for row in each.given] for each in decisions)]
        by_recall = ask(store, text, state={"error": ERROR}, by_meaning=False)
        index.close()
        store.close()
    for given_ids in (*by_hook, shown(by_recall)):
        for one in given_ids:
            for other in kept.values():
                same = other.skill.kind == kept[one].skill.kind and other.version.name == kept[one].version.name
                assert not (same and other.skill.scope.level.breadth < kept[one].skill.scope.level.breadth)
    shadowed = {left.version_id for left in by_recall.left_out if left.code is ReasonCode.SHADOWED}
    assert shadowed.isdisjoint(version_id for given_ids in by_hook for version_id in given_ids)


@given(namesakes())
def test_a_catalogue_lists_each_name_and_kind_at_its_narrowest_scope_alone(held):
    with Tacit(library(held), scope=HERE) as memory:
        listed = {entry.name: memory.version(entry.version_id) for entry in memory.catalogue().entries}
        for stored in memory.skills(statuses=RECALLABLE):
            one = listed[stored.version.name]
            assert (
                one.skill.kind != stored.skill.kind or one.skill.scope.level.breadth <= stored.skill.scope.level.breadth
            )
