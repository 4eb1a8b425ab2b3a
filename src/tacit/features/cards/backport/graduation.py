"""Graduation: writes approved knowledge into a bundle, and if a person applies it, into skills, instructions and pages.

Plans under the lock of the cards, records, writes and undoes. `piece_choice` selects what may graduate, `edit_plan` plans the
changes of the files; who may apply or undo is decided by the surfaces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.config.location import FOLDER, MEMORY
from tacit.domain.errors import Mistake, NotFound, Refusal, StaleVersion
from tacit.features.cards.backport.bundle import MANIFEST, bundle_name, make_bundle
from tacit.features.cards.backport.edit_plan import BackportStamp, EditPlan, plan_edits
from tacit.features.cards.backport.markers import BLOCK_END, CARD_END, Markers, card_ids, header_meta, read_markers
from tacit.features.cards.backport.piece_choice import ChosenPieces, choose
from tacit.features.cards.backport.target_files import (
    APPLYING,
    UNDOING,
    RevertedFile,
    exclusive,
    file_states,
    restore_files,
    revert,
    undo_record,
    without_state,
    write,
)
from tacit.features.cards.backport.targets import Target, TargetKind, find_target, fingerprint, read_files, read_text
from tacit.features.cards.card import Backport, Card, CardStatus, Signal, SignalKind
from tacit.features.cards.card_records import backport_id, renewed, unused_id
from tacit.features.cards.card_signals import new_signal
from tacit.features.cards.cards import Cards
from tacit.maintain.portability import ProjectFacts, source_project
from tacit.render.safe_files import place as put

if TYPE_CHECKING:
    from tacit.api import Tacit

BUNDLES = Path("exports", "backports")
_SOURCE = "tacit"
_MARKERS = {
    "skill_start": "<!-- self-learning:backport:start id=... -->",
    "skill_end": BLOCK_END,
    "aha_start": "<!-- self-learning:aha:start id=... -->",
    "aha_end": CARD_END,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackportRequest:
    """What should graduate, into which target, and how far."""

    target: Path
    cards: Sequence[str] = ()
    skills: Sequence[str] = ()
    make_diff: bool = False
    apply: bool = False
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackportResult:
    """Result of a backport."""

    backport: Backport
    target: Target
    planned: EditPlan
    bundle: Path
    warnings: tuple[str, ...] = ()
    recovered: tuple[str, ...] = ()
    """Interrupted backports that were undone first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """Result of undoing a backport."""

    backport: Backport
    files: tuple[RevertedFile, ...]
    cards: tuple[str, ...] = ()
    """Cards whose status was restored."""
    kept: tuple[str, ...] = ()
    """Pieces that somebody edited in the target, and that stay there."""


