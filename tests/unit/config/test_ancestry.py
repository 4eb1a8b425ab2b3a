"""An agent's marks are seen in the processes above, whatever was cleared further down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.config.presence import Ancestry

ASK = "from tacit.config.environment import UserEnvironment; print(*UserEnvironment.read().agent_markers)"
linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows other processes")


def process(
    folder: Path, number: int, *, parent: int, environ: bytes = b"", name: str = "sh", line: bytes = b""
) -> None:
    own = folder / str(number)
    own.mkdir()
    (own / "stat").write_text(f"{number} ({name}) S {parent} 1 1 0\n")
    (own / "environ").write_bytes(environ)
    (own / "cmdline").write_bytes(line)


def test_names_of_all_generations_are_gathered_and_empty_values_count_as_absent(tmp_path: Path) -> None:
    process(tmp_path, 30, parent=20, environ=b"HOME=/h\0EMPTY=\0", name="od) d (name")
    process(tmp_path, 20, parent=10, environ=b"CLAUDECODE=1\0")
    process(tmp_path, 10, parent=1, environ=b"no equals sign\0=odd\0")
    assert Ancestry(tmp_path, start=30).variables == {"HOME", "CLAUDECODE", ""}


def test_a_process_that_cannot_be_read_hides_none_above_it(tmp_path: Path) -> None:
    process(tmp_path, 30, parent=20, environ=b"")
    (tmp_path / "30/environ").unlink()
    process(tmp_path, 20, parent=1, environ=b"CODEX_CI=1\0")
    assert Ancestry(tmp_path, start=30).variables == {"CODEX_CI"}


def test_a_circle_of_processes_ends(tmp_path: Path) -> None:
    process(tmp_path, 30, parent=20, environ=b"A=1\0")
    process(tmp_path, 20, parent=30, environ=b"B=1\0")
    assert Ancestry(tmp_path, start=30).variables == {"A", "B"}
    assert Ancestry(tmp_path, start=30).is_endless, "who hides behind so many processes has something to hide"


def test_without_such_a_folder_nothing_is_known(tmp_path: Path) -> None:
    assert Ancestry(tmp_path / "none", start=30).variables == set()


def test_programs_are_known_by_their_own_name_and_scripts_by_theirs(tmp_path: Path) -> None:
    process(tmp_path, 40, parent=30, line=b"bash\0-lc\0codex is here\0")
    process(tmp_path, 30, parent=20, line=b"/opt/tools/claude\0-p\0")
    process(tmp_path, 20, parent=1, line=b"/usr/bin/node\0/opt/lib/gemini.js\0")
    assert Ancestry(tmp_path, start=40).programs == {"bash", "claude", "node", "gemini"}


@linux
def test_an_agent_above_is_seen_though_all_its_marks_were_cleared(tmp_path: Path) -> None:
    agent = tmp_path / "codex"
    agent.symlink_to("/bin/sh")
    ask = f'PYTHONPATH={os.pathsep.join(sys.path)!r} {sys.executable} -c "{ASK}"'
    done = subprocess.run([agent, "-c", f"env -i {ask}; true"], capture_output=True, text=True, check=True, timeout=60)
    assert "the program codex" in done.stdout


@linux
@pytest.mark.parametrize("way", ["env -i", "setsid -w env -i", "env -u CLAUDECODE", "script -qec"])
def test_clearing_the_environment_does_not_hide_an_agents_shell(way: str) -> None:
    ask = f'PYTHONPATH={os.pathsep.join(sys.path)!r} {sys.executable} -c "{ASK}"'
    inner = f"script -qec 'env -i {ask}' /dev/null" if way == "script -qec" else f"{way} {ask}"
    shell = ["sh", "-c", f"{inner}; true"]  # the shell stays, as an agent's does
    done = subprocess.run(
        shell,
        env={"CLAUDECODE": "1", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "CLAUDECODE" in done.stdout
