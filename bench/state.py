"""Recall by state alone: what tools answered makes a skill relevant, though words say nothing; without a fit nothing is given.

    PYTHONPATH=src python bench/state.py --data DATA [--seeds 20] [--seed 1000] [--out bench/results/state.json]

Every question is "Please go on." **telecom**: learned from the recorded episodes of one half of the tasks; asked with what was read
before the first change of each successful episode of the other half. Right are the tools of changes made later in that episode.
Nothing fits where each reading shows what it mostly shows at the end. **pages**: a made-up
browser. A run looks at pages, on some of which something is in the way (a banner, a form, a dialog) that one tool removes; asked
with pages whose titles, addresses and other contents were never shown. Nothing fits on pages where nothing is in the way.

Reported: the share of needed skills that are given, the share of given ones that are needed, and the share of states without a
fit in which nothing is given. Baseline: entries of (state before, action), the nearest by the share of common facts times the
overlap of lengths, from a likeness of 0.3 on (the lower end of what is usual for that method; not fitted here).
Pages were drawn from seeds below 1000 while building; figures come from seeds from 1000 on.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapter import Adapter
from domains import document, rows, succeeded

from tacit.text.facts import facts

TEXT = "Please go on."
K = 8
NEAR = 0.3
Readings = dict[str, str]


@dataclass(frozen=True)
class Asked:
    """What was read last from each tool, and the tools that are needed now."""

    readings: Readings
    needed: frozenset[str]


@dataclass(frozen=True)
class Place:
    """What is learned from, and what is asked there; `entries` are (state, tools used next)."""

    documents: list[dict[str, Any]]
    asked: list[Asked]
    entries: list[tuple[Readings, frozenset[str]]]


def calls_of(run: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Tool, arguments and answer of each call."""
    for step in run["steps"]:
        results = (step.get("observation") or {}).get("results") or [{}]
        for call, result in zip(step.get("tool_calls") or (), results, strict=False):
            yield call["function_name"], call["arguments"], str(result.get("content") or "")


# --- telecom ----------------------------------------------------------------------------------------------------------


def telecom(data: Path) -> Place:
    """Half of the tasks to learn from, the other half to ask."""
    episodes = rows(data / "telecom/episodes.jsonl")
    reading = {
        tool["name"] for tool in json.loads((data / "telecom/tools.json").read_text("utf-8")) if tool["read_only"]
    }
    groups = sorted({run["extra"]["group"] for run in episodes})
    learned = [run for run in episodes if groups.index(run["extra"]["group"]) % 2 == 0]
    known = {tool for run in learned if succeeded(run) for tool, _, _ in calls_of(run)} - reading
    states = [(_before_changes(run, reading), run) for run in episodes if succeeded(run)]
    changes = {id(run): frozenset(tool for tool, _, _ in calls_of(run)) - reading for _, run in states}
    asked = [
        Asked(state, changes[id(run)] & known)
        for state, run in states
        if run not in learned and changes[id(run)] & known
    ]
    usual = Counter((tool, answer) for _, run in states for tool, answer in _after_changes(run, reading).items())
    well = {
        tool: max((count, answer) for (name, answer), count in usual.items() if name == tool)[1] for tool, _ in usual
    }
    dice = random.Random(0)
    for _ in range(40):
        asked.append(
            Asked({tool: well[tool] for tool in dice.sample(sorted(well), dice.randint(1, len(well)))}, frozenset())
        )
    return Place(learned, asked, [(state, changes[id(run)]) for state, run in states if run in learned])


def _before_changes(run: Mapping[str, Any], reading: set[str]) -> Readings:
    found: Readings = {}
    for tool, _, answer in calls_of(run):
        if tool not in reading:
            break
        found[tool] = answer
    return found


def _after_changes(run: Mapping[str, Any], reading: set[str]) -> Readings:
    """What was read when all was done."""
    calls = list(calls_of(run))
    last = max((at for at, (tool, _, _) in enumerate(calls) if tool not in reading), default=len(calls))
    return {tool: answer for tool, _, answer in calls[last + 1 :]}


# --- pages ------------------------------------------------------------------------------------------------------------

IN_THE_WAY = {
    "cookie banner": "accept_cookies",
    "login form": "log_in",
    "age question": "confirm_age",
    "newsletter dialog": "close_dialog",
    "expired session notice": "renew_session",
    "language chooser": "choose_language",
}
ORDINARY = (
    "search field, menu, footer, price list, photo, map, review list, contact form, opening hours, basket, size table, video, "
    "news list, rating stars, delivery note, gift option, coupon field, help link, chat button, breadcrumb"
).split(", ")
NOUNS = (
    "kettle lamp tent bicycle novel carpet guitar blender jacket mirror puzzle camera drill sofa teapot helmet".split()
)
KINDS = "offers overview details accessories manual returns wishlist comparison".split()


