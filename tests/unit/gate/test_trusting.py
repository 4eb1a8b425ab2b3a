"""Approvals through a store: kept with the decision, looked at again, and taken back when they no longer hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import pytest

from tacit import gate
from tacit.api import Tacit
from tacit.config.settings import Config, Policy, Strictness
from tacit.domain.candidate import Decision, Finding, Severity
from tacit.domain.coded_reason import coded
from tacit.domain.errors import GateRefusal, Mistake, NotPermitted, StaleVersion
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.origin import Origin
from tacit.domain.skill import Capabilities, Kind, SkillContent, SkillStep
from tacit.gate import approvals, checks, content_checks
from tacit.gate.findings import GateReason
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import NOW, later

FETCH = SkillStep(text="Fetch it", tool="Bash", arguments={"command": "curl https://api.example.com/v1"})
WRITTEN = SkillContent(
    kind=Kind.PROCEDURE,
    name="fetch-the-rates",
    description="Fetch the exchange rates. Use when rates are asked for.",
    steps=(FETCH,),
)
CALM = dataclasses.replace(
    WRITTEN, steps=(SkillStep(text="Print the rates", tool="Bash", arguments={"command": "make rates"}),)
)
"""Nothing is found in it."""


@pytest.fixture
def make() -> Iterator[Callable[..., Tacit]]:
    loops: list[Tacit] = []

    def made(**policy: object) -> Tacit:
        store = open_store(":memory:")
        times = iter(later(hour) for hour in range(1000))
        loops.append(Tacit(store, config=Config(policy=Policy(**policy)), clock=lambda: next(times)))  # type: ignore[arg-type]
        return loops[-1]

    yield made
    for loop in loops:
        loop.close()


@pytest.fixture
def look_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Severity], None]]:
    """Let a further check look from now on: it speaks up where a content holds a word."""

    def further(word: str, severity: Severity) -> None:
        class Further:
            name, version = f"looks for {word}", "1"

            def examine(self, content: SkillContent) -> Iterator[Finding]:
                if word in content.body:
                    yield Finding(rule="further", message=f"says {word}", severity=severity, field="body", line=1)

        known = (*checks.built_in(), Further())
        monkeypatch.setattr(checks, "every_check", lambda: known)
        content_checks._checked.cache_clear()

    yield further
    monkeypatch.undo()
    content_checks._checked.cache_clear()


def proposed(loop: Tacit, content: SkillContent = WRITTEN, origin: Origin = Origin.EXTERNAL) -> str:
    return loop.propose(content, by="ann", origin=origin).version_id


def ticks(loop: Tacit, version_id: str) -> list[str]:
    return [literal.key for literal in loop.reviews.examine(version_id).literals]


def approved(loop: Tacit, content: SkillContent = WRITTEN, origin: Origin = Origin.EXTERNAL) -> str:
    version_id = proposed(loop, content, origin)
    loop.review(version_id, "approve", by="ann", ticked=ticks(loop, version_id))
    return version_id


def status(loop: Tacit, version_id: str) -> Status:
    return loop.version(version_id).status


def test_what_came_from_outside_is_not_approved_in_one_go(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = proposed(loop)
    asked = ticks(loop, version_id)
    assert "url:https://api.example.com/v1" in asked
    for given in ([], asked[:-1]):
        with raises(GateRefusal, "confirmation_missing"):
            loop.review(version_id, "approve", by="ann", ticked=given)
        assert status(loop, version_id) is Status.CANDIDATE
        assert loop.context.store.approvals(version_id) == []
    loop.review(version_id, "approve", by="ann", ticked=asked)
    assert status(loop, version_id) is Status.TRIAL


def test_an_approval_is_kept_with_the_decision(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = approved(loop)
    [approval] = loop.context.store.approvals(version_id)
    version, seen = loop.version(version_id).version, loop.reviews.examine(version_id)
    assert (approval.by, approval.content_hash) == ("ann", version.hash)
    assert (approval.findings, approval.needs, approval.checks) == (seen.findings, seen.needs, seen.checks)
    assert set(approval.ticked) == set(ticks(loop, version_id))
    assert dict(approval.origins) == dict(version.origins)
    assert loop.archive.verify() == []


def test_what_a_person_wrote_needs_no_tick_and_other_decisions_take_none(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = approved(loop, origin=Origin.USER)
    assert loop.context.store.approvals(version_id)[0].ticked == ()
    with raises(Mistake, "tick_without_approval"):
        loop.review(version_id, "retire", by="ann", ticked=["host:api.example.com"])
    loop.review(version_id, "retire", by="ann")
    assert len(loop.context.store.approvals(version_id)) == 1


def test_what_is_brought_back_keeps_its_ticks_and_is_approved_anew(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = approved(loop)
    loop.review(version_id, "retire", by="ann")
    loop.review(version_id, "restore", by="bob")
    first, second = loop.context.store.approvals(version_id)
    assert (first.by, second.by) == ("ann", "bob")
    assert first.ticked == second.ticked
    assert status(loop, version_id) is Status.TRIAL


def test_going_back_to_what_nobody_approved_asks_for_its_ticks(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = proposed(loop)
    newer = loop.propose(
        dataclasses.replace(WRITTEN, body="Once a day."), by="ann", origin=Origin.USER, revises=loop.version(version_id)
    )
    loop.review(newer.version_id, "approve", by="ann", ticked=ticks(loop, newer.version_id))
    with raises(GateRefusal, "confirmation_missing"):
        loop.reviews.rollback(version_id, by="ann")
    assert status(loop, newer.version_id) is Status.TRIAL, "all or nothing"


def test_a_hash_that_is_not_the_stored_one_leaves_no_approval(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = proposed(loop)
    with pytest.raises(StaleVersion):
        loop.review(version_id, "approve", by="ann", content_hash="sha256:0", ticked=ticks(loop, version_id))
    assert loop.context.store.approvals(version_id) == []


def test_nothing_to_tell_while_nothing_changed(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = approved(loop)
    assert loop.reviews.recheck() == []
    assert loop.reviews.recheck(apply=True, by="ann") == []
    assert status(loop, version_id) is Status.TRIAL


@pytest.mark.parametrize(
    ("severity", "after"),
    [
        (Severity.LOW, Status.TRIAL),
        (Severity.MEDIUM, Status.CANDIDATE),
        (Severity.HIGH, Status.QUARANTINED),
        (Severity.CRITICAL, Status.QUARANTINED),
    ],
)
def test_what_a_new_check_finds_takes_an_approval_back(
    make: Callable[..., Tacit], look_out: Callable[..., None], severity: Severity, after: Status
) -> None:
    loop = make()
    version_id = approved(loop, dataclasses.replace(WRITTEN, body="Feed the zebra."))
    other = approved(loop, dataclasses.replace(WRITTEN, name="other", description="Something else entirely."))
    look_out("zebra", severity)
    found = loop.reviews.recheck()
    assert [each.stored.version.id for each in found] == ([version_id] if after is not Status.TRIAL else [])
    assert status(loop, version_id) is Status.TRIAL, "only looked at"
    loop.reviews.recheck(apply=True, by="ann")
    assert status(loop, version_id) is after
    assert status(loop, other) is Status.TRIAL
    if after is not Status.TRIAL:
        [told] = [move for move in loop.context.store.transitions(version_id) if move.after is after and move.before]
        assert "says zebra" in told.reason
        assert told.by == "ann"
        assert loop.recall("fetch the exchange rates").abstained or version_id not in loop.recall("rates").version_ids


def test_learning_takes_back_what_new_checks_object_to_once(
    make: Callable[..., Tacit], look_out: Callable[..., None]
) -> None:
    loop = make()
    version_id = approved(loop, dataclasses.replace(WRITTEN, body="Feed the zebra."))
    kept = approved(loop, dataclasses.replace(WRITTEN, name="other", description="Something else entirely."))
    assert loop.learn().verdicts == ()
    look_out("zebra", Severity.MEDIUM)
    [verdict] = loop.learn().verdicts
    assert (verdict.version_id, verdict.decision) == (version_id, Decision.HOLD)
    assert "approval_stale" in verdict.reasons
    assert status(loop, version_id) is Status.CANDIDATE
    assert status(loop, kept) is Status.TRIAL
    seen = len(loop.context.store.verdicts(version_id=kept))
    assert loop.learn().verdicts == ()
    assert len(loop.context.store.verdicts(version_id=kept)) == seen, "looked at with these checks before"
    assert loop.context.store.transitions(version_id)[-1].by == approvals.BY_ITSELF
    loop.review(version_id, "approve", by="ann", ticked=ticks(loop, version_id))
    assert loop.reviews.recheck() == [], "seen and approved all the same"


def test_an_approval_does_not_outlive_its_policy(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = approved(loop)
    loop.context.config = Config(policy=Policy(strictness=Strictness.STRICT))
    [found] = loop.reviews.recheck()
    assert found.stored.version.id == version_id
    assert found.reasons == (coded(GateReason.POLICY_CHANGED),)
    assert found.after is Status.CANDIDATE


@pytest.mark.parametrize(("body", "after"), [("Fine.", None), ("Feed the zebra.", Status.QUARANTINED)])
def test_an_approval_from_before_examinations_is_told_and_ended_only_for_a_reason(
    make: Callable[..., Tacit], look_out: Callable[..., None], body: str, after: Status | None
) -> None:
    loop = make()
    version_id = proposed(loop, dataclasses.replace(CALM, body=body), Origin.USER)
    stored = loop.version(version_id)
    loop.context.store.add_transition(gate.decide(stored, "approve", by="ann", at=NOW))
    look_out("zebra", Severity.HIGH)
    assert loop.learn().verdicts == (), "that is for a person to decide"
    [found] = loop.reviews.recheck()
    assert found.reasons[0].code == GateReason.NO_EXAMINATION
    assert found.after is after
    loop.reviews.recheck(apply=True, by="ann")
    assert status(loop, version_id) is (after or Status.TRIAL)


def test_an_approval_from_before_ticks_waits_again_where_something_came_from_outside(
    make: Callable[..., Tacit],
) -> None:
    loop = make()
    version_id = proposed(loop)
    loop.context.store.add_transition(gate.decide(loop.version(version_id), "approve", by="ann", at=NOW))
    [found] = loop.reviews.recheck()
    assert found.after is Status.CANDIDATE
    assert GateReason.NOT_CONFIRMED in {reason.code for reason in found.reasons}


def test_what_policy_let_in_is_measured_by_policy(make: Callable[..., Tacit], look_out: Callable[..., None]) -> None:
    loop = make(strictness=Strictness.OPEN)
    version_id = proposed(loop, dataclasses.replace(CALM, body="Feed the zebra."), Origin.AGENT)
    stored = loop.version(version_id)
    move = Transition(
        version_id=version_id,
        content_hash=stored.version.hash,
        before=stored.status,
        after=Status.TRIAL,
        reason="policy: proven",
        by="tacit",
        at=NOW,
    )
    loop.context.store.add_transition(move)
    assert [each for each in loop.reviews.recheck() if each.after] == []
    look_out("zebra", Severity.MEDIUM)
    [found] = loop.reviews.recheck()
    assert found.after is Status.CANDIDATE
    assert found.reasons[0].code == GateReason.POLICY_REJECTS


def test_the_last_approved_version_is_what_a_new_one_is_held_against(make: Callable[..., Tacit]) -> None:
    loop = make()
    first = proposed(loop)
    assert approvals.last_approved(loop.context.store, loop.version(first)) is None
    loop.review(first, "approve", by="ann", ticked=ticks(loop, first))
    edited = dataclasses.replace(WRITTEN, body="Once a day.")
    second = loop.propose(edited, by="ann", origin=Origin.USER, revises=loop.version(first)).version_id
    third = loop.propose(
        dataclasses.replace(edited, body="Twice a day."), by="ann", origin=Origin.USER, revises=loop.version(second)
    ).version_id
    found = approvals.last_approved(loop.context.store, loop.version(third))
    assert found
    assert found[0].version.id == first
    assert found[1]
    assert found[1].by == "ann"
    loop.review(second, "approve", by="bob", ticked=ticks(loop, second))
    loop.review(second, "retire", by="bob")
    found = approvals.last_approved(loop.context.store, loop.version(third))
    assert found
    assert found[0].version.id == second, "approved last, though no longer in use"


def test_a_caller_is_not_given_what_it_may_not_touch(make: Callable[..., Tacit]) -> None:
    loop = make()
    version_id = approved(loop)
    task = "fetch the exchange rates"
    assert loop.recall(task).version_ids == (version_id,)
    may = Capabilities(hosts=("*.example.com",), commands=("curl",), effects=("*",), reads=("*",), writes=("*",))
    assert loop.recall(task, allowed=may).version_ids == (version_id,)
    assert loop.recall(task, allowed=["hosts=api.example.com", "commands=curl", "effects=*"]).version_ids == (
        version_id,
    )
    refused = loop.recall(task, allowed=["commands=curl"])
    assert refused.abstained
    assert "touches what is not allowed here: hosts api.example.com" in refused.reason
    assert loop.recall(task, allowed=Capabilities()).abstained
    assert loop.recall(task, allowed=[]).abstained
    with raises(Mistake, "invalid_allowance"):
        loop.recall(task, allowed=["network=all"])
    with raises(NotPermitted, "not_permitted"):
        loop.apply("fetch-the-rates", allowed=["commands=curl"])
    assert loop.apply("fetch-the-rates", allowed=may).use_id


def test_a_composite_is_not_given_where_a_part_may_not_be(make: Callable[..., Tacit]) -> None:
    loop = make()
    approved(loop, origin=Origin.USER)
    whole = SkillContent(
        kind=Kind.PROCEDURE,
        name="report-the-rates",
        description="Report the exchange rates to the desk.",
        sub_skills=("fetch-the-rates",),
        steps=(SkillStep(text="Do `fetch-the-rates`"),),
    )
    version_id = approved(loop, whole, Origin.USER)
    task = "report the exchange rates to the desk"
    assert version_id in loop.recall(task).version_ids
    refused = loop.recall(task, allowed=["commands=git", "effects=*"])
    assert refused.abstained
    assert {left.name for left in refused.left_out} >= {"report-the-rates"}
    [why] = [left.reason for left in refused.left_out if left.name == "report-the-rates"]
    assert why.startswith("its parts touch what is not allowed here: hosts api.example.com")
