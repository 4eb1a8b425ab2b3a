"""What a language model finds in skills that the rules do not: `tacit check --model` on a sample of labelled skills.

    python bench/scanner_reading.py CORPUS --answers FOLDER [--out bench/results/scanner_reading.json]

CORPUS is the half `held` that `scanner_corpora.py` writes. Prompts without an answer are written to FOLDER; whoever answers them
sees nothing but one prompt at a time. The sample is drawn by hash: 40 harmful skills, 40 honest ones, and 42 lines that strangers
put into a host, each in one host, beside these hosts without the line. Answers and skills are other people's and not committed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import ModelOutage
from tacit.domain.ports import Prompt
from tacit.evidence.statistics import wilson
from tacit.features.scan.inspection import inspect
from tacit.features.scan.reading import ReadingCheck
from tacit.gate.checks import every_check, run_checks
from tacit.providers.opening import RecordedModel

SKILLS, LINES = 40, 42
Key = tuple[str, str, int, str]


def drawn(names: Iterable[str], size: int) -> list[str]:
    """Return a part of the names, drawn by hash."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:size]


def sample(labels: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return group and folder of every skill to read."""
    chosen = []
    for label in ("malicious", "benign"):
        chosen += [(label, each) for each in drawn((n for n, v in labels.items() if v["label"] == label), SKILLS)]
    hosts: dict[str, list[str]] = defaultdict(list)
    for name, value in labels.items():
        if value["label"] == "pair":
            hosts[value["injection"]].append(name)
    clean: dict[str, str] = {}
    for injection in drawn(hosts, LINES):
        (pair,) = drawn(hosts[injection], 1)
        chosen.append((labels[pair]["group"], f"{pair}/injected"))
        clean[labels[pair]["host"]] = f"{pair}/clean"
    return chosen + [("clean", each) for each in clean.values()]


class Answers(RecordedModel):
    """Recorded answers; a prompt without one is written down and counted, and the next is asked all the same."""

    missing = 0

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the recorded answer, or one without findings."""
        try:
            return super().ask(prompt)
        except ModelOutage:
            self.missing += 1
            return {"findings": []}


def findings(folder: Path, model: Answers) -> tuple[list[Finding], list[Finding]] | None:
    """Return what the rules and what the model find; nothing while an answer is missing."""
    (skill,) = inspect(folder)
    before = model.missing
    by_model = list(ReadingCheck(model).examine(skill.content))
    return None if model.missing > before else (list(run_checks(skill.content, checks=every_check())), by_model)


def new(found: list[Finding], known: set[Key]) -> list[Finding]:
    """Return findings that the host without the line does not have."""
    return [each for each in found if (each.rule, each.field, 0, each.excerpt) not in known]


def share(hits: list[bool]) -> dict[str, Any]:
    low, high = wilson(sum(hits), len(hits), z=1.96) if hits else (0.0, 1.0)
    return {"hits": sum(hits), "of": len(hits), "percent": round(100 * sum(hits) / max(1, len(hits)), 1), "interval": [round(100 * low, 1), round(100 * high, 1)]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scanner_reading.json")
    options = parser.parse_args()
    labels = json.loads((options.corpus / "labels.json").read_text("utf-8"))
    model = Answers(options.answers)
    hits: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    missing = 0
    for group, name in sample(labels):
        found = findings(options.corpus / name, model)
        if found is None:
            missing += 1
            continue
        by_rules, by_model = found
        if group in ("obvious", "contextual"):
            before = findings(options.corpus / name.replace("/injected", "/clean"), model)
            known = {(each.rule, each.field, 0, each.excerpt) for part in before or () for each in part}
            by_rules, by_model = new(by_rules, known), new(by_model, known)
        for level in (Severity.HIGH, Severity.MEDIUM):
            for who, mine in (("rules", by_rules), ("model", by_model), ("both", [*by_rules, *by_model])):
                hits[f"{group} {level}"][who].append(any(each.severity.at_least(level) for each in mine))
    report = {
        "answers": len(list(options.answers.glob("*.answer.json"))),
        "without_answer": missing,
        **{group: {who: share(each) for who, each in by.items()} for group, by in sorted(hits.items())},
        "tokens": {"input": model.spent.input_tokens, "output": model.spent.output_tokens},
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
