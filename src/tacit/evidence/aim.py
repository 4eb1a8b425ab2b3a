"""Check → does it look at the work, or was it pointed elsewhere, at nothing, or at what nobody can read?

Reads the words of commands and the variables that are set before them. What looks at a part of the work is not meant
here (see `proof.narrowed` and `whole_runs`): a part may have been all there was to look at.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tacit.text.folders import inside
from tacit.text.programs import MEDDLING
from tacit.text.shell import Command, is_check, nested_script, parse_command

_MAKES = frozenset("make gmake just task ninja rake".split())
_SETTING = re.compile(r"(?!(?:V|VERBOSE|Q|CI|DEBUG)=)[A-Za-z_][\w.]*[:+?]?=.*", re.DOTALL)
"""A variable given to a build; some only make it say more."""
_UNCHECKED_PYTHON = re.compile(r"(?:^|[\s/])(?:python|pypy)[\d.]*\s(?:[^;&|]*\s)?-[A-Zb-ln-z]*O+\w*\s.*-m\b", re.DOTALL)
"""Python that leaves assertions out."""
_PYTEST = ("pytest", "py.test")
_CLUSTERED = r"-[qvxslr]+[km].*"
"""Short options in one word, the last of which chooses tests."""
_PLUG_IN = re.compile(r"-p(?!no:)\S+")
_ELSEWHERE = re.compile(r"/|~|\.\.(?:/|$)|.*/\.\.(?:/|$)")
_GLUED = re.compile(r"-[CfcsId]((?:/|~|\.\./).*)")
_WRITES = re.compile(
    r"-o|--?[\w-]*(?:junit|xml|report|output|out|log|cache|temp|tmp|target-dir|coverage|html|json)[\w-]*", re.IGNORECASE
)
"""Options whose value is written, not looked at."""
_ENV_FOLDER = re.compile(r"(?:^|\s)env\s(?:\S+\s+)*?(?:-C\s*|--chdir[= ])(\S+)")
_TOP = re.compile(r"\$(?:PWD|\{PWD\}|\(pwd\)|\(git)")

_LOADING = re.compile(
    r"LD_\w+|DYLD_\w+|PYTHON(?:HOME|STARTUP|OPTIMIZE|INSPECT|USERBASE|BREAKPOINT)|RUBYOPT|PERL5OPT|JAVA_TOOL_OPTIONS|MAKEFILES|SHELL|"
    r"JEST_\w+|VITEST\w*|NODE_V8_\w+|CARGO_BUILD_RUSTC\w*|RUSTC_WRAPPER|GIT_DIR|GIT_WORK_TREE|ENV"
)
"""Variables that load code into programs, or put others in their place."""
_SEARCHED = re.compile(r"PYTHONPATH|NODE_PATH|RUBYLIB|PERL5LIB|CLASSPATH|GOPATH")
_ACCOUNT_FOLDER = re.compile(
    r"(?:~|\$HOME|\$\{HOME\})/(?:\.local/bin|\.cargo/bin|go/bin|\.(?:bun|deno|pyenv|rbenv|nvm|volta|asdf|poetry)/[\w./-]*)"
    r"|/(?:usr/(?:local/)?)?s?bin|/usr/local/go/bin|/opt/homebrew/s?bin|\$VIRTUAL_ENV/bin|\$\{?PATH\}?|"
)
_ENVIRONMENT = re.compile(r"(?:.*/)?(?:\.?venv/bin|node_modules/\.bin)/?")


def checks_in(text: str) -> Iterator[Command]:
    """The checks of a line, also those in a script that a shell is called to run."""
    for command in parse_command(text):
        nested = nested_script(command)
        if nested:
            yield from checks_in(nested)
        elif is_check(command):
            yield command


def hollow(command: Command) -> str:
    """What in a check puts something else in the place of what would have checked; empty if nothing does."""
    if command.program in _MAKES:
        return next((word for word in command.words[1:] if _SETTING.fullmatch(word)), "")
    if _UNCHECKED_PYTHON.search(command.text):
        return "python -O"
    words = command.words[1:]
    plug_ins = (word for flag, word in pairwise(words) if flag == "-p" and not word.startswith("no:"))
    if command.program in _PYTEST:
        found = next((word for word in words if re.match(r"--assert\b", word) or _PLUG_IN.fullmatch(word)), "")
        return found or next(plug_ins, "")
    return ""


def filled_in(command: Command) -> str:
    """A word of a check that stands for others, which nobody can read there; empty if there is none."""
    unread = re.compile(rf".*[$`].*|@.*|{_CLUSTERED}" if command.program in _PYTEST else r".*[$`].*", re.DOTALL)
    return next((word for word in command.words[1:] if unread.fullmatch(word)), "")


def pointed_outside(command: Command, places: Sequence[str], *, above: bool = False) -> str:
    """Where a check looks outside the places of the work; empty if nowhere. `above` lets it begin in a folder around them."""
    start = command.directory
    moved = _ENV_FOLDER.search(command.text)
    start = inside(start, moved[1]) if moved else start
    if start and not any(_is_within(start, place, above=above) for place in places):
        return start
    for named in _named(command):
        path = inside(start, named)
        if not any(_is_within(path, place, above=above) for place in places):
            return named
    return ""


def misaimed(text: str, folder: str) -> str:
    """Why a check that somebody named themselves does not look at the work in a folder, be it at a part; empty if it does."""
    for command in checks_in(text):
        if found := hollow(command):
            return f"`{found}` puts something else in the place of what the check runs"
        if there := pointed_outside(command, [folder]):
            return f"the check looks at `{there}`, outside of the place where the work was done"
    return ""


def swaps(setting: str, workspace: str) -> bool:
    """Whether a variable, as `NAME=value`, puts other programs or code in the place of those that checks run."""
    name, _, value = setting.partition("=")
    name = name.rstrip("+")
    parts = value.strip("'\"").split(":")
    if MEDDLING.fullmatch(name) or _LOADING.fullmatch(name):
        return True
    if name == "PATH":
        return not all(_is_usual(part, workspace) for part in parts)
    if _SEARCHED.fullmatch(name):
        return not all(
            part.startswith(f"${name}") or part == f"${{{name}}}" or _is_within(part, workspace) for part in parts
        )
    return name == "NODE_OPTIONS" and bool(
        re.search(r"(?:^|\s)(?:-r|--require|--import|--(?:experimental-)?loader)\b", value)
    )


def _named(command: Command) -> Iterator[str]:
    """The paths among the words of a check that may lead out of where it runs."""
    before = ""
    for word in command.words[1:]:
        name, given, value = word.partition("=")
        glued = _GLUED.fullmatch(word)
        if glued:
            yield glued[1]
        elif word.startswith("-"):
            if given and _ELSEWHERE.match(value) and not _WRITES.fullmatch(name):
                yield value
        elif _ELSEWHERE.match(word) and not _WRITES.fullmatch(before):
            yield word.split("::")[0]
        before = word


def _is_usual(part: str, workspace: str) -> bool:
    """Whether a folder that programs are looked for in is the system's, the account's or the project's own."""
    if _ACCOUNT_FOLDER.fullmatch(part):
        return True
    return bool(_ENVIRONMENT.fullmatch(part)) and _is_within(part, workspace)


def _is_within(path: str, place: str, *, above: bool = False) -> bool:
    """Whether a path, seen from a place, lies in it; where the place is unknown, whether it may."""
    if _TOP.match(path):
        return ".." not in path
    if path.startswith("~"):
        rest = path.partition("/")[2]
        return bool(rest) and f"{place}/".endswith(f"/{rest.rstrip('/')}/")
    if "$" in path or "`" in path:
        return False
    if not place:
        return not path.startswith("..")
    whole = posixpath.normpath(path if path.startswith("/") else f"{place}/{path}").rstrip("/") + "/"
    around = posixpath.normpath(place).rstrip("/") + "/"
    return whole.startswith(around) or (above and around.startswith(whole))
