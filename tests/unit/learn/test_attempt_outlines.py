from __future__ import annotations

from datetime import UTC, datetime

from tacit.domain.outline import CallRecord, Outline
from tacit.domain.trajectory import Environment, Role, Step, StepResult, Task, Trajectory
from tacit.learn.attempt_outlines import call_records, forms_of, in_their_folders, keeps_folder, without_copies
from tacit.text.tool_calls import tool_calls


def session(*commands: str, workspace: str = "/w/app", client: str = "claude-code", parent: str = "") -> Trajectory:
    steps = [Step(index=0, role=Role.USER, text="go")]
    steps += (
        Step(index=number, role=Role.AGENT, tool="Bash", arguments={"command": command}, result=StepResult.OK)
        for number, command in enumerate(commands, start=1)
    )
    environment = Environment(client=client, workspace=workspace)
    return Trajectory(task=Task(text="go"), steps=tuple(steps), environment=environment, parent_session_id=parent)


def folders(*commands: str, workspace: str = "/w/app", start: str = "") -> list[str]:
    trajectory = session(*commands, workspace=workspace)
    placed, _ = in_their_folders(call_records(trajectory, tool_calls(trajectory)), start)
    return [form.directory for record in placed for form in forms_of(record)]


def test_the_shell_stays_where_a_call_left_it() -> None:
    assert folders("go vet", "cd src && go test", "go build", "cd ../web", "npm test", "cd /w/app", "make") == [
        "", "src", "src", "web", ""
    ]  # fmt: skip


def test_a_path_from_the_root_is_not_taken_for_one_from_here() -> None:
    assert folders("cd /w/app/src && go test", "cd /w/app/src && go vet", start="src") == ["src", "src"]


def test_a_subshell_and_a_folder_outside_change_nothing() -> None:
    assert folders("(cd src && go test)", "go vet", "cd /tmp/x && make", "make") == ["src", "", "/tmp/x", ""]


def test_a_folder_that_is_not_there_is_not_entered() -> None:
    missed = CallRecord(step=1, command="cd web && npm test", worked=False, lines=("bash: cd: web: No such file",))
    placed, after = in_their_folders([missed, CallRecord(step=2, command="npm test", worked=True)], "web")
    assert (after, [form.directory for form in forms_of(placed[1])]) == ("web", ["web"])


def test_paths_of_windows_shells_lie_in_the_project_too() -> None:
    typed = ("cd /d/app/src && go test", 'Set-Location "D:\\app\\web"; npm test', "cd D:/app/e2e && go vet")
    assert folders(*typed, workspace="D:\\app") == ["src", "web", "e2e"]


def test_a_worktree_counts_as_the_project() -> None:
    assert folders("cd .claude/worktrees/quick-fox/src && go test", "cd .worktrees/x && make") == ["src", ""]


def test_attempts_that_a_continued_session_took_over_count_once() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    calls = (CallRecord(step=1, command="make"), CallRecord(step=2, command="ls"))
    first = Outline(trajectory_id="a", task="build", at=at, calls=calls[:1])
    taken_over = Outline(trajectory_id="b", task="build", at=at, calls=calls)
    others = [Outline(trajectory_id="c", task="build", calls=calls), Outline(trajectory_id="d", task="test", at=at)]
    assert without_copies([first, taken_over, *others]) == [others[0], taken_over, others[1]]


def test_only_the_shell_of_a_whole_session_keeps_its_folder() -> None:
    assert keeps_folder(session("ls"))
    assert not keeps_folder(session("ls", client="codex"))
    assert not keeps_folder(session("ls", parent="s1"))
