"""Shell text → would it show anything that it passes? A check that cannot fail, or that looks at a chosen part, proves nothing.

Reads the text only. `text.exit_status` tells whether a failure could be masked; this tells whether there could be one, `aim`
whether it looks at the work, and `whole_runs` whether it looks at all tests.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath

from tacit.text.programs import CHECK_GOALS, CHECKERS, IDLE_FLAGS, IDLE_SHORT_FLAGS
from tacit.text.shell import Command, is_check, nested_script, parse_command

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
_DOES_NOTHING = re.compile(r"SHELL[:?]?=(?:\S*/)?(?:true|:|echo)")
"""A shell for make in which every recipe passes."""
_NARROWING = re.compile(
    r"(?:-k|-m|-t|-g|-run|-R|--(?:grep|testNamePattern|test-name-pattern|select|filter|only|lf|last-failed|sw|stepwise|"
    r"deselect|ignore|ignore-glob|exclude|skip|testPathIgnorePatterns|exclude-dir|maxfail|changed|onlyChanged|"
    r"findRelatedTests|override-ini|confcutdir|rootdir|config|noconftest|co|collect-only|continue-on-collection-errors))(?:=.*)?"
    r"|-[cop]|-[km].+"
)
_TESTING = re.compile(
    r"test|spec|verify|jest|mocha|\bava\b|\btox\b|\bnox\b|karma|cypress|playwright|phpunit|pest|nose|"
    r"make (?:check|all|ci)|just (?:check|ci)"
)


_REACHING = re.compile(
    r"\bos\._exit\b|\b_pytest\b|\bpytest_[a-z]\w+|\bPYTEST_\w+|['\"]_?pytest['\"]|^\s*(?:import|from)\s+_?pytest\b"
    r"|unittest\.(?:case|runner|result)\b|\bJEST_WORKER_ID\b|\bprocess\.env\.VITEST\b|\bprocess\.reallyExit\b"
    r"|\bsys\.settrace\b|\bbuiltins\.(?:AssertionError|__import__)\b|\bgc\.get_objects\b",
    re.MULTILINE,
)
"""Code that reaches for what runs the tests; in a file that is no test it has little other use."""


def reaches_for_the_tests(text: str) -> set[str]:
    """What in a program's text reaches for whatever runs the tests, so that they pass for another reason than the work."""
    return {found.strip() for found in _REACHING.findall(text)}


def shows_nothing(text: str) -> bool:
    """Whether passing this would show nothing, since there is nothing in it that could fail."""
    commands = parse_command(text)
    return all(_cannot_fail(command) for command in commands)


def narrowed(text: str) -> str:
    """What makes a test run look at less than all there is: an option, a file or a single test; empty if nothing does."""
    for command in parse_command(text):
        if nested := nested_script(command):
            if found := narrowed(nested):
                return found
        elif is_check(command):
            options = (word for word in command.words[1:] if _NARROWING.fullmatch(word))
            chosen = (word for word in command.operands if "::" in word or PurePosixPath(word.split(":")[0]).suffix)
            if found := next(options, "") or next(chosen, ""):
                return found
    return ""


def runs_tests(text: str) -> bool:
    """Whether this runs tests, not only a build or a linter."""
    for command in parse_command(text):
        nested = nested_script(command)
        if (
            runs_tests(nested)
            if nested
            else is_check(command) and _TESTING.search(f"{command.program} {command.subcommand}")
        ):
            return True
        if is_check(command) and any(_TESTING.search(f"{command.program} {word}") for word in command.operands[:3]):
            return True
    return False


def _cannot_fail(command: Command) -> bool:
    nested = nested_script(command)
    if nested:
        return shows_nothing(nested)
    program = command.program
    if program in _NEVER_FAILS or {"--version", "--help", "-h", "-V"} & set(command.flags):
        return True
    if program == "git":
        return not _GIT_TELLS.search(" ".join(command.words[1:]))
    if program in ("make", "gmake") and any(_DOES_NOTHING.fullmatch(word) for word in command.words):
        return True
    if program in ("test", "[", "[["):
        return _is_constant(command)
    inline = next((word for flag, word in pairwise(command.words) if re.fullmatch(r"-[ceE]|--eval|-lc", flag)), None)
    if inline is not None and _CONSTANT_CODE.fullmatch(inline):
        return True
    idle = IDLE_SHORT_FLAGS.get(program, set()) & set(command.flags) or any(
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
