"""Claude Code's session files → trajectories: `<session>.jsonl` with the subagents' files beside it, or one of these alone.

One trajectory per task of the session, then one per subagent with the session as its parent. Reads on from a mark.
Whether an attempt succeeded is judged elsewhere; so is what must be redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Role, StepResult, Trajectory, Usage
from tacit.ingest.attempts import Attempts, Circumstances, Draft
from tacit.ingest.claude_records import (
    SHOWN_TO_THE_AGENT,
    Author,
    Block,
    ClaudeRecord,
    ClaudeUsage,
    RecordKind,
    is_interruption,
    noted_in,
    outcome_of,
    reduced,
    refusal_words,
    spilled,
)
from tacit.ingest.log_files import (
    CUT,
    LOG_NAMES,
    Line,
    Part,
    Parts,
    Place,
    bounded,
    bounded_value,
    count_of,
    decode,
    holds_json,
    moment_of,
    numbered_lines,
    text_of,
)

_SUBAGENTS = "subagents"
_KEYS = (b'"isSidechain"', b'"queue-operation"', b'"file-history-snapshot"', b'"leafUuid"')
_OPENING_LINES = 200


class ClaudeCodeReader:
    """Reads Claude Code's transcripts."""

    name = "claude-code"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys that only this client writes."""
        return holds_json(head, path) and b'"sessionId"' in head and any(key in head for key in _KEYS)

    def session_file(self, path: Path) -> Path | None:
        """Return the session file that a subagent's file is read with, if it is there."""
        folder = _session_folder(path) if path.name.startswith("agent-") else None
        session = folder.with_name(folder.name + ".jsonl") if folder else None
        return session if session and session.is_file() else None

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the session's attempts and its subagents', from the mark on; its `mark` then says where to go on.

        A line that cannot be read is raised, and the next call goes on.
        """
        return Parts(_parts(path, start))


def _parts(path: Path, start: Mark | None) -> Iterator[Part]:
    folder = _session_folder(path) or _session_files(path)
    session = Session(path, client=ClaudeCodeReader.name, folder=folder)
    if start:
        _note_opening(session, path)
    yield from _parts_of_file(session, path, start)
    mark = session.mark
    yield from session.finish()
    for agent_file in sorted((_session_files(path) / _SUBAGENTS).rglob("agent-*.jsonl")):
        if not (start and _lay_still(agent_file, session.began_at)):
            agent = Session(agent_file, client=ClaudeCodeReader.name, folder=folder)
            yield from _parts_of_file(agent, agent_file, None)
            yield from agent.finish()
    if mark is not None:
        yield mark


def _parts_of_file(session: Session, path: Path, start: Mark | None) -> Iterator[Part]:
    source = str(path)
    for line in numbered_lines(path, start=start):
        if isinstance(line, InvalidTrajectory):
            yield line
            continue
        try:
            yield from session.add(line, Place(source, line.number))
        except InvalidTrajectory as problem:
            # The client may be writing this very line.
            if line.ended:
                yield problem


def _note_opening(session: Session, path: Path) -> None:
    """Take in where the session began: later records may name a folder further down."""
    for line in islice(numbered_lines(path), _OPENING_LINES):
        if session.circumstances.workspace:
            return
        try:
            record = record_of(line, Place(str(path), line.number)) if isinstance(line, Line) else None
        except InvalidTrajectory:
            continue
        if record is not None:
            session.note(record)


def _lay_still(path: Path, since: datetime | None) -> bool:
    """Whether a subagent's file was last written before the open attempt began: it was read with an earlier one."""
    try:
        return since is not None and datetime.fromtimestamp(path.stat().st_mtime, UTC) < since
    except OSError:
        return False


def _session_folder(path: Path) -> Path | None:
    """The folder of the session that a subagent's file belongs to."""
    return next((folder.parent for folder in path.parents if folder.name == _SUBAGENTS), None)


def _session_files(path: Path) -> Path:
    """The folder that the client keeps beside a session's file."""
    ending = next((ending for ending in LOG_NAMES if path.name.endswith(ending)), path.suffix)
    return path.with_name(path.name.removesuffix(ending))


_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_KNOWN = frozenset({"channel", "diagnostics", "system", "tick"})
_NAME = r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*"
_OPENING = re.compile(rf"\s*<({_NAME})(?:\s[^<>]{{0,1000}})?>")
_CLOSING = re.compile(rf"</({_NAME})>\s*\Z")
_CLOSING_REACH = 200
_BLOCKS_MAX = 200
# What opens like this is the host's even if it is never closed.
_HOST_TAG = re.compile(
    r"\s*<(?:command-(?:name|message|args)|local-command-[a-z]+|bash-[a-z-]+|task-notification|ide_[a-z_]+|[a-z-]+-hook)\b"
)
_HOST_OPENINGS = (
    "Caveat: The messages below were generated by the user while running local commands",
    "This session is being continued from a previous conversation",
    "[Request interrupted",
)
_COMMAND = re.compile(r"<command-(name|args)>([^<]*)</command-")


