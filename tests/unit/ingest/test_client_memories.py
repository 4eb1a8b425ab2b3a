"""What clients already remember: every kind of file is found and read, nothing outside is, and restatements are recognised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.ingest import client_memories
from tacit.ingest.client_memories import Statement, find_statement, known_statements
from tests.unit.ingest.said_pairs import NOT_SAID, SAID

MARKDOWN = """\
---
name: shop
description: "How to work on the shop"
---
# Shop

Prices are in cents,
never in floats.

- Use `pnpm`, **never** npm.
  It is pinned.
  1. [ ] Install first

<!-- a remark
over two lines -->
| command | what |
| --- | --- |
| `make rates` | fetches the rates |

```sh
# a remark
$ make test  # all of them
```
```python
print("not a command")
```
<!-- tacit: begin. Written by `tacit init`; `tacit uninstall` removes it. -->
- Tacit's own line
<!-- tacit: end -->
> Ask first.
"""
HANDBOOK = """\
# Task Group: shop

scope: the shop
applies_to: cwd={shop}; reuse_rule=this checkout

## Task 1: prices, done

### rollout_summary_files

- rollout_summaries/one.md (cwd={shop})

### keywords

- prices, cents

## Reusable knowledge

- prices are kept in cents [Task 1]

# Task Group: bakery

applies_to: cwd=/srv/bakery; reuse_rule=there

## Reusable knowledge

- the oven is hot

# Task Group: any release

applies_to: cwd=any repository; reuse_rule=safe

## User preferences

- show the diff first
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def texts(shop: Path) -> list[str]:
    return [statement.text for statement in known_statements(shop, shop.parent / "home")]


def slug(folder: Path) -> str:
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in str(folder))


def test_each_bullet_paragraph_row_and_shell_line_is_a_statement_with_its_line(shop: Path) -> None:
    path = write(shop / "CLAUDE.md", MARKDOWN)
    found = known_statements(shop, shop.parent)
    assert {each.path for each in found} == {path}
    assert [(each.line, each.text, each.is_command) for each in found] == [
        (3, "How to work on the shop", False),
        (7, "Prices are in cents, never in floats.", False),
        (10, "Use `pnpm`, never npm. It is pinned.", False),
        (12, "Install first", False),
        (16, "command | what", False),
        (18, "`make rates` | fetches the rates", False),
        (22, "make test  # all of them", True),
        (30, "Ask first.", False),
    ]


@pytest.mark.parametrize(
    "place",
    [
        "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".cursorrules", "web/AGENTS.md", "a/b/c/d/CLAUDE.md",
        ".claude/CLAUDE.md", ".claude/rules/style.md", ".claude/rules/web/style.md", ".claude/agent-memory/critic/MEMORY.md",
        ".cursor/rules/style.mdc", ".github/copilot-instructions.md", ".github/instructions/web.instructions.md",
    ],
)  # fmt: skip
def test_instruction_files_of_a_project_are_read(shop: Path, place: str) -> None:
    write(shop / place, "- Keep it short.")
    assert texts(shop) == ["Keep it short."]


@pytest.mark.parametrize("place", ["README.md", "node_modules/x/AGENTS.md", ".venv/CLAUDE.md", "a/b/c/d/e/CLAUDE.md"])
def test_other_files_and_those_of_packages_are_not(shop: Path, place: str) -> None:
    write(shop / place, "- Keep it short.")
    assert texts(shop) == []


def test_claude_codes_notes_on_this_project_are_read_and_those_on_others_are_not(shop: Path) -> None:
    projects = shop.parent / "home" / ".claude" / "projects"
    write(projects / slug(shop) / "memory" / "MEMORY.md", "- [prices](prices.md): in cents")
    write(
        projects / slug(shop) / "memory" / "prices.md", "---\nname: prices\ndescription: in cents\n---\nAlways cents."
    )
    write(projects / slug(shop.parent / "bakery") / "memory" / "MEMORY.md", "- the oven is hot")
    assert texts(shop) == ["[prices](prices.md): in cents", "in cents", "Always cents."]


def test_a_worktree_shares_the_notes_of_its_repository(shop: Path) -> None:
    projects = shop.parent / "home" / ".claude" / "projects"
    write(projects / slug(shop) / "memory" / "MEMORY.md", "- in cents")
    tree = shop.parent / "shop-fix"
    write(shop / ".git" / "worktrees" / "fix" / "commondir", "../..")
    write(tree / ".git", f"gitdir: {shop}/.git/worktrees/fix")
    assert texts(tree) == ["in cents"]


