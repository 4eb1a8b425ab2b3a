"""Who may approve here: public keys, and what was signed with them.

An approval counts only if a person signed it with a key that opens with their passphrase (`signing_key`). This module only
verifies: hooks load it, and the cryptography only when there is a signature to check.

The list of signers is a file of signed lines in the person's home. The first line is a key that signs itself, and every later
line is signed by that key: another signer, or a policy. What other signers signed for lists of their own does not count here.
A copy in `/etc/tacit`, which only the administrator can write, takes precedence.
"""

from __future__ import annotations

import hashlib
import json
import os

from tacit.domain.errors import NotPermitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tacit.config.signing_key import UnlockedKey

FILE_NAME, KEY_FILE = "signers", "signing-key.json"
SYSTEM_FILE = "/etc/tacit/signers"
_CONTEXT = b"tacit signed statement\n"
_LONGEST = 1 << 20
_SIGNATURE = 64
_BROAD = ("organisation", "global")


def fingerprint(key: bytes) -> str:
    """Name a public key."""
    return hashlib.sha256(key).hexdigest()[:32]


def signed_bytes(body: str) -> bytes:
    """The bytes that a signature covers."""
    return _CONTEXT + body.encode("utf-8", "surrogatepass")


def anchor_file(home: str | os.PathLike[str], store: str) -> str:
    """Where a home notes the newest state of a store that was used from it."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:32]
    return os.path.join(home, "anchors", f"{name}.json")


def approval_body(
    *, content_hash: str, kind: str, name: str, scope: str, store: str, shown: str, ticked: Sequence[str], by: str,
    at: str, text: str,
) -> dict[str, Any]:  # fmt: skip
    """What a person signs to approve a version: its content, where it holds, what they saw, and the text for hooks.

    What holds in one project is bound to its store; what is broader is copied into other stores.
    """
    return {
        "what": "approve",
        "hash": content_hash,
        "kind": kind,
        "name": name,
        "scope": scope,
        "store": "" if scope.partition(":")[0] in _BROAD else store,
        "shown": shown,
        "ticked": list(ticked),
        "by": by,
        "at": at,
        "text": text,
    }


def approves(body: Mapping[str, Any], *, kind: str, name: str, scope: str, store: str) -> bool:
    """Whether a signed body is an approval of something of this kind and name, at this scope, in this store."""
    wanted = {"what": "approve", "kind": kind, "name": name, "scope": scope}
    wanted["store"] = "" if scope.partition(":")[0] in _BROAD else store
    return all(body.get(key) == value for key, value in wanted.items())


class Signers:
    """The public keys that count, in the order of the list, and the policy that was signed last."""

    def __init__(self, lines: tuple[str, ...] = ()) -> None:
        """Read the signed lines of a list; what is not signed by its first key is left out."""
        self.keys: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.root = ""
        """The fingerprint of the first key; empty where there is no list."""
        self.allows_open = False
        """Whether a person signed last that the policy `open` may apply."""
        self.home = ""
        """The home that the list was read for; empty for a list of no home."""
        self.lines = lines
        for line in lines:
            self._read(line)

    @classmethod
    def read(cls, home: str | os.PathLike[str], *, system: str = SYSTEM_FILE) -> Signers:
        """Read the list of a home; that of the system instead where there is one.

        Nobody counts where the list does not begin with the key that the person's key file names: one of them was replaced.
        """
        if text := _read(system):
            return cls(tuple(text.splitlines()))
        found = cls(tuple(_read(os.path.join(home, FILE_NAME)).splitlines()))
        expected = str(_parsed(_read(os.path.join(home, KEY_FILE))).get("root", ""))
        if expected and found.root != expected:
            found = cls()
            found.root = expected
        found.home = os.fspath(home)
        return found

    def believes_earlier(self, store: str) -> bool:
        """Whether what a store lists as approved before there were signatures counts.

        It does until there is a signer, in a store that was used from this home before: one that arrived, such as in an
        archive, lists what somebody else says.
        """
        return not self.root and (not self.home or os.path.exists(anchor_file(self.home, store)))

    def verified(self, signed: str) -> Mapping[str, Any] | None:
        """Return the body of a signed statement; nothing unless one of these keys signed exactly that."""
        name, _, rest = signed.partition(" ")
        key = self.keys.get(name)
        return _opened(key, rest) if key else None

    def _read(self, line: str) -> None:
        body = self.verified(line)
        if not self.keys and body is None:
            body = first_signer(line)
            self.root = line.partition(" ")[0] if body else ""
        if body is None or line.partition(" ")[0] != self.root:
            return
        if body.get("what") == "signer" and (key := _key_of(body)):
            self.keys[fingerprint(key)] = key
            self.names[fingerprint(key)] = str(body.get("name", ""))
        elif body.get("what") == "policy":
            self.allows_open = body.get("strictness") == "open"


def first_signer(line: str) -> Mapping[str, Any] | None:
    """Return the statement of a key that signs itself, as a list begins; nothing for any other line."""
    name, _, rest = line.strip().partition(" ")
    key = _key_of(_parsed(rest.partition(" ")[2]))
    body = _opened(key, rest) if key and fingerprint(key) == name else None
    return body if body and body.get("what") == "signer" else None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _key_of(body: Mapping[str, Any]) -> bytes:
    try:
        key = bytes.fromhex(str(body.get("key", "")))
    except ValueError:
        return b""
    return key if len(key) == 32 else b""


def _opened(key: bytes, rest: str) -> dict[str, Any] | None:
    signature, _, body = rest.partition(" ")
    try:
        signed = bytes.fromhex(signature) + signed_bytes(body)
    except ValueError:
        return None
    # libsodium by itself: the rest of PyNaCl loads what a hook has no time for.
    from nacl._sodium import ffi, lib  # type: ignore[import-not-found]

    if len(signed) < _SIGNATURE or lib.sodium_init() < 0:
        return None
    opened, length = ffi.new("unsigned char[]", len(signed)), ffi.new("unsigned long long *")
    is_right = lib.crypto_sign_open(opened, length, signed, len(signed), key) == 0
    return (_parsed(body) or None) if is_right else None


# --- the unlocked key of this process ---------------------------------------------------------------------------------

_unlocked: list[UnlockedKey] = []


def set_unlocked_key(key: UnlockedKey) -> None:
    """Let this process sign until it ends: a person has entered their passphrase in it."""
    _unlocked[:] = [key]


def forget_unlocked_key() -> None:
    """Let this process sign no more."""
    _unlocked.clear()


def unlocked_key() -> UnlockedKey | None:
    """The unlocked key of this process; nothing before a person has entered their passphrase."""
    return _unlocked[0] if _unlocked else None


def require_unlocked_key(what: str) -> UnlockedKey:
    """Return the unlocked key of this process; raise `NotPermitted` where no person has entered their passphrase."""
    if not _unlocked:
        message = f"{what} needs a person's signature, and nobody has entered a passphrase in this process"
        hint = "run `tacit review` in a terminal, where it asks for the passphrase"
        raise NotPermitted(message, code="needs_passphrase", hint=hint)
    return _unlocked[0]


def trusted_signers(home: str | os.PathLike[str]) -> Signers:
    """The signers that count for a home: those that the unlocked key vouches for, else those of the list."""
    return _unlocked[0].signers if _unlocked else Signers.read(home)
