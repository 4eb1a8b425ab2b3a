"""The person of the tests: a real key, which costs nothing to open, and the list of signers with it alone."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tacit.config.signers import forget_unlocked_key, set_unlocked_key
from tacit.config.signing_key import KeyCost, UnlockedKey, add_statement, create_key, unlock

PASSPHRASE = "correct horse battery"
CHEAP = KeyCost(passes=1, memory=8192)


@cache
def _files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        create_key(Path(folder), PASSPHRASE, name="ann", at=datetime.now(UTC), cost=CHEAP)
        return {each.name: each.read_bytes() for each in Path(folder).iterdir()}


def give_key(home: Path) -> None:
    """Put the key and the list into a person's home, the folder `.tacit`."""
    home.mkdir(parents=True, exist_ok=True)
    for name, data in _files().items():
        (home / name).write_bytes(data)


@cache
def unlocked() -> UnlockedKey:
    """The same key, unlocked, of a person who has allowed the policy `open`."""
    with tempfile.TemporaryDirectory() as folder:
        give_key(Path(folder))
        key = unlock(Path(folder), PASSPHRASE)
        return add_statement(Path(folder), key, {"what": "policy", "strictness": "open"})


def enter() -> None:
    """The person enters their passphrase in this process."""
    set_unlocked_key(unlocked())


def leave(home: Path) -> None:
    """From now on nobody has entered a passphrase here; the person's key lies in their home, the folder `.tacit`."""
    give_key(home)
    forget_unlocked_key()
