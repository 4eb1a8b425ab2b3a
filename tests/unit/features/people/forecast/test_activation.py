"""Activation of memories: what is frequent and recent is present, counted in interactions."""

from __future__ import annotations

import math
import random

import pytest

from tacit.features.people.forecast.activation import activation, jittered, presence, traces_of


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
    once, corrected = traces_of(explicit=False), traces_of(explicit=True)
    assert activation([10] * corrected) == pytest.approx(activation([10] * once) + math.log(5))


def test_a_steeper_fading_forgets_the_old_sooner() -> None:
    slow = presence([20]) / presence([2])
    steep = presence([20], decay=1.5) / presence([2], decay=1.5)
    assert steep < slow


def test_there_is_no_noise_unless_asked_for_and_the_same_dice_give_the_same_noise() -> None:
    assert jittered(0.4) == jittered(0.4, scale=0.08) == jittered(0.4, dice=random.Random(1)) == 0.4
    thrown = [jittered(0.4, scale=0.08, dice=random.Random(3)) for _ in range(2)]
    assert thrown[0] == thrown[1] != 0.4


def test_noise_has_no_direction() -> None:
    dice = random.Random(5)
    thrown = [jittered(0.0, scale=0.08, dice=dice) for _ in range(4000)]
    assert abs(sum(thrown) / len(thrown)) < 0.01
