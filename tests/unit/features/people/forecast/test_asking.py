"""What is asked before a task: what its words leave open, what was asked of tasks like it, and what somebody wants to know."""

from __future__ import annotations

from tacit.domain.choice import ChoiceSort
from tacit.domain.moment import Aspect
from tacit.features.people.forecast import open_questions
from tacit.features.people.forecast.asking import aspect_of, key_of
from tests.unit.features.people.forecast.deciding import choice


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
