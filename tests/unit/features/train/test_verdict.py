"""Whether an arm is better than the reference, and why."""

from __future__ import annotations

import random

import pytest

from tacit.domain.errors import Mistake
from tacit.features.evaluate.comparison import (
    compare,
    margin_over_constant,
)
from tacit.features.evaluate.suite import AttemptScore
from tacit.features.train.adapter import AdapterRuling
from tacit.features.train.verdict import judge_arm
from tests.raising import raises
from tests.unit.features.evaluate.measured import row, run
from tests.unit.features.evaluate.test_comparison import RIGHT, answering


def against_skills(with_adapter: float, *, skills: float = 0.3, tasks: int = 60):
    return compare(run({"skills": skills, "skills+adapter": with_adapter}, tasks=tasks), reference="skills")


def test_better_at_home_is_better_and_says_that_nothing_was_measured_elsewhere():
    verdict = judge_arm(against_skills(0.7))
    assert verdict.ruling is AdapterRuling.BETTER
    assert verdict.code == "no_regression_test"


def test_worse_is_worse():
    assert judge_arm(against_skills(0.3, skills=0.7)).ruling is AdapterRuling.WORSE


def exactly(shares: dict[str, tuple[float, float]], tasks: int = 60):
    """Arms with a share of right tools and a share of wholly right calls."""
    rows = []
    for task in range(tasks):
        luck = random.Random(task).random()
        rows += [
            row(arm, f"t{task}#1", score=AttemptScore(success=luck < right, exact=luck < exact))
            for arm, (right, exact) in shares.items()
        ]
    return compare(rows, reference="skills")


def test_right_tools_with_worse_arguments_are_worse_and_both_figures_are_reported():
    verdict = judge_arm(exactly({"skills": (0.4, 0.4), "skills+adapter": (0.9, 0.0)}))
    assert verdict.ruling is AdapterRuling.WORSE
    assert verdict.code == "worse"
    assert judge_arm(exactly({"skills": (0.4, 0.4), "skills+adapter": (0.9, 0.8)})).ruling is AdapterRuling.BETTER


def test_a_notable_loss_of_right_arguments_that_is_not_ruled_out_leaves_it_open():
    verdict = judge_arm(exactly({"skills": (0.3, 0.3), "skills+adapter": (0.9, 0.24)}))
    assert (verdict.ruling, verdict.code) == (AdapterRuling.TOO_LITTLE, "exact_loss_possible")


def test_right_tools_without_one_wholly_right_call_prove_nothing():
    verdict = judge_arm(exactly({"skills": (0.1, 0.0), "skills+adapter": (0.9, 0.0)}))
    assert verdict.ruling is AdapterRuling.TOO_LITTLE
    assert verdict.code == "no_exact_call"


def test_worse_arguments_elsewhere_are_a_loss_elsewhere():
    elsewhere = exactly({"skills": (0.8, 0.7), "skills+adapter": (0.8, 0.1)})
    verdict = judge_arm(against_skills(0.7), elsewhere)
    assert verdict.ruling is AdapterRuling.WORSE_ELSEWHERE
    assert verdict.code == "regression_exact"


def test_too_few_tasks_are_never_judged():
    verdict = judge_arm(against_skills(0.9, skills=0.1, tasks=29))
    assert verdict.ruling is AdapterRuling.TOO_LITTLE
    assert verdict.code == "too_few_tasks"
    assert "29 tasks" in verdict.reason


def test_no_better_is_stated_only_where_a_notable_difference_would_have_been_seen():
    assert judge_arm(against_skills(0.32, tasks=60)).ruling is AdapterRuling.TOO_LITTLE
    assert judge_arm(against_skills(0.32, tasks=200)).ruling is AdapterRuling.NO_BETTER
    few = run({"skills": 0.3}, tasks=40) + run({"skills+adapter": 0.32}, tasks=40, dice=2)
    verdict = judge_arm(compare(few, reference="skills"))
    assert verdict.ruling is AdapterRuling.TOO_LITTLE
    assert verdict.code == "inconclusive"


def test_a_loss_elsewhere_outweighs_a_gain_at_home():
    elsewhere = compare(run({"skills": 0.9, "skills+adapter": 0.4}), reference="skills")
    verdict = judge_arm(against_skills(0.7), elsewhere)
    assert verdict.ruling is AdapterRuling.WORSE_ELSEWHERE
    assert verdict.code == "regression"


def test_a_loss_elsewhere_that_is_not_ruled_out_leaves_it_open():
    unlike = run({"skills": 0.5}, tasks=30) + run({"skills+adapter": 0.5}, tasks=30, dice=2)
    verdict = judge_arm(against_skills(0.7), compare(unlike, reference="skills"))
    assert verdict.ruling is AdapterRuling.TOO_LITTLE
    assert verdict.code == "regression_possible"


def test_a_guard_that_measured_nothing_rules_no_loss_out():
    apart = [row("skills", f"a{at}#1") for at in range(40)] + [row("skills+adapter", f"b{at}#1") for at in range(40)]
    for unmeasured in (apart, run({"skills": 0.5}, tasks=40)):
        verdict = judge_arm(against_skills(0.7), compare(unmeasured, reference="skills"))
        assert verdict.ruling is AdapterRuling.TOO_LITTLE
        assert verdict.code == "regression_not_measured"


def test_better_without_a_loss_elsewhere_is_better():
    elsewhere = compare(run({"skills": 0.5, "skills+adapter": 0.5}, tasks=80), reference="skills")
    verdict = judge_arm(against_skills(0.7), elsewhere)
    assert (verdict.ruling, verdict.code) == (AdapterRuling.BETTER, "better")


def test_among_several_arms_the_one_to_judge_must_be_named():
    result = compare(run({"none": 0.3, "skills": 0.5, "adapter": 0.8}, tasks=60))
    with raises(Mistake, "no_arm"):
        judge_arm(result)
    assert judge_arm(result, arm="adapter").ruling is AdapterRuling.BETTER


@pytest.mark.parametrize(("known", "ruling"), [(0.02, AdapterRuling.TOO_LITTLE), (0.6, AdapterRuling.BETTER)])
def test_who_only_learned_to_end_beats_a_model_without_form_and_is_not_better(known: float, ruling: AdapterRuling):
    rows = [*answering("skills", 0.0, ends=False), *answering("skills+adapter", known)]
    result = compare(rows, reference="skills")
    margin = margin_over_constant([each for each in rows if each.arm == "skills+adapter"], RIGHT)
    assert judge_arm(result).ruling is AdapterRuling.BETTER  # without a floor, the form is enough
    verdict = judge_arm(result, margin=margin)
    assert verdict.ruling is ruling
    assert (verdict.code == "not_above_constant") == (ruling is not AdapterRuling.BETTER)


def test_who_is_below_the_floor_is_no_better():
    rows = [*answering("skills", 0.0, ends=False), *answering("skills+adapter", 0.3, ends=False)]
    margin = margin_over_constant([each for each in rows if each.arm == "skills+adapter"], RIGHT)
    assert margin is not None
    assert margin.above.is_worse
    assert judge_arm(compare(rows, reference="skills")).ruling is AdapterRuling.BETTER
    verdict = judge_arm(compare(rows, reference="skills"), margin=margin)
    assert (verdict.ruling, verdict.code) == (AdapterRuling.NO_BETTER, "not_above_constant")
