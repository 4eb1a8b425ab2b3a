"""Aha cards of a store: ledger, gate and the folder of the original tool, kept in agreement.

The ledger is the truth. Where the folder exists, its new lines are imported before anything else happens, and what the
ledger has and the files lack is appended, so that a crash between the two heals with the next command. A card's `status`
never changes its lesson; a person's decision on the lesson is written back as the card's status. A folder that came with the
repository is ignored until a person asks to use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.config.location import CardPlaces, card_places, is_tracked
from tacit.domain.candidate import GateDecision, Verdict
from tacit.domain.errors import GateRefusal, NotFound, NotPermitted
from tacit.domain.ledger import E, LedgerEntry, latest
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind
from tacit.domain.stored import Bookmark, Mark, StoredVersion
from tacit.domain.trajectory import Origin
from tacit.features.cards.card import Backport, Card, CardEvent, CardStatus, Recommendation, Signal
from tacit.features.cards.card_records import (
    FILES,
    Record,
    format_time,
    lesson_of,
    line_of,
    meaning,
    renewed,
    user_slug,
)
from tacit.features.cards.folder import BELOW, CardFolder, SyncPlan, plan_import, plan_sync
from tacit.features.cards.index_page import IndexContent, index_page
from tacit.features.cards.scores import GONE, Score, counted, scores
from tacit.gate.content_checks import findings_against_quoting
from tacit.maintain.portability import home_store
from tacit.store import Store

if TYPE_CHECKING:
    from tacit.api import Tacit

PROJECT, GLOBAL = "project", "global"
FROM_FILES = "a card folder"
"""The proposer of what was found in files."""
_STATUS_OF_LESSON = {Status.REJECTED: CardStatus.REJECTED, Status.RETIRED: CardStatus.DEPRECATED}
_IN_USE = (CardStatus.ACCEPTED, CardStatus.BACKPORTED)
_OWN_NAMES = ("tacit", "policy")
"""Prefixes of the names under which Tacit itself changes a version."""
_HIDDEN = frozenset({Status.QUARANTINED, Status.REJECTED, Status.RETIRED, None})
"""Statuses of a lesson whose card agents are not shown; None: the gate rejected the text."""
_TICK = timedelta(microseconds=1)
_USE_FOLDER = "a person uses it with `tacit cards init`; `tacit cards import` imports what it holds now"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLocation:
    """Whose cards they are, and where their files are."""

    root: Path
    user: str
    folder: CardFolder
    shelf: str = PROJECT
    """`project`, or `global` for the person's own store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """Result of a sync: lines read, lines written, and what could not be read."""

    read: int = 0
    written: int = 0
    problems: tuple[str, ...] = ()


