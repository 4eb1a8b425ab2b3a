"""SKILL.md loses nothing: every content that can be written is read back as it was, and its folder too."""

from __future__ import annotations

import base64
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.skill import (
    Capabilities,
    Case,
    Condition,
    Cue,
    Kind,
    Parameter,
    Pitfall,
    SkillContent,
    SkillFile,
    SkillStep,
)
from tacit.render.conditions import sentence
from tacit.render.frontmatter import read_document, scalar, write_mapping
from tacit.render.skill_folder import files, unpack
from tacit.render.skill_md import MARKER, examine, parse, render, split_tools
from tacit.render.validation import NAME_LENGTH_MAX, check_content, name_faults, normal_name, skill_name

# Pieces that have broken readers of this format, mixed with arbitrary text.
AWKWARD = st.sampled_from(
    [
        "---", "\n---\n", "# Title", "## Steps", "\n## Check\n- x", "1. one", "- tool: Bash {}", "- check: y", "```",
        "~~~\n", ": ", "key: value", "\t", "\r\n", "\r", "  ", "\n\n", "\ufeff", "\x00", "\x85", "\u2028", "'", '"', "\\",
        "`name`: d", "{", "}", "&a", "*a", "!tag", "| ", "> ", "#", " #c", "…", "漢字", "\U0001f600", "<!-- -->", MARKER,
        f"\n{MARKER}\n", "yes", "1.0", "null", "~", "tacit-", "(", ")", ",",
        "If ", ", and ", "`t` shows `k: v`", " [check: x]", " (2 of 3 times)", " (for tasks with `x`)",
        " (at step 1, seen 2 times)", "- from: x",
        "- kind: k", "## When", "\n## Pitfalls\n", "Always", "the task",
    ]
)  # fmt: skip
TEXT = st.lists(st.one_of(AWKWARD, st.text(max_size=12)), max_size=5).map("".join)
WORDS = st.lists(TEXT, max_size=3).map(tuple)
NAME = st.text(max_size=80).map(skill_name)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
STEP = st.builds(
    SkillStep, text=TEXT, tool=TEXT, arguments=st.dictionaries(TEXT, JSON, max_size=3), optional=st.booleans()
)
WORD = st.sampled_from(
    [
        "task",
        "read_sensor",
        "Feed",
        "says",
        "a: b",
        "ON",
        "3",
        "and",
        ", and ",
        "in",
        "`",
        "",
        "the task",
        "(1 of 2 times)",
    ]
)
PLAIN = WORD | TEXT
RELATION = st.sampled_from(["is", "is not", "has", "lacks", "over", "under", "", "like"])


@st.composite
def condition(draw: st.DrawFn) -> Condition:
    """Prose, what a tool shows in words of its own, and, as mining writes it, what a tool shows as a sentence."""
    made = Condition(
        text=draw(TEXT), check=draw(st.just("") | TEXT), reading=draw(PLAIN), key=draw(PLAIN),
        relation=draw(RELATION), value=draw(PLAIN), when=draw(st.just("") | PLAIN),
    )  # fmt: skip
    form = draw(st.sampled_from(["prose", "both", "sentence"]))
    if form == "prose":
        return Condition(text=made.text, check=made.check, when=made.when)
    return replace(made, text=sentence(made)) if form == "sentence" else made


CONDITION = condition()
CASE = st.builds(
    Case,
    conditions=st.lists(CONDITION, max_size=3).map(tuple),
    support=st.integers(0, 9),
    against=st.integers(0, 3),
)
CUE = st.builds(Cue, term=TEXT, weight=st.floats(allow_nan=False, allow_infinity=False))
PITFALL = st.builds(Pitfall, text=TEXT, kind=TEXT, step=st.none() | st.integers(0, 30), count=st.integers(0, 30))
PARAMETER = st.builds(Parameter, name=TEXT, description=TEXT, type=TEXT, example=TEXT, reading=PLAIN, key=PLAIN)
FOLDER = st.sampled_from(["scripts", "references", "assets", "a/b"])
PATH = st.builds("{}/{}".format, FOLDER, st.from_regex(r"[a-z]{1,6}\.[a-z]{2}", fullmatch=True))


@st.composite
def bundled(draw: st.DrawFn) -> SkillFile:
    path, executable = draw(PATH), draw(st.booleans())
    if draw(st.booleans()):
        return SkillFile(path=path, content=draw(TEXT), executable=executable)
    data = base64.b64encode(draw(st.binary(max_size=20))).decode()
    return SkillFile(path=path, content=data, encoding="base64", executable=executable)


