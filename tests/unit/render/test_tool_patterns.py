"""Tool patterns are read as written, and the active skills narrow the tools at hand."""

from __future__ import annotations

import pytest

from tacit.domain.skill import Kind, SkillContent
from tacit.render.catalogue import Entry
from tacit.render.tool_patterns import ToolPattern, gate_tools, split_tools

AVAILABLE = ["Bash", "Read", "Write", "mcp__notes__find", "mcp__notes__add"]


def active(name: str, *tools: str) -> Entry:
    content = SkillContent(kind=Kind.PROCEDURE, name=name, description="x", allowed_tools=tools)
    return Entry(content=content, origin="static")


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("", ()),
        ("Read", ("Read",)),
        ("Bash(git:*) Bash(jq:*) Read", ("Bash(git:*)", "Bash(jq:*)", "Read")),
        ("  Read\n Write\t", ("Read", "Write")),
        ("Bash(git log --oneline) Read", ("Bash(git log --oneline)", "Read")),
        ("Bash(f (x) y) Read", ("Bash(f (x) y)", "Read")),
        ("Read, Write,Grep", ("Read", "Write", "Grep")),
        ("Bash(a, b)", ("Bash(a, b)",)),
        ("Bash(open Read", ("Bash(open Read",)),
        ("close) Read", ("close)", "Read")),
    ],
)
def test_tools_are_split_at_blanks_outside_parentheses(text: str, tools: tuple[str, ...]) -> None:
    assert split_tools(text) == tools


def test_a_pattern_is_a_tool_and_an_argument() -> None:
    assert ToolPattern.parse("Bash(git log:*)") == ToolPattern("Bash", "git log:*")
    assert ToolPattern.parse("Read") == ToolPattern("Read")
    assert ToolPattern.parse("two words") == ToolPattern("two words")


@pytest.mark.parametrize(
    ("pattern", "argument", "covered"),
    [
        ("Bash", "rm -rf /", True),
        ("Bash(*)", "anything; at all", True),
        ("Bash(git:*)", "git", True),
        ("Bash(git:*)", "git log -3", True),
        ("Bash(git:*)", "gitk", False),
        ("Bash(git:*)", "rm x", False),
        ("Bash(git:*)", "git log; rm x", False),
        ("Bash(git:*)", "git log && rm x", False),
        ("Bash(git:*)", "git log | sh", False),
        ("Bash(git:*)", "git log $(rm x)", False),
        ("Bash(git:*)", "git log\nrm x", False),
        ("Bash(git:*)", "git log > ~/.bashrc", False),
        ("Bash(make test)", "make test", True),
        ("Bash(make test)", "make test all", False),
        ("Bash(a | b)", "a | b", True),
        ("Read(docs/*.md)", "docs/a.md", True),
        ("Read(docs/*.md)", "src/a.md", False),
    ],
)
def test_a_pattern_covers_what_it_says_and_no_second_command(pattern: str, argument: str, covered: bool) -> None:
    assert ToolPattern.parse(pattern).covers(argument) is covered


def test_without_a_declaration_every_tool_stays_open() -> None:
    gated = gate_tools([active("free")], AVAILABLE)
    assert gated.allowed == tuple(AVAILABLE)
    assert gated.denied == ()
    assert gated.permits("Bash", "rm -rf /")
    assert set(gated.reasons.values()) == {"no active skill limits the tools"}


def test_a_declaration_closes_the_other_tools_and_says_why() -> None:
    gated = gate_tools(
        [active("reader", "Read", "Bash(git:*)"), active("free"), active("notes", "mcp__notes__*", "Fly")], AVAILABLE
    )
    assert gated.allowed == ("Bash", "Read", "mcp__notes__find", "mcp__notes__add")
    assert gated.denied == ("Write",)
    assert gated.missing == ("Fly",)
    assert gated.reasons["Write"].endswith(" reader, notes")
    assert gated.reasons["Read"] == "allowed by reader"


def test_arguments_are_limited_by_the_patterns() -> None:
    gated = gate_tools([active("reader", "Read", "Bash(git:*)")], AVAILABLE)
    assert gated.permits("Bash", "git status")
    assert not gated.permits("Bash", "make")
    assert gated.permits("Read", "any/file")
    assert not gated.permits("Write", "x")
