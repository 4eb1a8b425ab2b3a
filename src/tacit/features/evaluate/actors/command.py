"""Any program as an agent: one process per attempt, one line of JSON in for each question, one line out for each decision.

A process of its own for every attempt, so that nothing is carried from one arm into another. It is given time for every
answer; one that takes longer, writes too much or dies loses that attempt, and is ended with all that it started. What it put
into a session of its own cannot be found again and may go on; but nobody waits for it, whatever it keeps open.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.actors.code import files_among
from tacit.features.evaluate.actors.exchange import ANSWER_BYTES_MAX, Circumstances, Patience, read, worded, written
from tacit.features.evaluate.actors.lockstep import MAX_CALLS, Decision, Question, attempt, joined
from tacit.features.evaluate.suite import Aid, Arm, Spent, World

TIMEOUT_S = 60.0
"""Time for one answer."""
_LAST_WORDS = 200
_GRACE_S = 5.0
_CHUNK = 1 << 16


class CommandActor:
    """Acts by what a program says."""

    def __init__(
        self, command: str, *, adapter: bool = False, timeout_s: float = TIMEOUT_S, max_calls: int = MAX_CALLS
    ) -> None:
        """`adapter` says that the program heeds the question's `adapter`, so that arms with one mean something."""
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise Mistake(f"the agent's command cannot be read: {error}", hint="quote it as for a shell") from error
        if not self._words:
            raise Mistake("the agent's command is empty", hint="command:python my_agent.py")
        self.name = f"command:{command}"
        self._adapter = adapter
        self._timeout_s = timeout_s
        self._max_calls = max_calls
        self._patience = Patience(self.name)

    def files(self) -> Mapping[str, str]:
        """The files that the command names, as they are now: every attempt starts it anew."""
        return files_among(self._words)

    def objection(self, arm: Arm) -> str:
        """An adapter is the program's own affair; it has to say that it has one."""
        return "this agent has no adapter" if arm.adapter and not self._adapter else ""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> Spent:
        """Attempt one world after the other."""
        around = Circumstances(adapter=adapter, seed=seed)
        return joined([self._attempted(world, aid, around) for world, aid in zip(worlds, aids, strict=True)])

    def _attempted(self, world: World, aid: Aid, around: Circumstances) -> Spent:
        with _Process(self._words, timeout_s=self._timeout_s) as process:

            def decide(questions: Sequence[Question]) -> list[Decision]:
                return [self._patience.seen(process.ask(question, around)) for question in questions]

            return attempt([world], [aid], decide, max_calls=self._max_calls)


class _Process:
    """A running agent; use it as a context: it is ended with all that it started."""

    def __init__(self, words: Sequence[str], *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._heard = bytearray()  # and not yet taken as an answer
        self._ended = False
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is
        try:
            self._process = subprocess.Popen(
                words,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,
            )
        except OSError as error:
            self._complaints.close()
            raise NotFound(
                f"the agent cannot be started: {words[0]}: {error.strerror}", hint="check the command after command:"
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)

    def __enter__(self) -> _Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        for file in (self._output, self._complaints):
            file.close()

    def ask(self, question: Question, around: Circumstances) -> Decision:
        """Its decision; broken where it took too long, wrote too much, or died."""
        asked = worded(question, around)
        try:
            line = self._exchange(written(asked))
        except TimeoutError:
            self._end()
            return Decision(broken=f"the agent gave no answer within {self._timeout_s:g} seconds")
        return read(line, asked) if line.strip() else self._died()

    def _exchange(self, unsent: bytes) -> bytes:
        """Its next line, or what it said before it ended. Written to and listened to at once: neither waits for the other."""
        until = time.monotonic() + self._timeout_s
        while len(self._heard) <= ANSWER_BYTES_MAX:
            answered = b"\n" in self._heard
            if answered and not unsent:
                break
            ready = self._ready(reading=not answered, writing=bool(unsent), until=until)
            if self._input in ready:
                unsent = self._told(unsent)
            if self._output in ready and not self._listened():
                break
        line, newline, rest = bytes(self._heard).partition(b"\n")
        self._heard = bytearray(rest)
        return line + newline

    def _ready(self, *, reading: bool, writing: bool, until: float) -> Sequence[object]:
        """Those pipes of the wanted ones that something can be done with; raises `TimeoutError` when the time is up."""
        left_s = until - time.monotonic()
        with selectors.DefaultSelector() as selector:
            if reading:
                selector.register(self._output, selectors.EVENT_READ)
            if writing:
                selector.register(self._input, selectors.EVENT_WRITE)
            ready = [key.fileobj for key, _ in selector.select(left_s)] if left_s > 0 else []
        if not ready:
            raise TimeoutError
        return ready

    def _told(self, line: bytes) -> bytes:
        """What is still to be sent; nothing once it does not listen any more: then what it said before counts."""
        try:
            return line[os.write(self._input.fileno(), line[:_CHUNK]) :]
        except BlockingIOError:
            return line
        except OSError:
            return b""

    def _listened(self) -> bool:
        """Take in what it said; whether it may say more."""
        try:
            said = os.read(self._output.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self._heard += said
        return bool(said)

    def _died(self) -> Decision:
        self._end()
        said = _tail(self._complaints)
        return Decision(broken=f"the agent ended with code {self._process.returncode}{': ' + said if said else ''}")

    def _end(self) -> None:
        """End the process and all that it started, at once where it does not go by itself."""
        if self._ended:
            return
        self._ended = True
        self._input.close()  # it is told that no more questions come
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.2)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # one that the system itself holds up dies when it is let go
            self._process.wait(timeout=_GRACE_S)


def _tail(file: IO[bytes]) -> str:
    """The last of what a process complained about, as one line."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4 * _LAST_WORDS))
    return " ".join(file.read().decode("utf-8", "replace").split())[-_LAST_WORDS:]
