"""What every store promises next to skills: the ledger is appended to, passages are found, working memory expires."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.domain.archive import Descent, Source, SourceKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.ledger import LedgerEntry, latest
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind
from tacit.domain.stored import NoteKind, Passage
from tacit.features.cards.card import Card, CardEvent, CardStatus, Recommendation, Signal, SignalKind
from tacit.features.people.ledger_entries import Aspect, Assumption, Choice, ChoiceSort, Forecast, Held, Moment, Phase
from tacit.store import Store, open_store
from tacit.text.words import terms
from tests.raising import raises
from tests.unit.store.samples import (
    SUCCESS,
    at,
    card,
    passages,
    put_version,
    rendering,
    session_note,
    step_to,
    trajectory,
    use,
)

ODD = ["a/b", "\ud800 é", "%2F", "数据", "x" * 3000, "it's", "a\x00b"]


def abandon(store: Store, write: object) -> None:
    """Write in a transaction that then fails."""
    with suppress(ZeroDivisionError), store.transaction():
        assert callable(write)
        write()
        raise ZeroDivisionError


def purge(store: Store, kind: SourceKind, value: str) -> Descent:
    descent = store.descent(Source(kind=kind, value=value))
    store.purge(descent, by="ben", at=at(99))
    return descent


# --- the ledger -------------------------------------------------------------------------------------------------------

ONE_OF_EACH: list[LedgerEntry] = [
    card(tags=("a", "b"), input_shape={"rows": [1, {"deep": None}]}, extra={"unknown": ["kept", 2.5]}),
    CardEvent(key="evt_1", at=at(), ts="2026", task_summary="moved it", notes=("one",)),
    Signal(key="sig_1", at=at(), ts="2026", kind=SignalKind.AHA_USED, target="aha_1"),
    Recommendation(key="rec_1", at=at(), title="Cache it", ts="2026", expected_impact={"speed": "high"}),
    Assumption(key="as_1", at=at(), text="the port is free", aspect=Aspect.RISK, held=Held.WRONG),
    Moment(key="mo_1", at=at(), phase=Phase.CORRECTIVE, what="denied", assumptions=("as_1",)),
    Choice(key="ch_1", at=at(), person="ann", sort=ChoiceSort.PERMISSION, response="deny", features={"tool": "Bash"}),
    Forecast(key="ch_1", at=at(), person="ann", sort=ChoiceSort.PERMISSION, prior="deny", prior_confidence=1.0),
]


@pytest.mark.parametrize("entry", ONE_OF_EACH, ids=lambda entry: entry.SORT)
def test_an_entry_of_every_sort_reads_back_as_it_was_written(store: Store, entry: LedgerEntry) -> None:
    assert store.add(entry)
    assert store.entries(type(entry)) == store.entries(type(entry), key=entry.key) == [entry]
    for other in map(type, ONE_OF_EACH):
        assert other is type(entry) or store.entries(other) == store.entries(other, key=entry.key) == []
    assert list(store.verify()) == []


def test_entries_are_found_by_sort_key_and_session_in_order_of_arrival(store: Store) -> None:
    late, early = card(minutes=9, session_id="s1"), card(minutes=1, status=CardStatus.ACCEPTED)
    other = card("aha_2", session_id="s1")
    forecast = Forecast(key="aha_1", at=at(), person="ann", sort=ChoiceSort.REVIEW, session_id="s1")
    for entry in (late, other, forecast, early):
        assert store.add(entry)
    assert store.entries(Card) == [late, other, early]
    assert store.entries(Card, key="aha_1") == [late, early]
    assert store.entries(Card, session_id="s1") == [late, other]
    assert store.entries(Card, key="aha_1", session_id="s1") == [late]
    assert store.entries(Forecast, session_id="s1") == store.entries(Forecast, key="aha_1") == [forecast]
    assert store.entries(Card, key="aha_9") == store.entries(Card, session_id="s9") == []
    assert store.entries(Signal) == []
    assert latest(store.entries(Card)) == {"aha_1": early, "aha_2": other}


def test_an_entry_is_kept_once_and_leaves_one_link_under_its_key(store: Store) -> None:
    assert store.add(card())
    assert not store.add(card())
    assert [(link.action, link.actor, link.subject) for link in store.history()] == [("entry card", "ana", "aha_1")]
    store.add(card("aha_2", by=""))
    assert [link.actor for link in store.history("aha_2")] == ["tacit"]


@pytest.mark.parametrize("name", ODD)
def test_a_key_and_a_session_may_have_any_name(store: Store, name: str) -> None:
    entry = card(name, session_id=name, title=name)
    store.add(entry)
    assert store.entries(Card, key=name) == store.entries(Card, session_id=name) == [entry]
    assert store.entries(Card, key=name[:-1]) == []
    assert list(store.verify()) == []


def test_an_entry_without_key_zone_or_sort_or_under_a_taken_id_is_refused(store: Store) -> None:
    store.add(card())
    with raises(Mistake, "entry_without_key"):
        store.add(card(""))
    with raises(Mistake, "no_time_zone"):
        store.add(replace(card(), at=at().replace(tzinfo=None), id=""))
    with raises(Mistake, "id_taken"):
        store.add(replace(card(), title="something else"))
    with raises(Mistake, "entry_without_sort"):
        store.add(LedgerEntry(key="k", at=at()))
    assert store.entries(Card) == [card()]


def test_an_abandoned_entry_leaves_nothing_behind(store: Store) -> None:
    abandon(store, lambda: store.add(card()))
    assert not store.entries(Card)
    assert not store.history()


def test_entries_go_with_what_they_rest_on(store: Store) -> None:
    store.add_trajectory(trajectory(session="s1"), SUCCESS, at=at())
    bad, good = put_version(store, "bad"), put_version(store, "good", body="other")
    store.add(use(bad.version.id, id="u_bad"))
    falling = [
        card("aha_1", sources=(bad.version.id,)),
        card("aha_2", sources=("u_bad",)),
        card("aha_3", title="before the gate took it in"),
        card("aha_3", minutes=1, version_id=bad.version.id),
        card("aha_3", minutes=2, title="its words are the skill's"),
    ]
    staying = [card("aha_1", minutes=1, sources=(good.version.id,)), card("aha_4", version_id=good.version.id)]
    for entry in (*falling, *staying):
        store.add(entry)
    went = purge(store, SourceKind.IMPORTED, bad.version.hash)
    assert set(went.entries) == {entry.id for entry in falling}
    assert went.counts["entries"] == len(falling)
    assert store.entries(Card) == staying
    assert store.entries(Card, key="aha_3") == []
    assert [link.action for link in store.history("aha_3")] == ["entry card"] * 3 + ["purge"] * 3
    assert list(store.verify()) == []


def test_entries_of_a_session_go_when_it_is_purged_or_none_of_its_attempts_is_left(store: Store) -> None:
    one, two = trajectory("one", session="s1"), trajectory("two", session="s1")
    for whole in (one, two):
        store.add_trajectory(whole, SUCCESS, at=at())
    store.add(card(session_id="s1"))
    store.notes.put(session_note(session="s1"))
    assert purge(store, SourceKind.TRAJECTORY, one.id).entries == ()  # the other attempt is still there
    gone = purge(store, SourceKind.TRAJECTORY, two.id)
    assert (gone.entries, gone.notes) == ((card(session_id="s1").id,), (session_note(session="s1").id,))
    store.add(card("aha_2", session_id="s2"))
    assert not store.descent(Source(kind=SourceKind.SESSION, value="s2")).is_empty
    purge(store, SourceKind.SESSION, "s2")
    assert not store.entries(Card)
    assert not store.notes.list("s1", at=at())


def test_a_purged_entry_does_not_come_back(store: Store) -> None:
    bad = put_version(store, "bad")
    store.add(card(sources=(bad.version.id,)))
    store.add(card("aha_2", by="mallory"))
    purge(store, SourceKind.IMPORTED, bad.version.hash)
    purge(store, SourceKind.PRINCIPAL, "mallory")
    purge(store, SourceKind.SESSION, "s1")
    for entry in (
        card("aha_2", by="mallory"),
        card("aha_5", sources=(bad.version.id,)),
        card("aha_5", version_id=bad.version.id),
        card("aha_5", session_id="s1"),
    ):
        with raises(GateRefusal, "purged"):
            store.add(entry)
    assert store.add(card("aha_5"))
    assert list(store.verify()) == []


# --- passages ---------------------------------------------------------------------------------------------------------


def found(store: Store, asked: str, *, limit: int = 20) -> list[str]:
    return [each.passage.text for each in store.passages.search(terms(asked), limit=limit)]


def test_passages_read_back_in_order_and_are_found_by_their_words_with_their_version(store: Store) -> None:
    stored = put_version(store, "paper", kind=Kind.REFERENCE)
    whole = passages("attention over tokens", "a table of measured latencies", "attention, attention and attention")
    store.passages.put(stored.version.id, whole)
    assert store.passages.of(stored.version.id) == whole
    hits = store.passages.search(terms("attention"))
    assert [(hit.stored, hit.passage) for hit in hits] == [(stored, whole[2]), (stored, whole[0])]
    assert hits[0].lexical > hits[1].lexical > 0
    assert found(store, "attention", limit=1) == [whole[2].text]
    assert found(store, "nothing of it") == found(store, "") == found(store, "attention", limit=0) == []
    assert found(store, "Results") == [passage.text for passage in reversed(whole)]  # by the section's heading
    assert list(store.verify()) == []


@pytest.mark.parametrize("text", [*ODD, "", '"quoted" AND (NEAR*', "Größe 漢字"])
def test_a_passage_may_say_anything(store: Store, text: str) -> None:
    stored = put_version(store)
    store.passages.put(stored.version.id, passages(text))
    assert store.passages.of(stored.version.id) == passages(text)
    assert found(store, text) == ([text] if terms(text) else [])
    assert list(store.verify()) == []


def test_only_passages_of_the_newest_recallable_version_are_found(store: Store) -> None:
    waiting = put_version(store, status=Status.CANDIDATE)
    store.passages.put(waiting.version.id, passages("measured once"))
    assert found(store, "measured") == []
    store.add_transition(step_to(waiting, Status.TRIAL))
    assert found(store, "measured") == ["measured once"]
    newer = put_version(store, skill=waiting.skill, body="newer")
    assert found(store, "measured") == []
    store.passages.put(newer.version.id, passages("measured twice"))
    assert found(store, "measured") == ["measured twice"]
    store.add_transition(step_to(newer, Status.RETIRED))
    assert found(store, "measured") == ["measured once"]


def test_what_nobody_approved_does_not_decide_how_rare_a_word_is(store: Store) -> None:
    stored = put_version(store)
    store.passages.put(stored.version.id, passages("rare words", "other text"))
    before = store.passages.search(["rare"])
    waiting = put_version(store, "waiting", status=Status.CANDIDATE)
    store.passages.put(waiting.version.id, passages(*["rare rare rare"] * 50))
    assert store.passages.search(["rare"]) == before


def test_passages_are_kept_once_and_leave_one_link(store: Store) -> None:
    stored = put_version(store)
    assert store.passages.of(stored.version.id) == []
    store.passages.put(stored.version.id, [])
    before = len(store.history())
    store.passages.put(stored.version.id, passages("one", "two"))
    store.passages.put(stored.version.id, passages("one", "two"))
    assert [link.action for link in store.history()[before:]] == ["passages"]
    assert store.history()[-1].subject == stored.version.id
    for others in (passages("one"), passages("one", "three"), passages("one", "two", "three")):
        with raises(Mistake, "has_passages"):
            store.passages.put(stored.version.id, others)
    assert store.passages.of(stored.version.id) == passages("one", "two")


def test_passages_of_something_unknown_or_out_of_order_are_refused(store: Store) -> None:
    stored = put_version(store)
    for unknown in ("v_none", ""):
        with pytest.raises(NotFound):
            store.passages.put(unknown, passages("one"))
        with pytest.raises(NotFound):
            store.passages.of(unknown)
    one, two = passages("one", "two")
    for wrong in ([two, one], [one, one], [one, Passage(index=0, text="also first")]):
        with raises(Mistake, "bad_passages"):
            store.passages.put(stored.version.id, wrong)
    assert store.passages.of(stored.version.id) == []


def test_abandoned_passages_are_not_found(store: Store) -> None:
    stored = put_version(store)
    abandon(store, lambda: store.passages.put(stored.version.id, passages("measured")))
    assert not store.passages.of(stored.version.id)
    assert not store.passages.search(["measur"])
    store.passages.put(stored.version.id, passages("others"))
    assert list(store.verify()) == []


def test_passages_go_with_their_version_and_the_rest_is_found_as_before(store: Store) -> None:
    bad, good = put_version(store, "bad"), put_version(store, "good", body="other")
    store.passages.put(bad.version.id, passages("measured badly", "worse"))
    store.passages.put(good.version.id, passages("measured well"))
    purge(store, SourceKind.IMPORTED, bad.version.hash)
    assert found(store, "measured") == ["measured well"]
    assert found(store, "worse") == []
    assert [link.action for link in store.history(bad.version.id)].count("purge") == 2  # the version, and its passages
    assert list(store.verify()) == []


def test_passages_are_found_as_before_once_the_indexes_were_rebuilt(store: Store) -> None:
    stored = put_version(store)
    store.passages.put(stored.version.id, passages("attention over tokens", "measured attention"))
    before = store.passages.search(["attent", "measur"])
    assert store.reindex() == 3
    assert store.passages.search(["attent", "measur"]) == before
    assert list(store.verify()) == []


# --- working memory ---------------------------------------------------------------------------------------------------


def test_notes_are_found_by_session_and_kind_in_the_order_of_writing(store: Store) -> None:
    shared = session_note("shared", agent="one")
    made = session_note("a plan", name="plan.md", kind=NoteKind.ARTIFACT, agent="two")
    own = session_note("mine", kind=NoteKind.SCRATCH, agent="two", minutes=-5)
    for each in (shared, made, own, session_note("elsewhere", session="s2")):
        store.notes.put(each)
    assert store.notes.list("s1", at=at()) == [shared, made, own]
    assert store.notes.list("s1", at=at(), kind=NoteKind.ARTIFACT) == [made]
    assert store.notes.list("", at=at()) == store.notes.list("s3", at=at()) == []
    assert store.history() == []  # the chain does not tell of it
    assert list(store.verify()) == []


def test_a_note_replaces_the_one_with_its_id(store: Store) -> None:
    store.notes.put(session_note("first", name="n"))
    store.notes.put(session_note("second"))
    store.notes.put(session_note("third", name="n", minutes=2))
    store.notes.put(session_note("second", minutes=3))
    assert [each.text for each in store.notes.list("s1", at=at())] == ["third", "second"]
    assert list(store.verify()) == []


def test_a_note_expires_and_is_dropped_by_forgetting_or_pruning(store: Store) -> None:
    store.notes.put(session_note("short", expires_at=at(10)))
    store.notes.put(session_note("long", expires_at=at(20)))
    assert [each.text for each in store.notes.list("s1", at=at(9.9))] == ["short", "long"]
    assert [each.text for each in store.notes.list("s1", at=at(10))] == ["long"]
    assert store.notes.forget(at=at(9)) == store.notes.forget() == 0
    assert store.notes.forget(session_id="s2", at=at(10)) == 0
    assert store.notes.forget(session_id="s1", at=at(10)) == 1
    assert [each.text for each in store.notes.list("s1", at=at())] == ["long"]
    store.prune(keep_days=None, cap_bytes=None, at=at(20))
    assert store.notes.list("s1", at=at()) == []


def test_forgetting_a_session_leaves_the_others(store: Store) -> None:
    for session in ("s1", "s2"):
        store.notes.put(session_note("one", session=session))
        store.notes.put(session_note("two", session=session))
    assert store.notes.forget(session_id="s1") == 2
    assert store.notes.list("s1", at=at()) == []
    assert len(store.notes.list("s2", at=at())) == 2


@pytest.mark.parametrize("session", ODD)
def test_a_session_of_any_name_has_its_own_working_memory(store: Store, session: str) -> None:
    store.notes.put(session_note(session, session=session, agent=session, name=session))
    assert store.notes.list(session, at=at()) == [session_note(session, session=session, agent=session, name=session)]
    assert store.notes.list(f"{session} ", at=at()) == store.notes.list(session[:-1], at=at()) == []
    assert store.notes.forget(session_id=session) == 1


def test_times_without_a_zone_are_refused_and_an_abandoned_note_is_gone(store: Store) -> None:
    bare = at().replace(tzinfo=None)
    for wrong in (replace(session_note(), at=bare), replace(session_note(), expires_at=bare)):
        with raises(Mistake, "no_time_zone"):
            store.notes.put(wrong)
    for ask in (lambda: store.notes.list("s1", at=bare), lambda: store.notes.forget(at=bare)):
        with raises(Mistake, "no_time_zone"):
            ask()
    abandon(store, lambda: store.notes.put(session_note()))
    assert store.notes.list("s1", at=at()) == []


# --- renderings and backups -------------------------------------------------------------------------------------------


def test_a_rendering_tells_whose_preference_it_is(store: Store) -> None:
    stored = put_version(store, kind=Kind.PREFERENCE)
    store.renderings.put(rendering(stored.version.id, person="ann"))
    kept = store.renderings.get([stored.version.id]).get(stored.version.id)
    assert kept is not None
    assert kept.person == "ann"
    assert list(store.verify()) == []


def test_a_backup_holds_the_ledger_the_passages_and_working_memory(store: Store, tmp_path: Path) -> None:
    stored = put_version(store)
    store.add(card())
    store.passages.put(stored.version.id, passages("measured", "twice"))
    store.notes.put(session_note())
    store.notes.put(session_note("gone", session="s2"))
    store.notes.forget(session_id="s2")
    counts = store.backup(tmp_path / "backup.db").counts
    assert (counts["entries"], counts["passages"]) == (1, 2)
    copy = open_store(tmp_path / "backup.db")
    assert copy.entries(Card) == [card()]
    assert [each.text for each in copy.passages.of(stored.version.id)] == ["measured", "twice"]
    assert copy.notes.list("s1", at=at()) == [session_note()]
    assert copy.notes.list("s2", at=at()) == []
    assert list(copy.verify()) == []
    copy.close()
