"""An intake: questions with forecasts, answers that settle them, and what the session may take for granted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.domain.skill import Kind
from tacit.features.people.intake import Ask, Interview, aspect_of, key_of, open_questions
from tacit.features.people.ledger_entries import Aspect, Assumption, Choice, ChoiceSort, Forecast, Held
from tests.raising import raises
from tests.unit.features.people.deciding import choice
from tests.unit.features.people.knowing import memory


def keys(task: str, **options: object) -> list[str]:
    return [ask.key for ask in open_questions(task, **options)]  # type: ignore[arg-type]


def test_a_task_that_says_little_leaves_all_four_open() -> None:
    assert keys("Add a currency field") == ["scope", "approach", "preferences", "complexity"]


def test_what_the_task_says_is_not_asked() -> None:
    assert "scope" not in keys("Add a currency field, only to invoices")
    assert "approach" not in keys("Add a currency field using the existing enum")
    assert "complexity" not in keys("A quick one: add a currency field")
    assert "preferences" not in keys("Add a currency field; I prefer short names")


def test_given_questions_come_first_and_once() -> None:
    asked = keys("Add a currency field", given=["Which database?", "Which  database?", " "])
    assert asked[0] == "which-database"
    assert asked.count("which-database") == 1


def test_what_was_asked_of_a_task_like_it_is_asked_again() -> None:
    earlier = [
        choice(
            1,
            "yes",
            sort=ChoiceSort.ANSWER,
            situation="Add a date field to invoices",
            stimulus="Is a migration needed?",
            features={"question": "is-a-migration-needed"},
        )
    ]
    assert "is-a-migration-needed" in keys("Add a currency field to invoices", earlier=earlier)
    assert "is-a-migration-needed" not in keys("Write the release notes", earlier=earlier)


def test_a_question_knows_what_it_is_about() -> None:
    assert aspect_of("Which files are part of it?") is Aspect.SCOPE
    assert aspect_of("How large may it be?") is Aspect.COMPLEXITY
    assert aspect_of("Do you prefer tabs?") is Aspect.PREFERENCES
    assert aspect_of("Which database?") is Aspect.APPROACH


def test_a_question_without_words_has_a_key() -> None:
    assert key_of("???") == "question"


@pytest.fixture
def loop() -> Iterator[Tacit]:
    with memory() as made:
        yield made


def talk(loop: Tacit, task: str = "Add a currency field", person: str = "ann") -> Interview:
    return Interview(loop, task=task, person=person, session_id="s1")


def asked(interview: Interview, key: str) -> Ask:
    return next(ask for ask in interview.questions() if ask.key == key)


def answer_often(loop: Tacit, text: str, *, times: int = 6) -> None:
    for number in range(times):
        other = talk(loop, f"Add a field number {number}")
        ask = asked(other, "complexity")
        other.announce(ask, shown=False)
        other.answer(ask, text)


def test_an_answer_is_kept_as_decision_forecast_and_assumption(loop: Tacit) -> None:
    interview = talk(loop)
    interview.announce(asked(interview, "complexity"))
    done = interview.answer(asked(interview, "complexity"), " small ")
    [choice] = loop.context.store.entries(Choice)
    assert (choice.sort, choice.response, choice.session_id) == (ChoiceSort.ANSWER, "small", "s1")
    assert loop.context.store.entries(Forecast)[-1].actual == "small"
    [assumption] = loop.context.store.entries(Assumption, session_id="s1")
    assert (assumption.aspect, assumption.held, assumption.task) == (
        Aspect.COMPLEXITY,
        Held.OPEN,
        "Add a currency field",
    )
    assert assumption.text.endswith("small")
    assert done.assumptions == (assumption,)


def test_what_is_answered_again_and_again_is_expected(loop: Tacit) -> None:
    answer_often(loop, "small")
    interview = talk(loop)
    known = interview.expect(asked(interview, "complexity"))
    assert known.posterior == "small"
    assert not interview.expect(asked(interview, "approach")).known or known.posterior != ""


def test_the_difference_to_what_was_expected_is_learned(loop: Tacit) -> None:
    answer_often(loop, "small", times=12)
    interview = talk(loop)
    ask = asked(interview, "complexity")
    assert interview.announce(ask).posterior == "small"
    done = interview.answer(ask, "large", reason="Currencies touch every report we have.")
    assert done.decided is not None
    assert done.decided.forecast is not None
    assert done.decided.forecast.surprise
    assert done.decided.choice.explicit
    wrong, holds = done.assumptions
    assert (wrong.held, wrong.instead) == (Held.WRONG, "large")
    assert (holds.held, holds.text.endswith("large")) == (Held.OPEN, True)
    assert [held.version.content.kind for held in loop.reviews.waiting()] == [Kind.PREFERENCE]


def test_confirming_what_was_expected_teaches_no_preference(loop: Tacit) -> None:
    answer_often(loop, "small", times=12)
    interview = talk(loop)
    interview.announce(asked(interview, "complexity"))
    done = interview.answer(asked(interview, "complexity"), "small", reason="as always")
    assert done.decided is not None
    assert done.decided.forecast is not None
    assert not done.decided.forecast.surprise
    assert loop.reviews.waiting() == []


def test_no_answer_keeps_nothing(loop: Tacit) -> None:
    interview = talk(loop)
    done = interview.answer(asked(interview, "scope"), "  ")
    assert done.decided is None
    assert loop.context.store.entries(Choice) == []
    assert loop.context.store.entries(Assumption) == []


def test_an_answer_is_spelled_as_before(loop: Tacit) -> None:
    interview = talk(loop)
    interview.answer(asked(interview, "approach"), "Test first")
    other = talk(loop, "Another thing")
    assert other.answer(asked(other, "approach"), "test FIRST").answer == "Test first"
    assert other.answer(asked(other, "complexity"), "SMALL").answer == "small"


def test_what_ann_answers_is_not_expected_of_bob(loop: Tacit) -> None:
    answer_often(loop, "small", times=12)
    interview = talk(loop, person="bob")
    assert not interview.expect(asked(interview, "complexity")).known


def test_secrets_are_not_kept(loop: Tacit) -> None:
    interview = talk(loop, "Rotate AKIAIOSFODNN7MUSTERX")
    interview.answer(asked(interview, "approach"), "use AKIAIOSFODNN7MUSTERX")
    [choice] = loop.context.store.entries(Choice)
    assert "AKIAIOSFODNN7MUSTERX" not in f"{choice.situation} {choice.response}"


def test_a_task_is_needed(loop: Tacit) -> None:
    with raises(Mistake, "no_task"):
        talk(loop, "  ")


def test_answers_to_another_question_say_nothing_of_this_one(loop: Tacit) -> None:
    answer_often(loop, "small", times=8)
    interview = talk(loop)
    assert interview.expect(asked(interview, "complexity")).posterior == "small"
    for key in ("scope", "approach", "preferences"):
        known = interview.expect(asked(interview, key))
        assert not known.known, key
        assert not known.guess, key
    assert interview.expect(asked(interview, "complexity")).posterior == "small", "and are not forgotten by asking"
