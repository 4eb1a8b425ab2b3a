"""Confined: one of this package's programs and its input → what it tells, line by line, within limits.

The program (`pdf_process`, `text_process`) has a limit on its time, its memory and its output, starts nothing and reaches no
network. So whatever a file is made to do to its reader ends there, and is told as a refusal.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tacit.domain.errors import Refusal

_HARM = "it may be made to do harm; if you trust it, split it or save it anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """How much one file may take. Whatever passes a limit is refused as a whole."""

    input_mb: int = 100
    cpu_s: int = 90
    wall_s: float = 120.0
    memory_mb: int = 1024
    output_mb: int = 64
    pages: int = 5000


def answers(
    program: str, data: bytes, *, name: str, limits: ReadingLimits, header_fields: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """What a program tells of its input; the last answer has `end`, or `refused` with the reason."""
    modules = [folder for folder in sys.path if folder and Path(folder).is_dir()]
    first = {"cpu_s": limits.cpu_s, "memory_mb": limits.memory_mb, "pages": limits.pages, "modules": modules}
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", str(Path(__file__).with_name(program))],
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
    head = json.dumps(first | (header_fields or {})).encode() + b"\n"
    feeder = threading.Thread(target=_feed, args=(process.stdin, head, data), daemon=True)
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
            yield {"refused": "time" if late.is_set() or process.returncode < 0 else "damaged"}
    finally:
        clock.cancel()
        process.kill()
        process.stdout.close()
        process.wait()
        feeder.join()


def overtaxed(name: str, why: str, limits: ReadingLimits) -> Refusal | None:
    """The refusal of a file that passed a limit; nothing where that is not why."""
    match why:
        case "memory":
            return Refusal(f"{name} needs more than {limits.memory_mb} MB to be read", hint=_HARM)
        case "time":
            header_fields = f"{name} was not read within {limits.cpu_s} s of computing, so it was given up"
            return Refusal(header_fields, hint=_HARM)
        case _:
            return None


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
