"""However a library is worked with, no version has a life that the rules do not allow, and none is lost.

People propose, decide, roll back, pin and undo, agents recall, work and report, clocks run and jump, and evidence moves
versions by itself: in any order, through the real loop, on both stores. After every step each life is a lawful way with a
reason and a name at each turn, every content is still there, and whatever was decided by itself is decided the same again
from the evidence that it names. In the end everything that has left is brought back. `TACIT_TEST_STEPS=10000` makes so many
steps in all.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tacit.api import Tacit
from tacit.config.settings import Config, Policy, Strictness
from tacit.domain.care import BY_ITSELF
from tacit.domain.errors import TacitError
from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.domain.ledger import About
from tacit.domain.lifecycle import LIFECYCLE, RECALLABLE, Status, Transition
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.evidence.reliability import votes
from tacit.maintain.status_changes import earned_status
from tacit.store import Store, open_store
from tests.unit.learn.attempts import attempt, bash, edit

STEPS = int(os.environ.get("TACIT_TEST_STEPS", "0"))
"""How many steps to make in all, over both stores; few where nobody asks."""
ROUND = 40
VERIFY_EACH = 10
"""The whole store is looked at after so many steps, and in the end."""
WORK = (
    ("rotate-signing-keys", "Rotate the signing keys of a host", "make rotate-keys"),
    ("bill-late-customers", "Send a bill to customers who are late", "make bill-late"),
    ("sort-incoming-letters", "Sort incoming letters by their date", "make sort-letters"),
)
numbers = st.integers(0, 9)
works = st.integers(0, len(WORK) - 1)
results = st.sampled_from(list(Outcome))
made: list[int] = [0]
"""Steps taken by all machines."""
decided: Counter[str] = Counter()
"""Moves that were made by themselves, and decided again, in all machines."""


def written(work: int, number: int) -> SkillContent:
    """A skill as somebody writes it, in so many wordings."""
    name, does, command = WORK[work]
    return SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description=f"{does}. Use when asked to {does.lower()}.",
        steps=(SkillStep(text=f"Run {command}", tool="Bash", arguments={"command": command}),),
        body=f"Note {number}: wait until it has finished." if number else "",
    )


def task_of(work: int, number: int) -> str:
    """A task that nobody had before."""
    return f"{WORK[work][1]}, this time for case {number} of the list"


class Lives(RuleBasedStateMachine):
    """Drives one loop."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
        self.asked = 0
        self.seen: dict[str, str] = {}
        """Every version that ever was, with the hash of its content."""
        self.moves: dict[str, int] = {}
        """How many transitions of each version were looked at."""
        self.pinned: frozenset[str] = frozenset()
        """Skills that were pinned before the present step."""
        self.uses: list[str] = []

    def store(self) -> Store:
        """The store of this machine."""
        return open_store(":memory:")

    def tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    @initialize(
        strictness=st.sampled_from(Strictness),
        known=st.sampled_from([0, 2, 3, 3]),
        pinned=st.sampled_from([0, 0, 1, 3]),
        hold_out=st.sampled_from([0.0, 0.2]),
    )
    def open(self, strictness: Strictness, known: int, pinned: int, hold_out: float) -> None:
        config = Config(policy=Policy(strictness=strictness, hold_out=hold_out))
        self.loop = Tacit(self.store(), config=config, scope=Scope(Level.PROJECT, "app"), clock=self.tick)
        for work in range(known):
            self.propose_and_approve(work, 0)
        for name, *_ in WORK[: min(known, pinned)]:
            self.loop.reviews.pin(name, by="ann")
        self.pinned = self.pins()

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        try:
            self.everything_that_left_can_be_brought_back()
            assert self.loop.archive.verify() == []
        finally:
            self.loop.close()
            shutil.rmtree(self.folder)

    def versions(self) -> list[StoredVersion]:
        return self.loop.context.store.catalogue(statuses=set(Status)) if hasattr(self, "loop") else []

    def pick(self, which: int) -> StoredVersion | None:
        found = self.versions()
        return found[which % len(found)] if found else None

    # --- what people do -------------------------------------------------------------------------------------------

    @rule(work=works, number=numbers, origin=st.sampled_from([Origin.AGENT, Origin.USER, Origin.EXTERNAL]))
    def propose(self, work: int, number: int, origin: Origin) -> None:
        self.loop.propose(written(work, number), by="writer", origin=origin)

    @rule(which=numbers, work=works, number=numbers)
    def revise(self, which: int, work: int, number: int) -> None:
        if stored := self.pick(which):
            self.loop.propose(written(work, number), by="ann", origin=Origin.USER, revises=stored)

    @rule(
        which=numbers,
        decision=st.sampled_from(["approve", "approve", "reject", "retire", "restore", "reopen"]),
        reason=st.sampled_from(["", "looked at it"]),
    )
    def decide(self, which: int, decision: str, reason: str) -> None:
        if stored := self.pick(which):
            self.review(stored, decision, reason=reason)

    def review(self, stored: StoredVersion, decision: str, *, reason: str = "") -> bool:
        """Carry out a decision where the rules allow it."""
        ticks = [each.key for each in self.loop.reviews.examine(stored.version.id).external_values]
        try:
            ticked = ticks if decision == "approve" else []
            self.loop.review(stored.version.id, decision, by="ann", reason=reason, ticked=ticked)
        except TacitError:
            return False
        return True

    @rule(work=works, number=numbers)
    def propose_and_approve(self, work: int, number: int) -> None:
        verdict = self.loop.propose(written(work, number), by="ann", origin=Origin.USER)
        if verdict.version_id:
            self.review(self.loop.context.store.version(verdict.version_id), "approve")

    @rule(which=numbers, among=st.sampled_from([Status.REJECTED, Status.STALE, Status.RETIRED, Status.CANDIDATE]))
    def bring_back(self, which: int, among: Status) -> None:
        """Somebody looks through what has left, or waits."""
        found = [stored for stored in self.versions() if stored.status is among]
        for decision in WAYS_BACK[among] if found else ():
            assert self.review(self.loop.context.store.version(found[which % len(found)].version.id), decision)

    @rule(which=numbers, what=st.sampled_from(["rollback", "undo", "undo", "invalidate", "pin", "unpin"]))
    def change_by_hand(self, which: int, what: str) -> None:
        if stored := self.pick(which):
            reference = stored.version.id
            by_hand: dict[str, Callable[[], object]] = {
                "rollback": lambda: self.loop.reviews.rollback(reference, by="ann"),
                "undo": lambda: self.loop.reviews.undo(reference, by="ann"),
                "invalidate": lambda: self.loop.reviews.invalidate(reference, by="ann", reason="it is wrong"),
                "pin": lambda: self.loop.reviews.pin(reference, by="ann"),
                "unpin": lambda: self.loop.reviews.pin(reference, by="ann", off=True),
            }
            before = self.loop.archive.history()
            try:
                by_hand[what]()
            except TacitError:
                assert self.loop.archive.history() == before, "what is refused leaves no trace"

    @rule(apply=st.booleans())
    def recheck(self, apply: bool) -> None:
        self.loop.reviews.recheck(apply=apply, by="ann")

    # --- what agents do, and what time does -----------------------------------------------------------------------

    def shown(self, work: int, *, session: str = "") -> str:
        """Ask for a skill for a task that nobody had before; returns the use."""
        self.asked += 1
        selection = self.loop.recall(task_of(work, self.asked), session=session)
        self.uses += [selection.use_id] if selection.use_id else []
        return selection.use_id

    def report(self, use_id: str, result: Outcome, grade: Grade) -> None:
        """Say what came of a use, and look at what that has changed."""
        if use_id:
            self.loop.record(use_id, outcome=result, by="checker", grade=grade)
            self.look_at_new_moves()

    @rule(work=works, follows=st.booleans(), passes=st.booleans(), learns=st.booleans())
    def work_in_a_session(self, work: int, follows: bool, passes: bool, learns: bool) -> None:
        """A run is captured whole, with or without the step that the skill has, and checked."""
        session = f"s{self.asked + 1}"
        self.shown(work, session=session)
        does = bash(WORK[work][2] if follows else "make something-else", "ok", at=self.tick())
        check = bash("python3 -m unittest -q", "OK" if passes else "FAILED", code=0 if passes else 1, at=self.tick())
        run = attempt(task_of(work, self.asked), edit("shop.py", "x = 1", "x = 2", at=self.tick()), does, check)
        self.loop.capture(dataclasses.replace(run, session_id=session, id=""))
        if learns:
            self.loop.learn()

    @rule(work=works, outcomes=st.lists(results, min_size=1, max_size=12), grade=st.sampled_from(Grade))
    def work_and_report(self, work: int, outcomes: list[Outcome], grade: Grade) -> None:
        for each in outcomes:
            self.report(self.shown(work), each, grade)

    @rule(result=st.sampled_from([Outcome.SUCCESS, Outcome.FAILURE]), often=st.integers(4, 20))
    def work_with_one_result(self, result: Outcome, often: int) -> None:
        for work in list(range(len(WORK))) * often:
            self.report(self.shown(work), result, Grade.MACHINE)

    @rule(which=numbers, helpful=st.booleans(), grade=st.sampled_from([Grade.SELF, Grade.HUMAN]))
    def give_feedback(self, which: int, helpful: bool, grade: Grade) -> None:
        if self.uses:
            self.loop.feedback(self.uses[which % len(self.uses)], helpful=helpful, by="ann", grade=grade)

    @rule(which=numbers, result=results)
    def report_again(self, which: int, result: Outcome) -> None:
        """A task is checked anew, and may turn out otherwise."""
        if self.uses:
            self.report(self.uses[-1 - which % len(self.uses)], result, Grade.MACHINE)

    @rule(days=st.sampled_from([0.1, 1, 20, 100]))
    def let_time_pass(self, days: float) -> None:
        self.now += timedelta(days=days)

    @rule(hours=st.sampled_from([0.001, 0.01, 3]))
    def set_the_clock_back(self, hours: float) -> None:
        self.now -= timedelta(hours=hours)

    @rule()
    def learn(self) -> None:
        self.loop.learn()

    @rule(apply=st.booleans())
    def tend(self, apply: bool) -> None:
        before = self.loop.archive.history()
        cares = self.loop.library.plan()
        assert self.loop.archive.history() == before, "looking changes nothing"
        if apply:
            done, _ = self.loop.library.apply(cares, by="ann")
            assert not any(care.applied and care.skill_id in self.pinned for care in done)

    # --- what holds after every step ------------------------------------------------------------------------------

    @invariant()
    def every_life_is_lawful(self) -> None:
        made[0] += 1
        for stored in self.versions():
            life = self.loop.context.store.transitions(stored.version.id)
            status: Status | None = None
            for move in life:
                assert move.before is status, f"{move} does not go on from {status}"
                assert move.after in LIFECYCLE[status], f"{move} is not allowed"
                assert move.reason.strip(), f"{move} has no reason"
                assert move.by.strip(), f"{move} is nobody's"
                assert move.content_hash == stored.version.hash, f"{move} is about another content"
                status = move.after
            assert status is stored.status

    @invariant()
    def nothing_is_lost(self) -> None:
        held = {stored.version.id: stored for stored in self.versions()}
        assert self.seen.keys() <= held.keys()
        for stored in held.values():
            assert stored.version.content.hash() == stored.version.hash
            assert self.seen.setdefault(stored.version.id, stored.version.hash) == stored.version.hash
            assert stored.status in RECALLABLE or can_come_back(stored.status)

    @invariant()
    def what_was_decided_by_itself_is_decided_the_same_again(self) -> None:
        versions = self.versions()
        evidence = self.loop.context.store.evidence([stored.version.id for stored in versions]) if versions else {}
        for stored in versions:
            version_id = stored.version.id
            life = self.loop.context.store.transitions(version_id)
            known = {piece.id: piece for piece in evidence[version_id]}
            for place, move in enumerate(life):
                if move.by == BY_ITSELF and move.before is not None:
                    assert set(move.evidence_ids) <= known.keys(), f"{move} rests on evidence that is not there"
                    check_again(move, life[:place], [known[each] for each in move.evidence_ids])
        self.look_at_new_moves()
        self.pinned = self.pins()

    def look_at_new_moves(self) -> None:
        """What was just decided by itself is decided so from all that is stored now, and not about what is pinned."""
        for stored in self.versions():
            version_id = stored.version.id
            life = self.loop.context.store.transitions(version_id)
            for place, move in list(enumerate(life))[self.moves.get(version_id, 0) :]:
                if move.by != BY_ITSELF:
                    continue
                assert stored.skill.id not in self.pinned, f"{move} moves what is pinned"
                if move.before is None:
                    assert move.after not in RECALLABLE, f"{move} lets in what was put together by itself"
                else:
                    decided[f"{move.before} → {move.after}"] += 1
                    check_again(move, life[:place], self.loop.context.store.evidence([version_id])[version_id])
            self.moves[version_id] = len(life)

    @invariant()
    def the_store_is_intact(self) -> None:
        if made[0] % VERIFY_EACH == 0 and hasattr(self, "loop"):
            assert self.loop.archive.verify() == []

    def pins(self) -> frozenset[str]:
        remarks = self.loop.context.store.remarks(about=About.PIN) if hasattr(self, "loop") else []
        last = {remark.subject: remark.text for remark in remarks}
        return frozenset(subject for subject, text in last.items() if text)

    def everything_that_left_can_be_brought_back(self) -> None:
        """Bring back all that is not recallable, by decisions that a person may take."""
        for stored in self.versions():
            for decision in WAYS_BACK.get(stored.status, ()):
                assert self.review(self.loop.context.store.version(stored.version.id), decision), (
                    f"{decision} {stored.status}"
                )
            back = self.loop.context.store.version(stored.version.id)
            assert back.status in RECALLABLE, f"{back.version.name} stays {back.status}"
            assert back.version == stored.version


