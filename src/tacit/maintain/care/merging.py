"""What says the same: skills that could be one, and what still waits although it is said already. Library → cares.

Two recallable skills become one version, with both as its parents, that waits for a person; only after that person's yes the
other one leaves, and can be brought back. Of two that both wait the older is kept, with what the newer one adds. Where both
take a step in other words, what a person wrote last stands; and what cannot both be followed is never made one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from tacit import gate
from tacit.domain.candidate import Candidate
from tacit.domain.care import Care, CareKind
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.domain.skill import SkillContent, SkillVersion, accounted
from tacit.gate.duplicates import aligned
from tacit.maintain.care.library import BY, Library
from tacit.maintain.care.pairs import Pair, near_pairs
from tacit.store import queries as shelf
from tacit.text.shell import shell_text

T = TypeVar("T")
MADE_BY = "tacit.merging"
USE_WHEN = " Use when "
"""What a description says behind this is for those who choose, and nobody asks in such words."""


def merges(library: Library) -> list[Care]:
    """What a skill was merged into leaves; then each skill with the one that is most like it, at most one pair of each."""
    left = list(_merged_away(library))
    taken = {care.skill_id for care in left}
    found: list[Care] = []
    standing = [stored for stored in library.speaking if stored.skill.id not in taken]
    for pair in near_pairs(standing, library.policy.duplicate_similarity, progress=library.progress):
        skills = {pair.older.skill.id, pair.newer.skill.id}
        care = _together(library, pair) if taken.isdisjoint(skills) else None
        if care is not None:
            found.append(care)
            taken |= skills
    return [*left, *found]


def superseded(library: Library) -> list[Care]:
    """Drafts that wait although a newer version of their skill was approved."""
    found: list[Care] = []
    for versions in library.skills.values():
        approved = next((stored for stored in reversed(versions) if stored.status in RECALLABLE), None)
        for draft in versions if approved else ():
            if approved and draft.status is Status.CANDIDATE and draft.sequence < approved.sequence:
                reason = f"{shelf.SUPERSEDED}version {approved.version.id}, which was approved since"
                found += _set_aside(library, draft, reason, kind=CareKind.SUPERSEDED)
    return found


def _together(library: Library, pair: Pair) -> Care | None:
    """What becomes of two skills that say the same; nothing where that was decided before, or where they contradict."""
    if gate.disagreement(pair.older.version.content, pair.newer.version.content):
        return None
    apart = bool(worded_apart(pair.older.version.content, pair.newer.version.content))
    worth = [(_worth(library, each, apart=apart), each) for each in (pair.older, pair.newer)]
    kept, given = (each for _, each in sorted(worth, key=lambda pair: pair[0], reverse=True))
    waits = given.status not in RECALLABLE
    if waits and apart and _written_at(library.store, given):
        return None  # somebody's own words are not put aside before anybody has looked
    if waits and kept.status in RECALLABLE and gate.adds_nothing(given.version.content, kept.version.content):
        reason = f"{shelf.SUPERSEDED}`{kept.version.name}`, which says this already (likeness {pair.likeness:.2f})"
        return next(_set_aside(library, given, reason, kind=CareKind.SUPERSEDED), None)
    if _was_proposed(library, kept, given):
        return None
    if kept.status not in RECALLABLE:
        return _one_of_two_drafts(library, pair)
    one, differing = merged(kept, given), _told_apart(kept, given)
    if one.content == kept.version.content:  # nothing would be new
        reason = f"{shelf.MERGED}`{kept.version.name}` {kept.version.id}{differing or ', which says all of it'}"
        return next(_set_aside(library, given, reason, kind=CareKind.MERGE), None)
    return Care(
        kind=CareKind.MERGE,
        subject=kept.version.id,
        skill_id=kept.skill.id,
        name=kept.version.name,
        reason=f"says the same as `{given.version.name}` (likeness {pair.likeness:.2f}){differing}",
        candidate=one,
        advice=f"one version of both would wait for `tacit review`; or tacit review {given.version.name} --retire",
    )


def _one_of_two_drafts(library: Library, pair: Pair) -> Care | None:
    """Of two that wait the newer is set aside; what it adds becomes a further version of the older."""
    kept, given = pair.older, pair.newer
    reason = f"{shelf.SAME}`{kept.version.name}` {kept.version.id}, which waits too (likeness {pair.likeness:.2f})"
    care = next(_set_aside(library, given, reason, kind=CareKind.MERGE), None)
    if care is None or gate.adds_nothing(given.version.content, kept.version.content):
        return care
    return dataclasses.replace(care, candidate=merged(kept, given))


def merged(kept: Stored, given: Stored) -> Candidate:
    """One candidate made of two versions: the next version of the first, with both as parents and the sources of both."""
    words_of = kept.version.provenance.made_by
    made_by = MADE_BY if words_of.startswith("tacit.") else words_of  # a person's words stay a person's
    source = _asked_for_by(_in_the_words_of(_in_the_order_of(given.version, kept.version), kept.version), kept.version)
    newcomer = Candidate(
        content=source.content,
        scope=kept.skill.scope,
        origins=source.origins,
        provenance=dataclasses.replace(source.provenance, made_by=made_by),
        by=BY,
    )
    one = gate.joined(newcomer, kept.version)
    return dataclasses.replace(one, revises=kept.skill.id, parents=(kept.version.id, given.version.id))


def _in_the_order_of(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """A version with the steps as the other one takes them, where both take the same ones: then either order has worked."""
    if Counter(gate.shapes(given.content.steps)) != Counter(gate.shapes(kept.content.steps)):
        return given
    content = dataclasses.replace(given.content, steps=kept.content.steps, parameters=kept.content.parameters)
    origins = _steps_of(kept.origins, others=given.origins)
    grounding = _steps_of(kept.provenance.grounding, others=given.provenance.grounding)
    provenance = dataclasses.replace(given.provenance, grounding=grounding)
    return dataclasses.replace(given, content=content, origins=origins, provenance=provenance, id="", hash="")


def worded_apart(one: SkillContent, other: SkillContent) -> list[tuple[int, int]]:
    """The steps that both take and that do not say the same, by their numbers on either side."""
    pairs = aligned(other.steps, one.steps)
    return [(i, j) for i, j in pairs if i is not None and j is not None and _said(one, i) != _said(other, j)]


def _said(content: SkillContent, number: int) -> object:
    step = content.steps[number]
    return step.arguments or step.text


def _written_at(store: Store, stored: Stored) -> float:
    """When what somebody wrote was approved, or came; 0 where it was learned."""
    version = stored.version
    if version.provenance.made_by.startswith("tacit."):
        return 0.0
    return max((approval.at for approval in store.approvals(version.id)), default=version.created_at).timestamp()


def _told_apart(kept: Stored, given: Stored) -> str:
    """Which step both take in other words, and whose words stand; empty where there is none."""
    ours, theirs = kept.version.content, given.version.content
    for i, j in worded_apart(ours, theirs):
        said = [shell_text(step.arguments) or step.text for step in (ours.steps[i], theirs.steps[j])]
        return f"; step {i + 1} stays “{said[0][:80]}”, not “{said[1][:80]}”"
    return ""


def _in_the_words_of(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """A version that takes the steps of both in the other one's words, with where those come from."""
    steps, pairs = list(given.content.steps), worded_apart(kept.content, given.content)
    for i, j in pairs:
        steps[j] = dataclasses.replace(kept.content.steps[i], optional=steps[j].optional)
    if not pairs:
        return given
    content = dataclasses.replace(given.content, steps=tuple(steps))
    origins = _moved(kept.origins, given.origins, pairs)
    grounding = _moved(kept.provenance.grounding, given.provenance.grounding, pairs)
    provenance = dataclasses.replace(given.provenance, grounding=grounding)
    return dataclasses.replace(given, content=content, origins=origins, provenance=provenance, id="", hash="")


