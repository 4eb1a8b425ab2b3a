"""`tacit moments …`: what is stated is kept as the speaker's word, told back, and its check is run only for a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake, NotFound, NotPermitted
from tacit.features.people.ledger_entries import Assumption, Held
from tacit.features.people.moment_commands import _show_whole
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.person import enter, leave
from tests.unit.making import NOW


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "ann")
    for name in ("TACIT_HOME", "TACIT_STORE", "TACIT_CONFIG", "TACIT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    leave(tmp_path / ".tacit")
    return tmp_path / "shop"


@pytest.fixture
def person(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who has entered their passphrase."""
    enter()


def moments(*arguments: str) -> Result:
    ctx = CommandContext(environment=UserEnvironment.read())
    try:
        return CliRunner().invoke(cli, ["moments", *arguments], obj=ctx)
    finally:
        ctx.close()


def told(*arguments: str) -> dict[str, Any]:
    done = moments(*arguments, "--json")
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.output)
    return document


def stated(text: str = "Only src/ changes", *options: str) -> dict[str, Any]:
    made: dict[str, Any] = told("assume", text, "--session", "s1", *options)["assumption"]
    return made


def test_what_is_stated_without_a_terminal_is_an_agents_word(project: Path) -> None:
    made = stated("Only src/ changes", "--aspect", "scope", "--check", "make lint")
    assert (made["aspect"], made["check"], made["origin"], made["held"]) == ("scope", "make lint", "agent", "open")
    assert told("list")["assumptions"] == [made]


@pytest.mark.usefixtures("person")
def test_what_a_person_states_is_theirs(project: Path) -> None:
    made = stated()
    assert (made["by"], made["origin"]) == ("ann", "user")


def test_the_session_of_what_is_stated_may_be_named_by_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_SESSION", "s7")
    assert told("assume", "One")["assumption"]["session_id"] == "s7"
    assert [entry["text"] for entry in told("checkpoint")["open"]] == ["One"]


def test_looking_at_nothing_leaves_nothing_behind(project: Path) -> None:
    assert told() == {"moments": [], "assumptions": []}
    assert "No assumptions yet" in moments("list").output
    assert not (project / ".tacit").exists()


def test_a_checkpoint_says_what_holds_what_does_not_and_what_is_open(project: Path) -> None:
    first, second, third = (stated(text)["key"] for text in ("One", "Two", "Three"))
    looked = told("checkpoint", "--session", "s1", "--holds", first, "--wrong", f"{second}=It is = three")
    assert [entry["key"] for entry in looked["open"]] == [third]
    assert [(entry["held"], entry["instead"]) for entry in looked["settled"]] == [
        ("held", ""),
        ("wrong", "It is = three"),
    ]
    assert looked["moment"]["phase"] == "in-flight"
    assert "1 assumption open" in moments("checkpoint", "--session", "s1").output


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("assume", " "), Mistake),
        (("checkpoint",), Mistake),
        (("checkpoint", "--session", "s1", "--wrong", "a_1"), Mistake),
        (("checkpoint", "--session", "s1", "--holds", "a_nothing"), NotFound),
        (("check", "a_nothing"), NotFound),
        (("premortem", "--session", "s1"), Mistake),
    ],
)
def test_a_mistake_is_named_and_keeps_nothing(
    project: Path, arguments: tuple[str, ...], error: type[Exception]
) -> None:
    assert isinstance(moments(*arguments).exception, error)
    assert told("list") == {"moments": [], "assumptions": []}


def test_a_pre_mortem_is_told_with_its_risks(project: Path) -> None:
    made = told("premortem", "--risk", "It may fail with `EACCES`", "--assume", "`jq` is installed", "--session", "s1")
    assert [entry["aspect"] for entry in made["assumptions"]] == ["risk", "approach"]
    shown = moments("show", "--session", "s1").output
    assert "pre-mortem" in shown
    assert "It may fail with `EACCES`" in shown


def test_a_check_is_shown_and_never_run_by_itself(project: Path) -> None:
    made = stated("It is there", "--check", "touch ran.txt")
    assert "touch ran.txt" in moments("check", made["key"]).output
    assert isinstance(moments("check", made["key"], "--run", "--yes").exception, NotPermitted)
    assert not (project / "ran.txt").exists()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(("check", "held"), [("true", "held"), ("false", "wrong")])
