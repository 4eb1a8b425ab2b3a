"""How many malicious skills and one-line injections the checks see, how many benign skills they flag, and how fast.

A skill is hit at a level if any finding weighs that much or more. An injection is hit if the skill with it has a finding
of at least medium that the same skill without it has not. Shares come with 95 % Wilson intervals, per group. Our own
data is reported in two halves; the rules were written with the sight of `dev` alone, and of `held` only totals are shown.

    python bench/scanner.py [--corpus FOLDER]… [--skills FILE] [--with cisco] [--show] [--out bench/results/scanner.json]

`--corpus` takes labelled skills on disk (see `_labelled_skills`), `--skills` benign ones as JSONL, which are also the
hosts of the injections. `--with cisco` measures the Cisco scanner on the same data. It may live in
another environment and be measured there (`--without tacit`): a scanner that is not measured keeps its place in the
results. Nothing that is read is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import platform
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from _labelled_skills import HELD, HOSTS, Folder, Labelled, Pair, corpus, own_pairs, own_skills, retrieval_skills

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import Outage
from tacit.evidence.statistics import wilson
from tacit.features.scan.commands import check_skill
from tacit.features.scan.inspection import Inspected, inspect
from tacit.gate.checks import identities, run_checks

RANK = {severity: rank for rank, severity in enumerate(Severity)}
TWO_SIDED_95 = 1.959963984540054


Look = Callable[[Inspected], tuple[Finding, ...]]


@dataclass(slots=True)
class Scanner:
    """A way to look at a skill, what it found in each folder so far, and how long that took."""

    look: Look
    checks: Sequence[str]
    seconds: dict[str, float] = field(default_factory=dict)
    outages: dict[str, str] = field(default_factory=dict)
    known: dict[str, tuple[Finding, ...]] = field(default_factory=dict)

    def findings(self, files: Folder) -> tuple[Finding, ...]:
        """Look at a folder once; where a check fails, that is noted and nothing counts as found."""
        if key(files) not in self.known:
            skill = read(files)
            begun = time.process_time()
            try:
                self.known[key(files)] = self.look(skill)
            except Outage as outage:
                self.known[key(files)], self.outages[key(files)] = (), outage.message
            self.seconds[key(files)] = time.process_time() - begun
        return self.known[key(files)]


def key(files: Folder) -> str:
    """Return the same key for the same files, so that a host of several injections is looked at once."""
    if isinstance(files, Path):
        return _digest_on_disk(files)
    return _digest((name, data) for name, data in sorted(files.items()))


@cache
def _digest_on_disk(folder: Path) -> str:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return _digest((str(path.relative_to(folder)), path.read_bytes()) for path in paths)


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(b"%d %d " % (len(name), len(data)) + name.encode("utf-8", "replace") + data)
    return digest.hexdigest()


def look_at_all(scanner: Scanner, folders: Iterable[Folder], jobs: int) -> None:
    """Look at every folder, in several processes."""
    global _waiting  # noqa: PLW0603 - what the processes share when they are forked
    waiting = list({key(files): files for files in folders}.values())
    _waiting = (scanner, waiting)
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for found, seconds, outage, at in pool.imap_unordered(_look_at, range(len(waiting)), chunksize=8):
            name = key(waiting[at])
            scanner.known[name], scanner.seconds[name] = found, seconds
            if outage:
                scanner.outages[name] = outage


_waiting: tuple[Scanner, list[Folder]]


def _look_at(at: int) -> tuple[tuple[Finding, ...], float, str, int]:
    scanner, waiting = _waiting
    found, name = scanner.findings(waiting[at]), key(waiting[at])
    return found, scanner.seconds[name], scanner.outages.get(name, ""), at


def read(files: Folder) -> Inspected:
    """Read a folder as `tacit check` does; one in memory is written down for that."""
    if isinstance(files, Path):
        return next(iter(inspect(files)))
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "skill"
        for name, data in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        return next(iter(inspect(place)))


def at_least(findings: Iterable[Finding], level: Severity) -> list[Finding]:
    return [finding for finding in findings if RANK[finding.severity] >= RANK[level]]


def added(clean: Iterable[Finding], injected: Iterable[Finding], *, level: Severity = Severity.MEDIUM) -> list[Finding]:
    """Findings of the skill with the injection beyond those of the skill without it, counted by rule and excerpt."""
    before = Counter((finding.rule, finding.excerpt) for finding in at_least(clean, level))
    new = []
    for finding in at_least(injected, level):
        key = (finding.rule, finding.excerpt)
        if before[key]:
            before[key] -= 1
        else:
            new.append(finding)
    return new


def share(hits: Sequence[bool | float]) -> dict[str, Any]:
    low, high = wilson(sum(hits), len(hits), z=TWO_SIDED_95)
    percent = round(100 * sum(hits) / len(hits), 1) if hits else None
    bounds = [round(100 * low, 1), round(100 * high, 1)]
    return {"hits": round(sum(hits), 2), "of": len(hits), "percent": percent, "interval": bounds}


def levels(skills: Sequence[Labelled], scanner: Scanner) -> dict[str, Any]:
    """Share of these skills with a finding of at least high, and of at least medium."""
    return {
        level.value: share([bool(at_least(scanner.findings(skill.files), level)) for skill in skills])
        for level in (Severity.HIGH, Severity.MEDIUM)
    }


def by(items: Iterable[Any], key: Callable[[Any], str]) -> Mapping[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(sorted(groups.items()))


def labelled_report(skills: Sequence[Labelled], scanner: Scanner) -> dict[str, Any]:
    """Recall on the malicious and false positives on the benign, over all and per group (and half, where there are two)."""
    report: dict[str, Any] = {}
    for label, those in by(skills, lambda skill: "malicious" if skill.malicious else "benign").items():
        report[label] = levels(those, scanner)
        if any(skill.half for skill in those):
            report[label]["halves"] = {
                half: levels(part, scanner) for half, part in by(those, lambda s: s.half).items()
            }
        report[label]["groups"] = {group: levels(part, scanner) for group, part in by(those, lambda s: s.group).items()}
    return report


def paired_report(pairs: Sequence[Pair], scanner: Scanner) -> dict[str, Any]:
    """Share of injections that add a finding, per class, half and category; and of clean hosts that had one already."""
    report: dict[str, Any] = {}
    for group, those in by(pairs, lambda pair: pair.group).items():
        hosts = list({key(pair.clean): pair.clean for pair in those}.values())
        flagged = share([bool(at_least(scanner.findings(host), Severity.MEDIUM)) for host in hosts])
        report[group] = seen(those, scanner) | {"clean_hosts_flagged": flagged}
        if any(pair.half for pair in those):
            report[group]["halves"] = {half: seen(part, scanner) for half, part in by(those, lambda p: p.half).items()}
        report[group]["categories"] = {
            name: {half or "all": seen(part, scanner) for half, part in by(inner, lambda p: p.half).items()}
            for name, inner in by(those, lambda p: p.category).items()
        }
    return report


def seen(pairs: Sequence[Pair], scanner: Scanner) -> dict[str, Any]:
    """Share of injections seen; one that is seen in some of its hosts counts in part, for its hosts are one sample."""
    parts = []
    for those in by(pairs, lambda pair: pair.injection).values():
        hits = [added(scanner.findings(pair.clean), scanner.findings(pair.injected)) for pair in those]
        parts.append(sum(map(bool, hits)) / len(hits))
    return share(parts)


def timing(seconds: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(seconds)
    return {
        "examinations": len(ordered),
        "median_cpu_ms": round(1000 * median(ordered), 2),
        "p95_cpu_ms": round(1000 * ordered[int(0.95 * (len(ordered) - 1))], 2),
        "max_cpu_ms": round(1000 * ordered[-1], 2),
    }


def show(skills: Sequence[Labelled], pairs: Sequence[Pair], scanner: Scanner) -> None:
    """Print what was missed and what was flagged in error, of the data that rule authors may see."""
    for skill in skills:
        level = Severity.HIGH if skill.malicious else Severity.MEDIUM
        found = at_least(scanner.findings(skill.files), level)
        if skill.half != HELD and bool(found) != skill.malicious:
            rules = ", ".join(sorted({f"{each.rule}({each.severity}) {each.excerpt[:80]!r}" for each in found}))
            print(f"{'MISSED' if skill.malicious else 'FLAGGED'} {skill.group}/{skill.name} {rules}")
    for skill in sorted(skills, key=lambda skill: -scanner.seconds[key(skill.files)])[:10]:
        print(f"SLOW {scanner.seconds[key(skill.files)]:.2f} s {skill.group}/{skill.name}")
    for pair in pairs:
        if pair.half != HELD and not added(scanner.findings(pair.clean), scanner.findings(pair.injected)):
            print(f"NOT NEW {pair.injection} in {pair.host}")


def show_rules(skills: Sequence[Labelled], pairs: Sequence[Pair], scanner: Scanner) -> None:
    """Print for every rule how many benign skills it flags, and how many malicious ones and injections it sees."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for skill in skills:
        found = at_least(scanner.findings(skill.files), Severity.MEDIUM) if skill.half != HELD else []
        for rule in {(each.rule, each.severity.value) for each in found}:
            counts[rule]["malicious" if skill.malicious else "benign"] += 1
    for pair in pairs:
        found = added(scanner.findings(pair.clean), scanner.findings(pair.injected)) if pair.half != HELD else []
        for rule in {(each.rule, each.severity.value) for each in found}:
            counts[rule]["injections"] += 1
    for (rule, severity), count in sorted(counts.items(), key=lambda item: -item[1]["benign"]):
        seen_in = ", ".join(f"{name} {count[name]}" for name in ("benign", "malicious", "injections"))
        print(f"RULE {rule:28} {severity:9} {seen_in}")


