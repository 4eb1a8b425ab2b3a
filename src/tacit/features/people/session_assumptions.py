"""Assumptions of a session: how they are stated, and how a run that is learned from settles them.

Keys follow from what a statement says, so that stating, importing or settling it again adds nothing. Settling happens in the
transaction in which a run is learned from. What the run shows outweighs what was said at a checkpoint; where the run shows
nothing, the word counts. Nothing is compared or proposed twice, except after a longer capture of the same attempt.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from tacit.domain.candidate import Candidate, GateDecision, Verdict
from tacit.domain.errors import Mistake, TacitError
from tacit.domain.identity import content_id
from tacit.domain.skill import Condition
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Origin, StepResult, Trajectory
from tacit.features.people.assumption_lessons import Mismatch, mismatch
from tacit.features.people.assumption_results import AssumptionResult, compare
from tacit.features.people.ledger_entries import Aspect, Assumption, Held, Moment, Phase
from tacit.learn.statements import objections_of
from tacit.render.conditions import read_condition
from tacit.store import Store
from tacit.text.redaction import redact
from tacit.text.shell import parse_command, shell_text
from tacit.text.text_sources import TACIT_TOOL_PREFIXES
from tacit.text.tool_calls import tool_calls

BY = "tacit.moments"
"""The author of what is found by comparing."""
CONNECTION = "mcp-"
"""Prefix of the session id of an MCP connection, where the client gives none."""
TEXT_MAX = 500
CHECK_MAX = 500


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who makes a statement, and with which origin it is stored."""

    name: str
    origin: Origin = Origin.AGENT


AN_AGENT = Speaker("agent")


def assumption_key(session: str, text: str, aspect: Aspect, *, task: str = "") -> str:
    """Return the key of an assumption: from its text, its aspect, and its session or, without one, its task."""
    return content_id("a", [session or task, " ".join(text.split()).casefold(), str(aspect)])


def moment_key(*parts: str) -> str:
    """Return the key of a moment."""
    return content_id("m", list(parts))


def clean_text(text: str) -> str:
    """Return a statement on one line, with secrets redacted."""
    return " ".join(redact(text).text.split())


def check_stated(text: str, check: str, aspect: Aspect | str) -> Aspect:
    """Return the aspect; raise `Mistake` with everything that is wrong with a statement."""
    problems: list[str] = []
    if not text.strip():
        problems.append("it is empty")
    if len(text) > TEXT_MAX:
        problems.append(f"it has {len(text)} characters; at most {TEXT_MAX} are allowed")
    if len(check) > CHECK_MAX or "\n" in check:
        problems.append(f"its check must be one line of at most {CHECK_MAX} characters")
    if aspect not in set(Aspect):
        problems.append(f"unknown aspect {str(aspect)!r}: use {', '.join(Aspect)}")
    if problems:
        message = f"this assumption cannot be stored: {'; '.join(problems)}"
        raise Mistake(message, code="invalid_assumption", hint="say one thing, in one sentence")
    return Aspect(aspect)


def last_of(entries: Iterable[Assumption]) -> dict[str, Assumption]:
    """Return the latest version of each assumption by key."""
    return {entry.key: entry for entry in entries}


def stated_in(entries: Sequence[Assumption]) -> Assumption:
    """Return, of all versions of one assumption, the one in which it was last stated."""
    stated = [entry for entry in entries if entry.held is Held.OPEN]
    return (stated or list(entries))[-1]


SAME_MOMENT = timedelta(seconds=10)
NEAR = timedelta(minutes=5)
"""An assumption that a run stated has about the time of that step; others were only listed to it."""
MOST_CORRECTIONS = 12
"""Corrective moments that are stored of one run."""
_KEY = re.compile(r"\ba_[0-9a-f]{8,64}\b")
_TEXT_MAX = 300

Admit = Callable[[Candidate], Verdict]


def settle(
    store: Store, trajectory: Trajectory, admit: Admit, *, verdicts: Sequence[Verdict], at: datetime
) -> list[Verdict]:
    """Settle the assumptions of a run; return the verdicts on lessons from wrong ones. Belongs into a transaction.

    `verdicts` are those on what the run itself taught.
    """
    admitted: list[Verdict] = []
    settled_now: list[Assumption] = []
    for versions in _of_run(store, trajectory):
        settled = _settled(store, versions, trajectory, at=at)
        if settled is None:
            continue
        kept, found = settled
        candidate = mismatch(kept, found, trajectory) if found is not None and not kept.lesson else None
        if candidate is not None:
            verdict = admit(candidate)
            admitted.append(verdict)
            kept = _with_lesson(kept, verdict)
        store.add(kept)
        settled_now.append(kept)
    _note_corrections(store, trajectory, [*verdicts, *admitted], at=at)
    _note_end(store, trajectory, settled_now, at=at)
    return admitted


