from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Origin, Role, Step, StepResult, Trajectory, Usage
from tacit.ingest.codex import CodexReader
from tacit.ingest.log_files import Parts
from tacit.ingest.sources import find_reader, read

THREAD = "01a00000-0000-7000-8000-000000000000"
TURN = "01a00000-0001-7000-8000-00000000000{}"
RECORDED = Path(__file__).parents[2] / "e2e" / "recordings" / "codex" / "transcripts"
AT = "2026-03-01T12:00:00.000Z"


def record(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def meta(**more: Any) -> dict[str, Any]:
    known = {"id": THREAD, "session_id": THREAD, "cwd": "/workspace/shop", "cli_version": "0.166.0", "source": "cli"}
    return record("session_meta", **{**known, "history_mode": "paginated", "git": {"branch": "main"}, **more})


def turn(number: int = 1, *, model: str = "gpt-x", cwd: str = "/workspace/shop") -> list[dict[str, Any]]:
    turn_id = TURN.format(number)
    began = record("event_msg", type="task_started", turn_id=turn_id)
    return [began, record("turn_context", turn_id=turn_id, cwd=cwd, model=model)]


def item(kind: str, *, number: int = 1, **more: Any) -> dict[str, Any]:
    return record("event_msg", type="item_completed", turn_id=TURN.format(number), item={"type": kind, **more})


def asked(text: str, *more: dict[str, Any], number: int = 1) -> dict[str, Any]:
    return item("UserMessage", number=number, id="u", content=[{"type": "text", "text": text}, *more])


def said(text: str) -> list[dict[str, Any]]:
    content = [{"type": "output_text", "text": text}]
    message = record("response_item", type="message", role="assistant", content=content)
    return [item("AgentMessage", id="m", content=[{"type": "Text", "text": text}]), message]


def called(call: str, name: str = "exec_command", **arguments: Any) -> dict[str, Any]:
    given = json.dumps(arguments)
    return record("response_item", type="function_call", name=name, arguments=given, call_id=call)


def patched(call: str, patch: str, name: str = "apply_patch") -> dict[str, Any]:
    return record("response_item", type="custom_tool_call", name=name, input=patch, call_id=call)


def output(call: str, text: Any) -> dict[str, Any]:
    return record("response_item", type="function_call_output", call_id=call, output=text)


def ran(call: str, command: str, *, exit_code: int | None = 0, printed: str = "", **more: Any) -> dict[str, Any]:
    status = "completed" if exit_code == 0 else "failed"
    known: dict[str, Any] = {
        "command": ["/bin/bash", "-lc", command],
        "cwd": "file:///workspace/shop",
        "status": status,
    }
    number = more.pop("number", 1)
    known |= {"aggregated_output": printed, "exit_code": exit_code, "source": "unified_exec_startup"}
    return item("CommandExecution", number=number, id=call, **{**known, **more})


def host(text: str, kind: str, *, role: str = "developer") -> dict[str, Any]:
    noted = {"content_item_kinds": [kind]} if kind else {}
    content = [{"type": "input_text", "text": text}]
    given = {"internal_chat_message_metadata_passthrough": noted}
    return record("response_item", type="message", role=role, content=content, **given)


def write(folder: Path, *records: dict[str, Any] | str) -> Path:
    path = folder / f"rollout-2026-03-01T12-00-00-{THREAD}.jsonl"
    lines = (line if isinstance(line, str) else json.dumps(line) for line in records)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def session(folder: Path, *records: dict[str, Any]) -> Trajectory:
    [trajectory] = read(write(folder, meta(), *turn(), asked("Mend the build"), *records))
    return trajectory


def steps(folder: Path, *records: dict[str, Any]) -> tuple[Step, ...]:
    return session(folder, *records).actions


def everything(parts: Parts) -> list[Trajectory | InvalidTrajectory]:
    found: list[Trajectory | InvalidTrajectory] = []
    while True:
        try:
            found.append(next(parts))
        except InvalidTrajectory as problem:
            found.append(problem)
        except StopIteration:
            return found


def test_a_rollout_is_told_by_its_content(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *turn(), asked("Mend the build"))
    assert find_reader(path).name == "codex"


def test_the_first_record_tells_the_circumstances(tmp_path: Path) -> None:
    trajectory = session(tmp_path, *said("Done."))
    known = trajectory.environment
    assert trajectory.session_id == THREAD
    assert trajectory.task.project == "shop"
    assert (known.client, known.client_version, known.model) == ("codex", "0.166.0", "gpt-x")
    assert (known.workspace, known.branch) == ("/workspace/shop", "main")
    assert trajectory.steps[0].at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_file_without_its_first_record_is_named_by_the_file(tmp_path: Path) -> None:
    [trajectory] = read(write(tmp_path, *turn(), asked("Mend the build"), *said("Done.")))
    assert trajectory.session_id == THREAD
    assert trajectory.task.project == "shop"


def test_a_command_is_what_a_person_would_type(tmp_path: Path) -> None:
    [step] = steps(tmp_path, called("c", cmd="make test"), ran("c", "make test", printed="ok\n"))
    assert (step.tool, step.arguments) == ("exec_command", {"command": "make test"})
    assert (step.result, step.exit_code, step.observation) == (StepResult.OK, 0, "ok\n")


@pytest.mark.parametrize(
    ("workdir", "typed"),
    [
        ("/workspace/shop", "make"),
        ("/workspace/shop/web app", "cd 'web app' && make"),
        ("/srv", "cd /srv && make"),
        ("web", "cd web && make"),
    ],
)
def test_a_command_elsewhere_says_where(tmp_path: Path, workdir: str, typed: str) -> None:
    [step] = steps(tmp_path, called("c", cmd="make", workdir=workdir), output("c", "Exit code: 0\nOutput:\n"))
    assert step.arguments == {"command": typed}


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        (["bash", "-lc", "ls | wc"], "ls | wc"),
        (["powershell.exe", "-NoProfile", "-Command", "dir"], "dir"),
        (["git", "commit", "-m", "two words"], "git commit -m 'two words'"),
        (["bash", "run.sh"], "bash run.sh"),
    ],
)
def test_the_shell_around_a_command_is_taken_off(tmp_path: Path, command: list[str], typed: str) -> None:
    done = output("c", '{"output":"x","metadata":{"exit_code":0}}')
    [step] = steps(tmp_path, called("c", "shell", command=command), done)
    assert step.arguments == {"command": typed}
    assert (step.result, step.observation) == (StepResult.OK, "x")


