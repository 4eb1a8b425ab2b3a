"""What a training would use, refuse and cost: the dry run of `tacit adapters train`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape

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
from tacit.features.train.consolidation import (
    HELD_OUT_SHARE,
    REGRESSION_WITH,
    REGRESSION_WITHOUT,
    TEST_SHARE,
    WITH_ADAPTER,
    WITHOUT_ADAPTER,
    ConsolidationPlan,
)
from tacit.features.train.data_gate import Objection
from tacit.features.train.dataset import cut_answers, unreadable
from tacit.features.train.recipe import Recipe, TrainingCost, estimate_cost
from tacit.features.train.trainer import LocalTrainer
from tacit.surfaces.cli.context import CommandContext, clean, counted

_MINUTE_S, _HOUR_S = 60, 3600
_NO_MODEL = "no base model is named"
_NAME_A_MODEL = "pass --base with a folder, a *.gguf file or a hub id, or set consolidation.base in ~/.tacit/tacit.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamPlan:
    """The test at the end of a consolidation."""

    tasks: int
    exercises: int
    """Exercises of those tasks; 0 if the data are refused, since they are not counted then."""
    regression_suite: str
    """The suite that must not get worse."""
    regression_exercises: int

    @property
    def attempts(self) -> int:
        """Attempts of both arms in both suites."""
        return 2 * (self.exercises + self.regression_exercises)

    def document(self) -> dict[str, Any]:
        """Return the plan for programs."""
        regression = {
            "suite": self.regression_suite,
            "exercises": self.regression_exercises,
            "arms": [REGRESSION_WITHOUT, REGRESSION_WITH],
        }
        return {
            "tasks": self.tasks,
            "least_tasks": GROUPS_MIN,
            "exercises": self.exercises,
            "arms": [WITHOUT_ADAPTER, WITH_ADAPTER],
            "regression": regression,
            "elsewhere": regression,
            "attempts": self.attempts,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPreview:
    """What a training would use, what speaks against it, and what it would cost. Computed without loading a model."""

    plan: ConsolidationPlan
    model: str
    recipe: Recipe
    facts: ModelFacts | None
    model_problem: tuple[str, str] | None
    """What is wrong with the base model, and what to do."""
    objections: tuple[Objection, ...]
    cost: TrainingCost | None
    device: str
    missing: list[str]
    """Packages that are not installed."""
    test: ExamPlan | None

    def document(self) -> dict[str, Any]:
        """Return the preview for programs."""
        plan, problem = self.plan, self.model_problem
        before = plan.dataset.manifest.dropped.get("too_long", 0)
        return {
            "dry_run": True,
            "attempts": plan.attempts,
            "tasks": plan.tasks,
            "test_tasks": plan.test_tasks,
            "proof_tasks": plan.test_tasks,
            "dataset": _dataset_document(plan),
            "refused": [asdict(each) for each in self.objections],
            "model": {"name": self.model, "hash": base_model_hash(self.model), **asdict(self.facts)}
            if self.facts
            else None,
            "model_problem": {"message": problem[0], "told": problem[0], "hint": problem[1]} if problem else None,
            "recipe": self.recipe.as_text(),
            "device": self.device,
            "missing": self.missing,
            "cost": {**asdict(self.cost), "too_long": before + self.cost.too_long} if self.cost else None,
            "test": self.test.document() if self.test else None,
            "unfinished": plan.unfinished,
            "due_at": plan.due_at,
        }

    def lines(self) -> Iterator[str]:
        """Yield the preview for people, with markup."""
        yield from _data_lines(self.plan, self.objections)
        if self.facts:
            size = f"{self.facts.parameters / 1e6:,.0f} million weights"
            yield _line(
                f"Base model: {self.model} ({self.facts.architecture}, {size}). Its weights do not change: "
                "training makes a separate adapter."
            )
        if self.model_problem:
            yield _line(f"{self.model_problem[0]} ({self.model_problem[1]})", "yellow")
        if self.cost and self.cost.too_long:
            yield _line(f"About {left_out(self.cost.too_long)}", "yellow")
        if self.cost and not self.objections:
            yield from _cost_lines(self.cost, self.device)
        if self.test:
            yield from _test_lines(self.test)
        if self.missing:
            yield _line(f"Not installed: {', '.join(self.missing)} ({INSTALL})", "yellow")
        if self.plan.unfinished:
            yield _line(f"An earlier run stopped while {self.plan.unfinished}; it would continue there.", "yellow")
        if self.plan.due_at:
            yield _line(f"Not due before {self.plan.due_at:%Y-%m-%d %H:%M} UTC.", "yellow")
        yield _line("This was a dry run: nothing was changed.", "dim")


def preview_training(
    ctx: CommandContext, plan: ConsolidationPlan, *, base: str, size: str, test: ExamPlan | None = None
) -> TrainingPreview:
    """Return what a training with these options would use, refuse and cost."""
    settings = ctx.settings[0].consolidation
    name, recipe = base or settings.base, Recipe.of(size or settings.size)
    problem = _model_problem(name)
    facts = None if problem else base_model_facts(name)
    device = training_device()
    cost = None
    if facts and plan.dataset.train:
        cost = estimate_cost(
            plan.dataset.train,
            plan.dataset.held_out,
            recipe=recipe.within(facts.context_tokens),
            parameters=facts.parameters,
            reach=facts.reach,
            device=device,
        )
    return TrainingPreview(
        plan=plan,
        model=name,
        recipe=recipe,
        facts=facts,
        model_problem=problem,
        objections=(*plan.objections, *(unreadable(plan.dataset, facts.context_tokens) if facts else ())),
        cost=cost,
        device=device,
        missing=missing_packages(name),
        test=test,
    )


def open_trainer(ctx: CommandContext, plan: ConsolidationPlan, *, base: str, size: str, restart: bool) -> LocalTrainer:
    """Return the trainer that options and settings name; raise one error with everything that prevents training.

    Problems of the data come first, so that nobody installs gigabytes for data that are refused anyway.
    """
    preview = preview_training(ctx, plan, base=base, size=size)
    resumed = plan.unfinished and not restart  # its dataset passed the gate when it was built
    data = [] if resumed else [(f"{each.rule}: {each.reason}", each.hint) for each in preview.objections]
    problems = [*data, *([preview.model_problem] if preview.model_problem else [])]
    if preview.missing:
        problems.append((f"training needs {', '.join(preview.missing)}", INSTALL))
    if problems:
        message = "\n".join(["nothing was trained:", *(f"- {what}" for what, _ in problems)])
        hints = dict.fromkeys(hint for _, hint in problems if hint)
        hint = "\n".join(f"- {each}" for each in (*hints, "`--dry-run` shows what training would use and cost"))
        if data:
            raise GateRefusal(message, code="data_refused", hint=hint)
        raise Mistake(message, code="cannot_train", hint=hint)
    return LocalTrainer(preview.model, preview.recipe)


def left_out(examples: int) -> str:
    """Return the sentence about examples that are too long for the base model."""
    return (
        f"{counted(examples, 'example')} left out because they are longer than the base model's context. Examples are never "
        "shortened; if more than a fifth is too long, nothing is trained."
    )


def _model_problem(name: str) -> tuple[str, str] | None:
    if not name:
        return _NO_MODEL, _NAME_A_MODEL
    try:
        base_model_facts(name)
    except TacitError as error:
        return str(error), error.hint
    return None


def _dataset_document(plan: ConsolidationPlan) -> dict[str, Any]:
    found = plan.dataset.manifest
    cut, answers = cut_answers(plan.dataset.train)
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


def _data_lines(plan: ConsolidationPlan, objections: tuple[Objection, ...]) -> Iterator[str]:
    found = plan.dataset.manifest
    successes = counted(plan.attempts, "machine-verified success", plural="machine-verified successes")
    yield _line(f"{successes} at {counted(plan.tasks, 'task')} (a test, a build or another check passed).")
    validation = len(found.held_out_tasks) - plan.test_tasks
    yield _line(f"  {counted(found.tasks, 'task')} for training, as {counted(found.examples, 'example')}")
    yield _line(f"  {counted(validation, 'task')} for validation, which decides when training stops")
    yield _line(f"  {counted(plan.test_tasks, 'task')} for the test at the end, not used before")
    cut, answers = cut_answers(plan.dataset.train)
    if cut:
        yield _line(
            f"  {cut:,} of {answers:,} tool results are cut to their first {OBSERVATION_CHARACTERS} characters, in training "
            "as at work",
            "dim",
        )
    for rule, number in found.dropped.items():
        yield _line(f"  {counted(number, 'attempt')} left out ({rule}): {found.why.get(rule, rule)}", "dim")
    for each in objections:
        yield _line(f"refused, {each.rule}: {each.reason}", "red")
        if each.hint:
            yield _line(f"  next: {each.hint}", "dim")
    if not objections:
        yield _line("The data pass all checks.", "green")


def _cost_lines(cost: TrainingCost, device: str) -> Iterator[str]:
    where = "GPU" if device == "cuda" else "processor"
    yield _line(
        f"Training takes roughly {_duration(cost.seconds)} on this machine's {where} and {cost.memory_mb / 1000:.1f} GB of "
        f"memory: {cost.steps} steps over {cost.tokens / 1e6:.1f} million tokens. It stops earlier once validation shows no "
        "more gain."
    )
    yield _line(f"The adapter is a file of about {cost.adapter_mb:.0f} MB.")


def _test_lines(test: ExamPlan) -> Iterator[str]:
    asked = f" as {counted(test.exercises, 'exercise')}" if test.exercises else ""
    yield _line(
        f"Test: {counted(test.tasks, 'task')}{asked}, each with {WITHOUT_ADAPTER} and with {WITH_ADAPTER}. Regression test: "
        f"{counted(test.regression_exercises, 'exercise')} of suite {test.regression_suite}, each with {REGRESSION_WITHOUT} "
        f"and with {REGRESSION_WITH}; it must not get worse."
    )
    if test.exercises:
        yield _line(f"  {test.attempts:,} attempts in all, each at least one answer of the model", "dim")
    if test.tasks < GROUPS_MIN:
        enough = -(-GROUPS_MIN // (10 * HELD_OUT_SHARE * TEST_SHARE)) * 10
        yield _line(
            f"  {counted(test.tasks, 'task')} are too few for a verdict, which needs {GROUPS_MIN}. About {enough:.0f} usable "
            "tasks in all give as many.",
            "yellow",
        )


def _line(text: str, style: str = "") -> str:
    safe = escape(clean(text))
    return f"[{style}]{safe}[/{style}]" if style else safe


def _duration(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / _MINUTE_S:.0f} min" if seconds < _HOUR_S else f"{seconds / _HOUR_S:.1f} h"
