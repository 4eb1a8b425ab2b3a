"""Graduation beside others: several processes at once, another tool's records, and a folder that is kept in step."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tacit.domain.errors import NotPermitted
from tacit.features.cards.backport.graduation import BackportRequest
from tacit.features.cards.backport.markers import card_ids
from tacit.features.cards.card import CardStatus
from tests.raising import raises
from tests.unit.features.cards.graduating_desk import SKILL_MD, Desk

THEIRS = "slbp_20250101T000000Z_aaaaaa"
BLOCK = f"\n<!-- self-learning:backport:start id={THEIRS} -->\nx\n<!-- self-learning:backport:end -->\n"
CARDS = f"""<!-- self-learning:aha-file
backport_id={THEIRS}
generated_at=2025-01-01T00:00:00Z
card_ids=aha_theirs
-->

# Self-learning Aha Cards

<!-- self-learning:aha:start id=aha_theirs backport_id={THEIRS} -->
## Theirs
- **ID:** `aha_theirs`

<!-- self-learning:aha:end -->
"""


def test_processes_that_apply_at_once_lose_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ids = [f"aha_{number}" for number in range(5)]
    for number, one in enumerate(ids):
        desk.card(
            one, title=f"Lesson {number} about {'abcde'[number] * 9}", problem=f"{'vwxyz'[number] * 12} was wrong"
        )
    before = desk.files()
    desk.world.memory.close()
    children = []
    for one in ids:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                desk.world.memory = desk.world._opened()
                desk.backport(one, target=desk.root / "AGENTS.md", apply=True)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    desk.world.memory = desk.world._opened()
    done = [each for each in desk.deck.backports().values() if each.applied]
    assert codes == [0] * len(ids)
    assert sorted(card_ids((desk.root / "AGENTS.md").read_text())) == ids
    assert sorted(one for each in done for one in each.added) == ids
    assert not [each.key for each in desk.deck.backports().values() if each.state]
    for each in reversed(done):
        desk.graduation.undo(each.key)
    assert desk.files() == before


def test_what_another_process_finished_while_this_one_waited_is_not_taken_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.card()
    desk.card("aha_pin")
    first = desk.backport("aha_wait", apply=True).backport
    desk.deck.add(replace(first, state="applying", at=first.at + timedelta(seconds=1), id=""))
    waiting = desk.graduation
    assert waiting.half_done() != []
    desk.deck.add(replace(first, at=first.at + timedelta(seconds=2), id=""))
    done = waiting.backport(BackportRequest(target=desk.skill, cards=("aha_pin",), apply=True))
    assert done.recovered == ()
    assert card_ids(desk.reference.read_text()) == ["aha_wait", "aha_pin"]


@pytest.fixture
def shared(tmp_path: Path) -> Desk:
    """A project where another tool has applied a backport, and noted it with its machine's path."""
    desk = Desk(tmp_path)
    desk.world.folder.mkdir(parents=True)
    (desk.skill / "SKILL.md").write_bytes(SKILL_MD + BLOCK.encode())
    desk.reference.parent.mkdir()
    desk.reference.write_text(CARDS)
    line = {
        "ts": "2025-01-01T00:00:00Z",
        "backport_id": THEIRS,
        "target_skill": "deploy",
        "target_skill_path": str(desk.skill),
        "requested_card_ids": ["aha_theirs"],
        "added_card_ids": ["aha_theirs"],
        "result_card_ids": ["aha_theirs"],
        "applied": True,
        "diff_written": False,
        "bundle_dir": str(desk.world.folder / "exports/backports/x"),
        "manifest_path": str(desk.world.folder / "exports/backports/x/BACKPORT_MANIFEST.json"),
        "skill_change": "appended_block",
    }
    (desk.world.folder / "backports.jsonl").write_text(json.dumps(line) + "\n")
    return desk


def test_a_backport_of_another_tool_is_taken_back_by_its_markers(shared: Desk) -> None:
    undone = shared.graduation.undo(THEIRS)
    assert {file.how for file in undone.files} == {"markers"}
    assert (shared.skill / "SKILL.md").read_bytes() == SKILL_MD
    assert card_ids(shared.reference.read_text()) == []
    assert json.loads(shared.world.lines("backports.jsonl")[-1])["undone"] is True


def test_a_backport_elsewhere_on_the_machine_is_not_touched(shared: Desk, tmp_path: Path) -> None:
    path = shared.world.folder / "backports.jsonl"
    path.write_text(path.read_text().replace(str(shared.skill), str(tmp_path / "elsewhere")))
    with raises(NotPermitted, "outside_repository"):
        shared.graduation.undo(THEIRS)


def test_a_card_is_added_to_what_another_tool_wrote_and_taken_out_again(shared: Desk) -> None:
    before = shared.files()
    shared.card()
    done = shared.backport("aha_wait", apply=True)
    assert card_ids(shared.reference.read_text()) == ["aha_theirs", "aha_wait"]
    assert [change.path for change in done.planned.changes] == [
        ".agents/skills/deploy/references/self-learning-aha.md",
        ".agents/skills/deploy/SKILL.md",
    ]
    shared.graduation.undo(done.backport.key)
    assert shared.files() == before


def test_the_folder_tells_how_a_backport_stands(shared: Desk) -> None:
    shared.card()
    done = shared.backport("aha_wait", apply=True)
    own = [json.loads(line) for line in shared.world.lines("backports.jsonl") if done.backport.key in line]
    assert own[-1]["applied"] is True
    assert own[-1]["target_skill_path"] == ".agents/skills/deploy"
    cards = [json.loads(line) for line in shared.world.lines("aha_cards.jsonl")]
    assert cards[-1]["status"] == CardStatus.BACKPORTED
    (signal,) = map(json.loads, shared.world.lines("signals.jsonl"))
    assert (signal["kind"], signal["aha_id"]) == ("aha_backported", "aha_wait")
    assert done.backport.key in signal["context"]


def test_a_record_that_came_back_from_a_file_still_leads_back(shared: Desk) -> None:
    """What it takes to undo is kept in the store only, and found there whichever version of the record is the last."""
    before = shared.files()
    shared.card()
    done = shared.backport("aha_wait", apply=True)
    path = shared.world.folder / "backports.jsonl"
    last = json.loads(path.read_text().splitlines()[-1]) | {"note": "seen by another tool"}
    path.write_text(path.read_text() + json.dumps(last) + "\n")
    assert shared.graduation.undo(done.backport.key).backport.undone
    assert shared.files() == before
