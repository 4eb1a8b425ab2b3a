"""The budget in tokens: hard in all, and with a share that each kind may take at most. Quick to load."""

from __future__ import annotations

from tacit.text.words import BYTES_PER_TOKEN

SHARES = {"norm": 0.25, "preference": 0.25, "reference": 0.4}
"""The part of the budget that a kind may take at most; procedures and lessons may take all of it."""
LAST = frozenset({"reference"})
"""Kinds that come after all others."""


class Purse:
    """Tokens that are left, in all and for each kind, for texts that are put one below the other; and what became of them."""

    __slots__ = ("_kinds", "_refused", "_taken", "_texts", "_tokens", "left")

    def __init__(self, tokens: int) -> None:
        self.left = self._tokens = tokens
        self._texts = 0
        self._kinds = {kind: int(share * tokens) for kind, share in SHARES.items()}
        self._taken: dict[str, list[int]] = {}
        self._refused: dict[str, set[str]] = {}

    def room(self, kind: str) -> int:
        """How many tokens an item of this kind may take."""
        line_ends = (self._texts + 2) // BYTES_PER_TOKEN  # between texts; the frame around them has room for one
        left = self.left - line_ends
        return min(left, self._kinds.get(kind, left))

    def spend(self, kind: str, tokens: int) -> None:
        """Take them."""
        self.left -= tokens
        self._texts += 1
        self._taken.setdefault(kind, []).append(tokens)
        if kind in self._kinds:
            self._kinds[kind] -= tokens

    def refuse(self, kind: str, identity: str) -> None:
        """Note that an item of this kind found no room."""
        self._refused.setdefault(kind, set()).add(identity)

    def account(self, kind: str) -> tuple[float, int, int, int, int]:
        """Of a kind: its share, the same in tokens, the tokens that it took, for how many items, and how many had no room."""
        share, taken = SHARES.get(kind, 1.0), self._taken.get(kind, [])
        return share, max(0, int(share * self._tokens)), sum(taken), len(taken), len(self._refused.get(kind, ()))
