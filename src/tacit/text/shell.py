"""Parses shell text into commands: program, subcommand, flags, operands, connectors; and recognises checks.

Reads what agents type into a shell tool well enough to see which program ran. It runs and expands nothing and is not a full
shell grammar: what it cannot parse stays as words.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import namedtuple  # `typing` takes a hook too long to load
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tacit.text.programs import (
    CHECK_GOALS,
    CHECK_SCRIPT,
    CHECKERS,
    FOLDER_FLAGS,
    FORMATTERS,
    IDLE_FLAGS,
    IDLE_SHORT_FLAGS,
    LAUNCHER_VALUED,
    LAUNCHERS,
    RUNNERS,
    TWO_WORDS,
    VALUED_FLAGS,
    WITH_SUBCOMMAND,
    WRAPPERS,
    WRAPPERS_VALUED,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TEXT = 20_000  # longer scripts are data, not typed commands


_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_GOALS_AS_OPERANDS = frozenset("make gmake just mvn mvnw gradle gradlew sbt rake".split())
BARE = "="
"""Stands for the program where a command only sets variables."""


class Command(
    namedtuple(
        "Command",
        "program typed runner subcommand flags operands words assignments outputs directory connector text",
        defaults=("", "", "", (), (), (), (), (), "", "", ""),
    )
):
    """One simple command of a line, without wrappers and redirections."""

    __slots__ = ()

    program: str
    """Base name of what runs: `pytest` for `.venv/bin/pytest`, `manage.py` for `python3 manage.py`."""
    typed: str
    """The program as it was typed."""
    runner: str
    """Interpreter or launcher before it, as typed: `python3 -m`, `uv run`."""
    subcommand: str
    flags: tuple[str, ...]
    operands: tuple[str, ...]
    words: tuple[str, ...]
    """The program and everything after it, in order."""
    assignments: tuple[str, ...]
    outputs: tuple[str, ...]
    """Files that its output is written to, without `/dev/null` and descriptors."""
    directory: str
    """Where it runs, if the line shows it: an earlier `cd`, then its own `-C` or `--prefix`."""
    connector: str
    """What joins it to the next command: `&&`, `||`, `;`, `|`, `&` or nothing."""
    text: str

    @property
    def label(self) -> str:
        """Launcher, program and subcommand: a short name for people."""
        return " ".join(part for part in (self.runner, self.program, self.subcommand) if part)


def parse_command(text: str, *, bare: bool = False) -> tuple[Command, ...]:
    """Split a shell text into its simple commands, in order; `bare` keeps those that only set variables, as `=`."""
    return _parse_short(text, bare) if len(text) <= _SHORT else _parse(text, bare)


def _parse(text: str, bare: bool) -> tuple[Command, ...]:
    commands: list[Command] = []
    here = ""  # changed by `cd` and `pushd`, restored by `popd` and the end of a subshell
    pushed: list[str] = []
    around: list[str] = []
    for segment, connector in _segments(without_heredocs(text)[:MAX_TEXT]):
        opened = re.match(r"[\s({]*", segment)
        around += [here] * (opened.group().count("(") if opened else 0)
        command = _command(segment, connector=connector, directory=here)
        if command is not None and (command.program != BARE or bare):
            commands.append(command)
            if command.program == "popd":
                here = pushed.pop() if pushed else ""
            elif command.program.casefold() in ("cd", "pushd", "chdir", "set-location"):
                pushed += [here] if command.program == "pushd" else []
                target = command.operands[0] if command.operands else "~"
                here = "" if target == "-" else inside(here, target)
        closed = segment.count(")") - len(re.findall(r"(?<=[^\s({])\(", segment))
        for _ in range(min(closed, len(around))):
            here = around.pop()
    return tuple(commands)


_SHORT = 400
_parse_short = lru_cache(maxsize=4096)(_parse)
"""The same short lines are parsed often when attempts are compared; scripts are not."""


def is_check(command: Command | str) -> bool:
    """Whether this runs tests, a build or a linter, so that its exit status says something about the work."""
    if isinstance(command, str):
        return any(is_check(part) for part in parse_command(command))
    nested = nested_script(command)
    if nested:
        return is_check(nested)
    if any(flag.split("=")[0] in IDLE_FLAGS for flag in command.flags):
        return False
    if command.program in IDLE_SHORT_FLAGS and IDLE_SHORT_FLAGS[command.program] & set(command.flags):
        return False
    if command.program in CHECKERS:
        return True
    if command.program in FORMATTERS:
        return bool({"--check", "--diff", "-c"} & set(command.flags))
    if command.program == "node":
        return "--test" in command.flags
    if CHECK_SCRIPT.fullmatch(command.program):
        return True
    goals = CHECK_GOALS.get(command.program)
    words = [command.subcommand]
    if command.program in _GOALS_AS_OPERANDS:
        words += command.operands
    if command.program == "cmake":
        words += command.flags
    if command.program == "cargo" and "--check" in command.flags:
        words.append(f"{command.subcommand} --check")
    return goals is not None and any(map(goals.fullmatch, words))


def shell_text(arguments: Mapping[str, Any], keys: Sequence[str] = ("command", "cmd", "script")) -> str:
    """Return what a shell tool was given to run, as text or words; the script where a shell was called to run it."""
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value):
            called = len(value) == 3 and _basename(value[0]) in _SHELLS and re.fullmatch(r"-[a-z]*c", value[1])
            return str(value[2]) if called else shlex.join(value)
    return ""


# --- checks ---------------------------------------------------------------------------------------------------------


def nested_script(command: Command) -> str:
    """Return the script of `bash -c "…"`."""
    if command.program in _SHELLS and command.operands:
        at = next((i for i, word in enumerate(command.words) if re.fullmatch(r"-[a-z]*c", word)), None)
        if at is not None and at + 1 < len(command.words):
            return command.words[at + 1]
    return ""


# --- splitting ------------------------------------------------------------------------------------------------------

_HEREDOC = re.compile(r"<<-?\s*(?P<quote>['\"]?)(?P<tag>\w+)(?P=quote)")
_REDIRECT = re.compile(r"(?:\d|&)?(?P<sign>>>|>\||>|<<<|<)(?P<duplicate>&(?:\d|-))?(?P<target>.*)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_KEYWORDS = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "(", ")"})


def without_heredocs(text: str) -> str:
    """Remove the bodies of here-documents: they are data."""
    if "<<" not in text:
        return text
    kept: list[str] = []
    waiting: list[str] = []
    for line in text.split("\n"):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.pop(0)
            continue
        waiting.extend(match["tag"] for match in _HEREDOC.finditer(line) if not line[: match.start()].endswith("<"))
        kept.append(_HEREDOC.sub("", line) if waiting else line)
    return "\n".join(kept)


def _segments(text: str) -> Iterator[tuple[str, str]]:
    """Split at operators outside quotes and substitutions."""
    start = i = 0
    while i < len(text):
        i = _skip_quoted(text, i)
        if i >= len(text):
            break
        operator = text[i : i + 2]
        if operator not in ("&&", "||", ";;", "|&"):
            operator = text[i] if text[i] in ";|&\n" else ""
        if (operator == "&" and (text[i + 1 : i + 2] == ">" or text[i - 1 : i] in (">", "<"))) or (
            operator == "|" and text[i - 1 : i] == ">"
        ):
            operator = ""  # part of a redirection
        if operator:
            yield text[start:i].strip(), ";" if operator in ("\n", ";;") else "|" if operator == "|&" else operator
            i += len(operator)
            start = i
        elif text[i] == "#" and (i == 0 or text[i - 1].isspace()):
            end = text.find("\n", i)
            end = len(text) if end < 0 else end
            text = text[:i] + text[end:]
        else:
            i += 1
    yield text[start:].strip(), ""


def _skip_quoted(text: str, i: int) -> int:
    """Move past a quoted run or substitution that starts here; an unclosed one ends with the text."""
    character = text[i]
    if character == "\\":
        return i + 2
    if character in "'`":
        end = text.find(character, i + 1)
        return len(text) if end < 0 else end + 1
    if character == '"':
        end = i + 1
        while end < len(text) and text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        return end + 1
    if character == "$" and text[i + 1 : i + 2] == "(":
        depth, i = 0, i + 1
        while i < len(text):
            depth += {"(": 1, ")": -1}.get(text[i], 0)
            i = _skip_quoted(text, i) if text[i] in "'\"\\" else i + 1
            if depth == 0:
                break
    return i


# --- working directory ----------------------------------------------------------------------------------------------

_LONGEST_PATH = 4096
_STANDS_ALONE = re.compile(r"[/~$]|[A-Za-z]:[\\/]")


def inside(directory: str, path: str) -> str:
    """Return a path relative to the start of the line: `../b` in `a` is `b`; an absolute path stays."""
    if not directory or len(directory) > _LONGEST_PATH or _STANDS_ALONE.match(path):
        return path
    return posixpath.normpath(f"{directory}/{path}")


def folders_named(programs: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Yield the folders in a command's flags: `-C web`, `--prefix=web`."""
    flags = frozenset[str]().union(*(FOLDER_FLAGS.get(program, ()) for program in programs))
    for word, following in zip(words, [*words[1:], ""], strict=True) if flags else ():
        name, given, behind = word.partition("=")
        value = behind if given else following
        if name in flags and value:
            yield value


