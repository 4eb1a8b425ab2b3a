"""`tacit index`: a damaged index is named, made anew and right again; without an embedder nothing is asked for."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tests.e2e.conftest import Terminal

EVERYTHING = {"rows", "embedded", "waiting", "space", "dropped"}


def harm(terminal: Terminal, statement: str) -> None:
    database = apsw.Connection(str(terminal.project / ".tacit" / "tacit.db"))
    database.execute(statement).fetchall()
    database.close()


@pytest.fixture
def without_embedder(terminal: Terminal, transcripts: Path) -> Terminal:
    (terminal.project / "tacit.toml").write_text('[recall]\nembedder = "none"\n')
    assert terminal.run("learn", str(transcripts), "--json").code == 0
    return terminal


def test_without_an_embedder_there_is_nothing_to_embed(without_embedder: Terminal) -> None:
    told = without_embedder.run("index")
    assert told.code == 0
    assert "keyword search only" in told.out
    found = without_embedder.run("index", "--json").json
    assert found.keys() == EVERYTHING
    assert (found["rows"], found["embedded"], found["space"]) == (0, 0, "")


def test_a_damaged_index_is_named_and_made_anew(without_embedder: Terminal) -> None:
    harm(without_embedder, "UPDATE version_counts SET documents = documents + 1")
    damaged = without_embedder.run("verify")
    assert damaged.code == 4
    assert "index --rebuild" in damaged.err
    made = without_embedder.run("index", "--rebuild", "--json")
    assert made.code == 0
    counted = without_embedder.run("stats", "--json").json
    assert made.json["rows"] >= counted["versions"] + counted["trajectories"] > 0
    assert without_embedder.run("verify").code == 0
