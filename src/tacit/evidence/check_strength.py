"""Check strength: would a passing command show anything? One that cannot fail proves nothing."""

from __future__ import annotations

import re
from itertools import pairwise

from tacit.text.programs import CHECK_GOALS, CHECKERS, IDLE_FLAGS, IDLE_SHORT_FLAGS
from tacit.text.shell import Command, nested_script, parse_command

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
