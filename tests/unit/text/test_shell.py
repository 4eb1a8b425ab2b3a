from __future__ import annotations

import pytest

from tacit.text.exit_status import masks_exit
from tacit.text.shell import Command, is_check, parse_command, shell_text


def only(text: str) -> Command:
    (command,) = parse_command(text)
    return command


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("pytest -q", "pytest"),
        (".venv/bin/pytest -q", "pytest"),
        ("python3 -m unittest -q", "python3 -m unittest"),
        ("python3 manage.py sync", "python3 manage.py sync"),
        ("./manage.sh deploy now", "manage.sh deploy"),
        ("git commit -m 'a && b; c | d'", "git commit"),
        ("npm run build", "npm run build"),
        ("docker compose up -d", "docker compose up"),
        ("gh pr create --fill", "gh pr create"),
        ("uv run pytest -x", "uv run pytest"),
        ("npx --yes tsc --noEmit", "npx tsc"),
        ("sudo -E timeout 60 env A=1 pytest", "pytest"),
        ("FOO=1 BAR='x y' make test", "make test"),
        ("ls migrations", "ls"),
        ("env", "env"),
        ("command -v pytest", "command"),
        ("bundle exec rspec", "bundle exec rspec"),
    ],
)
def test_program_and_subcommand_are_found(text: str, label: str) -> None:
    assert only(text).label == label


def test_flags_operands_assignments_and_outputs_are_told_apart() -> None:
    command = only("A=1 tool run -v --name=x one 'two words' > out.txt 2>&1 < in.txt 2>/dev/null")
    assert command.assignments == ("A=1",)
    assert command.flags == ("-v", "--name=x")
    assert command.operands == ("run", "one", "two words")
    assert command.outputs == ("out.txt",)


def test_line_is_split_at_its_operators() -> None:
    commands = parse_command("cd /a/b && make || exit 1; ls | head &\npwd")
    assert [(command.program, command.connector) for command in commands] == [
        ("cd", "&&"),
        ("make", "||"),
        ("exit", ";"),
        ("ls", "|"),
        ("head", "&"),
        ("pwd", ""),
    ]
    assert commands[1].directory == "/a/b"


@pytest.mark.parametrize(
    ("text", "directories"),
    [
        ("cd a && cd b && ls", ["", "a", "a/b"]),
        ("cd a; cd ..; ls", ["", "a", "."]),
        ("cd a && cd /x && ls", ["", "a", "/x"]),
        ("cd a && cd - && ls", ["", "a", ""]),
        ("cd && ls", ["", "~"]),
        ("(cd a && make) && ls", ["", "a", ""]),
        ("(cd a; (cd b && ls); ls); ls", ["", "a", "a/b", "a", ""]),
        ("pushd a && ls && popd && ls", ["", "a", "a", ""]),
        ("cd a && git -C b status", ["", "a/b"]),
        ("cd a && echo $(cd b; ls) && ls", ["", "a", "a"]),
        ("popd; ls", ["", ""]),
    ],
)
def test_each_command_knows_where_it_runs(text: str, directories: list[str]) -> None:
    assert [command.directory for command in parse_command(text)] == directories


@pytest.mark.parametrize(
    ("text", "label", "operands", "directory"),
    [
        ("git -C sub status", "git status", (), "sub"),
        ("git -c user.name=x commit -am 'msg'", "git commit", ("msg",), ""),
        ("npm --prefix web run build", "npm run build", (), "web"),
        ("docker compose -f x.yml up -d", "docker compose up", (), ""),
        ("kubectl -n prod get pods", "kubectl get", ("pods",), ""),
        ("kubectl apply -f x.yml", "kubectl apply", ("x.yml",), ""),
        ("gh -R o/r pr list", "gh pr list", (), ""),
        ("make -C test test", "make test", (), "test"),
        ("pnpm --filter web test", "pnpm test", (), ""),
        ("sudo -u postgres psql -l", "psql", (), ""),
        ("timeout -s KILL 30 pytest", "pytest", (), ""),
        ("pipx run black --check .", "pipx run black", (".",), ""),
        ("uvx --from httpie http GET /", "uvx http", ("GET", "/"), ""),
        ("uv tool run ruff check", "uv run ruff check", (), ""),
        ("uv --directory api run --with pytest pytest -q", "uv run pytest", (), "api"),
        ("npx -p typescript tsc --noEmit", "npx tsc", (), ""),
        ("python tools/gen.py --service billing", "python gen.py", ("billing",), ""),
        ("python tools/gen.py -s billing --fast", "python gen.py", ("billing",), ""),
        ("python manage.py --settings prod migrate app", "python manage.py migrate", ("prod", "app"), ""),
        ("./run.sh --env=prod deploy", "run.sh deploy", (), ""),
        ("python manage.py migrate --fake app", "python manage.py migrate", ("app",), ""),
    ],
)
def test_flags_with_values_hide_neither_program_nor_subcommand(
    text: str, label: str, operands: tuple[str, ...], directory: str
) -> None:
    command = only(text)
    assert (command.label, command.operands, command.directory) == (label, operands, directory)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"command": "ls -la"}, "ls -la"),
        ({"cmd": "npm test", "workdir": "/x"}, "npm test"),
        ({"command": ["/bin/bash", "-lc", "cd a && npm test"]}, "cd a && npm test"),
        ({"command": ["git", "commit", "-m", "a b"]}, "git commit -m 'a b'"),
        ({"command": ["echo", "now; pytest"]}, "echo 'now; pytest'"),
        ({"command": []}, ""),
        ({"command": 3}, ""),
        ({}, ""),
    ],
)
def test_what_a_shell_tool_runs_may_be_text_or_words(arguments: dict[str, object], text: str) -> None:
    assert shell_text(arguments) == text


