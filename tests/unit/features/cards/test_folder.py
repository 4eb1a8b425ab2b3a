"""The files of a card folder: appended line by line, locked, never followed through links, and told where they are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.domain.errors import StoreOutage
from tacit.features.cards.card import Card, Signal
from tacit.features.cards.card_records import line_of
from tacit.features.cards.folder import CardFolder
from tests.unit.features.cards.aha.test_records import CARD, SIGNAL
from tests.unit.making import NOW

TRY_LOCK = """
import fcntl, sys
with open(sys.argv[1], "a") as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("free")
    except BlockingIOError:
        print("held")
"""


@pytest.fixture
def folder(tmp_path: Path) -> CardFolder:
    folder = CardFolder(tmp_path / "users" / "ann")
    folder.make()
    return folder


def text(folder: CardFolder, name: str = "aha_cards.jsonl") -> str:
    return (folder.path / name).read_text(encoding="utf-8")


def test_a_folder_is_made_with_its_place_for_bundles(tmp_path: Path) -> None:
    path = tmp_path / "users" / "ann"
    assert not CardFolder(path).exists
    CardFolder(path).make()
    CardFolder(path).make()
    assert CardFolder(path).exists
    assert (path / "exports" / "backports").is_dir()


def test_a_place_that_cannot_be_made_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreOutage):
        CardFolder(tmp_path / "users" / "ann").make()


def test_lines_are_appended_as_they_are_written_elsewhere(folder: CardFolder) -> None:
    added = folder.append(Card, [CARD, {**CARD, "id": "aha_2"}])
    assert added == len(text(folder).encode())
    assert [json.loads(line)["id"] for line in text(folder).splitlines()] == [CARD["id"], "aha_2"]
    assert "光标" in text(folder), "other scripts stay readable"


def test_half_a_character_does_not_make_the_file_unreadable(folder: CardFolder) -> None:
    folder.append(Card, [{**CARD, "title": "half \ud83d"}])
    assert json.loads(text(folder))["title"] == "half \ud83d"
    assert folder.read(by="ann", at=NOW).problems == ()


def test_text_with_line_breaks_stays_on_its_line(folder: CardFolder) -> None:
    folder.append(Card, [{**CARD, "problem": "one\ntwo\r\nthree\u2028four"}])
    assert text(folder).count("\n") == 1
    assert len(folder.read(by="ann", at=NOW).entries[Card]) == 1


def test_no_lines_make_no_difference(folder: CardFolder) -> None:
    folder.append(Card, [CARD])
    (folder.path / "aha_cards.jsonl").write_bytes(b'{"torn')
    assert folder.append(Card, []) == 0
    assert text(folder) == '{"torn'


def test_nothing_is_written_through_a_link(folder: CardFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("", encoding="utf-8")
    (folder.path / "aha_cards.jsonl").symlink_to(outside)
    with pytest.raises(StoreOutage):
        folder.append(Card, [CARD])
    assert outside.read_text(encoding="utf-8") == ""


def test_a_pipe_in_the_place_of_a_file_stops_nobody(folder: CardFolder) -> None:
    os.mkfifo(folder.path / "signals.jsonl")
    folder.append(Card, [CARD])
    read = folder.read(by="ann", at=NOW)
    assert [line_of(card) for card in read.entries[Card]] == [CARD]
    assert len(read.problems) == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"id": "aha_1"', "not JSON"), (b"\xff", "not UTF-8"), (b"[]", "not a JSON object"), (b'{"x": Infinity}', "not JSON"),
        (b"[" * 100_000, "nested too deeply"), (b'"' + b"x" * (1 << 20) + b'"', "longer than a megabyte"),
    ],
    ids=["torn", "bytes", "list", "infinity", "deep", "long"],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_told_by_its_number(folder: CardFolder, line: bytes, why: str) -> None:
    good = json.dumps(SIGNAL).encode()
    (folder.path / "signals.jsonl").write_bytes(b"\n".join([good, b"", line, good]))
    read = folder.read(by="ann", at=NOW)
    assert len(read.entries[Signal]) == 2
    assert len(read.problems) == 1
    assert read.problems[0].startswith("signals.jsonl line 3: ")
    assert why in read.problems[0]


def test_the_lock_keeps_others_out_until_it_ends(folder: CardFolder) -> None:
    path = folder.path.with_name(".ann.lock")

    def ask() -> str:
        return subprocess.run(
            [sys.executable, "-c", TRY_LOCK, str(path)], capture_output=True, text=True, check=True
        ).stdout.strip()

    with folder.lock():
        assert ask() == "held"
    assert ask() == "free"


def test_a_bookmark_changes_with_every_line_and_knows_an_unfinished_folder(folder: CardFolder) -> None:
    empty = folder.bookmark()
    assert folder.bookmark(in_sync=False) != empty
    folder.append(Card, [CARD])
    one = folder.bookmark()
    assert (one.size, one.path) == (len(text(folder).encode()), str(folder.path))
    folder.append(Signal, [SIGNAL])
    assert len({empty, one, folder.bookmark()}) == 3


def test_the_index_is_replaced_at_once_and_only_if_it_changed(folder: CardFolder, tmp_path: Path) -> None:
    assert folder.write_index("# One\n")
    before = (folder.path / "INDEX.md").stat().st_ino
    assert not folder.write_index("# One\n")
    assert (folder.path / "INDEX.md").stat().st_ino == before
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("mine", encoding="utf-8")
    (folder.path / "INDEX.md").unlink()
    (folder.path / "INDEX.md").symlink_to(elsewhere)
    assert folder.write_index("# Two\n")
    assert (elsewhere.read_text(encoding="utf-8"), text(folder, "INDEX.md")) == ("mine", "# Two\n")
    assert sorted(path.name for path in folder.path.iterdir()) == ["INDEX.md", "exports"]
