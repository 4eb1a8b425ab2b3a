"""The hook as a fuzzing target: one event's bytes in, the journal written and the answer thrown away."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tacit.api import open as open_memory
from tacit.config.location import HookEnvironment
from tacit.domain.errors import TacitError
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.ingest.journal import CLIENTS
from tacit.surfaces.hook import learner_requests
from tacit.surfaces.hook.event_handlers import respond
from tacit.surfaces.hook.events import LEARN, MAX_CHARACTERS, InvalidEvent, find, parse
from tests.person import enter, give_key

SKILLS = (
    SkillContent(kind=Kind.NORM, name="use-pnpm", description="Use pnpm here, never npm."),
    SkillContent(
        kind=Kind.PROCEDURE,
        name="add-a-migration",
        description="Add a database migration that adds a column.",
        steps=(SkillStep(text="Run `python manage.py sync`"), SkillStep(text="Run `python manage.py makemigration`")),
        preconditions=(Condition(text="the database runs", check="make db-status"),),
    ),
    SkillContent(
        kind=Kind.LESSON,
        name="sync-before-makemigration",
        description="When makemigration fails, run sync first.",
        signature="error: revision chain is stale: run <value> first",
        body="Run `python manage.py sync`.",
    ),
    SkillContent(
        kind=Kind.LESSON,
        name="use-uv-run-for-pytest",
        description="`pytest` fails here: use `uv run pytest`. (3 sessions)",
        tags=("call:pytest", "before"),
        signature="ModuleNotFoundError: No module named shop",
        body="**Fix.** Use `uv run pytest`.",
    ),
    SkillContent(kind=Kind.FACT, name="project-commands", description="Commands.", body="- test: `uv run pytest`"),
)


def hooked(folder: Path) -> Callable[[bytes], None]:
    """Make a project with a few approved skills; returns what handles one event there."""
    os.chdir(folder)
    store = folder / "project.db"
    give_key(folder / ".tacit")
    enter()
    with open_memory(store) as memory:
        for content in SKILLS:
            verdict = memory.propose(content, by="ann")
            memory.review(verdict.version_id, "approve", by="ann")
    variables = HookEnvironment({"HOME": str(folder), "TACIT_STORE": str(store)})
    answers: list[str] = []

    def run(data: bytes) -> None:
        answers.clear()
        try:
            event = parse(data, ("", *CLIENTS)[len(data) % (len(CLIENTS) + 1)])
            context = find(event, variables) if event.moment else None
        except (InvalidEvent, TacitError):
            return
        if context is None:
            return
        if event.moment == LEARN:
            learner_requests.request(event, context)
        else:
            respond(event, context, say=answers.append, clock=datetime.now(UTC).timestamp)
        assert sum(map(len, answers)) <= MAX_CHARACTERS
        if len(list((folder / "sessions").iterdir())) > 50:
            for path in (folder / "sessions").iterdir():
                path.unlink()

    return run
