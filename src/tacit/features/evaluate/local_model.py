"""A base model on this machine that continues conversations, with or without an adapter. Greedy and in batches.

An adapter is added to the weights for one call, and the original weights are put back afterwards, so that a call without an
adapter is answered exactly by the base model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from tacit.domain.errors import Mistake, ModelOutage, NotFound, Refusal
from tacit.features.evaluate.base_model import BaseModel, load_base_model, require_train_extra
from tacit.features.evaluate.conversation import AGENT, SYSTEM, USER, ChatMessage, ModelReply

CPU_TOKENS, GPU_TOKENS = 8_192, 196_608
"""Most tokens of one batch, prompt and answer together."""
LOOK_EVERY = 8
"""After how many tokens finished rows are looked for: each look makes the device wait."""
PLAIN_LORA = {"use_dora": False, "use_rslora": False, "fan_in_fan_out": False, "modules_to_save": None, "bias": "none"}
"""What a configuration must have for the adapter to be one product of two matrices per weight."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two matrices whose product is added to one weight of the base model."""

    module: str
    down: Any
    up: Any
    scale: float


class LocalModel:
    """A base model on this machine, with any of its adapters."""

    def __init__(
        self, base: BaseModel | str, adapters: Mapping[str, Path] = MappingProxyType({}), *, device: str = ""
    ) -> None:
        require_train_extra()
        self.base = base if isinstance(base, BaseModel) else load_base_model(base, device=device)
        self._end = end_of_turn(self.base.tokenizer)[0]
        self._adapters: dict[str, list[_Pair]] = {}
        for name, folder in adapters.items():
            self.add(name, folder)

    def add(self, name: str, folder: Path, *, key: str = "") -> None:
        """Add an adapter; refused if its files do not match the key, if given."""
        self._adapters[name] = _read_matrices(folder, self.base, key)

    def complete(
        self, conversations: Sequence[Sequence[ChatMessage]], *, adapter: str = "", max_tokens: int = 96
    ) -> list[ModelReply]:
        """Return the next message of each conversation, up to the end of the turn."""
        asked = prompts(conversations, self.base.tokenizer)
        lengths = [len(tokens) for tokens in asked]
        generated: dict[int, list[int]] = {}
        most = GPU_TOKENS if self.base.device.startswith("cuda") else CPU_TOKENS
        with self.with_adapter(adapter):
            for chosen in split_into_batches(
                range(len(asked)), [length + max_tokens for length in lengths], most_tokens=most
            ):
                generated |= zip(chosen, self._generate([asked[one] for one in chosen], max_tokens), strict=True)
        texts = self.base.tokenizer.batch_decode(
            [generated[one] for one in range(len(asked))], skip_special_tokens=True
        )
        return [
            ModelReply(text, lengths[one], len(generated[one]) + (len(generated[one]) < max_tokens))
            for one, text in enumerate(texts)
        ]

    @contextmanager
    def with_adapter(self, adapter: str) -> Iterator[None]:
        """Use an adapter within this context; without a name, the base model alone."""
        if not adapter:
            yield
            return
        if adapter not in self._adapters:
            hint = f"Adapters: {', '.join(self._adapters) or 'none'}."
            raise NotFound(f"no adapter {adapter!r}", code="no_adapter", hint=hint)
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

    def _generate(self, rows: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
        """Return the tokens that follow each row, without the end of the turn; in halves if memory runs out."""
        import torch

        decode = torch.inference_mode()(self._decode)
        generated = unless_out_of_memory(lambda: decode(rows, max_tokens), self.base.device)
        if generated is not None:
            return [tokens[: tokens.index(self._end)] if self._end in tokens else tokens for tokens in generated]
        if len(rows) == 1:
            raise out_of_memory(self.base.device)
        middle = len(rows) // 2
        return [*self._generate(rows[:middle], max_tokens), *self._generate(rows[middle:], max_tokens)]

    def _decode(self, rows: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
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
        generated: list[list[int]] = [[] for _ in rows]
        fresh: list[Any] = [found.logits[:, -1].argmax(-1)]
        while True:
            if len(fresh) == LOOK_EVERY or len(generated[alive[0]]) + len(fresh) >= max_tokens:
                for row, tokens in zip(alive, torch.stack(fresh, 1).tolist(), strict=True):
                    generated[row] += tokens
                known = [generated[row] for row in alive]
                going = [at_ for at_, row in enumerate(known) if self._end not in row and len(row) < max_tokens]
                if not going:
                    return generated
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
            # a mask in its final form: computing it would make the device wait at every token
            mask = seen[:, None, None, :]
            found = model(input_ids=last[:, None], attention_mask=mask, position_ids=at, **options)
            fresh.append(found.logits[:, -1].argmax(-1))


def _read_matrices(folder: Path, base: BaseModel, key: str = "") -> list[_Pair]:
    """Read the matrices of an adapter as PEFT wrote them."""
    read_adapter_settings(folder)
    from safetensors.torch import load

    files = read_adapter(folder, key=key)
    # from the bytes that were compared with the key, whatever the file holds now
    config = _parse_adapter_settings(files.settings, folder)
    trained = folder / "trained.json"
    if trained.is_file() and _base_hash_of_training(trained) != base.hash:
        message = f"the adapter in {folder.name} was trained on another base model than {base.name}"
        raise Refusal(message, code="other_base_model")
    held = {name: tensor.to(base.device) for name, tensor in load(files.weights).items()}
    scale = config["lora_alpha"] / config["r"]
    pairs = []
    for name in sorted(held):
        if not name.endswith(".lora_A.weight"):
            continue
        module = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
        up = held[name.replace(".lora_A.", ".lora_B.")]
        pairs.append(_Pair(module, held[name].float(), up.float(), scale))
    unfit = f"the adapter in {folder.name} does not fit {base.name}"
    try:
        for pair in pairs:
            if base.model.get_submodule(pair.module).weight.shape != (pair.up.shape[0], pair.down.shape[1]):
                raise Refusal(f"{unfit}: {pair.module} has another shape", code="adapter_does_not_fit")
    except AttributeError as fault:
        raise Refusal(f"{unfit}: {fault}", code="adapter_does_not_fit") from fault
    return pairs


def read_adapter_settings(folder: Path) -> dict[str, Any]:
    """Read the settings of an adapter; refused if it is not a plain LoRA."""
    path = folder / ADAPTER_SETTINGS
    if not path.is_file() or not (folder / ADAPTER_WEIGHTS).is_file():
        hint = f"It would hold {path.name} and {ADAPTER_WEIGHTS}."
        raise NotFound(f"no adapter in {folder}", code="no_adapter", hint=hint)
    return _parse_adapter_settings(path.read_bytes(), folder)


def _parse_adapter_settings(settings: bytes, folder: Path) -> dict[str, Any]:
    path, again = folder / ADAPTER_SETTINGS, "export or train the adapter again"
    try:
        loaded: Any = json.loads(settings)
    except (ValueError, RecursionError) as fault:
        raise Mistake(f"{path} cannot be read: {fault}", code="damaged_adapter", hint=again) from fault
    config: dict[str, Any] = loaded if isinstance(loaded, dict) else {}
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or rank <= 0 or not isinstance(alpha, int | float):
        raise Mistake(f"{path} has no adapter settings", code="damaged_adapter", hint=again)
    other = [name for name, plain in PLAIN_LORA.items() if config.get(name, plain) not in (plain, [], {})]
    if config.get("peft_type") != "LORA" or other or config.get("rank_pattern") or config.get("alpha_pattern"):
        hint = "Only plain LoRA adapters are read here."
        raise Refusal(f"the adapter in {folder.name} is not a plain LoRA", code="not_plain_lora", hint=hint)
    return config


def _base_hash_of_training(path: Path) -> str:
    """Return the hash of the model that an adapter was trained on."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["base_hash"])
    except (ValueError, LookupError, TypeError, RecursionError) as fault:
        hint = "export or train the adapter again"
        raise Mistake(f"{path} cannot be read: {fault}", code="damaged_adapter", hint=hint) from fault


def split_into_batches(chosen: Sequence[int], lengths: Sequence[int], *, most_tokens: int) -> list[list[int]]:
    """Split conversations into batches of at most this many tokens with padding; a longer one is alone."""
    batches: list[list[int]] = []
    for one in sorted(chosen, key=lambda one: -lengths[one]):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= most_tokens:
            batches[-1].append(one)
        else:
            batches.append([one])
    return batches


def prompts(conversations: Sequence[Sequence[ChatMessage]], tokenizer: Any) -> list[list[int]]:
    """Return the tokens of each conversation up to where the agent answers."""
    return tokenize([render_chat(messages, tokenizer, asking=True) for messages in conversations], tokenizer)


def end_of_turn(tokenizer: Any) -> tuple[int, str]:
    """Return the token that ends an agent's turn in this model's template, and its text."""
    question = [ChatMessage(SYSTEM, "a"), ChatMessage(USER, "b")]
    asked = render_chat(question, tokenizer, asking=True)
    answered = render_chat([*question, ChatMessage(AGENT, "c")], tokenizer, asking=False)
    after = answered.removeprefix(f"{asked}c")
    tokens = tokenize([after], tokenizer)[0] if after != answered else []
    text = tokenizer.decode(tokens[:1]) if tokens else ""
    # which tokens are called special differs between library versions; that they are added ones does not
    marks = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    if not text or tokens[0] not in marks or not after.startswith(text):
        raise Refusal(
            "this model's chat template ends a turn without a token of its own, so the model could not learn to stop",
            code="no_end_of_turn",
            hint="Choose a base model that was trained to chat (…-Instruct).",
        )
    return tokens[0], text


def render_chat(messages: Sequence[ChatMessage], tokenizer: Any, *, asking: bool) -> str:
    generated = [{"role": message.role, "content": message.content} for message in messages]
    return str(tokenizer.apply_chat_template(generated, tokenize=False, add_generation_prompt=asking))


def tokenize(texts: Sequence[str], tokenizer: Any) -> list[list[int]]:
    """Tokenize texts; the template has already written every special token."""
    return list(tokenizer(list(texts), add_special_tokens=False)["input_ids"]) if texts else []


ADAPTER_SETTINGS, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
"""The two files of a PEFT adapter; other files next to them are records."""
_KEY_LENGTH = 32
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """The files of an adapter."""

    settings: bytes
    weights: bytes

    @property
    def key(self) -> str:
        """The hash of the weights and settings."""
        return _adapter_hash(self.settings, [self.weights])


def read_adapter(folder: Path, *, key: str = "") -> AdapterFiles:
    """Read the files of an adapter; refused if they do not match the key, if given."""
    held = AdapterFiles(
        _plain_file(folder / ADAPTER_SETTINGS).read_bytes(), _plain_file(folder / ADAPTER_WEIGHTS).read_bytes()
    )
    try:
        same = not key or held.key == key
    except (ValueError, RecursionError) as error:
        raise _not_an_adapter(folder, error) from error
    if not same:
        hint = "`tacit adapters remove` removes it; `tacit adapters train` trains a new one"
        raise Refusal(f"the files of the adapter {key} are not the registered ones", code="files_changed", hint=hint)
    return held


def adapter_key(folder: Path) -> str:
    """Return the key of the adapter in a folder, reading the files in pieces."""
    try:
        settings = _plain_file(folder / ADAPTER_SETTINGS).read_bytes()
        with _plain_file(folder / ADAPTER_WEIGHTS).open("rb") as file:
            return _adapter_hash(settings, iter(lambda: file.read(_CHUNK), b""))
    except (OSError, ValueError, RecursionError) as error:
        raise _not_an_adapter(folder, error) from error


def _adapter_hash(settings: bytes, weights: Iterable[bytes]) -> str:
    made = hashlib.sha256(json.dumps(_without_order(json.loads(settings)), sort_keys=True).encode() + b"\0")
    for chunk in weights:
        made.update(chunk)
    return made.hexdigest()[:_KEY_LENGTH]


def _plain_file(path: Path) -> Path:
    """Return the path of a regular file; reading a pipe or a device would block."""
    if path.exists() and not path.is_file():
        hint = "remove it; `tacit adapters train` trains a new adapter"
        raise Mistake(f"{path} is not a regular file", code="not_a_regular_file", hint=hint)
    return path


def _not_an_adapter(folder: Path, error: Exception) -> Mistake:
    hint = f"it needs {ADAPTER_SETTINGS} and {ADAPTER_WEIGHTS}"
    return Mistake(f"{folder} has no PEFT adapter: {error}", code="not_an_adapter", hint=hint)


def _without_order(value: Any) -> Any:
    """Sort lists in settings: PEFT writes sets of names in any order."""
    if isinstance(value, dict):
        return {key: _without_order(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(map(_without_order, value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


T = TypeVar("T")


def unless_out_of_memory(work: Callable[[], T], device: str) -> T | None:
    """Return the result of the work; None if the device ran out of memory, which is then released."""
    import torch

    try:
        return work()
    except RuntimeError as fault:
        if not isinstance(fault, torch.OutOfMemoryError) and "can't allocate memory" not in str(fault):
            raise
        # the exception must be left first, because it keeps the work's memory
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return None


def out_of_memory(device: str) -> ModelOutage:
    """Return the error for the case that even the smallest batch does not fit."""
    return ModelOutage(
        f"out of memory on {device}",
        code="out_of_memory",
        hint="close other programs, choose a smaller --size, or set CUDA_VISIBLE_DEVICES= to use the processor; "
        "the same command continues the run",
    )
