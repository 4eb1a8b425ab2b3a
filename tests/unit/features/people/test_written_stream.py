"""The stream of decisions that is written down: forecasts beat the simple rules, follow changes, and do not boast."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from datetime import datetime
from functools import cache

import pytest

from tacit.features.people.calibration import SURE, Settled
from tacit.features.people.forecast import Outlook, foresee, surprised
from tacit.features.people.ledger_entries import Choice, ChoiceSort
from tacit.features.people.prediction import DecisionModel
from tacit.features.people.questions import Question
from tests.contract.project_files import ROOT

STREAM = ROOT / "bench" / "data" / "decisions.jsonl"
ANSWERS = {"ann": ("approve", "reject"), "bob": ("allow", "deny"), "cem": ("later", "never", "now")}


@cache
def forecasts(person: str) -> list[tuple[Outlook, Choice, bool]]:
    """Each decision of a person with what was expected before it, and whether a change of mind is behind it."""
    model, found = DecisionModel(), []
    record: list[Settled] = []
    for line in STREAM.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["choice"]["person"] != person:
            continue
        description = row["choice"] | {
            "at": datetime.fromisoformat(row["at"]),
            "sort": ChoiceSort(row["choice"]["sort"]),
        }
        decided = Choice(**description)
        asked = dataclasses.replace(Question.of(decided), options=ANSWERS[person])
        known = foresee(model, asked, record=record)
        found.append((known, decided, row["changed"] and not row["slipped"]))
        hit = known.guess == decided.response
        record.append(Settled(score=known.score, confidence=known.posterior_confidence, hit=hit))
        model.see(decided)
    return found


@pytest.mark.parametrize("person", ANSWERS)
def test_forecasts_are_right_more_often_than_the_most_frequent_answer_and_the_last(person: str) -> None:
    description = forecasts(person)
    counts: Counter[str] = Counter()
    majority = again = 0
    last = ""
    for _, decided, _ in description:
        majority += bool(counts) and counts.most_common(1)[0][0] == decided.response
        again += last == decided.response
        counts[decided.response] += 1
        last = decided.response
    right = sum(known.guess == decided.response for known, decided, _ in description)
    assert right > max(majority, again) + 5


def test_what_is_called_sure_comes_true_four_times_in_five_or_more() -> None:
    sure = [
        known.posterior == decided.response
        for person in ANSWERS
        for known, decided, _ in forecasts(person)
        if known.known and known.posterior_confidence >= SURE
    ]
    assert len(sure) >= 20, "it does speak"
    assert sum(sure) / len(sure) >= SURE


def test_changes_of_mind_surprise() -> None:
    met = sum(
        surprised(known.posterior, known.posterior_confidence, decided.response)
        for person in ANSWERS
        for known, decided, changed in forecasts(person)
        if changed
    )
    assert met >= 6
