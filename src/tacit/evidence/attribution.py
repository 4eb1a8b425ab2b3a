"""Attribution: was a skill that a run was shown followed, how far, and where did the run deviate?

Steps with a tool are matched by tool and fixed values, shell steps by program, subcommand and the relevant options,
prose by what it marks as code. A skill is *followed* when its required changes were made in order, *partly* when some
were, *ignored* when none was, and *contradicted* when the run did what it forbids, used the opposite of a fixed value,
or continued in the way that a lesson says fails. Whether a call worked makes no difference: a skill that was followed
into a failure has failed. What cannot be decided is `None`, and no evidence.

Example: a skill that says "set the mode to 4g" is followed by the call `set_mode(mode="4g")`, contradicted by
`set_mode(mode="2g")`, and ignored by a run that only reads the mode.

Where the client reports that a skill was loaded, or names it for steps, half of its changes are enough, and a skill of
prose alone is followed if anything was done under its name. This shows no causes: a run may do by itself what a skill
says, and only a comparison with control runs shows what the skill adds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tacit.domain.evidence import Following
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Step, Trajectory
from tacit.text.error_signatures import error_signature, without_name
from tacit.text.operation_matching import OperationMatch, compare_operations, fixes_values, is_independent, is_specific
from tacit.text.shell import shell_text
from tacit.text.similarity import best_pairs, text_similarity
from tacit.text.tool_calls import Effect, Operation, is_error_answer, operations_of, shell_operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """How a run followed a skill, and what shows it."""

    following: Following
    adherence: float
    """The weighted share of matchable operations that were done, 0 to 1; changes weigh more than checks, checks
    more than reads."""
    matched: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Step of the skill → steps of the trajectory that carried it out or tried to."""
    reasons: tuple[str, ...] = ()
    """Why, in sentences without any words of the run."""


@dataclass(frozen=True, slots=True)
class DoneOperation:
    """One operation of a run, and its step."""

    operation: Operation
    step: Step


class RunStretch:
    """A part of a trajectory as operations in order, with the skills that the client names."""

    def __init__(self, trajectory: Trajectory, *, start: int = 0, end: int | None = None) -> None:
        self.trajectory = trajectory
        self.start = start
        workspace = trajectory.environment.workspace
        inside = [step for step in trajectory.steps if step.index >= start and (end is None or step.index < end)]
        self.actions = [step for step in inside if step.is_action]
        self.done = [
            DoneOperation(operation, step)
            for step in self.actions
            for operation in operations_of(step.tool, step.arguments, workspace=workspace)
        ]
        self._skilled = [step for step in inside if step.skill]

    def under(self, name: str) -> list[Step]:
        """Return the steps that the client attributes to a skill, including loading it."""
        wanted = plain_skill(name)
        return [step for step in self._skilled if plain_skill(step.skill) == wanted]


def plain_skill(name: str) -> str:
    """Return a skill's own name, without the plugin or folder that a client may prefix."""
    return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1].strip().casefold()


WEIGHTS = {Effect.READ: 0.25, Effect.CHECK: 0.5, Effect.WRITE: 1.0}
"""How much an operation shows that a skill was followed: every run reads, and most check."""
_SPAN = re.compile(r"`([^`\n]{2,300})`")
_CALL = re.compile(r"([A-Za-z]\w*)\((.*)\)", re.DOTALL)
_NOT = r"(?:do not|don['’]?t|never|avoid|instead of|rather than|not|without|no longer|stop)"
_FILLING = r"(?:\s+(?:ever|just|to|do|the|an?|any|run|running|call|calling|use|using|edit|editing|write|writing))*"
_FORBIDDING = re.compile(
    rf"(?:\b{_NOT}{_FILLING}|^\s*(?:running|calling|using|editing|deleting|pushing|committing))\s*$", re.IGNORECASE
)
"""A negation right before what is named, or the beginning of a pitfall: "Running `x` first"."""
_UNCLEAR = re.compile(rf"\b{_NOT}\b|^\s*(?:if|when|where|after|before|unless|once|until)\b", re.IGNORECASE)
"""Code in a condition, or not right after a negation, is neither required nor forbidden."""
_HANGING = re.compile(rf"\b{_NOT}\s*$", re.IGNORECASE)
_FAILING = re.compile(
    r"\s*(?:does not|doesn['’]?t|is not|isn['’]?t|cannot|can['’]?t|fails?|failed|no longer)\b", re.IGNORECASE
)
"""A statement right after the code that makes it no advice."""
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
_CLAUSE_END = re.compile(r"[,:](?=\s|$)")


