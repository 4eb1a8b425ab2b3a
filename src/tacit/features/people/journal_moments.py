"""Hook journals and rejections → assumptions and moments of their sessions.

Anything may write to the folder of a journal: what a line says was assumed counts only where a skill that was shown has that
precondition, and then in the skill's own words and with their origin. Keys follow from session and line, so that reading a
journal again adds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tacit.domain.errors import TacitError
from tacit.domain.ledger import LedgerEntry
from tacit.domain.lifecycle import Status
from tacit.domain.reach import CARD
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.evidence.journal_uses import as_text
from tacit.features.people.ledger_entries import Aspect, Assumption, Moment, Phase
from tacit.features.people.session_assumptions import assumption_key, moment_key
from tacit.gate.origins import origin_at
from tacit.ingest.journal import FAILED, as_texts
from tacit.maintain.reason_text import stored_reason
from tacit.store import Store

JOURNAL_BY = "hook"
MAX_ASSUMPTIONS = 20
MAX_PER_NAME = 40
"""Moments of one name that are stored of one journal."""
_NOTED_CHARACTERS = 200
"""A journal holds so much of a condition."""
_TEXT_MAX = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLine:
    """What one line of a hook journal says about assumptions, corrections and failures."""

    at: datetime
    session: str
    shown: tuple[str, ...] = ()
    """Ids of the versions that were shown."""
    assumed: tuple[tuple[str, str], ...] = ()
    """Preconditions of these versions: text and check."""
    corrective: str = ""
    """`denied`, or another kind of correction; empty if there was none."""
    after: tuple[str, ...] = ()
    """Ids of the versions that were shown before a correction."""
    words: str = ""
    """The words of the correction, if the capture has them."""
    tool: str = ""
    warned: bool = False
    failed: bool = False

    @property
    def is_relevant(self) -> bool:
        """Whether the line has anything to keep."""
        return bool(self.assumed or self.corrective or self.warned or self.failed)


def lines_of(
    session: str, lines: Iterable[tuple[Mapping[str, object], datetime]], texts: Mapping[str, str]
) -> list[JournalLine]:
    """Return the lines of a journal about assumptions, corrections and failures, in order."""
    found = (
        JournalLine(
            at=at,
            session=as_text(line.get("agent")) or session,
            shown=tuple(as_texts(line.get("shown"))),
            assumed=tuple(_pairs(line.get("assumed"))),
            corrective=as_text(line.get("corrective")),
            after=tuple(as_texts(line.get("after"))),
            words=texts.get(as_text(line.get("about")), ""),
            tool=as_text(line.get("tool")) or "a tool",
            warned=bool(as_texts(line.get("warned"))),
            failed=_has_failure(line.get("deeds")),
        )
        for line, at in lines
    )
    return [line for line in found if line.is_relevant]


def entries_of_journal(store: Store, lines: list[JournalLine]) -> Iterator[LedgerEntry]:
    """Yield the entries of one journal in order; of failing calls only the first of a session.

    The number of moments of each name is limited: entries are never deleted.
    """
    counts: Counter[str] = Counter()
    for entry in _entries(store, lines):
        if isinstance(entry, Moment):
            counts[entry.what] += 1
            if counts[entry.what] > MAX_PER_NAME:
                continue
        yield entry


def _entries(store: Store, lines: list[JournalLine]) -> Iterator[LedgerEntry]:
    stated: dict[str, dict[str, None]] = {}
    failed: set[str] = set()
    for line in lines:
        keys = stated.setdefault(line.session, {})
        assumptions = list(_assumptions(store, line))
        yield from (each for each in assumptions if each.key not in keys)
        keys.update(dict.fromkeys(each.key for each in assumptions))
        if assumptions:
            named = tuple(each.key for each in assumptions)
            versions = tuple(dict.fromkeys(each.version_id for each in assumptions))
            yield _moment(line, Phase.PROSPECTIVE, "shown", assumptions=named, sources=versions)
        if line.corrective:
            yield _corrected(store, line, tuple(keys))
        if line.warned:
            yield _moment(
                line, Phase.IN_FLIGHT, "loop", text=f"going in circles with {line.tool}", assumptions=tuple(keys)
            )
        elif line.failed and line.session not in failed:
            yield _moment(line, Phase.IN_FLIGHT, "failure", text=f"{line.tool} failed", assumptions=tuple(keys))
        if line.failed:
            failed.add(line.session)


def _assumptions(store: Store, line: JournalLine) -> Iterator[Assumption]:
    wanted = dict.fromkeys(line.assumed[:MAX_ASSUMPTIONS])
    for version_id in line.shown if wanted else ():
        with suppress(TacitError):  # purged meanwhile
            version = store.version(version_id).version
            for number, held in enumerate(version.content.preconditions):
                noted = held.text[:_NOTED_CHARACTERS], held.check[:_NOTED_CHARACTERS]
                if noted not in wanted or not held.text.strip():
                    continue
                yield Assumption(
                    key=assumption_key(line.session, held.text, Aspect.APPROACH),
                    at=line.at,
                    by=JOURNAL_BY,
                    session_id=line.session,
                    sources=(version_id,),
                    text=held.text,
                    check=held.check,
                    version_id=version_id,
                    origin=origin_at(version.origins, f"preconditions.{number}"),
                )


def _corrected(store: Store, line: JournalLine, keys: tuple[str, ...]) -> Moment:
    denied = line.corrective == "denied"
    what = "denied" if denied else "correction"
    text = f"{line.tool} was refused" if denied else line.words[:_TEXT_MAX]
    known = tuple(version_id for version_id in line.after if _may_be_meant(store, version_id))
    return _moment(line, Phase.CORRECTIVE, what, text=text, assumptions=keys, sources=known)


def _may_be_meant(store: Store, version_id: str) -> bool:
    """Whether a version is known, and not the card of the project's commands: that stands in every session."""
    with suppress(TacitError):
        return store.version(version_id).version.content.name != CARD
    return False