# --- one command ----------------------------------------------------------------------------------------------------

_WRAPPER_VALUES = re.compile(r"\d+(?:\.\d+)?[smhd]?|-\w+|--[\w-]+(?:=.*)?")
_INTERPRETER = re.compile(r"(?:python[\d.]*|py|node|ruby|perl|php|bash|sh|zsh|deno|bun)$")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]*(?:[:_-][a-z0-9]+)*")
_SCRIPT = re.compile(r".+\.(?:py|sh|js|mjs|cjs|ts|rb|pl|php)")


def _command(segment: str, *, connector: str, directory: str) -> Command | None:
    words, outputs = _words(segment)
    assignments: list[str] = []
    while words:
        assigned = _ASSIGNMENT.fullmatch(words[0])
        # `sudo x` runs x; `env` alone and `command -v x` do not.
        wraps = words[0] in WRAPPERS and len(words) > 1 and words[:2] not in (["command", "-v"], ["command", "-V"])
        if not (words[0] in _KEYWORDS or assigned or wraps):
            break
        word = words.pop(0)
        assignments += [word] if assigned else []
        while word in WRAPPERS and len(words) > 1 and _WRAPPER_VALUES.fullmatch(words[0]):
            if words.pop(0) in WRAPPERS_VALUED.get(word, ()):
                words.pop(0)
    while words and words[-1] in _KEYWORDS:
        words.pop()
    if not words and not assignments:
        return None
    words = words or [BARE]
    runner, program, rest = _program(words)
    folders = list(folders_named((_basename(words[0]), program), words))
    for folder in folders:
        directory = inside(directory, folder)
    subcommand, rest_operands = _subcommand(program, rest, folders)
    return Command(
        program=program,
        typed=next((word for word in words if _basename(word) == program), program),
        runner=runner,
        subcommand=subcommand,
        flags=tuple(word for word in rest if word.startswith("-") and word != "-"),
        operands=tuple(rest_operands),
        words=(program, *rest),
        assignments=tuple(assignments),
        outputs=tuple(outputs),
        directory=directory,
        connector=connector,
        text=segment,
    )


