"""Planted traps: transcripts that read back as planted, and a scorer that tells right from wrong and silent."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[3] / "bench"
START = "2026-05-0{day}T10:00:{second:02d}.000Z"


@pytest.fixture
def traps(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("traps")


@pytest.fixture
def tools(traps: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if not (traps.TOOLS / "score_wild.py").is_file():
        pytest.skip("the wild scorer is not here")
    monkeypatch.syspath_prepend(str(traps.TOOLS))
    return traps.load_tools(traps.TOOLS)


def claude_session(day: int, calls: int) -> list[dict[str, Any]]:
    base = {"cwd": "/repo", "sessionId": f"s{day}", "isSidechain": False, "version": "2.1.0"}
    message: dict[str, Any] = {"role": "user", "content": "Add a page"}
    rows: list[dict[str, Any]] = [{**base, "type": "user", "uuid": "u0", "parentUuid": None, "message": message}]
    for at in range(calls):
        use = {"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": f"ls src/{at}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": "a.py", "is_error": False}
        rows += [
            {**base, "type": "assistant", "uuid": f"a{at}", "parentUuid": rows[-1]["uuid"],
             "message": {"id": f"m{at}", "role": "assistant", "content": [use]}},
            {**base, "type": "user", "uuid": f"r{at}", "parentUuid": f"a{at}",
             "message": {"role": "user", "content": [result]}},
        ]  # fmt: skip
    return [{**row, "timestamp": START.format(day=day, second=at)} for at, row in enumerate(rows)]


def codex_session(day: int, calls: int) -> list[dict[str, Any]]:
    payloads: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Add a page"}]}
    ]
    for at in range(calls):
        given = json.dumps({"cmd": f"ls src/{at}"})
        payloads += [
            {"type": "function_call", "name": "exec_command", "arguments": given, "call_id": f"c{at}"},
            {
                "type": "function_call_output",
                "call_id": f"c{at}",
                "output": "Process exited with code 0\nOutput:\na.py",
            },
        ]
    meta = {"timestamp": START.format(day=day, second=0), "type": "session_meta", "payload": {"cwd": "/repo"}}
    return [meta] + [
        {"timestamp": START.format(day=day, second=at), "type": "response_item", "payload": payload}
        for at, payload in enumerate(payloads)
    ]


@pytest.fixture
def planted(traps: Any, tools: Any, tmp_path: Path) -> Path:
    for name, session in (("one", claude_session), ("two", codex_session)):
        for day in range(1, 9):
            folder = tmp_path / "sessions" / name / ("past" if day < 6 else "future")
            folder.mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(row) + "\n" for row in session(day, 12))
            (folder / f"{day}.jsonl").write_text(text, encoding="utf-8")
    got = argparse.Namespace(
        sessions=tmp_path / "sessions", out=tmp_path / "out", seed=2, pool=None, streams=[], trap=[]
    )
    traps.make(got, tools)
    return tmp_path / "out"


def truths(planted: Path) -> list[tuple[Path, dict[str, Any]]]:
    return [
        (path.parent, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(planted.glob("*/truth.json"))
    ]


def test_pools_share_no_variant_and_no_word(traps: Any) -> None:
    tables = (traps.FORMATTERS, traps.GENERATORS, traps.FLAGS, traps.INSTALLS, traps.MOVES, traps.EDITS, traps.PROGRAMS)
    for values in (*tables, *traps.WORDS.values()):
        assert not set(traps.half(values, 0)) & set(traps.half(values, 1))


@pytest.mark.slow
def test_planted_sessions_of_both_clients_stay_whole(planted: Path, traps: Any, tools: Any) -> None:
    assert {truth["kind"] for _, truth in truths(planted)} == set(traps.KINDS)
    for folder, truth in truths(planted):
        assert sum(any(mark["role"] == "trap" for mark in marks) for marks in truth["sessions"].values()) >= 4
        for name, marks in truth["sessions"].items():
            rows = [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
            times = [row["timestamp"] for row in rows]
            assert times == sorted(times)
            known = {row.get("uuid") for row in rows}
            assert {row["parentUuid"] for row in rows if row.get("parentUuid")} <= known
            events = {event.line: event for event in tools.record.read(folder / name)}
            assert all(events[mark["line"]].ok is False for mark in marks if mark["role"] == "trap")
            assert all(events[mark["line"]].ok for mark in marks if mark["role"] in ("fix", "works"))


class Shows:
    """Shows fixed texts, whatever happens."""

    def __init__(self, *, start: str = "", before: str = "", failure: str = "") -> None:
        self.texts = start, before, failure

    def start(self, session_file: str) -> str:
        return self.texts[0]

    def prompt(self, text: str) -> str:
        return ""

    def before(self, tool_name: str, tool_input: dict[str, Any]) -> str:
        return self.texts[1]

    def failure(self, tool_name: str, tool_input: dict[str, Any], output: str) -> str:
        return self.texts[2]


@pytest.mark.slow
def test_text_that_names_the_fix_is_right_and_any_other_is_wrong(planted: Path, traps: Any, tools: Any) -> None:
    for folder, truth in truths(planted):
        fix, failing = truth["trap"]["fix"] or truth["trap"]["works"], truth["trap"]["fails"]
        for path in sorted((folder / "future").glob("*.jsonl")):

            def replayed(path: Path = path, truth: dict[str, Any] = truth, **texts: str) -> Any:
                return traps.replay(Shows(**texts), path, truth, tools)

            assert all(row["right"] and not row["warned"] for row in replayed(failure=f"Use `{fix}`.")["traps"])
            assert all(row["right"] and row["warned"] for row in replayed(before=f"Use `{fix}`.")["traps"])
            wrong = replayed(failure="Run `git bisect start`.")
            assert all(row["wrong"] and not row["right"] for row in wrong["traps"])
            assert all(shown for place, shown in wrong["others"] if place.startswith("failures"))
            assert not any(shown for place, shown in wrong["others"] if place.startswith("calls"))
            early = replayed(start=f"- before `{failing}` use `{fix}`")["traps"]
            assert all(row["warned"] and row["silent"] for row in early)
            assert not any(row["warned"] for row in replayed(start=f"- `{failing}` fails\n- look out")["traps"])
            assert all(row["silent"] for row in replayed()["traps"])
