"""Learning passes over a store: what is merged, revised, counted, taken back, and done only once."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.candidate import Relation
from tacit.domain.care import CareReason
from tacit.domain.lifecycle import Status, Transition, parse_reasons
from tacit.domain.skill import BEFORE_TAG, Kind, SkillContent
from tacit.domain.trajectory import Claim, Origin, Trajectory
from tacit.learn.mining.miner import mine
from tacit.store import Store, open_store
from tacit.store.schema import MIGRATIONS
from tests.unit.learn.attempts import bash, conflict, fixed_session, migration, session
from tests.unit.learn.calls import attempt, greenhouse, season
from tests.unit.making import ONE_RUN

AT = datetime(2026, 3, 1, tzinfo=UTC)
VENTS = ("grease_vents", "move_vents")


def claimed(trajectory: Trajectory, *, worked: bool = True) -> Trajectory:
    """The attempt with a verified outcome written in it."""
    claim = Claim(result="success" if worked else "failure", score=float(worked), verified_by="check")
    return dataclasses.replace(trajectory, claim=claim, id="")


def visits() -> list[Trajectory]:
    return [claimed(visit) for visit in season()]


def column(name: str) -> Trajectory:
    return dataclasses.replace(migration(name), session_id=f"session-{name}", id="")


def opened(path: str | Path) -> Tacit:
    return Tacit(open_store(path), config=ONE_RUN)


@pytest.fixture
def loop() -> Iterable[Tacit]:
    with opened(":memory:") as made:
        yield made


def learn(loop: Tacit, *trajectories: Trajectory) -> Any:
    loop.capture(trajectories, trust_outcomes=True)
    return loop.learn()


def contents(loop: Tacit) -> dict[str, SkillContent]:
    return {stored.version.name: stored.version.content for stored in loop.skills()}


def relations(report: Any, name: str) -> list[Relation]:
    return [verdict.relation for verdict in report.verdicts if verdict.name == name]


# --- work of a known kind -------------------------------------------------------------------------------------------


def test_work_of_a_known_kind_is_merged_into_the_next_version_and_then_only_confirmed(loop: Tacit) -> None:
    learn(loop, column("due_date"))
    (first,) = [stored.version for stored in loop.skills() if stored.version.content.kind is Kind.PROCEDURE]
    later = learn(loop, column("paid_at"))
    skill = first.skill_id
    stored = loop.context.store.versions(skill)
    assert [len(held.version.provenance.trajectory_ids) for held in stored] == [1, 2]
    assert stored[1].version.parents == (stored[0].version.id,)
    assert relations(later, stored[1].version.name)[:1] == [Relation.MERGE]
    assert "due_date" not in str([step.arguments for step in stored[1].version.content.steps])
    learn(loop, column("sent_at"))
    before = loop.context.store.versions(skill)
    report = learn(loop, column("seen_at"))
    assert Relation.REINFORCE in relations(report, before[-1].version.name)
    assert loop.context.store.versions(skill) == before


def test_nothing_new_is_nothing_done(loop: Tacit) -> None:
    learn(loop, *visits())
    before = loop.archive.history()
    report = loop.learn()
    assert (report.trajectories, report.verdicts) == (0, ())
    assert loop.archive.history() == before


def test_a_group_is_compared_again_only_when_something_came_to_it(loop: Tacit) -> None:
    letters = [claimed(attempt(f"Write letter {n}", ("write_letter", {"to": f"p{n}"}, "ok"))) for n in range(4)]
    learn(loop, *visits(), *letters)
    report = learn(loop, claimed(attempt("Write letter 9", ("write_letter", {"to": "p9"}, "ok"))))
    assert {verdict.name for verdict in report.verdicts} == {"write-letter"}


def test_failures_alone_and_unverified_attempts_teach_no_procedure(loop: Tacit) -> None:
    learn(loop, *(claimed(visit, worked=False) for visit in season()))
    learn(loop, *(dataclasses.replace(visit, session_id="again", id="") for visit in season()))
    assert contents(loop) == {}


# --- many passes, or one --------------------------------------------------------------------------------------------


def essence(content: SkillContent) -> tuple[Any, ...]:
    """What an account says, whatever the names of the skills are."""
    cases = sorted(repr(case.conditions) for case in content.cases)
    return (
        [(step.tool, dict(step.arguments), step.optional) for step in content.steps],
        [(one.name, one.type, one.reading, one.key) for one in content.parameters],
        cases,
        content.postconditions,
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_several_passes_say_the_same_as_one_pass_over_all(size: int) -> None:
    whole, parts = opened(":memory:"), opened(":memory:")
    learn(whole, *visits())
    everything = visits()
    for start in range(0, len(everything), size):
        learn(parts, *everything[start : start + size])
    apart = contents(parts)
    for content in contents(whole).values():
        assert essence(content) in [essence(other) for other in apart.values()]
    assert all(set(content.after) <= apart.keys() for content in apart.values())


def test_counts_alone_make_no_new_versions(loop: Tacit) -> None:
    everything = visits()
    learn(loop, *everything[:12])
    before = {stored.version.id for stored in loop.context.store.catalogue()}
    report = learn(loop, *everything[12:])
    assert {verdict.relation for verdict in report.verdicts} == {Relation.REINFORCE}
    assert {stored.version.id for stored in loop.context.store.catalogue()} == before


def test_a_unit_that_grew_is_the_next_account_of_the_skill_it_was(loop: Tacit) -> None:
    learn(loop, *visits()[:3])  # too few to see that greasing and moving always go together
    learn(loop, *visits()[3:])
    grown = [stored for stored in loop.skills() if {step.tool for step in stored.version.content.steps} > set(VENTS)]
    assert len(grown) == 1
    assert len(loop.context.store.versions(grown[0].skill.id)) > 1
    assert set(VENTS) <= set(grown[0].version.content.tags)


def test_tools_of_two_servers_with_one_name_are_two_skills(loop: Tacit) -> None:
    def filed(server: str, number: int) -> Trajectory:
        return claimed(attempt(f"File {server} {number}", (f"{server}__create_issue", {"title": f"t{number}"}, "ok")))

    learn(loop, *(filed("github", n) for n in range(4)))
    learn(loop, *(filed("jira", n) for n in range(4)))
    tools = {name: {step.tool for step in content.steps} for name, content in contents(loop).items()}
    assert tools == {"create-issue": {"github__create_issue"}, "jira-create-issue": {"jira__create_issue"}}
    learn(loop, filed("github", 8), filed("jira", 8))
    assert {name: {step.tool for step in content.steps} for name, content in contents(loop).items()} == tools


def test_tools_whose_names_have_no_letter_that_a_skill_may_have_are_skills_of_their_own(loop: Tacit) -> None:
    learn(loop, *(claimed(attempt(f"{tool} {n}", (tool, {"k": f"v{n}"}, "ok"))) for n in range(4) for tool in "取消"))
    assert {content.steps[-1].tool for content in contents(loop).values()} == {"取", "消"}


# --- a person's word ------------------------------------------------------------------------------------------------


def test_a_persons_edit_is_kept_until_a_person_replaces_it(loop: Tacit) -> None:
    learn(loop, *visits()[:7])
    mined = loop.version("switch-heater")
    text = "Turn the heater on, and wait a minute."
    steps = (*mined.version.content.steps[:-1], dataclasses.replace(mined.version.content.steps[-1], text=text))
    written = dataclasses.replace(mined.version.content, description="How Ann wants it.", steps=steps)
    edit = loop.propose(written, by="ann", origin=Origin.USER, revises=mined)
    loop.review(edit.version_id, "approve", by="ann")
    learn(loop, *visits()[7:])
    assert loop.version("switch-heater").version.id == edit.version_id
    waiting = [stored.version for stored in loop.reviews.waiting() if stored.skill.id == mined.skill.id]
    assert all(version.content.description == "How Ann wants it." for version in waiting)
    assert all(version.parents == (edit.version_id,) for version in waiting)


def test_what_a_person_rejected_does_not_come_again(loop: Tacit) -> None:
    learn(loop, *visits()[:12])
    rejected = loop.version("switch-heater")
    loop.review(rejected.version.id, "reject", by="ann")
    learn(loop, *visits()[12:])
    assert "switch-heater" not in [stored.version.name for stored in loop.reviews.waiting()]
    assert loop.context.store.version(rejected.version.id).status is Status.REJECTED


# --- counted errors -------------------------------------------------------------------------------------------------


def lesson_of(loop: Tacit) -> SkillContent:
    (lesson,) = [content for content in contents(loop).values() if content.kind is Kind.LESSON]
    return lesson


def test_a_warning_is_counted_over_sessions_and_taken_back(loop: Tacit) -> None:
    for number in range(1, 4):
        learn(loop, fixed_session(number))
    assert BEFORE_TAG in lesson_of(loop).tags
    for number in range(9, 14):
        learn(loop, session(number, bash("npm install", "added 9 packages")))
    assert BEFORE_TAG not in lesson_of(loop).tags
    count = len(loop.context.store.catalogue())
    learn(loop, session(20, bash("ls", "x")))
    assert len(loop.context.store.catalogue()) == count


def test_a_lesson_whose_fix_is_typed_differently_by_now_is_revised(loop: Tacit) -> None:
    for numbers, fix in ((range(1, 4), "make rates"), (range(4, 9), "make rates --silent")):
        for number in numbers:
            learn(loop, session(number, conflict(), bash(fix), bash("npm install", "added")))
    (known,) = {each.skill.id for each in loop.context.store.catalogue(kinds={Kind.LESSON})}
    steps = [each.version.content.steps[0] for each in loop.context.store.versions(known)]
    assert [list(each.arguments.values()) for each in steps] == [["make rates"], ["make rates --silent"]]


def statuses(loop: Tacit) -> list[tuple[str, Status]]:
    return [(each.version.name, each.status) for each in loop.context.store.catalogue(kinds={Kind.LESSON})]


def test_a_fix_that_later_sessions_do_without_is_retired_and_its_successor_proposed(loop: Tacit) -> None:
    for number in range(1, 4):
        learn(loop, fixed_session(number))
    name, _ = statuses(loop)[-1]
    (waiting,) = [each for each in loop.reviews.waiting() if each.version.content.kind is Kind.LESSON]
    loop.review(waiting.version.id, "approve", by="p", content_hash=waiting.version.hash)
    learn(loop, session(9, conflict(), bash("rm -rf node_modules"), bash("npm install --force", "added")))
    assert dict(statuses(loop))[name] is Status.TRIAL, "one session is not enough"
    withdrawn: list[Transition] = []
    for number in range(10, 14):
        again = session(number, conflict(), bash("rm -rf node_modules"), bash("npm install --force", "added"))
        withdrawn += learn(loop, again).withdrawn
    found = dict(statuses(loop))
    assert found.pop(name) is Status.RETIRED
    assert list(found.values()) == [Status.CANDIDATE]
    move = loop.context.store.transitions(waiting.version.id)[-1]
    assert move in withdrawn
    assert [reason.code for reason in parse_reasons(move.reason) or ()] == [CareReason.FIX_NO_LONGER_HELPS]


def test_one_fix_of_two_errors_gives_two_lessons_that_both_stay(loop: Tacit) -> None:
    locked = bash("npm install", "npm ERR! code ELOCKED\nnpm ERR! the cache folder is locked by rates", code=1)
    fixed = [bash("make rates"), bash("npm install", "added")]
    for number in range(1, 4):
        learn(loop, session(number, conflict(), *fixed))
    for number in range(4, 8):
        report = learn(loop, session(number, locked, *fixed))
        assert report.withdrawn == ()
    assert [status for _, status in statuses(loop)] == [Status.CANDIDATE, Status.CANDIDATE]


# --- attempts from before outlines ----------------------------------------------------------------------------------


def test_attempts_learned_before_there_were_outlines_are_compared_too(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    everything = visits()
    old = Store(path, migrations=MIGRATIONS[:3])
    earlier = Tacit(old, config=ONE_RUN)
    earlier.capture(everything[:10], trust_outcomes=True)
    for episode in old.episodes():
        old.mark_learned(episode.id, at=AT)
    old.close()
    with opened(path) as loop, opened(":memory:") as whole:
        assert len(loop.context.store.outlines.missing()) == 10
        report = learn(loop, *everything[10:])
        assert report.trajectories == 4
        assert loop.context.store.outlines.missing() == []
        learn(whole, *everything)
        assert {name: essence(content) for name, content in contents(loop).items()} == {
            name: essence(content) for name, content in contents(whole).items()
        }
        assert loop.learn().verdicts == ()
        assert loop.archive.verify() == []


# --- several at once ------------------------------------------------------------------------------------------------


def overtaken(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Let something happen between comparing and keeping what came of it."""
    whole = mine

    def slowly(*given: Any) -> Any:
        found = list(whole(*given))
        monkeypatch.setattr("tacit.learn.pipeline.mine", whole)
        meanwhile()
        return iter(found)

    monkeypatch.setattr("tacit.learn.pipeline.mine", slowly)


