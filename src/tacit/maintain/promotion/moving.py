"""Moving up: a version and a broader scope → a candidate of that scope through its door, or word that it is there already.

The content, its origins and its sources go along unchanged, and nothing is trusted more for having moved: what waits for
review waits there too, unless a person decides, on the exact text. The narrower one stays and shadows the broader.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from tacit import evidence as outcome
from tacit import gate
from tacit.domain.candidate import Candidate, Decision, Relation, Verdict
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store, Stored
from tacit.domain.remark import About, Remark, noted
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance, SkillContent
from tacit.gate.portability import SECRET, portability
from tacit.maintain.promotion.whence import Whence
from tacit.maintain.refinement.promotion import (
    Judge,
    Nominee,
    Passage,
    Same,
    Sighting,
    doubts,
    passages,
    record_told,
    recurring,
    ruled,
    sessions_of,
)
from tacit.store import queries as shelf

BY_ITSELF = "tacit.promotion"
"""Who moves something up when no person does."""
AT_HOME = frozenset({Level.ORGANISATION, Level.GLOBAL})
"""Levels that the person's own store keeps."""
PROMOTED, SEEN, NOMINATED = "promoted", "seen", "nominated"
"""Steps that remarks tell of: moved up, shown by one more project, or told of for the next meeting with home."""
_TURNED_DOWN = frozenset({Status.REJECTED, Status.RETIRED, Status.QUARANTINED})
_STAYING = {Kind.PREFERENCE: "a preference never leaves its person", Kind.REFERENCE: "a document is never promoted"}


