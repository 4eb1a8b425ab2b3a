"""The embedder without weights: the same everywhere, near for like spelling, never in the way."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.providers.embedding.hashed import HashedEmbedder


def vectors(*texts):
    return [np.frombuffer(vector, dtype="<f4") for vector in HashedEmbedder().embed(texts)]


def test_like_spelling_is_nearer_than_other_spelling():
    asked, like, other = vectors("add a column to invoices", "adding columns to the invoice", "restart nginx")
    assert asked @ like > 0.3 > asked @ other


@pytest.mark.parametrize("text", ["", "x" * 1_000_000, "\ud800", "\0", "日本語", "a"])
def test_any_text_gives_a_vector_of_length_one(text):
    assert np.linalg.norm(vectors(text)[0]) == pytest.approx(1, abs=1e-6)


def test_vectors_do_not_depend_on_the_process():
    # The hash is the same on every machine, so the numbers can be written down.
    (vector,) = HashedEmbedder(8).embed(["run"])
    assert np.frombuffer(vector, dtype="<f4").tolist() == pytest.approx(
        [-0.57735, 0, 0.57735, 0, 0, 0, 0, -0.57735], abs=1e-5
    )
