"""On sessions that the real clients wrote: each reads to the story that was played in it.

Our own recordings of Codex are always read; `TACIT_CLIENT_SAMPLES` may name a folder with samples of all clients.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.ingest.sources import read

OK, FAILED, DENIED = StepResult.OK, StepResult.FAILED, StepResult.DENIED
STOPPED, NO_MATCH, UNKNOWN = StepResult.INTERRUPTED, StepResult.NO_MATCH, StepResult.UNKNOWN

Act = tuple[str, str, StepResult, int | None]
"""Tool, the command or file or first argument, how it ended, exit code."""


@dataclass(frozen=True)
class Story:
    """What was played: the person's words, the agent's acts, which acts followed which skill, and each task's own words."""

    words: list[str]
    acts: list[Act]
    skills: list[str] = field(default_factory=list)
    """Of each act; empty where no skill was followed at all."""
    tasks: list[str] = field(default_factory=list)
    """Where they are more than the first of the words."""
    subagents: int = 0


def sh(command: str, exit_code: int | None, *, tool: str = "exec_command", result: StepResult | None = None) -> Act:
    return (tool, command, result or (OK if exit_code == 0 else FAILED), exit_code)


def edit(file: str, result: StepResult = OK, *, tool: str = "apply_patch") -> Act:
    return (tool, file, result, None)


TESTS = "python3 -m unittest -q"
ORDER = "mcp__orders__find_order"
OFF_BY_ONE = "The total is off by one. Please find out why and mend it"

RECORDED = {
    "01-fix": Story(
        words=[f"{OFF_BY_ONE}.", "No, the total must be an integer, not a float. Check that."],
        acts=[
            sh(TESTS, 1),
            edit("abacus.py", NO_MATCH),
            sh("cat abacus.py", 0),
            edit("abacus.py"),
            sh(TESTS, 0),
            sh("python3 -c 'import abacus; print(type(abacus.total([1])).__name__)'", 0),
        ],
    ),
    "02-code-mode": Story(
        words=[f"{OFF_BY_ONE}, then look up order 1001."],
        acts=[
            sh(TESTS, 1),
            edit("abacus.py", NO_MATCH),
            edit("abacus.py", NO_MATCH),
            edit("abacus.py"),
            sh(f"cd /tmp && {TESTS}", 0),
            sh(TESTS, 0),
            (ORDER, "1001", OK, None),
        ],
    ),
    "03-skill-and-mcp": Story(
        words=["Write a release note: totals are right again.", "Now something else: has order 1001 been paid?"],
        acts=[
            sh("cat .agents/skills/release-notes/SKILL.md", 0),
            edit("NOTES.md"),
            sh(f"{TESTS} test_abacus.py", 1),
            (ORDER, "7", FAILED, None),
            (ORDER, "1001", OK, None),
        ],
        skills=["release-notes", "release-notes", "release-notes", "", ""],
        tasks=["Write a release note: totals are right again.", "Now something else: has order 1001 been paid?"],
    ),
    "04-declined": Story(
        words=["Clean up and mend the total."],
        acts=[sh("rm -rf build", None, result=DENIED), edit("abacus.py", DENIED)],
    ),
    "05-denied-by-hook": Story(words=["Push the branch."], acts=[sh("git push origin main", None, result=DENIED)]),
    "06-read-only": Story(words=["Mend the total."], acts=[sh("echo x > out.txt", 1), edit("abacus.py", DENIED)]),
    "07-interrupted": Story(
        words=["Wait for the build.", "Try it again, but do not wait."],
        acts=[sh("sleep 60; echo slept", None, result=STOPPED)],
    ),
    "08-stopped-in-editor": Story(
        words=["(stop) Wait for the build.", "Try it again, but do not wait."],
        acts=[sh("sleep 60; echo slept", None, result=STOPPED)],
    ),
    "09-compacted": Story(
        words=["How many lines has abacus.py?", "Which test fails?", "Which tests are there?"],
        acts=[sh("wc -l abacus.py", 0), sh("cat test_abacus.py", 0), sh("cat test_abacus.py", 0)],
    ),
    "10-fork": Story(
        words=["Say first.", "Now say it in the fork."],
        acts=[sh("echo first", 0), sh("echo forked", 0)],
        tasks=["Say first.", "Now say it in the fork."],
    ),
    "11-long-running": Story(
        words=["Start the server and tell me how it ends."],
        acts=[
            sh('python3 -u -c \'import time; print("up"); time.sleep(2); print("down"); raise SystemExit(4)\'', 4),
            sh("sleep 3; echo waited", 0),
        ],
    ),
    "12-subagent": Story(
        words=["Use a subagent to count the lines."],
        acts=[
            ("spawn_agent", "count", UNKNOWN, None),
            ("wait_agent", "10000", UNKNOWN, None),
            sh("wc -l abacus.py", 0),
        ],
        tasks=["Use a subagent to count the lines.", "You only count the lines of abacus.py."],
        subagents=1,
    ),
    "13-code-mode-read-only": Story(
        words=["Mend the total."],
        acts=[
            sh("echo x > out.txt", 1),
            edit("abacus.py", DENIED),
            ("exec", "text(nowhere.at.all);", FAILED, None),
        ],
    ),
    "14-code-mode-stopped": Story(
        words=["Wait for the build."], acts=[sh("sleep 60; echo slept", None, result=STOPPED)]
    ),
    "15-older-client": Story(
        words=["Mend the total.", "Do it again."],
        acts=[
            sh("cat abacus.py", 0),
            edit("abacus.py", NO_MATCH),
            edit("abacus.py"),
            (ORDER, "7", UNKNOWN, None),
            sh("exit 5", 5),
            sh("cd /tmp && echo again; exit 2", 2),
        ],
    ),
}

