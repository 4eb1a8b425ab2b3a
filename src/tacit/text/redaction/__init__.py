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
from functools import cache
from itertools import chain, count
from string import ascii_letters, digits
from typing import Any

from tacit.text.redaction.contexts import (
    EVERYTHING,
    FINDERS,
    FOREIGN,
    TAIL,
    TWO_WORDS,
    TWO_WORDS_REACH,
    command_forms,
    is_table_header,
    prints_secret,
    promised_fields,
)
from tacit.text.redaction.patterns import (
    ANY_KEY,
    SecretName,
    SecretSpan,
    fits_name,
    machine_made,
    secret_name,
    shaped_secrets,
    token_shapes,
)

# Machine-made tokens are long runs of letters and digits, which ordinary text has few of. Mapping the text to runs of
# one letter lets a single literal search find them all; an alternation of forty prefixes is fifteen times slower.
_TOKEN_CHARACTERS = (ascii_letters + digits + "_-").encode()
_TO_RUNS = bytes(ord("a") if byte in _TOKEN_CHARACTERS else ord(" ") for byte in range(256))
_RUN = b"a" * 20
# Tokens without a prefix that fill a run, or begin or end it.
_ODD_RUN = re.compile(
    rb"\d{15,19}-[a-z0-9]{40}\Z|0-[0-9a-f]{24}-|[5kl][1-9a-z]{50,51}\Z|ac[0-9a-f]{32}\Z|00[\w\-]{40}\Z|[0-9a-f]{32}-(?:us\d|[0-9a-f]{8}-)|[a-z0-9]{6}_[a-z0-9]{29}_mmk"
    rb"|(?:[a-z0-9]{6})?[0-9a-f]{30,40}(?:ffff)?nral|(?:aa|eu01xx)[0-9a-f]{36,40}-nrma|[a-z0-9]{76}azdo|a{20}"
    rb"|(?:[bfnrt]|u[0-9a-f]{4}|\d{1,3}m|[0-9a-f]{2})?sk[0-9a-f]{32}"
)
# Some tokens are recognised by what precedes the run; the byte just before it says what to look for.
_INTRODUCTION = re.compile(
    rb"(?:bearer[ +]|\d:(?=aa)|[/\d]\d{9,20}:|-[0-9a-f]{12}:|\dq~|\bdp\.[a-z]{2,5}\.[\w\-]{2,35}\.|\d[|]|\bpat[a-z0-9]{14}\.|\.atlasv1\.|\.[a-z0-9_\-]{6}\.|sig(?:nature)?=)"
)
_JOINTS = frozenset(b".:/ +=|~$!")
_HOOK = re.compile(rb"hook(?:s?[./](?:slack|zapier|office|us|eu|make)|s?\\?/|b2)")
_DASH, _EQUALS = b"-="
_FERNET = 43
_INTRODUCED = 48
_COMMAND_REACH = 620
_SEPARATOR = re.compile(rb"[\-_]")
# What may be glued before a token: the rest of an escape (\\n, \\u2019), a colour code's end, %3D.
_GLUE = rb"[bfnrt]|u[0-9a-f]{4}|\d{1,3}m|[0-9a-fA-F]{2}"
_UUID = 36
_SCANS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"key(?: block)?-----",
        rb"\$(?:[1567y]|2[abxy]|argon2.{1,2}|scrypt|pbkdf2[a-z0-9\-]{0,10})\$",
        rb"identified by",
        rb":5432:",
        rb"authorization[\"'\\]{1,8}(?:,|:[ \t]{0,4}\[)",
        rb"kind[\"'\\]{0,4}[ \t]{0,4}:[ \t]{0,4}[\"'\\]{0,4}secret\b",
    )
)
_LITERALS = (
    b"fm2_",
    b"securestring",
    b"op://",
    b"rand -",
    b"net use",
    b"\\tfalse\\t",
    b"senha",
    b"contrase",
    b"mot de passe",
)
_SENSITIVE = re.compile(rb"sensitive[\"'\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}true")
_COMMAND_FLAG = re.compile(rb"-(?<=[\s\"n]-)(?:[upbawsxkrn]|-user|-proxy-user|-cookie|-pass)")
# Null, a container or a small number after a secret's name is no secret.
_NO_SECRET = r"(?![ \t]{0,4}(?:[\[{]|null\b|true\b|false\b|\d{1,5}[,\s}\]]))"
# In the head of a table a name is followed by the mark between columns, or the line ends.
_TITLE_END = r"[a-z0-9_ ]{0,12}[\"'`*\\]{0,4}[ \t]{0,40}(?:[,|\t\r\n]|\\[nrt])"
_LONG_VALUE = re.compile(rb"[\s\"'`\\n]{0,24}[\w\-]{20}")
_LINE_ENDS = re.compile(rb"\\n|\n")
_ANCHORS = {
    r"k(?:ey|(?<=tok)en|(?<=cook)ie|(?<=psk))": ("key", "token"),
    r"pass": ("pass",),
    r"pw": ("pw",),
    r"cr(?:ed|(?<=secr)et)": ("cred", "secret"),
    r"auth": ("auth",),
}
_FOREIGN_BYTES = tuple(word.encode() for word in FOREIGN)
_FOREIGN_ESCAPED = re.compile(
    rb"\\u(?:"
    + b"|".join(word.encode("ascii", "backslashreplace")[2:].replace(b"\\", rb"\\") for word in FOREIGN)
    + b")"
)
_PRINTS = re.compile(rb"(?:printenv|echo|cat|config:[gs]et|output -raw|<<<|expect |form-data)|fernet\(")
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
        or any(literal in lowered for literal in _literals("scan"))
        or (b"passw" in lowered and any(literal in lowered for literal in _literals("page")))
        or (b"sensitive" in lowered and _SENSITIVE.search(lowered) is not None)
        or (not lowered.isascii() and any(word in lowered for word in _FOREIGN_BYTES))
        or _FOREIGN_ESCAPED.search(lowered) is not None
        or (b"hook" in lowered and _HOOK.search(lowered) is not None)
        or _has_token_run(raw, lowered)
        or any(_names_secret(raw, match) for pattern in _names() for match in pattern.finditer(lowered))
        or (b"@" in lowered and any(pattern.search(lowered) for pattern in _LOGIN_URLS))
        or _RARE.search(lowered) is not None
        or any(_follows_command(lowered, match.start()) for match in _COMMAND_FLAG.finditer(lowered))
    )


