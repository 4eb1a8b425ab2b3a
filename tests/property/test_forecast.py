"""Forecasts of people: a pure function of what was decided, for any text, in any process; never sure without a record."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tacit.features.people.calibration import SURE, Settled, confidence
from tacit.features.people.forecast import conflict_in, foresee
from tacit.features.people.intake import open_questions
from tacit.features.people.ledger_entries import Choice, ChoiceSort
from tacit.features.people.questions import Question
from tests.unit.features.people.deciding import model_of
from tests.unit.making import NOW

TEXT = st.text(max_size=30)
NAMED = st.dictionaries(TEXT, TEXT, max_size=8)
CHOICES = st.lists(
    st.builds(
        Choice,
        key=st.just("k"),
        at=st.integers(0, 10_000).map(lambda minutes: NOW + timedelta(minutes=minutes)),
        person=st.just("ann"),
        sort=st.sampled_from(ChoiceSort),
        response=TEXT,
        situation=TEXT,
        artifact=TEXT,
        stimulus=TEXT,
        features=NAMED,
        traits=NAMED,
        explicit=st.booleans(),
    ),
    max_size=12,
)
QUESTIONS = st.builds(
    Question,
    person=st.just("ann"),
    sort=st.sampled_from(ChoiceSort),
    situation=TEXT,
    artifact=TEXT,
    stimulus=TEXT,
    features=NAMED,
    traits=NAMED,
    options=st.lists(TEXT, max_size=3, unique=True).map(tuple),
)
RECORD = st.lists(st.builds(Settled, score=st.floats(0, 1), confidence=st.floats(0, 1), hit=st.booleans()), max_size=40)


@given(CHOICES, QUESTIONS, RECORD)
def test_any_decisions_give_a_forecast_and_the_same_one_again(
    choices: list[Choice], question: Question, record: list[Settled]
) -> None:
    description = [
        foresee(model_of(choices), question, record=record, conflict=conflict_in(choices, question)) for _ in range(2)
    ]
    assert description[0] == description[1]
    assert 0 <= description[0].posterior_confidence <= 1
    assert 0 <= description[0].score <= 1 + 1e-9
    assert description[0].known == (description[0].why_not == "") or not description[0].guess


@given(CHOICES, QUESTIONS)
def test_shares_are_a_distribution_over_answers_that_were_given_or_may_be(
    choices: list[Choice], question: Question
) -> None:
    found = model_of(choices).likelihoods(question)
    given_before = {choice.response for choice in choices if choice.sort is question.sort}
    assert set(found.shares) <= given_before | set(question.options) | {""}
    if found.shares:
        assert abs(sum(found.shares.values()) - 1) < 1e-9


@given(CHOICES, QUESTIONS, st.integers(0, 99))
def test_the_order_in_which_circumstances_are_told_makes_no_difference(
    choices: list[Choice], question: Question, seed: int
) -> None:
    def shuffled(named: dict[str, str]) -> dict[str, str]:
        items = list(named.items())
        random.Random(seed).shuffle(items)
        return dict(items)

    others = [
        dataclasses.replace(each, features=shuffled(dict(each.features)), traits=shuffled(dict(each.traits)))
        for each in choices
    ]
    asked = dataclasses.replace(
        question, features=shuffled(dict(question.features)), traits=shuffled(dict(question.traits))
    )
    assert model_of(others).likelihoods(asked).shares == model_of(choices).likelihoods(question).shares


@given(CHOICES, QUESTIONS)
def test_decisions_of_another_sort_only_age_the_others(choices: list[Choice], question: Question) -> None:
    same = [choice for choice in choices if choice.sort is question.sort]
    last = [choice for choice in choices if choice.sort is not question.sort]
    assert set(model_of([*last, *same]).likelihoods(question).shares) == set(
        model_of(same).likelihoods(question).shares
    )
    assert model_of([*last, *same]).likelihoods(question).shares == model_of(same).likelihoods(question).shares


@given(st.floats(0, 1), RECORD)
def test_confidence_is_never_sure_without_fifteen_forecasts_behind_it(score: float, record: list[Settled]) -> None:
    said = confidence(score, record)
    assert 0 <= said <= 1
    if len(record) < 15:
        assert said < SURE


@given(st.floats(0, 1), RECORD)
def test_a_record_of_misses_alone_is_never_sure(score: float, record: list[Settled]) -> None:
    missed = [Settled(score=each.score, confidence=each.confidence, hit=False) for each in record]
    assert confidence(score, missed) < SURE


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=4))
def test_any_task_has_questions_with_keys_of_their_own(task: str, given_ones: list[str]) -> None:
    asked = open_questions(task, given=given_ones)
    assert len({ask.key for ask in asked}) == len(asked)
    assert all(ask.key and ask.text for ask in asked)


def test_a_forecast_is_the_same_in_another_process_whatever_its_hashes() -> None:
    script = (
        "from tests.unit.features.people.deciding import *\n"
        "seen = [choice(n, f'answer {n % 7}', {'kind': f'k{n % 3}'}, artifact=f'word{n % 5} and') for n in range(40)]\n"
        "print(repr(sorted(model_of(seen).likelihoods(question({'kind': 'k1'}, artifact='word2')).shares.items())))\n"
    )
    description = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(description) == 1
