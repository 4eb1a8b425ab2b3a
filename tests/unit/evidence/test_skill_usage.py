"""Skill usage: which uses belong to a captured run, their evidence, and that crediting it again adds nothing."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.evidence import Assessment, Effort, Evidence, Following, Grade, Outcome, Use
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Claim, Environment, Role, Step, StepResult, Task, Trajectory, Usage
from tacit.evidence import skill_usage as crediting
from tacit.evidence.credit import effort_of, task_digest
from tacit.evidence.skill_usage import SkillUsage, missed_evidence
from tacit.recall import publishing
from tacit.store import open_store
from tests.unit.making import MIGRATE, NOW, VERIFIED, content, shell, stored

TASK = "add a currency field"
FAILED = Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE, verifier="pytest -q", reason="it failed")
SESSION = "s-1"


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    store = open_store(":memory:")
    yield store
    store.close()


def keep(store, made: SkillContent | None = None) -> str:
    held = stored(made)
    version = held.version
    born, tried = Status.CANDIDATE, Status.TRIAL
    moved: dict[str, Any] = {"version_id": version.id, "content_hash": version.hash, "by": "ann", "at": NOW}
    store.add_version(held.skill, version, Transition(before=None, after=born, reason="x", **moved))
    store.add_transition(Transition(before=born, after=tried, reason="x", **moved))
    return version.id


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def use(*version_ids: str, seconds: float = 0.5, **fields) -> Use:
    values = {"task": TASK, "at": at(seconds), "surface": "hook", "session_id": SESSION, "scope": "project:invoices"}
    return Use(version_ids=version_ids, **{**values, **fields})


def run(*steps: Step, begun: float = 0.0, dated: bool = True, task: str = TASK, **fields) -> Trajectory:
    """An attempt: the request, then one step every ten seconds."""
    asked = Step(index=0, role=Role.USER, text=task)
    numbered = [
        dataclasses.replace(step, index=index, at=at(begun + 10 * index) if dated else None)
        for index, step in enumerate((asked, *steps))
    ]
    values = {"session_id": SESSION, "environment": Environment(model="m-1", workspace="/srv/ann/invoices")}
    return Trajectory(task=Task(text=task), steps=tuple(numbered), **{**values, **fields})


MIGRATED = [shell(step.arguments["command"]) for step in MIGRATE]


def credit(store, trajectory: Trajectory, assessment: Assessment) -> list[Evidence]:
    return SkillUsage(store, trajectory).evidence(assessment)


def learned(store, trajectory: Trajectory, assessment: Assessment = VERIFIED) -> list[Evidence]:
    store.add_trajectory(trajectory, assessment, at=at(900))
    store.mark_learned(trajectory.id, at=at(901))
    made = credit(store, trajectory, assessment)
    publishing.store_evidence(store, made)
    return made


def test_a_followed_skill_is_credited_with_all_that_is_known_of_the_run(store):
    version_id, shown = keep(store), None
    store.add(shown := use(version_id, principal="ann"))
    usage = Usage(input_tokens=900, output_tokens=100, cost_usd=0.5)
    trajectory = run(*MIGRATED, usage=usage)
    (made,) = learned(store, trajectory)
    assert (made.version_id, made.use_id, made.trajectory_id) == (version_id, shown.id, trajectory.id)
    assert (made.outcome, made.grade, made.verifier) == (Outcome.SUCCESS, Grade.MACHINE, "pytest -q")
    assert (made.following, made.adherence, made.control, made.share) == (Following.FOLLOWED, 1.0, False, 0.0)
    assert (made.model, made.principal, made.scope, made.cost_usd) == ("m-1", "ann", "project:invoices", 0.5)
    assert (made.effort, made.task) == (Effort(steps=3, retries=0, tokens=1000), task_digest(TASK))
    assert (made.at, made.by) == (trajectory.ended_at, crediting.BY)


def test_crediting_again_adds_nothing(store):
    version_id = keep(store)
    store.add(use(version_id))
    trajectory = run(*MIGRATED)
    first = learned(store, trajectory)
    publishing.store_evidence(store, credit(store, trajectory, VERIFIED))
    assert store.evidence([version_id])[version_id] == first
    assert missed_evidence(store, at=at(1000)) == []


@pytest.mark.parametrize(
    "assessment",
    [
        Assessment(),
        Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF),
        Assessment(outcome=Outcome.UNKNOWN, grade=Grade.MACHINE),
    ],
)
def test_without_a_verified_outcome_there_is_no_evidence(store, assessment):
    store.add(use(keep(store)))
    assert credit(store, run(*MIGRATED), assessment) == []


def test_what_was_not_followed_is_kept_but_says_so(store):
    store.add(use(keep(store)))
    (ignored,) = credit(store, run(shell("ls"), shell("make all")), VERIFIED)
    (partly,) = credit(store, run(MIGRATED[0]), FAILED)
    assert (ignored.following, ignored.adherence) == (Following.IGNORED, 0.0)
    assert (partly.following, partly.outcome) == (Following.PARTLY, Outcome.FAILURE)


def test_only_steps_after_it_was_shown_count(store):
    store.add(use(keep(store), seconds=15, task="an error at work"))
    (made,) = credit(store, run(*MIGRATED), VERIFIED)
    assert made.following is Following.PARTLY, "the first step had been taken before"


def test_what_was_shown_after_the_last_step_gives_nothing(store):
    store.add(use(keep(store), seconds=31))
    assert credit(store, run(*MIGRATED), VERIFIED) == []


def test_a_session_has_several_tasks_and_a_use_belongs_to_one(store):
    version_id = keep(store)
    store.add(use(version_id))
    second = run(*MIGRATED, begun=100, task="another one")
    assert SkillUsage(store, second).shown == []
    store.add(use(version_id, seconds=99, surface="hook, shown before", task="another one"))
    (again,) = SkillUsage(store, second).shown
    assert (again.use.surface, again.start) == ("hook, shown before", 1)


def test_an_error_at_the_end_of_a_task_is_none_of_the_next(store):
    store.add(use(keep(store), seconds=98, task="an error at work"))
    assert SkillUsage(store, run(*MIGRATED, begun=100)).shown == []


def test_what_was_shown_at_the_start_of_a_session_holds_for_all_of_it(store):
    store.add(use(keep(store), seconds=-5000, task="session start"))
    assert len(SkillUsage(store, run(*MIGRATED, begun=100)).shown) == 1


def test_several_uses_of_one_version_in_one_attempt_are_one(store):
    version_id = keep(store)
    first = use(version_id)
    store.add(first)
    store.add(use(version_id, seconds=12, surface="hook, shown before"))
    store.add(use(version_id, seconds=14, surface="mcp"))
    (made,) = credit(store, run(*MIGRATED), VERIFIED)
    assert (made.use_id, made.following) == (first.id, Following.FOLLOWED)


def test_who_asks_by_themselves_is_known_by_session_and_words_or_by_being_just_before(store):
    version_id = keep(store)
    store.add(use(version_id, surface="api", seconds=-3600))
    assert len(SkillUsage(store, run(*MIGRATED)).shown) == 1
    assert SkillUsage(store, run(*MIGRATED, task="something else")).shown == []
    store.add(use(version_id, surface="api", seconds=-100, task="how are columns added"))
    assert len(SkillUsage(store, run(*MIGRATED, task="something else")).shown) == 1


def test_runs_without_times_are_known_by_the_words_of_the_request(store):
    store.add(use(keep(store), surface="api", seconds=-9000))
    (shown,) = SkillUsage(store, run(*MIGRATED, dated=False)).shown
    assert shown.start == 0
    assert SkillUsage(store, run(*MIGRATED, dated=False, task="something else")).shown == []
    (made,) = credit(store, run(*MIGRATED, dated=False), VERIFIED)
    assert (made.following, made.at) == (Following.FOLLOWED, shown.use.at)


def test_other_sessions_and_runs_without_a_session_take_no_credit(store):
    store.add(use(keep(store)))
    assert credit(store, run(*MIGRATED, session_id="s-2"), VERIFIED) == []
    assert credit(store, run(*MIGRATED, session_id=""), VERIFIED) == []


def test_a_control_gives_evidence_whatever_the_run_did(store):
    version_id = keep(store)
    store.add(use(version_id, held_back=True, shares=(0.25,)))
    (made,) = credit(store, run(*MIGRATED), VERIFIED)
    assert (made.control, made.share, made.following, made.adherence) == (True, 0.25, None, None)


def test_what_was_left_out_for_want_of_room_is_no_control(store):
    version_id = keep(store)
    store.add(use(version_id, held_back=True))
    assert credit(store, run(*MIGRATED), VERIFIED) == []
    store.add(use(version_id, seconds=11, surface="mcp"))
    (made,) = credit(store, run(*MIGRATED), VERIFIED)
    assert (made.control, made.following) == (False, Following.PARTLY)


def test_a_lot_decides_even_if_the_agent_then_asks_for_it(store):
    version_id = keep(store)
    store.add(use(version_id, held_back=True, shares=(0.25,)))
    store.add(use(version_id, seconds=1, surface="mcp"))
    (made,) = credit(store, run(*MIGRATED), VERIFIED)
    assert made.control


def test_shown_at_random_counts_even_without_an_alignment_and_gives_no_credit(store):
    vague = keep(store, content(name="vague", steps=(SkillStep(text="Think."),)))
    store.add(use(vague, shares=(0.25,)))
    (made,) = credit(store, run(*MIGRATED), VERIFIED)
    assert (made.control, made.share, made.following, made.adherence) == (False, 0.25, Following.PARTLY, None)
    store.add(dataclasses.replace(use(vague, session_id="s-2"), shares=()))
    assert credit(store, run(*MIGRATED, session_id="s-2"), VERIFIED) == []


def test_the_parts_of_a_composite_are_credited_each_for_itself(store):
    part, other = keep(store), keep(store, content(name="deploy", steps=(SkillStep(text="`make deploy`"),)))
    steps = (SkillStep(text="`add-a-migration`"), SkillStep(text="`deploy`"))
    whole = keep(store, content(name="release", sub_skills=("add-a-migration", "deploy"), steps=steps))
    store.add(use(whole))
    made = {item.version_id: item.following for item in credit(store, run(*MIGRATED), VERIFIED)}
    assert made == {whole: Following.PARTLY, part: Following.FOLLOWED, other: Following.IGNORED}


def test_a_subagent_is_credited_for_its_own_and_for_what_its_parent_was_shown_if_it_took_it_up(store):
    version_id = keep(store)
    store.add(use(version_id, seconds=-60))
    sub: dict[str, Any] = {"session_id": "agent-7", "parent_session_id": SESSION}
    (made,) = credit(store, run(*MIGRATED, **sub), VERIFIED)
    assert made.following is Following.FOLLOWED
    assert credit(store, run(shell("make all"), **sub), VERIFIED) == []
    own = use(version_id, session_id="agent-7")
    store.add(own)
    (ignored,) = credit(store, run(shell("make all"), **sub), VERIFIED)
    assert (ignored.use_id, ignored.following) == (own.id, Following.IGNORED)


def named(trajectory: Trajectory, name: str) -> Trajectory:
    steps = [dataclasses.replace(step, skill=name) if step.is_action else step for step in trajectory.steps]
    return dataclasses.replace(trajectory, steps=tuple(steps), id="")


def test_a_skill_that_the_client_found_by_itself_is_credited_without_a_use(store):
    version_id = keep(store)
    trajectory = named(run(*MIGRATED[:2], session_id="s-9"), "tacit:add-a-migration")
    (made,) = learned(store, trajectory)
    assert (made.version_id, made.use_id, made.following) == (version_id, "", Following.FOLLOWED)
    assert credit(store, trajectory, VERIFIED) == [made]
    (idle,) = credit(store, named(run(shell("make all")), "add-a-migration"), VERIFIED)
    assert idle.following is Following.PARTLY


def test_a_name_alone_is_not_enough_for_what_may_be_a_users_skill(store):
    keep(store, content(name="greeting-style", steps=(), body="Be brief."))
    assert credit(store, named(run(*MIGRATED), "greeting-style"), VERIFIED) == []
    assert credit(store, named(run(*MIGRATED), "/"), VERIFIED) == []
    keep(store)
    before = run(*MIGRATED, begun=-9000)
    assert credit(store, named(before, "add-a-migration"), VERIFIED) == [], "it was not there yet"


def test_a_use_that_was_noted_goes_before_the_clients_word(store):
    store.add(shown := use(keep(store)))
    (made,) = credit(store, named(run(*MIGRATED), "add-a-migration"), VERIFIED)
    assert made.use_id == shown.id


def test_a_longer_capture_of_the_same_attempt_gives_later_evidence_for_the_same_use(store):
    version_id = keep(store)
    store.add(use(version_id))
    (short,) = learned(store, run(MIGRATED[0]), FAILED)
    (whole,) = learned(store, run(*MIGRATED))
    assert short.use_id == whole.use_id
    assert short.at < whole.at
    assert [item.following for item in store.evidence([version_id])[version_id]] == [
        Following.PARTLY,
        Following.FOLLOWED,
    ]


def test_a_run_that_claims_to_end_in_the_far_future_is_dated_by_its_use(store):
    store.add(shown := use(keep(store)))
    late = run(*MIGRATED)
    steps = (*late.steps[:-1], dataclasses.replace(late.steps[-1], at=NOW + timedelta(days=4000)))
    (made,) = credit(store, dataclasses.replace(late, steps=steps, id=""), VERIFIED)
    assert made.at == shown.at + crediting.LASTING


def test_uses_that_come_to_be_known_late_are_swept_up_once(store):
    version_id = keep(store)
    assert learned(store, run(*MIGRATED)) == []
    store.add(use(version_id))
    (made,) = missed_evidence(store, at=at(1000))
    assert made.following is Following.FOLLOWED
    publishing.store_evidence(store, [made])
    assert missed_evidence(store, at=at(2000)) == []
    assert missed_evidence(store, at=NOW + timedelta(days=100)) == []


def test_what_was_purged_meanwhile_is_passed_over(store):
    store.add(use("v_gone"))
    assert credit(store, run(*MIGRATED), VERIFIED) == []


def test_a_lesson_without_its_error_gives_no_evidence(store):
    lesson = content(
        kind=Kind.LESSON, name="sync-first", signature="error: stale", steps=(SkillStep(text="`make sync`"),)
    )
    store.add(use(keep(store, lesson)))
    assert credit(store, run(*MIGRATED), VERIFIED) == []


def test_retries_are_failing_calls_of_a_form_that_failed_before():
    failing = [shell(f"pytest tests/test_{name}.py", StepResult.FAILED, code=1) for name in "abc"]
    trajectory = run(*failing, shell("npm test", StepResult.FAILED), shell("pytest"))
    assert effort_of(trajectory) == Effort(steps=5, retries=2, tokens=0)


def test_a_task_is_named_by_its_words_and_a_placeholder_by_nothing():
    assert task_digest("Add  a\ncurrency field ") == task_digest(TASK) != task_digest("add a field")
    assert [task_digest(text) for text in ("", " ", "a request", "session start", "an error at work", "apply x")] == [
        ""
    ] * 6
    assert task_digest("apply the patch")


def test_who_names_a_session_when_asking_is_credited_by_what_is_captured_of_it(store):
    with Tacit(store, scope=Scope(Level.PROJECT, "invoices"), clock=lambda: at(-30)) as loop:
        version_id = keep(store)
        publishing.publish(store)
        selection = loop.recall("add a database migration and run it", session=SESSION)
        assert selection.version_ids == (version_id,)
        shown = store.use(selection.use_id)
        assert (shown.session_id, shown.scope, shown.principal) == (SESSION, "project:invoices", "")
        claim = Claim(result="success", verified_by="a reviewer's checklist")
        loop.capture(run(*MIGRATED, claim=claim), trust_outcomes=True)
        loop.learn()
        (made,) = store.evidence([version_id])[version_id]
        assert (made.use_id, made.following, made.outcome) == (selection.use_id, Following.FOLLOWED, Outcome.SUCCESS)
        loop.learn()
        assert store.evidence([version_id])[version_id] == [made]


def asked(text: str, *, tool: str = "", **fields) -> Step:
    """A call of Tacit's own, with its answer."""
    made = shell("tacit recall 'add a currency field'", seen=text)
    called: dict[str, Any] = {"tool": tool, "arguments": {"task": TASK}} if tool else {}
    return dataclasses.replace(made, **called, **fields)


