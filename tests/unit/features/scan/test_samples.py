"""Every written attack is refused, and every honest lookalike passes."""

from __future__ import annotations

import pytest

from tacit.domain.candidate import Severity
from tacit.domain.skill import Kind, SkillContent, SkillFile
from tacit.gate.checks import run_checks, worst
from tests.unit.features.scan.samples import BAD, GOOD


def skill(files: dict[str, str]) -> SkillContent:
    bundled = tuple(SkillFile(path=path, content=text) for path, text in files.items() if path != "SKILL.md")
    return SkillContent(
        kind=Kind.PROCEDURE,
        name="report-maker",
        description="Makes weekly reports from tables.",
        body=files["SKILL.md"],
        files=bundled,
    )


@pytest.mark.parametrize("name", BAD)
def test_attack_weighs_high(name: str) -> None:
    found = worst(run_checks(skill(BAD[name])))
    assert found is not None
    assert found.at_least(Severity.HIGH)


@pytest.mark.parametrize("name", GOOD)
def test_honest_lookalike_weighs_little(name: str) -> None:
    heavy = [f for f in run_checks(skill(GOOD[name])) if f.severity.at_least(Severity.MEDIUM)]
    assert not heavy


@pytest.mark.parametrize("name", BAD)
def test_finding_points_at_the_characters_it_speaks_of(name: str) -> None:
    content = skill(BAD[name])
    texts = {"body": content.body, "name": content.name, "description": content.description}
    texts |= {f"files.{index}": file.content for index, file in enumerate(content.files)}
    for finding in run_checks(content):
        text = texts[finding.field]
        assert 0 <= finding.start <= finding.end <= len(text)
        if finding.end:
            assert finding.line == text.count("\n", 0, finding.start) + 1
        assert finding.message
        assert finding.excerpt.isprintable()


def test_the_same_content_gives_the_same_findings() -> None:
    content = skill(BAD["class_attributes"])
    assert run_checks(content) == run_checks(skill(BAD["class_attributes"]))
