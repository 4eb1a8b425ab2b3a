"""What a skill relies on, and what has changed of it."""

from __future__ import annotations

from tacit.domain.contract import Ground, Reliance
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.maintain.refinement.contract import Drift, drift, relies_on


def skill(*commands: str, **fields: object) -> SkillContent:
    steps = tuple(SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one}) for one in commands)
    made: dict[str, object] = {"kind": Kind.PROCEDURE, "name": "s", "description": "d", "steps": steps} | fields
    return SkillContent(**made)  # type: ignore[arg-type]


def test_programs_files_and_goals_of_the_steps_and_checks_are_relied_on() -> None:
    made = skill(
        "cd app && npm ci && npm run build -- --fast", "make -j4 release VERSION={version}", "python tools/tag.py {version}",
        postconditions=(Condition(text="It is up", check="curl -f localhost/health"),),
    )  # fmt: skip
    found = relies_on(made)
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
    assert relies_on(skill(steps=steps)).files == ("src/app.py",)


def test_what_a_command_writes_is_not_relied_on() -> None:
    assert relies_on(skill("make report > out/report.txt")).files == ()


def test_a_step_in_words_names_its_commands_between_backticks() -> None:
    found = relies_on(skill(steps=(SkillStep(text="Then run `terraform apply`, and look at `main.tf`."),)))
    assert "terraform" in found.programs


def test_a_skill_without_commands_relies_on_nothing_that_can_be_looked_at() -> None:
    assert relies_on(skill(steps=(SkillStep(text="Ask the customer."),))).is_empty


RELIED = Reliance(programs=("node", "make"), files=("tools/tag.py",), targets=("make release",))
BEFORE = Ground(programs={"node": "20.1.0", "make": ""}, files=("tools/tag.py",), targets=("make release",))


def test_nothing_has_changed_where_all_is_as_it_was() -> None:
    assert drift(RELIED, BEFORE, BEFORE) == []
    patched = Ground(programs={"node": "20.9.0", "make": "4.4"}, files=BEFORE.files, targets=BEFORE.targets)
    assert drift(RELIED, BEFORE, patched) == []


def test_what_is_gone_from_the_project_is_grave_and_what_is_missing_on_a_machine_is_not() -> None:
    assert drift(RELIED, BEFORE, Ground(programs={"node": "22.0.0"})) == [
        Drift("`tools/tag.py` is gone", grave=True),
        Drift("`make release` is no longer defined", grave=True),
        Drift("`node` was 20.1.0 and is 22.0.0", grave=False),
        Drift("`make` is not installed here any more", grave=False),
    ]


def test_what_was_never_there_has_not_changed() -> None:
    assert drift(RELIED, Ground(), Ground()) == []
