"""Checks: what in a skill's content must a reviewer know before anything else? SkillContent → findings. Pure.

Each check looks for one sort of danger and names the characters it speaks of. Deterministic, offline, linear in time; it
weighs what a text says and what its code does, never who wrote it. Other packages bring further checks by the entry
points of `tacit.checks`. It flags; people decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import ConfigError, Mistake, Outage
from tacit.domain.skill import SkillContent
from tacit.domain.trust import SafetyCheck

__all__ = ["WEIGHT", "built_in", "every_check", "examine", "identities", "optional_check", "worst"]

WEIGHT = {severity: weight for weight, severity in enumerate(Severity)}
"""Severities in order: a heavier finding has a higher number."""
_GROUP = "tacit.checks"
_OPTIONAL = "tacit.checks.optional"
"""Checks that look only where they are asked for by name, since they are large or slow."""


@cache
def built_in() -> tuple[SafetyCheck, ...]:
    """The checks of this package; their patterns take a while to compile, and most commands look at nothing."""
    from tacit.gate.checks.code import CodeCheck
    from tacit.gate.checks.commands import CommandsCheck
    from tacit.gate.checks.contextual import ContextualCheck
    from tacit.gate.checks.files import FilesCheck
    from tacit.gate.checks.obfuscation import ObfuscationCheck
    from tacit.gate.checks.prose import ProseCheck
    from tacit.gate.checks.secrets import SecretsCheck
    from tacit.gate.checks.unicode import UnicodeCheck

    return (
        CommandsCheck(),
        CodeCheck(),
        ObfuscationCheck(),
        UnicodeCheck(),
        SecretsCheck(),
        FilesCheck(),
        ProseCheck(),
        ContextualCheck(),
    )


@cache
def every_check() -> tuple[SafetyCheck, ...]:
    """The built-in checks and those of other packages; one that does not load is a mistake in the installation."""
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    own = {f"{type(check).__module__}:{type(check).__qualname__}" for check in built_in()}
    others: list[SafetyCheck] = []
    for entry in sorted(entry_points(group=_GROUP), key=lambda entry: entry.name):
        if entry.value in own:
            continue
        try:
            others.append(entry.load()())
        except (ImportError, AttributeError, TypeError) as error:
            raise ConfigError(
                f"the check {entry.name!r} ({entry.value}) does not load: {error}",
                hint="update or remove the package that brings it",
            ) from error
    return (*built_in(), *others)


def optional_check(name: str) -> SafetyCheck:
    """Open a check that looks only where it is asked for; raises `Mistake` for a name that nobody brings."""
    from importlib.metadata import entry_points

    known = {entry.name: entry for entry in entry_points(group=_OPTIONAL)}
    if name not in known:
        hint = f"known: {', '.join(sorted(known))}" if known else "no package here brings one"
        raise Mistake(f"there is no optional check {name!r}", hint=hint)
    check: SafetyCheck = known[name].load()()
    return check


def identities(checks: Sequence[SafetyCheck] | None = None) -> tuple[str, ...]:
    """Name and version of each check, as an approval keeps them."""
    return tuple(f"{check.name} {check.version}" for check in (every_check() if checks is None else checks))


def examine(content: SkillContent, *, checks: Sequence[SafetyCheck] | None = None) -> tuple[Finding, ...]:
    """Let every check look at a content; the heaviest findings first. A check that fails is an outage that names it."""
    findings: list[Finding] = []
    for check in every_check() if checks is None else checks:
        findings += _findings(check, content)
    return tuple(sorted(dict.fromkeys(_once(findings)), key=_order))


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The heaviest weight among findings."""
    return max((finding.severity for finding in findings), key=WEIGHT.__getitem__, default=None)


def _findings(check: SafetyCheck, content: SkillContent) -> list[Finding]:
    try:
        return list(check.examine(content))
    except Outage as error:
        raise Outage(
            f"the check {check.name!r} could not look: {error.message}", hint=error.hint, retryable=error.retryable
        ) from error
    except (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise Outage(
            f"the check {check.name!r} failed: {type(error).__name__}: {error}",
            hint="nothing was decided; update or remove the package that brings this check",
        ) from error


def _once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """One finding per rule, field and line: a block of Markdown is also part of its body."""
    kept: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.field, finding.line)
        known = kept.get(key)
        if known is None or WEIGHT[finding.severity] > WEIGHT[known.severity]:
            kept[key] = finding
    return kept.values()


def _order(finding: Finding) -> tuple[int, str, int, int, str]:
    return (-WEIGHT[finding.severity], finding.field, finding.line, finding.start, finding.rule)
