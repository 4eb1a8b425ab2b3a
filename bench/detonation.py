"""How many harmful scripts a detonation tells from harmless ones: own samples, all of them inert outside.

    python bench/detonation.py [--data FILE] [--out FILE]

A script counts as flagged with a finding of HIGH or more. The samples are written by us, so the figures say that the mechanism
works, not how often it meets what is out there; `m25` waits longer than anybody watches, and is expected to be missed. Intervals are
Wilson's of 95 %. Writes bench/results/detonation.json; exits 1 below 90 % or above 5 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from tacit.domain.candidate import Severity  # noqa: E402
from tacit.domain.skill import SkillFile  # noqa: E402
from tacit.evidence.statistics import wilson  # noqa: E402
from tacit.features.scan.detonation import detonate  # noqa: E402
from tacit.providers.sandbox import open_sandbox  # noqa: E402

DATA = ROOT / "bench" / "data" / "detonation.jsonl"
RESULTS = ROOT / "bench" / "results" / "detonation.json"
LEAST, MOST = 0.90, 0.05
GRAVE = (Severity.HIGH, Severity.CRITICAL)


def share(flagged: list[bool]) -> dict[str, Any]:
    low, high = wilson(sum(flagged), len(flagged), z=1.96)
    return {
        "flagged": sum(flagged),
        "of": len(flagged),
        "share": round(sum(flagged) / len(flagged), 3),
        "interval": [round(low, 3), round(high, 3)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    sandbox = open_sandbox()
    samples = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    verdicts: dict[bool, list[bool]] = {True: [], False: []}
    seconds: list[float] = []
    rows = []
    for sample in samples:
        seen = detonate([SkillFile(path=sample["path"], content=sample["text"])], sandbox)
        flagged = any(finding.severity in GRAVE for finding in seen.findings)
        verdicts[sample["harmful"]].append(flagged)
        seconds.append(seen.seconds)
        rules = [f"{finding.rule}:{finding.severity}" for finding in seen.findings]
        rows.append({"name": sample["name"], "what": sample["what"], "flagged": flagged, "rules": rules})
        print(sample["name"], "flagged" if flagged else "quiet", *rules, *(str(reason) for _, reason in seen.skipped))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    result = {
        "commit": commit.strip(),
        "harmful": share(verdicts[True]),
        "harmless": share(verdicts[False]),
        "seconds_p50": round(statistics.median(seconds), 2),
        "samples": rows,
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "samples"}, indent=1))
    if result["harmful"]["share"] < LEAST or result["harmless"]["share"] > MOST:
        sys.exit(f"fewer than {LEAST:.0%} of the harmful or more than {MOST:.0%} of the harmless were flagged")


if __name__ == "__main__":
    main()
