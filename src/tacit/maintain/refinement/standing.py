"""Status, transitions and votes → the status that a version has earned, with the reason and what it rests on. Or nothing.

    candidate ──person, policy──► trial ◄──────── upper bound below 70 % ──────── trusted
                                    │ └──── lower bound at least 60 %, 10 votes ────►│
                                    ├──────────── clearly below 70 % ───────────► retired
                                    └─── worked clearly, suddenly half as often ──► stale

Both ends of the interval are one-sided 95 % bounds, with later votes weighing more. "Clearly below" is a test that may be
looked at after every vote: of versions that work in 70 % of all cases at most one in twenty is ever retired by it. Votes from
before a version was last let in do not count again. The same votes give the same answer, now or later, told one by one or all
at once. Changes nothing itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tacit.domain.evidence import WORTH, Evidence, Following, Outcome
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.evidence.statistics import Drop, EProcess, Faded, wilson

STALE_DAYS = 90
"""So long without a verified success, and a version is stale."""
SHOWN_AT_LEAST, LOOKED_AT_LEAST = 20, 10
"""Of no use is what was shown so often, and not followed in so many runs that were looked at."""

_OWN = "tacit."
"""How the names begin under which Tacit itself decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Where the lines are. `docs/lab.md` tells how they were chosen, `bench/statistics.py` what they do."""

    trusted_from: float = 0.6
    """Trusted once the lower bound is at least this."""
    trusted_until: float = 0.7
    """On trial again once the upper bound is below this. The bounds are far apart, so chance does not move it to and fro."""
    least_votes: float = 10.0
    """Before so many votes nothing is said of trust or change."""
    line: float = 0.7
    """Retired where it works less often, for certain."""
    alpha: float = 0.05
    """The chance that a version right at the line is ever retired."""
    half_life_votes: float = 30.0
    doubt: float = 8.0
    """Suspended at so much doubt, in nats, that it still works as it used to rather than half as often."""
    principal_share: float = 1 / 3
    """A principal who has cast more than this share of all votes, or than an equal one, weighs so much less."""


RULES = Rules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The status that a version should have, why, and the evidence that this rests on."""

    after: Status
    reason: str
    evidence_ids: tuple[str, ...] = ()


def standing(
    status: Status, transitions: Iterable[Transition], votes: Iterable[Evidence], *, rules: Rules = RULES
) -> Standing | None:
    """Decide what its votes have made of a version; nothing where it stays as it is.

    `votes` are those of `outcome.votes`; `transitions` all of the version's, in order.
    """
    if status not in RECALLABLE:
        return None
    moves = list(transitions)
    record = Record(since=admitted_at(moves), distrusted_at=_distrusted_at(moves), rules=rules)
    for vote in sorted(votes, key=lambda vote: vote.at):
        record.add(vote)
    return record.judge(status)


class Record:
    """What the votes since a version was let in show, one after the other."""

    def __init__(
        self, *, since: datetime | None = None, distrusted_at: datetime | None = None, rules: Rules = RULES
    ) -> None:
        self._since, self._distrusted_at, self._rules = since, distrusted_at, rules
        self._ids: list[str] = []
        self._against = EProcess(rules.line)
        self._drop = Drop()
        self._dropped = ""
        self._recent = Faded(rules.half_life_votes)
        self._since_distrust = Faded(rules.half_life_votes)
        self._cast: defaultdict[str, float] = defaultdict(float)
        self._votes = self._votes_since_distrust = 0.0

    def add(self, vote: Evidence) -> None:
        """Take in one more vote, later than all before it."""
        if self._since is not None and vote.at <= self._since:
            return
        worth, weight = WORTH[vote.outcome], self._fair(vote)
        self._ids.append(vote.id)
        self._against.add(worth, weight)
        self._recent.add(worth, weight)
        self._votes += weight
        if self._distrusted_at is None or vote.at > self._distrusted_at:
            self._since_distrust.add(worth, weight)
            self._votes_since_distrust += weight
        if self._drop.add(worth, weight) >= self._rules.doubt and not self._dropped:
            self._dropped = self._told_drop()

    def distrust(self, at: datetime) -> None:
        """From here on trust has to be earned anew."""
        self._distrusted_at = at
        self._since_distrust, self._votes_since_distrust = Faded(self._rules.half_life_votes), 0.0

    def judge(self, status: Status) -> Standing | None:
        """What follows for a version that now has this status."""
        rules = self._rules
        low, high = self._recent.interval()
        if self._against.peak >= 1 / rules.alpha:
            return self._to(Status.RETIRED, f"{self._told(low, high)}; the line is {rules.line:.0%}")
        if self._dropped:
            return self._to(Status.STALE, self._dropped)
        if status is Status.TRUSTED and self._votes >= rules.least_votes and high < rules.trusted_until:
            return self._to(
                Status.TRIAL, f"{self._told(low, high)}; trusted is what may reach {rules.trusted_until:.0%}"
            )
        if status is Status.TRIAL and self._votes_since_distrust >= rules.least_votes:
            low, high = self._since_distrust.interval()
            if low >= rules.trusted_from:
                return self._to(Status.TRUSTED, f"{self._told(low, high)}; trust begins at {rules.trusted_from:.0%}")
        return None

    def _fair(self, vote: Evidence) -> float:
        """A vote's weight, less where its principal has cast more than a fair share of all so far."""
        self._cast[vote.principal] += vote.weight
        share = self._cast[vote.principal] / sum(self._cast.values()) if vote.weight else 1.0
        return vote.weight * min(1.0, max(self._rules.principal_share, 1 / len(self._cast)) / share)

    def _told(self, low: float, high: float) -> str:
        return f"worked in {low * 100:.0f} to {high:.0%} of {len(self._ids)} verified uses"

    def _told_drop(self) -> str:
        worked, before = self._drop.before
        works, now = self._drop.under
        if before < self._rules.least_votes or wilson(worked, before)[0] < self._rules.line:
            return ""  # what never worked clearly has not changed
        return f"worked in {worked:.3g} of {before:.3g} verified uses, and then in {works:.3g} of {now:.3g}"

    def _to(self, after: Status, reason: str) -> Standing:
        return Standing(after=after, reason=reason, evidence_ids=tuple(self._ids))


