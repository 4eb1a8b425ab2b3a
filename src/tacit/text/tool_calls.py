"""A tool call in one form for every agent: its tool, what it runs, reads or writes, its effect, and whether it worked.

`ToolCall` is one call of an attempt. `Operation` is one thing that a call does: one command of a shell line, or the whole
call of any other tool. Tools of coding agents are known by name, others by how their names begin or end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tacit.domain.trajectory import Step, StepResult, Trajectory
from tacit.text.canonical import canonical_command, canonical_path
from tacit.text.file_edits import FileEdit, edits_of
from tacit.text.programs import SHELL_TOOLS, by_program
from tacit.text.shell import Command, is_check, nested_script, parse_command, shell_text
from tacit.text.text_sources import TACIT_TOOL_PREFIXES, is_tacit_skill, names_tacit_folder

INTERNAL_TOOLS = frozenset(
    "todowrite todoread todo_write update_plan think skill toolsearch exitplanmode enterplanmode askuserquestion "
    "slashcommand bashoutput killshell taskoutput taskstop write_stdin report_intent save_memory wait_agent list_agents "
    "followup_task interrupt_agent close_agent tool_search request_user_input get_goal create_goal update_goal taskcreate "
    "taskupdate tasklist taskget todo_read".split()
)
"""Tools that serve only the agent itself: planning, thinking, loading a skill."""
FILE_READERS = frozenset(
    "read read_file view view_image read_many_files notebookread ls list_dir list_directory glob file_search grep "
    "grep_search search_file_content codebase_search open_file find_path".split()
)
WEB_READERS = frozenset("webfetch web_fetch websearch web_search google_web_search".split())
FILE_WRITERS = frozenset(
    "write write_file create create_file edit edit_file multiedit replace str_replace str_replace_based_edit_tool "
    "str_replace_editor apply_patch notebookedit insert insert_edit_into_file multi_replace_string_in_file".split()
)
DESCRIBING = frozenset("description timeout timeout_ms run_in_background explanation justification".split())
"""Arguments that only describe a call."""
FRAMING = frozenset("workdir cwd login yield_time_ms max_output_tokens sandbox_permissions".split())
"""Arguments that set where and how a command runs, not what it does."""
PATHS = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "filename")
"""Arguments that name the file of a call, the most reliable first."""
SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "pushd", "popd", "true", ":"})
"""Commands that have no effect outside the shell."""
READERS = frozenset(
    "ls cat head tail grep egrep fgrep rg ag find fd tree pwd which whereis type wc stat file less more bat awk sed "
    "date id whoami uname hostname du df ps top env printenv man info sort uniq cut diff cmp jq yq tr column xxd "
    "hexdump basename dirname realpath readlink strings nl echo printf test [ [[ sleep history lsof netstat ss "
    "nproc free".split()
)
"""Programs that only read or print, unless an option or a redirection makes them write."""
_HELP_FLAGS = frozenset({"--help", "--version", "-V"})
_FIND_ACTIONS = frozenset({"-delete", "-exec", "-execdir"})
"""With these `find` changes what it finds."""
_READ_ONLY_SUBCOMMANDS = by_program(
    ("git", "status log diff show blame branch remote reflog ls-files grep describe rev-parse shortlog cat-file"),
    ("docker", "ps images logs inspect stats version info"),
    ("kubectl", "get describe logs top version"),
    ("pip pip3", "list show freeze"),
    ("npm", "ls list view outdated"),
    ("cargo", "tree metadata"),
    ("systemctl", "status list-units"),
)
_STREAM_EDITORS = frozenset({"sed", "perl"})
_IN_PLACE = re.compile(r"-\w*i|--in-place")
_FORGES = frozenset({"gh", "glab"})
_READ_ONLY_FORGE_COMMANDS = re.compile(r"(?:pr|issue|run|repo|release) (?:view|list|diff|checks|status)")
_READING_PREFIX = re.compile(
    r"(?:get|find|list|search|check|calculate|read|fetch|lookup|look_up|query|describe|show|view|can|is|has|count|inspect|"
    r"retrieve|browse|status|whoami|explain|compute|convert|validate|web_?fetch|web_?search)(?:_|$)"
)
_PROBING_WORD = re.compile(
    r"(?:^|_)(?:test|ping|diagnose|diagnostics|health|healthcheck|dry_run|lookup)(?:_|$)|_(?:search|status|list|info)$"
)
DELEGATING_TOOLS = frozenset({"agent", "task", "spawn_agent"})
"""Tools that hand work to another agent."""


class Effect(StrEnum):
    """What a call does to the world."""

    READ = "read"
    WRITE = "write"
    CHECK = "check"
    INTERNAL = "internal"
    """Serves only the agent itself, or is a call of Tacit: never part of a procedure."""


class ToolKind(StrEnum):
    """What kind of tool a call goes through."""

    SHELL = "shell"
    FILE = "file"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that a call does: one command of a shell line, or the whole call of any other tool."""

    name: str
    """The program of a command, `read` or `write` for a file tool, else the plain name of the tool."""
    effect: Effect
    command: Command | None = None
    path: str | None = None
    """For a file tool: the file relative to the workspace; empty where it is not known."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: str = ""
    """The whole shell line that the command is part of."""

    @property
    def label(self) -> str:
        """A short name for people."""
        return self.command.label if self.command else f"{self.name} {self.path or ''}".strip()

    @property
    def retry_key(self) -> tuple[str, ...]:
        """Equal for two tries of the same operation."""
        return ("$", self.command.label) if self.command else (self.name, self.path or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One classified tool call of an attempt."""

    step: Step
    effect: Effect
    kind: ToolKind
    command: str = ""
    """The shell text, for a shell tool."""
    commands: tuple[Command, ...] = ()
    path: str = ""
    """The file that a file tool reads or writes, where it names exactly one."""
    workspace: str = ""

    @property
    def index(self) -> int:
        """Position of the step in the attempt."""
        return self.step.index

    @property
    def name(self) -> str:
        """The tool without its server, in lower case."""
        return plain_name(self.step.tool)

    @property
    def worked(self) -> bool:
        """Whether nothing shows that it failed."""
        return not self.step.failed and not (self.kind is ToolKind.FUNCTION and is_error_answer(self.step.observation))

    @property
    def surely_worked(self) -> bool:
        """Whether the client recorded success."""
        return self.step.result is StepResult.OK and self.worked

    @property
    def programs(self) -> tuple[Command, ...]:
        """The commands with an effect outside the shell: without `cd`, `export` and the like."""
        return tuple(command for command in self.commands if command.program not in SILENT)

    @property
    def label(self) -> str:
        """A short name for people: the command without its operands, or the tool."""
        return self.programs[0].label if self.programs else self.step.tool

    @property
    def canonical(self) -> str:
        """The shell text in a form that is the same on every machine; empty for other tools."""
        if not self.command:
            return ""
        started = self.step.arguments.get("workdir", self.step.arguments.get("cwd", ""))
        directory = started if isinstance(started, str) else ""
        return canonical_command(self.command, workspace=self.workspace, directory=directory)

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """The files that an editing tool changes, and what it changes in them."""
        if self.kind is not ToolKind.FILE or self.effect is not Effect.WRITE:
            return ()
        return edits_of(self.step.arguments, workspace=self.workspace)

    @property
    def delegates(self) -> bool:
        """Whether the call hands work to another agent."""
        return self.kind is ToolKind.FUNCTION and self.name in DELEGATING_TOOLS


