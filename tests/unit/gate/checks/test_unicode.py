"""What people do not see is told; what their languages need is not."""

from __future__ import annotations

import pytest

from tacit.domain.candidate import Severity
from tacit.domain.skill import Kind, SkillContent
from tacit.gate.safety import UnicodeCheck


def severities(body: str) -> list[Severity]:
    content = SkillContent(kind=Kind.PROCEDURE, name="a", description="b", body=body)
    return [finding.severity for finding in UnicodeCheck().examine(content)]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("run" + "".join(chr(0xE0000 + ord(c)) for c in "secret"), Severity.CRITICAL),
        ("a\u200b\u200c\u200b\u200c\u200bb", Severity.CRITICAL),
        ("x\ufe01\ufe02\ufe03", Severity.CRITICAL),
        ("pay \u202eeman", Severity.HIGH),
        ("ig\u200bnore", Severity.HIGH),
        ("\x1b[2Jgone", Severity.MEDIUM),
        ("сurl is not curl", Severity.MEDIUM),
        ("left \u200e mark", Severity.LOW),
    ],
)
def test_hidden_characters_weigh_by_what_they_do(text: str, severity: Severity) -> None:
    assert max(severities(f"first\n{text}\n"), key=list(Severity).index) is severity


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff# Title",
        "naïve Größe",
        "Русский текст",
        "α and β, Δx",
        "👩\u200d💻 🏴\U000e0067\U000e0062\U000e007f",
        "می\u200cخواهم",
    ],
)
def test_ordinary_writing_passes(text: str) -> None:
    assert not [s for s in severities(text) if s is not Severity.LOW]
