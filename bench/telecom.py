"""Acting in tau2-bench's telecom environment with learned skills alone: success, calls, a learning curve, honest silence.

    TAU2_BENCH=CHECKOUT PYTHONPATH=src python bench/telecom.py DATA [--out bench/results/telecom.json] [--plot FILE.svg]

DATA is the folder with `episodes.jsonl`; the environment's driver, `telecom_env.py`, is looked for in `tools/` two folders
above it, or given by `--driver`. `make_agent` is the entry point for the driver's own `--agent`. Everything goes through the
public API: a fresh memory captures the episodes with their verified outcomes, learns, and what it holds for review is
approved, since no person sits in a benchmark. Then the reference agent acts, with no model.

- **table**: Tacit and the driver's baselines on the same tasks, with the paired difference to each and its interval.
- **curve**: the same after 5, 10, 20, 40 and all training tasks, beside two baselines.
- **left out**: for each effect, every episode that shows it is dropped. Tasks that need it cannot be solved then: how often does
  the agent say so, and how many of its changes were not among those that the task needs? Tasks that need only what is still
  shown must not suffer. What a task needs is looked up for the count alone; the agent never sees it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import tacit
from tacit.features.evaluate.agent import MAX_CALLS, Agent, AttemptReport
from tacit.features.evaluate.tool import Tool

SIZES = (5, 10, 20, 40, 63)
BASELINES = ("nothing", "random", "nn", "nn-full", "rule", "rule-full")
CURVED = ("nn", "rule-full")
RESAMPLES = 10_000
SEED = 0
Documents = list[dict[str, Any]]


class World:
    """The driver's view of one task as the agent's environment."""

    def __init__(self, view: Any) -> None:
        self.task = f"{view.complaint}\n{view.known_info}".strip()
        self.tools = [
            Tool(
                name=tool["name"],
                description=tool.get("description", ""),
                required=tuple(tool.get("parameters", {}).get("required", ())),
                read_only=bool(tool["read_only"]),
            )
            for tool in view.tools
        ]
        self.call: Callable[..., tuple[str, bool]] = view.call
        self.abstain: Callable[[str], None] = view.abstain


def learned(episodes: Documents) -> tacit.Tacit:
    """A memory that has learned from these episodes."""
    memory = tacit.open(":memory:")
    memory.capture(tacit.read(episodes), trust_outcomes=True)
    memory.learn()
    for stored in memory.reviews.waiting():
        ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked)
    return memory


def make_agent(episodes: Documents, reports: list[AttemptReport] | None = None) -> Callable[[Any], None]:
    """The driver's protocol: episodes in, something that acts on a view out."""
    agent = Agent(learned(episodes))

    def act(view: Any) -> None:
        report = agent.attempt(World(view))
        if reports is not None:
            reports.append(report)

    return act


def main() -> int:
    parser = argparse.ArgumentParser(description="telecom, acting with learned skills")
    parser.add_argument("data", type=Path)
    parser.add_argument("--driver", type=Path, help="telecom_env.py")
    parser.add_argument("--out", type=Path, default=Path("bench/results/telecom.json"))
    parser.add_argument("--plot", type=Path, default=Path("bench/results/telecom.svg"))
    parser.add_argument("--show", type=int, default=0, help="print the logs of so many failed episodes")
    parser.add_argument("--only", choices=("table", "curve", "left-out"), help="just this part, nothing written")
    options = parser.parse_args()
    driver = load(options.driver or options.data.resolve().parent.parent / "tools" / "telecom_env.py")
    bench = Bench(driver, driver.load_episodes(options.data / "episodes.jsonl"))
    result: dict[str, Any] = {"about": about(), "tasks": len(bench.ids), "episodes": len(bench.episodes)}
    if options.only in (None, "table"):
        result["table"] = bench.table(show=options.show)
    if options.only in (None, "curve"):
        result["curve"] = bench.curve()
    if options.only in (None, "left-out"):
        result["left_out"] = bench.left_out()
    if options.only is None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        options.plot.write_text(plot(result["curve"]), "utf-8")
    return 0


