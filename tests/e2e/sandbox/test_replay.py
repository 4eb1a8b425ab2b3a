"""Replaying a skill: on a clean copy, in the real sandbox, and only where its checks can tell something."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.sandbox import SandboxLimits
from tacit.domain.skill import Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.evidence.replay import Replay
from tacit.providers.sandbox import Bubblewrap
from tests.raising import raises


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with a commit, an untracked secret, and work that is not committed."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "app.txt").write_text("version=1\n")
    (folder / "Makefile").write_text("check:\n\tgrep -q version=2 app.txt\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "expected.txt").write_text("2\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    (folder / ".env").write_text("TOKEN=untracked\n")
    return folder


def skill(*commands: str, checks: tuple[str, ...] = ("grep -q version=2 app.txt",), **more: Any) -> SkillContent:
    return SkillContent(
        kind=Kind.PROCEDURE,
        name="raise-the-version",
        description="Raise the version",
        steps=tuple(SkillStep(text=f"Run `{line}`", tool="Bash", arguments={"command": line}) for line in commands),
        postconditions=tuple(Condition(text="it holds", check=check) for check in checks),
        **more,
    )


def test_skill_that_does_what_it_says_passes(sandbox: Bubblewrap, checkout: Path) -> None:
    content = skill(
        "sed -i s/version=1/version=2/ app.txt", "mkdir -p build", checks=("grep -q =2 app.txt && test -d build",)
    )
    check = Replay(content, checkout, sandbox=sandbox).verify()
    assert check.passed
    assert check.verifier == "replay: grep -q =2 app.txt && test -d build"


def test_checkout_itself_is_not_touched_and_its_untracked_secret_not_seen(sandbox: Bubblewrap, checkout: Path) -> None:
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    content = skill("test ! -e .env && echo version=2 > app.txt && rm -r Readme 2>/dev/null; echo x > new.txt")
    assert Replay(content, checkout, sandbox=sandbox).verify().passed
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_skill_that_does_nothing_fails(sandbox: Bubblewrap, checkout: Path) -> None:
    assert not Replay(skill("touch other.txt"), checkout, sandbox=sandbox).verify().passed


def test_step_that_fails_is_a_failure_with_what_it_said(sandbox: Bubblewrap, checkout: Path) -> None:
    check = Replay(skill("echo wrong >&2; false", "echo version=2 > app.txt"), checkout, sandbox=sandbox).verify()
    assert (check.passed, check.detail) == (False, "wrong")


def test_parameters_are_filled_and_quoted(sandbox: Bubblewrap, checkout: Path) -> None:
    content = skill(
        "echo version={version} > app.txt; touch {note}", parameters=(Parameter(name="version"), Parameter(name="note"))
    )
    values = {"version": "2", "note": "a b; touch pwned"}
    assert Replay(content, checkout, values, sandbox=sandbox).verify().passed
    with raises(VerifierOutage, "value_missing"):
        Replay(content, checkout, {"version": "2"}, sandbox=sandbox).verify()
    between = skill('echo "{note}" > app.txt', parameters=(Parameter(name="note"),))
    with raises(Mistake, "value_needs_quoting"):
        Replay(between, checkout, {"note": "$(touch x)"}, sandbox=sandbox).verify()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (skill("sed -i s/2/1/ tests/expected.txt; echo version=2 > app.txt"), "steps_change_checks"),
        (skill("printf 'check:\\n\\ttrue\\n' > Makefile", checks=("make check",)), "steps_change_checks"),
        (skill("echo version=2 > app.txt", checks=("grep -q version app.txt",)), "checks_pass_before_steps"),
        (skill("echo version=2 > app.txt", checks=("true",)), "check_proves_nothing"),
        (skill("echo version=2 > app.txt", checks=("pytest -q || true",)), "check_proves_nothing"),
        (skill("echo version=2 > app.txt", checks=()), "no_check"),
        (skill("no-such-program --now"), "program_missing"),
        (skill("curl -sS https://example.org/x"), "needs_network"),
        (skill(), "no_steps"),
    ],
)
def test_what_cannot_be_told_is_no_evidence(
    sandbox: Bubblewrap, checkout: Path, content: SkillContent, code: str
) -> None:
    with raises(VerifierOutage, code):
        Replay(content, checkout, sandbox=sandbox).verify()


def test_steps_that_are_no_commands_are_not_guessed(sandbox: Bubblewrap, checkout: Path) -> None:
    edit = SkillStep(text="Edit app.txt", tool="Edit", arguments={"file_path": "app.txt"})
    prose = SkillStep(text="Think about `rm -rf /` first, then go on")
    for step in (edit, prose):
        content = SkillContent(
            kind=Kind.PROCEDURE, name="n", description="d", steps=(step,), postconditions=skill("x").postconditions
        )
        with raises(VerifierOutage, "step_not_a_command"):
            Replay(content, checkout, sandbox=sandbox).verify()


def test_steps_that_take_too_long_are_no_evidence(sandbox: Bubblewrap, checkout: Path) -> None:
    slow = Replay(skill("sleep 30"), checkout, sandbox=sandbox, limits=SandboxLimits(wall_s=0.5))
    with raises(VerifierOutage, "time_limit"):
        slow.verify()


def test_folder_without_commits_is_not_copied(sandbox: Bubblewrap, tmp_path: Path) -> None:
    with raises(VerifierOutage, "no_clean_copy"):
        Replay(skill("true"), tmp_path, sandbox=sandbox).verify()


def test_replay_vouches_for_a_use_as_a_machine(sandbox: Bubblewrap, checkout: Path, tmp_path: Path) -> None:
    content = skill("echo version=2 > app.txt")
    with tacit.open(tmp_path / "memory.db") as memory:
        version = memory.propose(content, by="ann", origin=tacit.Origin.USER).version_id
        memory.review(version, "approve", by="ann")
        use = memory.recall("Raise the version").use_id
        [proof] = memory.record(use, verifier=tacit.Replay(content, checkout, sandbox=sandbox))
    assert (proof.outcome, proof.grade) == (tacit.Outcome.SUCCESS, tacit.Grade.MACHINE)
