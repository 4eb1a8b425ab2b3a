"""The report of a run: the summary, its limitations, and the same as JSON and for a terminal."""

from __future__ import annotations

import dataclasses
import json
from io import StringIO

from rich.console import Console

from tacit.features.evaluate.eval_report import EvalReport, build_report, share, undetectable, with_transcript
from tacit.features.evaluate.report_formats import report_document, report_parts
from tacit.features.evaluate.run_record import Limitation
from tacit.features.evaluate.suite import AidKind, Arm, AttemptScore, ResultRow
from tacit.features.evaluate.transcript import RunTranscript
from tests.unit.features.evaluate.measured import row, run

SHARES = {"none": 0.4, "skills": 0.8, "placebo": 0.1, "adapter": 0.42}


def codes(report: EvalReport) -> list[str]:
    return [each.code for each in report.limitations]


def message(report: EvalReport, code: str) -> str:
    return next(each.message for each in report.limitations if each.code == code)


def test_the_summary_names_better_worse_and_unclear_arms():
    summary = build_report(run(SHARES)).summary
    assert (summary.better, summary.worse, summary.unclear) == (("skills",), ("placebo",), ("adapter",))
    assert summary.text.index("skills") < summary.text.index("placebo") < summary.text.index("adapter")


def test_without_a_shown_gain_no_arm_is_better():
    summary = build_report(run({"none": 0.5, "skills": 0.5})).summary
    assert (summary.better, summary.unclear) == ((), ("skills",))


def test_a_run_of_the_reference_alone_has_a_summary():
    summary = build_report(run({"none": 0.5})).summary
    assert summary.text
    assert summary.better == summary.worse == summary.unclear == ()


def test_limitations_are_listed_with_their_numbers():
    report = build_report(run({"none": 0.5, "skills": 0.6}, tasks=12), wanted=100)
    assert "24 of 100" in message(report, "incomplete")
    assert "12 tasks" in message(report, "few_tasks")
    assert codes(report).count("missing_arm") == 3
    assert {"one_seed", "low_power", "scope"} <= set(codes(report))


def test_attempts_that_ended_early_are_counted():
    report = build_report([*run({"none": 0.5}), row("none", "x#1", note="time")])
    assert message(report, "broken_off").startswith("1 attempt ")


def shown(report: EvalReport) -> str:
    """What a terminal shows."""
    file = StringIO()
    for part in report_parts(report):
        Console(file=file, width=400).print(part)
    return file.getvalue()


def unaided(name: str, *, tasks: int = 40) -> list[ResultRow]:
    return [dataclasses.replace(each, arm=name, aid_sources=()) for each in run({"none": 0.5}, tasks=tasks)]


def silent(name: str, *, acted: int = 0) -> list[ResultRow]:
    score = AttemptScore(success=False, abstained=True, detail="no skill for this")
    rows = [dataclasses.replace(each, arm=name, aid_sources=("s1",)) for each in run({"none": 0.0})]
    return [each if at < acted else dataclasses.replace(each, score=score) for at, each in enumerate(rows)]


def test_an_arm_that_never_got_an_aid_is_not_measured():
    report = build_report([*run({"none": 0.5, "skills": 0.5}), *unaided("knowledge")])
    assert (report.summary.unclear, report.summary.unaided) == (("skills",), ("knowledge",))
    assert "knowledge" in message(report, "no_aid")
    figures = {each.arm: each for each in report.comparison.arms}
    assert [report.result(figures[name]) for name in ("none", "skills", "knowledge")] == [
        "reference",
        "not shown",
        "no aid",
    ]
    assert figures["knowledge"].differences == {}
    aided = {arm["arm"]: arm["aided"] for arm in report_document(report)["arms"]}
    assert aided == {"none": None, "skills": 40, "knowledge": 0}


def test_an_arm_defined_by_the_run_is_counted_by_its_own_aid():
    arm = Arm(name="short", aid=AidKind.SKILLS)
    rows = [*run({"none": 0.5}), *unaided("short")]
    assert build_report(rows, arms=[arm]).tallies["short"].aided == 0
    assert build_report(rows).tallies["short"].aided is None


def test_if_no_other_arm_got_an_aid_nothing_is_compared():
    summary = build_report([*run({"none": 0.5}), *unaided("skills")]).summary
    assert summary.unaided == ("skills",)
    assert summary.better == summary.worse == summary.unclear == ()


def test_an_agent_that_abstained_nearly_always_is_not_measured():
    report = build_report([*silent("none", acted=40), *silent("skills", acted=3)])
    assert (report.summary.abstained, report.summary.unclear) == (("skills",), ())
    assert "37 of 40" in message(report, "agent_abstained")
    assert [arm["abstained"] for arm in report_document(report)["arms"]] == [0, 37]


def test_abstaining_sometimes_is_a_normal_result():
    report = build_report([*silent("none", acted=40), *silent("skills", acted=20)])
    assert report.summary.unclear == ("skills",)
    assert "agent_abstained" not in codes(report)


def test_abstaining_that_costs_successes_is_worse():
    assert build_report([*run({"none": 0.9}), *silent("skills")]).summary.worse == ("skills",)


