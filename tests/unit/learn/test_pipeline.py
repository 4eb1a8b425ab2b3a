"""A learning pass with a language model: it rewords what is new before the gate; without it the mined wording is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.settings import Policy, Strictness
from tacit.domain.errors import ModelOutage
from tacit.domain.lifecycle import Status
from tacit.domain.ports import LanguageModel, Prompt
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Trajectory
from tacit.providers import Limits, ScriptedModel
from tacit.store import open_store
from tests.unit.learn.attempts import attempt, bash, edit, migration, reply
from tests.unit.making import ONE_RUN

WORDS: Mapping[str, Any] = {
    "name": "add-column-by-migration",
    "description": "Adds a column to a table with a migration.",
    "when": "Use when a table needs another column.",
    "steps": [{"number": 2, "purpose": "Makes the migration that adds the column."}],
    "parameters": [],
    "pitfalls": [],
}
NONE: Mapping[str, Any] = {}
DESCRIBED = "Adds a column to a table with a migration. Use when a table needs another column."
FOUND = {
    "lessons": [
        {
            "title": "refresh revision chain before migration",
            "lesson": "Refresh the revision chain before creating the migration.",
            "spans": ["1.4"],
        }
    ]
}
OUTAGE = ModelOutage("the line is dead", hint="wait")


def other_column(column: str = "paid_at", table: str = "payments") -> Trajectory:
    """The same work as `migration` in another session."""
    return dataclasses.replace(migration(column, table), session_id=f"session-{column}", id="")


def opened(path: str | Path = ":memory:") -> Tacit:
    return Tacit(open_store(path), config=ONE_RUN)


def learned(*trajectories: Trajectory, model: LanguageModel | None = None) -> Tacit:
    loop = opened()
    loop.capture(trajectories)
    loop.learn(model=model)
    return loop


def texts(loop: Tacit) -> dict[str, str]:
    return {stored.version.name: stored.version.content.description for stored in loop.skills()}


def test_what_is_new_is_worded_before_the_gate_and_what_was_missed_comes_last():
    loop, model = opened(), ScriptedModel([WORDS, NONE, FOUND])
    loop.capture(migration())
    report = loop.learn(model=model)
    assert report.model is not None
    assert (report.model.name, report.model.new_candidates, report.model.worded, report.model.proposed) == (
        "scripted",
        2,
        1,
        1,
    )
    assert (report.model.spent.calls, report.model.remarks, report.model.stopped) == (3, (), False)
    assert [verdict.name for verdict in report.held] == [
        "add-column-by-migration",
        "run-python3-manage-py-sync-for-manage-makemigration",
        "refresh-revision-chain-before-migration",
    ]
    worded, as_mined, proposed = (loop.version(verdict.version_id).version for verdict in report.held)
    assert worded.content.description == DESCRIBED
    assert worded.provenance.model == proposed.provenance.model == "scripted"
    assert as_mined.provenance.model == ""
    assert ["model_wording" in verdict.reasons for verdict in report.held] == [True, False, True]
    assert loop.archive.verify() == []


def test_a_second_pass_asks_nothing():
    model = ScriptedModel([WORDS, NONE, FOUND])
    loop = learned(migration(), model=model)
    silent = ScriptedModel([])
    report = loop.learn(model=silent)
    assert silent.asked == []
    assert report.model is not None
    assert (report.model.new_candidates, report.model.spent.calls) == (0, 0)


def test_without_a_model_the_report_has_none():
    loop = opened()
    loop.capture(migration())
    assert loop.learn().model is None


class Watching(ScriptedModel):
    """Writes to the store, over a connection of its own, whenever it is asked: that must never have to wait."""

    def __init__(self, other: Tacit) -> None:
        super().__init__([WORDS, NONE, FOUND])
        self._other = other

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        self._other.capture(other_column(f"column_{len(self.asked)}"))
        return super().ask(prompt)


def test_a_model_is_never_asked_inside_a_transaction(tmp_path: Path):
    with (
        opened(tmp_path / "tacit.db") as loop,
        opened(tmp_path / "tacit.db") as other,
    ):
        loop.capture(migration())
        model = Watching(other)
        loop.learn(model=model)
        assert len(model.asked) == 3
        assert loop.archive.stats().trajectories == 4


class Overtaken(ScriptedModel):
    """While it thinks, another process learns everything."""

    def __init__(self, other: Tacit) -> None:
        super().__init__([WORDS, *[NONE] * 20])
        self._other = other

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        self._other.learn()
        return super().ask(prompt)


def test_what_another_process_learned_meanwhile_is_neither_asked_about_nor_kept_twice(tmp_path: Path):
    with (
        opened(tmp_path / "tacit.db") as loop,
        opened(tmp_path / "tacit.db") as other,
    ):
        loop.capture([migration(), other_column(), other_column("sent_at", "letters")])
        model = Overtaken(other)
        loop.learn(model=model)
        asked = [prompt.instructions.startswith("You improve the wording") for prompt in model.asked]
        assert asked.count(True) == 1  # the procedure of the first session, begun before
        assert not any(stored.version.provenance.model for stored in loop.skills())
        assert loop.archive.verify() == []


@pytest.mark.parametrize("answer", [OUTAGE, NONE, {"name": 7, "steps": "all"}])
def test_a_model_that_fails_or_says_nothing_of_use_leaves_what_was_mined(answer):
    mined = learned(migration(), other_column())
    asked = learned(migration(), other_column(), model=ScriptedModel([answer] * 20))
    hashes = [[stored.version.hash for stored in loop.skills()] for loop in (mined, asked)]
    assert hashes[0] == hashes[1]
    assert not any(stored.version.provenance.model for stored in asked.skills())


def test_where_a_limit_is_reached_the_rest_is_as_it_was_mined_and_a_remark_says_so():
    loop, model = (
        opened(),
        ScriptedModel([WORDS], limits=Limits(calls=1, tokens=10**9, usd=0.0)),
    )
    loop.capture(migration())
    report = loop.learn(model=model)
    assert report.model is not None
    assert (report.model.worded, report.model.new_candidates, report.model.stopped) == (1, 2, True)
    assert [remark.reason.code for remark in report.model.remarks] == ["over_budget"]
    assert len(report.held) == 2


def test_words_stay_when_the_same_is_learned_again_without_a_model():
    loop = learned(migration(), other_column(), model=ScriptedModel([WORDS, WORDS, *[NONE] * 6]))
    before = loop.version("add-column-by-migration").version
    loop.capture(other_column("sent_at", "letters"))
    report = loop.learn()
    assert "add-column-by-migration" in [verdict.name for verdict in report.reinforced]
    assert loop.version("add-column-by-migration").version == before
    assert "Makes the migration that adds the column." in before.content.steps[1].text


def test_a_next_version_that_keeps_a_models_words_names_the_model():
    loop = learned(migration(), model=ScriptedModel([WORDS, NONE, NONE]))
    loop.capture(other_column())
    report = loop.learn()
    (verdict,) = [each for each in report.held if each.name == "add-column-by-migration"]
    version = loop.version(verdict.version_id).version
    assert version.parents
    assert (version.content.description, version.provenance.model) == (DESCRIBED, "scripted")
    assert "model_wording" in verdict.reasons


def test_the_same_work_again_costs_no_call():
    loop = learned(migration(), other_column(), model=ScriptedModel([WORDS, *[NONE] * 20]))
    model = ScriptedModel([])
    loop.capture([other_column("sent_at", "letters"), other_column("seen_at", "visits")])
    report = loop.learn(model=model)
    assert report.trajectories == 2
    assert model.asked == []
    assert texts(loop)["add-column-by-migration"].startswith("Adds a column")


def test_a_rejected_wording_is_not_asked_for_again():
    loop = learned(migration(), model=ScriptedModel([WORDS, NONE, NONE]))
    for stored in loop.reviews.waiting():
        loop.review(stored.version.id, "reject", by="ann")
    waiting = ScriptedModel([NONE] * 5)
    loop.learn(model=waiting)
    assert waiting.asked == []
    assert {stored.status for stored in loop.skills()} == {Status.REJECTED}


def test_an_open_dial_lets_no_words_of_a_model_pass_unread():
    work = attempt(
        "Make the totals round to cents.",
        edit("shop/totals.py", "return total", "return round(total, 2)"),
        edit("shop/invoice.py", "sum(parts)", "total_of(parts)"),
        edit("shop/letter.py", "sum(parts)", "total_of(parts)"),
        bash("python3 -m unittest -q", "Ran 9 tests\n\nOK"),
        reply("Done."),
    )
    born = []
    for model in (None, ScriptedModel([{**WORDS, "name": "round-totals", "steps": []}, NONE])):
        loop = Tacit(
            open_store(":memory:"), config=dataclasses.replace(ONE_RUN, policy=Policy(strictness=Strictness.OPEN))
        )
        loop.capture(dataclasses.replace(work, session_id=session, id="") for session in ("first", "second"))
        loop.learn(model=model)
        (stored,) = [each for each in loop.skills() if each.version.content.kind is Kind.PROCEDURE]
        born.append((stored.version.provenance.model, stored.status))
    assert born == [("", Status.TRIAL), ("scripted", Status.CANDIDATE)]
