"""Questions about the skills of a store: the current version of each, what waits for review, what a reference means."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tacit.domain.candidate import Candidate
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store
from tacit.domain.reach import is_anothers
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, SkillContent, SkillVersion
from tacit.domain.stored import Stored
from tacit.text.words import terms

RULES = frozenset({Kind.NORM, Kind.PREFERENCE})
NEIGHBOURS = 12
"""How many similar skills the gate looks at."""

SET_ASIDE_REASONS = (
    *("same_as", "superseded_by_", "merged_into"),
    *("says the same as ", "superseded by ", "merged into "),  # stored before reasons had codes
)
"""How the reason begins where a version was set aside because another one covers it, not because a person rejected it."""
_HELD = frozenset({Status.CANDIDATE, Status.QUARANTINED})
_SHORTEST_PREFIX = 4


def newest_recallable(versions: Sequence[Stored]) -> Stored:
    """Of one skill's versions the current one: the newest recallable, or the newest of all if none is."""
    recallable = [stored for stored in versions if stored.status in RECALLABLE]
    return max(recallable or versions, key=_sequence)


def meant_by(named: Sequence[Stored]) -> Stored:
    """Of all that bear a name the one that the name means: what may be recalled, then the narrowest scope, then the newest.

    So a project's own goes before its mirror, and whoever asks by name, for whatever purpose, speaks of the same skill.
    """
    return max(named, key=lambda held: (held.status in RECALLABLE, -held.skill.scope.level.breadth, held.sequence))


def namesakes(store: Store, stored: Stored) -> list[Stored]:
    """Other skills that bear the same name and are not gone, the narrowest first: a mirror, or what a mirror is shadowed by."""
    others: dict[str, list[Stored]] = {}
    for held in store.catalogue(name=stored.version.name):
        others.setdefault(held.skill.id, []).append(held)
    others.pop(stored.skill.id, None)
    found = [newest_recallable(versions) for versions in others.values()]
    left = [held for held in found if held.status not in (Status.REJECTED, Status.RETIRED)]
    return sorted(left, key=lambda held: held.skill.scope.level.breadth)


def newest_standing(versions: Sequence[Stored]) -> Stored:
    """Of one skill's versions the newest that nobody turned down."""
    return max((stored for stored in versions if stored.status is not Status.REJECTED), key=_sequence)


def current(store: Store, *, statuses: Collection[Status] | None = None) -> list[Stored]:
    """The current version of each skill, by name."""
    by_skill: dict[str, list[Stored]] = {}
    for stored in store.catalogue():
        by_skill.setdefault(stored.skill.id, []).append(stored)
    chosen = [newest_recallable(versions) for versions in by_skill.values()]
    return [stored for stored in chosen if statuses is None or stored.status in statuses]


def waiting(store: Store) -> list[Stored]:
    """What waits for a person, oldest first; an older candidate gives way to a newer one of the same skill."""
    newest = {stored.skill.id: stored for stored in sorted(store.catalogue(), key=_sequence)}
    return sorted((stored for stored in newest.values() if stored.status in _HELD), key=_sequence)


def existing(store: Store, names: Sequence[str], scope: Scope) -> set[str]:
    """Which of these names belong to skills that a composite of this scope may be made of."""
    gone = (Status.REJECTED, Status.RETIRED)
    return {
        name
        for name in names
        if any(held.skill.scope == scope and held.status not in gone for held in store.catalogue(name=name))
    }


def named_in(store: Store, content: SkillContent) -> list[SkillVersion]:
    """The versions of all skills that a content names: its parts, what comes before it, and what it extends."""
    names = dict.fromkeys((*content.sub_skills, *content.after, *([content.extends] if content.extends else ())))
    return [held.version for name in names for held in store.catalogue(name=name)]


