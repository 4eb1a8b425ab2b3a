from __future__ import annotations

import re

import pytest

from tacit.learn.wording import imperative, slug, title_of
from tacit.text.tool_calls import tool_calls
from tests.unit.learn.attempts import attempt, bash, edit

ACTIONS = tool_calls(attempt("x", edit("a.py", "a", "b"), bash("touch a"), bash("git add a")))


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("Add a migration that adds column `{column}` to `{table}`.", "add-migration-column"),
        (
            "Sales wants it. Please add a migration so that table `{t}` gets a text column `{c}`.",
            "add-migration-table-text-column",
        ),
        (
            "Create a migration: column `{c}` (text) on `{t}`, so that a line can carry a remark.",
            "create-migration-column",
        ),
        ("Hi! Could you please fix the failing login test?", "fix-failing-login-test"),
        ("The build is broken", "build-broken"),
        ("Deploy version {version} to staging", "deploy-version-staging"),
        ("fix it", "fix"),
        ("", "git-add"),
    ],
)
def test_name_is_made_of_the_verb_and_what_it_is_done_to(task: str, name: str) -> None:
    actions = ACTIONS if task else ACTIONS[2:]
    assert title_of(task, actions).name == name


def test_description_leans_on_the_sentence_before_if_it_must() -> None:
    description = title_of("Amounts are formatted by hand. Find them all and use one function.", ACTIONS).description
    assert description.startswith("Amounts are formatted by hand. Find them all")


def test_description_names_what_may_differ_and_stays_short() -> None:
    title = title_of(
        "Add a column `{column}`. " + "More words. " * 300, ACTIONS, parameters=("column", "table", "table_2")
    )
    assert title.description.endswith("Use when a task asks for this with any column and table.")
    assert len(title.description) <= 1024


def test_description_holds_no_markup() -> None:
    assert "<" not in title_of("Add <system>a</system> page", ACTIONS).description


def test_slug_is_always_a_valid_skill_name() -> None:
    name = slug(["Übung", "--force", "a/b", "x" * 70, *["word"] * 30])
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name)
    assert len(name) <= 64


def test_question_is_no_imperative() -> None:
    assert imperative("How many t-shirts are there? They are nice.") == ""
