"""Made-up worlds with faults: does what was learned from clean runs solve every combination of faults, whatever things are called?

    PYTHONPATH=src python bench/worlds.py [--worlds 60] [--seed 1000] [--out bench/results/worlds.json]

A world has two to five parts. Each part has a tool that looks at it and a tool that repairs it; some worlds also have a tool that
shows the overall state, and tools whose answers have nothing to do with the task. Drawn at random: the names of the parts and
tools (telling, plain numbers, or sharing misleading words), the form of the answers (sentences, fields, JSON, a measured number
with a threshold), the order of the runs (all parts first; look and repair in turn, always in one order or in any; with a second
look after each repair or without), and how many clean runs there are (12 to 60). The agent then meets all combinations of faults
(32 drawn ones, if there are more), with fresh numbers.

Reported: the share of combinations solved (every part well, nothing repaired that was well), the share in which the agent said
that the goal is reached and it was not, and the share of unrelated tasks in the same place at which it did nothing.
Baselines: every repair always; the repairs of the commonest run; the nearest run by what was seen first.
Settings were chosen on seeds below 1000; figures come from seeds from 1000 on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tacit
from tacit.features.evaluate.agent import Agent
from tacit.features.evaluate.tool import Tool

ORDERS = ("looks first", "looks first, any order", "in turn", "in turn, any order")
NAMINGS = ("telling", "numbered", "misleading")
FORMS = ("sentence", "fields", "json", "number")
STATUS = ("none", "at the end", "before and after")
MOST_COMBINATIONS = 32
PARTS = (
    "pump valve lamp heater filter fan sensor battery antenna gate belt mixer chiller compressor nozzle relay boiler shutter "
    "winch scanner printer router charger turbine"
).split()
GOOD = ("running", "open", "bright", "steady", "clean", "linked", "charged", "aligned")
BAD = ("stopped", "stuck", "dim", "erratic", "clogged", "lost", "drained", "crooked")
LOOKS = ("check", "inspect", "read", "get", "show")
REPAIRS = ("restart", "replace", "adjust", "flush", "reset", "tighten", "recalibrate")
PLACES = ("greenhouse", "aquarium", "workshop", "observatory", "brewery", "harbour crane", "cold store", "print shop")
COMPLAINTS = (
    "Something in the {place} is not right. Please find out what and put it in order.",
    "The {place} gives trouble again, have a look and fix what is broken.",
    "Bring the {place} back into working order, please.",
)
UNRELATED = (
    "Write a short poem about autumn.",
    "Translate the attached letter into Portuguese.",
    "What were last year's sales of umbrellas by month?",
    "Book a table for four on Friday evening.",
)


@dataclass(frozen=True)
class Part:
    """One part that can be faulty."""

    name: str
    look: str
    repair: str
    form: str
    good: str
    bad: str
    arguments: dict[str, Any] = field(default_factory=dict)
    middle: float = 0.0
    low_is_bad: bool = True


@dataclass(frozen=True)
class World:
    """A world as drawn from a seed."""

    seed: int
    place: str
    parts: tuple[Part, ...]
    order: str
    naming: str
    confirm: bool
    status: str
    status_tool: str
    noise: tuple[str, ...]
    runs: int

    @property
    def tools(self) -> list[Tool]:
        """All tools with their documentation: none but whether they only look."""
        reading = [part.look for part in self.parts] + list(self.noise)
        reading += [self.status_tool] if self.status != "none" else []
        writing = [Tool(name=part.repair, required=tuple(part.arguments)) for part in self.parts]
        return [*(Tool(name=name, read_only=True) for name in sorted(reading)), *writing]


def draw(seed: int) -> World:
    """Return the world of a seed."""
    dice = random.Random(seed)
    count = dice.choice((2, 3, 3, 4, 5))
    names, naming = dice.sample(PARTS, count), dice.choice(NAMINGS)
    numbers = iter(dice.sample(range(10, 99), 20))
    others = names[1:] + names[:1]
    parts = []
    for name, other in zip(names, others, strict=True):
        good, bad = dice.choice(list(zip(GOOD, BAD, strict=True)))
        parts.append(
            Part(
                name=name,
                look=f"op_{next(numbers)}" if naming == "numbered" else f"{dice.choice(LOOKS)}_{name}",
                repair=_repair_name(naming, name, other, dice, numbers),
                form=dice.choice(FORMS),
                good=good,
                bad=bad,
                arguments=dice.choice(({}, {}, {"mode": "full"}, {"level": 7})),
                middle=round(dice.uniform(5, 80), 1),
                low_is_bad=dice.random() < 0.5,
            )
        )
    status = dice.choice(STATUS)
    noise = dice.sample(("get_weather", "show_calendar", "read_clock", "get_visitors"), dice.choice((0, 1, 2)))
    return World(
        seed=seed,
        place=dice.choice(PLACES),
        parts=tuple(parts),
        order=dice.choice(ORDERS),
        naming=naming,
        confirm=dice.random() < 0.5,
        status=status,
        status_tool=f"op_{next(numbers)}" if naming == "numbered" else "check_overview",
        noise=tuple(f"op_{next(numbers)}" if naming == "numbered" else name for name in noise),
        runs=dice.choice((12, 24, 60)),
    )


def _repair_name(naming: str, name: str, other: str, dice: random.Random, numbers: Any) -> str:
    if naming == "numbered":
        return f"op_{next(numbers)}"
    # misleading: the repair of one part is called after another part
    return f"{dice.choice(REPAIRS)}_{name if naming == 'telling' else other}"


class Scene:
    """A world in one state: what an agent meets."""

    def __init__(self, world: World, broken: frozenset[str], dice: random.Random, *, task: str = "") -> None:
        self.world, self._dice = world, dice
        self.broken = set(broken)
        self.needless = 0
        self.task = task or dice.choice(COMPLAINTS).format(place=world.place)
        self.tools = world.tools
        self.gave_up = ""
        self.calls: list[tuple[str, dict[str, Any], str]] = []

    def call(self, name: str, **arguments: Any) -> tuple[str, bool]:
        """Answer a call: text, and whether it failed."""
        text, failed = self._answer(name, arguments)
        self.calls.append((name, arguments, text))
        return text, failed

    def abstain(self, reason: str) -> None:
        """The agent gives up."""
        self.gave_up = reason

    def _answer(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        for part in self.world.parts:
            if name == part.look:
                return self._sight(part), False
            if name == part.repair:
                if arguments != part.arguments:
                    return "Error: wrong arguments", True
                self.needless += part.name not in self.broken
                self.broken.discard(part.name)
                return "Done.", False
        if name == self.world.status_tool and self.world.status != "none":
            return f"Overall: {'faults present' if self.broken else 'all in order'}", False
        if name in self.world.noise:
            return f"Reading {self._dice.randint(1, 9999)}, {self._dice.choice(('calm', 'busy', 'mild'))}", False
        return f"Error: no tool {name}", True

    def _sight(self, part: Part) -> str:
        bad = part.name in self.broken
        word = part.bad if bad else part.good
        if part.form == "number":
            below = bad == part.low_is_bad
            value = part.middle * (self._dice.uniform(0.3, 0.85) if below else self._dice.uniform(1.15, 1.9))
            return (
                f"Measured value: {value:.1f}\nTaken at: {self._dice.randint(0, 23):02}:{self._dice.randint(0, 59):02}"
            )
        if part.form == "json":
            return json.dumps({"state": word, "age_days": self._dice.randint(1, 900), "ok": not bad})
        if part.form == "fields":
            return f"State: {word}\nSerial: {self._dice.randint(10000, 99999)}\nCycles: {self._dice.randint(1, 5000)}"
        return f"The part is {word}."


def clean_run(world: World, broken: frozenset[str], dice: random.Random) -> Scene:
    """Return a run that looks, repairs what is broken and nothing else, in the world's order."""
    scene = Scene(world, broken, dice)
    parts = list(world.parts)
    if "any order" in world.order:
        dice.shuffle(parts)
    if world.status == "before and after":
        scene.call(world.status_tool)
    for name in world.noise:
        if dice.random() < 0.5:
            scene.call(name)
    if world.order.startswith("looks first"):
        for part in parts:
            scene.call(part.look)
    for part in parts:
        if world.order.startswith("in turn"):
            scene.call(part.look)
        if part.name in scene.broken:
            scene.call(part.repair, **part.arguments)
            if world.confirm:
                scene.call(part.look)
    if world.status != "none":
        scene.call(world.status_tool)
    return scene


