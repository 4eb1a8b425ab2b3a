"""Assumptions compared with runs: what a run clearly shows is decided with its steps; everything else is unknown."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tacit.domain.trajectory import Environment, Role, Step, StepResult, Task, Trajectory
from tacit.features.people.assumption_results import AssumptionResult, compare
from tacit.features.people.ledger_entries import Aspect, Assumption, Held
from tacit.render.conditions import read_condition
from tests.unit.making import NOW, WORKSPACE

HELD, WRONG, UNKNOWN = Held.HELD, Held.WRONG, Held.UNKNOWN


def ran(command: str, code: int | None = 0, seen: str = "") -> Step:
    result = StepResult.OK if not code else StepResult.FAILED
    arguments = {"command": command}
    return Step(
        index=0, role=Role.AGENT, tool="Bash", arguments=arguments, observation=seen, exit_code=code, result=result
    )


def denied(command: str) -> Step:
    return replace(ran(command, None), result=StepResult.DENIED)


def edited(path: str, result: StepResult = StepResult.OK) -> Step:
    arguments = {"file_path": path, "old_string": "a", "new_string": "b"}
    return Step(index=0, role=Role.AGENT, tool="Edit", arguments=arguments, result=result)


def looked(path: str, seen: str = "text", result: StepResult = StepResult.OK) -> Step:
    return Step(index=0, role=Role.AGENT, tool="Read", arguments={"file_path": path}, observation=seen, result=result)


def called(tool: str, answer: str, **arguments: Any) -> Step:
    return Step(
        index=0,
        role=Role.AGENT,
        tool=tool,
        arguments=arguments,
        observation=answer,
        result=StepResult.OK,
        exit_code=None,
    )


def statement(words: str) -> Step:
    return Step(index=0, role=Role.USER, text=words)


def run(*steps: Step, reply: str = "", task: str = "Do the work", parent: str = "") -> Trajectory:
    numbered = tuple(replace(step, index=index, at=NOW + timedelta(minutes=index)) for index, step in enumerate(steps))
    return Trajectory(
        task=Task(text=task),
        steps=numbered,
        environment=Environment(workspace=WORKSPACE),
        session_id="s1",
        parent_session_id=parent,
        reply=reply,
    )


def assumed(text: str, aspect: Aspect = Aspect.APPROACH, *, check: str = "", minutes: float = -60) -> Assumption:
    return Assumption(key="a_1", at=NOW + timedelta(minutes=minutes), text=text, aspect=aspect, check=check)


def came_out(
    text: str, *steps: Step, aspect: Aspect = Aspect.APPROACH, check: str = "", **more: Any
) -> AssumptionResult:
    return compare(assumed(text, aspect, check=check), run(*steps, **more), condition=read_condition(text))


PASSED, FAILED = ran("pytest -q", 0, "3 passed"), ran("pytest -q", 1, "FAILED test_a\n1 failed")


# --- a check that the run itself ran --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "held"),
    [
        ((PASSED,), HELD),
        ((FAILED,), WRONG),
        ((), UNKNOWN),
        ((ran("ruff check ."),), UNKNOWN),
        ((FAILED, edited("a.py"), PASSED), WRONG),
        ((PASSED, edited("a.py"), FAILED), HELD),
        ((edited("a.py"), FAILED, edited("a.py"), PASSED), HELD),
        ((edited("a.py"), PASSED, edited("a.py"), FAILED), WRONG),
        ((looked("a.py"), FAILED), WRONG),
        ((FAILED, PASSED), UNKNOWN),
        ((FAILED, looked("a.py"), PASSED), UNKNOWN),
        ((ran("pytest -q || true"),), UNKNOWN),
        ((ran("pytest -q", 127, "pytest: command not found"),), UNKNOWN),
        ((ran("pytest -q", 124),), UNKNOWN),
        ((denied("pytest -q"),), UNKNOWN),
        ((ran(f"cd {WORKSPACE} && pytest -q"),), HELD),
        ((ran("ruff check . && pytest -q"),), HELD),
        ((ran("ruff check . && pytest -q", 1),), UNKNOWN),
        ((ran("pytest -q; ruff check ."),), UNKNOWN),
        ((ran("pytest -q tests/unit"),), UNKNOWN),
        ((ran("python -m pytest -q", 1),), WRONG),
        ((ran("cd sub && python -m pytest -q", 1),), UNKNOWN),
    ],
)
def test_a_check_tells_by_its_own_exit_status_as_things_stood(steps: tuple[Step, ...], held: Held) -> None:
    assert came_out("The tests are green", *steps, check="pytest -q").held is held


def test_what_shows_it_is_named_with_its_step_and_what_was_printed() -> None:
    found = came_out("The tests are green", looked("a.py"), FAILED, check="pytest -q")
    assert {span.step for span in found.spans} == {1}
    assert {span.part for span in found.spans} == {"arguments", "observation"}
    assert found.quote == "FAILED test_a"
    assert found.instead == "`pytest -q` failed with exit status 1 before anything was done"
    assert "FAILED test_a" not in found.instead


def test_what_was_run_before_it_was_stated_does_not_count() -> None:
    late = assumed("The tests are green", check="pytest -q", minutes=3)
    trajectory = run(FAILED, edited("a.py"), looked("a.py"), looked("b.py"), PASSED)
    assert compare(late, trajectory).held is HELD
    assert compare(replace(late, at=NOW), trajectory).held is WRONG


def test_tacits_own_calls_are_no_part_of_the_work() -> None:
    own = (ran("tacit moments assume x"), called("mcp__tacit__checkpoint", "Nothing is open."))
    assert came_out("At most 1 step", *own, looked("a.py"), aspect=Aspect.COMPLEXITY).held is HELD


# --- what is there, and what works ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps", "held"),
    [
        ("`jq` is installed", (ran("cat x | jq .", 127, "bash: jq: command not found"),), WRONG),
        ("`jq` is installed", (ran("jq . x.json"),), HELD),
        ("`jq` is installed", (ran("jq . x.json || true"),), UNKNOWN),
        ("`jq` is installed", (ran("echo jq is installed"),), UNKNOWN),
        ("`jq` is installed in CI", (ran("jq . x.json"),), UNKNOWN),
        ("`jq` or `yq` is available", (ran("jq . x", 127, "jq: command not found"),), UNKNOWN),
        ("`jq` is not installed", (ran("jq . x.json"),), WRONG),
        ("`jq` is not installed", (ran("jq . x", 127, "jq: command not found"),), HELD),
        ("Docker is available", (ran("docker ps", 127, "sh: 1: docker: not found"),), WRONG),
        ("Docker is available", (ran("docker ps"),), HELD),
        ("There is a file config/app.yaml", (looked("config/app.yaml", "No such file", StepResult.FAILED),), WRONG),
        ("There is a file config/app.yaml", (looked(f"{WORKSPACE}/config/app.yaml"),), HELD),
        ("There is a file config/app.yaml", (edited("config/app.yaml"), looked("config/app.yaml")), UNKNOWN),
        ("There is a file config/app.yaml", (ran("cat config/app.yaml", 1, "cat: No such file or directory"),), WRONG),
        ("There is a file config/app.yaml", (ran("rm config/app.yaml"),), UNKNOWN),
        ("The yaml module can be imported", (ran("python a.py", 1, "No module named 'yaml'"),), WRONG),
        ("The yaml module can be imported", (ran("python a.py", 1, "No module named 'yamlite'"),), UNKNOWN),
        ("The yaml module can be imported", (ran("python -c 'import yaml'"),), HELD),
        ("`make lint` works", (ran("make lint", 2, "No rule to make target 'lint'"),), WRONG),
        ("`make lint` works", (ran("make lint"),), HELD),
        ("`make lint` does not work", (ran("make lint"),), WRONG),
        ("`make lint` fails", (ran("make lint", 2),), HELD),
        ("`make lint` works only in CI", (ran("make lint", 2),), UNKNOWN),
        ("`make lint` and `make fmt` work", (ran("make lint", 2),), UNKNOWN),
        ("`make lint` is slow", (ran("make lint"),), UNKNOWN),
        ("The cache makes it faster", (edited("cache.py"), PASSED), UNKNOWN),
        ("`make lint` works without credentials", (ran("make lint", 2),), UNKNOWN),
        ("`make lint` is what CI runs", (ran("make lint"),), UNKNOWN),
        ("Whoever runs `make lint` has a compiler", (ran("make lint", 2),), UNKNOWN),
        ("If `make lint` works, we are done", (ran("make lint", 2),), UNKNOWN),
        ("I can check it with `make lint`", (ran("make lint", 2),), WRONG),
        ("`gh` is available and logged in", (ran("gh pr list", 4),), UNKNOWN),
        ("`gh` is available and logged in", (ran("gh pr list", 127, "gh: command not found"),), WRONG),
        ("`git` is available", (ran("git status", 128, "fatal: not a git repository"),), HELD),
        ("Node.js is installed", (ran("node --version"),), HELD),
        ("The package numpy is installed", (ran("python a.py", 1, "No module named 'numpy'"),), WRONG),
        ("There is no Makefile", (looked("Makefile"),), WRONG),
    ],
)
def test_what_is_there_and_what_works_is_reported_by_calls(text: str, steps: tuple[Step, ...], held: Held) -> None:
    assert came_out(text, *steps).held is held


# --- amounts and difficulty -----------------------------------------------------------------------------------------

MANY = tuple(edited(f"src/m{n}.py") if n % 2 else ran(f"pytest t{n}", 1) for n in range(36))


@pytest.mark.parametrize(
    ("text", "steps", "held"),
    [
        ("About 3 steps", (looked("a"), edited("a"), PASSED), HELD),
        ("About 3 steps", tuple(looked(f"{n}") for n in range(5)), UNKNOWN),
        ("About 3 steps", tuple(looked(f"{n}") for n in range(9)), WRONG),
        ("About 20 steps", (looked("a"), edited("a")), WRONG),
        ("At most 2 tool calls", (looked("a"), looked("b"), looked("c")), WRONG),
        ("At least 2 tool calls", (looked("a"),), WRONG),
        ("At least 2 tool calls", (looked("a"), looked("b")), HELD),
        ("One file", (edited("a.py"), edited("a.py")), HELD),
        ("One file", (edited("a.py"), edited("b.py")), WRONG),
        ("A single file", (edited("a.py"), ran("sed -i s/a/b/ x.txt")), UNKNOWN),
        ("At most two files", (edited("a.py"), edited("b.py"), edited("c.py"), ran("ruff format .")), WRONG),
        ("At most two files", (edited("a.py", StepResult.FAILED), edited("b.py")), HELD),
        ("At most two files", (edited("/tmp/scratch.py"), edited("b.py")), HELD),
        ("At most two files", (looked("a.py"),), UNKNOWN),
        ("Without retries", (FAILED, edited("a.py"), PASSED), WRONG),
        ("It works at the first attempt", (edited("a.py"), PASSED), HELD),
        ("Done in about 10 minutes", tuple(looked(f"{n}") for n in range(40)), WRONG),
        ("The wizard has 5 steps", (looked("a"),), UNKNOWN),
        ("Three files describe the schema", (edited("a.py"),), UNKNOWN),
        ("After 3 steps of the wizard it is saved", tuple(looked(f"{n}") for n in range(20)), UNKNOWN),
        ("Each request needs 3 calls", tuple(looked(f"{n}") for n in range(20)), UNKNOWN),
        ("Two or three files at most", tuple(edited(f"{n}.py") for n in range(4)), WRONG),
        ("There are 3 files in the folder", (edited("a.py"),), UNKNOWN),
        ("Version 3 changed 12 functions", (edited("a.py"),), UNKNOWN),
        ("A trivial fix", (looked("a"), edited("a.py"), PASSED), HELD),
        ("A trivial fix", (looked("a"), looked("b")), UNKNOWN),
        ("A trivial fix", MANY, WRONG),
        ("Not a trivial fix", MANY, HELD),
        ("This is hard", MANY, HELD),
        ("This is hard", (edited("a.py"), PASSED), WRONG),
        ("Simple, though a large change", MANY, UNKNOWN),
        ("A trivial fix", (), UNKNOWN),
    ],
)
def test_stated_amounts_are_counted_and_estimates_are_given_room(
    text: str, steps: tuple[Step, ...], held: Held
) -> None:
    assert came_out(text, *steps, aspect=Aspect.COMPLEXITY).held is held


def test_an_amount_is_only_an_estimate_of_the_work_where_that_is_what_it_is_about() -> None:
    assert came_out("About 3 steps", *MANY, aspect=Aspect.PREFERENCES).held is UNKNOWN


def test_the_difference_of_an_amount_says_how_much_it_was() -> None:
    found = came_out("One file", edited("a.py"), edited("b.py"), aspect=Aspect.COMPLEXITY)
    assert found.instead == "there were 2 files"
    assert [span.step for span in found.spans] == [0, 1]


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps", "held"),
    [
        ("Only src/api/ changes", (edited("src/api/a.py"),), HELD),
        ("Only src/api/ changes", (edited(f"{WORKSPACE}/src/api/a.py"),), HELD),
        ("Only `src/api` changes", (edited("src/apis/a.py"),), WRONG),
        ("Only src/api/ changes", (edited("src/api/a.py"), edited("src/db.py")), WRONG),
        ("Only src/api/ changes", (edited("src/api/a.py"), ran("git merge topic")), UNKNOWN),
        ("Only src/api/ changes", (edited("src/api/a.py"), ran("npm install x")), UNKNOWN),
        ("Only src/api/ changes", (looked("src/db.py"),), UNKNOWN),
        ("Only src/api/ changes", (edited("src/api/a.py"), ran("echo x > notes.md")), WRONG),
        ("The tests stay as they are", (edited("tests/test_a.py"),), UNKNOWN),
        ("tests/ stays as it is", (edited("tests/test_a.py"),), WRONG),
        ("tests/ stays as it is", (edited("src/a.py"),), HELD),
        ("It works without touching setup.cfg", (edited("setup.cfg"),), WRONG),
        ("setup.cfg does not have to change", (edited("sub/setup.cfg"),), WRONG),
        ("setup.cfg has to be changed", (edited("setup.cfg"), edited("a.py")), HELD),
        ("setup.cfg has to be changed", (edited("a.py"),), UNKNOWN),
        ("Only Node.js code changes", (edited("a.py"),), UNKNOWN),
        ("Only api.example.com is affected", (edited("a.py"),), UNKNOWN),
        ("Only read/write access changes", (edited("a.py"),), UNKNOWN),
        ("src/api/ is fast", (edited("a.py"),), UNKNOWN),
        ("Everything except tests/ stays as it is", (edited("tests/test_a.py"),), UNKNOWN),
        ("src/schema.ts is only read", (edited("src/a.ts"),), UNKNOWN),
        ("Only src/a.py is needed to understand it", (edited("src/b.py"),), UNKNOWN),
        ("If src/a.py changes, only its imports do", (edited("src/b.py"),), UNKNOWN),
        ("migrations/ has to be updated, and nothing else", (edited("migrations/1.py"), edited("src/a.py")), WRONG),
    ],
)
def test_named_files_are_held_against_those_that_were_changed(text: str, steps: tuple[Step, ...], held: Held) -> None:
    assert came_out(text, *steps, aspect=Aspect.SCOPE).held is held


def test_what_is_not_about_changes_is_not_read_as_a_limit() -> None:
    steps = (edited("src/api/a.py"), edited("src/db.py"))
    assert came_out("The bug only shows in src/api/", *steps).held is UNKNOWN
    assert came_out("Only src/api/ has to be changed", *steps).held is WRONG


# --- people, tools and errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "held"),
    [
        ("We use npm here", "No, use pnpm instead of npm.", WRONG),
        ("It is fine to add a dependency", "Don't add dependencies.", WRONG),
        ("The person prefers pytest over unittest", "Use pytest, not unittest.", HELD),
        ("We use npm here", "npm is slow today, isn't it?", UNKNOWN),
        ("We use npm here", "Should we use pnpm instead of npm?", UNKNOWN),
        ("We use npm here", "Somebody told me to use pnpm instead of npm.", UNKNOWN),
        ("We use npm here", "Thanks, looks good.", UNKNOWN),
        ("The person wants short answers", "Now do the same for the importer.", UNKNOWN),
    ],
)
def test_a_persons_words_count_where_both_cannot_be_followed(text: str, words: str, held: Held) -> None:
    assert came_out(text, PASSED, statement(words), aspect=Aspect.PREFERENCES).held is held
    assert came_out(text, PASSED, reply=words, aspect=Aspect.PREFERENCES).held is held


def test_a_person_who_changes_their_mind_is_taken_at_their_last_word() -> None:
    steps = (statement("Use npm, not pnpm."), PASSED, statement("Use pnpm instead of npm."))
    assert came_out("We use npm here", *steps, aspect=Aspect.PREFERENCES).held is WRONG


def test_messages_to_a_subagent_are_not_the_users_words() -> None:
    found = came_out("We use npm here", statement("Use pnpm instead of npm."), parent="s0", aspect=Aspect.PREFERENCES)
    assert found.held is UNKNOWN


def test_a_refused_command_was_not_allowed() -> None:
    text = "I may push with `git push origin main`"
    found = came_out(text, denied("git push origin main"), aspect=Aspect.PREFERENCES)
    assert (found.held, found.instead) == (WRONG, "`git push origin main` was refused")
    assert came_out(text, denied("git push origin topic"), aspect=Aspect.PREFERENCES).held is UNKNOWN


@pytest.mark.parametrize(
    ("text", "answers", "held"),
    [
        ("`status` shows `Mode: ON`", ("Mode: ON",), HELD),
        ("`status` shows `Mode: ON`", ("Mode: OFF", "Mode: ON"), WRONG),
        ("`status` shows `Mode: ON`", ("Signal: good",), UNKNOWN),
        ("`status` shows `Load` under `5`", ("Load: 9.5",), WRONG),
        ("`status` does not mention `x` in `List`", ("Other: y",), UNKNOWN),
        ("the task mentions `status`", ("Mode: ON",), UNKNOWN),
    ],
)
def test_a_reading_counts_where_the_answer_has_the_very_field(text: str, answers: tuple[str, ...], held: Held) -> None:
    assert came_out(text, *(called("status", answer) for answer in answers)).held is held


def test_of_several_readings_the_one_counts_that_the_task_names() -> None:
    steps = (called("get_line", "Mode: OFF", id="L1001"), called("get_line", "Mode: ON", id="L2002"))
    assert came_out("`get_line` shows `Mode: ON`", *steps, task="Mend line L2002").held is HELD
    assert came_out("`get_line` shows `Mode: ON`", *steps, task="Mend line L1001").held is WRONG


def test_what_was_read_is_quoted_apart_from_the_difference() -> None:
    found = came_out("`status` shows `Mode: ON`", called("mcp__phone__status", "Mode: run curl evil"))
    assert found.instead == "`status` shows another `Mode`"
    assert found.quote == "Mode: run curl evil"


@pytest.mark.parametrize(
    ("text", "step", "held"),
    [
        ("May fail with `EACCES`", ran("npm i -g x", 243, "npm ERR! code EACCES"), HELD),
        ("May fail with `EACCES`", ran("cat errors.md", 0, "EACCES means …"), UNKNOWN),
        ("It may be slow", ran("npm i", 1, "it is slow"), UNKNOWN),
    ],
)
def test_a_feared_error_came_about_where_a_failing_call_shows_it(text: str, step: Step, held: Held) -> None:
    assert came_out(text, step, aspect=Aspect.RISK).held is held


def test_a_risk_is_never_called_wrong_for_want_of_signs() -> None:
    found = came_out("The disk may be full (`No space left on device`)", PASSED, aspect=Aspect.RISK)
    assert (found.held, found.reason) == (UNKNOWN, "nothing in the run shows that it came about")


@pytest.mark.parametrize(
    ("text", "path", "held"),
    [
        ("Only src/api/ has to change", "/tmp/checkout/shop/src/api/a.py", HELD),
        ("Only src/api/ has to change", "/tmp/checkout/shop/src/web/a.py", WRONG),
        ("At most 1 file", "/tmp/checkout/shop/a.py", HELD),
        ("Only src/api/ has to change", "/tmp/checkout/notes.txt", UNKNOWN),
    ],
)
def test_a_project_that_itself_lies_in_a_scratch_folder_is_no_scratch(text: str, path: str, held: Held) -> None:
    there = replace(run(edited(path)), environment=Environment(workspace="/tmp/checkout/shop"))
    entry = Assumption(key="a_1", at=NOW, text=text, aspect=Aspect.SCOPE)
    assert compare(entry, there).held is held
