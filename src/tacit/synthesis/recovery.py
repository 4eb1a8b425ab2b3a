"""The actions of one attempt → its recoveries: a call that failed, and a later call of the same kind that worked.

Tells apart what made the difference: another command in between, another way to call it, or nothing at all (it was
transient). A failing test that passes after an edit is ordinary work and teaches nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit.domain.trajectory import Span, StepResult
from tacit.synthesis.actions import Action, Effect, Family, essential, leaves, same_call
from tacit.synthesis.timeline import Timeline
from tacit.synthesis.wording import call_text, code, shorten
from tacit.text.exit_status import masks_exit
from tacit.text.shell import Command
from tacit.text.signature import error_signature

_MAX_BETWEEN = 12
_MAX_ENABLERS = 2


class Means(StrEnum):
    """What made the difference."""

    ENABLED = "enabled"
    """The same call worked after another one."""
    VARIED = "varied"
    """The call worked in another form."""
    TRANSIENT = "transient"
    """The same call worked with nothing done in between."""
    REWORKED = "reworked"
    """It worked after edits, or in a way that tells nothing general."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A failure and what followed it."""

    failed: Action
    worked: Action
    means: Means
    enablers: tuple[Action, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether it is worth a lesson."""
        return self.means in (Means.ENABLED, Means.VARIED)

    @property
    def signature(self) -> str:
        """The error, reduced to its invariant text."""
        return error_signature(self.failed.step.observation)

    @property
    def error(self) -> str:
        """The telling line of the error as it was, as far as it can be found."""
        return telling_line(self.failed.step.observation)

    @property
    def exit_known(self) -> bool:
        """Whether exit statuses showed both the failure and the success."""
        codes = (self.failed.step.exit_code, self.worked.step.exit_code)
        return self.worked.family is Family.SHELL and any(code is not None for code in codes)

    def sentence(self) -> str:
        """The recovery in one sentence."""
        error = f" with “{shorten(self.error, 160)}”" if self.error else ""
        if self.means is Means.ENABLED:
            helped = " and ".join(shown(action) for action in self.enablers)
            return f"{shown(self.failed)} fails{error} until {helped} has been run."
        return f"{shown(self.failed)} fails{error}; {shown(self.worked)} works."

    def spans(self, timeline: Timeline) -> list[Span]:
        """Where it was seen."""
        own = timeline.trajectory_id
        calls = (self.failed, *self.enablers, self.worked)
        return [
            Span(own, self.failed.index, "observation"),
            *(Span(own, action.index, "arguments") for action in calls),
        ]


def recoveries_of(actions: Sequence[Action]) -> tuple[Recovery, ...]:
    """Every failure that was followed by a working call of the same kind, once per error."""
    found: dict[tuple[str, str], Recovery] = {}
    for at, failed in enumerate(actions):
        if failed.worked or failed.step.result in (StepResult.DENIED, StepResult.INTERRUPTED, StepResult.NO_MATCH):
            continue
        following = actions[at + 1 : at + 1 + _MAX_BETWEEN]
        for distance, later in enumerate(following):
            if (
                later.surely_worked
                and not _hidden(later)
                and (same_call(failed.step, later.step) or is_variant(failed, later))
            ):
                recovery = _recovery(failed, later, between=following[:distance])
                found.setdefault((recovery.signature, failed.label), recovery)
                break
    return tuple(found.values())


def is_variant(failed: Action, later: Action) -> bool:
    """Whether the later call is another form of the failed one."""
    if failed.family is not later.family or same_call(failed.step, later.step):
        return False
    if failed.family is Family.SHELL:
        pairs = ((before, after) for before in failed.programs for after in later.programs)
        return any(_alike(before, after) for before, after in pairs) or _renamed(failed, later)
    if failed.family is Family.FILE:
        return failed.step.tool == later.step.tool and failed.path == later.path and bool(failed.path)
    if failed.step.tool != later.step.tool:
        return False
    before, after = essential(failed.step), essential(later.step)
    return bool(before.keys() & after.keys()) or not before


def shown(action: Action) -> str:
    """The call as code, on one line."""
    if action.family is Family.SHELL:
        return code(shorten(action.command, 200))
    return code(
        call_text(action.step.tool, action.step.arguments) if action.family is Family.CALL else action.step.tool
    )


def telling_line(observation: str) -> str:
    """The line of an output whose signature is the output's signature."""
    wanted = error_signature(observation)
    for line in reversed(observation[-20_000:].splitlines()):
        if line.strip() and error_signature(line) == wanted:
            return re.sub(r"^E\s+", "", line.strip())
    return wanted


def _recovery(failed: Action, later: Action, *, between: Sequence[Action]) -> Recovery:
    changes = [
        action
        for action in between
        if action.worked and action.effect is not Effect.READ and not same_call(action.step, failed.step)
    ]
    edits = [action for action in changes if action.family is Family.FILE]
    others = [action for action in changes if action.family is not Family.FILE and action.effect is Effect.WRITE]
    asked = [action for action in others if _asked_for(action, failed.step.observation)]
    if failed.family is Family.FILE or (failed.family is Family.SHELL and failed.effect is Effect.READ):
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    if same_call(failed.step, later.step):
        if not changes:
            return Recovery(failed=failed, worked=later, means=Means.TRANSIENT)
        enablers = asked or ([] if edits or len(others) > _MAX_ENABLERS else others)
        means = Means.ENABLED if enablers and failed.family is Family.SHELL else Means.REWORKED
        return Recovery(failed=failed, worked=later, means=means, enablers=tuple(enablers))
    if failed.family is Family.CALL and not _same_values(failed, later):
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    if failed.effect is Effect.CHECK and edits:
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    return Recovery(failed=failed, worked=later, means=Means.VARIED, enablers=tuple(asked))


def _asked_for(action: Action, error: str) -> bool:
    """Whether the error's text names this command, or something that the command brings."""
    for command in action.programs:
        if len(command.text) >= 4 and command.text in error:
            return True
        if command.subcommand and re.search(
            rf"\b{re.escape(command.program)}\s+{re.escape(command.subcommand)}\b", error
        ):
            return True
        if command.subcommand.rsplit(" ", 1)[-1] in ("install", "add", "i", "require") and any(
            len(operand) >= 3 and operand.replace("-", "_") in error.replace("-", "_") for operand in command.operands
        ):
            return True
    return False


def _alike(before: Command, after: Command) -> bool:
    """Same program and subcommand, and the operands overlap, or one of them has none."""
    if (before.program, before.subcommand) != (after.program, after.subcommand):
        return False
    left, right = set(before.operands), set(after.operands)
    return bool(left & right) or not left or not right


def _renamed(failed: Action, later: Action) -> bool:
    """`python x` → `python3 x`: the program was not there under that name, all else is the same."""
    if (
        not re.search(r"not found|not recognized|No such file", failed.step.observation)
        or not failed.programs
        or not later.programs
    ):
        return False
    a, b = failed.programs[0], later.programs[0]
    return a.program != b.program and a.words[1:] == b.words[1:] and len(a.words) > 1


def _same_values(failed: Action, later: Action) -> bool:
    """Whether a plain call was mended in form: other keys, or the same values written otherwise."""
    before, after = essential(failed.step), essential(later.step)
    if before.keys() != after.keys():
        return True
    return [_bare(value) for _, value in leaves(before)] == [_bare(value) for _, value in leaves(after)]


def _bare(value: object) -> str:
    return re.sub(r"[\W_]+", "", str(value)).casefold()


def _hidden(action: Action) -> bool:
    return action.family is Family.SHELL and masks_exit(action.command)
