"""Shell text → does its exit status 0 prove anything? Follows the status of each check through the line it stands in.

It reads what `shell` has parsed and runs nothing. In doubt the status proves nothing.
"""

from __future__ import annotations

import re

from tacit.text.programs import MEDDLING
from tacit.text.shell import MAX_TEXT, Command, is_check, nested_script, parse_command, without_heredocs


def masks_exit(text: str) -> bool:
    """Tell whether exit status 0 of this text proves nothing about the checks in it (or, without any, its commands)."""
    commands = parse_command(text)
    if not commands:
        return True
    if _CONTROL_FLOW.search(_blank_quotes(text[:MAX_TEXT])):
        return True
    watched = [i for i, command in enumerate(commands) if is_check(command)] or [_last_real(commands)]
    options = _shell_options(commands)
    return any(_may_not_run(commands, i) or _masked(commands, i, options=options) for i in watched)


_CONTROL_FLOW = re.compile(r"(?:^|[;&|\n(]|\b(?:then|do|else))\s*(?:if|for|while|until|case|time\s+!|!|function)\s")
_PASSES_STATUS = re.compile(
    r"(?:exit|return)\s+(?:\$\?|\"?\$\{PIPESTATUS\[0\]\}\"?|\"?\$\{?\w*(?:rc|status|code|ret)\w*\}?\"?)\s*",
    re.IGNORECASE,
)
_FAILS = re.compile(r"(?:exit|return)\s+[1-9]\d*|false")
_SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "ulimit", "pushd", "popd"})


def _last_real(commands: tuple[Command, ...]) -> int:
    """Index of the first command that does work: what follows it in a pipe or list must not swallow its status."""
    return next((i for i, command in enumerate(commands) if command.program not in _SILENT), len(commands) - 1)


def _shell_options(commands: tuple[Command, ...]) -> frozenset[str]:
    found: set[str] = set()
    for command in commands:
        if command.program == "set":
            if "pipefail" in command.operands:
                found.add("pipefail")
            if any(re.fullmatch(r"-[a-z]*e[a-z]*", flag) for flag in command.flags):
                found.add("errexit")
            if any(word.startswith("+") for word in command.operands):
                return frozenset()  # switched off again somewhere: count on nothing
    return frozenset(found)


def _masked(commands: tuple[Command, ...], at: int, *, options: frozenset[str]) -> bool:
    """Follow the status of one command to the end of the line."""
    nested = nested_script(commands[at])
    if nested and masks_exit(nested):
        return True
    after_or = False
    for i in range(at, len(commands) - 1):
        connector, following = commands[i].connector, commands[i + 1]
        if connector == "&":
            return True
        if connector == "|" and "pipefail" not in options:
            return not _PASSES_STATUS.fullmatch(commands[-1].text)
        if connector == "||":
            # Only a right side that fails itself keeps the failure.
            if not _FAILS.fullmatch(following.text.strip(" (){}")):
                return True
            after_or = True
        if connector == ";" and ("errexit" not in options or after_or) and not _passes_on(commands[i + 1 :]):
            return True
    return commands[-1].connector == "&"


def _may_not_run(commands: tuple[Command, ...], at: int) -> bool:
    """Tell whether the line can end with status 0 although this command was skipped, replaced or told to do nothing."""
    if any(MEDDLING.fullmatch(name.partition("=")[0]) for c in commands[: at + 1] for name in _settings(c)):
        return True
    for earlier in commands[:at]:
        text = earlier.text.strip(" (){}")
        if re.match(r"exec\s", text) or (re.match(r"(?:exit|return)\b", text) and not _FAILS.fullmatch(text)):
            return True
        if re.match(r"set\s+(?:-\w*n|-o\s+noexec)|alias\s|trap\s.*exit|[\w.-]+\s*\(\)", text, re.DOTALL):
            return True
    for earlier in reversed(commands[:at]):
        if earlier.connector in (";", "&"):
            return False
        if earlier.connector == "||":
            return True
    return False


def _settings(command: Command) -> tuple[str, ...]:
    exported = command.operands if command.program in ("export", "declare") else ()
    return (*command.assignments, *exported)


def _passes_on(rest: tuple[Command, ...]) -> bool:
    return bool(_PASSES_STATUS.fullmatch(rest[-1].text)) and len(rest) <= 2


def _blank_quotes(text: str) -> str:
    """Single-quoted runs as blanks, so that what is only data is not taken for shell syntax."""
    return re.sub(r"'[^']*'", "''", without_heredocs(text))
