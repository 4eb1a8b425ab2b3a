"""Do the tests bite? Branch coverage and mutants killed in the modules that decide whom an agent believes.

    make mutation          (or: .mutation/bin/python bench/mutation.py [--children N] [--only PART] [--folder DIR])

Works on a copy of the checkout. Every mutant is one small change of the code (mutmut makes them); it is killed where a test
fails. What survives is listed. Writes bench/results/mutation.json; exits 1 below 85 % killed or 100 % of branches. With a
folder it goes on where a run in it left off: what survived, and functions that were changed since, are tried again. Scanners
(`gate/checks`, `gate/detonation`) are not among the modules: how well they find is measured by benchmarks of their own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tacit"
RESULTS = ROOT / "bench" / "results" / "mutation.json"
GROUPS = {
    "gate": (("gate/*.py",), ("tests/unit/gate/test_*.py", "tests/property/test_gate.py")),
    "statistics": (
        ("outcome/credit.py", "outcome/reliability.py", "statistics.py"),
        (
            "tests/unit/evidence/test_credit.py", "tests/unit/evidence/test_reliability.py", "tests/unit/evidence/test_statistics.py",
            "tests/property/test_reliability.py",
        ),
    ),
    "audit": (
        ("memory/chain.py", "memory/sqlite/audit.py", "memory/sqlite/seals.py", "memory/sqlite/tombstones.py"),
        ("tests/unit/store/test_audit.py", "tests/unit/store/test_encoding.py", "tests/unit/store/test_purge.py"),
    ),
    "custody": (
        ("domain/purging.py", "memory/sqlite/custody.py"),
        ("tests/contract/test_store_trust.py", "tests/unit/domain/test_values.py"),
    ),
    "origins": (
        ("domain/lifecycle.py", "domain/trajectory.py", "domain/trust.py", "synthesis/grounding.py"),
        ("tests/unit/domain", "tests/unit/learn/test_values.py"),
    ),
}  # fmt: skip
"""Modules and the tests that try them. Each group has its own: a mutant is tried by every test that comes by it."""
KILLED_AT_LEAST = 0.85
KILLED = frozenset({"killed", "timeout", "suspicious", "segfault"})


def main() -> int:
    """Measure, tell, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--children", type=int, default=2, help="how many mutants are tried at once")
    parser.add_argument("--only", default="", help="only modules whose path contains this; keeps no result")
    parser.add_argument("--folder", type=Path, help="keep the copy here, and go on with what is there")
    options = parser.parse_args()
    mutants: dict[str, Counter[str]] = defaultdict(Counter)
    branches: dict[str, dict[str, int]] = {}
    survivors: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for group, (patterns, tests) in GROUPS.items():
            modules = [module for module in _found(SOURCE, patterns) if options.only in module]
            if modules:
                copy = _copy((options.folder or Path(scratch)) / group, modules, tests)
                branches |= _branches(copy, modules, tests)
                counts, left = _mutants(copy, options.children)
                mutants |= counts
                survivors += left
                print(
                    f"{group}: {sum(each.total() for each in counts.values())} tried, {len(left)} survived", flush=True
                )
    if not mutants:
        sys.exit(f"no module's path contains {options.only!r}")
    rows = {name: _row(mutants[name], branches.get(name)) for name in sorted({*mutants, *branches})}
    counted: Counter[str] = sum(mutants.values(), Counter())
    killed = sum(counted[status] for status in KILLED)
    share = killed / max(1, counted.total())
    _tell(rows, survivors)
    print(f"killed {killed} of {counted.total()} ({share:.1%})")
    if not options.only:
        kept = {
            "commit": _head(),
            "killed": killed,
            "mutants": counted.total(),
            "share": round(share, 4),
            "how": dict(sorted(counted.items())),
            "branches": sum(row["branches"] for row in branches.values()),
            "branches_missing": sum(row["missing"] for row in branches.values()),
            "modules": rows,
        }
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(share < KILLED_AT_LEAST or any(row["missing"] for row in branches.values()))


