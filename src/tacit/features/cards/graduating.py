"""Graduation: proven knowledge → a bundle, and on a person's word the skills, instructions and pages of the repository.

Plans under the deck's lock, records, writes, and takes back. What may graduate is `graduating_choice`'s to say, how files
change `application.graduation`'s, and who may apply or undo the surfaces'.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.config.location import FOLDER, MEMORY, StoreLocation
from tacit.domain.card import Backport, Card, CardStatus, Signal, SignalKind
from tacit.domain.errors import Mistake, NotFound, Refusal, StaleVersion
from tacit.features.cards.aha.ids import backport_id, fresh
from tacit.features.cards.aha.records import renewed
from tacit.features.cards.deck import Deck
from tacit.features.cards.graduating_choice import Chosen, choose
from tacit.features.cards.graduating_files import (
    APPLYING,
    UNDOING,
    Reverted,
    alone,
    how_far,
    put_all_back,
    recorded,
    revert,
    without_state,
    write,
)
from tacit.features.cards.graduation.bundle import MANIFEST, bundle_name, make_bundle
from tacit.features.cards.graduation.grafting import Grafted, Stamp, graft
from tacit.features.cards.graduation.inspect import inspect_target
from tacit.features.cards.graduation.markers import card_ids
from tacit.features.cards.graduation.targets import Target, TargetKind, find_target, read_files
from tacit.features.cards.graduation.text_file import fingerprint, read_text
from tacit.features.cards.signalling import made_signal
from tacit.gate.portability import Local
from tacit.maintain.promotion.source_project import source_project
from tacit.render.placing import place as put

BUNDLES = Path("exports", "backports")
_SOURCE = "tacit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants to graduate, and how far."""

    target: Path
    cards: Sequence[str] = ()
    skills: Sequence[str] = ()
    make_diff: bool = False
    apply: bool = False
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Graduated:
    """What came of it."""

    backport: Backport
    target: Target
    planned: Grafted
    bundle: Path
    warnings: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    """Backports that had been interrupted, and were taken back first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was taken back."""

    backport: Backport
    files: tuple[Reverted, ...]
    cards: tuple[str, ...] = ()
    """Cards whose status went back."""
    kept: tuple[str, ...] = ()
    """Pieces that somebody edited in the target, and that are left there."""


