"""An approval is bound to all that was before the person's eyes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.domain.candidate import Finding
from tacit.domain.skill import Capabilities
from tacit.domain.trajectory import Origin
from tacit.domain.trust import Approval, ExternalValue, ResourceKind
from tests.unit.making import NOW, later

APPROVAL = Approval(version_id="v_1", content_hash="h", by="ann", at=NOW)
SEEN = {
    "policy_hash": "p",
    "origins": {"body": Origin.EXTERNAL},
    "findings": (Finding(rule="secret", message="a secret"),),
    "needs": Capabilities(hosts=("example.org",)),
    "ticked": ("host:example.org",),
    "checks": ("prose 1",),
}


@pytest.mark.parametrize(("part", "value"), SEEN.items())
def test_another_sight_is_another_approval(part, value):
    other = replace(APPROVAL, **{part: value}, id="")
    assert other.sight != APPROVAL.sight
    assert other.id != APPROVAL.id


@pytest.mark.parametrize(
    ("part", "value"), [("version_id", "v_2"), ("content_hash", "i"), ("by", "bob"), ("at", later(1))]
)
def test_another_version_person_or_moment_is_another_approval_of_the_same_sight(part, value):
    other = replace(APPROVAL, **{part: value}, id="")
    assert other.sight == APPROVAL.sight
    assert other.id != APPROVAL.id


def test_an_approval_that_is_read_back_keeps_its_id():
    assert replace(APPROVAL, policy_hash="p").id == APPROVAL.id
    assert replace(APPROVAL, id="a_1").id == "a_1"


def test_a_tick_names_the_kind_and_the_very_text():
    assert ExternalValue(kind=ResourceKind.HOST, value="example.org", field="body").key == "host:example.org"
