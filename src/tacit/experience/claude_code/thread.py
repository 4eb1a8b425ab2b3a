"""One agent's records, in file order → its steps. Joins calls with results, and tells the user's words from the host's.

Builds steps only; where one task ends and the next begins is not decided here. Thinking is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tacit.domain.trajectory import Role, Step, StepResult, Usage
from tacit.experience.claude_code.outcome import is_interruption, outcome_of
from tacit.experience.claude_code.records import Attached, Author, Block, Envelope, Record, Spent
from tacit.experience.claude_code.speakers import command_of, told_apart
from tacit.experience.decoding import bounded, bounded_value, count_of, moment_of, text_of
from tacit.experience.problems import Place

_PEOPLE = frozenset({"human", "person", "composer", "voice-call", "suggestion"})
_SYNTHETIC = "<synthetic>"


@dataclass(slots=True)
class _Draft:
    """A step that may still get its result."""

    role: Role
    text: str = ""
    at: datetime | None = None
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    observation: str = ""
    result: StepResult = StepResult.UNKNOWN
    exit_code: int | None = None
    skill: str = ""
    message_id: str = ""


class Thread:
    """What one agent was asked, did and saw."""

    def __init__(self, *, is_subagent: bool = False) -> None:
        self.session_ids: dict[str, None] = {}
        self.cwd = self.branch = self.version = self.model = ""
        self._is_subagent = is_subagent
        self._drafts: list[_Draft] = []
        self._calls: dict[str, _Draft] = {}
        self._spent: dict[str, Spent] = {}
        self._asked = ""
        self._commanded = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said or done."""
        return not self._drafts

    @property
    def task(self) -> str:
        """The first thing that was asked for; a slash command if nothing else was."""
        return self._asked or self._commanded

    def add_user(self, record: Record, place: Place) -> None:
        """Take in a prompt, the host's words in a prompt's place, or results of calls."""
        self._note(record)
        hosts = record.isMeta or record.isCompactSummary or record.isVisibleInTranscriptOnly
        hosts = hosts or not _is_person(record.origin)
        content = record.message.content
        if isinstance(content, str):
            self._say(record, content, hosts=bool(hosts))
            return
        for block in content:
            if block.type == "tool_result":
                self._resolve(record, block)
            else:
                self._say(record, text_of(block.text) if block.type == "text" else "", hosts=bool(hosts))

    def add_assistant(self, record: Record, place: Place) -> None:
        """Take in what the agent said or called: one record per content block, several records per message."""
        self._note(record)
        message = record.message
        synthetic = bool(record.isApiErrorMessage) or message.model == _SYNTHETIC
        if not synthetic:
            self.model = self.model or message.model or ""
        if message.usage is not None:
            self._spent[message.id or record.uuid or ""] = message.usage
        blocks = message.content if isinstance(message.content, list) else [Block(type="text", text=message.content)]
        for block in blocks:
            if block.type == "text":
                self._answer(record, text_of(block.text), role=Role.CONTEXT if synthetic else Role.AGENT)
            elif block.type == "tool_use":
                self._call(record, block, place)

    def add_attachment(self, attached: Attached, place: Place) -> None:
        """Take in text that the host put before the agent, or a prompt typed while it worked."""
        self._note(attached)
        given = attached.attachment
        if given.type == "queued_command":
            hosts = given.isMeta or given.commandMode not in (None, "prompt") or not _is_person(given.origin)
            for text in _texts(given.prompt):
                self._say(attached, text, hosts=bool(hosts))
            return
        texts = [text for part in attached.rendered or () for text in _texts(part.content)]
        for text in texts or _texts(given.content):
            self._say(attached, text, hosts=True)

    def steps(self) -> tuple[Step, ...]:
        """Give the steps as they stand now."""
        return tuple(
            Step(
                index=index,
                role=draft.role,
                text=draft.text,
                tool=draft.tool,
                arguments=draft.arguments,
                observation=draft.observation,
                result=draft.result,
                exit_code=draft.exit_code,
                skill=draft.skill,
                at=draft.at,
            )
            for index, draft in enumerate(self._drafts)
        )

    def usage(self) -> Usage:
        """Sum what was spent, each model message once."""
        spent = self._spent.values()
        return Usage(
            input_tokens=sum(count_of(s.input_tokens) + count_of(s.cache_creation_input_tokens) for s in spent),
            output_tokens=sum(count_of(s.output_tokens) for s in spent),
            cached_tokens=sum(count_of(s.cache_read_input_tokens) for s in spent),
        )

    def _note(self, envelope: Envelope) -> None:
        if envelope.sessionId:
            self.session_ids[envelope.sessionId] = None
        self.cwd = self.cwd or envelope.cwd or ""
        self.branch = self.branch or envelope.gitBranch or ""
        self.version = self.version or envelope.version or ""

    def _say(self, envelope: Envelope, text: str, *, hosts: bool) -> None:
        at = moment_of(envelope.timestamp)
        for words, from_host in told_apart(bounded(text)):
            if is_interruption(words):
                self._interrupt()
            person = not (hosts or from_host)
            if person:
                self._asked = self._asked or words
            elif not self._commanded:
                self._commanded = command_of(words)
            role = Role.USER if person and not self._is_subagent else Role.CONTEXT
            self._drafts.append(_Draft(role, words, at))

    def _answer(self, record: Record, text: str, *, role: Role) -> None:
        if text.strip():
            draft = _Draft(role, bounded(text), moment_of(record.timestamp), skill=record.attributionSkill or "")
            draft.message_id = record.message.id or ""
            self._drafts.append(draft)

    def _call(self, record: Record, block: Block, place: Place) -> None:
        given = block.input if isinstance(block.input, dict) else {}
        draft = _Draft(
            Role.AGENT,
            at=moment_of(record.timestamp),
            tool=bounded(text_of(block.name)) or "unknown",
            arguments=bounded_value(given, place),
            skill=record.attributionSkill or "",
        )
        before = self._drafts[-1] if self._drafts else None
        if before and before.message_id and before.message_id == record.message.id and before.role is Role.AGENT:
            # What the agent said in the same message belongs to this call, not to a step of its own.
            draft.text, draft.at = before.text, before.at or draft.at
            self._drafts.pop()
        self._drafts.append(draft)
        if isinstance(block.id, str):
            self._calls[block.id] = draft

    def _resolve(self, record: Record, block: Block) -> None:
        draft = self._calls.pop(text_of(block.tool_use_id), None)
        if draft is None:
            return  # the call itself is not in this file
        text = "\n".join(_texts(block.content))
        draft.result, draft.exit_code = outcome_of(record, block, tool=draft.tool, text=text)
        draft.observation = bounded(text)

    def _interrupt(self) -> None:
        for draft in self._calls.values():
            draft.result = StepResult.INTERRUPTED
        self._calls.clear()


def _is_person(origin: Author | None) -> bool:
    """Whether a person wrote it; a prompt without a word on that is a person's."""
    return origin is None or origin.kind is None or origin.kind in _PEOPLE


def _texts(content: Any) -> list[str]:
    """Give the texts of a content that is a text, a block, or a list of either."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [text for part in content for text in ([part] if isinstance(part, str) else _part_texts(part))]
    return _part_texts(content)


def _part_texts(part: Any) -> list[str]:
    if not isinstance(part, dict):
        return []
    if part.get("type") == "text" or "text" in part:
        return [text_of(part.get("text"))]
    return [f"[{part['type']}]"] if part.get("type") in ("image", "document", "audio") else []
