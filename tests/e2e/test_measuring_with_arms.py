"""`tacit eval` as a process: programs act under arms, with documents too; a run goes on, its record is held to, and
recorded sessions are looked back at."""

from __future__ import annotations

import shlex
import sys

from tests.e2e.conftest import Terminal, approve_all

AGENT = """
def answer(question):
    named = [tool["name"] for tool in question["tools"]]
    return {"tool": next((name for name in named if name in question["aid"]), named[0])}
"""


def test_an_agent_is_measured_under_arms_and_a_run_goes_on(terminal: Terminal) -> None:
    (terminal.project / "agent.py").write_text(AGENT)
    asked = ("eval", "run", "everyday", "--agent", "python:agent.py:answer", "--arms", "none,oracle", "--limit", "4")
    done = terminal.run(*asked, "--out", "out", "--json")
    assert done.code == 0, done.err
    assert done.json["complete"]
    assert done.json["arms"]["oracle"]["success"] == 1.0 > done.json["arms"]["none"]["success"]
    rows = (terminal.project / "out" / "rows.jsonl").read_bytes()
    again = terminal.run(*asked, "--out", "out")
    assert again.code == 0, again.err
    assert "eval report out" in again.out
    assert (terminal.project / "out" / "rows.jsonl").read_bytes() == rows


def test_what_cannot_be_run_is_reported_at_once(terminal: Terminal) -> None:
    done = terminal.run("eval", "run", "everyday", "--agent", "reference", "--arms", "adapter,skills", "--json")
    assert done.code == 2
    assert done.json["error"]["code"] == "no_training_tasks"
    assert not (terminal.project / "eval").exists()


PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    named = [tool["name"] for tool in asked["tools"]]
    print(json.dumps({"tool": next((name for name in named if name in asked["aid"]), named[0])}), flush=True)
"""
HOUSE = """# Telling the house what to do

## Letters
To write somebody an e-mail, use send_email with the person and the text. E-mail is for people who are far away.

## Calls
To ring somebody up by telephone, use make_call with the person. Phone people about urgent things.
"""


def test_a_document_helps_an_agent_once_a_person_let_it_be_cited(terminal: Terminal) -> None:
    (terminal.project / "agent.py").write_text(PROGRAM)
    (terminal.project / "house.md").write_text(HOUSE)
    assert terminal.run("research", "add", "house.md").code == 0
    agent = f"command:{shlex.join([sys.executable, 'agent.py'])}"
    asked = ("eval", "run", "everyday", "--agent", agent, "--memory", "store", "--limit", "8")
    early = terminal.run(*asked, "--arms", "none,knowledge", "--out", "early")
    assert early.code == 0, early.err
    assert "knowledge: aided 0 of 16" in early.out
    assert "tacit review" in early.out
    assert approve_all(terminal) == ["telling-the-house-what-to-do"]
    done = terminal.run(*asked, "--arms", "none,knowledge,skills", "--out", "out", "--json")
    assert done.code == 0, done.err
    arms = done.json["arms"]
    assert arms["knowledge"]["aided"] > 0
    assert arms["skills"]["aided"] == 0  # a document is no skill
    assert arms["knowledge"]["success"] > arms["none"]["success"] == arms["skills"]["success"]
    report = terminal.run("eval", "report", "out", "--json").json
    assert {arm["arm"]: arm["standing"] for arm in report["arms"]} == {
        "none": "reference",
        "knowledge": "not shown",
        "skills": "no aid",
    }
    assert not any(arm["differences"] for arm in report["arms"] if arm["arm"] == "skills")


def test_neither_another_agent_nor_an_edited_outcome_gets_into_a_record(terminal: Terminal) -> None:
    script = terminal.project / "agent.py"
    script.write_text(AGENT)
    asked = ("eval", "run", "everyday", "--agent", "python:agent.py:answer", "--arms", "none", "--limit", "4")
    assert terminal.run(*asked, "--out", "out").code == 0
    script.write_text(AGENT.replace("named[0]", "named[1]"))
    refused = terminal.run(*asked, "--out", "out", "--seeds", "2")
    assert refused.code == 3
    assert "agent.py" in refused.err
    rows = terminal.project / "out" / "rows.jsonl"
    rows.write_text(rows.read_text().replace('"success":false', '"success":true'))
    report = terminal.run("eval", "report", "out")
    assert report.code == 2
    assert terminal.run("eval", "report", "out", "--json").json["error"]["code"] == "seal_broken"
