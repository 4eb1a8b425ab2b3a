"""Labelled skills and skill pairs for the scanner's measurement, as folders in memory or on disk; examines nothing.

Three sources: our own written ones beside this file, benign ones as `skills.jsonl`, and a corpus on disk, given by path.
A corpus holds `<group>/malicious/<skill>/`, `<group>/benign/<skill>/`, and for paired tests
`<group>/pairs/<pair>/clean/` and `<group>/pairs/<pair>/injected/`. Other shapes are described by a `labels.json` at its root:
`{"relative/folder": "malicious" | "benign" | {"label": …, "group": …, "half": …}}`; a `pair` names its injection and host.

What we wrote names only hosts and addresses that are reserved and lead nowhere, and scripts that could do harm end at once
at a line marked `# inert`. A rule could know that look, so it is taken off when the text is read (`lifelike`), in memory alone.

Our own data is cut in two by hash: `dev` is for whoever writes rules, `held` is not read by them; of it only totals are
shown.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
SEED = 20261115
HOSTS = 3
"""How many skills each injection is put into."""
NEAR = 12
"""Among so many of the skills nearest to an injection's target its hosts are drawn."""
HELD = "held"
_DRESS = (
    (re.compile(r"^.*# inert\n", re.MULTILINE), ""),
    (re.compile(r"\.(?:invalid|test)\b"), ".net"),
    (re.compile(r"\bexample\.com\b"), "storelane.com"),
    (re.compile(r"\b198\.51\.100\.|\b203\.0\.113\.|\b192\.0\.2\."), "45.83.64."),
)

Folder = Mapping[str, bytes] | Path
"""A skill's files as path → bytes, or where they lie on disk."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One skill, what is known of it, and where it is counted."""

    name: str
    group: str
    malicious: bool
    files: Folder
    half: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """One skill without and with an injection, and where it is counted."""

    injection: str
    host: str
    group: str
    category: str
    clean: Folder
    injected: Folder
    half: str = ""


def own_skills() -> list[Labelled]:
    """Our written malicious skills, and benign ones that look dangerous."""
    found = []
    for file in ("malicious_skills.jsonl", "tempting_skills.jsonl"):
        for row in rows(DATA / file):
            malicious = row["label"] == "malicious"
            files = {path: (lifelike(text) if malicious else text).encode() for path, text in row["files"].items()}
            found.append(Labelled(row["id"], row["group"], malicious, files, row["half"]))
    return found


def retrieval_skills(path: Path) -> list[Labelled]:
    """Benign skills, one SKILL.md each, from `skills.jsonl` or `skills.jsonl.gz`."""
    source = path / "skills.jsonl.gz" if path.is_dir() else path
    return [Labelled(row["id"], "skills", False, {"SKILL.md": row["body"].encode()}) for row in rows(source)]


def own_pairs(hosts: Iterable[Labelled], *, per_injection: int = HOSTS) -> list[Pair]:
    """Every written injection inside several of these skills, always the same ones, at places drawn with a fixed seed."""
    texts = {host.name: host for host in hosts if not host.malicious and not isinstance(host.files, Path)}
    pool = [texts[name] for name in sorted(texts)]
    words = {host.name: _words(_skill_md(host)[:600]) for host in pool}
    found = []
    for row in rows(DATA / "injections.jsonl"):
        draw = random.Random(f"{SEED}/{row['id']}")
        wanted = _words(row["target"]) - {"generic"}
        near = sorted(pool, key=lambda host: (-len(wanted & words[host.name]), draw.random()))
        for host in draw.sample(near[: NEAR if wanted else None], min(per_injection, len(near))):
            added = {path: lifelike(text).encode() for path, text in row.get("files", {}).items()}
            text = insert(_skill_md(host), lifelike(row["text"]), draw=draw)
            injected = {**host.files, **added, "SKILL.md": text.encode()}
            found.append(Pair(row["id"], host.name, row["class"], row["category"], host.files, injected, row["half"]))
    return found


def corpus(path: Path) -> tuple[list[Labelled], list[Pair]]:
    """Read a labelled corpus from disk; raises `ValueError` where a label is none of ours."""
    labels = path / "labels.json"
    if labels.is_file():
        named = [_entry(path, name, label) for name, label in json.loads(labels.read_text("utf-8")).items()]
        return [each for each in named if isinstance(each, Labelled)], [
            each for each in named if isinstance(each, Pair)
        ]
    skills, pairs = [], []
    for group in sorted(each for each in path.iterdir() if each.is_dir()):
        for label in ("malicious", "benign"):
            skills += [Labelled(each.name, group.name, label == "malicious", each) for each in _below(group / label)]
        for each in _below(group / "pairs"):
            pairs.append(Pair(each.name, "", group.name, "", each / "clean", each / "injected"))
    return skills, pairs


def lifelike(text: str) -> str:
    """Give reserved names and addresses an ordinary look and drop the lines that stop a script: it is never run or sent."""
    for pattern, dress in _DRESS:
        text = pattern.sub(dress, text)
    return text


def insert(text: str, injection: str, *, draw: random.Random) -> str:
    """Put an injection as a paragraph of its own at a blank line of the body, never into a code block; or at the end."""
    lines = text.rstrip("\n").split("\n")
    places, fenced, front = [], False, lines[0].strip() == "---"
    for number, line in enumerate(lines):
        if front:
            front = not (number and line.strip() == "---")
        elif line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.strip() and number:
            places.append(number)
    at = draw.choice([*places, len(lines), len(lines)])
    return "\n".join([*lines[:at], "", injection, "", *lines[at:]]) + "\n"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL file, packed or not."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from (json.loads(line) for line in data.decode("utf-8").split("\n") if line.strip())


def _below(path: Path) -> list[Path]:
    return sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []


def _entry(root: Path, name: str, entry: Any) -> Labelled | Pair:
    """Return one entry of a `labels.json`; raises `ValueError` where its label is none of ours."""
    row = entry if isinstance(entry, dict) else {"label": entry}
    group, half, label = str(row.get("group") or Path(name).parts[0]), row.get("half", ""), row.get("label")
    if label == "pair":
        clean, injected = root / name / "clean", root / name / "injected"
        return Pair(row.get("injection", name), row.get("host", ""), group, "", clean, injected, half)
    if label not in ("malicious", "benign"):
        raise ValueError(f"labels.json: {name} is neither malicious nor benign nor a pair but {label!r}")
    return Labelled(name, group, label == "malicious", root / name, half)


def _skill_md(skill: Labelled) -> str:
    return "" if isinstance(skill.files, Path) else skill.files["SKILL.md"].decode("utf-8", "replace")


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]{3,}", text.lower())}
