from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tacit.domain.outline import CallRecord, Fact, Topic
from tacit.domain.scope import Scope
from tacit.domain.trajectory import Origin
from tacit.learn.fixes import SourcedCall
from tacit.learn.project_facts import (
    MAX_SELDOM_TOKENS,
    MAX_TOKENS,
    MIN_LIKELIHOOD,
    card_candidate,
    facts_card,
    project_facts,
)
from tacit.render.context import ON_REQUEST, hook_text
from tacit.text.words import estimate_tokens

DAY = datetime(2026, 5, 1, tzinfo=UTC)
LINES = ("bash: line 1: timeout: command not found",)


def facts_of(*sessions: Sequence[tuple[str, bool | None]]) -> list[Fact]:
    return project_facts(
        [
            (f"s{number}", DAY + timedelta(days=number), [
                SourcedCall(f"t{number}", CallRecord(step=step, command=command, worked=worked, lines=() if worked else LINES))
                for step, (command, worked) in enumerate(calls)
            ])
            for number, calls in enumerate(sessions)
        ]
    )  # fmt: skip


def test_commands_of_the_project_are_counted_once_a_session() -> None:
    found = facts_of([("make test", True), ("make test", True)], [("make test | tail", True), ("git push", True)])
    assert [(fact.command, fact.topic, fact.sessions) for fact in found] == [("make test", Topic.TEST, 2)]
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
    assert {fact.command: fact.folders for fact in found} == {"go test ./...": ("src",), "npm run lint": ()}
    assert "`go test ./...` in src" in facts_card(found)


def test_a_folder_of_one_session_or_of_another_machine_is_left_out() -> None:
    root = [("go vet ./...", True)]
    found = facts_of(root, root, [("cd lib && go vet ./...", True)], [("cd /elsewhere && go vet ./...", True)])
    assert [fact.folders for fact in found] == [()]


def test_options_and_variables_that_most_sessions_give_are_part_of_the_command() -> None:
    runs = [[(f"KEEP=1 go test -tags e2e -run 'Test{name}$' -v", True)] for name in "abcd"]
    assert [fact.command for fact in facts_of(*runs)] == ["KEEP=1 go test -tags e2e -v"]


def test_a_command_that_is_called_differently_in_two_folders_is_two_facts() -> None:
    runs = [("cd e2e && go test -tags=e2e ./...", True), ("cd /./lib && go test ./...", True)]
    found = facts_of(*[runs] * 3)
    assert {(fact.command, fact.folders) for fact in found} == {
        ("go test -tags=e2e ./...", ("e2e",)),
        ("go test ./...", ("lib",)),
    }


def test_how_a_log_is_read_is_told_once() -> None:
    runs = [("gh run view 1 --job 2 --log | rg panic", True), ("gh run view 3 --log-failed", True)]
    found = facts_of(*[runs] * 3, [("gh run view 9 --log", True)])
    assert [(fact.command, fact.topic) for fact in found] == [("gh run view --job JOB --log", Topic.LOG)]


def test_a_repair_and_a_check_of_one_program_are_two_commands() -> None:
    found = facts_of(*[[("vp check", False), ("vp check --fix", True), ("vp check", True)]] * 3)
    assert {(fact.command, fact.topic) for fact in found} == {
        ("vp check", Topic.CHECK),
        ("vp check --fix", Topic.FORMAT),
    }


def test_what_comes_before_most_commits_is_told_as_such() -> None:
    session = [("pnpm assist", True), ("git commit -m 'fix(ui): the menu'", True), ("pnpm dev", True)]
    found = {fact.command: fact.topic for fact in facts_of(*[session] * 3)}
    assert found == {
        "pnpm assist": Topic.BEFORE_COMMIT,
        "type(scope): subject": Topic.COMMIT,
        "pnpm dev": Topic.RUN,
    }


def test_what_installs_or_deploys_is_no_build_and_not_told_as_what_comes_before_a_commit() -> None:
    session = [
        ("npm install", True),
        ("make build", True),
        ("make deploy", True),
        ("git commit -m 'fix: the menu'", True),
    ]
    found = {fact.command: fact.topic for fact in facts_of(*[session] * 3)}
    assert found.pop("type: subject") is Topic.COMMIT
    assert found == {
        "npm install": Topic.INSTALL,
        "make build": Topic.BEFORE_COMMIT,
        "make deploy": Topic.DEPLOY,
    }


