"""Redaction: replaces secrets in text or JSON-like values by typed placeholders before anything is stored.

`export OPENAI_API_KEY=sk-…` → `export OPENAI_API_KEY=<redacted:openai-key>`. The text around a secret stays, a placeholder is
never changed again, and text without secrets comes back unchanged. Finds credentials, not personal data; keeps nothing of
what it removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count
from string import ascii_letters, digits
from typing import Any

from tacit.text.redaction.contexts import COMMAND_WORDS, FINDERS, TAIL, TWO_WORDS, TWO_WORDS_REACH
from tacit.text.redaction.patterns import SHAPES, SecretName, SecretSpan, convincing, secret_name, shaped_secrets

# Machine-made tokens are long runs of letters and digits, which ordinary text has few of. Mapping the text to runs of
# one letter lets a single literal search find them all; an alternation of forty prefixes is fifteen times slower.
_TOKEN_CHARACTERS = (ascii_letters + digits + "_-").encode()
_TO_RUNS = bytes(ord("a") if byte in _TOKEN_CHARACTERS else ord(" ") for byte in range(256))
_RUN = b"a" * 20
# What may be glued before a token: the rest of an escape (\n, \u2019), a colour code's end, %3D.
_TOKEN_HEAD = re.compile(
    rb"(?:[bfnrt]|u[0-9a-f]{4}|\d{1,3}m|[0-9a-f]{2})?(?:s(?:k[-_0-9a-f]|q0|bp_|hp)|gh[pousr]_|github_pat|gl[a-z]{3}[-_]|xox[a-z]-|xapp-|rk_|whsec_"
    rb"|a(?:kia|sia|iza|ge-secret-key|tatt3xf)|eyj|gocspx-|npm_|ntn_|nrak-|p(?:ypi-|mak-|plx-|csk_|scale_tkn)|hf_|do[opr]_v1_"
    rb"|dapi[0-9a-f]|lin_api_|tacit_[0-9a-f]|gsk_|gls[a-z]_|b3blbnn|figd_|r8_|xai-|tskey-)"
)
# Some tokens count even as the tail of a longer word. A prefix with a dot ends a run: `_DOTTED` has it.
_TOKEN_INSIDE = re.compile("|".join(one.prefix for one in SHAPES if one.glued and "\\." not in one.prefix).encode())
# Some tokens are recognised by what precedes the run; the byte just before it says what to look for.
_DOTTED = (b"ya29.", b"sg.", b"hvs.", b"hvb.", b"hvr.", b"dp.pt.", b"dp.st.", b"dp.ct.", b"dp.sa.")
_DISCORD = re.compile(rb"\.[a-z0-9_\-]{6}\.\Z")
_WEBHOOK = re.compile(rb"(?:services|workflows|triggers)\\?/")
_DOT, _COLON, _SLASH, _BLANK, _PLUS, _EQUALS, _DASH = b".:/ +=-"
_JOINTS = frozenset(b".:/ +=")
_UUID = 36
_SCANS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"key(?: block)?-----",
        rb"\$(?:[1567y]|2[abxy]|argon2.{1,2}|scrypt|pbkdf2[a-z0-9\-]{0,10})\$",
        rb"identified by",
        rb":5432:",
        rb"authorization[\"'\\]{1,8},",
    )
)
_COMMAND_FLAG = re.compile(rb"-(?<=[\s\"n]-)(?:[upbaws]|-user|-proxy-user|-cookie|-pass)")
# Null, a container or a small number after a secret's name is no secret.
_NO_SECRET = r"(?![ \t]{0,4}(?:[\[{]|null\b|true\b|false\b|\d{1,5}[,\s}\]]))"
_NAMES = tuple(
    re.compile((anchor + TAIL + _NO_SECRET).encode())
    for anchor in (r"k(?:ey|(?<=tok)en|(?<=cook)ie|(?<=psk))", r"pass", r"pw", r"cr(?:ed|(?<=secr)et)", r"auth")
)
_NAME_BYTES = re.compile(rb"[A-Za-z0-9_.\-]{1,64}")
_NAME_CHARACTERS = _TOKEN_CHARACTERS + b"."
_TWO_WORDS = re.compile(TWO_WORDS.encode(), re.IGNORECASE)
# A login has no blank, quote or slash in it; a JSON document may write the slashes before it with escapes.
_LOGIN_URLS = (re.compile(rb"://[^\s/\"'<>`]{1,9216}@"), re.compile(rb":\\/\\/[^\s/\"'<>`]{1,9216}@"))


def may_hold_secret(text: str | bytes) -> bool:
    """Return False if `redact` would not change the text, or any string of the JSON document. A fast test."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    lowered = raw.lower()
    return (
        any(scan.search(lowered) for scan in _SCANS)
        or _has_token_run(raw, lowered)
        or any(_names_secret(raw, match) for pattern in _NAMES for match in pattern.finditer(lowered))
        or (b"@" in lowered and any(pattern.search(lowered) for pattern in _LOGIN_URLS))
        or (_COMMAND_FLAG.search(lowered) is not None and any(word in lowered for word in COMMAND_WORDS))
    )


