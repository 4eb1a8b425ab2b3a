"""Secrets recognised by their context: assignments, flags, headers, cookies, URLs, commands, credential files.

Text → spans of secrets. A name or command around a value suggests a secret, and `patterns.convincing` decides.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tacit.text.redaction.patterns import (
    SecretName,
    SecretSpan,
    convincing,
    fits_name,
    is_word_row,
    machine_made,
    password_shaped,
    secret_name,
)

LATIN = ("senha", "contrasena", "contraseña", "clave", "kennwort", "wachtwoord", "jelszo", "jelszó", "lozinka")
FOREIGN = ("пароль", "密码", "パスワード", "비밀번호", "hasło", "lösenord", "şifre")
KEYWORDS = ("pass", "pw", "psk", "secret", "token", "key", "auth", "cred", "cookie", *LATIN, *FOREIGN)
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_NAME_MAX = 60

_COLOUR = r"(?:\x1b|\\u001b|\\x1b|\\033)\[[\d;]{0,12}m"
_CLOSE = rf"(?:[\"'`\\\])*}}]|u00[0-9a-f]{{2}}|%22|{_COLOUR}){{0,8}}"
_ANNOTATION = r":[ ]?(?:&?str(?:ing)?|&'static str|bytes|optional\[str\]|str \| none|any|secretstr|final)[ ]{0,8}="
# Where only a comma or a blank joins name and value, a value without a digit is taken for a word.
_DIGIT_SOON = r"[^\s\"'`]{0,64}[0-9]"
_MARK_SOON = r"[^\s\"'`)]{1,64}[!#$%&*+@^~]"
_BREAK = r"(?:\\r|\r)?(?:\\n|\n)"
_OVER_LINES = re.compile(rf"\s*{_BREAK}\s*=")
_OPERATOR = (
    rf"(?:[ \t]|\\t){{0,16}}(?:{_ANNOTATION}|:=|=>|->|\?\?=?|\|\||:-|-(?=[ \t]{{1,4}}[\"'`])|\[[^\]\n'`]{{0,40}}\]:|[=!]==?|\?=|\+=|<<<|%3[da]"
    r"|[,;:]?(?:\\n|[\s\"'\\{]){1,24}(?:value|content|default)[\"'\\]{0,4}[ \t]{0,4}[:=]|[:=]"
    rf"|[,(|>?](?=[ \t]{{0,24}}[\"'`\\]{{0,8}}{_DIGIT_SOON})|\((?=[\"'`\\]{{1,8}}{_MARK_SOON})"
    rf"|{_BREAK}[ \t]{{0,16}}=(?!=)|</key>(?:\\n|\s){{0,16}}<string>)"
)
_LINKS = "is|was|to|are|will be|is now|set to|of|changed to|identified by|by|ist|lautet|est|es|és|är"
_PROSE_LINK = rf"(?:[ \t]|\\t){{1,16}}(?:(?:{_LINKS})[ \t:=]{{1,4}})?"
TAIL = rf"[a-z0-9_.\-]{{0,32}}{_CLOSE}(?:({_OPERATOR})|{_PROSE_LINK}(?=[\"'`\\]{{0,8}}{_DIGIT_SOON}))"
NAMED = tuple((keyword, re.compile(keyword + TAIL)) for keyword in KEYWORDS)

_PLAIN = r"[^\s\"'`<>\\&;,|%\x1b]"
_VALUE = re.compile(
    rf"""
    [ \t]{{0,16}} (?:[|>][-+]?[ \t]*\n[ \t]+|(?P<below>\n[ \t]*))? \*{{0,2}}[ \t]? (?:{_COLOUR})?
    (?:
      (?:[bruf@]{{0,2}}|(?:string::from|some|secretstr|secret|string|str|bytes|\[\]byte)\()
      (?P<quote>\\{{0,7}}(?:"|'|`)|%22)(?P<quoted>(?:(?!(?P=quote))(?:\\[^\n]|[^\n\\])){{1,2048}}?)(?:(?P=quote)|(?=\n)|\Z)
    | (?P<bare>(?:{_PLAIN}{{1,64}}+|%(?!26)|\\(?![nrt"'`\\])|(?<=\S)[<>](?!redacted:|/)
        |[&;,|](?!\s|\Z|["'`\\]|[\w.\ -]{{1,40}}[=:])){{1,6}})
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BARE_LONG = 64 * 6
_JUDGED = 120
_MORE = re.compile(rf"{_PLAIN}*+")
_TRAILING = ")]},;:."


def named_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield values assigned to the name of a secret, in any usual notation."""
    for keyword, pattern in NAMED:
        if keyword not in lowered:
            continue
        done = 0
        for match in _worth_judging(pattern.finditer(lowered)):
            if match.start() < done or text.startswith("<redacted:", match.end()):
                continue
            start, name = _whole_name(text, match)
            promise = secret_name(name)
            if name == "PASS" and match.group(1) == ":" and match.group().endswith((":", ": ")):
                continue  # a test's result: "PASS: linker/property-1"
            if promise is None or "<redacted:" in text[max(0, start - 10) : start]:
                continue
            span = _assigned(text, match, promise=promise, start=start)
            if span is not None:
                done = span.end
                yield span


_GLUED = 4
_GLUED_JUDGED = 16


def _worth_judging(matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Skip a long row of names without values between them: `pass:pass:pass:…`."""
    row = 0
    held: re.Match[str] | None = None
    for match in matches:
        row = row + 1 if held is not None and match.start() - held.end() < _GLUED else 0
        if held is not None and row <= _GLUED_JUDGED:
            yield held
        held = match
    if held is not None:
        yield held


TWO_WORDS = r"(?:api|access|secret|private|auth|license|the|my|our|this) $"
TWO_WORDS_REACH = 10
_AFTER_NAME = re.compile(r"[^\w.\-]")
_TWO_WORDS = re.compile(TWO_WORDS, re.IGNORECASE)


def _whole_name(text: str, match: re.Match[str]) -> tuple[int, str]:
    """Extend a keyword to the whole name: `secret` → `aws_secret_access_key`."""
    before = text[max(0, match.start() - _NAME_MAX) : match.start()]
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    right = text[match.start() : match.end()]
    name = _AFTER_NAME.split(right, maxsplit=1)[0]
    if left[:1] in ("n", "t", "r") and before[: len(before) - len(left)].endswith("\\"):
        left = left[1:]  # the n of a written-out \n is no part of the name
    if not left and name.lower() == "key" and _TWO_WORDS.search(before[-TWO_WORDS_REACH:]):
        name = "api key"
    if not left and name.lower() == "key" and before[-1:] in ("?", "&") and text.startswith("=", match.start() + 3):
        name = "api key"  # the parameter of an address
    return match.start() - len(left), left + name


def _assigned(text: str, match: re.Match[str], *, promise: SecretName, start: int) -> SecretSpan | None:
    value = _VALUE.match(text, match.end())
    if value is None or (promise.kind == "cookie" and "=" in value.group().rstrip("=\"'")):
        return None  # a whole Cookie header is judged pair by pair
    begin, end = _extent(text, value)
    body = text[begin:end]
    if not body or body[0] in ",)+;]} " or body == text[start : match.end()].strip(" \t=:").rpartition(".")[2]:
        return None  # the quote closed the name's own string, as in print("password:", password)
    operator = match.group(1)
    flag = text.startswith("-", start)
    quoted = value.group("quoted") is not None
    mark = (operator or "").strip()
    if value.group("below") is not None or _OVER_LINES.fullmatch(operator or ""):
        fits = mark[-1:] in (":", "=") and password_shaped(body) and text[end : end + 1] in ("", "\n", "\r")
        fits = fits or (quoted and mark == ":" and match.group()[0] != mark and '"' in match.group())
    elif operator is None:  # only a blank between them, as in `password is …` and in .netrc
        before = text[max(0, match.start() - 300) : match.start()]
        linked = _LINK_WORD.search(match.group()) or _LOGIN_BEFORE.search(before)
        is_variable = quoted and (text[start : match.end()].strip().isupper() or text[start - 1 : start] == ":")
        linked = linked or _KEY_VALUE_TABLE.search(before)
        fits = flag or bool(linked) or is_variable or password_shaped(body) or (promise.any_word and is_word_row(body))
    elif mark == ">":  # <password>x</password>
        fits = text.startswith("</", value.end())
    elif mark == "|":  # | password | x |, or a table without lines at its edges
        after = text[value.end() : value.end() + 16].lstrip(" `*")
        fits = after.startswith("|") or (after[:1] in ("", "\n") and (password_shaped(body) or is_word_row(body)))
    else:  # ("password", "x")
        fits = quoted or mark not in _LOOSE or (mark == "?" and password_shaped(body))
    # `NAME=` in capitals without blanks: a shell or .env assignment, where every word is a value.
    stem, separator, _ = text[start : match.end()].partition("=")
    is_environment = bool(separator) and stem.isupper() and stem == stem.strip()
    firm = quoted or is_environment or (flag and "=" in mark)
    if not fits or not fits_name(body[:_JUDGED], promise, firm=firm and mark not in _LOOSE):
        return None
    if not quoted and end - begin >= _BARE_LONG:
        end = max(end, more.end() if (more := _MORE.match(text, end)) else end)
    return SecretSpan(begin, end, promise.kind)


def _extent(text: str, value: re.Match[str]) -> tuple[int, int]:
    """Return the span of the value, without quotes and surrounding code."""
    begin, end = value.span("bare" if value.group("quoted") is None else "quoted")
    while value.group("quoted") is None and end > begin and text[end - 1] in _TRAILING:
        # A closing bracket belongs to the code around a bare value unless the value opened it.
        opener = {")": "(", "]": "[", "}": "{"}.get(text[end - 1])
        if opener and opener in text[begin:end]:
            break
        end -= 1
    return begin, end


_LINK_WORD = re.compile(rf"[ \t](?:{_LINKS})[ \t:=]+$", re.IGNORECASE)
_LOGIN_BEFORE = re.compile(
    r"(?:\blogin|\buser|\bmachine|\baccount)[ \t\n]+\S{1,120}[ \t\n]+(?:login[ \t]+\S{1,120}[ \t\n]+)?$"
)
_KEY_VALUE_TABLE = re.compile(r"\bkey[ \t]+value[ \t]*\n[-= \t]+\n(?:[^\n]{0,120}\n){0,8}\Z", re.IGNORECASE)
_LOOSE = frozenset({",", "(", "|", ">", "?"})


_URL_LOGIN = re.compile(
    r"://([^\s/:@?#\"'<>`\\]{0,256}):([^\s/\"'<>`\\]{1,512})@(?=[\w\[$%{.-])|://([^\s/:@?#\"'<>`\\]{20,512})@(?=[\w\[-])"
)
_LITERAL_LOGIN = frozenset("password pass passwd pwd pw secret token port repo x xxx".split())


def url_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the password of `scheme://user:password@host`, or a long token in place of the user."""
    if "@" not in lowered or "://" not in lowered:
        return
    for match in _URL_LOGIN.finditer(text):
        if match.group(3):
            if machine_made(match.group(3)):
                yield SecretSpan(*match.span(3), "url-credential")
        elif match.group(2).lower() not in {*_LITERAL_LOGIN, match.group(1).lower()} and not _is_reference(
            match.group(2)
        ):
            yield SecretSpan(*match.span(2), "password")


_REFERENCE = re.compile(r"[$%{*]\(?\{?\w*|\w*\(|\*+$|<|\.{3}|x{3,}$")


def _is_reference(value: str) -> bool:
    match = _REFERENCE.match(value)
    return match is not None and (value[0] in "$%{<." or match.end() == len(value) or "(" in value)


_SCHEME = re.compile(
    r"(?:authorization[\"'\\\]]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\"'\\\[]{0,4}([a-z][a-z0-9\-]{1,20})|\b(bearer))"
    r"(?:[ \t]{1,4}|%20|\+)[\"'\\]{0,4}",
)
_BARE_BEARER = 20
_CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/=\-:%]{8,8192}")


def header_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield what follows an authorization scheme: `Bearer …`, `Basic …`, `Authorization: token …`."""
    if not any(word in lowered for word in ("authorization", "bearer")):
        return
    for match in _SCHEME.finditer(lowered):
        value = _CREDENTIAL.match(text, match.end())
        if value is None:
            continue
        body = value.group().rstrip(".:")
        scheme = match.group(1) or match.group(2)
        if match.group(2) and len(body) < _BARE_BEARER:
            continue
        is_secret = scheme != "basic" and machine_made(body)
        if scheme == "basic":  # base64 of `user:password`
            with suppress(ValueError):
                is_secret = b":" in base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
        if is_secret:
            yield SecretSpan(value.start(), value.start() + len(body), "authorization")


_COOKIES = re.compile(
    r"(?:cookie2?[\"'\\\]]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}|(?:--cookie|\s-b)[ \t=]{1,4})[\"'\\]{0,4}"
    r"((?:[\w.!%\-]{1,80}=[^\s;\"'\\,]{0,4096}[; \t]{0,4}){1,60})"
)
_PAIR = re.compile(r"([\w.!%\-]+)=([^\s;\"'\\,]{8,4096})")
_ATTRIBUTES = frozenset("path domain expires max-age samesite version".split())


def cookie_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield session values in Cookie and Set-Cookie headers and in curl's cookie flags."""
    if "cookie" not in lowered and ("curl" not in lowered or " -b" not in lowered):
        return
    for header in _COOKIES.finditer(lowered):
        for pair in _PAIR.finditer(text, *header.span(1)):
            if pair.group(1).lower() not in _ATTRIBUTES and machine_made(pair.group(2)):
                yield SecretSpan(*pair.span(2), "cookie")


_MARKS = {"{q}": r"[\"'\\]{0,4}", "{v}": r"([^\s\"'\\]{4,256})", "{w}": r"([^\s\"'\\]{6,256})"}


@dataclass(frozen=True, slots=True)
class CommandForm:
    """Where a command, statement or document holds a secret: a row of `commands.txt`."""

    gate: str
    literal: str
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern for text in lower case; its group is the secret, without a group the secret is the next line."""
        return _compiled(self.source)


@cache
def command_forms() -> tuple[CommandForm, ...]:
    """Return the rows of `commands.txt`."""
    rows = (Path(__file__).parent / "commands.txt").read_text(encoding="ascii").splitlines()
    return tuple(CommandForm(*row.split("\t")) for row in rows if row and row[0] != "#")


@lru_cache(maxsize=256)
def _compiled(source: str) -> re.Pattern[str]:
    for mark, meaning in _MARKS.items():
        source = source.replace(mark, meaning)
    return re.compile(source)


_NEXT_LINE = re.compile(
    r"[^\n\\]{0,80}(?:\\r|\r)?(?:\\n|\n)(?:\\n|\s){0,4}[\"']?([^\s\"'\\]{8,8192})(?=\s|\\[rn]|[\"']|\Z)"
)
# Looked for from the flag backwards: from each of many `curl` forwards would read the same line again and again.
_CURL_LOGIN = re.compile(
    r"(?<=\s)(?:-u|--user|--proxy-user)[ \t=]{0,4}[\"'\\]{0,4}[^\s:\"'\\]{1,128}:[\"'\\]{0,4}([^\s\"'\\]{4,256})"
)
_CURL = re.compile(r"\bcurl\b(?:[^\n]|\\\n)*\Z")
_CURL_REACH = 600


def command_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield passwords in flags of known commands, in SQL, in calls and documents, and in what a command printed."""
    for match in _CURL_LOGIN.finditer(lowered) if "curl" in lowered else ():
        if _CURL.search(lowered, max(0, match.start() - _CURL_REACH), match.start()):
            yield from _unless_reference(text, match.span(1))
    for form in command_forms():
        for match in form.pattern.finditer(lowered) if form.literal in lowered else ():
            if match.re.groups:
                if (
                    "{w}" not in form.source
                    or password_shaped(match_text := text[slice(*match.span(1))])
                    or is_word_row(match_text)
                ):
                    yield from _unless_reference(text, match.span(1))
            elif (printed := _NEXT_LINE.match(text, match.end())) and convincing(
                printed.group(1)[:_JUDGED], any_word=True, firm=False
            ):
                yield SecretSpan(*printed.span(1), "password")


def prints_secret(line: str) -> bool:
    """Whether a line in lower case is a command that prints a secret and nothing else."""
    forms = (form for form in command_forms() if form.literal in line)
    return any(not form.pattern.groups and form.pattern.search(line) is not None for form in forms)


def _unless_reference(text: str, span: tuple[int, int]) -> Iterator[SecretSpan]:
    value = text[slice(*span)]
    if not _is_reference(value) and value.lower().rstrip("0123456789") not in _LITERAL_LOGIN:
        yield SecretSpan(*span, "password")


_COLUMN = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_ ]?key|access[_ ]?key)s?[\"'`*]{0,4}[ \t]{0,40}(?:[,;|\t\n]|  |\Z)"
)
_HEADER_LINE = re.compile(r"[|\s]*[\w .\-\"'`*]{1,60}(?:[|,;\t][\w .\-\"'`*]{1,60}){1,30}[|\s]*")
_CELLS = {mark: re.compile(rf"[^{mark}\n]{{0,4096}}") for mark in "|,;\t"}
_RULE = re.compile(r"[\s|+:=\-]*")
_HEADER_LONGEST, _ROWS_MAX = 600, 500


def is_table_header(line: str) -> bool:
    """Whether a line has only short names with the same mark between them."""
    return len(line) <= _HEADER_LONGEST and _HEADER_LINE.fullmatch(line) is not None


def table_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the cells below a column's title that names a secret: Markdown, CSV, tables of databases."""
    done = 0
    for match in _COLUMN.finditer(lowered):
        start = text.rfind("\n", max(0, match.start() - _HEADER_LONGEST), match.start()) + 1
        end = text.find("\n", match.start(), match.start() + _HEADER_LONGEST)
        if match.start() < done or end < 0 or not is_table_header(text[start:end]):
            continue
        header = text[start:end]
        mark = max("|,;\t", key=header.count)
        promises = [secret_name(cell.strip(" \t\"'`*")) for cell in header.split(mark)]
        for _ in range(_ROWS_MAX):
            begin, end = end + 1, text.find("\n", end + 1)
            end = len(text) if end < 0 else end
            row = text[begin:end]
            if not row.strip() or (row.count(mark) != header.count(mark) and not _RULE.fullmatch(row)):
                break
            yield from _cells(row, begin, mark, promises)
            if end == len(text):
                break
        done = end


def _cells(row: str, begin: int, mark: str, promises: list[SecretName | None]) -> Iterator[SecretSpan]:
    for cell, promise in zip(row.split(mark), promises, strict=False):
        value = cell.strip(" \t\r\"'`*")
        if promise and value and fits_name(value[:_JUDGED], promise, firm=False):
            at = begin + cell.index(value)
            yield SecretSpan(at, at + len(value), promise.kind)
        begin += len(cell) + 1


_MANIFEST = re.compile(r"^[ \t-]*kind:[ \t]*[\"']?secret\b[\"']?[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"([ \t]*)(?:- )?[\"']?([\w.\-]{1,128})[\"']?:[ \t]*([|>][-+\d]*|[^\n#]*?)[ \t]*(?:#.*)?")
_DATA = frozenset({"data", "stringdata"})


def manifest_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield every value under `data` and `stringData` of a Kubernetes secret in YAML."""
    done = 0
    for match in _MANIFEST.finditer(lowered) if "secret" in lowered else ():
        if match.start() < done:
            continue
        start = max(done, lowered.rfind("\n---", done, match.start()) + 1)
        end = lowered.find("\n---", match.end())
        done = end = len(text) if end < 0 else end
        block = -1  # the indentation of `data:`
        for line in text[start:end].splitlines(keepends=True):
            field = _FIELD.fullmatch(line.rstrip("\r\n"))
            indent = len(line) - len(line.lstrip(" \t"))
            if line.strip() and indent <= block:
                block = -1
            if block < 0:
                block = indent if field and field.group(2).lower() in _DATA and not field.group(3) else -1
            else:
                value = (field.group(3) if field else line).strip(" \t\r\n\"'")
                if len(value) >= _MANIFEST_SHORTEST and "<redacted:" not in value and not _is_reference(value):
                    at = start + line.rindex(value)
                    yield SecretSpan(at, at + len(value), "secret")
            start += len(line)


_MANIFEST_SHORTEST = 4
_JSON_MARKS = ("sensitive", "securestring", "random_", '"secret"')
_JSON_START = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_JSON_TRIES, _MISSING_MAX = 8, 50
EVERYTHING = SecretName("secret", any_word=True)
"""What a field promises of which all that is below it is secret."""


def promised_fields(value: dict[Any, Any]) -> dict[Any, SecretName]:
    """Return the fields of an object that other fields call secret: Kubernetes, Terraform, parameter stores, JSON web keys."""
    promised = dict.fromkeys(("data", "stringData"), EVERYTHING) if value.get("kind") == "Secret" else {}
    if value.get("sensitive") is True or value.get("Type") == "SecureString":
        promised |= dict.fromkeys(("value", "Value"), EVERYTHING)
    if str(value.get("type")).startswith(("random_password", "random_bytes")):
        promised["instances"] = EVERYTHING
    if value.get("kty") in ("RSA", "EC", "OKP", "oct"):
        promised |= dict.fromkeys(("d", "p", "q", "dp", "dq", "qi", "k"), SecretName("private-key", any_word=False))
    return {key: secret for key, secret in promised.items() if key in value}


def document_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield strings of JSON documents within the text that a neighbouring field calls secret."""
    if not any(mark in lowered for mark in _JSON_MARKS):
        return
    done = 0
    for tried, match in enumerate(_JSON_START.finditer(text)):
        if tried == _JSON_TRIES:
            return
        if match.start() < done:
            continue
        with suppress(ValueError, RecursionError):
            value, done = json.JSONDecoder().raw_decode(text, match.end() - 1)
            yield from _written_strings(text, _promised_strings(value, None), match.start(), done)


def _written_strings(text: str, secrets: Iterator[str], at: int, end: int) -> Iterator[SecretSpan]:
    """Find strings of a document in their order; one that is written with escapes is not found, and few may be so."""
    missing = 0
    for secret in secrets:
        written = json.dumps(secret, ensure_ascii=False)
        found = text.find(written, at, end)
        if found >= 0 and "<redacted:" not in secret:
            yield SecretSpan(found + 1, found + len(written) - 1, "secret")
        at = found + len(written) if found >= 0 else at
        missing += found < 0
        if missing > _MISSING_MAX:
            return


def _promised_strings(value: Any, promise: SecretName | None) -> Iterator[str]:
    if isinstance(value, dict):
        promised = promised_fields(value)
        for key, item in value.items():
            yield from _promised_strings(item, promised.get(key, promise))
    elif isinstance(value, list):
        for item in value:
            yield from _promised_strings(item, promise)
    elif isinstance(value, str) and promise and fits_name(value, promise, firm=True):
        yield value


_SENTENCE_WORDS = (
    *LATIN,
    *FOREIGN,
    "passwort",
    "mot de passe",
    "passord",
    "adgangskode",
    "heslo",
    "salasana",
    "parola",
)
_SENTENCE = re.compile(
    rf"(?:{'|'.join(map(re.escape, _SENTENCE_WORDS))})[^\n=]{{0,60}}?(?<![!-~])(?=[!-~]{{0,64}}\d)([!-~]{{6,128}})"
)


def sentence_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the password that a sentence in another language names: its first word with letters and a digit."""
    if not any(word in lowered for word in _SENTENCE_WORDS):
        return
    for match in _SENTENCE.finditer(lowered):
        value = text[slice(*match.span(1))].strip("\"'`()[]{},;:.!?")
        is_plain = not any(mark in value for mark in "/<>={}")
        if len(value) >= 6 and is_plain and not value.isdigit() and convincing(value, any_word=True, firm=False):
            at = match.start(1) + text[slice(*match.span(1))].index(value)
            yield SecretSpan(at, at + len(value), "password")


Finder = Callable[[str, str], Iterator[SecretSpan]]
FINDERS: tuple[Finder, ...] = (
    url_secrets,
    named_secrets,
    header_secrets,
    cookie_secrets,
    command_secrets,
    sentence_secrets,
    table_secrets,
    manifest_secrets,
    document_secrets,
)
