"""Command of a shell → does it change files that its words do not name? Unpacking, patching, taking over another state.

`changes` tells what a command names; this tells where anything at all may have changed, and what was brought in from
elsewhere. Reads words only, and errs on the side of "changed".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise

from tacit.text.programs import CHECKERS, FORMATTERS, WITH_SUBCOMMAND
from tacit.text.shell import Command, is_check


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
"""Programs that look at what they are given, or whose changes are told by `changes`."""


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
    """Whether nobody knows what this program does to the files that it is given."""
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
