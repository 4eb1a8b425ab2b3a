"""How long each page of `tacit web` takes to answer with 50,000 skills and 20,000 sessions, beside an empty store.

    python bench/web.py [--skills N] [--sessions N] [--rounds N] [--keep FOLDER]

A page is one request over loopback to the server that `tacit web` runs: the guard, the route, a thread, opening the store, the
document, its JSON, and the client that reads it. Processor time of all that, the median of the rounds; the first round, which
imports, is not counted.
Skills, verdicts, approvals, sessions, uses and results go straight into the store: one in a hundred skills waits, each other
one is on trial and signed; a skill in use has had results over the last year. `--keep` keeps the store in that folder and
uses it again. Writes bench/results/web.json; exits 1 where a page takes over five times as long.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from _person import approve_directly, sign_in  # noqa: E402
from hook import Wordsmith  # noqa: E402

import tacit  # noqa: E402
from tacit.api import Tacit  # noqa: E402
from tacit.config.environment import UserEnvironment  # noqa: E402
from tacit.domain.candidate import GateDecision, Verdict  # noqa: E402
from tacit.domain.evidence import Assessment, Evidence, Following, Grade, Outcome, Use  # noqa: E402
from tacit.domain.lifecycle import Status, Transition  # noqa: E402
from tacit.domain.scope import Level, Scope  # noqa: E402
from tacit.domain.skill import Kind, Provenance, Skill, SkillContent, SkillStep, SkillVersion  # noqa: E402
from tacit.domain.stored import StoredVersion  # noqa: E402
from tacit.domain.trajectory import Environment, Origin, Role, Step, StepResult, Task, Trajectory  # noqa: E402
from tacit.surfaces.cli.context import CommandContext  # noqa: E402
from tacit.surfaces.web.server import Access, run_server  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "web.json"
LIMIT = 5.0
YEAR = timedelta(days=365)
WAITING_EACH = 100
SIZE = (50_000, 20_000)


def content_of(smith: Wordsmith, number: int) -> SkillContent:
    kind = (Kind.PROCEDURE, Kind.LESSON, Kind.NORM)[number % 3 if number % 50 == 2 else number % 2]
    steps = [SkillStep(text=smith.text(6), tool="Bash", arguments={"command": smith.text(4)}) for _ in range(3)]
    return SkillContent(
        kind=kind, name=f"{'-'.join(smith.text(3).split())}-{number}", description=smith.text(14), body=smith.text(60),
        steps=tuple(steps) if kind is Kind.PROCEDURE else (), signature=smith.error() if kind is Kind.LESSON else "",
    )  # fmt: skip


def attempt_of(smith: Wordsmith, number: int, at: datetime) -> Trajectory:
    steps = [Step(index=0, role=Role.USER, text=smith.text(20), at=at)]
    for index in range(1, 7):
        failed = index == 3
        steps.append(
            Step(
                index=index, role=Role.AGENT, tool="Bash", arguments={"command": smith.text(4)}, observation=smith.text(40),
                result=StepResult.FAILED if failed else StepResult.OK, at=at + timedelta(seconds=index),
            )
        )  # fmt: skip
    task, environment = Task(text=smith.text(15), project="bench"), Environment(client="claude-code", model="bench")
    return Trajectory(task=task, steps=tuple(steps), environment=environment, session_id=f"session-{number:06d}")


def fill(
    memory: Tacit, home: Path, *, skills: int, sessions: int, now: datetime, waiting_each: int = WAITING_EACH
) -> None:
    """Put so many skills and sessions into the store, in the order in which they would have come; some wait for review."""
    store, smith, key = memory.context.store, Wordsmith(7), sign_in(home)
    store.require_signatures(key.signers)
    made: list[StoredVersion] = []
    attempts: list[str] = []
    with store.transaction():
        for number in range(sessions):
            at = now - YEAR + YEAR * number / sessions
            attempt = attempt_of(smith, number, at)
            store.add_trajectory(attempt, Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE), at=at)
            attempts.append(attempt.id)
    with store.transaction():
        for number in range(skills):
            at = now - YEAR + YEAR * number / skills
            content, behind = content_of(smith, number), attempts[number * sessions // skills]
            skill = Skill.create(content, Scope(Level.PROJECT, ""), at=at)
            provenance = Provenance(made_by="bench", trajectory_ids=(behind,))
            origins = dict.fromkeys(("name", "description", "body"), Origin.AGENT)
            version = SkillVersion(
                skill_id=skill.id, content=content, origins=origins, provenance=provenance, created_at=at
            )
            waits = number % waiting_each == waiting_each - 1
            after = Status.CANDIDATE if waits else Status.TRIAL
            birth = Transition(
                version_id=version.id, content_hash=version.hash, before=None, after=after, reason="", by="bench", at=at
            )
            store.add_version(skill, version, birth)
            store.add(
                Verdict(
                    decision=GateDecision.HOLD, findings=(), at=at, name=content.name, content_hash=version.hash,
                    skill_id=skill.id, version_id=version.id, trajectory_ids=(behind,),
                )
            )  # fmt: skip
            if not waits:
                made.append(StoredVersion(skill=skill, version=version, status=after, sequence=number + 1))
    with store.transaction():
        approve_directly(store, key, made, by="bench", at=now - YEAR)
        if made:
            add_results(memory, made, sessions=sessions, now=now)


def add_results(memory: Tacit, made: list[StoredVersion], *, sessions: int, now: datetime) -> None:
    """Let each session use one skill, a few skills often."""
    chooser, store = random.Random(11), memory.context.store
    for number in range(sessions):
        at = now - YEAR + YEAR * number / sessions
        used = made[min(int(chooser.expovariate(1 / 300)), len(made) - 1)].version.id
        session = f"session-{number:06d}"
        use = Use(version_ids=(used,), task="a task", at=at, surface="hook", session_id=session, model="bench")
        store.add(use)
        outcome = Outcome.SUCCESS if chooser.random() < 0.8 else Outcome.FAILURE
        store.add(
            Evidence(
                version_id=used, outcome=outcome, grade=Grade.MACHINE, at=at, use_id=use.id, task=str(number),
                following=Following.FOLLOWED, verifier="pytest -q",
            )
        )  # fmt: skip


def pages_of(filled: dict[str, str]) -> dict[str, str]:
    """The addresses of the pages by name, with what is posted; those of one thing only where there is one."""
    found = {
        "today": "/api/today",
        "review": "/api/review",
        "skills": "/api/skills",
        "skills by status": "/api/skills?status=trial",
        "skills by words": "/api/skills?text=cache+docker",
        "sessions": "/api/sessions",
        "facts": "/api/facts",
        "playground": '/api/playground {"task":"cache docker image build"}',
        "changes": "/api/changes",
    }
    if filled:
        found |= {
            "review one": f"/api/review/{filled['candidate']}",
            "skill": f"/api/skills/{filled['skill']}",
            "session, newest": f"/api/sessions/{filled['newest']}",
            "session, oldest": f"/api/sessions/{filled['oldest']}",
        }
    return found


def measure(database: Path, home: Path, wanted: dict[str, str], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time of each page."""
    context = CommandContext(environment=UserEnvironment(home=home, user="bench"), store=str(database))
    listening = socket.create_server(("127.0.0.1", 0))
    access = Access(listening.getsockname()[1])
    cookie = access.enter(access.entrance.partition("=")[2])
    threading.Thread(target=run_server, args=(context, access, listening), daemon=True).start()
    headers = {"Origin": access.origin, "Cookie": f"{access.cookie_name}={cookie}", "Content-Type": "application/json"}
    client = http.client.HTTPConnection("127.0.0.1", listening.getsockname()[1])
    taken: dict[str, list[float]] = {name: [] for name in wanted}
    for _ in range(rounds + 1):
        for name, address in wanted.items():
            path, _, body = address.partition(" ")
            begun = time.process_time()
            client.request("POST" if body else "GET", path, body or None, headers)
            answer = client.getresponse()
            answer.read()
            taken[name].append((time.process_time() - begun) * 1000)
            assert answer.status == 200, (address, answer.status)
    return {name: round(statistics.median(each[1:]), 2) for name, each in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=SIZE[0])
    parser.add_argument("--sessions", type=int, default=SIZE[1])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        found = compare(folder, skills=chosen.skills, sessions=chosen.sessions, rounds=chosen.rounds)
    print(json.dumps(found, indent=1))
    if (chosen.skills, chosen.sessions) == SIZE:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if found["met"] else 1


