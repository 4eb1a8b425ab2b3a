"""Merges the drafts of one kind of task into one procedure of required and optional steps, without steps of a single draft.

Three drafts make a general procedure; of two, shared steps are required and the rest optional; one stays as it is. The order
of the drafts does not matter.

    read a.py, edit a.py, make test
    edit a.py, git log, make test      ->  read a.py, edit a.py, make test
    read a.py, edit a.py, make test
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.skill import MADE_BY_MINING, Condition, Kind, Parameter, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.consensus.step_columns import (
    AttemptStep,
    DraftSource,
    StepColumn,
    align,
    load_source,
    own_words,
    regroup,
)
from tacit.learn.consensus.templates import SharedCalls
from tacit.learn.parameters import WORKSPACE
from tacit.learn.procedure import closing_checks, opening_files
from tacit.learn.values import PLACEHOLDER, FieldOrigins
from tacit.learn.wording import (
    MAX_DESCRIPTION,
    Title,
    code,
    imperative,
    local,
    shorten,
    slug,
    step_text,
    tags_of,
    title_of,
)
from tacit.text.similarity import text_similarity
from tacit.text.tool_calls import PATHS, ToolCall
from tacit.text.words import stem, term_set

MAX_EXAMPLES = 8
_MAX_EXAMPLE = 300
"""Example queries, and characters of each: they help retrieval and fill the skill."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SHARED = 0.4
"""Sentences of two tasks at least this similar count as the same. Larger: fewer sentences stay in the description."""

_MIN_WORDS = 2
"""Words of a name; where tasks share fewer, the names of the parameters are added."""


def title_of_many(sources: Sequence[DraftSource], calls: SharedCalls, actions: Sequence[ToolCall]) -> Title:
    """Name what several tasks have in common; of two tasks the newer one names it."""
    tasks = general_tasks(sources, calls)
    if len(sources) < ENOUGH:
        return _title_of_task(tasks[-1], actions, calls=calls)
    alike = [round(sum(text_similarity(task, other) for other in tasks), 6) for task in tasks]
    centre = max(range(len(tasks)), key=lambda at: (alike[at], -at))
    others = [task for at, task in enumerate(tasks) if at != centre]
    title = _title_of_task(_shared_text(tasks[centre], others), actions, calls=calls)
    if not title.from_task:
        return title
    task_stems = [frozenset(map(stem, re.findall(r"[a-z]+", task.lower()))) for task in tasks]
    words = [
        word for word in title.name.split("-") if sum(stem(word) in text for text in task_stems) * 2 > len(task_stems)
    ]
    if len(words) < _MIN_WORDS:  # "bump" is done to a package and its version
        words = [*title.name.split("-"), *PLACEHOLDER.findall(title.description)][: _MIN_WORDS + 1]
    return dataclasses.replace(title, name=slug(dict.fromkeys(words)))


def examples_of(sources: Sequence[DraftSource], calls: SharedCalls) -> list[tuple[str, list[int]]]:
    """Return different requests for it, the oldest first, each with its attempts."""
    found: dict[frozenset[str], tuple[str, list[int]]] = {}
    for at, task in enumerate(general_tasks(sources, calls)):
        text = shorten(task, _MAX_EXAMPLE)
        if text:
            found.setdefault(term_set(text), (text, []))[1].append(at)
    return list(found.values())[:MAX_EXAMPLES]


def general_tasks(sources: Sequence[DraftSource], calls: SharedCalls) -> list[str]:
    """Return each task with its parameters in place."""
    tasks = (source.trajectory.task.text for source in sources)
    return [calls.general(at, stated=True).text(task, folded=True) for at, task in enumerate(tasks)]


def most_common_text(words: Sequence[str]) -> str:
    """Return the most frequent text; of several the first."""
    return max(words, key=lambda word: (words.count(word), -words.index(word)), default="")


def _title_of_task(task: str, actions: Sequence[ToolCall], *, calls: SharedCalls) -> Title:
    stated = {shared.parameter.name for shared in calls.shared}
    names = [name for name in PLACEHOLDER.findall(task) if name in stated]
    title = title_of(task, actions, parameters=names)
    return dataclasses.replace(title, description=title.description[:MAX_DESCRIPTION])


