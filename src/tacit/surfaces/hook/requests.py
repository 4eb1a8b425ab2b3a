"""Requests that hooks left beside the journals → those that a learner takes up, each with how often it was tried.

A request is tried again until its transcript is captured; one that nobody gets through is set aside and said so in the
log, never dropped. Which transcript is read and how is the learner's business.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.surfaces.hook import log
from tacit.surfaces.hook.detach import FAILED, TAKEN, WANTED
from tacit.surfaces.hook.journal import read_regular

TRIES = 5
"""After so many attempts that ended a learner, or failed, a request is set aside."""
MAX_BYTES = 64 * 1024


class Request:
    """One request that this learner has taken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        said = json.loads(read_regular(str(path), limit=MAX_BYTES))
        if not isinstance(said, dict) or not isinstance(said.get("transcript"), str):
            raise ValueError("not a request")
        tries = said.get("tries")
        self.transcript: str = said["transcript"]
        self.tries: int = tries if type(tries) is int and tries > 0 else 0
        self._said = said

    def note(self, tries: int) -> None:
        """Write down how often it was tried, before each try: a killed process cannot."""
        self.tries = tries
        new = self.path.with_name(f"{self.path.name}.new")
        new.write_text(json.dumps({**self._said, "tries": tries}), encoding="utf-8")
        new.replace(self.path)

    def finish(self) -> None:
        """Take it away: what it asked for is done."""
        self.path.unlink(missing_ok=True)


def waiting(sessions: Path, *, left_over: bool) -> set[tuple[str, int]]:
    """The requests that nobody has taken, and on demand what earlier learners left; each by name and time."""
    found: set[tuple[str, int]] = set()
    for suffix in (WANTED, TAKEN) if left_over else (WANTED,):
        for path in sessions.glob(f"*{suffix}"):
            try:
                found.add((path.name, path.lstat().st_mtime_ns))
            except FileNotFoundError:
                continue  # replaced by a newer one at this moment, which is found the next time
    return found


def take(sessions: Path, *, home: str) -> list[Request]:
    """Make every request ours, so that a new one of the same session is told apart; what was tried often comes last."""
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
        path.replace(path.with_suffix(FAILED))
        log.note(home, f"learn: gave up on {why}; the request is kept as *{FAILED} beside the journals")
    except OSError as error:
        log.fault(home, error, during="take")
