from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.identity import canonical
from tacit.ingest.log_files import (
    MAX_DEPTH,
    MAX_TEXT_CHARACTERS,
    Place,
    amount_of,
    bounded,
    bounded_value,
    count_of,
    decode,
    moment_of,
    text_of,
)
from tests.raising import raises

PLACE = Place("log.jsonl", 7)
anything = msgspec.json.Decoder(Any)


def value_of(text: bytes) -> Any:
    return bounded_value(decode(anything, text, PLACE), PLACE)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "not_json"),
        (b'{"a": 1', "not_json"),
        (b'{"a": 1} x', "not_json"),
        (b"{'a': 1}", "not_json"),
        (b'{"a": NaN}', "not_json"),
        (b'{"a": Infinity}', "not_json"),
        (b'{"a": "\\ud83d', "not_json"),
        (b'{"a": "\xff"}', "not_utf8"),
        (b'{"a": "\xed\xa0\x80"}', "not_utf8"),
        (b'{"a": 1e999}', "unexpected_form"),
        (b'{"a": ' + b"9" * 5000 + b"}", "unexpected_form"),
        (b"[" * 100_000 + b"]" * 100_000, "nested_too_deeply"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "nested_too_deeply"),
        (b"[" * 300 + b"]" * 300, "nested_too_deeply"),
    ],
)
def test_broken_json_is_a_problem_that_names_the_place(text: bytes, code: str) -> None:
    with raises(InvalidTrajectory, code) as caught:
        value_of(text)
    assert caught.value.message.startswith("log.jsonl, line 7: ")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\uDE00 x"', "\ufffd x"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
        (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
        (rb'"\\\ud83d"', "\\\ufffd"),
        (rb'"\u0041 \ud83d \n"', "A \ufffd \n"),
        (rb'{"\ud83d": 1}', {"\ufffd": 1}),
    ],
)
def test_half_a_pair_of_surrogates_is_replaced(text: bytes, value: Any) -> None:
    assert value_of(text) == value
    canonical(value_of(text))


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    assert value_of(b'{"a": 1, "a": 2}') == {"a": 2}


def test_integers_beyond_64_bits_become_text() -> None:
    assert value_of(b"[9223372036854775807, 9223372036854775808]") == [2**63 - 1, str(2**63)]


def test_values_at_the_depth_limit_have_an_identity() -> None:
    deepest = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    canonical(value_of(deepest))
    with pytest.raises(InvalidTrajectory):
        value_of(b"[" + deepest + b"]")


def test_short_texts_are_left_alone() -> None:
    text = "x" * MAX_TEXT_CHARACTERS
    assert bounded(text) is text


def test_long_texts_keep_head_and_tail_and_say_how_much_is_gone() -> None:
    text = "".join(f"{number} " for number in range(50_000))
    cut = bounded(text)
    head, _, rest = cut.partition("[… ")
    count, _, tail = rest.partition(" characters cut …]")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(count) + len(tail) == len(text)
    assert len(head) + len(tail) <= MAX_TEXT_CHARACTERS


def test_a_cut_falls_between_words() -> None:
    cut = bounded(" ".join(["secret-abcdefghijklmnopqrstuvwxyz"] * 10_000))
    words = set(cut.replace("[…", " ").replace("…]", " ").split())
    assert {word for word in words if "secret" in word or "xyz" in word} == {"secret-abcdefghijklmnopqrstuvwxyz"}


def test_a_text_without_blanks_is_cut_all_the_same() -> None:
    assert len(bounded("x" * 1_000_000)) < MAX_TEXT_CHARACTERS + 100


def test_long_texts_inside_values_are_cut_too() -> None:
    long = "x" * 100_000
    value = bounded_value({"a": [long], long: 1}, PLACE)
    assert all(len(text) < 70_000 for text in (value["a"][0], *value))


@pytest.mark.parametrize(("value", "count"), [(3, 3), (2.5, 2), (0, 0), (-1, 0), ("3", 0), (None, 0), (10**30, 0)])
def test_counts_are_counts_or_nothing(value: Any, count: int) -> None:
    assert count_of(value) == count


@pytest.mark.parametrize(("value", "amount"), [(1, 1.0), (-0.5, -0.5), (True, None), ("1", None), (10**400, None)])
def test_amounts_are_numbers_or_nothing(value: Any, amount: float | None) -> None:
    assert amount_of(value) == amount


@pytest.mark.parametrize("value", [None, 5, "", "noon", "2026-13-01", "0001-01-01T00:00:00+14:00", "2026-01-01T25:00Z"])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert moment_of(value) is None


def test_only_a_text_is_a_text() -> None:
    assert [text_of(value) for value in ("a", None, 5, ["a"])] == ["a", "", "", ""]


KEY_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
KEY = "-----BEGIN PRIVATE " + "KEY-----\n" + f"{KEY_LINE}\n" * 40 + "-----END PRIVATE " + "KEY-----\n"


@pytest.mark.parametrize("size", [70_000, 400_000])
@pytest.mark.parametrize("inside", [10, 1500, len(KEY) - 40])
@pytest.mark.parametrize("filling", ["word ", "a,"])
def test_no_part_of_a_key_stays_where_a_text_is_cut(size: int, inside: int, filling: str) -> None:
    fill = filling * size
    half = MAX_TEXT_CHARACTERS // 2
    at_head = fill[: half - inside] + KEY + fill[:size]
    at_tail = fill[:size] + KEY + fill[: half - len(KEY) + inside]
    for text in (at_head, at_tail, KEY * (size // len(KEY))):
        kept = bounded(text)
        assert KEY_LINE[:20] not in kept
        assert len(kept) <= MAX_TEXT_CHARACTERS + 100


def test_no_part_of_a_long_token_stays_behind_the_cut() -> None:
    assert "A1b2" not in bounded("word " * 10_000 + "A1b2" * 100_000 + " end").partition("cut")[2]
