"""The loop on both stores: each verb does what it says, and the stages meet in the right order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.config.settings import Config, Policy, StoreSettings, Strictness
from tacit.domain.errors import IllegalTransition, Mistake, NotFound, Refusal, StaleVersion
from tacit.domain.evidence import Grade
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Check
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import CALL_TAG, Kind, Provenance, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Environment, Origin, Role, Step, StepResult, Task, Trajectory
from tacit.ingest import sources
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import ONE_RUN, candidate

TASK = "Add a migration that adds column `paid_at` to `payments`"


class Clock:
    """Time that only moves when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def make() -> Iterator[Callable[..., Tacit]]:
    loops: list[Tacit] = []

    def made(config: Config | None = None, place: StoreLocation | None = None) -> Tacit:
        store = open_store(":memory:")
        loops.append(
            Tacit(store, config=config or ONE_RUN, scope=Scope(Level.PROJECT, "shop"), place=place, clock=Clock())
        )
        return loops[-1]

    yield made
    for loop in loops:
        loop.close()


@pytest.fixture(scope="module")
def sessions() -> list[Trajectory]:
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        return list(sources.read(folder))


def approve_all(loop: Tacit) -> None:
    for stored in loop.reviews.waiting():
        ticked = [each.key for each in loop.reviews.examine(stored.version.id).external_values]
        loop.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash, ticked=ticked)


def written(name: str = "deploy-the-shop", **changes: object) -> SkillContent:
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description="Deploy the web shop to staging. Use when asked to deploy.",
        steps=(SkillStep(text="Run make deploy", tool="Bash", arguments={"command": "make deploy"}),),
    )
    return dataclasses.replace(content, **changes)  # type: ignore[arg-type]


def by_name(loop: Tacit, name: str) -> StoredVersion:
    return next(stored for stored in loop.skills() if stored.version.name == name)


def test_what_is_learned_waits_and_is_recalled_only_after_approval(
    make: Callable[..., Tacit], sessions: list[Trajectory]
) -> None:
    loop = make()
    assert len(loop.capture(sessions).added) == len(sessions)
    report = loop.learn()
    assert {"add-database-migration-column", "use-log-helper-invoice-log"} <= {verdict.name for verdict in report.held}
    assert not report.accepted
    assert {reason for verdict in report.rejected for reason in verdict.reasons} >= {"task_failed", "unverified"}
    waiting = loop.recall(TASK)
    assert (waiting.abstained, waiting.code) == (True, ReasonCode.NOTHING_APPROVED)
    assert str(len(loop.reviews.waiting())) in waiting.reason
    approve_all(loop)
    selection = loop.recall(TASK)
    assert selection.items[0].name == "add-database-migration-column"
    assert selection.use_id
    assert selection.text.startswith("<tacit-skills-")


def test_an_empty_library_abstains_with_a_code(make: Callable[..., Tacit]) -> None:
    loop = make()
    assert loop.recall(TASK).code is ReasonCode.NOTHING_LEARNED
    verdict = loop.propose(written(), by="ann")
    assert loop.recall(TASK).code is ReasonCode.NOTHING_APPROVED
    loop.review(verdict.version_id, "approve", by="ann")
    assert loop.recall(TASK).code not in (ReasonCode.NOTHING_LEARNED, ReasonCode.NOTHING_APPROVED)
    loop.review(verdict.version_id, "retire", by="ann")
    assert loop.recall(TASK).code is ReasonCode.NOTHING_IN_USE


def test_sessions_of_one_kind_become_one_skill(make: Callable[..., Tacit], sessions: list[Trajectory]) -> None:
    loop = make()
    loop.capture(sessions)
    report = loop.learn()
    migrations = [verdict for verdict in report.verdicts if "migration" in verdict.name and verdict.skill_id]
    procedures = {verdict.skill_id for verdict in migrations if verdict.name == "add-database-migration-column"}
    assert len(procedures) == 1
    assert sum(verdict.skill_id in procedures for verdict in report.verdicts) == 3


def test_learning_again_finds_nothing_new(make: Callable[..., Tacit], sessions: list[Trajectory]) -> None:
    loop = make()
    loop.capture(sessions)
    loop.learn()
    before = loop.archive.stats()
    again = loop.capture(sessions)
    assert (again.added, again.known) == ((), len(sessions))
    assert loop.learn().trajectories == 0
    assert loop.archive.stats() == before


