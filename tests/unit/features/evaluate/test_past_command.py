"""`tacit eval past`: figures and worst cases for people, one document for programs, plain words where nothing is known."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tacit
from tacit.api import Tacit
from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.trajectory import Origin
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.unit.features.evaluate.test_past import MAKE, RIGHT, SKILL, STRUGGLE, TEST, ran


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TACIT_HOME", "TACIT_STORE", "TACIT_CONFIG", "TACIT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "shop"


def past(*arguments: str) -> Result:
    ctx = CommandContext(environment=UserEnvironment.read())
    try:
        return CliRunner().invoke(cli, ["eval", "past", *arguments], obj=ctx)
    finally:
        ctx.close()


@pytest.fixture
def struggled(project: Path) -> None:
    """A skill, and two attempts after it: one that struggled, one that went well."""
    with tacit.open() as here:
        long_ago = Tacit(
            here.context.store,
            config=here.context.config,
            scope=here.context.scope,
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        verdict = long_ago.propose(SKILL, by="ann", origin=Origin.USER)
        stored = long_ago.version(verdict.version_id)
        if stored.status not in RECALLABLE:
            long_ago.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
        here.capture([ran(*STRUGGLE), ran(MAKE, RIGHT, TEST, days=1, session="s-10")])


@pytest.mark.usefixtures("struggled")
def test_a_person_sees_what_could_have_been_spared_and_where_it_was_given_for_nothing() -> None:
    done = past("--since", "2026-02-01")
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    for figures in ("2 attempts", "9 steps 3", "33.3%", "2 failed calls 2", "6 steps, 3 saved", "3 steps, none saved"):
        assert figures in text
    assert text.count("(1 of 1)") == 2


@pytest.mark.usefixtures("struggled")
def test_a_program_gets_every_attempt() -> None:
    document: dict[str, Any] = json.loads(past("--since", "2026-02-01", "--json").output)
    assert (document["attempts"], document["given"], document["helped"]) == (2, 2, 1)
    assert (document["spared_steps"], document["spared_failures"], document["repeated_failures"]) == (3, 2, 0)
    assert document["share_of_steps"]["value"] == pytest.approx(1 / 3, abs=1e-4)
    assert document["looked"][0]["by"][0]["failures"] == [2, 4]


def test_without_any_skill_none_is_known_to_be_spared(project: Path) -> None:
    with tacit.open() as here:
        here.capture(ran(*STRUGGLE))
    done = past("--since", "2026-02-01")
    text = " ".join(done.output.split())
    assert "tacit learn" in text
    assert "steps" not in text
    assert json.loads(past("--since", "2026-02-01", "--json").output)["share_of_steps"] is None


def test_a_time_without_attempts_is_reported(project: Path) -> None:
    with tacit.open() as here:
        here.capture(ran(*STRUGGLE))
    long_after = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    done = past("--since", long_after)
    assert isinstance(done.exception, Mistake)
    assert done.exception.code == "no_attempts"


@pytest.mark.usefixtures("project")
def test_where_no_skill_is_approved_that_is_why_none_would_have_been_given() -> None:
    with tacit.open() as here:
        here.capture([ran(*STRUGGLE)])
    assert json.loads(past("--since", "2026-01-01", "--json").output)["skills"] == 0


@pytest.mark.usefixtures("struggled")
def test_where_skills_are_approved_nothing_is_stated_of_review() -> None:
    assert "No skill is approved" not in " ".join(past("--since", "2026-02-01").output.split())
