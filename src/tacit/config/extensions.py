"""Finds installed extensions: entry points of the group `tacit.extensions` → classes."""

from __future__ import annotations

from functools import cache

from tacit.domain.errors import ConfigError
from tacit.domain.extension import Extension

_GROUP = "tacit.extensions"


@cache
def extension_classes() -> tuple[type[Extension], ...]:
    """Load every registered extension, in the order of their names. A feature whose folder was removed is skipped."""
    from importlib.metadata import entry_points  # slow to import

    found: dict[str, type[Extension]] = {}
    for entry in sorted(entry_points(group=_GROUP), key=lambda entry: entry.name):
        try:
            found.setdefault(entry.value, entry.load())
        except ModuleNotFoundError as error:
            if error.name is not None and entry.module.startswith(error.name):
                continue  # the whole package is gone
            raise _broken(entry.name, entry.value, error) from error
        except (ImportError, AttributeError) as error:
            raise _broken(entry.name, entry.value, error) from error
    return tuple(found.values())


def _broken(name: str, value: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"the extension {name!r} ({value}) does not load: {error}",
        code="extension_broken",
        hint="update or remove the package that provides it",
    )
