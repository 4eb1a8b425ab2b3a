"""Recall by meaning with a real embedder: rewordings are found, identifiers stay first, chatter is met with silence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.api import Tacit
from tacit.config.settings import Config, RecallSettings
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin
from tacit.providers.embedding.embedder_choice import MINILM
from tests.e2e.conftest import Terminal
from tests.lengths import EXHAUSTIVE

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


# --- setting it up --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hub:
    """A hub on loopback: its address, and what it was asked, each with whether an account was named."""

    address: str
    asked: list[tuple[str, bool]]


@contextmanager
def hub_of(content: Callable[[str], bytes]) -> Iterator[Hub]:
    """Serve the files of the model at its revision."""
    asked: list[tuple[str, bool]] = []
    before = f"/{MINILM.repository}/resolve/{MINILM.revision}/"

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            asked.append((self.path, "Authorization" in self.headers))
            path = self.path.removeprefix(before)
            data = content(path) if path in MINILM.files else b""
            self.send_response(200 if data else 404)
            self.send_header("X-Repo-Commit", MINILM.revision)
            self.send_header("ETag", f'"{len(data)}"')
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_address[1]}", asked)
    finally:
        server.shutdown()
        server.server_close()


def test_a_model_is_set_up_from_the_hub_and_used_without_it(
    library: Library, terminal: Terminal, weights: Path
) -> None:
    row = next(row for row in library.reworded if library.first(row["query"]) == row["name"])
    terminal.variables |= {"TACIT_STORE": str(library.database), "HF_TOKEN": "hf_a-token-that-opens-nothing"}
    with hub_of(lambda path: (weights / path).read_bytes()) as hub:
        terminal.variables["HF_ENDPOINT"] = hub.address
        planned = terminal.run("init", "--meaning", "--dry-run", "--json").json
        assert (planned["license"], planned["size"], planned["written"]) == ("Apache-2.0", MINILM.size, False)
        assert terminal.type("init", "--meaning", answers={"Download it?": "n\n"}).code == 3
        assert not hub.asked, "nothing is downloaded without a yes"
        done = terminal.type("init", "--meaning", answers={"Download it?": "y\n"}, timeout_s=300)
        assert done.code == 0, done.out
        assert hub.asked
        assert not any(named for _, named in hub.asked), "no account is used"
    folder = terminal.home / ".tacit" / "embedders" / "all-MiniLM-L6-v2"
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]
    found = terminal.run("recall", row["query"], "--scope", str(library.loop.context.scope), "--explain", "--json")
    assert found.code == 0, found.err
    assert found.json["weighed"][0]["name"] == row["name"]
    assert "meaning" in found.json["weighed"][0]["evidence"]
    assert terminal.run("init", "--meaning", "--yes").code == 0, "it is there already, so no hub is asked"


def test_another_file_than_the_published_one_is_not_taken(terminal: Terminal) -> None:
    pytest.importorskip("huggingface_hub")
    with hub_of(lambda path: b"{}") as hub:
        terminal.variables["HF_ENDPOINT"] = hub.address
        done = terminal.run("init", "--meaning", "--yes", "--json")
    assert (done.code, done.json["error"]["code"]) == (4, "model_changed")
    assert list((terminal.home / ".tacit" / "embedders").iterdir()) == []


@pytest.mark.parametrize("is_reached", [True, *([False] if EXHAUSTIVE else [])])  # it waits long for one that is not
def test_without_a_hub_that_gives_it_nothing_changes_and_search_goes_by_words(
    approved: Terminal, is_reached: bool
) -> None:
    pytest.importorskip("huggingface_hub")
    with hub_of(lambda path: b"") as hub:
        approved.variables["HF_ENDPOINT"] = hub.address
        done = approved.run("init", "--meaning", "--yes", "--json") if is_reached else None
    done = done or approved.run("init", "--meaning", "--yes", "--json")
    assert (done.code, done.json["error"]["code"]) == (4, "model_not_fetched")
    checks = approved.run("doctor", "--json").json["findings"]
    assert [each["state"] for each in checks if each["about"] == "recall by meaning"] == ["off"]
    assert approved.run("recall", "Add a column", "--json").code == 0
