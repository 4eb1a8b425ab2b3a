"""Secrets recognised by their context: assignments, flags, headers, cookies, URLs, commands, credential files.

Text → spans of secrets. A name or command around a value suggests a secret, and `patterns.convincing` decides.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from tacit.text.redaction.patterns import (
    SecretName,
    SecretSpan,
    convincing,
    machine_made,
    password_shaped,
    secret_name,
)

KEYWORDS = ("pass", "pw", "psk", "secret", "token", "key", "auth", "cred", "cookie")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_NAME_MAX = 60

_CLOSE = r"(?:[\"'`\\\])*}]|u00[0-9a-f]{2}){0,8}"
_ANNOTATION = r":[ ]?(?:&?str(?:ing)?|&'static str|bytes|optional\[str\]|str \| none|any|secretstr|final)[ ]{0,8}="
# Where only a comma or a blank joins name and value, a value without a digit is taken for a word.
_DIGIT_SOON = r"[^\s\"'`]{0,64}[0-9]"
_BREAK = r"(?:\\r|\r)?(?:\\n|\n)"
_OVER_LINES = re.compile(rf"\s*{_BREAK}\s*=")
_OPERATOR = (
    rf"(?:[ \t]|\\t){{0,16}}(?:{_ANNOTATION}|:=|=>|->|[=!]==?|\?=|\+=|<<<|%3[da]"
    r"|[,;:]?(?:\\n|[\s\"'\\{]){1,24}(?:value|content|default)[\"'\\]{0,4}[ \t]{0,4}[:=]|[:=]"
    rf"|[,(|>](?=[ \t]{{0,8}}[\"'`\\]{{0,8}}{_DIGIT_SOON})"
    rf"|{_BREAK}[ \t]{{0,16}}=(?!=))"
)
_PROSE_LINK = (
    r"(?:[ \t]|\\t){1,16}(?:(?:is|was|to|are|will be|is now|set to|of|changed to|identified by|by)[ \t:=]{1,4})?"
)
TAIL = rf"[a-z0-9_.\-]{{0,32}}{_CLOSE}(?:({_OPERATOR})|{_PROSE_LINK}(?=[\"'`\\]{{0,8}}{_DIGIT_SOON}))"
NAMED = tuple((keyword, re.compile(keyword + TAIL)) for keyword in KEYWORDS)

_PLAIN = r"[^\s\"'`<>\\&;,|%]"
_VALUE = re.compile(
    rf"""
    [ \t]{{0,16}} (?:[|>][-+]?[ \t]*\n[ \t]+|(?P<below>\n[ \t]*))? \*{{0,2}}[ \t]?
    (?:
      (?:[bruf@]{{0,2}}|(?:string::from|some|secretstr|secret|string|str|bytes)\()
      (?P<quote>\\{{0,7}}(?:"|'|`))(?P<quoted>(?:(?!(?P=quote))(?:\\[^\n]|[^\n\\])){{1,2048}}?)(?:(?P=quote)|(?=\n)|\Z)
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
_TWO_WORDS = re.compile(TWO_WORDS, re.IGNORECASE)


def _whole_name(text: str, match: re.Match[str]) -> tuple[int, str]:
    """Extend a keyword to the whole name: `secret` → `aws_secret_access_key`."""
    before = text[max(0, match.start() - _NAME_MAX) : match.start()]
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    right = text[match.start() : match.end()]
    name = right[: len(right) - len(right.lstrip(_NAME_CHARACTERS))]
    if left[:1] in ("n", "t", "r") and before[: len(before) - len(left)].endswith("\\"):
        left = left[1:]  # the n of a written-out \n is no part of the name
    if not left and name.lower() == "key" and _TWO_WORDS.search(before[-TWO_WORDS_REACH:]):
        name = "api key"
    return match.start() - len(left), left + name


def _assigned(text: str, match: re.Match[str], *, promise: SecretName, start: int) -> SecretSpan | None:
    value = _VALUE.match(text, match.end())
    if value is None or (promise.kind == "cookie" and "=" in value.group().rstrip("=\"'")):
        return None  # a whole Cookie header is judged pair by pair
    begin, end = _extent(text, value)
    body = text[begin:end]
    if not body or body[0] in ",)+;]} ":
        return None  # the quote closed the name's own string, as in print("password:", password)
    operator = match.group(1)
    flag = text.startswith("-", start)
    quoted = value.group("quoted") is not None
    mark = (operator or "").strip()
    if value.group("below") is not None or _OVER_LINES.fullmatch(operator or ""):
        fits = mark[-1:] in (":", "=") and password_shaped(body) and text[end : end + 1] in ("", "\n", "\r")
    elif operator is None:  # only a blank between them, as in `password is …` and in .netrc
        before = text[max(0, match.start() - 300) : match.start()]
        linked = _LINK_WORD.search(match.group()) or _LOGIN_BEFORE.search(before)
        fits = flag or bool(linked) or password_shaped(body)
    elif mark == ">":  # <password>x</password>
        fits = text.startswith("</", value.end())
    elif mark == "|":  # | password | x |
        fits = text[value.end() : value.end() + 16].lstrip().startswith("|")
    else:  # ("password", "x")
        fits = quoted or mark not in _LOOSE
    # `NAME=` in capitals without blanks: a shell or .env assignment, where every word is a value.
    stem, separator, _ = text[start : match.end()].partition("=")
    is_environment = bool(separator) and stem.isupper() and stem == stem.strip()
    firm = quoted or is_environment or (flag and "=" in mark)
    if not fits or not convincing(body[:_JUDGED], any_word=promise.any_word, firm=firm and mark not in _LOOSE):
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


_LINK_WORD = re.compile(
    r"[ \t](?:is|was|to|are|will be|is now|set to|of|changed to|identified by|by)[ \t:=]+$", re.IGNORECASE
)
_LOGIN_BEFORE = re.compile(
    r"(?:\blogin|\buser|\bmachine|\baccount)[ \t\n]+\S{1,120}[ \t\n]+(?:login[ \t]+\S{1,120}[ \t\n]+)?$"
)
_LOOSE = frozenset({",", "(", "|", ">"})


_URL_LOGIN = re.compile(
    r"://([^\s/:@?#\"'<>`\\]{0,256}):([^\s/\"'<>`\\]{1,512})@(?=[\w\[$%{.-])|://([^\s/:@?#\"'<>`\\]{20,512})@(?=[\w\[-])"
)
_LITERAL_LOGIN = frozenset("password pass passwd pwd pw secret token port x xxx".split())


def url_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the password of `scheme://user:password@host`, or a long token in place of the user."""
    if "@" not in lowered or "://" not in lowered:
        return
    for match in _URL_LOGIN.finditer(text):
        if match.group(3):
            if machine_made(match.group(3)):
                yield SecretSpan(*match.span(3), "url-credential")
        elif match.group(2).lower() not in _LITERAL_LOGIN and not _is_reference(match.group(2)):
            yield SecretSpan(*match.span(2), "password")


_REFERENCE = re.compile(r"[$%{*]\(?\{?\w*|\w*\(|\*+$|<|\.{3}|x{3,}$")


def _is_reference(value: str) -> bool:
    match = _REFERENCE.match(value)
    return match is not None and (value[0] in "$%{<." or match.end() == len(value) or "(" in value)


_SCHEME = re.compile(
    r"(?:authorization[\"'\\\]]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\"'\\]{0,4}([a-z][a-z0-9\-]{1,20})|\b(bearer))"
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


_QUOTED = r"[\"'\\]{0,4}"
_WORD = r"([^\s\"'\\]{4,256})"
_COMMANDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("mysql", re.compile(rf"\bmysql(?:dump|admin|import|show)?\b[^\n|;&]{{0,120}}?\s-p{_QUOTED}{_WORD}")),
    ("sshpass", re.compile(rf"\bsshpass\s+-p[ \t]?{_QUOTED}{_WORD}")),
    ("redis-cli", re.compile(rf"\bredis-cli\b[^\n|;&]{{0,200}}?\s(?:-a|--pass)[ \t]+{_QUOTED}{_WORD}")),
    (" login", re.compile(rf"\b(?:docker|podman|helm)\b[^\n|;&]{{0,100}}?\slogin\b[^\n|;&]{{0,200}}?\s-p[ \t=]*{_QUOTED}{_WORD}")),
    ("sudo", re.compile(rf"\becho\s+(?:-n\s+)?{_QUOTED}{_WORD}{_QUOTED}\s*\|\s*sudo\s+-s\b")),
    ("smbclient", re.compile(rf"\bsmbclient\b[^\n]{{0,200}}?-u[ \t]?{_QUOTED}[\w.\\\-]{{1,64}}%{_WORD}")),
    ("ldap", re.compile(rf"\bldap(?:search|modify|add|whoami|passwd)\b[^\n]{{0,300}}?\s-w[ \t]+{_QUOTED}{_WORD}")),
)  # fmt: skip
COMMAND_WORDS = (b"curl", *(word.encode() for word, _ in _COMMANDS))
"""Commands whose short flags carry a password; the flag's letter is one of u, p, a, b, w, s."""

# Looked for from the flag backwards: from each of many `curl` forwards would read the same line again and again.
_CURL_LOGIN = re.compile(rf"(?<=\s)(?:-u|--user|--proxy-user)[ \t=]{{0,4}}{_QUOTED}[^\s:\"'\\]{{1,128}}:{_WORD}")
_CURL = re.compile(r"\bcurl\b[^\n]*\Z")
_CURL_REACH = 600

_STATEMENTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("identified by", re.compile(r"\bidentified by\s+(?:password\s+)?[\"'\\]{1,4}([^\s\"'\\]{4,256})")),
    ("cred", re.compile(rf"\b(?:creds|credentials)[ \t]{{0,4}}[:=][ \t]{{0,4}}[\w.@\-]{{1,80}}[ \t]{{0,4}}[/:|,][ \t]{{0,4}}{_WORD}")),
    ("auth", re.compile(r"auth[ \t]{0,4}=[ \t]{0,4}\([\"'\\]{1,4}[^\s\"'\\]{1,120}[\"'\\]{1,4},[ \t]{0,4}[\"'\\]{1,4}([^\s\"'\\]{4,256})[\"'\\]")),
    ("openssl", re.compile(rf"\bpass:{_WORD}")),
    (":5432:", re.compile(r"(?:^|\n|\\n)[\w.*\-]{1,120}:5432:[\w.*\-]{1,120}:[\w.*@\-]{1,120}:([^\s:\"'\\]{4,256})(?=\s|\\n|\"|'|\Z)")),
)  # fmt: skip


def command_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield passwords in flags of known commands, in SQL, in `creds: user / …`, and in lines of .pgpass."""
    for literal, pattern in (("curl", _CURL_LOGIN), *_COMMANDS, *_STATEMENTS):
        for match in pattern.finditer(lowered) if literal in lowered else ():
            begin = max(0, match.start() - _CURL_REACH)
            if pattern is _CURL_LOGIN and not _CURL.search(lowered, begin, match.start()):
                continue
            if not _is_reference(text[slice(*match.span(1))]):
                yield SecretSpan(*match.span(1), "password")


Finder = Callable[[str, str], Iterator[SecretSpan]]
FINDERS: tuple[Finder, ...] = (url_secrets, named_secrets, header_secrets, cookie_secrets, command_secrets)
