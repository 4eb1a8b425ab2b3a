"""Laws of the domain over arbitrary values: hashes, scopes, origins and the lifecycle as a machine."""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tacit.domain.errors import IllegalTransition
from tacit.domain.identity import canonical, digest, plain
from tacit.domain.lifecycle import LIFECYCLE, RECALLABLE, Status, check_transition
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin, lowest
from tacit.gate.review_rules import PersonDecision, decide
from tests.unit.making import NOW, content, stored

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
STEP = st.builds(SkillStep, text=st.text(), tool=st.text(), arguments=st.dictionaries(st.text(), JSON, max_size=3))
CONTENT = st.builds(
    SkillContent,
    kind=st.sampled_from(Kind),
    name=st.text(),
    description=st.text(),
    tags=st.lists(st.text(), max_size=3).map(tuple),
    steps=st.lists(STEP, max_size=3).map(tuple),
    metadata=st.dictionaries(st.text(), st.text(), max_size=3),
)
SCOPE = st.builds(
    Scope, st.sampled_from([level for level in Level if level is not Level.GLOBAL]), st.sampled_from("ab")
)


@given(CONTENT)
def test_a_content_rebuilt_from_its_fields_has_the_same_hash(made):
    rebuilt = SkillContent(**{field.name: getattr(made, field.name) for field in dataclasses.fields(made)})
    assert rebuilt.hash() == made.hash()


@given(CONTENT, CONTENT)
def test_contents_have_one_hash_exactly_if_they_say_the_same(one, other):
    assert (one.hash() == other.hash()) == (plain(one) == plain(other) and canonical(one) == canonical(other))
    if one == other and repr(one) == repr(other):
        assert one.hash() == other.hash()


@given(JSON)
def test_the_canonical_form_survives_being_read_and_written_again(value):
    text = canonical(value)
    assert canonical(json.loads(text.decode("utf-8", "surrogatepass"))) == text


@given(st.dictionaries(st.text(), JSON))
def test_the_order_of_keys_does_not_matter(value):
    assert digest(dict(reversed(value.items()))) == digest(value)


@given(st.lists(st.sampled_from(Origin)), st.lists(st.sampled_from(Origin)))
def test_mixing_in_more_never_raises_an_origin(some, more):
    assert lowest(some + more).rank <= lowest(some or more).rank
    if some and more:
        assert lowest(some + more) is lowest([lowest(some), lowest(more)])


@given(SCOPE)
def test_a_scope_sees_itself_and_reads_as_written(scope):
    assert scope.contains(scope)
    assert Scope.parse(str(scope)) == scope


@given(SCOPE, SCOPE)
def test_two_different_scopes_never_see_each_other(one, other):
    if one != other:
        assert not (one.contains(other) and other.contains(one))


class Life(RuleBasedStateMachine):
    """A version under random decisions: it only ever moves along the table, and refusals leave it where it was."""

    @initialize(birth=st.sampled_from(sorted(LIFECYCLE[None])))
    def be_born(self, birth: Status) -> None:
        check_transition(None, birth)
        self.held = stored(content(), status=birth)
        self.past: list[Status | None] = [None, birth]

    @rule(decision=st.sampled_from(PersonDecision))
    def decide_something(self, decision: PersonDecision) -> None:
        try:
            made = decide(self.held, decision, by="ann", at=NOW)
        except IllegalTransition:
            return
        assert made.before is self.held.status
        self.move(made.after)

    @rule(after=st.sampled_from(Status))
    def move_somewhere(self, after: Status) -> None:
        legal = after in LIFECYCLE[self.held.status]
        try:
            check_transition(self.held.status, after)
        except IllegalTransition:
            assert not legal
            return
        assert legal
        self.move(after)

    def move(self, after: Status) -> None:
        self.held = dataclasses.replace(self.held, status=after)
        self.past.append(after)

    @invariant()
    def every_step_was_in_the_table(self) -> None:
        past = getattr(self, "past", [])
        for before, after in pairwise(past):
            assert after in LIFECYCLE[before]

    @invariant()
    def trust_was_earned_in_trial(self) -> None:
        past = getattr(self, "past", [])
        for before, after in pairwise(past):
            assert after is not Status.TRUSTED or before is Status.TRIAL
            assert not (before is Status.REJECTED and after in RECALLABLE)


TestLife = Life.TestCase
