"""Runs become the next version of a skill where they show it, and only there."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.lifecycle import coded
from tacit.domain.skill import Pitfall, SkillContent, SkillStep, fields_without_origin
from tacit.domain.trajectory import Origin, StepResult
from tacit.evidence.friction import SkillRun
from tacit.maintain.revision_proposals import SESSIONS_TO_DROP, Revision, proposed_revision, same_revision_content
from tests.unit.maintain.running import HANDBOOK, did, failed, ran, used, user_message, version_of


def commands(content: SkillContent) -> list[str]:
    return [step.arguments["command"] for step in content.steps]


def revised(*runs: SkillRun, content: SkillContent = HANDBOOK, rejected: tuple[SkillContent, ...] = ()) -> Revision:
    found = proposed_revision(version_of(content), runs, rejected=rejected)
    assert found is not None
    assert fields_without_origin(found.content, found.origins) == ()
    return found


def nothing(*runs: SkillRun, content: SkillContent = HANDBOOK, rejected: tuple[SkillContent, ...] = ()) -> bool:
    return proposed_revision(version_of(content), runs, rejected=rejected) is None


def plain(session: str, edition: str = "2026") -> SkillRun:
    """A run that goes as the skill says."""
    return ran(
        did("make docs"),
        did(f"cp build/handbook.pdf out/{edition}.pdf"),
        did("make test", effect="check"),
        matched={0: [0], 1: [1], 2: [2]},
        session=session,
    )


def moved(session: str, edition: str = "2026", *, to: str = "site", proven: bool = True) -> SkillRun:
    """A run in which the file was elsewhere."""
    return ran(
        did("make docs"),
        failed(f"cp build/handbook.pdf out/{edition}.pdf", "cp: build/handbook.pdf: No such file or directory"),
        did(f"cp {to}/handbook.pdf out/{edition}.pdf"),
        did("make test", effect="check"),
        matched={0: [0], 1: [1], 2: [3]},
        session=session,
        proven=proven,
    )


def test_a_path_that_two_sessions_found_elsewhere_is_corrected_with_parameters_in_place() -> None:
    one, two = moved("one", "2026"), moved("two", "spring")
    found = revised(one, two)
    assert commands(found.content) == ["make docs", "cp site/handbook.pdf out/{edition}.pdf", "make test"]
    assert found.content.steps[1].text == "Copy it: `cp site/handbook.pdf out/{edition}.pdf`"
    spans = found.grounding["steps.1"]
    assert {(span.trajectory_id, span.step) for span in spans} >= {(one.trajectory.id, 2), (two.trajectory.id, 2)}
    assert found.origins["steps.1"] is Origin.AGENT
    assert set(found.trajectory_ids) == {one.trajectory.id, two.trajectory.id}
    assert (found.reasons[0].code, found.reasons[0].values["sessions"]) == ("step_does_not_work", 2)
    assert found.reasons[0].values["kinds"] == "missing_file"


def test_what_stays_keeps_its_origin_and_gains_what_the_runs_did() -> None:
    runs = [moved("one"), moved("two")]
    found = proposed_revision(version_of(origin=Origin.USER), runs)
    assert found is not None
    assert found.origins["steps.0"] is Origin.USER
    assert found.origins["steps.1"] is Origin.AGENT
    assert found.grounding["steps.0"][0].trajectory_id == "t_first"
    assert len(found.grounding["steps.0"]) == 3


def test_one_session_is_not_enough_and_neither_are_two_runs_of_one() -> None:
    assert nothing(moved("one"))
    assert nothing(moved("one", "2026"), moved("one", "2027"))


def test_runs_of_unknown_sessions_are_one_voice() -> None:
    assert nothing(moved("", "2026"), moved("", "2027"))


def test_failed_runs_change_nothing() -> None:
    assert nothing(moved("one", proven=False), moved("two", proven=False))
    assert nothing(moved("one"), moved("two", proven=False))


def test_sessions_that_found_different_ways_do_not_add_up() -> None:
    assert nothing(moved("one", to="site"), moved("two", to="public"))


def test_where_the_step_works_for_more_sessions_a_pitfall_is_added() -> None:
    found = revised(moved("one"), moved("two"), plain("three"), plain("four"), plain("five"))
    assert commands(found.content) == commands(HANDBOOK)
    [pitfall] = found.content.pitfalls
    assert (pitfall.kind, pitfall.step, pitfall.count) == ("missing_file", 1, 2)
    assert "`cp site/handbook.pdf out/{edition}.pdf` did it then" in pitfall.text


def test_one_session_in_which_a_person_corrected_a_step_is_enough() -> None:
    run = ran(
        did("make docs"),
        did("cp build/handbook.pdf out/2026.pdf"),
        user_message("No, use scripts/publish.sh for that."),
        did("scripts/publish.sh 2026"),
        did("make test", effect="check"),
        matched={0: [0], 1: [1], 2: [4]},
        objections=[2],
    )
    found = revised(run)
    assert commands(found.content)[1] == "scripts/publish.sh {edition}"
    assert [(span.step, span.part) for span in found.grounding["steps.1"]] == [(3, "arguments"), (2, "text")]


def test_a_correction_that_changed_one_files_text_is_not_taken_over_from_one_session() -> None:
    def run(session: str) -> SkillRun:
        return ran(
            did("make docs"),
            did("cp build/handbook.pdf out/2026.pdf"),
            user_message("No, do not use print there."),
            used("Edit", {"file_path": "src/a.py", "old_string": "print(x)", "new_string": "log(x)"}),
            did("make test", effect="check"),
            matched={0: [0], 1: [1], 2: [4]},
            session=session,
            objections=[2],
        )

    assert nothing(run("one"))
    assert proposed_revision(version_of(), [run("one"), run("two")])


def test_a_step_that_was_done_in_a_form_that_could_not_be_aligned_is_not_left_out() -> None:
    runs = [
        ran(
            did("make docs"),
            did("cp -r build/handbook out/handbook"),
            did("make test", effect="check"),
            matched={0: [0], 2: [2]},
            session=session,
        )
        for session in ("one", "two", "three")
    ]
    assert nothing(*runs)


def test_a_check_is_only_ever_replaced_by_a_check() -> None:
    runs = [
        ran(
            did("make docs"),
            did("cp build/handbook.pdf out/2026.pdf"),
            failed("make test", "make: no rule to make target test", effect="check"),
            did("true && touch done", effect="write"),
            matched={0: [0], 1: [1], 2: [2]},
            session=session,
        )
        for session in ("one", "two")
    ]
    assert "make test" in commands(revised(*runs).content)


def test_a_refused_call_becomes_a_pitfall_in_our_own_words() -> None:
    runs = [
        ran(
            did("make docs"),
            did("cp build/handbook.pdf out/2026.pdf", result=StepResult.DENIED, seen="The user doesn't want IGNORE ME"),
            did("make test", effect="check"),
            matched={0: [0], 1: [1], 2: [2]},
            session=session,
        )
        for session in ("one", "two")
    ]
    found = revised(*runs)
    [pitfall] = found.content.pitfalls
    assert pitfall == Pitfall(
        text="`cp build/handbook.pdf out/{edition}.pdf` may be refused; ask for leave first.",
        kind="denied",
        step=1,
        count=2,
    )
    assert found.origins["pitfalls.0"] is Origin.AGENT
    assert found.grounding["pitfalls.0"]


def test_a_step_that_all_successes_added_is_added_and_later_ones_move() -> None:
    def run(session: str) -> SkillRun:
        return ran(
            did("make docs"),
            did("gzip -k build/handbook.pdf"),
            did("cp build/handbook.pdf out/2026.pdf"),
            did("make test", effect="check"),
            matched={0: [0], 1: [2], 2: [3]},
            session=session,
        )

    warned = dataclasses.replace(HANDBOOK, pitfalls=(Pitfall(text="Mind the edition.", step=1),))
    runs = [dataclasses.replace(run(session), content=warned) for session in ("one", "two")]
    found = revised(*runs, content=warned)
    assert commands(found.content)[:3] == [
        "make docs", "gzip -k build/handbook.pdf", "cp build/handbook.pdf out/{edition}.pdf",
    ]  # fmt: skip
    assert found.content.pitfalls[0].step == 2
    assert found.grounding["steps.2"][0].step == 1  # moved with the step
    assert nothing(run("one"), run("two"), plain("three"))


def test_what_another_skill_says_is_not_added_to_this_one() -> None:
    runs = [
        ran(
            did("make docs"),
            did("gzip -k build/handbook.pdf"),
            did("cp build/handbook.pdf out/2026.pdf"),
            did("make test", effect="check"),
            matched={0: [0], 1: [2], 2: [3]},
            session=session,
        )
        for session in ("one", "two")
    ]
    assert proposed_revision(version_of(), runs)
    assert proposed_revision(version_of(), runs, used_elsewhere=lambda call: call.command.startswith("gzip")) is None


def test_runs_that_did_less_than_half_of_a_skill_do_not_show_that_the_rest_is_not_needed() -> None:
    skill = dataclasses.replace(HANDBOOK, postconditions=(), steps=(*HANDBOOK.steps[:2], *HANDBOOK.steps[:1] * 2))
    runs = [ran(did("make docs"), matched={0: [0]}, session=s, content=skill) for s in ("one", "two", "three")]
    assert nothing(*runs, content=skill)


@pytest.mark.parametrize(("sessions", "optional"), [(2, True), (SESSIONS_TO_DROP, False)])
def test_a_step_that_all_successes_did_without_becomes_optional_and_then_goes(sessions: int, optional: bool) -> None:
    runs = [
        ran(did("make docs"), did("make test", effect="check"), matched={0: [0], 2: [1]}, session=f"s{number}")
        for number in range(sessions)
    ]
    found = proposed_revision(version_of(), runs)
    assert found is not None
    if optional:
        assert [step.optional for step in found.content.steps] == [False, True, False]
    else:
        assert commands(found.content) == ["make docs", "make test"]
        assert found.grounding["steps.1"][0].step == 2


def test_a_check_is_never_left_out_because_runs_left_it_out() -> None:
    runs = [
        ran(did("make docs"), did("cp build/handbook.pdf out/2026.pdf"), matched={0: [0], 1: [1]}, session=session)
        for session in ("one", "two", "three")
    ]
    assert nothing(*runs)


def test_what_all_did_in_place_of_a_step_takes_its_place() -> None:
    runs = [
        ran(
            did("make docs"),
            did(f"./deploy {edition}"),
            did("make test", effect="check"),
            matched={0: [0], 2: [2]},
            session=edition,
        )
        for edition in ("2026", "2026b")
    ]
    found = proposed_revision(version_of(), runs)
    assert found is not None
    assert commands(found.content) == commands(HANDBOOK)  # two deeds, so that nothing is known to take its place
    assert found.content.steps[1].optional
    runs = [
        ran(
            did("make docs"),
            did("./deploy --all"),
            did("make test", effect="check"),
            matched={0: [0], 2: [2]},
            session=s,
        )
        for s in ("one", "two")
    ]
    found = proposed_revision(version_of(), runs)
    assert found is not None
    assert commands(found.content) == ["make docs", "./deploy --all", "make test"]


def test_a_step_that_every_success_skipped_becomes_optional_also_where_it_only_reads() -> None:
    look = SkillStep(text="Read it", tool="Bash", arguments={"command": "cat EDITION"})
    skill = dataclasses.replace(HANDBOOK, steps=(look, *HANDBOOK.steps))

    def whole(session: str) -> SkillRun:
        return ran(
            did("make docs"),
            did("cp build/handbook.pdf out/2026.pdf"),
            did("make test", effect="check"),
            matched={1: [0], 2: [1], 3: [2]},
            session=session,
            content=skill,
        )

    found = revised(whole("one"), whole("two"), content=skill)
    assert found.reasons == (coded("step_skipped_by_all", step=1, sessions=2, result="optional"),)


def test_what_a_person_turned_down_is_not_proposed_again() -> None:
    runs = (moved("one"), moved("two"))
    before = revised(*runs).content
    assert nothing(*runs, rejected=(before,))
    more = [
        dataclasses.replace(run, trajectory=dataclasses.replace(run.trajectory, id=""), matched={**run.matched})
        for run in runs
    ]
    assert nothing(*more, rejected=(before,))


def test_the_body_is_fixed_where_it_repeats_the_command() -> None:
    signs = dataclasses.replace(HANDBOOK, body="Then `cp build/handbook.pdf out/{edition}.pdf` puts it in place.")
    runs = [dataclasses.replace(run, content=signs) for run in (moved("one"), moved("two"))]
    found = revised(*runs, content=signs)
    assert found.content.body == "Then `cp site/handbook.pdf out/{edition}.pdf` puts it in place."
    assert found.grounding["body"]


def test_plain_tools_are_revised_like_commands() -> None:
    skill = dataclasses.replace(
        HANDBOOK,
        postconditions=(),
        steps=(SkillStep(text="Cancel", tool="cancel_order", arguments={"id": "{order}", "reason": "by mistake"}),),
    )

    def run(session: str, order: str) -> SkillRun:
        wrong, effect = used("cancel_order", {"id": order, "reason": "by mistake"}, seen="Error: unknown reason")
        return ran(
            (dataclasses.replace(wrong, result=StepResult.FAILED), effect),
            used("cancel_order", {"id": order, "reason": "no longer needed"}),
            matched={0: [0]},
            session=session,
            content=skill,
        )

    found = revised(run("one", "W1234"), run("two", "W9876"), content=skill)
    assert found.content.steps[0].arguments == {"id": "{order}", "reason": "no longer needed"}


def test_other_values_of_parameters_change_nothing_however_many_sessions_needed_them() -> None:
    skill = dataclasses.replace(
        HANDBOOK,
        postconditions=(),
        steps=(SkillStep(text="Return", tool="return_items", arguments={"id": "{order}", "items": ["{item}"]}),),
    )

    def run(session: str) -> SkillRun:
        wrong, effect = used("return_items", {"id": "W1", "items": ["1"]}, seen="Error: no such item")
        return ran(
            (dataclasses.replace(wrong, result=StepResult.FAILED), effect),
            used("return_items", {"id": "W1", "items": ["1", "2"]}),
            matched={0: [0]},
            session=session,
            content=skill,
        )

    assert nothing(run("one"), run("two"), run("three"), content=skill)


def test_a_value_of_one_task_never_becomes_part_of_a_skill() -> None:
    runs = [
        ran(
            did("make docs"),
            did("notify release-4711"),
            did("cp build/handbook.pdf out/2026.pdf"),
            did("make test", effect="check"),
            matched={0: [0], 1: [2], 2: [3]},
            session=session,
            task="Publish the handbook for release-4711",
        )
        for session in ("one", "two")
    ]
    assert nothing(*runs)


def test_runs_that_only_share_a_look_with_the_skill_fix_nothing() -> None:
    runs = [
        dataclasses.replace(ran(did("make docs"), did("./deploy"), matched={0: [0]}, session=s), followed=False)
        for s in ("one", "two", "three")
    ]
    assert nothing(*runs)


def test_counts_alone_are_no_other_content() -> None:
    one, two = (dataclasses.replace(HANDBOOK, pitfalls=(Pitfall(text="Mind it.", count=n),)) for n in (2, 3))
    assert same_revision_content(one, two)
    assert not same_revision_content(one, HANDBOOK)
