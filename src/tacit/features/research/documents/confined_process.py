"""Runs one of the reader programs on a file, within limits, and yields its answers line by line.

The program (`pdf_process`, `text_process`) has limits on time, memory and output, starts nothing and has no network. Whatever a
file does to its reader ends there, and becomes a refusal.
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

_HARM = "it may be hostile; if you trust it, split it or save it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Limits for reading one file; a file that exceeds one is refused."""

    input_mb: int = 100
    cpu_s: int = 90
    wall_s: float = 120.0
    memory_mb: int = 1024
    output_mb: int = 64
    pages: int = 5000


def answers(
    program: str, data: bytes, *, name: str, limits: ReadingLimits, header_fields: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the answers of a program; the last one has `end`, or `refused` with the reason."""
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
    """Return the refusal of a file that exceeded a limit; None for another reason."""
    match why:
        case "memory":
            return Refusal(f"{name} needs more than {limits.memory_mb} MB to be read", code="reading_limit", hint=_HARM)
        case "time":
            message = f"{name} was not read within {limits.cpu_s} s of computing, so reading was stopped"
            return Refusal(message, code="reading_limit", hint=_HARM)
        case _:
            return None


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _feed(stream: IO[bytes], *parts: bytes) -> None:
    """Write the input of the process, unless it has ended."""
    try:
        for part in parts:
            stream.write(part)
        stream.close()
    except OSError:
        return  # its earlier answers count


def _lines(stream: IO[bytes], *, most: int, name: str) -> Iterator[bytes]:
    taken = 0
    while line := stream.readline(most - taken + 1):
        taken += len(line)
        if taken > most:
            raise Refusal(
                f"{name} holds more text than {most >> 20} MB", code="too_much_text", hint="add the part that you cite"
            )
        if line.endswith(b"\n"):  # the last line may be incomplete
            yield line
