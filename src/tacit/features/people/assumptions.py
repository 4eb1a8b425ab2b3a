"""How assumptions and moments are named and put in order: plain values → entries whose keys follow from what they say. Pure.

The same statement in the same session has one key, so that saying, folding or settling it again adds nothing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from tacit.domain.candidate import Candidate, Decision, Verdict
from tacit.domain.errors import Mistake, TacitError
from tacit.domain.identity import content_id
from tacit.domain.moment import Aspect, Assumption, Held, Moment, Phase
from tacit.domain.origin import Origin
from tacit.domain.ports import Episode, Store
from tacit.domain.skill import Condition
from tacit.domain.trajectory import StepResult, Trajectory
from tacit.evidence.assumptions import Settled, compare
from tacit.learn.actions import actions_of
from tacit.learn.correction import corrections_of, objections_of
from tacit.learn.mismatch import Mismatch, mismatch
from tacit.render.conditions import read_condition
from tacit.text import own
from tacit.text.redaction import redact
from tacit.text.shell import parse_command, shell_text

BY = "tacit.moments"
"""Who writes what is found by comparing."""
CONNECTION = "mcp-"
"""Begins the session of what was said over MCP, where no client tells its own."""
TEXT_MAX = 500
CHECK_MAX = 500


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who states or says something, and as whose word it is kept."""

    name: str
    origin: Origin = Origin.AGENT


AN_AGENT = Speaker("agent")


def assumption_key(session: str, text: str, aspect: Aspect, *, task: str = "") -> str:
    """The name of an assumption: what is said, about what, and in which session or, without one, for which task."""
    return content_id("a", [session or task, " ".join(text.split()).casefold(), str(aspect)])


def moment_key(*parts: str) -> str:
    """The name of a moment by what it is made of."""
    return content_id("m", list(parts))


def clean_text(text: str) -> str:
    """A statement without secrets, on one line."""
    return " ".join(redact(text).text.split())


def check_stated(text: str, check: str, aspect: Aspect | str) -> Aspect:
    """The aspect, or an error that tells everything that is wrong with a statement."""
    problems: list[str] = []
    if not text.strip():
        problems.append("it says nothing")
    if len(text) > TEXT_MAX:
        problems.append(f"it has {len(text)} characters, and {TEXT_MAX} are the most")
    if len(check) > CHECK_MAX or "\n" in check:
        problems.append(f"its check is no single line of at most {CHECK_MAX} characters")
    if aspect not in set(Aspect):
        problems.append(f"there is no aspect {str(aspect)!r}: {', '.join(Aspect)}")
    if problems:
        raise Mistake(f"this assumption cannot be kept: {'; '.join(problems)}", hint="say one thing, in one sentence")
    return Aspect(aspect)


def last_of(entries: Iterable[Assumption]) -> dict[str, Assumption]:
    """Key → how each assumption stands, as it was last said."""
    return {entry.key: entry for entry in entries}


def stated_in(entries: Sequence[Assumption]) -> Assumption:
    """Of all versions of one assumption, the one in which it was last stated."""
    stated = [entry for entry in entries if entry.held is Held.OPEN]
    return (stated or list(entries))[-1]


SAME_MOMENT = timedelta(seconds=10)
NEAR = timedelta(minutes=5)
"""What a run shows that it stated was stated about then; anything else was only listed to it."""
MOST_CORRECTIONS = 12
"""Corrective moments that are kept of one run; a run with more tells nothing new with them."""
_KEY = re.compile(r"\ba_[0-9a-f]{8,64}\b")
_TEXT_MAX = 300

Admit = Callable[[Candidate], Verdict]


def settle(store: Store, trajectory: Trajectory, admit: Admit, *, at: datetime) -> list[Verdict]:
    """Compare, keep, and propose what differed; returns what the gate said. Belongs into a transaction."""
    verdicts: list[Verdict] = []
    told: list[Assumption] = []
    for versions in _of_run(store, trajectory):
        settled = _settled(store, versions, trajectory, at=at)
        if settled is None:
            continue
        kept, found = settled
        candidate = mismatch(kept, found, trajectory) if found is not None and not kept.lesson else None
        if candidate is not None:
            verdict = admit(candidate)
            verdicts.append(verdict)
            kept = _with_lesson(kept, verdict)
        store.add_entry(kept)
        told.append(kept)
    _note_corrections(store, trajectory, at=at)
    _note_end(store, trajectory, told, at=at)
    return verdicts


def _of_run(store: Store, trajectory: Trajectory) -> Iterator[list[Assumption]]:
    """The assumptions that a run can tell something of, each with all its versions, oldest first."""
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
    """Keys that Tacit's own tools and commands told this run, and when."""
    for step in trajectory.steps:
        if step.is_action and _calls_tacit(step.tool, shell_text(step.arguments)):
            yield from ((key, step.at) for key in _KEY.findall(step.observation))


def _resolved(store: Store, told: Mapping[str, datetime | None]) -> Iterator[tuple[str, datetime | None]]:
    """The assumptions that keys name, each whole or by the one that it begins, as tables for people show them."""
    known = {entry.key for entry in store.entries(Assumption)} if told else set()
    for key, at in told.items():
        found = [key] if key in known else [each for each in known if each.startswith(key)]
        if len(found) == 1:
            yield found[0], at


