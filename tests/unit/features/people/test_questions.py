"""What a question is made of: what is known before looking, what one sees, and how alike two questions are by their words."""

from __future__ import annotations

import pytest

from tacit.features.people.questions import MAX_CHARACTERS, MAX_CIRCUMSTANCES, Question, cosine, similarity, words_of
from tests.unit.features.people.deciding import choice, question


def test_a_blind_question_knows_nothing_of_the_artifact_and_all_of_the_rest() -> None:
    asked = question({"kind": "lesson"}, features={"scope": "project"}, artifact="text", situation="here")
    assert (asked.blind.traits, asked.blind.artifact) == ({}, "")
    assert (asked.blind.features, asked.blind.situation) == ({"scope": "project"}, "here")
    assert asked.blind.options == asked.options


def test_the_question_of_a_decision_is_what_was_asked_and_not_what_was_said() -> None:
    decided = choice(1, "approve", {"kind": "lesson"}, artifact="text", stimulus="shall it?")
    asked = Question.of(decided)
    assert (asked.person, asked.traits, asked.artifact, asked.stimulus) == (
        "ann",
        {"kind": "lesson"},
        "text",
        "shall it?",
    )
    assert asked.options == ()


def test_contexts_are_none_each_each_pair_and_all() -> None:
    three = question({"a": "1", "b": "2", "c": "3"})
    assert [tuple(name for name, _ in context) for context in three.contexts()] == [
        (), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"),
    ]  # fmt: skip
    assert list(question().contexts()) == [()]
    two = question({"a": "1", "b": "2"})
    assert len(set(two.contexts())) == len(list(two.contexts())) == 4, "a pair that is all is not told twice"


def test_many_circumstances_are_cut_to_the_same_few_in_any_order() -> None:
    names = [f"n{number}" for number in range(20)]
    one, other = question(dict.fromkeys(names, "x")), question(dict.fromkeys(reversed(names), "x"))
    assert len(one.circumstances) == MAX_CIRCUMSTANCES
    assert list(one.circumstances) == list(other.circumstances)


def test_a_trait_goes_before_a_feature_of_its_name() -> None:
    assert question({"kind": "seen"}, features={"kind": "told"}).circumstances == {"kind": "seen"}


def test_the_same_words_are_alike_and_others_are_not() -> None:
    one = words_of(question(artifact="deploy the server", situation="shop"))
    assert similarity(one, one) == pytest.approx(1.0)
    assert similarity(one, words_of(question(artifact="paint a fence", situation="garden"))) == 0.0
    half = words_of(question(artifact="deploy the server", situation="garden"))
    assert similarity(one, half) == pytest.approx(0.5)


def test_a_part_that_only_one_has_counts_against_likeness() -> None:
    one, other = words_of(question(artifact="deploy")), words_of(question(artifact="deploy", stimulus="why"))
    assert similarity(one, other) == similarity(other, one) == pytest.approx(0.5)


def test_nothing_is_like_nothing() -> None:
    assert similarity({}, {}) == 0.0
    assert cosine(frozenset(), frozenset({"a"})) == 0.0


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    long = words_of(question(artifact="start " + "x " * MAX_CHARACTERS + " ending"))
    assert "start" in long["artifact"]
    assert "end" not in long["artifact"]
