"""A tool call → acts to compare by: one per command of a shell line, one for any other call. Two acts → how they stand.

The steps of a skill and the calls of a run are read alike, so that the one can be found in the other. `{name}` in what is
wanted stands for anything. A shell is a shell and an editor an editor, whatever a client calls them; what only describes a
call, frames a command or says how loud it is makes no difference. It looks at single calls: order and sense are for others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from tacit.text import own
from tacit.text.canonical import canonical_path
from tacit.text.edits import edits_of
from tacit.text.programs import SHELL_TOOLS
from tacit.text.shell import Command, is_check, nested_script, parse_command, shell_text
from tacit.text.tools import (
    ASIDES,
    DESCRIBING,
    FILE_READERS,
    FILE_WRITERS,
    FRAMING,
    SILENT,
    edits_in_place,
    named_file,
    only_looks,
    plain_name,
    reads_by_name,
)


class Effect(StrEnum):
    """What an act does to the world."""

    READ = "read"
    CHECK = "check"
    CHANGE = "change"


class Likeness(StrEnum):
    """How what was done stands to what was wanted."""

    SAME = "same"
    OPPOSED = "opposed"
    """The same deed, with another value where one was laid down, or with the opposite option."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One thing done, or wanted."""

    name: str
    """The tool; for a shell the program, for a file tool `read` or `write`."""
    effect: Effect
    command: Command | None = None
    path: str | None = None
    """For a file tool: the file, seen from the workspace; empty where it is not known."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: str = ""
    """The whole shell line it stands in."""

    @property
    def label(self) -> str:
        """How a person would name it."""
        return self.command.label if self.command else f"{self.name} {self.path or ''}".strip()

    @property
    def form(self) -> tuple[str, ...]:
        """What is the same when it is tried again."""
        return ("$", self.command.label) if self.command else (self.name, self.path or "")


def acts_of(tool: str, arguments: Mapping[str, Any], *, workspace: str = "") -> tuple[Act, ...]:
    """What a call does, in order; nothing for what only serves the agent itself, or is Tacit's own."""
    name = plain_name(tool)
    line = shell_text(arguments) if name in SHELL_TOOLS else ""
    if line:
        return shell_acts(line)
    if not name or name in ASIDES or tool.casefold().startswith(own.TOOLS):
        return ()
    if name in FILE_READERS or name in FILE_WRITERS:
        effect = Effect.READ if name in FILE_READERS else Effect.CHANGE
        path = _path(arguments, workspace)
        return (Act(name="read" if effect is Effect.READ else "write", effect=effect, path=path, arguments=arguments),)
    return (Act(name=name, effect=_effect_of_call(name), arguments=arguments),)


def shell_acts(line: str) -> tuple[Act, ...]:
    """What a shell line does, command by command, without changes of folder and the like."""
    found: list[Act] = []
    line = _BRACED.sub(r"‹\1›", line)  # to a shell braces mean something else
    whole = " ".join(line.split())
    for command in parse_command(line):
        script = nested_script(command)
        if script and script != line:
            found += shell_acts(script)
        elif command.program not in SILENT and command.program != "tacit":
            found.append(Act(name=command.program, effect=_effect_of(command), command=command, line=whole))
    return tuple(found)


def compare(wanted: Act, done: Act) -> Likeness:
    """How what was done stands to what a skill wants."""
    if wanted.command is not None:
        return _compare_commands(wanted, done)
    if wanted.path is not None:
        return _compare_files(wanted, done)
    if done.command is not None or done.path is not None or wanted.name != done.name:
        return Likeness.DIFFERENT
    return _compare_arguments(wanted.arguments, done.arguments)


def is_independent(one: Act, other: Act) -> bool:
    """Whether two acts are known to concern different things, so that their order makes no difference."""
    ours, theirs = _concerned(one), _concerned(other)
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def is_open(text: str) -> bool:
    """Whether a text of a skill leaves something open."""
    return _OPEN.search(text) is not None


def lays_down(wanted: Act) -> bool:
    """Whether a call, other than of a shell or an editor, is wanted with values of its own."""
    return any(key not in _DESCRIBING and not _is_all_open(value) for key, value in wanted.arguments.items())