def test_who_compared_less_does_not_replace_what_another_process_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tacit.db"
    everything = visits()
    with (
        opened(path) as slow,
        opened(path) as quick,
        opened(":memory:") as whole,
    ):
        learn(whole, *everything)
        slow.capture(everything[:5], trust_outcomes=True)
        overtaken(monkeypatch, lambda: learn(quick, *everything[5:]) and None)
        report = slow.learn()
        assert report.verdicts == ()
        assert {name: essence(content) for name, content in contents(slow).items()} == {
            name: essence(content) for name, content in contents(whole).items()
        }
        assert slow.context.store.outlines.unmined() == []
        assert slow.archive.verify() == []


def _learn_at(path: str, part: int) -> None:
    with opened(path) as loop:
        learn(loop, *visits()[part::2])


def test_two_processes_that_learn_at_once_end_where_one_does(tmp_path: Path) -> None:
    path = str(tmp_path / "tacit.db")
    spawn = multiprocessing.get_context("spawn")
    running = [spawn.Process(target=_learn_at, args=(path, part)) for part in range(2)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0, 0]
    with opened(path) as loop, opened(":memory:") as whole:
        loop.learn()
        learn(whole, *visits())
        kept = [essence(content) for content in contents(loop).values()]
        assert all(essence(content) in kept for content in contents(whole).values())
        assert (loop.archive.stats().trajectories, loop.context.store.outlines.unmined(), loop.archive.verify()) == (
            14,
            [],
            [],
        )


