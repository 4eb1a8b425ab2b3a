"""How fast recall is with 1,000, 10,000 and 100,000 skills, beside other ways to search the same data in the same run.

    python bench/recall.py [--sizes 1000,10000,100000] [--queries N] [--folder FOLDER]

Everything runs on one processor and one thread, each measurement in a process of its own; so memory and times are its own.
Neither skills nor vectors come from a model (see `_library`). `--folder` keeps what was built and uses it again. Of the
others, those that are installed are measured: bm25s, sqlite-vec, lancedb. Writes bench/results/recall.json; exits 1 where
a limit is passed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS",
    "LANCE_CPU_THREADS", "LANCE_IO_THREADS",
)  # fmt: skip
os.environ.update(dict.fromkeys(THREADS, "1"))  # before numpy is loaded

import apsw  # noqa: E402
import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from _library import Library, WordSum  # noqa: E402
from _searchers import EXACT_VECTOR_SCANS, SEARCHERS, Data, read_queries  # noqa: E402

from tacit.api import Tacit  # noqa: E402
from tacit.config.settings import Config  # noqa: E402
from tacit.domain.lifecycle import RECALLABLE  # noqa: E402
from tacit.domain.skill import SkillContent  # noqa: E402
from tacit.recall import publishing  # noqa: E402
from tacit.store import Store, open_store  # noqa: E402
from tacit.text.words import terms  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "recall.json"
SIZES = (1_000, 10_000, 100_000)
AT_ONCE = 5_000
WARM_UP, COLD_STARTS = 5, 7
PACKAGES = {"bm25s": "bm25s", "sqlite_vec": "sqlite_vec", "lancedb_flat": "lancedb"}
BESIDE_PARTS, GROWTH, COLD = 2.0, 12.0, 3.0


# --- building, in a process of its own --------------------------------------------------------------------------


def build_store(folder: Path, size: int) -> dict[str, Any]:
    """Put a library straight into a store, approved: the gate has its own benchmark."""
    folder.mkdir(parents=True, exist_ok=True)
    library, embedder = Library(size), WordSum()
    store = open_store(folder / ".tacit" / "tacit.db")
    skills, parts, took = library.skills(), list[bytes](), Counter[str]()
    for made in iter(lambda: list(islice(skills, AT_ONCE)), []):
        vectors = [_vectors(embedder, version.content) for _, version, _ in made]
        parts += [vector for each in vectors for vector in each]
        with store.transaction():
            took.update(_put(store, made, vectors))
    store.close()
    np.save(folder / "vectors.npy", np.frombuffer(b"".join(parts), "<f4").reshape(-1, embedder.dimensions))
    (folder / "queries.json").write_text(json.dumps(library.queries(1_000)))
    seconds = {f"{name}_s": round(each, 1) for name, each in took.items()}
    seconds["processor_s"] = round(time.process_time(), 1)  # with making and embedding the library
    size_mb = (folder / ".tacit" / "tacit.db").stat().st_size / 2**20
    return {"skills": size, "vectors": len(parts), **seconds, "store_mb": round(size_mb, 1), "peak_mb": _peak_mb()}


def _vectors(embedder: WordSum, content: SkillContent) -> list[bytes]:
    """One vector for each group of passages."""
    return embedder.embed([" ".join(group) for group in publishing.embedding_texts(content)])


def _put(store: Store, made: Sequence[Any], vectors: Sequence[Sequence[bytes]]) -> dict[str, float]:
    """Write skills, what agents see of them, and their vectors; how long each took."""

    def embed() -> None:
        for (_, version, _), own in zip(made, vectors, strict=True):
            store.vectors.put(version.id, own, space=WordSum.identity)

    return {
        "skills": _seconds(lambda: [store.add_version(*each) for each in made]),
        "renderings": _seconds(lambda: publishing.publish(store)),
        "vectors": _seconds(embed),
    }


def build_searcher(folder: Path, name: str) -> dict[str, Any]:
    data = Data(folder)
    for left in folder.glob(f"{name}*"):  # by a run that was broken off
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return {"build_s": round(_seconds(lambda: SEARCHERS[name].build(data)), 2), "build_peak_mb": _peak_mb()}


# --- measuring, each in a process of its own --------------------------------------------------------------------


def measure_recall(folder: Path, count: int, *, semantic: bool) -> dict[str, Any]:
    """Whole recalls through the public interface, and the parts of them that memory does."""
    queries = read_queries(folder)[: count + WARM_UP]
    begun = time.perf_counter()
    memory = _opened(folder, semantic=semantic)
    memory.recall(queries[-1])
    first_ms = (time.perf_counter() - begun) * 1000
    given = 0

    def recall(query: str) -> None:
        nonlocal given
        given += bool(memory.recall(query).items)

    result: dict[str, Any] = {"first_ms": round(first_ms, 1), **_timed(recall, queries), "peak_mb": _peak_mb()}
    result["given"] = round(given / len(queries), 2)
    store, embedder = memory.context.store, WordSum()
    parts: dict[str, Callable[[str], object]] = {
        "search": lambda query: store.search(terms(query), statuses=RECALLABLE, limit=20, cued_within=100),
        "frequencies": lambda query: store.document_frequency(terms(query)),
    }
    if semantic:
        vectors = {query: embedder.embed([query])[0] for query in queries}
        parts = {
            "embed": lambda query: embedder.embed([query]),
            "nearest_20": lambda query: store.vectors.nearest(vectors[query], space=embedder.identity, limit=20),
        }
    result["parts"] = {name: _timed(part, queries) for name, part in parts.items()}
    memory.close()
    return result


def measure_searcher(folder: Path, count: int, *, name: str) -> dict[str, Any]:
    queries = read_queries(folder)[: count + WARM_UP]
    embedder = WordSum()
    asked = {query: (terms(query), np.frombuffer(embedder.embed([query])[0], "<f4")) for query in queries}
    search = SEARCHERS[name].opened(Data(folder))
    return {**_timed(lambda query: search(*asked[query]), queries), "peak_mb": _peak_mb()}


def measure_cold(folder: Path, count: int, *, semantic: bool) -> dict[str, Any]:
    """One recall by a process that has opened nothing yet."""
    query = read_queries(folder)[count]
    begun, spent = time.perf_counter(), time.process_time()
    memory = _opened(folder, semantic=semantic)
    memory.recall(query)
    took = {"ms": (time.perf_counter() - begun) * 1000, "processor_ms": (time.process_time() - spent) * 1000}
    memory.close()
    return took


def _opened(folder: Path, *, semantic: bool) -> Tacit:
    store = open_store(folder / ".tacit" / "tacit.db")
    return Tacit(store, config=Config(), embedder=WordSum() if semantic else None)


def _timed(action: Callable[[str], object], queries: Sequence[str]) -> dict[str, float]:
    """Wall time, and processor time beside it: that is the same on a busy machine."""
    wall, processor = [], []
    for query in queries:
        begun, spent = time.perf_counter(), time.process_time()
        action(query)
        processor.append((time.process_time() - spent) * 1000)
        wall.append((time.perf_counter() - begun) * 1000)
    return {**_summary(wall[WARM_UP:], "ms"), **_summary(processor[WARM_UP:], "processor_ms")}


def _summary(times: Sequence[float], unit: str) -> dict[str, float]:
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return {f"{unit}_p50": round(statistics.median(ordered), 2), f"{unit}_p95": round(p95, 2)}


def _seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


# --- the run ----------------------------------------------------------------------------------------------------


class Runner:
    """Starts this file again for one measurement after the other, all on one processor."""

    def __init__(self, folder: Path, queries: int) -> None:
        self._folder = folder
        self._queries = queries

    def built(self, size: int, what: str) -> dict[str, Any]:
        """Build a store or a searcher's files, unless that was done before; a half-built one is of no use."""
        folder = self._folder / str(size)
        note = folder / f"{what}.built.json"
        if not note.exists():
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps(self._run(size, "build", what)))
        return dict(json.loads(note.read_text()))

    def measured(self, size: int, what: str) -> dict[str, Any]:
        return self._run(size, "measure", what)

    def cold(self, size: int, what: str) -> dict[str, float]:
        """Each time another query, and a new process: from its start to its end, and without what Python takes."""
        whole, inner, processor = [], [], []
        for turn in range(COLD_STARTS):
            begun = time.perf_counter()
            took = self._run(size, "cold", what, turn=turn)
            whole.append((time.perf_counter() - begun) * 1000)
            inner.append(took["ms"])
            processor.append(took["processor_ms"])
        return {
            "process_ms": round(statistics.median(whole), 1),
            "ms": round(statistics.median(inner), 1),
            "processor_ms": round(statistics.median(processor), 1),
        }

    def _run(self, size: int, step: str, what: str, *, turn: int = 0) -> dict[str, Any]:
        command = [sys.executable, __file__, "--step", step, what, "--sizes", str(size)]
        command += ["--folder", str(self._folder), "--queries", str(turn if step == "cold" else self._queries)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{step} {what} at {size} failed:\n{done.stderr[-2000:]}")
        return dict(json.loads(done.stdout))


def one_step(step: str, what: str, folder: Path, count: int) -> dict[str, Any]:
    """What a started process does. `what` is a searcher's name, or `lexical` or `semantic` for a recall."""
    semantic = what == "semantic"
    if step == "build":
        return build_store(folder, int(folder.name)) if what == "store" else build_searcher(folder, what)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if step == "cold":
        return measure_cold(folder, count, semantic=semantic)
    if what in SEARCHERS:
        return measure_searcher(folder, count, name=what)
    return measure_recall(folder, count, semantic=semantic)


def at_size(runner: Runner, size: int) -> dict[str, Any]:
    result: dict[str, Any] = {"store": runner.built(size, "store")}
    for name in SEARCHERS:
        if importlib.util.find_spec(PACKAGES.get(name, "numpy")):
            result[name] = {**runner.built(size, name), **runner.measured(size, name)}
        else:
            result[name] = "not installed"
    for mode in ("lexical", "semantic"):
        result[mode] = {**runner.measured(size, mode), "cold": runner.cold(size, mode)}
        print(f"{size} {mode}: {json.dumps(result[mode])}", file=sys.stderr)
    return result


def compared(found: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The ratios that count, by wall and by processor time."""
    sizes = sorted(found)
    last = found[sizes[-1]]
    ratios: dict[str, Any] = {}
    for unit in ("ms", "processor_ms"):
        scans = [last[name][f"{unit}_p95"] for name in EXACT_VECTOR_SCANS if isinstance(last[name], dict)]
        own: dict[str, Any] = {}
        for mode in ("lexical", "semantic"):
            for query in ("fts5", "fts5_bounded"):
                parts = min(scans) + last[query][f"{unit}_p95"]
                own[f"{mode}_p95_beside_scan_and_{query}"] = round(last[mode][f"{unit}_p95"] / parts, 2)
            own[f"{mode}_cold_growth"] = round(last[mode]["cold"][unit] / found[sizes[0]][mode]["cold"][unit], 2)
            if len(sizes) > 1:
                before = found[sizes[-2]][mode]
                for at in ("p50", "p95"):
                    key = f"{unit}_{at}"
                    own[f"{mode}_growth_{at}"] = round(last[mode][key] / before[key], 2)
        ratios[unit] = own
    return ratios


def judged(ratios: dict[str, Any]) -> list[str]:
    """What passes its limit, by wall time; the ratio beside the store's own bounded full-text query is told, not judged."""
    limits = {"beside_scan_and_fts5": BESIDE_PARTS, "growth_p50": GROWTH, "growth_p95": GROWTH, "cold_growth": COLD}
    return [
        f"{name}: {value}x, at most {most}x"
        for name, value in ratios["ms"].items()
        for end, most in limits.items()
        if name.endswith(end) and value > most
    ]


def commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.step:
        print(json.dumps(one_step(*options.step, options.folder / str(sizes[0]), options.queries)))
        return
    result: dict[str, Any] = {
        "commit": commit(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "queries": options.queries,
    }
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.folder or Path(folder), options.queries)
        found = {size: at_size(runner, size) for size in sizes}
    result |= {"sizes": {str(size): each for size, each in found.items()}, "ratios": compared(found)}
    result["over"] = judged(result["ratios"])
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["ratios"], indent=1))
    if result["over"]:
        raise SystemExit("\n".join(result["over"]))


if __name__ == "__main__":
    main()
