"""Where a text comes from: copied from an untrusted text, an instruction to the reader, or written by Tacit itself. Pure.

`TextLog` takes trusted and untrusted texts in order and finds copies of untrusted ones, also with other case, quotes, blanks,
lookalike or invisible characters, escapes, encodings (all in `encoded_text`) or joined parts. What a trusted text
contained first is not a copy. A paraphrase is not found.

`directive_in` finds the first sentence that could tell a reader what to do. Any long enough run of words counts, in any
language, and a shorter one if it orders or advises; code, lists and usual tool output do not.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

from tacit.text.encoded_text import decoded_parts, unmasked
from tacit.text.words import STOP_WORDS

P = TypeVar("P")
_Triple = tuple[str, str, str]
_RUN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[^\s'\"`(){}\[\],;=|&<>]+")
_ODD = re.compile(r"[^\W_][\W_]+[^\W_]|\d")
"""Matches words that are unusual: with a digit or a sign inside."""
_LEAST = 6
"""Least length of an unusual word; shorter ones occur by chance."""
_ASSIGNED = re.compile(r"(?<![\w$])([A-Za-z_]\w{0,40})=(?:'([^']{1,200})'|\"([^\"]{1,200})\"|([^\s;&|'\"]{1,200}))")
_USED = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_PLACED = re.compile(r"[./@:]")
_GENERIC = frozenset("http https www com org net git ssh main master src bin usr html json".split())
_EXEMPT_MARK = "qxnobodysxq"
"""Replaces an exempt word, so that its neighbours do not become adjacent."""
_LAYERS = 2
"""Nested encodings that are decoded."""


@dataclass(slots=True)
class TextLog(Generic[P]):
    """Trusted and untrusted texts in order; `P` is the caller's position of a text."""

    _places: list[P] = field(default_factory=list)
    _trusted: list[bool] = field(default_factory=list)
    _squeezed: list[str] = field(default_factory=list)
    _single: dict[str, int] = field(default_factory=dict)
    _triples: dict[_Triple, int] = field(default_factory=dict)

    def add(self, text: str, place: P, *, trusted: bool) -> None:
        """Add the next text."""
        if not text:
            return
        number = len(self._places)
        self._places.append(place)
        self._trusted.append(trusted)
        forms = [_RUN.findall(form) for form in forms_of(text)]
        self._squeezed.append(" ".join("".join(runs) for runs in forms))
        for runs in forms:
            for run in runs:
                self._single.setdefault(run, number)
            for triple in zip(runs, runs[1:], runs[2:], strict=False):
                self._triples.setdefault(triple, number)

    def copied_from(
        self, text: str, *, prose: bool = False, exempt: Callable[[str], bool] = lambda word: False
    ) -> P | None:
        """Return where a text was copied from; None if it was not. `exempt` words do not count; `prose` needs longer runs."""

        def masked(match: re.Match[str]) -> str:
            is_exempt = _ODD.search(match.group()) and exempt(match.group().rstrip(".,:;!?"))
            return _EXEMPT_MARK if is_exempt else match.group()

        for form in _cached_forms(text):
            left = _WORD.sub(masked, form)
            number = self._phrase(left, least=2 if prose else 1)
            if number is None:
                number = self._odd_word(left)
            if number is not None:
                return self._places[number]
        return None

    def first_with(self, word: str) -> P | None:
        """Return where a word, in whatever case and with whatever separators, came up first; None if nowhere."""
        bare = "".join(_RUN.findall(unmasked(word).casefold()))
        number = next((n for n, squeezed in enumerate(self._squeezed) if bare in squeezed), None)
        return None if number is None else self._places[number]

    def _phrase(self, form: str, *, least: int) -> int | None:
        """Return the first text with a common run of words: one triple, or as many adjacent triples as asked for."""
        runs, together = _RUN.findall(form), 0
        for triple in zip(runs, runs[1:], runs[2:], strict=False):
            number = self._triples.get(triple)
            telling = sum(len(run) > 2 and run not in STOP_WORDS for run in triple) > 1
            together = together + 1 if number is not None and telling and not self._trusted[number] else 0
            if together >= least:
                return number
        return None

    def _odd_word(self, form: str) -> int | None:
        """Return the first text with an unusual word of this text, whole or in parts."""
        for word in dict.fromkeys(_WORD.findall(form)):
            bare = "".join(_RUN.findall(word))
            if len(bare) < _LEAST or not _ODD.search(word):
                continue
            number = next((n for n, squeezed in enumerate(self._squeezed) if bare in squeezed), None)
            if number is None and _PLACED.search(word):
                # the last part of a path or address that was joined from untrusted parts
                found = [self._piece(run) for run in _RUN.findall(word) if len(run) > 2 and run not in _GENERIC]
                known = [each for each in found if each is not None]
                number = max(known) if known and len(known) == len(found) else None
            if number is not None and not self._trusted[number]:
                return number
        return None

    def _piece(self, piece: str) -> int | None:
        if (number := self._single.get(piece)) is not None:
            return number if not self._trusted[number] else None
        halves = ((self._single.get(piece[:at]), self._single.get(piece[at:])) for at in range(3, len(piece) - 2))
        both = (max(a, b) for a, b in halves if a is not None and b is not None)
        return next((number for number in both if not self._trusted[number]), None)


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a nested value, keys included."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
    elif value is not None:
        yield str(value)