def lines(name: str, part: Mapping[str, Any]) -> Iterable[str]:
    """One line of text for each share in a report, by its path."""
    if "interval" in part:
        low, high = part["interval"]
        yield f"{name:60} {part['hits']:>7}/{part['of']:<4} {part['percent']:>5} % [{low}, {high}]"
    for key, inner in part.items():
        if isinstance(inner, Mapping):
            yield from lines(f"{name} {key}", inner)


def scanners(others: Sequence[str], *, ours: bool) -> dict[str, Scanner]:
    found: dict[str, Scanner] = {}
    if ours:
        found["tacit"] = Scanner(lambda skill: check_skill(skill).findings, identities())
    if "cisco" in others:
        from _cisco import CiscoScanner

        check = CiscoScanner()
        found["cisco"] = Scanner(lambda skill: run_checks(skill.content, checks=[check]), [f"cisco {check.version}"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="folder of labelled skills")
    parser.add_argument("--skills", type=Path, help="benign skills as JSONL, also hosts of the injections")
    parser.add_argument("--with", dest="others", choices=["cisco"], action="append", default=[])
    parser.add_argument("--without", choices=["tacit"], help="leave our own checks out")
    parser.add_argument("--show", action="store_true", help="print single misses, those of the held half aside")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scanner.json")
    parser.add_argument("--jobs", type=int, default=1, help="processes that look at the skills")
    parser.add_argument("--hosts", type=int, default=HOSTS, help="skills that each injection is put into")
    options = parser.parse_args()
    own, benign = own_skills(), retrieval_skills(options.skills) if options.skills else []
    pairs = own_pairs(benign or own, per_injection=options.hosts)
    disk: list[Labelled] = []
    disk_pairs: list[Pair] = []
    for path in options.corpus:
        if not path.is_dir():
            parser.error(f"--corpus {path} is not a folder")
        labelled, paired = corpus(path)
        disk, disk_pairs = disk + labelled, disk_pairs + paired
    report: dict[str, Any] = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else {"scanners": {}}
    chosen = scanners(options.others, ours=not options.without)
    skills, all_pairs = [*own, *benign, *disk], [*pairs, *disk_pairs]
    for name, scanner in chosen.items():
        if options.jobs > 1:
            folders = [skill.files for skill in skills]
            look_at_all(
                scanner, [*folders, *(each for pair in all_pairs for each in (pair.clean, pair.injected))], options.jobs
            )
        report["scanners"][name] = {
            "python": platform.python_version(),
            "checks": list(scanner.checks),
            "hosts_per_injection": options.hosts,
            "own": labelled_report(own, scanner),
            "skills": labelled_report(benign, scanner),
            "corpora": labelled_report(disk, scanner),
            "injections": paired_report(pairs, scanner),
            "corpora_pairs": paired_report(disk_pairs, scanner),
            "time": timing(list(scanner.seconds.values())),
            "outages": Counter(scanner.outages.values()),
        }
        if options.show:
            show(skills, all_pairs, scanner)
            show_rules(skills, all_pairs, scanner)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for name in chosen:
        print("\n".join(lines(name, report["scanners"][name])), f"\n{name} {report['scanners'][name]['time']}")


if __name__ == "__main__":
    main()