class Browser:
    """A made-up site: its tools, and pages that runs and questions see."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        numbers = self.dice.sample(range(10, 99), 12)
        plain = self.dice.random() < 0.5
        ways = self.dice.sample(sorted(IN_THE_WAY), self.dice.randint(3, 5))
        self.tools = {way: f"op_{numbers.pop()}" if plain else IN_THE_WAY[way] for way in ways}
        self.look, self.forward = ("get_page", f"op_{numbers.pop()}" if plain else "open_next_page")
        self.titles = [f"{noun} {kind}" for noun in NOUNS for kind in KINDS]
        self.dice.shuffle(self.titles)
        self.contents = self.dice.sample(ORDINARY, len(ORDINARY))

    def page(self, *, shown: bool, way: str = "") -> str:
        """A page as JSON: those that runs show, and those that questions ask about, have nothing in common but what is in the way."""
        half = len(self.titles) // 2
        title = self.dice.choice(self.titles[:half] if shown else self.titles[half:])
        contents = self.contents[: len(ORDINARY) // 2] if shown else self.contents[len(ORDINARY) // 2 :]
        shows = self.dice.sample(contents, self.dice.randint(2, 5)) + ([way] if way else [])
        self.dice.shuffle(shows)
        return json.dumps({"title": title, "address": f"/{title.replace(' ', '/')}", "shows": shows})

    def place(self) -> Place:
        """Runs over three to six pages, and questions on pages that no run saw."""
        documents, entries = [], []
        for number in range(self.dice.choice((16, 30, 50))):
            calls: list[dict[str, Any]] = []
            for _ in range(self.dice.randint(3, 6)):
                way = self.dice.choice([*self.tools, "", ""])
                seen = self.page(shown=True, way=way)
                calls.append({"name": self.look, "arguments": {}, "answer": seen})
                if way:
                    calls.append({"name": self.tools[way], "arguments": {}, "answer": "done"})
                    entries.append(({self.look: seen}, frozenset({self.tools[way]})))
                calls.append({"name": self.forward, "arguments": {}, "answer": "opened"})
            documents.append(
                document(f"pages-{number}", "Read through the pages of the shop and order what is on the list.", calls)
            )
        asked = [
            Asked({self.look: self.page(shown=False, way=way)}, frozenset({self.tools[way]} if way else ()))
            for way in (*self.tools, "", "", "")
            for _ in range(4)
        ]
        return Place(documents, asked, entries)


# --- measuring --------------------------------------------------------------------------------------------------------


def given(place: Place) -> list[set[str]]:
    """The tools of the skills that recall gives for each question."""
    memory = Adapter()
    memory.learn(place.documents)
    found = []
    for asked in place.asked:
        selection = memory.memory.recall(
            TEXT, state={"readings": asked.readings}, k=K, budget_tokens=100_000, keep=False
        )
        found.append({step.tool for item in selection.items for step in item.steps if step.tool} - set(asked.readings))
    return found


def nearest(place: Place) -> list[set[str]]:
    """The tools that were used in the nearest state."""
    entries = [(_features(state), tools) for state, tools in place.entries]
    found = []
    for asked in place.asked:
        mine = _features(asked.readings)
        likeness, tools = max(((_likeness(mine, state), sorted(tools)) for state, tools in entries), default=(0.0, []))
        found.append(set(tools) if likeness >= NEAR else set())
    return found


def _features(state: Readings) -> set[tuple[str, str, str]]:
    return {
        (tool, key, value) for tool, text in state.items() for key, values in facts(text).items() for value in values
    }


def _likeness(one: set[Any], two: set[Any]) -> float:
    both = len(one | two)
    return len(one & two) / both * (1 - abs(len(one) - len(two)) / max(len(one), len(two))) if both else 0.0


def measured(places: Sequence[Place]) -> dict[str, Any]:
    """The figures of some places together, for Tacit and the baseline."""
    result: dict[str, Any] = {"places": len(places)}
    for who, answer in (("tacit", given), ("nearest state", nearest)):
        needed: list[float] = []
        right = total = 0
        silent: list[float] = []
        for place in places:
            for asked, tools in zip(place.asked, answer(place), strict=True):
                if asked.needed:
                    needed += [float(tool in tools) for tool in asked.needed]
                    right, total = right + len(tools & asked.needed), total + len(tools)
                else:
                    silent.append(float(not tools))
        result[who] = {
            "needed": len(needed),
            "recall": round(sum(needed) / len(needed), 3),
            "precision": round(right / max(1, total), 3),
            "without fit": len(silent),
            "silent": round(sum(silent) / len(silent), 3),
        }
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    figures = {"pages": measured([Browser(seed).place() for seed in range(options.seed, options.seed + options.seeds)])}
    if options.data:
        figures["telecom"] = measured([telecom(options.data)])
    print(json.dumps(figures, indent=1))
    if options.out:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        result = {
            "command": f"python bench/state.py --data DATA --seed {options.seed} --seeds {options.seeds}",
            "figures": figures,
        }
        options.out.write_text(json.dumps({"commit": commit.stdout.strip(), **result}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
