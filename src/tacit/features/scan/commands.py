"""`tacit check PATH…` runs every check on skills on disk; `tacit check --library` rechecks the approvals in the store.

Checking skills on disk stores nothing, and runs nothing except in the sandbox with --detonate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.text import Text

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import Mistake, Refusal
from tacit.domain.lifecycle import RECALLABLE, CodedReason
from tacit.domain.sandbox import Sandbox
from tacit.domain.stored import StoredVersion
from tacit.domain.trust import SafetyCheck
from tacit.features.scan.detonation import SKIP_SENTENCES, Detonation, SkipReason, detonate
from tacit.features.scan.inspection import Inspected, inspect
from tacit.features.scan.reading import ReadingCheck
from tacit.gate import checks
from tacit.gate.content_checks import needed_capabilities_of
from tacit.gate.findings import reason_sentence
from tacit.gate.review_rules import has_severe_findings
from tacit.gate.reviews import BY_RECHECK, Rechecked
from tacit.maintain.exports import export
from tacit.render.frontmatter import Problem
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line

_STYLE = {
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "yellow",
    Severity.LOW: "cyan",
    Severity.INFO: "dim",
}
_SHOWN = 12
"""Findings of one skill that are shown without `--all`, most severe first."""
_LISTED = 6
"""Capabilities of one kind that are shown without `--all`."""
_REFUSED = frozenset({Severity.HIGH, Severity.CRITICAL})
_FAULTS = {
    "archive-zip-slip": Severity.HIGH,
    "archive-bomb": Severity.HIGH,
    "archive-link": Severity.HIGH,
    "archive-name": Severity.HIGH,
    "link-outside": Severity.HIGH,
    "archive-locked": Severity.HIGH,
    "archive-encrypted": Severity.HIGH,
    "not-looked-at": Severity.HIGH,
    "file-left-out": Severity.LOW,
    "link-broken": Severity.MEDIUM,
}
"""Severity of problems with folders and archives; problems of the format are low or info."""


class _Place(click.Path):
    """A path that must not be empty: an unset shell variable must not mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; raises `Mistake` for an empty one."""
        if not str(value).strip():
            raise Mistake(
                "a PATH is empty", code="empty_path", hint="give a skill's folder, or . for the one you are in"
            )
        return super().convert(value, param, ctx)


@dataclass(frozen=True, slots=True)
class Checked:
    """One skill and what was found in it."""

    skill: Inspected
    findings: tuple[Finding, ...]
    detonation: Detonation | None = None
    """What its scripts did in the sandbox; None without --detonate."""

    @property
    def worst(self) -> Severity | None:
        """The highest severity."""
        return checks.worst(self.findings)

    def place(self, finding: Finding) -> tuple[str, int]:
        """Return file and line (from 1) of a finding; line 0 for a file as a whole."""
        content = self.skill.content
        if finding.field.startswith("files."):
            index = finding.field.removeprefix("files.")
            known = index.isdigit() and int(index) < len(content.files)
            return (content.files[int(index)].path if known else "", finding.line)
        if finding.field == "body" and content.body and finding.line:
            at = self.skill.text.find(content.body[:400])
            return "SKILL.md", finding.line + (self.skill.text.count("\n", 0, at) if at > 0 else 0)
        if finding.field in ("name", "description") and finding.line:
            lines = self.skill.text.split("\n", 60)
            return "SKILL.md", next((n for n, line in enumerate(lines, 1) if line.startswith(finding.field)), 0)
        return "SKILL.md", 0


@click.command()
@click.argument("paths", nargs=-1, type=_Place(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Show every finding, not only the most severe.")
@click.option("--detonate", "run", is_flag=True, help="Also run its scripts, in a sandbox with fake secrets.")
@click.option(
    "--with", "names", multiple=True, metavar="NAME", help="Also use a check that another package brings; repeatable."
)
@click.option("--model", metavar="NAME", help="Also let this language model read each skill; it adds findings.")
@click.option("--library", is_flag=True, help="Recheck everything recallable: do its approvals still hold?")
@click.option(
    "--apply", is_flag=True, help="With --library: versions whose approval no longer holds wait for review again."
)
@click.option("--by", default="", help="With --apply: your name, stored with the decision.")
@command_options
def check(
    ctx: CommandContext, *, paths: tuple[Path, ...], everything: bool, names: tuple[str, ...], **how: Any
) -> None:
    """Check skills for danger: PATH is a skill's folder or SKILL.md, a folder of skills, or an archive.

    Nothing is stored. Nothing is run, except with --detonate: then every script runs in a sandbox without network.
    With --model claude-code, codex or provider:model the skill's text is sent to that model, without secrets.
    Exits with 3 if any skill has a finding of severity high or critical.
    """
    run, model = how["run"], how["model"]
    _check_options(how, paths=bool(paths), disk_only=bool(run or names or model))
    if how["library"]:
        recheck(ctx, apply=how["apply"], by=how["by"])
        return
    asked = (*checks.every_check(), *map(checks.optional_check, names))
    sandbox = _sandbox() if run else None
    with _reading(ctx, model) as reading:
        asked = (*asked, *reading)
        looked = [check_skill(skill, asked, sandbox=sandbox) for path in paths for skill in inspect(path)]
    documents = [_skill_json(each, asked) for each in looked]
    answer = documents[0] if len(documents) == 1 else {"skills": documents}
    ctx.report(answer, lambda: _print_skills(ctx, looked, everything=everything))
    refused = [each for each in looked if each.worst in _REFUSED]
    if refused:
        names_text = ", ".join(clean(each.skill.content.name) for each in refused[:3])
        more = f" and {len(refused) - 3} more" if len(refused) > 3 else ""
        ctx.end_with(
            Refusal(
                f"do not trust {names_text}{more} as {'they are' if len(refused) > 1 else 'it is'}",
                code="dangerous_skill",
                hint="read the findings above, and remove what you do not understand",
            )
        )


@contextmanager
def _reading(ctx: CommandContext, name: str | None) -> Iterator[tuple[SafetyCheck, ...]]:
    """Yield the check by a language model that a person named; nothing without a name."""
    if name is None:
        yield ()
        return
    ctx.caller.require_person("check --model")
    with ctx.language_model(name.strip(), ctx.settings[0].model, start=True) as model:
        yield (ReadingCheck(model),)


_OPTION_MISTAKES = {
    "path_with_library": "--library checks the store, so it takes no PATH",
    "apply_without_library": "--apply belongs to --library",
    "disk_option_with_library": "--detonate, --with and --model check skills on disk, not --library",
    "nothing_to_check": "give skills to check, or --library",
}


def _check_options(how: Mapping[str, Any], *, paths: bool, disk_only: bool) -> None:
    """Raise `Mistake` for options that contradict each other."""
    code = ""
    if how["library"] and paths:
        code = "path_with_library"
    elif how["apply"] and not how["library"]:
        code = "apply_without_library"
    elif how["library"] and disk_only:
        code = "disk_option_with_library"
    elif not (how["library"] or paths):
        code = "nothing_to_check"
    if code:
        hint = "tacit check PATH, or tacit check --library [--apply]"
        raise Mistake(_OPTION_MISTAKES[code], code=code, hint=hint)


def check_skill(
    skill: Inspected, asked: Sequence[SafetyCheck] | None = None, *, sandbox: Sandbox | None = None
) -> Checked:
    """Run checks on one skill, and its scripts if a sandbox is given."""
    faults = tuple(_fault(problem) for problem in skill.problems)
    seen = checks.run_checks(skill.content, checks=asked)
    detonation = detonate(skill.content.files, sandbox, suspicion=_suspicion(seen)) if sandbox else None
    findings = (*faults, *seen, *(detonation.findings if detonation else ()))
    return Checked(skill, tuple(sorted(findings, key=lambda finding: -finding.severity.rank)), detonation)


def _suspicion(findings: Sequence[Finding]) -> dict[int, int]:
    """Return the rank of the worst finding in each bundled file, by the file's number."""
    ranks: dict[int, int] = {}
    for finding in findings:
        name, _, number = finding.field.partition(".")
        if name == "files" and number.isdigit():
            ranks[int(number)] = max(ranks.get(int(number), 0), finding.severity.rank)
    return ranks