class Bench:
    """One environment, one set of tasks, many learners."""

    def __init__(self, driver: ModuleType, episodes: Documents) -> None:
        self._driver = driver
        self._env = driver.TelecomEnv()
        self.episodes = episodes
        self.ids: list[str] = self._env.list_tasks("dev")
        self._reads = set(self._env.diagnostics())

    def table(self, *, show: int = 0) -> list[dict[str, Any]]:
        """Tacit and every baseline on the same tasks."""
        reports: list[AttemptReport] = []
        started = time.perf_counter()
        act = make_agent(self.episodes, reports)
        seconds = time.perf_counter() - started
        ours = self._run(act, self.ids)
        rows: list[dict[str, Any]] = [{"who": "tacit", **self._summary(ours), "learn_s": round(seconds, 1)}]
        say(rows[-1])
        for report, score in zip(reports, ours, strict=True):
            if not score.success and show > 0:
                show -= 1
                print("\n".join(["", f"{score}", *report.log, f"{report.ending}: {report.reason}"]))
        for name in BASELINES:
            scores = self._run(self._driver.make_baseline(name, self._reads)(self.episodes), self.ids)
            row = {"who": name, **self._summary(scores)}
            row["tacit_minus_this"] = paired([s.success for s in ours], [s.success for s in scores])
            rows.append(row)
            say(row)
        rows.append({"who": "gold", **self._summary([self._gold(identity) for identity in self.ids])})
        say(rows[-1])
        return rows

    def curve(self) -> dict[str, list[dict[str, Any]]]:
        """Success after few and after many training tasks, in the driver's own order."""
        groups = list(dict.fromkeys(document["extra"]["group"] for document in self.episodes))
        random.Random(7).shuffle(groups)  # as the driver does
        makers = {"tacit": make_agent, **{who: self._driver.make_baseline(who, self._reads) for who in CURVED}}
        lines: dict[str, list[dict[str, Any]]] = {who: [] for who in makers}
        for size in SIZES:
            kept = set(groups[:size])
            episodes = [document for document in self.episodes if document["extra"]["group"] in kept]
            for who, make in makers.items():
                row = {"train_tasks": size, **self._summary(self._run(make(episodes), self.ids))}
                lines[who].append(row)
                say({"who": who, **row})
        return lines

    def left_out(self) -> list[dict[str, Any]]:
        """Drop all that shows one effect; who needs it, who does not."""
        needs = {identity: {effect(a.name, a.arguments) for a in self._env._gold(identity)} for identity in self.ids}
        rows: list[dict[str, Any]] = []
        for dropped in sorted(set().union(*needs.values())):
            kept = [document for document in self.episodes if dropped not in self._effects(document)]
            if len(kept) == len(self.episodes):
                continue
            shown = set().union(*(self._effects(document) for document in kept if self._driver.is_success(document)))
            lacking = [identity for identity in self.ids if dropped in needs[identity]]
            others = [identity for identity in self.ids if needs[identity] <= shown]
            act = make_agent(kept)
            without, needless = self._watched(act, lacking, needs)
            rest = self._run(act, others)
            rows.append(
                {
                    "dropped": dropped,
                    "need_it": len(lacking),
                    "abstained": share(score.abstained for score in without),
                    "needless_writes": round(needless / max(1, len(lacking)), 2),
                    "max_calls": max((score.calls for score in [*without, *rest]), default=0),
                    "others": len(others),
                    "others_success": share(score.success for score in rest),
                    "others_abstained": share(score.abstained for score in rest),
                }
            )
            say(rows[-1])
        lost = sum(row["need_it"] for row in rows)
        whole = {
            "dropped": "all",
            "need_it": lost,
            "abstained": round(sum(row["abstained"] * row["need_it"] for row in rows) / max(1, lost), 3),
            "needless_writes": round(sum(row["needless_writes"] * row["need_it"] for row in rows) / max(1, lost), 2),
        }
        say(whole)
        return [*rows, whole]

    def _run(self, act: Callable[[Any], None], ids: Sequence[str]) -> list[Any]:
        scores: list[Any] = self._driver.run_agent(self._env, act, list(ids))
        return scores

    def _watched(
        self, act: Callable[[Any], None], ids: Sequence[str], needs: Mapping[str, set[str]]
    ) -> tuple[list[Any], int]:
        """Scores, and how many changes were made that the task does not need."""
        scores, needless = [], 0
        for identity in ids:
            scores += self._run(act, [identity])
            made = [effect(e["tool"], e["arguments"]) for e in self._env._log if e["tool"] not in self._reads]
            needless += sum(each not in needs[identity] for each in made)
        return scores, needless

    def _summary(self, scores: Sequence[Any]) -> dict[str, Any]:
        told: dict[str, Any] = self._driver.summary(list(scores))
        return {**told, "max_calls": max(score.calls for score in scores)}

    def _effects(self, document: Mapping[str, Any]) -> set[str]:
        calls = self._driver.calls_of(document)
        return {effect(call["tool"], call["arguments"]) for call in calls if call["tool"] not in self._reads}

    def _gold(self, identity: str) -> Any:
        self._env.reset(identity)
        for action in self._env._gold(identity):
            self._env.call(action.name, **action.arguments)
        return self._env.score()