def split_host_text(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text in the user's place into pieces, each with whether the host wrote it."""
    if text.startswith(_HOST_OPENINGS):
        yield text, True
        return
    start, end = _edges(text)
    words = text[start:end]
    if text.strip() and not words.strip():
        yield text, True
        return
    if text[:start].strip():
        yield text[:start], True
    if _HOST_TAG.match(words) or words.lstrip().startswith(_HOST_OPENINGS):
        yield words, True
    else:
        yield from _around_reminders(words)
    if text[end:].strip():
        yield text[end:], True


def command_of(text: str) -> str:
    """Read a slash command that asks the agent for something out of the host's tags.

    Commands to the client itself (`/model`, `/compact`) are no wish of the agent; in theirs the name comes first.
    """
    if not text.lstrip().startswith("<command-message>"):
        return ""
    parts = dict(_COMMAND.findall(text))
    return " ".join(filter(None, (parts.get("name", "").strip(), parts.get("args", "").strip())))


def _edges(text: str) -> tuple[int, int]:
    """Where the text between the host's blocks at both edges begins and ends."""
    start, end = 0, len(text)
    for _ in range(_BLOCKS_MAX):
        after = _after_block(text, start, end)
        before = end if after > start else _before_block(text, start, end)
        if (after, before) == (start, end):
            return start, end
        start, end = after, before
    return end, end  # nobody writes so many blocks by hand


def _after_block(text: str, start: int, end: int) -> int:
    """Where the text goes on behind a block that begins here, or the same place if none does."""
    opening = _OPENING.match(text, start, end)
    if opening is None or not _is_hosts(opening[1]):
        return start
    closing = f"</{opening[1]}>"
    # Reminders stand anywhere, one by one. Other blocks reach to their last end: what they quote may hold a false one.
    find = text.find if closing == _REMINDER_END else text.rfind
    close = find(closing, opening.end(), end)
    if close >= 0:
        return close + len(closing)
    cut = text.find(CUT, opening.end(), end)
    return start if cut < 0 else text.find("]", cut, end) + 1 or end


def _before_block(text: str, start: int, end: int) -> int:
    """Where the text ends before a block that ends here, or the same place if none does."""
    closing = _CLOSING.search(text[max(start, end - _CLOSING_REACH) : end])
    if closing is None or not _is_hosts(closing[1]) or f"</{closing[1]}>" == _REMINDER_END:
        return end
    opening = re.compile(rf"<{closing[1]}(?:\s[^<>]{{0,1000}})?>").search(text, start, end)
    if opening is not None:
        return opening.start()
    cut = text.find(CUT, start, end)
    return end if cut < 0 else cut


def _is_hosts(tag: str) -> bool:
    return "-" in tag or "_" in tag or tag in _KNOWN


def _around_reminders(text: str) -> Iterator[tuple[str, bool]]:
    while text.strip():
        words, opening, behind = text.partition(_REMINDER)
        # An end without a beginning: the beginning was cut away with the middle of a long text.
        reminder, closing, words = words.rpartition(_REMINDER_END)
        if closing:
            yield reminder + closing, True
        if words.strip():
            start, end = _edges(words)
            pieces = ((words[:start], True), (words[start:end], False), (words[end:], True))
            yield from (piece for piece in pieces if piece[0].strip())
        if opening:
            reminder, closing, behind = behind.partition(_REMINDER_END)
            yield opening + reminder + closing, True
        text = behind


_PEOPLE = frozenset({"human", "person", "composer", "voice-call", "suggestion"})
_SYNTHETIC = "<synthetic>"
_UNASKED = "bypassPermissions"


class ClaudeThread:
    """What one agent was asked, did and saw."""

    def __init__(self, attempts: Attempts, *, folder: Path) -> None:
        """Give the drafts to this collector; long outputs are saved below the session's folder."""
        self.attempts = attempts
        self._folder = folder
        self._prompt: tuple[str, Any] | None = None
        self._asked = True

    def add(self, record: ClaudeRecord, mark: Mark, place: Place) -> Trajectory | None:
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

    def _add_user(self, record: ClaudeRecord, mark: Mark) -> Trajectory | None:
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

    def _add_assistant(self, record: ClaudeRecord, mark: Mark, place: Place) -> None:
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

    def _add_attachment(self, record: ClaudeRecord, mark: Mark) -> Trajectory | None:
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

    def _say(self, record: ClaudeRecord, texts: list[str], mark: Mark, *, hosts: bool) -> Trajectory | None:
        at = moment_of(record.timestamp)
        drafts: list[Draft] = []
        for text in texts:
            for words, from_host in split_host_text(bounded(text)):
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

    def _copies_end(self, record: ClaudeRecord) -> bool:
        """Whether what stands before this prompt was copied here from another session, and is told there.

        A fork writes the old records again under the id of the first new prompt: several prompts then share one.
        """
        if not record.promptId or record.turnPosition is None:
            return False
        before, self._prompt = self._prompt, (record.promptId, record.turnPosition.turnIndex)
        return before is not None and before[0] == record.promptId and before[1] != record.turnPosition.turnIndex

    def _answer(self, record: ClaudeRecord, text: str, mark: Mark, *, role: Role) -> None:
        if text.strip():
            draft = Draft(role, bounded(text), moment_of(record.timestamp), skill=record.attributionSkill or "")
            draft.message_id = record.message.id or ""
            self.attempts.act(draft, mark)

    def _call(self, record: ClaudeRecord, block: Block, mark: Mark, *, place: Place) -> None:
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

    def _resolve(self, record: ClaudeRecord, block: Block, mark: Mark) -> None:
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


def _usage(spent: ClaudeUsage) -> Usage:
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


_READ = frozenset({"user", "assistant", "attachment"})
_SEEN_MAX = 50_000
# How the client lays out what is never read: copies of requests, states and totals, and most attachments.
_UNREAD = re.compile(
    rb'\{"type":"(?!user"|assistant"|attachment")'
    rb'|\{"parentUuid":(?:null|"[\w-]*"),"isSidechain":(?:true|false),(?:"agentId":"[\w-]*",)?"attachment":\{"type":"'
    rb"(?!" + b"|".join(name.encode() + b'"' for name in sorted(SHOWN_TO_THE_AGENT)) + rb")"
)
_ENDS = (b"}\n", b"}\r\n", b"}")

_kind = msgspec.json.Decoder(RecordKind)
_record = msgspec.json.Decoder(ClaudeRecord)


def record_of(line: Line, place: Place) -> ClaudeRecord | None:
    """Decode a line; nothing if it is not of a kind that is read. Raises `InvalidTrajectory` for a damaged one."""
    if _UNREAD.match(line.data) and line.data.endswith(_ENDS):
        return None
    try:
        record = decode(_record, line.data, place)
    except InvalidTrajectory:
        kind = decode(_kind, line.data, place).type
        if isinstance(kind, str) and kind in _READ:
            raise
        return None
    if record.type == "attachment":
        return record if record.attachment and text_of(record.attachment.type) in SHOWN_TO_THE_AGENT else None
    return record if text_of(record.type) in _READ else None


class Session:
    """What the agents of one file were asked, did and saw."""

    def __init__(self, path: Path, *, client: str, folder: Path) -> None:
        """Read for this file, whose long outputs are saved below the folder."""
        self.circumstances = Circumstances()
        self.began_at: datetime | None = None
        self._client = client
        self._path = path
        self._folder = folder
        self._threads: dict[str, ClaudeThread] = {}
        self._seen: dict[str, None] = {}
        self._chains: dict[str, str] = {}

    @property
    def mark(self) -> Mark | None:
        """Where the first record of an attempt stands that is still open; nothing if none is."""
        marks = [mark for thread in self._threads.values() if (mark := thread.attempts.mark) is not None]
        return min(marks, key=lambda mark: mark.offset, default=None)

    def note(self, record: ClaudeRecord) -> None:
        """Take in what holds for the whole session."""
        self.circumstances.note(session_id=record.sessionId or "", workspace=record.cwd or "")

    def add(self, line: Line, place: Place) -> Iterator[Trajectory]:
        """Take in a line; yields the attempts that it ends."""
        record = record_of(line, place)
        if record is None or not self._is_new(record.uuid):
            return
        self.note(record)
        self.began_at = self.began_at or moment_of(record.timestamp)
        finished = self._thread_of(record).add(record, line.mark, place)
        if finished is not None:
            yield finished
            yield from self._finish_chains()

    def finish(self) -> Iterator[Trajectory]:
        """Yield the attempts that are still open, the session's own first."""
        main = self._threads.pop("", None)
        last = main.attempts.finish() if main else None
        if last is not None:
            yield last
        yield from self._finish_chains()

    def _finish_chains(self) -> Iterator[Trajectory]:
        """End what agents inside the session did for the attempt that has ended."""
        for key in [key for key in self._threads if key]:
            ended = self._threads.pop(key).attempts.finish()
            if ended is not None:
                yield ended
        self._chains.clear()

    def _is_new(self, uuid: str | None) -> bool:
        """Whether this record stands here for the first time: resuming and compaction write some again."""
        if not uuid:
            return True
        if uuid in self._seen:
            return False
        self._seen[uuid] = None
        if len(self._seen) > _SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        return True

    def _thread_of(self, record: ClaudeRecord) -> ClaudeThread:
        key = record.agentId or "" if record.isSidechain else ""
        if record.isSidechain and not key:
            # Older versions name no agent: a side chain is then told by where it begins.
            beginning = self._chains.get(record.parentUuid or "", f"sidechain-{record.uuid}")
            self._chains[record.uuid or ""] = key = beginning
        if key not in self._threads:
            attempts = Attempts(self.circumstances, client=self._client, source=str(self._path.resolve()), agent_id=key)
            self._threads[key] = ClaudeThread(attempts, folder=self._folder)
        return self._threads[key]