def test_a_call_that_has_an_item_and_an_output_counts_once(tmp_path: Path) -> None:
    told = "Chunk ID: 1a\nWall time: 0.0 seconds\nProcess exited with code 3\nOutput:\nno\n"
    [step] = steps(tmp_path, called("c", cmd="x"), ran("c", "x", exit_code=3, printed="no\n"), output("c", told))
    assert (step.result, step.exit_code, step.observation) == (StepResult.FAILED, 3, "no\n")


def test_without_an_item_the_output_tells_the_exit_code(tmp_path: Path) -> None:
    told = "Chunk ID: 1a\nWall time: 0.0 seconds\nProcess exited with code 3\nOriginal token count: 4\nOutput:\nno\n"
    [step] = steps(tmp_path, called("c", cmd="x"), output("c", told))
    assert (step.result, step.exit_code, step.observation) == (StepResult.FAILED, 3, "no\n")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ('exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }', StepResult.DENIED),
        ("Command blocked by PreToolUse hook: not here. Command: x", StepResult.DENIED),
        ("patch rejected: writing outside of the project; rejected by user approval settings", StepResult.DENIED),
        ("Wall time: 5.6 seconds\naborted by user", StepResult.INTERRUPTED),
        ("aborted by user after 5.2s", StepResult.INTERRUPTED),
        ("unsupported call: exec_command", StepResult.FAILED),
        ("Chunk ID: 1a\nProcess running with session ID 7\nOutput:\nup\n", StepResult.UNKNOWN),
        ("something else", StepResult.UNKNOWN),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\naborted by user", StepResult.OK),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\npatch rejected by user", StepResult.OK),
        ({"content": "broken", "success": False}, StepResult.FAILED),
    ],
)
def test_an_output_tells_how_a_call_ended(tmp_path: Path, told: Any, expected: StepResult) -> None:
    [step] = steps(tmp_path, called("c", cmd="x"), output("c", told))
    assert step.result is expected


def test_a_command_that_still_runs_gets_its_end_later(tmp_path: Path) -> None:
    running = output("c", "Chunk ID: 1a\nProcess running with session ID 7\nOutput:\nup\n")
    first, second = steps(
        tmp_path, called("c", cmd="serve"), running, called("d", cmd="curl x"), ran("d", "curl x"),
        ran("c", "serve", exit_code=4, printed="up\ndown\n"),
    )  # fmt: skip
    assert (first.arguments["command"], first.exit_code, first.observation) == ("serve", 4, "up\ndown\n")
    assert second.arguments["command"] == "curl x"