def test_the_open_dial_admits_verified_work_without_outside_text_by_itself(
    make: Callable[..., Tacit], sessions: list[Trajectory]
) -> None:
    loop = make(Config(policy=Policy(strictness=Strictness.OPEN)))
    loop.capture(sessions)
    report = loop.learn()
    for verdict in report.accepted:
        version = loop.version(verdict.version_id).version
        assert version.lowest_origin is not Origin.EXTERNAL
    held = {verdict.name for verdict in report.held}
    assert "add-migration-column" in held, "one of its steps was dictated by a tool's output"


def test_secrets_never_reach_the_file(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    steps = (
        Step(index=1, role=Role.USER, text=f"use the token {secret}"),
        Step(index=2, role=Role.AGENT, tool="Bash", arguments={"command": f"curl -H 'Authorization: token {secret}'"},
             observation=f"sent {secret}", result=StepResult.OK),
    )  # fmt: skip
    trajectory = Trajectory(task=Task(text=f"use the token {secret}"), steps=steps, session_id="x")
    with Tacit(open_store(tmp_path / "tacit.db")) as loop:
        captured = loop.capture(trajectory)
        assert sum(captured.redacted.values()) == 4
        assert secret not in repr(loop.context.store.trajectory(captured.added[0]))
        assert loop.archive.episodes("use the token")
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_excluded_workspaces_are_not_captured(make: Callable[..., Tacit], sessions: list[Trajectory]) -> None:
    private = dataclasses.replace(sessions[0], environment=Environment(workspace="/code/private/app"), id="")
    loop = make(Config(store=StoreSettings(exclude=("*/private/*",))))
    captured = loop.capture([private, sessions[1]])
    assert captured.excluded == 1
    assert len(captured.added) == 1


def test_a_pause_stops_capture_learning_and_recall(
    make: Callable[..., Tacit], sessions: list[Trajectory], tmp_path: Path
) -> None:
    place = StoreLocation(database=str(tmp_path / ".tacit" / "tacit.db"), project=tmp_path, chosen_by="test")
    loop = make(place=place)
    place.pause(3600)
    with raises(Refusal, "paused"):
        loop.capture(sessions)
    with raises(Refusal, "paused"):
        loop.learn()
    assert loop.recall(TASK).code is ReasonCode.PAUSED
    with raises(Refusal, "paused"):
        loop.apply("anything")
    place.resume()
    assert loop.capture(sessions).added


def test_the_words_of_an_error_find_its_lesson_without_saying_that_they_are_one(make: Callable[..., Tacit]) -> None:
    loop = make()
    error = "StaleModelsError: shop/models.py was generated from an older schema"
    content = SkillContent(
        kind=Kind.LESSON,
        name="run-make-models-for-make-test",
        description="`make test` fails with a stale model: run `make models` first.",
        body="Run `make models` first.",
        signature=error,
        tags=(f"{CALL_TAG}make test",),
    )
    verdict = loop.propose(content, by="ann", origin=Origin.USER)
    loop.review(verdict.version_id, "approve", by="ann", content_hash=verdict.content_hash)
    assert [item.name for item in loop.recall(error).items] == ["run-make-models-for-make-test"]
    assert loop.recall("run make test for the stale model of the shop").abstained


def test_an_agents_proposal_waits_for_a_person(make: Callable[..., Tacit]) -> None:
    loop = make(Config(policy=Policy(strictness=Strictness.OPEN)))
    verdict = loop.propose(written(), by="agent-7")
    assert loop.version(verdict.version_id).status is Status.CANDIDATE
    assert loop.recall("Deploy the web shop").abstained


def test_an_edit_keeps_the_origin_of_what_it_leaves_alone(make: Callable[..., Tacit]) -> None:
    loop = make()
    first = loop.propose(written(body="From a web page."), by="import", origin=Origin.EXTERNAL)
    stored = loop.version(first.version_id)
    edited = dataclasses.replace(stored.version.content, description="Bring our store online, after the freeze.")
    second = loop.propose(edited, by="ann", origin=Origin.USER, revises=stored)
    version = loop.version(second.version_id).version
    assert version.origins["description"] is Origin.USER
    assert version.origins["body"] is Origin.EXTERNAL
    assert version.origins["steps.0"] is Origin.EXTERNAL
    assert version.skill_id == stored.skill.id


def test_an_edit_in_the_words_of_outside_text_is_no_more_trusted_than_that(make: Callable[..., Tacit]) -> None:
    loop = make()
    stored = loop.version(loop.propose(written(), by="import", origin=Origin.EXTERNAL).version_id)
    edited = dataclasses.replace(stored.version.content, description="Deploy the web shop, after the freeze.")
    version = loop.version(loop.propose(edited, by="ann", origin=Origin.USER, revises=stored).version_id).version
    assert version.origins["description"] is Origin.EXTERNAL


def test_an_admitted_candidate_is_no_more_trusted_than_what_it_copies(make: Callable[..., Tacit]) -> None:
    loop = make()
    page = "Before every release the whole report is copied onto the shared drive of the finance department."
    seen = Step(index=0, role=Role.AGENT, tool="WebFetch", observation=page, result=StepResult.OK)
    [captured] = loop.capture(Trajectory(task=Task(text="release"), steps=(seen,))).added
    copied = SkillContent(kind=Kind.LESSON, name="copy-the-report", description="Copy the report", body=page)
    provenance = Provenance(trajectory_ids=(captured,), made_by="distiller")
    verdict = loop.admit(candidate(copied, provenance=provenance))
    assert loop.version(verdict.version_id).version.origins["body"] is Origin.EXTERNAL


def test_a_known_text_under_another_name_is_no_more_trusted_than_before(make: Callable[..., Tacit]) -> None:
    loop = make()
    brought = written(body="Every monday the mirror at files.acme-host.io is copied before work begins.")
    loop.propose(brought, by="import", origin=Origin.EXTERNAL)
    again = loop.propose(dataclasses.replace(brought, name="ship-it-now"), by="agent", origin=Origin.AGENT)
    version = loop.version(again.version_id).version
    assert version.name == "ship-it-now"
    assert version.origins["body"] is Origin.EXTERNAL


def test_a_new_candidate_never_unseats_what_was_approved(make: Callable[..., Tacit]) -> None:
    loop = make()
    first = loop.propose(written(), by="ann", origin=Origin.USER)
    loop.review(first.version_id, "approve", by="ann")
    stored = loop.version(first.version_id)
    newer = written(description="Deploy the web shop to production. Use when asked to deploy.")
    second = loop.propose(newer, by="bob", origin=Origin.USER, revises=stored)
    assert loop.recall("Deploy the web shop").items[0].version_id == first.version_id
    assert [waiting.version.id for waiting in loop.reviews.waiting()] == [second.version_id]
    loop.review(second.version_id, "approve", by="ann")
    assert loop.recall("Deploy the web shop").items[0].version_id == second.version_id
    loop.reviews.rollback(first.version_id, by="ann")
    assert loop.recall("Deploy the web shop").items[0].version_id == first.version_id
    with raises(Mistake, "already_current"):
        loop.reviews.rollback(first.version_id, by="ann")


def test_an_older_version_is_not_given_where_its_successor_speaks_of_something_else(make: Callable[..., Tacit]) -> None:
    loop = make()
    first = loop.propose(written(), by="ann", origin=Origin.USER)
    stored = loop.version(first.version_id)
    other = written(description="Ring the bell.", steps=(SkillStep(text="Ring"),))
    second = loop.propose(other, by="ann", origin=Origin.USER, revises=stored)
    for verdict in (first, second):
        loop.review(verdict.version_id, "approve", by="ann")
    given = loop.recall("staging deploy asked")
    assert first.version_id not in [item.version_id for item in given.items]


def test_approval_is_bound_to_the_content_and_needs_a_name(make: Callable[..., Tacit]) -> None:
    loop = make()
    verdict = loop.propose(written(), by="ann")
    with pytest.raises(StaleVersion):
        loop.review(verdict.version_id, "approve", by="ann", content_hash="sha256:other")
    with raises(Mistake, "reviewer_missing"):
        loop.review(verdict.version_id, "approve", by=" ")
    with raises(Mistake, "unknown_decision"):
        loop.review(verdict.version_id, "bless", by="ann")
    loop.review(verdict.version_id, "approve", by="ann")
    with pytest.raises(IllegalTransition):
        loop.review(verdict.version_id, "approve", by="ann")


@dataclasses.dataclass
class Says:
    """A verifier with a known answer."""

    passed: bool

    def verify(self) -> Check:
        return Check(passed=self.passed, verifier="says")


def used(loop: Tacit) -> tuple[str, str]:
    verdict = loop.propose(written(), by="ann", origin=Origin.USER)
    loop.review(verdict.version_id, "approve", by="ann")
    return loop.recall("Deploy the web shop to staging").use_id, verdict.version_id


def test_evidence_moves_reliability_by_its_grade(make: Callable[..., Tacit]) -> None:
    loop = make()
    use, version = used(loop)
    unknown = loop.archive.reliability(version)
    assert not unknown.known
    loop.record(use, outcome="success", by="agent")
    assert not loop.archive.reliability(version).known
    [proof] = loop.record(use, verifier=Says(passed=True), by="ci")
    assert proof.grade is Grade.MACHINE
    assert loop.archive.reliability(version).low > unknown.low
    another = loop.recall("Deploy the web shop to staging").use_id
    loop.feedback(another, helpful=False, note="wrong cluster")
    assert loop.archive.reliability(version).high < 1.0


def test_recording_needs_something_to_record(make: Callable[..., Tacit]) -> None:
    loop = make()
    use, version = used(loop)
    with raises(Mistake, "outcome_missing"):
        loop.record(use)
    with raises(Mistake, "one_result"):
        loop.record(use, outcome="success", verifier=Says(passed=False))
    with raises(Mistake, "unknown_outcome"):
        loop.record(use, outcome="splendid")
    with raises(Mistake, "version_not_shown"):
        loop.record(use, outcome="success", followed=["v_other"])
    with pytest.raises(NotFound):
        loop.record("u_missing", outcome="success")
    assert loop.record(use, outcome="partial", followed=[version])


def test_credit_is_shared_where_nobody_says_which_skill_was_followed(make: Callable[..., Tacit]) -> None:
    loop = make()
    for name, place in (("deploy-to-staging", "staging"), ("deploy-to-production", "production")):
        content = written(
            name, description=f"Deploy the web shop to {place}.", steps=(SkillStep(text=f"push {place}"),)
        )
        loop.review(loop.propose(content, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    selection = loop.recall("Deploy the web shop", k=2)
    assert len(selection.items) == 2
    kept = loop.record(selection.use_id, verifier=Says(passed=True))
    assert [item.weight for item in kept] == [0.5, 0.5]


def test_a_reference_is_a_name_an_id_or_its_beginning(make: Callable[..., Tacit]) -> None:
    loop = make()
    verdict = loop.propose(written(), by="ann")
    for reference in ("deploy-the-shop", verdict.version_id, verdict.version_id[:9], verdict.skill_id):
        assert loop.version(reference).version.id == verdict.version_id
    with pytest.raises(NotFound):
        loop.version("v_")
    with pytest.raises(NotFound):
        loop.version("no-such-skill")


def test_static_skills_and_overlays_are_applied_together(make: Callable[..., Tacit], tmp_path: Path) -> None:
    folder = tmp_path / "shop" / ".agents" / "skills" / "release"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: release\ndescription: How to release.\nallowed-tools: Bash(git:*) Read\n---\nTag and push.\n"
    )
    (folder / "references").mkdir()
    (folder / "references" / "tags.md").write_text("v1, v2")
    loop = make(place=StoreLocation(database=str(tmp_path / "x.db"), project=tmp_path / "shop", chosen_by="test"))
    overlay = written("release-notes-first", description="Write the notes first.", extends="release", steps=())
    version_id = loop.propose(overlay, by="ann", origin=Origin.USER).version_id
    assert loop.apply("release").use_id == "", "nothing learned was shown"
    loop.review(version_id, "approve", by="ann")
    applied = loop.apply("release")
    assert applied.text.index("Tag and push.") < applied.text.index("Write the notes first.")
    assert applied.files == ("references/tags.md",)
    assert applied.read("references/tags.md") == b"v1, v2"
    assert loop.archive.use(applied.use_id).version_ids == (version_id,)
    (evidence,) = loop.record(applied.use_id, outcome="success")
    assert evidence.version_id == version_id
    with pytest.raises(NotFound):
        loop.apply("nothing-such")


RELEASE = (
    "---\nname: release\ndescription: How to release the shop to the stores.\n---\nTag `v1` and push it with zebra.\n"
)


@pytest.fixture
def shop(make: Callable[..., Tacit], tmp_path: Path) -> Tacit:
    """A project with the static skills `release` and `weekly-report`."""
    for name, text in {"release": RELEASE, "weekly-report": RELEASE.replace("release", "weekly-report")}.items():
        file = tmp_path / "shop" / ".claude" / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(
            text if name == "release" else "---\nname: weekly-report\ndescription: Sum up a week.\n---\nDo.\n"
        )
    return make(place=StoreLocation(database=str(tmp_path / "x.db"), project=tmp_path / "shop", chosen_by="test"))


def test_recall_names_static_skills_that_fit_and_keeps_nothing_of_them(shop: Tacit) -> None:
    found = shop.recall("Release the shop to the stores")
    assert found.abstained
    assert [(each.name, each.path) for each in found.static] == [("release", ".claude/skills/release/SKILL.md")]
    assert ".claude/skills/release/SKILL.md" in found.text
    assert "zebra" not in found.text
    assert found.version_ids == ()
    assert shop.skills() == []
    assert shop.recall("Water the flowers on the balcony").static == ()
    assert shop.recall("Release the shop to the stores", min_reliability=0.5).static == ()
    assert shop.recall("Release the shop to the stores", kinds=["lesson"]).static == ()


def test_static_skills_take_no_place_from_learned_ones(shop: Tacit) -> None:
    task = "Release the shop to the stores"
    learned = written("release-the-shop", description="Release the shop to the stores.")
    shop.review(shop.propose(learned, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    found = shop.recall(task)
    assert [each.name for each in found.items] == ["release-the-shop"]
    assert [each.name for each in found.static] == ["release"]
    tight = shop.recall(task, budget_tokens=found.items[0].tokens + 90)
    assert [each.name for each in tight.items] == ["release-the-shop"]
    assert ".claude/skills/release" not in tight.text
    assert tight.tokens <= tight.query.budget_tokens
    shop.review(
        shop.propose(written("release", description="x"), by="ann", origin=Origin.USER).version_id, "approve", by="ann"
    )
    assert shop.recall(task).static == (), "a learned skill has the name, so the file may be its export"


def test_apply_tells_which_tools_a_person_unlocked(shop: Tacit) -> None:
    asking = dataclasses.replace(written("tag-first", extends="release"), allowed_tools=("Bash(git:*)", "Read"))
    first = shop.propose(asking, by="agent").version_id
    with raises(Mistake, "unknown_tick"):
        shop.review(first, "approve", by="ann", ticked=["tool:Write"])
    shop.review(first, "approve", by="ann", ticked=["tool:Read"])
    applied = shop.apply("release")
    assert (applied.entry.tools, applied.unlocked) == (("Bash(git:*)", "Read"), ("Read",))
    assert applied.unlocks("Read", "docs/a.md")
    assert not applied.unlocks("Bash", "git tag v1")
    shop.review(first, "retire", by="ann")
    shop.review(first, "restore", by="ann")
    assert shop.apply("release").unlocked == ("Read",), "it need not be confirmed again"


def test_what_nobody_unlocked_stays_locked(shop: Tacit) -> None:
    asking = dataclasses.replace(written("tag-first"), allowed_tools=("Read",))
    shop.review(shop.propose(asking, by="agent").version_id, "approve", by="ann")
    assert shop.apply("tag-first").unlocked == ()


def test_a_paused_memory_names_no_static_skill(shop: Tacit) -> None:
    assert shop.context.place
    shop.context.place.pause(None)
    assert (shop.context.paused, shop.recall("Release the shop to the stores").static) == (True, ())


def test_a_rejected_skill_does_not_come_back_from_the_same_lesson(
    make: Callable[..., Tacit], sessions: list[Trajectory]
) -> None:
    loop = make()
    loop.capture(sessions[:1])
    loop.learn()
    for stored in loop.reviews.waiting():
        loop.review(stored.version.id, "reject", by="ann")
    again = dataclasses.replace(sessions[0], session_id="another", id="")
    loop.capture(again)
    report = loop.learn()
    assert {verdict.name for verdict in report.held} <= {"project-commands"}, "counts of commands are no lesson"
    left = [stored for stored in loop.skills() if stored.version.name != "project-commands"]
    assert left
    assert all(stored.status is Status.REJECTED for stored in left)
    assert not loop.skills(statuses=RECALLABLE)


def test_every_change_is_in_the_history_and_the_store_verifies(
    make: Callable[..., Tacit], sessions: list[Trajectory]
) -> None:
    loop = make()
    loop.capture(sessions)
    loop.learn()
    approve_all(loop)
    use = loop.recall(TASK).use_id
    loop.record(use, verifier=Says(passed=True))
    actions = {entry.action.split()[0] for entry in loop.archive.history()}
    assert {"trajectory", "learned", "skill", "version", "verdict", "transition", "use", "evidence"} <= actions
    name = by_name(loop, "add-database-migration-column")
    assert [entry.action for entry in loop.archive.history(name.skill.id)][-1].startswith("evidence")
    assert loop.archive.verify() == []