def admitted_at(transitions: Iterable[Transition]) -> datetime | None:
    """When a version was last let in, or let in again: onto trial from elsewhere, or back on trial by a person."""
    return max((move.at for move in transitions if _admits(move)), default=None)


def staleness(
    status: Status,
    transitions: Sequence[Transition],
    votes: Iterable[Evidence],
    *,
    now: datetime,
    days: int = STALE_DAYS,
) -> Standing | None:
    """Whether a version has not been seen to work for too long: since its last verified success, or since it was let in."""
    admitted = admitted_at(transitions)
    if status not in RECALLABLE or admitted is None:
        return None
    worked = [vote for vote in votes if vote.outcome is Outcome.SUCCESS]
    last = max(worked, key=lambda vote: vote.at, default=None)
    since = max(admitted, last.at) if last else admitted
    if now - since < timedelta(days=days):
        return None
    age = (now - since).days
    told = (
        f"its last verified success was {age} days ago"
        if last and last.at == since
        else f"no verified success for {age} days"
    )
    reason = f"{told}; after {days} it is stale"
    return Standing(after=Status.STALE, reason=reason, evidence_ids=(last.id,) if last else ())


def value(
    status: Status, evidence: Iterable[Evidence], *, shown: int, lift: tuple[float, float] | None = None
) -> Standing | None:
    """Whether a version is of no use: nobody followed it however often it was shown, or runs do better without it.

    `shown` counts the runs that it was shown to; `lift` is the interval of what it adds to success, where that is known.
    """
    if status not in RECALLABLE:
        return None
    rows = list(evidence)
    if lift is not None and lift[1] < 0:
        told = (
            f"runs with it succeed {-lift[1] * 100:.0f} to {-lift[0] * 100:.0f} points less often than runs without it"
        )
        return Standing(after=Status.RETIRED, reason=told, evidence_ids=_ids(rows, lambda row: row.share > 0))
    looked = [row for row in rows if not row.control and row.following is not None]
    followed = any(row.following in (Following.FOLLOWED, Following.PARTLY) for row in looked)
    said = any(not row.control and row.following is None for row in rows)
    if shown < SHOWN_AT_LEAST or len(looked) < LOOKED_AT_LEAST or followed or said:
        return None
    told = f"shown {shown} times, and followed in none of the {len(looked)} runs that were looked at"
    return Standing(after=Status.RETIRED, reason=told, evidence_ids=_ids(looked, lambda _: True))


def _ids(rows: Iterable[Evidence], wanted: Callable[[Evidence], bool]) -> tuple[str, ...]:
    return tuple(row.id for row in rows if wanted(row))


def _admits(move: Transition) -> bool:
    return move.after is Status.TRIAL and (move.before is not Status.TRUSTED or not move.by.startswith(_OWN))


def _distrusted_at(transitions: Sequence[Transition]) -> datetime | None:
    lost = (move.at for move in transitions if move.before is Status.TRUSTED and move.after is Status.TRIAL)
    return max(lost, default=None)
