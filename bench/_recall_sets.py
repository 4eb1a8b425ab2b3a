"""The sets that recall is measured on: bench/data and visible data → libraries of written skills and labelled questions.

A `Part` is a library and the questions asked of it. Every question has a group (its task or scenario); halves are made of
whole groups by a hash of their names, so that weights fitted on the development half are measured on questions of others.

`siblings` asks with a task's text for the procedure that its siblings gave. Labels come from reference tool calls alone:
two tasks are siblings if their reference sequences are equal, and a skill is right if its sequence is that of the question's
own task. Texts are never compared for a label, and no text is both asked and stored. Three parts:

- `turns`: the turns of BFCL base scenarios with reference calls, in ten folds of whole scenarios. The library has one skill
  for each sequence of tools in the other nine folds; asked are the held-out turns whose sequence is in it.
- `orders`: retail tasks (training and visible test) with reference write calls, in ten folds, in the same way. The
  sequence is that of the write calls, since training tasks name no others.
- `runs`: successful retail runs, in five folds of whole runs. The library has one skill for each task that a run of
  another fold succeeded at, with what those customers said first; asked is what the held-out customer said first. Right is
  every skill whose task has the same reference write calls.

A skill's text is made alike everywhere: its name from its tools, its description and at most eight example queries from the
siblings' requests, its steps from its tools. Whoever is measured sees this text and nothing else.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"
EXAMPLES = 8
FOLDS, RUN_FOLDS = 10, 5
NAME_MAX = 64
DEVELOPMENT, TEST = "development", "test"
READING = ("get_", "find_", "list_", "search_", "calculate", "think", "transfer")


@dataclass(frozen=True, slots=True)
class Written:
    """A skill as somebody wrote it."""

    id: str
    name: str
    description: str
    body: str
    examples: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that it says, as one text."""
        return "\n".join((self.name, self.description, self.body, *self.examples, *self.tools))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the ids of the skills that are right for it, and what it belongs to."""

    id: str
    text: str
    relevant: frozenset[str]
    group: str
    tools: tuple[str, ...] | None = None
    """The tools at hand, where the data say so."""

    @property
    def half(self) -> str:
        """Development or test, by its group."""
        return half_of(self.group)


@dataclass(frozen=True, slots=True)
class Told:
    """A request with its reference sequence; what shares a `key` shares a skill."""

    id: str
    text: str
    sequence: tuple[str, ...]
    group: str
    fold: int
    key: str = ""
    tools: tuple[str, ...] | None = None
    calls: tuple[Mapping[str, Any], ...] = ()
    """The reference calls with their arguments, where all of the sequence is known."""


@dataclass(frozen=True, slots=True)
class Part:
    """A library and what is asked of it."""

    name: str
    skills: tuple[Written, ...]
    asked: tuple[Asked, ...]
    digits: bool = True
    """Whether numbers mean something here; in customers' requests they are ids of their own."""
    siblings: tuple[Told, ...] = ()
    """What the library was made of, where each of them has reference calls that can be learned from."""

    def only(self, half: str) -> Part:
        """The same library, asked only what belongs to one half; all of it for an empty name."""
        return replace(self, asked=tuple(one for one in self.asked if not half or one.half == half))


def half_of(group: str) -> str:
    """Which half a group belongs to."""
    return DEVELOPMENT if stable(group) % 2 else TEST


def stable(text: str) -> int:
    """A number that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """All rows of a file of JSON lines, packed or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


# --- written for this bench -----------------------------------------------------------------------------------------


def own_library(names: Sequence[str] = ("paraphrases", "identifiers")) -> tuple[Written, ...]:
    """The skills of two written sets; each set is asked with the other's skills around it."""
    rows = [row for name in names for row in read_jsonl(DATA / f"{name}.jsonl")]
    return tuple(Written(row["id"], row["name"], row["description"], row["body"]) for row in rows)


def paraphrases() -> Part:
    """100 questions that share no telling word with their skill."""
    return _own("paraphrases")


def reworded() -> Part:
    """100 plain questions for what the skill says, in other words; beside them stand the skills of `identifiers`."""
    return replace(_own("reworded"), skills=own_library(("reworded", "identifiers")))


def identifiers() -> Part:
    """50 questions that name an error code, flag, path or the like; skills with near ones stand beside the right one."""
    return _own("identifiers")


def odd_queries() -> list[dict[str, str]]:
    """Questions in other languages and with odd characters: {id, about, query}."""
    return read_jsonl(DATA / "odd_queries.jsonl")


def _own(name: str) -> Part:
    rows = [row for row in read_jsonl(DATA / f"{name}.jsonl") if row.get("query")]
    asked = (Asked(row["id"], row["query"], frozenset({row["id"]}), row["id"]) for row in rows)
    return Part(name, own_library(), tuple(asked))


