"""Hidden characters, secrets, external text and a language model's words: what must not reach an agent unseen.

`safety` looks at a candidate or a version with its origins, and its rule is the one that decides: whatever would become a
version is quarantined for any hidden character or secret, in any field. `UnicodeCheck` and `SecretsCheck` look at any content,
also one that nobody proposed, such as installed skills: they grade what they find, and point at the place. People decide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice

from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.identity import plain
from tacit.domain.skill import Provenance, SkillContent, SkillVersion, fields_without_origin
from tacit.domain.trajectory import Origin
from tacit.gate.checks.text_segments import TextSegment, text_segments
from tacit.gate.findings import field_name, finding
from tacit.text.field_texts import leaf_texts
from tacit.text.redaction import may_hold_secret, redact

_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks without a visible form."""
_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Variation selectors: a run of them can spell a hidden text."""
_HIDING = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
_JOINING = re.compile(r"[\u0600-\u07bf\u0900-\u0dff\u1000-\u109f\u1780-\u17ff]")
"""Scripts whose spelling needs zero-width joiners and non-joiners."""


SAFETY_IDENTITY = "safety 1"
"""Name and version of `safety`, as an approval stores those of the checks; the version changes with the rules."""


def safety(made: Candidate | SkillVersion) -> Iterator[Finding]:
    """Yield what a reviewer must see before anything else: hidden text, secrets, external text, a language model's words."""
    yield from hidden_texts(made.content)
    yield from source_findings(made.content, made.origins, made.provenance)


def hidden_texts(content: SkillContent) -> Iterator[Finding]:
    """Report characters that hide something, and secrets, in any field."""
    for path, text in leaf_texts(plain(content)):
        yield from hidden_text(text, path)


def source_findings(content: SkillContent, origins: Mapping[str, Origin], provenance: Provenance) -> Iterator[Finding]:
    """Report text from outside, and the words of a language model."""
    marked = [path for path, origin in origins.items() if origin is Origin.EXTERNAL]
    marked += fields_without_origin(content, origins)
    external = sorted({path.removesuffix(".arguments") for path in marked})  # a step includes its arguments
    if external:
        yield finding("external_text", field=external[0], fields=", ".join(map(field_name, external)))
    if provenance.model:
        # The checks do not understand its words, so no policy accepts them unread.
        yield finding("model_wording", model=provenance.model)


def hidden_text(text: str, path: str) -> Iterator[Finding]:
    """Report characters that hide something, and secrets, in the text of a field."""
    if hidden := hidden_characters(text):
        names = ", ".join(sorted(hidden)[:3])
        yield finding("hidden_characters", field=path, where=field_name(path), names=names)
    if redact(text).found:
        yield finding("secret", field=path, where=field_name(path))


def hidden_characters(text: str) -> set[str]:
    """Return the names of control, bidirectional, zero-width, filling and tag characters in a text."""
    if text.isascii() and text.isprintable():
        return set()
    kinds = {
        c: unicodedata.category(c) for c in set(text) - {"\n", "\t"}
    }  # most texts have few characters, and none of these
    hiding = {c for c, kind in kinds.items() if kind in _HIDING or c in _BLANKS or _SELECTOR.match(c)}
    found = {c for at, c in enumerate(text) if c in hiding and not _belongs(text, at)} if hiding else set()
    return {unicodedata.name(c, f"U+{ord(c):04X}") for c in found}


def _belongs(text: str, at: int) -> bool:
    """Whether a hidden character has its place here: an end of line, part of an emoji, or a joiner its script needs."""
    character, before = text[at], text[at - 1] if at else ""
    if character == "\r":
        return text[at + 1 : at + 2] == "\n"
    if not before:
        return False
    if character in "\u200c\u200d" and _JOINING.match(before):
        return True
    kind = unicodedata.category(before)
    if character == "\u200d":
        return kind in ("So", "Sk") or before == "\ufe0f"
    return character in "\ufe0e\ufe0f" and kind in ("So", "Sk", "Sm", "Po", "Nd")


_LOOKALIKES = {
    "a": "аɑα", "c": "сϲ", "d": "ԁ", "e": "еҽ", "g": "ɡ", "h": "һ", "i": "іıɩ", "j": "јϳ", "k": "κк",
    "l": "ӏ", "m": "м", "n": "ո", "o": "оοօ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "т", "u": "υս", "v": "νѵ",
    "w": "ԝѡ", "x": "хχ", "y": "уγ", "z": "ᴢ", "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ",
    "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν", "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "ΥҮ", "Z": "Ζ",
}  # fmt: skip
_FOLD = str.maketrans({foreign: latin for latin, foreigns in _LOOKALIKES.items() for foreign in foreigns})
_MIXED = re.compile(r"\b(?=\w{0,40}[A-Za-z])\w{0,40}[\u0400-\u052f\u0531-\u058f]\w{0,40}")


