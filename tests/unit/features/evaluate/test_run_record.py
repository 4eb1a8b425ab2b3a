"""A record on disk: which agent it is of, what is told of rows that were changed by hand, and what earlier versions wrote."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, Refusal, TacitError
from tacit.features.evaluate.actors.agents import open_actor
from tacit.features.evaluate.actors.external import CommandActor
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.run_record import RunHeader, read_run
from tacit.features.evaluate.runner import run_suite
from tacit.features.evaluate.suite import ARMS, Actor, Exercise
from tests.raising import raises
from tests.unit.features.evaluate.flats import Flat, Flats
from tests.unit.features.evaluate.test_runner import actor

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
    run_suite(Flats(), [NONE], made(tmp_path, done), Aids(), folder=record)
    again = run_suite(Flats(), [NONE], made(tmp_path, done), Aids(), folder=record, seeds=2)
    assert len(again.rows) == 6
    with raises(Refusal, "other_run") as refusal:
        run_suite(Flats(), [NONE], made(tmp_path, unsure), Aids(), folder=record, seeds=3)
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
    run_suite(Restless(), [NONE], acting, Aids(), folder=tmp_path / "run")
    changes_now.append(1)
    with raises(Refusal, "agent_changed"):
        run_suite(Restless(), [NONE], acting, Aids(), folder=tmp_path / "run", seeds=2)
    assert len(read_run(tmp_path / "run").rows) == 3


def test_a_log_that_an_agent_writes_does_not_make_it_another(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    for seeds, text in ((1, "old"), (2, "new")):
        log.write_text(text)
        acting = program(tmp_path, '{"done": true}', "--log", str(log))
        run_suite(Flats(), [NONE], acting, Aids(), folder=tmp_path / "run", seeds=seeds)
    header = read_run(tmp_path / "run").header
    assert {Path(name).name for name in header.agent_files} == {"agent.py", Path(sys.executable).name}


def test_a_log_of_a_program_that_is_started_itself_does_not_make_it_another(tmp_path: Path) -> None:
    script, log = tmp_path / "agent", tmp_path / "agent.log"
    result = "open(sys.argv[2], 'a').write('asked'); print('{\"done\": true}', flush=True)"
    script.write_text(f"#!{sys.executable}\nimport sys\nfor line in sys.stdin:\n    {result}\n")
    script.chmod(0o700)
    for seeds in (1, 2):
        acting = CommandActor(shlex.join([str(script), "--log", str(log)]))
        run_suite(Flats(), [NONE], acting, Aids(), folder=tmp_path / "run", seeds=seeds)
    header = read_run(tmp_path / "run").header
    assert log.read_text()
    assert header.watched == list(header.agent_files) == [str(script)]


def test_a_log_that_is_taken_for_a_part_of_the_agent_is_reported_with_the_way_out(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_text("")
    script = program(tmp_path, '{"done": true}').name.split()[-1]
    Path(script).write_text(f"{Path(script).read_text()}    open(sys.argv[1], 'a').write('asked')\n")
    acting = CommandActor(shlex.join([sys.executable, script, str(log)]))
    with raises(Refusal, "agent_changed") as refusal:
        run_suite(Flats(), [NONE], acting, Aids(), folder=tmp_path / "run")
    assert "(--log FILE)" in refusal.value.hint


@pytest.mark.parametrize(
    ("words", "watched"),
    [
        ("{python} agent.py", ["agent.py"]),
        ("{python} -u agent.py --log own.log", ["agent.py"]),
        ("env A=1 {python} -u agent.py", ["agent.py"]),
        ("{python} agent.py own.log", ["agent.py", "own.log"]),
        ("./agent.py --log own.log", ["./agent.py"]),
        ("python agent.py", ["agent.py"]),
        ("{python} -m agent", []),
        ("python -m agent", []),
        ("{python} -c 'import agent'", []),
        ("{python} package", []),
        ("bash -c 'python agent.py'", []),
        ("sh -c 'exec ./agent.py'", []),
    ],
)
def test_it_is_reported_where_no_file_of_an_agent_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, watched: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package").mkdir()
    for name in ("agent.py", "own.log", "package/__main__.py"):
        (tmp_path / name).write_text("")
    acting = CommandActor(words.format(python=sys.executable))
    header = RunHeader(
        suite="s", suite_hash="h", arms=(NONE,), agent=acting.name, agent_files=acting.files(), sealed=True
    )
    assert header.watched == watched
    assert [each.code for each in header.remarks] == ([] if watched else ["agent_not_watched"])


def without_seals(folder: Path) -> None:
    """A record as earlier versions wrote it."""
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**header, "sealed": False, "agent_files": {}}))
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    plain = [json.dumps({name: value for name, value in row.items() if name != "seal"}) for row in rows]
    (folder / "rows.jsonl").write_text("".join(f"{line}\n" for line in plain))


def test_a_record_of_an_earlier_version_is_read_and_gone_on_with(tmp_path: Path) -> None:
    record = tmp_path / "run"
    before = run_suite(Flats(), [NONE], program(tmp_path, '{"done": true}'), Aids(), folder=record)
    assert before.header.remarks == []
    without_seals(record)
    assert read_run(record).rows == before.rows
    assert [each.code for each in read_run(record).header.remarks] == ["no_seals", "agent_not_watched"]
    done = run_suite(Flats(), [NONE], program(tmp_path, '{"done": true}'), Aids(), folder=record, seeds=2)
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
def test_a_row_that_was_changed_by_hand_is_reported(
    tmp_path: Path, forge: Callable[[list[str]], list[str]], number: int
) -> None:
    def again(folder: Path) -> object:
        return run_suite(Flats(), BOTH, actor(), Aids(), folder=folder)

    again(tmp_path)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f"{line}\n" for line in forge(rows.read_text().splitlines())))
    for look in (read_run, again):
        with raises(Mistake, "seal_broken") as mistake:
            look(tmp_path)
        assert "remove that line" in mistake.value.hint


def test_what_a_run_measures_cannot_be_reported_otherwise_afterwards(tmp_path: Path) -> None:
    run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    result = (tmp_path / "run.json").read_text()
    (tmp_path / "run.json").write_text(result.replace('"obedient"', '"somebody else"'))
    with raises(Mistake, "seal_broken"):
        read_run(tmp_path)


def test_a_row_that_was_removed_makes_the_run_incomplete_and_is_attempted_again(tmp_path: Path) -> None:
    whole = run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path)
    rows = tmp_path / "rows.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:2] + lines[3:]))
    assert not read_run(tmp_path).complete
    assert run_suite(Flats(), BOTH, actor(), Aids(), folder=tmp_path).complete
    assert {(row.arm, row.exercise) for row in read_run(tmp_path).rows} == {(r.arm, r.exercise) for r in whole.rows}


PRECIOUS = "precious, and without a line's end"


def linked(path: Path) -> None:
    """Something elsewhere that a file of the record leads to."""
    elsewhere = path.parent.parent / "elsewhere.txt"
    elsewhere.write_text(PRECIOUS)
    path.unlink(missing_ok=True)
    path.symlink_to(elsewhere)


def dangling(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parent.parent / "made.txt")


def piped(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def folded(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


@pytest.mark.parametrize("planted", [linked, dangling, piped, folded])
@pytest.mark.parametrize("name", [".lock", "rows.jsonl", "run.json"])
def test_a_record_is_written_into_plain_files_alone(tmp_path: Path, name: str, planted: Callable[[Path], None]) -> None:
    folder = tmp_path / "run"
    run_suite(Flats(), [NONE], actor(), Aids(), folder=folder)
    planted(folder / name)
    with raises(Refusal, "not_a_regular_file") as refusal:
        run_suite(Flats(), [NONE], actor(), Aids(), folder=folder, seeds=2)
    assert "--out" in refusal.value.hint
    if name != ".lock":
        with raises(Refusal, "not_a_regular_file"):
            read_run(folder)
    assert not (tmp_path / "made.txt").exists()
    if planted is linked:
        assert (tmp_path / "elsewhere.txt").read_text() == PRECIOUS


@pytest.mark.parametrize("planted", [linked, dangling])
def test_a_new_record_does_not_begin_next_to_rows_that_lead_elsewhere(
    tmp_path: Path, planted: Callable[[Path], None]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    planted(folder / "rows.jsonl")
    with raises(Refusal, "foreign_files"):
        run_suite(Flats(), [NONE], actor(), Aids(), folder=folder)
    assert not (folder / "run.json").exists()


@pytest.mark.parametrize("seeds", [0, 1001, 10**30])
def test_a_number_of_seeds_that_would_be_attempted_for_ever_is_refused(tmp_path: Path, seeds: int) -> None:
    run_suite(Flats(), [NONE], actor(), Aids(), folder=tmp_path / "run")
    result = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps({**result, "seeds": seeds}))
    for look in (read_run, lambda folder: run_suite(Flats(), [NONE], actor(), Aids(), folder=folder)):
        with raises(Mistake, "bad_run_header"):
            look(tmp_path / "run")
    with raises(Mistake, "cannot_run"):
        run_suite(Flats(), [NONE], actor(), Aids(), folder=tmp_path / "new", seeds=seeds)


def test_a_run_that_failed_before_anything_was_attempted_takes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(TacitError):
        run_suite(Flats(), [NONE], CommandActor("no-such-program-anywhere"), Aids(), folder=tmp_path / "run")
    assert (tmp_path / "run" / "run.json").is_file()
    done = run_suite(Flats(), [NONE], program(tmp_path, '{"done": true}'), Aids(), folder=tmp_path / "run")
    assert len(done.rows) == len(Flats().exercises())
    with raises(Refusal, "other_run"):
        run_suite(Flats(), BOTH, program(tmp_path, '{"done": true}'), Aids(), folder=tmp_path / "run")


def test_how_much_was_set_aside_is_reported_with_the_record() -> None:
    header = RunHeader(
        suite="s", suite_hash="h", arms=(NONE,), agent="a", sealed=True, set_aside={"one": "why", "two": "why"}
    )
    assert [each.code for each in header.remarks] == ["excluded_exercises"]
    assert header.remarks[0].message.startswith("2 exercises")
