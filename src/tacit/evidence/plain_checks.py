"""Plain checks: the known forms of a test run, build or linter, in which nothing changes what counts as success.

The list names what is plain. A word, option, variable or place that is not in it makes a command not plain, which accuses
nobody: such a check only counts for less. `chosen` is what a plain check limits itself to; a whole run chooses nothing.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.text.programs import CHECK_GOALS, CHECK_SCRIPT, CHECKERS, FORMATTERS
from tacit.text.shell import Command, inside, is_check, nested_script, parse_command

_PATH = r"(?!-)[\w./][\w./@+=,:\[\]-]*"
_COLOUR = r"--colou?rs?(?:[= ](?:yes|no|auto|always|never))?|--no-colou?rs?"
_LOUD = r"-[qvs]+|--verbose|--quiet|--silent"
_JOBS = r"-j ?\d*|--jobs[= ]\d+"
_PYTEST = (
    r"-[qvxsl]+|-r[A-Za-z]+|-n ?(?:\d+|auto|logical)|--numprocesses[= ]\w+|--verbose|--quiet|--exitfirst|--dist[= ]\w+|"
    r"--tb[= ]\w+|--maxfail[= ]\d+|--no-header|--no-summary|--durations(?:-min)?[= ][\d.]+|--showlocals|--full-trace|"
    r"--strict(?:-markers|-config)?|--ff|--failed-first|--nf|--new-first|--capture[= ][\w-]+|--cov(?:[= ][\w./]+)?|"
    r"--cov-report[= ][\w:./-]+|--no-cov|--cov-fail-under[= ]\d+|-W ?error|-p no:(?:cacheprovider|randomly|xdist)|"
    rf"--timeout[= ]\d+|--junit-?xml[= ]\S+|--basetemp[= ]\S+|{_COLOUR}"
)
_NODE = (
    r"--ci|--verbose|--coverage|--runInBand|-i|--silent|--no-cache|--bail|--run|--watch(?:All)?=false|--reporter[= ]\w+"
)
_NODE_FLAGS = rf"-s|--silent|--if-changed|--(?= |$)|{_NODE}|{_COLOUR}"
_NODE_PART = r"(?:--prefix|-C|--dir|--cwd|-w|--workspace|--filter|-F)(?: |=)\S+"
_NODE_SCRIPT = (
    rf"(?: (?:-s|--silent|(?P<part>{_NODE_PART})))*(?: run| run-script)?"
    r" (?P<goal>t|tests?|lint|build|check|type-?check|verify|unit|ci|(?:test|lint|build|check)[:-][\w:-]+)"
)
_CARGO = (
    rf"{_LOUD}|{_JOBS}|{_COLOUR}|--workspace|--all|--all-features|--all-targets|--locked|--frozen|--offline|--no-fail-fast|"
    r"--release|--(?= |$)|--check|--nocapture|--show-output|--test-threads[= ]\d+|-D warnings"
)
_MAVEN = r"-[qBeUo]+|--batch-mode|--quiet|--offline|--no-transfer-progress|-ntp|-T ?\w+|clean"
_GRADLE = (
    r"-q|--quiet|--info|--no-daemon|--offline|--continue|--rerun-tasks|--stacktrace|--console[= ]plain|clean|cleanTest"
)
_MAKE = (
    rf"-[sB]+|{_JOBS}|--silent|--no-print-directory|--always-make|--output-sync(?:=\w+)?|-C \S+|--directory=\S+|"
    rf"V(?:ERBOSE)?=1|clean"
)
_LINTER = (
    r"--noEmit|--strict|--check|--diff|--all-targets|--workspace|--release|--max-warnings[= ]0|--quiet|-q|--locked|--offline|"
    rf"-[pb] ?\S*|--project[= ]\S+|--ext[= ]\S+|--ignore-missing-imports|--no-incremental|--pretty|-v+|--all|run|{_COLOUR}"
)


@dataclass(frozen=True, slots=True)
class _Form:
    """What may follow a runner's name: first words, flags that choose nothing, and words that choose a part."""

    before: str = ""
    flags: str = _LOUD
    chosen: str = _PATH
    tests: bool = True


