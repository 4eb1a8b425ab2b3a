"""A session's journal: one JSON line per hook event with what was shown, and what follows from it about the session so far.

A line is one appending write under a lock, so simultaneous events lose and repeat nothing. It holds ids, digests and names,
never what was typed, run or printed. A torn last line is skipped and closed by the next one. Loads nothing heavy.
"""

from __future__ import annotations

import fcntl
import json
import os
import re

try:
    from _blake2 import blake2b  # the same function; `hashlib` loads all of OpenSSL first
except ImportError:
    from hashlib import blake2b

from tacit.config.files import open_plain

CLIENTS = ("claude-code", "codex", "copilot", "gemini", "letta-code", "opencode", "qwen-code")
"""The clients whose hooks write journals."""
FAILED = "failed"
"""How a line marks a call that failed, among what the call did."""
FOLDER = "sessions"
SUFFIX = ".jsonl"
FULL_BYTES = 1024 * 1024
"""Beyond this size only what was shown or warned of is still written …"""
CLOSED_BYTES = 2 * FULL_BYTES
"""… and beyond this nothing is written or shown."""
MAX_LINE_BYTES = 64 * 1024
"""A longer line was not written by a hook and is skipped."""
LISTED = 50
"""How much of one kind a line tells; only what was shown is told whole, which the answer's own size bounds."""
RECENT_LINES = 250
"""How far back loops are looked for; what was shown is remembered for the whole session."""
FRESH = frozenset({"startup", "clear", "compact"})
"""Starts after which the agent sees nothing of what was shown before."""
SAME_START_S = 5.0
"""Starts of one kind within so many seconds are one: a client whose hooks stand in two files runs both at once."""
LATEST = 4_102_444_800
"""The year 2100, as a Unix time; what claims to come later, nobody wrote."""

_SAFE = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
NOTES_SUFFIX = ".notes"
"""Of the file whose time says when the agents of a session last shared something."""
NOTE_ERROR = "\n\nError: "
"""In the text of a note, what the error that it fixes stands behind."""
_ANSWERED = ("shown", "assumed", "answered", "warned", "indexed", "noticed", "noted")
_BULKY = ("assumed", "deeds", "skipped", "why", "left")
"""What a line can do without, should it grow too long."""
_LASTING = tuple(f'"{key}"'.encode() for key in (*_ANSWERED, "control", "source", "lost"))


class JournalFull(RuntimeError):
    """The journal has reached its largest size."""


class SessionPast:
    """What a context of a session has seen and done since it began: the main one's, or a subagent's own."""

    __slots__ = (
        "actions",
        "answered",
        "controls",
        "is_asked",
        "noted",
        "noticed",
        "shown",
        "source",
        "started_at",
        "warned",
    )

    def __init__(self, source: str = "", started_at: float = 0.0) -> None:
        self.source = source
        self.started_at = started_at
        """How and when the context began, where the client has said it."""
        self.shown: dict[str, None] = {}
        self.controls: dict[str, float] = {}
        """What was held back by lot, and how likely that was: it stays so while the session lasts."""
        self.answered: set[str] = set()
        self.warned: set[str] = set()
        self.actions: list[dict[str, object]] = []
        self.is_asked = False
        self.noticed = 0.0
        """When what other agents share was last looked at, by `notes_time`; what was seen of it is `noted`."""
        self.noted: set[str] = set()

    def renewed(self, source: str, at: float) -> SessionPast:
        """The past after a start: this one, or a new one where the agent sees nothing of this any more."""
        is_same = source == self.source and abs(at - self.started_at) <= SAME_START_S
        if is_same or source not in FRESH:
            return self
        new = SessionPast(source, at)
        new.controls = self.controls  # the lot was drawn for the session, whatever the agent still sees of it
        return new

    def add(self, line: dict[str, object]) -> None:
        """Take in one line, in the order they were written."""
        self.shown.update(dict.fromkeys(as_texts(line.get("shown"))))
        self.controls = shares_in(line.get("control")) | self.controls
        self.answered.update(as_texts(line.get("answered")))
        self.warned.update(as_texts(line.get("warned")))
        self.noted.update(as_texts(line.get("noted")))
        self.noticed = max(self.noticed, time_of(line, "noticed"))
        self.is_asked = self.is_asked or line.get("moment") == "prompt"
        actions = line.get("deeds")
        if isinstance(actions, list):
            self.actions += [action for action in actions if isinstance(action, dict)]


