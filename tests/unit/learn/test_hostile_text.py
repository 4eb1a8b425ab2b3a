"""Texts made to keep a pattern busy. At this size anything quadratic takes minutes, so that a test which ends has passed."""

from __future__ import annotations

import pytest

from tacit.learn.single_attempt import distil
from tacit.text.error_signatures import error_signature
from tests.unit.learn.attempts import VERIFIED, attempt, bash, call, edit, read, say, write

_SIZE = 16_000
_UNITS = (
    "a", "-", "a-", "a.", "@", "+", "a@", "a@a.", "\n", "\r\n", "`", "'", '"', "{", "/", "a ", "a_", "aA", "1.", "1,", "$(",
    "\\", "[", "<<a\n", "a;", "a\n", "E  ", "1 | ", "please ",
)  # fmt: skip


@pytest.mark.parametrize("unit", _UNITS)
def test_repeated_text_anywhere_is_read_to_its_end(unit: str) -> None:
    text = unit * (_SIZE // len(unit))
    trajectory = attempt(
        text,
        bash(f"make x {text}", text, code=1),
        bash(f"make x {text}", text),
        call("get_order", {"order_id": text}, text),
        read("a.py", text),
        edit("a.py", text, "b"),
        write("b.py", text),
        say(text),
        bash("pytest -q", "1 passed"),
    )
    distilled = distil(trajectory, VERIFIED)
    assert distilled.candidates or distilled.skipped


@pytest.mark.parametrize("unit", _UNITS)
def test_repeated_error_text_has_a_bounded_signature(unit: str) -> None:
    assert len(error_signature(unit * (_SIZE // len(unit)))) <= 200


def test_long_attempt_keeps_what_its_success_rests_on() -> None:
    looks = [call("get_item", {"number": f"n{i}"}, f"it-{i:06}") for i in range(8_000)]
    trajectory = attempt(
        "Close the items", *looks, call("close_item", {"item_id": "it-004321"}, "ok"), bash("pytest", "1 passed")
    )
    (made,) = distil(trajectory, VERIFIED).candidates
    assert [step.tool for step in made.content.steps] == ["get_item", "close_item", "Bash"]
