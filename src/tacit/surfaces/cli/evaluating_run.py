"""`tacit eval run`, `arms` and `suites`: exercises under several arms, and what there is to choose from.

A run is written into a folder and says how it went; what it means is told by `tacit eval report`. The store is read only.
"""

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
from tacit.features.evaluate.actors.catalogue import AGENTS, Terms, open_actor
from tacit.features.evaluate.aids import FROM_MEMORY, Aids
from tacit.features.evaluate.suite import RunPlan, describe_arm, named_arms, read_run_plan, all_arms
from tacit.features.evaluate.comparison import informative_metrics
from tacit.features.evaluate.run_record import Run, read_run
from tacit.features.evaluate.report import happened, nowhere, share, tallied, trivially
from tacit.features.evaluate.runner import run as run_arms
from tacit.features.evaluate.suite import Arm, Exercise, Suite, World
from tacit.features.evaluate.suites import SUITES, Taught, open_suite
from tacit.features.evaluate.transcript import read_transcript
from tacit.render.plain_files import require_no_links
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.evaluating import suite_options
from tacit.surfaces.cli.context import progress_bar

_NOTES = 3
_STOPPED = 130
"""The exit code of a command that was stopped by its user, as shells have it."""
_REFERENCE = "reference"
_SHARES = {"success": "success", "exact": "whole call right", "first_right": "first call right"}
_MEANS = {"steps": "steps", "retries": "retries", "context_tokens": "tokens read"}
_HOW = {"fresh": "learned from the suite's own training tasks alone", "store": "this store"}


@click.command("run")
@click.argument("suite", metavar="SUITE|FILE.toml")
@click.option(
    "--arms",
    default="",
    metavar="A,B",
    help="Arms by name; the first is the reference [none,skills,trajectory,placebo,oracle].",
)
@click.option("--agent", default="", help="Who acts; `tacit eval arms` lists the forms [telecom: reference].")
@click.option("--adapter", default="", metavar="WHICH", help="Adapter of the arms with one: a folder, number or name.")
@click.option(
    "--memory", type=click.Choice(list(_HOW)), default="fresh", show_default=True, help="Where aids come from."
)
@click.option("--data", type=click.Path(path_type=Path), default=None, help="Folder of the suite's files.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of the suite.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder of the record [eval/SUITE].")
@click.option("--seeds", type=click.IntRange(1, 100), default=1, show_default=True, help="Attempts at each exercise.")
@click.option(
    "--limit", type=click.IntRange(0), default=0, help="Only the first so many tasks, as the suite groups them; 0: all."
)
@click.option("--calls", type=click.IntRange(1, 1000), default=30, show_default=True, help="Calls of one attempt.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True, help="Seconds per answer."
)
@command_options
def run(ctx: CommandContext, *, suite: str, arms: str, agent: str, adapter: str, memory: str, **given: Any) -> None:
    """Attempt every exercise of SUITE under every arm, and keep what came of it in a folder.

    A run that was stopped goes on with the same command. It is refused where its figures would mean nothing: the memory
    holds attempts at the very tasks, a world does not begin as it did under another arm, or the folder holds another run.
    """
    plan = read_run_plan(Path(suite)) if suite.endswith(".toml") else RunPlan(suite=suite)
    if not plan.suite:
        raise Mistake(f"{suite} names no suite", hint='add [suite] with name = "…"')
    said = suite_options(given["options"])
    _require_said(suite, plan, said)
    options = dict(plan.options) | said
    data = given["data"] or (Path(options["data"]) if "data" in options else None)
    options.pop("data", None)
    if plan.suite == "own" and memory == "store":
        raise Mistake("suite own asks what this store holds, so the store knows the answers", hint="--memory fresh")
    opened = open_suite(plan.suite, data=data, store=_store(ctx, plan.suite, memory), options=options)
    taught = memory == "store" or isinstance(opened, Taught)
    chosen = named_arms(arms or _usual(plan, taught=taught), all_arms(plan))
    agent = agent or _usual_agent(plan.suite)
    folder = given["out"] or _usual_folder(plan.suite)
    cut = _First(opened, given["limit"]) if given["limit"] else opened
    key = ctx.environment.model_key
    terms = Terms(adapter=adapter, max_calls=given["calls"], timeout_s=given["timeout"], key=key)
    _require_memory(ctx, opened, memory, chosen)
    # Whoever needs no memory is opened before one learns: what is wrong with an agent is told at once.
    actor = None if agent == _REFERENCE else open_actor(agent, terms=terms)
    taken_over = _kept(folder)
    with _telling_what_is_kept(folder):
        loop = _memory(ctx, opened, memory, chosen)
        actor = actor or open_actor(agent, memory=loop, terms=terms)
        with progress_bar(ctx, "attempting") as advance:
            done = run_arms(cut, chosen, actor, Aids(loop), folder=folder, seeds=given["seeds"], progress=advance)
    document = {**_document(done), "taken_over": taken_over}
    ctx.answer(document, lambda: _show(ctx, done, asked=loop, taken_over=taken_over))


