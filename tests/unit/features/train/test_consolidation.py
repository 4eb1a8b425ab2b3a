"""The cycle: what is trained on and what is tested, what the judgement rests on, and what an interruption leaves behind."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.archive import Source, SourceKind
from tacit.domain.errors import GateRefusal, Mistake, Refusal
from tacit.features.evaluate.suites.everyday import EverydaySuite
from tacit.features.train.adapter import AdapterRuling, Judgement
from tacit.features.train.adapter_registry import Adapters
from tacit.features.train.consolidation import LOCK, Consolidation, is_test_task
from tacit.features.train.dataset import Dataset
from tacit.store import open_store
from tests.raising import raises
from tests.unit.features.evaluate.learners import KINDS, Bench, attempts
from tests.unit.features.train.adapter_builders import judged_adapter, memory_at, registered

TASKS = 170


class Killed(BaseException):
    """A process ends here and now."""


@pytest.fixture(scope="module")
def experience(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with enough verified experience, made once."""
    folder = tmp_path_factory.mktemp("experience")
    with memory_at(folder) as memory:
        memory.capture(attempts(TASKS), trust_outcomes=True)
    return folder


@pytest.fixture(scope="module")
def halfway(experience: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after a cycle that was killed while it was tested; what it learned and answered until then is there."""
    folder = tmp_path_factory.mktemp("halfway") / "store"
    shutil.copytree(experience, folder)
    bench = Bench(stumbles=lambda phase: _end(phase, "asked with an adapter"))
    with memory_at(folder) as memory, pytest.raises(Killed):
        cycle_of(memory).consolidate(bench, regression_suite=EverydaySuite(), by="ann")
    return folder


@pytest.fixture
def memory(experience: Path, tmp_path: Path) -> Tacit:
    """A memory with enough experience and no adapter."""
    shutil.copytree(experience, tmp_path / "store")
    return memory_at(tmp_path / "store")


@pytest.fixture
def resumed(halfway: Path, tmp_path: Path) -> Tacit:
    """A memory whose adapter is trained and half tested."""
    shutil.copytree(halfway, tmp_path / "halfway")
    return memory_at(tmp_path / "halfway")


def cycle_of(memory: Tacit, *, seed: int = 0) -> Consolidation:
    return Consolidation(memory, seed=seed)


def test_a_cycle_killed_while_testing_goes_on_to_its_judgement_and_lets_nothing_serve(resumed: Tacit) -> None:
    assert cycle_of(resumed).phase == "testing"
    asked: list[str] = []
    bench = Bench(stumbles=asked.append)
    finding = cycle_of(resumed).consolidate(bench, regression_suite=EverydaySuite())
    assert (bench.trained, finding.judgement.ruling) == (0, AdapterRuling.BETTER)
    assert finding.judgement.reason.endswith(f" {EverydaySuite().name}")
    assert asked[0] == "asked with an adapter", "what was answered without one is on disk"
    assert resumed.context.store.entries(Judgement) == [finding.judgement]
    [standing] = Adapters(resumed).all()
    assert (standing.judgement, standing.serves, standing.problems) == (finding.judgement, False, ())
    assert {path.name for path in standing.folder.iterdir()} == {
        "adapter_config.json", "adapter_model.safetensors", "manifest.json", "curve.json", "report.json",
    }  # fmt: skip
    assert not Adapters(resumed).files.work.exists(), "the texts that it worked on are gone"
    won = {(change.exercise, "skills+adapter") for change in finding.comparison.arm("skills+adapter").gains}
    assert won
    for exercise, arm in won:
        apart = finding.divergences[arm, exercise]
        assert apart.asked.split()[0] in KINDS
        assert apart.reference != apart.arm
        assert apart.asked not in (standing.folder / "report.json").read_text()


def test_what_is_tested_was_neither_trained_on_nor_stopped_by(resumed: Tacit) -> None:
    dataset = Dataset.read(Adapters(resumed).files.work / "dataset")
    seen = [
        each for each in (*dataset.train, *dataset.held_out) if not is_test_task(each.task) or each in dataset.train
    ]
    finding = cycle_of(resumed).consolidate(Bench())
    tested = {change.group for change in finding.comparison.arm("skills+adapter").gains}
    assert tested
    assert not tested & {example.task for example in seen}
    assert set(finding.adapter.sources) == {example.trajectory_id for example in seen}


def test_an_adapter_that_forgets_is_judged_worse_elsewhere(resumed: Tacit) -> None:
    finding = cycle_of(resumed).consolidate(Bench(forgetful=True), regression_suite=EverydaySuite())
    assert finding.judgement.ruling is AdapterRuling.WORSE_ELSEWHERE
    with raises(Refusal, "test_not_passed"):
        Adapters(resumed).activate(finding.adapter.key, by="ann")


def test_what_is_learned_from_cannot_stand_guard_elsewhere(memory: Tacit) -> None:
    requests = sorted({each.task for each in EverydaySuite().exercises()})
    memory.capture(
        [
            dataclasses.replace(each, task=dataclasses.replace(each.task, text=text), session_id=f"guard {at}", id="")
            for at, (each, text) in enumerate(zip(attempts(len(requests)), requests, strict=True))
        ],
        trust_outcomes=True,
    )
    bench = Bench()
    with raises(Refusal, "regression_suite_learned"):
        cycle_of(memory).consolidate(bench, regression_suite=EverydaySuite(), by="ann")
    assert not Adapters(memory).all()


def test_an_adapter_that_changes_nothing_is_no_better(resumed: Tacit) -> None:
    finding = cycle_of(resumed).consolidate(Bench(dull=True))
    assert finding.judgement.ruling in (AdapterRuling.NO_BETTER, AdapterRuling.TOO_LITTLE)
    assert finding.judgement.difference == 0


def test_an_adapter_that_finds_the_tools_and_spoils_their_arguments_is_not_better(resumed: Tacit) -> None:
    finding = cycle_of(resumed).consolidate(Bench(spoils=True))
    found = finding.comparison.arm("skills+adapter").differences
    assert found["success"].is_better
    assert found["exact"].value < 0
    assert finding.judgement.ruling is AdapterRuling.WORSE


def test_weights_that_are_not_those_that_were_trained_are_neither_tested_nor_judged(resumed: Tacit) -> None:
    [standing] = Adapters(resumed).all()
    weights = standing.folder / "adapter_model.safetensors"
    trained = weights.read_bytes()
    weights.write_bytes(b'{"poison": ["x"]}')
    asked: list[str] = []
    with raises(Refusal, "files_changed"):
        cycle_of(resumed).consolidate(Bench(stumbles=asked.append))
    assert asked == []
    weights.write_bytes(trained)

    def swap(phase: str) -> None:
        weights.write_bytes(b"{}")

    with raises(Refusal, "files_changed"):
        cycle_of(resumed).consolidate(Bench(stumbles=swap))
    assert resumed.context.store.entries(Judgement) == []


def test_too_little_experience_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    memory, bench = memory_at(tmp_path), Bench()
    memory.capture(attempts(31), trust_outcomes=True)
    outlook = cycle_of(memory).plan()
    assert (outlook.attempts, outlook.tasks) == (31, 31)
    assert "too_few_tasks" in {objection.rule for objection in outlook.objections}
    with raises(GateRefusal, "data_refused"):
        cycle_of(memory).consolidate(bench)
    assert (bench.trained, Adapters(memory).all()) == (0, [])


def test_an_outlook_changes_nothing(memory: Tacit) -> None:
    before = memory.context.store.history()
    outlook = cycle_of(memory).plan()
    assert (outlook.attempts, outlook.objections, outlook.unfinished, outlook.due_at) == (TASKS, (), "", None)
    manifest = outlook.dataset.manifest
    assert 0 < outlook.test_tasks < len(manifest.held_out_tasks) < manifest.tasks
    assert memory.context.store.history() == before
    assert not Adapters(memory).files.root.exists()


# --- interruptions ----------------------------------------------------------------------------------------------------


def test_a_cycle_killed_while_training_goes_on_with_the_same_dataset(memory: Tacit) -> None:
    killed = Bench(stumbles=lambda phase: _end(phase, "training"))
    with pytest.raises(Killed):
        cycle_of(memory).consolidate(killed)
    assert cycle_of(memory).phase == "training"
    memory.capture(attempts(TASKS + 12)[TASKS:], trust_outcomes=True)
    bench = Bench()
    adapter = cycle_of(memory).train(bench, by="ann")
    assert bench.seen[0].manifest.hash == killed.seen[0].manifest.hash
    assert cycle_of(memory).train(bench) == adapter
    assert bench.trained == 1, "what is trained is not trained again"


@pytest.mark.parametrize(("before", "after"), [("true", "false"), ("false", "true")])
def test_an_outcome_that_was_edited_meanwhile_is_not_judged_by(resumed: Tacit, before: str, after: str) -> None:
    rows = Adapters(resumed).files.work / "proof" / "rows.jsonl"
    result = rows.read_text()
    edited = result.replace(f'"success":{before}', f'"success":{after}')
    rows.write_text(edited)
    assert edited != result
    with raises(Mistake, "seal_broken"):
        cycle_of(resumed).consolidate(Bench(), regression_suite=EverydaySuite(), by="ann")
    assert not resumed.context.store.entries(Judgement)


def test_rows_of_exercises_that_nobody_asked_are_refused_when_a_test_goes_on(resumed: Tacit) -> None:
    rows = Adapters(resumed).files.work / "proof" / "rows.jsonl"
    row = json.loads(rows.read_text().splitlines()[0])
    with rows.open("a") as file:
        file.write(json.dumps({**row, "exercise": "nobody/0", "group": "nobody"}) + "\n")
    with raises(Mistake, "foreign_row"):
        cycle_of(resumed).consolidate(Bench())
    assert resumed.context.store.entries(Judgement) == []


@pytest.mark.parametrize("phase", ["training", "testing"])
@pytest.mark.parametrize("how", ["foreign", "reworded"])
def test_a_dataset_that_was_changed_meanwhile_is_not_gone_on_with(
    request: pytest.FixtureRequest, phase: str, how: str
) -> None:
    memory: Tacit = request.getfixturevalue("memory" if phase == "training" else "resumed")
    if phase == "training":
        with pytest.raises(Killed):
            cycle_of(memory).consolidate(Bench(stumbles=lambda now: _end(now, phase)))
    folder = Adapters(memory).files.work / "dataset"
    first, *others = (folder / "train.jsonl").read_text().splitlines()
    changed = json.loads(first)
    if how == "foreign":
        others.append(json.dumps({**changed, "trajectory": "t_nobody"}))
    else:
        changed["messages"][2]["content"] = changed["messages"][2]["content"].replace('": "', '": "evil-')
    first = json.dumps(changed)
    _replace(folder, [first, *others])
    bench = Bench()
    with raises(Refusal, "dataset_changed"):
        cycle_of(memory).consolidate(bench)
    assert bench.trained == 0


def test_a_dataset_whose_files_were_exchanged_is_no_dataset(resumed: Tacit) -> None:
    folder = Adapters(resumed).files.work / "dataset"
    _replace(folder, (folder / "train.jsonl").read_text().splitlines()[1:], honest=False)
    with raises(Mistake, "dataset_damaged"):
        cycle_of(resumed).consolidate(Bench())


def test_unfinished_work_with_other_options_is_not_mixed_with(resumed: Tacit) -> None:
    memory = resumed
    with raises(Refusal, "other_consolidation"):
        cycle_of(memory, seed=3).train(Bench(recipe={"size": "large"}))
    with raises(Refusal, "other_consolidation"):
        cycle_of(memory).train(Bench(model_hash="m2"))
    assert cycle_of(memory, seed=3).train(Bench(), restart=True).recipe["seed"] == "3"


def test_two_consolidations_at_once_are_refused(memory: Tacit) -> None:
    with Adapters(memory).files.locked(LOCK), raises(Refusal, "consolidation_locked"):
        cycle_of(memory).consolidate(Bench())


def test_a_purge_in_the_middle_drops_the_work_and_the_next_cycle_does_without(memory: Tacit) -> None:
    bench = Bench(stumbles=lambda phase: _end(phase, "training"))
    with pytest.raises(Killed):
        cycle_of(memory).consolidate(bench)
    gone = bench.seen[0].train[0].trajectory_id
    memory.archive.purge(memory.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=gone)), by="ann")
    assert not Adapters(memory).files.work.exists()
    again = Bench()
    cycle_of(memory).train(again)
    assert gone not in again.seen[0].manifest.trajectory_ids


def test_a_store_in_memory_is_refused() -> None:
    memory = Tacit(open_store(":memory:"))
    memory.capture(attempts(5), trust_outcomes=True)
    assert cycle_of(memory).plan().attempts == 5
    with raises(Refusal, "store_without_file"):
        cycle_of(memory).train(Bench())


# --- on a schedule ----------------------------------------------------------------------------------------------------


def test_the_next_cycle_is_due_so_long_after_the_last_adapter(memory: Tacit, resumed: Tacit) -> None:
    assert cycle_of(memory).due_at(timedelta(days=7)) is None
    [standing] = Adapters(resumed).all()
    assert cycle_of(resumed).due_at(timedelta(days=7)) is None, "what is unfinished is always due"
    Adapters(resumed).files.drop_work()
    assert cycle_of(resumed).due_at(timedelta(days=7)) == standing.adapter.at + timedelta(days=7)
    assert cycle_of(resumed).due_at(timedelta()) is None


def test_how_many_were_tested_before_is_reported(resumed: Tacit, tmp_path: Path) -> None:
    other = registered(Adapters(resumed), tmp_path)
    judged_adapter(Adapters(resumed), other, AdapterRuling.NO_BETTER)
    finding = cycle_of(resumed).consolidate(Bench())
    assert finding.tested_before == 1
    report = json.loads((Adapters(resumed).find(finding.adapter.key).folder / "report.json").read_text())
    assert report[0]["suite"] == "own"


def _replace(folder: Path, lines: list[str], *, honest: bool = True) -> None:
    """Exchange the training file, as somebody does it who knows how the manifest is made."""
    data = "".join(f"{line}\n" for line in lines).encode()
    (folder / "train.jsonl").write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["train.jsonl"] = hashlib.sha256(data).hexdigest()
    if honest:
        manifest["hash"] = hashlib.sha256(json.dumps(manifest["files"], sort_keys=True).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _end(phase: str, at: str) -> None:
    if phase == at:
        raise Killed
