"""Runs what a client would run, as a client would run it: a hook's command with an event, an MCP server with a greeting.

In a bare environment and a throw-away folder, so that nothing of the caller helps and nothing of the project is touched.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.config.environment import UserEnvironment
from tacit.surfaces.clients.launcher import STAND_IN_VERSION

_TIMEOUT_S = 20
_BARE_PATH = "/usr/local/bin:/usr/bin:/bin"
_STAND_IN = f'"version":"{STAND_IN_VERSION}"'.encode()
_MOST_OUTPUT = 10_000
"""Characters that clients take from a hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """How a command behaved."""

    problem: str = ""
    """What was wrong; empty when nothing was."""
    seconds: float = 0.0
    offers_nothing: bool = False
    """Whether a server answered that only stands in for one that was not found."""


def probe_hook(command: str, client: str, *, folder: Path, environment: UserEnvironment, nonce: str) -> ProbeResult:
    """Run a hook's command with an event from a folder that has a store, and look for its line in the journal there."""
    session = f"doctor-{nonce}"
    event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(folder), "source": "startup"}
    started = time.monotonic()
    try:
        done = subprocess.run(
            _bare(environment, ["sh", "-c", command]),
            cwd=folder,
            input=json.dumps(event),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ProbeResult(problem=f"it did not end within {_TIMEOUT_S} seconds", seconds=_TIMEOUT_S)
    seconds = time.monotonic() - started
    journal = folder / ".tacit" / "sessions" / f"{client}-{session}.jsonl"
    return ProbeResult(problem=_hook_problem(done, journal), seconds=seconds)


def _hook_problem(done: subprocess.CompletedProcess[str], journal: Path) -> str:
    if done.returncode != 0:
        return f"it ended with status {done.returncode}: {_last_line(done.stderr)}"
    if len(done.stdout) > _MOST_OUTPUT:
        return f"it printed {len(done.stdout)} characters, and clients cut at {_MOST_OUTPUT}"
    if done.stdout.strip() and not done.stdout.lstrip().startswith("{"):
        return f"it printed something that is no JSON: {done.stdout.strip()[:80]!r}"
    if not journal.is_file():
        return "it ran and left no line in the journal"
    return ""


def probe_server(command: str, arguments: Sequence[str], *, folder: Path, environment: UserEnvironment) -> ProbeResult:
    """Start an MCP server, greet it, and stop it once it has answered."""
    greeting = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "tacit-doctor", "version": "1"},
        },
    }
    started = time.monotonic()
    with subprocess.Popen(
        _bare(environment, [command, *arguments]),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        try:
            server.stdin.write(json.dumps(greeting).encode() + b"\n")
            ready, _, _ = select.select([server.stdout], [], [], _TIMEOUT_S)
            answer = os.read(server.stdout.fileno(), 1 << 20) if ready else b""
        except BrokenPipeError:  # it has ended already
            answer = b""
        server.kill()
        message = "" if b'"serverInfo"' in answer else server.stderr.read().decode(errors="replace")
    if b'"serverInfo"' in answer:
        return ProbeResult(seconds=time.monotonic() - started, offers_nothing=_STAND_IN in answer.replace(b" ", b""))
    return ProbeResult(problem=f"it did not answer: {_last_line(message)}", seconds=time.monotonic() - started)


def _bare(environment: UserEnvironment, words: Sequence[str]) -> list[str]:
    kept = [f"HOME={environment.user_home}", f"TACIT_HOME={environment.home}", f"PATH={_BARE_PATH}"]
    return ["env", "-i", *kept, *words]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing was said"
