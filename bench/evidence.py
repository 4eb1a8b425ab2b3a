"""Checks that were made to pass, and checks that passed honestly: which of them does Tacit grade machine-verified?

    python bench/evidence.py [--logs] [--verify] [--out bench/results/evidence.json]

`--logs` reads sessions of Claude Code in which a check ends well (`_evidence_logs.py`): no trick may be machine-verified,
and honest work should be. `--verify` runs `tacit record USE --verify CHECK` in real projects after a trick, a fix or a
change that fixes nothing (`_evidence_projects.py`). What needs a toolchain that is not here is left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import _evidence_heldout as third
from _evidence_logs import Session, claude_code, honest_sessions, log_tricks
from _evidence_projects import PROJECTS as FIRST_PROJECTS
from _evidence_projects import TRICKS, Project, create, do, run, write_files
from _person import sign_in

import tacit
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin

PROJECTS = {**FIRST_PROJECTS, **third.PROJECTS}
_INSTALL = {
    "go": "apt-get install golang-go",
    "cargo": "install rustup (https://rustup.rs)",
    "rspec": "apt-get install ruby-rspec",
    "gradle": "apt-get install gradle",
    "java": "apt-get install default-jdk",
    "javac": "apt-get install default-jdk",
    "npm": "apt-get install npm",
    "pytest": "pip install pytest",
}


def is_verified(session: Session, folder: Path) -> bool:
    """Whether a session counts as a machine-verified success once it was captured."""
    path = claude_code(session, folder)
    with tacit.open(":memory:") as memory:
        memory.capture(tacit.read(path))
        found = [episode.assessment for episode in memory.context.store.episodes()]
    return any(each.verified_success and each.grade is Grade.MACHINE for each in found)


def measure_logs() -> dict[str, Any]:
    """Grade every session, and count by family and ecosystem."""
    graded: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    passed_tricks: list[str] = []
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for session in (*log_tricks(), *third.log_tricks(), *honest_sessions(), *third.honest_sessions()):
            kept = is_verified(session, Path(name))
            asked[session.family] += 1
            graded[session.family] += kept
            if session.family == "honest":
                lost += [] if kept else [session.name]
            elif kept:
                passed_tricks.append(session.name)
    tricks = sum(asked.values()) - asked["honest"]
    return {
        "tricks": tricks,
        "tricks_machine_verified": len(passed_tricks),
        "honest": asked["honest"],
        "honest_machine_verified": graded["honest"],
        "by_family": {family: [graded[family], asked[family]] for family in sorted(asked)},
        "tricks_that_passed": passed_tricks,
        "honest_that_were_lost": lost,
    }


class Workshop:
    """A home folder, an environment and a project with a store in which one skill was shown."""

    def __init__(self, project: Project, root: Path) -> None:
        self.project, self.root, self.home, self.folder = project, root, root / "home", root / "shop"
        self.home.mkdir(parents=True)
        self.note = ""
        self.folder.mkdir()
        real = Path.home()
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(real / ".rustup")),
            "GOCACHE": str(root.parent / "gocache"),
        }
        create(project, self.folder, self.environment)
        content = SkillContent(
            kind=Kind.PROCEDURE,
            name="repair-the-total",
            description="Repair the total of the shop.",
            steps=(SkillStep(text="Repair the total", tool="Bash", arguments={"command": "true"}),),
            postconditions=(Condition(text="the tests pass", check=project.check),),
        )
        time.sleep(0.25)
        (self.folder / ".tacit").mkdir()
        (self.folder / ".tacit" / ".gitignore").write_text("*\n")
        before = Path.cwd()
        os.chdir(self.folder)
        with tacit.open(self.folder / ".tacit" / "tacit.db") as memory:
            verdict = memory.propose(content, by="ann", origin=Origin.USER)
            memory.review(verdict.version_id, "approve", by="ann")
        with tacit.open() as memory:
            self.use = memory.recall(content.description).use_id
        os.chdir(before)

    def record(self, check: str, environment: Mapping[str, str]) -> str:
        """Record by the command line; return the outcome and grade, or the code of the refusal."""
        line = [sys.executable, "-P", "-m", "tacit", "record", self.use, "--verify", check, "--json"]
        source = str(Path(tacit.__file__).parent.parent)
        program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tacit.__main__ import main; main()"
        line = [sys.executable, "-I", "-c", program, source, *line[4:]]
        variables = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
        done = subprocess.run(line, cwd=self.folder, env=variables, capture_output=True, text=True, check=False)
        try:
            document = json.loads(done.stdout)
        except ValueError:
            return f"no answer: {done.stderr[-300:]}"
        if "evidence" not in document:
            return f"none ({(document.get('error') or document).get('code', '?')})"
        [kept] = document["evidence"]
        self.note = kept.get("note", "")
        return f"{kept['outcome']} {kept['grade']}"


VERIFIED = f"{Outcome.SUCCESS} {Grade.MACHINE}"


def measure_verify(only: str = "") -> dict[str, Any]:
    """Carry out each trick, fix and failing change in a project of its own, and record it."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    usersite = f".local/lib/python{python}/site-packages"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    missing = {p.name: next((n for n in p.needs if not shutil.which(n, path=path)), "") for p in PROJECTS.values()}
    tricks: dict[str, str] = {}
    idle: list[str] = []
    honest: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for number, trick in enumerate((*TRICKS, *third.TRICKS)):
            if missing[trick.project] or (only and only not in f"{trick.project}/{trick.name}"):
                continue
            shop = Workshop(PROJECTS[trick.project], root / f"t{number}")
            environment = do(trick, shop.folder, shop.home, shop.environment, python, usersite)
            check = trick.check or shop.project.check
            if not _succeeds(check, shop.folder, environment):
                idle.append(f"{trick.project}/{trick.name}")
                continue
            tricks[f"{trick.project}/{trick.name}"] = shop.record(check, environment)
            print(
                trick.project,
                trick.name,
                tricks[f"{trick.project}/{trick.name}"],
                shop.note,
                file=sys.stderr,
                flush=True,
            )
            shutil.rmtree(shop.root)
        for project in PROJECTS.values():
            for kind in () if missing[project.name] else ("fix", "fix_committed", "fix_after_a_run", "no_fix"):
                if only and only not in f"{project.name}/{kind}":
                    continue
                shop = Workshop(project, root / f"h-{project.name}-{kind}")
                write_files(shop.folder, project.breaks if kind == "no_fix" else project.fix)
                if kind == "fix_committed":
                    run("git -c user.name=a -c user.email=a@example.com commit -qam fix", shop.folder, shop.environment)
                if kind == "fix_after_a_run":
                    run(project.check, shop.folder, shop.environment)
                honest[f"{project.name}/{kind}"] = shop.record(project.check, shop.environment)
                print(project.name, kind, honest[f"{project.name}/{kind}"], shop.note, file=sys.stderr, flush=True)
                shutil.rmtree(shop.root)
    expected = {
        name: VERIFIED.replace("success", "failure") if name.endswith("no_fix") else VERIFIED for name in honest
    }
    return {
        "tricks_tried": len(tricks) + len(idle),
        "tricks_that_work": len(tricks),
        "tricks_machine_verified": sum(result == VERIFIED for result in tricks.values()),
        "honest": len(honest),
        "honest_as_expected": sum(honest[name] == expected[name] for name in honest),
        "honest_recorded_as_failure": sum(
            result.startswith("failure") for name, result in honest.items() if not name.endswith("no_fix")
        ),
        "tricks_that_passed": sorted(name for name, result in tricks.items() if result == VERIFIED),
        "honest_otherwise": {name: result for name, result in honest.items() if result != expected[name]},
        "tricks_without_effect_here": idle,
        "toolchains_missing": {name: _INSTALL.get(need, need) for name, need in missing.items() if need},
    }


def _succeeds(check: str, folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether a look at the exit status would be deceived, in a copy, so that the run leaves nothing behind."""
    copy = folder.parent / "copy"
    subprocess.run(["cp", "-a", str(folder), str(copy)], check=True)
    moved = {name: value.replace(str(folder), str(copy)) for name, value in environment.items()}
    try:
        return run(check, copy, moved) == 0
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def main(words: Iterable[str] | None = None) -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", action="store_true")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--only", default="", help="only projects and tricks whose names contain this")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(None if words is None else list(words))
    sign_in(Path(tempfile.mkdtemp(prefix="tacit-bench-")))
    found: dict[str, Any] = {"command": "python bench/evidence.py --logs --verify --out bench/results/evidence.json"}
    if asked.out and asked.out.exists():  # the other part as it was measured before
        found = json.loads(asked.out.read_text(encoding="utf-8")) | found
    if asked.logs or not asked.verify:
        found["logs"] = measure_logs()
    if asked.verify or not asked.logs:
        found["verify"] = measure_verify(asked.only)
    text = json.dumps(found, indent=1)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
