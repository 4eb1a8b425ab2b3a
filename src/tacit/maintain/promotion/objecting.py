"""Objections: a version and where it would go → its record here, and all that a careful person should know before it moves.

Reads only. What is found does not close a gate; whoever promotes it nevertheless says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tacit import evidence as outcome
from tacit import gate
from tacit.domain.errors import NotFound
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Store, Stored
from tacit.domain.remark import About, noted, record_elsewhere
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import SkillContent
from tacit.gate.portability import Local, portability
from tacit.maintain.promotion.moving import AT_HOME, candidate_of, record_of
from tacit.maintain.refinement.promotion import doubts
from tacit.store import queries as shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A promotion as it would be: what moves, where to, how it has done, and what speaks against it."""

    stored: Stored
    scope: Scope
    content: SkillContent
    """The text that would move."""
    record: str = ""
    """How it has done here and, where it came from elsewhere, there; empty where nobody knows."""
    against: tuple[str, ...] = ()


def weighed(store: Store, stored: Stored, content: SkillContent, *, scope: Scope, local: Local) -> Weighed:
    """Weigh a version that would move to a scope in these words."""
    told = record_of(store, stored)["record"]
    before = record_elsewhere(store.remarks(stored.skill.id, about=About.PROMOTION))
    against = list(spoken_against(store, stored))
    if scope.level in AT_HOME:
        against += [finding.message for finding in portability(content, local)]
    return Weighed(
        stored=stored,
        scope=scope,
        content=content,
        record="; ".join(filter(None, (told, before))),
        against=tuple(against),
    )


def spoken_against(store: Store, stored: Stored) -> Iterator[str]:
    """What its record says against a version, and what contradicts it."""
    version_id = stored.version.id
    known = outcome.reliability(store.evidence([version_id])[version_id])
    yield from doubts(known, store.transitions(version_id))
    if not known.known:  # what was measured here goes before what is told of elsewhere
        notes = map(noted, store.remarks(stored.skill.id, about=About.PROMOTION))
        yield from dict.fromkeys(
            f"in {said.get('name', 'its project')}: {said['doubt']}" for said in notes if said.get("doubt")
        )
    yield from dict.fromkeys(_contradictions(store, stored))


def _contradictions(store: Store, stored: Stored) -> Iterator[str]:
    """What is in use beside it and says otherwise: noted, or found now."""
    ours = {stored.version.id, stored.skill.id}
    for remark in store.remarks(about=About.CONTRADICTION):
        for other in {remark.subject, remark.other} - ours if ours & {remark.subject, remark.other} else ():
            if (held := _in_use(store, other)) is not None:
                yield f"`{held.version.name}` contradicts it"
    content = stored.version.content
    beside = candidate_of(stored, content, Scope(Level.PROJECT), by="")
    for near in shelf.neighbours(store, beside):
        if near.skill.id != stored.skill.id and gate.disagreement(near.version.content, content):
            yield f"`{near.version.name}` contradicts it"


def _in_use(store: Store, version_id: str) -> Stored | None:
    try:
        held = store.version(version_id)
    except NotFound:  # purged since
        return None
    return held if held.status in RECALLABLE else None
