# ruff: noqa: E501
"""Checks in a clean copy: what an agent may change (tests, settings, home, programs, moment) does not decide them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tacit.config.environment import clean_environment, is_usual_place
from tacit.domain.errors import VerifierOutage
from tacit.domain.evidence import Use
from tacit.domain.ports import Check
from tacit.evidence.clean_copy import CleanCopy, make_copy
from tacit.evidence.repository import WorkspaceBaseline, begun_with
from tacit.evidence.verifiers.checks import Command, Tests
from tests.raising import raises

NOW = datetime.now(UTC)
FILES = {
    "app.py": 'def add(a, b):\n    """\n    >>> add(2, 3)\n    5\n    """\n    return a - b\n',
    "checks/check_app.py": "def test_a(): ...\n",
    "lib.rs": "fn a() {}\n#[cfg(test)]\nmod t { fn b() {} }\n",
    "Makefile": "test:\n\tsh tests/run.sh\ncheck:\n\tcd tools && ./runner\n",
    "pytest.ini": "[pytest]\npython_files = check_*.py\naddopts = --doctest-modules\n",
    "tests/run.sh": "grep -q 'a + b' app.py\n",
    "tools/runner": "#!/bin/sh\nexit 0\n",
    ".gitignore": "*.log\n.venv/\nnode_modules/\n",
}
FIXED = FILES["app.py"].replace("a - b", "a + b")
CHECK = "make test"
pytestmark = pytest.mark.slow


def git(folder: Path, *words: str) -> str:
    who = ["git", "-C", str(folder), "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    return subprocess.run([*who, *words], check=True, capture_output=True, text=True).stdout.strip()


def shell(folder: Path, script: str) -> None:
    subprocess.run(["bash", "-c", script], cwd=folder, check=True, capture_output=True)


@pytest.fixture(autouse=True)
def short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the programs of these checks lie: whatever is installed beside a program of the path is looked through."""
    found = [Path(program).parent for name in ("bash", "git", "make") if (program := shutil.which(name))]
    monkeypatch.setenv("PATH", os.pathsep.join(str(each) for each in dict.fromkeys(found)))


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


def checked(here: WorkspaceBaseline, command: str = CHECK) -> Check:
    return Command(command, here.folder, baseline=here).verify()


def copied(here: WorkspaceBaseline, target: Path, command: str = CHECK) -> CleanCopy:
    target.mkdir(parents=True)
    found = make_copy(here, target, command=command, search_path=[])
    assert found is not None
    return found


def use(at: datetime, commit: str = "c" * 40, **more: Any) -> Use:
    return Use(version_ids=("v_1",), task="t", at=at, commit=commit, **more)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("committed", [True, False])
def test_work_that_leaves_the_check_alone_passes_without_doubt(project: Path, strict: bool, committed: bool) -> None:
    here = baseline(project, strict=strict)
    failed = checked(here)
    assert (failed.passed, failed.doubt) == (False, "")
    (project / "app.py").write_text(FIXED)
    (project / "notes.log").write_text("x")
    if committed:
        git(project, "commit", "-qam", "fix")
    done = checked(here)
    assert (done.passed, done.doubt) == (True, "")


FAKE = "#!/bin/sh\nexit 0\n"
TAMPERED: dict[str, str] = {
    "test": "echo true > tests/run.sh",
    "test, committed": "echo true > tests/run.sh && git -c user.name=a -c user.email=a@b.c commit -qam x",
    "test, removed": "rm tests/run.sh && mkdir -p tests && touch tests/run.sh",
    "test folder moved into place": "mkdir ../t && echo true > ../t/run.sh && mv tests ../gone && mv ../t tests",
    "test, hidden from git": "git update-index --assume-unchanged tests/run.sh && echo true > tests/run.sh",
    "test, by a filter": "echo 'tests/* filter=x' > .git/info/attributes && git config filter.x.smudge 'echo true' && echo true > tests/run.sh",
    "test, by a hook": "printf '#!/bin/sh\\necho true > tests/run.sh\\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout && echo true > tests/run.sh",
    "build file": "printf 'test:\\n\\ttrue\\n' > Makefile",
    "stronger build file": "printf 'test:\\n\\ttrue\\n' > GNUmakefile",
    "file of the target's name": "touch test",
    "another branch": "git checkout -q --orphan x && printf 'test:\\n\\ttrue\\n' > Makefile && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm x",
    "replaced commit": "echo true > tests/run.sh; git add -A; git replace HEAD $(git -c user.name=a -c user.email=a@b.c commit-tree $(git write-tree) -m x)",
    "work put aside": "echo true > tests/run.sh && git -c user.name=a -c user.email=a@b.c stash -q && git checkout -q stash@{0} -- tests",
}  # fmt: skip


