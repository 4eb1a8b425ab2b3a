"""The experiment on forgetting: what is replayed is what was learned, and every way that was tried is told."""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tacit.features.evaluate.suite import AttemptScore, ResultRow
from tacit.features.evaluate.suites.public_tasks import TOOLS, solved_attempt
from tacit.features.evaluate.tool import Call
from tacit.features.train.dataset import Dataset, draft

BENCH = Path(__file__).parents[4] / "bench"
THINGS = "kettle lamp chair desk shirt boots tent rug vase clock scarf mug bike helmet puzzle camera".split()
COLOURS = "red blue green".split()
AID = "Earlier work: look the order up first."


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    data = "".join(json.dumps(each) + "\n" for each in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def shop_row(key: str, thing: str) -> dict[str, Any]:
    action = {"name": "cancel_pending_order", "arguments": {"order_id": f"#{thing}", "reason": "no longer needed"}}
    who = {"name": "find_user_id_by_name_zip", "arguments": {"first_name": thing}}
    return {"id": key, "instruction": f"Cancel the {thing}", "actions": [who, action]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    lines(tmp_path / "train_gold.jsonl", [shop_row("train-0", "kettle")])
    lines(tmp_path / "test_visible_gold.jsonl", [shop_row("test-0", "piano")])
    tools = [{"name": "mkdir", "description": "Make a folder.", "parameters": {"properties": {"dir_name": {}}}}]
    (tmp_path / "tools.json").write_text(json.dumps({"Files": tools}), encoding="utf-8")
    turns = [
        {
            "id": f"multi_{number}.0",
            "category": "base",
            "number": number,
            "turn": 0,
            "kind": "answer",
            "text": f"Make a folder for every {thing} of mine, dated {number}",
            "tools": ["mkdir"],
            "gold": [{"name": "mkdir", "arguments": {"dir_name": f"{thing}-{number}"}}],
        }
        for number, thing in enumerate(THINGS * 2)
    ]
    lines(tmp_path / "turns.jsonl.gz", turns)
    return tmp_path


def learned_shop(of: Any, folder: Path, seed: int) -> Dataset:
    """The shop's dataset as an earlier preparation left it: every other example has an aid before its task."""
    tasks = [
        solved_attempt(f"{colour}-{thing}", f"The {colour} {thing} has to go", [Call(tool=TOOLS[number % 7].name)])
        for number, (colour, thing) in enumerate((colour, thing) for colour in COLOURS for thing in THINGS)
    ]
    aided = {task.session_id: AID if number % 2 else "" for number, task in enumerate(tasks)}
    attempts = [of(task, TOOLS) for task in tasks]
    dataset, _ = draft(attempts, held_out=0.1, seed=seed, aid=lambda attempt: aided[attempt.task_key])
    dataset.write(folder / "datasets" / f"retail-500-{seed}")
    return dataset


def test_replay_draws_ever_more_of_what_the_first_adapter_learned_as_it_learned_it(bench: Any, data: Path) -> None:
    made, work = bench("_consolidation_data"), data / "work"
    learned = {seed: learned_shop(made.attempt_of, work, seed) for seed in made.SEEDS}
    made.prepare_forgetting(data, data, work)
    jobs = [job for job in json.loads((work / "plan.json").read_text("utf-8"))["jobs"] if job["seed"] == 1]
    names = ["retail-500-1", "bfcl-alone-1", "bfcl-replay15-1", "bfcl-replay33-1", "bfcl-replay50-1"]
    assert [job["train"] for job in jobs] == names
    assert [job.get("from") for job in jobs] == [None, *["retail-500-1"] * 4]
    assert Dataset.read(work / "datasets" / names[0]) == learned[1]
    known, before = {each.trajectory_id: each for each in learned[1].train}, set[str]()
    for name, share in zip(names[1:], (0.0, 0.15, 0.33, 0.5), strict=True):
        train = Dataset.read(work / "datasets" / name).train
        replayed = [each for each in train if each.replay]
        assert len(replayed) == round(share / (1 - share) * (len(train) - len(replayed)))
        assert all(each.messages == known[each.trajectory_id].messages for each in replayed)
        assert before <= (before := {each.trajectory_id for each in replayed})
    assert any(AID in each.messages[1].content for each in replayed)


def answers_of(bench: Any, right: dict[str, dict[str, str]]) -> Any:
    """Answers to four questions of the shop (two groups), told as `+` and `-`; adapter → set of prompts → signs."""
    rows = {
        (asked, adapter): [
            ResultRow(
                suite="", arm="", seed=0, exercise=str(at), group=str(at % 2), score=AttemptScore(success=sign == "+")
            )
            for at, sign in enumerate(signs)
        ]
        for adapter, sets in right.items()
        for asked, signs in sets.items()
    }
    return bench("_consolidation_answers").Answers(rows)


def test_every_way_that_was_tried_is_reported_and_held_against_the_same_seeds(bench: Any) -> None:
    found = bench("_consolidation_forgetting").forgotten(
        answers_of(
            bench,
            {
                "retail-500-0": {"retail/none": "++++"},
                "retail-500-1": {"retail/none": "----"},
                "bfcl-replay50-0": {"retail/none": "+++-", "bfcl/none": "+-"},
                "bfcl-replay15-0": {"retail/none": "++--", "bfcl/none": "++"},
                "bfcl-alone-0": {"retail/none": "+---", "bfcl/none": "++"},
            },
        ),
        ends={"3"},
    )
    assert [way for way in found if way.startswith(("alone", "replay"))] == ["alone", "replay15", "replay50"]
    assert [found[way]["shop_forgotten"]["value"] for way in ("alone", "replay15", "replay50")] == [0.75, 0.5, 0.25]
    assert found["replay50"]["shop_over_alone"]["value"] == 0.5
    assert found["replay50"]["second_over_alone"]["value"] == -0.5
    assert found["replay50"]["shop_after_by_kind"] == {"call": 1.0, "end": 0.0}
    assert "shop_over_alone" not in found["alone"]
    assert found["alone"]["second_gained"] is None  # the bare model was not asked


def test_answers_from_when_there_was_one_share_are_still_read(bench: Any) -> None:
    shop = {"retail/none": "++++"}
    answers = answers_of(
        bench, {"retail-500-0": shop, "bfcl-alone-0": shop, "bfcl-replay-0": shop, "": {"bfcl/none": "--"}}
    )
    found = bench("_consolidation_forgetting").forgotten(answers)
    assert list(found) == ["shop_before", "second_bare", "alone", "replay"]
    assert (found["second_bare"], found["replay"]["shop_forgotten"]["value"]) == (0.0, 0.0)
