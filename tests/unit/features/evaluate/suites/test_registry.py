"""Suites by name: each can be opened, and what is wrong with a name, an option or a folder is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.suites import SUITES, SuiteInput, open_suite
from tacit.store import open_store
from tests.raising import raises


def test_a_name_that_no_suite_has_is_reported_with_the_nearest() -> None:
    with raises(NotFound, "unknown_suite") as caught:
        open_suite("retial")
    assert "mean retail?" in caught.value.hint
    assert all(name in caught.value.hint for name in SUITES)


def test_all_unknown_options_are_reported_with_those_that_there_are(tmp_path: Path) -> None:
    with raises(Mistake, "unknown_option") as caught:
        open_suite("telecom", data=tmp_path, options={"size": "1", "colour": "red", "calls": "3"})
    assert "checkout" in caught.value.hint


@pytest.mark.parametrize("name", ["retail", "bfcl", "telecom"])
def test_a_suite_of_files_asks_for_its_folder(name: str, tmp_path: Path) -> None:
    with raises(Mistake, "no_data"):
        open_suite(name)
    with raises(NotFound, "no_data"):
        open_suite(name, data=tmp_path / "nowhere")


def test_the_own_suite_asks_for_a_store_and_for_work_in_it() -> None:
    with raises(Mistake, "no_store"):
        open_suite("own")
    with raises(Mistake, "no_verified_work"):
        open_suite("own", store=open_store(":memory:"))


def test_an_option_that_is_no_number_is_reported() -> None:
    assert SuiteInput(options={"calls": "30"}).number("calls", 0) == 30
    with raises(Mistake, "bad_option_value"):
        SuiteInput(options={"calls": "many"}).number("calls", 0)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_number_that_cannot_be_computed_with_is_none(value: str) -> None:
    with raises(Mistake, "bad_option_value"):
        SuiteInput(options={"seed": value}).number("seed", 0)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e3", "0.5", "-1", "", "9" * 5000])
def test_an_option_that_counts_is_a_whole_number(value: str) -> None:
    assert SuiteInput(options={"seed": " 7 "}).whole("seed", 0) == 7
    assert SuiteInput().whole("seed", 3) == 3
    with raises(Mistake, "bad_option_value") as caught:
        SuiteInput(options={"seed": value}).whole("seed", 0)
    assert caught.value.hint.endswith("--option seed=0")
    assert len(caught.value.message) < 100


@pytest.mark.parametrize("share", ["0", "1", "2", "-0.5"])
def test_a_share_that_leaves_nothing_to_ask_or_to_learn_from_is_reported(share: str) -> None:
    with raises(Mistake, "bad_option_value"):
        open_suite("own", store=open_store(":memory:"), options={"share": share})


def test_no_driver_is_guessed_next_to_the_data(tmp_path: Path) -> None:
    data, tools = tmp_path / "data" / "telecom", tmp_path / "tools"
    data.mkdir(parents=True)
    tools.mkdir()
    (tools / "telecom_env.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with raises(Mistake, "no_driver") as caught:
        open_suite("telecom", data=data)
    assert "--option driver=" in caught.value.hint
    assert not (tmp_path / "ran").exists()


def test_every_suite_says_what_it_is_and_what_counts() -> None:
    assert all(known.summary and known.name == name for name, known in SUITES.items())
    assert all(known.counts.startswith("success: ") for known in SUITES.values())
