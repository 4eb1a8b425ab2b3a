"""How an adapter is trained: one dial for its size in, every number of the training out; and what it would cost. Pure.

Trains nothing. The figures of an estimate are orders of magnitude: the text is not yet in tokens, and the machine is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.domain.adapter import Size
from tacit.domain.errors import Mistake
from tacit.features.train.examples import Example
from tacit.text.words import estimate_tokens

CHARACTERS_PER_TOKEN = 3.0
"""Tool calls and names are cut finer than prose; measured on conversations in our form with a vocabulary of 49,000."""
LONGEST_TOKENS = 16_384
"""The longest example that is learned from, whatever a base model reads at once: gate and recipe share it."""
CPU_OPERATIONS_S, GPU_OPERATIONS_S = 4e10, 4e13
"""What training really gets out of one processor core and out of one data-centre GPU, padding and small steps included."""
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 2_048, 32_768
"""The most tokens that pass through the model at once."""


RANKS = {Size.SMALL: 8, Size.MEDIUM: 16, Size.LARGE: 32}
PASSES = {Size.SMALL: 2, Size.MEDIUM: 3, Size.LARGE: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All numbers of a training; `Recipe.of` sets them by one dial."""

    size: Size = Size.MEDIUM
    rank: int = RANKS[Size.MEDIUM]
    """How many directions each weight matrix can be bent in."""
    passes: int = PASSES[Size.MEDIUM]
    """How often each example is seen, unless it stops early or there are too few for `fewest_steps`."""
    fewest_steps: int = 60
    """Fewer steps than these teach nothing, however few the examples; the held-out tasks end it when it is too much."""
    rate: float = 5e-4
    warm_up: float = 0.06
    """Share of the steps in which the rate rises."""
    examples_a_step: int = 16
    dropout: float = 0.05
    clip: float = 1.0
    """The longest step that the gradient may ask for."""
    checks: int = 10
    """How often the held-out tasks are looked at."""
    patience: int = 3
    """After so many looks without gain it stops, and the best adapter is kept."""
    held_out_examples: int = 64
    """Most held-out examples that a look takes."""
    longest_tokens: int = LONGEST_TOKENS
    """Longer examples are left out, never cut: one without its end teaches to stop too soon. A base model that reads less at
    once lowers it (`within`)."""
    seed: int = 0
    """Which dice are thrown: the first weights, the order of the examples, what is dropped."""
    checkpoint_s: float = 30.0
    """How much work a cut may cost. Does not change the result."""

    def __post_init__(self) -> None:
        whole = ("rank", "passes", "fewest_steps", "examples_a_step", "checks", "patience", "longest_tokens")
        wrong = [f"{name} must be at least 1" for name in whole if getattr(self, name) < 1]
        wrong += ["rate must be above 0"] if self.rate <= 0 else []
        wrong += [f"{name} must be from 0 to 1" for name in ("warm_up", "dropout") if not 0 <= getattr(self, name) < 1]
        if wrong:
            raise Mistake(f"invalid recipe: {'; '.join(wrong)}", code="bad_recipe")

    @classmethod
    def of(cls, size: str) -> Recipe:
        """The recipe for an adapter of this size."""
        if size not in set(Size):
            raise Mistake(f"unknown size {size!r}", code="unknown_size", hint=f"Sizes: {', '.join(Size)}.")
        chosen = Size(size)
        return cls(size=chosen, rank=RANKS[chosen], passes=PASSES[chosen])

    def within(self, context_tokens: int) -> Recipe:
        """The same for a base model that reads so much at once; 0: nobody knows."""
        return replace(self, longest_tokens=min(self.longest_tokens, context_tokens or self.longest_tokens))

    @property
    def alpha(self) -> int:
        """How strongly the adapter speaks, in the terms of LoRA: twice its rank, so that the rate fits every size."""
        return 2 * self.rank

    def steps(self, examples: int) -> int:
        """How many steps a training on so many examples takes if nothing stops it."""
        return max(self.passes * -(-examples // self.examples_a_step), self.fewest_steps)

    def as_text(self) -> dict[str, str]:
        """What of it decides the result, for the record."""
        return {
            name: str(getattr(self, name))
            for name in sorted(self.__slots__)
            if name not in {"checkpoint_s"} and not name.startswith("_")
        }


KEPT_PER_REACH = 2.7
"""Numbers kept for the way back, per token and per input or output of a matrix: measured on a processor with SmolLM2-135M and
2,048 tokens at once (7.7 GB in all)."""
REACH_PER_ROOT = 26.3
"""Reach of a model whose shapes are not known, per square root of its parameters: that of SmolLM2-135M."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCost:
    """What a training would use and cost, roughly."""

    examples: int
    held_out: int
    steps: int
    tokens: int
    """Tokens that pass through the model, all passes together."""
    seconds: float
    memory_mb: int
    adapter_mb: float
    too_long: int = 0
    """Examples that are longer than the recipe allows, and would be left out."""


def estimate_cost(
    train: Sequence[Example],
    held_out: Sequence[Example],
    *,
    recipe: Recipe,
    parameters: int,
    reach: int = 0,
    device: str = "cpu",
) -> TrainingCost:
    """The cost of a training that nothing stops early, for a base model of so many parameters.

    `reach` are the inputs and outputs of all matrices that the adapter lies over, added up; without it, it is guessed from
    the number of parameters.
    """
    given, train, held_out = len(train), _fitting(train, recipe), _fitting(held_out, recipe)
    steps = recipe.steps(len(train))
    seen = min(len(held_out), recipe.held_out_examples)
    each = sum(map(length_of, train)) / max(len(train), 1)
    looked = sum(map(length_of, held_out[:seen])) * (recipe.checks + 1)
    learned = (
        steps * recipe.examples_a_step * each if len(train) > recipe.examples_a_step else steps * len(train) * each
    )
    on_gpu = device.startswith("cuda")
    # Forward is two operations per weight and token; backward, through frozen weights, as much again.
    work = parameters * (4 * learned + 2 * looked)
    bytes_each, batch = (2, GPU_BATCH_TOKENS) if on_gpu else (4, CPU_BATCH_TOKENS)
    reach = reach or round(REACH_PER_ROOT * parameters**0.5)
    kept = min(recipe.examples_a_step * each, batch) * reach * KEPT_PER_REACH * bytes_each
    grown = recipe.rank * reach
    return TrainingCost(
        examples=len(train),
        held_out=len(held_out),
        steps=steps,
        tokens=int(learned),
        seconds=round(work / (GPU_OPERATIONS_S if on_gpu else CPU_OPERATIONS_S), 1),
        memory_mb=int((parameters * bytes_each + kept + 16 * grown) / 1e6) + 400,
        adapter_mb=round(4 * grown / 1e6, 1),
        too_long=given - len(train),
    )


def _fitting(examples: Sequence[Example], recipe: Recipe) -> list[Example]:
    return [example for example in examples if length_of(example) <= recipe.longest_tokens]


def length_of(example: Example) -> float:
    """How long an example is in tokens, roughly: gate and cost go by the same figure."""
    texts = [message.content for message in example.messages]
    # Writing without spaces takes a token for each sign, which the plain count of characters does not see.
    return sum(max((len(text) + 20) / CHARACTERS_PER_TOKEN, estimate_tokens(text)) for text in texts)