def tells_apart(wanted: Act) -> bool:
    """Whether an act says enough to be found: one that is open altogether is found everywhere."""
    if wanted.command is None or not is_open(wanted.command.program):
        return True
    return any(len(word) > 1 and not is_open(word) for word in wanted.line.split())


def _concerned(act: Act) -> frozenset[str]:
    """What an act names as its object: a file, or whatever has an id; of a command nothing is known."""
    if act.command is not None:
        return frozenset()
    if act.path is not None:
        return frozenset({act.path} if act.path else ())
    named = [value for key, value in act.arguments.items() if _IDENTIFYING.search(key) and isinstance(value, str | int)]
    return frozenset(_plain(value) for value in named)


_IDENTIFYING = re.compile(r"(?:^|_)(?:id|path|file|name|number)$|Id$", re.IGNORECASE)

# --- values ---------------------------------------------------------------------------------------------------------

_OPEN = re.compile(r"\{\w+\}|‹\w+›")
_BRACED = re.compile(r"\{(\w+)\}")
_PROSE_WORDS = 8
_DESCRIBING = DESCRIBING | FRAMING


def agrees(wanted: object, given: object) -> bool:
    """Whether a value is what is wanted: `{name}` agrees with everything, prose with any other prose."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            key in given and agrees(value, given[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(given, list | tuple) and _same_list(list(wanted), list(given))
    if isinstance(wanted, str) and (is_open(wanted) or _is_prose(wanted)):
        return _is_prose(wanted) or _pattern(_plain(wanted)).fullmatch(_plain(given)) is not None
    return _plain(wanted) == _plain(given)


def _same_list(wanted: list[object], given: list[object]) -> bool:
    if any(isinstance(item, str) and is_open(item) for item in wanted):
        fixed = [item for item in wanted if not (isinstance(item, str) and is_open(item))]
        return all(any(agrees(item, other) for other in given) for item in fixed)
    return len(wanted) == len(given) and all(any(agrees(item, other) for other in given) for item in wanted)


def _is_prose(text: str) -> bool:
    """Whether a text is said rather than set: nobody words it alike twice."""
    return "\n" in text or len(text.split()) > _PROSE_WORDS


def _plain(value: object) -> str:
    """A value as text in one form, so that 2 and 2.0 and " 2" are one."""
    if isinstance(value, bool):
        return str(value).casefold()
    text = " ".join(str(value).split()).casefold()
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


@lru_cache(maxsize=2048)
def _pattern(wanted: str) -> re.Pattern[str]:
    """What is open stands for anything, what is said for itself."""
    return re.compile(".+?".join(map(re.escape, _OPEN.split(wanted))), re.DOTALL)


def _compare_arguments(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> Likeness:
    laid_down = {key: value for key, value in wanted.items() if key not in _DESCRIBING and not _is_all_open(value)}
    lacking = [key for key in laid_down if key not in given]
    differing = [key for key, value in laid_down.items() if key in given and not agrees(value, given[key])]
    if not lacking and not differing:
        return Likeness.SAME
    # Another value for one thing, all else as laid down, is the opposite decision; where more differs it is other work.
    return Likeness.OPPOSED if len(differing) == 1 and not lacking else Likeness.DIFFERENT


def _is_all_open(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(_is_all_open(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_all_open(item) for item in value)
    return value is None or (isinstance(value, str) and (_OPEN.fullmatch(value.strip()) is not None))


# --- files ----------------------------------------------------------------------------------------------------------


def _compare_files(wanted: Act, done: Act) -> Likeness:
    if done.command is not None:
        changed = [*done.command.outputs, *(done.command.operands if edits_in_place(done.command) else ())]
        same = wanted.effect is Effect.CHANGE and any(_same_file(wanted.path or "", path) for path in changed)
        return Likeness.SAME if same else Likeness.DIFFERENT
    same = done.path is not None and wanted.name == done.name and _same_file(wanted.path or "", done.path)
    return Likeness.SAME if same else Likeness.DIFFERENT


def _same_file(wanted: str, path: str) -> bool:
    """Whether a path is the wanted one, or ends like it: the one may be told from the workspace, the other from the root."""
    if not wanted:
        return True
    left, right = _plain(wanted).removeprefix("./"), _plain(path).removeprefix("./")
    if is_open(left):
        return re.fullmatch(rf"(?:.*/)?{_pattern(left).pattern}", right, re.DOTALL) is not None
    return left == right or right.endswith(f"/{left}") or left.endswith(f"/{right}")


def _path(arguments: Mapping[str, Any], workspace: str) -> str:
    named = named_file(arguments)
    if named is not None:
        return canonical_path(named, workspace=workspace)
    edits = edits_of(arguments, workspace=workspace)
    return edits[0].file if len(edits) == 1 else ""


# --- commands -------------------------------------------------------------------------------------------------------

_LOUDNESS = frozenset(
    "-q -v -s --quiet --verbose --silent --color --no-color --progress --no-progress -y --yes".split()
)
_LETTERS = re.compile(r"-[A-Za-z]{2,4}")


def _compare_commands(wanted: Act, done: Act) -> Likeness:
    ours, theirs = wanted.command, done.command
    if ours is None or theirs is None:
        return Likeness.DIFFERENT
    if is_open(ours.program):  # the frame is all that is laid down, as in `xvfb-run {command}`
        return Likeness.SAME if _pattern(_plain(wanted.line)).fullmatch(_plain(done.line)) else Likeness.DIFFERENT
    if (ours.program, ours.subcommand) != (theirs.program, theirs.subcommand):
        return Likeness.DIFFERENT
    stands = [_flags_stand(ours.flags, theirs.flags), _assignments_stand(ours.assignments, theirs.assignments)]
    if Likeness.DIFFERENT in stands or not _operands_agree(wanted.effect, ours, theirs):
        return Likeness.DIFFERENT
    return Likeness.OPPOSED if Likeness.OPPOSED in stands else Likeness.SAME


def _flags_stand(wanted: tuple[str, ...], given: tuple[str, ...]) -> Likeness:
    asked, had, stand = _options(wanted), _options(given), Likeness.SAME
    for name, value in asked.items():
        if name in had:
            if value and had[name] and not agrees(value, had[name]):
                stand = Likeness.OPPOSED
        elif _opposite(name) in had:
            stand = Likeness.OPPOSED
        elif name not in _LOUDNESS and not is_open(name):
            return Likeness.DIFFERENT
    return stand


def _options(flags: tuple[str, ...]) -> dict[str, str]:
    """Options by name with their values; letters that are written together each for itself."""
    found: dict[str, str] = {}
    for flag in flags:
        name, _, value = flag.partition("=")
        found |= {f"-{letter}": "" for letter in name[1:]} if _LETTERS.fullmatch(name) else {name: value}
    return found


def _opposite(name: str) -> str:
    return f"--{name[5:]}" if name.startswith("--no-") else f"--no-{name[2:]}" if name.startswith("--") else ""


def _assignments_stand(wanted: tuple[str, ...], given: tuple[str, ...]) -> Likeness:
    had = dict(each.partition("=")[::2] for each in given)
    for name, value in (each.partition("=")[::2] for each in wanted):
        if name not in had:
            return Likeness.DIFFERENT
        if not agrees(value, had[name]):
            return Likeness.OPPOSED
    return Likeness.SAME


def _operands_agree(effect: Effect, wanted: Command, given: Command) -> bool:
    """What is changed must be what was laid down, at least by half; what is only looked at or checked may be something else."""
    fixed = [word for word in wanted.operands if not is_open(word) and not _is_prose(word)]
    if effect is not Effect.CHANGE or not fixed:
        return True
    return 2 * sum(any(_same_file(word, other) for other in given.operands) for word in fixed) >= len(fixed)


# --- what acts do ---------------------------------------------------------------------------------------------------


def _effect_of_call(name: str) -> Effect:
    return Effect.READ if reads_by_name(name) else Effect.CHANGE


def _effect_of(command: Command) -> Effect:
    if is_check(command):
        return Effect.CHECK
    return Effect.READ if only_looks(command) else Effect.CHANGE