def test_what_was_stopped_stays_stopped_when_its_item_comes_late(tmp_path: Path) -> None:
    aborted = record("event_msg", type="turn_aborted", turn_id=TURN.format(1), reason="interrupted")
    told = output("c", "Wall time: 5.6 seconds\naborted by user")
    [step] = steps(tmp_path, called("c", cmd="sleep 9"), told, aborted, ran("c", "sleep 9", exit_code=137))
    assert (step.result, step.exit_code) == (StepResult.INTERRUPTED, None)


def test_a_call_without_any_answer_is_stopped_with_its_turn(tmp_path: Path) -> None:
    aborted = record("event_msg", type="turn_aborted", turn_id=TURN.format(1))
    [step] = steps(tmp_path, called("c", cmd="sleep 9"), aborted)
    assert step.result is StepResult.INTERRUPTED


PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@ def f\n x = 1\n-y = 2\n+y = 3\n*** Add File: b.py\n+z = 4\n"
    "*** Delete File: c.py\n*** End Patch\n"
)


def test_a_patch_becomes_one_edit_per_file(tmp_path: Path) -> None:
    changes = {"/workspace/shop/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-y = 2\n+y = 3\n"}}
    done = item("FileChange", id="c", changes=changes, status="completed", stdout="Success.", stderr="")
    found = steps(tmp_path, patched("c", PATCH), done)
    assert [step.arguments for step in found] == [
        {"file_path": "a.py", "old_string": "x = 1\ny = 2", "new_string": "x = 1\ny = 3"},
        {"file_path": "b.py", "content": "z = 4\n"},
        {"file_path": "c.py", "deleted": True},
    ]
    assert {(step.tool, step.result) for step in found} == {("apply_patch", StepResult.OK)}


def test_an_edit_in_several_places_lists_them(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-1\n+2\n@@\n-3\n+4\n*** End Patch\n"
    [step] = steps(tmp_path, patched("c", patch))
    edits = [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": "4"}]
    assert step.arguments == {"file_path": "a.py", "moved_to_path": "b.py", "edits": edits}


def test_a_patch_that_goes_through_the_shell_is_an_edit(tmp_path: Path) -> None:
    typed = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** End Patch\nEOF\n"
    [step] = steps(tmp_path, called("c", cmd=typed), item("FileChange", id="c", changes={}, status="completed"))
    assert (step.tool, step.result) == ("apply_patch", StepResult.OK)
    assert step.arguments == {"file_path": "a.py", "old_string": "1", "new_string": "2"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "apply_patch verification failed: Failed to find expected lines in /workspace/shop/a.py:\n1",
            StepResult.NO_MATCH,
        ),
        ("apply_patch verification failed: Failed to read file to update /workspace/shop/a.py", StepResult.FAILED),
        ("patch rejected by user", StepResult.DENIED),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", StepResult.OK),
    ],
)
def test_an_edit_without_an_item_is_told_by_its_output(tmp_path: Path, told: str, expected: StepResult) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** End Patch\n"
    [step] = steps(tmp_path, patched("c", patch), output("c", told))
    assert (step.result, step.exit_code) == (expected, None)
    assert step.arguments["file_path"] == "a.py"


@pytest.mark.parametrize(
    ("status", "stderr", "expected"),
    [
        ("declined", "patch rejected by user", StepResult.DENIED),
        ("failed", "Failed to find expected lines in a.py", StepResult.NO_MATCH),
        ("failed", "disk full", StepResult.FAILED),
    ],
)
def test_an_edits_item_tells_how_it_ended(tmp_path: Path, status: str, stderr: str, expected: StepResult) -> None:
    done = item("FileChange", id="c", changes={}, status=status, stdout="", stderr=stderr)
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** End Patch\n"
    [step] = steps(tmp_path, patched("c", patch), done)
    assert (step.result, step.observation) == (expected, stderr)


def test_an_mcp_tool_is_named_by_server_and_tool(tmp_path: Path) -> None:
    ask = called("c", "find", number="7")
    ask["payload"]["namespace"] = "mcp__orders"
    given = {"content": [{"type": "text", "text": "not there"}], "isError": True}
    done = item(
        "McpToolCall", id="c", server="orders", tool="find", arguments={"number": "7"}, result=given, status="failed"
    )
    [step] = steps(tmp_path, ask, done, output("c", "Wall time: 0.1 seconds\nOutput:\nnot there"))
    assert (step.tool, step.arguments) == ("mcp__orders__find", {"number": "7"})
    assert (step.result, step.observation) == (StepResult.FAILED, "not there")


def test_a_server_cannot_speak_for_the_client(tmp_path: Path) -> None:
    ask = called("c", "find")
    ask["payload"]["namespace"] = "mcp__orders"
    [step] = steps(tmp_path, ask, output("c", "patch rejected by user"))
    assert step.result is StepResult.UNKNOWN


