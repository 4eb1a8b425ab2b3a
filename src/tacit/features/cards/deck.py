"""A deck of cards: ledger, gate and folder as one. Entries and lines → a ledger and a folder that agree.

The ledger is the truth. Where the folder of the original tool exists, its new lines are taken in before anything is done,
and what the ledger has and the files have not is appended, so that a crash between the two heals at the next command.
A card's word (`status`) never moves its lesson; a person's decision on the lesson is written back as the card's word.
A folder that came with the repository is left alone until a person says that it is to be kept in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from tacit.config.location import is_tracked
from tacit.domain.bookmark import Bookmark, Mark
from tacit.domain.candidate import Decision, Verdict
from tacit.domain.card import Card, CardStatus
from tacit.domain.entry import Entry
from tacit.domain.errors import GateRefusal, NotPermitted
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.domain.recommendation import Recommendation
from tacit.domain.skill import Kind, SkillContent
from tacit.features.cards.aha.records import FILES, Record, line_of, meaning, renewed
from tacit.features.cards.aha.scores import GONE
from tacit.features.cards.folder import Folder
from tacit.features.cards.lessons import lesson_of
from tacit.features.cards.pile import GLOBAL, Pile, Where
from tacit.features.cards.stepping import Step, with_foreign, with_own

FROM_FILES = "a card folder"
"""Who proposed what was found in files: nobody that is known."""
_WORDS = {Status.REJECTED: CardStatus.REJECTED, Status.RETIRED: CardStatus.DEPRECATED}
_IN_USE = (CardStatus.ACCEPTED, CardStatus.BACKPORTED)
_OWN_NAMES = ("tacit", "policy")
"""Begin the names under which something moves a version that is no person."""
_TICK = timedelta(microseconds=1)
_SAY_SO = "a person keeps it in step with `tacit cards init`; `tacit cards import` takes in what it holds now"


class Door(Protocol):
    """The one way in: whoever puts a content before the gate."""

    def propose(
        self,
        content: SkillContent,
        *,
        by: str,
        origin: Origin = Origin.AGENT,
        revises: Stored | None = None,
        source: str = "",
    ) -> Verdict:
        """Judge it, and keep verdict and version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What came of bringing ledger and folder in step: lines taken in, lines written, and what could not be read."""

    read: int = 0
    written: int = 0
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Taken:
    """What was kept of a folder, and what was not."""

    entries: list[Record] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


Beside = Callable[[bool, bool], AbstractContextManager["Deck | None"]]
"""Whether to create it, and whether a person asks → the deck that projects share, while it is needed."""


class Deck(Pile):
    """All cards of a store, kept in step with their folder."""

    def __init__(
        self, store: Store, door: Door, where: Where, *, clock: Callable[[], datetime], beside: Beside | None = None
    ) -> None:
        super().__init__(store, where, clock=clock)
        self.verdicts: dict[str, Verdict] = {}
        """Card id → what the gate last said of it, in this process."""
        self._door = door
        self._beside = beside
        self._pending: list[Record] | None = None
        self._size = 0
        self._is_welcome: bool | None = None
        self.by_person = False
        """Whether a person gave the command; only then are the files of the shared deck looked at."""
        self.met = Synced()
        """What came of meeting the folder, when `sync` was last called."""

    def global_deck(self, create: bool = False) -> AbstractContextManager[Deck | None]:
        """Open the deck that all projects of the person share, while it is needed; nothing where there is none."""
        return self._beside(create, self.by_person) if self._beside else nullcontext()

    @property
    def keeps_folder(self) -> bool:
        """Whether there is a folder to keep in step, and it is this person's own."""
        if not self.where.folder.exists:
            return False
        if self._is_welcome is None:
            self._is_welcome = self.by_person if self.shelf == GLOBAL else self._is_kept() or not self._is_foreign()
        return self._is_welcome

    def is_for_people(self, card: Card) -> bool:
        """Whether a card is not for agents to see: of what projects share, whatever nobody reviewed at home."""
        return self.shelf == GLOBAL and not self.by_person and not self.is_reviewed(card)

    def _is_kept(self) -> bool:
        """Whether a person said here that the folder is to be kept in step."""
        return self.store.bookmark(_consent(self.where.folder).path) is not None

    def _is_foreign(self) -> bool:
        """Whether the folder came with the repository: then anybody may have filled it."""
        return is_tracked(str(self.root), self.folder.relative_to(self.root).as_posix())

    # --- what is added ------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make several changes one: under the folder's lock and in one transaction, all of them or none.

        What was read before may be out of date; inside, everything is as it stands. Files are written when all is kept.
        """
        if self._pending is not None:
            yield
            return
        folder = self.where.folder if self.keeps_folder else None
        with folder.lock() if folder else nullcontext():
            pending: list[Record] = []
            self._pending, is_done = pending, False
            try:
                with self.store.transaction():
                    self._forget()
                    was_in_step = folder is None or self._meet(folder)
                    yield
                    if folder and pending:  # until its lines are written, nobody may take the folder for complete
                        self.store.keep_bookmark(folder.bookmark(in_step=False))
                if folder and (pending or not was_in_step):
                    self._write(folder, pending)
                is_done = True
            finally:
                self._pending = None
                if not is_done:  # what was read inside counts on what did not happen
                    self._forget()

    def keep(self, *entries: Record) -> None:
        """Append to the ledger, and to the folder where there is one."""
        with self.changing():
            assert self._pending is not None
            self._pending += [entry for entry in entries if self._hold(entry)]

    def admit(self, card: Card, *, origin: Origin, by: str, source: str = "") -> Card:
        """Put a card's text before the gate as a lesson; the card comes back with its lesson's version, and is not kept yet.

        One that has a lesson already is put before it as the next version of that. What the gate rejects has no lesson.
        """
        content, before = lesson_of(card), self._lesson(card.version_id)
        if before is not None and before.version.content == content:
            return card
        verdict = self._door.propose(content, by=by, origin=origin, revises=before, source=source)
        self.verdicts[card.key] = verdict
        self._lessons.pop(verdict.version_id, None)
        return self._resting(card, "" if verdict.decision is Decision.REJECT else verdict.version_id)

    def _resting(self, card: Card, version_id: str) -> Card:
        """A card of this deck with its lesson, which takes the card along when it is purged."""
        sources = (version_id,) if version_id else ()
        return replace(card, version_id=version_id, sources=sources, shelf=self.shelf, id="")

    def _hold(self, entry: Record) -> bool:
        """Keep an entry in the ledger only; False if it is there."""
        if isinstance(entry, Card) and entry.shelf != self.shelf:
            entry = replace(entry, shelf=self.shelf, id="")
        known = self._all(type(entry))
        is_new = self.store.add_entry(entry)
        known += [entry] if is_new else []
        return is_new

    def _write(self, folder: Folder, entries: Iterable[Record]) -> None:
        """Append lines, rebuild INDEX.md, and note that the folder is complete, unless somebody else wrote meanwhile."""
        by_file: dict[type[Entry], list[Record]] = {}
        for entry in entries:
            by_file.setdefault(type(entry), []).append(entry)
        added = sum(folder.append(sort, map(line_of, some)) for sort, some in by_file.items())
        folder.write_index(self.index())
        now = folder.bookmark()
        if now.size == self._size + added:
            self.store.keep_bookmark(now)

    # --- in step with the folder --------------------------------------------------------------------------------

    def sync(self) -> Synced:
        """Bring ledger and folder in step, and write people's decisions back; belongs at the start of every command."""
        self._forget()
        self.met = Synced(problems=self._left_alone())
        if self.keeps_folder and not self._is_in_step(self.where.folder):
            with self.changing():
                pass
        met = self.met
        if self._decided():
            with self.changing():
                self.keep(*self._decided())
        return met

    def _left_alone(self) -> tuple[str, ...]:
        if self.shelf == GLOBAL or not self.where.folder.exists or self.keeps_folder:
            return ()
        return (f"{self.folder} came with the repository and is neither read nor written; {_SAY_SO}",)

    def start_folder(self) -> None:
        """Make the folder, and write all that the ledger holds into it; a person's word lets in one that came by git."""
        if self.by_person:
            self.store.keep_bookmark(_consent(self.where.folder))
            self._is_welcome = None
        elif self.where.folder.exists and not self.keeps_folder:
            raise NotPermitted(f"{self.folder} came with the repository, so anybody may have filled it", hint=_SAY_SO)
        self.where.folder.make()
        with self.changing():
            pass
        self.where.folder.write_index(self.index())

    def take_in(self, folder: Folder) -> Synced:
        """Take in what another folder holds; nothing is written to that one."""
        with self.changing():
            found = folder.read(by=self.user, at=self.now())
            step = with_foreign(found.entries, self._own())
            assert self._pending is not None
            taken = self._take(step, source=str(folder.path))
            self._pending += taken.entries
        return Synced(read=len(taken.entries), problems=(*found.problems, *taken.problems))

    def give_out(self, folder: Folder) -> Synced:
        """Write all that the ledger holds into another folder, as far as it is not there."""
        folder.make()
        with self.changing(), folder.lock():
            found = folder.read(by=self.user, at=self.now())
            step = with_foreign(found.entries, self._own())
            for sort in FILES:
                folder.append(sort, [line_of(entry) for entry in step.unwritten if type(entry) is sort])
            folder.write_index(self.index())
        return Synced(written=len(step.unwritten), problems=found.problems)

    def _is_in_step(self, folder: Folder) -> bool:
        return self.store.bookmark(str(folder.path)) == folder.bookmark()

    def _meet(self, folder: Folder) -> bool:
        """Take in new lines of the own folder, and have written what is missing there; whether nothing was to be done."""
        before = folder.bookmark()
        self._size = before.size
        if self.store.bookmark(before.path) == before:
            return True
        found = folder.read(by=self.user, at=self.now())
        step = with_own(found.entries, self._own())
        taken = self._take(step, source=str(folder.path))
        assert self._pending is not None
        self._pending += step.unwritten
        problems = (*found.problems, *taken.problems)
        self.met = Synced(read=len(taken.entries), written=len(step.unwritten), problems=problems)
        return False

    def _own(self) -> dict[type[Entry], list[Record]]:
        """What belongs into this user's files, by sort."""
        return {sort: [entry for entry in self._all(sort) if entry.by == self.user] for sort in FILES}  # type: ignore[misc]

    def _take(self, step: Step, *, source: str) -> _Taken:
        """Keep what files say, each card's newest text by way of the gate; what was purged once stays away."""
        newest = {(type(entry), entry.key): entry for entry in [*step.unknown, *step.last_words]}
        taken = _Taken()
        for entry in step.unknown:
            self._accept(_of_file(entry), taken, source=source if newest[type(entry), entry.key] is entry else "")
        for entry in step.last_words:
            later = self._later(entry)
            self._accept(later if self._was_said(entry) else _of_file(later), taken, source=source)
        return taken

    def _was_said(self, entry: Record) -> bool:
        """Whether an entry repeats what was last said of it here, and not in a file."""
        said = [
            each for each in self._all(type(entry)) if each.key == entry.key and not getattr(each, "from_file", False)
        ]
        return bool(said) and meaning(said[-1]) == meaning(entry)

    def _accept(self, entry: Record, taken: _Taken, *, source: str) -> None:
        """Keep one entry of a file; one without a source is an earlier version, which the gate need not see."""
        try:
            linked = self._linked(entry, source) if isinstance(entry, Card) else entry
            self._hold(linked)
        except GateRefusal as refusal:
            taken.problems.append(f"{FILES[type(entry)]} {entry.key}: {refusal.message}; it stays in the file only")
        else:
            taken.entries.append(linked)

    def _linked(self, card: Card, source: str) -> Card:
        """A card of a file with its lesson: that of the version that said the same, or else what the gate makes of it."""
        told = [each for each in self.history(card.key) if each.version_id]
        same = [each for each in told if lesson_of(each) == lesson_of(card) and self.says(each)]
        if same:
            return self._resting(card, same[-1].version_id)
        linked = self._resting(card, told[-1].version_id if told else "")
        if not source:  # it goes when that lesson is purged, but another text's approval is not its own
            return replace(linked, version_id="", id="")
        return self.admit(linked, origin=Origin.EXTERNAL, by=FROM_FILES, source=source)

    def _later(self, entry: Record) -> Record:
        """The same once more, later than all that the ledger has of it."""
        times = [each.at for each in self._all(type(entry)) if each.key == entry.key]
        return replace(entry, at=_after(max([self.now(), *times])), id="")

    # --- people's decisions -------------------------------------------------------------------------------------

    def _decided(self) -> list[Card]:
        """Cards with the word that a person's decision on their lesson gives them, where a file or somebody says another."""
        lessons = {held.version.id: held for held in self.store.catalogue(kinds={Kind.LESSON})}
        self._lessons.update(lessons)
        found: list[Card] = []
        for card in self.cards().values():
            held = lessons.get(card.version_id)
            word = _word(held, card) if held else None
            if word is None or word is card.status:
                continue
            move = self.store.transitions(card.version_id)[-1]
            if not move.by.startswith(_OWN_NAMES):
                at = max(self.now(), _after(card.at))
                found.append(renewed(card, at=at, by=self.user, status=word, note=f"{word} by {move.by}"))
        return found


def _word(held: Stored, card: Card) -> CardStatus | None:
    if held.status in RECALLABLE:
        return card.status if card.status in _IN_USE else CardStatus.ACCEPTED
    return card.status if held.status in _WORDS and card.status in GONE else _WORDS.get(held.status)


def _after(at: datetime) -> datetime:
    """A moment later; the end of time has none after it."""
    return at + _TICK if at < datetime.max.replace(tzinfo=at.tzinfo) else at


def _of_file(entry: Record) -> Record:
    """An entry as a file says it: of a recommendation that is kept in mind."""
    return replace(entry, from_file=True, id="") if isinstance(entry, Recommendation) else entry


def _consent(folder: Folder) -> Bookmark:
    """What the store notes when a person says that a folder is to be kept in step."""
    return Bookmark(path=f"{folder.path}#kept", size=0, modified_ns=0, mark=Mark(line=1))
