"""Settings for every test: property tests judge by result, not by the clock, and fail the same way twice."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine must not fail a test, and a failure must be there again on the next run. `--hypothesis-seed` still varies it.
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
