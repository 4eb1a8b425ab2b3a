"""One catalogue: static skills from every root, shadowing, learned skills beside them, overlays on top."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind, SkillContent, SkillFile
from tacit.render import catalogue
from tacit.render.catalogue import Entry, merge, roots, scan
from tacit.render.skill_folder import save


def skill(name: str, *, extends: str = "", body: str = "Do it.") -> SkillContent:
    return SkillContent(kind=Kind.PROCEDURE, name=name, description=f"About {name}.", extends=extends, body=body)


def learned(content: SkillContent) -> Entry:
    return Entry(content=content, version_id=f"v_{content.name}", status=Status.TRIAL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


class TestScanning:
    def test_every_clients_folder_is_read_project_first(self, project: Path, home: Path) -> None:
        places = [path.relative_to(project.parent).as_posix() for path in roots(project=project, home=home)]
        assert places == [
            "project/.agents/skills", "project/.claude/skills", "project/.codex/skills", "project/.github/skills",
            "project/.gemini/skills", "project/.qwen/skills", "project/.opencode/skills", "project/.skills",
            "home/.agents/skills", "home/.claude/skills", "home/.codex/skills", "home/.copilot/skills",
            "home/.gemini/skills", "home/.letta/skills", "home/.qwen/skills", "home/.config/opencode/skills",
        ]  # fmt: skip
        for number, root in enumerate(roots(project=project, home=home)):
            save(skill(f"s{number:02}"), root)
        found = scan(project=project, home=home)
        assert [item.name for item in found.entries] == [f"s{number:02}" for number in range(16)]
        assert found.shadowed == ()

    def test_no_folders_at_all_are_no_fault(self, project: Path) -> None:
        assert scan(project=project, home=None).entries == ()
        assert scan(project=None, home=None).entries == ()

    def test_a_place_that_cannot_be_searched_stops_nothing(self, project: Path, tmp_path: Path) -> None:
        save(skill("tidy"), project / ".claude/skills")
        (project / ".claude/skills/ring").symlink_to("ring")
        assert [item.name for item in scan(project=project, home=tmp_path / ("x" * 300)).entries] == ["tidy"]

    def test_the_project_beats_the_user_and_shadowing_is_told(self, project: Path, home: Path) -> None:
        mine = save(skill("tidy", body="mine"), home / ".agents/skills")
        ours = save(skill("tidy", body="ours"), project / ".claude/skills")
        found = scan(project=project, home=home)
        assert [(item.content.body, item.path) for item in found.entries] == [("ours", ours)]
        assert [(s.name, s.path, s.by, s.identical) for s in found.shadowed] == [("tidy", str(mine), str(ours), False)]

    def test_copies_for_several_clients_are_told_as_identical(self, project: Path) -> None:
        for root in (".agents/skills", ".claude/skills"):
            save(skill("tidy"), project / root)
        assert [shadow.identical for shadow in scan(project=project, home=None).shadowed] == [True]

    def test_a_link_to_the_same_folder_is_one_skill(self, project: Path) -> None:
        path = save(skill("tidy"), project / ".agents/skills")
        (project / ".claude/skills").mkdir(parents=True)
        (project / ".claude/skills/tidy").symlink_to(path.parent)
        found = scan(project=project, home=None)
        assert len(found.entries) == 1
        assert found.shadowed == ()

    def test_a_link_to_a_folder_elsewhere_is_followed(self, project: Path, tmp_path: Path) -> None:
        path = save(skill("tidy"), tmp_path / "elsewhere")
        (project / ".agents/skills").mkdir(parents=True)
        (project / ".agents/skills/tidy").symlink_to(path.parent)
        assert [item.name for item in scan(project=project, home=None).entries] == ["tidy"]

    def test_cycles_end(self, project: Path) -> None:
        root = project / ".agents/skills"
        save(skill("tidy"), root / "group")
        (root / "group/up").symlink_to(root)
        (root / "group/self").symlink_to(root / "group")
        assert [item.name for item in scan(project=project, home=None).entries] == ["tidy"]

    def test_a_dangling_link_stops_nothing(self, project: Path) -> None:
        root = project / ".agents/skills"
        save(skill("tidy"), root)
        (root / "gone").symlink_to(root / "nowhere")
        found = scan(project=project, home=None)
        assert [item.name for item in found.entries] == ["tidy"]

    def test_a_broken_skill_stops_nothing(self, project: Path) -> None:
        root = project / ".agents/skills"
        save(skill("tidy"), root)
        (root / "broken").mkdir()
        (root / "broken/SKILL.md").write_text("---\nname: broken\n---\n", encoding="utf-8")
        found = scan(project=project, home=None)
        assert [item.name for item in found.entries] == ["tidy"]

    def test_an_odd_skill_is_loaded_with_warnings(self, project: Path) -> None:
        folder = project / ".agents/skills/odd"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: Odd\ndescription: x\n---\n", encoding="utf-8")
        (item,) = scan(project=project, home=None).entries
        assert {warning.rule for warning in item.warnings} == {"name-case", "name-directory"}

    def test_skills_are_found_in_groups_down_to_five_levels(self, project: Path) -> None:
        root = project / ".agents/skills"
        save(skill("near"), root / "a/b/c/d")
        save(skill("far"), root / "a/b/c/d/e")
        assert [item.name for item in scan(project=project, home=None).entries] == ["near"]

    def test_a_skill_inside_a_skill_and_a_dependency_are_not_skills(self, project: Path) -> None:
        root = project / ".agents/skills"
        save(skill("outer"), root)
        save(skill("inner"), root / "outer/references")
        save(skill("package"), root / "node_modules")
        assert [item.name for item in scan(project=project, home=None).entries] == ["outer"]

    def test_the_number_of_folders_is_limited(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogue, "DIRECTORIES_MAX", 5)
        for number in range(9):
            save(skill(f"s{number}"), project / ".agents/skills")
        found = scan(project=project, home=None)
        assert [item.name for item in found.entries] == ["s0", "s1", "s2", "s3"]


class TestMerging:
    def static(self, project: Path, *contents: SkillContent) -> tuple[Entry, ...]:
        for content in contents:
            save(content, project / ".agents/skills")
        return scan(project=project, home=None).entries

    def test_static_and_learned_skills_stand_in_one_list(self, project: Path) -> None:
        found = merge(self.static(project, skill("b")), [learned(skill("c")), learned(skill("a"))])
        assert [(entry.name, entry.origin) for entry in found.entries] == [
            ("a", "learned"), ("b", "static"), ("c", "learned"),
        ]  # fmt: skip
        assert found.entries[0].status is Status.TRIAL
        assert found.entries[1].path == project / ".agents/skills/b/SKILL.md"

    def test_an_overlay_is_attached_to_what_it_extends(self, project: Path) -> None:
        static = self.static(project, skill("sql"))
        path = static[0].path
        assert path
        before = path.read_bytes()
        overlay = replace(skill("sql-here", extends="sql"), allowed_tools=("Read",))
        found = merge(static, [learned(overlay)])
        assert [entry.name for entry in found.entries] == ["sql"]
        assert [entry.name for entry in found.entries[0].overlays] == ["sql-here"]
        assert found.entries[0].tools == ("Read",)
        assert path.read_bytes() == before

    def test_a_file_of_the_project_adds_nothing_to_what_was_approved(self, project: Path) -> None:
        found = merge(self.static(project, skill("sql-more", extends="sql")), [learned(skill("sql"))])
        assert [(entry.name, entry.overlays) for entry in found.entries] == [("sql", ()), ("sql-more", ())]

    def test_an_overlay_of_an_overlay_reaches_the_skill(self, project: Path) -> None:
        overlays = [learned(skill("one", extends="sql")), learned(skill("two", extends="one"))]
        found = merge(self.static(project, skill("sql")), overlays)
        assert [entry.name for entry in found.entries[0].overlays] == ["one", "two"]

    def test_an_overlay_without_its_skill_stands_alone(self) -> None:
        found = merge([], [learned(skill("sql-here", extends="sql"))])
        assert [entry.name for entry in found.entries] == ["sql-here"]

    def test_overlays_in_a_circle_stand_alone(self) -> None:
        found = merge([], [learned(skill("a", extends="b")), learned(skill("b", extends="a"))])
        assert [entry.name for entry in found.entries] == ["a", "b"]
        assert not any(entry.overlays for entry in found.entries)

    def test_a_static_skill_hides_a_learned_one_that_says_something_else(self, project: Path) -> None:
        found = merge(self.static(project, skill("tidy", body="a person's")), [learned(skill("tidy"))])
        assert [(entry.origin, entry.content.body) for entry in found.entries] == [("static", "a person's")]
        assert [(shadow.path, shadow.identical) for shadow in found.shadowed] == [("v_tidy", False)]

    def test_an_exported_skill_is_the_learned_one(self, project: Path) -> None:
        content = replace(skill("tidy"), files=(SkillFile(path="a.md", content="x"),))
        found = merge(self.static(project, content), [learned(content)])
        assert [(entry.origin, entry.version_id) for entry in found.entries] == [("learned", "v_tidy")]
        assert found.entries[0].path is not None
        assert found.shadowed == ()


def test_an_author_can_keep_a_skill_from_being_offered() -> None:
    content = replace(skill("quiet"), metadata={"disable-model-invocation": "True"})
    assert Entry(content=content, origin="static").hidden
    assert not Entry(content=skill("loud"), origin="static").hidden
