"""Attribution: was a skill that a run was shown followed, how far, and where did the run deviate?

Steps with a tool are matched by tool and fixed values, shell steps by program, subcommand and the relevant options,
prose by what it marks as code. A skill is *followed* when its required changes were made in order, *partly* when some
were, *ignored* when none was, and *contradicted* when the run did what it forbids, used the opposite of a fixed value,
or continued in the way that a lesson says fails. Whether a call worked makes no difference: a skill that was followed
into a failure has failed. What cannot be decided is `None`, and no evidence.

Where the client reports that a skill was loaded, or names it for steps, half of its changes are enough, and a skill of
prose alone is followed if anything was done under its name. This shows no causes: a run may do by itself what a skill
says, and only a comparison with control runs shows what the skill adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tacit.domain.evidence import Following
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Step, Trajectory
from tacit.evidence.operation_pairs import (
    Alignment,
    Divergence,
    DoneOperation,
    OperationPairs,
    RunStretch,
    WantedOperation,
    forbidden_operations,
    match,
    wanted_operations,
    wrong_ends,
)
from tacit.text.error_signatures import error_signature, without_name
from tacit.text.near_duplicates import text_similarity
from tacit.text.operation_matching import OperationMatch, compare_operations, fixes_values
from tacit.text.shell import shell_text
from tacit.text.tool_calls import Effect, Operation, is_error_answer, operations_of

ENOUGH = 0.95
"""The share of required changes that must have been made; in a long skill one may not be recognised."""
ENOUGH_TAKEN_UP = 0.5
"""The same where the client reports that the skill was loaded."""
ENOUGH_LOOKING = 0.75
SOME_LOOKING = 1 / 3
"""For skills that change nothing: the share of their reads and checks."""


def align(
    trajectory: Trajectory,
    content: SkillContent,
    *,
    start: int = 0,
    end: int | None = None,
    parts: Mapping[str, SkillContent] | None = None,
) -> Alignment | None:
    """Return how the steps from `start` to `end` follow a skill; None where that cannot be decided.

    `parts` are the skills that a composite is made of, by name.
    """
    run = RunStretch(trajectory, start=start, end=end)
    if content.sub_skills:
        found = {name: align(trajectory, part, start=start, end=end) for name, part in (parts or {}).items()}
        return _composite_alignment(content, found)
    if content.kind is Kind.LESSON:
        return align_lesson(run, content, followed=_judge)
    if content.kind is not Kind.PROCEDURE and not content.steps:
        return _by_rule(run, content)
    return _judge(run, content, run.done)


def _judge(run: RunStretch, content: SkillContent, done: Sequence[DoneOperation]) -> Alignment | None:
    """Judge by the steps that were done; by the client's report where no step can be matched."""
    wanted, under = wanted_operations(content), run.under(content.name)
    acted = [step.index for step in under if step in run.actions and step.tool.casefold() != "skill"]
    if not wanted:
        return _by_client_report(done, content, acted)
    if run.is_blind and _fixes_values_of(wanted, done):
        return None
    found = match(wanted, done)
    following, reasons = _following_by_share(found, taken_up=bool(under), acted=bool(acted))
    against = _contradictions(found, content)
    if against:
        following = Following.CONTRADICTED
    total = found.weight()
    return Alignment(
        following=following,
        adherence=found.weight(matched=True) / total if total else 0.0,
        matched=found.steps(),
        missing=found.missing(),
        diverged=tuple(against or found.diverged()),
        reasons=(
            *(["it did the opposite of what is laid down, or what is advised against"] if against else []),
            *reasons,
        ),
    )


def _by_client_report(done: Sequence[DoneOperation], content: SkillContent, acted: Sequence[int]) -> Alignment | None:
    """Judge a skill without matchable steps: by what it forbids, or by the client's report."""
    against = _forbidden(done, forbidden_operations(content))
    if against:
        reasons = ("what it advises against was done",)
        return Alignment(following=Following.CONTRADICTED, adherence=0.0, diverged=tuple(against), reasons=reasons)
    if not acted:
        return None
    reasons = ("nothing of it can be looked for; the client names it for steps of the run",)
    return Alignment(following=Following.FOLLOWED, adherence=1.0, matched={0: tuple(acted)}, reasons=reasons)


def _fixes_values_of(wanted: Sequence[WantedOperation], done: Sequence[DoneOperation]) -> bool:
    """Whether a skill fixes values for calls that the run made."""
    made = {each.operation.name for each in done}
    return any(each.operation.name in made and fixes_values(each.operation) for each in wanted)


def _following_by_share(found: OperationPairs, *, taken_up: bool, acted: bool) -> tuple[Following, list[str]]:
    """Followed, partly or ignored, by the share of changes; reads are not enough where there is anything to change."""
    counting = Effect.WRITE if found.weight(of=Effect.WRITE) else None
    total, made = found.weight(of=counting), found.weight(of=counting, matched=True)
    share = made / total if total else 0.0
    what = "changes" if counting else "looks and checks"
    reasons = [f"{share:.0%} of its {what} in order"]
    if taken_up:
        reasons.append("the client says that it was taken up")
    enough, some = (ENOUGH, 0.0) if counting else (ENOUGH_LOOKING, SOME_LOOKING)
    idle = not counting and any(each.operation.effect is Effect.WRITE for each in found.wanted)
    if total and share >= (ENOUGH_TAKEN_UP if taken_up else enough) and not idle:
        return Following.FOLLOWED, reasons
    if share > some or (taken_up and acted):
        return Following.PARTLY, reasons
    return Following.IGNORED, reasons


