"""Kinds in hooks: a session begins with its own person's rules within a cap, and nobody else's preferences ever come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.location import account_name
from tacit.domain.skill import Kind, SkillContent
from tacit.surfaces.hook.event_handlers import MAX_RULES_CHARACTERS, MAX_RULES_SHOWN
from tests.unit.surfaces.hook_events import claude, codex
from tests.unit.surfaces.hooked_project import make_project

ASK = "Please format the invoices module with black"
CLIENTS = [claude, codex]


def taste(name: str, person: str, tool: str) -> SkillContent:
    return SkillContent(
        kind=Kind.PREFERENCE, name=name, description=f"Format the invoices module with {tool}.", person=person
    )


def norm(number: int, *, words: int = 3) -> SkillContent:
    letters = chr(97 + number % 26) * (4 + number // 26)
    return SkillContent(
        kind=Kind.NORM, name=f"norm-{number:02}", description=f"Convention {letters} holds. " + f"{letters} " * words
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_a_session_starts_with_its_persons_preferences_and_nobody_elses(tmp_path: Path, client) -> None:
    mine, theirs = taste("mine", account_name(), "black"), taste("theirs", "mallory", "yapf")
    anybodys = taste("anybodys", "", "gofmt")
    project = make_project(tmp_path, mine, theirs, anybodys)
    told = project.send(client("SessionStart", source="startup"))
    assert "with black" in told
    assert "with gofmt" in told
    assert "yapf" not in told
    assert "theirs" not in told
    (line,) = project.lines
    assert project.ids["theirs"] not in repr(line), "nor is it noted that it was held back"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_prompt_is_never_answered_with_what_another_prefers(tmp_path: Path, client) -> None:
    project = make_project(tmp_path, taste("theirs", "mallory", "black"))
    assert project.send(client("UserPromptSubmit", prompt=ASK)) == ""
    assert project.ids["theirs"] not in repr(project.lines)


@pytest.mark.parametrize("client", CLIENTS)
def test_no_variable_makes_an_agent_somebody_else(tmp_path: Path, client) -> None:
    project = make_project(tmp_path, taste("theirs", "mallory", "black"))
    project.variables = {"USER": "mallory", "LOGNAME": "mallory", "SUDO_USER": "mallory"}
    assert project.send(client("UserPromptSubmit", prompt=ASK)) == ""


def test_a_prompt_is_answered_with_what_its_person_prefers(tmp_path: Path) -> None:
    project = make_project(tmp_path, taste("mine", account_name(), "black"))
    assert "with black" in project.send(claude("UserPromptSubmit", prompt=ASK))


def test_norms_come_up_to_a_number_and_the_rest_is_named(tmp_path: Path) -> None:
    project = make_project(tmp_path, *(norm(number) for number in range(MAX_RULES_SHOWN + 8)))
    told = project.send(claude("SessionStart", source="startup"))
    assert told.count("<tacit-skill ") == MAX_RULES_SHOWN
    assert "[no room for 8 more" in told
    assert "`tacit skills show NAME`" in told
    assert ", …]" in told, "of many only the first are named"


def test_norms_come_up_to_so_many_characters(tmp_path: Path) -> None:
    project = make_project(tmp_path, *(norm(number, words=120) for number in range(15)))
    told = project.send(claude("SessionStart", source="startup"))
    given = told.count("<tacit-skill ")
    assert 0 < given < 15
    assert f"[no room for {15 - given} more" in told
    assert len(told) < MAX_RULES_CHARACTERS + 600


def test_where_all_have_room_nothing_is_said_of_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, norm(1), norm(2))
    assert "no room" not in project.send(claude("SessionStart", source="startup"))
