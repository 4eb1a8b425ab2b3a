"""A lot: whether a skill is held back from one session as a control. Session and skill → the same answer all session long.

Loads nothing that is slow: hooks draw lots too. How large the chance is, is decided elsewhere (`outcome.withholding`).
"""

from __future__ import annotations

try:
    from _blake2 import blake2b  # the same function; `hashlib` loads all of OpenSSL first
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHANCE_MOST = 0.5
"""Nobody goes without a skill more often than with it."""
_BYTES = 8


def lot(session: str, skill_id: str, chance: float, *, salt: str = "", dice: Callable[[], float] | None = None) -> bool:
    """Whether the skill is held back from this session.

    The answer is a hash of both names, so that every surface and every moment of a session gives the same one. Without a
    session each use is a draw of its own, from `dice` (numbers from 0 up to 1). A larger chance never takes back a yes.
    `salt` tells several experiments apart.
    """
    if chance <= 0:
        return False
    if session:
        return drawn(session, skill_id, salt=salt) < chance
    if dice is not None:
        return dice() < chance
    from random import random  # hooks have a session

    return random() < chance


def drawn(session: str, skill_id: str, *, salt: str = "") -> float:
    """A number from 0 up to 1 that belongs to this session and skill."""
    named = b"\0".join(part.encode("utf-8", "surrogatepass") for part in (salt, session, skill_id))
    hashed: bytes = blake2b(named, digest_size=_BYTES).digest()
    return int.from_bytes(hashed, "big") / (1 << 8 * _BYTES)
