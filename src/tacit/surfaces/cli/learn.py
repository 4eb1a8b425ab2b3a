"""`tacit learn`: what agents did on this machine, or in the files named, becomes candidates for skills."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit import ingest as experience
from tacit.api import Tacit, open_at
from tacit.config.location import find_location
from tacit.config.settings import Config, load_config
from tacit.domain.candidate import Relation, Verdict
from tacit.domain.errors import InvalidTrajectory, Mistake, NotFound, TacitError
from tacit.domain.lifecycle import Transition
from tacit.domain.model import LanguageModel
from tacit.evidence.capture import Captured
from tacit.ingest.discovery import PLACES, Transcript, transcripts
from tacit.learn.report import Helped, Learned
from tacit.surfaces import exports
from tacit.surfaces.cli.context import CommandContext, command_options, counted
from tacit.surfaces.cli.context import progress_bar
from tacit.surfaces.cli.tend import show_care
from tacit.surfaces.cli.views import show_learned, show_projects
from tacit.surfaces.discovery import homes, project_of, take_in, together

QUICKLY_TENDED = 1_000
"""Skills that are looked through in a second or two, with every pass of learning."""


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--all-projects", is_flag=True, help="Every project whose sessions lie on this machine, each into its own store."
)
@click.option(
    "--client", "clients", multiple=True, type=click.Choice(list(PLACES)), help="Only this client (may be repeated)."
)
@click.option("--since", default="", metavar="WHEN", help="Only sessions that went on since then: 7d, 12h, or a date.")
@click.option(
    "--trust-outcomes",
    is_flag=True,
    help="Accept the outcome written in a document, with its verifier's name, as machine-verified.",
)
@click.option(
    "--model",
    metavar="NAME",
    expose_value=False,
    callback=lambda context, option, name: _choose_model(context, _named(context, option, name)),
    help="Let this language model word what is new, within the limits of the settings (which may name one too).",
)
@click.option(
    "--no-model",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, without: _choose_model(context, "" if without else None),
    help="Learn without the language model that the settings name.",
)
@command_options
def learn(
    ctx: CommandContext,
    *,
    paths: tuple[Path, ...],
    all_projects: bool,
    clients: tuple[str, ...],
    since: str,
    trust_outcomes: bool,
) -> None:
    """Learn from what agents did: from PATHS (files or folders), or without any from this project's past sessions.

    Finds the transcripts that Claude Code and Codex keep on this machine, and reads ATIF documents (also .jsonl and .gz)
    by path. A session that goes on is read on from where it was; running it twice adds nothing, except that with
    --trust-outcomes what was read without it is learned from again. Secrets are taken out before anything is stored.
    What was learned waits for `tacit review`.

    A language model is asked only if you named one, here or in your settings, and never for an agent or a hook.
    """
    ctx.may_create = True
    if paths and (all_projects or clients or since):
        raise Mistake(
            "PATHS say what to read; --all-projects, --client and --since are for looking", hint="leave one out"
        )
    missing = next((path for path in paths if not path.exists()), None)
    if missing:
        raise NotFound(f"no such file or folder: {missing}", hint="check the path")
    if trust_outcomes:
        ctx.caller.require_person("learn --trust-outcomes")
    since_when = moment(since) if since else None
    with _model(ctx, everywhere=all_projects) as model:
        if paths:
            _learn_paths(ctx, paths, trust_outcomes=trust_outcomes, model=model)
            return
        found = transcripts(homes(ctx.environment, clients), since=since_when)
        if all_projects:
            _learn_everywhere(ctx, found, model=model)
        else:
            _learn_here(ctx, found, looked_for=clients or tuple(PLACES), model=model)


def _named(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    if name is not None and not name.strip():
        raise click.BadParameter("it is empty: name a model, or say --no-model", context, option)
    return name


def _choose_model(context: click.Context, name: str | None) -> None:
    ctx = context.find_object(CommandContext)
    if ctx is None or name is None:
        return
    if ctx.model_name is not None:
        raise click.UsageError("--model and --no-model exclude each other", context)
    ctx.model_name = name.strip()


@contextmanager
def _model(ctx: CommandContext, *, everywhere: bool) -> Iterator[LanguageModel | None]:
    """The language model that may be asked in this run, if any: named here, or by the settings unless an agent is calling."""
    settings = _person_config(ctx).model if everywhere else ctx.settings[0].model
    caller = ctx.caller
    if ctx.model_name:
        caller.require_person("learn --model")
    configured = settings.name if caller.is_person or not ctx.environment.agent_markers else ""
    name = configured if ctx.model_name is None else ctx.model_name
    if not name:
        yield None
        return
    from tacit import providers

    if name != settings.name and not settings.base_url:  # the prices there are another model's
        settings = dataclasses.replace(settings, price_in=None, price_out=None)
    try:
        opened = providers.open_model(dataclasses.replace(settings, name=name), key=ctx.environment.model_key)
    except Mistake as error:
        hint = "; or learn without a model: --no-model"
        raise type(error)(error.message, hint=f"{error.hint}{hint}") from error
    with opened as model:
        yield model


def _person_config(ctx: CommandContext) -> Config:
    """The settings of the person alone, which hold for every project until its own file tightens them."""
    environment = ctx.environment
    return load_config((), file=environment.config_file, home=environment.person_home)[0]


def _learn_paths(
    ctx: CommandContext, paths: tuple[Path, ...], *, trust_outcomes: bool, model: LanguageModel | None
) -> None:
    problems: list[InvalidTrajectory] = []
    with progress_bar(ctx, "reading") as advance:
        captured = together(
            _counted((ctx.memory.capture(t, trust_outcomes=trust_outcomes) for t in _read(paths, problems)), advance)
        )
    if not problems and captured == Captured():
        problems += [problem for path in paths if (problem := experience.passed_over(path))][:1]
    learned = _distil(ctx, ctx.memory, model)
    suggestions = _suggestions(ctx)

    def show() -> None:
        show_learned(ctx.console, captured, learned, problems=problems)
        show_care(ctx, learned.settled, suggestions)

    ctx.answer(learn_document(captured, learned, problems) | {"suggestions": suggestions}, show)
    if problems and captured == Captured():  # what was wrong with each file has been told
        ctx.end_with(Mistake("nothing could be read", hint="mend or convert what is listed, or name other files"))


def _learn_here(
    ctx: CommandContext, found: list[Transcript], *, looked_for: tuple[str, ...], model: LanguageModel | None
) -> None:
    own = [each for each in found if project_of(each) == ctx.place.project]
    problems: list[InvalidTrajectory] = []
    with progress_bar(ctx, "reading") as advance:
        taken = _take_in(ctx.memory, own, problems, advance)
    captured = together(part for part in taken if part)
    learned = _distil(ctx, ctx.memory, model)
    suggestions = _suggestions(ctx)
    unchanged = sum(1 for part in taken if part is None)

    def show() -> None:
        if not own:
            told = " and ".join(looked_for)
            ctx.console.print(f"No sessions of {told} in {escape(str(ctx.place.project))} lie on this machine.")
            ctx.console.print(
                "Name files or folders (tacit learn PATH), or look everywhere: tacit learn --all-projects\n"
            )
        else:
            again = f", {unchanged} unchanged since the last time" if unchanged else ""
            ctx.console.print(f"Found {counted(len(own), 'session')} of this project{again}.")
        show_learned(ctx.console, captured, learned, problems=problems)
        show_care(ctx, learned.settled, suggestions)

    told = {"found": len(own), "unchanged": unchanged}
    document = {"transcripts": told, **learn_document(captured, learned, problems), "suggestions": suggestions}
    ctx.answer(document, show)


def _learn_everywhere(ctx: CommandContext, found: list[Transcript], *, model: LanguageModel | None) -> None:
    """One project after the other, each into the store that `tacit` uses there."""
    projects: dict[Path, list[Transcript]] = {}
    homeless: list[Transcript] = []
    for each in found:
        project = project_of(each)
        (homeless if project is None else projects.setdefault(project, [])).append(each)
    documents: list[dict[str, Any]] = []
    with progress_bar(ctx, "reading") as advance:
        for project, own in projects.items():
            before = sum(document["sessions"] for document in documents)
            behind = _behind(advance, before, len(found))
            documents.append(_learn_elsewhere(ctx, project, own, advance=behind, model=model))
    told = {"found": len(found), "without_project": len(homeless)}
    ctx.answer(
        {"transcripts": told, "projects": documents},
        lambda: show_projects(ctx.console, documents, without_project=len(homeless)),
    )


def _learn_elsewhere(
    ctx: CommandContext,
    project: Path,
    own: list[Transcript],
    *,
    advance: Callable[[int, int], None],
    model: LanguageModel | None,
) -> dict[str, Any]:
    problems: list[InvalidTrajectory] = []
    try:
        place = find_location(ctx.environment, store=ctx.store, start=project)
        environment = ctx.environment
        config, _ = load_config((place.project,), file=environment.config_file, home=environment.person_home)
        with open_at(place, config=config, home=environment.person_home) as loop:
            taken = _take_in(loop, own, problems, advance)
            # The budget is one for all; where a project's file tightens it, the model is left out.
            learned = loop.learn(model=model if config.model == _person_config(ctx).model else None)
    except TacitError as error:  # one project's store must not keep the others from learning
        return {"project": str(project), "sessions": len(own), "error": {"message": error.message, "hint": error.hint}}
    captured = together(part for part in taken if part)
    return {"project": str(project), "sessions": len(own), **learn_document(captured, learned, problems)}


def _take_in(
    loop: Tacit, own: list[Transcript], problems: list[InvalidTrajectory], advance: Callable[[int, int], None]
) -> list[Captured | None]:
    taken: list[Captured | None] = []
    for each in own:
        try:
            taken.append(take_in(loop, each.path, on_problem=problems.append))
        except InvalidTrajectory as problem:
            problems.append(problem)
        advance(len(taken), len(own))
    return taken


def _distil(ctx: CommandContext, loop: Tacit, model: LanguageModel | None) -> Learned:
    """Learn from what was captured; what people edited in exported folders comes back on the way."""
    exports.take_back(loop, by=ctx.environment.user or "edit")
    with progress_bar(ctx, "learning") as advance:
        learned = loop.learn(progress=advance, model=model)
    exports.export(loop)
    return learned


def _suggestions(ctx: CommandContext) -> int:
    """How much looking after the library would find to do; of a large one only `tacit tend` takes the time to tell."""
    if len(ctx.memory.skills()) > QUICKLY_TENDED:
        return 0
    with progress_bar(ctx, "looking") as advance:
        return len(ctx.memory.tend(progress=advance))


def _counted(parts: Iterable[Captured], advance: Callable[[int, int], None]) -> Iterator[Captured]:
    for count, part in enumerate(parts, start=1):
        yield part
        advance(count, 0)


def _behind(advance: Callable[[int, int], None], before: int, total: int) -> Callable[[int, int], None]:
    """The same bar, for a part of the work that begins behind another."""
    return lambda done, _: advance(before + done, total)


def moment(text: str, *, now: datetime | None = None) -> datetime:
    """Read a point in time: so many days, hours or minutes ago, or a date."""
    found = re.fullmatch(r"(\d{1,6})\s*([dhm])", text.strip())
    try:
        if found:
            unit = {"d": "days", "h": "hours", "m": "minutes"}[found[2]]
            return (now or datetime.now(UTC)) - timedelta(**{unit: int(found[1])})
        day = datetime.fromisoformat(text.strip())
        return day.astimezone(UTC)  # a date without a zone is a date here
    except (ValueError, OverflowError):
        raise Mistake(f"--since {text!r} is no point in time", hint="say 7d, 12h, 30m or 2026-01-31") from None


def _read(paths: tuple[Path, ...], problems: list[InvalidTrajectory]) -> Iterator[Any]:
    for path in paths:
        yield from experience.read(path, on_problem=problems.append)


def learn_document(captured: Captured, learned: Learned, problems: list[InvalidTrajectory]) -> dict[str, Any]:
    """What a pass of learning did, as programs get it."""
    return {
        "captured": {
            "added": len(captured.added),
            "known": captured.known,
            "vouched": captured.vouched,
            "excluded": captured.excluded,
            "purged": captured.purged,
            "redacted": captured.redacted,
        },
        "learned_from": learned.trajectories,
        "accepted": [_verdict(v) for v in learned.accepted],
        "held": [_verdict(v) for v in learned.held],
        "quarantined": [_verdict(v) for v in learned.quarantined],
        "rejected": [_verdict(v) for v in learned.rejected],
        "reinforced": [_verdict(v) for v in learned.reinforced],
        "notes": list(learned.notes),
        "model": _helped(learned.model) if learned.model else None,
        "settled": [_moved(move) for move in learned.settled],
        "problems": [{"message": p.message, "hint": p.hint} for p in problems],
    }


def _moved(move: Transition) -> dict[str, Any]:
    return {"version_id": move.version_id, "before": move.before, "after": move.after, "reason": move.reason}


def _helped(model: Helped) -> dict[str, Any]:
    return {
        "name": model.name,
        "news": model.news,
        "worded": model.worded,
        "proposed": model.proposed,
        "calls": model.spent.calls,
        "input_tokens": model.spent.input_tokens,
        "output_tokens": model.spent.output_tokens,
        "tokens": model.spent.tokens,
        "usd": round(model.spent.usd, 6),
        "stopped": model.stopped,
        "remarks": [remark.text for remark in model.remarks],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.name,
        "decision": verdict.decision,
        "relation": verdict.relation,
        "version_id": verdict.version_id,
        "skill_id": verdict.skill_id,
        "trajectory_ids": verdict.trajectory_ids,
        "reasons": [{"rule": f.rule, "severity": f.severity, "message": f.message} for f in verdict.findings],
    } | ({} if verdict.relation is not Relation.NONE else {"version_id": None, "skill_id": None})