# --- from learning to credit ----------------------------------------------------------------------------------------


# --- odd attempts ---------------------------------------------------------------------------------------------------


ODD = [
    ("a key with a backslash", {"a\\qb": "alpha{n}", "{x}": "alpha{n}"}, "ok"),
    ("nests of lists", {"rows": [["{n}"], [1, None]], "mixed": [{"a": 1}, "b"], "empty": {}}, "ok"),
    ("values that are no text", {"n": 3, "share": 0.5, "on": True, "none": None}, "ok"),
    ("a document as argument", {"text": "word {n} " * 6_000}, "ok"),
    ("a long answer", {"name": "alpha{n}"}, "Status: fine\n" * 40_000),
    ("an answer of brackets", {"name": "alpha{n}"}, "[" * 100_000),
    ("no argument and no answer", {}, ""),
]


def filled(value: Any, number: int) -> Any:
    if isinstance(value, dict):
        return {key: filled(item, number) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, number) for item in value]
    return value.replace("{n}", str(number)) if isinstance(value, str) else value


@pytest.mark.parametrize(("arguments", "answer"), [odd[1:] for odd in ODD], ids=[odd[0] for odd in ODD])
@pytest.mark.parametrize("task", ["Rename alpha{n} now", ""], ids=["asked", "no task"])
def test_odd_calls_are_learned_from_like_others(task: str, arguments: dict[str, Any], answer: str) -> None:
    made = [
        claimed(
            attempt(
                filled(task, n), ("get_it", filled(arguments, n), answer), ("rename", filled(arguments, n), "ok"),
                session=f"s{n}",
            )
        )
        for n in range(4)
    ]  # fmt: skip
    with opened(":memory:") as loop:
        learn(loop, *made)
        assert [content.steps[-1].tool for content in contents(loop).values()] == ["rename"]
        assert loop.archive.verify() == []


