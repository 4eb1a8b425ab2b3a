"""What real sessions learn while they follow a skill that people wrote comes back, as an overlay, when it is loaded again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Load, Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import World

SKILL, FOLDERS = "cut-a-release", {"claude-code": ".claude", "codex": ".agents"}
TEXT = f"---\nname: {SKILL}\ndescription: How a release is cut.\n---\nRun `{ledger.BUILD}`, then `{ledger.TEST}`.\n"


@pytest.mark.parametrize("client", ["claude-code", "codex"], indirect=True)
def test_a_static_skill_shows_its_overlay_in_the_session_that_loads_it(world: World) -> None:
    file = world.project / FOLDERS[world.client.name] / "skills" / SKILL / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    world.commit("skill")
    world.install_tacit()
    world.init()

    def way(request: Request) -> Sequence[Move]:
        return [Load(SKILL), *ledger.release()]

    for number in (1, 2):
        world.assert_undisturbed(world.session(f"Cut release {number}.0 of the ledger.", way))
        waiting = world.learned(trajectories=number)
        world.forget_build()
    [overlay] = [each for each in waiting if each["kind"] == "lesson"]
    assert f"tacit-extends: {SKILL}" in overlay["skill_md"]
    world.approve(overlay["version_id"])
    assert file.read_text() == TEXT

    def informed(request: Request) -> Sequence[Move]:
        return [Load(SKILL), *(ledger.release()[2:] if ledger.RATES in request.told else ledger.release())]

    session = world.session("Cut what comes next.", informed)
    world.assert_undisturbed(session)
    assert [f"run `{ledger.RATES}` first" in each.told for each in session.requests[:2]] == [False, True]
    assert session.failures == []
    world.learned(trajectories=3)
    assert world.tacit("skills", "show", overlay["name"])["reliability"]["successes"] == 1


def stumbling(way: Sequence[Move], _: Request) -> Sequence[Move]:
    return way


@pytest.mark.parametrize("client", ["copilot", "opencode"], indirect=True)
def test_a_client_that_reads_the_folders_of_two_is_told_of_a_skill_once(world: World) -> None:
    world.install_tacit()
    world.init("--client", "claude-code", "--channel", "skill")
    for month in ("2026-04", "2026-05", "2026-06"):
        way = ledger.long_way(month)
        assert world.session(ledger.task(month), partial(stumbling, way)).code == 0
        world.forget_build()
    procedure = next(each for each in world.learned(trajectories=3) if each["kind"] == "procedure")
    world.approve(procedure["version_id"])
    written = [*world.project.glob(".*/skills/*/SKILL.md")]
    assert {path.parts[-4] for path in written if path.parts[-2] == procedure["name"]} == {".agents", ".claude"}

    after = world.session(ledger.task("2026-07"), lambda _: [Run("true")])
    world.assert_undisturbed(after)
    told = after.requests[-1].told
    assert told.count(procedure["description"]) == 1, "listed by the client, and by nobody else"
    assert "<tacit-skill" not in told
    assert told.count("Recall what earlier sessions in this project learned") == 1
