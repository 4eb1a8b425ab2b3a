"""What goes wrong while reading, and how a reader goes on: a place in a source → an error that names it.

A reader yields trajectories, problems and the place to go on from in one stream; `Parts` turns that stream into the
stream that the reader port promises, whose `next` raises a problem and may be called again. Nothing here decides
whether to go on.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, NamedTuple, TypeVar

import msgspec

from tacit.config.files import open_plain
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Trajectory
from tacit.text.redaction import redact

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a source something stands: a file or a document, and its line if it has lines."""

    source: str
    line: int | None = None

    @property
    def whole_source(self) -> str:
        """The source, a file with its whole path: what is kept must be found again from any folder."""
        path = Path(self.source)
        return str(path.resolve()) if path.is_file() else self.source

    def problem(self, what: str, *, code: str, hint: str) -> InvalidTrajectory:
        """Say what is wrong here and what to do next."""
        where = self.source if self.line is None else f"{self.source}, line {self.line}"
        return InvalidTrajectory(f"{where}: {what}", code=code, hint=hint)


Part = Trajectory | InvalidTrajectory | Mark


class Parts(Iterator[Trajectory]):
    """Trajectories of one source; a problem is raised in its turn, and the next call goes on behind it."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self.mark: Mark | None = None
        """Once all is read: where the attempt begins that is still open, if the source can grow."""
        self._parts = parts

    def __next__(self) -> Trajectory:
        part = next(self._parts)
        while isinstance(part, Mark):
            self.mark = part
            part = next(self._parts)
        if isinstance(part, InvalidTrajectory):
            raise part
        return part


MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_FILE_BYTES = 4 * 1024**3  # unpacked
HEAD_BYTES = 64 * 1024
LOG_NAMES = (".jsonl", ".jsonl.gz")
_CHUNK_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_Stream = io.BufferedReader | gzip.GzipFile


class Line(NamedTuple):
    """One line, numbered from 1; `ended` tells whether its line break has been written."""

    number: int
    data: bytes
    ended: bool
    offset: int = 0
    """Where it begins, in bytes of the unpacked file."""

    @property
    def mark(self) -> Mark:
        """The place to read on from, this line included."""
        return Mark(offset=self.offset, line=self.number - 1)


def head_of(path: Path) -> bytes:
    """Give the first bytes of a file, unpacked if it is gzip; damage further on does not matter here.

    Raises `InvalidTrajectory` for what is no regular file, and `OSError` where the system does not give it.
    """
    with open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
    if head.startswith(_GZIP_MAGIC):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        except zlib.error:
            head = b""
    return head.removeprefix(_BOM)


def holds_json(head: bytes, path: Path | None) -> bool:
    """Whether a file seems to be JSON; in a file of JSON lines, the first ones may be damaged."""
    if head.lstrip()[:1] in (b"{", b"["):
        return True
    return path is not None and path.name.endswith(LOG_NAMES) and b"\n{" in head


class KeyedReader:
    """Knows its format by keys in the first bytes of a file, and reads each file on its own, unless it says otherwise."""

    name = ""
    keys: tuple[tuple[bytes, ...], ...] = ()
    """Of each group at least one stands in the first bytes."""

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys that only this format has."""
        return holds_json(head, path) and all(any(key in head for key in group) for group in self.keys)

    def session_file(self, path: Path) -> Path | None:
        """Return the session's file that this one is read with, if there is one."""
        return None


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file, through links; a pipe, a socket or a device raises `InvalidTrajectory` and never blocks."""
    try:
        return os.fdopen(open_plain(path, os.O_RDONLY, follow=True), "rb")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise Place(str(path)).problem(
            "not a regular file", code="not_a_regular_file", hint="write the output of a pipe to a file first"
        ) from error


def numbered_lines(
    path: Path, *, start: Mark | None = None, max_bytes: int = MAX_LINE_BYTES, max_file_bytes: int = MAX_FILE_BYTES
) -> Iterator[Line | InvalidTrajectory]:
    """Yield each line from the mark on that is not blank, and a problem for each that cannot be had."""
    number, taken = (start.line, start.offset) if start else (0, 0)
    try:
        with open_regular(path) as plain, _unpacked(plain) as stream:
            stream.seek(taken)
            while taken < max_file_bytes and (data := stream.readline(max_bytes + 1)):
                offset = taken
                number += 1
                taken += len(data)
                if len(data) > max_bytes and not data.endswith(b"\n"):
                    del data
                    size = max_bytes + 1 + _skip_line(stream, limit=max_file_bytes - taken)
                    taken += size - max_bytes - 1
                    yield Place(str(path), number).problem(
                        f"the line is {size} bytes long; at most {max_bytes} are read",
                        code="line_too_long",
                        hint="this line is passed over; split the document, or drop embedded files from it",
                    )
                    continue
                if number == 1:
                    data = data.removeprefix(_BOM)
                if data.strip():
                    yield Line(number, data, data.endswith(b"\n"), offset)
                else:
                    lines, size = _skip_blank(stream, limit=max_file_bytes - taken)
                    number, taken = number + lines, taken + size
            if taken >= max_file_bytes and stream.peek(1):
                yield Place(str(path), number).problem(
                    f"the file holds more than {max_file_bytes} bytes, unpacked; the rest is not read",
                    code="too_large",
                    hint="what stands up to this line has been read; split the file",
                )
    except InvalidTrajectory as problem:
        yield problem
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Place(str(path), number + 1).problem(
            f"the compressed data is damaged or ends early ({error})",
            code="damaged_compression",
            hint="copy or download the file again; what stands before this line has been read",
        )
    except OSError as error:
        yield unreadable(path, error)


def read_lines(
    path: Path, start: Mark | None, take: Callable[[Line, Place], Iterator[Trajectory]]
) -> Iterator[Trajectory | InvalidTrajectory]:
    """Give each line from the mark on to `take`; yield what comes of it, and the problems on the way."""
    for line in numbered_lines(path, start=start):
        if isinstance(line, InvalidTrajectory):
            yield line
            continue
        try:
            yield from take(line, Place(str(path), line.number))
        except InvalidTrajectory as problem:
            if line.ended:  # else the client may be writing this very line
                yield problem


def first_records(path: Path, most: int, decoded: Callable[[Line, Place], T | None]) -> Iterator[T]:
    """Yield the readable records among the first lines of a file; the others are told when it is read from its beginning."""
    for line in islice(numbered_lines(path), most):
        with suppress(InvalidTrajectory):
            record = decoded(line, Place(str(path), line.number)) if isinstance(line, Line) else None
            if record is not None:
                yield record


def unreadable(path: Path, error: OSError) -> InvalidTrajectory:
    """Say that the operating system does not give this file."""
    return Place(str(path)).problem(
        f"cannot be read: {error.strerror or error}",
        code="unreadable",
        hint="check that the file is there and that you may read it",
    )


def _unpacked(plain: io.BufferedReader) -> _Stream:
    return gzip.GzipFile(fileobj=plain) if plain.peek(2)[:2] == _GZIP_MAGIC else plain


def _skip_line(stream: _Stream, *, limit: int) -> int:
    """Read on to the end of the line without keeping it; returns how many bytes that were."""
    skipped = 0
    while skipped < limit and (chunk := stream.readline(_CHUNK_BYTES)):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped


def _skip_blank(stream: _Stream, *, limit: int) -> tuple[int, int]:
    """Read on over blank lines, a buffer at a time; returns how many lines and bytes that were."""
    lines = skipped = 0
    while skipped < limit and (ahead := stream.peek(_CHUNK_BYTES)):
        blank = ahead[: len(ahead) - len(ahead.lstrip())]
        end = blank.rfind(b"\n") + 1
        if not end:
            break
        stream.read(end)
        lines, skipped = lines + blank.count(b"\n"), skipped + end
    return lines, skipped


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


def decode(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, place: Place) -> T:
    """Decode one JSON text into the decoder's type."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise place.problem(f"not in the expected form: {error}", code="unexpected_form", hint=_HINT_SHAPE) from error
    except msgspec.DecodeError as error:
        original = bytes(data)
        # Clients that cut a text inside an emoji write half a UTF-16 pair.
        lone = _LONE_SURROGATE.search(original)
        repaired = _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], original) if lone else original
        if repaired == original:
            raise place.problem(f"not valid JSON: {error}", code="not_json", hint=_HINT_SYNTAX) from error
    except UnicodeDecodeError as error:
        raise place.problem(
            f"not valid UTF-8: {error.reason}", code="not_utf8", hint="convert the file to UTF-8"
        ) from error
    except RecursionError as error:
        raise too_deep(place) from error
    return decode(decoder, repaired, place)


