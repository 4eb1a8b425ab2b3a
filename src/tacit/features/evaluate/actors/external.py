"""Agents of others: a program (one process per attempt, JSON lines), a Python function, or a web server (JSON by POST).

A program gets a time limit for every answer; one that is too slow, writes too much or exits loses that attempt and is
killed with everything it started. An exception of a function ends the run. A server that cannot be reached ends the run;
the same command continues it. For programs and functions the hashes of their files are recorded, so that a run continues
with the same agent. Only named files are hashed: no imports, no folders, no code after `-c` or `-m`, and nothing after an
option behind the agent's file, which may be a log.
"""

from __future__ import annotations

import hashlib
import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from subprocess import PIPE
from types import ModuleType
from typing import Any

from tacit.domain.errors import Mistake, NotFound, Outage, TacitError
from tacit.features.evaluate.actors.stepping import (
    ANSWER_BYTES_MAX,
    MAX_CALLS,
    AgentDecision,
    AgentQuestion,
    FailureCounter,
    attempt,
    concatenate,
    encode_question,
    parse_decision,
    question_document,
    read_decision,
)
from tacit.features.evaluate.suite import Aid, Arm, AttemptCost, World
from tacit.providers.http import TIMED_OUT, UNREACHABLE, check_url, post

_WHOLE_BYTES_MAX = 64 << 20
"""Larger files, such as weights, are identified by size and time, because reading them would take too long."""
_INTERPRETER = re.compile(
    r"(python|pypy|node|nodejs|deno|bun|npx|tsx|ruby|perl|php|lua|luajit|julia|rscript|java|dotnet|go|cargo|uv|uvx|pipx|poetry"
    r"|conda|mamba|micromamba|sh|bash|dash|zsh|ksh|fish|busybox|env|nice|ionice|timeout|stdbuf|taskset|nohup|time|xvfb-run|sudo"
    r"|docker|podman)[\d.]*(\.exe)?",
    re.IGNORECASE,
)
"""Programs that start an agent; their own options come before its file."""


def files_among(words: Sequence[str]) -> dict[str, str]:
    """Return the files that a command names, up to the first option after one → their hashes."""
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        if word.startswith("-") and without_interpreters(name for name in words[:place] if name in found):
            break
        if contents := _file_hash(Path(word)):
            found[word] = contents
    return found


def without_interpreters(names: Iterable[str]) -> list[str]:
    """Return the files of the agent itself, without interpreters and other programs that start it."""
    return [name for name in names if not _INTERPRETER.fullmatch(Path(name).name)]


def files_of_function(place: str) -> dict[str, str]:
    """Return the file of `FILE.py:NAME`, or of `MODULE:NAME` once it is imported."""
    where = place.rpartition(":")[0]
    if where.endswith(".py"):
        return files_among([where])
    found = getattr(sys.modules.get(where), "__file__", None)
    return {where: _file_hash(Path(found))} if found else {}


def _file_hash(path: Path) -> str:
    """Return the hash of a file; empty if there is none."""
    try:
        if not path.is_file():
            return ""
        status = path.stat()
        if status.st_size > _WHOLE_BYTES_MAX:
            return f"{status.st_size} bytes of {status.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        # too long for a name, or not readable: not a file of the agent
        return ""


ANSWER_TIMEOUT_S = 60.0
"""Seconds for one answer."""
_STDERR_SHOWN = 200
_GRACE_S = 5.0
_CHUNK = 1 << 16