def test_an_attempt_without_a_message_of_a_person_is_grounded_in_its_task(loop: Tacit) -> None:
    bare = [
        dataclasses.replace(visit, steps=tuple(dataclasses.replace(step, index=step.index - 1) for step in visit.steps[1:]),
                            id="")
        for visit in visits()
    ]  # fmt: skip
    learn(loop, *bare)
    version = loop.version("switch-heater").version
    assert {span.step for span in version.provenance.grounding["cues"]} == {-1}
    assert version.origins["cues"] is Origin.USER


def test_one_visit_of_many_calls_is_outlined_within_bounds(loop: Tacit) -> None:
    calls = [(f"set_{n % 9}", {"id": f"r{n}"}, "ok") for n in range(500)]
    learn(loop, *(claimed(attempt(f"Set everything {n}", *calls, session=f"s{n}")) for n in range(3)))
    assert all(len(outline.moves) == 60 for outline in loop.context.store.outlines.all())
    assert all(len(content.steps) <= 8 for content in contents(loop).values() if not content.sub_skills)


def test_a_visit_to_another_house_does_not_change_the_skills_of_the_first(loop: Tacit) -> None:
    learn(loop, *visits())
    before = {name: essence(content) for name, content in contents(loop).items()}
    learn(loop, claimed(greenhouse(99, heater=True, vents=False, pump=True)))
    assert {name: essence(content) for name, content in contents(loop).items()} == before
