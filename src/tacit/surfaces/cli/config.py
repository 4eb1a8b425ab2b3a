"""`tacit config`: every setting with its source, the person's key and policy. `tacit pause`: do nothing here for a while."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from pathlib import Path

import click

from tacit.config.passphrase import new_key_at_terminal, unlock_at_terminal
from tacit.config.settings import Setting, Strictness, save_settings
from tacit.config.signing_key import add_signer, add_statement, has_key
from tacit.domain.errors import Mistake
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.report import Column, Columns, safe

_SETTINGS: Columns[Setting] = Columns(
    Column("key", lambda setting: setting.key, "setting"),
    Column("value", lambda setting: setting.value, "value"),
    Column("source", lambda setting: setting.source, "from"),
)


@click.command()
@click.option(
    "--new-key", is_flag=True, help="Make a new signing key: what the old one approved must be confirmed again."
)
@click.option(
    "--add-signer",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Let another person's approvals count.",
)
@click.option(
    "--policy",
    type=click.Choice([each.value for each in Strictness]),
    help="Set how strict the gate is, signed by you.",
)
@command_options
def config(ctx: CommandContext, *, new_key: bool, add_signer: Path | None, policy: str | None) -> None:
    """Print every setting and its source. Settings are read from tacit.toml in the project or in ~/.tacit.

    With --new-key you choose a new passphrase, such as after the old one was lost. With --policy you set the policy for all
    your projects; `open` counts only if it is set so, because approvals need no signature under it. --add-signer takes the
    file ~/.tacit/signers of a colleague. On a new machine, copy signing-key.json and signers from ~/.tacit.
    """
    home = ctx.environment.person_home
    if new_key or add_signer or policy is not None:
        ctx.caller.refuse_agents("config")
    if new_key:
        _make_key(ctx, home)
        return
    if add_signer is not None:
        _add_signer(ctx, home, add_signer)
        return
    if policy is not None:
        _set_policy(ctx, home, Strictness(policy))
        return
    _, settings = ctx.settings
    place = ctx.place
    document = {
        "store": {"value": place.database, "source": place.chosen_by},
        "settings": {s.key: {"value": s.value, "source": s.source} for s in settings},
    }
    store = Setting(key="store", value=place.database, source=place.chosen_by)
    ctx.report(document, lambda: _SETTINGS.table([store, *settings]))


def _make_key(ctx: CommandContext, home: Path) -> None:
    if has_key(home):
        question = "Make a new key? What you approved so far waits until you confirm it with the new one."
        ctx.require_yes(question, yes=False)
    key = new_key_at_terminal(home, name=ctx.environment.user)
    line = "Your new key is ready. Run [bold]tacit review[/bold] in each project to confirm what you approved before."
    ctx.report({"signer": key.fingerprint}, line)


def _add_signer(ctx: CommandContext, home: Path, file: Path) -> None:
    line = next(iter(file.read_text(encoding="utf-8", errors="replace").splitlines()), "")
    key = unlock_at_terminal(home, f"the signer in {file.name}", name=ctx.environment.user)
    name = add_signer(home, key, line, at=datetime.now(UTC))
    fingerprint = line.partition(" ")[0]
    ctx.report(
        {"name": name, "signer": fingerprint}, f"What {safe(name)} ({fingerprint[:12]}) approves counts here, too."
    )


def _set_policy(ctx: CommandContext, home: Path, policy: Strictness) -> None:
    key = unlock_at_terminal(home, f"the policy {policy}", name=ctx.environment.user)
    add_statement(home, key, {"what": "policy", "strictness": str(policy), "at": datetime.now(UTC).isoformat()})
    path = save_settings(home, {"policy.strictness": str(policy)})
    note = " Approvals need no signature under it: an agent can give them." if policy is Strictness.OPEN else ""
    ctx.report({"policy": str(policy), "file": str(path)}, f"The policy is {policy} now.{note}")


_LONGEST_S = 366 * 86_400
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@click.command()
@click.option("--for", "duration", metavar="TIME", help="Pause for this long, e.g. 30m, 2h, 1d.")
@click.option("--resume", is_flag=True, help="End the pause.")
@click.option("--status", is_flag=True, help="Only show whether Tacit is paused.")
@command_options
def pause(ctx: CommandContext, *, duration: str | None, resume: bool, status: bool) -> None:
    """Pause capturing, learning and recalling in this project, for a while or until `tacit pause --resume`."""
    if resume:
        ctx.place.resume()
    elif not status:
        seconds = None
        if duration:
            match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", duration.strip())
            if not match:
                hint = "write a number and a unit: 45s, 30m, 2h, 1d"
                raise Mistake(f"{duration!r} is not a duration", code="not_a_duration", hint=hint)
            seconds = float(match[1]) * _UNITS[match[2]]
            if seconds > _LONGEST_S:
                hint = "leave --for out to pause until resumed"
                raise Mistake(f"{duration!r} is too long", code="duration_too_long", hint=hint)
        ctx.place.pause(seconds)
    until = ctx.place.paused_until
    end = None if until is None or math.isinf(until) else datetime.fromtimestamp(until, UTC)
    if until is None:
        line = "Not paused."
    else:
        line = f"Paused until {end:%Y-%m-%d %H:%M} UTC." if end else "Paused. Run `tacit pause --resume` to end it."
    ctx.report({"paused": until is not None, "until": end}, line)
