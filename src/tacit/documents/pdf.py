"""PDF: bytes → the pieces of text of each page, as a confined process reads them, or a refusal that says what is wrong.

The process (`pdf_process`) has a limit on its time, its memory and its output, starts nothing and reaches no network. The
file is never opened by a program that shows it, so what it would do there (scripts, actions, attachments) does not happen.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tacit.domain.errors import Mistake, Refusal

INSTALL = "pip install 'tacit[research]', or in a checkout: pip install '.[research]'"
Progress = Callable[[int, int], None]
"""Told how many pages are read, of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one file may take. Whatever passes a limit is refused as a whole."""

    input_mb: int = 100
    cpu_s: int = 90
    wall_s: float = 120.0
    memory_mb: int = 1024
    output_mb: int = 64
    pages: int = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some text as it was drawn: its left end, its baseline counted upwards, its width as far as it is known."""

    x: float
    y: float
    width: float
    size: float
    bold: bool
    turn: int
    """Quarter turns to the left."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, from 1, with all that is drawn on it as text."""

    number: int
    width: float
    height: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdf:
    """A file as it was read."""

    pages: tuple[Page, ...]
    title: str = ""
    author: str = ""
    outline: tuple[tuple[str, int], ...] = ()
    unread: tuple[int, ...] = ()
    """Pages that could not be read."""


def read_pdf(data: bytes, *, name: str, limits: Limits | None = None, progress: Progress | None = None) -> Pdf:
    """Read a file to its end; raises `Refusal` where it cannot be read, or where nobody may read it."""
    limits = limits or Limits()
    if importlib.util.find_spec("pypdf") is None:
        raise Mistake("PDF files need the extra `research`", hint=INSTALL)
    if len(data) > limits.input_mb << 20:
        raise Refusal(f"{name} is larger than {limits.input_mb} MB", hint="split it, or add the part that you cite")
    pages: list[Page] = []
    total, last = 0, {}
    for told in _answers(data, name=name, limits=limits):
        if "pages" in told:
            total = int(told["pages"])
        elif "page" in told:
            pages.append(_page(told))
            if progress is not None:
                progress(len(pages), total)
        else:
            last = told
    if "refused" in last:
        raise _refusal(name, str(last["refused"]), detail=str(last.get("detail", "")), limits=limits)
    return _whole(name, pages, last)


def _whole(name: str, pages: list[Page], last: dict[str, Any]) -> Pdf:
    unread = tuple(int(number) for number, _ in last["unread"])
    if not any(page.pieces for page in pages):
        if unread:
            hint = "get a whole copy of the file"
            raise Refusal(f"no page of {name} can be read: {last['unread'][0][1]}", hint=hint)
        raise Refusal(
            f"{name} holds no text on any of its pages ({len(pages)}); scans hold pictures only",
            hint="run it through a program that recognises text (such as ocrmypdf), then add the result",
        )
    info = last["info"]
    outline = tuple((str(title), int(number)) for title, number in last["outline"])
    return Pdf(
        pages=tuple(pages),
        title=info.get("Title", "").strip(),
        author=info.get("Author", "").strip(),
        outline=outline,
        unread=unread,
    )


def _page(told: dict[str, Any]) -> Page:
    pieces = tuple(
        Piece(x=x, y=y, width=width, size=size, bold=bool(bold), turn=turn, text=text)
        for x, y, width, size, bold, turn, text in told["pieces"]
    )
    return Page(number=told["page"], width=told["width"], height=told["height"], pieces=pieces)


def _answers(data: bytes, *, name: str, limits: Limits) -> Iterator[dict[str, Any]]:
    """What the process tells, line by line; ends with its own last word, or raises where it did not come to that."""
    modules = [folder for folder in sys.path if folder and Path(folder).is_dir()]
    told = {"cpu_s": limits.cpu_s, "memory_mb": limits.memory_mb, "pages": limits.pages, "modules": modules}
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", str(Path(__file__).with_name("pdf_process.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
        close_fds=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    late = threading.Event()
    clock = threading.Timer(limits.wall_s, _end, (process, late))
    clock.daemon = True
    feeder = threading.Thread(target=_feed, args=(process.stdin, json.dumps(told).encode() + b"\n", data), daemon=True)
    ended = False
    try:
        clock.start()
        feeder.start()
        for line in _lines(process.stdout, most=limits.output_mb << 20, name=name):
            answer = json.loads(line)
            ended = "end" in answer or "refused" in answer
            yield answer
        process.wait()
        if not ended:
            raise _refusal(name, "time" if late.is_set() or process.returncode < 0 else "damaged", limits=limits)
    finally:
        clock.cancel()
        process.kill()
        process.stdout.close()
        process.wait()
        feeder.join()


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _feed(stream: IO[bytes], *parts: bytes) -> None:
    """Give the process its input; one that has ended does not take it any more."""
    try:
        for part in parts:
            stream.write(part)
        stream.close()
    except OSError:
        return  # what it said before it ended is its answer


def _lines(stream: IO[bytes], *, most: int, name: str) -> Iterator[bytes]:
    taken = 0
    while line := stream.readline(most - taken + 1):
        taken += len(line)
        if taken > most:
            raise Refusal(f"{name} holds more text than {most >> 20} MB", hint="add the part that you cite")
        if line.endswith(b"\n"):  # the last one may be torn, where the process was ended
            yield line


def _refusal(name: str, why: str, *, limits: Limits, detail: str = "") -> Refusal:
    more = f" ({detail})" if detail else ""
    match why:
        case "encrypted":
            return Refusal(f"{name} opens only with a password", hint="save a copy without one, and add that")
        case "cipher":
            return Refusal(f"{name} is encrypted in a way that cannot be read here{more}", hint=INSTALL)
        case "pages":
            return Refusal(f"{name} says it has {detail} pages; {limits.pages} are the most", hint="split it")
        case "memory":
            told = f"{name} needs more than {limits.memory_mb} MB to be read"
            return Refusal(told, hint="it may be made to do harm; if you trust it, split it or save it anew")
        case "time":
            told = f"{name} was not read within {limits.cpu_s} s of computing, so it was given up"
            return Refusal(told, hint="it may be made to do harm; if you trust it, split it or save it anew")
        case _:
            return Refusal(
                f"{name} is no PDF that can be read: it is damaged or cut off{more}", hint="get a whole copy"
            )
