"""Forgetting and restoring as a person does it: real processes, a real store, and an agent that may do neither."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from tests.e2e.conftest import Terminal


def as_person(terminal: Terminal) -> Terminal:
    terminal.unlocked = True
    return terminal


def a_trajectory(terminal: Terminal) -> str:
    waiting = terminal.run("review", "--json").json["waiting"]
    shown = terminal.run("skills", "show", waiting[0]["version_id"], "--json").json
    return str(_first_id(json.dumps(shown), "t_"))


def _first_id(text: str, start: str) -> str:
    at = text.index(f'"{start}') + 1
    return text[at : text.index('"', at)]


def test_a_purge_shows_first_and_then_removes_for_good(learned: Terminal) -> None:
    trajectory = a_trajectory(learned)
    before = learned.run("stats", "--json").json
    shown = learned.run("purge", "--trajectory", trajectory, "--json").json
    assert (shown["purged"], shown["trajectories"][0]) == (False, trajectory)
    assert learned.run("stats", "--json").json == before
    done = as_person(learned).run("purge", "--trajectory", trajectory, "--yes", "--by", "ann", "--json")
    assert done.code == 0, done.err
    assert done.json["purged"]
    assert done.json["erased"]
    assert learned.run("history", trajectory, "--json").code == 2
    assert learned.run("verify", "--json").json["intact"]
    again = learned.run("purge", "--trajectory", trajectory, "--yes", "--json")
    assert again.code == 2


def test_what_was_purged_is_not_learned_again(learned: Terminal, transcripts: Path) -> None:
    trajectory = a_trajectory(learned)
    assert as_person(learned).run("purge", "--trajectory", trajectory, "--yes", "--json").code == 0
    told = learned.run("learn", str(transcripts), "--json")
    assert told.code == 0, told.err
    assert told.json["captured"]["purged"] >= 1
    assert trajectory not in json.dumps(told.json)
    assert learned.run("verify").code == 0


def test_at_a_terminal_it_asks(learned: Terminal) -> None:
    trajectory = a_trajectory(learned)
    kept = learned.type("purge", "--trajectory", trajectory, answers={"for good?": "n\r"})
    assert kept.code == 0
    assert "Nothing was removed." in kept.out
    assert learned.run("purge", "--trajectory", trajectory, "--json").code == 0
    gone = learned.type("purge", "--trajectory", trajectory, answers={"for good?": "y\r"})
    assert gone.code == 0, gone.out
    assert learned.run("purge", "--trajectory", trajectory, "--json").code == 2


def test_neither_an_agent_nor_a_script_purges_or_restores(learned: Terminal) -> None:
    trajectory, backup = a_trajectory(learned), str(learned.project / "backup.db")
    assert learned.run("backup", backup).code == 0
    for markers in ({}, {"CLAUDECODE": "1"}):
        learned.variables = dict(markers)
        for arguments in (("purge", "--trajectory", trajectory, "--yes"), ("restore", backup, "--yes")):
            refused = learned.run(*arguments, "--json")
            assert refused.code == 3, arguments
            assert refused.json["error"]["kind"] == "NotPermitted"
    learned.variables = {}
    assert learned.run("purge", "--trajectory", trajectory, "--json").json["trajectories"]


@pytest.mark.parametrize("arguments", [(), ("--session", "a", "--made-by", "b"), ("--by", "b"), ("--source", "")])
def test_one_source_must_be_named(learned: Terminal, arguments: tuple[str, ...]) -> None:
    done = learned.run("purge", *arguments, "--json")
    assert done.code == 2
    assert "--session" in done.json["error"]["hint"]


def test_the_restore_drill_by_hand(learned: Terminal) -> None:
    backup = learned.project / "copies" / "backup.db"
    assert learned.run("backup", str(backup)).code == 2  # a folder that is not there was mistyped
    assert learned.run("backup", f"{backup}/").code == 2
    assert not backup.parent.exists()
    backup.parent.mkdir()
    made = learned.run("backup", str(backup), "--json").json
    assert made["manifest"]["sha256"]
    assert learned.run("verify", str(backup), "--json").json["intact"]
    trajectory = a_trajectory(learned)
    as_person(learned)
    assert learned.run("purge", "--trajectory", trajectory, "--yes", "--json").json["copies"][0]["holds"] > 0
    before = learned.run("stats", "--json").json
    done = learned.run("restore", str(backup), "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json["purged"]["trajectories"] == 1
    assert Path(done.json["aside"]).exists()
    after = learned.run("stats", "--json").json
    assert after["trajectories"] == before["trajectories"]
    assert learned.run("verify", "--json").json["anchor"]["sequence"] > 0
    assert learned.run("purge", "--trajectory", trajectory, "--backups", "--yes", "--json").json["copies"]
    again = learned.run("purge", "--trajectory", trajectory, "--json")
    assert again.code == 2


def test_an_import_is_found_by_its_path_from_anywhere_and_the_reason_is_told(terminal: Terminal) -> None:
    skill = terminal.project.parent / "sk" / "tidy"
    skill.mkdir(parents=True)
    text = "---\nname: tidy\ndescription: Tidy the tables of a report before it is printed\n---\n\nSort the rows by date.\n"
    (skill / "SKILL.md").write_text(text)
    assert terminal.run("skills", "import", "../sk/tidy", "--json").code == 0
    unknown = as_person(terminal).run("purge", "--source", "/elsewhere/tidy", "--yes", "--json")
    assert unknown.code == 2
    assert unknown.json["error"]["code"] == "nothing_to_purge"
    for asked in ("../sk/tidy", str(skill), str(skill / "SKILL.md"), str(skill.parent), "../sk"):
        assert terminal.run("purge", "--source", asked, "--json").json["skills"] == ["tidy"], asked
    done = terminal.run("purge", "--source", str(skill), "--yes", "--by", "ann", "--reason", "a planted host", "--json")
    assert done.code == 0, done.err
    entries = terminal.run("history", "--json").json["entries"]
    told = {entry["reason"] for entry in entries if entry["action"] in ("purge", "tombstone")}
    assert told == {"a planted host"}
    assert "a planted host" in terminal.run("history").out


def test_a_damaged_store_is_told_by_doctor_and_verify_says_what_helps(learned: Terminal) -> None:
    store = learned.project / ".tacit" / "tacit.db"
    assert learned.run("doctor", "--json").json["findings"][0]["state"] == "ok"
    file = apsw.Connection(str(store))
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    [(page, size)] = file.execute(
        "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'versions'"
    ).fetchall()
    file.close()
    data = bytearray(store.read_bytes())
    assert isinstance(page, int)
    assert isinstance(size, int)
    start = (page - 1) * size
    data[start : start + 7] = b"\xff" * 7
    store.write_bytes(data)
    found = learned.run("doctor", "--json").json["findings"][0]
    assert (found["about"], found["state"]) == ("store", "fault")
    assert "store verify" in found["remedy"]
    told = learned.run("verify")
    assert told.code == 4
    assert "tacit store restore" in told.err
    assert "store verify" not in told.err


def test_a_backup_that_was_changed_is_told_and_not_restored(learned: Terminal) -> None:
    backup = learned.project / "backup.db"
    assert learned.run("backup", str(backup)).code == 0
    data = bytearray(backup.read_bytes())
    data[len(data) // 2] ^= 1
    backup.write_bytes(data)
    told = learned.run("verify", str(backup), "--json")
    assert told.code == 4
    assert not told.json["intact"]
    assert as_person(learned).run("restore", str(backup), "--yes").code == 4
    assert learned.run("verify").code == 0


def test_an_older_store_put_in_place_by_hand_is_told_by_verify_and_doctor(learned: Terminal) -> None:
    store = learned.project / ".tacit" / "tacit.db"
    assert "no anchor" in learned.run("verify").out  # it was put there by hand, too
    assert learned.run("backup", str(learned.project / "backup.db")).code == 0
    assert learned.run("verify", "--json").json["anchor"]["sequence"]
    old = store.read_bytes()
    trajectory = a_trajectory(learned)
    assert as_person(learned).run("purge", "--trajectory", trajectory, "--yes").code == 0
    store.write_bytes(old)
    told = learned.run("verify", "--json")
    assert told.code == 4
    assert told.json["damage"][0]["subject"] == "the audit chain"
    findings = learned.run("doctor", "--json").json["findings"]
    assert any(finding["state"] == "fault" and finding["message"] for finding in findings)


def test_a_folder_that_was_exported_goes_with_its_skill(learned: Terminal) -> None:
    as_person(learned)
    waiting = learned.run("review", "--json").json["waiting"]
    item = next(each for each in waiting if each["kind"] == "procedure")
    learned.run("init", "--client", "claude-code", "--channel", "skill", "--yes")
    ticks = [word for tick in item["ticks"] for word in ("--tick", tick["key"])]
    assert learned.run("review", item["version_id"], "--approve", "--by", "ann", *ticks).code == 0
    folder = learned.project / ".claude" / "skills" / item["name"]
    assert (folder / "SKILL.md").exists()
    purged = learned.run("purge", "--source", item["content_hash"], "--yes", "--json")
    assert purged.code == 0, purged.err
    assert [each["what"] for each in purged.json["folders"]] == ["removed"]
    assert not folder.exists()
