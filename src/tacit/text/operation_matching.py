"""Compares the operations that a skill asks for with those of a run.

`{name}` in what a skill asks for matches anything. All shells count as one tool, and so do all editors. Arguments that only
describe a call, or set where it runs and how much it prints, make no difference. The order of operations is not compared here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from tacit.text.tool_calls import DESCRIBING, FRAMING, Effect, Operation, edits_in_place


class OperationMatch(StrEnum):
    """How an operation of a run compares with the one that a skill asks for."""

    SAME = "same"
    OPPOSED = "opposed"
    """The same operation with another value where the skill fixes one, or with the opposite option."""
    DIFFERENT = "different"


def compare_operations(wanted: Operation, done: Operation) -> OperationMatch:
    """Compare an operation of a run with the one that a skill asks for."""
    if wanted.command is not None:
        return _compare_commands(wanted, done)
    if wanted.path is not None:
        paths = [done.path] if done.path is not None and wanted.name == done.name else []
        if done.command is not None and wanted.effect is Effect.WRITE:
            paths = [*done.command.outputs, *(done.command.operands if edits_in_place(done.command) else ())]
        same = any(_same_file(wanted.path, path) for path in paths)
        return OperationMatch.SAME if same else OperationMatch.DIFFERENT
    if done.command is not None or done.path is not None or wanted.name != done.name:
        return OperationMatch.DIFFERENT
    fixed = {key: value for key, value in wanted.arguments.items() if _is_fixed(key, value)}
    given = done.arguments
    missing = [key for key in fixed if key not in given]
    differing = [key for key, value in fixed.items() if key in given and not value_matches(value, given[key])]
    if not missing and not differing:
        return OperationMatch.SAME
    # One other value with everything else equal is the opposite decision; more differences mean other work.
    return OperationMatch.OPPOSED if len(differing) == 1 and not missing else OperationMatch.DIFFERENT


def is_independent(one: Operation, other: Operation) -> bool:
    """Whether two operations are known to concern different objects, so that their order makes no difference."""
    ours, theirs = _objects_of(one), _objects_of(other)
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def has_placeholder(text: str) -> bool:
    """Whether a text of a skill contains a placeholder."""
    return _OPEN.search(text) is not None


def fixes_values(wanted: Operation) -> bool:
    """Whether a skill fixes the value of any argument of a call."""
    return any(_is_fixed(key, value) for key, value in wanted.arguments.items())


def _is_fixed(key: str, value: object) -> bool:
    return key not in _DESCRIBING and not _is_placeholder(value)


def is_specific(wanted: Operation) -> bool:
    """Whether an operation is specific enough to search for: placeholders alone would match everywhere."""
    if wanted.command is None or not has_placeholder(wanted.command.program):
        return True
    return any(len(word) > 1 and not has_placeholder(word) for word in wanted.line.split())


def _objects_of(operation: Operation) -> frozenset[str]:
    """Return the file or the ids that an operation names; nothing for a command, whose objects are unknown."""
    if operation.command is not None:
        return frozenset()
    if operation.path is not None:
        return frozenset({operation.path} if operation.path else ())
    named = [
        value for key, value in operation.arguments.items() if _IDENTIFYING.search(key) and isinstance(value, str | int)
    ]
    return frozenset(_normalised(value) for value in named)


_IDENTIFYING = re.compile(r"(?:^|_)(?:id|path|file|name|number)$|Id$", re.IGNORECASE)

# --- values ---------------------------------------------------------------------------------------------------------

_OPEN = re.compile(r"\{\w+\}|‹\w+›")
_PROSE_WORDS = 8
"""Words from which an argument is prose, which no two runs word alike. Smaller: values that must be equal count as prose."""
_DESCRIBING = DESCRIBING | FRAMING


def value_matches(wanted: object, given: object) -> bool:
    """Whether a value is the one asked for: `{name}` matches everything, prose matches any other prose."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            key in given and value_matches(value, given[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        open_items = [item for item in wanted if isinstance(item, str) and has_placeholder(item)]
        return (
            isinstance(given, list | tuple)
            and (bool(open_items) or len(wanted) == len(given))
            and all(any(value_matches(item, other) for other in given) for item in wanted if item not in open_items)
        )
    if isinstance(wanted, str) and (has_placeholder(wanted) or _is_prose(wanted)):
        return _is_prose(wanted) or _pattern(_normalised(wanted)).fullmatch(_normalised(given)) is not None
    return _normalised(wanted) == _normalised(given)


