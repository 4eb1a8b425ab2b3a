"""Step → what it changed, as far as its arguments show: files written, removed or moved, or work set aside.

It reads names, not contents, and errs on the side of "changed": what it cannot rule out counts. Commands that change more
than they name are told by `unseen`. A script that the agent runs may write more than its command line says; that is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any

from tacit.domain.trajectory import Step, StepResult
from tacit.evidence.unseen import Reach, acts_on_unknown, snapshots, spreads
from tacit.text.programs import CHECKERS
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
"""Files that decide what a check means. An agent that touched one of them has not been checked by somebody else."""
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


@dataclass(frozen=True, slots=True)
class Change:
    """One change: the file or place, if known, whether it put work aside instead of adding to it, and how far it reaches."""

    file: str = ""
    sets_aside: bool = False
    reach: Reach = Reach.NAMED


def changes(step: Step) -> tuple[Change, ...]:
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
        return (Change(),)
    if not _EDITING.search(name):
        return ()
    return tuple(Change(file) for file in (*_files_named(step.arguments), *_files_written_by(step.arguments)))


def shell_changes(text: str) -> Iterator[Change]:
    """What a shell text changes, in the order of its commands."""
    patched = [name.strip() for pair in _PATCH_FILE.findall(text) for name in pair if name]
    yield from map(Change, patched)
    if _INLINE.search(text) and _WRITE_CALL.search(text):
        yield Change()
        yield from (Change(word) for word in re.split(r"[\s'\"()\[\],;]+", text) if word)
    if _SWEEPING.search(text):
        yield from (Change(word) for word in re.split(r"[\s'\"|;]+", text) if word)
    for command in parse_command(text):
        yield from _changes_of(command)
        if not (patched and "<<" in text):  # a patch that stands there says itself what it changes
            yield from (Change(place, reach=reach) for place, reach in spreads(command))


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


def _changes_of(command: Command) -> Iterator[Change]:
    for file in dict.fromkeys((*command.outputs, *(f.strip("'\"") for f in _REDIRECT.findall(command.text)))):
        if not file.startswith(("/dev/", "&")):
            yield Change(file)
    program, operands = command.program, command.operands
    if program in ("bash", "sh", "zsh", "dash", "eval"):
        script = " ".join(operands) if program == "eval" else nested_script(command)
        if script:
            yield from shell_changes(script)
    elif program in _ALL_OPERANDS:
        yield from map(Change, operands)
    elif program in _LAST_OPERAND and operands:
        yield Change(operands[-1])
        yield from (Change(f"{operands[-1]}/{PurePosixPath(source).name}") for source in operands[:-1])
    elif program in ("npm", "pnpm") and re.match(r"(?:pkg|set-script)\b", command.subcommand):
        yield from (Change("package.json") for _ in range("get" not in operands))
    elif snapshots(command):
        yield Change("__snapshots__")
    elif program == "git" and command.subcommand.partition(" ")[0] in _GIT_CHANGES:
        yield from _git_changes(command)
    elif program in ("curl", "wget", "dd"):
        yield from map(Change, _outputs_of(command.words))
    elif re.match(
        r"\s*(?:sudo\s+)?(?:g?sed|perl|ruby|g?awk|yq)\b.*\s(?:-\w*i|--in-place|inplace)", command.text, re.DOTALL
    ):
        yield from map(Change, command.text.split()[2:])
    elif acts_on_unknown(command):
        yield from (Change(word) for word in operands if _DECIDING.search(word))


def _git_changes(command: Command) -> Iterator[Change]:
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
    yield Change(sets_aside=aside)
    if verb in ("apply", "am"):
        return  # a patch is not what it changes
    yield from (Change(word, aside) for word in (*command.operands, second) if word and word != "--")


def _outputs_of(words: Iterable[str]) -> Iterator[str]:
    """Files that `curl -o`, `wget -O` and `dd of=` write."""
    expected = False
    for word in words:
        if expected or word.startswith("of="):
            yield word.removeprefix("of=")
        expected = word in ("-o", "-O", "--output", "--output-document")
