"""SKILL.md text: what is written where, what a person's edit changes, and what lenient reading forgives."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from tacit.domain.errors import InvalidSkill
from tacit.domain.skill import Capabilities, Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.render.skill_md import MARKER, parse, render
from tests.raising import raises_rule

LEARNED = SkillContent(
    kind=Kind.PROCEDURE,
    name="add-migration",
    description="Add a database migration. Use when a column is added.",
    tags=("database", "make"),
    example_queries=("add a due date to invoices",),
    parameters=(Parameter(name="name", description="the new column", example="due_date"),),
    preconditions=(Condition(text="The database exists", check="test -f app.db"),),
    steps=(
        SkillStep(text="Create the migration", tool="Bash", arguments={"command": "make migration name={name}"}),
        SkillStep(text="Add the column to the new file", tool="Edit", arguments={"path": "m/{name}.py", "line": 3}),
        SkillStep(text="Tell the team", optional=True),
    ),
    postconditions=(Condition(text="All tests pass", check="make test"),),
    body="# Migrations\n\nThey are numbered.",
    metadata={"author": "Ada"},
)


def edited(before: str, after: str) -> SkillContent:
    text = render(LEARNED)
    assert text.count(before) == 1
    return parse(text.replace(before, after), strict=True).content


class TestWriting:
    def test_a_learned_skill_reads_like_a_guide(self) -> None:
        body = render(LEARNED).split("---\n", 2)[2]
        assert body == (
            "\n# Migrations\n\nThey are numbered.\n\n" + MARKER + "\n\n"
            "## When to use\n- add a due date to invoices\n\n"
            "## Parameters\n- `name`: the new column\n  - example: due_date\n\n"
            "## Before you start\n- The database exists\n  - check: test -f app.db\n\n"
            "## Steps\n"
            '1. Create the migration\n   - tool: Bash {"command":"make migration name={name}"}\n'
            '2. Add the column to the new file\n   - tool: Edit {"path":"m/{name}.py","line":3}\n'
            "3. Tell the team\n   - optional: yes\n\n"
            "## Check\n- All tests pass\n  - check: make test\n"
        )

    def test_the_front_matter_is_the_standard_one_with_our_own_under_metadata(self) -> None:
        content = replace(
            LEARNED,
            kind=Kind.LESSON,
            category="database",
            signature="no such column: <name>",
            sub_skills=("run-tests",),
            extends="sql-style",
            capabilities=Capabilities(commands=("make",)),
            allowed_tools=("Bash(make:*)", "Read"),
            license="MIT",
            compatibility="Needs make",
            portable=True,
            shareable=False,
        )
        front = yaml.safe_load(render(content, stamp={"skill-id": "s_1"}).split("---\n")[1])
        assert list(front) == ["name", "description", "license", "compatibility", "allowed-tools", "metadata"]
        assert front["allowed-tools"] == "Bash(make:*) Read"
        assert front["metadata"] == {
            "tacit-skill-id": "s_1",
            "tacit-kind": "lesson",
            "tacit-category": "database",
            "tacit-signature": "no such column: <name>",
            "tacit-extends": "sql-style",
            "tacit-tags": '["database","make"]',
            "tacit-capabilities": '{"commands":["make"]}',
            "tacit-portable": "true",
            "tacit-shareable": "false",
            "author": "Ada",
        }
        assert parse(render(content), strict=True).content == content

    def test_a_skill_without_structure_carries_nothing_of_ours(self) -> None:
        content = SkillContent(kind=Kind.PROCEDURE, name="a", description="b", body="# Steps\n\n1. one")
        assert render(content) == "---\nname: a\ndescription: b\n---\n\n# Steps\n\n1. one\n"

    def test_what_markdown_cannot_carry_is_kept_in_metadata(self) -> None:
        odd = replace(LEARNED, steps=(SkillStep(text="  indented \n\n- tool: not a tool"), SkillStep(text="plain")))
        text = render(odd)
        assert "tacit-steps" in text
        assert "tacit-postconditions" not in text
        assert parse(text, strict=True).content == odd

    def test_typed_looking_texts_stay_texts_for_every_yaml_reader(self) -> None:
        values = ["yes", "1.0", "null", "2026-01-01", "~", "0x1f", "1e3", "a: b", "#x", "[a]", "it's", 'say "x"', ""]
        content = replace(LEARNED, metadata={f"k{i}": value for i, value in enumerate(values)})
        metadata = yaml.safe_load(render(content).split("---\n")[1])["metadata"]
        assert [metadata[f"k{i}"] for i in range(len(values))] == values


class TestEditing:
    def test_an_untouched_export_has_the_same_hash(self) -> None:
        assert parse(render(LEARNED), strict=True).content.hash() == LEARNED.hash()

    def test_an_edited_description_changes_the_description_only(self) -> None:
        after = "Add a numbered database migration. Use it when a column is added."
        content = edited("Add a database migration. Use when a column is added.", after)
        assert content == replace(LEARNED, description=after)
        assert content.hash() != LEARNED.hash()

    def test_an_edited_step_changes_its_text_only(self) -> None:
        steps = (replace(LEARNED.steps[0], text="Create the migration file"), *LEARNED.steps[1:])
        assert edited("1. Create the migration\n", "1. Create the migration file\n") == replace(LEARNED, steps=steps)

    def test_an_edited_call_changes_the_call_only(self) -> None:
        steps = (replace(LEARNED.steps[0], arguments={"command": "make new name={name}"}), *LEARNED.steps[1:])
        assert edited("make migration name={name}", "make new name={name}") == replace(LEARNED, steps=steps)

    def test_a_deleted_call_leaves_the_step(self) -> None:
        steps = (SkillStep(text="Create the migration"), *LEARNED.steps[1:])
        content = edited('   - tool: Bash {"command":"make migration name={name}"}\n', "")
        assert content == replace(LEARNED, steps=steps)

    def test_an_inserted_step_leaves_the_others_alone(self) -> None:
        steps = (LEARNED.steps[0], SkillStep(text="Look at it"), *LEARNED.steps[1:])
        assert edited("2. Add the column", "2. Look at it\n3. Add the column") == replace(LEARNED, steps=steps)

    def test_a_deleted_step_is_gone(self) -> None:
        assert edited("3. Tell the team\n   - optional: yes\n", "").steps == LEARNED.steps[:2]

    def test_an_edited_body_changes_the_body_only(self) -> None:
        assert edited("They are numbered.", "They are\n\n---\n\nnamed.") == replace(
            LEARNED, body="# Migrations\n\nThey are\n\n---\n\nnamed."
        )

    def test_an_edited_condition_changes_that_condition_only(self) -> None:
        conditions = (Condition(text="All tests pass", check="make check"),)
        assert edited("- check: make test", "- check: make check") == replace(LEARNED, postconditions=conditions)

    def test_a_section_of_ones_own_is_kept_in_the_body(self) -> None:
        content = edited("## Check\n", "## Background\n- never edit an old file\n\n## Check\n")
        assert content == replace(LEARNED, body=f"{LEARNED.body}\n\n## Background\n- never edit an old file")

    def test_other_list_styles_read_the_same(self) -> None:
        text = render(LEARNED).replace("1. Create", "1) Create").replace("2. Add", "\n2) Add").replace("- All", "* All")
        assert parse(text, strict=True).content == LEARNED

    def test_text_under_a_heading_that_is_no_list_is_not_lost(self) -> None:
        content = edited("## Steps\n", "## Steps\nWork on a branch.\n")
        assert content.steps == (SkillStep(text="Work on a branch."), *LEARNED.steps)

    def test_without_the_marker_all_text_is_body(self) -> None:
        content = edited(MARKER + "\n\n", "")
        assert content.steps == ()
        assert content.body == render(LEARNED).split("---\n", 2)[2].replace(MARKER + "\n\n", "").strip()

    def test_an_edit_beside_an_odd_section_keeps_that_section_exact(self) -> None:
        odd = replace(LEARNED, postconditions=(Condition(text=" odd \n- check: text"),))
        text = render(odd).replace("1. Create the migration", "1. Make the migration")
        steps = (replace(LEARNED.steps[0], text="Make the migration"), *LEARNED.steps[1:])
        assert parse(text, strict=True).content == replace(odd, steps=steps)

    def test_an_edit_of_an_odd_section_drops_the_exact_copy(self) -> None:
        odd = replace(LEARNED, postconditions=(Condition(text=" odd \n- check: text"),))
        content = parse(render(odd).replace("-  odd ", "- even"), strict=True).content
        assert content.postconditions == (Condition(text="even", check="text"),)

    def test_edited_allowed_tools_win_over_the_exact_copy(self) -> None:
        odd = replace(LEARNED, allowed_tools=("two words", "Read"))
        text = render(odd)
        assert parse(text, strict=True).content == odd
        changed = text.replace("allowed-tools: two words Read", "allowed-tools: Read Write")
        assert parse(changed, strict=True).content.allowed_tools == ("Read", "Write")


class TestUnlockedTools:
    ASKING = replace(LEARNED, allowed_tools=("Bash(make:*)", "Read", "two words"))

    @pytest.mark.parametrize("unlocked", [(), ("Read",), ("Read", "Bash(make:*)"), ("two words",)])
    def test_a_file_unlocks_no_more_and_still_says_what_is_asked_for(self, unlocked: tuple[str, ...]) -> None:
        text = render(self.ASKING, unlocked=unlocked)
        front = yaml.safe_load(text.split("---\n")[1])
        plain = [tool for tool in self.ASKING.allowed_tools if tool in unlocked and tool != "two words"]
        assert front.get("allowed-tools", "") == " ".join(plain)
        parsed = parse(text, strict=True)
        assert (parsed.content, parsed.unlocked) == (self.ASKING, tuple(plain))

    def test_a_tool_that_was_written_in_by_hand_is_an_edit(self) -> None:
        text = render(self.ASKING, unlocked=("Read",)).replace("allowed-tools: Read", "allowed-tools: Read Write")
        assert parse(text, strict=True).content.allowed_tools == ("Read", "Write")


class TestLenient:
    def test_a_stray_colon_is_mended_with_a_warning(self) -> None:
        text = "---\nname: a\ndescription: Use this when: a person asks\n  for more: of it\nlicense: MIT\n---\nx\n"
        parsed = parse(text, strict=False)
        assert parsed.content.description == "Use this when: a person asks for more: of it"
        assert parsed.content.license == "MIT"
        assert [(warning.rule, warning.line) for warning in parsed.warnings] == [("yaml", 3)]
        with pytest.raises(InvalidSkill):
            parse(text, strict=True)

    @pytest.mark.parametrize(
        "value",
        ["[Beta] does things", "*important* words", "@you", "`code` first", "%x", "- dash: x"],
    )
    def test_values_that_begin_with_a_sign_of_yaml_are_mended(self, value: str) -> None:
        parsed = parse(f"---\nname: a\ndescription: {value}\nmetadata:\n  k: [v: w\n---\nx\n", strict=False)
        assert parsed.content.description == value
        assert parsed.content.metadata == {"k": "[v: w"}

    def test_mending_leaves_blocks_and_quotes_as_they_are(self) -> None:
        text = "---\nname: a: b\ndescription: |\n  when: now\n  and then\nlicense: 'x: y'\n---\n"
        content = parse(text, strict=False).content
        assert (content.name, content.description, content.license) == ("a: b", "when: now\nand then", "x: y")

    def test_unknown_keys_are_kept_under_metadata(self) -> None:
        text = "---\nname: a\ndescription: b\nversion: 1.10\ntags: [x, y]\nmetadata:\n  k: v\n---\n"
        parsed = parse(text, strict=False)
        assert parsed.content.metadata == {"k": "v", "version": "1.10", "tags": '["x","y"]'}
        assert [warning.field for warning in parsed.warnings] == ["version", "tags"]

    def test_a_bad_name_is_a_warning_and_stays(self) -> None:
        parsed = parse("---\nname: My Skill\ndescription: b\n---\n", strict=False, directory="other")
        assert parsed.content.name == "My Skill"
        assert {warning.rule for warning in parsed.warnings} == {"name-case", "name-characters", "name-directory"}
        assert {warning.severity for warning in parsed.warnings} == {"warning"}

    def test_a_missing_name_is_taken_from_the_folder(self) -> None:
        assert parse("---\ndescription: b\n---\n", strict=False, directory="tidy").content.name == "tidy"
        with raises_rule("name-missing"):
            parse("---\ndescription: b\n---\n", strict=False)

    @pytest.mark.parametrize("description", ["", "description: ''", "description:", "description: [a]"])
    def test_a_skill_without_description_is_skipped(self, description: str) -> None:
        with raises_rule("description-missing"):
            parse(f"---\nname: a\n{description}\n---\n", strict=False)

    def test_tools_as_a_list_or_with_commas_are_understood(self) -> None:
        head = "---\nname: a\ndescription: b\nallowed-tools: "
        assert parse(head + "[Read, 'Bash(git:*)']\n---\n", strict=False).content.allowed_tools == (
            "Read",
            "Bash(git:*)",
        )
        assert parse(head + "Read, Bash(a, b), Write\n---\n", strict=False).content.allowed_tools == (
            "Read", "Bash(a, b)", "Write",
        )  # fmt: skip

    def test_metadata_that_is_no_map_is_ignored_with_a_warning(self) -> None:
        parsed = parse("---\nname: a\ndescription: b\nmetadata: text\n---\n", strict=False)
        assert parsed.content.metadata == {}
        assert [warning.rule for warning in parsed.warnings] == ["metadata-map"]

    def test_a_later_key_of_the_same_name_counts(self) -> None:
        parsed = parse("---\nname: a\ndescription: b\ndescription: c\n---\n", strict=False)
        assert parsed.content.description == "c"
        assert [(warning.rule, warning.line) for warning in parsed.warnings] == [("duplicate-key", 4)]

    def test_folded_descriptions_lose_the_line_end_of_their_notation(self) -> None:
        text = "---\nname: a\ndescription: >\n  one\n  two\nlicense: |\n  MIT\n---\n"
        content = parse(text, strict=True).content
        assert (content.description, content.license) == ("one two", "MIT")


class TestDamage:
    @pytest.mark.parametrize(
        "line",
        [
            "tacit-kind: sorcery",
            "tacit-tags: a, b",
            "tacit-tags: '[1]'",
            "tacit-portable: perhaps",
            "tacit-capabilities: '{\"moons\":[]}'",
            "tacit-capabilities: '[]'",
            "tacit-metadata: '{\"a\":1}'",
            'tacit-body-margins: \'["x","y"]\'',
            "tacit-files: '[[1]]'",
            "tacit-steps: '{}'",
            "tacit-steps: '[{\"text\":1}]'",
            'tacit-steps: \'[{"evil":"x"}]\'',
            "tacit-example-queries: '[1]'",
            "tacit-preconditions: '[\"x\"]'",
        ],
    )
    def test_a_damaged_value_of_ours_is_a_warning_and_is_not_lost(self, line: str) -> None:
        parsed = parse(f"---\nname: a\ndescription: b\nmetadata:\n  {line}\n---\nbody\n", strict=True)
        assert [(warning.rule, warning.line) for warning in parsed.warnings] == [("own-metadata", 4)]
        assert list(parsed.content.metadata) == [line.partition(":")[0]]
        assert parsed.content.kind is Kind.PROCEDURE
        assert parse(render(parsed.content), strict=True).content == parsed.content

    def test_hidden_steps_without_visible_ones_do_not_count(self) -> None:
        hidden = '  tacit-steps: \'[{"text":"x","tool":"Bash","arguments":{"command":"rm -rf /"}}]\'\n'
        for body in ("Harmless.\n", f"Harmless.\n\n{MARKER}\n\n## Steps\n1. Harmless\n"):
            content = parse(f"---\nname: a\ndescription: b\nmetadata:\n{hidden}---\n{body}", strict=True).content
            assert all(not step.tool for step in content.steps)

    def test_arguments_that_are_no_json_stay_visible(self) -> None:
        text = render(LEARNED).replace('{"command":"make migration name={name}"}', "{command: make}")
        assert parse(text, strict=True).content.steps[0].tool == "Bash {command: make}"
