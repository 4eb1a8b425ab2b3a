"""Names, values and token shapes of secrets.

`secret_name` tells whether a name suggests a secret (`DB_PASSWORD` does, `token_count` does not), `convincing` whether a value
looks like one, and `shaped_secrets` finds tokens by their own form.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class SecretName:
    """What a name suggests. A password may be any word; other secrets must look machine-made."""

    kind: str
    any_word: bool


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLURAL = {"passwords": "password", "credentials": "credential", "creds": "credential"}

# What may follow the word without changing its meaning: PASSWORD_PROD, SECRET_KEY_BASE, token2.
_SUFFIXES = frozenset(
    "base prod production stage staging dev test live old new value raw plain hash main default data string text b64 base64 hex v".split()
)

_PASSWORD_ENDS = ("password", "passwd", "passphrase", "passcode")
_PASSWORD_WORDS = frozenset(
    "pwd pw pass psw pswd psk userpass dbpass requirepass masterauth bindpw rootpw storepass keypass rootpass adminpass smtppass ftppass authtok "
    "sshpass bindpass authpass passe passwort kennwort wachtwoord senha contrasena jelszo lozinka".split()
)
# A letter outside ASCII ends a word for the pattern above, so these are compared whole.
_FOREIGN_ENDS = ("contraseña", "jelszó", "пароль", "密码", "パスワード", "비밀번호")
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
    "crypto role write read ingestion integration project fernet client server bot user team org root global personal validation decryption certificate".split()
)


ANY_KEY = "key"
# Any other key is one only if its value is long and random; these never are.
_PUBLIC_QUALIFIERS = frozenset(
    "public vapid cache primary foreign sort partition range hash index map dict object bucket row route translation idempotency "
    "dedup dedupe lookup unique group event message query state sha etag checksum integrity content file image layer commit "
    "build module chunk block host known fingerprint react item node state store record s3 reference ref asset prompt "
    "trace span request correlation tree data registry metadata resource source target site".split()
)


@lru_cache(maxsize=4096)
def secret_name(name: str) -> SecretName | None:
    """Return what a name suggests; None if it suggests no secret."""
    if not name.isascii() and name.lower().endswith(_FOREIGN_ENDS):
        return SecretName("password", any_word=True)
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last = _PLURAL.get(words[-1], words[-1])
    before = words[-2] if len(words) > 1 else ""
    if last.endswith(_PASSWORD_ENDS) or last in _PASSWORD_WORDS or last.endswith("storepass"):
        return SecretName("password", any_word=True)
    if last == "clave":
        return SecretName("password", any_word=False)
    if last.endswith(_TOKEN_ENDS):
        kind = "token" if last.endswith("token") else "secret"
        return None if before in _HARMLESS_TOKENS else SecretName(kind, any_word=False)
    if last.endswith(_KEY_ENDS) or (last == "key" and before in _KEY_QUALIFIERS):
        return SecretName(_key_kind(words), any_word=False)
    if last == "key" and before not in _PUBLIC_QUALIFIERS:
        return SecretName(ANY_KEY, any_word=False)
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


# Text that refers to a secret instead of being one, or that is already masked.
_REFERENCE = re.compile(
    r"""
    \$\{ | \$\( | \$\w+(?:[:.\[]\S*)?$ | %\w+% | %\(?\w*\)?[sdr]?$ | (?:%[sdr][:/@,-]?)+$ | \{\{? | <[^>]*>? | \[ | \( | \.{2,} | … | &\w+$
  | [*•xX\-_.#?0]+$                                # masks
  | [A-Za-z_][\w.:>-]*[(\[{]                       # calls and subscripts
  | [A-Za-z_]+\d{0,3}(?:(?:\.|::|->)[A-Za-z_]+\d{0,3})+\??!?;?$   # dotted names
  | (?:https?|file|op|vault|secret|env|ssm|arn|ref|urn|s3|gs|data|sha\d+)[:+/]
  | (?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.~-]+(?:[/\\][\w.@~:-]*)*$   # paths
  | [\w.:]*(?:\.|::)\w*(?:key|token|secret|password|credentials?)$   # the name of a class or field
  | [A-Za-z_]\w*(?:\$\d)+(?:$|[.;])                # names that a bundler made
  | v?\d+(?:\.\d+)+(?:[-+.]\w+)*$                  # versions and addresses
  | \d{4}-\d\d-\d\d(?:$|[T_])                      # dates
  | redacted
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|enter|insert|change|replace|example|sample|dummy|fake|todo)[-_ ]?\w*|\w*(?:changeme|placeholder)\w*|x{4}"
)
_BLANK = re.compile(r"\s")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")))
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_]*\d{0,2}$")
# my-app-token-2, kebab and snake names: words and short numbers, nothing machine-made.
_SLUG = re.compile(
    r"(?:[A-Za-z]+|\d{1,4}|v\d+)(?:[-_./:@][A-Za-z]*|[-_./:@]\d{1,4}|[-_./:@]v\d+|[-_./:@][A-Za-z]{2,}\d{1,2})*\d{0,3}$"
)
_CAMEL = re.compile(r"[A-Z]{0,6}[a-z]*(?:[A-Z]{1,6}[a-z]+)*[A-Z]{0,6}\d{0,3}$")
_NOT_VALUES = frozenset(
    "none null nil true false yes no on off str string bytes text int integer number bool boolean object array any "
    "optional required password passwd passphrase pass secret token apikey key value values hidden masked empty "
    "default undefined unknown invalid disabled enabled auto input prompt stdin basic bearer digest file env plain "
    "never always session user username email name type label field example sensitive self this return const char "
    "varchar void var let mut field char* str, base64 utf8 utf-8 latin1 ascii hex sha256 sha512 md5 missing expired incorrect wrong correct changed reset".split()
)
_PROSE = frozenset(
    "a an and are be by can do enter for from in is it must no not of on or please the this to was with you your min max "
    "minimum maximum characters least password passwords required invalid reset change wrong field confirm new old see if "
    "docs token secret key set has have at as".split()
)

_SIGN_WITHIN = re.compile(r"(?=.*[a-z])(?=.*[A-Z])\w+[!@#$%^*+&?~]\w+$")
_WORDS_JOINED = re.compile(r"/?[A-Za-z]+\d?(?:[-_/:]+[A-Za-z]+\d?)+")
_SECRET_WORDS = ("pass", "pw", "secret", "token", "key", "_")


def convincing(value: str, *, any_word: bool, firm: bool) -> bool:
    """Whether the value is a secret. `firm`: the context leaves little doubt, as for quotes or NAME=value in capitals."""
    if len(value) < 4 or _REFERENCE.match(value) or _PLACEHOLDER.match(value.lower()) or value.endswith(("...", "…")):
        return False
    if _BLANK.search(value.strip()):
        return any_word and firm and _is_passphrase(value)
    plain = value.strip("\"'`,;.:!?) \t")
    if plain.lower() in _NOT_VALUES:
        return False
    if not any_word:
        ends_like_password = value[-1] in "!?#$%*+@" and password_shaped(value)
        return machine_made(plain) or ends_like_password or is_word_row(plain)
    if plain.isalpha():
        return (firm and len(plain) >= 5) or _irregular(plain)
    if plain.isdigit() or len(plain) < 6:
        return len(plain) >= (6 if plain.isdigit() or not firm else 4)
    names_secret = any(word in plain.lower() for word in _SECRET_WORDS)
    if names_secret and _WORDS_JOINED.fullmatch(plain):
        return False  # an error's code, a route: "missing-password", "/v1/accounts:changePassword"
    is_name = _IDENTIFIER.match(plain) and names_secret
    mixed = bool(_DIGIT.search(plain) and _LETTER.search(plain)) and not is_name
    return firm or mixed or bool(_SIGN_WITHIN.search(plain)) or _irregular("".join(_LETTER.findall(plain)))


def fits_name(value: str, name: SecretName, *, firm: bool) -> bool:
    """Whether the value is the secret that the name before it suggests."""
    if name.kind == ANY_KEY:
        return is_random_key(value)
    return convincing(value, any_word=name.any_word, firm=firm)


def _is_passphrase(value: str) -> bool:
    words = value.split(" ")
    if len(value) > 100 or not 2 <= len(words) <= 10 or not all(word and word.isprintable() for word in words):
        return False
    if not all(re.fullmatch(r"[\w!@#$%^&*+?.-]+", word) for word in words) or value[-1] in ".:?":
        return False
    return not any(word.lower().strip(".,:;!?") in _PROSE for word in words)


_WORD_ROW = re.compile(r"(?:[a-z]{3,12}[-_.]){2,6}\d{1,4}$")
_COMMON = ("test", "example", "dummy", "fake", "sample", "mock", "name", "version", *_SECRET_WORDS)
_CASE_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NO_VOWEL = re.compile(r"[A-Z][b-df-hj-np-tv-xz]{3}|[b-df-hj-np-tv-xz]{4}|[A-Z]{6}")


def is_word_row(value: str) -> bool:
    """Whether a value is a passphrase as generators write it: `copper-lantern-meadow-46`."""
    return _WORD_ROW.match(value) is not None and not any(word in value for word in _COMMON)


def _irregular(letters: str) -> bool:
    """Whether letters change their case too often for words in a row, or have parts that no word has."""
    parts = len(_CASE_PARTS.findall(letters))
    if len(letters) < 8 or parts < 4 or not letters.isascii():
        return False
    return len(letters) / parts < 2.7 or (len(letters) / parts < 4 and _NO_VOWEL.search(letters) is not None)


_ALGORITHM = re.compile(r"(?:sha|md|base|utf|aes|rsa|oauth|rfc|pbkdf|ntlm|hs|rs|es|iso|v)-?\d", re.IGNORECASE)


def password_shaped(value: str) -> bool:
    """Whether a word in prose looks like a password: letters, digits and a third class, or random."""
    if not 8 <= len(value) <= 256 or _ALGORITHM.match(value) or not value.isascii():
        return False
    classes = sum(bool(one.search(value)) for one in _CLASSES)
    return (bool(_DIGIT.search(value)) and classes >= 3 and not _SLUG.match(value)) or (
        len(value) >= 16 and machine_made(value)
    )


_CONSTANT = re.compile(r"[A-Z]+\d?(?:_[A-Z]+\d?){2,}$")
_MODULE = re.compile(r"(?:exports|module|self|this)\.")
_COUNTED = re.compile(r"1234567890|0123456789|deadbeef", re.IGNORECASE)


def _is_class_name(value: str) -> bool:
    """Whether a value is one name in mixed case with at most two digits, such as `OAuth2Client`."""
    letters = "".join(_LETTER.findall(value))
    is_name = value.isalnum() and len(value) - len(letters) <= 2 and len(letters) >= 8
    if not is_name or value.isalpha() or _NO_VOWEL.search(letters):
        return False
    return len(letters) / len(_CASE_PARTS.findall(letters)) >= 3.5


def machine_made(value: str) -> bool:
    """Whether a value looks random: digits among letters, or irregular case."""
    value = _MODULE.sub("", value)
    if len(value) < 8 or _CONSTANT.match(value):
        return False
    if not _LETTER.search(value) or (_SLUG.match(value) and not (value.isalpha() and _irregular(value))):
        return False
    if _COUNTED.search(value) or (len(value) < 24 and _is_class_name(value)):
        return False
    if _DIGIT.search(value):
        return entropy(value) >= (2.3 if len(value) < 16 else 2.8)
    turns = sum(a.islower() and b.isupper() for a, b in pairwise(value))
    letters = "".join(_LETTER.findall(value))
    if len(letters) < 12 or turns < len(value) / 8 or entropy(value) < 3:
        return False
    return _irregular(letters) or (len(value) >= 16 and not _CAMEL.match(value.lstrip("_")) and entropy(value) >= 3.5)


_RANDOM_KEY = re.compile(r"[A-Za-z0-9_\-]{20,100}={0,2}|[A-Za-z0-9+/]{42,88}={1,2}")
_BASE36 = re.compile(r"(?=[a-z0-9]{0,99}[g-z])[a-z0-9]{28,100}")


def is_random_key(value: str) -> bool:
    """Whether a value is certainly random: long, of letters in both cases and digits, and no hash or id."""
    if _BASE36.fullmatch(value):
        changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(value))
        return changes >= len(value) / 5 and entropy(value) >= 3.3
    return (
        bool(_RANDOM_KEY.fullmatch(value)) and _has_digit_and_capital(value) and _drawn(value) and machine_made(value)
    )


def entropy(value: str) -> float:
    """Return the Shannon entropy in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


class SecretSpan(NamedTuple):
    """The position of a secret in the text, and its kind."""

    start: int
    end: int
    kind: str


Check = Callable[[str], bool]
# The token may not be the tail of a longer word, unless what precedes is an escape (\n), a colour code or %3D.
_EDGES = (r"(?<![A-Za-z0-9_\-]{})", r"(?<=\\[nrt]{})", r"(?<=\dm{})", r"(?<=%[0-9A-F][0-9A-F]{})")
_ALONE = re.compile("|".join(edge.format("") for edge in _EDGES))
_AWS_KEY = "aws-access-key"
_DIGEST = re.compile(r".{0,4}sha\d{1,3}[=:-]\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TokenShape:
    """The form of one kind of token: a row of `tokens.txt`. A body with no prefix has a literal that occurs within it."""

    kind: str
    prefixes: tuple[str, ...]
    body: str
    alone: str
    glued: str
    literal: str = ""

    def secrets_in(self, text: str) -> Iterator[SecretSpan]:
        """Yield the tokens of this form; a token after a marker such as `sig=` or an address is only what follows it."""
        if not any(literal in text for literal in self.prefixes or (self.literal,)):
            return
        for match in _compiled(self).finditer(text):
            if _DIGEST.match(text, max(0, match.start() - 8), match.start()):
                continue
            check = (
                self.alone
                if not self.prefixes or self.glued == "x" or _ALONE.match(text, match.start())
                else self.glued
            )
            if _CHECKS[check](match.group("body") if check == "r" else match.group("token")):
                yield SecretSpan(*match.span("token"), self.kind)


@lru_cache(maxsize=512)
def _compiled(shape: TokenShape) -> re.Pattern[str]:
    body = f"(?P<body>{shape.body})"
    if not shape.prefixes:
        return re.compile(f"(?P<token>{body})", re.ASCII)
    # The prefix comes first and its left edge is checked after it, so that the search can jump from literal to literal.
    edges = "(?:" + "|".join(_EDGES) + ")" if shape.glued == "x" else ""
    heads = [escaped + edges.replace("{}", escaped) for escaped in map(re.escape, shape.prefixes)]
    prefix = heads[0] if len(heads) == 1 else f"(?:{'|'.join(heads)})"
    if shape.prefixes[0][-1] in "/=":
        return re.compile(f"{prefix}(?P<token>{body})", re.ASCII)
    return re.compile(f"(?P<token>{prefix}{body})", re.ASCII)


@cache
def token_shapes() -> tuple[TokenShape, ...]:
    """Return the forms of tokens in `tokens.txt`, which stand in the order in which they name a secret."""
    shapes = []
    for line in (Path(__file__).parent / "tokens.txt").read_text(encoding="ascii").splitlines():
        if line and line[0] != "#":
            kind, prefixes, body, alone, glued = line.split(" ")
            starts = () if prefixes[0] == "@" else tuple(prefixes.split(","))
            shapes.append(TokenShape(kind, starts, body, alone, glued, prefixes[1:]))
    return tuple(shapes)


def has_digit(token: str) -> bool:
    return any(character.isdigit() for character in token)


def _has_digit_and_capital(token: str) -> bool:
    return _has_both_cases(token) and (has_digit(token) or _irregular("".join(_LETTER.findall(token))))


def _has_both_cases(token: str) -> bool:
    return any(c.isupper() for c in token) and any(c.islower() for c in token)


_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_WORD_PART = re.compile(r"[A-Z]?[a-z]{3,}")
_TURNS_SHARE = 0.12


def _drawn(token: str) -> bool:
    """Whether a run still alternates often between letters, digits and cases after its words are removed."""
    return any(
        not run.islower()
        and not run.isupper()
        and sum(
            one.isdigit() != other.isdigit() or one.isupper() != other.isupper()
            for one, other in pairwise(_WORD_PART.sub("", run))
        )
        >= _TURNS_SHARE * len(run)
        for run in _RUN.findall(token)
    )


def _is_jwt(token: str) -> bool:
    header = token.split(".", 1)[0]
    try:
        fields = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(fields, dict) and "alg" in fields


_CHECKS: dict[str, Check] = {
    "-": lambda token: True,
    "d": has_digit,
    "b": _has_both_cases,
    "c": _has_digit_and_capital,
    "r": _drawn,
    "j": _is_jwt,
}

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY(?: BLOCK)?-----")
_BODY_RUN = re.compile(r"[A-Za-z0-9+/=]{16}")
_BODY_MAX = 32_768
# A block without an end: base64 lines, perhaps numbered, quoted, diffed, or with \n written out.
_BODY_LINES = re.compile(
    r"(?:(?:\\[nr]|[\s\"'+>|,→]|\d{1,5}(?:\t|→))*(?:(?:Version|Comment|Proc-Type|DEK-Info|Hash)[:][^\n\\]{0,200}"
    r"|[A-Za-z0-9+/=]{16,4096}|[A-Za-z0-9+/]{1,15}={1,2}))*"
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def shaped_secrets(text: str) -> Iterator[SecretSpan]:
    """Yield every secret in the text that is recognised by its form."""
    for shape in token_shapes():
        for span in shape.secrets_in(text):
            yield span
            if span.kind == _AWS_KEY:
                # It is often followed by its secret with no name at all: a CSV row, a prompt's answers.
                for after in _AWS_SECRET.finditer(text, span.end, span.end + 200):
                    if _has_digit_and_capital(after.group()):
                        yield SecretSpan(*after.span(), "aws-secret-key")
    if "-----BEGIN " in text:
        yield from _key_blocks(text)


def _key_blocks(text: str) -> Iterator[SecretSpan]:
    for match in _BLOCK.finditer(text):
        label = match.group(1)
        kind = "pgp-private-key" if "PGP" in label else "ssh-private-key" if "OPENSSH" in label else "private-key"
        dashes = text.find("-----", match.end(), match.end() + _BODY_MAX)
        if dashes >= 0 and text.startswith("-----END ", dashes):
            close = text.find("-----", dashes + 9, dashes + 80)
            end = close + 5 if close >= 0 else dashes + 9
        else:
            limit = dashes if dashes >= 0 else match.end() + _BODY_MAX
            body = _BODY_LINES.match(text, match.end(), limit)
            end = body.end() if body else match.end()
        # Code that only mentions the markers has no body between them.
        if _BODY_RUN.search(text, match.end(), end):
            yield SecretSpan(match.start(), end, kind)