LOOKUP = ("mcp__skills__skill_lookup", "say hi", OK, None)
SAMPLES = {
    "codex-0.166.0": Story(
        words=[],  # a program asked
        tasks=["Please say hi"],
        acts=[
            sh("echo hi-from-bash", 0),
            sh("ls /no/such/dir-xyz; exit 3", 3),
            edit("hello.py"),
            edit("hello.py", NO_MATCH),
            LOOKUP,
        ],
    ),
    "codex-0.166.0-codemode": Story(
        words=[],  # a program asked
        tasks=["Please say hi"],
        acts=[sh("echo hi-from-bash", 0), sh("ls /no/such/dir-xyz; exit 3", 3), edit("hello.py"), LOOKUP],
    ),
    "claude-code-2.1.325": Story(
        words=[],  # a program asked
        tasks=["Please say hi"],
        acts=[
            sh("echo hi-from-bash", 0, tool="Bash"),
            sh("ls /no/such/dir-xyz; exit 3", 3, tool="Bash"),
            edit("hello.py", tool="Write"),
            edit("hello.py", tool="Edit"),
            edit("hello.py", NO_MATCH, tool="Edit"),
            LOOKUP,
            ("Skill", "greeting-style", OK, None),
        ],
        skills=["", "", "", "", "", "", "greeting-style"],
    ),
    "claude-code-2.1.325-subagent": Story(
        words=[],
        acts=[("Agent", "Count files", OK, None), sh("ls | wc -l", 0, tool="Bash")],
        tasks=["delegate", "SUBAGENT-TASK: count the files"],
        subagents=1,
    ),
}


def session(
    shell: str,
    write: str,
    edit_tool: str,
    *,
    skill: str,
    lookup: str = "mcp__skills__skill_lookup",
    last: StepResult = OK,
) -> Story:
    """The one session that was played in every client, by the names that its tools have there."""
    acts = [
        sh("echo hi-from-bash", 0, tool=shell),
        sh("ls /no/such/dir-xyz; exit 3", 3, tool=shell),
        edit("hello.py", tool=write),
        edit("hello.py", NO_MATCH, tool=edit_tool),
        (lookup, "say hi", OK, None),
        (skill, "greeting-style", last, None),
    ]
    return Story(words=["Please say hi"], acts=acts, skills=["", "", "", "", "", "greeting-style"])


