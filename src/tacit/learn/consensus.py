"""Merges the drafts of several attempts at like shell and file work into one procedure.

A step that most drafts share is required, one that only some share is optional, and one of a single draft is left out. Where
too few steps are required, the newest draft stays as it is. The order of the drafts does not matter.

    read a.py, edit a.py, make test
    edit a.py, git log, make test      ->  read a.py, edit a.py, make test
    read a.py, edit a.py, make test
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.skill import MADE_BY_MINING, Condition, Kind, Parameter, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.call_templates import SharedCalls
from tacit.learn.like_steps import DraftSource, StepColumn, align, load_source, regroup, words_of_one_task
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

MADE_BY = f"{MADE_BY_MINING}/1"
REQUIRED = 0.6
"""Share of the attempts from which a step is required: two of three. Larger: more steps are optional."""
OPTIONAL = 0.25
"""Share of the attempts, at least two, from which a step is included. Smaller: habits of few attempts stay."""
_MIN_REQUIRED = 2
"""Required steps below which attempts have too little in common, and the newest draft is kept."""
MAX_EXAMPLES = 8
_MAX_EXAMPLE = 300
"""Example queries, and characters of each: they help retrieval and fill the skill."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SHARED = 0.4
"""Sentences of two tasks at least this similar count as the same. Larger: fewer sentences stay in the description."""
_MIN_WORDS = 2
"""Words of a name; where tasks share fewer, the names of the parameters are added."""


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
    own = words_of_one_task([trajectory.task.text for trajectory in attempts])
    return [
        load_source(found[trajectory.id], trajectory, number=at, own=own[at]) for at, trajectory in enumerate(attempts)
    ]


def _start_time(trajectory: Trajectory) -> float:
    return trajectory.started_at.timestamp() if trajectory.started_at else 0.0


def _is_required(column: StepColumn, of: int) -> bool:
    return len(column.sources) >= REQUIRED * of


def _included_columns(columns: Sequence[StepColumn], of: int) -> list[StepColumn]:
    return [column for column in columns if len(column.sources) >= max(2, OPTIONAL * of)]


@dataclass(slots=True)
class _Step:
    """A step of the procedure, the call and the attempt that it was modelled on, and what it rests on."""

    step: SkillStep
    action: ToolCall
    source: int
    spans: list[Span]

    @property
    def typed(self) -> list[Span]:
        """The agent's own words among its spans."""
        return [span for span in self.spans if span.part == "arguments"]


