"""A sentence encoder gives what the model's definition says, for any text and whatever runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tacit.domain.errors import ConfigError, ModelOutage
from tacit.providers.embedding.bert import gelu
from tacit.providers.embedding.sentence import SentenceEncoder
from tests.raising import raises
from tests.unit.providers.embedding.small_models import (
    PLACES,
    WIDTH,
    WORDS,
    bert_folder,
    bert_tensors,
    plain_bert,
    write_safetensors,
)

TEXTS = [
    "add a column to the table",
    "",
    "the",
    "drop the tables, running tests.",
    "nothing known heré",
    "fix - fix - fix",
]


def arrays(vectors):
    return np.array([np.frombuffer(vector, dtype="<f4") for vector in vectors])


def numbers(*words):
    return [WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]


def test_vectors_are_those_of_the_models_definition(tmp_path):
    found = arrays(SentenceEncoder(bert_folder(tmp_path)).embed(["Add a COLUMN, to the tables.", "run"]))
    first = plain_bert(bert_tensors(), numbers("add", "a", "column", ",", "to", "the", "table", "##s", "."))
    assert found[0] == pytest.approx(first, abs=1e-5)
    assert found[1] == pytest.approx(plain_bert(bert_tensors(), numbers("run")), abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_among_others(tmp_path):
    encoder = SentenceEncoder(bert_folder(tmp_path))
    many = [f"{text} {'test ' * (place % 9)}" for place, text in enumerate(TEXTS * 60)]
    together = arrays(encoder.embed(many))
    alone = arrays([encoder.embed([text])[0] for text in many[:20]])
    assert together[:20] == pytest.approx(alone, abs=1e-5)
    assert len(together) == len(many)


@pytest.mark.parametrize("kind", ["float16", "bert."])
def test_weights_may_be_halves_and_may_carry_a_prefix(tmp_path, kind):
    wanted = arrays(SentenceEncoder(bert_folder(tmp_path / "plain")).embed(TEXTS))
    tensors = bert_tensors()
    if kind == "float16":
        tensors = {name: array.astype(np.float16) for name, array in tensors.items()}
    else:
        tensors = {f"bert.{name}": array for name, array in tensors.items()}
    found = arrays(SentenceEncoder(bert_folder(tmp_path / "other", tensors=tensors)).embed(TEXTS))
    assert (wanted * found).sum(axis=1) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "x" * 1_000_000,
        "a " * 500_000,
        "\ud800 add \udfff",
        "\0add\0",
        "日本 語",
        "é",
        "🙂" * 100,
        "\u202e" * 9,
    ],
)
def test_any_text_gives_a_vector_of_length_one(tmp_path, text):
    (vector,) = SentenceEncoder(bert_folder(tmp_path)).embed([text])
    assert len(vector) == WIDTH * 4
    assert np.linalg.norm(np.frombuffer(vector, dtype="<f4")) == pytest.approx(1, abs=1e-5)


def test_a_text_is_cut_where_the_model_stops_reading(tmp_path):
    encoder = SentenceEncoder(bert_folder(tmp_path))  # 16 tokens, two of them its frame
    short, long, same = arrays(encoder.embed(["run " * 13, "run " * 14, "run " * 14 + "drop the table"]))
    assert long == pytest.approx(same, abs=1e-6)  # rows of one product may differ in their last bit
    assert short != pytest.approx(long, abs=1e-4)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 4096}')
    beyond, further = arrays(SentenceEncoder(tmp_path).embed(["run " * (PLACES - 2), "run " * PLACES]))
    assert beyond == pytest.approx(further, abs=1e-6)
    assert beyond != pytest.approx(long, abs=1e-4)


def test_no_texts_give_no_vectors(tmp_path):
    assert SentenceEncoder(bert_folder(tmp_path)).embed([]) == []


def test_pooling_takes_the_first_token_where_the_model_says_so(tmp_path):
    mean = SentenceEncoder(bert_folder(tmp_path))
    (tmp_path / "1_Pooling").mkdir()
    pooling = tmp_path / "1_Pooling" / "config.json"
    pooling.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    first = SentenceEncoder(tmp_path)
    assert first.embed(["add a column"]) != mean.embed(["add a column"])
    assert first.identity != mean.identity
    pooling.write_text('{"pooling_mode_max_tokens": true}')
    with raises(ConfigError, "unknown_pooling"):
        SentenceEncoder(tmp_path)


def test_gelu_is_the_exact_one_and_not_its_usual_approximation():
    from math import erf

    x = np.linspace(-9, 9, 70_001, dtype=np.float32)
    exact = np.array([value * 0.5 * (1 + erf(value / 2**0.5)) for value in x.astype(float)])
    assert np.abs(gelu(x.copy()) - exact).max() < 1e-6


def test_numbers_that_are_not_finite_are_an_outage_and_never_a_vector(tmp_path):
    tensors = bert_tensors()
    tensors["embeddings.word_embeddings.weight"][WORDS.index("drop")] = np.nan
    encoder = SentenceEncoder(bert_folder(tmp_path, tensors=tensors))
    assert len(encoder.embed(["add"])) == 1
    with raises(ModelOutage, "not_finite"):
        encoder.embed(["add", "drop"])


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "roberta"}, {"hidden_act": "relu"}, {"num_hidden_layers": 3}, {"num_hidden_layers": 10**9},
        {"num_attention_heads": 5}, {"hidden_size": 64}, {"vocab_size": 5}, {"layer_norm_eps": "small"},
        {"intermediate_size": None}, {"position_embedding_type": "relative_key"},
    ],
)  # fmt: skip
def test_a_config_that_does_not_fit_the_weights_is_told(tmp_path, config):
    encoder = SentenceEncoder(bert_folder(tmp_path, **config))
    with pytest.raises(ConfigError):
        encoder.embed(["add a column"])


def test_a_missing_tensor_is_named(tmp_path):
    tensors = bert_tensors()
    del tensors["encoder.layer.1.output.dense.bias"]
    with raises(ConfigError, "tensor_missing"):
        SentenceEncoder(bert_folder(tmp_path, tensors=tensors)).embed(["add"])


def test_identity_follows_what_decides_the_vectors_and_not_the_folder(tmp_path):
    first = SentenceEncoder(bert_folder(tmp_path / "one")).identity
    assert first.startswith("Tiny-L2/32@")
    assert SentenceEncoder(bert_folder(tmp_path / "elsewhere" / "two")).identity == first
    others = {first}
    others.add(SentenceEncoder(bert_folder(tmp_path / "seed", tensors=bert_tensors(8))).identity)
    longer = bert_folder(tmp_path / "longer")
    (longer / "sentence_bert_config.json").write_text('{"max_seq_length": 20}')
    others.add(SentenceEncoder(longer).identity)
    cased = bert_folder(tmp_path / "cased")
    (cased / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    others.add(SentenceEncoder(cased).identity)
    words = bert_folder(tmp_path / "words")
    (words / "vocab.txt").write_text("\n".join([*WORDS[:-1], "release"]))
    others.add(SentenceEncoder(words).identity)
    others.add(SentenceEncoder(bert_folder(tmp_path / "shallow", num_hidden_layers=1)).identity)
    others.add(SentenceEncoder(bert_folder(tmp_path / "rough", layer_norm_eps=1e-5)).identity)
    assert len(others) == 7


def test_one_number_changed_at_the_end_of_a_tensor_is_another_space(tmp_path):
    tensors = bert_tensors()
    first = SentenceEncoder(bert_folder(tmp_path / "one", tensors=tensors)).identity
    tensors["embeddings.word_embeddings.weight"][-1, -1] += 1
    assert SentenceEncoder(bert_folder(tmp_path / "two", tensors=tensors)).identity != first


def test_a_folder_without_weights_or_width_is_refused_at_once(tmp_path):
    folder = bert_folder(tmp_path)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with raises(ConfigError, "no_dimensions"):
        SentenceEncoder(folder)
    (folder / "model.safetensors").unlink()
    with raises(ConfigError, "no_weights"):
        SentenceEncoder(folder)


def test_a_layer_behind_the_pooling_is_refused(tmp_path):
    (bert_folder(tmp_path) / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]')
    with raises(ConfigError, "layer_after_pooling"):
        SentenceEncoder(tmp_path)


def test_opening_loads_neither_numpy_nor_the_weights(tmp_path):
    folder = bert_folder(tmp_path)
    code = (
        "import sys; from pathlib import Path; from tacit.providers.embedding.embedder_choice import open_embedder; "
        f"e = open_embedder({str(folder)!r}, home=Path({str(tmp_path)!r})); e.identity; e.dimensions; "
        "print(sorted({'numpy', 'openai', 'huggingface_hub', 'tokenizers'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_weights_of_another_type_are_refused(tmp_path):
    folder = bert_folder(tmp_path)
    tensors = {name: (array * 50).astype(np.int8) for name, array in bert_tensors().items()}
    write_safetensors(folder / "model.safetensors", tensors)
    with raises(ConfigError, "tensor_type"):
        SentenceEncoder(folder).embed(["add"])
