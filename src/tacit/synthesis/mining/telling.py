"""An outline → its task in general words: the values that belong to this one attempt are taken out.

So that neither an example nor a cue carries a customer's name, number or address on to other tasks.
"""

from __future__ import annotations

import re

from tacit.domain.outline import Outline
from tacit.synthesis.actions import leaves

_SHORTEST = 4
_PERSONAL = re.compile(r"\d|@|^[A-Z]")
"""What has a digit, an address sign or a capital names somebody or something in particular."""
_NAMED = re.compile(r"\d|^[A-Z][a-z]+ [A-Z]")


def general_task(outline: Outline) -> str:
    """The task with what its values are called in their place."""
    text = outline.task
    for value, key in _in_order(outline):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"{{{key}}}", text)
    return text


def impersonal_task(outline: Outline) -> str:
    """The task without what names somebody or something in particular."""
    text = outline.task
    for value, _ in _in_order(outline):
        if _PERSONAL.search(value):
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", " ", text)
    return text


def _in_order(outline: Outline) -> list[tuple[str, str]]:
    """The longest first, so that no value is cut by a shorter one."""
    return sorted(_own_values(outline), key=lambda pair: (-len(pair[0]), pair))


def _own_values(outline: Outline) -> set[tuple[str, str]]:
    """Values that belong to one attempt, with what they are called: arguments, and names and numbers that answers hold."""
    said = outline.task
    arguments = (*(move.arguments for move in outline.moves), *(reading.arguments for reading in outline.readings))
    values = {
        (str(value), key)
        for each in arguments
        for key, value in leaves(each)
        if isinstance(value, str | int) and not isinstance(value, bool) and len(str(value)) >= 2 and str(value) in said
    }
    for reading in outline.readings:
        for path, shown in reading.facts.items():
            key = re.sub(r"\W+", "_", path.rpartition(".")[2]).strip("_").lower()
            values |= {(one, key) for one in shown if len(one) >= _SHORTEST and _NAMED.search(one) and one in said}
    return values
