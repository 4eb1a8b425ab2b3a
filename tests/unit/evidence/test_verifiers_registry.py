"""Verifiers by name: who may choose which, what a name needs, and plug-ins that load or do not."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit.domain.errors import ConfigError, Mistake, NotPermitted
from tacit.domain.evidence import Use
from tacit.domain.ports import Check
from tacit.domain.skill import Condition, Kind, SkillContent
from tacit.evidence.replay import Replay
from tacit.evidence.verifiers.checks import CIResult, Command, FileState, Person, Postconditions, Tests
from tacit.evidence.verifiers.registry import BUILT_IN, Context, described, verifier
from tests.raising import raises

SKILL = SkillContent(
    kind=Kind.NORM, name="s", description="d", body="b",
    postconditions=(Condition(text="it is there", check="test -f built.txt"),),
)  # fmt: skip


def context(folder: Path, *, person: bool = False) -> Context:
    use = Use(version_ids=("v_1",), task="t", at=datetime.now(UTC))
    return Context(project=folder, use=use, contents=[SKILL], person=person, by="ann")


@pytest.mark.parametrize(
    ("name", "argument", "kind"),
    [
        ("command", "pytest -q", Command),
        ("tests", "make test", Tests),
        ("postconditions", "", Postconditions),
        ("file", "a.txt exists", FileState),
        ("ci", "junit.xml", CIResult),
        ("replay", "", Replay),
        ("person", "success it works", Person),
    ],
)
def test_names_lead_to_verifiers(tmp_path, name, argument, kind):
    assert isinstance(verifier(name, argument, context(tmp_path, person=True)), kind)


def test_built_in_verifiers_are_registered_like_any_other():
    root = Path(__file__).parents[3]
    registered = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["tacit.verifiers"]
    assert registered == {name: f"{make.__module__}:{name}" for name, make in BUILT_IN.items()}
    assert all(described()[name] for name in BUILT_IN)


@pytest.mark.parametrize("name", ["command", "tests", "file", "ci"])
def test_verifier_without_its_argument_is_a_mistake(tmp_path, name):
    with pytest.raises(Mistake):
        verifier(name, " ", context(tmp_path))


@pytest.mark.parametrize(
    "text", ["true", "echo ok", "exit 0", "test 1 = 1", "ls", "pytest || true", "PATH=/tmp/x pytest"]
)
@pytest.mark.parametrize("person", [True, False])
def test_what_proves_nothing_is_no_verifier_whoever_asks(tmp_path, text, person):
    with raises(Mistake, "weak_check"):
        verifier("command", text, context(tmp_path, person=person))


@pytest.mark.parametrize(
    ("text", "reserved"),
    [
        ("pytest -q", False),
        ("test -f built.txt", False),
        ("test -f other.txt", True),
        ("ruff check .", True),
        ("pytest -k easy", True),
        ("pytest tests/test_easy.py", True),
        ("PYTHONPATH=/tmp/evil pytest", True),
        ("PYTHONPATH=src pytest", True),
        ("pytest -q ../evil", True),
        ("cd ../evil && pytest -q", True),
        ("pytest -qk true", True),
        ("make test PYTHON=true", True),
        ("make test", False),
    ],
)
def test_only_own_checks_and_whole_test_runs_count_unless_a_person_chose(tmp_path, text, reserved):
    chosen = verifier("command", text, context(tmp_path))
    assert isinstance(chosen, Command)
    assert bool(chosen.reservation) is reserved
    by_person = verifier("command", text, context(tmp_path, person=True))
    assert isinstance(by_person, Command)
    assert not by_person.reservation


def test_reason_tells_what_would_count(tmp_path):
    chosen = verifier("command", "pytest -qk true", context(tmp_path))
    assert isinstance(chosen, Command)
    assert "`pytest -q`" in chosen.reservation
    assert "the skill's own check counts" in chosen.reservation


def test_person_is_made_only_for_a_person(tmp_path):
    with pytest.raises(NotPermitted):
        verifier("person", "success", context(tmp_path))
    with raises(Mistake, "unknown_verdict"):
        verifier("person", "fine", context(tmp_path, person=True))


def test_values_of_parameters_are_read(tmp_path):
    made = verifier("postconditions", "table=orders note='two words'", context(tmp_path))
    assert isinstance(made, Postconditions)
    assert made.parameters == {"table": "orders", "note": "two words"}
    for wrong in ("orders", "a='"):
        with pytest.raises(Mistake):
            verifier("postconditions", wrong, context(tmp_path))


def test_unknown_name_lists_those_that_there_are(tmp_path):
    with raises(Mistake, "unknown_verifier") as mistake:
        verifier("magic", "x", context(tmp_path))
    assert "postconditions" in mistake.value.hint


class Weather:
    """A verifier of another package."""

    def __init__(self, argument: str, _: Context) -> None:
        self.argument = argument

    def verify(self) -> Check:
        return Check(passed=self.argument == "sun", verifier="weather")


def test_plug_ins_are_loaded_when_asked_for_and_a_broken_one_is_reported(tmp_path, monkeypatch):
    package = tmp_path / "weather-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[tacit.verifiers]\nweather = tests.unit.evidence.test_verifiers_registry:Weather\nbroken = no_such_package:thing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert verifier("weather", "sun", context(tmp_path)).verify().passed
    assert described()["weather"].startswith("from ")
    with raises(ConfigError, "verifier_broken"):
        verifier("broken", "x", context(tmp_path))