@dataclass(frozen=True, slots=True)
class WantedOperation:
    """One operation that a skill requires or offers."""

    operation: Operation
    step: int
    optional: bool = False

    @property
    def weight(self) -> float:
        """Its weight."""
        return WEIGHTS[self.operation.effect]


def wanted_operations(content: SkillContent) -> tuple[WantedOperation, ...]:
    """Return the operations of a skill in order; of its text where there are no steps."""
    # of a lesson only the fix gives instructions, not the problem
    fix = content.body.partition("**Fix.**")[2].partition("\n\n")[0] if content.kind is Kind.LESSON else ""
    found: list[WantedOperation] = []
    for number, step in enumerate(content.steps or [SkillStep(text=fix or f"{content.description}\n{content.body}")]):
        named = [operation for operation, is_wanted in _named_operations(step.text) if is_wanted]
        operations = operations_of(step.tool, step.arguments) if step.tool else named
        found += [WantedOperation(each, number, step.optional) for each in operations if is_specific(each)]
    return tuple(found)


def _does_forbidden(done: Sequence[DoneOperation], content: SkillContent) -> bool:
    """Whether a run did something that the skill forbids: in its rules, its steps, or pitfalls that a person wrote."""
    texts = [step.text for step in content.steps if not step.tool]
    if content.kind in (Kind.NORM, Kind.PREFERENCE) or not content.steps:
        texts += [content.description, content.body]
    texts += [pitfall.text for pitfall in content.pitfalls if not pitfall.kind]
    named = (found for text in texts for found in _named_operations(text))
    wanted = {(each.operation.name, each.operation.line) for each in wanted_operations(content)}
    forbidden = [each for each, is_wanted in named if is_wanted is False and (each.name, each.line) not in wanted]
    return any(_is_named(operation, each.operation) for each in done for operation in forbidden)


def _named_operations(text: str) -> Iterator[tuple[Operation, bool | None]]:
    """Operations that a text names as code, each with whether it is wanted or forbidden; None where that is not clear."""
    before = 0
    for span in _SPAN.finditer(text):
        clauses = _CLAUSE_END.split(_SENTENCE_END.split(text[before : span.start()])[-1])
        before = span.end()
        hangs = any(_HANGING.search(clause) for clause in clauses[:-1])
        is_wanted: bool | None = True  # the words before it decide, above all its own clause
        if _FAILING.match(text, span.end()):
            is_wanted = None
        elif _FORBIDDING.search(clauses[-1]):
            is_wanted = False
        elif hangs or _UNCLEAR.search(clauses[-1]):
            is_wanted = None
        yield from ((operation, is_wanted) for operation in _read(span[1].strip()))


def _read(code: str) -> tuple[Operation, ...]:
    """What a piece of code does, if it is a call or a command; a file or a value is neither."""
    called = _CALL.fullmatch(code)
    if called or re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)+", code):
        return operations_of(called[1] if called else code, {})
    if re.fullmatch(r"[a-z][\w.+-]*(?: .+)?", code, re.DOTALL) and not re.fullmatch(r"\S+\.\w{1,5}", code):
        return shell_operations(code)
    return ()


_OPTIONAL = 0.3
"""An optional operation never replaces a required one."""
MAX_DONE = 4000
"""How many operations of a run are matched."""


