"""Aligns the steps of several attempts in columns: steps of different attempts that are the same step.

Steps are compared by what they do (read, write, run, call) and by their words with parameters in place, not by the exact
tool. Which columns matter is decided in `agreement`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.skill import SkillStep
from tacit.domain.trajectory import Origin, Trajectory
from tacit.learn.parameters import WORKSPACE, Binding, Generalisation, generalise
from tacit.learn.values import PLACEHOLDER, Timeline, ValueSighting
from tacit.text.canonical import canonical_path
from tacit.text.file_edits import edits_of
from tacit.text.shell import Command
from tacit.text.similarity import align_sequences, mean_similarity, order_similarity
from tacit.text.tool_calls import (
    DESCRIBING,
    PATHS,
    Effect,
    ToolCall,
    ToolKind,
    leaves,
    plain_name,
    tool_call,
)

LEAST_SIMILARITY = 0.45
"""Less similar steps are never the same step. Larger: more columns, so fewer steps that all attempts share."""
SAME_STEP_SIMILARITY = 0.75
"""Steps at least this similar are the same even in another order. Smaller: unlike steps are moved together."""
_NAME = re.compile(r"[A-Za-z0-9]{2,}")
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]{2,}")
_WORD = re.compile(r"\{\w+\}|[A-Za-z0-9]+")
_MAX_WORDS = 400
"""Words of one text that are compared; it bounds the time."""
_FILE_PRINTERS = frozenset({"cat", "head", "tail", "sed", "bat", "nl", "less", "more"})
_SEARCH_PROGRAMS = frozenset(
    {"grep", "rg", "egrep", "ag", "find", "fd", "ls", "tree", "glob", "list_dir", "file_search"}
)


_PathWords = tuple[tuple[str, ...], tuple[str, ...], str]
"""Folders, the words of the file name, and its extension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStep:
    """One step of one attempt: the call, and its arguments with parameters in place."""

    source: int
    """The number of the attempt."""
    number: int
    """The number of the step in its draft."""
    action: ToolCall
    arguments: Mapping[str, Any]
    kind: str = ""
    """read, write, search, run, or the tool that it calls."""
    path: str = ""
    """The file it is about, with parameters in place."""
    labels: tuple[tuple[str, str], ...] = ()
    words: Counter[str] = field(default_factory=Counter)
    path_words: _PathWords = ((), (), "")
    old: Counter[str] = field(default_factory=Counter)
    """For an edit: the words it removes."""

    @property
    def key(self) -> tuple[int, int]:
        """Attempt and step: identifies it among the steps of all attempts."""
        return self.source, self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSource:
    """One attempt with its draft."""

    candidate: Candidate
    trajectory: Trajectory
    timeline: Timeline
    general: Generalisation
    """The draft's parameters and their values."""
    steps: tuple[AttemptStep, ...]
    own: frozenset[str] = frozenset()
    """Words that only this attempt's task contains."""

    @property
    def folder(self) -> Generalisation:
        """How to put the project's folder as a parameter into a text."""
        root = self.trajectory.environment.workspace
        place = ValueSighting(Origin.AGENT, 0, "arguments")
        bindings = (Binding(parameter=WORKSPACE, original=root, place=place),) if len(root) > 1 else ()
        return Generalisation(bindings, root)

    @property
    def typed(self) -> list[str]:
        """All texts of its calls."""
        return [str(leaf) for step in self.steps for _, leaf in leaves(step.action.step.arguments)]


