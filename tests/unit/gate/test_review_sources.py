"""Text from outside names where it is from, or that nobody knows, and the project's own files keep their origin."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

import tacit
from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.domain.skill import Kind, Provenance, SkillContent, SkillStep, SkillVersion
from tacit.domain.trajectory import ASKED_BY_PROGRAM, Environment, Origin, Role, Span, Step, Task, Trajectory
from tacit.gate.review_sources import (
    Doubt,
    OutsideSource,
    by_support,
    group_alike,
    outside_fields,
    outside_sources,
    support_of,
    text_of_source,
)
from tacit.store import open_store
from tests.unit.learn.attempts import CONFLICT, bash, conflict, edit, fixed_session, say, session
from tests.unit.making import NOW

STEPS = (
    Step(index=0, role=Role.USER, text="Release it.\n\n> first run make publish"),
    Step(
        index=1, role=Role.CONTEXT, text="alpha", arguments={"attachment": "instructions", "place": "/w/shop/CLAUDE.md"}
    ),
    Step(index=2, role=Role.CONTEXT, text="beta", arguments={"block": "search_result"}),
    Step(index=3, role=Role.AGENT, tool="Read", arguments={"file_path": "/w/shop/Makefile"}, observation="gamma"),
    Step(index=4, role=Role.AGENT, tool="Bash", arguments={"command": "cat ../x Makefile"}, observation="delta"),
    Step(index=5, role=Role.AGENT, tool="WebFetch", arguments={"url": "https://a.b/c", "prompt": "x"}, observation="e"),
    Step(index=6, role=Role.AGENT, text="I do it."),
)
RUN = Trajectory(
    task=Task(text=STEPS[0].text),
    steps=STEPS,
    environment=Environment(workspace="/w/shop", client="claude-code"),
    session_id="5e55aaaa-1",
)


def version_of(run: Trajectory, **grounding: tuple[tuple[int, str], ...]) -> SkillVersion:
    return SkillVersion(
        skill_id="s_1",
        content=SkillContent(kind=Kind.LESSON, name="release", description="Release it.", body="Run make."),
        origins={"name": Origin.USER, "description": Origin.USER, "body": Origin.EXTERNAL},
        provenance=Provenance(
            trajectory_ids=(run.id,),
            grounding={
                path: tuple(Span(run.id, step, part) for step, part in spans) for path, spans in grounding.items()
            },
        ),
        created_at=NOW,
    )


def source_of(span: tuple[int, str], *others: tuple[int, str], run: Trajectory = RUN) -> OutsideSource:
    with Tacit(open_store(":memory:")) as memory:
        memory.capture(run)
        version = version_of(run, body=(span, *others))
        [source] = outside_sources(memory.context, version)["body"]
    return source


@pytest.mark.parametrize(
    ("span", "kind", "tool", "place"),
    [
        ((1, "text"), "client", "", "instructions: /w/shop/CLAUDE.md"),
        ((2, "text"), "client", "", "search_result"),
        ((3, "observation"), "tool", "Read", "/w/shop/Makefile"),
        ((4, "observation"), "tool", "Bash", "cat ../x Makefile"),
        ((5, "observation"), "tool", "WebFetch", "https://a.b/c"),
        ((0, "text"), "pasted", "", ""),
    ],
)
def test_a_source_names_session_step_and_place(span, kind, tool, place):
    source = source_of(span, (6, "arguments"))
    assert source == OutsideSource(
        session="5e55aaaa-1", client="claude-code", step=span[0] + 1, kind=kind, tool=tool, place=place
    )
    assert (place.rpartition(": ")[2] or kind) in text_of_source(source)


def test_what_the_agent_or_a_person_wrote_is_no_source_where_another_is_known():
    assert source_of((6, "text"), (0, "text"), (3, "observation")).tool == "Read"


def test_a_program_that_asked_is_named():
    asked = dataclasses.replace(STEPS[0], role=Role.CONTEXT)
    run = dataclasses.replace(RUN, task=Task(text=asked.text, by=ASKED_BY_PROGRAM), steps=(asked, *STEPS[1:]), id="")
    assert source_of((0, "text"), run=run).kind == "program"


def test_what_cannot_be_attributed_says_so():
    assert source_of((6, "arguments")) == OutsideSource()
    lost = version_of(RUN, body=((3, "observation"),))
    with Tacit(open_store(":memory:")) as memory:
        assert outside_sources(memory.context, lost) == {"body": (OutsideSource(),)}
    unknown = dataclasses.replace(lost, origins={"name": Origin.USER}, id="", hash="")
    assert outside_fields(unknown) == ["body", "description"]


def test_files_of_the_project_are_named_and_stay_external(tmp_path: Path):
    for words in (["init", "-q"], ["add", "Makefile"]):
        (tmp_path / "Makefile").write_text("gamma")
        (tmp_path / "other").write_text("gamma")
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    steps: tuple[Step, ...] = (
        *STEPS[:3],
        dataclasses.replace(STEPS[3], arguments={"file_path": f"{tmp_path}/Makefile"}),
    )
    steps += (dataclasses.replace(STEPS[4], arguments={"command": "cat ../x other :(top) . Makefile"}),)
    run = dataclasses.replace(RUN, steps=steps, environment=Environment(workspace=str(tmp_path)), id="")
    place = StoreLocation(database=str(tmp_path / ".tacit" / "tacit.db"), project=tmp_path, chosen_by="nearest")
    with Tacit(open_store(":memory:"), place=place) as memory:
        memory.capture(run)
        version = version_of(run, body=((3, "observation"), (4, "observation")))
        [read, shown] = outside_sources(memory.context, version)["body"]
    assert read.tracked == shown.tracked == ("Makefile",)
    assert version.origins["body"] is Origin.EXTERNAL


@pytest.fixture
def memory() -> Iterable[Tacit]:
    with tacit.open(":memory:") as opened:
        yield opened


def learn(memory: Tacit, *trajectories: Trajectory) -> None:
    for trajectory in trajectories:
        memory.capture(trajectory)
    memory.learn()


def waiting(memory: Tacit, kind: Kind) -> SkillVersion:
    (found,) = [each.version for each in memory.reviews.waiting() if each.version.content.kind is kind]
    return found


def test_a_rule_rests_on_what_the_person_said(memory: Tacit) -> None:
    learn(memory, session(1, bash("touch a"), say("Never commit to main."), bash("ls")))
    support = support_of(memory.context, waiting(memory, Kind.NORM))
    assert (len(support.sessions), support.doubts) == (1, ())
    assert [(each.who, each.text) for each in support.snippets] == [("person", "Never commit to main.")]


def test_each_line_of_the_project_card_rests_on_the_part_of_a_command_that_shows_it(memory: Tacit) -> None:
    calls = (
        "KB=/tmp/x; ls $KB\ncd app && uv run pytest -q && echo done",
        "export A=1; uv run ruff check src; git status",
    )
    learn(memory, *(session(number, *map(bash, calls)) for number in range(1, 4)))
    card = waiting(memory, Kind.FACT)
    assert ["uv run pytest" in card.content.body, "uv run ruff check" in card.content.body] == [True, True]
    snippets = support_of(memory.context, card).snippets
    assert [(each.who, each.text) for each in snippets] == [
        ("command", "uv run pytest -q"),
        ("command", "uv run ruff check src"),
    ]


def test_a_lesson_rests_on_the_failed_call_and_the_fix(memory: Tacit) -> None:
    learn(memory, *map(fixed_session, (1, 2, 3)))
    support = support_of(memory.context, waiting(memory, Kind.LESSON))
    assert len(support.sessions) == 3
    assert len(support.snippets) == 3
    assert any(each.failed for each in support.snippets)
    assert support.doubts == ()


def test_a_fix_whose_output_shows_an_error_or_that_came_with_an_edit_is_doubtful(memory: Tacit) -> None:
    fix = bash("npm install --legacy-peer-deps", "Error: cannot write the lock file\nFAILED")
    learn(memory, *(session(number, conflict(), edit("package.json", "1", "2"), fix) for number in (1, 2, 3)))
    found = [each.version for each in memory.reviews.waiting() if each.version.content.kind is Kind.LESSON]
    assert {doubt for version in found for doubt in support_of(memory.context, version).doubts} >= {
        Doubt.EDITED_BETWEEN
    }


def test_the_failed_call_is_no_doubtful_fix_where_a_pipe_hid_its_status(memory: Tacit) -> None:
    hidden = bash("npm install | tail -5", CONFLICT)
    learn(memory, *(session(each, hidden, bash("npm install --legacy-peer-deps", "added 9")) for each in (1, 2, 3)))
    assert support_of(memory.context, waiting(memory, Kind.LESSON)).doubts == ()


@pytest.mark.parametrize(
    ("description", "arguments", "doubts"),
    [
        ("Should we always rebase?", {}, (Doubt.QUESTION,)),
        ("Look at run 29285807519 first.", {}, (Doubt.ONE_DAY,)),
        ("Reset it.", {"command": "git reset --hard 3f9c2ab"}, (Doubt.ONE_DAY,)),
        ("Use port 8080 and Python 3.12.", {}, ()),
    ],
)
def test_questions_and_ids_of_one_day_are_doubtful(
    memory: Tacit, description: str, arguments: dict[str, str], doubts: tuple[Doubt, ...]
) -> None:
    learn(memory, session(1, bash("touch a"), say("Never commit to main."), bash("ls")))
    version = waiting(memory, Kind.NORM)
    steps = (SkillStep(text="Do it", arguments=arguments),) if arguments else ()
    content: SkillContent = dataclasses.replace(version.content, description=description, steps=steps)
    assert support_of(memory.context, dataclasses.replace(version, content=content)).doubts == doubts


def test_what_most_attempts_show_comes_first_and_what_one_shows_last(memory: Tacit) -> None:
    missing = bash("swag init", "bash: swag: command not found", code=127)
    learn(memory, session(8, missing, bash("go install example.com/swag@latest"), bash("swag init", "ok")))
    learn(memory, session(9, bash("touch a"), say("Never commit to main."), bash("ls")))
    learn(memory, *map(fixed_session, (1, 2, 3)))
    strong, weak = by_support(memory.context, memory.reviews.waiting())
    ordered = [*strong, *weak]
    lessons = [each.version.content.name for each in ordered if each.version.content.kind is Kind.LESSON]
    assert lessons[0].startswith("use-legacy-peer-deps")
    assert ordered[-1].version.content.name == lessons[-1]
    assert lessons[-1].startswith("run-go-install")


def test_lessons_with_one_fix_and_procedures_with_one_sequence_are_decided_together(memory: Tacit) -> None:
    def step(command: str) -> SkillStep:
        return SkillStep(text="Do it.", tool="Bash", arguments={"command": command})

    made = {
        "clean-first": (Kind.LESSON, (step("make clean"),)),
        "clean-again": (Kind.LESSON, (step("make clean"),)),
        "build-first": (Kind.LESSON, (step("make build"),)),
        "add-gls": (Kind.PROCEDURE, (step("carrier add gls"), step("make rates"))),
        "add-dhl": (Kind.PROCEDURE, (step("carrier add dhl"), step("make rates"))),
        "say-it": (Kind.NORM, ()),
        "say-more": (Kind.NORM, ()),
    }
    learn(memory, session(1, bash("touch a"), say("Never commit to main."), bash("ls")))
    stored = memory.reviews.waiting()[0]
    waits = []
    for name, (kind, steps) in made.items():
        content = dataclasses.replace(stored.version.content, kind=kind, name=name, steps=steps)
        waits.append(dataclasses.replace(stored, version=dataclasses.replace(stored.version, content=content, id=name)))
    groups = [[each.version.name for each in page] for page in group_alike(waits)]
    assert groups == [["clean-first", "clean-again"], ["build-first"], ["add-gls", "add-dhl"], ["say-it"], ["say-more"]]
