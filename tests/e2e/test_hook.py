"""`tacit hook` as clients run it: real processes, a whole session of each client, and a learner that outlives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.api import Tacit
from tacit.config.settings import Config, LearnSettings, Policy, Strictness
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.store import open_store
from tacit.surfaces.hook.events import LINES_HEADING
from tests.e2e.conftest import Ran, Terminal
from tests.unit.ingest.client_samples import letta
from tests.unit.surfaces.hook_events import (
    SESSION,
    THREAD,
    claude,
    claude_before,
    claude_failure,
    claude_shell,
    codex,
    codex_before,
    codex_shell,
)
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, STALE, WARNING, fill

TASK = "Please add a migration that adds the column paid_at to the payments table"
WAIT_S = 60.0
"""Generous: a busy machine must not fail a test."""


@pytest.fixture
def store(terminal: Terminal) -> Path:
    database = terminal.project / ".tacit" / "tacit.db"
    fill(database, NORM, PROCEDURE, LESSON)
    return database


def send(terminal: Terminal, event: dict[str, Any], *options: str) -> Ran:
    ran = terminal.run("hook", *options, stdin=json.dumps(event | {"cwd": str(terminal.project)}))
    assert (ran.code, ran.err) == (0, "")
    return ran


def log_of(terminal: Terminal) -> str:
    path = terminal.home / ".tacit" / "hook.log"
    return path.read_text() if path.exists() else ""


def context(ran: Ran) -> str:
    return str(ran.json["hookSpecificOutput"]["additionalContext"])


def wait_for(condition: Any, what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def learned(database: Path) -> int:
    if not database.exists() or not database.stat().st_size:
        return 0
    with Tacit(open_store(database)) as loop:
        return loop.archive.stats().learned


def settled(database: Path) -> bool:
    sessions = database.parent / "sessions"
    return learned(database) > 0 and not [*sessions.glob("*.wanted"), *sessions.glob("*.taken")]


def a_transcript(transcripts: Path, folder: Path) -> Path:
    source = sorted(transcripts.glob("*.jsonl"))[0]
    target = folder / f"{SESSION}.jsonl"
    target.write_bytes(source.read_bytes())
    return target


def test_a_session_of_claude_code_from_start_to_end(terminal, store, transcripts, tmp_path):
    options = ("--client", "claude-code")
    transcript = str(a_transcript(transcripts, tmp_path))
    assert "never npm" in context(send(terminal, claude("SessionStart", source="startup"), *options))
    assert "makemigration" in context(send(terminal, claude("UserPromptSubmit", prompt=TASK), *options))
    assert send(terminal, claude_shell("ls", "a"), *options).out == ""
    failed = claude_failure("python manage.py makemigration", f"Exit code 1\n{STALE}", agent_id="a7")
    assert "then try again" in context(send(terminal, failed, *options))
    for name in ("Stop", "SubagentStop", "PreCompact", "SessionEnd"):
        assert send(terminal, claude(name, transcript_path=transcript), *options).out == ""
    wait_for(lambda: settled(store), "the learner")
    with Tacit(open_store(store)) as loop:
        counts = loop.archive.stats()
        assert loop.archive.verify() == []
    assert (counts.trajectories, counts.uses) == (1, 3)
    assert log_of(terminal) == ""


def test_a_session_of_codex_from_start_to_end(terminal, store, transcripts, tmp_path):
    transcript = str(a_transcript(transcripts, tmp_path))
    assert "never npm" in context(send(terminal, codex("SessionStart", source="startup")))
    assert "makemigration" in context(send(terminal, codex("UserPromptSubmit", prompt=TASK), "--client=codex"))
    send(terminal, codex("SessionStart", source="clear"))
    said = send(terminal, codex_shell("python manage.py makemigration", STALE))
    assert said.json["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert send(terminal, codex("Stop", transcript_path=transcript)).out == ""
    assert send(terminal, codex("SessionEnd", transcript_path=transcript)).out == ""
    wait_for(lambda: settled(store), "the learner")
    assert (store.parent / "sessions" / f"codex-{THREAD}.jsonl").exists()
    assert log_of(terminal) == ""


def test_the_end_of_a_session_waits_for_nobody_and_the_learner_holds_none_of_its_pipes(terminal, store, transcripts):
    """A client reads until the pipes are closed: were the learner to hold one, it would wait for the learner."""
    transcript = store.parent.parent / "long.jsonl"
    lines = sorted(transcripts.glob("*.jsonl"))[0].read_bytes()
    transcript.write_bytes(lines * 200)
    ran = send(terminal, claude("SessionEnd", transcript_path=str(transcript)), "--client", "claude-code")
    assert ran.out == ""
    assert not settled(store), "the learner is still at it"
    wait_for(lambda: settled(store), "the learner")


def test_where_there_is_no_store_only_the_end_of_a_turn_in_a_repository_makes_one(terminal, transcripts, tmp_path):
    database = terminal.project / ".tacit" / "tacit.db"
    for event in (
        claude("SessionStart", source="startup"),
        claude("UserPromptSubmit", prompt=TASK),
        claude_shell("ls"),
    ):
        assert send(terminal, event).out == ""
    transcript = str(a_transcript(transcripts, tmp_path))
    send(terminal, claude("Stop", transcript_path=transcript))
    assert not database.parent.exists(), "nobody connected this repository"
    database.parent.mkdir()
    (database.parent / ".gitignore").write_text("*\n")
    send(terminal, claude("Stop", transcript_path=transcript))
    wait_for(lambda: settled(database), "the learner")
    assert (database.parent / ".gitignore").read_text() == "*\n"
    outside = tmp_path / "notes"
    outside.mkdir()
    ran = Terminal(project=outside, home=terminal.home).run(
        "hook", stdin=json.dumps(claude("Stop", cwd=outside, transcript_path=transcript))
    )
    assert (ran.code, ran.out, list(outside.iterdir())) == (0, "", [])


def test_a_named_store_is_used_and_made_anywhere(terminal, transcripts, tmp_path):
    outside = tmp_path / "notes"
    outside.mkdir()
    named = tmp_path / "stores" / "mine.db"
    elsewhere = Terminal(project=outside, home=terminal.home, variables={"TACIT_STORE": str(named)})
    transcript = str(a_transcript(transcripts, tmp_path))
    elsewhere.run("hook", stdin=json.dumps(claude("Stop", cwd=outside, transcript_path=transcript)))
    wait_for(lambda: settled(named), "the learner")
    assert list(outside.iterdir()) == []
    option = tmp_path / "stores" / "second" / "other.db"
    event = json.dumps(claude("Stop", cwd=outside, transcript_path=transcript))
    terminal.run("hook", "--store", str(option), stdin=event)
    wait_for(lambda: settled(option), "the learner of the store named by option")


@pytest.mark.parametrize(("variable", "names"), [("TACIT_HOME", ""), ("TACIT_CONFIG", "tacit.toml")])
def test_an_agent_that_names_other_settings_gets_nothing_approved(terminal, transcripts, tmp_path, variable, names):
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "tacit.toml").write_text('[policy]\nstrictness = "open"\nindependent_successes = 1\n')
    terse = terse_transcripts(transcripts, tmp_path)
    assert goes_on_trial(terse, tmp_path)
    (terminal.project / ".tacit").mkdir()
    sender = Terminal(project=terminal.project, home=terminal.home, variables={variable: str(evil / names)})
    for path in terse:
        event = claude("Stop", cwd=terminal.project, session_id=path.stem, transcript_path=str(path))
        sender.run("hook", stdin=json.dumps(event))
    database = terminal.project / ".tacit" / "tacit.db"
    wait_for(lambda: settled(database) and learned(database) == len(terse), "the learner")
    with Tacit(open_store(database)) as loop:
        assert loop.skills(statuses=[Status.CANDIDATE]) != []
        assert loop.skills(statuses=RECALLABLE) == []


def terse_transcripts(transcripts: Path, folder: Path) -> list[Path]:
    """Like sessions whose tools say nothing that could have come from outside, but that the tests passed."""
    lines = []
    for line in sorted(transcripts.glob("*.jsonl"))[2].read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        parts = row.get("message", {}).get("content")
        if row["type"] == "user" and isinstance(parts, list) and "Ran 9 tests" not in line:
            row["message"]["content"] = [part | {"content": "ok"} for part in parts]
            row.pop("toolUseResult", None)
        lines.append(json.dumps(row))
    own = json.loads(lines[0])["sessionId"]
    made = [folder / f"{SESSION[:-1]}{number}.jsonl" for number in range(LearnSettings().procedure_runs)]
    for path in made:
        path.write_text("\n".join(lines).replace(own, path.stem) + "\n", encoding="utf-8")
    return made


def goes_on_trial(transcripts: list[Path], folder: Path) -> bool:
    """Whether these transcripts give a skill that the most open policy puts on trial by itself."""
    config = Config(policy=Policy(strictness=Strictness.OPEN, independent_successes=1))
    with Tacit(open_store(folder / "trial.db"), config=config) as loop:
        for path in transcripts:
            loop.capture(tacit.read(path))
        loop.learn()
        return loop.skills(statuses=RECALLABLE) != []


@pytest.mark.parametrize("before", [claude_before, codex_before])
def test_a_call_is_warned_of_once_and_the_fixed_call_and_other_calls_are_not(terminal, store, before):
    ids = fill(store, WARNING)
    others = ("uv run pytest -q", "ls -l", "git commit -m 'no tests'")
    assert [send(terminal, before(command)).out for command in others] == [""] * 3
    said = send(terminal, before("cd web && pytest -q 2>&1 | tail -5"))
    assert said.json["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert context(said) == f"{LINES_HEADING}\n- {WARNING.description}"
    assert send(terminal, before("pytest -q")).out == ""
    (journal,) = (store.parent / "sessions").glob("*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line.get("shown", []) for line in lines] == [[], [ids[WARNING.name]], []], "other calls leave no line"
    assert log_of(terminal) == ""


def test_two_hooks_that_start_at_once_say_it_once(terminal, store):
    start = claude("SessionStart", source="startup")
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda _: send(terminal, start, "--client", "claude-code").out, range(2)))
    assert sum("never npm" in text for text in said) == 1


def test_a_paused_project_is_left_alone(terminal, store):
    terminal.run("pause")
    sent = [send(terminal, event).out for event in (claude("SessionStart", source="startup"), claude("Stop"))]
    assert sent == ["", ""]
    assert not (store.parent / "sessions").exists()


def test_many_events_at_once_lose_nothing_and_show_nothing_twice(terminal, store):
    number = 200
    failure = claude_failure("python manage.py makemigration", f"Exit code 1\n{STALE}")
    with ThreadPoolExecutor(16) as pool:
        events = [failure if n % 4 == 0 else claude_shell(f"echo {n}", str(n)) for n in range(number)]
        said = list(pool.map(lambda event: send(terminal, event, "--client", "claude-code").out, events))
    lines = (store.parent / "sessions" / f"claude-code-{SESSION}.jsonl").read_text().splitlines()
    assert len(lines) == number
    assert all(json.loads(line)["moment"] == "call" for line in lines)
    assert sum("then try again" in text for text in said) <= 1
    assert sum("shown" in json.loads(line) for line in lines) == sum("then try again" in text for text in said)
    assert sum("has now failed" in text for text in said) <= 1
    assert "Error" not in log_of(terminal), "on a busy machine a hook may run out of time, and nothing else"


def test_sessions_that_end_at_once_are_all_learned_from(terminal, store, transcripts):
    paths = sorted(transcripts.glob("*.jsonl"))
    events = [claude("Stop", session_id=path.stem, transcript_path=str(path)) for path in paths]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda event: send(terminal, event), events))
    attempts = sum(1 for path in paths for _ in tacit.read(path))
    assert attempts >= len(paths) > 3
    wait_for(lambda: learned(store) >= attempts, "every session")
    wait_for(lambda: settled(store), "the learner")
    with Tacit(open_store(store)) as loop:
        assert loop.archive.stats().trajectories == attempts
        assert loop.archive.verify() == []


def test_a_session_that_nobody_ends_is_learned_from_when_the_next_one_begins(terminal, store):
    sample = letta(terminal.home)
    name = urlsafe_b64encode(b"conversation:conv-1").decode().rstrip("=")
    sample.parent.rename(sample.parent.with_name(name))
    (terminal.project / ".letta").mkdir()

    def call(agent: str, conversation: str) -> None:
        last = {"lastSession": {"agentId": agent, "conversationId": conversation}}
        (terminal.project / ".letta" / "settings.local.json").write_text(json.dumps(last))
        used = {"event_type": "PostToolUse", "agent_id": agent, "working_directory": str(terminal.project)}
        send(terminal, used | {"tool_name": "Bash", "tool_input": {"command": "ls"}}, "--client", "letta-code")

    for _ in range(2):
        call("agent-1", "conv-1")
    assert [path.name for path in (store.parent / "sessions").glob("*.wanted")] == ["letta-code-agent-1_conv-1.wanted"]
    assert learned(store) == 0
    call("agent-2", "conv-2")
    wait_for(lambda: learned(store) == 1, "the learner")
    assert log_of(terminal) == ""


HEAVY = {"click", "rich", "dataclasses", "typing", "inspect", "msgspec", "pathlib", "logging", "tomllib", "subprocess"}
"""What must not be loaded while an agent waits."""
TELL_MODULES = """
import os, sys
leave = os._exit
def tell(code):
    sys.stderr.write(" ".join(sorted(sys.modules)))
    sys.stderr.flush()
    leave(code)