def _moved(kept: Mapping[str, T], others: Mapping[str, T], pairs: Sequence[tuple[int, int]]) -> dict[str, T]:
    """What is noted of one side, where these steps have what is noted of the other side's."""
    to = {str(i): str(j) for i, j in pairs}

    def of_step(path: str, numbers: Collection[str]) -> bool:
        head, _, rest = path.partition(".")
        return head == "steps" and rest.partition(".")[0] in numbers

    own = {path: noted for path, noted in others.items() if not of_step(path, to.values())}
    return own | {
        ".".join(["steps", to[path.split(".")[1]], *path.split(".")[2:]]): noted
        for path, noted in kept.items()
        if of_step(path, to)
    }


def _asked_for_by(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """A version that gives what it says of itself as an example of what is asked for, since the other's words will stand."""
    content = given.content
    asked = content.description.partition(USE_WHEN)[0].strip()
    if not asked or asked in (*content.example_queries, kept.content.description.partition(USE_WHEN)[0].strip()):
        return given
    path, said = f"example_queries.{len(content.example_queries)}", given.provenance.grounding.get("description", ())
    provenance = dataclasses.replace(given.provenance, grounding={**given.provenance.grounding, path: said})
    return dataclasses.replace(
        given,
        content=dataclasses.replace(content, example_queries=(*content.example_queries, asked)),
        origins={**given.origins, path: accounted(content, given.origins).get("description", Origin.EXTERNAL)},
        provenance=provenance if said else given.provenance,
        id="",
        hash="",
    )


def _steps_of(kept: Mapping[str, T], *, others: Mapping[str, T]) -> dict[str, T]:
    """What is noted of one side's steps and parameters, and of the rest of the other side."""

    def is_step(path: str) -> bool:
        return path.partition(".")[0] in ("steps", "parameters")

    return {path: noted for path, noted in others.items() if not is_step(path)} | {
        path: noted for path, noted in kept.items() if is_step(path)
    }


def _merged_away(library: Library) -> Iterator[Care]:
    """What is left of a skill after a person approved the version that it was merged into."""
    for stored in library.recallable:
        for parent in _foreign_parents(library, stored):
            reason = f"{shelf.MERGED}`{stored.version.name}` {stored.version.id}"
            for version in library.skills[parent.skill.id]:
                if version.sequence <= parent.sequence:
                    yield from _set_aside(library, version, reason, kind=CareKind.MERGE)


def _foreign_parents(library: Library, stored: Stored) -> Iterator[Stored]:
    """Versions of other skills that were merged into this one, or into what it was made of within its skill."""
    for parent_id in stored.version.parents:
        parent = library.versions.get(parent_id)
        if parent is None:
            continue
        if parent.skill.id != stored.skill.id:
            if library.store.transitions(stored.version.id)[0].by == BY:  # a composite's parts stay
                yield parent
        elif parent.status not in RECALLABLE and parent.sequence < stored.sequence:
            yield from _foreign_parents(library, parent)


def _set_aside(library: Library, stored: Stored, reason: str, *, kind: CareKind) -> Iterator[Care]:
    """Take a version out, unless it is out, is set apart as suspicious, or a person brought it back after such a move."""
    after = {Status.CANDIDATE: Status.REJECTED, **dict.fromkeys(RECALLABLE, Status.RETIRED)}.get(stored.status)
    if after is None or shelf.was_put_aside(library.store, stored.version.id):
        return
    back = "--restore" if after is Status.RETIRED else "--reopen"
    yield Care(
        kind=kind,
        subject=stored.version.id,
        skill_id=stored.skill.id,
        name=stored.version.name,
        reason=reason,
        move=stored.moved(after, reason, by=BY, at=library.at),
        advice=f"it would be {after}; tacit review {stored.version.id[:12]} {back} brings it back",
    )


def _worth(library: Library, stored: Stored, *, apart: bool) -> tuple[bool, bool, float, int, int]:
    """Which of two skills stays: the recallable, the pinned, the better proven, the older one.

    Where the two are worded `apart`, what a person wrote and approved last goes before what is better proven.
    """
    written = _written_at(library.store, stored) if apart else 0.0
    proven = sum(item.grade.verified for item in library.evidence.get(stored.version.id, ()))
    return stored.status in RECALLABLE, stored.skill.id in library.pinned, written, proven, -stored.sequence


def _was_proposed(library: Library, one: Stored, other: Stored) -> bool:
    """Whether one of them was put together with the other before, whatever a person said to it."""
    return any(
        given.version.id in version.version.parents
        for kept, given in ((one, other), (other, one))
        for version in library.skills[kept.skill.id]
    )
