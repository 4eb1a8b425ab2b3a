"""Hook journals → uses: what hooks showed in which session, or held back. Extensions get the lines that concern them.

Folding may be repeated: a use has its id from its journal line, and a stored one is not stored again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.config.files import read_plain, write_atomically
from tacit.domain.errors import NotFound, Outage, TacitError
from tacit.domain.evidence import Use
from tacit.domain.identity import content_id
from tacit.domain.trajectory import Role, Trajectory
from tacit.evidence.credit import NAMELESS
from tacit.ingest.journal import CLIENTS, CLOSED_BYTES, FOLDER, SUFFIX, as_texts, digest, parsed, shares_in, time_of
from tacit.store import Store
from tacit.store.context import StoreContext

KEEP_DAYS = 14
"""Folded journals are removed after so many days without a new line."""
FOLDED = "folded.json"
MAX_FOLDED_BYTES = 64 * 1024 * 1024
FOLDED_EVERY = 200
"""After so many journals the progress is written; folding some again is harmless."""
AHEAD_S = 60.0
"""Clocks differ by so much; a line that is dated further ahead is ignored."""
FAULTS_REPORTED = 5
"""Of the journals that cannot be folded in one pass."""
_TEXT_CHARACTERS = 200
_SURFACES = (("shown", "hook"), ("control", "hook"), ("held", "hook"), ("skipped", "hook, shown before"))
"""Keys of a line that list versions, and the surface that their use is stored with."""

OnFault = Callable[[Exception], None]
_LOG = logging.getLogger(__name__)


def log_fault(error: Exception) -> None:
    _LOG.warning("a hook journal could not be read: %s", type(error).__name__)


class SessionTexts:
    """What captured trajectories add to journals: the text behind a digest, and the model of a session."""

    def __init__(self, scope: str = "", trajectories: Iterable[Trajectory] = ()) -> None:
        self.scope = scope
        self.texts: dict[str, str] = {}
        self.models: dict[str, str] = {}
        for trajectory in trajectories:
            self.add(trajectory)

    def add(self, trajectory: Trajectory) -> None:
        """Add the texts of one trajectory."""
        messages = [step.text for step in trajectory.steps if step.role is Role.USER and not step.is_action]
        for text in (trajectory.task.text, *messages):
            self.texts[digest(text.strip())] = text
        if trajectory.environment.model:
            self.models[trajectory.session_id] = trajectory.environment.model


def fold_journals(
    context: StoreContext,
    sessions: Path | None = None,
    *,
    on_fault: OnFault = log_fault,
    texts: SessionTexts | None = None,
) -> int:
    """Store the uses of all journals that have grown, by default of those beside the store; return how many are new.

    A journal that cannot be folded goes to `on_fault`, and the others are folded. `texts` are by default those of the
    trajectories that wait to be learned from.
    """
    sessions = context.place.folder / FOLDER if sessions is None and context.place else sessions
    if sessions is None:
        return 0
    store = context.store
    folded = _read_folded(sessions)
    known: dict[str, bool] = {}
    added = new = faults = 0
    for journal in sorted(sessions.glob(f"*{SUFFIX}")):
        try:
            size = journal.lstat().st_size
            if folded.get(journal.name) == size:
                continue
            if texts is None:
                waiting = store.episodes(unlearned=True)
                texts = SessionTexts(str(context.scope), (store.trajectory(episode.id) for episode in waiting))
            data = read_plain(str(journal), limit=2 * CLOSED_BYTES)
            uses = list(uses_of(journal.name, data, texts))
            with store.transaction():
                added += sum(_add_use(store, use, known) for use in uses)
                for extension in context.extensions:
                    extension.on_journal(journal_session(journal.name), list(dated_lines(data)), texts.texts)
        except Outage:
            raise
        except Exception as error:  # one bad journal must not keep the others from being folded
            faults += 1
            if faults <= FAULTS_REPORTED:
                on_fault(error)
            continue
        folded[journal.name] = size
        new += 1
        if new % FOLDED_EVERY == 0:
            _write_folded(sessions, folded)
    if new % FOLDED_EVERY:
        _write_folded(sessions, folded)
    return added


def uses_of(name: str, data: bytes, texts: SessionTexts) -> Iterator[Use]:
    """Yield the uses of a journal: what was shown, held back at random or for lack of space, or shown before.

    A subagent is a session of its own, as its captured attempts are. A line dated in the future was not written by a
    hook: it would make every later check count as evidence.
    """
    stem, main = name.removesuffix(SUFFIX), journal_session(name)
    for line, at in dated_lines(data):
        agent = as_text(line.get("agent"))
        session, chances = agent or main, shares_in(line.get("lots")) | (withheld := shares_in(line.get("control")))
        for key, surface in _SURFACES:
            versions = list(withheld) if key == "control" else as_texts(line.get(key))
            if not versions:
                continue
            drawn = key in ("shown", "control") and any(version in chances for version in versions)
            yield Use(
                version_ids=tuple(versions),
                task=texts.texts.get(as_text(line.get("about"))) or NAMELESS.get(as_text(line.get("moment")), ""),
                at=at,
                surface=surface,
                session_id=session,
                model=as_text(line.get("model")) or texts.models.get(session) or texts.models.get(main, ""),
                held_back=key in ("held", "control"),
                shares=tuple(chances.get(version, 0.0) for version in versions) if drawn else (),
                scope=texts.scope,
                id=content_id("u", [stem, time_of(line), agent, key, versions]),
            )


def remove_old_journals(sessions: Path, *, now: float) -> None:
    """Remove folded journals that nobody has written to for a while."""
    folded, kept = _read_folded(sessions), {}
    for journal in sessions.glob(f"*{SUFFIX}"):
        state = journal.lstat()
        if folded.get(journal.name) == state.st_size and now - state.st_mtime > KEEP_DAYS * 86_400:
            with suppress(OSError):  # gone already, or a folder
                journal.unlink()
        elif journal.name in folded:
            kept[journal.name] = folded[journal.name]
    if kept != folded:
        _write_folded(sessions, kept)


def dated_lines(data: bytes) -> Iterator[tuple[dict[str, object], datetime]]:
    """Yield the lines that a hook can have written, each with its time."""
    latest = time.time() + AHEAD_S
    return ((line, datetime.fromtimestamp(at, UTC)) for line in parsed(data) if 0 < (at := time_of(line)) <= latest)


def journal_session(name: str) -> str:
    """Return the session of a journal, by the journal's name."""
    stem = name.removesuffix(SUFFIX)
    return as_text(next((stem.removeprefix(f"{each}-") for each in CLIENTS if stem.startswith(f"{each}-")), stem))


