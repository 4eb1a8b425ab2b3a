"""Control runs: hold selected skills out of some runs at random, and compare these runs with the others.

Off unless a person has set `policy.hold_out`. The random draw comes after everything else was decided, so a control is
a run in which the skill would have been shown. `unproven` decides how often a skill is held out.
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
from tacit.domain.holdout import is_held_back
from tacit.domain.identity import content_id
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Item, LeftOut, Plan, Selection
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.evidence.lift import Lift, Measure, RunKey, by_key, lift, run_of
from tacit.store import Store
from tacit.text.capabilities import HashedContent, needed_capabilities
from tacit.text.resource_uses import field_texts

HELD_BACK = "held back at random as a control (policy.hold_out)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlDraw:
    """How skills are held out here: the largest share, for which session, and which skills cannot be held out."""

    hold_out: float = 0.0
    session: str = ""
    exported: bool = False
    """Whether procedures are also exported to a client's folder, where the agent sees them anyway."""
    random_number: Callable[[], float] = random.random

    @classmethod
    def here(cls, hold_out: float, place: StoreLocation | None, *, session: str = "") -> ControlDraw:
        """Return the draw for the store at a location."""
        exported = hold_out > 0 and place is not None and SKILL in channels(str(place.folder)).values()
        return cls(hold_out=hold_out, session=session, exported=exported)

    def draw(self, store: Store, selection: Selection) -> DrawnSelection:
        """Draw for each item that may be held out; those that are drawn leave the selection, with a reason code.

        A composite contains its parts: one draw decides for all of them. A query about an error gets everything.
        """
        if self.hold_out <= 0 or selection.abstained or selection.query.state.get("error"):
            return DrawnSelection(selection=selection)
        groups = _groups(selection.items)
        shares: dict[str, float] = {}
        out: list[_DrawGroup] = []
        for group in groups:
            chance = self._chance(store, group)
            shares |= dict.fromkeys(group.drawn, chance)
            if is_held_back(self.session, group.root.version.skill_id, chance, random_number=self.random_number):
                out.append(group)
        return DrawnSelection(
            selection=_without(selection, [each for each in groups if each not in out], out) if out else selection,
            held_back=tuple(version_id for group in out for version_id in group.drawn),
            shares={key: share for key, share in shares.items() if share > 0},
        )

    def _chance(self, store: Store, group: _DrawGroup) -> float:
        """The chance of being held out; 0 where it is seen anyway, or where a part of it is never held out."""
        if self.exported and group.root.version.content.kind is Kind.PROCEDURE:
            return 0.0
        known = store.renderings.get(group.shown)
        unproven = [known[version_id].unproven if version_id in known else 0.0 for version_id in group.shown]
        return self.hold_out * unproven[0] if all(unproven) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _DrawGroup:
    """What one draw decides: an item and the parts that it shows."""

    root: Item
    shown: tuple[str, ...]
    """Itself and its parts."""
    drawn: tuple[str, ...]
    """The same without parts that another item shows as well, since this draw does not decide on those."""


def _groups(items: Sequence[Item]) -> list[_DrawGroup]:
    given = {item.version_id: item for item in items}
    inside = {part.id for item in items for part in item.parts if part.id != item.version_id}
    roots = [item for item in items if item.version_id not in inside]
    shown = [(root.version_id, *_all_parts(root, given)) for root in roots]
    times = Counter(version_id for each in shown for version_id in each)
    return [
        _DrawGroup(root=root, shown=each, drawn=tuple(version_id for version_id in each if times[version_id] == 1))
        for root, each in zip(roots, shown, strict=True)
    ]