def _has_token_run(raw: bytes, lowered: bytes) -> bool:
    runs = raw.translate(_TO_RUNS)
    start = runs.find(_RUN)
    harmless: set[bytes] = set()  # harmless runs: the same names repeat
    while start >= 0:
        end = runs.find(b" ", start)
        is_uuid = end - start == _UUID and lowered[start + 8] == lowered[start + 13] == lowered[start + 18] == _DASH
        run = raw[start : end if end >= 0 else None]
        if not is_uuid and run not in harmless:
            if _TOKEN_HEAD.match(lowered, start) or _TOKEN_INSIDE.search(run):
                return True
            harmless.add(run)
        if start and not is_uuid and lowered[start - 1] in _JOINTS and _is_introduced(lowered, start):
            return True
        start = runs.find(_RUN, end) if end >= 0 else -1
    return False


def _is_introduced(lowered: bytes, start: int) -> bool:
    joint = lowered[start - 1]
    if joint in (_BLANK, _PLUS):
        return lowered.endswith(b"bearer", max(0, start - 7), start - 1)
    if joint == _COLON:
        return lowered.startswith(b"aa", start) and lowered[max(0, start - 2) : start - 1].isdigit()
    if joint == _EQUALS:
        return lowered.endswith((b"sig=", b"signature="), max(0, start - 10), start)
    if joint == _DOT:
        before = lowered[max(0, start - 8) : start]
        return before.endswith(_DOTTED) or _DISCORD.search(before) is not None
    return joint == _SLASH and _WEBHOOK.search(lowered, max(0, start - 40), start) is not None


def _names_secret(raw: bytes, match: re.Match[bytes]) -> bool:
    before = raw[max(0, match.start() - 60) : match.start()]
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    right = _NAME_BYTES.match(raw, match.start())
    name = (left + (right.group() if right else b"")).decode("ascii")
    if before.endswith(b" ") and name.lower() == "key" and _TWO_WORDS.search(before[-TWO_WORDS_REACH:]):
        return True
    # After a written-out \n the n looks like part of the name; either reading may be the right one.
    return secret_name(name) is not None or (name[:1] in "bfnrt" and secret_name(name[1:]) is not None)


__all__ = ["Redacted", "RedactedValue", "may_hold_secret", "redact", "redact_value"]

_PLACEHOLDER = re.compile(r"<redacted:[a-z0-9-]{1,40}>")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_FILE = re.compile(r"[\w./@-]+\.[A-Za-z]{1,5}(?:::?\S*)?")
_NAME_MAX = 200
_HEADERS = frozenset({"credential", "cookie"})
_SHORTEST = 6
_ROUNDS_MAX = 12


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kind of each removed one, in any order."""

    text: str
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RedactedValue:
    """A JSON-like value without its secrets, and the kind of each removed one."""

    value: Any
    found: tuple[str, ...] = ()


def redact(text: str) -> Redacted:
    """Replace every secret in the text by a placeholder that names its kind."""
    if len(text) < _SHORTEST or not may_hold_secret(text):
        return Redacted(text)
    found: list[str] = []
    # A placeholder can reveal a neighbour, so repeat until nothing changes; a second call then changes nothing.
    for _ in range(_ROUNDS_MAX):
        # The capital dotted I is the only character whose lower case is longer, which would shift every position.
        lowered = text.replace("\u0130", "I").lower()
        found_here = chain(shaped_secrets(text), *(find(text, lowered) for find in FINDERS))
        spans = _free_of_placeholders(text, _disjoint(found_here))
        if not spans:
            break
        parts: list[str] = []
        rest = 0
        for start, end, kind in spans:
            parts += (text[rest:start], f"<redacted:{kind}>")
            rest = end
        text = "".join([*parts, text[rest:]])
        found.extend(span.kind for span in spans)
    return Redacted(text, tuple(found))


def redact_value(value: Any) -> RedactedValue:
    """Redact every string of a nested value; a key such as `password` marks its string as a secret.

    Callers with the raw JSON text save time by calling `may_hold_secret` on it first.
    """
    if not may_hold_secret(json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)):
        return RedactedValue(value)
    found: list[str] = []
    return RedactedValue(_walk(value, None, found=found), tuple(found))


def _disjoint(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Merge overlapping spans. The first finder names the kind: a vendor is more exact than `password`."""
    order = {span: rank for rank, span in reversed(list(enumerate(spans)))}
    joined: list[SecretSpan] = []
    for span in sorted(order):
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            kind = min(last, span, key=lambda one: order.get(one, len(order))).kind
            merged = SecretSpan(last.start, max(last.end, span.end), kind)
            order[merged] = min(order.get(last, len(order)), order[span])
            joined.append(merged)
        else:
            joined.append(span)
    return joined


