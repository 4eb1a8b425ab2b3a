"""Graduation: proven knowledge → a bundle, and on a person's word the skills, instructions and pages of the repository.

Plans under the deck's lock, records, writes, and takes back. What may graduate is `graduating_choice`'s to say, how files
change `application.graduation`'s, and who may apply or undo the surfaces'.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.config.location import FOLDER, MEMORY
from tacit.domain.card import Backport, Card, CardStatus, Signal, SignalKind
from tacit.domain.errors import Mistake, NotFound, Refusal, StaleVersion
from tacit.features.cards.backport.bundle import MANIFEST, bundle_name, make_bundle
from tacit.features.cards.backport.edit_plan import BackportStamp, EditPlan, plan_edits
from tacit.features.cards.backport.markers import BLOCK_END, CARD_END, Markers, card_ids, header_meta, read_markers
from tacit.features.cards.backport.piece_choice import ChosenPieces, choose
from tacit.features.cards.backport.target_files import (
    APPLYING,
    UNDOING,
    RevertedFile,
    alone,
    how_far,
    put_all_back,
    recorded,
    revert,
    without_state,
    write,
)
from tacit.features.cards.backport.targets import Target, TargetKind, find_target, fingerprint, read_files, read_text
from tacit.features.cards.card_records import backport_id, renewed, unused_id
from tacit.features.cards.card_signals import new_signal
from tacit.features.cards.cards import Cards
from tacit.gate.portability import Local
from tacit.maintain.source_project import source_project
from tacit.render.safe_files import place as put

if TYPE_CHECKING:
    from tacit.api import Tacit

BUNDLES = Path("exports", "backports")
_SOURCE = "tacit"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackportRequest:
    """What somebody wants to graduate, and how far."""

    target: Path
    cards: Sequence[str] = ()
    skills: Sequence[str] = ()
    make_diff: bool = False
    apply: bool = False
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackportResult:
    """What came of it."""

    backport: Backport
    target: Target
    planned: EditPlan
    bundle: Path
    warnings: tuple[str, ...] = ()
    recovered: tuple[str, ...] = ()
    """Backports that had been interrupted, and were taken back first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """What was taken back."""

    backport: Backport
    files: tuple[RevertedFile, ...]
    cards: tuple[str, ...] = ()
    """Cards whose status went back."""
    kept: tuple[str, ...] = ()
    """Pieces that somebody edited in the target, and that are left there."""


