"""One pass of learning: what is not yet learned from → candidates put before the gate, one transaction after another.

First each attempt for itself, work of a known kind together with the attempts at it before; then all that used the same
tools, and the errors of all. Each step is whole or not done, so that an interrupted pass goes on where it was. What
attempts teach is found in `learn`; what becomes of it is decided at the door that the loop passes in.

A language model, where one is given, is asked between mining and the door, never inside a transaction.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tacit.domain.candidate import Candidate, Relation, Verdict
from tacit.domain.errors import TacitError
from tacit.domain.evidence import Assessment
from tacit.domain.model import LanguageModel
from tacit.domain.ports import Store
from tacit.domain.skill import Kind, SkillContent, SkillVersion
from tacit.domain.stored import Episode, Stored
from tacit.domain.trajectory import Trajectory
from tacit.gate.admission import Admission
from tacit.learn import friction_notes, language
from tacit.learn import skill_usage as crediting
from tacit.learn.attempt_outlines import outline_of
from tacit.learn.consensus import consensus
from tacit.learn.mining.candidates import is_mined
from tacit.learn.mining.error_lessons import error_lessons
from tacit.learn.mining.miner import mine
from tacit.learn.origin_limits import Fence
from tacit.learn.report import Helped, Learned
from tacit.learn.single_attempt import Note, NoteKind, distil, draft_of
from tacit.recall import publishing
from tacit.store.context import StoreContext
from tacit.text.near_duplicates import text_similarity
from tacit.text.words import terms

MAX_DRAFTS = 12
"""Attempts at one kind of work that are told as one; in one pass, further ones that go the same way only confirm."""
MAX_FAILURES = 6
MAX_SOURCES = 3
"""Attempts behind one candidate that a language model may be shown something of."""
_ALIKE = 0.5
"""How alike the tasks of a failure and a success must be to be of one kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Whole attempts, for those who compare them."""

    store: Store

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole attempt."""
        return self.store.trajectory(trajectory_id)

    def assessment(self, trajectory_id: str) -> Assessment:
        """What is known of its outcome."""
        return self.store.episode(trajectory_id).assessment


class Wording:
    """A language model's part in one pass: what it is asked, and what that brought."""

    def __init__(self, model: LanguageModel, store: Store) -> None:
        self._model, self._store = model, store
        self._refiner = language.Refiner(model)
        self._before = model.spent
        self._open: list[Candidate] = []
        self._news = self._worded = self._proposed = 0
        self._remarks: list[language.Remark] = []

    def word(self, candidates: Sequence[Candidate], known: Mapping[str, SkillVersion]) -> list[Candidate]:
        """Candidates in the model's words, where these hold; `known` are the versions that they follow, by name."""
        refined = self._refiner.word(candidates, self._sources(candidates), known=known)
        self._news += len(refined.news)
        self._worded += refined.worded
        self._remarks += refined.remarks
        self._open += () if self._refiner.ended else refined.news
        return list(refined.candidates)

    def missed(self) -> Iterator[Candidate]:
        """What the model says that mining missed in the attempts behind the news."""
        for candidate in self._open:
            if self._refiner.ended:
                return
            refined = self._refiner.missed([candidate], self._sources([candidate]))
            self._remarks += refined.remarks
            self._proposed += len(refined.proposed)
            yield from refined.proposed

    def report(self) -> Helped:
        """What came of it so far."""
        return Helped(
            name=self._model.name,
            news=self._news,
            worded=self._worded,
            proposed=self._proposed,
            spent=self._model.spent - self._before,
            remarks=tuple(self._remarks),
            stopped=self._refiner.ended,
        )

    def _sources(self, candidates: Iterable[Candidate]) -> dict[str, Trajectory]:
        """The first attempts behind each candidate, those no longer kept left out."""
        found: dict[str, Trajectory] = {}
        for candidate in () if self._refiner.ended else candidates:
            for trajectory_id in candidate.provenance.trajectory_ids[:MAX_SOURCES]:
                with suppress(TacitError):
                    found[trajectory_id] = self._store.trajectory(trajectory_id)
        return found


