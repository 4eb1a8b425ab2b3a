"""The checks before training: objections to attempts and to a dataset made of them. Pure.

An attempt with a fault is left out and counted; if many have one, their source is at fault and nothing is trained. A fault
of the whole (too few tasks, too little variety, a leaked split, another format, states that were not reset) refuses the
whole.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Grade
from tacit.domain.trajectory import Origin, Role
from tacit.features.evaluate.task_overlap import Leak
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.features.train.examples import Example, lost_on_the_way, out_of_form, texts_within
from tacit.features.train.recipe import LONGEST_TOKENS, length_of
from tacit.text.redaction import redact

_CONTROL = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|<\|\w{1,40}>|<\w{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|<(?:start|end)_of_\w{1,20}>|</?s>|<[be]os>|<sop>"
    r"|</?think>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|gMASK)\]|<</?SYS>>"
    r"|</?tool_(?:calls?|results?|errors?|responses?)>|<done/>"
)
"""Tags of chat templates and of the prompt format: in a text they would forge a turn."""
_NAMED = 3
"""How many examples a reason names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPolicy:
    """What a dataset must satisfy before training."""

    least_tasks: int = 100
    """Fewest different solved tasks. Adapters from 12 to 31 tasks brought no gain, mostly a loss."""
    least_strategies: float = 4.0
    """Fewest effective strategies (orders of tools). Below it, a model that always uses the most common one is right too
    often to learn from the task."""
    most_duplicates: float = 0.5
    """Largest share of near-duplicate tasks."""
    most_faulty: float = 0.2
    """Largest share of attempts with one fault; beyond it their source is at fault."""
    per_task: int = 2
    """Most examples of one task, to avoid memorising it."""
    longest_tokens: int = LONGEST_TOKENS
    """Longest example, by estimate. Older manifests have 8,192."""
    replay_share: float = 0.15
    """Share of training examples from earlier datasets, if there are any."""

    def __post_init__(self) -> None:
        shares = ("most_duplicates", "most_faulty", "replay_share")
        wrong = [f"{name} is {getattr(self, name)}" for name in shares if not 0 <= getattr(self, name) < 1]
        counts = ("least_tasks", "per_task", "longest_tokens")
        wrong += [f"{name} is {getattr(self, name)}" for name in counts if getattr(self, name) < 1]
        if wrong:
            raise Mistake(
                f"invalid data policy: {', '.join(wrong)}",
                code="bad_data_policy",
                hint="shares are below 1, counts from 1 upwards",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why nothing is trained: the rule, the finding, and what to do next."""

    rule: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one attempt is left out."""

    rule: str
    detail: str
    tokens: int = 0
    """Its length, if that is the fault."""


_GRAVE = {
    "secret": (
        "contain what looks like a secret",
        "capture them again, which redacts secrets; purge those that still have one",
    ),
    "external": (
        "would teach outside text as the agent's own words",
        "see `tacit check`; purge the attempts that followed an outside text",
    ),
    "mismatched_form": (
        "cannot be restored from the prompt format",
        "record calls with plain JSON arguments and with the tools that the agent had",
    ),
    "contaminated": (
        "ran in a workspace that another attempt changed meanwhile, or followed a skill from held-out tasks only",
        "give each attempt a workspace of its own, such as a git worktree",
    ),
}
"""Faults that point at their source if they are frequent: description and hint."""


def fault_of(attempt: VerifiedAttempt, example: Example, policy: DataPolicy, *, aid: str = "") -> Fault | None:
    """Return the first reason to leave out an attempt; None if there is none."""
    return next(_faults(attempt, example, policy, aid), None)


def _faults(attempt: VerifiedAttempt, example: Example, policy: DataPolicy, aid: str) -> Iterator[Fault]:
    if why := _outside_word(attempt):
        yield Fault("external", why)
    texts = [message.content for message in example.messages]
    if kinds := sorted({kind for text in texts for kind in redact(text).found}):
        yield Fault("secret", f"it contains what looks like a secret ({', '.join(kinds)})")
    unlisted = {turn.call.tool for turn in attempt.turns} - {tool.name for tool in attempt.tools}
    if unlisted:
        yield Fault("mismatched_form", f"it calls {', '.join(sorted(unlisted)[:_NAMED])}, which is not among its tools")
    if lost := lost_on_the_way(attempt, example, aid=aid):
        yield Fault("mismatched_form", lost)
    if mark := mark_in(example):
        yield Fault("mismatched_form", f"a text in it contains {mark}, a tag of chat templates")
    if attempt.crowded_by:
        yield Fault("contaminated", f"attempt {attempt.crowded_by} changed the same workspace meanwhile")
    if _is_led(attempt):
        yield Fault("spoken_to", "a person wrote to the agent between its calls, which the prompt format cannot show")
    if not any(example.messages[place] != example.messages[-1] for place in example.learned):
        yield Fault("nothing_to_learn", "no call succeeded without a redacted secret")
    if (tokens := round(length_of(example))) > policy.longest_tokens:
        most = f"the maximum is {policy.longest_tokens:,}"
        yield Fault("too_long", f"it has about {tokens:,} tokens; {most}", tokens=tokens)


def mark_in(example: Example) -> str:
    """Return the first template tag in an example; empty if there is none."""
    return next((found.group() for text in texts_within(example) if (found := _CONTROL.search(text))), "")


def _outside_word(attempt: VerifiedAttempt) -> str:
    """Return why the words to learn are not the agent's, the person's or the operator's; empty if they are."""
    if attempt.obeyed:
        return f"a call was taken from an outside text with instructions: {attempt.obeyed}"
    asked = " ".join(attempt.trajectory.task.text.split())
    holding = [step for step in attempt.trajectory.steps if step.text and asked in " ".join(step.text.split())]
    if holding and all(step.origin_of("text") is Origin.EXTERNAL for step in holding):
        return "its task came from the host, not from a person"
    return ""


def _is_led(attempt: VerifiedAttempt) -> bool:
    steps = attempt.trajectory.steps
    calls = [place for place, step in enumerate(steps) if step.is_action]
    return any(step.role is Role.USER and step.text.strip() for step in steps[calls[0] : calls[-1]]) if calls else False


def many_faulty(faults: Mapping[str, Sequence[Fault]], count: int, policy: DataPolicy) -> list[Objection]:
    """Return objections for faults that are too frequent."""
    grave = [
        Objection(
            rule=rule, reason=f"{len(faults[rule])} of {count} attempts {what}; {_for_one(faults[rule])}", hint=hint
        )
        for rule, (what, hint) in _GRAVE.items()
        if len(faults.get(rule, ())) > policy.most_faulty * count
    ]
    lengths = [fault.tokens for fault in faults.get("too_long", ())]
    if len(lengths) > policy.most_faulty * count:
        grave.append(too_long(lengths, f"{count} attempts", policy, limit=policy.longest_tokens))
    return grave


def too_long(lengths: Sequence[int], of: str, policy: DataPolicy, *, limit: int) -> Objection:
    """Return the objection that too many are longer than `limit`, so that the rest is not a sample of the work.

    The limit is the base model's context, or the general maximum; the hint depends on it.
    """
    way = (
        f"use a base model with a longer context, up to {LONGEST_TOKENS:,} tokens; examples are not cut, because without its "
        "end an example teaches to stop too soon"
        if limit < LONGEST_TOKENS
        else f"no base model helps: {limit:,} tokens are the maximum; record shorter tasks, or use skills for this work"
    )
    return Objection(
        rule="too_long",
        reason=f"{len(lengths)} of {of} are longer than {limit:,} tokens: about {_between(lengths)}. Nothing is trained "
        f"if more than {policy.most_faulty:.0%} are too long",
        hint=way,
    )


def describe_faults(faults: Sequence[Fault], policy: DataPolicy) -> str:
    """Describe a fault: the range of lengths, or the first example."""
    lengths = [fault.tokens for fault in faults if fault.tokens]
    if len(lengths) < 2:
        return faults[0].detail
    return f"they have about {_between(lengths)} tokens; the maximum is {policy.longest_tokens:,}"


def unverified(attempts: Sequence[VerifiedAttempt]) -> list[Objection]:
    """Return the objection to attempts that no machine verified; they are refused, because the caller should not have
    passed them."""
    doubtful = [each for each in attempts if not (each.verified_by and each.assessment.grade is Grade.MACHINE)]
    if not doubtful:
        return []
    return [
        Objection(
            rule="unverified",
            reason=f"{len(doubtful)} of {len(attempts)} attempts are not successes that a machine verified: "
            + _listed(each.trajectory.id for each in doubtful),
            hint="only verified work is trained on; `tacit learn --trust-outcomes` accepts the outcomes of imports",
        )
    ]


def not_reset(attempts: Sequence[VerifiedAttempt]) -> list[Objection]:
    """Return the objection to tasks whose attempts began in different states: the environment was not reset."""
    states: dict[str, set[str]] = {}
    for attempt in attempts:
        if attempt.state:
            states.setdefault(attempt.task_key, set()).add(attempt.state)
    mixed = sorted(task for task, found in states.items() if len(found) > 1)
    if not mixed:
        return []
    return [
        Objection(
            rule="contaminated",
            reason=f"attempts at {_count(mixed, 'task')} began from different states, so the environment was not reset "
            f"between them: {_listed(mixed)}",
            hint="record them again, each from a fresh state",
        )
    ]


def too_small(tasks: int, policy: DataPolicy, *, of: int = 0, mainly: Sequence[Fault] = ()) -> list[Objection]:
    """Return the objection to too few solved tasks; `of` is how many there were before, `mainly` why most were left out."""
    if tasks >= policy.least_tasks:
        return []
    left = (
        f" (of {of}; the others were left out, most of them because {describe_faults(mainly, policy)})"
        if of > tasks and mainly
        else ""
    )
    such = _SUCH.get(mainly[0].rule, "") if left else ""
    return [
        Objection(
            rule="too_few_tasks",
            reason=f"there are {tasks} different solved tasks{left}; at least {policy.least_tasks} are needed: adapters from "
            "12 to 31 tasks brought no gain",
            hint=f"{policy.least_tasks - tasks} more verified tasks{such} are needed; use skills until then",
        )
    ]


def too_uniform(examples: Iterable[Example], policy: DataPolicy) -> list[Objection]:
    """Return the objection to too few strategies; each task counts once, with its first example."""
    counted = Counter({example.task: example.strategy for example in reversed([*examples])}.values())
    effective = strategies(counted)
    if not counted or effective >= policy.least_strategies:
        return []
    commonest, times = counted.most_common(1)[0]
    listed = " → ".join(commonest[:6]) + (" → …" if len(commonest) > 6 else "")
    return [
        Objection(
            rule="too_uniform",
            reason=f"{counted.total()} tasks have {effective:.1f} effective strategies; at least "
            f"{policy.least_strategies:g} are needed: {times} tasks are solved by {listed}",
            hint="a skill covers this; train when tasks are solved in more different ways",
        )
    ]


def strategies(counted: Mapping[tuple[str, ...], int]) -> float:
    """Return the effective number of strategies: the exponential of their entropy."""
    total = sum(counted.values())
    return math.exp(-sum(many / total * math.log(many / total) for many in counted.values())) if total else 0.0


def too_alike(duplicates: int, tasks: int, policy: DataPolicy) -> list[Objection]:
    """Return the objection to too many near-duplicates."""
    if duplicates <= policy.most_duplicates * tasks:
        return []
    return [
        Objection(
            rule="near_duplicates",
            reason=f"{duplicates} of {tasks} tasks are near-duplicates of others, in words and solution; "
            f"at most {policy.most_duplicates:.0%} are allowed",
            hint="near-duplicates count once; check whether a job records the same task repeatedly",
        )
    ]


def leaked_tasks(train: Iterable[str], tests: Iterable[str]) -> list[Objection]:
    """Return the objection to tasks that are both trained on and tested with."""
    both = sorted(set(train) & set(tests))
    if not both:
        return []
    return [
        Objection(
            rule="leaked_task",
            reason=f"{_count(both, 'task')} would be trained on and tested with: {_listed(both)}",
            hint="hold a task out completely: train on no attempt at it",
        )
    ]


def leaked_texts(found: Sequence[Leak]) -> list[Objection]:
    """Return the objection to tests that a training task gives away."""
    if not found:
        return []
    listed = _listed(f"{leak.test} is contained in {leak.task}" for leak in found)
    return [
        Objection(
            rule="leaked_text",
            reason=f"{_count(found, 'test')} can be read in the training text, words and solution: {listed}",
            hint="hold out both of each pair, or let `build` choose what is held out: it keeps such tasks together",
        )
    ]


def other_form(examples: Iterable[Example], named: str, present: str) -> list[Objection]:
    """Return the objection to examples in another prompt format."""
    strays = [f"{each.task}: {why}" for each in examples if (why := out_of_form(each.messages))]
    if named == present and not strays:
        return []
    by_hash = f"the prompt format is {named or 'unknown'}, not {present}" if named != present else ""
    by_look = f"{_count(strays, 'example')} not in the prompt format: {_listed(strays)}" if strays else ""
    return [
        Objection(
            rule="mismatched_form",
            reason="; ".join(filter(None, (by_hash, by_look))),
            hint="build the dataset again: training must use the prompt format",
        )
    ]


def secrets_in(examples: Iterable[Example]) -> list[Objection]:
    """Return the objection to secrets in a dataset."""
    found = {
        example.task: kinds
        for example in examples
        if (kinds := {kind for message in example.messages for kind in redact(message.content).found})
    }
    if not found:
        return []
    listed = _listed(f"{task} ({', '.join(sorted(kinds))})" for task, kinds in found.items())
    return [
        Objection(
            rule="secret",
            reason=f"{_count(found, 'task')} with what looks like a secret: {listed}",
            hint="build the dataset again from the store, which takes secrets out",
        )
    ]


_SUCH = {
    "too_long": " that are short enough",
    "spoken_to": " without messages to the agent between its calls",
}
"""What further tasks must be like if others were left out for this rule."""


def _for_one(faults: Sequence[Fault]) -> str:
    return f"for one, {faults[0].detail}"


def _between(lengths: Sequence[int]) -> str:
    least, most = min(lengths), max(lengths)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _count(things: Sequence[object] | Mapping[str, object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_NAMED]) + (f" and {len(every) - _NAMED} more" if len(every) > _NAMED else "")
