"""Another person's preference is told to people, as theirs, and to nobody else by any command that looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import NotPermitted
from tacit.domain.skill import Kind, SkillContent
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.person import enter, leave
from tests.unit.features.people.knowing import lesson, memory, proposed

SECRETLY = "Answer in rhymes."


def preference(name: str, text: str, person: str) -> SkillContent:
    return SkillContent(kind=Kind.PREFERENCE, name=name, description=f"How to answer: {text}", body=text, person=person)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a lesson, one's own preference, and two of zoe: one in use, one that waits."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".tacit").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "ann")
    for name in ("TACIT_HOME", "TACIT_STORE", "TACIT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    with memory(tmp_path / "shop" / ".tacit" / "tacit.db") as loop:
        own = preference("short-answers", "Answer in one sentence.", loop.context.person)
        for content in (lesson("lint-first"), own, preference("rhymes", SECRETLY, "zoe")):
            loop.review(proposed(loop, content).version.id, "approve", by="ann")
        proposed(loop, preference("metre", "Answer in hexameters.", "zoe"))
    leave(tmp_path / ".tacit")
    return tmp_path / "shop"


@pytest.fixture
def person(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    enter()
    return project


def tacit(*arguments: str) -> Result:
    ctx = CommandContext(environment=UserEnvironment.read())
    try:
        return CliRunner().invoke(cli, list(arguments), obj=ctx)
    finally:
        ctx.close()


def names(*arguments: str, under: str) -> list[str]:
    document: dict[str, list[dict[str, Any]]] = json.loads(tacit(*arguments, "--json").output)
    return sorted(each["name"] for each in document[under])


LISTS = [
    (("skills", "list", "--no-static"), "skills", ["lint-first", "short-answers"], ["metre", "rhymes"]),
    (("review",), "waiting", [], ["metre"]),
    (("stats",), "records", ["lint-first", "short-answers"], ["rhymes"]),
]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("command", "under", "told", "private"), LISTS)
def test_lists_leave_it_out(command: tuple[str, ...], under: str, told: list[str], private: list[str]) -> None:
    assert names(*command, under=under) == told
    assert not any(name in tacit(*command).output for name in private)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(("command", "under", "told", "private"), LISTS)
def test_a_person_is_told_of_it(command: tuple[str, ...], under: str, told: list[str], private: list[str]) -> None:
    assert names(*command, under=under) == sorted([*told, *private])


LOOKS = [
    ("skills", "show", "rhymes"),
    ("skills", "show", "rhymes", "--file", "x"),
    ("skills", "diff", "lint-first", "rhymes"),
    ("skills", "diff", "rhymes", "lint-first"),
    ("skills", "export", "rhymes", "--to", "out"),
    ("review", "rhymes"),
    ("review", "metre"),
    ("history", "rhymes"),
    ("stats", "rhymes"),
]


@pytest.mark.parametrize("command", LOOKS, ids=" ".join)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_who_asks_for_it_by_name_is_refused(project: Path, command: tuple[str, ...], more: tuple[str, ...]) -> None:
    done = tacit(*command, *more)
    assert isinstance(done.exception, NotPermitted), done.output
    assert SECRETLY not in done.output + str(done.exception)
    assert not (project / "out").exists()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("command", [("skills", "show", "rhymes"), ("review", "metre"), ("skills", "list")])
def test_a_person_is_told_whose_it_is(command: tuple[str, ...]) -> None:
    assert "zoe" in tacit(*command).output


def test_what_is_exported_whole_holds_nobody_elses_preference(person: Path) -> None:
    tacit("skills", "export", "--all", "--to", "out")
    assert sorted(each.name for each in (person / "out").iterdir()) == ["lint-first", "short-answers"]
    tacit("skills", "export", "rhymes", "--to", "out")
    assert (person / "out" / "rhymes").is_dir(), "a person may name it"
