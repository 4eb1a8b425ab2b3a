"""What the clients already know of a project: their own memories, and the instruction files that they load. Reads only.

Claude Code keeps notes per project, Codex a handbook of all projects with the folder that each part applies to; both load
instruction files of the project and of the person. Each bullet, paragraph, table row or line of shell code is one statement.
A link is followed only inside the folder that it lies in, secrets are redacted, and everything is bounded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from pathlib import Path

from tacit.config.files import read_plain
from tacit.config.location import project_root
from tacit.text.opposition import opposed
from tacit.text.redaction import may_hold_secret, redact
from tacit.text.words import term_set, terms

MAX_BYTES = 256 * 1024
"""Of one file; the rest of a longer one is not read."""
MAX_FILES = 200
MAX_FOLDERS = 3_000
MAX_DEPTH = 4
"""Folders below the project in which instruction files are looked for."""
MAX_SUMMARIES = 20
"""The newest summaries of Codex sessions that are read."""
MAX_STATEMENTS = 4_000
MAX_CHARACTERS = 800

_IN_ANY_FOLDER = frozenset({
    "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", ".cursorrules",
})  # fmt: skip
_IN_CLIENT_FOLDERS = (
    ".claude/CLAUDE.md", ".claude/rules/*.md", ".claude/agent-memory*/*.md", ".cursor/rules/*.md", ".cursor/rules/*.mdc",
    ".github/copilot-instructions.md", ".github/instructions/*.md",
)  # fmt: skip
"""Instruction files and agents' notes in a project; `*` includes folders below."""
_OF_THE_PERSON = {
    "claude-code": ("CLAUDE.md", "rules/*.md"),
    "codex": (
        "AGENTS.md", "AGENTS.override.md", "memories/MEMORY.md", "memories/memory_summary.md", "memories/skills/*/SKILL.md",
    ),
    "gemini": ("GEMINI.md",),
}  # fmt: skip
_CLIENT_FOLDERS = frozenset({".claude", ".cursor", ".github"})
_NOT_ENTERED = frozenset({"node_modules", "vendor", "venv", "__pycache__", "dist", "build", "target", "site-packages"})
_SHELL_CODE = frozenset({"", "bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a file says, and where."""

    path: Path
    line: int
    text: str
    is_command: bool = False
    """Whether it is a line of shell code."""

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.path}:{self.line}"


def known_statements(
    workspace: Path, home: Path, *, client_folders: Mapping[str, Path] | None = None
) -> tuple[Statement, ...]:
    """Return what the instruction files and the clients' memories say for a project, the project's own files first.

    `home` is the person's; `client_folders` names clients' folders that lie elsewhere (`sources.client_homes`).
    """
    folders = {client: home / f".{client.removesuffix('-code')}" for client in _OF_THE_PERSON} | dict(
        client_folders or {}
    )
    found: list[Statement] = []
    seen: set[str] = set()
    for path, root in _files(workspace, home, folders):
        real = os.path.realpath(path)
        if real not in seen and Path(real).is_relative_to(os.path.realpath(root)):
            seen.add(real)
            found += islice(_statements(Path(real) if path.is_symlink() else path, root, workspace), MAX_STATEMENTS)
        if len(seen) >= MAX_FILES or len(found) >= MAX_STATEMENTS:
            break
    return tuple(found[:MAX_STATEMENTS])


def _files(workspace: Path, home: Path, folders: Mapping[str, Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the files to read, each with the folder that a link in its place may not leave."""
    for path in _files_below(workspace, depth=MAX_DEPTH):
        inside = path.relative_to(workspace).as_posix()
        if path.name in _IN_ANY_FOLDER or any(
            fnmatch(inside, pattern) or fnmatch(inside, f"*/{pattern}") for pattern in _IN_CLIENT_FOLDERS
        ):
            yield path, workspace
    slugs = dict.fromkeys(re.sub(r"[^A-Za-z0-9]", "-", str(each)) for each in _names_of(workspace))
    for slug in slugs:
        memory = folders["claude-code"] / "projects" / slug / "memory"
        yield from ((path, memory) for path in _files_below(memory, depth=2) if path.suffix == ".md")
    summaries = folders["codex"] / "memories" / "rollout_summaries"
    newest = sorted(_files_below(summaries, depth=0), key=lambda path: path.name, reverse=True)
    yield from ((path, summaries) for path in newest[:MAX_SUMMARIES])
    for client, patterns in _OF_THE_PERSON.items():
        for pattern in patterns:
            matching = sorted(folders[client].glob(pattern)) if "*" in pattern else [folders[client] / pattern]
            yield from (
                (path, home if path.is_relative_to(home) else folders[client]) for path in matching if path.is_file()
            )


def _files_below(root: Path, *, depth: int) -> Iterator[Path]:
    """Yield the files of a folder, those near its top first, without following links to folders."""
    level, visited = [] if root.is_symlink() else [root], 0
    for _ in range(depth + 1):
        below: list[Path] = []
        for folder in level[: MAX_FOLDERS - visited]:
            visited += 1
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            yield from (Path(entry.path) for entry in entries if not entry.is_dir(follow_symlinks=False))
            for entry in entries:
                skipped = entry.name.startswith(".") or entry.name in _NOT_ENTERED
                if entry.is_dir(follow_symlinks=False) and (entry.name in _CLIENT_FOLDERS or not skipped):
                    below.append(Path(entry.path))
        level = below


def _names_of(workspace: Path) -> tuple[str, ...]:
    """Return the paths under which clients may know a workspace: a worktree shares the notes of its repository."""
    names = (str(workspace), os.path.realpath(workspace), project_root(str(workspace)))
    return tuple(dict.fromkeys(names))


def _statements(path: Path, root: Path, workspace: Path) -> Iterator[Statement]:
    try:
        text = read_plain(path, limit=MAX_BYTES)[:MAX_BYTES].decode("utf-8", "replace")
    except OSError:
        return
    lines = text.splitlines()
    if root.name == "rollout_summaries":
        head = lines[: lines.index("")] if "" in lines else lines
        applies = _applies([line for line in head if line.startswith("cwd:")], workspace)
        lines = [""] * len(head) + lines[len(head) :] if applies else []
    elif path.parent.name == "memories" and path.name in ("MEMORY.md", "memory_summary.md"):
        lines = _of_this_project(lines, workspace)
    secret = may_hold_secret(text)
    for number, line, is_command in _split(lines):
        clean = redact(line).text if secret else line
        if re.search(r"[^\W\d_]{2}", clean):
            yield Statement(path, number, clean[:MAX_CHARACTERS], is_command)


def _of_this_project(lines: Sequence[str], workspace: Path) -> list[str]:
    """Return the lines of Codex's memory that apply here; others, and what only leads to files, become empty."""
    kept: list[str] = []
    applies, left_out = True, 0
    for number, line in enumerate(lines):
        level = len(line) - len(line.lstrip("#"))
        if level == 1:
            block = takewhile(lambda each: not each.startswith("# "), lines[number + 1 :])
            applies = _applies([each for each in block if each.startswith("applies_to:")], workspace)
        if level and (not left_out or level <= left_out):
            left_out = level if line.strip("# ").casefold() in _ROUTING else 0
        is_statement = applies and not left_out and not re.match(r"(?:scope|applies_to):|v\d+$", line)
        kept.append(line if is_statement else "")
    return kept


_ROUTING = frozenset({"rollout_summary_files", "extension_resource_files", "keywords", "what's in memory"})
"""Sections of Codex's memory that only say where to look."""


def _applies(lines: Iterable[str], workspace: Path) -> bool:
    """Whether a note applies to a workspace: it names that folder, one inside or around it, or no folder at all."""
    named = [path.rstrip("/.,;)`") for line in lines for path in re.findall(r"(?<![\w.])/[^\s;,`]+", line)]
    here = _names_of(workspace)
    return not named or any(
        f"{one}/".startswith(f"{other}/")
        for path in named
        for name in here
        for one, other in ((path, name), (name, path))
    )


_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w-]*)")
_FRAMES = re.compile(r"\A---\n.*?^---$|^<!-- tacit: begin.*?^<!-- tacit: end -->|<!--.*?-->", re.DOTALL | re.MULTILINE)
"""The head of a file, Tacit's own part, and comments."""
_DESCRIPTION = re.compile(r"^description:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)


def _split(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield the statements of a Markdown text, each with its first line and whether it is shell code."""
    text, start, fence, language = "", 0, "", ""
    for number, line in enumerate(_FRAMES.sub(_unframed, "\n".join(lines)).split("\n"), 1):
        mark = _FENCE.match(line)
        if fence and not (mark and mark[1].startswith(fence)):
            code = line.strip().removeprefix("$ ")
            if language in _SHELL_CODE and code and not code.startswith("#"):
                yield number, code, True
            continue
        bullet, bare = _BULLET.match(line), line.strip().lstrip(">").strip()
        if bare and not mark and not bullet and not bare.startswith(("#", "|")):
            text, start = f"{text} {bare}".strip(), start if text else number
            continue
        if text:
            yield start, text.replace("**", ""), False
        text, start = (
            line[bullet.end() :].strip() if bullet else bare.strip("| ") if bare.startswith("|") else "",
            number,
        )
        if mark:
            fence, language = ("", "") if fence else (mark[1], mark[2].casefold())
    if text:
        yield start, text.replace("**", ""), False


def _unframed(frame: re.Match[str]) -> str:
    """Return as many line breaks, so that lines keep their numbers, and the description that a head gives."""
    described = _DESCRIPTION.search(frame[0]) if frame[0].startswith("---") else None
    before, after = (frame[0][: described.start()], frame[0][described.end() :]) if described else (frame[0], "")
    return "\n" * before.count("\n") + (described[1] if described else "") + "\n" * after.count("\n")


MIN_COVERED = 0.7
"""The weighted share of a text's words that a statement must have. Set by hand between the pairs of
`tests/unit/ingest/said_pairs.py`."""
_LITERAL_WEIGHT, _FILLER_WEIGHT = 2.0, 0.4
_LITERAL = re.compile(r"`([^`]+)`|(\S*[\w)][/_=.][\w(]\S*|--?[a-z][\w-]*|\b[A-Z]{2,}\w*|\S*\d\S*)")
"""Code, paths, options, names in capitals and numbers: a statement without them says something else."""
_SYNONYMS = {
    word: group[0]
    for group in map(
        terms,
        (
            "answer reply respond response", "edit change modify alter", "folder directory dir", "repository repo",
            "delete remove", "repeat restate", "start launch", "build compile", "database db", "dependency package",
            "keep kept", "build built", "run ran", "write wrote written", "hold held", "make made", "find found",
        ),
    )
    for word in group
}  # fmt: skip
_FILLER = term_set(
    "always never avoid must should only instead rather prefer project here every each before after first then otherwise run "
    "person user agent sure ensure pass prior want need call code please remember simply merely directly such follow hand "
    "manually work everything whenever"
)
_NEGATION = re.compile(r"\b(?:no|not|never|without|avoid|instead of|rather than)\b", re.IGNORECASE)
_BAN = re.compile(r"(?:please )?(?:never|do not|avoid|no|stop)\b", re.IGNORECASE)
_RELATION = re.compile(
    r"\b(?:before|after|first|then|until|unless|instead|fail\w*|not?|never|only|needs?|when|if|because|once)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_MIN_TERMS = 2
_LONG = 300
"""Characters from which a statement is compared by pairs of sentences: a long one has many words by chance."""


def find_statement(text: str, statements: Iterable[Statement]) -> Statement | None:
    """Return a statement that says what a text says; where several say its sentences, the first of them.

    Compares words, so it recognises the same rule, command or place in other order and grammar, but few synonyms; a text that
    names a command, path, option or number of its own, or says the opposite, counts as new.
    """
    known = list(statements)
    sentences = [each for each in _SENTENCE.split(text) if len(_words(each) - _FILLER) >= _MIN_TERMS]
    found = [_saying(sentence, known) for sentence in sentences]
    return found[0] if found and all(found) else None


def _saying(text: str, statements: Sequence[Statement]) -> Statement | None:
    text = _normal(text)
    words = _words(text)
    literals = _words(" ".join(code or bare for code, bare in _LITERAL.findall(text)))
    weights = {
        word: _LITERAL_WEIGHT if word in literals else _FILLER_WEIGHT if word in _FILLER else 1.0 for word in words
    }
    least = MIN_COVERED * sum(weights.values())
    for statement in statements:
        for piece, known in _pieces(statement.text):
            if literals <= known and sum(weights[word] for word in words & known) >= least and not _denies(text, piece):
                return statement
    listed = _listing(text, statements)
    known = frozenset[str]().union(*(_words(_normal(each.text)) for each in listed))
    return listed[0] if listed and sum(weights[word] for word in words & known) >= least else None


def _listing(text: str, statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements of one file that name the commands of a text, which lists several and relates none of them."""
    named = dict.fromkeys(code for code, _ in _LITERAL.findall(text) if code)
    if len(named) < _MIN_TERMS or _RELATION.search(text):
        return []
    naming = [[each for each in statements if code in each.text] for code in named]
    files = (dict.fromkeys(each.path for each in naming[0])) if all(naming) else {}
    for path in files:
        chosen = [next((each for each in found if each.path == path), None) for found in naming]
        if all(chosen):
            return [each for each in chosen if each]
    return []


@lru_cache(maxsize=MAX_STATEMENTS)
def _pieces(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    sentences = _SENTENCE.split(_normal(text)) if len(text) > _LONG else []
    pieces = [f"{one} {other}" for one, other in pairwise(sentences)] or [_normal(text)]
    return tuple((piece, _words(piece)) for piece in pieces)


def _normal(text: str) -> str:
    return re.sub(r"\bPR(s?)\b", r"pull request\1", re.sub(r"(?<=[a-z])n['’]t\b", " not", text))


def _words(text: str) -> frozenset[str]:
    return frozenset(_SYNONYMS.get(term, term) for term in term_set(text))


def _denies(text: str, statement: str) -> bool:
    """Whether one of the two forbids what the other asks for or allows."""
    words = _words(text)
    closest = max(_SENTENCE.split(statement), key=lambda sentence: len(words & _words(sentence)))
    negated = bool(_NEGATION.search(text))
    if any(negated is bool(_NEGATION.search(each)) for each in (closest, statement)):
        return False
    return bool(_BAN.match(text) or _BAN.match(closest)) or bool(opposed(text, statement))
