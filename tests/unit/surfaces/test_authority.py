"""Who counts as a person: a terminal that no agent has marked, or the token."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
from pathlib import Path

import pytest

from tacit.config.environment import UserEnvironment
from tacit.config.location import account_name
from tacit.config.presence import AGENT_MARKERS
from tacit.domain.errors import NotPermitted, StoreOutage
from tacit.surfaces.authority import PERSON_ONLY, TOKEN_FILE, Caller, new_token
from tacit.surfaces.cli.context import CommandContext
from tests.raising import raises

AGENTS_VERBS = ["recall", "apply", "record", "capture", "learn", "propose", "stats", "history"]


def caller(home: Path, *, terminal: bool = False, **variables: str) -> Caller:
    return Caller(environment=UserEnvironment.read({"HOME": str(home), **variables}), at_terminal=terminal)


@pytest.mark.parametrize("verb", sorted(PERSON_ONLY))
def test_without_a_terminal_a_persons_verb_is_refused(tmp_path, verb):
    with raises(NotPermitted, "no_terminal"):
        caller(tmp_path).require_person(verb)


@pytest.mark.parametrize("verb", sorted(PERSON_ONLY))
def test_a_person_at_a_terminal_may_do_everything(tmp_path, verb):
    person = caller(tmp_path, terminal=True)
    person.require_person(verb)
    assert person.is_person


@pytest.mark.parametrize("verb", AGENTS_VERBS)
def test_an_agent_may_do_what_is_not_a_persons(tmp_path, verb):
    agent = caller(tmp_path, CLAUDECODE="1")
    agent.require_person(verb)
    assert not agent.is_person


def test_reviewing_belongs_to_persons():
    assert {"review", "rollback", "edit", "token"} <= PERSON_ONLY
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


def test_the_right_token_stands_for_a_person(tmp_path):
    token = new_token(tmp_path / ".tacit")
    vouched = caller(tmp_path, TACIT_TOKEN=token)
    vouched.require_person("review")
    assert vouched.is_person


def test_in_an_agents_shell_only_a_token_of_the_accounts_own_home_counts(tmp_path):
    planted = new_token(tmp_path / "planted")
    own = new_token(tmp_path / "account" / ".tacit")
    for token, welcome in ((planted, False), (own, True)):
        environment = dataclasses.replace(
            UserEnvironment.read({"TACIT_HOME": str(tmp_path / "planted"), "TACIT_TOKEN": token, "CLAUDECODE": "1"}),
            account_home=tmp_path / "account",
        )
        assert Caller(environment=environment, at_terminal=False).is_person is welcome


@pytest.mark.parametrize("given", ["tacit_wrong", "é\udce9", "x" * 10_000, " "])
def test_a_wrong_token_is_refused_and_said_to_be_wrong(tmp_path, given):
    new_token(tmp_path / ".tacit")
    with raises(NotPermitted, "wrong_token"):
        caller(tmp_path, TACIT_TOKEN=given).require_person("review")


def test_a_token_is_refused_where_none_was_made(tmp_path):
    assert not caller(tmp_path, TACIT_TOKEN="tacit_x").is_person


@pytest.mark.parametrize("damage", [b"", b"\n", b"\xff\xfe", "é".encode()])
def test_a_damaged_token_file_lets_nobody_in(tmp_path, damage):
    home = tmp_path / ".tacit"
    home.mkdir()
    (home / TOKEN_FILE).write_bytes(damage)
    assert not caller(tmp_path, TACIT_TOKEN="tacit_x").is_person
    assert not caller(tmp_path).is_person


def test_the_hash_in_the_file_is_not_itself_a_token(tmp_path):
    new_token(tmp_path / ".tacit")
    known = (tmp_path / ".tacit" / TOKEN_FILE).read_text().strip()
    assert not caller(tmp_path, TACIT_TOKEN=known).is_person


def test_only_a_hash_is_kept_and_only_its_owner_can_read_it(tmp_path):
    home = tmp_path / ".tacit"
    token = new_token(home)
    file = home / TOKEN_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == hashlib.sha256(token.encode()).hexdigest() + "\n"
    assert all(token not in path.read_text() for path in home.rglob("*"))


def test_a_file_that_was_open_to_others_is_closed(tmp_path):
    file = tmp_path / TOKEN_FILE
    file.write_text("old")
    file.chmod(0o644)
    new_token(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_new_token_replaces_the_old_one(tmp_path):
    old, new = new_token(tmp_path / ".tacit"), new_token(tmp_path / ".tacit")
    assert old != new
    assert not caller(tmp_path, TACIT_TOKEN=old).is_person
    assert caller(tmp_path, TACIT_TOKEN=new).is_person


def test_a_home_that_cannot_be_written_is_an_outage(tmp_path):
    (tmp_path / "file").write_text("")
    with raises(StoreOutage, "cannot_write"):
        new_token(tmp_path / "file" / "home")


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
