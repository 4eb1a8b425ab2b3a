"""How long `tacit hook` takes beside a bare `python -c pass` in the same run, with 10,000 skills stored.

    python bench/hook.py [--skills N] [--rounds N] [--events N] [--project FOLDER]

Each round times a bare interpreter and every kind of event, one after the other, as whole processes. Then 16 at once, and
1,000 events by 16 workers, after which every event must have its line in a journal. `--project` keeps the store in that
folder and uses it again. Writes bench/results/hook.json; exits 1 where a limit is passed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from _person import approve_directly, sign_in  # noqa: E402

import tacit  # noqa: E402
from tacit.domain.lifecycle import Status, Transition  # noqa: E402
from tacit.domain.scope import Level, Scope  # noqa: E402
from tacit.domain.skill import Condition, Kind, Provenance, Skill, SkillContent, SkillStep, SkillVersion  # noqa: E402
from tacit.domain.stored import StoredVersion  # noqa: E402
from tacit.recall import publishing  # noqa: E402
from tacit.text.error_signatures import error_signature  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "hook.json"
TOOL_LIMIT, PROMPT_LIMIT, CROWD_LIMIT = 6.0, 8.0, 2.0
CROWD, SESSIONS = 16, 4
KNOWN_ERRORS = 40
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
SHARES = {Kind.PROCEDURE: 60, Kind.LESSON: 25, Kind.NORM: 5, Kind.PREFERENCE: 5, Kind.REFERENCE: 5}
"""Of the skills stored."""
SUBJECTS = (
    "add build cache cargo check client clone column commit compile config container coverage database debug deploy "
    "docker download endpoint environment error export file fixture flag folder format function git handler header image "
    "import index install interface invoice json key kubernetes lint load lock log login merge message method migration "
    "module network node npm package page parser patch path permission pipeline plugin port postgres process profile "
    "project proxy push pytest query queue read redis refactor release remote rename render report request response "
    "restart retry review rollback route run schema script secret server session setting shell signal socket sort source "
    "staging start state stream string style sync table tag task template terminal test thread timeout token tool trace "
    "type update upload user value variable version volume watch worker workspace write yaml"
).split()
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu bra cle dri flo gru pla ste tri".split()
ERRORS = ("ModuleNotFoundError: No module named '{}'", "error: cannot find {} in {}", "fatal: {} does not exist: {}")


SCRIPT = "import sys\nfrom tacit.surfaces.entry import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""The console script as installers write it."""


class Wordsmith:
    """Writes texts whose words are as unevenly frequent as those of people."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        made = {"".join(self.chooser.choices(SYLLABLES, k=self.chooser.choice((2, 3, 3, 4)))) for _ in range(30_000)}
        self.words = [*self.chooser.sample(SUBJECTS, len(SUBJECTS)), *sorted(made)]
        self.weights = [1 / (rank + 20) for rank in range(len(self.words))]

    def text(self, count: int) -> str:
        return " ".join(self.chooser.choices(self.words, self.weights, k=count))

    def error(self) -> str:
        return self.chooser.choice(ERRORS).format(self.text(1), self.text(1))

    def content(self, number: int) -> SkillContent:
        kind = self.chooser.choices(list(SHARES), list(SHARES.values()))[0]
        parts = [f"## {self.text(3)}\n{self.text(self.chooser.randint(20, 120))}" for _ in range(5)]
        steps = [SkillStep(text=self.text(8), tool="Bash", arguments={"command": self.text(4)}) for _ in range(4)]
        return SkillContent(
            kind=kind,
            name=f"{'-'.join(self.text(3).split())}-{number}",
            description=self.text(18),
            body="\n\n".join(parts),
            tags=tuple(self.text(3).split()),
            example_queries=(self.text(8),),
            preconditions=(Condition(text=self.text(5)),),
            steps=tuple(steps) if kind is Kind.PROCEDURE else (),
            signature=error_signature(self.error()) if kind is Kind.LESSON else "",
        )


def fill(database: Path, skills: int) -> None:
    """Put so many skills on trial, straight into the store and signed: the gate has its own benchmark."""
    smith, made = Wordsmith(7), list[StoredVersion]()
    key = sign_in(person_of(database))
    memory = tacit.open(database)
    store = memory.context.store
    with store.transaction():
        for number in range(skills):
            content, at = smith.content(number), BEGUN + timedelta(minutes=number)
            skill = Skill.create(content, Scope(Level.PROJECT, ""), at=at)
            version = SkillVersion(
                skill_id=skill.id, content=content, origins={}, provenance=Provenance(made_by="bench"), created_at=at
            )
            birth = Transition(
                version_id=version.id,
                content_hash=version.hash,
                before=None,
                after=Status.TRIAL,
                reason="",
                by="bench",
                at=at,
            )
            store.add_version(skill, version, birth)
            made.append(StoredVersion(skill=skill, version=version, status=Status.TRIAL, sequence=number + 1))
    approve_directly(store, key, made, by="bench", at=BEGUN)
    publishing.publish(store)
    memory.close()


def person_of(database: Path) -> Path:
    """Where the key of the benchmark's person is kept, next to the store."""
    return database.parent / "person"


