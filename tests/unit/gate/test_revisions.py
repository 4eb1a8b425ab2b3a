"""A later description of a mined skill replaces the earlier one, and a person's edit is never lost unseen."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from typing import Any

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, GateDecision, Relation, Severity
from tacit.domain.lifecycle import Status
from tacit.domain.skill import (
    READ_INSTRUCTIONS,
    Case,
    Condition,
    Cue,
    Parameter,
    Pitfall,
    Provenance,
    Skill,
    SkillContent,
    SkillStep,
    SkillVersion,
    filled_fields,
)
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Span
from tacit.gate.findings import finding
from tacit.gate.judgement import GateResult, changed_step_texts, judge
from tests.unit.making import MIGRATE, NOW, PROJECT, candidate, content, stored

OPEN = Policy(strictness=Strictness.OPEN)
STOPPED = Condition(text="the feed stopped", reading="read_sensor", key="Feed", relation="is", value="stopped")
SLOW = dataclasses.replace(STOPPED, text="the feed is slow", value="slow")
RESTART = SkillStep(text="Restart it", tool="restart_feed", arguments={"feed": "{feed}"})
FIRST = content(
    name="restart-the-feed",
    description="Restart the feed. Part of 3 of 5 successful attempts.",
    category="",
    steps=(RESTART,),
    cases=(Case(conditions=(STOPPED,), support=3),),
    cues=(Cue(term="feed", weight=1.5), Cue(term="battery", weight=-0.5)),
    pitfalls=(Pitfall(text="battery empty", kind="order", step=0, count=1),),
    parameters=(Parameter(name="feed", reading="read_sensor", key="feed"),),
    after=("charge-the-battery",),
    body="Found by counting.",
)
SKILL = Skill.create(FIRST, PROJECT, at=NOW)
MINING = "tacit.mining/1"


def version(
    made: SkillContent, *, by: str = MINING, status: Status = Status.TRIAL, sequence: int = 1, model: str = ""
) -> StoredVersion:
    made_by = SkillVersion(
        skill_id=SKILL.id,
        content=made,
        origins={"description": Origin.AGENT, "body": Origin.USER, "cases.0": Origin.EXTERNAL},
        provenance=Provenance(made_by=by, model=model, grounding={"body": (Span("t_0", 1),)}),
        created_at=NOW,
    )
    return StoredVersion(skill=SKILL, version=made_by, status=status, sequence=sequence)


def mined(made: SkillContent, **fields: Any) -> Candidate:
    provenance = Provenance(
        trajectory_ids=("t_1", "t_2", "t_3"), made_by=MINING, grounding={"cases.0": (Span("t_1", 2),)}
    )
    origins = {"name": Origin.AGENT, "steps.0": Origin.AGENT, "cases.0": Origin.AGENT, "cues": Origin.USER}
    return candidate(made, **{"provenance": provenance, "revises": SKILL.id, "origins": origins, **fields})


def judged(made: SkillContent, known: list[StoredVersion], *, policy: Policy = OPEN) -> GateResult:
    return judge(mined(made), known, policy, at=NOW)


COUNTED = dataclasses.replace(
    FIRST,
    description="Restart the feed. Part of 7 of 9 successful attempts.",
    cases=(Case(conditions=(STOPPED,), support=7, against=1),),
    cues=(Cue(term="battery", weight=-0.75), Cue(term="feed", weight=2.25)),
    pitfalls=(dataclasses.replace(FIRST.pitfalls[0], count=4),),
    parameters=(dataclasses.replace(FIRST.parameters[0], example="F-7"),),
    example_queries=("my feed stands still",),
)
SECOND = dataclasses.replace(
    COUNTED,
    cases=(Case(conditions=(SLOW,), support=4), Case(conditions=(STOPPED,), support=7)),
    pitfalls=(),
    after=(),
    body="Found by counting again.",
)


def test_what_differs_in_its_counts_alone_is_no_version_to_review() -> None:
    known = version(FIRST)
    found = judged(COUNTED, [known])
    assert (found.verdict.relation, found.version) == (Relation.REINFORCE, None)
    assert found.verdict.version_id == known.version.id
    assert "counted_again" in found.verdict.reasons


@pytest.mark.parametrize(
    "change",
    [
        {"cases": (Case(conditions=(SLOW,), support=3),)},
        {"cues": (*FIRST.cues, Cue(term="sensor", weight=1.0))},
        {"cues": (Cue(term="feed", weight=-1.5), FIRST.cues[1])},
        {"pitfalls": ()},
        {"after": ()},
        {"parameters": (dataclasses.replace(FIRST.parameters[0], key="feeds[].id"),)},
        {"steps": (dataclasses.replace(RESTART, arguments={"feed": "F-1"}),)},
        {"postconditions": (STOPPED,)},
    ],
    ids=["cases", "a new word", "a word turned round", "pitfalls", "order", "place of a value", "steps", "check"],
)
def test_what_says_something_else_is_the_next_version(change: dict[str, Any]) -> None:
    found = judged(dataclasses.replace(FIRST, **change), [version(FIRST)])
    assert found.verdict.relation is Relation.MERGE
    assert found.version


def test_the_later_account_replaces_the_earlier_one_rather_than_joining_it() -> None:
    found = judged(dataclasses.replace(SECOND, name="another-name"), [version(FIRST)])
    assert found.version
    assert found.version.content == SECOND, "all but the name, by which others know it"
    assert found.skill == SKILL
    assert found.version.parents == (version(FIRST).version.id,)
    stated = {"steps.0": Origin.AGENT, "cases.0": Origin.AGENT, "cues": Origin.USER}
    assert stated.items() <= found.version.origins.items()
    unsaid = {origin for path, origin in found.version.origins.items() if path not in stated}
    assert unsaid == {Origin.EXTERNAL}, "of these nobody said who wrote them"
    assert found.version.provenance.grounding == {"cases.0": (Span("t_1", 2),)}


def test_what_mining_does_not_speak_of_stays() -> None:
    known = dataclasses.replace(FIRST, license="MIT", portable=True, metadata={"author": "Ann"})
    found = judged(SECOND, [version(known)])
    assert found.version
    assert found.version.content == dataclasses.replace(SECOND, license="MIT", portable=True, metadata=known.metadata)


def test_a_persons_edit_is_not_replaced_unseen() -> None:
    edit = dataclasses.replace(FIRST, description="Ann's words", steps=(dataclasses.replace(RESTART, text="Ann's"),))
    found = judged(SECOND, [version(FIRST), version(edit, by="ann", sequence=2)])
    assert found.version
    assert found.transition
    assert (found.verdict.decision, found.transition.after) == (GateDecision.HOLD, Status.CANDIDATE)
    [finding] = [each for each in found.verdict.findings if each.rule == "replaces_an_edit"]
    assert finding.severity is Severity.MEDIUM
    assert "`ann`" in finding.message
    assert re.search(r"\bsteps, cases, pitfalls, after\b", finding.message)
    assert found.version.content.description == "Ann's words", "mining has nothing better to offer"
    assert found.version.content.body == FIRST.body
    assert found.version.content.cases == SECOND.cases
    assert found.version.origins["body"] is Origin.USER
    assert found.version.provenance.grounding["body"] == (Span("t_0", 1),)


def test_without_an_edit_the_open_dial_admits_it() -> None:
    agents = dict.fromkeys(filled_fields(SECOND), Origin.AGENT)
    spans = {path: (Span("t_1", 2), Span("t_2", 2)) for path in agents}
    whole = mined(SECOND)
    proven = dataclasses.replace(
        whole, origins=agents, provenance=dataclasses.replace(whole.provenance, grounding=spans)
    )
    held = version(FIRST)
    known = dataclasses.replace(held, version=dataclasses.replace(held.version, origins=agents))
    assert judge(proven, [known], OPEN, at=NOW, successes=len).verdict.decision is GateDecision.ACCEPT
    assert judge(proven, [held], OPEN, at=NOW, successes=len).verdict.decision is GateDecision.HOLD, (
        "of some nobody knows"
    )


def test_an_edit_still_counts_while_a_mined_version_over_it_waits() -> None:
    edit = version(dataclasses.replace(FIRST, description="Ann's words"), by="ann", sequence=2)
    waiting = judged(SECOND, [version(FIRST), edit]).version
    assert waiting
    held = version(waiting.content, status=Status.CANDIDATE, sequence=3)
    third = dataclasses.replace(SECOND, after=("look-at-the-lamp",))
    found = judged(third, [version(FIRST), edit, held])
    assert found.version
    assert found.version.content.description == "Ann's words"
    assert found.verdict.decision is GateDecision.HOLD
    assert "replaces_an_edit" in found.verdict.reasons
    assert judged(SECOND, [version(FIRST), edit, held]).verdict.relation is Relation.REINFORCE


@pytest.mark.parametrize("status", [Status.TRIAL, Status.TRUSTED])
def test_an_edit_is_settled_once_a_person_has_approved_what_replaced_it(status: Status) -> None:
    edit = version(dataclasses.replace(FIRST, description="Ann's words"), by="ann", sequence=2)
    approved = version(dataclasses.replace(SECOND, description="Ann's words"), status=status, sequence=3)
    found = judged(FIRST, [edit, approved])
    assert "replaces_an_edit" not in found.verdict.reasons
    assert found.version
    assert found.version.content == FIRST


@pytest.mark.parametrize("status", [Status.REJECTED, Status.RETIRED])
def test_an_edit_that_was_turned_down_binds_nobody(status: Status) -> None:
    edit = version(dataclasses.replace(FIRST, description="no"), by="ann", sequence=2, status=status)
    assert "replaces_an_edit" not in judged(SECOND, [version(FIRST), edit]).verdict.reasons


def test_what_a_person_turned_down_does_not_come_back_with_other_counts() -> None:
    refused = version(COUNTED, status=Status.REJECTED, sequence=2)
    found = judged(dataclasses.replace(FIRST, body="x"), [version(SECOND), refused])
    assert (found.verdict.decision, found.version) == (GateDecision.REJECT, None)
    assert "rejected_before" in found.verdict.reasons


def test_the_words_of_a_language_model_outlive_a_pass_without_one() -> None:
    reported = version(dataclasses.replace(FIRST, description="Told well"), model="m")
    found = judged(SECOND, [reported])
    assert found.version
    assert found.version.content.description == "Told well"


def test_a_revision_by_anybody_else_is_taken_as_it_is() -> None:
    edit = candidate(SECOND, revises=SKILL.id, assessment=None, provenance=Provenance(made_by="ann"), by="ann")
    found = judge(edit, [version(FIRST)], OPEN, at=NOW)
    assert found.version
    assert found.version.content == SECOND
    assert found.verdict.decision is GateDecision.HOLD


def test_secrets_in_what_a_person_kept_still_set_it_apart() -> None:
    edit = version(dataclasses.replace(FIRST, body="token = ghp_" + "a1B2c3D4e5" * 4), by="ann", sequence=2)
    assert judged(SECOND, [edit]).verdict.decision is GateDecision.QUARANTINE


def test_a_finding_about_an_edit_names_the_first_field_it_would_replace() -> None:
    edit = version(dataclasses.replace(FIRST, after=()), by="ann", sequence=2)
    [finding] = [each for each in judged(FIRST, [edit]).verdict.findings if each.rule == "replaces_an_edit"]
    assert finding.field == "after"
    assert "`ann`" in finding.message


def test_one_more_tool_around_is_no_news() -> None:
    around = dataclasses.replace(FIRST, surroundings=("restart_feed", "look"))
    assert judged(around, [version(FIRST)]).verdict.relation is Relation.REINFORCE


def test_a_word_that_weighs_nothing_speaks_against() -> None:
    heavier = dataclasses.replace(FIRST, cues=(Cue(term="feed", weight=0.5), FIRST.cues[1]))
    assert judged(heavier, [version(FIRST)]).verdict.relation is Relation.REINFORCE
    nothing = dataclasses.replace(FIRST, cues=(Cue(term="feed", weight=0.0), FIRST.cues[1]))
    assert judged(nothing, [version(FIRST)]).verdict.relation is Relation.MERGE


def test_another_pitfall_is_news() -> None:
    other = dataclasses.replace(FIRST, pitfalls=(dataclasses.replace(FIRST.pitfalls[0], text="lamp off"),))
    assert judged(other, [version(FIRST)]).verdict.relation is Relation.MERGE


@pytest.mark.parametrize(("theirs", "ours", "kept"), [("m", "", "m"), ("m", "n", "n"), ("", "n", "n"), ("", "", "")])
def test_the_model_that_worded_what_stands_is_named(theirs: str, ours: str, kept: str) -> None:
    known = version(FIRST, model=theirs)
    newer = mined(SECOND)
    worded = dataclasses.replace(newer.provenance, model=ours, prompt_version=f"by-{ours}")
    found = judge(dataclasses.replace(newer, provenance=worded), [known], OPEN, at=NOW).version
    assert found
    assert found.provenance.model == kept
    assert found.provenance.prompt_version == (f"by-{ours}" if ours else "")
    assert (found.content.description == SECOND.description) is (bool(ours) or not theirs)


def test_what_was_retired_is_not_brought_back_unseen() -> None:
    retired = version(FIRST, status=Status.RETIRED)
    found = judged(SECOND, [retired])
    [retired_before] = [each for each in found.verdict.findings if each.rule == "retired_before"]
    assert "`restart-the-feed`" in retired_before.message
    assert retired_before.severity is Severity.MEDIUM
    used = version(dataclasses.replace(FIRST, after=()), sequence=2)
    assert "retired_before" not in judged(SECOND, [retired, used]).verdict.reasons, "it is in use again"
    waits = version(FIRST, status=Status.CANDIDATE)
    assert "retired_before" not in judged(SECOND, [waits]).verdict.reasons


def test_a_description_without_news_is_counted_and_dated() -> None:
    found = judged(COUNTED, [version(FIRST)])
    assert "counted_again" in found.verdict.reasons
    assert found.verdict.at == NOW
    assert found.verdict.policy_hash == judged(SECOND, [version(FIRST)]).verdict.policy_hash


def test_the_same_description_as_an_older_version_is_a_new_version() -> None:
    found = judged(FIRST, [version(FIRST), version(SECOND, sequence=2)])
    assert found.verdict.relation is Relation.MERGE
    assert found.version
    assert found.version.parents == (version(SECOND, sequence=2).version.id,)
    assert found.version.created_at == NOW


@pytest.mark.parametrize("sides", [(True, True), (True, False), (False, True), (False, False)])
def test_words_that_reported_a_reader_what_to_do_are_remembered_of_both_accounts(sides: tuple[bool, bool]) -> None:
    ours, theirs = Span("t_1", 4, "observation"), Span("t_0", 2, "observation")
    newer, held = mined(SECOND), version(FIRST)
    if sides[0]:
        reported = {**newer.provenance.grounding, READ_INSTRUCTIONS: (ours,)}
        newer = dataclasses.replace(newer, provenance=dataclasses.replace(newer.provenance, grounding=reported))
    if sides[1]:
        heard = dataclasses.replace(held.version.provenance, grounding={READ_INSTRUCTIONS: (theirs, ours)})
        held = dataclasses.replace(held, version=dataclasses.replace(held.version, provenance=heard))
    found = judge(newer, [held], OPEN, at=NOW).version
    assert found
    expected = {(True, True): (ours, theirs), (True, False): (ours,), (False, True): (theirs, ours)}.get(sides)
    assert found.provenance.grounding.get(READ_INSTRUCTIONS) == expected


def test_an_edit_of_the_words_alone_is_replaced_in_nothing() -> None:
    edit = version(dataclasses.replace(FIRST, description="Ann's words"), by="ann", sequence=2)
    found = judged(COUNTED, [version(FIRST), edit])
    assert "replaces_an_edit" not in found.verdict.reasons


BEFORE = content()


def changed(number: int, **fields: Any) -> list[Finding]:
    """What is said of an edit of one step."""
    steps = [replace(step, **fields) if at == number else step for at, step in enumerate(MIGRATE)]
    return list(changed_step_texts(content(steps=tuple(steps)), BEFORE))


def test_the_step_is_named_by_its_number_and_its_field():
    assert changed(1, text="Something new") == [finding("edited_sentence", field="steps.1", step=2)]
    assert [found.field for found in changed(0, text="x")] == ["steps.0"]


def test_a_sentence_that_was_kept_is_no_news():
    assert list(changed_step_texts(BEFORE, BEFORE)) == []
    assert changed(0, arguments={"command": "make other"}) == []
    assert changed(0, tool="Shell") == []


def test_a_sentence_that_was_rewritten_with_its_call_is_no_news():
    assert changed(0, text="x", arguments={"command": "make other"}) == []
    assert changed(0, text="x", tool="Shell") == []


def test_a_step_without_a_call_may_say_what_it_likes():
    before, after = content(steps=(SkillStep(text="Think"),)), content(steps=(SkillStep(text="Think twice"),))
    assert list(changed_step_texts(after, before)) == []


def test_steps_that_were_added_or_left_out_are_compared_with_nothing():
    assert list(changed_step_texts(content(steps=MIGRATE[:1]), BEFORE)) == []
    assert list(changed_step_texts(content(steps=(*MIGRATE, SkillStep(text="x", tool="Bash"))), BEFORE)) == []


def test_steps_are_known_again_by_their_call_wherever_they_stand_now():
    first, second = replace(MIGRATE[0], text="Once"), replace(MIGRATE[0], text="Once more")
    before = content(steps=(first, MIGRATE[1], second))
    assert list(changed_step_texts(content(steps=(MIGRATE[1], second)), before)) == []
    assert list(changed_step_texts(content(steps=(second, MIGRATE[1], first)), before)) == []
    moved = list(changed_step_texts(content(steps=(MIGRATE[1], replace(first, text="Twice"))), content(steps=(first,))))
    assert [found.field for found in moved] == ["steps.1"]


def test_an_edit_is_held_against_its_parent_and_not_against_what_came_in_between():
    parent = stored()
    other = content(steps=tuple(replace(step, text=f"Check: {step.text}") for step in MIGRATE))
    between = stored(other, status=Status.CANDIDATE, sequence=2, skill=parent.skill)
    edited = content(description="Bring the tables up to date. Use when a model was changed.")
    made = candidate(edited, revises=parent.skill.id, parents=(parent.version.id,), assessment=None)
    rules = {finding.rule for finding in judge(made, [parent, between], Policy(), at=NOW).verdict.findings}
    assert "edited_sentence" not in rules
    orphan = replace(made, parents=())
    rules = {finding.rule for finding in judge(orphan, [parent, between], Policy(), at=NOW).verdict.findings}
    assert "edited_sentence" in rules, "of an edit that names no parent the newest version is what it changes"
