"""Where a device's memory runs out, the work goes on in smaller parts; where that does not help, the error says what does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import ModelOutage
from tacit.features.evaluate.base_model import BaseModel, load_base_model
from tacit.features.evaluate.local_model import LocalModel
from tacit.features.train.lora_learner import BATCH_TOKENS_MIN, adapted, encode_all
from tacit.features.train.training import Progress, train
from tests.e2e.training.conftest import QUICK, asked, dataset
from tests.raising import raises


@contextmanager
def short_of_memory(base: BaseModel, *, most: int) -> Iterator[list[int]]:
    """A device that holds so many tokens at once; tells how many each pass had that went through."""
    import torch

    passed: list[int] = []

    def weigh(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        count = kwargs["input_ids"].numel()
        if count > most:
            raise torch.OutOfMemoryError(f"no room for {count}")
        passed.append(count)

    hook = base.model.base_model.register_forward_pre_hook(weigh, with_kwargs=True)
    try:
        yield passed
    finally:
        hook.remove()


def test_answers_are_the_same_in_smaller_parts(tiny: Path) -> None:
    base = load_base_model(str(tiny))
    model = LocalModel(base)
    whole = model.complete(asked(5), max_tokens=6)
    longest = max(each.context_tokens for each in whole)
    with short_of_memory(base, most=2 * longest) as passed:
        parts = model.complete(asked(5), max_tokens=6)
    assert max(passed) <= 2 * longest
    assert parts == whole


def test_training_goes_on_in_smaller_batches(tiny: Path) -> None:
    base = load_base_model(str(tiny))
    examples = encode_all(dataset().train[:12], base.tokenizer)
    with adapted(base, QUICK) as learner:
        begun, before = learner.most_tokens, learner.copy()
        with short_of_memory(base, most=begun // 4) as passed:
            learner.step(examples, rate=1e-3, dice=1)
            learner.evaluate(examples)
        assert learner.most_tokens == begun // 4
        assert len(passed) > 2
        assert any((one != other).any() for one, other in zip(before, learner.copy(), strict=True))


def test_a_training_that_ran_short_goes_the_same_way_when_it_is_cut_off(tiny: Path, tmp_path: Path) -> None:
    recipe = replace(QUICK, dropout=0.1, checkpoint_s=0.0)

    def stop(progress: Progress) -> None:
        if progress.step == 4:
            raise KeyboardInterrupt

    curves = []
    for name, cuts in (("alone", False), ("cut", True)):
        base = load_base_model(str(tiny))
        with short_of_memory(base, most=BATCH_TOKENS_MIN):
            if cuts:
                with pytest.raises(KeyboardInterrupt):
                    train(dataset(), base, recipe=recipe, folder=tmp_path / name, progress=stop)
            else:
                curves.append(train(dataset(), base, recipe=recipe, folder=tmp_path / name).curve)
    curves.append(train(dataset(), load_base_model(str(tiny)), recipe=recipe, folder=tmp_path / "cut").curve)
    assert curves[0] == curves[1]
    plenty = train(dataset(), load_base_model(str(tiny)), recipe=recipe, folder=tmp_path / "plenty")
    assert plenty.curve != curves[0], "memory must run short for this to tell anything"


def test_a_training_that_does_not_fit_at_all_tells_the_way_out(tiny: Path, tmp_path: Path) -> None:
    base = load_base_model(str(tiny))
    with short_of_memory(base, most=3), raises(ModelOutage, "out_of_memory") as result:
        train(dataset(), base, recipe=replace(QUICK, seed=1), folder=tmp_path / "adapter")
    assert "smaller --size" in result.value.hint


def test_an_answer_that_does_not_fit_at_all_tells_the_way_out(tiny: Path) -> None:
    base = load_base_model(str(tiny))
    model = LocalModel(base)
    with short_of_memory(base, most=3), raises(ModelOutage, "out_of_memory"):
        model.complete(asked(3), max_tokens=4)
    assert model.complete(asked(1), max_tokens=4)[0].output_tokens
