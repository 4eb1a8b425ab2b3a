"""A light embedder: made by one command, chosen by one setting, shown by the doctor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.scope import Level, Scope
from tacit.domain.trajectory import Origin
from tacit.store import open_store
from tests.e2e.conftest import Terminal
from tests.e2e.test_recall import SKILLS, settings
from tests.unit.providers.embedding.small_models import bert_folder


@pytest.fixture
def library(terminal: Terminal) -> Terminal:
    (terminal.project / ".tacit").mkdir()
    with Tacit(open_store(terminal.project / ".tacit" / "tacit.db"), scope=Scope(Level.PROJECT)) as loop:
        for made in SKILLS:
            loop.review(loop.propose(made, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    return terminal


def told(terminal: Terminal) -> list[dict[str, Any]]:
    findings = json.loads(terminal.run("doctor", "--json").out)["findings"]
    return [finding for finding in findings if finding["about"] == "recall by meaning"]


def test_a_light_embedder_is_made_chosen_and_shown(library: Terminal) -> None:
    bert_folder(library.home / ".tacit" / "embedders" / "tiny")
    made = library.run("index", "--light")
    assert made.code == 0, made.err
    assert 'embedder = "light"' in made.out
    again = library.run("index", "--light")
    assert again.code == 2
    (encoder, waiting) = told(library)
    assert encoder["state"] == "ok"
    assert (waiting["state"], waiting["message"].split()[0]) == ("note", "5")
    settings(library, "light")
    assert library.run("index", "--json").json["embedded"] == 5
    (light,) = told(library)
    assert light["state"] == "ok"
    assert light["message"].startswith("Tiny-L2-static/")


def test_the_doctor_names_a_broken_model_and_says_why_there_is_none(library: Terminal) -> None:
    settings(library, "none")
    (none,) = told(library)
    assert (none["state"], none["message"].split(":")[0]) == ("off", "keyword search only")
    settings(library, "unheard")
    (gone,) = told(library)
    assert gone["state"] == "fault"
    assert "unheard" in gone["message"]


def test_the_doctor_names_a_broken_model_before_there_is_a_store(terminal: Terminal) -> None:
    settings(terminal, "unheard")
    (gone,) = told(terminal)
    assert gone["state"] == "fault"
    settings(terminal, "none")
    assert told(terminal) == []


def test_a_light_embedder_needs_an_encoder(library: Terminal) -> None:
    done = library.run("index", "--light")
    assert done.code == 2 or "made" in done.out  # a machine may have an encoder installed
