"""What the gate accepts, holds, quarantines and rejects, and what is already known."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Finding, GateDecision, Relation
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance, filled_fields
from tacit.domain.trajectory import Origin, Span
from tacit.gate.judgement import judge, rejection
from tests.unit.making import MIGRATE, NOW, PROJECT, VERIFIED, bash_steps, candidate, content, stored

STANDARD = Policy()
OPEN, STRICT = Policy(strictness=Strictness.OPEN), Policy(strictness=Strictness.STRICT)
LONGER = content(steps=(*MIGRATE, *bash_steps("git push")))
ONE_EXTERNAL = {"name": Origin.AGENT, "steps.0": Origin.AGENT, "steps.1": Origin.EXTERNAL, "steps.2": Origin.AGENT}


def judged(made=None, known=(), *, policy=STANDARD):
    """With independent successes enough behind whatever it is: these are not what is missing here."""
    return judge(made or candidate(), known, policy, at=NOW, successes=lambda attempts: 9)


def test_by_default_a_person_decides_on_everything():
    found = judged()
    assert (found.verdict.decision, found.verdict.relation) == (GateDecision.HOLD, Relation.NEW)
    assert found.version
    assert found.skill
    assert found.transition
    assert found.transition.after is Status.CANDIDATE
    assert found.transition.before is None
    assert found.transition.content_hash == found.version.hash == found.verdict.content_hash
    assert (found.verdict.version_id, found.verdict.skill_id) == (found.version.id, found.skill.id)
    assert found.verdict.trajectory_ids == ("t_1",)


def test_the_open_dial_admits_what_is_machine_verified_and_clean():
    assert judge(candidate(), (), OPEN, at=NOW).verdict.decision is GateDecision.HOLD, "nobody counts its successes"
    found = judged(policy=OPEN)
    assert found.verdict.decision is GateDecision.ACCEPT
    assert found.transition
    assert found.transition.after is Status.TRIAL


@pytest.mark.parametrize("policy", [STANDARD, STRICT])
def test_no_other_dial_admits_anything_by_itself(policy):
    assert judged(policy=policy).verdict.decision is GateDecision.HOLD


@pytest.mark.parametrize(
    "made",
    [
        candidate(assessment=dataclasses.replace(VERIFIED, grade=Grade.HUMAN)),
        candidate(assessment=None),
        candidate(content(kind=Kind.LESSON), assessment=Assessment(outcome=Outcome.SUCCESS)),
        candidate(origins=ONE_EXTERNAL),
        candidate(origins={}),
    ],
    ids=["human-verified", "no attempt", "self-reported", "external text", "origin unknown"],
)
def test_even_the_open_dial_holds_the_rest_for_a_person(made):
    assert judged(made, policy=OPEN).verdict.decision is GateDecision.HOLD


def test_strict_sets_external_text_apart():
    found = judged(candidate(origins=ONE_EXTERNAL), policy=STRICT)
    assert found.verdict.decision is GateDecision.QUARANTINE
    assert found.transition
    assert found.transition.after is Status.QUARANTINED
    assert judged(candidate(origins=ONE_EXTERNAL)).verdict.decision is GateDecision.HOLD


@pytest.mark.parametrize("policy", [OPEN, STANDARD, STRICT])
@pytest.mark.parametrize(
    "body", ["a\u202eb", "a\U000e0041b", "a\u200bb", "a\x1b[0mb", "token = ghp_" + "a1B2c3D4e5" * 4], ids=ascii
)
def test_hidden_characters_and_secrets_are_set_apart_under_every_dial(policy, body):
    found = judged(candidate(content(body=body)), policy=policy)
    assert found.verdict.decision is GateDecision.QUARANTINE
    assert {"hidden_characters", "secret"} & set(found.verdict.reasons)


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (candidate(assessment=Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE)), "task_failed"),
        (candidate(assessment=Assessment()), "unverified"),
        (candidate(content(steps=MIGRATE[:1])), "too_simple_1_steps"),
        (candidate(content(description="")), "no_description"),
    ],
)
def test_what_is_not_worth_having_is_turned_away_and_nothing_is_kept(made, rule):
    found = judged(made, [stored()], policy=OPEN)
    assert (found.verdict.decision, found.verdict.relation) == (GateDecision.REJECT, Relation.NONE)
    assert rule in found.verdict.reasons
    assert found.version is found.skill is found.transition is None


def test_the_same_again_reinforces_and_adds_no_version():
    known = stored()
    found = judged(known=[known])
    assert (found.verdict.relation, found.verdict.decision) == (Relation.REINFORCE, GateDecision.ACCEPT)
    assert (found.verdict.version_id, found.verdict.skill_id) == (known.version.id, known.skill.id)
    assert found.version is None
    assert "near_duplicate" in found.verdict.reasons


@pytest.mark.parametrize("status", [Status.CANDIDATE, Status.QUARANTINED, Status.STALE, Status.RETIRED])
def test_reinforcing_what_is_not_in_use_does_not_bring_it_into_use(status):
    found = judged(known=[stored(status=status)], policy=OPEN)
    assert (found.verdict.relation, found.verdict.decision) == (Relation.REINFORCE, GateDecision.HOLD)
    assert found.transition is None


def test_what_adds_steps_becomes_the_next_version_of_the_known_skill():
    known = stored()
    found = judged(candidate(LONGER), [known])
    assert found.verdict.relation is Relation.MERGE
    assert found.version
    assert found.skill == known.skill
    assert found.version.parents == (known.version.id,)
    assert len(found.version.content.steps) == 4
    assert found.version.provenance.trajectory_ids == ("t_0", "t_1")
    assert found.verdict.trajectory_ids == ("t_1",), "the verdict answers this candidate"


def test_something_else_is_a_new_skill():
    other = stored(content(name="deploy", description="Ship it", steps=bash_steps("make build", "make push", "ssh x")))
    found = judged(known=[other])
    assert found.verdict.relation is Relation.NEW
    assert found.skill
    assert found.skill.id != other.skill.id


def test_the_most_alike_is_taken_and_the_older_of_two_equals():
    exact, near = stored(sequence=5), stored(LONGER, sequence=1)
    assert judged(known=[near, exact]).verdict.version_id == exact.version.id
    older = stored(content(tags=("x",)), sequence=2)
    newer = stored(content(tags=("y",)), sequence=3)
    assert judged(candidate(content(tags=("z",))), [newer, older]).verdict.version_id == older.version.id


def test_a_twin_in_another_scope_is_not_this_one():
    elsewhere = stored(scope=Scope(Level.PROJECT, "other"))
    found = judged(known=[elsewhere])
    assert found.verdict.relation is Relation.NEW
    assert found.skill
    assert found.skill.scope == PROJECT


def test_a_composite_is_not_swallowed_by_its_part():
    composite = content(
        name="add-and-push", sub_skills=("add-a-migration", "push"), steps=(*MIGRATE, *bash_steps("git push"))
    )
    assert judged(candidate(composite), [stored()]).verdict.relation is Relation.NEW


@pytest.mark.parametrize("policy", [OPEN, STANDARD, STRICT])
def test_a_rejected_content_does_not_come_back(policy):
    found = judged(known=[stored(status=Status.REJECTED)], policy=policy)
    assert (found.verdict.decision, found.version) == (GateDecision.REJECT, None)
    assert "rejected_before" in found.verdict.reasons


def test_nor_does_it_come_back_in_other_words():
    repeated = candidate(content(description="Add a database migration and then run it"))
    assert judged(repeated, [stored(status=Status.REJECTED)], policy=OPEN).verdict.decision is GateDecision.REJECT


def test_what_is_only_like_something_rejected_waits_for_a_person_and_takes_nothing_from_it():
    refused = stored(content(body="Never do this."), status=Status.REJECTED)
    found = judged(candidate(LONGER), [refused], policy=OPEN)
    assert (found.verdict.decision, found.verdict.relation) == (GateDecision.HOLD, Relation.NEW)
    assert "rejected_before" in found.verdict.reasons
    assert found.version
    assert found.version.content == dataclasses.replace(LONGER, name="add-a-migration-2")
    assert found.skill
    assert found.skill.id != refused.skill.id


def test_a_persons_edit_is_taken_as_it_is():
    known = stored()
    edited = content(description="My words", steps=MIGRATE[:1])
    found = judged(
        candidate(edited, revises=known.skill.id, assessment=None, by="ann", parents=(known.version.id,)), [known]
    )
    assert found.version
    assert found.version.content == edited
    assert found.skill == known.skill
    assert found.version.parents == (known.version.id,)
    assert found.transition
    assert found.transition.by == "ann"


def test_an_edit_of_a_rejected_skill_is_a_new_version_of_it():
    known = stored(status=Status.REJECTED)
    edited = content(description="My words")
    found = judged(candidate(edited, revises=known.skill.id, assessment=None), [known])
    assert (found.verdict.decision, found.skill) == (GateDecision.HOLD, known.skill)


def test_an_edit_that_changes_nothing_is_no_version():
    known = stored()
    assert judged(candidate(revises=known.skill.id, assessment=None), [known]).version is None


def test_a_revision_belongs_to_the_newest_version_of_its_skill():
    first = stored(sequence=1)
    second = stored(LONGER, skill=first.skill, sequence=2)
    found = judged(candidate(LONGER, revises=first.skill.id, assessment=None), [second, first])
    assert found.verdict.version_id == second.version.id


def test_a_merged_version_has_the_lower_origin_of_both_sides_at_the_right_step():
    known = stored(content(steps=bash_steps("make build", "make test", "git push")), origins={"steps.1": Origin.USER})
    steps = bash_steps("make build", "make lint", "make test", "git push")
    agents = dict.fromkeys(filled_fields(content(steps=steps)), Origin.OPERATOR)
    newcomer = candidate(content(steps=steps), origins={**agents, "steps.1": Origin.EXTERNAL})
    found = judged(newcomer, [known])
    assert found.version
    assert found.version.content.steps[1].arguments["command"] == "make lint"
    assert found.version.origins["steps.1"] is Origin.EXTERNAL
    assert found.version.origins["steps.2"] is Origin.USER
    assert found.version.origins["steps.3"] is Origin.EXTERNAL, "nobody said where the known one had it from"


def test_an_external_origin_is_not_washed_off_by_merging_again():
    origins = {"name": Origin.AGENT, "body": Origin.EXTERNAL}
    first = judged(candidate(LONGER, origins=origins), [stored()]).version
    assert first
    assert first.lowest_origin is Origin.EXTERNAL
    held = stored(first.content, origins=first.origins, skill=stored().skill, sequence=2)
    longer = content(steps=(*LONGER.steps, *bash_steps("git tag v1")))
    second = judged(candidate(longer, origins={"name": Origin.AGENT, "body": Origin.AGENT}), [held], policy=OPEN)
    assert second.version
    assert second.version.lowest_origin is Origin.EXTERNAL
    assert second.verdict.decision is GateDecision.HOLD


def test_merging_with_something_set_apart_does_not_let_it_out():
    hidden = stored(content(body="a\u202eb"), status=Status.QUARANTINED)
    found = judged(candidate(LONGER), [hidden], policy=OPEN)
    assert found.version
    assert "\u202e" in found.version.content.body
    assert found.verdict.decision is GateDecision.QUARANTINE


def test_a_merged_version_rests_on_the_spans_of_both_sides():
    here, there = Span("t_0", 3), Span("t_1", 5)
    known = stored(content(steps=bash_steps("make build", "make test", "git push")))
    version = dataclasses.replace(known.version, provenance=Provenance(grounding={"steps.1": (here,), "body": (here,)}))
    known = dataclasses.replace(known, version=version)
    steps = bash_steps("make build", "make lint", "make test", "git push")
    grounding = {"steps.2": (there,), "steps.2.arguments": (there,), "body": (here, there)}
    found = judged(candidate(content(steps=steps), provenance=Provenance(grounding=grounding)), [known])
    assert found.version
    assert found.version.provenance.grounding == {
        "steps.2": (here, there),
        "steps.2.arguments": (there,),
        "body": (here, there),
    }


@pytest.mark.parametrize("by_newcomer", [True, False])
def test_a_models_words_are_marked_in_a_merged_version_whichever_side_brought_them(by_newcomer):
    worded = Provenance(trajectory_ids=("t_1",), model="test:model", prompt_version="wording-1")
    known = stored()
    if not by_newcomer:
        known = dataclasses.replace(known, version=dataclasses.replace(known.version, provenance=worded, id=""))
    newcomer = candidate(LONGER, **({"provenance": worded} if by_newcomer else {}))
    judgement = judged(newcomer, [known], policy=OPEN)
    assert judgement.verdict.relation is Relation.MERGE
    assert judgement.version is not None
    made = judgement.version.provenance
    assert (made.model, made.prompt_version) == ("test:model", "wording-1")
    assert "model_wording" in judgement.verdict.reasons
    assert judgement.verdict.decision is GateDecision.HOLD


def test_every_verdict_names_the_policy_it_was_made_under():
    assert judged().verdict.policy_hash != judged(policy=OPEN).verdict.policy_hash
    assert judged().verdict == judged().verdict


def test_a_trajectory_that_yields_nothing_gets_its_reasons_recorded():
    reasons = [Finding(rule="too_short", message="one step")]
    verdict = rejection(reasons, trajectory_id="t_9", name="say hello", policy=STANDARD, at=NOW)
    assert (verdict.decision, verdict.relation) == (GateDecision.REJECT, Relation.NONE)
    assert (verdict.trajectory_ids, verdict.reasons, verdict.name) == (("t_9",), ("too_short",), "say hello")


def test_a_new_skill_gets_a_name_that_no_other_has():
    known = stored()
    other = content(description="Something else entirely, about payroll letters.", steps=LONGER.steps[:0])
    found = judged(candidate(dataclasses.replace(other, kind=Kind.REFERENCE), assessment=None), [known])
    assert found.version
    assert found.version.name == "add-a-migration-2"


def test_a_rewritten_sentence_over_an_unchanged_call_is_pointed_out():
    known = stored()
    first = known.version.content.steps[0]
    edited = dataclasses.replace(
        known.version.content,
        steps=(dataclasses.replace(first, text="Something new"), *known.version.content.steps[1:]),
    )
    found = judged(candidate(edited, revises=known.skill.id, assessment=None, by="ann"), [known])
    assert "edited_sentence" in found.verdict.reasons


def test_what_is_in_use_word_for_word_is_confirmed_though_too_short_to_be_learned():
    short = content(steps=MIGRATE[:1])
    assert judged(candidate(short)).verdict.decision is GateDecision.REJECT
    known = stored(short)
    found = judged(candidate(short), [known])
    assert (found.verdict.relation, found.verdict.version_id) == (Relation.REINFORCE, known.version.id)
    assert "too_simple_0_steps" not in found.verdict.reasons
    waiting = stored(short, status=Status.CANDIDATE)
    assert judged(candidate(short), [waiting]).verdict.decision is GateDecision.REJECT
