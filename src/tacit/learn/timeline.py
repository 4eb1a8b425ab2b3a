"""A trajectory → who said a piece of text first: the person, the agent, or the world outside.

Answers questions about first occurrence for parameters, pruning and origins. It holds the texts in order and compares;
what follows from the answer is for the caller.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from tacit.domain.origin import Origin
from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.learn.actions import leaves
from tacit.learn.tokens import named

_GAP = "\n\x00\n"  # keeps a match from running over the border of two texts
_NUMBERED = re.compile(r"^ {0,8}\d{1,6}(?:\t|→|: |\| )", re.MULTILINE)
_RUN = re.compile(r"[^\W_]+")
_BEFORE_ALL = -1  # the task's own place where no step states it
_PARTS = ("text", "arguments", "observation")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a text was first seen."""

    origin: Origin
    step: int
    part: str

    @property
    def order(self) -> tuple[int, int]:
        """Sorts by time."""
        return self.step, _PARTS.index(self.part)


@dataclass(slots=True)
class _Track:
    """All texts of one origin, joined, with the place of each."""

    pieces: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    places: list[Sighting] = field(default_factory=list)
    length: int = 0
    words: dict[str, list[int]] | None = None
    """Every run of letters and digits → where it stands; made when first asked for."""

    def add(self, text: str, place: Sighting) -> None:
        if text:
            self.starts.append(self.length)
            self.places.append(place)
            self.pieces.append(text)
            self.length += len(text) + len(_GAP)

    def find(self, value: str, text: str, *, folded: bool, whole: bool) -> int:
        """Offset of the first occurrence, or -1: only places that hold the value's rarest word are looked at."""
        if self.words is None:
            self.words = {}
            for match in _RUN.finditer(text):
                self.words.setdefault(match.group().lower() if folded else match.group(), []).append(match.start())
        rarest: tuple[list[int], int] | None = None
        for run in _RUN.finditer(value):
            if not whole and (run.start() == 0 or run.end() == len(value)):
                continue  # the text's word may go on beyond the value
            places = self.words.get(run.group().lower() if folded else run.group())
            if places is None:
                return -1
            if rarest is None or len(places) < len(rarest[0]):
                rarest = places, run.start()
        if rarest is None:
            found = whole_word(value, folded=folded).search(text) if whole else None
            return (found.start() if found else -1) if whole else text.find(value)
        for place in rarest[0]:
            start = place - rarest[1]
            if start >= 0 and _stands_at(value, text, start=start, folded=folded and whole, whole=whole):
                return start
        return -1

    def place_at(self, offset: int) -> Sighting:
        return self.places[bisect_right(self.starts, offset) - 1]


class Timeline:
    """The texts of a trajectory by origin and time."""

    def __init__(self, trajectory: Trajectory, *, ignore: Iterable[int] = ()) -> None:
        """Lay out a trajectory; `ignore` names user steps that do not state the task."""
        self.trajectory_id = trajectory.id
        self._tracks = {origin: _Track() for origin in Origin}
        skipped = frozenset(ignore)
        asked = [step.text for step in trajectory.steps if step.role is Role.USER]
        self.task_step = next((step.index for step in trajectory.steps if step.role is Role.USER), _BEFORE_ALL)
        if trajectory.task.text and trajectory.task.text not in asked:
            # A subagent's task was written by the agent that started it, not by a person.
            asker = Origin.AGENT if trajectory.parent_session_id else Origin.USER
            self._tracks[asker].add(trajectory.task.text, Sighting(asker, self.task_step, "text"))
        for step in trajectory.steps:
            self._add(step, stated=step.index not in skipped)
        self._joined = {origin: _GAP.join(track.pieces) for origin, track in self._tracks.items()}
        self._observations = {step.index: step.observation for step in trajectory.steps if step.is_action}
        self.user_text = self._joined[Origin.USER]
        self.named = named(self.user_text)
        """What the person's words name."""

    def _add(self, step: Step, *, stated: bool) -> None:
        text_origin = step.origin_of("text")
        if stated or text_origin is not Origin.USER:
            self._tracks[text_origin].add(step.text, Sighting(text_origin, step.index, "text"))
        if step.is_action:
            typed = "\n".join([step.tool, *(str(value) for _, value in leaves(step.arguments))])
            self._tracks[Origin.AGENT].add(typed, Sighting(Origin.AGENT, step.index, "arguments"))
            plain = _NUMBERED.sub("", step.observation)
            place = Sighting(Origin.EXTERNAL, step.index, "observation")
            self._tracks[Origin.EXTERNAL].add(step.observation, place)
            if plain != step.observation:
                self._tracks[Origin.EXTERNAL].add(plain, place)

    def first_seen(self, value: str, *, before: int | None = None, whole: bool = True) -> Sighting | None:
        """The earliest text that holds this value, looking only at what came before a step's own call."""
        found = [
            place
            for origin in Origin
            if (place := self._first(value, origin, whole=whole)) is not None
            and (before is None or place.step < before or (place.step == before and place.part == "text"))
        ]
        return min(found, key=lambda place: (place.order, -place.origin.rank), default=None)

    def copied(self, value: str, *, before: int) -> Sighting | None:
        """The observation that a literal was copied from, if nobody wrote it before that."""
        if self._first(value, Origin.EXTERNAL, whole=False) is None:
            return None
        place = self.first_seen(value, before=before, whole=False)
        return place if place is not None and place.origin is Origin.EXTERNAL else None

    def observation(self, step: int) -> str:
        """What came back from a step."""
        return self._observations.get(step, "")

    def span(self, place: Sighting) -> Span:
        """The place as a span of the trajectory."""
        return Span(self.trajectory_id, place.step, place.part)

    def task_span(self) -> Span:
        """Where the task is stated."""
        return Span(self.trajectory_id, self.task_step, "text")

    def _first(self, value: str, origin: Origin, *, whole: bool) -> Sighting | None:
        text = self._joined[origin]
        if not value or not text:
            return None
        track = self._tracks[origin]
        offset = track.find(value, text, folded=origin is Origin.USER, whole=whole)
        return track.place_at(offset) if offset >= 0 else None


def _stands_at(value: str, text: str, *, start: int, folded: bool, whole: bool) -> bool:
    if folded:
        return whole_word(value, folded=True).match(text, start) is not None
    if not text.startswith(value, start):
        return False
    end = start + len(value)
    touched = (start and value[0].isalnum() and text[start - 1].isalnum()) or (
        value[-1].isalnum() and text[end : end + 1].isalnum()
    )
    return not (whole and touched)


@lru_cache(maxsize=4096)
def whole_word(value: str, *, folded: bool = False) -> re.Pattern[str]:
    """A pattern for the value where no letter or digit touches it; `_` counts as a border."""
    left = r"(?<![^\W_])" if value[:1].isalnum() else ""
    right = r"(?![^\W_])" if value[-1:].isalnum() else ""
    return re.compile(f"{left}{re.escape(value)}{right}", re.IGNORECASE if folded else 0)
