"""The kinds at work: what is quoted of documents, how papers are ranked, and whether use is told from being passed over.

- quoting: this project's own documentation as documents, 30 questions that one of them answers and 30 ordinary tasks that none
  does. Told are how often the right page comes first, how often it comes at all, and how often anything comes where nothing
  should. Weights and threshold were set by the odd ones; the even ones were seen once before that.
- ranking: a relevant passage nobody cites beside a famous one that shares fewer of the question's words, for every number of
  shared words; told is how often fame wins, with the plain product of relevance, sort and log2(citations + 2), and with ours.
- heeding: written runs that did or did not use an entry; told are hits and false alarms, by the part of its words that is asked
  for.

    python bench/kinds.py [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _kind_cases import ANSWERED, RUNS, UNANSWERED

from tacit.api import Tacit
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance, Skill, SkillContent, SkillVersion
from tacit.domain.stored import FoundPassage, Passage, StoredVersion
from tacit.domain.trajectory import Origin, Role, Step, Task, Trajectory
from tacit.evidence import skill_usage
from tacit.recall.hook_recall import HookLimits
from tacit.recall.passages import DOCUMENT_TYPE_WEIGHTS, document_prior, quote_documents
from tacit.store import open_store

ROOT = Path(__file__).resolve().parents[1]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope(Level.PROJECT, "")
PASSAGE = 1600
LEAST = HookLimits().min_relevance


def main() -> None:
    """Measure all three, and write them down."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", type=Path)
    told = {"quoting": quoting(), "ranking": ranking(), "heeding": hearing()}
    out = asked.parse_args().out
    print(json.dumps(told, indent=2))
    if out:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        out.write_text(json.dumps({"commit": commit.stdout.strip(), **told}, indent=2) + "\n", encoding="utf-8")


def quoting() -> dict[str, Any]:
    """How often the right page is quoted, and how often any where none is right."""
    loop = Tacit(open_store(":memory:"), clock=lambda: NOW)
    pages = sorted((ROOT / "docs").glob("*/*.md"))
    for page in pages:
        if page.parent.name in ("concepts", "how-to", "decisions"):
            _keep(loop, page)
    told: dict[str, Any] = {"documents": len(loop.skills())}
    for half in (1, 0):
        first = some = wrong = 0
        answered, unanswered = ANSWERED[half::2], UNANSWERED[half::2]
        missed, given = [], []
        for question, right in answered:
            names = [item.name for item in loop.recall(question, keep=False).items]
            first += bool(names) and names[0] in right
            some += bool(set(names) & set(right))
            missed += [] if set(names) & set(right) else [question]
        for question in unanswered:
            names = [item.name for item in loop.recall(question, keep=False).items]
            wrong += bool(names)
            given += [f"{question} → {names[0]}"] if names else []
        told["looked at" if half else "seen once"] = {
            "answered": len(answered), "right first": first, "right at all": some, "missed": missed,
            "unanswered": len(unanswered), "spoke all the same": wrong, "with": given,
        }  # fmt: skip
    return told


