"""Find shell code in Markdown: fenced blocks, back-ticks, prompts, HTML, and commands within prose. In linear time.

Fences count in list items and quotes too, closed or not. Code in an unknown language counts as shell code, since an agent
might run it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from tacit.text.programs import WITH_SUBCOMMAND
from tacit.text.resource_uses.addresses import PROGRAMS

_CONTAINER = r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*){0,12}"
_FENCE = re.compile(rf"(?P<before>{_CONTAINER})(?P<mark>`{{3,}}|~{{3,}})(?P<info>[^\n]*)")
_LANGUAGE = re.compile(r"[ \t]*\{?[ \t]*\.?(?:language-)?([\w+#-]*)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_PROMPT = re.compile(
    rf"{_CONTAINER}(?:[\w.-]{{1,40}}@[\w.-]{{1,60}}[^\n$#]{{0,80}}[$#]|\$|%|PS [^\n>]{{0,80}}>)[ \t]+(?=[a-z./~])"
)
_TICKS = re.compile(r"`+|\n[ \t]*\n")
_ELEMENT = re.compile(r"<(/?)(?:pre|code|kbd|samp|tt)\b[^<>\n]{0,200}>", re.IGNORECASE)
_LEAD = re.compile(
    r"[ \t]*(?:-[ \t]+)?(?:(?:RUN|CMD|ENTRYPOINT)[ \t]+|(?:run|script|command|cmd):[ \t]+|[@!](?=[a-z]))|[ \t]*-[ \t]+"
)
"""Words before a command in build files."""
_MAX_LINE = 4_000
"""Characters of a line that are parsed together; a longer one is cut between words."""
_CONTINUED = re.compile(r"\\\n")
OTHER_LANGUAGES = frozenset(
    "python py python3 ipython pycon js javascript mjs cjs node ts typescript tsx jsx json jsonc json5 jsonl java "
    "kotlin kt swift go golang rust rs c h cpp c++ cc hpp cs csharp fsharp vb html htm css scss sass less xml svg "
    "sql plsql r rb ruby php perl pl lua scala haskell hs elixir ex erlang erl clojure clj dart julia jl matlab "
    "toml ini properties md markdown mdx mermaid graphql gql latex tex diff patch vue svelte astro proto protobuf "
    "hcl tf terraform nix solidity sol prisma regex csv tsv plantuml dot graphviz asm groovy objc objectivec "
    "objective-c zig nim ocaml ml lisp scheme racket jinja jinja2 handlebars hbs ejs liquid http rest abap apex "
    "cypher sparql glsl wgsl gdscript vba bicep rego cue jsonnet log tree ascii math bibtex".split()
)


class CodePiece(NamedTuple):
    """A piece of shell code, and its start in the text."""

    start: int
    code: str
    prompted: bool = False
    """Whether it follows a prompt, and so is certainly a command."""


class Forms(NamedTuple):
    """A text split into shell code and the rest."""

    shell: list[CodePiece]
    rest: list[tuple[int, int]]
    """Spans of prose or of code in another language, including text in back-ticks."""
    inline: bytearray
    """For each character whether it is in a piece of code within the rest."""


def forms_of(text: str) -> Forms:
    """Split a Markdown text."""
    shell, rest = _blocks(text)
    pieces = [piece for span in rest for find in (_ticked, _elements, _prompted) for piece in find(text, *span)]
    inline = bytearray(len(text))
    for piece in pieces:
        inline[piece.start : piece.start + len(piece.code)] = b"\1" * len(piece.code)
    return Forms([*shell, *pieces], rest, inline)


def _blocks(text: str) -> tuple[list[CodePiece], list[tuple[int, int]]]:
    """Return fenced shell blocks and the spans outside; an open fence extends to the end of its quote or the text."""
    blocks: list[tuple[int, int, bool]] = []
    mark, quoted, is_shell, since, at = "", False, False, 0, 0
    for line in text.split("\n"):
        end = at + len(line) + 1
        fence = _FENCE.match(line)
        closes = bool(fence and mark and fence["mark"].startswith(mark) and not fence["info"].strip())
        ended = bool(mark and quoted and not line.lstrip().startswith(">"))
        if mark and (closes or ended):
            blocks.append((since, at, is_shell))
            mark, since = "", end if closes else at
        if fence and not mark and not closes and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            blocks.append((since, at, False))
            mark, quoted, since = fence["mark"], ">" in fence["before"], end
            language = _LANGUAGE.match(fence["info"])
            is_shell = not language or language[1].lower() not in OTHER_LANGUAGES
        at = end
    blocks.append((since, len(text), bool(mark) and is_shell))
    shell = [CodePiece(start, text[start:end]) for start, end, is_code in blocks if is_code]
    return shell, [(start, end) for start, end, is_code in blocks if not is_code and start < end]


def _ticked(text: str, start: int, end: int) -> Iterator[CodePiece]:
    """Yield inline code between equal numbers of back-ticks, within one paragraph."""
    following: dict[str, re.Match[str]] = {}
    pairs: list[tuple[re.Match[str], re.Match[str] | None]] = []
    for run in reversed(list(_TICKS.finditer(text, start, end))):
        if run.group()[0] == "\n":
            following = {}
        else:
            pairs.append((run, following.get(run.group())))
            following[run.group()] = run
    after = start
    for run, closing in reversed(pairs):
        if closing and run.start() >= after:
            yield CodePiece(run.end(), text[run.end() : closing.start()].replace("\n", " "))
            after = closing.end()


def _elements(text: str, start: int, end: int) -> Iterator[CodePiece]:
    """Yield the content of HTML code elements, closed or not."""
    opened = -1
    for match in _ELEMENT.finditer(text, start, end):
        if opened >= 0 and match.start() > opened:
            yield CodePiece(opened, html.unescape(text[opened : match.start()]))
        opened = -1 if match[1] else match.end()
    if opened >= 0:
        yield CodePiece(opened, html.unescape(text[opened:end]))


def _prompted(text: str, start: int, end: int) -> Iterator[CodePiece]:
    at = start
    for line in text[start:end].split("\n"):
        if prompt := _PROMPT.match(line):
            yield CodePiece(at + prompt.end(), line[prompt.end() :], prompted=True)
        at += len(line) + 1


def lines_of(code: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of code with their start; continued lines are joined, and quote marks removed."""
    at = 0
    for line in _CONTINUED.sub("  ", code).split("\n"):
        skip = 0
        for mark in (_QUOTE, _PROMPT, _LEAD):
            skip = found.end() if (found := mark.match(line, skip)) else skip
        yield at + skip, line[skip:]
        at += len(line) + 1


