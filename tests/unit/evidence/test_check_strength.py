# ruff: noqa: E501
"""Whether passing a command shows anything: checks that cannot fail, test a part, or manipulate the runner."""

from __future__ import annotations

import pytest

from tacit.evidence.check_strength import (
    has_target,
    is_phony,
    misaimed,
    narrowed,
    reaches_for_the_tests,
    runs_tests,
    shows_nothing,
    swaps,
    why_not_whole,
)


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


@pytest.mark.parametrize(
    "text",
    [
        "pytest", "pytest -q", "pytest -q .", "pytest -xvs --tb=short -n auto --color=no -rA", "py.test", "python -m pytest -q",
        "/opt/envs/shop/bin/python3.12 -m pytest -q", ".venv/bin/pytest -n4 --maxfail=1", "uv run pytest -q", "poetry run pytest",
        "python3 -m unittest", "python -m unittest discover -v", "tox", "tox -q", "nox", "npm test", "npm run test --silent",
        "pnpm test", "yarn test", "bun test", "npx jest --ci", "npx vitest run", "npx mocha", "cargo test --workspace -q",
        "cargo nextest run", "go test ./...", "go test -race -count=1 ./...", "make test", "make -j4 check", "make -s test",
        "just test", "bundle exec rspec", "mvn -q -B verify", "./gradlew test", "dotnet test", "mix test", "ctest --output-on-failure",
        "python manage.py test", "python -u -m pytest", "pytest  -q ", "bazel test //...",
    ],
)  # fmt: skip
def test_whole_test_run_is_known(text):
    assert why_not_whole(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "pytest -q ../evil", "cd ../evil && pytest -q", "env -C tests/easy pytest -q", "pytest -q tests/easy", "pytest tests",
        "cd tests/easy && pytest", "pytest -q tests/easy/test_o*", "pytest -qk true", "pytest -xvk true", "pytest -k true", "pytest -qm fast",
        "pytest -q $OPTS", "pytest -q ${OPTS}", "pytest -q @opts", "pytest `cat opts`", "pytest $(cat opts)", "python -O -m pytest -q",
        "python -m pytest --assert=plain", "python -OO -m unittest", "pytest -p evil", "pytest -pevil", "pytest -p no:python",
        "pytest -c easy.ini", "pytest --rootdir=../evil", "pytest --rootdir ../evil", "pytest -o addopts=", "pytest --co", "pytest --lf",
        "pytest --ignore=tests/a.py", "pytest --pyargs json", "pytest --import-mode=importlib", "pytest --confcutdir=/tmp",
        "make test SHELL=/bin/true", "make test PYTHON=true", "make PYTHON=true test", "make -C ../evil test", "make -C../evil test",
        "make -f ../evil/Makefile test", "make --directory=../evil test", "make --eval=x test", "make -n test", "make -kn test",
        "make -i test", "make", "make test lint", "PATH=/tmp/fake pytest", "PYTHONPATH=src pytest", "CI=1 pytest", "env X=1 pytest",
        "pytest; true", "pytest && ruff check .", "pytest | cat", "pytest &", "pytest\ntrue", "pytest # all", "(pytest)", "{ pytest; }",
        "! pytest", "time pytest", "bash -c 'pytest -q'", "sh -c pytest", "eval pytest", "pytest > out.log", "pytest '-q'", "pytest ~/x",
        "npm test -- -t adds", "npm --prefix ../evil test", "npm run test:easy", "npm test --if-present", "yarn --cwd ../evil test",
        "npx jest src/easy", "npx jest -t adds", "npx jest -u", "npx --package=evil jest", "npx /tmp/evil/jest", "uv run --with evil pytest",
        "uv run --directory ../evil pytest", "uvx pytest", "cargo test adds", "cargo test --manifest-path=../evil/Cargo.toml",
        "cargo test -p easy", "cargo test --no-run", "go test", "go test ./easy", "go test -run Easy ./...", "go test -short ./...",
        "go -C ../evil test ./...", "go test -exec=true ./...", "tox -e easy", "nox -s easy", "python -m unittest tests.easy",
        "python -m unittest discover -s tests/easy", "python -m unittest -k easy", "mvn test -DskipTests", "mvn -f ../evil/pom.xml test",
        "gradle test --tests Easy", "rspec spec/easy_spec.rb", "ctest -R easy", "node easy.js", "python easy.py", "./run_tests.sh",
        "ruff check .", "mypy src", "tsc", "make build", "curl -f localhost/health", "test -f dist/app.js", "", "   ",
    ],
)  # fmt: skip
def test_anything_else_is_not_and_the_reason_is_reported(text):
    assert why_not_whole(text)


