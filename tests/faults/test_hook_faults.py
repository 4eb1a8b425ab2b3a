"""Whatever goes wrong, a hook ends with 0 and says nothing, and the log has a line; a killed learner loses nothing."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import apsw
import pytest

from tacit.api import Tacit
from tacit.store import open_store
from tacit.surfaces.hook import learner_requests
from tests.person import give_key
from tests.unit.surfaces.hook_events import SESSION, claude, claude_failure, claude_shell
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, STALE, fill

TASK = "Please add a migration that adds the column paid_at to the payments table"
START = claude("SessionStart", source="startup")
PROMPT = claude("UserPromptSubmit", prompt=TASK)
FAILURE = claude_failure("python manage.py makemigration", f"Exit code 1\n{STALE}")
CALL = claude_shell("ls", "a")
STOP = claude("Stop", transcript_path="/nowhere/s.jsonl")
EVENTS = {"start": START, "prompt": PROMPT, "failure": FAILURE, "call": CALL, "stop": STOP}


@dataclass
class Hooked:
    """A project whose hook is run as a process, in whatever state a test has put it."""

    folder: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.folder / ".tacit" / "tacit.db"

    @property
    def sessions(self) -> Path:
        return self.folder / ".tacit" / "sessions"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        return kept | {"HOME": str(self.home), "PYTHONWARNINGS": "error"} | self.variables

    def start(self, *options: str, **popen: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tacit", "hook", *options]
        settings: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.folder,
        }
        process: subprocess.Popen[bytes] = subprocess.Popen(command, env=self.environment, **(settings | popen))
        return process

    def send(self, event: dict[str, Any] | bytes, *options: str, **popen: Any) -> str:
        data = event if isinstance(event, bytes) else json.dumps({**event, "cwd": str(self.folder)}).encode()
        process = self.start(*options, **popen)
        out, err = process.communicate(data, timeout=60)
        assert (process.returncode, err) == (0, b"")
        return out.decode()

    @property
    def log(self) -> list[str]:
        path = self.home / ".tacit" / "hook.log"
        return path.read_text().splitlines() if path.exists() else []

    def is_idle(self) -> bool:
        held = learner_requests.lock(str(self.sessions)) if self.sessions.is_dir() else None
        if held is not None:
            os.close(held)
        return held is not None


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    made = Hooked(folder=tmp_path / "shop", home=tmp_path / "home")
    (made.folder / ".git").mkdir(parents=True)
    give_key(made.home / ".tacit")
    fill(made.database, NORM, PROCEDURE, LESSON)
    return made


def garbage(hooked: Hooked) -> None:
    hooked.database.write_bytes(b"SQLite format 3\0" + b"\xa5" * 8_000)


def not_a_store(hooked: Hooked) -> None:
    hooked.database.write_bytes(b"hello" * 1_000)


def sessions_are_a_file(hooked: Hooked) -> None:
    hooked.sessions.write_text("")


def journal_is_a_folder(hooked: Hooked) -> None:
    (hooked.sessions / f"claude-code-{SESSION}.jsonl").mkdir(parents=True)


def someone_elses(hooked: Hooked) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(hooked.folder / ".tacit", 4_000_000, -1)


def came_with_the_repository(hooked: Hooked) -> None:
    (hooked.folder / ".git" / "index").write_bytes(b"DIRC\0.tacit/tacit.db\0")


def bad_settings(hooked: Hooked) -> None:
    (hooked.folder / "tacit.toml").write_text("[recall]\nk = 'many'\n")


def postgres(hooked: Hooked) -> None:
    hooked.variables["TACIT_STORE"] = "postgresql://db/x"


@pytest.mark.parametrize(
    ("spoil", "events"),
    [
        (garbage, ("start", "prompt", "failure")),
        (not_a_store, ("start", "prompt", "failure")),
        (sessions_are_a_file, ("start", "prompt", "failure", "call", "stop")),
        (journal_is_a_folder, ("start", "prompt", "failure", "call")),
        (someone_elses, ("start", "prompt", "failure", "call", "stop")),
        (came_with_the_repository, ("start", "prompt", "failure", "call", "stop")),
        (bad_settings, ("start", "prompt", "failure", "call", "stop")),
        (postgres, ("start", "prompt", "failure", "call", "stop")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_spoiled_place_is_a_line_in_the_log(hooked, spoil: Callable[[Hooked], None], events):
    spoil(hooked)
    assert [hooked.send(EVENTS[event], "--client", "claude-code") for event in events] == [""] * len(events)
    assert len(hooked.log) == len(events)
    assert "payments" not in "".join(hooked.log)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff\xfe\x00", b"[" * 200_000, b'{"hook_event_name": "Stop"}',
     b'{"hook_event_name": "Stop", "session_id": ""}'],
    ids=["empty", "torn", "list", "binary", "deep", "no session", "empty session"],
)  # fmt: skip
def test_what_is_no_event_is_a_line_in_the_log(hooked, data):
    assert hooked.send(data, "--client", "claude-code") == ""
    assert len(hooked.log) == 1
    assert "InvalidEvent" in hooked.log[0]


def test_unknown_options_and_clients_are_lines_in_the_log(hooked):
    assert hooked.send(CALL, "--client", "nano") == ""
    assert hooked.send(CALL, "--colour") == ""
    assert hooked.send(CALL, "--client") == ""
    assert len(hooked.log) == 3


def test_events_that_do_not_matter_leave_no_trace(hooked):
    assert hooked.send(claude("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})) == ""
    assert hooked.send(b'{"hook_event_name": "SomethingNew"}') == ""
    assert not hooked.sessions.exists()
    assert hooked.log == []


def test_an_event_too_large_is_read_to_its_end_and_dropped(hooked):
    large = json.dumps({**CALL, "cwd": str(hooked.folder), "tool_response": "x" * (33 * 1024 * 1024)}).encode()
    assert hooked.send(large) == ""
    assert "too large" in hooked.log[0]
    fits = json.dumps({**CALL, "cwd": str(hooked.folder), "tool_response": "error: x\n" * 1_000_000}).encode()
    assert hooked.send(fits) == ""
    assert len(hooked.log) == 1


def test_a_store_that_somebody_locks_delays_nobody_for_long(hooked):
    holder = apsw.Connection(str(hooked.database))
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert hooked.send(CALL) == ""
        hooked.send(PROMPT)
    finally:
        holder.close()
    assert "makemigration" in hooked.send({**PROMPT, "session_id": "another"})


def test_a_full_disk_shows_nothing_that_was_not_noted(hooked):
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    for event in (START, PROMPT, FAILURE, CALL):
        assert hooked.send(event, "--client", "claude-code", preexec_fn=no_room) == ""
    journal = hooked.sessions / f"claude-code-{SESSION}.jsonl"
    assert journal.read_bytes() == b""
    assert "never npm" in hooked.send(START), "once there is room again, all is as if nothing had been said"


def test_a_client_that_has_gone_is_no_fault_and_nothing_counts_as_shown(hooked):
    reading, writing = os.pipe()
    os.close(reading)
    process = hooked.start("--client", "claude-code", stdout=writing)
    os.close(writing)
    _, err = process.communicate(json.dumps({**PROMPT, "cwd": str(hooked.folder)}).encode(), timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert "BrokenPipeError" in hooked.log[0]
    assert "makemigration" in hooked.send(PROMPT)


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_streams_are_no_fault_of_the_agents(hooked, closed):
    process = hooked.start("--client", "claude-code", preexec_fn=lambda: os.close(closed))
    try:
        process.communicate(json.dumps({**PROMPT, "cwd": str(hooked.folder)}).encode(), timeout=60)
    except BrokenPipeError:
        process.wait(60)
    assert process.returncode == 0


def test_a_client_that_never_ends_its_event_is_left_after_two_seconds(hooked):
    process = hooked.start("--client", "claude-code")
    assert process.wait(60) == 0
    assert "gave up after 2 seconds" in hooked.log[0]
    process.communicate(timeout=10)


def test_a_session_that_is_held_up_is_left_after_two_seconds_and_still_noted(hooked):
    hooked.send(START)
    journal = hooked.sessions / f"claude-code-{SESSION}.jsonl"
    with journal.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert hooked.send(PROMPT) == ""
    assert "gave up" in hooked.log[0]
    assert [json.loads(line).get("late") for line in journal.read_text().splitlines()] == [None, True]


def test_a_folder_that_is_gone_is_a_line_in_the_log(hooked, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    process = hooked.start("--client", "codex", cwd=gone, preexec_fn=gone.rmdir)
    out, err = process.communicate(json.dumps({**CALL, "cwd": str(gone)}).encode(), timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")
    assert "FileNotFoundError" in hooked.log[0]


def test_a_home_that_cannot_be_written_costs_the_log_and_nothing_else(hooked):
    (hooked.home / ".tacit" / "hook.log").mkdir()  # root may write in any folder
    (hooked.home / ".tacit").chmod(0o500)
    assert hooked.send(b"{") == ""
    assert "makemigration" in hooked.send(PROMPT)


def test_a_hook_stopped_by_hand_ends_quietly(hooked):
    process = hooked.start("--client", "claude-code")
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == b""


KILLS = int(os.environ.get("TACIT_TEST_KILLS", "20")) // 4


def test_a_learner_killed_at_any_moment_leaves_all_to_the_next_one(hooked, tmp_path):
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        transcripts = [(path.stem, path.read_bytes()) for path in sorted(folder.glob("*.jsonl"))[:3]]
    chance = random.Random(20261115)
    hooked.send(START)
    hooked.send(PROMPT)
    for stem, data in transcripts:
        path = tmp_path / f"{stem}.jsonl"
        path.write_bytes(data)
        request(hooked, stem, path)
    command = [sys.executable, "-P", "-m", "tacit", "hook", "learn", "--cwd", str(hooked.folder)]
    for _ in range(KILLS):
        victim = subprocess.Popen(command, env=hooked.environment, cwd=tmp_path)
        time.sleep(chance.uniform(0, 1.5))
        victim.kill()
        victim.wait()
        with Tacit(open_store(hooked.database)) as loop:
            assert loop.archive.verify() == []
    assert subprocess.run(command, env=hooked.environment, cwd=tmp_path, timeout=120).returncode == 0
    with Tacit(open_store(hooked.database)) as loop:
        counts = loop.archive.stats()
        assert loop.archive.verify() == []
    assert (counts.trajectories, counts.learned, counts.uses) == (3, 3, 2)
    assert not [*hooked.sessions.glob("*.wanted"), *hooked.sessions.glob("*.taken")]


def request(hooked: Hooked, session: str, transcript: Path) -> None:
    said = {"client": "claude-code", "session": session, "transcript": str(transcript), "cwd": str(hooked.folder)}
    (hooked.sessions / f"claude-code-{session}.wanted").write_text(json.dumps(said))


def test_a_session_that_starts_picks_up_what_a_killed_learner_left(hooked, tmp_path):
    hooked.send(START)
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        data = sorted(folder.glob("*.jsonl"))[0].read_bytes()
    (tmp_path / "s.jsonl").write_bytes(data)
    request(hooked, "left", tmp_path / "s.jsonl")
    (hooked.sessions / "claude-code-left.wanted").rename(hooked.sessions / "claude-code-left.taken")
    hooked.send({**START, "source": "resume"})
    deadline = time.monotonic() + 60
    while list(hooked.sessions.glob("*.taken")) or not hooked.is_idle():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with Tacit(open_store(hooked.database)) as loop:
        assert loop.archive.stats().trajectories == 1