_FORMS: dict[str, _Form] = {
    "pytest": _Form(flags=_PYTEST, chosen=rf"-[km] \w+|{_PATH}"),
    "unittest": _Form(r"(?: discover)?", r"-[vqfb]+|--verbose|--quiet|--failfast|--buffer|--locals|-[st] (?:tests?|\.)"),
    "tox": _Form(r"(?: run| run-parallel)?", rf"-[qvr]+|-p(?: auto| all)?|--parallel|--recreate|{_COLOUR}", r"-e ?[\w,.-]+"),
    "nox": _Form("", rf"-[vr]+|--verbose|{_COLOUR}", r"-s ?[\w.-]+"),
    "npm": _Form(_NODE_SCRIPT, _NODE_FLAGS, rf"{_NODE_PART}|{_PATH}"),
    "pnpm": _Form(_NODE_SCRIPT, _NODE_FLAGS, rf"{_NODE_PART}|{_PATH}"),
    "yarn": _Form(_NODE_SCRIPT, _NODE_FLAGS, rf"{_NODE_PART}|{_PATH}"),
    "bun": _Form(r"(?: run)? (?P<goal>test|lint|build)", _NODE_FLAGS, rf"{_NODE_PART}|{_PATH}"),
    "deno": _Form(" (?P<goal>test|lint|check)", rf"{_LOUD}|-A|--allow-\w+"),
    "jest": _Form("", rf"{_NODE}|{_COLOUR}", rf"-t \w+|{_PATH}"),
    "vitest": _Form("(?: run)?", rf"{_NODE}|{_COLOUR}", rf"-t \w+|{_PATH}"),
    "mocha": _Form("", rf"-b|--forbid-only|{_NODE}|{_COLOUR}", rf"-g \w+|{_PATH}"),
    "node": _Form(" --test", rf"--test-reporter[= ]\w+|{_COLOUR}"),
    "manage.py": _Form(" test", r"--no-?input|--failfast|--keepdb|--parallel(?:[= ]\d+)?|-v ?\d|--verbosity[= ]\d"),
    "cargo": _Form(
        r" (?P<goal>test|t|nextest run|build|b|check|c|clippy|fmt(?=.* --check))", _CARGO,
        r"--lib|--bins|--bin \w[\w-]*|--tests?(?: \w[\w-]*)?|-p \w[\w-]*|--package[= ]\w[\w-]*|\w[\w:]*",
    ),
    "go": _Form(
        r"(?: -C \S+)? (?P<goal>test|build|vet)",
        r"-v|-race|-cover|-coverprofile=\S+|-json|-failfast|-count[= ][1-9]\d*|-timeout[= ]\w+|-parallel[= ]\d+|"
        r"-shuffle[= ]\w+|-p \d+"
        r"|\./\.\.\.",
        rf"-run[= ]\w[\w/]*|-short|-tags[= ]\w+|{_PATH}",
    ),
    "make": _Form("", _MAKE, r"[\w-]+(?:[./][\w-]+)*"),
    "just": _Form("", _LOUD, r"[\w-]+"),
    "task": _Form("", _LOUD, r"[\w:-]+"),
    "rspec": _Form("", rf"--fail-fast|--format[= ]\w+|-f ?[dp]|--backtrace|{_COLOUR}"),
    "rake": _Form(r" (?P<goal>test|spec|check|ci|lint)(?:\S*)"),
    "rails": _Form(r" (?P<goal>test)\S*", "-v|-f|-b"),
    "phpunit": _Form("", rf"--stop-on-failure|--testdox|{_COLOUR}"),
    "mvn": _Form("", _MAVEN, r"-Dtest=[\w.#]+|-pl \S+|-am|test|verify|package|install|compile|test-compile"),
    "gradle": _Form("", _GRADLE, r"--tests [\w.*]+|(?::?[\w-]+:)*(?:test|check|build|assemble|compile\w*|\w+Test)"),
    "dotnet": _Form(" (?P<goal>test|build)", r"--nologo|--no-restore|-c \w+|--configuration \w+"),
    "swift": _Form(" (?P<goal>test|build)", rf"{_LOUD}|--parallel"),
    "mix": _Form(" (?P<goal>test|compile|credo)", rf"--trace|--warnings-as-errors|{_COLOUR}"),
    "ctest": _Form("", rf"--output-on-failure|-V+|--test-dir[= ]\S+|{_JOBS}", "-R \\w+"),
    "flutter": _Form(" (?P<goal>test|analyze|build)", "--coverage"),
    "dart": _Form(" (?P<goal>test|analyze)", _COLOUR),
    "bazel": _Form(" (?P<goal>test|build)", r"--test_output[= ]\w+|//\.\.\.", r"//\S+"),
    "ruff": _Form(" (?P<goal>check|format --check)", _LINTER),
    "pre-commit": _Form(" run", r"-a|--all-files|-v|--verbose", _PATH),
    "cmake": _Form(" (?P<goal>--build) \\S+", rf"{_JOBS}|--parallel(?: \d+)?", r"--target \w+"),
}  # fmt: skip
_SELECTING = frozenset("-k -m -t -g --grep --testNamePattern --test-name-pattern --tests -run -e -E".split())
"""Their value chooses tests by name, whatever it says."""
_ALIASES = {"py.test": "pytest", "gmake": "make", "mvnw": "mvn", "gradlew": "gradle", "artisan": "rails"}
_ALL = frozenset("test tests check all ci verify t spec test:ci test-all nextest.run".split())
"""Goals that look at all there is."""
_NO_TESTS = re.compile(
    r"lint.*|build.*|b|check|c|clippy|fmt.*|vet|type-?check|analyze|compile.*|credo|format.*|assemble|--build"
)
_RUNS_TESTS = re.compile(r".*(?:test|spec|check|verify|ci$|all$)|package|install", re.IGNORECASE)

