"""One command of a shell → what it touches: its own name, what it runs in turn, packages, hosts, variables, paths, effects.

A command is named by its program, with its subcommand where it has one; a program that only runs another one is named with
it (`npx left-pad`, `python3 -m unittest`, `bash tools/setup.sh`). What only stands before a command, as `sudo` does, is a
command too. Words are read, nothing is run and nothing is judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.domain.trust import Touched
from tacit.text.programs import MEDDLING
from tacit.text.shell import Command, nested_script, parse_command
from tacit.text.touches.effects import effects_of
from tacit.text.touches.hosts import hosts_of
from tacit.text.touches.launching import before_it, launched, packages_run, run_in_turn
from tacit.text.touches.shapes import INSTALLERS, OUTSIDE, PROGRAMS, WRITERS

_FILLED_IN = "_"
"""Stands where something else was run to fill in a word."""
_HARMLESS = frozenset({"cd", "pwd", "true", "false", ":", _FILLED_IN})
"""Touch nothing, whatever they are given."""
_SCRIPT_FILES = (".sh", ".bash", ".zsh")
_PROGRAM = re.compile(r"[a-z][a-z\d]*(?:[+_.-][a-z\d]+){0,4}")
_GIVEN = re.compile(r"--[a-z][\w-]+(?:=.*)?|-[A-Za-z]{1,3}|[a-z][a-z\d+.-]*://\S+")
_SUBSTITUTION = re.compile(r"[$<]\(([^()]{2,2000})\)")
_MAX_DEPTH = 3


def touched_by(script: str, *, known: bool = True, depth: int = 0) -> Iterator[tuple[Touched, str]]:
    """What the commands of a script touch; of the `known` ones alone where the text may be no script at all."""
    for command in (each for part in _with_substitutions(script) for each in parse_command(part)):
        prefixes, variables = before_it(command)
        if command.program in _HARMLESS or (known and not _is_known(command, prefixes)):
            continue
        yield from ((Touched.COMMAND, prefix) for prefix in prefixes)
        yield from ((Touched.VARIABLE, name) for name in (*variables, *_meddling(command)))
        yield Touched.COMMAND, launched(command)
        yield from ((Touched.PACKAGE, package) for package in (*packages_run(command), *_installed(command)))
        yield from ((Touched.HOST, host) for host in hosts_of(command))
        yield from ((Touched.WRITE, target) for target in _written(command))
        yield from ((Touched.EFFECT, effect) for effect in effects_of(command))
        if depth < _MAX_DEPTH:
            for inner in filter(None, (nested_script(command), *run_in_turn(command))):
                yield from touched_by(inner, known=False, depth=depth + 1)


def _with_substitutions(script: str) -> Iterator[str]:
    """A script, and before it what it runs to fill in its own words: `$(…)`, `<(…)`, the innermost first."""
    for _ in range(_MAX_DEPTH):
        inner = _SUBSTITUTION.findall(script)
        if not inner:
            break
        yield from inner
        script = _SUBSTITUTION.sub(_FILLED_IN, script)
    yield script


def _is_known(command: Command, prefixes: tuple[str, ...]) -> bool:
    """Whether this is a command for sure: it may be words in back-ticks, or the first words of a sentence."""
    head = command.runner.partition(" ")[0] or command.program
    return (
        head in PROGRAMS
        or bool({"sudo", "doas", "nohup"} & set(prefixes))
        or _is_script(command)
        or _is_given_as_one(command)
    )


def _is_given_as_one(command: Command) -> bool:
    """Whether a word that nobody knows is used as programs are: with a flag or an address behind it."""
    return _PROGRAM.fullmatch(command.typed) is not None and any(map(_GIVEN.fullmatch, command.words[1:4]))


def _is_script(command: Command) -> bool:
    """Whether a path stands for a program here, not for a file that is spoken of."""
    return (
        command.typed.startswith(("./", "/", "~/"))
        and not command.typed.endswith("/")
        and (len(command.words) > 1 or command.typed.endswith(_SCRIPT_FILES))
    )


def _meddling(command: Command) -> Iterator[str]:
    """Variables set for it that change what runs; others that it is given are its own affair."""
    for assignment in command.assignments:
        name = assignment.partition("=")[0].rstrip("+")
        if MEDDLING.fullmatch(name):
            yield name


def _installed(command: Command) -> Iterator[str]:
    verbs = INSTALLERS.get(command.program)
    if verbs is not None and command.subcommand.split(" ")[-1] in verbs:
        for operand in command.operands:
            if not operand.startswith(("-", ".", "/", "$", "<", "{")) and "://" not in operand:
                yield operand


def _written(command: Command) -> Iterator[str]:
    """Paths outside the workspace that a command writes."""
    targets = list(command.outputs)
    if command.program in WRITERS:
        last = command.program in ("cp", "mv", "ln", "install", "rsync", "scp")
        targets.extend(command.operands[-1:] if last else command.operands)
    for target in targets:
        if OUTSIDE.fullmatch(target) and not target.startswith("/dev/"):
            yield target