def test_operators_in_quotes_and_substitutions_do_not_split() -> None:
    assert only("echo \"a; b && c\" 'd | e' $(f; g) `h; i` j\\;k").program == "echo"


def test_heredoc_and_comments_are_not_commands() -> None:
    commands = parse_command("cat <<'EOF' > x.py\nimport pytest; pytest\nEOF\npython x.py # then pytest\n")
    assert [command.program for command in commands] == ["cat", "x.py"]
    assert commands[0].outputs == ("x.py",)


@pytest.mark.parametrize("text", ["", "   ", "&& || ;", "'", '"unclosed', "a 'b", "$(", "((", "\\", "<<", "A=1"])
def test_broken_text_does_not_break_it(text: str) -> None:
    parse_command(text)
    is_check(text)
    masks_exit(text)


def test_long_text_is_read_to_its_end() -> None:
    assert parse_command("echo 'a' # b\n" * 100_000)
    assert parse_command("$(" * 500_000) is not None


@pytest.mark.parametrize(
    "text",
    [
        "pytest", "python -m pytest tests", "python3 -m unittest -q", "tox", "nox -s tests", "npm test",
        "npm run test:unit", "pnpm lint", "yarn build", "bun test", "npx jest", "npx vitest run", "mocha",
        "cargo test", "cargo clippy -- -D warnings", "cargo fmt --check", "go test ./...", "go vet ./...",
        "make test", "make -j4 check", "make clean build", "mvn -q verify", "./gradlew :app:testDebug", "ctest",
        "ruff check .", "mypy src", "pyright", "npx tsc --noEmit", "eslint .", "flake8", "rubocop",
        "bundle exec rspec", "vendor/bin/phpunit", "dotnet test", "swift test", "mix test", "bazel test //...",
        "pre-commit run -a", "black --check .", "cd sub && pytest", "bash -lc 'pytest -q'", "./run_tests.sh",
        "node --test", "python manage.py test", "coverage run -m pytest", "uv run mypy",
    ],
)  # fmt: skip
def test_tests_builds_and_linters_are_checks(text: str) -> None:
    assert is_check(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls", "echo pytest", "grep -rn pytest .", "pip install pytest", "pytest --version",
        "pytest --collect-only", "make -n test", "make", "make deploy", "npm ci", "npm install", "npm run dev",
        "npm run build --if-present", "black .", "ruff format .", "cargo run", "go run .",
        "git commit -m 'pytest'", "cat <<EOF\npytest\nEOF", "which pytest", "command -v pytest",
        "coverage report", "python script.py", "git checkout test", "docker build .", "",
    ],
)  # fmt: skip
def test_other_commands_are_no_checks(text: str) -> None:
    assert not is_check(text)


@pytest.mark.parametrize(
    "text",
    [
        "pytest | tail -5", "pytest 2>&1 | tee log", "pytest || true", "pytest || echo failed", "pytest; true",
        "pytest; echo $?", "pytest ; exit 0", "pytest &", "pytest & wait", "nohup pytest &", "pytest\nls",
        "ruff check .; pytest", "! pytest", "if pytest; then echo ok; fi", "for f in a b; do pytest $f; done",
        "while ! pytest; do sleep 1; done", "bash -c 'pytest | tail'", "(pytest) || true",
        "cd x && pytest; cd ..", "pytest && ls || true", "", "ls; pwd",
        "set -e; pytest && echo ok; echo done", "set -euo pipefail\npytest && echo ok\necho done", "{ ! pytest; }",
        "pytest || exit 256", "pytest || exit 512", "rc=0; pytest; exit $rc", "pytest; status=0; exit $status",
        "pytest | cat; exit $retcode", "PATH=/x:$PATH pytest", "export PATH=/x:$PATH; pytest", "PATH=/x; pytest",
        "source f; pytest", ". f; pytest", "hash -p /bin/true pytest; pytest", "eval 'pytest(){ :; }'; pytest",
        "pytest && a=1\ntrue", "pytest $(echo '(') || true", "pytest; set -e; ls", "pytest; echo done; exit $?",
        "pytest; rc=$?; exit $rc",
        "pytest && :" + " " * 70_000 + "|| true",
    ],
)  # fmt: skip
def test_exit_status_that_proves_nothing_is_seen(text: str) -> None:
    assert masks_exit(text)


@pytest.mark.parametrize(
    "text",
    [
        "pytest", "cd x && pytest -q", "pytest && echo ok", "pytest > log 2>&1", "pytest &> log",
        "make lint && make test", "set -o pipefail; pytest | tail", "set -euo pipefail\npytest | tail\nls",
        "pytest || exit 1", "cd x; pytest",
        "export A=1; pytest", "bash -c 'pytest -q'", "cd $(git rev-parse --show-toplevel) && pytest",
        "cat a | head && pytest", "echo 'a; b' && pytest", "timeout 60 pytest",
        "cd app && source .venv/bin/activate && pytest -q", ". venv/bin/activate; pytest", "set -e; cd app; pytest",
        "export PYTHONPATH=src; pytest", "PYTHONPATH=src pytest", "pytest || exit 257",
        "export PATH=$PWD/node_modules/.bin:$PATH; jest", "PATH=.venv/bin:$PATH pytest", "set -e; pytest; echo done",
        "A=1; pytest",
    ],
)  # fmt: skip
def test_exit_status_that_gets_through_is_not_masked(text: str) -> None:
    assert not masks_exit(text)
