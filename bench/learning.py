"""How learning grows: 1,000 and 10,000 made-up attempts, each learned in a process of its own, then killed and resumed.

    python bench/learning.py [--out bench/results/learning.json] [--small 1000] [--large 10000]

Half of the attempts call plain tools in a small support domain of our own (readings, conditions, effects, some failures);
half are shell sessions of a few kinds of work, with detours, errors and failed checks. Reported: seconds to learn both
numbers in the same run (by the clock and of the processor) and their ratio, the peak of memory, what an interrupted pass leaves to do, and that a second pass
does nothing. Seconds depend on the machine; the ratio hardly does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import tacit

ROOT = Path(__file__).resolve().parent.parent
TOPICS = ("billing", "invoice", "export", "login", "report", "search", "upload", "mailer", "cache", "queue")


def attempts(count: int) -> Iterator[tacit.Trajectory]:
    """So many attempts, the same each time."""
    dice = random.Random(4)
    for number in range(count):
        yield _support(number, dice) if number % 2 else _session(number, dice)


def _support(number: int, dice: random.Random) -> tacit.Trajectory:
    """A customer's device with some faults; one attempt in four forgets a fix and fails."""
    account, device = f"C{number:05}", f"D{dice.randrange(10**6):06}"
    faults = [fault for fault in ("filter", "valve", "timer", "link", "credit", "firmware") if dice.random() < 0.35]
    forgotten = dice.choice(faults) if faults and dice.random() < 0.25 else ""
    complaint = dice.choice(("no longer waters the beds", "shows an error light", "stopped after the night"))
    task = f"The watering system of account {account} {complaint}. Please see to it."
    calls: list[tuple[str, dict[str, object], str]] = [
        ("find_account", {"account_id": account}, json.dumps({"account_id": account, "device_id": device})),
        ("read_device", {"device_id": device}, _reading(faults)),
        (
            "read_balance",
            {"account_id": account},
            json.dumps({"balance": -5 if "credit" in faults else 12, "limit": 0}),
        ),
    ]
    for fault in faults:
        if fault != forgotten:
            target = {"account_id": account} if fault == "credit" else {"device_id": device}
            calls.append((f"mend_{fault}", dict(target), f"{fault} is fine now"))
    left = [forgotten] if forgotten else []
    calls.append(("read_device", {"device_id": device}, _reading(left)))
    return _trajectory(number, task, calls, success=not forgotten)


def _reading(faults: list[str]) -> str:
    states = {
        "filter": ("clean", "clogged"),
        "valve": ("free", "stuck"),
        "timer": ("set", "unset"),
        "link": ("up", "down"),
    }
    lines = [f"{name.title()}: {bad if name in faults else good}" for name, (good, bad) in states.items()]
    return "\n".join([*lines, f"Firmware: {'old' if 'firmware' in faults else 'current'}"])


def _session(number: int, dice: random.Random) -> tacit.Trajectory:
    """A coding session of one of a few kinds; one in five ends with a failing check."""
    topic, kind = dice.choice(TOPICS), dice.choice(("flag", "migration", "release"))
    failed = dice.random() < 0.2
    name = f"{topic}_{dice.randrange(50)}"
    shell = {
        "flag": [f"grep -rn {topic} src", f"python -m tools.addflag --name {name}", "ruff check src"],
        "migration": [
            "python manage.py sync",
            f"python manage.py makemigration add_{name}",
            "python manage.py migrate",
        ],
        "release": [f"git tag v1.{dice.randrange(90)}.0", "python -m build", "twine check dist/*"],
    }[kind]
    if dice.random() < 0.5:
        shell.insert(dice.randrange(len(shell)), dice.choice(("ls -la", "git status", "cat README.md")))
    calls: list[tuple[str, dict[str, object], str]] = [("Bash", {"command": line}, "ok") for line in shell]
    calls.append(("Bash", {"command": "python -m pytest -q"}, "1 failed" if failed else "12 passed"))
    task = {
        "flag": f"Add a command line flag --{name} to the {topic} tool.",
        "migration": f"Add a migration for column {name} of table {topic}.",
        "release": f"Make a new release of the {topic} package.",
    }[kind]
    return _trajectory(number, task, calls, success=not failed)


