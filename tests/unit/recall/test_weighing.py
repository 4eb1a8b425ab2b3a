"""A hit and what is known of it: every signal that was asked for, none that was not, and reasons in plain words."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from tacit.domain.evidence import Outcome, Reliability
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Item, Plan, Query
from tacit.domain.skill import Case, Condition, SkillContent
from tacit.domain.stored import Hit
from tacit.evidence.reliability import reliability
from tacit.recall.plan import SAME_TASK_MIN
from tacit.recall.reasons import error_match, matched_words, reliability_reason
from tacit.recall.signals import Rarity, combined_score
from tacit.recall.weighing import CLOSE_MEANING_MIN, RecallContext, Weigher, read_situation
from tests.unit.making import NOW, PROJECT, content, evidence, stored

TASK = "add a database migration"
ALWAYS = {"relevance", "words", "reliability", "prominence", "scope"}


def weigh(made: SkillContent | None = None, text: str = TASK, *, semantic: float | None = None, **known: Any) -> Item:
    query = Query(text=text, scope=known.pop("scope", PROJECT), tools=known.pop("tools", None))
    held = known.pop("held", None) or stored(made)
    told = RecallContext(rarity=Rarity(frequency={"migrat": 3}, corpus_size=20), reliability={})
    told = dataclasses.replace(told, **known)
    return Weigher(query, told, now=NOW).weigh(Hit(stored=held, semantic=semantic))


def test_only_what_was_asked_for_is_a_signal():
    assert set(weigh().signals) == ALWAYS
    assert set(weigh(semantic=0.5).signals) == ALWAYS | {"meaning"}
    assert set(weigh(content(example_queries=("add a migration",))).signals) == ALWAYS | {"example"}
    assert set(weigh(situation=read_situation({"files": ["migration.py"]})).signals) == ALWAYS | {"state"}
    assert set(weigh(text="migrate KB5034414", made=content(body="For KB5034414.")).signals) == ALWAYS | {"names"}


def test_the_score_is_made_of_the_signals():
    item = weigh(semantic=0.4)
    assert item.score == pytest.approx(combined_score(item.signals))
    assert item.score > weigh().score


def test_meaning_counts_fully_for_a_short_query_and_less_for_a_long_one():
    assert weigh(semantic=0.6).signals["meaning"] == pytest.approx(0.6)
    long = " ".join(f"word{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(80))
    assert weigh(text=long, semantic=0.6).signals["meaning"] < 0.3
    assert weigh(semantic=-0.4).signals["meaning"] == 0.0


def test_close_meaning_is_named_among_the_reasons():
    assert weigh(semantic=CLOSE_MEANING_MIN).reasons[0] == matched_words(
        ["database", "migration", "add"], CLOSE_MEANING_MIN
    )
    assert "meaning" not in weigh(semantic=CLOSE_MEANING_MIN - 0.01).reasons[0]
    assert weigh(text="penguins", semantic=0.9).reasons[0] == matched_words([], 0.9)


def test_reasons_name_the_words_as_they_were_asked():
    assert weigh(text="Migrations, please!").reasons[0] == matched_words(["Migrations"], None)


def test_an_error_that_is_answered_is_the_first_reason():
    made = content(signature="KeyError: <value>")
    item = weigh(made, signature="KeyError: <value>")
    assert item.reasons[0] == error_match(1.0)
    assert item.signals["signature"] == item.signals["relevance"] == 1.0
    assert "signature" not in weigh(made, signature="OSError: disk full").signals


def test_evidence_is_told_in_shares_of_verified_uses():
    held = stored()
    measured = reliability([*(evidence(hours=at) for at in range(9)), evidence(Outcome.FAILURE, hours=10)])
    item = weigh(held=held, reliability={held.version.id: measured})
    assert item.reliability == measured
    assert item.reasons[1] == reliability_reason(item.reliability)
    assert item.signals["reliability"] > weigh(held=held).signals["reliability"]
    assert weigh(held=held).reliability == Reliability()


def test_what_was_used_lately_or_confirmed_often_is_more_prominent():
    held = stored()
    old = dataclasses.replace(held, version=dataclasses.replace(held.version, created_at=NOW - timedelta(days=300)))
    fresh = weigh(held=held).signals["prominence"]
    faded = weigh(held=old).signals["prominence"]
    assert fresh > faded > 0
    assert weigh(held=old, usage={old.version.id: (0, NOW, 0.5)}).signals["prominence"] == pytest.approx(fresh)
    assert weigh(held=held, usage={held.version.id: (3, held.version.created_at, 0.5)}).signals[
        "prominence"
    ] == pytest.approx(4 * fresh)


def test_what_comes_from_further_away_is_less_near():
    near, far = (weigh(held=stored(scope=scope)).signals["scope"] for scope in (PROJECT, Scope(Level.GLOBAL)))
    assert near == 1.0 > far >= 0


def test_what_a_task_calls_for_is_relevant():
    held = stored()
    item = weigh(text="penguins", held=held, plan=Plan(strengths={held.version.id: 0.7}))
    assert item.signals["cues"] == item.signals["relevance"] == 0.7
    assert weigh(text="penguins", held=held, plan=Plan(strengths={held.version.id: 3.0})).signals["relevance"] == 1.0


def test_a_skill_with_cases_belongs_to_tasks_of_the_kind_it_was_learned_from():
    cases = (Case(conditions=(Condition(text="it is pending"),)),)
    made = content(cases=cases, example_queries=("cancel order W123 for the customer",), name="x", description="y")
    text = "cancel order W987 for the customer"
    assert weigh(made, text).signals["relevance"] >= SAME_TASK_MIN
    assert weigh(dataclasses.replace(made, cases=()), text).signals["relevance"] < 1


def test_a_skill_with_cases_can_be_looked_into_where_just_its_tools_are_at_hand():
    made = content(cases=(Case(conditions=(Condition(text="it is pending"),)),))
    assert weigh(made, "penguins", tools=frozenset({"Bash", "Read"})).signals["relevance"] == SAME_TASK_MIN
    assert weigh(made, "penguins", tools=frozenset({"Read"})).signals["relevance"] < SAME_TASK_MIN
    assert weigh(made, "penguins").signals["relevance"] < SAME_TASK_MIN
