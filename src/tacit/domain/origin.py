"""Where a piece of text came from, fixed when it is captured and never raised afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Origin(StrEnum):
    """Who wrote a text, from most to least trusted."""

    OPERATOR = "operator"
    USER = "user"
    AGENT = "agent"
    EXTERNAL = "external"

    @property
    def rank(self) -> int:
        """Trust as a number: higher is more trusted."""
        return _RANK[self]


_RANK = {Origin.EXTERNAL: 0, Origin.AGENT: 1, Origin.USER: 2, Origin.OPERATOR: 3}


def lowest(origins: Iterable[Origin]) -> Origin:
    """Return the origin of something made from several texts: the least trusted of them.

    Without any text it is external.
    """
    return min(origins, key=lambda origin: origin.rank, default=Origin.EXTERNAL)
