"""Whether passing a command would show anything: what cannot fail, what looks at a part, what reaches for the runner."""

from __future__ import annotations

import pytest

from tacit.evidence.check_strength import narrowed, reaches_for_the_tests, runs_tests, shows_nothing


@pytest.mark.parametrize(
    "text",
    [
        "", "true", ":", "/bin/true", "exit 0", "echo ok", "echo ok && true", "ls", "ls -la; pwd", "test 1 = 1", "[ 1 -eq 1 ]",
        "[ a ]", "test -d .", "[ -e / ]", "command true", "env true", "bash -c 'exit 0'", "sh -c \"bash -c 'true'\"",
        "python -c pass", "python3 -c 'import sys; sys.exit(0)'", "python3 -c 'print(1)'", "node -e 'process.exit(0)'",
        "pytest --version", "pytest --collect-only", "git status", "git log -1", "cat pytest.log", "find .", "touch done",
        "cargo --help", "sleep 1", "make -n test", "npm test --if-present", "jest --passWithNoTests", "mvn test -DskipTests",
    ],
)  # fmt: skip
def test_what_cannot_fail_shows_nothing(text):
    assert shows_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "pytest -q", "make test", "grep -q version=2 app.txt", "test -f dist/app.js", "[ -s out.txt ]", 'test "$X" = 1',
        "python -c 'import app; assert app.x'", "python check.py", "./scripts/check.sh", "git diff --exit-code",
        "curl -f localhost/health", "cd app && pytest", "bash -c 'cd app && npm test'", "test ! -e old.txt",
    ],
)  # fmt: skip
def test_what_can_fail_shows_something(text):
    assert not shows_nothing(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("pytest -k totals", "-k"),
        ("pytest -ktotals", "-ktotals"),
        ("pytest --deselect=tests/a.py::b", "--deselect=tests/a.py::b"),
        ("pytest tests/test_a.py", "tests/test_a.py"),
        ("pytest tests/test_a.py::test_b", "tests/test_a.py::test_b"),
        ("pytest -c easy.ini", "-c"),
        ("pytest -o addopts=", "-o"),
        ("pytest --lf", "--lf"),
        ("bash -c 'pytest -m fast'", "-m"),
        ("npx jest -t adds", "-t"),
    ],
)
def test_part_of_the_tests_is_named(text, part):
    assert narrowed(text) == part


@pytest.mark.parametrize(
    "text", ["pytest -q", "python -m pytest tests", "make test", "go test ./...", "npm test", "tox"]
)
def test_whole_test_run_is_not_narrowed(text):
    assert not narrowed(text)
    assert runs_tests(text)


@pytest.mark.parametrize("text", ["ruff check .", "mypy src", "make build", "tsc", "echo test", "npm run lint"])
def test_builds_and_linters_run_no_tests(text):
    assert not runs_tests(text)


def test_code_that_reaches_for_the_runner_is_distinguished_from_ordinary_code():
    assert reaches_for_the_tests("import os\nos._exit(0)\n") == {"os._exit"}
    assert reaches_for_the_tests("if 'pytest' in sys.modules: ...")
    assert reaches_for_the_tests("from _pytest import python")
    assert not reaches_for_the_tests("import sys\nsys.exit(1)  # run pytest to see\n")
