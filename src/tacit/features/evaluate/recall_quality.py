"""Measures recall: labelled questions (JSON lines or CSV) → how well skills are ranked, and whether recall abstains.

A question whose skill is in the library should return it; one whose skill is not there (no labels, or asked again without
the labelled skills) should return nothing. The AUROC of the confidence shows how well both can be distinguished at any
threshold. Nothing is stored.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Kind
from tacit.evidence.statistics import wilson
from tacit.features.evaluate.estimates import Estimate, auroc, bootstrap, mean

if TYPE_CHECKING:
    from tacit.api import Tacit

SHOWN_FAULTS = 5
HIGHEST_GRADE = 1_000_000
KNOWN_FIELDS = frozenset({"query", "relevant", "tools", "state", "kinds", "id", "note"})
_FORM = '{"query": "what is asked", "relevant": ["name of a skill"]}, with "relevant": [] where nothing should come'
_TABLE_FORM = (
    '"what is asked","name of a skill;name of another", with nothing behind the comma where nothing should come'
)
STATE_FIELDS = frozenset({"error", "command", "last_action", "files", "environment", "readings", "holds"})
"""The fields of a state that recall reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A question, the labels (names or ids) of the right skills with grades, and the situation."""

    text: str
    relevant: Mapping[str, float] = field(default_factory=dict)
    """Empty means that nothing should be returned."""
    tools: tuple[str, ...] | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[Kind, ...] | None = None
    line: int = 0
    """The line in the file; 0 if there is none."""


def read_questions(text: str, *, source: str = "the questions", table: bool = False) -> list[LabelledQuery]:
    """Read all questions of a text: JSON lines, or a CSV table with labels separated by `;`."""
    found: list[LabelledQuery] = []
    faults: list[str] = []
    form = _TABLE_FORM if table else _FORM
    text = text.removeprefix("\ufeff")
    for line, read in _table(text, source) if table else _lines(text):
        try:
            found.append(_question(read(), line))
        except (ValueError, RecursionError) as error:
            faults.append(f"line {line}: {_parse_error(error)}")
    if faults:
        more = f"; and {len(faults) - SHOWN_FAULTS} more" if len(faults) > SHOWN_FAULTS else ""
        hint = f"a line reads: {form}"
        raise Mistake(f"{source}: {'; '.join(faults[:SHOWN_FAULTS])}{more}", code="bad_questions", hint=hint)
    if not found:
        raise Mistake(f"{source} has no questions", code="no_questions", hint=f"write one line for each: {form}")
    return found


def _lines(text: str) -> Iterator[tuple[int, Callable[[], Any]]]:
    # not splitlines(): JSON strings may contain other line separators
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, partial(json.loads, line)


def _table(text: str, source: str) -> Iterator[tuple[int, Callable[[], Any]]]:
    rows = _rows(text, source)
    _, names = next(rows, (1, [""]))
    columns = [name.strip() for name in names]
    if missing := sorted({"query", "relevant"} - set(columns)):
        details = f"{source} line 1 names no column {' and '.join(missing)}"
        others = [mark for sign, mark in ((";", "semicolons"), ("\t", "tabs")) if any(sign in name for name in names)]
        parted = f", separated by commas, not {others[0]}" if others else ""
        raise Mistake(details, code="missing_column", hint=f"the first line names the columns: query,relevant{parted}")
    if doubled := next((name for name in columns if name and columns.count(name) > 1), ""):
        hint = "leave one of them out"
        raise Mistake(f"{source} line 1 has the column {doubled} twice", code="repeated_column", hint=hint)
    for line, row in rows:
        yield line, partial(_cells, columns, row)


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty, with its first line number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            details = f"{source} line {line} is not a CSV row: {error}"
            hint = f"close each quote, double those within a text, and cut long texts; a line reads: {_TABLE_FORM}"
            raise Mistake(details, code="bad_csv", hint=hint) from error
        if row:
            yield line, row


def _cells(columns: list[str], row: list[str]) -> dict[str, Any]:
    if len(row) > len(columns):
        raise ValueError(f"{len(row)} columns, but line 1 has {len(columns)}; put a text with a comma in quotes")
    cells = dict(zip(columns, row, strict=False))
    if "relevant" not in cells:
        raise ValueError("the column `relevant` is missing; leave it empty after a comma if nothing should come")
    details = {name: _split_cell(cells[name]) for name in ("tools", "kinds") if cells.get(name)}
    return {"query": cells.get("query"), "relevant": _split_cell(cells["relevant"]), **details}


def _split_cell(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";") if part.strip()]


def _question(row: Any, line: int) -> LabelledQuery:
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    if unknown := sorted(set(row) - KNOWN_FIELDS):
        raise ValueError(f"it has an unknown field {unknown[0]!r}")
    text = row.get("query")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("`query` is missing or empty")
    if "relevant" not in row:
        raise ValueError("`relevant` is missing")
    state = row.get("state") or {}
    if not isinstance(state, dict):
        raise ValueError("`state` is not a JSON object")
    if unknown := sorted(set(state) - STATE_FIELDS):
        raise ValueError(f"`state` has an unknown field {unknown[0]!r}; there are {', '.join(sorted(STATE_FIELDS))}")
    kinds = _name_list(row, "kinds")
    grades, tools = _grades(row["relevant"]), _name_list(row, "tools")
    if unknown := [name for name in kinds or () if name not in set(Kind)]:
        raise ValueError(f"{unknown[0]!r} is not a kind; use one of {', '.join(Kind)}")
    return LabelledQuery(
        text=text,
        relevant=grades,
        tools=tools,
        state=state,
        kinds=None if kinds is None else tuple(map(Kind, kinds)),
        line=line,
    )


def _grades(given: Any) -> dict[str, float]:
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list):
        given = {label: 1.0 for label in given if _is_label(label)}
    if not isinstance(given, dict):
        raise ValueError("`relevant` is neither a list of names nor an object of names and grades")
    grades: dict[str, float] = {}
    for label, grade in given.items():
        if isinstance(grade, bool) or not isinstance(grade, int | float) or not 0 <= grade <= HIGHEST_GRADE:
            raise ValueError(f"the grade of {label!r} is not a number from 0 to {HIGHEST_GRADE}")
        if _is_label(label) and grade > 0:
            grades[label.strip()] = float(grade)
    return grades


def _is_label(label: Any) -> bool:
    if not isinstance(label, str) or not label.strip():
        raise ValueError("`relevant` has an entry that is not a name")
    return True


def _name_list(row: Mapping[str, Any], part: str) -> tuple[str, ...] | None:
    given = row.get(part)
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ValueError(f"`{part}` is not a list of names")
    return tuple(given)


def _parse_error(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "no JSON that can be read (nested too deeply)"
    return f"no JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else str(error)


def rank_of_first(ranked: Sequence[str], grades: Mapping[str, float]) -> int | None:
    """Return the rank of the first right one, from 1; None if there is none."""
    return next((place for place, one in enumerate(ranked, start=1) if grades.get(one, 0.0) > 0), None)


def hit(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """1 if the first one is right, else 0."""
    return float(rank_of_first(ranked[:1], grades) == 1)


def recall_at(ranked: Sequence[str], grades: Mapping[str, float], *, k: int = 5) -> float:
    """Return the share of the right ones among the first k."""
    right = {one for one, grade in grades.items() if grade > 0}
    return len(right.intersection(ranked[:k])) / len(right) if right else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """Return 1 / rank of the first right one; 0 if there is none."""
    place = rank_of_first(ranked, grades)
    return 1 / place if place else 0.0


def ndcg_at(ranked: Sequence[str], grades: Mapping[str, float], *, k: int = 10) -> float:
    """Return the normalised discounted cumulative gain of the first k."""
    found = math.fsum(grades.get(one, 0.0) / math.log2(place + 1) for place, one in enumerate(ranked[:k], start=1))
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    ideal = math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(best, start=1))
    return found / ideal if ideal else 0.0


CONSIDERED = 50
"""How many skills are ranked: more than anyone reads, so that late ones are seen too."""
UNLIMITED = 10_000_000
"""Token budget: what fits the question is measured, not what fits into a context."""
MEASURES: Mapping[str, Callable[[Sequence[str], Mapping[str, float]], float]] = {
    "hit@1": hit,
    "R@5": recall_at,
    "MRR": reciprocal_rank,
    "NDCG@10": ndcg_at,
}
"""Measures of the ranking, including skills below the threshold."""
GIVEN_FIRST = "given@1"
"""Share of questions whose first returned skill is right; returning nothing counts as wrong."""
SHOWN_UNKNOWN = 5
ROUNDS = 1000
Z_TWO_SIDED_95 = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The result of one question."""

    question: LabelledQuery
    grades: Mapping[str, float]
    """Ids of the right skills → grades; empty if the skill is not here."""
    ranked: tuple[str, ...]
    """Ids of the ranked skills, best first."""
    given: int
    """How many of the first were returned; of norms that apply to every task only the right ones count."""
    confidence: float
    confidence_without: float | None = None
    """The same without the right skills, and how many were returned then, if asked."""
    given_without: int | None = None
    came_without: tuple[str, ...] = ()
    """Ids of the skills that were returned then."""

    @property
    def is_here(self) -> bool:
        """Whether a right skill is in the library."""
        return bool(self.grades)

    @property
    def rank(self) -> int | None:
        """The rank of the first right skill, from 1."""
        return rank_of_first(self.ranked, self.grades)

    @property
    def is_right(self) -> bool:
        """Whether the first returned skill is right, or nothing was returned if nothing fits."""
        return self.given > 0 and self.rank == 1 if self.is_here else self.given == 0

    @property
    def spoke_without(self) -> bool:
        """Whether something was returned although the right skills were left out."""
        return bool(self.given_without)

    @property
    def figures(self) -> dict[str, float]:
        """Whether the first returned skill is right, and every measure of the ranking."""
        ranking = {name: measured(self.ranked, self.grades) for name, measured in MEASURES.items()}
        return {GIVEN_FIRST: float(self.is_here and self.is_right), **ranking}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """How often recall was right: for questions whose skill is here, and for others."""

    correct: int = 0
    wrong: int = 0
    missed: int = 0
    correctly_empty: int = 0
    false_positive: int = 0
    """Something was returned although nothing fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReport:
    """All results and their figures."""

    answers: tuple[QueryResult, ...]
    figures: Mapping[str, Estimate]
    """Measure → mean over the questions whose skill is here."""
    presence_auroc: Estimate | None
    """AUROC of the confidence for distinguishing "here" from "not here"; None if one of both was not asked."""
    counts: AnswerCounts
    names: Mapping[str, str] = field(default_factory=dict)
    """Skill id → name."""

    @property
    def worst(self) -> list[QueryResult]:
        """The failures, worst first: right skills that came late or never, and skills returned when nothing fits."""
        wrong = [answer for answer in self.answers if not answer.is_right or answer.spoke_without]
        return sorted(wrong, key=_success_key)


def _success_key(answer: QueryResult) -> tuple[float, float]:
    """Sort key: the worst failure first, and the most confident first."""
    if answer.spoke_without:
        return 0.0, -max(answer.confidence_without or 0.0, 0.0 if answer.is_right else answer.confidence)
    return (1 / answer.rank if answer.rank else 0.0), -answer.confidence


def measure(
    memory: Tacit,
    questions: Sequence[LabelledQuery],
    *,
    leave_out: bool = False,
    unknown_absent: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> RecallReport:
    """Ask every question, with `leave_out` again without its right skills. `progress` is called with done and total.

    A label that no skill has is a mistake; with `unknown_absent` it means a skill that is not here.
    """
    library = _Library(memory)
    grades = [library.grades(question) for question in questions]
    if library.unknown and not unknown_absent:
        raise library.mistake()
    answers: list[QueryResult] = []
    for at, (question, right) in enumerate(zip(questions, grades, strict=True), start=1):
        answers.append(_ask(memory, library, question, right, leave_out=leave_out))
        if progress:
            progress(at, len(questions))
    here = [answer for answer in answers if answer.is_here]
    measured = [answer.figures for answer in here]
    return RecallReport(
        answers=tuple(answers),
        figures={name: _estimate([each[name] for each in measured]) for name in (measured[0] if measured else ())},
        presence_auroc=_presence_auroc(answers),
        counts=_count_answers(answers),
        names=library.names,
    )


class _Library:
    """Finds the skills that a label means."""

    def __init__(self, memory: Tacit) -> None:
        held = memory.skills(statuses=RECALLABLE)
        self._memory = memory
        self.names = {stored.skill.id: stored.version.name for stored in held}
        self.skill_of = {stored.version.id: stored.skill.id for stored in held}
        self.unknown: dict[str, int] = {}
        self._by_label: dict[str, set[str]] = {}
        for stored in held:
            for label in (stored.version.name, stored.skill.id, stored.version.id):
                self._by_label.setdefault(label, set()).add(stored.skill.id)

    def grades(self, question: LabelledQuery) -> dict[str, float]:
        found: dict[str, float] = {}
        for label, grade in question.relevant.items():
            if label not in self._by_label:
                self.unknown.setdefault(label, question.line)
            for skill_id in self._by_label.get(label, ()):
                found[skill_id] = max(grade, found.get(skill_id, 0.0))
        return found

    def mistake(self) -> Mistake:
        shelved = {stored.version.name: stored.status for stored in self._memory.skills()}
        details = [self._near(label, line, shelved) for label, line in list(self.unknown.items())[:SHOWN_UNKNOWN]]
        more = f"; and {len(self.unknown) - SHOWN_UNKNOWN} more" if len(self.unknown) > SHOWN_UNKNOWN else ""
        return Mistake(
            f"no skill that recall may return has these labels: {'; '.join(details)}{more}",
            code="unknown_labels",
            hint="see the names with `tacit skills`, or take them as skills that are not here: --unknown-absent",
        )

    def _near(self, label: str, line: int, shelved: Mapping[str, str]) -> str:
        if label in shelved:
            return f"{label!r} (line {line}), which is {shelved[label]}"
        names = difflib.get_close_matches(label, sorted(set(self.names.values())), n=3, cutoff=0.5)
        return f"{label!r} (line {line})" + (f", nearest {', '.join(names)}" if names else "")


def _ask(
    memory: Tacit, library: _Library, question: LabelledQuery, grades: Mapping[str, float], *, leave_out: bool
) -> QueryResult:
    asked = _weigh(memory, question, ())
    again = _weigh(memory, question, tuple(grades)) if leave_out and grades else None
    given = given_skills(asked, grades)
    return QueryResult(
        question=question,
        grades=grades,
        ranked=tuple(dict.fromkeys([*given, *weighed_skills(asked, library.skill_of)])),
        given=len(given),
        confidence=asked.confidence,
        confidence_without=again.confidence if again else None,
        given_without=len(again.items) if again else None,
        came_without=tuple(item.version.skill_id for item in again.items) if again else (),
    )


def _weigh(memory: Tacit, question: LabelledQuery, without: Collection[str]) -> Selection:
    query = Query(
        text=question.text,
        k=CONSIDERED,
        budget_tokens=UNLIMITED,
        scope=memory.context.scope,
        state=question.state,
        tools=question.tools,
        kinds=question.kinds,
        without=tuple(without),
    )
    return memory.rank(query)


def given_skills(selection: Selection, right: Collection[str]) -> list[str]:
    """Return the ids of returned skills, best first, then the right ones among the norms.

    Norms apply to every task, so the others are no answer to the question.
    """
    standing = [item.version.skill_id for item in selection.standing]
    given = [item.version.skill_id for item in selection.items]
    return list(dict.fromkeys([*given, *(skill_id for skill_id in standing if skill_id in right)]))


def weighed_skills(selection: Selection, skill_of: Mapping[str, str]) -> list[str]:
    """Return the ids of skills that were ranked and left out, best first."""
    # without a score it was never ranked: scope, kind or tools excluded it
    weighed = sorted((one for one in selection.left_out if one.score > 0), key=lambda one: -one.score)
    return [skill_of.get(one.version_id, one.version_id) for one in weighed]


def _estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of figures from 0 to 1. Shares get the Wilson interval, because resampling equal values gives
    none."""
    drawn = bootstrap(values, mean, rounds=ROUNDS)
    assert drawn is not None
    is_share = drawn.low == drawn.high or set(values) <= {0.0, 1.0}
    return _of_share(drawn, len(values)) if is_share else drawn


