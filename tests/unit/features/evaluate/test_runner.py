"""A run: every exercise under every arm, recorded, resumed, and refused where its figures would mean nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.features.evaluate.actors.external import PythonActor
from tacit.features.evaluate.actors.reference import ReferenceActor
from tacit.features.evaluate.actors.stepping import REPEATS_MAX, STOPPED
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.run_record import read_run
from tacit.features.evaluate.runner import _excluded_exercises, run_suite
from tacit.features.evaluate.suite import ARMS, Aid, Arm, AttemptCost, AttemptScore, Exercise
from tacit.features.evaluate.tool import Call
from tests.raising import raises
from tests.unit.features.evaluate.flats import Flat, Flats
from tests.unit.features.evaluate.test_learning_to_act import learned

NONE, ORACLE, SKILLS = ARMS["none"], ARMS["oracle"], ARMS["skills"]
BOTH = [NONE, ORACLE]
UNSEEN = [("power", "valve"), ("power", "water"), ("power", "valve", "water")]
"""Combinations that the memory never saw."""


def obey(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Does what the aid lists, one tool after the other, and nothing without one."""
    listed = [line.split(". ")[1] for line in question["aid"].splitlines() if line[:1].isdigit()]
    done = len(question["turns"])
    return {"tool": listed[done]} if done < len(listed) else {"done": True}


def actor(answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] = obey) -> PythonActor:
    return PythonActor(answer, name="obedient")


@pytest.fixture(scope="module")
def memory() -> Iterator[tacit.Tacit]:
    with learned([("power",), ("valve",), ("water",)] * 4 + [("valve", "water")] * 2) as loop:
        yield loop


def test_every_exercise_is_attempted_under_every_arm_and_seed(tmp_path: Path) -> None:
    done = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path, seeds=2)
    assert len(done.rows) == done.wanted == 3 * 2 * 2
    assert done.complete
    assert {(row.arm, row.seed, row.exercise) for row in done.rows} == {
        (arm.name, seed, key) for arm in BOTH for seed in (0, 1) for key in ("power", "valve", "power+valve")
    }
    assert {row.arm: {r.score.success for r in done.rows if r.arm == row.arm} for row in done.rows} == {
        "none": {False},
        "oracle": {True},
    }


def test_what_is_read_back_is_what_was_measured(tmp_path: Path) -> None:
    done = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    assert read_run(tmp_path) == done


def test_steps_and_retries_are_counted_where_the_world_does_not(tmp_path: Path) -> None:
    tries = [{"tool": "open_valve"}, {"tool": "open_valve"}, {"tool": "switch_power"}, {"tool": "open_valve"}]
    answers: list[Mapping[str, Any]] = [*tries, {"done": True}]
    stubborn = actor(lambda question: answers[len(question["turns"])])
    done = run_suite(Flats([("power", "valve")]), [NONE], stubborn, Aids(), folder=tmp_path)
    (row,) = done.rows
    assert (row.score.success, row.score.steps, row.score.retries) == (True, 4, 1)
    assert row.score.first_right is True
    assert row.context_tokens > row.output_tokens > 0


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    suite = Flats()
    asked: list[str] = []

    def once(question: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(question["task"])
        if len(asked) > 2:
            raise KeyboardInterrupt
        return {"done": True}

    with pytest.raises(KeyboardInterrupt):
        run_suite(suite, BOTH, actor(once), Aids(), folder=tmp_path, batch=1)
    assert len(read_run(tmp_path).rows) == 2
    assert not read_run(tmp_path).complete
    seen: list[tuple[int, int]] = []
    done = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path, progress=lambda *now: seen.append(now))
    assert done.complete
    assert seen[-1] == (6, 6)
    again = run_suite(Flats(), BOTH, actor(once), Aids(), folder=tmp_path)  # nothing is left: nobody is asked
    assert again.rows == done.rows


