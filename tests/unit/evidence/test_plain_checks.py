# ruff: noqa: E501
"""Plain checks: known forms of checks count, everything else counts for less."""

from __future__ import annotations

import pytest

from tacit.evidence.plain_checks import is_plain_setting, not_plain, plain_check, why_not_whole
from tacit.text.shell import parse_command


@pytest.mark.parametrize(
    "text",
    [
        "pytest", "pytest -q", "pytest -q .", "pytest -xvs --tb=short -n auto --color=no -rA", "py.test", "python -m pytest -q",
        "/opt/envs/shop/bin/python3.12 -m pytest -q", ".venv/bin/pytest -n4 --maxfail=1", "uv run pytest -q", "poetry run pytest",
        "python3 -m unittest", "python -m unittest discover -v", "tox", "tox -q", "nox", "npm test", "npm run test --silent",
        "pnpm test", "yarn test", "bun test", "npx jest --ci", "npx vitest run", "npx mocha", "cargo test --workspace -q",
        "cargo nextest run", "go test ./...", "go test -race -count=1 ./...", "make test", "make -j4 check", "make -s test",
        "just test", "bundle exec rspec", "vendor/bin/phpunit", "mvn -q -B verify", "./gradlew test", "dotnet test", "mix test", "ctest --output-on-failure",
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
        "pytest; true", "pytest && ruff check .", "pytest | cat", "pytest &", "pytest\ntrue", "(pytest)", "{ pytest; }",
        "! pytest", "bash -c 'pytest -q'", "sh -c pytest", "eval pytest", "pytest > out.log", "pytest ~/x",
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
    assert not_plain(text, "/srv/shop")


@pytest.mark.parametrize(
    "text",
    [
        "pytest", "pytest tests/test_app.py", "pytest -k adds", "cd web && npm test", "pytest /srv/shop/tests",
        "cd /srv/shop/web && npx jest", "cd web && pytest ../tests", "make -C web test", "make test V=1", "pytest -p no:cacheprovider",
        "pytest --junitxml=/tmp/r.xml --basetemp /tmp/t", "mypy src", "/usr/bin/python3 -m pytest", "PYTHONPATH=src pytest", "ruff check .",
    ],
)  # fmt: skip
def test_harness_may_look_at_a_part_of_the_work(text):
    assert not_plain(text, "/srv/shop") == ""


@pytest.mark.parametrize(
    "setting",
    [
        "PATH=/tmp/evil:$PATH", "PATH=/tmp/evil/.venv/bin:$PATH", "PATH=$EVIL:$PATH", "PYTHONPATH=/tmp/evil", "PYTHONPATH=../evil",
        "PYTHONPATH=src:/tmp/evil", "NODE_OPTIONS=--require=/tmp/x.js", "LD_PRELOAD=x.so", "PYTEST_ADDOPTS=--co", "PYTHONOPTIMIZE=1",
        "SHELL=/bin/true", "RUBYOPT=-r/tmp/x",
    ],
)  # fmt: skip
def test_variable_that_may_change_what_checks_run_is_not_plain(setting):
    assert not is_plain_setting(setting)


@pytest.mark.parametrize(
    "setting",
    [
        "PATH=.venv/bin:$PATH", "PATH=/srv/shop/.venv/bin:$PATH", "PATH=$HOME/.local/bin:$PATH", "PATH=/usr/local/bin:/usr/bin:/bin",
        'PATH="$PWD/node_modules/.bin:$PATH"', "PYTHONPATH=src", "PYTHONPATH=.:$PYTHONPATH", "PYTHONPATH=$PWD/src", "DATABASE_URL=sqlite://",
        "NODE_OPTIONS=--max-old-space-size=4096", "CI=1", "PYTHONDONTWRITEBYTECODE=1",
    ],
)  # fmt: skip
def test_ordinary_variable_is_plain(setting):
    assert is_plain_setting(setting)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("pytest tests/test_a.py::test_b -q", {"tests/test_a.py::test_b"}),
        ("pytest -k 'not total'", {"-k not total"}),
        ("go test ./price -run TestTotal -v", {"./price".removeprefix("./"), ".", "-run TestTotal"}),
        ("cargo test total", {"total"}),
        ("mvn test -Dtest=PriceTest", {"-Dtest=PriceTest"}),
        ("gradle test --tests shop.PriceTest", {"--tests shop.PriceTest"}),
        ("rspec spec/price_spec.rb:5", {"spec/price_spec.rb:5"}),
        ("npx jest -t 'adds zero'", {"-t adds zero"}),
        ("make test", set()),
        ("go test ./... -race", set()),
    ],
)
def test_what_a_check_is_limited_to_is_known(text: str, chosen: set[str]) -> None:
    [command] = parse_command(text)
    found = plain_check(command)
    assert found is not None
    assert found.tests
    assert found.chosen == chosen