def _of_run(store: Store, trajectory: Trajectory) -> Iterator[list[Assumption]]:
    """Yield the assumptions that a run can settle, each with all its versions, oldest first."""
    here = store.entries(Assumption, session_id=trajectory.session_id) if trajectory.session_id else []
    named = dict(_resolved(store, dict(_named_in(trajectory))))
    keys = dict.fromkeys([*(entry.key for entry in here), *named])
    others = [each for each in store.episodes() if each.session_id == trajectory.session_id] if keys else []
    for key in keys:
        versions = store.entries(Assumption, key=key)
        if versions and _is_due(store, versions[-1], trajectory):
            stated = stated_in(versions)
            if stated.session_id and stated.session_id == trajectory.session_id:
                is_own = _belongs(store, stated.at, trajectory, others)
            else:
                is_own = _is_stated(stated, named.get(key))
            if is_own:
                yield versions


def _named_in(trajectory: Trajectory) -> Iterator[tuple[str, datetime | None]]:
    """Yield the keys that Tacit's own tools and commands printed in this run, and when."""
    for step in trajectory.steps:
        if step.is_action and _calls_tacit(step.tool, shell_text(step.arguments)):
            yield from ((key, step.at) for key in _KEY.findall(step.observation))


def _resolved(store: Store, printed: Mapping[str, datetime | None]) -> Iterator[tuple[str, datetime | None]]:
    """Yield the full keys; tables for people print only the beginning of each."""
    known = {entry.key for entry in store.entries(Assumption)} if printed else set()
    for key, at in printed.items():
        found = [key] if key in known else [each for each in known if each.startswith(key)]
        if len(found) == 1:
            yield found[0], at


def _is_stated(stated: Assumption, printed_at: datetime | None) -> bool:
    """Return whether the run that saw a key stated it: it has no session, and the time fits."""
    has_no_session = not stated.session_id or stated.session_id.startswith(CONNECTION)
    return has_no_session and printed_at is not None and abs(stated.at - printed_at) <= NEAR


def _calls_tacit(tool: str, command: str) -> bool:
    return tool.casefold().startswith(TACIT_TOOL_PREFIXES) or any(
        one.program == "tacit" for one in parse_command(command)
    )


def _is_due(store: Store, last: Assumption, trajectory: Trajectory) -> bool:
    """Return whether a comparison may find something new: none was made, or of a shorter capture, or without result."""
    if last.settled_by != BY:
        return True
    if trajectory.id in last.sources:
        return False
    if last.held is Held.UNKNOWN:
        return True
    for source in last.sources:
        with suppress(TacitError):
            if source.startswith("t_") and store.episode(source).superseded:
                return True
    return False


def _belongs(store: Store, stated_at: datetime, trajectory: Trajectory, others: Sequence[Episode]) -> bool:
    """Return whether an assumption of the session was stated for this run, not for the one before or after it."""
    started, ended = trajectory.started_at, trajectory.ended_at
    if started is None or ended is None:
        return True
    if stated_at + SAME_MOMENT >= started:
        return stated_at <= ended + SAME_MOMENT
    earlier = [
        each
        for each in others
        if each.id != trajectory.id and not each.superseded and each.started_at and each.started_at < started
    ]
    if any(each.started_at and each.started_at >= stated_at - SAME_MOMENT for each in earlier):
        return False
    for each in earlier[-1:]:
        with suppress(TacitError):
            ended = store.trajectory(each.id).ended_at
            return ended is None or ended + SAME_MOMENT < stated_at
    return True


def _settled(
    store: Store, versions: Sequence[Assumption], trajectory: Trajectory, *, at: datetime
) -> tuple[Assumption, Mismatch | None] | None:
    """Return the next version of an assumption and, if it was wrong, the difference; None where nothing is new."""
    stated, last = stated_in(versions), versions[-1]
    found = compare(stated, trajectory, condition=_condition(store, stated))
    is_by_word = last.settled_by != BY and last.held in (Held.HELD, Held.WRONG)
    if found.held is Held.UNKNOWN and is_by_word:
        if last.held is Held.HELD or last.lesson:
            return None
        kept = _next(last, trajectory, at=at, held=last.held, reason=last.reason or "said at a checkpoint")
        return kept, Mismatch(instead=last.instead, by=last.origin)
    if found.held is last.held and found.reason == last.reason:
        return None
    kept = _next(
        last,
        trajectory,
        at=at,
        held=found.held,
        reason=found.reason,
        instead=found.instead,
        steps=tuple(dict.fromkeys(span.step for span in found.spans if span.step >= 0)),
    )
    return kept, _difference(found)


