"""How well a model's reading does on real sessions, with recorded answers.

    python bench/reading.py coverage WILD LESSONS        share of labelled lessons whose evidence is in the digest
    python bench/reading.py learn RECORDED WILD STREAM…  learn the past of streams with recorded answers; prompts without one are written
    python bench/reading.py items RECORDED OUT FILE…     what is kept of some sessions, one JSON line each, for blind grading

WILD is what tools/wild/sessions.py writes. RECORDED holds `KEY.prompt.md` and, beside it, `KEY.answer.json`: answers of a capable
model that sees that prompt and nothing else. No text of the sessions or of the answers is kept in the repository, only figures.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tacit
from tacit.api import Tacit
from tacit.domain.errors import TacitError
from tacit.learn.reading.digest import SessionRecord, digest_parts
from tacit.learn.reading.proposals import normalised
from tacit.providers.opening import RecordedModel

MIN_PIECE = 12
"""Characters of a line that tells one place of a session from another."""


def coverage(wild: Path, lessons: Path) -> dict[str, Any]:
    """Return how many labelled lessons have evidence in the digest: at least one of its lines, and all of them."""
    labelled = [json.loads(line) for line in lessons.read_text(encoding="utf-8").splitlines()]
    digests: dict[str, tuple[list[str], str]] = {}
    some = whole = 0
    for lesson in labelled:
        session = lesson["session"]
        if session not in digests:
            (path,) = wild.glob(f"{lesson['stream']}/*/*{session}*")
            record = SessionRecord(session, tuple(tacit.read(path)))
            told = normalised("\n".join(digest_parts(record)))
            digests[session] = path.read_text(encoding="utf-8", errors="replace").splitlines(), told
        lines, told = digests[session]
        found = [_is_told(lines[number - 1], told) for number in lesson["evidence"] if number <= len(lines)]
        some += any(found)
        whole += bool(found) and all(found)
    return {"lessons": len(labelled), "some_evidence": some, "all_evidence": whole}


def _is_told(line: str, told: str) -> bool:
    """Whether a line of a transcript is told: some line of its texts stands in the digest."""
    try:
        texts = list(_strings(json.loads(line)))
    except ValueError:
        return False
    pieces = (normalised(piece)[:60] for text in texts for piece in text.splitlines())
    return any(piece in told for piece in pieces if len(piece) >= MIN_PIECE)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("cwd", "uuid", "parentUuid", "sessionId", "timestamp", "version", "gitBranch", "id"):
                yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def learned(memory: Tacit, files: Sequence[Path], recorded: Path) -> dict[str, Any]:
    """Learn from sessions with recorded answers; return what the reader did."""
    for path in files:
        try:
            memory.capture(tacit.read(path))
        except TacitError:
            continue
    report = memory.learn(model=RecordedModel(recorded))
    read = report.model
    assert read is not None
    return {
        "sessions": read.sessions,
        "waiting": read.waiting,
        "proposed": read.proposed,
        "refused": Counter(each.reason for each in read.refused),
        "dropped": Counter(each.reason for each in read.dropped),
        "items": read.items,
        "held": len(report.held),
        "rejected": sum(1 for verdict in report.rejected if verdict.name and verdict.content_hash),
        "calls": read.spent.calls,
        "tokens": read.spent.tokens,
    }


def items(memory: Tacit) -> Iterator[dict[str, Any]]:
    """Yield what was read and waits, as a reviewer sees it."""
    for stored in memory.skills():
        version = stored.version
        if version.provenance.made_by.startswith("tacit.reading") and stored.status == "candidate":
            content = version.content
            yield {
                "kind": str(content.kind),
                "name": content.name,
                "text": content.description,
                "when": content.example_queries,
            }


def main(arguments: Sequence[str]) -> None:
    """Run one of the three commands."""
    command, *rest = arguments
    if command == "coverage":
        print(json.dumps(coverage(Path(rest[0]), Path(rest[1]))))
        return
    recorded = Path(rest[0])
    if command == "learn":
        for stream in rest[2:]:
            with _store() as memory:
                files = sorted((Path(rest[1]) / stream / "past").iterdir())
                print(json.dumps({"stream": stream, **learned(memory, files, recorded)}), flush=True)
        return
    with _store() as memory, Path(rest[1]).open("w", encoding="utf-8") as out:
        learned(memory, [Path(each) for each in rest[2:]], recorded)
        out.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in items(memory))


def _store() -> Tacit:
    return tacit.open(Path(tempfile.mkdtemp(prefix="tacit-reading-")) / "tacit.db")


if __name__ == "__main__":
    main(sys.argv[1:])
