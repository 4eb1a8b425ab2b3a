"""A person's signing key: made once, encrypted with a passphrase, unlocked for one process.

The file holds the seed of an Ed25519 key and the fingerprint of the first signer, encrypted with a key that Argon2id makes of
the passphrase. How costly that was is in the file, so that it can be opened again; whoever changes it opens nothing. An
unlocked key exists only in the memory of the process: it is written to no file, variable or socket.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from tacit.config.files import write_atomically
from tacit.config.signers import FILE_NAME, KEY_FILE, Signers, fingerprint, first_signer, signed_bytes
from tacit.domain.errors import Mistake, NotPermitted, StoreOutage
from tacit.domain.identity import canonical

SHORTEST = 8
"""Characters of a passphrase."""
_MOST_MEMORY = 1 << 30
_MOST_PASSES = 16


@dataclass(frozen=True, slots=True)
class KeyCost:
    """How costly one try of a passphrase is: passes over so many bytes of memory (Argon2id)."""

    passes: int = 3
    memory: int = 256 << 20


class UnlockedKey:
    """A person's unlocked key. It signs in this process, and cannot be copied out of it by accident."""

    __slots__ = ("_key", "fingerprint", "signers")

    def __init__(self, seed: bytes, signers: Signers) -> None:
        from nacl.signing import SigningKey

        self._key = SigningKey(seed)
        self.fingerprint = fingerprint(bytes(self._key.verify_key))
        self.signers = signers

    def sign(self, body: Mapping[str, Any]) -> str:
        """Sign a statement: the signer's fingerprint, the signature and the canonical body, in one line."""
        text = canonical(body).decode("utf-8", "surrogatepass")
        return f"{self.fingerprint} {self._key.sign(signed_bytes(text)).signature.hex()} {text}"

    def __repr__(self) -> str:
        return f"UnlockedKey({self.fingerprint})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an unlocked key stays in its process")


def key_file(home: Path) -> Path:
    """Where a person's key is kept."""
    return home / KEY_FILE


def has_key(home: Path) -> bool:
    """Whether the person has a key."""
    return key_file(home).exists()


def create_key(home: Path, passphrase: str, *, name: str, at: datetime, cost: KeyCost | None = None) -> UnlockedKey:
    """Make a person's first key and a list with it alone. A key that exists is kept aside as `.old`.

    What was approved with a key that is not in the list any more has to be confirmed again.
    """
    from nacl.signing import SigningKey

    seed = os.urandom(32)
    public = bytes(SigningKey(seed).verify_key)
    draft = UnlockedKey(seed, Signers())
    own = draft.sign({"what": "signer", "key": public.hex(), "name": name, "at": at.isoformat()})
    _write(home, seed, root=draft.fingerprint, passphrase=passphrase, cost=cost or KeyCost())
    _write_list(home, (own,))
    return UnlockedKey(seed, Signers((own,)))


