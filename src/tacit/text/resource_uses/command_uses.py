"""What one shell command uses: its name, the commands it runs, packages, hosts, variables, paths, effects. Runs nothing.

A command is named by its program and subcommand; a launcher is named with what it runs (`npx left-pad`, `python3 -m
unittest`, `bash tools/setup.sh`). A prefix such as `sudo` is a command too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from tacit.domain.trust import ResourceKind
from tacit.text.programs import LAUNCHER_VALUED, MEDDLING, WRAPPERS, WRAPPERS_VALUED
from tacit.text.resource_uses.addresses import INSTALLERS, OUTSIDE, PROGRAMS, WRITERS, hosts_of
from tacit.text.resource_uses.sentences import meaning_of, sentences
from tacit.text.shell import Command, nested_script, parse_command

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=.*", re.DOTALL)
_KEYWORDS = frozenset("if then else elif while until do ! { (".split())
_FETCHING = frozenset({"npx", "bunx", "uvx", "pipx run", "npm exec", "uv tool run"})
"""Launchers that download what they run."""
_FETCHING_VERBS = frozenset(
    "pnpm dlx|yarn dlx|bun x|npm x|npm init|npm create|pnpm create|yarn create|bun create|go run|docker run|"
    "podman run|docker create|podman create|docker pull|podman pull".split("|")
)
"""Subcommands that download their first operand, such as a container image."""
_PACKAGE_FLAGS = frozenset("-p --package --from --with --spec".split())
_CONTAINERS = frozenset({"docker", "podman"})
_OF_CONTAINERS = frozenset(
    "-e --env --env-file -v --volume --mount -w --workdir -u --user --network --net -h --hostname -l --label --entrypoint -p "
    "--publish --name --platform --cpus -m --memory --add-host --cap-add --device --gpus --restart --shm-size --tmpfs "
    "--ulimit --pull --log-driver --log-opt --security-opt --pid --ipc --link --dns --expose --cidfile -a --attach".split()
)
"""Flags with a value before the image name."""
FETCHERS = _FETCHING | _FETCHING_VERBS
"""Beginnings of commands that download a package and run it."""
_NO_PACKAGE = ("-", ".", "/", "$", "<", "{")
_SAME_PLACE = (".", "/", "$", "<", "{", "~")
"""First characters of paths and placeholders, which are no packages."""
_XARGS_VALUED = frozenset(
    "-I -i -n -P -L -l -d -a -s -E --max-args --max-procs --replace --delimiter --arg-file".split()
)
_TURNS = {"xargs": _XARGS_VALUED, "watch": frozenset("-n --interval".split()), "setsid": frozenset[str](),
          "parallel": frozenset("-j --jobs".split()), "strace": frozenset("-e -o -p".split())}  # fmt: skip
"""Programs whose operands are a command, and their flags with a value."""
_EXEC = frozenset("-exec -execdir -ok -okdir".split())


def before_it(command: Command) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the prefixes of a command (`sudo`, `time`), and the variables that `env` sets for it."""
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
    """Return a command with its launcher as typed: `python3 -m unittest`, `npx left-pad`, `pnpm dlx x`."""
    fetched = next(packages_run(command), "")
    if command.runner:
        without_version = fetched[:1] + fetched[1:].partition("@")[0]
        same = fetched and without_version.rpartition("/")[2] == command.program
        name = f"{_runner(command)} {fetched if same else command.typed}"
        return f"{name} {command.subcommand}".strip()
    name = f"{command.program} {command.subcommand}".strip()
    return f"{name} {fetched}" if fetched else name


def packages_run(command: Command) -> Iterator[str]:
    """Yield packages or container images that are downloaded to be run."""
    if _runner(command) in _FETCHING:
        words = words_of(command.text)
        at = next((n for n, word in enumerate(words) if word in ("npx", "bunx", "uvx", "run", "exec")), len(words))
        yield from _fetched(words[at + 1 :], LAUNCHER_VALUED, _PACKAGE_FLAGS)
    elif f"{command.program} {command.subcommand}" in _FETCHING_VERBS:
        first = command.words.index(command.subcommand) if command.subcommand in command.words else 0
        flags = (
            (_OF_CONTAINERS, frozenset[str]()) if command.program in _CONTAINERS else (LAUNCHER_VALUED, _PACKAGE_FLAGS)
        )
        yield from _fetched(command.words[first + 1 :], *flags)