def known_errors(database: Path) -> list[str]:
    found = apsw.Connection(str(database)).execute(
        "SELECT signature FROM renderings WHERE signature <> '' LIMIT ?", (KNOWN_ERRORS,)
    )
    return [str(row[0]) for row in found]


class Events:
    """Makes the events that a client would send, each of its own session unless told otherwise."""

    def __init__(self, project: Path, errors: list[str]) -> None:
        self._project = project
        self._errors = errors
        self._smith = Wordsmith(11)
        self._count = 0

    def make(self, kind: str, session: str = "") -> bytes:
        self._count += 1
        event = {
            "session_id": session or f"bench-{os.getpid()}-{self._count}",
            "cwd": str(self._project),
            "transcript_path": str(self._project / "none.jsonl"),
            **self._fields(kind),
        }
        return json.dumps(event).encode()

    def _fields(self, kind: str) -> dict[str, Any]:
        smith, call = self._smith, {"tool_name": "Bash", "tool_input": {"command": f"make {self._count}"}}
        if kind == "tool_before":
            return {"hook_event_name": "PreToolUse", **call}
        if kind == "tool_ok":
            output = {"stdout": smith.text(300), "stderr": "", "interrupted": False}
            return {"hook_event_name": "PostToolUse", **call, "tool_response": output}
        if kind == "tool_known_error":
            error = f"Exit code 1\n{smith.text(100)}\n{smith.chooser.choice(self._errors)}"
            return {"hook_event_name": "PostToolUseFailure", **call, "error": error}
        if kind == "tool_unknown_error":
            error = f"Exit code 1\n{smith.text(100)}\nUnheardError: {smith.text(6)}"
            return {"hook_event_name": "PostToolUseFailure", **call, "error": error}
        if kind == "prompt_short":
            return {"hook_event_name": "UserPromptSubmit", "prompt": smith.text(12)}
        if kind == "prompt_long":
            return {"hook_event_name": "UserPromptSubmit", "prompt": smith.text(2_000)}
        return {"hook_event_name": "SessionStart", "source": "startup"}


KINDS = ("tool_ok", "tool_known_error", "tool_unknown_error", "prompt_short", "prompt_long", "session_start")
TIMED = ("tool_before", *KINDS)
"""A call without a warning leaves no line in a journal, so it is timed only."""
LIMITS = {kind: TOOL_LIMIT if kind.startswith("tool") else PROMPT_LIMIT for kind in TIMED[:-1]}


class Processes:
    """Runs a bare interpreter, or a hook on an event, as a client would: a whole process with pipes."""

    def __init__(self, home: Path, person: Path) -> None:
        shutil.copytree(person, home / ".tacit", dirs_exist_ok=True)
        script = home / "tacit"
        script.write_text(SCRIPT)
        self._hook = [sys.executable, str(script), "hook", "--client", "claude-code"]
        self._bare = [sys.executable, "-c", "pass"]
        dropped = ("CLAUDE_PROJECT_DIR", "TACIT_STORE", "TACIT_CONFIG", "PYTHONPATH")
        self._environment = {key: value for key, value in os.environ.items() if key not in dropped}
        self._environment |= {"TACIT_HOME": str(home / ".tacit"), "HOME": str(home)}
        self.log = home / ".tacit" / "hook.log"

    def faults(self) -> dict[str, int]:
        """What the hooks logged, and how often; giving up in time is logged too."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return dict(Counter(line.partition(" ")[2] for line in lines))

    def run(self, event: bytes | None) -> tuple[float, bytes]:
        """Milliseconds, and what was said; without an event the bare interpreter."""
        command = self._bare if event is None else self._hook
        begun = time.perf_counter()
        done = subprocess.run(command, input=event or b"", capture_output=True, env=self._environment, check=True)
        return (time.perf_counter() - begun) * 1000, done.stdout

    def crowd(self, events: list[bytes | None]) -> float:
        """Milliseconds for all of them, started at once."""
        begun = time.perf_counter()
        with ThreadPoolExecutor(len(events)) as pool:
            list(pool.map(self.run, events))
        return (time.perf_counter() - begun) * 1000


def one_by_one(processes: Processes, events: Events, rounds: int) -> dict[str, Any]:
    """Wall time decides; processor time beside it tells how much of that is a busy machine's."""
    times: dict[str, list[float]] = {kind: [] for kind in ("bare", *TIMED)}
    spent: dict[str, list[float]] = {kind: [] for kind in times}
    said = dict.fromkeys(times, 0)
    for turn in range(rounds):
        for kind in random.Random(turn).sample(tuple(times), len(times)):
            before = processor_ms()
            took, output = processes.run(None if kind == "bare" else events.make(kind))
            spent[kind].append(processor_ms() - before)
            times[kind].append(took)
            said[kind] += bool(output)
    result: dict[str, Any] = {}
    for kind, found in times.items():
        own = {**summary(found), "processor_ms_p50": round(statistics.median(spent[kind]), 1)}
        bare = result.get("bare", own)
        ratios = {key.replace("ms", "ratio"): round(value / bare[key], 2) for key, value in own.items()}
        result[kind] = own if kind == "bare" else {**own, **ratios, "said": said[kind]}
    return result


