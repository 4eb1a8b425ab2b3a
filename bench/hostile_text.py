"""Does the time for hostile text grow no faster than the text? Each reader of foreign text, at a size and at four times that size.

Processor time, the better of three; a ratio near 4 is linear, near 16 quadratic. Writes bench/results/hostile_text.json.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from tacit.render.skill_md import examine
from tacit.text.redaction import redact
from tacit.text.resource_uses import resource_uses_in
from tacit.text.safe_markdown import inert

SIZE = 25_000
PIECES = [
    "![",
    "](",
    "`",
    "` `` ",
    "<a ",
    "<img ",
    "~~~\n",
    "```\n",
    "> ",
    "curl ",
    "a.",
    "//a.b",
    "- ",
    "1. ",
    "{",
    "<!--",
    '"',
    "a: ",
    "é",
]
READERS: dict[str, Callable[[str], object]] = {
    "safe markdown": inert,
    "redaction": redact,
    "touches": lambda text: resource_uses_in("body", text),
    "SKILL.md": lambda text: examine(f"---\nname: x\ndescription: y\n---\n{text}"),
}


def main() -> None:
    ratios = {}
    for name, read in READERS.items():
        ratios[name] = {
            piece: round(seconds(read, piece, 4 * SIZE) / max(seconds(read, piece, SIZE), 1e-4), 2) for piece in PIECES
        }
        worst = max(ratios[name], key=ratios[name].__getitem__)
        print(f"{name:16} worst ratio {ratios[name][worst]:6.2f} at {worst!r}")
    result = {"size": SIZE, "times_the_text": 4, "ratio_of_processor_time": ratios}
    Path(__file__).with_name("results").joinpath("hostile_text.json").write_text(json.dumps(result, indent=1) + "\n")


def seconds(read: Callable[[str], object], piece: str, size: int) -> float:
    text = piece * (size // len(piece))
    taken = []
    for _ in range(3):
        began = time.process_time()
        read(text)
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    main()