class Pass:
    """One pass over everything that waits."""

    def __init__(self, context: StoreContext, admission: Admission, *, model: LanguageModel | None = None) -> None:
        store = context.store
        self._store, self._admission, self._now = store, admission, context.now
        self._extensions = context.extensions
        self._wording = Wording(model, store) if model is not None else None
        self._attempts = Attempts(store=store)
        self._fence = Fence(store)
        self._told: Counter[str] = Counter()
        self._verdicts: list[Verdict] = []
        self._notes: list[Note] = []

    def run(self, progress: Callable[[int, int], None] | None = None) -> Learned:
        """Learn from each attempt, then from what they have in common."""
        waiting = self._store.episodes(unlearned=True)
        for done, episode in enumerate(waiting, start=1):
            self._distil(episode)
            if progress:
                progress(done, len(waiting))
        self._outline_the_rest()
        self._compare()
        for proposed in self._wording.missed() if self._wording else ():
            with self._store.transaction():
                self._verdicts.append(self._admit(proposed))
        return Learned(
            trajectories=len(waiting),
            verdicts=tuple(self._verdicts),
            notes=tuple(self._notes),
            model=self._wording.report() if self._wording else None,
        )

    def _distil(self, episode: Episode) -> None:
        """What one attempt teaches by itself; work of a known kind is told as what all attempts at it share."""
        if self._wording and self._store.episode(episode.id).learned_at is not None:
            return  # a pass that asks a model takes minutes, and what a hook has learned meanwhile is not worth a call
        trajectory = self._store.trajectory(episode.id)
        distilled = distil(trajectory, episode.assessment)
        candidates = self._worded([self._with_others(each, trajectory) for each in distilled.candidates])
        with self._store.transaction():
            if self._store.episode(episode.id).learned_at is not None:
                return  # another process was faster
            shared = [each for one in self._extensions for each in one.candidates(trajectory, at=self._now())]
            self._verdicts += [self._admit(candidate) for candidate in (*candidates, *shared)]
            for note in distilled.notes:
                if note.kind is NoteKind.HELD:
                    self._verdicts.append(self._admission.turn_away(episode, note.detail["reason"], note.text))
            self._store.outlines.put(distilled.outline)
            self._store.mark_learned(episode.id, at=self._now())
            publishing.keep(self._store, crediting.credit(self._store, trajectory, episode.assessment))
            shown = crediting.guided_by(self._store, trajectory)
            friction_notes.note_friction(self._store, trajectory, shown, at=self._now())
            for extension in self._extensions:
                self._verdicts += extension.after_learning(trajectory, self._admit, at=self._now())
            publishing.attend(self._store, crediting.heeds(self._store, trajectory))
        self._notes += distilled.notes

    def _with_others(self, draft: Candidate, trajectory: Trajectory) -> Candidate:
        """A procedure together with the attempts that the same skill was made of before."""
        if draft.content.kind is not Kind.PROCEDURE:
            return draft
        twin = self._admission.twin(draft)
        if twin is None:
            return self._confirming(draft, trajectory)
        self._told[twin.skill.id] += 1
        if self._told[twin.skill.id] > MAX_DRAFTS and self._admission.confirms(draft, twin):
            return dataclasses.replace(draft, content=twin.version.content, origins=twin.version.origins)
        others = [one for one in self._earlier(twin) if one[0].id != trajectory.id]
        if not others:
            return draft
        trajectories = {one.id: one for one, _ in others} | {trajectory.id: trajectory}
        failures = self._failures(trajectory)
        told = consensus([*(made for _, made in others), draft], trajectories, failures=failures)
        return dataclasses.replace(told, revises=twin.skill.id, parents=(twin.version.id,))

    def _confirming(self, draft: Candidate, trajectory: Trajectory) -> Candidate:
        """An attempt that only went the way of a skill that it was shown confirms that skill, and founds none beside it.

        What it did in place of a step that failed is no other work: that is for refinement to tell.
        """
        assessment = self._attempts.assessment(trajectory.id)
        for version_id, start in crediting.followed(self._store, trajectory, assessment).items():
            version = self._store.version(version_id).version
            told = dataclasses.replace(draft, content=version.content, origins=version.origins)
            known = self._admission.twin(told)  # none where it is another scope's, or has a newer version
            is_it = known is not None and known.version.id == version_id
            if is_it and friction_notes.stays_within(trajectory, version.content, start=start):
                return told
        return draft

    def _earlier(self, twin: Stored) -> list[tuple[Trajectory, Candidate]]:
        """The attempts that a skill was made of, each with the draft it gives alone; those no longer kept are left out."""
        found: list[tuple[Trajectory, Candidate]] = []
        confirming = self._store.verdicts(version_id=twin.version.id, limit=MAX_DRAFTS)
        told = [*twin.version.provenance.trajectory_ids, *(i for each in confirming[::-1] for i in each.trajectory_ids)]
        for trajectory_id in list(dict.fromkeys(told))[-MAX_DRAFTS:]:
            try:
                trajectory = self._store.trajectory(trajectory_id)
            except TacitError:
                continue
            made = draft_of(trajectory, self._attempts.assessment(trajectory_id))
            found += [(trajectory, made)] if isinstance(made, Candidate) else []
        return found

    def _failures(self, trajectory: Trajectory) -> list[Trajectory]:
        """Failed attempts at the same kind of task."""
        asked = trajectory.task.text
        near = self._store.search_episodes(terms(asked), limit=4 * MAX_FAILURES)
        failed = [each for each in near if each.assessment.verified_failure and not each.pruned]
        alike = [each.id for each in failed if text_similarity(each.task, asked) >= _ALIKE]
        return [self._store.trajectory(identity) for identity in alike[:MAX_FAILURES]]

    def _outline_the_rest(self) -> None:
        """Attempts that were learned from before outlines were kept."""
        for trajectory_id in self._store.outlines.missing():
            trajectory = self._store.trajectory(trajectory_id)
            self._store.outlines.put(outline_of(trajectory, self._attempts.assessment(trajectory_id)))

    def _compare(self) -> None:
        """Compare attempts wherever something new has come to them."""
        waiting = set(self._store.outlines.unmined())
        if not waiting:
            return
        outlines = self._store.outlines.all()
        for mined in mine(outlines, waiting, self._attempts):
            candidates = self._worded(mined.candidates)
            with self._store.transaction():
                if waiting.intersection(mined.group.ids).isdisjoint(self._store.outlines.unmined()):
                    continue  # another process was faster, and may have compared more than this one saw
                self._admit_together(candidates)
                for trajectory_id, held in mined.held:
                    episode = self._store.episode(trajectory_id)
                    self._verdicts.append(self._admission.turn_away(episode, held.reason, held.text))
                self._store.outlines.mark_mined(mined.group.ids)
        courses = [outline.course for outline in outlines if outline.course is not None]
        lessons = [
            self._worded([lesson])[0] if waiting.intersection(lesson.provenance.trajectory_ids) else lesson
            for lesson in error_lessons(courses, self._store.trajectory)
        ]
        with self._store.transaction():
            for lesson in lessons:
                self._count(lesson)
            self._store.outlines.mark_mined(waiting)

    def _admit_together(self, candidates: Iterable[Candidate]) -> None:
        """Admit what was mined together; where one is known under another name, those after it speak of it by that."""
        known_as: dict[str, str] = {}
        for candidate in candidates:
            verdict = self._admit(self._revising(_speaking_of(candidate, known_as)))
            self._verdicts.append(verdict)
            if verdict.version_id:
                known_as[candidate.content.name] = verdict.name

    def _count(self, lesson: Candidate) -> None:
        """Admit a counted lesson; where what it says of the call has turned round, as the next version of the one before."""
        verdict = self._admit(lesson)
        self._verdicts.append(verdict)
        if verdict.relation is Relation.REINFORCE and verdict.version_id:
            before = self._store.versions(verdict.skill_id)[-1].version  # an older one may be the most alike
            if set(before.content.tags) != set(lesson.content.tags):
                again = dataclasses.replace(lesson, revises=verdict.skill_id, parents=(before.id,))
                self._verdicts.append(self._admit(again))

    def _admit(self, candidate: Candidate) -> Verdict:
        """Nothing comes to the door but what the fence has seen, in its last wording."""
        return self._admission.admit(self._fence.sealed(candidate))

    def _worded(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Candidates in the words that a model found for them before, or, where one is here, finds now."""
        mined = list(candidates)
        if self._wording:  # what a model reads must bear its true origin
            mined = [self._fence.sealed(each) for each in mined]
        known = {each.content.name: version for each in mined if (version := self._version_before(each))}
        if self._wording:
            return self._wording.word(mined, known)
        versions = [known.get(each.content.name) for each in mined]
        return [
            language.kept_wording(each, version) if version else each
            for each, version in zip(mined, versions, strict=True)
        ]

    def _version_before(self, candidate: Candidate) -> SkillVersion | None:
        """The version that a candidate follows, or would only confirm."""
        named = not candidate.parents and is_mined(candidate.provenance)
        follows = self._revising(candidate) if named else candidate
        if follows.parents:
            return self._store.version(follows.parents[0]).version
        twin = self._admission.twin(candidate) if self._wording else None  # without a model there is no call to save
        return twin.version if twin else None

    def _revising(self, candidate: Candidate) -> Candidate:
        """The candidate as the next version of what was mined under its name, or of the same attempts, before."""
        content = candidate.content
        for stored in self._store.catalogue(name=content.name, kinds={content.kind}):
            versions = [held.version for held in self._store.versions(stored.skill.id)]
            if any(is_mined(held.provenance) and _same_work(held.content, content) for held in versions):
                return dataclasses.replace(candidate, revises=stored.skill.id, parents=(stored.version.id,))
        # With more attempts a unit may have grown, and its name with it.
        twin = self._admission.twin(candidate) if is_mined(candidate.provenance) else None
        if twin and is_mined(twin.version.provenance) and _shares_attempts(twin.version, candidate):
            return dataclasses.replace(candidate, revises=twin.skill.id, parents=(twin.version.id,))
        return candidate


def _speaking_of(candidate: Candidate, known_as: Mapping[str, str]) -> Candidate:
    """A candidate with other skills called by the names that they are known under."""
    content = candidate.content
    after, parts = ((known_as.get(name, name) for name in names) for names in (content.after, content.sub_skills))
    steps = [
        dataclasses.replace(step, text=step.text.replace(f"`{old}`", f"`{known_as.get(old, old)}`"))
        for step, old in zip(content.steps, content.sub_skills, strict=False)
    ]
    spoken = dataclasses.replace(
        content, after=tuple(after), sub_skills=tuple(parts), steps=(*steps, *content.steps[len(steps) :])
    )
    return dataclasses.replace(candidate, content=spoken)


def _shares_attempts(version: SkillVersion, candidate: Candidate) -> bool:
    return not set(version.provenance.trajectory_ids).isdisjoint(candidate.provenance.trajectory_ids)


def _same_work(left: SkillContent, right: SkillContent) -> bool:
    """Whether two mined accounts of one name are of one thing: tools of two servers may have one name, tasks one title."""
    if left.sub_skills or right.sub_skills:
        return not set(left.sub_skills).isdisjoint(right.sub_skills)
    return left.tags[:1] == right.tags[:1]
