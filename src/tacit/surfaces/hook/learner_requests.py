"""Requests for the learner: files in the folder of the journals, and the process that works on them.

One learner works per store at a time; it looks for new requests before it ends, so none is lost. A request is tried again
until its transcript is captured; after several failures it is set aside and logged, never dropped. Loads nothing heavy.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys

from tacit.config.files import read_plain, write_atomically
from tacit.config.location import make_folder
from tacit.ingest.journal import FOLDER, SUFFIX, make_sessions, path_of, word
from tacit.surfaces.hook import log
from tacit.surfaces.hook.events import Event, EventContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

WANTED, TAKEN, SET_ASIDE = ".wanted", ".taken", ".failed"
LOCK = "learner.lock"
NICENESS = 10
MAX_PATH = 4096
"""Characters; the system takes no longer path."""
TRIES = 5
"""After so many attempts that ended a learner, or failed, a request is set aside."""
MAX_BYTES = 64 * 1024
HALF_WRITTEN_S = 86_400.0
"""What a killed process left half-written is removed after a day …"""
SET_ASIDE_S = 14 * 86_400.0
"""… and a request that was set aside after two weeks."""


def request(event: Event, context: EventContext) -> None:
    """Leave a request for this session, replacing an earlier one that no learner has taken yet."""
    folder = context.location.folder_path
    make_folder(folder)
    make_sessions(os.path.join(folder, FOLDER))
    wanted = path_of(folder, event.client, event.session).removesuffix(SUFFIX) + WANTED
    transcript = event.transcript if len(event.transcript) <= MAX_PATH else ""
    fields = {"client": event.client, "session": word(event.session), "transcript": transcript, "cwd": context.cwd}
    write_atomically(wanted, json.dumps(fields), sync=False)


def request_for_later(event: Event, context: EventContext) -> None:
    """Leave one request for a session whose end nobody reports; what earlier sessions left is worked on now."""
    sessions = os.path.join(context.location.folder_path, FOLDER)
    if os.path.exists(path_of(context.location.folder_path, event.client, event.session).removesuffix(SUFFIX) + WANTED):
        return
    if os.path.isdir(sessions) and is_wanted(context):
        start_learner(context)
    request(event, context)


def is_wanted(context: EventContext) -> bool:
    """Whether a request waits, or was taken and never finished."""
    return any(
        name.endswith((WANTED, TAKEN)) for name in os.listdir(os.path.join(context.location.folder_path, FOLDER))
    )


def lock(sessions: str) -> int | None:
    """Take the lock of the one learner of this store; nothing if another has it. Closing the file releases it."""
    file = os.open(os.path.join(sessions, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def start_learner(context: EventContext) -> None:
    """Start a detached learner, unless one is at work: that one looks for requests again before it ends."""
    lock_file = lock(os.path.join(context.location.folder_path, FOLDER))
    if lock_file is None:
        return
    os.close(lock_file)
    store = ["--store", context.store_option] if context.store_option else []
    # -P: the project's folder is not a place to import from.
    command = [sys.executable, "-P", "-m", "tacit", "hook", "learn", "--cwd", context.location.project_path, *store]
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            # Close the files of the agent's client, lower the priority, and become the learner.
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            os.closerange(3, 256)
            os.nice(NICENESS)
            os.execv(command[0], command)
    finally:
        os._exit(0)


class Request:
    """One request that this learner has taken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        fields = json.loads(read_plain(str(path), limit=MAX_BYTES))
        if not isinstance(fields, dict) or not isinstance(fields.get("transcript"), str):
            raise ValueError("not a request")
        tries = fields.get("tries")
        self.transcript: str = fields["transcript"]
        self.tries: int = tries if type(tries) is int and tries > 0 else 0
        self._fields = fields

    def note(self, tries: int) -> None:
        """Write down how often it was tried, before each try: a killed process cannot."""
        self.tries = tries
        write_atomically(self.path, json.dumps({**self._fields, "tries": tries}), sync=False)

    def finish(self) -> None:
        """Take it away: what it asked for is done."""
        self.path.unlink(missing_ok=True)


def waiting(sessions: Path, *, left_over: bool) -> set[tuple[str, int]]:
    """Return the requests that no learner has taken, and on demand those that earlier ones left; each by name and time."""
    found: set[tuple[str, int]] = set()
    for suffix in (WANTED, TAKEN) if left_over else (WANTED,):
        for path in sessions.glob(f"*{suffix}"):
            try:
                found.add((path.name, path.lstat().st_mtime_ns))
            except FileNotFoundError:
                continue  # replaced by a newer one at this moment, which is found the next time
    return found


def take(sessions: Path, *, home: str) -> list[Request]:
    """Take every request by renaming it, so that a new one of the same session stays separate; often tried ones come last."""
    for wanted in sessions.glob(f"*{WANTED}"):
        try:
            wanted.replace(wanted.with_suffix(TAKEN))
        except OSError as error:
            log.fault(home, error, during="take")
    found: list[Request] = []
    for path in sessions.glob(f"*{TAKEN}"):
        try:
            request = Request(path)
        except (OSError, ValueError, RecursionError) as error:
            log.fault(home, error, during="take")
            _set_aside(path, home=home, why="a request that cannot be read")
            continue
        if request.tries < TRIES:
            found.append(request)
        else:
            _set_aside(path, home=home, why=f"a session that could not be captured in {TRIES} tries")
    return sorted(found, key=lambda request: (request.tries, request.path.name))


def _set_aside(path: Path, *, home: str, why: str) -> None:
    try:
        path.replace(path.with_suffix(SET_ASIDE))
        log.note(home, f"learn: gave up on {why}; the request is kept as *{SET_ASIDE} beside the journals")
    except OSError as error:
        log.fault(home, error, during="take")


def remove_leftovers(sessions: Path, *, now: float) -> None:
    """Remove what killed processes left half-written, and old requests that were set aside."""
    old = {
        ".tacit-*.part": HALF_WRITTEN_S,
        f"*{WANTED}.*": HALF_WRITTEN_S,
        f"*{TAKEN}.*": HALF_WRITTEN_S,
        f"*{SET_ASIDE}": SET_ASIDE_S,
    }
    for pattern, age_s in old.items():
        for left in sessions.glob(pattern):
            if now - left.lstat().st_mtime > age_s:
                try:
                    left.unlink()
                except OSError:
                    continue  # gone already, or a folder