def test_a_sample_that_can_show_nothing_has_no_detectable_difference():
    report = build_report([row("none"), row("skills", success=False)])
    assert undetectable(9.4) in report.summary.text
    assert undetectable(9.4) != undetectable(0.25)
    assert "25.0 points" in undetectable(0.25)
    assert "few_tasks" in codes(report)


def test_foreign_text_cannot_act_on_a_terminal():
    bad = "\x1bc\x9b31m\u202egnp.exe [red]"
    score = AttemptScore(success=False, detail=bad)
    text = shown(build_report([row("none"), row("skills", score=score)], agent=bad))
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    assert "[red]" in text


def test_an_arm_that_is_not_better_than_a_constant_answer_is_named():
    right = {each.exercise: "" if place < 20 else f"tool {place % 7}" for place, each in enumerate(run({"none": 1.0}))}

    def score(success: bool) -> AttemptScore:
        return AttemptScore(success=success, exact=success, first_right=success)

    rows = [
        row(arm, key, score=score(arm == "skills" or not tool))
        for key, tool in right.items()
        for arm in ("none", "skills")
    ]
    report = with_transcript(build_report(rows), rows, RunTranscript(asked=right, right=right))
    assert report.not_above_constant == ("none",)
    document = report_document(report)
    assert document["at_floor"] == document["not_above_constant"] == ["none"]
    assert document["floor"] == document["constant_answer"] == {"answer": "done", "success": 0.5}
    assert "always done (50.0 %)" in report.summary.text


def test_without_a_transcript_that_is_a_limitation():
    rows = run(SHARES)
    assert "no_transcript" in codes(with_transcript(build_report(rows), rows, RunTranscript()))


def test_what_is_0_in_every_arm_has_no_table():
    report = build_report(run(SHARES))
    assert report.idle_metrics == ("retries",)
    seen = build_report([*run(SHARES), *silent("knowledge", acted=20)])
    assert seen.has_abstentions


def test_a_footnote_explains_an_interval_without_0_that_is_not_shown():
    plain = build_report(run({"none": 0.4, "skills": 0.8}))
    found = plain.comparison.arm("skills")
    unsure = dataclasses.replace(found.differences["success"], low=0.01, p_holm=0.08)
    arms = (plain.comparison.arms[0], dataclasses.replace(found, differences={"success": unsure}))
    report = dataclasses.replace(plain, comparison=dataclasses.replace(plain.comparison, arms=arms))
    assert len(report.footnotes(["success"])) == len(plain.footnotes(["success"])) + 1
    assert report.footnotes(["success"])[-1] in shown(report)


def test_a_share_is_rounded_once():
    assert share(40 / 74) == "54.1 %"


def test_arms_with_a_number_of_tasks_make_a_learning_curve():
    report = build_report(run({"none": 0.3, "adapter@120": 0.6, "adapter@31": 0.4}))
    assert "adapter after 31 tasks" in shown(report)
    assert [(point.arm, point.tasks) for point in report.curve] == [("adapter", 31), ("adapter", 120)]
    assert [point["training_tasks"] for point in report_document(report)["curve"]] == [31, 120]


def test_forward_transfer_is_the_adapter_less_the_bare_agent():
    report = build_report(run({"skills": 0.4, "none": 0.2, "adapter": 0.9}), reference="skills")
    assert report.forward_transfer is not None
    assert report.forward_transfer.value > 0.5
    assert report_document(report)["forward_transfer"]["result"] == "better"
    assert report_document(build_report(run({"none": 0.2, "skills": 0.9})))["forward_transfer"] is None


def test_forgetting_is_success_before_less_success_now():
    before, now = run({"none": 0.5, "adapter": 0.9}), run({"none": 0.5, "adapter": 0.3})
    report = build_report(now, before=before)
    document = report_document(report)["forgetting"]
    assert document["adapter"]["value"] > 0.4
    assert document["none"]["value"] == 0
    assert report_document(build_report(now))["forgetting"] == {}


def test_the_document_is_json_and_holds_every_regression():
    report = build_report(run(SHARES), agent="ann's agent")
    found = json.loads(json.dumps(report_document(report), allow_nan=False))
    placebo = next(arm for arm in found["arms"] if arm["arm"] == "placebo")
    assert len(placebo["regressions"]) == len(report.comparison.arm("placebo").regressions) > 5
    assert placebo["differences"]["success"]["standing"] == "worse"
    assert found["agent"] == "ann's agent"


def test_one_task_gives_a_document_without_infinity():
    text = json.dumps(report_document(build_report([row("none"), row("skills")])), allow_nan=False)
    assert "Infinity" not in text
    assert len(json.loads(text)["arms"]) == 2


def test_remarks_of_the_record_come_first():
    remark = Limitation("no_seals", "Nobody looked.")
    report = build_report(run(SHARES), remarks=[remark])
    document = report_document(report)
    assert document["limitations"][0] == {"code": "no_seals", "message": "Nobody looked."}
    assert document["not_measured"][0] == "Nobody looked."
