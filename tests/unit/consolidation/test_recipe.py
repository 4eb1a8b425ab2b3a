"""One dial sets a training's numbers, wrong numbers are told all at once, and a training's cost is known beforehand."""

from __future__ import annotations

import pytest

from tacit.consolidation.conversation import Message
from tacit.consolidation.examples import Example
from tacit.consolidation.recipe import Recipe, estimate
from tacit.domain.errors import Mistake

MILLION = 1_000_000


def examples(count: int, *, characters: int = 900) -> list[Example]:
    messages = (Message("user", "x" * characters), Message("assistant", "y"))
    return [Example(task=f"{number}", trajectory_id=f"{number}", messages=messages) for number in range(count)]


def test_a_larger_size_holds_more_and_is_trained_longer():
    small, medium, large = (Recipe.of(size) for size in ("small", "medium", "large"))
    assert small.rank < medium.rank < large.rank
    assert small.steps(1000) < medium.steps(1000) < large.steps(1000)
    assert medium == Recipe()


def test_an_unknown_size_names_those_there_are():
    with pytest.raises(Mistake, match="no size 'huge'") as wrong:
        Recipe.of("huge")
    assert "small, medium, large" in wrong.value.hint


def test_all_that_is_wrong_with_a_recipe_is_told_at_once():
    with pytest.raises(Mistake, match="rank must be at least 1; rate must be above 0; dropout must be from 0 to 1"):
        Recipe(rank=0, rate=0.0, dropout=1.0)


def test_few_examples_are_seen_more_often_so_that_there_are_steps_enough():
    recipe = Recipe(passes=3, examples_a_step=10, fewest_steps=50)
    assert recipe.steps(12) == 50
    assert recipe.steps(1001) == 3 * 101


def test_what_is_told_of_a_recipe_is_what_decides_the_result():
    assert Recipe(checkpoint_s=1.0).told() == Recipe(checkpoint_s=9.0).told()
    assert Recipe(rate=1e-3).told() != Recipe(rate=1e-4).told()
    assert Recipe().told()["rank"] == "16"


def test_the_cost_grows_with_examples_model_and_size_and_falls_on_a_gpu():
    train, held_out = examples(200), examples(20)
    plain = estimate(train, held_out, recipe=Recipe(), parameters=135 * MILLION)
    assert (plain.examples, plain.held_out, plain.steps) == (200, 20, Recipe().steps(200))
    # 900 characters and the marks of two messages come to a bit over 300 tokens.
    assert 250 < plain.tokens / (plain.steps * Recipe().examples_a_step) < 350
    larger = estimate(train, held_out, recipe=Recipe(), parameters=1000 * MILLION)
    assert larger.seconds > 5 * plain.seconds
    assert larger.memory_mb > 2 * plain.memory_mb
    assert 15 < plain.adapter_mb < 25  # SmolLM2-135M at rank 16: 19.6 MB on disk
    assert estimate(examples(800), held_out, recipe=Recipe(), parameters=135 * MILLION).seconds > 1.5 * plain.seconds
    assert estimate(train, held_out, recipe=Recipe.of("large"), parameters=135 * MILLION).adapter_mb > plain.adapter_mb
    assert (
        estimate(train, held_out, recipe=Recipe(), parameters=135 * MILLION, device="cuda").seconds < plain.seconds / 50
    )


def test_examples_longer_than_the_recipe_allows_cost_no_more_than_it_allows():
    recipe = Recipe(longest_tokens=100)
    cut = estimate(examples(50), [], recipe=recipe, parameters=MILLION)
    assert cut.tokens == recipe.steps(50) * recipe.examples_a_step * 100
