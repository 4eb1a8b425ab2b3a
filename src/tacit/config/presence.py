"""Whether a person can be typing at the terminal on standard input, judged by the processes around this one.

An agent can open a terminal of its own and clear its environment variables. This looks for what remains: a process in the
background, one detached from its terminal's session, a terminal that an agent or a scheduler opened, or one that nobody is
attached to. Most of it works on Linux only, and for processes of the same user. An agent that acts as the same user can
imitate a person.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

SESSION_VARIABLES = ("TACIT_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID")
"""Variables that hold the id of an agent's session."""
AGENT_MARKERS = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_PID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_CI",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
    "QWEN_CODE",
    "OPENCODE",
    "LETTA_AGENT_ID",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "AIDER_CHAT",
    "AI_AGENT",
)
"""Variables that coding agents set in the shells they start. If one is set here or in a parent, no person is typing."""

AGENT_PROGRAMS = frozenset("claude codex gemini copilot opencode qwen letta aider cursor-agent goose amp crush".split())
"""Programs of coding agents; what such a process starts is not typed by a person."""


GENERATIONS = 200
PROCESSES = Path("/proc")
_INTERPRETERS = ("node", "bun", "deno", "python")
_PSEUDO_TERMINALS = range(136, 144)
_SCHEDULERS = frozenset("cron crond atd anacron fcron systemd-run batch".split())
"""Programs that start commands on a schedule."""
_INTERPRETER_PROGRAMS = frozenset(
    "python perl ruby php lua tclsh expect unbuffer script sh bash dash ash zsh ksh busybox socat nohup setsid".split()
)
"""Programs that run scripts. A chain of only these, detached from everything above, is not a person's terminal."""
_SERVERS = frozenset("terminator guake terminix gnome-terminal jupyter tilda idle".split())
"""Terminal programs that are themselves scripts."""
_WINDOWS = {"tmux": "tmux: client", "screen": "screen"}
"""Terminal multiplexers, and the process that runs while a person is attached."""


@dataclass(frozen=True, slots=True)
class _Process:
    """One process, read from its status line in /proc."""

    number: int
    name: str
    parent: int
    group: int
    session: int
    terminal: int
    """The terminal of its session; 0 without one."""

    @property
    def may_be_typed_into_first_process(self) -> bool:
        """Whether process 1 may be the shell that this command was typed into, as in a container.

        Such a shell has a terminal and gives each command its own process group, or for a script its own. A process that
        an agent left behind is in the group of a shell that has ended.
        """
        return self.session in (0, 1) and self.terminal != 0 and self.group in (0, 1, self.number)


