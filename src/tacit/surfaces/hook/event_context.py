"""Finds the store and the settings for an event, or nothing where hooks are off.

Hooks are off where Tacit is paused and where the settings exclude the folder. A store that may not be used (another user's,
one that came with the repository) raises an error.
"""

from __future__ import annotations

import os

from tacit.config.location import MEMORY, HookEnvironment, StoreLocation, locate, paused_until
from tacit.surfaces.hook.events import Event

SETTINGS_FILE = "tacit.toml"

Recall = tuple[int, int, float] | None
AUTO = "auto"
"""The embedder without settings."""


class EventContext:
    """The store for an event, and the settings for asking it."""

    __slots__ = ("cwd", "embedder", "hold_out", "home", "homes", "person", "recall", "store", "where")

    def __init__(self, where: StoreLocation, *, cwd: str, home: str, store: str, recall: Recall) -> None:
        self.where = where
        self.cwd = cwd
        self.home = home
        self.store = store
        """The store that was named by option, if any."""
        self.recall = recall
        """Number, token budget and least relevance; nothing where the defaults apply."""
        self.embedder = AUTO
        """The setting `recall.embedder`."""
        self.homes = [home]
        """Folders that may hold the person's embedders."""
        self.hold_out = 0.0
        """The largest share of sessions that go without a skill, as a control."""
        self.person = ""
        """The account of this process."""

    @property
    def has_store(self) -> bool:
        """Whether there is a store."""
        return os.path.isfile(self.where.database)

    @property
    def scope(self) -> str:
        """The scope that is asked for, as text."""
        return "project" if self.where.is_projects_own else f"project:{os.path.basename(self.where.project_path)}"


def find(event: Event, variables: HookEnvironment, *, store: str = "") -> EventContext | None:
    """Return the context of an event; nothing where hooks are off."""
    cwd = event.cwd if os.path.isabs(event.cwd) and os.path.isdir(event.cwd) else os.getcwd()
    # Where Claude Code was started; its shell wanders off, and one session belongs to one store.
    started = variables.claude_project if event.client == "claude-code" else ""
    here = started if os.path.isabs(started) and os.path.isdir(started) else cwd
    where = locate(here, home=variables.home, owners=variables.owners, store=store, variable=variables.store)
    if where.database == MEMORY or paused_until(where.folder_path) is not None:
        return None
    recall: Recall = None
    embedder, hold_out = AUTO, 0.0
    if _has_settings(here, where.project_path, variables):
        recall, embedder, hold_out, exclude = _settings(here, where.project_path)
        from fnmatch import fnmatch

        if any(fnmatch(folder, pattern) for pattern in exclude for folder in (cwd, here)):
            return None
    context = EventContext(where, cwd=cwd, home=variables.home, store=store, recall=recall)
    context.embedder, context.hold_out, context.person = embedder, hold_out, variables.account
    context.homes = list(dict.fromkeys((variables.home, variables.account_home)))
    return context


def _has_settings(here: str, project: str, variables: HookEnvironment) -> bool:
    """Whether anybody has written settings; if not, the defaults hold and nothing more is loaded."""
    homes = {variables.home, variables.account_home}
    return bool(variables.config_file) or any(
        os.path.isfile(os.path.join(folder, SETTINGS_FILE)) for folder in (here, project, *homes)
    )


def _settings(here: str, project: str) -> tuple[Recall, str, float, tuple[str, ...]]:
    from pathlib import Path

    from tacit.config.environment import UserEnvironment
    from tacit.config.settings import load_config

    around = UserEnvironment.read()
    config, _ = load_config((Path(here), Path(project)), file=around.config_file, home=around.person_home)
    asked, limits = config.recall, (config.recall.k, config.recall.budget_tokens, config.recall.min_relevance)
    return limits, asked.embedder, config.policy.hold_out, config.store.exclude
