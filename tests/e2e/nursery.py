"""`tacit` asked for over a socket → a process of its own that has its imports already. Knows no command.

Importing the program takes ten times what most commands take to run, and the tests start it a thousand times. So one
process per worker imports what the commands need, learns once in memory, and is forked for each start. What begins there is
a process like any other: its own number, environment, folder, streams and terminal. Not its own: its imports, how the
interpreter was configured, and the seed of its hashes. Where these matter, or the system has no such thing, `Terminal`
starts an interpreter.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

LARGEST = 1 << 17
"""Bytes of a request; a socket takes more than that at once."""


@dataclass(frozen=True)
class Start:
    """What to start: the arguments of `tacit`, where, and with which environment.

    With a passphrase it is a program of the person's that has unlocked the key in their home.
    """

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    passphrase: str = ""

    def spelled(self) -> bytes:
        return json.dumps([self.arguments, self.folder, self.environment, self.passphrase]).encode()

    @classmethod
    def understood(cls, data: bytes) -> Start:
        return cls(*json.loads(data))


# --- at the test's end ------------------------------------------------------------------------------------------


class Begun:
    """A process that was started; the nursery tells its number and, when it has ended, its exit code."""

    def __init__(self, pipe: int) -> None:
        self._told = open(pipe, encoding="ascii")  # noqa: SIM115 - closed by `wait`
        self.number = int(self._told.readline())

    def wait(self) -> int:
        with self._told:
            return int(self._told.readline())

    def kill(self) -> None:
        os.kill(self.number, signal.SIGKILL)


class Nursery:
    """The process that others are forked from."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._asking, answering = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", __file__, str(answering.fileno())]
        with answering:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[answering.fileno()]
            )

    def begin(self, start: Start, streams: Sequence[int]) -> Begun:
        """Start it with a terminal, or with three streams; they are closed here."""
        told, telling = os.pipe()
        socket.send_fds(self._asking, [start.spelled()], [telling, *streams])
        for each in (telling, *streams):
            os.close(each)
        return Begun(told)

    def run(self, start: Start, *, stdin: str, timeout_s: float) -> tuple[int, str, str]:
        """Start it, give it its input, and wait: the exit code, the output, the errors."""
        (reading, to), (out, writing), (err, complaining) = os.pipe(), os.pipe(), os.pipe()
        begun = self.begin(start, (reading, writing, complaining))
        with ThreadPoolExecutor(3) as hands:
            hands.submit(_write, to, stdin)
            read = [hands.submit(_read, each) for each in (out, err)]
            try:
                texts = [each.result(timeout_s) for each in read]
            except Late:
                begun.kill()
                begun.wait()
                raise subprocess.TimeoutExpired(["tacit", *start.arguments], timeout_s) from None
        return begun.wait(), texts[0], texts[1]

    def close(self) -> None:
        self._asking.close()
        self._process.wait()


def is_possible() -> bool:
    """Whether the system can wait for a process and for a request at once."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _write(stream: int, text: str) -> None:
    with contextlib.suppress(BrokenPipeError), open(stream, "w") as file:  # in the encoding of the locale
        file.write(text)


def _read(stream: int) -> str:
    with open(stream) as file:  # in the encoding of the locale
        return file.read()


# --- in the process that is forked --------------------------------------------------------------------------------


def serve(asked: socket.socket) -> tuple[Start, list[int]] | None:
    """Fork for every request. Comes back in each child with what to run, and in the parent when nobody can ask anymore.

    A request brings a pipe, and the streams of the process: one terminal, or standard input, output and error. Into the
    pipe go the number of the process and, when it has ended, its exit code.
    """
    running: dict[int, tuple[int, int]] = {}
    while True:
        ready, _, _ = select.select([asked.fileno(), *running], [], [])
        for ended in [each for each in ready if each in running]:
            number, pipe = running.pop(ended)
            _tell(pipe, os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
            os.close(pipe)
            os.close(ended)
        if asked.fileno() not in ready:
            continue
        data, handed, _, _ = socket.recv_fds(asked, LARGEST, 4)
        if not data:
            return None
        pipe, *streams = handed
        number = os.fork()
        if number == 0:
            for each in (asked.detach(), pipe, *running, *(others for _, others in running.values())):
                os.close(each)  # the process holds its own streams alone
            return Start.understood(data), streams
        _tell(pipe, number)
        running[os.pidfd_open(number)] = (number, pipe)
        for stream in streams:
            os.close(stream)


def _tell(pipe: int, what: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # whoever asked may not wait for it
        os.write(pipe, f"{what}\n".encode())


def become(start: Start, streams: Sequence[int]) -> None:
    """Turn this fork into the process that was asked for, and run the program."""
    if len(streams) == 1:
        os.login_tty(streams[0])
    else:
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
    _open_streams()
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    sys.path.insert(0, start.folder)
    sys.argv[1:] = start.arguments
    if start.passphrase:
        from tacit.config.signers import set_unlocked_key
        from tacit.config.signing_key import unlock

        set_unlocked_key(unlock(Path(start.environment["HOME"], ".tacit"), start.passphrase))
    runpy.run_module("tacit", run_name="__main__", alter_sys=True)


def _open_streams() -> None:
    """Open the standard streams as a starting interpreter does."""
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        old: Any = getattr(sys, name)
        new: Any = open(place, "w" if place else "r", encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        if name == "stderr":
            new.reconfigure(line_buffering=True)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def leave(end: SystemExit) -> None:
    """End as an interpreter ends, but leave the modules to the system: to take all of them down takes most of a short run."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # what was not closed is reported
    try:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
    except OSError:
        os._exit(120)
    os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))


def warm_up() -> None:
    """Learn, judge and recall once in memory: that imports what most commands need and compiles their patterns."""
    import tacit
    from tacit.domain.extension import extension_classes
    from tacit.gate.checks import every_check
    from tacit.surfaces import cli

    for module in pkgutil.iter_modules(cli.__path__, "tacit.surfaces.cli."):
        importlib.import_module(module.name)
    for slow in ("tacit.surfaces.mcp", "tacit.providers.remote", "pydantic_ai.models.openai"):
        with contextlib.suppress(ImportError):  # an environment may be without an extra
            importlib.import_module(slow)
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        memory = tacit.open(":memory:")
        for path in sorted(folder.rglob("*.jsonl")):
            memory.capture(tacit.read(path))
    learned = memory.learn()
    memory.recall("run the tests")
    memory.close()
    assert learned.held
    for found in (every_check, extension_classes):
        found.cache_clear()  # each start looks for extensions itself


def main() -> None:
    """Import, wait for requests, and go on as each of them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted run of the tests closes the socket
    warm_up()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        start = serve(asked)
    if start is not None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            become(*start)
        except SystemExit as end:
            leave(end)


if __name__ == "__main__":
    main()