def unlock(home: Path, passphrase: str) -> UnlockedKey:
    """Open a person's key. Raises `NotPermitted` for a wrong passphrase, or where the list of signers was replaced."""
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox

    file = key_file(home)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        cost = KeyCost(int(document["passes"]), int(document["memory"]))
        salt, sealed = (base64.b64decode(document[name]) for name in ("salt", "sealed"))
    except FileNotFoundError:
        raise NotPermitted(
            "there is no signing key here", code="no_signing_key", hint="`tacit review` makes one"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "restore it from a copy, or make a new one: tacit config --new-key"
        raise StoreOutage(f"{file} cannot be read: {error}", code="key_unreadable", hint=hint) from error
    if not (0 < cost.passes <= _MOST_PASSES and cost.memory <= _MOST_MEMORY):
        hint = "restore it from a copy, or make a new one: tacit config --new-key"
        raise StoreOutage(f"{file} asks for more memory than a key may", code="key_unreadable", hint=hint)
    try:
        inner = json.loads(SecretBox(_derived(passphrase, salt, cost)).decrypt(sealed))
    except (CryptoError, ValueError):
        message = "the passphrase does not open the signing key"
        hint = "try again; if it is lost, or you never chose one, make a new key: tacit config --new-key"
        raise NotPermitted(message, code="wrong_passphrase", hint=hint) from None
    signers = Signers.read(home)
    key = UnlockedKey(bytes.fromhex(inner["seed"]), signers)
    if key.fingerprint not in signers.keys or inner["root"] != signers.root:
        message = f"{home / FILE_NAME} is not the list of signers that your key belongs to: somebody changed it"
        hint = "restore it from a copy, or begin again with a new key: tacit config --new-key"
        raise NotPermitted(message, code="signers_replaced", hint=hint)
    return key


def add_statement(home: Path, key: UnlockedKey, body: Mapping[str, Any]) -> UnlockedKey:
    """Append a signed line to the list, such as another signer or a policy; return the key that knows it."""
    lines = (*key.signers.lines, key.sign(body))
    _write_list(home, lines)
    key.signers = Signers(lines)
    return key


def add_signer(home: Path, key: UnlockedKey, line: str, *, at: datetime) -> str:
    """Let another person's approvals count: the first line of their list. Returns their name.

    Raises `Mistake` unless the line is a key that signed itself.
    """
    body = first_signer(line)
    if body is None:
        message = "this is not another person's list of signers"
        raise Mistake(message, code="not_a_signer", hint=f"ask them for their file {FILE_NAME}, in their ~/.tacit")
    name = str(body.get("name", ""))
    add_statement(home, key, {"what": "signer", "key": body["key"], "name": name, "at": at.isoformat()})
    return name


def check_passphrase(passphrase: str) -> str:
    """Return a new passphrase; raise `Mistake` for one that is too short."""
    if len(passphrase) < SHORTEST:
        hint = "several words are easy to remember"
        raise Mistake(f"a passphrase has at least {SHORTEST} characters", code="short_passphrase", hint=hint)
    return passphrase


def _derived(passphrase: str, salt: bytes, cost: KeyCost) -> bytes:
    from nacl.exceptions import CryptoError
    from nacl.pwhash import argon2id

    try:
        return bytes(
            argon2id.kdf(
                32, passphrase.encode("utf-8", "surrogatepass"), salt, opslimit=cost.passes, memlimit=cost.memory
            )
        )
    except (CryptoError, ValueError) as error:
        raise StoreOutage(
            f"the key cannot be computed: {error}", code="key_unreadable", hint="free some memory"
        ) from error


def _write(home: Path, seed: bytes, *, root: str, passphrase: str, cost: KeyCost) -> None:
    from nacl.pwhash import argon2id
    from nacl.secret import SecretBox

    salt = os.urandom(argon2id.SALTBYTES)
    inner = json.dumps({"seed": seed.hex(), "root": root}).encode()
    sealed = bytes(SecretBox(_derived(check_passphrase(passphrase), salt, cost)).encrypt(inner))
    document = {
        "version": 1,
        "root": root,
        "passes": cost.passes,
        "memory": cost.memory,
        "salt": base64.b64encode(salt).decode(),
        "sealed": base64.b64encode(sealed).decode(),
    }
    file = key_file(home)
    try:
        home.mkdir(parents=True, exist_ok=True)
        for known in (file, home / FILE_NAME):
            if known.exists():
                known.replace(known.with_name(f"{known.name}.old"))
        write_atomically(file, json.dumps(document, indent=1) + "\n", mode=0o600)
    except OSError as error:
        raise StoreOutage(
            f"cannot write {file}: {error.strerror}", code="cannot_write", hint="check TACIT_HOME"
        ) from error


def _write_list(home: Path, lines: tuple[str, ...]) -> None:
    file = home / FILE_NAME
    try:
        write_atomically(file, "\n".join(lines) + "\n", mode=0o644)
    except OSError as error:
        raise StoreOutage(
            f"cannot write {file}: {error.strerror}", code="cannot_write", hint="check TACIT_HOME"
        ) from error
