"""Status changes from evidence: a version's votes, uses and lift → the status it should have, with reason codes.

    candidate ──person, policy──► trial ◄──────── upper bound below 70 % ──────── trusted
                                    │ └──── lower bound at least 60 %, 10 votes ────►│
                                    ├──────────── clearly below 70 % ───────────► retired
                                    └── worked reliably, then half as often ──────► stale

Both bounds are one-sided 95 % bounds, and later votes weigh more. "Clearly below" is a sequential test: it may be
checked after every vote, and at most one in twenty versions that work in 70 % of all cases is ever retired by it. Votes
from before a version was last admitted do not count again. The same votes give the same answer, one by one or all at
once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from tacit.config.settings import Policy
from tacit.domain.candidate import Relation
from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind, CareReason
from tacit.domain.errors import NotFound, StaleVersion
from tacit.domain.evidence import WORTH, Evidence, Following, Outcome
from tacit.domain.ledger import About, pinned
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, Transition, coded, parse_reasons
from tacit.domain.skill import OWN_PREFIX, RULE_KINDS, Kind
from tacit.domain.stored import StoredVersion
from tacit.evidence import control_runs
from tacit.evidence.control_runs import lift
from tacit.evidence.reliability import votes
from tacit.evidence.statistics import Drop, EProcess, Faded, wilson
from tacit.store import Store

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


def care_of(stored: StoredVersion, kind: CareKind, reasons: Iterable[CodedReason], **more: Any) -> Care:
    """Return a finding about a version; `more` are further fields of `Care`."""
    version = stored.version
    return Care(
        kind=kind, subject=version.id, skill_id=stored.skill.id, name=version.name, reasons=tuple(reasons), **more
    )


class LibraryView:
    """What the maintenance checks look at."""

    def __init__(
        self,
        store: Store,
        policy: Policy,
        *,
        at: datetime,
        version_ids: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.store, self.policy, self.at = store, policy, at
        self._named = None if version_ids is None else list(dict.fromkeys(version_ids))
        self.progress: Progress = progress or (lambda done, total: None)

    @cached_property
    def skills(self) -> dict[str, list[StoredVersion]]:
        """The versions of each skill, oldest first."""
        found: dict[str, list[StoredVersion]] = {}
        for stored in sorted(self.store.catalogue(), key=lambda each: each.sequence):
            found.setdefault(stored.skill.id, []).append(stored)
        return found

    @cached_property
    def versions(self) -> dict[str, StoredVersion]:
        """Every version by its id."""
        return {stored.version.id: stored for versions in self.skills.values() for stored in versions}

    @cached_property
    def recallable(self) -> list[StoredVersion]:
        """Every version that agents may see, or those of them that are named, oldest first."""
        if self._named is None:
            return sorted(self.store.catalogue(statuses=RECALLABLE), key=lambda each: each.sequence)
        return [stored for stored in map(self.store.version, self._named) if stored.status in RECALLABLE]

    @cached_property
    def current(self) -> list[StoredVersion]:
        """The current version of each skill: the newest recallable one; where there is none, the newest candidate."""
        found: list[StoredVersion] = []
        for versions in self.skills.values():
            recallable = [stored for stored in versions if stored.status in RECALLABLE]
            waiting = [stored for stored in versions[-1:] if stored.status is Status.CANDIDATE]
            found += (recallable or waiting)[-1:]
        return found

    @cached_property
    def evidence(self) -> dict[str, list[Evidence]]:
        """Results of everything recallable, oldest first."""
        return self.store.evidence([stored.version.id for stored in self.recallable])

    @cached_property
    def pinned(self) -> frozenset[str]:
        """Ids of the skills that a person pinned."""
        return pinned(self.store.remarks(about=About.PIN))


STALE_DAYS = 90
"""A version is stale after so many days without a verified success."""
SHOWN_AT_LEAST, EXAMINED_AT_LEAST = 20, 10
"""A version is useless if it was shown so often and followed in none of so many examined runs."""
LASTING_KINDS = RULE_KINDS | {Kind.REFERENCE}
"""Rules and documents are not verified by runs, so they do not become stale."""
RECENT_VERDICTS = 12
"""How many of the newest gate verdicts on a version are searched for attempts that confirm it."""


# --- the rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRules:
    """The thresholds. `docs/lab.md` explains how they were chosen, `bench/statistics.py` measures their effect."""

    trusted_from: float = 0.6
    """Trusted once the lower bound is at least this."""
    trusted_until: float = 0.7
    """On trial again once the upper bound is below this. The gap between the bounds prevents flapping."""
    least_votes: float = 10.0
    """Trust and sudden drops are judged only after so many votes."""
    line: float = 0.7
    """Retired where it demonstrably works less often."""
    alpha: float = 0.05
    """The chance that a version exactly at the line is ever retired."""
    half_life_votes: float = 30.0
    doubt: float = 8.0
    """Suspended once the log-likelihood ratio (in nats) for "half as often" over "as before" reaches this."""
    principal_share: float = 1 / 3
    """A principal with more than this share of all votes, or more than an equal share, weighs less."""


STATUS_RULES = StatusRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """The status that a version should have, why, and the evidence behind it."""

    after: Status
    reason: CodedReason
    evidence_ids: tuple[str, ...] = ()


def earned_status(
    status: Status, transitions: Iterable[Transition], votes: Iterable[Evidence], *, rules: StatusRules = STATUS_RULES
) -> StatusChange | None:
    """Decide the status that its votes give a version; None where it keeps its own.

    `votes` come from `evidence.reliability.votes`; `transitions` are all of the version's, in order.
    """
    if status not in RECALLABLE:
        return None
    moves = list(transitions)
    lost = (move.at for move in moves if move.before is Status.TRUSTED and move.after is Status.TRIAL)
    record = VoteRecord(since=admitted_at(moves), distrusted_at=max(lost, default=None), rules=rules)
    for vote in sorted(votes, key=lambda vote: vote.at):
        record.add(vote)
    return record.status_change(status)


class VoteRecord:
    """Accumulates the votes since a version was admitted, in order."""

    def __init__(
        self, *, since: datetime | None = None, distrusted_at: datetime | None = None, rules: StatusRules = STATUS_RULES
    ) -> None:
        self._since, self._distrusted_at, self._rules = since, distrusted_at, rules
        self._ids: list[str] = []
        self._against = EProcess(rules.line)
        self._drop = Drop()
        self._drop_reason: CodedReason | None = None
        self._recent = Faded(rules.half_life_votes)
        self._since_distrust = Faded(rules.half_life_votes)
        self._cast: defaultdict[str, float] = defaultdict(float)
        self._votes = self._votes_since_distrust = 0.0

    def add(self, vote: Evidence) -> None:
        """Add one more vote, later than all before it."""
        if self._since is not None and vote.at <= self._since:
            return
        # A principal who has cast more than a fair share of all votes so far weighs less.
        self._cast[vote.principal] += vote.weight
        share = self._cast[vote.principal] / sum(self._cast.values()) if vote.weight else 1.0
        worth, rules = WORTH[vote.outcome], self._rules
        weight = vote.weight * min(1.0, max(rules.principal_share, 1 / len(self._cast)) / share)
        self._ids.append(vote.id)
        self._against.add(worth, weight)
        self._recent.add(worth, weight)
        self._votes += weight
        if self._distrusted_at is None or vote.at > self._distrusted_at:
            self._since_distrust.add(worth, weight)
            self._votes_since_distrust += weight
        if self._drop.add(worth, weight) >= rules.doubt and self._drop_reason is None:
            worked, before = self._drop.before
            works, now = self._drop.under
            if before >= rules.least_votes and wilson(worked, before)[0] >= rules.line:  # it worked reliably before
                self._drop_reason = coded(CareReason.SUDDEN_DROP, worked=worked, before=before, works=works, now=now)

    def distrust(self, at: datetime) -> None:
        """Require that trust is earned again from here on."""
        self._distrusted_at = at
        self._since_distrust, self._votes_since_distrust = Faded(self._rules.half_life_votes), 0.0

    def status_change(self, status: Status) -> StatusChange | None:
        """Return the change for a version that now has this status."""
        rules = self._rules
        low, high = self._recent.interval()
        if self._against.peak >= 1 / rules.alpha:
            return self._change(Status.RETIRED, CareReason.BELOW_RETIREMENT_LINE, low, high, rules.line)
        if self._drop_reason is not None:
            return StatusChange(after=Status.STALE, reason=self._drop_reason, evidence_ids=tuple(self._ids))
        if status is Status.TRUSTED and self._votes >= rules.least_votes and high < rules.trusted_until:
            return self._change(Status.TRIAL, CareReason.TRUST_LOST, low, high, rules.trusted_until)
        if status is Status.TRIAL and self._votes_since_distrust >= rules.least_votes:
            low, high = self._since_distrust.interval()
            if low >= rules.trusted_from:
                return self._change(Status.TRUSTED, CareReason.TRUST_EARNED, low, high, rules.trusted_from)
        return None

    def _change(self, after: Status, code: CareReason, low: float, high: float, line: float) -> StatusChange:
        reason = coded(code, low=low, high=high, uses=len(self._ids), line=line)
        return StatusChange(after=after, reason=reason, evidence_ids=tuple(self._ids))


def admitted_at(transitions: Iterable[Transition]) -> datetime | None:
    """When a version was last admitted: onto trial from elsewhere, or back on trial by a person."""
    onto_trial = (move for move in transitions if move.after is Status.TRIAL)
    admitting = (m.at for m in onto_trial if m.before is not Status.TRUSTED or not m.by.startswith(OWN_PREFIX))
    return max(admitting, default=None)


def staleness_change(
    status: Status,
    transitions: Sequence[Transition],
    votes: Iterable[Evidence],
    *,
    now: datetime,
) -> StatusChange | None:
    """Return the change to stale if there was no verified success for too long, counted from admission at the latest."""
    admitted = admitted_at(transitions)
    if status not in RECALLABLE or admitted is None:
        return None
    worked = [vote for vote in votes if vote.outcome is Outcome.SUCCESS]
    last = max(worked, key=lambda vote: vote.at, default=None)
    since = max(admitted, last.at) if last else admitted
    if now - since < timedelta(days=STALE_DAYS):
        return None
    code = CareReason.LAST_SUCCESS_TOO_OLD if last and last.at == since else CareReason.NEVER_CONFIRMED
    reason = coded(code, days=(now - since).days, limit=STALE_DAYS)
    return StatusChange(after=Status.STALE, reason=reason, evidence_ids=(last.id,) if last else ())


def usefulness_change(
    status: Status, evidence: Iterable[Evidence], *, shown: int, lift: tuple[float, float] | None = None
) -> StatusChange | None:
    """Return the change to retired if no run followed the version, or if runs do better without it.

    `shown` counts the runs that it was shown to; `lift` is the interval of what it adds to success, where that is
    known.
    """
    if status not in RECALLABLE:
        return None
    rows = list(evidence)
    if lift is not None and lift[1] < 0:
        reason = coded(CareReason.BETTER_WITHOUT, least=-lift[1], most=-lift[0])
        drawn = tuple(row.id for row in rows if row.share > 0)
        return StatusChange(after=Status.RETIRED, reason=reason, evidence_ids=drawn)
    examined = [row for row in rows if not row.control and row.following is not None]
    followed = any(row.following in (Following.FOLLOWED, Following.PARTLY) for row in examined)
    reported = any(not row.control and row.following is None for row in rows)
    if shown < SHOWN_AT_LEAST or len(examined) < EXAMINED_AT_LEAST or followed or reported:
        return None
    reason = coded(CareReason.NEVER_FOLLOWED, shown=shown, examined=len(examined))
    return StatusChange(after=Status.RETIRED, reason=reason, evidence_ids=tuple(row.id for row in examined))


# --- the rules applied to a library -----------------------------------------------------------------------------------


def apply_status_changes(
    store: Store, policy: Policy, *, at: datetime, version_ids: Iterable[str] | None = None
) -> list[Transition]:
    """Append the status changes that verified evidence calls for, of all or of the named versions; return them.

    Pinned skills keep their status.
    """
    library = LibraryView(store, policy, at=at, version_ids=version_ids)
    moves: list[Transition] = []
    for care in list(earned_changes(library)):
        if care.move is None or care.skill_id in library.pinned:
            continue
        with suppress(StaleVersion):  # another process was faster
            store.add_transition(care.move)
            moves.append(care.move)
    return moves


def earned_changes(library: LibraryView) -> Iterator[Care]:
    """Find the status changes that evidence calls for now."""
    for stored in library.recallable:
        cast = votes(library.evidence.get(stored.version.id, ()))
        transitions = library.store.transitions(stored.version.id) if cast else []
        if change := earned_status(stored.status, transitions, cast) if cast else None:
            yield _care(library, CareKind.STANDING, stored, change, Advice.SHOW_SKILL)


def suspended_versions(library: LibraryView) -> Iterator[Care]:
    """Find what evidence has suspended and no person has looked at since. Changes nothing."""
    for versions in library.skills.values():
        known = [stored for stored in versions if stored.status in {*RECALLABLE, Status.STALE}]
        for stored in known[-1:] if known and known[-1].status is Status.STALE else ():
            move = library.store.transitions(stored.version.id)[-1]
            if move.by != BY_ITSELF:
                continue
            why = parse_reasons(move.reason) or [coded("text", text=move.reason)]
            reasons = (coded(CareReason.SUSPENDED, since=f"{move.at:%Y-%m-%d}"), *why)
            advice = (coded(Advice.RESTORE_OR_RETIRE, id=stored.version.id[:12]),)
            yield care_of(stored, CareKind.STANDING, reasons, evidence_ids=move.evidence_ids, advice=advice)


def useless_skills(library: LibraryView) -> Iterator[Care]:
    """Find what is shown and does not help: no run follows it, or runs without it do better."""
    measured = [stored for stored in library.recallable if library.evidence.get(stored.version.id)]
    uses = library.store.uses() if measured else []
    shown = Counter(version_id for use in uses if not use.held_back for version_id in use.version_ids)
    for stored in measured:
        evidence = library.evidence[stored.version.id]
        gain = lift(evidence, session=control_runs.sessions(library.store, evidence)).success
        interval = (gain.low, gain.high) if gain else None
        change = usefulness_change(stored.status, evidence, shown=shown[stored.version.id], lift=interval)
        if change is not None:
            yield _care(library, CareKind.VALUE, stored, change, Advice.IMPROVE_OR_RETIRE)


def stale_skills(library: LibraryView) -> Iterator[Care]:
    """Find what had no verified success for too long.

    Age alone does not count: a verified success of a use, or a verified attempt that went the same way, restarts the
    clock.
    """
    for stored in library.recallable:
        moves = library.store.transitions(stored.version.id)
        cast = votes(library.evidence.get(stored.version.id, ()))
        change = staleness_change(stored.status, moves, cast, now=library.at)
        if change is None or stored.skill.kind in LASTING_KINDS or _was_confirmed(library.store, stored, library.at):
            continue
        yield _care(library, CareKind.STALE, stored, change, Advice.VERIFY_OR_PIN)


def _was_confirmed(store: Store, stored: StoredVersion, now: datetime) -> bool:
    """Whether a verified attempt at the same work recently went the same way."""
    verdicts = store.verdicts(version_id=stored.version.id, limit=RECENT_VERDICTS)
    again = {i for each in verdicts if each.relation is Relation.REINFORCE for i in each.trajectory_ids}
    for trajectory_id in again:
        with suppress(NotFound):  # it may be purged
            episode = store.episode(trajectory_id)
            at = episode.started_at or episode.captured_at
            if episode.assessment.verified_success and now - at < timedelta(days=STALE_DAYS):
                return True
    return False


def _care(library: LibraryView, kind: CareKind, stored: StoredVersion, change: StatusChange, advice: Advice) -> Care:
    move = stored.transition_to(
        change.after, str(change.reason), by=BY_ITSELF, at=library.at, evidence_ids=change.evidence_ids
    )
    named = coded(advice, name=stored.version.name)
    return care_of(stored, kind, (change.reason,), move=move, evidence_ids=change.evidence_ids, advice=(named,))
