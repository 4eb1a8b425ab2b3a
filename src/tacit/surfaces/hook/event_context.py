"""Finds the store and the settings for an event, or nothing where hooks are off.

Hooks are off where Tacit is paused and where the settings exclude the folder. A store that may not be used (another user's,
one that came with the repository) raises an error.
"""

from __future__ import annotations

import os

from tacit.config.location import MEMORY, HookEnvironment, StoreLocation, locate, paused_until
from tacit.surfaces.hook.events import Event

SETTINGS_FILE = "tacit.toml"

RecallLimits = tuple[int, int, float]
"""Number of skills, token budget, and least relevance."""


class EventContext:
    """The store for an event, and the settings for asking it."""

    def __init__(self, location: StoreLocation, *, cwd: str, variables: HookEnvironment, store_option: str) -> None:
        self.location = location
        self.cwd = cwd
        self.home = variables.home
        """Tacit's folder in the person's home, where the log is."""
        self.store_option = store_option
        """The value of the option `--store`, if any."""
        self.recall_limits: RecallLimits | None = None
        """The limits from the settings; nothing where the defaults apply."""
        self.embedder = "auto"
        """The setting `recall.embedder`."""
        self.embedder_homes = list(dict.fromkeys((variables.home, variables.account_home)))
        """Folders that may hold the person's embedders."""
        self.ask_at_end = False
        """The setting `learn.ask_at_end`."""
        self.hold_out = 0.0
        """The largest share of sessions that go without a skill, as a control."""
        self.person = variables.account
        """The account of this process."""

    @property
    def has_store(self) -> bool:
        """Whether there is a store."""
        return os.path.isfile(self.location.database)

    @property
    def scope(self) -> str:
        """The scope that is asked for, as text."""
        return "project" if self.location.is_projects_own else f"project:{os.path.basename(self.location.project_path)}"


def find(event: Event, variables: HookEnvironment, *, store: str = "") -> EventContext | None:
    """Return the context of an event; nothing where hooks are off."""
    cwd = event.cwd if os.path.isabs(event.cwd) and os.path.isdir(event.cwd) else os.getcwd()
    # The folder where Claude Code was started: its shell changes folders, and one session belongs to one store.
    started = variables.claude_project if event.client == "claude-code" else ""
    here = started if os.path.isabs(started) and os.path.isdir(started) else cwd
    location = locate(here, home=variables.home, owners=variables.owners, store=store, variable=variables.store)
    if location.database == MEMORY or paused_until(location.folder_path) is not None:
        return None
    context = EventContext(location, cwd=cwd, variables=variables, store_option=store)
    homes = {variables.home, variables.account_home}
    folders = (here, location.project_path, *homes)
    if not variables.config_file and not any(os.path.isfile(os.path.join(each, SETTINGS_FILE)) for each in folders):
        return context  # the defaults apply, and nothing more is loaded
    from fnmatch import fnmatch
    from pathlib import Path

    from tacit.config.environment import UserEnvironment
    from tacit.config.settings import load_config

    around = UserEnvironment.read()
    projects = (Path(here), Path(location.project_path))
    config, _ = load_config(projects, file=around.config_file, home=around.person_home)
    if any(fnmatch(folder, pattern) for pattern in config.store.exclude for folder in (cwd, here)):
        return None
    recall = config.recall
    context.recall_limits = (recall.k, recall.budget_tokens, recall.min_relevance)
    context.embedder, context.hold_out = recall.embedder, config.policy.hold_out
    context.ask_at_end = config.learn.ask_at_end
    return context
