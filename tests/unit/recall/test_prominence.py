"""Prominence fades with age to a floor, and what is seen to work again is fresh again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Scope
from tacit.domain.selection import Query
from tacit.domain.skill import Kind, Skill
from tacit.domain.trajectory import Origin
from tacit.evidence.skill_usage import importance_of
from tacit.recall.publishing import publish
from tacit.recall.retrieval import choose
from tacit.recall.signals import prominence, recency
from tacit.store import open_store
from tacit.store.hook_index import HookIndex
from tests.raising import raises
from tests.unit.store.samples import at, content, evidence, put_version, step_to, version_of

DAY = 86_400.0


def after(days: float, *, importance: float = 0.5, reinforced: int = 0) -> float:
    return prominence(importance, 0.0, days * DAY, reinforced=reinforced)


def test_ninety_days_halve_it():
    assert after(90) == pytest.approx(after(0) / 2)
    assert after(180) == pytest.approx(after(0) / 4)
    assert recency(0.0, 90 * DAY) == pytest.approx(0.5)


def test_an_old_skill_comes_after_a_fresh_one_that_matches_a_little_less():
    store = open_store(":memory:")
    old = put_version(store, "deploy-the-site", description="Deploy the site to staging")
    new = put_version(store, "deploy-a-site", description="Deploy the site", minutes=400 * 24 * 60)
    query = Query(text="deploy the site to staging", scope=old.skill.scope)

    def order(now: datetime) -> list[str]:
        return [item.version_id for item in choose(store, query, now=now, min_relevance=0.0).items]

    assert order(old.version.created_at) == [old.version.id, new.version.id]
    assert order(new.version.created_at) == [new.version.id, old.version.id]


def test_it_never_falls_below_a_tenth():
    assert after(365) == after(1000) == pytest.approx(after(0) * 0.1)
    assert after(298) > after(299.1) == pytest.approx(after(0) * 0.1, rel=0.01)


def test_what_lies_in_the_future_is_not_more_than_fresh():
    assert after(-30) == after(0)


def test_what_was_confirmed_and_is_fresh_stands_out_more_than_four_times_over_what_is_stale():
    assert after(0, reinforced=1) / after(365) > 4
    assert after(0) / after(365) == pytest.approx(10)


@pytest.mark.parametrize("status", [Status.RETIRED, Status.STALE, Status.QUARANTINED, Status.CANDIDATE])
def test_what_is_retired_or_set_aside_is_never_recalled_however_prominent_it_was(status):
    store = open_store(":memory:")
    held = put_version(store)
    query = Query(text=held.version.content.description, scope=held.skill.scope)
    assert choose(store, query, now=held.version.created_at, min_relevance=0.0).items
    store.add_transition(step_to(held, status))
    assert choose(store, query, now=held.version.created_at, min_relevance=0.0).abstained


@pytest.mark.parametrize(
    ("outcome", "grade", "resets"),
    [
        (Outcome.SUCCESS, Grade.MACHINE, True),
        (Outcome.SUCCESS, Grade.HUMAN, True),
        (Outcome.SUCCESS, Grade.SELF, False),
        (Outcome.FAILURE, Grade.MACHINE, False),
        (Outcome.PARTIAL, Grade.MACHINE, False),
    ],
)
def test_only_a_verified_success_starts_the_time_anew(outcome, grade, resets):
    store = open_store(":memory:")
    held = put_version(store)
    asked = held.version.created_at + timedelta(days=180)

    def seen() -> float:
        query = Query(text=held.version.content.description, scope=held.skill.scope)
        return choose(store, query, now=asked, min_relevance=0.0).items[0].signals["prominence"]

    faded = seen()
    store.add(evidence(held.version.id, minutes=180 * 24 * 60, outcome=outcome, grade=grade))
    assert (seen() > 3.9 * faded) is resets
    assert resets or seen() == pytest.approx(faded)


@pytest.mark.parametrize(
    ("more", "importance"),
    [({}, 0.5), ({"kind": Kind.NORM}, 0.8), ({"origins": {"body": Origin.USER}}, 0.8)],
)
def test_what_a_person_decided_or_wrote_is_more_important(more, importance):
    what = content(kind=more.get("kind", Kind.LESSON))
    version = version_of(Skill.create(what, Scope(), at=at()), what)
    assert importance_of(replace(version, origins=more.get("origins", {}))) == importance


@pytest.mark.parametrize(("grade", "importance"), [(Grade.HUMAN, 0.8), (Grade.MACHINE, 0.5), (Grade.SELF, 0.5)])
def test_what_a_person_confirmed_is_more_important(grade, importance):
    held = put_version(open_store(":memory:"))
    assert importance_of(held.version, [evidence(held.version.id, grade=grade)]) == importance


def test_a_person_sets_how_important_a_skill_is_for_recall_and_hooks(tmp_path: Path):
    memory = Tacit(open_store(tmp_path / "tacit.db"), clock=lambda: at(9))
    held = put_version(memory.context.store)
    publish(memory.context.store)
    memory.reviews.set_importance(held.version.name, 0.2, by="ann")
    memory.reviews.set_importance(held.version.name, 0.9, by="ann")
    (item,) = memory.recall(held.version.content.description).items
    assert item.signals["prominence"] == pytest.approx(0.9, rel=0.01)
    index = HookIndex.open(str(tmp_path / "tacit.db"))
    assert index is not None
    assert [row.importance for row in index.by_version(held.version.id)] == [0.9]
    with raises(Mistake, "wrong_importance"):
        memory.reviews.set_importance(held.version.name, 1.1, by="ann")