@cache
def _names() -> tuple[re.Pattern[bytes], ...]:
    """Return the patterns for names before a value, for titles of columns, and for words of `commands.txt` with a name in them."""
    literals = [form.literal for form in command_forms() if form.gate in ("word", "next")]
    literals += ["random_password", "access_token$", "/with/key/", "/apikeys/", "messages?key="]
    patterns = []
    for anchor, words in _ANCHORS.items():
        ends = [(one, one.index(word) + len(word)) for word in words for one in literals if word in one]
        commands = "|".join(f"(?<={re.escape(one[:at])}){re.escape(one[at:])}" for one, at in ends) or "(?!)"
        tail = f"(?P<command>{commands})|{TAIL}{_NO_SECRET}|(?P<title>{_TITLE_END})"
        patterns.append(re.compile(f"{anchor}(?:{tail})".encode()))
    return tuple(patterns)


def _follows_command(lowered: bytes, flag: int) -> bool:
    window = lowered[max(0, flag - _COMMAND_REACH) : flag]
    return any(word in window for word in _flag_words())


@cache
def _literals(gate: str) -> tuple[bytes, ...]:
    own = {form.literal.encode() for form in command_forms() if form.gate == gate}
    return (*own, *(_LITERALS if gate == "scan" else ()))


@cache
def _flag_words() -> tuple[bytes, ...]:
    return (b"curl", *{form.literal.encode() for form in command_forms() if form.gate == "flag"})


# Words of `commands.txt` and of other languages, at letters that are rare: each place of one costs a little.
_RARE = re.compile(
    rb"q(?:lplus|ladmin|ctl add)|k(?:v put|(?<=mask)::|ty[\"'\\]|ennwort)|w(?:andb login|hoami -t|mtkn-1|achtwoord|(?<=-w)ith-dec)"
    rb"|v(?:ault (?:enc|kv |read|login)|ariable \\{0,3}\"[\w\-]{0,40}(?:pass|secret|token|key)|(?<=clav)e|(?<=-rev)eal|(?<=conv)ertto-s)|j(?:elsz|dbc:oracle)|x(?:oxe\.|(?<=-hex) \d)|z(?:(?<=loz)inka|(?<=az)fu)"
    rb"|\((?:(?<=login.)|(?<=client.)|(?<=connection.))|<(?<=<<<) |[*](?<=:[*]):|[+]acr|\t(?<=\tfalse\t)"
)


