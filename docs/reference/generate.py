"""Writes docs/reference/cli.md from the command line's own help: `python docs/reference/generate.py`.

A test compares the file with what this would write, so the reference cannot drift from the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tacit.surfaces.cli import cli
from tacit.surfaces.cli.table import MOVED

TARGET = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

Every command takes `--json` (exactly one JSON document on stdout) and `--store PATH`. Exit codes: 0 done, 1 a bug,
2 a mistake in the input, 3 refused by the rules, 4 something outside failed; see [errors](errors.md). With `--json` an error is
`{"error": {"code": …, "kind": …, "message": …, "hint": …}}`. Renamed JSON keys: [JSON aliases](json-aliases.md).

This page is written by `python docs/reference/generate.py`.
"""
OLD_NAMES = """
## Old names

These names keep working; the command on the right is the one to use.

| old | now |
| --- | --- |
"""
FOLDED = {
    "tacit feedback": "tacit record --helpful / --not-helpful",
    "tacit refine NAME": "tacit tend NAME",
    "tacit compose NAME PART…": "tacit propose NAME --part PART",
    "tacit skills list": "tacit skills",
    "tacit skills diff": "tacit skills show --diff",
    "tacit skills lift": "tacit skills stats --lift",
    "tacit skills pin": "tacit review NAME --pin",
    "tacit skills invalidate": "tacit review NAME --invalidate",
    "tacit skills rollback": "tacit undo NAME --to VERSION",
    "tacit config token": "tacit config --new-token",
}


def reference() -> str:
    """The whole page."""
    moved = {f"tacit {old}": f"tacit {group} {name}" for old, (group, name) in MOVED.items()}
    rows = (f"| `{old}` | `{new}` |\n" for old, new in (moved | FOLDED).items())
    return INTRODUCTION + "".join(_pages(cli, "tacit")) + OLD_NAMES + "".join(rows)


def _pages(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(
        command, info_name=path, terminal_width=100, max_content_width=100, help_option_names=["-h", "--help"]
    )
    yield f"\n## `{path}`\n\n```text\n{command.get_help(context).strip()}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _pages(found, f"{path} {name}")


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
