"""Explains why an attempt failed, and turns the causes of many failures into pitfalls of a skill.

With a successful attempt at the same task, the two are compared. Without one, signs in the failed run decide: repeated and
refused calls, invented values, unmet requests. What signs mean is learned from failures that could be compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.skill import Pitfall, SkillStep
from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.learn.failures.attempt_changes import (
    AttemptChanges,
    ComparedCall,
    ExpectedCall,
    FailureCause,
    FailureKind,
    changes_made,
    explain_by_siblings,
)
from tacit.text.programs import SHELL_TOOLS
from tacit.text.tool_calls import ToolKind, leaves, plain_name, tool_call
from tacit.text.words import term_set

_MIN_RUNS = 3
"""Words or tools with fewer successes are ignored."""
_MAX_TELLING_WORDS = 25
"""Words that speak for or against one tool. `bench/blame.py` watches the predictor as a whole."""
_MAX_WORDS = 4000
_MAX_TOOLS = 64
"""The most frequent words and tools that are counted: they bound the time and memory of a pool."""
_DEPENDENCE = 0.5
"""Words of one text depend on each other, so only half of their summed weight counts."""

_Text = tuple[frozenset[str], frozenset[str]]
"""The words of a run, and the tools or programs of its changes."""


def user_text(trajectory: Trajectory) -> str:
    """Return everything that the user wrote, the task first."""
    words = [step.text for step in trajectory.steps if step.role is Role.USER]
    return "\n".join(words if trajectory.task.text in words else [trajectory.task.text, *words])


class ToolPredictor:
    """A naive Bayes model learned from successes: words → probability that each changing tool is needed."""

    def __init__(self, runs: Sequence[AttemptChanges]) -> None:
        """Count words and changing tools of successful runs."""
        self._texts = {run.trajectory.id: _words_and_tools(run) for run in runs}
        texts = list(self._texts.values())
        self._total = len(texts)
        words = Counter(word for words, _ in texts for word in sorted(words))
        self._words = {word: n for word, n in words.most_common(_MAX_WORDS) if n >= _MIN_RUNS}
        tools = Counter(what for _, done in texts for what in sorted(done)).most_common(_MAX_TOOLS)
        self._tools = {what: n for what, n in sorted(tools) if n >= _MIN_RUNS}
        self._word_counts = {what: self._informative_words(what, texts) for what in self._tools}

    def likely(self, text: str, *, without: Sequence[AttemptChanges] = ()) -> Mapping[str, float]:
        """Return the probability of each tool for a task with these words, as if the runs in `without` were not counted."""
        words = term_set(text)
        excluded = [self._texts[run.trajectory.id] for run in without if run.trajectory.id in self._texts]
        total = self._total - len(excluded)
        likely: dict[str, float] = {}
        for what, inside in self._word_counts.items():
            less = [seen for seen, done in excluded if what in done]
            count = self._tools[what] - len(less)
            logit = math.log((count + 1) / (total - count + 1))
            for word in (word for word in inside if word in words):
                here = inside[word] - sum(word in seen for seen in less)
                seen_in = self._words[word] - sum(word in seen for seen, _ in excluded)
                logit += _DEPENDENCE * _weight(here, seen_in, count=count, total=total)
            likely[what] = 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
        return likely

    def _informative_words(self, what: str, texts: Sequence[_Text]) -> dict[str, int]:
        """Return the most informative words for a tool, each with the number of its runs that contain it."""
        inside = Counter(word for words, done in texts if what in done for word in words)
        count = self._tools[what]
        strength = {
            word: abs(_weight(inside[word], n, count=count, total=self._total)) * math.sqrt(n)
            for word, n in self._words.items()
        }
        order = sorted(strength, key=lambda word: (-strength[word], word))
        return {word: inside[word] for word in order[:_MAX_TELLING_WORDS]}


def _words_and_tools(run: AttemptChanges) -> _Text:
    return term_set(user_text(run.trajectory)), frozenset(call.what for call in run.worked)


def _weight(inside: int, everywhere: int, *, count: int, total: int) -> float:
    """Return the log ratio of how often a word occurs with and without the tool."""
    return math.log((inside + 0.5) / (count + 1)) - math.log((everywhere - inside + 0.5) / (total - count + 1))


_IDENTIFIER = re.compile(r"(?=[\w.@+-]*\d)\w[\w.@+-]{4,}\w")
_DECLINING = re.compile(
    r"\b(?:unable|cannot|can't|can not|sorry|unfortunately|not possible|apologi[sz]e)\b", re.IGNORECASE
)
VALUES = {"effects": 4, "turns": 4, "retried": 2, "repeated": 2, "invented": 2, "wanted": 2, "untouched": 2,
          "declined": 3, "handed over": 2}  # fmt: skip
"""The number of values of each feature."""
_LIKELY = 0.5
"""The probability from which a tool counts as wanted. Larger: fewer failures look like a missing step."""
_MAX_CHANGES = 64
"""Signs are read from the first changes of longer runs."""


@dataclass(frozen=True, slots=True)
class FailureSigns:
    """Signs of failure in one run."""

    retried: ComparedCall | None
    """A failed call whose tool was called again."""
    repeated: ComparedCall | None
    """The first call of a tool that was used before."""
    invented: ComparedCall | None
    """A call with an identifier that neither the user nor an observation mentioned before."""
    wanted: tuple[str, ...]
    """Tools that the user's words suggest and that were not called."""
    untouched: bool
    """Whether something that the user named and the agent read was left unchanged."""
    declined: tuple[int, ...]
    """Steps in which the agent declined something."""
    declined_first: bool
    """Whether it declined before its first change."""
    handed_over: bool
    changes: int
    turns: int

    @property
    def features(self) -> Mapping[str, int]:
        """The signs as small numbers."""
        return {
            "effects": min(self.changes, 3),
            "turns": min(self.turns // 5, 3),
            "retried": int(self.retried is not None),
            "repeated": int(self.repeated is not None),
            "invented": int(self.invented is not None),
            "wanted": int(bool(self.wanted)),
            "untouched": int(self.untouched),
            "declined": 2 if self.declined_first else int(bool(self.declined)),
            "handed over": int(self.handed_over),
        }


def failure_signs(run: AttemptChanges, likely: Mapping[str, float]) -> FailureSigns:
    """Read the signs of a run; `likely` gives the probability of each tool."""
    done = run.done[:_MAX_CHANGES]
    names = [call.what for call in done]
    last = {name: place for place, name in enumerate(names)}
    counts = Counter(names)
    spoken = (step for step in run.trajectory.steps if step.role is Role.AGENT)
    declined = tuple(step.index for step in spoken if _DECLINING.search(step.text))
    return FailureSigns(
        retried=next((d for i, d in enumerate(done) if not d.worked and last[d.what] > i), None),
        repeated=next((d for i, d in enumerate(done) if counts[d.what] > 1 and d.what in names[:i]), None),
        invented=_invented_call(run),
        wanted=tuple(sorted(what for what, p in likely.items() if p > _LIKELY and what not in counts)),
        untouched=_left_unchanged(run),
        declined=declined,
        declined_first=bool(declined and done) and declined[0] < done[0].index,
        handed_over=run.handed_over is not None,
        changes=len(done),
        turns=sum(step.role is Role.USER for step in run.trajectory.steps),
    )


def _invented_call(run: AttemptChanges) -> ComparedCall | None:
    """Return the first call with an identifier that was not mentioned before."""
    waiting = list(run.done[:_MAX_CHANGES])
    known: list[str] = [run.trajectory.task.text.casefold()]
    for step in run.trajectory.steps:
        if waiting and waiting[0].index == step.index:
            call = waiting.pop(0)
            before = "\n".join(known)
            known = [before]
            if any(value not in before for value in _identifiers(call)):
                return call
        if step.role is not Role.AGENT:
            known.append(step.text.casefold())
        if step.is_action:
            known.append(step.observation.casefold())
    return None


def _identifiers(call: ComparedCall) -> list[str]:
    values = (str(value).casefold() for _, value in leaves(call.action.step.arguments) if isinstance(value, str))
    return [value for value in values if _IDENTIFIER.fullmatch(value.strip("#"))]


def _left_unchanged(run: AttemptChanges) -> bool:
    named = {word.casefold() for word in _IDENTIFIER.findall(user_text(run.trajectory))}
    touched = "\n".join(str(v).casefold() for d in run.done for _, v in leaves(d.action.step.arguments))
    left = sorted(word for word in named if word not in touched)
    if not left:
        return False
    seen = "\n".join(step.observation.casefold() for step in run.trajectory.steps if step.is_action)
    return any(word in seen for word in left)


MOST_SUCCESSES = 2000
MOST_FAILURES = 1000
MOST_SIBLINGS = 32
"""Attempts of one pool, and successes that one failure is compared with: they bound the time."""
LEAST_FAILURES = 20
"""With fewer explained failures, fixed rules decide the kind."""

Contrasted = tuple[Trajectory, Sequence[Trajectory]]
"""A failed attempt and the successful attempts at the same task."""


class FailurePool:
    """Statistics of successes and explained failures at other tasks."""

    def __init__(self, successes: Sequence[Trajectory], contrasted: Sequence[Contrasted] = ()) -> None:
        """Count successful attempts, and failed ones with successful attempts at the same task."""
        self._runs = [changes_made(success) for success in successes[:MOST_SUCCESSES]]
        self.predictor = ToolPredictor(self._runs)
        self._kinds: Counter[FailureKind] = Counter()
        self._seen: dict[tuple[FailureKind, str], Counter[int]] = defaultdict(Counter)
        self._learn([(failed, siblings[:MOST_SIBLINGS]) for failed, siblings in contrasted[:MOST_FAILURES] if siblings])

    @property
    def explained(self) -> int:
        """The number of failures that the statistics come from."""
        return self._kinds.total()

    def kinds(self, features: Mapping[str, int]) -> dict[FailureKind, float]:
        """Return the probability of each kind of failure given the signs; empty if too few failures were seen."""
        if self.explained < LEAST_FAILURES:
            return {}
        scores = {kind: self._score(kind, features) for kind in FailureKind if self._kinds[kind]}
        top = max(scores.values())
        total = sum(math.exp(score - top) for score in scores.values())
        return {kind: math.exp(score - top) / total for kind, score in scores.items()}

    def _score(self, kind: FailureKind, features: Mapping[str, int]) -> float:
        count = self._kinds[kind]
        score = math.log((count + 1) / (self.explained + len(self._kinds)))
        for name, value in features.items():
            score += math.log((self._seen[kind, name][value] + 1) / (count + VALUES[name]))
        return score

    def _learn(self, contrasted: Sequence[Contrasted]) -> None:
        """Count the signs of every failure that a successful attempt explains.

        Its own siblings are left out of the word statistics: otherwise the sign would look stronger than for a new task.
        """
        known: dict[str, AttemptChanges] = {run.trajectory.id: run for run in self._runs}
        for failed, siblings in contrasted:
            run = changes_made(failed)
            if not run.done:
                continue
            sibling_runs = [known.get(sibling.id) or changes_made(sibling) for sibling in siblings]
            found = explain_by_siblings(run, sibling_runs)
            signs = failure_signs(run, self.predictor.likely(user_text(failed), without=sibling_runs))
            self._kinds[found.kind] += 1
            for name, value in signs.features.items():
                self._seen[found.kind, name][value] += 1


_BEFORE_ALL = -1
"""Stands for the task text if no step contains it."""
_RULED = 0.4
"""Confidence in a kind that only the fixed rules give."""


def explain_failure(
    failed: Trajectory, successes: Sequence[Trajectory] | FailurePool, *, siblings: Sequence[Trajectory] = ()
) -> FailureCause:
    """Explain how a failed attempt went wrong and at which step.

    `siblings` are successful attempts at the same task, `successes` those at others; pass a `FailurePool` to explain many
    failures.
    """
    run = changes_made(failed)
    if siblings:
        return explain_by_siblings(run, [changes_made(sibling) for sibling in siblings[:MOST_SIBLINGS]])
    pool = successes if isinstance(successes, FailurePool) else FailurePool(successes)
    return _explain_by_signs(run, pool)


def _explain_by_signs(run: AttemptChanges, pool: FailurePool) -> FailureCause:
    likely = pool.predictor.likely(user_text(run.trajectory))
    signs = failure_signs(run, likely)
    kinds = pool.kinds(signs.features)
    if not run.done:
        kind, confidence = FailureKind.NO_ACTION, 1.0 if signs.wanted else 0.8
    elif kinds:
        kind = max(FailureKind, key=lambda kind: kinds.get(kind, 0.0))
        confidence = kinds[kind]
    else:
        kind, confidence = _kind_by_rules(signs), _RULED
    fault = _wrong_step(kind, run)
    return FailureCause(
        trajectory_id=run.trajectory.id,
        kind=kind,
        step=fault.index if fault else None,
        tool=fault.tool if fault else "",
        expected=tuple(ExpectedCall(tool=what) for what in signs.wanted),
        signs=tuple(name for name, value in signs.features.items() if value and name not in ("effects", "turns")),
        spans=_spans(run, signs, fault),
        confidence=confidence,
    )


def _kind_by_rules(signs: FailureSigns) -> FailureKind:
    if signs.retried or (signs.changes > 2 and signs.repeated):
        return FailureKind.EXTRA_STEP
    if signs.handed_over or signs.wanted:
        return FailureKind.MISSING_STEP
    return FailureKind.WRONG_ARGUMENTS


def _wrong_step(kind: FailureKind, run: AttemptChanges) -> Step | None:
    """Return the step at fault: most failures go wrong with their first change."""
    if kind is FailureKind.WRONG_END:
        return run.handed_over
    return None if kind in (FailureKind.NO_ACTION, FailureKind.MISSING_STEP) else run.done[0].action.step


def _spans(run: AttemptChanges, signs: FailureSigns, fault: Step | None) -> tuple[Span, ...]:
    own = run.trajectory.id
    spans = [Span(own, fault.index, "arguments")] if fault else []
    if signs.retried:
        spans.append(Span(own, signs.retried.index, "observation"))
    if signs.invented:
        spans.append(Span(own, signs.invented.index, "arguments"))
    if signs.declined:
        spans.append(Span(own, signs.declined[0], "text"))
    if run.handed_over:
        spans.append(Span(own, run.handed_over.index, "arguments"))
    if signs.wanted or signs.untouched or not spans:
        asked = (step.index for step in run.trajectory.steps if step.role is Role.USER)
        spans.append(Span(own, next(asked, _BEFORE_ALL), "text"))
    return tuple(dict.fromkeys(spans))


MOST_PITFALLS = 5
_SURE = 0.5
"""A cause without a sibling counts only if its kind is more likely than all others together."""

_Place = tuple[FailureKind, int | None, str, str]
"""Kind, the skill's step, the tool at fault, the tool that was needed."""


@dataclass(frozen=True, slots=True)
class FoundPitfall:
    """A pitfall and the spans of the failed and successful runs behind it."""

    pitfall: Pitfall
    spans: tuple[Span, ...]


def found_pitfalls(skill_steps: Sequence[SkillStep], causes: Iterable[FailureCause]) -> tuple[FoundPitfall, ...]:
    """Return the pitfalls of these steps with their spans, the most frequent first."""
    places = {
        step.tool: place for place, step in reversed(list(enumerate(skill_steps))) if _is_meaningful_tool(step.tool)
    }
    gathered: dict[_Place, dict[str, FailureCause]] = {}
    for cause in causes:
        if cause.temporary or not (cause.by_sibling or cause.confidence > _SURE):
            continue
        for place in _skill_places(cause, places):
            gathered.setdefault(place, {}).setdefault(cause.trajectory_id, cause)
    found = [
        _pitfall(place, list(runs.values()))
        for place, runs in gathered.items()
        if len(runs) > 1 or any(cause.by_sibling for cause in runs.values())
    ]
    found.sort(key=lambda each: (-each.pitfall.count, each.pitfall.step or 0, each.pitfall.text))
    return tuple(found[:MOST_PITFALLS])


def _skill_places(cause: FailureCause, places: Mapping[str, int]) -> Iterator[_Place]:
    """Yield where in the skill a cause belongs; nothing if it concerns none of its steps."""
    lacking = [call.tool for call in cause.expected if call.tool in places]
    match cause.kind:
        case FailureKind.NO_ACTION | FailureKind.MISSING_STEP:
            for tool in dict.fromkeys(lacking):
                yield FailureKind.MISSING_STEP, places[tool], "", tool
        case FailureKind.WRONG_TOOL:
            if lacking and _is_meaningful_tool(cause.tool) and cause.tool not in lacking:
                yield cause.kind, places[lacking[0]], cause.tool, lacking[0]
        case FailureKind.EXTRA_STEP:
            if _is_meaningful_tool(cause.tool):
                yield cause.kind, places.get(cause.tool), cause.tool, ""
        case FailureKind.WRONG_ARGUMENTS:
            if cause.tool in places:
                yield cause.kind, places[cause.tool], cause.tool, ""
        case FailureKind.WRONG_END:
            if cause.tool and lacking:
                yield cause.kind, places[lacking[0]], cause.tool, lacking[0]


def _is_meaningful_tool(tool: str) -> bool:
    """Whether the name of a tool says what it does: that of a shell or an editor does not."""
    if not tool or plain_name(tool) in SHELL_TOOLS:
        return False
    return tool_call(Step(index=0, role=Role.AGENT, tool=tool)).kind is ToolKind.FUNCTION


def _pitfall(place: _Place, runs: Sequence[FailureCause]) -> FoundPitfall:
    kind, step, tool, needed = place
    spans = tuple(dict.fromkeys(span for cause in runs for span in cause.spans))
    text = _pitfall_text(kind, tool, needed, keys=_shared_keys(runs), known=step is not None)
    return FoundPitfall(Pitfall(text=text, kind=kind.value, step=step, count=len(runs)), spans)


def _shared_keys(runs: Sequence[FailureCause]) -> tuple[str, ...]:
    """Return the arguments that at least half of the runs got wrong."""
    names = dict.fromkeys(key for cause in runs for key in cause.keys)
    return tuple(name for name in names if 2 * sum(name in cause.keys for cause in runs) >= len(runs))


def _pitfall_text(kind: FailureKind, tool: str, needed: str, *, keys: tuple[str, ...], known: bool) -> str:
    match kind:
        case FailureKind.WRONG_TOOL:
            return f"Calling {tool} where {needed} is needed."
        case FailureKind.EXTRA_STEP:
            return f"Calling {tool} again, or for more than was asked." if known else f"Calling {tool} as well."
        case FailureKind.WRONG_ARGUMENTS:
            return f"Wrong values for {', '.join(keys)} of {tool}." if keys else f"Wrong values for {tool}."
        case FailureKind.WRONG_END:
            return f"Ending with {tool} instead of going on with {needed}."
        case _:
            return f"Leaving out {needed}."