@pytest.mark.parametrize(("tool", "session"), [("", ""), ("mcp__tacit__recall", ""), ("mcp__tacit__recall", "mcp-7")])
def test_what_the_run_asked_for_by_itself_is_credited_by_the_use_that_the_answer_names(store, tool, session):
    version_id = keep(store)
    store.add(shown := use(version_id, session_id=session, surface="mcp", seconds=9))
    (made,) = learned(store, run(asked(f"<skill/>\nuse_id: {shown.id} (for `record`)", tool=tool), *MIGRATED))
    assert (made.use_id, made.following) == (shown.id, Following.FOLLOWED)


def test_a_use_that_is_named_elsewhere_is_not_the_runs_own(store):
    version_id = keep(store)
    store.add(shown := use(version_id, session_id="", surface="mcp", seconds=9))
    read = dataclasses.replace(shell("cat notes.txt", seen=shown.id))
    assert learned(store, run(read, *MIGRATED)) == []


def test_a_use_of_another_session_or_of_another_day_is_not_the_runs_own(store):
    version_id = keep(store)
    store.add(other := use(version_id, session_id="s-2", seconds=9))
    store.add(old := use(version_id, session_id="", surface="cli", seconds=-90_000))
    assert learned(store, run(asked(f"{other.id} {old.id}"), *MIGRATED)) == []


def test_what_was_done_before_it_asked_is_not_following(store):
    version_id = keep(store)
    store.add(shown := use(version_id, session_id="", surface="cli", seconds=39))
    made = learned(store, run(*MIGRATED, asked(shown.id)))
    assert [item.following for item in made] in ([], [Following.IGNORED])
