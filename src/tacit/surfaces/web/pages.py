"""What each page of `tacit web` shows, as documents for programs: the reports of the commands, one page of them at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

from tacit.config.signers import unlocked_key
from tacit.config.signing_key import has_key
from tacit.domain.care import CareKind
from tacit.domain.errors import Mistake, NotFound, TacitError
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status
from tacit.domain.reach import CARD
from tacit.domain.skill import Kind, SkillVersion
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Span, Step, Trajectory
from tacit.evidence.reliability import reliability_over_time
from tacit.evidence.statistics import wilson
from tacit.gate.quarantine import is_withheld
from tacit.gate.review_sources import OutsideSource, folded_away, support_of, text_of_source
from tacit.learn.attempt_outlines import call_records
from tacit.learn.fixes import SourcedCall, retries_of
from tacit.maintain import session_log
from tacit.maintain.archive import matching_skills, newest_skills
from tacit.maintain.reason_text import stored_reason
from tacit.maintain.session_log import Activity, SessionEvent
from tacit.surfaces.authority import Caller
from tacit.surfaces.cli.context import CommandContext
from tacit.surfaces.cli.log import OBJECTIONS, moment_text, reason_text, session_document, why_text
from tacit.surfaces.cli.recall import selection_document, weighed
from tacit.surfaces.cli.report import fields
from tacit.surfaces.cli.review import REVIEW_SECONDS
from tacit.surfaces.cli.review_page import DOUBTS, confirmation, field_name, moment, page_document
from tacit.surfaces.cli.skills import EVENTS, skill_document, whole_skill_document
from tacit.surfaces.cli.stats import record_document
from tacit.surfaces.cli.tend import can_be_applied, care_document
from tacit.surfaces.cli.views import difference, known_reliability, maker
from tacit.surfaces.hook import waiting
from tacit.surfaces.hook.preview import preview
from tacit.text.field_texts import field_texts
from tacit.text.shell import shell_text
from tacit.text.tool_calls import tool_calls

PAGE = 25
"""Rows of a list."""
FOUND = 10
"""Rows of a search."""
DAYS = 14
WINDOW = 7
"""Days whose results make one point of the curve: of one day there are too few."""
MOST_USES = 200
"""Uses that *Today* looks at."""
_LISTED = 6
_STEPS = 200
_TEXT = 6_000
"""Characters that are sent of one text of a session."""
_EVENTS = 100


@dataclass
class PageContext(CommandContext):
    """The state of one request. Nobody is at a terminal: who reads is a person once the passphrase was entered."""

    as_json: bool = True

    @property
    def caller(self) -> Caller:
        """Who is calling."""
        return Caller(environment=self.environment, at_terminal=False)

    def shown(self, reference: str) -> StoredVersion:
        """Return a version as the page may show it: quarantined text only once the passphrase was entered."""
        if unlocked_key() is None:
            return self.version(reference)
        return self.memory.version(reference)


def access_document(ctx: PageContext) -> dict[str, Any]:
    """Return whether decisions need a passphrase, and whose store this is."""
    home = ctx.environment.person_home
    return {
        "store": ctx.place.database,
        "project": ctx.place.project_name,
        "person": ctx.environment.user,
        "has_key": has_key(home),
        "needs_passphrase": not ctx.settings[0].policy.is_open,
        "paused": ctx.place.paused_until is not None,
    }


# --- today --------------------------------------------------------------------------------------------------------------


def today(ctx: PageContext) -> dict[str, Any]:
    """Return what was learned, what waits, what helped and what got worse."""
    context = ctx.memory.context
    now = context.now()
    asked = now - timedelta(days=DAYS + WINDOW)
    days, skills, since = session_log.results_by_day(context, since=asked, most=MOST_USES)
    waits, waiting_count = newest_skills(context, statuses=WAITING, limit=_LISTED)
    newest, _ = newest_skills(context, statuses=RECALLABLE, limit=_LISTED, counted=False)
    _, skill_count = newest_skills(context, limit=0)
    stale, _ = newest_skills(context, statuses={Status.STALE}, limit=_LISTED, counted=False)
    _, suggestions = waiting.read(str(ctx.place.folder))
    calendar = [now.date() - timedelta(days=number) for number in reversed(range(DAYS))]
    most = sorted(skills, key=lambda each: -max(skills[each].worked, skills[each].failed))
    helped = [each for each in most if skills[each].worked > skills[each].failed]
    worse = [each for each in most if 0 < skills[each].failed >= skills[each].worked]
    return {
        "waiting": {"count": waiting_count, "rows": [_row(each) for each in ctx.visible(waits)]},
        "learned": {
            "count": skill_count,
            "rows": [_row(each) for each in ctx.visible(newest) if each.status in RECALLABLE],
        },
        "days": [_day(day, days) for day in calendar if day >= since.date()],
        "helped": [_result_row(ctx, each, skills[each]) for each in helped[:_LISTED]],
        "worse": [_result_row(ctx, each, skills[each]) for each in worse[:_LISTED]],
        "stale": [_row(each) for each in ctx.visible(stale)],
        "suggestions": suggestions,
    }


_NOTHING = Activity(sessions=0, shown=0, followed=0, worked=0, failed=0)


def _day(day: date, days: Mapping[date, Activity]) -> dict[str, Any]:
    """Return what happened on a day, and how the results of the week up to it went."""
    week = [days.get(day - timedelta(days=number), _NOTHING) for number in range(WINDOW)]
    return {
        "day": str(day),
        **fields(week[0], "sessions", "shown", "followed"),
        **_share(sum(each.worked for each in week), sum(each.failed for each in week)),
    }


def _share(worked: int, failed: int) -> dict[str, Any]:
    """Return a share of successes with its interval; without results nothing is known."""
    if not worked + failed:
        return {"worked": 0, "failed": 0, "share": None, "low": None, "high": None}
    low, high = wilson(worked, worked + failed)
    share = worked / (worked + failed)
    return {"worked": worked, "failed": failed, "share": share, "low": round(low, 4), "high": round(high, 4)}


def _result_row(ctx: PageContext, version_id: str, found: Activity) -> dict[str, Any]:
    row = {"version_id": version_id, "shown": found.shown, **_share(found.worked, found.failed)}
    try:
        stored = ctx.version(version_id)
    except TacitError:
        return row | {"name": version_id[:10], "status": ""}  # purged, or another person's
    return row | {"name": stored.version.name, "status": stored.status}


def _row(stored: StoredVersion) -> dict[str, Any]:
    return skill_document(stored, Reliability())


# --- review -------------------------------------------------------------------------------------------------------------


def queue(ctx: PageContext, skip: int) -> dict[str, Any]:
    """Return one page of what waits, the newest first."""
    found, count = newest_skills(ctx.memory.context, statuses=WAITING, limit=PAGE, skip=skip)
    folds = folded_away(ctx.memory.context)
    rows = [_row(each) | {"folded": each.version.id in folds} for each in ctx.visible(found)]
    return {"count": count, "skip": skip, "rows": rows}


def state_of(ctx: PageContext, stored: StoredVersion) -> str:
    """Return what a decision rests on besides the content: the last change of status, and the newest version."""
    last = ctx.memory.archive.transitions(stored.version.id)[-1]
    newest = ctx.memory.archive.versions(stored.skill.id)[-1]
    return f"{last.id}:{newest.version.id}"


def candidate(ctx: PageContext, reference: str, *, seen: str = "") -> dict[str, Any]:
    """Return everything that a reviewer needs of one version, and what changed since they saw it in an earlier state."""
    stored = ctx.shown(reference)
    version, state = stored.version, state_of(ctx, stored)
    document = page_document(ctx, stored) | {"state": state, "made_by": maker(version.provenance)}
    document["changed"] = changed(ctx, stored, seen) if seen not in ("", state) else None
    if is_withheld(version.content):
        return document | {"withheld": True}
    support = support_of(ctx.memory.context, version)
    earlier = document["approved_before"] if not support.snippets else None
    snippets = (
        support_of(ctx.memory.context, ctx.shown(earlier["version_id"]).version).snippets
        if earlier
        else support.snippets
    )
    sources: Mapping[str, Sequence[OutsideSource]] = document["sources"]
    external = ctx.memory.reviews.examine(version.id).external_values
    return document | {
        "fields": list(_fields(version, sources)),
        "sessions": len(support.sessions),
        "when": moment(version.content),
        "doubts": [DOUBTS[doubt] for doubt in support.doubts],
        "snippets": [{**fields(each, "at", "who", "text", "failed"), **_place(ctx, each.span)} for each in snippets],
        "of_earlier": bool(earlier and snippets),
        "confirm": [{"key": each.key, "text": confirmation(each, version, sources)} for each in external],
    }


def _fields(version: SkillVersion, sources: Mapping[str, Sequence[OutsideSource]]) -> Iterator[dict[str, Any]]:
    """Yield every text of a version with who wrote it, and for text from outside where it is from."""
    for path, text in field_texts(version.content):
        origin, place = None, path
        while origin is None and place:
            origin, place = version.origins.get(place), place.rpartition(".")[0]
        yield {
            "path": path,
            "name": field_name(path, version.content),
            "text": text,
            "origin": origin or "unknown",
            "sources": [text_of_source(each) for each in sources.get(path, ())],
        }


def _place(ctx: PageContext, span: Span | None) -> dict[str, Any]:
    """Return where in which session a text is, to open it there."""
    if span is None:
        return {}
    session = session_log.session_of(ctx.memory.context, span.trajectory_id)
    return {"session": session, **fields(span, "trajectory_id", "step", "part")}


def _places(ctx: PageContext, version: SkillVersion) -> list[dict[str, Any]]:
    """Return the places in sessions that a version rests on, each with the fields that come from it, the latest first."""
    behind: dict[Span, list[str]] = {}
    for path, spans in version.provenance.grounding.items():
        for span in spans:
            behind.setdefault(span, []).append(field_name(path, version.content))
    latest = version.provenance.trajectory_ids[::-1]
    known = {identity: number for number, identity in enumerate(latest)}
    ordered = sorted(behind, key=lambda span: (known.get(span.trajectory_id, len(known)), span.step))
    return [_place(ctx, span) | {"fields": list(dict.fromkeys(behind[span]))} for span in ordered[:PAGE]]


def changed(ctx: PageContext, stored: StoredVersion, seen: str) -> dict[str, Any]:
    """Return what became of a version since somebody saw it in this state."""
    archive = ctx.memory.archive
    last, _, newest = seen.partition(":")
    moves = archive.transitions(stored.version.id)
    known = next((number for number, move in enumerate(moves, 1) if move.id == last), 0)
    later = archive.versions(stored.skill.id)[-1]
    document: dict[str, Any] = {
        "status": stored.status,
        "moves": [
            {**fields(move, "before", "after", "by", "at"), "why": stored_reason(move.reason)} for move in moves[known:]
        ],
    }
    if later.version.id != newest:
        shown = ctx.shown(later.version.id).version
        document["newer"] = {
            "version_id": shown.id,
            "by": maker(shown.provenance),
            "diff": "" if is_withheld(shown.content) else difference(stored.version.content, shown.content),
        }
    return document


def merges(ctx: PageContext, reference: str) -> dict[str, Any]:
    """Return the merges that maintenance suggests for one version, each with its place in the plan."""
    version_id = ctx.shown(reference).version.id
    planned = ctx.memory.library.plan(only=(CareKind.MERGE, CareKind.SUPERSEDED), seconds=REVIEW_SECONDS)
    found = [care_document(care) for care in planned if can_be_applied(care)]
    return {"merges": [each for each in found if version_id in (each["subject"], *each["parents"])]}


# --- skills -------------------------------------------------------------------------------------------------------------


def skills(ctx: PageContext, *, status: str, text: str, skip: int) -> dict[str, Any]:
    """Return one page of the skills, the newest first; with a text those that recall would look at for it."""
    try:
        statuses = {Status(status)} if status else None
    except ValueError:
        raise Mistake(f"there is no status {status!r}", code="unknown_status", hint=", ".join(Status)) from None
    archive = ctx.memory.archive
    if text.strip():
        found = matching_skills(ctx.memory.context, text, statuses=statuses, limit=FOUND)
        count = len(found)
    else:
        found, count = newest_skills(ctx.memory.context, statuses=statuses, limit=PAGE, skip=skip)
    known = archive.reliabilities([each.version.id for each in found])
    rows = [skill_document(each, known[each.version.id]) for each in ctx.visible(found)]
    return {"count": count, "skip": skip, "rows": rows}


def skill(ctx: PageContext, reference: str) -> dict[str, Any]:
    """Return one skill: its versions, reliability over time, uses, history, and where each field comes from."""
    stored = ctx.shown(reference)
    archive, version = ctx.memory.archive, stored.version
    document = whole_skill_document(ctx.memory, stored)
    events = [] if is_withheld(version.content) else EVENTS.documents(archive.life(version.id)[-_EVENTS:])
    results = {each.use_id: each for each in document["evidence"]}
    uses = [use for use in archive.uses(version_id=version.id, latest=PAGE) if not use.held_back]
    return document | {
        "changes": _changes(archive.versions(stored.skill.id)),
        "evidence": document["evidence"][-_EVENTS:],
        "record": record_document(archive.records([version.id])[0]),
        "curve": [
            {"at": at, **(known_reliability(known) or {})} for at, known in reliability_over_time(document["evidence"])
        ],
        "events": events,
        "uses": [
            {
                **fields(use, "id", "at", "session_id", "surface", "task"),
                "outcome": results[use.id].outcome if use.id in results else None,
                "following": results[use.id].following if use.id in results else None,
            }
            for use in reversed(uses)
        ],
        "made_by": maker(version.provenance),
        "places": _places(ctx, version),
    }


def _changes(versions: Sequence[StoredVersion]) -> dict[str, str]:
    """Return what the latest versions of a skill changed, by version; nothing of one that is withheld."""
    latest = [each.version for each in versions[-_LISTED:] if not is_withheld(each.version.content)]
    return {after.id: difference(before.content, after.content) for before, after in pairwise(latest)}


# --- sessions -----------------------------------------------------------------------------------------------------------


def sessions(ctx: PageContext, skip: int) -> dict[str, Any]:
    """Return one page of the latest sessions."""
    found = session_log.latest_sessions(ctx.memory.context, skip + PAGE + 1, among=4 * (skip + PAGE + 1))
    rows = []
    for session_id in found[skip : skip + PAGE]:
        attempts = session_log.attempts_of(ctx.memory.context, session_id)
        first = attempts[0] if attempts else None
        rows.append(
            {
                "session": session_id,
                "task": first.task[:400] if first else "",
                "client": first.client if first else "",
                "at": (first.started_at or first.captured_at) if first else None,
                "attempts": len(attempts),
                "outcomes": [each.assessment.outcome for each in attempts],
            }
        )
    return {"skip": skip, "more": len(found) > skip + PAGE, "rows": rows}


def session(ctx: PageContext, session_id: str, skip: int) -> dict[str, Any]:
    """Return a session as a timeline: its steps with failures and fixes, and what was shown and followed."""
    log = session_log.log_of(ctx.memory.context, session_id)
    document, steps, total = session_document(ctx, log), [], 0
    document["events"] = [_event(event) for event in log.events]
    for attempt in log.attempts:
        found = _steps(ctx, attempt)
        steps += found[max(0, skip - total) : max(0, skip + _STEPS - total)]
        total += len(found)
    return document | {"steps": steps, "skip": skip, "count": total}


def _event(event: SessionEvent) -> dict[str, Any]:
    """Return a moment of a session in words."""
    return {
        "at": event.at,
        "moment": moment_text(event),
        "shown": [
            {**fields(each, "version_id", "name", "following", "outcome"), "why": why_text(event, each)}
            for each in event.shown
        ],
        "not_shown": [{"name": each.name, "why": reason_text(each.code)} for each in event.not_shown[:_LISTED]],
        "silent": reason_text(event.silent) if event.silent else "",
        "objection": OBJECTIONS.get(event.objection, event.objection),
    }


def _steps(ctx: PageContext, attempt: Episode) -> list[dict[str, Any]]:
    try:
        trajectory = session_log.attempt(ctx.memory.context, attempt.id)
    except NotFound:
        return []  # its steps were pruned
    fixed = _fixed_failures(trajectory)
    fixes = {again: failed for failed, again in fixed.items()}
    return [
        {
            "attempt": attempt.id,
            **fields(step, "index", "at", "role", "tool", "result", "failed", "exit_code"),
            "text": step.text[:_TEXT],
            "call": _call(step)[:_TEXT],
            "observation": step.observation[:_TEXT],
            "fixed_by": fixed.get(step.index),
            "fixes": fixes.get(step.index),
        }
        for step in trajectory.steps
    ]


def _call(step: Step) -> str:
    if not step.arguments:
        return ""
    return shell_text(step.arguments) or json.dumps(dict(step.arguments), ensure_ascii=False, indent=1, default=str)


def _fixed_failures(trajectory: Trajectory) -> dict[int, int]:
    """Return the steps that failed, each with the later step that did the same and worked."""
    calls = [SourcedCall(trajectory.id, record) for record in call_records(trajectory, tool_calls(trajectory))]
    retries = retries_of(trajectory.session_id, calls)
    return {retry.failed.record.step: retry.again.record.step for retry in retries if retry.worked}


# --- facts and the playground -------------------------------------------------------------------------------------------


def facts(ctx: PageContext) -> dict[str, Any]:
    """Return the card of the project, and other facts that sessions show."""
    found, count = newest_skills(ctx.memory.context, kinds={Kind.FACT}, limit=PAGE)
    own = [each.version.id for each in found if each.version.name == CARD]
    card = candidate(ctx, own[0]) if own else None
    others = [_row(each) for each in ctx.visible(found) if each.version.name != CARD]
    return {"card": card, "others": others, "count": count}


def playground(ctx: PageContext, *, task: str, error: str, as_hook: bool) -> dict[str, Any]:
    """Return what would be shown for a task or an error, and why, and why not the rest. Stores nothing."""
    if not (task.strip() or error.strip()):
        raise Mistake("there is no task", code="empty_task", hint="type a task, or the output of a failed call")
    if as_hook:
        selection = preview(ctx.memory, task or error, store=ctx.store)
    else:
        state = {"error": error} if error.strip() else None
        selection = ctx.memory.recall(task or error, state=state, surface="web", keep=False)
    return {**selection_document(selection), "weighed": weighed(selection)[:_EVENTS]}
