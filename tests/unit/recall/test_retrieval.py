"""Selecting for a query through a store, by words and by errors; and renderings that are right or not there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from tacit.api import Tacit
from tacit.domain.errors import Refusal
from tacit.domain.evidence import Grade, Outcome, Reliability
from tacit.domain.ledger import About, Remark
from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Case, Condition, Kind
from tacit.domain.trajectory import Origin
from tacit.recall import publishing, retrieval
from tacit.recall.hook_recall import HookLimits, for_error, for_task
from tacit.recall.ranking import RecallDecision
from tacit.render import render_item, render_selection
from tacit.store import Store, open_store
from tacit.store.hook_index import HookIndex
from tacit.text.error_signatures import error_signature
from tacit.text.words import estimate_tokens
from tests.unit.store.samples import START, at, evidence, put_version, step_to
from tests.unit.store.samples import content as written

NOW = START + timedelta(days=10)
MISSING = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"
SIGNATURE = error_signature(MISSING)


@pytest.fixture
def store() -> Iterator[Store]:
    opened: Store = open_store(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "tacit.db")


def text_of(store: Store, version_id: str) -> str:
    found = store.renderings.get([version_id]).get(version_id)
    assert found is not None
    return found.text


def ask(store: Store, text: str, *, error: str = "", **more: object) -> Selection:
    query = dataclasses.replace(Query(text=text, state={"error": error} if error else {}), **more)  # type: ignore[arg-type]
    return retrieval.choose(store, query, now=NOW, min_relevance=0.18)


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


def lessons(store: Store) -> None:
    """Two lessons for one error, one for a near one, one for another."""
    told = {
        "install-yaml": SIGNATURE,
        "pin-the-interpreter": SIGNATURE,
        "name-the-package": "ImportError: No module named <value> found",
        "close-the-file": "PermissionError: the process cannot access <path>",
    }
    for name, signature in told.items():
        put_version(store, name, kind=Kind.LESSON, description="What to do then", signature=signature, steps=())


def test_an_error_is_answered_by_its_signature_before_anything_that_shares_words(store: Store) -> None:
    lessons(store)
    put_version(store, "parse-yaml", description="Parse yaml files with the yaml module named yaml")
    selection = ask(store, "parse the yaml files", error=MISSING, k=3)
    assert set(names(selection)[:2]) == {"install-yaml", "pin-the-interpreter"}
    assert selection.items[0].signals["signature"] == selection.items[0].signals["relevance"] == 1
    assert names(selection)[2] == "parse-yaml"


def test_an_error_alone_is_a_question_too(store: Store) -> None:
    lessons(store)
    assert set(names(ask(store, "", error=MISSING, k=2))) == {"install-yaml", "pin-the-interpreter"}


def test_a_near_error_is_answered_with_a_word_of_how_near(store: Store) -> None:
    lessons(store)
    selection = ask(store, "", error="ImportError: No module named 'x' was found")
    assert names(selection)[0] == "name-the-package"
    assert 0 < selection.items[0].signals["signature"] < 1
    assert "close-the-file" not in names(selection)


def test_an_unknown_error_is_met_with_silence(store: Store) -> None:
    lessons(store)
    assert ask(store, "", error="KeyError: 'colour'").abstained
    assert ask(store, "", error="").abstained


def test_an_error_is_not_asked_about_where_lessons_are_not_wanted(store: Store) -> None:
    lessons(store)
    assert ask(store, "", error=MISSING, kinds=(Kind.PROCEDURE,)).abstained


def test_what_becomes_recallable_is_rendered_as_recall_shows_it(store: Store) -> None:
    stored = put_version(store, body="\n".join(f"# Part {n}\n" + "word " * 200 for n in range(3)))
    put_version(store, "held", status=Status.CANDIDATE)
    assert publishing.publish(store) == 1
    assert publishing.publish(store) == 0
    found = store.renderings.get([stored.version.id]).get(stored.version.id)
    assert found is not None
    content, unknown = stored.version.content, Reliability()
    source = "learned from 1 attempt, in part from outside text"
    most = publishing.BRIEF_TOKENS
    assert found.text == render_item(content, status=Status.TRIAL, reliability=unknown, source=source, max_tokens=most)
    assert 0 < found.tokens == estimate_tokens(found.text) <= most
    assert (found.reliability, found.fresh_at) == (0.5, stored.version.created_at)


def test_a_rendering_follows_status_and_evidence(store: Store) -> None:
    stored = put_version(store)
    publishing.publish(store)
    for minute in range(5):
        store.add(evidence(stored.version.id, minutes=minute, outcome=Outcome.FAILURE))
    store.add_transition(step_to(stored, Status.TRUSTED))
    assert publishing.publish(store) == 1
    found = store.renderings.get([stored.version.id]).get(stored.version.id)
    assert found is not None
    assert "[trusted; worked in 0 of 5 verified uses; learned from 1 attempt, in part from outside text]" in found.text
    assert found.reliability < 0.5
    assert found.fresh_at == stored.version.created_at  # failures confirm nothing


def test_a_rendering_is_as_fresh_as_the_last_verified_success(store: Store) -> None:
    stored = put_version(store)
    for minute, outcome, grade in (
        (1, Outcome.SUCCESS, Grade.MACHINE),
        (2, Outcome.SUCCESS, Grade.SELF),
        (3, Outcome.FAILURE, Grade.MACHINE),
    ):
        told = evidence(stored.version.id, minutes=minute, outcome=outcome, grade=grade, use_id=f"u{minute}")
        store.add(told)
    publishing.publish(store)
    found = store.renderings.get([stored.version.id]).get(stored.version.id)
    assert found is not None
    assert found.fresh_at == at(1)


def test_the_loop_renders_with_every_change(store: Store) -> None:
    loop = Tacit(store, clock=lambda: NOW)
    verdict = loop.propose(written("deploy-service"), by="ann", origin=Origin.USER)
    version_id = verdict.version_id
    assert store.renderings.get([version_id]).get(version_id) is None  # it waits for a person
    loop.review(version_id, "approve", by="ann")
    assert "[trial; not measured yet; written by a person]" in text_of(store, version_id)
    for task in ("deploy the service", "deploy the service again", "please deploy the service"):
        assert "not measured yet" in text_of(store, version_id)
        loop.record(loop.recall(task).use_id, outcome="success", grade=Grade.MACHINE)
    assert "worked in 3 of 3 verified uses" in text_of(store, version_id)
    revised = loop.propose(
        written("deploy-service", description="Deploy the service to the moon"),
        by="ann", origin=Origin.USER, revises=store.version(version_id),
    )  # fmt: skip
    loop.review(revised.version_id, "approve", by="ann")
    loop.reviews.rollback(version_id, by="ann")
    assert store.renderings.get([revised.version_id]).get(revised.version_id) is None
    loop.review(version_id, "retire", by="ann")
    assert store.renderings.get([version_id]).get(version_id) is None
    assert store.renderings.missing() == []


def test_what_a_retired_part_said_is_shown_no_more(store: Store) -> None:
    loop = Tacit(store, clock=lambda: NOW)
    case = Case(conditions=(Condition(text="the ZEBRAQUARTZ lamp blinks red"),))
    part = written("restart-modem", cases=(case,))
    ids = [
        loop.propose(content, by="ann", origin=Origin.USER).version_id
        for content in (
            part,
            written("check-cable"),
            written("repair-line", sub_skills=("restart-modem", "check-cable")),
        )
    ]
    for version_id in ids:
        loop.review(version_id, "approve", by="ann")
    assert "ZEBRAQUARTZ" in text_of(store, ids[2])
    loop.review(ids[0], "retire", by="ann")
    assert "ZEBRAQUARTZ" not in text_of(store, ids[2])


def test_a_refused_change_leaves_the_rendering_as_it_was(store: Store) -> None:
    stored = put_version(store)
    publishing.publish(store)
    before = store.renderings.get([stored.version.id]).get(stored.version.id)
    with pytest.raises(Refusal):
        Tacit(store, clock=lambda: NOW).review(stored.version.id, "reject", by="ann")
    assert store.renderings.get([stored.version.id]).get(stored.version.id) == before is not None


# --- hooks see the same ---------------------------------------------------------------------------------------------


def open_hook_index(store: Store, path: str) -> HookIndex:
    publishing.publish(store)
    found = HookIndex.open(path)
    assert found is not None
    return found


def asked(hook_index: HookIndex, text: str, **more: object) -> RecallDecision:
    limits = HookLimits(**more)  # type: ignore[arg-type]
    return for_task(hook_index, text, scope="project", now=NOW.timestamp(), limits=limits)


@pytest.fixture
def stocked(path: str) -> Iterator[Store]:
    opened = open_store(path)
    for number in range(30):
        place = ("staging", "production", "the moon")[number % 3]
        body = f"Build image {number} first. Größe 漢字. " + "Then wait a little. " * (number * 8)
        stored = put_version(
            opened,
            f"deploy-{place.split()[-1]}-{number}",
            kind=tuple(Kind)[number % 5],
            description=f"Deploy service {number} to {place}",
            body=body,
            tags=("ship", place),
            example_queries=(f"bring it to {place}", f"release number {number}"),
            minutes=number * 1000,
        )
        for minute in range(number % 4):
            failed = Outcome.FAILURE if number % 2 else Outcome.SUCCESS
            opened.add(evidence(stored.version.id, minutes=number * 1000 + minute, outcome=failed))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "text",
    ["deploy service 7 to production", "release number 12", "ship it to the moon please", "image 漢字", "wait a little",
     "unheard penguins", "", "bring `service 3` to staging and " + "then tell everybody about it " * 60],
)  # fmt: skip
def test_a_hook_ranks_and_abstains_as_the_loop_does(stocked: Store, path: str, text: str) -> None:
    answer = asked(open_hook_index(stocked, path), text, k=20, budget_tokens=100_000)
    selection = ask(stocked, text, k=20, budget_tokens=100_000)
    assert [given.source.version_id for given in answer.given] == [item.version_id for item in selection.items]
    assert (answer.code is not None) == selection.abstained
    for given, item in zip(answer.given, selection.items, strict=True):
        assert given.signals == pytest.approx(item.signals)


def test_a_hook_keeps_to_number_and_budget_and_says_what_is_missing(stocked: Store, path: str) -> None:
    hook_index = open_hook_index(stocked, path)
    answer = asked(hook_index, "deploy service to staging", k=2)
    assert len(answer.given) == 2
    assert ReasonCode.OVER_LIMIT in {left.code for left in answer.rejected}
    for budget in (0, 40, 100, 200, 400, 800):
        answer = asked(hook_index, "deploy service to staging", k=9, budget_tokens=budget)
        assert estimate_tokens(render_selection([given.text for given in answer.given])) <= budget
        assert bool(answer.given) == (budget > 100) or budget == 100
        assert answer.given or answer.code


def test_what_was_shown_already_is_passed_over(stocked: Store, path: str) -> None:
    hook_index = open_hook_index(stocked, path)
    first = asked(hook_index, "deploy service to staging", k=1).given[0].source
    limits, now = HookLimits(k=1), NOW.timestamp()
    again = for_task(
        hook_index, "deploy service to staging", scope="project", now=now, limits=limits, skip={first.version_id}
    )
    assert again.given[0].source.version_id != first.version_id
    assert (first.version_id, ReasonCode.ALREADY_SHOWN) in [(left.row.version_id, left.code) for left in again.rejected]


def test_a_hook_answers_an_error_by_its_signature_or_not_at_all(path: str) -> None:
    store = open_store(path)
    lessons(store)
    hook_index, now = open_hook_index(store, path), NOW.timestamp()

    def answer(output: str, k: int = 3) -> RecallDecision:
        signatures = [error_signature(output)]
        return for_error(hook_index, signatures, program="", scope="project", now=now, limits=HookLimits(k=k))

    exact = answer(MISSING)
    assert {given.source.name for given in exact.given} == {"install-yaml", "pin-the-interpreter"}
    assert all(given.signals["signature"] == 1.0 for given in exact.given)
    assert len(answer(MISSING, k=1).given) == 1
    silent = answer("KeyError: 'colour'")
    assert (silent.given, silent.code) == ([], ReasonCode.NO_SHARED_WORDS)
    assert answer("").given == []
    store.close()


@pytest.mark.parametrize(
    ("tags", "program", "given"),
    [
        (("call:pytest", "before"), "pytest", True),
        (("call:pytest", "before"), "make", False),
        (("call:pytest", "before"), "", False),
        (("call:rails server",), "rails", True),
        (("call:scripts/release.sh",), "make", False),
        (("call:release.sh",), "release.sh", True),
        (("call:pre-commit run",), "pre-commit", True),
        (("call:pre-commit run",), "commit", False),
        (("call:git push",), "push", False),
        (("call:Bash",), "Bash", True),
        (("tool-calling",), "make", True),
        ((), "make", True),
        ((), "", True),
    ],
)
def test_a_lesson_about_a_call_answers_only_errors_of_its_program(
    path: str, tags: tuple[str, ...], program: str, given: bool
) -> None:
    store = open_store(path)
    signature = "call to undefined function <value>"
    lesson = put_version(store, kind=Kind.LESSON, description="x", signature=signature, tags=tags, steps=())
    answer = for_error(
        open_hook_index(store, path),
        ["another line", signature],
        program=program,
        scope="project",
        now=NOW.timestamp(),
        limits=HookLimits(),
    )
    assert [row.version_id for row in answer.given] == ([lesson.version.id] if given else [])
    store.close()


def test_lines_of_one_output_bring_each_lesson_once(path: str) -> None:
    store = open_store(path)
    lessons(store)
    answer = for_error(
        open_hook_index(store, path),
        [SIGNATURE, SIGNATURE, "PermissionError: the process cannot access <path>"],
        program="",
        scope="project",
        now=NOW.timestamp(),
        limits=HookLimits(k=9),
    )
    assert sorted(row.name for row in answer.given) == ["close-the-file", "install-yaml", "pin-the-interpreter"]
    store.close()


def test_a_damaged_remark_on_one_skill_keeps_no_other_from_being_given(tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    put_version(store, "deploy-service", body="deploy the service with the release script")
    other = put_version(store, "water-plants", body="the service of watering plants")
    store.add(Remark(subject=other.skill.id, about=About.PROMOTION, by="ana", at=START, text="{}"))
    publishing.publish(store)
    database = apsw.Connection(str(tmp_path / "tacit.db"))
    guards = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'remarks'"
    for (name,) in database.execute(guards).fetchall():
        database.execute(f"DROP TRIGGER {name}")
    database.execute("UPDATE remarks SET at = '2020-01-01'")
    database.close()
    query = Query(text="deploy the service with the release script", k=1, budget_tokens=2000)
    selection = retrieval.choose(store, query, now=NOW, min_relevance=0.1)
    assert [item.name for item in selection.items] == ["deploy-service"]
    assert other.version.id in {left.version_id for left in selection.left_out}
    store.close()
