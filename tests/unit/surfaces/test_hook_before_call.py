"""Before a call: a lesson about such calls is shown once, unless the call follows it; any other call costs nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from tacit.api import Tacit
from tacit.config.location import HookEnvironment
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent
from tacit.recall.call_warnings import FILE
from tacit.store import open_store
from tacit.surfaces.hook.entry import answers
from tacit.surfaces.hook.events import LINES_HEADING, find, parse
from tests.unit.surfaces.hook_events import claude, claude_before, claude_failure, claude_shell, codex_before, stdin
from tests.unit.surfaces.hooked_project import LESSON, MISSING, NORM, WARNING, Project, make_project

SAID = f"{LINES_HEADING}\n- {WARNING.description}"
FAILED = claude_failure("pytest -q", f"Exit code 1\n{MISSING}")
SENDERS = [claude_before, codex_before]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path, NORM, LESSON, WARNING)


def journals(project: Project) -> list[Path]:
    return list((project.folder / ".tacit" / "sessions").glob("*"))


@pytest.mark.parametrize("send", SENDERS)
@pytest.mark.parametrize(
    "command", ["pytest", "cd web && CI=1 pytest -q tests/a.py 2>&1 | tail -5", "bash -c 'pytest -x'"]
)
def test_a_call_that_mostly_fails_brings_its_lesson_once(project, send, command):
    assert project.send(send(command)) == SAID
    assert project.send(send(command)) == ""
    first, second = project.lines
    assert (first["moment"], first["shown"]) == ("before", [project.ids[WARNING.name]])
    assert not second.get("shown")


@pytest.mark.parametrize("send", SENDERS)
@pytest.mark.parametrize("command", ["uv run pytest", "cd web && uv run pytest -q tests/a.py", "uv run -- pytest"])
def test_a_call_that_follows_the_advice_is_left_alone(project, send, command):
    assert project.send(send(command)) == ""
    assert not any(line.get("shown") for line in project.lines)


@pytest.mark.parametrize(
    "command", ["ls", "git commit -m tests", "python manage.py makemigration", "", "echo 'py test'"]
)
def test_another_call_is_not_answered_and_leaves_no_trace(project, command):
    assert project.send(claude_before(command)) == ""
    assert journals(project) == []


def test_a_word_that_is_no_call_is_looked_up_and_warned_of_by_nothing(project):
    assert project.send(claude_before("git commit -m 'run pytest'")) == ""
    assert not any(line.get("shown") for line in project.lines)


@pytest.mark.parametrize("arguments", [{}, {"command": 3}, {"command": None}, {"file_path": "pytest"}])
def test_a_tool_without_a_command_is_not_answered(project, arguments):
    assert project.send(claude("PreToolUse", tool_name="Edit", tool_input=arguments)) == ""
    assert project.send(claude("PreToolUse", tool_name="Bash")) == ""
    assert project.send(claude("PreToolUse")) == ""
    assert journals(project) == []


def test_without_warnings_the_store_is_not_opened(tmp_path):
    project = make_project(tmp_path, NORM, LESSON)
    assert not (project.database.parent / FILE).exists()
    for moment, expected in ((claude_before("pytest"), False), (FAILED, True)):
        event = parse(stdin(moment | {"cwd": str(project.folder)}))
        context = find(event, HookEnvironment({"HOME": str(project.home)}))
        assert context is not None
        assert answers(event, context) is expected


def test_no_store_answers_nothing(tmp_path):
    (tmp_path / ".git").mkdir()
    for moment in (claude_before("pytest"), FAILED):
        event = parse(stdin(moment | {"cwd": str(tmp_path)}))
        context = find(event, HookEnvironment({"HOME": str(tmp_path / "home")}))
        assert context is not None
        assert not answers(event, context)


def test_a_lesson_that_was_shown_before_the_call_does_not_come_again_where_it_failed(project):
    assert project.send(claude_before("pytest")) == SAID
    assert project.send(FAILED) == ""
    again = claude_failure("pytest -x", f"Exit code 1\nerror: also this is wrong here\n{MISSING}")
    assert project.send(again) == ""
    assert project.send(claude_before("pytest")) == ""


def test_a_lesson_that_was_shown_at_the_failure_is_not_shown_before_the_next_call(project):
    assert project.send(FAILED) == SAID
    assert project.send(claude_before("pytest")) == ""


def test_a_new_context_is_warned_again(project):
    project.send(claude("SessionStart", source="startup"))
    assert project.send(claude_before("pytest")) == SAID
    project.send(claude("SessionStart", source="compact"))
    assert project.send(claude_before("pytest")) == SAID


def test_a_subagent_is_warned_for_itself(project):
    assert project.send(claude_before("pytest")) == SAID
    assert project.send(claude_before("pytest", agent_id="a7")) == SAID
    assert project.send(claude_before("pytest", agent_id="a7")) == ""


def test_one_line_with_the_call_twice_is_warned_of_once(project):
    assert project.send(claude_before("pytest tests/a.py; pytest tests/b.py")) == SAID
    assert project.lines[0]["shown"] == [project.ids[WARNING.name]]


def test_each_warned_call_of_a_line_has_its_own_warning(tmp_path):
    lint = replace(
        WARNING,
        name="use-make-lint",
        description="`ruff check` fails here: use `make lint`. (2 sessions)",
        tags=("call:ruff check", "before"),
        signature="error: cannot find the rules of ruff",
        body="**Fix.** Use `make lint`.",
    )
    project = make_project(tmp_path, WARNING, lint)
    told = project.send(claude_before("ruff check . && pytest"))
    assert told.split("\n") == [LINES_HEADING, f"- {lint.description}", f"- {WARNING.description}"]
    assert project.lines[0]["shown"] == [project.ids[lint.name], project.ids[WARNING.name]]


@pytest.mark.parametrize(
    ("goal", "advice", "followed", "not_followed"),
    [
        ("npm test", "run it in `web`", "cd web && npm test", "npm test"),
        ("npm test", "run `npm ci` first", "npm ci && npm test", "npm test"),
        ("npm test", "use `CI=1 npm test`", "CI=1 npm test -- x", "npm test"),
        ("npm test", "use `npm test --silent`", "npm test --silent --all", "npm test --all"),
        ("cat", "use `conf/new.toml`", "cat conf/new.toml", "cat conf/old.toml"),
    ],
)
def test_advice_of_every_sort_is_seen_to_be_followed(tmp_path, goal, advice, followed, not_followed):
    lesson = SkillContent(
        kind=Kind.LESSON,
        name="a-lesson",
        description=f"`{goal}` fails here: {advice}. (2 sessions)",
        tags=(f"call:{goal}", "before"),
        signature="error: something is amiss here",
        body=f"**Fix.** {advice.capitalize()}.",
    )
    project = make_project(tmp_path, lesson)
    assert project.send(claude_before(followed)) == ""
    assert lesson.description in project.send(claude_before(not_followed))


@pytest.mark.parametrize("tags", [("call:pytest",), ("before",), ()])
def test_only_a_lesson_that_is_worth_it_is_said_before_a_call(tmp_path, tags):
    project = make_project(tmp_path, replace(WARNING, tags=tags))
    assert not (project.database.parent / FILE).exists()
    assert project.send(claude_before("pytest")) == ""
    assert project.send(FAILED) == SAID


def test_a_norm_with_such_tags_is_no_warning(tmp_path):
    project = make_project(tmp_path, replace(WARNING, kind=Kind.NORM, signature=""))
    assert project.send(claude_before("pytest")) == ""


def test_a_retired_lesson_warns_of_nothing(project):
    with Tacit(open_store(project.database)) as loop:
        loop.review(project.ids[WARNING.name], "retire", by="ann")
    assert project.send(claude_before("pytest")) == ""


def test_a_candidate_warns_of_nothing(tmp_path):
    project = make_project(tmp_path, NORM)
    with Tacit(open_store(project.database), scope=Scope(Level.PROJECT, "")) as loop:
        loop.propose(WARNING, by="ann")
    assert project.send(claude_before("pytest")) == ""
    assert not (project.database.parent / FILE).exists()


def test_projects_that_share_a_store_have_their_own_warnings(tmp_path):
    shared = tmp_path / "shared" / "tacit.db"
    shared.parent.mkdir()
    told: dict[str, str] = {}
    with Tacit(open_store(shared)) as loop:
        for name in ("shop", "bank"):
            own = replace(
                WARNING, name=f"use-{name}", description=f"`pytest` fails here: use `{name} pytest`.", body=""
            )
            verdict = loop.propose(own, by="ann", scope=Scope(Level.PROJECT, name))
            loop.review(verdict.version_id, "approve", by="ann")
            told[name] = f"{LINES_HEADING}\n- {own.description}"
    for name, text in told.items():
        (tmp_path / name / ".git").mkdir(parents=True)
        project = Project(tmp_path / name, tmp_path / "home", variables={"TACIT_STORE": str(shared)})
        assert project.send(claude_before("pytest", session_id=name)) == text


def test_a_file_that_names_an_unknown_version_warns_of_nothing(project):
    path = project.database.parent / FILE
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "goals": {key: ["v_unknown"] for key in found["goals"]}}))
    assert project.send(claude_before("pytest")) == ""


def test_a_damaged_rendering_is_reported_and_not_shown(project):
    database = apsw.Connection(str(project.database))
    guards = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'renderings'"
    for (name,) in database.execute(guards).fetchall():
        database.execute(f"DROP TRIGGER {name}")
    database.execute("UPDATE renderings SET text = 'obey' WHERE id = ?", (project.ids[WARNING.name],))
    database.close()
    assert project.send(claude_before("pytest")) == ""
    assert project.ids[WARNING.name] in (project.home / ".tacit" / "hook.log").read_text()


def test_an_answer_that_nobody_took_does_not_count_as_shown(project):
    project.send(claude_before("pytest"))
    (path,) = journals(project)
    lost = {"moment": "lost", "lost": project.lines[0]["at"]}
    path.write_text(f"{path.read_text()}{json.dumps(lost)}\n")
    assert project.send(claude_before("pytest")) == SAID


def test_a_line_keeps_no_word_of_the_command(project):
    project.send(claude_before("pytest tests/hunter2.py"))
    assert "hunter2" not in json.dumps(project.lines)


def test_a_call_between_is_told_nothing_of_the_warning(project):
    project.send(claude_before("pytest"))
    assert project.send(claude_shell("pytest", "3 passed")) == ""


@pytest.mark.parametrize("warns", [True, False])
def test_a_narrower_lesson_hides_its_namesake_before_a_call_too(tmp_path, warns):
    project = make_project(tmp_path)
    own = replace(WARNING, description="`pytest` fails here: use `make test`. (3 sessions)", body="Use `make test`.")
    own = own if warns else replace(own, tags=())
    for content, scope in ((WARNING, Scope(Level.ORGANISATION, "")), (own, Scope(Level.PROJECT, ""))):
        with Tacit(open_store(project.database), scope=scope) as memory:
            memory.review(memory.propose(content, by="ann").version_id, "approve", by="ann")
    assert project.send(claude_before("pytest")) == (f"{LINES_HEADING}\n- {own.description}" if warns else "")
