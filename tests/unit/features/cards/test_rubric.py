"""The rubric: good cards pass, poor ones are turned away with the field and how to fix it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.features.cards.rubric import Criterion, RubricReason, judge
from tacit.maintain.portability import ProjectFacts
from tests.unit.features.cards.rubric_cards import HALVES, Written, cards

CARD = Written(
    sort="any",
    half="",
    title="The export writes cents",
    when_to_use="Reading the order export",
    solution_steps=("Divide `gross` by 100",),
)
SORTS = {"shape", "template", "invariant", "error", "tooling", "negative"}
RULES = {
    "vague": {"vague", "no_occasion"},
    "dump": {"raw_dump", "vague"},
    "ephemeral": {"passing_state"},
    "secret": {"secret"},
    "missing": {"no_title", "no_occasion", "no_solution"},
}
MISSED = {"CI is currently failing on main", "Wifi password", "Prod db"}
"""Cards that slip through; they are known, and left so. Of the last, redaction takes the secret out."""


def rules(card: Written) -> set[str]:
    return {reason.rule for reason in judge(card)}


def reason_of(**changes: object) -> RubricReason:
    [reason] = judge(replace(CARD, **changes))  # type: ignore[arg-type]
    return reason


@pytest.mark.parametrize("half", HALVES)
def test_no_good_card_of_any_category_is_turned_away(half: str) -> None:
    good = cards("good", half=half)
    assert {card.sort for card in good} in (SORTS, {"mixed"})
    assert {card.title: judge(card) for card in good if judge(card)} == {}


@pytest.mark.parametrize("half", HALVES)
def test_poor_cards_are_turned_away_for_what_they_are(half: str) -> None:
    poor = cards("bad", half=half)
    assert {card.sort for card in poor} <= RULES.keys()
    assert {card.title for card in poor if not judge(card)} <= MISSED
    wrong = {card.title: rules(card) for card in poor if rules(card) - RULES[card.sort]}
    assert wrong == {}
    assert all("raw_dump" in rules(card) for card in poor if card.sort == "dump")


def test_there_are_sixty_of_each_side_and_no_card_twice() -> None:
    for side in ("good", "bad"):
        found = cards(side)
        assert len(found) >= 60
        assert len({(card.title, card.solution_steps, card.when_to_use) for card in found}) == len(found)


def test_every_reason_names_a_field_of_the_card_and_how_to_fix_it() -> None:
    for card in cards("bad"):
        for reason in judge(card):
            assert hasattr(card, reason.field)
            assert reason.fix
            assert str(reason).startswith(f"{reason.field}: ")


def test_all_that_is_missing_is_told_at_once() -> None:
    empty = replace(CARD, title=" ", when_to_use="TBD", solution_steps=("", "n/a"))
    assert [reason.field for reason in judge(empty)] == ["title", "when_to_use", "solution_steps"]


def test_reminder_for_every_occasion_is_told_both() -> None:
    reminder = replace(CARD, title="Take care", when_to_use="always", solution_steps=("Be careful",))
    assert [reason.rule for reason in judge(reminder)] == ["no_occasion", "vague"]


@pytest.mark.parametrize("title", ["", "   ", "Untitled", "TODO", "…"])
def test_title_that_says_nothing_is_no_title(title: str) -> None:
    assert reason_of(title=title).rule == "no_title"


def test_card_without_an_occasion_can_never_be_found() -> None:
    assert reason_of(when_to_use="whenever needed").criterion is Criterion.REUSABLE


def test_shape_alone_is_a_solution() -> None:
    assert judge(replace(CARD, solution_steps=(), output_shape={"gross": "int, cents"})) == ()


def test_what_to_avoid_alone_is_a_solution() -> None:
    assert judge(replace(CARD, solution_steps=(), gotchas=("gross is empty for cancelled orders",))) == ()


@pytest.mark.parametrize(
    "step",
    [
        "Be careful",
        "Remember to test",
        "Double-check everything before deploying!",
        "Make sure it works",
        "Make changes carefully and make use of all the tools",
        "Double-check the Kubernetes manifest",
        "Read the docs",
        "Follow best practices and write clean code",
    ],
)
def test_reminder_that_fits_every_task_is_vague(step: str) -> None:
    assert reason_of(solution_steps=(step,)).rule == "vague"


@pytest.mark.parametrize(
    "step",
    [
        "Make sure pg_dump is not older than the server",
        "Remember to run `make seed` first",
        "Double-check that the manifest names the namespace, because the default one is shared",
        "Load the seeds before the index is built",
        "Be careful: rows before the migration are spelled canceled",
        "Never restart both replicas together",
        "Run make deploy",
        "Use git bisect",
    ],
)
def test_reminder_of_something_in_particular_is_kept(step: str) -> None:
    assert judge(replace(CARD, solution_steps=(step,))) == ()


def test_answer_to_one_error_may_be_plain() -> None:
    plain = replace(CARD, solution_steps=("Ensure Docker is running",))
    assert rules(plain) == {"vague"}
    assert judge(replace(plain, problem="Cannot connect to unix:///var/run/docker.sock")) == ()
    assert rules(replace(plain, solution_steps=("Be careful",), problem="exit code 137")) == {"vague"}


def test_one_telling_step_among_reminders_is_enough() -> None:
    assert judge(replace(CARD, solution_steps=("Be careful", "Pass --no-cache", "Check the result"))) == ()


def test_stack_trace_is_a_dump_and_two_frames_are_an_excerpt() -> None:
    frames = [f'  File "app.py", line {n}, in run' for n in range(6)]
    assert reason_of(problem="\n".join(["Traceback:", *frames])).rule == "raw_dump"
    assert judge(replace(CARD, problem="\n".join(["Traceback:", *frames[:2]]))) == ()


def test_script_of_many_lines_is_no_dump() -> None:
    commands = "set -e; cd app; python -m venv .venv; pip install -e .; make schema; make seed; createdb app_test; "
    commands += "alembic upgrade head; pytest -q; dropdb app_test; deactivate; rm -rf .venv"
    script = commands.replace("; ", "\n")
    assert judge(replace(CARD, solution_steps=(script,))) == ()


def test_log_is_told_in_whatever_field_it_stands() -> None:
    log = "\n".join(f"2026-03-02 10:00:{n:02d} INFO worker did job {n}" for n in range(12))
    assert reason_of(evidence=(log,)).field == "evidence"
    assert reason_of(gotchas=(log,)).field == "gotchas"


def test_text_that_nobody_would_read_is_a_dump_and_says_its_length() -> None:
    prose = " ".join(f"Sentence number {n} tells of yet another thing that somebody saw." for n in range(200))
    assert "characters" in reason_of(problem=prose).message


def test_moment_is_told_in_its_own_words() -> None:
    reason = reason_of(title="Staging is down right now", solution_steps=("Try again this afternoon",))
    assert reason.criterion is Criterion.DURABLE
    assert "this afternoon" in reason.message


@pytest.mark.parametrize(
    ("title", "step"),
    [
        ("The client currently ignores timeout", "Set it on the session's adapter"),
        ("Yesterday's partition is incomplete until three", "Query after 03:00 UTC"),
        ("Port 5432 already in use", "Stop the local server with `brew services stop postgresql`"),
        ("Rows before 2024-06-01 have no currency", "Treat them as EUR: `coalesce(currency, 'EUR')`"),
        ("Issue templates need a label", "Add `labels:` to the front matter of .github/ISSUE_TEMPLATE/bug.md"),
    ],
)
def test_lasting_truth_that_names_times_and_numbers_is_kept(title: str, step: str) -> None:
    assert judge(replace(CARD, title=title, solution_steps=(step,))) == ()


def test_momentary_evidence_is_welcome() -> None:
    assert judge(replace(CARD, evidence=("PR #1432 failed this morning without it", "build 4821, 2026-03-04"))) == ()


def test_card_that_hands_on_a_secret_is_refused_before_and_after_redaction() -> None:
    secret = "The password is " + "Tr0ub4dor" + "&3xyz"
    for step in (secret, "The password is <redacted:password>", "password: ***REDACTED***"):
        assert reason_of(solution_steps=(step,)).criterion is Criterion.SAFE


def test_example_with_a_secret_in_it_is_kept_for_redaction_to_clean() -> None:
    step = "curl -H 'Authorization: Bearer <redacted:bearer>' 'https://api.example.com/orders?page=1&per_page=100'"
    assert judge(replace(CARD, solution_steps=(step,))) == ()


def test_only_a_portable_card_must_read_the_same_everywhere() -> None:
    local = ProjectFacts(project="invoices", workspace="/srv/ann/invoices")
    step = "Run /srv/ann/invoices/tools/export.py --cents"
    assert judge(replace(CARD, solution_steps=(step,)), local) == ()
    [reason] = judge(replace(CARD, solution_steps=(step,), scope="portable"), local)
    assert (reason.criterion, reason.field) == (Criterion.PORTABLE, "solution_steps")
    assert "<repo-root>" in reason.fix
    assert "scope `project`" in reason.fix


@pytest.mark.parametrize(
    ("title", "step"),
    [
        ("My branch is at abc1234", "Continue at line 214 of src/shop.py in branch dana/tmp-fix"),
        ("I am at commit 9f3e2a1", "git checkout 9f3e2a1 and go on with file 3 of 7"),
        ("Where to pick up the refactoring", "Resume with step 4 in billing/totals.py"),
    ],
)
def test_where_somebody_stopped_is_a_passing_state(title: str, step: str) -> None:
    assert rules(replace(CARD, title=title, solution_steps=(step,))) == {"passing_state"}


@pytest.mark.parametrize(
    "step", ["Fixed it in orders.py", "We fixed the bug in `src/shop/orders.py`.", "Solved the issue"]
)
def test_that_something_was_fixed_tells_nobody_what_to_do(step: str) -> None:
    assert rules(replace(CARD, title="Fixed the bug", solution_steps=(step,))) == {"vague"}


@pytest.mark.parametrize(
    "step",
    [
        "Fixed it in orders.py by dividing `gross` by 100",
        "Continue the rebase with `git rebase --continue` once line endings are LF",
        "Our branch protection wants two reviews: ask for both at once",
        "Resume the upload with `aws s3 cp --resume`; it starts with page 1 again otherwise",
    ],
)
def test_what_only_looks_like_a_report_or_a_moment_is_kept(step: str) -> None:
    assert rules(replace(CARD, solution_steps=(step,))) == set()


def test_an_account_goes_with_its_password() -> None:
    step = "User qa@example.com, password Hunter2!Summer"
    assert rules(replace(CARD, title="Password of the test user", solution_steps=(step,))) == {"secret"}
    kept = "Ask qa@example.com for a seat; the licence server hands out password Hunter2!Summer by `licctl grant`"
    assert rules(replace(CARD, solution_steps=(kept,))) == set()
