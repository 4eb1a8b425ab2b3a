"""The table of commands: sections, short help, old names, typos, and features that are not installed."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tacit.surfaces.cli import cli, table
from tacit.surfaces.cli.table import COMMANDS, HIDDEN, MOVED, SECTIONS


def test_help_lists_every_command_by_section_on_one_full_line() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output.splitlines()
    for name, (_, section, short) in COMMANDS.items():
        assert section in SECTIONS
        assert 0 < len(short) <= 60
        assert any(line.split() == [name, *short.split()] for line in shown), name
    assert [line.rstrip(":") for line in shown if line.rstrip(":") in SECTIONS] == list(SECTIONS)


@pytest.mark.parametrize("name", [*COMMANDS, *HIDDEN, *MOVED])
def test_every_name_leads_to_a_command(name: str) -> None:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    assert (name in cli.list_commands(context)) == (name in COMMANDS)


def test_subcommands_have_short_help_that_is_not_cut() -> None:
    context = click.Context(cli)
    for name in ("skills", "store"):
        group = cli.get_command(context, name)
        assert isinstance(group, click.Group)
        for each in group.commands.values():
            assert each.hidden or 0 < len(each.short_help or "") <= 60, f"{name} {each.name}"


@pytest.mark.parametrize(
    ("typed", "meant"), [(["revew"], "review"), (["skils"], "skills"), (["store", "verfy"], "verify")]
)
def test_a_typo_gets_a_suggestion(typed: list[str], meant: str) -> None:
    done = CliRunner().invoke(cli, typed)
    assert done.exit_code == 2
    assert f"Did you mean {meant}?" in done.output


def test_a_name_that_resembles_nothing_gets_none() -> None:
    assert "Did you mean" not in CliRunner().invoke(cli, ["xyzzy"]).output


def test_a_feature_whose_folder_is_gone_has_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.COMMANDS, "cards", ("tacit.features.gone.commands", table.FEATURES, "Gone"))
    context = click.Context(cli)
    assert "cards" not in cli.list_commands(context)
    assert cli.get_command(context, "cards") is None
