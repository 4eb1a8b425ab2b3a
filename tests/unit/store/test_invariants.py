"""The rules of a store: retention chooses by age, then by size, oldest first, and never unlearned trajectories."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tacit.store.invariants import StoredSteps, choose_pruned
from tests.unit.store.samples import at

holdings = st.lists(
    st.builds(
        lambda minutes, size, droppable: (at(minutes), size, droppable),
        st.integers(0, 20_000),
        st.integers(1, 100),
        st.booleans(),
    ),
    max_size=12,
).map(lambda found: [StoredSteps(id=str(i), captured_at=c, bytes=b, droppable=d) for i, (c, b, d) in enumerate(found)])
NOW = at(20_000)


@given(holdings, st.none() | st.integers(0, 20), st.none() | st.integers(0, 600))
def test_pruning_keeps_to_its_rules(held: list[StoredSteps], keep_days: int | None, cap: int | None) -> None:
    chosen = choose_pruned(held, keep_days=keep_days, cap_bytes=cap, at=NOW)
    by_id = {holding.id: holding for holding in held}
    dropped = [by_id[identity] for identity in chosen]
    kept = [holding for holding in held if holding.id not in chosen]
    assert len(set(chosen)) == len(chosen)
    assert all(holding.droppable for holding in dropped)
    assert not any(holding.droppable and is_old(holding, keep_days) for holding in kept)
    fits = cap is None or sum(holding.bytes for holding in kept) <= cap
    assert fits or not any(holding.droppable for holding in kept)
    for extra in (holding for holding in dropped if not is_old(holding, keep_days)):
        assert cap is not None
        assert not any(other.droppable and other.captured_at < extra.captured_at for other in kept)


def is_old(holding: StoredSteps, keep_days: int | None) -> bool:
    horizon: datetime | None = None if keep_days is None else NOW - timedelta(days=keep_days)
    return horizon is not None and holding.captured_at < horizon


def test_without_limits_nothing_is_pruned() -> None:
    held = [StoredSteps(id="t_1", captured_at=at(), bytes=10**12, droppable=True)]
    assert choose_pruned(held, keep_days=None, cap_bytes=None, at=NOW) == []


def test_the_cap_takes_no_more_than_needed() -> None:
    held = [StoredSteps(id=str(n), captured_at=at(n), bytes=10, droppable=True) for n in range(5)]
    assert choose_pruned(held, keep_days=None, cap_bytes=30, at=NOW) == ["0", "1"]


def test_a_retention_longer_than_history_is_no_error() -> None:
    held = [StoredSteps(id="t_1", captured_at=at(), bytes=1, droppable=True)]
    assert choose_pruned(held, keep_days=10**7, cap_bytes=None, at=NOW) == []
