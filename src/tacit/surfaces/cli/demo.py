"""`tacit demo`: everything on transcripts that a real client wrote, in a store of its own.

It learns, shows a skill, approves it, recalls it for a new task, gives nothing for an unrelated one, records a verified
outcome, and shows how reliability and history changed. It touches nothing of the user's.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from tacit import render
from tacit.api import Tacit
from tacit.config.settings import Config
from tacit.config.signers import forget_unlocked_key, set_unlocked_key
from tacit.config.signing_key import KeyCost, create_key
from tacit.domain.evidence import Reliability
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Selection
from tacit.domain.skill import Kind, SkillStep
from tacit.evidence.repository import WorkspaceBaseline
from tacit.evidence.verifiers.checks import Command
from tacit.ingest.sources import read
from tacit.store import open_store
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.learn import learned_parts
from tacit.surfaces.cli.recall import selection_parts
from tacit.surfaces.cli.report import print_parts, safe

NEW_TASK = "Add a migration that adds column `paid_at` to `payments`"
UNRELATED_TASK = "Translate the landing page into French"
PROJECT = "invoice-app"
VALUES = {"column": "paid_at", "table": "payments"}
"""The parameters of the new task."""
QUICK = KeyCost(passes=1, memory=8 << 20)
"""The cost of a random passphrase that nobody guesses."""


@click.command()
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the demo's store in this folder.")
@command_options
def demo(ctx: CommandContext, *, keep: Path | None) -> None:
    """Show everything in under a minute, offline, on recorded Claude Code transcripts."""
    with tempfile.TemporaryDirectory(prefix="tacit-demo-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        console = Console(quiet=True) if ctx.as_json else ctx.console
        store, scope = open_store(str(folder / "tacit.db")), Scope(Level.PROJECT, PROJECT)
        # A key of the demo's own, whose passphrase nobody sees: a person's would be asked for at the terminal.
        key = create_key(folder / "home", secrets.token_hex(), name="demo", at=datetime.now(UTC), cost=QUICK)
        store.require_signatures(key.signers)
        set_unlocked_key(key)
        try:
            with Tacit(store, config=Config(), scope=scope) as memory:
                document = _play(console, memory, folder)
        finally:
            forget_unlocked_key()
    ctx.report(document)


_CHAPTERS = (
    ("Learn", "Seven Claude Code sessions, one with a subagent, in a small project, as the client wrote them to disk."),
    ("Look", "One of the skills, as a person reviews it and as Agent Skills clients read it."),
    (
        "Approve",
        "Agents get nothing before a person signs the exact content and confirms what came from outside. "
        "The demo signs with a throwaway key.",
    ),
    ("Recall", f"A new task: “{NEW_TASK}”"),
    ("Prove", "A small agent follows the recalled steps in the real project; Tacit runs the check itself."),
    ("Remember", "Every change is an entry in a chain of hashes."),
)


def _chapter(console: Console, number: int) -> None:
    title, text = _CHAPTERS[number - 1]
    console.print()
    console.rule(f"[bold]{number}. {title}[/bold]", align="left")
    console.print(f"[dim]{escape(text)}[/dim]")


def _play(console: Console, memory: Tacit, folder: Path) -> dict[str, Any]:
    _chapter(console, 1)
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as transcripts:
        captured = memory.capture(read(transcripts))
    learned = memory.learn()
    print_parts(console, learned_parts(captured, learned, width=console.width))

    _chapter(console, 2)
    procedures = [stored for stored in memory.reviews.waiting() if stored.version.content.kind is Kind.PROCEDURE]
    candidate = max(procedures, key=lambda stored: len(memory.archive.verdicts(stored.version.id)))
    console.print(Panel(safe(render.render(candidate.version.content)), title=candidate.version.name))

    _chapter(console, 3)
    before = memory.recall(NEW_TASK, surface="demo")
    console.print(f"Recall before approval: {escape(before.reason)}.")
    _approve(console, memory)

    _chapter(console, 4)
    selection = memory.recall(NEW_TASK, k=2, surface="demo")
    print_parts(console, selection_parts(selection, boxed=console.is_terminal))
    console.print(f"\nAnd an unrelated one: “{UNRELATED_TASK}”")
    silent = memory.recall(UNRELATED_TASK, surface="demo")
    print_parts(console, selection_parts(silent, boxed=console.is_terminal))

    _chapter(console, 5)
    project = folder / PROJECT
    with resources.as_file(resources.files("tacit") / "demo" / "project") as source:
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    _commit(project)
    reliabilities = _prove(console, memory, selection, project)

    _chapter(console, 6)
    top = selection.items[0]
    for entry in memory.archive.history(top.version.skill_id):
        console.print(f"[dim]{entry.sequence:4d}[/dim]  {entry.action}  [dim]{entry.hash[7:19]}[/dim]")
    damage = memory.archive.verify()
    console.print("[green]The store is intact.[/green]" if not damage else f"[red]{damage[0].problem}[/red]")
    console.print(
        "\nYour turn, in a project: [bold]tacit learn[/bold], [bold]tacit review[/bold], [bold]tacit init[/bold]."
    )
    return {
        "trajectories": len(captured.added),
        "held": [verdict.name for verdict in learned.held],
        "recalled": [item.name for item in selection.items],
        "abstained_on_unrelated": silent.abstained,
        "reliability": reliabilities,
        "intact": not damage,
    }


def _approve(console: Console, memory: Tacit) -> None:
    """Approve all that waits, as a person would, and confirm what came from outside."""
    for stored in memory.reviews.waiting():
        version = stored.version
        ticked = [each.key for each in memory.reviews.examine(version.id).external_values]
        move = memory.review(version.id, "approve", by="demo", content_hash=version.hash, ticked=ticked)
        console.print(f"{safe(version.name)}: [cyan]approved (on trial)[/cyan] [dim](was {move.before})[/dim]")
        for key in ticked:
            console.print(f"  [dim]confirmed, because it was first seen in tool output:[/dim] {safe(key)}")


def _commit(project: Path) -> None:
    """Make the project a checkout with one commit: what a check means is read from there, not from what a run left."""
    (project / "gitignore").rename(project / ".gitignore")
    own = ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"]
    own += ["-c", "core.hooksPath=/dev/null"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "the project as it was"]):
        with contextlib.suppress(OSError):  # without git the check is a self-report, and the demo says so
            subprocess.run(["git", *own, *arguments], cwd=project, capture_output=True, timeout=TIMEOUT_S, check=False)


def _prove(console: Console, memory: Tacit, selection: Selection, folder: Path) -> list[dict[str, Any]]:
    """Follow the recalled skill in a real project, and let its own check decide."""
    top = selection.items[0]
    known = [memory.archive.reliability(top.version_id)]
    begun = datetime.now(UTC) + timedelta(seconds=0.1)  # the project was put there just now, and not by the run
    baseline = WorkspaceBaseline(folder=folder, since=begun)
    console.print(f"Reliability of {escape(top.name)} before: {_interval(known[-1])}")
    for text, worked in follow(top.steps, VALUES | {"workspace": str(folder)}, folder=folder):
        console.print(f"  {'[green]done[/green]' if worked else '[red]failed[/red]'}  {safe(text)}")
    postcondition = top.version.content.postconditions[0].check
    check = Command(postcondition, cwd=folder, search_path=search_path(folder), baseline=baseline)
    [kept] = memory.record(selection.use_id, verifier=check, followed=[top.version_id], by="demo")
    known.append(memory.archive.reliability(top.version_id))
    console.print(f"Tacit ran `{escape(postcondition)}`: {kept.outcome}, {kept.grade}.")
    console.print(f"Reliability now: [green]{_interval(known[-1])}[/green]")
    again = memory.recall(NEW_TASK, surface="demo")
    for _ in range(3):
        memory.record(again.use_id, outcome="success", by="an agent praising itself")
    known.append(memory.archive.reliability(top.version_id))
    console.print(f"After three self-reports of success: {_interval(known[-1])}; self-reports do not raise it.")
    return [{"low": known.low, "high": known.high, "trials": known.trials} for known in known]


def _interval(known: Reliability) -> str:
    """Return a reliability with how much it rests on."""
    results = f"{known.worked:g} of {known.votes} verified uses worked"
    return f"{known.low:.0%} to {known.high:.0%} ({results})" if known.known else f"unknown ({results})"


TIMEOUT_S = 60


def follow(steps: tuple[SkillStep, ...], values: Mapping[str, str], *, folder: Path) -> Iterator[tuple[str, bool]]:
    """Carry out each step; yields what was done and whether it worked, and ends after a failure."""
    for step in steps:
        arguments = {key: fill(value, values) for key, value in step.arguments.items() if isinstance(value, str)}
        path = Path(arguments.get("file_path", ""))
        worked = step.tool in ("Read", "Edit") and path.is_file()
        if step.tool == "Bash":
            environment = {"PATH": search_path(folder), "PYTHONDONTWRITEBYTECODE": "1"}
            command = ["/bin/sh", "-c", arguments["command"]]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
            )
            worked = done.returncode == 0
        elif worked and step.tool == "Edit":
            text, old = path.read_text(encoding="utf-8"), arguments["old_string"]
            worked = old in text
            path.write_text(text.replace(old, arguments["new_string"], 1), encoding="utf-8")
        yield fill(step.text, values), worked
        if not worked:
            return


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of their parameters."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def search_path(folder: Path) -> str:
    """A PATH on which `python3` is this interpreter, wherever it is installed."""
    shims = folder / ".shims"
    shims.mkdir(exist_ok=True)
    shim = shims / "python3"
    if not shim.exists():
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
    return os.pathsep.join([str(shims), os.defpath])
