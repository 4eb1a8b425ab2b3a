"""Asking for a learner: a request on disk, and a process of its own that outlives the hook and answers to nobody.

A request is a small file beside the journal. One learner works per store at a time; a request that comes while one works
is found by it before it ends, so none is lost. A killed learner leaves its requests for the next one; what ended several
of them is set aside.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys

from tacit.config.location import make_folder
from tacit.surfaces.hook.events import Event
from tacit.surfaces.hook.ground import Ground
from tacit.surfaces.hook.journal import FOLDER, SUFFIX, make_sessions, path_of, word

WANTED, TAKEN, FAILED = ".wanted", ".taken", ".failed"
LOCK = "learner.lock"
NICENESS = 10
MAX_PATH = 4096
"""Characters; the system takes no longer path."""


def request(event: Event, ground: Ground) -> None:
    """Leave a request for this session, replacing an earlier one that nobody has taken yet."""
    folder = ground.where.folder_path
    make_folder(folder)
    make_sessions(os.path.join(folder, FOLDER))
    wanted = path_of(folder, event.client, event.session).removesuffix(SUFFIX) + WANTED
    transcript = event.transcript if len(event.transcript) <= MAX_PATH else ""
    said = {"client": event.client, "session": word(event.session), "transcript": transcript, "cwd": ground.cwd}
    with open(f"{wanted}.{os.getpid()}", "w", encoding="utf-8", errors="surrogatepass") as file:
        json.dump(said, file)
    os.replace(file.name, wanted)


def is_wanted(ground: Ground) -> bool:
    """Whether a request waits, or was taken and never finished."""
    return any(name.endswith((WANTED, TAKEN)) for name in os.listdir(os.path.join(ground.where.folder_path, FOLDER)))


def lock(sessions: str) -> int | None:
    """Become the one learner of this store; nothing if there is one. Closing the number gives it up."""
    file = os.open(os.path.join(sessions, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def start_learner(ground: Ground) -> None:
    """Start a learner that nobody waits for, unless one is at work: it looks for requests again before it ends."""
    held = lock(os.path.join(ground.where.folder_path, FOLDER))
    if held is None:
        return
    os.close(held)
    store = ["--store", ground.store] if ground.store else []
    # -P: the project's folder is not a place to import from.
    command = [sys.executable, "-P", "-m", "tacit", "hook", "learn", "--cwd", ground.where.project_path, *store]
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _become(command)
    finally:
        os._exit(0)


def _become(command: list[str]) -> None:
    """Let go of everything the agent's client holds, step back in the queue, and become the learner."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.closerange(3, 256)
    os.nice(NICENESS)
    os.execv(command[0], command)
