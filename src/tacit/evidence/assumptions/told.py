"""What people and tools said: a correction that cannot be had with the assumption, a refusal, a reading, an error. Pure.

A sentence counts only where both cannot be followed, or both choose the same in place of the same; that two texts speak of one
thing shows nothing. A reading counts only where the answer has the very field.
"""

from __future__ import annotations

import re

from tacit.domain.moment import Held
from tacit.domain.skill import Condition
from tacit.domain.trajectory import StepResult
from tacit.evidence.assumptions.run import Run, Settled, quoted
from tacit.text.facts import TASK, Facts, facts, identifiers, satisfied
from tacit.text.opposition import opposed, sayings
from tacit.text.shell import parse_command

_SAID_MAX = 2_000
"""A longer message states a task or holds pasted text."""
_WANTS = re.compile(
    r"^\W*(?:the (?:person|user|customer|team|project)|they|he|she|we|i)\s+(?:wants? (?:me |us )?to|prefers?|likes?(?: to)?|"
    r"expects?|may|can|should|must)\s+|^\W*it(?:'s| is) (?:fine|ok(?:ay)?|allowed|all right) to\s+",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"\b(?:somebody|someone|they|he|she|docs?|documentation|readme) (?:told|said|says?|thinks?|wants?|wanted)\b",
    re.IGNORECASE,
)
"""What somebody else is said to have said is not the person's own word."""
_PREFERRING = re.compile(r"\b(?:prefer|like)", re.IGNORECASE)
_ERROR = re.compile(r"`([^`\n]{3,120})`|[“\"]([^“”\"\n]{3,120})[”\"]")


def by_people(run: Run, text: str) -> Settled | None:
    """A person's words that plainly say otherwise, or plainly the same; the last such words count."""
    found: Settled | None = None
    for said, span in run.said:
        if len(said) > _SAID_MAX or said.rstrip().endswith("?") or _HEARSAY.search(said):
            continue
        for rule in dict.fromkeys((text, _as_rule(text))):
            if opposed(rule, said):
                told = " ".join(said.split())[:200]
                found = Settled(
                    held=Held.WRONG,
                    reason="a person said otherwise",
                    instead=f"a person said: {told}",
                    quote=told,
                    spans=(span,),
                )
            elif _chooses_alike(rule, said):
                found = Settled(held=Held.HELD, reason="a person said the same", spans=(span,))
    return found


def by_refusal(run: Run, text: str) -> Settled | None:
    """A command that an assumption names and that was not allowed."""
    for named in re.findall(r"`([^`\n]{1,200})`", text):
        wanted = run.comparable(named) if parse_command(named) else ""
        for call in run.calls:
            if call.step.result is StepResult.DENIED and wanted and call.command == wanted:
                told = f"`{named}` was refused"
                reason = f"{told} (step {call.step.index})"
                return Settled(held=Held.WRONG, reason=reason, instead=told, spans=(run.span(call.step),))
    return None


def by_reading(run: Run, condition: Condition | None) -> Settled | None:
    """The first answer of a tool that has the field which a condition speaks of."""
    if condition is None or not condition.relation or condition.reading in ("", TASK):
        return None
    answers = [(call, facts(call.step.observation)) for call in run.calls if _is_reading(call.step.tool, condition)]
    telling = [(call, shown) for call, shown in answers if condition.key in shown]
    named = identifiers(run.trajectory.task.text)
    meant = [(call, shown) for call, shown in telling if _names(shown, call.step.arguments, named)]
    for call, shown in meant or telling:
        spans = (run.span(call.step), run.span(call.step, "observation"))
        what = ", ".join(shown[condition.key])[:120]
        where = f"`{condition.reading}` showed it (step {call.step.index})"
        if satisfied(condition.relation, shown, condition.key, condition.value):
            return Settled(held=Held.HELD, reason=where, spans=spans)
        instead = f"`{condition.reading}` shows another `{condition.key}`"
        reason = f"{instead} (step {call.step.index})"
        return Settled(held=Held.WRONG, reason=reason, instead=instead, quote=f"{condition.key}: {what}", spans=spans)
    return None


def by_error(run: Run, text: str) -> Settled | None:
    """A feared error, named word for word, that a failing call showed."""
    for pair in _ERROR.findall(text):
        wanted = (pair[0] or pair[1]).casefold()
        for call in run.calls:
            if call.worked is not True and call.step.failed and wanted in call.step.observation.casefold():
                spans = (run.span(call.step), run.span(call.step, "observation"))
                reason = f"it came about (step {call.step.index})"
                return Settled(held=Held.HELD, reason=reason, quote=quoted(call.step.observation), spans=spans)
    return None


def _as_rule(text: str) -> str:
    """What somebody is taken to want as the sentence in which they would say it."""
    match = _WANTS.match(text)
    if match is None:
        return text
    rest = text[match.end() :]
    return f"Prefer {rest}" if _PREFERRING.search(match.group()) else rest[:1].upper() + rest[1:]


def _chooses_alike(rule: str, said: str) -> bool:
    """Whether both take the same in place of the same."""
    ours, theirs = sayings(rule), sayings(said)
    return any(
        one.chosen and one.left and one.chosen & other.chosen and one.left & other.left
        for one in ours
        for other in theirs
    )


def _is_reading(tool: str, condition: Condition) -> bool:
    return tool == condition.reading or tool.endswith((f"__{condition.reading}", f".{condition.reading}"))


def _names(shown: Facts, arguments: object, named: list[str]) -> bool:
    told = f"{arguments} {shown}"
    return any(name in told for name in named)
