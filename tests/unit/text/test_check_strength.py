"""Whether passing a command shows anything."""

from __future__ import annotations

import pytest

from tacit.text.exit_status import shows_nothing


@pytest.mark.parametrize(
    "text",
    [
        "", "true", ":", "/bin/true", "exit 0", "echo ok", "echo ok && true", "ls", "ls -la; pwd", "test 1 = 1", "[ 1 -eq 1 ]",
        "[ a ]", "test -d .", "[ -e / ]", "command true", "env true", "bash -c 'exit 0'", "sh -c \"bash -c 'true'\"",
        "python -c pass", "python3 -c 'import sys; sys.exit(0)'", "python3 -c 'print(1)'", "node -e 'process.exit(0)'",
        "pytest --version", "pytest --collect-only", "git status", "git log -1", "cat pytest.log", "find .", "touch done",
        "cargo --help", "sleep 1", "make -n test", "npm test --if-present", "jest --passWithNoTests", "mvn test -DskipTests",
        "curl localhost/health", "curl -s -o /dev/null -w '%{http_code}' localhost/health", "curl -sSL http://a/f",
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
        "curl -sSf -o /dev/null localhost/health", "curl --fail-with-body localhost", "curl -s localhost | grep -q ok",
    ],
)  # fmt: skip
def test_what_can_fail_shows_something(text):
    assert not shows_nothing(text)
