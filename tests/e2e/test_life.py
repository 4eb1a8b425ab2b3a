"""The life of a skill at the command line: compose, pin, invalidate, undo, history, stats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Terminal

PROPOSAL = {
    "kind": "procedure",
    "description": "How to {} the service.",
    "steps": ["Run `make {}`", "Run `make check`"],
}


def proposed(terminal: Terminal, name: str) -> str:
    made = PROPOSAL | {"name": name, "description": f"How to {name} the service."}
    made["steps"] = [f"Run `make {name}`", f"Run `make check-{name}`"]
    file = terminal.home / f"{name}.json"
    file.write_text(json.dumps(made))
    return str(terminal.run("propose", str(file), "--json").json["version_id"])


def approve(terminal: Terminal, name: str) -> None:
    shown = terminal.type("review", name, "--approve", "--by", "ann", answers={"[y/N]": "y\n"})
    assert shown.code == 0, shown.out


UNDO = "Undo this? [y/N]:"


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    for name in ("build", "publish"):
        proposed(terminal, name)
        approve(terminal, name)
    return terminal


def test_a_composite_is_made_shown_first_and_waits(shop: Terminal) -> None:
    dry = shop.run("compose", "ship", "build", "publish", "--dry-run")
    assert "Phase 1, `build`" in dry.out
    assert shop.run("review", "--json").json["waiting"] == []
    made = shop.run("compose", "ship", "build", "publish", "--json").json
    assert (made["decision"], made["name"]) == ("hold", "ship")
    refused = shop.run("compose", "ship", "build")
    assert refused.code == 2
    assert "2 to 24 parts" in refused.err


def test_what_is_for_a_person_is_refused_elsewhere(shop: Terminal) -> None:
    for words in (
        ("undo", "build", "--yes"),
        ("skills", "pin", "build"),
        ("skills", "invalidate", "build", "--reason", "x"),
    ):
        done = shop.run(*words)
        assert done.code == 3, words


def test_an_approval_is_undone_at_a_terminal(shop: Terminal) -> None:
    assert shop.type("undo", "build", "--by", "ann", answers={UNDO: "n\n"}).code == 3
    assert shop.run("stats", "--json").json["skills"] == {"trial": 2}
    shown = shop.type("undo", "build", "--by", "ann", answers={UNDO: "y\n"})
    assert shown.code == 0, shown.out
    assert "trial → candidate" in shown.out
    assert shop.run("stats", "--json").json["skills"] == {"candidate": 1, "trial": 1}


def test_a_pin_and_an_invalidation_are_told_in_the_history(shop: Terminal) -> None:
    assert shop.type("skills", "pin", "build", "--by", "ann", "--reason", "keep it", answers={}).code == 0
    gone = shop.type("skills", "invalidate", "publish", "--by", "ann", "--reason", "no registry", answers={})
    assert gone.code == 0, gone.out
    told = shop.run("history", "build", "--json").json["events"]
    assert [event["what"] for event in told] == ["version 1 made: candidate", "candidate → trial", "pinned"]
    assert "no registry" in shop.run("history", "publish").out
    assert shop.run("stats", "build", "--json").json["records"][0]["pinned"] is True


def test_a_person_says_how_much_a_skill_matters_and_an_agent_cannot(shop: Terminal) -> None:
    assert shop.run("review", "build", "--importance", "0.9").code == 3
    said = shop.type("review", "build", "--importance", "0.9", "--by", "ann", answers={})
    assert said.code == 0, said.out
    events = shop.run("history", "build", "--json").json["events"]
    assert [(event["what"], event["why"]) for event in events][-1] == ("importance", "0.9")


def test_figures_say_that_nothing_is_known_yet(shop: Terminal) -> None:
    said = shop.run("stats").out
    assert "reliability unknown" in said
    assert shop.run("stats", "--json").json["records"][0]["reliability"] is None


def test_every_event_tells_how_many_it_stands_for(shop: Terminal) -> None:
    events = shop.run("history", "build", "--json").json["events"]
    assert [set(event) for event in events] == [{"at", "what", "why", "by", "version_id", "count"}] * len(events)


def test_eighty_columns_cut_nothing_off(shop: Terminal) -> None:
    shop.environment["COLUMNS"] = "80"
    assert "lift unknown" in shop.run("stats", "build").out
    told = shop.run("history", "build").out
    assert "candidate → trial" in told
    assert "…" not in told


def test_the_chain_is_still_there(shop: Terminal) -> None:
    assert "approval" in shop.run("history", loop_version(shop), "--chain").out


def loop_version(shop: Terminal) -> str:
    return str(shop.run("skills", "show", "build", "--json").json["version_id"])


def editor_that_edits(folder: Path) -> str:
    editor = folder / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/^description: /&Edited. /' \"$1\"\n")
    editor.chmod(0o755)
    return str(editor)


def test_an_edit_that_was_undone_waits_again_when_a_person_writes_it_again(shop: Terminal, tmp_path: Path) -> None:
    shop.variables["EDITOR"] = editor_that_edits(tmp_path)
    first = shop.type("skills", "edit", "build", "--by", "ann")
    assert "New version" in first.out, first.out
    edited = shop.run("review", "--json").json["waiting"][0]["version_id"]
    assert shop.type("undo", edited, "--by", "ann", "--json").code == 2, "a program asks nobody"
    assert shop.type("undo", edited, "--by", "ann", "--yes").code == 0
    assert shop.run("review", "--json").json["waiting"] == []
    again = shop.type("skills", "edit", "build", "--by", "bea")
    assert again.code == 0, again.out
    assert edited[:10] in again.out
    assert f"tacit review {edited[:10]}" in again.out
    assert [item["version_id"] for item in shop.run("review", "--json").json["waiting"]] == [edited]
    assert "written again by a person" in shop.run("history", edited, "--json").out
    shop.type("review", edited, "--approve", "--by", "ann", answers={"[y/N]": "y\n"})
    assert shop.run("skills", "show", edited, "--json").json["status"] == "trial"


def test_an_edit_back_to_a_text_that_was_retired_says_so(shop: Terminal, tmp_path: Path) -> None:
    shop.variables["EDITOR"] = editor_that_edits(tmp_path)
    shop.type("skills", "edit", "build", "--by", "ann")
    edited = shop.run("review", "--json").json["waiting"][0]["version_id"]
    shop.type("review", edited, "--approve", "--by", "ann", answers={"[y/N]": "y\n"})
    shop.type("skills", "rollback", "build", "--by", "ann", "--yes")
    again = shop.type("skills", "edit", "build", "--by", "ann")
    assert edited[:10] in again.out, again.out
    assert f"tacit review {edited[:10]} --restore" in again.out
