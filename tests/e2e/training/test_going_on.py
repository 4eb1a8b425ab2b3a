"""A training that is cut off goes on to the very same weights, and leaves the base model as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.domain.errors import Refusal
from tacit.features.evaluate.base_model import load_base_model
from tacit.features.train.examples import Example
from tacit.features.train.lora_learner import Encoded, Learner, adapted, encode_all
from tacit.features.train.recipe import Recipe
from tacit.features.train.training import CHECKPOINT, Progress, train
from tests.e2e.training.conftest import dataset
from tests.raising import raises

LONG = Recipe(rate=1e-2, fewest_steps=30, passes=1, checks=6, examples_a_step=4, patience=9, checkpoint_s=0.0)
ROOT = Path(__file__).parents[3]
SLOWLY = """
import sys, time
from pathlib import Path
from tacit.features.train.training import train
from tests.e2e.training.conftest import dataset
from tests.e2e.training.test_going_on import LONG
train(dataset(), sys.argv[1], recipe=LONG, folder=Path(sys.argv[2]), progress=lambda _: time.sleep(0.2))
"""


def test_a_killed_training_ends_with_the_same_weights_as_one_that_was_left_alone(tiny: Path, tmp_path: Path):
    alone = train(dataset(), str(tiny), recipe=LONG, folder=tmp_path / "alone")
    cut = tmp_path / "cut"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    killed = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, str(tiny), str(cut)], cwd=ROOT, env=os.environ | {"PYTHONPATH": path}
    )
    try:
        while not (cut / CHECKPOINT).exists():
            assert killed.poll() is None, "it ended before it saved itself"
            time.sleep(0.05)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert not (cut / "trained.json").exists()
    first: list[Progress] = []
    again = train(dataset(), str(tiny), recipe=LONG, folder=cut, progress=first.append)
    assert first[0].step > 1
    assert again.weights_hash == alone.weights_hash
    assert again.curve == alone.curve
    assert not (cut / CHECKPOINT).exists()


def test_a_finished_training_is_not_done_again_and_another_one_is_not_mixed_with_it(tiny: Path, tmp_path: Path):
    base = load_base_model(str(tiny))
    done = train(dataset(), base, recipe=LONG, folder=tmp_path)
    result: list[Progress] = []
    assert train(dataset(), base, recipe=LONG, folder=tmp_path, progress=result.append) == done
    assert not result
    with raises(Refusal, "other_training"):
        train(dataset(), base, recipe=replace(LONG, seed=1), folder=tmp_path)
    with raises(Refusal, "other_training"):
        train(dataset(train=9), base, recipe=replace(LONG, rank=2), folder=tmp_path)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"x")
    with raises(Refusal, "weights_changed"):
        train(dataset(), base, recipe=LONG, folder=tmp_path)


def test_training_leaves_the_base_model_as_it_was(tiny: Path, tmp_path: Path):
    base = load_base_model(str(tiny))
    before = {name: weight.clone() for name, weight in base.model.state_dict().items()}
    first = train(dataset(), base, recipe=LONG, folder=tmp_path / "first")
    assert list(base.model.state_dict()) == list(before)
    assert all((weight == before[name]).all() for name, weight in base.model.state_dict().items())
    assert not any(weight.requires_grad for weight in base.model.parameters())
    assert train(dataset(), base, recipe=LONG, folder=tmp_path / "second").weights_hash == first.weights_hash
    assert (
        train(dataset(), base, recipe=replace(LONG, seed=5), folder=tmp_path / "other").weights_hash
        != first.weights_hash
    )


def test_training_stops_when_the_held_out_tasks_gain_nothing_more_and_keeps_the_best(tiny: Path, tmp_path: Path):
    harsh = replace(LONG, rate=0.5, patience=2, fewest_steps=60, checks=20)
    done = train(dataset(train=4), str(tiny), recipe=harsh, folder=tmp_path)
    assert done.stopped_early
    looks = [point.held_out for point in done.curve if point.held_out is not None]
    assert done.best_held_out is not None
    assert done.best_held_out <= min(looks) * 1.01
    assert done.best_step < done.steps


def test_an_empty_dataset_and_examples_that_do_not_fit_are_refused(tiny: Path, tmp_path: Path):
    base = load_base_model(str(tiny))
    with raises(Refusal, "empty_dataset"):
        train(dataset(train=0), base, recipe=LONG, folder=tmp_path)
    with raises(Refusal, "too_long"):
        train(dataset(), base, recipe=replace(LONG, longest_tokens=20), folder=tmp_path)
    base.model.config.max_position_embeddings = 30
    with raises(Refusal, "too_long"):
        train(dataset(), base, recipe=LONG, folder=tmp_path)


def lengthened(example: Example, words: int) -> Example:
    first = example.messages[0]
    return replace(
        example, messages=(replace(first, content=f"{first.content} {'so ' * words}"), *example.messages[1:])
    )


def test_examples_that_the_base_model_cannot_read_at_once_are_left_out_whole(tiny: Path, tmp_path: Path):
    whole = dataset()
    longer = replace(whole, train=(*whole.train[2:], *(lengthened(each, 4_000) for each in whole.train[:2])))
    without = replace(whole, train=whole.train[2:])
    kept = train(longer, str(tiny), recipe=LONG, folder=tmp_path / "longer")
    assert kept.examples == 34
    assert train(without, str(tiny), recipe=LONG, folder=tmp_path / "without").weights_hash == kept.weights_hash
    many = replace(whole, train=(*whole.train[9:], *(lengthened(each, 4_000) for each in whole.train[:9])))
    with pytest.raises(Refusal, match=r"^9 of 36 "):
        train(many, str(tiny), recipe=LONG, folder=tmp_path / "many")
    gone = replace(longer, manifest=replace(whole.manifest, examples=36, dropped={"too_long": 7}))
    with pytest.raises(Refusal, match=r"^2 of 36 .* 7 "):
        train(gone, str(tiny), recipe=LONG, folder=tmp_path / "gone")


def kept_bytes(learner: Learner, examples: list[Encoded]) -> int:
    """How much of what passes through the layers a step keeps until the way back begins."""
    import torch

    kept, is_back = 0, False

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal kept
        through = len(examples[0].ids) in tensor.shape and not is_back
        kept += tensor.numel() * tensor.element_size() if through else 0
        return tensor

    def give(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal is_back
        is_back = True
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, give):
        learner.step(examples, rate=1e-2, dice=1)
    return kept


def test_an_example_longer_than_what_passes_at_once_keeps_less_and_learns_the_same(tiny: Path):
    base = load_base_model(str(tiny))
    examples = encode_all([lengthened(dataset(train=1).train[0], 400)], base.tokenizer)
    with adapted(base, LONG) as roomy:
        whole, wanted = kept_bytes(roomy, examples), roomy.copy()
    with adapted(base, LONG) as narrow:
        narrow.most_tokens = 64
        spared, found = kept_bytes(narrow, examples), narrow.copy()
    assert spared < whole / 2
    assert all((one == other).all() for one, other in zip(found, wanted, strict=True))
    assert not base.model.is_gradient_checkpointing


def test_training_goes_on_from_the_weights_of_another_adapter(tiny: Path, tmp_path: Path) -> None:
    base = load_base_model(str(tiny))
    first = train(dataset(), base, recipe=LONG, folder=tmp_path / "first")
    after = train(dataset(), base, recipe=LONG, folder=tmp_path / "after", start=first.folder)
    assert after.curve[0].held_out == pytest.approx(first.best_held_out, rel=1e-4)
    assert first.curve[0].held_out != pytest.approx(first.best_held_out, rel=1e-2)
    with raises(Refusal, "other_training"):
        train(dataset(), base, recipe=LONG, folder=tmp_path / "after", start=after.folder)
    with raises(Refusal, "adapter_does_not_fit"):
        train(dataset(), base, recipe=replace(LONG, rank=4), folder=tmp_path / "other", start=first.folder)
