"""The detached learner: requests and journals beside a store → trajectories captured, uses kept, skills learned.

Runs behind the hooks, one per store, at low priority. Everything it does may be done again: a capture that is known adds
nothing, a use has its id from its journal line, learning is one transaction per trajectory. Killed at any moment, it
leaves what it was asked for to the next one. A fault of one session is logged and keeps no other from being learned.

Agents call hooks, and whoever calls a hook decides on the learner's environment: the policy comes from the account's own
home, and nothing that a variable names may loosen it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.api import Tacit, open_at
from tacit.config.environment import UserEnvironment
from tacit.config.location import FOLDER as HOME_FOLDER
from tacit.config.location import StoreLocation, find_location
from tacit.config.settings import Config, load_config
from tacit.domain.errors import NotFound, Outage, TacitError
from tacit.domain.evidence import Use
from tacit.domain.extension import Extension, JournalLine
from tacit.domain.identity import content_id
from tacit.domain.ports import Store
from tacit.domain.trajectory import Role, Trajectory
from tacit.evidence.credit import NAMELESS
from tacit.surfaces import exports
from tacit.surfaces.discovery import take_in
from tacit.surfaces.hook import detach, log, loops, requests
from tacit.surfaces.hook.events import CLIENTS
from tacit.surfaces.hook.journal import CLOSED_BYTES, FOLDER, SUFFIX, digest, parsed, read_regular, time_of
from tacit.surfaces.hook.requests import Request

KEEP_DAYS = 14
"""Journals that nobody has written to for so long go once they are folded; requests that were set aside go too."""
HALF_WRITTEN_S = 86_400.0
"""What a killed process left half-written goes after a day."""
FOLDED = "folded.json"
MAX_FOLDED_BYTES = 64 * 1024 * 1024
FOLDED_EVERY = 200
"""So many journals are folded between two writings of how far it got: folding some again is harmless."""
AHEAD_S = 60.0
"""Clocks differ by so much; a line that is dated further ahead is passed over."""
FAULTS_LOGGED = 5
"""Of the journals that make trouble in one pass."""
_TEXT_CHARACTERS = 200
_TOLD = (("shown", "hook"), ("control", "hook"), ("held", "hook"), ("skipped", "hook, shown before"))
"""What a line tells of, and the surface that stands for it."""


class Said:
    """What the captured trajectories say about uses: the words behind a digest, the model of a session, and where it is."""

    def __init__(self, scope: str = "") -> None:
        self.scope = scope
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
    around = UserEnvironment.read()
    place = find_location(around, store=options.get("--store", ""), start=Path(options.get("--cwd") or Path.cwd()))
    sessions = place.folder / FOLDER
    left_over, before = True, set[tuple[str, int]]()
    while (wanted := requests.waiting(sessions, left_over=left_over)) - before and place.paused_until is None:
        held = detach.lock(str(sessions))
        if held is None:
            return
        try:
            _work(place, sessions, around, home=home)
        finally:
            os.close(held)
        left_over, before = False, wanted


def config_for(place: StoreLocation, around: UserEnvironment) -> Config:
    """The settings of a project, with the policy of the account's own home; any other file may only tighten that."""
    own = around.account_home / HOME_FOLDER if around.account_home else None
    config, _ = load_config((place.project, around.home), file=around.config_file, home=own)
    return config


def _work(place: StoreLocation, sessions: Path, around: UserEnvironment, *, home: str) -> None:
    taken = requests.take(sessions, home=home)
    own = around.account_home / HOME_FOLDER if around.account_home else around.home
    with open_at(place, config=config_for(place, around), home=own) as loop:
        said = Said(str(loop.context.scope))
        done = [request for request in taken if _is_captured(loop, request, said, home=home)]
        fold(loop.context.store, sessions, said, home=home, extensions=loop.context.extensions)
        exports.take_back(loop, by="learner")
        loop.learn()
        exports.export(loop)
        _embed(loop, home=home)
    for request in done:
        request.finish()
    tidy(sessions, now=time.time())


