"""The table of commands: sections, short help, old names, typos, and features that are not installed."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tacit.surfaces.authority import NOT_FOR_AGENTS, PERSON_ONLY
from tacit.surfaces.cli import cli, table
from tacit.surfaces.cli.table import COMMANDS, HIDDEN, OLD_NAMES, REPLACED, SECTIONS
from tacit.surfaces.clients.connections import PERSONS_COMMANDS


def test_help_lists_every_command_by_section_on_one_full_line() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output.splitlines()
    for name, (_, section, short) in COMMANDS.items():
        assert section in SECTIONS
        assert 0 < len(short) <= 60
        assert any(line.split() == [name, *short.split()] for line in shown), name
    assert [line.rstrip(":") for line in shown if line.rstrip(":") in SECTIONS] == list(SECTIONS)


@pytest.mark.parametrize("name", [*COMMANDS, *HIDDEN])
def test_every_name_leads_to_a_command(name: str) -> None:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    assert (name in cli.list_commands(context)) == (name in COMMANDS)


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_runs_the_present_command(old: str) -> None:
    present = CliRunner().invoke(cli, [*OLD_NAMES[old].split(), "--help"])
    shown = CliRunner().invoke(cli, [*old.split(), "--help"])
    assert (shown.exit_code, shown.output) == (0, present.output)
    words = [*old.split(), "x"]
    assert cli.resolve_command(click.Context(cli), words)[2] == [*OLD_NAMES[old].split()[1:], "x"]


def test_subcommands_have_short_help_that_is_not_cut() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        group = cli.get_command(context, name)
        if isinstance(group, click.Group):
            for each in group.list_commands(context):
                command = group.get_command(context, each)
                assert command is not None
                assert command.hidden or 0 < len(command.short_help or "") <= 60, f"{name} {each}"


@pytest.mark.parametrize("path", REPLACED)
def test_a_replaced_command_is_hidden_and_its_replacement_is_not(path: str) -> None:
    assert find(path).hidden
    assert not find(REPLACED[path]).hidden


def test_the_help_of_a_group_names_its_less_used_commands() -> None:
    shown = CliRunner().invoke(cli, ["adapters", "--help"]).output
    assert "Less used: export, remove, show." in shown  # but neither `list` nor `rollback`, which others replace


def test_what_only_people_may_do_is_denied_to_agents_under_every_name() -> None:
    """What is denied as `index` is denied as `store index` too, and so for every command that has moved."""
    denied = set(PERSONS_COMMANDS)
    for old, new in OLD_NAMES.items():
        name = tuple(new.split())
        if len(name) == 2 and not name[1].startswith("--") and " " not in old:
            assert {(*name, *words[1:]) for words in denied if words[0] == old} <= denied, old
            assert {(old, *words[2:]) for words in denied if words[:2] == name} <= denied, old
    for old, new in (OLD_NAMES | REPLACED).items():
        if tuple(old.split()) in denied:
            words = tuple(new.replace(" NAME", "").split())
            assert any(words[: len(rule)] == rule for rule in denied), f"{old} is denied, {new} is not"
    for verb in PERSON_ONLY | NOT_FOR_AGENTS:
        words = tuple(verb.split())
        if cli.get_command(click.Context(cli), words[0]) is not None:
            covered = any(words[: len(rule)] == rule or rule[: len(words)] == words for rule in denied)
            assert covered or words in UNDENIED, verb


UNDENIED = {
    ("cards", "aha-status", "accepted"), ("adapters", "export", "unproven"),
    ("check", "--model"), ("learn", "--model"), ("learn", "--trust-outcomes"), ("recall", "--person"),
}  # fmt: skip
"""Refused at run time alone: agents may run these commands otherwise."""


def find(path: str) -> click.Command:
    command: click.Command = cli
    for word in path.split():
        if not isinstance(command, click.Group):
            break  # an argument or an option
        found = command.get_command(click.Context(command), word)
        if found is None:
            break
        command = found
    assert command is not cli, path
    return command


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