def _moment(
    line: JournalLine,
    phase: Phase,
    what: str,
    *,
    text: str = "",
    assumptions: tuple[str, ...] = (),
    sources: tuple[str, ...] = (),
) -> Moment:
    return Moment(
        key=moment_key(what, line.session, line.at.isoformat()),
        at=line.at,
        by=JOURNAL_BY,
        session_id=line.session,
        sources=sources,
        phase=phase,
        what=what,
        text=text,
        assumptions=assumptions,
        origin=Origin.USER if what == "correction" else Origin.OPERATOR,
    )


def note_refusal(store: Store, stored: StoredVersion) -> None:
    """Store that a version was rejected, for each session that it came from; nothing if it was not rejected."""
    for moment in _refused(store, stored) if store.version(stored.version.id).status is Status.REJECTED else ():
        if not store.entries(Moment, key=moment.key):
            store.add(moment)


def note_refusals(store: Store) -> int:
    """Do the same for all rejected versions; return how many moments are new."""
    known = {moment.key for moment in store.entries(Moment) if moment.what == "gate"}
    new = [moment for stored in store.catalogue(statuses={Status.REJECTED}) for moment in _refused(store, stored)]
    with store.transaction():
        return sum(store.add(moment) for moment in new if moment.key not in known)


def _refused(store: Store, stored: StoredVersion) -> list[Moment]:
    version = stored.version
    moves = [move for move in store.transitions(version.id) if move.after is Status.REJECTED]
    sessions: dict[str, str] = {}
    for trajectory_id in version.provenance.trajectory_ids:
        with suppress(TacitError):
            sessions.setdefault(store.episode(trajectory_id).session_id, trajectory_id)
    return [
        Moment(
            key=moment_key("gate", version.id, session, move.at.isoformat()),
            at=move.at,
            by=move.by,
            session_id=session,
            sources=(version.id, trajectory_id),
            phase=Phase.CORRECTIVE,
            what="gate",
            text=f"rejected: {version.name}{f' ({stored_reason(move.reason)})' if move.reason else ''}"[:_TEXT_MAX],
            origin=Origin.USER,
        )
        for move in moves[-1:]
        for session, trajectory_id in sessions.items()
    ]


def _pairs(value: object) -> list[tuple[str, str]]:
    """Return pairs of texts; anything else is ignored."""
    pairs = [item for item in value if isinstance(item, list) and len(item) == 2] if isinstance(value, list) else []
    return [(text, check) for text, check in pairs if isinstance(text, str) and isinstance(check, str)]


def _has_failure(value: object) -> bool:
    """Return whether a call failed, by what a line lists of it."""
    return isinstance(value, list) and any(isinstance(each, dict) and each.get("did") == FAILED for each in value)
