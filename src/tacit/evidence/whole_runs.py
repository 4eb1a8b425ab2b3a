"""Shell text → is it one whole test run, and nothing else? An allow-list: what is not known to be one is not.

Whoever reports an outcome may run all of a project's tests as proof, not a part of them, nor tests in another place. So
only a known runner counts, with flags that change how much is printed or how fast it goes, and with no operand but
"everything". Reads text; runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from tacit.evidence.check_strength import narrowed, runs_tests

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
_PYTEST = (
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
    "pytest": _with(_PYTEST, after=r"(?: \.)?"),
    "py.test": _with(_PYTEST, after=r"(?: \.)?"),
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
