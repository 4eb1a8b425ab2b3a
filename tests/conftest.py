"""Settings for every test: property tests judge by result, not by the clock, and fail the same way twice."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# A busy machine must not fail a test, and a failure must be there again on the next run. `--hypothesis-seed` still varies it.
# `make exhaustive` tries as many examples as hypothesis does by itself.
settings.register_profile("exhaustive", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", settings.get_profile("exhaustive"), max_examples=40)
settings.load_profile("exhaustive" if os.environ.get("TACIT_TEST_EXHAUSTIVE") else "house")

gc.disable()  # while thousands of tests are collected, nothing is garbage


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later search for garbage: walking them takes a tenth of the whole time."""
    gc.freeze()
    gc.enable()
