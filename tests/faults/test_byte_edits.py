"""One byte changed in a stored skill, approval, piece of evidence or link of the chain, as somebody with the file would do it.

Edits are made through SQL, with the triggers removed for one cell, and in the file itself, in one byte of a record's text.
Every edit is refused by the next reader of the record, or reported by `verify`. A resealed edit is reported by the audit
chain, and a rewritten chain by the anchor outside the file.
TACIT_TEST_EDITS sets how many.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest

from tacit.domain.errors import StoreOutage
from tacit.features.cards.card import Card
from tacit.store import Store, open_store
from tacit.store.audit import GENESIS, AuditLink
from tacit.store.seals import seal_of
from tests.faults.test_bit_flips import Vandal, read_everything
from tests.raising import raises
from tests.unit.store.samples import approval, card, evidence, fill, passages, put_version, remark, verdict

EDITS = int(os.environ.get("TACIT_TEST_EDITS", "120"))
TABLES = (
    "versions", "skills", "transitions", "approvals", "evidence", "remarks", "entries", "passages", "uses", "audit",
)  # fmt: skip


def build(path: Path) -> None:
    store = open_store(path)
    fill(store)
    for number in range(4):
        stored = put_version(store, f"skill-{number}", body=f"words of skill {number} " * 20)
        store.add(approval(stored, minutes=number))
        store.add(evidence(stored.version.id, minutes=number, note=f"note {number}"))
        store.add(verdict(version_id=stored.version.id, minutes=number))
        store.add(remark(stored.version.id, minutes=number, text=f"note {number}"))
        store.add(card(f"aha_{number}", minutes=number, title=f"note {number}"))
        store.passages.put(stored.version.id, passages(f"measured {number}", "and again"))
    store.close()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "tacit.db"
    build(path)
    return path


@pytest.fixture
def expected(original: Path) -> list[Any]:
    store = open_store(original)
    values = read_everything(store)
    store.close()
    return values


def outcome(path: Path, expected: list[Any]) -> str:
    """What becomes of an edited store: `refused` at the next read, `reported` by verify, or `harmless` if nothing differs."""
    try:
        store = open_store(path)
    except StoreOutage:
        return "refused"
    try:
        try:
            values = read_everything(store)
        except StoreOutage:
            return "refused"
        reported = list(store.verify())
        assert reported or values == expected, "a changed value got through in silence"
        return "told" if reported else "harmless"
    finally:
        store.close()


def other_byte(value: Any, chooser: random.Random) -> Any:
    """The value with one byte replaced by another; a text comes in a tuple, for it may no longer be one."""
    if isinstance(value, int):
        return value ^ (chooser.randrange(1, 256) << (8 * chooser.randrange(2)))
    data = bytearray(value.encode() if isinstance(value, str) else value)
    place = chooser.randrange(len(data))
    data[place] = (data[place] + chooser.randrange(1, 256)) % 256
    return (bytes(data),) if isinstance(value, str) else bytes(data)


def test_no_edit_through_sql_goes_by_in_silence(original: Path, expected: list[Any], tmp_path: Path) -> None:
    path, chooser = tmp_path / "tacit.db", random.Random(20260601)
    shutil.copy(original, path)
    vandal = Vandal(path)
    cells = {table: [cell for cell in vandal.cells(table) if cell[2] not in ("", b"", None)] for table in TABLES}
    seen = Counter[str]()
    for number in range(EDITS // 2):
        table = TABLES[number % len(TABLES)]
        rowid, column, value = chooser.choice(cells[table])
        edited = other_byte(value, chooser)
        try:
            vandal.put(table, rowid, column, edited)
        except apsw.ConstraintError:  # the file itself does not take it: a number that another row has
            seen["refused"] += 1
            continue
        found = outcome(path, expected)
        assert found != "harmless", (table, column, value, edited)
        seen[found] += 1
        moved = edited if column == "seq" else rowid
        vandal.put(table, moved, column, (value.encode(),) if isinstance(value, str) else value)
    vandal.database.close()
    assert outcome(path, expected) == "harmless"
    assert sum(seen.values()) == EDITS // 2


def text_places(data: bytes, path: Path) -> list[int]:
    """Where in the file the bytes of stored records lie."""
    vandal = Vandal(path)
    places: list[int] = []
    for table in TABLES:
        for _, column, value in vandal.cells(table):
            if column in ("record", "hash", "seal", "digest", "subject", "action", "status", "id"):
                text = value.encode() if isinstance(value, str) else value
                if isinstance(text, bytes) and len(text) > 6:
                    start = data.find(text[:200])
                    places += range(start, start + min(len(text), 200)) if start >= 0 else ()
    vandal.database.close()
    return places


def test_no_edit_of_the_file_goes_by_in_silence(original: Path, expected: list[Any], tmp_path: Path) -> None:
    chooser, seen = random.Random(20260602), Counter[str]()
    data = original.read_bytes()
    places = text_places(data, original)
    for number in range(EDITS - EDITS // 2):
        path = tmp_path / f"edited-{number}.db"
        edited, place = bytearray(data), chooser.choice(places)
        edited[place] = (edited[place] + chooser.randrange(1, 256)) % 256
        path.write_bytes(edited)
        found = outcome(path, expected)
        assert found != "harmless", (place, data[place - 20 : place + 20])
        seen[found] += 1
        for leftover in tmp_path.glob(f"{path.name}*"):
            leftover.unlink()
    assert sum(seen.values()) == EDITS - EDITS // 2


# --- edits by somebody who knows how it is made ---------------------------------------------------------------------


@pytest.fixture
def anchored(tmp_path: Path) -> tuple[Path, Path]:
    path, home = tmp_path / "tacit.db", tmp_path / "home"
    build(path)
    store = open_store(path, home=home)
    store.add(evidence(store.catalogue()[0].version.id, minutes=99))
    store.close()
    return path, home


def reseal(vandal: Vandal, table: str, seq: int, **changes: Any) -> str:
    """Change columns of a row and seal it again; returns the seal."""
    columns = [row[1] for row in vandal.rows(f"PRAGMA table_info({table})")]
    row = dict(zip(columns, vandal.rows(f"SELECT * FROM {table} WHERE seq = {seq}")[0], strict=True)) | changes
    seal = seal_of(table, [row[column] for column in columns if column != "seal"])
    for column, value in (*changes.items(), ("seal", seal)):
        vandal.put(table, seq, column, value)
    return seal


def rewrite_chain(vandal: Vandal, digests: dict[str, str]) -> None:
    """Make the chain again with other digests, every link fitting the one before."""
    before = GENESIS
    for seq, when, actor, action, subject, record, known in vandal.rows(
        "SELECT seq, at, actor, action, subject, record, digest FROM audit ORDER BY seq"
    ):
        digest = digests.get(record, known)
        link = AuditLink(seq, when, actor, action, subject, record, digest, before)
        vandal.put("audit", seq, "digest", digest)
        vandal.put("audit", seq, "previous", before)
        before = link.computed_hash()
        vandal.put("audit", seq, "hash", before)


def damages(path: Path, home: Path | None = None) -> list[str]:
    store: Store = open_store(path, home=home)
    found = [f"{damage.subject} {damage.code}" for damage in store.verify()]
    store.close()
    return found


@pytest.mark.parametrize("table", ["approvals", "evidence", "remarks", "entries"])
def test_an_edit_that_is_resealed_is_reported_by_the_chain_and_a_new_chain_by_the_anchor(
    table: str, anchored: tuple[Path, Path]
) -> None:
    path, home = anchored
    vandal = Vandal(path)
    record = vandal.rows(f"SELECT record FROM {table} WHERE seq = 2")[0][0]
    column = {"remarks": "subject", "entries": "sort || '%2F' || key"}.get(table, "version_id")
    owner, identity = vandal.rows(f"SELECT {column}, id FROM {table} WHERE seq = 2")[0]
    old, new = (b'"note":"note 0"', b'"note":"note 9"') if table == "evidence" else (b'"ana"', b'"bob"')
    assert old in record
    seal = reseal(vandal, table, 2, record=record.replace(old, new))
    assert any("changed_since_audit" in problem for problem in damages(path))
    rewrite_chain(vandal, {f"{table}/{owner}/{identity}": seal})
    vandal.database.close()
    assert damages(path) == []  # alone, the file proves nothing any more
    assert any("chain_rewritten" in problem for problem in damages(path, home))
    assert any("chain_rewritten" in problem for problem in damages(path, home)), "it is reported every time"


def test_an_approval_that_was_added_by_hand_is_reported(anchored: tuple[Path, Path]) -> None:
    path, _ = anchored
    vandal = Vandal(path)
    seq, *values = vandal.rows("SELECT seq, id, version_id, at, record FROM approvals ORDER BY seq DESC LIMIT 1")[0]
    forged = [seq + 1, "a_forged", *values[1:]]
    vandal.database.execute(
        "INSERT INTO approvals (seq, id, version_id, at, record, seal) VALUES (?, ?, ?, ?, ?, ?)",
        (*forged, seal_of("approvals", forged)),
    )
    vandal.database.close()
    store = open_store(path)
    with raises(StoreOutage, "not_audited"):
        store.approvals(values[1])
    assert any("a_forged" in damage.subject for damage in store.verify())
    store.close()


def test_a_remark_that_was_added_by_hand_is_reported(anchored: tuple[Path, Path]) -> None:
    path, _ = anchored
    vandal = Vandal(path)
    seq, *values = vandal.rows("SELECT seq, id, subject, about, at, record FROM remarks ORDER BY seq DESC LIMIT 1")[0]
    forged = [seq + 1, "n_forged", *values[1:]]
    vandal.database.execute(
        "INSERT INTO remarks (seq, id, subject, about, at, record, seal) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*forged, seal_of("remarks", forged)),
    )
    vandal.database.close()
    store = open_store(path)
    with raises(StoreOutage, "not_audited"):
        store.remarks(values[1])
    assert any("n_forged" in damage.subject for damage in store.verify())
    store.close()


def test_an_entry_that_was_added_by_hand_is_reported(anchored: tuple[Path, Path]) -> None:
    path, _ = anchored
    vandal = Vandal(path)
    columns = "seq, id, sort, key, session_id, at, record"
    seq, *values = vandal.rows(f"SELECT {columns} FROM entries ORDER BY seq DESC LIMIT 1")[0]
    forged = [seq + 1, "e_forged", *values[1:-1], values[-1].replace(values[0].encode(), b"e_forged")]
    vandal.database.execute(
        f"INSERT INTO entries ({columns}, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*forged, seal_of("entries", forged))
    )
    vandal.database.close()
    store = open_store(path)
    with raises(StoreOutage, "not_audited"):
        store.entries(Card, key=values[2])
    assert any("e_forged" in damage.subject for damage in store.verify())
    store.close()


def test_a_passage_that_is_edited_and_resealed_is_reported_at_the_next_read(anchored: tuple[Path, Path]) -> None:
    path, home = anchored
    vandal = Vandal(path)
    record, identity = vandal.rows("SELECT record, id FROM passages WHERE seq = 1")[0]
    reseal(vandal, "passages", 1, record=record.replace(b"measured", b"invented"))
    vandal.database.close()
    store = open_store(path)
    with raises(StoreOutage, "changed_since_audit"):
        store.passages.of(identity.split("#")[0])
    assert any(problem.startswith("passages/") for problem in damages(path, home))
    store.close()


@pytest.mark.parametrize(
    ("edit", "is_refused"),
    [
        ("DELETE FROM use_keys", False),
        ("UPDATE use_keys SET owner = 'v_other'", True),
        ("UPDATE use_keys SET use = 99", False),
        ("INSERT INTO use_keys VALUES ('version', 'v_other', 1)", True),
        ("INSERT INTO use_keys VALUES ('session', 'v_other', 7)", False),
    ],
)
def test_keys_of_uses_that_were_changed_by_hand_are_reported_and_rebuilt(
    edit: str, is_refused: bool, anchored: tuple[Path, Path]
) -> None:
    path, _ = anchored
    vandal = Vandal(path)
    assert vandal.rows("SELECT count(*) FROM use_keys")[0][0] == 1
    vandal.database.execute(edit)
    vandal.database.close()
    store = open_store(path)
    assert list(store.verify())
    if is_refused:
        with raises(StoreOutage, "wrong_use_index"):
            store.uses(version_id="v_other")
    store.reindex()
    assert list(store.verify()) == []
    assert store.uses(version_id=store.uses()[0].version_ids[0]) == store.uses()
    store.close()


def test_an_approval_of_another_content_is_reported(anchored: tuple[Path, Path]) -> None:
    path, home = anchored
    vandal = Vandal(path)
    row = vandal.rows("SELECT version_id, id, record FROM approvals WHERE seq = 2")[0]
    other = vandal.rows("SELECT hash FROM versions ORDER BY seq DESC LIMIT 1")[0][0]
    own = vandal.rows(f"SELECT hash FROM versions WHERE id = '{row[0]}'")[0][0]
    seal = reseal(vandal, "approvals", 2, record=row[2].replace(own.encode(), other.encode()))
    rewrite_chain(vandal, {f"approvals/{row[0]}/{row[1]}": seal})
    vandal.database.close()
    assert any("wrong_content_approved" in problem for problem in damages(path))
    assert damages(path, home)
