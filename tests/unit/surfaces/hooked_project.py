"""A project with a store of approved skills, and a session in it: events in, what the agent is told out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.api import Tacit
from tacit.config.location import HookEnvironment
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.store import open_store
from tacit.surfaces.hook.entry import answers
from tacit.surfaces.hook.event_handlers import respond
from tacit.surfaces.hook.events import find, parse
from tests.unit.surfaces.hook_events import stdin

STALE = "error: revision chain is stale: run 'manage.py sync' first"
"""What the lesson answers, as a tool prints it."""
NORM = SkillContent(kind=Kind.NORM, name="use-pnpm", description="Use pnpm in this project, never npm.")
PROCEDURE = SkillContent(
    kind=Kind.PROCEDURE,
    name="add-a-migration",
    description="Add a database migration that adds a column to a table.",
    steps=(SkillStep(text="Run `python manage.py sync`"), SkillStep(text="Run `python manage.py makemigration`")),
    preconditions=(Condition(text="the database runs", check="make db-status"),),
)
LESSON = SkillContent(
    kind=Kind.LESSON,
    name="sync-before-makemigration",
    description="When makemigration says that the revision chain is stale, run sync first.",
    signature="error: revision chain is stale: run <value> first",
    body="Run `python manage.py sync`, then try again.",
)

MISSING = "ModuleNotFoundError: No module named 'shop'"
"""What the warning answers where it was not heeded."""
WARNING = SkillContent(
    kind=Kind.LESSON,
    name="use-uv-run-for-pytest",
    description="`pytest` fails here: use `uv run pytest`. (3 sessions)",
    tags=("call:pytest", "before"),
    signature="ModuleNotFoundError: No module named shop",
    body="**Problem.** `pytest` fails.\n\n**Fix.** Use `uv run pytest`.",
)
"""A lesson that is worth saying before the call."""
CARD = SkillContent(
    kind=Kind.FACT,
    name="project-commands",
    description="Commands that sessions use here.",
    body="- test: `uv run pytest`\n- check: `make lint` in web",
)


def fill(database: Path, *contents: SkillContent) -> dict[str, str]:
    """Approve skills in a store; returns their version ids by name."""
    database.parent.mkdir(parents=True, exist_ok=True)
    ids: dict[str, str] = {}
    with Tacit(open_store(database), scope=Scope(Level.PROJECT, "")) as loop:
        for content in contents:
            verdict = loop.propose(content, by="ann")
            loop.review(verdict.version_id, "approve", by="ann")
            ids[content.name] = verdict.version_id
    return ids


@dataclass
class Project:
    """A folder with a store; `send` gives it an event, as a hook's process does, and returns what the agent is told."""

    folder: Path
    home: Path
    ids: dict[str, str] = field(default_factory=dict)
    now: float = 1_700_000_000.0
    variables: dict[str, str] = field(default_factory=dict)
    for_person: str = ""
    """What the last answer said to the person."""

    @property
    def database(self) -> Path:
        return self.folder / ".tacit" / "tacit.db"

    def clock(self) -> float:
        self.now += 1.0
        return self.now

    def send(self, event: dict[str, Any]) -> str:
        said: list[str] = []
        parsed = parse(stdin(event | {"cwd": str(self.folder)}))
        context = find(parsed, HookEnvironment({"HOME": str(self.home), **self.variables}))
        assert context is not None
        if not answers(parsed, context):
            return ""
        respond(parsed, context, say=said.append, clock=self.clock)
        self.for_person = ""
        if not said:
            return ""
        (answer,) = said
        document = json.loads(answer)
        self.for_person = document.get("systemMessage", "")
        spoken = document.get("hookSpecificOutput")
        if spoken is None:
            return ""
        assert spoken["hookEventName"] == event["hook_event_name"]
        return str(spoken["additionalContext"])

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The journal of the one session there is."""
        (path,) = (self.folder / ".tacit" / "sessions").glob("*.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]


def make_project(folder: Path, *contents: SkillContent) -> Project:
    """A repository with a store that holds these approved skills."""
    project = Project(folder=folder / "shop", home=folder / "home")
    (project.folder / ".git").mkdir(parents=True)
    project.ids = fill(project.database, *contents)
    return project
