"""A memory and the person's own store: which version is meant, where it goes, and what the two tell each other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

from tacit.config.place import Place
from tacit.config.settings import Config
from tacit.config.whereabouts import MEMORY
from tacit.domain.errors import GateRefusal, Mistake, StoreOutage
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.model import Embedder, LanguageModel
from tacit.domain.ports import Store, Stored
from tacit.domain.remark import About, noted
from tacit.domain.scope import Level, Scope
from tacit.gate.portability import suggest
from tacit.maintain.promotion.meaning import Sameness, by_model, by_rules
from tacit.maintain.promotion.mirroring import Adopted, adopt, spoken_of_by_several
from tacit.maintain.promotion.moving import (
    AT_HOME,
    BY_ITSELF,
    NOMINATED,
    Ask,
    Memory,
    Promoted,
    Prospect,
    nominate,
    note,
    promote,
    prospects,
    require_way,
)
from tacit.maintain.promotion.objecting import Weighed, weighed
from tacit.maintain.promotion.whence import home_database, home_store, whence
from tacit.store import queries as shelf

REFUSED = "refused"
_LOG = logging.getLogger(__name__)

M = TypeVar("M", bound=Memory)
Beside = Callable[[Store, Scope], M]
"""Makes the side that something moves to."""


class Here(Protocol):
    """The memory that something moves from."""

    store: Store
    config: Config
    scope: Scope
    place: Place | None

    @property
    def embedder(self) -> Embedder | None:
        """What finds skills by meaning."""


def asked(
    here: Here,
    *,
    at: datetime,
    by: str = "",
    ticked: Collection[str] | None = None,
    model: LanguageModel | None = None,
) -> Ask:
    """What the gates go by here: sameness by this embedder, rules and the model as judges; with a name a person decides."""
    came = whence(here.place)
    return Ask(
        by=by or BY_ITSELF,
        at=at,
        whence=came,
        same=Sameness(here.embedder, here.config.policy),
        person=bool(by),
        ticked=ticked,
        judges=(by_rules(came.local), *([by_model(model)] if model else [])),
    )


def move_up(
    here: Here, beside: Beside[Memory], reference: str, to: Scope | str, ask: Ask, *, rewrite: bool = False
) -> Promoted:
    """Move the version that is meant up to a scope, or else one rung up; with `rewrite` what is local in it as placeholders."""
    wanted = Scope.parse(to) if isinstance(to, str) and to else to or None
    stored = meant(here.store, reference, to=wanted)
    scope = _target(here, stored, wanted)
    ask = replace(ask, content=suggest(stored.version.content, ask.whence.local)) if rewrite else ask
    if ask.person:
        require_way(here.store, None, stored, ask, scope=scope)  # before a store is made for it
    with _side(here, scope) as store:
        return promote(here.store, beside(store, scope), stored, ask)


def weigh(here: Here, reference: str, to: Scope | None, ask: Ask, *, rewrite: bool = False) -> Weighed:
    """What would move, where to, and what speaks against it; raises `GateRefusal` where a gate is closed to it anyway."""
    stored = meant(here.store, reference, to=to)
    scope, local = _target(here, stored, to), ask.whence.local
    content = suggest(stored.version.content, local) if rewrite else stored.version.content
    require_way(here.store, None, stored, replace(ask, content=content), scope=scope)
    return weighed(here.store, stored, content, scope=scope, local=local)


def could_move(here: Here, ask: Ask) -> list[Prospect]:
    """What could move up from here, with what the next gate has and still asks for."""
    with home_store(here.place) as home:
        return prospects(here.store, home, ask)


def left_at_home(here: Here) -> list[Stored]:
    """What home still keeps although it was purged here: the same text, or what was promoted from it."""
    buried = {stone.id for stone in here.store.tombstones()}
    with home_store(here.place) as home:
        kept = home.catalogue() if home and buried else []
    return [held for held in kept if buried & {held.version.id, held.version.hash, *held.version.parents}]


def meet(here: Here, beside: Beside[M], ask: Ask, *, settle: Callable[[M, Collection[str]], object]) -> Adopted:
    """Bring this store in step with home, hand over what was nominated since, and let home settle what it was told.

    Only a project's own store meets home: one that somebody named by hand stands for itself. What is learned here does not
    wait for another store: where that cannot be opened, nothing comes.
    """
    place = here.place
    if place is None or place.database == MEMORY or not place.is_projects_own:
        return Adopted()
    met = Adopted()
    try:
        with home_store(place, create=bool(_nominated(here.store, Level.ORGANISATION))) as store:
            if store is not None:
                home = beside(store, Scope(Level.ORGANISATION))
                told_as = Scope(Level.PROJECT, here.scope.key or ask.whence.project)
                met = adopt(here.store, store, policy=here.config.policy, scope=told_as, at=ask.at)
                _hand_over(here, home, ask)
                if told := spoken_of_by_several(store, met.told):
                    settle(home, told)
    except StoreOutage as fault:
        _LOG.warning("nothing was brought from home: %s", fault.message)
    return met


def meant(store: Store, reference: str, *, to: Scope | None = None) -> Stored:
    """The version that a name means: of the scopes below the one it goes to the nearest; without that the narrowest."""
    named = [held for held in store.catalogue(name=reference) if held.status is not Status.REJECTED]
    below = [held for held in named if to is None or held.skill.scope.level.breadth < to.level.breadth]
    if not below:
        return shelf.find(store, reference)
    below = [held for held in below if held.status in RECALLABLE] or below
    levels = [held.skill.scope.level.breadth for held in below]
    level = max(levels) if to is not None else min(levels)
    return shelf.newest_recallable([held for held in below if held.skill.scope.level.breadth == level])


def _hand_over(here: Here, home: Memory, ask: Ask) -> None:
    """Put before home what was nominated here, once; what home turns away is noted, and not tried again."""
    for skill_id in _nominated(here.store, home.scope.level):
        stored = shelf.newest_recallable(here.store.versions(skill_id))
        try:
            nominate(here.store, home, stored, replace(ask, by=BY_ITSELF))
        except GateRefusal as refusal:
            _LOG.info("%s was not taken at home: %s", stored.version.id, refusal.message)
            here.store.add_remark(note(skill_id, "", ask, step=REFUSED, to=home.scope.level))


def _nominated(store: Store, to: Level) -> list[str]:
    """Skills that were nominated for a level, and on which nobody has answered since."""
    waiting: dict[str, None] = {}
    for remark in store.remarks(about=About.PROMOTION):
        said = noted(remark)
        if said.get("to") != str(to):
            continue
        if said.get("step") == NOMINATED:
            waiting[remark.subject] = None
        else:
            waiting.pop(remark.subject, None)
    return list(waiting)


def _target(here: Here, stored: Stored, to: Scope | None) -> Scope:
    level = stored.skill.scope.level
    if to is None:
        above = next((each for each in Level if each.breadth == level.breadth + 1), None)
        if above is None:
            raise Mistake(f"`{stored.version.name}` is global already", hint="there is nothing broader")
        to = Scope(above)
    if to.level is Level.PROJECT:
        return here.scope
    if to.level is Level.SESSION and not to.key:
        return Scope(Level.SESSION, stored.skill.scope.key.partition("/")[0])
    return to


@contextmanager
def _side(here: Here, scope: Scope) -> Iterator[Store]:
    """The store that keeps a scope: this one, or the person's own, which is made where there is none."""
    if scope.level in AT_HOME and (here.place is None or here.place.home is None):
        raise Mistake("this memory has no home to promote to", hint="open it with `tacit.open()`")
    if scope.level not in AT_HOME or home_database(here.place) is None:
        yield here.store
        return
    with home_store(here.place, create=True) as home:
        assert home is not None
        yield home