def _free_of_placeholders(text: str, spans: list[SecretSpan]) -> list[SecretSpan]:
    if not spans or "<redacted:" not in text:
        return spans
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)]
    pieces: list[SecretSpan] = []
    for start, end, kind in spans:
        rest = start
        for low, high in taken:
            if rest < high and low < end:
                pieces.append(SecretSpan(rest, low, kind))
                rest = high
        pieces.append(SecretSpan(rest, end, kind))
    return [piece for piece in pieces if piece.start < piece.end]


@dataclass(frozen=True, slots=True)
class _Expectation:
    """What the position of a value suggests: the name of a secret, and how certain it is."""

    name: str
    secret: SecretName
    firm: bool = True


def _walk(value: Any, promise: _Expectation | None, *, found: list[str]) -> Any:
    if isinstance(value, str):
        return _string(value, promise, found=found)
    if isinstance(value, dict):
        # {"name": "DB_PASSWORD", "value": …} has the name next to the value, not in the key.
        label = next((value[key] for key in ("name", "key", "Name", "Key") if isinstance(value.get(key), str)), "")
        result: dict[Any, Any] = {}
        for key, item in value.items():
            clean = key
            if isinstance(key, str):
                name = redact(key).text
                fresh = chain([name], (f"{name}#{number}" for number in count(2)))
                clean = next(each for each in fresh if each not in result)
            result[clean] = _walk(item, _promise(label if key in ("value", "Value") else key), found=found)
        return result
    if isinstance(value, list | tuple):
        items = [_walk(item, _named_before(value, index) or promise, found=found) for index, item in enumerate(value)]
        return type(value)(items) if type(value) in (list, tuple) else items
    return value


def _string(text: str, promise: _Expectation | None, *, found: list[str]) -> str:
    result = redact(text)
    if promise is not None and not promise.firm and _FILE.fullmatch(text):
        promise = None  # ["auth", "tests/test_auth2.py"] are arguments of a command
    if not result.found and promise is not None and promise.secret.kind in _HEADERS:
        # `Basic …` is a login only after `Authorization:`.
        line = redact(f"{promise.name}: {text}")
        if line.text.startswith(f"{promise.name}: "):
            result = Redacted(line.text[len(promise.name) + 2 :], line.found)
    if result.found:
        found.extend(result.found)
        return result.text
    if promise is None or _PLACEHOLDER.search(text):
        return text
    if not convincing(text, any_word=promise.secret.any_word, firm=promise.firm):
        return text
    found.append(promise.secret.kind)
    return f"<redacted:{promise.secret.kind}>"


def _promise(name: Any, *, firm: bool = True) -> _Expectation | None:
    if not isinstance(name, str) or len(name) > _NAME_MAX or "<redacted:" in name:
        return None
    secret = secret_name(name)
    return None if secret is None else _Expectation(name, secret, firm)


def _named_before(items: list[Any] | tuple[Any, ...], index: int) -> _Expectation | None:
    """Return what the item before suggests: a flag, as in `["--password", …]`, or a name in pairs, as in `["X-Api-Key", …]`."""
    before = items[index - 1] if index else None
    if not isinstance(before, str):
        return None
    if _FLAG.fullmatch(before):
        return _promise(before)
    paired = index % 2 == 1 and len(items) % 2 == 0 and _NAME.fullmatch(before)
    return _promise(before, firm=False) if paired else None
