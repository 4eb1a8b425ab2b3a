"""One dial sets a training's numbers, wrong numbers are told all at once, and a training's cost is known beforehand."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake
from tacit.features.evaluate.base_model import base_model_facts
from tacit.features.evaluate.conversation import ChatMessage
from tacit.features.train.data_gate import DataPolicy
from tacit.features.train.examples import Example
from tacit.features.train.recipe import Recipe, estimate_cost
from tests.raising import raises

MILLION = 1_000_000
SMALL_MODEL = {
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "num_hidden_layers": 30,
    "vocab_size": 49_152,
    "max_position_embeddings": 8_192,
}
"""The configuration of SmolLM2-135M."""
SMALL_MODEL_ADAPTER = 4_884_480
"""How many numbers PEFT lays over it at rank 16."""


def examples(count: int, *, characters: int = 900) -> list[Example]:
    messages = (ChatMessage("user", "x" * characters), ChatMessage("assistant", "y"))
    return [Example(task=f"{number}", trajectory_id=f"{number}", messages=messages) for number in range(count)]


def test_a_larger_size_holds_more_and_is_trained_longer():
    small, medium, large = (Recipe.of(size) for size in ("small", "medium", "large"))
    assert small.rank < medium.rank < large.rank
    assert small.steps(1000) < medium.steps(1000) < large.steps(1000)
    assert medium == Recipe()


def test_an_unknown_size_names_those_there_are():
    with raises(Mistake, "unknown_size") as wrong:
        Recipe.of("huge")
    assert "small, medium, large" in wrong.value.hint


def test_all_that_is_wrong_with_a_recipe_is_reported_at_once():
    with raises(Mistake, "bad_recipe"):
        Recipe(rank=0, rate=0.0, dropout=1.0)


def test_few_examples_are_seen_more_often_so_that_there_are_steps_enough():
    recipe = Recipe(passes=3, examples_a_step=10, fewest_steps=50)
    assert recipe.steps(12) == 50
    assert recipe.steps(1001) == 3 * 101


def test_what_is_reported_of_a_recipe_is_what_decides_the_result():
    assert Recipe(checkpoint_s=1.0).as_text() == Recipe(checkpoint_s=9.0).as_text()
    assert Recipe(rate=1e-3).as_text() != Recipe(rate=1e-4).as_text()
    assert Recipe().as_text()["rank"] == "16"


def test_the_cost_grows_with_examples_model_and_size_and_falls_on_a_gpu():
    train, held_out = examples(200), examples(20)
    plain = estimate_cost(train, held_out, recipe=Recipe(), parameters=135 * MILLION)
    assert (plain.examples, plain.held_out, plain.steps) == (200, 20, Recipe().steps(200))
    # 900 characters and the marks of two messages come to a bit over 300 tokens.
    assert 250 < plain.tokens / (plain.steps * Recipe().examples_a_step) < 350
    larger = estimate_cost(train, held_out, recipe=Recipe(), parameters=1000 * MILLION)
    assert larger.seconds > 5 * plain.seconds
    assert larger.memory_mb > 2 * plain.memory_mb
    assert 15 < plain.adapter_mb < 25  # guessed from the parameters alone
    assert (
        estimate_cost(examples(800), held_out, recipe=Recipe(), parameters=135 * MILLION).seconds > 1.5 * plain.seconds
    )
    assert (
        estimate_cost(train, held_out, recipe=Recipe.of("large"), parameters=135 * MILLION).adapter_mb
        > plain.adapter_mb
    )
    assert (
        estimate_cost(train, held_out, recipe=Recipe(), parameters=135 * MILLION, device="cuda").seconds
        < plain.seconds / 50
    )


def test_examples_longer_than_the_recipe_allows_cost_nothing_and_are_counted():
    train = [*examples(20), *examples(2, characters=60_000)]
    result = estimate_cost(train, examples(2, characters=60_000), recipe=Recipe(), parameters=MILLION)
    assert (result.examples, result.held_out, result.too_long) == (20, 0, 2)
    assert result.tokens == estimate_cost(examples(20), [], recipe=Recipe(), parameters=MILLION).tokens


def test_an_example_that_the_gate_lets_pass_fits_unless_the_base_model_reads_less() -> None:
    assert DataPolicy().longest_tokens == Recipe().longest_tokens
    at_most = examples(3, characters=3 * DataPolicy().longest_tokens - 50)
    assert estimate_cost(at_most, [], recipe=Recipe(), parameters=MILLION).too_long == 0
    assert estimate_cost(at_most, [], recipe=Recipe().within(8_192), parameters=MILLION).too_long == 3
    assert Recipe().within(0) == Recipe().within(131_072) == Recipe()


def layer(number: int) -> dict[str, Any]:
    """The tensors of one layer of SmolLM2-135M, as its file names and shapes them."""
    shapes = {
        "self_attn.q_proj": [576, 576],
        "self_attn.k_proj": [192, 576],
        "self_attn.v_proj": [192, 576],
        "self_attn.o_proj": [576, 576],
        "mlp.gate_proj": [1536, 576],
        "mlp.up_proj": [1536, 576],
        "mlp.down_proj": [576, 1536],
        "input_layernorm": [576],
        "post_attention_layernorm": [576],
    }
    return {f"model.layers.{number}.{name}.weight": {"shape": shape} for name, shape in shapes.items()}


def model_at(folder: Path, tensors: dict[str, Any]) -> str:
    """A folder that says what a model is like, without its weights."""
    (folder / "config.json").write_text(json.dumps(SMALL_MODEL))
    if tensors:
        header = json.dumps(tensors).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return str(folder)


VOCABULARY = {"model.embed_tokens.weight": {"shape": [49_152, 576]}, "lm_head.weight": {"shape": [49_152, 576]}}
TENSORS = {name: entry for number in range(30) for name, entry in layer(number).items()}


@pytest.mark.parametrize("tensors", [TENSORS | VOCABULARY, {}], ids=["by its tensors", "by its configuration"])
def test_the_size_of_an_adapter_follows_from_the_shapes_of_the_model(tmp_path: Path, tensors: dict[str, Any]) -> None:
    facts = base_model_facts(model_at(tmp_path, tensors))
    assert Recipe().rank * facts.reach == SMALL_MODEL_ADAPTER
    assert facts.context_tokens == 8_192
    result = estimate_cost(examples(200), [], recipe=Recipe(), parameters=facts.parameters, reach=facts.reach)
    assert result.adapter_mb == round(4 * SMALL_MODEL_ADAPTER / MILLION, 1) == 19.5
    assert 7000 < result.memory_mb < 8000  # measured: 7,705 MB at the most


def test_a_wide_vocabulary_makes_no_larger_adapter() -> None:
    narrow, wide = (
        estimate_cost(examples(9), [], recipe=Recipe(), parameters=size * MILLION, reach=305_280) for size in (135, 270)
    )
    assert narrow.adapter_mb == wide.adapter_mb
    assert narrow.memory_mb < wide.memory_mb


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


def test_a_gguf_file_tells_the_size_of_an_adapter_too(tmp_path: Path) -> None:
    shapes = {"token_embd.weight": (576, 49_152), "output.weight": (576, 49_152), "output_norm.weight": (576,)}
    for number in range(30):
        shapes |= {f"blk.{number}.attn_{name}.weight": (576, 576) for name in ("q", "output")}
        shapes |= {f"blk.{number}.attn_{name}.weight": (576, 192) for name in ("k", "v")}
        shapes |= {f"blk.{number}.ffn_{name}.weight": (576, 1536) for name in ("gate", "up", "down")}
    header = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), 2)
    header += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    header += text("llama.context_length") + struct.pack("<II", 4, 8_192)
    for name, shape in shapes.items():
        header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)
    (tmp_path / "model.gguf").write_bytes(header)
    facts = base_model_facts(str(tmp_path / "model.gguf"))
    assert Recipe().rank * facts.reach == SMALL_MODEL_ADAPTER
    assert facts.context_tokens == 8_192
