"""`tacit eval run`, `arms` and `suites`: attempt the exercises of a suite under several arms. The store is only read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tacit.api import Tacit
from tacit.domain.errors import Mistake, Refusal, TacitError
from tacit.features.evaluate.actors.agents import AGENTS, ActorOptions, open_actor
from tacit.features.evaluate.aids import FROM_MEMORY, Aids
from tacit.features.evaluate.commands import require_running, suite_options
from tacit.features.evaluate.comparison import informative_metrics
from tacit.features.evaluate.eval_report import all_zero, constant_sentence, share, tally_arms, tally_text
from tacit.features.evaluate.report_formats import dim
from tacit.features.evaluate.run_record import RunResult, read_run
from tacit.features.evaluate.runner import run_suite
from tacit.features.evaluate.suite import (
    Arm,
    Exercise,
    RunPlan,
    Suite,
    World,
    all_arms,
    describe_arm,
    named_arms,
    read_run_plan,
)
from tacit.features.evaluate.suites import SUITES, TeachingSuite, open_suite
from tacit.features.evaluate.transcript import read_transcript
from tacit.render.safe_files import require_no_links
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line, progress_bar
from tacit.surfaces.cli.report import ReportPart

_NOTES_MAX = 3
_INTERRUPTED = 130
"""The exit code of a command that its user stopped, as in shells."""
_REFERENCE_AGENT = "reference"
_SHARES = {"success": "success", "exact": "whole call right", "first_right": "first call right"}
_MEANS = {"steps": "steps", "retries": "retries", "context_tokens": "tokens read"}


@click.command("run", short_help="Run a suite under several arms")
@click.argument("suite", metavar="SUITE|FILE.toml")
@click.option(
    "--arms",
    default="",
    metavar="A,B",
    help="Arms; the first is the reference [none,skills,trajectory,placebo,oracle].",
)
@click.option("--agent", default="", help="The agent; see `tacit eval arms` [telecom: reference].")
@click.option("--adapter", default="", metavar="WHICH", help="Adapter for arms with one: a folder, number or name.")
@click.option(
    "--memory",
    type=click.Choice(["fresh", "store"]),
    default="fresh",
    show_default=True,
    help="Aids from the suite's training tasks alone, or from this store.",
)
@click.option("--data", type=click.Path(path_type=Path), default=None, help="Folder with the suite's files.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the suite.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for the record [eval/SUITE].")
@click.option("--seeds", type=click.IntRange(1, 100), default=1, show_default=True, help="Attempts at each exercise.")
@click.option("--limit", type=click.IntRange(0), default=0, help="Only the first tasks of the suite; 0: all.")
@click.option("--calls", type=click.IntRange(1, 1000), default=30, show_default=True, help="Tool calls of one attempt.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True, help="Seconds per answer."
)
@command_options
def run(ctx: CommandContext, *, suite: str, arms: str, agent: str, adapter: str, memory: str, **given: Any) -> None:
    """Attempt every exercise of SUITE under every arm, and record the results in a folder.

    An interrupted run continues with the same command. A run is refused if its figures would mean nothing: the memory holds
    attempts at the same tasks, an exercise does not begin in the same state under every arm, or the folder holds another run.
    """
    plan = read_run_plan(Path(suite)) if suite.endswith(".toml") else RunPlan(suite=suite)
    if not plan.suite:
        raise Mistake(f"{suite} names no suite", code="no_suite", hint='add [suite] with name = "…"')
    typed = suite_options(given["options"])
    _require_typed_code(suite, plan, typed)
    options = dict(plan.options) | typed
    data = given["data"] or (Path(options["data"]) if "data" in options else None)
    options.pop("data", None)
    if plan.suite == "own" and memory == "store":
        message = "suite own asks what this store holds, so the store knows the answers"
        raise Mistake(message, code="store_knows_answers", hint="--memory fresh")
    store = ctx.memory.context.store if plan.suite == "own" or memory == "store" else None
    opened = open_suite(plan.suite, data=data, store=store, options=options)
    teaches = memory == "store" or isinstance(opened, TeachingSuite)
    chosen = named_arms(arms or _default_arms(plan, teaches=teaches), all_arms(plan))
    agent = agent or _default_agent(plan.suite)
    folder = given["out"] or Path("eval") / plan.suite
    if not given["out"]:
        require_no_links(Path(), folder)  # a cloned repository may bring links
    limited = _FirstTasks(opened, given["limit"]) if given["limit"] else opened
    actor_options = ActorOptions(
        adapter=adapter, max_calls=given["calls"], timeout_s=given["timeout"], key=ctx.environment.model_key
    )
    _require_memory(ctx, opened, memory, chosen)
    # An agent that needs no memory is opened before learning, so that its errors come at once.
    actor = None if agent == _REFERENCE_AGENT else open_actor(agent, options=actor_options)
    continued = _recorded_attempts(folder)
    with _report_on_interrupt(folder):
        aid_memory = _aid_memory(ctx, opened, memory, chosen)
        actor = actor or open_actor(agent, memory=aid_memory, options=actor_options)
        with progress_bar(ctx, "attempting") as advance:
            aids = Aids(aid_memory)
            done = run_suite(limited, chosen, actor, aids, folder=folder, seeds=given["seeds"], progress=advance)
    document = {**_run_document(done), "continued": continued, "taken_over": continued}
    ctx.report(document, lambda: _run_parts(done, aid_memory, continued=continued))


@click.command("arms", hidden=True)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@command_options
def arms(ctx: CommandContext, *, file: Path | None) -> None:
    """List the arms and the kinds of agents; with FILE also the arms that it defines."""
    known = all_arms(read_run_plan(file) if file else RunPlan())
    document = {
        "arms": [{**dataclasses.asdict(arm), "gives": describe_arm(arm)} for arm in known.values()],
        "agents": AGENTS,
    }
    listed = [(arm.name, describe_arm(arm)) for arm in known.values()]
    ctx.report(document, lambda: [_name_table("arm", listed), "", _name_table("agent", list(AGENTS.items()))])


@click.command("suites", hidden=True)
@command_options
def suites(ctx: CommandContext) -> None:
    """List the suites and their options."""
    document = [
        {"name": each.name, "about": each.summary, "counts": each.counts, "options": dict(each.options)}
        for each in SUITES.values()
    ]
    listed = [
        (
            each.name,
            "\n".join([each.summary, each.counts, *(f"  {name}: {text}" for name, text in each.options.items())]),
        )
        for each in SUITES.values()
    ]
    ctx.report({"suites": document}, lambda: _name_table("suite", listed))


class _FirstTasks:
    """The exercises of a suite's first tasks."""

    def __init__(self, suite: Suite, tasks: int) -> None:
        self.name = suite.name
        self._suite = suite
        kept = set(list(dict.fromkeys(exercise.group for exercise in suite.exercises()))[:tasks])
        self._exercises = [exercise for exercise in suite.exercises() if exercise.group in kept]

    def exercises(self) -> Sequence[Exercise]:
        return self._exercises

    def begin(self, exercise: Exercise) -> World:
        return self._suite.begin(exercise)


