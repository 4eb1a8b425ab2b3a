"""The working directory of each command in a line: follows `cd`, `pushd`, subshells and flags such as `-C`, `--prefix`.

Works on paths as text, without looking at the disk.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from tacit.text.programs import FOLDER_FLAGS

_LONGEST = 4096
_STANDS_ALONE = re.compile(r"[/~$]|[A-Za-z]:[\\/]")


def inside(directory: str, path: str) -> str:
    """Return a path relative to the start of the line: `../b` in `a` is `b`; an absolute path stays."""
    if not directory or len(directory) > _LONGEST or _STANDS_ALONE.match(path):
        return path
    return posixpath.normpath(f"{directory}/{path}")


def folders_named(programs: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Yield the folders in a command's flags: `-C web`, `--prefix=web`."""
    flags = frozenset[str]().union(*(FOLDER_FLAGS.get(program, ()) for program in programs))
    for word, following in zip(words, [*words[1:], ""], strict=True) if flags else ():
        name, given, behind = word.partition("=")
        value = behind if given else following
        if name in flags and value:
            yield value


class WorkingDirectory:
    """The current directory of a line: changed by `cd` and `pushd`, restored by `popd` and the end of a subshell."""

    def __init__(self) -> None:
        self.directory = ""
        self._pushed: list[str] = []
        self._around: list[str] = []

    def enter(self, segment: str) -> None:
        """Enter the subshells that begin with this part of the line."""
        opened = re.match(r"[\s({]*", segment)
        self._around.extend([self.directory] * (opened.group().count("(") if opened else 0))

    def leave(self, segment: str) -> None:
        """Leave the subshells that end with it."""
        closed = segment.count(")") - len(re.findall(r"(?<=[^\s({])\(", segment))
        for _ in range(min(closed, len(self._around))):
            self.directory = self._around.pop()

    def follow(self, program: str, operands: Sequence[str]) -> None:
        """Apply the directory change of a command."""
        if program == "popd":
            self.directory = self._pushed.pop() if self._pushed else ""
        elif program.casefold() in ("cd", "pushd", "chdir", "set-location"):
            if program == "pushd":
                self._pushed.append(self.directory)
            target = operands[0] if operands else "~"
            self.directory = "" if target == "-" else inside(self.directory, target)
