"""Filters before ranking: what was to be left away, for which language models a skill is not, and whose preference it is."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Query
from tacit.domain.skill import Capabilities, Kind, SkillStep
from tacit.recall.filters import NOT_FOR, filter_reason
from tests.raising import raises
from tests.unit.making import PROJECT, bash_steps, content, stored


def code_of(held, **query):
    found = filter_reason(held, Query(**{"text": "x", "scope": PROJECT, **query}))
    return found and found.code


def hindered(made=None, **query):
    return code_of(stored(made), **query)


def test_without_takes_ids_of_versions_or_skills_and_names():
    held = stored()
    for name in (held.version.id, held.skill.id, held.version.name):
        assert code_of(held, without=("y", name)) is ReasonCode.EXCLUDED
    assert code_of(held, without=("add-a", "")) is None


@pytest.mark.parametrize(
    ("patterns", "model", "barred"),
    [
        ("*-mini", "gpt-5-mini", True),
        ("*-mini", "gpt-5", False),
        ("claude-*, gpt-4*", "gpt-4.1", True),
        ("claude-* gpt-4*", "claude-haiku", True),
        ("gpt-4", "gpt-4.1", False),
        ("*", "anything", True),
        ("*", "", False),
        ("", "gpt-5", False),
        ("[", "gpt-5", False),
    ],
)
def test_a_skill_says_itself_for_which_models_it_is_not(patterns, model, barred):
    made = content(metadata={NOT_FOR: patterns})
    assert hindered(made, model=model) is (ReasonCode.EXCLUDED_MODEL if barred else None)


def test_each_filter_has_a_reason_of_its_own():
    assert hindered() is None
    assert hindered(scope=Scope(Level.PROJECT, "other")) is ReasonCode.OTHER_SCOPE
    assert hindered(kinds=(Kind.NORM,)) is ReasonCode.OTHER_KIND
    assert hindered(kinds=()) is ReasonCode.OTHER_KIND
    assert hindered(category="x") is ReasonCode.OTHER_CATEGORY
    assert hindered(tools=("Read",)) is ReasonCode.MISSING_TOOLS
    assert hindered(tools=("Bash",)) is None


CURL = content(steps=bash_steps("curl https://api.example.com/v1"))


@pytest.mark.parametrize(
    ("allowed", "touched"),
    [
        (None, ""),
        (Capabilities(hosts=("api.example.com",), commands=("curl",), effects=("*",)), ""),
        (Capabilities(hosts=("*.example.com",), commands=("*",), effects=("*",)), ""),
        (Capabilities(commands=("curl",), effects=("*",)), "hosts api.example.com"),
        (Capabilities(hosts=("api.example.com",), effects=("*",)), "commands curl"),
        (Capabilities(hosts=("other.net",), commands=("curl",), effects=("*",)), "hosts api.example.com"),
    ],
)
def test_what_touches_more_than_is_allowed_is_left_out_with_what_that_is(allowed, touched):
    left = filter_reason(stored(CURL), Query(text="x", scope=PROJECT, allowed=allowed))
    if not touched:
        assert left is None
    else:
        assert left is not None
        assert left.code is ReasonCode.NOT_ALLOWED
        assert touched in left.reason


def test_nothing_allowed_leaves_only_what_touches_nothing():
    assert hindered(CURL, allowed=Capabilities()) is ReasonCode.NOT_ALLOWED
    plain = content(steps=(SkillStep(text="Think about it"),))
    assert hindered(plain, allowed=Capabilities()) is None


def test_an_allowance_of_another_type_is_a_mistake():
    with raises(Mistake, "bad_allowance"):
        Query(text="x", allowed=["hosts=a.net"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "whose", "who", "barred"),
    [
        (Kind.PREFERENCE, "ann", "ann", False),
        (Kind.PREFERENCE, "ann", "bo", True),
        (Kind.PREFERENCE, "ann", "", True),
        (Kind.PREFERENCE, "", "bo", False),
        (Kind.PREFERENCE, "", "", False),
        (Kind.PREFERENCE, "Ann", "ann", True),
        (Kind.NORM, "ann", "bo", False),
    ],
)
def test_a_preference_is_its_persons_alone(kind, whose, who, barred):
    held = stored(content(kind=kind, person=whose, steps=()))
    assert code_of(held, person=who) is (ReasonCode.OTHER_PERSON if barred else None)
