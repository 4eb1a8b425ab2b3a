"""A file's bytes → numbered lines, of bounded size: plain or gzip, told apart by content. Decodes nothing.

A line beyond the limit, damaged compression and an unreadable file come out as problems in their turn, so that what
stands before and behind them is still read. Only regular files are opened: a pipe or a device may never end.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.session import Mark
from tacit.ingest.problems import Place

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_FILE_BYTES = 4 * 1024**3  # unpacked
HEAD_BYTES = 64 * 1024
LOG_NAMES = (".jsonl", ".jsonl.gz")
_CHUNK_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
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


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file, through links; a pipe, a socket or a device raises `InvalidTrajectory` and never blocks."""
    # Asked of the opened file itself, so that nothing can take its place in between.
    stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise Place(str(path)).problem("not a regular file", hint="write the output of a pipe to a file first")


def numbered_lines(
    path: Path, *, start: Mark | None = None, max_bytes: int = MAX_LINE_BYTES, max_file_bytes: int = MAX_FILE_BYTES
) -> Iterator[Line | InvalidTrajectory]:
    """Yield each line from the mark on that is not blank, and a problem for each that cannot be had."""
    number, taken = (start.line, start.offset) if start else (0, 0)
    try:
        with _opened(path) as stream:
            stream.seek(taken)
            while taken < max_file_bytes and (data := stream.readline(max_bytes + 1)):
                offset = taken
                number += 1
                taken += len(data)
                if len(data) > max_bytes and not data.endswith(b"\n"):
                    del data
                    size = max_bytes + 1 + _skip_line(stream, limit=max_file_bytes - taken)
                    taken += size - max_bytes - 1
                    yield _too_long(Place(str(path), number), size, limit=max_bytes)
                    continue
                if number == 1:
                    data = data.removeprefix(_BOM)
                if data.strip():
                    yield Line(number, data, data.endswith(b"\n"), offset)
                else:
                    lines, size = _skip_blank(stream, limit=max_file_bytes - taken)
                    number, taken = number + lines, taken + size
            if taken >= max_file_bytes and stream.peek(1):
                yield _too_large(Place(str(path), number), limit=max_file_bytes)
    except InvalidTrajectory as problem:
        yield problem
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
        plain = stack.enter_context(open_regular(path))
        if plain.peek(2)[:2] == _GZIP_MAGIC:
            yield stack.enter_context(gzip.GzipFile(fileobj=plain))
        else:
            yield plain


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


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | _NONBLOCK)


def _too_large(place: Place, *, limit: int) -> InvalidTrajectory:
    return place.problem(
        f"the file holds more than {limit} bytes, unpacked; the rest is not read",
        hint="what stands up to this line has been read; split the file",
    )


def _too_long(place: Place, size: int, *, limit: int) -> InvalidTrajectory:
    return place.problem(
        f"the line is {size} bytes long; at most {limit} are read",
        hint="this line is passed over; split the document, or drop embedded files from it",
    )
