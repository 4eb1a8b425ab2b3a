"""A skill → the acts that it asks for, step by step, and those that it says not to do.

A step with a tool is taken at its word. Of prose only what is set as code can be looked for: in `Run ``x``, never ``y``` the
first is wanted and the second is not. A step that names nothing of the kind cannot be looked for, and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacit.domain.skill import Kind, Pitfall, SkillContent, SkillStep
from tacit.text.operation_matching import is_specific
from tacit.text.tool_calls import Effect, Operation, operations_of, plain_name, shell_operations

WEIGHTS = {Effect.READ: 0.25, Effect.CHECK: 0.5, Effect.WRITE: 1.0}
"""What an act says of having followed a skill: everybody looks around, and most check."""
_SPAN = re.compile(r"`([^`\n]{2,300})`")
_CALL = re.compile(r"([A-Za-z]\w*)\((.*)\)", re.DOTALL)
_NOT = r"(?:do not|don['’]?t|never|avoid|instead of|rather than|not|without|no longer|stop)"
_FILLING = r"(?:\s+(?:ever|just|to|do|the|an?|any|run|running|call|calling|use|using|edit|editing|write|writing))*"
_FORBIDDING = re.compile(
    rf"(?:\b{_NOT}{_FILLING}|^\s*(?:running|calling|using|editing|deleting|pushing|committing))\s*$", re.IGNORECASE
)
"""A negation right before what is named, or the beginning of a pitfall: "Running `x` first"."""
_UNCLEAR = re.compile(rf"\b{_NOT}\b|^\s*(?:if|when|where|after|before|unless|once|until)\b", re.IGNORECASE)
"""What is named in a condition, or further behind a negation, is neither asked for nor forbidden."""
_HANGING = re.compile(rf"\b{_NOT}\s*$", re.IGNORECASE)
_FAILING = re.compile(
    r"\s*(?:does not|doesn['’]?t|is not|isn['’]?t|cannot|can['’]?t|fails?|failed|no longer)\b", re.IGNORECASE
)
"""What is said of something right behind its name, where it is no advice."""
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
_CLAUSE_END = re.compile(r"[,:](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One act that a skill asks for."""

    act: Operation
    step: int
    optional: bool = False

    @property
    def weight(self) -> float:
        """How much doing it says."""
        return WEIGHTS[self.act.effect]


def wanted_of(content: SkillContent) -> tuple[Wanted, ...]:
    """What a skill asks for, in order; the text speaks where there are no steps."""
    steps = content.steps or (SkillStep(text=_telling(content)),)
    return tuple(
        Wanted(act, number, step.optional)
        for number, step in enumerate(steps)
        for act in _acts(step)
        if is_specific(act)
    )


def banned_of(content: SkillContent) -> tuple[Operation, ...]:
    """What a skill says not to do: in its rules, its steps, and the pitfalls that somebody wrote."""
    texts = [step.text for step in content.steps if not step.tool]
    if content.kind in (Kind.NORM, Kind.PREFERENCE) or not content.steps:
        texts += [content.description, content.body]
    written = [pitfall.text for pitfall in content.pitfalls if not pitfall.kind]
    spoken = [act for text in (*texts, *written) for act, is_meant in _spoken(text) if is_meant is False]
    wanted = {(each.act.name, each.act.line) for each in wanted_of(content)}
    return tuple(act for act in spoken if (act.name, act.line) not in wanted)


def wrong_ends(pitfalls: Sequence[Pitfall], steps: Sequence[SkillStep]) -> Iterator[tuple[str, int]]:
    """Tools that runs are known to have ended with, or to have called besides, and the step that was due."""
    for pitfall in pitfalls:
        if pitfall.kind == "wrong end" and pitfall.step is not None and pitfall.step < len(steps):
            named = re.search(r"with `?([\w.-]+)`?", pitfall.text)
            if named:
                yield plain_name(named[1]), pitfall.step


def _acts(step: SkillStep) -> tuple[Operation, ...]:
    if step.tool:
        return operations_of(step.tool, step.arguments)
    return tuple(act for act, is_meant in _spoken(step.text) if is_meant)


def _telling(content: SkillContent) -> str:
    """The text that says what to do: of a lesson only the fix, not the problem."""
    fix = content.body.partition("**Fix.**")[2].partition("\n\n")[0] if content.kind is Kind.LESSON else ""
    return fix or f"{content.description}\n{content.body}"


def _spoken(text: str) -> Iterator[tuple[Operation, bool | None]]:
    """What a text names as code, each with whether it is to be done, or not to be done; nothing where that is not clear."""
    before = 0
    for span in _SPAN.finditer(text):
        lead = _SENTENCE_END.split(text[before : span.start()])[-1]
        before = span.end()
        is_meant = None if _FAILING.match(text, span.end()) else _is_meant(_CLAUSE_END.split(lead))
        yield from ((act, is_meant) for act in _read(span[1].strip()))


def _is_meant(clauses: Sequence[str]) -> bool | None:
    """What the words before a piece of code make of it; the last clause decides."""
    if _FORBIDDING.search(clauses[-1]):
        return False
    hanging = any(_HANGING.search(clause) for clause in clauses[:-1])
    return None if hanging or _UNCLEAR.search(clauses[-1]) else True


def _read(code: str) -> tuple[Operation, ...]:
    """What a piece of code does, if it is a call or a command; a file or a value is neither."""
    called = _CALL.fullmatch(code)
    if called or re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)+", code):
        return operations_of(called[1] if called else code, {})
    if re.fullmatch(r"[a-z][\w.+-]*(?: .+)?", code, re.DOTALL) and not re.fullmatch(r"\S+\.\w{1,5}", code):
        return shell_operations(code)
    return ()
