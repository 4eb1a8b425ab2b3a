"""How long a person waits for the command line: the help, the first page of a review, and importing skills.

    python bench/terminal.py --skills-file FILE [--waiting N] [--rounds N]

Processor seconds of the whole process, user and system, the least of the rounds: `tacit --help` to its end; `tacit review` in a
pseudo-terminal with 5,000 versions waiting until it asks the first question; `tacit skills import` of published skills, by
skill. FILE is a JSON-lines file of skills with name, description and body (`skill-retrieval/skills.jsonl.gz`). Writes
bench/results/terminal.json; exits 1 where a limit is passed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pty
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from web import fill  # noqa: E402

import tacit  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "terminal.json"
LIMITS = {"help_s": 0.25, "review_first_page_s": 1.0, "import_per_skill_s": 0.05}
QUESTION = b"[q]uit:"
_UNFIT = re.compile(r"[^a-z0-9]+")


def environment(home: Path) -> dict[str, str]:
    """A person's variables, and nothing of this process's."""
    return {"HOME": str(home), "USER": "ann", "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}


def seconds_of(command: list[str], *, folder: Path, home: Path) -> float:
    """Processor seconds of a command that ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment(home), capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2, 3):  # some published skills are refused
        raise SystemExit(f"{command[:3]}: {done.stderr[-400:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def seconds_to_question(command: list[str], *, folder: Path, home: Path) -> float:
    """Processor seconds of a command in a pseudo-terminal until it asks for a decision."""
    number, master = pty.fork()
    if number == 0:
        os.chdir(folder)
        os.execve(command[0], command, environment(home))
    seen, deadline = b"", time.monotonic() + 300
    while QUESTION not in seen and time.monotonic() < deadline:
        if select.select([master], [], [], 1.0)[0]:
            seen += os.read(master, 65536)
    words = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    os.write(master, b"q")
    os.waitpid(number, 0)
    os.close(master)
    if QUESTION not in seen:
        raise SystemExit(f"{command} asked nothing: {seen[-400:]!r}")
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def write_skills(rows: list[dict[str, str]], folder: Path) -> list[str]:
    """Write each skill as a folder with its SKILL.md."""
    paths = []
    for number, row in enumerate(rows):
        name = f"{_UNFIT.sub('-', row['name'].lower()).strip('-')[:50]}-{number}"
        (folder / name).mkdir(parents=True)
        head = f"name: {json.dumps(name)}\ndescription: {json.dumps(row['description'])}\n"
        (folder / name / "SKILL.md").write_text(f"---\n{head}---\n\n{row['body']}", encoding="utf-8")
        paths.append(str(folder / name))
    return paths


def main() -> None:
    """Measure all three, print and store them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--skills-file", type=Path, required=True)
    options.add_argument("--waiting", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    program = str(Path(sys.executable).with_name("tacit"))
    with gzip.open(given.skills_file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as name:
        home, full = Path(name) / "home", Path(name) / "full"
        home.mkdir()
        (full / ".git").mkdir(parents=True)
        with tacit.open(full / ".tacit" / "tacit.db") as memory:
            fill(memory, home, skills=given.waiting, sessions=200, now=datetime.now(UTC), waiting_each=1)
        paths = write_skills(rows, Path(name) / "skills")
        helps = [seconds_of([program, "--help"], folder=full, home=home) for _ in range(given.rounds + 1)][1:]
        pages = [seconds_to_question([program, "review"], folder=full, home=home) for _ in range(given.rounds)]
        imports = []
        for number in range(given.rounds):
            project = Path(name) / f"import-{number}"
            (project / ".git").mkdir(parents=True)
            imports.append(seconds_of([program, "skills", "import", *paths], folder=project, home=home))
    figures = {
        "help_s": round(min(helps), 3),
        "review_first_page_s": round(min(pages), 3),
        "import_per_skill_s": round(min(imports) / len(rows), 4),
    }
    passed = {key: figures[key] <= limit for key, limit in LIMITS.items()}
    document = {"waiting": given.waiting, "skills": len(rows), "rounds": given.rounds, **figures, "limits": LIMITS}
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2))
    sys.exit(0 if all(passed.values()) else 1)


if __name__ == "__main__":
    main()
