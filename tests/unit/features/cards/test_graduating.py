"""Graduation over a deck: bundles, applying, refreshing and taking back, with the cards' statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotFound, NotPermitted, Refusal
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.features.cards.backport.bundle import APPEND, MANIFEST, PATCH, README
from tacit.features.cards.backport.graduation import BackportRequest
from tacit.features.cards.backport.markers import REFERENCE, card_ids, read_markers
from tacit.features.cards.card import CardStatus, SignalKind
from tests.raising import raises
from tests.unit.features.cards.graduating_desk import SKILL_MD, Desk, both  # noqa: F401 - a fixture


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_without_apply_only_a_bundle_is_written(both: Desk) -> None:  # noqa: F811
    both.card()
    before = both.files()
    done = both.backport("aha_wait", make_diff=True)
    assert both.files() == before
    assert sorted(str(path.relative_to(done.bundle)) for path in done.bundle.rglob("*") if path.is_file()) == sorted(
        [REFERENCE, APPEND, MANIFEST, README, PATCH]
    )
    assert done.bundle.parent == both.root / ".tacit/exports/backports"
    assert done.bundle.name == f"deploy_{done.backport.key}"
    assert both.status("aha_wait") is not CardStatus.BACKPORTED
    kept = both.deck.backports()[done.backport.key]
    assert (kept.applied, kept.diff_written, kept.state) == (False, True, "")


def test_a_bundle_goes_into_the_card_folder_where_there_is_one(desk: Desk) -> None:
    desk.world.folder.mkdir(parents=True)
    desk.card()
    done = desk.backport("aha_wait")
    assert done.bundle.parent == desk.world.folder / "exports/backports"
    (line,) = map(json.loads, desk.world.lines("backports.jsonl"))
    assert line["backport_id"] == done.backport.key
    assert (line["applied"], line["skill_change"]) == (False, "appended_block")


def test_nothing_that_is_written_names_a_folder_of_the_machine(desk: Desk) -> None:
    """Defect 5 of the workflow's first tool: its manifest had absolute paths."""
    desk.world.folder.mkdir(parents=True)
    desk.card()
    done = desk.backport("aha_wait", make_diff=True, apply=True)
    machine = str(desk.root).encode()
    assert [path for path in done.bundle.rglob("*") if path.is_file() and machine in path.read_bytes()] == []
    assert all(machine.decode() not in line for line in desk.world.lines("backports.jsonl"))
    assert all(machine not in data for data in desk.files().values())
    manifest = json.loads((done.bundle / MANIFEST).read_text())
    assert manifest["target_skill_path"] == ".agents/skills/deploy"
    assert [change["path"] for change in manifest["changes"]] == ["SKILL.md", REFERENCE]


def test_applying_writes_the_target_and_marks_the_card(both: Desk) -> None:  # noqa: F811
    """Defect 5: a card that was backported kept its status."""
    both.card()
    done = both.backport("aha_wait", apply=True)
    assert card_ids(both.reference.read_text()) == ["aha_wait"]
    assert both.reference.read_bytes() == (done.bundle / REFERENCE).read_bytes()
    main = (both.skill / "SKILL.md").read_bytes()
    assert main == SKILL_MD + b"\n" + (done.bundle / APPEND).read_bytes()
    assert both.status("aha_wait") is CardStatus.BACKPORTED
    deck = both.deck
    assert [(each.kind, each.target) for each in deck.signals()] == [(SignalKind.AHA_BACKPORTED, "aha_wait")]
    kept = deck.backports()[done.backport.key]
    assert (kept.applied, kept.undone, kept.state, kept.added) == (True, False, "", ("aha_wait",))
    assert set(kept.hashes) == {".agents/skills/deploy/SKILL.md", f".agents/skills/deploy/{REFERENCE}"}


def test_an_id_that_is_given_twice_is_written_once(desk: Desk) -> None:
    """Defect 5: ids that repeat were written twice on the first export."""
    desk.card()
    done = desk.backport("aha_wait", "aha_wait", apply=True)
    assert done.backport.requested == ("aha_wait",)
    assert [card.id for card in read_markers(desk.reference.read_text()).cards] == ["aha_wait"]


