"""What `tacit train` and `tacit consolidate` share: model and recipe, what it would use and cost, bars of progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from tacit.consolidation import machine
from tacit.consolidation.foundation import Facts, foundation_facts, foundation_hash
from tacit.consolidation.recipe import Estimate, Recipe, estimate
from tacit.domain.errors import GateRefusal, Mistake, TacitError
from tacit.evaluation.consolidating import Outlook
from tacit.evaluation.consolidating import Progress as Phases
from tacit.evaluation.workshop import LocalWorkshop
from tacit.surfaces.cli.session import Session, clean, counted

_MINUTE_S, _HOUR_S = 60, 3600


_NO_BASE = "no base model is named"
_NAME_ONE = "pass --base with a folder, a *.gguf file or a hub id, or set consolidation.base in ~/.tacit/tacit.toml"


def workshop(session: Session, outlook: Outlook, *, base: str, size: str, anew: bool) -> LocalWorkshop:
    """The base model and the recipe that options and settings name, if nothing stands in the way of training.

    All that does is told at once, dearest mistake first: nobody is to install gigabytes for data that are refused anyway.
    """
    settings = session.settings[0].consolidation
    name = base or settings.base
    begun = outlook.unfinished and not anew  # its dataset passed the gate when it was built
    data = [] if begun else [(f"{each.rule}: {each.reason}", each.hint) for each in outlook.against]
    problems = [*data, *_model_problems(name)]
    if absent := machine.missing(name):
        problems.append((f"training needs {', '.join(absent)}", machine.INSTALL))
    if problems:
        told = "\n".join(["nothing is trained:", *(f"- {what}" for what, _ in problems)])
        hints = dict.fromkeys(hint for _, hint in problems if hint)
        hint = "\n".join(f"- {each}" for each in (*hints, "`--dry-run` tells what it would use and cost"))
        raise GateRefusal(told, hint=hint) if data else Mistake(told, hint=hint)
    return LocalWorkshop(name, Recipe.of(size or settings.size))


def _model_problems(name: str) -> list[tuple[str, str]]:
    """What is wrong with the base model, and what to do about it."""
    if not name:
        return [(_NO_BASE, _NAME_ONE)]
    try:
        foundation_facts(name)
    except TacitError as error:
        return [(str(error), error.hint)]
    return []


def foretell(session: Session, outlook: Outlook, *, base: str, size: str) -> None:
    """Answer a dry run: what would be used, what the gate says, what it would cost. Nothing was done."""
    settings = session.settings[0].consolidation
    name, recipe = base or settings.base, Recipe.of(size or settings.size)
    wrong = _model_problems(name)
    facts = None if wrong else foundation_facts(name)
    device = machine.device()
    cost = None
    if facts and outlook.dataset.train:
        train, held_out = outlook.dataset.train, outlook.dataset.held_out
        cost = estimate(train, held_out, recipe=recipe, parameters=facts.parameters, device=device)
    document = {
        "dry_run": True,
        "attempts": outlook.attempts,
        "tasks": outlook.tasks,
        "proof_tasks": outlook.proof_tasks,
        "dataset": _dataset(outlook),
        "refused": [asdict(each) for each in outlook.against],
        "model": {"name": name, "hash": foundation_hash(name), **asdict(facts)} if facts else None,
        "model_problem": {"told": wrong[0][0], "hint": wrong[0][1]} if wrong else None,
        "recipe": recipe.told(),
        "device": device,
        "missing": machine.missing(name),
        "cost": asdict(cost) if cost else None,
        "unfinished": outlook.unfinished,
        "due_at": outlook.due_at,
    }
    session.answer(document, lambda: _show(session, outlook, name, facts=facts, cost=cost, device=device))


@contextmanager
def bars(session: Session) -> Iterator[Phases]:
    """A bar for each phase, with how long it will still take; for programs nothing."""
    if session.as_json or not session.errors.is_terminal:
        yield lambda phase, done, total: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=session.errors) as progress:
        tasks: dict[str, Any] = {}

        def tell(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(phase, total=None)
            progress.update(tasks[phase], completed=done, total=total or None)

        yield tell


def show_told(session: Session) -> None:
    """Tell what happened to adapters by itself, such as after a purge."""
    for each in session.loop.adapters.told:
        session.errors.print(f"[yellow]{escape(clean(each))}[/yellow]", soft_wrap=True)


def _dataset(outlook: Outlook) -> dict[str, Any]:
    found = outlook.dataset.manifest
    return {
        "hash": found.hash,
        "tasks": found.tasks,
        "examples": found.examples,
        "held_out_tasks": len(found.held_out_tasks),
        "held_out_examples": found.held_out_examples,
        "replayed": found.replayed,
        "dropped": dict(found.dropped),
    }


def _show(
    session: Session, outlook: Outlook, name: str, *, facts: Facts | None, cost: Estimate | None, device: str
) -> None:
    console = session.console
    attempts = counted(outlook.attempts, "machine-verified success", plural="machine-verified successes")
    console.print(f"{attempts} at {counted(outlook.tasks, 'task')}")
    found = outlook.dataset.manifest
    stop = len(found.held_out_tasks) - outlook.proof_tasks
    console.print(
        f"{counted(found.examples, 'example')} of {counted(found.tasks, 'task')} to train on, "
        f"{counted(stop, 'task')} to stop by, {counted(outlook.proof_tasks, 'task')} kept for the test"
    )
    for reason, number in found.dropped.items():
        why = found.why.get(reason, reason)
        console.print(f"  [dim]left out: {number} ({escape(clean(f'{reason}: {why}'))})[/dim]", soft_wrap=True)
    for each in outlook.against:
        console.print(f"[red]refused, {each.rule}[/red]: {escape(clean(each.reason))}", soft_wrap=True)
        if each.hint:
            console.print(f"  [dim]{escape(clean(each.hint))}[/dim]", soft_wrap=True)
    if not outlook.against:
        console.print("[green]the gate lets it pass[/green]")
    if facts:
        size = f"{facts.parameters / 1e6:.0f} million weights"
        console.print(f"base model {escape(clean(name))} ({escape(clean(facts.architecture))}, {size})", soft_wrap=True)
    for what, hint in _model_problems(name):
        console.print(f"[yellow]{escape(clean(what))}[/yellow] ({escape(clean(hint))})", soft_wrap=True)
    if cost:
        console.print(
            f"about {_time(cost.seconds)} on this machine's {'GPU' if device == 'cuda' else 'processor'}, "
            f"{cost.memory_mb / 1000:.1f} GB of memory, {cost.tokens / 1e6:.1f} million tokens in {cost.steps} steps; "
            f"the adapter takes {cost.adapter_mb:.0f} MB. It may stop early."
        )
    if absent := machine.missing(name):
        told = f"[yellow]not installed: {', '.join(absent)}[/yellow] ({escape(machine.INSTALL)})"
        console.print(told, soft_wrap=True)
    if outlook.unfinished:
        console.print(f"[yellow]an earlier run ended while {outlook.unfinished}[/yellow]: it would go on from there")
    if outlook.due_at:
        console.print(f"[yellow]not due before {outlook.due_at:%Y-%m-%d %H:%M} UTC[/yellow]")
    console.print("[dim]Nothing was done.[/dim]")


def _time(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / _MINUTE_S:.0f} min" if seconds < _HOUR_S else f"{seconds / _HOUR_S:.1f} h"
