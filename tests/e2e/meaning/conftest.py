"""The weights that `make meaning` fetches; where they are not, these tests are skipped, or missed if they are required."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

FETCHED = Path(__file__).parents[3] / ".models" / "weights"


@pytest.fixture(scope="session")
def weights() -> Path:
    """The folder of the model."""
    if os.environ.get("TACIT_WEIGHTS") == "skip":
        pytest.skip("a real embedder takes its time: `make meaning`")
    found = sorted(path.parent for path in FETCHED.glob("**/model.safetensors"))
    why = "" if found else f"there are no weights below {FETCHED.name}: run `make meaning`"
    if not why and not find_spec("numpy"):
        why = "the extra `semantic` is not installed"
    if why and os.environ.get("TACIT_WEIGHTS") == "required":
        pytest.fail(why)
    if why:
        pytest.skip(why)
    return found[0]
