"""Recall by meaning with a real embedder: rewordings are found, identifiers stay first, chatter is met with silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.api import Tacit
from tacit.config.settings import Config, RecallSettings
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin
from tests.e2e.conftest import Terminal

DATA = Path(__file__).parents[3] / "bench" / "data"
REWORDED = 40
IDENTIFIERS = 12
CHATTER = ["what shall we have for dinner", "tell me a joke", "how was your weekend?", "sing me a song about the sea"]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class Library:
    """A library of skills, found by words and meaning, and where it lies."""

    loop: Tacit
    database: Path
    reworded: list[dict[str, Any]]
    identifiers: list[dict[str, Any]]

    def first(self, text: str) -> str:
        items = self.loop.recall(text, keep=False).items
        return items[0].name if items else ""


@pytest.fixture(scope="module")
def library(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    database = tmp_path_factory.mktemp("meaning") / "tacit.db"
    config = Config(recall=RecallSettings(embedder=str(weights)))
    reworded = rows("reworded.jsonl")[:REWORDED]
    identifiers = [row for row in rows("identifiers.jsonl") if "query" in row][:IDENTIFIERS]
    with tacit.open(database, config=config) as loop:
        for row in reworded + identifiers:
            made = SkillContent(kind=Kind.PROCEDURE, name=row["name"], description=row["description"], body=row["body"])
            verdict = loop.propose(made, by="ann", origin=Origin.USER)
            loop.review(verdict.version_id, "approve", by="ann")
        yield Library(loop, database, reworded, identifiers)


def test_approval_alone_gave_every_skill_its_vectors(library: Library) -> None:
    assert library.loop.context.embedder is not None
    assert library.loop.context.store.vectors.spaces() == {
        library.loop.context.embedder.identity: REWORDED + IDENTIFIERS
    }
    assert library.loop.library.index().embedded == 0
    assert library.loop.archive.verify() == []


def test_what_is_asked_in_other_words_is_found_where_words_alone_find_next_to_nothing(library: Library) -> None:
    found = [library.first(row["query"]) == row["name"] for row in library.reworded]
    by_words = Tacit(library.loop.context.store, config=library.loop.context.config, scope=library.loop.context.scope)
    alone = [
        [item.name for item in by_words.recall(row["query"], keep=False).items][:1] == [row["name"]]
        for row in library.reworded
    ]
    assert sum(found) / len(found) >= 0.5
    assert sum(found) > sum(alone) + 10


def test_identifiers_stay_first(library: Library) -> None:
    assert [library.first(row["query"]) for row in library.identifiers] == [row["name"] for row in library.identifiers]


@pytest.mark.parametrize("text", CHATTER)
def test_chatter_is_met_with_silence(library: Library, text: str) -> None:
    selection = library.loop.recall(text, keep=False)
    assert selection.abstained, [(item.name, item.signals) for item in selection.items]
    assert "nearest" in selection.reason


@pytest.mark.parametrize("text", ["\ud800 lone", "漢字", "🚀" * 300, "word " * 900, "\x00\x1b[2J"])
def test_any_text_is_embedded(library: Library, text: str) -> None:
    assert library.loop.recall(text, keep=False).note == ""


def test_the_command_line_says_that_meaning_carried_it(library: Library, terminal: Terminal, weights: Path) -> None:
    row = next(row for row in library.reworded if library.first(row["query"]) == row["name"])
    (terminal.home / ".tacit").mkdir(exist_ok=True)
    (terminal.home / ".tacit" / "tacit.toml").write_text(f"[recall]\nembedder = {json.dumps(str(weights))}\n")
    terminal.variables["TACIT_STORE"] = str(library.database)
    done = terminal.run("recall", row["query"], "--scope", str(library.loop.context.scope), "--explain", "--json")
    assert done.code == 0, done.err
    best = done.json["weighed"][0]
    assert best["name"] == row["name"]
    assert next(iter(best["evidence"])) == "meaning"
    assert best["evidence"]["meaning"] > best["evidence"].get("words", 0.0)
    assert "close in meaning" in best["why"]