def _sandbox() -> Sandbox:
    from tacit.providers.sandbox import open_sandbox

    return open_sandbox()


def _fault(problem: Problem) -> Finding:
    severity = _FAULTS.get(problem.rule, Severity.LOW if problem.severity == "error" else Severity.INFO)
    rule = problem.rule.replace("-", "_")
    return Finding(rule=rule, message=problem.message, severity=severity, field=problem.field, line=problem.line or 0)


def _skill_json(checked: Checked, asked: Sequence[SafetyCheck]) -> dict[str, Any]:
    content = checked.skill.content
    needs = asdict(needed_capabilities_of(content))
    return {
        "path": checked.skill.path,
        "name": content.name,
        "worst": checked.worst,
        "findings": [_finding_json(checked, finding) for finding in checked.findings],
        "capabilities": {key: value for key, value in needs.items() if key != "effects"},
        "effects": needs["effects"],
        "checks": checks.identities(asked),
        **({} if checked.detonation is None else {"detonation": _detonation_json(checked.detonation)}),
    }


def _detonation_json(seen: Detonation) -> dict[str, Any]:
    skipped = [{"path": path, "reason": _skip_sentence(reason), "code": reason.code} for path, reason in seen.skipped]
    return {"level": seen.level, "ran": list(seen.ran), "skipped": skipped, "seconds": round(seen.seconds, 2)}


