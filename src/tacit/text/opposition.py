"""Opposition between two texts with rules: why both cannot be followed, or nothing. Pure; compares sentences.

Finds three kinds: one bans what the other asks for; one uses what the other replaces ("use pnpm, not npm"); both set one
thing differently ("use port 8080 for the preview" against port 9090). Texts on the same subject alone are not opposed.

Each sentence is read as a ban, a replacement or a setting by the patterns below; what fits none is a plain request. The
patterns are English: in other languages only negations are known (`opposite_clause`). In doubt nothing is found, since a
person is asked about each opposition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tacit.text.words import STOP_WORDS, terms

ALIKE, IN_A_ROW = 0.8, 0.6
"""Shared part of the words from which a ban and a request are about the same thing; less for adjacent words."""
SAME = 0.75
"""The same, from which a text repeats a line or turns it round."""
MOST_SENTENCES = 40
LONGEST = 400
"""Sentences of one text that are compared, and characters of each; a longer one is a list or pasted text."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEGATED = re.compile(
    r"\b(?:never|don['’]?t|do not|does not|doesn['’]?t|must not|mustn['’]?t|should not|shouldn['’]?t|cannot|can['’]?t|may not|"
    r"avoid|stop|no longer|not to|forbid(?:den)?|without)\b|^\s*no\s",
    re.IGNORECASE,
)
_REASON = re.compile(
    r",?\s(?:because|since)\s|\s*[,;:(–—]\s*(?:it|they|this|that|these|those|which)(?:['’]s|\s)", re.IGNORECASE
)
_INSTEAD = (
    re.compile(
        r"\b(?:use|prefer|choose|take|run|with)\s+(?P<chosen>[^,;.]{1,60}?)\s*(?:,?\s*"
        r"(?:instead of|rather than|over|(?:and|but) (?:not|never)(?: use)?)|"
        r",\s*(?:not|never)(?: use)?)\s+(?P<left>[^,;.]{1,60})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\binstead of\s+(?P<left>[^,;.:]{1,60})[,:]?\s*(?:use|run|prefer)?\s*(?P<chosen>[^,;.]{1,60})", re.IGNORECASE
    ),
    re.compile(r"\breplace\s+(?P<left>[^,;.]{1,60}?)\s+(?:with|by)\s+(?P<chosen>[^,;.]{1,60})", re.IGNORECASE),
)
_FIXES = re.compile(
    r"^\W*(?:please\s+|always\s+|we\s+|the project\s+|this project\s+)*(?P<verb>uses?|runs?|sets?|keeps?|names?|stores?"
    r"|indents?|puts?|starts?|deploys?|commits?|formats?)\s+(?P<rest>.+)",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"^\W*(?P<subject>\S.{0,80}?)\s(?P<verb>is|are|listens?|runs? on|defaults?|lives?|expires?|times? out|allows?|equals?)\s"
    r"(?P<rest>.+)",
    re.IGNORECASE,
)
_PURPOSE = re.compile(r"\s(?:for|in|to|when|as|on|into|before|after|with)\s", re.IGNORECASE)
_VALUE = re.compile(r"\d|^(?:true|false|on|off|yes|no)$")
_EXCLUSIVE = tuple(
    frozenset(terms(group))
    for group in (
        "npm pnpm yarn bun", "pip poetry uv pipenv conda pdm", "tab space", "pytest unittest nose", "jest vitest mocha",
        "merge rebase squash", "camelcase snake_case kebab-case pascalcase", "single double", "mypy pyright", "black yapf",
        "eslint biome", "rest graphql grpc", "maven gradle",
    )
)  # fmt: skip
"""Groups of alternatives (stems): one of each is used for one purpose."""
_EMPTY = frozenset("never always alway avoid stop must should only don not instead rather prefer".split())


@dataclass(frozen=True, slots=True)
class Saying:
    """One sentence that states a rule."""

    text: str
    banned: bool
    about: frozenset[str]
    """Its words, without those of the request or ban."""
    chosen: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    """What is used instead of what."""
    verb: str = ""
    object: frozenset[str] = frozenset()
    """For a plain request: what to do it with; for a choice: what both are kinds of ("wet sand, not dry sand")."""
    purpose: frozenset[str] = frozenset()
    """For a plain request: what for."""
    subject: frozenset[str] = frozenset()
    stated: frozenset[str] = frozenset()
    """For a plain statement: its subject with the verb, and the rest."""


def opposed(left: str, right: str) -> str:
    """Return which sentences of two texts cannot both be followed; empty where all can."""
    ours, theirs = sayings(left), sayings(right)
    for one in ours:
        for other in theirs:
            if one.chosen and other.chosen:
                about_others = one.object and other.object and not one.object & other.object
                swaps = bool(one.chosen & other.left and one.left & other.chosen) and not about_others
            else:
                swaps = _puts_aside(one, other) or _puts_aside(other, one)
            if swaps or _bans(one, other) or _bans(other, one) or _fixes_otherwise(one, other):
                return f"“{_short(one.text)}” against “{_short(other.text)}”"
    return ""


