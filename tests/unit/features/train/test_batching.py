"""Steps and batches: every conversation once a pass, alike for the same seed, never more tokens than a device holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.features.evaluate.local_model import split_into_batches
from tacit.features.train.lora_learner import step_at, steps_of

LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=200)


@given(LENGTHS, st.integers(1, 20), st.integers(0, 5))
def test_a_pass_takes_every_conversation_once(lengths: list[int], examples: int, seed: int):
    steps = steps_of(lengths, examples=examples, seed=seed, number=0)
    assert sorted(one for step in steps for one in step) == list(range(len(lengths)))
    assert all(1 <= len(step) <= examples for step in steps)
    assert len(steps) == -(-len(lengths) // examples)


def test_passes_and_seeds_differ_and_repeat():
    lengths = list(range(10, 90))
    first = steps_of(lengths, examples=4, seed=1, number=0)
    assert steps_of(lengths, examples=4, seed=1, number=0) == first
    assert steps_of(lengths, examples=4, seed=1, number=1) != first
    assert steps_of(lengths, examples=4, seed=2, number=0) != first


@given(LENGTHS, st.integers(1, 20))
def test_the_steps_of_a_pass_can_be_had_one_by_one_so_that_a_training_can_go_on(lengths: list[int], examples: int):
    passes = [steps_of(lengths, examples=examples, seed=3, number=number) for number in (0, 1)]
    wanted = [step for one in passes for step in one]
    assert [step_at(lengths, number, examples=examples, seed=3) for number in range(len(wanted))] == wanted


def test_conversations_of_like_length_share_a_step():
    lengths = [10, 500] * 40
    steps = steps_of(lengths, examples=8, seed=0, number=0)
    mixed = [step for step in steps if len({lengths[one] for one in step}) > 1]
    assert len(mixed) <= 2


@given(LENGTHS, st.integers(1, 2000))
def test_a_batch_never_holds_more_than_the_device_unless_one_conversation_does(lengths: list[int], most: int):
    batches = split_into_batches(range(len(lengths)), lengths, most_tokens=most)
    assert sorted(one for batch in batches for one in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[one] for one in batch) * len(batch) <= most
