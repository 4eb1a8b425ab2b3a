"""Sentences of a skill's text with their position, and the word classes in each (`send`, `secret`, `outside`, `quiet`).

Sentences come from prose, list items, table cells and comments in code; code itself is skipped. Classes of words are
patterns for lower-case text, each in linear time, from `word_classes.toml`. One word alone proves nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_Spans = tuple[tuple[int, int], ...]
_SOURCES = "".join(f"(?<!from {article})" for article in ("", "an ", "a ", "the ", "your "))
"""What comes from a place does not go there."""


def _forms(word: str) -> str:
    """Return a pattern for the forms of a regular verb."""
    if word.endswith("+"):
        return f"{word[:-1]}(?:s|{word[-2]}ed|{word[-2]}ing)?"
    if word.endswith("e"):
        return f"{word[:-1]}(?:e|es|ed|ing)"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}(?:y|ies|ied|ying)"
    return f"{word}(?:s|es|ed|ing)?"


@cache
def _tables() -> dict[str, dict[str, dict[str, str]]]:
    with resources.files(__package__).joinpath("word_classes.toml").open("rb") as file:
        return tomllib.load(file)


@cache
def word_classes() -> dict[str, str]:
    """Return every class of words with its pattern, as text."""
    found: dict[str, str] = {}
    for tables in _tables().values():
        for name, table in tables.items():
            verbs, words = table.get("verbs", ""), re.sub(r"\s*\n\s*", "", table.get("words", ""))
            found[name] = "|".join(filter(None, [*map(_forms, verbs.split()), words]))
    return found


@cache  # compiling all takes half a second, and most commands need none
def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a word class."""
    return re.compile(rf"(?<![\w-]){_SOURCES if name == 'outside' else ''}(?:{word_classes()[name]})(?!\w)")


# --- which classes a sentence may hold, by the first letters of its words ----------------------------------------------

_LETTERS = 4
_WORD = re.compile(rf"(?<![\w-])(?=(\S.{{0,{_LETTERS - 1}}}))", re.DOTALL)
"""Where a word of a class may begin, with its first letters."""
_OPEN = "\0"
"""Stands for whatever comes after some first letters."""


@cache
def class_mask(names: tuple[str, ...]) -> int:
    """Return the bits of some classes; an order and a negation of an action have bits of their own."""
    known = list(word_classes())
    return sum({1 << 3 * known.index(name.rstrip("!~")) + "!~".find(name[-1]) + 1 for name in names})


@cache
def _masks_by_letters() -> dict[str, int]:
    """Return first letters → the classes with words that begin so; of those in the empty text nothing is known."""
    found: dict[str, int] = {}
    for name, words in word_classes().items():
        for each in _first_letters(_parser.parse(words)):
            letters = each.rstrip(_OPEN) if not each[:1].isspace() else ""
            found[letters] = found.get(letters, 0) | class_mask((name, f"{name}!", f"{name}~"))
    return found


@lru_cache(maxsize=8192)
def _mask_of_word(word: str) -> int:
    masks, found = _masks_by_letters(), 0
    for count in range(len(word) + 1):
        found |= masks.get(word[:count], 0)
    return found


def _first_letters(tree: Iterable[tuple[Any, Any]]) -> set[str]:
    """Return the letters that the matches of a parsed pattern begin with, at most so many; `_OPEN` after shorter ones."""
    begun = {""}
    for kind, value in tree:
        if kind in (_parser.AT, _parser.ASSERT, _parser.ASSERT_NOT):
            continue  # takes no characters
        next_ = {_OPEN}
        if kind is _parser.LITERAL:
            next_ = {chr(value)}
        elif kind is _parser.IN and all(of is _parser.LITERAL for of, _ in value):
            next_ = {chr(letter) for _, letter in value}
        elif kind is _parser.SUBPATTERN:
            next_ = _first_letters(value[-1])
        elif kind is _parser.BRANCH:
            next_ = set().union(*map(_first_letters, value[1]))
        elif kind is _parser.MAX_REPEAT:
            least, most, part = value
            next_ = {each if most == 1 else each + _OPEN for each in _first_letters(part)} | (
                {""} if not least else set()
            )
        begun = {each if each.endswith(_OPEN) else (each + more)[:_LETTERS] for each in begun for more in next_}
        if all(each.endswith(_OPEN) or len(each) == _LETTERS for each in begun):
            break
    return begun


