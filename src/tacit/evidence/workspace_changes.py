"""Workspace changes: what a step changed, as far as its arguments show: files written, removed or moved, or work set aside.

It reads names, not contents, and errs on the side of "changed": what it cannot exclude counts. `Reach` says how much a
command changes beyond what it names. What a script writes by itself is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from tacit.domain.trajectory import Step, StepResult, Trajectory
from tacit.text.programs import CHECKERS, FORMATTERS, WITH_SUBCOMMAND
from tacit.text.shell import Command, is_check, nested_script, parse_command
from tacit.text.tool_calls import DELEGATING_TOOLS, command_of, plain_name

_NO_FILES = frozenset("todowrite todo_write update_plan write_stdin save_memory exitplanmode notebookread".split())
_EDITING = re.compile(r"write|edit|patch|replace|create|insert|delete|remove|rename|move|append")
_PATCH_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)

_DECIDING = re.compile(
    r"(^|/)([Tt]ests?|[Ss]pecs?|__tests__|__snapshots__|testing|e2e|cypress)(/|$)"
    r"|(^|/)(tests?|conftest|sitecustomize|usercustomize|test_[^/]*|[^/]*_tests?|[^/]*[.-](test|spec))\.\w+$"
    r"|(^|/)[^/]*[a-z0-9](Tests?|Spec)\.\w+$"
    r"|(^|/)\.?(pytest\.(ini|toml)|tox\.(ini|toml)|noxfile\.py|setup\.cfg|pyproject\.toml|package\.json|GNUmakefile|[Mm]akefile"
    r"|[^/]+\.mk|[Jj]ustfile|[Tt]askfile\.ya?ml|Rakefile|CMakeLists\.txt|(jest|vitest|vite|babel|playwright|cypress|karma|eslint|web-test-runner)\.conf(ig)?\.\w+"
    r"|mocharc[^/]*|eslintrc[^/]*|tsconfig[^/]*\.json|deno\.jsonc?|biome\.jsonc?|turbo\.json|nx\.json|mypy\.ini|ruff\.toml|flake8"
    r"|pylintrc|coveragerc|golangci\.ya?ml|pre-commit-config\.yaml|rspec|phpunit\.xml[^/]*|Cargo\.toml|build\.gradle[^/]*|pom\.xml"
    r"|npmrc|[^/]+\.pth|babelrc[^/]*|nycrc[^/]*|swcrc|bunfig\.toml|gitlab-ci\.yml|travis\.yml|Jenkinsfile|phpstan\.neon[^/]*"
    r"|bashrc|bash_profile|bash_aliases|profile|zshrc|zshenv|azure-pipelines\.yml|lefthook\.ya?ml|WORKSPACE|BUILD\.bazel|go\.work)$|(^|/)(\.github/(workflows|actions)|\.circleci|\.husky|\.git/hooks"
    r"|\.cargo)(/|$)|(^|/)\.env(rc|\.(?!example|sample|template)[\w-]+)?$|^(_?pytest|pluggy|iniconfig|unittest|nose2?|coverage|xdist|hypothesis)(/|\.pyc?$)"
)
"""Files that decide what a check means. A check is not independent of an agent that changed one of them."""
_SAMPLES = (
    "tests",
    "test_x.py",
    "conftest.py",
    "x.test.ts",
    "x_test.go",
    "Makefile",
    "package.json",
    "pyproject.toml",
    "pytest.ini",
)

_TEST_FILE = re.compile(
    r"(^|[/\\])(test_[^/\\]*|[^/\\]*_tests?|[^/\\]*[.-](test|spec)|[^/\\]*[a-z0-9](Tests?|Spec))\.\w+$"
)
"""A file of tests; helpers and fixtures, which other tests use, are none."""
_MEDDLES = re.compile(
    r"[.@](?:skip|only|todo|xfail|pending|failing)|\bskip\w*\(|\bmark\.(?:skip|xfail)|\b[xf](?:it|test|describe|context)\(|#\[ignore"
    r"|\b(?:TestMain|setUpModule|conftest|autouse|globalThis|pytest_\w+|sys\.modules|process\.exit|_exit|sys\.exit|os\.Exit)\b"
    r"|@(?:Ignore|Disabled)|\bfunc init\(|\*\*\* (?:Delete File|Move to)",
    re.IGNORECASE,
)
"""Words with which a test leaves out others or changes the whole run."""
_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_LONGEST_SCRIPT = 100_000
_ALL_OPERANDS = frozenset(
    "rm rmdir unlink shred touch truncate tee mv ed ex vi vim nano patch sponge sd mount comby ast-grep sg jscodeshift fastmod "
    "crudini dasel gunzip bunzip2 unxz".split()
)
_LAST_OPERAND = frozenset("cp ln install rsync scp".split())
_GIT_CHANGES = frozenset(
    "checkout restore switch reset revert stash merge pull rebase cherry-pick apply am clean rm mv read-tree "
    "checkout-index sparse-checkout".split()
)
_REDIRECT = re.compile(r">{1,2}\|?\s*([^\s;&|<>()'\"]+|'[^']+'|\"[^\"]+\")")
_INLINE = re.compile(r"(?:^|[\s/])(?:python[\d.]*|node|ruby|perl|php|deno|bun)\s+(?:-\w*[ceE]\b|-(?:\s|$)|eval\b|<<)")
_WRITE_CALL = re.compile(
    r"\bopen\([^)]*['\"][wax+]|write_(?:text|bytes)|writeFile|appendFile|File\.write|\.write\(|(?:os|fs|shutil)\.\w*"
    r"(?:remove|unlink|rename|replace|move|copy|rmtree|rmSync|truncate)\w*|\.unlink\(|\.rename\(|file_put_contents"
)


_SWEEPING = re.compile(
    r"\bxargs\b[^|;]*\b(?:rm|mv|sed|perl|truncate|tee|git)\b|\bfind\b[^|;]*(?:-delete\b|-exec(?:dir)?\s+(?:rm|mv|sed|perl|truncate)\b)"
)
"""Commands that change whatever another one, or a pattern, names."""


class Reach(StrEnum):
    """How much of a change its words tell."""

    NAMED = "named"
    """The file that is named, and nothing else."""
    ANYTHING = "anything"
    """Anything below the place that is named; below where the work is done if none is."""
    COMMITTED = "committed"
    """What was committed before: by others, as far as anybody can tell."""
    TOOLS = "tools"
    """What runs the tests, not the tests."""


@dataclass(frozen=True, slots=True)
class WorkspaceChange:
    """One change: the file or place, if known, whether it put work aside instead of adding to it, and how far it
    reaches."""

    file: str = ""
    sets_aside: bool = False
    reach: Reach = Reach.NAMED


def changes(step: Step) -> tuple[WorkspaceChange, ...]:
    """What a step changed. A failed shell command may have changed something before it failed; a failed edit has not."""
    if step.result is StepResult.DENIED:
        return ()
    command = command_of(step.tool, step.arguments)
    if command:
        return tuple(shell_changes(command))
    name = plain_name(step.tool)
    if step.failed or name in _NO_FILES:
        return ()
    if name in DELEGATING_TOOLS:
        return (WorkspaceChange(),)
    if not _EDITING.search(name):
        return ()
    return tuple(WorkspaceChange(file) for file in (*_files_named(step.arguments), *_files_written_by(step.arguments)))


def shell_changes(text: str) -> Iterator[WorkspaceChange]:
    """What a shell text changes, in the order of its commands."""
    patched = [name.strip() for pair in _PATCH_FILE.findall(text) for name in pair if name]
    yield from map(WorkspaceChange, patched)
    if _INLINE.search(text) and _WRITE_CALL.search(text):
        yield WorkspaceChange()
        yield from (WorkspaceChange(word) for word in re.split(r"[\s'\"()\[\],;]+", text) if word)
    if _SWEEPING.search(text):
        yield from (WorkspaceChange(word) for word in re.split(r"[\s'\"|;]+", text) if word)
    for command in parse_command(text):
        yield from _changes_of(command)
        if not (patched and "<<" in text):  # a patch that stands there says itself what it changes
            yield from (WorkspaceChange(place, reach=reach) for place, reach in spreads(command))


def decides_checks(path: str, workspace: str) -> bool:
    """Whether a file decides what a check means: a test, a check's settings, or something that stands in for a checker."""
    inside = path.removeprefix(workspace.rstrip("/") + "/") if workspace else path
    if _DECIDING.search(inside) or "$" in inside or "`" in inside:
        return True
    if (
        len(inside) <= _LONGEST_PATH
        and re.search(r"[*?\[{]", inside)
        and any(fnmatch(sample, inside.removeprefix("./")) for sample in _SAMPLES)
    ):
        return True
    base = PurePosixPath(inside).name
    if len(base) > _LONGEST_NAME:
        return False
    return base.removesuffix(".py") in CHECKERS or ("." not in base and (is_check(base) or is_check(f"{base} test")))