_VARIABLE = re.compile(
    r"(?:CI|TZ|LANG|LC_\w+|TERM|COLUMNS|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|"
    r"RUST_BACKTRACE|"
    r"RUST_LOG|DEBUG|DATABASE_URL|PORT|HOST|(?:NODE|RAILS|RACK|APP|MIX|FLASK)_ENV|CGO_ENABLED)=.*"
    r"|PYTHONPATH=(?:\.|\$PWD|(?:\$PWD/)?[A-Za-z]\w*)(?::\$\{?PYTHONPATH\}?)?|NODE_OPTIONS=--(?:max-old-space-size=\d+|"
    r"experimental-vm-modules)",
    re.DOTALL,
)
_USUAL_FOLDER = (
    r"\$\{?PATH\}?|(?:\$PWD/|/(?!tmp/|var/tmp/)\S+/)?(?:\.?v?env/bin|node_modules/\.bin)|(?:~|\$HOME|"
    r"\$\{HOME\})/(?:\.local/bin|\.cargo/bin|go/bin|\.(?:bun|deno|pyenv|rbenv|nvm|volta|asdf)/[\w./-]*)|"
    r"/(?:usr/(?:local/)?)?s?bin|/usr/local/go/bin|/opt/homebrew/s?bin"
)
_SEARCH_PATH = re.compile(rf"PATH=[\"']?(?:{_USUAL_FOLDER})(?::(?:{_USUAL_FOLDER}))*[\"']?")
_WRAPPER = re.compile(
    r"(?:timeout|nice) (?:-n )?\d+[smh]?|time|nice|env|xvfb-run(?: -a)?|sudo -E|npx(?: --yes| -y)?|bunx|command"
)
_LAUNCHER = re.compile(
    r"|uv run|poetry run|pipenv run|pdm run|hatch run|rye run|bundle exec|pnpm exec|yarn|npx|bunx|pnpm|(?:uv run |"
    r"poetry run )?(?:\S*/)?(?:python|pypy)[\d.]*(?: -[uB])*(?: -m)?|(?:\S*/)?(?:ba|da)?sh|npx --no-install|coverage run -m"
)
_TYPED = re.compile(
    r"[\w.-]+|(?:(?!/tmp/|/var/tmp/)\S*/)?(?:\.?v?env[\w.-]*|env|node_modules/\.bin)/(?:bin/)?[\w.-]+|\./(?:gradlew|mvnw|manage\.py)|"
    r"(?:\./)?(?:vendor/)?bin/(?:rspec|rails|rake|phpunit)|"
    r"/(?:usr/(?:local/)?)?bin/[\w.-]+|(?:/[\w.-]+)*/\.(?:pyenv|rbenv|nvm|asdf|volta|local|cargo)/(?:[\w.-]+/)*[\w.-]+|"
    r"\./manage\.py"
)  # fmt: skip
_INTERPRETER = re.compile(r"(?:\S*/)?(?:python|pypy)[\d.]*")
_SCRATCH = re.compile(r"/(?:private/)?(?:var/)?tmp(?:/|$)")


