"""Values read back as they were stored, and sealed rows distinguish any two values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Evidence
from tacit.domain.skill import Skill, SkillVersion
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Role, Step, Task, Trajectory
from tacit.store import invariants as laws
from tacit.store.encoding import UnreadableRecord, clean, pack, stamp, unpack
from tacit.store.seals import seal_of
from tests.raising import raises
from tests.unit.store.samples import SUCCESS, at, birth_of, content, evidence, trajectory, use, verdict, version_of

SKILL = Skill(id="s_1", kind=content().kind, name="n", scope=trajectory().task.scope, created_at=at())
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "value",
    [
        trajectory(session="s"),
        laws.episode_of(trajectory(), SUCCESS, at=at()),
        SKILL,
        version_of(SKILL, content()),
        birth_of(version_of(SKILL, content()), "trial"),  # type: ignore[arg-type]
        verdict(similarity=0.5),
        use("v_1", held_back=True),
        evidence("v_1", adherence=0.25, cost_usd=1.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_record_reads_back_equal(value: Any) -> None:
    assert unpack(pack(value), type(value)) == value


@given(st.text(st.characters()), st.dictionaries(st.text(), anything, max_size=3))
def test_any_text_and_any_arguments_read_back_under_the_same_id(text: str, arguments: dict[str, Any]) -> None:
    whole = Trajectory(task=Task(text=text), steps=(Step(index=0, role=Role.AGENT, text=text, arguments=arguments),))
    again = unpack(pack(whole), Trajectory)
    assert again.content_id() == whole.id == again.id
    assert again.task.text == text


def test_a_whole_number_in_a_fraction_field_is_kept_as_the_fraction() -> None:
    assert unpack(pack(evidence("v_1", adherence=1)), Evidence).adherence == 1.0


def test_what_has_no_form_is_a_mistake() -> None:
    for broken in (Step(index=0, role=Role.AGENT, exit_code=1.5), Step(index="0", role=Role.USER)):  # type: ignore[arg-type]
        with raises(Mistake, "not_storable"):
            pack(broken)
    with raises(Mistake, "not_storable"):
        pack(Step(index=0, role=Role.AGENT, arguments={"x": object()}))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"skill_id": 1}', b"\xff\xfe", b"[" * 100_000])
def test_bytes_that_are_no_record_are_unreadable(data: bytes) -> None:
    for kind in (SkillVersion, Episode):
        with pytest.raises(UnreadableRecord):
            unpack(data, kind)


def test_stamps_sort_as_times_do() -> None:
    times = [at(minute / 7) for minute in range(-50, 50)]
    assert sorted(times) == [time for _, time in sorted((stamp(time), time) for time in times)]


@given(st.text(st.characters()))
def test_a_clean_text_can_always_be_encoded(text: str) -> None:
    assert clean(text).encode().decode() == clean(text)


values = st.one_of(st.none(), st.integers(), st.text(), st.binary(), st.floats(allow_nan=False))


@given(st.lists(values, max_size=4), st.lists(values, max_size=4))
def test_different_rows_have_different_seals(one: list[object], other: list[object]) -> None:
    same = [(type(value), value) for value in one] == [(type(value), value) for value in other]
    assert (seal_of("t", one) == seal_of("t", other)) is (same and repr(one) == repr(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["1"], [1]),
        ([b"a"], ["a"]),
        ([None], ["None"]),
        ([0], [False]),
        ([1], [1.0]),
        (["a"], ["a", ""]),
    ],
)
def test_look_alikes_are_distinguished(one: list[object], other: list[object]) -> None:
    assert seal_of("t", one) != seal_of("t", other)


def test_the_table_is_part_of_the_seal() -> None:
    assert seal_of("uses", [1]) != seal_of("evidence", [1])


def test_a_known_row_keeps_the_seal_under_which_it_is_stored() -> None:
    """If this changes, every row of every store is damaged: write a migration, do not change the literal."""
    row = ["\u00e4\ud800", b"\x00b", 7, None, 0.5]
    assert seal_of("uses", row) == "cc23c754ac2f0a60a0c2c650b9be3cdb1ce02f6ec2a325ac9774a82f2d5def16"


def test_a_text_that_no_file_can_hold_still_has_a_seal_of_its_own() -> None:
    assert len({seal_of("t", [text]) for text in ("\ud800", "\ud801", "?", "\ufffd")}) == 4
