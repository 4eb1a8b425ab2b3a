"""The shape of the code base in figures: sizes, name reuse, public surface, command line, wording checks, one `learn`.

`make shape` prints them beside the limits of the plan; `python bench/shape.py --source DIR` counts another checkout.
Counting only: a figure over its limit is a place to look, and no test fails on it.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import re
import subprocess
import sys
from pathlib import Path

LIMITS = {
    "lines_core": 55_000, "lines_features": 30_000, "files": 450, "packages": 15, "loose_modules": 0, "layer_rows": 10,
    "class_names_reused_percent": 3, "module_names_reused_percent": 8, "readme_words": 900, "public_names_of_tacit": 20,
    "store_methods": 45, "commands_visible": 45, "options_visible": 250, "wording_checks": 150, "store_uses_in_surfaces": 0,
    "modules_run_by_one_learn": 90, "glossary_rows": 70,
}  # fmt: skip

MESSAGE = re.compile(
    r"reason|message|hint|\bout\b|\berr\b|output|stdout|stderr|str\(|advice|finding|problem|detail|note|line|said|told|text"
)
"""What an assert mentions if it looks at something written for people."""

COUNT_COMMANDS = """
import click, json
from tacit.surfaces.cli import cli
commands, options = 0, 0
def walk(group, context):
    global commands, options
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, parent=context, info_name=name)
        leaf = not isinstance(command, click.Group)
        commands += leaf or command.invoke_without_command
        seen = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
        options += sum(p.name not in ("as_json", "store") for p in seen)
        if not leaf:
            walk(command, inner)
walk(cli, click.Context(cli, info_name="tacit"))
print(json.dumps([commands, options]))
"""

COUNT_STORE = """
from tacit.store import Store
store = Store(":memory:")
print(sum(callable(getattr(store, name)) for name in dir(store) if not name.startswith("_")))
"""
COUNT_NAMES = """
import json, tacit
memory = tacit.open(":memory:")
print(json.dumps(len([name for name in {*dir(memory), *vars(memory)} if not name.startswith("_")])))
"""

COUNT_LEARN = """
import json, pathlib, sys, tempfile, tacit
from importlib import resources
folder = resources.files("tacit.demo") / "transcripts"
first = sorted(pathlib.Path(str(folder)).rglob("*.jsonl"))[0]
seen = set()
def profile(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        seen.add(frame.f_code.co_filename)
for measured in (False, True):  # the first run imports everything, so that the second one only works
    with tempfile.TemporaryDirectory() as place:
        memory = tacit.open(pathlib.Path(place) / "t.db")
        memory.capture(tacit.read(first))
        sys.setprofile(profile if measured else None)
        memory.learn()
        sys.setprofile(None)
        memory.close()
print(json.dumps(len([name for name in seen if "src/tacit/" in name])))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=".", help="the checkout to count")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args()
    figures = count(Path(chosen.source).resolve())
    if chosen.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        limit = LIMITS.get(name)
        over = "  over" if limit is not None and isinstance(value, int | float) and value > limit else ""
        print(f"{name:32} {value!s:>8}" + (f"   limit {limit}{over}" if limit is not None else ""))


def count(root: Path) -> dict[str, object]:
    package = root / "src/tacit"
    files = [f for f in package.rglob("*.py") if "demo" not in f.relative_to(package).parts]
    trees = {f: ast.parse(f.read_text(encoding="utf-8")) for f in files}
    lines = {f: len(f.read_text(encoding="utf-8").splitlines()) for f in files}
    features = {f for f in files if f.relative_to(package).parts[0] == "features"}
    classes = collections.Counter(
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    public = [name for name in classes if not name.startswith("_")]
    stems = collections.Counter(f.stem for f in files if f.stem not in ("__init__", "__main__"))
    commands, options = run(root, COUNT_COMMANDS) or (None, None)
    return {
        "lines_core": sum(lines[f] for f in files if f not in features),
        "lines_features": sum(lines[f] for f in features),
        "files": len(files),
        "packages": sum((d / "__init__.py").exists() for d in package.iterdir()),
        "loose_modules": sum(f.stem not in ("__init__", "__main__", "api") for f in package.glob("*.py")),
        "layer_rows": layer_rows(root),
        "class_names_reused_percent": round(100 * sum(classes[name] > 1 for name in public) / len(public)),
        "module_names_reused_percent": round(100 * sum(n > 1 for n in stems.values()) / len(stems)),
        "public_names_of_tacit": run(root, COUNT_NAMES),
        "store_methods": run(root, COUNT_STORE),
        "commands_visible": commands,
        "options_visible": options,
        "wording_checks": wording_checks(root),
        "store_uses_in_surfaces": store_uses(trees, package),
        "modules_run_by_one_learn": run(root, COUNT_LEARN),
        "glossary_rows": glossary_rows(root),
        "readme_words": len((root / "README.md").read_text(encoding="utf-8").split()),
        "test_lines": sum(len(f.read_text(encoding="utf-8").splitlines()) for f in (root / "tests").rglob("*.py")),
    }


def run(root: Path, program: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def layer_rows(root: Path) -> int:
    found = re.search(r"layers =\n((?:    .*\n)+)", (root / ".importlinter").read_text(encoding="utf-8"))
    return len(found[1].splitlines()) if found else 0


def wording_checks(root: Path) -> int:
    """Checks of wording in tests: `match=` with English in it, and asserts that compare four words or more with a message."""
    found = 0
    for f in (root / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(f.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "match":
                found += any(is_english(text, 1) for text in strings(node.value))
            elif isinstance(node, ast.Assert):
                found += bool(MESSAGE.search(ast.unparse(node.test))) and any(
                    is_english(text, 4) for text in compared(node.test)
                )
    return found


def compared(test: ast.expr) -> list[str]:
    sides = [
        side for node in ast.walk(test) if isinstance(node, ast.Compare) for side in (node.left, *node.comparators)
    ]
    calls = [
        argument
        for node in ast.walk(test)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("startswith", "endswith")
        for argument in node.args
    ]
    return [
        text for side in [*sides, *calls] if isinstance(side, ast.Constant | ast.JoinedStr) for text in strings(side)
    ]


def strings(node: ast.expr) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def is_english(text: str, words: int) -> bool:
    """Lower-case words in a row with spaces, no code signs: what a person would read as a sentence or a part of one."""
    return (
        len(re.findall(r"\b[a-z]{2,}\b", text)) >= words and " " in text.strip()
        if words > 1
        else bool(re.search(r"[a-z]{3,}", text))
    )


def store_uses(trees: dict[Path, ast.Module], package: Path) -> int:
    """Uses of a store's methods in surfaces: `….context.store.x` or `….store.x(`."""
    found = 0
    for f, tree in trees.items():
        if f.relative_to(package).parts[0] != "surfaces":
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "store"
                and isinstance(node.value, ast.Attribute | ast.Name)
            ):
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
                found += owner in ("context", "memory", "loop", "_memory")
    return found


def glossary_rows(root: Path) -> int:
    page = root / "docs/concepts/glossary.md"
    if not page.exists():
        page = root / "docs/concepts/vocabulary.md"
    return (
        max(sum(line.startswith("|") for line in page.read_text(encoding="utf-8").splitlines()) - 2, 0)
        if page.exists()
        else 0
    )


if __name__ == "__main__":
    main()
