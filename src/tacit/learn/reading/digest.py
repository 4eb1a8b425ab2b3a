"""What a language model reads of a session: a few thousand tokens of numbered lines instead of the whole transcript.

A line is one step: what the person said, why the agent did something, a command with how it ended and the lines that tell an
error, an edit as a small diff. Long sessions come in parts. `SessionRecord` keeps the steps in full, so that an answer can be
held against what really happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tacit.domain.trajectory import Origin, Role, Span, Step, StepResult, Trajectory
from tacit.learn.attempt_outlines import MIN_ROOT
from tacit.text.error_signatures import output_lines, shows_failure, telling_lines
from tacit.text.exit_status import masks_exit
from tacit.text.file_edits import FileEdit
from tacit.text.redaction import redact
from tacit.text.safe_markdown import clean
from tacit.text.text_sources import texts_in
from tacit.text.tool_calls import (
    Effect,
    ToolCall,
    ToolKind,
    is_internal,
    plain_name,
    tool_call,
)
from tacit.text.words import estimate_tokens

MAX_TOKENS = 5_200
"""Of the lines of one part; with what is known already, a part stays below 6,000 tokens."""
MAX_PARTS = 4
"""Parts of one session: a longer one is told in less detail instead."""
_ASKING = frozenset({"askuserquestion", "request_user_input", "exitplanmode"})
"""Tools whose answer is the person's."""
_PERSON, _AGENT = "PERSON", "AGENT"
_LIKE_A_LINE = re.compile(
    r"^(?=[ \t]*(?:\d+[ \t]+(?:PERSON\b|STARTED BY|AGENT\b|\$ |edited |looked at |\S+\(.*→)|(?:PERSON|AGENT) \w*:|known: |"
    r"earlier parts: ))",
    re.MULTILINE,
)
"""Where a text of several lines could be taken for a line of the digest itself."""