def _of_share(drawn: Estimate, trials: int) -> Estimate:
    low, high = wilson(drawn.value * trials, trials, z=Z_TWO_SIDED_95)
    return replace(drawn, low=min(low, drawn.value), high=max(high, drawn.value))


def _presence_auroc(answers: Sequence[QueryResult]) -> Estimate | None:
    scored: list[tuple[float, bool]] = []
    groups: list[int] = []
    for at, answer in enumerate(answers):
        pairs = ((answer.confidence, answer.is_here), (answer.confidence_without, False))
        known = [(confidence, is_here) for confidence, is_here in pairs if confidence is not None]
        scored += known
        groups += [at] * len(known)
    drawn = bootstrap(scored, auroc, groups=groups, rounds=ROUNDS)
    if drawn is None or drawn.low < drawn.high:
        return drawn
    here = sum(positive for _, positive in scored)
    return _of_share(drawn, min(here, len(scored) - here))  # no more certain than a share of the rarer of the two


def _count_answers(answers: Sequence[QueryResult]) -> AnswerCounts:
    here = [answer for answer in answers if answer.is_here]
    absent = [answer.given for answer in answers if not answer.is_here]
    absent += [answer.given_without for answer in answers if answer.given_without is not None]
    return AnswerCounts(
        correct=sum(answer.is_right for answer in here),
        wrong=sum(answer.given > 0 and not answer.is_right for answer in here),
        missed=sum(answer.given == 0 for answer in here),
        correctly_empty=sum(given == 0 for given in absent),
        false_positive=sum(given > 0 for given in absent),
    )
