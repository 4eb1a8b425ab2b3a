"""How many cards the rubric turns away: hand-written ones in three parts, and advice from public skills.

The parts are those of tests/unit/features/cards/rubric_*.jsonl: rules were written looking at `look`, `held` was asked afterwards, and
`later` was written after that, asked once and then learned from. Public advice is every line of a list below a heading such as
"Pitfalls" or "Troubleshooting" in the Markdown files that the arguments name, as a card with that one step; nobody has labelled
it, so what is refused is listed for a person to read.

    python bench/rubric.py [--skills FOLDER]... [--out bench/results/rubric.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tacit.features.cards.rubric import judge  # noqa: E402
from tests.unit.features.cards.rubric_cards import HALVES, Written, cards  # noqa: E402

HEADING = re.compile(r"^#+ .*(?:pitfall|gotcha|troubleshoot|common (?:issues|mistakes|errors|problems)|lessons)", re.I)
BULLET = re.compile(r"^(?:[-*]|\d+\.) (?=\S)")
SHORTEST = 25
SHOWN = 40


def main() -> None:
    """Measure, print and, if asked, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=Path, action="append", default=[], help="a folder of public skills")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"python": platform.python_version()}
    found |= {half: measured(half) for half in HALVES}
    if options.skills:
        found["public_advice"] = advice([line for folder in options.skills for line in bullets(folder)])
    text = json.dumps(found, indent=1, ensure_ascii=False)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def measured(half: str) -> dict[str, Any]:
    """How many good cards are refused, and how many poor ones let through, by sort."""
    good, poor = cards("good", half=half), cards("bad", half=half)
    refused, missed = [c for c in good if judge(c)], [c for c in poor if not judge(c)]
    return {
        "good": len(good),
        "good_refused": [card.title for card in refused],
        "poor": len(poor),
        "poor_let_through": [card.title for card in missed],
        "sorts": {sort: _share(poor, missed, sort) for sort in sorted({card.sort for card in poor})},
    }


def _share(poor: list[Written], missed: list[Written], sort: str) -> str:
    of_sort = [card for card in poor if card.sort == sort]
    return f"{len(of_sort) - len([card for card in missed if card.sort == sort])}/{len(of_sort)}"


def bullets(folder: Path) -> Iterator[str]:
    """Advice in public skills, line by line; code is left out."""
    for path in sorted(folder.rglob("*.md")):
        below, fenced = False, False
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            fenced ^= line.startswith("```")
            if line.startswith("#") and not fenced:
                below = HEADING.match(line) is not None
            elif below and not fenced and BULLET.match(line) and len(line) > SHORTEST:
                yield BULLET.sub("", line)


def advice(lines: list[str]) -> dict[str, Any]:
    """How many of these lines would be refused as the only step of a card, and for what."""
    told = list(dict.fromkeys(lines))
    rules: Counter[str] = Counter()
    refused = []
    for line in told:
        reasons = judge(
            Written(sort="", half="", title="Advice", when_to_use="Using the skill", solution_steps=(line,))
        )
        rules.update(reason.rule for reason in reasons)
        refused += [line] if reasons else []
    share = round(100 * len(refused) / len(told), 2) if told else None
    return {"lines": len(told), "refused": len(refused), "percent": share, "rules": rules, "listed": refused[:SHOWN]}


if __name__ == "__main__":
    main()
