"""Kinds in hooks: a session begins with its own person's rules within a cap, and nobody else's preferences ever come."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config.location import account_name
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.recall.hook_recall import MAX_BY_OCCASION
from tacit.store import open_store
from tacit.surfaces.hook.event_handlers import (
    MAX_OWN_CHARACTERS,
    MAX_RULES_SHOWN,
    MAX_START_CHARACTERS,
)
from tacit.surfaces.hook.events import LINES_HEADING
from tests.unit.surfaces.hook_events import SESSION, claude, codex
from tests.unit.surfaces.hooked_project import CARD, NORM, PROCEDURE, make_project

ASK = "Please format the invoices module with black"
CLIENTS = [claude, codex]


def taste(name: str, person: str, tool: str) -> SkillContent:
    return SkillContent(
        kind=Kind.PREFERENCE, name=name, description=f"Format the invoices module with {tool}.", person=person
    )


def norm(number: int, *, words: int = 3) -> SkillContent:
    letters = chr(97 + number % 26) * (4 + number // 26)
    return SkillContent(
        kind=Kind.NORM, name=f"norm-{number:02}", description=f"Convention {letters} holds. " + f"{letters} " * words
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_a_session_starts_with_its_persons_preferences_and_nobody_elses(tmp_path: Path, client) -> None:
    mine, theirs = taste("mine", account_name(), "black"), taste("theirs", "mallory", "yapf")
    anybodys = taste("anybodys", "", "gofmt")
    project = make_project(tmp_path, mine, theirs, anybodys)
    told = project.send(client("SessionStart", source="startup"))
    assert "with black" in told
    assert "with gofmt" in told
    assert "yapf" not in told
    assert "theirs" not in told
    (line,) = project.lines
    assert project.ids["theirs"] not in repr(line), "nor is it noted that it was held back"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_prompt_is_never_answered_with_what_another_prefers(tmp_path: Path, client) -> None:
    project = make_project(tmp_path, taste("theirs", "mallory", "black"))
    assert project.send(client("UserPromptSubmit", prompt=ASK)) == ""
    assert project.ids["theirs"] not in repr(project.lines)


@pytest.mark.parametrize("client", CLIENTS)
def test_no_variable_makes_an_agent_somebody_else(tmp_path: Path, client) -> None:
    project = make_project(tmp_path, taste("theirs", "mallory", "black"))
    project.variables = {"USER": "mallory", "LOGNAME": "mallory", "SUDO_USER": "mallory"}
    assert project.send(client("UserPromptSubmit", prompt=ASK)) == ""


def test_rules_and_facts_belong_to_the_start_and_not_to_a_prompt(tmp_path: Path) -> None:
    project = make_project(tmp_path, taste("mine", account_name(), "black"), CARD, norm(1), PROCEDURE)
    started = project.send(claude("SessionStart", source="startup") | {"session_id": "another"})
    assert all(text in started for text in ("with black", CARD.body))
    asked = project.send(
        claude("UserPromptSubmit", prompt=f"{ASK}, test and lint it and add a migration with a column")
    )
    assert PROCEDURE.steps[1].text in asked
    (path,) = (project.folder / ".tacit" / "sessions").glob(f"*{SESSION}*")
    assert json.loads(path.read_text())["shown"] == [project.ids[PROCEDURE.name]]


def shown_lines(told: str) -> list[str]:
    """The lines below the heading; there is nothing else."""
    heading, *lines = told.split("\n")
    assert heading == LINES_HEADING
    return lines


def test_norms_come_up_to_a_number_and_the_rest_is_noted(tmp_path: Path) -> None:
    short = [
        SkillContent(kind=Kind.NORM, name=f"n-{letter}", description=f"Say {letter * 5}.")
        for letter in "abcdefghijklmnopqrstuvwxyz"
    ]
    project = make_project(tmp_path, *short)
    rules = shown_lines(project.send(claude("SessionStart", source="startup")))
    (line,) = project.lines
    assert len(rules) == len(line["shown"]) == MAX_RULES_SHOWN
    assert len(line["held"]) == 5
    assert not set(line["held"]) & set(line["shown"])


@pytest.mark.parametrize(
    ("broad", "narrow", "hidden"),
    [
        ("Use pnpm, not npm, to install packages.", "Use npm, not pnpm, to install packages.", True),
        ("Never push to main.", "Push to main.", True),
        ("Use pnpm, not npm, to install packages.", "Sign every commit.", False),
    ],
)
def test_of_opposite_norms_the_narrower_one_holds_under_any_name(
    tmp_path: Path, broad: str, narrow: str, *, hidden: bool
) -> None:
    project = make_project(tmp_path)
    for name, said, scope in (("a", broad, Scope(Level.ORGANISATION, "")), ("b", narrow, Scope(Level.PROJECT, ""))):
        with Tacit(open_store(project.database), scope=scope) as memory:
            made = SkillContent(kind=Kind.NORM, name=f"{name}-rule", description=said)
            memory.review(memory.propose(made, by="ann").version_id, "approve", by="ann")
    started = shown_lines(project.send(claude("SessionStart", source="startup")))
    assert sorted(started) == sorted(f"• {each}" for each in ((narrow,) if hidden else (broad, narrow)))
    with Tacit(open_store(project.database)) as memory:
        selection = memory.recall(f"{broad} {narrow}", keep=False)
    given = {each.name for each in (*selection.items, *selection.standing)}
    assert given == ({"b-rule"} if hidden else {"a-rule", "b-rule"})
    assert [each.code for each in selection.left_out] == [ReasonCode.SHADOWED] * hidden


def test_without_a_card_norms_take_its_space(tmp_path: Path) -> None:
    project = make_project(tmp_path, *(norm(number, words=12) for number in range(15)))
    assert len(project.send(claude("SessionStart", source="startup"))) > 0.8 * MAX_START_CHARACTERS


def test_long_norms_come_as_far_as_there_is_room(tmp_path: Path) -> None:
    project = make_project(tmp_path, *(norm(number, words=120) for number in range(15)))
    told = project.send(claude("SessionStart", source="startup"))
    (line,) = project.lines
    assert 0 < len(shown_lines(told)) == len(line["shown"]) < 15
    assert len(told) <= MAX_START_CHARACTERS


@pytest.mark.parametrize(("number", "words"), [(0, 0), (2, 120), (15, 120), (15, 3)])
def test_a_start_has_the_card_after_the_norms_however_many_there_are(tmp_path: Path, number: int, words: int) -> None:
    commands = "\n".join(f"- other: `make target-of-some-length-{each}`" for each in range(7))
    card = replace(CARD, body=commands)
    project = make_project(tmp_path, card, *(norm(each, words=words) for each in range(number)))
    told = project.send(claude("SessionStart", source="startup"))
    (line,) = project.lines
    assert told.count(commands) == 1
    assert line["shown"][-1] == project.ids[CARD.name]
    assert (len(line["shown"]) > 1) is (number > 0)
    assert told.index(commands) > told.find("Convention")
    assert len(told) <= MAX_START_CHARACTERS


def test_a_card_that_cannot_fit_is_noted_and_takes_no_norm_with_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, replace(CARD, body="\n".join(f"- run: `make t{n}`" for n in range(90))), NORM)
    assert NORM.description in project.send(claude("SessionStart", source="startup"))
    (line,) = project.lines
    assert (line["shown"], line["held"]) == ([project.ids[NORM.name]], [project.ids[CARD.name]])


def test_a_card_is_shown_once_in_a_context(tmp_path: Path) -> None:
    project = make_project(tmp_path, CARD)
    assert CARD.body in project.send(claude("SessionStart", source="startup"))
    assert project.send(claude("SessionStart", source="resume")) == ""
    assert CARD.body in project.send(claude("SessionStart", source="compact"))


def test_preconditions_of_norms_are_noted_beside_a_card(tmp_path: Path) -> None:
    bound = replace(NORM, preconditions=(Condition(text="the database runs", check="make db-status"),))
    project = make_project(tmp_path, bound, CARD)
    project.send(claude("SessionStart", source="startup"))
    (line,) = project.lines
    assert line["assumed"] == [["the database runs", "make db-status"]]
    assert line["shown"] == [project.ids[NORM.name], project.ids[CARD.name]]


OCCASION = "changing the invoices exporter, its column order or its CSV header"
ASKED = "The invoices exporter writes a wrong CSV header: change the column order of the exporter"


def note(kind: Kind, number: int, *, occasion: str = OCCASION) -> SkillContent:
    text = f"Exporter note {'xyzw'[number] * 5}: the CSV header and column order of the invoices exporter are in `export.py`."
    queries = (occasion,) if occasion else ()
    return SkillContent(kind=kind, name=f"note-{number}", description=text, example_queries=queries)


@pytest.mark.parametrize("kind", [Kind.LESSON, Kind.FACT, Kind.NORM])
def test_a_note_comes_at_its_occasion_once(tmp_path: Path, kind: Kind) -> None:
    project = make_project(tmp_path, note(kind, 0))
    first = project.send(claude("UserPromptSubmit", prompt=ASKED))
    assert "xxxxx" in first
    assert project.send(claude("UserPromptSubmit", prompt=ASKED)) == ""


@pytest.mark.parametrize("kind", [Kind.LESSON, Kind.FACT])
def test_without_an_occasion_words_alone_bring_no_note(tmp_path: Path, kind: Kind) -> None:
    project = make_project(tmp_path, note(kind, 0, occasion=""))
    assert project.send(claude("UserPromptSubmit", prompt=ASKED)) == ""


@pytest.mark.parametrize("prompt", ["Fix the exporter", "Write the changelog of the release", "Which column is it?"])
def test_a_word_or_two_bring_no_note(tmp_path: Path, prompt: str) -> None:
    project = make_project(tmp_path, note(Kind.LESSON, 0))
    assert project.send(claude("UserPromptSubmit", prompt=prompt)) == ""


def test_a_prompt_brings_two_notes_at_most(tmp_path: Path) -> None:
    kinds = (Kind.LESSON, Kind.FACT, Kind.LESSON, Kind.FACT)
    project = make_project(tmp_path, *(note(kind, number) for number, kind in enumerate(kinds)))
    told = project.send(claude("UserPromptSubmit", prompt=ASKED))
    assert len(shown_lines(told)) == MAX_BY_OCCASION


def test_a_rule_with_an_occasion_waits_for_it_and_one_without_comes_at_the_start(tmp_path: Path) -> None:
    project = make_project(tmp_path, note(Kind.NORM, 0), note(Kind.PREFERENCE, 1), NORM)
    started = project.send(claude("SessionStart", source="startup"))
    assert NORM.description in started
    assert "xxxxx" not in started
    assert "yyyyy" not in started
    asked = project.send(claude("UserPromptSubmit", prompt=ASKED))
    assert "xxxxx" in asked
    assert "yyyyy" in asked


def test_a_preference_that_was_confirmed_comes_at_the_start_before_others(tmp_path: Path) -> None:
    project = make_project(tmp_path, NORM, note(Kind.PREFERENCE, 1))
    with Tacit(open_store(project.database)) as loop:
        renderings = loop.context.store.renderings
        (found,) = renderings.get([project.ids["note-1"]]).values()
        renderings.put(replace(found, reinforced=2))
    started = project.send(claude("SessionStart", source="startup"))
    assert started.index("yyyyy") < started.index(NORM.description)


def test_naming_a_file_alone_does_not_bring_a_note_on_it(tmp_path: Path) -> None:
    text = "Keep `src/billing/invoiceExporter.ts` and `src/billing/columnOrder.ts` alike when the CSV header changes."
    queries = ("changing the CSV header in `src/billing/invoiceExporter.ts`",)
    made = SkillContent(kind=Kind.LESSON, name="exporter-files", description=text, example_queries=queries)
    project = make_project(tmp_path, made)
    files = "`src/billing/invoiceExporter.ts` [columnOrder.ts](src/billing/columnOrder.ts)"
    assert project.send(claude("UserPromptSubmit", prompt=f"Rename a variable: {files}")) == ""
    other = make_project(tmp_path / "other", made)
    task = "Change the CSV header of the billing invoice exporter and keep the column order alike"
    assert made.description in other.send(claude("UserPromptSubmit", prompt=f"{task}: {files}"))


def test_a_procedure_shown_by_one_line_has_no_frame(tmp_path: Path) -> None:
    steps = tuple(SkillStep(text=f"Step {number}: {'word ' * 30}") for number in range(9))
    project = make_project(tmp_path, replace(PROCEDURE, steps=steps))
    told = project.send(claude("UserPromptSubmit", prompt="Add a database migration that adds a column to a table"))
    assert PROCEDURE.description in told
    assert "<tacit-skill" not in told


def test_a_long_later_message_brings_no_note(tmp_path: Path) -> None:
    project = make_project(tmp_path, note(Kind.LESSON, 0))
    project.send(claude("UserPromptSubmit", prompt="Good morning"))
    later = f"{ASKED}. {ASKED.upper()} in `export.py`"
    assert project.send(claude("UserPromptSubmit", prompt=later + "\n\nlog line" * MAX_OWN_CHARACTERS)) == ""
    assert "xxxxx" in project.send(claude("UserPromptSubmit", prompt=later))
