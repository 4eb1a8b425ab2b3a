"""Taking the triggers that guard tables away for a moment, inside the caller's transaction, and putting the same ones back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tacit.store.sqlite.connection import Connection

_TRIGGERS = (
    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN (SELECT value FROM json_each(?)) "
    "ORDER BY name"
)


@contextmanager
def unguarded(connection: Connection, *tables: str) -> Iterator[None]:
    """Let rows be deleted that are only ever appended otherwise."""
    triggers = connection.run(_TRIGGERS, json.dumps(tables))
    for name, _ in triggers:
        connection.run(f'DROP TRIGGER "{name}"')
    yield
    for _, text in triggers:
        connection.run(text)
