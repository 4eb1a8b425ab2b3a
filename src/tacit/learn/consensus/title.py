"""Several tasks of one kind → name, description and example queries of what they have in common.

The task most like the others gives the words; what it alone says is left out. Values that became parameters stand in
braces, and are never part of a name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from tacit.learn.actions import Action
from tacit.learn.consensus.alignment import Source
from tacit.learn.consensus.slots import Parameters
from tacit.learn.consensus.variation import ENOUGH
from tacit.learn.naming import MAX_DESCRIPTION, Title, imperative, slug, title_of
from tacit.learn.wording import shorten
from tacit.text.similarity import text_similarity
from tacit.text.words import stem, term_set

MAX_EXAMPLES = 8
_MAX_EXAMPLE = 300
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SHARED = 0.4
"""So alike must a sentence be to one of another task to count as said there."""
_MIN_WORDS = 2
_MIN_SAME_LETTERS = 8
_PARAMETER = re.compile(r"\{\w+\}")


def title_of_many(sources: Sequence[Source], parameters: Parameters, actions: Sequence[Action]) -> Title:
    """Name what several tasks have in common; of two tasks the newer one names it."""
    tasks = general_tasks(sources, parameters)
    if len(sources) < ENOUGH:
        return _titled(tasks[-1], actions, parameters=parameters)
    alike = [round(sum(text_similarity(task, other) for other in tasks), 6) for task in tasks]
    centre = max(range(len(tasks)), key=lambda at: (alike[at], -at))
    others = [task for at, task in enumerate(tasks) if at != centre]
    title = _titled(_shared_text(tasks[centre], others), actions, parameters=parameters)
    if not title.from_task:
        return title
    said = [frozenset(map(stem, re.findall(r"[a-z]+", task.lower()))) for task in tasks]
    words = [word for word in title.name.split("-") if sum(stem(word) in text for text in said) * 2 > len(said)]
    if len(words) < _MIN_WORDS:  # "bump" is what is done to a package and its version
        words = [*title.name.split("-"), *_things(title.description)][: _MIN_WORDS + 1]
    return dataclasses.replace(title, name=slug(dict.fromkeys(words)))


def _things(description: str) -> list[str]:
    """What the parameters in a text are."""
    names = (re.sub(r"_\d+$", "", name[1:-1]) for name in _PARAMETER.findall(description))
    return [word for name in names for word in name.split("_") if word not in ("value", "name")]


def examples_of(sources: Sequence[Source], parameters: Parameters) -> list[tuple[str, list[int]]]:
    """Different ways in which it was asked for, the oldest first, each with the attempts that said so."""
    found: dict[frozenset[str], tuple[str, list[int]]] = {}
    for at, task in enumerate(general_tasks(sources, parameters)):
        text = shorten(task, _MAX_EXAMPLE)
        if text:
            found.setdefault(term_set(text), (text, []))[1].append(at)
    return list(found.values())[:MAX_EXAMPLES]


def general_tasks(sources: Sequence[Source], parameters: Parameters) -> list[str]:
    """Each task with the parameters that it states put in."""
    tasks = [source.trajectory.task.text for source in sources]
    found = [parameters.general(at, stated=True).text(task, folded=True) for at, task in enumerate(tasks)]
    ways = sorted({text for text in found if _PARAMETER.search(text)}, key=lambda way: (-way.count("{"), way))
    return [
        # An attempt that went about it by other means shows no values, but may have been asked in the same words.
        next((way for way in ways if _asks(way, task)), text) if text == task else text
        for task, text in zip(tasks, found, strict=True)
    ]


def _asks(way: str, task: str) -> bool:
    """Whether a task is that sentence with other values."""
    if len(way) > _MAX_EXAMPLE:
        return False
    pieces = _PARAMETER.split(way)
    if sum(len(piece.strip()) for piece in pieces) < _MIN_SAME_LETTERS:
        return False
    return re.fullmatch(r"\S+".join(re.escape(piece) for piece in pieces), task, re.IGNORECASE) is not None


def most_said(words: Sequence[str]) -> str:
    """The most frequent word; of several the first."""
    return max(words, key=lambda word: (words.count(word), -words.index(word)), default="")


def _titled(task: str, actions: Sequence[Action], *, parameters: Parameters) -> Title:
    stated = [parameter.name for parameter in parameters.all if f"{{{parameter.name}}}" in task]
    title = title_of(task, actions, parameters=stated)
    return dataclasses.replace(title, description=title.description[:MAX_DESCRIPTION])


def _shared_text(task: str, others: Sequence[str]) -> str:
    """The sentences of a task that most others say too; the order itself always stays."""
    order = imperative(" ".join(task.split()))
    spoken = [[sentence for sentence in _SENTENCE.split(other) if sentence.strip()] for other in others]
    kept: list[str] = []
    for sentence in _SENTENCE.split(task.strip()):
        said = sum(
            max((text_similarity(sentence, other) for other in sentences), default=0.0) >= _SHARED
            for sentences in spoken
        )
        if said * 2 > len(others) or (order and order.rstrip(".!?") in " ".join(sentence.split())):
            kept.append(sentence.strip())
    return " ".join(kept) or task
