"""Proposing, as agents and people do it: through the one door, with clear answers, and never past a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Terminal, uncoloured
from tests.e2e.test_mcp import call

RESTART: dict[str, Any] = {
    "name": "restart-the-feed",
    "description": "Restart the feed of a sensor that stopped sending.",
    "steps": [{"text": "Restart it", "tool": "restart_feed", "arguments": {"feed": "{feed}"}}],
    "when": ["`read_sensor` shows `Feed: stopped`"],
    "check": "`read_sensor` shows `Feed: running`",
    "parameters": [{"name": "feed", "from": "`read_sensor` at `feeds[].id`"}],
    "pitfalls": ["Restarting with an empty battery loses the buffer"],
}
LESSON: dict[str, Any] = {
    "name": "port-in-use",
    "description": "What to do when the gauge port is taken.",
    "kind": "lesson",
    "error": "OSError: [Errno 98] Address already in use: port 8080",
    "body": "Stop the other gauge first.",
}
MEND: dict[str, Any] = {
    "name": "mend-a-sensor",
    "description": "Bring a silent sensor back.",
    "parts": ["restart-the-feed", "no-such-part"],
}


def waiting(terminal: Terminal) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in terminal.run("review", "--json").json["waiting"]}


def through_mcp(terminal: Terminal, fields: dict[str, Any]) -> None:
    text, failed = call(terminal, "propose", **fields)
    assert not failed, text
    assert text.startswith("hold:")


def through_cli(terminal: Terminal, fields: dict[str, Any]) -> None:
    done = terminal.run("propose", "-", "--json", stdin=json.dumps(fields))
    assert done.code == 0, done.err
    assert (done.json["decision"], done.json["proposed"]) == ("hold", True)


@pytest.mark.parametrize("way", [through_mcp, through_cli])
def test_a_procedure_a_lesson_and_a_composite_wait_with_all_they_say(terminal: Terminal, way: Any) -> None:
    for fields in (RESTART, LESSON, MEND):
        way(terminal, fields)
    found = waiting(terminal)
    assert {each["lowest_origin"] for each in found.values()} == {"agent"}
    said = found["restart-the-feed"]["content"]
    assert said["steps"] == RESTART["steps"]
    [case] = said["cases"]
    assert case["conditions"][0]["reading"] == "read_sensor"
    assert case["conditions"][0]["value"] == "stopped"
    assert said["parameters"] == [{"name": "feed", "reading": "read_sensor", "key": "feeds[].id"}]
    assert said["postconditions"][0]["relation"] == "is"
    assert said["pitfalls"] == [{"text": RESTART["pitfalls"][0]}]
    assert "8080" not in found["port-in-use"]["content"]["signature"]
    assert found["mend-a-sensor"]["content"]["sub_skills"] == MEND["parts"]
    assert "## Made of\n1. restart-the-feed\n2. no-such-part" in found["mend-a-sensor"]["skill_md"]
    shown = terminal.run("skills", "show", "restart-the-feed", "--json").json
    assert shown["content"] == said


def test_an_agent_cannot_approve_what_it_proposed(terminal: Terminal) -> None:
    through_cli(terminal, RESTART)
    terminal.variables["CLAUDECODE"] = "1"
    [item] = waiting(terminal).values()
    refused = terminal.type("review", item["version_id"], "--approve", "--by", "ann")
    assert refused.code == 3
    assert terminal.run("recall", "the feed of a sensor stopped", "--json").json["items"] == []


def test_a_skill_md_may_be_proposed_and_claims_no_counts(terminal: Terminal, tmp_path: Path) -> None:
    through_cli(terminal, RESTART)
    text = waiting(terminal)["restart-the-feed"]["skill_md"]
    file = tmp_path / "SKILL.md"
    file.write_text(
        text.replace("restart-the-feed", "wake-the-gauge").replace("`Feed: stopped`", "`Feed: asleep` (9 of 9 times)")
    )
    done = terminal.run("propose", str(file), "--by", "scout")
    assert done.code == 0, done.err
    assert "waiting for review" in done.out
    shown = terminal.run("skills", "show", "wake-the-gauge", "--json").json
    assert "9 of 9" not in shown["skill_md"]
    assert "`Feed: asleep`" in shown["skill_md"]
    assert shown["provenance"]["made_by"] == "scout"


def test_a_person_at_a_terminal_proposes_as_a_person(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "norm.json"
    file.write_text(
        json.dumps({"name": "ask-first", "kind": "norm", "description": "Ask before a sensor is replaced."})
    )
    assert terminal.type("propose", str(file)).code == 0
    [item] = waiting(terminal).values()
    assert item["lowest_origin"] == "user"


def test_the_same_again_is_known_already(terminal: Terminal) -> None:
    through_cli(terminal, RESTART)
    again = terminal.run("propose", "-", stdin=json.dumps(RESTART))
    assert (again.code, len(waiting(terminal))) == (0, 1)
    assert "already known" in again.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "no JSON"),
        ("hello", "front matter"),
        (json.dumps(RESTART | {"name": "No Name!"}), "No Name!"),
        (json.dumps(RESTART | {"steps": [], "when": []}), "does nothing"),
        (json.dumps(RESTART | {"kind": "reference"}), "cannot be proposed"),
        (json.dumps(RESTART | {"approve": True}), "'approve' is not known"),
        ("\x00\x01", "front matter"),
    ],
)
def test_a_mistake_is_told_and_leaves_nothing_behind(terminal: Terminal, text: str, told: str) -> None:
    done = terminal.run("propose", "-", "--json", stdin=text)
    assert done.code == 2
    error = done.json["error"]
    assert any(told in line for line in (error["message"], *error.get("problems", ())))
    assert not (terminal.project / ".tacit").exists()


def test_a_missing_file_and_a_dry_run_leave_nothing_behind(terminal: Terminal) -> None:
    assert terminal.run("propose", "nothing.md").code == 2
    tried = terminal.run("propose", "-", "--dry-run", "--json", stdin=json.dumps(RESTART))
    assert (tried.code, tried.json["proposed"]) == (0, False)
    assert "## When" in tried.json["skill_md"]
    assert not (terminal.project / ".tacit").exists()


def test_a_secret_is_set_apart(terminal: Terminal) -> None:
    hidden = RESTART | {"when": ["the token is ghp_" + "a1B2c3D4e5" * 4]}
    done = terminal.run("propose", "-", "--json", stdin=json.dumps(hidden))
    assert done.json["decision"] == "quarantine"


def test_a_person_sees_cases_and_pitfalls_when_deciding(terminal: Terminal) -> None:
    through_cli(terminal, RESTART)
    seen = terminal.type("review", answers={"[q]uit:": "a\n"}).out
    assert "`read_sensor` shows `Feed: stopped`" in uncoloured(seen)
    assert "Pitfalls" in seen
    shown = uncoloured(terminal.type("skills", "show", "restart-the-feed").out)
    assert "from: `read_sensor` at `feeds[].id`" in shown
