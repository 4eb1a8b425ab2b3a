"""The normal form of a command: what is the same about it from day to day.

`cd /w/app && CI=1 uv run pytest -q tests/a.py 2>&1 | tail -5` has the form `uv run pytest`: wrapper, program and subcommand.
Options, settings, targets and folder are kept apart, so that two calls can be compared part by part. Redirections, pagers and
preparation (`cd`, `export`) are left out. Wrappers that nobody listed are found by comparison (`wrapper_of`).
"""

from __future__ import annotations

import re
from collections import namedtuple  # `typing` takes a hook too long to load
from functools import lru_cache

from tacit.text.programs import (
    DATA_PROGRAMS,
    FOLDER_FLAGS,
    NESTED_SUBCOMMANDS,
    SCAFFOLDING,
    TAKES_NAMES,
    VALUED_FLAGS,
)
from tacit.text.shell import Command, nested_script, parse_command

MAX_WORDS = 3
MAX_TYPED = 240
_WORD = re.compile(r"(?!v?\d)[A-Za-z][\w:+.-]{0,29}")
_HEX = re.compile(r"[0-9a-f]{7,}")
_FORMATTERS = frozenset({"gofmt", "goimports", "rustfmt"})
ALIASES = {"python3": "python", "pip3": "pip", "docker-compose": "docker compose", "nodejs": "node"}
"""Other names of programs → the usual ones."""
_PROGRAM = re.compile(r"[\w./~@+-]*[A-Za-z][\w./@+-]*")
_MODES = frozenset(
    "--check --fix --write -w --dry-run --list -l --diff --verify --update -u --abort --continue --skip".split()
)
"""Options that make another command of it: a check, a repair, the end of something begun."""
_SUFFIX = re.compile(r"(?<=\w)\.(?:py|[cm]?[jt]s|rb|php|pl)$")
_PLACE = re.compile(r"[/\\]|^\.{1,2}$|\.\w{1,5}$|^\$")


class CommandForm(namedtuple("CommandForm", "text goal options settings targets directory tokens typed command")):
    """One command of a shell line in normal form."""

    __slots__ = ()

    text: str
    """Wrapper, program and subcommand: `uv run pytest`, `npm run lint`, `scripts/release.sh`."""
    goal: str
    """Program and subcommand under their usual names, with options such as `--fix`: what the call is for."""
    options: frozenset[str]
    """Names of options, without values."""
    settings: frozenset[str]
    """Variables set for this call, with their values."""
    targets: tuple[str, ...]
    """Files, folders and other operands."""
    directory: str
    """Where the line says that it runs."""
    tokens: tuple[str, ...]
    """Every word from the wrapper on."""
    typed: str
    """The command as typed, with its settings and without redirections."""
    command: Command

    @property
    def program(self) -> str:
        """The program that runs, behind any wrapper."""
        return self.goal.split(" ", 1)[0]


@lru_cache(maxsize=20_000)
def command_forms(line: str) -> tuple[CommandForm, ...]:
    """Return the commands of a shell line in normal form; of a pipe only what feeds it."""
    found: list[CommandForm] = []
    piped = False
    for command in parse_command(line):
        into_pipe, piped = piped, command.connector == "|"
        script = nested_script(command)
        if script and script != line:
            found += command_forms(script)
        elif not into_pipe and command.program.casefold() not in SCAFFOLDING and _PROGRAM.fullmatch(command.program):
            found.append(_form(command))
    return tuple(found)


def same_goal(one: CommandForm, other: CommandForm) -> bool:
    """Whether two calls try for the same thing: equal goals, or one is the other behind a wrapper."""
    return one.goal == other.goal or bool(wrapper_of(one, other) or wrapper_of(other, one))


def follows(form: CommandForm, advised: CommandForm) -> bool:
    """Whether a call is made in the advised way already."""
    return (
        form.goal == advised.goal
        and form.text == advised.text
        and form.options >= advised.options
        and form.settings >= advised.settings
        and (not advised.directory or form.directory == advised.directory)
    )


def wrapper_of(outer: CommandForm, inner: CommandForm) -> str:
    """Return the words before the inner call, whose program and subcommand stand among the outer ones; empty if not."""
    if outer.text != inner.text and outer.text.endswith(f" {inner.text}"):
        return outer.text.removesuffix(inner.text).strip()
    own = tuple(inner.text.split())
    if outer.program in DATA_PROGRAMS and any(f"{word} ".startswith(f"{inner.text} ") for word in outer.targets):
        return outer.text  # `ssh host 'make test'`
    for at in range(1, len(outer.tokens) - len(own) + 1):
        if outer.tokens[at : at + len(own)] == own:
            return " ".join(outer.tokens[:at])
    return ""


def _form(command: Command) -> CommandForm:
    name = command.program
    if "/" in command.typed and not re.search(r"(?:^|/)s?bin/|^[/~$]", command.typed):  # a script of the project
        parts = [part for part in re.split(r"[/\\]", command.typed) if part not in ("", ".", "..")]
        name = "/".join(parts[-2:]) or command.typed
    words, targets = _subcommands(name, command.words[1:])
    wrapper = command.runner.split()
    options = frozenset(flag.partition("=")[0] for flag in command.flags if re.match(r"--?[A-Za-z]", flag))
    modes = sorted(options & _MODES) if name not in DATA_PROGRAMS or name in _FORMATTERS else ()
    goal = " ".join([ALIASES.get(name, _SUFFIX.sub("", name.rsplit("/", 1)[-1])), *words, *modes])  # a script may move
    start, runner = (command.text.find(part) if part else -1 for part in (command.typed, command.runner))
    text = command.text[runner if 0 <= runner < start else max(start, 0) :]
    bare = re.sub(r"\s*(?:\d|&)?>>?\s*(?:&\d|[^\s'\"]+)|\s*<<?-?\s*\S+", " ", text).strip(" (){}")
    typed = " ".join([*command.assignments, " ".join(bare.split())])
    return CommandForm(
        text=" ".join([*wrapper, name, *words]),
        goal=goal,
        options=options,
        settings=frozenset(command.assignments),
        targets=tuple(targets),
        directory=command.directory,
        tokens=(*wrapper, name, *command.words[1:]),
        typed=typed[:MAX_TYPED],
        command=command,
    )


def _subcommands(name: str, rest: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Split what follows a program into subcommand words and operands."""
    words: list[str] = []
    operands: list[str] = []
    valued = VALUED_FLAGS.get(name, frozenset()) | FOLDER_FLAGS.get(name, frozenset())
    most = 0 if name in DATA_PROGRAMS else MAX_WORDS if name in NESTED_SUBCOMMANDS else MAX_WORDS - 1
    if _SUFFIX.search(name):
        most = min(most, 1)  # what follows the verb of a script is a value
    is_open, skip = True, False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            skip = word in valued
            is_open = is_open and (not words or skip)
        elif (
            is_open
            and len(words) < most
            and _WORD.fullmatch(word)
            and not _PLACE.search(word)
            and not _HEX.fullmatch(word)
        ):
            words.append(word)
            is_open = word not in TAKES_NAMES
        else:
            operands.append(word)
            is_open = False
    return words, operands