class Journal:
    """The open, locked journal of one session. Use as a context manager."""

    def __init__(self, folder: str, client: str, session: str) -> None:
        self.path = path_of(folder, client, session)
        self._file = -1
        self._data = b""

    def __enter__(self) -> Journal:
        make_sessions(os.path.dirname(self.path))
        self._file = open_plain(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode=0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        size = os.fstat(self._file).st_size
        if size > CLOSED_BYTES:
            self.__exit__()
            raise JournalFull("the journal of this session is full")
        self._data = os.pread(self._file, size, 0)
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._file)  # releases the lock

    def past(self, agent: str) -> SessionPast:
        """What the context of this agent has seen; a start concerns them all."""
        past = SessionPast()
        for line in parsed(self._data, recent=RECENT_LINES):
            source = line.get("source")
            if isinstance(source, str):
                past = past.renewed(source, time_of(line))
            if line.get("agent", "") == agent or line.get("moment") == "start":
                past.add(line)
        return past

    def may_ask(self, calls: int) -> bool:
        """Whether the session had so many calls, nobody asked it yet, and there is space to note that it was asked."""
        data = self._data
        return len(data) <= FULL_BYTES and data.count(b'"moment":"call"') >= calls and b'"moment":"ask"' not in data

    def append(self, line: dict[str, object]) -> None:
        """Add one line by one write."""
        text = _written(line)
        if len(self._data) > FULL_BYTES and not any(mark in text.encode() for mark in _LASTING):
            return
        torn = b"" if not self._data or self._data.endswith(b"\n") else b"\n"
        data = torn + text.encode() + b"\n"
        if os.write(self._file, data) != len(data):
            raise OSError(28, os.strerror(28))  # a short write means that the disk is full
        self._data += data


def append_late(folder: str, client: str, session: str, line: dict[str, object]) -> None:
    """Add a line without waiting for the lock: for an event that ran out of time, which still happened."""
    path = path_of(folder, client, session)
    make_sessions(os.path.dirname(path))
    file = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode=0o600)
    os.write(file, _written(line).encode() + b"\n")
    os.close(file)


def parsed(data: bytes, *, recent: int | None = None) -> list[dict[str, object]]:
    """The lines that can be read; of those further back than `recent` only what must not be forgotten."""
    kept = data.split(b"\n") if recent is None else data.rsplit(b"\n", recent)
    if recent is not None and len(kept) > recent:
        kept[:1] = _lasting(kept[0])  # the rest, which was not split
    found: list[dict[str, object]] = []
    for line in kept:
        try:
            value = json.loads(line) if 0 < len(line) <= MAX_LINE_BYTES else None
        except (ValueError, RecursionError):
            continue  # torn by a killed process
        if isinstance(value, dict):
            found.append(value)
    lost = {at for line in found if (at := time_of(line, "lost"))}
    # Of an answer that never reached the agent, what happened stays, and what was shown does not.
    return [
        {key: value for key, value in line.items() if key not in _ANSWERED} if time_of(line) in lost else line
        for line in found
    ]


def shares_in(value: object) -> dict[str, float]:
    """Version → the chance it had of being held back, as a line tells them; what is no such pair is passed over."""
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2] if isinstance(value, list) else []
    return {
        version_id: share
        for version_id, share in pairs
        if isinstance(version_id, str) and isinstance(share, float) and 0 < share < 1
    }


def time_of(line: dict[str, object], key: str = "at") -> float:
    """When the event of a line happened; 0 if it says nothing that can be a time."""
    at = line.get(key)
    return at if isinstance(at, int | float) and not isinstance(at, bool) and 0 < at < LATEST else 0.0


def _lasting(data: bytes) -> list[bytes]:
    """The lines with something that must not be forgotten; found by searching, for there may be very many others."""
    starts: set[int] = set()
    for mark in _LASTING:
        place = data.find(mark)
        while place >= 0:
            starts.add(data.rfind(b"\n", 0, place) + 1)
            place = data.find(mark, place + 1)
    ends = ((start, data.find(b"\n", start)) for start in sorted(starts))
    return [data[start : end if end >= 0 else len(data)] for start, end in ends]


def path_of(folder: str, client: str, session: str) -> str:
    """Where a session's journal lies; a name that is no plain word is replaced by its digest."""
    return os.path.join(folder, FOLDER, f"{client}-{word(session)}{SUFFIX}")


def notes_time(folder: str, session: str) -> float:
    """When the agents of a session last shared something; 0 if they never did."""
    try:
        return os.stat(os.path.join(folder, FOLDER, word(session) + NOTES_SUFFIX)).st_mtime
    except OSError:
        return 0.0


def mark_notes(folder: str, session: str) -> None:
    """Let hooks know that the agents of a session shared something."""
    make_sessions(os.path.join(folder, FOLDER))
    path = os.path.join(folder, FOLDER, word(session) + NOTES_SUFFIX)
    os.close(open_plain(path, os.O_WRONLY | os.O_CREAT, mode=0o600))
    os.utime(path)


def word(name: str) -> str:
    """A name that is safe to write down anywhere: itself if it is a plain word, else its digest."""
    return name if re.fullmatch(_SAFE, name) else f"x{digest(name)}"


def make_sessions(folder: str) -> None:
    """Make the folder of journals; one that leads elsewhere is refused."""
    if os.path.islink(folder):
        raise NotADirectoryError(20, os.strerror(20))
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)


def digest(*parts: str) -> str:
    """A short name for texts that must not be written down."""
    whole = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return blake2b(whole, digest_size=10).hexdigest()


def _written(line: dict[str, object]) -> str:
    """One line as text, of bounded length, without its empty fields."""
    kept = {
        key: value[:LISTED] if isinstance(value, list) and key != "shown" else value
        for key, value in line.items()
        if value
    }
    text = json.dumps(kept, separators=(",", ":"))
    if len(text) < MAX_LINE_BYTES:
        return text
    return json.dumps({key: value for key, value in kept.items() if key not in _BULKY}, separators=(",", ":"))


def as_texts(value: object) -> list[str]:
    """The texts of a list in a line; nothing for anything else."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
