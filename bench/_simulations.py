"""Skills that work with known chances → what the rules of standing make of them; for `bench/statistics.py`.

A skill's uses are `Evidence`, go through `evidence.votes` and, one after the other, into the `VoteRecord` of
`maintain.status_changes`; its status is judged after every use. Some skills of every figure are run a second time, slowly:
after every use all evidence and all transitions so far go through `earned_status` again, and must give the same moves.

Figures, each with its bar, the simple rules beside it, and its Monte-Carlo error:

- **at the line**: a skill that works in 70 % of its uses, retired within 200.
- **half**: one that works in 50 %, retired within 200.
- **drift**: 95 % for 50 uses, then 30 %: uses until it is suspended (or retired). Those suspended before are counted apart.
- **false alarms**: 90 %, suspended or retired within 200.
- **changes**: 80 %: how often the status changes in 200 uses, the first trust included. The worst of other chances beside it.
- **praise**: by how much 1,000 self-reported successes move a rank.
- **coverage**: how often the interval of a lift from hold-outs holds the truth (`_holdouts.py`).

Simple rules: the article's (retired when the mean of at least 10 is below 30 %), Wilson's upper bound below 70 % at any use, a
CUSUM with fixed ends (85 % against 50 %, 5 nats), and a gate at a mean of 80 %.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import tacit
from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.evidence.reliability import reliability, reliability_score, votes
from tacit.evidence.statistics import wilson
from tacit.maintain.status_changes import STATUS_RULES, VoteRecord, earned_status

SKILLS, SEED, USES = 4000, 2026, 200
ROUNDS = 40
"""Of each of the many cells that hold-outs are simulated in."""
CHECKED = 25
"""So many skills of every figure are run slowly as well."""
PEOPLE = ("ann", "bob", "cyd", "dan")
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
CHANCES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
BEFORE_DRIFT = 50


@dataclass(frozen=True, slots=True)
class Life:
    """What became of one skill: its moves with the number of the use after which they came."""

    moves: tuple[tuple[int, Status], ...]

    @property
    def ended(self) -> tuple[int, Status] | None:
        last = self.moves[-1] if self.moves else None
        return last if last and last[1] not in RECALLABLE else None


def uses(chances: Sequence[float], dice: random.Random) -> list[bool]:
    """How the uses of one skill end."""
    return [dice.random() < chance for chance in chances]


def evidence_of(ends: Sequence[bool]) -> list[Evidence]:
    """The evidence that these uses leave."""
    return [_RESULTS[at][end] for at, end in enumerate(ends)]


def _result(at: int, *, end: bool) -> Evidence:
    return Evidence(
        version_id="v_simulated",
        outcome=Outcome.SUCCESS if end else Outcome.FAILURE,
        grade=Grade.MACHINE,
        at=BEGUN + timedelta(hours=at + 1),
        use_id=f"u_{at}",
        task=f"task {at}",
        principal=PEOPLE[at % len(PEOPLE)],
        id=f"e_{at}_{end:d}",
    )


_RESULTS = [(_result(at, end=False), _result(at, end=True)) for at in range(USES + BEFORE_DRIFT)]


def quickly(ends: Sequence[bool]) -> Life:
    """A skill's life, vote by vote."""
    record, status, moves = VoteRecord(since=BEGUN), Status.TRIAL, []
    for number, vote in enumerate(votes(evidence_of(ends)), 1):
        record.add(vote)
        while (told := record.status_change(status)) is not None:
            status = told.after
            moves.append((number, status))
            if status not in RECALLABLE:
                return Life(tuple(moves))
            if status is Status.TRIAL:
                record.distrust(vote.at)
    return Life(tuple(moves))


def slowly(ends: Sequence[bool]) -> Life:
    """The same life as a library leads it: all evidence and all transitions so far, after every use anew."""
    evidence, transitions, moves = evidence_of(ends), [_move(None, Status.TRIAL, BEGUN)], []
    for number, last in enumerate(evidence, 1):
        status = transitions[-1].after
        while (told := earned_status(status, transitions, votes(evidence[:number]))) is not None:
            transitions.append(_move(status, told.after, last.at))
            status = told.after
            moves.append((number, status))
        if status not in RECALLABLE:
            break
    return Life(tuple(moves))


def _move(before: Status | None, after: Status, at: datetime) -> Transition:
    own = {"version_id": "v_simulated", "content_hash": "h", "reason": "r", "by": "tacit.tend"}
    return Transition(before=before, after=after, at=at, **own)


# --- simple rules: after how many uses they give a skill up ---------------------------------------------------------


def by_mean(ends: Sequence[bool]) -> int | None:
    """The article's rule."""
    good = 0
    for number, end in enumerate(ends, 1):
        good += end
        if number >= 10 and good / number < 0.3:
            return number
    return None


