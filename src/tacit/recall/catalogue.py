"""Everything an agent could be offered in a project: skill folders of the project and the person, and learned skills."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from tacit import render
from tacit.domain.evidence import Reliability
from tacit.domain.ledger import About, record_elsewhere
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.stored import StoredVersion
from tacit.store import Store
from tacit.store.queries import current


def offered(
    store: Store,
    may_see: Callable[[StoredVersion], bool],
    *,
    project: Path | None,
    home: Path | None,
    reliability: Callable[[str], Reliability],
) -> render.Catalogue:
    """Everything an agent could be offered: skills in the project's and user's folders, and the learned ones seen from here."""
    static = render.scan(project=project, home=home)
    learned = [
        render.Entry(
            content=stored.version.content,
            version_id=stored.version.id,
            status=stored.status,
            reliability=reliability(stored.version.id),
            source=render.source_line(
                stored.version, record_elsewhere(store.remarks(stored.skill.id, about=About.PROMOTION))
            ),
        )
        for stored in current(store, statuses=RECALLABLE)
        if may_see(stored)
    ]
    found = render.merge(static.entries, learned)
    return dataclasses.replace(found, shadowed=(*static.shadowed, *found.shadowed))
