"""What the situation looks like → how far a skill belongs to it. Pure.

A query's state may tell of `error` and `command` (the output of a failing call, and what was run), `last_action` (a tool
or command), `files` (paths that are being worked on), `environment` (such as `{"os": "linux"}`), `readings` (a tool's
name → its latest answer) and `holds` (a condition's text or check → whether it is known to hold). Other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tacit.domain.skill import Condition, SkillContent
from tacit.text.facts import gathered, holds
from tacit.text.words import terms

MOST_FILES = 50
MOST_CHARACTERS = 100_000
"""Of an error, an answer or a name."""


@dataclass(frozen=True)
class Situation:
    """A query's state, read."""

    error: str = ""
    command: str = ""
    last_action: str = ""
    files: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, bool] = field(default_factory=dict)

    @cached_property
    def features(self) -> dict[str, frozenset[str]]:
        """What can be compared with a skill: a name for each feature → its terms."""
        found = {
            "last action": frozenset(terms(_head(self.last_action))),
            "command": frozenset(terms(_head(self.command))),
            "files": frozenset(term for path in self.files for term in terms(path.rsplit("/", 1)[-1])),
            "environment": frozenset(terms(" ".join(self.environment.values()))),
        }
        return {name: words for name, words in found.items() if words}

    @property
    def words(self) -> list[str]:
        """All its terms, each once."""
        return sorted(frozenset().union(*self.features.values()))


def read_situation(state: Mapping[str, Any]) -> Situation:
    """Read a query's state; what has another form than expected is left away."""
    files = state.get("files") or ()
    if isinstance(files, str):
        files = (files,)
    return Situation(
        error=_text(state.get("error")),
        command=_text(state.get("command")),
        last_action=_text(state.get("last_action")),
        files=tuple(filter(None, map(_text, files[:MOST_FILES]))) if isinstance(files, Sequence) else (),
        environment={key: _text(value) for key, value in _mapping(state.get("environment")).items()},
        readings={key: _text(value) for key, value in _mapping(state.get("readings")).items()},
        known={key: value for key, value in _mapping(state.get("holds")).items() if isinstance(value, bool)},
    )


def fit(situation: Situation, content: SkillContent, words: frozenset[str]) -> tuple[float, list[str]]:
    """The share of the situation's features that a skill speaks of, and which; `words` are all terms of the skill.

    A condition that is known to hold is a feature that fits.
    """
    features = situation.features
    met = [name for name, found in features.items() if found & words]
    held = [condition for condition in content.preconditions if _state_of(condition, situation) is True]
    asked = len(features) + bool(held)
    if not asked:
        return 0.0, []
    return (len(met) + bool(held)) / asked, [*met, *(["what must hold"] if held else [])]


def broken(situation: Situation, content: SkillContent) -> str:
    """What is known not to hold and must: a precondition, or some condition of every case; empty if nothing is."""
    false = next((c.text or c.check for c in content.preconditions if _state_of(c, situation) is False), "")
    if false or not content.cases:
        return false
    open_cases = [case for case in content.cases if all(_state_of(c, situation) is not False for c in case.conditions)]
    return "" if open_cases else "any of its cases"


def _state_of(condition: Condition, situation: Situation) -> bool | None:
    for said in (condition.check, condition.text):
        if said and said in situation.known:
            return situation.known[said]
    if not condition.reading or not situation.readings or condition.when:
        return None
    answers = ((tool, "", answer) for tool, answer in situation.readings.items())
    return holds(condition, gathered(answers))


def _head(command: str) -> str:
    """A tool, or the program of a command with its subcommand."""
    return " ".join(command.split()[:2])


def _text(value: Any) -> str:
    return value[:MOST_CHARACTERS] if isinstance(value, str) else str(value) if isinstance(value, bool | float) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else {}
