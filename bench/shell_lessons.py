"""Lessons from shell work: a command fails in a task never seen before; does recall by that error name the fix?

    PYTHONPATH=src python bench/shell_lessons.py FOLDER [--part held-out|learning] [--out bench/results/shell_lessons.json]

FOLDER holds terminal recordings of mini-swe-agent, one folder per task (`…/<task>/<run>.agent.cast`); only tasks whose
names begin with a to m are used. Tasks are split by a hash of their name, variants of a task (`x`, `x.hard`) together: two
thirds to learn from, one third held out. `--part learning` never touches the held-out third: there each task of the
learning part is asked about after learning from the others of it, which is what tuning may look at.

What counts is defined here, without the product's own notions:

- **failing**: exit status other than 0, or killed by the agent's time limit; with some output, to have an error to ask by.
- **later fixed**: within the next REACH commands one ended with status 0 that is the same thing: it runs a program that the
  failing one runs (programs that only look or print aside), or shares at least half of its words.
- **the fix**: the fixing command; or, if that says nothing new, every successful command in between that does more than
  look. Each is the set of its words that stand neither in the failing command nor in the task: programs, subcommands,
  flags, packages. Words with a blank, a slash or a dot are data and do not count, nor do commands that print or edit a
  text. A case without any such word (the same command again, or after an edit) has no fix to name and is counted apart.
- **names the fix**: at least half of the words of one of these commands stand in the commands of the answer, of which only
  the first ANSWER_WORDS are read. An answer's placeholder for a value of the error counts as the value in the error asked by.

Baselines, in the same run and from the same learning part: the fix that followed the nearest failing command (TF-IDF
cosine over the error text), which always speaks; the same with silence below the similarity that was best in the learning
part; and the commonest fix of exactly the same signature. Tacit is asked with the failing command and its error. Reported
are new tasks, known from the learning part alone, and the same task again, where its earlier runs are known as well; cases
killed by the time limit also apart. Intervals are bootstrapped over tasks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import random
import re
import shlex
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _recordings import trajectories

import tacit
from tacit.domain.trajectory import Step, StepResult, Trajectory
from tacit.text.error_signatures import error_signature, missing_name
from tacit.text.shell import parse_command
from tacit.text.words import terms

SEED = 0
REACH = 8
ANSWER_WORDS = 40
ERROR_CHARACTERS = 4_000
RESAMPLES = 10_000
KILLED = "Command timed out and was killed"
PRINTING = frozenset("cd echo printf cat true".split())
EDITING = frozenset("sed perl patch tee ed".split())
LOOKING = PRINTING | frozenset(
    "ls head tail which pwd grep find wc sleep test [ file stat tree type ps env date whoami od hexdump xxd diff sort "
    "uniq export set source .".split()
)

Words = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A failing command that was later fixed."""

    task: str
    run: str
    step: int
    command: str
    error: str
    fix: tuple[str, ...]
    """The commands that mended it, in order."""
    wanted: tuple[Words, ...]
    """What each of them has that neither the failing command nor the task says."""


Answer = Callable[[Case], Sequence[str]]
"""The commands that a method answers with; none is silence."""


# --- what happened --------------------------------------------------------------------------------------------------


def family(task: str) -> str:
    """The task without its variant."""
    return task.split(".", 1)[0]


def words(command: str) -> Words:
    """The words of a command that can be told to somebody else: no data, no files, no commands that print or edit."""
    found: set[str] = set()
    for part in parse_command(command):
        if part.program not in PRINTING | EDITING:
            try:
                split = shlex.split(part.text)
            except ValueError:
                split = part.text.split()
            found.update(_VERSION.sub("", word).lower() for word in split)
    return frozenset(word for word in found if _TELLING.fullmatch(word))


_VERSION = re.compile(r"(?:[=<>~!]=|[<>]).*", re.DOTALL)
_TELLING = re.compile(r"-{0,2}[a-z][\w+=-]{0,40}")


def programs(command: str) -> frozenset[str]:
    return frozenset(part.label for part in parse_command(command)) - LOOKING


def looks(command: str) -> bool:
    return not programs(command) and "<<" not in command and ">" not in command


