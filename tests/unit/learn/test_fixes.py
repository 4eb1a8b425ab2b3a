from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.skill import BEFORE_TAG, Kind
from tacit.domain.trajectory import Origin, StepResult, Trajectory
from tacit.learn.attempt_outlines import call_records, forms_of
from tacit.learn.fix_lessons import fix_lesson
from tacit.learn.fixes import CountedFix, FixCounter, FixKind, SourcedCall
from tacit.text.tool_calls import tool_calls
from tests.unit.learn.attempts import CONFLICT, WORKSPACE, bash, call, conflict, edit, fixed_session, session


def counted(*sessions: Trajectory) -> list[CountedFix]:
    return FixCounter(
        (one.session_id, [SourcedCall(one.id, record) for record in call_records(one, tool_calls(one))])
        for one in sessions
    ).fixes()


def lessons(*sessions: Trajectory) -> list[Candidate]:
    known = {one.id: one for one in sessions}
    return [found for each in counted(*sessions) if (found := fix_lesson(each, known.__getitem__))]


def fixed_by(number: int, command: str, error: str, fix: str, again: str = "") -> Trajectory:
    return session(number, bash(command, error, code=1), bash(fix), bash(again or command, "ok"))


STALE = "error: the rates table is older than its source"


@pytest.mark.parametrize(
    ("fails", "fix", "works", "kind", "what"),
    [
        ("make build", "make rates", "make build", FixKind.RUN_FIRST, "make rates"),
        ("npm run lint", "npm run lint:fix", "npm run lint", FixKind.RUN_FIRST, "npm run lint:fix"),
    ],
)
def test_what_several_sessions_ran_in_between_mends(fails: str, fix: str, works: str, kind: FixKind, what: str) -> None:
    (found,) = counted(*(fixed_by(number, fails, STALE, fix, works) for number in (1, 2, 3)))
    assert (found.fix.kind, found.fix.what, found.sessions) == (kind, what, 3)


@pytest.mark.parametrize(
    ("fails", "works", "kind", "what"),
    [
        ("pytest -q", "uv run pytest -q", FixKind.WRAPPED, "uv run"),
        ("pytest -q", "docker compose exec app pytest -q", FixKind.WRAPPED, "docker compose exec app"),
        ("npm install", "npm install --legacy-peer-deps", FixKind.OPTION, "--legacy-peer-deps"),
        ("make smoke", "DB_PORT=5433 make smoke", FixKind.SETTING, "DB_PORT=5433"),
        ("go test ./...", "cd e2e && go test ./...", FixKind.FOLDER, "e2e"),
        ("cat docs/a.md", "cat guide/a.md", FixKind.TARGET, "guide/a.md"),
    ],
)
def test_another_way_of_the_same_call_mends(fails: str, works: str, kind: FixKind, what: str) -> None:
    sessions = [session(number, bash(fails, STALE, code=1), bash(works, "ok")) for number in (1, 2)]
    (found,) = counted(*sessions)
    assert (found.fix.kind, found.fix.what) == (kind, what)


@pytest.mark.parametrize(
    ("again", "grade"),
    [
        ("uv run pytest -q", Grade.MACHINE),
        ("uv run pytest -q | tail -5", Grade.SELF),
        ("uv run pytest -q || true", Grade.SELF),
        ("uv run pytest --version", Grade.SELF),
    ],
)
def test_only_a_check_whose_status_nothing_hides_verifies_a_lesson(again: str, grade: Grade) -> None:
    sessions = [session(number, bash("pytest -q", STALE, code=1), bash(again, "ok")) for number in (1, 2)]
    (lesson,) = lessons(*sessions)
    assert lesson.assessment is not None
    assert (lesson.assessment.outcome, lesson.assessment.grade) == (Outcome.SUCCESS, grade)


def test_another_call_that_worked_does_not_verify_a_lesson() -> None:
    failed = call("fetch", {"a": 1}, STALE, result=StepResult.FAILED)
    plain = [session(number, failed, call("fetch", {"a": 1, "b": 2}, "ok")) for number in (1, 2)]
    setup = [fixed_session(number) for number in (1, 2)]
    for sessions in (plain, setup):
        (lesson,) = lessons(*sessions)
        assert lesson.assessment is not None
        assert lesson.assessment.grade is Grade.SELF


def test_one_session_is_not_enough() -> None:
    again = session(1, conflict(), bash("npm install --legacy-peer-deps", "added"), task="More")
    assert counted(fixed_session(1)) == counted(fixed_session(1), again) == []


def test_one_session_is_enough_where_the_error_names_what_to_run_first() -> None:
    (found,) = counted(fixed_by(1, "make build", "error: stale, run make rates first", "make rates"))
    assert found.fix.what == "make rates"


