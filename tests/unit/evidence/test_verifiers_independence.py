"""Whether the run changed its own check: real git projects, and what changed since the skill was shown."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit.domain.evidence import Use
from tacit.evidence.independence.build_files import files_run, programs_of
from tacit.evidence.independence.repository import Repository
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline
from tacit.evidence.verifiers.checks import Command, verify

FILES = {
    "app.py": "x = 1\n",
    "scripts/run.sh": "exit 0\n",
    "tests/test_app.py": "def test_a(): ...\n",
    "Makefile": "test:\n\tsh scripts/run.sh\n",
    "windows.py": "y = 1\n",
    "docs/guide.md": "hello\n",
}


def git(folder: Path, *words: str, at: datetime | None = None) -> str:
    who = ["git", "-C", str(folder), "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    env = {**os.environ} | ({"GIT_COMMITTER_DATE": at.isoformat(timespec="seconds")} if at else {})
    return subprocess.run([*who, *words], env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def baseline(folder: Path, *, strict: bool = False) -> WorkspaceBaseline:
    time.sleep(0.06)  # clocks of files tick more coarsely than others
    commit = git(folder, "rev-parse", "HEAD").strip() if (folder / ".git").exists() else ""
    return WorkspaceBaseline(
        folder=folder, since=datetime.now(UTC) + timedelta(seconds=0.05), commit=commit, strict=strict
    )


def test_work_that_leaves_the_check_alone_raises_no_doubt(project):
    here = baseline(project, strict=True)
    (project / "app.py").write_text("x = 2\n")
    (project / "new.py").write_text("z = 3\n")
    (project / "docs" / "guide.md").write_text("Run it with `pytest`; os._exit is evil.\n")
    (project / "tests" / "__pycache__").mkdir()
    (project / "tests" / "__pycache__" / "test_app.pyc").write_bytes(b"")
    assert here.doubt("make test") == ""
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "work")
    assert here.doubt("make test") == ""


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ("echo >> tests/test_app.py", "changed `tests/test_app.py`"),
        ("rm tests/test_app.py", "removed `tests/test_app.py`"),
        ("rm -r tests", "removed `tests/test_app.py`"),
        ("echo > tests/conftest.py", "changed `tests/conftest.py`"),
        ("echo > json.py", "changed `json.py`"),
        ("mkdir re; echo > re/__init__.py", "changed `re/__init__.py`"),
        ("echo > scripts/run.sh", "`scripts/run.sh`, which the build runs"),
        ("echo 'import os; os._exit(0)' > app.py", "reaches for what runs the tests"),
        ("echo > .git/hooks/pre-commit", "git hook"),
        ("echo > ../conftest.py", "above the workspace"),
        ("git checkout -q --orphan x; git commit -qm x", "something else is checked out"),
        ("echo 2 > app.py; git stash -q", "put aside"),
        ("ln -sfn /tmp tests/data", "changed `tests/data`"),
        ("mkdir old; echo 1 > old/test_app.py; rm -r tests; mv old tests", "changed `tests/test_app.py`"),
    ],
)
def test_change_of_what_decides_the_check_is_reported(project, change, reported):
    here = baseline(project)
    env = {**os.environ} | {
        f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    subprocess.run(["bash", "-c", change], cwd=project, env=env, check=True, capture_output=True)
    assert reported in here.doubt("make test")


def test_what_was_uncommitted_before_is_not_the_runs(project):
    (project / "tests" / "test_app.py").write_text("def test_b(): ...\n")
    (project / "tests" / "test_new.py").write_text("def test_c(): ...\n")
    here, strict = baseline(project), baseline(project, strict=True)
    (project / "app.py").write_text("x = 2\n")
    assert here.doubt("pytest") == ""
    assert "not as it was committed" in strict.doubt("pytest")  # whoever reports may have chosen the moment


def test_line_endings_of_a_checkout_are_no_change(project):
    here = baseline(project)
    (project / "tests" / "test_app.py").write_bytes(b"def test_a(): ...\r\n")
    assert here.doubt() == ""


def test_without_a_commit_there_is_doubt_only_where_one_must_be_strict(tmp_path):
    (tmp_path / "test_a.py").write_text("")
    assert baseline(tmp_path).doubt("pytest") == ""
    assert "no commit" in baseline(tmp_path, strict=True).doubt("pytest")
    here = baseline(tmp_path)
    (tmp_path / "test_a.py").write_text("x")
    assert "test_a.py" in here.doubt("pytest")


def test_commit_that_is_gone_is_a_doubt(project):
    here = WorkspaceBaseline(folder=project, since=datetime.now(UTC), commit="1" * 40)
    assert "no longer there" in here.doubt()


def test_use_without_a_commit_is_held_against_what_was_checked_out_then(project):
    since = datetime.now(UTC) + timedelta(days=1)
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    second = git(project, "rev-parse", "HEAD").strip()
    (project / "tests" / "test_app.py").write_text("def test_easy(): ...\n")
    git(project, "commit", "-qam", "third", at=since + timedelta(days=1))
    here = Repository.around(project)
    assert here is not None
    assert here.before(since) == second
    (project / ".git" / "logs" / "HEAD").unlink()
    assert here.before(since) == second
    assert "tests/test_app.py" in WorkspaceBaseline(
        folder=project, since=since - timedelta(days=2), commit=second
    ).doubt("pytest")


def test_committed_changes_matter_to_a_clean_copy_and_uncommitted_ones_do_not(project):
    here = baseline(project)
    (project / "tests" / "test_app.py").write_text("x")
    assert here.committed() == ""
    git(project, "commit", "-qam", "x")
    assert "tests/test_app.py" in here.committed()


def test_program_that_came_since_is_reported(project, tmp_path):
    here = baseline(project)
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "pytest").write_text("#!/bin/sh\n")
    (fake / "pytest").chmod(0o755)
    assert dict(programs_of("pytest -q", project, search_path=str(fake))) == {"pytest": fake / "pytest"}
    assert "was put there" in here.doubt(f"{fake}/pytest -q")
    assert "was put there" not in here.doubt("pytest -q", search_path=str(fake))  # on the caller's word


def test_startup_file_of_an_environment_is_reported(project, tmp_path):
    packages = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    program = tmp_path / "venv" / "bin" / "python"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    here = baseline(project)
    assert here.doubt(f"{program} -m pytest") == ""
    (packages / "evil.pth").write_text("import os")
    assert "evil.pth" in here.doubt(f"{program} -m pytest")


def test_files_that_a_command_runs_are_found(project):
    assert files_run("sh scripts/run.sh", project, project) == {"scripts/run.sh"}
    assert files_run("cd scripts && ./run.sh", project, project) == {"scripts/run.sh"}
    assert files_run("bash -c 'scripts/run.sh'", project, project) == {"scripts/run.sh"}
    assert files_run("pytest tests/test_app.py::test_a", project, project) == {"tests/test_app.py"}
    assert files_run("mypy app.py", project, project) == set()


def test_verifier_is_held_against_the_use(project):
    use = Use(version_ids=("v_1",), task="t", at=datetime.now(UTC) - timedelta(seconds=60))
    check = verify(Command("test -f app.py", cwd=project), use=use, project=None)
    assert check.doubt  # everything there is newer than the use
    own = WorkspaceBaseline(folder=project, since=datetime.now(UTC) + timedelta(seconds=60))
    assert not verify(Command("test -f app.py", cwd=project, baseline=own), use=use, project=None).doubt


PRODUCTS = """\
test: build
\tsh scripts/run.sh
build:
\tmkdir -p dist && echo built > dist/app.js
notes:
\tpython3 gen.py > NOTES.md
\techo entry >> CHANGELOG.md
serve:
\tpython3 app.py
"""


@pytest.fixture
def building(project: Path) -> Path:
    """The project, with a build that writes files."""
    (project / "Makefile").write_text(PRODUCTS)
    (project / "gen.py").write_text("print(1)\n")
    (project / ".gitignore").write_text("dist/\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "build")
    return project


@pytest.mark.parametrize(
    "check",
    ["make test", "python3 -m unittest -q", "test -s dist/app.js", "grep -q 2 NOTES.md", "grep -q entry CHANGELOG.md"],
)
def test_what_the_build_writes_is_the_work_and_no_changed_check(building, check):
    here = baseline(building, strict=True)
    (building / "dist").mkdir()
    (building / "dist" / "app.js").write_text("built\n")
    (building / "NOTES.md").write_text("2\n")
    (building / "CHANGELOG.md").write_text("entry\n")
    (building / "app.py").write_text("x = 2\n")
    assert here.doubt(check) == ""


@pytest.mark.parametrize(
    ("path", "check"),
    [
        ("scripts/run.sh", "make test"),
        ("gen.py", "make notes"),
        ("app.py", "make serve"),
        ("app.py", "./go.sh"),
        ("dist/app.js", "node dist/app.js"),
        ("dist/app.js", "sh dist/app.js && grep -q built dist/app.js"),
        ("NOTES.md", "sh NOTES.md"),
    ],
)
def test_what_the_check_runs_stays_what_decides_it_even_if_the_build_wrote_it(building, path, check):
    here = baseline(building)
    (building / path).parent.mkdir(exist_ok=True)
    (building / path).write_text("true\n")
    assert f"`{path}`" in here.doubt(check)