@click.command("arms")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@command_options
def arms(ctx: CommandContext, *, file: Path | None) -> None:
    """List the arms and the forms of agents; with FILE the arms too that it defines."""
    plan = read_run_plan(file) if file else RunPlan()
    known = all_arms(plan)
    document = {
        "arms": [{**dataclasses.asdict(arm), "gives": describe_arm(arm)} for arm in known.values()],
        "agents": AGENTS,
    }
    rows = [(arm.name, describe_arm(arm)) for arm in known.values()]
    ctx.answer(document, lambda: _list(ctx, ("arm", rows), ("agent", list(AGENTS.items()))))


@click.command("suites")
@command_options
def suites(ctx: CommandContext) -> None:
    """List the suites and their options."""
    document = [
        {"name": each.name, "about": each.summary, "counts": each.counts, "options": dict(each.options)}
        for each in SUITES.values()
    ]
    rows = [
        (
            each.name,
            "\n".join([each.summary, each.counts, *(f"  {name}: {says}" for name, says in each.options.items())]),
        )
        for each in SUITES.values()
    ]
    ctx.answer({"suites": document}, lambda: _list(ctx, ("suite", rows)))


class _First:
    """The exercises of a suite's first tasks."""

    def __init__(self, suite: Suite, groups: int) -> None:
        self.name = suite.name
        self._suite = suite
        kept = set(list(dict.fromkeys(exercise.group for exercise in suite.exercises()))[:groups])
        self._exercises = [exercise for exercise in suite.exercises() if exercise.group in kept]

    def exercises(self) -> Sequence[Exercise]:
        return self._exercises

    def begin(self, exercise: Exercise) -> World:
        return self._suite.begin(exercise)


def _usual(plan: RunPlan, *, taught: bool) -> list[str]:
    """Arms where none is named: those of the file, else all that there is something to give in."""
    if plan.arms:
        return ["none", *(arm.name for arm in plan.arms)]
    return ["none", "skills", "trajectory", "placebo", "oracle"] if taught else ["none", "oracle"]


def _usual_folder(suite: str) -> Path:
    """Where a record lies if nobody says where; a repository that was cloned may bring links there."""
    folder = Path("eval") / suite
    require_no_links(Path(), folder)
    return folder


def _usual_agent(suite: str) -> str:
    """The reference agent where it can act; it has nothing to say to questions that are put one at a time."""
    if suite in SUITES and SUITES[suite].acts:
        return _REFERENCE
    forms = ", ".join(form for form in AGENTS if form != _REFERENCE)
    raise Mistake(f"suite {suite} needs an agent: who is to answer?", hint=f"--agent, one of {forms}")