def test_an_option_that_the_error_itself_names_is_no_lesson() -> None:
    error = "error: no environment found, or pass --system to install anyway"
    met = [
        session(number, bash("uv pip install x", error, code=1), bash("uv pip install --system x", "ok"))
        for number in (1, 2)
    ]
    works = [session(number, bash("uv pip install x", "ok")) for number in (3, 4, 5)]
    assert counted(*met, *works) == counted(met[0]) == []
    assert [found.warn_before for found in counted(*met)] == [True], "a warning before the call spares the failure"


def test_a_formatter_that_mends_its_own_check_is_no_lesson() -> None:
    check = "cargo fmt --check"
    sessions = [
        session(number, bash(check, STALE, code=1), bash("cargo fmt"), bash("cargo check"), bash(check))
        for number in (1, 2, 3)
    ]
    assert counted(*sessions) == []


def test_an_error_that_was_fixed_in_different_folders_names_none() -> None:
    sessions = [
        fixed_by(number, "go test ./...", STALE, "ls", f"cd {folder} && go test ./...")
        for number, folder in enumerate("aab")
    ]
    assert counted(*sessions) == []
    assert [found.fix.what for found in counted(*sessions[:2])] == ["a"]


def test_one_session_is_enough_where_a_program_is_missing() -> None:
    (found,) = counted(fixed_by(1, "swag init", "bash: swag: command not found", "go install example.com/swag@latest"))
    assert found.fix.what.startswith("go install")


@pytest.mark.parametrize(
    ("fails", "error", "works", "what"),
    [
        ("python tools/x.py", "zsh:1: command not found: python", "python3 tools/x.py", "python3"),
        ("python -m pytest -q", "python: command not found", ".venv/bin/python -m pytest", ".venv/bin/python"),
        ("python - <<'E'\nprint(1)\nE", "bash: python: command not found", "uv run python -", "uv run python"),
        ("timeout 5 make test", "zsh:1: command not found: timeout", "gtimeout 5 make test", "gtimeout"),
        (
            "docker-compose up",
            "docker-compose: command not found",
            "docker compose up",
            "docker compose",
        ),
    ],
)
def test_what_was_called_in_place_of_a_missing_program_is_a_lesson(
    fails: str, error: str, works: str, what: str
) -> None:
    one = session(1, bash(fails, error, code=127), bash(works, "ok"))
    (found,) = counted(one)
    assert (found.fix.kind, found.fix.what) == (FixKind.PROGRAM, what)
    (lesson,) = lessons(one)
    assert fails.startswith(found.fix.instead_of)
    assert f"`{found.fix.instead_of}`" in lesson.content.description
    assert f"`{what}`" in lesson.content.description


def test_a_missing_program_is_one_error_whatever_it_was_to_run() -> None:
    error = "zsh:1: command not found: python"
    sessions = [
        session(number, bash(f"python tools/{name}.py", error, code=127), bash(f"python3 tools/{name}.py", "ok"))
        for number, name in enumerate("abc", 1)
    ]
    (found,) = counted(*sessions)
    assert (found.goal.goal, found.sessions) == ("python", 3)


def test_a_program_that_other_sessions_found_is_not_missing() -> None:
    hidden = session(1, bash("python a.py", "zsh:1: command not found: python", code=127), bash("python3 a.py", "ok"))
    assert counted(hidden, session(2, bash("python b.py", "ok"))) == []


def test_looking_around_mends_nothing() -> None:
    sessions = [
        session(number, bash("make build", STALE, code=1), bash("ls"), bash("make --help"), bash("make build", "ok"))
        for number in (1, 2, 3)
    ]
    assert counted(*sessions) == []


def test_what_is_done_all_the_time_mends_nothing() -> None:
    usual = [bash("git add -A"), bash("make docs")] * 6
    sessions = [
        session(number, *usual, bash("make build", STALE, code=1), *usual, bash("make build", "ok"), *usual)
        for number in (1, 2)
    ]
    assert counted(*sessions) == []


def test_a_fix_after_which_the_same_error_comes_again_mends_nothing() -> None:
    useless = [
        session(number, bash("make build", STALE, code=1), bash("make clean"), bash("make build", STALE, code=1))
        for number in (3, 4)
    ]
    good = [fixed_by(number, "make build", STALE, "make clean") for number in (1, 2)]
    assert counted(*good, *useless) == []
    assert [each.fix.what for each in counted(*good)] == ["make clean"]


