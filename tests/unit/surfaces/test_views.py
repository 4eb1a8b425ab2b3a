"""A skill drawn for people: everything it says is there, in narrow terminals too, and nothing in it acts on them."""

from __future__ import annotations

import dataclasses
import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from tacit.domain.candidate import GateDecision, Verdict
from tacit.domain.identity import plain
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
from tacit.learn.learning_report import LearningReport
from tacit.learn.reading.reader import ReadingReport
from tacit.surfaces.cli.learn import FEW_SESSIONS, FEW_SKILLS, found_little
from tacit.surfaces.cli.views import difference, skill_page
from tests.unit.render.test_conditions import RESTART

FULL = SkillContent(
    kind=Kind.LESSON,
    name="n-ame",
    description="d-escription",
    category="c-ategory",
    tags=("t-ag",),
    example_queries=("e-xample",),
    steps=(SkillStep(text="s-tep", tool="t-ool", arguments={"a-rg": ["v-alue"]}, optional=True),),
    parameters=(
        Parameter(name="p-aram", description="p-text", type="p-type", example="p-ex", reading="p-r", key="p-k"),
    ),
    preconditions=(Condition(text="pre", check="pre-check"),),
    postconditions=(Condition(text="post", reading="po-r", key="po-k", relation="over", value="po-v"),),
    signature="s-ignature",
    cases=(
        Case(conditions=(Condition(text="c-text", check="c-check"), Condition(text="c-two")), support=3, against=2),
    ),
    cues=(Cue(term="f-or", weight=1.5), Cue(term="a-gainst", weight=-2.5)),
    pitfalls=(Pitfall(text="pit", kind="pit-kind", step=1, count=7),),
    after=("a-fter",),
    sub_skills=("s-ub",),
    surroundings=("s-urround",),
    extends="e-xtends",
    body="b-ody",
    files=(SkillFile(path="scripts/f-ile.py", content="x", executable=True),),
    capabilities=Capabilities(hosts=("h-ost",)),
    allowed_tools=("al-lowed",),
    license="l-icense",
    compatibility="c-ompat",
    metadata={"m-key": "m-value"},
    portable=True,
    shareable=False,
    person="p-erson",
)


def drawn(content: SkillContent, *, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(skill_page(content))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value] if isinstance(value, str) else []


def test_every_field_has_a_value_in_the_sample() -> None:
    assert plain(FULL).keys() == {field.name for field in dataclasses.fields(SkillContent)}


@pytest.mark.parametrize("width", [100, 24])
def test_everything_a_skill_says_is_shown(width: int) -> None:
    seen = "".join(drawn(FULL, width=width).split())
    counts = ["3of5times", "seen7times", "atstep2"]
    told = [*leaves(plain(dataclasses.replace(FULL, files=()))), FULL.files[0].path, *counts]
    assert not [text for text in told if text not in seen]
    assert seen.startswith(FULL.name)


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in (30, 60):
        assert max(map(len, drawn(RESTART, width=width).splitlines())) <= width


def test_nothing_stored_acts_on_the_terminal() -> None:
    evil = "[red]x[/red]\x1b[2J\u202e"
    content = dataclasses.replace(FULL, description=evil, cases=(Case(conditions=(Condition(text=evil),)),), body=evil)
    text = drawn(content)
    assert text.count("[red]x[/red]") == 3
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_comparison_shows_which_word_changed() -> None:
    other = dataclasses.replace(RESTART, cues=(RESTART.cues[0], Cue(term="feed", weight=3.0)))
    changed = [line for line in difference(RESTART, other).splitlines() if line[:1] in "+-"]
    assert changed[2:] == ["-feed: 2.5", "+feed: 3"]


def test_a_model_is_suggested_where_counting_over_several_sessions_found_little() -> None:
    assert found_little(LearningReport(trajectories=FEW_SESSIONS))
    assert not found_little(LearningReport(trajectories=FEW_SESSIONS - 1))
    read = ReadingReport(name="recorded")
    assert not found_little(LearningReport(trajectories=FEW_SESSIONS, model=read))
    known = tuple(
        Verdict(
            decision=GateDecision.HOLD, findings=(), at=datetime(2026, 3, 1, tzinfo=UTC), name=str(n), skill_id=str(n)
        )
        for n in range(FEW_SKILLS)
    )
    assert not found_little(LearningReport(trajectories=FEW_SESSIONS, verdicts=known))
