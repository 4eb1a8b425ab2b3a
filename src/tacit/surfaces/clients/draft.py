"""A file's text while pieces are put into it: every insertion is noted, so that taking them out gives the old text back.

Knows nothing of what it holds. `Draft` goes forward, `without` goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Insertion = tuple[int, str]
"""Where it stands in the finished text, and the text."""
_TOO_SHORT_TO_SEARCH = 12


@dataclass(slots=True)
class Draft:
    """A text that only grows."""

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    """From where to where something was put in, in order, without overlap."""

    @property
    def newline(self) -> str:
        """The line ending that the text uses."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def insert(self, at: int, text: str) -> None:
        """Put a text in, and move what stands behind it."""
        self.text = self.text[:at] + text + self.text[at:]
        grown, moved = (at, at + len(text)), []
        for start, end in self.spans:
            if end < at:
                moved.append((start, end))
            elif start > at:
                moved.append((start + len(text), end + len(text)))
            else:  # it touches: the two become one
                grown = (min(start, grown[0]), max(end + len(text), grown[1]))
        self.spans = sorted([*moved, grown])

    @property
    def insertions(self) -> tuple[Insertion, ...]:
        """All that was put in."""
        return tuple((start, self.text[start:end]) for start, end in self.spans)


def without(text: str, insertions: Sequence[Insertion]) -> str | None:
    """Take insertions out again; `None` if one of them cannot be found beyond doubt."""
    for at, inserted in reversed(insertions):
        if text[at : at + len(inserted)] != inserted:
            if len(inserted) < _TOO_SHORT_TO_SEARCH or text.count(inserted) != 1:
                return None
            at = text.index(inserted)  # noqa: PLW2901  (it has moved)
        text = text[:at] + text[at + len(inserted) :]
    return text
