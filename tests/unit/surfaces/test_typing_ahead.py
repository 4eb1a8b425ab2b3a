"""What was typed before a question was there answers nothing; what is no terminal is left as it is."""

from __future__ import annotations

import io
import os
import pty
import select
from collections.abc import Iterator

import pytest

from tacit.surfaces.cli.context import discard_typed_ahead


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """A pseudo-terminal as standard input: the end that types, and the end that reads."""
    typing, reading = pty.openpty()
    with os.fdopen(os.dup(reading), encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield typing, reading
    os.close(typing)
    os.close(reading)


def lies_ready(reading: int, seconds: float = 0) -> bool:
    return bool(select.select([reading], [], [], seconds)[0])


def test_lines_that_lie_ready_in_a_terminal_are_thrown_away(terminal: tuple[int, int]) -> None:
    typing, reading = terminal
    os.write(typing, b"\n\na\n")
    assert lies_ready(reading, 5)
    discard_typed_ahead()
    assert not lies_ready(reading)
    os.write(typing, b"s\n")
    assert lies_ready(reading, 5)
    assert os.read(reading, 100) == b"s\n", "what is typed afterwards counts"


@pytest.mark.parametrize("stdin", [io.StringIO("a\nb\n"), None])
def test_what_is_no_terminal_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    discard_typed_ahead()
    assert stdin is None or stdin.read() == "a\nb\n"


def test_a_terminal_that_is_gone_is_no_error(terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_RDONLY)

    gone = Gone("typed")
    monkeypatch.setattr("sys.stdin", gone)
    discard_typed_ahead()
    assert gone.read() == "typed", "what is no terminal is left as it was"