def _runner(command: Command) -> str:
    tool = command.runner == "uv run" and " tool run " in f" {command.text} "
    return "uv tool run" if tool else command.runner


def _fetched(words: Iterable[str], valued: frozenset[str], naming: frozenset[str]) -> Iterator[str]:
    """Yield what flags name, or else the first operand."""
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
    """Yield commands within the words of another one: `xargs`, `find -exec`, `eval`, `su -c`."""
    words = command.words[1:]
    if command.program in _TURNS:
        at = 0
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _TURNS[command.program] else 1
        yield shlex.join(words[at:])
    elif command.program == "find":
        inner: list[str] | None = None
        for word in [*words, ";"]:
            if inner is None:
                inner = [] if word in _EXEC else None
            elif word in (";", "+", "\\;"):
                yield shlex.join(inner)
                inner = None
            else:
                inner.append(word)
    elif command.program == "eval":
        yield " ".join(words)
    elif command.program in ("su", "npx", "npm") and "-c" in words[:-1]:
        yield words[words.index("-c") + 1]


def words_of(text: str) -> list[str]:
    """Split a shell text into words; without quoting rules if a quote is not closed."""
    try:
        return shlex.split(text, posix=True)
    except ValueError:
        return text.split()


EFFECT_WORDS = {
    "deletes": (("delete!", "overwrite!"), ("data", "private", "secret", "all", "result")),
    "sends": (("send!",), ("literal", "outside", "public", "private", "secret")),
    "publishes": (("publish!",), ("public",)),
    "reveals": (("reveal!",), ("secret", "private")),
    "pays": (("pay!",), ("money", "literal")),
    "persists": (("reveal!", "copy!", "change!", "install!", "run!", "use!"), ("persist",)),
}
"""Effect → the ordered action, and the object it must concern."""
_COMMANDS = {
    "deletes": "rm|rmdir|shred|srm|unlink|dropdb|wipefs|mkfs|git clean|docker rm|docker rmi|docker system|kubectl delete|"
    "aws s3 rm|terraform destroy|helm uninstall|gh repo delete",
    "sends": "scp|sftp|ftp|mail|mutt|sendmail|nc|ncat|telnet|rclone|git push|aws s3 cp|aws s3 sync|docker push|gsutil cp|"
    "gh gist",
    "publishes": "npm publish|cargo publish|twine upload|gh release|gem push|poetry publish|uv publish|vercel deploy|gh gist|"
    "docker push",
    "reveals": "printenv",
    "installs": "pip install|pip3 install|uv add|uv pip|npm install|npm i|pnpm add|yarn add|brew install|apt install|"
    "apt-get install|dnf install|yum install|cargo install|gem install|go install|conda install|apk add|snap install|"
    "poetry add",
    "persists": "crontab|launchctl|schtasks|at|systemctl enable|service enable",
}
"""Effect → programs, and programs with a subcommand."""
_TABLE = {effect: frozenset(names.split("|")) for effect, names in _COMMANDS.items()}
_SENDING_FLAGS = frozenset(
    "-d --data --data-binary --data-raw --data-urlencode -F --form -T --upload-file --post-file --post-data".split()
)


_CHANGING_VERBS = ("POST", "PUT", "PATCH", "DELETE")


def stated_effects(text: str, *, code: bool = False) -> Iterator[tuple[str, int, int]]:
    """Yield the effects that the sentences of a text order, with their position."""
    for sentence in sentences(text, code=code):
        if sentence.kind == "heading":
            continue
        meaning = meaning_of(sentence.text)
        for effect, (actions, objects) in EFFECT_WORDS.items():
            if meaning.contains_any(*actions) and meaning.contains_any(*objects):
                yield effect, sentence.start, sentence.end
        if "install" in meaning.text.lower() and meaning.contains_any("install!"):
            yield "installs", sentence.start, sentence.end


