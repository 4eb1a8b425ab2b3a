"""`tacit eval recall` as people and programs call it: figures of their own library, and plain words about bad files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Terminal

SKILLS = {
    "rotate-database-password": "Rotate the password of the invoice database.",
    "purge-image-cache": "Purge the cache of the thumbnail images.",
    "export-monthly-report": "Export the monthly report as a spreadsheet.",
}
ASKED: list[dict[str, Any]] = [
    {"query": "rotate the password of the database", "relevant": ["rotate-database-password"]},
    {"query": "purge the thumbnail image cache", "relevant": {"purge-image-cache": 2}},
    {"query": "export the monthly report", "relevant": ["purge-image-cache"]},
    {"query": "water the plants on the balcony", "relevant": []},
]


@pytest.fixture
def library(terminal: Terminal) -> Terminal:
    for name, description in SKILLS.items():
        skill = {"name": name, "description": description, "steps": [{"text": f"Do it: {description}"}]}
        assert terminal.run("propose", "-", stdin=json.dumps(skill)).code == 0
        assert terminal.type("review", name, "--approve").code == 0
    return terminal


def questions(terminal: Terminal, *rows: object) -> str:
    path = terminal.project / "asked.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.name


def test_a_person_sees_figures_silence_and_the_worst_question(library: Terminal) -> None:
    done = library.run("eval", "recall", questions(library, *ASKED))
    assert done.code == 0, done.err
    assert "hit@1" in done.out
    assert "0.667" in done.out
    here, absent = (line.partition(": ") for line in done.out.splitlines() if "question" in line and ": " in line)
    assert " 3 questions " in here[0]
    assert here[2].startswith("2 right, 1 wrong, 0 without")
    assert " 1 question " in absent[0]
    assert absent[2].startswith("1 without")
    assert f"line 3: {ASKED[2]['query']}" in done.out
    assert f"expected {ASKED[2]['relevant'][0]}" in done.out


def test_a_program_gets_one_document_with_every_answer(library: Terminal) -> None:
    done = library.run("eval", "recall", questions(library, *ASKED), "--leave-out", "--json")
    assert done.code == 0, done.err
    report = done.json
    assert (report["questions"], report["here"], report["absent"]) == (4, 3, 1)
    assert report["figures"]["hit@1"]["value"] == pytest.approx(2 / 3, abs=1e-4)
    assert set(report["figures"]) == {"given@1", "hit@1", "R@5", "MRR", "NDCG@10"}
    assert report["figures"]["hit@1"]["low"] <= 2 / 3 <= report["figures"]["hit@1"]["high"]
    assert 0.5 < report["presence_auroc"]["value"] <= 1
    assert report["telling_auroc"]["n"] == 7  # four questions, three of them asked again
    assert [answer["rank"] == 1 for answer in report["answers"]] == [True, True, False, False]
    assert report["answers"][2]["came"][0] == "export-monthly-report"


def test_only_what_was_given_is_stated_to_have_come(library: Terminal) -> None:
    asked = questions(library, {"query": "rotate the password of the database, monthly", "relevant": []})
    answer = library.run("eval", "recall", asked, "--json").json["answers"][0]
    assert len(answer["came"]) == min(answer["given"], 3)
    rotate, purge, _ = SKILLS
    shown = library.run("eval", "recall", questions(library, {**ASKED[1], "relevant": [rotate]}))
    assert f"expected {rotate}: " in shown.out
    assert f"returned {purge}\n" in shown.out


def test_silence_is_a_miss_and_an_answer_without_the_right_skill_a_failure(library: Terminal) -> None:
    skill = {"name": "rotate-mail-password", "description": "Rotate the password of the mail database.", "body": "Do."}
    assert library.run("propose", "-", stdin=json.dumps(skill)).code == 0
    assert library.type("review", "rotate-mail-password", "--approve").code == 0
    asked = questions(
        library,
        {"query": (query := "rotate the password of the invoice database"), "relevant": ["rotate-database-password"]},
        {"query": "thumbnail of a zebra in the distant harbour town parade", "relevant": ["purge-image-cache"]},
    )
    done = library.run("eval", "recall", asked, "--leave-out")
    assert done.code == 0, done.err
    rows = {line.strip()[: line.strip().find("  ")]: line.split() for line in done.out.splitlines()}
    assert "0.500" in rows["right skill first (no answer is a miss)"]
    assert "1.000" in rows["hit@1"]
    assert "1.000 to 1.000" not in done.out
    assert f"line 1: {query}" in done.out
    assert "without rotate-database-password " in done.out
    assert f"returned {skill['name']} (" in done.out
    again = library.run("eval", "recall", asked, "--leave-out", "--json").json["answers"]
    assert [answer["came_without"] for answer in again] == [["rotate-mail-password"], []]
    assert [answer["given_without"] for answer in again] == [1, 0]


def test_nothing_is_recorded(library: Terminal) -> None:
    before = library.run("stats", "--json").json
    assert library.run("eval", "recall", questions(library, *ASKED)).code == 0
    assert library.run("stats", "--json").json == before
    assert before["uses"] == 0


def test_questions_come_from_standard_input_or_a_table(library: Terminal) -> None:
    piped = library.run("eval", "recall", "-", "--json", stdin=json.dumps(ASKED[0]))
    (library.project / "asked.csv").write_text(
        "query,relevant\nrotate the password of the database,rotate-database-password\n", encoding="utf-8"
    )
    table = library.run("eval", "recall", "asked.csv", "--json")
    assert piped.json["figures"] == table.json["figures"]
    assert piped.json["figures"]["hit@1"]["value"] == 1.0


def test_an_unknown_label_is_a_mistake_that_names_the_nearest(library: Terminal) -> None:
    done = library.run("eval", "recall", questions(library, {"query": "purge", "relevant": ["purge-images-cache"]}))
    assert done.code == 2
    assert "purge-image-cache" in done.err
    assert "next:" in done.err


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"query": "a", "relevant": []}\n{"query": ', "line 2: no JSON"),
        (b'{"query": "a", "relevant": []}\n\xff\xfe', "line 2 is not UTF-8"),
        (b"", "has no questions"),
    ],
)
def test_a_bad_file_is_reported_with_its_line(terminal: Terminal, data: bytes, found: str) -> None:
    (terminal.project / "bad.jsonl").write_bytes(data)
    done = terminal.run("eval", "recall", "bad.jsonl")
    assert done.code == 2
    assert "bad.jsonl" in done.err
    assert found in done.err


def test_a_missing_file_is_reported_and_leaves_no_store(terminal: Terminal) -> None:
    done = terminal.run("eval", "recall", "none.jsonl", "--json")
    assert (done.code, done.json["error"]["kind"]) == (2, "NotFound")
    assert not Path(terminal.project / ".tacit").exists()