def test_a_torn_last_line_is_attempted_again(tmp_path: Path) -> None:
    whole = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    rows = tmp_path / "rows.jsonl"
    data = rows.read_bytes()
    for cut in (1, 40, len(data.splitlines()[-1])):
        rows.write_bytes(data[:-cut])
        assert len(read_run(tmp_path).rows) == 5
        fixed = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
        assert [(r.arm, r.exercise, r.score) for r in fixed.rows] == [(r.arm, r.exercise, r.score) for r in whole.rows]
        assert rows.read_bytes().count(b"\n") == 6


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.unit.features.evaluate.test_runner import *\n"
        "def deadly(question):\n"
        "    if question['task'].endswith('Complaint 2.'): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return {'done': True}\n"
        "run_suite(Flats(), BOTH, actor(deadly), Aids(), folder=Path(sys.argv[1]), batch=1)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with (tmp_path / "rows.jsonl").open("ab") as file:
        file.write(b'{"suite":"flats","arm":"none","se')
    done = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    assert done.complete
    assert len(done.rows) == 6


def test_more_seeds_may_follow_later(tmp_path: Path) -> None:
    run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    assert len(run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path, seeds=3).rows) == 18
    assert len(run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path, seeds=1).rows) == 18


@pytest.mark.parametrize(
    ("suite", "arms", "named", "difference"),
    [
        (Flats([("power",)]), BOTH, "obedient", "exercises"),
        (Flats(name="houses"), BOTH, "obedient", "suite (flats there, houses here)"),
        (Flats(), [NONE], "obedient", "arms (none, oracle there, none here)"),
        (Flats(), BOTH, "other", "agent (obedient there, other here)"),
        (Flats(), [NONE, replace(ORACLE, k=3)], "obedient", "arms (none, oracle, with other settings)"),
    ],
)
def test_another_run_is_refused_in_the_same_folder(
    tmp_path: Path, suite: Flats, arms: Sequence[Arm], named: str, difference: str
) -> None:
    run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    with raises(Refusal, "other_run") as refusal:
        run_suite(suite, arms, PythonActor(obey, name=named), Aids(), folder=tmp_path)
    assert refusal.value.message.endswith(f": {difference}")  # differences that follow from it are not named
    assert len(read_run(tmp_path).rows) == 6


def test_two_runs_cannot_write_into_one_folder(tmp_path: Path) -> None:
    def meanwhile(question: Mapping[str, Any]) -> Mapping[str, Any]:
        with raises(Refusal, "run_locked"):
            run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
        return {"done": True}

    done = run_suite(Flats([("power",)]), [NONE], actor(meanwhile), Aids(), folder=tmp_path)
    assert len(done.rows) == 1


def test_a_folder_with_rows_of_nobody_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    with raises(Refusal, "foreign_files"):
        run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("run.json", "{}", "bad_run_header"),
        ("run.json", "nonsense", "bad_run_header"),
        ("rows.jsonl", '{"suite": 3}\n{"suite": 3}\n', "bad_row"),
        ("rows.jsonl", "\xff\n", "bad_row"),
        ("rows.jsonl", "[" * 100_000 + "\n", "bad_row"),
        ("run.json", "[" * 100_000, "bad_run_header"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, file: str, text: str, code: str) -> None:
    run_suite(Flats([("power",)]), [NONE], actor(), Aids(), folder=tmp_path)
    (tmp_path / file).write_bytes(text.encode("latin-1"))
    with raises(Mistake, code):
        read_run(tmp_path)


@pytest.mark.parametrize("count", ["9" * 400, "-1", str(1 << 53)])
def test_numbers_that_cannot_be_computed_with_are_reported_with_their_line(tmp_path: Path, count: str) -> None:
    run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    rows = (tmp_path / "rows.jsonl").read_text().splitlines()
    rows[1] = re.sub(r'"context_tokens":\d+', f'"context_tokens":{count}', rows[1])
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    with raises(Mistake, "impossible_counts") as mistake:
        read_run(tmp_path)
    assert "remove that line" in mistake.value.hint


def test_an_agent_that_boasts_of_tokens_spoils_no_record(tmp_path: Path) -> None:
    boasting = PythonActor(lambda asked: {"done": True, "tokens": {"context": 10**400, "output": 10**400}})
    result = run_suite(Flats(), BOTH, boasting, Aids(), folder=tmp_path)
    assert all(0 < row.context_tokens < 10**6 for row in result.rows)
    assert read_run(tmp_path).rows == result.rows