def _words(segment: str) -> tuple[list[str], list[str]]:
    """Return the words without redirections, and the files written to."""
    segment = re.sub(r"^[\s({]+(?=\S)", "", segment)
    try:
        raw = shlex.split(segment, posix=True)
    except ValueError:  # an unclosed quote: fall back to plain words
        raw = segment.split()
    words: list[str] = []
    outputs: list[str] = []
    pending = ""
    for word in raw:
        redirect = None if pending else _REDIRECT.fullmatch(word)
        if redirect is None:
            if pending != "<":
                (outputs if pending else words).append(word)
            pending = ""
            continue
        sign = ">" if ">" in redirect["sign"] else "<"
        if redirect["target"] and sign == ">":
            outputs.append(redirect["target"])
        pending = "" if redirect["target"] or redirect["duplicate"] else sign
    if words and words[-1].endswith(")") and "(" not in words[-1]:
        words[-1] = words[-1].rstrip(")")
    return [word for word in words if word], [name for name in outputs if name != "/dev/null"]


def _program(words: list[str]) -> tuple[str, str, list[str]]:
    """Return the launcher as typed, the program's base name, and the words after it."""
    first = _basename(words[0])
    rest = words[1:]
    if first in RUNNERS:
        verb = RUNNERS[first]
        inner = _past_flags(first, rest)
        inner = inner[1:] if (first, *inner[:2]) == ("uv", "tool", verb) else inner
        inner = _past_flags(first, inner[1:]) if inner[:1] == [verb] else []
        if inner:
            deeper, program, rest = _program(inner)
            return " ".join(filter(None, (first, verb, deeper))), program, rest
        return "", first, rest
    if first in LAUNCHERS and (inner := _past_flags(first, rest)):
        return first, _basename(inner[0]).split("@")[0] or inner[0], inner[1:]
    for i, word in enumerate(rest) if _INTERPRETER.fullmatch(first) else ():
        if word == "-m" and i + 1 < len(rest) and first.startswith("py"):
            return f"{first} -m", rest[i + 1], rest[i + 2 :]
        is_flag = word.startswith("-")
        if not is_flag and (_SCRIPT.fullmatch(word) or "/" in word or _basename(word) == "artisan"):
            return first, _basename(word), rest[i + 1 :]
        if not is_flag or word.startswith(("-c", "-e", "-lc")):
            break
    return "", first, rest