os._exit = tell
sys.argv = ["tacit", "hook", "--client", sys.argv[1]]
from tacit.surfaces.entry import main
main()
"""


def modules_for(terminal: Terminal, event: dict[str, Any], client: str) -> set[str]:
    (terminal.home / ".tacit" / "tacit.toml").unlink()  # settings take time to read, and most people have none
    done = subprocess.run(
        [sys.executable, "-c", TELL_MODULES, client],
        cwd=terminal.project,
        env=terminal.environment,
        input=json.dumps(event | {"cwd": str(terminal.project)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("event", "client", "reads_store"),
    [
        (claude_shell("ls", "a"), "claude-code", False),
        (codex_shell("ls", "a"), "codex", False),
        (claude_failure("make", f"Exit code 1\n{STALE}"), "claude-code", True),
        (codex_shell("make", STALE), "codex", True),
        (claude("UserPromptSubmit", prompt=TASK), "claude-code", True),
        (codex("UserPromptSubmit", prompt=TASK), "codex", True),
        (claude("SessionStart", source="startup"), "claude-code", True),
        (claude_before("ls"), "claude-code", False),
        (codex_before("ls"), "codex", False),
        (claude_before("pytest"), "claude-code", True),
        (codex_before("pytest"), "codex", True),
    ],
    ids="call codex-call failure codex-failure prompt codex-prompt start other codex-other before codex-before".split(),
)
def test_a_hook_loads_nothing_that_is_slow_to_load(terminal, store, event, client, reads_store):
    fill(store, WARNING)
    loaded = modules_for(terminal, event, client)
    assert not HEAVY & loaded
    assert ("apsw" in loaded) is reads_store
    assert ("tacit.text.words" in loaded) <= reads_store
    assert not {name for name in loaded if name.startswith(("tacit.domain.skill", "tacit.api", "tacit.surfaces.cli"))}


def test_the_end_of_a_turn_loads_nothing_that_is_slow_to_load(terminal, store):
    assert not HEAVY & modules_for(terminal, claude("Stop", transcript_path=""), "claude-code")
    wait_for(lambda: not list((store.parent / "sessions").glob("*.wanted")), "the learner")


def test_help_comes_from_the_command_line(terminal):
    ran = terminal.run("hook", "--help")
    assert ran.code == 0
    assert "--client" in ran.out
    assert os.linesep in ran.out
