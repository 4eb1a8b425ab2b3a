"""Write the labelled skills that `bench/data/scanner_sources.json` lists, for `bench/scanner.py --corpus`; runs nothing of them.

    python bench/scanner_corpora.py MIRRORS OUT [--half dev]

MIRRORS holds a git copy of each repository as OWNER+NAME/repo. OUT/dev and OUT/held get a `labels.json` and the folders
that it names. What comes out is other people's, some of it malicious: it is never committed and never run.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "data" / "scanner_sources.json"
SKILL, INSTRUCTIONS = "SKILL.md", ("AGENTS.md", "CLAUDE.md")
HOSTS_MAX = 3
"""Skills that one injection is put into."""
FILES_MAX = 60
"""Files of one skill that are taken, in the order of their names."""

Files = dict[str, bytes]


def half_of(author: str) -> str:
    """An author's half, by a hash of the name."""
    return "held" if hashlib.sha256(author.lower().encode()).digest()[0] % 2 else "dev"


def _local_copy(mirrors: Path, repo: str) -> Path:
    """The git folder of a repository's local copy, with or without a work tree."""
    copy = mirrors / repo.replace("/", "+") / "repo"
    return copy / ".git" if (copy / ".git").is_dir() else copy


class Repository:
    """Files of one commit of a local copy."""

    def __init__(self, mirrors: Path, source: Mapping[str, Any]) -> None:
        self.git = ["git", f"--git-dir={_local_copy(mirrors, source['repo'])}"]
        self.commit = source["commit"]
        listed = self._run("ls-tree", "-r", "-z", "--name-only", self.commit).decode("utf-8", "replace")
        self.paths = [path for path in listed.split("\0") if path]

    def _run(self, *arguments: str, data: bytes | None = None) -> bytes:
        return subprocess.run([*self.git, *arguments], input=data, capture_output=True, check=True).stdout

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None where a snapshot lists a large file without its content."""
        try:
            return self._run("show", f"{self.commit}:{path}")
        except subprocess.CalledProcessError:
            return None

    def folder(self, folder: str, leave: tuple[str, ...] = ()) -> Files:
        """Files below a folder, but not those of another skill inside of it."""
        inside = [path for path in self.paths if path.startswith(f"{folder}/")]
        others = {path.rpartition("/")[0] for path in inside if path.endswith(f"/{SKILL}")} - {folder}
        own = [path for path in inside if not any(path.startswith(f"{other}/") for other in others)]
        kept = [path for path in own if path.rpartition("/")[2] not in leave]
        kept.sort(key=lambda path: (path != f"{folder}/{SKILL}", path))
        found = ((path.removeprefix(f"{folder}/"), self.read(path)) for path in kept[:FILES_MAX])
        return {name: data for name, data in found if data is not None}


def skills(repository: Repository, source: Mapping[str, Any]) -> Iterator[tuple[str, str, Files]]:
    """Yield author, name and files of every skill of a source."""
    author, leave = source["repo"].partition("/")[0], tuple(source.get("leave", ()))
    folders = sorted({path.rpartition("/")[0] for path in repository.paths})
    for pattern in source.get("folders", ()):
        for folder in folders:
            even = folder.count("/") == pattern.count("/")
            if even and fnmatchcase(folder, pattern) and folder not in source.get("but", ()):
                yield author, folder.replace("/", "_"), repository.folder(folder, leave)
    for path in repository.paths:
        if any(fnmatchcase(path, pattern) for pattern in source.get("files", ())):
            yield author, path.replace("/", "_"), {SKILL: repository.read(path) or b""}
    if "table" in source:
        for row in csv.DictReader((repository.read(source["table"]) or b"").decode().splitlines()):
            if row["Label"] == source["label"]:
                yield author, row["Skill_name"].replace("/", "_"), repository.folder(row["Ground_truth_path"])


def published(
    repository: Repository, source: Mapping[str, Any], left_out: frozenset[str]
) -> Iterator[tuple[str, str, Files]]:
    """Yield a few skills, and one file of instructions, of every author of a collection; no text twice."""
    by_author: dict[str, list[str]] = defaultdict(list)
    for path in repository.paths:
        if path.startswith(f"{source['authors']}/") and path.endswith((f"/{SKILL}", *INSTRUCTIONS)):
            by_author[path.split("/")[source["authors"].count("/") + 1].partition("@")[0].lower()].append(path)
    seen: set[bytes] = set()
    for author in sorted(by_author.keys() - left_out):
        mixed = sorted(by_author[author], key=lambda path: hashlib.sha256(path.encode()).digest())
        room = {SKILL: source["per_author"], **dict.fromkeys(INSTRUCTIONS, 1)}
        for path in mixed:
            folder, _, name = path.rpartition("/")
            if not room.get(name):
                continue
            text = repository.read(path) or b""
            digest = hashlib.sha256(b"".join(text.split())).digest()
            if digest in seen or len(text) < 300:
                continue
            seen.add(digest)
            room[name] -= 1
            if name != SKILL:
                room.update(dict.fromkeys(INSTRUCTIONS, 0))
            yield author, path.replace("/", "_"), repository.folder(folder) if name == SKILL else {SKILL: text}


def pairs(repository: Repository, source: Mapping[str, Any]) -> Iterator[tuple[str, str, Files, Files]]:
    """Yield injection, host, and the host's files without and with the injected lines."""
    hosts = {}
    for path in sorted(repository.paths):
        if path.startswith(f"{source['hosts']}/") and path.endswith(f"/{SKILL}"):
            folder = path.rpartition("/")[0]
            hosts.setdefault(folder.rpartition("/")[2], folder)
            hosts.setdefault(folder.removeprefix(f"{source['hosts']}/").partition("/")[0], folder)
    for row in json.loads(repository.read(source["injections"]) or b"[]"):
        used: set[str] = set()
        for task in row["tasks"]:
            wanted = task["skill"].strip("/").rpartition("/")[2]
            folder = hosts.get(wanted) or next((hosts[name] for name in hosts if name.startswith(wanted)), None)
            if folder is None or folder in used or len(used) == HOSTS_MAX:
                continue
            used.add(folder)
            clean = repository.folder(folder)
            order = f"{task.get('injection_prefix', '')}{row['instructions']['line_injection']}".strip("\n")
            lines = clean[SKILL].decode("utf-8", "replace").splitlines(keepends=True)
            at = min(int(task["line_num"]), len(lines) + 1) - 1
            block = [f"{line.strip()}\n" for line in order.splitlines()]
            injected = "".join([*lines[:at], *block, *lines[at:]]).encode()
            yield f"{source['group']}-{row['id']}", folder.rpartition("/")[2], clean, {**clean, SKILL: injected}