def test_a_second_backport_adds_only_what_is_new(desk: Desk) -> None:
    desk.card()
    desk.card("aha_pin")
    first = desk.backport("aha_wait", apply=True)
    second = desk.backport("aha_wait", "aha_pin", apply=True)
    assert (second.planned.existing, second.planned.added) == (("aha_wait",), ("aha_pin",))
    marks = read_markers((desk.skill / "SKILL.md").read_text())
    assert marks.backport_ids == (second.backport.key,)
    by = {card.id: card.backport_id for card in read_markers(desk.reference.read_text()).cards}
    assert by == {"aha_wait": first.backport.key, "aha_pin": second.backport.key}
    assert [each.target for each in desk.deck.signals()] == ["aha_wait", "aha_pin"]


def test_applying_what_is_there_already_changes_no_file(desk: Desk) -> None:
    desk.card()
    desk.backport("aha_wait", apply=True)
    before = desk.files()
    again = desk.backport("aha_wait", apply=True)
    assert (again.planned.changes, desk.files()) == ((), before)
    assert len(desk.deck.signals()) == 1


def test_two_backports_of_one_second_have_two_ids(desk: Desk) -> None:
    desk.card()
    first, second = (
        desk.graduation.backport(BackportRequest(target=desk.skill, cards=("aha_wait",))).backport.key for _ in range(2)
    )
    assert first != second


def test_undo_gives_back_every_byte(both: Desk) -> None:  # noqa: F811
    """Defect 5: there was no way back."""
    both.card()
    before = both.files()
    done = both.backport("aha_wait", apply=True)
    assert both.files() != before
    undone = both.graduation.undo(done.backport.key)
    assert both.files() == before
    assert not both.reference.parent.exists()
    assert {file.how for file in undone.files} == {"exact"}
    assert both.status("aha_wait") is CardStatus.ACCEPTED
    kept = both.deck.backports()[done.backport.key]
    assert (kept.applied, kept.undone, kept.state) == (False, True, "")


@pytest.mark.parametrize(
    "text",
    [
        b"# Ours",
        b"# Ours\r\n\r\nText.\r\n",
        b"\xef\xbb\xbf# Ours\r\nNo end",
        b"",
        b"# Ours\n\n\n\n",
        "# Größe\u2028und\x0cmehr\n".encode(),
    ],
)
@pytest.mark.parametrize("name", ["AGENTS.md", "docs/how to.md"])
def test_undo_gives_back_every_byte_of_any_file(desk: Desk, text: bytes, name: str) -> None:
    page = desk.root / name
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(text)
    desk.card()
    done = desk.backport("aha_wait", target=page, apply=True)
    written = page.read_bytes()
    assert written.startswith(text)
    assert written.startswith(b"\xef\xbb\xbf") == text.startswith(b"\xef\xbb\xbf")
    assert not text or written.endswith(b"\n") == text.endswith(b"\n")
    if b"\r\n" in text:
        assert written.count(b"\n") == written.count(b"\r\n")
    desk.graduation.undo(done.backport.key)
    assert page.read_bytes() == text


def test_backports_that_are_undone_in_turn_leave_what_was_there(desk: Desk) -> None:
    desk.card()
    desk.card("aha_pin")
    before = desk.files()
    first = desk.backport("aha_wait", apply=True)
    between = desk.files()
    second = desk.backport("aha_pin", apply=True)
    desk.graduation.undo(second.backport.key)
    assert desk.files() == between
    desk.graduation.undo(first.backport.key)
    assert desk.files() == before


def test_an_older_backport_is_taken_out_from_under_a_newer_one(desk: Desk) -> None:
    desk.card()
    desk.card("aha_pin")
    first = desk.backport("aha_wait", apply=True)
    second = desk.backport("aha_pin", apply=True)
    undone = desk.graduation.undo(first.backport.key)
    assert {file.how for file in undone.files} == {"markers"}
    text = desk.reference.read_text()
    assert card_ids(text) == ["aha_pin"]
    assert "card_ids=aha_pin\n" in text
    assert read_markers((desk.skill / "SKILL.md").read_text()).backport_ids == (second.backport.key,)
    assert desk.status("aha_wait") is CardStatus.ACCEPTED
    assert desk.status("aha_pin") is CardStatus.BACKPORTED


