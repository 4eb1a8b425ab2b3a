"""A skill's folder on disk: faults are told with file, line and next step; files come back byte for byte."""

from __future__ import annotations

import base64
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.domain.errors import InvalidSkill, NotPermitted
from tacit.domain.skill import Kind, SkillContent, SkillFile, SkillStep
from tacit.render import skill_folder
from tacit.render.frontmatter import BYTES_MAX
from tacit.render.skill_folder import files, load, save, unpack
from tacit.render.skill_md import render
from tacit.render.validation import check_content
from tests.raising import raises, raises_rule

CONTENT = SkillContent(kind=Kind.PROCEDURE, name="pack-crates", description="Pack crates.", body="Pack them.")
BINARY = base64.b64encode(b"\x89PNG\x00\xff").decode()
HEAD = b"name: pack-crates\ndescription: Pack crates.\n"


def folder_with(tmp_path: Path, data: bytes) -> Path:
    folder = tmp_path / "pack-crates"
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("data", "line", "rule", "detail", "hint"),
    [
        (b"", 1, "frontmatter-missing", "", "'---'"),
        (b"\n---\n" + HEAD + b"---\n", 1, "frontmatter-missing", "", "'---'"),
        (b"---\n" + HEAD, 1, "frontmatter-open", "", "'---'"),
        (b"---\nname: 'pack\ndescription: x\n---\n", 4, "yaml", "", "quotes"),
        (b"---\n" + HEAD + b"\tlicense: x\n---\n", 4, "yaml", "", "tabs"),
        (b"---\n---\n", 2, "not-a-map", "", "name"),
        (b"---\n- a\n---\n", 2, "not-a-map", "", "name"),
        (b"---\nname: pack-crates\n---\n", 2, "description-missing", "", "'description:"),
        (b"---\nname: pack-crates\nlicense: x\ndescription: ''\n---\n", 4, "description-missing", "", "'description:"),
        (b"---\n" + HEAD + b"metadata:\n  a: {b: &x c}\n---\n", 5, "yaml-refused", "(& and *)", ""),
        (b"---\n" + HEAD + b"metadata:\n  a: [!!python/name:os.system x]\n---\n", 5, "yaml-refused", "tag", ""),
        (b"---\n" + HEAD + b"license: " + b"[" * 9 + b"]" * 9 + b"\n---\n", 4, "yaml-refused", " 8 deep", ""),
        (b"---\n" + HEAD + b"license: [" + b"a," * 3000 + b"]\n---\n", 4, "yaml-refused", " 2000 values", ""),
        (b"---\n" + HEAD + b"---\ncaf\xe9\n", 5, "encoding", "0xe9", "UTF-8"),
        ("---\nname: x\n---\n".encode("utf-16"), 1, "encoding", "", "UTF-8"),
        (b"---\n" + HEAD + b"---\n" + b"x" * BYTES_MAX, None, "size", "1024 KiB", "references/"),
        (b"---\n" + HEAD + b"license: '" + b"x" * 300_000 + b"'\n---\n", None, "size", "256 KiB", "references/"),
    ],
    ids=[
        "empty", "blank first line", "not closed", "open quote", "tab", "no fields", "list", "no description",
        "empty description", "anchor", "tag", "deep", "mass", "latin-1", "utf-16", "huge", "huge front matter",
    ],
)  # fmt: skip
def test_a_skill_that_cannot_be_read_says_where_and_what_to_do(
    tmp_path: Path, data: bytes, line: int | None, rule: str, detail: str, hint: str
) -> None:
    folder = folder_with(tmp_path, data)
    with raises_rule(rule) as caught:
        load(folder)
    place = f"{folder / 'SKILL.md'}:{line}:" if line else f"{folder / 'SKILL.md'}: "
    assert caught.value.message.startswith(place)
    assert detail in caught.value.message
    assert caught.value.hint
    assert hint in caught.value.hint
    assert any(detail in problem for problem in caught.value.problems)


def test_an_alias_bomb_is_refused_at_once(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a, *a]\n" for i in range(20))
    with raises_rule("yaml-refused") as caught:
        load(folder_with(tmp_path, b"---\n" + HEAD + bomb.encode() + b"---\n"))
    assert "(& and *)" in caught.value.message


def test_a_strict_load_lists_every_problem(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, b"---\nname: Pack Crates\ndescription: x\ncolour: red\n---\n")
    with pytest.raises(InvalidSkill) as caught:
        load(folder, strict=True)
    assert len(caught.value.problems) == 4
    assert "(and 3 more)" in caught.value.message
    assert all(str(folder / "SKILL.md") in problem for problem in caught.value.problems)
    assert caught.value.rules[-1] == "unknown-key"
    assert "line 4: " in caught.value.problems[-1]
    assert "'colour'" in caught.value.problems[-1]