@dataclass(frozen=True, slots=True)
class _Heads:
    """How runs with a known token begin, the prefixes that count anywhere in a run, and what stands before a run."""

    start: re.Pattern[bytes]
    inside: re.Pattern[bytes]
    dashed: dict[bytes, tuple[bytes, ...]]
    before: tuple[bytes, ...]


_KEPT = 3  # the bytes by which a prefix that ends with a dash is looked up


@cache
def _heads() -> _Heads:
    shapes = token_shapes()
    prefixes = sorted({prefix.encode() for shape in shapes for prefix in shape.prefixes})
    in_runs = [prefix for prefix in prefixes if prefix[-1] in _TOKEN_CHARACTERS and len(prefix) >= _KEPT]
    glued = {prefix.encode() for shape in shapes if shape.glued != "x" for prefix in shape.prefixes}
    by_first: dict[bytes, list[bytes]] = {}
    for prefix in in_runs:
        by_first.setdefault(prefix[:1], []).append(re.escape(prefix[1:]))
    trees = b"|".join(re.escape(first) + b"(?:" + b"|".join(rest) + b")" for first, rest in by_first.items())
    anywhere = [prefix for prefix in in_runs if prefix in glued]
    ends = sorted({prefix[-_KEPT:] for prefix in anywhere if prefix[-1:] in (b"-", b"_")})
    return _Heads(
        start=re.compile(b"(?:" + _GLUE + b")?(?:" + trees + b")"),
        inside=re.compile(b"|".join(re.escape(prefix) for prefix in anywhere if prefix[-1:].isalnum())),
        dashed={end: tuple(prefix for prefix in anywhere if prefix.endswith(end)) for end in ends},
        before=tuple(prefix.lower() for prefix in prefixes if prefix[-1] not in _TOKEN_CHARACTERS),
    )


def _has_token_run(raw: bytes, lowered: bytes) -> bool:
    runs = raw.translate(_TO_RUNS)
    start = runs.find(_RUN)
    if start < 0:
        return False
    known = _heads()
    harmless: set[bytes] = set()  # harmless runs: the same names repeat
    while start >= 0:
        end = runs.find(b" ", start)
        is_uuid = end - start == _UUID and lowered[start + 8] == lowered[start + 13] == lowered[start + 18] == _DASH
        run = raw[start : end if end >= 0 else None]
        if not is_uuid and run not in harmless:
            if _begins_token(run, lowered[start : start + len(run)], known):
                return True
            harmless.add(run)
        if end - start == _FERNET and lowered[end] == _EQUALS and b"fernet(" in lowered[max(0, start - 12) : start]:
            return True
        if start and not is_uuid and lowered[start - 1] in _JOINTS:
            before = lowered[max(0, start - _INTRODUCED) : start + 2]
            if before[:-2].endswith(known.before) or any(
                match.end() == len(before) - 2 for match in _INTRODUCTION.finditer(before)
            ):
                return True
        start = runs.find(_RUN, end) if end >= 0 else -1
    return False


def _begins_token(run: bytes, lowered: bytes, known: _Heads) -> bool:
    if known.start.match(run) or _ODD_RUN.match(lowered) or known.inside.search(run):
        return True
    for match in _SEPARATOR.finditer(run):
        at = match.end()
        if (prefixes := known.dashed.get(run[max(0, at - _KEPT) : at])) and run.endswith(prefixes, 0, at):
            return True
    return False


def _names_secret(raw: bytes, match: re.Match[bytes]) -> bool:
    if match["command"] is not None:
        return True
    before = raw[max(0, match.start() - 60) : match.start()]
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    right = _NAME_BYTES.match(raw, match.start())
    name = (left + (right.group() if right else b"")).decode("ascii")
    if before.endswith(b" ") and name.lower() == "key" and _TWO_WORDS.search(before[-TWO_WORDS_REACH:]):
        return True
    # After a written-out \n the n looks like part of the name; either reading may be the right one.
    readings = (secret_name(name), secret_name(name[1:]) if name[:1] in "bfnrt" else None)
    if not any(one and (one.kind != ANY_KEY or _LONG_VALUE.match(raw, match.end())) for one in readings):
        return False
    return match["title"] is None or _is_in_header(raw, match)


