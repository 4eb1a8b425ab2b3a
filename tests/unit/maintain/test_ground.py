"""A real look at a project and this machine's programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.maintain.revalidation import Requirements, look


def test_what_is_there_is_found_and_what_is_not_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("A := b\nrelease build: deps\n\techo $@\n.PHONY: release\ndeps:\n")
    (tmp_path / "package.json").write_text('{"scripts": {"build": "x"}}')
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "tag.py").touch()
    relied = Requirements(
        programs=("git", "no-such-program-here"),
        files=("tools/tag.py", "tools/gone.py"),
        targets=("make release", "make build", "make publish", "npm run build", "npm run test"),
    )
    found = look(relied, tmp_path)
    assert list(found.programs) == ["git"]
    assert found.programs["git"][0].isdigit()
    assert found.files == ("tools/tag.py",)
    assert found.targets == ("make release", "make build", "npm run build")


def test_broken_and_missing_files_define_nothing(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": [')
    assert look(Requirements(targets=("npm run build", "make x", "just y", "task z")), tmp_path).targets == ()


def test_goals_of_just_and_task_are_read(tmp_path: Path) -> None:
    (tmp_path / "justfile").write_text("ship target='x': build\n  echo\nbuild:\n  echo\n")
    (tmp_path / "Taskfile.yml").write_text("version: '3'\ntasks:\n  ship:\n    cmds: [x]\n")
    wanted = ("just ship", "just build", "just gone", "task ship")
    assert look(Requirements(targets=wanted), tmp_path).targets == ("just ship", "just build", "task ship")


def test_a_link_that_leads_out_of_the_project_is_not_there(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside.txt").touch()
    (project / "link.txt").symlink_to(tmp_path / "outside.txt")
    assert look(Requirements(files=("link.txt",)), project).files == ()


def test_a_program_of_the_projects_own_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "bin" / "node"
    trap.parent.mkdir()
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 99.0.0\n")
    trap.chmod(0o755)
    monkeypatch.setenv("PATH", str(trap.parent))
    assert look(Requirements(programs=("node",)), tmp_path).programs == {"node": ""}
    assert not (tmp_path / "ran").exists()