def why_empty(store: Store) -> str:
    """Why there is nothing to recall at all; empty if something was approved."""
    if store.catalogue(statuses=RECALLABLE):
        return ""
    count = len(waiting(store))
    if count:
        return f"nothing is approved; {count} wait for `tacit review`"
    return "nothing is in use any more (`tacit skills list --all`)" if store.catalogue() else "nothing was learned yet"


def may_see(stored: Stored, scope: Scope, *, person: str) -> bool:
    """Whether a version may be shown to somebody who works there."""
    return stored.skill.scope.contains(scope) and not is_private(stored, person=person)


def is_private(stored: Stored, *, person: str) -> bool:
    """Whether a version is somebody else's preference, which is for them and for people who look, and for no agent."""
    content = stored.version.content
    return content.kind is Kind.PREFERENCE and is_anothers(content.person, person)


def find(store: Store, reference: str) -> Stored:
    """Find a version by its id, the beginning of it, a skill's id, or a skill's name."""
    named = store.catalogue(name=reference)
    if named:
        return meant_by(named)
    found = store.resolve(reference) if len(reference) >= _SHORTEST_PREFIX else []
    versions = [identity for identity in found if identity.startswith("v_")]
    if len(versions) == 1:
        return store.version(versions[0])
    skills = [identity for identity in found if identity.startswith("s_")]
    if len(skills) == 1:
        return newest_recallable(store.versions(skills[0]))
    if len(versions) + len(skills) > 1:
        raise Mistake(f"{reference!r} is ambiguous: {', '.join(found[:5])}", hint="give more characters of the id")
    raise NotFound(f"no skill or version {reference!r}", hint="see `tacit skills list --all`")


def _sequence(stored: Stored) -> int:
    return stored.sequence


def was_put_aside(store: Store, version_id: str) -> bool:
    """Whether a version has ever been put aside for something that says the same."""
    return any(_puts_aside(move) for move in store.transitions(version_id))


def alike(store: Store, candidate: Candidate) -> list[Stored]:
    """The newest version of each skill that may be the same as the candidate; of the one it revises, all versions.

    What was put aside for another is not asked: the other one is.
    """
    if candidate.revises:
        own = store.versions(candidate.revises)
        return [stored for stored in own if not _is_aside(store, stored)] or own
    content = candidate.content
    words = terms(f"{content.name} {content.description} {content.signature} {' '.join(content.tags)}")
    # A person's taste and a project's norm may be one rule.
    kinds = RULES if content.kind in RULES else {content.kind}
    hits = store.search(words, statuses=set(Status), kinds=kinds, limit=NEIGHBOURS)
    found = [*(hit.stored for hit in hits), *store.catalogue(name=content.name, kinds=kinds)]
    return [stored for stored in found if not _is_aside(store, stored) and not _is_anothers(stored, content)]


def _is_anothers(stored: Stored, content: SkillContent) -> bool:
    """Whether one of two preferences is one person's and the other another's: these are neither the same nor at odds."""
    known = stored.version.content
    both = known.kind is content.kind is Kind.PREFERENCE and known.person and content.person
    return bool(both) and known.person != content.person


def _is_aside(store: Store, stored: Stored) -> bool:
    gone = stored.status in (Status.REJECTED, Status.RETIRED)
    return gone and _puts_aside(store.transitions(stored.version.id)[-1])


def _puts_aside(move: Transition) -> bool:
    return move.before is not None and move.reason.startswith(SET_ASIDE_REASONS)


def neighbours(store: Store, candidate: Candidate) -> list[Stored]:
    """What may be used beside a candidate and speaks of the same: for a rule anything, for the others rules and, where it
    revises something, other procedures that work on the same things."""
    content = candidate.content
    if content.kind in RULES or (candidate.revises and content.preconditions):
        words = terms(f"{content.name} {content.description} {content.body}")
        hits = store.search(words, statuses=RECALLABLE, limit=NEIGHBOURS)
    else:
        hits = store.renderings.norms(candidate.scope, limit=NEIGHBOURS)
    return [hit.stored for hit in hits if not _is_anothers(hit.stored, content)]