def _is_in_header(raw: bytes, match: re.Match[bytes]) -> bool:
    """Whether a name without a value stands in the head of a table, or in a command that prints its value."""
    before = _LINE_ENDS.split(raw[max(0, match.start() - 600) : match.start()])[-1]
    after = _LINE_ENDS.split(raw[match.start() : match.end() + 600])[0]
    if _PRINTS.search(before.lower()):
        return True
    line = (before.rpartition(b': "')[2] + after).replace(b"\\t", b"\t").replace(b"\\", b"").decode("utf-8", "replace")
    return is_table_header(line)


__all__ = ["Redacted", "RedactedValue", "may_hold_secret", "redact", "redact_output", "redact_value"]

_PLACEHOLDER = re.compile(r"<redacted:[a-z0-9-]{1,40}>")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_FILE = re.compile(r"[\w./@-]+\.[A-Za-z]{1,5}(?:::?\S*)?")
_NAME_MAX = 200
_HEADERS = frozenset({"credential", "cookie"})
_SHORTEST = 6
_DOCUMENTED = "EXAMPLE"  # vendors' documents mark their sample credentials so: AKIAIOSFODNN7EXAMPLE
_ROUNDS_MAX = 12
_PRINTED_LONGEST = 10_000
_REPEATS_MAX, _REPEATED_SHORTEST, _REPEATED_LONGEST = 64, 12, 4096


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
        real = (span for span in found_here if _DOCUMENTED not in text[span.start : span.end])
        spans = _free_of_placeholders(text, _disjoint(real))
        if not spans:
            break
        spans = _with_repeats(text, spans)
        parts: list[str] = []
        rest = 0
        for start, end, kind in spans:
            parts += (text[rest:start], f"<redacted:{kind}>")
            rest = end
        text = "".join([*parts, text[rest:]])
        found.extend(span.kind for span in spans)
    return Redacted(text, tuple(found))


def redact_output(command: str, output: str) -> Redacted:
    """Redact what a command such as `op read` printed with nothing around it. The output of other commands stays."""
    line = command.strip().rpartition("\n")[2]
    if len(output) > _PRINTED_LONGEST or not prints_secret(f"{line}\n".lower()):
        return Redacted(output)
    result = redact(f"{line}\n{output}")
    printed = result.found and result.text.startswith(f"{line}\n")
    return Redacted(result.text[len(line) + 1 :], result.found) if printed else Redacted(output)


def redact_value(value: Any) -> RedactedValue:
    """Redact every string of a nested value; a key such as `password` marks its string as a secret.

    Callers with the raw JSON text save time by calling `may_hold_secret` on it first.
    """
    if not may_hold_secret(json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)):
        return RedactedValue(value)
    found: list[str] = []
    return RedactedValue(_walk(value, None, found=found), tuple(found))


def _with_repeats(text: str, spans: list[SecretSpan]) -> list[SecretSpan]:
    """Add the other places of the secrets that were found; only what is long and random is looked for."""
    again: list[SecretSpan] = []
    for value, kind in {text[start:end]: kind for start, end, kind in spans[:_REPEATS_MAX]}.items():
        if _REPEATED_SHORTEST <= len(value) <= _REPEATED_LONGEST and machine_made(value) and text.count(value) > 1:
            again += (SecretSpan(*match.span(), kind) for match in re.finditer(re.escape(value), text))
    return _free_of_placeholders(text, _disjoint([*spans, *again])) if again else spans


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
        promised = promised_fields(value)
        inherited = promise if promise is not None and promise.secret is EVERYTHING else None
        result: dict[Any, Any] = {}
        for key, item in value.items():
            clean = key
            if isinstance(key, str):
                name = redact(key).text
                fresh = chain([name], (f"{name}#{number}" for number in count(2)))
                clean = next(each for each in fresh if each not in result)
            named = _promise(label if key in ("value", "Value") else key)
            expected = _Expectation(str(key), promised[key]) if key in promised else inherited
            result[clean] = _walk(item, expected or named, found=found)
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
    if not fits_name(text, promise.secret, firm=promise.firm):
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
