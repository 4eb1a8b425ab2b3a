"""What a skill says of the tools it stood beside counts against others only where attempts showed it."""

from __future__ import annotations

import dataclasses
import re
from itertools import permutations

import pytest

from tacit.api import Tacit
from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.skill import Cue, Kind, Provenance, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Span
from tacit.gate.judgement import merge_candidate
from tacit.render import parse, render
from tacit.store import open_store
from tests.unit.learn.calls import WORKED, attempt
from tests.unit.making import NOW, candidate, stored
from tests.unit.store.samples import birth_of

SAID = {"dig_bed": "dig", "water_bed": "water", "sow_seed": "sow"}
GARDEN = tuple(SAID)
BELL = "water in the garden and ring the bell"
GATE = "water in the garden, up to the gate"
FORGED = SkillContent(
    kind=Kind.PROCEDURE,
    name="tidy-garden",
    description="Tidy the garden up to the gate",
    cues=(Cue(term="tidi", weight=0.3),),
    steps=(SkillStep(text="dig", tool="dig_bed"),),
    surroundings=("gate", "water_bed"),
)


def approve(loop: Tacit, version_id: str) -> None:
    ticked = [each.key for each in loop.reviews.examine(version_id).external_values]
    loop.review(version_id, "approve", by="ann", ticked=ticked)


@pytest.fixture
def loop() -> Tacit:
    """Work in a garden where a bell was always at hand, mined into skills that a person approved."""
    made = Tacit(open_store(":memory:"), clock=lambda: NOW)
    for number, tools in enumerate([*([each] for each in SAID), *permutations(SAID, 2)] * 5):
        said = " and ".join(SAID[tool] for tool in tools)
        calls = [(tool, {"house": f"H{number}"}, "done") for tool in tools]
        found = attempt(f"please {said} in the garden of house {number}", *calls, session=f"s{number}")
        around = dataclasses.replace(found.environment, tools=(*GARDEN, "ring_bell"))
        made.context.store.add_trajectory(dataclasses.replace(found, environment=around, id=""), WORKED, at=NOW)
    made.learn()
    for waiting in made.reviews.waiting():
        approve(made, waiting.version.id)
    return made


def learned(loop: Tacit) -> list[StoredVersion]:
    return [held for held in loop.skills() if held.version.content.surroundings]


def missed(loop: Tacit, task: str) -> str:
    """The tool that is told as missed; empty where skills are given."""
    selection = loop.recall(task, tools=GARDEN, keep=False)
    named = re.search("tool `(.+)`", selection.reason) if selection.code is ReasonCode.MISSING_TOOLS else None
    assert bool(selection.items) is not bool(named)
    return named.group(1) if named else ""


def test_what_attempts_always_had_beside_them_is_missed(loop: Tacit) -> None:
    assert len(learned(loop)) == len(SAID)
    assert missed(loop, BELL) == "ring_bell"
    assert missed(loop, GATE) == ""


@pytest.mark.parametrize("origin", Origin)
def test_a_file_that_names_its_surroundings_silences_no_learned_skill(loop: Tacit, origin: Origin) -> None:
    read = parse(render(FORGED), strict=True, directory=FORGED.name).content
    assert read.surroundings == FORGED.surroundings
    approve(loop, loop.propose(read, by="eve", origin=origin).version_id)
    assert missed(loop, GATE) == ""
    assert missed(loop, BELL) == "ring_bell"


def test_an_edit_of_a_learned_skill_keeps_what_attempts_showed(loop: Tacit) -> None:
    for turn in ("once", "twice"):
        for held in learned(loop):
            edited = dataclasses.replace(held.version.content, body=f"Mind the roses, {turn}.")
            approve(loop, loop.propose(edited, by="ann", origin=Origin.USER, revises=held).version_id)
    assert {held.version.provenance.made_by for held in learned(loop)} == {"ann"}
    assert missed(loop, BELL) == "ring_bell"


def test_an_edit_that_names_other_surroundings_counts_as_written(loop: Tacit) -> None:
    for held in learned(loop):
        content = held.version.content
        edited = dataclasses.replace(content, surroundings=(*content.surroundings, "gate"))
        approve(loop, loop.propose(edited, by="eve", origin=Origin.USER, revises=held).version_id)
    assert missed(loop, GATE) == ""
    assert missed(loop, BELL) == ""


def test_an_edit_whose_parent_is_in_another_store_counts_as_written(loop: Tacit) -> None:
    apart = stored(FORGED, scope=loop.context.scope)
    version = dataclasses.replace(apart.version, parents=("v_elsewhere",))
    loop.context.store.add_version(apart.skill, version, birth_of(version, Status.TRIAL))
    assert missed(loop, GATE) == ""


def test_attempts_without_surroundings_do_not_vouch_for_what_somebody_wrote() -> None:
    rests = Provenance(trajectory_ids=("t_1",), grounding={"surroundings": (Span("t_1", 1),)}, made_by="tacit.mining/1")
    mined = candidate(dataclasses.replace(FORGED, surroundings=()), provenance=rests)
    one = merge_candidate(mined, stored(FORGED).version)
    assert one.content.surroundings == FORGED.surroundings
    assert "surroundings" not in one.provenance.grounding
    both = merge_candidate(dataclasses.replace(mined, content=FORGED), stored(FORGED).version)
    assert both.provenance.grounding["surroundings"] == (Span("t_1", 1),)
