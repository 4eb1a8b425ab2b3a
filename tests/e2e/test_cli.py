"""The command line as people and programs use it: real processes, real store, recorded transcripts."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal, approve_all

TASK = "Add a migration that adds column `paid_at` to `payments`"


def test_learning_shows_what_waits_what_was_seen_and_why_the_rest_was_held(
    terminal: Terminal, transcripts: Path
) -> None:
    done = terminal.run("learn", str(transcripts))
    assert done.code == 0, done.err
    assert "waiting for review" in done.out
    assert "task failed" in done.out
    assert "tacit review" in done.out


def test_learning_twice_adds_nothing(learned: Terminal, transcripts: Path) -> None:
    before = learned.run("stats", "--json").json
    again = learned.run("learn", str(transcripts), "--json").json
    assert again["captured"]["added"] == 0
    assert again["captured"]["known"] == before["trajectories"]
    assert learned.run("stats", "--json").json == before


def test_a_candidate_is_not_recalled_before_a_person_approves_it(learned: Terminal) -> None:
    assert learned.run("recall", TASK, "--json").json["abstained"]


def test_the_loop_closes(learned: Terminal) -> None:
    approve_all(learned)
    commit_a_test(learned.project)
    given = learned.run("recall", TASK, "--json").json
    assert not given["abstained"]
    top = given["items"][0]
    assert top["kind"] == "procedure"
    assert [step["tool"] for step in top["steps"]][-1] == "Bash"
    assert given["tokens"] <= 1500
    assert learned.run("recall", "Translate the landing page into French", "--json").json["abstained"]

    check = f"{sys.executable} -m unittest"
    recorded = learned.run("record", given["use_id"], "--verify", check, "--followed", top["version_id"], "--json").json
    assert [item["grade"] for item in recorded["evidence"]] == ["machine-verified"]
    shown = learned.run("skills", "show", top["version_id"], "--json").json
    assert shown["reliability"]["trials"] == 1.0
    history = learned.run("skills", "show", top["version_id"], "--history", "--json").json
    assert learned.run("history", top["version_id"], "--json").json == history
    actions = [entry["action"] for entry in history["entries"]]
    assert any("trial" in action for action in actions)
    assert any("evidence" in action for action in actions)
    assert learned.run("verify").code == 0


def commit_a_test(project: Path) -> None:
    """A test that passes, committed before anything is recalled: nobody can say that the run wrote it."""
    text = "import unittest\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n"
    (project / "test_sums.py").write_text(text)
    who = ["git", "-C", str(project), "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    for words in (["add", "test_sums.py"], ["commit", "-q", "-m", "a test"]):
        subprocess.run([*who, *words], check=True)


def test_a_check_that_cannot_run_records_nothing(approved: Terminal) -> None:
    use = approved.run("recall", TASK, "--json").json["use_id"]
    done = approved.run("record", use, "--verify", "no-such-program-at-all", "--json")
    assert done.code == 4
    assert done.json["error"]["kind"] == "VerifierOutage"
    assert approved.run("stats", "--json").json.get("evidence", {}) == {}


def test_reviewing_is_refused_without_a_terminal(learned: Terminal) -> None:
    waiting = learned.run("review", "--json").json["waiting"]
    done = learned.run("review", waiting[0]["version_id"], "--approve", "--by", "ann", "--json")
    assert done.code == 3
    assert done.json["error"]["kind"] == "NotPermitted"


@pytest.mark.parametrize("marker", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI"])
def test_reviewing_is_refused_in_an_agents_shell_even_at_a_terminal(learned: Terminal, marker: str) -> None:
    waiting = learned.run("review", "--json").json["waiting"]
    learned.variables[marker] = "1"
    done = learned.type("review", waiting[0]["version_id"], "--approve", "--by", "ann")
    assert done.code == 3
    assert marker in done.out
    assert learned.type("config", "--new-key").code == 3


def test_a_person_reviews_one_by_one_at_a_terminal(learned: Terminal) -> None:
    waiting = learned.run("review", "--json").json["waiting"]
    answers = {"[q]uit:": "a\n", "Is it right? [y/N]:": "y\n", "Apply it? [y/N]:": "n\n"}
    done = learned.type("review", answers=answers)
    assert done.code == 0, done.out
    statuses = learned.run("stats", "--json").json["skills"]
    assert statuses.get("trial", 0) == len({item["skill_id"] for item in waiting})


def test_an_approval_is_bound_to_the_content_hash(learned: Terminal) -> None:
    waiting = learned.run("review", "--json").json["waiting"]
    done = learned.type("review", waiting[0]["version_id"], "--approve", "--hash", "sha256:0000")
    assert done.code == 3
    assert "content hash differs" in done.out


def test_an_edited_export_comes_back_as_a_new_version_and_can_be_rolled_back(
    approved: Terminal, tmp_path: Path
) -> None:
    skill = approved.run("recall", TASK, "--json").json["items"][0]
    folder = tmp_path / "exported"
    assert approved.run("skills", "export", skill["name"], "--to", str(folder)).code == 0
    file = folder / skill["name"] / "SKILL.md"
    unchanged = approved.run("skills", "import", str(folder), "--json").json["results"]
    assert unchanged[0]["relation"] == "reinforce"

    file.chmod(0o644)
    file.write_text(file.read_text().replace("description: '", "description: 'Mind the change freeze. ", 1))
    imported = approved.run("skills", "import", str(folder), "--json").json["results"][0]
    assert imported["relation"] == "merge"
    assert imported["version_id"] != skill["version_id"]
    difference = approved.run("skills", "diff", imported["version_id"], "--json").json["diff"]
    assert [line for line in difference.splitlines() if line.startswith("+description") and "Mind the change" in line]
    assert approved.run("recall", TASK, "--json").json["items"][0]["version_id"] == skill["version_id"]

    approve_all(approved)
    assert approved.run("recall", TASK, "--json").json["items"][0]["version_id"] == imported["version_id"]
    back = approved.type("skills", "rollback", skill["version_id"], "--yes")
    assert back.code == 0, back.out
    assert approved.run("recall", TASK, "--json").json["items"][0]["version_id"] == skill["version_id"]


def test_a_person_edits_a_skill_in_the_editor(learned: Terminal, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/^description: \'*/&Edited by hand. /" "$1"\n')
    editor.chmod(0o755)
    learned.variables["EDITOR"] = str(editor)
    name = learned.run("review", "--json").json["waiting"][0]["name"]
    done = learned.type("skills", "edit", name)
    assert done.code == 0, done.out
    waiting = learned.run("review", "--json").json["waiting"]
    assert any(item["description"].startswith("Edited by hand.") for item in waiting)


def test_static_and_learned_skills_stand_in_one_catalogue(learned: Terminal) -> None:
    folder = learned.project / ".claude" / "skills" / "greeting"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greeting\ndescription: How to greet.\n---\nSay hi.\n")
    listed = learned.run("skills", "list", "--json").json
    assert [skill["name"] for skill in listed["static"]] == ["greeting"]
    assert listed["skills"]


def test_past_attempts_are_found_by_task(learned: Terminal) -> None:
    found = learned.run("recall", "migration column due_date", "--kind", "episode", "--json").json["episodes"]
    assert "due_date" in found[0]["task"]
    assert found[0]["outcome"] == "success"
    assert any(path.endswith(".py") for path in found[0]["files"])


def test_a_backup_is_a_whole_store(learned: Terminal, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert learned.run("backup", str(copy)).code == 0
    assert learned.run("--store", str(copy), "verify").code == 0
    kept, copied = learned.run("stats", "--json").json, learned.run("stats", "--store", str(copy), "--json").json
    assert copied["trajectories"] == kept["trajectories"]
    again = learned.run("backup", str(copy), "--json")
    assert again.code == 2


def test_a_pause_silences_recall_and_learning(approved: Terminal, transcripts: Path) -> None:
    assert approved.run("pause", "--for", "1h").code == 0
    assert "paused" in approved.run("recall", TASK, "--json").json["reason"]
    assert approved.run("learn", str(transcripts)).code == 3
    assert approved.run("pause", "--resume").code == 0
    assert not approved.run("recall", TASK, "--json").json["abstained"]


def test_bad_files_are_named_and_the_rest_of_the_batch_is_learned_from(terminal: Terminal, transcripts: Path) -> None:
    batch = terminal.project / "batch"
    batch.mkdir()
    good = sorted(transcripts.glob("*.jsonl"))[0]
    (batch / "good.jsonl").write_bytes(good.read_bytes())
    (batch / "truncated.json").write_text('{"schema_version": "ATIF-v1.8", "steps": [')
    (batch / "newer.json").write_text('{"schema_version": "ATIF-v9.0", "agent": {"name": "x"}, "steps": []}')
    (batch / "binary.jsonl").write_bytes(bytes(range(256)) * 40)
    (batch / "empty.jsonl").write_bytes(b"")
    (batch / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"schema_version": "ATIF-v1.8"}' * 50)[:40])
    done = terminal.run("learn", str(batch), "--json")
    assert done.code == 0, done.err
    assert done.json["captured"]["added"] == 1
    told = [problem["message"] for problem in done.json["problems"]]
    for name in ("truncated.json", "newer.json", "cut.jsonl.gz"):
        assert any(name in message for message in told), (name, told)
    assert all(problem["hint"] for problem in done.json["problems"])


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("learn", "no-such-file"), 2, "NotFound"),
        (("recall", "x", "--scope", "galaxy"), 2, "Mistake"),
        (("record", "u_none", "--outcome", "success"), 2, "NotFound"),
        (("skills", "show", "no-such-skill"), 2, "NotFound"),
        (("history", "no-such-thing"), 2, "NotFound"),
        (("stats", "--store", "postgresql://localhost/x"), 2, "ConfigError"),
    ],
)
def test_a_mistake_gives_its_kind_a_next_step_and_the_exit_code(
    terminal: Terminal, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    done = terminal.run(*arguments, "--json")
    assert done.code == code, done
    assert done.json["error"]["kind"] == kind
    assert done.json["error"]["hint"]
    for_people = terminal.run(*arguments)
    assert for_people.code == code
    assert "error:" in for_people.err
    assert "next:" in for_people.err
    assert "Traceback" not in for_people.err


def test_an_unknown_setting_is_named_with_its_file(terminal: Terminal) -> None:
    (terminal.project / "tacit.toml").write_text("[recall]\nkk = 3\n")
    done = terminal.run("stats")
    assert done.code == 2
    assert "recall.kk" in done.err
    assert "tacit.toml" in done.err


def test_a_damaged_store_is_reported_and_exits_with_4(learned: Terminal) -> None:
    database = learned.project / ".tacit" / "tacit.db"
    learned.run("backup", str(learned.project / "compact.db"))
    data = bytearray((learned.project / "compact.db").read_bytes())
    at = data.find(b"revision chain is stale")
    assert at > 0
    data[at] ^= 1
    for leftover in database.parent.glob("tacit.db-*"):
        leftover.unlink()
    database.write_bytes(bytes(data))
    done = learned.run("verify", "--json")
    assert done.code == 4
    assert done.json["damage"]


def test_the_demo_tells_the_whole_story(terminal: Terminal) -> None:
    done = terminal.run("demo")
    assert done.code == 0, done.err
    for chapter in ("Learn", "Look", "Approve", "Recall", "Prove", "Remember"):
        assert chapter in done.out
    told = terminal.run("demo", "--json").json
    assert told["intact"]
    assert told["abstained_on_unrelated"]
    assert told["reliability"][1]["trials"] == 1.0
    assert told["reliability"][2] == told["reliability"][1], "self-reports must not move reliability"
    assert not (terminal.project / ".tacit").exists(), "the demo must not touch the user's project"


def test_learning_creates_no_store_where_there_is_no_project(terminal: Terminal, transcripts: Path) -> None:
    plain = terminal.project.parent / "notes"
    plain.mkdir()
    for folder in (plain, terminal.home):
        here = Terminal(project=folder, home=terminal.home)
        refused = here.run("learn", str(transcripts), "--json")
        assert (refused.code, refused.json["error"]["code"]) == (2, "not_a_project")
        assert here.run("learn").code == 0, "there is nothing to learn"
        assert not (folder / ".tacit" / "tacit.db").exists()
    (plain / "pyproject.toml").touch()
    assert Terminal(project=plain, home=terminal.home).run("learn", str(transcripts)).code == 0
    assert (plain / ".tacit" / "tacit.db").is_file()


def test_a_store_that_the_repository_names_is_not_used(learned: Terminal, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.db"
    settings = learned.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {"TACIT_STORE": str(theirs)}}))
    learned.variables["TACIT_STORE"] = str(theirs)
    found = learned.run("config", "--json")
    assert found.json["store"]["value"] == str(learned.project / ".tacit" / "tacit.db")
    assert "TACIT_STORE" in found.err
    findings = learned.run("doctor", "--json").json["findings"]
    assert [finding["about"] for finding in findings].count("environment") == 1
