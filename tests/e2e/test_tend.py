"""Looking after a library from the command line: what is told, what a person's word does, and what an agent may not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.config import channels
from tacit.domain.evidence import Grade, Use
from tacit.domain.ledger import About, Remark
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin
from tacit.store import open_store
from tacit.surfaces.hook import waiting
from tacit.surfaces.hook.learner import care_for_library
from tests.e2e.conftest import Terminal
from tests.e2e.test_review import unlocked
from tests.unit.making import bash_steps, content

LONG_AGO = datetime.now(UTC) - timedelta(days=120)
RELEASE = content(
    name="release-the-service",
    description="Build the image, push it and roll the service out",
    steps=bash_steps("docker build .", "docker push registry", "kubectl rollout restart deploy/api"),
)
AGAIN = dataclasses.replace(
    RELEASE,
    name="release-the-service-again",
    steps=(*RELEASE.steps, *bash_steps("kubectl rollout status deploy/api")),
)
ASK = "Apply these"


@pytest.fixture
def kept(terminal: Terminal) -> Iterator[Tacit]:
    """A project's store with two skills that say the same and one that nothing has confirmed for long."""
    (terminal.project / ".tacit").mkdir()
    times = iter(LONG_AGO + timedelta(seconds=second) for second in range(1000))
    with Tacit(open_store(str(terminal.project / ".tacit" / "tacit.db")), clock=lambda: next(times)) as old:
        approved(old, content())
    with Tacit(open_store(str(terminal.project / ".tacit" / "tacit.db"))) as loop:
        approved(loop, RELEASE)
        approved(loop, AGAIN)
        yield loop


def approved(loop: Tacit, made: object) -> str:
    version_id = loop.propose(made, by="ann", origin=Origin.USER).version_id  # type: ignore[arg-type]
    loop.review(version_id, "approve", by="ann")
    return version_id


def told(terminal: Terminal, *arguments: str) -> list[dict[str, object]]:
    answer = terminal.run("tend", "--json", *arguments)
    assert answer.code == 0, answer.err
    return list(answer.json["cares"])


def test_without_a_word_nothing_is_changed_and_everything_is_told(terminal: Terminal, kept: Tacit) -> None:
    before = kept.archive.history()
    cares = told(terminal)
    assert [(care["kind"], care["name"]) for care in cares] == [
        ("stale", "add-a-migration"),
        ("merge", "release-the-service"),
    ]
    assert {care["applied"] for care in cares} == {False}
    assert cares[0]["after"] == "stale"
    assert len(cares[1]["parents"]) == 2  # type: ignore[arg-type]
    page = terminal.run("tend")
    assert "add-a-migration" in page.out
    assert "Same content" in page.out
    assert "tacit tend --apply" in page.out
    assert kept.archive.history() == before
    assert kept.archive.verify() == []


def test_only_one_kind_is_told_when_asked(terminal: Terminal, kept: Tacit) -> None:
    assert [care["kind"] for care in told(terminal, "--only", "merge")] == ["merge"]
    assert told(terminal, "--only", "promotion") == []
    assert told(terminal, "--only", "status") == told(terminal, "--only", "standing") == []
    assert terminal.run("tend", "--only", "nonsense").code == 2


def test_a_person_is_asked_and_a_second_time_nothing_is_left(terminal: Terminal, kept: Tacit) -> None:
    refused = terminal.type("tend", "--apply", answers={ASK: "n\n"})
    assert refused.code == 0, refused.out
    assert "Nothing was done." in refused.out
    assert len(told(terminal)) == 2
    done = terminal.type("tend", "--apply", answers={ASK: "y\n"})
    assert done.code == 0, done.out
    assert "tacit review" in done.out
    assert kept.version("add-a-migration").status == "stale"
    [waiting] = kept.reviews.waiting()
    assert len(waiting.version.parents) == 2
    assert told(terminal) == []
    assert terminal.run("tend", "--json").json["cares"] == []
    assert kept.archive.verify() == []


