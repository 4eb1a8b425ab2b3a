"""The prefilter of the scanner's rules: it loses no attack, and most rules have one."""

from __future__ import annotations

from tacit.features.scan import code, obfuscation
from tacit.features.scan.decoding import all_segments
from tacit.gate.checks import dangerous_commands
from tests.unit.features.scan.samples import BAD
from tests.unit.features.scan.test_samples import skill


def test_no_attack_is_lost_to_the_prefilter() -> None:
    rules = (*dangerous_commands.COMMAND_RULES, *code.CODE_RULES, *obfuscation.OBFUSCATION_RULES)
    matched = 0
    for files in BAD.values():
        for segment in all_segments(skill(files)):
            lowered = segment.text.lower()
            for rule in rules:
                for guarded in rule.patterns:
                    if guarded.pattern.search(segment.text):
                        matched += 1
                        assert not guarded.literals or any(literal in lowered for literal in guarded.literals)
    assert matched > 30


def test_most_patterns_have_required_literals() -> None:
    rules = (*dangerous_commands.COMMAND_RULES, *code.CODE_RULES, *obfuscation.OBFUSCATION_RULES)
    bare = [guarded.pattern.pattern for rule in rules for guarded in rule.patterns if not guarded.literals]
    assert len(bare) <= 6
