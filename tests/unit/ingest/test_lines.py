from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.ingest.log_files import HEAD_BYTES, Line, head_of, numbered_lines
from tests.raising import raises


def written(folder: Path, data: bytes) -> Path:
    path = folder / "log.jsonl"
    path.write_bytes(data)
    return path


def data_of(path: Path, *, max_bytes: int = 100) -> list[bytes | int]:
    """The lines as bytes; a problem as the number of the line it names."""
    found: list[bytes | int] = []
    for line in numbered_lines(path, max_bytes=max_bytes):
        if isinstance(line, InvalidTrajectory):
            found.append(int(line.message.split(", line ")[1].split(":")[0]))
        else:
            found.append(line.data)
    return found


def test_lines_are_numbered_and_blank_ones_are_counted_but_not_given(tmp_path: Path) -> None:
    lines = list(numbered_lines(written(tmp_path, b"a\n\n  \nb")))
    assert lines == [Line(1, b"a\n", True), Line(4, b"b", False, 6)]


def test_a_line_at_the_limit_is_given_and_one_beyond_it_is_a_problem(tmp_path: Path) -> None:
    data = b"\n".join([b"x" * 100, b"y" * 101, b"z" * 5_000_000, b"last"])
    assert data_of(written(tmp_path, data)) == [b"x" * 100 + b"\n", 2, 3, b"last"]


def test_the_problem_of_a_long_line_tells_its_size_and_the_limit(tmp_path: Path) -> None:
    (problem,) = numbered_lines(written(tmp_path, b"x" * 1000), max_bytes=100)
    assert isinstance(problem, InvalidTrajectory)
    assert "1000 bytes" in problem.message
    assert "at most 100" in problem.message
    assert problem.hint


def test_a_long_line_in_compressed_data_is_passed_over_as_well(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a\n" + b"0" * 10_000_000 + b"\nb\n"))
    assert data_of(path) == [b"a\n", 2, b"b\n"]


def test_lines_before_the_end_of_truncated_compressed_data_are_given(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b"%06d\n" % number for number in range(20_000)))
    found = data_of(written(tmp_path, packed[: len(packed) // 2]))
    assert found[0] == b"000000\n"
    assert len(found) > 5_000
    assert found[-1] == len(found)


def test_compressed_data_with_a_flipped_bit_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"".join(b"%06d\n" % number for number in range(20_000))))
    packed[len(packed) // 2] ^= 0xFF
    assert isinstance(data_of(written(tmp_path, bytes(packed)))[-1], int)


def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    (problem,) = numbered_lines(tmp_path / "missing.jsonl")
    assert isinstance(problem, InvalidTrajectory)
    assert "cannot be read" in problem.message


def test_the_head_of_a_file_is_unpacked_and_bounded(tmp_path: Path) -> None:
    assert head_of(written(tmp_path, b"abc")) == b"abc"
    assert head_of(written(tmp_path, gzip.compress(b"abc"))) == b"abc"
    assert len(head_of(written(tmp_path, gzip.compress(b"0" * 10_000_000)))) == HEAD_BYTES
    assert head_of(written(tmp_path, gzip.compress(b"abc" * 1000)[:30])) != b""
    assert head_of(written(tmp_path, b"\x1f\x8bnot gzip at all")) == b""


def test_lines_keep_their_number_and_their_blanks_behind_many_blank_ones(tmp_path: Path) -> None:
    data = b"a\n" + b"\n \r\n\t\n" * 100_000 + b"  b\n" + b"\n" * 5
    for path in (written(tmp_path, data), written(tmp_path, gzip.compress(data))):
        assert list(numbered_lines(path)) == [Line(1, b"a\n", True), Line(300_002, b"  b\n", True, 600_002)]


def test_millions_of_blank_lines_in_a_small_archive_take_no_more_than_a_moment(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a\n" + b"\n" * 30_000_000 + b"b\n", compresslevel=1))
    assert data_of(path) == [b"a\n", b"b\n"]


@pytest.mark.parametrize("filling", [b"\n", b"0", b"x\n"])
def test_no_more_than_the_limit_is_unpacked_of_one_file(tmp_path: Path, filling: bytes) -> None:
    path = written(tmp_path, gzip.compress(b"a\n" + filling * 300_000 + b"\nlast\n"))
    *lines, problem = numbered_lines(path, max_bytes=100, max_file_bytes=100_000)
    assert isinstance(problem, InvalidTrajectory)
    assert "more than 100000 bytes" in problem.message
    assert lines[0] == Line(1, b"a\n", True)
    assert not any(isinstance(line, Line) and line.data == b"last\n" for line in lines)


def test_a_file_at_the_limit_is_read_whole(tmp_path: Path) -> None:
    assert list(numbered_lines(written(tmp_path, b"a\nb\n"), max_file_bytes=4)) == [
        Line(1, b"a\n", True),
        Line(2, b"b\n", True, 2),
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_from_the_mark_of_a_line_reading_goes_on_as_it_would_have(tmp_path: Path, packed: bool) -> None:
    data = b"\xef\xbb\xbfone\n\n  \ntwo\n" + b"x" * 300 + b"\nthree\n\nhalf"
    path = written(tmp_path, gzip.compress(data) if packed else data)
    lines = [line for line in numbered_lines(path, max_bytes=100) if isinstance(line, Line)]
    assert [line.data.strip() for line in lines] == [b"one", b"two", b"three", b"half"]
    for number, line in enumerate(lines):
        again = numbered_lines(path, start=line.mark, max_bytes=100)
        assert [line for line in again if isinstance(line, Line)] == lines[number:]


def test_behind_the_end_of_a_file_there_is_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\nb\n")
    assert list(numbered_lines(path, start=Mark(offset=4, line=2))) == []
    assert list(numbered_lines(path, start=Mark(offset=400, line=20))) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    (tmp_path / "good").symlink_to(written(tmp_path, b"a\n"))
    for name in ("pipe", "link"):
        (problem,) = numbered_lines(tmp_path / name)
        assert isinstance(problem, InvalidTrajectory)
        assert "not a regular file" in problem.message
        with raises(InvalidTrajectory, "not_a_regular_file"):
            head_of(tmp_path / name)
    assert data_of(tmp_path / "good") == [b"a\n"]