def _require_said(file: str, plan: RunPlan, said: Mapping[str, str]) -> None:
    """Code that a suite runs is named by whoever types the command: a file may come from anywhere."""
    runs = SUITES[plan.suite].runs if plan.suite in SUITES else ()
    named = [name for name in runs if name in plan.options and name not in said]
    if named:
        again = " ".join(f"--option {name}={plan.options[name]}" for name in named)
        raise Refusal(
            f"{file} names code that would be run ({', '.join(named)}), and a file may not",
            hint=f"look at it, and if you trust it take it out of the file and say: {again}",
        )


def _store(ctx: CommandContext, suite: str, memory: str) -> Any:
    return ctx.memory.store if suite == "own" or memory == "store" else None


def _require_memory(ctx: CommandContext, suite: Suite, memory: str, chosen: Sequence[Arm]) -> None:
    """Refuse arms that ask a memory for something where it cannot speak."""
    if not any(arm.aid in FROM_MEMORY for arm in chosen):
        return
    if memory == "store" and ctx.memory.paused:
        raise Refusal("Tacit is paused here, so recall is silent", hint="tacit pause --resume")
    if memory != "store" and not isinstance(suite, Taught):
        raise Mistake(
            f"suite {suite.name} brings nothing to learn from",
            hint="--memory store takes this store's skills; --arms none,oracle needs no memory",
        )


def _memory(ctx: CommandContext, suite: Suite, memory: str, chosen: Sequence[Arm]) -> Tacit | None:
    """The memory that aids come from; none where no arm asks for one."""
    if not any(arm.aid in FROM_MEMORY for arm in chosen):
        return None
    if memory == "store":
        return ctx.memory
    assert isinstance(suite, Taught)
    from tacit.features.evaluate.suites.own import learned_memory

    with progress_bar(ctx, "learning") as advance:
        return learned_memory(suite.training_trajectories(), config=ctx.settings[0], progress=advance)


def _kept(folder: Path) -> int:
    """How many attempts lie in a folder already; whether they belong to this run is not asked here."""
    try:
        return len(read_run(folder).rows)
    except (TacitError, OSError):
        return 0