def too_deep(place: Place) -> InvalidTrajectory:
    """Say that lists and objects are nested beyond reason."""
    return place.problem("lists or objects are nested too deeply", code="nested_too_deeply", hint=_HINT_DEPTH)


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


_NOT_TEXT = frozenset(
    "type id uuid tool_use_id toolUseID signature encrypted_content encrypted_index media_type mimeType cache_control digests "
    "rawContent path filename filePath displayPath hookName hookEvent".split()
)
"""Keys whose values are names, numbers or bytes, and no text that a model reads."""
_MEDIA = frozenset({"image", "document", "audio", "input_image", "input_audio"})


def all_texts(content: Any, *, depth: int = 0) -> list[str]:
    """Return every text of a content in order; a picture or sound becomes a short note, names and bytes are left out."""
    if isinstance(content, str):
        return [content] if content else []
    if isinstance(content, list):
        return [text for part in content for text in all_texts(part, depth=depth + 1)] if depth < MAX_DEPTH else []
    if not isinstance(content, dict) or depth >= MAX_DEPTH:
        return []
    kind = content.get("type")
    if kind == "text" and isinstance(content.get("text"), str):
        return [content["text"]]
    bytes_of = ("data", "image_url", "blob") if kind != "text" else ()
    texts = [f"[{str(kind).removeprefix('input_')}]"] if isinstance(kind, str) and kind in _MEDIA else []
    for key, value in content.items():
        if key not in _NOT_TEXT and key not in bytes_of:
            texts += all_texts(value, depth=depth + 1)
    return texts


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
