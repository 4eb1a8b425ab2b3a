"""`tacit learn` without arguments: finds this project's sessions, follows them as they grow, counts nothing twice."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal
from tests.unit.features.evaluate.test_learning_to_act import episodes

RECORDED_AT = "/workspace/invoice-app"
FIRST = "00000001-5e55-4000-8000-000000000001.jsonl"
SECOND = "00000002-5e55-4000-8000-000000000002.jsonl"


def lay_down(terminal: Terminal, source: Path, *, project: Path | None = None) -> Path:
    """Put a recorded session where Claude Code would have written it for a project."""
    folder = project or terminal.project
    slug = "".join(c if c.isalnum() else "-" for c in str(folder))
    path = terminal.home / ".claude/projects" / slug / source.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source.read_text().replace(RECORDED_AT, str(folder)))
    return path


@pytest.fixture
def other(terminal: Terminal) -> Path:
    folder = terminal.project.with_name("mill")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def test_the_sessions_of_this_project_are_found_and_those_of_others_are_not(
    terminal: Terminal, transcripts: Path, other: Path
) -> None:
    lay_down(terminal, transcripts / FIRST)
    lay_down(terminal, transcripts / SECOND, project=other)
    told = terminal.run("learn", "--json").json
    assert told["transcripts"] == {"found": 1, "unchanged": 0, "of_other_projects": 1}
    assert told["captured"]["added"] == 1
    assert not (other / ".tacit").exists()


def test_a_session_that_began_in_a_subfolder_belongs_to_the_project(terminal: Terminal, transcripts: Path) -> None:
    below = terminal.project / "src"
    below.mkdir()
    lay_down(terminal, transcripts / FIRST, project=below)
    assert terminal.run("learn", "--json").json["captured"]["added"] == 1


def test_a_second_run_reads_nothing_again(terminal: Terminal, transcripts: Path) -> None:
    path = lay_down(terminal, transcripts / FIRST)
    terminal.run("learn")
    before = terminal.run("stats", "--json").json
    again = terminal.run("learn", "--json").json
    assert (again["transcripts"]["unchanged"], again["captured"]["added"], again["learned_from"]) == (1, 0, 0)
    os.utime(path)  # touched, not changed
    touched = terminal.run("learn", "--json").json
    assert (touched["transcripts"]["unchanged"], touched["captured"]["added"], touched["learned_from"]) == (0, 0, 0)
    after = terminal.run("stats", "--json").json
    assert {**after, "bytes": 0} == {**before, "bytes": 0}


def test_a_session_that_grows_ends_as_if_it_had_been_read_at_once(
    terminal: Terminal, transcripts: Path, tmp_path: Path
) -> None:
    path = lay_down(terminal, transcripts / FIRST)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for end in range(3, len(lines), 7):
        half = lines[end][: len(lines[end]) // 2]  # the client is writing this line
        path.write_bytes(b"".join(lines[:end]) + half)
        grown = terminal.run("learn", "--json")
        assert grown.json["problems"] == [], grown.out
    path.write_bytes(whole)
    terminal.run("learn")
    fresh = Terminal(
        project=terminal.project, home=terminal.home, variables={"TACIT_STORE": str(tmp_path / "at-once.db")}
    )
    fresh.run("learn")
    ask = ("recall", "add a migration", "--kind", "episode", "--json")
    [grown_episode], [episode] = (each.run(*ask).json["episodes"] for each in (terminal, fresh))
    assert grown_episode == episode
    assert terminal.run("verify").code == 0


def test_a_file_that_was_replaced_by_another_is_read_from_its_beginning(terminal: Terminal, transcripts: Path) -> None:
    path = lay_down(terminal, transcripts / FIRST)
    terminal.run("learn")
    other = lay_down(terminal, transcripts / SECOND)
    other.replace(path)
    told = terminal.run("learn", "--json").json
    assert told["captured"]["added"] == 1
    assert told["problems"] == []


def test_every_project_learns_into_its_own_store(terminal: Terminal, transcripts: Path, other: Path) -> None:
    lay_down(terminal, transcripts / FIRST)
    lay_down(terminal, transcripts / SECOND, project=other)
    lay_down(terminal, transcripts / SECOND, project=terminal.project.with_name("gone"))
    told = terminal.run("learn", "--all-projects", "--json").json
    assert told["transcripts"] == {"found": 3, "without_project": 1}
    assert {each["project"]: each["captured"]["added"] for each in told["projects"]} == {
        str(terminal.project): 1,
        str(other): 1,
    }
    assert (other / ".tacit/tacit.db").exists()
    shown = terminal.run("learn", "--all-projects")
    assert "1 session of folders" in shown.out.replace("\n", " ")


def test_one_project_that_cannot_be_opened_keeps_no_other_from_learning(
    terminal: Terminal, transcripts: Path, other: Path
) -> None:
    lay_down(terminal, transcripts / FIRST)
    lay_down(terminal, transcripts / SECOND, project=other)
    (other / ".tacit").mkdir()
    (other / ".tacit/tacit.db").write_bytes(b"this is no database" * 100)
    told = terminal.run("learn", "--all-projects", "--json")
    assert told.code == 0
    by_project = {each["project"]: each for each in told.json["projects"]}
    assert by_project[str(terminal.project)]["captured"]["added"] == 1
    assert "not a SQLite database" in by_project[str(other)]["error"]["message"]


def test_client_and_since_narrow_the_search(terminal: Terminal, transcripts: Path) -> None:
    path = lay_down(terminal, transcripts / FIRST)
    assert terminal.run("learn", "--client", "codex", "--json").json["transcripts"]["found"] == 0
    week_ago = time.time() - 7 * 86_400
    os.utime(path, (week_ago, week_ago))
    assert terminal.run("learn", "--since", "6d", "--json").json["transcripts"]["found"] == 0
    assert terminal.run("learn", "--since", "8d", "--json").json["transcripts"]["found"] == 1


def test_a_folder_without_sessions_is_a_mistake(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = terminal.run("learn", str(tmp_path / "empty"), "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "no_sessions_found")


def test_a_client_that_is_named_and_not_installed_is_an_outage_and_nothing_is_learned(
    terminal: Terminal, transcripts: Path
) -> None:
    terminal.variables["PATH"] = "/usr/bin:/bin"
    done = terminal.run("learn", str(transcripts), "--model", "codex", "--json")
    assert (done.code, done.json["error"]["code"]) == (4, "client_not_installed")
    assert not (terminal.project / ".tacit" / "tacit.db").exists()


def test_a_strange_point_in_time_is_a_mistake_that_says_what_to_write(terminal: Terminal) -> None:
    done = terminal.run("learn", "--since", "yesterday-ish")
    assert done.code == 2
    assert "7d, 12h" in done.err


def test_paths_and_looking_around_exclude_each_other(terminal: Terminal, transcripts: Path) -> None:
    done = terminal.run("learn", str(transcripts), "--all-projects")
    assert done.code == 2


def test_a_machine_without_sessions_says_where_to_look(terminal: Terminal) -> None:
    done = terminal.run("learn")
    assert done.code == 0
    assert "No agent sessions found" in done.out
    assert terminal.run("learn", "--json").json["transcripts"]["of_other_projects"] == 0


def test_a_forgotten_option_is_mended_by_the_same_command_with_it(terminal: Terminal) -> None:
    runs = terminal.project / "runs.jsonl"
    runs.write_text("".join(f"{json.dumps(each)}\n" for each in episodes([("power",), ("valve",)] * 4)))
    forgotten = terminal.run("learn", str(runs), "--json").json
    assert (forgotten["captured"]["added"], forgotten["captured"]["not_vouched"]) == (16, 16)
    agent = Terminal(terminal.project, terminal.home, {"CLAUDECODE": "1"}).run("learn", "--trust-outcomes", str(runs))
    assert (agent.code, "learn --trust-outcomes" in agent.err) == (3, True), "an agent does not vouch for what it did"
    mended = terminal.run("learn", "--trust-outcomes", str(runs))
    assert "16 already known (16 " in mended.out
    assert "waiting for review" in mended.out
    again = terminal.run("learn", "--trust-outcomes", str(runs), "--json").json
    assert (again["captured"]["known"], again["captured"]["vouched"], again["learned_from"]) == (16, 0, 0)
    assert terminal.run("verify").code == 0


def test_an_empty_name_of_a_model_is_refused(terminal: Terminal, transcripts: Path) -> None:
    done = terminal.run("learn", str(transcripts), "--model", " ")
    assert done.code == 2
    assert "--no-model" in done.err
    assert not (terminal.project / ".tacit" / "tacit.db").exists()
