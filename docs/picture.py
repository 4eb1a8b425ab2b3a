"""Draws docs/picture.svg: what `tacit learn` and `tacit recall` print, on the recorded sessions. `python docs/picture.py`."""

from __future__ import annotations

import io
import re
from importlib import resources
from pathlib import Path

from rich.console import Console

import tacit
from tacit.api import Tacit
from tacit.domain.scope import Level, Scope
from tacit.store import open_store
from tacit.surfaces.cli.learn import learned_parts
from tacit.surfaces.cli.recall import selection_parts
from tacit.surfaces.cli.report import print_parts

TASKS = ("Add a migration that adds column `paid_at` to `payments`", "Translate the landing page into French")


def main() -> None:
    """Play the two commands and save the picture."""
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True, highlight=False)
    with Tacit(open_store(":memory:"), scope=Scope(Level.PROJECT, "invoice-app")) as memory:
        console.print("[bold green]$[/bold green] tacit learn ~/.claude/projects/-code-invoice-app")
        with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
            captured = memory.capture(tacit.read(folder))
        for line in learned_parts(captured, memory.learn(), width=112):
            console.print(line)
        for stored in memory.reviews.waiting():
            ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
            memory.review(stored.version.id, "approve", by="a person", ticked=ticked)
        for task in TASKS:
            console.print(f"\n[bold green]$[/bold green] tacit recall '{task}'")
            print_parts(console, selection_parts(memory.recall(task), boxed=True))
    drawn = console.export_svg(title="tacit", unique_id="tacit")
    # Fonts from elsewhere are left out: the picture must not fetch anything.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    Path(__file__).with_name("picture.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
