"""Whether something came from a path, address or folder that a person names."""

from __future__ import annotations

import pytest

from tacit.domain.archive import Source, SourceKind
from tacit.store.purge import is_from, is_path


def asked(value: str, root: str = "/w/project") -> Source:
    return Source(kind=SourceKind.IMPORTED, value=value, root=root)


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ("../sk/hidden", "../sk/hidden"),
        ("../sk/hidden", "/w/sk/hidden"),
        ("../sk/hidden", "/w/sk/hidden/"),
        ("../sk/hidden", "/w/sk/hidden/SKILL.md"),
        ("../sk/hidden/SKILL.md", "/w/sk/hidden"),
        ("../sk/hidden", "/w/sk"),
        ("/w/sk/hidden", "../sk"),
        ("../good.skill/csv-clean", "/w/good.skill"),
        ("logs/a.jsonl", "/w/project/logs"),
        ("anything", "/"),
        ("https://example.com/x", "https://example.com/x"),
        ("mcp", "mcp"),
    ],
)
def test_the_same_source_is_found(recorded: str, value: str) -> None:
    assert is_from(recorded, asked(value))


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ("../sk/hidden", "/w/sk/hid"),
        ("../sk/hidden", "/w/sk/hidden/notes.md"),
        ("../sk/hidden-too", "/w/sk/hidden"),
        ("/w/sk", "/w/sk/hidden"),
        ("mcp", "/w/project"),
        ("https://example.com/x", "/"),
        ("", "/"),
        ("", ""),
        ("a\0b", "/"),
    ],
)
def test_another_source_is_left_alone(recorded: str, value: str) -> None:
    assert not is_from(recorded, asked(value))


def test_only_files_and_folders_are_paths() -> None:
    assert [is_path(recorded) for recorded in ("a", "a/b", "mcp", "cli", "ssh://x", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
