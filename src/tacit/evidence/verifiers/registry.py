"""Verifiers by name: built-in ones, and those of other packages (entry points `tacit.verifiers`).

A name leads to a function of an argument (the text that the user typed) and a `Context`, which makes the verifier. Those of
other packages are loaded on demand; one that does not load is reported by name. A check that the reporter chose counts only
if it is the skill's own, or runs all tests.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import ConfigError, Mistake, NotPermitted
from tacit.domain.evidence import Outcome, Use
from tacit.domain.ports import Verifier
from tacit.domain.skill import SkillContent
from tacit.evidence.plain_checks import COUNTS, why_not_whole
from tacit.evidence.replay import Replay
from tacit.evidence.repository import WorkspaceBaseline
from tacit.evidence.verifiers.checks import (
    CIResult,
    Command,
    FileState,
    Person,
    Postconditions,
    Tests,
    is_own,
    own_checks,
    weakness,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_GROUP = "tacit.verifiers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a verifier may know: where it runs, for which use of which skills, and who asks."""

    project: Path
    use: Use
    contents: Sequence[SkillContent] = ()
    person: bool = False
    """Whether a person asks; any other reporter may not choose the check."""
    by: str = ""
    timeout_s: float = 600.0
    first: Use | None = None
    """The first use of the session; None: this one. A second query does not move the baseline."""

    @property
    def baseline(self) -> WorkspaceBaseline:
        """Where a check runs, and its baseline. Only a person may run it in a part of the project."""
        here = Path.cwd()
        folder = here if self.person and here.is_relative_to(self.project) else self.project
        return WorkspaceBaseline.of((not self.person and self.first) or self.use, folder, strict=not self.person)


Make = Callable[[str, Context], Verifier]


def command(argument: str, context: Context) -> Verifier:
    """A shell command; its exit status is the outcome."""
    return _chosen(Command, argument, context, example="a command, such as 'pytest -q'")


def tests(argument: str, context: Context) -> Verifier:
    """A test run; at least one test must have run."""
    return _chosen(Tests, argument, context, example="the command that runs the tests, such as 'make test'")


def postconditions(argument: str, context: Context) -> Verifier:
    """The skill's own checks; ARG gives values, such as 'table=invoices'."""
    return Postconditions(
        context.contents, parameters=_values(argument), timeout_s=context.timeout_s, baseline=context.baseline
    )


def file(argument: str, context: Context) -> Verifier:
    """The state of a file: 'PATH exists|absent|changed', 'PATH contains TEXT', 'PATH sha256 HASH'."""
    _require(argument, "a file and its state, such as 'dist/app.js exists'")
    asked = FileState.parse(argument)
    reserved = "" if context.person else "whoever reports the outcome chose the file and what must be so of it"
    return FileState(asked.path, asked.state, asked.value, baseline=context.baseline, reservation=reserved)


def ci(argument: str, context: Context) -> Verifier:
    """A result file of continuous integration: JUnit XML, or JSON with a conclusion."""
    _require(argument, "the path of a result file, such as results/junit.xml")
    reserved = "" if context.person else "a result file says what its writer wrote, and no person brings this one"
    return CIResult(Path.cwd() / argument, baseline=context.baseline, reservation=reserved)


def replay(argument: str, context: Context) -> Verifier:
    """The skill's steps and checks again, in a sandbox on a clean copy; ARG gives values."""
    if len(context.contents) != 1:
        raise Mistake(
            "one skill can be replayed at a time", code="one_skill_only", hint="name it with --followed VERSION"
        )
    return Replay(context.contents[0], context.project, _values(argument), baseline=context.baseline)


def person(argument: str, context: Context) -> Verifier:
    """A person's verdict: 'success' or 'failure', and why. Only at a person's terminal."""
    if not context.person:
        raise NotPermitted(
            "only a person can give a person's verdict", code="person_required", hint="run it in a terminal of your own"
        )
    verdict, _, note = argument.strip().partition(" ")
    if verdict not in (Outcome.SUCCESS, Outcome.FAILURE):
        raise Mistake(
            f"{verdict!r} is no verdict", code="unknown_verdict", hint="success or failure, then what you saw"
        )
    return Person(passed=verdict == Outcome.SUCCESS, by=context.by, note=note)


BUILT_IN: dict[str, Make] = {make.__name__: make for make in (command, tests, postconditions, file, ci, replay, person)}


def verifier(name: str, argument: str, context: Context) -> Verifier:
    """Return the verifier of this name; raises `Mistake` for an unknown name, `ConfigError` for one that does not load."""
    if name in BUILT_IN:
        return BUILT_IN[name](argument, context)
    entry = _others().get(name)
    if entry is None:
        hint = f"known: {', '.join((*BUILT_IN, *_others()))}"
        raise Mistake(f"there is no verifier {name!r}", code="unknown_verifier", hint=hint)
    try:
        made: Verifier = entry.load()(argument, context)
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"the verifier {name!r} ({entry.value}) does not load: {error}",
            code="verifier_broken",
            hint="update or remove the package that brings it",
        ) from error
    return made


def described() -> dict[str, str]:
    """Return each verifier by name with a line on its argument; for other packages their origin, since they are not
    loaded."""
    own = {name: " ".join((make.__doc__ or "").split()) for name, make in BUILT_IN.items()}
    return own | {name: f"from {entry.value}" for name, entry in _others().items()}


def _others() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    found = sorted(entry_points(group=_GROUP), key=lambda entry: entry.name)
    return {entry.name: entry for entry in found if entry.name not in BUILT_IN}


def _require(argument: str, what: str) -> None:
    if not argument.strip():
        raise Mistake("this verifier needs an argument", code="argument_missing", hint=f"--verify with {what}")


def _chosen(make: type[Command], text: str, context: Context, *, example: str) -> Command:
    """A command that the reporter chose, with the doubt about it; a person may choose any that can fail."""
    _require(text, example)
    own = own_checks(context.contents)
    if why := weakness(text):
        hint = f"use the skill's own check: {', '.join(sorted(own))}" if own else "use a test run"
        raise Mistake(why, code="weak_check", hint=hint)
    doubt = ""
    if not context.person and text.strip() not in own:
        if is_own(text, context.contents):
            doubt = (
                "whoever reports the outcome chose the values of the skill's check; `--with postconditions` takes them"
            )
        elif why := why_not_whole(text):
            doubt = f"whoever reports the outcome chose {why}; {COUNTS}"
    return make(text, timeout_s=context.timeout_s, baseline=context.baseline, reservation=doubt)


def _values(argument: str) -> dict[str, str]:
    try:
        pairs = [word.partition("=") for word in shlex.split(argument)]
    except ValueError as error:
        raise Mistake(
            f"{argument!r} cannot be read: {error}", code="invalid_values", hint="give values as name=value"
        ) from error
    if any(not sign for _, sign, _ in pairs):
        raise Mistake(f"{argument!r} gives no values", code="invalid_values", hint="give values as name=value")
    return {name: value for name, _, value in pairs}
