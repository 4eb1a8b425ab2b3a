"""Verifiers of results: counts in output, JUnit, CI files, states of files, a person's verdict, a skill's checks."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.evidence import Grade
from tacit.domain.skill import Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.evidence.replay import Replay
from tacit.evidence.repository import WorkspaceBaseline
from tacit.evidence.verifiers.checks import CIResult, Command, FileState, Person, Postconditions, State, Tests, is_own
from tacit.evidence.verifiers.test_results import ResultCounts, count_results, parse_junit
from tests.e2e.service import Service
from tests.raising import raises


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("..\n2 passed in 0.1s", ResultCounts(2)),
        ("\x1b[32m2 passed\x1b[0m, 1 skipped, 1 xfailed in 0.1s", ResultCounts(2, 0, 2)),
        ("1 failed, 3 passed in 1s", ResultCounts(3, 1)),
        ("1 error in 0.1s", ResultCounts(0, 1)),
        ("4 skipped in 0.1s", ResultCounts(0, 0, 4)),
        ("no tests ran in 0.01s", ResultCounts()),
        ("Ran 3 tests in 0.1s\n\nOK", ResultCounts(3)),
        ("Ran 3 tests in 0.1s\n\nOK (skipped=3)", ResultCounts(0, 0, 3)),
        ("Ran 3 tests in 0.1s\n\nFAILED (failures=1, errors=1)", ResultCounts(1, 2)),
        ("Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total", ResultCounts(2)),
        ("ok  \tapp/core\t0.012s\nFAIL\tapp/web\t0.1s", ResultCounts(1, 1)),
        ("test result: ok. 12 passed; 0 failed; 1 ignored", ResultCounts(12, 0, 1)),
        ("ok 1 - adds\nnot ok 2 - takes\nok 3 # SKIP later", ResultCounts(1, 1, 1)),
        ("everything is fine", None),
    ],
)
def test_counts_of_common_runners_are_read(output, counts):
    assert count_results(output) == counts


def test_test_run_needs_a_test_that_ran(tmp_path):
    assert Tests("echo '2 passed'; test -e .", tmp_path).verify().passed
    failed = Tests("echo '1 failed, 1 passed'; exit 1", tmp_path).verify()
    assert not failed.passed
    assert failed.detail.startswith("1 passed, 1 failed")
    for nothing in ("echo '3 skipped'", "echo 'collected 0 items'", "test -e .", "echo broken; exit 1"):
        with raises(VerifierOutage, "no_test_ran"):
            Tests(nothing, tmp_path).verify()


def test_output_that_contradicts_the_status_is_doubted_and_not_passed(tmp_path):
    check = Tests("test -e . && echo '1 failed, 1 passed'", tmp_path).verify()
    assert not check.passed
    assert check.counts_as is Grade.SELF


@pytest.mark.parametrize("command", ["true", "exit 0", "test -e . || true", "test -e .; true", "test -e . | cat"])
def test_command_that_proves_nothing_is_in_doubt(tmp_path, command):
    check = Command(command, tmp_path).verify()
    assert check.passed
    assert check.counts_as is Grade.SELF


def test_command_that_can_fail_counts(tmp_path):
    assert Command("test -d sub || exit 1", tmp_path).verify().counts_as is Grade.MACHINE


# --- JUnit and CI -----------------------------------------------------------------------------------------------------

SUITE = b"<testsuites><testsuite><testcase/><testcase><skipped/></testcase>%s</testsuite></testsuites>"


def test_junit_is_counted_and_its_commit_read():
    failing = (
        b"<testcase><failure>no</failure></testcase><properties><property name='commit' value='abc1234'/></properties>"
    )
    assert parse_junit(SUITE % failing, "x") == (ResultCounts(1, 1, 1), ["abc1234"])


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
        '<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>'.encode("utf-16"),
        b"<testsuite>" + b"<a>" * 100 + b"</a>" * 100 + b"</testsuite>",
        b"<html/>",
        b"<testsuite>",
        b"",
    ],
)
def test_what_is_no_plain_report_is_refused(data):
    with raises(VerifierOutage, "invalid_report"):
        parse_junit(data, "x")


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "app.py").write_text("x = 1\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def baseline(folder: Path) -> WorkspaceBaseline:
    time.sleep(0.06)  # clocks of files tick more coarsely than others
    return WorkspaceBaseline(folder=folder, since=datetime.now(UTC) + timedelta(seconds=0.05))


def result(file: Path, document: object) -> Path:
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


DONE = {"status": "completed"}


@pytest.mark.parametrize(
    ("document", "passed"),
    [
        ({"conclusion": "success"} | DONE, True),
        ({"conclusion": "failure"} | DONE, False),
        ({"check_runs": [{"conclusion": "success"} | DONE, {"conclusion": "skipped"} | DONE]}, True),
        ({"check_runs": [{"conclusion": "success"} | DONE, {"conclusion": "failure"} | DONE]}, False),
        ({"numTotalTests": 3, "numPassedTests": 3, "numFailedTests": 0}, True),
        ({"summary": {"total": 3, "passed": 2, "failed": 1}}, False),
        ({"result": "success", "tests": 12}, True),
        ("<testsuite><testcase/></testsuite>", True),
        ("<testsuite><testcase><error/></testcase></testsuite>", False),
    ],
)
def test_ci_results_are_read(project, tmp_path, document, passed):
    here = baseline(project)
    check = CIResult(result(tmp_path / "r", document), baseline=here).verify()
    assert check.passed is passed
    assert check.counts_as is Grade.MACHINE


@pytest.mark.parametrize(
    "document",
    [
        {"conclusion": "success", "status": "in_progress"},
        {"conclusion": "cancelled"},
        {"check_runs": []},
        {"check_runs": [{"conclusion": "skipped"} | DONE]},
        {"conclusion": "success", "tests": 0},
        {"conclusion": "success", "head_sha": "1" * 40},
        {"name": "nothing said"},
        "[]",
        "not json",
        "[" * 100_000,
        "<testsuite/>",
    ],
    ids=str,
)
def test_ci_result_that_shows_nothing_is_no_evidence(project, tmp_path, document):
    here = baseline(project)
    with pytest.raises(VerifierOutage):
        CIResult(result(tmp_path / "r", document), baseline=here).verify()


def test_ci_result_of_the_commit_that_is_checked_out_counts_and_an_old_file_does_not(project, tmp_path):
    head = subprocess.run(["git", "-C", project, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    old = result(tmp_path / "old.json", {"conclusion": "success"})
    here = baseline(project)
    with raises(VerifierOutage, "result_too_old"):
        CIResult(old, baseline=here).verify()
    named = result(tmp_path / "new.json", {"conclusion": "success", "head_sha": head})
    assert CIResult(named, baseline=here).verify().counts_as is Grade.MACHINE


def test_ci_result_in_the_workspace_is_in_doubt(project):
    here = baseline(project)
    check = CIResult(result(project / "r.json", {"conclusion": "success"}), baseline=here).verify()
    assert "could write it" in check.doubt


# --- files, people, own checks ----------------------------------------------------------------------------------------


def test_file_states(project):
    here = baseline(project)
    (project / "new.txt").write_text("version 2")
    digest = hashlib.sha256(b"version 2").hexdigest()
    for asked, holds in (
        ("new.txt", True), ("new.txt exists", True), ("new.txt absent", False), ("gone.txt exists", False),
        ("new.txt contains version 2", True), ("new.txt contains version 3", False), (f"new.txt sha256 {digest}", True),
        ("new.txt changed", True), ("app.py changed", False),
    ):  # fmt: skip
        check = FileState.parse(asked).on(here).verify()
        assert check.passed is holds, asked
        assert check.counts_as is Grade.MACHINE, asked


@pytest.mark.parametrize("asked", ["app.py exists", "app.py contains x = 1", "gone.txt absent"])
def test_what_was_so_before_shows_nothing(project, asked):
    check = FileState.parse(asked).on(baseline(project)).verify()
    assert check.passed
    assert "before the run" in check.doubt


def test_removed_file_is_changed_and_absent(project):
    here = baseline(project)
    (project / "app.py").unlink()
    assert FileState("app.py", State.ABSENT, baseline=here).verify().counts_as is Grade.MACHINE
    assert FileState("app.py", State.CHANGED, baseline=here).verify().passed


@pytest.mark.parametrize("asked", ["", " ", "a contains", "a sha256 abc", "a exists now"])
def test_unclear_question_is_a_mistake(asked):
    with pytest.raises(Mistake):
        FileState.parse(asked)


def test_file_outside_the_workspace_is_not_looked_at(project, tmp_path):
    (tmp_path / "secret").write_text("x")
    (project / "link").symlink_to(tmp_path / "secret")
    for path in ("../secret", "link", "/etc/hostname"):
        with raises(VerifierOutage, "outside_workspace"):
            FileState(path, cwd=project).verify()
    with raises(VerifierOutage, "no_baseline"):
        FileState("app.py", State.CHANGED, cwd=project).verify()


def test_person_has_a_name_and_the_grade_of_a_person():
    check = Person(passed=True, by="ann", note="I saw it").verify()
    assert (check.grade, check.verifier) == (Grade.HUMAN, "person: ann")
    with pytest.raises(VerifierOutage):
        Person(passed=True, by=" ").verify()


def skill(*checks: str, parameters: tuple[str, ...] = ()) -> SkillContent:
    return SkillContent(
        kind=Kind.NORM, name="s", description="d", body="b",
        postconditions=tuple(Condition(text="it holds", check=check) for check in checks),
        parameters=tuple(Parameter(name=name, description="x") for name in parameters),
    )  # fmt: skip


def test_own_checks_must_all_pass(tmp_path):
    (tmp_path / "a").write_text("")
    assert Postconditions([skill("test -f a")], tmp_path).verify().passed
    both = Postconditions([skill("test -f a", "test -f b")], tmp_path).verify()
    assert not both.passed
    assert both.verifier == "postconditions: test -f a; test -f b"


def test_own_checks_take_values_and_are_recognised_with_them(tmp_path):
    (tmp_path / "orders.sql").write_text("")
    content = skill("test -f {table}.sql", parameters=("table",))
    assert Postconditions([content], tmp_path, {"table": "orders"}).verify().passed
    with raises(VerifierOutage, "value_missing"):
        Postconditions([content], tmp_path).verify()
    assert is_own("test -f orders.sql", [content])
    assert not is_own("test -f orders.sql || true", [content])


@pytest.mark.parametrize(
    ("contents", "code"),
    [
        ([], "not_checkable"),
        ([skill()], "no_check"),
        ([skill("true")], "check_proves_nothing"),
        ([skill("test -f a || true")], "check_proves_nothing"),
    ],
)
def test_skill_without_a_check_that_shows_something_is_not_checkable(tmp_path, contents, code):
    with raises(VerifierOutage, code):
        Postconditions(contents, tmp_path).verify()


def test_what_asks_a_service_is_not_replayed_without_network(tmp_path):
    step = SkillStep(text="Deploy", tool="Bash", arguments={"command": "kubectl apply -f audit.yaml"})
    deployed = dataclasses.replace(skill("curl -fsS http://audit/health"), steps=(step,))
    with raises(VerifierOutage, "asks_service"):
        Replay(deployed, tmp_path).verify()


@pytest.mark.parametrize(
    ("answer", "passed"),
    [('{"state":"MERGED"}', True), ("title:\tx\nstate:\tMERGED\n--\n", True), ("CLOSED", False), ("OPEN", None)],
)
def test_a_pull_request_is_the_word_of_who_merged_it(tmp_path, answer, passed):
    gh = tmp_path / "gh"
    gh.write_text(f"#!/bin/sh\nprintf '%b' '{answer}'\n")
    gh.chmod(0o755)
    asked = Command("gh pr view 7", tmp_path, search_path=f"{tmp_path}:/usr/bin:/bin")
    if passed is None:
        with raises(VerifierOutage, "not_decided"):
            asked.verify()
    else:
        check = asked.verify()
        assert (check.passed, check.counts_as, check.verifier) == (passed, Grade.HUMAN, "merged: gh pr view 7")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed; install it with the system's packages")
def test_a_service_is_asked_with_settings_that_are_older_than_the_use(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with Service(tmp_path / "live") as service:
        asked = Command(f"curl -fsS {service.address}/health", tmp_path)
        assert not asked.verify().passed
        service.live.write_text("1.0")
        time.sleep(0.2)  # times of files tick
        asked = asked.on(WorkspaceBaseline(folder=tmp_path, since=datetime.now(UTC)))
        assert asked.verify().counts_as is Grade.MACHINE
        (tmp_path / ".curlrc").write_text("silent")
        check = asked.verify()
    assert (check.passed, check.counts_as) == (True, Grade.SELF)
    assert ".curlrc" in check.doubt
