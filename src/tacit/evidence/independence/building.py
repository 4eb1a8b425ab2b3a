"""Build files and a check → the commands that the check has them run, and whether one of these runs a given file.

What a rule writes, reads or depends on is the work's own product or data and decides nothing; what it runs does. Where a
mention cannot be placed it counts as run. Only text is read: what a rule puts together at run time (wildcards, pattern
rules, `$(shell …)`) it does not see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from tacit.text.programs import CHECKERS
from tacit.text.shell import nested_script, parse_command

MAKEFILE = re.compile(r"(?:.*/)?(?:GNUmakefile|[Mm]akefile|[^/]+\.mk)")
PACKAGE = re.compile(r"(?:.*/)?package\.json")
BUILD_FILE = re.compile(
    rf"{MAKEFILE.pattern}|{PACKAGE.pattern}|(?:.*/)?(?:[Jj]ustfile|[Tt]askfile\.ya?ml|tox\.(?:ini|toml)|noxfile\.py|Rakefile)"
    r"|\.github/workflows/.*|\.gitlab-ci\.yml"
)
_TESTERS = (CHECKERS - {"tox", "nox"}) | frozenset("grep egrep fgrep test [ [[ cmp diff git cargo go".split())
"""Programs that look at the work themselves, and call no build."""
_MAKES, _PACKAGERS = frozenset({"make", "gmake"}), frozenset({"npm", "pnpm", "yarn", "bun"})
_ASSIGNED = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)\s*(?::{0,3}|\?|\+)=[ \t]*(.*)$", re.MULTILINE)
_RULE = re.compile(r"^(?P<targets>[^\s#:=][^#:=]*?)\s*::?(?!=)\s*(?P<needs>[^=;]*?)(?:;(?P<here>.*))?$")
_AGAIN = re.compile(r"\$[({]MAKE[)}]|\bmake\b|^-?s?include\b", re.MULTILINE)
_SCRIPT_CALL = re.compile(r"\b(?:npm|pnpm|yarn|bun)\s+(?:run(?:-script)?\s+)?([\w:.-]+)")
_WRITTEN = re.compile(r">{1,2}\|?\s*[\"']?(?:\./)?$|(?:^|\s)(?:-o|--o(?:ut)?[\w-]*)(?:\s+|=)[\"']?(?:\./)?$")
_HANDED_ON = re.compile(
    r"\b(?:eval|xargs|source)\b|\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|da|z)?sh\b|\|\s*(?:\S*/)?(?:python|node|perl|ruby)|\$\$?\(|`"
)
"""Words by which what is read becomes what is run."""
_LOOKING = frozenset(
    "grep egrep fgrep test [ [[ ls wc sha256sum shasum md5sum cmp diff stat touch rm mkdir echo printf".split()
)
_READING = frozenset("cat head tail sort uniq cut tr jq".split())
"""Programs that print what they read: looking, unless it is written or piped on."""
_INTERPRETERS = re.compile(r"(?:ba|da|z)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|source|\.|tsx|ts-node")
_BEFORE_A_PROGRAM = re.compile(r"[A-Za-z_]\w*=\S*|sudo|exec|if|then|do|else|run:|[@!-]+")
_SEPARATOR = re.compile(r"&&|\|\|?|;|\(|\{")
_NEUTRAL = re.compile(r"\s*(?:#|-?\s*(?:path|paths|name|key|with|artifacts|expire_in|when)\s*:)")
_MOST_LINES = 5000


def lines_run(check: str, files: Mapping[str, str]) -> list[str]:
    """The command lines that a check would have these build files run; all of them where that cannot be told."""
    programs = _programs(check)
    if programs and all(name in _TESTERS for name, _ in programs):
        return []
    found: list[str] = []
    for path, text in files.items():
        if MAKEFILE.fullmatch(path):
            found += _of_makefile(text, _goals(programs, _MAKES))
        elif PACKAGE.fullmatch(path):
            found += _of_package(text, _goals(programs, _PACKAGERS))
        else:
            found += text.splitlines()
    return found[:_MOST_LINES]


def runs(path: str, lines: Iterable[str]) -> bool:
    """Whether one of these lines runs a file of the workspace, as far as its words show."""
    whole = re.compile(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])")
    last = re.compile(rf"(?<![\w-]){re.escape(PurePosixPath(path).name)}(?![\w/-])")
    module = (
        re.compile(rf"-m\s+{re.escape(path.removesuffix('.py').replace('/', '.'))}(?![\w.])")
        if path.endswith(".py")
        else None
    )
    for line in lines:
        if any(not _is_data(line, found) for found in whole.finditer(line)):
            return True
        if any(_is_program(line, found, path) for found in last.finditer(line)) or (module and module.search(line)):
            return True
    return False


def _goals(programs: list[tuple[str, tuple[str, ...]]], builders: frozenset[str]) -> set[str] | None:
    """What these programs are asked for; nothing where another program may ask for more, or the first goal is meant."""
    if any(name not in _TESTERS | builders for name, _ in programs):
        return None
    return {word for name, words in programs if name in builders for word in words} or None


def _programs(check: str) -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for command in parse_command(check):
        nested = nested_script(command)
        if nested:
            found += _programs(nested)
        else:
            goals = tuple(word for word in command.operands if "=" not in word and word != "run")
            found.append(
                (command.program, tuple(dict.fromkeys((*command.subcommand.removeprefix("run ").split(), *goals))))
            )
    return found


def _of_makefile(text: str, goals: set[str] | None) -> list[str]:
    """The recipe lines of these goals and of what they need, variables filled in; of all where one is not to be found."""
    text = text.replace("\\\n", " ")
    values = {name: value.strip() for name, value in _ASSIGNED.findall(text)}
    filled = _filled(_filled(text, values), values)
    rules = list(_rules(filled))
    loose = [line for line in filled.splitlines() if re.match(r"-?s?include\b", line)]
    unused = [
        line for line in filled.splitlines() if (set_to := _ASSIGNED.match(line)) and not _is_used(set_to[1], text)
    ]
    reached = _reached(rules, goals) if goals is not None and not _AGAIN.search(filled) else None
    chosen = rules if reached is None else [rule for rule in rules if set(rule[0]) & reached]
    lines = [_automatic(line, targets, needs) for targets, needs, recipe in chosen for line in recipe]
    return [*(line.lstrip("\t @+-") for line in lines), *loose, *unused]


def _rules(text: str) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Targets, what they need, and their recipe."""
    held: tuple[list[str], list[str], list[str]] | None = None
    for line in text.splitlines():
        if line.startswith("\t"):
            if held:
                held[2].append(line)
            continue
        rule = _RULE.match(line)
        if rule:
            if held:
                yield held
            held = (rule["targets"].split(), rule["needs"].split(), [rule["here"]] if rule["here"] else [])
    if held:
        yield held