def document(scene: Scene, number: int) -> dict[str, Any]:
    """Return a run as an ATIF document."""
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": scene.task}]
    for at, (name, arguments, text) in enumerate(scene.calls, start=2):
        steps.append(
            {
                "step_id": at,
                "source": "agent",
                "message": "",
                "tool_calls": [{"tool_call_id": f"call_{at}", "function_name": name, "arguments": arguments}],
                "observation": {"results": [{"source_call_id": f"call_{at}", "content": text}]},
            }
        )
    return {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": f"world-{scene.world.seed}-{number:03}",
        "agent": {"name": "technician", "version": "1"},
        "steps": steps,
        "extra": {"result": "success", "score": 1.0, "verified_by": "the world"},
    }


def training(world: World) -> list[Scene]:
    """Return the clean runs of a world, each with at least one fault."""
    dice = random.Random(world.seed * 31 + 1)
    combinations = [each for each in _combinations(world) if each]
    return [clean_run(world, dice.choice(combinations), dice) for _ in range(world.runs)]


def _combinations(world: World) -> list[frozenset[str]]:
    names = [part.name for part in world.parts]
    sizes = range(len(names) + 1)
    return [frozenset(each) for size in sizes for each in itertools.combinations(names, size)]


def learned(runs: Sequence[Scene]) -> tacit.Tacit:
    """Return a memory that has learned from these runs, everything approved."""
    memory = tacit.open(":memory:")
    memory.capture(tacit.read([document(run, at) for at, run in enumerate(runs)]), trust_outcomes=True)
    memory.learn()
    for stored in memory.reviews.waiting():
        ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked)
    return memory