def compare(folder: Path, *, skills: int, sessions: int, rounds: int) -> dict[str, Any]:
    """Fill a store, and measure its pages and those of an empty and of a small one."""
    now, built = datetime.now(UTC), {}
    for name, size in {"empty": (0, 0), "small": (100, 40), "full": (skills, sessions)}.items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        if not (place / "tacit.db").exists():
            with tacit.open(place / "tacit.db") as memory:
                if size[0]:
                    fill(memory, place / "home", skills=size[0], sessions=size[1], now=now)
        built[name] = round(time.monotonic() - begun, 1)
    times: dict[str, dict[str, float]] = {}
    for name, count in {"empty": 0, "small": 40, "full": sessions}.items():
        filled = examples(folder / name, count) if count else {}
        times[name] = measure(folder / name / "tacit.db", folder / name / "home", pages_of(filled), rounds)
    # A page of one thing has nothing to show in an empty store: it is held against the same page of a small one.
    before = {name: times["empty"].get(name, times["small"][name]) for name in times["full"]}
    rows = {
        name: {"before_ms": before[name], "full_ms": full, "ratio": round(full / before[name], 2)}
        for name, full in times["full"].items()
    }
    return {
        "skills": skills, "sessions": sessions, "rounds": rounds, "built_s": built["full"], "limit": LIMIT,
        "before": "empty store; pages of one skill, candidate or session: a store of 100 skills and 40 sessions",
        "pages": rows, "met": all(row["ratio"] <= LIMIT for row in rows.values()),
    }  # fmt: skip


def examples(place: Path, sessions: int) -> dict[str, str]:
    """A candidate, the skill that was used most, and two sessions."""
    with tacit.open(place / "tacit.db") as memory:
        store = memory.context.store
        waiting, _ = store.newest(statuses={Status.CANDIDATE}, limit=1)
        used = [use.version_ids[0] for use in store.uses(latest=200)]
        return {
            "candidate": waiting[0].version.id,
            "skill": max(set(used), key=used.count),
            "newest": f"session-{sessions - 1:06d}",
            "oldest": "session-000000",
        }


if __name__ == "__main__":
    sys.exit(main())
