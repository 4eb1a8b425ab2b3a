"""How fast logs are read, parse + normalise + redact against `json.loads` over the same bytes, and how much memory it takes.

    python bench/readers.py [FILE_OR_FOLDER ...] [--memory]

Without a path it reads one long session of Claude Code and Codex, made of our own recordings over and over. Both sides stream:
what is read is dropped. Rounds alternate and the best of each counts, so that a busy machine does not favour one side.
`--memory` reads 75 MB and then 200 MB in the form of each reader, each in a process of its own, and compares their peaks.
Writes bench/results/readers.json; figures of an earlier run that are not measured again stay in it.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tacit.ingest.log_files import Line, numbered_lines  # noqa: E402
from tacit.ingest.sources import find_reader, read, redacted  # noqa: E402
from tests.unit.ingest.client_samples import FAILURE, SAID, SAMPLES  # noqa: E402

RECORDINGS = ROOT / "tests" / "e2e" / "recordings"
SESSIONS = {
    "claude-code": [ROOT / "src" / "tacit" / "demo" / "transcripts", RECORDINGS / "transcripts"],
    "codex": [RECORDINGS / "codex" / "transcripts"],
}
RESULTS = ROOT / "bench" / "results" / "readers.json"
MEGABYTE = 1_000_000
SIZES = (75 * MEGABYTE, 200 * MEGABYTE)
TELEMETRY = RECORDINGS / "telemetry" / "pydantic-ai.jsonl"
OUTPUT = " ".join(f"line {number} of what a long build prints" for number in range(1000))
"""What each failing call of a sample prints besides, or what the agent says."""
_NAMED = re.compile(
    r'("(?:id|uuid|toolCallId|messageId|callID|callId|tool_call_id|apiCallId|spanId|traceId|parentSpanId|trace_id|span_id|'
    r'parent_id|llm_response_id|responseId)": ")([^"]+)"'
)
"""Ids in the samples of clients: each repetition gets its own."""
_IDS = re.compile(rb'"(?:uuid|parentUuid|id|tool_use_id|call_id|turn_id|promptId)":"([\w-]{12,80})"')


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def lines_of(path: Path) -> Iterator[bytes]:
    """The JSON texts of every log below the path, read and unpacked line by line as the readers do."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        if file.name.endswith((".jsonl", ".jsonl.gz", ".json")):
            yield from (line.data for line in numbered_lines(file) if isinstance(line, Line))