class Presence:
    """This process and the terminal it reads from."""

    def __init__(self, processes: Path = PROCESSES, *, own: int | None = None) -> None:
        self._processes = processes
        self._own = os.getpid() if own is None else own

    def doubt(self, agents: Collection[str] = AGENT_MARKERS, programs: Collection[str] = AGENT_PROGRAMS) -> str:
        """Return why nobody can be typing, or an empty string. `agents` and `programs` identify an agent's process."""
        return (
            _background()
            or self._detached_from_terminal()
            or next(
                filter(None, (self._terminal_owner(each, agents, programs) for each in self._holders(_terminal()))), ""
            )
            or self._nobody_attached(agents, programs)
        )

    def is_detached(self) -> bool:
        """Whether this process is detached from every process that shows who started it."""
        return self._is_detached(self._own)

    def _detached_from_terminal(self) -> str:
        """A typed command descends from the shell that leads its session; if that shell is hidden, nothing is concluded."""
        own = self._process(self._own)
        if own is None or own.session in (0, 1, own.number):
            return ""
        above = {each.number for each in self._line(own.parent)}
        return "" if own.session in above else "the process was detached from its terminal"

    def _terminal_owner(self, holder: int, agents: Collection[str], programs: Collection[str]) -> str:
        """Return what is wrong with the process that opened the terminal: an agent, a scheduler, or detached."""
        above = Ancestry(self._processes, start=holder)
        marks = sorted(above.variables.intersection(agents)) + sorted(above.programs.intersection(programs))
        if marks:
            return f"its terminal was opened by an agent's process (marked by {marks[0]})"
        if schedulers := sorted(above.programs & _SCHEDULERS):
            return f"its terminal was opened by {schedulers[0]}, a scheduler"
        return "its terminal was opened by a detached process" if self._is_detached(holder) else ""

    def _nobody_attached(self, agents: Collection[str], programs: Collection[str]) -> str:
        """Return a text if this is a tmux or screen session that no person is attached to."""
        names = [each.name for each in self._line(self._own)]
        for server, window in _WINDOWS.items():
            if not any(name.casefold().startswith(server) for name in names):
                continue
            open_at = [each for each in self._all() if each.name == window]
            if not any(not self._terminal_owner(each.number, agents, programs) for each in open_at):
                return f"nobody is attached to this {server} session"
        return ""

    def _is_detached(self, number: int) -> bool:
        """Whether all parents are scripts, the topmost of them without the process that started it.

        A command typed into process 1, as in a container, is not detached.
        """
        line = list(self._line(number))
        if not line or line[-1].parent != 1 or line[-1].may_be_typed_into_first_process:
            return False
        above = [each.name.rstrip("0123456789.") for each in line if each.number != self._own]
        if not all(name in _INTERPRETER_PROGRAMS for name in above):
            return False
        scripts = Ancestry(self._processes, start=number).programs
        return not any(name.split("-")[0] in _SERVERS for name in scripts)

    def _holders(self, terminal: int | None) -> Iterator[int]:
        """Yield the visible processes at the other end of a pseudo-terminal."""
        if terminal is None:
            return
        for folder in self._processes.glob("[0-9]*/fd"):
            number = int(folder.parent.name)
            if number != self._own and any(self._is_other_end(folder, name, terminal) for name in _names(folder)):
                yield number

    def _is_other_end(self, folder: Path, name: str, terminal: int) -> bool:
        try:
            if (folder / name).readlink().name != "ptmx":
                return False
            info = (folder.parent / "fdinfo" / name).read_text()
        except (OSError, ValueError):
            return False
        return f"tty-index:\t{terminal}\n" in info

    def _all(self) -> Iterator[_Process]:
        numbers = [int(folder.name) for folder in self._processes.glob("[0-9]*")]
        return (process for number in numbers if (process := self._process(number)))

    def _line(self, number: int) -> Iterator[_Process]:
        """Yield a process and its parents, without process 1."""
        seen: set[int] = set()
        while number > 1 and number not in seen and (process := self._process(number)):
            seen.add(number)
            yield process
            number = process.parent

    def _process(self, number: int) -> _Process | None:
        try:
            status = (self._processes / str(number) / "stat").read_text(errors="replace")
            name, rest = status.partition("(")[2].rpartition(")")[::2]
            state, *numbers = rest.split()[:5]
            parent, group, session, terminal = map(int, numbers)
            return None if state in "ZX" else _Process(number, name, parent, group, session, terminal)
        except (OSError, ValueError):
            return None


def _background() -> str:
    """Return a text unless this process is in the foreground of its terminal, as a typed command is."""
    if not hasattr(os, "tcgetpgrp"):
        return ""
    try:
        return "" if os.tcgetpgrp(0) == os.getpgrp() else "it runs in the background of its terminal"
    except OSError:
        return "its terminal belongs to another session"


def _terminal() -> int | None:
    """The number of the pseudo-terminal at standard input."""
    try:
        known = os.fstat(0)
    except OSError:
        return None
    major = os.major(known.st_rdev)
    if not stat.S_ISCHR(known.st_mode) or major not in _PSEUDO_TERMINALS:
        return None
    return os.minor(known.st_rdev) + 256 * (major - _PSEUDO_TERMINALS.start)


def _names(folder: Path) -> list[str]:
    try:
        return [each.name for each in folder.iterdir()]
    except OSError:
        return []


class Ancestry:
    """The parent processes of a process: their variables and programs."""

    def __init__(self, processes: Path = PROCESSES, *, start: int | None = None) -> None:
        self.variables: set[str] = set()
        """Names of the non-empty variables that some parent was started with."""
        self.programs: set[str] = set()
        """Names of the programs that the parents run; for an interpreter also the script."""
        above = list(_ancestors(processes, os.getppid() if start is None else start))
        self.is_endless = len(above) >= GENERATIONS
        """Whether there are more parents than were read; a person's shell never has so many."""
        for process in above:
            pairs = (variable.partition(b"=") for variable in _parts(process / "environ"))
            self.variables.update(name.decode("utf-8", "replace") for name, _, value in pairs if value)
            self.programs.update(_programs(_parts(process / "cmdline")))


def _programs(words: list[bytes]) -> Iterator[str]:
    named = [word.rpartition(b"/")[2].decode("utf-8", "replace") for word in words[:2]]
    yield from named[:1]
    if named and named[0].startswith(_INTERPRETERS):
        yield from (name.rpartition(".")[0] or name for name in named[1:])


def _parts(file: Path) -> list[bytes]:
    try:
        return file.read_bytes().split(b"\0")
    except OSError:
        return []


def _ancestors(processes: Path, number: int) -> Iterator[Path]:
    for _ in range(GENERATIONS):
        if number <= 1:
            return
        yield processes / str(number)
        try:
            # The name in brackets may contain anything; state and parent follow it.
            parent = (processes / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            number = int(parent)
        except (OSError, ValueError, IndexError):
            return
