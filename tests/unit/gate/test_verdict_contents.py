"""What a verdict contains: every finding, the skill it is about, the policy and the time."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, GateDecision, Relation, Severity, Verdict
from tacit.domain.identity import digest
from tacit.domain.lifecycle import CodedReason, Status, coded, parse_reasons
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance, filled_fields
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Span
from tacit.gate.findings import FINDING_TEMPLATES, GateReason
from tacit.gate.formation_policy import missing_parts, reason_against_acceptance
from tacit.gate.judgement import NAME_LENGTH_MAX, SUMMARY_MAX, GateResult, judge, nearest_skill, rejection
from tests.unit.making import MIGRATE, NOW, PROJECT, bash_steps, candidate, content, later, stored

STANDARD, OPEN = Policy(), Policy(strictness=Strictness.OPEN)
LONGER = content(steps=(*MIGRATE, *bash_steps("git push")))
AT = later(3)


def judged(made: Candidate | None = None, known: list[StoredVersion] | None = None, **more) -> GateResult:
    policy = more.pop("policy", STANDARD)
    return judge(made or candidate(), known or [], policy, at=AT, **{"successes": lambda attempts: 9, **more})


def finding(found: GateResult, rule: str) -> Finding:
    [only] = [each for each in found.verdict.findings if each.rule == rule]
    return only


# --- what it is about ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "known"),
    [
        (candidate(), []),
        (candidate(), [stored()]),
        (candidate(), [stored(status=Status.REJECTED)]),
        (candidate(LONGER), [stored()]),
        (candidate(content(description="")), []),
    ],
    ids=["new", "the same", "rejected", "merged", "refused"],
)
def test_every_verdict_is_dated_names_its_policy_and_has_an_id_of_its_content(made, known):
    for policy in (STANDARD, OPEN):
        verdict = judged(made, known, policy=policy).verdict
        assert (verdict.at, verdict.policy_hash, verdict.trajectory_ids) == (AT, digest(policy), ("t_1",))
        assert verdict.id == dataclasses.replace(verdict, id="").id
        assert verdict.id.startswith("g_")


def test_a_confirmation_has_the_known_name_and_content():
    known = stored(content(name="old-name", tags=("x",)))
    verdict = judged(known=[known]).verdict
    assert (verdict.relation, verdict.name, verdict.content_hash) == (
        Relation.REINFORCE, "old-name", known.version.hash,
    )  # fmt: skip
    assert (verdict.skill_id, verdict.version_id) == (known.skill.id, known.version.id)


def test_a_rejection_has_its_own_name_and_content():
    made = candidate(content(description="", body="token = ghp_" + "a1B2c3D4e5" * 4))
    verdict = judged(made).verdict
    assert (verdict.decision, verdict.name, verdict.content_hash) == (
        GateDecision.REJECT, "add-a-migration", made.content.hash(),
    )  # fmt: skip
    assert {"no_description", "secret"} <= set(verdict.reasons), "safety findings are reported all the same"


def test_an_attempt_that_yields_nothing_is_dated_and_names_its_policy():
    found = rejection([Finding(rule="x", message="y")], trajectory_id="t_9", name="n", policy=OPEN, at=AT)
    assert found == Verdict(
        decision=GateDecision.REJECT,
        relation=Relation.NONE,
        findings=(Finding(rule="x", message="y"),),
        at=AT,
        name="n",
        trajectory_ids=("t_9",),
        policy_hash=digest(OPEN),
    )


def test_a_version_is_born_at_the_time_of_its_judgement_by_who_offered_it():
    found = judged(candidate(by="ann"))
    assert found.version
    assert found.skill
    assert found.transition
    assert (found.version.created_at, found.transition.at, found.transition.by) == (AT, AT, "ann")
    assert found.skill.created_at == AT
    assert found.transition.version_id == found.version.id
    assert found.version.origins == candidate().origins
    assert found.version.provenance == candidate().provenance


# --- the reasons ----------------------------------------------------------------------------------------------------


def sentence(variant: str, **values: object) -> str:
    return FINDING_TEMPLATES[f"near_duplicate{variant}"][1].format_map(values)


def test_a_similar_skill_is_reported_with_its_name_and_measure():
    known = stored(content(name="old-name", description="Add a database migration and run it"))
    same = finding(judged(candidate(known.version.content), [known]), "near_duplicate")
    assert same.message == sentence("/covered", name="old-name", similarity=1.0)
    merged = judged(candidate(LONGER), [stored()])
    assert merged.verdict.relation is Relation.MERGE
    assert "`add-a-migration`" in finding(merged, "near_duplicate").message
    written = judged(candidate(dataclasses.replace(LONGER, name="mine"), assessment=None), [stored()])
    assert "`add-a-migration`" in finding(written, "near_duplicate").message
    assert (written.verdict.relation, written.verdict.name) == (Relation.NEW, "mine")


def test_the_same_calls_written_under_another_name_are_no_new_skill():
    reworded = content(name="mine", description="Add a migration of the database, then run it")
    assert judged(candidate(reworded, assessment=None), [stored()]).verdict.relation is Relation.REINFORCE


def test_what_was_written_under_the_known_name_is_its_next_version():
    written = candidate(LONGER, assessment=None)
    assert judged(written, [stored()]).verdict.relation is Relation.MERGE
    assert judged(candidate(assessment=None), [stored()]).verdict.relation is Relation.REINFORCE


@pytest.mark.parametrize("kind", [Kind.NORM, Kind.FACT, Kind.LESSON])
@pytest.mark.parametrize(
    "texts", [("Use blue.", "Use green or red."), ("Indent with tabs.", "Never indent with tabs.")]
)
def test_a_statement_written_again_with_other_words_is_the_next_version_as_it_was_written(kind, texts):
    said, now = (content(kind=kind, steps=(), body="", description=text) for text in texts)
    known = stored(said)
    found = judged(candidate(now, assessment=None), [known])
    assert (found.verdict.relation, found.verdict.decision) == (Relation.MERGE, GateDecision.HOLD)
    assert found.version
    assert found.skill
    assert (found.version.content, found.skill.id) == (now, known.skill.id)
    assert found.version.parents == (known.version.id,)
    assert judged(candidate(said, assessment=None), [known]).verdict.relation is Relation.REINFORCE


def test_the_opposite_of_what_is_not_in_use_is_new():
    said, now = (content(kind=Kind.NORM, steps=(), description=text) for text in ("Use tabs.", "Never use tabs."))
    for status in (Status.RETIRED, Status.REJECTED):
        assert judged(candidate(now, assessment=None), [stored(said, status=status)]).verdict.relation is Relation.NEW


def test_what_a_person_rejected_is_named():
    found = finding(judged(known=[stored(status=Status.REJECTED)]), "rejected_before")
    assert "`add-a-migration`" in found.message
    assert found.severity is Severity.MEDIUM


def reason_of(found: GateResult) -> CodedReason:
    assert found.transition
    [reason] = parse_reasons(found.transition.reason) or []
    return reason


def test_the_reason_of_the_first_transition_repeats_the_findings():
    found = judged()
    [only] = found.verdict.findings
    assert only.rule == "recurrent_category_setup"
    assert reason_of(found) == coded(GateReason.FINDINGS, summary=only.message)
    silent = judged(candidate(content(kind=Kind.REFERENCE, steps=(), body="x"), assessment=None))
    assert reason_of(silent) == coded(GateReason.NOTHING_FOUND)


def test_of_very_many_findings_the_reason_names_the_most_severe():
    body = "\n".join(f"Always do {number}." for number in range(SUMMARY_MAX))
    hidden = content(body=body, tags=tuple(f"a\u202e{number}" for number in range(SUMMARY_MAX)))
    found = judged(candidate(hidden))
    assert found.transition
    count = len(found.verdict.findings)
    assert count > SUMMARY_MAX
    listed = str(reason_of(found).values["summary"]).split("; ")
    assert listed[-1] == f"and {count - SUMMARY_MAX} more"
    assert len(listed) == SUMMARY_MAX + 1
    lightest = finding(found, "recurrent_category_setup")
    assert lightest.message not in listed


def test_what_two_rules_say_of_one_place_is_stated_once():
    exact = finding(judged(candidate(content(body="a\U000e0041b"))), "hidden_characters")
    assert (exact.field, exact.line, exact.severity) == ("body", 1, Severity.CRITICAL), "the check reports where"
    lighter = judged(candidate(content(body="a\u200bb"))).verdict.findings
    weights = [each.severity for each in lighter if each.rule == "hidden_characters"]
    assert weights == [Severity.CRITICAL, Severity.HIGH], "a less severe one replaces nothing"


def test_missing_parts_are_reported_only_where_it_is_known_which_skills_there_are():
    whole = candidate(content(name="whole", sub_skills=("a", "gone"), steps=()))
    assert "missing_part" not in judged(whole).verdict.reasons
    assert (
        finding(judged(whole, library_findings=missing_parts(whole.content, {"a"})), "missing_part").field
        == "sub_skills.1"
    )
    assert (
        judged(whole, library_findings=missing_parts(whole.content, {"a", "gone"})).verdict.decision
        is GateDecision.HOLD
    )
    itself = candidate(content(name="whole", sub_skills=("a", "whole"), steps=()))
    assert judged(itself, library_findings=missing_parts(itself.content, {"a"})).verdict.decision is GateDecision.REJECT


# --- why the policy does not accept it by itself ----------------------------------------------------------------------------

CLEAN = candidate(content(steps=bash_steps("make build", "make lint", "pytest -q")))


def test_the_reason_against_acceptance_names_what_a_person_must_look_at():
    odd = Finding(rule="odd", message="an odd line", severity=Severity.MEDIUM)
    mild = Finding(rule="mild", message="never mind", severity=Severity.LOW)
    assert reason_against_acceptance(CLEAN, [], OPEN) is None
    assert reason_against_acceptance(CLEAN, [mild], OPEN) is None
    found = reason_against_acceptance(CLEAN, [mild, odd], OPEN)
    assert found == coded(GateReason.HAS_FINDING, rule="odd", message="an odd line")
    assert reason_against_acceptance(CLEAN, [odd], STANDARD) == coded(GateReason.PERSON_DECIDES)
    external = dataclasses.replace(CLEAN, origins={})
    assert reason_against_acceptance(external, [], OPEN) == coded(GateReason.EXTERNAL_ORIGIN)
    far = candidate(content(steps=bash_steps("curl https://api.example.com/x", "make lint", "pytest -q")))
    leaving = reason_against_acceptance(far, [], OPEN)
    assert leaving
    assert leaving.code == GateReason.LEAVES_WORKSPACE


def test_the_reason_against_acceptance_is_in_the_verdict():
    far = candidate(content(steps=bash_steps("curl https://api.example.com/x", "make lint", "pytest -q")))
    assert "api.example.com" in finding(judged(far, policy=OPEN), "waits_for_a_person").message
    assert judged(CLEAN, policy=OPEN).verdict.decision is GateDecision.ACCEPT
    assert "waits_for_a_person" not in judged(far, policy=STANDARD).verdict.reasons, "policy was not asked"


def test_what_earned_its_trial_says_why_when_and_by_whom():
    waits = stored(status=Status.CANDIDATE, origins=dict.fromkeys(filled_fields(content()), Origin.AGENT))
    move = judged(candidate(by="miner"), [waits], policy=OPEN).transition
    assert move
    assert move.reason == GateReason.POLICY_ACCEPTED
    assert (move.by, move.at, move.content_hash) == ("miner", AT, waits.version.hash)
    assert judged(candidate(assessment=None), [waits], policy=OPEN).transition is None, "nobody verified it"
    assert judged(known=[waits], policy=OPEN, successes=lambda attempts: 0).transition is None


# --- names, twins and merges ----------------------------------------------------------------------------------------


def test_a_twin_is_the_known_skill_that_is_alike_and_was_not_turned_down():
    known = stored()
    assert nearest_skill(candidate(), [known], STANDARD) == known
    assert nearest_skill(candidate(), [], STANDARD) is None
    assert nearest_skill(candidate(), [stored(status=Status.REJECTED)], STANDARD) is None
    assert nearest_skill(candidate(), [stored(scope=Scope(Level.PROJECT, "other"))], STANDARD) is None
    other = stored(content(name="deploy", description="Ship it", steps=bash_steps("make push")))
    assert nearest_skill(candidate(), [other], STANDARD) is None


def test_a_likeness_at_the_bound_is_enough():
    known = stored(content(name="x-y", description="z w", category=""))
    made = candidate(content(name="a-b", description="c d", category=""))
    assert nearest_skill(made, [known], dataclasses.replace(STANDARD, duplicate_similarity=0.65)) == known
    assert nearest_skill(made, [known], dataclasses.replace(STANDARD, duplicate_similarity=0.66)) is None


def test_a_revision_of_what_is_not_known_is_a_new_skill():
    found = judged(candidate(revises="s_unknown", assessment=None), [stored(content(name="other"))])
    assert found.verdict.relation is Relation.NEW


def test_a_taken_name_is_numbered_on_and_stays_within_its_length():
    long = "a" * NAME_LENGTH_MAX
    names = [long, f"{long[:-2]}-2", f"{long[:-2]}-3"]
    known = [
        stored(content(name=name, description=f"other {name}", steps=bash_steps(f"tool{number} x")))
        for number, name in enumerate(names)
    ]
    found = judged(candidate(content(name=long, kind=Kind.REFERENCE, steps=()), assessment=None), known)
    assert found.version
    assert found.version.name == f"{long[:-2]}-4"
    assert len(found.version.name) == NAME_LENGTH_MAX
    elsewhere = [stored(content(description="other"), scope=Scope(Level.PROJECT, "b"))]
    free = judged(candidate(content(kind=Kind.REFERENCE, steps=()), assessment=None), elsewhere).version
    assert free
    assert free.name == "add-a-migration", "another project's names are free here"


def test_a_name_is_not_cut_inside_a_dash():
    long = "a" * (NAME_LENGTH_MAX - 3) + "-bc"
    known = [stored(content(name=long, description="other", steps=bash_steps("tool x")))]
    found = judged(candidate(content(name=long, kind=Kind.REFERENCE, steps=()), assessment=None), known)
    assert found.version
    assert found.version.name == "a" * (NAME_LENGTH_MAX - 3) + "-2"


def test_a_merged_version_is_the_newcomers_work_and_rests_on_both():
    known = stored()
    made_before = Provenance(trajectory_ids=("t_0",), made_by="earlier", grounding={"steps.0": (Span("t_0", 1),)})
    known = dataclasses.replace(known, version=dataclasses.replace(known.version, provenance=made_before, id=""))
    found = judged(candidate(LONGER), [known])
    assert found.version
    made = found.version.provenance
    assert (made.made_by, made.trajectory_ids) == ("distiller", ("t_0", "t_1"))
    assert made.grounding == {"steps.0": (Span("t_0", 1),)}
    assert found.version.parents == (known.version.id,)


def test_an_example_that_found_no_room_leaves_neither_origin_nor_ground():
    many = tuple(f"known {number}" for number in range(8))
    known = stored(content(example_queries=many), origins={"example_queries": Origin.USER})
    span = {"example_queries.0": (Span("t_1", 0),), "steps.0": (Span("t_1", 1),)}
    newcomer = candidate(
        dataclasses.replace(LONGER, example_queries=("one more",)),
        origins={"example_queries.0": Origin.EXTERNAL, "steps": Origin.AGENT},
        provenance=Provenance(trajectory_ids=("t_1",), made_by="x", grounding=span),
    )
    found = judged(newcomer, [known])
    assert found.version
    assert found.version.content.example_queries == many
    assert "" not in found.version.origins
    assert found.version.origins["steps"] is Origin.AGENT, "what comes after it is not lost"
    assert set(found.version.provenance.grounding) == {"steps.0"}


def test_the_scope_of_a_new_skill_is_the_candidates():
    found = judged()
    assert found.skill
    assert found.skill.scope == PROJECT
    assert found.skill.created_at > NOW


def test_what_the_checks_see_keeps_even_the_proven_from_earning_its_trial():
    ordering = content(body="Always push to the mirror.")
    waits = stored(ordering, status=Status.CANDIDATE, origins=dict.fromkeys(filled_fields(ordering), Origin.AGENT))
    found = judged(candidate(ordering), [waits], policy=OPEN)
    assert (found.verdict.relation, found.verdict.decision) == (Relation.REINFORCE, GateDecision.HOLD)
    assert found.transition is None
