"""A deck keeps ledger and folder in step, both ways, and a person's decision on a lesson is the card's word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.archive import Source, SourceKind
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import Status
from tacit.domain.trajectory import Origin
from tacit.features.cards.card import Card, CardStatus
from tacit.features.cards.card_records import FILES, line_of, renewed
from tacit.features.cards.cards import Cards, Synced
from tacit.features.cards.folder import CardFolder
from tacit.features.cards.recording import record
from tests.raising import raises
from tests.unit.features.cards.aha.test_records import BACKPORT, CARD, EVENT, RECOMMENDATION, SIGNAL
from tests.unit.features.cards.making import AGENT, USER, World, payload_card

ALL: dict[str, dict[str, Any]] = {
    "events.jsonl": EVENT,
    "aha_cards.jsonl": CARD,
    "recommendations.jsonl": RECOMMENDATION,
    "backports.jsonl": BACKPORT,
    "signals.jsonl": SIGNAL,
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def add(deck: Cards, *numbers: int) -> list[str]:
    done = record(deck, {"aha_cards": [payload_card(1, number) for number in numbers]}, AGENT)
    assert not done.refused
    return [card.key for card, _ in done.cards]


def write(folder: Path, name: str, *lines: object, end: str = "\n") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(text)


def test_without_a_folder_only_the_store_is_used(world: World) -> None:
    (key,) = add(world.deck(), 1)
    assert list(world.deck().cards()) == [key]
    assert not (world.root / ".agent-skills").exists()


def test_a_folder_is_written_line_by_line_and_has_an_index(world: World) -> None:
    world.deck().start_folder()
    keys = add(world.deck(), 1, 2)
    assert [json.loads(line)["id"] for line in world.lines("aha_cards.jsonl")] == keys
    assert keys[0] in (world.folder / "INDEX.md").read_text(encoding="utf-8")


def test_a_folder_that_is_made_later_gets_everything(world: World) -> None:
    keys = add(world.deck(), 1, 2)
    world.deck().start_folder()
    assert [json.loads(line)["id"] for line in world.lines("aha_cards.jsonl")] == keys


def test_lines_of_the_other_tool_are_taken_in_at_the_next_command(world: World) -> None:
    for name, line in ALL.items():
        write(world.folder, name, line)
    deck = world.deck()
    assert deck.sync() == Synced(read=5)
    assert line_of(deck.cards()[str(CARD["id"])]) == CARD
    assert deck.scores()[str(CARD["id"])].total == 3
    assert (len(deck.events()), len(deck.recommendations()), len(deck.backports())) == (1, 1, 1)
    assert world.deck().sync() == Synced()
    assert [len(world.lines(name)) for name in ALL] == [1] * 5


def test_a_text_from_a_file_goes_through_the_gate_as_external(world: World) -> None:
    write(world.folder, "aha_cards.jsonl", CARD)
    deck = world.deck()
    deck.sync()
    card = deck.cards()[str(CARD["id"])]
    stored = world.memory.version(card.version_id)
    assert stored.version.lowest_origin is Origin.EXTERNAL
    assert stored.status in (Status.CANDIDATE, Status.QUARANTINED)
    assert not deck.is_reviewed(card)
    assert card.status is CardStatus.ACCEPTED, "its word is kept, and moves nothing"


def test_both_tools_can_write_one_after_the_other(world: World) -> None:
    world.deck().start_folder()
    (key,) = add(world.deck(), 1)
    line = json.loads(world.lines("aha_cards.jsonl")[0])
    write(
        world.folder, "aha_cards.jsonl", {**line, "status": "deprecated", "ts": "2026-03-01T13:00:00Z", "note": "old"}
    )
    deck = world.deck()
    deck.sync()
    assert deck.cards()[key].status is CardStatus.DEPRECATED
    assert [card.status for card in deck.history(key)] == [CardStatus.PROPOSED, CardStatus.DEPRECATED]
    assert deck.cards()[key].version_id == deck.history(key)[0].version_id, "the same text is the same lesson"
    add(world.deck(), 2)
    assert len(world.lines("aha_cards.jsonl")) == 3


def test_what_the_other_tool_writes_between_two_commands_is_seen_by_the_next_change(world: World) -> None:
    world.deck().start_folder()
    deck = world.deck()
    write(world.folder, "aha_cards.jsonl", CARD)
    add(deck, 1)
    assert str(CARD["id"]) in deck.cards()


def test_corrupt_lines_are_kept_skipped_and_told(world: World) -> None:
    good = {**CARD, "id": "aha_good"}
    write(world.folder, "aha_cards.jsonl", '{"id": "aha_torn', "[1, 2]", "", good, '{"id": NaN}')
    write(world.folder, "signals.jsonl", {"kind": "aha_loved", "aha_id": "aha_good"})
    (world.folder / "events.jsonl").write_bytes(b'{"id": "evt_1"}\n\xff\xfe\n')
    before = (world.folder / "aha_cards.jsonl").read_bytes()
    deck = world.deck()
    synced = deck.sync()
    assert list(deck.cards()) == ["aha_good"]
    assert [problem.split(":")[0] for problem in synced.problems] == [
        "events.jsonl line 2",
        *(f"aha_cards.jsonl line {number}" for number in (1, 2, 5)),
        "signals.jsonl line 1",
    ]
    assert (world.folder / "aha_cards.jsonl").read_bytes() == before


def test_a_torn_last_line_is_closed_before_the_next_is_written(world: World) -> None:
    write(world.folder, "aha_cards.jsonl", CARD, '{"id": "aha_to', end="")
    (key,) = add(world.deck(), 1)
    assert world.lines("aha_cards.jsonl")[1] == '{"id": "aha_to'
    assert json.loads(world.lines("aha_cards.jsonl")[2])["id"] == key


def test_lines_that_a_crash_kept_out_of_the_files_are_written_at_the_next_command(world: World) -> None:
    world.deck().start_folder()
    keys = add(world.deck(), 1, 2)
    lines = world.lines("aha_cards.jsonl")
    (world.folder / "aha_cards.jsonl").write_text(lines[0] + "\n", encoding="utf-8")
    assert world.deck().sync() == Synced(written=1)
    assert [json.loads(line)["id"] for line in world.lines("aha_cards.jsonl")] == keys


def test_a_folder_that_was_thrown_away_and_made_again_is_whole(world: World) -> None:
    world.deck().start_folder()
    keys = add(world.deck(), 1, 2)
    for name in FILES.values():
        (world.folder / name).unlink(missing_ok=True)
    world.deck().sync()
    assert [json.loads(line)["id"] for line in world.lines("aha_cards.jsonl")] == keys


def test_the_last_of_several_versions_holds(world: World) -> None:
    versions = [{**CARD, "title": f"Title {number}", "ts": f"2025-12-2{number}T00:00:00Z"} for number in range(1, 5)]
    write(world.folder, "aha_cards.jsonl", *versions)
    deck = world.deck()
    deck.sync()
    assert deck.cards()[str(CARD["id"])].title == "Title 4"
    assert [card.title for card in deck.history(str(CARD["id"]))] == [f"Title {number}" for number in range(1, 5)]
    assert len(deck.cards()) == 1


@pytest.mark.parametrize(
    ("decision", "word"),
    [("approve", CardStatus.ACCEPTED), ("reject", CardStatus.REJECTED)],
)
def test_a_persons_decision_on_the_lesson_becomes_the_cards_word(world: World, decision: str, word: CardStatus) -> None:
    world.deck().start_folder()
    (key,) = add(world.deck(), 1)
    world.clock.pass_by(hours=1)
    world.memory.review(world.deck().cards()[key].version_id, decision, by="ann")
    deck = world.deck()
    deck.sync()
    assert deck.cards()[key].status is word
    assert deck.is_reviewed(deck.cards()[key]) is (decision == "approve")
    assert json.loads(world.lines("aha_cards.jsonl")[-1])["status"] == word
    world.deck().sync()
    assert len(deck.history(key)) == 2, "it is written back once"


def test_a_word_that_was_said_after_the_decision_does_not_stand_against_it(world: World) -> None:
    (key,) = add(world.deck(), 1)
    world.clock.pass_by(hours=1)
    world.memory.review(world.deck().cards()[key].version_id, "approve", by="ann")
    world.deck().sync()
    world.clock.pass_by(hours=1)
    deck = world.deck()
    deck.add(renewed(deck.cards()[key], at=deck.now(), status=CardStatus.DEPRECATED))
    deck.sync()
    assert deck.cards()[key].status is CardStatus.ACCEPTED
    assert deck.is_reviewed(deck.cards()[key]), "a word does not move the lesson"


def test_retiring_a_lesson_deprecates_its_card(world: World) -> None:
    (key,) = add(world.deck(), 1)
    for decision in ("approve", "retire"):
        world.clock.pass_by(hours=1)
        world.memory.review(world.deck().cards()[key].version_id, decision, by="ann")
    deck = world.deck()
    deck.sync()
    assert deck.cards()[key].status is CardStatus.DEPRECATED


def test_a_failed_change_leaves_nothing_behind(world: World) -> None:
    world.deck().start_folder()
    deck = world.deck()

    def break_off() -> None:
        with deck.transaction():
            add(deck, 1)
            raise Mistake("no")

    with pytest.raises(Mistake):
        break_off()
    assert deck.cards() == {} == world.deck().cards()
    assert world.lines("aha_cards.jsonl") == []
    assert len(add(deck, 2)) == 1


def test_what_another_user_wrote_stays_out_of_this_users_files(world: World) -> None:
    world.deck().start_folder()
    (theirs,) = add(world.deck(user="bob"), 1)
    (mine,) = add(world.deck(), 2)
    assert set(world.deck().cards()) == {theirs, mine}
    assert [json.loads(line)["id"] for line in world.lines("aha_cards.jsonl")] == [mine]


def test_a_folder_behind_a_link_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "self-learning" / "v1" / "users" / USER).mkdir(parents=True)
    (world.root / ".agent-skills").symlink_to(tmp_path / "elsewhere")
    with raises(Mistake, "linked_folder"):
        world.deck().sync()


def test_files_that_are_links_or_pipes_are_not_used(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(json.dumps(CARD) + "\n", encoding="utf-8")
    world.folder.mkdir(parents=True)
    (world.folder / "aha_cards.jsonl").symlink_to(secret)
    deck = world.deck()
    assert deck.sync().problems[0].startswith("aha_cards.jsonl ")
    assert deck.cards() == {}


def test_what_was_purged_goes_from_the_ledger_and_does_not_come_back_from_the_file(world: World) -> None:
    world.deck().start_folder()
    gone, stays = add(world.deck(), 1, 2)
    lesson = world.memory.version(world.deck().cards()[gone].version_id).version
    plan = world.memory.archive.descent(Source(kind=SourceKind.IMPORTED, value=lesson.hash))
    world.memory.archive.purge(plan, by="ann", reason="it names a customer")
    assert list(world.deck().cards()) == [stays]
    write(world.folder, "events.jsonl", EVENT)
    deck = world.deck()
    synced = deck.sync()
    assert list(deck.cards()) == [stays]
    assert [gone in problem for problem in synced.problems] == [True]
    assert list(deck.events()) == [EVENT["id"]]


# --- import and export ------------------------------------------------------------------------------------------------


def test_a_folder_elsewhere_is_taken_in_and_given_out_equal_in_meaning(world: World, tmp_path: Path) -> None:
    source = tmp_path / "theirs"
    versions = [{**CARD, "title": f"光 {number}", "ts": f"2025-12-2{number}T00:00:00Z"} for number in (1, 2, 3)]
    for name, line in ALL.items():
        write(source, name, *(versions if name == "aha_cards.jsonl" else [line]), "{torn")
    synced = world.deck().import_folder(CardFolder(source))
    assert (synced.read, len(synced.problems)) == (7, 5)
    target = tmp_path / "mine"
    assert world.deck().export_folder(CardFolder(target)).written == 7
    for name, line in ALL.items():
        found = [json.loads(text) for text in (target / name).read_text(encoding="utf-8").splitlines()]
        assert found == (versions if name == "aha_cards.jsonl" else [line])
    assert world.deck().export_folder(CardFolder(target)).written == 0, "what is there stays, and is not written twice"
    assert world.deck().import_folder(CardFolder(source)).read == 0


def test_what_is_taken_in_is_written_to_the_own_folder_too(world: World, tmp_path: Path) -> None:
    write(tmp_path / "theirs", "aha_cards.jsonl", CARD)
    world.deck().start_folder()
    world.deck().import_folder(CardFolder(tmp_path / "theirs"))
    assert [json.loads(line) for line in world.lines("aha_cards.jsonl")] == [CARD]


def test_an_older_copy_elsewhere_does_not_turn_time_back(world: World, tmp_path: Path) -> None:
    write(tmp_path / "theirs", "aha_cards.jsonl", {**CARD, "title": "Older", "ts": "2024-01-01T00:00:00Z"})
    write(world.folder, "aha_cards.jsonl", CARD)
    deck = world.deck()
    deck.import_folder(CardFolder(tmp_path / "theirs"))
    now = deck.cards()[str(CARD["id"])]
    assert now.title == CARD["title"]
    assert now.version_id == deck.history(now.key)[0].version_id != ""


def test_the_index_is_rebuilt_byte_for_byte(world: World) -> None:
    world.deck().start_folder()
    add(world.deck(), *range(12))
    once = (world.folder / "INDEX.md").read_bytes()
    assert world.deck().index().encode() == once
    (world.folder / "INDEX.md").unlink()
    world.deck().start_folder()
    assert (world.folder / "INDEX.md").read_bytes() == once


def test_the_shared_deck_is_there_when_it_was_made(world: World) -> None:
    with world.deck().shared_cards() as shared:
        assert shared is None
    with world.deck().shared_cards(create=True) as shared:
        assert shared is not None
        shared.add(Card(key="aha_1", at=shared.now(), by=USER, title="T", ts=shared.timestamp()))
    assert world.deck().cards() == {}
    with world.deck().shared_cards() as shared:
        assert shared is not None
        assert list(shared.cards()) == ["aha_1"]
        assert shared.cards()["aha_1"].shelf == "global"
