"""Build files: which commands does a check make them run, and does one of these run a given file?

What a rule writes, reads or depends on is product or data; what it runs decides the check. A mention that cannot be
classified counts as run. Only text is read: what a rule assembles at run time (wildcards, pattern rules, `$(shell …)`) is
not seen.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tacit.config.environment import check_environment
from tacit.evidence.workspace_changes import decides_checks
from tacit.text.programs import CHECKERS
from tacit.text.shell import Command, nested_script, parse_command

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
    """The command lines that a check would have these build files run; all of them where that cannot be decided."""
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


SETTINGS = re.compile(
    r"(?:.*/)?(?:\.?pytest\.(?:ini|toml)|tox\.ini|setup\.cfg|pyproject\.toml|package\.json|\.mocharc\.\w+"
    r"|(?:jest|vitest|vite|playwright|karma|ava)\.conf(?:ig)?\.\w+)"
)
_PYTHON_FILES = re.compile(r"\bpython_files\s*=\s*(\[[^]]*\]|[^\n]*(?:\n[ \t]+[^\n]*)*)")
_PYTHON_FOLDERS = re.compile(r"\btestpaths\s*=\s*(\[[^]]*\]|[^\n]*(?:\n[ \t]+[^\n]*)*)")
_PATTERNS = re.compile(
    r"[\"']?\b(?:testMatch|include|specs?|testDir|test_dir|files)[\"']?\s*:\s*(\[[^]]*\]|[\"'][^\"'\n]*[\"'])"
)
_DISCOVERED = re.compile(r"(?:-p|--pattern)[ =][\"']?([\w*?.\[\]-]+)")
_STARTED = re.compile(r"(?:-s|--start-directory)[ =][\"']?(?:\./)?([\w./-]+)")
_UNITTEST = re.compile(r"\bunittest\b")
_SOURCES = frozenset("src lib app packages .".split())
"""Folders of work, which settings may name too: there only what is called a test decides."""
_EXAMPLE = re.compile(rb"^[ \t]*>>> .*\n(?:[ \t]*(?!\"\"\"|\'\'\')\S.*\n)*", re.MULTILINE)
_TEST_BLOCK = re.compile(rb"#\[cfg\(test\)\]|#\[test\]|import\.meta\.vitest")


@dataclass(frozen=True, slots=True)
class Deciding:
    """What decides the checks of a project, by the names of files."""

    names: tuple[str, ...] = ()
    """Patterns of the last part of a path."""
    patterns: tuple[str, ...] = ()
    """Patterns of a whole path."""
    folders: tuple[str, ...] = ()
    """Folders of which everything decides."""
    doctests: bool = False
    """Whether examples in the code are run."""

    @classmethod
    def of(cls, settings: Mapping[str, str], words: Iterable[str]) -> Deciding:
        """Read settings by their path, and the command lines of a check."""
        texts, lines = list(settings.values()), [line for line in words if _UNITTEST.search(line)]
        names = [
            name for stated in _found(_PYTHON_FILES, texts) for name in re.findall(r"[\w*?.-]*[*?.][\w*?.-]*", stated)
        ]
        named = [name for stated in _found(_PYTHON_FOLDERS, texts) for name in re.findall(r"[\w*./-]+", stated)]
        folders = [folder.strip("/").removeprefix("./") for folder in (*named, *_found(_STARTED, lines))]
        scripts = [text for path, text in settings.items() if not path.endswith((".ini", ".cfg", ".toml"))]
        patterns = [
            one for stated in _found(_PATTERNS, scripts) for one in re.findall(r"[\"']([^\"'\n]+)[\"']", stated)
        ]
        return cls(
            names=(*names, *_found(_DISCOVERED, lines)),
            patterns=tuple(made for one in patterns if (made := _pattern(one))),
            folders=tuple(folder for folder in folders if folder not in _SOURCES),
            doctests=any("doctest" in text for text in (*texts, *words)),
        )

    def knows(self, path: str, *, committed: bool = True) -> bool:
        """Whether a file decides what a check means."""
        name = PurePosixPath(path).name
        return (
            decides_checks(path, "")
            or (path != path.lower() and decides_checks(path.lower(), ""))
            or any(fnmatchcase(name, pattern) for pattern in self.names)
            or any(fnmatchcase(path, pattern) for pattern in self.patterns)
            or any(path.startswith(f"{folder}/") for folder in self.folders)
            or (not committed and _stands_before_the_library(path))
        )

    def weakened(self, path: str, before: bytes, now: bytes) -> str:
        """What a change of a file took from the tests in it; empty if nothing."""
        if self.doctests and set(_EXAMPLE.findall(before)) - set(_EXAMPLE.findall(now)):
            return f"the run changed examples in `{path}`, which are tests"
        if (block := _TEST_BLOCK.search(before)) and before[block.start() :] not in now:
            return f"the run changed tests in `{path}`"
        if path.endswith(".py") and before != now and _only_asserts(before):
            return f"the run changed `{path}`, which does nothing but assert"
        return ""


def _found(pattern: re.Pattern[str], texts: Iterable[str]) -> list[str]:
    return [stated for text in texts for stated in pattern.findall(text)]


def _stands_before_the_library(path: str) -> bool:
    """Whether a file stands where Python looks before its own library."""
    first = path.partition("/")[0].removesuffix(".py").removesuffix(".pyc").removesuffix(".so")
    return first in sys.stdlib_module_names


def _pattern(glob: str) -> str:
    """A pattern of JavaScript's test runners as one of this language, rather too wide than too narrow; none of all code."""
    plain = re.sub(r"[?@+*]\([^)]*\)|\{[^}]*\}", "*", glob.replace("<rootDir>/", "").removeprefix("./"))
    plain = plain.replace("**/", "*").rstrip("/")
    if plain.startswith("!") or plain in _SOURCES or not re.search(r"\w", plain.rpartition(".")[0] or plain):
        return ""
    if PurePosixPath(plain).parts[0] in _SOURCES and not re.search(r"test|spec|check", plain, re.IGNORECASE):
        return ""
    return plain if "*" in plain or PurePosixPath(plain).suffix else f"{plain}/*"


