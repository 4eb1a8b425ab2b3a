"""Values in texts: which pieces name something, where an attempt first showed them, and the spans behind a field."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, count
from typing import Any

from tacit.domain.trajectory import Origin, Role, Span, Step, Trajectory, lowest
from tacit.text.tool_calls import ToolCall, ToolKind, leaves

_QUOTED = re.compile(
    r"`([^`\n]{1,80})`|(?<![\w'])'([^'\n]{1,80})'(?!\w)|(?<![\w\"])\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|«([^»\n]{1,80})»|‘([^’\n]{1,80})’"
)
URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s'\"`<>)\]},;]+")
EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+\b")
HOST = re.compile(
    r"\b(?:[a-z0-9][a-z0-9-]{0,62}\.){1,10}(?:com|org|net|io|dev|ai|app|co|de|uk|eu|cloud|sh|xyz|info|local|internal)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)
PATH = re.compile(
    r"(?<![\w/.:])(?:~|\.{1,2}|[\w.@+-]{1,120}+)?(?:/[\w.@+{}-]++)+/?|(?<![\w/.-])[\w-]++(?:\.[\w-]++)*\.[a-z]{1,4}(?![\w./])"
)
VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_IDENTIFIER = re.compile(
    r"#?\b(?=[\w-]{0,80}?\d)[A-Za-z0-9][\w-]{2,}\b|\b[A-Za-z][a-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[a-z][a-z0-9]*+(?:[A-Z][a-z0-9]++)+\b|"
    r"\b(?:[A-Z][a-z0-9]++){2,}\b|\b\d[\d.,:-]*\d\b"
)
PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""A parameter in a text; the group is its name."""
_MAX_SCANNED = 8_000  # names come near the start; the rest is pasted text
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|etc|vs|a\.m|p\.m)\.?$", re.IGNORECASE)


def quoted(text: str) -> tuple[str, ...]:
    """Return what is in quotes or back-ticks, in order."""
    return tuple(next(group for group in match.groups() if group) for match in _QUOTED.finditer(text))


def named(text: str) -> tuple[str, ...]:
    """Return everything in a user's text that names one particular thing, in order, once each."""
    text = text[:_MAX_SCANNED]
    found: dict[str, None] = dict.fromkeys(piece.strip() for piece in quoted(text) if piece.strip())
    found.update(dict.fromkeys(particular(text)))
    return tuple(found)


def particular(text: str) -> tuple[str, ...]:
    """Return addresses, paths and identifiers, quoted or not, in order, once each."""
    found: dict[str, None] = {}
    for pattern in (URL, EMAIL, PATH, _IDENTIFIER):
        for match in pattern.finditer(text):
            piece = match.group().rstrip(".,:;")
            if len(piece) >= 2 and not _ABBREVIATION.fullmatch(piece):
                found.setdefault(piece)
    return tuple(found)


def is_run_specific(value: str) -> bool:
    """Whether a value would differ in another run: an id, a hash, a number, a date."""
    digits = sum(character.isdigit() for character in value)
    return digits >= 2 and not re.fullmatch(r"[a-z]+\d{1,3}", value) and not PATH.fullmatch(value)


def first_free(name: str, taken: Container[str]) -> str:
    """Return the name, with the first free number from 2 where it is taken."""
    return next(one for one in chain([name], (f"{name}_{number}" for number in count(2))) if one not in taken)


def type_of(value: str) -> str:
    """Return the type of a value by its shape: integer, number, boolean, url, path, id or string."""
    if value.casefold() in ("true", "false"):
        return "boolean"
    if re.fullmatch(r"[+-]?\d+", value):
        return "integer" if len(value) < 6 and not (len(value) > 1 and value.startswith("0")) else "id"
    if re.fullmatch(r"[+-]?\d+\.\d+", value):
        return "number"
    if URL.fullmatch(value):
        return "url"
    if EMAIL.fullmatch(value):
        return "string"
    if PATH.fullmatch(value):
        return "path"
    if re.fullmatch(r"#?(?=\S*\d)[\w-]*\d[\w-]*", value) and not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return "id"
    return "string"