@pytest.mark.parametrize("script", TAMPERED.values(), ids=TAMPERED)
def test_what_decides_the_check_is_as_it_was_committed(project: Path, script: str) -> None:
    here = baseline(project)
    shell(project, script)
    done = checked(here)
    assert not done.passed or done.doubt
    (project / "app.py").write_text(FIXED)
    honest = checked(here)
    assert (honest.passed, honest.doubt) == (True, ""), "the work itself still counts"


def test_variables_and_programs_of_the_caller_do_not_decide(project: Path, tmp_path: Path, monkeypatch: Any) -> None:
    here = baseline(project)
    shim = tmp_path / "fake" / "sh"
    shim.parent.mkdir()
    shim.write_text(FAKE)
    shim.chmod(0o755)
    monkeypatch.setenv("MAKEFLAGS", "-i")
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    done = checked(here)
    assert not done.passed or done.doubt


def test_failure_that_only_a_clean_copy_shows_is_no_failure(project: Path) -> None:
    here = baseline(project)
    (project / "app.py").write_text(FIXED)
    (project / "config.toml").write_text("x = 1\n")  # work that a clean copy does not take over
    done = checked(here, "make test && test -f config.toml")
    assert done.passed
    assert "config.toml" in done.doubt


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)\n",
        "import posix\nposix._exit(0)\n",
        "getattr(__import__('o' + 's'), '_ex' + 'it')(0)\n",
        "import sys\nsys.setprofile(print)\n",
    ],
)
def test_code_that_may_end_the_run_itself_is_a_doubt(project: Path, code: str) -> None:
    here = baseline(project)
    (project / "app.py").write_text(FIXED + code)
    assert "app.py" in checked(here).doubt


@pytest.mark.parametrize("path", ["check/README.md", "check/notes.py", "check"])
def test_new_file_does_not_pass_for_what_make_makes(project: Path, path: str) -> None:
    (project / "Makefile").write_text("check:\n\tgrep -q 'a + b' app.py\n")
    git(project, "commit", "-qam", "plain")
    here = baseline(project)
    (project / path).parent.mkdir(exist_ok=True)
    (project / path).write_text("x = 1\n")
    done = checked(here, "make check")
    assert not (done.passed and not done.doubt)


@pytest.mark.parametrize(
    ("output", "shown"), [("test result: ok. 0 passed; 0 failed", False), ("test result: ok. 2 passed; 0 failed", True)]
)
def test_a_runner_that_prints_counts_must_show_a_test_that_passed(
    project: Path, tmp_path: Path, output: str, shown: bool
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "cargo").write_text(f"#!/bin/sh\necho '{output}'\n")
    (programs / "cargo").chmod(0o755)
    here = baseline(project)
    done = Command("cargo test", project, baseline=here, search_path=f"{programs}:/usr/bin:/bin").verify()
    assert done.passed
    assert (done.doubt == "") is shown


def test_check_that_writes_its_own_tests_is_a_doubt(project: Path) -> None:
    (project / "Makefile").write_text("test:\n\techo true > tests/run.sh\n\tsh tests/run.sh\n")
    git(project, "commit", "-qam", "odd")
    assert "tests/run.sh" in checked(baseline(project)).doubt


def test_check_leaves_the_workspace_alone(project: Path) -> None:
    here = baseline(project)
    checked(here, "touch made.txt && make test")
    assert not (project / "made.txt").exists() or not checked(here).passed


@pytest.mark.parametrize("folder", [".venv/lib/python3.12/site-packages", "node_modules/jest/build"])
def test_installed_package_that_was_changed_since_is_a_doubt(project: Path, folder: str) -> None:
    file = project / folder / "runner.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    (project / "app.py").write_text(FIXED)
    git(project, "commit", "-qam", "fix")
    here = baseline(project)
    assert checked(here).doubt == ""
    (file.parent / "__pycache__").mkdir()
    (file.parent / "__pycache__" / "x.pyc").touch()
    assert checked(here).doubt == ""
    file.write_text("x = 1")
    assert "runner.py" in checked(here).doubt