class Memory(Protocol):
    """The side that something moves to: a store with its door, and the scope that everything coming in gets."""

    store: Store
    scope: Scope

    def admit(self, candidate: Candidate) -> Verdict:
        """Judge a candidate and keep what comes of it, at this side's scope."""

    def review(
        self,
        version_id: str,
        decision: gate.Review | str,
        *,
        by: str,
        reason: str = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Carry out a person's decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Who wants something moved up, from where, and what the gates go by."""

    by: str
    at: datetime
    whence: Whence
    same: Same
    person: bool = False
    """Whether a person decides; otherwise what moves waits for one."""
    ticked: Collection[str] | None = None
    """What a person has ticked of the text that moves, which approves it there; nothing: it waits there."""
    judges: Sequence[Judge] = ()
    content: SkillContent | None = None
    """The text that moves, where it was rewritten for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """What came of it."""

    name: str
    scope: Scope
    skill_id: str
    version_id: str
    status: Status
    relation: Relation
    """New there, there in other words that these renew, or already there and only reinforced."""
    passages: tuple[Passage, ...] = ()
    projects: tuple[str, ...] = ()
    """All that have shown it so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A version that could move up one rung, and what the gate says to that."""

    stored: Stored
    to: Level
    passage: Passage


def promote(here: Store, there: Memory, stored: Stored, ask: Ask) -> Promoted:
    """Move a version up to the other side's scope, if every gate on the way lets it through; raises `GateRefusal` if not."""
    known = already_there(there.store.catalogue(), ask.content or stored.version.content, there.scope, ask.same)
    gates = require_way(here, there.store, stored, ask, scope=there.scope, known=known)
    return replace(_moved(here, there, stored, ask, known=known), passages=gates)


def require_way(
    here: Store, home: Store | None, stored: Stored, ask: Ask, *, scope: Scope, known: Stored | None = None
) -> tuple[Passage, ...]:
    """The gates on the way to a scope, all of them open; raises `GateRefusal` with all that is missing."""
    _require_movable(stored, scope)
    projects = projects_of(home, known.skill.id) if home and known else ()
    nominee = nominee_of(here, stored, ask, to=scope.level, projects=projects)
    gates = passages(nominee, scope.level, person=ask.by if ask.person else "")
    _require_open(stored, gates)
    return gates


def nominate(here: Store, there: Memory, stored: Stored, ask: Ask) -> Promoted:
    """Put a version before the other side without a person: it waits there, and its project is noted for the gate."""
    content = ask.content or stored.version.content
    _require_movable(stored, there.scope)
    ties = [finding.message for finding in portability(content, ask.whence.local)]
    if content.kind in _STAYING or ties:
        why = ties[0] if ties else _STAYING[content.kind]
        raise GateRefusal(f"`{content.name}` cannot be nominated: {why}", hint="see `tacit promote`")
    known = already_there(there.store.catalogue(), content, there.scope, ask.same)
    return _moved(here, there, stored, replace(ask, person=False), known=known)


def _moved(here: Store, there: Memory, stored: Stored, ask: Ask, *, known: Stored | None) -> Promoted:
    """Bring it in, or note that it was seen again; where a person decides on the very text, it is approved too."""
    content, to = ask.content or stored.version.content, there.scope.level
    if to in AT_HOME and (secrets := _secrets(content)):
        raise GateRefusal(
            f"`{stored.version.name}` holds a secret: {secrets[0]}",
            hint="purge it, or give --rewrite to put a placeholder in its place",
        )
    renewed = known is not None and known.version.hash != content.hash() and _renews(here, known, stored, ask)
    with there.store.transaction():
        if known is None or renewed:
            made = candidate_of(stored, content, there.scope, by=ask.by)
            held = _brought_in(there, replace(made, revises=known.skill.id) if known else made)
        else:
            held = known
        _tell_record(here, there.store, stored, held.skill.id)
        step, record = (SEEN if known else PROMOTED), record_of(here, stored)
        there.store.add_remark(note(held.skill.id, stored.version.id, ask, step=step, to=to, **record))
        if ask.person and ask.ticked is not None and held.version.hash == content.hash():
            _approve(there, held, ask)
    here.add_remark(note(stored.skill.id, held.version.id, ask, step=PROMOTED, to=to))
    return Promoted(
        name=held.version.name,
        scope=held.skill.scope,
        skill_id=held.skill.id,
        version_id=held.version.id,
        status=there.store.version(held.version.id).status,
        relation=Relation.MERGE if renewed else Relation.REINFORCE if known else Relation.NEW,
        projects=tuple(sorted(projects_of(there.store, held.skill.id))),
    )


def prospects(here: Store, home: Store | None, ask: Ask) -> list[Prospect]:
    """What could move up one rung, narrow to broad and by name, with what the next gate has and still asks for."""
    found: list[Prospect] = []
    groups = recurrences(here, ask.same)
    broad = (home or here).catalogue()
    for stored in _standing(here):
        level = stored.skill.scope.level
        to = next((each for each in Level if each.breadth == level.breadth + 1), None)
        if to is None or (level is not Level.SESSION and stored.status not in RECALLABLE):
            continue
        if is_up(broad, stored, to):
            continue
        group = next((g for g in groups if any(s.version_id == stored.version.id for s in g)), ())
        if group and group[-1].version_id != stored.version.id:
            continue  # told once, by its newest wording
        known = already_there(broad, stored.version.content, Scope(to), ask.same) if to in AT_HOME else None
        projects = projects_of(home, known.skill.id) if home and known else ()
        nominee = nominee_of(here, stored, ask, to=to, projects=projects, groups=groups)
        found.append(Prospect(stored=stored, to=to, passage=passages(nominee, to)[0]))
    return sorted(found, key=lambda each: (each.to.breadth, not each.passage.open, each.stored.version.name))


def already_there(versions: Iterable[Stored], content: SkillContent, scope: Scope, same: Same) -> Stored | None:
    """What says the same at a scope already: the very text, or else the same learning; one that was turned down counts last."""
    there = [s for s in versions if s.skill.scope == scope and s.skill.kind is content.kind]
    exact = [held for held in there if held.version.hash == content.hash()]
    found = exact or [held for held in _newest(there) if same(content, held.version.content)]
    return max(found, key=lambda held: (held.status not in _TURNED_DOWN, held.sequence), default=None)


def is_up(versions: Iterable[Stored], stored: Stored, to: Level) -> bool:
    """Whether a version was taken as far as a level, or further, and may be recalled there: in its words, or in others."""
    return any(
        held.skill.scope.level.breadth >= to.breadth
        and held.status in RECALLABLE
        and (held.version.hash == stored.version.hash or stored.version.id in held.version.parents)
        for held in versions
    )


def projects_of(store: Store, skill_id: str) -> set[str]:
    """The projects that have shown a skill, as far as it was noted."""
    notes = map(noted, store.remarks(skill_id, about=About.PROMOTION))
    return {note["project"] for note in notes if note.get("project") and note.get("step") in (SEEN, PROMOTED)}


def recurrences(store: Store, same: Same) -> list[tuple[Sighting, ...]]:
    """What sessions have learned, grouped by meaning, with the sessions that each came from."""
    narrow = [s for s in _standing(store) if s.skill.scope.level is Level.SESSION]
    if not narrow:
        return []
    above = {e.session_id: e.parent_session_id for e in store.episodes() if e.session_id and e.parent_session_id}
    return recurring([_sighting(store, stored, above) for stored in narrow], same)


def nominee_of(
    here: Store,
    stored: Stored,
    ask: Ask,
    *,
    to: Level,
    projects: Collection[str] = (),
    groups: Sequence[Sequence[Sighting]] | None = None,
) -> Nominee:
    """All that the gates must know of a version; `projects` are those that have shown it beside this one."""
    content = ask.content or stored.version.content
    sessions: Collection[str] = ()
    if stored.skill.scope.level is Level.SESSION:
        groups = recurrences(here, ask.same) if groups is None else groups
        own = [g for g in groups if any(each.version_id == stored.version.id for each in g)]
        sessions = sessions_of(own[0]) if own else ()
    return Nominee(
        content=content,
        level=stored.skill.scope.level,
        sessions=sessions,
        projects={ask.whence.identity, *projects} - {""},
        contradicted=_contradicted(here, stored),
        local=[finding.message for finding in portability(content, ask.whence.local)],
        ruling=ruled(content, ask.judges) if to is Level.GLOBAL else None,
    )


def candidate_of(stored: Stored, content: SkillContent, scope: Scope, *, by: str) -> Candidate:
    """A version as a candidate of another scope: its origins and sources unchanged, itself as the parent."""
    version = stored.version
    return Candidate(
        content=content,
        scope=scope,
        origins=version.origins,
        provenance=version.provenance,
        parents=(version.id,),
        by=by,
    )


def note(subject: str, other: str, ask: Ask, *, step: str, to: Level, **record: str) -> Remark:
    """The remark that keeps a step of a promotion; `record` is how it had done where it came from (see `record_of`)."""
    said = {"step": step, "to": str(to), "project": ask.whence.identity, "name": ask.whence.project, **record}
    text = json.dumps({key: value for key, value in said.items() if value}, sort_keys=True)
    return Remark(subject=subject, about=About.PROMOTION, by=ask.by, at=ask.at, other=other, text=text)


def record_of(store: Store, stored: Stored) -> dict[str, str]:
    """How a version has done in a store, and what that says against it, in words; empty where too little was verified."""
    version_id = stored.version.id
    known = outcome.reliability(store.evidence([version_id])[version_id])
    return {"record": record_told(known), "doubt": "; ".join(doubts(known, store.transitions(version_id)))}


def _tell_record(here: Store, there: Store, stored: Stored, skill_id: str) -> None:
    """Tell how it did before it came here, so that a second step takes nothing away from its record."""
    for remark in here.remarks(stored.skill.id, about=About.PROMOTION):
        if noted(remark).keys() & {"record", "doubt"}:
            there.add_remark(replace(remark, subject=skill_id, id=""))


def _require_movable(stored: Stored, scope: Scope) -> None:
    name, level = stored.version.name, stored.skill.scope.level
    if scope.level.breadth <= level.breadth:
        raise Mistake(f"`{name}` is at {stored.skill.scope} already", hint="a skill moves to a broader scope only")
    if stored.status in _TURNED_DOWN or (scope.level in AT_HOME and stored.status not in RECALLABLE):
        raise GateRefusal(
            f"`{name}` is {stored.status}, and only what may be recalled moves on", hint="decide on it: tacit review"
        )


def _require_open(stored: Stored, gates: Iterable[Passage]) -> None:
    closed = [(gate_.to, missing) for gate_ in gates for missing in gate_.missing]
    if closed:
        listed = "; ".join(f"to {to}: {missing}" for to, missing in closed)
        raise GateRefusal(f"`{stored.version.name}` does not move up yet. Missing {listed}", hint="see `tacit promote`")


def _renews(here: Store, known: Stored, stored: Stored, ask: Ask) -> bool:
    """Whether these words take the place of what is there: a person rewrote them for it, or it came from this very skill."""
    own = {held.version.id for held in here.versions(stored.skill.id)}
    return ask.person and (ask.content is not None or not own.isdisjoint(known.version.parents))


def _brought_in(there: Memory, made: Candidate) -> Stored:
    content, verdict = made.content, there.admit(made)
    if verdict.decision is Decision.REJECT or not verdict.version_id:
        reasons = "; ".join(finding.message for finding in verdict.findings[:3])
        raise GateRefusal(
            f"`{content.name}` was turned away at {there.scope}: {reasons}", hint="mend it, then promote it"
        )
    held = there.store.version(verdict.version_id)
    if made.revises and held.version.hash != content.hash():
        raise GateRefusal(
            f"`{content.name}` is at {there.scope} in other words, and these were taken for the same",
            hint=f"edit it there: tacit skills edit {held.version.id[:10]} --store STORE",
        )
    return held


def _approve(there: Memory, held: Stored, ask: Ask) -> None:
    """A person's promotion is their approval of the exact text, with every tick that a review asks for."""
    now = there.store.version(held.version.id)
    if now.status in RECALLABLE:
        return
    if now.status in (Status.REJECTED, Status.RETIRED, Status.STALE):
        again = "--reopen" if now.status is Status.REJECTED else "--restore"
        raise GateRefusal(
            f"`{held.version.name}` was {now.status} at {there.scope}",
            hint=f"to decide again there: tacit review {held.version.id[:10]} {again} --store STORE",
        )
    there.review(
        held.version.id,
        gate.Review.APPROVE,
        by=ask.by,
        reason=f"promoted from {ask.whence.project or 'here'} by a person",
        content_hash=held.version.hash,
        ticked=ask.ticked or (),
    )


def _sighting(store: Store, stored: Stored, above: dict[str, str]) -> Sighting:
    sessions = {stored.skill.scope.key}
    for trajectory_id in stored.version.provenance.trajectory_ids:
        try:
            sessions.add(store.episode(trajectory_id).session_id)
        except NotFound:
            continue  # it came from another store, or is gone
    roots = frozenset(_root(session, above) for session in sessions if session)
    return Sighting(version_id=stored.version.id, content=stored.version.content, sessions=roots)


def _root(session: str, above: dict[str, str]) -> str:
    """The session that started it all: what a subagent did belongs to the session that sent it."""
    seen: set[str] = set()
    while session in above and session not in seen:
        seen.add(session)
        session = above[session]
    return session


def _standing(store: Store) -> list[Stored]:
    """Of each skill the version that speaks for it, unless it was turned down; oldest first."""
    return sorted(
        (stored for stored in shelf.current(store) if stored.status not in _TURNED_DOWN), key=lambda s: s.sequence
    )


def _newest(versions: Iterable[Stored]) -> list[Stored]:
    return list({stored.skill.id: stored for stored in sorted(versions, key=lambda s: s.sequence)}.values())


def _contradicted(store: Store, stored: Stored) -> str:
    subjects = (stored.version.id, stored.skill.id)
    found = [remark for subject in subjects for remark in store.remarks(subject, about=About.CONTRADICTION)]
    return found[-1].other if found else ""


def _secrets(content: SkillContent) -> list[str]:
    return [finding.message for finding in portability(content) if finding.rule == SECRET]


def merged_provenance(versions: Sequence[Stored]) -> Provenance:
    """The sources of several versions as one: those of the newest, with the attempts of all."""
    attempts = dict.fromkeys(each for stored in versions for each in stored.version.provenance.trajectory_ids)
    return replace(versions[-1].version.provenance, trajectory_ids=tuple(attempts))
