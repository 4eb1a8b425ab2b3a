"""The situation: what of it a skill speaks of, and what is known to hold or not."""

from __future__ import annotations

import pytest

from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Case, Condition, SkillContent
from tacit.domain.stored import Hit
from tacit.recall import reasons
from tacit.recall.selection import select
from tacit.recall.signals import Rarity
from tacit.recall.weighing import (
    MAX_FILES,
    RecallContext,
    Situation,
    fitting_case,
    read_situation,
    situation_match,
    violated_precondition,
)
from tacit.store.lexical_search import version_words
from tacit.text.words import terms
from tests.unit.making import NOW, PROJECT, bash_steps, content, stored

CLEAN = Condition(text="the tree is clean", check="git status --porcelain")
PENDING = Condition(text="the order is pending", reading="get_order", key="status", relation="is", value="pending")
PAID = Condition(text="the order is paid", reading="get_order", key="paid", relation="is", value="yes")


def fitting(made: SkillContent, **state: object) -> tuple[float, list[str]]:
    words = frozenset().union(*version_words(made))
    return situation_match(read_situation(state), made, words)


@pytest.mark.parametrize(
    ("state", "feature"),
    [
        ({"last_action": "manage.py migrate --plan"}, "last action"),
        ({"command": "pytest -q tests"}, "command"),
        ({"files": ["src/app/migration.py"]}, "files"),
        ({"files": "src/app/migration.py"}, "files"),
        ({"environment": {"database": "database 15", "os": "linux"}}, "environment"),
    ],
)
def test_each_feature_that_a_skill_speaks_of_is_named(state, feature):
    assert fitting(content(), **state) == (1.0, [feature])


def test_the_share_of_features_counts():
    share, met = fitting(content(), last_action="pytest", files=["zebra.svg"], environment={"os": "plan9"})
    assert share == pytest.approx(1 / 3)
    assert met == ["last action"]
    assert fitting(content(), files=["zebra.svg"]) == (0.0, [])
    assert fitting(content()) == (0.0, [])


def test_of_a_command_the_program_and_its_subcommand_tell_and_of_a_path_its_last_part():
    found = read_situation({"last_action": "git rebase --onto zebra", "files": ["zebra/penguin.py"]}).features
    assert found["last action"] == set(terms("git rebase"))
    assert "zebra" not in found["files"]
    assert "penguin" in found["files"]


def test_all_words_of_a_situation_come_once_and_in_order():
    found = read_situation({"last_action": "git push", "command": "git push", "environment": {"os": "linux"}}).words
    assert found == sorted(set(found))
    assert {"git", "push", "linux"} <= set(found)


def test_of_very_many_files_the_first_are_looked_at():
    assert len(read_situation({"files": [f"f{n}.py" for n in range(1000)]}).files) == MAX_FILES


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, float("nan"), "", "text", "\ud800", [], [None, 1, [2]], {}, {"a": None, "b": [1]}, b"x"],
)
@pytest.mark.parametrize(
    "key", ["error", "command", "last_action", "files", "environment", "readings", "holds", "colour", ""]
)
def test_a_state_of_any_form_is_read(key, value):
    found = read_situation({key: value})
    made = content(preconditions=(CLEAN, PENDING), cases=(Case(conditions=(PAID,)),))
    share, met = situation_match(found, made, frozenset({"x", "text"}))
    assert 0 <= share <= 1
    assert isinstance(met, list)
    assert violated_precondition(found, made) == ""


def test_other_keys_and_forms_are_left_away():
    assert read_situation({"colour": "red", "files": 7, "holds": {"x": "yes"}, "environment": []}) == Situation()


def test_a_precondition_known_to_be_false_is_what_does_not_hold():
    made = content(preconditions=(CLEAN,))
    assert violated_precondition(read_situation({"holds": {CLEAN.text: False}}), made) == CLEAN.text
    assert violated_precondition(read_situation({"holds": {CLEAN.check: False}}), made) == CLEAN.text
    assert violated_precondition(read_situation({"holds": {CLEAN.check: True}}), made) == ""
    assert violated_precondition(read_situation({"holds": {"something else": False}}), made) == ""


def test_a_condition_without_words_is_named_by_its_check():
    made = content(preconditions=(Condition(text="", check="test -f x"),))
    assert violated_precondition(read_situation({"holds": {"test -f x": False}}), made) == "test -f x"