def _trajectory(
    number: int, task: str, calls: list[tuple[str, dict[str, object], str]], *, success: bool
) -> tacit.Trajectory:
    steps = [tacit.Step(index=0, role=tacit.Role.USER, text=task)]
    for tool, arguments, answer in calls:
        steps.append(
            tacit.Step(
                index=len(steps),
                role=tacit.Role.AGENT,
                tool=tool,
                arguments=arguments,
                observation=answer,
                result=tacit.StepResult.OK,
            )
        )
    claim = tacit.Claim(result="success" if success else "failure", verified_by="the generator")
    return tacit.Trajectory(task=tacit.Task(text=task), steps=tuple(steps), claim=claim, session_id=f"s{number}")


def learn(store: Path, count: int) -> dict[str, float]:
    """Capture and learn so many attempts in this process."""
    with tacit.open(store) as memory:
        started = time.perf_counter()
        memory.capture(attempts(count), trust_outcomes=True)
        captured, busy = time.perf_counter(), time.process_time()
        report = memory.learn()
        learned, worked = time.perf_counter(), time.process_time() - busy
        again = memory.learn()
        return {
            "capture_s": round(captured - started, 2),
            "learn_s": round(learned - captured, 2),
            "learn_cpu_s": round(worked, 2),
            "again_s": round(time.perf_counter() - learned, 2),
            "again_trajectories": again.trajectories,
            "again_verdicts": len(again.verdicts),
            "skills": len(memory.skills()),
            "verdicts": len(report.verdicts),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        }


def in_process(store: Path, count: int) -> dict[str, float]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--learn", str(store), str(count)], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))


def killed_and_resumed(folder: Path, count: int, *, after_s: float) -> dict[str, float]:
    """Kill learning after a while, go on, and see that what was done is not done again and the result is the same."""
    store = folder / "killed.db"
    with tacit.open(store) as memory:
        memory.capture(attempts(count), trust_outcomes=True)
    process = subprocess.Popen([sys.executable, __file__, "--resume", str(store)], stdout=subprocess.DEVNULL)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with tacit.open(store) as memory:
        done = memory.archive.stats().learned
    resumed = subprocess.run(
        [sys.executable, __file__, "--resume", str(store)], check=True, capture_output=True, text=True
    )
    outcome = dict(json.loads(resumed.stdout))
    return {
        "of": count,
        "learned_before_kill": done,
        "learned_after": outcome["trajectories"],
        "skills": outcome["skills"],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--large", type=int, default=10_000)
    parser.add_argument("--learn", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--resume", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        print(json.dumps(learn(Path(options.learn[0]), int(options.learn[1]))))
        return
    if options.resume:
        with tacit.open(options.resume) as memory:
            report = memory.learn()
            print(json.dumps({"trajectories": report.trajectories, "skills": len(memory.skills())}))
        return
    os.environ["TACIT_HOME"] = tempfile.mkdtemp(prefix="tacit-bench-")
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as place:
        folder = Path(place)
        small = in_process(folder / "small.db", options.small)
        large = in_process(folder / "large.db", options.large)
        resumed = killed_and_resumed(folder, options.small, after_s=max(1.0, small["learn_s"] / 2))
    result = {
        "small": {"attempts": options.small, **small},
        "large": {"attempts": options.large, **large},
        "ratio": round(large["learn_s"] / small["learn_s"], 2),
        "cpu_ratio": round(large["learn_cpu_s"] / small["learn_cpu_s"], 2),
        "killed": {**resumed, "skills_uninterrupted": small["skills"]},
    }
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
