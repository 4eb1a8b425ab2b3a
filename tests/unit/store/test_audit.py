"""The audit chain: every link covers the one before, and whatever was changed, removed or put in is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from tacit.domain.errors import Mistake, NotFound, StoreOutage
from tacit.domain.stored import AuditEntry
from tacit.store.audit import GENESIS, Audit, AuditLink, AuditNote, is_gone, record_path
from tacit.store.connection import Connection, StoreDamaged
from tacit.store.schema import MIGRATIONS
from tests.raising import raises
from tests.unit.store.samples import at

EVENT = AuditLink(
    sequence=1, at="2026-01-01T12:00:00+00:00", actor="ana", action="add", subject="v_1", record="versions/s_1/v_1",
    digest="d", previous=GENESIS,
)  # fmt: skip


@pytest.fixture
def connection() -> Connection:
    """The chain's table without the triggers that guard it, so that tests can do damage."""
    made = Connection(":memory:")
    MIGRATIONS[0](made)
    for (trigger,) in made.run("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit'"):
        made.run(f"DROP TRIGGER {trigger}")
    return made


@pytest.fixture
def audit(connection: Connection) -> Audit:
    return Audit(connection)


RECORD = "versions/s_1/v_1"


def note(action: str = "version trial", *, subject: str = "v_1", minutes: float = 0, actor: str = "gate") -> AuditNote:
    return AuditNote(action=action, subject=subject, at=at(minutes), actor=actor)


def grow(audit: Audit, *records: str, action: str = "add") -> None:
    for record in records:
        audit.append(note(action, subject=record.rsplit("/", 1)[-1]), record=record, digest="d")


# --- links ----------------------------------------------------------------------------------------------------------


def test_a_known_event_keeps_the_link_under_which_it_is_stored() -> None:
    """If these change, every chain is damaged: write a migration, do not change the literals."""
    first = EVENT.computed_hash()
    assert first == "6e735d2d1849c4ce817257420cfd2a566ab046de08ab7a1853593725c1bc9ebb"
    assert (
        EVENT._replace(previous=first).computed_hash()
        == "d274e12512772a82e925e0bf39aa22514aa76f9b8f55c241afc871d8ef97f66d"
    )


@pytest.mark.parametrize("part", ["at", "actor", "action", "subject", "record", "digest"])
def test_a_link_covers_every_part_of_its_event(part: str) -> None:
    changed = EVENT._replace(**{part: "other"})  # type: ignore[arg-type]
    assert changed.computed_hash() != EVENT.computed_hash()
    assert EVENT._replace(sequence=2).computed_hash() != EVENT.computed_hash()


def test_a_damaged_link_before_is_hashed_like_any_other() -> None:
    damaged = EVENT._replace(previous="\u00e4\ud800")
    assert damaged.computed_hash() == EVENT._replace(previous="??").computed_hash()


# --- appending and reading ------------------------------------------------------------------------------------------


def test_what_is_appended_is_read_back_link_by_link(audit: Audit) -> None:
    audit.append(note(minutes=1, actor="ana"), record=RECORD, digest="d1")
    audit.append(note("transition trusted", minutes=2), record=RECORD, digest="d2")
    first, second = audit.links()
    assert first == AuditLink(
        sequence=1, at="2026-01-01T12:01:00.000000+00:00", actor="ana", action="version trial", subject="v_1",
        record="versions/s_1/v_1", digest="d1", previous=GENESIS, hash=first.computed_hash(),
    )  # fmt: skip
    assert (second.previous, second.hash) == (first.hash, second.computed_hash())
    assert audit.at(2) == second
    assert second.entry() == AuditEntry(
        sequence=2, at=at(2), actor="gate", action="transition trusted", subject="v_1", digest="d2", hash=second.hash
    )


def test_times_are_kept_in_one_zone_and_those_without_are_refused(audit: Audit) -> None:
    elsewhere = at().astimezone(timezone(timedelta(hours=5)))
    audit.append(replace(note(), at=elsewhere), record=RECORD, digest="d")
    assert audit.at(1).at == "2026-01-01T12:00:00.000000+00:00"
    with raises(Mistake, "no_time_zone"):
        audit.append(replace(note(), at=datetime(2026, 1, 1)), record=RECORD, digest="d")  # noqa: DTZ001