def test_of_an_edited_target_only_the_marked_parts_go(desk: Desk) -> None:
    desk.card()
    done = desk.backport("aha_wait", apply=True)
    main = desk.skill / "SKILL.md"
    main.write_bytes(main.read_bytes().replace(b"Do it.", b"Do it with care.") + b"\n## Mine\n")
    desk.reference.write_bytes(desk.reference.read_bytes() + b"\nA note of ours.\n")
    undone = desk.graduation.undo(done.backport.key)
    assert {file.how for file in undone.files} == {"markers"}
    assert main.read_bytes() == SKILL_MD.replace(b"Do it.", b"Do it with care.") + b"\n## Mine\n"
    assert b"A note of ours." in desk.reference.read_bytes()
    assert card_ids(desk.reference.read_text()) == []


def test_a_reference_file_that_somebody_removed_is_no_hindrance(desk: Desk) -> None:
    desk.card()
    done = desk.backport("aha_wait", apply=True)
    desk.reference.unlink()
    desk.graduation.undo(done.backport.key)
    assert (desk.skill / "SKILL.md").read_bytes() == SKILL_MD


def test_a_card_stays_backported_while_another_target_holds_it(desk: Desk) -> None:
    desk.card()
    first = desk.backport("aha_wait", apply=True)
    second = desk.backport("aha_wait", target=desk.root / "AGENTS.md", apply=True)
    desk.graduation.undo(first.backport.key)
    assert desk.status("aha_wait") is CardStatus.BACKPORTED
    desk.graduation.undo(second.backport.key)
    assert desk.status("aha_wait") is CardStatus.ACCEPTED
    assert not (desk.root / "AGENTS.md").exists()


@pytest.mark.parametrize("applied", [True, False])
def test_what_was_undone_or_never_applied_is_not_undone(desk: Desk, applied: bool) -> None:
    desk.card()
    done = desk.backport("aha_wait", apply=applied)
    if applied:
        desk.graduation.undo(done.backport.key)
    with pytest.raises(Refusal):
        desk.graduation.undo(done.backport.key)
    with raises(NotFound, "unknown_backport"):
        desk.graduation.undo("slbp_nobody")


def test_a_card_that_was_edited_is_refreshed_in_its_place(both: Desk) -> None:  # noqa: F811
    """Defect 5: an edited card was never written anew."""
    both.card()
    both.card("aha_pin")
    both.backport("aha_wait", "aha_pin", apply=True)
    before = both.files()
    steps = ("Drain the queue", "Stop the workers", "Run the migration")
    both.card(solution_steps=steps)
    left = both.backport("aha_wait", apply=True)
    assert (left.planned.stale, both.files()) == (("aha_wait",), before)
    assert any("--refresh" in warning for warning in left.warnings)
    done = both.backport(apply=True, refresh=True)
    assert (done.planned.refreshed, done.planned.added) == (("aha_wait",), ())
    text = both.reference.read_text()
    assert card_ids(text) == ["aha_wait", "aha_pin"]
    assert f"- {steps[0]}\n- {steps[1]}\n" in text
    both.graduation.undo(done.backport.key)
    assert both.files() == before


def test_a_refresh_is_taken_back_under_somebody_elses_edit(desk: Desk) -> None:
    desk.card()
    desk.backport("aha_wait", apply=True)
    old = desk.reference.read_bytes()
    desk.card(problem="Something else was the matter.")
    done = desk.backport(apply=True, refresh=True)
    desk.reference.write_bytes(desk.reference.read_bytes() + b"\nOurs.\n")
    desk.graduation.undo(done.backport.key)
    assert b"Workers hold the table" in desk.reference.read_bytes()
    assert desk.reference.read_bytes().endswith(b"\nOurs.\n")
    assert card_ids(old.decode()) == card_ids(desk.reference.read_text())


def test_a_refresh_never_writes_over_what_a_person_edited_in_the_target(desk: Desk) -> None:
    desk.card()
    desk.backport("aha_wait", apply=True)
    desk.reference.write_text(desk.reference.read_text().replace("- Run the migration", "- Run it by hand"))
    desk.card(problem="Something else was the matter.")
    before = desk.files()
    done = desk.backport(apply=True, refresh=True)
    assert (done.planned.by_hand, desk.files()) == (("aha_wait",), before)
    assert any("edited by hand" in warning for warning in done.warnings)


