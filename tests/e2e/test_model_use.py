"""What people see of a language model that reads: the offer of `init`, and the figures of `stats` and `doctor`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tacit.domain.ports import Spending
from tacit.providers.budget import UsageLedger
from tests.e2e.conftest import READING_QUESTION, Terminal

CLIENT = ("--client", "claude-code")


@pytest.fixture
def machine(terminal: Terminal) -> Terminal:
    """A machine with Claude Code, and two sessions of it."""
    program = terminal.home / ".local" / "bin" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    terminal.variables["PATH"] = f"{program.parent}:/usr/bin:/bin"
    sessions = terminal.home / ".claude" / "projects" / "shop"
    sessions.mkdir(parents=True)
    for name in ("a", "b"):
        line = {"type": "user", "cwd": str(terminal.project), "message": {"role": "user", "content": "x"}}
        (sessions / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    return terminal


def settings(terminal: Terminal) -> dict[str, dict[str, object]]:
    file: Path = terminal.home / ".tacit" / "tacit.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def test_init_asks_with_an_estimate_and_yes_is_written_into_the_persons_settings(machine: Terminal) -> None:
    before = settings(machine)
    done = machine.type("init", *CLIENT, answers={"Connect Claude Code?": "y\n", READING_QUESTION: "y\n"})
    assert done.code == 0
    assert "23,000" in done.out.split(READING_QUESTION)[0]
    after = settings(machine)
    assert after["learn"] == before["learn"] | {"read_in_background": True}
    assert after["model"] == {"name": "claude-code"}
    again = machine.type("init", *CLIENT)
    assert READING_QUESTION not in again.out


def test_init_without_a_person_leaves_it_off_and_names_the_cost(machine: Terminal) -> None:
    before = settings(machine)
    done = machine.run("init", *CLIENT, "--yes", "--json")
    reading = done.json["reading"]
    assert (reading["on"], reading["model"], reading["sessions_per_month"]) == (False, "claude-code", 2)
    assert (reading["tokens_per_session"], reading["tokens_per_month"]) == (11_500, 23_000)
    assert settings(machine) == before
    assert machine.type("init", *CLIENT, answers={READING_QUESTION: "n\n"}).code == 0
    assert settings(machine) == before


def test_init_connects_whatever_is_in_the_settings(machine: Terminal) -> None:
    file = machine.home / ".tacit" / "tacit.toml"
    file.write_text("learn.procedure_runs = 1\n")  # a form that is not edited
    done = machine.type("init", *CLIENT, answers={"Connect Claude Code?": "y\n", READING_QUESTION: "y\n"})
    assert (done.code, file.read_text()) == (0, "learn.procedure_runs = 1\n")
    file.write_text("not settings")
    again = machine.run("init", *CLIENT, "--yes", "--json")
    assert (again.code, again.json["reading"]) == (0, None)


def test_stats_and_doctor_show_what_was_spent_and_whether_the_client_is_there(machine: Terminal) -> None:
    file = machine.home / ".tacit" / "tacit.toml"
    file.write_text(file.read_text() + '[model]\nname = "claude-code"\n')
    ledger = UsageLedger(machine.home / ".tacit", limit=100_000)
    ledger.hold(Spending(calls=2, input_tokens=6000, output_tokens=1000, usd=0.01))
    use = machine.run("stats", "--json").json["language_model"]
    assert use["today"] == use["month"] == {"calls": 2, "tokens": 7000, "usd": 0.01}
    assert (use["candidates"], use["approved"]) == (0, 0)

    def model_finding() -> dict[str, str]:
        found: list[dict[str, str]] = machine.run("doctor", "--json").json["findings"]
        return next(each for each in found if each["about"] == "language model")

    assert model_finding()["state"] == "ok"
    (machine.home / ".local" / "bin" / "claude").unlink()
    missing = model_finding()
    assert (missing["state"], bool(missing["remedy"])) == ("fault", True)


def test_what_was_mined_stands_where_the_client_is_missing(machine: Terminal, transcripts: Path) -> None:
    (machine.home / ".local" / "bin" / "claude").unlink()
    settings = machine.home / ".tacit" / "tacit.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[model]\nname = "claude-code"\n')
    done = machine.type("learn", str(transcripts))
    assert done.code == 0
    assert "Claude Code is not installed" in done.out
    assert machine.run("review", "--json").json["waiting"]
    assert machine.run("stats", "--json").json["language_model"]["month"]["calls"] == 0
