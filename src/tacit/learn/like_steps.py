"""Puts the steps of several attempts into columns: steps of different attempts that are the same step.

Steps are compared by what they do (read, write, search, run, call), by what they are about (a path, or programs with their
subcommands) and by their words; words that only one task has count as its values.

    attempt 1: read setup.cfg, git tag v1.2, git push        columns:  git tag v1.2 | git tag v1.3
    attempt 2: git tag v1.3, git push                                  git push     | git push
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.skill import SkillStep
from tacit.domain.trajectory import Origin, Trajectory
from tacit.learn.parameters import WORKSPACE, Binding, Generalisation
from tacit.learn.values import PLACEHOLDER, Timeline, ValueSighting
from tacit.text.canonical import canonical_path
from tacit.text.file_edits import edits_of
from tacit.text.similarity import align_sequences, mean_similarity, order_similarity
from tacit.text.tool_calls import DESCRIBING, PATHS, Effect, ToolCall, ToolKind, leaves, plain_name, tool_call

LEAST_SIMILARITY = 0.45
"""Less similar steps are never the same step. Larger: more columns, so fewer steps that all attempts share. This number and
those below were set by hand."""
SAME_STEP_SIMILARITY = 0.75
"""Steps at least this similar are the same even in another order. Smaller: unlike steps are moved together."""
_SUBJECT_WEIGHT = 0.6
"""How much it counts that two steps are about the same path or programs; their other words count the rest."""
_MIN_SUBJECT = 0.5
"""Steps whose subjects share less are different steps, whatever their words."""
_NAME = re.compile(r"[A-Za-z0-9]{2,}")
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]{2,}")
_WORD = re.compile(r"\{\w*\}|[A-Za-z0-9]+")
_MAX_WORDS = 400
"""Words of one text that are compared; it bounds the time."""
_FILE_PRINTERS = frozenset("cat head tail sed bat nl less more".split())
_FILE_WRITERS = frozenset("sed cat tee echo printf".split())
_SEARCH_PROGRAMS = frozenset("grep rg egrep ag find fd ls tree glob list_dir file_search".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStep:
    """One step of one attempt in comparable form."""

    source: int
    """The number of the attempt."""
    number: int
    """The number of the step in its draft."""
    action: ToolCall
    kind: str
    """search, run, the tool that it calls, or read and write with the ending of the file."""
    about: tuple[str, ...]
    """The words of the path, or programs with their subcommands; values of the task are `{}`."""
    words: Counter[str]

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
    steps: tuple[AttemptStep, ...]

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


def words_of_one_task(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return, per task, the words that no other task contains."""
    words = [{part.lower() for word in _NAME.findall(text) for part in (word, *_CAMEL.findall(word))} for text in texts]
    return [
        frozenset(mine - set().union(*(other for at, other in enumerate(words) if at != number)))
        for number, mine in enumerate(words)
    ]


def load_source(candidate: Candidate, trajectory: Trajectory, *, number: int, own: frozenset[str]) -> DraftSource:
    """Return a draft with its attempt; a step without a call is left out. `own` are the words of this task alone."""
    calls = {step.index: step for step in trajectory.steps if step.is_action}
    steps: list[AttemptStep] = []
    for at, step in enumerate(candidate.content.steps):
        spans = candidate.provenance.grounding.get(f"steps.{at}", ())
        made = (span.step for span in spans if span.trajectory_id == trajectory.id and span.part == "arguments")
        index = next((found for found in made if found in calls), None)
        if index is not None:
            action = tool_call(calls[index], trajectory.environment.workspace)
            steps.append(_attempt_step(action, step, source=number, number=at, own=own))
    return DraftSource(candidate=candidate, trajectory=trajectory, timeline=Timeline(trajectory), steps=tuple(steps))


def _attempt_step(action: ToolCall, step: SkillStep, *, source: int, number: int, own: frozenset[str]) -> AttemptStep:
    texts = [str(value) for key, value in leaves(step.arguments) if key not in DESCRIBING and key not in PATHS]
    kind, about = _kind_and_subject(action, step.arguments)
    if kind == "run":
        labels = [(command.program, _WORD.findall(command.subcommand)) for command in action.programs]
        subject = [" ".join((program, *_general(words, own))) for program, words in labels]
    else:
        name, dot, ending = about.rpartition(".")
        kind, about = (f"{kind} {ending}", name) if dot and "/" not in ending else (kind, about)
        subject = _general(_WORD.findall(about), own)
    words = Counter(word for text in texts for word in _general(_WORD.findall(text)[:_MAX_WORDS], own))
    return AttemptStep(source=source, number=number, action=action, kind=kind, about=tuple(subject), words=words)


def _general(words: Iterable[str], own: frozenset[str]) -> list[str]:
    """Return words with `{}` for parameters and for the task's own words; adjacent ones are one value."""
    plain = ["{}" if PLACEHOLDER.fullmatch(word) or word.lower() in own else word for word in words]
    return [word for at, word in enumerate(plain) if not (at and word == plain[at - 1] == "{}")]


def _kind_and_subject(action: ToolCall, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a call does and the path it is about; a file is read and written by tools and in the shell."""
    if action.kind is ToolKind.FUNCTION:
        return f"call {action.step.tool}", ""
    if action.kind is ToolKind.FILE:
        is_search = plain_name(action.step.tool) in _SEARCH_PROGRAMS or "pattern" in arguments or "query" in arguments
        if action.effect is Effect.READ and is_search:
            return "search", ""
        files = " ".join(edit.file for edit in edits_of(arguments)) or action.path
        path = next((str(arguments[key]) for key in PATHS if key in arguments), files)
        root = action.workspace.rstrip("/") + "/" if action.workspace else ""
        return str(action.effect), path.replace("{workspace}/", "").removeprefix(root)
    if len(action.programs) == 1:
        only = action.programs[0]
        if action.effect is Effect.READ and only.program in _SEARCH_PROGRAMS:
            return "search", ""
        reads = action.effect is Effect.READ and only.program in _FILE_PRINTERS
        writes = action.effect is Effect.WRITE and only.program in _FILE_WRITERS
        named = [*(only.outputs if writes else ()), *only.operands[-1:]]
        if named and (reads or writes):
            path = canonical_path(named[0], workspace=action.workspace, directory=only.directory)
            return "read" if reads else "write", path
    return "run", ""


def step_similarity(left: AttemptStep, right: AttemptStep) -> float:
    """Return how likely the steps of two attempts are the same step, from 0 to 1."""
    if left.kind != right.kind:
        return 0.0
    words = _dice_similarity(left.words, right.words)
    if left.kind == "search":
        return words
    about = 1.0 if left.about == right.about else order_similarity(left.about, right.about)
    return _SUBJECT_WEIGHT * about + (1 - _SUBJECT_WEIGHT) * words if about >= _MIN_SUBJECT else 0.0


def _dice_similarity(left: Counter[str], right: Counter[str]) -> float:
    return 2 * (left & right).total() / (left.total() + right.total()) if left or right else 1.0


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
