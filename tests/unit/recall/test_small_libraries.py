"""What a person with two dozen skills meets: silence over everyday words, the right neighbour, nobody else's skills."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.store import open_store
from tests.raising import raises

LIBRARY = {
    "backup-postgres": "Dump the Postgres database to the archive. It takes a minute.",
    "restore-postgres-dump": "Load yesterday's dump into the database again.",
    "deploy-to-staging": "Deploy the shop to staging.",
    "deploy-to-production": "Deploy the shop to production.",
    "free-port-8080": "Find and stop the process that already uses port 8080.",
    "pytest-over-unittest": "Write new tests with pytest.",
}


@pytest.fixture
def loop() -> Iterator[Tacit]:
    store = open_store(":memory:")
    memory = Tacit(store, scope=Scope(Level.PROJECT, "shop"))
    for name, description in LIBRARY.items():
        add(memory, name, description)
    yield memory
    memory.close()


def add(memory: Tacit, name: str, description: str, *, approved: bool = True, **fields: object) -> None:
    content = SkillContent(kind=Kind.PROCEDURE, name=name, description=description, **fields)  # type: ignore[arg-type]
    verdict = memory.propose(content, by="a person", origin=Origin.USER)
    if approved:
        memory.review(verdict.version_id, "approve", by="a person")


def given(memory: Tacit, task: str, **more: object) -> list[str]:
    return [item.name for item in memory.recall(task, keep=False, **more).items]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "chatter",
    ["what does it take to be happy", "that's already done", "please write a poem", "Peter's birthday", "let's go on"],
)
def test_everyday_words_and_what_contractions_leave_are_no_reason_to_speak(loop: Tacit, chatter: str) -> None:
    assert given(loop, chatter) == []


def test_two_words_meet_what_is_written_as_one(loop: Tacit) -> None:
    assert given(loop, "back up the database before I migrate")[0] == "backup-postgres"


def test_what_is_far_behind_on_a_clear_question_is_not_given(loop: Tacit) -> None:
    assert given(loop, "deploy the shop to staging") == ["deploy-to-staging", "deploy-to-production"]
    assert given(loop, "free port 8080") == ["free-port-8080"]


def test_what_nobody_approved_changes_nothing(loop: Tacit) -> None:
    tasks = ["dump the postgres database", "load the dump into the database", "deploy to production"]
    before = [loop.recall(task, keep=False) for task in tasks]
    for number in range(30):
        add(
            loop,
            f"noise-{number}",
            "Load, dump and deploy the postgres database to production",
            approved=False,
            body="x",
        )
    for task, then in zip(tasks, before, strict=True):
        now = loop.recall(task, keep=False)
        assert [item.name for item in now.items] == [item.name for item in then.items]
        assert [item.signals["words"] for item in now.items] == [item.signals["words"] for item in then.items]
        assert now.confidence == then.confidence


def test_retired_skills_stop_counting_too(loop: Tacit) -> None:
    alone = loop.context.store.document_frequency(["deploy"])
    add(loop, "deploy-elsewhere", "Deploy to another place")
    assert loop.context.store.document_frequency(["deploy"]) == ({"deploy": alone[0]["deploy"] + 1}, alone[1] + 1)
    loop.review(loop.version("deploy-elsewhere").version.id, "retire", by="a person")
    assert loop.context.store.document_frequency(["deploy"]) == alone
    assert list(loop.context.store.verify()) == []


def test_a_narrower_skill_that_may_not_be_used_hides_nothing(loop: Tacit) -> None:
    step = SkillStep(text="Restore.", tool="pg_restore")
    narrow = Tacit(loop.context.store, scope=Scope(Level.SESSION, "now"))
    add(narrow, "deploy-to-staging", "Deploy the shop to staging by hand.", steps=(step,))
    assert "deploy-to-staging" in given(narrow, "deploy the shop to staging", tools=["bash"])


def test_another_projects_skills_are_not_in_the_catalogue(loop: Tacit) -> None:
    other = Tacit(loop.context.store, scope=Scope(Level.PROJECT, "other"))
    assert [entry.name for entry in other.catalogue().entries] == []
    assert "free-port-8080" in [entry.name for entry in loop.catalogue().entries]


@pytest.mark.parametrize(
    "wrong",
    [{"kinds": "norms"}, {"state": "error"}, {"min_reliability": 80}, {"scope": "galaxy"}],
)
def test_what_cannot_be_asked_is_told(loop: Tacit, wrong: dict[str, object]) -> None:
    with pytest.raises(Mistake):
        loop.recall("deploy", **wrong)  # type: ignore[arg-type]
    with raises(Mistake, "task_not_text"):
        loop.recall(None)  # type: ignore[arg-type]
