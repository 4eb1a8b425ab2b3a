from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tacit
from tacit.domain.errors import InvalidTrajectory, NotFound
from tacit.ingest.sources import READERS, find_reader, passed_over, read
from tests.raising import raises

SRC = Path(tacit.__file__).parents[1]
PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def atif(task: str) -> str:
    step = {"step_id": 1, "source": "user", "message": task}
    return json.dumps({"schema_version": "ATIF-v1.8", "agent": {"name": "a"}, "steps": [step]}) + "\n"


def claude(task: str) -> str:
    message = {"role": "user", "content": task}
    return json.dumps({"type": "user", "isSidechain": False, "sessionId": "s", "message": message}) + "\n"


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class TestFindingAReader:
    def test_each_format_is_told_by_content_whatever_the_name(self, tmp_path: Path) -> None:
        assert find_reader(put(tmp_path / "a.txt", atif("x"))).name == "atif"
        assert find_reader(put(tmp_path / "b.json", claude("x"))).name == "claude-code"

    def test_an_atif_document_about_claude_code_is_atif(self, tmp_path: Path) -> None:
        assert find_reader(put(tmp_path / "a.json", atif(claude("x")))).name == "atif"

    def test_a_claude_code_session_about_atif_is_claude_code(self, tmp_path: Path) -> None:
        assert find_reader(put(tmp_path / "a.json", claude(atif("x")))).name == "claude-code"

    def test_a_text_that_shows_an_example_is_no_log(self, tmp_path: Path) -> None:
        with raises(InvalidTrajectory, "unknown_format"):
            find_reader(put(tmp_path / "README.md", "# Format\n\n" + atif("x")))

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "empty_file"),
            (b" \n\n", "empty_file"),
            (b"\x1f\x8b\x00broken", "empty_file"),
            (b"\x7fELF\0\0\0", "binary_file"),
            (b"just words", "unknown_format"),
            (b'{"some": "json"}', "unknown_format"),
        ],
    )
    def test_a_file_of_no_known_format_is_named_with_the_reason(self, tmp_path: Path, data: bytes, code: str) -> None:
        path = tmp_path / "file.jsonl"
        path.write_bytes(data)
        with raises(InvalidTrajectory, code) as caught:
            find_reader(path)
        assert caught.value.message.startswith(str(path))
        assert caught.value.hint

    def test_a_pipe_is_refused_instead_of_waiting_for_it(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe.jsonl"
        os.mkfifo(path)
        with raises(InvalidTrajectory, "not_a_regular_file"):
            list(read(path))
        problems: list[InvalidTrajectory] = []
        assert list(read(tmp_path, on_problem=problems.append)) == []
        assert [problem.code for problem in problems] == ["not_a_regular_file"]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_file_without_permission_is_a_problem(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.jsonl", atif("x"))
        path.chmod(0)
        with raises(InvalidTrajectory, "unreadable"):
            list(read(path))

    def test_the_built_in_readers_have_names_of_their_own(self) -> None:
        names = [reader.name for reader in READERS]
        assert len(set(names)) == len(names)
        registered = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["tacit.readers"]
        built_in = {reader.name: f"{type(reader).__module__}:{type(reader).__name__}" for reader in READERS}
        assert built_in == registered


class TestReading:
    def test_a_path_may_be_given_as_text(self, tmp_path: Path) -> None:
        assert [t.task.text for t in read(str(put(tmp_path / "a.json", atif("x"))))] == ["x"]

    def test_a_path_that_is_not_there_is_said_at_once(self, tmp_path: Path) -> None:
        with raises(NotFound, "path_not_found"):
            read(tmp_path / "nowhere")

    def test_a_folder_is_read_in_order_of_its_names(self, tmp_path: Path) -> None:
        for name in ("b/2.jsonl", "b/1.json", "a/9.jsonl", "c.jsonl"):
            put(tmp_path / name, atif(name))
        assert [t.task.text for t in read(tmp_path)] == ["c.jsonl", "a/9.jsonl", "b/1.json", "b/2.jsonl"]

    def test_in_a_folder_files_that_are_no_logs_are_passed_over(self, tmp_path: Path) -> None:
        put(tmp_path / "README.md", "words")
        put(tmp_path / "settings.json", "{}")
        put(tmp_path / ".git" / "run.json", atif("hidden"))
        put(tmp_path / "run.json", atif("x"))
        assert [t.task.text for t in read(tmp_path)] == ["x"]

    def test_in_a_folder_a_log_that_nobody_knows_is_a_problem_and_the_rest_is_read(self, tmp_path: Path) -> None:
        put(tmp_path / "a.jsonl", '{"some": "json"}')
        put(tmp_path / "b.jsonl", "")
        put(tmp_path / "c.jsonl", claude("x"))
        problems: list[InvalidTrajectory] = []
        assert [t.task.text for t in read(tmp_path, on_problem=problems.append)] == ["x"]
        assert [Path(problem.message.split(":")[0]).name for problem in problems] == ["a.jsonl", "b.jsonl"]

    def test_a_document_that_was_passed_over_is_told_when_asked_for(self, tmp_path: Path) -> None:
        assert passed_over(tmp_path) is None
        (tmp_path / "notes.txt").write_text("no log")
        (tmp_path / "node_modules").mkdir()
        (tmp_path / "node_modules" / "package.json").write_text('{"name": "x"}')
        assert passed_over(tmp_path) is None
        (tmp_path / "run.traj.json").write_text('{"messages": []}')
        problem = passed_over(tmp_path)
        assert problem is not None
        assert "run.traj.json" in problem.message
        assert "known formats" in problem.hint
        assert passed_over(tmp_path / "run.traj.json") is None  # a file is read, and its problem told by that

    def test_an_attempt_knows_the_whole_path_it_was_read_from(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(tmp_path / "logs" / "a.json", atif("one"))
        put(tmp_path / "logs" / "b.jsonl", claude("two"))
        monkeypatch.chdir(tmp_path / "logs")
        sources = {trajectory.source for trajectory in read(Path("..") / "logs")}
        assert sources == {str((tmp_path / "logs" / name).resolve()) for name in ("a.json", "b.jsonl")}

    def test_an_empty_folder_gives_nothing(self, tmp_path: Path) -> None:
        assert list(read(tmp_path)) == []

    def test_links_that_lead_in_circles_or_nowhere_do_no_harm(self, tmp_path: Path) -> None:
        (tmp_path / "circle").symlink_to(tmp_path)
        (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "missing")
        put(tmp_path / "a.jsonl", atif("x"))
        assert [t.task.text for t in read(tmp_path)] == ["x"]

    def test_the_same_file_gives_the_same_ids(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.jsonl", atif("x") + atif("y"))
        assert [t.id for t in read(path)] == [t.id for t in read(path)]


_PACKAGE = """
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Task, Trajectory
from tacit.ingest.log_files import Parts

class Reader:
    name = "foreign"

    def recognises(self, head, path):
        return head.startswith(b"FOREIGN")

    def session_file(self, path):
        return path.with_name("main.log") if path.name.startswith("part-") else None

    def read(self, path, *, start=None):
        return Parts(self._parts(path, start.line if start else 0))

    def _parts(self, path, done):
        lines = path.read_text().splitlines()
        for line in lines[1 + done:]:
            yield Trajectory(task=Task(text=line), steps=())
        yield InvalidTrajectory(f"{path}: cannot be read", hint="look at it")
        yield Mark(offset=len(path.read_bytes()), line=len(lines) - 1)
"""


class TestOtherPackages:
    """In processes of their own, since what is installed is looked up once."""

    def run(self, folder: Path, code: str, *, entry: str) -> subprocess.CompletedProcess[str]:
        put(folder / "packages" / "foreign.py", _PACKAGE)
        put(
            folder / "packages" / "foreign-1.dist-info" / "METADATA",
            "Metadata-Version: 2.1\nName: foreign\nVersion: 1\n",
        )
        put(folder / "packages" / "foreign-1.dist-info" / "entry_points.txt", f"[tacit.readers]\nforeign = {entry}\n")
        put(folder / "log", "FOREIGN\nfrom a foreign reader\n")
        put(folder / "known", atif("known"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), str(folder / "packages")])}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    def test_a_reader_of_another_package_reads_what_no_built_in_one_knows(self, tmp_path: Path) -> None:
        code = "from tacit.ingest.sources import read; print(next(read('log')).task.text)"
        assert self.run(tmp_path, code, entry="foreign:Reader").stdout == "from a foreign reader\n"

    def test_a_known_file_is_read_without_looking_for_other_packages(self, tmp_path: Path) -> None:
        code = (
            "import sys; from tacit.ingest import sources; from tacit.ingest.sources import read;"
            "next(read('known')); print(sources._from_other_packages.cache_info().misses, 'foreign' in sys.modules)"
        )
        assert self.run(tmp_path, code, entry="foreign:Reader").stdout == "0 False\n"

    def test_a_reader_that_does_not_load_is_named(self, tmp_path: Path) -> None:
        code = (
            "from tacit.ingest.sources import read; from tacit.domain.errors import ConfigError\n"
            "try: list(read('log'))\nexcept ConfigError as error: print(error.code)"
        )
        assert self.run(tmp_path, code, entry="foreign:Missing").stdout == "reader_not_loadable\n"

    def test_a_problem_ends_the_file_of_a_reader_that_cannot_go_on_and_no_other(self, tmp_path: Path) -> None:
        code = (
            "from tacit.ingest.sources import read; problems = []\n"
            "print([t.task.text for t in read('logs', on_problem=problems.append)], len(problems))"
        )
        put(tmp_path / "logs" / "a.log", "FOREIGN\nfrom a foreign reader\n")
        put(tmp_path / "logs" / "b.json", atif("behind"))
        assert self.run(tmp_path, code, entry="foreign:Reader").stdout == "['from a foreign reader', 'behind'] 1\n"

    def test_it_resumes_where_it_stopped_and_groups_files_as_built_in_ones_do(self, tmp_path: Path) -> None:
        put(tmp_path / "logs" / "main.log", "FOREIGN\none\n")
        put(tmp_path / "logs" / "part-1.log", "FOREIGN\nread with main\n")
        code = (
            "from pathlib import Path; from tacit.ingest.sources import read\n"
            "from tacit.ingest.sources import NewAttempts, transcript\n"
            "print([t.task.text for t in read('logs', on_problem=lambda problem: None)])\n"
            "path = Path('logs/main.log')\n"
            "first = NewAttempts(transcript(path), None, on_problem=lambda problem: None)\n"
            "print([t.task.text for t in first])\n"
            "path.write_text(path.read_text() + 'two\\n')\n"
            "print([t.task.text for t in NewAttempts(transcript(path), first.bookmark, on_problem=lambda problem: None)])"
        )
        done = self.run(tmp_path, code, entry="foreign:Reader")
        assert done.stdout == "['one']\n['one']\n['two']\n", done.stderr
