"""Contracts: what a skill relies on in its surroundings, and what has changed of that since it was noted. Pure.

Only what the skill's own steps and checks name is looked at: programs, files of the project, and goals that one of its
files defines. What was never there has not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tacit.domain.contract import Ground, Reliance
from tacit.domain.skill import SkillContent
from tacit.text.programs import SHELL_TOOLS
from tacit.text.shell import Command, parse_command, shell_text

MOST = 40
_BUILT_IN = frozenset(
    "cd echo printf export set unset source . : true false test [ [[ exit return read eval exec alias type wait trap umask "
    "pwd if then else fi for do done while case esac function local shift ulimit".split()
)
_FILE_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_IS_PATH = re.compile(
    r"(?:[\w.@-]+/)*[\w.@-]*\w\.[A-Za-z][A-Za-z0-9]{0,9}|(?:[\w.@-]+/)+[\w.@-]+/?|Makefile|Dockerfile|justfile"
)
_OPEN = re.compile(r"[{}$*?<>|~]|\.\./|^/|^\w+:")
_MAKES = frozenset({"make", "gmake", "just", "task"})
_SCRIPTS = frozenset({"npm", "pnpm", "yarn", "bun"})
_GOAL = re.compile(r"[\w][\w.:/-]*")


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing that is no longer as it was."""

    text: str
    grave: bool
    """Whether the skill cannot be done as it says; a missing program may only be missing on this machine."""


def relies_on(content: SkillContent) -> Reliance:
    """What the steps and checks of a skill name."""
    commands = [command for text in _shell_texts(content) for command in parse_command(text)]
    programs = (
        name
        for command in commands
        for name in (command.runner.partition(" ")[0], command.program)
        if _is_program(name, command)
    )
    named = (str(step.arguments[key]) for step in content.steps for key in _FILE_ARGUMENTS if key in step.arguments)
    operands = (word for command in commands for word in (*command.operands, command.typed) if _IS_PATH.fullmatch(word))
    made = {output for command in commands for output in command.outputs}
    files = (path for path in (*named, *operands) if not _OPEN.search(path) and path not in made)
    return Reliance(
        programs=_first(programs),
        files=_first(str(PurePosixPath(path)) for path in files),
        targets=_first(goal for command in commands for goal in _goals(command)),
    )


def drift(relied: Reliance, before: Ground, now: Ground) -> list[Drift]:
    """What was there when it was noted, and is gone or another now."""
    gone = [path for path in relied.files if path in before.files and path not in now.files]
    lost = [goal for goal in relied.targets if goal in before.targets and goal not in now.targets]
    found = [Drift(f"`{path}` is gone", grave=True) for path in gone]
    found += [Drift(f"`{goal}` is no longer defined", grave=True) for goal in lost]
    for name in relied.programs:
        was, version = before.programs.get(name), now.programs.get(name)
        if was is not None and version is None:
            found.append(Drift(f"`{name}` is not installed here any more", grave=False))
        elif was and version and _major(was) != _major(version):
            found.append(Drift(f"`{name}` was {was} and is {version}", grave=False))
    return found


def _shell_texts(content: SkillContent) -> Iterator[str]:
    for step in content.steps:
        if step.tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1].casefold() in SHELL_TOOLS:
            yield shell_text(step.arguments)
        elif not step.tool:
            yield from _QUOTED.findall(step.text)
    yield from (condition.check for condition in (*content.preconditions, *content.postconditions) if condition.check)


def _is_program(name: str, command: Command) -> bool:
    """Whether a name is looked for among the programs: not a word of the shell, nor a script that another one runs."""
    is_script = name == command.program and ("/" in command.typed or (command.runner and "." in name))
    return bool(name) and name not in _BUILT_IN and not is_script and not _OPEN.search(name) and "/" not in name


def _goals(command: Command) -> Iterator[str]:
    words = [word for word in command.words[1:] if not word.startswith("-") and "=" not in word]
    if command.program in _MAKES:
        yield from (f"{command.program} {word}" for word in words if _GOAL.fullmatch(word))
    elif command.program in _SCRIPTS and words[:1] == ["run"] and len(words) > 1 and _GOAL.fullmatch(words[1]):
        yield f"{command.program} run {words[1]}"


def _major(version: str) -> str:
    return version.split(".", 1)[0]


def _first(items: Iterator[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(items)))[:MOST]