def test_commits_in_several_styles_show_none() -> None:
    subjects = ["fix: one", "Add two", "feat(x): three", "Add four"]
    assert facts_of(*[[(f'git commit -m "{subject}"', True)] for subject in subjects]) == []


def test_how_work_is_published_is_a_fact_where_sessions_agree_on_more_than_the_command() -> None:
    sessions = [
        [
            (f"git switch -c codex/task-{number}", True),
            (f"gh pr view {number}", True),
            (f"gh pr edit {number} --body 'text {number}'", True),
            (f"gh pr create --base main --title 't {number}' --body 'b'", True),
        ]
        for number in range(4)
    ]
    found = {fact.command: fact.topic for fact in facts_of(*sessions)}
    assert found == {"codex/": Topic.BRANCH, "gh pr create --base main": Topic.PUBLISH}


def test_the_card_groups_by_purpose_and_stays_small() -> None:
    names = [f"make check-part-number-{number}" for number in range(40)]
    found = facts_of(*[[(name, True) for name in names]] * 3)
    shown, on_request = facts_card(found).splitlines()
    assert estimate_tokens(shown) <= MAX_TOKENS
    assert estimate_tokens(on_request.removeprefix(ON_REQUEST[0])) <= MAX_SELDOM_TOKENS
    few = facts_of(*[[("go test ./...", True), ("make lint", True), ("go vet ./...", True)]] * 3)
    assert facts_card(few).splitlines() == ["- `go test ./...`", "- `go vet ./...`, `make lint`"]


def test_what_few_sessions_need_is_kept_on_the_card_and_not_shown_at_the_start() -> None:
    often, seldom = ("make test", True), ("make render", True)
    body = facts_card(facts_of(*[[often, seldom]] * 3, *[[often]] * 30))
    card = card_candidate([], body, scope=Scope())
    assert card is not None
    assert ["make test" in text and "make render" in text for text in (body, hook_text(card.content))] == [True, False]
    assert "make render" not in facts_card(facts_of(*[[often, seldom]] * 2, *[[often]] * 30))


def test_a_long_command_must_be_likelier_than_a_short_one_for_the_start() -> None:
    names = ("make lint", "uv run python tools/checks/run_all_the_checks.py --strict --all")
    facts = [Fact(command=name, topic=Topic.CHECK, sessions=3, likelihood=MIN_LIKELIHOOD + 0.05) for name in names]
    assert [name in facts_card(facts).splitlines()[0] for name in names] == [True, False]
    likelier = [replace(fact, likelihood=0.9) for fact in facts]
    assert all(name in facts_card(likelier).splitlines()[0] for name in names)


def test_a_folder_that_the_command_names_itself_is_said_once() -> None:
    (fact,) = facts_of(*[[("mise --cd crates/vfox run test", True)]] * 3)
    assert fact.command.count("crates/vfox") == 1
    assert fact.folders == ()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("mise exec -- go test -count=1 ./...", ["mise exec -- go test -count=1 ./..."]),
        ("mise --cd crates/vfox run test", ["mise --cd crates/vfox run test"]),
        ("cargo clippy -- -D warnings", ["cargo clippy -- -D warnings"]),
    ],
)
def test_a_command_is_told_as_it_can_be_typed(typed: str, told: list[str]) -> None:
    assert [fact.command for fact in facts_of(*[[(typed, True)]] * 3)] == told


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


def test_a_program_that_sessions_do_not_find_is_told_until_one_finds_it() -> None:
    missed, found = [("timeout 5 make run", False), ("ls", True)], [("timeout 5 make test", True)]
    assert [(fact.command, fact.topic) for fact in facts_of(missed, missed)] == [("timeout", Topic.MISSING)]
    assert facts_card(facts_of(*[missed] * 2, *[[("ls", True)]] * 10)) != ""
    assert [fact.command for fact in facts_of(missed, missed, found, found)] == ["make test"]


def test_a_script_from_outside_the_project_is_no_fact() -> None:
    sessions = [[("python3 ~/plugins/check_all.py", True), ("./scripts/check_all.py", True)]] * 3
    assert [fact.command for fact in facts_of(*sessions)] == ["scripts/check_all.py"]


def test_a_script_of_the_folder_keeps_its_path() -> None:
    found = facts_of(*[[("./x lint", True), ("./scripts/test.sh --all", True), ("./gradlew test", True)]] * 3)
    assert {"./x lint", "./gradlew test"} <= {fact.command for fact in found}
    assert not any(fact.command.startswith(("x ", "gradlew ")) for fact in found)
