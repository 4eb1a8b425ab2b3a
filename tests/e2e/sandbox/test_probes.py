"""What runs in the sandbox reaches nothing of the host and takes no more than it may, for root and ordinary users alike."""

from __future__ import annotations

import json
import os
import platform
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.sandbox import Ended, SandboxFile, SandboxLimits, SandboxRequest
from tacit.providers.sandbox.profile import numbers
from tests.e2e.sandbox.conftest import ORDINARY, Caller
from tests.e2e.sandbox.probes import EMPTY_FILES, FOREIGN_CALL, MEMORY_OF_MANY, PREAMBLE, REACHING

PYTHON = "/usr/bin/python3"
pytestmark = pytest.mark.skipif(not Path(PYTHON).exists(), reason="the probes need a Python in /usr")
USUAL = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"]
CLONE = {"x86_64": 56, "aarch64": 220}
FOREIGN = {
    "i386": "b814000000cd80c3",  # mov eax, 20 (getpid); int 0x80; ret
    "x32": "b8270000400f05c3",  # mov eax, 0x40000027 (getpid of x32); syscall; ret
}


def python(text: str, *arguments: str) -> tuple[str, ...]:
    return (PYTHON, "-I", "-c", text, *arguments)


@pytest.fixture(scope="module")
def host() -> Iterator[dict[str, Any]]:
    """Things of the host that are within every program's reach, were it not confined."""
    marker, secret = secrets.token_hex(8), secrets.token_hex(16)
    sleeper = subprocess.Popen(
        ["/usr/bin/env", f"MARKER={marker}", "sleep", "600"],
        user=ORDINARY if os.geteuid() == 0 else None,
    )
    with tempfile.TemporaryDirectory(prefix="host-") as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        patch.setenv("HOST_SECRET", secret)
        inherited = os.open(folder / "secret", os.O_RDONLY)
        os.set_inheritable(inherited, True)
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind(f"\0{marker}")
            abstract.listen()
            with socket.socket(socket.AF_UNIX) as named:
                named.bind(str(folder / "socket"))
                named.listen()
                (folder / "socket").chmod(0o777)
                machine = platform.machine()
                yield {
                    "secret": secret,
                    "secret_file": str(folder / "secret"),
                    "folder": str(Path.cwd()),
                    "port": listener.getsockname()[1],
                    "abstract": marker,
                    "socket_file": str(folder / "socket"),
                    "pid": sleeper.pid,
                    "marker": marker,
                    "calls": {**numbers(machine), "clone": CLONE[machine]},
                    "variables": USUAL,
                }
        os.close(inherited)
    assert sleeper.poll() is None, "a probe killed a process of the host"
    sleeper.kill()
    sleeper.wait()


@pytest.mark.parametrize("what", REACHING)
def test_probe_does_not_get(what: str, caller: Caller, host: dict[str, Any]) -> None:
    request = SandboxRequest(
        command=python(PREAMBLE + REACHING[what], "host.json"),
        files=(SandboxFile(path="host.json", content=json.dumps(host).encode()),),
        limits=SandboxLimits(wall_s=15),
    )
    ran = caller(request)
    assert "ESCAPED" not in ran.output
    assert "Traceback" not in ran.output
    assert ran.ended is Ended.EXIT
    assert ran.status in (0, 137), ran.output
    assert ran.level == "bubblewrap"


def test_probes_would_escape_without_a_sandbox(host: dict[str, Any], tmp_path: Path) -> None:
    """A probe that finds nothing anywhere shows nothing."""
    free = []
    (tmp_path / "host.json").write_text(json.dumps(host))
    for what in ("a secret file of the host", "a listener on the host's loopback", "an abstract socket of the host"):
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + REACHING[what], str(tmp_path / "host.json")],
            capture_output=True,
            text=True,
        )
        free.append("ESCAPED" in done.stdout)
    assert free == [True, True, True]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these conventions are of x86_64")
@pytest.mark.parametrize("convention", FOREIGN)
def test_calls_by_a_foreign_convention_kill_the_process(caller: Caller, convention: str) -> None:
    ran = caller(SandboxRequest(command=python(FOREIGN_CALL, FOREIGN[convention])))
    assert ran.status == 128 + 31, ran.output
    assert "ESCAPED" not in ran.output


