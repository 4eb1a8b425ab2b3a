"""Looking after the library: what is known of it → cares, and what comes of those. Wires the sources of care together.

`settle` lets verified evidence move versions, by itself; `plan` tells everything else that could be done, and changes
nothing; `apply` carries that out on a person's word. Pinned skills are told of and left alone. Nothing is ever deleted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path

from tacit import composing, crediting, disputing, promoting, refining, validating
from tacit.config.settings import Policy
from tacit.domain.care import Care, CareKind
from tacit.domain.lifecycle import Transition
from tacit.domain.ports import Store
from tacit.domain.remark import About, pinned
from tacit.providers.ground import look
from tacit.tending.carrying import Door, carry_out, changed_by
from tacit.tending.library import BY, NOWHERE, Here, Library, Progress
from tacit.tending.merging import merges, superseded
from tacit.tending.staleness import stale
from tacit.tending.standing import settle, standings, values

__all__ = ["BY", "SOURCES", "Door", "Here", "Library", "apply", "plan", "revalidate", "settle"]

Source = Callable[[Library], list[Care]]
"""Looks at the library, and tells what it found."""

SOURCES: tuple[Source, ...] = (
    standings,
    values,
    stale,
    superseded,
    merges,
    lambda library: disputing.cares(library.store, at=library.at),
    lambda library: composing.cares(library.store, at=library.at),
    lambda library: refining.cares(library.store, at=library.at),
    lambda library: promoting.cares(library.store, at=library.at, scope=library.here.scope),
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
    order = list(CareKind)
    return sorted((c for c in cares if not only or c.kind in only), key=lambda care: order.index(care.kind))


def apply(
    cares: Sequence[Care], door: Door, store: Store, *, policy: Policy, by: str, at: datetime
) -> tuple[list[Care], list[Transition]]:
    """Carry out what was planned, and let evidence move versions, that which came late too; tells what was done of each."""
    with store.transaction():
        for late in crediting.sweep(store, at=at):
            store.add_evidence(late)
    done = carry_out(cares, door, store, by=by, at=at)
    return done, settle(store, policy, at=at)


def revalidate(
    store: Store,
    policy: Policy,
    project: Path,
    *,
    at: datetime,
    attempt: validating.Try = validating.replayed,
    progress: Progress | None = None,
) -> list[Care]:
    """Try again what may be tried, in the sandbox; keep what comes of it as evidence, and let that move versions."""
    told: list[Care] = []
    left_alone = pinned(store.remarks(about=About.PIN))
    for done, total, care, evidence in validating.revalidations(store, project, attempt, at=at):
        with store.transaction():
            if care.remark:
                store.add_remark(care.remark)
            if evidence:
                store.add_evidence(evidence)
            if care.move and care.skill_id not in left_alone:
                store.add_transition(care.move)
            settle(store, policy, at=at, version_ids=[care.subject])
        told.append(dataclasses.replace(care, applied=care.remark is not None))
        if progress:
            progress(done, total)
    return told


def _left_alone(care: Care) -> Care:
    return dataclasses.replace(care, move=None, candidate=None, remark=None, advice="it is pinned, so it is left alone")
