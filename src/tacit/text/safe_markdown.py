r"""Make text of unknown origin safe to show: inside a Tacit block, and in a Markdown viewer. In linear time.

`clean` removes characters that people cannot see but models read, and escapes everything that looks like a delimiter of our
blocks, also in other scripts. `context_frame` puts blocks into an outer one with a random number, so no content can end it.

`inert` disables what a Markdown viewer would fetch or run by itself, such as a remote image, whose address could carry data
away: images by one backslash (``!\[``), tags by ``&lt;``, links that run code by ``]\(``. Ordinary links, local images, code
spans and code blocks stay as they are.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from bisect import bisect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BRACKETS = re.compile("[<＜﹤‹〈⟨《⟪≺˂ᐸ❮❰]")
_FILLERS = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufff9\ufffa\ufffb")
_JOINERS = frozenset("\u200c\u200d")
_EMOJI_STYLE = "\ufe0f"
_LOOKAHEAD = 48
_LOOKALIKES = {
    ord(like): letter
    for letter, likes in (
        ("t", "\u03c4\u0442\u1d1b"),
        ("a", "\u0430\u0251\u03b1"),
        ("c", "\u0441\u1d04"),
        ("i", "\u0131\u0456\u03b9\u0269\u026a"),
    )
    for like in likes
}
"""Letters of other scripts that look like those of the block's name."""
_NAME = "tacit"


def clean(text: str) -> str:
    """Return a text without invisible characters and block delimiters."""
    text = _LINE_ENDS.sub("\n", text)
    # In most texts all characters are visible and independent of their neighbours.
    if not _is_plain(text.replace("\n", "").replace("\t", "")) and any(
        c not in "\n\t" and (c in _JOINERS or c == _EMOJI_STYLE or not _is_seen(c, "", "")) for c in set(text)
    ):
        text = "".join(
            c for i, c in enumerate(text) if c in "\n\t" or _is_seen(c, text[i - 1 : i], text[i + 1 : i + 2])
        )
    return _escape(text).strip("\n")


def one_line(text: str) -> str:
    """Return the cleaned text on one line."""
    return " ".join(clean(text).split())


