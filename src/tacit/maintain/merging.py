"""Merging: find skills with the same content and combine them; find drafts that an approved version replaces.

Two recallable skills become one candidate with both as parents; only after a person approves it, the other one is
retired, and can be restored. Of two drafts the older is kept, with what the newer one adds. Where both word a step
differently, what a person wrote last is kept. Skills that contradict each other are never merged.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tacit.domain.candidate import Candidate
from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind, CareReason
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded, joined_text
from tacit.domain.skill import OWN_PREFIX, Kind, SkillContent, SkillVersion, with_default_origins
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Span
from tacit.evidence.friction import template_pattern
from tacit.gate.duplicates import ACTIONS_WEIGHT, adds_nothing, aligned, disagreement, shapes, similarity
from tacit.gate.judgement import merge_candidate
from tacit.learn.parameters import Binding, Generalisation, fill
from tacit.learn.values import PLACEHOLDER, ValueSighting
from tacit.maintain.status_changes import LibraryView, care_of
from tacit.store import Store, queries
from tacit.text.shell import shell_text
from tacit.text.similarity import NeighbourIndex
from tacit.text.words import term_set

T = TypeVar("T")
_WORD = re.compile(r"[^\W_]+")
MADE_BY = "tacit.merging"
USE_WHEN = " Use when "
"""The part of a description after this is for choosing a skill; people do not ask in such words."""
NEIGHBOURS = 12
"""How many others each skill is compared with."""
MOST_PER_FEATURE = 64
"""Over one word or step a skill meets at most so many others, the newest that have it."""


def merges(library: LibraryView) -> list[Care]:
    """Find what is left of merged skills, then the most similar pairs, each skill in at most one."""
    left: list[Care] = []
    for stored in library.recallable:
        for parent in _merged_parents(library, stored):  # a person approved the merged version
            reason = coded(CareReason.MERGED_INTO, name=stored.version.name, id=stored.version.id)
            for version in library.skills[parent.skill.id]:
                if version.sequence <= parent.sequence:
                    left += _set_aside(library, version, [reason], kind=CareKind.MERGE)
    taken = {care.skill_id for care in left}
    found: list[Care] = []
    remaining = [stored for stored in library.current if stored.skill.id not in taken]
    for pair in near_pairs(remaining, library.policy.duplicate_similarity, progress=library.progress):
        skills = {pair.older.skill.id, pair.newer.skill.id}
        care = _merge_care(library, pair) if taken.isdisjoint(skills) else None
        if care is not None:
            found.append(care)
            taken |= skills
    return [*left, *found]


def superseded(library: LibraryView) -> Iterator[Care]:
    """Find drafts that wait although a newer version of their skill was approved."""
    for versions in library.skills.values():
        approved = next((stored for stored in reversed(versions) if stored.status in RECALLABLE), None)
        for draft in versions if approved else ():
            if approved and draft.status is Status.CANDIDATE and draft.sequence < approved.sequence:
                reason = coded(CareReason.SUPERSEDED_BY_VERSION, id=approved.version.id)
                yield from _set_aside(library, draft, [reason], kind=CareKind.SUPERSEDED)


def _merge_care(library: LibraryView, pair: SimilarPair) -> Care | None:
    """Decide about two similar skills; None where that was decided before, or where they contradict each other."""
    if disagreement(pair.older.version.content, pair.newer.version.content):
        return None
    if not _one_subject(pair.older.version.content, pair.newer.version.content):
        return None  # each names its own value where the other's steps have another one
    apart = bool(differently_worded(pair.older.version.content, pair.newer.version.content))
    worth = [(_precedence(library, each, apart=apart), each) for each in (pair.older, pair.newer)]
    kept, given = (each for _, each in sorted(worth, key=lambda pair: pair[0], reverse=True))
    if generalises(given.version.content, kept.version.content):
        if kept.status in RECALLABLE and given.status not in RECALLABLE:
            return None  # the general one is reviewed as it is
        kept, given = given, kept
    waits = given.status not in RECALLABLE
    if waits and apart and _written_at(library.store, given):
        return None  # a person's draft is not set aside before it is reviewed
    if waits and kept.status in RECALLABLE and adds_nothing(given.version.content, kept.version.content):
        known = kept.version
        reason = coded(CareReason.SUPERSEDED_BY_SKILL, name=known.name, id=known.id, similarity=pair.similarity)
        return next(_set_aside(library, given, [reason], kind=CareKind.SUPERSEDED), None)
    for parent, child in ((given, kept), (kept, given)):
        if any(parent.version.id in each.version.parents for each in library.skills[child.skill.id]):
            return None  # it was proposed before, whatever a person decided
    if kept.status not in RECALLABLE:
        # Of two drafts the newer is set aside; what it adds becomes a further version of the older.
        general = generalises(pair.newer.version.content, pair.older.version.content)
        kept, given = (pair.newer, pair.older) if general else (pair.older, pair.newer)
        reason = coded(CareReason.SAME_AS, name=kept.version.name, id=kept.version.id, similarity=pair.similarity)
        care = next(_set_aside(library, given, [reason], kind=CareKind.MERGE), None)
        if care is None or adds_nothing(given.version.content, kept.version.content):
            return care
        return dataclasses.replace(care, candidate=merged(kept, given))
    one, wording = merged(kept, given), list[CodedReason]()
    ours, theirs = kept.version.content, given.version.content
    for i, j in differently_worded(ours, theirs)[:1]:
        texts = [shell_text(step.arguments) or step.text for step in (ours.steps[i], theirs.steps[j])]
        wording.append(coded(CareReason.STEP_KEPT, step=i + 1, kept=texts[0][:80], dropped=texts[1][:80]))
    if one.content == kept.version.content:  # nothing would be new
        reason = coded(CareReason.MERGED_INTO, name=kept.version.name, id=kept.version.id)
        return next(_set_aside(library, given, [reason, *wording], kind=CareKind.MERGE), None)
    similar = coded(CareReason.SIMILAR_SKILL, name=given.version.name, similarity=pair.similarity)
    advice = coded(Advice.MERGE_OR_RETIRE, name=given.version.name)
    return care_of(kept, CareKind.MERGE, (similar, *wording), candidate=one, advice=(advice,))


def merged(kept: StoredVersion, given: StoredVersion) -> Candidate:
    """Return one candidate made of two versions: the next version of the first, with both as parents and sources."""
    author = kept.version.provenance.made_by
    made_by = MADE_BY if author.startswith(OWN_PREFIX) else author  # a person stays the author of their words
    source = given.version
    for adapted in (_with_parameters_of, _with_order_of, _with_words_of, _with_description_as_query):
        source = adapted(source, kept.version)
    newcomer = Candidate(
        content=source.content,
        scope=kept.skill.scope,
        origins=source.origins,
        provenance=dataclasses.replace(source.provenance, made_by=made_by),
        by=BY_ITSELF,
    )
    one = merge_candidate(newcomer, kept.version)
    return dataclasses.replace(one, revises=kept.skill.id, parents=(kept.version.id, given.version.id))


def _step_texts(one: SkillContent, other: SkillContent) -> Iterator[tuple[str, str]]:
    """Yield the texts of the first one's arguments beside those of the other's, for the steps that both take."""
    for i, j in differently_worded(one, other):
        ours, theirs = one.steps[i].arguments, other.steps[j].arguments
        for key in ours.keys() & theirs.keys():
            if isinstance(ours[key], str) and isinstance(theirs[key], str) and ours[key] != theirs[key]:
                yield ours[key], theirs[key]


def bindings(general: SkillContent, other: SkillContent) -> dict[str, str]:
    """Return what the other has in place of each parameter; without those that stand for several things there."""
    names = {parameter.name for parameter in general.parameters}
    found: dict[str, set[str]] = defaultdict(set)
    for template, text in _step_texts(general, other):
        pieces = PLACEHOLDER.split(template)
        if not set(pieces[1::2]) <= names or not all(map(str.isidentifier, pieces[1::2])):
            continue
        if match := re.fullmatch(template_pattern(template, value=".+?"), text, re.DOTALL):
            for name, value in match.groupdict().items():
                found[name].add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def generalises(one: SkillContent, other: SkillContent) -> bool:
    """Whether the first has a parameter where the second has a value."""
    return any(not PLACEHOLDER.search(value) for value in bindings(one, other).values())


def _one_subject(one: SkillContent, other: SkillContent) -> bool:
    """Whether two skills do not each name a value of their own that the other's steps have in another form."""
    titles = [
        frozenset(_WORD.findall(f"{each.name} {each.description}".lower().replace("-", " "))) for each in (one, other)
    ]
    for ours, theirs in _step_texts(one, other):
        left, right = (frozenset(_WORD.findall(PLACEHOLDER.sub(" ", text).lower())) for text in (ours, theirs))
        if (left - right) & (titles[0] - titles[1]) and (right - left) & (titles[1] - titles[0]):
            return False
    return True


