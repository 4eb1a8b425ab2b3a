"""What is said of a run: a verdict, what was not measured, and the same as JSON, Markdown and one page."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from tacit.features.evaluate.document import document
from tacit.features.evaluate.markdown import markdown
from tacit.features.evaluate.page import page
from tacit.features.evaluate.plots import learning_curve
from tacit.features.evaluate.report import footnotes, missable, report, share, stands, with_words
from tacit.features.evaluate.suite import AidKind, Arm, Row, Score
from tacit.features.evaluate.words import Words
from tests.unit.features.evaluate.measured import row, run

SHARES = {"none": 0.4, "skills": 0.8, "placebo": 0.1, "adapter": 0.42}


def test_the_verdict_names_better_worse_and_what_cannot_be_told_apart():
    said = report(run(SHARES)).verdict
    better, worse, unclear = (
        said.index("better: skills"),
        said.index("worse: placebo"),
        said.index("not told apart: adapter"),
    )
    assert said.startswith("Against none (")
    assert better < worse < unclear


def test_without_a_shown_gain_the_verdict_says_so():
    assert "no arm is shown to be better" in report(run({"none": 0.5, "skills": 0.5})).verdict


def test_a_run_of_the_reference_alone_has_a_verdict_too():
    assert "no other arm" in report(run({"none": 0.5})).verdict


def test_what_was_not_measured_is_said():
    said = " ".join(report(run({"none": 0.5, "skills": 0.6}, tasks=12), wanted=100).not_measured)
    for part in ("24 of 100", "12 tasks are few", "No arm placebo", "No arm oracle", "One seed", "may be missed"):
        assert part in said


def test_attempts_that_were_broken_off_are_counted():
    assert "1 attempt broken off" in " ".join(
        report([*run({"none": 0.5}), row("none", "x#1", note="time")]).not_measured
    )


def unaided(name: str, *, tasks: int = 40) -> list[Row]:
    return [dataclasses.replace(each, arm=name, aid_sources=()) for each in run({"none": 0.5}, tasks=tasks)]


def silent(name: str, *, acted: int = 0) -> list[Row]:
    score = Score(success=False, abstained=True, detail="no skill for this")
    rows = [dataclasses.replace(each, arm=name, aid_sources=("s1",)) for each in run({"none": 0.0})]
    return [each if at < acted else dataclasses.replace(each, score=score) for at, each in enumerate(rows)]


def test_an_arm_that_never_got_an_aid_is_told_as_not_measured():
    told = report([*run({"none": 0.5, "skills": 0.5}), *unaided("knowledge")])
    assert "not told apart: skills (" in told.verdict
    assert "no aid was ever given: knowledge" in told.verdict
    assert any("knowledge" in line and "nothing to give" in line for line in told.not_measured)
    figures = {each.arm: each for each in told.comparison.arms}
    assert [stands(told, figures[name]) for name in ("none", "skills", "knowledge")] == [
        "reference",
        "not shown",
        "no aid",
    ]
    assert figures["knowledge"].differences == {}
    line = next(line for line in markdown(told).splitlines() if line.startswith("| knowledge |"))
    assert "| – | – | no aid | – |" in line
    assert page(told).count(">no aid<") == len(told.comparison.metrics) - len(told.idle)
    assert {arm["arm"]: arm["aided"] for arm in document(told)["arms"]} == {"none": None, "skills": 40, "knowledge": 0}
    assert "0 of 40" in markdown(told)
    assert "0 of 40" in page(told)


def test_an_arm_of_ones_own_that_asks_memory_is_counted_as_the_run_says():
    arm = Arm(name="short", aid=AidKind.SKILLS)
    rows = [*run({"none": 0.5}), *unaided("short")]
    assert report(rows, arms=[arm]).tallies["short"].aided == 0
    assert report(rows).tallies["short"].aided is None


def test_where_no_other_arm_got_an_aid_nothing_is_said_of_success():
    said = report([*run({"none": 0.5}), *unaided("skills")]).verdict
    assert "no other arm was measured (not measured, since no aid was ever given: skills)" in said


def test_an_agent_that_abstained_on_nearly_everything_is_told():
    told = report([*silent("none", acted=40), *silent("skills", acted=3)])
    assert "since the agent abstained: skills" in told.verdict
    assert "not told apart" not in told.verdict
    assert any("skills" in line and "abstained in 37 of 40" in line for line in told.not_measured)
    for text in (markdown(told), page(told)):
        assert "37 of 40" in text
    assert [arm["abstained"] for arm in document(told)["arms"]] == [0, 37]


def test_abstaining_now_and_then_is_a_result_like_others():
    told = report([*silent("none", acted=40), *silent("skills", acted=20)])
    assert "not told apart: skills" in told.verdict
    assert not any("abstained" in line for line in told.not_measured)


def test_silence_that_costs_successes_is_worse_and_not_unmeasured():
    assert "worse: skills" in report([*run({"none": 0.9}), *silent("skills")]).verdict


def test_a_sample_that_can_show_nothing_says_so_instead_of_a_number():
    told = report([row("none"), row("skills", success=False)])
    assert "1 task)" in told.verdict
    assert "no difference could be found at this size" in told.verdict
    assert "1 task is few" in " ".join(told.not_measured)
    assert missable(9.4) == "no difference could be found at this size"
    assert missable(0.25) == "a difference below 25.0 points may be missed"


def test_an_agents_words_act_on_no_terminal_and_link_to_nowhere():
    bad = "\x1bc\x9b31m\u202egnp.exe https://evil.example www.evil.example @ann"
    score = Score(success=False, detail=bad)
    text = markdown(report([row("none"), row("skills", score=score)], agent=bad))
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    assert "://" not in text
    assert "www." not in text
    assert "@ann" not in text


def test_an_arm_that_is_no_better_than_what_is_trivial_is_named_in_the_headline():
    right = {each.exercise: "" if place < 20 else f"tool {place % 7}" for place, each in enumerate(run({"none": 1.0}))}

    def score(success: bool) -> Score:
        return Score(success=success, exact=success, first_right=success)

    rows = [
        row(arm, key, score=score(arm == "skills" or not tool))
        for key, tool in right.items()
        for arm in ("none", "skills")
    ]
    told = with_words(report(rows), rows, Words(asked=right, right=right))
    assert told.at_floor == ("none",)
    assert told.verdict.endswith(" none: no better than always done (50.0 %), as far as these tasks show.")
    assert document(told)["at_floor"] == ["none"]
    for text in (markdown(told), page(told)):
        assert "none: no better than always done" in text


def test_what_is_0_in_every_arm_is_one_line_and_no_table():
    told = report(run(SHARES))
    for text in (markdown(told), page(told)):
        assert "In every arm 0: retries, abstained." in text
        assert "Retries" not in text
        assert "abstained<" not in text
        assert "| abstained" not in text
    seen = report([*run(SHARES), *silent("knowledge", acted=20)])
    assert "| abstained |" in markdown(seen)
    assert "In every arm 0: retries.\n" in markdown(seen)


def test_why_an_interval_may_leave_out_0_and_nothing_is_shown():
    plain = report(run({"none": 0.4, "skills": 0.8}))
    found = plain.comparison.arm("skills")
    unsure = dataclasses.replace(found.differences["success"], low=0.01, p_holm=0.08)
    arms = (plain.comparison.arms[0], dataclasses.replace(found, differences={"success": unsure}))
    told = dataclasses.replace(plain, comparison=dataclasses.replace(plain.comparison, arms=arms))
    assert "p (Holm) allows" not in " ".join(footnotes(plain, ["success"]))
    assert "p (Holm) allows for that" in footnotes(told, ["success"])[-1]
    assert "p (Holm) allows for that" in markdown(told)
    assert "p (Holm) allows for that" in page(told)


def test_a_share_is_rounded_once():
    assert share(40 / 74) == "54.1 %"


def test_arms_with_a_number_of_tasks_make_a_learning_curve():
    told = report(run({"none": 0.3, "adapter@120": 0.6, "adapter@31": 0.4}))
    assert [(point.arm, point.tasks) for point in told.curve] == [("adapter", 31), ("adapter", 120)]
    assert "Learning curve" in page(told)
    assert "Learning curve" in markdown(told)


def test_names_at_the_end_of_a_learning_curve_do_not_stand_on_one_another():
    told = report(run({"none": 0.5, "adapter@31": 0.5, "skills+adapter@31": 0.5, "skills@31": 0.5}))
    drawn = learning_curve(told.curve, level=("none", 0.5))
    places = sorted(float(found) for found in re.findall(r'class="value" x="[^"]+" y="([^"]+)"', drawn))
    assert len(places) == 4
    assert all(below - above >= 14 for above, below in pairwise(places))


def test_the_document_is_json_and_holds_every_regression():
    told = report(run(SHARES), agent="ann's agent")
    found = json.loads(json.dumps(document(told), allow_nan=False))
    placebo = next(arm for arm in found["arms"] if arm["arm"] == "placebo")
    assert len(placebo["regressions"]) == len(told.comparison.arm("placebo").regressions) > 5
    assert placebo["differences"]["success"]["standing"] == "worse"
    assert found["agent"] == "ann's agent"


def test_one_task_gives_a_document_without_infinity():
    said = json.dumps(document(report([row("none"), row("skills")])), allow_nan=False)
    assert "Infinity" not in said
    assert len(json.loads(said)["arms"]) == 2


def test_markdown_lists_every_regression_and_cannot_be_broken_by_names():
    rows = [row("none", "a|b<i>#1"), row("skills", "a|b<i>#1", success=False)]
    text = markdown(report(rows))
    assert "a\\|b\\<i\\>#1" in text
    assert "## Regressions of skills (1)" in text
    assert text.startswith("# shop: 2 arms")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in ("meta", "circle", "line", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text: str) -> _Tags:
    tags = _Tags()
    tags.feed(text.replace("/>", ">"))
    return tags


def test_the_page_needs_nothing_else_and_every_tag_is_closed():
    tags = parsed(page(report(run(SHARES), agent="ann")))
    assert tags.open == []
    assert tags.links == []
    assert "script" not in tags.seen
    assert "svg" in tags.seen


def test_the_page_shows_every_arm_and_every_regression():
    told = report(run(SHARES))
    text = page(told)
    for figures in told.comparison.others:
        assert f"<summary>{figures.arm}: {len(figures.regressions)}</summary>" in text
        assert all(change.exercise in text for change in figures.regressions)


def test_names_from_outside_cannot_act_on_the_page():
    bad = "<script>alert(1)</script>"
    rows = [row("none", f"{bad}#1", suite=bad), row(bad, f"{bad}#1", suite=bad, success=False)]
    assert "script" not in parsed(page(report(rows, agent=bad))).seen


@pytest.mark.parametrize("bad", ["\u202e", "\u2066", "\u2028", "\u200b", "\x1b", "\x07", "\x85", "\0"])
def test_characters_that_nobody_sees_are_left_out_of_the_page(bad):
    named, arm = f"a{bad}b", f"s{bad}k"
    rows = [row("none", f"{named}{n}#1", suite=named) for n in range(9)]
    rows += [row(arm, f"{named}{n}#1", suite=named, success=n > 6, note=named) for n in range(9)]
    text = page(report(rows, agent=named))
    assert "svg" in parsed(text).seen
    assert bad not in text
    assert parsed(text).open == []


def test_what_a_record_says_of_itself_is_in_every_form():
    told = report(run(SHARES), remarks=["Nobody looked."])
    assert told.not_measured[0] == document(told)["not_measured"][0] == "Nobody looked."
    assert "\n- Nobody looked." in markdown(told)
    assert "<li>Nobody looked.</li>" in page(told)


def test_a_run_of_the_reference_alone_makes_a_page_without_a_plot():
    assert "svg" not in parsed(page(report(run({"none": 0.5})))).seen
