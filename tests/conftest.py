"""Settings for every test: property tests judge by result, not by the clock, and fail the same way twice."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tacit.config import signers
from tests.lengths import EXHAUSTIVE
from tests.person import enter

# A busy machine must not fail a test, and a failure must be there again on the next run. `--hypothesis-seed` still varies it.
# `make exhaustive` tries many more examples.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=200 if EXHAUSTIVE else 30,
)
settings.load_profile("house")

gc.disable()  # while thousands of tests are collected, nothing is garbage


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later search for garbage: walking them takes a tenth of the whole time."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def persons_key() -> None:
    """What is made once for many tests is made by a person, too."""
    enter()


@pytest.fixture(autouse=True)
def unlocked_by_person() -> Iterator[None]:
    """In every test a person has entered their passphrase; `locked` takes that back."""
    enter()
    yield
    enter()


@pytest.fixture
def locked(unlocked_by_person: None) -> None:
    """Nobody has entered a passphrase in this process."""
    signers.forget_unlocked_key()
