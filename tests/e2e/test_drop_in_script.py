"""The drop-in script stands where the original's stood: what a policy tells an agent to run goes on working, by Tacit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake
from tacit.features.cards.commands.recording_commands import place_drop_in_script
from tests.e2e.conftest import Ran, Terminal
from tests.raising import raises

SCRIPT = ".claude/skills/self-learning-skills/scripts/self_learning.py"
PAYLOAD = {
    "event": {"task_summary": "fixed the totals", "primary_skill": "orders"},
    "aha_cards": [
        {
            "title": "Export writes cents; don't divide twice",
            "when_to_use": "Reading the order export",
            "solution_steps": ["Divide `gross` by 100, once"],
        }
    ],
}


def run(terminal: Terminal, *words: str, python: tuple[str, ...] = (sys.executable,), stdin: str = "") -> Ran:
    """Run the script as a policy says it, with a path below the repository."""
    done = subprocess.run(
        [*python, SCRIPT, *words],
        cwd=terminal.project,
        env=terminal.environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_commands_of_an_existing_policy_are_answered_by_tacit(terminal: Terminal) -> None:
    told = terminal.run("cards", "init", "--drop-in", ".claude/skills")
    assert told.code == 0, told.err
    assert told.json["drop_in"] == {"script": SCRIPT, "kept": None}
    recorded = run(terminal, "record", stdin=json.dumps(PAYLOAD))
    assert recorded.code == 0, recorded.err
    found = run(terminal, "list", "--query", "don't divide")
    assert [item["primary_skill"] for item in found.json["items"]] == ["orders"]
    refused = run(terminal, "promote", "--ids", found.json["items"][0]["id"])
    assert refused.code == 3
    assert refused.json["error"]["code"] == "needs_passphrase"


def test_without_tacit_it_says_how_to_install_it_and_to_go_on(terminal: Terminal) -> None:
    place_drop_in_script(terminal.project, ".claude/skills")
    terminal.variables["PATH"] = "/nowhere"
    told = run(terminal, "list", python=(sys.executable, "-I", "-S"))
    assert (told.code, told.out) == (127, "")
    assert "uv tool install" in told.err
    assert "do not invent" in told.err


def test_script_that_stood_there_is_kept_beside_it_and_ours_replaced(tmp_path: Path) -> None:
    script = tmp_path / SCRIPT
    script.parent.mkdir(parents=True)
    script.write_text("print('the original')\n", encoding="utf-8")
    told = place_drop_in_script(tmp_path, ".claude/skills")
    assert told["kept"] == str(Path(SCRIPT).with_name("self_learning_original.py"))
    assert (tmp_path / told["kept"]).read_text(encoding="utf-8") == "print('the original')\n"
    assert place_drop_in_script(tmp_path, ".claude/skills") == {"script": SCRIPT, "kept": None}
    assert script.stat().st_mode & 0o111
    script.write_text("print('yet another')\n", encoding="utf-8")
    with raises(Mistake, "drop_in_conflict"):
        place_drop_in_script(tmp_path, ".claude/skills")
    assert script.read_text(encoding="utf-8") == "print('yet another')\n"


@pytest.mark.parametrize("folder", ["../elsewhere", "/srv/elsewhere", "skills/../../elsewhere", "link"])
def test_nothing_is_written_outside_of_the_repository(tmp_path: Path, folder: str) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with raises(Mistake, "outside_repository"):
        place_drop_in_script(root, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]


def test_without_a_folder_it_goes_where_every_client_looks(tmp_path: Path) -> None:
    assert (
        place_drop_in_script(tmp_path, "")["script"] == ".agents/skills/self-learning-skills/scripts/self_learning.py"
    )
