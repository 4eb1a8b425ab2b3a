"""Commands that run other commands: what stands before one, what a launcher runs, which packages it fetches for that.

`sudo`, `env` and their like run what follows them; `npx`, `uvx`, `pipx run`, `pnpm dlx` fetch a package and run it; `xargs` and
`find -exec` hold a command in their words. Words only, in linear time; nothing is looked up.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from tacit.text.programs import LAUNCHER_VALUED, WRAPPERS, WRAPPERS_VALUED
from tacit.text.shell import Command

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=.*", re.DOTALL)
_KEYWORDS = frozenset("if then else elif while until do ! { (".split())
_FETCHING = frozenset({"npx", "bunx", "uvx", "pipx run", "npm exec", "uv tool run"})
"""Launchers that fetch what they run, as a command's runner is called."""
_FETCHING_VERBS = frozenset(
    "pnpm dlx|yarn dlx|bun x|npm x|npm init|npm create|pnpm create|yarn create|bun create|go run|docker run|"
    "podman run|docker create|podman create|docker pull|podman pull".split("|")
)
"""Programs that fetch their first operand with this subcommand; of a container that is its image."""
_PACKAGE_FLAGS = frozenset("-p --package --from --with --spec".split())
_CONTAINERS = frozenset({"docker", "podman"})
_OF_CONTAINERS = frozenset(
    "-e --env --env-file -v --volume --mount -w --workdir -u --user --network --net -h --hostname -l --label --entrypoint -p "
    "--publish --name --platform --cpus -m --memory --add-host --cap-add --device --gpus --restart --shm-size --tmpfs "
    "--ulimit --pull --log-driver --log-opt --security-opt --pid --ipc --link --dns --expose --cidfile -a --attach".split()
)
"""Flags that are followed by a value before the image is named."""
FETCHERS = _FETCHING | _FETCHING_VERBS
"""What a command begins with that fetches a package and runs it."""
_SAME_PLACE = (".", "/", "$", "<", "{", "~")
"""How names begin that are no package: paths and places to be filled in."""
_XARGS_VALUED = frozenset(
    "-I -i -n -P -L -l -d -a -s -E --max-args --max-procs --replace --delimiter --arg-file".split()
)
_TURNS = {"xargs": _XARGS_VALUED, "watch": frozenset("-n --interval".split()), "setsid": frozenset[str](),
          "parallel": frozenset("-j --jobs".split()), "strace": frozenset("-e -o -p".split())}  # fmt: skip
"""Programs whose first operand and all after it are a command, and their flags with a value."""
_EXEC = frozenset("-exec -execdir -ok -okdir".split())


def before_it(command: Command) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Programs that a command was given to (`sudo`, `time`), and the variables that `env` sets for it."""
    words, prefixes, variables = words_of(command.text), list[str](), list[str]()
    while len(words) > 1:
        word = words.pop(0)
        set_here = _ASSIGNMENT.fullmatch(word)
        if set_here and "env" in prefixes:
            variables.append(set_here[1])
        if set_here or word in _KEYWORDS:
            continue
        if word not in WRAPPERS or (word == "command" and words[0] in ("-v", "-V")):
            break
        prefixes.append(word)
        while len(words) > 1 and re.fullmatch(r"\d+(?:\.\d+)?[smhd]?|-\w+|--[\w-]+(?:=.*)?", words[0]):
            if words.pop(0) in WRAPPERS_VALUED.get(word, ()):
                words.pop(0)
    return tuple(prefixes), tuple(variables)


def launched(command: Command) -> str:
    """A command's program with what launches it, as they were typed: `python3 -m unittest`, `npx left-pad`, `pnpm dlx x`."""
    fetched = next(packages_run(command), "")
    if command.runner:
        same = fetched and _bare(fetched).rpartition("/")[2] == command.program
        name = f"{_runner(command)} {fetched if same else command.typed}"
        return f"{name} {command.subcommand}".strip()
    name = f"{command.program} {command.subcommand}".strip()
    return f"{name} {fetched}" if fetched else name


def packages_run(command: Command) -> Iterator[str]:
    """Packages, or images of containers, that are fetched so that they can be run."""
    if _runner(command) in _FETCHING:
        words = words_of(command.text)
        at = next((n for n, word in enumerate(words) if word in ("npx", "bunx", "uvx", "run", "exec")), len(words))
        yield from _fetched(words[at + 1 :], LAUNCHER_VALUED, _PACKAGE_FLAGS)
    elif f"{command.program} {command.subcommand}" in _FETCHING_VERBS:
        first = command.words.index(command.subcommand) if command.subcommand in command.words else 0
        if command.program in _CONTAINERS:
            yield from _fetched(command.words[first + 1 :], _OF_CONTAINERS, frozenset())
        else:
            yield from _fetched(command.words[first + 1 :], LAUNCHER_VALUED, _PACKAGE_FLAGS)


def _runner(command: Command) -> str:
    tool = command.runner == "uv run" and " tool run " in f" {command.text} "
    return "uv tool run" if tool else command.runner


def _fetched(words: Iterable[str], valued: frozenset[str], naming: frozenset[str]) -> Iterator[str]:
    """What is named by flags for it, and otherwise by the first operand."""
    flag, named = "", False
    for word in words:
        joined, value = word.partition("=")[::2] if word.startswith("-") else ("", word)
        if not flag and word.startswith("-") and not value:
            flag = word if word in valued else ""
            continue
        name, flag = flag or joined, ""
        if name and name not in naming:
            continue
        if not value.startswith(_SAME_PLACE) and not (named and not name):
            named = True
            yield value
        if not name:
            return


def run_in_turn(command: Command) -> Iterator[str]:
    """Commands that stand in the words of another one: of `xargs`, of `find -exec`, of `eval` and of `su -c`."""
    words = command.words[1:]
    if command.program in _TURNS:
        at = 0
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _TURNS[command.program] else 1
        yield shlex.join(words[at:])
    elif command.program == "find":
        yield from _executed(words)
    elif command.program == "eval":
        yield " ".join(words)
    elif command.program in ("su", "npx", "npm") and "-c" in words[:-1]:
        yield words[words.index("-c") + 1]


def _executed(words: Iterable[str]) -> Iterator[str]:
    """Commands of `find`, each from its flag to the sign that ends it."""
    inner: list[str] | None = None
    for word in words:
        if inner is None:
            inner = [] if word in _EXEC else None
        elif word in (";", "+", "\\;"):
            yield shlex.join(inner)
            inner = None
        else:
            inner.append(word)
    if inner:
        yield shlex.join(inner)


def _bare(package: str) -> str:
    """A package without its version."""
    return package[0] + package[1:].partition("@")[0] if package else ""


def words_of(text: str) -> list[str]:
    """Words of a shell text, as they stand where a quote is not closed."""
    try:
        return shlex.split(text, posix=True)
    except ValueError:
        return text.split()
