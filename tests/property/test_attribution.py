"""Attribution, whatever the skill and the run are: a share, untouched by what is unrelated, and never a fault."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.evidence import Following
from tacit.domain.skill import Kind, SkillStep
from tacit.evidence.attribution import align
from tests.unit.making import attempt, call, content

FOLLOWED, IGNORED = Following.FOLLOWED, Following.IGNORED
TOOLS = ("get_order", "cancel_order", "return_items", "set_mode", "reboot")
VALUES = st.sampled_from(["W1", "W2", "4g", "2g", "{value}"])
WANTED = st.lists(
    st.builds(
        lambda tool, arguments, optional: SkillStep(text=tool, tool=tool, arguments=arguments, optional=optional),
        st.sampled_from(TOOLS),
        st.dictionaries(st.sampled_from(["order_id", "mode"]), VALUES, max_size=2),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
DONE = st.lists(
    st.builds(
        call,
        st.sampled_from(TOOLS),
        st.dictionaries(st.sampled_from(["order_id", "mode"]), st.sampled_from(["W1", "W2", "4g", "2g"]), max_size=2),
    ),
    max_size=8,
)
UNRELATED = st.lists(st.builds(call, st.sampled_from(["paint_wall", "list_walls"]), st.just({"id": "x"})), max_size=5)


@given(WANTED, DONE)
def test_adherence_is_a_share_and_every_step_named_is_there(steps, done):
    aligned = align(attempt(*done), content(steps=tuple(steps)))
    if aligned is None:
        return
    assert 0.0 <= aligned.adherence <= 1.0
    assert set(aligned.matched) <= set(range(len(steps)))
    assert {index for found in aligned.matched.values() for index in found} <= set(range(len(done)))


@given(WANTED, DONE, UNRELATED, st.integers(0, 8))
def test_unrelated_work_never_turns_ignored_into_followed_nor_followed_into_ignored(steps, done, unrelated, at):
    skill = content(steps=tuple(steps))
    told_of = [align(attempt(*run), skill) for run in (done, [*done[:at], *unrelated, *done[at:]])]
    before, after = (each.following if each else None for each in told_of)
    if before is not None and any(step.arguments for step in done):
        assert after is before


@given(WANTED)
def test_a_run_that_is_exactly_the_skill_has_followed_it(steps):
    required = [dataclasses.replace(step, optional=False) for step in steps]
    filled = [
        call(step.tool, {key: "W9" if value == "{value}" else value for key, value in step.arguments.items()})
        for step in required
    ]
    aligned = align(attempt(*filled), content(steps=tuple(required)))
    assert aligned is not None
    assert (aligned.following, aligned.adherence) == (FOLLOWED, 1.0)


@given(WANTED, UNRELATED)
def test_a_run_that_only_did_other_things_has_ignored_it(steps, unrelated):
    required = [dataclasses.replace(step, optional=False) for step in steps]
    aligned = align(attempt(*unrelated), content(steps=tuple(required)))
    assert aligned is not None
    assert (aligned.following, aligned.adherence) == (IGNORED, 0.0)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ODD_KEYS = st.sampled_from(["command", "cmd", "file_path", "path", "order_id", "patch", ""])
ODD_CALLS = st.tuples(
    st.sampled_from(["Bash", "Edit", "apply_patch", "Skill", "mcp__x__y", "__", ".", "set_mode"]),
    st.dictionaries(ODD_KEYS, JUNK, max_size=3),
)


@given(
    st.lists(ODD_CALLS, max_size=4), st.lists(ODD_CALLS, max_size=4), st.text(max_size=40), st.sampled_from(list(Kind))
)
def test_whatever_is_given_is_told_or_not_told(asked, done, text, kind):
    steps = (
        *(SkillStep(text=tool, tool=tool, arguments=own) for tool, own in asked),
        SkillStep(text=f"{text} `{text}`"),
    )
    skill = content(kind=kind, steps=steps, body=f"never `{text}`", signature=text if kind is Kind.LESSON else "")
    aligned = align(attempt(*(call(*each) for each in done)), skill)
    assert aligned is None or 0.0 <= aligned.adherence <= 1.0