def effect(tool: str, arguments: Mapping[str, Any]) -> str:
    """An effect's signature: the tool and what it sets, without the names of what it is done to."""
    fixed = {key: value for key, value in sorted(arguments.items()) if not key.endswith("_id")}
    return f"{tool} {json.dumps(fixed)}" if fixed else tool


def paired(ours: Sequence[bool], theirs: Sequence[bool]) -> dict[str, Any]:
    """The mean difference on the same tasks with its 95% bootstrap interval."""
    gaps = [int(a) - int(b) for a, b in zip(ours, theirs, strict=True)]
    dice = random.Random(SEED)
    means = sorted(sum(dice.choices(gaps, k=len(gaps))) / len(gaps) for _ in range(RESAMPLES))
    low, high = means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]
    return {"difference": round(sum(gaps) / len(gaps), 3), "interval95": [round(low, 3), round(high, 3)]}


def share(flags: Any) -> float:
    """The part that is true."""
    values = [bool(flag) for flag in flags]
    return round(sum(values) / max(1, len(values)), 3)


def load(path: Path) -> ModuleType:
    """The driver as a module."""
    spec = importlib.util.spec_from_file_location("telecom_env", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"no driver at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["telecom_env"] = module
    spec.loader.exec_module(module)
    return module


def about() -> dict[str, Any]:
    """What was measured, where."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {"commit": commit.stdout.strip(), "python": platform.python_version(), "call_limit": MAX_CALLS}


def say(row: Mapping[str, Any]) -> None:
    """One line of JSON for one result."""
    print(json.dumps(row), flush=True)


def plot(curve: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Success over training tasks as a small picture with intervals."""
    width, height, left, right, top, bottom = 560, 320, 48, 92, 16, 40
    colours = ("#1b6e53", "#9a6a1d", "#6b6f76")
    most = max(SIZES)

    def at(tasks: float, success: float) -> tuple[float, float]:
        x = left + (width - left - right) * tasks / most
        return round(x, 1), round(top + (height - top - bottom) * (1 - success), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for tenth in range(0, 11, 2):
        (x0, y), (x1, _) = at(0, tenth / 10), at(most, tenth / 10)
        parts.append(f'<line x1="{x0}" y1="{y}" x2="{x1}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{x0 - 8}" y="{y + 4}" text-anchor="end" fill="#444">{tenth / 10:.1f}</text>')
    for size in SIZES:
        x, y = at(size, 0)
        parts.append(f'<text x="{x}" y="{y + 16}" text-anchor="middle" fill="#444">{size}</text>')
    for colour, (who, rows) in zip(colours, curve.items(), strict=False):
        points = [at(row["train_tasks"], row["success"]) for row in rows]
        for row, (x, _) in zip(rows, points, strict=True):
            low, high = (at(0, bound)[1] for bound in row["interval95"])
            parts.append(
                f'<line x1="{x}" y1="{low}" x2="{x}" y2="{high}" stroke="{colour}" stroke-opacity=".35" stroke-width="4"/>'
            )
        line = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(f'<text x="{points[-1][0] + 10}" y="{points[-1][1] + 4}" fill="{colour}">{who}</text>')
    x, y = at(most / 2, 0)
    parts.append(f'<text x="{x}" y="{y + 34}" text-anchor="middle" fill="#444">training tasks</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
