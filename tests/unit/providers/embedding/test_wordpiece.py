"""Texts are cut into the pieces that BERT's tokenizer gives, and a vocabulary that is none is told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import ConfigError
from tacit.providers.embedding.wordpiece import WordPieces, read_wordpieces
from tests.unit.providers.embedding.small_models import WORDS, tokenizer

PIECES = WordPieces(WORDS)


def cut(text, pieces=PIECES):
    return [WORDS[number] for number in pieces.cut(text, limit=50)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Add a COLUMN", "add a column"),
        ("tables,running", "table ##s , [UNK]"),
        ("run\x0bs\ttest\x7fing", "run ##s test ##ing"),
        ("run-test.", "run - test ."),
        ("thé ADD", "the add"),
        ("the\u00a0add\u3000fix\u200b", "the add fix"),
        ("日本test", "日 本 test"),
        ("add\ufffd\0s \ud800run", "add ##s run"),
        ("“fix”", "[UNK] fix [UNK]"),
        ("t" * 101, "[UNK]"),
        (" \n ", ""),
    ],
)
def test_texts_are_cut_as_the_models_were_taught(text, wanted):
    assert cut(text) == wanted.split()


def test_a_cased_model_sees_capitals_and_accents():
    cased = WordPieces(WORDS, lowers=False, strips_accents=False)
    assert cut("Add add é", cased) == ["[UNK]", "add", "é"]
    assert cut("é") == ["[UNK]"]  # the letter without its accent is not among the words


def test_no_more_pieces_come_than_asked_for():
    assert PIECES.cut("the add a column to table", limit=3) == PIECES.cut("the add a", limit=9)


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_is_cut_and_the_same_twice(text):
    first = PIECES.cut(text, limit=40)
    assert first == WordPieces(WORDS).cut(text, limit=40)
    assert all(0 <= number < len(WORDS) for number in first)


def test_both_files_give_the_same_vocabulary(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer()))
    from_json = read_wordpieces(str(tmp_path))
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    from_text = read_wordpieces(str(tmp_path))
    assert from_json.tokens == from_text.tokens == WORDS
    assert from_json.told() == from_text.told()


@pytest.mark.parametrize(
    "document",
    [
        {}, [], "x", {"model": {"type": "Unigram"}}, {**tokenizer(), "normalizer": None},
        {**tokenizer(), "model": {"type": "BPE", "vocab": {}}}, {**tokenizer(), "model": {"type": "WordPiece", "vocab": {}}},
        {**tokenizer(), "model": {"type": "WordPiece", "vocab": {"a": 1, "b": 2}}},
        {**tokenizer(), "model": {"type": "WordPiece", "vocab": {"a": "0"}}},
        {**tokenizer(), "model": {"type": "WordPiece", "vocab": ["a"]}},
    ],
)  # fmt: skip
def test_a_tokenizer_of_another_kind_is_told(tmp_path, document):
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError):
        read_wordpieces(str(tmp_path))


def test_a_token_that_comes_twice_counts_where_it_came_first(tmp_path):
    (tmp_path / "vocab.txt").write_text("[UNK]\nadd\nadd\nrun\n")
    assert read_wordpieces(str(tmp_path)).cut("run add", limit=9) == [3, 1]


@pytest.mark.parametrize(
    ("name", "data"), [("vocab.txt", b"\xff"), ("tokenizer.json", b"{"), ("tokenizer.json", b"[" * 99_999)]
)
def test_files_that_cannot_be_read_are_told(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=name):
        read_wordpieces(str(tmp_path))


def test_a_folder_without_vocabulary_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"no tokenizer\.json"):
        read_wordpieces(str(tmp_path))