# --- real skills ----------------------------------------------------------------------------------------------------


def real_skills(data: Path) -> Part:
    """437 published skills and the instructions of 24 tasks that need some of them."""
    place = data / "skill-retrieval"
    skills = (
        Written(row["id"], row["name"], row["description"], row["body"])
        for row in read_jsonl(place / "skills.jsonl.gz")
    )
    asked = (
        Asked(row["id"], row["text"], frozenset(row["gold"]), row["id"]) for row in read_jsonl(place / "queries.jsonl")
    )
    return Part("real skills", tuple(skills), tuple(asked))


# --- siblings -------------------------------------------------------------------------------------------------------


def siblings(data: Path) -> dict[str, list[Part]]:
    """The three parts, each as its folds."""
    return {
        "turns": _folds("turns", _turns(data), FOLDS),
        "orders": _folds("orders", _orders(data), FOLDS),
        "runs": _folds("runs", _runs(data), RUN_FOLDS),
    }


def _turns(data: Path) -> list[Told]:
    rows = read_jsonl(data / "bfcl" / "turns.jsonl.gz")
    found = []
    for row in rows:
        if row["category"] == "base" and row["kind"] == "answer":
            sequence = tuple(call["name"] for call in row["gold"])
            group = f"bfcl-{row['number']}"
            tools = tuple(row["tools"])
            fold, calls = stable(group) % FOLDS, tuple(row["gold"])
            found.append(Told(row["id"], row["text"], sequence, group, fold, tools=tools, calls=calls))
    return found


def _orders(data: Path) -> list[Told]:
    place = data / "retail"
    rows = [*read_jsonl(place / "train_gold.jsonl"), *read_jsonl(place / "test_visible_gold.jsonl")]
    found = []
    for row in rows:
        if sequence := _writes(row["actions"]):
            fold, calls = stable(row["id"]) % FOLDS, tuple(each for each in row["actions"] if _is_write(each))
            found.append(Told(row["id"], row["instruction"], sequence, row["id"], fold, calls=calls))
    return found


def _runs(data: Path) -> list[Told]:
    place = data / "retail"
    gold = {row["task_id"]: _writes(row["actions"]) for row in read_jsonl(place / "test_visible_gold.jsonl")}
    found = []
    for document in read_jsonl(place / "trajectories.jsonl.gz"):
        task, run = document["extra"]["task_id"], document["trajectory_id"]
        if document["extra"]["result"] == "success" and gold.get(task):
            said = next(str(step["message"]) for step in document["steps"] if step["source"] == "user")
            group = f"retail-{task}"
            found.append(Told(run, said.strip(), gold[task], group, stable(run) % RUN_FOLDS, key=group))
    return found


def _writes(actions: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(action["name"] for action in actions if _is_write(action))


def _is_write(action: Mapping[str, Any]) -> bool:
    return not action["name"].startswith(READING)


def _folds(name: str, told: Sequence[Told], count: int) -> list[Part]:
    """For each fold the library of the others, and the held-out requests that it has an answer to."""
    parts = []
    for fold in range(count):
        learned = [one for one in told if one.fold != fold]
        stored = {_plain(one.text) for one in learned}
        skills = _library(learned)
        by_sequence: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for skill in skills:
            by_sequence[skill.tools].add(skill.id)
        asked = tuple(
            Asked(one.id, one.text, frozenset(by_sequence[one.sequence]), one.group, one.tools)
            for one in told
            if one.fold == fold and one.sequence in by_sequence and _plain(one.text) not in stored
        )
        taught = tuple(learned) if all(one.calls for one in learned) else ()
        parts.append(Part(f"{name} {fold}", skills, asked, digits=False, siblings=taught))
    return parts


def _library(learned: Sequence[Told]) -> tuple[Written, ...]:
    """One skill for each sequence (or each key, where there are keys), told by its siblings' requests."""
    held: dict[tuple[str, tuple[str, ...]], list[Told]] = defaultdict(list)
    for one in learned:
        held[one.key, one.sequence].append(one)
    names: dict[str, int] = defaultdict(int)
    skills = []
    for (_, sequence), told in sorted(held.items()):
        chosen = sorted(told, key=lambda one: stable(one.id))[:EXAMPLES]
        requests = tuple(dict.fromkeys(one.text for one in chosen))
        name = _slug(" ".join(sequence))
        names[name] += 1
        if names[name] > 1:
            name = f"{name[: NAME_MAX - 4].rstrip('-')}-{names[name]}"
        body = "\n".join(f"{number}. Call `{tool}`." for number, tool in enumerate(sequence, 1))
        skills.append(Written(name, name, _first_line(requests[0]), body, requests, sequence))
    return tuple(skills)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_MAX].rstrip("-")


