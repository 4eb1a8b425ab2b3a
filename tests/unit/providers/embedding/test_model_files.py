"""A safetensors file is data from somewhere: what is in it is found, and what is wrong with it is told."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import ConfigError
from tacit.providers.embedding.model_files import WordPieces, fingerprint, read_tensors, read_wordpieces
from tests.raising import raises
from tests.unit.providers.embedding.small_models import WORDS, tokenizer, write_raw, write_safetensors

GOOD = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def test_tensors_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "model.safetensors"
    wanted: dict[str, Any] = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([5, -1], dtype=np.int64)}
    write_safetensors(path, wanted)
    found = read_tensors(str(path))
    assert sorted(found) == ["a", "b"]
    assert (found["a"].kind, found["a"].shape, bytes(found["a"].data)) == ("F32", (2, 3), wanted["a"].tobytes())
    assert np.frombuffer(found["b"].data, dtype=np.int64).tolist() == [5, -1]


@pytest.mark.parametrize(
    "entry",
    [
        {**GOOD, "data_offsets": [0, 25]}, {**GOOD, "data_offsets": [8, 32]}, {**GOOD, "data_offsets": [24, 0]},
        {**GOOD, "data_offsets": [-24, 0]}, {**GOOD, "data_offsets": [0]}, {**GOOD, "data_offsets": "0:24"},
        {**GOOD, "data_offsets": [0.0, 24.0]}, {**GOOD, "shape": [2, 4]}, {**GOOD, "shape": [-2, -3]}, {**GOOD, "shape": 6},
        {**GOOD, "shape": [True, 6]}, {**GOOD, "shape": [2**40, 2**40]}, {**GOOD, "shape": [1] * 9}, {**GOOD, "dtype": "F33"},
        {**GOOD, "dtype": ["F32"]}, {**GOOD, "dtype": None}, {}, [], None, "F32", 7,
    ],
)  # fmt: skip
def test_a_tensor_that_does_not_fit_the_file_is_told(tmp_path, entry):
    path = tmp_path / "model.safetensors"
    write_raw(path, json.dumps({"a": GOOD}).encode(), bytes(24))
    assert list(read_tensors(str(path))) == ["a"]
    write_raw(path, json.dumps({"a": entry}).encode(), bytes(24))
    with pytest.raises(ConfigError) as refused:
        read_tensors(str(path))
    assert refused.value.code in ("tensor_type", "tensor_shape", "tensor_outside")
    assert "'a'" in refused.value.message


@pytest.mark.parametrize("length", [0, 1, 3, 2**20, 2**63, 2**64 - 1])
def test_a_header_of_the_wrong_length_is_told(tmp_path, length):
    path = tmp_path / "model.safetensors"
    write_raw(path, json.dumps({"a": GOOD}).encode(), bytes(24), length=length)
    with raises(ConfigError, "bad_header"):
        read_tensors(str(path))


@pytest.mark.parametrize("header", [b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"a": ' * 100_000, b"9" * 5000])
def test_a_header_that_is_no_list_of_tensors_is_told(tmp_path, header):
    path = tmp_path / "model.safetensors"
    write_raw(path, header)
    with raises(ConfigError, "bad_header"):
        read_tensors(str(path))


def test_a_file_cut_short_anywhere_is_told(tmp_path):
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"a": np.ones((2, 3), dtype=np.float32)})
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ConfigError):
            read_tensors(str(path))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_told(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "model.safetensors"
    path.write_bytes(data)
    with suppress(ConfigError):
        assert isinstance(read_tensors(str(path)), dict)


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            read_tensors(str(path))


def test_fingerprints_tell_names_shapes_types_and_numbers(tmp_path):
    path, seen = tmp_path / "model.safetensors", set()
    big = np.zeros(3 << 20, dtype=np.int8)
    late = big.copy()
    late[-1] = 1
    early = big.copy()
    early[2 << 20] = 1
    ones = np.ones((2, 3), dtype=np.float32)
    variants: list[dict[str, Any]] = [
        {"a": ones},
        {"b": ones},
        {"a": ones.T},
        {"a": ones.reshape(6).view(np.int64)},
        {"a": ones * 2},
    ]
    for tensors in [*variants, {"a": big}, {"a": late}, {"a": early}]:
        write_safetensors(path, tensors)
        seen.add(fingerprint(read_tensors(str(path))))
    assert len(seen) == 8


@pytest.mark.parametrize(("places", "size"), [(((0, 24), (0, 24)), 24), (((0, 24), (24, 48)), 1 << 20)])
def test_tensors_that_overlap_or_leave_gaps_are_told(tmp_path, places, size):
    path = tmp_path / "model.safetensors"
    header = {f"t{at}": {**GOOD, "data_offsets": list(place)} for at, place in enumerate(places)}
    write_raw(path, json.dumps(header).encode(), bytes(size))
    with raises(ConfigError, "tensors_overlap"):
        read_tensors(str(path))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    with raises(ConfigError, "not_a_regular_file"):
        read_tensors(str(tmp_path / "model.safetensors"))


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
    assert from_json.fingerprint() == from_text.fingerprint()


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
    with raises(ConfigError, "unknown_tokenizer"):
        read_wordpieces(str(tmp_path))