def by_wilson(ends: Sequence[bool]) -> int | None:
    """The upper bound at every use."""
    good = 0
    for number, end in enumerate(ends, 1):
        good += end
        if wilson(good, number)[1] < STATUS_RULES.line:
            return number
    return None


def by_fixed_cusum(ends: Sequence[bool]) -> int | None:
    """A CUSUM that knows nothing of the skill."""
    doubt = 0.0
    for number, end in enumerate(ends, 1):
        doubt = max(0.0, doubt + (math.log(0.5 / 0.85) if end else math.log(0.5 / 0.15)))
        if doubt >= 5:
            return number
    return None


def gate_changes(ends: Sequence[bool]) -> int:
    """How often a gate at a mean of 80 % opens or shuts."""
    good, changes, inside = 0, 0, False
    for number, end in enumerate(ends, 1):
        good += end
        opened = good / number >= 0.8
        changes += opened != inside
        inside = opened
    return changes


SIMPLE: dict[str, Callable[[Sequence[bool]], int | None]] = {
    "article's mean": by_mean, "Wilson at each use": by_wilson, "CUSUM with fixed ends": by_fixed_cusum,
}  # fmt: skip


# --- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """Many lives of one sort."""

    ends: list[list[bool]]
    lives: list[Life]
    differing: int
    """Lives that the slow way tells otherwise."""


def simulate(chances: Sequence[float], skills: int, seed: str) -> Figure:
    """Let so many skills of one sort live."""
    dice = random.Random(seed)
    ends = [uses(chances, dice) for _ in range(skills)]
    lives = [quickly(each) for each in ends]
    differing = sum(slowly(each) != life for each, life in zip(ends[:CHECKED], lives[:CHECKED], strict=True))
    return Figure(ends, lives, differing)


def share(hits: Sequence[bool]) -> dict[str, float]:
    """A share with its Monte-Carlo error (95 %)."""
    part = sum(hits) / len(hits)
    return {"share": round(part, 4), "error": round(1.96 * math.sqrt(part * (1 - part) / len(hits)), 4)}


def average(values: Sequence[float]) -> dict[str, float]:
    """A mean with its Monte-Carlo error (95 %)."""
    middle = sum(values) / len(values)
    spread = math.sqrt(sum((value - middle) ** 2 for value in values) / len(values))
    return {"mean": round(middle, 3), "error": round(1.96 * spread / math.sqrt(len(values)), 3)}


def steady(chance: float, skills: int, seed: int) -> dict[str, Any]:
    """Skills that never change."""
    made = simulate([chance] * USES, skills, f"{seed} steady {chance}")
    ends = [life.ended for life in made.lives]
    return {
        "chance": chance,
        "retired": share([end is not None and end[1] is Status.RETIRED for end in ends]),
        "suspended": share([end is not None and end[1] is Status.STALE for end in ends]),
        "given up": share([end is not None for end in ends]),
        "median uses until given up": _middle(end[0] for end in ends if end),
        "ever trusted": share([any(status is Status.TRUSTED for _, status in life.moves) for life in made.lives]),
        "changes": average([len(life.moves) for life in made.lives]),
        "most changes": max(len(life.moves) for life in made.lives),
        "given up by simple rules": {
            name: share([rule(each) is not None for each in made.ends]) for name, rule in SIMPLE.items()
        },
        "changes of a gate at 80 %": average([gate_changes(each) for each in made.ends]),
        "told otherwise slowly": made.differing,
    }


def drift(after: float, before: int, skills: int, *, seed: int) -> dict[str, Any]:
    """Skills that worked in 95 % of their uses and suddenly no longer do."""
    made = simulate([0.95] * before + [after] * 150, skills, f"{seed} drift {after} {before}")
    ends = [life.ended for life in made.lives]
    return {
        "after": after,
        "uses before": before,
        **_delays([end[0] if end else None for end in ends], before),
        "simple rules": {name: _delays([rule(each) for each in made.ends], before) for name, rule in SIMPLE.items()},
        "told otherwise slowly": made.differing,
    }


def _delays(given_up: Sequence[int | None], before: int) -> dict[str, Any]:
    late = [each - before if each else math.inf for each in given_up if each is None or each > before]
    ordered = sorted(late)
    tell = [ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)] for part in (0.5, 0.95)]
    return {
        "median": _told(tell[0]), "p95": _told(tell[1]), "within 15": share([each <= 15 for each in late]),
        "given up before": share([each is not None and each <= before for each in given_up]),
    }  # fmt: skip


def _told(delay: float) -> int | str:
    return "never within 150" if math.isinf(delay) else int(delay)


