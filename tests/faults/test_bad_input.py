"""Hostile and damaged logs: each gives a clear problem, the rest of the batch is read, and memory and time stay bounded."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Trajectory
from tacit.ingest.sources import read

SRC = Path(tacit.__file__).parents[1]
MIB = 1024 * 1024


def atif(task: str, **more: Any) -> bytes:
    step = {"step_id": 1, "source": "user", "message": task}
    document = {"schema_version": "ATIF-v1.8", "agent": {"name": "a"}, "steps": [step], **more}
    return json.dumps(document).encode() + b"\n"


def claude(task: str) -> bytes:
    message = {"role": "user", "content": task}
    return json.dumps({"type": "user", "isSidechain": False, "sessionId": "s", "message": message}).encode() + b"\n"


DAMAGED: dict[str, bytes] = {
    "empty.jsonl": b"",
    "blank.jsonl": b"\n \n",
    "binary.jsonl": bytes(range(256)) * 40,
    "nulls.jsonl": b"\0" * 4096,
    "truncated.jsonl": atif("x")[:-30],
    "wrong-version.jsonl": atif("x", schema_version="ATIF-v7.0"),
    "no-version.jsonl": atif("x", schema_version=None),
    "steps-no-list.jsonl": atif("x", steps={"1": {}}),
    "not-utf-8.jsonl": atif("x").replace(b'"x"', b'"\xff\xfe"'),
    "nan.jsonl": atif("x", extra={"score": float("nan")}),
    "huge-number.jsonl": atif("x").replace(b'"name": "a"', b'"name": ' + b"9" * 5000),
    "huge-float.jsonl": atif("x", extra={"score": 1}).replace(b'"score": 1', b'"score": 1e999'),
    "deep.jsonl": atif("x", extra={"deep": "@"}).replace(b'"@"', b"[" * 200_000 + b"]" * 200_000),
    "deep-arguments.jsonl": atif(
        "x", steps=[{"source": "agent", "tool_calls": [{"function_name": "f", "arguments": {"a": "@"}}]}]
    ).replace(b'"@"', b"[" * 400 + b"]" * 400),
    "deep-subagents.jsonl": b'{"schema_version":"ATIF-v1.8","agent":{},"steps":[],"subagent_trajectories":[' * 20_000,
    "truncated.jsonl.gz": gzip.compress(atif(os.urandom(2000).hex()))[:-40],
    "header-only.jsonl.gz": gzip.compress(atif("x"))[:10],
    "not-gzip.jsonl.gz": b"\x1f\x8b" + b"garbage" * 100,
    "trailing-garbage.jsonl.gz": gzip.compress(b"") + b"garbage",
    "claude-shape.jsonl": claude("x").replace(b'"x"', b"7"),
    "claude-deep.jsonl": claude("x").replace(b'"x"', b'[{"a":' * 100_000),
}


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_a_damaged_file_is_a_clear_problem_and_never_a_crash(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    problems: list[InvalidTrajectory] = []
    assert list(read(path, on_problem=problems.append)) == []
    assert problems
    for problem in problems:
        assert problem.message.startswith(str(path))
        assert len(problem.message) < 400
        assert problem.hint


def test_in_a_batch_every_whole_log_is_still_read(tmp_path: Path) -> None:
    for name, data in DAMAGED.items():
        (tmp_path / name).write_bytes(data)
    for number in range(10):
        (tmp_path / f"{number}-whole.jsonl").write_bytes(atif(f"a{number}"))
        (tmp_path / f"session-{number}.jsonl").write_bytes(claude(f"c{number}"))
    problems: list[InvalidTrajectory] = []
    tasks = {trajectory.task.text for trajectory in read(tmp_path, on_problem=problems.append)}
    assert tasks == {f"a{n}" for n in range(10)} | {f"c{n}" for n in range(10)}
    blamed = {Path(problem.message.partition(":")[0].partition(", line")[0]).name for problem in problems}
    assert blamed == set(DAMAGED)


def test_lines_before_and_behind_the_damage_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        atif("one") + atif("two")[:-30] + b"\n" + bytes(range(1, 256)).replace(b"\n", b"") + b"\n" + atif("four")
    )
    problems: list[InvalidTrajectory] = []
    assert [t.task.text for t in read(path, on_problem=problems.append)] == ["one", "four"]
    assert [problem.message.split(":")[0] for problem in problems] == [f"{path}, line 2", f"{path}, line 3"]


def test_documents_before_the_end_of_a_truncated_archive_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    packed = gzip.compress(b"".join(atif(os.urandom(40).hex()) for _ in range(500)))
    path.write_bytes(packed[: len(packed) // 2])
    problems: list[InvalidTrajectory] = []
    found = list(read(path, on_problem=problems.append))
    assert 150 < len(found) < 350
    assert "ends early" in problems[-1].message


def test_a_key_that_stands_twice_counts_once_and_always_the_same(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(atif("x").replace(b'"steps":', b'"steps": [], "steps":'))
    assert [t.task.text for t in read(path)] == ["x"]


def test_half_pairs_of_surrogates_do_not_break_the_identity(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(atif("cut \ud83d off"))
    (trajectory,) = read(path)
    assert trajectory.task.text == "cut \ufffd off"
    assert isinstance(trajectory, Trajectory)
    assert repr(trajectory).encode("utf-8")


READ_IN_PROCESS = """
import resource, sys
from pathlib import Path
from tacit.ingest.sources import read
problems = []
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
words = [step.text for t in read(Path(sys.argv[1]), on_problem=problems.append) for step in t.steps]
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(",".join(words), len(problems), grown, sep="\\n")
print(*(problem.message for problem in problems), sep="\\n")
"""


def read_elsewhere(path: Path) -> tuple[list[str], list[str]]:
    """Read in a process of its own, in bounded memory and time; returns what was said, and the problems."""
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-c", READ_IN_PROCESS, str(path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    words, count, grown_mib, *problems = run.stdout.splitlines()
    assert len(problems) == int(count)
    assert int(grown_mib) < 160
    return words.split(","), problems


@pytest.mark.parametrize("make", [atif, claude], ids=["atif", "claude-code"])
def test_a_line_of_200_mb_costs_neither_memory_nor_the_lines_around_it(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as stream:
        stream.write(make("before"))
        stream.write(b'{"type": "')
        stream.seek(200 * MIB, os.SEEK_CUR)  # a hole: takes no room on the disk
        stream.write(b'"}\n' + make("behind"))
    words, problems = read_elsewhere(path)
    assert words == ["before", "behind"]
    assert len(problems) == 1
    assert f"{path}, line 2: " in problems[0]
    assert f" {200 * MIB + 13} bytes " in problems[0]


def test_a_small_archive_that_unpacks_to_a_huge_line_is_bounded_too(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=6) as stream:
        stream.write(atif("before") + b'{"a": "')
        for _ in range(200):
            stream.write(b"0" * MIB)
        stream.write(b'"}\n' + atif("behind"))
    assert path.stat().st_size < MIB
    words, problems = read_elsewhere(path)
    assert words == ["before", "behind"]
    assert len(problems) == 1


def test_many_reminders_in_one_prompt_take_no_more_than_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(claude("<system-reminder>" * 1_000_000) + claude("</system-reminder>x" * 1_000_000))
    assert len(list(read(path))) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_beside_a_session_are_reported_and_hold_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(claude("go"))
    beside = tmp_path / "s" / "subagents"
    beside.mkdir(parents=True)
    os.mkfifo(beside / "agent-pipe.jsonl")
    (beside / "agent-zero.jsonl").symlink_to("/dev/zero")
    (beside / "agent-folder.jsonl").mkdir()
    for source in (path, tmp_path):
        words, problems = read_elsewhere(source)
        assert words == ["go"]
        assert {name for name in ("pipe", "zero", "folder") if any(f"agent-{name}" in text for text in problems)} >= {
            "pipe",
            "zero",
        }


def test_many_blocks_of_the_host_in_one_prompt_take_no_more_than_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    blocks = "".join(f"<a_{number}></a_{number}>" for number in range(4_000))
    path.write_bytes(claude(blocks) + claude("<a_b>" * 12_000) + claude("<a-b " * 12_000 + "</a-b>" * 9))
    assert len(list(read(path))) == 1
