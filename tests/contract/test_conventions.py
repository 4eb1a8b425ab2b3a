"""The rules of the code base hold over the whole source, and each rule is shown to catch what it forbids."""

from __future__ import annotations

import ast
import gc
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest
from packaging.requirements import Requirement

import tacit
from tests.contract import conventions
from tests.contract.conventions import RULES, Module, Rule
from tests.contract.project_files import ROOT, text_files

PACKAGE = ROOT / "src" / "tacit"

FUNCTION_LINES_P90 = 30
CLASS_NAMES_REUSED = 0.03
MODULE_NAMES_REUSED = 0.08
GLOSSARY_ROWS = 70

DOC = '"""Does one thing."""\n'
BAD: list[tuple[Rule, str, str]] = [
    (conventions.file_fits, "gate.py", DOC + "x = 1\n" * 700),
    (conventions.functions_fit, "gate.py", DOC + "def judge():\n" + "    x = 1\n" * 60),
    (conventions.options_are_keyword_only, "gate.py", DOC + "def judge(a, b, c=None): ...\n"),
    (
        conventions.options_are_keyword_only,
        "gate.py",
        DOC + "class Policy:\n    def judge(self, a, b, c=None): ...\n",
    ),
    (
        conventions.classes_are_small,
        "gate.py",
        DOC + "class Policy:\n" + "".join(f"    def rule_{n}(self): ...\n" for n in range(31)),
    ),
    (conventions.module_has_docstring, "gate.py", "x = 1\n"),
    (conventions.module_has_docstring, "gate.py", '"""Gate."""\n'),
    (conventions.module_has_docstring, "gate/__init__.py", "x = 1\n"),
    (conventions.excepts_are_narrow, "gate.py", DOC + "try: ...\nexcept Exception: ...\n"),
    (conventions.excepts_are_narrow, "gate.py", DOC + "try: ...\nexcept (OSError, BaseException): ...\n"),
    (conventions.excepts_are_narrow, "gate.py", DOC + "try: ...\nexcept: ...\n"),
    (conventions.excepts_are_narrow, "gate.py", DOC + "with contextlib.suppress(Exception): ...\n"),
    (conventions.environment_is_read_in_config, "gate.py", DOC + 'import os\nx = os.environ["X"]\n'),
    (conventions.environment_is_read_in_config, "gate.py", DOC + "from os import getenv\n"),
    (conventions.imports_are_absolute, "gate.py", DOC + "from . import policy\n"),
    (conventions.pure_modules_use_the_standard_library_only, "domain/skill.py", DOC + "import yaml\n"),
    (
        conventions.pure_modules_use_the_standard_library_only,
        "text/words.py",
        DOC + "from numpy.linalg import norm\n",
    ),
    (conventions.surfaces_leave_the_store_alone, "surfaces/cli/learn.py", DOC + "x = memory.context.store.counts()\n"),
    (conventions.printing_is_for_surfaces, "gate.py", DOC + "print('no')\n"),
]
GOOD = [
    ("gate.py", DOC + "def judge(a, b, *, c=None, d=None, e=None, f=None): ...\n"),
    (
        "gate.py",
        DOC + "class Policy:\n    def judge(self, a, b, *, c): ...\n    def _rank(self, a, b, c): ...\n",
    ),
    ("gate.py", DOC + "try: ...\nexcept (OSError, ValueError): ...\n"),
    ("gate/__init__.py", ""),
    (
        "surfaces/cli/learn.py",
        DOC + "@cli.command()\n@click.option('--a')\ndef learn(a, b, c, d, e, f, g): ...\n",
    ),
    ("domain/skill.py", DOC + "import json\nfrom tacit.domain import errors\n"),
    ("config/sources.py", DOC + "import os\nx = os.environ.get('X')\n"),
]


@cache
def modules() -> tuple[Module, ...]:
    """Parse the source when the first test needs it: collecting the tests takes no time for it."""
    gc.disable()  # a search for garbage in a million nodes takes as long as to parse them
    try:
        return tuple(
            Module.parse(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
            for path in sorted(PACKAGE.rglob("*.py"))
            if not path.is_relative_to(PACKAGE / "demo")  # the demo's little project is data, not our code
        )
    finally:
        gc.freeze()
        gc.enable()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_source_keeps_the_rule(rule: Rule) -> None:
    offences = [f"src/tacit/{m.path}:{line}: {what}" for m in modules() for line, what in rule(m)]
    assert not offences, listing(offences)


@pytest.mark.parametrize(("rule", "path", "text"), BAD)
def test_rule_catches_what_it_forbids(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Module.parse(path, text)))


