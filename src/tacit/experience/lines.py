"""A file's bytes → numbered lines, of bounded size: plain or gzip, told apart by content. Decodes nothing.

A line beyond the limit, damaged compression and an unreadable file come out as problems in their turn, so that what
stands before and behind them is still read.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tacit.domain.errors import InvalidTrajectory
from tacit.experience.problems import Place

MAX_LINE_BYTES = 64 * 1024 * 1024
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


def head_of(path: Path) -> bytes:
    """Give the first bytes of a file, unpacked if it is gzip; damage further on does not matter here."""
    with path.open("rb") as stream:
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


def numbered_lines(path: Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line | InvalidTrajectory]:
    """Yield each line that is not blank, and a problem for each that cannot be had."""
    number = 0
    try:
        with _opened(path) as stream:
            while data := stream.readline(max_bytes + 1):
                number += 1
                if len(data) > max_bytes and not data.endswith(b"\n"):
                    del data
                    size = max_bytes + 1 + _skip_line(stream)
                    yield _too_long(Place(str(path), number), size, limit=max_bytes)
                    continue
                if number == 1:
                    data = data.removeprefix(_BOM)
                if not data.isspace():
                    yield Line(number, data, data.endswith(b"\n"))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Place(str(path), number + 1).problem(
            f"the compressed data is damaged or ends early ({error})",
            hint="copy or download the file again; what stands before this line has been read",
        )
    except OSError as error:
        yield unreadable(path, error)


def unreadable(path: Path, error: OSError) -> InvalidTrajectory:
    """Say that the operating system does not give this file."""
    return Place(str(path)).problem(
        f"cannot be read: {error.strerror or error}", hint="check that the file is there and that you may read it"
    )


@contextmanager
def _opened(path: Path) -> Iterator[_Stream]:
    with ExitStack() as stack:
        plain = stack.enter_context(path.open("rb"))
        if plain.peek(2)[:2] == _GZIP_MAGIC:
            yield stack.enter_context(gzip.GzipFile(fileobj=plain))
        else:
            yield plain


def _skip_line(stream: _Stream) -> int:
    """Read on to the end of the line without keeping it; returns how many bytes that were."""
    skipped = 0
    while chunk := stream.readline(_CHUNK_BYTES):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped


def _too_long(place: Place, size: int, *, limit: int) -> InvalidTrajectory:
    return place.problem(
        f"the line is {size} bytes long; at most {limit} are read",
        hint="this line is passed over; split the document, or drop embedded files from it",
    )
