"""How well recall ranks, and how well it knows that it has nothing, beside BM25 over the same texts.

The sets are told in `_recall_sets`. Measured with words alone and, where an embedder is named, with meaning too:

- real skills: hit@1, R@5, MRR on 437 published skills;
- paraphrases (no shared stem), reworded (written apart, almost none) and identifiers: R@1, R@5;
- siblings: hit@1, MRR of a task's text for the procedure its siblings gave, in three parts and together, with the paired
  difference to BM25 (whole tasks or scenarios are drawn). `words` and `meaning` have the written skills; `learned` has what
  Tacit learned from the siblings' calls, and answers with the plan it makes of that; `with tools` is told what is at hand;
- look-alikes: what 30 near-duplicates in every library cost on the same questions;
- telling: AUROC of the confidence with the right skills in the library against the same questions with them removed;
- odd queries: other languages and any characters; counted is how many fail.

BM25 comes in three forms: one document for all that a skill says, one for each of its example queries, and one for each
sibling, the best of which counts. Differences are told to the best form that sees the same texts and tools.

    python bench/recall_quality.py --data DATA [--embedder FOLDER] [--half test] [--only siblings …] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import _recall_sets as sets
from _recall_rankers import Bm25, Learned, Memory, Ranker, Remembering
from _recall_sets import Asked, Part

from tacit.config.environment import UserEnvironment
from tacit.domain.ports import Embedder
from tacit.features.evaluate.estimates import Estimate, auroc, bootstrap, mean
from tacit.features.evaluate.recall_quality import hit, recall_at, reciprocal_rank
from tacit.providers.embedding.embedder_choice import open_embedder

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ", with tools"
NAMES = ("real skills", "paraphrases", "reworded", "identifiers", "siblings", "odd queries")
Measures = Mapping[str, Callable[[Sequence[str], Mapping[str, float]], float]]
MEASURES: Measures = {"hit@1": hit, "R@5": recall_at, "MRR": reciprocal_rank}


@dataclass(frozen=True, slots=True)
class Found:
    """What came for one question, best first, and how sure the system is that it fits."""

    asked: Asked
    ranked: Sequence[str]
    confidence: float
    without: float | None = None
    """How sure it is with the right skills removed."""


# --- measuring ------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """The answers of several systems to the same questions."""

    name: str
    answers: dict[str, list[Found]] = field(default_factory=dict)
    turned_away: int = 0
    """Skills that the gate did not admit: nobody can recall them, and they are not taken out of what is right."""

    def add(self, who: str, ranker: Ranker, asked: Sequence[Asked], *, removing: bool = False) -> None:
        """Ask a system everything; with `removing`, again with the right skills removed."""
        held = self.answers.setdefault(who, [])
        for one in asked:
            ranked, confidence = ranker.rank(one)
            without = ranker.rank(one, without=one.relevant)[1] if removing else None
            held.append(Found(one, ranked, confidence, without))

    def values(self, who: str, measure: str) -> list[float]:
        """One value for each question."""
        return [
            MEASURES[measure](found.ranked, dict.fromkeys(found.asked.relevant, 1.0)) for found in self.answers[who]
        ]

    @property
    def groups(self) -> list[str]:
        """What each question belongs to."""
        return [found.asked.group for found in next(iter(self.answers.values()))]

    def document(self) -> dict[str, Any]:
        """Figures with intervals, and differences to the better BM25."""
        rows: dict[str, Any] = {}
        for who, found in self.answers.items():
            rows[who] = {name: told(bootstrap(self.values(who, name), mean, groups=self.groups)) for name in MEASURES}
            scored = [(one.confidence, True) for one in found] + [
                (one.without, False) for one in found if one.without is not None
            ]
            if len(scored) > len(found):
                twice = [*self.groups, *self.groups]
                rows[who]["telling AUROC"] = told(bootstrap(scored, auroc, groups=twice, rounds=500))
        document = {"n": len(self.groups), "groups": len(set(self.groups)), "rows": rows}
        if self.turned_away:
            document["skills turned away"] = self.turned_away
        ours = [who for who in self.answers if not who.startswith("bm25")]
        document["difference"] = {who: self.difference(who, self.rival(who)) for who in ours}
        return document

    def rival(self, who: str) -> str:
        """The BM25 that does best of those that see the same: the same tools, and siblings only beside what was learned."""
        told = who.endswith(TOOLS)
        forms = [each for each in self.answers if each.startswith("bm25") and each.endswith(TOOLS) == told]
        same = [each for each in forms if who.startswith("learned") or "by sibling" not in each]
        return max(same, key=lambda each: sum(self.values(each, "hit@1")))

    def difference(self, who: str, against: str) -> dict[str, Any]:
        """Paired differences, question by question."""
        found: dict[str, Any] = {"to": against}
        for name in MEASURES:
            pairs = zip(self.values(who, name), self.values(against, name), strict=True)
            found[name] = told(bootstrap([ours - theirs for ours, theirs in pairs], mean, groups=self.groups))
        return found


def pooled(name: str, tables: Sequence[Table]) -> Table:
    """The questions of several tables in one, with the systems that answered all of them."""
    first, *others = tables
    everyone = [who for who in first.answers if all(who in table.answers for table in others)]
    return Table(name, {who: [found for table in tables for found in table.answers[who]] for who in everyone})


def told(estimate: Estimate | None) -> dict[str, float] | None:
    """An estimate as it is kept."""
    if estimate is None:
        return None
    rounded = {name: round(getattr(estimate, name), 4) for name in ("value", "low", "high")}
    return {**rounded, "n": estimate.n}


class Bench:
    """All measurements, with one embedder or none beside words alone."""

    def __init__(self, data: Path, *, embedder: Embedder | None, half: str) -> None:
        self.data, self.half = data, half
        self.modes: dict[str, Embedder | None] = {"words": None} | ({"meaning": embedder} if embedder else {})

    def plain(self, part: Part, *, removing: bool = True) -> dict[str, Any]:
        """One library, all modes, beside BM25."""
        part, table = part.only(self.half), Table(part.name)
        for mode, embedder in self.modes.items():
            memory = Memory(part.skills, embedder=embedder)
            table.add(mode, memory, part.asked, removing=removing)
            table.turned_away = memory.turned_away
        table.add("bm25", Bm25.by_skill(part), part.asked, removing=removing)
        return table.document()

    def siblings(self) -> dict[str, Any]:
        """Each part and all together, without and with look-alikes in the library."""
        document: dict[str, Any] = {}
        tables: dict[str, tuple[Table, Table]] = {}
        for name, folds in sets.siblings(self.data).items():
            tables[name] = table, beside = Table(name), Table(f"{name}, look-alikes")
            for fold in folds:
                part = fold.only(self.half)
                self._fold(part, table, removing=True)
                if part.siblings:
                    self._learned(part, table)
                others = tuple(made.skill for made in sets.look_alikes(part.skills))
                self._fold(replace(part, skills=part.skills + others), beside, removing=False)
                print(".", end="", file=sys.stderr, flush=True)
            document[name] = self._beside(table, beside)
        for name, parts in (("turns and orders", ("turns", "orders")), ("all", tuple(tables))):
            plain, crowded = (pooled(name, [tables[part][at] for part in parts]) for at in (0, 1))
            document[name] = self._beside(plain, crowded)
        return document

    def _fold(self, part: Part, table: Table, *, removing: bool) -> None:
        for mode, embedder in self.modes.items():
            self._both(mode, Memory(part.skills, embedder=embedder), part, table, removing=removing)
        self._both("bm25", Bm25.by_skill(part), part, table, removing=removing)
        self._both("bm25, by request", Bm25.by_request(part), part, table, removing=removing)

    def _learned(self, part: Part, table: Table) -> None:
        for mode, embedder in self.modes.items():
            self._both(f"learned, {mode}", Learned(part, embedder=embedder), part, table, removing=False)
        self._both("bm25, by sibling", Bm25.by_sibling(part), part, table, removing=False)

    @staticmethod
    def _both(who: str, ranker: Memory | Learned | Bm25, part: Part, table: Table, *, removing: bool) -> None:
        """Ask without and, where the data say which tools there are, with them."""
        table.add(who, ranker, part.asked, removing=removing)
        if any(one.tools is not None for one in part.asked):
            ranker.with_tools = True
            table.add(f"{who}{TOOLS}", ranker, part.asked, removing=removing)

    @staticmethod
    def _beside(table: Table, crowded: Table) -> dict[str, Any]:
        document = table.document()
        document["look-alikes"] = {}
        for who in crowded.answers:
            pairs = zip(table.values(who, "hit@1"), crowded.values(who, "hit@1"), strict=True)
            costs = bootstrap([before - after for before, after in pairs], mean, groups=table.groups)
            after = bootstrap(crowded.values(who, "hit@1"), mean, groups=crowded.groups)
            document["look-alikes"][who] = {"hit@1": told(after), "cost": told(costs)}
        return document

    def odd_queries(self) -> dict[str, Any]:
        """Whatever is asked, an answer comes, or silence; never an error."""
        failed: list[str] = []
        asked = sets.odd_queries()
        for mode, embedder in self.modes.items():
            memory = Memory(sets.own_library(), embedder=embedder).memory
            for row in asked:
                try:
                    memory.recall(row["query"])
                except Exception as error:  # this is what is counted
                    failed.append(f"{mode}, {row['about']}: {type(error).__name__}: {error}")
        return {"n": len(asked), "modes": len(self.modes), "failed": failed}


def show(name: str, document: Mapping[str, Any]) -> None:
    """Print one set's figures."""
    print(f"\n{name}: n = {document['n']}" + (f" in {document['groups']} groups" if "groups" in document else ""))
    for who, row in document.get("rows", {}).items():
        cells = "".join(f"{measure} {cell(figure)}   " for measure, figure in row.items())
        print(f"  {who:<30}{cells}")
    for who, row in document.get("difference", {}).items():
        cells = "".join(f"{measure} {cell(row[measure], sign=True)}   " for measure in MEASURES)
        print(f"  {who} - {row['to']}\n{'':<32}{cells}")
    for who, row in document.get("look-alikes", {}).items():
        print(f"  {who:<30}with look-alikes hit@1 {cell(row['hit@1'])}   costs {cell(row['cost'], sign=True)}")
    if "failed" in document:
        print(f"  failed: {len(document['failed'])}", *document["failed"][:5], sep="\n    ")