def _all_parts(root: Item, given: Mapping[str, Item]) -> tuple[str, ...]:
    """The parts of a composite, and their parts as far as these are selected too."""
    found = {root.version_id: None}
    pending = [root]
    while pending:
        new = [part.id for part in pending.pop().parts if part.id not in found]
        found |= dict.fromkeys(new)
        pending += [given[version_id] for version_id in new if version_id in given]
    return tuple(found)[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSelection:
    """A selection after the draw, what was held out, and the chance that each drawn version had."""

    selection: Selection
    held_back: tuple[str, ...] = ()
    shares: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def store_uses(self, store: Store, use: Use) -> Selection:
        """Store the shown versions as this use and the held-out ones as a second use; return the selection with the use id.

        An outcome is recorded for one id: that of the shown use, which leads to its control (`control_uses`), or that
        of the control itself where nothing was shown.
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
    """Return the id of the control use that belongs to a use."""
    return content_id("u", ("control beside", use_id))


def control_uses(store: Store, use: Use) -> tuple[Use, ...]:
    """Return the control use that was drawn together with a use, if there is one: the run is evidence on both."""
    try:
        return (store.use(control_id(use.id)),)
    except NotFound:
        return ()


def sessions(store: Store, rows: Iterable[Evidence]) -> RunKey:
    """Return a function that names what a draw was made for: the session of a use, or the use itself without one."""
    known: dict[str, str] = {}
    for use_id in {row.use_id for row in rows if row.share > 0 and row.use_id}:
        try:
            known[use_id] = store.use(use_id).session_id
        except NotFound:
            continue
    return lambda row: known.get(row.use_id) or run_of(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLift:
    """The lift of a skill: of its current version, of all versions together, and of these by model and by scope."""

    stored: StoredVersion
    lift: Lift
    of_all: Lift
    models: Mapping[str, Lift]
    scopes: Mapping[str, Lift]

    @property
    def was_drawn(self) -> bool:
        """Whether any run took part in a draw."""
        return bool(self.of_all.shown or self.of_all.held_back)


def measure(store: Store, stored: StoredVersion, *, model: str = "") -> MeasuredLift:
    """Compare the runs with a skill and its control runs; of one model only, if it is named.

    The estimate of a model with few runs is shrunk towards the others.
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
    return MeasuredLift(stored=stored, lift=current, of_all=whole, models=by_model, scopes=by_scope)


def _without(selection: Selection, kept_groups: Iterable[_DrawGroup], out: Iterable[_DrawGroup]) -> Selection:
    """The selection without the held-out groups, which are listed as left out."""
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
"""Only a few levels, because runs are compared within one chance, and many chances would leave few runs in each."""

_LEVELS = ((0.2, FULLY), (0.15, PARTLY), (0.1, LITTLE))
"""Half-width of the lift's interval above which a level applies."""
_HARMFUL = frozenset({"deletes", "sends", "publishes", "reveals", "pays", "persists"})
_WARNING = re.compile(
    r"(?i)\b(?:never|must not|irreversibl[ey]|destructive|dangerous|danger|caution|beware|data loss|loses? data|"
    r"back ?ups? (?:first|before)|in production|outage|credentials?|secrets?|passwords?)\b"
)
"""Words of texts that warn of harm."""


def unproven(
    content: SkillContent, evidence: Iterable[Evidence], *, pinned: bool = False, session: RunKey = run_of
) -> float:
    """Return how much control runs would add to what is known of a skill; 0 means it is never held out.

    It depends on the width of the interval, not on its position: shares that followed the estimate would bias it.
    """
    if pinned or is_needed(content):
        return 0.0
    known = lift(evidence, session=session, measures=(Measure.SUCCESS,)).success
    if known is None:
        return FULLY
    half = (known.high - known.low) / 2
    return next((level for width, level in _LEVELS if half > width), LEAST)


def is_needed(content: SkillContent) -> bool:
    """Whether a run without it may cause harm, so that it is never held out."""
    if content.kind in (Kind.NORM, Kind.PREFERENCE) or content.signature:
        return True
    if any(_WARNING.search(text) for _, text in field_texts(content)):
        return True
    return not _HARMFUL.isdisjoint(
        {*needed_capabilities(HashedContent(content, content.hash())).effects, *content.capabilities.effects}
    )
