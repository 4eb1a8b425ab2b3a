"""Bytes of JSON lines → other bytes that still get past a parser: lines and values are changed, now and then plain bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**30, 1e308, "", " ", "\x00", "\ud800", "{", "[]", "<system-reminder>", "Exit code 1",
    "2026-13-45T99:99:99Z", "../../etc/passwd", "a" * 5000, [], {}, [[]], [None], {"": {}}, {"type": "text"},
    {"type": "tool_result", "tool_use_id": 7, "content": [{"type": "text"}]}, "no, use pnpm", "/clear", "thanks",
)  # fmt: skip


def mutated(data: bytes, size: int, seed: int, *, plain: Callable[[bytes, int], bytes]) -> bytes:
    """Change an input in one of several ways, chosen by the seed; `plain` is the fuzzer's own way with bytes."""
    chooser = random.Random(seed)
    way = chooser.choice((_lines, _values, _values, _values, None))
    if way is None:
        return plain(data, size)
    return way(data, chooser)[:size]


def _lines(data: bytes, chooser: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at, other = chooser.randrange(len(lines)), chooser.randrange(len(lines))
    what = chooser.randrange(5)
    if what == 0:
        lines.insert(other, lines[at])
    elif what == 1:
        del lines[at]
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        lines[at] = lines[at][: chooser.randrange(len(lines[at]) + 1)]
    else:
        lines = lines[: at + 1]
    return b"".join(lines)


def _values(data: bytes, chooser: random.Random) -> bytes:
    lines = data.splitlines()
    if not lines:
        return data
    at = chooser.randrange(len(lines))
    try:
        record = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _lines(data, chooser)
    for _ in range(chooser.randrange(1, 4)):
        _change(record, chooser)
    lines[at] = json.dumps(record).encode("utf-8", "replace")
    return b"\n".join(lines) + b"\n"


def _change(record: Any, chooser: random.Random) -> None:
    """Walk down to some place and put something odd there."""
    value, depth = record, 0
    while isinstance(value, dict | list) and value and depth < 12:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chooser.choice(keys)
        if not isinstance(value[key], dict | list) or not value[key] or chooser.random() < 0.2:
            _put(value, key, chooser)
            return
        value, depth = value[key], depth + 1


def _put(holder: Any, key: Any, chooser: random.Random) -> None:
    what = chooser.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = [holder[key]]
    elif what == 2:
        holder[key] = {"type": holder[key]}
    elif what == 3 and isinstance(holder[key], str):
        holder[key] = holder[key] + chooser.choice([value for value in ODD_VALUES if isinstance(value, str)])
    elif what == 4 and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = deepcopy(chooser.choice(ODD_VALUES))
