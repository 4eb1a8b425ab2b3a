"""A static model is made of an encoder: nearer to it than chance, whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.domain.errors import ConfigError
from tacit.providers.embedding.distilling import distil, reduced, weighed
from tacit.providers.embedding.embedder_choice import open_folder
from tests.raising import raises
from tests.unit.providers.embedding.small_models import WORDS, bert_folder, bert_tensors


def test_a_static_model_is_made_and_can_be_opened_by_its_folder(tmp_path):
    heard = []
    source, target = bert_folder(tmp_path / "source"), tmp_path / "made"
    made = distil(source, target, dimensions=16, progress=lambda done, of: heard.append((done, of)))
    again = open_folder(target)
    assert made.dimensions == again.dimensions == 16
    assert made.identity == again.identity
    assert made.identity.startswith("Tiny-L2-static/16@")
    assert made.embed(["add a column"]) == again.embed(["add a column"])
    assert heard[-1] == (len(WORDS), len(WORDS))
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_tokens_alike_for_the_encoder_are_alike_for_the_static_model(tmp_path):
    tensors = bert_tensors()
    words = tensors["embeddings.word_embeddings.weight"]
    words[WORDS.index("drop")] = words[WORDS.index("add")] + np.float32(0.001)
    made = distil(bert_folder(tmp_path / "source", tensors=tensors), tmp_path / "made", dimensions=16)
    add, drop, other = (np.frombuffer(vector, dtype="<f4") for vector in made.embed(["add", "drop", "table"]))
    assert add @ drop > 0.99 > add @ other


def test_reduced_vectors_keep_distances_when_nothing_is_left_out():
    vectors = np.random.default_rng(5).normal(3, 1, (40, 12)).astype(np.float32)
    kept = reduced(vectors, 12)
    assert np.linalg.norm(kept[3] - kept[9]) == pytest.approx(np.linalg.norm(vectors[3] - vectors[9]), abs=1e-4)
    assert np.abs(kept.mean(axis=0)).max() < 1e-5
    fewer = reduced(vectors, 4)
    assert fewer.shape == (40, 4)
    assert (np.diff(fewer.var(axis=0)) <= 0).all()


def test_rarer_tokens_weigh_more():
    sizes = np.linalg.norm(weighed(np.ones((50, 4), dtype=np.float32)), axis=1)
    assert (np.diff(sizes) > 0).all()


def test_nothing_is_overwritten_and_a_failure_leaves_nothing(tmp_path):
    source = bert_folder(tmp_path / "source")
    (tmp_path / "there").mkdir()
    with raises(ConfigError, "already_exists"):
        distil(source, tmp_path / "there")

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distil(source, tmp_path / "made", progress=stop)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["source", "there"]
