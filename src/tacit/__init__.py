"""Tacit: a skill-learning layer for AI agents.

>>> import tacit
>>> with tacit.open() as memory:                        # doctest: +SKIP
...     memory.capture(tacit.read("session.jsonl"))
...     report = memory.learn()
...     selection = memory.recall("add a column to the invoices table")
...     if selection.use_id:
...         memory.record(selection.use_id, verifier=tacit.Command("pytest -q"))

Names are loaded when they are first used, so that importing a part does not load the whole.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tacit.api import Tacit, open
    from tacit.config.settings import Config
    from tacit.domain.errors import TacitError
    from tacit.domain.evidence import Grade, Outcome
    from tacit.domain.scope import Scope
    from tacit.domain.selection import Query, Selection
    from tacit.domain.skill import Capabilities, Kind, SkillContent, SkillStep
    from tacit.domain.trajectory import Claim, Environment, Origin, Role, Step, StepResult, Task, Trajectory
    from tacit.evidence.replay import Replay
    from tacit.evidence.verifiers.checks import Command
    from tacit.ingest.sources import read

__version__ = "0.2.0"

_HOME = {
    "Capabilities": "tacit.domain.skill",
    "Claim": "tacit.domain.trajectory",
    "Command": "tacit.evidence.verifiers.checks",
    "Config": "tacit.config.settings",
    "Environment": "tacit.domain.trajectory",
    "Grade": "tacit.domain.evidence",
    "Kind": "tacit.domain.skill",
    "Origin": "tacit.domain.trajectory",
    "Outcome": "tacit.domain.evidence",
    "Query": "tacit.domain.selection",
    "Replay": "tacit.evidence.replay",
    "Role": "tacit.domain.trajectory",
    "Scope": "tacit.domain.scope",
    "Selection": "tacit.domain.selection",
    "SkillContent": "tacit.domain.skill",
    "SkillStep": "tacit.domain.skill",
    "Step": "tacit.domain.trajectory",
    "StepResult": "tacit.domain.trajectory",
    "TacitError": "tacit.domain.errors",
    "Tacit": "tacit.api",
    "Task": "tacit.domain.trajectory",
    "Trajectory": "tacit.domain.trajectory",
    "open": "tacit.api",
    "read": "tacit.ingest.sources",
}

__all__ = [
    "Capabilities",
    "Claim",
    "Command",
    "Config",
    "Environment",
    "Grade",
    "Kind",
    "Origin",
    "Outcome",
    "Query",
    "Replay",
    "Role",
    "Scope",
    "Selection",
    "SkillContent",
    "SkillStep",
    "Step",
    "StepResult",
    "Tacit",
    "TacitError",
    "Task",
    "Trajectory",
    "open",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
