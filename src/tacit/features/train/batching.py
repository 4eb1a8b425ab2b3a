"""Which conversations make a step of training, and how a step is cut to what a device can hold. Pure; knows no model.

Lengths in, lists of numbers of conversations out. Conversations of like length come together, so that little is padded; which
of them, and in which order, follows from the seed and the pass alone, so that a training that was cut off goes on alike.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

POOLED_STEPS = 8
"""How many steps are sorted by length together: more would pad less and mix less."""


def steps_of(lengths: Sequence[int], *, examples: int, seed: int, number: int) -> list[list[int]]:
    """One pass over all conversations, as steps of so many of them."""
    dice = random.Random(f"{seed}/{number}")
    order = list(range(len(lengths)))
    dice.shuffle(order)
    pool = examples * POOLED_STEPS
    steps = []
    for start in range(0, len(order), pool):
        near = sorted(order[start : start + pool], key=lambda one: lengths[one])
        steps += [near[at : at + examples] for at in range(0, len(near), examples)]
    dice.shuffle(steps)
    return steps


def step_at(lengths: Sequence[int], step: int, *, examples: int, seed: int) -> list[int]:
    """The conversations of the step with this number, counted over all passes from 0."""
    per_pass = -(-len(lengths) // examples)
    number, at = divmod(step, per_pass)
    return steps_of(lengths, examples=examples, seed=seed, number=number)[at]


def cut(chosen: Sequence[int], lengths: Sequence[int], *, most_tokens: int) -> list[list[int]]:
    """The same conversations in batches that hold at most so many tokens, padding counted; a longer one goes alone."""
    batches: list[list[int]] = []
    for one in sorted(chosen, key=lambda one: -lengths[one]):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= most_tokens:
            batches[-1].append(one)
        else:
            batches.append([one])
    return batches
