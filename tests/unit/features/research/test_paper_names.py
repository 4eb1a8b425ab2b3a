"""What a person types names a paper, an address or a file."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake
from tacit.features.research.papers import PaperSourceKind, parse_source
from tests.raising import raises


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("arxiv:2601.01234v2", PaperSourceKind.ARXIV, "2601.01234v2"),
        ("arXiv: 2601.01234", PaperSourceKind.ARXIV, "2601.01234"),
        ("2601.01234", PaperSourceKind.ARXIV, "2601.01234"),
        ("cs/0112017", PaperSourceKind.ARXIV, "cs/0112017"),
        ("arxiv:math.GT/0309136v1", PaperSourceKind.ARXIV, "math.GT/0309136v1"),
        ("https://arxiv.org/abs/2601.01234v3", PaperSourceKind.ARXIV, "2601.01234v3"),
        ("http://www.arxiv.org/pdf/2601.01234.pdf", PaperSourceKind.ARXIV, "2601.01234"),
        ("https://export.arxiv.org/pdf/cs/0112017", PaperSourceKind.ARXIV, "cs/0112017"),
        ("doi:10.1234/a.b(c)", PaperSourceKind.DOI, "10.1234/a.b(c)"),
        ("10.1234/x", PaperSourceKind.DOI, "10.1234/x"),
        ("https://doi.org/10.1234/x%2Fy", PaperSourceKind.DOI, "10.1234/x/y"),
        ("s2:" + "A" * 40, PaperSourceKind.SCHOLAR, "a" * 40),
        ("b" * 40, PaperSourceKind.SCHOLAR, "b" * 40),
        ("CorpusID:12345", PaperSourceKind.SCHOLAR, "CorpusId:12345"),
        ("https://www.semanticscholar.org/paper/A-Title/" + "c" * 40, PaperSourceKind.SCHOLAR, "c" * 40),
        ("https://example.org/paper.pdf", PaperSourceKind.ADDRESS, "https://example.org/paper.pdf"),
        ("https://arxiv.org/list/cs", PaperSourceKind.ADDRESS, "https://arxiv.org/list/cs"),
        (
            "https://arxiv.org.example.net/abs/2601.01234",
            PaperSourceKind.ADDRESS,
            "https://arxiv.org.example.net/abs/2601.01234",
        ),
        ("paper.pdf", PaperSourceKind.FILE, "paper.pdf"),
        ("./2601.01234", PaperSourceKind.FILE, "./2601.01234"),
        ("docs/1234567.md", PaperSourceKind.FILE, "docs/1234567.md"),
        ("file:///etc/passwd", PaperSourceKind.FILE, "file:///etc/passwd"),
    ],
)
def test_a_name_is_told_by_its_form(text: str, sort: PaperSourceKind, value: str) -> None:
    source = parse_source(text)
    assert (source.sort, source.value) == (sort, value)


def test_a_source_is_told_in_one_way() -> None:
    assert str(parse_source("https://arxiv.org/abs/2601.01234v3")) == "arxiv:2601.01234v3"
    assert str(parse_source("https://doi.org/10.1234/x")) == "doi:10.1234/x"
    assert str(parse_source("a/paper.pdf")) == "a/paper.pdf"


@pytest.mark.parametrize("text", ["https://[::1", "http://[x]/y", "https://a]b/"])
def test_an_address_that_is_none_is_a_mistake(text: str) -> None:
    with raises(Mistake, "invalid_url"):
        parse_source(text)