def test_steps_after_a_skill_was_read_follow_it_until_the_person_speaks(tmp_path: Path) -> None:
    show = "sed -n '1,200p' /users/dev/.agents/skills/release-notes/SKILL.md"
    trajectory = session(
        tmp_path, called("a", cmd="ls"), ran("a", "ls"), called("b", cmd=show), ran("b", show), called("c", cmd="make"),
        ran("c", "make"), *turn(2), asked("no, do it without make", number=2), called("d", cmd="true"),
        ran("d", "true", number=2),
    )  # fmt: skip
    assert [step.skill for step in trajectory.actions] == ["", "release-notes", "release-notes", ""]


@pytest.mark.parametrize(
    ("command", "skill"),
    [
        ("cat .agents/skills/notes/SKILL.md", "notes"),
        ("ls && sed -n '1,80p' '/users/dev/my skills/notes/SKILL.md'", "notes"),
        ("cat README.md; head -5 notes\\SKILL.md", "notes"),
        ("ls skills/notes/SKILL.md", ""),
        ("cat SKILL.md", ""),
        ("echo cat > notes/SKILL.md", ""),
        ("cat " * 20_000 + "| wc", ""),
    ],
)
def test_reading_a_skills_file_is_what_counts(tmp_path: Path, command: str, skill: str) -> None:
    [step] = steps(tmp_path, called("c", cmd=command), ran("c", command))
    assert step.skill == skill


def test_a_skill_that_could_not_be_read_is_not_followed(tmp_path: Path) -> None:
    show = "cat skills/release-notes/SKILL.md"
    found = steps(
        tmp_path, called("b", cmd=show), ran("b", show, exit_code=1), called("c", cmd="make"), ran("c", "make")
    )
    assert [step.skill for step in found] == ["", ""]


def test_a_skill_that_the_person_names_is_followed(tmp_path: Path) -> None:
    named = {"type": "skill", "name": "release-notes", "path": "/x/SKILL.md"}
    [trajectory] = read(write(tmp_path, meta(), *turn(), asked("Write it", named), called("c", cmd="make")))
    assert [step.skill for step in trajectory.actions] == ["release-notes"]


def program(call: str, code: str) -> dict[str, Any]:
    return patched(call, code, name="exec")


def test_in_code_mode_the_items_are_the_calls(tmp_path: Path) -> None:
    changes = {"/workspace/shop/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-1\n+2\n", "move_path": None}}
    edited = item("FileChange", id="exec-2", changes=changes, status="completed", stdout="Success.", stderr="")
    found = steps(
        tmp_path, *said("All at once."), program("p", "await tools.exec_command({cmd: 'make'})"),
        ran("exec-1", "make", exit_code=2), edited, output("p", [{"type": "input_text", "text": "Script completed\n"}]),
    )  # fmt: skip
    assert [(step.tool, step.result) for step in found] == [
        ("exec_command", StepResult.FAILED),
        ("apply_patch", StepResult.OK),
    ]
    assert found[0].text == "All at once."
    assert found[1].arguments == {"file_path": "a.py", "old_string": "1", "new_string": "2"}


def parts(*texts: str) -> list[dict[str, str]]:
    return [{"type": "input_text", "text": text} for text in texts]


@pytest.mark.parametrize("head", ["Script completed\nOutput:\n", "Script failed\nOutput:\n"])
def test_in_code_mode_an_edit_that_cannot_match_is_read_off_the_output(tmp_path: Path, head: str) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** End Patch\n"
    told = output("p", parts(head, "apply_patch verification failed: Failed to find expected lines in a.py:\n1"))
    [step] = steps(tmp_path, program("p", f"await tools.apply_patch({json.dumps(patch)})"), told)
    assert (step.tool, step.result) == ("apply_patch", StepResult.NO_MATCH)
    assert step.arguments == {"file_path": "a.py", "old_string": "1", "new_string": "2"}


def test_a_program_that_only_prints_such_words_has_not_failed(tmp_path: Path) -> None:
    told = output("p", parts("Script completed\n", "apply_patch verification failed: Failed to find x"))
    code = "text((await tools.exec_command({cmd: 'cat notes'})).output)"
    [step] = steps(tmp_path, program("p", code), ran("exec-1", "cat notes"), told)
    assert (step.tool, step.result) == ("exec_command", StepResult.OK)