MAX_SENTENCE = 1_500
_FENCE = re.compile(r"[ \t>]{0,12}(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)")
_MARKS = re.compile(
    r"(?:[\s>*_#|+•·\-]+|\[[ xX]\]|\d{1,3}[.)](?=\s)|[a-zA-Z][.)](?=\s)|<!--|//|/\*|--|\"\"\"|rem\b)*", re.IGNORECASE
)
_PROSE_BLOCKS = frozenset({"markdown", "md", "text", "txt"})
"""Languages of code blocks that hold sentences: what a file is to say, or a prompt."""
_WIDTH_MAX = 140
_BROKEN = re.compile(r"^(?![ \t>]*(?:[#|]|```|~~~))(?=.{50}).*[\w,`)\"'*—–-]$")
"""A line long enough to have been wrapped."""
_GOES_ON = re.compile(r"[ \t>]{0,12}(?!```)[a-z`(\"][^:|]{0,200}$")
"""A line that continues the one before."""
_ITEM = re.compile(r"[\s>]*(?:[-*+•]|\d{1,3}[.)])\s")
_COMMENT = re.compile(r"^\s*(?:#(?!!)|//|--|;|/\*|\*|<!--|rem\b)|\s(?:#|//)\s", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?])[)\"'*_`]{0,3}\s+(?=[\"'*_`(\[]{0,3}[A-Z0-9$/\[])|(?<=\S)\s+[—–]\s+(?=[A-Z])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|no|fig|approx|incl|mr|mrs|dr|st)\.|\b[A-Z]\.)[)\"'*_`]{0,3}$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, and its position."""

    text: str
    start: int
    end: int
    kind: str = "prose"
    """`prose`, `item`, `heading`, `cell`, `block` of text, `comment` in code, or `hidden` in an HTML comment."""


@lru_cache(maxsize=64)
def sentences(text: str, *, code: bool = False) -> tuple[Sentence, ...]:
    """Return the sentences of a text in order; of code only its comments. Cached for the next check."""
    return tuple(_sentences(text, code=code))


def _sentences(text: str, *, code: bool) -> Iterator[Sentence]:
    at = 0
    fence = ""
    hidden = is_prose = False
    for line in _unwrapped(text, code=code):
        start, at = at, at + len(line) + 1
        opened = None if code else _FENCE.match(line)
        if opened and not fence:
            fence, is_prose = opened["mark"], opened["language"].lower() in _PROSE_BLOCKS
            continue
        if opened and opened["mark"].startswith(fence) and not opened["language"]:
            fence, is_prose = "", False
            continue
        if code or (fence and not is_prose):
            comment = _COMMENT.search(line)
            if comment is None:
                continue
            yield from _of_line(line[comment.end() :], start + comment.end(), "comment")
            continue
        kind = "block" if is_prose else "prose"
        if is_prose:
            pass
        elif hidden or "<!--" in line:
            hidden = "-->" not in line.rpartition("<!--")[2]
            kind = "hidden"
        elif line.lstrip(" >").startswith("#"):
            kind = "heading"
        elif line.lstrip().startswith("|"):
            kind = "cell"
        elif _ITEM.match(line):
            kind = "item"
        yield from _of_line(line, start, kind)


def _unwrapped(text: str, *, code: bool) -> Iterator[str]:
    """Yield the lines of a text, each with its wrapped continuation lines."""
    held = ""
    for line in text.split("\n"):
        if held and not code and _GOES_ON.match(line):
            held = f"{held} {line}"
            continue
        if held:
            yield held
            held = ""
        if _BROKEN.search(line) and len(line) < _WIDTH_MAX and not code:
            held = line
        else:
            yield line
    if held:
        yield held


def _of_line(line: str, start: int, kind: str) -> Iterator[Sentence]:
    for cell in line.split("|") if kind == "cell" else [line]:
        begin = 0
        ends = [end.span() for end in _END.finditer(cell) if not _ends_abbreviated(cell, end.start())]
        for end, after in (*ends, (len(cell), 0)):
            marks = _MARKS.match(cell, begin, end)
            begin = marks.end() if marks else begin
            text = cell[begin:end].rstrip(" \t\r*_|").removesuffix("-->").rstrip()
            if len(text) >= 8 and any(c.isalpha() for c in text):
                for cut in range(0, len(text), MAX_SENTENCE):
                    part = text[cut : cut + MAX_SENTENCE]
                    yield Sentence(part, start + begin + cut, start + begin + cut + len(part), kind)
            begin = after
        start += len(cell) + 1


