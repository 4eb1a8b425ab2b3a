"""Raw dumps: texts of one field → what sort of raw output they are, or nothing.

Scripts, templates and single lines of an error are no dumps. What is told by its form is logs, traces, listings and payloads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST = 6_000
"""Characters of one field beyond which nobody reads a card."""
_LINES = 10
"""Fewer lines are an excerpt."""
_SHARE = 0.5
_FRAME = re.compile(r'^\s*(?:at \S+.*[(:]|File ".*", line \d+|\d+: .* at |from \S+:\d+:in )')
_FRAMES = 4
_OUTPUT = re.compile(
    r"^\s*(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\s*\d{1,2}:\d\d:\d\d|\[\s*\d+\.\d+\]|[A-Z][a-z]{2} +\d+ \d\d:\d\d"
    r"|(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b|npm (?:WARN|ERR)|\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR)"
    r"|[d-][rwx-]{9}|[<>*] \S|\S+@\S+[:~].*[$#] |(?:Get|Hit|Ign):\d+ |(?:Downloading|Collecting|Fetching|Compiling) \S"
    r"|0x[0-9a-f]{6,}|[0-9a-f]{6,8}[: ] (?:[0-9a-f]{2,4} )+"
    r")"
)
_NUMBER = re.compile(r"\d+")
_PAYLOAD = 800
"""Characters of one text beyond which brackets and quotes are a payload, not an example."""
_PUNCTUATION = 0.22
_SHAPE_SHARE = 0.6


def dump_in(texts: Sequence[str]) -> str:
    """What raw output a field holds, in words; empty where it holds none."""
    whole = "\n".join(texts)
    lines = [line for line in whole.splitlines() if line.strip()]
    if sum(1 for line in lines if _FRAME.match(line)) >= _FRAMES:
        return "a stack trace"
    if len(lines) >= _LINES and _looks_like_output(lines):
        return "raw output"
    if any(_is_payload(text) for text in texts):
        return "a raw payload"
    if len(whole) > _LONGEST:
        return f"a text of {len(whole):,} characters"
    return ""


def _looks_like_output(lines: Sequence[str]) -> bool:
    printed = sum(1 for line in lines if _OUTPUT.match(line))
    if printed >= _SHARE * len(lines):
        return True
    shapes = [_NUMBER.sub("0", line.strip()) for line in lines]  # a machine repeats itself, but for its numbers
    most = max(shapes.count(shape) for shape in set(shapes))
    return most >= _SHAPE_SHARE * len(lines)


def _is_payload(text: str) -> bool:
    if len(text) < _PAYLOAD:
        return False
    return sum(text.count(mark) for mark in '{}[]":,') / len(text) > _PUNCTUATION
