from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.candidate import Candidate
from tacit.domain.origin import Origin
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Span
from tacit.synthesis import distil
from tacit.synthesis.correction import directive
from tests.unit.synthesis.attempts import UNKNOWN, attempt, bash, edit, notes, say


def minted(message: str, *after: dict[str, Any]) -> list[Candidate]:
    followed = after or (edit("a.py", "print(1)", "log(1)"),)
    return list(distil(attempt("Say it", bash("touch a"), say(message), *followed), UNKNOWN).candidates)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("No, don't use print for that - in this project we always use the `log` helper.", Kind.NORM),
        ("use pnpm here, not npm", Kind.NORM),
        ("Never commit to main.", Kind.NORM),
        ("Always run the linter before you commit", Kind.NORM),
        ("We use tabs in this codebase.", Kind.NORM),
        ("Our convention is snake_case for files", Kind.NORM),
        ("I prefer short functions", Kind.PREFERENCE),
        ("Please don't add comments", Kind.PREFERENCE),
        ("stop writing docstrings", Kind.PREFERENCE),
        ("No. Use `pathlib` instead of os.path.", Kind.PREFERENCE),
    ],
)
def test_rule_about_the_way_of_working_is_learned(message: str, kind: Kind) -> None:
    (candidate,) = minted(message)
    assert candidate.content.kind is kind


@pytest.mark.parametrize(
    "message",
    [
        "continue",
        "thanks, that works",
        "No, I don't have the email with me.",
        "Actually I also want to return the lamp.",
        "No, the other order please",
        "I'd rather not give that out. Is there another way?",
        "I'd prefer the refund to go to my gift card instead.",
        "Please use my credit card instead of PayPal",
        "Don't cancel the other order",
        "I never received the package",
        "Why do you use print here?",
        "Should we always use the log helper?",
        "Now add a test for the export",
        "我们这里用 pnpm",
        "Non, utilise plutôt pnpm",
        "",
        "### \x00 `",
    ],
)
def test_answers_goals_questions_and_thanks_are_not(message: str) -> None:
    assert minted(message) == []


def test_long_paste_is_not_read_as_a_rule() -> None:
    assert directive("Always use the log helper. " * 100) == ""


def test_the_first_message_is_the_task_and_no_correction() -> None:
    trajectory = attempt("Never use print here, use the log helper.", edit("a.py", "a", "b"), bash("pytest"))
    assert distil(trajectory, UNKNOWN).candidates == ()


def test_rule_that_the_agent_did_not_act_on_is_only_noted() -> None:
    trajectory = attempt("Say it", bash("touch a"), say("Never use print here."), bash("ls"))
    distilled = distil(trajectory, UNKNOWN)
    assert distilled.candidates == ()
    (note,) = notes(distilled, "correction")
    assert note.text == "A person said: Never use print here."
    assert note.step == 2


def test_norm_holds_the_persons_words_and_points_to_what_followed() -> None:
    (norm,) = minted("No, don't use print for that - in this project we always use the `log` helper from invoice.log.")
    assert norm.content.name == "use-log-helper-invoice-log"
    assert norm.content.description == (
        "Don't use print for that - in this project we always use the `log` helper from invoice.log."
    )
    assert set(norm.origins.values()) == {Origin.USER}
    (trajectory_id,) = norm.provenance.trajectory_ids
    assert norm.provenance.grounding["evidence"] == (
        Span(trajectory_id, 2, "text"),
        Span(trajectory_id, 3, "arguments"),
    )