def test_target_must_be_one_that_the_makefile_makes():
    assert "does not say how to make" in why_not_whole("make test", is_target=lambda _: False)
    makefile = ".PHONY: test lint\nPY := python\ntest: build\n\t$(PY) -m pytest\nlint check:\n\truff check\nempty:\n\nverify: test lint # all\n"
    for target in ("test", "lint", "check", "verify"):
        assert has_target(makefile, target), target
    for target in ("empty", "PY", "tests", "ruff"):
        assert not has_target(makefile, target), target
    assert is_phony(makefile, "lint")
    assert not is_phony(makefile, "check")


@pytest.mark.parametrize(
    "text",
    [
        "make test SHELL=/bin/true", "make test PYTHON=true", "make -C ../evil test", "make -C /srv/evil test", "cd ../evil && pytest",
        "cd /srv/evil && pytest", "pytest ../evil", "pytest /srv/evil/test_a.py::test_a", "env -C ../evil pytest", "pytest --rootdir=../evil",
        "python -O -m pytest", "pytest -p evil", "pytest --assert=plain", "bash -c 'cd ../evil && pytest'", "npm --prefix ../evil test",
        "cd web && pytest ../../evil", "make -f ../evil/Makefile test", "make -f../evil/Makefile test", "cd $EVIL && pytest",
    ],
)  # fmt: skip
def test_check_of_a_harness_must_look_at_the_work(text):
    assert misaimed(text, "/srv/shop")


@pytest.mark.parametrize(
    "text",
    [
        "pytest", "pytest tests/test_app.py", "pytest -k adds", "pytest -qk adds", "cd web && npm test", "pytest /srv/shop/tests",
        "cd /srv/shop/web && npx jest", "cd web && pytest ../tests", "make -C web test", "make test V=1", "pytest -p no:cacheprovider",
        "pytest --junitxml=/tmp/r.xml --basetemp /tmp/t", "mypy src", "/usr/bin/python3 -m pytest", "PYTHONPATH=src pytest", "ruff check .",
    ],
)  # fmt: skip
def test_harness_may_look_at_a_part_of_the_work(text):
    assert misaimed(text, "/srv/shop") == ""


@pytest.mark.parametrize(
    "setting",
    [
        "PATH=/tmp/evil:$PATH", "PATH=/tmp/evil/.venv/bin:$PATH", "PATH=$EVIL:$PATH", "PYTHONPATH=/tmp/evil", "PYTHONPATH=../evil",
        "PYTHONPATH=src:/tmp/evil", "NODE_OPTIONS=--require=/tmp/x.js", "LD_PRELOAD=x.so", "PYTEST_ADDOPTS=--co", "PYTHONOPTIMIZE=1",
        "SHELL=/bin/true", "RUBYOPT=-r/tmp/x",
    ],
)  # fmt: skip
def test_variable_that_swaps_what_checks_run_is_seen(setting):
    assert swaps(setting, "/srv/shop")


@pytest.mark.parametrize(
    "setting",
    [
        "PATH=.venv/bin:$PATH", "PATH=/srv/shop/.venv/bin:$PATH", "PATH=$HOME/.local/bin:$PATH", "PATH=/usr/local/bin:/usr/bin:/bin",
        'PATH="$PWD/node_modules/.bin:$PATH"', "PYTHONPATH=src", "PYTHONPATH=.:$PYTHONPATH", "PYTHONPATH=$PWD/src", "DATABASE_URL=sqlite://",
        "NODE_OPTIONS=--max-old-space-size=4096", "CI=1", "PYTHONPATH=/srv/shop/src", "PYTHONDONTWRITEBYTECODE=1",
    ],
)  # fmt: skip
def test_ordinary_variable_is_not(setting):
    assert not swaps(setting, "/srv/shop")