def test_a_reading_tells_whether_a_condition_holds():
    made = content(preconditions=(PENDING,))
    assert (
        violated_precondition(read_situation({"readings": {"get_order": '{"status": "shipped"}'}}), made)
        == PENDING.text
    )
    assert violated_precondition(read_situation({"readings": {"get_order": "status: pending"}}), made) == ""
    assert violated_precondition(read_situation({"readings": {"get_user": "status: shipped"}}), made) == ""
    told = {"readings": {"get_order": "status: shipped"}, "holds": {PENDING.text: True}}
    assert violated_precondition(read_situation(told), made) == ""  # what is said outright goes before what is read


def test_a_condition_for_some_tasks_only_is_not_decided_by_a_reading():
    made = content(preconditions=(Condition(**{**_fields(PENDING), "when": "refund"}),))
    assert violated_precondition(read_situation({"readings": {"get_order": "status: shipped"}}), made) == ""


def test_cases_bar_only_if_every_one_of_them_is_known_to_be_false():
    made = content(cases=(Case(conditions=(PENDING,)), Case(conditions=(PAID, CLEAN))))
    assert violated_precondition(read_situation({"holds": {PENDING.text: False}}), made) == ""
    assert (
        violated_precondition(read_situation({"holds": {PENDING.text: False, CLEAN.text: False}}), made)
        == reasons.NO_CASE
    )
    assert violated_precondition(read_situation({"holds": {PENDING.text: False, PAID.text: True}}), made) == ""


def test_what_is_known_to_hold_raises_a_skill():
    made = content(preconditions=(CLEAN,))
    assert fitting(made, holds={CLEAN.text: True}) == (1.0, ["what must hold"])
    assert fitting(made, holds={CLEAN.text: True}, files=["zebra.svg"]) == (0.5, ["what must hold"])


def test_a_case_that_readings_show_makes_a_skill_relevant_whatever_the_words():
    cases = (Case(conditions=(PENDING, PAID)), Case(conditions=(PENDING, CLEAN)))
    made = content(name="ship-order", description="ship it", cases=cases)
    shown = {"get_order": '{"status": "pending", "paid": "yes"}'}
    selection = ask(made, readings=shown)
    assert [item.name for item in selection.items] == ["ship-order"]
    assert selection.items[0].signals["state"] == 1
    assert fitting_case(read_situation({"readings": shown}), made, "")
    assert not fitting_case(read_situation({"readings": {"get_order": '{"status": "pending"}'}}), made, "")
    assert not fitting_case(read_situation({}), content(cases=(Case(conditions=()),)), "")


def _fields(condition: Condition) -> dict[str, str]:
    return {name: getattr(condition, name) for name in ("text", "check", "reading", "key", "relation", "value")}


def ask(*made: SkillContent, **state: object) -> Selection:
    hits = [Hit(stored=stored(each, status=Status.TRIAL), lexical=20.0) for each in made]
    known = RecallContext(
        rarity=Rarity(frequency={"migrat": 2}, corpus_size=20),
        reliability={},
        situation=read_situation(state),
    )
    query = Query(text="add a database migration", scope=PROJECT, state=state)
    return select(query, hits, known, render=lambda item, room: item.name, now=NOW, min_relevance=0.1)


def test_what_does_not_hold_bars_a_skill_with_its_reason():
    selection = ask(content(preconditions=(CLEAN,)), holds={CLEAN.text: False})
    assert selection.abstained
    assert selection.left_out[0].code is ReasonCode.PRECONDITION_FALSE


def test_of_two_equal_skills_the_one_that_fits_the_situation_comes_first_and_says_so():
    one = content(name="add-a-migration", description="Add a database migration", steps=bash_steps("alembic upgrade"))
    two = content(name="add-a-migration-2", description="Add a database migration", steps=bash_steps("flyway info"))
    for action, first in (("alembic upgrade head", one), ("flyway info", two)):
        selection = ask(one, two, last_action=action)
        best, other = selection.items
        assert best.name == first.name
        assert best.signals["state"] == 1.0
        assert best.signals["state"] > 0
        assert other.signals.get("state", 0.0) < best.signals["state"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (-7, "-7"), (0.5, "0.5"), (True, "True"), pytest.param(10**5000, "", id="too long"), ([], "")],
)
def test_numbers_are_read_as_text_and_what_is_no_value_is_ignored(value, text):
    situation = read_situation({"readings": {"count_orders": value}, "environment": {"python": value}})
    assert situation.readings == {"count_orders": text}
    assert situation.environment == {"python": text}