def _embed(loop: Tacit, *, home: str) -> None:
    """Give vectors to what waits for them, as it does where the embedder is new. Without them skills are found by words."""
    try:
        loop.library.index()
    except TacitError as error:
        log.fault(home, error, during="index")


def _is_captured(loop: Tacit, request: Request, said: Said, *, home: str) -> bool:
    """Capture the transcript that a request names. One that makes trouble is logged, and stays for another try."""
    before = request.tries
    try:
        request.note(before + 1)
        captured = take_in(loop, Path(request.transcript)) if request.transcript else None
        for added in captured.added if captured else ():
            said.add(loop.context.store.trajectory(added))
        request.note(0)  # what ends a learner from here on is not this transcript
    except Outage:
        with suppress(OSError):
            request.note(before)  # the store's trouble, not the transcript's
        raise
    except Exception as error:  # the background's top: one bad transcript must not stand in the way of the others
        log.fault(home, error, during="capture")
        return False
    return True


def fold(
    store: Store, sessions: Path, said: Said, *, home: str, extensions: Sequence[Extension] = ()
) -> int:
    """Keep what journals tell of uses; returns how many uses were new. Folding again adds nothing."""
    folded = _folded(sessions)
    known: dict[str, bool] = {}
    added = new = faults = 0
    for journal in sorted(sessions.glob(f"*{SUFFIX}")):
        try:
            size = journal.lstat().st_size
            if folded.get(journal.name) == size:
                continue
            data = read_regular(str(journal), limit=2 * CLOSED_BYTES)
            uses = list(uses_of(journal.name, data, said))
            with store.transaction():
                added += sum(_keep(store, use, known) for use in uses)
                for extension in extensions:
                    extension.on_journal(lines_of(journal.name, data, said))
        except Outage:
            raise
        except Exception as error:  # as above: one bad journal must not stand in the way of the others
            faults += 1
            if faults <= FAULTS_LOGGED:
                log.fault(home, error, during="fold")
            continue
        folded[journal.name] = size
        new += 1
        if new % FOLDED_EVERY == 0:
            _write(sessions / FOLDED, folded)
    if new % FOLDED_EVERY:
        _write(sessions / FOLDED, folded)
    return added


def uses_of(name: str, data: bytes, said: Said) -> Iterator[Use]:
    """The uses that a journal tells of: what was shown, held back by lot or for want of room, or there already.

    A subagent is a session of its own, as its captured attempts are. A line that is dated ahead was not written by a hook:
    nothing could have changed since, so it would vouch for every check.
    """
    stem, main = name.removesuffix(SUFFIX), _session(name)
    for line, at in _dated(data):
        agent = _text(line.get("agent"))
        session, lots = agent or main, _shares(line.get("lots")) | (withheld := _shares(line.get("control")))
        for key, surface in _TOLD:
            versions = list(withheld) if key == "control" else _texts(line.get(key))
            if not versions:
                continue
            drawn = key in ("shown", "control") and any(version in lots for version in versions)
            yield Use(
                version_ids=tuple(versions),
                task=said.words.get(_text(line.get("about"))) or NAMELESS.get(_text(line.get("moment")), ""),
                at=datetime.fromtimestamp(at, UTC),
                surface=surface,
                session_id=session,
                model=_text(line.get("model")) or said.models.get(session) or said.models.get(main, ""),
                held_back=key in ("held", "control"),
                shares=tuple(lots.get(version, 0.0) for version in versions) if drawn else (),
                scope=said.scope,
                id=content_id("u", [stem, at, agent, key, versions]),
            )


def lines_of(name: str, data: bytes, said: Said) -> list[JournalLine]:
    """What a journal tells of assumptions, corrections and trouble on the way, in order."""
    main = _session(name)
    found = (
        JournalLine(
            at=datetime.fromtimestamp(at, UTC),
            session=_text(line.get("agent")) or main,
            shown=tuple(_texts(line.get("shown"))),
            assumed=tuple(_pairs(line.get("assumed"))),
            corrective=_text(line.get("corrective")),
            after=tuple(_texts(line.get("after"))),
            said=said.words.get(_text(line.get("about")), ""),
            tool=_text(line.get("tool")) or "a tool",
            warned=bool(_texts(line.get("warned"))),
            failed=_failed(line.get("deeds")),
        )
        for line, at in _dated(data)
    )
    return [line for line in found if line.is_relevant]


