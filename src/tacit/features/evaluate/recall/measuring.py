"""Questions with labels, asked of a memory → how well it ranks, and how well it knows when it has nothing. Writes nothing.

A question whose skill is in the library should bring it; one whose skill is not (no labels, or asked again with the
labelled skills left out) should bring silence. Whether it is silent hangs on a threshold; how well it could tell the two
apart at any threshold is the AUROC of its confidence. What was given first is one figure, in which silence is a miss; how
good the ranking is, whether it was given or not, are others.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Stored
from tacit.domain.scope import Scope
from tacit.domain.selection import Query, Selection
from tacit.evidence.statistics import Estimate, auroc, bootstrap, mean, wilson
from tacit.features.evaluate.recall.questions import Question
from tacit.features.evaluate.recall.ranking import hit, ndcg_at, rank_of_first, recall_at, reciprocal_rank

CONSIDERED = 50
"""How many skills are asked for: more than anyone reads, so that late ones are seen too."""
UNLIMITED = 10_000_000
"""Tokens: what is measured is what fits the question, not what fits into a context."""
MEASURES: Mapping[str, Callable[[Sequence[str], Mapping[str, float]], float]] = {
    "hit@1": hit,
    "R@5": recall_at,
    "MRR": reciprocal_rank,
    "NDCG@10": ndcg_at,
}
"""Of the ranking, whether anything of it was given or not."""
GIVEN_FIRST = "given@1"
"""How often the first that was given is right; where nothing was given, it is not."""
SHOWN_UNKNOWN = 5
ROUNDS = 1000
Z_TWO_SIDED_95 = 1.959963984540054


class Memory(Protocol):
    """What is measured: a library that can be asked without leaving a trace."""

    scope: Scope

    def skills(self, *, statuses: Collection[Status] | None = None) -> list[Stored]:
        """The current version of each skill."""

    def weigh(self, query: Query) -> Selection:
        """All that recall would consider, ranked, and how sure it is; nothing is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came for one question."""

    question: Question
    grades: Mapping[str, float]
    """Ids of the skills that are right → grades; empty where the skill is not here."""
    ranked: tuple[str, ...]
    """Ids of the skills that were weighed, best first."""
    given: int
    """How many of them, from the first, were given; of norms that stand for every task only those that are right."""
    confidence: float
    confidence_without: float | None = None
    """The same with the right skills left out, and how many were given then, where that was asked."""
    given_without: int | None = None
    came_without: tuple[str, ...] = ()
    """Ids of the skills that were given then."""

    @property
    def is_here(self) -> bool:
        """Whether a right skill is in the library."""
        return bool(self.grades)

    @property
    def rank(self) -> int | None:
        """At which place, from 1, the first right skill came."""
        return rank_of_first(self.ranked, self.grades)

    @property
    def is_right(self) -> bool:
        """Whether the best thing happened: the first that was given is right, or nothing was given where nothing fits."""
        return self.given > 0 and self.rank == 1 if self.is_here else self.given == 0

    @property
    def spoke_without(self) -> bool:
        """Whether something was given though the right skills were left out."""
        return bool(self.given_without)

    @property
    def figures(self) -> dict[str, float]:
        """Whether the first that was given is right, and every measure of the ranking."""
        ranking = {name: measured(self.ranked, self.grades) for name, measured in MEASURES.items()}
        return {GIVEN_FIRST: float(self.is_here and self.is_right), **ranking}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking:
    """How often something was given, and whether rightly: where the skill is here, and where it is not."""

    right: int = 0
    wrong: int = 0
    silent: int = 0
    silent_rightly: int = 0
    spoke_of_nothing: int = 0
    """Something was given though nothing fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReport:
    """All answers, and what they come to."""

    answers: tuple[Answer, ...]
    figures: Mapping[str, Estimate]
    """Measure → mean over the questions whose skill is here; empty where there are none."""
    telling: Estimate | None
    """AUROC of the confidence for telling "here" from "not here"; nothing where one of them was not asked."""
    speaking: Speaking
    names: Mapping[str, str] = field(default_factory=dict)
    """Skill id → name."""

    @property
    def worst(self) -> list[Answer]:
        """What went wrong, worst first: right skills that came late or never, and answers where nothing fits.

        Among the latter are those that came when the right skills were left out.
        """
        wrong = [answer for answer in self.answers if not answer.is_right or answer.spoke_without]
        return sorted(wrong, key=_merit)


def _merit(answer: Answer) -> tuple[float, float]:
    """How little went wrong, and among equals how unsure it was."""
    if answer.spoke_without:
        return 0.0, -max(answer.confidence_without or 0.0, 0.0 if answer.is_right else answer.confidence)
    return (1 / answer.rank if answer.rank else 0.0), -answer.confidence