def tests_written(trajectory: Trajectory) -> dict[int, tuple[str, ...]]:
    """Return the steps that wrote tests, with the files; nothing where the agent changed anything else that decides checks.

    Only edits count that name their file. A deleted or moved test, a skipped one, and code that acts on the whole run do not.
    """
    found: dict[int, tuple[str, ...]] = {}
    workspace = trajectory.environment.workspace
    for step in trajectory.actions:
        files = [change.file for change in changes(step) if change.file and decides_checks(change.file, workspace)]
        if not files:
            continue
        is_edit = not command_of(step.tool, step.arguments) and all(_TEST_FILE.search(file) for file in files)
        if not is_edit or _meddles(step.arguments):
            return {}
        found[step.index] = tuple(files)
    return found


def _meddles(arguments: Mapping[str, Any]) -> bool:
    """Whether an edit adds a word with which a test leaves out others or changes the whole run."""
    old = str(arguments.get("old_string", ""))
    added = [str(value) for key, value in arguments.items() if key != "old_string"]
    lines = [line for text in added for line in text.splitlines() if not line.startswith(("-", " "))]
    text = "\n".join(lines if any("*** Begin Patch" in part for part in added) else added)
    return len(_MEDDLES.findall(text)) > len(_MEDDLES.findall(old))


