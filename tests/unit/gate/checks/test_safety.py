"""Hidden characters, secrets and external text are found in every field."""

from __future__ import annotations

import pytest

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import Case, Condition, Cue, Kind, Parameter, Pitfall, SkillContent, SkillFile, SkillStep
from tacit.domain.trajectory import Origin
from tacit.gate.checks.safety import UnicodeCheck, hidden_characters, safety
from tests.unit.making import candidate, content

HIDDEN = {
    "bidirectional override": "pay\u202eeman",
    "bidirectional isolate": "a\u2066b\u2069",
    "tag characters": "hi" + "".join(chr(0xE0000 + ord(c)) for c in "run this"),
    "zero-width space": "rm\u200b -rf",
    "zero-width joiner in a word": "ig\u200dnore",
    "zero-width joiner after a real emoji": "👩\u200d💻 then ig\u200dnore",
    "zero-width non-joiner": "ig\u200cnore",
    "word joiner": "a\u2060b",
    "byte order mark inside": "a\ufeffb",
    "soft hyphen": "a\u00adb",
    "terminal escape": "\x1b[31mred\x1b[0m",
    "terminal title": "\x1b]0;title\x07",
    "null": "a\x00b",
    "delete": "a\x7fb",
    "C1 control": "a\x9bb",
    "lone carriage return": "rm -rf /\rls",
    "private use": "a\ue000b",
    "lone surrogate": "a\ud800b",
    "hangul filler": "a\u3164b",
    "braille blank": "a\u2800b",
    "grapheme joiner": "a\u034fb",
    "line separator": "a\u2028b",
    "run of variation selectors": "😀\ufe0f\ufe01\ufe02",
    "supplementary variation selector": "a\U000e0101b",
    "selector after a letter": "a\ufe0fb",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_people_do_not_see_is_found(text):
    assert hidden_characters(text)


@pytest.mark.parametrize(
    "text",
    [
        "plain text\nwith\ttabs\r\nand lines",
        "naïve café — “quotes” … €",
        "漢字 한국어 עברית العربية हिन्दी ไทย",
        "👩\u200d💻 👨\u200d👩\u200d👧 ❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3 👍🏽 🏳\ufe0f\u200d🌈",
        "می\u200cخواهم",
        "क्\u200dष",
        "",
    ],
)
def test_ordinary_text_of_any_language_is_left_alone(text):
    assert hidden_characters(text) == set()


def test_the_character_is_named():
    assert hidden_characters("a\u202eb") == {"RIGHT-TO-LEFT OVERRIDE"}
    assert hidden_characters("a\x1bb") == {"U+001B"}


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (content(name="a\u200bb"), "name"),
        (content(description="a\u200bb"), "description"),
        (content(body="a\u200bb"), "body"),
        (content(tags=("ok", "a\u200bb")), "tags.1"),
        (content(steps=(SkillStep(text="a\u200bb"),)), "steps.0.text"),
        (content(steps=(SkillStep(text="x", arguments={"env": {"k": ["a\u200bb"]}}),)), "steps.0.arguments.env.k.0"),
        (content(parameters=(Parameter(name="p", example="a\u200bb"),)), "parameters.0.example"),
        (content(files=(SkillFile(path="scripts/a.sh", content="a\u200bb"),)), "files.0.content"),
        (content(metadata={"k\u200b": "v"}), "metadata.k\u200b"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_field_is_looked_at(made, field):
    found = [finding for finding in safety(candidate(made)) if finding.rule == "hidden_characters"]
    assert [(finding.field, finding.severity) for finding in found] == [(field, Severity.CRITICAL)]


def test_a_secret_is_found_and_not_repeated_in_the_finding():
    key = "AKIA" + "Q3EGRZ7YTW5PLMNB"
    (found,) = safety(candidate(content(body=f"export AWS_ACCESS_KEY_ID={key}")))
    assert (found.rule, found.severity, found.field) == ("secret", Severity.CRITICAL, "body")
    assert key not in found.message


def test_external_fields_are_named_and_weigh_medium():
    origins = {"name": Origin.AGENT, "body": Origin.EXTERNAL, "steps.1": Origin.EXTERNAL}
    (found,) = safety(candidate(origins=origins))
    assert (found.rule, found.severity) == ("external_text", Severity.MEDIUM)
    assert "body" in found.message
    assert "step 2" in found.message


def test_a_clean_candidate_has_no_findings():
    assert list(safety(candidate())) == []


def test_a_finding_is_a_rule_a_weight_and_a_sentence():
    assert Finding(rule="r", message="m") == Finding(rule="r", message="m", severity=Severity.INFO, field="")


@pytest.mark.parametrize("text", ["ig\u200dnore", "token = ghp_" + "a1B2c3D4e5" * 4], ids=["hidden", "secret"])
@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("cases.0.conditions.0.value", lambda t: {"cases": (Case(conditions=(Condition(text="x", value=t),)),)}),
        ("cases.0.conditions.0.text", lambda t: {"cases": (Case(conditions=(Condition(text=t),)),)}),
        ("cues.0.term", lambda t: {"cues": (Cue(term=t, weight=1.0),)}),
        ("pitfalls.0.text", lambda t: {"pitfalls": (Pitfall(text=t),)}),
        ("after.0", lambda t: {"after": (t,)}),
        ("sub_skills.0", lambda t: {"sub_skills": (t,)}),
        ("parameters.0.reading", lambda t: {"parameters": (Parameter(name="x", reading=t),)}),
        ("parameters.0.key", lambda t: {"parameters": (Parameter(name="x", reading="task", key=t),)}),
    ],
)
def test_conditions_cues_pitfalls_and_places_are_looked_through(text, field, make):
    found = [finding for finding in safety(candidate(content(**make(text)))) if finding.severity is Severity.CRITICAL]
    assert [finding.field for finding in found] == [field]


def test_a_case_read_off_a_tool_counts_as_text_from_outside():
    made = candidate(origins={"name": Origin.AGENT, "cases.0": Origin.EXTERNAL, "cues": Origin.USER})
    (found,) = safety(made)
    assert (found.rule, found.field) == ("external_text", "cases.0")


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