class Graduation:
    """The verbs of graduation over one deck."""

    def __init__(self, deck: Deck, *, exports: Path, local: Local) -> None:
        self.deck = deck
        self._root = deck.root.resolve()
        self._exports = deck.folder if deck.keeps_folder else exports
        self._local = local

    def backport(self, asked: Asked) -> Graduated:
        """Write a bundle, and with `apply` the target itself."""
        target = find_target(self._root, asked.target)
        with alone(self._exports):
            mended = self._mended(target) if asked.apply else self._unbroken(target)
            with self.deck.changing():
                done = self._planned(asked, target)
                for path, data in self._bundle(asked, done).items():
                    put(self._exports, done.bundle.relative_to(self._exports) / path, data, mode=0o644)
                self.deck.keep(done.backport)
            return replace(self._applied(done) if asked.apply else done, mended=mended)

    def undo(self, identity: str) -> Undone:
        """Take back what a backport wrote: to the byte where nobody edited it, else the marked parts."""
        with alone(self._exports):
            return self._undone(identity)

    def inspect(self, named: Path, *, backport_id: str = "", card_id: str = "") -> dict[str, Any]:
        """Tell what a target holds, what the ledger knows of it, and what is half done."""
        target = find_target(self._root, named)
        held = read_files(self._root, target)
        told = inspect_target(target, held, backport_id=backport_id, card_id=card_id)
        return {
            "target_kind": str(target.kind),
            "target_skill_path": target.path,
            "files": {"skill_md": target.main, "aha_reference": target.host},
            **told,
            "ledger": [_standing(each) for each in self._of(target)],
            "half_done": self.half_done(target),
        }

    def half_done(self, target: Target | None = None) -> list[dict[str, Any]]:
        """Backports that were interrupted, with how far each file got."""
        found = self._of(target) if target else list(self._backports().values())
        return [
            {"backport_id": each.key, "state": each.state, "files": how_far(self._root, each)}
            for each in found
            if each.state
        ]

    # --- planning -----------------------------------------------------------------------------------------------

    def _planned(self, asked: Asked, target: Target) -> Graduated:
        held = read_files(self._root, target)
        chosen = self._chosen(asked, target, held)
        ids, now = list(chosen.pieces), self.deck.now()
        identity = fresh(lambda last: backport_id(now, last, ids), self.deck.backports(), target.name)
        stamp = Stamp(backport_id=identity, generated_at=self.deck.stamp())
        pieces, written = list(chosen.pieces.values()), self._written(target)
        planned = graft(target, held, pieces, stamp=stamp, refresh=asked.refresh, written=written)
        bundle = self._exports / BUNDLES / bundle_name(target, identity)
        backport = self._recorded(target, planned, chosen, stamp=stamp, bundle=bundle)
        if asked.apply:
            how = recorded(self._root, target, planned) | {"statuses": self._statuses(chosen, planned)}
            backport = replace(backport, state=APPLYING, graft=how, id="")
        backport = replace(backport, diff_written=asked.make_diff, id="")
        warnings = (*chosen.warnings, *_left(planned, refresh=asked.refresh))
        return Graduated(backport=backport, target=target, planned=planned, bundle=bundle, warnings=warnings)

    def _recorded(self, target: Target, planned: Grafted, chosen: Chosen, *, stamp: Stamp, bundle: Path) -> Backport:
        """The record of a plan; paths in it are below the repository or below the folder of the bundles."""
        folder = bundle.relative_to(self._exports).as_posix()
        return Backport(
            key=stamp.backport_id,
            at=self.deck.now(),
            by=self.deck.user,
            sources=tuple(dict.fromkeys(chosen.versions.values())),
            ts=stamp.generated_at,
            target_skill=target.name,
            target_path=target.path,
            requested=tuple(chosen.pieces),
            added=planned.added,
            result=planned.result,
            bundle=folder,
            hashes={change.path: fingerprint(change.after) for change in planned.changes},
            extra={"skill_change": planned.skill_change, "manifest_path": f"{folder}/{MANIFEST}"},
        )

    def _chosen(self, asked: Asked, target: Target, held: Mapping[str, bytes | None]) -> Chosen:
        """The pieces that were asked for; for a refresh without ids, all of the target that are known here."""
        local = self._local if target.kind is TargetKind.SKILL else _of_the_project(self._local)
        cards, skills = asked.cards, asked.skills
        if asked.refresh and not (cards or skills):
            there = card_ids(read_text(held[target.host], path=target.host).text)
            known = self.deck.cards()
            cards = [one for one in there if one in known]
            skills = [one for one in there if one.startswith("s_") and self.deck.store.resolve(one)]
            if not (cards or skills):
                raise Mistake(f"{target.path} holds nothing that is known here", hint="name cards or skills to add")
        if not (cards or skills):
            raise Mistake("nothing was named that should graduate", hint="give --card ID or --skill NAME")
        return choose(self.deck, cards, skills, local).checked()

    def _written(self, target: Target) -> dict[str, str]:
        """The print of each block as it was last written to a target from here."""
        found: dict[str, str] = {}
        for each in self._of(target):
            blocks, kept = each.graft.get("blocks", {}), each.graft.get("kept", ())
            if each.applied or each.undone:
                found |= {one: print_ for one, print_ in blocks.items() if each.applied or one in kept}
        return found

    def _prints(self, backport: Backport) -> dict[str, set[str]]:
        """All prints of the blocks that backports ever wrote to a target from here: by them an edit is told from a refresh."""
        found: dict[str, set[str]] = {}
        for each in self.deck.store.entries(Backport):
            if each.target_path == backport.target_path:
                for one, print_ in each.graft.get("blocks", {}).items():
                    found.setdefault(one, set()).add(print_)
        return found

    def _bundle(self, asked: Asked, done: Graduated) -> dict[str, bytes]:
        stamp = Stamp(backport_id=done.backport.key, generated_at=done.backport.ts)
        return make_bundle(done.target, done.planned, done.backport.requested, stamp=stamp, with_patch=asked.make_diff)

    # --- carrying out -------------------------------------------------------------------------------------------

    def _applied(self, done: Graduated) -> Graduated:
        """Write the files of a recorded plan, and tell the ledger."""
        try:
            with self.deck.changing():
                write(self._root, done.planned, done.backport.key)
                after = without_state(done.backport, applied=True, at=self.deck.now())
                self.deck.keep(after, *self._marked(done))
        except StaleVersion:  # nothing was written, and that is recorded too
            self.deck.keep(without_state(done.backport, undone=True, at=self.deck.now()))
            raise
        return replace(done, backport=after)

    def _marked(self, done: Graduated) -> list[Card | Signal]:
        """What applying means for the cards that are written: their status and, the first time in a target, a signal."""
        cards, now = self.deck.cards(), self.deck.now()
        ts, found = self.deck.stamp(), list[Card | Signal]()
        where = f"; target_skill={done.target.name}"
        context = f"backport_id={done.backport.key}{where}"
        told = [each for each in self.deck.signals() if each.kind is SignalKind.AHA_BACKPORTED]
        for identity in (*done.planned.added, *done.planned.refreshed):
            if identity not in cards:
                continue  # a skill that is no card has no workflow
            if identity in done.planned.added and not _is_told(told, identity, where):
                kind = SignalKind.AHA_BACKPORTED
                found.append(made_signal(self.deck, kind, identity, source=_SOURCE, context=context))
            if cards[identity].status is not CardStatus.BACKPORTED:
                found.append(renewed(cards[identity], at=now, status=CardStatus.BACKPORTED, last_touched_ts=ts))
        return found

    def _undone(self, identity: str) -> Undone:
        with self.deck.changing():
            backport = self._applied_backport(identity)
            revert(
                self._root, backport, prints=self._prints(backport)
            )  # what cannot be taken back is told before anything is recorded
            self.deck.keep(replace(backport, state=UNDOING, at=self.deck.now(), id=""))
        with self.deck.changing():
            backport = self._applied_backport(identity)
            files = put_all_back(self._root, backport, prints=self._prints(backport))
            kept = tuple(one for file in files for one in file.kept)
            cards = self._cards_back(backport, kept)
            how = {**backport.graft, "kept": list(kept)} if backport.graft else {}
            after = without_state(backport, applied=False, undone=True, graft=how, at=self.deck.now())
            self.deck.keep(after, *cards)
        return Undone(backport=after, files=tuple(files), cards=tuple(card.key for card in cards), kept=kept)

    def _cards_back(self, backport: Backport, kept: Collection[str]) -> list[Card]:
        """Cards that stand again as they did before, unless their text is still there or somebody decided since."""
        others = self._backports().values()
        held = {
            one
            for each in others
            if each.key != backport.key and each.applied and not each.undone
            for one in each.added
        } | set(kept)
        cards, now, ts = self.deck.cards(), self.deck.now(), self.deck.stamp()
        return [
            renewed(cards[identity], at=now, status=CardStatus(status), last_touched_ts=ts)
            for identity, status in backport.graft.get("statuses", {}).items()
            if identity in cards and identity not in held and cards[identity].status is CardStatus.BACKPORTED
        ]

    def _statuses(self, chosen: Chosen, planned: Grafted) -> dict[str, str]:
        """How the cards that are written stood before any backport."""
        found = {}
        for identity in (*planned.added, *planned.refreshed):
            if identity in chosen.cards:
                before = (card.status for card in reversed(self.deck.history(identity)))
                words = (status for status in before if status is not CardStatus.BACKPORTED)
                found[identity] = str(next(words, CardStatus.ACCEPTED))
        return found

    def _of(self, target: Target) -> list[Backport]:
        return [each for each in self._backports().values() if each.target_path == target.path]

    def _backports(self) -> dict[str, Backport]:
        """The last version of each backport; of those that were carried out here the last that was written here.

        A line of a file can tell of a backport, but what became of one is only known to whoever carried it out.
        """
        found: dict[str, Backport] = {}
        for each in self.deck.store.entries(Backport):
            if each.graft or each.key not in found or not found[each.key].graft:
                found[each.key] = each
        return found

    def _interrupted(self, target: Target) -> list[dict[str, Any]]:
        """What is half done now; what was read before somebody else was waited for may have been finished since."""
        with self.deck.changing():
            return self.half_done(target)

    def _unbroken(self, target: Target) -> tuple[str, ...]:
        """Refuse to plan on a target that is half done."""
        for each in self._interrupted(target):
            files = "; ".join(f"{path}: {state}" for path, state in each["files"].items())
            raise Refusal(
                f"backport {each['backport_id']} of {target.path} was interrupted while {each['state']} ({files})",
                hint=f"`tacit backport --undo {each['backport_id']}` takes it back; the same command with --apply mends it",
            )
        return ()

    def _mended(self, target: Target) -> tuple[str, ...]:
        """Take back what was interrupted, so that what is applied now starts from something whole."""
        return tuple(self._undone(each["backport_id"]).backport.key for each in self._interrupted(target))

    def _applied_backport(self, identity: str) -> Backport:
        backport = self._backports().get(identity)
        if backport is None:
            raise NotFound(
                f"there is no backport {identity!r}", hint="`tacit cards backport-inspect` lists those of a target"
            )
        if backport.undone:
            raise Refusal(f"{identity} was taken back already", hint="apply it again with `tacit backport … --apply`")
        if not (backport.applied or backport.state):
            raise Refusal(
                f"{identity} was never applied from here; only its bundle was written",
                hint="if somebody applied its patch, `git apply -R` with that patch takes it back",
            )
        return backport