@pytest.mark.parametrize(
    ("code", "error", "tool", "arguments", "expected"),
    [
        (
            'await tools.exec_command({cmd: "git push"})',
            "Command blocked by PreToolUse hook: no. Command: git push",
            "exec_command",
            {"command": "git push"},
            StepResult.DENIED,
        ),
        ("nothing()", "ReferenceError: nothing is not defined", "exec", {"code": "nothing()"}, StepResult.FAILED),
    ],
)
def test_a_broken_program_is_a_step(
    tmp_path: Path, code: str, error: str, tool: str, arguments: dict[str, str], expected: StepResult
) -> None:
    told = output("p", parts("Script failed\nOutput:\n", f"Script error:\n{error}"))
    [step] = steps(tmp_path, program("p", code), told)
    assert (step.tool, step.arguments, step.result, step.observation) == (tool, arguments, expected, error)


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ('{"exit_code":1,"output":"read-only"}', [("touch x", 1, StepResult.FAILED)]),
        ("read-only", [("touch x", None, StepResult.UNKNOWN)]),
    ],
)
def test_a_command_that_left_no_item_is_known_by_its_exit_code(
    tmp_path: Path, printed: str, found: list[tuple[str, int | None, StepResult]]
) -> None:
    told = output("p", parts("Script completed\nOutput:\n", printed))
    code = "const r = await tools.exec_command({cmd: 'touch x'}); text(JSON.stringify(r));"
    actions = steps(tmp_path, program("p", code), told)
    assert [(step.arguments["command"], step.exit_code, step.result) for step in actions] == found


def test_waiting_for_a_program_is_no_step_of_its_own(tmp_path: Path) -> None:
    code = "await tools.exec_command({cmd: 'make'}); nothing()"
    found = steps(
        tmp_path, program("p", code), output("p", parts("Script running with cell ID 1\n")), called("w", "wait", cell_id="1"),
        ran("exec-1", "make"), output("w", parts("Script failed\n", "Script error:\nReferenceError: nothing")),
    )  # fmt: skip
    assert [(step.tool, step.result) for step in found] == [
        ("exec_command", StepResult.OK),
        ("exec", StepResult.FAILED),
    ]


def test_only_a_persons_words_are_theirs(tmp_path: Path) -> None:
    trajectory = session(
        tmp_path, host("Mend the build", "user.text", role="user"),
        host("Hooks say: run the tests.", "hooks.additional_context"),
        host("# AGENTS.md instructions for /workspace/shop", "agents_md.instructions", role="user"),
        host("<environment_context></environment_context>", "environments.environment_context", role="user"),
        host("You are Codex", "model.base_instructions"), *said("Done."),
    )  # fmt: skip
    assert [(step.role, step.text) for step in trajectory.steps] == [
        (Role.USER, "Mend the build"),
        (Role.CONTEXT, "Hooks say: run the tests."),
        (Role.CONTEXT, "# AGENTS.md instructions for /workspace/shop"),
        (Role.AGENT, "Done."),
    ]
    assert trajectory.steps[1].origin_of("text") is Origin.EXTERNAL
    assert trajectory.steps[2].arguments == {"attachment": "agents_md.instructions"}


@pytest.mark.parametrize(
    ("text", "role", "kept"),
    [
        ("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>alpha</INSTRUCTIONS>", "user", "AGENTS.md"),
        ("<skills_instructions>\n- a: alpha", "developer", "skills_instructions"),
        ("<recommended_plugins>\n- a: alpha", "user", "recommended_plugins"),
        ("## Memory\nalpha", "developer", ""),
        ("<permissions instructions>\nalpha", "developer", None),
        ("<environment_context>alpha</environment_context>", "user", None),
    ],
)
def test_older_versions_show_the_hosts_texts_without_a_kind(
    tmp_path: Path, text: str, role: str, kept: str | None
) -> None:
    steps = session(tmp_path, host(text, "", role=role), asked("Mend it"), *said("Done.")).steps
    found = [step.arguments.get("attachment", "") for step in steps if step.role is Role.CONTEXT]
    assert found == ([] if kept is None else [kept])


@pytest.mark.parametrize("source", ["exec", "mcp", {"custom": "github"}])
def test_a_program_that_runs_the_client_is_no_person(tmp_path: Path, source: Any) -> None:
    begun = meta(source=source)
    [trajectory] = read(
        write(tmp_path, begun, *turn(), asked("Always mend the build"), called("c", cmd="make"), ran("c", "make"))
    )
    assert [step.role for step in trajectory.steps] == [Role.CONTEXT, Role.AGENT]
    assert (trajectory.task.text, trajectory.task.by) == ("Always mend the build", "program")
    assert trajectory.task_origin is Origin.EXTERNAL


