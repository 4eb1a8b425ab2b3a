"""Does what is learned carry over to kinds of task that were never shown? Domains beside baselines, each with whole kinds left out.

    PYTHONPATH=src python bench/domains.py --data DATA [--only SET ...] [--seeds 12] [--seed 1000] [--out bench/results/domains.json]

DATA holds `retail/` and `bfcl/` (documents and requests of public benchmarks). Kinds left out: a kind of task is the set of tools that its
solution uses; kinds are divided into five parts, and each part is asked for after learning from the others. `made` are
domains drawn from a seed (`Domain`): requests for several jobs at once, jobs that every run begins or ends with, repeats
("for Ann, Ben and Cleo"), one-line goals whose whole attempt is the answer, and first messages that say little.
Settings were chosen on seeds below 1000; figures come from seeds from 1000 on.

Measured is the order-F1 of tool names (F1 of their longest common subsequence) of the first answer, and the best of five.
Baselines: BM25 over past requests; the same over attempts whose tools exist now; the nearest attempt by shared words
(Jaccard); the commonest sequence. Intervals draw whole groups (scenario, task, domain) with replacement.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapter import Adapter

K = 5
PARTS = 5
ROUNDS = 2000
READS = ("get_", "find_", "list_", "search_", "calculate", "think", "transfer")
"""How the tools that change nothing begin in the retail data."""


@dataclass(frozen=True)
class Asked:
    """A request, what its solution calls, the tools at hand, and the group that it is drawn with."""

    text: str
    calls: tuple[str, ...]
    tools: tuple[str, ...] | None
    group: str


@dataclass(frozen=True)
class Fold:
    """What is learned from, and what is asked then."""

    documents: tuple[dict[str, Any], ...]
    asked: tuple[Asked, ...]
    kept: Callable[[Sequence[str]], list[str]] = list
    """Which of the tools count."""


# --- public data ------------------------------------------------------------------------------------------------------


def retail(data: Path) -> Iterator[Fold]:
    """Reference orders: the kinds of free-prose requests are left out of what is learned, part by part."""
    train, tests = rows(data / "retail/train_gold.jsonl"), rows(data / "retail/test_visible_gold.jsonl")

    def kind(row: dict[str, Any]) -> str:
        return " ".join(sorted({action["name"] for action in row["actions"]} & set(changes(names_of(row["actions"])))))

    tests = [row for row in tests if kind(row)]
    part = parted(map(kind, [*tests, *train]))
    for number in range(PARTS):
        learned = [
            document(row["id"], row["instruction"], row["actions"]) for row in train if part[kind(row)] != number
        ]
        asked = [
            Asked(row["instruction"], tuple(changes(names_of(row["actions"]))), None, row["id"])
            for row in tests
            if part[kind(row)] == number
        ]
        yield Fold(tuple(learned), tuple(asked), changes)


def retail_runs(data: Path) -> Iterator[Fold]:
    """Agents' runs, asked by the customer's first message: all tools, for tasks of kinds that were left out."""
    runs = rows(data / "retail/trajectories.jsonl.gz")
    for run in runs:
        run["extra"].pop("label", None)
    kinds: dict[int, set[str]] = defaultdict(set)
    for run in runs:
        if succeeded(run):
            kinds[run["extra"]["task_id"]] |= set(changes(tools_of(run)))
    part = parted(" ".join(sorted(kinds[run["extra"]["task_id"]])) for run in runs)
    for number in range(PARTS):
        left_out = {task for task, kind in kinds.items() if part[" ".join(sorted(kind))] == number}
        learned = tuple(run for run in runs if run["extra"]["task_id"] not in left_out)
        asked = [
            Asked(first_request(run), tuple(tools_of(run)), None, str(run["extra"]["task_id"]))
            for run in runs
            if run["extra"]["task_id"] in left_out and succeeded(run) and tools_of(run)
        ]
        yield Fold(learned, tuple(asked))


def bfcl(data: Path) -> Iterator[Fold]:
    """Turns with an answer: those whose set of tools was left out, asked with the tools of their place."""
    turns = [row for row in rows(data / "bfcl/turns.jsonl.gz") if (row["category"], row["kind"]) == ("base", "answer")]

    def kind(row: dict[str, Any]) -> str:
        return " ".join(sorted(set(names_of(row["gold"]))))

    part = parted(map(kind, turns))
    for number in range(PARTS):
        learned = [
            document(row["id"], row["text"], row["gold"], available_tools=row["tools"])
            for row in turns
            if part[kind(row)] != number
        ]
        known = {call["name"] for row in turns if part[kind(row)] != number for call in row["gold"]}
        asked = [
            Asked(row["text"], tuple(names_of(row["gold"])), tuple(row["tools"]), str(row["number"]))
            for row in turns
            if part[kind(row)] == number and known.issuperset(names_of(row["gold"]))
        ]
        yield Fold(tuple(learned), tuple(asked))


def parted(kinds: Iterable[str]) -> dict[str, int]:
    """Divide kinds into parts, at random and the same each time."""
    different = sorted(set(kinds))
    random.Random(0).shuffle(different)
    return {kind: number % PARTS for number, kind in enumerate(different)}


def rows(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def names_of(calls: Iterable[dict[str, Any]]) -> list[str]:
    """The tools of some calls."""
    return [call["name"] for call in calls]


def changes(tools: Sequence[str]) -> list[str]:
    """The tools that change something."""
    return [tool for tool in tools if not tool.startswith(READS)]


def document(name: str, text: str, calls: Iterable[dict[str, Any]], **extra: Any) -> dict[str, Any]:
    """A request and the calls that solved it, as ATIF."""
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": text}]
    for number, call in enumerate(calls, 2):
        called = {"tool_call_id": f"call_{number}", "function_name": call["name"], "arguments": call["arguments"]}
        steps.append({"step_id": number, "source": "agent", "message": "", "tool_calls": [called]})
        if "answer" in call:
            result = {"source_call_id": f"call_{number}", "content": call["answer"]}
            steps[-1]["observation"] = {"results": [result]}
    return {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": name,
        "agent": {"name": "reference", "version": "1"},
        "steps": steps,
        "extra": {"result": "success", "score": 1.0, **extra},
    }


def first_request(run: dict[str, Any]) -> str:
    """What the person said first."""
    message = next((step.get("message") or "" for step in run["steps"] if step["source"] == "user"), "")
    return message if isinstance(message, str) else " ".join(part.get("text") or "" for part in message)


def tools_of(run: dict[str, Any]) -> list[str]:
    """The tools that a run called, in order."""
    return [call["function_name"] for step in run["steps"] for call in step.get("tool_calls") or []]


def succeeded(run: dict[str, Any]) -> bool:
    """Whether a run succeeded."""
    return bool((run.get("extra") or {}).get("result") == "success")


# --- made-up domains --------------------------------------------------------------------------------------------------

FORMS = ("parts", "shared", "repeats", "whole", "vague")
NAMINGS = ("telling", "numbered", "joined")
VERBS = {
    "cancel": ("cancel", "call off", "drop"),
    "renew": ("renew", "extend", "prolong"),
    "print": ("print", "put on paper", "run off"),
    "move": ("move", "shift", "relocate"),
    "weigh": ("weigh", "take the weight of", "put on the scales"),
    "book": ("book", "reserve", "make a reservation for"),
    "clean": ("clean", "wash", "scrub"),
    "send": ("send", "dispatch", "post"),
    "label": ("label", "put a tag on", "mark"),
    "refund": ("refund", "give the money back for", "reimburse"),
    "inspect": ("inspect", "look over", "examine"),
    "upgrade": ("upgrade", "raise to the better class", "improve"),
}
THINGS = (
    "crate ticket berth pallet invoice locker cabin scooter parcel permit kettle tent canoe stall rug clock badge lantern "
    "saddle piano"
).split()
PEOPLE = "Ann Ben Cleo Dora Emil Fay Gus Hana Ivo Jill Karl Lea Moe Nina Otto Pia".split()
NUMBERS = ("", "one", "two", "three", "four")
GREETINGS = ("", "Hello, ", "Good morning, ", "Hi there, could you help me? ")
REMARKS = ("", " Thanks a lot!", " I am in a hurry.", " Please be careful, last time it went wrong.")
LITTLE = ("I have a question about my {thing}.", "Something about the {thing}, please.", "It is about a {thing} again.")


@dataclass(frozen=True)
class Job:
    """What can be asked for: words for it, and the tool that does it."""

    verb: str
    thing: str
    tool: str


@dataclass
class Domain:
    """A domain as drawn from a seed: jobs, how requests are made, and what its runs have in common."""

    seed: int
    form: str = ""
    jobs: list[Job] = field(default_factory=list)
    opening: list[str] = field(default_factory=list)
    """Tools that every run calls first."""
    closing: list[str] = field(default_factory=list)
    wholes: list[tuple[Job, tuple[str, ...]]] = field(default_factory=list)
    """A goal and the whole sequence that reaches it."""

    def __post_init__(self) -> None:
        dice = random.Random(self.seed)
        self.form = self.form or FORMS[self.seed % len(FORMS)]
        naming, numbers = dice.choice(NAMINGS), iter(dice.sample(range(10, 99), 40))
        pairs = list(zip(dice.sample(sorted(VERBS), 8), dice.sample(THINGS, 8), strict=True))

        def tool(verb: str, thing: str) -> str:
            named = {"telling": f"{verb}_{thing}", "joined": f"{verb}{thing.capitalize()}"}
            return named.get(naming) or f"op_{next(numbers)}"

        self.jobs = [Job(verb, thing, tool(verb, thing)) for verb, thing in pairs]
        if self.form in ("shared", "whole", "vague"):
            self.opening = [tool("open", "case"), *([tool("confirm", "person")] if dice.random() < 0.5 else [])]
            self.closing = [tool("close", "case")] if dice.random() < 0.6 else []
        tools = [job.tool for job in self.jobs]
        for job in self.jobs[: 5 if self.form == "whole" else 4]:
            length = dice.randint(2, 5) if self.form == "whole" else dice.randint(1, 2)
            self.wholes.append((job, tuple(dice.choices(tools, k=length))))

    def fold(self) -> Fold:
        """Runs to learn from and requests to ask; combinations of jobs and wordings that are asked were not shown."""
        dice = random.Random(self.seed + 1_000_000)
        tools = tuple(sorted({*(job.tool for job in self.jobs), *self.opening, *self.closing}))
        sets = [list(each) for size in (1, 2, 3) for each in self._sets(size, dice)]
        held = [each for each in sets if len(each) > 1 and dice.random() < 0.4]
        shown = [each for each in sets if each not in held]
        shown = dice.sample(shown, min(len(shown), dice.choice((16, 30, 50))))
        learned = []
        for number in range(len(shown) if self.form not in ("whole", "vague") else dice.choice((16, 30, 50))):
            text, calls = self.request(dice, shown[number % len(shown)], wording=dice.randint(0, 1))
            asked = [{"name": name, "arguments": {"customer": f"C{dice.randint(1000, 9999)}"}} for name in calls]
            learned.append(document(f"made-{self.seed}-{number}", text, asked, available_tools=list(tools)))
        asked_for = []
        for _ in range(20):
            text, calls = self.request(dice, dice.choice(held), wording=dice.randint(0, 2))
            asked_for.append(Asked(text, tuple(calls), tools, str(self.seed)))
        return Fold(tuple(learned), tuple(asked_for))

    def _sets(self, size: int, dice: random.Random) -> list[list[Job]]:
        found = [sorted(dice.sample(self.jobs, size), key=self.jobs.index) for _ in range(8 if size == 1 else 30)]
        return list({tuple(job.tool for job in each): each for each in found}.values())

    def request(self, dice: random.Random, jobs: list[Job], *, wording: int) -> tuple[str, list[str]]:
        """A request in words, and the calls that it takes."""
        start, end = dice.choice(GREETINGS), dice.choice(REMARKS)
        if self.form in ("whole", "vague"):
            place = min(int(dice.expovariate(0.7)), len(self.wholes) - 1)
            job, calls = self.wholes[place] if self.form == "vague" else dice.choice(self.wholes)
            said = f"{VERBS[job.verb][wording]} my {job.thing}"
            if self.form == "vague":
                said = dice.choice(LITTLE).format(thing=job.thing if dice.random() < 0.7 else "matter").rstrip(".")
            return f"{start}{said}.{end}", [*self.opening, *calls, *self.closing]
        phrases, calls_made = [], list(self.opening)
        for job in dice.sample(jobs, len(jobs)):
            times, phrase = 1, f"{VERBS[job.verb][wording]} the {job.thing}"
            if self.form == "repeats" and dice.random() < 0.6:
                times, whose = self._whose(dice)
                phrase += whose
            phrases.append(phrase)
            calls_made += [job.tool] * times
        text = dice.choice((", and ", "; then ", ". Also, ")).join(phrases)
        return f"{start}please {text}.{end}", [*calls_made, *self.closing]

    @staticmethod
    def _whose(dice: random.Random) -> tuple[int, str]:
        times = dice.randint(2, 4)
        people = dice.sample(PEOPLE, times)
        listed = ", ".join(people[:-1]) + " and " + people[-1]
        ids = [f"#K{dice.randint(1000, 9999)}" for _ in range(times)]
        ways = (f" for {listed}", f" for {NUMBERS[times]} customers", f" with the numbers {', '.join(ids)}")
        return times, dice.choice(ways)


def made(seeds: Iterable[int]) -> dict[str, list[Fold]]:
    """The folds of made-up domains, by their form."""
    found: dict[str, list[Fold]] = {}
    for seed in seeds:
        domain = Domain(seed)
        found.setdefault(f"made, {domain.form}", []).append(domain.fold())
    return found


# --- who answers ------------------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """Words without digits: numbers in requests are mostly ids."""
    return re.findall(r"[a-z]+", text.lower())


class Attempts:
    """Past successes and the ways to choose among them that the baselines use."""

    def __init__(self, documents: Sequence[dict[str, Any]]) -> None:
        good = [each for each in documents if succeeded(each)]
        self.calls = [tools_of(each) for each in good]
        self.texts = [Counter(words(first_request(each)) or ["_"]) for each in good]
        self.average = sum(text.total() for text in self.texts) / len(self.texts)
        self.frequency = Counter(word for text in self.texts for word in text)

    def bm25(self, asked: Asked, *, usable: bool = False) -> list[list[str]]:
        """The calls of the five best attempts by BM25 (Lucene's form, k1 1.5, b 0.75)."""
        total = len(self.texts)
        rarity = {
            word: math.log(1 + (total - self.frequency[word] + 0.5) / (self.frequency[word] + 0.5))
            for word in words(asked.text)
        }
        scores = []
        for text in self.texts:
            length = 1.5 * (0.25 + 0.75 * text.total() / self.average)
            scores.append(sum(rarity[word] * text[word] / (text[word] + length) for word in words(asked.text)))
        order = sorted(range(total), key=lambda at: -scores[at])
        if usable and asked.tools is not None:
            order = [at for at in order if set(self.calls[at]) <= set(asked.tools)]
        return [self.calls[at] for at in order[:K]]

    def nearest(self, asked: Asked) -> list[list[str]]:
        """The calls of the attempts whose requests share the largest part of their words."""
        mine = set(words(asked.text))
        shared = [len(mine & set(text)) / (len(mine | set(text)) or 1) for text in self.texts]
        return [self.calls[at] for at in sorted(range(len(shared)), key=lambda at: -shared[at])[:K]]

    def commonest(self, kept: Callable[[Sequence[str]], list[str]]) -> list[list[str]]:
        """The sequences that occur most often."""
        return [list(calls) for calls, _ in Counter(tuple(kept(calls)) for calls in self.calls).most_common(K)]


def answers(fold: Fold) -> dict[str, list[list[list[str]]]]:
    """Who → at most five sequences of tools for each request, best first."""
    attempts, memory = Attempts(fold.documents), Adapter()
    memory.learn(list(fold.documents))
    found: dict[str, list[list[list[str]]]] = defaultdict(list)
    for asked in fold.asked:
        tools = None if asked.tools is None else list(asked.tools)
        found["tacit"].append([item["steps"] for item in memory.recall(asked.text, K, tools)])
        found["bm25"].append(attempts.bm25(asked))
        found["bm25, usable"].append(attempts.bm25(asked, usable=True))
        found["nearest"].append(attempts.nearest(asked))
        found["commonest"].append(attempts.commonest(fold.kept))
    return found


def order_f1(guess: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of the longest common subsequence; two empty sequences agree fully."""
    if not guess and not gold:
        return 1.0
    row = [0] * (len(gold) + 1)
    for left in guess:
        previous = 0
        for at, right in enumerate(gold, 1):
            kept = row[at]
            row[at] = previous + 1 if left == right else max(row[at], row[at - 1])
            previous = kept
    return 2 * row[-1] / (len(guess) + len(gold))


def measured(folds: Iterable[Fold]) -> dict[str, Any]:
    """The figures of one set: for each system the first answer and the best of five, and Tacit's lead over the best other."""
    first: dict[str, list[float]] = defaultdict(list)
    best: dict[str, list[float]] = defaultdict(list)
    groups: list[str] = []
    for fold in folds:
        groups += [asked.group for asked in fold.asked]
        for who, given in answers(fold).items():
            for asked, items in zip(fold.asked, given, strict=True):
                gold = fold.kept(asked.calls)
                scores = [order_f1(fold.kept(item), gold) for item in items[:K]] or [order_f1((), gold)]
                first[who].append(scores[0])
                best[who].append(max(scores))
    others = [who for who in first if who != "tacit"]
    rival = max(others, key=lambda who: sum(first[who]))
    lead = [mine - theirs for mine, theirs in zip(first["tacit"], first[rival], strict=True)]
    return {
        "asked": len(groups),
        "groups": len(set(groups)),
        "first": {who: interval(values, groups) for who, values in first.items()},
        "best of five": {who: interval(values, groups) for who, values in best.items()},
        "best other": rival,
        "lead": interval(lead, groups),
    }


def interval(values: Sequence[float], groups: Sequence[str]) -> list[float]:
    """Mean and bootstrap 95 % interval that draws whole groups."""
    gathered: dict[str, list[float]] = defaultdict(list)
    for value, group in zip(values, groups, strict=True):
        gathered[group].append(value)
    sums = [(sum(each), len(each)) for each in gathered.values()]
    dice = random.Random(0)
    means = []
    for _ in range(ROUNDS):
        drawn = dice.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    ends = means[int(0.025 * ROUNDS)], means[int(0.975 * ROUNDS) - 1]
    return [round(number, 3) for number in (sum(values) / len(values), *ends)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=("retail", "bfcl", "made"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    public = {"retail": retail, "retail runs": retail_runs, "bfcl": bfcl}
    sets: dict[str, Iterable[Fold]] = {name: public[name](options.data) for name in options.only if name in public}
    if "made" in options.only:
        sets |= made(range(options.seed, options.seed + options.seeds))
    figures = {}
    for name, folds in sets.items():
        figures[name] = measured(folds)
        print(name, json.dumps(figures[name]), flush=True)
    if options.out:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        result = {
            "command": f"python bench/domains.py --data DATA --seed {options.seed} --seeds {options.seeds}",
            "figures": figures,
        }
        options.out.write_text(json.dumps({"commit": commit.stdout.strip(), **result}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