class _ExternalActor:
    """An agent that gets questions and returns decisions as JSON documents."""

    def __init__(self, name: str, *, adapter: bool, max_calls: int) -> None:
        self.name = name
        self._adapter = adapter
        self._max_calls = max_calls
        self._failures = FailureCounter(name)

    def objection(self, arm: Arm) -> str:
        """A person must confirm that the agent uses the question's `adapter`."""
        return "this agent has no adapter" if arm.adapter and not self._adapter else ""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Act in all worlds, one call in each at a time."""

        def decide(questions: Sequence[AgentQuestion]) -> list[AgentDecision]:
            asked = [question_document(question, adapter=adapter, seed=seed) for question in questions]
            return [self._failures.check(decision) for decision in self._decisions(asked)]

        return attempt(worlds, aids, decide, max_calls=self._max_calls)

    def _decisions(self, asked: Sequence[Mapping[str, Any]]) -> Iterable[AgentDecision]:
        raise NotImplementedError


class CommandActor(_ExternalActor):
    """An agent that is a program."""

    def __init__(
        self, command: str, *, adapter: bool = False, timeout_s: float = ANSWER_TIMEOUT_S, max_calls: int = MAX_CALLS
    ) -> None:
        """`adapter` says that the program uses the question's `adapter`."""
        super().__init__(f"command:{command}", adapter=adapter, max_calls=max_calls)
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            hint = "quote it as for a shell"
            raise Mistake(f"the agent's command cannot be parsed: {error}", code="bad_command", hint=hint) from error
        if not self._words:
            raise Mistake("the agent's command is empty", code="empty_command", hint="command:python my_agent.py")
        self._timeout_s = timeout_s
        self._process: _Process | None = None

    def files(self) -> Mapping[str, str]:
        """Return the hashes of the command's files now: every attempt starts it again."""
        return files_among(self._words)

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Act in one world after the other, with a process for each."""
        costs = []
        for world, aid in zip(worlds, aids, strict=True):
            with _Process(self._words, timeout_s=self._timeout_s) as self._process:
                costs.append(super().act([world], [aid], adapter=adapter, seed=seed))
        return concatenate(costs)

    def _decisions(self, asked: Sequence[Mapping[str, Any]]) -> Iterable[AgentDecision]:
        assert self._process is not None
        return map(self._process.ask, asked)


class _Process:
    """A running program; a context manager that kills it with everything it started."""

    def __init__(self, words: Sequence[str], *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._received = bytearray()  # not yet returned as an answer
        self._ended = False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is
        try:
            self._process = subprocess.Popen(
                words, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=self._stderr, start_new_session=True
            )
        except OSError as error:
            self._stderr.close()
            message = f"the agent cannot be started: {words[0]}: {error.strerror}"
            raise NotFound(message, code="agent_not_started", hint="check the command after command:") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        for file in (self._output, self._stderr):
            file.close()

    def ask(self, asked: Mapping[str, Any]) -> AgentDecision:
        """Return its decision; broken if it was too slow, wrote too much, or exited."""
        try:
            line = self._exchange(encode_question(asked))
        except TimeoutError:
            self._end()
            return AgentDecision(broken=f"the agent gave no answer within {self._timeout_s:g} seconds")
        if line.strip():
            return read_decision(line, asked)
        self._end()
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - 4 * _STDERR_SHOWN))
        received = " ".join(self._stderr.read().decode("utf-8", "replace").split())[-_STDERR_SHOWN:]
        ended = f"the agent ended with code {self._process.returncode}{': ' + received if received else ''}"
        return AgentDecision(broken=ended)

    def _exchange(self, unsent: bytes) -> bytes:
        """Return its next line, or what it wrote before it exited. Reads and writes at the same time."""
        until = time.monotonic() + self._timeout_s
        while len(self._received) <= ANSWER_BYTES_MAX:
            answered = b"\n" in self._received
            if answered and not unsent:
                break
            ready = self._ready(reading=not answered, writing=bool(unsent), until=until)
            if self._input in ready:
                unsent = self._send(unsent)
            if self._output in ready and not self._receive():
                break
        line, newline, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line + newline

    def _ready(self, *, reading: bool, writing: bool, until: float) -> Sequence[object]:
        """Return the pipes that are ready; raise `TimeoutError` when the time is up."""
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

    def _send(self, line: bytes) -> bytes:
        """Return what is still to be sent; nothing once it does not read any more."""
        try:
            return line[os.write(self._input.fileno(), line[:_CHUNK]) :]
        except BlockingIOError:
            return line
        except OSError:
            return b""

    def _receive(self) -> bool:
        """Read what it wrote; return whether more may come."""
        try:
            received = os.read(self._output.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self._received += received
        return bool(received)

    def _end(self) -> None:
        """End the process and everything it started."""
        if self._ended:
            return
        self._ended = True
        self._input.close()  # the end of its input says that no more questions come
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.2)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # a process that the kernel blocks exits later
            self._process.wait(timeout=_GRACE_S)


AnswerFunction = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_PYTHON_EXAMPLE = "python:my_agent.py:answer, or python:package.module:answer"


class PythonActor(_ExternalActor):
    """An agent that is a Python function."""

    def __init__(
        self,
        answer: AnswerFunction,
        *,
        name: str = "python",
        adapter: bool = False,
        max_calls: int = MAX_CALLS,
        files: Mapping[str, str] | None = None,
    ) -> None:
        """`adapter` says that the function uses the question's `adapter`; `files` are the files it was loaded from."""
        super().__init__(name, adapter=adapter, max_calls=max_calls)
        self._failures = FailureCounter(f"the agent {name}")
        self._answer = answer
        self._files = dict(files or {})

    def files(self) -> Mapping[str, str]:
        """Return the files as they were loaded; later changes do not matter."""
        return self._files

    def _decisions(self, asked: Sequence[Mapping[str, Any]]) -> Iterable[AgentDecision]:
        for question in asked:
            with _errors_as_mistakes(f"the agent {self.name}"):
                answer = self._answer(question)
            yield parse_decision(answer, question)