def test_busy_loop_is_stopped_by_the_processor_limit(caller: Caller) -> None:
    ran = caller(SandboxRequest(command=python("while True: pass"), limits=SandboxLimits(cpu_s=1, wall_s=10)))
    assert ran.status in (128 + 24, 137)
    assert ran.ended is Ended.EXIT
    assert ran.seconds < 8


def test_sleeper_is_stopped_by_the_wall_clock(caller: Caller) -> None:
    ran = caller(SandboxRequest(command=("sleep", "60"), limits=SandboxLimits(wall_s=0.5)))
    assert ran.ended is Ended.TIME
    assert ran.seconds < 5


def test_who_ignores_signals_and_kills_what_started_it_is_stopped_all_the_same(caller: Caller) -> None:
    text = (
        "import os, signal, time\n"
        "for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n"
        "os.setsid()\nos.kill(os.getppid(), 9)\ntime.sleep(60)\nprint('ESCAPED')\n"
    )
    ran = caller(SandboxRequest(command=python(text), limits=SandboxLimits(wall_s=0.5)))
    assert "ESCAPED" not in ran.output
    assert ran.seconds < 12


def test_flood_of_output_is_cut_and_stopped(caller: Caller) -> None:
    ran = caller(SandboxRequest(command=("yes",), limits=SandboxLimits(output_bytes=100_000, wall_s=10)))
    assert ran.ended is Ended.OUTPUT
    assert len(ran.output) == 100_000
    assert ran.seconds < 5


def test_many_processes_together_do_not_hold_more_than_the_limit(caller: Caller) -> None:
    ran = caller(SandboxRequest(command=python(MEMORY_OF_MANY), limits=SandboxLimits(memory_mb=512, wall_s=10)))
    assert ran.ended is Ended.MEMORY
    assert "ESCAPED" not in ran.output


def test_empty_files_are_counted_too(caller: Caller) -> None:
    ran = caller(SandboxRequest(command=python(EMPTY_FILES), limits=SandboxLimits(cpu_s=60, wall_s=40)))
    assert ran.ended is Ended.MEMORY
    assert "ESCAPED" not in ran.output


def test_nothing_outlives_the_command(caller: Caller) -> None:
    length = f"600.{secrets.randbelow(10**9):09}"
    text = f"setsid sleep {length} >/dev/null 2>&1 & (sleep {length} &) ; sleep 0.2; echo left"
    ran = caller(SandboxRequest(command=("sh", "-c", text)))
    assert ran.output == "left\n"
    assert _gone(length)


def test_nothing_outlives_the_time_limit(caller: Caller) -> None:
    length = f"600.{secrets.randbelow(10**9):09}"
    text = f"trap '' TERM; setsid sleep {length} & while true; do sleep {length}; done"
    ran = caller(SandboxRequest(command=("sh", "-c", text), limits=SandboxLimits(wall_s=0.5)))
    assert ran.ended is Ended.TIME
    assert _gone(length)


def test_workspace_of_the_caller_is_never_touched(caller: Caller) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "kept.txt").write_text("before")
        (folder / "link").symlink_to("/etc/shadow")
        files = (
            SandboxFile(
                path="added/run.sh", content=b"echo x > ../kept.txt; rm ../link; cat kept.txt", executable=True
            ),
        )
        ran = caller(
            SandboxRequest(command=("sh", "-c", "cd added && ./run.sh; sh ./run.sh"), workspace=folder, files=files)
        )
        assert {change.path: str(change.how) for change in ran.changes} == {"kept.txt": "altered", "link": "removed"}
        assert [path.name for path in sorted(folder.iterdir())] == ["kept.txt", "link"]
        assert (folder / "kept.txt").read_text() == "before"


def _gone(length: str) -> bool:
    """Whether no process of this machine sleeps for that long; the kernel may need a moment."""
    for _ in range(50):
        if not any(length.encode() in _command_line(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
            return True
        time.sleep(0.02)
    return False


def _command_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
