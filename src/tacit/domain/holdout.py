"""Controls: whether a skill is held back from a session, so that runs with and without it can be compared.

Hooks decide this too, so it imports nothing slow. `evidence` decides how large the chance is.
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
"""A skill is never held back more often than it is shown."""
_BYTES = 8


def is_held_back(
    session: str, skill_id: str, chance: float, *, random_number: Callable[[], float] | None = None
) -> bool:
    """Whether the skill is held back from this session.

    The answer is a hash of both ids, so that it stays the same for a whole session on every surface. Without a session each
    use draws a new number from 0 up to 1, from `random_number` if given. A larger chance never changes a yes into a no.
    """
    if chance <= 0:
        return False
    if session:
        return holdout_number(session, skill_id) < chance
    if random_number is not None:
        return random_number() < chance
    from random import random  # hooks have a session

    return random() < chance


def holdout_number(session: str, skill_id: str) -> float:
    """A number from 0 up to 1 that is fixed for this session and skill."""
    named = b"\0".join(part.encode("utf-8", "surrogatepass") for part in ("", session, skill_id))
    hashed: bytes = blake2b(named, digest_size=_BYTES).digest()
    return int.from_bytes(hashed, "big") / (1 << 8 * _BYTES)
