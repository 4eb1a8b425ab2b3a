"""A store on disk that is closed, reopened and rolled back at any time answers as one in memory that never was."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from tacit.domain.archive import Source, SourceKind
from tacit.domain.candidate import GateDecision
from tacit.domain.errors import TacitError
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.ledger import About
from tacit.domain.lifecycle import LIFECYCLE, Status
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Skill
from tacit.domain.stored import Counts, NoteKind
from tacit.features.cards.card import Card, CardStatus
from tacit.store import Store, open_store
from tacit.text.words import terms
from tests.unit.store.samples import (
    SPACE,
    approval,
    at,
    birth_of,
    card,
    content,
    evidence,
    passages,
    remark,
    session_note,
    trajectory,
    use,
    vector,
    verdict,
    version_of,
)
from tests.unit.store.samples import step_to as step_from

minutes = st.integers(0, 5)
words = st.sampled_from(
    ["deploy", "rotate the keys", "数据库 迁移", "don't", "", "x/y: z", "deploy deploy", "\ud800 é"]
)
vectors = st.tuples(*[st.sampled_from([-1, 0, 1])] * 3).filter(any).map(lambda numbers: vector(*numbers))
sessions = st.sampled_from(["", "s1", "s2"])


class Undone(Exception):
    """Ends a transaction that must leave no trace."""


class Twins(RuleBasedStateMachine):
    """Makes the same calls on both stores; the one in memory never sees those that the other one undoes."""

    versions: Bundle[str] = Bundle("versions")
    attempts: Bundle[str] = Bundle("attempts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.disk = open_store(self.folder / "tacit.db")
        self.memory = open_store(":memory:")
        self.statuses: dict[str, Status] = {}
        """What the transitions that succeeded add up to."""
        self.undo = False

    def teardown(self) -> None:
        try:
            assert list(self.disk.verify()) == []
            assert list(self.memory.verify()) == []
        finally:
            self.disk.close()
            self.memory.close()
            shutil.rmtree(self.folder)

    def both(self, call: Callable[[Store], Any]) -> Any:
        """Make the same call on both; the answers, or the errors, must be the same."""
        answers = []
        for store in (self.disk, self.memory):
            try:
                answers.append(call(store))
            except TacitError as error:
                answers.append((type(error), error.code))
        assert answers[0] == answers[1]
        return answers[0]

    def write(self, call: Callable[[Store], Any]) -> Any:
        """Change both; or the one on disk alone, and undo it."""
        if not self.undo:
            return self.both(call)
        with suppress(Undone, TacitError), self.disk.transaction():
            call(self.disk)
            raise Undone
        return None

    @rule(undo=st.booleans())
    def choose_whether_writes_are_undone(self, undo: bool) -> None:
        self.undo = undo

    @rule()
    def reopen(self) -> None:
        self.disk.close()
        self.disk = open_store(self.folder / "tacit.db")

    @rule(
        target=attempts, task=words, steps=st.integers(0, 4), session=sessions, parent=sessions,
        outcome=st.sampled_from(Outcome), when=minutes,
    )  # fmt: skip
    def capture(self, task: str, steps: int, session: str, parent: str, outcome: Outcome, when: int) -> str:
        whole = trajectory(task, steps=steps, session=session, parent_session_id=parent)
        self.write(lambda store: store.add_trajectory(whole, Assessment(outcome=outcome), at=at(when)))
        return whole.id

    @rule(
        key=st.sampled_from(["aha_1", "aha_2", "\ud800 é"]), session=sessions, when=minutes, by=st.sampled_from(["", "ben"]),
        source=st.one_of(st.just(""), versions, attempts), status=st.sampled_from(CardStatus),
    )  # fmt: skip
    def enter(self, key: str, session: str, when: int, by: str, source: str, status: CardStatus) -> None:
        sources = (source,) if source else ()
        entry = card(key, minutes=when, session_id=session, by=by, sources=sources, status=status)
        self.write(lambda store: store.add(entry))

    @rule(version_id=versions, texts=st.lists(words, max_size=3))
    def cite(self, version_id: str, texts: list[str]) -> None:
        self.write(lambda store: store.passages.put(version_id, passages(*texts)))

    @rule(session=sessions, text=words, when=minutes, kind=st.sampled_from(NoteKind), name=st.sampled_from(["", "n"]))
    def note_down(self, session: str, text: str, when: int, kind: NoteKind, name: str) -> None:
        self.write(
            lambda store: store.notes.put(session_note(text, session=session, minutes=when, kind=kind, name=name))
        )

    @rule(session=sessions, when=st.one_of(st.none(), st.just(at(62))))
    def forget(self, session: str, when: datetime | None) -> None:
        self.write(lambda store: store.notes.forget(session_id=session, at=when))

    @rule(attempt=attempts, when=minutes)
    def learn(self, attempt: str, when: int) -> None:
        self.write(lambda store: store.mark_learned(attempt, at=at(when)))

    @rule(attempt=attempts, outcome=st.sampled_from(Outcome), grade=st.sampled_from(Grade), when=minutes)
    def vouch(self, attempt: str, outcome: Outcome, grade: Grade, when: int) -> None:
        self.write(lambda store: store.vouch(attempt, Assessment(outcome=outcome, grade=grade), at=at(when)))

    @rule(keep_days=st.sampled_from([None, 0, 1]), cap=st.sampled_from([None, 0, 300, 10_000]))
    def prune(self, keep_days: int | None, cap: int | None) -> None:
        self.write(lambda store: store.prune(keep_days=keep_days, cap_bytes=cap, at=at(60 * 24)))

    @rule(
        target=versions, name=st.sampled_from(["a", "b"]), body=words, kind=st.sampled_from(Kind),
        status=st.sampled_from(Status), when=minutes,
    )  # fmt: skip
    def add(self, name: str, body: str, kind: Kind, status: Status, when: int) -> str:
        what = content(name, body=body, kind=kind)
        skill = Skill.create(content(name, kind=kind), Scope(), at=at(when))
        version = version_of(skill, what, minutes=when)
        added = self.write(lambda store: store.add_version(skill, version, birth_of(version, status, minutes=when)))
        if added is True:
            self.statuses[version.id] = status
        return version.id

    @rule(
        version_id=versions, after=st.sampled_from(Status), when=minutes, stale=st.sampled_from(["", "hash", "status"])
    )
    def move(self, version_id: str, after: Status, when: int, stale: str) -> None:
        def change(store: Store) -> None:
            step = step_from(store.version(version_id), after, minutes=when)
            if stale == "hash":
                step = replace(step, content_hash="sha256:0")
            if stale == "status":
                step = replace(step, before=Status.REJECTED)
            store.add_transition(step)

        if self.write(change) is None and not self.undo:
            assert after in LIFECYCLE[self.statuses[version_id]]
            self.statuses[version_id] = after

    @rule(
        version_id=versions,
        when=minutes,
        outcome=st.sampled_from(Outcome),
        grade=st.sampled_from(Grade),
        clash=st.booleans(),
    )
    def record(self, version_id: str, when: int, outcome: Outcome, grade: Grade, clash: bool) -> None:
        more = {"id": "e_1"} if clash else {}
        piece = evidence(version_id, minutes=when, outcome=outcome, grade=grade, **more)
        self.write(lambda store: store.add(piece))

    @rule(version_id=versions, other=versions, when=minutes, model=st.sampled_from(["", "m"]), session=sessions)
    def show(self, version_id: str, other: str, when: int, model: str, session: str) -> None:
        shown = replace(use(version_id, minutes=when, model=model, session_id=session), version_ids=(version_id, other))
        self.write(lambda store: store.add(shown))
        self.both(lambda store: store.use(shown.id))
        self.both(lambda store: store.uses(session_id=session, version_id=other))

    @rule(version_id=versions, session=sessions)
    def look_at_uses(self, version_id: str, session: str) -> None:
        self.both(lambda store: store.uses(version_id=version_id))
        self.both(lambda store: store.uses(session_id=session))

    @rule(
        version_id=versions, other=st.one_of(st.just(""), versions, attempts), of_skill=st.booleans(), when=minutes,
        about=st.sampled_from(About), by=st.sampled_from(["ana", "mallory"]), clash=st.booleans(),
    )  # fmt: skip
    def note(self, version_id: str, other: str, of_skill: bool, when: int, about: About, by: str, clash: bool) -> None:
        def keep(store: Store) -> bool:
            subject = store.version(version_id).skill.id if of_skill else version_id
            more = {"id": "n_1"} if clash else {}
            return store.add(remark(subject, minutes=when, about=about, by=by, other=other, **more))

        self.write(keep)
        self.both(lambda store: store.remarks(version_id))
        self.both(lambda store: store.remarks(version_id, about=about))
        self.both(lambda store: store.remarks(about=about))

    @rule(version_id=versions, attempt=attempts, decision=st.sampled_from(GateDecision), when=minutes)
    def judge(self, version_id: str, attempt: str, decision: GateDecision, when: int) -> None:
        given = verdict(decision, version_id=version_id, trajectory_ids=(attempt,), minutes=when)
        self.write(lambda store: store.add(given))
        self.both(lambda store: store.verdicts(trajectory_id=attempt))
        self.both(lambda store: store.verdicts(version_id=version_id, limit=2))

    @rule(version_id=versions, when=minutes, by=st.sampled_from(["ana", "mallory"]), stale=st.booleans())
    def approve(self, version_id: str, when: int, by: str, stale: bool) -> None:
        def agree(store: Store) -> None:
            given = approval(store.version(version_id), minutes=when, by=by)
            store.add(replace(given, content_hash="sha256:0") if stale else given)

        self.write(agree)
        self.both(lambda store: store.approvals(version_id))

    @rule(kind=st.sampled_from(SourceKind), attempt=attempts, session=sessions, version_id=versions, when=minutes)
    def purge(self, kind: SourceKind, attempt: str, session: str, version_id: str, when: int) -> None:
        def forget(store: Store) -> Any:
            values = {SourceKind.SESSION: session, SourceKind.TRAJECTORY: attempt, SourceKind.PRINCIPAL: "mallory"}
            if kind is SourceKind.IMPORTED:
                values[kind] = store.version(version_id).version.hash
            descent = store.descent(Source(kind=kind, value=values[kind]))
            store.purge(descent, by="ben", at=at(when), reason="a test")
            return descent

        self.write(forget)
        self.both(lambda store: (store.tombstones(attempt), store.tombstones(version_id)))
        self.statuses = {stored.version.id: stored.status for stored in self.memory.catalogue()}

    @rule(version_id=versions, vectors=st.lists(vectors, max_size=3), space=st.sampled_from([SPACE, "other"]))
    def embed(self, version_id: str, vectors: list[bytes], space: str) -> None:
        self.write(lambda store: store.vectors.put(version_id, vectors, space=space))

    @rule(query=vectors, space=st.sampled_from([SPACE, "other"]), limit=st.integers(0, 3))
    def find_by_meaning(self, query: bytes, space: str, limit: int) -> None:
        self.both(lambda store: store.vectors.nearest(query, space=space, limit=limit))
        self.both(lambda store: store.vectors.nearest(query, space=space, kinds={Kind.LESSON, Kind.NORM}))
        self.both(lambda store: store.vectors.missing(space))

    @rule(rebuild=st.booleans())
    def index(self, rebuild: bool) -> None:
        self.write(lambda store: store.reindex() if rebuild else store.vectors.drop("other"))

    @rule(query=words, limit=st.integers(0, 3), statuses=st.sets(st.sampled_from(Status)))
    def find(self, query: str, limit: int, statuses: set[Status]) -> None:
        asked = terms(query)
        self.both(lambda store: store.search(asked, statuses=statuses, limit=limit))
        self.both(lambda store: store.search(asked, statuses=frozenset(Status), kinds={Kind.LESSON, Kind.NORM}))
        self.both(lambda store: store.search_episodes(asked, limit=limit))
        self.both(lambda store: store.document_frequency(asked))

    @rule(target=versions, version_id=versions)
    def look_at_a_version(self, version_id: str) -> Any:
        self.both(lambda store: store.version(version_id))
        self.both(lambda store: store.transitions(version_id))
        self.both(lambda store: store.evidence([version_id]))
        self.both(lambda store: store.passages.of(version_id))
        self.both(lambda store: _links(store, version_id))
        self.both(lambda store: store.resolve(version_id[:4]))
        return multiple()

    @rule(attempt=attempts)
    def look_at_an_attempt(self, attempt: str) -> None:
        self.both(lambda store: store.trajectory(attempt))
        self.both(lambda store: store.episode(attempt))

    @invariant()
    def the_statuses_are_what_the_transitions_add_up_to(self) -> None:
        assert {stored.version.id: stored.status for stored in self.disk.catalogue()} == self.statuses

    @invariant()
    def both_hold_the_same(self) -> None:
        self.both(lambda store: store.episodes())
        self.both(lambda store: store.episodes(unlearned=True))
        self.both(lambda store: store.catalogue())
        self.both(lambda store: store.verdicts())
        self.both(lambda store: store.tombstones())
        self.both(lambda store: store.uses())
        self.both(lambda store: store.remarks())
        self.both(lambda store: store.entries(Card))
        self.both(lambda store: store.entries(Card, key="aha_1", session_id="s1"))
        self.both(lambda store: [store.notes.list(session, at=at(61)) for session in ("", "s1", "s2")])
        self.both(lambda store: _passages(store, ["deploy", "é"]))
        self.both(_links)
        self.both(lambda store: _comparable(store.counts()))
        self.both(lambda store: store.vectors.spaces())


def _links(store: Store, subject: str = "") -> list[tuple[Any, ...]]:
    return [(e.sequence, e.at, e.actor, e.action, e.subject) for e in store.history(subject)]


def _passages(store: Store, terms: list[str]) -> list[Any]:
    found = store.passages.search(terms, limit=5)
    return [(each.stored, each.passage, round(each.lexical, 9)) for each in found]


def _comparable(counts: Counts) -> Counts:
    return replace(counts, bytes=0)


TestTwins = Twins.TestCase
TestTwins.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
