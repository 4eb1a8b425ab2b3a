"""Quarantined text outside a person's review: agents read what commands print, so the text is left out and that is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tacit.domain.errors import TacitError
from tacit.domain.lifecycle import Status
from tacit.domain.skill import SkillContent
from tacit.domain.stored import FoundEpisode, StoredVersion
from tacit.domain.trajectory import Origin
from tacit.gate.origins import origin_at
from tacit.store import Store

WITHHELD = "withheld: the gate quarantined it; a person reads it with `tacit review` in a terminal"
"""Stands where a quarantined text would be."""
TASK_WITHHELD = "withheld: a program asked it, or something quarantined was learned from it"
_PLAIN_NAME_WORDS = 3
"""A name from outside with more words could be a sentence."""


def withheld(stored: StoredVersion) -> StoredVersion:
    """Return a version without its text if it is quarantined; id, hash, kind and origins stay."""
    version = stored.version
    if stored.status is not Status.QUARANTINED:
        return stored
    is_outside = origin_at(version.origins, "name") is Origin.EXTERNAL
    hides_name = is_outside and len(version.name.split("-")) > _PLAIN_NAME_WORDS
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


def episodes_without_outside_text(store: Store, episodes: Sequence[FoundEpisode]) -> list[FoundEpisode]:
    """Return past attempts without tasks that no person wrote, or that something quarantined comes from."""
    quarantined = store.catalogue(statuses={Status.QUARANTINED})
    tainted = {identity for stored in quarantined for identity in stored.version.provenance.trajectory_ids}
    shown: list[FoundEpisode] = []
    for episode in episodes:
        try:
            is_persons = store.trajectory(episode.id).task_origin is not Origin.EXTERNAL
        except TacitError:  # pruned
            is_persons = True
        is_plain = is_persons and episode.id not in tainted
        shown.append(episode if is_plain else dataclasses.replace(episode, task=TASK_WITHHELD, files=()))
    return shown