@dataclass(frozen=True, slots=True)
class PlainCheck:
    """A command in a known form: its runner, whether it runs tests, and what it limits itself to."""

    runner: str
    tests: bool
    chosen: frozenset[str] = frozenset()
    """What it is limited to; empty: everything there is."""


def plain_check(command: Command) -> PlainCheck | None:
    """Return what a command checks if it has a known form; None for everything else."""
    if not _is_started_plainly(command) or not all(map(is_plain_setting, command.assignments)):
        return None
    selected, words = set[str](), list[str]()
    for before, word in zip(command.words, command.words[1:], strict=False):
        if before in _SELECTING and not re.search(r"[$`\n]", word):
            selected.add(f"{words.pop()} {word}")
        elif re.search(r"[\s$`*?~{};&|<>()!\\]", word):
            return None
        else:
            words.append(word)
    name = _ALIASES.get(command.program, command.program)
    text = "".join(f" {word}" for word in words)
    if CHECK_SCRIPT.fullmatch(name):
        return PlainCheck(name, tests=True) if not words and not command.typed.startswith("/") else None
    form = _FORMS.get(name)
    if form is None and (name in CHECKERS or name in FORMATTERS or name in CHECK_GOALS):
        form = _Form(flags=_LINTER, tests=False)
    found = _matched(name, form, text) if form else None
    return replace(found, chosen=found.chosen | selected) if found else None


def _matched(name: str, form: _Form, text: str) -> PlainCheck | None:
    began = re.match(form.before + r"(?= |$)", text)
    if began is None:
        return None
    words = began.groupdict()
    goal = words.get("goal") or ""
    at, chosen = began.end(), {part for part in (words.get("part"),) if part}
    flag, choice = re.compile(rf" (?:{form.flags})(?= |$)"), re.compile(rf" ({form.chosen})(?= |$)")
    while at < len(text):
        if found := flag.match(text, at):
            at = found.end()
        elif found := choice.match(text, at):
            chosen.add(found[1].removeprefix("./").rstrip("/"))
            at = found.end()
        else:
            return None
    if name in ("make", "just", "task", "mvn", "gradle"):
        goals = {word for word in chosen if not word.startswith("-")}
        tests = any(_RUNS_TESTS.fullmatch(word.rpartition(":")[2]) for word in goals)
        tested = _ALL | {"package", "install"} if name in ("mvn", "gradle") else _ALL
        return PlainCheck(name, tests, frozenset(chosen - tested)) if goals else None
    if name == "go" and "./..." not in text:
        chosen.add(".")
    tests = form.tests and not (goal and _NO_TESTS.fullmatch(goal))
    narrow = {goal} if goal and tests and goal not in _ALL and goal != "nextest run" else set[str]()
    return PlainCheck(f"{name} {goal}".strip(), tests, frozenset(chosen - {"."} if name != "go" else chosen) | narrow)


def _is_started_plainly(command: Command) -> bool:
    """Whether nothing but a known launcher stands before the program, and the program is looked up where it usually is."""
    if not _LAUNCHER.fullmatch(command.runner):
        return False
    if not (_TYPED.fullmatch(command.typed) or CHECK_SCRIPT.fullmatch(command.program)):
        return False
    try:
        words = [word for word in shlex.split(command.text.lstrip("({ ")) if word not in ("-u", "-B")]
    except ValueError:
        return False
    started = [*command.runner.split(), command.typed]
    names = [word.rpartition("/")[2] for word in words]
    wanted = [word.rpartition("/")[2] for word in started]
    at = next((i for i in range(len(names)) if names[i : i + len(wanted)] == wanted), None)
    if at is None or words[at + len(wanted) - 1] != command.typed:
        return False
    before = words[:at]
    if any(
        _INTERPRETER.fullmatch(word)
        and not (_TYPED.fullmatch(word) or word.startswith("/opt/") or word == sys.executable)  # the one Tacit runs in
        for word in words[at : at + 3]
    ):
        return False
    given = " ".join(word for word in before if word not in command.assignments)
    while given:
        found = _WRAPPER.match(given)
        if found is None or given[found.end() :][:1] not in ("", " "):
            return False
        given = given[found.end() :].strip()
    return True


