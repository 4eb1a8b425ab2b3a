from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

import tacit
from tacit.api import Tacit
from tacit.domain.skill import Kind, SkillContent, SkillStep, SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.gate.support import Doubt, by_support, support_of
from tests.unit.learn.attempts import bash, conflict, edit, fixed_session, say, session


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
    support = support_of(memory.context.store, waiting(memory, Kind.NORM))
    assert (support.attempts, support.doubts) == (1, ())
    assert [(each.who, each.text) for each in support.snippets] == [("person", "Never commit to main.")]


def test_each_line_of_the_project_card_rests_on_the_part_of_a_command_that_shows_it(memory: Tacit) -> None:
    calls = (
        "KB=/tmp/x; ls $KB\ncd app && uv run pytest -q && echo done",
        "export A=1; uv run ruff check src; git status",
    )
    learn(memory, *(session(number, *map(bash, calls)) for number in range(1, 4)))
    card = waiting(memory, Kind.FACT)
    assert ["uv run pytest" in card.content.body, "uv run ruff check" in card.content.body] == [True, True]
    snippets = support_of(memory.context.store, card).snippets
    assert [(each.who, each.text) for each in snippets] == [
        ("command", "uv run pytest -q"),
        ("command", "uv run ruff check src"),
    ]


def test_a_lesson_rests_on_the_failed_call_and_the_fix(memory: Tacit) -> None:
    learn(memory, *map(fixed_session, (1, 2, 3)))
    support = support_of(memory.context.store, waiting(memory, Kind.LESSON))
    assert support.attempts == 3
    assert len(support.snippets) == 3
    assert any(each.failed for each in support.snippets)
    assert support.doubts == ()


def test_a_fix_whose_output_shows_an_error_or_that_came_with_an_edit_is_doubtful(memory: Tacit) -> None:
    fix = bash("npm install --legacy-peer-deps", "Error: cannot write the lock file\nFAILED")
    learn(memory, *(session(number, conflict(), edit("package.json", "1", "2"), fix) for number in (1, 2, 3)))
    found = [each.version for each in memory.reviews.waiting() if each.version.content.kind is Kind.LESSON]
    assert {doubt for version in found for doubt in support_of(memory.context.store, version).doubts} >= {
        Doubt.EDITED_BETWEEN
    }


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
    assert support_of(memory.context.store, dataclasses.replace(version, content=content)).doubts == doubts


def test_what_most_attempts_show_comes_first_and_what_one_shows_last(memory: Tacit) -> None:
    missing = bash("swag init", "bash: swag: command not found", code=127)
    learn(memory, session(8, missing, bash("go install example.com/swag@latest"), bash("swag init", "ok")))
    learn(memory, session(9, bash("touch a"), say("Never commit to main."), bash("ls")))
    learn(memory, *map(fixed_session, (1, 2, 3)))
    ordered = by_support(memory.context.store, memory.reviews.waiting())
    lessons = [each.version.content.name for each in ordered if each.version.content.kind is Kind.LESSON]
    assert lessons[0].startswith("use-legacy-peer-deps")
    assert ordered[-1].version.content.name == lessons[-1]
    assert lessons[-1].startswith("run-go-install")
