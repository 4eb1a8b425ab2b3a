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
AUTO = "auto"
"""The embedder without settings."""


class EventContext:
    """The store for an event, and the settings for asking it."""

    __slots__ = (
        "ask_at_end",
        "cwd",
        "embedder",
        "embedder_homes",
        "hold_out",
        "home",
        "location",
        "person",
        "recall_limits",
        "store_option",
    )

    def __init__(
        self, location: StoreLocation, *, cwd: str, home: str, store_option: str, recall_limits: RecallLimits | None
    ) -> None:
        self.location = location
        self.cwd = cwd
        self.home = home
        """Tacit's folder in the person's home, where the log is."""
        self.store_option = store_option
        """The value of the option `--store`, if any."""
        self.recall_limits = recall_limits
        """The limits from the settings; nothing where the defaults apply."""
        self.embedder = AUTO
        """The setting `recall.embedder`."""
        self.embedder_homes = [home]
        """Folders that may hold the person's embedders."""
        self.ask_at_end = False
        """The setting `learn.ask_at_end`."""
        self.hold_out = 0.0
        """The largest share of sessions that go without a skill, as a control."""
        self.person = ""
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
    limits: RecallLimits | None = None
    embedder, hold_out, ask_at_end = AUTO, 0.0, False
    if _has_settings(here, location.project_path, variables):
        limits, embedder, hold_out, ask_at_end, exclude = _settings(here, location.project_path)
        from fnmatch import fnmatch

        if any(fnmatch(folder, pattern) for pattern in exclude for folder in (cwd, here)):
            return None
    context = EventContext(location, cwd=cwd, home=variables.home, store_option=store, recall_limits=limits)
    context.embedder, context.hold_out, context.person = embedder, hold_out, variables.account
    context.ask_at_end = ask_at_end
    context.embedder_homes = list(dict.fromkeys((variables.home, variables.account_home)))
    return context


def _has_settings(here: str, project: str, variables: HookEnvironment) -> bool:
    """Whether there are settings; if not, the defaults apply and nothing more is loaded."""
    homes = {variables.home, variables.account_home}
    return bool(variables.config_file) or any(
        os.path.isfile(os.path.join(folder, SETTINGS_FILE)) for folder in (here, project, *homes)
    )


def _settings(here: str, project: str) -> tuple[RecallLimits, str, float, bool, tuple[str, ...]]:
    from pathlib import Path

    from tacit.config.environment import UserEnvironment
    from tacit.config.settings import load_config

    around = UserEnvironment.read()
    config, _ = load_config((Path(here), Path(project)), file=around.config_file, home=around.person_home)
    asked, limits = config.recall, (config.recall.k, config.recall.budget_tokens, config.recall.min_relevance)
    return limits, asked.embedder, config.policy.hold_out, config.learn.ask_at_end, config.store.exclude
