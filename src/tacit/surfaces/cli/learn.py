"""`tacit learn`: past agent sessions, or the files named, become candidates for skills."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from tacit.api import Tacit, open_at
from tacit.config.location import find_location
from tacit.config.settings import Config, load_config
from tacit.domain.candidate import Relation, Severity, Verdict
from tacit.domain.errors import InvalidTrajectory, Mistake, ModelOutage, NotFound, TacitError
from tacit.domain.ports import LanguageModel
from tacit.domain.trajectory import Trajectory
from tacit.evidence.capture import Captured, capture_transcript, combined
from tacit.ingest.sources import (
    PLACES,
    Transcript,
    client_homes,
    other_homes,
    passed_over,
    project_of,
    project_transcripts,
    read,
    transcripts,
)
from tacit.learn.learning_report import LearningReport
from tacit.maintain.portability import home_database
from tacit.maintain.reason_text import stored_reason
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line, progress_bar
from tacit.surfaces.cli.report import Column, Columns, ReportPart, fields, safe
from tacit.surfaces.cli.tend import settled_lines
from tacit.surfaces.cli.views import DECISION_TEXT

if TYPE_CHECKING:
    from tacit.learn.reading import ReadingReport

QUICKLY_TENDED = 1_000
"""Libraries up to this size are checked for suggestions of `tacit tend` after every pass; it takes a second or two."""
SHOWN_NOTES = 6
SHOWN_SKILLS = 12
FEW_SESSIONS, FEW_SKILLS = 3, 3
"""From so many sessions on, fewer skills than this are little."""
_CLIENT_NAMES = {"claude-code": "Claude Code", "codex": "Codex"}
_DECISION_STYLE = {"accept": "cyan", "hold": "yellow", "quarantine": "red"}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--all-projects", is_flag=True, help="Learn for every project with sessions here, each into its own store."
)
@click.option(
    "--client", "clients", multiple=True, type=click.Choice(list(PLACES)), help="Only this client (repeatable)."
)
@click.option("--since", default="", metavar="WHEN", help="Only sessions active since then: 7d, 12h, or a date.")
@click.option("--trust-outcomes", is_flag=True, help="Accept outcomes with a verifier's name in documents as verified.")
@click.option("--model", metavar="NAME", help="Let this language model read the sessions, within the settings' limits.")
@click.option("--procedure", metavar="TITLE", help="Let the model write this procedure from the sessions PATHS names.")
@click.option("--no-model", is_flag=True, help="Learn without the language model that the settings name.")
@command_options
def learn(
    ctx: CommandContext,
    *,
    paths: tuple[Path, ...],
    all_projects: bool,
    clients: tuple[str, ...],
    since: str,
    trust_outcomes: bool,
    model: str | None,
    procedure: str | None,
    no_model: bool,
) -> None:
    """Learn skills from agent sessions: from PATHS (files or folders), or from this project's past sessions.

    Finds the sessions of Claude Code, Codex, Copilot, Gemini, Qwen, opencode, letta-code, Cursor, OpenClaw, pi and aider on
    this machine, and those that a team keeps in git (entire/checkpoints). Reads traces, ATIF and other formats by path.
    A session that continues is read on from where it was; running the command twice adds nothing. With --trust-outcomes,
    documents that were read without it are learned from again. Secrets are redacted before anything is stored.
    What was learned waits for `tacit review`.

    A language model is used only if you named one, here or in your settings: claude-code or codex (the installed client, with
    your login), or such as openai:gpt-5-mini. Never for an agent; for hooks only with learn.read_in_background.
    """
    if paths and (all_projects or clients or since):
        message = "--all-projects, --client and --since do not go with PATHS"
        raise Mistake(message, code="paths_and_search", hint="leave one out")
    missing = next((path for path in paths if not path.exists()), None)
    if missing and procedure is None:
        raise NotFound(f"no such file or folder: {missing}", code="no_such_path", hint="check the path")
    if trust_outcomes:
        ctx.caller.require_person("learn --trust-outcomes")
    since_when = moment(since) if since else None
    if model is not None and (no_model or not model.strip()):
        raise Mistake("name one model, or none", code="model_choice", hint="--model NAME, or --no-model")
    with _open_model(ctx, "" if no_model else model, everywhere=all_projects) as opened:
        if procedure is not None:
            _learn_procedure(ctx, procedure, paths, model=opened)
            return
        if paths:
            ctx.may_create = True
            _learn_paths(ctx, paths, trust_outcomes=trust_outcomes, model=opened)
            return
        homes = client_homes(ctx.environment, clients) | ({} if clients else other_homes(ctx.environment))
        found = transcripts(homes, since=since_when)
        chosen = clients or tuple(PLACES)
        if all_projects:
            _learn_everywhere(ctx, found, clients=chosen, since=since_when, model=opened)
        else:
            _learn_here(ctx, found, clients=chosen, since=since_when, model=opened)


def _learn_procedure(
    ctx: CommandContext, title: str, sessions: tuple[Path, ...], *, model: LanguageModel | None
) -> None:
    """Let the model write one procedure; sessions are named by their transcripts, or by ids that the store knows."""
    hint = "tacit learn --model claude-code --procedure TITLE SESSION…"
    if model is None:
        raise Mistake("a procedure is written by a language model", code="no_model_named", hint=hint)
    if not title.strip() or not sessions:
        raise Mistake("a procedure needs a title and at least one session", code="no_sessions", hint=hint)
    memory = ctx.memory
    ids: dict[str, None] = {}
    for each in sessions:
        if each.exists():
            found = list(read(each))
            memory.capture(found)
            ids.update(dict.fromkeys(trajectory.session_id for trajectory in found))
        else:
            ids[str(each)] = None
    learned = memory.learn_procedure(title.strip(), list(ids), model=model)
    captured = Captured()
    document = learn_document(captured, learned, ())
    ctx.report(document, lambda: learned_parts(captured, learned, width=ctx.console.width))


@contextmanager
def _open_model(ctx: CommandContext, chosen: str | None, *, everywhere: bool) -> Iterator[LanguageModel | None]:
    """Yield the language model of this run: the chosen one, or that of the settings unless an agent is calling."""
    settings = _config_for(ctx).model if everywhere else ctx.settings[0].model
    if chosen:
        ctx.caller.require_person("learn --model")
    configured = settings.name if ctx.caller.is_person or not ctx.environment.agent_markers else ""
    name = configured if chosen is None else chosen.strip()
    if not name:
        yield None
        return
    with ExitStack() as opened:
        try:
            # A model that is named now and missing is no reason to learn without it.
            model = opened.enter_context(ctx.language_model(name, settings, start=bool(chosen)))
        except (Mistake, ModelOutage) as error:
            hint = "; or learn without a model: --no-model"
            raise type(error)(error.message, code=error.code, hint=f"{error.hint}{hint}") from error
        yield model


def _config_for(ctx: CommandContext, *projects: Path) -> Config:
    """Return the settings of a project, or the person's own, which apply until a project's file tightens them."""
    return load_config(projects, file=ctx.environment.config_file, home=ctx.environment.person_home)[0]


def _learn_paths(
    ctx: CommandContext, paths: tuple[Path, ...], *, trust_outcomes: bool, model: LanguageModel | None
) -> None:
    problems: list[InvalidTrajectory] = []
    parts: list[Captured] = []
    memory = ctx.memory
    done = count(1)
    with progress_bar(ctx, "reading") as advance:
        for path in paths:
            found = _counted(read(path, on_problem=problems.append), lambda: advance(next(done), 0))
            parts.append(memory.capture(found, trust_outcomes=trust_outcomes))
    captured = combined(parts)
    if not problems and captured == Captured():
        problems += [problem for path in paths if (problem := passed_over(path))][:1]
    if not problems and captured == Captured():
        hint = "name a session's file, or a folder of them: a client's transcripts, traces, or ATIF documents"
        raise NotFound(f"no session in {', '.join(map(str, paths))}", code="no_sessions_found", hint=hint)
    _learn_and_report(ctx, captured, problems, model)
    if problems and captured == Captured():  # what was wrong with each file has been printed
        hint = "fix or convert the files listed above, or name others"
        ctx.end_with(Mistake("nothing could be read", code="nothing_readable", hint=hint))


def _counted(trajectories: Iterable[Trajectory], advance: Callable[[], None]) -> Iterator[Trajectory]:
    """The attempts as they are read, together: those of a session are assessed beside each other."""
    for each in trajectories:
        advance()
        yield each


def _learn_here(
    ctx: CommandContext,
    found: list[Transcript],
    *,
    clients: Sequence[str],
    since: datetime | None,
    model: LanguageModel | None,
) -> None:
    own = [each for each in found if project_of(each) == ctx.place.project]
    others = len(found) - len(own)
    own = _with_projects_own(ctx, ctx.place.project, own, clients=clients, since=since)
    ctx.has_sessions = bool(own)
    home = home_database(ctx.place.with_home(ctx.environment.person_home))
    # Without sessions this project may still take over skills from the person's own store.
    ctx.may_create = bool(own) or (ctx.place.is_project and home is not None and home.exists())
    done = count(1)
    with progress_bar(ctx, "reading") as advance:
        captured, problems, unchanged = _take_in(ctx.memory, own, lambda: advance(next(done), len(own)))
    again = f", {unchanged} unchanged since last time" if unchanged else ""
    lines = [f"Found {counted(len(own), 'session')} of this project{again}."]
    if not own:
        names = " or ".join(_CLIENT_NAMES.get(client, client) for client in clients) if len(clients) < 3 else "agent"
        lines = [
            f"No {names} sessions found for {safe(str(ctx.place.project))}.",
            "Next: name files or folders of sessions (tacit learn PATH).",
        ]
    if others:
        lines.append(f"{counted(others, 'session')} of other projects left out: tacit learn --all-projects")
    by_others = sum(bool(each.author) for each in own)
    if by_others:
        lines.append(f"{counted(by_others, 'session')} of other people, kept in git: what they typed is not your word.")
    by_author = {"of_other_people": by_others} if by_others else {}
    counts = {"transcripts": {"found": len(own), "unchanged": unchanged, "of_other_projects": others, **by_author}}
    _learn_and_report(ctx, captured, problems, model, lines=lines, counts=counts)


def _with_projects_own(
    ctx: CommandContext,
    project: Path | None,
    found: list[Transcript],
    *,
    clients: Sequence[str],
    since: datetime | None,
) -> list[Transcript]:
    """Add the sessions that lie in the project itself, save those of this person that lie on this machine too."""
    if project is None:
        return found
    known = {each.session_name for each in found}
    inside = project_transcripts(project, clients, home=ctx.environment.user_home, since=since, known=known)
    return sorted([*found, *inside], key=lambda each: (each.modified_ns, each.path, each.part))


def _learn_and_report(
    ctx: CommandContext,
    captured: Captured,
    problems: Sequence[InvalidTrajectory],
    model: LanguageModel | None,
    *,
    lines: Sequence[str] = (),
    counts: Mapping[str, Any] | None = None,
) -> None:
    """Learn from what was captured, edits in exported folders first, and report it; `lines` and `counts` come before."""
    with progress_bar(ctx, "learning") as advance:
        learned = ctx.memory.learn(progress=advance, model=model, edited_by=ctx.environment.user or "edit")
    suggestions = 0
    if len(ctx.memory.skills()) <= QUICKLY_TENDED:
        with progress_bar(ctx, "looking") as advance:
            suggestions = len(ctx.memory.library.plan(progress=advance))

    def parts() -> Iterator[ReportPart]:
        yield from lines
        if counts is None or counts["transcripts"]["found"] or ctx.place.exists:
            yield from learned_parts(captured, learned, problems=problems, width=ctx.console.width)
            yield from settled_lines(ctx, (*learned.withdrawn, *learned.settled), suggestions)

    document = {**(counts or {}), **learn_document(captured, learned, problems), "suggestions": suggestions}
    ctx.report(document, parts)


def _learn_everywhere(
    ctx: CommandContext,
    found: list[Transcript],
    *,
    clients: Sequence[str],
    since: datetime | None,
    model: LanguageModel | None,
) -> None:
    """Learn for one project after the other, each into the store that `tacit` uses there."""
    projects: dict[Path, list[Transcript]] = {}
    without_project = 0
    for each in found:
        project = project_of(each)
        if project is None:
            without_project += 1
        else:
            projects.setdefault(project, []).append(each)
    for project, own in projects.items():
        projects[project] = _with_projects_own(ctx, project, own, clients=clients, since=since)
    done = count(1)
    with progress_bar(ctx, "reading") as advance:
        documents = [
            _learn_elsewhere(ctx, project, own, advance=lambda: advance(next(done), len(found)), model=model)
            for project, own in projects.items()
        ]
    counts = {"found": len(found), "without_project": without_project}
    ctx.report(
        {"transcripts": counts, "projects": documents},
        lambda: _project_parts(documents, without_project=without_project),
    )


def _learn_elsewhere(
    ctx: CommandContext,
    project: Path,
    own: list[Transcript],
    *,
    advance: Callable[[], None],
    model: LanguageModel | None,
) -> dict[str, Any]:
    document: dict[str, Any] = {"project": str(project), "sessions": len(own)}
    try:
        place = find_location(ctx.environment, store=ctx.store, start=project)
        place.require_project(has_sessions=True)
        config = _config_for(ctx, place.project)
        with open_at(place, config=config, home=ctx.environment.person_home) as memory:
            captured, problems, _ = _take_in(memory, own, advance)
            # All projects share one budget. Where a project's file tightens it, the model is not used.
            learned = memory.learn(model=model if config.model == _config_for(ctx).model else None)
    except TacitError as error:  # one project's store must not keep the others from learning
        return document | {"error": fields(error, "code", "message", "hint")}
    return document | learn_document(captured, learned, problems)


def _take_in(
    memory: Tacit, own: list[Transcript], advance: Callable[[], None]
) -> tuple[Captured, list[InvalidTrajectory], int]:
    """Return what was captured, what could not be read, and how many transcripts are unchanged."""
    taken: list[Captured | None] = []
    problems: list[InvalidTrajectory] = []
    for each in own:
        try:
            taken.append(capture_transcript(memory.context, each, on_problem=problems.append))
        except InvalidTrajectory as problem:
            problems.append(problem)
        advance()
    return combined(part for part in taken if part), problems, taken.count(None)


def moment(text: str, *, now: datetime | None = None) -> datetime:
    """Read a point in time: so many days, hours or minutes ago, or a date."""
    found = re.fullmatch(r"(\d{1,6})\s*([dhm])", text.strip())
    try:
        if found:
            unit = {"d": "days", "h": "hours", "m": "minutes"}[found[2]]
            return (now or datetime.now(UTC)) - timedelta(**{unit: int(found[1])})
        day = datetime.fromisoformat(text.strip())
        return day.astimezone(UTC)  # a date without a zone is a local date
    except (ValueError, OverflowError):
        hint = "write 7d, 12h, 30m or 2026-01-31"
        raise Mistake(f"--since {text!r} is not a point in time", code="not_a_time", hint=hint) from None


# --- the report -----------------------------------------------------------------------------------------------------


def _waiting(found: dict[str, Any]) -> int:
    return len(found["held"]) + len(found["quarantined"])


VERDICTS: Columns[Verdict] = Columns(
    Column("name", lambda verdict: verdict.name),
    Column("decision", lambda verdict: verdict.decision),
    Column("relation", lambda verdict: verdict.relation),
    Column("version_id", lambda verdict: None if verdict.relation is Relation.NONE else verdict.version_id),
    Column("skill_id", lambda verdict: None if verdict.relation is Relation.NONE else verdict.skill_id),
    Column("trajectory_ids", lambda verdict: verdict.trajectory_ids),
    Column("reasons", lambda verdict: [fields(each, "rule", "severity", "message") for each in verdict.findings]),
)
_PROJECTS: Columns[dict[str, Any]] = Columns(
    Column("", lambda found: found["project"], "project"),
    Column("", lambda found: found["sessions"], "sessions"),
    Column(
        "",
        lambda found: None,
        "new attempts",
        lambda found: (
            f"[red]{safe(found['error']['message'])}[/red]" if "error" in found else str(found["captured"]["added"])
        ),
    ),
    Column("", lambda found: "" if "error" in found else _waiting(found) + len(found["accepted"]), "learned"),
    Column("", lambda found: "" if "error" in found else _waiting(found), "waiting"),
)


def learn_document(
    captured: Captured, learned: LearningReport, problems: Sequence[InvalidTrajectory]
) -> dict[str, Any]:
    """Return what a pass of learning did, for programs."""
    return {
        "captured": {
            "added": len(captured.added),
            "known": captured.known,
            "confirmed": captured.vouched,
            **fields(captured, "not_vouched", "excluded", "purged", "redacted"),
        },
        "learned_from": learned.trajectories,
        **{
            decision: VERDICTS.documents(getattr(learned, decision))
            for decision in ("accepted", "held", "quarantined", "rejected", "reinforced")
        },
        "model": _model_document(learned.model) if learned.model else None,
        **{
            name: [
                {**fields(each, "version_id", "before", "after"), "reason": stored_reason(each.reason)}
                for each in moves
            ]
            for name, moves in (("withdrawn", learned.withdrawn), ("settled", learned.settled))
        },
        "problems": [fields(problem, "code", "message", "hint") for problem in problems],
    }


def _model_document(model: ReadingReport) -> dict[str, Any]:
    return {
        **fields(model, "name", "sessions", "waiting", "proposed"),
        "refused": dict(Counter(each.reason for each in model.refused)),
        "dropped": dict(Counter(each.reason for each in model.dropped)),
        "unused": [fields(each, "session", "title", "reason") for each in (*model.refused, *model.dropped)],
        "items": model.items,
        **fields(model.spent, "calls", "input_tokens", "output_tokens", "tokens"),
        "usd": round(model.spent.usd, 6),
        "stopped": model.stopped,
        "problems": list(model.problems),
    }


def learned_parts(
    captured: Captured, learned: LearningReport, *, problems: Sequence[InvalidTrajectory] = (), width: int = 80
) -> Iterator[ReportPart]:
    """Yield what a pass of learning did: what was read, what waits for review, and why the rest was held."""
    read = [f"Read {counted(len(captured.added), 'new trajectory', plural='new trajectories')}"]
    if captured.known:
        confirmed = f" ({captured.vouched} with outcomes trusted only now)" if captured.vouched else ""
        read.append(f"{captured.known} already known{confirmed}")
    if captured.excluded:
        read.append(f"{captured.excluded} excluded")
    if captured.purged:
        read.append(f"{captured.purged} purged before")
    if secrets := sum(captured.redacted.values()):
        read.append(f"[yellow]{counted(secrets, 'secret')} redacted[/yellow]")
    yield ", ".join(read) + "."
    if captured.not_vouched:
        claims = f"{counted(captured.not_vouched, 'document')} with an outcome of its own source: if you trust it,"
        yield f"{claims} run the same with --trust-outcomes."
    hints = set[str]()
    for problem in problems[:SHOWN_NOTES]:
        yield f"[red]not read[/red] {safe(problem.message)}"
        if problem.hint not in hints:
            yield f"         {safe(problem.hint)}"
        hints.add(problem.hint)
    if len(problems) > SHOWN_NOTES:
        yield f"         and {len(problems) - SHOWN_NOTES} more (--json lists all)"
    yield from _verdict_lines(learned)
    if learned.model:
        yield from _model_lines(learned.model, width)
    if learned.held or learned.quarantined:
        yield "\nNext: run [bold]tacit review[/bold] to approve or reject what was learned."
    if found_little(learned):
        yield "\nCounting found little. A language model finds more: [bold]tacit learn --model claude-code[/bold] (or codex)."


def found_little(learned: LearningReport) -> bool:
    """Whether counting over several sessions gave hardly anything, and no model has read them."""
    kept = {verdict.skill_id for verdict in learned.verdicts if verdict.skill_id}
    return learned.model is None and learned.trajectories >= FEW_SESSIONS and len(kept) < FEW_SKILLS


def _verdict_lines(learned: LearningReport) -> Iterator[str]:
    kept = {verdict.skill_id: verdict for verdict in (*learned.accepted, *learned.held, *learned.quarantined)}
    if kept:
        yield "\n[bold]Learned[/bold]"
    for verdict in list(kept.values())[:SHOWN_SKILLS]:
        style = _DECISION_STYLE[verdict.decision]
        yield f"  [bold]{safe(verdict.name)}[/bold]  [{style}]{DECISION_TEXT[verdict.decision]}[/{style}]"
        # Findings about one line are left to the review.
        shown = [f for f in verdict.findings if not (f.line and f.severity is Severity.LOW)]
        weighty = [f for f in shown if f.severity is not Severity.INFO] or shown
        main = "; ".join(dict.fromkeys(clean(finding.message) for finding in weighty[:2]))
        yield f"    [dim]{escape(main or 'no findings')}[/dim]"
    if len(kept) > SHOWN_SKILLS:
        yield f"  and {len(kept) - SHOWN_SKILLS} more (tacit review, or --json)"
    if learned.reinforced:
        names = Counter(clean(verdict.name) for verdict in learned.reinforced)
        listed = ", ".join(f"{escape(name)} ×{times}" for name, times in names.most_common(5))
        yield f"Seen again: {listed}" + (" …" if len(names) > 5 else "")
    if learned.rejected:
        reasons = Counter(verdict.reasons[0] if verdict.reasons else "unknown" for verdict in learned.rejected)
        listed = ", ".join(f"{escape(reason.replace('_', ' '))} ×{times}" for reason, times in reasons.most_common(6))
        yield f"Not made into procedures: {listed}"


def _model_lines(model: ReadingReport, width: int) -> Iterator[str]:
    """Yield what the language model read, what came of it, what it cost, and what went wrong."""
    read = f"read {counted(model.sessions, 'session')}"
    if model.waiting:
        read += f" ({model.waiting} wait for another time)"
    unused = (*model.refused, *model.dropped)
    money = f", {model.spent.usd:.4f} US dollars" if model.spent.usd else ""
    cost = f"{counted(model.spent.calls, 'call')}, {model.spent.tokens:,} tokens{money}"
    yield f"\nThe model {safe(model.name)} {read}: {counted(model.items, 'item')} for review; {cost}."
    if unused:
        reasons = Counter(each.reason.replace("_", " ") for each in unused).most_common()
        listed = ", ".join(f"{reason} ×{times}" for reason, times in reasons)
        yield f"  [dim]not used of {counted(model.proposed, 'proposal')}: {escape(listed)}[/dim]"
    for each in unused[:SHOWN_NOTES]:
        named = f"{each.title or 'answer'} ({each.reason.replace('_', ' ')}; session {each.session})"
        yield f"  [dim]• {escape(one_line(clean(named), 3 * width))}[/dim]"
    if len(unused) > SHOWN_NOTES:
        yield f"  [dim]and {len(unused) - SHOWN_NOTES} more (--json lists all)[/dim]"
    for problem in model.problems[:SHOWN_NOTES]:
        yield f"  [yellow]{escape(one_line(problem, 3 * width))}[/yellow]"
    if len(model.problems) > SHOWN_NOTES:
        yield f"  [dim]and {len(model.problems) - SHOWN_NOTES} more (--json lists all)[/dim]"


def _project_parts(projects: Sequence[dict[str, Any]], *, without_project: int) -> Iterator[ReportPart]:
    """Yield what was learned in each project."""
    if projects:
        yield _PROJECTS.table(projects)
    else:
        yield "No sessions found for any project on this machine."
    models = [found["model"] for found in projects if found.get("model")]
    if models:
        sessions, items, calls, tokens = (
            sum(part[key] for part in models) for key in ("sessions", "items", "calls", "tokens")
        )
        read = f"{counted(sessions, 'session')}: {counted(items, 'item')}"
        yield f"\nThe model read {read} for review; {counted(calls, 'call')}, {tokens:,} tokens."
    if any(found.get("held") or found.get("quarantined") for found in projects):
        yield "\nNext: run [bold]tacit review[/bold] inside a project."
    if without_project:
        sessions = counted(without_project, "session")
        yield f"[dim]{sessions} of folders that no longer exist (tacit learn PATH reads them)[/dim]"
