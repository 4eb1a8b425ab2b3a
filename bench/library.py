"""Does a library stay bounded? 5,000 made-up attempts, two in five of them at work done before; looked at on the way.

    python bench/library.py [--out bench/results/library.json] [--sizes 500 1000 2500 5000] [--seed 7]

The attempts are those of `_generated_runs.py`, with verified outcomes. At each size everything new is learned, all that waits is
approved (a script stands in for the person), and the library is tended: `tacit tend --apply`, what that puts together is approved
as well, and once more. Then is counted:

- skills, and the kinds of work that were seen;
- near-duplicates, as the share of recallable skills that are one too many: by truth (another skill carries out the same deed of
  the same kind of work) and by the gate's own measure (alike at least `policy.duplicate_similarity`); before and after tending;
- recall of the kinds of work that were known at the first size, asked in wordings that nothing was learned from: the same
  questions at each size; a hit is a skill made of attempts at that kind of work;
- seconds of the processor for learning and tending, and the size of the store.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import _generated_runs as generated
from _person import sign_in

import tacit
from tacit.api import Tacit
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.stored import StoredVersion
from tacit.gate.duplicates import similarity
from tacit.maintain.merging import near_pairs

PERSON = "a script in a person's place"
SAMPLE = 60
"""Skills that are compared with every other one, to see what the search for pairs misses."""


class Truth:
    """Which kind of work each attempt was at."""

    def __init__(self) -> None:
        self.families: dict[str, generated.Family] = {}

    def of(self, stored: StoredVersion) -> generated.Family:
        """The kind of work that most of the attempts behind a skill were at."""
        names = Counter(self.families[each] for each in stored.version.provenance.trajectory_ids)
        return names.most_common(1)[0][0]

    def deeds(self, stored: StoredVersion) -> set[tuple[str, str]]:
        """What of its kind of work a skill carries out."""
        family = self.of(stored)
        called = {step.tool for step in stored.version.content.steps}
        called |= {str(step.arguments.get("command", "")).split(" ")[0] for step in stored.version.content.steps}
        return {(family.name, deed) for deed in called.intersection(family.changing())}


def approve_all(memory: Tacit) -> int:
    """Say yes to all that waits, each literal ticked."""
    waiting = memory.reviews.waiting()
    for stored in waiting:
        ticks = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by=PERSON, ticked=ticks)
    return len(waiting)


def tend(memory: Tacit) -> Counter[str]:
    """Apply what `tacit tend` tells, approve what that puts together, and let what was merged leave."""
    done: Counter[str] = Counter()
    for _ in range(2):
        cares, _ = memory.library.apply(memory.library.plan(), by=PERSON)
        done.update(care.kind.value for care in cares if care.applied)
        approve_all(memory)
    return done


def duplicates(memory: Tacit, truth: Truth) -> dict[str, Any]:
    """Recallable skills that are one too many: by truth, and by the gate's own measure."""
    held = memory.skills(statuses=RECALLABLE)
    seen: set[tuple[str, str]] = set()
    double = 0
    for stored in sorted(held, key=lambda each: each.sequence):
        deeds = truth.deeds(stored)
        double += bool(deeds & seen)
        seen |= deeds
    pairs = near_pairs(held, memory.context.config.policy.duplicate_similarity)
    alike = {pair.newer.version.id for pair in pairs}
    return {
        "by_truth": double,
        "by_truth_share": round(double / len(held), 4),
        "by_likeness": len(alike),
        "by_likeness_share": round(len(alike) / len(held), 4),
    }


def missed(memory: Tacit, seed: int) -> dict[str, int]:
    """Pairs that comparing some skills with every other one finds, and the search for pairs does not."""
    held = memory.skills(statuses=RECALLABLE)
    least = memory.context.config.policy.duplicate_similarity
    found = {frozenset((pair.older.version.id, pair.newer.version.id)) for pair in near_pairs(held, least)}
    sample = random.Random(seed).sample(held, min(SAMPLE, len(held)))
    real = {
        frozenset((one.version.id, other.version.id))
        for one in sample
        for other in held
        if one.version.id != other.version.id and similarity(one.version.content, other.version.content) >= least
    }
    return {"skills_compared_with_all": len(sample), "pairs": len(real), "missed": len(real - found)}


def recall(memory: Tacit, truth: Truth, asked: Sequence[generated.Question]) -> dict[str, float]:
    """How often the skill that fits best, and one of the first five, is of the kind of work that was asked for.

    Skills are handed out in the order in which they are to be done, so the best is the one with the highest score.
    """
    best = shown_first = five = nothing = 0
    for question in asked:
        items = memory.recall(question.text, k=5, budget_tokens=6000, keep=False).items
        names = [truth.of(memory.context.store.version(item.version_id)).name for item in items]
        scored = sorted(zip(items, names, strict=True), key=lambda pair: -pair[0].score)
        best += [name for _, name in scored[:1]] == [question.family]
        shown_first += names[:1] == [question.family]
        five += question.family in names
        nothing += not names
    count = len(asked)
    return {
        "questions": count,
        "hit_at_1": round(best / count, 4),
        "shown_first": round(shown_first / count, 4),
        "recall_at_5": round(five / count, 4),
        "abstained": round(nothing / count, 4),
    }


def measure(sizes: Sequence[int], seed: int, store: Path) -> list[dict[str, Any]]:
    """Feed a library, and look at it at each size."""
    truth, source = Truth(), generated.runs(max(sizes), seed=seed)
    asked: list[generated.Question] = []
    rows: list[dict[str, Any]] = []
    with tacit.open(store) as memory:
        for size in sizes:
            more = list(islice(source, size - len(truth.families)))
            truth.families |= {run.id: family for run, family in more}
            memory.capture([run for run, _ in more], trust_outcomes=True)
            started = time.process_time()
            memory.learn()
            learned = time.process_time()
            approve_all(memory)
            approved = time.process_time()
            before = duplicates(memory, truth)
            looking = time.process_time()
            done = tend(memory)
            tended = time.process_time()
            asked = asked or generated.questions(list(dict.fromkeys(truth.families.values())), seed=seed)
            rows.append(
                {
                    "attempts": size,
                    "kinds_of_work": len(set(truth.families.values())),
                    "skills": len(memory.skills(statuses=RECALLABLE)),
                    "statuses": dict(memory.archive.stats().skills),
                    "versions": memory.archive.stats().versions,
                    "duplicates_before_tending": before,
                    "tended": dict(done),
                    "duplicates": duplicates(memory, truth),
                    "recall": recall(memory, truth, asked),
                    "learn_cpu_s": round(learned - started, 1),
                    "approve_cpu_s": round(approved - learned, 1),
                    "tend_cpu_s": round(tended - looking, 1),
                    "store_mb": round(memory.archive.stats().bytes / 2**20, 1),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
        rows[-1]["search_for_pairs"] = missed(memory, seed)
        assert not memory.archive.verify()
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1_000, 2_500, 5_000])
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    os.environ["TACIT_HOME"] = tempfile.mkdtemp(prefix="tacit-bench-")
    sign_in(Path(os.environ["TACIT_HOME"]))
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as place:
        rows = measure(sorted(options.sizes), options.seed, Path(place) / "library.db")
    result = {"seed": options.seed, "repeats": 0.4, "approved_by": PERSON, "sizes": rows}
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