@contextmanager
def _errors_as_mistakes(what: str) -> Iterator[None]:
    """Report any exception of foreign code as its author's mistake, with the place."""
    try:
        yield
    except TacitError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{what} raised {type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"
        hint = "fix the agent and repeat the command; recorded attempts are kept"
        raise Mistake(message, code="agent_raised", hint=hint) from error


def load_function(place: str) -> AnswerFunction:
    """Load the function that `FILE.py:NAME` or `MODULE:NAME` names."""
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise Mistake(f"{place!r} does not name a function", code="bad_function_name", hint=_PYTHON_EXAMPLE)
    if where.endswith(".py"):
        module = _load_file(Path(where))
    else:
        try:
            module = import_module(where)
        except ModuleNotFoundError as error:
            raise NotFound(f"no module {error.name!r}", code="no_module", hint=_PYTHON_EXAMPLE) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise NotFound(f"{where} has no function {name!r}", code="no_function", hint=_PYTHON_EXAMPLE)
    answering: AnswerFunction = function
    return answering


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise NotFound(f"no such file: {path}", code="no_file", hint=_PYTHON_EXAMPLE)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    script_folder = str(path.resolve().parent)
    if script_folder not in sys.path:  # as for a script, modules in its folder can be imported
        sys.path.append(script_folder)
    with _errors_as_mistakes(f"{path.name}, when it was loaded,"):
        spec.loader.exec_module(module)
    return module


PARALLEL_REQUESTS = 8


class HttpActor(_ExternalActor):
    """An agent behind a web server."""

    def __init__(
        self, url: str, *, adapter: bool = False, timeout_s: float = ANSWER_TIMEOUT_S, max_calls: int = MAX_CALLS
    ) -> None:
        """`adapter` says that the server uses the question's `adapter`."""
        check_url(url, example="http://localhost:8000/act")
        super().__init__(url, adapter=adapter, max_calls=max_calls)
        self._timeout_s = timeout_s

    def _decisions(self, asked: Sequence[Mapping[str, Any]]) -> Iterable[AgentDecision]:
        with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
            return list(pool.map(self._post, asked))

    def _post(self, asked: Mapping[str, Any]) -> AgentDecision:
        try:
            data, headers = encode_question(asked), {"Content-Type": "application/json"}
            answer = post(self.name, data, headers=headers, timeout_s=self._timeout_s, max_bytes=ANSWER_BYTES_MAX)
        except Outage as error:
            if error.code == UNREACHABLE:
                message = f"the agent at {self.name} is not there: {error}"
                hint = "start it; the same command continues the run"
                raise Outage(message, code=UNREACHABLE, hint=hint, retryable=True) from error
            if error.code == TIMED_OUT:
                return AgentDecision(broken=f"the agent gave no answer within {self._timeout_s:g} seconds")
            return AgentDecision(broken=f"the agent's server: {error}")
        if not answer.is_success:
            return AgentDecision(broken=f"the agent's server answered {answer.status} {answer.reason}")
        return read_decision(answer.data, asked)
