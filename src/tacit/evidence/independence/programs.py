"""Shell text → the programs and files that it would run here, as far as its words show. Runs nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tacit.config.check_environment import check_environment
from tacit.text.shell import Command, nested_script, parse_command

_RUNS_ITS_OPERANDS = frozenset(
    "pytest py.test unittest doctest jest vitest mocha ava tap rspec phpunit pest busted node make gmake just task "
    "ninja bash sh dash zsh source .".split()
)


def programs_of(text: str, folder: Path, *, search_path: str = "") -> Iterator[tuple[str, Path]]:
    """Each program of a text by name, with the file that would run."""
    path = check_environment(folder, search_path=search_path)["PATH"]
    for command in _commands(text):
        runner = command.runner.split()[0] if command.runner else ""
        for name in dict.fromkeys(filter(None, (*_first_words(command), runner, command.typed))):
            found = _located(name, folder / command.directory, path)
            if found is not None:
                yield name, found


def files_run(text: str, folder: Path, root: Path) -> set[str]:
    """The files below a root that a text runs, as paths from that root: scripts, and the files that a test runner is given."""
    found: set[str] = set()
    for command in _commands(text):
        named = [command.typed]
        if command.program in _RUNS_ITS_OPERANDS:
            named += [word.split("::")[0] for word in command.operands]
        for name in named:
            for variant in (name, f"{name}.py", f"{name.replace('.', '/')}.py"):
                path = os.path.relpath(os.path.normpath(folder / command.directory / variant), root)
                if not path.startswith("..") and (root / path).is_file():
                    found.add(path)
    return found


def _commands(text: str) -> Iterator[Command]:
    for command in parse_command(text):
        nested = nested_script(command)
        yield command
        if nested:
            yield from _commands(nested)


def _first_words(command: Command) -> tuple[str, ...]:
    """The word that the shell itself looks up, where the program was launched by another."""
    words = command.text.strip(" (){}").split()
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
        words.pop(0)
    return tuple(words[:1])


def _located(name: str, folder: Path, path: str) -> Path | None:
    if "/" in name:
        file = folder / name
        return file if file.is_file() else None
    found = shutil.which(name, path=path)
    return Path(found) if found else None
