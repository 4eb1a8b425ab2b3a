"""Who counts as a person, and what asks for their passphrase."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from tacit.config.environment import AGENT_MARKERS, UserEnvironment
from tacit.config.location import account_name
from tacit.config.signers import forget_unlocked_key
from tacit.domain.errors import NotPermitted
from tacit.surfaces.authority import PERSON_ONLY, Caller
from tacit.surfaces.cli.context import CommandContext

AGENTS_VERBS = ["recall", "apply", "record", "capture", "learn", "propose", "stats", "history"]


def caller(home: Path, *, terminal: bool = False, **variables: str) -> Caller:
    return Caller(environment=UserEnvironment.read({"HOME": str(home), **variables}), at_terminal=terminal)


@pytest.mark.parametrize("verb", sorted(PERSON_ONLY))
def test_a_persons_verb_asks_for_the_passphrase(tmp_path, verb):
    asked: list[str] = []
    Caller(
        environment=UserEnvironment.read({"HOME": str(tmp_path)}), at_terminal=True, unlock=asked.append
    ).require_person(verb)
    assert asked == [verb]


@pytest.mark.parametrize("verb", AGENTS_VERBS)
def test_an_agent_may_do_what_is_not_a_persons(tmp_path, verb):
    agent = caller(tmp_path, CLAUDECODE="1")
    agent.require_person(verb)
    assert not agent.is_person


def test_reviewing_belongs_to_persons():
    assert {"review", "rollback", "edit", "purge"} <= PERSON_ONLY
    assert not PERSON_ONLY & set(AGENTS_VERBS)


@pytest.mark.parametrize("marker", AGENT_MARKERS)
def test_each_agents_mark_refuses_even_at_a_terminal_and_is_named(tmp_path, marker):
    with pytest.raises(NotPermitted) as refused:
        caller(tmp_path, terminal=True, **{marker: "1"}).require_person("review")
    assert refused.value.code == "agent_shell"
    assert marker in refused.value.message


def test_an_empty_mark_is_no_mark(tmp_path):
    person = caller(tmp_path, terminal=True, CLAUDECODE="")
    person.require_person("review")
    assert person.is_person


def test_an_unlocked_process_is_a_persons_and_a_locked_one_is_not(tmp_path):
    assert caller(tmp_path).is_person
    forget_unlocked_key()
    assert not caller(tmp_path).is_person
    assert caller(tmp_path, terminal=True).is_person


def test_a_caller_is_a_value(tmp_path):
    with pytest.raises(dataclasses.FrozenInstanceError):
        caller(tmp_path).at_terminal = True  # type: ignore[misc]


def test_a_repositorys_settings_do_not_name_who_decides(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "config", "user.name", "stranger"], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "own"))
    ctx = CommandContext(environment=UserEnvironment.read({"HOME": str(tmp_path / "home")}))
    assert ctx.person("") == account_name()
    (tmp_path / "own").write_text("[user]\nname = Ann\n", encoding="utf-8")
    assert ctx.person("") == "Ann"
    assert ctx.person("bo") == "bo"
