"""The table of the fields of a skill's content covers the dataclass."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.skill import ENTRY_NAMES, FIELD_ROLES, FieldRole, SkillContent, fields_with, filled_fields, has_role
from tests.unit.making import content


def test_every_field_has_a_row_in_the_order_of_the_fields() -> None:
    assert list(FIELD_ROLES) == [each.name for each in dataclasses.fields(SkillContent)]


def test_every_list_has_a_name_for_its_entries() -> None:
    lists = {each.name for each in dataclasses.fields(SkillContent) if isinstance(getattr(content(), each.name), tuple)}
    assert set(ENTRY_NAMES) == lists


@pytest.mark.parametrize("role", list(FieldRole))
def test_every_role_is_given_to_some_field_and_not_to_all(role: FieldRole) -> None:
    assert 0 < len(fields_with(role)) < len(FIELD_ROLES)


def test_what_mining_determines_is_not_what_it_may_reword() -> None:
    assert set(fields_with(FieldRole.MINED)).isdisjoint(fields_with(FieldRole.DESCRIBES))


def test_a_path_has_the_roles_of_its_field() -> None:
    assert has_role("steps.2.arguments", FieldRole.MINED)
    assert not has_role("license", FieldRole.MINED)
    assert not has_role("unknown.1", FieldRole.SCANNED)


def test_flags_have_no_origin() -> None:
    assert not {"kind", "portable", "shareable"} & filled_fields(content(portable=True)).keys()
