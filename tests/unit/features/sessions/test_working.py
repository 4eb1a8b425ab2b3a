"""Working memory of a session: what is shared is kept without secrets, within limits, for a day, and for that session alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake, Refusal
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.session import NoteKind
from tacit.features.sessions import LASTS, Limits, WorkingMemory
from tacit.store import open_store
from tests.unit.making import NOW

SECRET = "sk-proj-" + "a1B2c3D4e5" * 4
SMALL = Limits(item=100, agent=150, session=300, items=6, queries=3, query=20)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> Iterator[Store]:
    opened: Store = open_store(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def session(store: Store, clock: Clock) -> WorkingMemory:
    return WorkingMemory(store, "s1", now=clock)


def small(store: Store, clock: Clock) -> WorkingMemory:
    return WorkingMemory(store, "s1", now=clock, limits=SMALL)


# --- what is shared ---------------------------------------------------------------------------------------------------


def test_what_an_agent_contributes_is_seen_by_the_others_with_its_name_and_origin(session: WorkingMemory) -> None:
    session.contribute("  the port is 8081\n", agent="builder")
    session.contribute("mind the freeze", origin=Origin.USER)
    first, second = session.contributions()
    assert (first.text, first.agent, first.origin) == ("the port is 8081", "builder", Origin.AGENT)
    assert (second.text, second.agent, second.origin) == ("mind the freeze", "", Origin.USER)
    shown = session.shown("tester")
    assert '<tacit-shared by="builder" from="an agent">\nthe port is 8081\n' in shown
    assert '<tacit-shared from="a person">\nmind the freeze\n' in shown


def test_the_same_said_twice_by_one_agent_is_kept_once_and_lasts_from_the_second_time(
    session: WorkingMemory, clock: Clock
) -> None:
    session.contribute("same", agent="one")
    session.contribute("same", agent="two")
    clock.at += timedelta(hours=3)
    session.contribute("same", agent="one")
    assert [(each.agent, each.expires_at) for each in session.contributions()] == [
        ("two", NOW + LASTS),
        ("one", NOW + timedelta(hours=3) + LASTS),
    ]


def test_the_last_word_on_an_artifact_holds_whoever_says_it(session: WorkingMemory) -> None:
    session.register("docs/plan.md", "a draft", agent="one")
    session.register("docs/plan.md", "the plan", agent="two")
    session.register("http://localhost:8081")
    assert [(each.name, each.text, each.agent) for each in session.artifacts()] == [
        ("docs/plan.md", "the plan", "two"),
        ("http://localhost:8081", "http://localhost:8081", ""),
    ]
    assert "a draft" not in session.shown("one")


def test_an_agents_notes_are_its_own(session: WorkingMemory) -> None:
    own = session.scratch("planner")
    assert own.read() == ""
    own.write("first")
    own.write("second\nthought")
    session.scratch("tester").write("of another")
    assert own.read() == "second\nthought"
    assert "second\nthought" in session.shown("planner")
    for other in ("tester", "", "plan", "planner2"):
        assert "second" not in session.shown(other)
        assert session.shown_scratch(other).count("second") == 0
    own.write("")
    assert (own.read(), session.shown_scratch("planner")) == ("", "")


def test_questions_are_kept_with_what_was_found_and_the_oldest_gives_way(store: Store, clock: Clock) -> None:
    session = small(store, clock)
    for number, query in enumerate(("one", "two", "three", "two", "four")):
        session.asked(query, [f"skill-{number}"])
    session.asked("  ")
    assert [(each.query, each.found) for each in session.queries()] == [
        ("three", ("skill-2",)),
        ("two", ("skill-3",)),
        ("four", ("skill-4",)),
    ]
    session.asked("a very\nlong question " * 9)
    assert session.queries()[-1].query == "a very long question"
    assert "<tacit-asked>four → skill-4</tacit-asked>" in session.shown()
    session.asked("nothing found")
    assert "nothing found → nothing" in session.shown()


def test_secrets_are_taken_out_of_everything_that_is_kept(session: WorkingMemory, store: Store) -> None:
    session.contribute(f"use {SECRET}", agent=SECRET, error=f"bad key {SECRET}")
    session.register(f"out-{SECRET}.log", f"holds OPENAI_API_KEY={SECRET}")
    session.scratch("a").write(f"token={SECRET}")
    session.asked(f"why does {SECRET} not work", [SECRET])
    kept = store.notes.list("s1", at=NOW)
    assert {each.kind for each in kept} == set(NoteKind)
    assert not any(SECRET in each.text + each.name + each.agent for each in kept)
    assert SECRET not in session.shown("a")


# --- limits -----------------------------------------------------------------------------------------------------------


def test_one_thing_that_is_too_large_is_refused_with_what_to_do(store: Store, clock: Clock) -> None:
    session = small(store, clock)
    with pytest.raises(Mistake, match="101 bytes, and one thing in working memory has at most 100") as caught:
        session.contribute("x" * 101)
    assert "file" in caught.value.hint
    with pytest.raises(Mistake, match="at most 100"):
        session.register("n" * 60, "é" * 21)  # counted in bytes, with its name
    session.contribute("x" * 100)
    assert len(session.contributions()) == 1


def test_one_agent_cannot_fill_the_session_and_all_together_cannot_pass_its_limit(store: Store, clock: Clock) -> None:
    session = small(store, clock)
    session.contribute("a" * 100, agent="one")
    with pytest.raises(Mistake, match="'one' holds 100 of the 150 bytes"):
        session.scratch("one").write("b" * 60)
    session.contribute("a" * 100, agent="two")
    session.contribute("c" * 100, agent="three")
    with pytest.raises(Mistake, match=r"is full \(3 things, 300 bytes\)"):
        session.contribute("e", agent="four")
    assert {each.agent for each in session.contributions()} == {"one", "two", "three"}


def test_too_many_things_are_refused_but_questions_are_not_counted(store: Store, clock: Clock) -> None:
    session = small(store, clock)
    for number in range(6):
        session.contribute(f"{number}", agent=f"{number}")
    with pytest.raises(Mistake, match="is full"):
        session.contribute("one more", agent="other")
    session.contribute("0", agent="0")  # what takes the place of something needs no room
    session.asked("still heard")
    assert [each.query for each in session.queries()] == ["still heard"]


def test_what_is_refused_leaves_what_was_there(store: Store, clock: Clock) -> None:
    session = small(store, clock)
    session.scratch("one").write("kept")
    with pytest.raises(Mistake):
        session.scratch("one").write("x" * 101)
    assert session.scratch("one").read() == "kept"


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_blank_names_and_texts_are_refused(session: WorkingMemory, store: Store, blank: str) -> None:
    with pytest.raises(Mistake, match="session has no id"):
        WorkingMemory(store, blank, now=lambda: NOW)
    with pytest.raises(Mistake, match="nothing to share"):
        session.contribute(blank)
    with pytest.raises(Mistake, match="artifact has no name"):
        session.register(blank, "something")
    with pytest.raises(Mistake, match="agent has no name"):
        session.scratch(blank)


def test_names_that_are_too_long_are_refused(session: WorkingMemory, store: Store) -> None:
    for wrong in (
        lambda: session.contribute("x", agent="a" * 201),
        lambda: session.register("a" * 201),
        lambda: session.scratch("a" * 201),
        lambda: WorkingMemory(store, "a" * 1001, now=lambda: NOW),
    ):
        with pytest.raises(Mistake, match="longer than"):
            wrong()


# --- how long ---------------------------------------------------------------------------------------------------------


def test_all_of_it_is_gone_a_day_after_it_was_written(session: WorkingMemory, store: Store, clock: Clock) -> None:
    session.contribute("early")
    clock.at += timedelta(hours=20)
    session.register("later.md")
    clock.at = NOW + LASTS
    assert session.contributions() == []
    assert [each.name for each in session.artifacts()] == ["later.md"]
    clock.at += timedelta(hours=20)
    assert session.shown() == ""
    WorkingMemory(store, "another", now=clock).contribute("a write of anybody clears what has expired")
    clock.at = NOW
    assert session.shown() == ""


def test_forgetting_drops_all_of_the_session_and_nothing_else(session: WorkingMemory, store: Store) -> None:
    other = WorkingMemory(store, "s2", now=lambda: NOW)
    other.contribute("stays")
    session.contribute("goes")
    session.scratch("a").write("goes too")
    session.asked("and this")
    assert session.forget() == 3
    assert session.forget() == 0
    assert session.shown("a") == ""
    assert [each.text for each in other.contributions()] == ["stays"]


# --- through the loop -------------------------------------------------------------------------------------------------


def test_a_memory_opens_the_working_memory_of_a_session_and_notes_what_is_asked_in_it(store: Store) -> None:
    loop = Tacit(store, clock=lambda: NOW)
    loop.recall("deploy the service", session="s1")
    loop.recall("asked without a session")
    loop.recall("asked to see the scores only", session="s1", keep=False)
    loop.recall("asked with an id that is no name", session="x" * 5000)
    assert [(each.query, each.found) for each in WorkingMemory(loop, "s1").queries()] == [("deploy the service", ())]
    WorkingMemory(loop, "s1").contribute("shared")
    assert "deploy the service → nothing" in WorkingMemory(loop, "s1").shown()
    assert WorkingMemory(loop, "s2").shown() == ""


def test_nothing_is_kept_while_tacit_is_paused(store: Store) -> None:
    def paused() -> None:
        raise Refusal("Tacit is paused here")

    session = WorkingMemory(store, "s1", now=lambda: NOW, may_write=paused)
    for write in (
        lambda: session.contribute("x"),
        lambda: session.register("x"),
        lambda: session.scratch("a").write("x"),
        lambda: session.asked("x"),
    ):
        with pytest.raises(Refusal, match="paused"):
            write()
    assert store.notes.list("s1", at=NOW) == []