def cell(figure: Mapping[str, float] | None, *, sign: bool = False) -> str:
    """A figure with its interval."""
    if figure is None:
        return "-"
    form = "+.3f" if sign else ".3f"
    return f"{figure['value']:{form}} [{figure['low']:{form}}, {figure['high']:{form}}]"


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Keep how long something took."""
    begun = time.perf_counter()
    yield
    seconds[name] = round(time.perf_counter() - begun, 1)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with bfcl, retail and skill-retrieval")
    parser.add_argument("--embedder", default="", help="what finds by meaning, as in the settings; words alone without")
    parser.add_argument("--half", choices=(sets.DEVELOPMENT, sets.TEST), default="", help="ask only one half")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=NAMES, help="only these sets")
    parser.add_argument("--out", type=Path, help="write the figures to this file too")
    return parser.parse_args()


def main() -> None:
    """Measure, print, keep."""
    given = options()
    opened = open_embedder(given.embedder, home=UserEnvironment.read().home) if given.embedder else None
    bench = Bench(given.data, embedder=Remembering(opened) if opened else None, half=given.half)
    document: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "real skills": lambda: bench.plain(sets.real_skills(given.data)),
        "paraphrases": lambda: bench.plain(sets.paraphrases()),
        "reworded": lambda: bench.plain(sets.reworded()),
        "identifiers": lambda: bench.plain(sets.identifiers()),
        "siblings": bench.siblings,
        "odd queries": bench.odd_queries,
    }
    for name, make in makers.items():
        if name not in given.only:
            continue
        with timed(seconds, name):
            made = make()
        document[name] = made
        for part, figures in made.items() if name == "siblings" else ((name, made),):
            show(part if part == name else f"siblings, {part}", figures)
    if given.out:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        about = {
            "commit": commit.stdout.strip(),
            "python": platform.python_version(),
            "embedder": opened.identity if opened else "none",
            "half": given.half or "both",
            "seconds": seconds,
        }
        given.out.write_text(json.dumps({**about, "sets": document}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
