"""How fast the store writes and finds: writes per second beside a bare INSERT with the same durability, search at size.

    python bench/store.py

Times vary with the disk, hence the ratio within one run. Writes bench/results/store.json.
"""

from __future__ import annotations

import json
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tacit.domain.lifecycle import RECALLABLE, Status  # noqa: E402
from tacit.domain.skill import SkillVersion  # noqa: E402
from tacit.store import Store, open_store  # noqa: E402
from tacit.store.encoding import unpack  # noqa: E402
from tacit.store.seals import seal_of  # noqa: E402
from tests.unit.store.samples import evidence, put_version, step_to  # noqa: E402

ROUNDS = 30
WRITES = 20
VERSIONS = 10_000
SEARCHES = 100
WORDS = [f"{stem}{number}" for stem in ("deploy", "rotate", "build", "query", "cache") for number in range(600)]
RESULTS = ROOT / "bench" / "results" / "store.json"
COMMON = ["service", "project", "run", "check", "file", "test"]


def per_second(action: Callable[[int], object], numbers: range) -> float:
    begun = time.perf_counter()
    for number in numbers:
        action(number)
    return len(numbers) / (time.perf_counter() - begun)


def bare_insert(folder: Path) -> Callable[[int], object]:
    """The least that a durable write can cost: one row, one transaction, the same settings."""
    database = apsw.Connection(str(folder / "bare.db"))
    for sql in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (data TEXT)"):
        database.execute(sql).fetchall()
    return lambda number: database.execute("INSERT INTO t (data) VALUES (?)", ("x" * 500,)).fetchall()


def written(store: Store, folder: Path) -> dict[str, float]:
    """Writes per second, in rounds that alternate between the store and a bare INSERT.

    The median round counts, and the median ratio of neighbouring rounds: the disk's own pace may change tenfold.
    """

    def add_version(number: int) -> None:
        stored = put_version(store, f"skill-{number}", body=text(number))
        store.add_transition(step_to(stored, Status.TRUSTED))

    known = put_version(store, "known").version.id
    actions: dict[str, Callable[[int], object]] = {
        "bare_insert_per_s": bare_insert(folder),
        "evidence_per_s": lambda number: store.add(evidence(known, minutes=number)),
        "version_and_transition_per_s": add_version,
    }
    rates: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(ROUNDS):
        for name, action in actions.items():
            rates[name].append(per_second(action, range(turn * WRITES, (turn + 1) * WRITES)))
    result = {name: round(statistics.median(found), 1) for name, found in rates.items()}
    ratios = [ours / bare for ours, bare in zip(rates["evidence_per_s"], rates["bare_insert_per_s"], strict=True)]
    return {**result, "evidence_to_bare_ratio": round(statistics.median(ratios), 3)}


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


def checked(path: Path) -> dict[str, float]:
    """What it costs to hold one version that is handed out against its seal, content hash and id; the bar is 1 ms."""
    database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    columns = "seq, id, skill_id, hash, kind, name, status, life, record, seal"
    spent = []
    for row in database.execute(f"SELECT {columns} FROM versions LIMIT 5000"):
        version = unpack(row[8], SkillVersion)
        begun = time.thread_time()  # its own time: whatever else runs here is not its doing
        fits = seal_of("versions", row[:-1]) == row[-1] and version.content.hash() == version.hash
        fits = fits and version.content_id() == version.id
        spent.append((time.thread_time() - begun) * 1000)
        if not fits:
            raise SystemExit(f"version {row[1]} does not fit")
    database.close()
    ordered = sorted(spent)
    return {
        "check_ms_p50": round(statistics.median(ordered), 4),
        "check_ms_p99": round(ordered[int(len(ordered) * 0.99) - 1], 4),
    }


def commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def main() -> None:
    result: dict[str, Any] = {
        "commit": commit(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        small = open_store(folder / "small.db")
        result.update(written(small, folder))
        small.close()
        large = open_store(folder / "large.db")
        result.update(found(large, VERSIONS))
        begun = time.perf_counter()
        damages = list(large.verify())
        result["verify_s"] = round(time.perf_counter() - begun, 2)
        large.close()
        result.update(checked(folder / "large.db"))
    if damages:
        raise SystemExit(f"the store is damaged: {damages[:3]}")
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
