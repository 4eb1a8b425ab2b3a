from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tacit.domain.fact import Fact, Purpose
from tacit.domain.outline import CallRecord
from tacit.domain.scope import Scope
from tacit.domain.trajectory import Origin
from tacit.learn.fixes import SourcedCall
from tacit.learn.project_facts import card_candidate, project_facts
from tacit.render.facts_card import MAX_TOKENS, facts_card
from tacit.text.words import estimate_tokens

DAY = datetime(2026, 5, 1, tzinfo=UTC)


def facts_of(*sessions: Sequence[tuple[str, bool | None]]) -> list[Fact]:
    return project_facts(
        [
            (f"s{number}", DAY + timedelta(days=number), [
                SourcedCall(f"t{number}", CallRecord(step=step, command=command, worked=worked))
                for step, (command, worked) in enumerate(calls)
            ])
            for number, calls in enumerate(sessions)
        ]
    )  # fmt: skip


def test_commands_of_the_project_are_counted_once_a_session() -> None:
    found = facts_of([("make test", True), ("make test", True)], [("make test | tail", True), ("git push", True)])
    assert [(fact.command, fact.purpose, fact.sessions) for fact in found] == [("make test", Purpose.TEST, 2)]
    assert found[0].last_used == DAY + timedelta(days=1)


def test_what_one_session_used_is_no_fact() -> None:
    assert facts_of([("make test", True)], [("make lint", True)]) == []


def test_a_command_that_only_fails_is_no_fact() -> None:
    sessions = [[("make deploy", False), ("make test", True)] for _ in range(4)]
    assert [fact.command for fact in facts_of(*sessions)] == ["make test"]


def test_recent_sessions_count_more() -> None:
    old, new = [("npm test", True)], [("vp test", True)]
    found = facts_of(*[old] * 12, *[new] * 12)
    assert [fact.command for fact in found] == ["vp test", "npm test"]
    assert found[0].likelihood > found[1].likelihood


def test_the_folder_where_a_command_mostly_runs_is_kept() -> None:
    found = facts_of(*[[("cd src && go test ./...", True), ("npm run lint", True)]] * 3)
    assert {fact.command: fact.folder for fact in found} == {"go test ./...": "src", "npm run lint": ""}


def test_the_card_groups_by_purpose_and_stays_small() -> None:
    names = [f"make check-part-number-{number}" for number in range(40)]
    found = facts_of(*[[(name, True) for name in names]] * 3)
    assert estimate_tokens(facts_card(found)) <= MAX_TOKENS
    few = facts_of(*[[("go test ./...", True), ("make lint", True), ("go vet ./...", True)]] * 3)
    assert facts_card(few).splitlines() == ["- test: `go test ./...`", "- check: `go vet ./...`, `make lint`"]


def test_nothing_likely_gives_no_card() -> None:
    found = facts_of(*[[("make test", True)]] * 2, *[[("ls", True)]] * 30)
    assert facts_card(found) == ""
    assert card_candidate(found, "", scope=Scope()) is None


def test_the_card_is_the_agents_own_and_names_its_sources() -> None:
    found = facts_of(*[[("make test", True)]] * 3)
    candidate = card_candidate(found, facts_card(found), scope=Scope())
    assert candidate is not None
    assert set(candidate.origins.values()) == {Origin.AGENT}
    assert candidate.provenance.trajectory_ids == ("t2",)


def test_a_script_from_outside_the_project_is_no_fact() -> None:
    sessions = [[("python3 ~/plugins/check_all.py", True), ("./scripts/check_all.py", True)]] * 3
    assert [fact.command for fact in facts_of(*sessions)] == ["scripts/check_all.py"]
