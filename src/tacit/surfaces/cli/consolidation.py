"""What `tacit train` and `tacit consolidate` share: model and recipe, what it would use and cost, bars of progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from tacit.domain.errors import GateRefusal, Mistake, TacitError
from tacit.features.evaluate.base_model import (
    INSTALL,
    ModelFacts,
    base_model_facts,
    base_model_hash,
    missing_packages,
    training_device,
)
from tacit.features.evaluate.comparison import GROUPS_MIN
from tacit.features.evaluate.conversation import OBSERVATION_CHARACTERS
from tacit.features.train.consolidation import WITH, WITH_ELSEWHERE, WITHOUT, WITHOUT_ELSEWHERE, Outlook
from tacit.features.train.consolidation import Progress as Phases
from tacit.features.train.dataset import cut_answers, unreadable
from tacit.features.train.data_gate import Objection
from tacit.features.train.consolidation import HELD_OUT_SHARE, PROOF_SHARE
from tacit.features.train.recipe import Estimate, Recipe, estimate
from tacit.features.train.trainer import LocalWorkshop
from tacit.surfaces.cli.context import CommandContext, clean, counted

_MINUTE_S, _HOUR_S = 60, 3600


_NO_BASE = "no base model is named"
_NAME_ONE = "pass --base with a folder, a *.gguf file or a hub id, or set consolidation.base in ~/.tacit/tacit.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    """What the test at the end of a consolidation would ask."""

    tasks: int
    exercises: int
    """Of those tasks; 0 where the data are refused, so that nobody counted them."""
    guard: str
    """The suite that must not get worse."""
    guard_exercises: int

    @property
    def attempts(self) -> int:
        """Attempts of both arms, at home and elsewhere."""
        return 2 * (self.exercises + self.guard_exercises)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Foretold:
    outlook: Outlook
    name: str
    """Of the base model."""
    facts: ModelFacts | None
    against: tuple[Objection, ...]
    cost: Estimate | None
    device: str
    test: Exam | None


def workshop(ctx: CommandContext, outlook: Outlook, *, base: str, size: str, anew: bool) -> LocalWorkshop:
    """The base model and the recipe that options and settings name, if nothing stands in the way of training.

    All that does is told at once, dearest mistake first: nobody is to install gigabytes for data that are refused anyway.
    """
    settings = ctx.settings[0].consolidation
    name = base or settings.base
    begun = outlook.unfinished and not anew  # its dataset passed the gate when it was built
    wrong = _model_problems(name)
    against = _against(outlook, None if wrong else base_model_facts(name))
    data = [] if begun else [(f"{each.rule}: {each.reason}", each.hint) for each in against]
    problems = [*data, *wrong]
    if absent := missing_packages(name):
        problems.append((f"training needs {', '.join(absent)}", INSTALL))
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
        base_model_facts(name)
    except TacitError as error:
        return [(str(error), error.hint)]
    return []


def _against(outlook: Outlook, facts: ModelFacts | None) -> tuple[Objection, ...]:
    """What speaks against training: what the gate says, and what this base model cannot read."""
    return (*outlook.against, *(unreadable(outlook.dataset, facts.context_tokens) if facts else ()))


def foretell(ctx: CommandContext, outlook: Outlook, *, base: str, size: str, test: Exam | None = None) -> None:
    """Answer a dry run: what would be used, what the gate says, what it would cost, how it is tested. Nothing was done."""
    settings = ctx.settings[0].consolidation
    name, recipe = base or settings.base, Recipe.of(size or settings.size)
    wrong = _model_problems(name)
    facts = None if wrong else base_model_facts(name)
    device = training_device()
    cost = None
    if facts and outlook.dataset.train:
        train, held_out = outlook.dataset.train, outlook.dataset.held_out
        fitted = recipe.within(facts.context_tokens)
        cost = estimate(train, held_out, recipe=fitted, parameters=facts.parameters, reach=facts.reach, device=device)
    told = _Foretold(
        outlook=outlook,
        name=name,
        facts=facts,
        against=_against(outlook, facts),
        cost=cost,
        device=device,
        test=test,
    )
    before = outlook.dataset.manifest.dropped.get("too_long", 0)
    document = {
        "dry_run": True,
        "attempts": outlook.attempts,
        "tasks": outlook.tasks,
        "proof_tasks": outlook.proof_tasks,
        "dataset": _dataset(outlook),
        "refused": [asdict(each) for each in told.against],
        "model": {"name": name, "hash": base_model_hash(name), **asdict(facts)} if facts else None,
        "model_problem": {"told": wrong[0][0], "hint": wrong[0][1]} if wrong else None,
        "recipe": recipe.told(),
        "device": device,
        "missing": missing_packages(name),
        "cost": {**asdict(cost), "too_long": before + cost.too_long} if cost else None,
        "test": _test(test) if test else None,
        "unfinished": outlook.unfinished,
        "due_at": outlook.due_at,
    }
    ctx.answer(document, lambda: _show(ctx, told))


@contextmanager
def bars(ctx: CommandContext) -> Iterator[Phases]:
    """A bar for each phase, with how long it will still take; for programs nothing."""
    if ctx.as_json or not ctx.errors.is_terminal:
        yield lambda phase, done, total: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=ctx.errors) as progress:
        tasks: dict[str, Any] = {}

        def tell(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(phase, total=None)
            progress.update(tasks[phase], completed=done, total=total or None)

        yield tell


def left_out(examples: int) -> str:
    """That so many examples are not learned from, and why, in words."""
    return (
        f"{counted(examples, 'example')} left out, longer than what the base model reads at once: none is cut, and where it "
        "is more than a fifth nothing is trained."
    )


def show_told(ctx: CommandContext) -> None:
    """Tell what happened to adapters by itself, such as after a purge."""
    for each in ctx.memory.adapters.told:
        ctx.errors.print(f"[yellow]{escape(clean(each))}[/yellow]", soft_wrap=True)


def _dataset(outlook: Outlook) -> dict[str, Any]:
    found = outlook.dataset.manifest
    cut, answers = cut_answers(outlook.dataset.train)
    return {
        "hash": found.hash,
        "tasks": found.tasks,
        "examples": found.examples,
        "held_out_tasks": len(found.held_out_tasks),
        "held_out_examples": found.held_out_examples,
        "replayed": found.replayed,
        "dropped": dict(found.dropped),
        "answers": answers,
        "answers_cut": cut,
    }


def _test(test: Exam) -> dict[str, Any]:
    return {
        "tasks": test.tasks,
        "least_tasks": GROUPS_MIN,
        "exercises": test.exercises,
        "arms": [WITHOUT, WITH],
        "elsewhere": {
            "suite": test.guard,
            "exercises": test.guard_exercises,
            "arms": [WITHOUT_ELSEWHERE, WITH_ELSEWHERE],
        },
        "attempts": test.attempts,
    }


def _show(ctx: CommandContext, told: _Foretold) -> None:
    outlook, name, facts = told.outlook, told.name, told.facts
    _show_data(ctx, outlook, told.against)
    if facts:
        size = f"{facts.parameters / 1e6:,.0f} million weights"
        _say(
            ctx,
            f"Base model: {name} ({facts.architecture}, {size}). It stays as it is: what is learned goes into an adapter.",
        )
    for what, hint in _model_problems(name):
        _say(ctx, f"{what} ({hint})", style="yellow")
    if told.cost and told.cost.too_long:
        _say(ctx, f"About {left_out(told.cost.too_long)}", style="yellow")
    if told.cost and not told.against:
        _show_cost(ctx, told.cost, told.device)
    if told.test:
        _show_test(ctx, told.test)
    if absent := missing_packages(name):
        _say(ctx, f"Still to be installed: {', '.join(absent)} ({INSTALL})", style="yellow")
    if outlook.unfinished:
        _say(ctx, f"An earlier run ended while {outlook.unfinished}: it would go on from there", style="yellow")
    if outlook.due_at:
        _say(ctx, f"Not due before {outlook.due_at:%Y-%m-%d %H:%M} UTC", style="yellow")
    _say(ctx, "Nothing was done: this only tells what would be.", style="dim")


def _show_data(ctx: CommandContext, outlook: Outlook, against: tuple[Objection, ...]) -> None:
    """What would be learned from, what is left out, and what speaks against it."""
    found = outlook.dataset.manifest
    attempts = counted(outlook.attempts, "machine-verified success", plural="machine-verified successes")
    _say(
        ctx,
        f"{attempts} at {counted(outlook.tasks, 'task')}: a test, a build or another check shows that they worked.",
    )
    watched = len(found.held_out_tasks) - outlook.proof_tasks
    _say(ctx, f"  {counted(found.tasks, 'task')} to learn from, as {counted(found.examples, 'example')}")
    _say(ctx, f"  {counted(watched, 'task')} kept aside to see when to stop, before it only learns by heart")
    _say(
        ctx,
        f"  {counted(outlook.proof_tasks, 'task')} kept aside for the test at the end, and never shown to it before",
    )
    cut, answers = cut_answers(outlook.dataset.train)
    if cut:
        _say(
            ctx,
            f"  {cut:,} of {answers:,} answers of tools in these examples are cut to their first {OBSERVATION_CHARACTERS} "
            "characters, as they are when the model is asked at work",
            style="dim",
        )
    for reason, number in found.dropped.items():
        why = found.why.get(reason, reason)
        _say(ctx, f"  {counted(number, 'attempt')} left out ({reason}): {why}", style="dim")
    for each in against:
        _say(ctx, f"refused, {each.rule}: {each.reason}", style="red")
        if each.hint:
            _say(ctx, f"  next: {each.hint}", style="dim")
    if not against:
        _say(ctx, "Nothing speaks against learning from these.", style="green")


def _show_cost(ctx: CommandContext, cost: Estimate, device: str) -> None:
    where = "GPU" if device == "cuda" else "processor"
    _say(
        ctx,
        f"Training takes very roughly {_time(cost.seconds)} on this machine's {where} and {cost.memory_mb / 1000:.1f} GB of "
        f"memory: {cost.steps} steps over {cost.tokens / 1e6:.1f} million tokens (pieces of words). It ends sooner "
        "once the tasks kept aside show no more gain.",
    )
    _say(ctx, f"The adapter is a file of about {cost.adapter_mb:.0f} MB.")


def _show_test(ctx: CommandContext, test: Exam) -> None:
    """What would be asked at the end, of whom, and whether that is enough."""
    asked = f" as {counted(test.exercises, 'exercise')}" if test.exercises else ""
    _say(
        ctx,
        f"The test: {counted(test.tasks, 'task')}{asked}, each under {WITHOUT} and under {WITH}; elsewhere "
        f"{counted(test.guard_exercises, 'exercise')} of suite {test.guard}, each under {WITHOUT_ELSEWHERE} and under "
        f"{WITH_ELSEWHERE}, where nothing may get worse.",
    )
    if test.exercises:
        _say(ctx, f"  {test.attempts:,} attempts in all, each at least one answer of the model", style="dim")
    if test.tasks < GROUPS_MIN:
        enough = -(-GROUPS_MIN // (10 * HELD_OUT_SHARE * PROOF_SHARE)) * 10
        _say(
            ctx,
            f"  {counted(test.tasks, 'task')} to test with are too few for a verdict, which needs {GROUPS_MIN}: it would end "
            f"with “too little to tell”. About {enough:.0f} usable tasks in all give as many.",
            style="yellow",
        )


def _say(ctx: CommandContext, text: str, *, style: str = "") -> None:
    ctx.console.print(escape(clean(text)), style=style or None, soft_wrap=True, highlight=False)


def _time(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / _MINUTE_S:.0f} min" if seconds < _HOUR_S else f"{seconds / _HOUR_S:.1f} h"
