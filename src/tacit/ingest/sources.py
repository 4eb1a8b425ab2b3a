"""Any source → trajectories: a file, a folder of files, or documents in memory, each by the reader that knows its format.

Formats are told by content. The built-in readers are asked first; readers of other packages (entry points in the group
`tacit.readers`) only if none of them knows the file, because looking for them is slow. Judges and redacts nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from functools import cache
from operator import is_
from pathlib import Path
from typing import Any, cast

from tacit.config.environment import UserEnvironment
from tacit.config.location import MODEL_CALL_FOLDER, project_root
from tacit.domain.errors import InvalidTrajectory, NotFound
from tacit.domain.extension import load_entry_points
from tacit.domain.identity import canonical
from tacit.domain.ports import CollectionReader, TrajectoryReader, TrajectoryStream
from tacit.domain.stored import Bookmark, Mark
from tacit.domain.trajectory import Step, Trajectory
from tacit.ingest import aider, git_sessions
from tacit.ingest.aider import AiderReader
from tacit.ingest.atif import AtifReader, from_documents
from tacit.ingest.chat_messages import ChatMessagesReader, MiniSweAgentReader, SweAgentReader, TauBenchReader
from tacit.ingest.claude_code import ClaudeCodeReader
from tacit.ingest.codex import CodexReader
from tacit.ingest.copilot import CopilotReader
from tacit.ingest.cursor import CursorEditorReader, CursorReader
from tacit.ingest.gemini import GeminiReader, QwenReader
from tacit.ingest.log_files import LOG_NAMES, Parts, Place, head_of, open_regular, unreadable
from tacit.ingest.opencode import OpencodeExportReader, OpencodeReader
from tacit.ingest.openhands import OpenHandsReader
from tacit.ingest.pi import LettaReader, OpenClawReader, PiReader
from tacit.ingest.telemetry import TelemetryReader
from tacit.text.redaction import may_hold_secret, redact, redact_output, redact_value

OnProblem = Callable[[InvalidTrajectory], None]
Source = str | Path | Mapping[str, Any] | list[Any]

READERS: tuple[TrajectoryReader, ...] = (
    AtifReader(), ClaudeCodeReader(), CodexReader(), CopilotReader(), GeminiReader(), QwenReader(), LettaReader(),
    OpenClawReader(), PiReader(), OpencodeReader(), OpencodeExportReader(), CursorReader(), CursorEditorReader(),
    AiderReader(), SweAgentReader(), MiniSweAgentReader(), TauBenchReader(), OpenHandsReader(), TelemetryReader(),
    ChatMessagesReader(),
)  # fmt: skip
"""In the order in which they are asked: the last ones know their formats by little."""
_GROUP = "tacit.readers"
_DOCUMENT_NAMES = (".json", ".json.gz")
_NO_LOGS_BELOW = frozenset({".git", ".tacit", ".venv", "__pycache__", "node_modules"})


def read(source: Source, *, on_problem: OnProblem | None = None) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, of all known files below a folder, or of ATIF documents in memory.

    A part that cannot be read goes to `on_problem`, and reading goes on behind it; without `on_problem` it is raised.
    In a folder, files that are no logs are passed over; a `.jsonl` file that no reader knows is a problem, and so is a
    pipe or a device of such a name.
    """
    if not isinstance(source, str | Path):
        return _reported([from_documents(source)], on_problem)
    path = Path(source)
    if not path.exists():
        raise NotFound(
            f"{path}: no such file or folder", code="path_not_found", hint="check the path for typing errors"
        )
    return _reported(_streams(path), on_problem)


def passed_over(root: Path) -> InvalidTrajectory | None:
    """What is wrong with the first JSON document below a folder that no reader knows; `read` goes past it silently."""
    for path in _files_below(root) if root.is_dir() else ():
        if path.name.endswith(_DOCUMENT_NAMES):
            try:
                find_reader(path)
            except InvalidTrajectory as problem:
                return problem
    return None


