"""`tacit skills stats`: what is stored, how each skill does, and with --lift what skills add, compared with control runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Following
from tacit.domain.holdout import CHANCE_MOST
from tacit.domain.identity import plain
from tacit.domain.stored import Counts
from tacit.evidence.control_runs import LEAST_RUNS, Lift, LiftDifference, Measure, MeasuredLift
from tacit.maintain.archive import SkillRecord
from tacit.surfaces.cli.context import CommandContext, command_options, counted
from tacit.surfaces.cli.model_use import model_use, use_text
from tacit.surfaces.cli.report import Column, Columns, ReportPart, fields, pairs, safe
from tacit.surfaces.cli.views import STATUS_STYLE, known_reliability, reliability_text

_ROWS = 15
"""How many skills are shown without --all."""


@click.command(short_help="Count what is stored, and how each skill does")
@click.argument("skills", nargs=-1, metavar="[SKILL]...")
@click.option("--all", "everything", is_flag=True, help="Every recallable skill, not only the most used.")
@click.option("--lift", is_flag=True, help="Show what skills add, compared with control runs.")
@click.option("--model", default="", help="With --lift: only runs of this language model.")
@command_options
def stats(ctx: CommandContext, *, skills: tuple[str, ...], everything: bool, lift: bool, model: str) -> None:
    """Count what is stored, also by category, and show how each skill does: uses, verified results, reliability, lift.

    Reliability is an interval over verified results of runs that followed the skill; later results weigh more. "Unknown" is a
    normal answer. If nobody recorded what was followed, a result is shared by all skills that were shown.

    With --lift it compares runs that saw a skill with control runs that did not, with 95 % intervals. For one SKILL it shows
    success, steps, retries and tokens, by model and by scope. There are control runs only if `policy.hold_out` is set.
    """
    if lift:
        if len(skills) > 1:
            raise Mistake("--lift takes one skill, or none for all", code="one_skill", hint="name one")
        _report_lift(ctx, skills[0] if skills else "", model=model)
        return
    archive = ctx.memory.archive
    counts = archive.stats()
    asked = [ctx.version(each).version.id for each in skills]
    records = [each for each in archive.records(asked) if ctx.may_show(each.stored)]
    use = model_use(ctx)
    categories = _by_category(records)
    document = plain(counts) | {
        "store": ctx.place.database,
        "language_model": use,
        "reliability": _average_reliability(records),
        "categories": {name: fields(row, "skills", "shown", "reliability") for name, row in categories.items()},
        "records": [record_document(record) for record in records],
    }

    def parts() -> Iterator[ReportPart]:
        if not skills:
            yield _counts_table(ctx, counts, use_text(use))
            rows = [*categories.values(), _summary("all", records)]
            yield _CATEGORIES.table(rows) if categories.keys() - {_NO_CATEGORY} else None
        kept = records if everything or skills else records[:_ROWS]
        if kept:
            yield ""
            yield from _record_lines(kept)
        if len(kept) < len(records):
            yield f"[dim]and {len(records) - len(kept)} more: tacit skills stats --all[/dim]"

    ctx.report(document, parts)


class _Category(NamedTuple):
    """The skills of one category."""

    name: str
    skills: int
    shown: int
    reliability: float | None
    """The mean over its skills with enough verified results; None where no skill has them."""


_NO_CATEGORY = "none"
_CATEGORIES: Columns[_Category] = Columns(
    Column("", lambda row: row.name, "category"),
    Column("", lambda row: row.skills, "skills"),
    Column("", lambda row: row.shown, "shown"),
    Column("", lambda row: "unknown" if row.reliability is None else f"{row.reliability:.0%}", "average reliability"),
)


def _average_reliability(records: Iterable[SkillRecord]) -> float | None:
    """Return the mean reliability of the skills that have enough verified results to know one."""
    shares = [each.successes / each.trials for record in records if (each := record.reliability).known]
    return round(sum(shares) / len(shares), 4) if shares else None


def _summary(name: str, records: Sequence[SkillRecord]) -> _Category:
    return _Category(name, len(records), sum(each.shown for each in records), _average_reliability(records))


def _by_category(records: Sequence[SkillRecord]) -> dict[str, _Category]:
    """Return a row for each category, the one with the most skills first."""
    grouped: dict[str, list[SkillRecord]] = {}
    for record in records:
        grouped.setdefault(record.stored.version.content.category or _NO_CATEGORY, []).append(record)
    rows = [_summary(name, group) for name, group in grouped.items()]
    return {row.name: row for row in sorted(rows, key=lambda row: (-row.skills, row.name))}


def _lift_fields(measured: Lift) -> dict[str, float] | None:
    gain = measured.success
    return None if gain is None else fields(gain, "value", "low", "high")


def record_document(record: SkillRecord) -> dict[str, Any]:
    """Return the figures of one skill, for programs."""
    return {
        "name": record.stored.version.name,
        "version_id": record.stored.version.id,
        "status": record.stored.status,
        **fields(record, "pinned", "shown", "held_back"),
        "followed": {str(kind): n for kind, n in record.followed.items()},
        **fields(record, "worked", "failed", "claimed"),
        "reliability": known_reliability(record.reliability),
        "models": {model: known_reliability(known) for model, known in record.models.items()},
        "lift": _lift_fields(record.lift),
        "used_at": record.used_at,
    }


def _record_lines(records: Sequence[SkillRecord]) -> Iterator[str]:
    """Yield two lines for each skill: its whole name, with its scope if several have that name, and its figures."""
    names = Counter(record.stored.version.name for record in records)
    for record in records:
        stored = record.stored
        pin = "  [blue]pinned[/blue]" if record.pinned else ""
        scope = f" ({safe(str(stored.skill.scope))})" if names[stored.version.name] > 1 else ""
        yield (
            f"[bold]{safe(stored.version.name)}[/bold]{scope}  "
            f"[{STATUS_STYLE[stored.status]}]{stored.status}[/]{pin}  [dim]{reliability_text(record.reliability)}[/dim]"
        )
        partly = record.followed.get(Following.PARTLY, 0)
        followed = record.followed.get(Following.FOLLOWED, 0) + partly if record.followed else "?"
        gain = f"{_interval(record.lift.success, _points)} points" if record.lift.success else "unknown"
        in_part = f" ({partly} partly)" if partly else ""
        counts = f"shown {record.shown}, followed {followed}{in_part}, worked {record.worked}, failed {record.failed}"
        yield f"  {counts}, lift {escape(gain)}"


def _counts_table(ctx: CommandContext, counts: Counts, model: str) -> ReportPart:
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in counts.outcomes.items())
    statuses = ", ".join(f"[{STATUS_STYLE[s]}]{n} {s}[/]" for s, n in counts.skills.items())
    rows = {
        "trajectories": f"{counts.trajectories} ({outcomes})" if outcomes else str(counts.trajectories),
        "learned from": str(counts.learned),
        "skills": statuses or "none yet",
        "kinds": ", ".join(f"{n} {kind}" for kind, n in counts.kinds.items()) or "none yet",
        "versions": str(counts.versions),
        "uses": str(counts.uses),
        "evidence": ", ".join(f"{n} {grade}" for grade, n in counts.evidence.items()) or "none yet",
        **({"language model": model} if model else {}),
        "audit entries": str(counts.audit),
        "size": f"{counts.bytes / 1_048_576:.1f} MiB",
        "store": safe(ctx.place.database),
    }
    return pairs(rows)


# --- lift -----------------------------------------------------------------------------------------------------------


def _points(value: float) -> str:
    """Return a difference of shares in points, with its sign."""
    return f"{round(100 * value):+d}" if round(100 * value) else "0"


def _percent(value: float) -> str:
    return f"{_points(value)} %"


def _number(value: float) -> str:
    return f"{value:+.1f}" if round(value, 1) else "0"


_UNITS: dict[Measure, tuple[str, Callable[[float], str]]] = {
    Measure.SUCCESS: ("points of success", _points),
    Measure.STEPS: ("steps", _percent),
    Measure.TOKENS: ("tokens", _percent),
    Measure.RETRIES: ("retries a run", _number),
}
"""What a difference counts, and how it is written."""


class _LiftRow(NamedTuple):
    """One difference between runs with a skill and without it; None if it is not known yet."""

    label: str
    measure: Measure
    difference: LiftDifference | None
    runs: Lift


def _adds_cell(row: _LiftRow) -> str:
    if row.difference is None:
        done = min(row.runs.shown, LEAST_RUNS) + min(row.runs.held_back, LEAST_RUNS)
        return f"[dim]unknown yet ({done} of {2 * LEAST_RUNS} runs)[/dim]"
    unit, written = _UNITS[row.measure]
    return f"{escape(_interval(row.difference, written))} [dim]{unit}[/dim]"


_LIFTS: Columns[_LiftRow] = Columns(
    Column("", lambda row: row.label, "skill or measure"),
    Column("", lambda row: row.difference, "what it adds \\[95 % interval]", _adds_cell),
    Column("", lambda row: row.runs.shown, "runs with it"),
    Column("", lambda row: row.runs.held_back, "without it"),
)


def _interval(difference: LiftDifference, written: Any) -> str:
    return f"{written(difference.value)} [{written(difference.low)}, {written(difference.high)}]"


def _report_lift(ctx: CommandContext, skill: str, *, model: str) -> None:
    chosen = [ctx.memory.version(skill)] if skill else ctx.memory.skills()
    found = [ctx.memory.archive.lift(stored, model=model) for stored in chosen]
    if not skill:
        drawn = sorted((each for each in found if each.was_drawn), key=lambda each: each.stored.version.name)
        # Known lifts come first, the largest first.
        found = sorted(drawn, key=lambda each: -each.lift.success.value if each.lift.success else math.inf)
    hold_out = ctx.settings[0].policy.hold_out
    document: dict[str, Any] = {
        "hold_out": hold_out,
        "model": model,
        "least_runs": LEAST_RUNS,
        "skills": [_measured_document(measured) for measured in found],
    }
    rows = [_LiftRow(each.stored.version.name, Measure.SUCCESS, each.lift.success, each.lift) for each in found]
    if skill:
        rows = _rows_of_one(found[0]) or rows

    def parts() -> Iterator[ReportPart]:
        drawn = any(measured.was_drawn for measured in found)
        if drawn and skill:
            yield f"[bold]{safe(found[0].stored.version.name)}[/bold]"
        yield _LIFTS.table(rows) if drawn else _how_to_measure(hold_out)

    ctx.report(document, parts)


def _rows_of_one(measured: MeasuredLift) -> list[_LiftRow]:
    """Return all measures of a skill; its success over all versions, and by model and scope where there are several."""
    rows = [_LiftRow(key.value, key, value, measured.lift) for key, value in measured.lift.differences.items()]
    others = {} if measured.of_all == measured.lift else {"all versions": measured.of_all}
    for sort, keyed in (("model", measured.models), ("scope", measured.scopes)):
        if len(keyed) > 1:
            others |= {f"{sort} {key or 'unknown'}": own for key, own in keyed.items()}
    split = [_LiftRow(f"success, {key}", Measure.SUCCESS, own.success, own) for key, own in others.items()]
    return rows + [row for row in split if row.difference is not None]


def _how_to_measure(hold_out: float) -> str:
    """Return why there is nothing to compare, how to change that and what it costs."""
    if hold_out > 0:
        return (
            f"Unknown yet: there is no verified control run. Control runs are on (policy.hold_out = {hold_out:g}); each "
            f"skill needs at least {counted(LEAST_RUNS, 'verified run')} with it and as many without it."
        )
    return (
        "Unknown: what a skill adds is measured against control runs without it, and there are none. To have some, write into "
        "~/.tacit/tacit.toml:\n\n  \\[policy]\n  hold_out = 0.2\n\n"
        "Then one in five fitting sessions runs without a skill whose effect is unknown, fewer later; norms, preferences, "
        "warnings, fixes for errors, pinned skills and whatever deletes, sends, publishes or pays are always given. The "
        f"cost is the help that those sessions miss; the share is at most {CHANCE_MOST:g}, and a project's own file may "
        f"lower it. A result needs {LEAST_RUNS} verified runs with a skill and {LEAST_RUNS} without it."
    )


def _measured_document(measured: MeasuredLift) -> dict[str, Any]:
    stored = measured.stored
    return {
        "name": stored.version.name,
        "skill_id": stored.skill.id,
        "version_id": stored.version.id,
        **_lift_document(measured.lift),
        "all_versions": _lift_document(measured.of_all),
        "models": {key: _lift_document(own) for key, own in measured.models.items()},
        "scopes": {key: _lift_document(own) for key, own in measured.scopes.items()},
    }


def _lift_document(measured: Lift) -> dict[str, Any]:
    return {
        **fields(measured, "known", "shown", "held_back"),
        "differences": {
            measure.value: {"value": round(d.value, 4), "low": round(d.low, 4), "high": round(d.high, 4)}
            for measure, d in measured.differences.items()
        },
    }
