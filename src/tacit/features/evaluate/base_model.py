"""The base model of an adapter: its hash and facts (read without torch), and the loaded model (needs the extra `train`).

A name is a model's folder, a GGUF file or a hub id.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from tacit.domain.errors import Mistake, NotFound

HASHED = ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "*.safetensors", "*.bin")
"""The files of a folder that identify the model."""
INSTALL = "pip install 'tacit[train]', or in a checkout: pip install '.[train]'"
_NAME_A_MODEL = "Name a *.gguf file, a model's folder or a hub id."
_CONFIG = "config.json"
_CONFIG_MAX, _HEADER_MAX = 16 << 20, 100 << 20
"""Largest configuration and header of weights, in bytes; the safetensors format allows no larger header."""
_DIMENSIONS, _LAYERS = 64, 10_000
"""Limits for damaged files."""
_MATRIX = 2
_VOCABULARY = re.compile(r"embed|embd|lm_head|\bwte\b|\bwpe\b|^output\.|token_types")
"""Tensors of the vocabulary and of positions, in the names of both formats: adapters do not change them."""


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A loaded base model. Adapters are added and removed; its own weights never change."""

    name: str
    hash: str
    model: Any
    tokenizer: Any
    device: str

    @property
    def context_tokens(self) -> int:
        """Its context in tokens; 0 if unknown."""
        stated = getattr(self.model.config, "max_position_embeddings", None)
        return stated if isinstance(stated, int) and stated > 0 else 0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known about a base model without loading it."""

    architecture: str
    parameters: int
    heads: int
    key_heads: int
    layers: int
    reach: int = 0
    """Sum of inputs and outputs of all matrices that an adapter covers, which one rank needs; 0 if unknown."""
    context_tokens: int = 0
    """Its context in tokens; 0 if unknown."""


def base_model_hash(name: str) -> str:
    """Return the hash of a model's weights, vocabulary and chat template."""
    place = locate_model(name)
    if place.is_file():
        return _file_hash(place)
    files = sorted({file for pattern in HASHED for file in place.glob(pattern)})
    listed = [[file.name, _file_hash(file)] for file in files]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def base_model_facts(name: str) -> ModelFacts:
    """Return the family and size of a model, from its header or configuration."""
    place = locate_model(name)
    if place.is_file():
        header = read_gguf_header(place)
        heads = header.number("attention.head_count")
        key_heads = header.number("attention.head_count_kv") or heads
        layers, reach = header.number("block_count"), _reach(header.shapes)
        context = header.number("context_length")
        return ModelFacts(header.architecture, header.parameters, heads, key_heads, layers, reach, context)
    config = _config_of(place / _CONFIG)
    heads = _number(config, "num_attention_heads")
    shapes = [each for file in place.glob("*.safetensors") for each in _shapes_of(file)] or list(_usual_shapes(config))
    return ModelFacts(
        architecture=str(config.get("model_type", "")),
        parameters=sum(prod(shape) for _, shape in shapes),
        heads=heads,
        key_heads=_number(config, "num_key_value_heads") or heads,
        layers=_number(config, "num_hidden_layers"),
        reach=_reach(shapes),
        context_tokens=_number(config, "max_position_embeddings"),
    )


def locate_model(name: str, *, fetch: bool = False) -> Path:
    """Return the file or folder of a model. A hub model is downloaded only with `fetch`."""
    place = Path(name).expanduser()
    if place.is_file():
        if place.suffix != ".gguf":
            raise Mistake(f"{place.name} is not a model", code="not_a_model", hint=_NAME_A_MODEL)
        read_gguf_header(place)
        return place
    if place.is_dir():
        if not (place / _CONFIG).is_file():
            message = f"{place} has no {_CONFIG}, so it is not a model's folder"
            raise Mistake(message, code="not_a_model", hint="Name the folder that has it.")
        return place
    if name.count("/") != 1 or place.suffix == ".gguf" or name.startswith((".", "~", "/")):
        raise NotFound(f"no model at {name!r}", code="no_model", hint=_NAME_A_MODEL)
    return _from_hub(name, fetch=fetch)