def test_a_program_that_resumes_a_persons_thread_is_no_person(tmp_path: Path) -> None:
    resumed = turn(2)
    resumed[0]["payload"]["turn_attribution"] = {"turn_trigger": "exec"}
    first = [asked("Mend the build"), called("c", cmd="make"), ran("c", "make")]
    later = [asked("Always ship it", number=2), called("d", cmd="make"), ran("d", "make")]
    steps = [
        step
        for each in read(write(tmp_path, meta(source="cli"), *turn(), *first, *resumed, *later))
        for step in each.steps
    ]
    words = {step.text: step.role for step in steps if step.role is not Role.AGENT}
    assert words == {"Mend the build": Role.USER, "Always ship it": Role.CONTEXT}


def test_what_a_search_for_tools_found_is_external(tmp_path: Path) -> None:
    found = record(
        "response_item", type="tool_search_output", tools=[{"type": "function", "name": "x", "description": "alpha"}]
    )
    step = session(tmp_path, found, *said("Done.")).steps[1]
    assert (step.role, step.text) == (Role.CONTEXT, "x\nalpha")


def test_every_kind_of_part_of_an_answer_is_read(tmp_path: Path) -> None:
    parts = [{"type": "input_text", "text": "alpha"}, {"type": "resource", "resource": {"uri": "a:b", "text": "beta"}}]
    trajectory = session(tmp_path, called("c", "look"), output("c", parts))
    assert trajectory.actions[0].observation == "alpha\na:b\nbeta"


@pytest.mark.parametrize("tag", ["tacit-skills", "tacit-skills-00ff5e1f3d7a9b21"])
def test_what_tacit_gave_is_not_kept(tmp_path: Path, tag: str) -> None:
    given = host(f"<{tag}>\nRun the tests.\n</{tag}>", "hooks.additional_context")
    asks = called("c", "tacit_recall", task="x")
    asks["payload"]["namespace"] = "mcp__tacit"
    answer = item(
        "McpToolCall",
        id="c",
        server="tacit",
        tool="recall",
        result={"content": parts("Run the tests.")},
        status="completed",
    )
    trajectory = session(
        tmp_path,
        given,
        asks,
        answer,
        called("d", cmd="tacit recall x"),
        ran("d", "tacit recall x", printed="Run the tests."),
    )
    assert not any("Run the tests" in step.text + step.observation for step in trajectory.steps)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Context from my IDE setup:\n## Open tabs:\n- a.py\n\n## My request for Codex:\nMend it", "Mend it"),
        ("<tacit-skills>\nx\n</tacit-skills>\nMend it", "Mend it"),
        ("<tacit-skills-00ff5e1f3d7a9b21>\nx\n</tacit-skills-00ff5e1f3d7a9b21>\nMend it", "Mend it"),
        ("Mend it\n<tacit-skills-00ff5e1f3d7a9b21>\nx\n</tacit-skills-00ff5e1f3d7a9b21>", "Mend it"),
        ("Mend it\n<environment_context>x</environment_context>", "Mend it"),
        ("Mend <b>it</b>", "Mend <b>it</b>"),
        ("<tacit-skills> is what?", "<tacit-skills> is what?"),
    ],
)
def test_the_hosts_words_around_a_request_are_told_apart(tmp_path: Path, text: str, words: str) -> None:
    [trajectory] = read(write(tmp_path, meta(), *turn(), asked(text), *said("Done.")))
    assert trajectory.task.text == words
    assert [step.text.strip() for step in trajectory.steps if step.role is Role.USER] == [words]


def test_a_persons_own_shell_command_is_no_act_of_the_agent(tmp_path: Path) -> None:
    typed = ran("5ab0", "make clean", source="user_shell")
    shown = host("<user_shell_command>make clean</user_shell_command>", "shell.user_command", role="user")
    trajectory = session(tmp_path, *said("Done."), typed, shown)
    assert trajectory.actions == ()
    assert trajectory.steps[-1].role is Role.CONTEXT


def test_a_summary_in_the_agents_place_is_not_its_word(tmp_path: Path) -> None:
    summary = record(
        "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "sum"}]
    )
    compacted = record("compacted", message="A summary: sum", replacement_history=[{"role": "user"}])
    trajectory = session(tmp_path, *said("Done."), *turn(2), summary, compacted, *turn(3), asked("go on", number=3))
    assert [(step.role, step.text) for step in trajectory.steps[1:]] == [
        (Role.AGENT, "Done."),
        (Role.CONTEXT, "A summary: sum"),
        (Role.USER, "go on"),
    ]


