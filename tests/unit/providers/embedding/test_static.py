"""A static model gives the mean of its tokens' vectors, and costs a hook no library."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tacit.domain.errors import ConfigError, ModelOutage
from tacit.providers.embedding.static import StaticEmbedder, is_static
from tests.raising import raises
from tests.unit.providers.embedding.small_models import WORDS, static_folder, write_safetensors


def mean_of(table, *words):
    mean = table[[WORDS.index(word) for word in words]].astype(np.float64).mean(axis=0)
    return mean / np.linalg.norm(mean)


def table_of(folder):
    data = (folder / "model.safetensors").read_bytes()
    entry = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["embeddings"]
    kind = {"F32": np.float32, "F16": np.float16, "I8": np.int8}[entry["dtype"]]
    size = len(WORDS) * 8 * np.dtype(kind).itemsize
    start = 8 + int.from_bytes(data[:8], "little") + entry["data_offsets"][0]
    return np.frombuffer(data[start : start + size], dtype=kind).reshape(-1, 8)


def floats(vector):
    return np.frombuffer(vector, dtype="<f4")


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_vectors_are_the_mean_of_the_tokens_vectors(tmp_path, kind):
    folder = static_folder(tmp_path, kind=kind)
    first, second = StaticEmbedder(str(folder)).embed(["Add a column: tables", "testing"])
    assert floats(first) == pytest.approx(mean_of(table_of(folder), "add", "a", "column", "table", "##s"), abs=1e-6)
    assert floats(second) == pytest.approx(mean_of(table_of(folder), "test", "##ing"), abs=1e-6)


def test_unknown_words_do_not_count(tmp_path):
    embedder = StaticEmbedder(str(static_folder(tmp_path)))
    assert embedder.embed(["add zzz the qqq"]) == embedder.embed(["add the"])


def test_weights_and_mapping_are_heeded(tmp_path):
    weights = np.linspace(0.5, 3, len(WORDS)).astype(np.float32)
    mapping = np.array([(place * 7) % len(WORDS) for place in range(len(WORDS))], dtype=np.int64)
    folder = static_folder(tmp_path, weights=weights, mapping=mapping)
    (vector,) = StaticEmbedder(str(folder)).embed(["add the table"])
    places = [WORDS.index(word) for word in ("add", "the", "table")]
    mean = sum(table_of(folder)[mapping[place]].astype(float) * weights[place] for place in places)
    assert floats(vector) == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


@pytest.mark.parametrize("text", ["", "zzz", "x" * 1_000_000, "add " * 300_000, "\ud800", "\0", "日本", "🙂", "ÉÉ é"])
def test_any_text_gives_a_vector_of_length_one(tmp_path, text):
    (vector,) = StaticEmbedder(str(static_folder(tmp_path))).embed([text])
    assert np.linalg.norm(floats(vector)) == pytest.approx(1, abs=1e-6)


def test_a_text_is_the_same_with_vocab_txt_and_with_tokenizer_json(tmp_path):
    folder = static_folder(tmp_path)
    before = StaticEmbedder(str(folder))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer.json").unlink()
    after = StaticEmbedder(str(folder))
    assert after.identity == before.identity
    assert after.embed(["Add a column"]) == before.embed(["Add a column"])


def test_identity_follows_vectors_and_words_and_not_the_folder(tmp_path):
    first = StaticEmbedder(str(static_folder(tmp_path / "one"))).identity
    assert first.startswith("tiny-static/8@")
    assert StaticEmbedder(str(static_folder(tmp_path / "two"))).identity == first
    assert StaticEmbedder(str(static_folder(tmp_path / "seed", seed=4))).identity != first


@pytest.mark.parametrize(
    "tensors",
    [
        {}, {"embeddings": np.ones(8, dtype=np.float32)}, {"embeddings": np.ones((4, 8), dtype=np.float32)},
        {"embeddings": np.ones((0, 8), dtype=np.float32)},
        {"embeddings": np.ones((30, 8), dtype=np.float32), "weights": np.ones(3, dtype=np.float32)},
        {"embeddings": np.ones((30, 8), dtype=np.float32), "mapping": np.full(30, 30, dtype=np.int64)},
        {"embeddings": np.ones((30, 8), dtype=np.float32), "mapping": np.full(30, -1, dtype=np.int64)},
        {"embeddings": np.ones((30, 8), dtype=np.float32), "mapping": np.full((30, 2), 1, dtype=np.int64)},
        {"embeddings": np.ones((30, 8), dtype=np.float32), "mapping": np.ones(30, dtype=np.float32)},
        {"embeddings": np.ones((30, 8), dtype=np.float32), "weights": np.ones((1 << 22) + 1, dtype=np.int8)},
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_the_vocabulary_are_told(tmp_path, tensors):
    folder = static_folder(tmp_path)
    write_safetensors(folder / "model.safetensors", tensors)
    with pytest.raises(ConfigError):
        StaticEmbedder(str(folder))


def test_numbers_that_are_not_finite_are_an_outage(tmp_path):
    folder = static_folder(tmp_path)
    write_safetensors(folder / "model.safetensors", {"embeddings": np.full((len(WORDS), 8), np.inf, dtype=np.float32)})
    with raises(ModelOutage, "not_finite"):
        StaticEmbedder(str(folder)).embed(["add"])


def test_numbers_too_large_together_are_an_outage(tmp_path):
    table = np.full((len(WORDS), 8), 1.5e308)
    folder = static_folder(tmp_path, kind="float64")
    write_safetensors(folder / "model.safetensors", {"embeddings": table})
    with raises(ModelOutage, "not_finite"):
        StaticEmbedder(str(folder)).embed(["add a column"])


def test_an_empty_vocabulary_is_told(tmp_path):
    folder = static_folder(tmp_path)
    (folder / "vocab.txt").write_text("\n")
    with raises(ConfigError, "no_tokens"):
        StaticEmbedder(str(folder))


def test_a_folder_says_itself_whether_it_is_static(tmp_path):
    assert is_static(str(static_folder(tmp_path)))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert not is_static(str(tmp_path))
    assert not is_static(str(tmp_path / "nowhere"))


def test_a_hook_that_embeds_loads_no_library_for_it(tmp_path):
    folder = static_folder(tmp_path)
    code = (
        "import sys, tacit.recall.hook_recall, tacit.store.hook_index; before = set(sys.modules); "
        "from tacit.providers.embedding.static import StaticEmbedder; "
        f"StaticEmbedder({str(folder)!r}).embed(['add a column to the table']); "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('tacit')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(ran.stdout.replace("'", '"')))
    assert loaded <= {"mmap", "struct", "_struct"}
