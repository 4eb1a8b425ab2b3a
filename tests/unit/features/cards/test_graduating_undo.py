"""Taking back: what a person wrote since stays, a later refresh is no edit, and no file's line decides what was carried out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotPermitted, Refusal
from tacit.features.cards.backport.markers import BLOCK_END, CARD_END, card_ids
from tacit.features.cards.card import CardStatus, SignalKind
from tests.raising import raises
from tests.unit.features.cards.graduating_desk import Desk

MINE = "- MY OWN RULE: ask before deleting"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.card()
    return desk


def page(desk: Desk, name: str = "AGENTS.md", text: str = "# Rules\n\nBe kind.\n") -> Path:
    path = desk.root / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["AGENTS.md", "page.md"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_that_a_person_wrote_in_the_block_stay(desk: Desk, name: str, newline: str) -> None:
    text = "# Rules\n\nBe kind.\n".replace("\n", newline)
    path = page(desk, name)
    path.write_bytes(text.encode())
    done = desk.backport("aha_wait", target=path, apply=True)
    path.write_bytes(path.read_bytes().replace(BLOCK_END.encode(), f"{MINE}{newline}{BLOCK_END}".encode()))
    undone = desk.graduation.undo(done.backport.key)
    after = path.read_bytes().decode()
    assert after.startswith(text)
    assert after.endswith(f"{MINE}{newline}")
    assert "self-learning" not in after
    assert "Stop the workers" not in after
    assert undone.kept == ()
    assert desk.status("aha_wait") is CardStatus.ACCEPTED


def test_lines_that_a_person_wrote_beside_the_pointer_of_a_skill_stay(desk: Desk) -> None:
    done = desk.backport("aha_wait", apply=True)
    main = desk.skill / "SKILL.md"
    main.write_text(main.read_text().replace(BLOCK_END, f"{MINE}\n{BLOCK_END}"))
    desk.graduation.undo(done.backport.key)
    assert MINE in main.read_text()
    assert "self-learning" not in main.read_text()
    assert not desk.reference.exists()


@pytest.mark.parametrize("name", ["AGENTS.md", "page.md", ""])
def test_a_piece_that_a_person_edited_is_left_and_told(desk: Desk, name: str) -> None:
    desk.card("aha_pin")
    path = page(desk, name) if name else desk.reference
    done = desk.backport("aha_wait", "aha_pin", target=path if name else None, apply=True)
    path.write_text(path.read_text().replace(CARD_END, f"{MINE}\n{CARD_END}", 1))
    undone = desk.graduation.undo(done.backport.key)
    assert undone.kept == ("aha_wait",)
    assert card_ids(path.read_text()) == ["aha_wait"]
    assert MINE in path.read_text()
    assert (desk.status("aha_wait"), desk.status("aha_pin")) == (CardStatus.BACKPORTED, CardStatus.ACCEPTED)
    assert undone.cards == ("aha_pin",)


def test_a_piece_that_was_left_is_not_written_over_later(desk: Desk) -> None:
    path = page(desk)
    done = desk.backport("aha_wait", target=path, apply=True)
    path.write_text(path.read_text().replace(CARD_END, f"{MINE}\n{CARD_END}", 1))
    desk.graduation.undo(done.backport.key)
    again = desk.backport("aha_wait", target=path, apply=True, refresh=True)
    assert again.planned.by_hand == ("aha_wait",)
    assert MINE in path.read_text()


def test_a_refresh_is_no_edit_and_is_taken_back_with_the_piece(desk: Desk) -> None:
    path = page(desk)
    before = path.read_bytes()
    first = desk.backport("aha_wait", target=path, apply=True)
    desk.card(solution_steps=("Stop all workers", "Migrate"))
    desk.backport("aha_wait", target=path, apply=True, refresh=True)
    undone = desk.graduation.undo(first.backport.key)
    assert undone.kept == ()
    assert path.read_bytes() == before


def test_what_was_edited_after_a_refresh_is_not_put_back(desk: Desk) -> None:
    path = page(desk)
    desk.backport("aha_wait", target=path, apply=True)
    desk.card(solution_steps=("Stop all workers", "Migrate"))
    second = desk.backport("aha_wait", target=path, apply=True, refresh=True)
    path.write_text(path.read_text().replace(CARD_END, f"{MINE}\n{CARD_END}", 1))
    assert desk.graduation.undo(second.backport.key).kept == ("aha_wait",)
    assert MINE in path.read_text()
    assert "Stop all workers" in path.read_text()


def test_no_line_of_a_file_takes_the_undo_away(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.world.folder.mkdir(parents=True)
    desk.card()
    path = page(desk)
    before = path.read_bytes()
    done = desk.backport("aha_wait", target=path, apply=True)
    lines = desk.world.folder / "backports.jsonl"
    line = json.loads(lines.read_text().splitlines()[-1])
    line |= {"applied": False, "undone": True, "target_skill_path": "elsewhere.md", "ts": "2099-01-01T00:00:00Z"}
    with lines.open("a") as file:
        file.write(json.dumps(line) + "\n")
    desk.deck.sync()
    assert desk.deck.backports()[done.backport.key].undone, (
        "the line is known, and only what it says of the target is not"
    )
    assert [each["applied"] for each in desk.graduation.inspect(path)["ledger"]] == [True]
    desk.graduation.undo(done.backport.key)
    assert path.read_bytes() == before
    with raises(Refusal, "already_undone"):
        desk.graduation.undo(done.backport.key)


def test_applying_again_after_an_undo_proves_nothing_more(desk: Desk) -> None:
    for _ in range(3):
        desk.graduation.undo(desk.backport("aha_wait", apply=True).backport.key)
    told = [each for each in desk.deck.signals() if each.kind is SignalKind.AHA_BACKPORTED]
    assert len(told) == 1
    desk.backport("aha_wait", target=page(desk), apply=True)
    assert len([each for each in desk.deck.signals() if each.kind is SignalKind.AHA_BACKPORTED]) == 2


def test_a_card_that_was_written_anew_is_backported_again(desk: Desk) -> None:
    first = desk.backport("aha_wait", apply=True)
    desk.card(solution_steps=("Stop all workers", "Migrate"))
    assert desk.status("aha_wait") is not CardStatus.BACKPORTED
    second = desk.backport("aha_wait", apply=True, refresh=True)
    assert desk.status("aha_wait") is CardStatus.BACKPORTED
    desk.graduation.undo(second.backport.key)
    assert desk.status("aha_wait") is CardStatus.BACKPORTED, "the earlier text is in the skill again"
    desk.graduation.undo(first.backport.key)
    assert desk.status("aha_wait") is CardStatus.ACCEPTED


def test_a_bundle_that_was_never_applied_tells_the_other_way_back(desk: Desk) -> None:
    done = desk.backport("aha_wait", make_diff=True)
    with pytest.raises(Refusal) as told:
        desk.graduation.undo(done.backport.key)
    assert "git apply -R" in told.value.hint


def test_nothing_is_made_where_the_place_of_bundles_leads_elsewhere(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (desk.root / ".tacit").mkdir(exist_ok=True)
    (desk.root / ".tacit" / "exports").symlink_to(outside)
    with raises(NotPermitted, "behind_link"):
        desk.backport("aha_wait")
    assert list(outside.iterdir()) == []


def test_a_pipe_or_a_huge_file_as_a_target_is_refused_at_once(desk: Desk) -> None:
    os.mkfifo(desk.root / "pipe.md")
    with (desk.root / "huge.md").open("wb") as file:
        file.truncate(1 << 34)
    for name, code in (("pipe.md", "not_a_file"), ("huge.md", "target_too_large")):
        for verb in (desk.backport, lambda *_, target: desk.graduation.inspect(target)):
            with raises(Mistake, code):
                verb("aha_wait", target=desk.root / name)
