from __future__ import annotations

import pytest

from tacit.text.command_forms import command_forms, follows, same_goal, wrapper_of


@pytest.mark.parametrize(
    ("line", "forms"),
    [
        ("cd /w/app && CI=1 uv run pytest -q tests/a.py 2>&1 | tail -5", ["uv run pytest"]),
        ("mise exec -- golangci-lint run ./...", ["mise exec golangci-lint run"]),
        ("npm run lint:fix", ["npm run lint:fix"]),
        ("bash -lc 'cargo test -p foo'", ["cargo test"]),
        ("git -C web commit -m 'two words'", ["git commit"]),
        ("pnpm --filter web test", ["pnpm test"]),
        ("python3 scripts/gen.py --all > out.txt", ["python3 scripts/gen.py"]),
        ("grep -rn pattern src | sort | uniq", ["grep"]),
        ("export A=1; echo done; make rates && make check", ["make rates", "make check"]),
        ("for f in *.go; do gofmt -w $f; done", ["gofmt"]),
        ("source .venv/bin/activate && pytest", ["pytest"]),
        ("", []),
        ("A=1", []),
    ],
)
def test_form_of_a_line(line: str, forms: list[str]) -> None:
    assert [form.text for form in command_forms(line)] == forms


def test_parts_of_a_form_are_kept_apart() -> None:
    (form,) = command_forms("cd web && CI=1 npx vitest run --coverage src/a.test.ts")
    assert (form.goal, form.options, form.settings) == ("vitest run", frozenset({"--coverage"}), frozenset({"CI=1"}))
    assert (form.targets, form.directory) == (("src/a.test.ts",), "web")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("pytest -q", "uv run pytest tests", True),
        ("pytest -q", "docker compose exec -T app pytest", True),
        ("./dev run pytest", "pytest", True),
        ("python3 x.py", "python x.py", True),
        ("bash bin/release.sh", "bash tools/ci/release.sh", True),
        ("cargo fmt --check", "cargo fmt", False),
        ("npm run lint", "npm run lint:fix", False),
        ("go test ./...", "go build ./...", False),
    ],
)
def test_calls_for_the_same_goal(one: str, other: str, same: bool) -> None:
    assert same_goal(command_forms(one)[0], command_forms(other)[0]) is same


def test_a_wrapper_that_nobody_listed_is_found_by_comparison() -> None:
    outer, inner = command_forms("./dev shell -- sqlfluff lint models")[0], command_forms("sqlfluff lint models")[0]
    assert wrapper_of(outer, inner)
    assert not wrapper_of(inner, outer)


@pytest.mark.parametrize(
    ("typed", "advised", "already"),
    [
        ("uv run pytest -q", "uv run pytest", True),
        ("pytest -q", "uv run pytest", False),
        ("npm install --legacy-peer-deps x", "npm install --legacy-peer-deps", True),
        ("npm install x", "npm install --legacy-peer-deps", False),
        ("make smoke", "DB_PORT=5433 make smoke", False),
    ],
)
def test_whether_a_call_follows_advice(typed: str, advised: str, already: bool) -> None:
    assert follows(command_forms(typed)[0], command_forms(advised)[0]) is already