class Graduation:
    """Backports of cards and skills."""

    def __init__(self, memory: Tacit, deck: Cards | None = None) -> None:
        """Bundles go into the card folder, or next to the store where there is none."""
        self.deck = deck or Cards(memory)
        self.deck.sync()
        place = memory.context.place
        next_to_store = place.folder if place and place.database != MEMORY else self.deck.root / FOLDER
        self._root = self.deck.root.resolve()
        self._exports = self.deck.folder if self.deck.syncs_folder else next_to_store
        self._local = source_project(place).local

    def backport(self, request: BackportRequest) -> BackportResult:
        """Write a bundle, and with `apply` the target itself."""
        target = find_target(self._root, request.target)
        with exclusive(self._exports):
            with self.deck.transaction():  # read again after waiting for the lock
                interrupted = self.half_done(target)
            if interrupted and not request.apply:
                raise _interruption(target, interrupted[0])
            # so that it starts from complete files
            recovered = tuple(self._undo(each["backport_id"]).backport.key for each in interrupted)
            with self.deck.transaction():
                done = self._plan(request, target)
                stamp = BackportStamp(backport_id=done.backport.key, generated_at=done.backport.ts)
                requested = done.backport.requested
                files = make_bundle(target, done.planned, requested, stamp=stamp, with_patch=request.make_diff)
                for path, data in files.items():
                    put(self._exports, done.bundle.relative_to(self._exports) / path, data, mode=0o644)
                self.deck.add(done.backport)
            return replace(self._apply(done) if request.apply else done, recovered=recovered)

    def undo(self, identity: str) -> UndoResult:
        """Undo a backport: to the byte where nobody edited the files, else by their markers."""
        with exclusive(self._exports):
            return self._undo(identity)

    def inspect(self, named: Path, *, backport_id: str = "", card_id: str = "") -> dict[str, Any]:
        """Return what a target holds, what the ledger knows of it, and what is half done."""
        target = find_target(self._root, named)
        found = inspect_target(target, read_files(self._root, target), backport_id=backport_id, card_id=card_id)
        return {
            "target_kind": str(target.kind),
            "target_skill_path": target.path,
            "files": {"skill_md": target.main, "aha_reference": target.host},
            **found,
            "ledger": [
                {"backport_id": each.key, "added_card_ids": list(each.added)}
                | {name: getattr(each, name) for name in ("ts", "applied", "undone", "state")}
                for each in self._backports_of(target)
            ],
            "half_done": self.half_done(target),
        }

    def half_done(self, target: Target | None = None) -> list[dict[str, Any]]:
        """Return interrupted backports, with the state of each file."""
        found = self._backports_of(target) if target else list(self._backports().values())
        return [
            {"backport_id": each.key, "state": each.state, "files": file_states(self._root, each)}
            for each in found
            if each.state
        ]

    # --- planning -----------------------------------------------------------------------------------------------

    def _plan(self, request: BackportRequest, target: Target) -> BackportResult:
        held = read_files(self._root, target)
        chosen = self._choose(request, target, held)
        ids, now = list(chosen.pieces), self.deck.now()
        identity = unused_id(lambda last: backport_id(now, last, ids), self.deck.backports(), target.name)
        stamp = BackportStamp(backport_id=identity, generated_at=self.deck.timestamp())
        pieces, written = list(chosen.pieces.values()), self._last_prints(target)
        planned = plan_edits(target, held, pieces, stamp=stamp, refresh=request.refresh, written=written)
        bundle = self._exports / BUNDLES / bundle_name(target, identity)
        backport = self._new_backport(target, planned, chosen, stamp=stamp, bundle=bundle)
        if request.apply:
            record = undo_record(self._root, target, planned) | {"statuses": self._statuses_before(chosen, planned)}
            backport = replace(backport, state=APPLYING, graft=record, id="")
        backport = replace(backport, diff_written=request.make_diff, id="")
        warnings = (*chosen.warnings, *_not_updated(planned, refresh=request.refresh))
        return BackportResult(backport=backport, target=target, planned=planned, bundle=bundle, warnings=warnings)

    def _new_backport(
        self, target: Target, planned: EditPlan, chosen: ChosenPieces, *, stamp: BackportStamp, bundle: Path
    ) -> Backport:
        """Return the record of a plan; its paths are relative to the repository or to the folder of bundles."""
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

    def _choose(self, request: BackportRequest, target: Target, held: Mapping[str, bytes | None]) -> ChosenPieces:
        """Return the pieces that were requested; for a refresh without ids, all of the target that are known here."""
        local = self._local
        if target.kind is not TargetKind.SKILL:  # it may name the project's own files, but no machine and no people
            local = ProjectFacts(workspace=local.workspace, users=local.users)
        cards, skills = request.cards, request.skills
        if request.refresh and not (cards or skills):
            there = card_ids(read_text(held[target.host], path=target.host).text)
            known = self.deck.cards()
            cards = [one for one in there if one in known]
            skills = [one for one in there if one.startswith("s_") and self.deck.store.resolve(one)]
            if not (cards or skills):
                message = f"{target.path} holds nothing that is known here"
                raise Mistake(message, code="nothing_to_refresh", hint="name cards or skills to add")
        if not (cards or skills):
            raise Mistake("no card or skill was named", code="no_pieces", hint="give --card ID or --skill NAME")
        return choose(self.deck, cards, skills, local).checked()

    def _last_prints(self, target: Target) -> dict[str, str]:
        """Return the print of each block as it was last written to a target from here."""
        found: dict[str, str] = {}
        for each in self._backports_of(target):
            blocks, kept = each.graft.get("blocks", {}), each.graft.get("kept", ())
            if each.applied or each.undone:
                found |= {one: print_ for one, print_ in blocks.items() if each.applied or one in kept}
        return found

    def _all_prints(self, backport: Backport) -> dict[str, set[str]]:
        """Return all prints of blocks that backports wrote to a target from here: others are edits of somebody."""
        found: dict[str, set[str]] = {}
        for each in self.deck.store.entries(Backport):
            if each.target_path == backport.target_path:
                for one, print_ in each.graft.get("blocks", {}).items():
                    found.setdefault(one, set()).add(print_)
        return found

    # --- applying and undoing -----------------------------------------------------------------------------------

    def _apply(self, done: BackportResult) -> BackportResult:
        """Write the files of a recorded plan, and complete the record."""
        try:
            with self.deck.transaction():
                write(self._root, done.planned)
                after = without_state(done.backport, applied=True, at=self.deck.now())
                self.deck.add(after, *self._card_updates(done))
        except StaleVersion:  # nothing was written, and that is recorded too
            self.deck.add(without_state(done.backport, undone=True, at=self.deck.now()))
            raise
        return replace(done, backport=after)

    def _card_updates(self, done: BackportResult) -> list[Card | Signal]:
        """Return new versions of the written cards and, the first time in a target, a signal for each."""
        cards, now = self.deck.cards(), self.deck.now()
        ts, found = self.deck.timestamp(), list[Card | Signal]()
        suffix = f"; target_skill={done.target.name}"
        context = f"backport_id={done.backport.key}{suffix}"
        signals = [each for each in self.deck.signals() if each.kind is SignalKind.AHA_BACKPORTED]
        for identity in (*done.planned.added, *done.planned.refreshed):
            if identity not in cards:
                continue  # a skill that is no card
            # applying it to the same target again proves nothing
            is_known = any(each.target == identity and each.context.endswith(suffix) for each in signals)
            if identity in done.planned.added and not is_known:
                kind = SignalKind.AHA_BACKPORTED
                found.append(new_signal(self.deck, kind, identity, source=_SOURCE, context=context))
            if cards[identity].status is not CardStatus.BACKPORTED:
                found.append(renewed(cards[identity], at=now, status=CardStatus.BACKPORTED, last_touched_ts=ts))
        return found

    def _undo(self, identity: str) -> UndoResult:
        with self.deck.transaction():
            backport = self._applied_backport(identity)
            # Raises what cannot be undone before anything is recorded.
            revert(self._root, backport, prints=self._all_prints(backport))
            self.deck.add(replace(backport, state=UNDOING, at=self.deck.now(), id=""))
        with self.deck.transaction():
            backport = self._applied_backport(identity)
            files = restore_files(self._root, backport, prints=self._all_prints(backport))
            kept = tuple(one for file in files for one in file.kept)
            cards = self._restored_cards(backport, kept)
            record = {**backport.graft, "kept": list(kept)} if backport.graft else {}
            after = without_state(backport, applied=False, undone=True, graft=record, at=self.deck.now())
            self.deck.add(after, *cards)
        return UndoResult(backport=after, files=tuple(files), cards=tuple(card.key for card in cards), kept=kept)

    def _restored_cards(self, backport: Backport, kept: Collection[str]) -> list[Card]:
        """Return cards with their earlier status, unless their text is still somewhere or their status changed since."""
        others = [each for each in self._backports().values() if each.key != backport.key]
        held = {one for each in others if each.applied and not each.undone for one in each.added} | set(kept)
        cards, now, ts = self.deck.cards(), self.deck.now(), self.deck.timestamp()
        return [
            renewed(cards[identity], at=now, status=CardStatus(status), last_touched_ts=ts)
            for identity, status in backport.graft.get("statuses", {}).items()
            if identity in cards and identity not in held and cards[identity].status is CardStatus.BACKPORTED
        ]

    def _statuses_before(self, chosen: ChosenPieces, planned: EditPlan) -> dict[str, str]:
        """Return the status of each written card before any backport."""
        found = {}
        for identity in (*planned.added, *planned.refreshed):
            if identity in chosen.cards:
                before = (card.status for card in reversed(self.deck.history(identity)))
                others = (status for status in before if status is not CardStatus.BACKPORTED)
                found[identity] = str(next(others, CardStatus.ACCEPTED))
        return found

    def _backports_of(self, target: Target) -> list[Backport]:
        return [each for each in self._backports().values() if each.target_path == target.path]

    def _backports(self) -> dict[str, Backport]:
        """Return the last version of each backport; of those applied here the last one written here.

        A line of a file can mention a backport, but only the place that applied it knows its outcome.
        """
        found: dict[str, Backport] = {}
        for each in self.deck.store.entries(Backport):
            if each.graft or each.key not in found or not found[each.key].graft:
                found[each.key] = each
        return found

    def _applied_backport(self, identity: str) -> Backport:
        backport = self._backports().get(identity)
        if backport is None:
            hint = "`tacit cards backport-inspect` lists those of a target"
            raise NotFound(f"there is no backport {identity!r}", code="unknown_backport", hint=hint)
        if backport.undone:
            hint = "apply it again with `tacit cards backport … --apply`"
            raise Refusal(f"{identity} was undone already", code="already_undone", hint=hint)
        if not (backport.applied or backport.state):
            message = f"{identity} was never applied from here; only its bundle was written"
            hint = "if somebody applied its patch, `git apply -R` with that patch undoes it"
            raise Refusal(message, code="never_applied", hint=hint)
        return backport