def effects_of(command: Command) -> Iterator[str]:
    """Yield the effects of one command."""
    label = f"{command.program} {command.subcommand}".strip()
    for effect, names in _TABLE.items():
        if command.program in names or any(f"{label} ".startswith(f"{known} ") for known in names if " " in known):
            yield effect
    if command.program in ("curl", "wget"):
        words = " ".join(command.words).upper()
        posted = any(f"{flag} {verb}" in words for flag in ("-X", "--REQUEST") for verb in _CHANGING_VERBS)
        if posted or any(flag.split("=")[0] in _SENDING_FLAGS for flag in command.flags):
            yield "sends"
    if command.program == "rsync" and any(":" in operand for operand in command.operands):
        yield "sends"
    if command.program == "env" and len(command.words) == 1:
        yield "reveals"


_FILLED_IN = "_"
"""Replaces a command substitution."""
_HARMLESS = frozenset({"cd", "pwd", "true", "false", ":", _FILLED_IN})
"""Programs that use nothing."""
_SCRIPT_FILES = (".sh", ".bash", ".zsh")
_PROGRAM = re.compile(r"[a-z][a-z\d]*(?:[+_.-][a-z\d]+){0,4}")
_GIVEN = re.compile(r"--[a-z][\w-]+(?:=.*)?|-[A-Za-z]{1,3}|[a-z][a-z\d+.-]*://\S+")
_SUBSTITUTION = re.compile(r"[$<]\(([^()]{2,2000})\)")
_MAX_DEPTH = 3


def uses_of_command(script: str, *, known: bool = True, depth: int = 0) -> Iterator[tuple[ResourceKind, str]]:
    """Yield what the commands of a script use; with `known`, only for known programs, since the text may be no script."""
    for command in (each for part in _with_substitutions(script) for each in parse_command(part)):
        prefixes, variables = before_it(command)
        if command.program in _HARMLESS or (known and not _is_known(command, prefixes)):
            continue
        yield from ((ResourceKind.COMMAND, prefix) for prefix in prefixes)
        set_here = (each.partition("=")[0].rstrip("+") for each in command.assignments)
        yield from ((ResourceKind.VARIABLE, name) for name in (*variables, *filter(MEDDLING.fullmatch, set_here)))
        yield ResourceKind.COMMAND, launched(command)
        yield from ((ResourceKind.PACKAGE, package) for package in packages_run(command))
        if command.subcommand.split(" ")[-1] in INSTALLERS.get(command.program, ()):
            named = (each for each in command.operands if not each.startswith(_NO_PACKAGE) and "://" not in each)
            yield from ((ResourceKind.PACKAGE, package) for package in named)
        yield from ((ResourceKind.HOST, host) for host in hosts_of(command))
        yield from ((ResourceKind.WRITE, target) for target in _written(command))
        yield from ((ResourceKind.EFFECT, effect) for effect in effects_of(command))
        if depth < _MAX_DEPTH:
            for inner in filter(None, (nested_script(command), *run_in_turn(command))):
                yield from uses_of_command(inner, known=False, depth=depth + 1)


def _with_substitutions(script: str) -> Iterator[str]:
    """Yield the command substitutions of a script (`$(…)`, `<(…)`), innermost first, then the script."""
    for _ in range(_MAX_DEPTH):
        inner = _SUBSTITUTION.findall(script)
        if not inner:
            break
        yield from inner
        script = _SUBSTITUTION.sub(_FILLED_IN, script)
    yield script


def _is_known(command: Command, prefixes: tuple[str, ...]) -> bool:
    """Whether this is certainly a command, not words in back-ticks or the start of a sentence."""
    head = command.runner.partition(" ")[0] or command.program
    if head in PROGRAMS or {"sudo", "doas", "nohup"} & set(prefixes):
        return True
    typed = command.typed
    is_path = typed.startswith(("./", "/", "~/")) and not typed.endswith("/")
    if is_path and (len(command.words) > 1 or typed.endswith(_SCRIPT_FILES)):
        return True  # it is run, not only mentioned
    # an unknown word that is used like a program, with a flag or an address after it
    return _PROGRAM.fullmatch(typed) is not None and any(map(_GIVEN.fullmatch, command.words[1:4]))


def _written(command: Command) -> Iterator[str]:
    """Yield the paths outside the workspace that a command writes."""
    targets = list(command.outputs)
    if command.program in WRITERS:
        last = command.program in ("cp", "mv", "ln", "install", "rsync", "scp")
        targets.extend(command.operands[-1:] if last else command.operands)
    for target in targets:
        if OUTSIDE.fullmatch(target) and not target.startswith("/dev/"):
            yield target
