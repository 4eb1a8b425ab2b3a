"""The detached learner: requests and journals beside a store → trajectories captured, uses kept, skills learned.

Runs behind the hooks, one per store, at low priority. Everything it does may be done again: a capture that is known adds
nothing, a use has its id from its journal line, learning is one transaction per trajectory. Killed at any moment, it
leaves what it was asked for to the next one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tacit.config.place import Place, find_place
from tacit.config.settings import load_config
from tacit.config.surroundings import Surroundings
from tacit.domain.errors import NotFound, Outage
from tacit.domain.evidence import Use
from tacit.domain.identity import content_id
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.trajectory import Role, Trajectory
from tacit.loop import Loop
from tacit.opening import open_at
from tacit.surfaces import exports
from tacit.surfaces.discovery import take_in
from tacit.surfaces.hook import detach, log
from tacit.surfaces.hook.events import CLIENTS
from tacit.surfaces.hook.journal import FOLDER, SUFFIX, digest, parsed

KEEP_DAYS = 14
"""Journals that nobody has written to for so long go once they are folded."""
GIVE_UP_S = 86_400.0
"""A request that still lies there after a day has ended more than one learner."""
FOLDED = "folded.json"
_WITHOUT_WORDS = {"start": "session start", "prompt": "a request", "call": "an error at work"}


class Said:
    """What the captured trajectories say about uses: the words behind a digest, and the model of a session."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self.models: dict[str, str] = {}

    def add(self, trajectory: Trajectory) -> None:
        """Take in one trajectory."""
        spoken = [step.text for step in trajectory.steps if step.role is Role.USER and not step.is_action]
        for text in (trajectory.task.text, *spoken):
            self.words[digest(text.strip())] = text
        if trajectory.environment.model:
            self.models[trajectory.session_id] = trajectory.environment.model


def run(options: Mapping[str, str], *, home: str) -> None:
    """Work until nobody waits any more; leave at once if another learner is at it."""
    around = Surroundings.read()
    place = find_place(around, store=options.get("--store", ""), start=Path(options.get("--cwd") or Path.cwd()))
    sessions = place.folder / FOLDER
    left_over = True
    while _waiting(sessions, left_over=left_over) and place.paused_until is None:
        held = detach.lock(str(sessions))
        if held is None:
            return
        try:
            _work(place, sessions, home=home)
        finally:
            os.close(held)
        left_over = False


def _work(place: Place, sessions: Path, *, home: str) -> None:
    around = Surroundings.read()
    config, _ = load_config((place.project,), file=around.config_file, home=around.person_home)
    taken = _take(sessions)
    said = Said()
    with open_at(place, config=config) as loop:
        for request in taken:
            for trajectory in _capture(loop, request, home=home):
                said.add(trajectory)
        fold(loop.store, sessions, said)
        exports.take_back(loop, by="learner", origin=Origin.EXTERNAL)  # nobody says that a person edited them
        loop.learn()
        exports.export(loop)
    for request in taken:
        request.unlink(missing_ok=True)
    tidy(sessions, now=time.time())


def _waiting(sessions: Path, *, left_over: bool) -> list[Path]:
    found = sorted(sessions.glob(f"*{detach.WANTED}"))
    return found + (sorted(sessions.glob(f"*{detach.TAKEN}")) if left_over else [])


def _take(sessions: Path) -> list[Path]:
    """Make every request ours, so that a new one of the same session is told apart; what the killed left comes last."""
    left_over = set(sessions.glob(f"*{detach.TAKEN}"))
    for old in [path for path in left_over if time.time() - path.stat().st_mtime > GIVE_UP_S]:
        old.unlink()
        left_over.remove(old)
    fresh = [wanted.replace(wanted.with_suffix(detach.TAKEN)) for wanted in _waiting(sessions, left_over=False)]
    return [*fresh, *sorted(left_over - set(fresh))]


def _capture(loop: Loop, request: Path, *, home: str) -> list[Trajectory]:
    """Capture the transcript that a request names. One that cannot be read is logged and not asked for again."""
    try:
        transcript = json.loads(request.read_text(encoding="utf-8", errors="surrogatepass"))["transcript"]
        captured = take_in(loop, Path(transcript)) if transcript else None
        return [loop.store.trajectory(added) for added in captured.added] if captured else []
    except Outage:
        raise  # the store's trouble, not the transcript's: the request stays
    except Exception as error:  # the background's top: one bad transcript must not stand in the way of the others
        log.fault(home, error, during="capture")
        return []


def fold(store: Store, sessions: Path, said: Said) -> int:
    """Keep what journals tell of uses; returns how many uses were new. Folding again adds nothing."""
    folded = _folded(sessions)
    added = 0
    for journal in sorted(sessions.glob(f"*{SUFFIX}")):
        if folded.get(journal.name) == journal.stat().st_size:
            continue
        data = journal.read_bytes()
        with store.transaction():
            added += sum(_keep(store, use) for use in uses_of(journal.name, data, said))
        folded[journal.name] = len(data)
        _write(sessions / FOLDED, folded)
    return added


def uses_of(name: str, data: bytes, said: Said) -> Iterator[Use]:
    """The uses that a journal tells of: what was shown, held back for want of room, or there already."""
    stem = name.removesuffix(SUFFIX)
    session = next((stem.removeprefix(f"{client}-") for client in CLIENTS if stem.startswith(f"{client}-")), stem)
    for line in parsed(data):
        at = line.get("at")
        if not isinstance(at, int | float):
            continue
        for key, surface in (("shown", "hook"), ("held", "hook"), ("skipped", "hook, shown before")):
            versions = _texts(line.get(key))
            if not versions:
                continue
            yield Use(
                version_ids=tuple(versions),
                task=said.words.get(str(line.get("about"))) or _WITHOUT_WORDS.get(str(line.get("moment")), ""),
                at=datetime.fromtimestamp(at, UTC),
                surface=surface,
                session_id=session,
                model=str(line.get("model") or said.models.get(session, "")),
                held_back=key == "held",
                id=content_id("u", [stem, at, line.get("agent", ""), key, versions]),
            )


def tidy(sessions: Path, *, now: float) -> None:
    """Take away folded journals that are old, and what killed processes left half-written."""
    folded = _folded(sessions)
    for journal in sessions.glob(f"*{SUFFIX}"):
        state = journal.stat()
        if folded.get(journal.name) == state.st_size and now - state.st_mtime > KEEP_DAYS * 86_400:
            journal.unlink(missing_ok=True)
            folded.pop(journal.name)
            _write(sessions / FOLDED, folded)
    for left in sessions.glob(f"*{detach.WANTED}.*"):
        if now - left.stat().st_mtime > GIVE_UP_S:
            left.unlink(missing_ok=True)


def _keep(store: Store, use: Use) -> bool:
    try:
        store.use(use.id)
    except NotFound:
        store.add_use(use)
        return True
    return False


def _folded(sessions: Path) -> dict[str, int]:
    """How much of each journal is folded, in bytes; damage means: nothing is."""
    try:
        found = json.loads((sessions / FOLDED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): size for name, size in found.items()} if isinstance(found, dict) else {}


def _write(path: Path, value: Mapping[str, int]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.replace(path)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