def _ends_abbreviated(line: str, at: int) -> bool:
    return _ABBREVIATION.search(line, max(0, at - 12), at) is not None


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
_FORBIDDEN = re.compile(
    r"(?:\b(?:not|never|avoid|cannot)|n['\u2019]t)\b"
    r"(?! (?:forget|hesitate|fail|neglect|wait|worry|bother|stop|only|ask|need|have))"
    r"(?:(?!\b(?:and|but|then|just|instead)\b)[^;:.!?\u2013\u2014])*$",
    re.IGNORECASE,
)
"""Words that forbid the rest of their clause."""
_BY = re.compile(r"\b(?:finish|end|start|begin|close|conclude|clean up|continue) (?:by|with)\s$", re.IGNORECASE)
_SMALL = "the a an of to in for your this that each every and or with is are by any all no new its their on from using"
_LED = re.compile(
    r"^(?:when|where(?:ver)?|while|before|after|once|if|on|for|in)\s[^,.;:]{2,50}\s"
    + "".join(rf"(?<!\b{word}\s)" for word in _SMALL.split())
    + "$"
)
"""Words that introduce an order without a comma: "when summarising leave out …"."""


class Meaning:
    """The words of a sentence by class."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lowered = text.lower() if len(text.lower()) == len(text) else text
        self._known: dict[str, _Spans] = {}

    @cached_property
    def possible(self) -> int:
        """The bits of the classes of which words may occur: fewer and fewer, the more were looked for."""
        found = _mask_of_word("")
        for word in _WORD.findall(self._lowered):
            found |= _mask_of_word(word)
        return found

    def spans(self, name: str) -> _Spans:
        """Return the spans of words of a class; with `!` only as an order, with `~` only negated."""
        if not self.possible & class_mask((name,)):
            return ()
        known = self._known.get(name)
        if known is None:
            plain = name.rstrip("!~")
            if plain in _tables()["actions"]:
                self._find_action(plain)
            else:
                self._keep(name, [match.span() for match in pattern(name).finditer(self._lowered)])
            known = self._known[name]
        return known

    def _keep(self, name: str, spans: Iterable[tuple[int, int]]) -> None:
        self._known[name] = tuple(spans)
        if not self._known[name]:
            self.possible &= ~class_mask((name,))

    def contains_any(self, *names: str) -> bool:
        """Whether words of any of these classes occur."""
        return bool(self.possible & class_mask(names)) and any(self.spans(name) for name in names)

    def _find_action(self, name: str) -> None:
        found: dict[str, list[tuple[int, int]]] = {"": [], "!": [], "~": []}
        for match in pattern(name).finditer(self._lowered):
            if self._lowered.count("`", 0, match.start()) % 2:  # a word of code is no order
                continue
            found[""].append(match.span())
            before = self._lowered[max(0, match.start() - _LOOK_BACK) : match.start()]
            form = match.group()
            if _NOT.search(before):
                found["~"].append(match.span())
                continue
            if self._ordered(before, form) and not self._is_forbidden(match):
                found["!"].append(match.span())
        for mark, spans in found.items():
            self._keep(f"{name}{mark}", spans)

    def _is_forbidden(self, action: re.Match[str]) -> bool:
        """Whether a negation before an action holds for it too, also as one of several: "never print, send or store"."""
        forbidden = _FORBIDDEN.search(self._lowered[max(0, action.start() - 2 * _LOOK_BACK) : action.start()])
        return forbidden is not None and (
            "," not in forbidden[0] or " or " in forbidden[0] + self._lowered[action.start() :]
        )

    @staticmethod
    def _ordered(before: str, form: str) -> bool:
        first = form.split(" ", 1)[0]
        if first.endswith("ing") and _BY.search(before):
            return True
        if first.endswith("ing") or (
            first.endswith("s") and not first.endswith("ss")
        ):  # about something, not to someone
            return False
        if first.endswith(_PARTICIPLE) and _PASSIVE.search(before):
            return True
        base = (not first.endswith("ed") and first not in _PAST) or first in _BASES
        return base and (_HEAD.search(before) or _LED.search(before)) is not None


@lru_cache(maxsize=4096)
def meaning_of(text: str) -> Meaning:
    """Return the word classes of a sentence, cached for the next check."""
    return Meaning(text)
