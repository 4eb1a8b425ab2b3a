"""Check strength: would a passing check show anything? One that cannot fail, or that tests a chosen part, proves nothing.

Reads the shell text only: whether a check can fail, whether it tests the work and not something else, and whether it runs
all tests. `text.exit_status` decides whether a failure could be masked.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from tacit.text.programs import CHECK_GOALS, CHECKERS, IDLE_FLAGS, IDLE_SHORT_FLAGS, MEDDLING
from tacit.text.shell import Command, inside, is_check, nested_script, parse_command

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
    """Return a word of a check that is expanded at run time; empty if there is none."""
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


COUNTS = "the skill's own check counts, word for word, or one whole test run such as `pytest -q` or `make test`"
"""What whoever reports an outcome may run instead."""

_PLAIN = re.compile(r"[\w./:=,+-]+")
_PLAIN_PROGRAM = re.compile(r"[\w./@+][\w./@+-]*")
"""Words that mean to the shell what they say: no quotes, variables, patterns, files of options, joints or comments."""
_JOINED = re.compile(r"[;&|\n<>()`$]")
_LAUNCHERS = {
    "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "bundle": "exec", "pnpm": "exec",
    "npx": "", "bunx": "",
}  # fmt: skip
"""Run what follows, with this subcommand."""
_PYTHON = re.compile(r"(?:python|pypy)(?:3(?:\.\d+)?)?")

_COLOUR = r"--colou?rs?(?:[= ](?:yes|no|auto|always|never))?|--no-colou?rs?"
_LOUD = r"-[qvs]+|--verbose|--quiet|--silent"
_JOBS = r"-j ?\d*|--jobs[= ]\d+"
_PYTEST_OPTIONS = (
    r"-[qvxsl]+|-r[A-Za-z]+|-n ?(?:\d+|auto|logical)|--numprocesses[= ](?:\d+|auto|logical)|--verbose|--quiet|--exitfirst|"
    r"--dist[= ](?:load\w*|worksteal|each)|--tb[= ](?:auto|long|short|line|native|no)|--maxfail[= ]\d+|--no-header|"
    r"--no-summary|--durations(?:-min)?[= ][\d.]+|--showlocals|--full-trace|--strict(?:-markers|-config)?|--ff|--failed-first|"
    r"--nf|--new-first|--capture[= ](?:fd|sys|no|tee-sys)|--cov(?:=[\w.]+)?|--cov-report[= ](?:term|term-missing|xml|html)|"
    rf"--no-cov|--cov-fail-under[= ]\d+|-W ?error|{_COLOUR}"
)
_MAKE = rf"-[ksB]+|{_JOBS}|--keep-going|--silent|--no-print-directory|--always-make|--output-sync(?:=\w+)?"
_NODE_SCRIPT = r"(?: (?:-s|--silent))*(?: run| run-script)?(?: (?:-s|--silent))* test(?: (?:-s|--silent))*"
_CARGO = (
    rf"{_LOUD}|{_JOBS}|{_COLOUR}|--workspace|--all|--all-features|--locked|--frozen|--offline|--no-fail-fast|--release"
)


def _with(flags: str, *, before: str = "", after: str = "") -> re.Pattern[str]:
    """The words behind a runner's name: a subcommand, flags, and what must come last; flags may stand before it or
    after."""
    return re.compile(rf"{before}(?: (?:{flags}))*{after}(?: (?:{flags}))*")


_RUNNERS: dict[str, re.Pattern[str]] = {
    "pytest": _with(_PYTEST_OPTIONS, after=r"(?: \.)?"),
    "py.test": _with(_PYTEST_OPTIONS, after=r"(?: \.)?"),
    "unittest": _with(r"-[vqfb]+|--verbose|--quiet|--failfast|--buffer|--locals", before="(?: discover)?"),
    "tox": _with(rf"-[qvr]+|-p(?: auto| all)?|--parallel|--recreate|{_COLOUR}", before="(?: run| run-parallel)?"),
    "nox": _with(rf"-[vr]+|--verbose|{_COLOUR}|--force-colou?r"),
    "npm": re.compile(rf"(?:{_NODE_SCRIPT}| t)"),
    "pnpm": re.compile(_NODE_SCRIPT),
    "yarn": re.compile(_NODE_SCRIPT),
    "bun": re.compile(r"(?: run)? test"),
    "deno": _with(_LOUD, before=" test"),
    "jest": _with(rf"--ci|--verbose|--coverage|--runInBand|-i|--silent|--no-cache|--bail|{_COLOUR}"),
    "vitest": _with(rf"--run|--coverage|--reporter[= ]\w+|--no-cache|--bail[= ]\d+|{_COLOUR}", before="(?: run)?"),
    "manage.py": _with(r"--no-?input|--failfast|--parallel(?:[= ]\d+)?|-v ?\d|--verbosity[= ]\d", before=" test"),
    "mocha": _with(rf"--bail|-b|--reporter[= ]\w+|--forbid-only|{_COLOUR}"),
    "cargo": _with(_CARGO, before="(?: test| t| nextest run)"),
    "go": _with(
        r"-v|-race|-cover|-json|-failfast|-count[= ][1-9]\d*|-timeout[= ]\w+|-parallel[= ]\d+|-shuffle[= ]\w+",
        before=" test",
        after=r" \./\.\.\.",
    ),
    "make": _with(_MAKE, after=r" (?P<target>[\w-]+(?:[./][\w-]+)*)"),
    "gmake": _with(_MAKE, after=r" (?P<target>[\w-]+(?:[./][\w-]+)*)"),
    "just": _with(r"--quiet|-q|--verbose|-v", after=r" [\w-]+"),
    "task": _with(r"--silent|-s|--verbose|-v", after=r" [\w-]+"),
    "rspec": _with(rf"--fail-fast|--format[= ]\w+|-f ?[dp]|--backtrace|{_COLOUR}"),
    "phpunit": _with(rf"--stop-on-failure|--testdox|{_COLOUR}"),
    "mvn": _with(r"-[qBeU]+|--batch-mode|--quiet|--no-transfer-progress|-ntp", after="(?: clean)? (?:test|verify)"),
    "mvnw": _with(r"-[qBeU]+|--batch-mode|--quiet|--no-transfer-progress|-ntp", after="(?: clean)? (?:test|verify)"),
    "gradle": _with(r"-q|--quiet|--info|--no-daemon|--continue|--rerun-tasks", after="(?: clean)? (?:test|check)"),
    "gradlew": _with(r"-q|--quiet|--info|--no-daemon|--continue|--rerun-tasks", after="(?: clean)? (?:test|check)"),
    "dotnet": _with(r"--nologo|--no-restore", before=" test"),
    "swift": _with(rf"{_LOUD}|--parallel", before=" test"),
    "mix": _with(rf"--trace|--warnings-as-errors|{_COLOUR}", before=" test"),
    "ctest": _with(rf"--output-on-failure|-V|-VV|{_JOBS}"),
    "rails": _with("-v|-f|-b", before=" test"),
    "flutter": _with("--coverage", before=" test"),
    "dart": _with(_COLOUR, before=" test"),
    "bazel": _with(r"--test_output[= ]\w+", before=" test", after=r" //\.\.\."),
}  # fmt: skip
"""Each known runner, with the words that may follow it where it looks at all there is."""
_PYTHON_MODULES = frozenset({"pytest", "unittest", "tox", "nox"})


def why_not_whole(text: str, *, is_target: Callable[[str], bool] = lambda _: True) -> str:
    """Why a text is not one whole test run; empty if it is. `is_target` says whether the project's makefile has a
    target."""
    if _JOINED.search(text.strip()):
        return "more than one plain command, or what the shell fills in"
    words = text.split()
    strange = next((word for word in words[:1] if not _PLAIN_PROGRAM.fullmatch(word) or "=" in word), "") or next(
        (word for word in words[1:] if not _PLAIN.fullmatch(word)), ""
    )
    if strange or not words:
        return f"something that the shell reads otherwise than it stands there (`{strange}`)"
    name, rest = _runner(words)
    pattern = _RUNNERS.get(name)
    if pattern is None:
        return f"a command that is no known test runner (`{name}`)"
    found = pattern.fullmatch("".join(f" {word}" for word in rest))
    if found is None:
        part = narrowed(text)
        return f"a part of the tests (`{part}`)" if part else f"options or operands that may leave tests out (`{text}`)"
    target = found.groupdict().get("target")
    if target and not is_target(target):
        return f"a target that the committed makefile does not say how to make (`{target}`)"
    return "" if runs_tests(text) else "a check that runs no tests"


def has_target(makefile: str, target: str) -> bool:
    """Whether a makefile has a rule of this name with something to do: a recipe, or other targets that it needs."""
    name = re.escape(target)
    rule = re.search(
        rf"^(?:[\w./-]+[ \t]+)*{name}(?:[ \t]+[\w./-]+)*[ \t]*::?(?!=)(.*(?:\n\t.*)?)", makefile, re.MULTILINE
    )
    return rule is not None and bool(rule[1].split("#")[0].strip())


def is_phony(makefile: str, target: str) -> bool:
    """Whether a makefile says that a target is made each time, whatever files there are."""
    return any(target in line.split() for line in re.findall(r"^\.PHONY[ \t]*:(.*)$", makefile, re.MULTILINE))


def _runner(words: list[str]) -> tuple[str, list[str]]:
    """The test runner of a plain command, and what follows it; launchers and `python -m` taken off."""
    name, rest = PurePosixPath(words[0]).name, words[1:]
    if name in _LAUNCHERS and (not _LAUNCHERS[name] or rest[:1] == [_LAUNCHERS[name]]):
        inner = rest[1:] if _LAUNCHERS[name] else rest
        if inner and "/" not in inner[0] and inner[0] not in _LAUNCHERS:
            return _runner(inner)
    if _PYTHON.fullmatch(name):
        rest = rest[1:] if rest[:1] in (["-u"], ["-B"]) else rest
        if rest[:1] == ["-m"] and rest[1:2] and rest[1] in _PYTHON_MODULES:
            return rest[1], rest[2:]
        if rest[:2] == ["manage.py", "test"]:
            return "manage.py", rest[1:]
    return name, rest
