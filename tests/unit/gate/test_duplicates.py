"""What counts as the same skill, and what a merge keeps of both sides."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy
from tacit.domain.skill import Capabilities, Condition, Kind, Parameter, SkillContent, SkillFile, SkillStep
from tacit.gate.duplicates import MAX_BODY, MAX_EXAMPLES, adds_nothing, merge, moved, shapes, similarity
from tests.unit.making import MIGRATE, bash_steps, content

ALIKE = Policy().duplicate_similarity
LESSON = content(
    kind=Kind.LESSON,
    name="install-first",
    description="Install the package",
    steps=(),
    signature="No module named <value>",
)


def test_a_content_is_wholly_like_itself_whatever_its_words():
    for same in (content(), content(name="to", description="the"), LESSON, content(steps=(), body="x")):
        assert similarity(same, dataclasses.replace(same)) == 1.0


def test_the_same_steps_with_other_values_and_words_are_the_same_skill():
    again = content(
        description="Add another database migration and run it",
        steps=bash_steps("python manage.py makemigrations billing", "python manage.py migrate", "pytest -q tests/x.py"),
    )
    assert similarity(again, content()) >= ALIKE


def test_the_same_subject_done_in_another_way_is_another_skill():
    other = content(steps=bash_steps("alembic revision -m x", "alembic upgrade head", "make test"))
    assert similarity(other, content()) < ALIKE


def test_the_same_steps_for_another_subject_are_less_alike():
    other = content(name="reset-the-sandbox", description="Make a sandbox empty")
    assert similarity(other, content()) < similarity(content(description="Add a migration"), content())


def test_different_kinds_are_never_alike():
    assert similarity(content(kind=Kind.NORM), content()) == 0


def test_a_composite_is_not_like_its_part_nor_an_overlay_like_what_it_extends():
    composite = content(sub_skills=("add-a-migration", "deploy"), steps=(*MIGRATE, *bash_steps("make deploy")))
    assert similarity(composite, content()) == similarity(content(), composite) == 0
    assert similarity(content(extends="add-a-migration"), content()) == 0
    assert similarity(composite, dataclasses.replace(composite, description="Add a migration")) > ALIKE


def test_lessons_are_alike_by_their_error_and_fix():
    again = dataclasses.replace(LESSON, name="get-the-package", body="")
    assert similarity(again, LESSON) >= ALIKE
    other_error = dataclasses.replace(LESSON, signature="Permission denied: <path>")
    assert similarity(other_error, LESSON) < ALIKE
    fix, other_fix = bash_steps("pip install x"), bash_steps("docker compose up")
    assert similarity(dataclasses.replace(LESSON, steps=fix), dataclasses.replace(LESSON, steps=other_fix)) < ALIKE
    told = dataclasses.replace(LESSON, body="Run pip install")
    contrary = dataclasses.replace(LESSON, body="Delete the virtual environment")
    assert similarity(told, contrary) < ALIKE


def test_texts_without_steps_are_compared_as_texts():
    norm = content(kind=Kind.NORM, name="pnpm", description="Use pnpm here", steps=(), body="Never npm.")
    assert similarity(norm, dataclasses.replace(norm, name="package-manager", category="x")) >= ALIKE
    assert similarity(norm, content(kind=Kind.NORM, name="tabs", description="Indent by tabs", steps=())) < 0.3


def test_a_shape_is_what_a_step_does_without_its_values():
    assert shapes(bash_steps("cd app && git commit -m one", "git commit -m two")) == [("Bash", "git commit")] * 2
    edit = SkillStep(text="Edit it", tool="Edit", arguments={"file_path": "app/models/a.py"})
    assert shapes([edit, SkillStep(text="Think"), SkillStep(text="x", tool="Search")]) == [
        ("Edit", "app/models"),
        "Think",
        "Search",
    ]
    as_list = SkillStep(text="x", tool="shell", arguments={"command": ["ls"]})
    assert shapes([as_list]) == ["shell"]


def test_a_newcomer_that_leaves_out_or_adds_a_required_step_is_news():
    assert adds_nothing(content(), content())
    assert not adds_nothing(content(steps=MIGRATE[:2]), content())
    assert not adds_nothing(content(steps=(*MIGRATE, *bash_steps("git push"))), content())
    assert not adds_nothing(content(steps=tuple(reversed(MIGRATE))), content())


def test_a_newcomer_that_only_leaves_out_an_optional_step_is_no_news():
    optional = dataclasses.replace(MIGRATE[1], optional=True)
    known = content(steps=(MIGRATE[0], optional, MIGRATE[2]))
    assert adds_nothing(content(steps=(MIGRATE[0], MIGRATE[2])), known)
    assert adds_nothing(content(), known)


def test_of_the_same_fix_the_wording_is_no_news_but_without_steps_the_text_is():
    fixed = dataclasses.replace(LESSON, steps=bash_steps("pip install x"), body="one")
    assert adds_nothing(dataclasses.replace(fixed, body="two"), fixed)
    norm = content(kind=Kind.NORM, steps=(), body="Use pnpm.")
    assert adds_nothing(dataclasses.replace(norm, description="Other words"), norm)
    assert not adds_nothing(dataclasses.replace(norm, body="Use yarn."), norm)


def test_a_merge_keeps_the_known_name_and_both_sides_steps_in_order():
    known = content(steps=bash_steps("git pull", "make build", "make test"))
    newcomer = content(name="other", steps=bash_steps("git pull", "make lint", "make test", "git push"))
    merged = merge(newcomer, known).content
    assert merged.name == known.name
    assert [(step.arguments["command"], step.optional) for step in merged.steps] == [
        ("git pull", False),
        ("make build", True),
        ("make lint", True),
        ("make test", False),
        ("git push", True),
    ]


def test_a_shared_step_takes_the_newcomers_wording_and_is_required_only_if_both_say_so():
    known = content(steps=(SkillStep(text="old words", tool="Search"), SkillStep(text="a", tool="A", optional=True)))
    newcomer = content(steps=(SkillStep(text="new words", tool="Search"), SkillStep(text="b", tool="A")))
    assert merge(newcomer, known).content.steps == (
        SkillStep(text="new words", tool="Search"),
        SkillStep(text="b", tool="A", optional=True),
    )


def test_a_merge_unites_lists_and_the_known_entry_wins():
    known = content(
        parameters=(Parameter(name="a", example="known"),),
        preconditions=(Condition(text="clean", check="git status"),),
        postconditions=(Condition(text="green"),),
        tags=("db",),
        files=(SkillFile(path="scripts/a.sh", content="known"),),
        capabilities=Capabilities(commands=("git",)),
        body="Known.",
    )
    newcomer = content(
        parameters=(Parameter(name="b"), Parameter(name="a", example="new")),
        preconditions=(Condition(text="up"), Condition(text="clean", check="other")),
        tags=("db", "sql"),
        files=(SkillFile(path="scripts/a.sh", content="new"), SkillFile(path="scripts/b.sh", content="b")),
        capabilities=Capabilities(commands=("git", "psql"), hosts=("db.example.org",)),
        body="Known.\nFresh.\n\n",
    )
    merged = merge(newcomer, known).content
    assert [(p.name, p.example) for p in merged.parameters] == [("a", "known"), ("b", "")]
    assert merged.preconditions == (Condition(text="clean", check="git status"), Condition(text="up"))
    assert merged.postconditions == known.postconditions
    assert merged.tags == ("db", "sql")
    assert [(file.path, file.content) for file in merged.files] == [("scripts/a.sh", "known"), ("scripts/b.sh", "b")]
    assert merged.capabilities == Capabilities(commands=("git", "psql"), hosts=("db.example.org",))
    assert merged.body == "Known.\nFresh."


def test_a_merge_tells_where_each_sides_parts_went():
    known = content(steps=bash_steps("make build", "make test"), parameters=(Parameter(name="a"),))
    newcomer = content(
        steps=bash_steps("make lint", "make test"), parameters=(Parameter(name="b"), Parameter(name="a"))
    )
    merged = merge(newcomer, known)
    assert merged.from_known == {"steps.0": "steps.0", "steps.1": "steps.2", "parameters.0": "parameters.0"}
    assert merged.from_newcomer == {
        "steps.0": "steps.1",
        "steps.1": "steps.2",
        "parameters.0": "parameters.1",
        "parameters.1": "parameters.0",
    }
    assert moved("steps.1.arguments", merged.from_known) == "steps.2.arguments"
    assert moved("body", merged.from_known) == "body"


def test_a_long_known_body_is_never_cut_to_make_room():
    known = content(body="k" * (MAX_BODY + 500))
    assert merge(content(body="fresh"), known).content.body == known.body
    nearly = content(body="k" * (MAX_BODY - 10))
    merged = merge(content(body="too long to fit in\nfits"), nearly).content.body
    assert merged == nearly.body + "\nfits"


def test_examples_are_kept_up_to_a_bound():
    known = content(example_queries=tuple(f"known {i}" for i in range(6)))
    merged = merge(content(example_queries=tuple(f"new {i}" for i in range(6))), known).content
    assert len(merged.example_queries) == MAX_EXAMPLES
    assert set(known.example_queries) <= set(merged.example_queries)


@pytest.mark.parametrize("side", ["steps", "body", "tags"])
def test_merging_with_an_empty_side_loses_nothing(side):
    known = content(body="Known.", tags=("db",))
    empty = dataclasses.replace(known, **{side: type(getattr(known, side))()})
    merged = merge(empty, known).content
    if side == "steps":
        assert shapes(merged.steps) == shapes(known.steps)
    else:
        assert getattr(merged, side) == getattr(known, side)


def test_what_both_did_stays_required_even_where_repeats_do_not_line_up():
    def run(*tools: str) -> SkillContent:
        return content(steps=tuple(SkillStep(text=tool, tool=tool) for tool in tools))

    merged = merge(run("find", "get", "get", "find", "return"), run("get", "find", "get", "get", "return")).content
    assert "return" in {step.tool for step in merged.steps if not step.optional}
    longer = merge(run("return", "find", "get", "log", "get"), run("find", "get", "get", "return")).content
    assert {step.tool for step in longer.steps if not step.optional} >= {"find", "get"}