@dataclass(frozen=True, slots=True)
class OperationPairs:
    """Which operation of the run matches each wanted one, by their positions."""

    wanted: Sequence[WantedOperation]
    done: Sequence[DoneOperation]
    pairs: dict[int, int]

    def weight(self, *, of: Effect | None = None, matched: bool = False) -> float:
        """Return the weight of the required operations (optional ones count once they are done), or of the matched ones."""
        return sum(
            each.weight
            for place, each in enumerate(self.wanted)
            if (of is None or each.operation.effect is of) and (place in self.pairs or not (matched or each.optional))
        )

    def steps(self) -> dict[int, tuple[int, ...]]:
        """Return step of the skill → steps of the run, with earlier attempts of the same between its neighbours."""
        found: dict[int, set[int]] = {}
        taken = sorted(self.pairs.values())
        for place, at in self.pairs.items():
            before = max((other for other in taken if other < at), default=-1)
            key = self.done[at].operation.retry_key
            tries = [each for each in self.done[before + 1 : at + 1] if each.operation.retry_key == key]
            found.setdefault(self.wanted[place].step, set()).update(each.step.index for each in tries)
        return {step: tuple(sorted(indexes)) for step, indexes in sorted(found.items())}

    def is_opposed(self) -> bool:
        """Whether a required change was not made, and the opposite of it was."""
        used = set(self.pairs.values())
        for place, each in enumerate(self.wanted):
            if each.optional or place in self.pairs or each.operation.effect is not Effect.WRITE:
                continue
            stands = [compare_operations(each.operation, done.operation) for done in self.done]
            against = any(stand is OperationMatch.OPPOSED and i not in used for i, stand in enumerate(stands))
            if against and OperationMatch.SAME not in stands:
                return True
        return False


def match(wanted: Sequence[WantedOperation], done: Sequence[DoneOperation]) -> OperationPairs:
    """Match wanted operations with those that were done."""
    done = done[:MAX_DONE]
    same = [
        [compare_operations(each.operation, other.operation) is OperationMatch.SAME for other in done]
        for each in wanted
    ]
    worth = [each.weight * (_OPTIONAL if each.optional else 1.0) for each in wanted]
    _, pairs = best_pairs([[value if fits else 0.0 for fits in row] for value, row in zip(worth, same, strict=True)])
    used = set(pairs.values())

    def may_match(place: int, at: int) -> bool:
        """Whether an operation may match a wanted one out of order: all changes in between must be independent of it."""
        if wanted[place].operation.effect is not Effect.WRITE:
            return True
        passed = [done[other].operation for mine, other in pairs.items() if (mine < place) != (other < at)]
        return all(is_independent(done[at].operation, each) for each in passed if each.effect is Effect.WRITE)

    for place in range(len(wanted)):
        if place in pairs:
            continue
        free = (i for i, fits in enumerate(same[place]) if fits and i not in used)
        at = next((i for i in free if may_match(place, i)), None)
        if at is not None:
            pairs[place] = at
            used.add(at)
    return OperationPairs(wanted, done, pairs)


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
        return _align_lesson(run, content)
    if content.kind is not Kind.PROCEDURE and not content.steps:
        return _by_rule(run, content)
    return _judge(run, content, run.done)


def _judge(run: RunStretch, content: SkillContent, done: Sequence[DoneOperation]) -> Alignment | None:
    """Judge by the steps that were done; by the client's report where no step can be matched."""
    wanted, under = wanted_operations(content), run.under(content.name)
    acted = [step.index for step in under if step in run.actions and step.tool.casefold() != "skill"]
    if not wanted:
        reported = "nothing of it can be looked for; the client names it for steps of the run"
        return _without_steps(done, content, acted, reported=reported)
    made = {each.operation.name for each in done}
    # Where the client recorded no arguments, values cannot be compared.
    is_blind = bool(run.actions) and not any(step.arguments for step in run.trajectory.actions)
    if is_blind and any(each.operation.name in made and fixes_values(each.operation) for each in wanted):
        return None
    found = match(wanted, done)
    following, reasons = _following_by_share(found, taken_up=bool(under), acted=bool(acted))
    if found.is_opposed() or _does_forbidden(found.done, content):
        following = Following.CONTRADICTED
        reasons.insert(0, "it did the opposite of what is laid down, or what is advised against")
    total = found.weight()
    return Alignment(
        following=following,
        adherence=found.weight(matched=True) / total if total else 0.0,
        matched=found.steps(),
        reasons=tuple(reasons),
    )


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