def _only_asserts(text: bytes) -> bool:
    """Whether every function of a Python module asserts and answers nothing: a helper of tests, wherever it lies."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return bool(functions) and all(
        any(map(_asserts, parts)) and not any(map(_answers, parts)) for parts in map(list, map(ast.walk, functions))
    )


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return called.startswith("assert")
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Raise) and "AssertionError" in ast.dump(node))


def _answers(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom) or (isinstance(node, ast.Return) and node.value is not None)


_RUNS_ITS_OPERANDS = frozenset(
    "pytest py.test unittest doctest jest vitest mocha ava tap rspec phpunit pest busted node make gmake just task "
    "ninja bash sh dash zsh source .".split()
)


def programs_of(text: str, folder: Path, *, search_path: str = "") -> Iterator[tuple[str, Path]]:
    """Each program of a text by name, with the file that would run."""
    path = check_environment(folder, search_path=search_path)["PATH"]
    for command in _commands(text):
        runner = command.runner.split()[0] if command.runner else ""
        for name in dict.fromkeys(filter(None, (*_first_words(command), runner, command.typed))):
            found = _located(name, folder / command.directory, path)
            if found is not None:
                yield name, found


def files_run(text: str, folder: Path, root: Path) -> set[str]:
    """The files below a root that a text runs, as paths from that root: scripts, and the files that a test runner
    is given."""
    found: set[str] = set()
    for command in _commands(text):
        named = [command.typed]
        if command.program in _RUNS_ITS_OPERANDS:
            named += [word.split("::")[0] for word in command.operands]
        for name in named:
            for variant in (name, f"{name}.py", f"{name.replace('.', '/')}.py"):
                path = os.path.relpath(os.path.normpath(folder / command.directory / variant), root)
                if not path.startswith("..") and (root / path).is_file():
                    found.add(path)
    return found


def _commands(text: str) -> Iterator[Command]:
    for command in parse_command(text):
        nested = nested_script(command)
        yield command
        if nested:
            yield from _commands(nested)


def _first_words(command: Command) -> tuple[str, ...]:
    """The word that the shell itself looks up, where the program was launched by another."""
    words = command.text.strip(" (){}").split()
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
        words.pop(0)
    return tuple(words[:1])


def _located(name: str, folder: Path, path: str) -> Path | None:
    if "/" in name:
        file = folder / name
        return file if file.is_file() else None
    found = shutil.which(name, path=path)
    return Path(found) if found else None