def find_reader(path: Path) -> TrajectoryReader:
    """Find who reads this file, by its first bytes; raises `InvalidTrajectory` if nobody does."""
    place = Place(str(path))
    if not path.is_file():
        raise place.problem(
            "not a regular file", code="not_a_regular_file", hint="write the output of a pipe to a file first"
        )
    try:
        head = head_of(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if not head.strip():
        hint = "leave it out, or copy it again from where it was written"
        raise place.problem("the file is empty, or damaged from its beginning", code="empty_file", hint=hint)
    for reader in _all_readers():
        if reader.recognises(head, path):
            return reader
    hint = f"known formats: {', '.join(reader.name for reader in READERS)}; other logs can be converted to ATIF"
    if b"\0" in head:
        raise place.problem("this is a binary file", code="binary_file", hint=hint)
    raise place.problem("this is no log in a known format", code="unknown_format", hint=hint)


def _all_readers() -> Iterator[TrajectoryReader]:
    yield from READERS
    yield from _from_other_packages()


def _streams(source: Path) -> Iterator[TrajectoryStream]:
    for path in _files_below(source) if source.is_dir() else [source]:
        try:
            reader = find_reader(path)
            if path == source or not _is_read_with_another(path, reader, root=source):
                yield reader.read(path)
        except InvalidTrajectory as problem:
            if path == source or path.name.endswith(LOG_NAMES):
                yield Parts(iter([problem]))


def _files_below(root: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(root):
        below[:] = sorted(set(below) - _NO_LOGS_BELOW)
        paths = sorted(Path(folder, name) for name in names)
        yield from (path for path in paths if path.exists())  # a link may lead nowhere


def _is_read_with_another(path: Path, reader: TrajectoryReader, *, root: Path) -> bool:
    """Return whether a session file below the same root is read with this one."""
    session = reader.session_file(path)
    if session is None or not session.is_relative_to(root):
        return False
    try:
        return find_reader(session) is reader
    except InvalidTrajectory:
        return False


def _reported(sources: Iterable[TrajectoryStream], on_problem: OnProblem | None) -> Iterator[Trajectory]:
    for trajectories in sources:
        while True:
            try:
                trajectory = next(trajectories, None)
            except InvalidTrajectory as problem:
                if on_problem is None:
                    raise
                on_problem(problem)
                continue
            if trajectory is None:
                break
            yield trajectory


@cache
def _from_other_packages() -> tuple[TrajectoryReader, ...]:
    built_in = {f"{type(reader).__module__}:{type(reader).__qualname__}" for reader in READERS}
    readers = [reader for _, reader in load_entry_points(_GROUP, kind="reader", skip=built_in, create=True)]
    return tuple(readers)


PLACES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("projects/*/*.jsonl",),
    "codex": ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
    **{reader.name: places for reader in READERS if (places := getattr(reader, "places", ()))},
    AiderReader.name: (),
    git_sessions.NAME: (),
}
"""Client → where its sessions lie below the folder that it keeps for the person; those without lie in the project."""
_HEADS = (16 * 1024, 1024 * 1024)
_WORKSPACE = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A session's file that a client has written, or is writing."""

    path: Path
    client: str
    workspace: str
    """The folder that the session began in; empty where the file does not tell."""
    size: int
    modified_ns: int
    part: str = ""
    """Which session it is, of a database or a repository that holds many."""
    author: str = ""
    """Whose session it is, if it is another person's."""

    @property
    def modified_at(self) -> datetime:
        """When it was last written to."""
        return datetime.fromtimestamp(self.modified_ns / 1e9, UTC)

    @property
    def session_name(self) -> str:
        """What ends with the session's id: the part's name or the file's, or the folder's where all files are named alike."""
        return self.part or (self.path.parent.name if self.path.stem in ("events", "messages") else self.path.stem)

    def read(self, start: Mark | None) -> TrajectoryStream:
        """Read the session, from the mark on where it can be resumed."""
        if not self.part:
            return find_reader(self.path).read(self.path, start=start)
        if self.client == git_sessions.NAME:
            return git_sessions.read_session(self.path, self.part, _read_file, author=self.author)
        reader = cast(CollectionReader, find_reader(self.path))
        return reader.read(self.path, part=self.part)


def _read_file(path: Path) -> TrajectoryStream:
    return find_reader(path).read(path)


def transcripts(homes: Mapping[str, Path], *, since: datetime | None = None) -> list[Transcript]:
    """Find the sessions below the clients' folders (client → folder), oldest first; `since` leaves out what lay still."""
    found: list[Transcript | None] = []
    for client, home in homes.items():
        reader = _reader_named(client)
        for path in (path for pattern in _places(client) for path in home.glob(pattern)):
            if callable(getattr(reader, "parts", None)):
                found += _parts_of(path, client, since=since)
            elif reader is None or reader.session_file(path) in (None, path):
                found.append(transcript(path, client=client, since=since))
    return sorted((each for each in found if each), key=lambda each: (each.modified_ns, each.path, each.part))


def project_transcripts(
    project: Path,
    clients: Collection[str],
    *,
    home: Path,
    since: datetime | None = None,
    known: Collection[str] = (),
) -> list[Transcript]:
    """Find the sessions that lie in a project itself: aider's history, and those that the team keeps in git.

    `home` is the person's, whose settings of git say which commits are theirs; of those, `known` ones are left out.
    """
    found = (
        [transcript(project / aider.NAME, client=AiderReader.name, since=since)] if AiderReader.name in clients else []
    )
    found = [each and replace(each, workspace=str(project)) for each in found]
    for session, author in git_sessions.sessions_in_git(project, home=home) if git_sessions.NAME in clients else ():
        if not author and any(name.endswith(session.session_id) for name in known):
            continue
        part = session.part
        each = Transcript(
            path=project,
            client=git_sessions.NAME,
            workspace=str(project),
            size=part.size,
            modified_ns=part.modified_ns,
            part=part.name,
            author=author,
        )
        found += [each] if since is None or each.modified_at >= since else []
    return [each for each in found if each]


def _parts_of(path: Path, client: str, *, since: datetime | None) -> Iterator[Transcript]:
    """Yield the sessions of a file that holds many."""
    try:
        reader = cast(CollectionReader, find_reader(path))
    except InvalidTrajectory:
        return
    for part in reader.parts(path):
        each = Transcript(
            path=path,
            client=client,
            workspace=part.workspace,
            size=part.size,
            modified_ns=part.modified_ns,
            part=part.name,
        )
        if since is None or each.modified_at >= since:
            yield each


def _reader_named(client: str) -> TrajectoryReader | None:
    known = next((reader for reader in READERS if reader.name == client), None)
    return known or next((reader for reader in _from_other_packages() if reader.name == client), None)


def _places(client: str) -> tuple[str, ...]:
    return PLACES[client] if client in PLACES else tuple(getattr(_reader_named(client), "places", ()))


def transcript(path: Path, *, client: str = "", since: datetime | None = None) -> Transcript | None:
    """Look at one file; nothing if it is no regular file, is gone, is of a client that Tacit asked as a model, or lay
    still since then: that is not even read. `FILE#PART` is one session of a file that holds many."""
    file, mark, part = str(path).rpartition("#")
    if mark and not path.exists():
        return next((each for each in _parts_of(Path(file), client, since=since) if each.part == part), None)
    try:
        state = path.stat()
        if since is not None and state.st_mtime < since.timestamp():
            return None
        workspace = _workspace(path, client)
    except (OSError, InvalidTrajectory):
        return None
    if any(part.startswith(MODEL_CALL_FOLDER) for part in Path(workspace).parts):
        return None
    return Transcript(path=path, client=client, workspace=workspace, size=state.st_size, modified_ns=state.st_mtime_ns)


class NewAttempts(Iterator[Trajectory]):
    """The attempts of a growing file that an earlier reading has not seen. `bookmark` is then where to go on next time.

    The attempt at the end may go on, so it is read again next time. What cannot be read goes to `on_problem`.
    """

    def __init__(self, found: Transcript, before: Bookmark | None, *, on_problem: OnProblem) -> None:
        start = before.mark if before and before.size <= found.size and not found.part else None
        if start and start.offset:  # a file that was replaced, where no line begins there, is read from its beginning
            try:
                with open_regular(found.path) as stream:
                    stream.seek(start.offset - 1)
                    start = start if stream.read(1) == b"\n" else None
            except (OSError, InvalidTrajectory):
                start = None
        self._stream = found.read(start)
        self._found = found
        self._attempts = _reported([self._stream], on_problem)

    @property
    def bookmark(self) -> Bookmark:
        """How far the file is read."""
        found = self._found
        mark = self._stream.mark or Mark()
        return Bookmark(path=bookmark_key(found), size=found.size, modified_ns=found.modified_ns, mark=mark)

    def __next__(self) -> Trajectory:
        return next(self._attempts)


def bookmark_key(found: Transcript) -> str:
    """Return what a session's bookmark is stored under."""
    return str(found.path.resolve()) + (f"#{found.part}" if found.part else "")


def is_unchanged(found: Transcript, before: Bookmark | None) -> bool:
    """Return whether a file is as it was when it was last read."""
    return before is not None and (before.size, before.modified_ns) == (found.size, found.modified_ns)


def client_homes(environment: UserEnvironment, clients: Collection[str] = ()) -> dict[str, Path]:
    """Return where each client keeps its files for this person; all clients if none is named."""
    known = {"claude-code": environment.claude_home, "codex": environment.codex_home, **environment.client_folders}
    return {client: home for client, home in known.items() if not clients or client in clients}


def other_homes(environment: UserEnvironment) -> dict[str, Path]:
    """Return the same for readers of other packages that say where sessions lie, below the person's home folder."""
    found = (reader for reader in _from_other_packages() if getattr(reader, "places", ()))
    return {reader.name: environment.user_home for reader in found}


def project_of(found: Transcript) -> Path | None:
    """Return the project that a session worked in: its repository, or its folder; `None` if that is gone."""
    return _project(found.workspace)


@cache
def _project(workspace: str) -> Path | None:
    if not workspace or not Path(workspace).is_absolute():
        return None
    root = Path(project_root(workspace))
    return root if root.is_dir() else None


def _workspace(path: Path, client: str = "") -> str:
    """Return the session's folder, as its reader tells, or out of the first records."""
    reader = _reader_named(client) if client else None
    own = getattr(reader, "workspace", None)
    if callable(own):
        return str(own(path))
    with open_regular(path) as stream:
        for size in _HEADS:
            stream.seek(0)
            found = _WORKSPACE.search(stream.read(size))
            if found:
                try:
                    return str(json.loads(found[1]))
                except ValueError:
                    return ""
    return ""


_KEPT = frozenset({"id", "source"})


def redacted(trajectory: Trajectory) -> tuple[Trajectory, dict[str, int]]:
    """Take secrets out of every text, argument, observation and name; the id is that of the new content."""
    found: Counter[str] = Counter()
    steps = tuple(_without_printed_secret(step, found) for step in trajectory.steps)
    clean = _clean(replace(trajectory, steps=steps, id="") if found else trajectory, found)
    return clean, dict(found)


def _without_printed_secret(step: Step, found: Counter[str]) -> Step:
    command = step.arguments.get("command")
    if not isinstance(command, str) or not step.observation:
        return step
    printed = redact_output(command, step.observation)
    found.update(printed.found)
    return replace(step, observation=printed.text) if printed.found else step


def _clean(value: Any, found: Counter[str]) -> Any:
    """Return a value without secrets; the very same one where it holds none."""
    if type(value) is str:
        text = redact(value)
        found.update(text.found)
        return text.text if text.found else value
    if isinstance(value, tuple):
        items = tuple(_clean(item, found) for item in value)
        return value if all(map(is_, items, value)) else items
    if isinstance(value, Mapping):
        arguments = redact_value(value)
        found.update(arguments.found)
        # Compared by content: a secret in a key is replaced without being counted.
        return value if arguments.value == value else dict(arguments.value)
    # Most parts hold none, and one look at the whole is the fastest.
    if not is_dataclass(value) or isinstance(value, type) or not may_hold_secret(canonical(value)):
        return value
    before = {field.name: getattr(value, field.name) for field in fields(value) if field.name not in _KEPT}
    after = {name: _clean(part, found) for name, part in before.items()}
    changes = {name: part for name, part in after.items() if part is not before[name]}
    if changes and isinstance(value, Trajectory):
        return replace(value, **changes, id="")
    return replace(value, **changes) if changes else value