WAYS_BACK = {
    Status.CANDIDATE: ("approve",),
    Status.QUARANTINED: ("approve",),
    Status.REJECTED: ("reopen", "approve"),
    Status.STALE: ("restore",),
    Status.RETIRED: ("restore",),
}


def can_come_back(status: Status) -> bool:
    """Whether allowed steps lead from here to what may be recalled."""
    reached, edge = {status}, {status}
    while edge:
        edge = {after for each in edge for after in LIFECYCLE[each]} - reached
        reached |= edge
    return bool(reached & RECALLABLE)


def check_again(move: Transition, before: Sequence[Transition], evidence: Sequence[Evidence]) -> None:
    """Decide once more what was decided by itself: verified evidence alone moves what is recallable already."""
    assert move.before in RECALLABLE, f"{move} lets something in"
    assert move.evidence_ids, f"{move} rests on nothing"
    assert all(piece.grade.verified for piece in evidence if piece.id in move.evidence_ids), f"{move} rests on a claim"
    found = earned_status(move.before, before, votes(evidence))
    assert found is not None
    assert (found.after, str(found.reason), found.evidence_ids) == (move.after, move.reason, move.evidence_ids)


class LivesOnDisk(Lives):
    """The same on SQLite."""

    def store(self) -> Store:
        return open_store(self.folder / "tacit.db")


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=max(6, 4 * STEPS // 3 // ROUND),
    stateful_step_count=ROUND if STEPS else 20,
    suppress_health_check=_QUIET,
    deadline=None,
)
TestLivesOnDisk = LivesOnDisk.TestCase
TestLivesOnDisk.settings = settings(
    max_examples=max(3, 2 * STEPS // 3 // ROUND),
    stateful_step_count=ROUND if STEPS else 20,
    suppress_health_check=_QUIET,
    deadline=None,
)


def test_so_many_steps_were_taken_as_were_asked_for() -> None:
    assert made[0] >= STEPS, f"{made[0]} of {STEPS}"
    assert decided.total() >= STEPS // 500, f"only these decisions were taken by themselves: {decided}"
