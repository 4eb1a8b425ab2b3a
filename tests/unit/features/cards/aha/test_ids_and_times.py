"""Ids, times, names of users and skills: as the original gives them, and never two things under one id."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.features.cards.card_records import (
    WELL_FORMED,
    backport_id,
    card_id,
    event_id,
    first_skill_name,
    format_time,
    parse_time,
    recommendation_id,
    signal_id,
    unused_id,
    user_slug,
)

TS = "2025-12-26T18:22:10Z"


def digits(text: str, length: int = 12) -> str:
    return hashlib.sha1(text.encode()).hexdigest()[:length]


def test_ids_are_digits_over_the_telling_fields_in_their_order() -> None:
    assert card_id(TS, "T", "W", "s") == "aha_" + digits(f"{TS}|T|W|s")
    assert recommendation_id(TS, "T", "s") == "rec_" + digits(f"{TS}|T||s")
    assert event_id(TS, "Fix it", "s") == "evt_" + digits(f"{TS}|Fix it|s")
    assert signal_id(TS, "aha_used", "aha_1", "agent", context="c") == "sig_" + digits(f"{TS}|aha_used|aha_1||agent|c")
    assert signal_id(TS, "rec_done", "rec_1", "agent") == "sig_" + digits(f"{TS}|rec_done||rec_1|agent|")


def test_a_backport_is_named_by_its_time_its_target_and_its_cards() -> None:
    at = datetime(2025, 12, 26, 18, 22, 10, 999, tzinfo=UTC)
    said = digits("20251226T182210Z|api-client|aha_1,aha_2", 6)
    assert backport_id(at, "api-client", ["aha_1", "aha_2"]) == f"slbp_20251226T182210Z_{said}"


def test_a_second_thing_with_the_same_fields_has_an_id_of_its_own() -> None:
    taken: set[str] = set()
    for _ in range(5):
        taken.add(unused_id(lambda last: card_id(TS, "T", "W", last), taken, "s"))
    assert len(taken) == 5
    assert card_id(TS, "T", "W", "s") in taken


@pytest.mark.parametrize("said", ["aha_1", "rec_x-y.z", "sig_" + "a" * 80])
def test_an_id_that_somebody_chose_is_of_plain_characters(said: str) -> None:
    assert WELL_FORMED.fullmatch(said)


@pytest.mark.parametrize("said", ["aha_", "foo_1", "aha_1 -->", "aha_1\nx", "aha_" + "a" * 81, "aha_é"])
def test_an_id_that_could_end_a_comment_is_none(said: str) -> None:
    assert not WELL_FORMED.fullmatch(said)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_written_to_the_second_and_read_back(at: datetime) -> None:
    assert parse_time(format_time(at)) == at.replace(microsecond=0)
    assert format_time(at).endswith("Z")


@pytest.mark.parametrize("text", ["2025-12-26 18:22:10", "2025-12-26T18:22:10", "2025-12-26T19:22:10+01:00", f" {TS} "])
def test_times_are_read_leniently(text: str) -> None:
    assert parse_time(text) == datetime(2025, 12, 26, 18, 22, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", None, 17, "2025-13-01", "0001-01-01T00:00:00+23:00"])
def test_what_tells_no_time_is_none(text: object) -> None:
    assert parse_time(text) is None


def test_a_time_elsewhere_is_written_in_utc() -> None:
    assert format_time(datetime(2025, 12, 26, 20, 22, 10, tzinfo=timezone(timedelta(hours=2)))) == TS


@pytest.mark.parametrize(
    ("account", "slug"),
    [
        ("ann", "ann"), ("ann@example.com", "ann"), ("", "default"), ("  ", "default"), ("@example.com", "default"),
        ("Ann B. Cee", "Ann_B._Cee"), ("ann/../bob", "ann_.._bob"), ("..", "default"), ("x" * 99, "x" * 64), ("åse", "_se"),
    ],
)  # fmt: skip
def test_a_user_has_a_folder_that_every_file_system_takes(account: str, slug: str) -> None:
    assert user_slug(account) == slug


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a", "a"), ("a + b", "a"), ("a,b", "a"), ("a; b", "a"), ("a|b", "a"), ("a b", "a"), ("  ", "unknown"),
        (None, "unknown"), (7, "unknown"), ("+ b", "unknown"),
    ],
)  # fmt: skip
def test_one_skill_is_kept_of_several(said: object, name: str) -> None:
    assert first_skill_name(said) == name
