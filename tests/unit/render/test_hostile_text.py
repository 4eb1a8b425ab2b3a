"""A SKILL.md made to keep its reader busy: time grows with the text and not faster, and nothing but a problem comes of it."""

from __future__ import annotations

import pytest

from tacit.render.frontmatter import NODES_MAX
from tacit.render.skill_md import MARKER, examine

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
    parsed, problems = examine(f"---\nname: x\n{BOMBS[name]}\n---\nbody\n")
    assert problems
    assert parsed is None or len(parsed.content.description) < 400_000


@pytest.mark.parametrize("key", OWN)
@pytest.mark.parametrize("deep", ["[" * 50_000, '{"a":' * 30_000])
def test_deep_json_in_metadata_is_a_problem_and_no_crash(key: str, deep: str) -> None:
    parsed, problems = examine(f"---\nname: x\ndescription: y\nmetadata:\n  tacit-{key}: '{deep}'\n---\nbody\n")
    assert parsed is not None
    assert problems


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place", ["body", "Steps", "When", "Parameters"])
def test_hostile_text_is_read_to_its_end(piece: str, place: str) -> None:
    """Text that made an older reader take minutes; `bench/hostile_text.py` measures the time."""
    text = (piece * 60_000)[:60_000]
    document = HEAD + (text if place == "body" else f"{MARKER}\n\n## {place}\n1. x\n   - tool: {text}\n")
    parsed, problems = examine(document)
    assert parsed is not None or problems