def test_a_word_while_the_agent_works_belongs_to_the_work(tmp_path: Path) -> None:
    later = asked("Now something else: write an unrelated poem about the sea")
    trajectory = session(tmp_path, called("c", cmd="make"), ran("c", "make"), later, *said("Later."))
    assert [step.role for step in trajectory.steps] == [Role.USER, Role.AGENT, Role.USER, Role.AGENT]


OTHER = "Now something else: translate the handbook into French and publish it"


def two_tasks() -> list[dict[str, Any]]:
    spent = record(
        "token_usage_record", response_id="r1", usage={"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}
    )
    again = record("token_usage_record", response_id="r2", usage={"input_tokens": 5, "output_tokens": 1})
    return [
        meta(), *turn(), asked("Mend the build"), *said("I run it."), called("c", cmd="make"), spent,
        output("c", "Chunk ID: 1a\nProcess running with session ID 7\nOutput:\n"), *turn(2, model="gpt-y"),
        host("Speak French.", "hooks.additional_context"), asked(OTHER, number=2),
        ran("c", "make", exit_code=1), called("d", cmd="translate"), again, ran("d", "translate", number=2),
    ]  # fmt: skip


def test_a_new_task_begins_an_attempt_with_what_its_turn_began_with(tmp_path: Path) -> None:
    first, second = read(write(tmp_path, *two_tasks()))
    assert (first.task.text, first.reply, first.environment.model) == ("Mend the build", OTHER, "gpt-x")
    assert (second.task.text, second.environment.model) == (OTHER, "gpt-y")
    assert [step.text for step in second.steps[:2]] == ["Speak French.", OTHER]
    assert first.usage == Usage(input_tokens=5, output_tokens=2, cached_tokens=4)
    assert second.usage == Usage(input_tokens=5, output_tokens=1)


def test_the_late_end_of_an_earlier_attempts_call_is_passed_over(tmp_path: Path) -> None:
    first, second = read(write(tmp_path, *two_tasks()))
    assert [step.result for step in first.actions] == [StepResult.UNKNOWN]
    assert [step.arguments["command"] for step in second.actions] == ["translate"]


def test_reading_goes_on_from_the_turn_that_is_still_open(tmp_path: Path) -> None:
    path = write(tmp_path, *two_tasks())
    reading = CodexReader().read(path)
    _, second = reading
    assert reading.mark is not None
    again = CodexReader().read(path, start=reading.mark)
    assert list(again) == [second]
    assert again.mark == reading.mark


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *turn(), asked("Mend the build"))
    with path.open("a") as file:
        file.write('{"timestamp":"2026')
    [trajectory] = read(path)
    assert trajectory.task.text == "Mend the build"


def test_a_damaged_line_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *turn(), "{damaged", asked("Mend the build"))
    problems: list[InvalidTrajectory] = []
    [trajectory] = read(path, on_problem=problems.append)
    assert trajectory.task.text == "Mend the build"
    assert "line 4" in str(problems[0])


def test_tokens_are_counted_once_in_every_version(tmp_path: Path) -> None:
    last = {"input_tokens": 8, "output_tokens": 3}
    event = record(
        "event_msg", type="token_count", info={"total_token_usage": {"total_tokens": 11}, "last_token_usage": last}
    )
    own = record("token_usage_record", response_id="r", usage=last)
    expected = Usage(input_tokens=8, output_tokens=3)
    assert session(tmp_path, *said("Done."), event, event).usage == expected
    assert session(tmp_path, *said("Done."), own, event).usage == expected


def test_turns_that_a_fork_copies_are_not_counted_again(tmp_path: Path) -> None:
    old = "019fffff-0000-7000-8000-000000000000"
    copied = [
        record("event_msg", type="task_started", turn_id=old),
        record("turn_context", turn_id=old, cwd="/workspace/shop", model="gpt-x"),
        record(
            "event_msg", type="item_completed", turn_id=old, item={"type": "UserMessage", "content": [{"text": "Old"}]}
        ),
        called("o", cmd="old"),
    ]
    own = meta(forked_from_id="019ffffe-0000-7000-8000-000000000000")
    [trajectory] = read(write(tmp_path, own, meta(id=old), *copied, *turn(), asked("New"), called("n", cmd="new")))
    assert trajectory.session_id == THREAD
    assert [step.text or step.arguments["command"] for step in trajectory.steps] == ["New", "new"]


