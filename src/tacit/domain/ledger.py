"""Every sort of entry by the name that it is kept under, for those who read a ledger back."""

from __future__ import annotations

from tacit.domain.adapter import Activation, Adapter, Judgement
from tacit.domain.card import Backport, Card, CardEvent, Signal
from tacit.domain.choice import Choice, Forecast
from tacit.domain.entry import Entry
from tacit.domain.heed import Heed
from tacit.domain.moment import Assumption, Moment
from tacit.domain.recommendation import Recommendation

SORTS: dict[str, type[Entry]] = {
    sort.SORT: sort
    for sort in (
        Activation,
        Adapter,
        Assumption,
        Backport,
        Card,
        CardEvent,
        Choice,
        Forecast,
        Heed,
        Judgement,
        Moment,
        Recommendation,
        Signal,
    )
}