@contextmanager
def _telling_what_is_kept(folder: Path) -> Iterator[None]:
    """Whoever stops a run is told what is left of it, and how it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        kept = _kept(folder)
        goes_on = "the same command goes on from there" if kept else "the same command begins anew"
        click.echo(f"stopped; {counted(kept, 'attempt')} kept in {clean(str(folder))}: {goes_on}", err=True)
        raise click.exceptions.Exit(_STOPPED) from None


# --- telling --------------------------------------------------------------------------------------------------------


def _document(done: Run) -> dict[str, Any]:
    floor = read_transcript(done.folder).floor(done.rows)
    return {
        "folder": str(done.folder),
        "complete": done.complete,
        "attempts": len(done.rows),
        "suite": done.header.suite,
        "agent": done.header.agent,
        "watched": done.header.watched,
        "remarks": done.header.remarks,
        "seeds": done.header.seeds,
        "arms": {arm.name: _rounded(_figures(done, arm)) for arm in done.header.arms},
        "floor": dataclasses.asdict(floor) if floor else None,
        "set_aside": dict(done.header.set_aside),
    }


def _figures(done: Run, arm: Arm) -> dict[str, Any]:
    rows = [row for row in done.rows if row.arm == arm.name]
    notes = [row.note for row in rows if row.note]
    names = ("success", "exact", "first_right", "steps", "retries", "context_tokens")
    tells = informative_metrics(done.rows)
    mean = {name: _averaged([row.figure(name) for row in rows if name in tells]) for name in names}
    tally = tallied(rows, [arm]).get(arm.name)
    return {
        "attempts": len(rows),
        **mean,
        "aided": tally.aided if tally else None,
        "abstained": tally.abstained if tally else 0,
        "broken_off": len(notes),
        "notes": list(dict.fromkeys(notes))[:_NOTES],
    }


def _averaged(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) / len(known) if known else None


def _rounded(figures: Mapping[str, Any]) -> dict[str, Any]:
    """For programs; what people read is rounded once, from the figure itself."""
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}


def _show(ctx: CommandContext, done: Run, *, asked: Tacit | None, taken_over: int) -> None:
    table = Table(box=None, pad_edge=False)
    told = {arm.name: _figures(done, arm) for arm in done.header.arms}
    known = [name for name in (*_SHARES, *_MEANS) if any(figures[name] is not None for figures in told.values())]
    idle = [name for name in known if name != "success" and not any(figures[name] for figures in told.values())]
    shown, more = ([name for name in names if name in known and name not in idle] for names in (_SHARES, _MEANS))
    for column in (
        "arm",
        "attempts",
        *(_SHARES[name] for name in shown),
        *(_MEANS[name] for name in more),
        "broken off",
    ):
        table.add_column(column, justify="left" if column == "arm" else "right")
    for name, figures in told.items():
        shares = [_share(figures[each]) for each in shown]
        means = [_mean(figures[each]) for each in more]
        table.add_row(escape(name), str(figures["attempts"]), *shares, *means, str(figures["broken_off"]))
    console = ctx.console
    console.print(table)
    if floor := read_transcript(done.folder).floor(done.rows):
        console.print(f"[dim]{escape(clean(trivially(floor)))}[/dim]", soft_wrap=True, highlight=False)
    tallies = tallied(done.rows, done.header.arms)
    silence = any(tally.abstained for tally in tallies.values())
    labels = [{**_SHARES, **_MEANS}[name] for name in idle] + ([] if silence else ["abstained"])
    if line := nowhere(labels):
        console.print(f"[dim]{line}[/dim]", soft_wrap=True, highlight=False)
    for name, tally in tallies.items():
        empty = "; memory had nothing to give, so this arm was not measured" if tally.is_unaided else ""
        colour = "yellow" if tally.is_unaided or tally.is_silent else "dim"
        if said := happened(tally, silence=silence):
            console.print(f"[{colour}]{escape(name)}: {said}{empty}[/{colour}]", soft_wrap=True)
    waiting = len(asked.waiting()) if asked and any(tally.is_unaided for tally in tallies.values()) else 0
    if waiting:
        what = f"{counted(waiting, 'version')} of skills and documents {'waits' if waiting == 1 else 'wait'}"
        console.print(f"[yellow]{what} for a person, and none is given before: tacit review[/yellow]", soft_wrap=True)
    for name, figures in told.items():
        for note in figures["notes"]:
            console.print(f"[dim]{escape(name)}: {escape(one_line(clean(note), 110))}[/dim]")
    if watched := done.header.watched:
        told_of = f"Watched, so that a change of the agent is told: {', '.join(watched)}."
        console.print(f"[dim]{escape(one_line(clean(told_of), 200))}[/dim]", soft_wrap=True)
    for remark in done.header.remarks:
        console.print(f"[yellow]{escape(remark)}[/yellow]", soft_wrap=True)
    if taken_over:
        again = counted(taken_over, "attempt")
        console.print(
            f"[dim]{again} taken over from an earlier run of the same, {len(done.rows) - taken_over} made now.[/dim]"
        )
    console.print(f"\n[dim]Recorded in {escape(str(done.folder))}. Differences, intervals and what got worse:[/dim]")
    console.print(f"[dim]  tacit eval report {escape(str(done.folder))}[/dim]")


def _share(value: float | None) -> str:
    return "" if value is None else share(value)


def _mean(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _list(ctx: CommandContext, *lists: tuple[str, Sequence[tuple[str, str]]]) -> None:
    for number, (what, rows) in enumerate(lists):
        table = Table(box=None, pad_edge=False)
        table.add_column(what, no_wrap=True)
        table.add_column("what it is")
        for name, says in rows:
            table.add_row(escape(name), escape(says))
        if number:
            ctx.console.print()
        ctx.console.print(table)
