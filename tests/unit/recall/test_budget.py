"""The budget: hard in all and for each kind, what comes last, and nothing twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Item, Query, Selection
from tacit.domain.skill import Kind, SkillStep
from tacit.domain.stored import Hit, StoredVersion
from tacit.recall.ranking import BUDGET_SHARES, RESERVED_SHARES, TokenBudget
from tacit.recall.selection import has_same_content, select
from tacit.recall.signals import Rarity
from tacit.recall.weighing import RecallContext
from tacit.render import render_selection
from tacit.text.words import estimate_tokens
from tests.unit.making import NOW, PROJECT, content, stored

TASK = "add a database migration"


def held(name: str, kind: Kind = Kind.PROCEDURE, **more: Any) -> StoredVersion:
    return stored(content(name=name, kind=kind, description=f"Add a database migration {name}", **more))


def ask(*known: StoredVersion, size: int = 40, **query: Any) -> Selection:
    def render(item: Item, room: int) -> str:
        del room
        return item.name.ljust(size, ".")

    hits = [
        Hit(stored=each, lexical=20.0 if "migration" in each.version.content.description else 0.0) for each in known
    ]
    told = RecallContext(rarity=Rarity(frequency={"migrat": 9}, corpus_size=20), reliability={})
    asked = Query(text=TASK, scope=PROJECT, **{"k": 50, **query})
    return select(asked, hits, told, render=render, now=NOW, min_relevance=0.1)


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


@pytest.mark.parametrize("kind", list(BUDGET_SHARES))
def test_a_kind_takes_no_more_than_its_share_where_others_want_theirs(kind):
    many = [held(f"{kind}-{chr(97 + at) * 5}", Kind(kind)) for at in range(20)]
    procedures = [held(f"way-{chr(97 + at) * 5}") for at in range(20)]
    selection = ask(*many, *procedures, budget_tokens=200)
    taken = sum(item.tokens for item in selection.items if item.version.content.kind == kind)
    assert 0 < taken <= BUDGET_SHARES[kind] * 200
    assert selection.left_out[0].code is ReasonCode.OVER_BUDGET


@pytest.mark.parametrize("kind", list(Kind))
def test_what_matches_takes_what_other_kinds_leave(kind):
    many = [held(f"{kind}-{chr(97 + at) * 5}", kind) for at in range(20)]
    selection, whole = (ask(*many, budget_tokens=tokens, kinds=(kind,)) for tokens in (200, 2000))
    assert 200 - 10 - len(many) <= selection.tokens <= 200  # another one would not have fitted
    taken, left = len(selection.items), len(selection.left_out)
    assert names(selection) == [name for name in names(whole) if name in names(selection)]
    assert taken + left == len(many)
    (budget,) = (each for each in selection.budgets if each.kind is kind)
    assert (budget.given, budget.left_out) == (taken, left)


def test_one_kind_leaves_room_for_others():
    norms = [held(f"norm-{chr(97 + at) * 5}", Kind.NORM) for at in range(9)]
    wanted = held("the-procedure-itself")
    selection = ask(*norms, wanted, budget_tokens=80)
    assert "the-procedure-itself" in names(selection)


def test_a_share_is_of_the_whole_and_of_what_is_left():
    budget = TokenBudget(100)
    assert (budget.available("norm"), budget.available("reference"), budget.available("procedure")) == (25, 40, 100)
    budget.spend("norm", 20)
    assert (budget.available("norm"), budget.available("procedure")) == (5, 80)
    budget.spend("procedure", 78)
    assert budget.available("norm") == budget.available("reference") == budget.available("procedure") < 2


@pytest.mark.parametrize("budget", [0, -5])
def test_an_empty_budget_has_no_room(budget):
    assert all(TokenBudget(budget).available(kind) <= 0 for kind in Kind)


@pytest.mark.parametrize("length", range(36, 44))
def test_texts_that_use_up_the_budget_still_fit_with_the_line_ends_between_them(length):
    allowed = 10 * 40
    budget, texts = TokenBudget(allowed - estimate_tokens(render_selection([" "]))), []
    while estimate_tokens("x" * length) <= budget.available("procedure"):
        texts.append("x" * length)
        budget.spend("procedure", estimate_tokens(texts[-1]))
    assert len(texts) > 20
    assert estimate_tokens(render_selection(texts)) <= allowed


def test_references_come_last_however_well_they_match():
    reference = held("add-a-database-migration", Kind.REFERENCE)
    weaker = stored(content(name="other-work", description="A migration of a database", steps=()))
    assert names(ask(reference, weaker)) == ["other-work", "add-a-database-migration"]
    assert names(ask(reference, weaker, k=1)) == ["other-work"]


def test_of_two_that_say_the_same_one_is_given_and_the_other_is_named():
    one, two = (stored(content(name="add-a-migration", body=body)) for body in ("Do it at night.", "Do it at night!"))
    selection = ask(one, two)
    assert len(selection.items) == 1
    (left,) = selection.left_out
    assert left.code is ReasonCode.SAME_CONTENT
    assert left.version_id not in {item.version_id for item in selection.items}


def test_what_is_taken_for_the_same():
    one = content()
    assert has_same_content(one, one)
    assert has_same_content(one, replace(one, tags=("x",)))
    for other in (
        replace(one, kind=Kind.LESSON),
        replace(one, signature="KeyError: <value>"),
        replace(one, sub_skills=("x",)),
        replace(one, name="drop-a-migration"),
        replace(one, body="Ask the owner of the table beforehand, and wait for an answer of theirs."),
        replace(one, steps=(*one.steps, SkillStep(text="Run it"))),
        replace(one, steps=(replace(one.steps[0], arguments={"command": "python manage.py squash"}), *one.steps[1:])),
    ):
        assert not has_same_content(one, other)
        assert not has_same_content(other, one)


def test_standing_norms_take_what_is_left_of_their_share():
    norm = stored(content(name="house-rule", kind=Kind.NORM, description="Never push on Fridays", steps=()))
    matched = held("the-procedure-itself")
    for budget, stands in ((80, True), (24, False)):
        selection = ask(matched, norm, budget_tokens=budget)
        assert names(selection) == ["the-procedure-itself"]
        assert [item.name for item in selection.standing] == ["house-rule"] * stands
        assert selection.tokens <= budget


def house_rules(count: int) -> list[StoredVersion]:
    rules = (f"Never {letter * 6}" for letter in "abcdefghij"[:count])
    return [stored(content(name=f"rule-{at}", kind=Kind.NORM, description=d, steps=())) for at, d in enumerate(rules)]


def test_norms_that_always_hold_keep_their_share_however_much_matches():
    procedures = [held(f"way-{letter * 5}") for letter in "abcdef"]
    selection = ask(*procedures, *house_rules(10), budget_tokens=100, k=6)
    assert sum(item.tokens for item in selection.standing) == 20  # two of ten tokens each; a third would be over 25
    assert len(selection.items) == 6


def test_what_a_kind_does_not_need_of_its_share_goes_to_others():
    procedures = [held(f"way-{letter * 5}") for letter in "abcdefghijkl"]
    without, one, many = (len(ask(*procedures, *house_rules(n), budget_tokens=100).items) for n in (0, 1, 10))
    assert without > one > many >= 5


@pytest.mark.parametrize("kind", [Kind.PREFERENCE, Kind.REFERENCE])
def test_what_matches_last_keeps_a_part_of_its_share(kind):
    procedures = [held(f"way-{letter * 5}") for letter in "abcdefghi"]
    selection = ask(*procedures, held("the-rare-one", kind), budget_tokens=100, k=10)
    assert ("the-rare-one" in names(selection)) == (RESERVED_SHARES[kind] * 100 >= 10)


def test_the_account_of_a_kind_tells_what_it_could_take_and_took():
    budget = TokenBudget(1000)
    assert budget.account("norm") == (0.25, 250, 0, 0, 0)
    budget.spend("norm", 200)
    budget.refuse("norm", "v_1")
    budget.refuse("norm", "v_1")
    budget.refuse("norm", "v_2")
    assert budget.account("norm") == (0.25, 250, 200, 1, 2)
    assert budget.account("procedure") == (1.0, 1000, 0, 0, 0)


def test_a_budget_with_less_than_nothing_allows_nothing():
    assert TokenBudget(-40).account("procedure") == (1.0, 0, 0, 0, 0)


def test_what_each_kind_took_and_lost_adds_up():
    many = [held(f"norm-{chr(97 + at) * 5}", Kind.NORM) for at in range(6)]
    selection = ask(*many, held("migrate"), budget_tokens=100)
    spent = {each.kind: each for each in selection.budgets}
    assert spent[Kind.NORM].given + spent[Kind.NORM].left_out == 6
    assert spent[Kind.NORM].allowed_tokens == 25
    assert spent[Kind.PROCEDURE].given == 1
    assert sum(each.used_tokens for each in selection.budgets) == selection.tokens
    assert len(selection.crowded_out) == spent[Kind.NORM].left_out