Act = Callable[[Scene], str]
"""Acts on a scene; returns `reached` if it says that the goal is reached, otherwise anything else."""


def tacit_agent(runs: Sequence[Scene]) -> Act:
    """The reference agent with what was learned."""
    agent = Agent(learned(runs))

    def act(scene: Scene) -> str:
        report = agent.attempt(scene)
        scene.log = report.log  # type: ignore[attr-defined]
        return "reached" if report.reason == "the goal is reached" else report.ending

    return act


def _repairs_of(run: Scene) -> list[tuple[str, dict[str, Any]]]:
    names = {part.repair for part in run.world.parts}
    return [(name, arguments) for name, arguments, _ in run.calls if name in names]


def every_repair(runs: Sequence[Scene]) -> Act:
    """Every repair that any run made."""
    repairs = {name: arguments for run in runs for name, arguments in _repairs_of(run)}

    def act(scene: Scene) -> str:
        for name, arguments in repairs.items():
            scene.call(name, **arguments)
        return "done"

    return act


def commonest_run(runs: Sequence[Scene]) -> Act:
    """The repairs that most runs made."""
    counts = Counter(json.dumps(_repairs_of(run)) for run in runs)
    repairs = json.loads(counts.most_common(1)[0][0])

    def act(scene: Scene) -> str:
        for name, arguments in repairs:
            scene.call(name, **arguments)
        return "done"

    return act


def nearest_run(runs: Sequence[Scene]) -> Act:
    """Looks at everything that runs looked at, and makes the repairs of the run whose first answers are most alike."""
    looks = {name for run in runs for name, _, _ in run.calls} - {name for run in runs for name, _ in _repairs_of(run)}
    firsts = []
    for run in runs:
        first: dict[str, str] = {}
        for name, _, text in run.calls:
            first.setdefault(name, text)
        firsts.append({(name, word) for name in looks & first.keys() for word in first[name].split()})

    def act(scene: Scene) -> str:
        seen = {(name, word) for name in sorted(looks) for word in scene.call(name)[0].split()}
        best = max(range(len(runs)), key=lambda at: len(seen & firsts[at]) / max(1, len(seen | firsts[at])))
        for name, arguments in _repairs_of(runs[best]):
            scene.call(name, **arguments)
        return "done"

    return act