def fold(text: str) -> str:
    """Replace every lookalike by the Latin letter that it imitates."""
    return text if text.isascii() else text.translate(_FOLD)


_FLAG = "\U0001f3f4"
_TAGS = re.compile("[\U000e0001-\U000e007f]+")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SELECTORS = re.compile(f"{_SELECTOR.pattern}{{3,}}")
_BROKEN_WORD = re.compile("(?<=[A-Za-z0-9])[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z0-9])")
_RUN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{4,}")
_ESCAPE = re.compile("\x1b[\\[\\]P]")
_HIDDEN_CHARACTER_RULES = (
    (_TAGS, Severity.CRITICAL, "spells text in characters that only a model reads"),
    (_SELECTORS, Severity.CRITICAL, "spells text in characters that only a model reads"),
    (_RUN, Severity.CRITICAL, "spells text in characters without width"),
    (_DIRECTION, Severity.HIGH, "reverses the order of letters, so that people read another text"),
    (_BROKEN_WORD, Severity.HIGH, "breaks a word apart with characters that people do not see"),
    (_ESCAPE, Severity.MEDIUM, "carries commands for a terminal"),
)
_MIXED_WORDS_MAX = 3
"""Words with mixed alphabets that are reported of one segment; so many are no slip of the keyboard."""


class UnicodeCheck:
    """Control, bidirectional, zero-width and tag characters; mixed alphabets within a word."""

    name = "unicode"
    version = "2"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield characters that a person does not see, or reads as others, while a model reads them."""
        for segment in text_segments(content):
            if segment.is_block:
                continue
            yield from _hidden(segment)
            mixed = (m for m in _MIXED.finditer(segment.text) if len(m[0]) > 3 and fold(m[0]).isascii())
            found = list(islice(mixed, _MIXED_WORDS_MAX))
            severity = Severity.HIGH if len(found) == _MIXED_WORDS_MAX else Severity.MEDIUM
            for match in found:
                reason = "mixes letters of two alphabets in one word, so that it looks like another word"
                yield segment.finding("mixed_alphabets", severity, reason=reason, span=match.span())


def _hidden(segment: TextSegment) -> Iterator[Finding]:
    hidden = hidden_characters(segment.text.removeprefix("\ufeff"))
    if not hidden:
        return
    text, is_reported = segment.text, False
    for pattern, severity, reason in _HIDDEN_CHARACTER_RULES:
        for match in islice((m for m in pattern.finditer(text) if text[m.start() - 1 : m.start()] != _FLAG), 1):
            is_reported = True
            yield segment.finding("hidden_characters", severity, reason=reason, span=match.span())
    if not is_reported:
        at = next(i for i, c in enumerate(text) if unicodedata.name(c, f"U+{ord(c):04X}") in hidden)
        reason = f"contains characters that people do not see: {', '.join(sorted(hidden)[:3])}"
        yield segment.finding("hidden_characters", Severity.LOW, reason=reason, span=(at, at + 1))


_KINDS_MAX = 3
"""Kinds of secrets that one finding names."""


class SecretsCheck:
    """Keys, tokens and passwords in any text."""

    name = "secrets"
    version = "2"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the lines with what looks like a secret; the secret itself is never shown."""
        for segment in text_segments(content):
            if segment.start or not may_hold_secret(segment.text):
                continue
            at = 0
            found: list[Finding] = []
            for line in segment.text.splitlines(keepends=True):
                if len(line) < 2000 and may_hold_secret(line) and (result := redact(line)).found:
                    reason = f"contains what looks like a secret ({', '.join(sorted(set(result.found))[:_KINDS_MAX])})"
                    bare = Finding(
                        rule="secret_inside",
                        message=reason,
                        severity=Severity.LOW,
                        field=segment.field,
                        line=segment.line(segment.start + at),
                        start=segment.start + at,
                        end=segment.start + at + len(line.rstrip("\n")),
                        excerpt=result.text.strip()[:120],
                    )
                    found.append(bare)
                at += len(line)
            yield from found[:5]
