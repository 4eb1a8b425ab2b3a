"""The two files of a PEFT adapter: a folder in, their bytes and the key that these bytes have out. Loads no weights.

What is hashed is what is handed over: whoever loads these bytes loads what the key names, even if the files change meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, Refusal

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
"""The two files that make a PEFT adapter; everything else beside them is a record."""
_KEY_LENGTH = 32
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """An adapter as it was read."""

    settings: bytes
    weights: bytes

    @property
    def key(self) -> str:
        """The hash of the weights and of the settings that say how they act."""
        made = _begun(self.settings)
        made.update(self.weights)
        return made.hexdigest()[:_KEY_LENGTH]


def read_adapter(folder: Path, *, key: str = "") -> AdapterFiles:
    """The files of an adapter; refused where they are not those of the key, if one is given."""
    held = AdapterFiles(_plain_file(folder / SETTINGS).read_bytes(), _plain_file(folder / WEIGHTS).read_bytes())
    try:
        same = not key or held.key == key
    except (ValueError, RecursionError) as error:
        raise _no_adapter(folder, error) from error
    if not same:
        raise Refusal(
            f"the files of the adapter {key} are not those that were registered",
            hint="`tacit adapters remove` takes it away; `tacit train` makes one anew",
        )
    return held


def fingerprint(folder: Path) -> str:
    """The key of the adapter in a folder; both files must be there. Holds no more than a piece of them in memory."""
    try:
        made = _begun(_plain_file(folder / SETTINGS).read_bytes())
        with _plain_file(folder / WEIGHTS).open("rb") as file:
            while chunk := file.read(_CHUNK):
                made.update(chunk)
    except (OSError, ValueError, RecursionError) as error:
        raise _no_adapter(folder, error) from error
    return made.hexdigest()[:_KEY_LENGTH]


def _begun(settings: bytes) -> hashlib._Hash:
    said: Any = json.loads(settings)
    return hashlib.sha256(json.dumps(_ordered(said), sort_keys=True).encode() + b"\0")


def _plain_file(path: Path) -> Path:
    """The path of a file; a pipe or a device would be waited for without end."""
    if path.exists() and not path.is_file():
        raise Mistake(f"{path} is no plain file", hint="remove it; `tacit train` makes an adapter anew")
    return path


def _no_adapter(folder: Path, error: Exception) -> Mistake:
    return Mistake(f"{folder} holds no PEFT adapter: {error}", hint=f"it needs {SETTINGS} and {WEIGHTS}")


def _ordered(value: Any) -> Any:
    """Settings without the order of their lists: PEFT writes sets of names in any order."""
    if isinstance(value, dict):
        return {key: _ordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(map(_ordered, value), key=lambda item: json.dumps(item, sort_keys=True))
    return value
