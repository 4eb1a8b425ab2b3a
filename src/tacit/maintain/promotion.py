"""Promotion: copy a version to a broader scope, if every gate on the way is open; find what could be promoted, and
nominate what qualifies by itself.

Content, origins and sources are copied unchanged, and nothing is trusted more for having moved: it waits for review
there too, unless a person decides on the exact text. The narrower skill stays and takes precedence in its scope.
Session and project skills are in a project's store; organisation and global ones are in the person's own store, which
projects mirror.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from tacit.domain.candidate import Candidate, GateDecision, Relation
from tacit.domain.care import Advice, Care, CareKind, CareReason
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.ledger import About, Remark, promotion_fields, record_elsewhere
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded, joined_text
from tacit.domain.ports import LanguageModel
from tacit.domain.reach import CARD
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.evidence.reliability import reliability
from tacit.gate.admission import Admission
from tacit.gate.duplicates import disagreement
from tacit.gate.review_rules import PersonDecision
from tacit.gate.reviews import Reviews
from tacit.maintain.portability import (
    SECRET,
    SourceProject,
    home_database,
    home_store,
    portability,
    source_project,
    suggest,
)
from tacit.maintain.promotion_rules import (
    Nominee,
    PromotionReason,
    Same,
    SameMeaning,
    ScopeGate,
    SessionLearning,
    doubts,
    record_sentence,
    recurring,
    ruling_of,
    scope_gates,
    sessions_of,
)
from tacit.maintain.reason_text import sentence
from tacit.maintain.status_changes import care_of
from tacit.store import Store, queries
from tacit.store.context import StoreContext

BY_PROMOTION = "tacit.promotion"
"""The author of promotions that no person asked for."""
HOME_LEVELS = frozenset({Level.ORGANISATION, Level.GLOBAL})
"""Scopes that are kept in the person's own store."""
PROMOTED, SEEN, NOMINATED, REFUSED = "promoted", "seen", "nominated", "refused"
"""Steps that remarks record: copied, known in one more project, nominated for the person's store, or refused there."""
MOST_NOMINATED = 5
"""New nominations reported at once; one that a second project confirms is always reported."""
_LOG = logging.getLogger(__name__)
_TURNED_DOWN = frozenset({Status.REJECTED, Status.RETIRED, Status.QUARANTINED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionRequest:
    """Who wants a promotion, from which project, and how the gates compare and judge."""

    by: str
    at: datetime
    source: SourceProject
    same: Same
    ticked: Collection[str] | None = None
    """What a person has confirmed of the text, which approves the copy; None: the copy waits for review."""
    model: LanguageModel | None = None
    """A language model that judges what would become global, besides the rules."""
    content: SkillContent | None = None
    """The text to copy, where it was rewritten."""

    @property
    def person(self) -> bool:
        """Whether a person decides; otherwise the copy waits for one."""
        return self.by != BY_PROMOTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The result of a promotion."""

    name: str
    scope: Scope
    skill_id: str
    version_id: str
    status: Status
    relation: Relation
    """New there, a renewal of other words there, or already there and only reinforced."""
    gates: tuple[ScopeGate, ...] = ()
    projects: tuple[str, ...] = ()
    """All projects that know it so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A version that could move one scope up, and the gate before it."""

    stored: StoredVersion
    to: Level
    gate: ScopeGate


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionPreview:
    """What a promotion would copy, where to, its record so far, and what objects to it."""

    stored: StoredVersion
    scope: Scope
    content: SkillContent
    record: str = ""
    """How it worked here and in the project it came from; empty where that is not known."""
    objections: tuple[CodedReason, ...] = ()


def promotion_request(
    context: StoreContext,
    *,
    by: str = "",
    ticked: Collection[str] | None = None,
    model: LanguageModel | None = None,
) -> PromotionRequest:
    """Return a request from this store: sameness by its embedder, rules and the model as judges; `by` names a person."""
    return PromotionRequest(
        by=by or BY_PROMOTION,
        at=context.now(),
        source=source_project(context.place),
        same=SameMeaning(context.embedder, context.config.policy),
        ticked=ticked,
        model=model,
    )


def promote_skill(
    context: StoreContext, reference: str, to: Scope | str, request: PromotionRequest, *, rewrite: bool = False
) -> Promoted:
    """Promote the version that a reference means to a scope, or to the next one; `rewrite` replaces local values."""
    wanted = Scope.parse(to) if isinstance(to, str) and to else to or None
    stored = find_version(context.store, reference, to=wanted)
    scope = _target_scope(context, stored, wanted)
    if rewrite:
        request = replace(request, content=suggest(stored.version.content, request.source.local))
    if request.person:
        require_open_gates(context.store, None, stored, request, scope=scope)  # before a store is created for it
    in_home = scope.level in HOME_LEVELS
    if in_home and (context.place is None or context.place.home is None):
        raise Mistake(
            "this memory has no personal store to promote to", code="no_home", hint="open it with `tacit.open()`"
        )
    if not in_home or home_database(context.place) is None:
        return promote(context.store, context.with_store(context.store, scope), stored, request)
    with home_store(context.place, signers=context.store.signers, create=True) as home:
        assert home is not None
        return promote(context.store, context.with_store(home, scope), stored, request)


def preview_promotion(
    context: StoreContext, reference: str, to: Scope | None, request: PromotionRequest, *, rewrite: bool = False
) -> PromotionPreview:
    """Return what would be copied and what objects to it; raises `GateRefusal` where a gate is closed anyway."""
    store = context.store
    stored = find_version(store, reference, to=to)
    scope, local = _target_scope(context, stored, to), request.source.local
    content = suggest(stored.version.content, local) if rewrite else stored.version.content
    require_open_gates(store, None, stored, replace(request, content=content), scope=scope)
    objections = [*record_objections(store, stored)]
    if scope.level in HOME_LEVELS:
        ties = portability(content, local)
        objections += [coded(PromotionReason.NOT_PORTABLE, detail=finding.message) for finding in ties]
    earlier = record_elsewhere(store.remarks(stored.skill.id, about=About.PROMOTION))
    record = "; ".join(filter(None, (_record_fields(store, stored)["record"], earlier)))
    return PromotionPreview(stored=stored, scope=scope, content=content, record=record, objections=tuple(objections))


def promotion_prospects(context: StoreContext, request: PromotionRequest) -> list[Prospect]:
    """Return what could move to the next scope, narrow to broad and by name, with what its gate has and lacks."""
    store = context.store
    found: list[Prospect] = []
    groups = recurrences(store, request.same)
    with home_store(context.place, signers=context.store.signers) as home:
        broad = (home or store).catalogue()
        for stored in _current_versions(store):
            level = stored.skill.scope.level
            to = _next_level(level)
            if to is None or (level is not Level.SESSION and stored.status not in RECALLABLE):
                continue
            if is_promoted(broad, stored, to):
                continue
            group = next((g for g in groups if any(each.version_id == stored.version.id for each in g)), ())
            if group and group[-1].version_id != stored.version.id:
                continue  # a group is listed once, by its newest wording
            known = find_same(broad, stored.version.content, Scope(to), request.same) if to in HOME_LEVELS else None
            projects = projects_of(home, known.skill.id) if home and known else ()
            nominee = nominee_of(store, stored, request, to=to, projects=projects, groups=groups)
            found.append(Prospect(stored=stored, to=to, gate=scope_gates(nominee, to)[0]))
    return sorted(found, key=lambda each: (each.to.breadth, not each.gate.open, each.stored.version.name))


def find_version(store: Store, reference: str, *, to: Scope | None = None) -> StoredVersion:
    """Return the version that a name means: of the scopes below the target the nearest; without a target the narrowest."""
    named = [stored for stored in store.catalogue(name=reference) if stored.status is not Status.REJECTED]
    below = [stored for stored in named if to is None or stored.skill.scope.level.breadth < to.level.breadth]
    if not below:
        return queries.find(store, reference)
    below = [stored for stored in below if stored.status in RECALLABLE] or below
    levels = [stored.skill.scope.level.breadth for stored in below]
    level = max(levels) if to is not None else min(levels)
    return queries.newest_recallable([stored for stored in below if stored.skill.scope.level.breadth == level])


def _next_level(level: Level) -> Level | None:
    return next((each for each in Level if each.breadth == level.breadth + 1), None)


def _target_scope(context: StoreContext, stored: StoredVersion, to: Scope | None) -> Scope:
    level = stored.skill.scope.level
    if to is None:
        above = _next_level(level)
        if above is None:
            raise Mistake(
                f"`{stored.version.name}` is global already", code="already_global", hint="no scope is broader"
            )
        to = Scope(above)
    if to.level is Level.PROJECT:
        return context.scope
    if to.level is Level.SESSION and not to.key:
        return Scope(Level.SESSION, stored.skill.scope.key.partition("/")[0])
    return to


# --- copying ----------------------------------------------------------------------------------------------------------


def promote(here: Store, there: StoreContext, stored: StoredVersion, request: PromotionRequest) -> Promoted:
    """Copy a version to the scope of another store; raises `GateRefusal` unless every gate on the way is open."""
    known = find_same(there.store.catalogue(), request.content or stored.version.content, there.scope, request.same)
    gates = require_open_gates(here, there.store, stored, request, scope=there.scope, known=known)
    return replace(_copy(here, there, stored, request, known=known), gates=gates)


def nominate(here: Store, there: StoreContext, stored: StoredVersion, request: PromotionRequest) -> Promoted:
    """Copy a version without a person: it waits for review there, and its project is recorded for the gate."""
    content = request.content or stored.version.content
    _require_promotable(stored, there.scope)
    ties = [finding.message for finding in portability(content, request.source.local)]
    kinds = {Kind.PREFERENCE: PromotionReason.PREFERENCE_STAYS, Kind.REFERENCE: PromotionReason.DOCUMENT_STAYS}
    stays = PromotionReason.PROJECT_CARD_STAYS if content.name == CARD else kinds.get(content.kind)
    if code := PromotionReason.NOT_PORTABLE if ties else stays:
        why = ties[0] if ties else f"a {content.kind} stays where it is"
        raise GateRefusal(f"`{content.name}` cannot be nominated: {why}", code=code, hint="see `tacit promote`")
    known = find_same(there.store.catalogue(), content, there.scope, request.same)
    return _copy(here, there, stored, request, known=known)


def require_open_gates(
    here: Store,
    home: Store | None,
    stored: StoredVersion,
    request: PromotionRequest,
    *,
    scope: Scope,
    known: StoredVersion | None = None,
) -> tuple[ScopeGate, ...]:
    """Return the gates on the way to a scope; raises `GateRefusal` with everything that is missing."""
    _require_promotable(stored, scope)
    projects = projects_of(home, known.skill.id) if home and known else ()
    nominee = nominee_of(here, stored, request, to=scope.level, projects=projects)
    gates = scope_gates(nominee, scope.level, person=request.by if request.person else "")
    missing = [(each.to, reason) for each in gates for reason in each.missing]
    if missing:
        listed = "; ".join(f"to {to}: {sentence(reason)}" for to, reason in missing)
        why = f"`{stored.version.name}` does not qualify yet. Missing {listed}"
        raise GateRefusal(why, code=missing[0][1].code, hint="see `tacit promote`")
    return gates


def _copy(
    here: Store, there: StoreContext, stored: StoredVersion, request: PromotionRequest, *, known: StoredVersion | None
) -> Promoted:
    """Admit the copy, or record that it is known there; a person's decision on the exact text also approves it."""
    content, to = request.content or stored.version.content, there.scope.level
    secrets = [finding.message for finding in portability(content) if finding.rule == SECRET]
    if to in HOME_LEVELS and secrets:
        hint = "purge it, or use --rewrite to replace it with a placeholder"
        raise GateRefusal(f"`{stored.version.name}` contains a secret: {secrets[0]}", code="contains_secret", hint=hint)
    renewed = known is not None and known.version.hash != content.hash() and request.person
    if known is not None and renewed and request.content is None:  # not rewritten: only a copy of this very skill
        renewed = not {other.version.id for other in here.versions(stored.skill.id)}.isdisjoint(known.version.parents)
    with there.store.transaction():
        if known is None or renewed:
            made = candidate_of(stored, content, there.scope, by=request.by)
            target = _admitted(there, replace(made, revises=known.skill.id) if known else made)
        else:
            target = known
        for remark in here.remarks(stored.skill.id, about=About.PROMOTION):
            if promotion_fields(remark).keys() & {"record", "doubt"}:  # a second promotion keeps the record from before
                there.store.add(replace(remark, subject=target.skill.id, id=""))
        step, record = (SEEN if known else PROMOTED), _record_fields(here, stored)
        there.store.add(promotion_remark(target.skill.id, stored.version.id, request, step=step, to=to, **record))
        if request.person and request.ticked is not None and target.version.hash == content.hash():
            _approve(there, target, request)
    here.add(promotion_remark(stored.skill.id, target.version.id, request, step=PROMOTED, to=to))
    return Promoted(
        name=target.version.name,
        scope=target.skill.scope,
        skill_id=target.skill.id,
        version_id=target.version.id,
        status=there.store.version(target.version.id).status,
        relation=Relation.MERGE if renewed else Relation.REINFORCE if known else Relation.NEW,
        projects=tuple(sorted(projects_of(there.store, target.skill.id))),
    )


def _require_promotable(stored: StoredVersion, scope: Scope) -> None:
    name, level = stored.version.name, stored.skill.scope.level
    if scope.level.breadth <= level.breadth:
        raise Mistake(
            f"`{name}` is at {stored.skill.scope} already", code="not_broader", hint="promote it to a broader scope"
        )
    if stored.status in _TURNED_DOWN or (scope.level in HOME_LEVELS and stored.status not in RECALLABLE):
        why = f"`{name}` is {stored.status}; only an approved skill can be promoted"
        raise GateRefusal(why, code="not_approved", hint="decide on it: tacit review")


def _admitted(there: StoreContext, made: Candidate) -> StoredVersion:
    content, verdict = made.content, Admission(there).admit_in_scope(made)
    if verdict.decision is GateDecision.REJECT or not verdict.version_id:
        reasons = "; ".join(finding.message for finding in verdict.findings[:3])
        why = f"`{content.name}` was rejected at {there.scope}: {reasons}"
        raise GateRefusal(why, code="rejected_by_gate", hint="fix it, then promote it")
    stored = there.store.version(verdict.version_id)
    if made.revises and stored.version.hash != content.hash():
        why = f"`{content.name}` is at {there.scope} in other words, and the gate takes these for the same"
        hint = f"edit it there: tacit skills edit {stored.version.id[:10]} --store STORE"
        raise GateRefusal(why, code="known_in_other_words", hint=hint)
    return stored


def _approve(there: StoreContext, stored: StoredVersion, request: PromotionRequest) -> None:
    """Approve the copy for the person who promotes it, with every confirmation that a review requires."""
    now = there.store.version(stored.version.id)
    if now.status in RECALLABLE:
        return
    if now.status in (Status.REJECTED, Status.RETIRED, Status.STALE):
        option = "--reopen" if now.status is Status.REJECTED else "--restore"
        hint = f"decide again there: tacit review {stored.version.id[:10]} {option} --store STORE"
        why = f"`{stored.version.name}` was {now.status} at {there.scope}"
        raise GateRefusal(why, code="turned_down_there", hint=hint)
    Reviews(there).decide(
        stored.version.id,
        PersonDecision.APPROVE,
        by=request.by,
        reason=f"promoted from {request.source.project or 'here'} by a person",
        content_hash=stored.version.hash,
        ticked=request.ticked or (),
    )


def candidate_of(stored: StoredVersion, content: SkillContent, scope: Scope, *, by: str) -> Candidate:
    """Return a version as a candidate of another scope: same origins and sources, itself as the parent."""
    version = stored.version
    return Candidate(
        content=content,
        scope=scope,
        origins=version.origins,
        provenance=version.provenance,
        parents=(version.id,),
        by=by,
    )


# --- what gates need to know ------------------------------------------------------------------------------------------


def nominee_of(
    here: Store,
    stored: StoredVersion,
    request: PromotionRequest,
    *,
    to: Level,
    projects: Collection[str] = (),
    groups: Sequence[Sequence[SessionLearning]] | None = None,
) -> Nominee:
    """Return everything the gates need to know of a version; `projects` are the other projects that know it."""
    content = request.content or stored.version.content
    sessions: Collection[str] = ()
    if stored.skill.scope.level is Level.SESSION:
        groups = recurrences(here, request.same) if groups is None else groups
        own = [g for g in groups if any(each.version_id == stored.version.id for each in g)]
        sessions = sessions_of(own[0]) if own else ()
    subjects = (stored.version.id, stored.skill.id)
    noted = [remark for subject in subjects for remark in here.remarks(subject, about=About.CONTRADICTION)]
    return Nominee(
        content=content,
        level=stored.skill.scope.level,
        sessions=sessions,
        projects={request.source.identity, *projects} - {""},
        contradicted=noted[-1].other if noted else "",
        local=[finding.message for finding in portability(content, request.source.local)],
        ruling=ruling_of(content, request.source.local, model=request.model) if to is Level.GLOBAL else None,
    )


def find_same(
    versions: Iterable[StoredVersion], content: SkillContent, scope: Scope, same: Same
) -> StoredVersion | None:
    """Return what means the same at a scope: the exact text, or else the same meaning; turned-down ones last."""
    there = [s for s in versions if s.skill.scope == scope and s.skill.kind is content.kind]
    exact = [stored for stored in there if stored.version.hash == content.hash()]
    newest = {stored.skill.id: stored for stored in sorted(there, key=lambda stored: stored.sequence)}.values()
    found = exact or [stored for stored in newest if same(content, stored.version.content)]
    return max(found, key=lambda stored: (stored.status not in _TURNED_DOWN, stored.sequence), default=None)


def is_promoted(versions: Iterable[StoredVersion], stored: StoredVersion, to: Level) -> bool:
    """Whether a version was promoted as far as a level, or further, and may be recalled there."""
    return any(
        other.skill.scope.level.breadth >= to.breadth
        and other.status in RECALLABLE
        and (other.version.hash == stored.version.hash or stored.version.id in other.version.parents)
        for other in versions
    )


def projects_of(store: Store, skill_id: str) -> set[str]:
    """Return the projects that know a skill, as far as it was recorded."""
    notes = map(promotion_fields, store.remarks(skill_id, about=About.PROMOTION))
    return {note["project"] for note in notes if note.get("project") and note.get("step") in (SEEN, PROMOTED)}


def recurrences(store: Store, same: Same) -> list[tuple[SessionLearning, ...]]:
    """Return what sessions have learned, grouped by meaning, with the sessions behind each."""
    narrow = [s for s in _current_versions(store) if s.skill.scope.level is Level.SESSION]
    if not narrow:
        return []
    parents = {e.session_id: e.parent_session_id for e in store.episodes() if e.session_id and e.parent_session_id}
    learnings = []
    for stored in narrow:
        sessions = {stored.skill.scope.key}
        for trajectory_id in stored.version.provenance.trajectory_ids:
            with suppress(NotFound):  # it is in another store, or was removed
                sessions.add(store.episode(trajectory_id).session_id)
        roots = frozenset(_root_session(session, parents) for session in sessions if session)
        learnings.append(SessionLearning(version_id=stored.version.id, content=stored.version.content, sessions=roots))
    return recurring(learnings, same)


def _root_session(session: str, parents: dict[str, str]) -> str:
    """The session that started a subagent, over any number of levels."""
    seen: set[str] = set()
    while session in parents and session not in seen:
        seen.add(session)
        session = parents[session]
    return session


def _current_versions(store: Store) -> list[StoredVersion]:
    """The current version of each skill, unless it was turned down; oldest first."""
    return sorted((s for s in queries.current(store) if s.status not in _TURNED_DOWN), key=lambda s: s.sequence)


# --- records and objections -------------------------------------------------------------------------------------------


def promotion_remark(
    subject: str, other: str, request: PromotionRequest, *, step: str, to: Level, **record: str
) -> Remark:
    """Return the remark that stores a step of a promotion; `record` is how the skill worked where it came from."""
    fields = {"step": step, "to": str(to), "project": request.source.identity, "name": request.source.project, **record}
    text = json.dumps({key: value for key, value in fields.items() if value}, sort_keys=True)
    return Remark(subject=subject, about=About.PROMOTION, by=request.by, at=request.at, other=other, text=text)


def _record_fields(store: Store, stored: StoredVersion) -> dict[str, str]:
    """How a version worked in a store and what objects to it, as stored fields; empty where too little was verified."""
    version_id = stored.version.id
    known = reliability(store.evidence([version_id])[version_id])
    return {"record": record_sentence(known), "doubt": joined_text(doubts(known, store.transitions(version_id)))}


def record_objections(store: Store, stored: StoredVersion) -> Iterator[CodedReason]:
    """Yield what a version's record objects to a promotion, and what contradicts it. Objections do not close a gate."""
    version_id = stored.version.id
    known = reliability(store.evidence([version_id])[version_id])
    yield from doubts(known, store.transitions(version_id))
    if not known.known:  # results of this store take precedence over those of others
        notes = [promotion_fields(remark) for remark in store.remarks(stored.skill.id, about=About.PROMOTION)]
        pairs = dict.fromkeys((note.get("name", ""), note["doubt"]) for note in notes if note.get("doubt"))
        yield from (coded(PromotionReason.DOUBTED_ELSEWHERE, project=name, doubt=text) for name, text in pairs)
    names: list[str] = []  # usable skills that contradict it: as recorded, or as found now
    ours, content = {version_id, stored.skill.id}, stored.version.content
    for remark in store.remarks(about=About.CONTRADICTION):
        both = {remark.subject, remark.other}
        for other in both - ours if ours & both else ():
            with suppress(NotFound):  # purged since
                noted = store.version(other)
                names += [noted.version.name] if noted.status in RECALLABLE else []
    for near in queries.neighbours(store, candidate_of(stored, content, Scope(Level.PROJECT), by="")):
        if near.skill.id != stored.skill.id and disagreement(near.version.content, content):
            names.append(near.version.name)
    for name in dict.fromkeys(names):
        yield coded(PromotionReason.CONTRADICTED_BY, name=name)


# --- nomination: what qualifies for a broader scope by itself ---------------------------------------------------------


def cares(context: StoreContext, *, at: datetime) -> list[Care]:
    """Find what qualifies for a broader scope. Applied, it becomes a waiting candidate, or a note for the person's
    store."""
    store, request = context.store, replace(promotion_request(context), at=at)
    with home_store(context.place, signers=context.store.signers) as home:
        project = _for_project(store, context.scope, request)
        return [*_for_sessions(store, request), *project, *_for_home(store, home, request)]


def hand_over(here: Store, home: StoreContext, request: PromotionRequest) -> None:
    """Copy what was nominated here to the person's store, once; a refusal there is recorded and not tried again."""
    level = home.scope.level
    for skill_id in open_nominations(here, level):
        stored = queries.newest_recallable(here.versions(skill_id))
        try:
            nominate(here, home, stored, replace(request, by=BY_PROMOTION))
        except GateRefusal as refusal:
            _LOG.info("%s was refused in the personal store: %s", stored.version.id, refusal.code)
            here.add(promotion_remark(skill_id, "", request, step=REFUSED, to=level))


def open_nominations(store: Store, to: Level) -> list[str]:
    """Return the ids of skills that were nominated for a level and not answered since."""
    waiting: dict[str, None] = {}
    for remark in store.remarks(about=About.PROMOTION):
        fields = promotion_fields(remark)
        if fields.get("to") != str(to):
            continue
        if fields.get("step") == NOMINATED:
            waiting[remark.subject] = None
        else:
            waiting.pop(remark.subject, None)
    return list(waiting)


def _for_sessions(store: Store, request: PromotionRequest) -> Iterator[Care]:
    """What a team has learned and nothing contradicts: the session may keep it."""
    for stored in store.catalogue(statuses={Status.CANDIDATE, *RECALLABLE}):
        if stored.skill.scope.level is not Level.TEAM or _was_recorded(store, stored, Level.SESSION):
            continue
        [gate] = scope_gates(nominee_of(store, stored, request, to=Level.SESSION), Level.SESSION)
        if gate.open:
            yield _care(stored, gate.fulfilled[:1], to=Level.SESSION)


def _for_project(store: Store, scope: Scope, request: PromotionRequest) -> Iterator[Care]:
    """What enough sessions have learned independently, and the project does not have yet."""
    groups = recurrences(store, request.same)
    known = store.catalogue() if groups else []
    for group in groups:
        versions = [store.version(each.version_id) for each in group]
        newest = versions[-1]
        [gate] = scope_gates(nominee_of(store, newest, request, to=Level.PROJECT, groups=[group]), Level.PROJECT)
        if not gate.open or find_same(known, newest.version.content, scope, request.same):
            continue
        attempts = dict.fromkeys(each for stored in versions for each in stored.version.provenance.trajectory_ids)
        made = replace(
            candidate_of(newest, newest.version.content, scope, by=BY_PROMOTION),
            provenance=replace(newest.version.provenance, trajectory_ids=tuple(attempts)),
            parents=tuple(stored.version.id for stored in versions),
        )
        reason = coded(CareReason.SEEN_IN_SESSIONS, sessions=len(sessions_of(group)))
        remark = promotion_remark(newest.skill.id, newest.version.id, request, step=PROMOTED, to=Level.PROJECT)
        yield replace(_care(newest, (reason,), to=Level.PROJECT, remark=remark), candidate=made)


def _for_home(store: Store, home: Store | None, request: PromotionRequest) -> Iterator[Care]:
    """What makes sense beyond the project: a nomination for the person's store, where two projects together qualify it."""
    level, new = Level.ORGANISATION, 0
    broad = [other for other in (home or store).catalogue() if other.skill.scope.level.breadth >= level.breadth]
    for stored in store.catalogue(statuses=RECALLABLE):
        if stored.skill.scope.level is not Level.PROJECT or _was_recorded(store, stored, level):
            continue
        if is_promoted(broad, stored, level):
            continue
        content = stored.version.content
        there = find_same(broad, content, Scope(level), request.same)
        projects = projects_of(home or store, there.skill.id) if there else set()
        elsewhere = there is not None and projects != {request.source.identity}
        qualifies = elsewhere or (stored.status is Status.TRUSTED and new < MOST_NOMINATED)
        if not qualifies or content.kind in (Kind.PREFERENCE, Kind.REFERENCE):
            continue  # the checks below take longer
        nominee = nominee_of(store, stored, request, to=level, projects=projects)
        if nominee.local or any(record_objections(store, stored)):
            continue
        [gate] = scope_gates(nominee, level)
        new += not elsewhere
        remark = promotion_remark(stored.skill.id, there.version.id if there else "", request, step=NOMINATED, to=level)
        reason = coded(CareReason.KNOWN_ELSEWHERE if elsewhere else CareReason.TRUSTED_AND_PORTABLE)
        yield _care(stored, (reason, *gate.fulfilled), to=level, remark=remark)


def _care(stored: StoredVersion, reasons: tuple[CodedReason, ...], *, to: Level, remark: Remark | None = None) -> Care:
    advice = coded(Advice.PROMOTE, name=stored.version.name, to=str(to))
    return care_of(stored, CareKind.PROMOTION, reasons, remark=remark, advice=(advice,))


def _was_recorded(store: Store, stored: StoredVersion, to: Level) -> bool:
    """Whether it was promoted as far as this level, or nominated for it, before."""
    remarks = store.remarks(stored.skill.id, about=About.PROMOTION)
    far_enough = {str(level) for level in Level if level.breadth >= to.breadth}
    return any(promotion_fields(remark).get("to") in far_enough for remark in remarks)