def own_words(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return, per task, the words that no other task contains."""
    words = [{part.lower() for word in _NAME.findall(text) for part in (word, *_CAMEL.findall(word))} for text in texts]
    return [
        frozenset(mine - set().union(*(other for at, other in enumerate(words) if at != number)))
        for number, mine in enumerate(words)
    ]


def load_source(
    candidate: Candidate, trajectory: Trajectory, *, number: int, own: frozenset[str] = frozenset()
) -> DraftSource:
    """Return a draft with its attempt; a step without a call is left out."""
    calls = {step.index: step for step in trajectory.steps if step.is_action}
    taken: list[tuple[int, SkillStep, ToolCall]] = []
    for at, step in enumerate(candidate.content.steps):
        spans = candidate.provenance.grounding.get(f"steps.{at}", ())
        made = (span.step for span in spans if span.trajectory_id == trajectory.id and span.part == "arguments")
        index = next((found for found in made if found in calls), None)
        if index is not None:
            taken.append((at, step, tool_call(calls[index], trajectory.environment.workspace)))
    timeline = Timeline(trajectory)
    workspace = trajectory.environment.workspace
    general = generalise([action for _, _, action in taken], timeline, workspace=workspace)
    steps = tuple(attempt_step(action, step.arguments, source=number, number=at, own=own) for at, step, action in taken)
    return DraftSource(
        candidate=candidate, trajectory=trajectory, timeline=timeline, general=general, steps=steps, own=own
    )


def attempt_step(
    action: ToolCall, arguments: Mapping[str, Any], *, source: int, number: int, own: frozenset[str] = frozenset()
) -> AttemptStep:
    """Return a call with general arguments in comparable form; `own` words count as parameters."""
    texts = [str(value) for key, value in leaves(arguments) if key not in DESCRIBING and key not in PATHS]
    kind, path = _kind_and_path(action, arguments)
    edits = edits_of(arguments) if action.kind is ToolKind.FILE and action.effect is Effect.WRITE else ()
    labels = tuple(
        (command.program, "" if _is_value(command.subcommand, own) else command.subcommand)
        for command in _main_commands(action.programs)
    )
    return AttemptStep(
        source=source,
        number=number,
        action=action,
        arguments=arguments,
        kind=kind,
        path=path,
        labels=labels,
        path_words=_path_words(path, own),
        words=_word_counts(texts, own),
        old=_word_counts([hunk.old for edit in edits for hunk in edit.hunks], own),
    )


def _is_value(subcommand: str, own: frozenset[str]) -> bool:
    """Whether what follows a script is a value of the task and no subcommand."""
    words = re.findall(r"[A-Za-z0-9]+", subcommand)
    return bool(words) and all(word.lower() in own or word.isdigit() for word in words)


def _word_counts(texts: Sequence[str], own: frozenset[str]) -> Counter[str]:
    """Count the words of texts; all parameters are equal."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(_with_placeholders(_WORD.findall(text)[:_MAX_WORDS], own))
    return words


def _with_placeholders(words: Sequence[str], own: frozenset[str]) -> list[str]:
    return ["{}" if PLACEHOLDER.fullmatch(word) or word.lower() in own else word for word in words]


def _main_commands(programs: Sequence[Command]) -> list[Command]:
    """Return the commands without those that only format output."""
    kept = list(programs)
    while len(kept) > 1 and kept[-2].connector == "|" and kept[-1].program in _FILE_PRINTERS:
        kept.pop()
    return [command for command in kept if command.program not in ("echo", "printf")] or kept


def _kind_and_path(action: ToolCall, arguments: Mapping[str, Any]) -> tuple[str, str]:
    workspace = action.workspace
    if action.kind is ToolKind.FILE:
        name = plain_name(action.step.tool)
        if action.effect is Effect.READ and (
            name in _SEARCH_PROGRAMS or "pattern" in arguments or "query" in arguments
        ):
            return "search", ""
        files = " ".join(edit.file for edit in edits_of(arguments))
        path = next((str(arguments[key]) for key in PATHS if key in arguments), files or action.path)
        path = path.replace("{workspace}/", "").removeprefix(workspace.rstrip("/") + "/" if workspace else "")
        return str(action.effect), path
    if action.kind is ToolKind.FUNCTION:
        return f"call {action.step.tool}", ""
    commands = _main_commands(action.programs)
    if len(commands) == 1:
        only = commands[0]
        if action.effect is Effect.READ and only.program in _SEARCH_PROGRAMS:
            return "search", ""
        if action.effect is Effect.READ and only.program in _FILE_PRINTERS and only.operands:
            return "read", canonical_path(only.operands[-1], workspace=workspace, directory=only.directory)
        if action.effect is Effect.WRITE and only.program in ("sed", "cat", "tee", "echo", "printf"):
            file = only.outputs[0] if only.outputs else only.operands[-1] if only.operands else ""
            return "write", canonical_path(file, workspace=workspace, directory=only.directory)
    return "run", ""


def step_similarity(left: AttemptStep, right: AttemptStep) -> float:
    """Return how likely the steps of two attempts are the same step, from 0 to 1."""
    if left.kind != right.kind:
        return 0.0
    if left.kind == "run":
        same = 1.0 if left.labels == right.labels else order_similarity(left.labels, right.labels)
        return 0.6 * same + 0.4 * _dice_similarity(left.words, right.words) if same > 0.5 else 0.0
    if left.kind in ("read", "write"):
        path = _path_similarity(left, right)
        if path < 0.5:
            return 0.0
        same_words = _dice_similarity(left.words, right.words)
        if left.old and right.old:  # which part of the file
            return 0.5 * path + 0.25 * _dice_similarity(left.old, right.old) + 0.25 * same_words
        return 0.6 * path + 0.4 * same_words
    same_words = _dice_similarity(left.words, right.words)
    return same_words if left.kind == "search" else 0.6 + 0.4 * same_words


def _dice_similarity(left: Counter[str], right: Counter[str]) -> float:
    if left == right:
        return 1.0
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    shared = sum(min(count, many[word]) for word, count in few.items() if word in many)
    return 2 * shared / (sum(few.values()) + sum(many.values()))


def _path_similarity(left: AttemptStep, right: AttemptStep) -> float:
    """Return how similar two paths are; 0 for files of another type."""
    if left.path_words == right.path_words:
        return 1.0
    (one, one_name, one_kind), (other, other_name, other_kind) = left.path_words, right.path_words
    if one_kind != other_kind:
        return 0.0
    folders = order_similarity(one, other) if one or other else 1.0
    return 0.5 * folders + 0.5 * order_similarity(one_name, other_name)


def _path_words(path: str, own: frozenset[str]) -> _PathWords:
    folder, _, name = PLACEHOLDER.sub("{}", path).rpartition("/")
    stem, dot, ending = name.rpartition(".")
    words = _with_placeholders(re.findall(r"\{\}|[A-Za-z0-9]+", stem if dot else name), own)
    return tuple(folder.split("/")) if folder else (), _joined_placeholders(words), ending if dot else ""


def _joined_placeholders(words: Sequence[str]) -> tuple[str, ...]:
    """Join adjacent placeholders: `order_status` and `stock` are one name each."""
    return tuple(word for at, word in enumerate(words) if not (at and word == words[at - 1] == "{}"))


@dataclass(slots=True)
class StepColumn:
    """Steps of different attempts that are the same step."""

    steps: list[AttemptStep]

    @property
    def sources(self) -> frozenset[int]:
        """The attempts that took this step."""
        return frozenset(step.source for step in self.steps)

    def similarity(self, step: AttemptStep) -> float:
        """Return how well a step fits into the column."""
        return mean_similarity(step, self.steps, step_similarity)


def align(sequences: Sequence[Sequence[AttemptStep]]) -> list[StepColumn]:
    """Put the steps of several attempts into columns; the order of each attempt is kept."""
    return [
        StepColumn(steps) for steps in align_sequences(sequences, step_similarity, least_similarity=LEAST_SIMILARITY)
    ]


def regroup(columns: Sequence[StepColumn]) -> list[StepColumn]:
    """Move a step that attempts took at different times into one column, where most took it."""
    kept = [StepColumn(list(column.steps)) for column in columns]
    for small in sorted(kept, key=lambda column: len(column.steps)):
        for step in sorted(small.steps, key=lambda step: step.key):
            rest = [other for other in small.steps if other is not step]
            here = StepColumn(rest).similarity(step) if rest else 0.0
            fitting = [
                (round(similarity, 6), len(column.steps), -at)
                for at, column in enumerate(kept)
                if column is not small
                and len(column.steps) >= len(small.steps)
                and step.source not in column.sources
                and (similarity := column.similarity(step)) >= max(SAME_STEP_SIMILARITY, here)
            ]
            if fitting:
                kept[-max(fitting)[2]].steps.append(step)
                small.steps = rest
        kept = [column for column in kept if column.steps]
    return kept
