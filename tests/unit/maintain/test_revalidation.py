"""Revalidation: requirements of skills, changed environments, and steps that are run again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.errors import VerifierOutage
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.lifecycle import Status, coded
from tacit.domain.ports import Check
from tacit.domain.skill import Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.evidence.replay import Replay
from tacit.maintain import revalidation
from tacit.maintain.revalidation import FoundRequirements, Requirements, drift, requirements_of
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import NOW, later


@pytest.fixture
def loop() -> Iterator[Tacit]:
    store = open_store(":memory:")
    with Tacit(store, clock=lambda: NOW) as made:
        yield made


def approved(loop: Tacit) -> str:
    steps = tuple(
        SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one})
        for one in ("make release", "python tools/tag.py")
    )
    made = SkillContent(kind=Kind.PROCEDURE, name="release", description="Release the app.", steps=steps)
    version_id = loop.propose(made, by="ann", origin=Origin.USER).version_id
    loop.review(
        version_id, "approve", by="ann", ticked=[each.key for each in loop.reviews.examine(version_id).external_values]
    )
    return version_id


def finds(**found: object) -> revalidation.Look:
    return lambda relied, project: FoundRequirements(**found)  # type: ignore[arg-type]


def everything(relied: Requirements, _: Path) -> FoundRequirements:
    return FoundRequirements(programs=dict.fromkeys(relied.programs, "1.0"), files=relied.files, targets=relied.targets)


def test_what_a_skill_relies_on_is_noted_once(loop: Tacit, tmp_path: Path) -> None:
    approved(loop)
    assert revalidation.record_dependencies(loop.context.store, tmp_path, everything, at=NOW) == 1
    assert revalidation.record_dependencies(loop.context.store, tmp_path, everything, at=later(1)) == 0
    assert list(revalidation.contracts(loop.context.store, tmp_path, everything, at=later(1))) == []


def test_a_file_that_is_gone_sets_the_skill_aside(loop: Tacit, tmp_path: Path) -> None:
    version_id = approved(loop)
    revalidation.record_dependencies(loop.context.store, tmp_path, everything, at=NOW)
    present = finds(programs={"make": "1.0", "python": "1.0"}, targets=("make release",))
    (care,) = revalidation.contracts(loop.context.store, tmp_path, present, at=later(1))
    assert care.reasons == (coded("file_missing", path="tools/tag.py"),)
    assert care.move is not None
    assert (care.move.version_id, care.move.after) == (version_id, Status.STALE)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_next_version_relies_on_what_the_one_before_had(loop: Tacit, tmp_path: Path, keeps: bool) -> None:
    first = loop.version(approved(loop))
    revalidation.record_dependencies(loop.context.store, tmp_path, everything, at=NOW)
    steps = first.version.content.steps if keeps else first.version.content.steps[:1]
    changed = dataclasses.replace(first.version.content, description="Another text", steps=steps)
    child = loop.propose(changed, by="ann", origin=Origin.USER, revises=first).version_id
    loop.review(child, "approve", by="ann")
    gone = finds(programs={"make": "1.0", "python": "1.0"}, targets=("make release",))
    revalidation.record_dependencies(loop.context.store, tmp_path, gone, at=later(1))
    found = revalidation.contracts(loop.context.store, tmp_path, gone, at=later(2))
    reasons = {care.move.version_id: care.reasons for care in found if care.move}
    assert reasons.get(child, ()) == ((coded("file_missing", path="tools/tag.py"),) if keeps else ())


def test_a_program_that_is_missing_here_is_only_reported(loop: Tacit, tmp_path: Path) -> None:
    approved(loop)
    revalidation.record_dependencies(loop.context.store, tmp_path, everything, at=NOW)
    present = finds(programs={"python": "2.0"}, targets=("make release",), files=("tools/tag.py",))
    (care,) = revalidation.contracts(loop.context.store, tmp_path, present, at=later(1))
    assert care.move is None
    assert "program_missing" in care.codes
    assert coded("program_changed", program="python", before="1.0", now="2.0") in care.reasons


def test_what_cannot_be_tried_here_is_neither_for_nor_against_it(loop: Tacit, tmp_path: Path) -> None:
    approved(loop)

    def refuse(content: SkillContent, project: Path) -> Check:
        raise VerifierOutage("no postcondition has a check")

    ((care, evidence),) = revalidation.revalidations(loop.context.store, tmp_path, refuse, at=NOW)
    assert care.codes == ("not_checkable",)
    assert (evidence, care.move, care.remark) == (None, None, None)


@pytest.mark.parametrize(("passed", "outcome"), [(True, Outcome.SUCCESS), (False, Outcome.FAILURE)])
def test_what_was_tried_again_is_machine_verified_evidence(
    loop: Tacit, tmp_path: Path, passed: bool, outcome: Outcome
) -> None:
    version_id = approved(loop)
    done = Check(passed=passed, verifier="replay: make check", detail="done")
    ((care, evidence),) = revalidation.revalidations(loop.context.store, tmp_path, lambda *_: done, at=NOW)
    assert evidence is not None
    assert (evidence.version_id, evidence.outcome, evidence.grade) == (version_id, outcome, Grade.MACHINE)
    assert care.move is None, "evidence moves it, not one try"


def test_a_version_that_was_set_aside_goes_back_on_trial_when_it_works_again(loop: Tacit, tmp_path: Path) -> None:
    version_id = approved(loop)
    revalidation.record_dependencies(loop.context.store, tmp_path, everything, at=NOW)
    (care,) = revalidation.contracts(loop.context.store, tmp_path, finds(), at=later(1))
    assert care.move is not None
    loop.context.store.add_transition(care.move)
    done = Check(passed=True, verifier="replay: make check")
    ((again, _),) = revalidation.revalidations(loop.context.store, tmp_path, lambda *_: done, at=later(2))
    assert again.move is not None
    assert (again.move.version_id, again.move.after) == (version_id, Status.TRIAL)


def test_only_the_current_version_is_tried(loop: Tacit, tmp_path: Path) -> None:
    approved(loop)
    steps = (SkillStep(text="Run `make all`", tool="Bash", arguments={"command": "make all"}),)
    made = SkillContent(kind=Kind.PROCEDURE, name="release", description="Release the app.", steps=steps)
    newer = loop.propose(made, by="ann", origin=Origin.USER, revises=loop.version("release")).version_id
    loop.review(newer, "approve", by="ann", ticked=[each.key for each in loop.reviews.examine(newer).external_values])
    done = Check(passed=True, verifier="replay: make check")
    counts: list[tuple[int, int]] = []
    tried = revalidation.revalidations(
        loop.context.store, tmp_path, lambda *_: done, at=NOW, progress=lambda *now: counts.append(now)
    )
    assert [care.subject for care, _ in tried] == [newer]
    assert counts == [(1, 1)]


def test_without_a_repository_that_is_reported(tmp_path: Path) -> None:
    made = SkillContent(kind=Kind.PROCEDURE, name="release", description="Release the app.")
    with raises(VerifierOutage, "not_checkable"):
        revalidation.replayed(made, tmp_path)


def test_examples_are_values_and_headings_are_no_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    tried: list[Replay] = []

    def replay_of(*given: Any) -> _Passes:
        tried.append(Replay(*given))
        return _Passes()

    monkeypatch.setattr(revalidation, "Replay", replay_of)
    steps = (SkillStep(text="Phase 1, `build`: Build it."), SkillStep(text="Run `make {target}`"))
    target = (Parameter(name="target", example="all"), Parameter(name="other"))
    made = SkillContent(kind=Kind.PROCEDURE, name="ship", description="Ship it.", steps=steps, parameters=target)
    assert revalidation.replayed(made, tmp_path).passed
    (replay,) = tried
    assert replay.parameters == {"target": "all"}
    assert [step.optional for step in replay.content.steps] == [True, False]


class _Passes:
    def verify(self) -> Check:
        return Check(passed=True, verifier="replay: make check")


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
        coded("file_missing", path="tools/tag.py"),
        coded("target_missing", target="make release"),
        coded("program_changed", program="node", before="20.1.0", now="22.0.0"),
        coded("program_missing", program="make"),
    ]


def test_what_was_never_there_has_not_changed() -> None:
    assert drift(RELIED, FoundRequirements(), FoundRequirements()) == []