def measure(
    memory: Memory,
    questions: Sequence[Question],
    *,
    leave_out: bool = False,
    unknown_absent: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> RecallReport:
    """Ask every question, with `leave_out` again without its right skills, and sum up. `progress` gets done and total.

    A label that no skill has is a mistake, told with the nearest names; with `unknown_absent` it stands for a skill that
    is not here.
    """
    library = _Library(memory)
    grades = [library.grades(question) for question in questions]
    if library.unknown and not unknown_absent:
        raise library.mistake()
    answers: list[Answer] = []
    for at, (question, right) in enumerate(zip(questions, grades, strict=True), start=1):
        answers.append(_ask(memory, library, question, right, leave_out=leave_out))
        if progress:
            progress(at, len(questions))
    here = [answer for answer in answers if answer.is_here]
    measured = [answer.figures for answer in here]
    return RecallReport(
        answers=tuple(answers),
        figures={name: _estimate([each[name] for each in measured]) for name in (measured[0] if measured else ())},
        telling=_telling(answers),
        speaking=_speaking(answers),
        names=library.names,
    )


class _Library:
    """Which skill a label means."""

    def __init__(self, memory: Memory) -> None:
        held = memory.skills(statuses=RECALLABLE)
        self._memory = memory
        self.names = {stored.skill.id: stored.version.name for stored in held}
        self.skill_of = {stored.version.id: stored.skill.id for stored in held}
        self.unknown: dict[str, int] = {}
        self._by_label: dict[str, set[str]] = {}
        for stored in held:
            for label in (stored.version.name, stored.skill.id, stored.version.id):
                self._by_label.setdefault(label, set()).add(stored.skill.id)

    def grades(self, question: Question) -> dict[str, float]:
        found: dict[str, float] = {}
        for label, grade in question.relevant.items():
            if label not in self._by_label:
                self.unknown.setdefault(label, question.line)
            for skill_id in self._by_label.get(label, ()):
                found[skill_id] = max(grade, found.get(skill_id, 0.0))
        return found

    def mistake(self) -> Mistake:
        shelved = {stored.version.name: stored.status for stored in self._memory.skills()}
        told = [self._near(label, line, shelved) for label, line in list(self.unknown.items())[:SHOWN_UNKNOWN]]
        more = f"; and {len(self.unknown) - SHOWN_UNKNOWN} more" if len(self.unknown) > SHOWN_UNKNOWN else ""
        return Mistake(
            f"no skill that may be recalled has these labels: {'; '.join(told)}{more}",
            hint="see the names with `tacit skills list`, or take them as skills that are not here: --unknown-absent",
        )

    def _near(self, label: str, line: int, shelved: Mapping[str, str]) -> str:
        if label in shelved:
            return f"{label!r} (line {line}), which is {shelved[label]}"
        names = difflib.get_close_matches(label, sorted(set(self.names.values())), n=3, cutoff=0.5)
        return f"{label!r} (line {line})" + (f", nearest {', '.join(names)}" if names else "")


def _ask(
    memory: Memory, library: _Library, question: Question, grades: Mapping[str, float], *, leave_out: bool
) -> Answer:
    asked = _weigh(memory, question, ())
    again = _weigh(memory, question, tuple(grades)) if leave_out and grades else None
    given = given_skills(asked, grades)
    return Answer(
        question=question,
        grades=grades,
        ranked=tuple(dict.fromkeys([*given, *weighed_skills(asked, library.skill_of)])),
        given=len(given),
        confidence=asked.confidence,
        confidence_without=again.confidence if again else None,
        given_without=len(again.items) if again else None,
        came_without=tuple(item.version.skill_id for item in again.items) if again else (),
    )


def _weigh(memory: Memory, question: Question, without: Collection[str]) -> Selection:
    query = Query(
        text=question.text,
        k=CONSIDERED,
        budget_tokens=UNLIMITED,
        scope=memory.scope,
        state=question.state,
        tools=question.tools,
        kinds=question.kinds,
        without=tuple(without),
    )
    return memory.weigh(query)


def given_skills(selection: Selection, right: Collection[str]) -> list[str]:
    """Ids of the skills that were given, best first, then of the right ones among the norms that stand.

    Norms stand for every task: those that nobody asked for here are no answer to this question, right or wrong.
    """
    standing = [item.version.skill_id for item in selection.standing]
    given = [item.version.skill_id for item in selection.items]
    return list(dict.fromkeys([*given, *(skill_id for skill_id in standing if skill_id in right)]))


def weighed_skills(selection: Selection, skill_of: Mapping[str, str]) -> list[str]:
    """Ids of the skills that were weighed and left out, best first."""
    # What has no score was never weighed: its scope, kind or tools kept it out.
    weighed = sorted((one for one in selection.left_out if one.score > 0), key=lambda one: -one.score)
    return [skill_of.get(one.version_id, one.version_id) for one in weighed]


def _estimate(values: Sequence[float]) -> Estimate:
    """The mean of figures from 0 to 1. A share has the interval of Wilson: drawing again finds nothing that was not there."""
    drawn = bootstrap(values, mean, rounds=ROUNDS)
    assert drawn is not None
    if drawn.low < drawn.high and not set(values) <= {0.0, 1.0}:
        return drawn
    return _of_share(drawn, len(values))


def _of_share(drawn: Estimate, trials: int) -> Estimate:
    low, high = wilson(drawn.value * trials, trials, z=Z_TWO_SIDED_95)
    return replace(drawn, low=min(low, drawn.value), high=max(high, drawn.value))


def _telling(answers: Sequence[Answer]) -> Estimate | None:
    scored: list[tuple[float, bool]] = []
    groups: list[int] = []
    for at, answer in enumerate(answers):
        scored.append((answer.confidence, answer.is_here))
        groups.append(at)
        if answer.confidence_without is not None:
            scored.append((answer.confidence_without, False))
            groups.append(at)
    drawn = bootstrap(scored, auroc, groups=groups, rounds=ROUNDS)
    if drawn is None or drawn.low < drawn.high:
        return drawn
    here = sum(positive for _, positive in scored)
    return _of_share(drawn, min(here, len(scored) - here))  # no surer than a share of the rarer of the two


def _speaking(answers: Sequence[Answer]) -> Speaking:
    here = [answer for answer in answers if answer.is_here]
    absent = [answer.given for answer in answers if not answer.is_here]
    absent += [answer.given_without for answer in answers if answer.given_without is not None]
    return Speaking(
        right=sum(answer.is_right for answer in here),
        wrong=sum(answer.given > 0 and not answer.is_right for answer in here),
        silent=sum(answer.given == 0 for answer in here),
        silent_rightly=sum(given == 0 for given in absent),
        spoke_of_nothing=sum(given > 0 for given in absent),
    )
