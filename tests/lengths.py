"""How long the long tests are: in full with TACIT_TEST_EXHAUSTIVE (`make exhaustive`), a spread of the cases otherwise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

EXHAUSTIVE = bool(os.environ.get("TACIT_TEST_EXHAUSTIVE"))

_Case = TypeVar("_Case")


def spread(cases: Sequence[_Case], count: int) -> list[_Case]:
    """All cases, or so many of them at even distances, the first and the last among them."""
    if EXHAUSTIVE or len(cases) <= count:
        return list(cases)
    return [cases[round(at * (len(cases) - 1) / (count - 1))] for at in range(count)]
