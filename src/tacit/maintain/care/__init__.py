"""Looking after the library: what is known of it → cares, and what comes of those. Wires the sources of care together.

`settle` lets verified evidence move versions, by itself; `plan` tells everything else that could be done, and changes
nothing; `apply` carries that out on a person's word. Pinned skills are told of and left alone. Nothing is ever deleted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from tacit.config.settings import Policy
from tacit.domain.care import Care, CareKind
from tacit.domain.evidence import Evidence
from tacit.domain.lifecycle import RECALLABLE, Transition
from tacit.domain.ports import Store
from tacit.domain.remark import About, pinned
from tacit.learn import crediting
from tacit.learn import friction_notes as noting
from tacit.maintain import (
    compose as composing,
)
from tacit.maintain import (
    disputes as disputing,
)
from tacit.maintain import (
    promotion as promoting,
)
from tacit.maintain import (
    refine as refining,
)
from tacit.maintain import (
    revalidate as validating,
)
from tacit.maintain.care.carrying import Door, carry_out, changed_by
from tacit.maintain.care.library import BY, NOWHERE, Here, Library, Progress
from tacit.maintain.care.merging import merges, superseded
from tacit.maintain.care.staleness import stale
from tacit.maintain.care.standing import settle, standings, suspended, values
from tacit.providers.ground import look

__all__ = ["BY", "SOURCES", "Door", "Here", "Library", "apply", "plan", "revalidate", "settle"]

Source = Callable[[Library], list[Care]]
"""Looks at the library, and tells what it found."""


def _promotions(library: Library) -> list[Care]:
    here, same = library.here, promoting.Sameness(library.here.embedder, library.policy)
    return promoting.cares_at(here.place, library.store, at=library.at, scope=here.scope, same=same)


SOURCES: tuple[Source, ...] = (
    standings,
    suspended,
    values,
    stale,
    superseded,
    merges,
    lambda library: disputing.cares(library.store, at=library.at),
    lambda library: composing.cares(library.store, at=library.at),
    lambda library: refining.cares(library.store, at=library.at),
    _promotions,
    lambda library: validating.contracts(library.store, library.here.project, look, at=library.at),
)
"""Everything that finds something to care for. Of two that would move one version the first has its say."""


def plan(
    store: Store,
    policy: Policy,
    *,
    at: datetime,
    here: Here = NOWHERE,
    only: Collection[CareKind] = (),
    progress: Progress | None = None,
) -> list[Care]:
    """Everything that could be done for the library now, by kind; nothing is changed."""
    library = Library(store, policy, at=at, here=here, progress=progress)
    found = [care for source in SOURCES for care in source(library)]
    moved: set[str] = set()
    cares: list[Care] = []
    for care in found:
        if care.move and care.move.version_id in moved:
            continue  # it leaves already
        moved |= {care.move.version_id} if care.move else set()
        cares.append(care if library.pinned.isdisjoint(changed_by(care)) else _left_alone(care))
    gone = {care.move.version_id for care in cares if care.move and care.move.after not in RECALLABLE}
    cares = [care for care in cares if care.kind is not CareKind.PROMOTION or care.subject not in gone]
    order = list(CareKind)
    return sorted((c for c in cares if not only or c.kind in only), key=lambda care: order.index(care.kind))


def apply(
    cares: Sequence[Care], door: Door, store: Store, *, policy: Policy, by: str, at: datetime
) -> tuple[list[Care], list[Transition]]:
    """Carry out what was planned, and let evidence move versions, that which came late too; tells what was done of each."""
    with store.transaction():
        late = crediting.sweep(store, at=at)
        for evidence in late:
            store.add_evidence(evidence)
        for trajectory in map(store.trajectory, dict.fromkeys(evidence.trajectory_id for evidence in late)):
            noting.note_friction(store, trajectory, crediting.guided_by(store, trajectory), at=at)
    done = carry_out(cares, door, store, by=by, at=at)
    return done, settle(store, policy, at=at)


def revalidate(
    store: Store,
    policy: Policy,
    tried: Iterable[validating.Tried],
    *,
    at: datetime,
    keep: bool = False,
    progress: Progress | None = None,
) -> list[Care]:
    """Tell what came of trying skills again; with `keep` that is evidence, and may move versions."""
    told: list[Care] = []
    left_alone = pinned(store.remarks(about=About.PIN))
    for done, total, care, evidence in tried:
        wanted = dataclasses.replace(care, move=None) if care.skill_id in left_alone else care
        if keep:
            _keep(store, policy, wanted, evidence, at=at)
        told.append(dataclasses.replace(wanted, applied=keep and bool(wanted.remark or wanted.move)))
        if progress:
            progress(done, total)
    return told


def _keep(store: Store, policy: Policy, care: Care, evidence: Evidence | None, *, at: datetime) -> None:
    with store.transaction():
        if care.remark:
            store.add_remark(care.remark)
        if evidence:
            store.add_evidence(evidence)
        if care.move:
            store.add_transition(care.move)
        settle(store, policy, at=at, version_ids=[care.subject])


def _left_alone(care: Care) -> Care:
    return dataclasses.replace(care, move=None, candidate=None, remark=None, advice="it is pinned, so it is left alone")
