"""What readers share: a log that is followed record by record, and the readers of JSON lines, JSON documents and databases.

A reader of a new format subclasses `SessionLog` and says in `take` what each record means: a prompt, an answer, a call, a
result, or text that the client put in. Where a task begins and ends, resuming, subagents and limits follow from that.
"""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.ports import SessionPart
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Claim, Role, StepResult, Trajectory, Usage
from tacit.ingest.attempts import Attempts, Draft
from tacit.ingest.host_text import split_host_text
from tacit.ingest.log_files import (
    MAX_LINE_BYTES,
    KeyedReader,
    Line,
    Part,
    Parts,
    Place,
    all_texts,
    amount_of,
    bounded,
    bounded_value,
    count_of,
    decode,
    first_records,
    moment_of,
    numbered_lines,
    read_lines,
    text_of,
)
from tacit.text.tool_calls import FILE_WRITERS, plain_name

Record = dict[str, Any]
Database = sqlite3.Connection

_OPENING_LINES = 50
_BEGINNING = Mark()
_FILE_TOOLS = FILE_WRITERS | {"read", "read_file", "view", "view_image", "open_file", "notebookread"}
_STANDARD_KEYS = {
    "filePath": "file_path", "absolute_path": "file_path", "target_file": "file_path", "path": "file_path",
    "old_str": "old_string", "oldString": "old_string", "new_str": "new_string", "newString": "new_string",
    "file_text": "content", "contents": "content",
}  # fmt: skip
"""How clients call the arguments of file tools, and how they are called here."""
_NO_MATCH = re.compile(
    r"could not find|failed to find|no match(?:es)? found|not found in (?:the )?file|\b0 occurrences|"
    r"string to replace not found|did not appear verbatim|no replacement was performed",
    re.IGNORECASE,
)
_object = msgspec.json.Decoder(Record)
_documents = msgspec.json.Decoder(list[msgspec.Raw])


