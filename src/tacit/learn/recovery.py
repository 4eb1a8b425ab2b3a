"""Finds recoveries in one attempt: a call that failed, and a later call of the same kind that worked.

Distinguishes what made the difference: a command in between, another form of the call, another program, or nothing (a
temporary error). A test that passes after an edit is ordinary work and teaches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from tacit.domain.trajectory import Span, StepResult
from tacit.learn.values import Timeline
from tacit.learn.wording import call_text, code, shorten
from tacit.text.error_signatures import error_signature, missing_name, without_place
from tacit.text.exit_status import masks_exit
from tacit.text.programs import WRAPPERS
from tacit.text.shell import Command
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, changes_nothing, essential, leaves, same_call

_MAX_BETWEEN = 12
_MAX_ENABLERS = 2
_MAX_COMMAND, _MAX_LINES = 400, 3  # a longer command is a script: content, not a way of calling something


class Means(StrEnum):
    """What made the difference."""

    ENABLED = "enabled"
    """The same call worked after another one."""
    VARIED = "varied"
    """The call worked in another form."""
    TRANSIENT = "transient"
    """The same call worked with nothing done in between."""
    REPLACED = "replaced"
    """Another tool was called next. Once that says nothing; only how often it helps can tell."""
    REWORKED = "reworked"
    """It worked after edits, or in a way that tells nothing general."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A failure and what followed it."""

    failed: ToolCall
    worked: ToolCall
    """The later call. Among all that was tried (`tries_after`) it may have failed as well."""
    means: Means
    enablers: tuple[ToolCall, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether it is worth a lesson."""
        return self.means in (Means.ENABLED, Means.VARIED)

    @property
    def signature(self) -> str:
        """The error, reduced to its invariant text."""
        return error_signature(self.failed.step.observation, command=self.failed.command)

    @property
    def error(self) -> str:
        """The telling line of the error as it was, as far as it can be found."""
        return telling_line(self.failed.step.observation)

    @property
    def missing(self) -> str:
        """The module or program that the error says is not there."""
        return _missing(self.failed)

    @property
    def replaced(self) -> bool:
        """Whether another program did what a missing one was called for."""
        return self.means is Means.VARIED and _lacks_program(self.failed) and not _calls(self.worked, self.missing)

    @property
    def installed(self) -> str:
        """The package that was installed under the very name that was missing, as it was typed."""
        wanted = _bare(self.missing.split(".")[0])
        commands = (command for action in (*self.enablers, self.worked) for command in action.programs)
        packages = (operand for command in commands if _installs(command) for operand in command.operands)
        return next((package for package in packages if wanted and _bare(package) == wanted), "")

    @property
    def exit_known(self) -> bool:
        """Whether exit statuses showed both the failure and the success."""
        codes = (self.failed.step.exit_code, self.worked.step.exit_code)
        return (
            self.worked.kind is ToolKind.SHELL and any(code is not None for code in codes) and not _hidden(self.worked)
        )

    @property
    def wrapped(self) -> str:
        """What worked with `{command}` for the failed call, if it is that call whole, run through or in the background."""
        return _wrapped(self.failed, self.worked) if self.means is Means.VARIED and not self.enablers else ""

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


def recoveries_of(actions: Sequence[ToolCall]) -> tuple[Recovery, ...]:
    """Every failure that was followed by a working call of the same kind, once per error."""
    found: dict[tuple[str, str], Recovery] = {}
    for at, failed in enumerate(actions):
        if not went_wrong(failed):
            continue
        for recovery in tries_after(actions, at):
            if recovery.worked.surely_worked:
                found.setdefault((recovery.signature, failed.label), recovery)
    return tuple(found.values())


def tries_after(actions: Sequence[ToolCall], at: int) -> Iterator[Recovery]:
    """What was tried about the failure at this place: later calls of the same kind, up to the first that surely worked."""
    failed, following = actions[at], actions[at + 1 : at + 1 + _MAX_BETWEEN]
    for distance, later in enumerate(following):
        if (same_call(failed.step, later.step) or is_variant(failed, later)) and not _hidden(later):
            yield _recovery(failed, later, between=following[:distance])
            if later.surely_worked:
                return


def is_variant(failed: ToolCall, later: ToolCall) -> bool:
    """Whether the later call is another form of the failed one."""
    if failed.kind is not later.kind or same_call(failed.step, later.step):
        return False
    if failed.kind is ToolKind.SHELL:
        if _lacks_program(failed):
            return _calls(later, _missing(failed)) or _stands_in(failed, later)
        return bool(_pairs(failed, later)) or _renamed(failed, later)
    if failed.kind is ToolKind.FILE:
        return failed.step.tool == later.step.tool and failed.path == later.path and bool(failed.path)
    if failed.step.tool != later.step.tool:
        return False
    before, after = essential(failed.step.arguments), essential(later.step.arguments)
    return bool(before.keys() & after.keys()) or not before


def shown(action: ToolCall) -> str:
    """The call as code, on one line."""
    if action.kind is ToolKind.SHELL:
        return code(shorten(action.command, 200))
    return code(
        call_text(action.step.tool, action.step.arguments) if action.kind is ToolKind.FUNCTION else action.step.tool
    )


def telling_line(observation: str) -> str:
    """The line of an output whose signature is the output's signature."""
    wanted = error_signature(observation)
    for line in reversed(observation[-20_000:].splitlines()):
        if line.strip() and error_signature(line) == wanted:
            return without_place(re.sub(r"^E\s+", "", line.strip()))
    return wanted


def went_wrong(action: ToolCall) -> bool:
    """Whether it failed: not refused, not stopped, and not a question that was answered with no."""
    if action.worked or action.step.result in (StepResult.DENIED, StepResult.INTERRUPTED, StepResult.NO_MATCH):
        return False
    asks = action.programs and action.programs[-1].program in _ASKING
    return not (asks and action.step.exit_code == 1 and not _missing(action))


def _recovery(failed: ToolCall, later: ToolCall, *, between: Sequence[ToolCall]) -> Recovery:
    changes = [
        action
        for action in between
        if action.worked and action.effect is not Effect.READ and not same_call(action.step, failed.step)
    ]
    edits = [action for action in changes if _edits(action)]
    others = [action for action in changes if not _edits(action) and action.effect is Effect.WRITE]
    asked = _asked(failed, [action for action in changes if not _edits(action)])  # `build.py gen` looks like a check
    few = [] if edits or len(others) > _MAX_ENABLERS or passing(failed) else others
    helped = asked or (few if same_call(failed.step, later.step) else [])
    if same_call(failed.step, later.step) and not changes and failed.kind is not ToolKind.FILE:
        return Recovery(failed=failed, worked=later, means=Means.TRANSIENT)
    if failed.kind is ToolKind.FILE or not all(_tellable(action) for action in (later, *helped)):
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    if failed.kind is ToolKind.SHELL and failed.effect is Effect.READ and not _lacks_program(failed):
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    if same_call(failed.step, later.step):
        means = Means.ENABLED if helped and failed.kind is ToolKind.SHELL else Means.REWORKED
        return Recovery(failed=failed, worked=later, means=means, enablers=tuple(helped))
    if failed.kind is ToolKind.FUNCTION and not _same_values(failed, later):
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    if failed.kind is ToolKind.SHELL and not asked and not _tells(failed, later, edited=bool(edits)):
        return Recovery(failed=failed, worked=later, means=Means.REWORKED)
    return Recovery(failed=failed, worked=later, means=Means.VARIED, enablers=tuple(asked))


def _asked(failed: ToolCall, others: list[ToolCall]) -> list[ToolCall]:
    """Which of the commands in between the error asks for; what is missing asks for whatever was installed."""
    named = [action for action in others if _asked_for(action, failed.step.observation)]
    if named or not _missing(failed):
        return named
    return [action for action in others if any(_installs(command) for command in action.programs)]


def _tells(failed: ToolCall, later: ToolCall, *, edited: bool) -> bool:
    """Whether the difference between the two is a way of calling: not only what a script written here was given."""
    if _lacks_program(failed) or _renamed(failed, later):
        return True
    through = _wrapped(failed, later).partition("{command}")[0].split()
    if through and all(word in _WATCHING or word[0] in "-0123456789" for word in through):
        return False  # it came off by itself: these change nothing but how long it may take
    if edited and later.effect is Effect.CHECK:
        return False
    typed = {word for command in failed.programs for word in command.text.split()}
    pairs = _pairs(failed, later)
    after = {command.text: command for _, command in pairs} | {
        command.text: command
        for command in later.programs
        if not changes_nothing(command) and not _writes_text(command)
    }
    gained = {word: command for command in after.values() for word in command.text.split() if word not in typed}
    if passing(failed) and not all(set(old.flags) <= set(new.flags) for old, new in pairs):
        return False  # something else was done, not the same in a way that comes to an end
    if edited or passing(failed):
        return any(
            word not in command.operands and not _OWN.search(command.program) for word, command in gained.items()
        )
    return bool(gained) or any(set(old.flags) - set(new.flags) for old, new in pairs)


def _asked_for(action: ToolCall, error: str) -> bool:
    """Whether the error's text names this command, or something that the command brings."""
    for command in action.programs:
        if len(command.text) >= 4 and command.text in error:
            return True
        if command.subcommand and re.search(
            rf"\b{re.escape(command.program)}\s+{re.escape(command.subcommand)}\b", error
        ):
            return True
        if _installs(command) and any(
            len(operand) >= 3 and operand.replace("-", "_") in error.replace("-", "_") for operand in command.operands
        ):
            return True
    return False


def _installs(command: Command) -> bool:
    return command.subcommand.rsplit(" ", 1)[-1] in ("install", "add", "i", "require")


def _pairs(failed: ToolCall, later: ToolCall) -> list[tuple[Command, Command]]:
    """The commands of both that are the same thing, those aside that only look, print or write a text."""
    return [
        (before, after)
        for before in failed.programs
        for after in later.programs
        if (failed.effect is Effect.READ or not (changes_nothing(before) or _writes_text(before)))
        and _alike(before, after)
    ]


def _alike(before: Command, after: Command) -> bool:
    """Same program and subcommand, and the operands overlap, whatever their versions, or one of them has none."""
    if (_usual(before.program), before.subcommand) != (_usual(after.program), after.subcommand):
        return False
    if _RESUMING & set(after.flags) - set(before.flags):
        return False  # it continues where the failed one stopped, after the fix
    left, right = ({_VERSION.sub("", operand) for operand in command.operands} for command in (before, after))
    return bool(left & right) or not left or not right


def _usual(program: str) -> str:
    return _ALIASES.get(program, program)


def _lacks_program(failed: ToolCall) -> bool:
    """Whether the shell did not find a program that this calls."""
    return failed.kind is ToolKind.SHELL and _calls(failed, _missing(failed))


def _calls(action: ToolCall, program: str) -> bool:
    return any(command.program == program for command in action.programs)


def _stands_in(failed: ToolCall, later: ToolCall) -> bool:
    """Another program was given at least half of what the missing one was given."""
    missing = _missing(failed)
    wanted = {operand for command in failed.programs if command.program == missing for operand in command.operands}
    shared = (wanted & set(command.operands) for command in later.programs)
    return any(both and 2 * len(both) >= len(wanted) for both in shared) or _renamed(failed, later)


def _wrapped(failed: ToolCall, later: ToolCall) -> str:
    if failed.kind is not ToolKind.SHELL or not failed.command.strip():
        return ""
    before, whole, after = later.command.strip().partition(failed.command.strip())
    through = all(word in _HARMLESS or _WRAPPER_VALUE.fullmatch(word) for word in before.split())
    background = after.rstrip().endswith("&")
    if not whole or not through or not (before.strip() or background):
        return ""
    return f"{before}{{command}}{after}" if _REDIRECTED.fullmatch(after) else ""


def _missing(action: ToolCall) -> str:
    return _missing_in(action.step.observation) if action.kind is ToolKind.SHELL and not action.worked else ""


_missing_in = lru_cache(maxsize=256)(missing_name)


def passing(failed: ToolCall) -> bool:
    """Whether the error is of a kind that may pass by itself."""
    return bool(_PASSING.search(error_signature(failed.step.observation)))


def _renamed(failed: ToolCall, later: ToolCall) -> bool:
    """`python x` → `python3 x`: the program was not there under that name, all else is the same."""
    if (
        not re.search(r"not found|not recognized|No such file", failed.step.observation)
        or not failed.programs
        or not later.programs
    ):
        return False
    a, b = failed.programs[0], later.programs[0]
    return a.program != b.program and a.words[1:] == b.words[1:] and len(a.words) > 1


def _edits(action: ToolCall) -> bool:
    """Whether it changes files and nothing else, with a tool or in the shell."""
    if action.kind is not ToolKind.SHELL:
        return action.kind is ToolKind.FILE
    working = [command for command in action.programs if not changes_nothing(command)]
    return bool(working) and all(_writes_text(command) for command in working)


def _writes_text(command: Command) -> bool:
    """`cat > file <<EOF`, `sed -i`, `patch`: an edit in the shell."""
    if command.program in ("sed", "perl"):
        return any(re.match(r"-\w*i|--in-place", flag) for flag in command.flags)
    return command.program in ("tee", "patch", "ed") or (
        command.program in ("cat", "echo", "printf") and bool(command.outputs)
    )


def _tellable(action: ToolCall) -> bool:
    """Whether the call is short enough to show."""
    return len(action.command) <= _MAX_COMMAND and action.command.count("\n") < _MAX_LINES


def _same_values(failed: ToolCall, later: ToolCall) -> bool:
    """Whether a plain call was fixed in form: other keys, or the same values written differently."""
    before, after = essential(failed.step.arguments), essential(later.step.arguments)
    if before.keys() != after.keys():
        return True
    return [_bare(value) for _, value in leaves(before)] == [_bare(value) for _, value in leaves(after)]


def _bare(value: object) -> str:
    return re.sub(r"[\W_]+", "", str(value)).casefold()


def _hidden(action: ToolCall) -> bool:
    return action.kind is ToolKind.SHELL and masks_exit(action.command)


_ASKING = frozenset(
    {"diff", "cmp", "grep", "egrep", "fgrep", "rg", "ag", "test", "[", "[[", "which", "type", "command", "pgrep"}
)
"""Programs whose exit status 1 is an answer."""
_HARMLESS = WRAPPERS - {"sudo", "doas"}  # other rights for one command are none for all
_WATCHING = frozenset({"timeout", "nohup", "time", "nice", "ionice", "stdbuf"})
_WRAPPER_VALUE = re.compile(r"\d+(?:\.\d+)?[smhd]?|-\w+|--[\w-]+(?:=\S*)?|[A-Za-z_]\w*=\S*")
_REDIRECTED = re.compile(r"\s*+(?:(?:\d|&)?>>?\s*+(?:&\d|[\w./-]++)\s*+|<\s*+/dev/null\s*+)*+&?\s*")
_RESUMING = frozenset({"--continue", "--abort", "--skip", "--quit"})
_ALIASES = {"pip3": "pip", "python3": "python", "apt-get": "apt"}
_VERSION = re.compile(r"(?:[=<>~!]=|[<>]|(?<=.)@(?=\d)|=(?=\d)).*", re.DOTALL)
_PASSING = re.compile(
    r"timed? ?out|temporary failure|temporarily unavailable|could not resolve host|connection reset|network is unreachable|"
    r"too many requests|rate limit|(?:HTTP|status|status code)[ :]{1,2}50[234]|could not get lock",
    re.IGNORECASE,
)
"""Errors that may pass by themselves: what was done meanwhile need not have helped."""
_OWN = re.compile(r"\.(?:py|sh|js|mjs|ts|rb|pl|php)$|/")
