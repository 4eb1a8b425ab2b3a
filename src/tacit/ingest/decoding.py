"""JSON bytes from outside → typed records and clean values, or `InvalidTrajectory` with file and line.

Knows what JSON may do wrong (broken syntax or UTF-8, depth, range, lone surrogates) and bounds what is kept: long texts
lose their middle, and before that their secrets; huge numbers become text. Where a key stands twice, the last one
counts. Knows no client's format.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from string import ascii_letters, digits
from typing import Any, TypeVar

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.ingest.problems import Place
from tacit.text.redaction import redact

MAX_TEXT_CHARACTERS = 64 * 1024
MAX_DEPTH = 64
_MAX_INTEGER = 2**63 - 1
_WORD_REACH = 1024  # how far a cut moves to fall between words
_SECRET_REACH = 40 * 1024  # longer than any secret that is known by its beginning, a private key's block included
_REDACTED_AT_ONCE = 128 * 1024
_TOKEN_CHARACTERS = ascii_letters + digits + "_-+/=."
CUT = "[… "
"""How the note begins that stands where a text was cut."""

_HINT_SYNTAX = "the file is damaged or was cut off while it was written; mend or remove this line, or export it again"
_HINT_SHAPE = "check that the file was written by the client it seems to come from, and was not edited"
_HINT_DEPTH = "no known client writes such a document; leave this file out"

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

T = TypeVar("T")


def decode(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, place: Place) -> T:
    """Decode one JSON text into the decoder's type."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise place.problem(f"not in the expected form: {error}", hint=_HINT_SHAPE) from error
    except msgspec.DecodeError as error:
        original = bytes(data)
        mended = _without_lone_surrogates(original)
        if mended == original:
            raise place.problem(f"not valid JSON: {error}", hint=_HINT_SYNTAX) from error
    except UnicodeDecodeError as error:
        raise place.problem(f"not valid UTF-8: {error.reason}", hint="convert the file to UTF-8") from error
    except RecursionError as error:
        raise too_deep(place) from error
    return decode(decoder, mended, place)


def too_deep(place: Place) -> InvalidTrajectory:
    """Say that lists and objects are nested beyond reason."""
    return place.problem("lists or objects are nested too deeply", hint=_HINT_DEPTH)


def bounded(text: str, *, missing: int = 0) -> str:
    """Keep head and tail of a long text, cut between words where there are any, and say how much is gone.

    `missing` says how much was already gone from its middle, which then must lie where the text is cut.
    A secret cut in two would no longer be recognised as one. So a text is redacted before it is cut, as far as it is
    kept and some way beyond, and a tail does not begin inside a run of letters and digits.
    """
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    half = MAX_TEXT_CHARACTERS // 2
    if len(text) <= 2 * _REDACTED_AT_ONCE:
        clean = redact(text).text
        if len(clean) <= MAX_TEXT_CHARACTERS:
            return clean
        head, tail = clean[:half], clean[-half:]
    else:
        # What a secret leaves at the far edge of such a piece is shorter than the reach, and is not kept.
        head = redact(text[:_REDACTED_AT_ONCE]).text[:-_SECRET_REACH][:half]
        tail = redact(text[-_REDACTED_AT_ONCE:]).text[_SECRET_REACH:][-half:]
    end = max(head.rfind(" ", -_WORD_REACH), head.rfind("\n", -_WORD_REACH))
    starts = [at for at in (tail.find(" ", 0, _WORD_REACH), tail.find("\n", 0, _WORD_REACH)) if at >= 0]
    head = head[: end + 1] if end >= 0 else head
    tail = tail[min(starts) :] if starts else tail.lstrip(_TOKEN_CHARACTERS)
    return f"{head}{CUT}{len(text) + missing - len(head) - len(tail)} characters cut …]{tail}"


def bounded_value(value: Any, place: Place, *, depth: int = 0) -> Any:
    """Bound every text, number and the depth of a decoded JSON value."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_CHARACTERS else bounded(value)
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            raise too_deep(place)
        for key, item in value.items():
            if type(item) is not str or len(item) + len(key) > MAX_TEXT_CHARACTERS:
                break
        else:
            return value  # most arguments are a few short texts
        return {bounded(key): bounded_value(item, place, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        if depth >= MAX_DEPTH:
            raise too_deep(place)
        return [bounded_value(item, place, depth=depth + 1) for item in value]
    if isinstance(value, int) and not -_MAX_INTEGER - 1 <= value <= _MAX_INTEGER:
        return str(value)
    return value


def text_of(value: Any) -> str:
    """Give the text if it is one, else nothing."""
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    """Give a token count if it is one, else 0."""
    if isinstance(value, int | float) and 0 < value <= _MAX_INTEGER:
        return int(value)
    return 0


def amount_of(value: Any) -> float | None:
    """Give a number such as a cost or a score if it is one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MAX_INTEGER:
        return None
    return float(value)


def moment_of(value: Any) -> datetime | None:
    """Read an ISO time as aware UTC (a time without a zone is taken as UTC); nothing if it is no such time."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _without_lone_surrogates(data: bytes) -> bytes:
    """Replace half a UTF-16 pair by U+FFFD: clients that cut a text inside an emoji write such escapes."""
    if not _LONE_SURROGATE.search(data):
        return data
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)
