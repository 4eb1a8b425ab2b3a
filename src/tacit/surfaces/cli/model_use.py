"""What reading by a language model costs and brings: the offer of `tacit init`, and the figures of `stats` and `doctor`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from tacit.config.environment import client_environment
from tacit.config.settings import ModelSettings, save_settings
from tacit.domain.errors import ConfigError, TacitError
from tacit.domain.lifecycle import RECALLABLE
from tacit.ingest.sources import Transcript, client_homes, transcripts
from tacit.providers.budget import UsageLedger
from tacit.providers.client_model import CLIENTS, find_program
from tacit.providers.opening import known_price, vendor_of
from tacit.surfaces.cli.context import CommandContext, counted, safe
from tacit.surfaces.cli.report import fields
from tacit.surfaces.clients.checks import ClientCheck

QUESTION = "Read new sessions in the background with it?"
ABOUT = "language model"
_READ, _WRITTEN = 8_000, 3_500
"""About the tokens that one session takes, with its second reading, measured on 74 (bench/results/reading.json)."""
_MONTH = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCost:
    """What a language model would read, by the sessions of the last 30 days."""

    model: str
    sessions_per_month: int
    tokens_per_session: int = _READ + _WRITTEN
    tokens_per_month: int
    usd_per_month: float | None
    """At the vendor's list price; `None` where that is not known."""
    on: bool = False

    @property
    def text(self) -> str:
        """The estimate, for people."""
        money = f" ({self.usd_per_month:.2f} US dollars at list price)" if self.usd_per_month is not None else ""
        month = f"{counted(self.sessions_per_month, 'session')} and {self.tokens_per_month:,} tokens a month{money}"
        return f"{self.model}: about {self.tokens_per_session:,} tokens a session, {month}"


def reading_cost(settings: ModelSettings, found: Sequence[Transcript], *, now: datetime) -> ReadingCost:
    """Estimate what reading every new session would cost; sessions of other vendors' clients are not read."""
    vendor = "" if settings.other_vendors else vendor_of(settings)
    recent = [each for each in found if each.modified_at >= now - _MONTH]
    sessions = sum(1 for each in recent if not vendor or CLIENTS[each.client].vendor == vendor)
    price = known_price(settings)
    return ReadingCost(
        model=settings.name,
        sessions_per_month=sessions,
        tokens_per_month=sessions * (_READ + _WRITTEN),
        usd_per_month=round(sessions * price(_READ, _WRITTEN), 4) if price else None,
    )


def offered_reading(ctx: CommandContext, clients: Sequence[str]) -> ReadingCost | None:
    """Return what reading in the background would cost with the named model or the first client that is installed."""
    try:
        config = ctx.settings[0]
    except ConfigError:
        return None  # `tacit config` says what is wrong
    environment = client_environment(ctx.place.project)
    installed = [name for name in clients if name in CLIENTS and find_program(CLIENTS[name], environment)]
    name = config.model.name or next(iter(installed), "")
    if not name:
        return None
    cost = reading_cost(
        dataclasses.replace(config.model, name=name),
        transcripts(client_homes(ctx.environment), since=datetime.now(UTC) - _MONTH),
        now=datetime.now(UTC),
    )
    return dataclasses.replace(cost, on=config.learn.read_in_background and bool(config.model.name))


def ask_for_reading(ctx: CommandContext, cost: ReadingCost) -> ReadingCost:
    """Ask whether a model may read in the background, and write a yes into the person's settings."""
    if cost.on:
        return cost
    ctx.console.print(f"\nA language model finds more than counting does. {safe(cost.text)}.", soft_wrap=True)
    if not click.confirm(QUESTION, default=False):
        return cost
    try:
        save_settings(ctx.environment.person_home, {"learn.read_in_background": True, "model.name": cost.model})
    except ConfigError as error:
        ctx.errors.print(safe(f"{error.message}: {error.hint}"), style="yellow", soft_wrap=True)
        return cost
    return dataclasses.replace(cost, on=True)


def reading_line(cost: ReadingCost) -> str:
    """One line on whether a model reads in the background, and how to change that."""
    if cost.on:
        return f"{safe(cost.model)} reads new sessions in the background (learn.read_in_background)"
    how = "set learn.read_in_background and model.name in ~/.tacit/tacit.toml"
    return f"[dim]no language model reads new sessions; to change that, {how} ({safe(cost.text)})[/dim]"


def model_use(ctx: CommandContext) -> dict[str, Any]:
    """Return what was spent on language models today and this month, and what came of it in this store."""
    ledger = UsageLedger(ctx.environment.person_home)
    spent = {"today": ledger.spent(ledger.today), "month": ledger.spent(ledger.today[:7])}
    made = [each for each in ctx.memory.skills() if each.version.provenance.model]
    periods = {name: {**fields(each, "calls", "tokens"), "usd": round(each.usd, 6)} for name, each in spent.items()}
    return {**periods, "candidates": len(made), "approved": sum(each.status in RECALLABLE for each in made)}


def use_text(use: dict[str, Any]) -> str:
    """The figures, for people; empty where no model was used yet."""
    if not use["month"]["calls"] and not use["candidates"]:
        return ""
    parts = [
        f"{use[period]['tokens']:,} tokens {when}" for period, when in (("today", "today"), ("month", "this month"))
    ]
    money = f" ({use['month']['usd']:.2f} US dollars)" if use["month"]["usd"] else ""
    return f"{', '.join(parts)}{money}; {counted(use['candidates'], 'candidate')}, {use['approved']} approved"


def model_checks(ctx: CommandContext) -> Iterator[ClientCheck]:
    """Yield whether the named model can be asked, what it read and what it cost."""
    config = ctx.settings[0]
    if not config.model.name:
        yield ClientCheck(ABOUT, "off", "none is named, so sessions are only counted (model.name)")
        return
    ledger = UsageLedger(ctx.environment.person_home)
    if ledger.is_damaged:
        text = f"{ledger.path} was damaged, so nothing more is spent today"
        yield ClientCheck(ABOUT, "note", text, "remove the file to count from nothing")
    client = CLIENTS.get(config.model.name.partition(":")[0])
    program = find_program(client, client_environment(ctx.place.project)) if client else ""
    if client and not program:
        remedy = f"install `{client.program}`, or name another model"
        yield ClientCheck(ABOUT, "fault", f"{client.title} is not installed", remedy)
        return
    where = f" ({program})" if program else ""
    reads = "reads in the background" if config.learn.read_in_background else "asked by your own `tacit learn` only"
    try:
        use = use_text(model_use(ctx)) if ctx.place.exists else ""
    except TacitError:
        use = ""  # what is wrong with the store is said where the store is checked
    yield ClientCheck(ABOUT, "ok", f"{config.model.name}{where}: {reads}{f'; {use}' if use else ''}")
