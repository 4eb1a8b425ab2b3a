"""`tacit learn` and `tacit recall`: experience in, the right skill out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tacit import experience
from tacit.domain.candidate import Relation, Verdict
from tacit.domain.errors import InvalidTrajectory, Mistake, NotFound
from tacit.domain.evidence import Outcome
from tacit.domain.ports import Episode
from tacit.domain.scope import Scope
from tacit.domain.selection import Selection
from tacit.domain.skill import Kind
from tacit.report import Captured, Learned
from tacit.surfaces.cli.session import Session, command_options, one_line
from tacit.surfaces.cli.show import show_episodes, show_learned, show_selection

BATCH = 50


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--trust-outcomes",
    is_flag=True,
    help="Accept the outcome written in a document, with its verifier's name, as machine-verified.",
)
@command_options
def learn(session: Session, *, paths: tuple[Path, ...], trust_outcomes: bool) -> None:
    """Learn from agents' logs: PATHS are files or folders; without any, from what was captured before.

    Reads Claude Code transcripts and ATIF documents (also .jsonl and .gz). Secrets are taken out before anything is
    stored. What was learned waits for `tacit review`. Running it twice adds nothing.
    """
    session.may_create = True
    for path in paths:
        if not path.exists():
            raise NotFound(f"no such file or folder: {path}", hint="check the path")
    problems: list[InvalidTrajectory] = []
    captured = _capture(session, paths, trust_outcomes=trust_outcomes, problems=problems)
    with _progress(session, "learning") as advance:
        learned = session.loop.learn(progress=advance)
    session.answer(
        _learn_document(captured, learned, problems),
        lambda: show_learned(session.console, captured, learned, problems=problems),
    )
    if problems and not captured.added and not captured.known:
        session.end_with(Mistake(f"nothing could be read: {problems[0].message}", hint=problems[0].hint))


def _capture(
    session: Session, paths: tuple[Path, ...], *, trust_outcomes: bool, problems: list[InvalidTrajectory]
) -> Captured:
    added: list[str] = []
    known = excluded = 0
    redacted: Counter[str] = Counter()
    with _progress(session, "reading") as advance:
        for count, trajectory in enumerate(_read(paths, problems), start=1):
            result = session.loop.capture(trajectory, trust_outcomes=trust_outcomes)
            added += result.added
            known += result.known
            excluded += result.excluded
            redacted.update(result.redacted)
            advance(count, 0)
    return Captured(added=tuple(added), known=known, excluded=excluded, redacted=dict(redacted))


def _read(paths: tuple[Path, ...], problems: list[InvalidTrajectory]) -> Iterator[Any]:
    for path in paths:
        yield from experience.read(path, on_problem=problems.append)


@contextmanager
def _progress(session: Session, what: str) -> Iterator[Any]:
    """A bar for people; nothing for programs."""
    if session.as_json or not session.errors.is_terminal:
        yield lambda done, total: None
        return
    columns = (SpinnerColumn(), TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=session.errors, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _learn_document(captured: Captured, learned: Learned, problems: list[InvalidTrajectory]) -> dict[str, Any]:
    return {
        "captured": {
            "added": len(captured.added),
            "known": captured.known,
            "excluded": captured.excluded,
            "redacted": captured.redacted,
        },
        "learned_from": learned.trajectories,
        "accepted": [_verdict(v) for v in learned.accepted],
        "held": [_verdict(v) for v in learned.held],
        "quarantined": [_verdict(v) for v in learned.quarantined],
        "rejected": [_verdict(v) for v in learned.rejected],
        "reinforced": [_verdict(v) for v in learned.reinforced],
        "notes": list(learned.notes),
        "problems": [{"message": p.message, "hint": p.hint} for p in problems],
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


@click.command()
@click.argument("task")
@click.option("-k", type=click.IntRange(1, 50), help="How many skills at most.")
@click.option("--budget", "budget_tokens", type=click.IntRange(min=1), help="Hard limit in tokens.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([*(kind.value for kind in Kind), "episode"]),
    help="Only this kind (may be repeated); `episode` finds past attempts instead of skills.",
)
@click.option("--category", help="Only this category.")
@click.option("--tool", "tools", multiple=True, help="A tool at hand (may be repeated); others are taken as absent.")
@click.option("--min-reliability", type=click.FloatRange(0, 1), help="Only skills proven at least this reliable.")
@click.option("--scope", type=str, help="See from this scope, e.g. project:invoices or global.")
@command_options
def recall(session: Session, *, task: str, kinds: tuple[str, ...], **options: Any) -> None:
    """Find the skills that fit TASK, or say why none is given."""
    if not task.strip():
        raise Mistake("the task is empty", hint='say what is to be done: tacit recall "add a column"')
    if "episode" in kinds:
        if len(kinds) > 1:
            raise Mistake("episodes cannot be mixed with skills in one answer", hint="ask twice")
        episodes = session.loop.episodes(task, limit=options["k"] or 5)
        document = {"task": task, "episodes": [_episode(episode) for episode in episodes]}
        session.answer(document, lambda: show_episodes(session.console, episodes))
        return
    selection = session.loop.recall(
        task,
        k=options["k"],
        budget_tokens=options["budget_tokens"],
        tools=options["tools"] or None,
        scope=Scope.parse(options["scope"]) if options["scope"] else None,
        kinds=kinds or None,
        category=options["category"],
        min_reliability=options["min_reliability"],
        surface="cli",
    )
    session.answer(selection_document(selection), lambda: show_selection(session.console, selection))


def selection_document(selection: Selection) -> dict[str, Any]:
    """A selection as programs get it."""
    return {
        "task": selection.query.text,
        "abstained": selection.abstained,
        "reason": selection.reason,
        "use_id": selection.use_id,
        "tokens": selection.tokens,
        "text": selection.text,
        "items": [
            {
                "name": item.name,
                "kind": item.version.content.kind,
                "description": item.version.content.description,
                "version_id": item.version_id,
                "status": item.status,
                "score": round(item.score, 4),
                "signals": {name: round(value, 4) for name, value in item.signals.items()},
                "reasons": item.reasons,
                "steps": item.steps,
                "tokens": item.tokens,
            }
            for item in selection.items
        ],
        "left_out": selection.left_out,
    }


def _episode(episode: Episode) -> dict[str, Any]:
    known = episode.assessment.outcome is not Outcome.UNKNOWN
    return {
        "id": episode.id,
        "task": one_line(episode.task, 400),
        "outcome": episode.assessment.outcome,
        "grade": episode.assessment.grade if known else None,
        "why": episode.assessment.reason,
        "files": episode.files,
        "steps": episode.steps,
        "client": episode.client,
        "project": episode.project,
        "session_id": episode.session_id,
        "started_at": episode.started_at,
    }
