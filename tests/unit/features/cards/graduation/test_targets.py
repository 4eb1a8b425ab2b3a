"""What a path means as a target, and what can never be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotFound, NotPermitted, TacitError
from tacit.features.cards.backport.targets import TargetKind, find_target, read_file, read_files
from tests.raising import raises


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    (made / "skills" / "my skill").mkdir(parents=True)
    (made / "skills" / "my skill" / "SKILL.md").write_text("# S\n")
    (made / "docs").mkdir()
    (made / ".github").mkdir()
    return made


def test_a_folder_with_a_skill_is_a_skill(root: Path) -> None:
    for named in ("skills/my skill", "skills/my skill/SKILL.md", "skills/../skills/my skill/"):
        target = find_target(root, root / named)
        assert (target.kind, target.name, target.path) == (TargetKind.SKILL, "my skill", "skills/my skill")
        assert target.files == ("skills/my skill/references/self-learning-aha.md", "skills/my skill/SKILL.md")
    assert read_files(root, target) == {target.reference: None, target.main: b"# S\n"}


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "docs/agents.md"])
def test_files_that_clients_always_load_are_instructions(root: Path, name: str) -> None:
    target = find_target(root, root / name)
    assert (target.kind, target.files) == (TargetKind.INSTRUCTIONS, (name,))


def test_any_other_markdown_is_a_page(root: Path) -> None:
    assert find_target(root, root / "docs" / "page.md").kind is TargetKind.PAGE


def test_a_link_within_the_repository_leads_to_what_it_means(root: Path) -> None:
    (root / "AGENTS.md").write_text("# A\n")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / ".claude").mkdir()
    (root / ".claude" / "skills").symlink_to("../skills")
    assert find_target(root, root / "CLAUDE.md").main == "AGENTS.md"
    assert find_target(root, root / ".claude/skills/my skill").path == "skills/my skill"


def test_a_file_of_instructions_that_is_a_link_to_a_page_stays_one(root: Path) -> None:
    (root / "docs" / "rules.md").write_text("# A\n")
    (root / "CLAUDE.md").symlink_to("docs/rules.md")
    target = find_target(root, root / "CLAUDE.md")
    assert (target.kind, target.main) == (TargetKind.INSTRUCTIONS, "docs/rules.md")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("docs", Mistake),
        ("docs/page.txt", Mistake),
        ("nowhere/page.md", NotFound),
        ("../outside.md", NotPermitted),
        (".git/x.md", NotPermitted),
        (".tacit/x.md", NotPermitted),
        (".agent-skills/x.md", NotPermitted),
        ("a\0b.md", Mistake),
        ("a\udc80b.md", Mistake),
    ],
)
def test_what_is_no_target_is_told(root: Path, name: str, error: type[TacitError]) -> None:
    with pytest.raises(error) as caught:
        find_target(root, root / name)
    assert caught.value.hint


@pytest.mark.parametrize("link", ["skills/my skill/references", "skills/my skill/SKILL.md", "AGENTS.md", "loop.md"])
def test_a_link_out_of_the_repository_is_refused(root: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file.md").write_text("theirs")
    place = root / link
    place.unlink(missing_ok=True)
    place.symlink_to(outside if place.suffix == "" else place if link == "loop.md" else outside / "file.md")
    with pytest.raises((NotPermitted, Mistake)):
        find_target(root, place.parent if "skills" in link else place)


def test_a_folder_in_the_place_of_a_file_is_told(root: Path) -> None:
    (root / "docs" / "x.md").mkdir()
    with raises(Mistake, "not_a_file"):
        read_file(root, "docs/x.md")