def test_a_change_that_nobody_signs_is_tacits_own(audit: Audit) -> None:
    audit.append(note(actor=""), record=RECORD, digest="d")
    audit.append(AuditNote(action="add", subject="v_1", at=at()), record=RECORD, digest="d")
    assert [found.actor for found in audit.links()] == ["tacit", "tacit"]


def test_characters_that_no_file_can_hold_do_not_break_the_chain(audit: Audit) -> None:
    audit.append(AuditNote(action="a\ud800", subject="b\ud800", at=at(), actor="c\ud800"), record="r", digest="d")
    event = audit.at(1)
    assert (event.action, event.subject, event.actor) == ("a?", "b?", "c?")


def test_reading_may_begin_in_the_middle(audit: Audit) -> None:
    grow(audit, "uses/a", "uses/b", "uses/c")
    assert [found.sequence for found in audit.links(start=2)] == [2, 3]
    assert [found.sequence for found in audit.links(start=3)] == [3]
    assert list(audit.links(start=4)) == []


def test_an_empty_chain_has_no_links(audit: Audit) -> None:
    assert list(audit.links()) == []
    assert audit.entries(None, limit=None) == audit.entries(None, limit=5) == []


# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["at", "actor", "action", "subject", "record", "digest", "previous", "hash"])
def test_a_changed_column_is_damage_and_named(audit: Audit, connection: Connection, column: str) -> None:
    grow(audit, "uses/a", "uses/b", "uses/c")
    connection.run(f"UPDATE audit SET {column} = 'x' WHERE seq = 2")
    with pytest.raises(StoreDamaged) as found:
        audit.at(2)
    assert (found.value.subject, found.value.code) == ("audit 2", "wrong_hash")
    assert audit.at(1).record == "uses/a"
    with raises(StoreOutage, "wrong_hash"):
        list(audit.links())


def test_a_value_of_another_type_is_damage(audit: Audit, connection: Connection) -> None:
    grow(audit, "uses/a")
    rows = connection.run("SELECT * FROM audit")
    connection.run("DROP TABLE audit")
    connection.run(
        "CREATE TABLE audit (seq INTEGER PRIMARY KEY, at, actor, action, subject, record, digest, previous, hash)"
    )
    connection.run(f"INSERT INTO audit VALUES ({', '.join('?' * 9)})", *rows[0])
    assert audit.at(1).actor == "gate"
    connection.run("UPDATE audit SET hash = NULL")
    with raises(StoreDamaged, "wrong_hash"):
        audit.at(1)
    connection.run("UPDATE audit SET hash = ?, at = x'00'", rows[0][-1])
    with raises(StoreDamaged, "wrong_hash"):
        audit.at(1)


