"""`tacit recall` as people and programs call it: what was weighed is explained, the situation counts, meaning is indexed."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.providers.embedding.sentence import SentenceEncoder
from tacit.store import open_store
from tacit.text.error_signatures import error_signature
from tests.e2e.conftest import Terminal
from tests.unit.providers.embedding.small_models import bert_folder

ERROR = "OSError: [Errno 98] Address already in use: port 8080"
SKILLS = [
    SkillContent(
        kind=Kind.LESSON if name == "port-in-use" else Kind.PROCEDURE,
        name=name,
        description=description,
        steps=(SkillStep(text=step),),
        signature=error_signature(ERROR) if name == "port-in-use" else "",
    )
    for name, description, step in (
        ("rotate-database-password", "Rotate the password of the invoice database.", "Run vault rotate"),
        ("purge-image-cache", "Purge the cache of the thumbnail images.", "Empty the folder"),
        ("migrate-with-alembic", "Migrate the schema.", "alembic upgrade head"),
        ("migrate-with-flyway", "Migrate the schema.", "flyway info"),
        ("port-in-use", "What to do when the gauge port is taken.", "Stop the other gauge first."),
    )
]


def settings(terminal: Terminal, embedder: str) -> None:
    folder = terminal.home / ".tacit"
    folder.mkdir(exist_ok=True)
    (folder / "tacit.toml").write_text(f'[recall]\nembedder = "{embedder}"\n', encoding="utf-8")


@pytest.fixture
def library(terminal: Terminal) -> Terminal:
    pytest.importorskip("numpy")
    model = bert_folder(terminal.home / ".tacit" / "embedders" / "tiny")
    settings(terminal, "tiny")
    (terminal.project / ".tacit").mkdir()
    store = open_store(terminal.project / ".tacit" / "tacit.db")
    with Tacit(store, scope=Scope(Level.PROJECT), embedder=SentenceEncoder(model)) as loop:
        for made in SKILLS:
            loop.review(loop.propose(made, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    return terminal


def explained(terminal: Terminal, task: str, *more: str) -> dict[str, Any]:
    done = terminal.run("recall", task, "--explain", "--json", *more)
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


def test_a_program_sees_all_that_was_weighed_and_numbers_that_add_up(library: Terminal) -> None:
    found = explained(library, "rotate the password of the database")
    rows = found["weighed"]
    assert rows[0]["name"] == found["items"][0]["name"] == "rotate-database-password"
    assert rows[0]["given"]
    assert {"words", "meaning"} <= rows[0]["evidence"].keys()
    for row in rows:
        assert row["why"]
        if row["evidence"]:
            nats = sum(row["evidence"].values())
            assert row["score"] == pytest.approx(1 - 2.718281828 ** (-nats / 50), abs=0.002)
    assert {row["name"] for row in rows} >= {item["name"] for item in found["left_out"]}
    assert 0 < found["confidence"] <= 1


def test_a_person_sees_a_table_and_no_use_is_kept(library: Terminal) -> None:
    before = library.run("stats", "--json").json["uses"]
    done = library.run("recall", "rotate the password of the database", "--explain")
    assert done.code == 0, done.err
    for told in ("given", "confidence", "rotate-database-password", "relevance", "meaning", "nats"):
        assert told in done.out
    assert library.run("stats", "--json").json["uses"] == before
    assert explained(library, "rotate the password of the database")["use_id"] == ""


def test_silence_is_explained_with_what_came_nearest(library: Terminal) -> None:
    settings(library, "none")  # to a model of random weights everything is near
    found = explained(library, "water the plants on the balcony")
    assert found["abstained"]
    assert "nearest" in found["reason"] or "no approved skill" in found["reason"]
    assert not any(row["given"] for row in found["weighed"])
    assert "no skill fits" in library.run("recall", "water the plants on the balcony", "--explain").out


def test_a_static_skill_that_fits_is_named_in_every_answer(terminal: Terminal) -> None:
    file = terminal.project / ".claude" / "skills" / "ship-android" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: ship-android\ndescription: Sign and upload the Android app bundle.\n---\nRun it.\n")
    place = ".claude/skills/ship-android/SKILL.md"
    for options in ((), ("--explain",)):
        assert place in terminal.run("recall", "sign and upload the Android bundle", *options).out
        assert place not in terminal.run("recall", "water the plants on the balcony", *options).out


def test_what_belongs_to_another_project_is_told_as_such(library: Terminal) -> None:
    settings(library, "none")
    library.project.joinpath(".tacit").rename(library.project.parent / "kept")
    store = open_store(library.project.parent / "kept" / "lib.db")
    with Tacit(store, scope=Scope(Level.PROJECT, "lib")) as loop:
        for made in SKILLS:
            loop.review(loop.propose(made, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    there = ("--store", str(library.project.parent / "kept" / "lib.db"))
    done = library.run("recall", "migrate the schema", "--scope", "project:shop", *there)
    assert done.code == 0, done.err
    told = " ".join(done.out.split())
    assert "2 that may match belong to project:lib (`--scope project:lib` asks there)" in told
    found = explained(library, "migrate the schema", "--scope", "project:shop", *there)
    assert {(row["name"], row["why"]) for row in found["weighed"]} == {
        (f"migrate-with-{tool}", "belongs to project:lib") for tool in ("alembic", "flyway")
    }
    assert "migrate-with-alembic" in library.run("recall", "migrate the schema", "--scope", "project:lib", *there).out


def test_an_error_is_answered_whatever_the_task_says(library: Terminal) -> None:
    found = explained(library, "start the gauge", "--error", ERROR.replace("8080", "9191"))
    assert found["items"][0]["name"] == "port-in-use"
    assert found["items"][0]["reasons"][0] == "answers this very error"
    assert "port-in-use" in library.run("recall", "start it", "--error", ERROR).out


@pytest.mark.parametrize("tool", ["alembic", "flyway"])
@pytest.mark.parametrize("option", ["--last-action", "--file"])
def test_the_situation_tells_apart_what_the_words_do_not(library: Terminal, tool: str, option: str) -> None:
    value = f"{tool} history" if option == "--last-action" else f"conf/{tool}.ini"
    first = explained(library, "migrate the schema", option, value)["items"][0]
    assert first["name"] == f"migrate-with-{tool}"
    assert first["signals"]["state"] == 1.0
    assert any(reason.startswith("fits the situation: ") for reason in first["reasons"])


def test_look_alikes_are_reported_as_a_tie(library: Terminal) -> None:
    settings(library, "none")
    one, two = explained(library, "migrate the schema")["items"]
    assert one["tied_with"] == [two["name"]]
    assert two["tied_with"] == [one["name"]]
    library.variables["COLUMNS"] = "400"
    assert f"ties with {two['name']}" in library.run("recall", "migrate the schema", "--explain").out


def test_a_new_embedder_waits_for_the_index_and_words_find_meanwhile(library: Terminal) -> None:
    settings(library, "none")
    assert "meaning" not in explained(library, "purge the thumbnail cache")["weighed"][0]["signals"]
    settings(library, "tiny")
    assert library.run("index", "--json").json["embedded"] == 0  # they came with the approvals
    made = library.run("index", "--rebuild", "--json").json
    assert (made["embedded"], made["waiting"]) == (len(SKILLS), 0)
    assert made["space"].startswith("Tiny-L2/")
    assert explained(library, "purge the thumbnail cache")["weighed"][0]["signals"]["meaning"] > 0
    assert library.run("verify").code == 0


@pytest.mark.parametrize("task", ["漢字 を 直す ¿¡?! \u202e", "🚀" * 50 + "x" * 20_000, "--", "' OR 1=1 -- NEAR(a b)"])
def test_any_text_gets_an_answer(library: Terminal, task: str) -> None:
    done = library.run("recall", "--explain", "--json", "--file", "\u202e/*", "--last-action", "*", "--", task)
    assert done.code == 0, done.err
    assert done.json["task"] == task