class CardLedger:
    """Reads the card entries of a store: the latest version of each, its history, its score and its lesson."""

    def __init__(self, store: Store, location: CardLocation, *, now: Callable[[], datetime]) -> None:
        self.store, self.location, self.now = store, location, now
        self._entries: dict[type[LedgerEntry], list[Any]] = {}
        self._lessons: dict[str, StoredVersion | None] = {}

    @property
    def user(self) -> str:
        """Whose cards these are; the `by` of every entry."""
        return self.location.user

    @property
    def root(self) -> Path:
        """The repository that the cards belong to."""
        return self.location.root

    @property
    def shelf(self) -> str:
        """`project` or `global`."""
        return self.location.shelf

    @property
    def folder(self) -> Path:
        """Where the files are, or would be."""
        return self.location.folder.path

    def timestamp(self) -> str:
        """Return the current time as card files write it."""
        return format_time(self.now())

    def cards(self) -> dict[str, Card]:
        """Return the latest version of each card, whatever its status, in the order of their first versions."""
        return latest(self._all(Card))

    def history(self, key: str) -> list[Card]:
        """Return all versions of a card, oldest first."""
        return [card for card in self._all(Card) if card.key == key]

    def recommendations(self) -> dict[str, Recommendation]:
        """Return the latest version of each recommendation."""
        return latest(self._all(Recommendation))

    def recommendation_history(self, key: str) -> list[Recommendation]:
        """Return all versions of a recommendation, oldest first."""
        return [each for each in self._all(Recommendation) if each.key == key]

    def events(self) -> dict[str, CardEvent]:
        """Return the tasks that cards came from."""
        return latest(self._all(CardEvent))

    def signals(self) -> list[Signal]:
        """Return all signals, each once, oldest first."""
        return list(latest(self._all(Signal)).values())

    def backports(self) -> dict[str, Backport]:
        """Return the latest version of each backport."""
        return latest(self._all(Backport))

    def scores(self, *, more_signals: Sequence[Signal] = ()) -> dict[str, Score]:
        """Return the score of each card, from the signals here and those given."""
        return scores(self.cards(), counted([*self.signals(), *more_signals], self.backports().values()))

    def lesson_status(self, card: Card) -> Status | None:
        """Return the status of the card's lesson; None if it has no lesson."""
        stored = self._lesson(card.version_id)
        return stored.status if stored else None

    def is_reviewed(self, card: Card) -> bool:
        """Return whether a person, or policy, approved exactly this text."""
        return self.lesson_status(card) in RECALLABLE and self.matches_lesson(card)

    def matches_lesson(self, card: Card) -> bool:
        """Return whether the card's lesson has the card's text; a link alone is no approval."""
        stored = self._lesson(card.version_id)
        return stored is not None and stored.version.content == lesson_of(card)

    def is_held_back(self, card: Card) -> bool:
        """Return whether only a reviewer may see the card: the gate or a person is against its text."""
        if self.lesson_status(card) in _HIDDEN:
            return True
        lesson = lesson_of(card)
        text = "\n".join((lesson.name, lesson.description, *lesson.tags, lesson.body))
        return not self.matches_lesson(card) and bool(findings_against_quoting(text))

    def is_withheld(self, recommendation: Recommendation) -> bool:
        """Return whether the checks find something grave in a recommendation; the gate does not see these otherwise."""
        each = recommendation
        texts = (each.key, each.title, each.why, each.implementation_hint, each.note, each.primary_skill, *each.tags)
        impact = (f"{side}: {much}" for side, much in each.expected_impact.items())
        return bool(findings_against_quoting("\n".join(part for part in (*texts, *impact) if part)))

    def index(self) -> str:
        """Return INDEX.md as it should be now."""
        content = IndexContent(
            cards=list(self.cards().values()),
            recommendations=list(self.recommendations().values()),
            backports=list(self.backports().values()),
            scores=self.scores(),
            shows=lambda card: not self.is_held_back(card),
            is_reviewed=self.is_reviewed,
            advises=lambda each: not self.is_withheld(each),
        )
        return index_page(content, self.now())

    def _all(self, sort: type[E]) -> list[E]:
        if sort not in self._entries:
            found = self.store.entries(sort)
            self._entries[sort] = [each for each in found if not isinstance(each, Card) or each.shelf == self.shelf]
        return self._entries[sort]

    def _lesson(self, version_id: str) -> StoredVersion | None:
        if version_id not in self._lessons:
            try:
                self._lessons[version_id] = self.store.version(version_id) if version_id else None
            except NotFound:
                self._lessons[version_id] = None
        return self._lessons[version_id]

    def _clear_cache(self) -> None:
        self._entries.clear()
        self._lessons.clear()