SAMPLES |= {
    "copilot-cli-1.0.102": session("bash", "create", "edit", skill="skill"),
    "copilot-cli-1.0.102-pascalcase": session("bash", "create", "edit", skill="skill"),
    "gemini-cli-0.61.0": session("run_shell_command", "write_file", "replace", skill="activate_skill"),
    "qwen-code-0.24.4": session("run_shell_command", "write_file", "edit", skill="skill"),
    "opencode-1.18.33": session("bash", "write", "edit", skill="skill", lookup="skills_skill_lookup"),
    "letta-code-0.25.9": Story(
        words=["Please say hi"],
        acts=[
            sh("echo hi-from-bash", 0, tool="Bash"),
            sh("ls /no/such/dir-xyz; exit 3", 3, tool="Bash"),
            edit("hello.py", tool="Write"),
            edit("hello.py", tool="Edit"),
            edit("hello.py", NO_MATCH, tool="Edit"),
            (LOOKUP[0], LOOKUP[1], FAILED, None),
            ("Skill", "greeting-style", OK, None),
        ],
        skills=["", "", "", "", "", "", "greeting-style"],
    ),
    "mini-swe-agent-2.4.6": Story(
        words=["Please say hi"],
        acts=[
            sh("echo hi-from-bash", 0, tool="bash"),
            sh("ls /no/such/dir-xyz; exit 3", 3, tool="bash"),
            sh("printf \"print('hello')\\n\" > hello.py", 0, tool="bash"),
            sh("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", None, tool="bash", result=UNKNOWN),
        ],
    ),
}

OURS = Path(__file__).parents[2] / "e2e" / "recordings" / "codex" / "transcripts"
THEIRS = os.environ.get("TACIT_CLIENT_SAMPLES", "")


def played(folder: Path) -> list[Trajectory]:
    problems: list[InvalidTrajectory] = []
    found = list(read(folder, on_problem=problems.append))
    assert problems == []
    return sorted(found, key=lambda trajectory: (bool(trajectory.parent_session_id), trajectory.source))


def act(step: Step) -> Act:
    given = step.arguments
    what = given.get("command", given.get("file_path", next(iter(given.values()), "")))
    return (step.tool, str(what).removeprefix("{PROJECT}/"), step.result, step.exit_code)


def assert_tells(trajectories: list[Trajectory], story: Story) -> None:
    actions = [step for trajectory in trajectories for step in trajectory.actions]
    assert [act(step) for step in actions] == story.acts
    assert [step.skill for step in actions] == (story.skills or [""] * len(actions))
    said = [step.text for trajectory in trajectories for step in trajectory.steps if step.role is Role.USER]
    assert said == story.words
    assert [trajectory.task.text for trajectory in trajectories] == (story.tasks or story.words[:1])
    roots = {trajectory.session_id for trajectory in trajectories if not trajectory.parent_session_id}
    parents = [trajectory.parent_session_id for trajectory in trajectories if trajectory.parent_session_id]
    assert len(parents) == story.subagents
    assert set(parents) <= roots
    assert all(trajectory.usage.output_tokens > 0 for trajectory in trajectories)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_reads_to_its_story(name: str) -> None:
    assert_tells(played(OURS / name), RECORDED[name])


def test_every_recording_has_its_story() -> None:
    assert sorted(folder.name for folder in OURS.iterdir()) == sorted(RECORDED)


@pytest.mark.skipif(not THEIRS, reason="TACIT_CLIENT_SAMPLES names no folder of samples")
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_reads_to_its_story(name: str) -> None:
    folder = Path(THEIRS) / name / "transcript"
    named = [folder / "messages.jsonl"] if name.startswith("letta") else [folder]  # it holds the same file twice
    assert_tells(played(named[0]), SAMPLES[name])


@pytest.mark.skipif(not THEIRS, reason="TACIT_CLIENT_SAMPLES names no folder of samples")
def test_every_sample_has_its_story() -> None:
    assert {path.parent.name for path in Path(THEIRS).glob("*/transcript")} == set(SAMPLES)


def test_what_was_said_next_is_kept_with_the_task_it_ended() -> None:
    first, second = played(OURS / "03-skill-and-mcp")
    assert first.reply == second.task.text
    assert first.session_id == second.session_id


def test_no_recording_holds_the_clients_own_instructions() -> None:
    for path in OURS.rglob("*.jsonl"):
        text = path.read_text()
        assert "base_instructions" not in text.replace("model.base_instructions", "")
        assert "You are Codex" not in text
