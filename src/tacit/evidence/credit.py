"""Credit: a use and its result → one `Evidence` per version, with its share of the credit.

A single shown skill gets all credit. Of several, those that the caller names as followed; otherwise all share it. The
parts of a composite are credited separately, with outcomes of their own where the caller gives them.
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
"""The reporter where an agent reports on its own run: the result is stored, and credited once the transcript shows that the
run followed the skill. Passing tests in a project that passed before prove nothing about the skill."""
NAMELESS = {"start": "session start", "prompt": "a request", "call": "an error at work"}
"""The task of a use without a task text, by the moment of the session."""
_NO_TASK = re.compile(r"apply \S+")


def task_digest(text: str) -> str:
    """Return a digest of a task, independent of spacing and case; empty where a text names no task."""
    task = " ".join(text.split()).casefold()
    if not task or task in NAMELESS.values() or _NO_TASK.fullmatch(task):
        return ""
    return content_id("q", task)


def effort_of(trajectory: Trajectory) -> Effort:
    """Return the effort of a run: its calls, repeated failures of the same form, and its tokens."""
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
    """Parse an outcome."""
    try:
        return Outcome(value)
    except ValueError:
        raise Mistake(
            f"unknown outcome {value!r}", code="unknown_outcome", hint=f"use one of: {', '.join(Outcome)}"
        ) from None


def evidence_for(
    use: Use,
    outcome: Outcome,
    *,
    grade: Grade,
    at: datetime,
    followed: Followed | None = None,
    details: Mapping[str, str] | None = None,
) -> list[Evidence]:
    """Return one piece of evidence for each credited version; `followed` may give outcomes of their own.

    Versions under a random draw get evidence even where they were not followed: runs are compared as they were drawn.
    """
    unknown = sorted(set(followed or ()) - set(use.version_ids))
    if unknown:
        hint = f"shown: {', '.join(use.version_ids)}"
        raise Mistake(f"{unknown[0]} was not shown in that use", code="version_not_shown", hint=hint)
    shares = dict(zip(use.version_ids, use.shares, strict=False))
    credited = [version_id for version_id in use.version_ids if followed is None or version_id in followed]
    passed_over = [each for each in use.version_ids if each not in credited and shares.get(each)]
    extra = dict(details or {})
    # What an agent has verified itself, success or failure, counts as partly followed only: it moves no interval.
    following = Following.PARTLY if grade.verified and extra.get("by") == BY_AGENT else None
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
            following=Following.IGNORED if version_id in passed_over else following,
            adherence=None if followed is None else float(version_id in credited),
            weight=1.0 if followed is not None else 1.0 / len(credited),
            verifier=extra.get("verifier", ""),
            trajectory_id=extra.get("trajectory_id", ""),
            by=extra.get("by", ""),
            note=extra.get("note", ""),
        )
        for version_id in (*credited, *passed_over)
    ]