def _files_named(value: Any, key: str = "") -> Iterator[str]:
    """Paths in the arguments of an editing tool, at any depth, and in the patch it carries."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _files_named(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _files_named(item, key)
    elif isinstance(value, str):
        if re.search(r"path|file", key, re.IGNORECASE):
            yield value
        elif "***" in value or "+++" in value:
            yield from (name.strip() for pair in _PATCH_FILE.findall(value) for name in pair if name)


def _files_written_by(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Files that decide checks, named in a program that writes files: the script that the agent makes may be run next."""
    for text in arguments.values():
        if isinstance(text, str) and _WRITE_CALL.search(text[:_LONGEST_SCRIPT]):
            words = re.split(r"[\s'\"()\[\],;]+", text[:_LONGEST_SCRIPT])
            yield from (word for word in words if re.search(r"\w[./]\w", word) and _DECIDING.search(word))


def _changes_of(command: Command) -> Iterator[WorkspaceChange]:
    for file in dict.fromkeys((*command.outputs, *(f.strip("'\"") for f in _REDIRECT.findall(command.text)))):
        if not file.startswith(("/dev/", "&")):
            yield WorkspaceChange(file)
    program, operands = command.program, command.operands
    if program in ("bash", "sh", "zsh", "dash", "eval"):
        script = " ".join(operands) if program == "eval" else nested_script(command)
        if script:
            yield from shell_changes(script)
    elif program in _ALL_OPERANDS:
        yield from map(WorkspaceChange, operands)
    elif program in _LAST_OPERAND and operands:
        yield WorkspaceChange(operands[-1])
        yield from (WorkspaceChange(f"{operands[-1]}/{PurePosixPath(source).name}") for source in operands[:-1])
    elif program in ("npm", "pnpm") and re.match(r"(?:pkg|set-script)\b", command.subcommand):
        yield from (WorkspaceChange("package.json") for _ in range("get" not in operands))
    elif snapshots(command):
        yield WorkspaceChange("__snapshots__")
    elif program == "git" and command.subcommand.partition(" ")[0] in _GIT_CHANGES:
        yield from _git_changes(command)
    elif program in ("curl", "wget", "dd"):
        yield from map(WorkspaceChange, _outputs_of(command.words))
    elif re.match(
        r"\s*(?:sudo\s+)?(?:g?sed|perl|ruby|g?awk|yq)\b.*\s(?:-\w*i|--in-place|inplace)", command.text, re.DOTALL
    ):
        yield from map(WorkspaceChange, command.text.split()[2:])
    elif acts_on_unknown(command):
        yield from (WorkspaceChange(word) for word in operands if _DECIDING.search(word))


def _git_changes(command: Command) -> Iterator[WorkspaceChange]:
    verb, _, second = command.subcommand.partition(" ")
    words = set(command.words)
    if verb == "stash" and (second in ("list", "show", "drop", "clear") or words & {"list", "show", "drop", "clear"}):
        return
    if verb in ("checkout", "switch") and words & {"-b", "-B", "-c", "-C", "--orphan"}:
        return
    if verb == "reset" and "--hard" not in words:
        return
    back = verb == "stash" and bool(words & {"pop", "apply"})
    aside = verb in ("stash", "checkout", "switch", "restore", "reset", "revert", "clean") and not back
    yield WorkspaceChange(sets_aside=aside)
    if verb in ("apply", "am"):
        return  # a patch is not what it changes
    yield from (WorkspaceChange(word, aside) for word in (*command.operands, second) if word and word != "--")


