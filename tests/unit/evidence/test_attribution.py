"""Attribution: whether a run followed a skill that it was shown, and where it deviated."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tacit.domain.evidence import Following
from tacit.domain.skill import Kind, Pitfall, SkillContent, SkillStep
from tacit.domain.trajectory import Role, Step, StepResult
from tacit.evidence.attribution import Alignment, align
from tests.unit.making import attempt, bash_steps, call, content, edit, shell

FOLLOWED, PARTLY = Following.FOLLOWED, Following.PARTLY
IGNORED, CONTRADICTED = Following.IGNORED, Following.CONTRADICTED
MIGRATION = [shell("python manage.py makemigrations"), shell("python manage.py migrate"), shell("pytest -q")]
STALE = "error: revision chain is stale: run 'manage.py sync' first"
LESSON = content(
    kind=Kind.LESSON,
    name="sync-first",
    signature="error: revision chain is stale: run <value> first",
    steps=bash_steps("python manage.py sync"),
)


def aligned_with(trajectory, skill: SkillContent, **options) -> Alignment:
    aligned = align(trajectory, skill, **options)
    assert aligned is not None
    return aligned


def tool_steps(*calls: tuple[str, dict[str, Any]]) -> tuple[SkillStep, ...]:
    return tuple(SkillStep(text=tool, tool=tool, arguments=arguments) for tool, arguments in calls)


def with_skills(trajectory, *names: str):
    steps = [dataclasses.replace(step, skill=name) for step, name in zip(trajectory.steps, names, strict=True)]
    return dataclasses.replace(trajectory, steps=tuple(steps), id="")


class TestProcedures:
    def test_a_run_that_does_all_of_it_has_followed_it(self):
        aligned = aligned_with(attempt(shell("ls"), *MIGRATION), content())
        assert (aligned.following, aligned.adherence) == (FOLLOWED, 1.0)
        assert aligned.matched == {0: (1,), 1: (2,), 2: (3,)}

    def test_several_steps_in_one_line_and_one_step_in_several_lines_are_found(self):
        line = shell("cd app && python manage.py makemigrations && python manage.py migrate; pytest -q | tail -5")
        assert aligned_with(attempt(line), content()).matched == {0: (0,), 1: (0,), 2: (0,)}
        one = content(steps=bash_steps("python manage.py makemigrations && python manage.py migrate"))
        assert aligned_with(attempt(*MIGRATION), one).matched == {0: (0, 1)}

    def test_a_change_left_out_makes_it_partly(self):
        aligned = aligned_with(attempt(MIGRATION[0], shell("python manage.py flush"), MIGRATION[2]), content())
        assert aligned.following is PARTLY
        assert 0 < aligned.adherence < 1

    def test_a_check_left_out_does_not_take_the_credit_away(self):
        aligned = aligned_with(attempt(*MIGRATION[:2]), content())
        assert aligned.following is FOLLOWED
        assert aligned.adherence == pytest.approx(0.8)

    def test_looking_around_alone_is_no_following(self):
        skill = content(steps=tool_steps(("get_order", {"id": "{id}"}), ("cancel_order", {"id": "{id}"})))
        assert aligned_with(attempt(call("get_order", {"id": "W1"})), skill).following is IGNORED

    def test_a_skill_that_only_looks_is_followed_by_looking(self):
        skill = content(steps=bash_steps("git status", "git log", "git diff"))
        assert (
            aligned_with(attempt(shell("git log"), shell("git diff"), shell("git status")), skill).following is FOLLOWED
        )
        assert aligned_with(attempt(shell("git log"), shell("git diff")), skill).following is PARTLY
        assert aligned_with(attempt(shell("git log")), skill).following is IGNORED

    def test_optional_steps_are_not_missed_and_count_where_they_are_taken(self):
        steps = (*content().steps[:1], dataclasses.replace(content().steps[1], optional=True))
        skill = content(steps=steps)
        assert aligned_with(attempt(MIGRATION[0]), skill).adherence == 1.0
        both = aligned_with(attempt(*MIGRATION[:2]), skill)
        assert (both.following, both.matched) == (FOLLOWED, {0: (0,), 1: (1,)})

    def test_looking_is_not_enough_where_the_only_change_is_optional(self):
        looks, changes = tool_steps(("get_order", {"id": "{id}"}), ("cancel_order", {"id": "{id}"}))
        skill = content(steps=(looks, dataclasses.replace(changes, optional=True)))
        assert aligned_with(attempt(call("get_order", {"id": "W1"})), skill).following is PARTLY
        both = attempt(call("get_order", {"id": "W1"}), call("cancel_order", {"id": "W1"}))
        assert aligned_with(both, skill).following is FOLLOWED

    def test_what_depends_on_each_other_must_come_in_order_and_what_does_not_may_not(self):
        assert aligned_with(attempt(MIGRATION[1], MIGRATION[0]), content()).following is PARTLY
        calls = [("cancel_order", {"order_id": "W1"}), ("return_order", {"order_id": "W2"})]
        skill = content(steps=tool_steps(*calls))
        assert aligned_with(attempt(*(call(*each) for each in calls[::-1])), skill).following is FOLLOWED
        same = [("cancel_order", {"order_id": "W1"}), ("return_order", {"order_id": "W1"})]
        assert (
            aligned_with(attempt(*(call(*each) for each in same[::-1])), content(steps=tool_steps(*same))).following
            is PARTLY
        )

    def test_failing_calls_count_as_done_for_the_skill_led_there(self):
        failing = [shell(each.arguments["command"], StepResult.FAILED, code=1) for each in MIGRATION]
        assert aligned_with(attempt(*failing), content()).following is FOLLOWED

    def test_tries_of_the_same_form_belong_to_the_step(self):
        run = attempt(shell("python manage.py makemigrations --bad", StepResult.FAILED, code=2), *MIGRATION)
        assert aligned_with(run, content()).matched[0] == (0,)
        twice = attempt(
            shell("git fetch"), MIGRATION[0], shell("python manage.py migrate x", StepResult.FAILED), *MIGRATION[1:]
        )
        assert aligned_with(twice, content()).matched[1] == (2,)

    def test_only_what_came_after_it_was_shown_can_have_been_guided(self):
        run = attempt(*MIGRATION)
        assert aligned_with(run, content(), start=1).following is PARTLY
        assert aligned_with(run, content(), start=2).following is IGNORED
        assert aligned_with(run, content(), end=1).following is PARTLY

    def test_the_opposite_of_a_laid_down_value_contradicts(self):
        skill = content(steps=tool_steps(("check_mode", {}), ("set_mode", {"mode": "4g"})))
        aligned = aligned_with(attempt(call("check_mode", {}), call("set_mode", {"mode": "2g"})), skill)
        assert aligned.following is CONTRADICTED
        fixed = attempt(call("set_mode", {"mode": "2g"}), call("set_mode", {"mode": "4g"}))
        assert aligned_with(fixed, skill).following is FOLLOWED, "in the end it did as it was told"

    def test_a_written_pitfall_forbids_and_a_counted_one_only_warns(self):
        written = content(pitfalls=(Pitfall(text="Never run `python manage.py flush` before it."),))
        counted = content(pitfalls=(Pitfall(text="Calling flush as well.", kind="extra step"),))
        run = attempt(shell("python manage.py flush"), *MIGRATION)
        assert aligned_with(run, written).following is CONTRADICTED
        assert aligned_with(run, counted).following is FOLLOWED
        assert aligned_with(attempt(*MIGRATION), written).following is FOLLOWED

    def test_prose_is_looked_for_by_what_it_sets_as_code(self):
        steps = (
            SkillStep(text="Think about the column first."),
            SkillStep(text="Run `python manage.py migrate`, not `flush_db()`."),
        )
        skill = content(steps=steps)
        assert aligned_with(attempt(*MIGRATION), skill).following is FOLLOWED
        assert aligned_with(attempt(shell("ls")), skill).following is IGNORED
        assert aligned_with(attempt(*MIGRATION, call("flush_db", {})), skill).following is CONTRADICTED

    def test_prose_that_names_nothing_cannot_be_decided(self):
        skill = content(steps=(SkillStep(text="Think first."), SkillStep(text="Look into `README.md`.")))
        assert align(attempt(*MIGRATION), skill) is None

    @pytest.mark.parametrize(
        ("text", "following"),
        [
            ("If `make lint` is not found, run `make all`.", FOLLOWED),
            ("Do not use `make all`.", CONTRADICTED),
            ("Do not, whatever happens, run `make all`.", None),
            ("Never run `make lint`; run `make all`.", FOLLOWED),
            ("When `make all` fails, think.", None),
            ("`make lint` does not work here, use `make all` instead of `make some`.", FOLLOWED),
        ],
    )
    def test_prose_forbids_asks_or_only_mentions(self, text, following):
        aligned = align(attempt(shell("make all")), content(steps=(SkillStep(text=text),)))
        assert (aligned.following if aligned else None) is following

    def test_edits_are_found_by_file(self):
        edits = tuple(
            SkillStep(text="Edit", tool="Edit", arguments={"file_path": path}) for path in ("models.py", "{test}")
        )
        skill = content(steps=edits)
        run = attempt(edit("/srv/ann/invoices/app/models.py"), edit("/srv/ann/invoices/test_models.py", tool="Write"))
        assert aligned_with(run, skill).following is FOLLOWED
        assert aligned_with(attempt(edit("/srv/ann/invoices/views.py")), skill).following is PARTLY

    def test_a_client_that_keeps_no_arguments_cannot_tell_of_values(self):
        skill = content(steps=tool_steps(("set_mode", {"mode": "4g"})))
        assert align(attempt(call("set_mode", {})), skill) is None
        assert aligned_with(attempt(call("reboot", {})), skill).following is IGNORED
        open_one = content(steps=tool_steps(("set_mode", {"mode": "{mode}"})))
        assert aligned_with(attempt(call("set_mode", {})), open_one).following is FOLLOWED


class TestTheClientsWord:
    def test_half_of_the_changes_are_enough_where_the_client_says_that_it_was_taken_up(self):
        run = attempt(MIGRATION[0], shell("ls"))
        assert aligned_with(run, content()).following is PARTLY
        assert aligned_with(with_skills(run, "shop:add-a-migration", ""), content()).following is FOLLOWED

    def test_loading_it_alone_is_no_following(self):
        run = with_skills(attempt(call("Skill", {"skill": "add-a-migration"}), shell("ls")), "add-a-migration", "")
        assert aligned_with(run, content()).following is IGNORED

    def test_work_under_its_name_that_does_none_of_its_steps_is_partly(self):
        run = with_skills(attempt(shell("make all")), "add-a-migration")
        assert aligned_with(run, content()).following is PARTLY

    def test_a_skill_of_prose_alone_is_followed_if_something_was_done_under_its_name(self):
        skill = content(steps=(), body="Be brief and kind.", name="greeting-style")
        assert align(attempt(shell("ls")), skill) is None
        aligned = aligned_with(with_skills(attempt(shell("ls")), "greeting-style"), skill)
        assert (aligned.following, aligned.matched) == (FOLLOWED, {0: (0,)})

    def test_the_name_of_another_skill_says_nothing(self):
        assert aligned_with(with_skills(attempt(MIGRATION[0]), "another"), content()).following is PARTLY


class TestLessons:
    FAILING = shell("python manage.py makemigration", StepResult.FAILED, seen=STALE, code=1)

    def test_the_fix_after_the_error_is_following(self):
        run = attempt(self.FAILING, shell("python manage.py sync"), MIGRATION[0])
        assert aligned_with(run, LESSON, start=1).following is FOLLOWED

    def test_the_right_way_from_the_start_is_following_too(self):
        assert aligned_with(attempt(shell("python manage.py sync"), MIGRATION[0]), LESSON).following is FOLLOWED

    def test_a_run_without_the_error_and_without_the_fix_says_nothing(self):
        assert align(attempt(*MIGRATION), LESSON) is None

    def test_the_fix_before_the_error_is_not_what_the_lesson_asks_for(self):
        run = attempt(shell("python manage.py sync"), self.FAILING, shell("ls"))
        assert aligned_with(run, LESSON).following is CONTRADICTED

    def test_going_another_way_after_the_error_is_ignoring(self):
        run = attempt(self.FAILING, shell("vim x"), shell("ls"))
        assert aligned_with(run, LESSON, start=1).following is IGNORED

    def test_the_same_error_again_after_it_was_shown_contradicts(self):
        aligned = aligned_with(attempt(self.FAILING, self.FAILING), LESSON, start=1)
        assert aligned.following is CONTRADICTED

    def test_a_fix_in_prose_is_found_in_the_body_and_the_failing_call_is_not_taken_for_it(self):
        body = "**Problem.** `python manage.py makemigration` failed.\n\n**Fix.** Run `python manage.py sync` first.\n"
        skill = dataclasses.replace(LESSON, steps=(), body=body)
        assert aligned_with(attempt(self.FAILING, shell("python manage.py sync")), skill, start=1).following is FOLLOWED
        assert (
            aligned_with(attempt(self.FAILING, shell("python manage.py makemigration")), skill, start=1).following
            is IGNORED
        )


class TestRules:
    NORM = content(
        kind=Kind.NORM,
        steps=(),
        name="use-pnpm",
        description="Use pnpm.",
        body="Instead of `npm install`: `pnpm install`.",
    )

    def test_a_norm_is_kept_broken_or_not_concerned(self):
        assert aligned_with(attempt(shell("pnpm install")), self.NORM).following is FOLLOWED
        assert aligned_with(attempt(shell("npm install")), self.NORM).following is CONTRADICTED
        assert align(attempt(shell("ls")), self.NORM) is None

    def test_a_program_alone_means_every_use_of_it(self):
        norm = dataclasses.replace(self.NORM, body="Use `pnpm`, never `npm`.")
        assert aligned_with(attempt(shell("npm test")), norm).following is CONTRADICTED
        assert aligned_with(attempt(shell("pnpm run build")), norm).following is FOLLOWED

    @pytest.mark.parametrize("kind", [Kind.NORM, Kind.PREFERENCE, Kind.REFERENCE])
    def test_what_names_nothing_cannot_be_decided(self, kind):
        assert align(attempt(shell("ls")), content(kind=kind, steps=(), body="Be kind.")) is None


class TestComposites:
    PARTS = {  # noqa: RUF012 - read only
        "migrate": content(name="migrate"),
        "deploy": content(name="deploy", steps=bash_steps("make deploy")),
    }
    WHOLE = content(
        name="release",
        sub_skills=("migrate", "deploy"),
        steps=(SkillStep(text="`migrate`"), SkillStep(text="`deploy`")),
    )

    def test_a_composite_is_followed_where_all_its_parts_are(self):
        aligned = aligned_with(attempt(*MIGRATION, shell("make deploy")), self.WHOLE, parts=self.PARTS)
        assert (aligned.following, aligned.matched) == (FOLLOWED, {0: (0, 1, 2), 1: (3,)})

    def test_a_part_left_out_makes_it_partly_unless_it_is_optional(self):
        run = attempt(*MIGRATION)
        assert aligned_with(run, self.WHOLE, parts=self.PARTS).following is PARTLY
        optional = dataclasses.replace(
            self.WHOLE, steps=(self.WHOLE.steps[0], SkillStep(text="`deploy`", optional=True))
        )
        assert aligned_with(run, optional, parts=self.PARTS).following is FOLLOWED

    def test_where_no_part_is_required_one_is_enough_and_without_parts_nothing_can_be_decided(self):
        steps = tuple(dataclasses.replace(step, optional=True) for step in self.WHOLE.steps)
        any_part = dataclasses.replace(self.WHOLE, steps=steps)
        assert aligned_with(attempt(shell("make deploy")), any_part, parts=self.PARTS).following is FOLLOWED
        assert aligned_with(attempt(shell("ls")), any_part, parts=self.PARTS).following is IGNORED
        assert align(attempt(*MIGRATION), self.WHOLE) is None


def test_messages_between_calls_make_no_difference():
    prose = Step(index=0, role=Role.AGENT, text="now `python manage.py migrate`")
    assert aligned_with(attempt(MIGRATION[0], prose, MIGRATION[1], MIGRATION[2]), content()).following is FOLLOWED
    assert aligned_with(attempt(prose), content()).following is IGNORED