def is_plain_setting(setting: str) -> bool:
    """Whether a variable, as `NAME=value`, leaves programs and what counts as success alone."""
    name = setting.partition("=")[0]
    if name == "PATH":
        return _SEARCH_PATH.fullmatch(setting) is not None
    return _VARIABLE.fullmatch(setting) is not None or (name.islower() and not name.startswith(("npm_", "cargo_")))


_WRITING = re.compile(r"--(?:junit-?xml|basetemp|cov-report)|-coverprofile")
"""Their value is written, not looked at."""
COUNTS = "the skill's own check counts, word for word, or one whole test run such as `pytest -q` or `make test`"
"""What whoever reports an outcome may run instead."""


def why_not_whole(text: str) -> str:
    """Why a text is not one whole test run in a plain form; empty if it is."""
    commands = parse_command(text, bare=True)
    if len(commands) != 1 or re.search(r"[;&|\n<>()`$]", text.strip()):
        return "more than one plain command, or what the shell fills in"
    found = plain_check(commands[0])
    if (
        found is None
        or CHECK_SCRIPT.fullmatch(commands[0].program)
        or commands[0].assignments
        or looks_elsewhere(commands[0], [""])
    ):
        return f"a command in no known plain form (`{text[:80]}`)"
    if found.chosen:
        return f"a part of the tests (`{min(found.chosen)}`)"
    return "" if found.tests else "a check that runs no tests"


def not_plain(text: str, folder: str) -> str:
    """Why a check that a harness or a person chose is not plain, or does not look at the work in a folder; empty if it does."""
    for command in parse_command(text):
        nested = nested_script(command)
        if found := not_plain(nested, folder) if nested else "":
            return found
        if nested or not is_check(command):
            continue
        if plain_check(command) is None:
            return f"`{command.text[:80]}` is not a check in a plain form"
        if there := looks_elsewhere(command, [folder]):
            return f"the check looks at `{there}`, outside of the place where the work was done"
    return ""


def looks_elsewhere(command: Command, places: Sequence[str]) -> str:
    """Return the place outside of the work where a check begins or looks; empty if there is none.

    It may begin in a folder around the work. The places are the workspace and what was changed outside of it.
    """
    start = command.directory
    if re.search(r"(?:^|/)(?:\.|worktrees?/)\w", start) and not any(_is_within(place, start) for place in places):
        return start  # a checkout inside of the checkout
    if start and not any(_is_within(start, place, above=True) for place in places):
        return start
    for before, word in zip(command.words, command.words[1:], strict=False):
        if _WRITING.fullmatch(before):
            continue
        name = word.rpartition("=")[2] if word.startswith("-") else word
        if re.match(r"/|~|\.\.(?:/|$)|.*/\.\.(?:/|$)", name) and not re.match(r"--(?:junit|base|cov)", word):
            path = inside(start, name.split("::")[0])
            if not any(_is_within(path, place) for place in places):
                return name
    return ""


def _is_within(path: str, place: str, *, above: bool = False) -> bool:
    """Whether a path, seen from a place, lies in it; where the place is unknown, whether it may."""
    if path.startswith("$PWD"):
        return ".." not in path
    if path.startswith("~"):
        rest = path.partition("/")[2]
        return bool(rest) and f"{place}/".endswith(f"/{rest.rstrip('/')}/")
    if "$" in path or "`" in path:
        return False
    if not place:
        return not path.startswith("..") and not _SCRATCH.match(path)
    whole = posixpath.normpath(path if path.startswith("/") else f"{place}/{path}").rstrip("/") + "/"
    around = posixpath.normpath(place).rstrip("/") + "/"
    return whole.startswith(around) or (above and around.startswith(whole) and not _SCRATCH.match(place))