def test_a_subagent_points_to_its_session_and_its_task_is_an_agents(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "s"}}}
    task = [
        {"type": "input_text", "text": "Message Type: NEW_TASK\nSender: /root\nPayload:\n"},
        {"type": "encrypted_content", "encrypted_content": "Count the lines."},
    ]
    asks = record("response_item", type="agent_message", author="/root", content=task)
    own = meta(session_id="s", parent_thread_id="s", thread_source="subagent", source=source)
    [trajectory] = read(write(tmp_path, own, *turn(), asks, called("c", cmd="wc -l")))
    assert (trajectory.session_id, trajectory.parent_session_id) == (THREAD, "s")
    assert (trajectory.task.text, trajectory.task.by) == ("Count the lines.", "agent")
    assert [step.role for step in trajectory.steps] == [Role.CONTEXT, Role.AGENT]


def test_older_versions_tell_the_same_by_messages_and_outputs(tmp_path: Path) -> None:
    def event(kind: str, **more: Any) -> dict[str, Any]:
        return record("event_msg", type=kind, **more)

    usage = {"total_token_usage": {"total_tokens": 11}, "last_token_usage": {"input_tokens": 8, "output_tokens": 3}}
    answer = record(
        "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "I look."}]
    )
    shell = called("c", "shell", command=["bash", "-lc", "cat a.py"], workdir="/workspace/shop")
    [trajectory] = read(
        write(
            tmp_path,
            meta(history_mode=None),
            host("Mend it", "", role="user"),
            event("user_message", message="Mend it"),
            event("agent_message", message="I look."),
            answer,
            shell,
            event("token_count", info=usage),
            output("c", '{"output":"x","metadata":{"exit_code":1}}'),
            event("token_count", info=usage),
        )
    )
    assert [(step.role, step.text) for step in trajectory.steps] == [(Role.USER, "Mend it"), (Role.AGENT, "I look.")]
    assert (trajectory.actions[0].arguments, trajectory.actions[0].exit_code) == ({"command": "cat a.py"}, 1)
    assert trajectory.usage == Usage(input_tokens=8, output_tokens=3)


def _values(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(
        ["type", "item", "id", "content", "text", "name", "arguments", "output", "call_id", "usage", "cwd"]
    )
    return st.lists(children, max_size=3) | st.dictionaries(keys, children, max_size=4)


WORDS = st.sampled_from(
    "UserMessage AgentMessage CommandExecution FileChange McpToolCall HookPrompt WebSearch item_completed task_started "
    "turn_aborted token_count user_message message function_call function_call_output custom_tool_call agent_message exec "
    "apply_patch exec_command wait developer user assistant".split()
)
ANYTHING = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9), _values
)
KINDS = st.sampled_from(
    ["session_meta", "turn_context", "event_msg", "response_item", "compacted", "token_usage_record"]
)
RECORDS = st.builds(lambda kind, payload: {"timestamp": AT, "type": kind, "payload": payload}, KINDS, ANYTHING)


def lines_of(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200) | st.lists(RECORDS, max_size=12).map(lines_of))
def test_any_bytes_give_trajectories_or_problems(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "rollout.jsonl"
    path.write_bytes(data)
    assert all(isinstance(part, Trajectory | InvalidTrajectory) for part in everything(CodexReader().read(path)))


RECORDINGS = sorted(RECORDED.rglob("*.jsonl"))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_two_halves_with_a_mark_are_one_reading(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = b"".join(data.draw(st.sampled_from(RECORDINGS)).read_bytes().splitlines(keepends=True)[:200])
    path = tmp_path_factory.mktemp("halves") / f"rollout-{THREAD}.jsonl"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    reading = CodexReader().read(path)
    before = everything(reading)
    path.write_bytes(whole)
    mark: Mark | None = reading.mark
    after = everything(CodexReader().read(path, start=mark))
    kept = before[:-1] if mark is not None else []
    assert [*kept, *after] == everything(CodexReader().read(path))


def test_what_a_turn_and_an_answer_without_its_call_show_is_context(tmp_path: Path) -> None:
    turns = [began := turn(number) for number in (1, 2)]
    for _, context in turns:
        context["payload"]["user_instructions"] = "Always run make prepare first."
    orphan = record("response_item", type="custom_tool_call_output", call_id="gone", output="Then run make publish.")
    known = (called("c1", cmd="ls"), output("c1", "a.py"), output("c1", "a.py"))
    path = write(tmp_path, meta(), *turns[0], asked("Mend the build"), *known, orphan, *began, asked("Go on", number=2))
    shown = [
        (step.arguments.get("attachment"), step.text) for found in read(path) for step in found.steps if not step.tool
    ]
    assert shown.count(("turn_context", "Always run make prepare first.")) == 1, "each turn repeats it"
    assert ("custom_tool_call_output", "Then run make publish.") in shown
    assert not any("a.py" in text for _, text in shown), "the second answer of a known call is none of its own"
