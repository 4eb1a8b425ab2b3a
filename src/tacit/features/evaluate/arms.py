"""Arms and suites as data: names, or a TOML file, in; the arms of a run and the suite it names out.

A file may define arms beside the usual ones, and say which suite is meant with which options, so that a measurement is one
file that can be kept and repeated. Every problem of a file is told at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.suite import ARMS, AidKind, Arm

_BYTES_MAX = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+-]{0,39}")
_MOST = {"k": 50, "budget_tokens": 100_000}
_FIELDS = ("aid", "adapter", *_MOST)
_EXAMPLE = '[arms.one-skill]\naid = "skills"\nk = 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a file says is to be measured."""

    arms: tuple[Arm, ...] = ()
    suite: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the suite by name, such as `data`."""


def named_arms(names: str | Sequence[str], known: Mapping[str, Arm] = ARMS) -> list[Arm]:
    """The arms of these names (a text is parted by commas), in that order: the first is what others are compared with."""
    wanted = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    wanted = [name for name in wanted if name]
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise Mistake(f"no such arm: {', '.join(unknown)}", hint=f"the arms are {', '.join(known)}")
    if not wanted:
        raise Mistake("no arm is named", hint=f"the arms are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(wanted)]


def read_plan(path: Path) -> Plan:
    """Read a file of arms; arms that it does not name are the usual ones. Paths of options are seen from its folder."""
    if not path.is_file():
        raise NotFound(f"no such file: {path}", hint=f"a file of arms is TOML, such as\n{_EXAMPLE}")
    with path.open("rb") as stream:
        data = stream.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise Mistake(f"{path} is larger than a megabyte", hint="a file of arms is short")
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Mistake(f"{path} is no TOML: {error}", hint=f"write it like\n{_EXAMPLE}") from error
    problems = list(_problems(document))
    if problems:
        raise Mistake(f"{path}: {'; '.join(problems)}", hint=f"write it like\n{_EXAMPLE}")
    arms = tuple(Arm(name=name, **_typed(options)) for name, options in document.get("arms", {}).items())
    suite = document.get("suite", {})
    options = {name: value for name, value in suite.items() if name != "name"}
    if "data" in options:
        options["data"] = str(path.parent / options["data"])
    return Plan(arms=arms, suite=suite.get("name", ""), options=options)


def with_usual(plan: Plan) -> dict[str, Arm]:
    """All arms that can be named: the usual ones, and those of a plan."""
    return {**ARMS, **{arm.name: arm for arm in plan.arms}}


def described(arm: Arm) -> str:
    """What an agent has under an arm, in a few words."""
    told = _WORDS[arm.aid]
    more = [f"{arm.k} at most" if arm.k else "", f"{arm.budget_tokens} tokens at most" if arm.budget_tokens else ""]
    sized = ", ".join([told, *filter(None, more)])
    if not arm.adapter:
        return sized
    return (
        "an adapter in its weights" if replace(arm, name="") == Arm(name="", adapter=True) else f"{sized}; an adapter"
    )


_WORDS = {
    AidKind.NONE: "nothing but the task",
    AidKind.SKILLS: "skills that are recalled for the task",
    AidKind.TRAJECTORY: "the most similar attempt that succeeded, as it was",
    AidKind.KNOWLEDGE: "passages of documents",
    AidKind.PLACEBO: "the skills that fit least, as long as the right ones",
    AidKind.ORACLE: "the right tools in order, which no real agent has",
}


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(set(document) - {"arms", "suite"}):
        yield f"unknown table {key!r}"
    yield from _suite_problems(document.get("suite", {}))
    arms = document.get("arms", {})
    if not isinstance(arms, dict):
        yield "arms is no table"
        return
    for name, options in arms.items():
        yield from (f"arm {name!r}: {problem}" for problem in _arm_problems(name, options))


def _suite_problems(suite: object) -> Iterator[str]:
    if not isinstance(suite, dict):
        yield "suite is no table"
        return
    for key, value in suite.items():
        if not isinstance(value, str):
            yield f"suite: {key} is no text"
    if suite and "name" not in suite:
        yield "suite has no name"


def _arm_problems(name: str, options: object) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield "a name has at most 40 letters, digits, blanks and _ . + -"
    if name in ARMS:
        yield "this name has a meaning already"
    if not isinstance(options, dict):
        yield "it is no table"
        return
    for key in sorted(set(options) - set(_FIELDS)):
        yield f"unknown option {key!r} (there are {', '.join(_FIELDS)})"
    if "aid" in options and options["aid"] not in list(AidKind):
        yield f"no such aid: {options['aid']!r} (there are {', '.join(AidKind)})"
    if not isinstance(options.get("adapter", False), bool):
        yield "adapter is neither true nor false"
    for key, most in _MOST.items():
        value = options.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            yield f"{key} is no whole number from 1 to {most}"


def _typed(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, "aid": AidKind(options.get("aid", AidKind.NONE))}