class SessionLog(ABC):
    """Follows one agent through its records: a subclass says in `take` what each record means."""

    client: ClassVar[str]
    whole: ClassVar[bool] = False
    """Whether the log is one attempt, however often the other side speaks: a benchmark's run, not a person's session."""

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        """Follow the session in this file, or the subagent of this id."""
        self.path = Path(path)
        source = str(self.path.resolve()) if isinstance(path, Path) else path
        self.attempts = Attempts(client=self.client, source=source, agent_id=agent_id, whole=self.whole)
        self.claim: Claim | None = None
        """What the log itself says of the outcome."""
        self._agent_id = agent_id
        self._agents: dict[str, SessionLog] = {}
        self._here, self._place = _BEGINNING, Place(source)
        self._finished: list[Trajectory] = []

    @abstractmethod
    def take(self, record: Record) -> None:
        """Take in one record."""

    def introduce(self, record: Record) -> None:  # noqa: B027 - most logs need not say more
        """Take in what a record says of the whole session; on resuming it is asked about the first ones only."""

    # --- what a record means ------------------------------------------------------------------------------------

    def note(self, **values: Any) -> None:
        """Take in circumstances of the session: session_id, workspace, version, model, branch; the first word counts."""
        self.attempts.session.note(**{name: bounded(text_of(value)) for name, value in values.items()})

    def prompt(self, text: str, *, at: datetime | None = None, by: str = "") -> None:
        """Take in what a person asks, or `by` a program; blocks that the client put into it are told apart."""
        drafts: list[Draft] = []
        for piece, is_hosts in split_host_text(bounded(text)):
            words = piece.strip("\r\n")
            if is_hosts or not by:
                drafts.append(Draft(Role.CONTEXT if is_hosts else Role.USER, words, at))
            else:
                drafts.append(Draft(Role.CONTEXT, words, at, asks=words, asked_by=by))
        finished = self.attempts.say(drafts, self._here) if drafts else None
        if finished is not None:
            self._end(finished)

    def system(self, text: str) -> None:
        """Take in what the operator of the agent told it before everything else."""
        self._act(Draft(Role.SYSTEM, bounded(text)))

    def context(self, text: str, *, at: datetime | None = None, **source: str) -> None:
        """Take in text that the agent saw and nobody typed; `source` says where it is from."""
        named = {name: bounded(value) for name, value in source.items() if value}
        self._act(Draft(Role.CONTEXT, bounded(text.strip()), at, arguments=dict(named)))

    def answer(self, text: str, *, at: datetime | None = None, message_id: str = "", skill: str = "") -> None:
        """Take in what the agent says; of one message id with the call that follows, it belongs to that call."""
        self._act(Draft(Role.AGENT, bounded(text), at, message_id=message_id, skill=skill))

    def call(
        self,
        tool: str,
        arguments: Any,
        *,
        call_id: str = "",
        at: datetime | None = None,
        message_id: str = "",
        skill: str = "",
    ) -> None:
        """Take in a call: its arguments as an object, or as the JSON text that the model wrote."""
        name = bounded(tool) or "unknown"
        self.attempts.act(
            Draft(
                Role.AGENT,
                at=at,
                tool=name,
                arguments=bounded_value(standard_arguments(name, arguments), self._place),
                skill=bounded(skill),
                call_id=call_id,
                message_id=message_id,
            ),
            self._here,
        )

    def result(
        self,
        call_id: str,
        content: Any,
        result: StepResult,
        *,
        exit_code: int | None = None,
        at: datetime | None = None,
    ) -> None:
        """Take in what came back of a call. An exit code says more than the client's word whether it worked.

        Of a call that is not in this log, it is text that the agent saw.
        """
        text = "\n".join(all_texts(content))
        draft = self.attempts.waiting(call_id)
        if draft is None:
            if text.strip():
                self.context(text, at=at)
            return
        if exit_code and result in (StepResult.OK, StepResult.UNKNOWN):
            result = StepResult.FAILED
        if result is StepResult.FAILED and plain_name(draft.tool) in FILE_WRITERS and _NO_MATCH.search(text[:400]):
            result = StepResult.NO_MATCH
        self.attempts.resolve(call_id, observation=bounded(text), result=result, exit_code=exit_code)

    def spend(self, message_id: str, *, sent: Any = 0, written: Any = 0, cached: Any = 0, usd: Any = None) -> None:
        """Take in what one message of the model cost; `sent` without what came from a cache."""
        usage = Usage(
            input_tokens=count_of(sent),
            output_tokens=count_of(written),
            cached_tokens=count_of(cached),
            cost_usd=amount_of(usd),
        )
        self.attempts.spend(message_id or f"{self._here.offset}", usage)

    def agent(self, agent_id: str) -> SessionLog:
        """Return the log of a subagent whose records stand in this file too; it ends with the attempt it works for."""
        if agent_id not in self._agents:
            found = type(self)(self.path, agent_id=agent_id)
            found.attempts.session = self.attempts.session
            self._agents[agent_id] = found
        agent = self._agents[agent_id]
        agent._here, agent._place = self._here, self._place
        return agent

    def _act(self, draft: Draft) -> None:
        if draft.text.strip():
            self.attempts.act(draft, self._here)

    # --- the reader's side --------------------------------------------------------------------------------------

    @property
    def mark(self) -> Mark | None:
        """Where the first record of an attempt stands that is still open; nothing if none is."""
        logs = (self, *self._agents.values())
        marks = [mark for log in logs if (mark := log.attempts.mark) is not None]
        return min(marks, key=lambda mark: mark.offset, default=None)

    def meet(self, line: Line, place: Place) -> bool:
        """Take in what one of the first lines says of the whole session."""
        self.introduce(decode(_object, line.data, place))
        return True

    def add(self, line: Line, place: Place) -> Iterator[Trajectory]:
        """Take in a line; yields the attempts that it ends."""
        self._here, self._place = line.mark, place
        yield from self.add_record(decode(_object, line.data, place))

    def add_record(self, record: Record) -> Iterator[Trajectory]:
        """Take in a record; yields the attempts that it ends."""
        self.introduce(record)
        self.take(record)
        finished, self._finished = self._finished, []
        yield from finished

    def finish(self) -> Iterator[Trajectory]:
        """Yield the attempts that are still open, the session's own first."""
        last = self.attempts.finish()
        if last is not None:
            self._end(last)
        else:
            self._end_agents()
        finished, self._finished = self._finished, []
        yield from finished

    def _end(self, trajectory: Trajectory) -> None:
        self._finished.append(replace(trajectory, claim=self.claim, id="") if self.claim else trajectory)
        self._end_agents()

    def _end_agents(self) -> None:
        agents, self._agents = self._agents, {}
        for agent in agents.values():
            self._finished += agent.finish()


