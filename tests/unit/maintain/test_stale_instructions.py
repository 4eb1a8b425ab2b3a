"""Commands that files name and that sessions find missing: listed with their evidence, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Step, StepResult
from tacit.ingest.client_memories import Statement
from tacit.learn.attempt_outlines import outline_of
from tacit.maintain.stale_instructions import SESSIONS, StaleCommand, stale_commands
from tests.unit.making import NOW, WORKSPACE, attempt, shell

ROOT = Path(WORKSPACE)
LINT = "Run `make lint-all` before a commit."
NO_RULE = "make: *** No rule to make target 'lint-all'. Stop."


def failed(command: str, output: str) -> Step:
    return shell(command, StepResult.FAILED, seen=f"Exit code 2\n{output}", code=2)


def sessions(*steps: Sequence[Step]) -> list[Outline]:
    """One session a day."""
    return [
        replace(outline_of(attempt(*each), Assessment()), session=f"s{number}", at=NOW + timedelta(days=number))
        for number, each in enumerate(steps)
    ]


def stale(text: str, *steps: Sequence[Step], path: Path = ROOT / "AGENTS.md", code: bool = False) -> list[StaleCommand]:
    return stale_commands([Statement(path, 7, text, code)], sessions(*steps), workspace=ROOT)


@pytest.mark.parametrize(
    ("text", "command", "output"),
    [
        (LINT, "make lint-all", NO_RULE),
        ("Lint with `npm run lint:all`", "npm run lint:all 2>&1", 'npm error Missing script: "lint:all"'),
        ("`yarn codegen`", "yarn codegen", "error Command \"codegen\" not found."),
        ("`just ship`", "just ship", "error: Justfile does not contain recipe `ship`"),
        ("Run `pytest`", "pytest -q tests", "bash: line 1: pytest: command not found"),
        ("`uv run mypy`", "uv run mypy", "error: Failed to spawn: `mypy`\n  Caused by: No such file or directory (os error 2)"),
        ("`python scripts/gen.py`", "python scripts/gen.py", "python: can't open file '/srv/ann/scripts/gen.py'"),
        ("`./scripts/release.sh`", "./scripts/release.sh", "bash: ./scripts/release.sh: No such file or directory"),
        ("`cargo xtask`", "cargo xtask", "error: no such command: `xtask`"),
        ("`pytest tests/unit`", "pytest tests/unit", "ERROR: file or directory not found: tests/unit"),
    ],
)  # fmt: skip
def test_a_named_command_whose_program_or_target_is_missing_is_listed(text: str, command: str, output: str) -> None:
    [found] = stale(text, [failed(command, output)])
    assert (found.statement.line, found.sessions, found.first, found.last) == (7, 1, NOW, NOW)
    assert found.error in output
    assert found.command in text


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("make lint-all", "src/a.py:1: error: name 'x' is not defined"),
        ("make lint-all", "make: *** No rule to make target 'x.o', needed by 'lint-all'.  Stop."),
        ("make lint-all", "/bin/sh: 1: ruff: not found"),
        ("make lint", "make: *** No rule to make target 'lint'.  Stop."),
        ("cd web && make lint-all", NO_RULE),
    ],
)
def test_another_failure_or_another_command_is_not(command: str, output: str) -> None:
    assert stale(LINT, [failed(command, output)]) == []


def test_a_single_word_is_a_command_only_where_the_text_says_so() -> None:
    gone = [failed("python x.py", "zsh:1: command not found: python")]
    assert stale("Backends are `go`, `python` and `rust`.", gone) == []
    assert [each.command for each in stale("Use `python` for scripts.", gone)] == ["python"]


def test_a_command_that_worked_since_is_not_and_one_that_worked_before_is_dated() -> None:
    gone, there = [failed("make lint-all", NO_RULE)], [shell("make lint-all")]
    assert stale(LINT, gone, there) == []
    assert stale(LINT, [*gone, *there]) == []
    [found] = stale(LINT, there, gone, gone)
    assert (found.worked, found.first, found.last, found.sessions) == (
        NOW, NOW + timedelta(days=1), NOW + timedelta(days=2), 2,
    )  # fmt: skip


def test_a_shell_that_stays_in_a_folder_runs_its_commands_there() -> None:
    steps = [shell("cd web"), failed("make lint-all", NO_RULE)]
    [outline] = sessions(steps)
    statement = Statement(ROOT / "AGENTS.md", 7, LINT)
    assert stale_commands([statement], [replace(outline, keeps_folder=True)], workspace=ROOT) == []
    assert len(stale_commands([statement], [replace(outline, keeps_folder=False)], workspace=ROOT)) == 1
    back = sessions([*steps[:1], failed(f"cd {WORKSPACE} && make lint-all", NO_RULE)])
    assert len(stale_commands([statement], [replace(each, keeps_folder=True) for each in back], workspace=ROOT)) == 1


def test_only_the_latest_sessions_count() -> None:
    assert stale(LINT, [failed("make lint-all", NO_RULE)], *([shell("ls")] for _ in range(SESSIONS))) == []


def test_what_works_for_the_same_goal_is_named() -> None:
    gone = failed("pytest -q", "bash: pytest: command not found")
    [found] = stale("Run `pytest`", [gone, shell("uv run pytest -q")])
    assert found.instead == "uv run pytest"


def test_lines_of_code_and_files_of_a_folder_speak_of_their_folder() -> None:
    missing = 'npm error Missing script: "e2e"'
    [found] = stale("npm run e2e  # slow", [failed("npm run e2e", missing)], code=True)
    assert found.command == "npm run e2e"
    web = ROOT / "web" / "AGENTS.md"
    assert stale("`npm run e2e`", [failed("npm run e2e", missing)], path=web) == []
    assert len(stale("`npm run e2e`", [failed("cd web && npm run e2e", missing)], path=web)) == 1
    notes = Path("/srv/ann/.claude/projects/x/memory/MEMORY.md")
    assert len(stale("`npm run e2e`", [failed("npm run e2e", missing)], path=notes)) == 1
    assert len(stale("`npm run e2e`", [failed("npm run e2e", missing)], path=ROOT / ".claude" / "rules" / "a.md")) == 1
