"""Which knowledge may graduate, and how every problem is told at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import GateRefusal, NotFound
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin
from tacit.features.cards.backport.graduation import BackportRequest
from tacit.features.cards.card import CardStatus
from tests.raising import raises
from tests.unit.features.cards.graduating_desk import Desk
from tests.unit.features.cards.making import USER


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_ids_that_nobody_knows_are_all_told(desk: Desk) -> None:
    desk.card()
    with raises(NotFound, "unknown_pieces") as caught:
        desk.backport("aha_none", "aha_wait", "aha_nor_this")
    assert [line.split()[-1] for line in caught.value.message.splitlines()[1:]] == ["aha_none", "aha_nor_this"]
    assert desk.deck.backports() == {}


def test_a_card_that_nobody_approved_stays(desk: Desk) -> None:
    """Defect 5 of the workflow's first tool: status was not looked at."""
    desk.card(approve=False)
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait", apply=True)


@pytest.mark.parametrize("word", [CardStatus.REJECTED, CardStatus.DEPRECATED])
def test_a_card_that_was_turned_down_stays(desk: Desk, word: CardStatus) -> None:
    made = desk.card()
    desk.world.memory.review(made.version_id, decision="retire", by=USER, reason="no longer true")
    desk.card(status=word, approve=False)
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait")


def test_a_card_that_is_not_to_be_shared_stays(desk: Desk) -> None:
    """Defect 5: `shareable` was not looked at."""
    desk.card(shareable=False)
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait")


def test_the_word_that_a_card_is_accepted_is_nobodys_approval(desk: Desk) -> None:
    desk.card(status=CardStatus.ACCEPTED, approve=False)
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait", apply=True)


def test_words_that_are_linked_to_an_approved_lesson_and_differ_from_it_stay(desk: Desk) -> None:
    """A wrong link, as an older ledger may hold it, carries no approval."""
    made = desk.card()
    deck = desk.deck
    desk.world.clock.pass_by(seconds=5)
    deck.add(dataclasses.replace(made, at=deck.now(), solution_steps=("Drop the table",), id=""))
    done = desk.backport("aha_wait", apply=True)
    assert any("was edited since it was approved" in warning for warning in done.warnings)
    assert "Drop the table" not in desk.reference.read_text()


def test_a_card_whose_lesson_was_rejected_stays_whatever_its_word(desk: Desk) -> None:
    made = desk.card(status=CardStatus.ACCEPTED, approve=False)
    desk.world.memory.review(made.version_id, decision="reject", by=USER, reason="wrong")
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait")


def test_a_card_that_the_gate_turned_away_stays_whatever_its_word(desk: Desk) -> None:
    deck = desk.deck
    made = desk.card(status=CardStatus.ACCEPTED, approve=False)

    desk.world.clock.pass_by(seconds=1)
    deck.add(dataclasses.replace(made, version_id="", at=deck.now(), title="Another", id="", key="aha_other"))
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_other")


TIED: dict[str, Any] = {
    "problem": "Look into /srv/shop/log and ask ledger.corp about LED-412.",
    "solution_steps": ("Run it", "Write to ann@shop.corp"),
}


def test_everything_that_ties_knowledge_to_a_place_is_told_with_its_placeholder(desk: Desk) -> None:
    desk.card(**TIED)
    desk.card("aha_pin", shareable=False)
    with pytest.raises(GateRefusal) as caught:
        desk.backport("aha_wait", "aha_pin")
    told = caught.value.message
    for placeholder in ("<repo-root>", "<SERVICE>", "<PROJECT_KEY>"):
        assert f"write {placeholder}" in told
    assert "aha_pin is not shareable" in told


def test_a_file_of_the_project_may_stand_in_its_own_instructions_but_not_in_a_skill(desk: Desk) -> None:
    (desk.root / "tools").mkdir()
    (desk.root / "tools" / "migrate.sh").write_text("")
    desk.card(solution_steps=("Run tools/migrate.sh",))
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait")
    done = desk.backport("aha_wait", target=desk.root / "AGENTS.md", apply=True)
    assert "Run tools/migrate.sh" in (desk.root / "AGENTS.md").read_text()
    assert done.backport.applied


def test_no_machine_path_stands_in_the_projects_own_instructions_either(desk: Desk) -> None:
    desk.card(solution_steps=(f"Run {desk.root}/tools/migrate.sh",))
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_wait", target=desk.root / "AGENTS.md")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"kind": Kind.PREFERENCE}, "never graduates"),
        ({"kind": Kind.REFERENCE}, "never graduates"),
        ({"shareable": False}, "not shareable"),
    ],
)
def test_preferences_references_and_private_skills_never_graduate(desk: Desk, fields: dict[str, Any], why: str) -> None:
    said: dict[str, Any] = {
        "kind": Kind.LESSON,
        "name": "short-answers",
        "description": "Prefers short answers without a preamble.",
        "body": "Answer in few words.",
    }
    desk.world.memory.propose(SkillContent(**said | fields), by=USER, origin=Origin.USER)
    stored = desk.world.memory.version("short-answers")
    desk.world.memory.review(stored.version.id, decision="approve", by=USER)
    with raises(GateRefusal, "may_not_graduate"):
        desk.graduation.backport(BackportRequest(target=desk.skill, skills=("short-answers",)))


def test_a_skill_that_waits_for_review_stays(desk: Desk) -> None:
    content = SkillContent(kind=Kind.NORM, name="use-tabs", description="Indent with tabs.", body="Indent with tabs.")
    desk.world.memory.propose(content, by=USER, origin=Origin.USER)
    with raises(GateRefusal, "may_not_graduate"):
        desk.graduation.backport(BackportRequest(target=desk.skill, skills=("use-tabs",)))


def test_an_unknown_skill_is_told(desk: Desk) -> None:
    with raises(NotFound, "unknown_pieces"):
        desk.graduation.backport(BackportRequest(target=desk.skill, skills=("no-such-skill",)))


def test_an_id_that_could_end_a_marker_is_refused(desk: Desk) -> None:
    desk.card("aha_x --> y")
    with raises(GateRefusal, "may_not_graduate"):
        desk.backport("aha_x --> y")
