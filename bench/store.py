"""How fast the store writes and finds: writes per second beside a bare INSERT with the same durability, search at size.

Run `python bench/store.py`; writes `bench/results/store.json`. Times vary with the disk, hence the ratio in the same run.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

sys.path[:0] = [str(Path(__file__).parents[1])]

from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Store
from tacit.memory import open_store
from tests.unit.memory.samples import evidence, put_version, step_to

WRITES = 400
VERSIONS = 10_000
SEARCHES = 100
WORDS = [f"{stem}{number}" for stem in ("deploy", "rotate", "build", "query", "cache") for number in range(600)]
COMMON = ["service", "project", "run", "check", "file", "test"]


def per_second(action: Callable[[int], object], times: int) -> float:
    begun = time.perf_counter()
    for number in range(times):
        action(number)
    return times / (time.perf_counter() - begun)


def bare_inserts(folder: Path) -> float:
    database = apsw.Connection(str(folder / "bare.db"))
    for sql in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, data TEXT)",
    ):
        database.execute(sql).fetchall()
    return per_second(lambda number: database.execute("INSERT INTO t (data) VALUES (?)", ("x" * 500,)), WRITES)


def written(store: Store) -> dict[str, float]:
    def add(number: int) -> None:
        stored = put_version(store, f"skill-{number}", body=text(number))
        store.add_transition(step_to(stored, Status.TRUSTED))

    pairs = per_second(add, WRITES // 2)
    version_id = store.catalogue()[0].version.id
    pieces = per_second(lambda number: store.add_evidence(evidence(version_id, minutes=number)), WRITES)
    return {"version_and_transition_per_s": round(pairs, 1), "evidence_per_s": round(pieces, 1)}


def text(seed: int) -> str:
    chooser = random.Random(seed)
    return " ".join(chooser.choices(WORDS, k=60) + chooser.choices(COMMON, k=20))


def found(store: Store, versions: int) -> dict[str, Any]:
    with store.transaction():
        for number in range(versions):
            put_version(store, f"bulk-{number}", body=text(number + 10_000))
    chooser = random.Random(7)
    latencies = []
    for _ in range(SEARCHES):
        terms = chooser.choices(WORDS, k=6) + chooser.choices(COMMON, k=2)
        begun = time.perf_counter()
        store.search(terms, statuses=RECALLABLE)
        latencies.append((time.perf_counter() - begun) * 1000)
    ordered = sorted(latencies)
    return {
        "versions": versions,
        "search_ms_p50": round(statistics.median(ordered), 2),
        "search_ms_p99": round(ordered[int(len(ordered) * 0.99) - 1], 2),
    }


def main() -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        bare = bare_inserts(folder)
        small = open_store(folder / "small.db")
        result: dict[str, Any] = {"bare_insert_per_s": round(bare, 1), **written(small)}
        result["evidence_to_bare_ratio"] = round(result["evidence_per_s"] / bare, 3)
        small.close()
        large = open_store(folder / "large.db")
        result.update(found(large, VERSIONS))
        begun = time.perf_counter()
        assert not list(large.verify())
        result["verify_s"] = round(time.perf_counter() - begun, 2)
        large.close()
    target = Path(__file__).parent / "results" / "store.json"
    target.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