def _with_parameters_of(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """Return a version with the other's parameters: for its own of another name, and for the values in their place."""
    named = {
        name: value for name, value in bindings(given.content, kept.content).items() if PLACEHOLDER.fullmatch(value)
    }
    values = {
        name: value
        for name, value in bindings(kept.content, given.content).items()
        if not PLACEHOLDER.search(value) and (len(value) > 1 or value.isdigit())  # a letter may be any word
    }
    by_name = {parameter.name: parameter for parameter in kept.content.parameters}
    place = ValueSighting(Origin.USER, 0, "text")
    general = Generalisation(
        tuple(Binding(parameter=by_name[name], original=value, place=place) for name, value in values.items())
    )
    if not named and not values:
        return given

    def changed(value: Any) -> Any:
        return general.arguments(fill(value, named))

    def text(value: str) -> str:
        return general.text(str(fill(f"{value} ", named))[:-1], folded=True)

    content = given.content
    steps = [
        dataclasses.replace(step, text=text(step.text), arguments=changed(step.arguments)) for step in content.steps
    ]
    parameters = [by_name.get(named.get(each.name, "").strip("{}"), each) for each in content.parameters]
    before, after = (
        tuple(dataclasses.replace(each, text=text(each.text), check=text(each.check)) for each in conditions)
        for conditions in (content.preconditions, content.postconditions)
    )
    content = dataclasses.replace(
        content,
        description=text(content.description),
        example_queries=tuple(map(text, content.example_queries)),
        steps=tuple(steps),
        parameters=tuple(parameters),
        preconditions=before,
        postconditions=after,
    )
    return _changed(given, content, given.origins, given.provenance.grounding)


def _with_order_of(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """Return a version with its steps in the other's order, where both take the same ones: either order has worked."""
    if Counter(shapes(given.content.steps)) != Counter(shapes(kept.content.steps)):
        return given

    def entries(kept: Mapping[str, T], others: Mapping[str, T]) -> dict[str, T]:
        """The entries of one side's steps and parameters, and the rest of the other side."""
        own = ("steps", "parameters")
        found = {path: entry for path, entry in others.items() if path.partition(".")[0] not in own}
        return found | {path: entry for path, entry in kept.items() if path.partition(".")[0] in own}

    content = dataclasses.replace(given.content, steps=kept.content.steps, parameters=kept.content.parameters)
    grounding = entries(kept.provenance.grounding, given.provenance.grounding)
    return _changed(given, content, entries(kept.origins, given.origins), grounding)


def _changed(
    given: SkillVersion,
    content: SkillContent,
    origins: Mapping[str, Origin],
    grounding: Mapping[str, tuple[Span, ...]],
) -> SkillVersion:
    """Return a version with other content, which has no id yet."""
    provenance = dataclasses.replace(given.provenance, grounding=grounding)
    return dataclasses.replace(given, content=content, origins=origins, provenance=provenance, id="", hash="")


def differently_worded(one: SkillContent, other: SkillContent) -> list[tuple[int, int]]:
    """Return the steps that both take and word differently, as pairs of their numbers."""
    ours, theirs = ([step.arguments or step.text for step in content.steps] for content in (one, other))
    pairs = aligned(other.steps, one.steps)
    return [(i, j) for i, j in pairs if i is not None and j is not None and ours[i] != theirs[j]]


def _written_at(store: Store, stored: StoredVersion) -> float:
    """When a person's text was last approved, or else created; 0 for a learned version."""
    version = stored.version
    if version.provenance.by_tacit:
        return 0.0
    return max((approval.at for approval in store.approvals(version.id)), default=version.created_at).timestamp()


def _with_words_of(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """Return a version with the shared steps in the other's words, and with the origins of those words."""
    steps, pairs = list(given.content.steps), differently_worded(kept.content, given.content)
    for i, j in pairs:
        steps[j] = dataclasses.replace(kept.content.steps[i], optional=steps[j].optional)
    if not pairs:
        return given
    content = dataclasses.replace(given.content, steps=tuple(steps))
    origins = _entries_of_pairs(kept.origins, given.origins, pairs)
    grounding = _entries_of_pairs(kept.provenance.grounding, given.provenance.grounding, pairs)
    return _changed(given, content, origins, grounding)


def _entries_of_pairs(kept: Mapping[str, T], others: Mapping[str, T], pairs: Sequence[tuple[int, int]]) -> dict[str, T]:
    """Return the entries of one side, where those of the paired steps come from the other side."""
    to = {f"steps.{i}": f"steps.{j}" for i, j in pairs}

    def step(path: str) -> str:
        return ".".join(path.split(".")[:2])

    found = {path: entry for path, entry in others.items() if step(path) not in to.values()}
    moved = {path: to[step(path)] + path.removeprefix(step(path)) for path in kept if step(path) in to}
    return found | {moved[path]: entry for path, entry in kept.items() if path in moved}


def _with_description_as_query(given: SkillVersion, kept: SkillVersion) -> SkillVersion:
    """Return a version with its description as an example query, since the other's description will be kept."""
    content = given.content
    asked = content.description.partition(USE_WHEN)[0].strip()
    if not asked or asked in (*content.example_queries, kept.content.description.partition(USE_WHEN)[0].strip()):
        return given
    path, grounding = f"example_queries.{len(content.example_queries)}", given.provenance.grounding
    if spans := grounding.get("description", ()):
        grounding = {**grounding, path: spans}
    origin = with_default_origins(content, given.origins).get("description", Origin.EXTERNAL)
    asking = dataclasses.replace(content, example_queries=(*content.example_queries, asked))
    return _changed(given, asking, {**given.origins, path: origin}, grounding)


def _merged_parents(library: LibraryView, stored: StoredVersion) -> Iterator[StoredVersion]:
    """Versions of other skills that were merged into this one or into its own earlier versions."""
    for parent_id in stored.version.parents:
        parent = library.versions.get(parent_id)
        if parent is None:
            continue
        if parent.skill.id != stored.skill.id:
            if library.store.transitions(stored.version.id)[0].by == BY_ITSELF:  # a composite's parts stay
                yield parent
        elif parent.status not in RECALLABLE and parent.sequence < stored.sequence:
            yield from _merged_parents(library, parent)


def _set_aside(
    library: LibraryView, stored: StoredVersion, reasons: Sequence[CodedReason], *, kind: CareKind
) -> Iterator[Care]:
    """Take a version out of use, unless it is out, is quarantined, or a person restored it after such a move."""
    after = {Status.CANDIDATE: Status.REJECTED, **dict.fromkeys(RECALLABLE, Status.RETIRED)}.get(stored.status)
    if after is None or queries.was_set_aside(library.store, stored.version.id):
        return
    option = "--restore" if after is Status.RETIRED else "--reopen"
    yield care_of(
        stored,
        kind,
        reasons,
        move=stored.transition_to(after, joined_text(reasons), by=BY_ITSELF, at=library.at),
        advice=(coded(Advice.UNDO_SET_ASIDE, after=str(after), id=stored.version.id[:12], option=option),),
    )


def _precedence(library: LibraryView, stored: StoredVersion, *, apart: bool) -> tuple[bool, bool, float, int, int]:
    """Sort key for which of two skills is kept: recallable, then pinned, then better proven, then older.

    Where the two are worded `apart`, what a person wrote and approved last goes before what is better proven.
    """
    written = _written_at(library.store, stored) if apart else 0.0
    proven = sum(item.grade.verified for item in library.evidence.get(stored.version.id, ()))
    return stored.status in RECALLABLE, stored.skill.id in library.pinned, written, proven, -stored.sequence


# --- similar pairs ----------------------------------------------------------------------------------------------------
#
# Not every two skills are compared: skills of one kind and scope meet over a word of their subject or a step that both have,
# and each is compared with the dozen that share most of what is rare.


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarPair:
    """Two skills with the same content, as far as the gate's measure can tell."""

    older: StoredVersion
    newer: StoredVersion
    similarity: float


def near_pairs(
    versions: Sequence[StoredVersion], least: float, *, progress: Callable[[int, int], None] | None = None
) -> list[SimilarPair]:
    """Return the pairs of one kind and scope that are at least so similar, the most similar first."""
    groups: dict[Hashable, list[StoredVersion]] = defaultdict(list)
    for stored in sorted(versions, key=lambda each: each.sequence):
        if stored.skill.kind is not Kind.REFERENCE:  # two documents stay two, however similar their records
            groups[stored.version.content.kind, stored.skill.scope].append(stored)
    found: list[SimilarPair] = []
    done = 0
    for group in groups.values():
        known = _SimilarityGroup([stored.version.content for stored in group])
        for newer in range(len(group)):
            for older in known.index.nearest(newer, NEIGHBOURS):  # in order of the numbers
                similarity = known.similarity(newer, older, least)
                if similarity >= least:
                    found.append(SimilarPair(older=group[older], newer=group[newer], similarity=similarity))
            done += 1
            if progress:
                progress(done, len(versions))
    return sorted(found, key=lambda pair: (-pair.similarity, pair.older.sequence, pair.newer.sequence))


class _SimilarityGroup:
    """Skills of one kind and scope by number, and how often each word and step occurs among them."""

    def __init__(self, contents: Sequence[SkillContent]) -> None:
        self._contents = contents
        self._shapes = [Counter(shapes(content.steps)) for content in contents]
        self._actions = [frozenset(shapes) for shapes in self._shapes]
        required = [[step for step in content.steps if not step.optional] for content in contents]
        self._last_actions = [frozenset(shapes(steps[-1:])) for steps in required]  # what a skill is for
        steps = [frozenset(("step", each) for each in actions) for actions in self._actions]
        features = [_subject_words(content) | own for content, own in zip(contents, steps, strict=True)]
        self.index = NeighbourIndex(features, holders_max=MOST_PER_FEATURE)

    def similarity(self, one: int, other: int, least: float) -> float:
        """Return the gate's similarity; it is asked only where its answer can reach the threshold.

        If each ends in an action that the other never takes, they have different purposes, however many steps they share.
        """
        ends = self._last_actions[one], self._last_actions[other]
        if all(ends) and ends[0].isdisjoint(self._actions[other]) and ends[1].isdisjoint(self._actions[one]):
            return 0.0
        left, right = self._contents[one], self._contents[other]
        ours, theirs = self._shapes[one], self._shapes[other]
        if ours and theirs and left.kind is Kind.PROCEDURE and not (left.sub_skills or right.sub_skills):
            shared = 2 * (ours & theirs).total() / (ours.total() + theirs.total())
            if ACTIONS_WEIGHT * shared + (1 - ACTIONS_WEIGHT) < least:
                return 0.0
        return similarity(left, right, duplicate_from=least)


def _subject_words(content: SkillContent) -> frozenset[Hashable]:
    """The words of a skill's subject: name, description, error signature, and the body of anything but a procedure."""
    subject = f"{content.name} {content.description} {content.signature}"
    return term_set(f"{subject} {content.body}" if content.kind is not Kind.PROCEDURE else subject)
