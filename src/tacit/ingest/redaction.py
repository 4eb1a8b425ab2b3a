"""A trajectory → the same without secrets, and how many of each kind were found. What counts as one is decided in `text`.

A step without secrets stays the very same object, and so does a trajectory without any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any

from tacit.domain.identity import canonical
from tacit.domain.trajectory import Trajectory
from tacit.text.redaction import may_hold_secret, redact, redact_value

_KEPT = frozenset({"id", "source"})


def redacted(trajectory: Trajectory) -> tuple[Trajectory, dict[str, int]]:
    """Take secrets out of every text, argument, observation and name; the id is that of the new content."""
    if not may_hold_secret(canonical(trajectory)):  # most hold none, and one look at the whole is the fastest
        return trajectory, {}
    found: Counter[str] = Counter()
    changes = _changes(trajectory, found)
    return (replace(trajectory, **changes, id=""), dict(found)) if changes else (trajectory, {})


def _changes(part: Any, found: Counter[str]) -> dict[str, Any]:
    """Return the fields of a part that are others without their secrets."""
    before = {field.name: getattr(part, field.name) for field in fields(part) if field.name not in _KEPT}
    after = {name: _clean(value, found) for name, value in before.items()}
    return {name: value for name, value in after.items() if value is not before[name]}


def _clean(value: Any, found: Counter[str]) -> Any:
    """Return a value without secrets; the very same one where it holds none."""
    if type(value) is str:
        text = redact(value)
        found.update(text.found)
        return text.text if text.found else value
    if isinstance(value, tuple):
        items = tuple(_clean(item, found) for item in value)
        return value if all(map(is_, items, value)) else items
    if isinstance(value, Mapping):
        arguments = redact_value(value)
        found.update(arguments.found)
        # Compared by content: a secret in a key is replaced without being counted.
        return value if arguments.value == value else dict(arguments.value)
    changes = _changes(value, found) if is_dataclass(value) else {}
    return replace(value, **changes) if changes else value
