"""The card workflow by command line: the original's options and keys, in step with its folder, refusing what it should."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import Terminal
from tests.unit.features.cards.making import payload_card

FOLDER = Path(".agent-skills", "self-learning", "v1", "users", "ann")
VAGUE = {"title": "Be careful", "when_to_use": "always"}
ADVICE = {"title": "Name the unit in the column", "why": "Everybody reads it wrongly once", "primary_skill": "orders"}


def test_a_deck_is_made_filled_listed_used_and_carried_elsewhere(terminal: Terminal, tmp_path: Path) -> None:
    made = terminal.run("cards", "init").json
    assert list(made)[:3] == ["repo_root", "user", "project_store"]
    assert made["global_store"] == str(terminal.home / FOLDER)
    assert ".agent-skills/" in (terminal.project / ".gitignore").read_text(encoding="utf-8").splitlines()

    cold = terminal.run("cards", "list").json
    assert (cold["count"], cold["items"]) == (0, [])
    assert "do not invent" in cold["message"]

    payload = {
        "event": {"task_summary": "Fix the order export", "primary_skill": "orders"},
        "aha_cards": [payload_card(1, 1), VAGUE],
        "recommendations": [ADVICE],
        "used_aha_ids": ["aha_nobody"],
    }
    file = terminal.project / "payload.json"
    file.write_text(json.dumps(payload), encoding="utf-8")
    recorded = terminal.run("cards", "record", "--json", str(file)).json
    assert {"ok", "repo_root", "user", "project_store", "written", "usage_signals"} <= recorded.keys()
    assert recorded["written"]["aha_cards"] == str(terminal.project / FOLDER / "aha_cards.jsonl")
    assert [each["title"] for each in recorded["refused"]] == ["Be careful"]
    assert recorded["usage_signals"]["errors"][0]["id"] == "aha_nobody"
    key = recorded["cards"][0]["id"]

    piped = terminal.run("cards", "record", stdin=json.dumps(payload)).json
    assert [each["outcome"] for each in piped["cards"]] == ["reinforced"]
    assert [each["outcome"] for each in piped["recommendations"]] == ["touched"]

    used = terminal.run("cards", "use", "--aha", key, "--json").json
    assert [each["kind"] for each in used["signals_written"]] == ["aha_used"]
    found = terminal.run("cards", "list", "--query", payload_card(1, 1)["title"], "--limit", "5").json
    assert [(each["id"], each["score"], each["reviewed"]) for each in found["items"]] == [(key, 4, False)]

    away = tmp_path / "away"
    assert terminal.run("cards", "export", str(away)).json["lines"] == 7
    assert (away / "INDEX.md").read_bytes() == (terminal.project / FOLDER / "INDEX.md").read_bytes()
    other = Terminal(project=tmp_path / "other", home=terminal.home)
    (other.project / ".git").mkdir(parents=True)
    assert other.run("cards", "import", str(away)).json["lines"] == 7
    assert [each["id"] for each in other.run("cards", "list").json["items"]] == [key]


def test_what_cannot_be_done_is_told_as_json_with_the_code_of_its_kind(terminal: Terminal) -> None:
    refused = terminal.run("cards", "record", stdin=json.dumps({"aha_cards": [VAGUE]}))
    assert (refused.code, refused.json["cards"]) == (3, [])
    assert len(refused.json["refused"][0]["reasons"]) >= 2
    unknown = terminal.run("cards", "use", "--aha", "aha_nobody")
    assert (unknown.code, unknown.json["ok"]) == (2, False)
    broken = terminal.run("cards", "record", stdin="{")
    assert (broken.code, broken.json["error"]["kind"]) == (2, "Mistake")
    nobody = terminal.run("cards", "signal", "--kind", "aha_used", "--aha-id", "aha_nobody")
    assert (nobody.code, nobody.json["error"]["kind"]) == (2, "NotFound")


def test_looking_at_nothing_leaves_nothing_behind(terminal: Terminal) -> None:
    before = sorted(terminal.home.rglob("*"))
    assert terminal.run("cards", "list").json["count"] == 0
    assert sorted(path.name for path in terminal.project.iterdir()) == [".git"]
    assert sorted(terminal.home.rglob("*")) == before
