"""Graduation in earnest: a card is recorded by an agent, approved by a person, and written into a skill that git then takes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Terminal

SKILL_MD = b"---\r\nname: deploy\r\ndescription: Deploys.\r\n---\r\n\r\n# Deploy\r\n\r\nDo it."
CARD: dict[str, Any] = {
    "title": "Stop the workers before migrating",
    "when_to_use": "A migration of the database fails with a lock timeout",
    "problem": "Workers hold the table while the migration wants it.",
    "solution_steps": ["Stop the workers with `systemctl stop worker`", "Run the migration", "Start the workers again"],
    "evidence": ["command: alembic upgrade head passed afterwards"],
    "primary_skill": "deploy",
    "scope": "portable",
    "shareable": True,
    "tags": ["deploy", "database"],
}


@pytest.fixture
def skill(terminal: Terminal) -> Path:
    folder = terminal.project / "my skills" / "déploy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(SKILL_MD)
    return folder


def recorded(terminal: Terminal, *, approve: bool = True, **fields: Any) -> str:
    """Let an agent record a card, and a person approve it; gives the card's id."""
    done = terminal.run("cards", "record", stdin=json.dumps({"aha_cards": [CARD | fields]}))
    assert done.code == 0, done.err
    (card,) = done.json["cards"]
    if approve:
        decided = terminal.type("review", card["version_id"], "--approve", "--by", "ann")
        assert decided.code == 0, decided.out
    return str(card["id"])


def given(terminal: Terminal, *command: str, patch: Path) -> None:
    done = subprocess.run(command, cwd=terminal.project, input=patch.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_card_graduates_by_patch_and_by_hand_to_the_same_bytes_and_back(terminal: Terminal, skill: Path) -> None:
    assert terminal.run("cards", "init").code == 0
    card = recorded(terminal)
    before = snapshot(skill)

    bundled = terminal.run(
        "cards", "export-backport", "--skill-path", str(skill), "--ids", f"{card},{card}", "--make-diff"
    )
    assert bundled.code == 0, bundled.err
    told = bundled.json
    assert (told["card_ids"], told["added_card_ids"], told["applied"]) == ([card], [card], False)
    bundle = Path(told["bundle_dir"])
    assert bundle.is_relative_to(terminal.project / ".agent-skills")
    assert snapshot(skill) == before

    patch = bundle / "backport.patch"
    given(terminal, "git", "apply", "--check", "-", patch=patch)
    if shutil.which("patch"):
        given(terminal, "patch", "-p1", "--dry-run", patch=patch)
    given(terminal, "git", "apply", "-", patch=patch)
    by_patch = snapshot(skill)
    shutil.rmtree(skill / "references")
    (skill / "SKILL.md").write_bytes(SKILL_MD)

    refused = terminal.run("backport", str(skill), "--card", card, "--apply", "--json")
    assert refused.code == 3, refused.out
    assert snapshot(skill) == before
    applied = terminal.type("backport", str(skill), "--card", card, "--apply", "--json")
    assert applied.code == 0, applied.out
    identity = applied.json["backport_id"]
    by_hand = {
        name: data.replace(identity.encode(), told["backport_id"].encode()) for name, data in snapshot(skill).items()
    }
    stamped = [_without_time(files) for files in (by_patch, by_hand)]
    assert stamped[0] == stamped[1]
    assert terminal.run("cards", "list").json["items"][0]["status"] == "backported"

    inspected = terminal.run("cards", "backport-inspect", "--skill-path", str(skill), "--aha-id", card).json
    assert inspected["skill_md_markers"] == {
        "has_backport_start": True,
        "has_backport_end": True,
        "backport_ids": [identity],
    }
    assert inspected["aha_reference"]["card_ids"] == [card]
    assert any(card in hint for hint in inspected["remove_instructions"])

    undone = terminal.type("backport", "--undo", identity, "--json")
    assert undone.code == 0, undone.out
    assert undone.json["exact"] is True
    assert snapshot(skill) == before
    assert terminal.run("cards", "list").json["items"][0]["status"] == "accepted"


def _without_time(files: dict[str, bytes]) -> dict[str, list[bytes]]:
    return {name: [line for line in data.split(b"\n") if b"generated_at=" not in line] for name, data in files.items()}


def test_an_agent_gets_no_further_than_a_bundle(terminal: Terminal, skill: Path) -> None:
    card = recorded(terminal, approve=False)
    waiting = terminal.run("backport", str(skill), "--card", card, "--json")
    assert waiting.code == 3
    assert "not approved" in waiting.json["error"]["message"]
    unknown = terminal.run("backport", "AGENTS.md", "--card", "aha_none", "--card", "aha_nor", "--json")
    assert unknown.code == 2
    assert "aha_nor" in unknown.json["error"]["message"]
    assert terminal.run("backport", "--undo", "slbp_x").code == 3


def test_a_person_is_told_what_was_written_and_how_it_went_back(terminal: Terminal) -> None:
    card = recorded(terminal)
    agents = terminal.project / "AGENTS.md"
    agents.write_text("# Rules\n")
    shown = terminal.type("backport", "AGENTS.md", "--card", card, "--apply")
    assert shown.code == 0, shown.out
    assert "1 piece added" in shown.out
    identity = next(word.strip("`") for word in shown.out.split() if word.startswith("slbp_"))
    assert f"- **{CARD['title']}**" in agents.read_text()
    agents.write_text(agents.read_text().replace("# Rules", "# Our rules"))
    back = terminal.type("backport", "--undo", identity)
    assert "marked parts were removed" in back.out
    assert agents.read_text() == "# Our rules\n"
