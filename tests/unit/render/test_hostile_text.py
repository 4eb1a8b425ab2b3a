"""A SKILL.md made to keep its reader busy: time grows with the text and not faster, and nothing but a problem comes of it."""

from __future__ import annotations

import time

import pytest

from tacit.render.skill_md import MARKER, examine
from tacit.render.yaml_reading import NODES_MAX

HEAD = "---\nname: x\ndescription: y\n---\n"
PIECES = [
    "{",
    "{}",
    "[",
    "`",
    "- ",
    "1. ",
    "#",
    "\n",
    " ",
    "a: ",
    "`x` shows `",
    "(from `",
    "\\",
    "<!--",
    '"',
    "~~~\n",
    "- a\n",
    "![",
    "é",
]
BOMBS = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\ndescription: *c",
    "merge keys": "a: &a {x: y}\nb:\n  <<: *a\ndescription: y",
    "tags": "description: !!python/object/apply:os.system [id]",
    "flow depth": f"description: {'[' * 5000}{']' * 5000}",
    "map depth": f"description: {'{a: ' * 5000}{'}' * 5000}",
    "block depth": "\n".join(f"{' ' * at}a:" for at in range(400)),
    "many values": f"description: [{'x,' * (NODES_MAX + 10)}x]",
    "huge scalar": f"description: {'x' * 300_000}",
    "huge quoted": f'description: "{"x" * 300_000}"',
    "open quote": f'description: "{"x" * 100_000}',
    "question marks": "? " * 20_000 + "a",
}
OWN = ("tags", "steps", "cues", "capabilities", "cases", "parameters", "files", "body-margins", "metadata")


@pytest.mark.parametrize("name", BOMBS)
def test_a_yaml_bomb_is_refused_at_once(name: str) -> None:
    began = time.process_time()
    parsed, problems = examine(f"---\nname: x\n{BOMBS[name]}\n---\nbody\n")
    assert time.process_time() - began < 3
    assert problems
    assert parsed is None or len(parsed.content.description) < 400_000


@pytest.mark.parametrize("key", OWN)
@pytest.mark.parametrize("deep", ["[" * 50_000, '{"a":' * 30_000])
def test_deep_json_in_metadata_is_a_problem_and_no_crash(key: str, deep: str) -> None:
    parsed, problems = examine(f"---\nname: x\ndescription: y\nmetadata:\n  tacit-{key}: '{deep}'\n---\nbody\n")
    assert parsed is not None
    assert problems


def _seconds(document: str) -> float:
    began = time.process_time()
    examine(document)
    return time.process_time() - began


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place", ["body", "Steps", "When", "Parameters"])
def test_time_is_linear_in_hostile_text(piece: str, place: str) -> None:
    spent = []
    for size in (15_000, 60_000):
        text = (piece * size)[:size]
        document = HEAD + (text if place == "body" else f"{MARKER}\n\n## {place}\n1. x\n   - tool: {text}\n")
        spent.append(
            min(_seconds(document) for _ in range(2))
        )  # the better of two: other work on the machine counts too
    assert spent[1] < 8 * spent[0] + 0.5, "four times the text, not sixteen times the time"
