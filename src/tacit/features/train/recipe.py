"""The settings of a training by the adapter's size, and a rough estimate of its cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.config.settings import Size
from tacit.domain.errors import Mistake
from tacit.features.train.examples import Example
from tacit.text.words import estimate_tokens

CHARACTERS_PER_TOKEN = 3.0
"""Calls and names give more tokens than prose; measured with a vocabulary of 49,000."""
LONGEST_TOKENS = 16_384
"""The longest example that is trained on, whatever the base model's context; shared with the gate."""
CPU_OPERATIONS_S, GPU_OPERATIONS_S = 4e10, 4e13
"""Operations per second in practice, for one processor core and one data-centre GPU, including padding and small steps."""
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 2_048, 32_768
"""Most tokens that pass through the model at once."""


RANKS = {Size.SMALL: 8, Size.MEDIUM: 16, Size.LARGE: 32}
PASSES = {Size.SMALL: 2, Size.MEDIUM: 3, Size.LARGE: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All settings of a training; `Recipe.of` sets them by size."""

    size: Size = Size.MEDIUM
    rank: int = RANKS[Size.MEDIUM]
    """The rank of the adapter."""
    passes: int = PASSES[Size.MEDIUM]
    """How often each example is seen, unless training stops early or `fewest_steps` asks for more."""
    fewest_steps: int = 60
    """Fewer steps teach nothing, however few the examples."""
    rate: float = 5e-4
    warm_up: float = 0.06
    """Share of the steps in which the learning rate rises."""
    examples_a_step: int = 16
    dropout: float = 0.05
    clip: float = 1.0
    """Largest norm of the gradient."""
    checks: int = 10
    """How often the held-out tasks are evaluated."""
    patience: int = 3
    """Training stops after so many evaluations without gain; the best adapter is kept."""
    held_out_examples: int = 64
    """Most held-out examples of one evaluation."""
    longest_tokens: int = LONGEST_TOKENS
    """Longer examples are left out, never cut: without its end, an example teaches to stop too soon. `within` lowers it
    to the model's context."""
    seed: int = 0
    """The random seed: initial weights, order of examples, dropout."""
    checkpoint_s: float = 30.0
    """Seconds between checkpoints. Does not change the result."""

    def __post_init__(self) -> None:
        whole = ("rank", "passes", "fewest_steps", "examples_a_step", "checks", "patience", "longest_tokens")
        wrong = [f"{name} must be at least 1" for name in whole if getattr(self, name) < 1]
        wrong += ["rate must be above 0"] if self.rate <= 0 else []
        wrong += [f"{name} must be from 0 to 1" for name in ("warm_up", "dropout") if not 0 <= getattr(self, name) < 1]
        if wrong:
            raise Mistake(f"invalid recipe: {'; '.join(wrong)}", code="bad_recipe")

    @classmethod
    def of(cls, size: str) -> Recipe:
        """Return the recipe for an adapter of this size."""
        if size not in set(Size):
            raise Mistake(f"unknown size {size!r}", code="unknown_size", hint=f"Sizes: {', '.join(Size)}.")
        chosen = Size(size)
        return cls(size=chosen, rank=RANKS[chosen], passes=PASSES[chosen])

    def within(self, context_tokens: int) -> Recipe:
        """Return the same for a base model with this context; 0 means unknown."""
        return replace(self, longest_tokens=min(self.longest_tokens, context_tokens or self.longest_tokens))

    @property
    def alpha(self) -> int:
        """The alpha of LoRA: twice the rank, so that the rate fits every size."""
        return 2 * self.rank

    def steps(self, examples: int) -> int:
        """Return the number of steps for this many examples, if nothing stops early."""
        return max(self.passes * -(-examples // self.examples_a_step), self.fewest_steps)

    def as_text(self) -> dict[str, str]:
        """Return the settings that decide the result, as text."""
        return {
            name: str(getattr(self, name))
            for name in sorted(self.__slots__)
            if name not in {"checkpoint_s"} and not name.startswith("_")
        }


KEPT_PER_REACH = 2.7
"""Activations kept per token and per unit of reach; measured with SmolLM2-135M and 2,048 tokens at once (7.7 GB)."""
REACH_PER_ROOT = 26.3
"""Reach per square root of the parameters, for models of unknown shape; that of SmolLM2-135M."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCost:
    """What a training would roughly cost."""

    examples: int
    held_out: int
    steps: int
    tokens: int
    """Tokens that pass through the model in all."""
    seconds: float
    memory_mb: int
    adapter_mb: float
    too_long: int = 0
    """Examples that are longer than the recipe allows and would be left out."""


def estimate_cost(
    train: Sequence[Example],
    held_out: Sequence[Example],
    *,
    recipe: Recipe,
    parameters: int,
    reach: int = 0,
    device: str = "cpu",
) -> TrainingCost:
    """Estimate the cost of a training that is not stopped early.

    `reach` is the sum of inputs and outputs of all matrices that the adapter covers; without it, it is estimated from the
    number of parameters.
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
    # forward is two operations per weight and token; backward through frozen weights as much again
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
    """Estimate the length of an example in tokens; gate and cost use the same figure."""
    texts = [message.content for message in example.messages]
    # scripts without spaces take a token per character
    return sum(max((len(text) + 20) / CHARACTERS_PER_TOKEN, estimate_tokens(text)) for text in texts)
