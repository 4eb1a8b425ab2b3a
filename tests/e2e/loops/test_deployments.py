"""A deployment that a real client makes, proven by the health endpoint of a real service, is evidence for what it was shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.evidence import Grade, Outcome
from tacit.store import open_store
from tests.e2e.loops.clients import Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import World
from tests.e2e.service import BROKEN, Service


def _always(moves: Sequence[Move], _: Request) -> Sequence[Move]:
    return moves


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed; install it with the system's packages")
def test_deployments_of_a_real_client_are_verified_by_the_health_endpoint(world: World, tmp_path: Path) -> None:
    with Service(tmp_path / "live") as service:
        script = world.project / "deploy.sh"
        script.write_text(service.deploy_script)
        script.chmod(0o755)
        world.commit("deploy script")
        world.install_tacit()
        world.init()
        steps = ["Run `./deploy.sh {release}`", f"Run `curl -fsS {service.address}/health`"]
        skill = {"kind": "procedure", "name": "deploy-a-release", "description": "Deploy a release of the ledger."}
        (world.home / "skill.json").write_text(
            json.dumps({**skill, "steps": steps, "parameters": ["release: which one"]})
        )
        proposed = world.tacit("propose", str(world.home / "skill.json"))["version_id"]
        world.approve(proposed)
        for number, release in enumerate(("1.4.0", BROKEN), start=1):
            moves = [Run(f"./deploy.sh {release}"), Run(f"curl -fsS {service.address}/health")]
            session = world.session(f"Deploy release {release} of the ledger.", partial(_always, moves))
            world.assert_undisturbed(session)
            world.learned(trajectories=number)
    with Tacit(open_store(world.project / ".tacit" / "tacit.db")) as memory:
        found = {each.assessment.outcome: each.assessment for each in memory.context.store.episodes()}
        evidence = [(each.outcome, each.grade) for each in memory.context.store.evidence([proposed])[proposed]]
    assert found.keys() == {Outcome.SUCCESS, Outcome.FAILURE}
    for each in found.values():
        assert (each.grade, each.verifier) == (Grade.MACHINE, f"health: curl -fsS {service.address}/health")
    assert world.moments(proposed) == ["prompt", "prompt"]
    assert sorted(evidence) == [("failure", Grade.MACHINE), ("success", Grade.MACHINE)]
