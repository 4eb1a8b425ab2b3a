"""Many conversations in, what the model says next in each out: the base model on this machine, with an adapter or without.

Greedy and in batches. An adapter is added to the weights for the time of one call and the very same weights are put back
afterwards, so that a call without one is answered by the base model to the last bit. Knows nothing of tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.features.train.adapter_files import SETTINGS, WEIGHTS, read_adapter
from tacit.features.train.batching import cut
from tacit.features.train.conversation import Message
from tacit.features.train.device_memory import attempted, out_of_memory
from tacit.features.train.foundation import Foundation, load_foundation, need_extra
from tacit.features.train.tokens import end_of_turn, prompts

CPU_TOKENS, GPU_TOKENS = 8_192, 196_608
"""The most tokens, said and unsaid, that one batch may come to."""
LOOK_EVERY = 8
"""How many tokens are said before it is looked who has ended: each look makes the device wait."""
PLAIN = {"use_dora": False, "use_rslora": False, "fan_in_fan_out": False, "modules_to_save": None, "bias": "none"}
"""What an adapter's configuration must not do otherwise for it to be one product of two matrices per weight."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What was said, and how many tokens were read and said for it."""

    text: str
    context_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two matrices whose product is added to one weight of the base model."""

    module: str
    down: Any
    up: Any
    scale: float


class LocalModel:
    """A base model on this machine that can be asked with any of its adapters."""

    def __init__(
        self, base: Foundation | str, adapters: Mapping[str, Path] = MappingProxyType({}), *, device: str = ""
    ) -> None:
        need_extra()
        self.base = base if isinstance(base, Foundation) else load_foundation(base, device=device)
        self._end = end_of_turn(self.base.tokenizer)[0]
        self._adapters: dict[str, list[_Pair]] = {}
        for name, folder in adapters.items():
            self.add(name, folder)

    def add(self, name: str, folder: Path, *, key: str = "") -> None:
        """One more adapter to ask with; refused where its files are not those of the key, if one is given."""
        self._adapters[name] = _read(folder, self.base, key)

    def complete(
        self, conversations: Sequence[Sequence[Message]], *, adapter: str = "", max_tokens: int = 96
    ) -> list[Completion]:
        """What is said next in each conversation, up to the end of the turn."""
        asked = prompts(conversations, self.base.tokenizer)
        lengths = [len(tokens) for tokens in asked]
        said: dict[int, list[int]] = {}
        most = GPU_TOKENS if self.base.device.startswith("cuda") else CPU_TOKENS
        with self.speaking_with(adapter):
            for chosen in cut(range(len(asked)), [length + max_tokens for length in lengths], most_tokens=most):
                said |= zip(chosen, self._said([asked[one] for one in chosen], max_tokens), strict=True)
        texts = self.base.tokenizer.batch_decode([said[one] for one in range(len(asked))], skip_special_tokens=True)
        return [
            Completion(text, lengths[one], len(said[one]) + (len(said[one]) < max_tokens))
            for one, text in enumerate(texts)
        ]

    @contextmanager
    def speaking_with(self, adapter: str) -> Iterator[None]:
        """For a while the base model speaks with these weights; without a name, with its own."""
        if not adapter:
            yield
            return
        if adapter not in self._adapters:
            raise NotFound(
                f"There is no adapter {adapter!r} here.", hint=f"Adapters: {', '.join(self._adapters) or 'none'}."
            )
        own = []
        try:
            for pair in self._adapters[adapter]:
                weight = self.base.model.get_submodule(pair.module).weight
                own.append((weight, weight.data))
                grown = weight.data.float() + pair.scale * (pair.up @ pair.down)
                weight.data = grown.to(weight.dtype)
            yield
        finally:
            for weight, data in own:
                weight.data = data

    def _said(self, rows: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
        """The tokens that follow each row, without the one that ends the turn; in halves where memory runs out."""
        said = attempted(lambda: self._decoded(rows, max_tokens), self.base.device)
        if said is not None:
            return [_until(tokens, self._end) for tokens in said]
        if len(rows) == 1:
            raise out_of_memory(self.base.device)
        middle = len(rows) // 2
        return [*self._said(rows[:middle], max_tokens), *self._said(rows[middle:], max_tokens)]

    def _decoded(self, rows: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
        import torch

        with torch.inference_mode():
            return self._followed(rows, max_tokens)

    def _followed(self, rows: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
        import torch
        from transformers import DynamicCache

        model, device = self.base.model, self.base.device
        width, padding = max(len(row) for row in rows), self.base.tokenizer.pad_token_id or 0
        ids = torch.tensor([[padding] * (width - len(row)) + list(row) for row in rows], device=device)
        seen = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device).bool()
        at = (seen.long().cumsum(-1) - 1).clamp(min=0)
        cache = DynamicCache(config=model.config)
        options = {"past_key_values": cache, "use_cache": True, "logits_to_keep": 1}
        found = model(input_ids=ids, attention_mask=seen, position_ids=at, **options)
        at, alive = at[:, -1:], list(range(len(rows)))
        said: list[list[int]] = [[] for _ in rows]
        fresh: list[Any] = [found.logits[:, -1].argmax(-1)]
        while True:
            if len(fresh) == LOOK_EVERY or len(said[alive[0]]) + len(fresh) >= max_tokens:
                going = _heard(said, alive, torch.stack(fresh, 1).tolist(), end=self._end, most=max_tokens)
                if not going:
                    return said
                if len(going) <= len(alive) // 2:
                    chosen = torch.tensor(going, device=device)
                    cache.batch_select_indices(chosen)
                    seen, at, fresh = seen[chosen], at[chosen], [fresh[-1][chosen]]
                    alive = [alive[one] for one in going]
                fresh, last = [], fresh[-1]
            else:
                last = fresh[-1]
            at = at + 1
            seen = torch.cat([seen, seen.new_ones((len(alive), 1))], 1)
            # A mask in its final form: one that has to be worked out would make the device wait at every token.
            mask = seen[:, None, None, :]
            found = model(input_ids=last[:, None], attention_mask=mask, position_ids=at, **options)
            fresh.append(found.logits[:, -1].argmax(-1))


def _heard(
    said: list[list[int]], alive: Sequence[int], fresh: Sequence[Sequence[int]], *, end: int, most: int
) -> list[int]:
    """Writes down what was said; returns which of the rows are not at their end."""
    for row, tokens in zip(alive, fresh, strict=True):
        said[row] += tokens
    return [one for one, row in enumerate(alive) if end not in said[row] and len(said[row]) < most]


def _until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


def _read(folder: Path, base: Foundation, key: str = "") -> list[_Pair]:
    """The matrices of an adapter as PEFT wrote them."""
    read_config(folder)
    from safetensors.torch import load

    files = read_adapter(folder, key=key)
    config = _config_of(files.settings, folder)  # of the bytes that the key was asked of, whatever lies there by now

    trained = folder / "trained.json"
    if trained.is_file() and _trained_on(trained) != base.hash:
        raise Refusal(f"The adapter in {folder.name} was trained on another base model than {base.name}.")
    held = {name: tensor.to(base.device) for name, tensor in load(files.weights).items()}
    scale = config["lora_alpha"] / config["r"]
    pairs = []
    for name in sorted(held):
        if not name.endswith(".lora_A.weight"):
            continue
        module = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
        up = held[name.replace(".lora_A.", ".lora_B.")]
        pairs.append(_Pair(module, held[name].float(), up.float(), scale))
    try:
        for pair in pairs:
            if base.model.get_submodule(pair.module).weight.shape != (pair.up.shape[0], pair.down.shape[1]):
                raise Refusal(
                    f"The adapter in {folder.name} does not fit {base.name}: {pair.module} has another shape."
                )
    except AttributeError as fault:
        raise Refusal(f"The adapter in {folder.name} does not fit {base.name}: {fault}.") from fault
    return pairs


def read_config(folder: Path) -> dict[str, Any]:
    """How an adapter is to be read; refused where it is more than a product of two matrices per weight."""
    path = folder / SETTINGS
    if not path.is_file() or not (folder / WEIGHTS).is_file():
        raise NotFound(f"There is no adapter in {folder}.", hint=f"It would hold {path.name} and {WEIGHTS}.")
    return _config_of(path.read_bytes(), folder)


def _config_of(settings: bytes, folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    try:
        config: Any = json.loads(settings)
    except (ValueError, RecursionError) as fault:
        raise Mistake(f"{path} cannot be read: {fault}.", hint="Export or train the adapter anew.") from fault
    if not isinstance(config, dict) or not _has_scale(config):
        raise Mistake(f"{path} holds no settings of an adapter.", hint="Export or train the adapter anew.")
    other = [name for name, plain in PLAIN.items() if config.get(name, plain) not in (plain, [], {})]
    if config.get("peft_type") != "LORA" or other or config.get("rank_pattern") or config.get("alpha_pattern"):
        raise Refusal(f"The adapter in {folder.name} is no plain LoRA.", hint="Only plain LoRA adapters are read here.")
    return config


def _trained_on(path: Path) -> str:
    """The hash of the model that an adapter was trained on."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["base_hash"])
    except (ValueError, LookupError, TypeError, RecursionError) as fault:
        raise Mistake(f"{path} cannot be read: {fault}.", hint="Export or train the adapter anew.") from fault


def _has_scale(config: dict[str, Any]) -> bool:
    """Whether it says how strong the adapter is: by its rank and by its alpha."""
    rank, alpha = config.get("r"), config.get("lora_alpha")
    return isinstance(rank, int) and rank > 0 and isinstance(alpha, int | float)
