"""`tacit eval report`: the verdict for people, one document for programs, Markdown, and a page in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.run_record import UNSEALED, Header, Record
from tacit.features.evaluate.suite import ARMS
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.unit.features.evaluate.measured import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = run({"none": 0.4, "skills": 0.8, "placebo": 0.1})
    arms = tuple(ARMS[name] for name in ("none", "skills", "placebo"))
    states = {row.exercise: "fresh" for row in rows}
    with Record(
        tmp_path / "run", Header(suite="shop", suite_hash="h", arms=arms, agent="ann", states=states)
    ) as record:
        record.append(rows)
    return tmp_path / "run"


def report(*arguments: str | Path) -> Result:
    ctx = CommandContext(environment=UserEnvironment.read())
    return CliRunner().invoke(cli, ["eval", "report", *map(str, arguments)], obj=ctx)


def test_a_person_reads_the_verdict_first(folder):
    said = report(folder).output
    assert said.startswith("Against none")
    assert said.index("better: skills") < said.index("worse: placebo") < said.index("Not measured")


def test_a_program_gets_one_document(folder):
    found = json.loads(report(folder, "--json").stdout)
    assert found["agent"] == "ann"
    assert [arm["arm"] for arm in found["arms"]] == ["none", "skills", "placebo"]


def test_another_arm_can_be_the_reference(folder):
    found = json.loads(report(folder, "--json", "--reference", "skills").stdout)
    assert found["arms"][0]["arm"] == "skills"
    assert all(arm["differences"]["success"]["value"] < 0 for arm in found["arms"][1:])


def test_aided_and_silent_attempts_are_shown(folder):
    said = report(folder).output
    assert "\nskills: aided 40 of 40\n" in said
    assert "In every arm 0: retries, abstained." in said  # and no column or line for each arm


def test_the_first_exercises_that_were_lost_are_listed_and_all_are_in_the_document(folder):
    said = report(folder).output
    lost = json.loads(report(folder, "--json").stdout)["arms"][2]["regressions"]
    assert f"{len(lost)} exercises lost under placebo:" in said
    assert all(f"  {each['exercise']} (stopped too early)" in said for each in lost[:5])
    assert f"and {len(lost) - 5} more; --json names all of them" in said
    assert lost[5]["exercise"] not in said


def test_a_run_that_broke_off_before_its_first_attempt_is_told(tmp_path):
    header = Header(suite="shop", suite_hash="h", arms=(ARMS["none"],), agent="ann", states={"a": "fresh"})
    with Record(tmp_path / "run", header):
        pass
    found = report(tmp_path / "run")
    assert "made no attempt yet" in str(found.exception)


def test_a_record_whose_seals_were_taken_away_is_told(folder):
    assert "no seals" not in report(folder, "--markdown").output
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**header, "sealed": False}))
    rows = (folder / "rows.jsonl").read_text()
    (folder / "rows.jsonl").write_text(rows.replace('"success":false', '"success":true'))
    told = json.loads(report(folder, "--json").stdout)
    assert told["not_measured"][0] == UNSEALED
    assert "no seals" in report(folder, "--markdown").output


def test_markdown_is_printed_as_it_is(folder):
    assert report(folder, "--markdown").output.startswith("# shop: 3 arms, attempted by ann\n")


def test_the_page_is_written_to_a_file(folder, tmp_path):
    assert "Written" in report(folder, "--page", tmp_path / "page.html").output
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_page_in_a_folder_that_is_not_there_is_refused(folder, tmp_path):
    found = report(folder, "--page", tmp_path / "nowhere" / "page.html")
    assert isinstance(found.exception, Mistake)
    assert "cannot write" in str(found.exception)


def test_a_folder_without_a_run_is_refused(tmp_path):
    assert isinstance(report(tmp_path).exception, NotFound)


def test_an_arm_that_was_not_run_cannot_be_the_reference(folder):
    found = report(folder, "--reference", "oracle")
    assert "no row has the arm oracle" in str(found.exception)