def _is_prose(text: str) -> bool:
    """Whether a text is prose, which no two runs word the same way."""
    return "\n" in text or len(text.split()) > _PROSE_WORDS


def _normalised(value: object) -> str:
    """Return a value as text in one form, so that 2, 2.0 and " 2" are equal."""
    if isinstance(value, bool):
        return str(value).casefold()
    text = " ".join(str(value).split()).casefold()
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


@lru_cache(maxsize=2048)
def _pattern(wanted: str) -> re.Pattern[str]:
    """Return a pattern in which placeholders match anything."""
    return re.compile(".+?".join(map(re.escape, _OPEN.split(wanted))), re.DOTALL)


def _is_placeholder(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(_is_placeholder(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_placeholder(item) for item in value)
    return value is None or (isinstance(value, str) and (_OPEN.fullmatch(value.strip()) is not None))


# --- files ----------------------------------------------------------------------------------------------------------


def _same_file(wanted: str, path: str) -> bool:
    """Whether two paths name one file: one may be relative to the workspace, the other absolute."""
    if not wanted:
        return True
    left, right = _normalised(wanted).removeprefix("./"), _normalised(path).removeprefix("./")
    if has_placeholder(left):
        return re.fullmatch(rf"(?:.*/)?{_pattern(left).pattern}", right, re.DOTALL) is not None
    return left == right or right.endswith(f"/{left}") or left.endswith(f"/{right}")


# --- commands -------------------------------------------------------------------------------------------------------

_OUTPUT_FLAGS = frozenset(
    "-q -v -s --quiet --verbose --silent --color --no-color --progress --no-progress -y --yes".split()
)
_LETTERS = re.compile(r"-[A-Za-z]{2,4}")


def _compare_commands(wanted: Operation, done: Operation) -> OperationMatch:
    ours, theirs = wanted.command, done.command
    if ours is None or theirs is None:
        return OperationMatch.DIFFERENT
    if has_placeholder(ours.program):  # only the wrapper is fixed, as in `xvfb-run {command}`
        return (
            OperationMatch.SAME
            if _pattern(_normalised(wanted.line)).fullmatch(_normalised(done.line))
            else OperationMatch.DIFFERENT
        )
    if (ours.program, ours.subcommand) != (theirs.program, theirs.subcommand):
        return OperationMatch.DIFFERENT
    parts = (
        _compare_flags(ours.flags, theirs.flags),
        _compare_assignments(ours.assignments, theirs.assignments),
    )
    # At least half of the operands that a skill fixes must be there; only operations that write need them.
    fixed = [word for word in ours.operands if not has_placeholder(word) and not _is_prose(word)]
    found = sum(any(_same_file(word, other) for other in theirs.operands) for word in fixed)
    if OperationMatch.DIFFERENT in parts or (wanted.effect is Effect.WRITE and 2 * found < len(fixed)):
        return OperationMatch.DIFFERENT
    return OperationMatch.OPPOSED if OperationMatch.OPPOSED in parts else OperationMatch.SAME


def _compare_flags(wanted: tuple[str, ...], given: tuple[str, ...]) -> OperationMatch:
    asked, had, result = _options(wanted), _options(given), OperationMatch.SAME
    for name, value in asked.items():
        if name in had:
            if value and had[name] and not value_matches(value, had[name]):
                result = OperationMatch.OPPOSED
        elif name.startswith("--") and (f"--{name[5:]}" if name.startswith("--no-") else f"--no-{name[2:]}") in had:
            result = OperationMatch.OPPOSED
        elif name not in _OUTPUT_FLAGS and not has_placeholder(name):
            return OperationMatch.DIFFERENT
    return result


def _options(flags: tuple[str, ...]) -> dict[str, str]:
    """Return options by name with their values; combined short flags are split."""
    found: dict[str, str] = {}
    for flag in flags:
        name, _, value = flag.partition("=")
        found |= {f"-{letter}": "" for letter in name[1:]} if _LETTERS.fullmatch(name) else {name: value}
    return found


def _compare_assignments(wanted: tuple[str, ...], given: tuple[str, ...]) -> OperationMatch:
    had = dict(each.partition("=")[::2] for each in given)
    for name, value in (each.partition("=")[::2] for each in wanted):
        if name not in had:
            return OperationMatch.DIFFERENT
        if not value_matches(value, had[name]):
            return OperationMatch.OPPOSED
    return OperationMatch.SAME
