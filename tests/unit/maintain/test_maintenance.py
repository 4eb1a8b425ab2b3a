"""Care of the library: what evidence changes by itself, what is proposed, and what a person applies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.config.settings import Config, Policy
from tacit.domain.care import BY_ITSELF, Care, CareKind
from tacit.domain.evidence import Evidence, Following, Grade, Outcome, Use
from tacit.domain.ledger import About, Remark
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.skill import Kind, SkillContent, SkillStep, fields_without_origin
from tacit.domain.trajectory import Origin
from tacit.gate.duplicates import similarity
from tacit.maintain import status_changes
from tacit.maintain.merging import merged, near_pairs
from tacit.store import open_store
from tests.unit.making import NOW, bash_steps, content, stored

RELEASE = content(
    name="release-the-service",
    description="Build the image, push it and roll the service out",
    steps=bash_steps("docker build .", "docker push registry", "kubectl rollout restart deploy/api"),
)
SAME_WORK = dataclasses.replace(
    RELEASE,
    name="release-the-service-again",
    steps=(*RELEASE.steps, *bash_steps("kubectl rollout status deploy/api")),
    example_queries=("ship the api",),
)
MIGRATION = content()


class Library:
    """A loop with a clock that is set by hand."""

    def __init__(self, loop: Callable[..., Tacit]) -> None:
        self.now = NOW
        self.loop = loop(clock=self._tick)
        self.store = self.loop.context.store

    def _tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def wait(self, days: float) -> None:
        self.now += timedelta(days=days)

    def waiting(self, made: SkillContent) -> str:
        return self.loop.propose(made, by="ann", origin=Origin.USER).version_id

    def approved(self, made: SkillContent) -> str:
        version_id = self.waiting(made)
        self.loop.review(version_id, "approve", by="ann")
        return version_id

    def status(self, version_id: str) -> Status:
        return self.store.version(version_id).status

    def use(self, version_id: str, outcome: Outcome, *, times: int = 1, grade: Grade = Grade.MACHINE) -> None:
        for _ in range(times):
            now = self._tick()
            use = Use(version_ids=(version_id,), task=f"task of {now}", at=now)
            self.store.add(use)
            self.loop.record(use.id, outcome=outcome, grade=grade, by="pytest")

    def shown(self, version_id: str, following: Following, *, times: int) -> None:
        for _ in range(times):
            now = self._tick()
            use = Use(version_ids=(version_id,), task=f"task of {now}", at=now)
            self.store.add(use)
            result = Evidence(
                version_id=version_id,
                outcome=Outcome.SUCCESS,
                grade=Grade.MACHINE,
                at=now,
                use_id=use.id,
                following=following,
            )
            self.store.add(result)

    def pin(self, version_id: str, text: str = "ours") -> None:
        skill_id = self.store.version(version_id).skill.id
        self.store.add(Remark(subject=skill_id, about=About.PIN, by="ann", at=self._tick(), text=text))

    def tend(self, *only: CareKind) -> list[Care]:
        return self.loop.library.plan(only=only)

    def apply(self, *only: CareKind) -> list[Care]:
        return self.loop.library.apply(self.tend(*only), by="ann")[0]


@pytest.fixture
def library() -> Iterator[Library]:
    def opened(**options: object) -> Tacit:
        store = open_store(":memory:")
        return Tacit(store, config=Config(policy=Policy()), **options)  # type: ignore[arg-type]

    made = Library(opened)
    yield made
    made.loop.close()


def last(library: Library, version_id: str) -> Transition:
    return library.store.transitions(version_id)[-1]


class TestSettling:
    def test_what_keeps_working_becomes_trusted_with_its_reason_and_evidence(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.use(version_id, Outcome.SUCCESS, times=15)
        assert library.status(version_id) is Status.TRUSTED
        move = last(library, version_id)
        assert move.by == BY_ITSELF
        assert move.reason.startswith("trust_earned: ")
        assert set(move.evidence_ids) <= {item.id for item in library.store.evidence([version_id])[version_id]}
        assert len(move.evidence_ids) >= 10
        assert library.loop.recall("release the service").items, "agents see it as it stands now"
        assert library.store.renderings.missing() == []

    def test_what_keeps_failing_is_retired_and_can_be_brought_back(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.use(version_id, Outcome.FAILURE, times=15)
        assert library.status(version_id) is Status.RETIRED
        assert library.loop.recall("release the service").abstained
        library.loop.review(version_id, "restore", by="ann")
        assert library.status(version_id) is Status.TRIAL
        library.use(version_id, Outcome.SUCCESS)
        assert library.status(version_id) is Status.TRIAL, "what was held against it before does not count again"

    def test_self_reports_move_nothing(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.use(version_id, Outcome.SUCCESS, times=40, grade=Grade.SELF)
        library.use(version_id, Outcome.FAILURE, times=40, grade=Grade.SELF)
        assert library.status(version_id) is Status.TRIAL

    def test_settling_twice_moves_nothing_more(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.use(version_id, Outcome.SUCCESS, times=15)
        before = library.store.history()
        assert status_changes.apply_status_changes(library.store, Policy(), at=library.now) == []
        assert library.store.history() == before

    def test_a_pinned_skill_is_left_where_it_is_and_reported_of(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.pin(version_id)
        library.use(version_id, Outcome.FAILURE, times=15)
        assert library.status(version_id) is Status.TRIAL
        [care] = library.tend(CareKind.STANDING)
        assert care.move is None
        assert [each.code for each in care.advice] == ["pinned"]
        assert not any(each.applied for each in library.apply())
        assert library.status(version_id) is Status.TRIAL
        library.pin(version_id, text="")
        [moved] = status_changes.apply_status_changes(library.store, Policy(), at=library.now)
        assert moved.after is Status.RETIRED

    def test_learning_ends_with_settling(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.shown(version_id, Following.FOLLOWED, times=15)
        [care] = library.tend(CareKind.STANDING)
        assert care.move is not None
        assert care.move.after is Status.TRUSTED
        assert library.status(version_id) is Status.TRIAL, "telling changes nothing"
        [moved] = library.loop.learn().settled
        assert (moved.version_id, moved.after) == (version_id, Status.TRUSTED)

    def test_a_status_change_by_evidence_is_not_taken_for_a_missing_approval(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.use(version_id, Outcome.SUCCESS, times=15)
        assert library.loop.reviews.recheck() == []
        library.loop.learn()
        assert library.status(version_id) is Status.TRUSTED
        move = dataclasses.replace(last(library, version_id), before=Status.TRUSTED, after=Status.TRIAL, at=library.now)
        library.store.add_transition(dataclasses.replace(move, id=""))
        assert library.loop.reviews.recheck() == []


class TestStale:
    def test_ninety_days_without_a_verified_success_are_stale(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.wait(89)
        assert library.tend() == []
        library.wait(2)
        [care] = library.tend()
        assert care.kind is CareKind.STALE
        [done] = library.apply()
        assert done.applied
        assert library.status(version_id) is Status.STALE
        assert last(library, version_id).by == "ann"
        assert library.loop.recall("release the service").abstained
        assert library.tend() == []

    def test_a_verified_success_starts_the_time_again_and_a_claim_does_not(self, library: Library) -> None:
        verified, claimed = library.approved(RELEASE), library.approved(MIGRATION)
        library.wait(80)
        library.use(verified, Outcome.SUCCESS)
        library.use(claimed, Outcome.SUCCESS, grade=Grade.SELF)
        library.wait(20)
        assert [care.subject for care in library.tend(CareKind.STALE)] == [claimed]

    def test_a_rule_of_a_persons_does_not_go_stale(self, library: Library) -> None:
        library.approved(SkillContent(kind=Kind.NORM, name="use-uv", description="Use uv here, not pip"))
        library.wait(400)
        assert library.tend() == []

    def test_what_was_restored_has_its_time_again(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.wait(100)
        library.apply()
        library.loop.review(version_id, "restore", by="ann")
        assert library.tend() == []


class TestValue:
    def test_what_is_shown_and_never_followed_is_retired_by_a_persons_word_only(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.shown(version_id, Following.IGNORED, times=25)
        [care] = library.tend()
        assert care.kind is CareKind.VALUE
        assert care.reasons[0].values["shown"] == 25
        library.loop.learn()
        assert library.status(version_id) is Status.TRIAL
        library.apply()
        assert library.status(version_id) is Status.RETIRED


class TestMerging:
    def test_two_recallable_skills_become_one_version_with_both_as_parents_that_waits(self, library: Library) -> None:
        one, other = library.approved(RELEASE), library.approved(SAME_WORK)
        [care] = library.apply()
        assert (care.kind, care.applied) == (CareKind.MERGE, True)
        [merged] = library.loop.reviews.waiting()
        assert merged.version.parents == (one, other)
        assert merged.skill.id == library.store.version(one).skill.id
        assert "ship the api" in merged.version.content.example_queries
        assert {library.status(one), library.status(other)} == {Status.TRIAL}, (
            "both are recalled until a person decides"
        )
        assert library.tend() == [], "it was proposed"

    def test_after_a_persons_yes_the_other_one_leaves_and_can_be_brought_back(self, library: Library) -> None:
        _, other = library.approved(RELEASE), library.approved(SAME_WORK)
        library.apply()
        [merged] = library.loop.reviews.waiting()
        library.loop.review(merged.version.id, "approve", by="ann")
        [care] = library.apply()
        assert care.subject == other
        assert library.status(other) is Status.RETIRED
        assert last(library, other).reason.startswith("merged_into: ")
        assert library.tend() == []
        library.loop.review(other, "restore", by="ann")
        assert library.tend() == [], "a person has decided"

    def test_a_merged_version_keeps_one_order_and_what_the_other_was_asked_for_by(self, library: Library) -> None:
        signs = dataclasses.replace(
            RELEASE,
            name="ship-it",
            description="Ship the api to production",
            steps=(RELEASE.steps[1], RELEASE.steps[0], RELEASE.steps[2]),
        )
        one, other = library.approved(RELEASE), library.approved(signs)
        whole = merged(library.store.version(one), library.store.version(other))
        assert whole.content.steps == RELEASE.steps
        assert whole.content.example_queries == ("Ship the api to production",)
        assert whole.parents == (one, other)
        assert fields_without_origin(whole.content, whole.origins) == ()

    def test_what_adds_nothing_at_all_leaves_without_a_further_version(self, library: Library) -> None:
        known = dataclasses.replace(SAME_WORK_OPTIONAL, example_queries=(RELEASE.description, "ship the api"))
        kept, copy = (
            library.approved(known),
            library.approved(dataclasses.replace(known, name="release-it-again", steps=known.steps[:-1])),
        )
        [care] = library.apply()
        assert library.loop.reviews.waiting() == []
        assert (care.subject, library.status(copy)) == (copy, Status.RETIRED)
        assert library.status(kept) is Status.TRIAL
        assert library.tend() == []

    def test_after_a_persons_no_it_is_not_proposed_again(self, library: Library) -> None:
        library.approved(RELEASE), library.approved(SAME_WORK)
        library.apply()
        [merged] = library.loop.reviews.waiting()
        library.loop.review(merged.version.id, "reject", by="ann")
        assert library.tend() == []

    def test_the_better_proven_skill_is_the_one_that_goes_on(self, library: Library) -> None:
        one, other = library.approved(RELEASE), library.approved(SAME_WORK)
        library.use(other, Outcome.SUCCESS, times=2)
        [care] = library.tend()
        assert care.candidate is not None
        assert care.candidate.parents == (other, one)

    def test_of_two_that_wait_the_newer_is_set_aside_and_what_it_adds_kept(self, library: Library) -> None:
        one, other = library.waiting(RELEASE), library.waiting(SAME_WORK)
        library.apply()
        assert library.status(other) is Status.REJECTED
        [waiting] = library.loop.reviews.waiting()
        assert waiting.version.parents == (one, other)
        assert len(waiting.version.content.steps) == len(SAME_WORK.steps)
        assert library.tend() == []
        library.loop.review(other, "reopen", by="ann")
        assert library.tend() == [], "a person has decided"

    def test_what_waits_and_adds_nothing_to_an_approved_skill_is_superseded(self, library: Library) -> None:
        less = dataclasses.replace(RELEASE, name="release-service")
        waiting = library.waiting(less)
        known = library.approved(SAME_WORK_OPTIONAL)
        [care] = library.tend()
        assert (care.kind, care.subject) == (CareKind.SUPERSEDED, waiting)
        assert care.reasons[0].values["name"] == library.store.version(known).version.name
        library.apply()
        assert library.status(waiting) is Status.REJECTED

    def test_what_was_set_aside_does_not_keep_the_same_from_being_learned(self, library: Library) -> None:
        library.waiting(RELEASE), library.waiting(SAME_WORK)
        library.apply()
        again = library.loop.propose(SAME_WORK, by="bob", origin=Origin.USER)
        assert "rejected_before" not in again.reasons

    def test_a_pinned_skill_is_not_merged(self, library: Library) -> None:
        one, _ = library.approved(RELEASE), library.approved(SAME_WORK)
        library.pin(one)
        [care] = library.apply()
        assert not care.applied
        assert library.loop.reviews.waiting() == []

    def test_a_composite_is_not_taken_for_a_merge_of_its_parts(self, library: Library) -> None:
        one, other = library.approved(RELEASE), library.approved(MIGRATION)
        whole = library.loop.library.compose("ship-it", [RELEASE.name, MIGRATION.name], by="ann", origin=Origin.USER)
        library.loop.review(whole.version_id, "approve", by="ann")
        assert library.tend(CareKind.MERGE) == []
        assert {library.status(one), library.status(other)} == {Status.TRIAL}


SAME_WORK_OPTIONAL = dataclasses.replace(
    SAME_WORK, steps=(*RELEASE.steps, dataclasses.replace(SAME_WORK.steps[-1], optional=True))
)


class TestSuperseded:
    def test_an_early_draft_goes_once_a_newer_version_was_approved(self, library: Library) -> None:
        draft = library.waiting(RELEASE)
        newer = dataclasses.replace(RELEASE, steps=(*RELEASE.steps, *bash_steps("curl -f localhost/health")))
        made = library.loop.propose(newer, by="ann", origin=Origin.USER, revises=library.store.version(draft))
        assert library.tend() == []
        library.loop.review(made.version_id, "approve", by="ann")
        [care] = library.apply()
        assert (care.kind, care.subject) == (CareKind.SUPERSEDED, draft)
        assert library.status(draft) is Status.REJECTED
        assert library.tend() == []


class TestApplying:
    def test_planning_changes_nothing(self, library: Library) -> None:
        library.approved(RELEASE), library.approved(SAME_WORK)
        library.wait(100)
        before = library.store.history()
        assert library.tend()
        assert library.store.history() == before

    def test_what_changed_meanwhile_is_skipped_and_reported(self, library: Library) -> None:
        version_id = library.approved(RELEASE)
        library.wait(100)
        cares = library.tend()
        library.loop.review(version_id, "retire", by="bob")
        [care], _ = library.loop.library.apply(cares, by="ann")
        assert not care.applied
        assert [each.code for each in care.advice] == ["not_applied"]
        assert last(library, version_id).by == "bob"

    def test_a_merge_is_skipped_when_one_of_both_has_left(self, library: Library) -> None:
        library.approved(RELEASE)
        other = library.approved(SAME_WORK)
        cares = library.tend()
        library.loop.review(other, "retire", by="bob")
        [care], _ = library.loop.library.apply(cares, by="ann")
        assert not care.applied
        assert library.loop.reviews.waiting() == []

    def test_a_store_that_was_tended_is_intact(self, library: Library) -> None:
        library.approved(RELEASE), library.approved(SAME_WORK), library.waiting(MIGRATION)
        library.wait(100)
        library.apply()
        assert library.loop.archive.verify() == []


class TestPairs:
    def test_many_skills_are_looked_at_without_comparing_every_two(self) -> None:
        words = [f"{verb} {thing}" for verb in "build test ship scan".split() for thing in map(str, range(100, 200))]
        held = [
            stored(
                content(
                    name=f"skill-{words.replace(' ', '-')}",
                    description=words,
                    steps=bash_steps(f"make {words}"),
                ),
                sequence=number,
            )
            for number, words in enumerate(words)
        ]
        double = stored(dataclasses.replace(held[7].version.content, body="Told again."), sequence=1000)
        [pair] = near_pairs([*held, double], 0.95)
        assert (pair.older, pair.newer) == (held[7], double)

    def test_hundreds_of_copies_still_find_each_other(self) -> None:
        held = [stored(content(name=f"add-a-migration-{number}"), sequence=number) for number in range(150)]
        found = near_pairs(held, Policy().duplicate_similarity)
        assert {pair.newer.sequence for pair in found} == set(range(1, 150))

    def test_kinds_and_scopes_are_not_mixed(self) -> None:
        norm = SkillContent(kind=Kind.NORM, name="add-a-migration", description="Add a database migration and run it")
        assert near_pairs([stored(sequence=1), stored(norm, sequence=2)], 0.5) == []


def test_a_candidate_that_the_gate_refuses_leaves_everything_as_it_was(library: Library) -> None:
    library.approved(RELEASE), library.approved(SAME_WORK)
    [care] = library.tend()
    assert care.candidate is not None
    nameless = dataclasses.replace(care.candidate, content=dataclasses.replace(care.candidate.content, description=" "))
    [done], _ = library.loop.library.apply([dataclasses.replace(care, candidate=nameless)], by="ann")
    assert not done.applied
    assert done.advice[0].values["error"] == "rejected_by_gate"


def test_similarity_and_joining_are_the_gates_own() -> None:
    step = SkillStep(text="Look", tool="Bash", arguments={"command": "ls"})
    alike = similarity(content(steps=(step,)), content(steps=(step,)))
    assert alike == 1.0
