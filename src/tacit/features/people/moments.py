"""Assumptions of sessions, stated by agents and people: `assume`, `premortem`, `checkpoint`, `settle` and `list`.

Statements are stored with secrets redacted. A check command is only stored here; running it belongs to a surface. What an
agent says about its own assumptions is stored as its word, and the run itself outweighs it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tacit.domain.candidate import Verdict
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.trajectory import Trajectory, lowest
from tacit.features.people.journal_moments import note_refusals
from tacit.features.people.ledger_entries import Aspect, Assumption, Held, Moment, Phase
from tacit.features.people.session_assumptions import (
    AN_AGENT,
    Speaker,
    assumption_key,
    check_stated,
    clean_text,
    last_of,
    moment_key,
    settle,
)

if TYPE_CHECKING:
    from tacit.api import Tacit

MIN_KEY_LENGTH = 4
_REMARK_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state of a session's assumptions at a milestone."""

    open: tuple[Assumption, ...]
    """Assumptions that are still open, oldest first."""
    settled: tuple[Assumption, ...] = ()
    """Assumptions that this checkpoint settled."""
    moment: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentList:
    """Moments in the order in which they happened, and the latest version of each assumption."""

    moments: tuple[Moment, ...]
    assumptions: tuple[Assumption, ...]


class Moments:
    """The assumptions and learning moments of all sessions."""

    def __init__(self, memory: Tacit) -> None:
        self._store, self._admit, self._now = memory.context.store, memory.admit, memory.context.now

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
        """Store an assumption; one that is open already is returned as it is."""
        about, statement = check_stated(text, check, aspect), clean_text(text)
        key = assumption_key(session, statement, about, task=task)
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
                text=statement,
                aspect=about,
                phase=Phase.IN_FLIGHT if begun else Phase.PROSPECTIVE,
                check=clean_text(check),
                task=clean_text(task),
                origin=by.origin,
            )
            self._store.add(made)
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
        """Store what may go wrong, and what is assumed, before the work starts; together they are one moment."""
        if not [*risks, *assumptions]:
            raise Mistake(
                "a pre-mortem needs at least one risk or assumption",
                code="empty_premortem",
                hint="say what may go wrong",
            )
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
        """List the open assumptions of a session; store which of them hold, and which are wrong and what is true instead.

        Assumptions are named by their keys or the beginning of one. Without anything to store it only lists.
        """
        if not session:
            raise Mistake(
                "a checkpoint needs a session", code="no_session", hint="give the id that the client uses for it"
            )
        instead = dict(wrong or {})
        if empty := [key for key, what in instead.items() if not what.strip()]:
            message = f"what is true instead of {', '.join(empty)}?"
            raise Mistake(message, code="no_correction", hint="say it in one sentence")
        at = self._now()
        with self._store.transaction():
            known = last_of(self._store.entries(Assumption, session_id=session))
            outcomes = [(self._resolve(key, known), Held.HELD, "") for key in holds]
            outcomes += [
                (self._resolve(key, known), Held.WRONG, clean_text(what)[:_REMARK_MAX]) for key, what in instead.items()
            ]
            settled = [self._settle_by(entry, held, what, by=by, at=at) for entry, held, what in outcomes]
            open_then = [key for key, entry in known.items() if entry.held is Held.OPEN]
            looked = [each.key for each in settled] or open_then
            moment = self._add_checkpoint(session, milestone, looked, by=by, at=at) if settled or milestone else None
            left = last_of(self._store.entries(Assumption, session_id=session))
        still = tuple(each for each in left.values() if each.held is Held.OPEN)
        return Checkpoint(open=still, settled=tuple(settled), moment=moment)

    def settle(self, trajectory: Trajectory) -> Sequence[Verdict]:
        """Compare the assumptions of a session with one of its runs, and propose a lesson for each that was wrong."""
        with self._store.transaction():
            verdicts = self._store.verdicts(trajectory_id=trajectory.id)[::-1]
            return settle(self._store, trajectory, self._admit, verdicts=verdicts, at=self._now())

    def settled_by(self, key: str, *, held: bool, reason: str, by: Speaker) -> Assumption:
        """Store what a person found out about an assumption."""
        entry = self.find(key)
        instead = "" if held else reason
        with self._store.transaction():
            return self._settle_by(
                entry, Held.HELD if held else Held.WRONG, instead, by=by, at=self._now(), reason=reason
            )

    def find(self, key: str) -> Assumption:
        """Return an assumption by its key, or the beginning of one."""
        return self._resolve(key, last_of(self._store.entries(Assumption)))

    def list(
        self, *, session: str = "", phase: Phase | str | None = None, held: Held | str | None = None
    ) -> MomentList:
        """Return moments and assumptions, oldest first: all, or those of a session, a phase, or an outcome."""
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
        self._store.add(moment)
        return moment

    def _resolve(self, key: str, known: Mapping[str, Assumption]) -> Assumption:
        found = [
            entry
            for name, entry in known.items()
            if name == key or (len(key) >= MIN_KEY_LENGTH and name.startswith(key))
        ]
        if len(found) != 1:
            code = "ambiguous_assumption" if found else "unknown_assumption"
            message = f"{key!r} is ambiguous" if found else f"no assumption {key!r} here"
            raise NotFound(message, code=code, hint="`tacit moments list` shows all with their keys")
        return found[0]

    def _settle_by(
        self,
        entry: Assumption,
        held: Held,
        instead: str,
        *,
        by: Speaker,
        at: datetime,
        reason: str = "",
    ) -> Assumption:
        """Store what somebody says about an assumption; its origin is then at most that of the speaker."""
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
        self._store.add(made)
        return made

    def _add_checkpoint(
        self, session: str, milestone: str, keys: Sequence[str], *, by: Speaker, at: datetime
    ) -> Moment:
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
