"""Features of a task's text, and how strongly cues match them."""

from __future__ import annotations

import pytest

from tacit.domain.skill import Cue
from tacit.text.cues import clauses, features, first_mention, identifiers, means_any, shape, strength, words_of

RESTART = (Cue(term="", weight=0.1), Cue(term="restart", weight=0.9), Cue(term="delet", weight=-0.5))


def test_words_are_stemmed_and_free_of_identifiers_and_numbers() -> None:
    assert words_of("Restarting the server web-17 for ann@example.org, ticket #A1234") == [
        "restart",
        "server",
        "ticket",
    ]


def test_the_parts_of_a_tool_name_are_words() -> None:
    assert words_of("startEngine") == words_of("start_engine") == words_of("start engine")


def test_short_forms_leave_no_stray_letters() -> None:
    assert words_of("I'd say it's Ann's server") == words_of("say Ann server")


def test_pairs_reach_over_one_word_and_count_less_than_words() -> None:
    found = features("change payment method")
    assert {"chang payment", "payment method", "chang method"} <= found.keys()
    assert found["chang payment"] < found["chang"]


def test_a_word_counts_less_in_a_longer_text() -> None:
    assert features("restart")["restart"] > features("restart the old server in the cellar tonight")["restart"]


def test_a_repeated_word_is_one_feature() -> None:
    assert features("restart restart restart")["restart"] < 1
    assert list(features("restart restart")) == ["restart", "restart restart"]


def test_cues_speak_for_and_against() -> None:
    assert strength(RESTART, features("restart it")) == pytest.approx(1.0)
    assert strength(RESTART, features("restart or delete")) < strength(RESTART, features("restart or wait"))
    assert strength(RESTART, features("say hello")) == 0.1


def test_without_words_only_the_bias_is_left() -> None:
    assert features("#17 12:30") == {}
    assert strength(RESTART, {}) == 0.1


def test_place_is_where_the_strongest_cue_stands() -> None:
    assert first_mention(RESTART, "restart the server, then write a report") == 0
    assert first_mention(RESTART, "write a report, then restart the server") > 0
    assert first_mention(RESTART, "write a report") == 1.0


def test_place_of_a_pair_is_its_first_word() -> None:
    pair = (Cue(term="old server", weight=1.0),)
    assert first_mention(pair, "look at the old server") == first_mention(
        (Cue(term="old", weight=1.0),), "look at the old server"
    )


def test_clauses_end_with_sentences_semicolons_and_lines() -> None:
    assert clauses("Do this. Do that; and more\nThe end") == ["Do this.", "Do that", "and more", "The end"]


def test_identifiers_are_long_numbers_and_share_a_shape() -> None:
    assert identifiers("Close #A1234, #A1234 and #A9876 before 5 pm.") == ["#A1234", "#A9876"]
    assert shape("#A1234") == shape("#A9876") != shape("12345")


@pytest.mark.parametrize(
    ("word", "text", "told"),
    [
        ("rm", "please delete these drafts", True),
        ("rm", "removing old drafts", True),
        ("rm", "rm drafts", True),
        ("rm", "keep the drafts", False),
        ("cp", "make a copy of it", True),
        ("mkdir", "create a new folder for it", True),
        ("mkdir", "create a new file", False),
        ("msg", "send a message", True),
        ("rose", "cut the roses", True),
        ("rose", "cut the hedge", False),
    ],
)
def test_a_short_name_is_said_by_what_it_is_short_for(word: str, text: str, told: bool) -> None:
    (stemmed,) = words_of(word)
    assert means_any(stemmed, frozenset(words_of(text))) is told
