"""Ledger beside folder: what each lacks, and which version is the last after both took over."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacit.features.cards.card import Card
from tacit.features.cards.card_records import Record, format_time, meaning
from tacit.features.cards.folder import plan_import, plan_sync
from tests.unit.making import later


def version(key: str, title: str, hours: float = 0, **fields: Any) -> Card:
    return Card(key=key, at=later(hours), ts=format_time(later(hours)), title=title, by="ann", **fields)


def titles(entries: list[Record]) -> list[str]:
    return [entry.title for entry in entries if isinstance(entry, Card)]


def test_each_lacks_what_only_the_other_has() -> None:
    both, written, kept = version("aha_1", "both"), version("aha_2", "written"), version("aha_3", "kept")
    step = plan_sync({Card: [both, written]}, {Card: [both, kept]})
    assert (titles(step.unknown), titles(step.unwritten), step.final) == (["written"], ["kept"], [])


def test_a_line_is_known_again_by_what_it_means() -> None:
    kept = version("aha_1", "same", version_id="v_1", session_id="s")
    step = plan_sync({Card: [version("aha_1", "same")]}, {Card: [kept]})
    assert not (step.unknown)
    assert not (step.unwritten)
    assert not (step.final)


def test_lines_that_stand_twice_count_once() -> None:
    line = version("aha_1", "once")
    assert titles(plan_sync({Card: [line, line]}, {}).unknown) == ["once"]


def test_the_last_line_holds_even_where_it_says_what_an_earlier_one_said() -> None:
    first, second = version("aha_1", "first"), version("aha_1", "second")
    step = plan_sync({Card: [first, second, first]}, {Card: [first, second]})
    assert (titles(step.unknown), titles(step.final)) == ([], ["first"])


def test_what_was_kept_and_never_written_comes_after_the_lines() -> None:
    line, kept = version("aha_1", "line"), version("aha_1", "kept")
    step = plan_sync({Card: [line]}, {Card: [kept]})
    assert (titles(step.unwritten), titles(step.final)) == (["kept"], ["kept"])


def test_an_older_version_from_elsewhere_does_not_become_the_last() -> None:
    kept, older = version("aha_1", "kept", hours=2), version("aha_1", "older", hours=1)
    step = plan_import({Card: [older]}, {Card: [kept]})
    assert (titles(step.unknown), titles(step.final)) == (["older"], ["kept"])


def test_a_newer_version_from_elsewhere_does() -> None:
    step = plan_import({Card: [version("aha_1", "newer", hours=3)]}, {Card: [version("aha_1", "kept", hours=2)]})
    assert (titles(step.unknown), titles(step.final)) == (["newer"], [])


def last(entries: list[Record]) -> dict[str, str]:
    return {entry.key: meaning(entry) for entry in entries}


STREAMS = st.lists(
    st.builds(version, st.sampled_from(["aha_1", "aha_2"]), st.sampled_from("abc"), st.just(0)), max_size=8
)


@given(lines=STREAMS, kept=STREAMS)
def test_after_one_step_both_hold_the_same_and_the_next_step_is_empty(lines: list[Record], kept: list[Record]) -> None:
    step = plan_sync({Card: lines}, {Card: kept})
    files, ledger = [*lines, *step.unwritten], [*kept, *step.unknown, *step.final]
    assert {meaning(entry) for entry in files} == {meaning(entry) for entry in ledger}
    assert last(files) == last(ledger)
    again = plan_sync({Card: files}, {Card: ledger})
    assert not (again.unknown)
    assert not (again.unwritten)
    assert not (again.final)