def _middle(values: Iterator[int]) -> int | None:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None


def praise() -> dict[str, Any]:
    """How far a thousand self-reported successes move the rank of skills with various records."""
    moved = []
    for good, bad in ((0, 0), (1, 0), (3, 0), (10, 0), (20, 5), (0, 3), (0, 20), (5, 5)):
        proof = evidence_of([True] * good + [False] * bad)
        lies = [
            Evidence(
                version_id="v_simulated", outcome=Outcome.SUCCESS, grade=Grade.SELF, use_id=f"u_lie_{at}",
                at=BEGUN + timedelta(days=30, minutes=at), principal=PEOPLE[at % 4], id=f"e_lie_{at}",
            )
            for at in range(1000)
        ]  # fmt: skip
        moved.append(abs(reliability_score(reliability([*proof, *lies])) - reliability_score(reliability(proof))))
    return {"records": len(moved), "largest move of a rank": max(moved), "article's reliability after them": 1.0}


def coverage(rounds: int, seed: int) -> dict[str, Any]:
    """How often intervals of lift hold the truth, with the Monte-Carlo error of that share (95 %)."""
    try:
        found = dict(importlib.import_module("_holdouts").coverage(rounds, seed))
    except ModuleNotFoundError as missing:
        return {"missing": str(missing)}
    part, asked = found["coverage"]["success"], (1 - found["not_known_yet"]) * rounds * found["cells"]
    return {**found, "error": round(1.96 * math.sqrt(part * (1 - part) / asked), 4)}


def bars(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every bar, with what was measured."""
    at = {each["chance"]: each for each in found["steady"]}
    fast = found["drift"][0]
    told = {
        "70 % skill retired": (at[0.7]["retired"]["share"], "<=", 0.05),
        "50 % skill retired": (at[0.5]["retired"]["share"], ">=", 0.99),
        "drift given up within, p95": (fast["p95"] if isinstance(fast["p95"], int) else math.inf, "<=", 15),
        "90 % skill given up": (at[0.9]["given up"]["share"], "<=", 0.025),
        "changes at 80 %": (at[0.8]["changes"]["mean"], "<=", 1.1),
        "rank moved by praise": (found["praise"]["largest move of a rank"], "<=", 0.0),
        "lives told otherwise slowly": (
            sum(each["told otherwise slowly"] for each in (*found["steady"], *found["drift"])), "<=", 0,
        ),
    }  # fmt: skip
    if "missing" not in found["coverage"]:
        covered = found["coverage"]["coverage"]["success"]
        told["lift covered, at least"], told["lift covered, at most"] = (covered, ">=", 0.93), (covered, "<=", 0.97)
    return {
        name: {"measured": value, "bar": f"{sign} {bar}", "met": value <= bar if sign == "<=" else value >= bar}
        for name, (value, sign, bar) in told.items()
    }


def measure(skills: int, seed: int, *, rounds: int) -> dict[str, Any]:
    """All figures, on all cores."""
    with ProcessPoolExecutor() as pool:
        covered = pool.submit(coverage, rounds, seed)
        held = [pool.submit(steady, chance, skills, seed) for chance in (0.5, *CHANCES)]
        changed = [
            pool.submit(drift, after, before, skills, seed=seed)
            for after, before in ((0.3, 50), (0.3, 20), (0.3, 100), (0.6, 50))
        ]
        found: dict[str, Any] = {
            "steady": [each.result() for each in held],
            "drift": [each.result() for each in changed],
            "praise": praise(),
            "coverage": covered.result(),
        }
    worst = max(found["steady"], key=lambda each: float(each["changes"]["mean"]))
    found["worst changes"] = {"chance": worst["chance"], **worst["changes"]}
    return found


def main() -> int:
    """Simulate, write the result, and fail where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skills", type=int, default=SKILLS, help="simulated skills for each figure")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each cell of simulated hold-outs")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    started = time.perf_counter()
    found = measure(given.skills, given.seed, rounds=given.rounds)
    result = {
        "command": f"PYTHONPATH=src python bench/statistics.py --skills {given.skills} --seed {given.seed} --rounds {given.rounds}",
        "commit": _commit(), "python": platform.python_version(), "tacit": tacit.__version__,
        "skills": given.skills, "uses": USES, "rules": asdict(STATUS_RULES), "bars": bars(found), **found,
        "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip
    for name, bar in result["bars"].items():
        print(f"{'ok  ' if bar['met'] else 'MISS'} {name:30} {bar['measured']} (bar {bar['bar']})")
    print(
        f"worst changes {found['worst changes']}, coverage {found['coverage'].get('coverage', found['coverage'])}, {result['seconds']} s"
    )
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if all(bar["met"] for bar in result["bars"].values()) else 1


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
