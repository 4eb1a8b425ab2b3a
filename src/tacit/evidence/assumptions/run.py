"""A run as assumptions are held against it: its calls since one was stated, what each ran, and which files it changed. Pure.

Knows what is sure and what is not: an editor's file is a change, a redirection is one, and of most other commands it is only
known that they may have changed something. Judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from tacit.domain.moment import Held
from tacit.domain.trajectory import Role, Span, Step, StepResult, Trajectory
from tacit.evidence.changes import changes
from tacit.text.canonical import canonical_command, canonical_path
from tacit.text.exit_status import masks_exit
from tacit.text.programs import FORMATTERS
from tacit.text.shell import Command, parse_command
from tacit.text.text_sources import names_tacit_folder
from tacit.text.tool_calls import (
    FILE_READERS,
    WEB_READERS,
    changes_nothing,
    command_of,
    is_internal,
    named_file,
    plain_name,
    reads_by_name,
)

COULD_NOT_RUN = frozenset({124, 126, 127, 130, 137, 143})
"""Exit statuses of a shell: time limit, not executable, not found, interrupted, killed."""
SAME_MOMENT = timedelta(seconds=10)
"""Clocks of a client and of its hooks differ by so much."""
_SCRATCH = ("/tmp/", "/var/tmp/", "/private/tmp/", "/dev/")
_INSTALLING = re.compile(r"\b(?:install|add|remove|uninstall|update|upgrade|i|ci|sync|lock|tidy|get)\b")
_INSTALLERS = frozenset("npm pnpm yarn bun pip pip3 uv poetry pdm cargo go gem bundle composer".split())
_QUOTED_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How an assumption came out, and what shows it."""

    held: Held
    reason: str
    instead: str = ""
    """What was the case, where it was wrong; in words of our own and of the assumption."""
    quote: str = ""
    """What an observation or a person said of it, as it stood there."""
    spans: tuple[Span, ...] = ()
    """The steps that show it."""


UNKNOWN = Settled(held=Held.UNKNOWN, reason="nothing in the run shows whether it holds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call of the run."""

    step: Step
    command: str = ""
    """The shell text in the form to compare by; empty for other tools."""
    commands: tuple[Command, ...] = ()
    files: tuple[str, ...] = ()
    """Files that it surely changed, as seen from the workspace."""
    vague: bool = False
    """Whether it may have changed files that nobody can name."""

    @property
    def worked(self) -> bool | None:
        """Whether it ended well; nothing where its status tells nothing."""
        step = self.step
        if step.result in (StepResult.DENIED, StepResult.INTERRUPTED) or step.exit_code in COULD_NOT_RUN:
            return None
        if step.exit_code not in (0, None) or step.failed:
            return False
        if step.exit_code is None and step.result is not StepResult.OK:
            return None
        return None if self.commands and masks_exit(command_of(step.tool, step.arguments)) else True

    @property
    def only_reads(self) -> bool:
        """Whether it leaves everything as it was."""
        if self.commands:
            return all(map(changes_nothing, self.commands))
        name = plain_name(self.step.tool)
        return name in FILE_READERS | WEB_READERS or reads_by_name(name)

    @property
    def path(self) -> str:
        """The file that a plain tool names."""
        return "" if self.commands else named_file(self.step.arguments) or ""


@dataclass(frozen=True)
class Run:
    """What happened in a run since something was assumed."""

    trajectory: Trajectory
    stated_at: datetime | None = None

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls since then, without Tacit's own and those that only serve the agent itself."""
        since = (step for step in self.trajectory.steps if step.is_action and self._is_later(step))
        return tuple(self._call(step) for step in since if not _is_aside(step))

    @cached_property
    def said(self) -> tuple[tuple[str, Span], ...]:
        """What a person said, in order; last their word on how it ended."""
        if self.trajectory.parent_session_id:
            return ()  # what stands in the person's place is another agent's
        spoken = [
            (step.text, self.span(step, "text"))
            for step in self.trajectory.steps
            if step.role is Role.USER and not step.is_action and step.text.strip()
        ]
        asked = Span(self.trajectory.id, -1, "text")
        first = (
            [] if any(text == self.trajectory.task.text for text, _ in spoken) else [(self.trajectory.task.text, asked)]
        )
        after = [(self.trajectory.reply, asked)] if self.trajectory.reply.strip() else []
        return (*first, *spoken, *after)

    @cached_property
    def changed(self) -> dict[str, Step]:
        """Files that were surely changed, each with the first step that did."""
        found: dict[str, Step] = {}
        for call in self.calls:
            for file in call.files:
                found.setdefault(file, call.step)
        return found

    @property
    def vague(self) -> bool:
        """Whether files may have been changed that nobody can name."""
        return any(call.vague for call in self.calls)

    def span(self, step: Step, part: str = "arguments") -> Span:
        """A place in this run."""
        return Span(self.trajectory.id, step.index, part)

    def seen(self, path: str) -> str:
        """A path as seen from the workspace."""
        return canonical_path(path, workspace=self.trajectory.environment.workspace)

    def comparable(self, command: str, directory: str = "") -> str:
        """A shell text in the form to compare by."""
        return canonical_command(command, workspace=self.trajectory.environment.workspace, directory=directory)

    def _is_later(self, step: Step) -> bool:
        return self.stated_at is None or step.at is None or step.at + SAME_MOMENT >= self.stated_at

    def _call(self, step: Step) -> Call:
        text = command_of(step.tool, step.arguments)
        commands = parse_command(text) if text else ()
        sure = [output for command in commands for output in command.outputs]
        made = [change.file for change in changes(step)]
        if not commands:
            sure = [file for file in made if file]
        kept = (self.seen(file) for file in sure if not names_tacit_folder(file))
        started = step.arguments.get("workdir", step.arguments.get("cwd", ""))
        return Call(
            step=step,
            command=self.comparable(text, started if isinstance(started, str) else "") if text else "",
            commands=commands,
            files=_lasting(kept) if step.result is not StepResult.DENIED else (),
            vague=bool(set(made) - set(sure)) or any(map(_spreads, commands)),
        )


def _lasting(files: Iterable[str]) -> tuple[str, ...]:
    """Files as seen from the workspace, each once, without scratch: a workspace may itself lie where scratch files do."""
    return tuple(dict.fromkeys(file for file in files if not file.startswith(_SCRATCH)))


def quoted(text: str) -> str:
    """The line of an observation that says most, shortened."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"(?i)error|not found|no such|fail|denied|cannot|no rule", line)]
    return (telling or lines or [""])[0][:_QUOTED_MAX]


def _spreads(command: Command) -> bool:
    """Whether a command writes files that it does not name: formatters, and what keeps lists of dependencies."""
    formats = command.program in FORMATTERS and not {"--check", "--diff", "-c"} & set(command.flags)
    return formats or (command.program in _INSTALLERS and bool(_INSTALLING.match(command.subcommand)))


def _is_aside(step: Step) -> bool:
    commands = parse_command(command_of(step.tool, step.arguments))
    return is_internal(step.tool, step.arguments) or any(command.program == "tacit" for command in commands)
