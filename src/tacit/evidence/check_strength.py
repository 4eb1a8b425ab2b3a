"""Shell text → would it show anything that it passes? A check that cannot fail, or that looks at a chosen part, proves nothing.

Reads the text only. `text.exit_status` tells whether a failure could be masked; this tells whether there could be one,
`aim` whether it looks at the work, and `whole_runs` whether it looks at all tests.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from tacit.text.programs import CHECK_GOALS, CHECKERS, IDLE_FLAGS, IDLE_SHORT_FLAGS, MEDDLING
from tacit.text.shell import Command, is_check, nested_script, parse_command
from tacit.text.working_directory import inside

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


_MAKES = frozenset("make gmake just task ninja rake".split())
_SETTING = re.compile(r"(?!(?:V|VERBOSE|Q|CI|DEBUG)=)[A-Za-z_][\w.]*[:+?]?=.*", re.DOTALL)
"""A variable given to a build; some only make it say more."""
_UNCHECKED_PYTHON = re.compile(r"(?:^|[\s/])(?:python|pypy)[\d.]*\s(?:[^;&|]*\s)?-[A-Zb-ln-z]*O+\w*\s.*-m\b", re.DOTALL)
"""Python that leaves assertions out."""
_PYTEST = ("pytest", "py.test")
_CLUSTERED = r"-[qvxslr]+[km].*"
"""Short options in one word, the last of which chooses tests."""
_PLUG_IN = re.compile(r"-p(?!no:)\S+")
_ELSEWHERE = re.compile(r"/|~|\.\.(?:/|$)|.*/\.\.(?:/|$)")
_GLUED = re.compile(r"-[CfcsId]((?:/|~|\.\./).*)")
_WRITES = re.compile(
    r"-o|--?[\w-]*(?:junit|xml|report|output|out|log|cache|temp|tmp|target-dir|coverage|html|json)[\w-]*", re.IGNORECASE
)
"""Options whose value is written, not looked at."""
_ENV_FOLDER = re.compile(r"(?:^|\s)env\s(?:\S+\s+)*?(?:-C\s*|--chdir[= ])(\S+)")
_TOP = re.compile(r"\$(?:PWD|\{PWD\}|\(pwd\)|\(git)")

_LOADING = re.compile(
    r"LD_\w+|DYLD_\w+|PYTHON(?:HOME|STARTUP|OPTIMIZE|INSPECT|USERBASE|BREAKPOINT)|RUBYOPT|PERL5OPT|JAVA_TOOL_OPTIONS|MAKEFILES|SHELL|"
    r"JEST_\w+|VITEST\w*|NODE_V8_\w+|CARGO_BUILD_RUSTC\w*|RUSTC_WRAPPER|GIT_DIR|GIT_WORK_TREE|ENV"
)
"""Variables that load code into programs, or put others in their place."""
_SEARCHED = re.compile(r"PYTHONPATH|NODE_PATH|RUBYLIB|PERL5LIB|CLASSPATH|GOPATH")
_ACCOUNT_FOLDER = re.compile(
    r"(?:~|\$HOME|\$\{HOME\})/(?:\.local/bin|\.cargo/bin|go/bin|\.(?:bun|deno|pyenv|rbenv|nvm|volta|asdf|poetry)/[\w./-]*)"
    r"|/(?:usr/(?:local/)?)?s?bin|/usr/local/go/bin|/opt/homebrew/s?bin|\$VIRTUAL_ENV/bin|\$\{?PATH\}?|"
)
_ENVIRONMENT = re.compile(r"(?:.*/)?(?:\.?venv/bin|node_modules/\.bin)/?")


def checks_in(text: str) -> Iterator[Command]:
    """The checks of a line, also those in a script that a shell is called to run."""
    for command in parse_command(text):
        nested = nested_script(command)
        if nested:
            yield from checks_in(nested)
        elif is_check(command):
            yield command


def hollow(command: Command) -> str:
    """What in a check puts something else in the place of what would have checked; empty if nothing does."""
    if command.program in _MAKES:
        return next((word for word in command.words[1:] if _SETTING.fullmatch(word)), "")
    if _UNCHECKED_PYTHON.search(command.text):
        return "python -O"
    words = command.words[1:]
    plug_ins = (word for flag, word in pairwise(words) if flag == "-p" and not word.startswith("no:"))
    if command.program in _PYTEST:
        found = next((word for word in words if re.match(r"--assert\b", word) or _PLUG_IN.fullmatch(word)), "")
        return found or next(plug_ins, "")
    return ""


def filled_in(command: Command) -> str:
    """A word of a check that stands for others, which nobody can read there; empty if there is none."""
    unread = re.compile(rf".*[$`].*|@.*|{_CLUSTERED}" if command.program in _PYTEST else r".*[$`].*", re.DOTALL)
    return next((word for word in command.words[1:] if unread.fullmatch(word)), "")


def pointed_outside(command: Command, places: Sequence[str], *, above: bool = False) -> str:
    """Where a check looks outside the places of the work; empty if nowhere. `above` lets it begin in a folder
    around them."""
    start = command.directory
    moved = _ENV_FOLDER.search(command.text)
    start = inside(start, moved[1]) if moved else start
    if start and not any(_is_within(start, place, above=above) for place in places):
        return start
    for named in _named(command):
        path = inside(start, named)
        if not any(_is_within(path, place, above=above) for place in places):
            return named
    return ""


def misaimed(text: str, folder: str) -> str:
    """Why a check that somebody named themselves does not look at the work in a folder, be it at a part; empty if
    it does."""
    for command in checks_in(text):
        if found := hollow(command):
            return f"`{found}` puts something else in the place of what the check runs"
        if there := pointed_outside(command, [folder]):
            return f"the check looks at `{there}`, outside of the place where the work was done"
    return ""


def swaps(setting: str, workspace: str) -> bool:
    """Whether a variable, as `NAME=value`, puts other programs or code in the place of those that checks run."""
    name, _, value = setting.partition("=")
    name = name.rstrip("+")
    parts = value.strip("'\"").split(":")
    if MEDDLING.fullmatch(name) or _LOADING.fullmatch(name):
        return True
    if name == "PATH":
        return not all(_is_usual(part, workspace) for part in parts)
    if _SEARCHED.fullmatch(name):
        return not all(
            part.startswith(f"${name}") or part == f"${{{name}}}" or _is_within(part, workspace) for part in parts
        )
    return name == "NODE_OPTIONS" and bool(
        re.search(r"(?:^|\s)(?:-r|--require|--import|--(?:experimental-)?loader)\b", value)
    )


def _named(command: Command) -> Iterator[str]:
    """The paths among the words of a check that may lead out of where it runs."""
    before = ""
    for word in command.words[1:]:
        name, given, value = word.partition("=")
        glued = _GLUED.fullmatch(word)
        if glued:
            yield glued[1]
        elif word.startswith("-"):
            if given and _ELSEWHERE.match(value) and not _WRITES.fullmatch(name):
                yield value
        elif _ELSEWHERE.match(word) and not _WRITES.fullmatch(before):
            yield word.split("::")[0]
        before = word


def _is_usual(part: str, workspace: str) -> bool:
    """Whether a folder that programs are looked for in is the system's, the account's or the project's own."""
    if _ACCOUNT_FOLDER.fullmatch(part):
        return True
    return bool(_ENVIRONMENT.fullmatch(part)) and _is_within(part, workspace)


def _is_within(path: str, place: str, *, above: bool = False) -> bool:
    """Whether a path, seen from a place, lies in it; where the place is unknown, whether it may."""
    if _TOP.match(path):
        return ".." not in path
    if path.startswith("~"):
        rest = path.partition("/")[2]
        return bool(rest) and f"{place}/".endswith(f"/{rest.rstrip('/')}/")
    if "$" in path or "`" in path:
        return False
    if not place:
        return not path.startswith("..")
    whole = posixpath.normpath(path if path.startswith("/") else f"{place}/{path}").rstrip("/") + "/"
    around = posixpath.normpath(place).rstrip("/") + "/"
    return whole.startswith(around) or (above and around.startswith(whole))
