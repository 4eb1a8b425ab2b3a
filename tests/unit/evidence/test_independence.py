"""What an agent may choose (moment, commit, objects, programs, names of tests) must not decide its own check."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tacit.config.environment import is_usual_place
from tacit.domain.errors import VerifierOutage
from tacit.domain.evidence import Use
from tacit.evidence.independence.build_files import Deciding
from tacit.evidence.independence.repository import begun_with
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline
from tacit.evidence.verifiers.checks import Command, Tests
from tests.raising import raises

NOW = datetime.now(UTC)
FILES = {
    "app.py": 'def add(a, b):\n    """\n    >>> add(2, 3)\n    5\n    """\n    return a - b\n',
    "asserting.py": "def same(a, b):\n    assert a == b\n",
    "checks/check_app.py": "def test_a(): ...\n",
    "lib.rs": "fn a() {}\n#[cfg(test)]\nmod t { fn b() {} }\n",
    "Makefile": "test:\n\tcd tools && ./runner\ncheck:\n\tpytest -q\n",
    "pytest.ini": "[pytest]\npython_files = check_*.py\naddopts = --doctest-modules\n",
    "tests/test_app.py": "def test_a(): ...\n",
    "tools/runner": "#!/bin/sh\nexit 0\n",
}


def git(folder: Path, *words: str) -> str:
    who = ["git", "-C", str(folder), "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    return subprocess.run([*who, *words], check=True, capture_output=True, text=True).stdout.strip()


def shell(folder: Path, script: str) -> None:
    subprocess.run(["bash", "-c", script], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "tools" / "runner").chmod(0o755)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def baseline(folder: Path, *, strict: bool = True, after_s: float = 0.12) -> WorkspaceBaseline:
    time.sleep(after_s)
    return WorkspaceBaseline(
        folder=folder, since=datetime.now(UTC), commit=git(folder, "rev-parse", "HEAD"), strict=strict
    )


def use(at: datetime, commit: str = "c" * 40, **more: Any) -> Use:
    return Use(version_ids=("v_1",), task="t", at=at, commit=commit, **more)


# --- the moment and the commit -------------------------------------------------------------------------------------


def test_test_that_was_edited_before_the_skill_was_asked_for_is_no_proof_of_an_agent(project):
    (project / "tests" / "test_app.py").write_text("def test_easy(): ...\n")
    assert "not as it was committed" in baseline(project).doubt("pytest -q")
    assert baseline(project, strict=False).doubt("pytest -q") == ""  # a person's own


def test_work_began_with_the_earliest_use_of_the_day_in_whatever_session():
    first, again = use(NOW - timedelta(hours=3), "a" * 40, session_id="x"), use(NOW, session_id="y")
    assert begun_with(again, [use(NOW - timedelta(days=2)), first, again, use(NOW + timedelta(hours=1))]) == first


def test_use_without_a_commit_neither_begins_anything_nor_borrows_a_commit():
    hook, again = use(NOW - timedelta(hours=3), ""), use(NOW)
    assert begun_with(again, [hook, again]) == again
    assert begun_with(hook, [use(NOW - timedelta(hours=4)), hook]) == hook


def test_without_a_noted_commit_an_agent_is_not_held_against_what_logs_and_dates_say(project):
    here = WorkspaceBaseline(folder=project, since=datetime.now(UTC), strict=True)
    assert "no commit to compare with" in here.doubt("pytest -q")


@pytest.mark.parametrize("strict", [True, False])
def test_use_that_is_dated_ahead_vouches_for_nothing(project, strict):
    commit = git(project, "rev-parse", "HEAD")
    here = WorkspaceBaseline.of(use(datetime.now(UTC) + timedelta(days=9), commit), project, strict=strict)
    assert "future" in here.doubt("pytest -q")


# --- the comparison ------------------------------------------------------------------------------------------------


def test_forged_object_is_not_compared_with(project):
    here = baseline(project)
    (project / "tests" / "test_app.py").write_text("def test_easy(): ...\n")
    blob = git(project, "hash-object", "-w", "tests/test_app.py")
    name = git(project, "rev-parse", "HEAD:tests")
    forged = b"100644 test_app.py\0" + bytes.fromhex(blob)
    file = project / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"tree %d\0" % len(forged) + forged))
    with raises(VerifierOutage, "forged_object"):
        here.doubt("pytest -q")


def test_folder_of_the_commit_is_looked_at_even_if_it_looks_like_an_environment(project):
    here = baseline(project)
    shell(project, "mkdir tests/bin; touch tests/pyvenv.cfg tests/bin/python; echo > tests/test_app.py")
    assert "tests/test_app.py" in here.doubt("pytest -q")


@pytest.mark.parametrize("kind", [Command, Tests])
def test_test_that_is_swapped_while_the_check_runs_and_put_back_is_seen(project, kind):
    swap = (
        "import shutil; shutil.copy('tests/test_app.py', 'x'); shutil.copy('x', 'tests/test_app.py'); print('1 passed')"
    )
    here = baseline(project, strict=False)
    check = kind(f"{sys.executable} -c {shlex.quote(swap)}", project, baseline=here).verify()
    assert "while the check ran" in check.doubt
    quiet = kind(f"{sys.executable} -c \"print(open('app.py') and '1 passed')\"", project, baseline=here).verify()
    assert "while the check ran" not in quiet.doubt


def test_folder_that_was_prepared_and_moved_into_place_is_compared(project):
    shell(project, "cp -r tests ../ready; echo 'def test_easy(): ...' > ../ready/test_app.py")
    here = baseline(project)
    shell(project, "mv tests ../gone; mv ../ready tests; touch tests")
    assert "tests/test_app.py" in here.doubt("pytest -q")


def test_stash_that_was_dropped_leaves_a_doubt(project):
    here = baseline(project)
    shell(project, "echo x >> app.py; git -c user.name=a -c user.email=a@b.c stash -q; git stash drop -q")
    assert "put aside" in here.doubt("pytest -q")


def test_worktree_that_was_made_for_the_check_is_no_ground(project, tmp_path):
    here = baseline(project)
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"), "HEAD")
    there = WorkspaceBaseline(folder=tmp_path / "tree", since=here.since, commit=here.commit, strict=True)
    assert "worktree was made" in there.doubt("pytest -q")


# --- the programs --------------------------------------------------------------------------------------------------


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\necho 2 passed\n")
    file.chmod(0o755)
    return file


def searched(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_program_that_the_build_calls_and_that_came_since_is_reported(project, tmp_path, monkeypatch):
    here = baseline(project)
    searched(monkeypatch, program(tmp_path / "fake" / "pytest").parent)
    assert "pytest" in here.doubt("make check")


def test_program_in_an_odd_place_is_none_for_an_agent_however_old(project, tmp_path, monkeypatch):
    searched(monkeypatch, program(tmp_path / "fake" / "pytest").parent)
    assert "neither in the system's folders" in baseline(project).doubt("make check")
    assert baseline(project, strict=False).doubt("make check") == ""


def test_environment_of_the_workspace_that_was_made_since_is_reported(project, monkeypatch):
    here = baseline(project)
    (project / "env").mkdir()
    (project / "env" / "pyvenv.cfg").touch()
    searched(monkeypatch, program(project / "env" / "bin" / "pytest").parent)
    assert "env" in here.doubt("make check")


PLUG = "[console_scripts]\nx = x:main\n\n[pytest11]\nevil = evilplug.hooks\n"


@pytest.mark.parametrize(
    ("made", "reported"),
    [
        (("sitecustomize.py", "x = 1"), "sitecustomize.py"),
        (("evil.pth", "import os"), "evil.pth"),
        (("evilplug-1.dist-info/entry_points.txt", PLUG), "evilplug-1.dist-info"),
        (("pytest.py", ""), "pytest.py"),
        (("known/hooks.py", "changed"), "known"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_the_workspace_s_python_loads_by_itself_is_looked_at_whoever_calls_it(project, made, reported):
    packages = project / ".venv" / "lib" / "python3.11" / "site-packages"
    (packages / "known-1.dist-info").mkdir(parents=True)
    (packages / "known-1.dist-info" / "entry_points.txt").write_text(PLUG.replace("evilplug", "known"))
    (packages / "known").mkdir()
    (packages / "known" / "hooks.py").write_text("")
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin")
    program(project / ".venv" / "bin" / "python")
    here = baseline(project, strict=False)
    assert here.doubt("make check") == ""
    (packages / "requests.py").write_text("an honest installation")
    assert here.doubt("make check") == ""
    (packages / made[0]).parent.mkdir(exist_ok=True)
    (packages / made[0]).write_text(made[1])
    assert reported in here.doubt("make check")


def test_runner_of_node_that_was_changed_is_reported(project):
    file = project / "node_modules" / "jest" / "build" / "index.js"
    file.parent.mkdir(parents=True)
    file.write_text("")
    here = baseline(project, strict=False)
    assert here.doubt("npm test") == ""
    file.write_text("x")
    assert "jest" in here.doubt("npm test")


def test_script_that_the_build_runs_after_going_to_its_folder_is_reported(project):
    here = baseline(project)
    (project / "tools" / "runner").write_text("#!/bin/sh\ntrue\n")
    assert "tools/runner" in here.doubt("make test")


def test_usual_places_of_programs(tmp_path):
    assert all(
        is_usual_place(Path(folder)) for folder in ("/usr/bin", "/bin", "/opt/x/bin", "/srv/a/node_modules/.bin")
    )
    assert not is_usual_place(tmp_path / "bin")
    (tmp_path / "pyvenv.cfg").touch()
    assert is_usual_place(tmp_path / "bin")


# --- what decides --------------------------------------------------------------------------------------------------


def replaced(path: str, old: str, new: str) -> Callable[[Path], int]:
    return lambda folder: (folder / path).write_text((folder / path).read_text().replace(old, new))


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (replaced("checks/check_app.py", "...", "pass"), "checks/check_app.py"),
        (replaced("app.py", "    5\n", "    -1\n"), "examples in `app.py`"),
        (replaced("asserting.py", "assert a == b", "return\n    assert a == b"), "nothing but assert"),
        (replaced("lib.rs", "fn b", "fn c"), "tests in `lib.rs`"),
    ],
    ids=["python_files", "doctest", "helper", "test block"],
)
def test_test_is_known_by_what_the_commit_says_and_holds(project, change, reported):
    here = baseline(project)
    change(project)
    assert reported in here.doubt("pytest -q")


def test_fixing_the_code_next_to_its_tests_is_work(project):
    here = baseline(project)
    replaced("app.py", "a - b", "a + b")(project)
    replaced("lib.rs", "fn a() {}", "fn a() { work() }")(project)
    assert here.doubt("pytest -q") == ""


@pytest.mark.parametrize(
    ("settings", "words", "path"),
    [
        ({"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["checks", "src"]'}, [], "checks/deep/data.yaml"),
        ({"setup.cfg": "[tool:pytest]\npython_files =\n    check_*.py\n    Proof*.py\n"}, [], "a/ProofOne.py"),
        ({"package.json": '{"jest": {"testMatch": ["**/checks/**/*.?(c)js"]}}'}, [], "checks/a.js"),
        ({"jest.config.ts": "export default { testMatch: ['<rootDir>/proofs/*.ts'] }"}, [], "proofs/a.ts"),
        ({"vitest.config.ts": "test: { include: ['src/**/*.check.ts'] }"}, [], "src/a/b.check.ts"),
        ({}, ["python -m unittest discover -s proofs -p 'prove_*.py'"], "proofs/shared.py"),
        ({}, ["python -m unittest discover -s src -p 'prove_*.py'"], "src/prove_a.py"),
        ({}, [], "Tests/CheckApp.py"),
        ({}, [], "TESTS/HELPERS/ASSERTING.PY"),
    ],
)
def test_settings_and_words_tell_what_is_a_test(settings, words, path):
    assert Deciding.of(settings, words).knows(path)
    assert not Deciding.of(settings, words).knows("src/app.py")
    assert not Deciding.of(settings, words).knows("src/app.ts")


def test_module_that_works_and_asserts_is_no_helper_of_tests():
    text = b"def add(a, b):\n    assert a\n    return a - b\n"
    assert Deciding().weakened("app.py", text, text.replace(b"-", b"+")) == ""
    assert Deciding().weakened("app.py", b"def add(:", b"") == ""
