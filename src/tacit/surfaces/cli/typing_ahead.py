"""What was typed before a question was there: thrown away, so that it answers nothing that its typist had not seen.

The terminal's input → nothing. Does not ask, and leaves anything that is no terminal as it is: a file's lines were written
for the questions.
"""

from __future__ import annotations

import sys
from contextlib import suppress


def discard_typed_ahead() -> None:
    """Throw away what lies ready in the terminal: held keys, and lines that were pasted behind another answer."""
    if sys.platform == "win32" or sys.stdin is None or not sys.stdin.isatty():
        return
    import termios

    with suppress(OSError, ValueError, termios.error):  # a terminal that has just gone is told by the question itself
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
