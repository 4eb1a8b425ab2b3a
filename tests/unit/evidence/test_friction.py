"""Where a run has trouble with a skill, which step is at fault, and what only looks like trouble."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tacit.domain.skill import SkillStep
from tacit.domain.trajectory import StepResult
from tacit.evidence.friction import DETAIL_MAX, Friction, FrictionKind, place_name
from tests.unit.maintain.running import HANDBOOK, did, failed, ran, used, user_message

COPY = "cp build/handbook.pdf out/2026.pdf"


def kinds(met: tuple[Friction, ...]) -> list[tuple[str, int]]:
    return [(str(each.kind), each.step) for each in met]


def test_a_run_that_goes_as_the_skill_says_meets_nothing() -> None:
    run = ran(did("make docs"), did(COPY), did("make test", effect="check"), matched={0: [0], 1: [1], 2: [2]})
    assert run.frictions == ()


def test_a_call_that_only_works_with_other_arguments_is_a_retry_at_its_step() -> None:
    run = ran(
        failed("make docs", "make: *** [docs] Error 2"),
        did("make docs FORMAT=pdf"),
        did(COPY),
        did("make test", effect="check"),
        matched={0: [0], 1: [2], 2: [3]},
    )
    [met] = run.frictions
    assert (met.kind, met.step, met.run_step, met.instead) == (FrictionKind.RETRY, 0, 0, 1)
    assert re.findall("`(.+?)`", met.detail) == ["make docs", "make docs FORMAT=pdf"]


def test_a_failing_attempt_that_was_not_aligned_is_traced_to_the_step_it_tried() -> None:
    run = ran(
        did("make docs"),
        failed("cp build/hand-book.pdf out/2026.pdf", "usage: cp"),
        did(COPY),
        matched={0: [0], 1: [2]},
    )
    [met] = run.frictions
    assert (met.kind, met.step, met.instead) == (FrictionKind.RETRY, 1, 2)


def test_the_same_call_again_after_the_world_changed_is_no_friction() -> None:
    run = ran(
        failed("make test", "1 failed", effect="check"),
        used("Edit", {"file_path": "src/a.py"}),
        did("make test", effect="check"),
        matched={2: [0, 2]},
    )
    assert [met for met in run.frictions if met.resisted] == []


def test_work_that_answers_a_failing_check_is_no_fallback_of_it() -> None:
    run = ran(failed("make test", "1 failed", effect="check"), did("sed -i s/a/b/ src/a.py"), matched={2: [0]})
    assert [met for met in run.frictions if met.resisted] == []


def test_another_tool_that_did_what_a_step_could_not_is_a_fallback() -> None:
    run = ran(
        did("make docs"),
        failed(COPY, "cp: cannot create regular file: Read-only file system"),
        did("rsync build/handbook.pdf mirror:out/2026.pdf"),
        did("make test", effect="check"),
        matched={0: [0], 1: [1], 2: [3]},
    )
    [met] = run.frictions
    assert (met.kind, met.step, met.instead) == (FrictionKind.FALLBACK, 1, 2)


@pytest.mark.parametrize(
    ("seen", "result"),
    [
        ("", StepResult.DENIED),
        ("The user doesn't want to proceed with this tool use.", StepResult.FAILED),
        ("Permission to use Bash has been denied by your settings", StepResult.UNKNOWN),
        ('exec_command failed: Rejected("rm is not allowed")', StepResult.FAILED),
        ("cp: out/2026.pdf: Permission denied", StepResult.FAILED),
    ],
)
def test_a_refused_call_is_a_denial_at_its_step(seen: str, result: StepResult) -> None:
    run = ran(did("make docs"), did(COPY, seen=seen, result=result), matched={0: [0], 1: [1]})
    assert kinds(run.frictions) == [("denied", 1)]


@pytest.mark.parametrize(
    "seen",
    [
        "The release is no longer blocked, permission denied errors are gone",
        "Permission to use the logo was granted; earlier it was denied",
        "docs: how to answer 'Permission denied'",
    ],
)
def test_prose_that_speaks_of_refusals_is_none(seen: str) -> None:
    run = ran(did("make docs", seen=seen), did(COPY), matched={0: [0], 1: [1]})
    assert run.frictions == ()


def test_a_file_that_is_not_where_the_skill_says_is_reported_with_the_place_where_it_was() -> None:
    run = ran(
        did("make docs"),
        failed(COPY, "cp: build/handbook.pdf: No such file or directory"),
        did("find . -name handbook.pdf", seen="./site/handbook.pdf", effect="read"),
        did("cp site/handbook.pdf out/2026.pdf"),
        did("make test", effect="check"),
        matched={0: [0], 1: [1], 2: [4]},
    )
    [met] = run.frictions
    assert (met.kind, met.step, met.path, met.found) == (
        FrictionKind.MISSING_FILE,
        1,
        "build/handbook.pdf",
        "site/handbook.pdf",
    )


def test_a_missing_file_that_the_skill_does_not_name_is_not_its_fault() -> None:
    run = ran(
        did("make docs"),
        failed("cat notes.txt", "cat: notes.txt: No such file or directory", effect="read"),
        did(COPY),
        matched={0: [0], 1: [2]},
    )
    assert run.frictions == ()


def test_an_objection_right_after_a_step_is_a_correction_of_that_step() -> None:
    run = ran(
        did("make docs"),
        did(COPY),
        user_message("No, use scripts/publish.sh instead of copying by hand."),
        did("scripts/publish.sh 2026"),
        did("make test", effect="check"),
        matched={0: [0], 1: [1], 2: [4]},
        objections=[2],
    )
    [met] = run.frictions
    assert (met.kind, met.step, met.run_step, met.instead) == (FrictionKind.CORRECTION, 1, 2, 3)
    assert met.detail.startswith("No, use scripts/publish.sh")


def test_an_objection_after_the_tests_is_to_the_change_before_them() -> None:
    run = ran(
        did("make docs"),
        did(COPY),
        did("make test", effect="check"),
        user_message("No, use scripts/publish.sh for that."),
        used("Edit", {"file_path": "README.md"}),
        matched={0: [0], 1: [1], 2: [2]},
        objections=[3],
    )
    assert kinds(run.frictions) == [("correction", 1)]


def test_an_objection_to_what_the_skill_has_no_part_in_is_not_its_fault() -> None:
    run = ran(
        did("git commit -am wip"),
        user_message("No, do not commit yet."),
        did("make docs"),
        matched={0: [2]},
        objections=[1],
    )
    assert [met for met in run.frictions if met.resisted] == []


def test_what_is_done_in_place_of_a_step_or_next_to_the_steps_is_a_divergence_and_no_resistance() -> None:
    run = ran(
        did("make clean-all"),
        did("make docs"),
        did("./deploy 2026"),
        did("make test", effect="check"),
        matched={0: [1], 2: [3]},
    )
    met = run.frictions
    assert kinds(met) == [("diverged", -1), ("diverged", 1)]
    assert not any(each.resisted for each in met)
    assert "step 2" in met[1].detail


def test_reading_more_than_the_skill_says_is_no_divergence() -> None:
    run = ran(did("ls", effect="read"), did("make docs"), did("git status", effect="read"), matched={0: [1]})
    assert run.frictions == ()


def test_details_are_short_and_hold_nothing_that_acts() -> None:
    long = "make docs " + "x" * 500 + "\x1b[31m\u202e"
    run = ran(failed(long), did("make docs FORMAT=pdf"), matched={0: [0]})
    [met] = run.frictions
    assert len(met.detail) <= DETAIL_MAX
    assert "\x1b" not in met.detail
    assert "\u202e" not in met.detail


def test_plain_tool_calls_are_compared_by_what_they_were_given() -> None:
    skill = dataclasses.replace(
        HANDBOOK,
        steps=(
            SkillStep(text="Find it", tool="find_order", arguments={"id": "{order}"}),
            SkillStep(
                text="Cancel it", tool="cancel_order", arguments={"id": "{order}", "reason": "ordered by mistake"}
            ),
        ),
    )
    step, _ = used("cancel_order", {"id": "W123", "reason": "ordered by mistake"}, seen="Error: unknown reason")
    run = ran(
        used("find_order", {"id": "W123"}, effect="read"),
        (dataclasses.replace(step, result=StepResult.FAILED), "write"),
        used("cancel_order", {"id": "W123", "reason": "no longer needed"}),
        matched={0: [0], 1: [1]},
        content=skill,
    )
    [met] = run.frictions
    assert (met.kind, met.step) == (FrictionKind.RETRY, 1)
    assert run.call(2).arguments == {"id": "{order}", "reason": "no longer needed"}


def test_a_wrong_value_for_a_parameter_is_not_the_skills_fault() -> None:
    run = ran(
        did("make docs"),
        failed("cp build/handbook.pdf out/2062.pdf", "cp: that edition is closed"),
        did("cp build/handbook.pdf out/2026.pdf"),
        matched={0: [0], 1: [1, 2]},
    )
    [met] = run.frictions
    assert (met.kind, met.at_fault) == (FrictionKind.RETRY, False)


def test_a_slip_of_the_agent_that_the_skill_puts_right_is_not_its_fault() -> None:
    run = ran(failed("make doc", "make: no target"), did("make docs FORMAT=pdf"), matched={0: [0]})
    assert [met.at_fault for met in run.frictions] == [False]
    run = ran(failed("make docs", "make: error"), did("make docs FORMAT=pdf"), matched={0: [0]})
    assert [met.at_fault for met in run.frictions] == [True]


def test_a_run_that_went_its_own_way_meets_nothing_of_the_skill() -> None:
    run = ran(did("make docs"), failed(COPY, "error"), did("./deploy"), matched={0: [0]})
    assert run.frictions
    assert dataclasses.replace(run, followed=False).frictions == ()


def test_places_have_names() -> None:
    assert [place_name(step, 3) for step in (-1, 0, 2, 3)] == [
        "before the first step", "step 1", "step 3", "after the last step",
    ]  # fmt: skip