def _interruption(target: Target, found: Mapping[str, Any]) -> Refusal:
    """Return the refusal to plan on a target that is half done."""
    identity = found["backport_id"]
    files = "; ".join(f"{path}: {state}" for path, state in found["files"].items())
    message = f"backport {identity} of {target.path} was interrupted while {found['state']} ({files})"
    hint = f"`tacit cards backport --undo {identity}` undoes it; the same command with --apply repairs it"
    return Refusal(message, code="backport_interrupted", hint=hint)


def _not_updated(planned: EditPlan, *, refresh: bool) -> list[str]:
    edited = [f"{one} was edited by hand in the target and stays as it is" for one in planned.by_hand if refresh]
    stale = [] if refresh else list(planned.stale)
    return [*edited, *([f"{', '.join(stale)} changed since; --refresh updates it"] if stale else [])]


# --- inspecting a target ------------------------------------------------------------------------------------------


def inspect_target(
    target: Target, held: Mapping[str, bytes | None], *, backport_id: str = "", card_id: str = ""
) -> dict[str, Any]:
    """Return what a target holds by its markers, with the keys of the original tool and some more."""
    main = read_text(held[target.main], path=target.main).text
    host = read_text(held[target.host], path=target.host).text
    shown, marks = read_markers(main), read_markers(host)
    ids = card_ids(host)
    by_backport: dict[str, list[str]] = {}
    for card in marks.cards:
        by_backport.setdefault(card.backport_id, []).append(card.id)
    found = {"backport_id": backport_id in shown.backport_ids or backport_id in by_backport} if backport_id else {}
    found |= {"aha_id": card_id in ids} if card_id else {}
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
        "found": found,
        "hook_markers": shown.hooks + (marks.hooks if target.reference else 0),
        "problems": _marker_problems(target, shown, marks),
        "remove_instructions": _removal_hints(target, backport_id, card_id),
        "markers": dict(_MARKERS),
    }


def _marker_problems(target: Target, shown: Markers, marks: Markers) -> list[str]:
    problems = [f"{target.main}: {problem}" for problem in shown.problems]
    if target.reference:
        problems += [f"{target.reference}: {problem}" for problem in marks.problems]
    if hooks := shown.hooks + (marks.hooks if target.reference else 0):
        problems.append(f"{hooks} markers of old hooks (self-learning:hook) are there; remove them by hand")
    return problems


def _removal_hints(target: Target, backport_id: str, card_id: str) -> list[str]:
    where = f"in {target.host}"
    hints = [
        f"`tacit cards backport --undo {backport_id or 'BACKPORT_ID'}` removes what Tacit applied; or revert the commit.",
        f"By hand: delete the block between the backport markers in {target.main} and the pieces {where}.",
    ]
    if backport_id:
        hints.append(f"Of {backport_id}: the pieces {where} whose opening marker says backport_id={backport_id}.")
    if card_id:
        hints.append(f"Of {card_id}: the lines {where} from the marker with id={card_id} to the next {CARD_END}.")
    return hints
