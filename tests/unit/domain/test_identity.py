"""Content addresses: what is stored under a hash must hash the same for ever."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum

import pytest

from tacit.domain.evidence import Evidence, Grade, Outcome, Use
from tacit.domain.identity import ID_LENGTH, canonical, content_id, digest, plain
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Parameter, Skill, SkillContent, SkillStep, SkillVersion
from tacit.domain.trajectory import Environment, Role, Step, StepResult, Task, Trajectory
from tacit.domain.trust import Approval
from tests.unit.making import NOW, candidate, stored

CONTENT = SkillContent(
    kind=Kind.PROCEDURE,
    name="add-a-migration",
    description="Add a database migration, “safely”",
    steps=(SkillStep(text="Run it", tool="Bash", arguments={"command": "make migrate", "timeout": 1.5}),),
    parameters=(Parameter(name="table", example="invoices"),),
)
TRAJECTORY = Trajectory(
    task=Task(text="add a currency field", project="invoices", scope=Scope(Level.PROJECT, "invoices")),
    steps=(
        Step(index=0, role=Role.USER, text="please", at=NOW),
        Step(index=1, role=Role.AGENT, tool="Bash", arguments={"command": "ls"}, result=StepResult.OK, exit_code=0),
    ),
    environment=Environment(client="claude-code", workspace="/srv/invoices"),
    source="somewhere/a.jsonl",
)


def test_known_values_keep_the_hashes_under_which_they_are_stored():
    """If one of these changes, every store in the world is damaged: write a migration, do not change the literal."""
    skill = Skill.create(CONTENT, Scope(Level.PROJECT, "invoices"), at=NOW)
    made = candidate(CONTENT)
    version = SkillVersion(
        skill_id=skill.id, content=CONTENT, origins=made.origins, provenance=made.provenance, created_at=NOW
    )
    assert CONTENT.hash() == "sha256:3888e777d23cfc52b81a46746849b59787be62e1e75ca742578842d15c2cb6d8"
    assert skill.id == "s_ccc2af3ad9048f508fe3852849a7a4cc"
    assert version.id == "v_9117975bb6561ecd2ac52958f3d35b06"
    assert TRAJECTORY.id == "t_e7757e21fe8b89d2f71dcdcf59db3cf7"
    assert Use(version_ids=("v_1", "v_2"), task="x", at=NOW).id == "u_cb97a219e341b3144c035360c9c4e046"
    assert (
        Evidence(version_id="v_1", outcome=Outcome.SUCCESS, grade=Grade.MACHINE, at=NOW).id
        == "e_f8362a70d28f778d317dcbf3b1068f4d"
    )
    moved = Transition(
        version_id="v_1", content_hash="h", before=None, after=Status.TRIAL, reason="r", by="ann", at=NOW
    )
    assert moved.id == "x_d6c4a0d454f94fca6c52c97a7b56f594"
    assert Approval(version_id="v_1", content_hash="h", by="ann", at=NOW).id == "a_2518038e17f5b1ee83229b9274c258b8"


def test_the_canonical_form_is_sorted_dense_and_leaves_out_defaults():
    assert canonical(SkillStep(text="é", arguments={"b": 1, "a": [True, None]})) == (
        '{"arguments":{"a":[true,null],"b":1},"text":"é"}'.encode()
    )


@dataclass(frozen=True)
class Old:
    name: str
    size: int = 3


@dataclass(frozen=True)
class New:
    name: str
    size: int = 3
    colour: str = ""
    notes: tuple[str, ...] = ()
    extra: dict[str, str] = field(default_factory=dict)


def test_a_field_added_later_with_a_default_changes_no_hash():
    assert digest(Old("x")) == digest(New("x"))
    assert digest(Old("x", 4)) == digest(New("x", 4))


def test_a_field_given_its_default_value_changes_no_hash():
    assert digest(New("x")) == digest(New("x", 3, "", (), {}))


def test_a_field_with_another_value_changes_the_hash():
    assert len({digest(New("x")), digest(New("y")), digest(New("x", 4)), digest(New("x", colour="red"))}) == 4


def test_a_required_field_is_never_left_out():
    assert plain(Old("")) == {"name": ""}


class Colour(StrEnum):
    RED = "red"


def test_enums_tuples_and_lists_are_their_plain_values():
    assert plain({"a": Colour.RED, 1: (1, [2])}) == {"a": "red", "1": [1, [2]]}


def test_one_moment_has_one_form_whatever_its_zone_and_a_time_without_zone_is_utc():
    here = datetime(2026, 3, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    assert plain(here) == plain(datetime(2026, 3, 1, 12, 0, tzinfo=UTC)) == "2026-03-01T12:00:00+00:00"
    assert plain(datetime(2026, 3, 1, 12, 0)) == "2026-03-01T12:00:00+00:00"  # noqa: DTZ001


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_a_set_hashes_the_same_in_every_process(seed):
    code = "from tacit.domain.identity import digest; print(digest(frozenset('alpha beta gamma delta'.split())))"
    there = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True)
    assert there.stdout.strip() == digest(frozenset("alpha beta gamma delta".split()))


def test_what_has_no_canonical_form_is_refused():
    with pytest.raises(TypeError) as refused:
        plain(object())
    assert str(refused.value).endswith(" object")
    with pytest.raises(ValueError, match="Out of range float"):
        canonical(float("nan"))


def test_a_lone_surrogate_from_a_damaged_log_can_be_hashed():
    assert digest("\ud800") != digest("\ud801")


def test_an_id_says_what_it_names_and_a_digest_how_it_was_made():
    assert content_id("t", "x").startswith("t_")
    assert len(content_id("t", "x")) == len("t_") + ID_LENGTH
    assert digest("x").startswith("sha256:")


def test_the_place_a_trajectory_was_read_from_is_not_part_of_it():
    def read_from(source: str) -> Trajectory:
        return Trajectory(task=TRAJECTORY.task, steps=TRAJECTORY.steps, source=source)

    assert read_from("a").id == read_from("b").id


def test_a_changed_step_makes_another_trajectory():
    other = Trajectory(task=TRAJECTORY.task, steps=TRAJECTORY.steps[:1], environment=TRAJECTORY.environment)
    assert other.id != TRAJECTORY.id
    assert TRAJECTORY.content_id() == TRAJECTORY.id


def test_an_id_that_was_stored_is_kept_and_can_be_checked():
    forged = Trajectory(task=TRAJECTORY.task, steps=(), id="t_forged")
    assert forged.id == "t_forged"
    assert forged.content_id() != "t_forged"


def test_the_same_content_in_another_scope_is_another_skill():
    here = Skill.create(CONTENT, Scope(Level.PROJECT, "a"), at=NOW)
    assert Skill.create(CONTENT, Scope(Level.PROJECT, "a"), at=NOW + timedelta(1)).id == here.id
    assert Skill.create(CONTENT, Scope(Level.PROJECT, "b"), at=NOW).id != here.id


def test_origins_and_sources_are_no_part_of_the_content_hash():
    one, other = stored(CONTENT, origins={}), stored(CONTENT)
    assert one.version.hash == other.version.hash
    assert one.version.id == other.version.id
