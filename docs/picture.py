"""Draws the pictures of the docs from recorded sessions: `python docs/picture.py`.

picture.svg is what `tacit learn` and `tacit recall` print. Where Chromium and its driver are installed, web-*.png are pages of
`tacit web`.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
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


PAGES = {
    "web-today": ("today", 760, "light"),
    "web-review": ("review/{lesson}", 900, "light"),
    "web-session": ("sessions/{session}", 1010, "light"),
    "web-dark": ("review/{upload}", 900, "dark"),
}
"""Picture → page, height and colours."""
WIDTH = 1120


def main() -> None:
    """Draw all that can be drawn here."""
    draw_terminal()
    sys.path.insert(0, str(Path(__file__).parents[1]))  # the sample and the browser of the tests
    from tests.e2e.web.browser import chromium

    if chromium():
        draw_pages()


def draw_pages() -> None:
    """Fill a store as the tests do, open its pages, and take their pictures."""
    from tests.e2e.web import sample
    from tests.e2e.web.browser import driver
    from tests.e2e.web.test_web_pages import served

    with tempfile.TemporaryDirectory() as folder, driver() as window:
        place = Path(folder)
        sample.fill(place / "invoice-app" / ".tacit" / "tacit.db", place / "home" / ".tacit")
        with served(window(), place) as site:
            names = {
                "lesson": site.ask("skills/use-log-helper-invoice-log")["version_id"],
                "upload": site.ask(f"skills/{sample.UPLOAD.name}")["version_id"],
                "session": site.ask("sessions")["rows"][0]["session"],
            }
            for name, (page, height, scheme) in PAGES.items():
                site.browser.look(width=WIDTH, height=height, scheme=scheme)
                site.open(page.format(**names))
                site.browser.picture(Path(__file__).with_name(f"{name}.png"))


def draw_terminal() -> None:
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
