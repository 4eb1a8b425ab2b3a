"""The card of a project: the commands that a session is likely to need, in a few lines, and those that some sessions need.

Commands of one purpose share a line. The purpose is named only where the command does not show it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.domain.fact import Fact, Purpose
from tacit.render.hook_text import ON_REQUEST, plain_line
from tacit.text.words import estimate_tokens

MIN_LIKELIHOOD = 0.2
"""Chosen by leaving out each of twelve real projects in turn (docs/lab.md)."""
MAX_COMMANDS = 16
MAX_TOKENS = 110
MIN_SELDOM = 3
"""Sessions that must have used a command which most sessions do not need."""
MAX_SELDOM, MAX_SELDOM_TOKENS = 8, 80
_NAMED = frozenset({Purpose.BEFORE_COMMIT, Purpose.COMMIT, Purpose.BRANCH, Purpose.MISSING})
_SELDOM = frozenset({Purpose.BEFORE_COMMIT, Purpose.TEST, Purpose.CHECK, Purpose.FORMAT, Purpose.BUILD, Purpose.RUN})
_COMMITS = re.compile(rf"^(- {Purpose.COMMIT}: .*)\n- {Purpose.BRANCH}: ", re.MULTILINE)
"""Commits and branches are told on one line."""


def facts_card(facts: Sequence[Fact], *, min_likelihood: float = MIN_LIKELIHOOD) -> str:
    """Return the card; empty where nothing is likely enough to be needed. The last line is shown only on request."""
    spared = min_likelihood / 4  # what is missing takes a word, and spares a failure
    likely = [
        fact for fact in facts if fact.likelihood >= (spared if fact.purpose is Purpose.MISSING else min_likelihood)
    ][:MAX_COMMANDS]
    while likely and estimate_tokens(text := _lines(likely)) > MAX_TOKENS:
        likely.pop()
    if not likely:
        return ""
    seldom = [fact for fact in facts if fact not in likely and fact.purpose in _SELDOM and fact.sessions >= MIN_SELDOM][
        :MAX_SELDOM
    ]
    while seldom and estimate_tokens(_commands(seldom)) > MAX_SELDOM_TOKENS:
        seldom.pop()
    return f"{text}\n{ON_REQUEST}{_commands(seldom)}" if seldom else text


def _lines(facts: Sequence[Fact]) -> str:
    """Return a line for each purpose."""
    lines: list[str] = []
    for purpose in (*Purpose, None):
        if commands := _commands([fact for fact in facts if fact.purpose == purpose]):
            lines.append(f"- {purpose}: {commands}" if purpose in _NAMED else f"- {commands}")
    return _COMMITS.sub(rf"\1; {Purpose.BRANCH} ", "\n".join(lines))


def _commands(facts: Sequence[Fact]) -> str:
    """Return commands, those that run in the same folders together."""
    placed: dict[tuple[str, ...], list[str]] = {}
    for fact in facts:
        placed.setdefault(fact.folders, []).append(f"`{plain_line(fact.command).replace('`', chr(39))}`")
    return "; ".join(", ".join(commands) + _where(folders) for folders, commands in sorted(placed.items()))


def _where(folders: tuple[str, ...]) -> str:
    return f" in {' or '.join(plain_line(folder) or 'the root' for folder in folders)}" if folders else ""
