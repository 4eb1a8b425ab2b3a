"""One agent's records, in file order → drafts of its steps. Tells the user's words from the host's, and results apart.

Where one task ends and the next begins is decided by the collector that takes the drafts. Thinking is not kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.domain.session import Mark
from tacit.domain.trajectory import Role, StepResult, Trajectory, Usage
from tacit.ingest.attempts import Attempts, Draft
from tacit.ingest.claude_code.edits import reduced
from tacit.ingest.claude_code.outcome import is_interruption, noted_in, outcome_of, refusal_words
from tacit.ingest.claude_code.records import Author, Block, Record, Spent
from tacit.ingest.claude_code.speakers import command_of, told_apart
from tacit.ingest.claude_code.spilled import spilled
from tacit.ingest.decoding import bounded, bounded_value, count_of, moment_of, text_of
from tacit.ingest.problems import Place

_PEOPLE = frozenset({"human", "person", "composer", "voice-call", "suggestion"})
_SYNTHETIC = "<synthetic>"
_UNASKED = "bypassPermissions"


class Thread:
    """What one agent was asked, did and saw."""

    def __init__(self, attempts: Attempts, *, folder: Path) -> None:
        """Give the drafts to this collector; long outputs are saved below the session's folder."""
        self.attempts = attempts
        self._folder = folder
        self._prompt: tuple[str, Any] | None = None
        self._asked = True

    def add(self, record: Record, mark: Mark, place: Place) -> Trajectory | None:
        """Take in a record; gives the attempt that it ends, if it ends one."""
        finished = None
        if record.permissionMode:
            self._asked = record.permissionMode != _UNASKED
        if record.type == "assistant":
            self._add_assistant(record, mark, place)
        elif record.type == "user":
            finished = self._add_user(record, mark)
        else:
            finished = self._add_attachment(record, mark)
        self.attempts.note(
            version=record.version or "", branch=record.gitBranch or "", session_id=record.sessionId or ""
        )
        return finished

    def _add_user(self, record: Record, mark: Mark) -> Trajectory | None:
        """Take in a prompt, the host's words in a prompt's place, or results of calls."""
        hosts = bool(record.isMeta or record.isCompactSummary or record.isVisibleInTranscriptOnly)
        hosts = hosts or not _is_person(record.origin)
        content = record.message.content
        if isinstance(content, str):
            return self._say(record, [content], mark, hosts=hosts)
        for block in content:
            if block.type == "tool_result":
                self._resolve(record, block, mark)
        return self._say(record, [text_of(block.text) for block in content if block.type == "text"], mark, hosts=hosts)

    def _add_assistant(self, record: Record, mark: Mark, place: Place) -> None:
        """Take in what the agent said or called: one record per content block, several records per message."""
        message = record.message
        synthetic = bool(record.isApiErrorMessage) or message.model == _SYNTHETIC
        if not synthetic:
            self.attempts.note(model=message.model or "")
        if message.usage is not None:
            self.attempts.spend(message.id or record.uuid or "", _usage(message.usage))
        blocks = message.content if isinstance(message.content, list) else [Block(type="text", text=message.content)]
        for block in blocks:
            if block.type == "text":
                self._answer(record, text_of(block.text), mark, role=Role.CONTEXT if synthetic else Role.AGENT)
            elif block.type == "tool_use":
                self._call(record, block, mark, place=place)

    def _add_attachment(self, record: Record, mark: Mark) -> Trajectory | None:
        """Take in text that the host put before the agent, or a prompt typed while it worked."""
        given = record.attachment
        if given is None:
            return None
        if given.type == "queued_command":
            hosts = given.isMeta or given.commandMode not in (None, "prompt") or not _is_person(given.origin)
            return self._say(record, _texts(given.prompt), mark, hosts=bool(hosts))
        texts = [text for part in record.rendered or () for text in _texts(part.content)]
        if not texts and given.type != "hook_success":  # most of what hooks print, the agent never sees
            texts = _texts(given.content)
        return self._say(record, texts, mark, hosts=True)

    def _say(self, record: Record, texts: list[str], mark: Mark, *, hosts: bool) -> Trajectory | None:
        at = moment_of(record.timestamp)
        drafts: list[Draft] = []
        for text in texts:
            for words, from_host in told_apart(bounded(text)):
                if is_interruption(words):
                    self.attempts.interrupt()
                if hosts or from_host:
                    drafts.append(Draft(Role.CONTEXT, words, at, asks="" if hosts else command_of(words)))
                else:
                    drafts.append(Draft(Role.USER, words, at))
        if not drafts:
            return None
        finished = self.attempts.say(drafts, mark)
        copied = self._copies_end(record) if any(draft.goal for draft in drafts) else False
        return None if copied else finished

    def _copies_end(self, record: Record) -> bool:
        """Whether what stands before this prompt was copied here from another session, and is told there.

        A fork writes the old records again under the id of the first new prompt: several prompts then share one.
        """
        if not record.promptId or record.turnPosition is None:
            return False
        before, self._prompt = self._prompt, (record.promptId, record.turnPosition.turnIndex)
        return before is not None and before[0] == record.promptId and before[1] != record.turnPosition.turnIndex

    def _answer(self, record: Record, text: str, mark: Mark, *, role: Role) -> None:
        if text.strip():
            draft = Draft(role, bounded(text), moment_of(record.timestamp), skill=record.attributionSkill or "")
            draft.message_id = record.message.id or ""
            self.attempts.act(draft, mark)

    def _call(self, record: Record, block: Block, mark: Mark, *, place: Place) -> None:
        given = block.input if isinstance(block.input, dict) else {}
        tool = bounded(text_of(block.name)) or "unknown"
        loaded = bounded(text_of(given.get("skill"))) if tool == "Skill" else ""
        draft = Draft(
            Role.AGENT,
            at=moment_of(record.timestamp),
            tool=tool,
            arguments=bounded_value(given, place),
            skill=loaded or record.attributionSkill or "",
            call_id=text_of(block.id),
            message_id=record.message.id or "",
        )
        self.attempts.act(draft, mark)

    def _resolve(self, record: Record, block: Block, mark: Mark) -> None:
        call_id = text_of(block.tool_use_id)
        draft = self.attempts.waiting(call_id)
        if draft is None:
            return  # the call itself is not in this file
        text = "\n".join(_texts(block.content))
        noted = noted_in(record)
        result, exit_code = outcome_of(record, block, tool=draft.tool, text=text, asked=self._asked)
        saved = spilled(noted, text, self._folder)
        self.attempts.resolve(
            call_id, observation=bounded(text) if saved is None else saved, result=result, exit_code=exit_code
        )
        draft.arguments = reduced(draft.tool, draft.arguments, noted)
        words = refusal_words(record, text=text) if result is StepResult.DENIED else ""
        if words.strip():
            self.attempts.act(Draft(Role.USER, bounded(words), moment_of(record.timestamp)), mark)


def _is_person(origin: Author | None) -> bool:
    """Whether a person wrote it; a prompt without a word on that is a person's."""
    return origin is None or origin.kind is None or text_of(origin.kind) in _PEOPLE


def _usage(spent: Spent) -> Usage:
    return Usage(
        input_tokens=count_of(spent.input_tokens) + count_of(spent.cache_creation_input_tokens),
        output_tokens=count_of(spent.output_tokens),
        cached_tokens=count_of(spent.cache_read_input_tokens),
    )


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