def literals(text: str) -> Iterator[str]:
    """Yield the pieces that matter when copied from outside: every name, longer line or unusual word."""
    for pattern in (URL, EMAIL, HOST, VARIABLE):
        yield from (match.group() for match in pattern.finditer(text))
    for line in text.splitlines():
        stripped = line.strip()
        if len(stripped) >= 8 and not stripped.isalpha():
            yield stripped
        for word in re.split(r"[\s'\"`(){}\[\],;=]+", stripped):
            if len(word) >= 8 and not word.strip("-.:").isalpha():
                yield word


_GAP = "\n\x00\n"  # separates texts, so that no match crosses them
_NUMBERED = re.compile(r"^ {0,8}\d{1,6}(?:\t|→|: |\| )", re.MULTILINE)
_RUN = re.compile(r"[^\W_]+")
_BEFORE_ALL = -1  # the position of the task where no step states it
_PARTS = ("text", "arguments", "observation")


@dataclass(frozen=True, slots=True)
class ValueSighting:
    """Where a text was first seen."""

    origin: Origin
    step: int
    part: str

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: time."""
        return self.step, _PARTS.index(self.part)


@dataclass(slots=True)
class _Track:
    """All texts of one origin, joined, with the position of each."""

    pieces: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    places: list[ValueSighting] = field(default_factory=list)
    length: int = 0
    words: dict[str, list[int]] | None = None
    """Every run of letters and digits → its positions; built on first use."""

    def add(self, text: str, place: ValueSighting) -> None:
        if text:
            self.starts.append(self.length)
            self.places.append(place)
            self.pieces.append(text)
            self.length += len(text) + len(_GAP)

    def find(self, value: str, text: str, *, folded: bool, whole: bool) -> int:
        """Return the offset of the first occurrence, or -1; only positions of the value's rarest word are checked."""
        if self.words is None:
            self.words = {}
            for match in _RUN.finditer(text):
                self.words.setdefault(match.group().lower() if folded else match.group(), []).append(match.start())
        rarest: tuple[list[int], int] | None = None
        for run in _RUN.finditer(value):
            if not whole and (run.start() == 0 or run.end() == len(value)):
                continue  # the word may continue beyond the value
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
            if start >= 0 and _matches_at(value, text, start=start, folded=folded and whole, whole=whole):
                return start
        return -1

    def place_at(self, offset: int) -> ValueSighting:
        return self.places[bisect_right(self.starts, offset) - 1]


