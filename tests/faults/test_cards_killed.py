"""kill -9 before every statement, commit and file change of a record: afterwards ledger and folder agree, whole or not at all.

All points with TACIT_TEST_KILLS, a spread of them otherwise.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.location import CardPlaces
from tacit.features.cards.card import Card, Signal
from tacit.features.cards.card_records import FILES, line_of, meaning
from tacit.features.cards.cards import Cards
from tacit.features.cards.folder import BELOW, CardFolder
from tacit.features.cards.recording import record
from tacit.store import open_store
from tests.faults.points import Points
from tests.unit.features.cards.making import AGENT, USER, payload_card
from tests.unit.making import NOW

ALL = bool(os.environ.get("TACIT_TEST_KILLS"))
SPREAD = 40
PAYLOAD: dict[str, Any] = {
    "event": {"task_summary": "Fix the import"},
    "aha_cards": [payload_card(7, number, id=f"aha_new{number}") for number in range(3)],
    "recommendations": [{"title": "Say what the unit is", "why": "Everybody reads it wrongly", "id": "rec_new"}],
    "used_aha_ids": ["aha_old", "aha_new1"],
}


class FilePoints(Points):
    """Also dies before a file of the folder is opened to be written."""

    def _see_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(self._folder) and arguments[2] & os.O_APPEND:
            self._pass()
        super()._see_event(event, arguments)


def deck_in(root: Path) -> Cards:
    memory = Tacit(open_store(root / ".tacit" / "tacit.db"), clock=lambda: NOW)
    return Cards(memory, CardPlaces(str(root), USER, shared=str(root / "none")))


def begin(root: Path) -> None:
    """A project with a folder and one card."""
    deck = deck_in(root)
    deck.start_folder()
    record(deck, {"aha_cards": [payload_card(1, 1, id="aha_old")]}, AGENT)
    deck.store.close()


def die_at(root: Path, point: int) -> tuple[bool, int]:
    """Record in a child that dies at a point; whether it came to its end, and how many points it passed."""
    counted = root / "passed"
    child = os.fork()
    if child == 0:
        points = FilePoints(point, root)
        points.watch()
        deck = deck_in(root)
        deck.sync()
        record(deck, PAYLOAD, AGENT)
        passed = points.count
        counted.write_text(str(passed), encoding="utf-8")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return status == 0, int(counted.read_text(encoding="utf-8")) if counted.exists() else 0


def check(root: Path, point: int) -> None:
    deck = deck_in(root)
    deck.sync()
    folder = CardFolder(root / BELOW / USER)
    read = folder.read(by=USER, at=NOW)
    assert read.problems == (), point
    for sort in FILES:
        kept = [meaning(entry) for entry in deck.store.entries(sort)]  # type: ignore[arg-type]
        lines = [meaning(entry) for entry in read.entries[sort]]
        assert sorted(lines) == sorted(kept), (point, sort)
        assert len(set(lines)) == len(lines), (point, sort)
    assert set(deck.cards()) in ({"aha_old"}, {"aha_old", "aha_new0", "aha_new1", "aha_new2"}), point
    assert all(deck.lesson_status(card) for card in deck.cards().values()), point
    assert list(deck.store.verify()) == [], point
    assert (root / BELOW / USER / "INDEX.md").read_text(encoding="utf-8") == deck.index(), point
    deck.store.close()


def spread(total: int) -> list[int]:
    return (
        list(range(1, total + 1)) if ALL else sorted({1 + index * total // SPREAD for index in range(SPREAD)} | {total})
    )


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_record_that_is_killed_leaves_ledger_and_folder_in_step(tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    begin(start)
    shutil.copytree(start, tmp_path / "whole")
    done, total = die_at(tmp_path / "whole", 0)
    assert done
    assert total > SPREAD
    check(tmp_path / "whole", 0)
    for point in spread(total):
        root = tmp_path / f"at-{point}"
        shutil.copytree(start, root)
        die_at(root, point)
        check(root, point)
        shutil.rmtree(root)


def test_what_was_half_done_can_be_done_again(tmp_path: Path) -> None:
    begin(tmp_path)
    deck = deck_in(tmp_path)
    record(deck, PAYLOAD, AGENT)
    lines = (tmp_path / BELOW / USER / "aha_cards.jsonl").read_text(encoding="utf-8")
    torn = lines[: len(lines) - 30]  # the disk took a part of the last line
    (tmp_path / BELOW / USER / "aha_cards.jsonl").write_text(torn, encoding="utf-8")
    deck.store.close()
    deck = deck_in(tmp_path)
    assert len(deck.sync().problems) == 1
    found = (tmp_path / BELOW / USER / "aha_cards.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(found[-1]) == line_of(deck.cards()["aha_new2"])
    assert len(found) == 5
    assert len(deck.store.entries(Card)) == 4
    assert len(deck.store.entries(Signal)) == 2
    deck.store.close()
