"""A commit's settings of tests and a check's words → which files decide the check, and whether a change of another weakens it.

Tests are known by their usual names, whatever their case, and by what the settings of the common test runners say: names,
folders and patterns. Code that is no test by its name may hold tests too: examples, test blocks, nothing but assertions. Pure.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tacit.evidence.changes import decides_checks

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
        names = [name for said in _found(_PYTHON_FILES, texts) for name in re.findall(r"[\w*?.-]*[*?.][\w*?.-]*", said)]
        named = [name for said in _found(_PYTHON_FOLDERS, texts) for name in re.findall(r"[\w*./-]+", said)]
        folders = [folder.strip("/").removeprefix("./") for folder in (*named, *_found(_STARTED, lines))]
        scripts = [text for path, text in settings.items() if not path.endswith((".ini", ".cfg", ".toml"))]
        patterns = [one for said in _found(_PATTERNS, scripts) for one in re.findall(r"[\"']([^\"'\n]+)[\"']", said)]
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
    return [said for text in texts for said in pattern.findall(text)]


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
