"""What a session teaches while it works by a static skill becomes an overlay of that skill."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin, Trajectory
from tacit.store import open_store
from tests.unit.learn.attempts import attempt, bash, call, conflict, edit, migration, say, session
from tests.unit.making import ONE_RUN

LOADS = {
    "tool": call("Skill", {"skill": "install"}, "Launching skill: install"),
    "plugin": call("Skill", {"skill": "house:install"}, "Launching skill: install"),
    "file": call("Read", {"file_path": "/workspace/app/.claude/skills/install/SKILL.md"}, "Install it."),
    "shell": bash("sed -n 1,80p .agents/skills/install/SKILL.md", "Install it."),
}
FIXED = bash("npm install --legacy-peer-deps", "added 9 packages")


@pytest.fixture
def loop(tmp_path: Path) -> Tacit:
    place = StoreLocation(database=":memory:", project=tmp_path, chosen_by="test")
    return Tacit(open_store(":memory:"), place=place, config=ONE_RUN)


def write_skill(loop: Tacit, name: str, body: str = "Install it.") -> Path:
    assert loop.context.project
    file = loop.context.project / ".claude" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nname: {name}\ndescription: How to {name}.\n---\n{body}\n", encoding="utf-8")
    return file


def learned(loop: Tacit, *trajectories: Trajectory) -> dict[Kind, SkillContent]:
    loop.capture(trajectories)
    loop.learn()
    return {stored.version.content.kind: stored.version.content for stored in loop.skills()}


@pytest.mark.parametrize("load", LOADS.values(), ids=list(LOADS))
def test_a_fix_made_under_a_static_skill_extends_it(loop: Tacit, load: dict[str, Any]) -> None:
    file = write_skill(loop, "install")
    before = file.read_bytes()
    lesson = learned(loop, *(session(number, load, conflict(), FIXED) for number in (1, 2)))[Kind.LESSON]
    assert lesson.extends == "install"
    [stored] = [each.version for each in loop.skills() if each.version.content == lesson]
    assert stored.origins["extends"] is Origin.AGENT
    assert [span.step for span in stored.provenance.grounding["extends"]] == [1, 1]
    assert all("overlay" in each.reasons for each in loop.archive.verdicts(stored.id))
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "steps",
    [
        [conflict(), FIXED, LOADS["tool"]],
        [LOADS["tool"], call("Skill", {"skill": "other"}, "Launching"), conflict(), FIXED],
        [dict(LOADS["tool"], result="failed"), conflict(), FIXED],
        [call("Skill", {"skill": "not-here"}, "Launching"), conflict(), FIXED],
        [call("Edit", {"file_path": "/workspace/app/.claude/skills/install/SKILL.md"}), conflict(), FIXED],
    ],
    ids=["loaded later", "another one in use", "not loaded", "no such skill", "its file was edited"],
)
def test_a_fix_made_without_the_skill_stands_alone(loop: Tacit, steps: list[dict[str, Any]]) -> None:
    write_skill(loop, "install")
    assert learned(loop, *(session(number, *steps) for number in (1, 2)))[Kind.LESSON].extends == ""


def test_a_fix_that_most_sessions_made_without_the_skill_stands_alone(loop: Tacit) -> None:
    write_skill(loop, "install")
    alone = [session(number, conflict(), FIXED) for number in (1, 2)]
    assert learned(loop, *alone, session(3, LOADS["tool"], conflict(), FIXED))[Kind.LESSON].extends == ""


def test_what_is_known_keeps_what_it_extends(loop: Tacit) -> None:
    write_skill(loop, "install")
    learned(loop, *(session(number, LOADS["tool"], conflict(), FIXED) for number in (1, 2)))
    learned(loop, *(session(number, conflict(), FIXED) for number in range(3, 9)))
    lessons = [each.version.content for each in loop.skills() if each.version.content.kind is Kind.LESSON]
    assert [each.extends for each in lessons] == ["install"]


def test_a_correction_under_a_static_skill_extends_it_and_stays_a_norm(loop: Tacit) -> None:
    write_skill(loop, "install")
    steps = (LOADS["tool"], bash("npm ci"), say("No, never use npm here, always use `pnpm`."), bash("pnpm install"))
    assert learned(loop, session(1, *steps))[Kind.NORM].extends == "install"


def run_with(load: dict[str, Any], column: str) -> Trajectory:
    made = migration(column)
    first, *rest = made.steps
    loaded = attempt(made.task.text, load).steps[1]
    steps = (first, loaded, *(dataclasses.replace(step, index=step.index + 1) for step in rest))
    return dataclasses.replace(made, steps=steps, session_id=f"session-{column}", id="")


def test_a_procedure_beside_a_static_skill_is_its_overlay(loop: Tacit) -> None:
    write_skill(loop, "install", "Run the migration by hand.")
    load = LOADS["tool"]
    first = learned(loop, run_with(load, "due_date"))[Kind.PROCEDURE]
    assert first.extends == "install"
    assert learned(loop, run_with(load, "paid_at"))[Kind.PROCEDURE].extends == "install"
    skills = [stored for stored in loop.skills() if stored.version.content.kind is Kind.PROCEDURE]
    assert len(skills) == 1, "merged into the next version"


def test_a_run_that_only_did_what_the_static_skill_says_is_no_procedure(loop: Tacit) -> None:
    write_skill(loop, "ship", "1. `make build`\n2. `make deploy`\n3. `pytest -q`")
    load = call("Skill", {"skill": "ship"}, "Launching skill: ship")
    steps = (load, bash("make build", "built"), bash("make deploy", "deployed"), bash("pytest -q", "3 passed in 0.1s"))
    loop.capture([session(1, *steps, task="Deploy the shop to staging.")])
    report = loop.learn()
    assert [each.reasons[0] for each in report.rejected] == ["followed_skill"]
    more = (*steps[:2], bash("make publish-notes", "done"), *steps[2:])
    assert learned(loop, session(2, *more, task="Deploy the shop to staging."))[Kind.PROCEDURE].extends == "ship"


def test_the_export_of_a_learned_skill_is_no_static_skill(loop: Tacit) -> None:
    kind = Kind.PROCEDURE
    loop.propose(SkillContent(kind=kind, name="install", description="How to install.", body="Install it."), by="ann")
    write_skill(loop, "install")
    assert (
        learned(loop, *(session(number, LOADS["tool"], conflict(), FIXED) for number in (1, 2)))[Kind.LESSON].extends
        == ""
    )


def test_an_edit_of_other_files_does_not_end_the_use_of_a_skill(loop: Tacit) -> None:
    write_skill(loop, "install")
    steps = (LOADS["tool"], edit("a.py", "1", "2"), conflict(), FIXED)
    assert learned(loop, *(session(number, *steps) for number in (1, 2)))[Kind.LESSON].extends == "install"
