"""After a real session the library is looked after, and the next session tells the person, not the agent, what waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.care import CareKind
from tacit.store import open_store
from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import World
from tests.unit.surfaces.hooked_project import fill
from tests.unit.surfaces.test_hook_waiting import NPM, OLD, PNPM, RELEASE, SAME_WORK

pytestmark = pytest.mark.parametrize("client", ["claude-code", "codex"], indirect=True)


def test_a_real_sessions_end_leaves_merge_contradiction_and_stale_skill_for_the_person(world: World) -> None:
    world.install_tacit()
    world.init()
    database = world.project / ".tacit" / "tacit.db"
    database.parent.mkdir(exist_ok=True)
    with Tacit(open_store(database), clock=lambda: datetime.now(UTC) - timedelta(days=400)) as memory:
        memory.review(memory.propose(OLD, by="ann").version_id, "approve", by="ann")
    fill(database, RELEASE, SAME_WORK, PNPM, NPM)

    def way(request: Request) -> Sequence[Move]:
        return [Run(ledger.COMPILE)]

    first = world.session("Compile the rates.", way)
    world.assert_undisturbed(first)
    assert "tacit review" not in first.out
    waiting = world.learned()
    assert [len(page["parents"]) for page in waiting] == [2]
    kinds = {care["kind"] for care in world.tacit("review")["suggestions"]}
    assert {CareKind.CONTRADICTION, CareKind.STALE} <= kinds
    told = [world.session("Compile the rates again.", way) for _ in range(2)]
    for session in told:
        world.assert_undisturbed(session)
        assert all("tacit review" not in request.told for request in session.requests)
    if world.client.name == "claude-code":  # without a screen only its own log of events shows what a person sees
        assert ["Run: tacit review" in session.out for session in told] == [True, False]
    assert (world.project / ".tacit" / "waiting-told").exists()
