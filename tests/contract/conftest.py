"""The stores that the contract suite runs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.domain.ports import Store
from tacit.store import VolatileStore, open_store


@pytest.fixture(params=["sqlite", "volatile"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = VolatileStore() if request.param == "volatile" else open_store(tmp_path / "tacit.db")
    yield opened
    opened.close()
