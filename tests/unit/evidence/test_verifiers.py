"""The command verifier: real commands that pass, fail, are missing, hang or are killed."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tacit.domain.errors import VerifierOutage
from tacit.evidence.verifiers.checks import Command
from tests.raising import raises


def test_status_zero_is_passed_and_the_output_is_kept():
    check = Command("echo fine; echo also >&2").verify()
    assert check.passed
    assert check.verifier == "echo fine; echo also >&2"
    assert check.detail.split() == ["fine", "also"]


@pytest.mark.parametrize("status", [1, 2, 5, 255])
def test_any_other_status_is_failed(status):
    check = Command(f"echo no; exit {status}").verify()
    assert not check.passed
    assert check.detail == "no"


def test_it_runs_in_its_folder(tmp_path):
    (tmp_path / "here").write_text("")
    assert Command("test -e here", cwd=tmp_path).verify().passed
    assert not Command("test -e elsewhere", cwd=tmp_path).verify().passed


def test_a_crash_is_a_failure_of_the_work():
    assert not Command(f"{sys.executable} -c 'import os; os.abort()'").verify().passed
    assert not Command("kill -SEGV $$").verify().passed


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("no-such-program-anywhere --version", "command_not_runnable"),
        ("/", "command_not_runnable"),
        ("kill -KILL $$", "command_killed"),
        ("sh -c 'kill -TERM $$'; exit $?", "command_killed"),
        ("", "no_command"),
        (" \n", "no_command"),
        ("echo \0", "command_not_started"),
    ],
)
def test_a_check_that_could_not_be_run_is_no_evidence(command, code):
    with raises(VerifierOutage, code) as outage:
        Command(command).verify()
    assert outage.value.hint


def test_a_folder_that_is_not_there_is_no_evidence(tmp_path):
    with raises(VerifierOutage, "command_not_started"):
        Command("true", cwd=tmp_path / "gone").verify()


def test_a_time_limit_is_no_evidence_and_leaves_nothing_running(tmp_path):
    with raises(VerifierOutage, "timeout"):
        Command("sh -c 'echo $$ > pid; exec sleep 300' | cat", cwd=tmp_path, timeout_s=2).verify()
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 30
    while _running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _running(child)


def test_a_command_that_asks_gets_no_answer_and_does_not_wait():
    assert not Command("read answer", timeout_s=5).verify().passed


def test_only_the_end_of_much_output_is_kept():
    check = Command("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; printf '\\377'").verify()
    assert check.passed
    assert len(check.detail) <= 400
    assert "line 499" in check.detail


def _running(process: int) -> bool:
    try:
        os.kill(process, 0)
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:1]
    except (ProcessLookupError, FileNotFoundError):
        return False
