"""Where one task of a session ends and the next begins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tacit.ingest.segmentation import Segmenter

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TASK = "Fix the rounding in src/money/totals.py, test_totals fails for negative amounts"


def at_work(*, said: str = "I changed the rounding and ran the tests.") -> Segmenter:
    """A segmenter in the middle of a task about rounding."""
    segmenter = Segmenter()
    segmenter.is_new_task(TASK, NOON)
    segmenter.note("src/money/totals.py round half even Decimal quantize")
    segmenter.note("pytest tests/test_totals.py")
    segmenter.note(said)
    return segmenter


def test_the_first_message_begins_a_task_whatever_it_says() -> None:
    assert Segmenter().is_new_task("thanks", None)


@pytest.mark.parametrize(
    "message",
    [
        "continue",
        "Go on.",
        "yes please",
        "thanks!",
        "Perfect, thank you so much",
        "ok",
        "no, use Decimal instead of float",
        "That's wrong, it should round half up",
        "still failing: AssertionError: -2 != -3",
        "wait, don't touch the tests",
        "undo that",
        "why did you change quantize?",
        "run the tests again",
        "Also add a test for zero to tests/test_totals.py",
        "and what about negative totals?",
        "show me the diff",
        "commit it",
        "You forgot the docstring",
        "looks good, but rename it to round_money",
        "What does quantize do there?",
        "👍",
        "???",
        "",
        "   \n",
    ],
)
def test_what_belongs_to_the_work_at_hand_does_not_begin_a_task(message: str) -> None:
    assert not at_work().is_new_task(message, NOON)


@pytest.mark.parametrize(
    "message",
    [
        "Now write a Dockerfile for the worker service and a compose file with postgres",
        "New task: upgrade the web client to React 19",
        "thanks! Next, migrate the customers table: split name into first_name and last_name",
        "Great. Can you set up a GitHub workflow that builds wheels for Linux?",
        "The login page shows a blank screen on Safari, find out why",
        "I want dark mode in the settings panel of the desktop app",
        "unrelated: where do we compute shipping costs?",
        "Hi! I'd like to return a kettle from order #W2378156",
        "/clear",
        "/new",
        "add pagination to GET /orders in api/orders.py",
    ],
)
def test_a_new_goal_begins_a_task(message: str) -> None:
    assert at_work().is_new_task(message, NOON)


def test_an_answer_to_the_agents_question_does_not_begin_a_task() -> None:
    answer = "Postgres 15 with the pgvector extension on port 5433"
    assert not at_work(said="Which database does staging run on?").is_new_task(answer, NOON)
    assert not at_work(said="Please provide the zip code.").is_new_task("Mei Davis, 80217", NOON)


def test_asking_what_else_there_is_to_do_is_no_question_to_answer() -> None:
    done = "All tests pass. Is there anything else I can help you with?"
    assert at_work(said=done).is_new_task("Translate the checkout page to German", NOON)


def test_what_the_agent_touched_belongs_to_the_task() -> None:
    wish = "Move parse_ledger from ledger/reader.py into ledger/parsing.py"
    touching = at_work()
    for word in ("ledger/reader.py", "ledger/parsing.py", "def parse_ledger: move into parsing"):
        touching.note(word)
    touching.note("I split the reader.")
    assert at_work().is_new_task(wish, NOON)
    assert not touching.is_new_task(f"Also {wish[0].lower()}{wish[1:]}, same as the other one", NOON)


def test_a_long_absence_speaks_for_a_new_task() -> None:
    message = "rounding of negative totals in the quarterly report"
    assert not at_work().is_new_task(message, NOON + timedelta(minutes=2))
    assert at_work().is_new_task(message, NOON + timedelta(hours=20))


def test_not_even_a_long_absence_makes_a_task_of_going_on() -> None:
    assert not at_work().is_new_task("continue", NOON + timedelta(days=3))


def test_after_the_context_was_cleared_the_next_message_begins_a_task() -> None:
    segmenter = at_work()
    assert segmenter.is_new_task("/clear", NOON)
    assert segmenter.is_new_task("continue with the rounding", NOON)
    assert not segmenter.is_new_task("continue", NOON)


def test_a_new_task_forgets_what_the_old_one_was_about() -> None:
    segmenter = at_work()
    assert segmenter.is_new_task("Write a Dockerfile for the worker service", NOON)
    segmenter.note("Dockerfile")
    segmenter.note("Here it is.")
    assert segmenter.is_new_task(TASK, NOON)


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        ("在数据库中为客户表添加一个新的电子邮件列并更新迁移脚本 customers_email", "继续"),
        ("Schreibe ein Dockerfile für den Worker und richte Postgres mit einer Beispielkonfiguration ein", "weiter"),
        ("Напиши скрипт развёртывания для нового сервера с резервным копированием базы данных", "дальше"),
        ("أضف صفحة تسجيل الدخول إلى التطبيق مع التحقق من البريد الإلكتروني وكلمة المرور", "أكمل"),
    ],
)
def test_in_other_languages_length_and_words_decide(begins: str, goes_on: str) -> None:
    assert at_work().is_new_task(begins, NOON)
    assert not at_work().is_new_task(goes_on, NOON)


def test_hostile_messages_and_endless_notes_stay_quick() -> None:
    segmenter = at_work()
    for text in (
        "a_" * 500_000,
        "hi " * 300_000,
        "'" * 100_000,
        "/" * 1_000_000,
        "thanks, " * 100_000,
        "ok. now, " * 9999,
    ):
        for number in range(200):
            segmenter.note(f"{number} {text}")
        assert segmenter.is_new_task(text, NOON) in (True, False)
