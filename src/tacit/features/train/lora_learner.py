"""The part of training that uses torch: examples as tokens, training steps and evaluation losses.

`training` decides when to evaluate, stop and save. Only the agent's own words and the end of its turn are learned. The text
is rendered by the model's chat template and checked to equal what the model sees when it is asked.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tacit.domain.errors import Refusal
from tacit.features.evaluate.base_model import BaseModel
from tacit.features.evaluate.local_model import (
    ADAPTER_WEIGHTS,
    end_of_turn,
    out_of_memory,
    render_chat,
    split_into_batches,
    tokenize,
    unless_out_of_memory,
)
from tacit.features.train.examples import Example
from tacit.features.train.recipe import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS, Recipe

LOGIT_SCALING_SETTINGS = ("logits_scaling", "final_logit_softcapping", "logit_scale", "lm_head_multiplier")
"""Settings of models that scale their output after the head; for those the whole model is called."""

BATCH_TOKENS_MIN = 512
"""Batches are not made smaller than this if memory runs out."""

T = TypeVar("T")


@contextmanager
def adapted(base: BaseModel, recipe: Recipe) -> Iterator[Learner]:
    """Yield the base model with a fresh adapter; it is removed afterwards."""
    import torch
    from peft import LoraConfig, get_peft_model
    from peft.helpers import disable_input_dtype_casting

    with torch.random.fork_rng(devices=[base.device] if base.device.startswith("cuda") else []):
        torch.manual_seed(recipe.seed)
        config = LoraConfig(
            r=recipe.rank,
            lora_alpha=recipe.alpha,
            lora_dropout=recipe.dropout,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        )
        peft_model = get_peft_model(base.model, config)
        try:
            # the adapter's weights stay exact; autocast rounds only in multiplications
            with disable_input_dtype_casting(peft_model) if base.device.startswith("cuda") else nullcontext():
                yield Learner(base, recipe, peft_model)
        finally:
            peft_model.unload()
            base.model.eval()
            for leftover in ("peft_config", "_hf_peft_config_loaded"):
                if leftover in vars(base.model):
                    delattr(base.model, leftover)


@dataclass(frozen=True, slots=True)
class Batch:
    """Conversations padded at their ends; causal attention needs no mask."""

    ids: Any
    where: Any
    """Positions, over all rows, whose next token is learned."""
    wanted: Any


class Learner:
    """The weights of an adapter and their optimiser."""

    def __init__(self, base: BaseModel, recipe: Recipe, peft_model: Any) -> None:
        import torch

        self.base = base
        self.recipe = recipe
        self.peft_model = peft_model
        self.weights = [weight for weight in peft_model.parameters() if weight.requires_grad]
        self.on_gpu = base.device.startswith("cuda")
        self.most_tokens = GPU_BATCH_TOKENS if self.on_gpu else CPU_BATCH_TOKENS
        self.optimizer = torch.optim.AdamW(
            self.weights, lr=recipe.rate, betas=(0.9, 0.99), weight_decay=0.01, fused=self.on_gpu
        )
        config = base.model.config
        self._scales_logits = any(getattr(config, name, None) not in {None, 0, 1} for name in LOGIT_SCALING_SETTINGS)

    def step(self, examples: Sequence[Encoded], *, rate: float, dice: int) -> Any:
        """Make one step on these examples; the summed loss stays on the device, so nothing waits for it."""
        import torch

        for group in self.optimizer.param_groups:
            group["lr"] = rate
        total = self._shrinking_batches(lambda: self._accumulate_gradients(examples, dice))
        torch.nn.utils.clip_grad_norm_(self.weights, self.recipe.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _accumulate_gradients(self, examples: Sequence[Encoded], dice: int) -> Any:
        """Return the summed loss of these examples and accumulate the gradients."""
        import torch

        # dropout depends on the step alone, so its state need not be saved
        torch.manual_seed(dice)
        self.peft_model.train()
        learned = sum(example.learned for example in examples)
        total = torch.zeros((), device=self.base.device)
        for batch in self._batches(examples):
            with self._checkpointing(batch):
                loss = self._loss(batch)
                (loss / learned).backward()
            total += loss.detach()
        return total

    def evaluate(self, examples: Sequence[Encoded]) -> float:
        """Return the mean loss on these examples without learning."""
        self.peft_model.eval()
        return self._shrinking_batches(lambda: self._sum_losses(examples)) / sum(
            example.learned for example in examples
        )

    def _sum_losses(self, examples: Sequence[Encoded]) -> float:
        import torch

        with torch.no_grad():
            return float(sum(self._loss(batch) for batch in self._batches(examples)))

    def _shrinking_batches(self, work: Callable[[], T]) -> T:
        """Run work in batches that fit the device; smaller ones from now on if memory runs out."""
        while (done := unless_out_of_memory(work, self.base.device)) is None:
            self.optimizer.zero_grad(set_to_none=True)
            if self.most_tokens <= BATCH_TOKENS_MIN:
                raise out_of_memory(self.base.device)
            self.most_tokens = max(BATCH_TOKENS_MIN, self.most_tokens // 2)
        return done

    def copy(self) -> list[Any]:
        """Return a copy of the adapter's weights."""
        return [weight.detach().clone() for weight in self.weights]

    def restore(self, weights: Sequence[Any]) -> None:
        """Restore weights from a copy."""
        import torch

        with torch.no_grad():
            for own, kept in zip(self.weights, weights, strict=True):
                own.copy_(kept)

    def load(self, folder: Path) -> None:
        """Load the weights of an adapter of the same shape."""
        from peft import set_peft_model_state_dict
        from safetensors.torch import load_file

        try:
            set_peft_model_state_dict(self.peft_model, load_file(folder / ADAPTER_WEIGHTS, device=self.base.device))
        except (OSError, RuntimeError, KeyError) as fault:
            raise Refusal(
                f"cannot continue from the adapter in {folder.name}: it does not fit",
                code="adapter_does_not_fit",
                hint="Use one of the same base model and size.",
            ) from fault

    def save(self, folder: Path) -> None:
        """Write the adapter in PEFT's format."""
        from peft import get_peft_model_state_dict
        from safetensors.torch import save_file

        held = get_peft_model_state_dict(self.peft_model, save_embedding_layers=False)
        plain = {name: held[name].detach().float().cpu().contiguous() for name in sorted(held)}
        save_file(plain, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
        config = self.peft_model.peft_config["default"]
        config.base_model_name_or_path = self.base.name
        config.target_modules = sorted(config.target_modules)
        config.inference_mode = True
        config.save_pretrained(folder)

    def _batches(self, examples: Sequence[Encoded]) -> Iterator[Batch]:
        lengths = [len(example.ids) for example in examples]
        padding = self.base.tokenizer.pad_token_id or 0
        for chosen in split_into_batches(range(len(examples)), lengths, most_tokens=self.most_tokens):
            yield _pad_batch([examples[one] for one in chosen], padding, self.base.device)

    @contextmanager
    def _checkpointing(self, batch: Batch) -> Iterator[None]:
        """For a long conversation, keep only the inputs of each layer and compute the rest again: a third more work,
        less memory."""
        model = self.base.model
        if batch.ids.numel() <= self.most_tokens or not getattr(model, "supports_gradient_checkpointing", False):
            yield
            return
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        try:
            yield
        finally:
            model.gradient_checkpointing_disable()

    def _loss(self, batch: Batch) -> Any:
        import torch

        with torch.autocast("cuda", torch.bfloat16) if self.on_gpu else nullcontext():
            if self._scales_logits:
                logits = self.base.model(input_ids=batch.ids, use_cache=False).logits
                chosen = logits.flatten(0, 1).index_select(0, batch.where)
            else:
                # the vocabulary is the widest layer, and most tokens are context: only learned positions go through it
                seen = self.base.model.base_model(input_ids=batch.ids, use_cache=False).last_hidden_state
                chosen = self.base.model.get_output_embeddings()(seen.flatten(0, 1).index_select(0, batch.where))
        return torch.nn.functional.cross_entropy(chosen.float(), batch.wanted, reduction="sum")


def rate_at(step: int, steps: int, recipe: Recipe) -> float:
    """Return the learning rate of a step: rising first, then a cosine down to a tenth."""
    rising = max(1, round(steps * recipe.warm_up))
    if step < rising:
        return recipe.rate * (step + 1) / rising
    done = (step - rising) / max(1, steps - rising)
    return recipe.rate * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def learner_state(learner: Learner) -> Mapping[str, Any]:
    """Return everything that is needed to continue with the same steps."""
    return {
        "weights": learner.copy(),
        "optimizer": learner.optimizer.state_dict(),
        "most_tokens": learner.most_tokens,  # the split of a step decides the dropout
    }


def _pad_batch(examples: Sequence[Encoded], padding: int, device: str) -> Batch:
    import torch

    width = max(len(example.ids) for example in examples)
    rows = [[*example.ids, *[padding] * (width - len(example.ids))] for example in examples]
    where, wanted = [], []
    for row, example in enumerate(examples):
        for place, label in enumerate(example.labels[1:]):
            if label != IGNORED:
                where.append(row * width + place)
                wanted.append(label)
    ids, places, targets = torch.tensor(rows), torch.tensor(where), torch.tensor(wanted)
    if device.startswith("cuda"):
        ids, places, targets = ids.pin_memory(), places.pin_memory(), targets.pin_memory()
    return Batch(*(part.to(device, non_blocking=True) for part in (ids, places, targets)))


IGNORED = -100
"""The label of a token that is not learned."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One conversation as tokens; a label is the token if it is learned, otherwise `IGNORED`."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]

    @property
    def learned(self) -> int:
        """How many tokens are learned."""
        return sum(label != IGNORED for label in self.labels)


def encode_all(examples: Sequence[Example], tokenizer: Any, *, longest: int = 0) -> list[Encoded]:
    """Encode examples with labels. Examples longer than `longest`, or without anything to learn, are left out."""
    closing = end_of_turn(tokenizer)[1]
    laid = [segments(example, tokenizer, closing=closing) for example in examples]
    wholes = tokenize(["".join(text for text, _ in parts) for parts in laid], tokenizer)
    pieces = iter(tokenize([text for parts in laid for text, _ in parts], tokenizer))
    encoded = []
    for parts, whole in zip(laid, wholes, strict=True):
        own = [(next(pieces), learned) for _, learned in parts]
        if [token for tokens, _ in own for token in tokens] != whole:
            raise Refusal(
                "this model's tokenizer joins the agent's words with the text before or after them, so it would be"
                " trained on other tokens than it is asked in",
                code="ambiguous_tokens",
                hint="Choose a base model whose chat template marks the turns with tokens of their own.",
            )
        encoded.append(_labelled(own))
    return [one for one in encoded if one.learned and (not longest or len(one.ids) <= longest)]


def segments(example: Example, tokenizer: Any, *, closing: str) -> list[tuple[str, bool]]:
    """Return the text of an example in pieces: context, and what the agent writes with the end of its turn."""
    messages, learned = example.messages, example.learned
    whole = render_chat(messages[: learned[-1] + 1], tokenizer, asking=False) if learned else ""
    parts: list[tuple[str, bool]] = []
    at = 0
    for place in learned:
        asked = render_chat(messages[:place], tokenizer, asking=True)
        target = f"{messages[place].content}{closing}"
        if not whole.startswith(asked + target):
            raise Refusal(
                "this model's chat template renders earlier turns differently from the last one",
                code="unstable_template",
                hint="Choose a base model with a plain chat template, such as ChatML.",
            )
        parts += [(whole[at : len(asked)], False), (target, True)]
        at = len(asked) + len(target)
    return parts


def _labelled(own: Sequence[tuple[Sequence[int], bool]]) -> Encoded:
    ids: list[int] = []
    labels: list[int] = []
    for tokens, learned in own:
        ids += tokens
        labels += tokens if learned else [IGNORED] * len(tokens)
    return Encoded(tuple(ids), tuple(labels))


POOLED_STEPS = 8
"""How many steps are sorted by length together: more would pad less and mix less."""


def steps_of(lengths: Sequence[int], *, examples: int, seed: int, number: int) -> list[list[int]]:
    """Return one pass over all conversations as steps."""
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
    """Return the conversations of a step, counted over all passes from 0."""
    per_pass = -(-len(lengths) // examples)
    number, at = divmod(step, per_pass)
    return steps_of(lengths, examples=examples, seed=seed, number=number)[at]