def _shared_text(task: str, others: Sequence[str]) -> str:
    """Return the sentences of a task that most others share; the request itself always stays."""
    order = imperative(" ".join(task.split()))
    spoken = [[sentence for sentence in _SENTENCE.split(other) if sentence.strip()] for other in others]
    kept: list[str] = []
    for sentence in _SENTENCE.split(task.strip()):
        sharing = sum(
            max((text_similarity(sentence, other) for other in sentences), default=0.0) >= _SHARED
            for sentences in spoken
        )
        if sharing * 2 > len(others) or (order and order.rstrip(".!?") in " ".join(sentence.split())):
            kept.append(sentence.strip())
    return " ".join(kept) or task


ENOUGH = 3
"""Attempts from which steps of single ones are left out. With two, it is unknown which one is the exception."""
MADE_BY = f"{MADE_BY_MINING}/1"
REQUIRED = 0.6
"""Share of the attempts from which a step is required. Larger: more steps are optional."""
OPTIONAL = 0.25
"""Share of the attempts, at least two, from which a step is included. Smaller: habits of single attempts stay."""
_MIN_REQUIRED = 2
"""Required steps below which attempts have too little in common, and the newest draft is kept."""


def consensus(drafts: Sequence[Candidate], trajectories: Mapping[str, Trajectory]) -> Candidate:
    """Merge the drafts, each of one trajectory; where they share too little, return the newest."""
    sources = _sources(drafts, trajectories)
    if not sources:
        raise ValueError("no draft of a procedure whose trajectory is given")
    columns = _included_columns(regroup(align([source.steps for source in sources])), len(sources))
    required = sum(_is_required(column, len(sources)) for column in columns)
    if len(sources) == 1 or required < _MIN_REQUIRED:
        return sources[-1].candidate
    field_origins = FieldOrigins(*(source.trajectory for source in sources))
    content = _ProcedureBuilder(sources, columns, field_origins=field_origins).content()
    identities = tuple(source.trajectory.id for source in sources)
    provenance = Provenance(trajectory_ids=identities, grounding=field_origins.spans, made_by=MADE_BY)
    return dataclasses.replace(
        sources[-1].candidate, content=content, origins=field_origins.origins, provenance=provenance, parents=()
    )


def _sources(drafts: Sequence[Candidate], trajectories: Mapping[str, Trajectory]) -> list[DraftSource]:
    """Return the drafts with their attempts, the oldest first; of two drafts of one attempt the longer."""
    found: dict[str, Candidate] = {}
    for draft in sorted(drafts, key=lambda draft: (-len(draft.content.steps), draft.content.hash())):
        identity = next(iter(draft.provenance.trajectory_ids), "")
        if draft.content.kind is Kind.PROCEDURE and draft.content.steps and identity in trajectories:
            found.setdefault(identity, draft)
    ordered = sorted(found, key=lambda identity: (_start_time(trajectories[identity]), identity))
    attempts = [trajectories[identity] for identity in ordered]
    own = own_words([trajectory.task.text for trajectory in attempts])
    return [
        load_source(found[trajectory.id], trajectory, number=at, own=own[at]) for at, trajectory in enumerate(attempts)
    ]


def _start_time(trajectory: Trajectory) -> float:
    return trajectory.started_at.timestamp() if trajectory.started_at else 0.0


def _is_required(column: StepColumn, of: int) -> bool:
    return len(column.sources) == of if of < ENOUGH else len(column.sources) >= REQUIRED * of


def _included_columns(columns: Sequence[StepColumn], of: int) -> list[StepColumn]:
    """Return the columns to include: from three attempts on only what at least two of them did."""
    least = max(2, OPTIONAL * of) if of >= ENOUGH else 1
    return [column for column in columns if len(column.sources) >= least]


@dataclass(slots=True)
class _Step:
    """A step of the procedure with its columns."""

    step: SkillStep
    columns: list[int]