def attribute(text: str) -> str:
    """Return the cleaned text for use between double quotes."""
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def written_json(value: Any) -> str:
    """Return a value as one line of JSON; characters that are not allowed in a block are JSON escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if not _is_plain(text):
        text = "".join(
            c if _is_seen(c, text[i - 1 : i], text[i + 1 : i + 2]) and not _LINE_ENDS.match(c) else json.dumps(c)[1:-1]
            for i, c in enumerate(text)
        )
    return _escape(text, as_json=True)


def _is_plain(text: str) -> bool:
    """Whether a text is plain ASCII without markup, so that nothing needs to be checked."""
    return text.isascii() and text.isprintable()


def _is_seen(character: str, before: str, after: str) -> bool:
    if character in _JOINERS or character == _EMOJI_STYLE:
        # Joiners and the emoji style shape words and emoji; alone, doubled or next to ASCII they only carry hidden bits.
        shapes = bool(before) and not before.isascii() and before not in _JOINERS and before != _EMOJI_STYLE
        return shapes and (character == _EMOJI_STYLE or (bool(after) and not after.isascii()))
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return False
    return (
        character not in _FILLERS
        and not 0xFE00 <= ord(character) <= 0xFE0E
        and not 0xE0100 <= ord(character) <= 0xE01EF
    )


def _escape(text: str, *, as_json: bool = False) -> str:
    def replace(match: re.Match[str]) -> str:
        following = unicodedata.normalize("NFKC", text[match.end() : match.end() + _LOOKAHEAD]).casefold()
        letters = "".join(c for c in following if c.isalnum()).translate(_LOOKALIKES)
        if not letters.startswith(_NAME):
            return match.group()
        return f"\\u{ord(match.group()):04x}" if as_json else "&lt;"

    return _BRACKETS.sub(replace, text)


_TAG = re.compile(
    r"<(?=[/!?]?(?:img|image|picture|source|video|audio|track|iframe|frame|frameset|object|embed|applet|portal|script|"
    r"link|style|meta|base|form|input|button|svg|math|body|html|head|bgsound)(?![\w-])"
    r"|[a-z][^<>]{0,1000}(?:[\s/\"']on[a-z]{1,20}\s*=|url\s*\(|script\s*:|[\s/\"'](?:src|srcset|poster|background|data)\s*=)"
    r"|(?:javascript|vbscript|data|command):)",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"^([ \t]*)<(?=[/!?a-z])", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_BULLETS = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+")
_CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_UNSURE = re.compile(r"\\`|\][(\[:][^)\]\s]*`")
_LOCAL_IMAGE = re.compile(r"!\[[^\[\]\\`<]{0,300}\]\((?!//)[\w./%#-]{1,300}\)")
_LINK = re.compile(r"\](?:[ \t]{0,3}:|\()")
_LOCAL = re.compile(r"(?!//)[\w./%#-]{1,300}[ \t)]")
_ADDRESS = re.compile(
    r"(?<![`\w:/])(?:https?:)?//[^\s`<>()\[\]\"'?#]{1,500}[?#][^\s`()\[\]\"']{0,1000}(?:\[[^\s`()\[\]]{0,100}\](?![(\[:]))?",
    re.IGNORECASE,
)
_BLANK = re.compile(r"[{\[<$]|%[sdv]\b")
_SIGNS = ("![", "](", "]:", "<", "//")
_RUNNING = ("javascript:", "vbscript:", "data:", "command:")
_RUNNING_STARTS = frozenset("jvdcJVDC&\\< \t\n")
_TARGET_REACH = 120
_SPANS_MAX = 400


def shown(text: str) -> str:
    """Return a text that is safe in a block and in a viewer."""
    return inert(clean(text))


def shown_line(text: str) -> str:
    """Return the same on one line."""
    return inert_line(one_line(text))


def shown_json(value: object) -> str:
    """Return a value as one line of JSON that is safe in a block and in a viewer."""
    return inert_json(written_json(value))


def inert(text: str) -> str:
    """Disable what a viewer would fetch or run in a Markdown text; other text comes back unchanged."""
    if not any(sign in text for sign in (*_SIGNS, "```", "~~~")):
        return text
    parts, mark = _parts(text.split("\n"))
    named = re.search(r"\][ \t]{0,3}:", text) is not None
    # Raw markup disables code marks after it, so code with active content is treated as text.
    raw = not any(code and ("![" in line or _TAG.search(line)) for code, lines in parts for line in lines)
    done = [line for code, lines in parts for line in (lines if code else _calmed(lines, named=named, raw=raw))]
    # An open code block would swallow whatever follows this text.
    return "\n".join([*done, mark] if mark else done)


def inert_line(line: str) -> str:
    """Do the same for a single line, which cannot open a code block."""
    fence = _FENCE.fullmatch(line)
    calm = "\n".join(_calmed([line], named=True, raw=True))
    return calm[: fence.start("mark")] + "\\" + calm[fence.start("mark") :] if fence else calm


def inert_json(text: str) -> str:
    """Do the same for JSON text, which stays equal JSON."""
    return _TAG.sub(r"\\u003c", text.replace("![", "!\\u005b")) if "![" in text or "<" in text else text


def chapters(text: str) -> list[str]:
    """Split a text before headings of the first three levels, never within a code block."""
    found: list[list[str]] = [[]]
    for is_code, lines in _parts(text.split("\n"))[0]:
        for line in lines:
            if not is_code and line.startswith(("# ", "## ", "### ")):
                found.append([])
            found[-1].append(line)
    return [chapter for lines in found if (chapter := "\n".join(lines)).strip()]


def _parts(lines: list[str]) -> tuple[list[tuple[bool, list[str]]], str]:
    """Return code blocks and paragraphs (whether it is code, and its lines), and the fence of an open block."""
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    mark, depth, indent, item = "", 0, 0, 0
    sure = True
    for line in lines:
        if mark and _is_outside(line, depth, indent):  # the container ended, and so does the block
            parts.append((False, []))
            mark = ""
            sure = sure and indent != item  # the list may have ended before it: from here on nothing counts as code
        fence = _FENCE.fullmatch(line)
        if mark:
            parts[-1][1].append(line)
            if fence and fence["mark"].startswith(mark) and not fence["info"].strip():
                parts.append((False, []))
                mark = ""
            continue
        own = _BULLETS.match(line)
        if fence and "`" not in fence["info"]:
            parts.append((sure, [line]))
            before = line[: fence.start("mark")]
            bullets, width = _BULLETS.match(before), len(before.expandtabs(4))
            mark, depth = fence["mark"], before.count(">")  # the quotes around it, and the indentation of its list item
            indent = len(bullets.group().expandtabs(4)) if bullets else item if 0 < item <= width else 0
        elif line.strip():
            parts[-1][1].append(line)
        else:
            parts += [(False, [line]), (False, [])]
        item = len(own.group().expandtabs(4)) if own else item
    return parts, mark


def _is_outside(line: str, depth: int, indent: int) -> bool:
    """Whether a line has left the quotes or list item of a code block; True in doubt."""
    if depth and line[: len(line) - len(line.lstrip(" \t>"))].count(">") < depth:
        return True
    return bool(indent and line.strip() and len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" >")) < indent)


def _calmed(lines: list[str], *, named: bool, raw: bool) -> list[str]:
    """Return the lines of one paragraph, disabled; `named`: the text has reference definitions for links."""
    if not any(sign in line for line in lines for sign in _SIGNS):
        return lines
    # the last line with a link whose target may be anything but a relative path
    away = [any(not _LOCAL.match(line, link.end()) for link in _LINK.finditer(line)) for line in lines]
    last = max((at for at, leads_away in enumerate(away) if leads_away), default=-1)
    lines = _without_tags(lines)
    spans = _spans(lines)
    calm = []
    for at, line in enumerate(lines):
        pieces: list[str] = []
        end = 0
        for start, stop in spans[at]:
            pieces += (_calm(line[end:start], images=named or at <= last), line[start:stop])
            end = stop
        pieces.append(_calm(line[end:], images=named or at <= last))
        calm.append("".join(pieces) if raw else _MARKUP.sub(r"\1&lt;", "".join(pieces)))
    return calm


def _without_tags(lines: list[str]) -> list[str]:
    """Disable tags that fetch or run; a tag may span several lines."""
    if not any("<" in line for line in lines):
        return lines
    text = "\n".join(lines)
    starts, code, at = [], [], 0
    for line, spans in zip(lines, _spans(lines), strict=True):
        code += [(at + start, at + stop) for start, stop in spans]
        at += len(line) + 1
    for tag in _TAG.finditer(text):
        before = bisect(code, (tag.start(), len(text))) - 1
        if before < 0 or tag.start() >= code[before][1]:
            starts.append(tag.start())
    pieces = [text[start:stop] for start, stop in itertools.pairwise([0, *starts, len(text)])]
    return "".join([pieces[0], *("&lt;" + piece[1:] for piece in pieces[1:])]).split("\n")


def _spans(lines: list[str]) -> list[list[tuple[int, int]]]:
    """Return the code spans of a paragraph; none if a viewer might parse it differently."""
    spans = [_code_spans(line) for line in lines]
    known = [found for found in spans if found is not None]
    return known if len(known) == len(spans) else [[] for _ in lines]


def _code_spans(line: str) -> list[tuple[int, int]] | None:
    """Return the code spans of a line; None if unpaired marks might pair across lines."""
    if "`" not in line:
        return []
    if line.count("`") > _SPANS_MAX or _UNSURE.search(line):
        return None
    spans = [match.span() for match in _CODE.finditer(line)]
    rest = _CODE.sub("", line)
    return None if "`" in rest or re.search(r"<[a-zA-Z/!?]", rest) else spans


def _calm(text: str, *, images: bool) -> str:
    if images and "![" in text:
        pieces: list[str] = []
        end = 0
        for local in _LOCAL_IMAGE.finditer(text):
            pieces += (text[end : local.start()].replace("![", "!\\["), local.group())
            end = local.end()
        text = "".join((*pieces, text[end:].replace("![", "!\\[")))
    text = _LINK.sub(lambda link: _without_effect(link, text), text)
    return _ADDRESS.sub(lambda found: f"`{found[0]}`" if _BLANK.search(found[0]) else found[0], text)


def _without_effect(link: re.Match[str], text: str) -> str:
    """Return the start of a link's target, disabled if the target runs code."""
    if text[link.end() : link.end() + 1] not in _RUNNING_STARTS:
        return link.group()
    import html  # large tables, rarely needed

    target = html.unescape(text[link.end() : link.end() + _TARGET_REACH].replace("\\", ""))
    bare = "".join(c for c in target if c > " " and c != "<").casefold()
    return f"]\\{link.group()[-1]}" if bare.startswith(_RUNNING) else link.group()
