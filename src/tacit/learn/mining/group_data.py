"""What mining needs to know of one group: its patterns, a bounded sample of attempts, general task texts and general calls.

Each is loaded or computed once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Step, Trajectory
from tacit.learn.mining.call_patterns import CallPattern, CallPatterns, Group, find_patterns
from tacit.learn.mining.general_calls import GeneralCall, Occurrence, generalise_call
from tacit.learn.values import EMAIL, find_step
from tacit.store import Store
from tacit.text.tool_calls import leaves

_SHORTEST = 4
"""Characters of a value in an answer that is taken out of a task. Smaller: everyday words are taken out."""
_NAME_OR_ID = re.compile(r"\d|@|^[A-Z]")
"""A digit, an address sign or a capital: such a value is left out of the words that cues are learned from."""
_NAME_OR_NUMBER = re.compile(r"\d|^[A-Z][a-z]+ [A-Z]")
_IDENTIFIER = re.compile(r"#?(?<![\w{])(?=[\w-]*\d{3})(?=[\w-]*[^\W\d]|[\w-]*\d{4})[\w-]*\w")
"""A number of at least four digits, or of three with letters around it."""
_CAPITAL = re.compile(r"(?<![\w{'’-])[^\W\d_a-z][^\W\d_]+(?![\w}])")
_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"(?:^|[.!?:;\n\"“(]|\s[-–—*•])\s*$")
_CONTEXT = 4
"""Characters before a word that are searched for the start of its sentence."""


def names_in(tasks: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return, per task, the names in it: capitalised words inside a sentence that no other task has."""
    different = dict.fromkeys(tasks)
    spread = Counter(word for task in different for word in {word.casefold() for word in _WORD.findall(task)})
    return {
        task: tuple(match[0] for match in _CAPITAL.finditer(task) if _is_name(match, task, spread))
        for task in different
    }


def general_task(outline: Outline, names: Collection[str] = ()) -> str:
    """Return the task with placeholders for its values and for `names`."""
    called: dict[str, str] = {}
    for value, key in _longest_first(outline):
        called.setdefault(value, f"{{{_placeholder_name(key)}}}")
    replaced = _replace_all(outline.task, called | {name: "{name}" for name in names if name not in called})
    return _IDENTIFIER.sub("{id}", EMAIL.sub("{email}", replaced))


def impersonal_task(outline: Outline, names: Collection[str] = ()) -> str:
    """Return the task without anything that names a particular person or thing."""
    particular = [value for value, _ in _longest_first(outline) if _NAME_OR_ID.search(value)]
    return _replace_all(outline.task, dict.fromkeys([*particular, *names], " "))


def _is_name(match: re.Match[str], task: str, spread: Mapping[str, int]) -> bool:
    """Whether a capitalised word is a name: not at the start of a sentence, or followed by another capitalised word."""
    if not match[0][0].isupper() or spread[match[0].casefold()] > 1:
        return False
    if not _OPENS.search(task[max(0, match.start() - _CONTEXT) : match.start()]):
        return True
    following = _CAPITAL.match(task, match.end() + 1)
    return following is not None and spread[following[0].casefold()] == 1


def _replace_all(text: str, instead: Mapping[str, str]) -> str:
    """Replace all values at once, the longest first, so that no replacement is replaced again."""
    present = sorted((value for value in instead if value in text), key=lambda value: (-len(value), value))
    if not present:
        return text
    either = "|".join(map(re.escape, present))
    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", lambda match: instead[match[0]], text)


def _placeholder_name(key: str) -> str:
    """Return the placeholder for a value; a key may be any text."""
    plain = re.sub(r"\W+", "_", key).strip("_")
    return plain if plain and not re.search(r"\d{3}", plain) else "value"


def _longest_first(outline: Outline) -> list[tuple[str, str]]:
    return sorted(_own_values(outline), key=lambda pair: (-len(pair[0]), pair))