def _keep(loop: Tacit, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    title = text.partition("\n")[0].lstrip("# ")
    content = document(page.stem, title)
    skill = Skill.create(content, HERE, at=NOW)
    version = SkillVersion(
        skill_id=skill.id,
        content=content,
        origins={"name": Origin.USER},
        provenance=Provenance(made_by="ann"),
        created_at=NOW,
    )
    moves = [(None, Status.CANDIDATE), (Status.CANDIDATE, Status.TRIAL)]
    born, approved = (
        Transition(
            version_id=version.id, content_hash=version.hash, before=one, after=two, reason="bench", by="ann", at=NOW
        )
        for one, two in moves
    )
    loop.context.store.add_version(skill, version, born)
    loop.context.store.add_transition(approved)
    loop.context.store.passages.put(version.id, list(_passages(text)))


def _passages(text: str) -> Iterator[Passage]:
    index = 0
    for part in re.split(r"\n(?=## )", text):
        heading, _, body = part.partition("\n")
        for at in range(0, max(1, len(body)), PASSAGE - 320):
            yield Passage(index=index, text=body[at : at + PASSAGE].strip() or heading, section=heading.lstrip("# "))
            index += 1


def document(name: str, title: str, *, sort: str = "informal", citations: int = 0) -> SkillContent:
    """A document as research keeps it."""
    metadata = {
        "document.title": title,
        "document.evidence_type": sort,
        "document.citations": str(citations),
        "document.text_digest": "sha256:0",
    }
    return SkillContent(kind=Kind.REFERENCE, name=name, description=title, metadata=metadata)


def ranking() -> dict[str, Any]:
    """How often a famous paper that shares fewer words stands before a relevant one that nobody cites."""
    words = "tuple vacuum bloat autovacuum freeze wraparound".split()
    question = " ".join(words)
    filler = "The experiment was repeated on three machines and the median is reported throughout this chapter. " * 4
    cases = plain = ours = twice = 0
    for more in range(2, len(words) + 1):
        for fewer in range(1, more):
            for citations in (100, 10_000, 300_000):
                for sort in DOCUMENT_TYPE_WEIGHTS:
                    pair = [
                        _found("relevant", f"{filler} {' '.join(words[:more])}", "informal", 0),
                        _found("famous", f"{filler} {' '.join(words[:fewer])}", sort, citations),
                    ]
                    _, relevance = quote_documents(question, pair, min_relevance=0.0)
                    known = {each.stored.version.id: each.stored.version.content for each in pair}
                    scores = {
                        held.name: relevance[key] * DOCUMENT_TYPE_WEIGHTS[held.metadata["document.evidence_type"]]
                        * math.log2(int(held.metadata["document.citations"]) + 2)
                        for key, held in known.items()
                    }  # fmt: skip
                    given, _ = quote_documents(question, pair, min_relevance=LEAST)
                    cases += 1
                    plain += scores["famous"] > scores["relevant"]
                    won = bool(given) and given[0].name == "famous"
                    by_name = {held.name: relevance[key] for key, held in known.items()}
                    ours += won
                    twice += won and by_name["relevant"] >= 2 * by_name["famous"]
    most = document_prior(document("a", "a", sort="peer-reviewed", citations=300_000)) / document_prior(
        document("b", "b")
    )
    return {
        "cases": cases,
        "fame wins by the plain product": plain,
        "fame wins here": ours,
        "over twice its relevance": twice,
        "most it is worth": round(most, 2),
    }


def _found(name: str, text: str, sort: str, citations: int) -> FoundPassage:
    content = document(name, "Notes", sort=sort, citations=citations)
    skill = Skill.create(content, HERE, at=NOW)
    made = Provenance(made_by="ann")
    version = SkillVersion(skill_id=skill.id, content=content, origins={}, provenance=made, created_at=NOW)
    held = StoredVersion(skill=skill, version=version, status=Status.TRUSTED, sequence=1)
    return FoundPassage(stored=held, passage=Passage(index=0, text=text), lexical=1.0)


def hearing() -> list[dict[str, Any]]:
    """Hits and false alarms of what the words tell, by the part of an entry's words that must come back."""
    told = []
    for enough in (0.1, 0.2, 0.3, 0.4, 0.5):
        skill_usage.ENOUGH = enough
        used = [_heeded(case) for case in RUNS if case["used"]]
        passed = [_heeded(case) for case in RUNS if not case["used"]]
        told.append(
            {
                "asked for": enough,
                "used": len(used), "told as used": used.count(True), "not told": used.count(None),
                "passed over": len(passed), "told as used all the same": passed.count(True), "left open": passed.count(None),
            }
        )  # fmt: skip
    skill_usage.ENOUGH = 0.3
    return told


def _heeded(case: dict[str, Any]) -> bool | None:
    content = SkillContent(kind=Kind(case["kind"]), name="entry", description=case["entry"], body=case.get("body", ""))
    steps = [Step(index=index, **_step(told)) for index, told in enumerate(case["run"])]
    trajectory = Trajectory(task=Task(text=case["task"]), steps=tuple(steps))
    return skill_usage.was_used(content, trajectory, start=case.get("start", 0), other_texts=case.get("besides", ()))


def _step(told: Sequence[str]) -> dict[str, Any]:
    who, text = told[0], told[1]
    if who == "user":
        return {"role": Role.USER, "text": text}
    if who == "says":
        return {"role": Role.AGENT, "text": text}
    seen = told[2] if len(told) > 2 else ""
    return {"role": Role.AGENT, "tool": "Bash", "arguments": {"command": text}, "observation": seen}


if __name__ == "__main__":
    main()