def test_only_the_words_that_were_approved_graduate(desk: Desk) -> None:
    desk.card()
    unseen = "Do what nobody has looked at"
    desk.card(solution_steps=(unseen,), approve=False)
    done = desk.backport("aha_wait", apply=True)
    assert unseen not in desk.reference.read_text()
    assert "- Stop the workers" in desk.reference.read_text()
    assert any("edited since it was approved" in warning for warning in done.warnings)


def test_instructions_get_one_block_of_bullets(desk: Desk) -> None:
    agents = desk.root / "AGENTS.md"
    agents.write_text("# Rules\n\nBe kind.\n")
    desk.card()
    desk.card("aha_pin")
    desk.backport("aha_wait", target=agents, apply=True)
    done = desk.backport("aha_pin", target=agents, apply=True)
    text = agents.read_text()
    assert text.startswith("# Rules\n\nBe kind.\n\n<!-- self-learning:backport:start id=")
    assert text.count("backport:start") == text.count("backport:end") == 1
    assert done.backport.key in text
    assert (
        "- **Pin the base image by digest**: A build breaks although nothing in it changed\n  - Write the digest"
        in text
    )
    assert card_ids(text) == ["aha_wait", "aha_pin"]


def test_a_skill_that_is_no_card_graduates_by_its_name(desk: Desk) -> None:
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name="rotate-keys",
        description="Rotate the signing keys of a service.",
        steps=(SkillStep(text="Make a new key"), SkillStep(text="Sign with both until all clients know it")),
        portable=True,
    )
    desk.world.memory.propose(content, by="ann", origin=Origin.USER)
    stored = desk.world.memory.version("rotate-keys")
    desk.world.memory.review(stored.version.id, decision="approve", by="ann")
    done = desk.graduation.backport(BackportRequest(target=desk.skill, skills=("rotate-keys",), apply=True))
    assert done.planned.added == (stored.skill.id,)
    assert f"- {content.steps[1].text}" in desk.reference.read_text()
    desk.graduation.undo(done.backport.key)
    assert (desk.skill / "SKILL.md").read_bytes() == SKILL_MD


def test_a_lesson_of_a_card_graduates_as_its_card(desk: Desk) -> None:
    made = desk.card()
    done = desk.graduation.backport(BackportRequest(target=desk.skill, cards=("aha_wait",), skills=(made.version_id,)))
    assert done.backport.requested == ("aha_wait",)


def test_inspect_tells_what_is_there_and_what_the_ledger_knows(desk: Desk) -> None:
    desk.card()
    done = desk.backport("aha_wait", apply=True)
    told = desk.graduation.inspect(desk.skill, backport_id=done.backport.key, card_id="aha_other")
    assert told["skill_md_markers"]["backport_ids"] == [done.backport.key]
    assert told["aha_reference"]["card_ids"] == ["aha_wait"]
    assert told["aha_reference"]["header_meta"]["backport_id"] == done.backport.key
    assert told["found"] == {"backport_id": True, "aha_id": False}
    assert told["by_backport"] == {done.backport.key: ["aha_wait"]}
    assert [(each["backport_id"], each["applied"]) for each in told["ledger"]] == [(done.backport.key, True)]
    assert told["half_done"] == []


@pytest.mark.parametrize("refresh", [True, False])
def test_something_has_to_be_named(desk: Desk, refresh: bool) -> None:
    with pytest.raises(Mistake):
        desk.backport(refresh=refresh)


def test_a_target_outside_the_repository_is_refused(desk: Desk, tmp_path: Path) -> None:
    desk.card()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_bytes(SKILL_MD)
    (desk.root / "link").symlink_to(outside)
    for target in (outside, desk.root / "link", desk.root / ".." / "outside", desk.root / ".git" / "x.md"):
        with pytest.raises(NotPermitted):
            desk.backport("aha_wait", target=target, apply=True)
    (desk.skill / "references").symlink_to(outside)
    with pytest.raises(NotPermitted):
        desk.backport("aha_wait", apply=True)
    assert sorted(path.name for path in outside.iterdir()) == ["SKILL.md"]
