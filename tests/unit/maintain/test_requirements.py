"""What a skill relies on, and what has changed of it."""

from __future__ import annotations

from tacit.domain.coded_reason import coded
from tacit.domain.contract import FoundRequirements, Requirements
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.maintain.revalidation import Drift, drift, requirements_of


def skill(*commands: str, **fields: object) -> SkillContent:
    steps = tuple(SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one}) for one in commands)
    made: dict[str, object] = {"kind": Kind.PROCEDURE, "name": "s", "description": "d", "steps": steps} | fields
    return SkillContent(**made)  # type: ignore[arg-type]


def test_programs_files_and_goals_of_the_steps_and_checks_are_relied_on() -> None:
    made = skill(
        "cd app && npm ci && npm run build -- --fast", "make -j4 release VERSION={version}", "python tools/tag.py {version}",
        postconditions=(Condition(text="It is up", check="curl -f localhost/health"),),
    )  # fmt: skip
    found = requirements_of(made)
    assert {"npm", "make", "curl"} <= set(found.programs)
    assert "cd" not in found.programs
    assert "tools/tag.py" in found.files
    assert "python" in found.programs
    assert "tag.py" not in found.programs
    assert found.targets == ("make release", "npm run build")


def test_files_that_tools_are_given_are_relied_on_but_not_parameters_nor_what_lies_outside() -> None:
    steps = tuple(
        SkillStep(text="Edit it", tool="Edit", arguments={"file_path": path})
        for path in ("src/app.py", "{file}", "/etc/hosts", "../other/x.py", "src/*.py")
    )
    assert requirements_of(skill(steps=steps)).files == ("src/app.py",)


def test_what_a_command_writes_is_not_relied_on() -> None:
    assert requirements_of(skill("make report > out/report.txt")).files == ()


def test_a_step_in_words_names_its_commands_between_backticks() -> None:
    found = requirements_of(skill(steps=(SkillStep(text="Then run `terraform apply`, and look at `main.tf`."),)))
    assert "terraform" in found.programs


def test_a_skill_without_commands_relies_on_nothing_that_can_be_looked_at() -> None:
    assert requirements_of(skill(steps=(SkillStep(text="Ask the customer."),))).is_empty


RELIED = Requirements(programs=("node", "make"), files=("tools/tag.py",), targets=("make release",))
BEFORE = FoundRequirements(programs={"node": "20.1.0", "make": ""}, files=("tools/tag.py",), targets=("make release",))


def test_nothing_has_changed_where_all_is_as_it_was() -> None:
    assert drift(RELIED, BEFORE, BEFORE) == []
    patched = FoundRequirements(programs={"node": "20.9.0", "make": "4.4"}, files=BEFORE.files, targets=BEFORE.targets)
    assert drift(RELIED, BEFORE, patched) == []


def test_what_is_gone_from_the_project_is_grave_and_what_is_missing_on_a_machine_is_not() -> None:
    assert drift(RELIED, BEFORE, FoundRequirements(programs={"node": "22.0.0"})) == [
        Drift(coded("file_missing", path="tools/tag.py"), breaking=True),
        Drift(coded("target_missing", target="make release"), breaking=True),
        Drift(coded("program_changed", program="node", before="20.1.0", now="22.0.0"), breaking=False),
        Drift(coded("program_missing", program="make"), breaking=False),
    ]


def test_what_was_never_there_has_not_changed() -> None:
    assert drift(RELIED, FoundRequirements(), FoundRequirements()) == []
