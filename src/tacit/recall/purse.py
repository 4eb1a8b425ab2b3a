"""The budget in tokens: hard in all, and with a share that each kind may take at most. Quick to load."""

from __future__ import annotations

SHARES = {"norm": 0.25, "preference": 0.25, "reference": 0.4}
"""The part of the budget that a kind may take at most; procedures and lessons may take all of it."""
LAST = frozenset({"reference"})
"""Kinds that come after all others."""


class Purse:
    """Tokens that are left, in all and for each kind."""

    __slots__ = ("_kinds", "left")

    def __init__(self, tokens: int) -> None:
        self.left = tokens
        self._kinds = {kind: int(share * tokens) for kind, share in SHARES.items()}

    def room(self, kind: str) -> int:
        """How many tokens an item of this kind may take."""
        return min(self.left, self._kinds.get(kind, self.left))

    def spend(self, kind: str, tokens: int) -> None:
        """Take them."""
        self.left -= tokens
        if kind in self._kinds:
            self._kinds[kind] -= tokens