def long_session(client: str, path: Path, size: int) -> Path:
    """Write one session of at least this size: the recordings of a client one after another, with fresh ids each time."""
    found = (file for folder in SESSIONS[client] for file in folder.rglob("*.jsonl"))
    files = sorted(file for file in found if file.parent.name != "subagents")
    block = b"".join(file.read_bytes() for file in files)
    for name in set(_IDS.findall(block)):
        block = block.replace(name, name[:-8] + b"@@@@@@@@")
    with path.open("wb") as stream:
        for number in range(-(-size // len(block))):
            stream.write(block.replace(b"@@@@@@@@", b"%08d" % number))
    return path


def long_sample(client: str, path: Path, size: int) -> Path:
    """Write at least this much in the form of a client: its sample over and over, with fresh ids each time."""
    sample = TELEMETRY if client == "opentelemetry" else SAMPLES[client](path.parent / f"{client}-home")
    if sample.suffix in (".db", ".vscdb"):
        return long_database(sample, size)
    text = sample.read_text(encoding="utf-8")
    if sample.suffix in (".json", ".traj"):
        text = json.dumps(json.loads(text)) + "\n"
    padded = FAILURE if FAILURE in text else SAID
    block = _NAMED.sub(r'\g<1>\g<2>@@@@@@@@"', text.replace(padded, f"{padded} {OUTPUT}")).encode()
    own = path.with_suffix("") / sample.name if client in ("cursor", "aider") else path
    own = own.parent / "agent-transcripts" / own.name if client == "cursor" else own
    own.parent.mkdir(parents=True, exist_ok=True)
    with own.open("wb") as stream:
        for number in range(-(-size // len(block))):
            stream.write(block.replace(b"@@@@@@@@", b"%08d" % number))
    return own


def long_database(path: Path, size: int) -> Path:
    """Copy the session of a client's database over and over, under fresh ids."""
    with closing(sqlite3.connect(path)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {
            table: [
                tuple(each.replace(FAILURE, f"{FAILURE} {OUTPUT}") if isinstance(each, str) else each for each in row)
                for row in database.execute(f"SELECT * FROM {table}")
            ]
            for table in tables
        }
        for number in range(-(-size // len(json.dumps(rows)))):
            for table, held in rows.items():
                renamed = [
                    tuple(_RENAMED.sub(rf"\g<0>-{number}", each) if isinstance(each, str) else each for each in row)
                    for row in held
                ]
                marks = ", ".join("?" * len(held[0]))
                database.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", renamed)
        if "part" in tables:  # as the client has them
            indexed = ("message (session_id)", "part (message_id)", "session (id)", "session (parent_id)")
            database.executescript(";".join(f"CREATE INDEX i{at} ON {each}" for at, each in enumerate(indexed)))
        database.commit()
    return path


_RENAMED = re.compile(r"\b(?:ses_\d|msg_\d|k-2)\b")


def measured(path: Path, rounds: int) -> dict[str, Any]:
    size = sum(map(len, lines_of(path))) / MEGABYTE
    counts: Counter[str] = Counter()
    trajectories = steps = 0
    for trajectory in read(path):
        trajectories, steps = trajectories + 1, steps + len(trajectory.steps)
        counts.update(redacted(trajectory)[1])
    work: dict[str, Callable[[], object]] = {
        "json_loads": lambda: drop(map(json.loads, lines_of(path))),
        "read": lambda: drop(read(path)),
        "all": lambda: drop(map(redacted, read(path))),
    }
    best = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, run in work.items():
            best[name] = min(best[name], seconds(run))
    return {
        "source": path.name,
        "reader": find_reader(path).name if path.is_file() else "any",
        "megabytes": round(size, 3),
        "trajectories": trajectories,
        "steps": steps,
        "redactions": dict(sorted(counts.items())),
        "megabytes_per_second": {name: round(size / spent, 1) for name, spent in best.items()},
        "speed_against_json_loads": round(best["json_loads"] / best["all"], 3),
    }


def drop(values: Iterable[object]) -> None:
    for _ in values:
        pass


def peaks(client: str, folder: Path) -> dict[str, Any]:
    """Peak memory while a session is read and redacted, for each size, and how much the larger takes more."""
    found: dict[str, Any] = {"client": client, "peak_megabytes": {}}
    for size in SIZES:
        make = long_session if client in SESSIONS else long_sample
        path = make(client, folder / f"{client}.jsonl", size)
        command = [sys.executable, str(Path(__file__).resolve()), "--peak-of", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        found["peak_megabytes"][f"{size // MEGABYTE} MB"] = json.loads(run.stdout)
        path.unlink()
        shutil.rmtree(folder / f"{client}-home", ignore_errors=True)
    small, large = found["peak_megabytes"].values()
    return {**found, "growth": round(large / small, 3)}


def peak_of(path: Path) -> float:
    drop(map(redacted, read(path, on_problem=lambda problem: sys.exit(str(problem)))))
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE, 1)


CLIENTS = (*SESSIONS, "opentelemetry", *(client for client in SAMPLES if client != "openhands-events"))


def commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip()


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only", nargs="*", default=CLIENTS, help="clients whose memory is measured")
    parser.add_argument("--peak-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.peak_of:
        print(peak_of(options.peak_of))
        return
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    report = {"commit": commit(), "python": platform.python_version(), "rounds": options.rounds}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [long_session(client, folder / f"{client}.jsonl", 4 * MEGABYTE) for client in SESSIONS]
        if options.memory:
            report["sources"] = before.get("sources", [])
        else:
            report["sources"] = [measured(path, options.rounds) for path in [*made, *options.paths]]
        memory = {each["client"]: each for each in before.get("memory", [])}
        memory |= {client: peaks(client, folder) for client in options.only} if options.memory else {}
        report["memory"] = list(memory.values())
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
