"""The real client lets a learned skill use the tools that a person unlocked, and asks for the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import CautiousClaudeCode, Load, Run
from tests.e2e.loops.model import ScriptedModel
from tests.e2e.loops.world import World

pytestmark = pytest.mark.parametrize("client", ["claude-code"], indirect=True)
SKILL = {
    "kind": "procedure", "name": "refresh-the-rates", "description": "Refresh the exchange rates of the ledger.",
    "steps": [f"Run `{ledger.COMPILE}`", "Read `data/rates.csv`", "Run `git status`"],
    "tools": ["Read", f"Bash({ledger.COMPILE})"],
}  # fmt: skip


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("unlocked", [True, False])
def test_a_learned_skill_uses_a_tool_only_if_a_person_unlocked_it(
    tmp_path: Path, model: ScriptedModel, unlocked: bool
) -> None:
    world = World.made(tmp_path, CautiousClaudeCode(), model)
    world.install_tacit()
    world.init("--channel", "skill")
    (world.home / "skill.json").write_text(json.dumps(SKILL))
    proposed = world.tacit("propose", str(world.home / "skill.json"))
    ticks = ["--tick", f"tool:Bash({ledger.COMPILE})"] if unlocked else []
    done = world.person.type(
        "review", proposed["version_id"], "--approve", "--by", "Ann", *ticks,
        answers={"Unlock": "n\n", "Is it right? [y/N]:": "y\n"},
    )  # fmt: skip
    assert done.code == 0, done.out
    session = world.session("Refresh the rates.", lambda _: [Load("refresh-the-rates"), Run(ledger.COMPILE)])
    world.assert_undisturbed(session)
    assert [ran.failed for ran in session.commands] == [not unlocked]
    assert (world.project / "build" / "rates.json").exists() is unlocked