def test_every_rule_is_shown_to_catch_something() -> None:
    assert {rule for rule, _, _ in BAD} == set(RULES)


@pytest.mark.parametrize(("path", "text"), GOOD)
def test_rules_leave_good_code_alone(path: str, text: str) -> None:
    assert [found for rule in RULES for found in rule(Module.parse(path, text))] == []


def test_class_names_have_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.path)
    reused = [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]
    assert len(reused) <= CLASS_NAMES_REUSED * len(places), listing(reused)


def test_module_names_have_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        stem = PurePosixPath(module.path).stem
        if stem not in ("__init__", "__main__"):
            places[stem].append(module.path)
    reused = [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]
    assert len(reused) <= MODULE_NAMES_REUSED * len(places), listing(reused)


def test_glossary_is_short_and_gives_each_word_one_meaning() -> None:
    page = (ROOT / "docs" / "concepts" / "glossary.md").read_text(encoding="utf-8")
    words = [word.lower() for word in re.findall(r"^\| \*\*(.+?)\*\* \|", page, re.MULTILINE)]
    assert 0 < len(words) <= GLOSSARY_ROWS
    assert len(words) == len(set(words)), listing(word for word in words if words.count(word) > 1)


def test_nine_functions_in_ten_fit_the_soft_ceiling() -> None:
    sized = sorted((d.lines, f"src/tacit/{m.path}:{d.node.lineno} {d.name}") for m in modules() for d in m.functions)
    p90 = sized[max(int(len(sized) * 0.9) - 1, 0)][0]
    longest = [f"{lines} lines  {where}" for lines, where in sized if lines > FUNCTION_LINES_P90]
    assert p90 <= FUNCTION_LINES_P90, f"p90 is {p90}" + listing(longest)


def test_public_names_are_declared_and_sorted() -> None:
    def is_ours(name: str) -> bool:
        value = getattr(tacit, name)
        return not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"

    assert list(tacit.__all__) == sorted(tacit.__all__)
    assert {name for name in dir(tacit) if is_ours(name)} == {n for n in tacit.__all__ if n != "__version__"}


def test_locks_pin_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    base = project["project"]["dependencies"]
    dev = [*base, *project["dependency-groups"]["dev"]]
    build = project["dependency-groups"]["build"]
    loose = [
        f"requirements/{lock}.txt does not satisfy {requirement}; run make lock"
        for lock, wanted in {"base": base, "dev": dev, "build": build}.items()
        for requirement in wanted
        if not is_pinned(Requirement(requirement), ROOT / "requirements" / f"{lock}.txt")
    ]
    assert not loose, listing(loose)


def test_no_file_names_a_machine_or_a_package_index() -> None:
    offences = [f"{path}: {found.group()}" for path, text in text_files().items() for found in MACHINE.finditer(text)]
    assert not offences, listing(offences)


@pytest.mark.parametrize("text", ["/root" + "/x", "see /work" + "/main", "(/home" + "/ann/x)", "--index" + "-url x"])
def test_machine_addresses_are_recognised(text: str) -> None:
    assert MACHINE.search(text)


@pytest.mark.parametrize(
    "text", ["src/work/x", "framework/root/y", "~/work/x", "the home/office", "/homework", "{tmp}/home/x"]
)
def test_ordinary_paths_are_not_machine_addresses(text: str) -> None:
    assert not MACHINE.search(text)


def test_files_are_found_without_git(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "left_out.py").write_text("x")
    (tmp_path / "kept.py").write_text("y")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    assert text_files(tmp_path) == {"kept.py": "y"}


MACHINE = re.compile(
    r"(?<![\w.~/}-])/(?:root|work)" + r"/|(?<![\w.~/}-])/home" + r"/\w|pypi\.org" + r"/simple|index" + r"-url"
)


def is_pinned(requirement: Requirement, lock: Path) -> bool:
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    version = pins.get(requirement.name.lower())
    return version is not None and requirement.specifier.contains(version)


def listing(lines: Iterable[str]) -> str:
    return "\n" + "\n".join(lines)
