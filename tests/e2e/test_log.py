"""`tacit log`, `tacit why` and `tacit status`: what Tacit did in a session, from real hook processes and a real store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal, approve_all
from tests.e2e.test_hook import TASK, send, settled, wait_for
from tests.unit.surfaces.hook_events import SESSION, claude, claude_failure
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, STALE, fill

OPTIONS = ("--client", "claude-code")


@pytest.fixture
def store(terminal: Terminal) -> Path:
    database = terminal.project / ".tacit" / "tacit.db"
    fill(database, NORM, PROCEDURE, LESSON)
    return database


@pytest.fixture
def worked(terminal: Terminal, store: Path) -> Terminal:
    """A session that was shown a norm, a procedure and a lesson, and that one of its prompts brought nothing."""
    send(terminal, claude("SessionStart", source="startup"), *OPTIONS)
    send(terminal, claude("UserPromptSubmit", prompt=TASK), *OPTIONS)
    send(terminal, claude_failure("python manage.py makemigration", f"Exit code 1\n{STALE}"), *OPTIONS)
    send(terminal, claude("UserPromptSubmit", prompt="Translate the landing page into French"), *OPTIONS)
    return terminal


def test_the_log_tells_each_moment_and_why(worked: Terminal) -> None:
    (session,) = worked.run("log", "--json").json["sessions"]
    assert (session["session"], session["client"]) == (SESSION, "claude-code")
    start, prompt, call, silent = session["events"]
    assert [each["name"] for each in start["shown"]] == [NORM.name]
    assert [each["name"] for each in prompt["shown"]] == [PROCEDURE.name]
    assert prompt["shown"][0]["why"]["relevance"] > 0
    assert [(each["name"], each["why"]["signature"]) for each in call["shown"]] == [(LESSON.name, 1.0)]
    assert "shown" not in silent
    assert silent["silent"]
    text = worked.run("log").out
    assert all(name in text for name in (NORM.name, PROCEDURE.name, LESSON.name))
    assert worked.run("log", "--session", SESSION[:6], "--json").json["sessions"] == [session]


def test_the_log_holds_nothing_that_was_typed(worked: Terminal) -> None:
    journals = "".join(path.read_text() for path in (worked.project / ".tacit" / "sessions").glob("*.jsonl"))
    assert '"why"' in journals
    assert "migration that adds" not in journals


def test_why_names_the_signals_and_the_words_in_common(
    worked: Terminal, store: Path, transcripts: Path, tmp_path: Path
) -> None:
    (before,) = worked.run("why", LESSON.name, "--json").json["showings"]
    assert before["shown"][0]["why"]["signature"] == 1.0, "the journal tells it before the session is learned from"
    transcript = tmp_path / f"{SESSION}.jsonl"
    transcript.write_bytes(sorted(transcripts.glob("*.jsonl"))[0].read_bytes())
    send(worked, claude("Stop", transcript_path=str(transcript)), *OPTIONS)
    wait_for(lambda: settled(store), "the learner")
    (showing,) = worked.run("why", LESSON.name, "--json").json["showings"]
    assert showing["session"] == SESSION
    assert showing["shown"][0]["why"]["signature"] == 1.0
    week = worked.run("status", "--json").json["week"]
    stats = worked.run("stats", "--json").json["records"]
    assert week["shown"] == sum(record["shown"] for record in stats) == 3


def test_a_session_that_nobody_knows_is_an_error_with_a_next_step(worked: Terminal) -> None:
    done = worked.run("log", "--session", "nosuch", "--json")
    assert done.code == 2
    assert done.json["error"]["code"] == "no_such_session"
    assert "tacit log" in done.json["error"]["hint"]


def test_what_was_recalled_outside_of_a_session_is_a_showing(learned: Terminal) -> None:
    approve_all(learned)
    recalled = learned.run("recall", "Add a migration that adds column `paid_at` to `payments`", "--json").json
    name = recalled["items"][0]["name"]
    (showing,) = learned.run("why", name, "--json").json["showings"]
    assert (showing["session"], showing["moment"]) == ("", "cli")
    assert learned.run("why", name).code == 0


def test_a_name_that_was_never_shown_says_so(learned: Terminal) -> None:
    approve_all(learned)
    name = learned.run("skills", "--json").json["skills"][0]["name"]
    assert learned.run("why", name, "--json").json["showings"] == []
    assert learned.run("why", "nothing-of-the-kind").code == 2


def test_a_captured_session_says_what_was_learned_from_it(learned: Terminal) -> None:
    logs = learned.run("log", "--limit", "20", "--json").json["sessions"]
    names = {each["name"] for session in logs for each in session["learned"]}
    assert names
    assert names <= {each["name"] for each in learned.run("skills", "--all", "--json").json["skills"]}


def test_status_leads_from_nothing_to_review(terminal: Terminal, transcripts: Path) -> None:
    empty = terminal.run("status", "--json").json
    assert (empty["connected"], empty["next"]) == ([], "tacit learn")
    assert not (terminal.project / ".tacit").exists(), "looking creates nothing"
    assert terminal.run("learn", str(transcripts)).code == 0
    found = terminal.run("status", "--json").json
    assert found["to_review"] > 0
    assert found["next"] == "tacit review"
    assert found["last_session"]["session"]
    assert terminal.run("--json").json == found


def test_status_names_what_is_wrong(learned: Terminal) -> None:
    assert learned.run("pause").code == 0
    found = learned.run("status", "--json").json
    assert [each["remedy"] for each in found["problems"]] == ["tacit pause --resume"]
    database = learned.project / ".tacit" / "tacit.db"
    database.write_bytes(b"no database at all" * 1000)
    broken = learned.run("status", "--json")
    assert broken.code == 0
    assert broken.json["problems"]
