"""Each rule finds its examples and not its counterexamples, and every class of words is used."""

from __future__ import annotations

import pytest

from tacit.gate.checks.prose_rules import AGAINST_USERS, CONTEXTUAL, ProseRule
from tacit.text.resource_uses.command_uses import EFFECT_WORDS
from tacit.text.resource_uses.sentences import meaning_of, sentences, word_classes

RULES = (*AGAINST_USERS, *CONTEXTUAL)


def sentence(text: str) -> str:
    """The sentence as the check reads it; an example is exactly one."""
    (one,) = sentences(text)
    return one.text


@pytest.mark.parametrize(("rule", "example"), [(rule, example) for rule in RULES for example in rule.examples])
def test_a_rule_finds_its_example(rule: ProseRule, example: str) -> None:
    assert rule.span(meaning_of(sentence(example))) is not None


@pytest.mark.parametrize(("rule", "example"), [(rule, example) for rule in RULES for example in rule.counterexamples])
def test_a_rule_does_not_find_its_counterexample(rule: ProseRule, example: str) -> None:
    assert rule.span(meaning_of(sentence(example))) is None


def test_every_rule_has_an_example() -> None:
    assert [rule for rule in RULES if not rule.examples] == []


def test_every_class_of_words_exists_and_is_used() -> None:
    chains = [chain for rule in RULES for chain in (*rule.chains, *rule.absent)]
    used = {name for chain in chains for link in chain for name in link}
    used |= {name for actions, objects in EFFECT_WORDS.values() for name in (*actions, *objects)}
    assert {name.rstrip("!~") for name in used} == word_classes().keys()
