"""How long a start of the sandbox takes, beside a bare process and bubblewrap alone in the same run.

    python bench/sandbox.py [--starts N] [--out FILE]

Each round runs `true` four ways, one after the other: as a bare process, in bubblewrap alone (the namespaces and /usr, nothing
else), in the sandbox as it is, and in the sandbox with ten small files of a skill. As root, the sandbox starts by way of `setpriv`; an
ordinary user is measured in a child. Writes bench/results/sandbox.json; exits 1 where the median passes 100 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from tacit.domain.sandbox import SandboxFile, SandboxRequest  # noqa: E402
from tacit.providers.sandbox import open_sandbox  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "sandbox.json"
LIMIT_MS = 100.0
ORDINARY = 64123
ALONE = (
    "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --unshare-all".split()
)


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def figures(milliseconds: list[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {
        "ms_p50": round(statistics.median(ordered), 1),
        "ms_p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 1),
        "ms_max": round(ordered[-1], 1),
    }


def measure(starts: int) -> dict[str, dict[str, float]]:
    """Every way in turn, so that a busy moment of the machine falls on all."""
    sandbox = open_sandbox()
    files = tuple(SandboxFile(path=f"scripts/{n}.py", content=b"print('hello')\n" * 50) for n in range(10))

    def confined(request: SandboxRequest) -> None:
        if not sandbox.run(request).passed:
            raise SystemExit("a start failed")

    ways: dict[str, Callable[[], object]] = {
        "bare": lambda: subprocess.run(["/usr/bin/true"], check=True),
        "bubblewrap_alone": lambda: subprocess.run([sandbox.program, *ALONE, "/bin/true"], check=True),
        "sandbox": lambda: confined(SandboxRequest(command=("true",))),
        "sandbox_with_files": lambda: confined(SandboxRequest(command=("true",), files=files)),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(starts):
        for name, way in ways.items():
            found[name].append(timed(way))
    return {name: figures(times) for name, times in found.items()}


def as_ordinary(starts: int) -> dict[str, dict[str, float]]:
    """The same for a user without rights, in a child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(ORDINARY)
        os.setuid(ORDINARY)
        os.chdir("/")
        with os.fdopen(writing, "w") as channel:
            json.dump(measure(starts), channel)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as channel:
        text = channel.read()
    os.waitpid(child, 0)
    return json.loads(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    root = os.geteuid() == 0
    result = {
        "commit": commit.strip(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "starts": options.starts,
        "bubblewrap": subprocess.run(
            ["/usr/bin/bwrap", "--version"], capture_output=True, text=True, check=False
        ).stdout.strip(),
        **({"root": measure(options.starts)} if root else {}),
        "ordinary_user": as_ordinary(options.starts) if root else measure(options.starts),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    slow = [who for who in ("root", "ordinary_user") if who in result and result[who]["sandbox"]["ms_p50"] > LIMIT_MS]
    if slow:
        sys.exit(f"a start takes more than {LIMIT_MS:g} ms for {', '.join(slow)}")


if __name__ == "__main__":
    main()
