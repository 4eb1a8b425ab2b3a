"""The services that papers are looked up at, on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.features.research.services import Services, serving


@pytest.fixture
def services() -> Iterator[Services]:
    with serving() as opened:
        yield opened
