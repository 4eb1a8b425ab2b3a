"""A record on disk: which agent it is of, what is told of rows that were changed by hand, and what earlier versions wrote."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, Refusal
from tacit.evaluation.actors.command import CommandActor
from tacit.evaluation.actors.opening import open_actor
from tacit.evaluation.aids import Aids
from tacit.evaluation.record import read_run
from tacit.evaluation.running import run
from tacit.evaluation.suite import ARMS, Actor, Exercise
from tests.unit.evaluation.flats import Flat, Flats
from tests.unit.evaluation.test_running import actor

NONE = ARMS["none"]
BOTH = [NONE, ARMS["oracle"]]


def program(folder: Path, decision: str, *words: str) -> CommandActor:
    """An agent that is a file: it always decides the same."""
    script = folder / "agent.py"
    script.write_text(f"import sys\nfor line in sys.stdin:\n    print('{decision}', flush=True)\n")
    return CommandActor(shlex.join([sys.executable, "-u", str(script), *words]))


def function(folder: Path, decision: str) -> Actor:
    script = folder / "agent.py"
    script.write_text(f"def answer(question):\n    return {decision.replace('true', 'True')}\n")
    return open_actor(f"python:{script}:answer")


@pytest.mark.parametrize("made", [program, function])
def test_a_run_does_not_go_on_with_an_agent_whose_file_changed(
    tmp_path: Path, made: Callable[[Path, str], Actor]
) -> None:
    record, done, unsure = tmp_path / "run", '{"done": true}', '{"abstain": "why"}'
    run(Flats(), [NONE], made(tmp_path, done), Aids(), folder=record)
    again = run(Flats(), [NONE], made(tmp_path, done), Aids(), folder=record, seeds=2)
    assert len(again.rows) == 6
    with pytest.raises(Refusal, match=r"an agent whose files changed: \S*agent\.py") as refusal:
        run(Flats(), [NONE], made(tmp_path, unsure), Aids(), folder=record, seeds=3)
    assert "--out" in refusal.value.hint
    assert read_run(record) == again


def test_attempts_of_an_agent_that_is_changed_meanwhile_are_not_kept(tmp_path: Path) -> None:
    class Restless(Flats):
        def begin(self, exercise: Exercise) -> Flat:
            if changes_now:
                program(tmp_path, '{"abstain": "why"}')
            return super().begin(exercise)

    changes_now: list[int] = []
    acting = program(tmp_path, '{"done": true}')
    run(Restless(), [NONE], acting, Aids(), folder=tmp_path / "run")
    changes_now.append(1)
    with pytest.raises(Refusal, match="the agent changed while it was measured"):
        run(Restless(), [NONE], acting, Aids(), folder=tmp_path / "run", seeds=2)
    assert len(read_run(tmp_path / "run").rows) == 3


def test_a_log_that_an_agent_writes_does_not_make_it_another(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    for seeds, text in ((1, "old"), (2, "new")):
        log.write_text(text)
        acting = program(tmp_path, '{"done": true}', "--log", str(log))
        run(Flats(), [NONE], acting, Aids(), folder=tmp_path / "run", seeds=seeds)
    header = read_run(tmp_path / "run").header
    assert {Path(name).name for name in header.agent_files} == {"agent.py", Path(sys.executable).name}


def without_seals(folder: Path) -> None:
    """A record as earlier versions wrote it."""
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**header, "sealed": False, "agent_files": {}}))
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    plain = [json.dumps({name: value for name, value in row.items() if name != "seal"}) for row in rows]
    (folder / "rows.jsonl").write_text("".join(f"{line}\n" for line in plain))


def test_a_record_of_an_earlier_version_is_read_and_gone_on_with(tmp_path: Path) -> None:
    record = tmp_path / "run"
    before = run(Flats(), [NONE], program(tmp_path, '{"done": true}'), Aids(), folder=record)
    without_seals(record)
    assert read_run(record).rows == before.rows
    done = run(Flats(), [NONE], program(tmp_path, '{"done": true}'), Aids(), folder=record, seeds=2)
    assert read_run(record) == done
    assert len(done.rows) == 6


def won(line: str) -> str:
    return line.replace('"success":false', '"success":true')


@pytest.mark.parametrize(
    ("forge", "number"),
    [
        (lambda rows: [won(rows[0]), *rows[1:]], 1),
        (lambda rows: [*rows[:2], re.sub(r'"seconds":[^,]+', '"seconds":9.0', rows[2]), *rows[3:]], 3),
        (lambda rows: [*rows[:5], rows[4].replace('"valve"', '"power+valve"')], 6),
        (lambda rows: [*rows[:5], re.sub(r',"seal":"\w+"', "", rows[5])], 6),
    ],
    ids=["an outcome", "a time", "a row in place of another", "a row without a seal"],
)
def test_a_row_that_was_changed_by_hand_is_told(
    tmp_path: Path, forge: Callable[[list[str]], list[str]], number: int
) -> None:
    def again(folder: Path) -> object:
        return run(Flats(), BOTH, actor(), Aids(), folder=folder)

    again(tmp_path)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f"{line}\n" for line in forge(rows.read_text().splitlines())))
    for look in (read_run, again):
        with pytest.raises(Mistake, match=f"line {number} is not as it was written") as mistake:
            look(tmp_path)
        assert "remove that line" in mistake.value.hint


def test_what_a_run_measures_cannot_be_told_otherwise_afterwards(tmp_path: Path) -> None:
    run(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    told = (tmp_path / "run.json").read_text()
    (tmp_path / "run.json").write_text(told.replace('"obedient"', '"somebody else"'))
    with pytest.raises(Mistake, match=r"or run\.json is not"):
        read_run(tmp_path)


def test_a_row_that_was_removed_makes_the_run_incomplete_and_is_attempted_again(tmp_path: Path) -> None:
    whole = run(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    rows = tmp_path / "rows.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:2] + lines[3:]))
    assert not read_run(tmp_path).complete
    assert run(Flats(), BOTH, actor(), Aids(), folder=tmp_path).complete
    assert {(row.arm, row.exercise) for row in read_run(tmp_path).rows} == {(r.arm, r.exercise) for r in whole.rows}