def test_a_person_may_have_a_check_run(project: Path, check: str, held: str) -> None:
    made = stated("It is there", "--check", check)
    ran = moments("check", made["key"], "--run", "--json")
    done = json.loads(ran.output)
    assert (done["assumption"]["held"], done["passed"]) == (held, held == "held")
    assert done["assumption"]["settled_by"] == "ann"
    assert f"`{check}`" in done["assumption"]["reason"]
    again = moments("check", made["key"])
    assert ran.exit_code == again.exit_code == (0 if held == "held" else 1)


def test_of_what_nobody_has_settled_it_is_not_said_that_it_holds(project: Path) -> None:
    assert moments("check", stated("It is there")["key"]).exit_code == 1


def test_before_a_check_runs_whoever_chose_it_is_named_though_others_settled_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stated("It is there", "--check", "touch ran.txt", "--by", "zoe")
    enter()
    told("checkpoint", "--session", "s1", "--wrong", f"{made['key']}=It is not")
    asked = moments("check", made["key"], "--run").output
    assert "written by zoe:" in asked
    assert "prospective by zoe" in moments("show", "--session", "s1").output


@pytest.mark.usefixtures("person")
def test_a_person_is_asked_before_a_check_runs_and_may_say_no(project: Path) -> None:
    made = stated("It is there", "--check", "touch ran.txt")
    done = moments("check", made["key"], "--run")
    assert "touch ran.txt" in done.output
    assert done.exit_code == 1
    assert not (project / "ran.txt").exists()
    assert isinstance(moments("check", stated("Two")["key"], "--run", "--yes").exception, Mistake)


def test_moments_are_chosen_by_phase_and_outcome(project: Path) -> None:
    made = stated("One")
    told("checkpoint", "--session", "s1", "--wrong", f"{made['key']}=Two")
    told("premortem", "--risk", "Three", "--session", "s2")
    assert [entry["what"] for entry in told("list", "--phase", "in-flight")["moments"]] == ["checkpoint"]
    assert [entry["text"] for entry in told("list", "--held", "wrong")["assumptions"]] == ["One"]
    assert len(told("list", "--limit", "1")["assumptions"]) == 1
    assert [entry["text"] for entry in told("show", "--session", "s2")["assumptions"]] == ["Three"]


def test_hostile_text_cannot_act_on_the_terminal(project: Path) -> None:
    stated("x\x1b]0;owned\x07 [bold]y[/bold]")
    for command in (("list",), ("show", "--session", "s1"), ("checkpoint", "--session", "s1")):
        shown = moments(*command).output
        assert "\x1b" not in shown
        assert "[bold]y[/bold]" in shown


def test_moments_stay_within_the_columns_and_are_told_apart_by_the_beginning_of_their_session(project: Path) -> None:
    run, risk = "0f3c9a52-1111-4222-8333-944444444444", "It may fail because " + "the index is rebuilt " * 6
    told("premortem", "--risk", risk.strip(), "--session", run)
    [line] = [each for each in moments("list").output.splitlines() if "pre-mortem" in each]
    assert len(line) <= 80
    assert run[:8] in line
    [line, _, *_] = moments("show", "--session", run).output.splitlines()
    assert len(line) <= 80
    assert run[:8] not in line, "one session was asked for"


@pytest.mark.parametrize(
    ("reason", "steps", "shown"),
    [
        ("`make` failed (step 1)", (1,), "why: `make` failed (step 1)\n"),
        ("3 files were changed", (3,), "why: 3 files were changed (step 3)\n"),
        ("3 files were changed", (3, 5), "why: 3 files were changed (steps 3, 5)\n"),
        ("`make` failed (step 12)", (2, 12), "why: `make` failed (step 12) (step 2)\n"),
    ],
)
def test_steps_are_named_once(
    project: Path, capsys: pytest.CaptureFixture[str], reason: str, steps: tuple[int, ...], shown: str
) -> None:
    each = Assumption(key="a_1", at=NOW, text="It works", held=Held.WRONG, reason=reason, steps=steps)
    _show_whole(CommandContext(environment=UserEnvironment.read()), each)
    assert shown in capsys.readouterr().out


def test_history_tells_a_session(project: Path) -> None:
    stated("One")
    ctx = CommandContext(environment=UserEnvironment.read())
    done = CliRunner().invoke(cli, ["history", "--session", "s1", "--json"], obj=ctx)
    ctx.close()
    assert [(event["what"], event["why"]) for event in json.loads(done.output)["events"]] == [("assumed", "One")]