def test_a_text_that_is_not_utf8_is_damage_of_its_link(audit: Audit, connection: Connection) -> None:
    grow(audit, "uses/a")
    connection.run("UPDATE audit SET actor = CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreDamaged) as found:
        audit.at(1)
    assert (found.value.subject, found.value.code) == ("audit 1", "not_utf8")


def test_a_link_that_was_removed_is_missed(audit: Audit, connection: Connection) -> None:
    grow(audit, "uses/a", "uses/b", "uses/c")
    connection.run("DELETE FROM audit WHERE seq = 2")
    with pytest.raises(StoreDamaged) as found:
        audit.at(2)
    assert (found.value.subject, found.value.code) == ("audit 2", "missing")
    with raises(StoreDamaged, "missing"):  # fewer links than the last one's number
        list(audit.links())


def test_a_link_that_fits_itself_but_not_the_one_before_is_damage(audit: Audit, connection: Connection) -> None:
    grow(audit, "uses/a", "uses/b", "uses/c")
    forged = audit.at(2)._replace(actor="mallory")
    connection.run("UPDATE audit SET actor = ?, hash = ? WHERE seq = 2", forged.actor, forged.computed_hash())
    assert audit.at(2).actor == "mallory"
    with pytest.raises(StoreDamaged) as found:
        list(audit.links())
    assert (found.value.subject, found.value.code) == ("audit 3", "bad_chain_order")
    with raises(StoreDamaged, "bad_chain_order"):
        list(audit.links(start=3))


def test_nothing_is_appended_to_a_damaged_end(audit: Audit, connection: Connection) -> None:
    grow(audit, "uses/a")
    connection.run("UPDATE audit SET actor = 'mallory'")
    with raises(StoreDamaged, "wrong_hash"):
        grow(audit, "uses/b")


# --- what is reported of it ---------------------------------------------------------------------------------------------


def test_the_newest_entries_are_reported_oldest_first(audit: Audit) -> None:
    grow(audit, "uses/a", "uses/b", "uses/a", "uses/c")

    def reported(*subjects: str, limit: int | None) -> list[int]:
        return [entry.sequence for entry in audit.entries(frozenset(subjects) or None, limit=limit)]

    assert reported(limit=None) == reported(limit=4) == reported(limit=9) == [1, 2, 3, 4]
    assert reported(limit=1) == [4]
    assert reported(limit=2) == [3, 4]
    assert reported(limit=0) == reported(limit=-1) == []
    assert reported("a", limit=None) == reported("a", limit=2) == [1, 3]
    assert reported("a", "c", limit=None) == [1, 3, 4]
    assert reported("a", "c", limit=1) == [4]
    assert reported("a", limit=0) == reported("a", limit=-1) == []
    assert reported("z", limit=None) == []


def test_a_record_is_named_by_its_table_owner_and_id_without_ambiguity() -> None:
    assert record_path("versions", "s_1", "v_1") == "versions/s_1/v_1"
    assert record_path("uses", "a/b") == "uses/a%2Fb"
    assert record_path("uses", "a%2Fb") == "uses/a%252Fb"
    assert record_path("uses", "a\ud800") == "uses/a?"
    assert record_path("uses") == "uses"


def test_the_records_of_owners_are_those_that_were_not_purged(audit: Audit) -> None:
    grow(audit, "versions/s_1/v_1", "versions/s_1/v_2", "versions/s_2/v_3", "versions/s_10/v_4", "verdicts/s_1/d_1")
    audit.check_complete("versions", "s_1", found={"versions/s_1/v_1", "versions/s_1/v_2"})
    audit.check_complete("versions", "s_2", "s_10", found={"versions/s_2/v_3", "versions/s_10/v_4"})
    audit.check_complete("versions", "s_9", found=set())
    audit.check_complete("versions", found=set())
    grow(audit, "versions/s_1/v_1", action="purge")
    audit.check_complete("versions", "s_1", found={"versions/s_1/v_2"})
    grow(audit, "versions/s_1/v_1")  # learned again since
    audit.check_complete("versions", "s_1", found={"versions/s_1/v_1", "versions/s_1/v_2"})


def test_an_id_that_the_chain_knows_is_lost_and_any_other_unknown(audit: Audit) -> None:
    grow(audit, "versions/s_1/v_1", "uses/u_1")
    lost = audit.absent("versions", "v_1", noun="version")
    assert isinstance(lost, StoreDamaged)
    assert (lost.subject, lost.code) == ("versions v_1", "missing")
    for table, identity in (("versions", "v_2"), ("uses", "v_1"), ("versions", "u_1"), ("version", "v_1")):
        unknown = audit.absent(table, identity, noun="version")
        assert isinstance(unknown, NotFound)
        assert identity in unknown.message
    grow(audit, "versions/s_1/v_1", action="purge")
    assert isinstance(audit.absent("versions", "v_1", noun="version"), NotFound)


def test_an_id_is_not_lost_because_another_one_ends_alike(audit: Audit) -> None:
    audit.append(AuditNote(action="add", subject="v_1", at=at()), record="versions/s_1/xv_1", digest="d")
    assert isinstance(audit.absent("versions", "v_1", noun="version"), NotFound)


def test_rows_and_chain_must_name_the_same_records(audit: Audit) -> None:
    grow(audit, "versions/s_1/v_1", "versions/s_1/v_2", "versions/s_2/v_3")
    audit.check_complete("versions", "s_1", found={"versions/s_1/v_1", "versions/s_1/v_2"})
    audit.check_complete("versions", "s_1", "s_2", found={"versions/s_1/v_1", "versions/s_1/v_2", "versions/s_2/v_3"})
    with pytest.raises(StoreDamaged) as missing:
        audit.check_complete("versions", "s_1", found={"versions/s_1/v_1"})
    assert (missing.value.subject, missing.value.code) == ("versions v_2", "missing")
    with pytest.raises(StoreDamaged) as added:
        audit.check_complete("versions", "s_2", found={"versions/s_2/v_3", "versions/s_2/v_9"})
    assert (added.value.subject, added.value.code) == ("versions v_9", "not_audited")


def test_only_a_purge_or_a_restore_leaves_nothing_behind() -> None:
    assert [action for action in ("purge", "restore", "add", "version trial", "tombstone") if is_gone(action)] == [
        "purge",
        "restore",
    ]
