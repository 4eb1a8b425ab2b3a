"""Hidden Unicode: characters that people do not see, and letters of other alphabets that pass for Latin ones.

A mark of direction or a lone selector that came along with copied text is good to know; what turns the order of letters
round, spells text in invisible ones or breaks a word apart is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.homoglyphs import mixed_words
from tacit.gate.checks.pieces import Piece, pieces
from tacit.gate.safety import hidden_characters

_FLAG = "\U0001f3f4"
_TAGS = re.compile("[\U000e0001-\U000e007f]+")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")
_BROKEN_WORD = re.compile("(?<=[A-Za-z0-9])[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z0-9])")
_RUN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{4,}")
_ESCAPE = re.compile("\x1b[\\[\\]P]")
_RULES = (
    (_TAGS, Severity.CRITICAL, "spells text in characters that only a model reads"),
    (_SELECTORS, Severity.CRITICAL, "spells text in characters that only a model reads"),
    (_RUN, Severity.CRITICAL, "spells text in characters without width"),
    (_DIRECTION, Severity.HIGH, "turns the order of letters round, so that people read another text"),
    (_BROKEN_WORD, Severity.HIGH, "breaks a word apart with characters that people do not see"),
    (_ESCAPE, Severity.MEDIUM, "carries commands for a terminal"),
)
_CODE_WORDS = 3


class UnicodeCheck:
    """Control, bidirectional, zero-width and tag characters; mixed alphabets within a word."""

    name = "unicode"
    version = "1"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """List what a person does not see as a model does."""
        for piece in pieces(content):
            if not piece.is_block:
                yield from _hidden(piece)
                yield from _mixed(piece)


def _hidden(piece: Piece) -> Iterator[Finding]:
    hidden = hidden_characters(piece.text.removeprefix("\ufeff"))
    if not hidden:
        return
    told = False
    for pattern, severity, reason in _RULES:
        match = next((m for m in pattern.finditer(piece.text) if piece.text[m.start() - 1 : m.start()] != _FLAG), None)
        if match is not None:
            told = True
            yield piece.finding("hidden_characters", severity, reason=reason, span=match.span())
    if not told:
        at = next(i for i, c in enumerate(piece.text) if unicodedata.name(c, f"U+{ord(c):04X}") in hidden)
        reason = f"contains characters that people do not see: {', '.join(sorted(hidden)[:3])}"
        yield piece.finding("hidden_characters", Severity.LOW, reason=reason, span=(at, at + 1))


def _mixed(piece: Piece) -> Iterator[Finding]:
    for match in mixed_words(piece.text)[:_CODE_WORDS]:
        reason = "mixes letters of two alphabets in one word, so that it passes for another"
        yield piece.finding("mixed_alphabets", Severity.MEDIUM, reason=reason, span=match.span())
