"""A started sandbox → what its channels brought, within limits of time, output and memory; past one, everything is killed.

Killing bubblewrap kills the first process of its namespace, and with that one the kernel ends all others, however they hid.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO

from tacit.domain.sandbox import WORKSPACE, Ended, SandboxLimits

_LOOK_S = 0.1
_CHUNK = 1 << 16
_MEBI = 1024 * 1024
_TESTIMONY_BYTES = 16_000_000
_MOST_FILES = 200_000
"""In the workspace. A file system in memory limits bytes; empty files take memory that it does not count."""
_PAGE = os.sysconf("SC_PAGESIZE")


@dataclass(slots=True)
class WatchedRun:
    """What was seen of a run."""

    output: bytearray = field(default_factory=bytearray)
    testimony: bytearray = field(default_factory=bytearray)
    archive: BinaryIO = field(default_factory=TemporaryFile)
    archived: int = 0
    ended: Ended = Ended.EXIT
    seconds: float = 0.0
    started: float | None = None
    """When the command did, by the monotonic clock."""
    stopped: bool = False
    """Whether the command was ended at its limit of time; what it left is brought back all the same."""
    overfull: bool = False
    """Whether more came back than a workspace can hold."""


def grace(limits: SandboxLimits) -> float:
    """Seconds beyond the command's own limit, in which its files are copied in and brought back."""
    return 5.0 + limits.workspace_mb / 32


def watch(process: subprocess.Popen[bytes], channels: dict[str, IO[bytes]], limits: SandboxLimits) -> WatchedRun:
    """Follow a sandbox to its end."""
    begun = time.monotonic()
    seen = WatchedRun()
    next_look = begun + _LOOK_S
    with selectors.DefaultSelector() as selector:
        for name, channel in channels.items():
            selector.register(channel, selectors.EVENT_READ, name)
        while selector.get_map():
            for key, _ in selector.select(min(_LOOK_S, limits.wall_s)):
                if not _take(key.data, os.read(key.fd, _CHUNK), seen=seen, limits=limits):
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            if now >= next_look:
                next_look = now + _LOOK_S
                _look(process.pid, seen, limits)
            _keep_time(process.pid, seen, limits=limits, begun=begun)
            if seen.ended is not Ended.EXIT:
                break
    kill(process, wait_s=0.0 if seen.ended is not Ended.EXIT else grace(limits))
    seen.seconds = time.monotonic() - (begun if seen.started is None else seen.started)
    if seen.stopped and seen.ended is Ended.EXIT:
        seen.ended = Ended.TIME
    return seen


def kill(process: subprocess.Popen[bytes], *, wait_s: float) -> None:
    """Give it that long to end by itself, then end it and its group."""
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _take(channel: str, chunk: bytes, *, seen: WatchedRun, limits: SandboxLimits) -> bool:
    """Keep what came; false at the end of a channel."""
    if channel == "output":
        room = limits.output_bytes - len(seen.output)
        seen.output += chunk[:room]
        if len(chunk) > room:
            seen.ended = Ended.OUTPUT
    elif channel == "witness":
        seen.testimony += chunk[: _TESTIMONY_BYTES - len(seen.testimony)]
    else:
        seen.started = seen.started or time.monotonic()
        seen.archived += len(chunk)
        # Headers come on top of the contents: one block and the rounding for each file.
        seen.overfull = seen.archived > 2 * limits.workspace_mb * _MEBI + 16 * _MEBI
        if not seen.overfull:
            seen.archive.write(chunk)
    return bool(chunk)


def _keep_time(pid: int, seen: WatchedRun, *, limits: SandboxLimits, begun: float) -> None:
    """End the command at its limit, and everything where that does not help in time."""
    now = time.monotonic()
    limit = (begun if seen.started is None else seen.started) + limits.wall_s
    if now >= limit and seen.started is not None and not seen.stopped:
        seen.stopped = True
        for number in _commands(pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
    if now >= limit + grace(limits):
        seen.ended = Ended.TIME


def _commands(pid: int) -> list[int]:
    """What the shell inside has started: it is the first in the line of descent that is not bubblewrap."""
    for number in _descendants(pid):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{number}/cmdline").read_bytes().startswith(b"/bin/sh\0-c\0"):
                return _children(number)
    return []


def _look(pid: int, seen: WatchedRun, limits: SandboxLimits) -> None:
    """End it where its processes hold too much memory, or too many files."""
    held = files = 0
    for number in _descendants(pid):
        with contextlib.suppress(OSError, ValueError):
            # What it shares with others, such as a library, is not counted once more for each.
            _, resident, shared, *_ = Path(f"/proc/{number}/statm").read_text().split()
            held += max(0, int(resident) - int(shared)) * _PAGE
        with contextlib.suppress(OSError):
            found = os.statvfs(f"/proc/{number}/root{WORKSPACE}")
            if found.f_blocks * found.f_frsize < 1 << 32:
                files = max(files, found.f_files - found.f_ffree)
    if held > limits.memory_mb * _MEBI or files > _MOST_FILES:
        seen.ended = Ended.MEMORY


def _descendants(pid: int) -> Iterator[int]:
    """The processes that it started, and those that these started."""
    waiting = deque([pid])
    while waiting:
        number = waiting.popleft()
        yield number
        waiting += _children(number)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # it may end while it is looked at, and so may each of its threads
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found