def _dated(data: bytes) -> Iterator[tuple[dict[str, object], float]]:
    """The lines that a hook can have written, each with its time."""
    latest = time.time() + AHEAD_S
    return ((line, at) for line in parsed(data) if 0 < (at := time_of(line)) <= latest)


def _session(name: str) -> str:
    """The session that a journal is of, by the journal's name."""
    stem = name.removesuffix(SUFFIX)
    return _text(next((stem.removeprefix(f"{each}-") for each in CLIENTS if stem.startswith(f"{each}-")), stem))


def tidy(sessions: Path, *, now: float) -> None:
    """Take away folded journals that are old, and what killed processes left half-written."""
    folded, kept = _folded(sessions), {}
    for journal in sessions.glob(f"*{SUFFIX}"):
        state = journal.lstat()
        if folded.get(journal.name) == state.st_size and now - state.st_mtime > KEEP_DAYS * 86_400:
            _unlink(journal)
        elif journal.name in folded:
            kept[journal.name] = folded[journal.name]
    if kept != folded:
        _write(sessions / FOLDED, kept)
    old = {f"*{detach.WANTED}.*": HALF_WRITTEN_S, f"*{detach.TAKEN}.*": HALF_WRITTEN_S}
    for pattern, age_s in (old | {f"*{detach.FAILED}": KEEP_DAYS * 86_400}).items():
        for left in sessions.glob(pattern):
            if now - left.lstat().st_mtime > age_s:
                _unlink(left)


def _unlink(path: Path) -> None:
    with suppress(OSError):  # gone already, or a folder, which is nobody's
        path.unlink()


def _keep(store: Store, use: Use, known: dict[str, bool]) -> bool:
    """Keep a use that is new, of the versions that there are; `known` remembers which."""
    for version_id in use.version_ids:
        if version_id not in known:
            known[version_id] = _is_version(store, version_id)
    versions = tuple(version_id for version_id in use.version_ids if known[version_id])
    try:
        store.use(use.id)
    except NotFound:
        shares = tuple(
            share for share, version_id in zip(use.shares, use.version_ids, strict=False) if known[version_id]
        )
        if versions:
            store.add_use(replace(use, version_ids=versions, shares=shares))
        return bool(versions)
    return False


def _is_version(store: Store, version_id: str) -> bool:
    try:
        store.version(version_id)
    except NotFound:
        return False
    except TacitError:
        return True  # it is there, and its damage is not the journal's
    return True


def _folded(sessions: Path) -> dict[str, int]:
    """How much of each journal is folded, in bytes; damage means: nothing is."""
    try:
        found = json.loads(read_regular(str(sessions / FOLDED), limit=MAX_FOLDED_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: size for name, size in found.items() if isinstance(size, int)} if isinstance(found, dict) else {}


def _write(path: Path, value: Mapping[str, int]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.replace(path)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _pairs(value: object) -> list[tuple[str, str]]:
    """Pairs of texts; anything else is as good as none."""
    pairs = [item for item in value if isinstance(item, list) and len(item) == 2] if isinstance(value, list) else []
    return [(text, check) for text, check in pairs if isinstance(text, str) and isinstance(check, str)]


def _failed(value: object) -> bool:
    """Whether a call failed, as the deeds of a line tell it."""
    return isinstance(value, list) and any(isinstance(deed, dict) and deed.get("did") == loops.FAILED for deed in value)


def _shares(value: object) -> dict[str, float]:
    """Versions under a lot, each with its chance; anything else is as good as none."""
    pairs = [item for item in value if isinstance(item, list) and len(item) == 2] if isinstance(value, list) else []
    return {
        version: float(share)
        for version, share in pairs
        if isinstance(version, str) and isinstance(share, int | float) and 0 < share < 1
    }


def _text(value: object) -> str:
    """A text that can be stored; anything else is as good as none."""
    return value[:_TEXT_CHARACTERS].encode("utf-8", "replace").decode() if isinstance(value, str) else ""
