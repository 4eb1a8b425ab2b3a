"""A sentence → which classes of words stand in it, where, and whether a deed is ordered, forbidden or only named.

`delete` is a word of that class; `delete!` one that is ordered ("delete the file", "must be deleted"); `delete~` one that is
negated ("never delete"). Classes are looked up when they are asked for, since most sentences hold few.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.text.touches.lexicon import BITS, DEEDS, pattern, possible

_PARTICIPLE = ("ed", "en", "pt", "ent", "ft", "id", "old")
_BASES = frozenset({"embed", "shred", "feed"})
_PAST = frozenset("paid sent bought kept written shown hidden given told withheld forgotten".split())
_LOOK_BACK = 60
_HEAD = re.compile(
    r"(?:^|[,:;(\u2013\u2014.][\s\"'`*_]|\*\*\s?|\b(?:and|then|please|always|must|should|shall|also|first|finally|simply|just|or|to|"
    r"(?:you|agent|assistant|skill|it|we) (?:may|can|will)|automatically|silently|quietly|next|now|instead|you|"
    r"immediately|permanently|directly|so|but|afterwards|additionally|skill|export)\s)"
    r"[\s\"'`*(\[_]*$",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"\b(?:be|are|is|been|get|gets)(?: (?:always|also|automatically|immediately|silently|then|to be))?\s$",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:\b(?:not|never|avoid|without|no|cannot|nor|no need to|need not|rather than|instead of)|n['\u2019]t)"
    r"(?: (?:to|be|ever|even|have to|\w[\w, -]{0,40}? or))?"
    r"[\s`*\"']+$",
    re.IGNORECASE,
)
_BY = re.compile(r"\b(?:finish|end|start|begin|close|conclude|clean up|continue) (?:by|with)\s$", re.IGNORECASE)
_SMALL = "the a an of to in for your this that each every and or with is are by any all no new its their on from using"
_LED = re.compile(
    r"^(?:when|where(?:ver)?|while|before|after|once|if|on|for|in)\s[^,.;:]{2,50}\s"
    + "".join(rf"(?<!\b{word}\s)" for word in _SMALL.split())
    + "$"
)
"""What leads into an order without a comma: "when summarising leave out …"."""
_Spans = tuple[tuple[int, int], ...]


class Meaning:
    """What a sentence holds, class by class."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lowered = text.lower() if len(text.lower()) == len(text) else text
        self.possible = possible(self._lowered)
        """Bits of the classes that may stand in it."""
        self._known: dict[str, _Spans] = {}

    def spans(self, name: str) -> _Spans:
        """Where words of a class stand; with `!` only as an order, with `~` only negated."""
        known = self._known.get(name)
        if known is None:
            plain = name.rstrip("!~+")
            if not self.possible & BITS[plain]:
                self._known[name] = ()
            elif plain in DEEDS:
                self._read_deed(plain)
            else:
                self._known[plain] = tuple(match.span() for match in pattern(plain).finditer(self._lowered))
            known = self._known[name]
        return known

    def holds(self, *names: str) -> bool:
        """Whether words of any of these classes stand in it."""
        return any(self.spans(name) for name in names)

    def _read_deed(self, name: str) -> None:
        found: dict[str, list[tuple[int, int]]] = {"": [], "!": [], "~": [], "+": []}
        for match in pattern(name).finditer(self._lowered):
            if self._lowered.count("`", 0, match.start()) % 2:  # a word of code is shown, not said
                continue
            found[""].append(match.span())
            before = self._lowered[max(0, match.start() - _LOOK_BACK) : match.start()]
            form = match.group()
            if _NOT.search(before):
                found["~"].append(match.span())
                continue
            if not form.split(" ", 1)[0].endswith("ing"):
                found["+"].append(match.span())
            if self._ordered(before, form):
                found["!"].append(match.span())
        for mark, spans in found.items():
            self._known[f"{name}{mark}"] = tuple(spans)

    @staticmethod
    def _ordered(before: str, form: str) -> bool:
        first = form.split(" ", 1)[0]
        if first.endswith("ing") and _BY.search(before):
            return True
        if first.endswith("ing") or (
            first.endswith("s") and not first.endswith("ss")
        ):  # told of something, not to someone
            return False
        if first.endswith(_PARTICIPLE) and _PASSIVE.search(before):
            return True
        base = (not first.endswith("ed") and first not in _PAST) or first in _BASES
        return base and (_HEAD.search(before) or _LED.search(before)) is not None


@lru_cache(maxsize=4096)
def meaning_of(text: str) -> Meaning:
    """What a sentence means, kept for the next check that asks."""
    return Meaning(text)