def write(files: Files, folder: Path) -> None:
    for name, data in files.items():
        if ".." not in Path(name).parts:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--half", choices=["dev", "held"], action="append", default=[])
    options = parser.parse_args()
    table = json.loads(SOURCES.read_text("utf-8"))
    left_out = frozenset(name.lower() for name in table["left_out_authors"])
    labels: dict[str, dict[str, Any]] = {half: {} for half in options.half or ("dev", "held")}
    for source in table["sources"]:
        if not _local_copy(options.mirrors, source["repo"]).is_dir():
            print("left out, no local copy:", source["repo"])
            continue
        repository, group = Repository(options.mirrors, source), source["group"]
        if "injections" in source:
            for injection, host, clean, injected in pairs(repository, source) if source["half"] in labels else ():
                name = f"{group}/pairs/{injection}-{host}"
                write(clean, options.out / source["half"] / name / "clean")
                write(injected, options.out / source["half"] / name / "injected")
                labels[source["half"]][name] = {"label": "pair", "group": group, "injection": injection, "host": host}
            continue
        found = published(repository, source, left_out) if "authors" in source else skills(repository, source)
        for author, skill, files in found:
            half, name = source.get("half") or half_of(author), f"{group}/{source['label']}/{author}_{skill}"
            if half in labels and files:
                write(files, options.out / half / name)
                labels[half][name] = {"label": source["label"], "group": group, "author": author}
    for half, named in labels.items():
        text = json.dumps({name: {**label, "half": half} for name, label in named.items()}, indent=1)
        (options.out / half / "labels.json").write_text(text + "\n", encoding="utf-8")
        print(half, len(named), "entries")


if __name__ == "__main__":
    main()
