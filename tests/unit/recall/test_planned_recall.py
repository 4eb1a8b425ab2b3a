"""Selecting skills that know what calls for them: planned parts first and in order, held back, wide, and composed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Cue, Kind, Skill, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.recall import retrieval
from tacit.recall.signals import CANDIDATE_HITS
from tacit.store import Store, open_store
from tests.unit.store.samples import at, content, put_version

ANYWHERE = Scope()


@pytest.fixture
def store() -> Iterator[Store]:
    opened: Store = open_store(":memory:")
    yield opened
    opened.close()


def put(
    store: Store, name: str, *, scope: Scope = ANYWHERE, status: Status = Status.TRIAL, **more: Any
) -> StoredVersion:
    what = {key: value for key, value in more.items() if key != "minutes"}
    return put_version(store, name, status=status, skill=Skill.create(content(name, **what), scope, at=at(0)), **more)


def part(store: Store, name: str, word: str, *, tool: str = "", **more: Any) -> StoredVersion:
    cues = (Cue(term="", weight=0.1), Cue(term=word, weight=1.6))
    steps = (SkillStep(text=f"run {tool or name}", tool=tool or name),)
    return put(store, name, description=f"It will {word}", cues=cues, steps=steps, **more)


def works(store: Store) -> None:
    part(store, "start-server", "start", after=("copy-files",))
    part(store, "copy-files", "copy", after=("stop-server",))
    part(store, "stop-server", "stop")


def composite(store: Store, *, optional: bool = False, **more: Any) -> StoredVersion:
    names = ("stop-server", "copy-files", "start-server")
    steps = tuple(SkillStep(text=f"`{name}`", optional=optional) for name in names)
    return put(store, "move-the-server", description="Move the server", sub_skills=names, steps=steps, **more)


def ask(store: Store, text: str, **more: Any) -> Selection:
    query = Query(text=text, **{"k": 9, "budget_tokens": 9_000, **more})
    return retrieval.choose(store, query, now=at(600), min_relevance=0.2)


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


def test_what_the_task_calls_for_comes_first_and_in_order(store: Store) -> None:
    works(store)
    put_version(store, "start-copy-stop", description="start copy stop start copy stop")
    selection = ask(store, "start after you copy, but stop before")
    assert names(selection)[:3] == ["stop-server", "copy-files", "start-server"]
    assert [chosen.name for chosen in selection.plan.chosen] == names(selection)[:3]
    assert [step.version_id for step in selection.plan.steps] == [item.version_id for item in selection.items[:3]]


@pytest.mark.parametrize("limit", [{"k": 1}, {"budget_tokens": 130}])
def test_a_plan_never_speaks_of_what_is_not_given(store: Store, limit: dict[str, int]) -> None:
    works(store)
    selection = ask(store, "stop, copy and start", **limit)
    shown = {item.version_id for item in selection.items}
    assert 0 < len(shown) < 3
    assert {chosen.version_id for chosen in selection.plan.chosen} == shown
    assert {step.version_id for step in selection.plan.steps} == shown
    assert selection.plan.code is ReasonCode.PARTLY_GIVEN


def test_a_missing_tool_of_what_is_called_for_holds_the_rest_back_and_says_so(store: Store) -> None:
    works(store)
    selection = ask(store, "stop, copy and start", tools=("stop-server", "start-server"))
    assert selection.abstained
    assert selection.code is selection.plan.code is ReasonCode.MISSING_TOOLS
    assert selection.plan.lacking == ("copy-files",)
    assert ("copy-files", ReasonCode.MISSING_TOOLS) in [(one.name, one.code) for one in selection.left_out]


def test_what_has_no_cues_is_given_even_then(store: Store) -> None:
    works(store)
    put_version(store, "server-notes", kind=Kind.REFERENCE, description="How servers stop, copy and start", steps=())
    selection = ask(store, "stop, copy and start the servers", tools=("stop-server", "start-server"))
    assert names(selection) == ["server-notes"]


def test_words_that_call_for_nothing_are_met_with_the_reason(store: Store) -> None:
    works(store)
    selection = ask(store, "what is the weather like")
    assert selection.abstained
    assert selection.code
    assert selection.plan.chosen == ()


def test_skills_with_cues_are_found_among_many_hits(store: Store) -> None:
    for number in range(CANDIDATE_HITS + 20):
        put_version(store, f"stop-{number}", description="stop stop stop the server and stop it " * 3)
    part(store, "halt", "stop", minutes=1)
    selection = ask(store, "please stop it and then tidy up everything that is left over", k=1)
    assert names(selection) == ["halt"]


@pytest.mark.parametrize("optional", [False, True])
def test_a_composite_whose_parts_cannot_be_done_here_is_held_back(store: Store, *, optional: bool) -> None:
    works(store)
    composite(store, optional=optional)
    assert "move-the-server" in names(ask(store, "move the server"))
    selection = ask(store, "move the server", tools=("look",))
    assert selection.abstained
    held = {one.name: one.code for one in selection.left_out}["move-the-server"]
    assert held is ReasonCode.PARTS_MISSING_TOOLS


def test_a_composite_is_given_without_an_optional_part_that_cannot_be_done(store: Store) -> None:
    works(store)
    composite(store, optional=True)
    (item,) = [one for one in ask(store, "move the server", tools=("stop-server", "start-server")).items if one.parts]
    assert [one.name for one in item.parts] == ["stop-server", "start-server"]


def test_an_optional_part_that_the_task_calls_for_is_needed(store: Store) -> None:
    works(store)
    composite(store, optional=True)
    selection = ask(store, "copy and move the server", tools=("stop-server", "start-server"))
    assert selection.abstained


def test_parts_are_resolved_where_the_composite_is_and_never_from_elsewhere(store: Store) -> None:
    here, there = Scope(Level.PROJECT, "here"), Scope(Level.PROJECT, "there")
    near = part(store, "stop-server", "stop", scope=here)
    part(store, "stop-server", "stop", scope=there, tool="other-stop")
    put(store, "copy-files", kind=Kind.LESSON, description="a lesson of that name", steps=(), scope=there)
    composite(store, scope=here)
    (item,) = [one for one in ask(store, "move the server", scope=here).items if one.name == "move-the-server"]
    assert [one.id for one in item.parts] == [near.version.id]


def test_a_composite_that_names_itself_or_a_part_twice_shows_each_once(store: Store) -> None:
    part(store, "stop-server", "stop")
    names_ = ("stop-server", "loop-around", "stop-server")
    put_version(store, "loop-around", description="Go around", sub_skills=names_, steps=())
    (item,) = [one for one in ask(store, "go around").items if one.name == "loop-around"]
    assert [one.name for one in item.parts] == ["stop-server"]
    assert ask(store, "go around").version_ids.count(item.version_id) == 1


def test_a_part_that_is_not_approved_is_not_shown(store: Store) -> None:
    part(store, "stop-server", "stop", status=Status.CANDIDATE)
    part(store, "copy-files", "copy")
    composite(store)
    (item,) = [one for one in ask(store, "move the server").items if one.name == "move-the-server"]
    assert [one.name for one in item.parts] == ["copy-files"]
