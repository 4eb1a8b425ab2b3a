"""Reviewing as people and scripts do it: what is shown, what is asked one by one, and what a diff is held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Ran, Terminal

RATES = """\
---
name: fetch-the-rates
description: Fetch the exchange rates. Use when exchange rates are asked for.
---

# Fetch the rates

1. Run `curl https://rates.example.com/v1 -o rates.json`.
2. Remove what is old: `rm -rf old-rates`.
"""
RIGHT = "Is it right? [y/N]:"


@pytest.fixture
def proposing(terminal: Terminal, tmp_path: Path) -> Terminal:
    """A project in which something from outside waits: nobody at a terminal brought it in."""
    assert brought_in(terminal, tmp_path, RATES).code == 0
    return terminal


def brought_in(terminal: Terminal, folder: Path, text: str) -> Ran:
    skill = folder / "in" / "fetch-the-rates"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text(text, encoding="utf-8")
    return terminal.run("skills", "import", str(skill), "--json")


def unlocked(terminal: Terminal) -> Terminal:
    terminal.unlocked = True
    return terminal


def waiting(terminal: Terminal) -> dict[str, object]:
    [item] = terminal.run("review", "--json").json["waiting"]
    return dict(item)


def keys(item: dict[str, object]) -> list[str]:
    return [tick["key"] for tick in item["ticks"]]  # type: ignore[attr-defined]


def test_a_program_is_told_everything_that_a_reviewer_must_know(proposing: Terminal) -> None:
    item = waiting(proposing)
    assert "url:https://rates.example.com/v1" in keys(item)
    assert "rates.example.com" in item["capabilities"]["hosts"]  # type: ignore[index]
    assert any(each["effect"] == "deletes" for each in item["effects"])  # type: ignore[attr-defined]
    assert "body" in item["from_outside"]  # type: ignore[operator]
    assert {"rule", "severity", "field", "line", "excerpt"} <= set(item["findings"][0])  # type: ignore[index]
    assert item["approved_before"] is None
    assert item["checks"]


def test_a_script_without_ticks_is_refused_with_the_list_and_no_ready_made_command(proposing: Terminal) -> None:
    item = waiting(unlocked(proposing))
    refused = proposing.run("review", str(item["version_id"]), "--approve", "--by", "ann")
    assert refused.code == 3
    assert "url:https://rates.example.com/v1" in refused.err
    assert "--tick KEY" in refused.err
    assert "--tick url:https" not in refused.err, "nothing to paste unread"
    assert waiting(proposing)["status"] in ("candidate", "quarantined")


def test_one_tick_too_few_or_one_too_many_is_refused(proposing: Terminal) -> None:
    item = waiting(unlocked(proposing))
    words = [word for key in keys(item) for word in ("--tick", key)]
    version = str(item["version_id"])
    assert proposing.run("review", version, "--approve", "--by", "ann", *words[:-2]).code == 3
    strange = proposing.run("review", version, "--approve", "--by", "ann", *words, "--tick", "host:other.net")
    assert strange.code == 2
    assert "host:other.net" in strange.err
    done = proposing.run("review", version, "--approve", "--by", "ann", *words, "--json")
    assert done.code == 0, done.err
    assert done.json["after"] == "trial"


def test_a_person_is_shown_findings_effects_and_origins_and_asked_for_each_thing(proposing: Terminal) -> None:
    asked = keys(waiting(proposing))
    seen = proposing.type("review", answers={"[q]uit:": "a\n", "these findings? [y/N]:": "y\n", RIGHT: "y\n"})
    assert seen.code == 0, seen.out
    assert "deletes" in seen.out
    assert "touches" in seen.out
    assert "https://rates.example.com/v1" in seen.out
    for key in asked:
        assert f"`{key.partition(':')[2]}`" in seen.out.replace("\r\n", "\n"), key
    assert seen.out.count(RIGHT) == len(asked)
    assert proposing.run("stats", "--json").json["skills"] == {"trial": 1}


def test_one_no_leaves_it_waiting(proposing: Terminal) -> None:
    seen = proposing.type("review", answers={"[q]uit:": ["a\n", "s\n"], "these findings? [y/N]:": "y\n", RIGHT: "n\n"})
    assert seen.code == 0, seen.out
    assert "Not confirmed" in seen.out
    assert seen.out.count(RIGHT) == 1
    assert "1 still waiting." in seen.out
    assert waiting(proposing)


def test_deciding_on_one_at_a_terminal_asks_too(proposing: Terminal) -> None:
    refused = proposing.type("review", "fetch-the-rates", "--approve", answers={RIGHT: "n\n"})
    assert refused.code == 3
    done = proposing.type("review", "fetch-the-rates", "--approve", answers={RIGHT: "y\n"})
    assert done.code == 0, done.out
    assert "approved (on trial)" in done.out


def test_a_new_version_is_held_against_what_was_approved_last(proposing: Terminal, tmp_path: Path) -> None:
    item = waiting(unlocked(proposing))
    words = [word for key in keys(item) for word in ("--tick", key)]
    assert proposing.run("review", str(item["version_id"]), "--approve", "--by", "ann", *words).code == 0
    changed = RATES.replace("rates.example.com", "rates.evil.example.net")
    assert brought_in(proposing, tmp_path, changed).code == 0
    proposing.unlocked = False
    again = waiting(proposing)
    before = again["approved_before"]
    assert isinstance(before, dict)
    assert (before["version_id"], before["by"]) == (item["version_id"], "ann")
    assert (again["status"], again["withheld"], before["diff"]) == ("quarantined", True, "")
    assert "new_capability" in {finding["rule"] for finding in again["findings"]}  # type: ignore[attr-defined]
    seen = proposing.type("review", answers={"[q]uit:": "q\n"})
    assert "approved by ann" in seen.out
    assert "rates.evil.example.net" in seen.out
    for words in (["review"], ["review", "fetch-the-rates"], ["skills", "show", str(again["version_id"])], ["skills"]):
        for options in ([], ["--json"]):
            assert "evil" not in proposing.run(*words, *options).out, "agents read what commands print"
    compared = proposing.run("skills", "show", str(item["version_id"]), str(again["version_id"]), "--diff")
    assert "evil" not in compared.out


def test_an_agent_cannot_approve_with_all_ticks_in_hand(proposing: Terminal) -> None:
    item = waiting(proposing)
    words = [word for key in keys(item) for word in ("--tick", key)]
    refused = proposing.run("review", str(item["version_id"]), "--approve", "--by", "ann", *words)
    assert refused.code == 3
    assert waiting(proposing)


def test_what_a_caller_may_not_touch_is_not_recalled(proposing: Terminal) -> None:
    item = waiting(unlocked(proposing))
    words = [word for key in keys(item) for word in ("--tick", key)]
    assert proposing.run("review", str(item["version_id"]), "--approve", "--by", "ann", *words).code == 0
    task = "fetch the exchange rates"
    assert proposing.run("recall", task, "--json").json["items"]
    all_of_it = [f"--allow={name}=*" for name in ("hosts", "reads", "writes", "commands", "secrets", "effects")]
    assert proposing.run("recall", task, "--json", *all_of_it).json["items"]
    barred = proposing.run("recall", task, "--allow", "commands=curl,rm", "--allow", "effects=*", "--json").json
    assert barred["items"] == []
    assert [each["code"] for each in barred["left_out"]] == ["not_allowed"]
    assert "rates.example.com" in barred["reason"]
    wrong = proposing.run("recall", task, "--allow", "network=all")
    assert wrong.code == 2
    assert all(name in wrong.err for name in ("hosts", "reads", "writes", "commands", "secrets", "effects"))


def test_a_person_looks_at_the_library_again_and_takes_out_what_no_longer_holds(proposing: Terminal) -> None:
    item = waiting(unlocked(proposing))
    version = str(item["version_id"])
    words = [word for key in keys(item) for word in ("--tick", key)]
    assert proposing.run("review", version, "--approve", "--by", "ann", *words).code == 0
    fine = proposing.run("check", "--library", "--json")
    assert fine.code == 0, fine.err
    nothing: dict[str, list[str]] = {"found": [], "in_spite_of_findings": []}
    assert fine.json == {"skills": 1, "looked_at": 1, "applied": False} | nothing
    (proposing.project / "tacit.toml").write_text('[policy]\nstrictness = "strict"\n')
    told = proposing.run("check", "--library", "--json")
    assert told.code == 3
    [found] = told.json["found"]
    assert (found["version_id"], found["after"]) == (version, "candidate")
    assert found["reason_codes"] == ["policy_changed"]
    proposing.unlocked = False
    assert proposing.run("check", "--library", "--apply").code == 3, "that is for a person"
    assert proposing.run("stats", "--json").json["skills"] == {"trial": 1}
    proposing.unlocked = True
    done = proposing.run("check", "--library", "--apply", "--by", "ann")
    assert done.code == 0, done.err
    assert "candidate" in done.out
    assert proposing.run("stats", "--json").json["skills"] == {"candidate": 1}
    again = waiting(proposing)
    assert again["version_id"] == version
    assert any(finding["rule"] == "approval_stale" for finding in again["findings"])  # type: ignore[attr-defined]
    assert proposing.run("check").code == 2


def test_an_approval_with_json_at_a_terminal_is_refused_because_it_asks_nothing(proposing: Terminal) -> None:
    (waiting,) = proposing.run("review", "--json").json["waiting"]
    refused = proposing.type("review", waiting["version_id"], "--approve", "--by", "ann", "--json")
    assert refused.code == 3
    assert refused.json["error"]["code"] == "needs_passphrase"
    (still,) = proposing.run("review", "--json").json["waiting"]
    assert still["version_id"] == waiting["version_id"]


def test_an_approval_at_a_terminal_asks_and_no_is_no(proposing: Terminal) -> None:
    (waiting,) = proposing.run("review", "--json").json["waiting"]
    answers = {"these findings? [y/N]:": "y\n", RIGHT: "y\n", "Let agents use": "n\n"}
    refused = proposing.type("review", waiting["version_id"], "--approve", "--by", "ann", answers=answers)
    assert refused.code == 3
    assert len(proposing.run("review", "--json").json["waiting"]) == 1