def _is_named(named: Operation, done: Operation) -> bool:
    """Whether an operation is what a text names; a program alone means every use of it."""
    bare = named.command is not None and len(named.command.words) == 1
    return named.name == done.name if bare else compare_operations(named, done) is OperationMatch.SAME


def _by_rule(run: RunStretch, content: SkillContent) -> Alignment | None:
    """Judge a norm, preference or reference without steps: by what it names as code, or by the client's report."""
    wanted = [each.operation for each in wanted_operations(content)]
    kept = {done.step.index for done in run.done if any(_is_named(each, done.operation) for each in wanted)}
    acted = [step.index for step in run.under(content.name) if step in run.actions]
    reported = "the client names it for steps of the run"
    return _without_steps(run.done, content, acted, kept=kept, reported=reported)


def _without_steps(
    done: Sequence[DoneOperation],
    content: SkillContent,
    acted: Sequence[int],
    *,
    reported: str,
    kept: Collection[int] = (),
) -> Alignment | None:
    """Judge a skill without matchable steps by what it forbids, by steps that kept to it, or by the client's report."""
    matched = {0: tuple(sorted(kept))} if kept else {}
    if _does_forbidden(done, content):
        reasons = ("what it advises against was done",)
        return Alignment(following=Following.CONTRADICTED, adherence=0.0, matched=matched, reasons=reasons)
    if kept and content.kind is not Kind.REFERENCE:
        return Alignment(following=Following.FOLLOWED, adherence=1.0, matched=matched, reasons=("it was kept to",))
    if not acted:
        return None
    return Alignment(following=Following.FOLLOWED, adherence=1.0, matched={0: tuple(acted)}, reasons=(reported,))


def _composite_alignment(content: SkillContent, parts: Mapping[str, Alignment | None]) -> Alignment | None:
    """Judge a composite by its parts: followed where all required ones were; where none is required, where any was."""
    known = [(number, part) for number, name in enumerate(content.sub_skills) if (part := parts.get(name)) is not None]
    if not known:
        return None
    due = [(n, part) for n, part in known if n >= len(content.steps) or not content.steps[n].optional]
    best = max((part for _, part in known), key=lambda part: (part.following is Following.FOLLOWED, part.adherence))
    deciding = [part for _, part in due] or [best]
    followed = sum(part.following is Following.FOLLOWED for part in deciding)
    combined, found = Following.PARTLY, {part.following for part in deciding}
    if Following.CONTRADICTED in found:
        combined = Following.CONTRADICTED
    elif len(found) == 1:
        combined = found.pop()
    return Alignment(
        following=combined,
        adherence=sum(part.adherence for part in deciding) / len(deciding),
        matched={
            n: tuple(sorted({index for steps in part.matched.values() for index in steps}))
            for n, part in known
            if part.matched
        },
        reasons=(f"{followed} of {len(deciding)} parts that count were followed",),
    )


_ALIKE = 0.8
"""Shared words from which two errors are one. Smaller: a lesson counts as ignored where another error came."""


def _align_lesson(run: RunStretch, content: SkillContent) -> Alignment | None:
    """How a run stands to a lesson."""
    met = [step for step in run.trajectory.actions if is_met(content.signature, step)] if content.signature else []
    first = met[0].index if met else run.start - 1
    fixed = _judge(run, content, [done for done in run.done if done.step.index > first])
    if fixed is None or fixed.following is Following.FOLLOWED or not content.signature:
        return fixed
    if fixed.following is Following.IGNORED and any(step in run.actions for step in met):
        reasons = ("it met the error that this answers, and never used the fix", *fixed.reasons)
        return replace(fixed, following=Following.CONTRADICTED, reasons=reasons)
    return fixed if met or fixed.following is not Following.IGNORED else None


def is_met(signature: str, step: Step) -> bool:
    """Whether a call ended in the error of a signature."""
    if not (step.failed or is_error_answer(step.observation)):
        return False
    seen = error_signature(step.observation, command=shell_text(step.arguments))
    return signature in (seen, without_name(seen)) or text_similarity(signature, seen) >= _ALIKE