def test_settings_above_the_workspace_are_a_doubt(project: Path) -> None:
    (project / "app.py").write_text(FIXED)
    git(project, "commit", "-qam", "fix")
    here = baseline(project)
    (project.parent / "pytest.ini").write_text("[pytest]\n")
    assert "pytest.ini" in checked(here).doubt


# --- what the copy holds -------------------------------------------------------------------------------------------


def replaced(path: str, old: str, new: str) -> Callable[[Path], int]:
    return lambda folder: (folder / path).write_text((folder / path).read_text().replace(old, new))


@pytest.mark.parametrize(
    ("change", "left_out", "doubt"),
    [
        (replaced("checks/check_app.py", "...", "pass"), "checks/check_app.py", ""),
        (replaced("tools/runner", "0", "00"), "tools/runner", ""),
        (replaced("app.py", "    5\n", "    -1\n"), "", "examples in `app.py`"),
        (replaced("lib.rs", "fn b", "fn c"), "", "`lib.rs` holds tests"),
        (replaced("app.py", "a - b", "a + b"), "", ""),
        (replaced("lib.rs", "fn a() {}", "fn a() { work() }"), "", ""),
    ],
    ids=["python_files", "runner", "doctest", "test block", "work in a module with examples", "work beside a test block"],
)  # fmt: skip
def test_test_is_known_by_what_the_commit_says_and_holds(
    project: Path, tmp_path: Path, change: Callable[[Path], int], left_out: str, doubt: str
) -> None:
    here = baseline(project)
    change(project)
    copy = copied(here, tmp_path / "copy", "pytest -q")
    assert copy.left_out == ([left_out] if left_out else [])
    assert copy.doubt.startswith(doubt)
    assert bool(copy.doubt) is bool(doubt)


@pytest.mark.parametrize(
    ("settings", "command", "path"),
    [
        ({"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["checks", "src"]'}, "pytest", "checks/deep/data.md"),
        ({"setup.cfg": "[tool:pytest]\npython_files =\n    check_*.py\n    Proof*.py\n"}, "pytest", "a/ProofOne.py"),
        ({"package.json": '{"jest": {"testMatch": ["**/checks/**/*.?(c)js"]}}'}, "npm test", "checks/a.js"),
        ({"jest.config.ts": "export default { testMatch: ['<rootDir>/proofs/*.ts'] }"}, "npx jest", "proofs/a.ts"),
        ({"vitest.config.ts": "test: { include: ['src/**/*.check.ts'] }"}, "npx vitest", "src/a/b.check.ts"),
        ({}, "python -m unittest discover -s proofs -p 'prove_*.py'", "proofs/shared.py"),
        ({}, "make test", "Tests/CheckApp.py"),
        ({}, "make test", "TESTS/HELPERS/ASSERTING.PY"),
        ({"Makefile": "test:\n\tpython3 judge.py\n"}, "make test", "judge.py"),
        ({"Makefile": "test:\n\tsh judge.sh\n"}, "make test", "judge.sh"),
    ],
)  # fmt: skip
def test_settings_and_words_tell_what_is_a_test(
    project: Path, tmp_path: Path, settings: dict[str, str], command: str, path: str
) -> None:
    for name, text in settings.items():
        (project / name).write_text(text)
    git(project, "add", ".")
    git(project, "commit", "-qm", "settings", "--allow-empty")
    here = baseline(project)
    for name in (path, "src/app.py", "src/app.ts", "total.sh"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x\n")
    assert copied(here, tmp_path / "copy", command).left_out == [path]


def test_what_a_person_left_uncommitted_before_is_theirs_and_an_agents_is_not(project: Path, tmp_path: Path) -> None:
    (project / "tests" / "run.sh").write_text("true\n")
    assert copied(baseline(project), tmp_path / "a").left_out == ["tests/run.sh"]
    assert copied(baseline(project, strict=False), tmp_path / "b").left_out == []


def test_forged_object_is_not_compared_with(project: Path) -> None:
    here = baseline(project)
    (project / "tests" / "run.sh").write_text("true\n")
    blob = git(project, "hash-object", "-w", "tests/run.sh")
    name = git(project, "rev-parse", "HEAD:tests")
    forged = b"100644 run.sh\0" + bytes.fromhex(blob)
    file = project / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"tree %d\0" % len(forged) + forged))
    with raises(VerifierOutage, "forged_object"):
        here.held_before(project / "app.py")
    assert not checked(here).passed or checked(here).doubt


# --- the moment and the commit -------------------------------------------------------------------------------------


def test_work_began_with_the_earliest_use_of_the_day_in_whatever_session() -> None:
    first, again = use(NOW - timedelta(hours=3), "a" * 40, session_id="x"), use(NOW, session_id="y")
    assert begun_with(again, [use(NOW - timedelta(days=2)), first, again, use(NOW + timedelta(hours=1))]) == first


def test_use_without_a_commit_neither_begins_anything_nor_borrows_a_commit() -> None:
    hook, again = use(NOW - timedelta(hours=3), ""), use(NOW)
    assert begun_with(again, [hook, again]) == again
    assert begun_with(hook, [use(NOW - timedelta(hours=4)), hook]) == hook


def test_without_a_commit_to_compare_with_there_is_doubt(project: Path, tmp_path: Path) -> None:
    unknown = WorkspaceBaseline(folder=project, since=datetime.now(UTC), strict=True)
    assert checked(unknown, "true | grep -c x; test -f app.py").doubt
    gone = WorkspaceBaseline(folder=project, since=datetime.now(UTC), commit="c" * 40)
    assert gone.cannot_compare()
    ahead = WorkspaceBaseline.of(use(datetime.now(UTC) + timedelta(days=9)), project)
    assert ahead.cannot_compare()
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "app.py").write_text("x")
    (plain / "Makefile").write_text("test:\n\ttest -f app.py\n")
    time.sleep(0.12)
    here = WorkspaceBaseline(folder=plain, since=datetime.now(UTC))
    assert checked(here).doubt == ""
    (plain / "app.py").write_text("y")
    assert checked(here).doubt == ""
    (plain / "Makefile").write_text("test:\n\ttrue\n")
    assert "Makefile" in checked(here).doubt