def test_of_codexs_handbook_only_what_applies_here_is_read(shop: Path) -> None:
    memories = shop.parent / "home" / ".codex" / "memories"
    write(memories / "MEMORY.md", HANDBOOK.format(shop=shop))
    write(
        memories / "memory_summary.md",
        "v1\n\n## User preferences\n- short answers\n## What's in Memory\n### bakery\n- ovens",
    )
    write(memories / "raw_memories.md", "- raw")
    write(
        memories / "skills" / "release" / "SKILL.md", "---\nname: release\ndescription: how to release\n---\n- tag it"
    )
    write(
        memories / "rollout_summaries" / "2026-11-02-aaaa.md", f"thread_id: 1\ncwd: {shop}/web\n\n# Prices\n- cents won"
    )
    write(
        memories / "rollout_summaries" / "2026-11-01-bbbb.md", "thread_id: 2\ncwd: /srv/bakery\n\n# Oven\n- it is hot"
    )
    assert texts(shop) == [
        "cents won",
        "prices are kept in cents [Task 1]",
        "show the diff first",
        "short answers",
        "how to release",
        "tag it",
    ]


def test_the_persons_own_files_are_read_where_the_clients_keep_them(shop: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home / ".claude" / "CLAUDE.md", "- one")
    write(tmp_path / "elsewhere" / "AGENTS.md", "- two")
    write(home / ".gemini" / "GEMINI.md", "- three")
    found = known_statements(shop, home, client_folders={"codex": tmp_path / "elsewhere"})
    assert [each.text for each in found] == ["one", "two", "three"]


def test_a_link_is_followed_inside_the_project_only_and_read_once(shop: Path, tmp_path: Path) -> None:
    write(shop / "docs" / "guide.md", "- guided")
    (shop / "AGENTS.md").symlink_to("docs/guide.md")
    (shop / "CLAUDE.md").symlink_to("AGENTS.md")
    (shop / "GEMINI.md").symlink_to(write(tmp_path / "private.md", "- private"))
    (shop / "linked").symlink_to(tmp_path / "outside")
    write(tmp_path / "outside" / "AGENTS.md", "- outside")
    assert texts(shop) == ["guided"]


def test_what_is_read_is_bounded_and_without_secrets(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_memories, "MAX_STATEMENTS", 3)
    monkeypatch.setattr(client_memories, "MAX_BYTES", 200)
    key = "sk-ant-" + "api03-" + "Zx9" * 20
    write(shop / "AGENTS.md", f"- The key is {key}\n" + "- again and again\n" * 50)
    found = texts(shop)
    assert len(found) == 3
    assert key not in found[0]
    write(shop / "AGENTS.md", "é" * 99 + "\xff" * 500)
    assert len(texts(shop)) == 1


def test_nothing_is_written_and_nothing_missing_is_a_fault(shop: Path) -> None:
    (shop / "AGENTS.md").mkdir()
    before = sorted(shop.parent.rglob("*"))
    assert known_statements(shop, shop.parent / "nobody") == ()
    assert sorted(shop.parent.rglob("*")) == before


def said(statement: str, text: str) -> bool:
    return find_statement(text, [Statement(Path("AGENTS.md"), 1, statement)]) is not None


@pytest.mark.parametrize(("statement", "text"), SAID)
def test_the_same_in_other_words_is_recognised(statement: str, text: str) -> None:
    assert said(statement, text)


@pytest.mark.parametrize(("statement", "text"), NOT_SAID)
def test_more_or_other_or_the_opposite_is_new(statement: str, text: str) -> None:
    assert not said(statement, text)


def test_a_text_of_several_sentences_is_said_if_each_of_them_is() -> None:
    known = [
        Statement(Path("AGENTS.md"), 3, "Use `pnpm` for everything, never `npm`."),
        Statement(Path("AGENTS.md"), 4, "Run `make test` before every commit."),
    ]
    both = "Use pnpm instead of npm. Before committing, run `make test`."
    assert find_statement(both, known) == known[0]
    assert find_statement(f"{both} The build needs `make rates`.", known) is None


def test_a_long_paragraph_does_not_say_all_that_its_words_could() -> None:
    long = " ".join(
        f"The {word} is kept in its own folder and has tests." for word in "api web worker mail cron".split()
    )
    later = "Deploy it with `make ship`. The rates come from the bank. Never ship on a Friday. Ask Ann about the mail."
    statement = f"{long} {later}"
    assert said(statement, "Deploy it with `make ship`.")
    assert not said(statement, "Deploy the api folder with the bank rates on a Friday.")


def test_a_list_of_commands_is_said_where_one_file_names_each_of_them() -> None:
    known = [
        Statement(Path("AGENTS.md"), 3, "`make lint` checks the style"),
        Statement(Path("AGENTS.md"), 4, "make test", is_command=True),
        Statement(Path("other.md"), 1, "`make rates` fetches the rates"),
    ]
    assert find_statement("Check with `make lint` and `make test`.", known) == known[0]
    assert find_statement("Run `make lint` before `make test`.", known) is None
    assert find_statement("Check with `make lint` and `make rates`.", known) is None
