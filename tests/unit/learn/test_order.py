"""What comes after what, learned from sequences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.learn.mining.units import learn_order

NAMES = st.sampled_from("abcde")


def test_a_clear_majority_makes_a_relation() -> None:
    after = learn_order([["stop", "copy", "start"]] * 3 + [["copy", "stop"]])
    assert after == {"copy": ("stop",), "start": ("copy", "stop"), "stop": ()}


def test_an_even_split_leaves_the_order_open() -> None:
    assert learn_order([["a", "b"], ["b", "a"]] * 5) == {"a": (), "b": ()}


def test_one_run_is_no_evidence_of_order() -> None:
    assert learn_order([["a", "b"]]) == {"a": (), "b": ()}
    assert learn_order([["a", "b"]], at_least=1) == {"a": (), "b": ("a",)}


def test_the_first_time_counts_where_a_skill_is_repeated() -> None:
    assert learn_order([["a", "b", "a", "a"]] * 2)["b"] == ("a",)


def test_of_a_circle_the_weakest_relation_is_dropped() -> None:
    after = learn_order([["a", "b"]] * 5 + [["b", "c"]] * 4 + [["c", "a"]] * 3)
    assert after == {"a": (), "b": ("a",), "c": ("b",)}


@given(st.lists(st.lists(NAMES, max_size=6), max_size=30))
def test_relations_never_form_a_circle(sequences: list[list[str]]) -> None:
    after = learn_order(sequences)
    done: set[str] = set()
    while len(done) < len(after):
        free = {name for name in after if name not in done and done.issuperset(after[name])}
        assert free, f"a circle among {set(after) - done}"
        done |= free


@given(st.lists(st.lists(NAMES, max_size=6), max_size=30), st.randoms())
def test_the_order_of_the_runs_does_not_matter(sequences: list[list[str]], dice: object) -> None:
    mixed = list(sequences)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    assert learn_order(mixed) == learn_order(sequences)