AGENTS: dict[str, Callable[[Sequence[Scene]], Act]] = {
    "tacit": tacit_agent,
    "every repair": every_repair,
    "commonest run": commonest_run,
    "nearest run": nearest_run,
}


def trial(world: World, make: Callable[[Sequence[Scene]], Act], *, show: bool = False) -> dict[str, Any]:
    """Let one agent learn a world's runs and meet its combinations of faults and unrelated tasks."""
    dice = random.Random(world.seed * 31 + 2)
    combinations = _combinations(world)
    if len(combinations) > MOST_COMBINATIONS:
        combinations = dice.sample(combinations, MOST_COMBINATIONS)
    act = make(training(world))
    solved = false_goal = silent = needless = 0
    for broken in combinations:
        scene = Scene(world, broken, dice)
        said = act(scene)
        right = not scene.broken and not scene.needless
        solved += right
        needless += scene.needless > 0
        false_goal += said == "reached" and bool(scene.broken)
        if show and not right:
            print(f"  broken {sorted(broken)}, left {sorted(scene.broken)}, needless {scene.needless}, said {said}")
            print("\n".join(f"    {line}" for line in getattr(scene, "log", ())))
    for task in UNRELATED:
        scene = Scene(world, frozenset(), dice, task=task)
        act(scene)
        silent += not _repairs_of(scene)
    return {
        "combinations": len(combinations),
        "solved": solved,
        "needless": needless,
        "false_goal": false_goal,
        "unrelated": len(UNRELATED),
        "silent": silent,
    }


def summary(rows: Sequence[tuple[World, dict[str, Any]]]) -> dict[str, Any]:
    """Return the shares over all worlds with an interval over worlds, and by what was drawn."""
    whole = _shares([row for _, row in rows])
    by: dict[str, dict[str, Any]] = {}
    for name in ("order", "naming", "status", "confirm", "runs"):
        for value in sorted({getattr(world, name) for world, _ in rows}, key=str):
            chosen = [row for world, row in rows if getattr(world, name) == value]
            by[f"{name}: {value}"] = {key: _shares(chosen)[key] for key in ("worlds", "solved", "false_goal")}
    return {**whole, "by": by}


def _shares(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def share(some: Sequence[dict[str, Any]], count: str, of: str) -> float:
        return round(sum(row[count] for row in some) / max(1, sum(row[of] for row in some)), 4)

    dice = random.Random(0)
    drawn = sorted(share(dice.choices(rows, k=len(rows)), "solved", "combinations") for _ in range(2000))
    return {
        "worlds": len(rows),
        "combinations": sum(row["combinations"] for row in rows),
        "solved": share(rows, "solved", "combinations"),
        "solved_interval": [drawn[50], drawn[-51]],
        "needless": share(rows, "needless", "combinations"),
        "false_goal": sum(row["false_goal"] for row in rows),
        "silent_on_unrelated": share(rows, "silent", "unrelated"),
    }


def main() -> int:
    """Run worlds and write the figures."""
    parser = argparse.ArgumentParser(description="made-up worlds with faults")
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--only", choices=sorted(AGENTS), help="one agent, nothing written")
    parser.add_argument("--show", action="store_true", help="print each world and the logs of failures")
    parser.add_argument("--out", type=Path, default=Path("bench/results/worlds.json"))
    options = parser.parse_args()
    worlds = [draw(seed) for seed in range(options.seed, options.seed + options.worlds)]
    figures = {}
    for who, make in AGENTS.items():
        if options.only in (None, who):
            rows = []
            for world in worlds:
                row = trial(world, make, show=options.show)
                rows.append((world, row))
                if options.show:
                    about = (
                        f"{world.seed} {len(world.parts)} parts, {world.order}, {world.naming}, confirm {world.confirm}"
                    )
                    print(
                        f"{about}, status {world.status}, {world.runs} runs, noise {len(world.noise)}: {row}",
                        flush=True,
                    )
            figures[who] = summary(rows)
            print(who, json.dumps(figures[who], indent=1))
    if options.only is None:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
        about = {"command": f"python bench/worlds.py --worlds {options.worlds} --seed {options.seed}"}
        options.out.write_text(
            json.dumps({**about, "commit": commit.stdout.strip(), **figures}, indent=1) + "\n", "utf-8"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