class _ProcedureBuilder:
    """Builds the content and notes the spans of each field."""

    def __init__(
        self, sources: Sequence[DraftSource], columns: Sequence[StepColumn], *, field_origins: FieldOrigins
    ) -> None:
        self.sources = sources
        self.columns = columns
        self.field_origins = field_origins
        self.calls = SharedCalls(columns, sources)
        self.templates = self.calls.templates
        self.steps = self._steps()
        self.calls.drop_unused([entry.step.arguments for entry in self.steps])

    def content(self) -> SkillContent:
        """Return the merged content."""
        actions = [template.model.action for template in self.templates]
        title = title_of_many(self.sources, self.calls, actions)
        tasks = [source.timeline.task_span() for source in self.sources]
        tools = [
            Span(self.sources[step.source].trajectory.id, step.action.index, "tool")
            for column in self.columns
            for step in column.steps
        ]
        for path in ("name", "description"):
            self.field_origins.add_spans(path, tasks if title.from_task else tools)
        self.field_origins.add_spans("category", [*tasks, *tools])
        self.field_origins.add_spans("tags", tools)
        queries = examples_of(self.sources, self.calls)
        for number, (_, places) in enumerate(queries):
            self.field_origins.add_spans(f"example_queries.{number}", [tasks[at] for at in places])
        newest = self.sources[-1].candidate.content
        return dataclasses.replace(
            newest,
            name=title.name,
            description=title.description,
            category=most_common_text([source.candidate.content.category for source in self.sources]),
            tags=tags_of(actions),
            example_queries=tuple(text for text, _ in queries),
            steps=tuple(entry.step for entry in self.steps),
            parameters=self._all_parameters(),
            preconditions=self._preconditions(),
            postconditions=self._postconditions(),
        )

    def _steps(self) -> list[_Step]:
        steps: list[_Step] = []
        for at, (column, template) in enumerate(zip(self.columns, self.templates, strict=True)):
            arguments = self.calls.arguments(at)
            text = step_text(template.model.action, arguments)
            if template.open_ended:
                place = next((str(arguments[key]) for key in PATHS if key in arguments), "")
                text = text if not place or place in text else f"Change {code(local(place))}"
                text = f"{text} as the task asks"
            optional = not _is_required(column, len(self.sources))
            step = SkillStep(text=text, tool=template.model.action.step.tool, arguments=arguments, optional=optional)
            # Two edits of one file with different texts are one instruction.
            same = next((entry for entry in steps if template.open_ended and entry.step.text == text), None)
            if same is None:
                steps.append(_Step(step, [at]))
            else:
                same.columns.append(at)
                same.step = dataclasses.replace(same.step, optional=same.step.optional and optional)
        for number, entry in enumerate(steps):
            spans = [span for at in entry.columns for span in self._spans(self.columns[at])]
            self.field_origins.add_spans(f"steps.{number}", spans)
            self.field_origins.add_spans(f"steps.{number}.arguments", spans)
        return steps

    def _spans(self, column: StepColumn) -> list[Span]:
        """Return the spans of the drafts' steps in a column."""
        return [
            span
            for step in column.steps
            for span in self.sources[step.source].candidate.provenance.grounding[f"steps.{step.number}"]
        ]

    def _all_parameters(self) -> tuple[Parameter, ...]:
        parameters = [shared.parameter for shared in self.calls.shared]
        for number, shared in enumerate(self.calls.shared):
            self.field_origins.add_spans(f"parameters.{number}", self.calls.spans(shared))
        named = [entry for entry in self.steps if "{workspace}" in str(entry.step.arguments)]
        if named:
            spans = (span for entry in named for at in entry.columns for span in self._spans(self.columns[at]))
            typed = [span for span in spans if span.part == "arguments"]  # the agent's own words
            self.field_origins.add_spans(f"parameters.{len(parameters)}", typed)
            parameters.append(WORKSPACE)
        return tuple(parameters)

    def _preconditions(self) -> tuple[Condition, ...]:
        """Return the files that the procedure needs."""
        conditions = opening_files(
            self._actions(),
            [entry.step.arguments for entry in self.steps],
            general=lambda number, text: self.calls.general(self._model(number).source).text(text),
        )
        return self._required("preconditions", conditions)

    def _postconditions(self) -> tuple[Condition, ...]:
        """Return what is checked after the last change."""
        checks = closing_checks(self._actions(), [entry.step.arguments for entry in self.steps])
        return self._required("postconditions", checks)

    def _required(self, field: str, conditions: Iterable[tuple[int, Condition]]) -> tuple[Condition, ...]:
        """Return the conditions of required steps; each rests on the spans of its step."""
        kept = [(number, condition) for number, condition in conditions if not self.steps[number].step.optional]
        for at, (number, _) in enumerate(kept):
            spans = [span for column in self.steps[number].columns for span in self._spans(self.columns[column])]
            if field == "preconditions":  # a path is named by the call alone
                spans = [span for span in spans if span.part == "arguments"]
            self.field_origins.add_spans(f"{field}.{at}", spans)
        return tuple(condition for _, condition in kept)

    def _model(self, number: int) -> AttemptStep:
        return self.templates[self.steps[number].columns[0]].model

    def _actions(self) -> list[ToolCall]:
        return [self._model(number).action for number in range(len(self.steps))]
