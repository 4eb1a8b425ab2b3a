"""Assumptions: did an assumption hold in a run? Returns held, wrong or unknown, with the steps that show it.

Evidence in this order: clear words or a refusal of the user, a check that the run made, a reading, a named command,
what exists, the changed files, stated amounts. *Unknown* is the usual answer: that two texts use the same words shows
nothing. An amount counts only with its unit; an estimate is right within 1.5 times and wrong beyond twice. Runs
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from tacit.domain.skill import Condition
from tacit.domain.trajectory import Span, Step, Trajectory
from tacit.features.people.assumption_evidence import (
    UNKNOWN,
    AssumptionResult,
    AssumptionRun,
    by_check,
    by_claim,
    by_error,
    by_people,
    by_presence,
    by_reading,
    by_refusal,
    paths_in,
)
from tacit.features.people.ledger_entries import Aspect, Assumption, Held

__all__ = ["AssumptionResult", "compare"]

_CONDITIONAL = re.compile(r"\b(?:if|unless|whenever|in case|suppose)\b|^\W*(?:when|once)\b", re.IGNORECASE)
"""A run that may not have met a condition does not decide an assumption that depends on it."""


def compare(assumption: Assumption, trajectory: Trajectory, *, condition: Condition | None = None) -> AssumptionResult:
    """Return the result of an assumption in a run.

    `condition` is the assumption in a form that a tool's output can confirm, where there is one. Steps from before the
    assumption was stated do not count.
    """
    run = AssumptionRun(trajectory, assumption.at)
    text, aspect = assumption.text, assumption.aspect
    if aspect is Aspect.RISK:
        found = by_check(run, assumption.check) or by_error(run, text)
        return found or AssumptionResult(held=Held.UNKNOWN, reason="nothing in the run shows that it came about")
    shown: tuple[Callable[[], AssumptionResult | None], ...] = (
        lambda: by_people(run, text),
        lambda: by_refusal(run, text),
        lambda: by_check(run, assumption.check),
        lambda: by_reading(run, condition),
    )
    read: tuple[Callable[[], AssumptionResult | None], ...] = (
        lambda: by_claim(run, text),
        lambda: by_presence(run, text),
        lambda: by_place(run, text, of_scope=aspect is Aspect.SCOPE),
        lambda: by_amount(run, text) if aspect in (Aspect.COMPLEXITY, Aspect.SCOPE) else None,
        lambda: by_difficulty(run, text) if aspect is Aspect.COMPLEXITY else None,
    )
    answers = shown if _CONDITIONAL.search(text) else (*shown, *read)
    return next((found for answer in answers if (found := answer()) is not None), UNKNOWN)


RIGHT_WITHIN, WRONG_BEYOND = 1.5, 2.0
"""Times an estimate."""
FEW_CALLS, MANY_CALLS, VERY_MANY_CALLS = 6, 30, 60
SOME_FAILURES = 3
_SHOWN_STEPS = 4

_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_NUMBERS = {word: number for number, word in enumerate(_WORDS, start=1)} | {
    "a": 1, "single": 1, "couple": 2, "few": 3, "dozen": 12, "no": 0, "zero": 0
}  # fmt: skip
_NUMBER = r"(?P<number>\d{1,4}|" + "|".join(_NUMBERS) + r")(?: of)?"
_UNITS = {
    "steps": r"(?:tool[ -])?calls?|steps?|actions?|commands?",
    "files": r"files?",
    "retries": r"retr(?:y|ies)|re-?runs?",
    "minutes": r"minutes?|mins?",
}
_AMOUNT = re.compile(
    r"(?P<bound>(?:(?:at|no|not) (?:most|more than|least|fewer than|less than)|up to|under|below|fewer than|less than|"
    r"more than|over|only|just|within|max(?:imum)?(?: of)?|without(?: any)?)\s+)?(?:the |a |an )?" + _NUMBER + r"?[ -](?:\w+ )?"
    r"(?P<unit>" + "|".join(_UNITS.values()) + r")\b",
    re.IGNORECASE,
)  # fmt: skip
_GOES_ON = re.compile(
    r"\s*(?:$|[,.;:!]|(?:should|will|would) (?:do|suffice|change|be (?:enough|changed|touched))\b|(?:is|are) (?:enough|all)\b|"
    r"(?:is|are) affected\b|suffices?\b|(?:have|has|need|needs)(?: to)?(?: be)? (?:touch|chang|edit)\w*|"
    r"to (?:be )?(?:touch|chang|edit)\w*|chang\w+\b|(?:fix|edit|rename|work)\b|of work\b|at most\b|max\b|tops\b|in total\b|"
    r"or so\b|altogether\b|and\b|or\b)",
    re.IGNORECASE,
)
"""What may follow an amount that is one of the work; any other verb or noun makes it one of something else."""
_TOPS = re.compile(r"\s*(?:at most|max|tops)\b", re.IGNORECASE)
_OF_SOMETHING = re.compile(r"\b(?:after|before|every|each|first|last|these|those|of the)\s*$", re.IGNORECASE)
_FIRST_TRY = re.compile(
    r"\b(?:at|on|in) the first (?:attempt|try|go)\b|\bfirst time\b|\bwithout (?:any )?retr(?:y|ies|ying)\b", re.I
)
_EASY = re.compile(r"\b(?:trivial|simple|easy|quick|straight-?forward|small)\b", re.IGNORECASE)
_HARD = re.compile(r"\b(?:hard|complex|complicated|difficult|large|long)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|hardly)\b|n['’]t\b", re.IGNORECASE)

_DESCRIBES = re.compile(r"\b(?:has|have(?! to)|had|contains?|consists? of|there (?:is|are))\b", re.IGNORECASE)
"""A description of a thing is no estimate of the work."""
_REPEATED = re.compile(r"\b(?:each|every|per)\b(?! of (?:them|these))", re.IGNORECASE)
_CLAUSE = re.compile(r"[;!?]\s+|\.\s+|,\s+(?:but|and)\s+(?!nothing)")
_CHANGING = r"(?:touch|chang|edit|modif|updat|adapt|affect)\w*"
_SPEAKS_OF_CHANGE = re.compile(rf"\b{_CHANGING}", re.IGNORECASE)
_EXCEPT = re.compile(
    rf"\bno (?:\w+ )?changes? (?:(?:is|are) )?(?:needed |necessary |required )?(?:to|in)\b|\bwithout {_CHANGING}|"
    rf"(?:\bnot|\bnever|n['’]t|\bno need to) (?:have to |need to |needs? |be |to )*{_CHANGING}|\buntouched\b|\bunaffected\b|"
    r"\b(?:stays?|remains?|is left|are left|left) (?:as (?:it|they) (?:is|are)|the same|unchanged|alone)\b",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\b(?:confined to|limited to|restricted to|nothing (?:but|else|more|outside|beyond)|(?:everything|all(?: \w+)?) "
    r"(?:happens|stays|is|are) (?:in|within|inside)|stays? (?:in|within|inside))\b|"
    rf"\b(?:only|just|solely)\b.*\b(?:{_CHANGING}|involved)\b|\b(?:{_CHANGING}|involved)\b.*\b(?:only|just|solely)\b",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:except|apart from|aside from|besides|other than|but not|unless)\b", re.IGNORECASE)
"""Names exceptions of a limit; a clause with an exception is not judged."""
_MUST = re.compile(
    rf"\b(?:has|have|needs?|must|will|should|got)(?: to)?(?: be)? {_CHANGING}|\b(?:is|are) (?:also )?affected\b", re.I
)


class _Bound(StrEnum):
    MOST = "most"
    LEAST = "least"
    ABOUT = "about"


def by_amount(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """Compare the run with the amounts that an assumption states; None where it states none that can be counted."""
    found = [_counted(run, unit, number, bound) for unit, number, bound in _amounts(text)]
    wrong = next((each for each in found if each is not None and each.held is Held.WRONG), None)
    if wrong is not None or not found or None in found:
        return wrong
    return found[0]


def by_difficulty(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """Compare the run with the stated difficulty; None where the run is not clearly easy or hard."""
    easy, hard = bool(_EASY.search(text)), bool(_HARD.search(text))
    if easy == hard or not run.calls:
        return None
    easy = easy != bool(_NOT.search(text))
    calls, failures = len(run.calls), sum(call.worked is False for call in run.calls)
    measured_text = f"it took {calls} calls, of which {failures} failed"
    if calls >= VERY_MANY_CALLS or (calls >= MANY_CALLS and failures >= SOME_FAILURES):
        return _answer(run, not easy, measured_text, _failures(run))
    if calls <= FEW_CALLS and not failures and run.changed:
        return _answer(run, easy, measured_text, _all(run))
    return None


def by_place(run: AssumptionRun, text: str, *, of_scope: bool = True) -> AssumptionResult | None:
    """Compare the changed files with those that an assumption names as the only, excluded or required ones.

    An assumption that is not `of_scope` must mention changing.
    """
    clauses = [
        (clause, tuple(run.seen(path.rstrip("/")) for path in paths))
        for clause in _CLAUSE.split(text)
        if (paths := paths_in(clause)) and not _BUT.search(clause) and (of_scope or _SPEAKS_OF_CHANGE.search(clause))
    ]
    found = [_placed(run, clause, paths) for clause, paths in clauses]
    wrong = next((each for each in found if each is not None and each.held is Held.WRONG), None)
    if wrong is not None or None in found:
        return wrong
    return found[0] if found else None


def _amounts(text: str) -> Iterator[tuple[str, int, _Bound]]:
    if _DESCRIBES.search(text) or _REPEATED.search(text):
        return
    if _FIRST_TRY.search(text):
        yield "retries", 0, _Bound.MOST
    for match in _AMOUNT.finditer(text):
        amount, bound = (match["number"] or "").casefold(), " ".join((match["bound"] or "").casefold().split())
        unit = next(name for name, words in _UNITS.items() if re.fullmatch(words, match["unit"], re.IGNORECASE))
        before, after = text[: match.start()], text[match.end() :]
        if not amount or _OF_SOMETHING.search(before) or not _GOES_ON.match(after):
            continue
        number = int(amount) if amount.isdigit() else _NUMBERS[amount]
        yield unit, number, _Bound.MOST if _TOPS.match(after) else _bound_of(bound, number)


def _bound_of(bound: str, number: int) -> _Bound:
    if bound in (
        "at least",
        "more than",
        "over",
        "no fewer than",
        "not fewer than",
        "no less than",
        "not less than",
    ):
        return _Bound.LEAST
    return _Bound.MOST if bound or number <= 1 else _Bound.ABOUT


def _counted(run: AssumptionRun, unit: str, stated: int, bound: _Bound) -> AssumptionResult | None:
    measured, spans, sure = _measure(run, unit)
    if measured is None:
        return None
    measured_text = f"there were {measured} {unit}" if measured != 1 else f"there was 1 {_ONE[unit]}"
    reason = f"{measured_text}, and {stated} {'was' if stated == 1 else 'were'} stated"
    if bound is _Bound.MOST:
        right = measured <= stated if sure or measured > stated else None
    elif bound is _Bound.LEAST:
        right = measured >= stated if sure or measured >= stated else None
    else:
        right = _estimated(measured, stated) if sure or measured > stated * WRONG_BEYOND else None
    return None if right is None else _answer(run, right, reason, spans, instead=measured_text)


_ONE = {"steps": "step", "files": "file", "retries": "retry", "minutes": "minute"}


def _estimated(measured: int, stated: int) -> bool | None:
    low, high = sorted((max(measured, 1), max(stated, 1)))
    if high <= low * RIGHT_WITHIN or high - low <= 1:
        return True
    return False if high > low * WRONG_BEYOND else None


def _measure(run: AssumptionRun, unit: str) -> tuple[int | None, tuple[Span, ...], bool]:
    """The measured amount, the steps that show it, and whether it is complete."""
    if not run.calls:
        return None, (), False
    if unit == "steps":
        return len(run.calls), _all(run), True
    if unit == "files":
        spans = tuple(run.span(step) for step in run.changed.values())[:_SHOWN_STEPS]
        return (len(run.changed), spans, not run.vague) if run.changed or run.vague else (None, (), False)
    if unit == "retries":
        again = _retries(run)
        return len(again), again[:_SHOWN_STEPS], True
    times = [call.step.at for call in run.calls if call.step.at]
    return (round((times[-1] - times[0]).total_seconds() / 60), _all(run), True) if times[1:] else (None, (), False)


def _retries(run: AssumptionRun) -> tuple[Span, ...]:
    """Repeated calls that had failed before."""
    failed: set[str] = set()
    again: list[Span] = []
    for call in run.calls:
        if call.command and call.command in failed:
            again.append(run.span(call.step))
        if call.worked is False and call.command:
            failed.add(call.command)
    return tuple(again)


def _placed(run: AssumptionRun, clause: str, paths: tuple[str, ...]) -> AssumptionResult | None:
    inside = {file: step for file, step in run.changed.items() if any(_within(file, path) for path in paths)}
    outside = {file: step for file, step in run.changed.items() if file not in inside}
    named = " and ".join(f"`{path}`" for path in paths)
    if _EXCEPT.search(clause):
        return _none_of(run, named, inside)
    if _MUST.search(clause) and not _ONLY.search(clause):
        if not inside:
            return None  # what was not done may still have to be
        return _answer(run, True, f"{_listed(inside)} changed", tuple(run.span(step) for step in inside.values()))
    if not _ONLY.search(clause) or not run.changed:
        return None
    spans = tuple(run.span(step) for step in (outside or inside).values())[:_SHOWN_STEPS]
    if outside:
        return _answer(run, False, f"{_listed(outside)} changed too, outside {named}", spans)
    return None if run.vague else _answer(run, True, f"all changes were in {named}", spans)


def _none_of(run: AssumptionRun, named: str, inside: Mapping[str, Step]) -> AssumptionResult | None:
    if inside:
        return _answer(run, False, f"{_listed(inside)} changed", tuple(run.span(step) for step in inside.values()))
    if run.vague or not run.changed:
        return None
    spans = tuple(run.span(step) for step in run.changed.values())[:_SHOWN_STEPS]
    return _answer(run, True, f"{named} was left alone", spans)


def _within(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/") or ("/" not in path and file.endswith(f"/{path}"))


def _listed(files: Mapping[str, Step]) -> str:
    shown = [f"`{file}`" for file in list(files)[:3]]
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(shown) + more


def _answer(
    run: AssumptionRun, right: bool, reason: str, spans: tuple[Span, ...], *, instead: str = ""
) -> AssumptionResult:
    held = Held.HELD if right else Held.WRONG
    return AssumptionResult(held=held, reason=reason, instead="" if right else instead or reason, spans=spans)


def _all(run: AssumptionRun) -> tuple[Span, ...]:
    """The first and the last call."""
    return tuple(dict.fromkeys((run.span(run.calls[0].step), run.span(run.calls[-1].step))))


def _failures(run: AssumptionRun) -> tuple[Span, ...]:
    failed = [run.span(call.step) for call in run.calls if call.worked is False]
    return tuple(failed[:_SHOWN_STEPS]) or _all(run)
