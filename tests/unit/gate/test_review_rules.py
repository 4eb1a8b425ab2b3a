"""A person's decision is bound to the exact content, and follows the lifecycle."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import GateRefusal, IllegalTransition, Mistake, StaleVersion
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE, Status, coded
from tacit.domain.skill import Capabilities
from tacit.domain.trajectory import Origin
from tacit.domain.trust import Approval, Examination, ExternalValue, ResourceKind
from tacit.gate.findings import GateReason
from tacit.gate.review_rules import (
    PersonDecision,
    approve,
    check_approval,
    decide,
    has_severe_findings,
    needs_attention,
    new_finding,
    unconfirmed_values,
)
from tests.raising import raises
from tests.unit.making import NOW, content, stored


@pytest.mark.parametrize(
    ("before", "decision", "after"),
    [
        (Status.CANDIDATE, "approve", Status.TRIAL),
        (Status.QUARANTINED, "approve", Status.TRIAL),
        (Status.CANDIDATE, "reject", Status.REJECTED),
        (Status.QUARANTINED, "reject", Status.REJECTED),
        (Status.TRIAL, "retire", Status.RETIRED),
        (Status.TRUSTED, "retire", Status.RETIRED),
        (Status.STALE, "retire", Status.RETIRED),
        (Status.RETIRED, "restore", Status.TRIAL),
        (Status.STALE, "restore", Status.TRIAL),
        (Status.REJECTED, "reopen", Status.CANDIDATE),
        (Status.TRIAL, "reopen", Status.CANDIDATE),
    ],
)
def test_a_decision_becomes_the_transition_that_carries_it_out(before, decision, after):
    held = stored(status=before)
    made = decide(held, decision, by="ann", at=NOW, reason="looks right", content_hash=held.version.hash)
    assert (made.before, made.after, made.by, made.reason) == (before, after, "ann", "looks right")
    assert (made.version_id, made.content_hash, made.at) == (held.version.id, held.version.hash, NOW)


@pytest.mark.parametrize(
    ("before", "decision", "code"),
    [
        (Status.TRIAL, "approve", "already_approved"),
        (Status.TRUSTED, "approve", "already_approved"),
        (Status.REJECTED, "approve", "illegal_transition"),
        (Status.TRIAL, "reject", "illegal_transition"),
        (Status.RETIRED, "reject", "illegal_transition"),
        (Status.CANDIDATE, "retire", "illegal_transition"),
        (Status.CANDIDATE, "restore", "not_restorable"),
        (Status.REJECTED, "restore", "not_restorable"),
        (Status.TRIAL, "restore", "not_restorable"),
        (Status.QUARANTINED, "reopen", "illegal_transition"),
    ],
)
def test_a_decision_that_the_lifecycle_does_not_allow_is_refused_with_a_next_step(before, decision, code):
    with raises(IllegalTransition, code) as refused:
        decide(stored(status=before), decision, by="ann", at=NOW)
    assert refused.value.hint


def test_a_decision_on_other_content_than_was_seen_is_refused():
    seen, now = stored(status=Status.CANDIDATE), stored(content(body="changed"), status=Status.CANDIDATE)
    with raises(StaleVersion, "stale_version") as refused:
        decide(now, PersonDecision.APPROVE, by="ann", at=NOW, content_hash=seen.version.hash)
    assert now.version.id in refused.value.hint


@pytest.mark.parametrize("by", ["", "  "])
def test_a_decision_needs_a_name(by):
    with raises(Mistake, "reviewer_missing"):
        decide(stored(status=Status.CANDIDATE), "approve", by=by, at=NOW)


def test_an_unknown_decision_is_a_mistake_that_names_the_known_ones():
    with raises(Mistake, "unknown_decision") as refused:
        decide(stored(), "bless", by="ann", at=NOW)
    assert all(decision in refused.value.hint for decision in PersonDecision)


def test_a_decision_without_a_reason_says_who_decided():
    assert decide(stored(status=Status.CANDIDATE), "approve", by="ann", at=NOW).reason == str(
        coded(GateReason.DECIDED_BY_PERSON, decision="approve")
    )


POLICY = Policy()
HOST = ExternalValue(kind=ResourceKind.HOST, value="api.example.com", field="steps.1")
VARIABLE = ExternalValue(kind=ResourceKind.VARIABLE, value="API_TOKEN", field="body")
ODD = Finding(rule="odd", message="an odd line", severity=Severity.MEDIUM, field="body", line=3)
SEEN = Examination(
    findings=(ODD,),
    needs=Capabilities(hosts=("api.example.com",)),
    external_values=(HOST, VARIABLE),
    checks=("ours 1",),
)
TICKS = (HOST.key, VARIABLE.key)
WAITS = stored(status=Status.CANDIDATE, origins={"name": Origin.AGENT, "body": Origin.EXTERNAL})


def approved(seen: Examination = SEEN, ticked=TICKS) -> Approval:
    return approve(WAITS, seen, by="ann", at=NOW, policy=POLICY, ticked=ticked)


def reasons(approval: Approval, seen: Examination = SEEN, *, version=WAITS.version, policy: Policy = POLICY):
    return check_approval(approval, version, examination=seen, policy=policy).reasons


def test_an_approval_keeps_all_that_was_before_the_persons_eyes():
    made = approved()
    assert (made.version_id, made.content_hash) == (WAITS.version.id, WAITS.version.hash)
    assert (made.by, made.at, made.policy_hash) == ("ann", NOW, digest(POLICY))
    assert (made.findings, made.needs, made.checks) == (SEEN.findings, SEEN.needs, SEEN.checks)
    assert made.origins == WAITS.version.origins
    assert made.ticked == tuple(sorted(TICKS))
    assert made.id == approved().id
    assert made.id != approve(WAITS, SEEN, by="bob", at=NOW, policy=POLICY, ticked=TICKS).id


@pytest.mark.parametrize("ticked", [(), (HOST.key,), (VARIABLE.key,)])
def test_without_every_tick_it_is_refused_with_the_list_and_what_to_do(ticked):
    with raises(GateRefusal, "confirmation_missing") as refused:
        approved(ticked=ticked)
    missing = [literal for literal in (HOST, VARIABLE) if literal.key not in ticked]
    for literal in missing:
        assert literal.key in refused.value.message
    for key in ticked:
        assert key not in refused.value.message
    assert f"tacit review {WAITS.version.id} --approve --tick KEY" in refused.value.hint
    assert [each.key for each in unconfirmed_values(SEEN, ticked)] == [each.key for each in missing]


def test_no_command_that_ticks_everything_is_handed_out():
    with raises(GateRefusal, "confirmation_missing") as refused:
        approved(ticked=())
    assert HOST.key not in refused.value.hint
    assert VARIABLE.key not in refused.value.hint


def test_a_tick_for_something_that_is_not_there_is_a_mistake():
    with raises(Mistake, "unknown_tick") as refused:
        approved(ticked=(*TICKS, "host:other.net"))
    assert "host:other.net" in refused.value.message
    assert all(key in refused.value.hint for key in TICKS)
    with raises(Mistake, "unknown_tick"):
        approved(Examination(), ticked=("host:other.net",))


def test_a_tick_of_a_part_is_no_tick_of_the_whole():
    longer = ExternalValue(kind=ResourceKind.URL, value="https://api.example.com/v1", field="body")
    with raises(GateRefusal, "confirmation_missing"):
        approved(dataclasses.replace(SEEN, external_values=(HOST, longer)), ticked=(HOST.key,))


def test_an_approval_holds_while_nothing_changes():
    holding = check_approval(approved(), WAITS.version, examination=SEEN, policy=POLICY)
    assert holding
    assert holding.reasons == ()
    assert not holding.is_severe


def test_it_does_not_hold_for_another_content():
    other = stored(content(body="changed"), origins=WAITS.version.origins)
    assert reasons(approved(), version=other.version)[0] == coded(GateReason.CONTENT_CHANGED)


def test_it_does_not_hold_once_an_origin_is_another():
    raised = dataclasses.replace(WAITS.version, origins={**WAITS.version.origins, "body": Origin.USER})
    assert reasons(approved(), version=raised) == (coded(GateReason.ORIGINS_CHANGED),)


def test_it_does_not_hold_under_another_policy():
    changed = Policy(strictness=Strictness.STRICT)
    assert reasons(approved(), policy=changed) == (coded(GateReason.POLICY_CHANGED),)


@pytest.mark.parametrize(
    ("found", "is_new", "is_severe"),
    [
        (dataclasses.replace(ODD, rule="new"), True, False),
        (dataclasses.replace(ODD, line=4), True, False),
        (dataclasses.replace(ODD, field="steps.0"), True, False),
        (dataclasses.replace(ODD, severity=Severity.HIGH), True, True),
        (dataclasses.replace(ODD, severity=Severity.CRITICAL, rule="x"), True, True),
        (dataclasses.replace(ODD, severity=Severity.LOW, rule="x"), False, False),
        (dataclasses.replace(ODD, severity=Severity.INFO, rule="x"), False, False),
        (dataclasses.replace(ODD, message="worded differently"), False, False),
    ],
)
def test_a_finding_of_weight_that_was_not_shown_ends_it(found, is_new, is_severe):
    holding = check_approval(
        approved(), WAITS.version, examination=dataclasses.replace(SEEN, findings=(ODD, found)), policy=POLICY
    )
    assert bool(holding.reasons) is is_new
    assert holding.is_severe is is_severe
    assert all(reason.code == GateReason.NEW_FINDING for reason in holding.reasons)


def test_a_finding_that_is_gone_ends_nothing():
    assert reasons(approved(), dataclasses.replace(SEEN, findings=())) == ()


def test_touching_more_than_was_shown_ends_it_and_less_does_not():
    more = dataclasses.replace(SEEN, needs=Capabilities(hosts=("api.example.com",), secrets=("API_TOKEN",)))
    assert reasons(approved(), more) == (coded(GateReason.USES_MORE, more="secrets API_TOKEN"),)
    assert reasons(approved(), dataclasses.replace(SEEN, needs=Capabilities())) == ()


def test_a_literal_that_was_not_ticked_ends_it():
    more = dataclasses.replace(SEEN, external_values=(*SEEN.external_values, dataclasses.replace(HOST, value="b.net")))
    assert reasons(approved(), more) == (coded(GateReason.NOT_CONFIRMED, keys="host:b.net"),)


def test_other_checks_that_see_the_same_end_nothing():
    assert reasons(approved(), dataclasses.replace(SEEN, checks=("ours 2", "theirs 1"))) == ()


def test_weights_are_distinguished():
    of = {severity: [dataclasses.replace(ODD, severity=severity)] for severity in Severity}
    assert [severity for severity in Severity if has_severe_findings(of[severity])] == [
        Severity.HIGH,
        Severity.CRITICAL,
    ]
    assert [s for s in Severity if needs_attention(of[s])] == [Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL]
    assert not has_severe_findings([])
    assert not needs_attention([])


@pytest.mark.parametrize(
    ("status", "decision", "recallable"),
    [
        (Status.CANDIDATE, PersonDecision.APPROVE, True),
        (Status.RETIRED, PersonDecision.RESTORE, True),
        (Status.CANDIDATE, PersonDecision.REJECT, False),
        (Status.TRIAL, PersonDecision.RETIRE, False),
        (Status.TRIAL, PersonDecision.REOPEN, False),
    ],
)
def test_whatever_makes_recallable_needs_an_approval(status, decision, recallable):
    assert (decide(stored(status=status), decision, by="ann", at=NOW).after in RECALLABLE) is recallable


def test_all_external_values_that_are_not_confirmed_are_listed():
    more = (dataclasses.replace(HOST, value="a.net"), dataclasses.replace(HOST, value="b.net"))
    external = dataclasses.replace(SEEN, external_values=(*SEEN.external_values, *more))
    assert reasons(approved(), external) == (coded(GateReason.NOT_CONFIRMED, keys="host:a.net, host:b.net"),)


def test_of_a_place_that_was_shown_twice_the_heavier_finding_counts():
    heavy = dataclasses.replace(ODD, severity=Severity.HIGH)
    for shown in ((heavy, ODD), (ODD, heavy)):
        seen = dataclasses.replace(SEEN, findings=shown)
        assert reasons(approved(seen), dataclasses.replace(SEEN, findings=(heavy,))) == ()


def test_a_finding_that_was_shown_as_a_trifle_is_news_once_it_weighs():
    trifle = dataclasses.replace(ODD, severity=Severity.INFO)
    seen = dataclasses.replace(SEEN, findings=(trifle,))
    assert reasons(approved(seen)) == (new_finding(ODD),)
