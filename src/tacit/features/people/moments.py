"""How assumptions and moments are named and put in order: plain values → entries whose keys follow from what they say. Pure.

The same statement in the same session has one key, so that saying, folding or settling it again adds nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.domain.candidate import Verdict
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.moment import Aspect, Assumption, Held, Moment, Phase
from tacit.domain.origin import lowest
from tacit.domain.ports import Store
from tacit.domain.trajectory import Trajectory
from tacit.features.people.assumptions import (
    AN_AGENT,
    Admit,
    Speaker,
    assumption_key,
    check_stated,
    clean_text,
    last_of,
    moment_key,
    settle,
)
from tacit.features.people.journal_moments import note_refusals
from tacit.learn.origin_limits import Fence

SHORTEST_KEY = 4
_REMARK_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A look at a session's assumptions on the way."""

    open: tuple[Assumption, ...]
    """Those that nothing and nobody has settled, oldest first."""
    settled: tuple[Assumption, ...] = ()
    """Those that were settled just now."""
    moment: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentList:
    """Moments in the order in which they happened, and how each assumption stands."""

    moments: tuple[Moment, ...]
    assumptions: tuple[Assumption, ...]


class Moments:
    """What was taken for granted in sessions, and what became of it."""

    def __init__(self, store: Store, admit: Admit, *, clock: Callable[[], datetime]) -> None:
        self._store, self._admit, self._now = store, admit, clock

    def assume(
        self,
        text: str,
        *,
        aspect: Aspect | str = Aspect.APPROACH,
        session: str = "",
        task: str = "",
        check: str = "",
        by: Speaker = AN_AGENT,
    ) -> Assumption:
        """State something that the work takes for granted; one that is open already is not stated twice."""
        about, said = check_stated(text, check, aspect), clean_text(text)
        key = assumption_key(session, said, about, task=task)
        with self._store.transaction():
            known = self._store.entries(Assumption, key=key)
            if known and known[-1].held is Held.OPEN:
                return known[-1]
            begun = any(moment.phase is not Phase.PROSPECTIVE for moment in self._of_session(session))
            made = Assumption(
                key=key,
                at=self._now(),
                by=by.name,
                session_id=session,
                text=said,
                aspect=about,
                phase=Phase.IN_FLIGHT if begun else Phase.PROSPECTIVE,
                check=clean_text(check),
                task=clean_text(task),
                origin=by.origin,
            )
            self._store.add_entry(made)
        return made

    def premortem(
        self,
        risks: Sequence[str],
        *,
        assumptions: Sequence[str] = (),
        session: str = "",
        task: str = "",
        by: Speaker = AN_AGENT,
    ) -> Moment:
        """Say before the work what may go wrong, and what is taken for granted; told of as one moment."""
        if not [*risks, *assumptions]:
            raise Mistake("a pre-mortem names at least one risk or assumption", hint="say what may go wrong")
        stated = [(text, Aspect.RISK) for text in risks] + [(text, Aspect.APPROACH) for text in assumptions]
        for text, aspect in stated:
            check_stated(text, "", aspect)
        with self._store.transaction():
            kept = [self.assume(text, aspect=aspect, session=session, task=task, by=by) for text, aspect in stated]
            return self._keep(
                Moment(
                    key=moment_key("pre-mortem", session, *(each.key for each in kept)),
                    at=self._now(),
                    by=by.name,
                    session_id=session,
                    phase=Phase.PROSPECTIVE,
                    what="pre-mortem",
                    text="; ".join(each.text for each in kept)[:_REMARK_MAX],
                    task=clean_text(task),
                    assumptions=tuple(each.key for each in kept),
                    origin=by.origin,
                )
            )

    def checkpoint(
        self,
        session: str,
        *,
        milestone: str = "",
        holds: Sequence[str] = (),
        wrong: Mapping[str, str] | None = None,
        by: Speaker = AN_AGENT,
    ) -> Checkpoint:
        """List what a session still takes for granted; note which of it holds, and which does not and what is the case instead.

        Assumptions are named by their keys or the beginning of one. With nothing to say it only lists.
        """
        if not session:
            raise Mistake("a checkpoint is of one session", hint="say which: the id that the client gives it")
        instead = dict(wrong or {})
        if empty := [key for key, what in instead.items() if not what.strip()]:
            raise Mistake(f"what is the case instead of {', '.join(empty)}?", hint="say it in one sentence")
        at = self._now()
        with self._store.transaction():
            known = last_of(self._store.entries(Assumption, session_id=session))
            said = [(self._meant(key, known), Held.HELD, "") for key in holds]
            said += [
                (self._meant(key, known), Held.WRONG, clean_text(what)[:_REMARK_MAX]) for key, what in instead.items()
            ]
            settled = [self._said(entry, held, what, by=by, at=at) for entry, held, what in said]
            open_then = [key for key, entry in known.items() if entry.held is Held.OPEN]
            looked = [each.key for each in settled] or open_then
            moment = self._look(session, milestone, looked, by=by, at=at) if settled or milestone else None
            left = last_of(self._store.entries(Assumption, session_id=session))
        still = tuple(each for each in left.values() if each.held is Held.OPEN)
        return Checkpoint(open=still, settled=tuple(settled), moment=moment)

    def settle(self, trajectory: Trajectory) -> Sequence[Verdict]:
        """Compare what a session took for granted with what happened in a run of it, and propose what differed."""
        fence = Fence(self._store)
        with self._store.transaction():
            return settle(
                self._store, trajectory, lambda candidate: self._admit(fence.sealed(candidate)), at=self._now()
            )

    def settled_by(self, key: str, *, held: bool, reason: str, by: Speaker) -> Assumption:
        """Keep what a person found, by running its check or by looking."""
        entry = self.find(key)
        instead = "" if held else reason
        with self._store.transaction():
            return self._said(entry, Held.HELD if held else Held.WRONG, instead, by=by, at=self._now(), reason=reason)

    def find(self, key: str) -> Assumption:
        """An assumption by its key, or the beginning of one."""
        return self._meant(key, last_of(self._store.entries(Assumption)))

    def list(self, *, session: str = "", phase: Phase | str | None = None, held: Held | str | None = None) -> MomentList:
        """Moments and assumptions, oldest first: all, or those of a session, a phase, or an outcome."""
        note_refusals(self._store)
        moments = self._of_session(session) if session else self._store.entries(Moment)
        assumptions = last_of(self._store.entries(Assumption, session_id=session)).values()
        return MomentList(
            moments=tuple(sorted((m for m in moments if phase in (None, m.phase)), key=lambda moment: moment.at))
            if held is None
            else (),
            assumptions=tuple(a for a in assumptions if held in (None, a.held) and phase in (None, a.phase)),
        )

    def _of_session(self, session: str) -> Sequence[Moment]:
        return self._store.entries(Moment, session_id=session) if session else []

    def _keep(self, moment: Moment) -> Moment:
        known = self._store.entries(Moment, key=moment.key)
        if known:
            return known[-1]
        self._store.add_entry(moment)
        return moment

    def _meant(self, key: str, known: Mapping[str, Assumption]) -> Assumption:
        found = [
            entry for name, entry in known.items() if name == key or (len(key) >= SHORTEST_KEY and name.startswith(key))
        ]
        if len(found) != 1:
            why = "is ambiguous" if found else "names no assumption here"
            raise NotFound(f"{key!r} {why}", hint="`tacit moments list` shows them with their keys")
        return found[0]

    def _said(
        self,
        entry: Assumption,
        held: Held,
        instead: str,
        *,
        by: Speaker,
        at: datetime,
        reason: str = "",
    ) -> Assumption:
        """Keep somebody's word on an assumption; from then on it is vouched for no higher than that word."""
        made = dataclasses.replace(
            entry,
            at=at,
            settled_by=by.name,
            held=held,
            instead=instead,
            reason=clean_text(reason or f"{by.name} said so at a checkpoint")[:_REMARK_MAX],
            steps=(),
            origin=lowest((entry.origin, by.origin)),
            id="",
        )
        self._store.add_entry(made)
        return made

    def _look(self, session: str, milestone: str, keys: Sequence[str], *, by: Speaker, at: datetime) -> Moment:
        return self._keep(
            Moment(
                key=moment_key("checkpoint", session, at.isoformat()),
                at=at,
                by=by.name,
                session_id=session,
                phase=Phase.IN_FLIGHT,
                what="checkpoint",
                text=clean_text(milestone)[:_REMARK_MAX],
                assumptions=tuple(keys),
                origin=by.origin,
            )
        )