def _outputs_of(words: Iterable[str]) -> Iterator[str]:
    """Files that `curl -o`, `wget -O` and `dd of=` write."""
    expected = False
    for word in words:
        if expected or word.startswith("of="):
            yield word.removeprefix("of=")
        expected = word in ("-o", "-O", "--output", "--output-document")


_IDLE_PATCH = frozenset("--check --stat --numstat --summary --abort --quit --dry-run --show-current-patch".split())
_GIT_SPREADS = frozenset("read-tree checkout-index sparse-checkout".split())
_GIT_COMMITTED = frozenset("merge pull rebase cherry-pick submodule".split())
_COPYING = frozenset("cp rsync mv gcp ditto".split())
_OUTPUT = re.compile(
    r"(?:\./)?(?:build|dist|out|target|public|static|node_modules|\.?venv|tmp|docs|site|coverage)(?:/.*)?"
)
"""Folders that hold what was made, and no tests."""
_INSTALLING = re.compile(
    r"(?:pip3?|uv pip|conda|mamba|npm|pnpm|bun|gem|pipx) (?:install|i|add|inject)|(?:uv|poetry|pdm|rye|yarn|cargo) add|"
    r"composer require"
)
_TOOLING = re.compile(
    r"(?:@[\w-]+/)?(?:[\w.-]*[-_])?(?:pytest|jest|vitest|mocha|chai|karma|jasmine|cypress|playwright|rspec|minitest|phpunit|pest|"
    r"nose2?|unittest\w*|testing(?:-library)?|tox|nox|pluggy|hypothesis|coverage|xdist|insta)(?:[-_/@=<>~\[].*)?"
)
_FROM_ELSEWHERE = re.compile(r"(?:file:|~|\.\./|/).*|.*\.(?:whl|tgz|tar\.gz|zip)")
_FETCHED = re.compile(r"(?:git\+|https?:|github:|git@).*|.* @ .*")
_SNAPSHOTS = re.compile(
    r"--(?:updateSnapshot|update-snapshots?|snapshot-update|update-goldens|force-regen|regen-all|bless|accept)(?:=.*)?"
    r"|--inline-snapshot=.*(?:fix|update|create).*|--update(?:=.*)?|-update"
)
_SNAPSHOT_SETTING = re.compile(
    r"(?:UPDATE_\w*|INSTA_UPDATE|INSTA_FORCE_PASS|SNAPSHOT_UPDATE|TRYBUILD|BLESS)=(?!0$|no$|false$).+"
)
_SHORT_UPDATE = frozenset("jest vitest ava playwright npm pnpm yarn bun mocha".split())
_READERS = frozenset(
    "cat less more head tail grep egrep fgrep rg ag ls ll find fd wc diff cmp comm file stat tree sed awk gawk nl bat od "
    "xxd hexdump sort uniq cut column jq yq perl ruby test [ [[ cd pushd echo printf mkdir chmod chown du df md5sum sha1sum "
    "sha256sum shasum realpath readlink dirname basename open code tac rev tr fold strings view which type command export "
    "source . cloc tokei python python3 node time watch zip gzip xz strace for select case tig delta = bash sh zsh dash "
    "touch".split()
)
"""Programs that only read their arguments, or whose changes `changes` reports."""


def snapshots(command: Command) -> bool:
    """Whether a test run writes down what it sees as what is expected from now on."""
    if any(_SNAPSHOT_SETTING.fullmatch(setting) for setting in command.assignments):
        return True
    if command.program == "cargo" and command.subcommand == "insta":
        return bool({"accept", "review", "--accept"} & set(command.words))
    if not (is_check(command) or command.program in _SHORT_UPDATE):
        return False
    short = command.program in _SHORT_UPDATE and is_check(command) and "-u" in command.flags
    return short or any(_SNAPSHOTS.fullmatch(flag) for flag in command.flags)


def spreads(command: Command) -> Iterator[tuple[str, Reach]]:
    """Where a command changes more than it names, and how far that reaches."""
    program, operands, flags = command.program, command.operands, set(command.flags)
    if program == "git":
        yield from _by_git(command)
    elif program in ("patch", "gpatch"):
        named = [word for word in operands if not re.search(r"\.(?:patch|diff)$|^\.{1,2}$", word)]
        if not flags & _IDLE_PATCH and (not named or {"-i", "-d"} & flags):
            yield "", Reach.ANYTHING
    elif program in _COPYING and operands:
        yield from _by_copying(command)
    elif (folder := _unpacked(command)) is not None:
        yield folder, Reach.ANYTHING
    else:
        yield from _by_installing(command)


