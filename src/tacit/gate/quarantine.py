"""Quarantined text outside a person's review: agents read what commands print, so the text is left out and that is said.

A version stays quarantined in this sense until it is approved: also while it is rejected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TypeVar

from tacit.domain.errors import TacitError
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status
from tacit.domain.skill import SkillContent
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Origin
from tacit.gate.origins import origin_at
from tacit.store import Store

E = TypeVar("E", bound=Episode)
WITHHELD = "withheld: the gate quarantined it; a person reads it with `tacit review` in a terminal"
"""Stands where a quarantined text would be."""
TASK_WITHHELD = "withheld: not written by a person, or a quarantined skill was learned from it"
_PLAIN_NAME_WORDS = 3
"""A name from outside with more words could be a sentence."""
_UNAPPROVED = frozenset({Status.CANDIDATE, Status.QUARANTINED, Status.REJECTED})
_DECISIVE = RECALLABLE | {Status.QUARANTINED}


def last_waiting_status(store: Store, version_id: str) -> Status:
    """Return the status in which a version waited last."""
    waited = [move.after for move in store.transitions(version_id) if move.after in WAITING]
    return waited[-1] if waited else Status.CANDIDATE


def is_quarantined(store: Store, stored: StoredVersion) -> bool:
    """Return whether the gate quarantined a version and nobody has approved it since."""
    if stored.status not in _UNAPPROVED or stored.status is Status.QUARANTINED:
        return stored.status is Status.QUARANTINED
    moves = [move.after for move in store.transitions(stored.version.id)]
    return next((after is Status.QUARANTINED for after in reversed(moves) if after in _DECISIVE), False)


def withheld(store: Store, stored: StoredVersion) -> StoredVersion:
    """Return a version without its text if it is quarantined; id, hash, kind and origins stay."""
    version = stored.version
    if not is_quarantined(store, stored):
        return stored
    is_external = origin_at(version.origins, "name") is Origin.EXTERNAL
    hides_name = is_external and len(version.name.split("-")) > _PLAIN_NAME_WORDS
    content = SkillContent(
        kind=version.content.kind,
        name=version.id[:10] if hides_name else version.name,
        description=WITHHELD,
        person=version.content.person,
    )
    return dataclasses.replace(stored, version=dataclasses.replace(version, content=content))


def is_withheld(content: SkillContent) -> bool:
    """Whether a content stands for a quarantined one."""
    return content.description == WITHHELD


def episodes_without_external_text(store: Store, episodes: Sequence[E]) -> list[E]:
    """Return past attempts without tasks that no person wrote, or that a quarantined skill was learned from."""
    tainted = attempts_with_external_text(store, [episode.id for episode in episodes])
    return [
        dataclasses.replace(episode, task=TASK_WITHHELD, files=()) if episode.id in tainted else episode
        for episode in episodes
    ]


def attempts_with_external_text(store: Store, trajectory_ids: Collection[str]) -> set[str]:
    """Return those of the attempts whose task no person wrote, or that a quarantined skill was learned from.

    Of a pruned attempt nobody knows any more who wrote its task, so it is among them.
    """
    asked = set(trajectory_ids)
    found: set[str] = set()
    for stored in store.catalogue(statuses=_UNAPPROVED) if asked else ():
        shared = asked.intersection(stored.version.provenance.trajectory_ids) - found
        if shared and is_quarantined(store, stored):
            found |= shared
    for each in asked - found:
        try:
            by_person = store.trajectory(each).task_origin is not Origin.EXTERNAL
        except TacitError:  # pruned
            by_person = False
        found |= set() if by_person else {each}
    return found
