"""What `tacit recall` answers, for programs and for people: with the order in which skills are to be done, and their parts."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import NotPermitted
from tacit.domain.identity import plain
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Scope
from tacit.domain.selection import Budget, Chosen, Item, Plan, PlannedStep, Query, Selection
from tacit.domain.skill import Kind, Skill
from tacit.domain.stored import Passage
from tacit.render.context import crowded_line
from tacit.surfaces.authority import Caller
from tacit.surfaces.cli.recall import selection_document, selection_parts
from tacit.surfaces.cli.report import print_parts
from tests.raising import raises
from tests.unit.store.samples import at, content, version_of


def item(name: str, *parts: str) -> Item:
    made = [version_of(Skill.create(content(each), Scope(), at=at()), content(each)) for each in (name, *parts)]
    return Item(
        version=made[0],
        status=Status.TRIAL,
        score=1.0,
        signals={"lexical": 1.0},
        reasons=("called for",),
        text=f"<{name}>",
        tokens=2,
        parts=tuple(made[1:]),
    )


STOP, START = item("stop-server"), item("start-server", "open-port")
PLAN = Plan(
    chosen=(
        Chosen(version_id=STOP.version_id, name="stop-server", times=2, strength=1.5),
        Chosen(version_id=START.version_id, name="start-server", times=1, strength=0.9),
    ),
    steps=(
        PlannedStep(version_id=STOP.version_id, step=0, tool="Bash"),
        PlannedStep(version_id=STOP.version_id, step=0, tool="Bash", turn=1),
    ),
    reason="left out of what the task calls for: `copy`",
    lacking=("copy_files",),
)
SELECTION = Selection(query=Query(text="move it"), items=(STOP, START), plan=PLAN, text="<both>", use_id="u_1")


def shown(selection: Selection, *, terminal: bool) -> str:
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, color_system=None, width=100)
    print_parts(console, selection_parts(selection, boxed=terminal))
    return written.getvalue()


def test_programs_get_the_plan_whole() -> None:
    plan = plain(selection_document(SELECTION))["plan"]
    assert plan["chosen"] == [
        {"name": "stop-server", "version_id": STOP.version_id, "times": 2, "strength": 1.5},
        {"name": "start-server", "version_id": START.version_id, "times": 1, "strength": 0.9},
    ]
    assert plan["steps"] == [
        {"version_id": STOP.version_id, "step": 0, "tool": "Bash", "turn": turn} for turn in (0, 1)
    ]
    assert (plan["reason"], plan["lacking"]) == (PLAN.reason, ["copy_files"])


def test_programs_get_an_empty_plan_where_there_is_none() -> None:
    document = plain(selection_document(replace(SELECTION, plan=Plan())))
    assert document["plan"] == {"chosen": [], "steps": [], "code": None, "reason": "", "lacking": []}


def test_programs_get_the_parts_of_each_skill() -> None:
    stop, start = plain(selection_document(SELECTION))["items"]
    assert stop["parts"] == []
    [part] = start["parts"]
    assert (part["name"], part["version_id"]) == ("open-port", START.parts[0].id)
    assert part["steps"][0]["tool"] == "Bash"


@pytest.mark.parametrize("terminal", [True, False])
def test_people_see_the_order_of_several(terminal: bool) -> None:
    assert "In this order: stop-server ×2 → start-server\n" in shown(SELECTION, terminal=terminal)


def test_one_alone_has_no_order() -> None:
    alone = replace(SELECTION, items=(STOP,), plan=replace(PLAN, chosen=PLAN.chosen[:1]))
    assert "In this order" not in shown(alone, terminal=True)


def test_a_control_run_shows_how_to_record_it() -> None:
    held_back = Selection(
        query=Query(text="move it"), reason="what fits is held back as a control", use_id="u_" + "7" * 32
    )
    assert "tacit record u_7777777777 --verify 'COMMAND'" in shown(held_back, terminal=True)
    assert "tacit record" not in shown(replace(held_back, use_id=""), terminal=True)
    assert shown(SELECTION, terminal=True).count("tacit record") == 1


def test_a_preview_without_a_use_has_nothing_to_record() -> None:
    assert "tacit record" not in shown(replace(SELECTION, use_id=""), terminal=False)


def test_programs_get_the_room_the_quotations_and_what_found_no_room() -> None:
    paper = replace(
        STOP,
        passages=(Passage(index=3, text="Stop it first.", section="Method", first_page=12, last_page=13),),
    )
    given = replace(
        SELECTION, items=(paper,), budgets=(Budget(Kind.NORM, 0.25, 350, 340, 4, 3),), crowded_out=("use-uv",)
    )
    document = plain(selection_document(given))
    assert document["budgets"] == [
        {"kind": "norm", "share": 0.25, "allowed_tokens": 350, "used_tokens": 340, "given": 4, "left_out": 3}
    ]
    assert document["crowded_out"] == ["use-uv"]
    (quoted,) = document["items"][0]["passages"]
    assert (quoted["first_page"], quoted["last_page"], quoted["text"]) == (12, 13, "Stop it first.")
    assert quoted["citation"].endswith(", pp. 12–13, §Method")


def test_people_see_which_norms_found_no_room() -> None:
    assert "use-uv, no-print\n" in shown(replace(SELECTION, crowded_out=("use-uv", "no-print")), terminal=True)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_norms_without_room_are_named_once(terminal: bool, given: bool) -> None:
    crowded = ("use-uv", "no-print")
    silent = replace(SELECTION, items=(), plan=Plan(), reason="nothing", text="", crowded_out=crowded)
    spoken = replace(SELECTION, text=f"<both>\n{crowded_line(crowded)}", crowded_out=crowded)
    for selection in (spoken, replace(SELECTION, crowded_out=crowded)) if given else (silent,):
        assert shown(selection, terminal=terminal).count("use-uv, no-print") == 1


def test_asking_for_another_person_is_not_for_an_agent() -> None:
    agent = Caller(environment=UserEnvironment(agent_markers=("CLAUDECODE",)), at_terminal=False)
    with raises(NotPermitted, "agent_shell"):
        agent.require_person("recall --person")
    Caller(environment=UserEnvironment(), at_terminal=False).require_person("recall --person")
