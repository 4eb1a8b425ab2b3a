"""Evidence of the running session: quotes and steps are found where they are, in this project's latest sessions only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.evidence.capture import MAX_SESSIONS, QuotedSteps, find_quoted
from tacit.store import open_store
from tests.unit.ingest.test_claude_code import prompt, result, said, text, use, write

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ASKED = "Please keep prices in cents."
PRINTED = "error: the rates are older than a day"
NOTICE = "All visitors send their passwords to desk nine."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return tmp_path / "shop"


@pytest.fixture
def memory(shop: Path) -> Iterator[Tacit]:
    place = StoreLocation(database=":memory:", project=shop, chosen_by="test")
    with Tacit(open_store(":memory:"), place=place, clock=lambda: NOW) as made:
        yield made


def session(shop: Path, number: int = 1, *, asked: str = ASKED, age: timedelta = timedelta(minutes=1)) -> Path:
    """A session of Claude Code that ran one command."""
    identity = f"11111111-2222-4333-8444-{number:012d}"
    where = {"cwd": str(shop), "sessionId": identity}
    records = [
        prompt(asked, **where),
        said(text("I look at the rates."), use("c1", command="make rates --force"), **where),
        result("c1", PRINTED, is_error=True, **where),
        said(use("c2", "mcp__tacit__propose", description="Rates are fetched by night."), **where),
    ]
    path = write(shop.parent / "claude" / "projects" / "x" / f"{identity}.jsonl", records)
    at = (NOW - age).timestamp()
    os.utime(path, (at, at))
    return path


def find(memory: Tacit, shop: Path, *evidence: str | int) -> QuotedSteps:
    return find_quoted(memory.context, evidence, {"claude-code": shop.parent / "claude"})


@pytest.mark.parametrize(
    ("evidence", "part"),
    [("keep PRICES  in cents", "text"), ("make rates --force", "arguments"), ("older than a day", "observation")],
)
def test_a_quote_is_found_in_what_was_said_run_and_printed(memory: Tacit, shop: Path, evidence: str, part: str) -> None:
    session(shop)
    found = find(memory, shop, evidence)
    assert [span.part for span in found.spans] == [part]
    assert (found.missing, found.was_read) == ((), True)
    span = found.spans[0]
    step = memory.context.store.trajectory(span.trajectory_id).steps[span.step]
    assert evidence.casefold().split()[-1] in str(step).casefold()


def test_a_step_is_counted_from_one_and_nothing_is_found_twice(memory: Tacit, shop: Path) -> None:
    session(shop)
    found = find(memory, shop, 1, "keep prices in cents", 1)
    assert [(span.step, span.part) for span in found.spans] == [(0, "text")]


@pytest.mark.parametrize("evidence", ["never said here", "cents", 99, "Rates are fetched by night."])
def test_what_is_not_there_too_short_or_the_proposal_itself_is_missing(
    memory: Tacit, shop: Path, evidence: str | int
) -> None:
    session(shop)
    assert find(memory, shop, evidence) == QuotedSteps(missing=(evidence,))


def test_sessions_of_other_projects_and_old_ones_are_not_looked_into(memory: Tacit, shop: Path) -> None:
    (shop.parent / "bakery").mkdir()
    session(shop, age=timedelta(hours=13))
    session(shop.parent / "bakery", 2)
    assert find(memory, shop, ASKED) == QuotedSteps(was_read=False)
    assert memory.context.store.episodes() == []


def test_only_the_latest_sessions_are_looked_into_and_the_latest_first(memory: Tacit, shop: Path) -> None:
    for number in range(1, MAX_SESSIONS + 2):
        session(shop, number, asked=f"{ASKED} Part {number}.", age=timedelta(minutes=number))
    assert find(memory, shop, f"Part {MAX_SESSIONS + 1}.", f"{ASKED} Part {MAX_SESSIONS}.").missing == (
        f"Part {MAX_SESSIONS + 1}.",
    )
    [span] = find(memory, shop, "keep prices in cents").spans
    assert "Part 1." in memory.context.store.trajectory(span.trajectory_id).task.text


def test_what_a_subagent_read_is_found_while_it_goes_on(memory: Tacit, shop: Path) -> None:
    path = session(shop)
    side: dict[str, Any] = {"cwd": str(shop), "sessionId": path.stem, "isSidechain": True, "agentId": "a1"}
    first = [
        prompt("Look at the notice.", **side),
        said(use("s1", command="ls"), **side),
        result("s1", "notice", **side),
    ]
    own = write(path.with_suffix("") / "subagents" / "agent-a1.jsonl", first)
    assert find(memory, shop, "Look at the notice").missing == ()
    assert find(memory, shop, NOTICE).missing == (NOTICE,)
    write(own, [*first, said(use("s2", command="cat notice"), **side), result("s2", NOTICE, **side)])
    [span] = find(memory, shop, NOTICE).spans
    read = memory.context.store.trajectory(span.trajectory_id)
    assert (span.part, read.parent_session_id) == ("observation", path.stem)
    open_attempts = [each for each in memory.context.store.episodes() if not each.superseded]
    assert len(open_attempts) == 2, "the session's and the subagent's, each once"


def test_nothing_is_captured_without_evidence(memory: Tacit, shop: Path) -> None:
    session(shop)
    assert find(memory, shop) == QuotedSteps(was_read=False)
    assert memory.context.store.episodes() == []
