"""How well tasks are told apart in a long session, against simple ways of doing it.

Sessions are made, with a fixed seed, by putting tasks of real data one after the other (support dialogues with all that
the customer says, complaints, requests with tools, household errands, long work orders, and short coding goals written
for this) with corrections, answers, "continue", thanks and follow-ups in between (`bench/_interjections.py`). Every
message but a session's first is a question: does it begin a task? Tasks and interjections are split in two; what is
reported as `held_out` was not looked at when the weights were set. Where one scenario has several requests it is not
clear what a task is, so those are reported apart, read both ways.

    python bench/segmentation.py [--data ../shared/data] [--out bench/results/segmentation.json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import _interjections as said

from tacit.ingest.segmentation import Segmenter
from tacit.text.words import STOP_WORDS, term_set

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261115
SESSIONS = 300
RESAMPLES = 1000
AGENT_DONE = (
    "Done. I made the change and checked it.",
    "I have finished the first part.",
    "That is done. Let me know if you need anything else.",
    "Here is what I found so far.",
    "",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person says, and what the agent did before it."""

    text: str
    notes: tuple[str, ...] = ()
    begins: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """One task with its turns and the work after the last of them."""

    group: str
    style: str
    turns: tuple[Turn, ...]
    work: tuple[str, ...] = ()


# --- tasks of the data ----------------------------------------------------------------------------------------------