def portions(line: str) -> Iterator[tuple[int, str]]:
    """Yield a line in parts of limited length with their start, cut between words if possible."""
    at = 0
    while len(line) - at > _MAX_LINE:
        cut = max(line.rfind(mark, at + _MAX_LINE // 2, at + _MAX_LINE) for mark in " ;|&")
        end = cut + 1 if cut >= 0 else at + _MAX_LINE
        yield at, line[at:end]
        at = end
    yield at, line[at:]


_WORD = re.compile(r"(?<![\w./$@~-])[a-z][\w+-]{0,30}(?:\.exe)?(?=[ \t]+[^\s]|[\"'.,;:!)\]]|[ \t]*$)", re.MULTILINE)
_COMMAND_INTRO = re.compile(
    r"\b(?:runs?|running|execut(?:e|es|ing)|exec|invok(?:e|es|ing)|issue|type|enter|launch|shell|bash|command|cmd|script|RUN|CMD)"
    r"(?:[ \t]+(?:this|the|following|command|with))*(?:[ \t]*[:=][ \t]*\|?|[ \t]+)[\"'\[@-]{0,3}[ \t]*\Z",
    re.IGNORECASE,
)
_COMMAND_INTRO_STRICT = re.compile(
    r"\b(?:run|running|execute|executing|exec|invoke)(?:[ \t]*:)?[ \t]+[\"'\[@-]{0,3}\Z", re.IGNORECASE
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]*(?:=\S*)?")
_STRONG = re.compile(
    r"\S*://\S+|(?:~|\.{1,2})?/[\w.~$-]\S*|\$[\w{(]\S*|@\S+|[|]{1,2}|&&|>{1,2}|<\(|[\w-]+(?:\.[\w-]+)+[/:]\S*"
)
_FILE = re.compile(r"[\w./-]+\.(?:py|js|mjs|ts|sh|bash|rb|pl|php|jar|lua)")
_INTERPRETERS = frozenset("python python3 node ruby perl php bash sh zsh deno bun java lua tsx ts-node source".split())
_ORDINARY = frozenset(
    "make go find open set host at install mail sort head tail cut split patch source test time history port net reg op screen "
    "kill touch convert diff ip id cat poetry just task export service next stack env just ping less more tap nest mix fly "
    "claude codex coverage black pest biome busted expo sam flask rails swift dart rake gem bundle defaults eval mount nose2 "
    "tree tr wc ps su dd ln ls cp mv rm".split()
)
"""Programs whose names are also English words: a flag must follow."""
_SHORT = frozenset("ps su dd ln ls cp mv rm cat".split())
"""Programs whose names are no English words: a path is enough."""
_VERBS = frozenset(
    "install add i ci get run exec push pull clone commit checkout build publish deploy apply delete create init start stop "
    "restart login logout remove uninstall update upgrade up down rm rmi reset rebase merge fetch stash tag destroy dlx x sync "
    "compose enable disable link unlink release".split()
)
_BREAKS = frozenset(
    "and then to in before after for if with from on the a an or is are as when so will must again first it this that your you "
    "which instead because once until at of by into against inside via".split()
)
"""Words that end a command within a sentence."""
_END = re.compile(
    r"[`\"]|'(?=[),;\]\s]|$)|[.!?:](?=[ \t]|$)|,(?=[ \t])|[ \t]\(|\)"
    rf"|[ \t](?:{'|'.join(sorted(_BREAKS))})(?=[ \t,.]|$)"
)
_STOP = frozenset(
    "it this that them all the a an and or any each every your my our its these those on in at by as if".split()
)
_ROW = re.compile(r"[ \t]*\|")
_MARKS = ".,;:!?)`\"'"
_LOOKED_AT = 400
_BEFORE = 48
_WORDS = 8
"""Characters around a word that may be a command, before it, and words after it: enough to tell a command from a sentence."""


def commands_in_prose(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield commands in unmarked prose, each with its start."""
    after = start
    for match in _WORD.finditer(text, start, end):
        if match.start() < after:
            continue
        name = match.group().removesuffix(".exe")
        is_known = name in PROGRAMS
        if not is_known and (name in _STOP or text[match.end() : match.end() + 1] not in " \t"):
            continue
        before = text[max(start, match.start() - _BEFORE) : match.start()]
        if not is_known and not _COMMAND_INTRO_STRICT.search(before):
            continue
        if _is_command(name, _next_words(text, match.start(), end), before=before, is_known=is_known):
            command = _command_text(text, match.start(), end)
            after = match.start() + len(command)
            yield match.start(), command


def _next_words(text: str, start: int, end: int) -> list[str]:
    """Return the words after the first that can belong to the same command."""
    line = text[start : min(end, start + _LOOKED_AT // 2)].partition("\n")[0]
    if _in_table(text, start):
        line = line.partition("|")[0]
    words: list[str] = []
    for word in line.split(None, _WORDS + 1)[1 : _WORDS + 1]:
        if word in _BREAKS:
            break
        words.append(word.rstrip(_MARKS) or word)
        if word[-1] in _MARKS:
            break
    return words


def _in_table(text: str, at: int) -> bool:
    """Whether this is in a table row, where a bar is no pipe."""
    begin = max(0, at - _LOOKED_AT)
    line = text.rfind("\n", begin, at) + 1
    return bool(line or not begin) and _ROW.match(text, line) is not None


def _command_text(text: str, start: int, end: int) -> str:
    """Return the words up to the end of the line, the sentence or the command."""
    line = text.find("\n", start, min(end, start + _LOOKED_AT))
    stop = line if line >= 0 else min(end, start + _LOOKED_AT)
    cut = _END.search(text, start, stop)
    command = text[start : cut.start() if cut else stop].rstrip(".,;:!?")
    return command.partition("|")[0] if _in_table(text, start) else command


def _is_command(name: str, words: list[str], *, before: str, is_known: bool) -> bool:
    flagged = any(map(_FLAG.fullmatch, words))
    strong = flagged or any(map(_STRONG.fullmatch, words))
    if not is_known:
        return strong
    if name in _ORDINARY:
        return flagged or (name in _SHORT and strong)
    if strong or _COMMAND_INTRO.search(before):
        return True
    if not words:
        return False
    alone = not before.rpartition("\n")[2].strip(" \t>-*+$%#")
    subcommand = name in WITH_SUBCOMMAND and words[0] in _VERBS
    is_short = len(words) <= 2 and all(word.isascii() and word.islower() for word in words)
    return subcommand or (name in _INTERPRETERS and bool(_FILE.fullmatch(words[0]))) or (alone and is_short)