def _first_line(text: str, width: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1].rsplit(" ", 1)[0] + "…"


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# --- look-alikes ----------------------------------------------------------------------------------------------------

LOOK_ALIKES = 30
_OTHERS: tuple[tuple[str, str], ...] = (
    ("twitter", "mastodon"), ("tweet", "toot"), ("tweets", "toots"), ("flight", "ferry"), ("flights", "ferries"),
    ("stock", "bond"), ("stocks", "bonds"), ("ticket", "petition"), ("tickets", "petitions"), ("directory", "mailbox"),
    ("folder", "drawer"), ("file", "cassette"), ("files", "cassettes"), ("engine", "generator"), ("tire", "sail"),
    ("fuel", "hydrogen"), ("message", "fax"), ("order", "booking"), ("orders", "bookings"), ("return", "lend"),
    ("exchange", "repair"), ("cancel", "duplicate"), ("payment", "deposit"), ("address", "nickname"),
    ("docker", "podman"), ("kubernetes", "nomad"), ("postgres", "oracle"), ("postgresql", "oracle"),
    ("redis", "memcached"), ("pdf", "epub"), ("excel", "keynote"), ("csv", "avro"), ("react", "svelte"),
    ("python", "ruby"), ("java", "kotlin"), ("git", "mercurial"), ("github", "gitea"), ("aws", "hetzner"),
)  # fmt: skip
"""A telling detail and another one of its sort: service, product, tool or thing."""
_SYSTEMS = ("legacy", "sandbox", "staging", "offline", "archived", "regional", "external", "training")


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A near-duplicate of a skill, and the details in which it tells of something else."""

    skill: Written
    of: str
    changed: Mapping[str, str] = field(default_factory=dict)


def look_alikes(corpus: Sequence[Written], count: int = LOOK_ALIKES) -> list[LookAlike]:
    """Near-duplicates of `count` skills of a corpus: other details of the same sort, the wording moved about.

    Which skills are taken depends on their ids alone. Where a text names no listed detail, it is narrowed to another system
    than the usual one, so that no text stays as it was.
    """
    made: list[LookAlike] = []
    taken = {skill.name for skill in corpus}
    for skill in sorted(corpus, key=lambda one: stable(f"look-alike {one.id}")):
        if len(made) == count:
            break
        changed = _changes(skill)
        system = _SYSTEMS[stable(skill.id) % len(_SYSTEMS)]
        name = _slug(_swapped(skill.name, changed))
        name = name if name != skill.name else f"{system}-{name}"[:NAME_MAX].rstrip("-")
        if name in taken:
            continue
        taken.add(name)
        other = Written(
            id=f"{skill.id}~other",
            name=name,
            description=_otherwise(skill.description, changed, system),
            body=_moved(_swapped(skill.body, changed)),
            examples=tuple(_otherwise(example, changed, system) for example in reversed(skill.examples)),
            tools=tuple(_swapped(tool, changed) if changed else f"{system}_{tool}" for tool in skill.tools),
        )
        made.append(LookAlike(other, skill.id, changed or {"": system}))
    return made


def _changes(skill: Written) -> dict[str, str]:
    """The listed details that its name or tools speak of, the plural with the singular."""
    spoken = set(words(" ".join((skill.name, *skill.tools))))
    listed = {old: new for old, new in _OTHERS if old in spoken}
    return {**listed, **{old: new for old, new in _OTHERS if old.endswith("s") and old[:-1] in listed}}


def _otherwise(text: str, changed: Mapping[str, str], system: str) -> str:
    other = _swapped(text, changed)
    return other if other != text else f"{text.rstrip(' .')}, on the {system} system."


def words(text: str) -> list[str]:
    """Plain words and numbers of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def _swapped(text: str, changed: Mapping[str, str]) -> str:
    """The text with each detail changed wherever it stands as a piece of a word, its capital kept."""
    if not changed:
        return text
    pattern = rf"(?<![A-Za-z])(?:{'|'.join(sorted(map(re.escape, changed), key=len, reverse=True))})(?![A-Za-z])"

    def other(match: re.Match[str]) -> str:
        old = match.group()
        new = changed[old.lower()]
        return new.capitalize() if old[:1].isupper() else new

    return re.sub(pattern, other, text, flags=re.IGNORECASE)


def _moved(body: str) -> str:
    """The paragraphs or sentences in another order; numbered steps stay, since their order is what they say."""
    if re.search(r"(?m)^\s*\d+\.", body):
        return body
    sentences = re.split(r"(?<=[.!?])\s+", body) if "\n\n" not in body else body.split("\n\n")
    return ("\n\n" if "\n\n" in body else " ").join([*sentences[1:], *sentences[:1]])
