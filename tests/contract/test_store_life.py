"""What every store promises about the life of skills: uses are found by session and version, and remarks are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.domain.archive import Source, SourceKind
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.ledger import About
from tacit.store import Store, open_store
from tests.raising import raises
from tests.unit.store.samples import SUCCESS, at, put_version, remark, rendering, trajectory, use


def abandon(store: Store, write: Callable[[], object]) -> None:
    """Write in a transaction that then fails."""
    with suppress(ZeroDivisionError), store.transaction():
        write()
        raise ZeroDivisionError


# --- uses -------------------------------------------------------------------------------------------------------------


def test_uses_are_found_by_session_by_version_and_by_both(store: Store) -> None:
    one, two = (put_version(store, name).version.id for name in ("one", "two"))
    first = replace(use(one, session_id="s1", minutes=5), version_ids=(one, two, one), id="u_1")
    second, third = use(two, session_id="s1", minutes=1), use(one, session_id="s2")
    for shown in (first, second, third):
        store.add(shown)
    assert store.uses() == [first, second, third]  # in order of arrival
    assert store.uses(session_id="s1") == [first, second]
    assert store.uses(version_id=one) == [first, third]
    assert store.uses(session_id="s1", version_id=one) == [first]
    assert store.uses(session_id=one) == store.uses(version_id="s1") == []


def test_a_use_without_a_session_belongs_to_none_and_of_unknown_ones_there_are_none(store: Store) -> None:
    shown = use("v_gone")
    store.add(shown)
    store.add(shown)
    assert store.uses() == store.uses(version_id="v_gone") == [shown]
    assert store.uses(session_id="nobody") == store.uses(version_id="v_none") == []


def test_a_use_that_was_held_back_by_lot_reads_back_with_its_shares(store: Store) -> None:
    shown = use(
        "v_1", session_id="s1", held_back=True, shares=(0.25,), commit="abc", principal="ben", scope="project:x"
    )
    store.add(shown)
    assert store.uses(session_id="s1") == [shown]
    assert list(store.verify()) == []


@pytest.mark.parametrize("session", ["a/b", "\ud800 é", "%", "数据", "x" * 5000, "it's", "a\x00b"])
def test_a_session_may_have_any_name(store: Store, session: str) -> None:
    shown = use("v_1", session_id=session)
    store.add(shown)
    assert store.uses(session_id=session) == [shown]
    assert list(store.verify()) == []


def test_uses_are_found_as_before_once_the_indexes_were_rebuilt(store: Store) -> None:
    shown = [use("v_1", session_id="s1", minutes=minute) for minute in range(3)]
    for each in shown:
        store.add(each)
    store.reindex()
    assert store.uses(session_id="s1") == store.uses(version_id="v_1") == shown
    assert list(store.verify()) == []


def test_an_abandoned_use_is_not_found(store: Store) -> None:
    abandon(store, lambda: store.add(use("v_1", session_id="s1")))
    assert store.uses(session_id="s1") == store.uses() == []


# --- remarks ----------------------------------------------------------------------------------------------------------


def test_remarks_of_skills_and_versions_read_back_in_order_of_arrival(store: Store) -> None:
    stored = put_version(store)
    of_version = [remark(stored.version.id, minutes=minute, text=f"{minute}") for minute in (4, 2)]
    of_skill = remark(stored.skill.id, about=About.PIN, text="left alone")
    for noted in (*of_version, of_skill):
        assert store.add(noted)
    assert store.remarks() == [*of_version, of_skill]
    assert store.remarks(stored.version.id) == store.remarks(about=About.FRICTION) == of_version
    assert store.remarks(about=About.PIN) == store.remarks(stored.skill.id, about=About.PIN) == [of_skill]
    assert store.remarks(stored.skill.id, about=About.FRICTION) == store.remarks("v_none") == []
    assert store.remarks(stored.skill.id, "v_none", stored.version.id) == [*of_version, of_skill]
    assert store.remarks(stored.skill.id, stored.version.id, about=About.PIN) == [of_skill]
    assert list(store.verify()) == []


def test_a_remark_is_kept_once_and_leaves_one_link_under_its_subject(store: Store) -> None:
    stored = put_version(store)
    before = len(store.history())
    assert store.add(remark(stored.version.id))
    assert not store.add(remark(stored.version.id))
    link = store.history()[-1]
    assert (len(store.history()), link.action, link.actor) == (before + 1, "remark friction", "ana")
    assert link.subject == stored.version.id
    assert link in store.history(stored.skill.id)


def test_a_remark_about_something_unknown_is_not_found(store: Store) -> None:
    put_version(store)
    for subject in ("v_none", "", "t_1"):
        with raises(NotFound, "not_found"):
            store.add(remark(subject))
    assert store.remarks() == []


def test_a_remark_without_a_zone_or_under_a_taken_id_is_refused(store: Store) -> None:
    stored = put_version(store)
    noted = remark(stored.version.id)
    store.add(noted)
    with raises(Mistake, "no_time_zone"):
        store.add(replace(noted, at=at().replace(tzinfo=None), id=""))
    with raises(Mistake, "id_taken"):
        store.add(replace(noted, text="something else"))
    assert store.remarks() == [noted]


def test_an_abandoned_remark_leaves_nothing_behind(store: Store) -> None:
    stored = put_version(store)
    before = store.history()
    abandon(store, lambda: store.add(remark(stored.version.id)))
    assert store.remarks() == []
    assert store.history() == before


# --- what goes with a purge, and what a backup holds ------------------------------------------------------------------


def purged(store: Store, kind: SourceKind, value: str) -> Sequence[str]:
    """Purge a source; returns the ids of the remarks that went."""
    descent = store.descent(Source(kind=kind, value=value))
    store.purge(descent, by="ben", at=at(9))
    return descent.remarks


def test_remarks_about_what_is_purged_go_with_it(store: Store) -> None:
    store.add_trajectory(trajectory(), SUCCESS, at=at())
    gone, kept = put_version(store), put_version(store, "kept", body="other")
    of_gone = [remark(gone.version.id), remark(gone.skill.id, about=About.PIN)]
    naming = [
        remark(kept.version.id, about=About.CONTRADICTION, other=gone.version.id),
        remark(kept.version.id, other=trajectory().id),
        remark(kept.skill.id, about=About.PROMOTION, other=gone.skill.id),
    ]
    staying = remark(kept.version.id, about=About.VALIDATION, text="fine")
    for noted in (*of_gone, staying, *naming):
        store.add(noted)
    store.add(use(gone.version.id, session_id="s1"))
    went = purged(store, SourceKind.IMPORTED, gone.version.hash)
    assert set(went) == {noted.id for noted in (*of_gone, naming[0], naming[2])}
    assert store.remarks() == [staying, naming[1]]
    assert store.uses(session_id="s1") == store.uses(version_id=gone.version.id) == []
    assert purged(store, SourceKind.TRAJECTORY, trajectory().id) == (naming[1].id,)
    assert store.remarks(kept.version.id) == [staying]
    assert [link.action for link in store.history(kept.version.id)].count("purge") == 2
    assert list(store.verify()) == []


def test_remarks_of_a_person_who_is_purged_go_even_if_nothing_else_does(store: Store) -> None:
    stored = put_version(store)
    store.add(remark(stored.version.id, by="mallory"))
    descent = store.descent(Source(kind=SourceKind.PRINCIPAL, value="mallory"))
    assert not descent.is_empty
    assert descent.counts["remarks"] == 1
    store.purge(descent, by="ben", at=at(9))
    assert store.remarks() == []
    assert store.version(stored.version.id) == stored
    assert list(store.verify()) == []


def test_a_backup_holds_remarks_and_finds_uses(store: Store, tmp_path: Path) -> None:
    stored = put_version(store)
    store.add(remark(stored.version.id))
    store.add(use(stored.version.id, session_id="s1"))
    manifest = store.backup(tmp_path / "backup.db")
    assert manifest.counts["remarks"] == 1
    copy = open_store(tmp_path / "backup.db")
    assert copy.remarks() == [remark(stored.version.id)]
    assert copy.uses(session_id="s1") == [use(stored.version.id, session_id="s1")]
    assert list(copy.verify()) == []
    copy.close()


def test_a_rendering_tells_how_much_a_control_would_tell(store: Store) -> None:
    stored = put_version(store)
    store.renderings.put(rendering(stored.version.id, unproven=0.75))
    kept = store.renderings.get([stored.version.id]).get(stored.version.id)
    assert kept is not None
    assert kept.unproven == 0.75
    assert list(store.verify()) == []