def forms_of(text: str, *, original: str = "") -> list[str]:
    """Return a text normalised to one case, and again with its encodings decoded; `original` is the unprocessed text."""
    return [reading.casefold() for reading in readings(text, original=original)]


def readings(text: str, *, original: str = "") -> list[str]:
    """Return a text without lookalike and invisible characters, and again with its encodings decoded."""
    raw = list(dict.fromkeys(each for each in (original, text) if each))
    hidden = (part for each in raw if not each.isascii() for part in decoded_parts(each))
    layer = list(dict.fromkeys(map(unmasked, (*raw, *hidden))))
    found = dict.fromkeys(layer)
    for _ in range(_LAYERS):
        layer = [unmasked(part) for each in layer for part in decoded_parts(each)]
        found.update(dict.fromkeys(layer))
    return list(found)


@lru_cache(maxsize=1024)
def _cached_forms(text: str) -> tuple[str, ...]:
    """Return the forms of a text, cached, since it is compared with many attempts.

    Rotation by 13 letters, by 47 signs and reversal undo themselves, so it is enough to look for the copy in those forms too.
    """
    values = {name: a or b or c for name, a, b, c in _ASSIGNED.findall(text)}  # a command with its own variables
    filled = _USED.sub(lambda match: values.get(match[1], match[0]), text) if values else text
    forms = forms_of(filled, original=text)
    rotated = forms_of(filled.translate(_ROT47))
    return tuple(dict.fromkeys((*forms, *(turn for form in forms for turn in turned(form)), *rotated)))


def turned(text: str) -> tuple[str, str]:
    """Return a text rotated by 13 letters, and reversed."""
    return codecs.encode(text, "rot13"), text[::-1]


_ROT47 = {sign: 33 + (sign - 33 + 47) % 94 for sign in range(33, 127)}


