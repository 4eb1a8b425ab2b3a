"""A step of a trajectory → what kind of action it was: does it read, write or check, and did it work.

Knows the tools of coding agents by name and other tools by how their names begin. It looks at one step at a time; what
an action contributed to the whole is decided by those who see the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tacit.domain.trajectory import Step, StepResult, Trajectory
from tacit.text import own
from tacit.text.canonical import canonical_command
from tacit.text.file_edits import FileEdit, edits_of
from tacit.text.programs import SHELL_TOOLS
from tacit.text.shell import Command, is_check, nested_script, parse_command, shell_text
from tacit.text.tools import (
    ASIDES,
    DESCRIBING,
    FILE_READERS,
    FILE_WRITERS,
    SILENT,
    WEB_READERS,
    named_file,
    only_looks,
    plain_name,
    reads_by_name,
)


class Effect(StrEnum):
    """What an action does to the world."""

    READ = "read"
    WRITE = "write"
    CHECK = "check"
    ASIDE = "aside"
    """Planning, thinking, loading a skill: never part of a procedure."""


class Family(StrEnum):
    """What sort of tool it goes through."""

    SHELL = "shell"
    FILE = "file"
    CALL = "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A tool call, classified."""

    step: Step
    effect: Effect
    family: Family
    command: str = ""
    """The shell text, where there is one."""
    commands: tuple[Command, ...] = ()
    path: str = ""
    """The one file it reads or changes, where that is known."""
    workspace: str = ""

    @property
    def index(self) -> int:
        """Position of the step."""
        return self.step.index

    @property
    def worked(self) -> bool:
        """Whether nothing says that it failed."""
        return not self.step.failed and not answers_error(self)

    @property
    def surely_worked(self) -> bool:
        """Whether the client said that it worked."""
        return self.step.result is StepResult.OK and self.worked

    @property
    def programs(self) -> tuple[Command, ...]:
        """The commands that do something: without `cd`, `export` and the like."""
        return tuple(command for command in self.commands if command.program not in SILENT)

    @property
    def label(self) -> str:
        """How a person would name it: the command without its operands, or the tool."""
        return self.programs[0].label if self.programs else self.step.tool

    @property
    def canonical(self) -> str:
        """The shell text in the form that is the same on every machine; empty where there is none."""
        started = self.step.arguments.get("workdir", self.step.arguments.get("cwd", ""))
        directory = started if isinstance(started, str) else ""
        return canonical_command(self.command, workspace=self.workspace, directory=directory) if self.command else ""

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """The files that an editing tool was asked to change, and what in them."""
        if self.family is not Family.FILE or self.effect is not Effect.WRITE:
            return ()
        return edits_of(self.step.arguments, workspace=self.workspace)


def actions_of(trajectory: Trajectory) -> tuple[Action, ...]:
    """The meaningful tool calls of a trajectory, in order; asides and Tacit's own are left out."""
    workspace = trajectory.environment.workspace
    found = (action_of(step, workspace) for step in trajectory.steps if step.is_action)
    return tuple(action for action in found if action.effect is not Effect.ASIDE)


def action_of(step: Step, workspace: str = "") -> Action:
    """Classify one tool call."""
    name = plain_name(step.tool)
    command = command_text(step)
    if command:
        commands = parse_command(command)
        effect = Effect.ASIDE if _own_line(commands) or _own_skill(step) else _shell_effect(commands)
        return Action(
            step=step, effect=effect, family=Family.SHELL, command=command, commands=commands, workspace=workspace
        )
    if _is_aside(name, step.arguments) or step.tool.casefold().startswith(own.TOOLS):
        return Action(step=step, effect=Effect.ASIDE, family=Family.CALL, workspace=workspace)
    if name in _FILE_TOOLS:
        path = _path(step.arguments)
        effect = Effect.ASIDE if own.names_folder(path) or _own_skill(step) else _FILE_TOOLS[name]
        return Action(step=step, effect=effect, family=Family.FILE, path=path, workspace=workspace)
    effect = Effect.READ if reads_by_name(name) else Effect.WRITE
    return Action(step=step, effect=effect, family=Family.CALL, workspace=workspace)


def command_text(step: Step) -> str:
    """The shell text of a step, or nothing if its tool is no shell."""
    return shell_text(step.arguments) if plain_name(step.tool) in SHELL_TOOLS else ""


def delegates(action: Action) -> bool:
    """Whether the call hands work to another agent."""
    return action.family is Family.CALL and plain_name(action.step.tool) in ("agent", "task", "spawn_agent")


def answers_error(action: Action) -> bool:
    """Whether a plain tool's answer is an error message though the client calls it a success."""
    return action.family is Family.CALL and bool(_ERROR_ANSWER.match(action.step.observation[:200]))


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The scalar values in a nest of arguments, each with the nearest key above it."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, key)
    elif value is not None:
        yield key, value


def reads(command: Command) -> bool:
    """Whether a command only looks or prints."""
    return not command.outputs and (command.program in SILENT or only_looks(command))


def same_call(left: Step, right: Step) -> bool:
    """Whether two steps are the same call with the same arguments, apart from what only describes it."""
    return left.tool == right.tool and essential(left) == essential(right)


def essential(step: Step) -> dict[str, Any]:
    """The arguments that make a difference to what happens."""
    return {key: value for key, value in step.arguments.items() if key not in DESCRIBING}


_ERROR_ANSWER = re.compile(r"\s*(?:error|failed)\b\s*[:\-!]|\s*\{\s*\"error\"\s*:", re.IGNORECASE)
_FILE_TOOLS = dict.fromkeys(FILE_READERS | WEB_READERS, Effect.READ) | dict.fromkeys(FILE_WRITERS, Effect.WRITE)


def _is_aside(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool only serves the agent itself; a message is one if it goes to another agent of the same session."""
    return name in ASIDES or (name == "send_message" and "target" in arguments)


def _own_line(commands: tuple[Command, ...]) -> bool:
    """Tacit watching itself would learn from its own advice: what it says, and what it keeps."""
    return any(
        command.program == "tacit"
        or any(own.names_folder(word) for word in command.operands)
        or _own_line(parse_command(nested_script(command)))
        for command in commands
    )


def _own_skill(step: Step) -> bool:
    """Whether a skill was read that Tacit wrote."""
    typed = (str(value) for _, value in leaves(step.arguments))
    return any("SKILL.md" in text for text in typed) and own.is_written_skill(step.observation)


def _shell_effect(commands: tuple[Command, ...]) -> Effect:
    if any(is_check(command) for command in commands):
        return Effect.CHECK
    return Effect.READ if all(reads(command) for command in commands) else Effect.WRITE


def _path(arguments: Mapping[str, Any]) -> str:
    named = named_file(arguments)
    if named is not None:
        return named
    edits = edits_of(arguments)
    return edits[0].file if len(edits) == 1 else ""
