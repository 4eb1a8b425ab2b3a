"""The part of the consolidation experiment that wants an accelerator: trains every adapter of the plan and answers its prompts.

Needs torch, transformers and peft beside this checkout, and neither a store nor test answers. Jobs come in the order in which
they matter, and what is done is written at once: where time runs out, what is there is whole.
"""

from __future__ import annotations

import gzip
import json
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from _consolidation_choice import choose

from tacit.features.evaluate.base_model import load_base_model
from tacit.features.evaluate.conversation import ChatMessage
from tacit.features.evaluate.local_model import LocalModel
from tacit.features.train.dataset import Dataset
from tacit.features.train.recipe import Recipe
from tacit.features.train.training import Trained, train

PROMPTS, PLAN = "prompts.jsonl.gz", "plan.json"
ANSWERS, CHOICES, TRAININGS, MACHINE = "answers.jsonl", "choices.jsonl", "trainings.jsonl", "machine.json"
CHOSEN_IN = "retail/"
"""Sets of prompts with whose tools it is also asked which one is chosen where the form is given."""


class Runner:
    """One model, many adapters."""

    def __init__(self, work: Path, base: str, *, out: Path, adapters: Path, size: str) -> None:
        begun = time.perf_counter()
        self._work, self._out, self._adapters, self._recipe = work, out, adapters, Recipe.of(size)
        self._prompts = _prompts(work / PROMPTS)
        self._plan = json.loads((work / PLAN).read_text("utf-8"))
        self._base = load_base_model(base)
        self._model = LocalModel(self._base)
        out.mkdir(parents=True, exist_ok=True)
        loaded = round(time.perf_counter() - begun, 1)
        (out / MACHINE).write_text(json.dumps(machine(self._base.device) | {"loading_s": loaded}, indent=1) + "\n")
        say(f"loaded after {loaded} s")

    def run(self, *, seconds: float, seed: int | None = None) -> None:
        """All jobs of the plan that fit into the time; only those of one seed, where one is given."""
        begun = time.perf_counter()
        jobs = [job for job in self._plan["jobs"] if seed in {None, job["seed"]}]
        for number, job in enumerate(jobs, 1):
            if time.perf_counter() - begun > seconds:
                say(f"out of time: {len(jobs) - number + 1} jobs are left")
                return
            self._job(job)
            say(f"{number}/{len(jobs)} {job['train'] or 'base'}: {time.perf_counter() - begun:.0f} s so far")

    def _job(self, job: dict[str, Any]) -> None:
        name = job["train"]
        if name:
            self._train(job)
            self._model.add(name, self._adapters / name)
        self._ask(job["ask"], adapter=name)
        if job.get("ask_base"):
            self._ask(job["ask_base"], adapter="")

    def _train(self, job: dict[str, Any]) -> None:
        name = job["train"]
        start = self._adapters / job["from"] if job.get("from") else None
        dataset = Dataset.read(self._work / "datasets" / job["dataset"])
        done = train(
            dataset,
            self._base,
            folder=self._adapters / name,
            recipe=replace(self._recipe, seed=job["seed"]),
            start=start,
        )
        self._append(TRAININGS, [_told(name, done)])

    def _ask(self, sets: Sequence[str], *, adapter: str) -> None:
        asked = [prompt for name in sets for prompt in self._prompts[name]]
        begun = time.perf_counter()
        said = self._model.complete(
            [prompt["messages"] for prompt in asked], adapter=adapter, max_tokens=self._plan["tokens"]
        )
        each = (time.perf_counter() - begun) / max(1, len(asked))
        self._append(
            ANSWERS,
            [
                {"set": prompt["set"], "exercise": prompt["exercise"], "adapter": adapter, "seconds": round(each, 4)}
                | asdict(completion)
                for prompt, completion in zip(asked, said, strict=True)
            ],
        )
        choosing = [prompt for prompt in asked if prompt["set"].startswith(CHOSEN_IN)]
        chosen = choose(
            self._model,
            [prompt["messages"] for prompt in choosing],
            [prompt["tools"] for prompt in choosing],
            adapter=adapter,
        )
        self._append(
            CHOICES,
            [
                {"set": prompt["set"], "exercise": prompt["exercise"], "adapter": adapter, "tool": tool}
                for prompt, tool in zip(choosing, chosen, strict=True)
            ],
        )

    def _append(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        with (self._out / name).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _prompts(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            prompt = json.loads(line)
            prompt["messages"] = [ChatMessage(role, content) for role, content in prompt["messages"]]
            found.setdefault(prompt["set"], []).append(prompt)
    return found


def _told(name: str, done: Trained) -> dict[str, Any]:
    told = {key: value for key, value in asdict(done).items() if key != "folder"}
    return {"adapter": name} | told


def machine(device: str) -> dict[str, str]:
    """What it ran on."""
    import peft
    import torch
    import transformers

    where = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    return {
        "device": where,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "peft": peft.__version__,
    }


def say(text: str) -> None:
    """How far it is."""
    print(text, flush=True)
