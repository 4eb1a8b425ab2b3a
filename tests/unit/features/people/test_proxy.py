"""The forecast answers where a person allows it: it turns away, never lets in, can be undone, and stops when it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tacit.api import Tacit
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Span
from tacit.features.people import proxy
from tacit.features.people.decisions import People, is_hidden, review_question
from tacit.features.people.proxy import (
    BY,
    Answer,
    Gate,
    ProxyPermission,
    ProxyRecord,
    allow,
    answer_reviews,
    parse_gate,
    record_of,
)
from tacit.gate.review_sources import folded_away, sessions_behind
from tests.unit.features.people.knowing import lesson, memory, norm, proposed, taught


@pytest.fixture
def loop() -> Iterator[Tacit]:
    """Ann rejects lessons and approves norms; lessons of one attempt are weak."""
    with memory() as made:
        taught(made, approve=proposed(made, norm("branches")), reject=proposed(made, lesson("lint-first")))
        made.reviews.decide(made.version("lint-first").version.id, "reject", by="tacit.tend")
        yield made


TEXTS = (
    "Start the broker before the consumers.", "Quote the globs of the formatter.", "Delete stale snapshots by hand.",
    "Seed the ledger with two currencies.", "Close the tunnel after each upload.", "Raise the heap of the indexer.",
    "Pin the compiler of the firmware.", "Warm the cache of translations.", "Sort imports of generated stubs.",
    "Restart the emulator between suites.", "Mount the licence into the image.", "Skip thumbnails on the runner.",
)  # fmt: skip


def waiting(loop: Tacit, make: Callable[..., SkillContent] = lesson, *, hidden: bool = False) -> list[StoredVersion]:
    made = [proposed(loop, make(f"skill-{number}", text)) for number, text in enumerate(TEXTS)]
    return [each for each in made if is_hidden(each) is hidden and each.status is Status.CANDIDATE]


def statuses(loop: Tacit, made: list[StoredVersion]) -> set[Status]:
    return {loop.version(each.version.id).status for each in made}


def test_nothing_is_answered_unless_the_person_said_so(loop: Tacit) -> None:
    made = waiting(loop)
    assert answer_reviews(loop) == []
    allow(loop, "ann", {Gate.DUPLICATE: Answer.REJECT}, 0.8)
    assert answer_reviews(loop) == []
    allow(loop, "bob", {Gate.WEAK: Answer.REJECT}, 0.8)
    assert answer_reviews(loop) == []  # nothing is expected of bob
    assert statuses(loop, made) == {Status.CANDIDATE}


def test_weak_candidates_are_turned_away_marked_and_can_be_undone(loop: Tacit) -> None:
    made, hidden = waiting(loop), waiting(loop, hidden=True)
    allow(loop, "ann", {Gate.WEAK: Answer.REJECT}, 0.8)
    answered = set(answer_reviews(loop))
    assert len(answered) >= 5
    assert answered <= {each.version.id for each in made}
    moves = [loop.context.store.transitions(each)[-1] for each in answered]
    assert {(move.by, move.after) for move in moves} == {(BY, Status.REJECTED)}
    assert statuses(loop, hidden) <= {Status.CANDIDATE}
    record = record_of(loop, proxy.permissions(loop)["ann"])
    assert set(record.answered) == answered
    (one, *_) = sorted(answered)
    loop.reviews.undo(loop.version(one).version.name, by="ann")
    assert record_of(loop, proxy.permissions(loop)["ann"]).undone == 1
    answer_reviews(loop)
    assert loop.version(one).status is Status.CANDIDATE  # the person's word is not overruled


def test_what_further_sessions_show_waits_again_and_counts_as_no_mistake(loop: Tacit) -> None:
    waiting(loop)
    permission = allow(loop, "ann", {Gate.WEAK: Answer.REJECT}, 0.8)
    same, reworded = (loop.version(each).version for each in answer_reviews(loop)[:2])
    shown = [Span("t_one", 0), Span("t_two", 0)]
    loop.propose(same.content, by="ann", evidence=shown[:1])
    assert answer_reviews(loop) == []
    loop.propose(same.content, by="ann", evidence=shown[1:])
    again = replace(reworded.content, description=f"{reworded.content.description} (2 sessions)")
    verdict = loop.propose(again, by="ann", evidence=shown)
    assert verdict.name == reworded.name
    assert answer_reviews(loop) == [same.id]
    assert {loop.version(each).status for each in (same.id, verdict.version_id)} == {Status.CANDIDATE}
    assert record_of(loop, permission).undone == 0


def test_a_fold_leaves_a_candidate_waiting_until_it_is_undone_or_seen_again(loop: Tacit) -> None:
    waiting(loop)
    permission = allow(loop, "ann", {Gate.WEAK: Answer.FOLD}, 0.8)
    answered = answer_reviews(loop)
    assert len(answered) >= 5
    folds = folded_away(loop.context)
    assert folds.keys() == set(answered)
    assert {(each.code, each.values["person"], each.values["gate"]) for each in folds.values()} == {
        ("forecast_answered", "ann", "weak")
    }
    assert {loop.version(each).status for each in answered} == {Status.CANDIDATE}
    assert set(answered) <= {each.version.id for each in loop.reviews.waiting()}
    assert not set(answered) & {each.version.id for each in loop.reviews.waiting(folded=False)}
    undone, again, approved, *_ = answered
    assert loop.reviews.undo(loop.version(undone).version.name, by="ann") == []
    loop.propose(loop.version(again).version.content, by="ann", evidence=[Span("t_one", 0)])
    loop.review(approved, "approve", by="ann")
    left = set(answered) - {undone, again, approved}
    assert folded_away(loop.context).keys() == left
    assert answer_reviews(loop) == []  # nothing is folded twice
    record = record_of(loop, permission)
    assert record.answered == dict.fromkeys(left, Answer.FOLD)
    assert (record.undone, record.disagreed) == (1, 1)


def test_a_merge_counts_the_duplicates_sessions_and_changes_no_text(loop: Tacit) -> None:
    pairs: dict[str, str] = {}
    for number, text in enumerate(TEXTS):
        same = SkillContent(kind=Kind.LESSON, name=f"skill-{number}", description=text, body=text)
        given = proposed(loop, same).version.id
        loop.propose(same, by="ann", evidence=[Span(f"t_{given}", 0)])
        pairs[given] = proposed(loop, replace(same, name=f"known-{number}")).version.id
        loop.review(pairs[given], "approve", by="bob")
    before = {known: loop.version(known) for known in pairs.values()}
    permission = allow(loop, "ann", {Gate.DUPLICATE: Answer.MERGE}, 0.8)
    answered = answer_reviews(loop)
    assert len(answered) >= 5
    assert record_of(loop, permission).answered == dict.fromkeys(answered, Answer.MERGE)
    for given, known in pairs.items():
        is_closed = given in answered
        move = loop.context.store.transitions(given)[-1]
        assert ((move.by, move.after) == (BY, Status.REJECTED)) is is_closed
        assert sessions_behind(loop.context, before[known].version) == ({f"t_{given}"} if is_closed else set())
        assert loop.context.store.versions(before[known].skill.id) == [before[known]]
    undone = answered[0]
    loop.reviews.undo(loop.version(undone).version.name, by="ann")
    assert loop.version(undone).status is Status.CANDIDATE
    assert sessions_behind(loop.context, before[pairs[undone]].version) == set()
    assert record_of(loop, permission).undone == 1


@pytest.mark.parametrize("text", ["weak=merge", "weak=approve", "approve", "duplicate=trust", ""])
def test_no_gate_lets_anything_in(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_gate(text)
    assert parse_gate("weak") == (Gate.WEAK, Answer.REJECT)  # as permissions were stored first


def test_what_something_approved_covers_is_turned_away_at_the_gate_for_duplicates(loop: Tacit) -> None:
    duplicates: dict[str, str] = {}
    for number, text in enumerate(TEXTS):
        same = SkillContent(kind=Kind.LESSON, name=f"skill-{number}", description=text, body=text)
        duplicates[proposed(loop, same).version.id] = text
        loop.review(proposed(loop, replace(same, name=f"known-{number}")).version.id, "approve", by="bob")
    alone = proposed(loop, lesson("alone", "Grease the gears of the printer."))
    allow(loop, "ann", {Gate.DUPLICATE: Answer.REJECT}, 0.8)
    moves = answer_reviews(loop)
    assert len(moves) >= 5
    assert duplicates.keys() >= set(moves)
    assert statuses(loop, [alone]) == {Status.CANDIDATE}


def test_what_the_person_would_approve_waits(loop: Tacit) -> None:
    made = waiting(loop, norm)
    allow(loop, "ann", dict.fromkeys(Gate, Answer.REJECT), 0.8)
    assert answer_reviews(loop) == []
    assert statuses(loop, made) == {Status.CANDIDATE}


def test_rejections_of_one_kind_say_nothing_of_another() -> None:
    with memory() as made:
        rejected = review_question(made.context.store, proposed(made, lesson("lint-first")), "ann")
        people = People(made)
        for number in range(30):
            people.announce(f"earlier {number}", rejected)
            people.decided(f"earlier {number}", rejected, "reject")
        facts = waiting(made, fact)
        allow(made, "ann", dict.fromkeys(Gate, Answer.REJECT), 0.8)
        assert len(answer_reviews(made)) == 1
        assert statuses(made, facts) == {Status.CANDIDATE}


def fact(name: str, text: str) -> SkillContent:
    return SkillContent(kind=Kind.FACT, name=name, description=f"{text} ({name})", body=text)


def test_it_stops_where_the_person_undid_too_many(loop: Tacit) -> None:
    waiting(loop)
    allow(loop, "ann", {Gate.WEAK: Answer.REJECT}, 0.9)
    wrong = [loop.version(each) for each in answer_reviews(loop)][:2]
    for each in wrong:
        loop.reviews.undo(each.version.name, by="ann")
    assert not record_of(loop, proxy.permissions(loop)["ann"]).keeps(0.9)
    waiting_now = proposed(loop, lesson("another", "Grease the gears of the printer."))
    assert answer_reviews(loop) == []
    assert statuses(loop, [*wrong, waiting_now]) == {Status.CANDIDATE}


def test_it_stops_where_the_person_approves_what_was_left_to_them(loop: Tacit) -> None:
    permission = allow(loop, "ann", {Gate.WEAK: Answer.REJECT}, 0.9)
    sampled = [proposed(loop, lesson(f"rule-{n}", f"Check counter {n} of gauge {n * 7}.")) for n in range(40)]
    sampled = [each for each in sampled if is_hidden(each)][:3]
    answer_reviews(loop)
    assert statuses(loop, sampled) == {Status.CANDIDATE}
    for each in sampled:
        loop.review(each.version.id, "approve", by="ann")
    record = record_of(loop, permission)
    assert record.disagreed >= 1
    assert record.keeps(0.9) is (record.disagreed < 2)


@pytest.mark.parametrize(
    ("undone", "agreed", "disagreed", "keeps"),
    [(0, 0, 0, True), (1, 0, 0, True), (1, 3, 1, False), (2, 18, 0, True), (2, 17, 1, False), (0, 30, 3, True)],
)
def test_a_record_keeps_its_promise_up_to_the_share_that_was_allowed(undone, agreed, disagreed, keeps) -> None:
    assert ProxyRecord(undone=undone, agreed=agreed, disagreed=disagreed).keeps(0.9) is keeps


def test_the_last_word_of_a_person_counts(loop: Tacit) -> None:
    allow(loop, "ann", {Gate.WEAK: Answer.REJECT}, 0.95)
    assert proxy.permissions(loop)["ann"].gates == ("weak=reject",)
    allow(loop, "ann", {}, 0.95)
    assert isinstance(proxy.permissions(loop)["ann"], ProxyPermission)
    waiting(loop)
    assert answer_reviews(loop) == []
