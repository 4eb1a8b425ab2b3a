"""Reason codes: stored as text and read back, and a sentence for each; old sentences stay as they are."""

from __future__ import annotations

import string

import pytest

from tacit.domain.care import Advice, CareReason
from tacit.domain.lifecycle import CodedReason, coded, joined_text, parse_reasons
from tacit.maintain.promotion_rules import PromotionReason
from tacit.maintain.reason_text import SENTENCES, sentence, stored_reason

EVERY_CODE = [*CareReason, *Advice, *PromotionReason]


def filled(code: str) -> CodedReason:
    """The reason with a number for every value that its sentence uses."""
    names = [name for _, name, _, _ in string.Formatter().parse(SENTENCES[code]) if name]
    return coded(code, **dict.fromkeys(names, 1))


@pytest.mark.parametrize("code", EVERY_CODE)
def test_every_code_has_a_sentence_that_its_values_fill(code: str) -> None:
    found = sentence(filled(code))
    assert found.strip()
    assert not set("{}_") & set(found)


def test_codes_of_different_enumerations_do_not_collide() -> None:
    assert len(set(map(str, EVERY_CODE))) == len(EVERY_CODE)


def test_reasons_are_read_back_as_they_were_stored() -> None:
    reasons = [coded("trust_earned", low=0.76543, uses=10), coded("passed"), coded("text", text='a "b": {c}\nd')]
    assert parse_reasons(joined_text(reasons)) == reasons
    assert reasons[0].values["low"] == 0.7654


@pytest.mark.parametrize(
    "text", ["", "Merged into `x`", "looked at it", "failed: no JSON", "a_code: {broken", "two words"]
)
def test_what_a_person_wrote_is_no_code_and_stays_as_it_is(text: str) -> None:
    assert parse_reasons(text) is None
    assert stored_reason(text) == text


def test_an_unknown_code_and_missing_values_are_shown_as_stored() -> None:
    assert stored_reason("some_future_code") == "some_future_code"
    assert stored_reason("part_unusable") == "part_unusable"


def test_a_reason_inside_a_reason_is_worded_too() -> None:
    inner = coded("passed")
    assert sentence(coded("removed_by_evidence", on="2026-01-01", why=str(inner))).endswith(sentence(inner))
