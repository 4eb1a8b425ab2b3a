"""What counts as the same skill, and what a merge keeps of both sides."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy
from tacit.domain.skill import (
    Capabilities,
    Case,
    Condition,
    Cue,
    Kind,
    Parameter,
    Pitfall,
    SkillContent,
    SkillFile,
    SkillStep,
)
from tacit.gate.duplicates import (
    ACTIONS_WEIGHT,
    MAX_BODY,
    MAX_EXAMPLES,
    SAME_EFFECT,
    adds_nothing,
    merge_contents,
    remap_path,
    shapes,
    similarity,
)
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


def test_a_taste_and_a_norm_may_be_the_same_rule():
    rule = content(kind=Kind.NORM, name="use-tabs-not-blanks", tags=("tabs", "blanks"), steps=(), body="I said: tabs")
    again = dataclasses.replace(rule, kind=Kind.PREFERENCE, body="No, tabs please")
    assert similarity(rule, again) == similarity(again, rule) >= ALIKE
    assert adds_nothing(again, rule), "the same correction in other words"
    assert not adds_nothing(dataclasses.replace(again, tags=("tabs",)), rule)
    assert not adds_nothing(dataclasses.replace(again, tags=()), dataclasses.replace(rule, tags=()))


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
    reported = dataclasses.replace(LESSON, body="Run pip install")
    contrary = dataclasses.replace(LESSON, body="Delete the virtual environment")
    assert similarity(reported, contrary) < ALIKE


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
    merged = merge_contents(newcomer, known).content
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
    assert merge_contents(newcomer, known).content.steps == (
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
    merged = merge_contents(newcomer, known).content
    assert [(p.name, p.example) for p in merged.parameters] == [("a", "known"), ("b", "")]
    assert merged.preconditions == (Condition(text="clean", check="git status"), Condition(text="up"))
    assert merged.postconditions == known.postconditions
    assert merged.tags == ("db", "sql")
    assert [(file.path, file.content) for file in merged.files] == [("scripts/a.sh", "known"), ("scripts/b.sh", "b")]
    assert merged.capabilities == Capabilities(commands=("git", "psql"), hosts=("db.example.org",))
    assert merged.body == "Known.\nFresh."


def test_a_merge_keeps_the_surroundings_that_both_sides_had_where_both_were_noted():
    one, other, silent = (content(surroundings=names) for names in (("dig", "water"), ("water", "sow"), ()))
    assert merge_contents(other, one).content.surroundings == ("water",)
    assert (
        merge_contents(silent, one).content.surroundings
        == merge_contents(one, silent).content.surroundings
        == ("dig", "water")
    )


def test_a_merge_tells_where_each_sides_parts_went():
    known = content(steps=bash_steps("make build", "make test"), parameters=(Parameter(name="a"),))
    newcomer = content(
        steps=bash_steps("make lint", "make test"), parameters=(Parameter(name="b"), Parameter(name="a"))
    )
    merged = merge_contents(newcomer, known)
    assert merged.from_stored == {"steps.0": "steps.0", "steps.1": "steps.2", "parameters.0": "parameters.0"}
    assert merged.from_candidate == {
        "steps.0": "steps.1",
        "steps.1": "steps.2",
        "parameters.0": "parameters.1",
        "parameters.1": "parameters.0",
    }
    assert remap_path("steps.1.arguments", merged.from_stored) == "steps.2.arguments"
    assert remap_path("body", merged.from_stored) == "body"


def test_a_long_known_body_is_never_cut_to_make_room():
    known = content(body="k" * (MAX_BODY + 500))
    assert merge_contents(content(body="fresh"), known).content.body == known.body
    nearly = content(body="k" * (MAX_BODY - 10))
    merged = merge_contents(content(body="too long to fit in\nfits"), nearly).content.body
    assert merged == nearly.body + "\nfits"


def test_examples_are_kept_up_to_a_bound():
    known = content(example_queries=tuple(f"known {i}" for i in range(6)))
    merged = merge_contents(content(example_queries=tuple(f"new {i}" for i in range(6))), known).content
    assert len(merged.example_queries) == MAX_EXAMPLES
    assert set(known.example_queries) <= set(merged.example_queries)


@pytest.mark.parametrize("side", ["steps", "body", "tags"])
def test_merging_with_an_empty_side_loses_nothing(side):
    known = content(body="Known.", tags=("db",))
    empty = dataclasses.replace(known, **{side: type(getattr(known, side))()})
    merged = merge_contents(empty, known).content
    if side == "steps":
        assert shapes(merged.steps) == shapes(known.steps)
    else:
        assert getattr(merged, side) == getattr(known, side)


def test_what_both_did_stays_required_even_where_repeats_do_not_line_up():
    def run(*tools: str) -> SkillContent:
        return content(steps=tuple(SkillStep(text=tool, tool=tool) for tool in tools))

    merged = merge_contents(
        run("find", "get", "get", "find", "return"), run("get", "find", "get", "get", "return")
    ).content
    assert "return" in {step.tool for step in merged.steps if not step.optional}
    longer = merge_contents(run("return", "find", "get", "log", "get"), run("find", "get", "get", "return")).content
    assert {step.tool for step in longer.steps if not step.optional} >= {"find", "get"}


def test_likeness_weighs_what_is_done_more_than_what_it_is_called():
    one = content(name="a-b", description="c d", category="")
    other = content(name="x-y", description="z w", category="")
    assert similarity(one, other) == pytest.approx(ACTIONS_WEIGHT)
    half = content(name="a-b", description="c d", category="", steps=bash_steps("ls x", "ls y", "pytest -q"))
    assert similarity(one, half) == pytest.approx(ACTIONS_WEIGHT / 3 + (1 - ACTIONS_WEIGHT))
    assert similarity(one, content(name="a-b", description="z w", category="")) == pytest.approx(1.0), "by its name"


def test_lessons_with_the_same_error_are_half_alike_whatever_the_fix():
    fixed = dataclasses.replace(LESSON, steps=bash_steps("pip install x"))
    assert similarity(fixed, dataclasses.replace(LESSON, steps=bash_steps("make all"))) == pytest.approx(0.5)
    assert similarity(fixed, dataclasses.replace(fixed, name="b")) == pytest.approx(1.0)
    assert similarity(
        fixed, dataclasses.replace(fixed, steps=bash_steps("pip install x", "make all"))
    ) == pytest.approx(0.5 + 0.5 * 2 / 3)
    reported = dataclasses.replace(LESSON, body="alpha beta")
    assert similarity(reported, dataclasses.replace(reported, body="beta gamma")) == pytest.approx(0.5 + 0.5 / 3)
    assert similarity(LESSON, dataclasses.replace(LESSON, description="Delete something")) == pytest.approx(0.5)
    assert similarity(fixed, dataclasses.replace(LESSON, name="b")) == pytest.approx(0.5), "one has no steps at all"


def test_a_lesson_without_an_error_is_compared_as_a_text():
    silent = dataclasses.replace(LESSON, signature="", body="alpha beta")
    assert similarity(silent, dataclasses.replace(LESSON, name="x", description="y", category="", body="z")) < 0.3
    assert similarity(silent, dataclasses.replace(silent, name="x", description="y", category="z")) > 0.3


def test_a_procedure_without_steps_is_compared_as_a_text():
    bare = content(steps=(), name="a", description="b", category="", body="alpha beta gamma delta")
    assert similarity(bare, content(name="c", description="b", category="", body="alpha beta gamma delta")) == 1.0


def test_shapes_know_the_other_names_of_a_command_and_a_path():
    assert shapes([SkillStep(text="x", tool="shell", arguments={"cmd": "git push origin"})]) == [("shell", "git push")]
    assert shapes([SkillStep(text="x", tool="view", arguments={"path": "app/a.py"})]) == [("view", "app")]
    assert shapes([SkillStep(text="x", tool="view", arguments={"file_path": 7})]) == ["view"]


def test_a_merge_unites_the_order_of_names_and_each_stands_once():
    known, new = content(sub_skills=("a", "c", "d")), content(sub_skills=("a", "b", "c"))
    assert merge_contents(new, known).content.sub_skills == ("a", "b", "c", "d")
    assert merge_contents(known, content(sub_skills=())).content.sub_skills == ("a", "c", "d")


def test_a_merge_tells_where_conditions_files_and_examples_went():
    known = content(
        postconditions=(Condition(text="green"),), example_queries=("one",), files=(SkillFile(path="a", content=""),)
    )
    newcomer = content(
        postconditions=(Condition(text="clean"), Condition(text="green")),
        files=(SkillFile(path="b", content=""),),
        example_queries=tuple(f"new {number}" for number in range(MAX_EXAMPLES)),
    )
    new_paths = merge_contents(newcomer, known).from_candidate
    assert (new_paths["postconditions.0"], new_paths["postconditions.1"]) == ("postconditions.1", "postconditions.0")
    assert (new_paths["files.0"], new_paths["example_queries.0"]) == ("files.1", "example_queries.1")
    assert new_paths[f"example_queries.{MAX_EXAMPLES - 1}"] == "", "it found no room"
    assert remap_path(f"example_queries.{MAX_EXAMPLES - 1}", new_paths) == ""


STOPPED, SLOW = Case(conditions=(Condition(text="stopped"),), support=3), Case(conditions=(Condition(text="slow"),))


def primitive(value="{feed}", **fields):
    step = SkillStep(text="Restart", tool="restart_feed", arguments={"feed": value})
    return content(**{"name": "restart-it", "description": "x", "steps": (step,), "cases": (STOPPED,), **fields})


class TestConditional:
    def test_the_same_effect_in_other_cases_is_the_same_skill(self):
        other = primitive(name="wake-up", description="Wake a sleeping gauge", cases=(SLOW,))
        assert similarity(primitive(), other) >= ALIKE
        assert not adds_nothing(other, primitive()), "but it says something new"

    def test_a_value_that_became_a_parameter_is_still_the_same_effect(self):
        assert similarity(primitive("F-1"), primitive(cases=(SLOW,))) >= ALIKE

    def test_another_fixed_value_is_another_effect(self):
        fast, slow = primitive("fast", name="set-fast"), primitive("slow", name="set-slow", cases=(SLOW,))
        assert similarity(fast, slow) == similarity(slow, fast) < ALIKE

    def test_without_conditions_the_subject_decides_as_before(self):
        plain = primitive(cases=())
        assert similarity(plain, primitive(name="wake-up", description="Wake a sleeping gauge", cases=())) < ALIKE

    def test_composites_are_alike_by_their_parts(self):
        one = content(steps=(), sub_skills=("charge", "restart", "look"), name="mend", description="Mend a sensor")
        again = dataclasses.replace(one, name="mend-the-sensor", description="Mend the sensor again")
        other = dataclasses.replace(one, sub_skills=("paint", "sell"))
        assert similarity(one, again) >= ALIKE > similarity(one, other)
        assert adds_nothing(again, one)
        assert not adds_nothing(other, one)

    @pytest.mark.parametrize(
        "news",
        [
            {"cases": (STOPPED, SLOW)},
            {"cues": (Cue(term="feed", weight=1.0),)},
            {"pitfalls": (Pitfall(text="p"),)},
            {"after": ("charge",)},
        ],
    )
    def test_what_is_stated_of_when_is_news(self, news):
        assert not adds_nothing(primitive(**news), primitive())
        assert adds_nothing(primitive(), primitive(**news))
        assert adds_nothing(primitive(**news), merge_contents(primitive(**news), primitive()).content)

    def test_counts_alone_are_no_news(self):
        counted = dataclasses.replace(STOPPED, support=9, against=2)
        assert adds_nothing(primitive(cases=(counted,)), primitive())

    def test_a_merge_unites_what_each_side_counted_and_keeps_the_later_count(self):
        known = primitive(
            cases=(STOPPED,), cues=(Cue(term="a", weight=1.0), Cue(term="b", weight=1.0)), after=("x",),
            pitfalls=(Pitfall(text="p", count=1),), parameters=(Parameter(name="feed", description="known"),),
        )  # fmt: skip
        later = dataclasses.replace(STOPPED, support=8)
        new = primitive(
            cases=(SLOW, later), cues=(Cue(term="b", weight=2.0),), after=("y", "x"),
            pitfalls=(Pitfall(text="q"), Pitfall(text="p", count=5)),
            parameters=(Parameter(name="feed", description="new", reading="read_sensor", key="id"),),
        )  # fmt: skip
        made = merge_contents(new, known)
        assert made.content.cases == (later, SLOW)
        assert made.content.cues == (Cue(term="a", weight=1.0), Cue(term="b", weight=2.0))
        assert made.content.pitfalls == (Pitfall(text="p", count=5), Pitfall(text="q"))
        assert made.content.after == ("x", "y")
        assert made.content.parameters == (
            Parameter(name="feed", description="known", reading="read_sensor", key="id"),
        )
        assert remap_path("cases.0", made.from_candidate) == "cases.1"
        assert remap_path("pitfalls.1", made.from_candidate) == "pitfalls.0"
        assert remap_path("cues", made.from_candidate) == "cues"

    def test_the_same_effect_is_as_alike_as_its_subject_adds(self):
        apart = primitive(name="wake-up", description="y", category="other", cases=(SLOW,))
        assert similarity(primitive(category=""), apart) == pytest.approx(SAME_EFFECT)
        assert similarity(primitive(), primitive(cases=(SLOW,))) == pytest.approx(1.0)

    def test_the_same_effect_is_one_skill_under_a_stricter_threshold_too(self):
        apart = primitive(name="wake-up", description="y", category="other", cases=(SLOW,))
        assert similarity(primitive(category=""), apart, duplicate_from=0.97) >= 0.97

    def test_where_only_one_side_knows_when_the_subject_decides(self):
        plain = primitive(name="wake-up", description="y", category="other", cases=())
        assert similarity(primitive(category=""), plain) == pytest.approx(ACTIONS_WEIGHT)

    def test_cues_make_a_skill_conditional_too(self):
        cued = primitive(name="wake-up", description="y", category="other", cases=(), cues=(Cue(term="a", weight=1.0),))
        assert similarity(primitive(category=""), cued) == pytest.approx(SAME_EFFECT)

    def test_another_fixed_value_halves_the_likeness(self):
        assert similarity(primitive("fast"), primitive("slow", cases=(SLOW,))) == pytest.approx(0.5)

    def test_values_that_only_say_where_contradict_nothing(self):
        here, there = (
            primitive(steps=(SkillStep(text="x", tool="open", arguments={"path": place, "mode": "r"}),), cases=(case,))
            for place, case in (("a/x.py", STOPPED), ("a/y.py", SLOW))
        )
        assert similarity(here, there) == pytest.approx(1.0)
        extra = primitive(steps=(SkillStep(text="x", tool="open", arguments={"path": "a/x.py", "size": 1}),))
        assert similarity(here, extra) == pytest.approx(1.0), "only arguments that both have can differ"

    def test_other_steps_are_not_the_same_effect(self):
        longer = primitive(steps=(*primitive().steps, SkillStep(text="Look", tool="look")), cases=(SLOW,))
        assert similarity(primitive(), longer) == pytest.approx(ACTIONS_WEIGHT * 2 / 3 + (1 - ACTIONS_WEIGHT))

    def test_parameters_keep_what_is_known_of_where_their_values_come_from(self):
        known = primitive(parameters=(Parameter(name="feed", reading="a", key="b"), Parameter(name="other")))
        new = primitive(parameters=(Parameter(name="feed", reading="c", key="d"), Parameter(name="third")))
        assert merge_contents(new, known).content.parameters == (*known.parameters, Parameter(name="third"))
