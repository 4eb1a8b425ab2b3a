"""One channel per skill and client: with the channel `skill`, procedures become SKILL.md folders, and edits come back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tacit.config import channels
from tests.e2e.conftest import Terminal, approve_all
from tests.e2e.test_review import unlocked


@pytest.fixture
def exporting(learned: Terminal) -> Terminal:
    """A project in which Claude Code reads learned procedures as folders, with candidates waiting."""
    channels.choose(str(learned.project / ".tacit"), "claude-code", channels.SKILL)
    return learned


def skill(terminal: Terminal) -> Path:
    return sorted((terminal.project / ".claude/skills").glob("*/SKILL.md"))[0]


def test_approval_writes_procedures_where_the_client_looks_and_nothing_else(exporting: Terminal) -> None:
    assert not (exporting.project / ".claude").exists()
    approve_all(exporting)
    listed = exporting.run("skills", "list", "--json").json["skills"]
    procedures = [each["name"] for each in listed if each["kind"] == "procedure"]
    assert {each["kind"] for each in listed} > {"procedure"}
    assert {path.name for path in (exporting.project / ".claude/skills").iterdir()} == set(procedures)
    assert not (exporting.project / ".agents").exists()
    status = subprocess.run(
        ["git", "status", "--short"], cwd=exporting.project, capture_output=True, text=True, check=True
    )
    assert status.stdout == "", "what is exported is not for the repository"
    assert exporting.run("skills", "sync", "--json").json == {"folders": [], "taken_back": []}


def test_by_default_nothing_is_exported(learned: Terminal) -> None:
    approve_all(learned)
    assert not (learned.project / ".claude").exists()


def test_an_edit_in_the_folder_comes_back_as_a_version_that_waits_and_is_never_overwritten(exporting: Terminal) -> None:
    approve_all(exporting)
    path = skill(exporting)
    edited = path.read_text() + "\nMind the gap between staging and production.\n"
    path.chmod(0o644)  # whoever edits it means to
    path.write_text(edited)
    back = exporting.run("skills", "sync", "--json").json
    assert [each["what"] for each in back["folders"]] == ["edited"]
    assert path.read_text() == edited
    [waiting] = exporting.run("review", "--json").json["waiting"]
    assert "Mind the gap" in waiting["skill_md"]
    assert exporting.run("skills", "sync", "--json").json["taken_back"] == []  # once is enough
    approve_all(exporting)
    assert "Mind the gap" in path.read_text()
    assert exporting.run("skills", "sync", "--json").json == {"folders": [], "taken_back": []}
    path.chmod(0o644)  # whoever edits it means to
    path.write_text(path.read_text().replace("Mind the gap", "Forget the gap"))
    exporting.run("learn")
    [waiting] = exporting.run("review", "--json").json["waiting"]
    assert "Forget the gap" in waiting["skill_md"]


def test_retirement_removes_the_folder_and_restoring_brings_it_back(exporting: Terminal) -> None:
    approve_all(exporting)
    path = skill(exporting)
    exporting.unlocked = True
    assert exporting.run("review", path.parent.name, "--retire", "--by", "ann").code == 0
    assert not path.parent.exists()
    assert exporting.run("review", path.parent.name, "--restore", "--by", "ann").code == 0
    assert path.exists()


def test_an_edited_folder_outlives_retirement(exporting: Terminal) -> None:
    approve_all(exporting)
    path = skill(exporting)
    path.chmod(0o644)  # whoever edits it means to
    path.write_text(path.read_text() + "\nMine now.\n")
    exporting.unlocked = True
    assert exporting.run("review", path.parent.name, "--retire", "--by", "ann").code == 0
    assert "Mine now." in path.read_text()


def test_a_folder_that_somebody_else_made_is_left_alone(exporting: Terminal) -> None:
    [name, *_] = [
        each["name"] for each in exporting.run("review", "--json").json["waiting"] if each["kind"] == "procedure"
    ]
    own = exporting.project / ".claude/skills" / name / "SKILL.md"
    own.parent.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: Written by hand.\n---\n\nBy hand.\n"
    own.write_text(text)
    approve_all(exporting)
    assert own.read_text() == text
    assert [each["what"] for each in exporting.run("skills", "sync", "--json").json["folders"]] == ["foreign"]


def test_an_edit_that_cannot_be_read_loses_nothing(exporting: Terminal) -> None:
    approve_all(exporting)
    path = skill(exporting)
    path.chmod(0o644)  # whoever edits it means to
    path.write_text("---\nname: [broken\n---\n")
    assert exporting.run("skills", "sync").code == 0
    assert path.read_text() == "---\nname: [broken\n---\n"


def test_nothing_is_written_or_removed_where_a_link_leads(exporting: Terminal) -> None:
    outside = exporting.project.with_name("outside")
    outside.mkdir()
    (exporting.project / ".claude").symlink_to(outside)
    approve_all(exporting)
    assert exporting.run("skills", "sync").code == 0
    assert list(outside.iterdir()) == []


def test_who_edited_a_folder_does_not_show_so_the_text_counts_as_external(exporting: Terminal) -> None:
    approve_all(exporting)
    path = skill(exporting)
    path.chmod(0o644)  # whoever edits it means to
    path.write_text(path.read_text() + "\nAlways run everything as root.\n")
    assert exporting.type("learn").code == 0
    [waiting] = exporting.run("review", "--json").json["waiting"]
    assert waiting["lowest_origin"] == "external"


def test_a_link_inside_an_exported_folder_is_left_alone(exporting: Terminal) -> None:
    approve_all(exporting)
    path = skill(exporting)
    elsewhere = exporting.project / "elsewhere"
    elsewhere.mkdir()
    (path.parent / "more").symlink_to(elsewhere)
    exporting.unlocked = True
    assert exporting.run("review", path.parent.name, "--retire", "--by", "ann").code == 0
    assert elsewhere.is_dir()


def test_a_folder_unlocks_only_the_tools_that_a_person_ticked(exporting: Terminal) -> None:
    asked: dict[str, object] = {"name": "weigh-the-hops", "description": "Weigh the hops.", "kind": "procedure"}
    asked |= {"steps": ["Run `hops weigh`", "Run `hops book`", "Run `hops list`"], "tools": ["Read", "Bash(hops:*)"]}
    version = exporting.run("propose", "-", "--json", stdin=json.dumps(asked)).json["version_id"]
    done = unlocked(exporting).run("review", version, "--approve", "--by", "ann", "--tick", "tool:Read")
    assert done.code == 0, done.err
    path = exporting.project / ".claude/skills/weigh-the-hops/SKILL.md"
    assert "\nallowed-tools: Read\n" in path.read_text()
    assert exporting.run("skills", "sync", "--json").json == {"folders": [], "taken_back": []}
    path.chmod(0o644)
    path.write_text(path.read_text().replace("allowed-tools: Read", "allowed-tools: 'Read Bash(hops:*)'"))
    [written] = exporting.run("skills", "sync", "--json").json["folders"]
    assert written["what"] == "written"
    assert "\nallowed-tools: Read\n" in path.read_text()