class Timeline:
    """The texts of a trajectory by origin and time."""

    def __init__(self, trajectory: Trajectory, *, ignore: Iterable[int] = ()) -> None:
        """Read a trajectory; `ignore` names user steps that do not state the task."""
        self.trajectory_id = trajectory.id
        self._tracks = {origin: _Track() for origin in Origin}
        skipped = frozenset(ignore)
        asked = [step.text.strip() for step in trajectory.steps if step.role is Role.USER]
        self.task_step = next((step.index for step in trajectory.steps if step.role is Role.USER), _BEFORE_ALL)
        if trajectory.task.text and trajectory.task.text.strip() not in asked:
            # A subagent's task was written by its parent agent. What a program asked counts as stated too: its values
            # are parameters, whoever vouches for them.
            asker = Origin.AGENT if trajectory.parent_session_id else Origin.USER
            self._tracks[asker].add(trajectory.task.text, ValueSighting(asker, self.task_step, "text"))
        for step in trajectory.steps:
            self._add(step, stated=step.index not in skipped)
        self._joined = {origin: _GAP.join(track.pieces) for origin, track in self._tracks.items()}
        self._observations = {step.index: step.observation for step in trajectory.steps if step.is_action}
        self.user_text = self._joined[Origin.USER]
        self.named = named(self.user_text)
        """Names in the user's words."""

    def _add(self, step: Step, *, stated: bool) -> None:
        text_origin = step.origin_of("text")
        if stated or text_origin is not Origin.USER:
            self._tracks[text_origin].add(step.text, ValueSighting(text_origin, step.index, "text"))
        if step.is_action:
            typed = "\n".join([step.tool, *(str(value) for _, value in leaves(step.arguments))])
            self._tracks[Origin.AGENT].add(typed, ValueSighting(Origin.AGENT, step.index, "arguments"))
        if step.observation:
            plain = _NUMBERED.sub("", step.observation)
            place = ValueSighting(Origin.EXTERNAL, step.index, "observation")
            self._tracks[Origin.EXTERNAL].add(step.observation, place)
            if plain != step.observation:
                self._tracks[Origin.EXTERNAL].add(plain, place)

    def first_seen(self, value: str, *, before: int | None = None, whole: bool = True) -> ValueSighting | None:
        """Return the earliest text that contains a value, before a step's own call."""
        found = [
            place
            for origin in Origin
            if (place := self._first_sighting(value, origin, whole=whole)) is not None
            and (before is None or place.step < before or (place.step == before and place.part == "text"))
        ]
        return min(found, key=lambda place: (place.order, -place.origin.rank), default=None)

    def stated(self, value: str, *, before: int | None = None) -> ValueSighting | None:
        """Return the user's text that names a value, whatever its case, quotes and separators; none if an answer came first."""
        places = [place] if (place := self.first_seen(value, before=before)) is not None else []
        spelled = any_spelling(value)
        if spelled and (found := spelled.search(self.user_text)):
            places.append(self._tracks[Origin.USER].place_at(found.start()))
        first = min(places, key=lambda place: (place.order, -place.origin.rank), default=None)
        return first if first is not None and first.origin is Origin.USER else None

    def copied(self, value: str, *, before: int) -> ValueSighting | None:
        """Return the observation that a literal was copied from, unless someone wrote it before."""
        if self._first_sighting(value, Origin.EXTERNAL, whole=False) is None:
            return None
        place = self.first_seen(value, before=before, whole=False)
        return place if place is not None and place.origin is Origin.EXTERNAL else None

    def observation(self, step: int) -> str:
        """Return the observation of a step."""
        return self._observations.get(step, "")

    def span(self, place: ValueSighting) -> Span:
        """Return the position as a span."""
        return Span(self.trajectory_id, place.step, place.part)

    def task_span(self) -> Span:
        """Return the span of the task."""
        return Span(self.trajectory_id, self.task_step, "text")

    def _first_sighting(self, value: str, origin: Origin, *, whole: bool) -> ValueSighting | None:
        text = self._joined[origin]
        if not value or not text:
            return None
        track = self._tracks[origin]
        offset = track.find(value, text, folded=origin is Origin.USER, whole=whole)
        return track.place_at(offset) if offset >= 0 else None


def _matches_at(value: str, text: str, *, start: int, folded: bool, whole: bool) -> bool:
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
    """Return a pattern for the value without adjacent letters or digits; `_` is a border."""
    left = r"(?<![^\W_])" if value[:1].isalnum() else ""
    right = r"(?![^\W_])" if value[-1:].isalnum() else ""
    return re.compile(f"{left}{re.escape(value)}{right}", re.IGNORECASE if folded else 0)


