"""Does exit status 0 of a shell text prove that its checks passed, and could they fail? Follows the status through the line.

It works on the parsed commands and runs nothing. In doubt the status proves nothing, as where it is kept in a variable.

    pytest -q                    pytest -q && echo done       set -o pipefail; pytest -q | tail -3       proved
    pytest -q | tail -3          pytest -q; echo done         pytest -q || true                          not proved
"""

from __future__ import annotations

import re
from itertools import pairwise

from tacit.text.programs import CHECK_GOALS, CHECKERS, IDLE_FLAGS, IDLE_SHORT_FLAGS, MEDDLING
from tacit.text.service_commands import service_check
from tacit.text.shell import BARE, MAX_TEXT, Command, is_check, nested_script, parse_command, without_heredocs


def masks_exit(text: str) -> bool:
    """Whether exit status 0 proves nothing about the checks in a text (or, without checks, its commands)."""
    if len(without_heredocs(text)) > MAX_TEXT:
        return True  # a text that was not parsed to the end proves nothing
    commands = parse_command(text, bare=True)
    if not any(command.program != BARE for command in commands):
        return True
    if _CONTROL_FLOW.search(_blank_quotes(text)):
        return True
    watched = [i for i, command in enumerate(commands) if is_check(command)]
    if not watched and service_check(text) and not _meddled(commands):
        return False
    watched = watched or [_last_real(commands)]
    if _meddled(commands[: watched[-1] + 1]):
        return True
    return any(_may_be_skipped(commands, i) or _masked(commands, i) for i in watched)


_CONTROL_FLOW = re.compile(
    r"(?:^|[;&|\n({]|\b(?:then|do|else))[ \t\r]*(?:if|for|while|until|case|time[ \t]+!|!|function)\s"
)
_FAILS = re.compile(r"(?:exit|return)\s+(?P<status>\d{1,9})|false")
_REPLACING = re.compile(
    r"set\s+(?:-\w*n|-o\s+noexec)|(?:alias|hash|eval|enable)\b|trap\s.*exit|[\w.-]+\s*\(\)", re.DOTALL
)
_SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "ulimit", "pushd", "popd", BARE})
_SETTING = frozenset({"export", "declare", "typeset", "readonly", "local"})
_USUAL_FOLDER = re.compile(r"\$PATH|\$\{PATH\}|(?:.*/)?(?:\.?venv/bin|node_modules/\.bin)/?", re.DOTALL)


def _last_real(commands: tuple[Command, ...]) -> int:
    """Return the index of the first command that does work; what follows must not hide its status."""
    return next((i for i, command in enumerate(commands) if command.program not in _SILENT), len(commands) - 1)


def _shell_options(commands: tuple[Command, ...], *, before: int) -> frozenset[str]:
    found: set[str] = set()
    for at, command in enumerate(commands):
        if command.program == "set":
            if any(word.startswith("+") for word in command.operands):
                return frozenset()  # switched off again somewhere
            if at > before:
                continue
            if "pipefail" in command.operands:
                found.add("pipefail")
            if any(re.fullmatch(r"-[a-z]*e[a-z]*", flag) for flag in command.flags):
                found.add("errexit")
    return frozenset(found)


def _masked(commands: tuple[Command, ...], at: int) -> bool:
    """Follow the status of one command to the end of the line."""
    nested = nested_script(commands[at])
    if nested and masks_exit(nested):
        return True
    options = _shell_options(commands, before=at)
    in_list = False
    for i in range(at, len(commands) - 1):
        connector, following = commands[i].connector, commands[i + 1]
        if connector == "&":
            return True
        if connector == "|" and "pipefail" not in options:
            return True
        if connector == "||" and not _fails(following):
            return True  # only a right side that fails itself keeps the failure
        if connector == ";":
            return "errexit" not in options or in_list  # with `set -e` the shell ends here
        # `set -e` ignores what is left of `&&` or `||`.
        in_list = in_list or connector in ("&&", "||")
    return commands[-1].connector == "&"


def _fails(command: Command) -> bool:
    found = _FAILS.fullmatch(command.text.strip(" (){}"))
    return found is not None and (found["status"] is None or int(found["status"]) % 256 != 0)


def _meddled(commands: tuple[Command, ...]) -> bool:
    """Whether something before the last check ends the line, replaces the check or disables it."""
    for command in commands:
        for name, _, value in (setting.partition("=") for setting in _settings(command)):
            if MEDDLING.fullmatch(name.rstrip("+")) or (name.rstrip("+") == "PATH" and not _usual_path(value)):
                return True
    for earlier in commands[:-1]:
        text = earlier.text.strip(" (){}")
        if re.match(r"exec\s", text) or (re.match(r"(?:exit|return)\b", text) and not _fails(earlier)):
            return True
        if _REPLACING.match(text) or earlier.program in ("eval", "hash"):
            return True
        if earlier.program in ("source", ".") and not (earlier.operands and earlier.operands[0].endswith("activate")):
            return True
    return False


