"""How fast logs are read: parse + normalise + redact, against `json.loads` over the same bytes in the same run.

    python bench/readers.py [FILE_OR_FOLDER ...]

Without a path it reads the recorded sessions that ship with the package. Rounds of both alternate and the best of each
counts, so that a busy machine does not favour one side. Writes bench/results/readers.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from tacit.experience import find_reader, read, redacted  # noqa: E402
from tacit.experience.lines import Line, numbered_lines  # noqa: E402

DEMO = ROOT / "src" / "tacit" / "demo" / "transcripts"
RESULTS = ROOT / "bench" / "results" / "readers.json"


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def documents_of(path: Path) -> list[bytes]:
    """The JSON texts of every log below the path, read and unpacked line by line as the readers do."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    logs = (file for file in files if file.name.endswith((".jsonl", ".jsonl.gz", ".json")))
    return [line.data for log in logs for line in numbered_lines(log) if isinstance(line, Line)]


def measured(path: Path, rounds: int) -> dict[str, Any]:
    size = sum(map(len, documents_of(path))) / 1e6
    trajectories = list(read(path))
    counts: dict[str, int] = {}
    for trajectory in trajectories:
        for kind, count in redacted(trajectory)[1].items():
            counts[kind] = counts.get(kind, 0) + count
    best = dict.fromkeys(("json_loads", "read", "ids", "redact", "all"), float("inf"))
    work: dict[str, Callable[[], object]] = {
        "json_loads": lambda: [json.loads(document) for document in documents_of(path)],
        "read": lambda: list(read(path)),
        "ids": lambda: [trajectory.content_id() for trajectory in trajectories],
        "redact": lambda: [redacted(trajectory) for trajectory in trajectories],
        "all": lambda: [redacted(trajectory) for trajectory in read(path)],
    }
    for _ in range(rounds):
        for name, run in work.items():
            best[name] = min(best[name], seconds(run))
    return {
        "source": path.name,
        "reader": find_reader(path).name if path.is_file() else "any",
        "megabytes": round(size, 3),
        "trajectories": len(trajectories),
        "steps": sum(len(trajectory.steps) for trajectory in trajectories),
        "redactions": counts,
        "megabytes_per_second": {name: round(size / spent, 1) for name, spent in best.items()},
        "speed_against_json_loads": round(best["json_loads"] / best["all"], 3),
        "speed_against_json_loads_without_ids": round(best["json_loads"] / (best["all"] - best["ids"]), 3),
    }


def commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip()


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[DEMO])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(None if arguments is None else list(arguments))
    report = {
        "commit": commit(),
        "python": platform.python_version(),
        "rounds": options.rounds,
        "sources": [measured(path, options.rounds) for path in options.paths],
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
