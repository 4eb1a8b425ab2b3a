"""Origins, scopes and the small laws of the other values."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.archive import Descent, is_purge_tombstone
from tacit.domain.candidate import Finding, GateDecision, Verdict
from tacit.domain.errors import Mistake
from tacit.domain.evidence import Assessment, Grade, Outcome, Reliability, Use
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Item, Query, Selection
from tacit.domain.trajectory import Origin, Role, Step, StepResult, lowest
from tests.raising import raises
from tests.unit.making import NOW, attempt, candidate, later, shell, stored

A, B = Scope(Level.PROJECT, "a"), Scope(Level.PROJECT, "b")
ACME, EVERYWHERE = Scope(Level.ORGANISATION, "acme"), Scope(Level.GLOBAL)


def test_the_lowest_origin_is_the_least_trusted():
    assert lowest([Origin.OPERATOR, Origin.EXTERNAL, Origin.USER]) is Origin.EXTERNAL
    assert lowest([Origin.OPERATOR, Origin.USER]) is Origin.USER
    assert lowest([Origin.AGENT]) is Origin.AGENT
    assert sorted(Origin, key=lambda origin: origin.rank) == [
        Origin.EXTERNAL,
        Origin.AGENT,
        Origin.USER,
        Origin.OPERATOR,
    ]


def test_what_was_made_from_nothing_counts_as_external():
    assert lowest([]) is Origin.EXTERNAL
    assert candidate(origins={}).lowest_origin is Origin.EXTERNAL
    assert stored(origins={}).version.lowest_origin is Origin.EXTERNAL


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("global", EVERYWHERE),
        ("project:a", A),
        (" project : a ", A),
        ("project", Scope(Level.PROJECT)),
        ("organisation:acme", ACME),
        ("project:a:b", Scope(Level.PROJECT, "a:b")),
    ],
)
def test_a_scope_is_read_as_it_is_written(text, scope):
    assert Scope.parse(text) == scope
    assert Scope.parse(str(scope)) == scope


@pytest.mark.parametrize("text", ["", "galaxy", "Project:a", ":a"])
def test_an_unknown_scope_is_a_mistake_that_names_the_levels(text):
    with raises(Mistake, "unknown_scope") as refused:
        Scope.parse(text)
    assert all(level in refused.value.hint for level in Level)


def test_a_project_is_not_visible_from_another():
    assert A.contains(A)
    assert not A.contains(B)
    assert not B.contains(A)


def test_global_is_visible_from_everywhere_and_sees_only_itself():
    for scope in (A, ACME, EVERYWHERE, Scope(Level.SESSION, "s"), Scope(Level.TEAM, "t")):
        assert EVERYWHERE.contains(scope)
    assert not A.contains(EVERYWHERE)
    assert not ACME.contains(EVERYWHERE)


def test_an_organisation_is_visible_from_projects_but_not_from_another_organisation():
    assert ACME.contains(A)
    assert not ACME.contains(Scope(Level.ORGANISATION, "other"))
    assert not A.contains(ACME)


def test_a_session_is_visible_from_itself_only():
    session = Scope(Level.SESSION, "s")
    assert session.contains(session)
    assert not session.contains(Scope(Level.SESSION, "other"))
    assert not session.contains(A)


def test_a_scope_without_a_name_stands_for_any_of_its_level():
    assert Scope(Level.PROJECT).contains(A)
    assert A.contains(Scope(Level.PROJECT))


def test_what_is_broader_is_seen_from_what_is_narrower_and_not_the_other_way_round():
    ladder = [Scope(level, "x" if level is not Level.GLOBAL else "") for level in Level]
    for i, narrow in enumerate(ladder):
        for broad in ladder[i + 1 :]:
            assert broad.contains(narrow)
            assert not narrow.contains(broad)


def test_levels_widen_in_the_order_of_the_ladder():
    assert [level.breadth for level in Level] == [0, 1, 2, 3, 4]
    assert Level.TEAM.breadth < Level.SESSION.breadth < Level.PROJECT.breadth < Level.GLOBAL.breadth


@pytest.mark.parametrize(
    ("role", "origin"),
    [
        (Role.SYSTEM, Origin.OPERATOR),
        (Role.USER, Origin.USER),
        (Role.AGENT, Origin.AGENT),
        (Role.CONTEXT, Origin.EXTERNAL),
    ],
)
def test_a_step_knows_who_wrote_each_of_its_parts(role, origin):
    step = Step(index=0, role=role)
    assert step.origin_of("text") is origin
    assert step.origin_of("observation") is Origin.EXTERNAL
    assert step.origin_of("tool") is step.origin_of("arguments") is Origin.AGENT


@pytest.mark.parametrize(("result", "failed"), [(r, r not in ("ok", "unknown")) for r in StepResult])
def test_only_ok_and_unknown_are_not_known_to_have_failed(result, failed):
    assert shell("ls", result).failed is failed


def test_a_trajectory_tells_its_actions_and_when_it_was():
    steps = (
        Step(index=0, role=Role.USER, text="go"),
        Step(index=1, role=Role.AGENT, tool="Bash", at=later(1)),
        Step(index=2, role=Role.AGENT, text="done", at=later(2)),
    )
    run = dataclasses.replace(attempt(), steps=steps)
    assert [step.index for step in run.actions] == [1]
    assert (run.started_at, run.ended_at) == (later(1), later(2))
    assert attempt().started_at is attempt().ended_at is None


def test_only_others_than_the_agent_verify():
    assert [grade.verified for grade in (Grade.MACHINE, Grade.HUMAN, Grade.SELF)] == [True, True, False]
    assert Assessment(outcome=Outcome.SUCCESS, grade=Grade.HUMAN).verified_success
    assert not Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF).verified_success
    assert not Assessment(outcome=Outcome.PARTIAL, grade=Grade.MACHINE).verified_success
    assert not Assessment(outcome=Outcome.FAILURE).verified_failure
    assert Assessment().outcome is Outcome.UNKNOWN


def test_reliability_without_evidence_is_not_known_and_spans_everything():
    assert not Reliability().known
    assert (Reliability().low, Reliability().high) == (0.0, 1.0)


def test_values_cannot_be_changed():
    for value in (A, Reliability(), shell("ls"), candidate(), stored(), Query(text="x")):
        first = dataclasses.fields(value)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, first, None)


def test_uses_at_different_times_are_different_uses():
    assert Use(version_ids=("v",), task="x", at=NOW).id != Use(version_ids=("v",), task="x", at=later(1)).id


def test_a_verdict_lists_its_rules_in_order():
    found = (Finding(rule="b", message=""), Finding(rule="a", message=""))
    assert Verdict(decision=GateDecision.HOLD, findings=found, at=NOW).reasons == ("b", "a")


def test_a_selection_without_items_has_abstained_and_an_item_shows_its_version():
    assert Selection(query=Query(text="x")).abstained
    held = stored()
    item = Item(version=held.version, status=held.status, score=1, signals={}, reasons=(), text="", tokens=0)
    assert (item.name, item.steps, item.version_id) == (
        held.version.name,
        held.version.content.steps,
        held.version.id,
    )
    assert not Selection(query=Query(text="x"), items=(item,)).abstained


@pytest.mark.parametrize(
    ("identity", "told"), [("purge:2026", True), ("session:a", False), ("t_1", False), ("", False), ("xpurge:", False)]
)
def test_the_stone_of_a_purge_is_told_from_the_stones_of_what_went(identity, told):
    assert is_purge_tombstone(identity) is told


def test_nothing_descends_from_nothing():
    assert Descent().is_empty
    assert not Descent(uses=("u_1",)).is_empty