def test_an_actor_that_counts_wrongly_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    class Boasting(PythonActor):
        def act(self, worlds: Any, aids: Any, **more: Any) -> AttemptCost:
            return replace(super().act(worlds, aids, **more), context_tokens=tuple(10**400 for _ in worlds))

    with raises(Mistake, "impossible_counts"):
        run_suite(Flats(), BOTH, Boasting(lambda asked: {"done": True}), Aids(), folder=tmp_path)
    assert read_run(tmp_path).rows == ()


def test_a_row_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    run_suite(Flats([("power",)]), [NONE], actor(), Aids(), folder=tmp_path)
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(rows.read_bytes() * 2)
    with raises(Mistake, "row_repeated"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("changed", "result"),
    [
        ({"arm": "[link=x]arm"}, r"arm '\[link=x\]arm'"),
        ({"exercise": "nobody", "group": "nobody"}, "exercise 'nobody'"),
        ({"group": "another"}, "task 'another'"),
        ({"suite": "another"}, "suite 'another'"),
        ({"seed": 7}, "seed 7"),
    ],
)
def test_rows_that_are_none_of_the_run_are_reported_and_not_counted(
    tmp_path: Path, changed: dict[str, object], result: str
) -> None:
    def measure(folder: Path) -> object:
        return run_suite(Flats([("power",)]), [NONE], actor(), Aids(), folder=folder)

    measure(tmp_path)
    rows = tmp_path / "rows.jsonl"
    row = json.loads(rows.read_text().splitlines()[0])
    rows.write_text(rows.read_text() + json.dumps({**row, **changed}) + "\n")
    for look in (read_run, measure):
        with raises(Mistake, "foreign_row"):
            look(tmp_path)


def test_a_folder_without_a_run_is_reported(tmp_path: Path) -> None:
    with raises(NotFound, "no_run"):
        read_run(tmp_path)


class Carried(Flats):
    """A careless suite: all attempts at one exercise share one world."""

    def __init__(self) -> None:
        super().__init__()
        self._worlds: dict[str, Flat] = {}

    def begin(self, exercise: Exercise) -> Flat:
        world = self._worlds.setdefault(exercise.key, super().begin(exercise))
        world.ended = False
        return world


def test_a_world_that_remembers_the_arm_before_is_refused(tmp_path: Path) -> None:
    with raises(Refusal, "state_not_reset"):
        run_suite(Carried(), [ORACLE, NONE], actor(), Aids(), folder=tmp_path)
    assert {row.arm for row in read_run(tmp_path).rows} == {"oracle"}