def test_a_script_with_a_persons_token_is_answered_with_one_document(terminal: Terminal, kept: Tacit) -> None:
    answer = unlocked(terminal).run("tend", "--apply", "--yes", "--by", "ann", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["applied"] is True
    assert {care["applied"] for care in answer.json["cares"]} == {True}
    gone = kept.version("add-a-migration")
    assert (gone.status, kept.context.store.transitions(gone.version.id)[-1].by) == ("stale", "ann")


def test_one_document_asks_nothing_so_it_applies_nothing_without_a_yes(terminal: Terminal, kept: Tacit) -> None:
    before = kept.archive.history()
    for arguments in (["--apply"], ["--revalidate", "--apply"]):
        refused = unlocked(terminal).run("tend", "--json", *arguments)
        assert refused.code == 2
        assert "--yes" in refused.err + refused.out
    assert kept.archive.history() == before


def test_trying_again_shows_and_keeps_nothing(terminal: Terminal, kept: Tacit) -> None:
    before = kept.archive.history()
    answer = terminal.run("tend", "--revalidate", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["applied"] is False
    assert {care["applied"] for care in answer.json["cares"]} == {False}
    page = terminal.run("tend", "--revalidate")
    assert "0 passed, 0 failed" in page.out
    refused = terminal.run("tend", "--revalidate", "--apply", "--yes")
    assert refused.code == 3
    assert kept.archive.history() == before


def test_the_page_of_a_merge_names_both_what_leaves_and_what_is_lost(terminal: Terminal, kept: Tacit) -> None:
    signed = dataclasses.replace(
        RELEASE,
        name="release-the-service-slowly",
        description="Build the image, push it slowly and roll the service out",
        steps=(*RELEASE.steps[:1], *bash_steps("docker push -q registry"), *RELEASE.steps[2:]),
    )
    kept.review(kept.version(AGAIN.name).version.id, "retire", by="ann")
    approved(kept, signed)
    done = unlocked(terminal).run("tend", "--apply", "--yes", "--json", "--only", "merge")
    assert done.code == 0, done.err
    [waiting] = kept.reviews.waiting()
    page = terminal.run("review", waiting.version.id)
    assert f"Merged from {signed.name}" in page.out
    assert f"Merged from {RELEASE.name}" in page.out
    assert "tend --apply" in page.out
    assert "docker push registry" in page.out
    both = terminal.run("review", waiting.version.id, "--json").json["merged_of"]
    assert [(part["name"], part["retires"]) for part in both] == [(signed.name, False), (RELEASE.name, True)]


def test_the_page_says_what_contradicts_it_now(terminal: Terminal, kept: Tacit) -> None:
    one, other = (
        kept.propose(SkillContent(kind=Kind.NORM, name=name, description=text), by="agent").version_id
        for name, text in (("use-pnpm", "Use pnpm, not npm."), ("use-npm", "Always use npm and never use pnpm."))
    )
    assert "contradicts" not in terminal.run("review", other).out
    kept.review(one, "approve", by="ann")
    assert "contradicts `use-pnpm`" in terminal.run("review", other).out


def test_an_agent_may_look_and_may_not_apply(terminal: Terminal, kept: Tacit) -> None:
    before = kept.archive.history()
    for variables in ({"CLAUDECODE": "1"}, {}):
        terminal.variables = dict(variables)
        refused = terminal.run("tend", "--apply", "--yes")
        assert refused.code == 3
        assert terminal.run("tend", "--json").code == 0
    terminal.variables = {"CLAUDECODE": "1"}
    assert terminal.type("tend", "--apply", "--yes").code == 3
    assert kept.archive.history() == before


def test_a_pinned_skill_is_told_of_and_left(terminal: Terminal, kept: Tacit) -> None:
    skill = kept.version("add-a-migration").skill
    kept.context.store.add(Remark(subject=skill.id, about=About.PIN, by="ann", at=datetime.now(UTC), text="ours"))
    [care] = told(terminal, "--only", "stale")
    assert care["after"] is None
    assert "pinned" in str(care["advice"])
    done = unlocked(terminal).run("tend", "--apply", "--yes", "--json", "--only", "stale")
    assert [care["applied"] for care in done.json["cares"]] == [False]
    assert kept.version("add-a-migration").status == "trial"


def test_learning_ends_with_what_there_is_to_look_after(terminal: Terminal, kept: Tacit) -> None:
    run = {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": []}
    steps = [
        {"step_id": 1, "source": "user", "message": "Say hello"},
        {"step_id": 2, "source": "agent", "message": "hello"},
    ]
    (terminal.project / "run.json").write_text(json.dumps(run | {"steps": steps}), encoding="utf-8")
    page = terminal.run("learn", "run.json")
    assert page.code == 0, page.err
    assert "2 suggestions" in page.out
    document = terminal.run("learn", "run.json", "--json").json
    assert document["suggestions"] == 2
    assert document["settled"] == []


def test_what_results_retire_leaves_the_clients_folder_too(terminal: Terminal, kept: Tacit) -> None:
    channels.choose(str(terminal.project / ".tacit"), "claude-code", channels.SKILL)
    assert terminal.run("learn").code == 0
    folder = terminal.project / ".claude" / "skills" / "release-the-service-again" / "SKILL.md"
    assert folder.exists()
    version_id = kept.version("release-the-service-again").version.id
    for number in range(14):
        use = Use(version_ids=(version_id,), task=f"task {number}", at=datetime.now(UTC))
        kept.context.store.add(use)
        kept.record(use.id, outcome="failure", grade=Grade.MACHINE, by="pytest")
    assert kept.version(version_id).status == "retired"
    use = Use(version_ids=(version_id,), task="the last", at=datetime.now(UTC))
    kept.context.store.add(use)
    assert terminal.run("record", use.id, "--outcome", "failure", "--json").code == 0
    assert not folder.exists()


def test_an_empty_library_needs_no_care(terminal: Terminal) -> None:
    (terminal.project / ".tacit").mkdir()
    open_store(str(terminal.project / ".tacit" / "tacit.db")).close()
    assert terminal.run("tend", "--json").json["cares"] == []


def test_what_a_pass_found_is_in_doctor_until_the_person_decides(terminal: Terminal, kept: Tacit) -> None:
    folder = terminal.project / ".tacit"
    sessions = folder / "sessions"
    sessions.mkdir()
    care_for_library(kept, sessions)

    def notes() -> list[str]:
        findings = terminal.run("doctor", "--json").json["findings"]
        return [each["remedy"] for each in findings if (each["about"], each["state"]) == ("store", "note")]

    assert waiting.read(str(folder)) == (1, 1)
    assert notes() == ["tacit review", "tacit tend"]
    (merged,) = kept.reviews.waiting()
    decided = unlocked(terminal).run("review", merged.version.id, "--reject", "--by", "ann")
    assert decided.code == 0, decided.err
    assert waiting.read(str(folder)) == (0, 0)
    assert notes() == []
