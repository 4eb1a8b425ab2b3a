"""Whose settings are they? A team's files beside a person's own, several clients, several projects, broken files, exports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal, approve_all
from tests.e2e.test_init import BOTH, snapshot

CLAUDE = ("--client", "claude-code")


@pytest.fixture
def mate(terminal: Terminal, tmp_path: Path) -> Terminal:
    """Somebody who has cloned a project that a team connected for everybody."""
    assert terminal.run("init", *BOTH, "--shared", "--yes").code == 0
    identity = ["-c", "user.email=a@b.c", "-c", "user.name=a"]
    subprocess.run(["git", "add", "-A"], cwd=terminal.project, check=True)
    subprocess.run(["git", *identity, "commit", "-q", "-m", "x"], cwd=terminal.project, check=True)
    clone, home = tmp_path / "clone", tmp_path / "mate"
    home.mkdir()
    subprocess.run(["git", "clone", "-q", str(terminal.project), str(clone)], check=True)
    return Terminal(project=clone, home=home)


def status(terminal: Terminal) -> str:
    """What has changed of the files that are committed."""
    done = subprocess.run(
        ["git", "status", "--short", "--untracked-files=no"],
        cwd=terminal.project,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_what_the_team_connected_is_not_connected_twice(mate: Terminal) -> None:
    before = snapshot(mate.project, mate.home)
    done = mate.run("init", *BOTH, "--yes")
    assert done.code == 0
    assert "Claude Code is already connected" in done.out
    assert "Codex is already connected" in done.out
    assert snapshot(mate.project, mate.home) == before
    done = mate.run("init", *CLAUDE, "--user", "--yes")
    assert "fire twice" in done.out
    assert (mate.home / ".claude" / "settings.json").exists()


def test_the_one_who_connected_the_team_does_not_take_it_back_by_init(terminal: Terminal) -> None:
    terminal.run("init", *BOTH, "--shared", "--yes")
    before = snapshot(terminal.project, terminal.home)
    assert "already connected" in terminal.run("init", *BOTH, "--yes").out
    assert snapshot(terminal.project, terminal.home) == before
    terminal.run("uninstall", "--yes")
    assert not (terminal.project / ".claude" / "settings.json").exists(), "on record it is this person's"


def connect_beside_team(mate: Terminal, lost: bool) -> None:
    """Connect for oneself while the team's hooks are not complete; then they are."""
    settings = mate.project / ".claude" / "settings.json"
    team = settings.read_bytes()
    document = json.loads(team)
    del document["hooks"]["PermissionDenied"]  # as an older version wrote it
    settings.write_text(json.dumps(document))
    assert mate.run("init", *CLAUDE, "--yes").code == 0
    settings.write_bytes(team)
    assert (mate.project / ".claude" / "settings.local.json").exists()
    assert status(mate) == ""
    if lost:
        (mate.home / ".tacit" / "installed.json").unlink()


@pytest.mark.parametrize("lost", [False, True], ids=["on record", "record lost"])
def test_who_disconnects_takes_back_what_is_theirs_and_leaves_the_team_alone(mate: Terminal, lost: bool) -> None:
    connect_beside_team(mate, lost)
    done = mate.run("uninstall", "--yes")
    assert done.code == 0
    assert "`tacit uninstall --shared`" in done.out
    own = mate.project / ".claude" / "settings.local.json"
    assert own.read_text() == "{}\n" if lost else not own.exists()
    assert not (mate.project / ".claude" / "rules" / "tacit.md").exists()
    assert status(mate) == ""


def test_the_team_is_disconnected_by_those_who_say_so(mate: Terminal) -> None:
    assert mate.run("uninstall", "--shared", "--yes").code == 0
    for path in (".claude/settings.json", ".mcp.json", "CLAUDE.md", "AGENTS.md", ".codex/hooks.json"):
        left = mate.project / path
        assert not left.exists() or "tacit" not in left.read_text(), path


def test_one_client_goes_and_the_other_stays(terminal: Terminal) -> None:
    terminal.run("init", *CLAUDE, "--yes")
    before = snapshot(terminal.home / ".claude.json", terminal.project)
    terminal.run("init", "--client", "codex", "--yes")
    assert terminal.run("uninstall", "--client", "codex", "--yes").code == 0
    assert not (terminal.home / ".codex").exists()
    assert snapshot(terminal.home / ".claude.json", terminal.project) == before


def test_a_text_that_both_clients_read_stays_for_the_one_that_stays(terminal: Terminal) -> None:
    (terminal.project / "AGENTS.md").write_text("# Ours\n")
    terminal.run("init", *BOTH, "--shared", "--yes")
    terminal.run("uninstall", *CLAUDE, "--yes")
    assert "Tacit" in (terminal.project / "AGENTS.md").read_text()
    terminal.run("uninstall", "--client", "codex", "--yes")
    assert (terminal.project / "AGENTS.md").read_text() == "# Ours\n"


