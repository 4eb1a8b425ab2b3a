"""English for recall: why a skill fits, why one is left out, why nothing is given, and what could not be searched."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.domain.evidence import Reliability
from tacit.domain.reason_code import ReasonCode
from tacit.text.safe_markdown import shown_line

_LEFT_OUT = {
    ReasonCode.BELOW_THRESHOLD: "less relevant",
    ReasonCode.NEAREST_MISS: "nearest, relevance {relevance:.2f}",
    ReasonCode.ALREADY_SHOWN: "already shown in this session",
    ReasonCode.OVER_LIMIT: "only {k} requested",
    ReasonCode.OVER_BUDGET: "does not fit into the {tokens} tokens left",
    ReasonCode.SAME_CONTENT: "same content as `{other}`",
    ReasonCode.PART_OF_COMPOSITE: "part of `{composite}`",
    ReasonCode.SHADOWED: "shadowed by `{name}` at {scope}",
    ReasonCode.NO_CLOSE_PASSAGE: "no passage is close enough, relevance {relevance:.2f}",
    ReasonCode.NOT_WEIGHED: "more norms hold here than recall weighs",
    ReasonCode.OTHER_SCOPE: "belongs to {scope}",
    ReasonCode.OTHER_KIND: "is a {kind}",
    ReasonCode.OTHER_MOMENT: "comes at the start of a session or at the call it is about (`tacit skills show {name}`)",
    ReasonCode.OTHER_PERSON: "is another person's preference",
    ReasonCode.OTHER_CATEGORY: "category is {category}",
    ReasonCode.EXCLUDED: "excluded by this query",
    ReasonCode.EXCLUDED_MODEL: "is not for {model}",
    ReasonCode.MISSING_TOOLS: "needs {tools}, not available",
    ReasonCode.NOT_ALLOWED: "touches what is not allowed here: {more}",
    ReasonCode.PARTS_MISSING_TOOLS: "its parts need {tools}, not available",
    ReasonCode.PARTS_NOT_ALLOWED: "its parts touch what is not allowed here: {more}",
    ReasonCode.PRECONDITION_FALSE: "precondition does not hold: {condition}",
    ReasonCode.LOW_RELIABILITY: "reliability is {measured}, {wanted:.0%} requested",
}


def left_out_reason(code: ReasonCode, **values: object) -> str:
    """Return why a skill is left out."""
    return _LEFT_OUT[code].format(**values)


def measured_at_least(measured: Reliability) -> str:
    """Return the lower bound of a reliability in words."""
    return f"at least {measured.low:.0%}" if measured.known else "not known yet"


def nothing_close(name: str, relevance: float) -> str:
    """Return that nothing reaches the threshold, and what came nearest."""
    return f"nothing is close enough; the nearest, `{name}`, has relevance {relevance:.2f}"


def nothing_shared(kinds: Sequence[str] | None, scope: str, *, only_common: bool) -> str:
    """Return that no skill has words in common with the task; `scope` is named where others match elsewhere."""
    wanted = " or ".join(kinds) if kinds else "skill"
    here = f" that holds in {shown_line(scope)}" if scope else ""
    return f"no approved {wanted}{here} shares {'more than everyday words' if only_common else 'a word'} with this task"


def nothing_given(code: ReasonCode, **values: object) -> str:
    """Return why nothing is given at all, or nothing of what is relevant."""
    return _NOTHING[code].format(**values)


_NOTHING = {
    ReasonCode.OVER_BUDGET: "the best match does not fit into the token budget",
    ReasonCode.NONE_REQUESTED: "none requested",
    ReasonCode.ALREADY_SHOWN: "the best match is already shown in this session",
    ReasonCode.NOTHING_LEARNED: "nothing was learned yet (`tacit learn`)",
    ReasonCode.NOTHING_APPROVED: "nothing is approved; {count} wait for `tacit review`",
    ReasonCode.NOTHING_IN_USE: "nothing is in use any more (`tacit skills --all`)",
    ReasonCode.PAUSED: "Tacit is paused here (tacit pause --resume ends it)",
    ReasonCode.HOOK_OFF: "hooks are off here: Tacit is paused, the settings exclude this folder, or there is no store",
}


def not_usable(name: str, reason: str) -> str:
    """Return that what matches is not given for this query."""
    return f"what matches is not given: `{name}` {reason}"


def matches_elsewhere(count: int, scopes: Sequence[str], *, most: int) -> str:
    """Return how many skills of other scopes may match, and how to ask there."""
    names = [shown_line(scope) for scope in scopes]
    listed = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"; {count} that may match {'belongs' if count == 1 else 'belong'} to {listed} (`--scope {names[0]}` asks there)"


def norms_only(given: int, crowded: int) -> str:
    """Return what happens to norms where nothing else matched."""
    if given:
        return f"; only norms that always hold are given: {given}"
    if crowded:
        return f"; {crowded} norm{' holds' if crowded == 1 else 's hold'} here and none fits into the token budget"
    return ""


def parts_left_out(names: Sequence[str]) -> str:
    """Return which skills of a plan are not given."""
    return f"left out of what the task calls for: {_quoted(names)}"


def tool_called(tool: str) -> str:
    """Return that a task names a tool that is expected here and missing."""
    return f"the task seems to call for the tool `{tool}`, which is not available, though the tools it came with are"


def skill_lacks_tools(name: str, tools: Sequence[str], *, belongs_here: bool) -> str:
    """Return that a task calls for a skill whose tools are missing, though the others it was used with may be there
    (`belongs_here`)."""
    others = " (other tools that it was always used with are)" if belongs_here else ""
    return f"the task calls for `{name}`, which needs tools that are not available: {', '.join(tools)}{others}"


NO_SKILL_CALLED = "no skill is called for by the words of this task"
READINGS_MISSING = "what the words call for is decided by readings that cannot be taken here"
NO_CASE = "none of the situations that call for it"
"""Stands for the precondition that does not hold where every case of a skill is known to be false."""


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def matched_words(words: Sequence[str], meaning: float | None) -> str:
    """Return which words of the task a skill has; `meaning` is the cosine where it is worth naming."""
    text = f"matches {', '.join(words)}" if words else "no shared words"
    return text if meaning is None else f"{text}; close in meaning ({meaning:.2f})"


def error_match(similarity: float) -> str:
    """Return how well a skill answers the error."""
    return (
        "answers this very error" if similarity >= 1.0 else f"answers a similar error ({similarity:.0%} of the words)"
    )


CASE_SHOWN = "what tools answered"


def situation_match(features: Sequence[str]) -> str:
    """Return which features of the situation a skill mentions."""
    return f"fits the situation: {', '.join(features)}"


def citations(evidence_type: str, count: int) -> str:
    """Return what kind of document it is, and how often it was cited."""
    return f"{evidence_type}, cited {count} times" if count else evidence_type


def standing(kind: str, scope: object, status: str) -> str:
    """Return what kind of skill it is, where it holds, and its status."""
    return f"{kind} at {scope}, {status}"


def keyword_search_only(fault: str = "") -> str:
    """Return that search by meaning was not possible; without a fault, because vectors are missing."""
    return f"keyword search only: {fault or 'some skills have no vectors yet (`tacit store index` makes them)'}"


def reliability_reason(measured: Reliability) -> str:
    """Return how often a skill worked."""
    if not measured.known:
        return "not measured yet"
    return f"worked in {measured.low:.0%} to {measured.high:.0%} of verified uses ({measured.votes} of them)"
