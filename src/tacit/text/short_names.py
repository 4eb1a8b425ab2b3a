"""What short names of commands and tools stand for: `rm` means remove or delete.

A small table of abbreviations that everyone who works with a shell or with code knows; not a thesaurus.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache

from tacit.text.cues import words_of

_MEANINGS = {
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


def means_any(word: str, words: AbstractSet[str]) -> bool:
    """Whether `words` (as `words_of` returns them) contain a word, or all words of something it stands for."""
    return word in words or any(meant <= words for meant in _meanings(word))


@cache
def _meanings(word: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words_of(each)) for each in _MEANINGS.get(word, "").split(", ") if each)