def _contradictions(found: OperationPairs, content: SkillContent) -> list[Divergence]:
    """Operations of the run that contradict the skill."""
    wrong = [
        Divergence(
            step=found.done[at].step.index,
            instead_of=found.wanted[place].step,
            what=found.done[at].operation.label[:80],
        )
        for place, at in found.opposed()
    ]
    missing = found.missing()
    for tool, due in wrong_ends(content.pitfalls, content.steps):
        ended = [done for done in found.done if done.operation.name == tool and due in missing]
        wrong += [
            Divergence(step=done.step.index, instead_of=due, what=done.operation.label[:80]) for done in ended[-1:]
        ]
    return [*wrong, *_forbidden(found.done, forbidden_operations(content))]


def _forbidden(done: Sequence[DoneOperation], forbidden: Sequence[Operation]) -> list[Divergence]:
    """Operations of the run that the skill forbids."""
    return [
        Divergence(step=each.step.index, what=each.operation.label[:80])
        for each in done
        if any(_is_named(operation, each.operation) for operation in forbidden)
    ]


def _is_named(named: Operation, done: Operation) -> bool:
    """Whether an operation is what a text names; a program alone means every use of it."""
    bare = named.command is not None and len(named.command.words) == 1
    return named.name == done.name if bare else compare_operations(named, done) is OperationMatch.SAME


def _by_rule(run: RunStretch, content: SkillContent) -> Alignment | None:
    """Judge a norm, preference or reference without steps: by what it names as code, or by the client's report."""
    against = _forbidden(run.done, forbidden_operations(content))
    kept = [
        (each, done)
        for each in wanted_operations(content)
        for done in run.done
        if _is_named(each.operation, done.operation)
    ]
    matched = {0: tuple(sorted({done.step.index for _, done in kept}))} if kept else {}
    if against:
        reasons = ("what it advises against was done",)
        return Alignment(
            following=Following.CONTRADICTED, adherence=0.0, matched=matched, diverged=tuple(against), reasons=reasons
        )
    if kept and content.kind is not Kind.REFERENCE:
        return Alignment(following=Following.FOLLOWED, adherence=1.0, matched=matched, reasons=("it was kept to",))
    acted = tuple(step.index for step in run.under(content.name) if step in run.actions)
    if not acted:
        return None
    reasons = ("the client names it for steps of the run",)
    return Alignment(following=Following.FOLLOWED, adherence=1.0, matched={0: acted}, reasons=reasons)


def _composite_alignment(content: SkillContent, parts: Mapping[str, Alignment | None]) -> Alignment | None:
    """Judge a composite by its parts: followed where all required ones were; where none is required, where any was."""
    known = [(number, part) for number, name in enumerate(content.sub_skills) if (part := parts.get(name)) is not None]
    if not known:
        return None
    due = [(n, part) for n, part in known if n >= len(content.steps) or not content.steps[n].optional]
    best = max((part for _, part in known), key=lambda part: (part.following is Following.FOLLOWED, part.adherence))
    deciding = [part for _, part in due] or [best]
    followed = sum(part.following is Following.FOLLOWED for part in deciding)
    return Alignment(
        following=_combined([part.following for part in deciding]),
        adherence=sum(part.adherence for part in deciding) / len(deciding),
        matched={n: _steps_of(part) for n, part in known if part.matched},
        missing=tuple(number for number, part in due if part.following is Following.IGNORED),
        diverged=tuple(each for _, part in due for each in part.diverged),
        reasons=(f"{followed} of {len(deciding)} parts that count were followed",),
    )


def _steps_of(part: Alignment) -> tuple[int, ...]:
    return tuple(sorted({index for steps in part.matched.values() for index in steps}))


def _combined(parts: Sequence[Following]) -> Following:
    if Following.CONTRADICTED in parts:
        return Following.CONTRADICTED
    if set(parts) == {Following.FOLLOWED}:
        return Following.FOLLOWED
    return Following.IGNORED if set(parts) == {Following.IGNORED} else Following.PARTLY


Judge = Callable[[RunStretch, SkillContent, Sequence[DoneOperation]], Alignment | None]
_ALIKE = 0.8


def align_lesson(run: RunStretch, content: SkillContent, *, followed: Judge) -> Alignment | None:
    """How a run stands to a lesson."""
    met = [step for step in run.trajectory.actions if is_met(content.signature, step)] if content.signature else []
    first = met[0].index if met else run.start - 1
    fixed = followed(run, content, run.after(first))
    if fixed is None or fixed.following is Following.FOLLOWED or not content.signature:
        return fixed
    again = [step for step in met if step in run.actions]
    if fixed.following is Following.IGNORED and again:
        diverged = tuple(Divergence(step=step.index, instead_of=0, what=_label(step)) for step in again)
        reasons = ("it met the error that this answers, and never used the fix", *fixed.reasons)
        return replace(fixed, following=Following.CONTRADICTED, diverged=diverged, reasons=reasons)
    return fixed if met or fixed.following is not Following.IGNORED else None


def is_met(signature: str, step: Step) -> bool:
    """Whether a call ended in the error of a signature."""
    if not (step.failed or is_error_answer(step.observation)):
        return False
    seen = error_signature(step.observation, command=shell_text(step.arguments))
    return signature in (seen, without_name(seen)) or text_similarity(signature, seen) >= _ALIKE


def _label(step: Step) -> str:
    return next((operation.label for operation in operations_of(step.tool, step.arguments)), step.tool)[:80]
