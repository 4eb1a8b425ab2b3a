"""Workspace changes: what a step changed, and whether it is known. It reads names, not contents, and runs nothing.

A step is known if it only reads, names the files it changes, formats, builds, installs what is locked, is a plain check, or
runs a script of the project that nobody wrote in the session. What any other program or tool does is not known: then a check
that Tacit runs itself can show the outcome.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.domain.trajectory import Step, StepResult
from tacit.evidence.deciding_files import decides_checks, is_output
from tacit.evidence.plain_checks import is_plain_setting, plain_check
from tacit.text.programs import FORMATTERS
from tacit.text.service_commands import asks_only
from tacit.text.shell import BARE, Command, nested_script, parse_command
from tacit.text.tool_calls import DELEGATING_TOOLS, changes_nothing, command_of, is_internal, plain_name, reads_by_name

_READERS = frozenset("read_file view read grep glob ls notebookread webfetch websearch web_fetch web_search".split())
_EDITING = re.compile(r"write|edit|patch|replace|create|insert|delete|remove|rename|move|append")
_PATCH_FILE = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$|^(?:\+\+\+|---) (?:[ab]/)?(\S+)", re.MULTILINE
)
_INLINE = re.compile(r"(?:^|[\s/])(?:python[\d.]*|node|ruby|perl|php|deno|bun)\s+(?:-\w*[ceE]\b|-(?:\s|$)|eval\b|<<)")
_WRITE_CALL = re.compile(
    r"\bopen\([^)]*['\"][wax+]|write_(?:text|bytes)|writeFile|appendFile|File\.write|\.write\(|(?:os|fs|shutil)\.\w*"
    r"(?:remove|unlink|rename|replace|move|copy|rmtree|rmSync|truncate)\w*|\.unlink\(|\.rename\(|file_put_contents"
)
_NO_EFFECT = frozenset(
    "cd pushd popd true false : pwd exit mkdir sleep wait kill ps jobs which type clear tput".split()
)
_REDIRECT = re.compile(r"[^\s>&\d-]>{1,2}\|?\s*([^\s;&|<>()'\"]+)")
_ALL_OPERANDS = frozenset("rm rmdir unlink touch tee mv chmod cp ln install truncate shred sponge ed rsync".split())
_SETUP = re.compile(
    r"git (?:pull|fetch|merge|cherry-pick|submodule update|switch|checkout(?: -q)? [\w./-]+$)|"
    r"(?:pip3?|uv pip|npm|pnpm|bun|gem|pipx) (?:install|i|add)\b|(?:uv|poetry|pdm|yarn|cargo) add\b|python3? -m venv\b|"
    r"uv venv|corepack enable"
)
"""What fetches or installs; at the beginning of a session it only sets the scene."""
_GIT_KEEPS = frozenset(
    "add commit push fetch tag config remote status log diff show blame branch init stash-list".split()
)
_GIT_CHANGES = frozenset(
    "checkout restore switch reset revert stash merge pull rebase cherry-pick apply am clean rm mv read-tree checkout-index "
    "sparse-checkout worktree submodule".split()
)
_FROM_LOCK = re.compile(
    r"(?:pip3?|uv pip) install (?:-q )?(?:-e|--editable) \./?(?:\[[\w,-]+\])?|(?:pip3?|uv pip) install (?:-q )?-r [\w./-]+|"
    r"(?:npm|pnpm|yarn|bun) (?:ci|install|i)(?: --frozen-lockfile| --no-audit| --no-fund| --silent)*|yarn|uv sync(?: \S+)*|"
    r"poetry install(?: \S+)*|bundle install(?: \S+)*|bundle check|composer install|go mod (?:download|verify)|"
    r"cargo fetch|mix deps\.get|dotnet restore|"
    r"(?:npm|pnpm|yarn|bun)(?: run)? (?:build|compile|clean|format|dev)|make(?: -j ?\d*)?(?: clean| all| build)*|"
    r"mvn(?: -[qB])* (?:clean|compile)|"
    r"cargo (?:build|fmt|doc|clean)(?: --\S+)*|go (?:fmt|env(?! -[wu])|version|list|doc)(?: \S+)*|pip3? (?:list|show|freeze|"
    r"--version).*|gh api (?!.*(?:-X|--method|-f|-F|--field|--input)\b).*|ssh .*|tar -?[tc]\w* .*|"
    r"tar -?x\w* \S+ -C /tmp/.*|unzip -l .*|gh (?:pr|issue) (?:create|comment|edit|view|list|checks)\b.*"
)
"""Commands that build, or install what the manifest and the lock file of the project name."""
_REWRITING = re.compile(
    r"(?:^| )-u\b|update|snapshot|bless|accept|regen|golden|--fix\b|SHELL=|IGNORE|ignore|--eval|-f\b|-C\b|environment|setenv"
)
_FETCHING = frozenset({"curl", "wget"})
_SENDING = re.compile(
    r"-[a-zA-Z]*[XdTFK].*|--(?:request|data|json|form|upload|url-query|post|body|method|config)[\w=-]*.*"
)
"""Flags with which these send something: to a service that the tests may ask."""


@dataclass(frozen=True, slots=True)
class WorkspaceChange:
    """One change: the file or place, empty where it is not named, and the text that was put there, where it shows."""

    file: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class StepEffect:
    """What a step changed, and the part of it of which that is not known."""

    changes: tuple[WorkspaceChange, ...] = ()
    unknown: str = ""
    """A command or tool whose effect is not known; empty if there is none."""
    runs: tuple[str, ...] = ()
    """Scripts of the project that were run; known as long as nobody wrote them in the same session."""
    setup: bool = False
    """Whether it only fetched or installed something."""
    delegates: bool = False


def changes(step: Step) -> tuple[WorkspaceChange, ...]:
    """What a step changed, as far as it shows."""
    return step_effect(step).changes


def step_effect(step: Step) -> StepEffect:
    """What a step changed. A failed shell command may have changed something before it failed; a failed edit has not."""
    if step.result is StepResult.DENIED:
        return StepEffect()
    text = command_of(step.tool, step.arguments)
    if text:
        return shell_effect(text)
    name = plain_name(step.tool)
    if name in DELEGATING_TOOLS:
        return StepEffect((WorkspaceChange(),), delegates=True)
    if name == "write_stdin":
        return shell_effect(str(step.arguments.get("chars", "")))
    if name == "slashcommand":
        return StepEffect(unknown=step.tool)
    if step.failed or is_internal(step.tool, step.arguments) or name in _READERS:
        return StepEffect()
    if not _EDITING.search(name):
        return StepEffect(unknown="" if reads_by_name(name) else step.tool)
    written = "\n".join(_texts(step.arguments))
    files = tuple(dict.fromkeys(_files_named(step.arguments)))
    if files:
        return StepEffect(tuple(WorkspaceChange(file, written) for file in files))
    return StepEffect(unknown=step.tool)


def shell_effect(text: str) -> StepEffect:
    """What a shell text changes, in the order of its commands."""
    patched = [name.strip() for pair in _PATCH_FILE.findall(text) for name in pair if name and name != "/dev/null"]
    found = [WorkspaceChange(file, text) for file in patched] if "<<" in text else []
    unknown, parts = "", list[str]()
    if _INLINE.search(text):
        unknown = "an inline program"
        parts.append(unknown)
        if _WRITE_CALL.search(text):
            found.append(WorkspaceChange())
    for command in parse_command(text, bare=True):
        script = nested_script(command)
        done = shell_effect(script) if script else _effect_of(command, patched=bool(patched) and "<<" in text)
        body = text if "<<" in text else ""
        found += [change if change.text else WorkspaceChange(change.file, body) for change in done.changes]
        unknown = unknown or done.unknown
        parts.append(done.unknown)
    setup = bool(unknown) and all(_SETUP.match(part) for part in parts if part)
    runs = tuple(script for command in parse_command(text) if (script := _script_run(command)))
    return StepEffect(tuple(found), unknown, runs, setup=setup)


def _effect_of(command: Command, *, patched: bool) -> StepEffect:
    """What one command changes."""
    written = (*command.outputs, *_REDIRECT.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", command.text)))
    outputs = tuple(WorkspaceChange(file) for file in dict.fromkeys(written) if not file.startswith(("/dev/", "&")))
    program, line = command.program, " ".join(command.words)
    strange = re.match(
        r"[\s({]*(?:!|if|for|while|until|case|function|trap|eval|exec|alias|hash)\b|.*\(\)\s*\{?|[\s({]*!\s",
        command.text,
    )
    unknown = command.text[:80]
    if strange or (("$(" in command.text or "`" in command.text) and not _only_prints(command)):
        return StepEffect(outputs, unknown)
    if program == BARE or program in ("export", "declare", "set", "source", ".", "unset"):
        return StepEffect(outputs, "" if _is_plain_shell_setting(command) else unknown)
    if program in _NO_EFFECT or _is_reader(command) or _is_plain_check(command):
        return StepEffect(outputs)
    if program == "git":
        return _git_effect(command, patched=patched)
    if program == "apply_patch" or (program == "patch" and {"--dry-run"} & set(command.flags)):
        return StepEffect(outputs, "" if patched or program == "patch" else unknown)
    if program in _ALL_OPERANDS:
        return StepEffect((*outputs, *_operands_changed(command)))
    if program in ("sed", "perl"):
        files = [
            word
            for word in command.operands[0 if {"-e", "-pe"} & set(command.flags) else 1 :]
            if "/" in word or "." in word or re.fullmatch(r"[A-Z][a-z]*file", word)
        ]
        return StepEffect((*outputs, *(WorkspaceChange(file) for file in files[:20])), "" if files else unknown)
    if (program in FORMATTERS and "unsafe" not in line) or re.match(
        r"ruff (?:format|check(?!.* --unsafe))|eslint .*--fix|npx prettier", line
    ):
        return StepEffect(outputs)
    if program in _FETCHING:
        given = [
            word
            for flag, word in zip(command.words, command.words[1:], strict=False)
            if re.fullmatch(r"-\w*[oO]|--output", flag)
        ]
        only_fetches = command.connector != "|" and not any(map(_SENDING.fullmatch, command.words[1:]))
        return StepEffect((*outputs, *map(WorkspaceChange, given)), "" if only_fetches else unknown)
    if _FROM_LOCK.fullmatch(line) or asks_only(command) or _is_own_script(command):
        return StepEffect(outputs)
    return StepEffect(outputs, unknown)


def _only_prints(command: Command) -> bool:
    return command.program in ("echo", "printf", "git", "kill", "cd")


def _is_reader(command: Command) -> bool:
    """Whether a command only reads; a reader that may write or run something by its own language does not count."""
    if command.program in ("awk", "sed", "env", "time", "man", "less", "test") and re.search(
        r"system|[|>]|/w\b|\bw \S", " ".join(command.words)
    ):
        return False
    if command.program in ("yq", "jq", "sort", "tree", "xxd", "hexdump", "uniq") and re.search(
        r" (?:-i|-o|-r|--in-?place|--output)\b", " ".join(command.words)
    ):
        return False
    if command.program == "date" and re.search(r" (?:-\w*s\b|--set)", " ".join(command.words)):
        return False
    if command.program == "find" and {"-exec", "-execdir", "-delete", "-ok", "-fprint"} & set(command.flags):
        return False
    return changes_nothing(command._replace(outputs=()))


def _is_plain_check(command: Command) -> bool:
    """Whether a command is a plain check that rewrites no expected results."""
    rewrites = re.search(r"update|snapshot|bless|accept|regen|unsafe", " ".join(command.words[1:]))
    return plain_check(command) is not None and not rewrites


def _is_plain_shell_setting(command: Command) -> bool:
    if command.program in ("source", "."):
        return (
            bool(command.operands)
            and re.fullmatch(r"(?:\./)?(?:[\w-]+/)?\.?v?env[\w.-]*/bin/activate", command.operands[0]) is not None
        )
    if command.program == "set":
        return all(re.fullmatch(r"-[euxo]+|pipefail|errexit|nounset", word) for word in command.words[1:])
    given = (*command.assignments, *(word for word in command.operands if "=" in word))
    return command.program != "unset" and all(map(is_plain_setting, given))


def _operands_changed(command: Command) -> Iterator[WorkspaceChange]:
    """Files that `rm`, `mv`, `cp` and the like change; what only left a build or a cache is no change of the work."""
    operands = [word for word in command.operands if word]
    if command.program in ("cp", "ln", "install", "rsync"):
        target = operands[-1] if operands else ""
        if not is_output(target.split("/")[0]) and not (target.startswith("/tmp/") and command.program == "cp"):
            names = [f"{target.rstrip('/')}/{word.rstrip('/').rpartition('/')[2]}" for word in operands[:-1]]
            is_file = "." in target.strip("./").rpartition("/")[2] and len(operands) == 2
            yield from map(WorkspaceChange, [target] if is_file or "-T" in command.text else names or [target])
    else:
        yield from (WorkspaceChange(word) for word in operands if not (command.program == "rm" and is_output(word)))


def _git_effect(command: Command, *, patched: bool) -> StepEffect:
    verb, _, second = command.subcommand.partition(" ")
    words = set(command.words)
    if verb in ("checkout", "switch") and words & {"-b", "-c"} and len(command.operands) < 2:
        return StepEffect()
    if verb == "stash" and (second in ("list", "show") or words & {"list", "show"}):
        return StepEffect()
    if verb in ("apply", "am") and words & {"--check", "--stat"}:
        return StepEffect()
    if verb == "worktree" and words & {"list"}:
        return StepEffect()
    if verb == "apply" and patched:
        return StepEffect()
    if verb in _GIT_CHANGES:
        return StepEffect((WorkspaceChange(),), command.text[:80])
    known = verb in _GIT_KEEPS and not words & {"core.hooksPath", "core.fsmonitor"} and "-c" not in command.flags
    return StepEffect(unknown="" if known or changes_nothing(command) else command.text[:80])


def _script_run(command: Command) -> str:
    """The script of the project that a command runs; empty where it runs none."""
    if not re.fullmatch(
        r"(?:(?:\S*/)?(?:python|pypy)[\d.]*|node|ruby|php|(?:ba)?sh|deno run|bun|tsx|ts-node|uv run(?: python\d*)?|)",
        command.runner,
    ):
        return ""
    is_script = re.fullmatch(
        r"(?:\./)?(?!/|~|\.\.)[\w./-]+\.(?:py|js|mjs|cjs|ts|rb|php|sh)|\./[\w./-]+|bin/[\w-]+", command.typed
    )
    return command.typed if is_script else ""


def _is_own_script(command: Command) -> bool:
    """Whether this runs a script or module that is given no deciding file and not told to write expected results anew."""
    words = command.words[1:]
    rewrites = _REWRITING.search(" ".join(words)) or any("/" in word and decides_checks(word) for word in words)
    is_module = command.runner.endswith("-m") and re.fullmatch(r"[a-z_]\w*(?:\.\w+)*", command.program) is not None
    known = command.program.partition(".")[0] in sys.stdlib_module_names | {"pip", "pytest"}
    return (bool(_script_run(command)) or (is_module and not known)) and not rewrites


def _files_named(value: Any, key: str = "") -> Iterator[str]:
    """Paths in the arguments of an editing tool, at any depth, and in the patch it carries."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _files_named(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _files_named(item, key)
    elif isinstance(value, str):
        if re.search(r"path|file|uri", key, re.IGNORECASE):
            yield value
        elif "***" in value or "+++" in value:
            yield from (
                name.strip() for pair in _PATCH_FILE.findall(value) for name in pair if name and name != "/dev/null"
            )


def _texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    """What an edit writes, without what it replaces."""
    for key, value in arguments.items():
        if isinstance(value, Mapping):
            yield from _texts(value)
        elif isinstance(value, list | tuple):
            yield from (text for item in value if isinstance(item, Mapping) for text in _texts(item))
        elif isinstance(value, str) and not re.match(r"old", key):
            lines = value.splitlines() if "*** Begin Patch" in value or "\n@@" in value else ()
            yield "\n".join(line[1:] for line in lines if line.startswith("+")) if lines else value