def is_question(tool: str) -> bool:
    """Whether a tool of the client itself asks the person; one of a server could say anything in the person's name."""
    return plain_name(tool) in _ASKING and not tool.startswith("mcp__")


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of each step a digest tells, in characters and lines."""

    person: int
    reason: int
    closing: int
    command: int
    error_lines: int
    output_lines: int
    edit_lines: int
    line: int = 150


_DETAILS = (
    Detail(person=2_400, reason=320, closing=1_200, command=320, error_lines=8, output_lines=3, edit_lines=8),
    Detail(person=1_600, reason=240, closing=900, command=240, error_lines=6, output_lines=2, edit_lines=4),
    Detail(person=1_000, reason=160, closing=600, command=160, error_lines=4, output_lines=0, edit_lines=2, line=120),
    Detail(person=600, reason=0, closing=400, command=110, error_lines=3, output_lines=0, edit_lines=0, line=100),
    Detail(person=400, reason=0, closing=200, command=70, error_lines=1, output_lines=0, edit_lines=0, line=80),
)
"""From full to sparse; the first that fits is used."""


@dataclass(frozen=True)
class NumberedStep:
    """A step of a session under its number in the digest."""

    number: int
    trajectory: Trajectory
    step: Step

    def span(self, part: str) -> Span:
        """Return the place of one part of the step."""
        return Span(self.trajectory.id, self.step.index, part)

    @cached_property
    def call(self) -> ToolCall:
        """The classified tool call."""
        return tool_call(self.step, self.trajectory.environment.workspace)

    @property
    def is_persons(self) -> bool:
        """Whether a person wrote the text of the step, and not an agent that started this one."""
        return self.step.role is Role.USER and not self.trajectory.parent_session_id

    @property
    def holds_answer_of_person(self) -> bool:
        """Whether the answer of the call is what the person said; of a refused one it is the client's own sentence."""
        asked = is_question(self.step.tool) and self.step.result is not StepResult.DENIED
        return self.step.is_action and asked and self.trajectory.task_origin is Origin.USER

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The texts of the step, each with the name of its part; paths are relative to the workspace."""
        step = self.step
        texts = [("text", step.text)]
        if step.is_action:
            texts += [
                ("arguments", "\n".join((step.tool, *texts_in(step.arguments)))),
                ("observation", step.observation),
            ]
        return tuple((part, self.relative(text)) for part, text in texts if text)

    def relative(self, text: str) -> str:
        """Return a text with paths relative to the workspace."""
        root = self.trajectory.environment.workspace.rstrip("/\\")
        if len(root) < MIN_ROOT:
            return text
        return text.replace(f"{root}/", "").replace(f"{root}\\", "").replace(root, ".")


@dataclass(frozen=True)
class SessionRecord:
    """The attempts of one session in order, with their steps numbered from 1."""

    session: str
    attempts: tuple[Trajectory, ...]

    @cached_property
    def steps(self) -> tuple[NumberedStep, ...]:
        """All steps in order."""
        found = [(attempt, step) for attempt in self.attempts for step in attempt.steps]
        return tuple(NumberedStep(number, attempt, step) for number, (attempt, step) in enumerate(found, start=1))

    @property
    def clients(self) -> frozenset[str]:
        """The agent programs that its attempts ran in; an empty name is an unknown one."""
        return frozenset(each.environment.client for each in self.attempts)


def digest_parts(record: SessionRecord) -> list[str]:
    """Return the digest of a session, in as many parts as it needs; empty where no tool was called."""
    if not any(each.step.is_action for each in record.steps):
        return []
    parts = _packed(_entries(record.steps, _DETAILS[0]))
    for detail in _DETAILS[1:]:
        sparser = _packed(_entries(record.steps, detail))
        if len(parts) > MAX_PARTS or (detail is _DETAILS[1] and len(sparser) < len(parts)):
            parts = sparser
    return parts[:MAX_PARTS]


def digest_within(record: SessionRecord, tokens: int) -> str:
    """Return one text of at most so many tokens; what does not fit even in the sparsest form is cut at the end."""
    parts: list[str] = []
    for detail in _DETAILS:
        parts = _packed(_entries(record.steps, detail), tokens)
        if len(parts) <= 1:
            break
    return parts[0] if parts else ""


def _packed(entries: Iterable[str], most: int = MAX_TOKENS) -> list[str]:
    """Join entries to parts that keep to the limit."""
    parts: list[list[str]] = []
    room = 0
    for entry in entries:
        tokens = estimate_tokens(entry) + 1
        if not parts or tokens > room:
            parts.append([])
            room = most
        parts[-1].append(entry)
        room -= tokens
    return ["\n".join(part) for part in parts]


def _entries(steps: Sequence[NumberedStep], detail: Detail) -> Iterator[str]:
    """Yield the lines of each step; files that are read one after the other share a line."""
    read: list[tuple[int, str]] = []
    for at, each in enumerate(steps):
        if each.step.is_action and (path := _only_read(each)):
            read.append((each.number, path))
            continue
        lines = _call_lines(each, detail) if each.step.is_action else _text_lines(each, steps[at + 1 : at + 2], detail)
        made = redact(clean("\n".join(lines))).text
        if made:
            yield from _read_line(read)
            read = []
            yield made
    yield from _read_line(read)


def _read_line(read: Sequence[tuple[int, str]]) -> Iterator[str]:
    if read:
        paths = list(dict.fromkeys(path for _, path in read))
        more = f" and {len(paths) - 8} more" if len(paths) > 8 else ""
        yield redact(clean(f"{read[0][0]} looked at {', '.join(paths[:8])}{more}")).text


def _only_read(each: NumberedStep) -> str:
    """Return what a call looked at that worked and told nothing else."""
    call = each.call
    if call.kind is not ToolKind.FILE or call.effect is not Effect.READ or not call.worked or each.step.text:
        return ""
    looked = str(each.step.arguments.get("pattern") or call.path)
    return _shortened(_one_line(each.relative(looked)), 80)


def _text_lines(each: NumberedStep, following: Sequence[NumberedStep], detail: Detail) -> list[str]:
    step = each.step
    text = each.relative(step.text).strip()
    is_task = each.trajectory.task_origin is Origin.EXTERNAL and step.text.strip() == each.trajectory.task.text
    if is_task:
        return [f"{each.number} STARTED BY PROGRAM: {_LIKE_A_LINE.sub('> ', _both_ends(text, detail.person))}"]
    if not text or step.role in (Role.SYSTEM, Role.CONTEXT):
        return []
    if step.role is Role.USER:
        who = _PERSON if each.is_persons else "STARTED BY AGENT"
        shown = _LIKE_A_LINE.sub("> ", _both_ends("\n".join(text.splitlines()), detail.person))
        return [f"{each.number} {who}: {shown}"]
    closing = not following or not following[0].step.is_action
    most = detail.closing if closing else detail.reason
    return [f"{each.number} {_AGENT}: {_both_ends(_one_line(text), most)}"] if most else []


def _call_lines(each: NumberedStep, detail: Detail) -> list[str]:
    step, call = each.step, each.call
    if is_question(step.tool):
        asked = _shortened(_one_line(each.relative("\n".join(texts_in(step.arguments)))), detail.person // 2)
        answer = _shortened(_one_line(each.relative(step.observation)), detail.person // 2)
        reply = f"  {_PERSON} answered: {answer}" if each.holds_answer_of_person else f"  {_PERSON} gave no answer"
        return [f"{each.number} {_AGENT} asked: {asked}", reply]
    if is_internal(step.tool, step.arguments) or call.effect is Effect.INTERNAL:
        return []
    why = _both_ends(_one_line(each.relative(step.text)), detail.reason) if detail.reason else ""
    lines = [f"{each.number} {_AGENT}: {why}"] if why else []
    if call.edits:
        for edit in call.edits[:4]:
            lines += [f"{each.number} edited {_one_line(edit.file)}{_ending(each)}", *_diff(each, edit, detail)]
    elif call.kind is ToolKind.SHELL:
        command = _shortened(" ⏎ ".join(each.relative(call.command).strip().splitlines()), detail.command)
        lines.append(f"{each.number} $ {command}{_ending(each)}")
    else:
        given = _shortened(_one_line(each.relative(" ".join(texts_in(step.arguments)))), detail.command)
        lines.append(f"{each.number} {_one_line(step.tool)}({given}){_ending(each)}")
    return [*lines, *_output(each, detail)]


def _ending(each: NumberedStep) -> str:
    step = each.step
    match step.result:
        case StepResult.OK:
            return " → ok" if not _hidden_failure(each) else " → exit status hidden, output shows an error"
        case StepResult.FAILED:
            return f" → FAILED{f' (exit {step.exit_code})' if step.exit_code else ''}"
        case StepResult.DENIED:
            return f" → REFUSED by the {_PERSON.lower()}"
        case StepResult.INTERRUPTED:
            return " → interrupted"
        case StepResult.NO_MATCH:
            return " → no match"
        case _:
            return " → end not recorded"


def _hidden_failure(each: NumberedStep) -> bool:
    call = each.call
    return call.kind is ToolKind.SHELL and masks_exit(call.command) and shows_failure(each.step.observation)


def _output(each: NumberedStep, detail: Detail) -> list[str]:
    step, call = each.step, each.call
    if step.failed or not call.worked or _hidden_failure(each):
        denied = step.result is StepResult.DENIED
        chosen = output_lines(step.observation) if denied else telling_lines(step.observation)
        chosen = chosen[-detail.error_lines :] if not denied else chosen[: detail.error_lines]
    elif call.edits or call.kind is ToolKind.FILE:
        return []
    else:
        lines = output_lines(step.observation)
        checked = call.effect is Effect.CHECK
        most = detail.output_lines + (2 if checked and detail.output_lines else 0)
        chosen = lines if len(lines) <= most else [*lines[: most // 2], *lines[len(lines) - (most - most // 2) :]]
    return [f"  | {_shortened(each.relative(line), detail.line)}" for line in chosen]


def _diff(each: NumberedStep, edit: FileEdit, detail: Detail) -> Iterator[str]:
    left = detail.edit_lines
    if edit.deleted:
        yield "  (deleted)"
    if edit.moved_to:
        yield f"  (moved to {_one_line(edit.moved_to)})"
    for hunk in edit.hunks:
        for sign, text in (("-", hunk.old), ("+", hunk.new)):
            lines = [line for line in text.splitlines() if line.strip()]
            for line in lines[: max(1, detail.edit_lines // 2)]:
                if left <= 0:
                    return
                left -= 1
                yield f"  {sign} {_shortened(each.relative(line.strip()), detail.line)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _both_ends(text: str, most: int) -> str:
    """Return the beginning and the end of a text: what is asked often stands last."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} […] {text[len(text) - (most - head) :]}"
