"""Filters before ranking: what was to be left away, for which language models a skill is not, and whose preference it is."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Query
from tacit.domain.skill import Capabilities, Kind, SkillStep
from tacit.recall.filters import ANOTHERS, NOT_FOR, obstacle
from tests.unit.making import PROJECT, bash_steps, content, stored


def hindered(made=None, **query):
    held = stored(made)
    return obstacle(held, Query(**{"text": "x", "scope": PROJECT, **query}))


def test_without_takes_ids_of_versions_or_skills_and_names():
    held = stored()
    for name in (held.version.id, held.skill.id, held.version.name):
        assert obstacle(held, Query(text="x", scope=PROJECT, without=("y", name))) == "was to be left away"
    assert obstacle(held, Query(text="x", scope=PROJECT, without=("add-a", ""))) == ""


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
    assert hindered(made, model=model) == (f"is not for {model}" if barred else "")


def test_each_filter_has_a_reason_of_its_own():
    assert hindered() == ""
    assert hindered(scope=Scope(Level.PROJECT, "other")) == "belongs to project:invoices"
    assert hindered(kinds=(Kind.NORM,)) == "is a procedure"
    assert hindered(kinds=()) == "is a procedure"
    assert hindered(category="x") == "category is setup"
    assert hindered(tools=("Read",)) == "needs Bash, not at hand"
    assert hindered(tools=("Bash",)) == ""


CURL = content(steps=bash_steps("curl https://api.example.com/v1"))


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        (None, ""),
        (Capabilities(hosts=("api.example.com",), commands=("curl",), effects=("*",)), ""),
        (Capabilities(hosts=("*.example.com",), commands=("*",), effects=("*",)), ""),
        (Capabilities(commands=("curl",), effects=("*",)), "hosts api.example.com"),
        (Capabilities(hosts=("api.example.com",), effects=("*",)), "commands curl"),
        (Capabilities(hosts=("other.net",), commands=("curl",), effects=("*",)), "hosts api.example.com"),
    ],
)
def test_what_touches_more_than_is_allowed_is_left_out_and_the_reason_told(allowed, told):
    expected = f"touches what is not allowed here: {told}" if told else ""
    assert hindered(CURL, allowed=allowed) == expected


def test_nothing_allowed_leaves_only_what_touches_nothing():
    assert hindered(CURL, allowed=Capabilities()).startswith("touches what is not allowed here")
    plain = content(steps=(SkillStep(text="Think about it"),))
    assert hindered(plain, allowed=Capabilities()) == ""


def test_an_allowance_of_another_type_is_a_mistake():
    with pytest.raises(Mistake, match="Capabilities"):
        Query(text="x", allowed=["hosts=a.net"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "whose", "who", "told"),
    [
        (Kind.PREFERENCE, "ann", "ann", ""),
        (Kind.PREFERENCE, "ann", "bo", ANOTHERS),
        (Kind.PREFERENCE, "ann", "", ANOTHERS),
        (Kind.PREFERENCE, "", "bo", ""),
        (Kind.PREFERENCE, "", "", ""),
        (Kind.PREFERENCE, "Ann", "ann", ANOTHERS),
        (Kind.NORM, "ann", "bo", ""),
    ],
)
def test_a_preference_is_its_persons_alone(kind, whose, who, told):
    held = stored(content(kind=kind, person=whose, steps=()))
    assert obstacle(held, Query(text="x", scope=PROJECT, person=who)) == told