def _difference(found: AssumptionResult) -> Mismatch | None:
    if found.held is not Held.WRONG:
        return None
    return Mismatch(instead=found.instead, quote=found.quote, spans=found.spans, by=Origin.OPERATOR)


def _next(last: Assumption, trajectory: Trajectory, *, at: datetime, **outcome: object) -> Assumption:
    """Return the next version of an assumption with the outcome of this run."""
    sources = tuple(dict.fromkeys((trajectory.id, *([last.version_id] if last.version_id else []))))
    session_id = trajectory.session_id or last.session_id
    changed = {"at": at, "settled_by": BY, "session_id": session_id, "sources": sources, "id": ""}
    return dataclasses.replace(last, **changed, **outcome)  # type: ignore[arg-type]


def _with_lesson(kept: Assumption, verdict: Verdict) -> Assumption:
    if not verdict.version_id:
        return kept
    return dataclasses.replace(kept, lesson=verdict.version_id, sources=(*kept.sources, verdict.version_id), id="")


def _condition(store: Store, stated: Assumption) -> Condition | None:
    """Return the condition to look for in tool output: the skill's own, or one parsed from the sentence."""
    if stated.version_id:
        with suppress(TacitError):
            held = store.version(stated.version_id).version.content.preconditions
            return next((each for each in held if each.text == stated.text), None)
    found = read_condition(stated.text)
    return found if found.relation else None


def _note_end(store: Store, trajectory: Trajectory, settled: Sequence[Assumption], *, at: datetime) -> None:
    """Store a retrospective moment of the run, once, if any assumption was settled."""
    key = moment_key("ended", trajectory.id)
    if not settled or store.entries(Moment, key=key):
        return
    counts = {held: sum(each.held is held for each in settled) for held in (Held.HELD, Held.WRONG, Held.UNKNOWN)}
    lessons = [each.lesson for each in settled if each.lesson]
    store.add(
        Moment(
            key=key,
            at=at,
            by=BY,
            session_id=trajectory.session_id,
            sources=(trajectory.id, *dict.fromkeys(lessons)),
            phase=Phase.RETROSPECTIVE,
            what="ended",
            text=", ".join(f"{number} {held}" for held, number in counts.items() if number),
            task=trajectory.task.text[:_TEXT_MAX],
            assumptions=tuple(each.key for each in settled),
        )
    )


def _note_corrections(store: Store, trajectory: Trajectory, verdicts: Sequence[Verdict], *, at: datetime) -> None:
    """Store what a person or the gate refused, unless a hook journal has it already."""
    noted = store.entries(Moment, session_id=trajectory.session_id) if trajectory.session_id else []
    from_journal = {each.what for each in noted if each.phase is Phase.CORRECTIVE and trajectory.id not in each.sources}
    for what, text, origin, when in [*_objections(trajectory), *_rejected(verdicts)][:MOST_CORRECTIONS]:
        key = moment_key(what, trajectory.session_id or trajectory.id, text)
        if what in from_journal - {"gate"} or store.entries(Moment, key=key):
            continue
        store.add(
            Moment(
                key=key,
                at=when or at,
                by=BY,
                session_id=trajectory.session_id,
                sources=(trajectory.id,),
                phase=Phase.CORRECTIVE,
                what=what,
                text=text,
                task=trajectory.task.text[:_TEXT_MAX],
                origin=origin,
            )
        )


_Refusal = tuple[str, str, Origin, datetime | None]
"""What happened, the text, its origin and the time."""


def _objections(trajectory: Trajectory) -> Iterator[_Refusal]:
    objections = objections_of(trajectory, tool_calls(trajectory))
    by = trajectory.task_origin
    for step in trajectory.steps:
        if step.index in objections:
            yield "correction", " ".join(step.text.split())[:_TEXT_MAX], by, step.at
        elif step.result is StepResult.DENIED:
            yield "denied", f"{step.tool} was refused", Origin.OPERATOR, step.at


def _rejected(verdicts: Iterable[Verdict]) -> Iterator[_Refusal]:
    """Yield the candidates that the gate rejected or quarantined, the newest first."""
    for verdict in reversed(list(verdicts)):
        if verdict.content_hash and verdict.decision in (GateDecision.REJECT, GateDecision.QUARANTINE):
            why = verdict.findings[0].message if verdict.findings else ""
            yield "gate", f"{verdict.decision}: {verdict.name} ({why})"[:_TEXT_MAX], Origin.EXTERNAL, verdict.at
