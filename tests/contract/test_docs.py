"""Docs parity: what the pages name exists, and what exists is on its page."""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import click

from tacit.domain import errors
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.table import HIDDEN
from tests.contract.project_files import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|(?:src|href|srcset)=\"([^\"]+)\"")
RESULT = re.compile(r"bench/results/[\w./-]+\.json")
RECORD = re.compile(r"(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")


def test_every_command_is_in_the_cli_reference() -> None:
    named = code_and_headings(read(DOCS / "reference" / "cli.md"))
    missing = [command for command in commands(cli, "tacit", hidden=True) if not names(command, named)]
    assert not missing, f"docs/reference/cli.md does not name: {', '.join(missing)}"


def test_cli_reference_describes_no_command_that_is_gone() -> None:
    page = re.sub(FENCE, "", read(DOCS / "reference" / "cli.md"))
    headings = [heading.replace("`", "").strip() for heading in HEADING.findall(page)]
    described = {match.group() for h in headings if (match := re.match(r"tacit(?: [a-z][a-z-]*)+", h))}
    gone = described - {"tacit", *commands(cli, "tacit", hidden=True), *(f"tacit {name}" for name in HIDDEN)}
    assert not gone, f"docs/reference/cli.md describes: {', '.join(sorted(gone))}"


def test_every_error_is_in_the_error_reference() -> None:
    named = code_and_headings(read(DOCS / "reference" / "errors.md"))
    classes = [
        name
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.TacitError) and value.__module__ == errors.__name__
    ]
    missing = [name for name in classes if not names(name, named)]
    assert classes
    assert not missing, f"docs/reference/errors.md does not name: {', '.join(missing)}"


def test_every_relative_link_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in relative_links(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken, "\n" + "\n".join(broken)


def test_decision_records_are_numbered_without_gaps() -> None:
    records = sorted(path.name for path in (DOCS / "decisions").glob("*.md") if path.name != "index.md")
    misnamed = [name for name in records if not RECORD.fullmatch(name)]
    assert records
    assert not misnamed, f"not NNNN-kebab-title.md: {', '.join(misnamed)}"
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))


def test_every_result_the_readme_rests_on_exists() -> None:
    missing = [result for result in RESULT.findall(read(ROOT / "README.md")) if not (ROOT / result).is_file()]
    assert not missing, f"README.md names results that are not there: {', '.join(missing)}"


def test_links_in_code_are_not_links() -> None:
    page = 'See [a](a.md#x), <img src="b.svg">, [web](https://x.test), `[c](c.md)`.\n```\n[d](d.md)\n```\n'
    assert list(relative_links(page)) == ["a.md", "b.svg"]


def test_a_command_is_named_only_as_a_whole() -> None:
    named = code_and_headings("## `tacit cards export`\n\nPlain tacit learn.\n")
    assert names("tacit cards", named)
    assert names("tacit cards export", named)
    assert not names("tacit card", named)
    assert not names("tacit learn", named)


def read(page: Path) -> str:
    assert page.is_file(), f"{page.relative_to(ROOT)} is missing"
    return page.read_text(encoding="utf-8")


def test_the_command_reference_is_what_the_program_says_of_itself() -> None:
    script = runpy.run_path(str(DOCS / "reference" / "generate.py"))
    written = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert written == script["reference"](), "run: python docs/reference/generate.py"


def test_the_table_of_clients_is_what_reading_their_sessions_gives() -> None:
    script = runpy.run_path(str(DOCS / "reference" / "generate.py"))
    written = (DOCS / "reference" / "clients.md").read_text(encoding="utf-8")
    assert written == script["clients"](), "run: python docs/reference/generate.py"


def commands(command: click.Command, path: str, *, hidden: bool = False) -> Iterator[str]:
    """Yield every command below this one as it is typed: the visible ones, or all."""
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None and (hidden or not child.hidden):
            yield f"{path} {name}"
            yield from commands(child, f"{path} {name}", hidden=hidden)


def code_and_headings(page: str) -> str:
    fenced = [match.group() for match in FENCE.finditer(page)]
    prose = FENCE.sub("", page)
    return "\n".join([*fenced, *HEADING.findall(prose), *CODE_SPAN.findall(prose)])


def names(word: str, page: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", page) is not None


def relative_links(page: str) -> Iterator[str]:
    prose = CODE_SPAN.sub("", FENCE.sub("", page))
    for match in LINK.finditer(prose):
        target = (match.group(1) or match.group(2)).partition("#")[0]
        if target and not re.match(r"[a-z][a-z0-9+.-]*:", target):
            yield target