def _add_use(store: Store, use: Use, known: dict[str, bool]) -> bool:
    """Store a use that is new, of the versions that exist; `known` remembers which."""
    for version_id in use.version_ids:
        if version_id not in known:
            known[version_id] = True
            try:
                store.version(version_id)
            except NotFound:
                known[version_id] = False
            except TacitError:  # it exists, and its damage does not concern the journal
                pass
    try:
        store.use(use.id)
    except NotFound:
        versions = tuple(version_id for version_id in use.version_ids if known[version_id])
        pairs = zip(use.shares, use.version_ids, strict=False)
        shares = tuple(share for share, version_id in pairs if known[version_id])
        if versions:
            store.add(replace(use, version_ids=versions, shares=shares))
        return bool(versions)
    return False


def _read_folded(sessions: Path) -> dict[str, int]:
    """Return how much of each journal is folded, in bytes; nothing if that file is damaged."""
    try:
        found = json.loads(read_plain(str(sessions / FOLDED), limit=MAX_FOLDED_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: size for name, size in found.items() if isinstance(size, int)} if isinstance(found, dict) else {}


def _write_folded(sessions: Path, value: Mapping[str, int]) -> None:
    write_atomically(sessions / FOLDED, json.dumps(value), sync=False)


def as_text(value: object) -> str:
    """Return a text of a journal line in a form that can be stored; empty for anything else."""
    return value[:_TEXT_CHARACTERS].encode("utf-8", "replace").decode() if isinstance(value, str) else ""