def _reached(rules: list[tuple[list[str], list[str], list[str]]], goals: set[str]) -> set[str] | None:
    """Goals and what they need, however far; nothing where a goal has no rule of its own."""
    reached, waiting = set[str](), list(goals)
    if not goals <= {target for targets, _, _ in rules for target in targets}:
        return None
    while waiting:
        goal = waiting.pop()
        if goal not in reached:
            reached.add(goal)
            waiting += [need for targets, needs, _ in rules if goal in targets for need in needs]
    return reached


def _automatic(line: str, targets: list[str], needs: list[str]) -> str:
    """The variables that make itself fills in."""
    needs = [need for need in needs if need != "|"]
    for sign, value in (("@", targets[:1]), ("<", needs[:1]), ("^", needs), ("+", needs), ("?", needs)):
        line = re.sub(rf"\$(?:[{re.escape(sign)}]|\({re.escape(sign)}\))", lambda _, v=value: " ".join(v), line)  # type: ignore[misc]
    return line


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$[({](\w+)[)}]", lambda found: values.get(found[1], found[0]), text)


def _is_used(name: str, text: str) -> bool:
    return bool(re.search(rf"\$[({{]{name}[)}}]", text)) and not re.search(rf"^export\s+{name}\b", text, re.MULTILINE)


def _of_package(text: str, goals: set[str] | None) -> list[str]:
    """The scripts of these names, with those that run before and after them, and those that they call."""
    try:
        scripts = json.loads(text).get("scripts") or {}
    except (ValueError, AttributeError):
        return text.splitlines()
    if not isinstance(scripts, dict) or goals is None or not goals <= scripts.keys():
        return [str(line) for line in scripts.values()] if isinstance(scripts, dict) else text.splitlines()
    reached, waiting = set[str](), list(goals)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in scripts:
            continue
        reached.add(name)
        waiting += [f"pre{name}", f"post{name}", *_SCRIPT_CALL.findall(str(scripts[name]))]
        if re.search(r"run-[ps]\b|npm-run-all|concurrently", str(scripts[name])):
            return [str(line) for line in scripts.values()]
    return [str(scripts[name]) for name in sorted(reached)]


def _is_data(line: str, found: re.Match[str]) -> bool:
    """Whether a mention is of something written, read or left to people, and not of something that is run."""
    before, after = line[: found.start()], line[found.end() :]
    if _NEUTRAL.match(line) or _WRITTEN.search(before):
        return True
    words = _SEPARATOR.split(before)[-1].split()
    while words and _BEFORE_A_PROGRAM.fullmatch(words[0].strip("\"'")):
        words.pop(0)
    program = PurePosixPath(words[0].strip("\"'@")).name if words else ""
    if _HANDED_ON.search(line):
        return False
    if program in _LOOKING:
        return True
    if program in ("cp", "mv", "install", "tee"):
        return program == "tee" or not _SEPARATOR.split(after)[0].strip(" \"'")
    return program in _READING and not re.search(r"[|>]", after)


def _is_program(line: str, found: re.Match[str], path: str) -> bool:
    """Whether a name, in the folder it is in or below one gone to before, stands where what is run does."""
    folder = re.search(r"[\w./$(){}-]*/$", line[: found.start()])
    named = folder[0].removeprefix("./") if folder else ""
    if named and "$" not in named and not f"/{PurePosixPath(path).parent}/".endswith(f"/{named}"):
        return False
    before = line[: folder.start() if folder else found.start()]
    words = [word for word in _SEPARATOR.split(before)[-1].split() if not _BEFORE_A_PROGRAM.fullmatch(word)]
    if not words:
        return folder is not None  # a bare word is looked for on the search path, not here
    first = PurePosixPath(words[0].lstrip("@-")).name
    return bool(_INTERPRETERS.fullmatch(first)) and all(word.startswith("-") for word in words[1:])
