"""The safetensors format, read by ourselves: a file → named tensors as views of the mapped file. Interprets no number.

A file is data from somewhere: lengths, shapes and places are checked before anything is looked at, and nothing in it can
run. Imports nothing that is slow to load.
"""

from __future__ import annotations

import json
import mmap
import os.path
from hashlib import sha256

from tacit.domain.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
"""Bytes for each number, by the format's name of its type."""
FETCH_AGAIN = "fetch or copy the model's folder again"
_LARGEST_HEADER = 8 << 20
_LARGEST_FILE = 4 << 30
_BLOCK = 4 << 10
_STRIDE = 1 << 20


class Tensor:
    """One array of numbers: their type, the shape, and their bytes in the mapped file."""

    __slots__ = ("data", "kind", "shape")

    def __init__(self, kind: str, shape: tuple[int, ...], data: memoryview) -> None:
        self.kind = kind
        self.shape = shape
        self.data = data


def read_tensors(path: str) -> dict[str, Tensor]:
    """Map a file and list what is in it; raises `ConfigError` where it is not what it says."""
    mapped = _mapped(path)
    length = int.from_bytes(mapped[:8], "little")
    if not 2 <= length <= min(_LARGEST_HEADER, len(mapped) - 8):
        raise _broken(path, "its header is cut short or too long")
    try:
        header = json.loads(bytes(mapped[8 : 8 + length]))
    except (ValueError, RecursionError) as error:
        raise _broken(path, "its header is not JSON") from error
    if not isinstance(header, dict):
        raise _broken(path, "its header lists no tensors")
    body = mapped[8 + length :]
    found = {name: _tensor(path, name, entry, body) for name, entry in header.items() if name != "__metadata__"}
    if sum(len(tensor.data) for tensor in found.values()) != len(body):
        raise _broken(path, "its tensors overlap or leave gaps")
    return found


def fingerprint(tensors: dict[str, Tensor]) -> bytes:
    """What tells these weights from others: names, types, shapes, and samples of each tensor's bytes.

    A block of every megabyte and both ends of each tensor: training changes all of a tensor, so it shows, and a large
    file is told in milliseconds. It is no proof against somebody who alters a file on purpose.
    """
    told = sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        told.update(f"{name} {tensor.kind} {tensor.shape}\n".encode("utf-8", "replace"))
        told.update(sampled(tensor.data))
    return told.digest()


def sampled(data: memoryview) -> bytes:
    """A hash over the data's length and over blocks of it that are the same on every machine."""
    told = sha256(len(data).to_bytes(8, "little"))
    step = min(_STRIDE, max(_BLOCK, len(data) // 3))
    for start in range(0, len(data), step):
        told.update(data[start : start + _BLOCK])
    told.update(data[-_BLOCK:])
    return told.digest()


def refuse_special(path: str) -> None:
    """Raise `ConfigError` for a pipe, a device or a folder: whoever opens a pipe may wait for ever."""
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - pathlib is slow to import
        raise _broken(path, "it is no plain file")


def _mapped(path: str) -> memoryview:
    try:
        refuse_special(path)
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        told = getattr(error, "strerror", None) or "it is empty"
        raise ConfigError(f"{path}: {told}", hint=FETCH_AGAIN) from error
    if len(mapped) > _LARGEST_FILE:
        raise _broken(path, f"it is larger than {_LARGEST_FILE >> 30} GiB")
    return mapped


def _tensor(path: str, name: str, entry: Any, body: memoryview) -> Tensor:
    entry = entry if isinstance(entry, dict) else {}
    kind, shape, place = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(kind, str) or kind not in SIZES:
        raise _broken(path, f"the type of tensor {name[:80]!r} is not known")
    if not _is_sizes(shape) or not _is_sizes(place) or len(place) != 2:
        raise _broken(path, f"tensor {name[:80]!r} has no shape or place")
    count = SIZES[kind]
    for size in shape:
        count *= size
    start, end = place
    if not start <= end <= len(body) or end - start != count:
        raise _broken(path, f"tensor {name[:80]!r} lies outside the file or does not fit its shape")
    return Tensor(kind, tuple(shape), body[start:end])


def _is_sizes(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) <= 8 and all(type(item) is int and 0 <= item < 1 << 48 for item in value)
    )


def _broken(path: str, why: str) -> ConfigError:
    return ConfigError(f"{path} cannot be used: {why}", hint=FETCH_AGAIN)
