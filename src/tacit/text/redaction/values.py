"""Whether a value that stands where a secret is expected is one: `hunter2` is, `get_token()`, `${PW}` and `str` are not.

Value and what its place says about it → yes or no. Knows nothing of vendors' token shapes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

# Text that points to a secret instead of being one, or that somebody already masked.
_REFERENCE = re.compile(
    r"""
    \$\{ | \$\( | \$\w+(?:[:.\[]\S*)?$ | %\w+% | %\(?\w*\)?[sdr]?$ | \{\{? | <[^>]*>? | \[ | \( | \.{2,} | … | &\w+$
  | [*•xX\-_.#?0]+$                                # masks
  | [A-Za-z_][\w.:>-]*[(\[{]                       # calls and subscripts
  | [A-Za-z_]+\d{0,3}(?:(?:\.|::|->)[A-Za-z_]+\d{0,3})+\??!?;?$   # dotted names
  | (?:https?|file|op|vault|secret|env|ssm|arn|ref|urn|s3|gs|data|sha\d+)[:+/]
  | (?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.~-]+(?:[/\\][\w.@~-]*)*$   # paths
  | v?\d+(?:\.\d+)+(?:[-+.]\w+)*$                  # versions and addresses
  | \d{4}-\d\d-\d\d(?:$|[T_])                      # dates
  | redacted
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|enter|insert|change|replace|example|dummy|fake|todo)[-_ ]?\w*|\w*(?:changeme|placeholder)\w*|x{4}"
)
_BLANK = re.compile(r"\s")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")))
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_]*\d{0,2}$")
# my-app-token-2, kebab and snake names: words and short numbers, nothing machine-made.
_SLUG = re.compile(r"(?:[A-Za-z]+|\d{1,4}|v\d+)(?:[-_./:@][A-Za-z]*|[-_./:@]\d{1,4}|[-_./:@]v\d+)*\d{0,3}$")
_CAMEL = re.compile(r"[A-Z]{0,6}[a-z]*(?:[A-Z]{1,6}[a-z]+)*[A-Z]{0,6}\d{0,3}$")
_NOT_VALUES = frozenset(
    "none null nil true false yes no on off str string bytes text int integer number bool boolean object array any "
    "optional required password passwd passphrase pass secret token apikey key value values hidden masked empty "
    "default undefined unknown invalid disabled enabled auto input prompt stdin basic bearer digest file env plain "
    "never always session user username email name type label field example sensitive self this return const char "
    "varchar void var let mut field char* str, missing expired incorrect wrong correct changed reset".split()
)
_PROSE = frozenset(
    "a an and are be by can do enter for from in is it must no not of on or please the this to was with you your min max "
    "minimum maximum characters least password passwords required invalid reset change wrong field confirm new old see if "
    "docs token secret key set has have at as".split()
)


def convincing(value: str, *, any_word: bool, firm: bool) -> bool:
    """Whether the value is a secret. `firm` says the place leaves little doubt: quoted, or NAME=value in capitals."""
    if len(value) < 4 or _REFERENCE.match(value) or _PLACEHOLDER.match(value.lower()):
        return False
    if _BLANK.search(value):
        return any_word and firm and _is_passphrase(value)
    plain = value.strip("\"'`,;.:!?)")
    if plain.lower() in _NOT_VALUES:
        return False
    return _password_like(plain, firm=firm) if any_word else machine_made(plain)


def _password_like(value: str, *, firm: bool) -> bool:
    if len(value) < (4 if firm else 6):
        return False
    if value.isalpha():
        return firm and len(value) >= 5
    if value.isdigit():
        return len(value) >= 6
    if firm:
        return True
    return bool(_DIGIT.search(value) and _LETTER.search(value)) and not _names_a_secret(value)


def _names_a_secret(value: str) -> bool:
    lowered = value.lower()
    return bool(_IDENTIFIER.match(value)) and any(
        word in lowered for word in ("pass", "pw", "secret", "token", "key", "_")
    )


def _is_passphrase(value: str) -> bool:
    words = value.split(" ")
    if len(value) > 100 or not 2 <= len(words) <= 10 or not all(word and word.isprintable() for word in words):
        return False
    if not all(re.fullmatch(r"[\w!@#$%^&*+?.-]+", word) for word in words) or value[-1] in ".:?":
        return False
    return not any(word.lower().strip(".,:;!?") in _PROSE for word in words)


_ALGORITHM = re.compile(r"(?:sha|md|base|utf|aes|rsa|oauth|rfc|pbkdf|ntlm|hs|rs|es|iso|v)-?\d", re.IGNORECASE)


def password_shaped(value: str) -> bool:
    """Whether a word amid prose looks chosen as a password: letters, digits and a third class, or drawn at random."""
    if not 8 <= len(value) <= 256 or _ALGORITHM.match(value) or not value.isascii():
        return False
    classes = sum(bool(one.search(value)) for one in _CLASSES)
    return (bool(_DIGIT.search(value)) and classes >= 3 and not _SLUG.match(value)) or (
        len(value) >= 16 and machine_made(value)
    )


def machine_made(value: str) -> bool:
    """Whether a value looks drawn at random: digits among letters, or case that follows no word."""
    if len(value) < 8:
        return False
    if not _LETTER.search(value) or _SLUG.match(value):
        return False
    if not _DIGIT.search(value):
        return len(value) >= 16 and len(_LETTER.findall(value)) >= 12 and not _CAMEL.match(value) and _mixed(value)
    return entropy(value) >= (2.3 if len(value) < 16 else 2.8)


def _mixed(value: str) -> bool:
    turns = sum(a.islower() and b.isupper() for a, b in pairwise(value))
    return turns >= len(value) / 8 and entropy(value) >= 3.5


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0