class Broken(Flats):
    """A suite whose second world cannot be acted in."""

    def begin(self, exercise: Exercise) -> Flat:
        world = super().begin(exercise)
        if exercise.key == "valve":
            world.call = self._fail  # type: ignore[method-assign]
        return world

    def _fail(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        raise ZeroDivisionError("no such pipe")


def test_a_world_that_raises_is_named_and_what_was_recorded_stands(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        run_suite(Broken(), [ORACLE], actor(), Aids(), folder=tmp_path, batch=1)
    assert error.value.__notes__ == ["(in exercise 'valve' of suite flats under arm 'oracle')"]
    assert [row.exercise for row in read_run(tmp_path).rows] == ["power"]


def test_all_that_makes_a_run_impossible_is_reported_at_once(tmp_path: Path) -> None:
    arms = [ARMS["adapter"], SKILLS, SKILLS]
    with raises(Mistake, "cannot_run") as mistake:
        run_suite(Flats([]), arms, actor(), Aids(), folder=tmp_path, seeds=0)
    for result in (
        "arm adapter: this agent has no adapter",
        "arm skills: there is no memory",
        "no exercise",
        "one seed",
        "arm skills is there twice",
    ):
        assert result in mistake.value.message
    assert not list(tmp_path.iterdir())


def test_being_stopped_is_no_honest_silence(tmp_path: Path) -> None:
    circling = actor(lambda question: {"tool": "read_room"})
    (row,) = run_suite(Flats([("power",)]), [NONE], circling, Aids(), folder=tmp_path).rows
    assert row.note.startswith(f"{STOPPED}read_room ")
    assert row.note.endswith(f" {REPEATS_MAX} times")
    assert row.score == AttemptScore(success=False, steps=3, first_right=False)
    quiet = actor(lambda question: {"abstain": "no idea"})
    (row,) = run_suite(Flats([("power",)]), [NONE], quiet, Aids(), folder=tmp_path / "quiet").rows
    assert row.score.abstained
    assert not row.note


def test_words_that_no_json_can_hold_are_recorded_all_the_same(tmp_path: Path) -> None:
    odd = actor(lambda question: {"tool": "read_room", "arguments": {"self": "\ud800"}})
    (row,) = run_suite(Flats([("power",)]), [NONE], odd, Aids(), folder=tmp_path).rows
    assert row.note.startswith(STOPPED)
    assert row.note.endswith(" self")
    assert json.loads((tmp_path / "rows.jsonl").read_text())["note"] == row.note


# --- with a memory --------------------------------------------------------------------------------------------------


def test_the_reference_agent_solves_by_skills_and_leaves_no_trace(tmp_path: Path, memory: tacit.Tacit) -> None:
    before = memory.context.store.history()
    arms = [NONE, SKILLS, ARMS["trajectory"], ARMS["placebo"], ORACLE]
    done = run_suite(Flats(UNSEEN), arms, ReferenceActor(memory), Aids(memory), folder=tmp_path)
    solved = {arm.name: [row.score.success for row in done.rows if row.arm == arm.name] for arm in arms}
    assert solved["none"] == [False] * 3
    assert solved["skills"] == [True] * 3
    assert solved["oracle"] == [True] * 3
    assert all(row.score.abstained for row in done.rows if row.arm == "none")
    assert all(row.context_tokens for row in done.rows if row.arm == "skills")
    assert memory.context.store.history() == before


def test_arms_that_the_reference_agent_has_no_use_for_are_refused(tmp_path: Path, memory: tacit.Tacit) -> None:
    with raises(Mistake, "cannot_run"):
        run_suite(Flats(), [ARMS["adapter"], ARMS["knowledge"]], ReferenceActor(memory), Aids(memory), folder=tmp_path)


def test_a_memory_that_holds_the_suites_tasks_is_refused(tmp_path: Path) -> None:
    suite = Flats([("power",), ("valve",)])
    (first, _) = suite.exercises()
    with tacit.open(":memory:") as known:
        steps = [{"step_id": 1, "source": "user", "message": first.task}]
        known.capture(tacit.read([{"schema_version": "ATIF-v1.8", "trajectory_id": "power", "steps": steps}]))
        with raises(Refusal, "tasks_known"):
            run_suite(suite, [NONE, SKILLS], ReferenceActor(known), Aids(known), folder=tmp_path)
        assert run_suite(suite, [NONE], ReferenceActor(known), Aids(known), folder=tmp_path).complete


def test_a_memory_that_changes_meanwhile_ends_the_run(tmp_path: Path, memory: tacit.Tacit) -> None:
    def meddling(question: Mapping[str, Any]) -> Mapping[str, Any]:
        memory.recall("the flat is cold")
        return {"done": True}

    with raises(Refusal, "memory_changed"):
        run_suite(Flats(UNSEEN), [SKILLS], actor(meddling), Aids(memory), folder=tmp_path)


def test_where_aids_give_most_answers_away_the_way_out_names_the_arms_that_do():
    exercises = [
        Exercise(
            key=f"k{at}", group=f"g{at}", task="pay", answer=(Call(tool="pay", arguments={"id": f"A-{at}77{at}"}),)
        )
        for at in range(3)
    ]
    given = {
        (arm, each.key): Aid(text=f"pay A-{at}77{at}" if arm == "trajectory" else "", sources=("v_1",))
        for arm in ("none", "skills", "trajectory")
        for at, each in enumerate(exercises)
    }
    with raises(Refusal, "answers_given_away") as result:
        _excluded_exercises(exercises, given)
    assert "--arms none,skills" in result.value.hint