def _own_values(outline: Outline) -> set[tuple[str, str]]:
    """Return values particular to one attempt, each with its key: arguments, and names and numbers in answers."""
    task_text = outline.task
    arguments = (*(move.arguments for move in outline.moves), *(reading.arguments for reading in outline.readings))
    values = {
        (str(value), key)
        for each in arguments
        for key, value in leaves(each)
        if isinstance(value, str | int)
        and not isinstance(value, bool)
        and len(str(value)) >= 2
        and str(value) in task_text
    }
    for reading in outline.readings:
        for path, shown in reading.facts.items():
            key = re.sub(r"\W+", "_", path.rpartition(".")[2]).strip("_").lower()
            values |= {
                (one, key)
                for one in shown
                if len(one) >= _SHORTEST and _NAME_OR_NUMBER.search(one) and one in task_text
            }
    return values


SAMPLE = 24
"""Attempts that are loaded per pattern. Larger: better parameters, slower (`bench/learning.py`)."""


class GroupData:
    """One group with its patterns, attempts and general calls."""

    def __init__(self, group: Group, store: Store) -> None:
        self.group = group
        self._store = store
        self.patterns: CallPatterns = find_patterns(group)
        self.outlines: Mapping[str, Outline] = {outline.trajectory_id: outline for outline in group.outlines}
        self.names = names_in(outline.task for outline in group.outlines)
        self._trajectories: dict[str, Trajectory] = {}
        self._readings: dict[str, GeneralCall] = {}

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Load an attempt; loaded ones are cached."""
        if trajectory_id not in self._trajectories:
            self._trajectories[trajectory_id] = self._store.trajectory(trajectory_id)
        return self._trajectories[trajectory_id]

    def assessment(self, trajectory_id: str) -> Assessment:
        """Return what is known of an attempt's outcome."""
        return self._store.episode(trajectory_id).assessment

    def step(self, trajectory_id: str, index: int) -> Step:
        """Return the step of an attempt that an outline names."""
        step = find_step(self.trajectory(trajectory_id), index)
        if step is None:
            raise LookupError(f"attempt {trajectory_id} has no step {index}")
        return step

    @cached_property
    def toolsets(self) -> frozenset[frozenset[str]]:
        """Return the distinct sets of tools that sampled attempts had available, where recorded."""
        sampled = {identity for pattern in self.patterns.patterns for identity in self.sample(list(pattern.made))}
        found = (frozenset(self.trajectory(identity).environment.tools) for identity in sorted(sampled))
        return frozenset(tools for tools in found if tools)

    def task_of(self, trajectory_id: str) -> str:
        """Return the task of an attempt in general words."""
        outline = self.outlines[trajectory_id]
        return general_task(outline, self.names[outline.task])

    def sample(self, trajectory_ids: Sequence[str], *, most: int = SAMPLE) -> list[str]:
        """Return a few of many attempts, spread over different tasks, the same each time."""
        by_task: dict[str, list[str]] = {}
        for identity in trajectory_ids:
            by_task.setdefault(self.outlines[identity].task, []).append(identity)
        chosen: list[str] = []
        for turn in range(max(map(len, by_task.values()), default=0)):
            for members in by_task.values():
                if turn < len(members) and len(chosen) < most:
                    chosen.append(members[turn])
        return chosen

    def general_calls(self, pattern: CallPattern) -> list[GeneralCall]:
        """Return the calls of a pattern in general form, in order."""
        sample = self.sample(list(pattern.made))
        found = []
        for number in range(len(pattern.tokens)):
            places = [
                (identity, self.outlines[identity].moves[times[number]].index)
                for identity in sample
                for times in pattern.made[identity]
            ]
            found.append(self._general_call(places))
        return found

    def general_reading(self, tool: str) -> GeneralCall:
        """Return the call of a reading tool in general form."""
        if tool not in self._readings:
            asked = {
                outline.trajectory_id: [reading.index for reading in outline.readings if reading.tool == tool]
                for outline in self.group.successes
            }
            sample = self.sample([identity for identity, places in asked.items() if places])
            self._readings[tool] = self._general_call([(identity, at) for identity in sample for at in asked[identity]])
        return self._readings[tool]

    def _general_call(self, places: Sequence[tuple[str, int]]) -> GeneralCall:
        return generalise_call(
            [Occurrence(self.trajectory(identity), self.step(identity, index)) for identity, index in places]
        )