CONTENT = st.builds(
    SkillContent,
    kind=st.sampled_from(Kind),
    name=NAME,
    description=TEXT.filter(lambda text: text.strip()),
    category=TEXT,
    tags=WORDS,
    example_queries=WORDS,
    steps=st.lists(STEP, max_size=3).map(tuple),
    parameters=st.lists(PARAMETER, max_size=2).map(tuple),
    preconditions=st.lists(CONDITION, max_size=2).map(tuple),
    postconditions=st.lists(CONDITION, max_size=2).map(tuple),
    signature=TEXT,
    cases=st.lists(CASE, max_size=3).map(tuple),
    cues=st.lists(CUE, max_size=3).map(tuple),
    pitfalls=st.lists(PITFALL, max_size=2).map(tuple),
    after=WORDS,
    sub_skills=WORDS,
    surroundings=WORDS,
    extends=TEXT,
    body=TEXT,
    files=st.lists(bundled(), max_size=3, unique_by=lambda file: file.path).map(tuple),
    capabilities=st.builds(Capabilities, hosts=WORDS, commands=WORDS, effects=WORDS),
    allowed_tools=WORDS,
    license=TEXT,
    compatibility=TEXT.filter(lambda text: not text or text.strip()),
    metadata=st.dictionaries(TEXT, TEXT, max_size=3),
    portable=st.booleans(),
    shareable=st.booleans(),
)


@given(CONTENT)
def test_a_written_skill_is_read_back_unchanged(content: SkillContent) -> None:
    executable = {file.path for file in content.files if file.executable}
    again = unpack(files(content), strict=True, executable=executable)
    assert again.content == content
    assert again.content.hash() == content.hash()


@given(CONTENT)
def test_writing_what_was_read_gives_the_same_text(content: SkillContent) -> None:
    text = render(content)
    parsed = parse(text, strict=True)
    assert render(parsed.content) == render(_without_files(content))
    assert not [problem for problem in parsed.warnings if problem.rule != "body-size"]


@given(CONTENT, st.dictionaries(st.sampled_from(["skill-id", "version-id"]), st.text(min_size=1)))
def test_a_stamp_is_read_back_and_is_no_part_of_the_content(content: SkillContent, stamp: dict[str, str]) -> None:
    parsed = parse(render(content, stamp=stamp), strict=True)
    assert parsed.stamp == stamp
    assert parsed.content == _without_files(content)


@given(CONTENT)
def test_a_file_changed_to_crlf_or_given_a_byte_order_mark_still_reads(content: SkillContent) -> None:
    text = render(content)
    if "\r" not in text:
        assert parse("\ufeff" + text.replace("\n", "\r\n"), strict=True).content == _without_files(content)


@given(st.dictionaries(st.text(), st.text(), max_size=5))
def test_every_pair_of_strings_survives_yaml(pairs: dict[str, str]) -> None:
    document, problems = read_document(f"---\n{write_mapping(pairs.items())}k: v\n---\n")
    assert document is not None
    assert not problems or "k" in pairs
    assert {key: document.fields[key].data for key in pairs if key != "k"} == {
        key: value for key, value in pairs.items() if key != "k"
    }


@given(st.text())
def test_a_written_scalar_stays_on_one_line(text: str) -> None:
    assert len(scalar(text).splitlines()) <= 1


@given(st.text())
def test_any_text_gives_a_valid_name(text: str) -> None:
    name = skill_name(text)
    assert 1 <= len(name) <= NAME_LENGTH_MAX
    assert not list(name_faults(name))
    assert normal_name(name) == name
    assert skill_name(name) == name


@given(st.text() | TEXT)
def test_no_text_makes_the_reader_fail(text: str) -> None:
    examine(text)
    examine(f"---\nname: a\ndescription: b\n{text}\n---\n")
    parsed, _ = examine(f"---\nname: a\ndescription: b\n---\n{MARKER}\n{text}")
    assert parsed is not None


@given(st.lists(st.from_regex(r"[A-Za-z_]{1,8}(\([^()\n]{0,8}\))?", fullmatch=True), max_size=5))
def test_tools_survive_joining_with_blanks(tools: list[str]) -> None:
    assert split_tools(" ".join(tools)) == tuple(tools)


@given(CONTENT)
def test_a_content_that_validates_can_be_written(content: SkillContent) -> None:
    assert not [problem for problem in check_content(content) if problem.severity == "error"]
    render(content)


def _without_files(content: SkillContent) -> SkillContent:
    return replace(content, files=())