def lines(path: Path) -> Iterator[Any]:
    content = path.read_bytes()
    yield from map(json.loads, (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines())


def dialogue(document: Any) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """The person's turns of an ATIF document, each with what the agent said and called before it, and the rest."""
    turns: list[Turn] = []
    notes: list[str] = []
    for step in document["steps"]:
        text = (step.get("message") or "").replace("###STOP###", "").strip()  # the simulator's mark, no person's word
        if step["source"] == "user" and text:
            turns.append(Turn(text, tuple(notes)))
            notes = []
        elif step["source"] == "agent":
            calls = (
                f"{call['function_name']} {json.dumps(call['arguments'])}" for call in step.get("tool_calls") or ()
            )
            notes.extend(filter(None, (*calls, text)))
    return tuple(turns), tuple(notes)


def tasks(data: Path) -> dict[str, list[tuple[int, Piece]]]:
    """Group of data → its tasks, each with the number by which it is split."""
    found: dict[str, list[tuple[int, Piece]]] = defaultdict(list)
    for document in lines(data / "retail/trajectories.jsonl.gz"):
        turns, work = dialogue(document)
        if turns:
            found["retail"].append((document["extra"]["task_id"], Piece("retail", "service", turns, work)))
    complaints: dict[str, int] = {}
    for document in lines(data / "telecom/episodes.jsonl"):
        turns, work = dialogue(document)
        number = complaints.setdefault(turns[0].text.splitlines()[0], len(complaints))
        found["telecom"].append((number, Piece("telecom", "service", turns, work)))
    for number, document in enumerate(lines(data / "proced-mem/trajectories.jsonl.gz")):
        turns, work = dialogue(document)
        found["household"].append((number, Piece("household", "service", turns, work)))
    for row in lines(data / "bfcl/turns.jsonl.gz"):
        if row["turn"] == 0 and row["category"] == "base" and row["text"]:
            calls = tuple(f"{call['name']} {json.dumps(call['arguments'])}" for call in row["gold"])
            found["requests"].append((row["number"] // 2, Piece("requests", "service", (Turn(row["text"]),), calls)))
    for number, row in enumerate(lines(data / "skill-retrieval/queries.jsonl")):
        found["orders"].append((number, Piece("orders", "coding", (Turn(row["text"]),))))
    for half, goals in enumerate(said.halves(said.CODING_GOALS)):
        found["coding"] += [(half, Piece("coding", "coding", (Turn(goal),))) for goal in goals]
    return found


# --- sessions -------------------------------------------------------------------------------------------------------


def sessions(found: dict[str, list[tuple[int, Piece]]], half: int) -> list[list[Turn]]:
    """Sessions of one half; one in two stays within one group of data, the others mix."""
    rng = random.Random(SEED + half)
    pools = {group: [piece for number, piece in pieces if number % 2 == half] for group, pieces in found.items()}
    made = []
    for number in range(SESSIONS):
        groups = [sorted(pools)[number // 2 % len(pools)]] if number % 2 else sorted(pools)
        chosen: list[Piece] = []
        for _ in range(rng.randint(3, 7)):
            piece = rng.choice(pools[rng.choice(groups)])
            if not chosen or piece.turns[0].text.split("\n")[0] not in {p.turns[0].text.split("\n")[0] for p in chosen}:
                chosen.append(piece)
        made.append(
            timed([turn for at, piece in enumerate(chosen) for turn in spoken(piece, rng, half=half, at=at)], rng)
        )
    return made


def spoken(piece: Piece, rng: random.Random, *, half: int, at: int) -> Iterator[Turn]:
    """The turns of one task with interjections strewn in."""
    first, *rest = piece.turns
    lead = rng.choice(said.halves(said.LEADS)[half]) if at and rng.random() < 0.4 else ""
    text = f"{lead} {first.text}" if lead else first.text
    yield replace(first, text=text, notes=(rng.choice(AGENT_DONE),), begins=True)
    yield from rest
    work = list(piece.work)
    for kind in rng.sample(KINDS, k=rng.randint(0, 4)):
        cut = rng.randint(0, len(work))
        done, work = work[:cut], work[cut:]
        yield interjection(kind, piece, rng, half=half, done=done)


KINDS = (
    said.CORRECTIONS,
    said.CORRECTIONS,
    said.CONTINUES,
    said.THANKS,
    said.ANSWERS,
    said.FOLLOW_UPS,
    said.FOLLOW_UPS,
)


def interjection(kind: dict[str, str], piece: Piece, rng: random.Random, *, half: int, done: list[str]) -> Turn:
    choice = [line for style in ("any", piece.style) if style in kind for line in said.halves(kind[style])[half]]
    line = rng.choice(choice).replace("{thing}", thing(piece, rng))
    question, mark, answer = line.partition(" | ")
    return Turn(answer, (*done, question)) if mark else Turn(line, (*done, rng.choice(AGENT_DONE)))


def thing(piece: Piece, rng: random.Random) -> str:
    """Something that the task speaks of."""
    words = re.findall(r"[A-Za-z][A-Za-z-]{3,}", " ".join(turn.text for turn in piece.turns)[:2000])
    return rng.choice([word for word in words if word.lower() not in STOP_WORDS] or ["result"])


def timed(turns: list[Turn], rng: random.Random) -> list[Turn]:
    """Times for the turns. Nothing in the data tells them: two minutes inside a task and fifteen before one, log-normal."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    dated = []
    for turn in turns:
        at += timedelta(minutes=rng.lognormvariate(2.7 if turn.begins else 0.7, 1.0))
        dated.append(replace(turn, at=at))
    return dated


# --- ways of telling tasks apart ------------------------------------------------------------------------------------

Way = Callable[[list[Turn]], list[bool]]


def segmenter(turns: list[Turn], *, clock: bool = False) -> list[bool]:
    found, answers = Segmenter(), []
    for turn in turns:
        for note in turn.notes:
            found.note(note)
        answers.append(found.is_new_task(turn.text, turn.at if clock else None))
    return answers


def overlap(threshold: float) -> Way:
    """New where too few of a message's words were said since the task began."""

    def way(turns: list[Turn]) -> list[bool]:
        known: set[str] = set()
        answers = []
        for turn in turns:
            for note in turn.notes:
                known |= term_set(note)
            words = term_set(turn.text)
            new = not known or (bool(words) and len(words & known) / len(words) < threshold)
            known = set(words) if new else known | words
            answers.append(new)
        return answers

    return way


def gap(minutes: float) -> Way:
    def way(turns: list[Turn]) -> list[bool]:
        times = [turn.at for turn in turns if turn.at]
        return [True, *((b - a).total_seconds() > 60 * minutes for a, b in pairwise(times))]

    return way


# --- figures --------------------------------------------------------------------------------------------------------


def counts(turns: list[Turn], answers: list[bool]) -> tuple[int, int, int]:
    """True, false and missed boundaries, the first message left out."""
    pairs = [(turn.begins, answer) for turn, answer in zip(turns, answers, strict=True)][1:]
    return (sum(t and a for t, a in pairs), sum(a and not t for t, a in pairs), sum(t and not a for t, a in pairs))


def f1(parts: Iterable[tuple[int, int, int]]) -> float:
    true, false, missed = (sum(column) for column in zip(*parts, strict=True))
    return 2 * true / max(2 * true + false + missed, 1)


def figures(way: Way, made: list[list[Turn]]) -> dict[str, Any]:
    parts = [counts(turns, way(turns)) for turns in made]
    true, false, missed = (sum(column) for column in zip(*parts, strict=True))
    low, high = interval([f1(sample) for sample in resampled(parts)])
    return {
        "precision": round(true / max(true + false, 1), 3),
        "recall": round(true / max(true + missed, 1), 3),
        "f1": round(f1(parts), 3),
        "f1_interval": [low, high],
    }


def resampled(parts: list[Any]) -> Iterator[list[Any]]:
    rng = random.Random(SEED)
    for _ in range(RESAMPLES):
        yield rng.choices(parts, k=len(parts))


def interval(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return round(ordered[int(0.025 * len(ordered))], 3), round(ordered[int(0.975 * len(ordered)) - 1], 3)


def difference(left: Way, right: Way, made: list[list[Turn]]) -> dict[str, Any]:
    """How much better the left way is, session by session."""
    pairs = [(counts(turns, left(turns)), counts(turns, right(turns))) for turns in made]
    gains = [f1(a for a, _ in sample) - f1(b for _, b in sample) for sample in resampled(pairs)]
    return {"f1": round(f1(a for a, _ in pairs) - f1(b for _, b in pairs), 3), "interval": list(interval(gains))}


def best(ways: dict[float, Way], made: list[list[Turn]]) -> float:
    return max(ways, key=lambda value: f1(counts(turns, ways[value](turns)) for turns in made))


def several_requests(data: Path, half: int) -> dict[str, Any]:
    """Scenarios with several requests: one task each, or one task for each request that is no answer to a question."""
    scenarios: dict[int, list[Any]] = defaultdict(list)
    for row in lines(data / "bfcl/turns.jsonl.gz"):
        if row["category"] == "miss_param" and row["number"] // 2 % 2 == half:
            scenarios[row["number"]].append(row)
    rng = random.Random(SEED)
    order = sorted(scenarios)
    rng.shuffle(order)
    read: dict[str, list[list[Turn]]] = {"a scenario is a task": [], "a request is a task": []}
    for at in range(0, len(order), 4):
        for reading, made in read.items():
            made.append(
                [t for number in order[at : at + 4] for t in scenario(scenarios[number], whole="scen" in reading)]
            )
    return {
        reading: {"messages": sum(len(turns) - 1 for turns in made), **figures(segmenter, made)}
        for reading, made in read.items()
    }


def scenario(rows: list[Any], *, whole: bool) -> Iterator[Turn]:
    before: list[str] = []
    asked = False
    for row in sorted(rows, key=lambda row: int(row["turn"])):
        if row["text"]:
            yield Turn(row["text"], tuple(before), begins=row["turn"] == 0 if whole else not asked)
        asked = row["kind"] == "missing_parameter"
        calls = [f"{call['name']} {json.dumps(call['arguments'])}" for call in row["gold"]]
        before = [*calls, "Could you give me the missing detail?" if asked else "Done."]


def by_group(found: dict[str, list[tuple[int, Piece]]], half: int) -> dict[str, Any]:
    """Sessions of one group each; a half with fewer than two different tasks makes none."""
    made = {group: sessions({group: found[group]}, half)[: SESSIONS // 4] for group in sorted(found)}
    return {
        group: figures(segmenter, some) for group, some in made.items() if any(t.begins for s in some for t in s[1:])
    }


def measure(data: Path) -> dict[str, Any]:
    found = tasks(data)
    development, held_out = sessions(found, 0), sessions(found, 1)
    overlaps = {step / 20: overlap(step / 20) for step in range(1, 20)}
    gaps = {minutes: gap(minutes) for minutes in (2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 30.0)}
    lexical, minutes = best(overlaps, development), best(gaps, development)
    ways: dict[str, Way] = {
        "tacit": segmenter,
        "tacit, with times": lambda turns: segmenter(turns, clock=True),
        "every message": lambda turns: [True] * len(turns),
        "never": lambda turns: [False] * len(turns),
        f"overlap below {lexical}": overlaps[lexical],
        f"gap above {minutes} minutes (made-up times)": gaps[minutes],
    }
    messages = sum(len(turns) - 1 for turns in held_out)
    return {
        "seed": SEED,
        "held_out": {
            "sessions": len(held_out), "messages": messages, "boundaries": sum(t.begins for s in held_out for t in s[1:]),
            **{name: figures(way, held_out) for name, way in ways.items()},
            "tacit less overlap": difference(segmenter, overlaps[lexical], held_out),
            "tacit, one group at a time": by_group(found, 1),
        },
        "development": {"sessions": len(development), "tacit": figures(segmenter, development)},
        "several_requests_in_a_scenario": several_requests(data, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/segmentation.json")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.stderr.write(f"{arguments.data} is not there: nothing to measure on.\n")
        return
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    result = {"commit": commit or "unknown", "python": platform.python_version(), **measure(arguments.data)}
    text = json.dumps(result, indent=1) + "\n"
    arguments.out.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
