"""Arms as data: by name, or from a file, whose problems are all told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.suite import ARMS, AidKind, Arm, RunPlan, all_arms, describe_arm, named_arms, read_run_plan
from tests.raising import raises


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "arms.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_arms_are_named_in_the_order_that_they_are_wanted_in() -> None:
    assert [arm.name for arm in named_arms(" skills, none,,skills+adapter,none")] == [
        "skills",
        "none",
        "skills+adapter",
    ]


@pytest.mark.parametrize(("names", "code"), [("none,nobody,nothing", "unknown_arm"), (" ,", "no_arm")])
def test_arms_that_do_not_exist_are_reported(names: str, code: str) -> None:
    with raises(Mistake, code) as mistake:
        named_arms(names)
    assert "skills+adapter" in mistake.value.hint


def test_a_file_defines_arms_and_names_a_suite(tmp_path: Path) -> None:
    plan = read_run_plan(
        written(
            tmp_path,
            '[suite]\nname = "retail"\ndata = "files"\n[arms.one-skill]\naid = "skills"\nk = 1\n[arms.short]\n'
            'aid = "skills"\nbudget_tokens = 200\nadapter = true\n[arms.bare]\n',
        )
    )
    assert plan == RunPlan(
        arms=(
            Arm(name="one-skill", aid=AidKind.SKILLS, k=1),
            Arm(name="short", aid=AidKind.SKILLS, adapter=True, budget_tokens=200),
            Arm(name="bare"),
        ),
        suite="retail",
        options={"data": str(tmp_path / "files")},
    )
    assert [arm.name for arm in named_arms("none,short", all_arms(plan))] == ["none", "short"]


def test_every_problem_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    nonsense = """
        colour = "red"
        [suite]
        seed = 7
        [arms]
        flat = 3
        [arms.none]
        [arms."a,b"]
        aid = "magic"
        k = 0
        budget_tokens = true
        adapter = "yes"
        size = 1
        [arms.odd]
        aid = ["skills"]
    """
    with pytest.raises(Mistake) as mistake:
        read_run_plan(written(tmp_path, nonsense))
    assert mistake.value.code == "bad_run_plan"
    parts = ("'colour'", "seed", "'flat'", "'none'", "'a,b'", "'magic'", "k must", "budget_tokens", "adapter", "'size'")
    for part in (*parts, "['skills']"):
        assert part in mistake.value.message


@pytest.mark.parametrize(
    "text", ["[arms", b"\xff\xfe", "arms = 3", "suite = 3", "x = " + "[" * 50_000, b"#" * (1 << 20) + b"##"]
)
def test_a_file_that_is_no_plan_is_a_mistake(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(Mistake) as mistake:
        read_run_plan(written(tmp_path, text))
    assert "arms.toml" in mistake.value.message


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_run_plan(tmp_path / "arms.toml")


def test_every_arm_says_what_it_gives() -> None:
    result = {name: describe_arm(arm) for name, arm in ARMS.items()}
    assert len(set(result.values())) == len(ARMS)
    assert result["adapter"] == "an adapter in its weights"
    assert describe_arm(Arm(name="x", aid=AidKind.SKILLS, k=1, adapter=True)).endswith("1 at most; an adapter")
