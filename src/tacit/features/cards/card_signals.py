"""Signals: what happened to a card or a recommendation, as somebody reports it.

A signal counts towards a score and changes nothing else. Two identical signals within a second are two signals. Signals
about a shared card are stored with the project that reports them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tacit.domain.errors import Mistake, NotFound
from tacit.features.cards.card import Signal, SignalKind
from tacit.features.cards.card_records import signal_id, unused_id
from tacit.features.cards.cards import Cards
from tacit.text.redaction import redact

CARD_PREFIX = "aha_"
MANUAL_SOURCE, BY_AGENT = "manual", "agent"
MAX_LENGTH = 500
"""Characters of a source or a context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Result of a usage claim."""

    signals: tuple[Signal, ...] = ()
    invalid: tuple[tuple[str, str], ...] = ()
    """Ids with a wrong prefix, each with the prefix that was expected."""
    unknown: tuple[str, ...] = ()
    """Ids that do not exist here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageClaim:
    """Which cards and recommendations were used, according to whom, and in what context."""

    cards: Sequence[str] = ()
    recommendations: Sequence[str] = ()
    source: str = BY_AGENT
    context: str = ""


def signal(
    deck: Cards, kind: SignalKind | str, target: str, *, source: str = MANUAL_SOURCE, context: str = ""
) -> Signal:
    """Store one signal; its target must exist, and be a card or a recommendation as the kind requires."""
    if kind not in set(SignalKind):
        hint = f"the kinds are {', '.join(SignalKind)}"
        raise Mistake(f"unknown kind of signal {kind!r}", code="unknown_signal", hint=hint)
    chosen = SignalKind(kind)
    shared = _shared_targets(deck, [target])
    with deck.transaction():
        if target not in _targets(deck, chosen, shared):
            what = "card" if chosen.startswith(CARD_PREFIX) else "recommendation"
            raise NotFound(f"no {what} {target!r}", hint=f"{chosen} needs the id of a {what}; see `tacit cards list`")
        made = new_signal(deck, chosen, target, source=source, context=context)
        deck.add(made)
    return made


def use(deck: Cards, usage: UsageClaim) -> UsageReport:
    """Store a signal for each id that was used; invalid and unknown ids are reported and count for nothing."""
    signals: list[Signal] = []
    invalid: list[tuple[str, str]] = []
    unknown: list[str] = []
    shared = _shared_targets(deck, usage.cards)
    with deck.transaction():
        for kind, claimed in ((SignalKind.AHA_USED, usage.cards), (SignalKind.REC_USED, usage.recommendations)):
            prefix, known = kind.partition("_")[0] + "_", _targets(deck, kind, shared)
            for target in dict.fromkeys(claimed):
                if not target.startswith(prefix):
                    invalid.append((target, prefix))
                elif target not in known:
                    unknown.append(target)
                else:
                    made = new_signal(deck, kind, target, source=usage.source, context=usage.context)
                    deck.add(made)
                    signals.append(made)
    return UsageReport(signals=tuple(signals), invalid=tuple(invalid), unknown=tuple(unknown))


def new_signal(deck: Cards, kind: SignalKind, target: str, *, source: str, context: str = "") -> Signal:
    """Return a signal with an unused id; it is not added yet."""
    ts, clean_context = deck.timestamp(), redact(context.strip()).text[:MAX_LENGTH]
    clean_source = redact(source.strip()).text[:MAX_LENGTH] or BY_AGENT
    taken = {each.key for each in deck.signals()}
    key = unused_id(lambda last: signal_id(ts, kind, target, clean_source, context=last), taken, clean_context)
    return Signal(
        key=key,
        at=deck.now(),
        by=deck.user,
        ts=ts,
        kind=kind,
        target=target,
        source=clean_source,
        context=clean_context,
    )


def _targets(deck: Cards, kind: SignalKind, shared: Collection[str]) -> Collection[str]:
    return {*deck.cards(), *shared} if kind.startswith(CARD_PREFIX) else deck.recommendations()


def _shared_targets(deck: Cards, wanted: Sequence[str]) -> Collection[str]:
    """Return those of these cards that only the shared store has, and that may be seen here."""
    missing = [each for each in wanted if each.startswith(CARD_PREFIX) and each not in deck.cards()]
    if not missing:
        return ()
    with deck.shared_cards() as shared:
        known = shared.cards() if shared else {}
        return {key for key in missing if key in known and shared and not shared.is_hidden_from_agents(known[key])}