def _default_arms(plan: RunPlan, *, teaches: bool) -> list[str]:
    if plan.arms:
        return ["none", *(arm.name for arm in plan.arms)]
    return ["none", "skills", "trajectory", "placebo", "oracle"] if teaches else ["none", "oracle"]


def _default_agent(suite: str) -> str:
    """Return the reference agent if it can act in the suite; it cannot answer single questions."""
    if suite in SUITES and SUITES[suite].acts:
        return _REFERENCE_AGENT
    forms = ", ".join(form for form in AGENTS if form != _REFERENCE_AGENT)
    raise Mistake(f"suite {suite} needs an agent", code="no_agent", hint=f"pass --agent, one of {forms}")


def _require_typed_code(file: str, plan: RunPlan, typed: Mapping[str, str]) -> None:
    """Refuse a file that names code to run: a person must type it, since a file may come from anywhere."""
    runs = SUITES[plan.suite].runs if plan.suite in SUITES else ()
    named = [name for name in runs if name in plan.options and name not in typed]
    if named:
        again = " ".join(f"--option {name}={plan.options[name]}" for name in named)
        message = f"{file} names code that would be run ({', '.join(named)}), which a file may not"
        hint = f"if you trust that code, remove it from the file and pass: {again}"
        raise Refusal(message, code="code_in_file", hint=hint)


def _require_memory(ctx: CommandContext, suite: Suite, memory: str, chosen: Sequence[Arm]) -> None:
    """Refuse arms that need a memory if there is none."""
    if not any(arm.aid in FROM_MEMORY for arm in chosen):
        return
    if memory == "store":
        require_running(ctx)
    elif not isinstance(suite, TeachingSuite):
        hint = "--memory store takes this store's skills; --arms none,oracle needs no memory"
        raise Mistake(f"suite {suite.name} has no training tasks", code="no_training_tasks", hint=hint)


def _aid_memory(ctx: CommandContext, suite: Suite, memory: str, chosen: Sequence[Arm]) -> Tacit | None:
    """Return the memory that aids come from; None if no arm needs one."""
    if not any(arm.aid in FROM_MEMORY for arm in chosen):
        return None
    if memory == "store":
        return ctx.memory
    assert isinstance(suite, TeachingSuite)
    from tacit.features.evaluate.suites.own import learned_memory

    with progress_bar(ctx, "learning") as advance:
        return learned_memory(suite.training_trajectories(), config=ctx.settings[0], progress=advance)


def _recorded_attempts(folder: Path) -> int:
    try:
        return len(read_run(folder).rows)
    except (TacitError, OSError):
        return 0