def test_a_broken_file_is_told_and_does_not_keep_the_rest(terminal: Terminal) -> None:
    terminal.run("init", *BOTH, "--yes")
    broken = terminal.project / ".claude" / "settings.local.json"
    broken.write_text(broken.read_text().replace("{", "{ oops", 1))
    damaged = broken.read_bytes()
    done = terminal.run("uninstall", "--yes")
    assert done.code == 2
    assert f"{broken}: line 1" in done.out
    assert "hooks and permissions" in done.out
    assert broken.read_bytes() == damaged
    assert not (terminal.home / ".codex").exists()
    assert not (terminal.project / ".claude" / "rules").exists()
    broken.write_text(broken.read_text().replace("{ oops", "{", 1))
    assert terminal.run("uninstall", "--yes").code == 0
    assert not broken.exists()


def test_other_projects_are_named_and_enter_means_no(terminal: Terminal, tmp_path: Path) -> None:
    other = Terminal(project=tmp_path / "other", home=terminal.home)
    other.project.mkdir()
    terminal.run("init", *CLAUDE, "--yes")
    other.run("init", *CLAUDE, "--yes")
    before = snapshot(terminal.project, other.project, terminal.home)
    done = terminal.type("uninstall", answers={"Write this?": "\r"})
    assert f"also affects: {other.project}" in done.out[: done.out.index("Write this?")].replace("\r\n", "")
    assert "[y/N]" in done.out
    assert snapshot(terminal.project, other.project, terminal.home) == before
    other.run("uninstall", "--yes")
    terminal.run("init", *CLAUDE, "--yes")
    assert "[Y/n]" in terminal.type("uninstall", answers={"Write this?": "\r"}).out
    assert not (terminal.project / ".claude").exists()


def exported(terminal: Terminal) -> list[Path]:
    """The learned procedures that lie there as folders."""
    folders = (terminal.project / ".claude" / "skills").glob("*/SKILL.md")
    return sorted(path for path in folders if path.parent.name != "tacit")


def test_a_channel_brings_what_is_approved_at_once_and_takes_it_along(terminal: Terminal, transcripts: Path) -> None:
    terminal.run("learn", str(transcripts))
    approve_all(terminal)
    assert exported(terminal) == []
    assert terminal.run("init", *CLAUDE, "--channel", "skill", "--yes").code == 0
    assert exported(terminal)
    terminal.run("init", *CLAUDE, "--channel", "hook", "--yes")
    assert exported(terminal) == []
    terminal.run("init", *CLAUDE, "--channel", "skill", "--yes")
    (edited, *others) = exported(terminal)
    edited.chmod(0o644)
    edited.write_text(edited.read_text() + "\nMind the gap.\n")
    done = terminal.run("uninstall", "--yes")
    assert str(edited.parent) in done.out
    assert exported(terminal) == [edited]
    assert not any(path.exists() for path in others)


def test_exported_and_committed_skills_stay_unless_they_are_asked_for(terminal: Terminal, transcripts: Path) -> None:
    terminal.run("init", *CLAUDE, "--yes")
    terminal.run("learn", str(transcripts))
    approve_all(terminal)
    assert terminal.run("skills", "export", "--all", "--to", ".claude/skills").code == 0
    own = exported(terminal)
    assert own
    identity = ["-c", "user.email=a@b.c", "-c", "user.name=a"]
    subprocess.run(["git", "add", "-f", *map(str, own)], cwd=terminal.project, check=True)
    subprocess.run(["git", *identity, "commit", "-q", "-m", "skills"], cwd=terminal.project, check=True)
    planned = json.loads(terminal.run("uninstall", "--exports", "--dry-run", "--json").out)
    assert all(any(str(path.parent) in warning for warning in planned["warnings"]) for path in own if path.is_file())
    assert terminal.run("uninstall", "--yes").code == 0
    assert exported(terminal) == own
    assert status(terminal) == ""
    assert terminal.run("uninstall", "--exports", "--yes").code == 0
    assert exported(terminal) == []


def test_the_persons_own_folder_stays_unless_they_say_so(terminal: Terminal) -> None:
    terminal.run("init", *CLAUDE, "--yes")
    home = terminal.home / ".tacit"
    assert f"{home} stays" in terminal.run("uninstall", "--yes").out
    assert home.is_dir()
    terminal.run("init", *CLAUDE, "--yes")
    assert terminal.type("uninstall", answers={"Write this?": "y\r", "Also delete": "n\r"}).code == 0
    assert home.is_dir()
    terminal.run("init", *CLAUDE, "--yes")
    assert terminal.type("uninstall", answers={"Write this?": "y\r", "Also delete": "y\r"}).code == 0
    assert not home.exists()
