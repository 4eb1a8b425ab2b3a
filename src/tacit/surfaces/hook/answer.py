"""Texts for the agent → the JSON that a client takes from a hook, whole texts only and never over the limit.

Clients cut what is longer than 10,000 characters, one in the middle, the other by leaving it in a file. So what does not
fit is left out here, and the caller is told which texts went in.
"""

from __future__ import annotations

import json
import os

MAX_CHARACTERS = 9_500
"""Of the whole answer, with everything around the texts."""
_NOTE = "<tacit-note>\n{}\n</tacit-note>"


class Answer:
    """What is said at one event; texts are added in the order of their weight."""

    def __init__(self, event_name: str, *, number: str = "") -> None:
        self._event_name = event_name
        self._number = number or os.urandom(8).hex()
        self._texts: list[str] = []
        self._notes: list[str] = []

    def add(self, text: str, *, room: int = MAX_CHARACTERS) -> bool:
        """Add a piece of background knowledge, if all of it fits into so many characters."""
        return self._added(self._texts, text, room)

    def add_list(self, heading: str, lines: list[str]) -> int:
        """Add a list with as many of its first lines as fit; returns how many."""
        kept = len(lines)
        while kept:
            if self.add("\n".join([heading, *lines[:kept]])):
                return kept
            kept -= max(1, kept // 10)
        return 0

    def note(self, text: str) -> bool:
        """Add a remark about the work at hand, if all of it fits."""
        return self._added(self._notes, _NOTE.format(text), MAX_CHARACTERS)

    def json(self) -> str:
        """The answer as the client expects it; empty if there is nothing to say."""
        context = "\n".join(self._notes)
        if self._texts:
            from tacit.text.safe_markdown import framed

            context = "\n".join([*self._notes, framed(self._texts, number=self._number)])
        if not context:
            return ""
        said = {"hookEventName": self._event_name, "additionalContext": context}
        return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False, separators=(",", ":"))

    def _added(self, texts: list[str], text: str, room: int) -> bool:
        texts.append(text)
        if text and len(self.json()) <= min(room, MAX_CHARACTERS):
            return True
        texts.pop()
        return False
