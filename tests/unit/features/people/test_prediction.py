"""What a mind makes of decisions: frequent and recent ones count, circumstances that matter are found, a change is followed."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest

from tacit.features.people.ledger_entries import ChoiceSort
from tacit.features.people.prediction import CORRECTION_TRACES, MAX_DECISIONS, DecisionModel, activation, presence
from tests.unit.features.people.deciding import choice, decisions, model_of, question


def test_activation_is_the_logarithm_of_faded_traces() -> None:
    assert activation([1]) == 0.0
    assert activation([4]) == pytest.approx(math.log(0.5))
    assert activation([1, 4, 16]) == pytest.approx(math.log(1 + 0.5 + 0.25))


def test_what_was_never_met_has_no_activation() -> None:
    assert activation([]) == -math.inf
    assert presence([]) == 0.0


def test_no_age_is_less_than_one_interaction() -> None:
    assert activation([0]) == activation([0.2]) == activation([1])


def test_a_correction_is_as_present_as_five_decisions() -> None:
    once, corrected = 1, CORRECTION_TRACES
    assert activation([10] * corrected) == pytest.approx(activation([10] * once) + math.log(5))


def test_a_steeper_fading_forgets_the_old_sooner() -> None:
    slow = presence([20]) / presence([2])
    steep = presence([20], decay=1.5) / presence([2], decay=1.5)
    assert steep < slow


LESSON, NORM = {"kind": "lesson"}, {"kind": "norm"}


def test_a_mind_that_has_seen_nothing_leans_nowhere() -> None:
    found = DecisionModel().likelihoods(question())
    assert (found.guess, found.score, found.decisions) == ("", 0.0, 0)


def test_shares_of_all_answers_add_up_to_one() -> None:
    found = model_of(decisions(("approve", LESSON), ("reject", NORM))).likelihoods(question(LESSON))
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_what_was_always_decided_is_expected_again_and_more_so_the_more_often() -> None:
    few = model_of(decisions(*[("approve", LESSON)] * 2)).likelihoods(question(LESSON))
    many = model_of(decisions(*[("approve", LESSON)] * 20)).likelihoods(question(LESSON))
    assert few.guess == many.guess == "approve"
    assert few.score < many.score < 1.0


def test_a_circumstance_that_decides_is_found_among_others_that_do_not() -> None:
    dice = random.Random(2)
    seen = []
    for number in range(60):
        kind, colour, day = dice.choice(["lesson", "norm"]), dice.choice(["red", "blue"]), dice.choice(["mon", "tue"])
        description = {"kind": kind, "colour": colour, "day": day}
        seen.append(choice(number, "approve" if kind == "lesson" else "reject", description))
    model = model_of(seen)
    for colour in ("red", "blue"):
        assert model.likelihoods(question({"kind": "lesson", "colour": colour, "day": "mon"})).score > 0.85
        assert model.likelihoods(question({"kind": "norm", "colour": colour, "day": "tue"})).guess == "reject"


def test_two_circumstances_that_only_decide_together_are_found() -> None:
    dice = random.Random(4)
    seen = []
    for number in range(80):
        kind, origin = dice.choice(["lesson", "norm"]), dice.choice(["agent", "external"])
        same = (kind == "lesson") == (origin == "agent")
        seen.append(choice(number, "approve" if same else "reject", {"kind": kind, "origin": origin}))
    model = model_of(seen)
    assert model.likelihoods(question({"kind": "lesson", "origin": "agent"})).guess == "approve"
    assert model.likelihoods(question({"kind": "lesson", "origin": "external"})).guess == "reject"


def test_a_change_of_mind_is_followed_within_a_few_decisions() -> None:
    before = decisions(*[("approve", LESSON)] * 40)
    after = [choice(100 + number, "reject", LESSON) for number in range(6)]
    assert model_of(before).likelihoods(question(LESSON)).guess == "approve"
    assert model_of([*before, *after]).likelihoods(question(LESSON)).guess == "reject"


def test_a_correction_outweighs_a_single_decision() -> None:
    seen = decisions(*[("approve", LESSON)] * 6)
    said = choice(50, "reject", LESSON)
    plain = model_of([*seen, said]).likelihoods(question(LESSON)).shares["reject"]
    aloud = (
        model_of([*seen, dataclasses.replace(said, explicit=True, id="")])
        .likelihoods(question(LESSON))
        .shares["reject"]
    )
    assert aloud > plain + 0.1


def test_words_tell_where_no_circumstance_does() -> None:
    seen = []
    for number in range(20):
        word, response = ("deploy the server", "approve") if number % 2 else ("delete the archive", "reject")
        seen.append(choice(number, response, artifact=f"{word} now"))
    model = model_of(seen)
    assert model.likelihoods(question(artifact="deploy the other server")).guess == "approve"
    assert model.likelihoods(question(artifact="delete an archive")).guess == "reject"


def test_decisions_of_another_sort_say_nothing() -> None:
    seen = [choice(number, "deny", sort=ChoiceSort.PERMISSION) for number in range(9)]
    assert model_of(seen).likelihoods(question()).guess == ""


def test_where_anything_may_be_answered_something_else_has_a_share() -> None:
    seen = [choice(n, "pnpm", sort=ChoiceSort.ANSWER) for n in range(2)]
    open_one = question(sort=ChoiceSort.ANSWER, options=())
    found = model_of(seen).likelihoods(open_one)
    assert found.guess == "pnpm"
    assert found.shares[""] > 0


def test_thinking_of_a_decision_names_it_sooner_and_gives_it_no_further_vote() -> None:
    seen = decisions(*[("approve", LESSON)] * 8, *[("reject", LESSON)] * 8, *[("approve", LESSON)] * 2)
    quiet, thoughtful = model_of(seen), model_of(seen)
    for _ in range(20):
        thoughtful.retrieve([seen[0].id])
    assert thoughtful.likelihoods(question(LESSON)).shares == quiet.likelihoods(question(LESSON)).shares
    assert quiet.likelihoods(question(LESSON)).reasons[0].id != seen[0].id
    assert thoughtful.likelihoods(question(LESSON)).reasons[0].id == seen[0].id


def test_retrievals_can_be_given_votes_for_comparison() -> None:
    seen = decisions(("approve", LESSON), *[("reject", LESSON)] * 3)
    swayed = DecisionModel(retrieval_votes=1.0)
    for each in seen:
        swayed.see(each)
    for _ in range(10):
        swayed.retrieve([seen[0].id])
    assert swayed.likelihoods(question(LESSON)).guess == "approve"
    assert model_of(seen).likelihoods(question(LESSON)).guess == "reject"


def test_asking_changes_nothing() -> None:
    model = model_of(decisions(("approve", LESSON), ("reject", NORM), ("approve", LESSON)))
    answers = [model.likelihoods(question(LESSON)) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]


def test_the_oldest_decisions_are_forgotten_and_nothing_breaks() -> None:
    seen = decisions(*[("reject", NORM)] * 5, *[("approve", LESSON)] * (MAX_DECISIONS + 5))
    model = model_of(seen)
    found = model.likelihoods(question(NORM))
    assert found.decisions == MAX_DECISIONS
    assert found.guess == "approve"
    model.retrieve([seen[0].id])


def test_reasons_are_decisions_that_went_the_expected_way() -> None:
    seen = decisions(("approve", LESSON), ("reject", NORM), ("approve", LESSON), ("reject", NORM))
    reasons = model_of(seen).likelihoods(question(NORM)).reasons
    assert reasons
    assert {each.response for each in reasons} == {"reject"}