def open_graduation(deck: Deck, place: StoreLocation | None) -> Graduation:
    """The graduation of a deck that was brought in step; bundles go beside the store where there is no card folder."""
    deck.sync()
    beside = place.folder if place and place.database != MEMORY else deck.root / FOLDER
    return Graduation(deck, exports=beside, local=source_project(place).local)


def _is_told(signals: Sequence[Signal], identity: str, where: str) -> bool:
    """Whether a card was told to have graduated into a target before: to take it back and apply it again proves nothing."""
    return any(each.target == identity and each.context.endswith(where) for each in signals)


def _left(planned: Grafted, *, refresh: bool) -> list[str]:
    told = (
        [f"{one} was edited by hand in the target and is left as it is" for one in planned.by_hand] if refresh else []
    )
    old = [one for one in planned.stale if not refresh]
    return [*told, *([f"{', '.join(old)} changed since; --refresh writes it anew"] if old else [])]


def _of_the_project(local: Local) -> Local:
    """What must not stand in a file that stays in its project: paths of a machine and names of people, not its own files."""
    return Local(workspace=local.workspace, users=local.users)


def _standing(backport: Backport) -> dict[str, Any]:
    return {
        "backport_id": backport.key,
        "ts": backport.ts,
        "applied": backport.applied,
        "undone": backport.undone,
        "state": backport.state,
        "added_card_ids": list(backport.added),
    }