def load_base_model(name: str, *, device: str = "") -> BaseModel:
    """Load a model with its tokenizer: bf16 on a GPU, 32 bits otherwise."""
    require_train_extra()
    place = locate_model(name, fetch=True)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    numbers = torch.bfloat16 if device.startswith("cuda") else torch.float32
    if device.startswith("cuda"):
        # cuDNN plans every new length, and a conversation has a new length with every token
        torch.backends.cuda.enable_cudnn_sdp(enabled=False)
    folder, options = (place.parent, {"gguf_file": place.name}) if place.is_file() else (place, {})
    if options and not find_spec("gguf"):
        hint = f"{INSTALL} (or: pip install gguf)"
        raise Mistake("reading a GGUF file needs the package gguf", code="missing_package", hint=hint)
    try:
        with redirect_stderr(StringIO()):  # a progress bar that cannot be switched off
            tokenizer = AutoTokenizer.from_pretrained(folder, **options)
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=numbers, attn_implementation="sdpa", **options)
    except (OSError, ValueError, KeyError, RuntimeError) as fault:
        message = f"{name} cannot be loaded as a language model: {_first_line(fault)}"
        raise Mistake(message, code="model_not_loaded") from fault
    if not tokenizer.chat_template:
        hint = "Take the variant that was trained to chat (…-Instruct)."
        raise Mistake(f"{name} has no chat template", code="no_chat_template", hint=hint)
    if getattr(model.config, "quantization_config", None) is not None:
        # weights from a GGUF file are unquantised now, and the marks of quantisation prevent saving
        del model.config.quantization_config
        for mark in ("hf_quantizer", "quantization_method"):
            if hasattr(model, mark):
                delattr(model, mark)
        model.is_quantized = False
    model.requires_grad_(requires_grad=False)
    return BaseModel(name, base_model_hash(name), model.to(device).eval(), tokenizer, device)


def unpack(name: str, folder: Path) -> Path:
    """Write a model as an ordinary folder with unquantised weights, for servers that need one."""
    base = load_base_model(name, device="cpu")
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    base.model.to(torch.bfloat16).save_pretrained(folder)
    base.tokenizer.save_pretrained(folder)
    return folder


def require_train_extra() -> None:
    """Raise `Mistake` if the packages for training are not installed."""
    if missing := missing_packages():
        raise Mistake(f"training and local models need {', '.join(missing)}", code="missing_package", hint=INSTALL)