@lru_cache(maxsize=4096)
def any_spelling(value: str) -> re.Pattern[str] | None:
    """Return a pattern for a name of several words in any case and with any separator; none for other values."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", value)
    if len(words) < 2 or not re.fullmatch(r"[A-Za-z][\w -]*", value):
        return None
    joined = r"[\s_-]?".join(words)
    return re.compile(rf"(?<![^\W_]){joined}(?![^\W_])", re.IGNORECASE)


_INSTALLERS = frozenset({"install", "add", "i", "get", "require", "ci"})


def find_step(trajectory: Trajectory, index: int) -> Step | None:
    """Return the step with this index; steps are not always numbered from zero."""
    step = trajectory.steps[index] if 0 <= index < len(trajectory.steps) else None
    if step is None or step.index != index:
        step = next((each for each in trajectory.steps if each.index == index), None)
    return step


class FieldOrigins:
    """Field path → spans of one or more trajectories, and the resulting origins."""

    def __init__(self, *trajectories: Trajectory, load: Callable[[str], Trajectory] | None = None) -> None:
        """Start empty; spans of other trajectories are ignored, unless `load` finds those by id."""
        self._trajectories = {trajectory.id: trajectory for trajectory in trajectories}
        self._load = load
        self._spans: dict[str, tuple[Span, ...]] = {}

    def add_spans(self, path: str, spans: Iterable[Span]) -> None:
        """Add the spans that a field is based on."""
        known = (span for span in spans if self._load or span.trajectory_id in self._trajectories)
        self._spans[path] = tuple(dict.fromkeys((*self._spans.get(path, ()), *known)))

    @property
    def spans(self) -> dict[str, tuple[Span, ...]]:
        """Every field with its spans."""
        return dict(self._spans)

    @property
    def origins(self) -> dict[str, Origin]:
        """Every field with the lowest origin of its spans."""
        return {path: lowest(map(self.origin_of, spans)) for path, spans in self._spans.items()}

    def origin_of(self, span: Span) -> Origin:
        """Return the origin of a part of a trajectory; a task without a step has the origin of its author."""
        known = self._trajectories.get(span.trajectory_id)
        trajectory = self._load(span.trajectory_id) if known is None and self._load else known
        if trajectory is None:
            return Origin.EXTERNAL
        author = trajectory.task_origin  # in a subagent's attempt the user messages are another agent's
        step = find_step(trajectory, span.step)
        if step is None:
            return author if span.part == "text" else Origin.EXTERNAL
        return lowest((step.origin_of(span.part), author)) if step.role is Role.USER else step.origin_of(span.part)


def action_spans(action: ToolCall, timeline: Timeline, *, arguments: Any, workspace: str = "") -> tuple[Span, ...]:
    """Return the span of the call, and of every observation that a literal in `arguments` was copied from."""
    own = Span(timeline.trajectory_id, action.index, "arguments")
    copied: dict[Span, None] = {}
    for literal in dict.fromkeys(_risky_literals(action, arguments, workspace=workspace)):
        place = timeline.copied(literal, before=action.index)
        if place is not None:
            copied.setdefault(timeline.span(place))
    return (own, *copied)


def _risky_literals(action: ToolCall, arguments: Any, *, workspace: str) -> Iterator[str]:
    """Yield what would be dangerous if external text supplied it."""
    for command in action.commands:
        if len(command.text) >= 8 and " " in command.text:
            yield command.text
        if command.subcommand.rsplit(" ", 1)[-1] in _INSTALLERS:
            yield from command.operands
    # Values of a plain tool from earlier answers are parameters by now; the rest stays in the skill. In a command or
    # file text the typed piece counts, even if a part of it became a parameter.
    source = arguments if action.kind is ToolKind.FUNCTION else action.step.arguments
    for _, value in leaves(source):
        if isinstance(value, str):
            text = PLACEHOLDER.sub("\n", value) if action.kind is ToolKind.FUNCTION else value
            yield from (piece for piece in literals(text) if not is_inside(piece, workspace))


def is_inside(piece: str, workspace: str) -> bool:
    """Whether a piece is only a path inside the workspace; a possible host with a page is not."""
    if re.search(r"[\s@~$]|://|\.\.|^[\w-]+\.[\w.-]+/", piece) or HOST.match(piece):
        return False
    if piece.startswith("/"):
        return bool(workspace) and (piece == workspace or piece.startswith(workspace.rstrip("/") + "/"))
    return "/" in piece or bool(PATH.fullmatch(piece))
