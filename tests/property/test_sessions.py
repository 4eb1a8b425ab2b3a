"""Whatever agents of several sessions share: nothing is seen from another session, nor one agent's notes by another."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.features.sessions.working_memory import NoteLimits, WorkingMemory
from tacit.store import Store, open_store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SESSIONS = ("s1", "s1 ", "S1", "s1/child", "é", "mcp-" + "0f" * 16)
AGENTS = ("one", "two", "one/two")
DRAWERS = ("share", "artifact", "scratch", "ask", "forget")
deeds = st.lists(
    st.tuples(
        st.sampled_from(SESSIONS), st.sampled_from(AGENTS), st.sampled_from(DRAWERS), st.sampled_from(["a", "b"])
    ),
    max_size=25,
)
MARK = re.compile(r"mark\d+x")


def perform(store: Store, done: list[tuple[str, str, str, str]]) -> dict[str, tuple[str, str, str]]:
    """Do it all; returns for each mark that was written where: session, agent, drawer."""
    written: dict[str, tuple[str, str, str]] = {}
    for number, (session_id, agent, kind, name) in enumerate(done):
        mark, session = f"mark{number}x", WorkingMemory(Tacit(store, clock=lambda: NOW), session_id)
        if kind == "share":
            session.contribute(mark, agent=agent)
        elif kind == "artifact":
            session.register(name, mark, agent=agent)
        elif kind == "scratch":
            session.scratch(agent).write(mark)
        elif kind == "ask":
            session.asked(f"{mark} {name}")
        else:
            session.forget()
            written = {known: place for known, place in written.items() if place[0] != session_id}
            continue
        written[mark] = (session_id, agent, kind)
    return written


@given(deeds)
def test_nothing_leaks_into_another_session_or_to_another_agent(done: list[tuple[str, str, str, str]]) -> None:
    store = open_store(":memory:")
    written = perform(store, done)
    for session_id in SESSIONS:
        session = WorkingMemory(Tacit(store, clock=lambda: NOW), session_id)
        for agent in (*AGENTS, "", "stranger"):
            for mark in MARK.findall(session.shown(agent, budget_tokens=100_000)):
                source, by, kind = written[mark]
                assert source == session_id
                assert kind != "scratch" or by == agent
        shared = {mark for mark, place in written.items() if place[0] == session_id and place[2] == "share"}
        assert shared == {each.text for each in session.contributions()}
    store.close()


@given(
    st.lists(st.tuples(st.sampled_from(AGENTS), st.text(max_size=60), st.integers(0, 30)), max_size=30),
    st.integers(40, 120),
)
def test_the_limits_hold_at_every_moment(writes: list[tuple[str, str, int]], size: int) -> None:
    limits, store, at = NoteLimits(item=size, agent=2 * size, session=3 * size, items=5), open_store(":memory:"), NOW
    for agent, text, hours in writes:
        at += timedelta(hours=hours)
        moment = at
        session = WorkingMemory(Tacit(store, clock=lambda moment=moment: moment), "s1", limits=limits)  # type: ignore[misc]
        with suppress(Mistake):
            session.contribute(text, agent=agent)
        held = store.notes.list("s1", at=moment)
        sizes = [len(each.text.encode("utf-8", "replace")) for each in held]
        assert all(each <= size for each in sizes)
        assert sum(sizes) <= 3 * size
        assert len(held) <= 5
        assert all(moment < each.expires_at <= moment + timedelta(hours=24) for each in held)
