"""`tacit consolidate` with a real model and no stand-in anywhere: from a store to a judgement, an export and a refusal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tacit.domain.errors import Refusal
from tacit.features.train.adapter_registry import Adapters
from tests.raising import raises
from tests.unit.features.evaluate.learners import attempts
from tests.unit.features.train.adapter_builders import memory_at

TASKS = 110
"""Just above what the gate asks for."""


def tacit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command, in a process of its own, as a person types it."""
    command = [sys.executable, "-m", "tacit", *words, "--store", str(folder / "tacit.db")]
    surroundings = {"HOME": str(folder), "PATH": "", "OMP_WAIT_POLICY": "PASSIVE"}
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)


def test_experience_becomes_an_adapter_with_a_judgement_and_one_that_proved_nothing_may_not_serve(
    tiny: Path, tmp_path: Path
) -> None:
    with memory_at(tmp_path) as memory:
        memory.capture(attempts(TASKS), trust_outcomes=True)
    done = tacit(tmp_path, "consolidate", "--base", str(tiny), "--size", "small", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Random weights answer nothing that can be read, with an adapter or without: nothing is claimed of it.
    assert found["ruling"] in {"no better", "too little to tell"}
    (listed,) = json.loads(tacit(tmp_path, "adapters", "--json").stdout)["adapters"]
    assert listed["key"] == found["adapter"]
    with memory_at(tmp_path) as memory, raises(Refusal, "test_not_passed"):
        Adapters(memory).activate(listed["key"], by="ann")
