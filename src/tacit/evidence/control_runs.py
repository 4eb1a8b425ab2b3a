"""A selection → what of it is shown and what a lot holds back as a control; and what such runs have shown since.

Off unless a person has set `policy.hold_out`. The lot falls after everything else was decided, so that a control is a run
in which the skill would have been shown. How much is held back of which skill is decided in `outcome.withholding`.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tacit.config.channels import SKILL, channels
from tacit.config.location import StoreLocation
from tacit.domain.errors import NotFound
from tacit.domain.evidence import Evidence, Use
from tacit.domain.holdout import lot
from tacit.domain.identity import content_id
from tacit.domain.ports import Store
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Item, LeftOut, Plan, Selection
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import Stored
from tacit.evidence.lift import Lift, Measure, Naming, by_key, lift, run_of
from tacit.text.capabilities import HashedContent, needed
from tacit.text.touches import field_texts

HELD_BACK = "held back as a control, by lot (policy.hold_out)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lots:
    """How lots are drawn here: the largest share that is held back, for whom, and what no lot can keep from the agent."""

    hold_out: float = 0.0
    session: str = ""
    exported: bool = False
    """Whether procedures lie in a client's folder too: a lot could not keep them from it."""
    dice: Callable[[], float] = random.random

    @classmethod
    def here(cls, hold_out: float, place: StoreLocation | None, *, session: str = "") -> Lots:
        """The lots of a place."""
        exported = hold_out > 0 and place is not None and SKILL in channels(str(place.folder)).values()
        return cls(hold_out=hold_out, session=session, exported=exported)

    def draw(self, store: Store, selection: Selection) -> Drawn:
        """Draw for each item that may be held back; what was drawn leaves the selection, which says so.

        A composite shows what its parts say: one lot is drawn for all of them, and they go or stay together.
        Whoever asks because something went wrong is in need, and gets everything.
        """
        if self.hold_out <= 0 or selection.abstained or selection.query.state.get("error"):
            return Drawn(selection=selection)
        groups = _groups(selection.items)
        shares: dict[str, float] = {}
        out: list[_Group] = []
        for group in groups:
            chance = self._chance(store, group)
            shares |= dict.fromkeys(group.drawn, chance)
            if lot(self.session, group.head.version.skill_id, chance, dice=self.dice):
                out.append(group)
        return Drawn(
            selection=_without(selection, [each for each in groups if each not in out], out) if out else selection,
            held_back=tuple(version_id for group in out for version_id in group.drawn),
            shares={key: share for key, share in shares.items() if share > 0},
        )

    def _chance(self, store: Store, group: _Group) -> float:
        """How likely it is held back; 0 where it would be seen all the same, or where a part of it is never held back."""
        if self.exported and group.head.version.content.kind is Kind.PROCEDURE:
            return 0.0
        known = store.renderings.get(group.shown)
        left_out_rows = [known[version_id].unproven if version_id in known else 0.0 for version_id in group.shown]
        return self.hold_out * left_out_rows[0] if all(left_out_rows) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """What one lot is drawn for: an item, and the parts that it shows."""

    head: Item
    shown: tuple[str, ...]
    """Itself and its parts."""
    drawn: tuple[str, ...]
    """The same without parts that another one shows as well: whether these are seen is not up to this lot."""


def _groups(items: Sequence[Item]) -> list[_Group]:
    given = {item.version_id: item for item in items}
    inside = {part.id for item in items for part in item.parts if part.id != item.version_id}
    heads = [item for item in items if item.version_id not in inside]
    shown = [(head.version_id, *_below(head, given)) for head in heads]
    times = Counter(version_id for each in shown for version_id in each)
    return [
        _Group(head=head, shown=each, drawn=tuple(version_id for version_id in each if times[version_id] == 1))
        for head, each in zip(heads, shown, strict=True)
    ]


