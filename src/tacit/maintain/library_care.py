"""Care of the library: plan everything that could be done for it, and apply the plan for a person. Deletes nothing.

`plan` only reads. `apply` makes the planned changes, one transaction each, and lets new evidence change statuses.
Pinned skills are reported and left alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from tacit.config.settings import Policy
from tacit.domain.candidate import Candidate, Decision, Verdict
from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind
from tacit.domain.coded_reason import coded
from tacit.domain.errors import GateRefusal, IllegalTransition, NotFound, StaleVersion
from tacit.domain.evidence import Evidence
from tacit.domain.ledger import About, pinned
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.learn import friction_notes, skill_usage
from tacit.maintain import composition, contradictions, nomination, revalidation, revision
from tacit.maintain.library_view import LibraryView, Progress
from tacit.maintain.merging import merges, superseded
from tacit.maintain.status_changes import (
    apply_status_changes,
    earned_changes,
    stale_skills,
    suspended_versions,
    useless_skills,
)
from tacit.providers.ground import look
from tacit.store import Store
from tacit.store.context import StoreContext

_GONE = frozenset({Status.REJECTED, Status.RETIRED, Status.QUARANTINED})


def plan(context: StoreContext, *, only: Collection[CareKind] = (), progress: Progress | None = None) -> list[Care]:
    """Return everything that could be done for the library now, by kind. Changes nothing."""
    library = LibraryView(context.store, context.config.policy, at=context.now(), progress=progress)
    moved: set[str] = set()
    cares: list[Care] = []
    for care in _findings(context, library):
        if care.move and care.move.version_id in moved:
            continue  # the first check that changes a version's status wins
        moved |= {care.move.version_id} if care.move else set()
        cares.append(care if library.pinned.isdisjoint(_changed_skills(care)) else _left_alone(care))
    gone = {care.move.version_id for care in cares if care.move and care.move.after not in RECALLABLE}
    cares = [care for care in cares if care.kind is not CareKind.PROMOTION or care.subject not in gone]
    order = list(CareKind)
    return sorted((c for c in cares if not only or c.kind in only), key=lambda care: order.index(care.kind))


def _findings(context: StoreContext, library: LibraryView) -> list[Care]:
    """Run every check; of two that would change one version the earlier takes precedence."""
    store, at = library.store, library.at
    return [
        *earned_changes(library),
        *suspended_versions(library),
        *useless_skills(library),
        *stale_skills(library),
        *superseded(library),
        *merges(library),
        *contradictions.cares(store, at=at),
        *composition.cares(store, at=at),
        *revision.cares(store),
        *nomination.cares_at(context, at=at),
        *revalidation.contracts(store, context.project, look, at=at),
    ]


def apply(
    cares: Sequence[Care],
    admit: Callable[[Candidate], Verdict],
    store: Store,
    *,
    policy: Policy,
    by: str,
    at: datetime,
) -> tuple[list[Care], list[Transition]]:
    """Apply planned changes and settle statuses, with late evidence included; return what was done of each, and the
    moves."""
    with store.transaction():
        late = skill_usage.missed_evidence(store, at=at)
        for evidence in late:
            store.add(evidence)
        for trajectory in map(store.trajectory, dict.fromkeys(evidence.trajectory_id for evidence in late)):
            friction_notes.note_friction(store, trajectory, skill_usage.guided_by(store, trajectory), at=at)
    done = _apply_each(cares, admit, store, by=by, at=at)
    return done, apply_status_changes(store, policy, at=at)


def revalidate(
    store: Store,
    policy: Policy,
    tried: Iterable[revalidation.Tried],
    *,
    at: datetime,
    keep: bool = False,
    progress: Progress | None = None,
) -> list[Care]:
    """Return what came of running skills again; with `keep` it is stored as evidence and may change statuses."""
    found: list[Care] = []
    left_alone = pinned(store.remarks(about=About.PIN))
    for done, total, care, evidence in tried:
        wanted = dataclasses.replace(care, move=None) if care.skill_id in left_alone else care
        if keep:
            _keep(store, policy, wanted, evidence, at=at)
        found.append(dataclasses.replace(wanted, applied=keep and bool(wanted.remark or wanted.move)))
        if progress:
            progress(done, total)
    return found


def _keep(store: Store, policy: Policy, care: Care, evidence: Evidence | None, *, at: datetime) -> None:
    with store.transaction():
        if care.remark:
            store.add(care.remark)
        if evidence:
            store.add(evidence)
        if care.move:
            store.add_transition(care.move)
        apply_status_changes(store, policy, at=at, version_ids=[care.subject])


def _left_alone(care: Care) -> Care:
    return dataclasses.replace(care, move=None, candidate=None, remark=None, advice=(coded(Advice.PINNED),))


def _apply_each(
    cares: Iterable[Care], admit: Callable[[Candidate], Verdict], store: Store, *, by: str, at: datetime
) -> list[Care]:
    """Apply each that changes something and is not pinned; where that fails, the advice says why."""
    left_alone = pinned(store.remarks(about=About.PIN))
    done: list[Care] = []
    for care in cares:
        if not left_alone.isdisjoint(_changed_skills(care)) or not (care.move or care.candidate or care.remark):
            done.append(care)
            continue
        try:
            with store.transaction():
                _apply_one(care, admit, store, by=by, at=at)
        except (StaleVersion, IllegalTransition, NotFound, GateRefusal) as refusal:
            why = coded(Advice.NOT_APPLIED, error=refusal.code, message=refusal.message)
            done.append(dataclasses.replace(care, advice=(why,)))
        else:
            done.append(dataclasses.replace(care, applied=True))
    return done


def _changed_skills(care: Care) -> set[str]:
    """Ids of the skills that a finding is about and would change."""
    return {care.skill_id, care.candidate.revises} if care.candidate else {care.skill_id}


def _apply_one(care: Care, admit: Callable[[Candidate], Verdict], store: Store, *, by: str, at: datetime) -> None:
    if care.candidate:
        _require_parents(store, care.candidate)
        verdict = admit(care.candidate)
        if verdict.decision is Decision.REJECT:
            why = "; ".join(each.message for each in verdict.findings[:2])
            raise GateRefusal(f"the gate rejected it: {why}", code="rejected_by_gate")
    if care.move:
        who = BY_ITSELF if care.kind is CareKind.STANDING else by  # evidence decides, not the person who applies it
        store.add_transition(dataclasses.replace(care.move, by=who, at=at, id=""))
    if care.remark:
        store.add(care.remark)


def _require_parents(store: Store, candidate: Candidate) -> None:
    """Raise if a version that a candidate is made of has been turned down or removed since the plan was made."""
    for parent in candidate.parents:
        stored = store.version(parent)
        if stored.status in _GONE:
            raise StaleVersion(f"`{stored.version.name}` is now {stored.status}", hint="run `tacit tend` again")
