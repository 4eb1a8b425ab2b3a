"""Tacit reads, checks and lists skills as the Agent Skills format and its reference library do, and closes its gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import InvalidSkill
from tacit.render.frontmatter import read_document
from tacit.render.skill_folder import find_skill_md, load
from tacit.render.skill_md import Parsed, parse
from tests.raising import raises_rule

DESCRIPTION = "Sort loose notes into folders."
HEAD = f"name: tidy-notes\ndescription: {DESCRIPTION}\n"


def write(folder: Path, front: str = HEAD, *, body: str = "Sort them by date.\n", name: str = "SKILL.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"---\n{front}---\n{body}", encoding="utf-8")
    return folder


def rules(path: Path) -> list[str]:
    try:
        return [warning.rule for warning in load(path, strict=True, with_files=False).warnings]
    except InvalidSkill as error:
        return list(error.rules)


def fault(text: str) -> str:
    document, problems = read_document(text)
    assert document is None
    return problems[0].rule


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tidy-notes"


class TestReading:
    """The fifteen behaviours of the reference parser."""

    def test_fields_and_body_are_told_apart(self) -> None:
        document, problems = read_document(f"---\n{HEAD}---\n# Notes\n\nSort them.\n")
        assert document is not None
        assert problems == []
        assert document.fields["name"].data == "tidy-notes"
        assert document.fields["description"].data == DESCRIPTION
        assert document.body == "# Notes\n\nSort them.\n"

    def test_text_without_front_matter_is_refused(self) -> None:
        assert fault("# Only a heading\n") == "frontmatter-missing"

    def test_front_matter_without_an_end_is_refused(self) -> None:
        assert fault(f"---\n{HEAD}") == "frontmatter-open"

    def test_unreadable_yaml_is_refused(self) -> None:
        assert fault("---\nname: 'tidy\ndescription: x\n---\nbody\n") == "yaml"

    def test_unreadable_yaml_that_can_be_mended_is_still_an_error(self) -> None:
        with raises_rule("yaml"):
            parse("---\nname: {tidy\ndescription: x\n---\nbody\n", strict=True)

    def test_front_matter_that_is_a_list_is_refused(self) -> None:
        assert fault("---\n- tidy\n- notes\n---\nbody\n") == "not-a-map"

    def test_a_valid_folder_is_read(self, folder: Path) -> None:
        content = load(write(folder, HEAD + "license: Apache-2.0\n"), strict=True).content
        assert (content.name, content.license) == ("tidy-notes", "Apache-2.0")
        assert content.description == DESCRIPTION
        assert content.body == "Sort them by date."

    def test_metadata_stays_text(self, folder: Path) -> None:
        front = HEAD + "metadata:\n  author: Ada\n  version: 2.0\n  released: 2026-01-31\n  draft: no\n"
        metadata = load(write(folder, front), strict=True).content.metadata
        assert metadata == {"author": "Ada", "version": "2.0", "released": "2026-01-31", "draft": "no"}

    def test_a_folder_without_the_file_is_not_read(self, folder: Path) -> None:
        folder.mkdir()
        with raises_rule("file-missing"):
            load(folder)

    def test_a_missing_name_is_an_error(self, folder: Path) -> None:
        with raises_rule("name-missing"):
            load(write(folder, "description: x\n"), strict=True)

    def test_a_missing_description_is_an_error(self, folder: Path) -> None:
        with raises_rule("description-missing"):
            load(write(folder, "name: tidy-notes\n"), strict=True)

    def test_the_upper_case_file_name_is_preferred(self, folder: Path) -> None:
        write(write(folder), name="skill.md")
        found = find_skill_md(folder)
        assert found is not None
        assert found.name == "SKILL.md"

    def test_the_lower_case_file_name_is_found(self, folder: Path) -> None:
        found = find_skill_md(write(folder, name="skill.md"))
        assert found is not None
        assert found.name.lower() == "skill.md"

    def test_nothing_is_found_in_an_empty_folder(self, tmp_path: Path) -> None:
        assert find_skill_md(tmp_path) is None

    def test_the_lower_case_file_is_read(self, folder: Path) -> None:
        content = load(write(folder, name="skill.md"), strict=True).content
        assert (content.name, content.description) == ("tidy-notes", "Sort loose notes into folders.")

    def test_allowed_tools_are_read(self, folder: Path) -> None:
        content = load(write(folder, HEAD + "allowed-tools: Bash(rg:*) Bash(git log:*) Read\n"), strict=True).content
        assert content.allowed_tools == ("Bash(rg:*)", "Bash(git log:*)", "Read")


class TestChecking:
    """The twenty-one behaviours of the reference validator."""

    def test_a_valid_skill_has_no_problems(self, folder: Path) -> None:
        assert rules(write(folder)) == []

    def test_a_path_that_is_not_there_is_one_problem(self, folder: Path) -> None:
        assert rules(folder) == ["path-missing"]

    def test_a_path_that_is_another_file_is_one_problem(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
        assert rules(tmp_path / "notes.txt") == ["path-not-a-folder"]

    def test_a_folder_without_the_file_is_one_problem(self, folder: Path) -> None:
        folder.mkdir()
        assert rules(folder) == ["file-missing"]

    @pytest.mark.parametrize(
        ("name", "rule"),
        [
            ("TidyNotes", "name-case"),
            ("t" * 65, "name-length"),
            ("-tidy", "name-edge"),
            ("tidy-", "name-edge"),
            ("tidy--notes", "name-hyphens"),
            ("tidy_notes", "name-characters"),
            ("ЗАМЕТКИ", "name-case"),
        ],
        ids=[
            "capitals",
            "long",
            "leading hyphen",
            "trailing hyphen",
            "double hyphen",
            "underscore",
            "russian capitals",
        ],
    )
    def test_a_name_against_the_rule_is_a_problem(self, tmp_path: Path, name: str, rule: str) -> None:
        assert rules(write(tmp_path / name, f"name: {name}\ndescription: x\n")) == [rule]

    def test_a_name_other_than_the_folders_is_a_problem(self, tmp_path: Path) -> None:
        assert rules(write(tmp_path / "other", HEAD)) == ["name-directory"]

    def test_an_unknown_key_is_a_problem(self, folder: Path) -> None:
        assert rules(write(folder, HEAD + "colour: green\n")) == ["unknown-key"]

    @pytest.mark.parametrize(
        "more",
        [
            "license: MIT\nmetadata:\n  author: Ada\n",
            "allowed-tools: Bash(jq:*) Read\n",
            "compatibility: Needs git 2.40 or newer\n",
        ],
        ids=["license and metadata", "allowed-tools", "compatibility"],
    )
    def test_the_optional_fields_are_no_problem(self, folder: Path, more: str) -> None:
        assert rules(write(folder, HEAD + more)) == []

    @pytest.mark.parametrize("name", ["整理笔记", "мои-заметки", "заметки", "notizen-für-später", "٣-ملاحظات"])
    def test_lower_case_letters_of_any_script_are_no_problem(self, tmp_path: Path, name: str) -> None:
        assert rules(write(tmp_path / name, f"name: {name}\ndescription: x\n")) == []

    def test_a_description_of_1024_characters_is_the_longest(self, folder: Path) -> None:
        assert rules(write(folder, f"name: tidy-notes\ndescription: {'d' * 1024}\n")) == []
        assert rules(write(folder, f"name: tidy-notes\ndescription: {'d' * 1025}\n")) == ["description-length"]

    def test_a_compatibility_of_500_characters_is_the_longest(self, folder: Path) -> None:
        assert rules(write(folder, HEAD + f"compatibility: {'c' * 500}\n")) == []
        assert rules(write(folder, HEAD + f"compatibility: {'c' * 501}\n")) == ["compatibility-length"]

    def test_name_and_folder_are_compared_after_normalisation(self, tmp_path: Path) -> None:
        decomposed, composed = "re\u0301sume\u0301", "r\u00e9sum\u00e9"
        assert rules(write(tmp_path / composed, f"name: {decomposed}\ndescription: x\n")) == []


class TestGaps:
    """What the reference lets through, cuts off or trips over, though the specification is clear."""

    @pytest.mark.parametrize("value", ["", "''", "'  '", "[a]"])
    def test_an_empty_compatibility_is_a_problem(self, folder: Path, value: str) -> None:
        assert rules(write(folder, HEAD + f"compatibility: {value}\n")) == ["compatibility-empty"]

    @pytest.mark.parametrize("value", ["just text", "[a, b]", "\n  - a"])
    def test_metadata_that_is_no_map_is_a_problem(self, folder: Path, value: str) -> None:
        assert rules(write(folder, HEAD + f"metadata: {value}\n")) == ["metadata-map"]

    def test_metadata_values_that_are_no_text_are_a_problem(self, folder: Path) -> None:
        assert rules(write(folder, HEAD + "metadata:\n  a: [1, 2]\n  b: {c: d}\n  e: f\n")) == ["metadata-value"] * 2

    def test_allowed_tools_as_a_list_are_a_problem(self, folder: Path) -> None:
        assert rules(write(folder, HEAD + "allowed-tools: [Read, Write]\n")) == ["allowed-tools"]

    def test_the_present_folder_has_its_real_name(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(write(folder))
        assert rules(Path()) == []
        assert rules(Path("SKILL.md")) == []
        (folder / "inner").mkdir()
        monkeypatch.chdir(folder / "inner")
        assert rules(Path("..")) == []

    def test_a_byte_order_mark_does_no_harm(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(b"\xef\xbb\xbf" + f"---\n{HEAD}---\nbody\n".encode())
        assert rules(folder) == []

    def test_crlf_line_ends_do_no_harm(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(f"---\n{HEAD}---\none\n\ntwo\n".replace("\n", "\r\n").encode())
        assert rules(folder) == []
        assert load(folder).content.body == "one\n\ntwo"

    def test_dashes_inside_a_description_cut_nothing_off(self, folder: Path) -> None:
        write(
            folder, "name: tidy-notes\ndescription: Sort --- and then label --- loose notes\n", body="a\n\n---\n\nb\n"
        )
        content = load(folder, strict=True).content
        assert content.description == "Sort --- and then label --- loose notes"
        assert content.body == "a\n\n---\n\nb"

    def test_a_skill_md_may_be_named_directly(self, folder: Path) -> None:
        assert rules(write(folder) / "SKILL.md") == []

    def test_every_problem_is_reported_at_once(self, folder: Path) -> None:
        front = "name: Tidy_Notes-\ncolour: green\ncompatibility: ''\nmetadata: x\nallowed-tools: [a]\n"
        found = {"name-case", "name-characters", "name-edge", "name-directory", "unknown-key", "compatibility-empty"}
        assert set(rules(write(folder, front))) == found | {"metadata-map", "allowed-tools", "description-missing"}

    def test_a_repeated_key_is_a_problem(self, folder: Path) -> None:
        assert rules(write(folder, HEAD + "name: tidy-notes\n")) == ["duplicate-key"]

    def test_a_long_body_is_a_warning_only(self, folder: Path) -> None:
        problems = load(write(folder, body="line\n" * 501), strict=True).warnings
        assert [(problem.rule, problem.severity) for problem in problems] == [("body-size", "warning")]


def test_a_parsed_skill_carries_its_warnings(folder: Path) -> None:
    parsed = load(write(folder, HEAD + "colour: green\n"))
    assert isinstance(parsed, Parsed)
    assert [(warning.rule, warning.severity, warning.line) for warning in parsed.warnings] == [
        ("unknown-key", "warning", 4)
    ]