def standard_arguments(tool: str, arguments: Any) -> Record:
    """Return a call's arguments as an object, those of a file tool under the names that all clients share here."""
    if isinstance(arguments, str):
        try:
            arguments = _object.decode(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            arguments = {"input": arguments} if arguments else {}
    if not isinstance(arguments, Mapping):
        return {"input": arguments} if arguments else {}
    if plain_name(tool) not in _FILE_TOOLS:
        return dict(arguments)
    renamed: dict[str, str] = {key: _STANDARD_KEYS.get(key, key) for key in map(str, arguments)}
    return {key if new in arguments else new: arguments[key] for key, new in renamed.items()}


def texts_in(parts: Any, kind: str = "text") -> str:
    """Return the text of a content: a text itself, or its parts of one kind, joined."""
    if isinstance(parts, str):
        return parts
    found = (part for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return "\n".join(text_of(part.get("text")) for part in found if part.get("type", kind) == kind)


def mapping(value: Any) -> Record:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def records(value: Any) -> list[Record]:
    """Return the objects of a list, and nothing for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def exit_code_of(value: Any) -> int | None:
    """Return an exit code if it is one."""
    return value if type(value) is int and abs(value) < 2**31 else None


def since_epoch(value: Any, *, per_second: float = 1000.0) -> datetime | None:
    """Read a moment as a number of seconds, milliseconds or nanoseconds since 1970, or as an ISO time."""
    if isinstance(value, str) and not value.isdigit():
        return moment_of(value)
    try:
        return datetime.fromtimestamp(float(value) / per_second, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


class JsonLinesReader(KeyedReader):
    """Reads logs of one JSON object per line; a subclass names the client, the keys of its records and their log."""

    log: type[SessionLog]
    places: tuple[str, ...] = ()
    """Where the sessions lie below the folder that the client keeps for the person."""

    def agent_files(self, path: Path) -> Iterable[tuple[Path, str]]:
        """Return the files of a session's subagents, each with the agent's id."""
        return ()

    def workspace(self, path: Path) -> str:
        """Return the folder that the session began in."""
        log = self.log(path)
        for _ in first_records(path, _OPENING_LINES, log.meet):
            if log.attempts.session.workspace:
                break
        return log.attempts.session.workspace

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the session's attempts and its subagents', from the mark on; its `mark` then says where to go on."""
        return Parts(self._parts(path, start))

    def _parts(self, path: Path, start: Mark | None) -> Iterator[Part]:
        log = self.log(path)
        for _ in first_records(path, _OPENING_LINES, log.meet) if start and start.offset else ():
            pass
        yield from read_lines(path, start, log.add)
        mark, session_id = log.mark, log.attempts.session.session_id
        yield from log.finish()
        for file, agent_id in self.agent_files(path):
            agent = self.log(file, agent_id=agent_id)
            agent.note(session_id=session_id, workspace=log.attempts.session.workspace)
            yield from read_lines(file, None, agent.add)
            yield from agent.finish()
        if mark is not None:
            yield mark


class DocumentReader(KeyedReader, ABC):
    """Reads JSON documents: one in a file, a list of them, or one per line. They do not grow, and are read whole."""

    log: type[SessionLog]
    lists = False
    """Whether a list is one document, and not a list of documents."""

    @abstractmethod
    def records(self, document: Any) -> Iterable[Record] | None:
        """Return the records of one document in order, or nothing if it is of another form."""

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the attempts of every document; one that cannot be read is raised, and the next call goes on."""
        return Parts(self._parts(path))

    def _parts(self, path: Path) -> Iterator[Part]:
        for found in documents_in(path, split=not self.lists):
            if isinstance(found, InvalidTrajectory):
                yield found
                continue
            data, place = found
            try:
                given = self.records(decode(_anything, data, place))
                if given is None:
                    raise place.problem("not in the expected form", code="unexpected_form", hint=_HINT_FORM)
                log = self.log(path)
                log._place = place
                yield from chain.from_iterable(map(log.add_record, given))
                yield from log.finish()
            except InvalidTrajectory as problem:
                yield problem


class DatabaseReader(KeyedReader, ABC):
    """Reads a client's SQLite database, which holds many sessions, while the client may be writing to it."""

    places: tuple[str, ...] = ()
    tables: frozenset[str] = frozenset()

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this is a database with the client's tables."""
        if path is None or not head.startswith(_SQLITE):
            return False
        try:
            with closing(_opened(path)) as database:
                names = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except _UNREADABLE:
            return False
        return names >= self.tables

    def parts(self, path: Path) -> Iterator[SessionPart]:
        """Yield the sessions that a person began; nothing where the database cannot be read."""
        with suppress(*_UNREADABLE), closing(_opened(path)) as database:
            yield from self.sessions(database)

    def workspace(self, path: Path) -> str:
        """Each session has a folder of its own."""
        return ""

    def read(self, path: Path, *, start: Mark | None = None, part: str = "") -> Parts:
        """Yield the attempts of the named session and of its subagents, or of all; a session is read whole."""
        return Parts(self._parts(path, part))

    def _parts(self, path: Path, part: str) -> Iterator[Part]:
        try:
            with closing(_opened(path)) as database:
                for name in [part] if part else [each.name for each in self.sessions(database)]:
                    yield from self.session(database, path, name)
        except _UNREADABLE as error:
            hint = "close the client and try again, or check the file"
            yield Place(str(path)).problem(f"the database cannot be read: {error}", code="unreadable", hint=hint)

    @abstractmethod
    def sessions(self, database: Database) -> Iterator[SessionPart]:
        """Yield the sessions that a person began, with their folder and time."""

    @abstractmethod
    def session(self, database: Database, path: Path, name: str) -> Iterator[Part]:
        """Yield the attempts of one session and of its subagents."""


def _opened(path: Path) -> Database:
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    return database


def stored_text(value: Any) -> str:
    """Return what a column holds as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else text_of(value)


_anything = msgspec.json.Decoder()
_SQLITE = b"SQLite format 3\0"
_UNREADABLE = (sqlite3.Error, UnicodeError, OverflowError)  # a damaged database names its own damage in damaged text
_HINT_FORM = "check that the file was written by the client it seems to come from, and was not edited"


Text = tuple[bytes | msgspec.Raw, Place]
"""A document's text, and where it stands."""


def documents_in(path: Path, *, split: bool = True) -> Iterator[Text | InvalidTrajectory]:
    """Yield the text of each JSON document of a file: one over many lines, or one per line; a list is split by default."""
    rest = numbered_lines(path)
    first, second = next(rest, None), next(rest, None)
    lines = chain((line for line in (first, second) if line is not None), rest)
    one_each = isinstance(second, Line) and second.data.startswith(b"{")
    # One document may run over many lines: the first then ends openly, and the next is no document of its own.
    if isinstance(first, Line) and (
        first.data.strip() == b"[" or (first.data.rstrip()[-1:] in (b"{", b"[", b",") and not one_each)
    ):
        yield from _whole_document(Place(str(path), first.number), lines, split=split)
        return
    for line in lines:
        if isinstance(line, InvalidTrajectory):
            yield line
        else:
            yield from _listed(line.data, Place(str(path), line.number), split=split)


def _whole_document(
    place: Place, lines: Iterator[Line | InvalidTrajectory], *, split: bool
) -> Iterator[Text | InvalidTrajectory]:
    gathered = bytearray()
    for line in lines:
        if isinstance(line, InvalidTrajectory):
            yield line
            return
        gathered += line.data
        if len(gathered) > MAX_LINE_BYTES:
            hint = "write one document per line, or split it"
            yield place.problem(f"the document is larger than {MAX_LINE_BYTES} bytes", code="too_large", hint=hint)
            return
    yield from _listed(bytes(gathered), place, split=split)


def _listed(data: bytes, place: Place, *, split: bool) -> Iterator[Text | InvalidTrajectory]:
    if not split or not data.lstrip().startswith(b"["):
        yield data, place
        return
    try:
        yield from ((document, place) for document in decode(_documents, data, place))
    except InvalidTrajectory as problem:
        yield problem