def _finding_json(checked: Checked, finding: Finding) -> dict[str, Any]:
    file, line = checked.place(finding)
    return {
        "severity": finding.severity,
        "rule": finding.rule,
        "reason": finding.message,
        "message": finding.message,
        "field": finding.field,
        "file": file,
        "line": line,
        "span": {"start": finding.start, "end": finding.end},
        "excerpt": finding.excerpt,
    }


def _print_skills(ctx: CommandContext, looked: list[Checked], *, everything: bool) -> None:
    for number, checked in enumerate(looked):
        if number:
            ctx.console.print()
        _print_skill(ctx, checked, everything=everything)
    if len(looked) > 1:
        bad = sum(each.worst in _REFUSED for each in looked)
        ctx.console.print(
            f"\n{counted(len(looked), 'skill')}, {bad} should not be trusted as {'it is' if bad == 1 else 'they are'}."
        )


def _print_skill(ctx: CommandContext, checked: Checked, *, everything: bool) -> None:
    name = escape(clean(checked.skill.content.name))
    verdict = Text(f" {checked.worst or 'nothing found'} ", style=_STYLE[checked.worst] if checked.worst else "green")
    ctx.console.print(
        Text.from_markup(f"[bold]{name}[/bold]  "), verdict, f"[dim]{escape(clean(checked.skill.path))}[/dim]"
    )
    if any(problem.rule == "file-missing" for problem in checked.skill.problems):
        ctx.console.print(
            "  [yellow]there is no SKILL.md: checked as files only, no agent loads this as a skill[/yellow]"
        )
    kept = [f for f in checked.findings if everything or f.severity is not Severity.INFO]
    for finding in kept if everything else kept[:_SHOWN]:
        _print_finding(ctx, checked, finding)
    if len(kept) > _SHOWN and not everything:
        ctx.console.print(f"  [dim]and {len(kept) - _SHOWN} more (--all)[/dim]")
    for line in (
        *_capability_lines(checked, most=None if everything else _LISTED),
        *_detonation_lines(checked.detonation),
    ):
        ctx.console.print(f"  [dim]{escape(line)}[/dim]", soft_wrap=True)


def _print_finding(ctx: CommandContext, checked: Checked, finding: Finding) -> None:
    file, line = checked.place(finding)
    where = f"{file}:{line}" if line else file
    severity_found = Text(f"{finding.severity:<8}", style=_STYLE[finding.severity])
    summary = Text.assemble("  ", severity_found, "  ", clean(finding.message), "  ", (f"{finding.rule}", "dim"))
    ctx.console.print(summary, soft_wrap=True)
    excerpt = one_line(finding.excerpt, max(40, ctx.console.width - 14 - len(where)))
    ctx.console.print(
        Text.assemble(" " * 12, (clean(where), "blue"), "  " if excerpt else "", (excerpt, "dim")), soft_wrap=True
    )


def _detonation_lines(seen: Detonation | None) -> Iterator[str]:
    if seen is None:
        return
    shown = ", ".join(one_line(path, 40) for path in seen.ran[:6])
    more = f" and {len(seen.ran) - 6} more" if len(seen.ran) > 6 else ""
    nothing = "nothing" if seen.skipped else "nothing: there is no script"
    yield f"ran       {shown}{more} in {seen.level}" if seen.ran else f"ran       {nothing}"
    yield from (f"not run   {one_line(path, 40)}: {_skip_sentence(reason)}" for path, reason in seen.skipped)


def _skip_sentence(reason: CodedReason) -> str:
    return SKIP_SENTENCES[SkipReason(reason.code)].format_map(reason.values)


def _capability_lines(checked: Checked, *, most: int | None) -> Iterator[str]:
    needs = asdict(needed_capabilities_of(checked.skill.content))
    for key, values in needs.items():
        if values:
            shown = ", ".join(one_line(str(value), 40) for value in values[:most])
            left = len(values) - len(values[:most])
            yield f"{key:<9} {shown}" + (f" and {left} more (--all)" if left else "")
    counts = Counter(finding.severity for finding in checked.findings)
    if counts:
        yield "findings  " + ", ".join(f"{counts[s]} {s}" for s in reversed(Severity) if counts[s])