def test_a_folder_called_skill_md_is_no_skill(tmp_path: Path) -> None:
    folder = tmp_path / "pack-crates"
    (folder / "SKILL.md").mkdir(parents=True)
    with raises_rule("file-missing"):
        load(folder)


def test_a_skill_and_its_files_come_back_from_disk(tmp_path: Path) -> None:
    content = replace(
        CONTENT,
        steps=(SkillStep(text="Run it", tool="Bash", arguments={"command": "scripts/pack.sh"}),),
        files=(
            SkillFile(path="assets/crate.png", content=BINARY, encoding="base64"),
            SkillFile(path="references/größe/guide.md", content="# Größe\r\n---\n"),
            SkillFile(path="scripts/pack.sh", content="#!/bin/sh\n", executable=True),
        ),
    )
    path = save(content, tmp_path, stamp={"version-id": "v_1"})
    assert path == tmp_path / "pack-crates" / "SKILL.md"
    assert os.access(tmp_path / "pack-crates/scripts/pack.sh", os.X_OK)
    loaded = load(path.parent, strict=True)
    assert loaded.content == content
    assert loaded.stamp == {"version-id": "v_1"}
    assert loaded.warnings == ()
    assert load(path, with_files=False).content == replace(content, files=())


def test_order_and_encoding_of_files_survive(tmp_path: Path) -> None:
    content = replace(
        CONTENT,
        files=(
            SkillFile(path="z.txt", content="z"),
            SkillFile(path="a.bin", content=base64.b64encode(b"text").decode(), encoding="base64"),
        ),
    )
    assert load(save(content, tmp_path)).content == content
    assert unpack(files(content), strict=True).content == content


def test_a_changed_and_an_added_file_change_the_content(tmp_path: Path) -> None:
    folder = save(replace(CONTENT, files=(SkillFile(path="b.txt", content="old"),)), tmp_path).parent
    (folder / "b.txt").write_text("new", encoding="utf-8")
    (folder / "a.txt").write_text("added", encoding="utf-8")
    assert [(file.path, file.content) for file in load(folder).content.files] == [("a.txt", "added"), ("b.txt", "new")]


def test_saving_again_replaces_and_leaves_no_drafts(tmp_path: Path) -> None:
    save(CONTENT, tmp_path)
    path = save(replace(CONTENT, body="Pack them twice."), tmp_path)
    assert load(path).content.body == "Pack them twice."
    assert [item.name for item in path.parent.iterdir()] == ["SKILL.md"]


def test_saving_never_follows_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "root/pack-crates").mkdir(parents=True)
    (tmp_path / "root/pack-crates/scripts").symlink_to(outside)
    content = replace(CONTENT, files=(SkillFile(path="scripts/a.sh", content="x"),))
    with raises(NotPermitted, "behind_link"):
        save(content, tmp_path / "root")
    assert list(outside.iterdir()) == []


def test_links_and_version_control_are_not_bundled(tmp_path: Path) -> None:
    folder = save(CONTENT, tmp_path).parent
    (folder / "passwords").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)
    (folder / "gone").symlink_to(folder / "nowhere")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("x", encoding="utf-8")
    loaded = load(folder)
    assert loaded.content.files == ()
    assert sorted(warning.message for warning in loaded.warnings) == [
        "gone is left out: it is a link", "loop is left out: it is a link", "passwords is left out: it is a link",
    ]  # fmt: skip


def test_hidden_files_are_not_bundled_and_are_named(tmp_path: Path) -> None:
    folder = save(CONTENT, tmp_path).parent
    (folder / ".env").write_text("TOKEN=x", encoding="utf-8")
    (folder / ".aws").mkdir()
    (folder / ".aws/credentials").write_text("x", encoding="utf-8")
    (folder / "scripts").mkdir()
    (folder / "scripts/.netrc").write_text("x", encoding="utf-8")
    loaded = load(folder)
    assert loaded.content.files == ()
    assert [warning.message for warning in loaded.warnings] == [
        ".aws is left out: it is hidden", ".env is left out: it is hidden", "scripts/.netrc is left out: it is hidden",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "field", "line"),
    [
        (b'name: pack-crates\ndescription: "x \\ud800"\n', "description", 3),
        (b'name: "pack\\udfff"\ndescription: x\n', "name", 2),
        (HEAD + b'license: ["a", "\\udc00"]\n', "license", 4),
        (HEAD + b'metadata:\n  a: b\n  c: "\\ud800\\ud800"\n', "metadata", 6),
        (HEAD + b'metadata:\n  "\\ud800": b\n', "metadata", 5),
        (HEAD + b"metadata:\n  tacit-tags: '[\"\\ud800\"]'\n", "tags", 4),
        (HEAD + b'"k\\ud800": b\n', r"k\ud800", 4),
    ],
    ids=["description", "name", "list", "metadata", "metadata key", "own metadata", "unknown key"],
)
def test_half_a_character_is_refused_with_field_and_line(tmp_path: Path, data: bytes, field: str, line: int) -> None:
    folder = folder_with(tmp_path, b"---\n" + data + b"---\nPack.\n")
    with raises_rule("encoding") as caught:
        load(folder)
    assert caught.value.message.startswith(f"{folder / 'SKILL.md'}:{line}: {field} ")
    assert caught.value.message.encode("utf-8")


