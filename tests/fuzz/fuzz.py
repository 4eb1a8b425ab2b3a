"""Fuzzes one target with coverage guidance: `python tests/fuzz/fuzz.py TARGET [--seconds N] [FILE…]`; `list`
prints the targets.

Targets: each reader by its name, with redaction and assessment behind it, and hook (what a client sends on standard input).
With files, each is run once. Needs the package atheris; see `make fuzz`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.fuzz.mutation import mutated  # noqa: E402
from tests.unit.ingest.client_samples import SAMPLES  # noqa: E402

SLOW_S = 1.0
RECORDED = {
    "claude-code": ["src/tacit/demo/transcripts", "tests/e2e/recordings/transcripts"],
    "codex": ["tests/e2e/recordings/codex"],
    "atif": ["tests/fuzz/seeds/atif"],
    "opentelemetry": ["tests/e2e/recordings/telemetry"],
    "hook": ["tests/fuzz/seeds/hook"],
}
"""Targets whose inputs begin as recordings; those of the others begin as the one session in the client's form."""
TARGETS = (*RECORDED, *(name for name in SAMPLES if name != "openhands-events"))
Target = Callable[[bytes], None]


class TooSlow(Exception):
    """An input that takes longer than anybody should wait."""


def reading(name: str, folder: Path) -> Target:
    """Read the bytes as a file of one client, then do with it what capturing does."""
    with atheris.instrument_imports(include=["tacit"]):
        from tacit.domain.errors import InvalidTrajectory
        from tacit.evidence.assessment import assess
        from tacit.ingest.sources import READERS, redacted
    reader = next(reader for reader in READERS if reader.name == name)
    path = folder / "session.jsonl"

    def run(data: bytes) -> None:
        path.write_bytes(data)
        reader.recognises(data[:65536], path)
        parts = reader.read(path)
        while True:
            try:
                trajectory = next(parts, None)
            except InvalidTrajectory:
                continue
            if trajectory is None:
                return
            assess(redacted(trajectory)[0])

    return run


def hooking(folder: Path) -> Target:
    """Give the bytes to the hook as one event, in a project with a store."""
    with atheris.instrument_imports(include=["tacit"]):
        from tests.fuzz.hooked import hooked
    return hooked(folder)


def seeds(target: str, folder: Path) -> list[bytes]:
    """What a target's inputs begin as."""
    places = [ROOT / place for place in RECORDED.get(target, ())]
    paths = (
        [path for place in places for path in place.rglob("*.json*")] if places else [SAMPLES[target](folder / "home")]
    )
    if target == "openhands":
        paths += SAMPLES["openhands-events"](folder / "home").parent.glob("*.json")
    return [path.read_bytes()[:65536] for path in sorted(paths) if path.is_file()]


def timed(target: Target) -> Target:
    """The same, failing for an input that takes too long."""

    def run(data: bytes) -> None:
        started = time.perf_counter()
        target(data)
        taken = time.perf_counter() - started
        if taken > SLOW_S:
            raise TooSlow(f"{taken:.2f} s for {len(data)} bytes")

    return run


def main() -> None:
    """Fuzz, or run the files given."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("target", choices=(*TARGETS, "list"))
    options.add_argument("files", nargs="*", type=Path)
    options.add_argument("--seconds", type=int, default=120)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--findings", type=Path, default=ROOT / "fuzz-findings")
    chosen = options.parse_args()
    if chosen.target == "list":
        print(*TARGETS)
        return
    with tempfile.TemporaryDirectory(prefix="tacit-fuzz-") as scratch:
        folder = Path(scratch)
        target = timed(hooking(folder) if chosen.target == "hook" else reading(chosen.target, folder))
        for file in chosen.files:
            target(file.read_bytes())
        if chosen.files:
            return
        corpus = folder / "corpus"
        corpus.mkdir()
        for number, data in enumerate(seeds(chosen.target, folder)):
            (corpus / f"{number:03}").write_bytes(data)
        chosen.findings.mkdir(exist_ok=True)
        words = [sys.argv[0], str(corpus), f"-max_total_time={chosen.seconds}", f"-seed={chosen.seed}"]
        words += ["-max_len=65536", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1"]
        words += [f"-artifact_prefix={chosen.findings}/{chosen.target}-"]
        atheris.Setup(words, target, custom_mutator=lambda d, n, s: mutated(d, n, s, plain=atheris.Mutate))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
