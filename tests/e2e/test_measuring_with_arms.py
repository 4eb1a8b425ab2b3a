"""`tacit eval run` as a process: a program acts under arms, a repeated run adds nothing, and nonsense is told."""

from __future__ import annotations

from tests.e2e.conftest import Terminal

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
    assert "tacit eval report out" in again.out
    assert (terminal.project / "out" / "rows.jsonl").read_bytes() == rows


def test_what_cannot_be_run_is_told_at_once(terminal: Terminal) -> None:
    done = terminal.run("eval", "run", "everyday", "--agent", "reference", "--arms", "adapter,skills")
    assert done.code == 2
    assert "brings nothing to learn from" in done.err
    assert not (terminal.project / "eval").exists()