def _usual_path(value: str) -> bool:
    """Whether only the project's own environment is added to the search path."""
    return "$PATH" in value.replace("{", "") and all(_USUAL_FOLDER.fullmatch(part) for part in value.split(":"))


def _may_be_skipped(commands: tuple[Command, ...], at: int) -> bool:
    """Whether the line can end with status 0 although this command was skipped."""
    for earlier in reversed(commands[:at]):
        if earlier.connector in (";", "&"):
            return False
        if earlier.connector == "||":
            return True
    return False


def _settings(command: Command) -> tuple[str, ...]:
    exported = command.operands if command.program in _SETTING else ()
    return (*command.assignments, *exported)


def _blank_quotes(text: str) -> str:
    """Replace single-quoted text by blanks, so that data is not read as shell syntax."""
    return re.sub(r"'[^']*'", "''", without_heredocs(text))


# --- could it fail? ----------------------------------------------------------------------------------------------------

_NEVER_FAILS = frozenset(
    "echo printf true : exit return pwd sleep ls dir cat date whoami id uname hostname which type hash env printenv export "
    "set unset cd pushd popd source . alias head tail wc sort uniq tee touch mkdir cp mv rm ln chmod find tree du df ps "
    "history clear yes seq basename dirname realpath declare local readonly shopt trap wait jobs nproc uptime stat file "
    "command builtin exec time nohup nice env busybox sync tput umask times getopts shift break continue let".split()
)
"""Programs whose exit status says nothing about any work."""
_GIT_TELLS = re.compile(
    r"diff .*--(?:exit-code|quiet)|grep|merge-base|cat-file -e|rev-parse .*--verify|ls-files .*--error-unmatch"
)
_CONSTANT_CODE = re.compile(
    r"(?:pass|\.\.\.|None|True|\d+|print\([^()]*\)|console\.log\([^()]*\)|(?:sys\.|process\.|os\._?)?(?:exit|quit)\(\s*0?\s*\)|"
    r"exit|import (?:os|sys|re|json)|puts .*|#.*|[\s;])*"
)
_LOOKS_AT_NOTHING = frozenset({".", "./", "..", "/", "~", "/tmp", "/bin/sh", "/dev/null"})
_FILE_TEST = re.compile(r"-[a-hkprstuwxGLNOSefd]")
_STOPS_AT_ERROR = re.compile(r"-[sSLIikvN#46]*f\w*|--fail(?:-with-body)?")
"""Without one of these flags curl succeeds whatever status a service answers with."""
_DOES_NOTHING = re.compile(r"SHELL[:?]?=(?:\S*/)?(?:true|:|echo)")
"""A shell for make in which every recipe passes."""


def shows_nothing(text: str) -> bool:
    """Whether passing this would show nothing, since there is nothing in it that could fail."""
    commands = parse_command(text)
    return all(_cannot_fail(command) for command in commands)


def _cannot_fail(command: Command) -> bool:
    nested = nested_script(command)
    if nested:
        return shows_nothing(nested)
    program = command.program
    if program in _NEVER_FAILS or {"--version", "--help", "-h", "-V"} & set(command.flags):
        return True
    if program == "curl":
        return not any(map(_STOPS_AT_ERROR.fullmatch, command.flags))
    if program == "git":
        return not _GIT_TELLS.search(" ".join(command.words[1:]))
    if program in ("make", "gmake") and any(_DOES_NOTHING.fullmatch(word) for word in command.words):
        return True
    if program in ("test", "[", "[["):
        return _is_constant(command)
    inline = next((word for flag, word in pairwise(command.words) if re.fullmatch(r"-[ceE]|--eval|-lc", flag)), None)
    if inline is not None and _CONSTANT_CODE.fullmatch(inline):
        return True
    idle = IDLE_SHORT_FLAGS.get(program, frozenset[str]()) & set(command.flags) or any(
        flag.split("=")[0] in IDLE_FLAGS for flag in command.flags
    )
    return program in CHECKERS | CHECK_GOALS.keys() and bool(idle)


def _is_constant(command: Command) -> bool:
    """Whether a `test` compares what stands there, or looks at a place that is always there."""
    words = [word for word in command.words[1:] if word not in ("]", "]]", "!")]
    if any("$" in word or "`" in word for word in words):
        return False
    looked_at = [word for flag, word in pairwise(words) if _FILE_TEST.fullmatch(flag)]
    return all(word in _LOOKS_AT_NOTHING for word in looked_at) if looked_at else True
