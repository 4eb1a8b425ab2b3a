"""An outline → its task in general words: the values that belong to this one attempt are taken out.

So that neither an example nor a cue carries a customer's name, number or address on to other tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from tacit.domain.outline import Outline
from tacit.learn.actions import leaves
from tacit.learn.tokens import EMAIL

_SHORTEST = 4
_PERSONAL = re.compile(r"\d|@|^[A-Z]")
"""What has a digit, an address sign or a capital names somebody or something in particular."""
_NAMED = re.compile(r"\d|^[A-Z][a-z]+ [A-Z]")
_IDENTIFIER = re.compile(r"#?(?<![\w{])(?=[\w-]*\d{3})(?=[\w-]*[^\W\d]|[\w-]*\d{4})[\w-]*\w")
"""A number of at least four digits, or of three with letters around it."""
_CAPITAL = re.compile(r"(?<![\w{'’-])[^\W\d_a-z][^\W\d_]+(?![\w}])")
_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"(?:^|[.!?:;\n\"“(]|\s[-–—*•])\s*$")
_BEFORE = 4


def names_in(tasks: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Task → what it seems to call by name: words with a capital inside a sentence that no other task has."""
    different = dict.fromkeys(tasks)
    spread = Counter(word for task in different for word in {word.casefold() for word in _WORD.findall(task)})
    return {
        task: tuple(match[0] for match in _CAPITAL.finditer(task) if _is_name(match, task, spread))
        for task in different
    }


def general_task(outline: Outline, names: Collection[str] = ()) -> str:
    """The task with what its values are called in their place; `names` are left out too, called so."""
    called: dict[str, str] = {}
    for value, key in _in_order(outline):
        called.setdefault(value, f"{{{_plain_key(key)}}}")
    told = _replaced(outline.task, called | {name: "{name}" for name in names if name not in called})
    return _IDENTIFIER.sub("{id}", EMAIL.sub("{email}", told))


def impersonal_task(outline: Outline, names: Collection[str] = ()) -> str:
    """The task without what names somebody or something in particular."""
    particular = [value for value, _ in _in_order(outline) if _PERSONAL.search(value)]
    return _replaced(outline.task, dict.fromkeys([*particular, *names], " "))


def _is_name(match: re.Match[str], task: str, spread: Mapping[str, int]) -> bool:
    """Whether a word with a capital names something: a sentence does not open with it, or another such word follows."""
    if not match[0][0].isupper() or spread[match[0].casefold()] > 1:
        return False
    if not _OPENS.search(task[max(0, match.start() - _BEFORE) : match.start()]):
        return True
    following = _CAPITAL.match(task, match.end() + 1)
    return following is not None and spread[following[0].casefold()] == 1


def _replaced(text: str, instead: Mapping[str, str]) -> str:
    """All at once, so that nothing is put into what was put in; the longest first, so that no value cuts another."""
    present = sorted((value for value in instead if value in text), key=lambda value: (-len(value), value))
    if not present:
        return text
    either = "|".join(map(re.escape, present))
    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", lambda match: instead[match[0]], text)


def _plain_key(key: str) -> str:
    """What a value is called, as a placeholder; a key may be any text, even a value itself."""
    plain = re.sub(r"\W+", "_", key).strip("_")
    return plain if plain and not re.search(r"\d{3}", plain) else "value"


def _in_order(outline: Outline) -> list[tuple[str, str]]:
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