def tool_calls(trajectory: Trajectory) -> tuple[ToolCall, ...]:
    """Return the tool calls of an attempt in order, without internal ones."""
    workspace = trajectory.environment.workspace
    found = (tool_call(step, workspace) for step in trajectory.steps if step.is_action)
    return tuple(call for call in found if call.effect is not Effect.INTERNAL)


def tool_call(step: Step, workspace: str = "") -> ToolCall:
    """Classify one tool call."""
    name = plain_name(step.tool)
    command = command_of(step.tool, step.arguments)
    if command:
        commands = parse_command(command)
        internal = _runs_tacit(commands) or _reads_own_skill(step)
        effect = Effect.INTERNAL if internal else _line_effect(commands)
        return ToolCall(
            step=step, effect=effect, kind=ToolKind.SHELL, command=command, commands=commands, workspace=workspace
        )
    if is_internal(step.tool, step.arguments):
        return ToolCall(step=step, effect=Effect.INTERNAL, kind=ToolKind.FUNCTION, workspace=workspace)
    if name in _FILE_TOOLS:
        path = _named_path(step.arguments)
        internal = names_tacit_folder(path) or _reads_own_skill(step)
        effect = Effect.INTERNAL if internal else _FILE_TOOLS[name]
        return ToolCall(step=step, effect=effect, kind=ToolKind.FILE, path=path, workspace=workspace)
    return ToolCall(step=step, effect=_function_effect(name), kind=ToolKind.FUNCTION, workspace=workspace)


def operations_of(tool: str, arguments: Mapping[str, Any], *, workspace: str = "") -> tuple[Operation, ...]:
    """Return what a call does, in order; nothing for an internal call."""
    name = plain_name(tool)
    line = command_of(tool, arguments)
    if line:
        return shell_operations(line)
    if not name or is_internal(tool, arguments):
        return ()
    if name in FILE_READERS or name in FILE_WRITERS:
        effect = _FILE_TOOLS[name]
        path = _named_path(arguments, workspace=workspace)
        path = canonical_path(path, workspace=workspace) if named_file(arguments) is not None else path
        return (Operation(name=str(effect), effect=effect, path=path, arguments=arguments),)
    return (Operation(name=name, effect=_function_effect(name), arguments=arguments),)


