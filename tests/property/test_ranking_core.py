"""The API and hooks rank alike: the same rows and signals give the same order and the same reason codes."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Scope
from tacit.domain.selection import Query
from tacit.domain.skill import Kind
from tacit.recall import publishing
from tacit.recall.hook_recall import HookLimits, for_task
from tacit.recall.ranking import Row, TokenBudget, decide, sort_rows, take_within_budget
from tacit.recall.retrieval import choose
from tacit.store import open_store
from tacit.store.hook_index import HookIndex
from tests.unit.making import NOW
from tests.unit.store.samples import put_version

NATS = st.floats(0, 120, allow_nan=False)
PARTS = st.floats(0, 1, allow_nan=False)
SIGNALS = st.fixed_dictionaries(
    {"relevance": PARTS, "words": NATS, "reliability": PARTS, "prominence": PARTS, "scope": PARTS},
    optional={"names": NATS, "meaning": PARTS, "example": PARTS, "signature": st.sampled_from([0.6, 1.0])},
)
ROWS = st.lists(st.tuples(st.sampled_from([kind.value for kind in Kind]), SIGNALS), max_size=12)
WORDS = ("deploy", "service", "staging", "rollback", "cache", "redis", "ticket", "report", "export", "invoice")


def rows_of(some: list[tuple[str, dict[str, float]]]) -> list[Row]:
    return [
        Row(None, version_id=f"v{at}", name=f"skill-{at}", kind=kind, signals={**signals})
        for at, (kind, signals) in enumerate(some)
    ]


@given(some=ROWS, k=st.integers(0, 4), tokens=st.integers(0, 200), seed=st.randoms(use_true_random=False))
def test_order_and_codes_depend_on_rows_and_signals_alone(some, k, tokens, seed):
    def write(row: Row, available: int) -> str:
        return "x" * 40

    together = decide(rows_of(some), k=k, min_relevance=0.18, budget=TokenBudget(tokens), write=write)
    shuffled = rows_of(some)
    seed.shuffle(shuffled)
    ranked = sort_rows(shuffled, 0.18)
    given_rows, left = take_within_budget([row for row in ranked if row.relevant], k, TokenBudget(tokens), write)
    assert [row.version_id for row in given_rows] == [row.version_id for row in together.given]
    codes = {each.row.version_id: each.code for each in together.rejected}
    assert {each.row.version_id: each.code for each in left}.items() <= codes.items()
    assert {row.version_id for row in ranked if not row.relevant} == {
        version_id for version_id, code in codes.items() if code is ReasonCode.BELOW_THRESHOLD
    }
    assert (together.code is None) == bool(together.given)


@settings(max_examples=25, deadline=None)
@given(
    skills=st.lists(st.lists(st.sampled_from(WORDS), min_size=2, max_size=4, unique=True), min_size=1, max_size=6),
    prompt=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
    k=st.integers(1, 3),
)
def test_a_hook_and_the_api_answer_a_prompt_alike(skills, prompt, k):
    text = " ".join(prompt)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tacit.db"
        with closing(open_store(path)) as store:
            for at, words in enumerate(skills):
                put_version(
                    store,
                    f"{'-'.join(words)}-{at}",
                    description=" ".join(words),
                    body=f"number {at} " * (at + 1),
                    steps=(),
                )
            publishing.publish(store)
            query = Query(text=text, k=k, budget_tokens=20_000, scope=Scope())
            selection = choose(store, query, now=NOW, min_relevance=0.18)
        index = HookIndex.open(str(path))
        assert index is not None
        limits = HookLimits(k=k, budget_tokens=20_000)
        decision = for_task(index, text, scope="project", now=NOW.timestamp(), limits=limits)
        index.close()
    assert [row.version_id for row in decision.given] == [item.version_id for item in selection.items]
    same = {each.version_id: _general(each.code) for each in selection.left_out}
    assert {each.row.version_id: _general(each.code) for each in decision.rejected} == same
    assert decision.code == selection.code


def _general(code: ReasonCode) -> ReasonCode:
    """The API names the nearest misses in addition."""
    return ReasonCode.BELOW_THRESHOLD if code is ReasonCode.NEAREST_MISS else code