def typed(step: Step) -> str:
    return str(step.arguments["command"])


def failing(step: Step) -> bool:
    return step.result is StepResult.FAILED and bool(step.observation.strip())


def same_thing(failed: str, later: str) -> bool:
    if programs(failed) & programs(later):
        return True
    before, after = set(failed.split()), set(later.split())
    return len(before & after) >= len(before | after) / 2


def cases_of(task: str, run: Trajectory) -> list[Case]:
    """Every failing command of a run that was later fixed; each run is looked through once."""
    if run.id not in _CASES:
        _CASES[run.id] = _found_cases(task, run)
    return _CASES[run.id]


_CASES: dict[str, list[Case]] = {}


def _found_cases(task: str, run: Trajectory) -> list[Case]:
    cases: list[Case] = []
    steps, said = run.actions, words(run.task.text) | frozenset(run.task.text.lower().split())
    for at, failed in enumerate(steps):
        if not failing(failed):
            continue
        following = steps[at + 1 : at + 1 + REACH]
        fixed = next(
            (i for i, s in enumerate(following) if s.exit_code == 0 and same_thing(typed(failed), typed(s))), None
        )
        if fixed is None:
            continue
        between = [typed(s) for s in following[:fixed] if s.exit_code == 0 and not looks(typed(s))]
        last = typed(following[fixed])
        fix = (last,) if words(last) - words(typed(failed)) - said else tuple(between)
        wanted = tuple(words(command) - words(typed(failed)) - said for command in fix)
        error = failed.observation[-ERROR_CHARACTERS:]
        cases.append(
            Case(task=family(task), run=run.session_id, step=failed.index, command=typed(failed), error=error, fix=fix,
                 wanted=tuple(part for part in wanted if part))
        )  # fmt: skip
    return cases


def names_fix(case: Case, answer: Sequence[str]) -> bool:
    """Whether half the words of one fixing command stand in the answer."""
    told: list[str] = []
    for command in answer:
        told += sorted(words(command))
    known = frozenset(told[:ANSWER_WORDS])
    return any(2 * len(wanted & known) >= len(wanted) for wanted in case.wanted)


# --- those who answer -----------------------------------------------------------------------------------------------


class Memory:
    """Tacit: learn from runs, approve everything, look up by error."""

    def __init__(self, runs: Iterable[Trajectory]) -> None:
        self.memory = tacit.open(":memory:")
        self.memory.capture(runs)
        self.memory.learn()
        for stored in self.memory.reviews.waiting():
            ticked = [each.key for each in self.memory.reviews.examine(stored.version.id).external_values]
            self.memory.review(
                stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked
            )

    def lessons(self) -> list[Any]:
        return [stored.version.content for stored in self.memory.context.store.catalogue(kinds={tacit.Kind.LESSON})]

    def __call__(self, case: Case) -> Sequence[str]:
        chosen = self.memory.recall(
            case.command, state={"error": case.error, "command": case.command}, k=1, kinds=["lesson"]
        )
        told = [str(step.arguments.get("command", step.text)) for item in chosen.items for step in item.steps]
        return [re.sub(r"\{(?:missing_)?(?:module|program)\}", missing_name(case.error), command) for command in told]


