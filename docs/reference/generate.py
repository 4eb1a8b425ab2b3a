"""Writes docs/reference/cli.md from the command line's own help: `python docs/reference/generate.py`.

A test compares the file with what this would write, so the reference cannot drift from the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tacit.surfaces.cli import cli
from tacit.surfaces.cli.table import HIDDEN, OLD_NAMES, REPLACED, less_used

TARGET = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

Every command takes `--json` (exactly one JSON document on stdout) and `--store PATH`. Exit codes: 0 done, 1 a bug,
2 a mistake in the input, 3 refused by the rules, 4 something outside failed; see [errors](errors.md). With `--json` an error is
`{"error": {"code": …, "kind": …, "message": …, "hint": …}}`. Renamed JSON keys: [JSON aliases](json-aliases.md).

This page is written by `python docs/reference/generate.py`.
"""
LESS_USED = """
## Less used

These commands are not in the lists of `--help`: they are for agents and other programs, or rarely needed.
"""
OLD_HEADING = """
## Old names

These names keep working; the command on the right is the one to use.

| old | now |
| --- | --- |
"""


def reference() -> str:
    """Return the whole page."""
    rows = (f"| `tacit {old}` | `tacit {new}` |\n" for old, new in (OLD_NAMES | REPLACED).items())
    pages = [*_pages(cli, "tacit"), LESS_USED, *_less_used_pages(), OLD_HEADING, *rows]
    return INTRODUCTION + "".join(pages)


def _pages(command: click.Command, path: str) -> Iterator[str]:
    context = _context(command, path)
    yield _page(command, path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _pages(found, f"{path} {name}")


def _less_used_pages() -> Iterator[str]:
    context = _context(cli, "tacit")
    for name in [*cli.list_commands(context), *(name for name in HIDDEN if name not in REPLACED)]:
        command = cli.get_command(context, name)
        if command is not None and command.hidden:
            yield _page(command, f"tacit {name}", level=3)
        elif isinstance(command, click.Group):
            inner = _context(command, f"tacit {name}")
            for each in less_used(command, inner):
                found = command.get_command(inner, each)
                assert found is not None
                yield _page(found, f"tacit {name} {each}", level=3)


def _page(command: click.Command, path: str, *, level: int = 2) -> str:
    return f"\n{'#' * level} `{path}`\n\n```text\n{command.get_help(_context(command, path)).strip()}\n```\n"


def _context(command: click.Command, path: str) -> click.Context:
    return click.Context(
        command, info_name=path, terminal_width=100, max_content_width=100, help_option_names=["-h", "--help"]
    )


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
