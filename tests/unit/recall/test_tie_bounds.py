"""Ties told at a glance: what is so far ahead that nothing can turn it is not compared, and never wrongly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.recall.signals import QueryTerms, Rarity
from tacit.recall.ties import MatchBounds, could_swap, max_shift, rarity_shifts

WORDS = ("zebra", "penguin", "rotat", "key", "run", "fil")
texts = st.lists(st.sampled_from(WORDS), max_size=12)
skills = st.tuples(st.tuples(texts, texts, texts, texts), st.lists(texts, max_size=2))


@given(skills, skills, st.sets(st.sampled_from(WORDS)), st.dictionaries(st.sampled_from(WORDS), st.integers(0, 30)))
def test_whether_an_order_can_turn_is_what_the_whole_comparison_says(one, two, names, frequency):
    asked = QueryTerms(WORDS[:5], Rarity(frequency=frequency, corpus_size=30), names=names)
    shifts = rarity_shifts(asked.terms, frequency, 30)
    first, second = (MatchBounds(words, examples, asked=asked, shifts=shifts) for words, examples in (one, two))
    edge = max_shift(first, second, shifts)
    for ahead in (0.0, edge * 0.99, edge, edge * 1.01 + 1e-12, edge + 5.0):
        assert could_swap(ahead, first, second, shifts) == (ahead <= edge)