class Cards(CardLedger):
    """All cards of a memory, synchronised with their folder."""

    def __init__(
        self, memory: Tacit, places: CardPlaces | None = None, *, location: CardLocation | None = None
    ) -> None:
        """`places` says where the files are; by default around the current folder. `location` overrides it."""
        self._places = places or card_places(str(Path.cwd()))
        self.memory = memory
        if location is None:
            root, user = Path(self._places.root), user_slug(self._places.account)
            location = CardLocation(root=root, user=user, folder=CardFolder(root / BELOW / user, within=root))
        super().__init__(memory.context.store, location, now=memory.context.now)
        self.verdicts: dict[str, Verdict] = {}
        """Card id → the last verdict of the gate on it, in this process."""
        self._pending: list[Record] | None = None
        self._size = 0
        self._uses_folder: bool | None = None
        self.by_person = False
        """Whether a person gave the command; only then are the files of the shared cards read."""
        self.last_sync = Synced()

    @contextmanager
    def shared_cards(self, create: bool = False) -> Iterator[Cards | None]:
        """Open the cards that all projects of the person share; None where there are none."""
        if self.shelf == GLOBAL:
            yield None
            return
        folder = CardFolder(shared_folder(self._places))
        # What is in the shared folder, or where a variable points, enters the person's own store only if a person asks.
        may_create = create or (self.by_person and folder.exists)
        context = self.memory.context
        with home_store(context.place, signers=context.store.signers, create=may_create) as store:
            if store is None:
                yield None
                return
            user = user_slug(self._places.account)
            location = CardLocation(root=Path(self._places.home), user=user, folder=folder, shelf=GLOBAL)
            from tacit.api import Tacit as Memory  # imported late: the API takes long to load

            settings, scope = self.memory.context, Scope(Level.ORGANISATION)
            peer = Memory(
                store, config=settings.config, scope=scope, embedder=lambda: settings.embedder, clock=settings.now
            )
            shared = Cards(peer, self._places, location=location)
            shared.by_person = self.by_person
            shared.sync()
            yield shared

    @property
    def syncs_folder(self) -> bool:
        """Whether there is a folder to synchronise with, and the person wants that."""
        if not self.location.folder.exists:
            return False
        if self._uses_folder is None:
            if self.shelf == GLOBAL:
                self._uses_folder = self.by_person
            else:  # anybody may have filled a folder that came with the repository
                is_wanted = self.store.bookmarks.get(_consent(self.location.folder).path) is not None
                below = self.folder.relative_to(self.root).as_posix()
                self._uses_folder = is_wanted or not is_tracked(str(self.root), below)
        return self._uses_folder

    def is_hidden_from_agents(self, card: Card) -> bool:
        """Return whether a shared card was not reviewed at home; such cards are for people only."""
        return self.shelf == GLOBAL and not self.by_person and not self.is_reviewed(card)

    # --- adding -------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make several changes one: under the folder's lock and in one store transaction, all of them or none.

        What was read before may be out of date; inside, everything is read again. Files are written at the end.
        """
        if self._pending is not None:
            yield
            return
        folder = self.location.folder if self.syncs_folder else None
        with folder.lock() if folder else nullcontext():
            pending: list[Record] = []
            self._pending, is_done = pending, False
            try:
                with self.store.transaction():
                    self._clear_cache()
                    was_in_sync = folder is None or self._import_new_lines(folder)
                    yield
                    if folder and pending:  # the folder is not complete until its lines are written
                        self.store.bookmarks.put(folder.bookmark(in_sync=False))
                if folder and (pending or not was_in_sync):
                    self._write(folder, pending)
                is_done = True
            finally:
                self._pending = None
                if not is_done:  # the cache contains what was rolled back
                    self._clear_cache()

    def add(self, *entries: Record) -> None:
        """Append to the ledger, and to the folder where there is one."""
        with self.transaction():
            assert self._pending is not None
            self._pending += [entry for entry in entries if self._add_to_ledger(entry)]

    def admit(self, card: Card, *, origin: Origin, by: str, source: str = "") -> Card:
        """Put a card's text through the gate as a lesson; return the card with its lesson's version, not added yet.

        A card that has a lesson proposes the next version of it. What the gate rejects has no lesson.
        """
        content, before = lesson_of(card), self._lesson(card.version_id)
        if before is not None and before.version.content == content:
            return card
        verdict = self.memory.propose(content, by=by, origin=origin, revises=before, source=source)
        self.verdicts[card.key] = verdict
        self._lessons.pop(verdict.version_id, None)
        return self._with_lesson(card, "" if verdict.decision is GateDecision.REJECT else verdict.version_id)

    def _with_lesson(self, card: Card, version_id: str) -> Card:
        """Return the card of this shelf with a lesson; purging the lesson purges the card."""
        sources = (version_id,) if version_id else ()
        return replace(card, version_id=version_id, sources=sources, shelf=self.shelf, id="")

    def _add_to_ledger(self, entry: Record) -> bool:
        """Add an entry to the ledger only; return False if it is there already."""
        if isinstance(entry, Card) and entry.shelf != self.shelf:
            entry = replace(entry, shelf=self.shelf, id="")
        known = self._all(type(entry))
        is_new = self.store.add(entry)
        known += [entry] if is_new else []
        return is_new

    def _write(self, folder: CardFolder, entries: Iterable[Record]) -> None:
        """Append lines, rebuild INDEX.md, and note that the folder is complete unless another process wrote meanwhile."""
        by_file: dict[type[LedgerEntry], list[Record]] = {}
        for entry in entries:
            by_file.setdefault(type(entry), []).append(entry)
        added = sum(folder.append(sort, map(line_of, some)) for sort, some in by_file.items())
        folder.write_index(self.index())
        now = folder.bookmark()
        if now.size == self._size + added:
            self.store.bookmarks.put(now)

    # --- synchronising with the folder --------------------------------------------------------------------------

    def sync(self) -> Synced:
        """Synchronise ledger and folder, and write people's decisions back; belongs at the start of every command."""
        self._clear_cache()
        self.last_sync = Synced()
        folder = self.location.folder
        if self.syncs_folder:
            if self.store.bookmarks.get(str(folder.path)) != folder.bookmark():
                with self.transaction():
                    pass
        elif self.shelf != GLOBAL and folder.exists:
            ignored = f"{folder.path} came with the repository and is ignored; {_USE_FOLDER}"
            self.last_sync = Synced(problems=(ignored,))
        result = self.last_sync
        if self._decided_cards():
            with self.transaction():
                self.add(*self._decided_cards())
        return result

    def start_folder(self) -> None:
        """Create the folder and write the whole ledger into it; only a person may start one that came by git."""
        if self.by_person:
            self.store.bookmarks.put(_consent(self.location.folder))
            self._uses_folder = None
        elif self.location.folder.exists and not self.syncs_folder:
            message = f"{self.folder} came with the repository, so anybody may have filled it"
            raise NotPermitted(message, code="folder_from_repository", hint=_USE_FOLDER)
        self.location.folder.make()
        with self.transaction():
            pass
        self.location.folder.write_index(self.index())

    def import_folder(self, folder: CardFolder) -> Synced:
        """Import another folder; nothing is written to it."""
        with self.transaction():
            found = folder.read(by=self.user, at=self.now())
            plan = plan_import(found.entries, self._own_entries())
            assert self._pending is not None
            imported, problems = self._import(plan, source=str(folder.path))
            self._pending += imported
        return Synced(read=len(imported), problems=(*found.problems, *problems))

    def export_folder(self, folder: CardFolder) -> Synced:
        """Write what another folder lacks of the ledger into it."""
        folder.make()
        with self.transaction(), folder.lock():
            found = folder.read(by=self.user, at=self.now())
            plan = plan_import(found.entries, self._own_entries())
            for sort in FILES:
                folder.append(sort, [line_of(entry) for entry in plan.unwritten if type(entry) is sort])
            folder.write_index(self.index())
        return Synced(written=len(plan.unwritten), problems=found.problems)

    def _import_new_lines(self, folder: CardFolder) -> bool:
        """Import new lines of the own folder and queue what it lacks; return whether nothing had to be done."""
        before = folder.bookmark()
        self._size = before.size
        if self.store.bookmarks.get(before.path) == before:
            return True
        found = folder.read(by=self.user, at=self.now())
        plan = plan_sync(found.entries, self._own_entries())
        imported, problems = self._import(plan, source=str(folder.path))
        assert self._pending is not None
        self._pending += plan.unwritten
        problems = [*found.problems, *problems]
        self.last_sync = Synced(read=len(imported), written=len(plan.unwritten), problems=tuple(problems))
        return False

    def _own_entries(self) -> dict[type[LedgerEntry], list[Record]]:
        """Return what belongs into this user's files, by sort."""
        return {sort: [entry for entry in self._all(sort) if entry.by == self.user] for sort in FILES}  # type: ignore[misc]

    def _import(self, plan: SyncPlan, *, source: str) -> tuple[list[Record], list[str]]:
        """Add what files say; return the added entries, and why others were not added.

        Each card's newest text passes the gate. What was purged is not imported again.
        """
        newest = {(type(entry), entry.key): entry for entry in [*plan.unknown, *plan.final]}
        imported: list[Record] = []
        problems: list[str] = []

        def add(entry: Record, source: str) -> None:
            try:
                linked = self._linked(entry, source) if isinstance(entry, Card) else entry
                self._add_to_ledger(linked)
            except GateRefusal as refusal:
                problems.append(f"{FILES[type(entry)]} {entry.key}: {refusal.message}; it stays in the file only")
            else:
                imported.append(linked)

        for entry in plan.unknown:  # an earlier version does not pass the gate
            add(_from_file(entry), source if newest[type(entry), entry.key] is entry else "")
        for entry in plan.final:
            versions = [each for each in self._all(type(entry)) if each.key == entry.key]
            later = replace(entry, at=_just_after(max([self.now(), *(each.at for each in versions)])), id="")
            own = [each for each in versions if not getattr(each, "from_file", False)]
            is_ours = bool(own) and meaning(own[-1]) == meaning(entry)
            add(later if is_ours else _from_file(later), source)
        return imported, problems

    def _linked(self, card: Card, source: str) -> Card:
        """Return a card of a file with its lesson: that of a version with the same text, or a new one from the gate."""
        earlier = [each for each in self.history(card.key) if each.version_id]
        same = [each for each in earlier if lesson_of(each) == lesson_of(card) and self.matches_lesson(each)]
        if same:
            return self._with_lesson(card, same[-1].version_id)
        linked = self._with_lesson(card, earlier[-1].version_id if earlier else "")
        if not source:  # purged together with that lesson, but not approved by it: the text differs
            return replace(linked, version_id="", id="")
        return self.admit(linked, origin=Origin.EXTERNAL, by=FROM_FILES, source=source)

    # --- people's decisions -------------------------------------------------------------------------------------

    def _decided_cards(self) -> list[Card]:
        """Return new versions of cards whose status differs from a person's decision on their lesson."""
        lessons = {held.version.id: held for held in self.store.catalogue(kinds={Kind.LESSON})}
        self._lessons.update(lessons)
        found: list[Card] = []
        for card in self.cards().values():
            held = lessons.get(card.version_id)
            status = _status_from_lesson(held, card) if held else None
            if status is None or status is card.status:
                continue
            move = self.store.transitions(card.version_id)[-1]
            if not move.by.startswith(_OWN_NAMES):
                at = max(self.now(), _just_after(card.at))
                found.append(renewed(card, at=at, by=self.user, status=status, note=f"{status} by {move.by}"))
        return found