def _is_stated(stated: Assumption, told_at: datetime | None) -> bool:
    """Whether a run that was told a key stated it itself: no session was named for it, and it is of that very time."""
    nobodys = not stated.session_id or stated.session_id.startswith(CONNECTION)
    return nobodys and told_at is not None and abs(stated.at - told_at) <= NEAR


def _calls_tacit(tool: str, command: str) -> bool:
    return tool.casefold().startswith(own.TOOLS) or any(one.program == "tacit" for one in parse_command(command))


def _is_due(store: Store, last: Assumption, trajectory: Trajectory) -> bool:
    """Whether there is something to compare: nobody compared it, or only with a shorter capture, or nothing was shown then."""
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
    """Whether an assumption of the session was stated for this run, and not for the one before or after it."""
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
    """The next version of an assumption and, where it was wrong, the difference; nothing where nothing is new."""
    stated, last = stated_in(versions), versions[-1]
    found = compare(stated, trajectory, condition=_condition(store, stated))
    on_word = last.settled_by != BY and last.held in (Held.HELD, Held.WRONG)
    if found.held is Held.UNKNOWN and on_word:
        if last.held is Held.HELD or last.lesson:
            return None
        kept = _next(last, trajectory, at=at, held=last.held, reason=last.reason or "somebody said so at a checkpoint")
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


def _difference(found: Settled) -> Mismatch | None:
    if found.held is not Held.WRONG:
        return None
    return Mismatch(instead=found.instead, quote=found.quote, spans=found.spans, by=Origin.OPERATOR)


def _next(last: Assumption, trajectory: Trajectory, *, at: datetime, **told: object) -> Assumption:
    """The next version of an assumption, on this run's showing."""
    sources = tuple(dict.fromkeys((trajectory.id, *([last.version_id] if last.version_id else []))))
    session_id = trajectory.session_id or last.session_id
    changed = {"at": at, "settled_by": BY, "session_id": session_id, "sources": sources, "id": ""}
    return dataclasses.replace(last, **changed, **told)  # type: ignore[arg-type]


def _with_lesson(kept: Assumption, verdict: Verdict) -> Assumption:
    if not verdict.version_id:
        return kept
    return dataclasses.replace(kept, lesson=verdict.version_id, sources=(*kept.sources, verdict.version_id), id="")


def _condition(store: Store, stated: Assumption) -> Condition | None:
    """The assumption in a form that a tool's answer can show: the skill's own, or what its sentence says."""
    if stated.version_id:
        with suppress(TacitError):
            held = store.version(stated.version_id).version.content.preconditions
            return next((each for each in held if each.text == stated.text), None)
    found = read_condition(stated.text)
    return found if found.relation else None


def _note_end(store: Store, trajectory: Trajectory, told: Sequence[Assumption], *, at: datetime) -> None:
    """Keep that the run was looked back at, once, if it had something to look back at."""
    key = moment_key("ended", trajectory.id)
    if not told or store.entries(Moment, key=key):
        return
    counts = {held: sum(each.held is held for each in told) for held in (Held.HELD, Held.WRONG, Held.UNKNOWN)}
    lessons = [each.lesson for each in told if each.lesson]
    store.add_entry(
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
            assumptions=tuple(each.key for each in told),
        )
    )


def _note_corrections(store: Store, trajectory: Trajectory, *, at: datetime) -> None:
    """Keep what a person or the gate said no to, unless a hook's journal told of it already."""
    noted = store.entries(Moment, session_id=trajectory.session_id) if trajectory.session_id else []
    entries_of_journal = {each.what for each in noted if each.phase is Phase.CORRECTIVE and trajectory.id not in each.sources}
    for what, text, origin, when in [*_objected(trajectory), *_turned_down(store, trajectory)][:MOST_CORRECTIONS]:
        key = moment_key(what, trajectory.session_id or trajectory.id, text)
        if what in entries_of_journal - {"gate"} or store.entries(Moment, key=key):
            continue
        store.add_entry(
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


_Said = tuple[str, str, Origin, datetime | None]


def _objected(trajectory: Trajectory) -> Iterator[_Said]:
    actions = actions_of(trajectory)
    said = {*objections_of(trajectory, actions), *(each.message.index for each in corrections_of(trajectory, actions))}
    by = Origin.AGENT if trajectory.parent_session_id else Origin.USER
    for step in trajectory.steps:
        if step.index in said:
            yield "correction", " ".join(step.text.split())[:_TEXT_MAX], by, step.at
        elif step.result is StepResult.DENIED:
            yield "denied", f"{step.tool} was refused", Origin.OPERATOR, step.at


def _turned_down(store: Store, trajectory: Trajectory) -> Iterator[_Said]:
    """Candidates of this run that the gate refused or set apart; that it gave none is no mismatch."""
    for verdict in store.verdicts(trajectory_id=trajectory.id):
        if verdict.content_hash and verdict.decision in (Decision.REJECT, Decision.QUARANTINE):
            why = verdict.findings[0].message if verdict.findings else ""
            yield "gate", f"{verdict.decision}: {verdict.name} ({why})"[:_TEXT_MAX], Origin.EXTERNAL, verdict.at