def shell_operations(line: str) -> tuple[Operation, ...]:
    """Return what a shell line does, command by command, without `cd` and the like."""
    found: list[Operation] = []
    line = _BRACED.sub(r"‹\1›", line)  # braces of a placeholder have a meaning in a shell
    whole = " ".join(line.split())
    for command in parse_command(line):
        script = nested_script(command)
        if script and script != line:
            found += shell_operations(script)
        elif command.program not in SILENT and command.program != "tacit":
            effect = _line_effect((command,))
            found.append(Operation(name=command.program, effect=effect, command=command, line=whole))
    return tuple(found)


def plain_name(tool: str) -> str:
    """Return a tool's own name: without the server that offers it, in lower case."""
    return tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1].casefold()


def is_shell(tool: str) -> bool:
    """Whether a tool runs shell text."""
    return plain_name(tool) in SHELL_TOOLS


def command_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the shell text of a call; empty where its tool is not a shell."""
    return shell_text(arguments) if is_shell(tool) else ""


def essential(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that change what happens."""
    return {key: value for key, value in arguments.items() if key not in DESCRIBING}


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalar values in nested arguments, each with the nearest key above it."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, key)
    elif value is not None:
        yield key, value


def named_file(arguments: Mapping[str, Any]) -> str | None:
    """Return the file that a call names in an argument of its own."""
    return next((value for key in PATHS if isinstance(value := arguments.get(key), str)), None)


def is_error_answer(observation: str) -> bool:
    """Whether a tool's answer is an error message, whatever result the client recorded."""
    return _ERROR_ANSWER.match(observation[:200]) is not None


def is_internal(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool, other than a shell, serves only the agent itself or belongs to Tacit."""
    name = plain_name(tool)
    to_agent = name == "send_message" and "target" in arguments  # to another agent of the same session
    return name in INTERNAL_TOOLS or to_agent or tool.casefold().startswith(TACIT_TOOL_PREFIXES)


def reads_by_name(name: str) -> bool:
    """Whether the plain name of an unknown tool suggests that it only reads."""
    snake = re.sub(r"[-\s]+", "_", name)
    return _READING_PREFIX.match(snake) is not None or _PROBING_WORD.search(snake) is not None


def only_reads(command: Command) -> bool:
    """Whether a command only reads or prints."""
    if command.outputs or edits_in_place(command) or _FIND_ACTIONS & set(command.flags):
        return False
    if _HELP_FLAGS & set(command.flags):
        return True
    if command.program == "git" and command.subcommand == "branch" and command.operands:
        return False
    if command.program in _FORGES and _READ_ONLY_FORGE_COMMANDS.fullmatch(command.subcommand):
        return True
    return command.program in READERS or command.subcommand in _READ_ONLY_SUBCOMMANDS.get(command.program, ())


def changes_nothing(command: Command) -> bool:
    """Whether a command has no effect outside the shell, or only reads."""
    return not command.outputs and (command.program in SILENT or only_reads(command))


def edits_in_place(command: Command) -> bool:
    """Whether a stream editor writes back to the files it reads."""
    return command.program in _STREAM_EDITORS and any(_IN_PLACE.match(flag) for flag in command.flags)


_BRACED = re.compile(r"\{(\w+)\}")
_ERROR_ANSWER = re.compile(r"\s*(?:error|failed)\b\s*[:\-!]|\s*\{\s*\"error\"\s*:", re.IGNORECASE)
_FILE_TOOLS = dict.fromkeys(FILE_READERS | WEB_READERS, Effect.READ) | dict.fromkeys(FILE_WRITERS, Effect.WRITE)


def _runs_tacit(commands: tuple[Command, ...]) -> bool:
    """Whether a line runs Tacit or touches its folder: learning from it would repeat Tacit's own advice."""
    return any(
        command.program == "tacit"
        or any(names_tacit_folder(word) for word in command.operands)
        or _runs_tacit(parse_command(nested_script(command)))
        for command in commands
    )


def _reads_own_skill(step: Step) -> bool:
    """Whether a call reads a skill file that Tacit wrote."""
    typed = (str(value) for _, value in leaves(step.arguments))
    return any("SKILL.md" in text for text in typed) and is_tacit_skill(step.observation)


def _line_effect(commands: tuple[Command, ...]) -> Effect:
    if any(is_check(command) for command in commands):
        return Effect.CHECK
    return Effect.READ if all(changes_nothing(command) for command in commands) else Effect.WRITE


def _function_effect(name: str) -> Effect:
    return Effect.READ if reads_by_name(name) else Effect.WRITE


def _named_path(arguments: Mapping[str, Any], *, workspace: str = "") -> str:
    """Return the file that a call names, or the only file that its edits change."""
    named = named_file(arguments)
    if named is not None:
        return named
    edits = edits_of(arguments, workspace=workspace)
    return edits[0].file if len(edits) == 1 else ""
