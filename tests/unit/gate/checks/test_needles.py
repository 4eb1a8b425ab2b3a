"""The literals in front of a pattern never keep it from a text that it matches."""

from __future__ import annotations

import pytest

from tacit.gate.checks import code, commands, obfuscation
from tacit.gate.checks.looking import looked_at
from tacit.gate.checks.needles import needles
from tests.unit.gate.checks.samples import BAD
from tests.unit.gate.checks.test_samples import skill

CASES = {
    r"\bxmrig\b": ("xmrig",),
    r"rm (?:-\w{1,5} ){0,3}/": ("rm ",),
    r"(?:abc|def) x": ("abc", "def"),
    r"(?:abc|de)? xyz": (" xyz",),
    r"ab?cd": ("cd",),
    r"ab+cd": ("ab",),
    r"CurrentVersion\\\\?Run\b": ("currentversion\\",),
    r"[a-z]{3}": (),
    r"abc|[x]": (),
    r"abc|def": ("abc", "def"),
    r"(?=abc)de": ("de",),
    r"a{0,3}bcd": ("bcd",),
    r"x(?-i:-P) ?y": ("-p",),
}


@pytest.mark.parametrize("pattern", CASES)
def test_needles_of_a_pattern(pattern: str) -> None:
    assert needles(pattern) == CASES[pattern]


def test_no_attack_is_lost_to_a_needle() -> None:
    rules = (*commands.RULES, *code.RULES, *obfuscation.RULES)
    matched = 0
    for files in BAD.values():
        for piece in looked_at(skill(files)):
            lowered = piece.text.lower()
            for rule in rules:
                for guarded in rule.patterns:
                    if guarded.pattern.search(piece.text):
                        matched += 1
                        assert not guarded.needles or any(needle in lowered for needle in guarded.needles)
    assert matched > 30


def test_most_patterns_have_needles() -> None:
    rules = (*commands.RULES, *code.RULES, *obfuscation.RULES)
    bare = [guarded.pattern.pattern for rule in rules for guarded in rule.patterns if not guarded.needles]
    assert len(bare) <= 6