def folder_here() -> Path:
    """Return where the card folder of this project and user is, or would be."""
    places = card_places(str(Path.cwd()))
    return Path(places.root) / BELOW / user_slug(places.account)


def shared_folder(places: CardPlaces) -> Path:
    """Return the folder of the shared cards: the one that is set, or the one in the home folder."""
    return Path(places.shared) if places.shared else Path(places.home) / BELOW / user_slug(places.account)


def _status_from_lesson(held: StoredVersion, card: Card) -> CardStatus | None:
    if held.status in RECALLABLE:
        return card.status if card.status in _IN_USE else CardStatus.ACCEPTED
    is_decided = held.status in _STATUS_OF_LESSON and card.status in GONE
    return card.status if is_decided else _STATUS_OF_LESSON.get(held.status)


def _just_after(at: datetime) -> datetime:
    return at + _TICK if at < datetime.max.replace(tzinfo=at.tzinfo) else at


def _from_file(entry: Record) -> Record:
    """Mark a recommendation as read from a file."""
    return replace(entry, from_file=True, id="") if isinstance(entry, Recommendation) else entry


def _consent(folder: CardFolder) -> Bookmark:
    """Return the bookmark that records a person's wish to use a folder."""
    return Bookmark(path=f"{folder.path}#kept", size=0, modified_ns=0, mark=Mark(line=1))
