"""Commands and paths in the form that is the same on every machine."""

from __future__ import annotations

import pytest

from tacit.text.canonical import canonical_command, canonical_path

HOME, OTHER_HOME = "/" + "home/ann", "/" + "Users/bob"  # put together: no file names a machine
WORKSPACE = f"{HOME}/shop"

# `@` stands for the workspace, `%` for the home around it.
COMMANDS = [
    # the workspace and folders inside it
    ("cd @ && pytest -q", "pytest -q"),
    ("cd @/web && npm test", "web$ npm test"),
    ("cd web && npm test", "web$ npm test"),
    ("npm --prefix web test", "web$ npm test"),
    ("npm --prefix=@/web test", "web$ npm test"),
    ("(cd web && npm ci) && make all", "web$ npm ci && make all"),
    ("pushd web; npm run build; popd; make dist", "web$ npm run build ; make dist"),
    ("cd web && cd ../api && go test ./...", "api$ go test api/..."),
    ("cd ..; ls", "..$ ls"),
    ("git -C lib log --oneline -5", "lib$ git log --oneline -5"),
    ("git -C @ status --short", "git status --short"),
    ("make -C native check -j4", "native$ make check -j4"),
    ("pnpm -C web run build", "web$ pnpm run build"),
    ("yarn --cwd web build", "web$ yarn build"),
    ("terraform -chdir=infra plan", "infra$ terraform plan"),
    ("uv --directory api run pytest -q", "api$ uv run pytest -q"),
    # paths
    ("cat @/src/cart.py", "cat src/cart.py"),
    ("cd src && cat cart.py", "cat src/cart.py"),
    ("cat ./src/../src/cart.py", "cat src/cart.py"),
    ("sed -n '1,20p' @/src/cart.py", "sed -n 1,20p src/cart.py"),
    ("cd src && sed -i 's/a/b/g' cart.py", "sed -i s/a/b/g src/cart.py"),
    ("cd src && grep -rn 'a/b' .", "grep -rn a/b src"),
    ("python3 scripts/seed.py -n 20 --config=@/dev.toml", "python scripts/seed.py -n 20 --config=dev.toml"),
    ("pytest @/tests/test_cart.py::test_total -x", "pytest tests/test_cart.py::test_total -x"),
    ("rm -rf %/.cache/pip", "rm -rf ~/.cache/pip"),
    ("ls %/notes $HOME/x", "ls ~/notes ~/x"),
    ("echo hi > @/out.txt", "echo hi > out.txt"),
    ("docker compose -f deploy/compose.yml up -d", "docker compose -f deploy/compose.yml up -d"),
    ("curl -fsS http://localhost:8080/health/ | jq .status", "curl -fsS http://localhost:8080/health/ | jq .status"),
    ("find @ -name '*.py'", "find . -name *.py"),
    ("python -c 'print(open(\"@/a\"))'", "python -c 'print(open(\"a\"))'"),
    # what frames a command
    ("@/.venv/bin/python3.11 -m pytest -q", "python -m pytest -q"),
    (".venv/bin/pytest -q", "pytest -q"),
    ("source .venv/bin/activate && pytest", "pytest"),
    ("set -euo pipefail; pytest 2>&1 | tail -20", "pytest"),
    ("pytest | head -5 | tail -1", "pytest"),
    ("pytest | grep FAILED", "pytest | grep FAILED"),
    ("sudo -u postgres timeout 30 psql -c 'select 1'", "psql -c 'select 1'"),
    ("bash -lc 'cd web && npm run build'", "web$ npm run build"),
    ("make || true; ls src", "make ; ls src"),
    ("CI=1 DEBUG=0 pytest -q", "CI=1 DEBUG=0 pytest -q"),
    ("export FOO=1; ./run.sh now", "export FOO=1 ; run.sh now"),
    ("npm start &", "npm start &"),
    ("uv run pytest tests -k 'not slow'", "uv run pytest tests -k 'not slow'"),
    ("git commit -m 'Fix the cart (again)'", "git commit -m 'Fix the cart (again)'"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("command", "canonical"), COMMANDS)
@pytest.mark.parametrize(
    ("home", "workspace"),
    [(HOME, WORKSPACE), (OTHER_HOME, f"{OTHER_HOME}/code/shop"), (HOME, "/srv/build/shop")],
    ids=["one", "another", "server"],
)
def test_commands_are_reported_the_same_on_every_machine(
    command: str, canonical: str, home: str, workspace: str
) -> None:
    typed = command.replace("@", workspace).replace("%", home)
    assert canonical_command(typed, workspace=workspace) == canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("npm test", "cd web && npm test"),
        ("pytest a.py", "pytest b.py"),
        ("pytest -q", "pytest -x"),
        ("FOO=1 make", "FOO=2 make"),
        ("a && b", "a || b"),
        ("cat > x <<'E'\n1\nE", "cat > x <<'E'\n2\nE"),
        ("python a/run.py", "python b/run.py"),
        ("echo x > a.txt", "echo x > b.txt"),
        ("rm /tmp/a", "rm /tmp/b"),
    ],
)
def test_what_makes_a_difference_stays(one: str, other: str) -> None:
    assert canonical_command(one, workspace=WORKSPACE) != canonical_command(other, workspace=WORKSPACE)


def test_a_command_may_start_elsewhere_than_in_the_workspace() -> None:
    assert canonical_command("pytest -q", workspace=WORKSPACE, directory=f"{WORKSPACE}/api") == "api$ pytest -q"
    assert canonical_command("cat a.py", workspace=WORKSPACE, directory="api") == "cat api/a.py"
    assert canonical_command("cd .. && make", workspace=WORKSPACE, directory=f"{WORKSPACE}/api") == "make"


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        (WORKSPACE, "."),
        (f"{WORKSPACE}/src/a.py", "src/a.py"),
        (f"file://{WORKSPACE}/src/a.py", "src/a.py"),
        (f"{HOME}/shopping/a.py", "~/shopping/a.py"),
        ("src//a.py", "src/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("", "."),
    ],
)
def test_paths_are_seen_from_the_workspace(path: str, seen: str) -> None:
    assert canonical_path(path, workspace=WORKSPACE) == seen


def test_paths_of_windows_are_read_too() -> None:
    assert canonical_path(r"C:\code\shop\src\a.py", workspace=r"C:\code\shop") == "src/a.py"
    assert canonical_path("C:" + "\\Users" + "\\bob\\notes", workspace=r"C:\code\shop") == "~/notes"


@pytest.mark.parametrize(
    "text", ["'", "cd", "cd -", "popd", ")))", "(((", "-C", "git -C", "npm --prefix=", "\\", "<<", "a\x00b"]
)
def test_broken_text_does_not_break_it(text: str) -> None:
    assert isinstance(canonical_command(text, workspace=WORKSPACE), str)
    assert isinstance(canonical_command(text), str)


def test_long_text_is_read_to_its_end() -> None:
    for text in ("a/" * 100_000, "(cd a; " * 5_000, "x && " * 20_000, "cd .. && " * 10_000, "'a b' " * 20_000):
        assert len(canonical_command(text, workspace=WORKSPACE)) <= len(text)