def test_mending_code_is_the_work_itself_and_mending_a_setting_is_a_lesson() -> None:
    def edited(number: int, path: str, error: str = STALE) -> Trajectory:
        return session(number, bash("make check", error, code=1), edit(path, "old", "new"), bash("make check", "ok"))

    assert counted(*(edited(number, "src/app.py") for number in (1, 2))) == []
    assert counted(*(edited(number, "src/app.py", "error: app.py is out of date") for number in (1, 2, 3))) == []
    assert counted(*(edited(number, "tests/test_app.py") for number in (1, 2, 3))) == []
    (registry,) = counted(*(edited(number, "src/icon_registry.py") for number in (1, 2, 3)))
    assert registry.fix.what == "src/icon_registry.py"
    (found,) = counted(*(edited(number, "versions.toml") for number in (1, 2, 3)))
    assert (found.fix.kind, found.fix.what) == (FixKind.EDIT, "versions.toml")


def test_an_error_that_passes_by_itself_is_no_lesson() -> None:
    error = "fatal: unable to access: Could not resolve host: example.com"
    assert counted(*(fixed_by(number, "git fetch", error, "make clean") for number in (1, 2, 3))) == []


def test_an_exit_status_that_a_pipe_hid_is_a_failure_where_the_output_shows_it() -> None:
    sessions = [
        session(number, bash("make build 2>&1 | tail -5", f"{STALE}\nmake: *** [build] Error 1"), bash("make rates"),
                bash("make build", "ok"))
        for number in (1, 2)
    ]  # fmt: skip
    assert [each.fix.what for each in counted(*sessions)] == ["make rates"]


def test_lines_that_the_command_prints_when_it_works_do_not_tell_the_error() -> None:
    banner = "error reporting is on"
    sessions = [
        session(
            number, bash("make build", f"{banner}\n{STALE}", code=1), bash("make rates"), bash("make build", banner)
        )
        for number in (1, 2)
    ]
    (found,) = counted(*sessions)
    assert found.signature == STALE


def test_the_stronger_fix_accounts_for_a_failure() -> None:
    sessions = [
        session(number, bash("make build", STALE, code=1), bash("mkdir -p out"), bash("make rates"), bash("make build"))
        for number in (1, 2)
    ]
    more = [fixed_by(number, "make build", STALE, "make rates") for number in (3, 4)]
    assert [each.fix.what for each in counted(*sessions, *more)] == ["make rates"]


def test_a_plain_tool_is_compared_by_its_arguments() -> None:
    def asked(number: int) -> Trajectory:
        error = "error: customer_id is needed for this kind of order"
        wrong = call("book", {"item": "a"}, error, result=StepResult.FAILED)
        return session(number, wrong, call("book", {"item": "a", "customer_id": "c"}, "booked"))

    (found,) = counted(asked(1), asked(2))
    assert (found.fix.kind, found.fix.what) == (FixKind.OPTION, "customer_id")


# --- the lesson -------------------------------------------------------------------------------------------------------


def test_a_lesson_names_the_call_the_fix_and_its_support() -> None:
    sessions = [fixed_session(number) for number in (1, 2, 3)]
    (lesson,) = lessons(*sessions)
    content = lesson.content
    assert content.kind is Kind.LESSON
    assert content.signature in CONFLICT
    assert {"`npm install`", "`npm install --legacy-peer-deps`"} <= set(_code(content.description))
    assert content.steps[0].arguments == {"command": "npm install --legacy-peer-deps"}
    assert lesson.provenance.trajectory_ids == tuple(one.id for one in sessions)
    assert content.tags == ("call:npm install", BEFORE_TAG)


def test_only_the_signature_holds_words_from_outside() -> None:
    (lesson,) = lessons(fixed_session(1), fixed_session(2))
    external = {path for path, origin in lesson.origins.items() if origin is Origin.EXTERNAL}
    assert external == {"signature"}


def test_a_call_that_mostly_works_is_not_warned_of() -> None:
    fine = [session(number, bash("npm install", "added 3 packages")) for number in range(10, 16)]
    (lesson,) = lessons(*(_mended_by_cache(number) for number in (1, 2)), *fine)
    assert BEFORE_TAG not in lesson.content.tags


def _mended_by_cache(number: int) -> Trajectory:
    return fixed_by(number, "npm install", CONFLICT, "npm cache clean --force")


def _code(text: str) -> list[Any]:
    return [f"`{span}`" for span in text.split("`")[1::2]]


def test_paths_of_the_workspace_are_relative_in_call_records() -> None:
    made = session(1, bash(f"cd {WORKSPACE}/web && npm test", "ok"))
    (record,) = call_records(made, tool_calls(made))
    assert [form.directory for form in forms_of(record)] == ["web"]