def acts_on_unknown(command: Command) -> bool:
    """Whether it is not known what this program does to the files that it is given."""
    program = command.program
    known = program in _READERS | WITH_SUBCOMMAND | CHECKERS | FORMATTERS
    return not known and not is_check(command)


def _by_git(command: Command) -> Iterator[tuple[str, Reach]]:
    verb = command.subcommand.partition(" ")[0]
    flags = set(command.flags)
    patched = verb in ("apply", "am") and not flags & _IDLE_PATCH
    if patched or (verb in _GIT_SPREADS and "list" not in command.words):
        yield "", Reach.ANYTHING
    elif verb in _GIT_COMMITTED and not {"--abort", "status", "--quit"} & set(command.words):
        yield "", Reach.COMMITTED
    elif verb in ("checkout", "restore") and not {"-b", "-B", "--orphan"} & flags:
        paths = _paths_taken(command, verb)
        if any(not re.search(r"\w\.\w+$", path) for path in paths):
            yield "", Reach.ANYTHING


def _paths_taken(command: Command, verb: str) -> list[str]:
    """The paths that are put into the state of another commit than the one that is checked out."""
    words = list(command.words[1:])
    after = words[words.index("--") + 1 :] if "--" in words else []
    if verb == "restore":
        source = next((word.partition("=")[2] for word in words if word.startswith("--source=")), "")
        source = source or next((word for flag, word in pairwise(words) if flag in ("-s", "--source")), "")
        return [word for word in (after or command.operands) if word != source] if source not in ("", "HEAD") else []
    before = [word for word in words[: words.index("--")] if not word.startswith("-")] if "--" in words else []
    if not after:
        before, after = list(command.operands[:1]), list(command.operands[1:])
        return after if before not in ([], ["HEAD"]) else []
    return after if before[1:] not in ([], ["HEAD"]) else []  # the first word is `checkout` itself


def _by_copying(command: Command) -> Iterator[tuple[str, Reach]]:
    given = [word for flag, word in pairwise(command.words) if flag == "-t"] + [
        flag.partition("=")[2] for flag in command.flags if flag.startswith("--target-directory=")
    ]
    target = given[0] if given else command.operands[-1]
    sources = [word for word in command.operands if word != target]
    whole = command.program == "ditto" or any(
        re.fullmatch(r"-\w*T|--no-target-directory", flag) for flag in command.flags
    )
    contents = any(re.search(r"/\.?$|\*|^\.$|\$|`", source) for source in sources)
    if (whole or contents) and not _OUTPUT.fullmatch(target) and not re.match(r"[\w.@-]+:", target):
        yield target, Reach.ANYTHING


def _unpacked(command: Command) -> str | None:
    """The folder that an archive is unpacked into; nothing where none is."""
    words, flags = command.words[1:], set(command.flags)
    value = dict(pairwise(words))
    if command.program in ("tar", "bsdtar", "gtar", "jar"):
        modes = [word for word in (*words[:1], *flags) if re.fullmatch(r"-?[A-Za-z]+", word)]
        if any("x" in mode for mode in modes) or {"--extract", "--get"} & flags:
            long = next((word.partition("=")[2] for word in words if word.startswith("--directory=")), "")
            return long or value.get("-C", "") or value.get("--directory", "")
    elif command.program in ("unzip", "unar", "unrar") and not {"-l", "-t", "-v", "-Z", "-p"} & flags:
        return value.get("-d", "")
    elif command.program in ("7z", "7za", "7zz", "7zr") and words[:1] in (("x",), ("e",)):
        return next((word[2:] for word in words if re.match(r"-o.", word)), "")
    elif command.program in ("cpio", "pax") and any(re.fullmatch(r"-\w*[ir]\w*|--extract", word) for word in words):
        return ""
    elif command.program in ("zipfile", "tarfile") and {"-e", "--extract"} & flags:
        return command.operands[-1] if len(command.operands) > 1 else ""
    return None


def _by_installing(command: Command) -> Iterator[tuple[str, Reach]]:
    if not _INSTALLING.match(f"{command.program} {command.subcommand} {' '.join(command.operands[:1])}"):
        return
    for package in command.operands:
        if _FROM_ELSEWHERE.fullmatch(package):
            yield "", Reach.ANYTHING
        elif _FETCHED.fullmatch(package) or _TOOLING.fullmatch(package):
            yield "", Reach.TOOLS
