"""A use and its result → Evidence per version: who gets the credit, for which task, and what the run took.

One shown skill gets all of it. Of several, those that the caller says were followed; where nobody says, all share it. The
parts of a composite are credited each for itself, with outcomes of their own where they are told apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Effort, Evidence, Following, Grade, Outcome, Use
from tacit.domain.identity import content_id
from tacit.domain.trajectory import Trajectory
from tacit.text.tool_calls import operations_of, plain_name

Followed = Collection[str] | Mapping[str, Outcome | str]
"""The versions that a run followed, or those versions with their own outcomes."""

BY_AGENT = "the agent itself"
"""Who says so where an agent reports of its own run: the result is kept, and credited once the transcript shows that the
run followed the skill. Tests that pass in a project that was green before prove nothing of what was shown there."""
NAMELESS = {"start": "session start", "prompt": "a request", "call": "an error at work"}
"""What stands for the task of a use whose words nobody kept, by the moment of the session."""
_NO_TASK = re.compile(r"apply \S+")


def task_digest(text: str) -> str:
    """A name for what was asked, however it is spaced or capitalised; empty where a text names no task."""
    said = " ".join(text.split()).casefold()
    if not said or said in NAMELESS.values() or _NO_TASK.fullmatch(said):
        return ""
    return content_id("q", said)


def effort_of(trajectory: Trajectory) -> Effort:
    """What a run took: its calls, the failing ones that failed before in the same form, and its tokens."""
    failed: Counter[tuple[str, ...]] = Counter()
    for step in trajectory.actions:
        if step.failed:
            forms = [act.retry_key for act in operations_of(step.tool, step.arguments)]
            failed[(plain_name(step.tool), *(part for form in forms for part in form))] += 1
    usage = trajectory.usage
    return Effort(
        steps=len(trajectory.actions),
        retries=sum(count - 1 for count in failed.values()),
        tokens=usage.input_tokens + usage.output_tokens,
    )


def parse_outcome(value: Outcome | str) -> Outcome:
    """Read an outcome that somebody states."""
    try:
        return Outcome(value)
    except ValueError:
        raise Mistake(f"unknown outcome {value!r}", hint=f"use one of: {', '.join(Outcome)}") from None


def evidence_for(
    use: Use,
    outcome: Outcome,
    *,
    grade: Grade,
    at: datetime,
    followed: Followed | None = None,
    details: Mapping[str, str] | None = None,
) -> list[Evidence]:
    """Make one piece of evidence for each version that the run is credited to; `followed` may tell their own outcomes.

    What a lot decided to show is told of even where it was not followed: the runs are compared as they were drawn.
    """
    unknown = sorted(set(followed or ()) - set(use.version_ids))
    if unknown:
        raise Mistake(f"{unknown[0]} was not shown in that use", hint=f"shown: {', '.join(use.version_ids)}")
    shares = dict(zip(use.version_ids, use.shares, strict=False))
    credited = [version_id for version_id in use.version_ids if followed is None or version_id in followed]
    passed_over = [
        version_id for version_id in use.version_ids if version_id not in credited and shares.get(version_id)
    ]
    extra = dict(details or {})
    own = followed if isinstance(followed, Mapping) else {}
    return [
        Evidence(
            version_id=version_id,
            outcome=parse_outcome(own.get(version_id, outcome)),
            grade=grade,
            at=at,
            use_id=use.id,
            model=use.model,
            task=task_digest(use.task),
            principal=use.principal,
            scope=use.scope,
            control=use.held_back and bool(use.shares),
            share=shares.get(version_id, 0.0),
            following=Following.IGNORED if version_id in passed_over else _seen(extra, grade),
            adherence=None if followed is None else float(version_id in credited),
            weight=1.0 if followed is not None else 1.0 / len(credited),
            verifier=extra.get("verifier", ""),
            trajectory_id=extra.get("trajectory_id", ""),
            by=extra.get("by", ""),
            note=extra.get("note", ""),
        )
        for version_id in (*credited, *passed_over)
    ]


def _seen(details: Mapping[str, str], grade: Grade) -> Following | None:
    """Whether the caller's say that it was followed counts; an agent's own does not, though its doubts do."""
    return Following.PARTLY if grade.verified and details.get("by") == BY_AGENT else None