def _from_hub(name: str, *, fetch: bool) -> Path:
    if not find_spec("huggingface_hub"):
        raise NotFound(f"no model at {name!r}", code="no_model", hint=f"For a hub id: {INSTALL}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=not fetch, ignore_patterns=["*.gguf", "*.onnx", "*.pth"]))
    except LocalEntryNotFoundError as fault:
        once = f"Fetch it once: hf download {name}; or name a folder or a *.gguf file."
        hint = "Check the connection." if fetch else once
        raise NotFound(f"the model {name!r} is not on this machine", code="model_not_fetched", hint=hint) from fault
    except (HfHubHTTPError, HFValidationError, OSError) as fault:
        message = f"the model {name!r} cannot be fetched: {_first_line(fault)}"
        raise NotFound(message, code="model_not_fetched") from fault


def _shapes_of(file: Path) -> list[tuple[str, tuple[int, ...]]]:
    """Return the tensors of a safetensors file with their shapes, from its header."""
    try:
        with _require_file(file).open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > min(_HEADER_MAX, file.stat().st_size):
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(opened.read(length))
        shapes = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
        for shape in shapes.values():
            is_known = isinstance(shape, list) and len(shape) <= _DIMENSIONS
            if not is_known or not all(isinstance(each, int) for each in shape):
                raise ValueError("a tensor without a shape")
        return [(name, tuple(shape)) for name, shape in shapes.items()]
    except (struct.error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as fault:
        raise _damaged(f"{file.name} is damaged: its header cannot be read ({_first_line(fault)})", "file") from fault


def _usual_shapes(config: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the matrices of a llama-like model from its configuration, if no file lists its tensors."""
    hidden, inner, words = (_number(config, name) for name in ("hidden_size", "intermediate_size", "vocab_size"))
    heads, key_heads = (_number(config, name) for name in ("num_attention_heads", "num_key_value_heads"))
    layers, width = _number(config, "num_hidden_layers"), _number(config, "head_dim") or hidden // max(heads, 1)
    asked, answered = width * heads, width * (key_heads or heads)
    yield "embed_tokens", (words, hidden)
    for _ in range(min(layers, _LAYERS)):
        yield from (
            ("q", (hidden, asked)),
            ("k", (hidden, answered)),
            ("v", (hidden, answered)),
            ("o", (asked, hidden)),
        )
        yield from (("gate", (hidden, inner)), ("up", (hidden, inner)), ("down", (inner, hidden)))


def _reach(shapes: Iterable[tuple[str, tuple[int, ...]]]) -> int:
    """Return what one rank of an adapter needs: all matrices except the vocabulary's."""
    return sum(sum(shape) for name, shape in shapes if len(shape) == _MATRIX and not _VOCABULARY.search(name))


def _config_of(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _CONFIG_MAX:
            raise ValueError(f"{path.stat().st_size} bytes")
        config: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as fault:
        raise _damaged(f"{path} cannot be read: {_first_line(fault)}") from fault
    if not isinstance(config, dict):
        raise _damaged(f"{path} is not the configuration of a model")
    return config


def _damaged(message: str, what: str = "model") -> Mistake:
    return Mistake(message, code="damaged_model", hint=f"Fetch the {what} again.")


def _number(config: dict[str, Any], name: str) -> int:
    found = config.get(name) or 0
    if not isinstance(found, int) or found < 0:
        raise _damaged(f"{_CONFIG} has {name} = {str(found)[:40]!r}, which is not a count")
    return found


def _require_file(path: Path) -> Path:
    """Return the path of a regular file; reading a pipe or a device would block."""
    if not path.is_file():
        raise Mistake(f"{path.name} is not a regular file", code="not_a_regular_file", hint="Fetch the model again.")
    return path


def _file_hash(path: Path) -> str:
    with _require_file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(fault: BaseException) -> str:
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0][:200]


MAGIC = b"GGUF"
STRING, ARRAY = 8, 9
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""How each type of value is encoded, by the format's own numbers."""
_TEXT_BYTES_MAX = 1 << 20
_ITEMS_MAX = 1 << 24
"""Longer texts and lists mean a damaged file, not a large model."""
_DEPTH_MAX, _GGUF_DIMENSIONS = 8, 8
"""Deepest nesting of lists and most dimensions of a tensor; the format itself has four."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The metadata of a GGUF file, without lists."""

    facts: Mapping[str, Any]
    shapes: Sequence[tuple[str, tuple[int, ...]]] = ()
    """The tensors by name."""

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(prod(shape) for _, shape in self.shapes)

    @property
    def architecture(self) -> str:
        """The model's family, as llama.cpp names it."""
        return str(self.facts.get("general.architecture", ""))

    def number(self, name: str) -> int:
        """Return a number of the model's architecture; 0 if the file has none."""
        found = self.facts.get(f"{self.architecture}.{name}", 0)
        return found if isinstance(found, int) else 0


def read_gguf_header(path: Path) -> GgufHeader:
    """Read the header of a GGUF file; raise `Mistake` if it is damaged or not GGUF."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise Mistake(f"{path.name} is not a GGUF file", code="not_gguf", hint=_NAME_A_MODEL)
        try:
            return _read_gguf_header(file)
        except (struct.error, UnicodeDecodeError, KeyError, ValueError) as fault:
            raise _damaged(f"{path.name} is damaged: its header cannot be read ({fault})", "file") from fault


def _read_gguf_header(file: BinaryIO) -> GgufHeader:
    version, tensors, count = _unpack(file, "<I"), _unpack(file, "<Q"), _unpack(file, "<Q")
    if version < 2 or max(tensors, count) > _ITEMS_MAX:
        raise ValueError(f"version {version} with {tensors} tensors")
    facts = {}
    for _ in range(count):
        name, kind = _read_text(file), _unpack(file, "<I")
        if (value := _read_value(file, kind)) is not None:
            facts[name] = value
    return GgufHeader(facts=facts, shapes=[_tensor_shape(file) for _ in range(tensors)])


def _tensor_shape(file: BinaryIO) -> tuple[str, tuple[int, ...]]:
    name = _read_text(file)
    dimensions = _unpack(file, "<I")
    if dimensions > _GGUF_DIMENSIONS:
        raise ValueError(f"a tensor of {dimensions} dimensions")
    sizes = tuple(_unpack(file, "<Q") for _ in range(dimensions))
    _unpack(file, "<I"), _unpack(file, "<Q")
    return name, sizes


def _read_value(file: BinaryIO, kind: int, depth: int = 0) -> Any:
    if kind == STRING:
        return _read_text(file)
    if kind != ARRAY:
        return _unpack(file, SCALARS[kind])
    of, length = _unpack(file, "<I"), _unpack(file, "<Q")
    if length > _ITEMS_MAX or depth > _DEPTH_MAX:
        raise ValueError(f"a list of {length} items, {depth} deep")
    if of in SCALARS:
        file.seek(length * struct.calcsize(SCALARS[of]), 1)
    else:
        for _ in range(length):
            _read_value(file, of, depth + 1)
    return None


def _read_text(file: BinaryIO) -> str:
    length = _unpack(file, "<Q")
    if length > _TEXT_BYTES_MAX:
        raise ValueError(f"a text of {length} bytes")
    return file.read(length).decode("utf-8")


def _unpack(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


PACKAGES = ("torch", "transformers", "peft")


def missing_packages(base: str = "") -> list[str]:
    """Return the packages that training needs and that are not installed; a *.gguf base model needs one more."""
    needed = (*PACKAGES, "gguf") if base.endswith(".gguf") else PACKAGES
    return [package for package in needed if not find_spec(package)]


def training_device() -> str:
    """Return where training would run: `cuda` or `cpu`."""
    if not find_spec("torch"):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