def _past_flags(program: str, words: list[str]) -> list[str]:
    """Return what follows the leading flags and their values."""
    valued = LAUNCHER_VALUED | FOLDER_FLAGS.get(program, frozenset())
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    return words[at:]


def _subcommand(program: str, rest: list[str], folders: list[str]) -> tuple[str, list[str]]:
    valued = VALUED_FLAGS.get(program, frozenset())
    operands: list[str] = []
    verb: list[str] = []
    value_next = False
    for word in rest:  # values of flags before the subcommand are left out
        if not value_next and (not word.startswith("-") or word == "-"):
            operands.append(word)
        complete = bool(verb) and not (len(verb) == 1 and TWO_WORDS.fullmatch(f"{program} {verb[0]}"))
        if not value_next and not word.startswith("-"):
            verb.append(word)
        value_next = not value_next and not complete and word in valued
    for folder in folders:
        if folder in operands:
            operands.remove(folder)
    if program not in WITH_SUBCOMMAND and (_SCRIPT.fullmatch(program) or program == "artisan"):
        return _verb_of_script(rest, operands)
    if program not in WITH_SUBCOMMAND or not operands or not _SUBCOMMAND.fullmatch(operands[0]):
        return "", operands
    if len(operands) > 1 and TWO_WORDS.fullmatch(f"{program} {operands[0]}") and not operands[1].startswith("/"):
        return " ".join(operands[:2]), operands[2:]
    return operands[0], operands[1:]


def _verb_of_script(rest: list[str], operands: list[str]) -> tuple[str, list[str]]:
    """Return the subcommand of an unlisted program: a word right behind an option counts as the option's value."""
    for before, word in zip(["", *rest], rest, strict=False):
        if word not in operands or (re.fullmatch(r"--?[A-Za-z][\w-]*", before) and _SUBCOMMAND.fullmatch(word)):
            continue
        if not _SUBCOMMAND.fullmatch(word):
            break
        at = operands.index(word)
        return word, [*operands[:at], *operands[at + 1 :]]
    return "", operands


def _basename(word: str) -> str:
    return re.split(r"[/\\]", word.removesuffix(".exe"))[-1] or word