@contextmanager
def _report_on_interrupt(folder: Path) -> Iterator[None]:
    """If the user interrupts, say what is recorded and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        recorded = _recorded_attempts(folder)
        then = "continues there" if recorded else "starts again"
        click.echo(
            f"stopped; {counted(recorded, 'attempt')} in {clean(str(folder))}: the same command {then}", err=True
        )
        raise click.exceptions.Exit(_INTERRUPTED) from None


# --- output ---------------------------------------------------------------------------------------------------------


def _run_document(done: RunResult) -> dict[str, Any]:
    constant = read_transcript(done.folder).constant_answer(done.rows)
    floor = dataclasses.asdict(constant) if constant else None
    arms = {arm.name: _arm_figures(done, arm) for arm in done.header.arms}
    for figures in arms.values():
        figures.update({name: round(value, 4) for name, value in figures.items() if isinstance(value, float)})
    return {
        "folder": str(done.folder),
        "complete": done.complete,
        "attempts": len(done.rows),
        "suite": done.header.suite,
        "agent": done.header.agent,
        "watched": done.header.watched,
        "remarks": [remark.message for remark in done.header.remarks],
        "remark_codes": [remark.code for remark in done.header.remarks],
        "seeds": done.header.seeds,
        "arms": arms,
        "constant_answer": floor,
        "floor": floor,
        "set_aside": dict(done.header.set_aside),
    }


def _arm_figures(done: RunResult, arm: Arm) -> dict[str, Any]:
    rows = [row for row in done.rows if row.arm == arm.name]
    notes = [row.note for row in rows if row.note]
    known = informative_metrics(done.rows)
    means: dict[str, float | None] = {}
    for name in (*_SHARES, *_MEANS):
        values = [value for row in rows if name in known and (value := row.figure(name)) is not None]
        means[name] = sum(values) / len(values) if values else None
    tally = tally_arms(rows, [arm]).get(arm.name)
    return {
        "attempts": len(rows),
        **means,
        "aided": tally.aided if tally else None,
        "abstained": tally.abstained if tally else 0,
        "broken_off": len(notes),
        "notes": list(dict.fromkeys(notes))[:_NOTES_MAX],
    }


def _run_parts(done: RunResult, memory: Tacit | None, *, continued: int) -> Iterator[ReportPart]:
    figures = {arm.name: _arm_figures(done, arm) for arm in done.header.arms}
    labels = {**_SHARES, **_MEANS}
    known = [name for name in labels if any(each[name] is not None for each in figures.values())]
    idle = [name for name in known if name != "success" and not any(each[name] for each in figures.values())]
    table = Table(box=None, pad_edge=False)
    shown = [name for name in known if name not in idle]
    for column in ("arm", "attempts", *(labels[name] for name in shown), "broken off"):
        table.add_column(column, justify="left" if column == "arm" else "right")
    for name, each in figures.items():
        values = {metric: each[metric] for metric in shown}
        cells = [
            "" if value is None else share(value) if metric in _SHARES else f"{value:,.1f}"
            for metric, value in values.items()
        ]
        table.add_row(escape(name), str(each["attempts"]), *cells, str(each["broken_off"]))
    yield table
    if constant := read_transcript(done.folder).constant_answer(done.rows):
        yield dim(constant_sentence(constant))
    tallies = tally_arms(done.rows, done.header.arms)
    abstentions = any(tally.abstained for tally in tallies.values())
    if line := all_zero([*(labels[name] for name in idle), *([] if abstentions else ["abstained"])]):
        yield dim(line)
    for name, tally in tallies.items():
        if text := tally_text(tally, abstentions=abstentions):
            empty = "; memory had no aid, so this arm was not measured" if tally.is_unaided else ""
            colour = "yellow" if tally.is_unaided or tally.is_silent else "dim"
            yield f"[{colour}]{escape(name)}: {text}{empty}[/{colour}]"
    waiting = len(memory.reviews.waiting()) if memory and any(tally.is_unaided for tally in tallies.values()) else 0
    if waiting:
        yield f"[yellow]{counted(waiting, 'version')} waiting for review; run `tacit review`.[/yellow]"
    for name, each in figures.items():
        yield from (dim(f"{name}: {one_line(clean(note), 110)}") for note in each["notes"])
    if watched := done.header.watched:
        yield dim(one_line(f"Files of the agent that are watched for changes: {', '.join(watched)}.", 200))
    yield from (f"[yellow]{escape(remark.message)}[/yellow]" for remark in done.header.remarks)
    if continued:
        yield dim(f"{counted(continued, 'attempt')} from an earlier run, {len(done.rows) - continued} made now.")
    yield dim(
        f"\nRecorded in {done.folder}. Differences, intervals and lost exercises:\n  tacit eval report {done.folder}"
    )


def _name_table(what: str, rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(what, no_wrap=True)
    table.add_column("description")
    for name, text in rows:
        table.add_row(escape(name), escape(text))
    return table
