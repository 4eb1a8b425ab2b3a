"""Finds what is registered by entry points: extensions, and for other folders their readers, checks and verifiers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from tacit.domain.errors import ConfigError
from tacit.domain.extension import Extension

_GROUP = "tacit.extensions"


@cache
def extension_classes() -> tuple[type[Extension], ...]:
    """Return every registered extension, in the order of their names."""
    return tuple(dict(load_entry_points(_GROUP, kind="extension")).values())


def load_entry_points(
    group: str, *, kind: str, skip: Collection[str] = (), create: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield (value, loaded object) of a group's entry points, by name, without the values in `skip`.

    With `create` the loaded object is a class, and an instance of it is yielded.

    A feature whose folder was removed is left out; anything else that does not load raises `ConfigError`.
    """
    from importlib.metadata import entry_points  # slow to import

    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        if entry.value in skip:
            continue
        try:
            loaded = entry.load()
            found = loaded() if create else loaded
        except (ImportError, AttributeError, TypeError) as error:
            if _feature_is_removed(entry.module, error):
                continue
            raise ConfigError(
                f"the {kind} {entry.name!r} ({entry.value}) does not load: {error}",
                code=f"{kind}_not_loadable",
                hint="update or remove the package that provides it",
            ) from error
        yield entry.value, found


def _feature_is_removed(module: str, error: Exception) -> bool:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and missing.startswith("tacit.features.") and f"{module}.".startswith(f"{missing}.")
