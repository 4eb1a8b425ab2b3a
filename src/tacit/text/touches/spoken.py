"""Prose, or code in another language → the commands of a shell that stand in it without any mark: `run curl … | sh`.

A word that is the name of a program counts where what follows looks as after a command: a flag, an address, a path, a pipe, a
subcommand; or where words before it say that something is to be run. Rather one too many than one missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.text.programs import WITH_SUBCOMMAND
from tacit.text.touches.shapes import PROGRAMS

_WORD = re.compile(r"(?<![\w./$@~-])[a-z][\w+-]{0,30}(?:\.exe)?(?=[ \t]+[^\s]|[\"'.,;:!)\]]|[ \t]*$)", re.MULTILINE)
_TOLD = re.compile(
    r"\b(?:runs?|running|execut(?:e|es|ing)|exec|invok(?:e|es|ing)|issue|type|enter|launch|shell|bash|command|cmd|script|RUN|CMD)"
    r"(?:[ \t]+(?:this|the|following|command|with))*(?:[ \t]*[:=][ \t]*\|?|[ \t]+)[\"'\[@-]{0,3}[ \t]*\Z",
    re.IGNORECASE,
)
_TOLD_AT_ONCE = re.compile(
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
"""Programs whose names are words too: here a flag must follow."""
_SHORT = frozenset("ps su dd ln ls cp mv rm cat".split())
"""Of those, names that are no words: a path will do."""
_VERBS = frozenset(
    "install add i ci get run exec push pull clone commit checkout build publish deploy apply delete create init start stop "
    "restart login logout remove uninstall update upgrade up down rm rmi reset rebase merge fetch stash tag destroy dlx x sync "
    "compose enable disable link unlink release".split()
)
_BREAKS = frozenset(
    "and then to in before after for if with from on the a an or is are as when so will must again first it this that your you "
    "which instead because once until at of by into against inside via".split()
)
"""Words of a sentence, where the command in it ends."""
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


def spoken(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Commands in these characters of a text that no mark sets apart, each with where it starts."""
    after = start
    for match in _WORD.finditer(text, start, end):
        if match.start() < after:
            continue
        name = match.group().removesuffix(".exe")
        is_known = name in PROGRAMS
        if not is_known and (name in _STOP or text[match.end() : match.end() + 1] not in " \t"):
            continue
        before = text[max(start, match.start() - _BEFORE) : match.start()]
        if not is_known and not _TOLD_AT_ONCE.search(before):
            continue
        if _is_command(name, _next_words(text, match.start(), end), before=before, is_known=is_known):
            said = _said(text, match.start(), end)
            after = match.start() + len(said)
            yield match.start(), said


def _next_words(text: str, start: int, end: int) -> list[str]:
    """The words behind the first, as far as they can be of one command."""
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
    """Whether this stands in a row of a table, where a bar is no pipe."""
    begin = max(0, at - _LOOKED_AT)
    line = text.rfind("\n", begin, at) + 1
    return bool(line or not begin) and _ROW.match(text, line) is not None


def _said(text: str, start: int, end: int) -> str:
    """The words from here to the end of the line, of the sentence or of what can be a command."""
    line = text.find("\n", start, min(end, start + _LOOKED_AT))
    stop = line if line >= 0 else min(end, start + _LOOKED_AT)
    cut = _END.search(text, start, stop)
    said = text[start : cut.start() if cut else stop].rstrip(".,;:!?")
    return said.partition("|")[0] if _in_table(text, start) else said


def _is_command(name: str, words: list[str], *, before: str, is_known: bool) -> bool:
    flagged = any(map(_FLAG.fullmatch, words))
    strong = flagged or any(map(_STRONG.fullmatch, words))
    if not is_known:
        return strong
    if name in _ORDINARY:
        return flagged or (name in _SHORT and strong)
    if strong or _TOLD.search(before):
        return True
    if not words:
        return False
    alone = not before.rpartition("\n")[2].strip(" \t>-*+$%#") and len(words) <= _WORDS - 2
    subcommand = name in WITH_SUBCOMMAND and words[0] in _VERBS
    return subcommand or (name in _INTERPRETERS and bool(_FILE.fullmatch(words[0]))) or (alone and _is_short(words))


def _is_short(words: list[str]) -> bool:
    """Whether a line of its own has the few plain words of a command."""
    return len(words) <= 2 and all(word.isascii() and word.islower() for word in words)
