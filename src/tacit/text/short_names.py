"""Short names of commands and short words in names of tools → what people say for them. A small table, and no thesaurus.

Nobody asks to "rm the draft": what such a command does is said in other words than its name. Only what is short for something
and known to everybody who works with a shell or with code stands here.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache

from tacit.text.cues import words_of

_SAID = {
    "auth": "authenticate",
    "calc": "calculate",
    "cat": "contents, concatenate",
    "cd": "change directory, change folder, go directory, go folder",
    "cfg": "configuration, configure",
    "chmod": "permissions",
    "chown": "owner",
    "cmp": "compare",
    "cp": "copy, duplicate",
    "del": "delete",
    "df": "disk space",
    "diff": "difference, compare",
    "dir": "directory, folder",
    "du": "disk usage, size",
    "grep": "search, pattern",
    "img": "image",
    "info": "information",
    "ln": "link",
    "ls": "list",
    "mkdir": "make directory, make folder, create directory, create folder, new directory, new folder",
    "msg": "message",
    "mv": "move, rename",
    "ps": "processes",
    "pwd": "current directory, current folder, working directory",
    "rm": "remove, delete",
    "rmdir": "remove directory, remove folder, delete directory, delete folder",
    "wc": "count",
}


def says(word: str, said: AbstractSet[str]) -> bool:
    """Whether words (as `words_of` gives them) hold a word of a name, or all words of something that it is short for."""
    return word in said or any(meant <= said for meant in _meant(word))


@cache
def _meant(word: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words_of(each)) for each in _SAID.get(word, "").split(", ") if each)