class Graduation:
    """The verbs of graduation over one deck."""

    def __init__(self, memory: Tacit, deck: Cards | None = None) -> None:
        """Bundles go into the card folder, or next to the store where there is none."""
        self.deck = deck or Cards(memory)
        self.deck.sync()
        place = memory.context.place
        next_to_store = place.folder if place and place.database != MEMORY else self.deck.root / FOLDER
        self._root = self.deck.root.resolve()
        self._exports = self.deck.folder if self.deck.syncs_folder else next_to_store
        self._local = source_project(place).local

    def backport(self, asked: BackportRequest) -> BackportResult:
        """Write a bundle, and with `apply` the target itself."""
        target = find_target(self._root, asked.target)
        with alone(self._exports):
            recovered = self._recover(target) if asked.apply else self._unbroken(target)
            with self.deck.transaction():
                done = self._planned(asked, target)
                for path, data in self._bundle(asked, done).items():
                    put(self._exports, done.bundle.relative_to(self._exports) / path, data, mode=0o644)
                self.deck.add(done.backport)
            return replace(self._applied(done) if asked.apply else done, recovered=recovered)

    def undo(self, identity: str) -> UndoResult:
        """Take back what a backport wrote: to the byte where nobody edited it, else the marked parts."""
        with alone(self._exports):
            return self._undone(identity)

    def inspect(self, named: Path, *, backport_id: str = "", card_id: str = "") -> dict[str, Any]:
        """Tell what a target holds, what the ledger knows of it, and what is half done."""
        target = find_target(self._root, named)
        held = read_files(self._root, target)
        known = inspect_target(target, held, backport_id=backport_id, card_id=card_id)
        return {
            "target_kind": str(target.kind),
            "target_skill_path": target.path,
            "files": {"skill_md": target.main, "aha_reference": target.host},
            **known,
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

    def _planned(self, asked: BackportRequest, target: Target) -> BackportResult:
        held = read_files(self._root, target)
        chosen = self._chosen(asked, target, held)
        ids, now = list(chosen.pieces), self.deck.now()
        identity = unused_id(lambda last: backport_id(now, last, ids), self.deck.backports(), target.name)
        stamp = BackportStamp(backport_id=identity, generated_at=self.deck.timestamp())
        pieces, written = list(chosen.pieces.values()), self._written(target)
        planned = plan_edits(target, held, pieces, stamp=stamp, refresh=asked.refresh, written=written)
        bundle = self._exports / BUNDLES / bundle_name(target, identity)
        backport = self._recorded(target, planned, chosen, stamp=stamp, bundle=bundle)
        if asked.apply:
            how = recorded(self._root, target, planned) | {"statuses": self._statuses(chosen, planned)}
            backport = replace(backport, state=APPLYING, graft=how, id="")
        backport = replace(backport, diff_written=asked.make_diff, id="")
        warnings = (*chosen.warnings, *_left(planned, refresh=asked.refresh))
        return BackportResult(backport=backport, target=target, planned=planned, bundle=bundle, warnings=warnings)

    def _recorded(
        self, target: Target, planned: EditPlan, chosen: ChosenPieces, *, stamp: BackportStamp, bundle: Path
    ) -> Backport:
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

    def _chosen(self, asked: BackportRequest, target: Target, held: Mapping[str, bytes | None]) -> ChosenPieces:
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

    def _bundle(self, asked: BackportRequest, done: BackportResult) -> dict[str, bytes]:
        stamp = BackportStamp(backport_id=done.backport.key, generated_at=done.backport.ts)
        return make_bundle(done.target, done.planned, done.backport.requested, stamp=stamp, with_patch=asked.make_diff)

    # --- carrying out -------------------------------------------------------------------------------------------

    def _applied(self, done: BackportResult) -> BackportResult:
        """Write the files of a recorded plan, and tell the ledger."""
        try:
            with self.deck.transaction():
                write(self._root, done.planned, done.backport.key)
                after = without_state(done.backport, applied=True, at=self.deck.now())
                self.deck.add(after, *self._marked(done))
        except StaleVersion:  # nothing was written, and that is recorded too
            self.deck.add(without_state(done.backport, undone=True, at=self.deck.now()))
            raise
        return replace(done, backport=after)

    def _marked(self, done: BackportResult) -> list[Card | Signal]:
        """What applying means for the cards that are written: their status and, the first time in a target, a signal."""
        cards, now = self.deck.cards(), self.deck.now()
        ts, found = self.deck.timestamp(), list[Card | Signal]()
        where = f"; target_skill={done.target.name}"
        context = f"backport_id={done.backport.key}{where}"
        known = [each for each in self.deck.signals() if each.kind is SignalKind.AHA_BACKPORTED]
        for identity in (*done.planned.added, *done.planned.refreshed):
            if identity not in cards:
                continue  # a skill that is no card has no workflow
            if identity in done.planned.added and not _was_signalled(known, identity, where):
                kind = SignalKind.AHA_BACKPORTED
                found.append(new_signal(self.deck, kind, identity, source=_SOURCE, context=context))
            if cards[identity].status is not CardStatus.BACKPORTED:
                found.append(renewed(cards[identity], at=now, status=CardStatus.BACKPORTED, last_touched_ts=ts))
        return found

    def _undone(self, identity: str) -> UndoResult:
        with self.deck.transaction():
            backport = self._applied_backport(identity)
            revert(
                self._root, backport, prints=self._prints(backport)
            )  # what cannot be taken back is told before anything is recorded
            self.deck.add(replace(backport, state=UNDOING, at=self.deck.now(), id=""))
        with self.deck.transaction():
            backport = self._applied_backport(identity)
            files = put_all_back(self._root, backport, prints=self._prints(backport))
            kept = tuple(one for file in files for one in file.kept)
            cards = self._cards_back(backport, kept)
            how = {**backport.graft, "kept": list(kept)} if backport.graft else {}
            after = without_state(backport, applied=False, undone=True, graft=how, at=self.deck.now())
            self.deck.add(after, *cards)
        return UndoResult(backport=after, files=tuple(files), cards=tuple(card.key for card in cards), kept=kept)

    def _cards_back(self, backport: Backport, kept: Collection[str]) -> list[Card]:
        """Cards that stand again as they did before, unless their text is still there or somebody decided since."""
        others = self._backports().values()
        held = {
            one
            for each in others
            if each.key != backport.key and each.applied and not each.undone
            for one in each.added
        } | set(kept)
        cards, now, ts = self.deck.cards(), self.deck.now(), self.deck.timestamp()
        return [
            renewed(cards[identity], at=now, status=CardStatus(status), last_touched_ts=ts)
            for identity, status in backport.graft.get("statuses", {}).items()
            if identity in cards and identity not in held and cards[identity].status is CardStatus.BACKPORTED
        ]

    def _statuses(self, chosen: ChosenPieces, planned: EditPlan) -> dict[str, str]:
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
        with self.deck.transaction():
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

    def _recover(self, target: Target) -> tuple[str, ...]:
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


def _was_signalled(signals: Sequence[Signal], identity: str, where: str) -> bool:
    """Whether a card was told to have graduated into a target before: to take it back and apply it again proves nothing."""
    return any(each.target == identity and each.context.endswith(where) for each in signals)


def _left(planned: EditPlan, *, refresh: bool) -> list[str]:
    known = (
        [f"{one} was edited by hand in the target and is left as it is" for one in planned.by_hand] if refresh else []
    )
    old = [one for one in planned.stale if not refresh]
    return [*known, *([f"{', '.join(old)} changed since; --refresh writes it anew"] if old else [])]


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


_MARKERS = {
    "skill_start": "<!-- self-learning:backport:start id=... -->",
    "skill_end": BLOCK_END,
    "aha_start": "<!-- self-learning:aha:start id=... -->",
    "aha_end": CARD_END,
}


def inspect_target(
    target: Target, held: Mapping[str, bytes | None], *, backport_id: str = "", card_id: str = ""
) -> dict[str, Any]:
    """Tell what a target holds, by the keys of the aha-card workflow and some more."""
    main = read_text(held[target.main], path=target.main).text
    host = read_text(held[target.host], path=target.host).text
    shown, marks = read_markers(main), read_markers(host)
    ids = card_ids(host)
    by_backport: dict[str, list[str]] = {}
    for card in marks.cards:
        by_backport.setdefault(card.backport_id, []).append(card.id)
    return {
        "skill_md_markers": {
            "has_backport_start": shown.has_start,
            "has_backport_end": shown.has_end,
            "backport_ids": list(shown.backport_ids),
        },
        "aha_reference": {
            "exists": held[target.host] is not None,
            "header_meta": header_meta(host) if target.reference else {},
            "card_count": len(ids),
            "card_ids": ids,
            "legacy_ids": bool(ids) and not marks.cards,
        },
        "by_backport": by_backport,
        "requested": {"backport_id": backport_id or None, "aha_id": card_id or None},
        "found": _found(shown, by_backport, ids, backport_id, card_id),
        "hook_markers": shown.hooks + (marks.hooks if target.reference else 0),
        "problems": _problems(target, shown, marks),
        "remove_instructions": _hints(target, backport_id, card_id),
        "markers": dict(_MARKERS),
    }


def _found(
    shown: Markers, by_backport: Mapping[str, list[str]], ids: list[str], backport_id: str, card_id: str
) -> dict[str, bool]:
    """Whether what was asked for is there; of nothing asked for, nothing is told."""
    asked = {}
    if backport_id:
        asked["backport_id"] = backport_id in shown.backport_ids or backport_id in by_backport
    if card_id:
        asked["aha_id"] = card_id in ids
    return asked


def _problems(target: Target, shown: Markers, marks: Markers) -> list[str]:
    known = [f"{target.main}: {problem}" for problem in shown.problems]
    if target.reference:
        known += [f"{target.reference}: {problem}" for problem in marks.problems]
    if hooks := shown.hooks + (marks.hooks if target.reference else 0):
        known.append(f"{hooks} markers of old hooks (self-learning:hook) are there; remove them by hand")
    return known


def _hints(target: Target, backport_id: str, card_id: str) -> list[str]:
    of = f"in {target.host}"
    hints = [
        f"`tacit backport --undo {backport_id or 'BACKPORT_ID'}` takes out what Tacit applied; or revert the commit.",
        f"By hand: delete the block between the backport markers in {target.main} and the pieces {of}.",
    ]
    if backport_id:
        hints.append(f"Of {backport_id}: the pieces {of} whose opening marker says backport_id={backport_id}.")
    if card_id:
        hints.append(f"Of {card_id}: the lines {of} from the marker with id={card_id} to the next {CARD_END}.")
    return hints