class _ProcedureBuilder:
    """Builds the content and notes the spans of each field."""

    def __init__(
        self, sources: Sequence[DraftSource], columns: Sequence[StepColumn], *, field_origins: FieldOrigins
    ) -> None:
        self._sources, self._columns, self._field_origins = sources, columns, field_origins
        self._calls = SharedCalls(columns, sources)
        self._steps = self._merged_steps()
        self._calls.drop_unused([entry.step.arguments for entry in self._steps])

    def content(self) -> SkillContent:
        """Return the merged content."""
        actions = [template.model.action for template in self._calls.templates]
        texts = _general_tasks(self._sources, self._calls)
        title = _title_of_many(texts, self._calls, actions)
        tasks = [source.timeline.task_span() for source in self._sources]
        tools = [
            Span(self._sources[step.source].trajectory.id, step.action.index, "tool")
            for column in self._columns
            for step in column.steps
        ]
        for path in ("name", "description"):
            self._field_origins.add_spans(path, tasks)
        for path in ("category", "tags"):
            self._field_origins.add_spans(path, tools)
        queries = _examples_of(texts)
        for number, (_, places) in enumerate(queries):
            self._field_origins.add_spans(f"example_queries.{number}", [tasks[at] for at in places])
        for number, entry in enumerate(self._steps):
            self._field_origins.add_spans(f"steps.{number}", entry.spans)
            self._field_origins.add_spans(f"steps.{number}.arguments", entry.spans)
        conditions = self._conditions()
        return dataclasses.replace(
            self._sources[-1].candidate.content,
            name=title.name,
            description=title.description,
            tags=tags_of(actions),
            example_queries=tuple(text for text, _ in queries),
            steps=tuple(entry.step for entry in self._steps),
            parameters=self._parameters(),
            preconditions=conditions["preconditions"],
            postconditions=conditions["postconditions"],
        )

    def _merged_steps(self) -> list[_Step]:
        """Return a step for each column; edits of one file that the task decides are one step."""
        steps: list[_Step] = []
        for at, (column, template) in enumerate(zip(self._columns, self._calls.templates, strict=True)):
            action, arguments = template.model.action, self._calls.arguments(at)
            text = step_text(action, arguments)
            if template.open_ended:
                place = next((str(arguments[key]) for key in PATHS if key in arguments), "")
                text = text if not place or place in text else f"Change {code(local(place))}"
                text = f"{text} as the task asks"
            optional = not _is_required(column, len(self._sources))
            step = SkillStep(text=text, tool=action.step.tool, arguments=arguments, optional=optional)
            same = next((entry for entry in steps if template.open_ended and entry.step.text == text), None)
            if same is None:
                steps.append(_Step(step, action, template.model.source, self._spans(column)))
            else:
                same.spans += self._spans(column)
                same.step = dataclasses.replace(same.step, optional=same.step.optional and optional)
        return steps

    def _spans(self, column: StepColumn) -> list[Span]:
        """Return the spans of the drafts' steps in a column."""
        return [
            span
            for step in column.steps
            for span in self._sources[step.source].candidate.provenance.grounding[f"steps.{step.number}"]
        ]

    def _parameters(self) -> tuple[Parameter, ...]:
        parameters = [shared.parameter for shared in self._calls.shared]
        for number, shared in enumerate(self._calls.shared):
            self._field_origins.add_spans(f"parameters.{number}", self._calls.spans(shared))
        named = [entry for entry in self._steps if "{workspace}" in str(entry.step.arguments)]
        if named:
            typed = [span for entry in named for span in entry.typed]
            self._field_origins.add_spans(f"parameters.{len(parameters)}", typed)
            parameters.append(WORKSPACE)
        return tuple(parameters)

    def _conditions(self) -> dict[str, tuple[Condition, ...]]:
        """Return the files that required steps need, and what they check after the last change."""
        actions, arguments = [e.action for e in self._steps], [e.step.arguments for e in self._steps]

        def general(number: int, text: str) -> str:
            return self._calls.general(self._steps[number].source).text(text)

        conditions = {
            "preconditions": opening_files(actions, arguments, general=general),
            "postconditions": closing_checks(actions, arguments),
        }
        kept: dict[str, tuple[Condition, ...]] = {}
        for field, found in conditions.items():
            required = [(self._steps[at], condition) for at, condition in found if not self._steps[at].step.optional]
            for number, (entry, _) in enumerate(required):  # a path is named by the call alone
                spans = entry.typed if field == "preconditions" else entry.spans
                self._field_origins.add_spans(f"{field}.{number}", spans)
            kept[field] = tuple(condition for _, condition in required)
        return kept


def _title_of_many(tasks: Sequence[str], calls: SharedCalls, actions: Sequence[ToolCall]) -> Title:
    """Name what several tasks have in common."""
    alike = [round(sum(text_similarity(task, other) for other in tasks), 6) for task in tasks]
    centre = max(range(len(tasks)), key=lambda at: (alike[at], -at))
    others = [task for at, task in enumerate(tasks) if at != centre]
    title = _title_of_task(_shared_text(tasks[centre], others), actions, calls=calls)
    task_stems = [frozenset(map(stem, re.findall(r"[a-z]+", task.lower()))) for task in tasks]
    words = [
        word for word in title.name.split("-") if sum(stem(word) in text for text in task_stems) * 2 > len(task_stems)
    ]
    if len(words) < _MIN_WORDS:  # "bump" is done to a package and its version
        words = [*title.name.split("-"), *PLACEHOLDER.findall(title.description)][: _MIN_WORDS + 1]
    return dataclasses.replace(title, name=slug(dict.fromkeys(words)))


def _examples_of(tasks: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Return different requests for it, the oldest first, each with its attempts."""
    found: dict[frozenset[str], tuple[str, list[int]]] = {}
    for at, task in enumerate(tasks):
        text = shorten(task, _MAX_EXAMPLE)
        if text:
            found.setdefault(term_set(text), (text, []))[1].append(at)
    return list(found.values())[:MAX_EXAMPLES]


def _general_tasks(sources: Sequence[DraftSource], calls: SharedCalls) -> list[str]:
    """Return each task with its parameters in place."""
    tasks = (source.trajectory.task.text for source in sources)
    return [calls.general(at, stated=True).text(task, folded=True) for at, task in enumerate(tasks)]


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