def processor_ms() -> float:
    """What all ended child processes took so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return {"ms_p50": round(statistics.median(ordered), 1), "ms_p95": round(p95, 1)}


def at_once(processes: Processes, events: Events, rounds: int) -> dict[str, dict[str, float]]:
    """How much longer than so many bare interpreters at once."""
    result = {}
    for kind in ("tool_ok", "tool_known_error", "prompt_short"):
        pairs = [
            (processes.crowd([None] * CROWD), processes.crowd([events.make(kind) for _ in range(CROWD)]))
            for _ in range(rounds)
        ]
        bare, own = (statistics.median(column) for column in zip(*pairs, strict=True))
        result[kind] = {"bare_ms": round(bare, 1), "ms": round(own, 1), "ratio": round(own / bare, 2)}
    return result


def many(processes: Processes, events: Events, project: Path, *, count: int) -> dict[str, int]:
    """Events of a few sessions by many workers; every one must have left its line."""
    sessions = [f"many-{os.getpid()}-{number}" for number in range(SESSIONS)]
    kinds = random.Random(3)
    made = [events.make(kinds.choice(KINDS[:-2]), sessions[number % SESSIONS]) for number in range(count)]
    with ThreadPoolExecutor(CROWD) as pool:
        list(pool.map(processes.run, made))
    journals = [
        path for path in (project / ".tacit" / "sessions").glob("*.jsonl") if any(s in path.name for s in sessions)
    ]
    lines = [line for path in journals for line in path.read_bytes().splitlines()]
    whole = sum(1 for line in lines if json.loads(line).get("moment") in ("call", "prompt"))
    return {"events": count, "sessions": len(journals), "lines": whole}


def judged(result: dict[str, Any]) -> list[str]:
    """What passes its limit."""
    single, crowd, events = result["one_by_one"], result["at_once"], result["many"]
    over = [
        f"{kind}: {single[kind]['ratio_p50']}x, at most {most}x"
        for kind, most in LIMITS.items()
        if single[kind]["ratio_p50"] > most
    ]
    over += [
        f"{CROWD} at once, {kind}: {found['ratio']}x of bare, {single[kind]['ratio_p50']}x alone"
        for kind, found in crowd.items()
        if found["ratio"] > CROWD_LIMIT * single[kind]["ratio_p50"]
    ]
    return over + (
        [f"{events['events']} events left {events['lines']} lines"] if events["lines"] != events["events"] else []
    )


def measured(project: Path, options: argparse.Namespace) -> dict[str, Any]:
    database = project / ".tacit" / "tacit.db"
    # As most projects are: a hook then asks git whether the store came with the repository.
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    if not database.exists():
        fill(database, options.skills)
    with tempfile.TemporaryDirectory() as home:
        processes = Processes(Path(home), person_of(database))
        events = Events(project, known_errors(database))
        for kind in TIMED:  # once, so that the disk is warm
            processes.run(events.make(kind))
        return {
            "one_by_one": one_by_one(processes, events, options.rounds),
            "at_once": at_once(processes, events, max(3, options.rounds // 10)),
            "many": many(processes, events, project, count=options.events),
            "faults": processes.faults(),
        }


def commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skills", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--project", type=Path)
    options = parser.parse_args()
    about = {
        "commit": commit(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "skills": options.skills,
    }
    with tempfile.TemporaryDirectory() as folder:
        result = {**about, **measured(options.project or Path(folder), options)}
    result["over"] = judged(result)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if result["over"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
