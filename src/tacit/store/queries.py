"""Questions about the skills of a store: the current version of each, what waits for review, what a reference means."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress

from tacit.domain.candidate import Candidate
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status, Transition
from tacit.domain.reach import breadth, is_anothers
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import RULE_KINDS, Kind, SkillContent, SkillVersion
from tacit.domain.stored import StoredVersion, current_only
from tacit.store.sqlite_store import Store
from tacit.text.words import terms

NEIGHBOURS = 12
"""How many similar skills the gate looks at."""

SET_ASIDE_REASONS = (
    *("same_as", "superseded_by_", "merged_into"),
    *("says the same as ", "superseded by ", "merged into "),  # stored before reasons had codes
    *("forecast_answered: ", "forecast_merged: "),
)
"""How the reason begins where a version was set aside because another one covers it, or by the forecast of a person, not
because a person rejected it: new evidence for it waits for review."""
_GONE = (Status.REJECTED, Status.RETIRED)
_SHORTEST_PREFIX = 4
"""Characters of an id that find it; fewer are more likely the beginning of a name."""
_VERSION_ID = re.compile("v_[0-9a-f]{32}")


def newest_recallable(versions: Sequence[StoredVersion]) -> StoredVersion:
    """The current one of a skill's versions: the newest recallable, or the newest of all if none is."""
    recallable = [stored for stored in versions if stored.status in RECALLABLE]
    return max(recallable or versions, key=_sequence)


def preferred_of_name(named: Sequence[StoredVersion]) -> StoredVersion:
    """The version that a name refers to: recallable before others, then the narrowest scope, then the newest.

    So a project's own skill is preferred to its mirror.
    """
    return max(
        named, key=lambda stored: (stored.status in RECALLABLE, -stored.skill.scope.level.breadth, stored.sequence)
    )


def namesakes(store: Store, stored: StoredVersion) -> list[StoredVersion]:
    """Other skills of the same name that are not rejected or retired, the narrowest scope first."""
    others = [each for each in store.catalogue(name=stored.version.name) if each.skill.id != stored.skill.id]
    left = [other for other in _current_of_each(others) if other.status not in _GONE]
    return sorted(left, key=lambda other: other.skill.scope.level.breadth)


def _current_of_each(versions: Sequence[StoredVersion]) -> list[StoredVersion]:
    """The current version of each skill among these, in the order in which the skills appear."""
    by_skill: dict[str, list[StoredVersion]] = {}
    for stored in versions:
        by_skill.setdefault(stored.skill.id, []).append(stored)
    return [newest_recallable(own) for own in by_skill.values()]


def newest_not_rejected(versions: Sequence[StoredVersion]) -> StoredVersion:
    """The newest of one skill's versions that was not rejected."""
    return max((stored for stored in versions if stored.status is not Status.REJECTED), key=_sequence)


def current(store: Store, *, statuses: Collection[Status] | None = None) -> list[StoredVersion]:
    """The current version of each skill, by name."""
    chosen = _current_of_each(store.catalogue())
    return [stored for stored in chosen if statuses is None or stored.status in statuses]


def waiting(store: Store) -> list[StoredVersion]:
    """Return what waits for review, oldest first: of each skill its newest version, if that waits.

    What sessions learned is left out once it has moved up: a person decides on it once, at the broader scope.
    """
    newest = {stored.skill.id: stored for stored in sorted(store.catalogue(), key=_sequence)}
    broader = (stored for stored in newest.values() if stored.skill.scope.level.breadth >= Level.PROJECT.breadth)
    moved_up = {parent for stored in broader for parent in stored.version.parents}
    held = [stored for stored in newest.values() if stored.status in WAITING]
    narrow = {stored.version.id for stored in held if stored.skill.scope.level.breadth < Level.PROJECT.breadth}
    return sorted((stored for stored in held if stored.version.id not in narrow & moved_up), key=_sequence)


def existing_names(store: Store, names: Sequence[str], scope: Scope) -> set[str]:
    """Which of these names belong to skills that may be parts of a composite in this scope."""
    return {
        name
        for name in names
        if any(stored.skill.scope == scope and stored.status not in _GONE for stored in store.catalogue(name=name))
    }


def versions_named_in(store: Store, content: SkillContent) -> list[SkillVersion]:
    """The versions of all skills that a content names: its parts, its predecessors, and the one it extends."""
    names = dict.fromkeys((*content.sub_skills, *content.after, *([content.extends] if content.extends else ())))
    return [stored.version for name in names for stored in store.catalogue(name=name)]


def parts_of(store: Store, composite: SkillVersion) -> tuple[SkillVersion, ...]:
    """Return the recallable versions of the skills that a composite names, in its order, as seen from its scope.

    Of skills with one name those of its kind come first, then the narrowest scope, then the newest.
    """
    content = composite.content
    scope = store.version(composite.id).skill.scope if content.sub_skills else Scope()
    found: dict[str, SkillVersion] = {}
    for name in content.sub_skills:
        named = store.catalogue(statuses=RECALLABLE, name=name)
        visible = [each for each in named if each.skill.scope.contains(scope) and each.version.id != composite.id]
        for part in sorted(
            current_only(visible),
            key=lambda each: (
                each.version.content.kind is not content.kind,
                breadth(str(each.skill.scope)),
                -each.sequence,
            ),
        )[:1]:
            found[part.version.id] = part.version
    return tuple(found.values())