def test_half_a_character_in_the_arguments_of_a_step_is_refused(tmp_path: Path) -> None:
    path = save(replace(CONTENT, steps=(SkillStep(text="Go", tool="Bash", arguments={"command": "half"}),)), tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("half", "\\ud800"), encoding="utf-8")
    with raises_rule("encoding") as caught:
        load(path)
    assert ": steps " in caught.value.message


def test_a_character_spelt_as_two_escapes_is_one_character(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, b'---\nname: pack-crates\ndescription: "Pack \\ud83d\\ude00"\n---\n')
    assert load(folder, strict=True).content.description == "Pack \U0001f600"


def test_what_is_too_much_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skill_folder, "FILES_MAX", 2)
    monkeypatch.setattr(skill_folder, "FILE_BYTES_MAX", 3)
    folder = save(CONTENT, tmp_path).parent
    for name in ("a", "b", "c"):
        (folder / name).write_text("x", encoding="utf-8")
    (folder / "0").write_text("xxxx", encoding="utf-8")
    loaded = load(folder)
    assert [file.path for file in loaded.content.files] == ["a", "b"]
    assert [warning.message for warning in loaded.warnings] == [
        "0 is left out: it has 4 bytes", "c is left out: beyond 2 files",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "", "/etc/x", "../x", "a/../b", "a//b", "./a", "a/", "~/x", "C:x", "a\\b", "a\nb", "SKILL.md", "skill.md",
        ".git/config", ".env", "a/.b/c", "x" * 256,
    ],
)  # fmt: skip
def test_a_path_out_of_the_folder_is_never_written(tmp_path: Path, path: str) -> None:
    content = replace(CONTENT, files=(SkillFile(path=path, content="x"),))
    assert [problem.rule for problem in check_content(content)] == ["file-path"]
    with raises_rule("file-path"):
        save(content, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (replace(CONTENT, name="Pack"), "name-case"),
        (replace(CONTENT, name=""), "name-missing"),
        (replace(CONTENT, name="cafe\u0301"), "name-form"),
        (replace(CONTENT, description=" "), "description-missing"),
        (replace(CONTENT, compatibility="x" * 501), "compatibility-length"),
        (replace(CONTENT, files=(SkillFile(path="a", content="%%", encoding="base64"),)), "file-encoding"),
        (replace(CONTENT, files=(SkillFile(path="a", content="x", encoding="latin-1"),)), "file-encoding"),
        (replace(CONTENT, files=(SkillFile(path="a", content="x"), SkillFile(path="a/b", content="x"))), "file-path"),
        (replace(CONTENT, files=(SkillFile(path="a", content="x"), SkillFile(path="a", content="y"))), "file-path"),
    ],
)
def test_a_content_that_the_format_cannot_hold_is_refused(content: SkillContent, rule: str) -> None:
    assert [problem.rule for problem in check_content(content) if problem.severity == "error"] == [rule]
    with pytest.raises(InvalidSkill):
        files(content)


def test_a_text_without_utf8_form_is_refused_but_can_be_looked_at() -> None:
    content = replace(CONTENT, body="\ud800")
    assert "\ud800" in render(content)
    for each in (content, replace(CONTENT, description="x\ud800"), replace(CONTENT, metadata={"a": "\ud800"})):
        with raises_rule("encoding"):
            files(each)


def test_a_skill_too_large_to_read_back_is_not_written() -> None:
    with raises_rule("size"):
        files(replace(CONTENT, body="x" * BYTES_MAX))


def test_a_mapping_without_skill_md_is_refused() -> None:
    with raises_rule("file-missing"):
        unpack({"a.txt": b"x"}, strict=False)