def _found(folder: Path, patterns: tuple[str, ...]) -> list[str]:
    """The paths below a folder that a pattern names, `__init__` left out: there is nothing to change in it."""
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.name != "__init__.py")
    return list(dict.fromkeys(path.relative_to(folder).as_posix() for path in paths))


def _row(mutants: Counter[str], branches: dict[str, int] | None) -> dict[str, float]:
    killed = sum(mutants[status] for status in KILLED)
    share = round(killed / mutants.total(), 3) if mutants.total() else 1.0
    return {"mutants": mutants.total(), "killed": killed, "share": share} | (branches or {})


def _tell(rows: dict[str, dict[str, float]], survivors: list[str]) -> None:
    for name, row in rows.items():
        told = f"{row['killed']:4} of {row['mutants']:4} killed ({row['share']:.1%})"
        print(f"{name:32} {told}, {row.get('missing', 0)} of {row.get('branches', 0)} branches missing")
    for name in survivors:
        print(f"  survived: {name}")


def _head() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _copy(tree: Path, modules: list[str], tests: tuple[str, ...]) -> Path:
    """The checkout as it is, and in its settings what is to be changed and by which tests it is tried."""
    for old in ("src", "tests", "mutants/tests"):  # what was deleted since must not stay
        shutil.rmtree(tree / old, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    settings = {
        "source_paths": ["src/tacit"],
        "only_mutate": [f"src/tacit/{module}" for module in modules],
        "also_copy": ["tests", "docs", "bench", "Makefile", "README.md"],
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": _found(tree, tests),
    }
    written = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    with (tree / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[tool.mutmut]\n{written}\n")
    return tree


def _branches(tree: Path, modules: list[str], tests: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """Branches of each module, and how many of them and of its statements no test takes."""
    include = ",".join(f"src/tacit/{module}" for module in modules)
    command = ["-m", "coverage", "run", "--branch", f"--include={include}", "-m", "pytest", "-q", *_found(tree, tests)]
    ended = subprocess.run([sys.executable, *command], cwd=tree, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"the tests do not pass as they are:\n{ended.stdout[-3000:]}")
    subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", "coverage.json"], cwd=tree, check=True)
    found = json.loads((tree / "coverage.json").read_text(encoding="utf-8"))["files"]
    rows = {}
    for path, told in found.items():
        missing = told["summary"]["missing_lines"] + told["summary"]["missing_branches"]
        if missing:
            print(f"  not taken in {path}: lines {told['missing_lines']}, branches {told['missing_branches']}")
        rows[path.removeprefix("src/tacit/")] = {"branches": told["summary"]["num_branches"], "missing": missing}
    return rows


def _mutants(tree: Path, children: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Module → how its mutants fared, and the names of those that lived."""
    before = [name for name, status in _results(tree) if status not in KILLED]
    _run(tree, "run", "--max-children", str(children))
    left = {name for name, status in _results(tree) if status not in KILLED}
    again = [name for name in before if name in left]
    if again:
        _run(tree, "run", "--max-children", str(children), *again)
    found = _results(tree)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, status in found:
        module = re.sub(r"\.x(?:ǁ|_).*", "", name).removeprefix("tacit.").replace(".", "/") + ".py"
        counts[module][status] += 1
    return counts, [f"{name} ({status})" for name, status in found if status not in KILLED]


def _run(tree: Path, *words: str) -> None:
    log = tree / "mutmut.log"
    with log.open("wb") as file:  # it draws a spinner: thousands of lines
        command = [sys.executable, "-m", "mutmut", *words]
        ended = subprocess.run(command, cwd=tree, stdout=file, stderr=file, check=False)
    if ended.returncode:
        sys.exit(f"mutmut did not get through (exit {ended.returncode}):\n{log.read_text(errors='replace')[-2000:]}")


def _results(tree: Path) -> list[tuple[str, str]]:
    """Every mutant with how it fared."""
    command = [sys.executable, "-m", "mutmut", "results", "--all", "true"]
    told = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    return re.findall(r"^\s*(tacit\.\S+): ([\w ]+)$", told.stdout, re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
