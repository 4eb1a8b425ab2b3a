"""What is relevant, in order → what is given: at most so many, within a hard budget of tokens, each kind within its share.

Nothing is given that says what was said already. Pure; the texts come from a renderer that is handed in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache

from tacit.domain.selection import Budget, Item, LeftOut
from tacit.domain.skill import Kind, SkillContent
from tacit.recall.purse import LAST, Purse
from tacit.text.similarity import jaccard
from tacit.text.words import estimate_tokens, term_set

Render = Callable[[Item, int], str]
"""Writes an item as the agent sees it in at most so many tokens; empty if that is too little."""

NO_ROOM = "does not fit into the"
"""Begins the reason where the room was spent."""
SAME = 0.9
"""Two skills that share this part of their words say the same."""


def within(items: Sequence[Item], k: int, purse: Purse, render: Render) -> tuple[list[Item], list[LeftOut]]:
    """The first `k` that fit and say something new, and why the others are left out."""
    chosen: list[Item] = []
    over: list[LeftOut] = []
    for item in sorted(items, key=lambda item: item.version.content.kind in LAST):
        kind = item.version.content.kind
        if len(chosen) >= k:
            over.append(left_out(item, f"only {k} were asked for"))
            continue
        twin = next((other.name for other in chosen if says_the_same(item.version.content, other.version.content)), "")
        if twin:
            over.append(left_out(item, f"says the same as `{twin}`"))
            continue
        room = purse.room(kind)
        text = render(item, room)
        tokens = estimate_tokens(text)
        if not text or tokens > room:
            purse.refuse(kind, item.version_id)
            over.append(left_out(item, f"{NO_ROOM} {max(0, room)} tokens left"))
            continue
        purse.spend(kind, tokens)
        chosen.append(dataclasses.replace(item, text=text, tokens=tokens))
    return chosen, over


def budgets(purse: Purse) -> tuple[Budget, ...]:
    """What each kind could take, and took."""
    return tuple(Budget(kind, *purse.account(kind)) for kind in Kind)


def says_the_same(one: SkillContent, other: SkillContent) -> bool:
    """Whether two skills of one kind read alike: same calls, same error, and the same words of description and body."""
    if (one.kind, one.sub_skills, one.signature) != (other.kind, other.sub_skills, other.signature):
        return False
    if [(step.tool, step.arguments) for step in one.steps] != [(step.tool, step.arguments) for step in other.steps]:
        return False
    titles = [_terms(f"{each.name} {each.description}") for each in (one, other)]
    return jaccard(*titles) >= SAME and jaccard(_words(one), _words(other)) >= SAME


def left_out(item: Item, reason: str) -> LeftOut:
    """Why an item is not given."""
    return LeftOut(version_id=item.version_id, name=item.name, reason=reason, score=item.score, signals=item.signals)


def _words(content: SkillContent) -> frozenset[str]:
    return _terms("\n".join([content.name, content.description, content.body, *(step.text for step in content.steps)]))


@lru_cache(maxsize=256)
def _terms(text: str) -> frozenset[str]:
    """Kept for a while: every item is compared with all that are given before it."""
    return term_set(text)
