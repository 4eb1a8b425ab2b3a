"""The terminal at standard input → why nobody can be typing there, or nothing. Looks at processes; changes none.

An agent can open a terminal of its own and clear its marks. What it leaves behind is looked for here: a process that does
not stand in the foreground of its terminal, one that was cut loose from whoever typed its command line, a terminal that
an agent's or a planner's process holds the other end of, or that nobody looks at. Only Linux tells most of that, and of
processes of others nothing is seen. A fence, not a wall: who can act as this user can imitate a person.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_PSEUDO_TERMINALS = range(136, 144)
_PLANNERS = frozenset("cron crond atd anacron fcron systemd-run batch".split())
"""What starts commands by the clock: nobody types them."""
_LOOSE = frozenset(
    "python perl ruby php lua tclsh expect unbuffer script sh bash dash ash zsh ksh busybox socat nohup setsid".split()
)
"""Programs that a script is run by. Cut loose from all above them they are no terminal; a terminal's server is."""
_SERVERS = frozenset("terminator guake terminix gnome-terminal jupyter tilda idle".split())
"""Terminals that are written in such a language, by their script."""
_WINDOWS = {"tmux": "tmux: client", "screen": "screen"}
"""Servers that keep terminals without a window, and what runs where somebody looks at one."""


@dataclass(frozen=True, slots=True)
class _Process:
    """One process, as its status line tells it."""

    number: int
    name: str
    parent: int
    group: int
    session: int
    terminal: int
    """That of its session; 0 without one."""

    @property
    def was_typed_at_the_first(self) -> bool:
        """Whether the first process of all, as in a container, may be a shell that this was typed into.

        Such a shell has a terminal, and makes each command a group of its own or, where it runs a script, keeps it in
        its own. What was left behind by an agent in the same session stands in the group of a shell that is gone.
        """
        return self.session in (0, 1) and self.terminal != 0 and self.group in (0, 1, self.number)


class Presence:
    """What can be told of this process and the terminal it reads from."""

    def __init__(self, processes: Path = PROCESSES, *, own: int | None = None) -> None:
        self._processes = processes
        self._own = os.getpid() if own is None else own

    def doubt(self, agents: Collection[str] = AGENT_MARKERS, programs: Collection[str] = AGENT_PROGRAMS) -> str:
        """Say why nobody can be typing; empty if somebody may be. `agents` and `programs` mark an agent's process."""
        return (
            _background()
            or self._loose()
            or next(filter(None, (self._held(each, agents, programs) for each in self._holders(_terminal()))), "")
            or self._unseen(agents, programs)
        )

    def is_adrift(self) -> bool:
        """Whether this process was cut loose from all that could tell who started it."""
        return self._is_adrift(self._own)

    def _loose(self) -> str:
        """A command that was typed descends from the shell that leads its session; where that is hidden, nothing is said."""
        own = self._process(self._own)
        if own is None or own.session in (0, 1, own.number):
            return ""
        above = {each.number for each in self._line(own.parent)}
        return "" if own.session in above else "it was cut loose from the session that its terminal belongs to"

    def _held(self, holder: int, agents: Collection[str], programs: Collection[str]) -> str:
        """Whether the one at a terminal's other end is an agent's, a planner's, or adrift."""
        above = Ancestry(self._processes, start=holder)
        marks = sorted(above.variables.intersection(agents)) + sorted(above.programs.intersection(programs))
        if marks:
            return f"its terminal was opened by an agent's process (marked by {marks[0]})"
        if planners := sorted(above.programs & _PLANNERS):
            return f"its terminal was opened by {planners[0]}, by the clock"
        return "its terminal was opened by a process that left its session" if self._is_adrift(holder) else ""

    def _unseen(self, agents: Collection[str], programs: Collection[str]) -> str:
        """A window of tmux or screen that nobody has open, or nobody but an agent."""
        names = [each.name for each in self._line(self._own)]
        for server, window in _WINDOWS.items():
            if not any(name.casefold().startswith(server) for name in names):
                continue
            open_at = [each for each in self._all() if each.name == window]
            if not any(not self._held(each.number, agents, programs) for each in open_at):
                return f"nobody looks at this {server} session"
        return ""

    def _is_adrift(self, number: int) -> bool:
        """Whether nothing stands above but scripts, the topmost of them left behind by whoever started it.

        What was typed into the first process of all, as in a container, was not left behind.
        """
        line = list(self._line(number))
        if not line or line[-1].parent != 1 or line[-1].was_typed_at_the_first:
            return False
        above = [each.name.rstrip("0123456789.") for each in line if each.number != self._own]
        if not all(name in _LOOSE for name in above):
            return False
        scripts = Ancestry(self._processes, start=number).programs
        return not any(name.split("-")[0] in _SERVERS for name in scripts)

    def _holders(self, terminal: int | None) -> Iterator[int]:
        """The processes at the other end of a pseudo-terminal, as far as they may be looked at."""
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
            told = (folder.parent / "fdinfo" / name).read_text()
        except (OSError, ValueError):
            return False
        return f"tty-index:\t{terminal}\n" in told

    def _all(self) -> Iterator[_Process]:
        numbers = [int(folder.name) for folder in self._processes.glob("[0-9]*")]
        return (process for number in numbers if (process := self._process(number)))

    def _line(self, number: int) -> Iterator[_Process]:
        """A process and those above it, without the first of all."""
        seen: set[int] = set()
        while number > 1 and number not in seen and (process := self._process(number)):
            seen.add(number)
            yield process
            number = process.parent

    def _process(self, number: int) -> _Process | None:
        try:
            told = (self._processes / str(number) / "stat").read_text(errors="replace")
            name, rest = told.partition("(")[2].rpartition(")")[::2]
            state, *numbers = rest.split()[:5]
            parent, group, session, terminal = map(int, numbers)
            return None if state in "ZX" else _Process(number, name, parent, group, session, terminal)
        except (OSError, ValueError):
            return None


def _background() -> str:
    """Whether this process is in the foreground of the terminal it reads from; a typed command is."""
    if not hasattr(os, "tcgetpgrp"):
        return ""
    try:
        return "" if os.tcgetpgrp(0) == os.getpgrp() else "it does not stand in the foreground of its terminal"
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
"""Set by coding agents in the shells they start. Their presence, here or in a process above, means: no person is typing."""

AGENT_PROGRAMS = frozenset("claude codex gemini copilot opencode qwen letta aider cursor-agent goose amp crush".split())
"""Coding agents by the name of their program; what such a process starts is not typed by a person."""


GENERATIONS = 200
PROCESSES = Path("/proc")
_INTERPRETERS = ("node", "bun", "deno", "python")


class Ancestry:
    """What the processes above show."""

    def __init__(self, processes: Path = PROCESSES, *, start: int | None = None) -> None:
        self.variables: set[str] = set()
        """Names of the variables that some ancestor was started with, those without a value left out."""
        self.programs: set[str] = set()
        """Names of the programs that the ancestors run; of an interpreter's, the script's too."""
        above = list(_ancestors(processes, os.getppid() if start is None else start))
        self.is_endless = len(above) >= GENERATIONS
        """Whether there are more than were looked at; nobody's shell stands below so many."""
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
            # The name in brackets may hold anything; what follows it is the state and the parent's number.
            parent = (processes / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            number = int(parent)
        except (OSError, ValueError, IndexError):
            return
