"""Laws of the gate: likeness is symmetric, and a merge loses no step and raises no origin."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import GateDecision
from tacit.domain.lifecycle import LIFECYCLE
from tacit.domain.skill import Case, Condition, Cue, Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin, lowest
from tacit.gate.duplicates import adds_nothing, merge_contents, remap_path, shapes, similarity
from tacit.gate.judgement import judge
from tests.unit.making import NOW, candidate, content, stored

COMMANDS = ["git pull", "make build", "make test", "cd app && npm test", "pip install x", "git push origin main"]
STEP = st.builds(
    lambda command, optional: SkillStep(text=command, tool="Bash", arguments={"command": command}, optional=optional),
    st.sampled_from(COMMANDS),
    st.booleans(),
) | st.builds(SkillStep, text=st.sampled_from(["Think", "Ask"]), optional=st.booleans())
STEPS = st.lists(STEP, max_size=7).map(tuple)
WORDS = st.sampled_from(["add a migration", "deploy the site", "the", "", "fix a flaky test"])
CASES = st.lists(
    st.builds(
        lambda text, support: Case(conditions=(Condition(text=text),), support=support),
        st.sampled_from(["stopped", "slow", "hot"]),
        st.integers(0, 5),
    ),
    max_size=3,
    unique_by=lambda case: case.conditions,
).map(tuple)
CUES = st.lists(
    st.builds(Cue, term=st.sampled_from(["feed", "lamp"]), weight=st.sampled_from([-1.0, 2.5])),
    max_size=2,
    unique_by=lambda cue: cue.term,
).map(tuple)
CALL = st.builds(
    lambda tool, value: SkillStep(text=tool, tool=tool, arguments={"mode": value}),
    st.sampled_from(["set_mode", "restart"]),
    st.sampled_from(["fast", "slow", "{mode}"]),
)
CONTENT = st.builds(
    SkillContent,
    kind=st.sampled_from([Kind.PROCEDURE, Kind.LESSON, Kind.NORM]),
    name=WORDS,
    description=WORDS,
    steps=STEPS | st.lists(CALL, max_size=3).map(tuple),
    cases=CASES,
    cues=CUES,
    after=st.sampled_from([(), ("a",), ("b", "a")]),
    signature=WORDS,
    body=st.sampled_from(["", "one", "one\ntwo", "three"]),
    sub_skills=st.sampled_from([(), ("a",), ("a", "b")]),
)
ORIGINS = st.dictionaries(
    st.sampled_from(["name", "body", "steps.0", "steps.1", "steps.1.arguments", "steps.2"]), st.sampled_from(Origin)
)


def is_subsequence(part: Sequence[Hashable], whole: Sequence[Hashable]) -> bool:
    remaining = iter(whole)
    return all(item in remaining for item in part)


@given(CONTENT, CONTENT)
def test_likeness_is_symmetric_and_between_nothing_and_all(one, other):
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= 1


@given(CONTENT)
def test_everything_is_wholly_like_itself(made):
    assert similarity(made, made) == 1


@given(STEPS, STEPS)
def test_a_merge_holds_the_steps_of_both_sides_in_the_order_of_both(new, old):
    merged = merge_contents(content(steps=new), content(steps=old)).content
    assert is_subsequence(shapes(new), shapes(merged.steps))
    assert is_subsequence(shapes(old), shapes(merged.steps))
    assert len(merged.steps) <= len(new) + len(old)


@given(STEPS, STEPS)
def test_a_merge_requires_nothing_that_one_side_did_without(new, old):
    merged = merge_contents(content(steps=new), content(steps=old)).content
    required = [shape for step, shape in zip(merged.steps, shapes(merged.steps), strict=True) if not step.optional]
    for side in (new, old):
        assert is_subsequence(required, [s for step, s in zip(side, shapes(side), strict=True) if not step.optional])


@given(STEPS.filter(bool), STEPS.filter(bool))
def test_after_a_merge_neither_side_is_news(new, old):
    merged = merge_contents(content(steps=new), content(steps=old)).content
    assert adds_nothing(content(steps=new), merged)
    assert adds_nothing(content(steps=old), merged)


@given(CONTENT.filter(lambda made: made.steps and not made.sub_skills), CASES, CUES)
def test_after_a_merge_no_case_or_cue_of_either_side_is_news(made, cases, cues):
    known = replace(made, cases=cases, cues=cues)
    merged = merge_contents(made, known).content
    assert {case.conditions for side in (made, known) for case in side.cases} == {c.conditions for c in merged.cases}
    assert {cue.term for side in (made, known) for cue in side.cues} == {cue.term for cue in merged.cues}
    assert set(made.cases) <= set(merged.cases), "the later count stands"


@given(STEPS, STEPS)
def test_a_merge_says_truly_where_each_step_went(new, old):
    made = merge_contents(content(steps=new), content(steps=old))
    for side, places in ((new, made.from_candidate), (old, made.from_stored)):
        for index, shape in enumerate(shapes(side)):
            place = int(remap_path(f"steps.{index}", places).removeprefix("steps."))
            assert shapes(made.content.steps)[place] == shape


@given(STEPS, STEPS, ORIGINS.filter(bool), ORIGINS.filter(bool), st.sampled_from(Strictness))
def test_a_judgement_never_raises_an_origin_and_is_born_legally(new, old, mine, theirs, strictness):
    known = stored(content(steps=old), origins=theirs)
    policy = Policy(strictness=strictness, min_steps=0)
    found = judge(candidate(content(steps=new), origins=mine), [known], policy, at=NOW)
    if found.version is None or found.transition is None:
        return
    assert found.transition.after in LIFECYCLE[None]
    sides = [mine] if found.version.skill_id != known.skill.id else [mine, theirs]
    assert found.version.lowest_origin.rank <= lowest(origin for side in sides for origin in side.values()).rank
    if found.verdict.decision is GateDecision.ACCEPT:
        assert strictness is Strictness.OPEN
        assert found.version.lowest_origin is not Origin.EXTERNAL
