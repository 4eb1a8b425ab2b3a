"""The card of a project: the commands that a session is likely to need, by purpose, in a few lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.domain.fact import Fact, Purpose
from tacit.render.hook_text import plain_line
from tacit.text.words import estimate_tokens

MIN_LIKELIHOOD = 0.2
"""Chosen by leaving out each of twelve real projects in turn (docs/lab.md)."""
MAX_COMMANDS = 16
MAX_TOKENS = 110
_COMMITS = re.compile(rf"^(- {Purpose.COMMIT}: .*)\n- {Purpose.BRANCH}: ", re.MULTILINE)
"""Commits and branches are told on one line."""


def facts_card(facts: Sequence[Fact], *, min_likelihood: float = MIN_LIKELIHOOD) -> str:
    """Return the card; empty where nothing is likely enough to be needed."""
    spared = min_likelihood / 4  # what is missing takes a word, and spares a failure
    likely = [
        fact for fact in facts if fact.likelihood >= (spared if fact.purpose is Purpose.MISSING else min_likelihood)
    ][:MAX_COMMANDS]
    while likely:
        text = "\n".join(filter(None, (_line(purpose, likely) for purpose in (*Purpose, None))))
        text = _COMMITS.sub(rf"\1; {Purpose.BRANCH} ", text)
        if estimate_tokens(text) <= MAX_TOKENS:
            return text
        likely.pop()
    return ""


def _line(purpose: Purpose | None, facts: Sequence[Fact]) -> str:
    """Return the commands of one purpose, those that run in the same folders together."""
    placed: dict[tuple[str, ...], list[str]] = {}
    for fact in facts:
        if fact.purpose == purpose:
            placed.setdefault(fact.folders, []).append(f"`{plain_line(fact.command).replace('`', chr(39))}`")
    parts = [", ".join(commands) + _where(folders) for folders, commands in sorted(placed.items())]
    return f"- {purpose or 'other'}: {'; '.join(parts)}" if parts else ""


def _where(folders: tuple[str, ...]) -> str:
    return f" in {' or '.join(plain_line(folder) or 'the root' for folder in folders)}" if folders else ""
