"""Decode text that a skill hides, with the position where it was hidden. Runs nothing.

Undoes base64, hex, character codes, percent and backslash escapes, rot13, reversed text, compressed data, text built from
parts, and letters of other alphabets. Two levels deep, bounded in size and number.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from urllib.parse import unquote

from tacit.domain.skill import SkillContent
from tacit.features.scan.python_flow import SUSPECT, built_texts, parsed, span_of
from tacit.gate.checks.safety import fold
from tacit.gate.checks.text_segments import TEXT_MAX, DecodedRange, TextSegment, text_segments

VIEWS_MAX = 2000
"""Decoded texts of one segment; more than that is data."""
DECODED_MAX = 1 << 18
_DEPTH = 2

Range = tuple[int, int]
Hidden = tuple[Range, str, str]
"""Position, text, and how it was hidden."""

_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{20,200000}={0,2}(?![\w+/=])")
_SPLIT_BASE64 = re.compile(
    r"(?:^[ \t]*[\"'`#]{0,3} ?[A-Za-z0-9+/]{40,120}={0,2}[\"'`,\\+ \t]{0,6}$\n?){2,2000}", re.MULTILINE
)
_HEX = re.compile(r"(?<![\w])(?:[0-9a-fA-F]{2}){12,100000}(?![\w])")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\}|\\[0-3][0-7]{2}){4,20000}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}[\w./:-]{0,3}){6,20000}")
_ENTITIES = re.compile(r"(?:&#x?[0-9a-fA-F]{2,5};){4,5000}")
_NUMBERS = re.compile(
    r"(?:\b(?:0x[0-9a-fA-F]{2}|\d{2,3})[ \t\n]{0,8},[ \t\n]{0,8}){6,20000}(?:0x[0-9a-fA-F]{2}|\d{2,3})\b"
)
_CHR = re.compile(
    r"(?:(?:chr|String\.fromCharCode|\[char\])[ ]?\(?[ ]?(?:0x[0-9a-fA-F]{2}|\d{2,3})[ ]?\)?[ \t]{0,4}[+.,&]?[ \t\n\\]{0,8}){4,5000}"
)
_LITERAL = re.compile(r"\"([^\"\\\n]{6,4000})\"|'([^'\\\n]{6,4000})'|`([^`\\\n]{6,4000})`")
_LINE = re.compile(r"^[^\n]{12,2000}$", re.MULTILINE)
_JOINT = re.compile(r"([\"'`])[ \t]{0,8}(?:\+|\.\.?|&)[ \t\n\\]{0,8}\1")
_BROKEN_WORD = re.compile(
    r"(?<=[A-Za-z/])(?:''|\"\"|\\(?=[A-Za-z])|`(?=[A-Za-z])|\^(?=[A-Za-z])|\$@|\$\*)(?=[A-Za-z/])"
)
_SPACES = re.compile(r"\$\{?IFS\}?(?:\$\d)?|\{(?=(?:curl|wget|bash|sh|cat|nc|echo),)")
_ASSIGNED = re.compile(
    r"(?:^|[;&\s])(?:export |local |set |\$|const |let |var )?([A-Za-z_]\w{0,30})[ ]?=[ ]?([\"']?)([^\s\"';&|()$]{1,80})\2(?=[;&\s]|$)",
    re.MULTILINE,
)
_USED = re.compile(r"\$\{?([A-Za-z_]\w{0,30})\}?")
_GLUED = re.compile(r"(?:\$\{?[A-Za-z_]\w{0,30}\}?){2,12}|\b[A-Za-z]{0,8}\$\{[A-Za-z_]\w{0,30}\}[A-Za-z]{0,8}")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]{3,}")


def decoded(segment: TextSegment) -> Iterator[TextSegment]:
    """Yield the texts hidden in a segment, one view per encoding; then those hidden in these."""
    level = [segment]
    for _ in range(_DEPTH):
        level = [view for outer in level for view in _views(outer)]
        yield from level


def _views(outer: TextSegment) -> Iterator[TextSegment]:
    found: dict[str, list[tuple[Range, str]]] = {}
    for span, text, encoding in islice(_hidden(outer), VIEWS_MAX):
        found.setdefault(encoding, []).append((span, text))
    for encoding, parts in found.items():
        language = outer.language if encoding in _SAME_LANGUAGE else "text"
        yield view(
            outer, parts, encoding=f"{outer.encoding}, {encoding}" if outer.encoding else encoding, language=language
        )


def view(outer: TextSegment, parts: Iterable[tuple[Range, str]], *, encoding: str, language: str) -> TextSegment:
    """Return one segment for several decoded texts, each with its position."""
    at = 0
    texts: list[str] = []
    decoded_ranges: list[DecodedRange] = []
    for span, text in parts:
        texts.append(text[:DECODED_MAX])
        decoded_ranges.append(DecodedRange(at, *outer.place(span)))
        at += len(texts[-1]) + 1
        if at > TEXT_MAX:
            break
    return replace(
        outer, text="\n".join(texts), decoded_ranges=tuple(decoded_ranges), encoding=encoding, language=language
    )


_SAME_LANGUAGE = frozenset({"split words", "foreign letters", "split text", "variables"})


def _hidden(segment: TextSegment) -> Iterator[Hidden]:
    text = segment.text
    for mark, pattern, encoding, decode in _DECODERS:
        if mark not in text:
            continue
        for match in pattern.finditer(text):
            if _in_picture(text, match.start()):
                continue
            plain = decode(match[0])
            if plain and len(plain) >= 4:
                yield match.span(), plain, encoding
    yield from _turned(text)
    yield from _rejoined(segment)


def _rejoined(segment: TextSegment) -> Iterator[Hidden]:
    """Yield lines with split words joined, line by line, so that a finding keeps its line."""
    folded = (
        fold(unicodedata.normalize("NFKC", _INVISIBLE.sub("", segment.text)))
        if not segment.text.isascii()
        else segment.text
    )
    for encoding, pattern in (("foreign letters", None), ("split text", _JOINT), ("split words", _BROKEN_WORD)):
        repaired = folded if pattern is None else pattern.sub("", folded)
        if encoding == "split words":
            repaired = _SPACES.sub(" ", repaired)
        if repaired != (segment.text if pattern is None else folded):
            yield from _changed_lines(segment.text if pattern is None else folded, repaired, encoding=encoding)
    if segment.language in ("shell", "powershell", "text") or segment.encoding:
        yield from _with_values(folded)


def _changed_lines(before: str, after: str, *, encoding: str) -> Iterator[Hidden]:
    old, new = before.split("\n"), after.split("\n")
    if len(old) != len(new):  # a join crossed the end of a line
        yield (0, len(before)), after, encoding
        return
    at = 0
    for was, now in zip(old, new, strict=True):
        if was != now and len(now) >= 4:
            yield (at, at + len(was)), now, encoding
        at += len(was) + 1


def _with_values(text: str) -> Iterator[Hidden]:
    """Yield lines that join variables to words, with the values filled in."""
    values = {match[1]: match[3] for match in _ASSIGNED.finditer(text)}
    if not values:
        return
    at = 0
    for line in text.split("\n"):
        if len(line) < 4000 and "$" in line and _GLUED.search(line):
            replaced = _USED.sub(lambda match: values.get(match[1], match[0]), line)
            if replaced != line:
                yield (at, at + len(line)), replaced, "variables"
        at += len(line) + 1


def _turned(text: str) -> Iterator[Hidden]:
    """Yield literals reversed or in rot13, where the text mentions such an encoding."""
    lowered = text.lower()
    backwards = any(word in lowered for word in ("[::-1]", "reverse", "| rev", "|rev", "strrev"))
    rot13 = any(word in lowered for word in ("rot13", "rot_13", "rot-13", "a-za-z' 'n-za-m", "n-za-mn-za-m"))
    if not backwards and not rot13:
        return
    if rot13:
        for match in _LINE.finditer(text):
            yield match.span(), codecs.decode(match[0], "rot13"), "rot13"
    for match in _LITERAL.finditer(text):
        literal = match[1] or match[2] or match[3]
        if backwards:
            yield match.span(), literal[::-1], "reversed text"
        if rot13:
            yield match.span(), codecs.decode(literal, "rot13"), "rot13"


def _in_picture(text: str, at: int) -> bool:
    """Whether encoded data belongs to an image, font or sound."""
    before = text[max(0, at - 60) : at].lower()
    return "data:image" in before or "data:font" in before or "data:application/font" in before or "sha" in before[-14:]


def readable(data: bytes) -> str:
    """Return data as text, decompressed first if needed; empty if it is not text."""
    for unpack in (None, zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        plain = data
        if unpack is not None:
            if unpack < 0 and len(data) < 24:
                continue
            try:
                plain = zlib.decompressobj(unpack).decompress(data, DECODED_MAX)
            except zlib.error:
                continue
        for encoding in ("utf-8", "utf-16-le"):
            try:
                text = plain.decode(encoding)
            except UnicodeDecodeError:
                continue
            if _is_text(text):
                return text
    return ""


def _is_text(text: str) -> bool:
    head = text[:2000]
    plain = sum(c.isascii() and (c.isprintable() or c in "\n\t\r") for c in head)
    return len(head) >= 4 and plain >= 0.95 * len(head)


def _from_base64(found: str) -> str:
    bare = re.sub(r"[^A-Za-z0-9+/_-]", "", found).translate(str.maketrans("-_", "+/"))
    if bare.isdigit() or not _is_mixed(bare):
        return ""
    for cut in range(4):  # the data was cut or has something in front
        segment = bare[: len(bare) - cut]
        if len(segment) % 4 == 1:
            continue
        try:
            return readable(base64.b64decode(segment + "=" * (-len(segment) % 4)))
        except binascii.Error:
            return ""
    return ""


def _is_mixed(blob: str) -> bool:
    """Whether it looks like base64, not like a word, path or number."""
    return any(c.islower() for c in blob) and any(c.isupper() for c in blob)


def _from_hex(found: str) -> str:
    try:
        return readable(bytes.fromhex(found))
    except ValueError:
        return ""


def _from_numbers(found: str) -> str:
    numbers = [int(n, 16) if n.startswith("0x") else int(n) for n in re.findall(r"0x[0-9a-fA-F]{2}|\d{2,3}", found)]
    return readable(bytes(numbers)) if numbers and max(numbers) < 256 else ""


def _from_escapes(found: str) -> str:
    spelt = re.findall(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-3][0-7]{2}))", found)
    codes = [int(x or u or b, 16) if x or u or b else int(o, 8) for x, u, b, o in spelt]
    return "".join(chr(code) for code in codes if code < 0x110000 and not 0xD800 <= code < 0xE000)


def _from_entities(found: str) -> str:
    codes = re.findall(r"&#(?:x([0-9a-fA-F]{2,5})|(\d{2,5}));", found)
    return "".join(chr(int(x, 16) if x else int(d)) for x, d in codes if not x or not 0xD800 <= int(x, 16) < 0xE000)


def _from_tags(found: str) -> str:
    return "".join(chr(ord(c) - 0xE0000) for c in found)


_DECODERS: tuple[tuple[str, re.Pattern[str], str, Callable[[str], str]], ...] = (
    ("", _BASE64, "base64", _from_base64),
    ("", _SPLIT_BASE64, "base64", _from_base64),
    ("", _HEX, "hex", _from_hex),
    ("\\", _ESCAPES, "escapes", _from_escapes),
    ("%", _PERCENT, "percent signs", unquote),
    ("&#", _ENTITIES, "entities", _from_entities),
    (",", _NUMBERS, "character codes", _from_numbers),
    ("ch", _CHR, "character codes", _from_numbers),
    ("", _TAGS, "tag characters", _from_tags),
)


_last: tuple[SkillContent, tuple[TextSegment, ...]] | None = None


def all_segments(content: SkillContent) -> tuple[TextSegment, ...]:
    """Return every segment of a content and every text that is hidden in one."""
    return (*text_segments(content), *hidden_segments(content))


def hidden_segments(content: SkillContent) -> tuple[TextSegment, ...]:
    """Return the texts that a content hides by encoding them or by building them in Python."""
    global _last  # noqa: PLW0603 - several checks examine the same content in turn
    last = _last  # read once: another thread may replace it at any time
    if last is None or last[0] is not content:
        own = text_segments(content)
        views = (each for segment in own if not _is_block(segment) for each in decoded(segment))
        built = _built([segment for segment in own if segment.language == "python"])
        last = _last = (content, (*views, *built))
    return last[1]


def _built(scripts: list[TextSegment]) -> Iterator[TextSegment]:
    """Yield the texts that Python scripts build, also from each other's constants, and what those hide."""
    if not any(SUSPECT.search(segment.text) for segment in scripts):
        return
    modules = [module for segment in scripts if (module := parsed(segment))]
    named = {PurePosixPath(module.segment.path).stem: module.values for module in modules if module.segment.path}
    for module in modules:
        module.values.others = named
        texts = built_texts(module.tree, module.values)
        if parts := [(span_of(module.segment.text, node), text) for node, text in texts]:
            built = view(module.segment, parts, encoding="text put together", language="text")
            yield built
            yield from decoded(built)


def _is_block(segment: TextSegment) -> bool:
    """Whether it is a code block whose hidden texts are found in the surrounding text anyway."""
    return segment.start > 0 and segment.language not in ("shell", "powershell")
