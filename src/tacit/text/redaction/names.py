"""Which names say that their value is a secret: `DB_PASSWORD` does, `token_count` and `secretary` do not.

Name of a variable, key, flag or header → the kind of its secret and how much proof the value must bring, or None.
Does not look at values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class SecretName:
    """What a name promises. A password may be any word; other secrets must look machine-made to be believed."""

    kind: str
    any_word: bool


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLURAL = {"passwords": "password", "credentials": "credential", "creds": "credential"}

# What may follow the telling word without changing its meaning: PASSWORD_PROD, SECRET_KEY_BASE, token2.
_SUFFIXES = frozenset(
    "base prod production stage staging dev test live old new value raw plain hash main default".split()
)

_PASSWORD_ENDS = ("password", "passwd", "passphrase", "passcode")
_PASSWORD_WORDS = frozenset("pwd pw pass psw pswd psk userpass dbpass requirepass masterauth".split())
_TOKEN_ENDS = ("token", "secret")
_KEY_ENDS = ("apikey", "secretkey", "accesskey", "privatekey", "authkey", "accountkey", "signingkey", "encryptionkey")
_CREDENTIAL_WORDS = frozenset("credential authorization auth cookie jwt bearer".split())

# `next_page_token` and `eos_token` name places in a listing or in a vocabulary.
_HARMLESS_TOKENS = frozenset(
    "next page continuation cursor sync eos bos pad unk sep cls mask special stop start end begin first last image cancel "
    "cancellation progress num per max min total no the".split()
)
# `cache_key`, `primary_key` and `public_key` are no secrets: a key needs one of these before it.
_KEY_QUALIFIERS = frozenset(
    "api access secret private encryption encrypt signing sign signature auth master account storage shared preshared "
    "service subscription consumer app application license ssh deploy admin hmac aes session jwt webhook cipher "
    "crypto role write read ingestion integration project".split()
)


@lru_cache(maxsize=4096)
def secret_name(name: str) -> SecretName | None:
    """The promise of a name, or None where it makes none."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last = _PLURAL.get(words[-1], words[-1])
    before = words[-2] if len(words) > 1 else ""
    if last.endswith(_PASSWORD_ENDS) or last in _PASSWORD_WORDS:
        return SecretName("password", any_word=True)
    if last.endswith(_TOKEN_ENDS):
        kind = "token" if last.endswith("token") else "secret"
        return None if before in _HARMLESS_TOKENS else SecretName(kind, any_word=False)
    if last.endswith(_KEY_ENDS) or (last == "key" and before in _KEY_QUALIFIERS):
        return SecretName(_key_kind(words), any_word=False)
    if last in _CREDENTIAL_WORDS:
        return SecretName("cookie" if last == "cookie" else "credential", any_word=False)
    return None


def _key_kind(words: list[str]) -> str:
    if "aws" in words or words[-3:] == ["secret", "access", "key"]:
        return "aws-secret-key"
    if words[-2:] == ["account", "key"] or words[-3:] == ["shared", "access", "key"]:
        return "azure-key"
    if words[-2:] in (["private", "key"], ["preshared", "key"]) or words[-1] == "privatekey":
        return "private-key"
    return "api-key"