_MAX_SENTENCE = 2_000
_BORDER = re.compile(r"(?<=[.!?:;])\s+|[\r\n]+")
_LEAD = re.compile(r"^(?:[\s>#*|/•–—-]|//|<!--|<[a-z][\w-]*>|\d{1,3}[.)]|\[\s?\]|[\"'“`({\[])*")
_LETTER_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
_SENTENCE = re.compile(
    rf"(?:{_LETTER_WORD},? ){{5,}}{_LETTER_WORD}|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{{8,}}"
)
"""Six words in a row, or as much of a script without blanks."""
_JOINED = re.compile(r"(?<![\w/.-])(?:[^\W\d_]+[_-]){5,}[^\W\d_]+")
"""A sentence written as one word."""
_PHRASE = re.compile(rf"(?:{_LETTER_WORD},? ){{2,}}{_LETTER_WORD}")
_USUAL = re.compile(
    r"the file (?:\S+ )?has been (?:updated|created|written|changed)(?: successfully)?|file created successfully at: ?\S*|"
    r"here's the result of running `cat -n` on a snippet of the edited file|todos have been modified successfully|"
    r"your branch is (?:up to date with|ahead of|behind) '\S+'(?: by \d+ commits?)?(?:, and can be fast-forwarded)?|"
    r"nothing to commit, working tree clean|no changes added to commit(?: \(use [^()]{1,60}\))?|"
    r"changes not staged for commit|changes to be committed|\(?use \"git (?:add|restore|push|pull|rm)[^\"]{0,40}\" to "
    r"(?:[a-z]+ ){1,8}[a-z]+\)?|already up to date|everything up-to-date|traceback \(most recent call last\)",
    re.IGNORECASE,
)
"""Usual complete answers of tools, without free text."""
_TELLS = re.compile(
    r"\b(?:must|should|shall|ought|always|never|please|make sure|be sure|remember|remind|ensure|don['’]t|do not|need(?:s)? to|"
    r"ha(?:ve|s) to|had better|advis\w+|recommend\w*|suggest\w*|prefer\w*|require[sd]?|requirement|mandatory|important|"
    r"essential|critical|policy|rule|guideline|convention|instruction\w*|polic\w+|expected|suppos\w+|instead|rather than|"
    r"ignore|disregard|regardless|from now on|going forward|by default|whenever|every time|each time|before (?:you|any|"
    r"every|each|\w+ing)|after (?:you|any|every|each|\w+ing)|when(?:ever)? (?:you|the|a|an|any|\w+ing)|in order to|"
    r"(?:best|right|correct|proven|known|quick|fast|easi|safe|only|trick|usual|way|practice|how)\w* (?:way|is|to|practice)|"
    r"work(?:s|ed) (?:best|well|fine|every|for|by|when|once)|solved|resolved|succe\w+|fix(?:es|ed)?\b|helped|the trick|"
    r"we (?:\w+ )?(?:use|run|set|add|skip|turn|keep|do|put|go|start|switch|disable|enable|remove)|let (?:us|me)|"
    r"you (?:can|may|will|want|could|are|would)|it is (?:best|fine|ok|okay|safe|enough|common)|assistant|agents?|"
    r"(?:ai|language) model|operator|user|admin\w*|maintainer\w*|team|everyone|contributors?|developers?)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:add|adjust|allow|append|apply|approve|build|bypass|call|change|check|chmod|clear|clone|comment|commit|configure|"
    r"connect|copy|create|delete|deploy|disable|do|download|drop|edit|enable|execute|export|fetch|first|follow|forward|"
    r"give|go|grant|ignore|include|insert|install|invoke|keep|leave|let|log|make|mark|merge|move|name|open|pass|paste|"
    r"point|post|prefer|print|publish|pull|push|put|read|rebuild|remove|rename|replace|report|reset|restart|rewrite|"
    r"run|save|schedule|send|set|share|skip|start|stop|store|submit|switch|take|tell|then|trust|try|turn|uninstall|"
    r"update|upgrade|upload|use|visit|wipe|write)\b",
    re.IGNORECASE,
)


def directive_in(text: str) -> str:
    """Return the first sentence that could tell a reader what to do; empty if there is none."""
    for piece in _BORDER.split(text):
        sentence = _LEAD.sub("", piece[:_MAX_SENTENCE]).strip()
        if _USUAL.fullmatch(sentence.rstrip(".:!")):
            continue
        if _SENTENCE.search(sentence) or _JOINED.search(sentence):
            return sentence
        if _PHRASE.search(sentence) and (_ORDER.match(sentence) or _TELLS.search(sentence)):
            return sentence
    return ""


TACIT_TOOL_PREFIXES = ("mcp__tacit__", "tacit__", "tacit.")
"""Prefixes of Tacit's MCP tools, as clients write them in lower case."""
_FOLDER = re.compile(r"(?:^|[\s/\\'\"=])\.tacit(?:[/\\]|$)")
_MARK = re.compile(r"^[^\w\n]*(?:\d+[^\w\n]+)?tacit-[a-z-]+:", re.MULTILINE)
_MARK_REACH = 8_000
"""Characters in which the mark of a skill of Tacit's own is looked for: it stands in the head."""


def names_tacit_folder(text: str) -> bool:
    """Whether a path or a command names something in a `.tacit` folder."""
    return _FOLDER.search(text) is not None


def is_tacit_skill(text: str) -> bool:
    """Whether a SKILL.md, as a tool shows it, has Tacit's metadata in its head."""
    return _MARK.search(text, 0, _MARK_REACH) is not None
