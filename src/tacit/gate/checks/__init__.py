"""Checks on a skill's content: SkillContent → findings. Offline, linear in time, the same for the same content.

Each check looks for one kind of danger and reports the characters it found. It judges what a text says and what its code
does, never who wrote it. Further checks come from the entry points of the group `tacit.checks`; `features/scan` brings
those for bundled files, code and obfuscation the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import Mistake, Outage
from tacit.domain.extension import load_entry_points
from tacit.domain.skill import SkillContent
from tacit.domain.trust import SafetyCheck

__all__ = ["built_in", "every_check", "identities", "most_severe", "optional_check", "run_checks", "worst"]

_GROUP = "tacit.checks"
_OPTIONAL = "tacit.checks.optional"
"""Checks that run only when asked for by name, because they are large or slow."""


@cache
def built_in() -> tuple[SafetyCheck, ...]:
    """Return the checks of this package. Imported late: compiling their patterns takes time that most commands save."""
    from tacit.gate.checks.dangerous_commands import CommandsCheck
    from tacit.gate.checks.prose import ContextualCheck, ProseCheck
    from tacit.gate.checks.safety import SecretsCheck, UnicodeCheck

    return (CommandsCheck(), UnicodeCheck(), SecretsCheck(), ProseCheck(), ContextualCheck())


@cache
def every_check() -> tuple[SafetyCheck, ...]:
    """Return the built-in checks and those of entry points; raises `ConfigError` for one that does not load."""
    own = {f"{type(check).__module__}:{type(check).__qualname__}" for check in built_in()}
    others = [check for _, check in load_entry_points(_GROUP, kind="check", skip=own, create=True)]
    return (*built_in(), *others)


def optional_check(name: str) -> SafetyCheck:
    """Open a check that runs only when asked for; raises `Mistake` for an unknown name."""
    from importlib.metadata import entry_points

    installed = {entry.name: entry for entry in entry_points(group=_OPTIONAL)}
    if name not in installed:
        hint = f"known: {', '.join(sorted(installed))}" if installed else "no installed package has one"
        raise Mistake(f"there is no optional check {name!r}", code="unknown_check", hint=hint)
    check: SafetyCheck = installed[name].load()()
    return check


def identities(checks: Sequence[SafetyCheck] | None = None) -> tuple[str, ...]:
    """Return name and version of each check, as an approval stores them."""
    return tuple(f"{check.name} {check.version}" for check in (every_check() if checks is None else checks))


def run_checks(content: SkillContent, *, checks: Sequence[SafetyCheck] | None = None) -> tuple[Finding, ...]:
    """Run every check on a content; most severe findings first. A check that fails raises an `Outage` that names it."""
    findings: list[Finding] = []
    for check in every_check() if checks is None else checks:
        try:
            findings += check.examine(content)
        except Outage as error:
            message = f"the check {check.name!r} could not run: {error.message}"
            raise Outage(message, code="check_failed", hint=error.hint, retryable=error.retryable) from error
        except (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            message = f"the check {check.name!r} failed: {type(error).__name__}: {error}"
            hint = "nothing was decided; update or remove the package that brings this check"
            raise Outage(message, code="check_failed", hint=hint) from error
    return most_severe(findings)


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Return the highest severity among findings."""
    return max((finding.severity for finding in findings), key=lambda each: each.rank, default=None)


def most_severe(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep one finding per rule, field and line, and sort by severity: a code block is also part of its body."""
    kept: dict[tuple[str, str, int], Finding] = {}
    for finding in sorted(findings, key=lambda each: -each.severity.rank):
        kept.setdefault(finding.place, finding)
    return tuple(
        sorted(kept.values(), key=lambda each: (-each.severity.rank, each.field, each.line, each.start, each.rule))
    )
