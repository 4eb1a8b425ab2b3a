"""A JavaScript program of code mode and what it printed → the call in it that left no item, if there is one.

The calls that a program makes are told by items, as in the classic mode. What was refused, could not match or broke the
program itself has to be read off its output, and so has a command that failed at once in the sandbox. Finds literal
commands and patches; runs and understands nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from tacit.domain.trajectory import StepResult
from tacit.ingest.codex.outcome import result_of_words

_PATCH, _PATCH_END = "*** Begin Patch", "*** End Patch"
_COMMAND = re.compile(
    r"""\bcmd["']?\s{0,20}:\s{0,20}(?:"((?:[^"\\]|\\.){0,4000})"|'((?:[^'\\]|\\.){0,4000})'|`([^`$]{0,4000})`)"""
)
_EXIT_CODE = re.compile(r'"exit_code":(\d{1,9})\b')
_VERIFIED = "apply_patch verification failed"
_BROKEN = "Script failed"
_ERROR = "Script error:\n"
RUNNING = "Script running"


@dataclass(slots=True)
class Program:
    """One program while it runs, and those of its calls that have left items."""

    call_id: str
    code: str
    message_id: str
    commands: list[str] = field(default_factory=list)
    patches: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Untold:
    """A call that left no item: a patch, a command, or the program itself if it is neither."""

    result: StepResult
    observation: str
    patch: str = ""
    command: str = ""
    exit_code: int | None = None


def untold(program: Program, output: str) -> Untold | None:
    """The call that failed without an item, if the output tells of one."""
    patches = list(_patches(program.code))[program.patches :]
    if _VERIFIED in output and patches:
        said = output[output.index(_VERIFIED) :]
        return Untold(result_of_words(said), said, patch=patches[0])
    commands = [command for command in _commands(program.code) if command not in program.commands]
    if not output.startswith(_BROKEN):
        return _unseen(program, commands[0], output) if commands else None
    _, found, said = output.partition(_ERROR)
    said = said if found else output
    result = result_of_words(said)
    if said.startswith("patch ") and patches:
        return Untold(result, said, patch=patches[0])
    if result is StepResult.DENIED and commands:
        return Untold(result, said, command=commands[0])
    return Untold(StepResult.FAILED if result is StepResult.UNKNOWN else result, said)


def _unseen(program: Program, command: str, output: str) -> Untold | None:
    """A command of a program that went through; it may never have come to it, unless the output shows its exit code."""
    codes = _EXIT_CODE.findall(output)
    if len(codes) <= len(program.commands):
        return None
    code = int(codes[-1])
    return Untold(StepResult.OK if code == 0 else StepResult.FAILED, output, command=command, exit_code=code)


def _patches(code: str) -> Iterator[str]:
    end = 0
    while (start := code.find(_PATCH, end)) >= 0 and (close := code.find(_PATCH_END, start)) >= 0:
        end = close + len(_PATCH_END)
        yield _unescaped(code[start:end])


def _commands(code: str) -> Iterator[str]:
    for double, single, plain in _COMMAND.findall(code):
        yield plain or _unescaped(double or single.replace('"', '\\"').replace("\\'", "'"))


def _unescaped(literal: str) -> str:
    """Read the inside of a string literal; as it stands if it has no escapes or odd ones."""
    try:
        return msgspec.json.decode(f'"{literal}"', type=str)
    except (msgspec.DecodeError, UnicodeError):
        return literal