class NearestError:
    """The fix that followed the most similar error: TF-IDF cosine, silent below a similarity."""

    def __init__(self, known: Sequence[Case], *, least: float = 0.0) -> None:
        self.known, self.least = known, least
        frequency = Counter(term for case in known for term in set(terms(case.error)))
        self._idf = {term: math.log((1 + len(known)) / (1 + count)) + 1 for term, count in frequency.items()}
        self._vectors = [self._vector(case.error) for case in known]

    def __call__(self, case: Case) -> Sequence[str]:
        asked = self._vector(case.error)
        near = [sum(weight * other.get(term, 0.0) for term, weight in asked.items()) for other in self._vectors]
        best = max(range(len(near)), key=near.__getitem__, default=None)
        return self.known[best].fix if best is not None and near[best] > self.least else ()

    def _vector(self, text: str) -> dict[str, float]:
        counts = Counter(term for term in terms(text) if term in self._idf)
        weights = {term: (1 + math.log(count)) * self._idf[term] for term, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {term: weight / length for term, weight in weights.items()}


class SameSignature:
    """The commonest fix of exactly the same error signature."""

    def __init__(self, known: Sequence[Case]) -> None:
        self._fixes: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for case in known:
            self._fixes[error_signature(case.error)][case.fix] += 1

    def __call__(self, case: Case) -> Sequence[str]:
        fixes = self._fixes.get(error_signature(case.error))
        return fixes.most_common(1)[0][0] if fixes else ()


# --- the experiment -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """What one method did in one case."""

    spoke: bool
    named: bool


Runs = Sequence[tuple[str, Trajectory]]
LEAST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def split(runs: Runs) -> tuple[Runs, Runs]:
    """Learning part and held-out part, by task."""
    order = sorted(
        {family(task) for task, _ in runs}, key=lambda name: hashlib.sha256(f"{SEED}:{name}".encode()).hexdigest()
    )
    held = {name for i, name in enumerate(order) if i % 3 == 2}
    return [run for run in runs if family(run[0]) not in held], [run for run in runs if family(run[0]) in held]


def ask(known: Runs, asked: Sequence[Case], *, least: float | None) -> dict[str, list[Said]]:
    """Every method learns from the known runs and answers the same cases."""
    past = [case for task, run in known for case in cases_of(task, run) if case.fix]
    methods: dict[str, Answer] = {
        "tacit": Memory(run for _, run in known),
        "nearest error": NearestError(past),
        "same signature": SameSignature(past),
    }
    methods |= {f"nearest above {bar}": NearestError(past, least=bar) for bar in (LEAST if least is None else (least,))}
    answers = {name: [method(case) for case in asked] for name, method in methods.items()}
    return {
        name: [Said(bool(answer), names_fix(case, answer)) for case, answer in zip(asked, given, strict=True)]
        for name, given in answers.items()
    }


def new_tasks(
    known: Runs, asked: Runs, *, least: float | None, apart: bool
) -> tuple[list[Case], dict[str, list[Said]]]:
    """Tasks not met before: `apart` leaves the asked task out of what is known."""
    cases: list[Case] = []
    said: dict[str, list[Said]] = defaultdict(list)
    groups = sorted({family(task) for task, _ in asked}) if apart else [""]
    for group in groups:
        those = [case for task, run in asked if not apart or family(task) == group for case in cases_of(task, run)]
        those = [case for case in those if case.wanted]
        for name, answers in ask([run for run in known if family(run[0]) != group], those, least=least).items():
            said[name] += answers
        cases += those
    return cases, said


def again(known: Runs, asked: Runs, *, least: float | None) -> tuple[list[Case], dict[str, list[Said]]]:
    """The same task once more: known are the learning part and the earlier runs of the task itself."""
    cases: list[Case] = []
    said: dict[str, list[Said]] = defaultdict(list)
    by_task: dict[str, list[tuple[str, Trajectory]]] = defaultdict(list)
    for task, run in asked:
        by_task[family(task)].append((task, run))
    for group, own in sorted(by_task.items()):
        own.sort(key=lambda entry: entry[1].session_id.rsplit(".", 1)[-1])
        others = [run for run in known if family(run[0]) != group]
        for i, (task, run) in enumerate(own[1:], start=1):
            those = [case for case in cases_of(task, run) if case.wanted]
            if those:
                for name, answers in ask([*others, *own[:i]], those, least=least).items():
                    said[name] += answers
                cases += those
    return cases, said


# --- the report -----------------------------------------------------------------------------------------------------


def summary(cases: Sequence[Case], said: Mapping[str, Sequence[Said]], *, against: Sequence[str]) -> dict[str, Any]:
    """Figures of each method, and Tacit's paired difference to the others."""
    figures: dict[str, Any] = {"cases": len(cases), "tasks": len({case.task for case in cases})}
    for name, answers in said.items():
        spoke, named = sum(a.spoke for a in answers), sum(a.named for a in answers)
        figures[name] = {
            "spoke": spoke,
            "named": named,
            "coverage": _share(spoke, len(answers)),
            "precision": _share(named, spoke),
            "recall": _share(named, len(answers)),
            "recall_interval": interval(cases, [float(a.named) for a in answers]),
        }
    for name in against:
        pairs = list(zip(said["tacit"], said[name], strict=True))
        difference = [float(ours.named) - float(theirs.named) for ours, theirs in pairs]
        figures[f"tacit minus {name}"] = {
            "recall": round(sum(difference) / len(difference), 3) if difference else None,
            "interval": interval(cases, difference),
            "only_tacit": sum(d > 0 for d in difference),
            "only_other": sum(d < 0 for d in difference),
            "wrong_answers": [sum(p[side].spoke and not p[side].named for p in pairs) for side in (0, 1)],
        }
    return figures


def interval(cases: Sequence[Case], values: Sequence[float]) -> list[float]:
    """95 % of the mean, tasks resampled."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for case, value in zip(cases, values, strict=True):
        by_task[case.task].append(value)
    groups, rng = list(by_task.values()), random.Random(SEED)
    if not groups:
        return []
    means: list[float] = []
    for _ in range(RESAMPLES):
        drawn = [value for group in rng.choices(groups, k=len(groups)) for value in group]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    return [round(means[int(RESAMPLES * share)], 3) for share in (0.025, 0.975)]


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def counts(runs: Runs) -> dict[str, int]:
    """What there is to ask about."""
    cases = [case for task, run in runs for case in cases_of(task, run)]
    steps = [step for _, run in runs for step in run.actions]
    return {
        "tasks": len({family(task) for task, _ in runs}),
        "runs": len(runs),
        "commands": len(steps),
        "failing": sum(step.result is StepResult.FAILED for step in steps),
        "with_output": sum(map(failing, steps)),
        "later_fixed": len(cases),
        "with_a_fix_to_name": sum(bool(case.wanted) for case in cases),
    }


def best_bar(said: Mapping[str, Sequence[Said]]) -> float:
    """The similarity below which the nearest error had better be silent: most right less wrong answers."""
    gain = {bar: sum(2 * a.named - a.spoke for a in said[f"nearest above {bar}"]) for bar in LEAST}
    return max(LEAST, key=lambda bar: (gain[bar], -bar))


def groups(cases: Sequence[Case], said: Mapping[str, Sequence[Said]], **more: Any) -> dict[str, Any]:
    """Figures of all cases, and of those apart that the time limit killed, whose error says nothing of the cause."""
    killed = [KILLED in case.error for case in cases]
    parts = {"all": [True] * len(cases), "exit status": [not k for k in killed], "time limit": killed}
    return {
        name: summary(
            [case for case, keep in zip(cases, kept, strict=True) if keep],
            {n: [a for a, keep in zip(answers, kept, strict=True) if keep] for n, answers in said.items()},
            **more,
        )
        for name, kept in parts.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", choices=["held-out", "learning"], default="held-out")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    runs = [run for run in trajectories(options.folder) if "a" <= run[0][:1].lower() <= "m"]
    learning, held = split(runs)
    tuned = new_tasks(learning, learning, least=None, apart=True)
    bar = best_bar(tuned[1])
    chosen = f"nearest above {bar}"
    report: dict[str, Any] = {
        "commit": commit(),
        "python": platform.python_version(),
        "part": options.part,
        "silent_below": bar,
        "learning": counts(learning),
        "lessons": len(Memory(run for _, run in learning).lessons()),
    }
    names = ("tacit", "nearest error", chosen, "same signature")
    if options.part == "learning":
        first, second = tuned, again(learning, learning, least=bar)
    else:
        report["held_out"] = counts(held)
        first, second = new_tasks(learning, held, least=bar, apart=False), again(learning, held, least=bar)
    for title, (cases, said) in (("new tasks", first), ("same task again", second)):
        kept = {name: said[name] for name in names if name in said}
        report[title] = groups(cases, kept, against=[name for name in names[1:] if name in said])
    print(json.dumps(report, indent=1))
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def commit() -> str:
    command = ["git", "-C", str(Path(__file__).resolve().parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