def test_counted_tests_must_have_run_in_the_clean_copy(project: Path) -> None:
    here = baseline(project)
    ran = Tests(f"{sys.executable} -c \"print(open('app.py') and '1 passed')\"", project, baseline=here).verify()
    assert (ran.passed, ran.doubt) == (True, "")
    with raises(VerifierOutage, "no_test_ran"):
        Tests(f"{sys.executable} -c \"print(open('app.py') and 'nothing')\"", project, baseline=here).verify()


# --- the environment -----------------------------------------------------------------------------------------------


def test_clean_environment_keeps_the_toolchain_and_drops_what_steers_it(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    (tools / "bin").mkdir(parents=True)
    given = {
        "PATH": "/usr/bin:/bin",
        "JAVA_HOME": str(tools),
        "RUSTUP_HOME": str(tools),
        "GOROOT": str(tools),
        "RUSTUP_TOOLCHAIN": "stable",
        "LANG": "C.UTF-8",
        "PYTEST_ADDOPTS": "--co",
        "GOFLAGS": "-run=^$",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER": "true",
        "NODE_OPTIONS": "--require=x",
        "npm_config_script_shell": "/bin/true",
        "RUBYOPT": "-rx",
        "AWS_SECRET_ACCESS_KEY": "x",
    }
    kept = clean_environment(tmp_path, tmp_path / "home", is_newer=lambda _: False, variables=given)
    assert {"JAVA_HOME", "RUSTUP_HOME", "GOROOT", "RUSTUP_TOOLCHAIN", "LANG", "PATH", "HOME"} <= kept.keys()
    steering = given.keys() - {"PATH", "JAVA_HOME", "RUSTUP_HOME", "GOROOT", "RUSTUP_TOOLCHAIN", "LANG"}
    assert not steering & kept.keys()
    since = clean_environment(tmp_path, tmp_path / "home", is_newer=lambda path: path == tools, variables=given)
    assert not {"JAVA_HOME", "GOROOT"} & since.keys()
    assert since.get("RUSTUP_HOME") != str(tools)


def test_usual_places_of_programs(tmp_path: Path) -> None:
    assert all(
        is_usual_place(Path(folder)) for folder in ("/usr/bin", "/bin", "/opt/x/bin", "/srv/a/node_modules/.bin")
    )
    assert not is_usual_place(tmp_path / "bin")
    (tmp_path / "pyvenv.cfg").touch()
    assert is_usual_place(tmp_path / "bin")