@dataclass(frozen=True, slots=True, kw_only=True)
class _LibraryScan:
    """What was checked, and which of it is in use although severe findings exist."""

    skills: int
    versions: int
    """More than the skills where an earlier version can still be restored."""
    despite: tuple[tuple[StoredVersion, tuple[Finding, ...]], ...]

    @property
    def counts_text(self) -> str:
        """How many skills and versions were checked."""
        replaced = self.versions - self.skills
        earlier = f" and {counted(replaced, 'earlier version')}" if replaced else ""
        return counted(self.skills, "skill") + earlier


def recheck(ctx: CommandContext, *, apply: bool, by: str) -> None:
    """Report which approvals no longer hold, and why; with `apply` these versions wait for a person again.

    Exits with 3 where an approval no longer holds and nothing was changed.
    """
    if apply:
        ctx.caller.require_person("check --apply")
    memory = ctx.memory
    versions, skills = memory.context.store.catalogue(statuses=RECALLABLE), len(memory.skills(statuses=RECALLABLE))
    found = memory.reviews.recheck(apply=apply, by=ctx.person(by) if apply else BY_RECHECK)
    leaving = [each for each in found if each.after is not None]
    gone = {each.stored.version.id for each in leaving}
    despite = _recallable_despite_findings(ctx, [stored for stored in versions if stored.version.id not in gone])
    scan = _LibraryScan(skills=skills, versions=len(versions), despite=tuple(despite))
    if apply and leaving:
        export(memory.context)
    document = {
        "skills": skills,
        "looked_at": len(versions),
        "applied": apply,
        "found": [_recheck_json(each) for each in found],
        "in_spite_of_findings": [_flagged_json(stored, findings) for stored, findings in despite],
    }
    ctx.report(document, lambda: _print_recheck(ctx, found, scan=scan, apply=apply))
    if leaving and not apply:
        ctx.end_with(
            Refusal(
                f"{counted(len(leaving), 'approval')} no longer {'hold' if len(leaving) > 1 else 'holds'}",
                code="approvals_no_longer_hold",
                hint="tacit check --library --apply takes them out of use until a person decides again",
            )
        )


def _recallable_despite_findings(
    ctx: CommandContext, versions: Sequence[StoredVersion]
) -> list[tuple[StoredVersion, tuple[Finding, ...]]]:
    """Return the recallable versions with severe findings: a person approved them knowingly."""
    seen = ((stored, ctx.memory.reviews.examine(stored.version.id).findings) for stored in versions)
    grave = ((stored, tuple(each for each in findings if has_severe_findings([each]))) for stored, findings in seen)
    return [(stored, findings) for stored, findings in grave if findings]


def _flagged_json(stored: StoredVersion, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "version_id": stored.version.id,
        "name": stored.version.name,
        "status": stored.status,
        "findings": [{"severity": each.severity, "rule": each.rule, "message": each.message} for each in findings],
    }


def _recheck_json(found: Rechecked) -> dict[str, Any]:
    return {
        "version_id": found.stored.version.id,
        "name": found.stored.version.name,
        "status": found.stored.status,
        "after": found.after,
        "reasons": [reason_sentence(reason) for reason in found.reasons],
        "reason_codes": [reason.code for reason in found.reasons],
    }


def _print_recheck(ctx: CommandContext, found: list[Rechecked], *, scan: _LibraryScan, apply: bool) -> None:
    for each in found:
        verb = {True: "is now", False: "would be"}[apply]
        change = f"[yellow]{verb} {each.after}[/yellow]" if each.after else "[dim]unchanged[/dim]"
        name = escape(clean(each.stored.version.name))
        ctx.console.print(f"{each.stored.version.id[:10]}  [bold]{name}[/bold]  {change}", soft_wrap=True)
        for reason in each.reasons:
            ctx.console.print(f"            [dim]{escape(clean(reason_sentence(reason)))}[/dim]", soft_wrap=True)
    holds = "" if any(each.after for each in found) else ": every approval holds"
    ctx.console.print(f"Checked {scan.counts_text}{holds}.")
    if not scan.despite:
        return
    many = counted(len(scan.despite), "version")
    ctx.console.print(f"[yellow]{many} in use although severe findings exist:[/yellow]")
    for stored, findings in scan.despite:
        more = f"; and {len(findings) - 1} more" if len(findings) > 1 else ""
        line = f"{stored.version.name}  {findings[0].severity}: {findings[0].message}{more}"
        ctx.console.print(f"  {stored.version.id[:10]}  {escape(clean(line))}", soft_wrap=True)
    ctx.console.print("[dim]Run `tacit review ID --retire` to take one out of use.[/dim]")
