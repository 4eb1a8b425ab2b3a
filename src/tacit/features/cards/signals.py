"""Signals: somebody says what happened to a card or a recommendation → one more line, if there is such a thing.

A signal counts towards a score and moves nothing else. Two that say the same in the same second are two signals. What is
said of a card that projects share is kept with the project that says it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tacit.domain.card import Signal, SignalKind
from tacit.domain.errors import Mistake, NotFound
from tacit.features.cards.cards import Cards
from tacit.features.cards.records import signal_id, unused_id
from tacit.text.redaction import redact

OF_CARDS = "aha_"
MANUAL_SOURCE, BY_AGENT = "manual", "agent"
LONGEST = 500
"""Characters of a source or a context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What came of saying that cards and recommendations were used."""

    signals: tuple[Signal, ...] = ()
    invalid: tuple[tuple[str, str], ...] = ()
    """Ids that cannot be such a thing's, each with the prefix that was expected."""
    unknown: tuple[str, ...] = ()
    """Ids that nothing here has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageClaim:
    """Which things were used, by whose word, and in what connection."""

    cards: Sequence[str] = ()
    recommendations: Sequence[str] = ()
    source: str = BY_AGENT
    context: str = ""


@dataclass(slots=True)
class _Sorting:
    signals: list[Signal] = field(default_factory=list)
    invalid: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def signal(deck: Cards, kind: SignalKind | str, target: str, *, source: str = MANUAL_SOURCE, context: str = "") -> Signal:
    """Keep one signal; its target must be known, and of the sort that the kind speaks of."""
    if kind not in set(SignalKind):
        raise Mistake(f"unknown kind of signal {kind!r}", hint=f"the kinds are {', '.join(SignalKind)}")
    chosen = SignalKind(kind)
    shared = _shared(deck, [target])
    with deck.transaction():
        known = _targets(deck, chosen, shared)
        if target not in known:
            what = "card" if chosen.startswith(OF_CARDS) else "recommendation"
            raise NotFound(f"no {what} {target!r}", hint=f"{chosen} needs the id of a {what}; see `tacit cards list`")
        made = new_signal(deck, chosen, target, source=source, context=context)
        deck.add(made)
    return made


def use(deck: Cards, usage: UsageClaim) -> UsageReport:
    """Keep a signal for each thing that was used; ids that nothing has are told and count for nothing."""
    sorting, shared = _Sorting(), _shared(deck, usage.cards)
    with deck.transaction():
        for kind, wanted in (
            (SignalKind.AHA_USED, usage.cards),
            (SignalKind.REC_USED, usage.recommendations),
        ):
            prefix, known = kind.partition("_")[0] + "_", _targets(deck, kind, shared)
            for target in dict.fromkeys(wanted):
                if not target.startswith(prefix):
                    sorting.invalid.append((target, prefix))
                elif target not in known:
                    sorting.unknown.append(target)
                else:
                    made = new_signal(deck, kind, target, source=usage.source, context=usage.context)
                    deck.add(made)
                    sorting.signals.append(made)
    return UsageReport(signals=tuple(sorting.signals), invalid=tuple(sorting.invalid), unknown=tuple(sorting.unknown))


def new_signal(deck: Cards, kind: SignalKind, target: str, *, source: str, context: str = "") -> Signal:
    """A signal with an id of its own; not kept yet."""
    ts, said = deck.timestamp(), redact(context.strip()).text[:LONGEST]
    whose = redact(source.strip()).text[:LONGEST] or BY_AGENT
    taken = {each.key for each in deck.signals()}
    key = unused_id(lambda last: signal_id(ts, kind, target, whose, context=last), taken, said)
    return Signal(key=key, at=deck.now(), by=deck.user, ts=ts, kind=kind, target=target, source=whose, context=said)


def _targets(deck: Cards, kind: SignalKind, shared: Collection[str]) -> Collection[str]:
    return {*deck.cards(), *shared} if kind.startswith(OF_CARDS) else deck.recommendations()


def _shared(deck: Cards, wanted: Sequence[str]) -> Collection[str]:
    """Which of these cards are known only to the deck that projects share, and may be seen here."""
    missing = [each for each in wanted if each.startswith(OF_CARDS) and each not in deck.cards()]
    if not missing:
        return ()
    with deck.shared_cards() as shared:
        known = shared.cards() if shared else {}
        return {key for key in missing if key in known and shared and not shared.is_hidden_from_agents(known[key])}
