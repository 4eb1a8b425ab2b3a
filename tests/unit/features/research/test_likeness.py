"""What is the same work: by identifier, by text, by its place, or by the sentences that it shares."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tacit.domain.stored import Passage
from tacit.features.research.document import Document
from tacit.features.research.research import is_same_work, shared

OLD = (Passage(index=0, text="Caches age. They are warm. They are small."),)


def document(text: str = "Other words.", source: str = "guide.md", **identifiers: str) -> Document:
    passages = (Passage(index=0, text=text),)
    return Document(title="On caches", passages=passages, source=source, identifiers=identifiers)


def record(source: str = "guide.md", **said: str) -> Mapping[str, str]:
    told = {"title": "On caches", "source": source, "text_digest": "sha256:0", **said}
    return {f"document.{key}": value for key, value in told.items()}


@pytest.mark.parametrize(
    ("known", "found", "same"),
    [
        (record(arxiv="2601.01234v1"), document(source="arxiv:2601.01234v2", arxiv="2601.01234v2"), True),
        (record(doi="10.1000/xyz"), document(doi="10.1000/xyz"), False),
        (record(doi="10.1000/xyz"), document("Caches age. They are cold.", doi="10.1000/xyz"), True),
        (record(arxiv="2601.01234"), document("Caches age. They are warm.", arxiv="2601.99999"), False),
        (record("./docs/guide.md"), document(source="./docs/guide.md"), True),
        (record("https://example.org/x"), document(source="https://example.org/x"), True),
        (record("./a/guide.md"), document("Caches age.", source="./b/guide.md"), False),
        (record(), document("Caches age. They are cold."), True),
        (record(), document(), False),
        (record(title="Another"), document("Caches age."), False),
        (record(text_digest=document().text_digest(), source="copy.md"), document(), True),
    ],
)
def test_a_work_is_known_again(known: Mapping[str, str], found: Document, same: bool) -> None:
    assert is_same_work(known, found, lambda: OLD) is same


def test_what_is_shared_is_counted_of_the_shorter_text() -> None:
    assert shared(OLD, [Passage(index=0, text="They are warm.")]) == 1.0
    assert shared(OLD, []) == 0.0