def why_empty(store: Store) -> ReasonCode | None:
    """Why there is nothing to recall at all; None if something was approved."""
    if store.catalogue(statuses=RECALLABLE):
        return None
    if waiting(store):
        return ReasonCode.NOTHING_APPROVED
    return ReasonCode.NOTHING_IN_USE if store.catalogue() else ReasonCode.NOTHING_LEARNED


def may_see(stored: StoredVersion, scope: Scope, *, person: str) -> bool:
    """Whether a version may be shown to a person who works in a scope."""
    return stored.skill.scope.contains(scope) and not is_private(stored, person=person)


def is_private(stored: StoredVersion, *, person: str) -> bool:
    """Whether a version is another person's preference, which agents of this person must not see."""
    content = stored.version.content
    return content.kind is Kind.PREFERENCE and is_anothers(content.person, person)


def find(store: Store, reference: str) -> StoredVersion:
    """Find a version by a skill's name or id, or by its own id; the beginning of an id is enough."""
    if _VERSION_ID.fullmatch(reference):  # no name has an underscore
        with suppress(NotFound):
            return store.version(reference)
    named = store.catalogue(name=reference)
    if named:
        return preferred_of_name(named)
    found = store.resolve(reference) if len(reference) >= _SHORTEST_PREFIX else []
    versions = [identity for identity in found if identity.startswith("v_")]
    if len(versions) == 1:
        return store.version(versions[0])
    skills = [identity for identity in found if identity.startswith("s_")]
    if len(skills) == 1:
        return newest_recallable(store.versions(skills[0]))
    if len(versions) + len(skills) > 1:
        raise Mistake(
            f"{reference!r} is ambiguous: {', '.join(found[:5])}",
            code="ambiguous_reference",
            hint="give more characters of the id",
        )
    raise NotFound(
        f"no skill or version {reference!r}", hint=f"{_nearest_name(store, reference)}see `tacit skills --all`"
    )


def _nearest_name(store: Store, reference: str) -> str:
    """Return a suggestion for a mistyped name. The name of a preference would tell others what it is."""
    import difflib

    names = {each.version.name for each in store.catalogue() if each.version.content.kind is not Kind.PREFERENCE}
    near = difflib.get_close_matches(reference, sorted(names), n=1)
    return f"did you mean `{near[0]}`? else " if near else ""


def _sequence(stored: StoredVersion) -> int:
    return stored.sequence


def was_set_aside(store: Store, version_id: str) -> bool:
    """Whether a version has ever been set aside (`SET_ASIDE_REASONS`)."""
    return any(_sets_aside(move) for move in store.transitions(version_id))


def similar_versions(store: Store, candidate: Candidate) -> list[StoredVersion]:
    """The newest version of each skill that may be the same as the candidate; of the one it revises, all versions.

    Versions that were set aside are left out: the version that covers them, if any, is found instead.
    """
    if candidate.revises:
        own = store.versions(candidate.revises)
        return [stored for stored in own if not _is_set_aside(store, stored)] or own
    content = candidate.content
    words = terms(f"{content.name} {content.description} {content.signature} {' '.join(content.tags)}")
    # A person's preference and a project's norm may be the same rule.
    kinds = RULE_KINDS if content.kind in RULE_KINDS else {content.kind}
    hits = store.search(words, statuses=set(Status), kinds=kinds, limit=NEIGHBOURS)
    found = [*(hit.stored for hit in hits), *store.catalogue(name=content.name, kinds=kinds)]
    return [stored for stored in found if not _is_set_aside(store, stored) and not _is_anothers(stored, content)]


def _is_anothers(stored: StoredVersion, content: SkillContent) -> bool:
    """Whether these are preferences of two persons, which are neither the same nor contradictory."""
    known = stored.version.content
    both = known.kind is content.kind is Kind.PREFERENCE and known.person and content.person
    return bool(both) and known.person != content.person


def _is_set_aside(store: Store, stored: StoredVersion) -> bool:
    return stored.status in _GONE and _sets_aside(store.transitions(stored.version.id)[-1])


def _sets_aside(move: Transition) -> bool:
    return move.before is not None and move.reason.startswith(SET_ASIDE_REASONS)


def neighbours(store: Store, candidate: Candidate) -> list[StoredVersion]:
    """Recallable versions on the same subject as a candidate, to compare it with.

    A rule, or a revision with preconditions, is compared with everything; anything else only with rules.
    """
    content = candidate.content
    if content.kind in RULE_KINDS or (candidate.revises and content.preconditions):
        words = terms(f"{content.name} {content.description} {content.body}")
        hits = store.search(words, statuses=RECALLABLE, limit=NEIGHBOURS)
    else:
        hits = store.renderings.norms(candidate.scope, limit=NEIGHBOURS)
    return [hit.stored for hit in hits if not _is_anothers(hit.stored, content)]