def _below(head: Item, given: Mapping[str, Item]) -> tuple[str, ...]:
    """The parts of a composite, and theirs as far as they are given too."""
    found = {head.version_id: None}
    pending = [head]
    while pending:
        new = [part.id for part in pending.pop().parts if part.id not in found]
        found |= dict.fromkeys(new)
        pending += [given[version_id] for version_id in new if version_id in given]
    return tuple(found)[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A selection after the lot, what the lot took from it, and the chance of everything that a lot was drawn for."""

    selection: Selection
    held_back: tuple[str, ...] = ()
    shares: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def keep(self, store: Store, use: Use) -> Selection:
        """Keep what was shown as this use, and what was held back as another one beside it; tells the id of the use.

        Whoever records an outcome names one id: that of what was shown, which brings its control along (`beside`), or
        where nothing is left to show that of the control itself.
        """
        selection, shown = self.selection, self.selection.version_ids
        if not shown and not self.held_back:
            return selection
        with store.transaction():
            if shown:
                shares = tuple(self.shares.get(version_id, 0.0) for version_id in shown)
                store.add(dataclasses.replace(use, version_ids=shown, shares=shares if any(shares) else ()))
            if self.held_back:
                store.add(
                    dataclasses.replace(
                        use,
                        version_ids=self.held_back,
                        held_back=True,
                        shares=tuple(self.shares[version_id] for version_id in self.held_back),
                        id=control_id(use.id),
                    )
                )
        return dataclasses.replace(selection, use_id=use.id if shown else control_id(use.id))


def control_id(use_id: str) -> str:
    """The id of the use that tells what was held back beside another one."""
    return content_id("u", ("control beside", use_id))


def control_uses(store: Store, use: Use) -> tuple[Use, ...]:
    """What was held back where this was shown, if anything: the run tells of both."""
    try:
        return (store.use(control_id(use.id)),)
    except NotFound:
        return ()


def sessions(store: Store, rows: Iterable[Evidence]) -> Naming:
    """What a lot was drawn for: the session of a use, or the use itself where there was none."""
    known: dict[str, str] = {}
    for use_id in {row.use_id for row in rows if row.share > 0 and row.use_id}:
        try:
            known[use_id] = store.use(use_id).session_id
        except NotFound:
            continue
    return lambda row: known.get(row.use_id) or run_of(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a skill adds: its current version, all its versions together, and these by model and by scope."""

    stored: Stored
    lift: Lift
    of_all: Lift
    models: Mapping[str, Lift]
    scopes: Mapping[str, Lift]

    @property
    def was_drawn(self) -> bool:
        """Whether any run was under a lot."""
        return bool(self.of_all.shown or self.of_all.held_back)


def measure(store: Store, stored: Stored, *, model: str = "") -> Measured:
    """Compare the runs with a skill and those that a lot kept it from; of one model only, if it is named.

    A named model with few runs is pulled towards the others, as everywhere.
    """
    versions = [held.version.id for held in store.versions(stored.skill.id)]
    found = store.evidence(versions)
    rows = [row for version_id in versions for row in found[version_id]]
    own, naming = found[stored.version.id], sessions(store, rows)
    by_model = by_key(rows, lambda row: row.model, session=naming)
    if model:
        current, whole = (
            by_key(own, lambda row: row.model, session=naming).get(model, Lift()),
            by_model.get(model, Lift()),
        )
    else:
        current, whole = lift(own, session=naming), lift(rows, session=naming)
    by_scope = by_key(rows, lambda row: row.scope, session=naming)
    return Measured(stored=stored, lift=current, of_all=whole, models=by_model, scopes=by_scope)


def _without(selection: Selection, kept_groups: Iterable[_Group], out: Iterable[_Group]) -> Selection:
    """A selection less what a lot took, with all that only this would have shown; it says so."""
    gone = {each for group in out for each in group.shown} - {each for group in kept_groups for each in group.shown}
    left_out_rows = [
        LeftOut(
            version_id=i.version_id,
            name=i.name,
            code=ReasonCode.HELD_BACK,
            reason=HELD_BACK,
            score=i.score,
            signals=i.signals,
        )
        for i in selection.items
        if i.version_id in gone
    ]
    left_out_rows += [
        dataclasses.replace(each, code=ReasonCode.HELD_BACK, reason=HELD_BACK)
        for each in selection.left_out
        if each.version_id in gone
    ]
    kept = tuple(item for item in selection.items if item.version_id not in gone)
    return dataclasses.replace(
        selection,
        items=kept,
        left_out=(*left_out_rows, *(each for each in selection.left_out if each.version_id not in gone)),
        plan=_plan_without(selection.plan, gone),
        code=selection.code if kept else ReasonCode.HELD_BACK,
        reason=selection.reason if kept else f"what fits is {HELD_BACK}",  # unnamed: an agent could fetch it by name
    )


def _plan_without(plan: Plan, gone: set[str]) -> Plan:
    return dataclasses.replace(
        plan,
        chosen=tuple(each for each in plan.chosen if each.version_id not in gone),
        steps=tuple(each for each in plan.steps if each.version_id not in gone),
        strengths={key: strength for key, strength in plan.strengths.items() if key not in gone},
    )


FULLY, PARTLY, LITTLE, LEAST = 1.0, 0.75, 0.5, 0.25
"""A few levels only: runs are compared within one chance, and many chances would leave few runs in each."""

_LEVELS = ((0.2, FULLY), (0.15, PARTLY), (0.1, LITTLE))
"""Beyond this half-width of the lift's interval → how much a control would tell."""
_HARMFUL = frozenset({"deletes", "sends", "publishes", "reveals", "pays", "persists"})
_WARNING = re.compile(
    r"(?i)\b(?:never|must not|irreversibl[ey]|destructive|dangerous|danger|caution|beware|data loss|loses? data|"
    r"back ?ups? (?:first|before)|in production|outage|credentials?|secrets?|passwords?)\b"
)
"""Words of those who write to keep somebody from harm."""


def unproven(
    content: SkillContent, evidence: Iterable[Evidence], *, pinned: bool = False, session: Naming = run_of
) -> float:
    """How much a control would tell of this skill; 0: it is never held back.

    It depends on how wide the interval is and not on where it lies: shares that followed the estimate would bias it.
    """
    if pinned or is_needed(content):
        return 0.0
    known = lift(evidence, session=session, measures=(Measure.SUCCESS,)).success
    if known is None:
        return FULLY
    half = (known.high - known.low) / 2
    return next((level for width, level in _LEVELS if half > width), LEAST)


def is_needed(content: SkillContent) -> bool:
    """Whether a run without it is likely to come to harm, so that it is never held back."""
    if content.kind in (Kind.NORM, Kind.PREFERENCE) or content.signature:
        return True
    if any(_WARNING.search(text) for _, text in field_texts(content)):
        return True
    return not _HARMFUL.isdisjoint(
        {*needed(HashedContent(content, content.hash())).effects, *content.capabilities.effects}
    )
