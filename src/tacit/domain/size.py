"""How large an adapter is to be. Apart from adapters, since settings name it and are read at every start."""

from __future__ import annotations

from enum import StrEnum


class Size(StrEnum):
    """The one dial of training: how much an adapter can hold, and how long it is trained."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
