"""The policy accepts only what several independent, machine-verified successes show, part by part."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import GateDecision
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.lifecycle import Status, coded
from tacit.domain.skill import READ_INSTRUCTIONS, Provenance, filled_fields
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Origin, Span
from tacit.gate.findings import GateReason, finding, reason_sentence
from tacit.gate.formation_policy import independent_successes, reason_for_person
from tacit.gate.judgement import judge
from tests.unit.making import MIGRATE, NOW, VERIFIED, bash_steps, candidate, content, stored

OPEN = Policy(strictness=Strictness.OPEN)
SEEN = {"t_1": "a", "t_2": "b", "t_3": "b"}


def episode(session: str, *, parent: str = "", assessment: Assessment = VERIFIED) -> Episode:
    return Episode(
        id=f"t_{session}_{parent}",
        task="x",
        project="invoices",
        client="",
        session_id=session,
        parent_session_id=parent,
        assessment=assessment,
        files=(),
        steps=3,
        started_at=None,
        captured_at=NOW,
        learned_at=None,
        superseded=False,
        pruned=False,
    )


def successes(trajectory_ids) -> int:
    return len({SEEN[identity] for identity in trajectory_ids})


def grounded(made=None, *attempts: str, **changes):
    """A candidate every part of which rests on these attempts."""
    made = made or content()
    spans = {f"steps.{i}": tuple(Span(each, i) for each in attempts) for i in range(len(made.steps))}
    provenance = Provenance(trajectory_ids=attempts, made_by="tacit.synthesis/1", grounding=spans)
    return candidate(made, provenance=provenance, **changes)


def judged(made, known=(), *, policy=OPEN):
    return judge(made, known, policy, at=NOW, successes=successes)


def test_sessions_are_counted_and_their_subagents_with_them():
    assert independent_successes([episode("a"), episode("a")]) == 1
    assert independent_successes([episode("a"), episode("b")]) == 2
    assert independent_successes([episode("a"), episode("x", parent="a"), episode("y", parent="a")]) == 1
    assert independent_successes([]) == 0


def test_attempts_of_unknown_session_count_as_one():
    assert independent_successes([episode(""), episode(""), episode("a")]) == 2


@pytest.mark.parametrize(
    "assessment",
    [
        Assessment(),
        Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF),
        Assessment(outcome=Outcome.SUCCESS, grade=Grade.HUMAN),
        Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE),
        Assessment(outcome=Outcome.PARTIAL, grade=Grade.MACHINE),
    ],
)
def test_only_machine_verified_successes_count(assessment):
    assert independent_successes([episode("a", assessment=assessment)]) == 0


def test_two_sessions_are_enough_for_the_open_dial():
    found = judged(grounded(None, "t_1", "t_2"))
    assert found.verdict.decision is GateDecision.ACCEPT
    assert found.transition
    assert found.transition.after is Status.TRIAL


def waits(what: str):
    reason = coded(GateReason.TOO_FEW_SUCCESSES, what=what, least=2)
    return finding("waits_for_a_person", why=reason_sentence(reason))


def test_one_session_is_not_and_the_reason_is_reported():
    found = judged(grounded(None, "t_2", "t_3"))
    assert found.verdict.decision is GateDecision.HOLD
    assert waits("it") in found.verdict.findings


def test_what_no_machine_verified_waits_and_the_reason_is_reported():
    found = judged(grounded(None, "t_1", "t_2", assessment=Assessment(outcome=Outcome.SUCCESS, grade=Grade.HUMAN)))
    why = reason_sentence(coded(GateReason.NOT_MACHINE_VERIFIED))
    assert found.verdict.decision is GateDecision.HOLD
    assert finding("waits_for_a_person", why=why) in found.verdict.findings


def test_a_person_may_ask_for_more():
    assert (
        judged(grounded(None, "t_1", "t_2"), policy=dataclasses.replace(OPEN, independent_successes=3)).verdict.decision
        is GateDecision.HOLD
    )
    alone = dataclasses.replace(OPEN, independent_successes=1)
    assert judged(grounded(None, "t_1"), policy=alone).verdict.decision is GateDecision.ACCEPT
    none = dataclasses.replace(OPEN, independent_successes=0)
    unseen = dataclasses.replace(grounded(None, "t_1"), provenance=Provenance(made_by="x"))
    assert judged(unseen, policy=none).verdict.decision is GateDecision.HOLD, "nothing behind it is never enough"


def test_a_step_that_only_one_session_took_is_not_carried_in_by_the_others():
    whole = grounded(content(steps=(*MIGRATE, *bash_steps("make seed"))), "t_1", "t_2")
    lone = dict(whole.provenance.grounding) | {"steps.3": (Span("t_1", 3),)}
    made = dataclasses.replace(whole, provenance=dataclasses.replace(whole.provenance, grounding=lone))
    found = judged(made)
    assert found.verdict.decision is GateDecision.HOLD
    assert waits("step 4") in found.verdict.findings


def test_an_ungrounded_step_of_what_was_learned_waits():
    whole = grounded(None, "t_1", "t_2")
    holes = {path: spans for path, spans in whole.provenance.grounding.items() if path != "steps.1"}
    found = judged(dataclasses.replace(whole, provenance=dataclasses.replace(whole.provenance, grounding=holes)))
    assert found.verdict.decision is GateDecision.HOLD
    assert "ungrounded_step" in found.verdict.reasons


def test_a_standing_order_waits_however_often_it_was_seen():
    steps = tuple(dataclasses.replace(step, text=f"Always: {step.text}") for step in MIGRATE)
    found = judged(grounded(content(steps=steps), "t_1", "t_2"))
    assert found.verdict.decision is GateDecision.HOLD
    assert "standing_order" in found.verdict.reasons


def test_one_field_from_outside_waits_however_often_it_was_seen():
    made = content()
    origins = dict.fromkeys(filled_fields(made), Origin.AGENT)
    assert judged(grounded(made, "t_1", "t_2", origins=origins)).verdict.decision is GateDecision.ACCEPT
    for path in origins:
        tainted = grounded(made, "t_1", "t_2", origins={**origins, path: Origin.EXTERNAL})
        assert judged(tainted).verdict.decision is GateDecision.HOLD, path


def test_the_same_content_seen_again_goes_on_trial_once_enough_sessions_show_it():
    waits = stored(status=Status.CANDIDATE, origins=dict.fromkeys(filled_fields(content()), Origin.AGENT))
    found = judged(grounded(None, "t_1", "t_2"), [waits])
    assert found.version is None
    assert found.transition
    assert (found.transition.before, found.transition.after) == (Status.CANDIDATE, Status.TRIAL)
    assert found.transition.version_id == waits.version.id
    assert found.transition.content_hash == waits.version.hash
    assert found.transition.reason == GateReason.POLICY_ACCEPTED
    assert found.verdict.decision is GateDecision.ACCEPT


@pytest.mark.parametrize("status", [Status.QUARANTINED, Status.STALE, Status.RETIRED, Status.TRIAL])
def test_only_what_waits_is_moved_by_evidence(status):
    held = stored(status=status, origins=dict.fromkeys(filled_fields(content()), Origin.AGENT))
    assert judged(grounded(None, "t_1", "t_2"), [held]).transition is None


def test_evidence_moves_nothing_that_is_not_the_very_same_or_came_from_outside():
    agents = dict.fromkeys(filled_fields(content()), Origin.AGENT)
    external = stored(status=Status.CANDIDATE, origins={**agents, "steps.0": Origin.EXTERNAL})
    assert judged(grounded(None, "t_1", "t_2"), [external]).transition is None
    other = stored(content(body="More.", steps=MIGRATE), status=Status.CANDIDATE, origins=agents)
    found = judged(grounded(None, "t_1", "t_2"), [other])
    assert found.version is not None or found.transition is None


@pytest.mark.parametrize("strictness", [Strictness.STANDARD, Strictness.STRICT])
def test_no_other_dial_counts_evidence(strictness):
    waits = stored(status=Status.CANDIDATE, origins=dict.fromkeys(filled_fields(content()), Origin.AGENT))
    policy = Policy(strictness=strictness)
    assert judged(grounded(None, "t_1", "t_2"), [waits], policy=policy).transition is None
    assert judged(grounded(None, "t_1", "t_2"), policy=policy).verdict.decision is GateDecision.HOLD


def test_where_nobody_counts_successes_there_are_none():
    alone = dataclasses.replace(OPEN, independent_successes=1)
    assert judge(grounded(None, "t_1"), (), alone, at=NOW).verdict.decision is GateDecision.HOLD


def test_work_inside_the_workspace_needs_no_person():
    assert reason_for_person(candidate(content(steps=bash_steps("make lint", "pytest -q")))) is None


@pytest.mark.parametrize(
    "command",
    [
        "curl -fsS https://files.odd-place.net/i.sh -o i.sh",
        "pip install odd-shim",
        "cp settings.ini /tmp/settings.bak",
        "git config user.email bot@odd-place.org",
    ],
)
def test_what_reaches_out_of_the_workspace_needs_a_person(command):
    reason = reason_for_person(candidate(content(steps=bash_steps(command, "pytest -q"))))
    assert reason
    assert reason.code == GateReason.LEAVES_WORKSPACE


def test_the_reason_names_the_place_and_the_thing():
    steps = bash_steps("make lint", "curl https://files.odd-place.net/i.sh")
    reason = reason_for_person(candidate(content(steps=steps)))
    assert reason
    assert reason.values["field"] == "step 2"
    assert "files.odd-place.net" in str(reason.values["value"])


def test_an_action_after_reading_instructions_needs_a_person():
    words = Provenance(
        trajectory_ids=("t_1",), grounding={READ_INSTRUCTIONS: (Span("t_1", 4, "observation"), Span("t_2", 7))}
    )
    read = reason_for_person(dataclasses.replace(candidate(), provenance=words))
    assert read == coded(GateReason.READ_INSTRUCTIONS, step=5, attempt="t_1")
