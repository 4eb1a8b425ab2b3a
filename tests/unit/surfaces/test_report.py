"""A report's columns give both its JSON document and its table; old JSON keys stay next to the new ones."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from rich.console import Console

from tacit.surfaces.cli.report import ALIASES, Column, Columns, with_aliases
from tests.contract.project_files import ROOT


@dataclass(frozen=True)
class City:
    name: str
    people: int


CITIES: Columns[City] = Columns(
    Column("name", lambda city: city.name, "city"),
    Column("people", lambda city: city.people, "people", lambda city: f"{city.people:,}"),
    Column("big", lambda city: city.people > 1_000_000),
    Column("", lambda city: city.name[0], "initial"),
)
ROWS = [City("[Ulm]", 128_928), City("Rome", 2_746_984)]


def test_columns_give_documents() -> None:
    assert CITIES.documents(ROWS) == [
        {"name": "[Ulm]", "people": 128_928, "big": False},
        {"name": "Rome", "people": 2_746_984, "big": True},
    ]


def test_columns_give_a_table_with_the_headings_and_no_markup_of_the_data() -> None:
    console = Console(width=60)
    with console.capture() as captured:
        console.print(CITIES.table(ROWS))
    lines = [line.split() for line in captured.get().splitlines()]
    assert lines == [["city", "people", "initial"], ["[Ulm]", "128,928", "["], ["Rome", "2,746,984", "R"]]


@pytest.mark.parametrize("command", sorted(ALIASES))
def test_old_keys_stay_next_to_the_new_ones_and_are_documented(command: str) -> None:
    page = (ROOT / "docs" / "reference" / "json-aliases.md").read_text(encoding="utf-8")
    for path, new, old in ALIASES[command]:
        document: object = {new: 1}
        for part in reversed(path):
            document = [document] if part == "*" else {part: document}
        found = with_aliases(document, command)
        for part in path:
            found = found[0] if part == "*" else found[part]
        assert found[new] == found[old] == 1
        where = ".".join((*path, new)).replace(".*", "[]")
        assert f"| `{command}` | `{where}` | `{old}` |" in page


def test_other_commands_get_no_aliases() -> None:
    document = {"captured": {"confirmed": 1}}
    assert with_aliases(document, "recall") is document
