"""What a GGUF file says of the model in it: a path in, its plain facts and its number of weights out.

Reads the header only: no weights, no vocabulary, and no package besides the standard library.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from tacit.domain.errors import Mistake

MAGIC = b"GGUF"
STRING, ARRAY = 8, 9
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""How each kind of value is laid down, by the format's own numbers."""
_LONGEST = 1 << 20
_MOST = 1 << 24
"""Longer texts and longer lists than these mean a damaged file, not a large model."""
_DEEPEST, _DIMENSIONS = 8, 8
"""So deep lists lie in lists, and so many dimensions a tensor has, at most; the format itself knows of four."""


@dataclass(frozen=True, slots=True)
class Header:
    """The facts of a GGUF file; lists among them are left out."""

    facts: Mapping[str, Any]
    shapes: Sequence[tuple[str, tuple[int, ...]]] = ()
    """The tensors by name."""

    @property
    def parameters(self) -> int:
        """How many weights there are."""
        return sum(prod(shape) for _, shape in self.shapes)

    @property
    def architecture(self) -> str:
        """The model's family, as llama.cpp names it."""
        return str(self.facts.get("general.architecture", ""))

    def number(self, name: str) -> int:
        """A number that the file states for its architecture; 0 where it states none."""
        found = self.facts.get(f"{self.architecture}.{name}", 0)
        return found if isinstance(found, int) else 0


def read_header(path: Path) -> Header:
    """The header of a GGUF file; a `Mistake` where it is none, or a damaged one."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise Mistake(f"{path.name} is no GGUF file.", hint="Name a *.gguf file, a model's folder or a hub id.")
        try:
            return _read(file)
        except (struct.error, UnicodeDecodeError, KeyError, ValueError) as fault:
            raise Mistake(
                f"{path.name} is damaged: its header cannot be read ({fault}).", hint="Fetch the file again."
            ) from fault


def _read(file: BinaryIO) -> Header:
    version, tensors, count = _unpacked(file, "<I"), _unpacked(file, "<Q"), _unpacked(file, "<Q")
    if version < 2 or max(tensors, count) > _MOST:
        raise ValueError(f"version {version} with {tensors} tensors")
    facts = {}
    for _ in range(count):
        name, kind = _text(file), _unpacked(file, "<I")
        if (value := _value(file, kind)) is not None:
            facts[name] = value
    return Header(facts=facts, shapes=[_shape(file) for _ in range(tensors)])


def _shape(file: BinaryIO) -> tuple[str, tuple[int, ...]]:
    name = _text(file)
    dimensions = _unpacked(file, "<I")
    if dimensions > _DIMENSIONS:
        raise ValueError(f"a tensor of {dimensions} dimensions")
    sizes = tuple(_unpacked(file, "<Q") for _ in range(dimensions))
    _unpacked(file, "<I"), _unpacked(file, "<Q")
    return name, sizes


def _value(file: BinaryIO, kind: int, depth: int = 0) -> Any:
    if kind == STRING:
        return _text(file)
    if kind != ARRAY:
        return _unpacked(file, SCALARS[kind])
    of, length = _unpacked(file, "<I"), _unpacked(file, "<Q")
    if length > _MOST or depth > _DEEPEST:
        raise ValueError(f"a list of {length} items, {depth} deep")
    if of in SCALARS:
        file.seek(length * struct.calcsize(SCALARS[of]), 1)
    else:
        for _ in range(length):
            _value(file, of, depth + 1)
    return None


def _text(file: BinaryIO) -> str:
    length = _unpacked(file, "<Q")
    if length > _LONGEST:
        raise ValueError(f"a text of {length} bytes")
    return file.read(length).decode("utf-8")


def _unpacked(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]