_STATEMENT = re.compile(r"(?<=[.!?;:])\s+|\n+")
_CLAUSE = re.compile(r"[.!?;:,](?=\s|$)|\s[–—-]\s|[()]")
_LISTED = re.compile(r"\W*(?:[-*+•]|\d+[.:)])\W*\s")
_NEGATION = re.compile(
    r"\b\w+n['’]t\b|\b(?:cannot|(?:do|ca|wo|does|is|are|must|should)nt|not|no|never|none|nor|neither|without|nicht|kein\w*|nie|"
    r"niemals|ohne|ne|pas|jamais|sans|nunca|jamás|sin|não|nem|senza|non|mai|не|нет|никогда|нельзя|без)\b(?!-)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence: what it is about, and whether it says no to it; two negations say yes."""

    text: str
    about: frozenset[str]
    is_negated: bool
    is_whole: bool
    """Whether it states something by itself: it is no question, no entry of a list and no part of a longer sentence."""


def clauses(text: str) -> Iterator[Clause]:
    """Yield the parts of the sentences of a text, in any language that sets blanks."""
    for sentence in _STATEMENT.split(text):
        pieces = [piece for piece in _CLAUSE.split(sentence) if piece.strip()]
        is_whole = len(pieces) == 1 and not sentence.endswith("?") and not _LISTED.match(sentence)
        for piece in pieces:
            rest, negations = _NEGATION.subn(" ", piece)
            about = _words(rest)
            if about:
                yield Clause(piece.strip(), about, negations % 2 == 1, is_whole)


def opposite_clause(text: str, lines: Iterable[str]) -> str:
    """Return the part of a text that some line says the other way round and none says as it stands; empty if there is none."""
    known = [each for line in lines for each in clauses(line)]
    for clause in clauses(text):
        same = [each for each in known if _is_same(clause.about, each.about)]
        if any(each.is_negated == clause.is_negated for each in same):
            continue
        # "Skip it" is no opposite of "do not do it": what is asked has no word of its own
        if any(
            clause.about <= each.about if each.is_negated else each.is_whole and each.about <= clause.about
            for each in same
        ):
            return clause.text
    return ""


def _is_same(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return len(ours & theirs) >= max(2, SAME * len(ours | theirs))


@lru_cache(maxsize=4096)
def sayings(text: str) -> tuple[Saying, ...]:
    """Return the sentences of a text that state a rule."""
    found = (_read(sentence.strip(" \t>*-")) for sentence in _SENTENCE.split(text)[:MOST_SENTENCES])
    return tuple(each for each in found if each is not None)


def _read(sentence: str) -> Saying | None:
    if not sentence or len(sentence) > LONGEST:
        return None
    about = _words(sentence)
    for pattern in _INSTEAD:
        if match := pattern.search(sentence):
            chosen, left = _words(match["chosen"]), _words(match["left"])
            return Saying(sentence, False, about, chosen=chosen - left, left=left - chosen, object=chosen & left)
    if _NEGATED.search(sentence):
        rule = _REASON.split(sentence, maxsplit=1)[0]  # what it says of the reason is not banned
        return Saying(sentence, True, _words(rule) if _NEGATED.search(rule) else about)
    if match := _FIXES.match(sentence):
        thing, *rest = _PURPOSE.split(match["rest"], maxsplit=1)
        verb, purpose = match["verb"].casefold().rstrip("s"), _words(" ".join(rest))
        return Saying(sentence, False, about, verb=verb, object=_words(thing), purpose=purpose)
    if match := _STATES.match(sentence):
        subject = _words(match["subject"]) and _words(match["subject"]) | {match["verb"].casefold().rstrip("s")}
        return Saying(sentence, False, about, subject=subject, stated=_words(match["rest"]))
    return Saying(sentence, False, about)


def _bans(ban: Saying, other: Saying) -> bool:
    """Whether one sentence bans what another asks for or prefers."""
    if not ban.banned or other.banned:
        return False
    if other.chosen:  # "use A, not B": only A is asked for
        return bool(other.chosen & ban.about) and not other.left & ban.about and _near(ban, other.chosen, other.text)
    return _near(ban, other.about, other.text)


def _near(ban: Saying, asked: frozenset[str], text: str) -> bool:
    shared, every = ban.about & asked, ban.about | asked
    if not shared:
        return False
    part = len(shared) / len(every)
    if part >= ALIKE:
        return True
    within = len(shared) == min(len(ban.about), len(asked)) and (len(shared) > 1 or len(every) <= 2)
    return (within or part >= IN_A_ROW) and _in_a_row(shared, ban.text) and _in_a_row(shared, text)


def _in_a_row(words: frozenset[str], text: str) -> bool:
    """Whether these words are adjacent in a text, ignoring stop words."""
    order = [term for term in terms(text) if term not in _EMPTY and term not in STOP_WORDS]
    at = [number for number, term in enumerate(order) if term in words]
    return bool(at) and max(at) - min(at) < len(at)


def _puts_aside(swap: Saying, plain: Saying) -> bool:
    """Whether one uses what the other replaces."""
    asked = plain.object if not plain.banned else frozenset[str]()
    return bool(asked & swap.left) and not asked & swap.chosen and swap.object <= asked


def _fixes_otherwise(one: Saying, other: Saying) -> bool:
    """Whether both set the same thing to different values."""
    if one.subject and one.subject == other.subject:  # the preview listens on …
        pair = _differing(one.stated, other.stated)
        return bool(pair) and all(map(_VALUE.search, pair))
    if not one.verb or one.verb != other.verb or not (one.object and other.object):
        return False
    if one.object == other.object:  # set the timeout to …
        pair = _differing(one.purpose, other.purpose)
        return bool(pair) and all(_VALUE.search(word) for word in pair)
    pair = _differing(one.object, other.object)
    if not pair:
        return False
    if one.purpose and one.purpose == other.purpose:
        return True
    if any(pair <= group for group in _EXCLUSIVE):
        return not one.purpose or not other.purpose
    return one.purpose == other.purpose and bool(one.object & other.object) and all(map(_VALUE.search, pair))


def _differing(ours: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """Return the single word by which each side differs; None if they differ in more."""
    one, other = ours - theirs, theirs - ours
    return one | other if len(one) == 1 and len(other) == 1 else frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if term not in _EMPTY and term not in STOP_WORDS)


def _short(text: str, most: int = 90) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
