"""How often assumptions are compared rightly with what happened, on written sessions, against simple ways of doing it.

A case is an assumption, a run, and what a careful reader would say: held, wrong or unknown. Four sets, by one author: `building`
and `held-out` were written before the rules (`bench/_moment_cases.py`; odd cases were used while building, even ones looked at once);
`later` was written afterwards in order to break them, and `last` after they had been mended by that. `first_look` keeps what each
set gave when it was first looked at, which is what can be relied on: whatever was found wrong then has been mended since.
What matters most is how often something is said that is not so: an assumption called wrong becomes a lesson candidate. Baselines:
always unknown; and word overlap, which says *held* where a call that worked shares a third of the assumption's words, and *wrong* where
a failed call or a person's "no" does.

    python bench/moments.py [--set NAME] [--out bench/results/moments.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _moment_cases import CASES, Case
from _moment_cases_later import LAST, LATER

from tacit.domain.trajectory import Environment, Role, Step, StepResult, Task, Trajectory
from tacit.features.people.assumption_results import compare
from tacit.features.people.ledger_entries import Aspect, Assumption
from tacit.render.conditions import read_condition
from tacit.text.words import term_set

ROOT = Path(__file__).resolve().parents[1]
WORKSPACE = "/srv/ann/invoices"
STATED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ANSWERS = ("held", "wrong", "unknown")
SHARED = 1 / 3
FIRST_LOOK = {
    "held-out": {"cases": 30, "right": 30, "said": 17, "said_wrongly": 0, "called_wrong": 8, "called_wrong_wrongly": 0},
    "later": {"cases": 40, "right": 13, "said": 17, "said_wrongly": 10, "called_wrong": 9, "called_wrong_wrongly": 7},
    "last": {"cases": 33, "right": 28, "said": 21, "said_wrongly": 3, "called_wrong": 13, "called_wrong_wrongly": 2},
}
"""What Tacit's comparison gave on each set the first time that it was run on it."""


def step_of(told: tuple[Any, ...], index: int) -> Step:
    """One step of a case."""
    sort, rest = told[0], told[1:]
    if sort == "person":
        return Step(index=index, role=Role.USER, text=rest[0])
    if sort == "agent":
        return Step(index=index, role=Role.AGENT, text=rest[0])
    tool, arguments, seen, result, code = "Bash", {}, "", StepResult.OK, None
    if sort == "$":
        arguments, code, seen = {"command": rest[0]}, rest[1], rest[2]
        result = StepResult.FAILED if code else StepResult.OK
    elif sort == "denied":
        arguments, result = {"command": rest[0]}, StepResult.DENIED
    elif sort == "edit":
        tool, arguments = "Edit", {"file_path": rest[0], "old_string": "a", "new_string": "b"}
    elif sort in ("read", "read-failed"):
        tool, arguments, seen = "Read", {"file_path": rest[0]}, rest[1]
        result = StepResult.FAILED if sort == "read-failed" else StepResult.OK
    else:
        tool, arguments, seen = rest
    return Step(
        index=index, role=Role.AGENT, tool=tool, arguments=arguments, observation=seen, result=result, exit_code=code
    )


def trajectory_of(case: Case) -> Trajectory:
    """The run of a case."""
    return Trajectory(
        task=Task(text="Do what the ticket says", project="invoices"),
        steps=tuple(step_of(told, index) for index, told in enumerate(case.steps)),
        environment=Environment(workspace=WORKSPACE),
        session_id="s1",
        reply=case.reply,
    )


def ours(case: Case) -> str:
    """What Tacit says."""
    assumption = Assumption(key="a", at=STATED, text=case.text, aspect=Aspect(case.aspect), check=case.check)
    return str(compare(assumption, trajectory_of(case), condition=read_condition(case.text)).held)


def never(case: Case) -> str:
    """Nothing is ever known."""
    return "unknown"


def overlap(case: Case) -> str:
    """Words alone."""
    words = term_set(case.text)
    for step in trajectory_of(case).steps:
        told = f"{step.text} {' '.join(map(str, step.arguments.values()))} {step.observation}"
        if len(words & term_set(told)) < SHARED * len(words):
            continue
        if step.failed or (
            step.role is Role.USER and step.text.casefold().startswith(("no", "don't", "never", "please"))
        ):
            return "wrong"
        return "held"
    return "unknown"


def counted(cases: Sequence[Case], answer: Callable[[Case], str]) -> dict[str, Any]:
    """How often an answer is right, how often it says something that is not so, and how often it keeps silent."""
    pairs = [(case.answer, answer(case)) for case in cases]
    said = [(true, told) for true, told in pairs if told != "unknown"]
    return {
        "cases": len(pairs),
        "right": sum(true == told for true, told in pairs),
        "said": len(said),
        "said_wrongly": sum(true != told for true, told in said),
        "missed": sum(true != "unknown" and told == "unknown" for true, told in pairs),
        "called_wrong": sum(told == "wrong" for _, told in pairs),
        "called_wrong_wrongly": sum(told == "wrong" and true != "wrong" for true, told in pairs),
        "table": {true: dict(Counter(told for each, told in pairs if each == true)) for true in ANSWERS},
    }


def main() -> None:
    """Compare, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", dest="half", choices=("building", "held-out", "later", "last", "all"), default="all")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", action="store_true", help="name the cases that differ")
    options = parser.parse_args()
    halves = {"building": CASES[::2], "held-out": CASES[1::2], "later": LATER, "last": LAST}
    chosen = halves if options.half == "all" else {options.half: halves[options.half]}
    found = {
        half: {way.__name__: counted(cases, way) for way in (ours, never, overlap)} for half, cases in chosen.items()
    }
    for half, cases in chosen.items() if options.show else ():
        for case in cases:
            if (told := ours(case)) != case.answer:
                print(f"{half}: {case.text!r}: {told}, a reader says {case.answer}")
    by_aspect = {
        half: {
            aspect: counted([case for case in cases if case.aspect == aspect], ours)
            for aspect in sorted({case.aspect for case in cases})
        }
        for half, cases in chosen.items()
    }
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    document = {
        "benchmark": "moments",
        "command": "python bench/moments.py --out bench/results/moments.json",
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "first_look": FIRST_LOOK,
        "results": found,
        "by_aspect": by_aspect,
    }
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for half, ways in found.items():
        for name, row in ways.items():
            print(half, name, {key: value for key, value in row.items() if key != "table"})


if __name__ == "__main__":
    main()
