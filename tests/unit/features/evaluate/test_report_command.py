"""`tacit eval report`: the verdict for people, one document for programs, and Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.run_record import RunHeader, RunRecord
from tacit.features.evaluate.suite import ARMS
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.unit.features.evaluate.measured import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = run({"none": 0.4, "skills": 0.8, "placebo": 0.1})
    arms = tuple(ARMS[name] for name in ("none", "skills", "placebo"))
    states = {row.exercise: "fresh" for row in rows}
    with RunRecord(
        tmp_path / "run", RunHeader(suite="shop", suite_hash="h", arms=arms, agent="ann", states=states)
    ) as record:
        record.append(rows)
    return tmp_path / "run"


def report(*arguments: str | Path) -> Result:
    ctx = CommandContext(environment=UserEnvironment.read())
    return CliRunner().invoke(cli, ["eval", "report", *map(str, arguments)], obj=ctx)


def codes(folder: Path) -> list[str]:
    return [each["code"] for each in json.loads(report(folder, "--json").stdout)["limitations"]]


def test_a_person_reads_the_verdict_first(folder):
    text = report(folder).output
    document = json.loads(report(folder, "--json").stdout)
    assert text.split()[:5] == document["verdict"].split()[:5]
    assert document["summary"]["better"] == ["skills"]
    assert document["summary"]["worse"] == ["placebo"]


def test_a_program_gets_one_document(folder):
    found = json.loads(report(folder, "--json").stdout)
    assert found["agent"] == "ann"
    assert [arm["arm"] for arm in found["arms"]] == ["none", "skills", "placebo"]


def test_another_arm_can_be_the_reference(folder):
    found = json.loads(report(folder, "--json", "--reference", "skills").stdout)
    assert found["arms"][0]["arm"] == "skills"
    assert all(arm["differences"]["success"]["value"] < 0 for arm in found["arms"][1:])


def test_aided_and_silent_attempts_are_shown(folder):
    text = report(folder).output
    assert "\nskills: aided 40 of 40\n" in text
    assert "arm: retries, abstained." in text  # and no column or line for each arm


def test_the_first_exercises_that_were_lost_are_listed_and_all_are_in_the_document(folder):
    text = report(folder).output
    lost = json.loads(report(folder, "--json").stdout)["arms"][2]["regressions"]
    assert all(f"  {each['exercise']} (stopped too early)" in text for each in lost[:5])
    assert lost[5]["exercise"] not in text


def test_a_run_that_broke_off_before_its_first_attempt_is_reported(tmp_path):
    header = RunHeader(suite="shop", suite_hash="h", arms=(ARMS["none"],), agent="ann", states={"a": "fresh"})
    with RunRecord(tmp_path / "run", header):
        pass
    found = report(tmp_path / "run")
    assert isinstance(found.exception, Mistake)
    assert found.exception.code == "no_attempts"


def test_a_record_whose_seals_were_taken_away_is_reported(folder):
    assert "no_seals" not in codes(folder)
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**header, "sealed": False}))
    rows = (folder / "rows.jsonl").read_text()
    (folder / "rows.jsonl").write_text(rows.replace('"success":false', '"success":true'))
    assert codes(folder)[0] == "no_seals"


def test_an_earlier_run_shows_what_was_forgotten(folder):
    found = json.loads(report(folder, "--json", "--before", folder).stdout)
    assert {name: each["value"] for name, each in found["forgetting"].items()} == dict.fromkeys(
        ("none", "skills", "placebo"), 0.0
    )


def test_a_folder_without_a_run_is_refused(tmp_path):
    assert isinstance(report(tmp_path).exception, NotFound)


def test_an_arm_that_was_not_run_cannot_be_the_reference(folder):
    found = report(folder, "--reference", "oracle")
    assert isinstance(found.exception, Mistake)
    assert found.exception.code == "cannot_compare"
