"""Lines of the card files become entries, and entries the same lines: every sort, whatever shape a line has."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import Mistake
from tacit.features.cards.card import (
    Backport,
    Card,
    CardEvent,
    CardStatus,
    Recommendation,
    RecommendationStatus,
    Signal,
    SignalKind,
)
from tacit.features.cards.card_records import FILES, entry_of, line_of, meaning, renewed
from tests.unit.making import NOW, later

CARD = {
    "id": "aha_0123456789ab",
    "ts": "2025-12-26T18:22:10Z",
    "title": "Le curseur d'abord – 光标",
    "when_to_use": "The search answers 429",
    "problem": "Pages are skipped",
    "solution_steps": ["Read `next_cursor`", "Wait"],
    "evidence": ["docs/api.md", "command: jq ."],
    "primary_skill": "api-client",
    "scope": "portable",
    "shareable": True,
    "tags": ["http", "skill:api-client"],
    "status": "accepted",
    "input_shape": {"page": "int"},
    "output_shape": {"items": ["object"]},
    "gotchas": ["cursors expire"],
    "links": ["docs/paging.md"],
    "last_touched_ts": "2025-12-27T08:00:00Z",
    "note": "seen twice",
    "key": "cursor-first",
    "team": {"name": "ann", "size": 3},
}
RECOMMENDATION = {
    "id": "rec_0123456789ab",
    "ts": "2025-12-26T18:22:10Z",
    "title": "Add a cursor loop",
    "why": "Everybody writes one",
    "expected_impact": {"speed": "high", "quality": "medium"},
    "implementation_hint": "In client.py",
    "primary_skill": "api-client",
    "scope": "project",
    "shareable": False,
    "status": "in_progress",
    "last_touched_ts": "2025-12-26T18:22:10Z",
    "note": "half done",
    "tags": ["docs"],
    "backport": {"type": "reference-file", "files": [{"path": "references/x.md", "content": "# X\n"}]},
    "estimate_days": 1.5,
}
EVENT = {
    "id": "evt_0123456789ab",
    "ts": "2025-12-26T18:22:10Z",
    "task_summary": "Fix paging",
    "primary_skill": "api-client",
    "notes": ["used jq"],
    "duration_s": 12,
}
SIGNAL = {
    "id": "sig_0123456789ab",
    "kind": "aha_used",
    "aha_id": "aha_0123456789ab",
    "ts": "2025-12-26T18:22:10Z",
    "source": "manual",
    "context": "event_id=evt_0123456789ab",
    "host": "ci",
}
BACKPORT = {
    "backport_id": "slbp_20251226T182210Z_4f2c9c",
    "ts": "2025-12-26T18:22:10Z",
    "target_skill": "api-client",
    "target_skill_path": "skills/api-client",
    "requested_card_ids": ["aha_0123456789ab"],
    "added_card_ids": ["aha_0123456789ab"],
    "result_card_ids": ["aha_0123456789ab", "aha_ffffffffffff"],
    "applied": True,
    "diff_written": False,
    "bundle_dir": "exports/backports/api-client_slbp_20251226T182210Z_4f2c9c",
    "manifest_path": "exports/backports/api-client_slbp_20251226T182210Z_4f2c9c/BACKPORT_MANIFEST.json",
    "skill_change": "appended_block",
}
WHOLE: list[tuple[type[Any], dict[str, Any]]] = [
    (Card, CARD), (Recommendation, RECOMMENDATION), (CardEvent, EVENT), (Signal, SIGNAL), (Backport, BACKPORT),
]  # fmt: skip


def read(sort: type[Any], line: dict[str, Any]) -> Any:
    return entry_of(sort, line, by="ann", at=NOW)


@pytest.mark.parametrize(("sort", "line"), WHOLE, ids=[sort.__name__ for sort, _ in WHOLE])
def test_a_whole_line_of_every_sort_comes_out_as_it_came_in(sort: type[Any], line: dict[str, Any]) -> None:
    assert line_of(read(sort, line)) == line


def test_every_sort_has_a_file() -> None:
    assert {sort for sort, _ in WHOLE} == set(FILES)


def test_a_field_that_nobody_knows_is_kept_beside_the_others() -> None:
    assert read(Card, CARD).extra == {"team": {"name": "ann", "size": 3}}


def test_the_time_of_a_line_is_the_time_of_its_entry() -> None:
    assert read(Card, CARD).at == datetime(2025, 12, 26, 18, 22, 10, tzinfo=UTC)
    assert read(Card, {**CARD, "ts": "2025-12-26 18:22:10"}).at == datetime(2025, 12, 26, 18, 22, 10, tzinfo=UTC)
    assert read(Card, {**CARD, "ts": "yesterday"}).at == NOW


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("implemented", "done"), ("complete", "done"), ("completed", "done"), ("in-progress", "in_progress"),
        ("inprogress", "in_progress"), ("someday", "proposed"), ("", "proposed"), (None, "proposed"), ("done", "done"),
    ],
)  # fmt: skip
def test_older_words_for_a_status_are_understood_and_stay_until_somebody_repairs_them(said: Any, meant: str) -> None:
    found = read(Recommendation, {**RECOMMENDATION, "status": said})
    assert found.status is RecommendationStatus(meant)
    assert line_of(found)["status"] == (said or meant)
    assert line_of(renewed(found, at=NOW, status=found.status))["status"] == meant


def test_an_unknown_status_of_a_card_means_proposed() -> None:
    assert read(Card, {**CARD, "status": "golden"}).status is CardStatus.PROPOSED
    assert read(Card, {**CARD, "scope": "galaxy"}).scope == "project"


def test_what_nobody_said_may_be_shared_is_not_shared() -> None:
    silent = {name: value for name, value in CARD.items() if name != "shareable"}
    assert not read(Card, silent).shareable
    assert not read(Card, {**CARD, "shareable": "false"}).shareable
    assert read(Card, {**CARD, "shareable": "true"}).shareable


def test_a_card_without_a_skill_stays_without_one_so_that_repair_can_find_it() -> None:
    silent = {name: value for name, value in CARD.items() if name != "primary_skill"}
    assert line_of(read(Card, silent))["primary_skill"] == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", 17),
        ("solution_steps", [{"do": "x"}]),
        ("input_shape", ["page"]),
        ("tags", {"a": 1}),
        ("ts", 1766773330),
    ],
)
def test_a_field_of_another_shape_is_not_lost(name: str, value: Any) -> None:
    found = read(Card, {**CARD, name: value})
    assert line_of(found)[name] == value
    assert line_of(entry_of(Card, line_of(found), by="ann", at=NOW)) == line_of(found)


def test_what_did_not_fit_goes_when_its_field_is_written_anew() -> None:
    odd = read(Card, {**CARD, "solution_steps": [{"do": "x"}]})
    recovered = renewed(odd, at=later(1), solution_steps=("Do x",))
    assert line_of(recovered)["solution_steps"] == ["Do x"]
    assert line_of(recovered)["ts"] == "2026-03-01T13:00:00Z"
    assert recovered.id != odd.id


def test_one_text_where_a_list_belongs_is_a_list_of_one() -> None:
    assert read(Card, {**CARD, "solution_steps": "Wait"}).solution_steps == ("Wait",)


def test_a_line_without_an_id_gets_the_id_that_the_original_would_give_it() -> None:
    silent = {name: value for name, value in CARD.items() if name != "id"}
    again = line_of(read(Card, silent))
    assert again["id"].startswith("aha_")
    assert read(Card, silent).key == read(Card, again).key


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "aha_used"},
        {"kind": "aha_loved", "aha_id": "aha_1"},
        {"kind": "aha_used", "aha_id": "aha_1", "rec_id": "rec_1"},
        {"kind": "rec_used", "aha_id": "aha_1"},
        {"kind": ["aha_used"], "aha_id": "aha_1"},
    ],
)
def test_a_signal_that_tells_nothing_is_a_mistake(line: dict[str, Any]) -> None:
    with pytest.raises(Mistake):
        read(Signal, line)


def test_a_signal_knows_which_sort_of_thing_it_speaks_of() -> None:
    found = read(Signal, {"kind": "rec_done", "rec_id": "rec_1", "ts": "2025-12-26T18:22:10Z"})
    assert (found.kind, found.target) == (SignalKind.REC_DONE, "rec_1")
    assert "aha_id" not in line_of(found)


@pytest.mark.parametrize(
    "said",
    [
        "1.2.3", "docs.python.org", "pkg.mod.func", "123e4567-e89b-42d3-a456-426614174000",
        "aha_123e4567-e89b-42d3-a456-426614174000", "/srv/data/exports/2025/12/26/orders/part-0001/rows.parquet",
        "aha_0123456789ab",
    ],
)  # fmt: skip
def test_redaction_leaves_versions_names_ids_and_paths_alone(said: str) -> None:
    found = read(Card, {**CARD, "evidence": [said], "links": [f"see {said} for more"]})
    assert found.evidence == (said,)
    assert found.links == (f"see {said} for more",)


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("export OPENAI_API_KEY=sk-proj-Zx81kfLq02mNvB7yTgHsWc45RtPd", "sk-proj-Zx81kfLq02mNvB7yTgHsWc45RtPd"),
        ("send Authorization: Bearer q8Zk2LxV7pTn4RwYb1Hc9Js5 with it", "q8Zk2LxV7pTn4RwYb1Hc9Js5"),
        ("the key AKIAQ7XWJ2NPL5VZTRKM was in the log", "AKIAQ7XWJ2NPL5VZTRKM"),
    ],
)
def test_redaction_takes_credentials_out_of_sentences(said: str, secret: str) -> None:
    found = json.dumps(line_of(read(Card, {**CARD, "evidence": [said], "problem": said, "memo": {"deep": [said]}})))
    assert secret not in found


def test_redaction_goes_by_what_a_key_means_not_by_a_part_of_its_name() -> None:
    shape = {"token_count": 12, "tokens": "many", "secretary": "ann", "password": "hunter2-Zq81xy"}
    found = read(Card, {**CARD, "input_shape": shape}).input_shape
    assert (found["token_count"], found["tokens"], found["secretary"]) == (12, "many", "ann")
    assert "hunter2" not in found["password"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(sorted({*CARD, *RECOMMENDATION, *EVENT, *BACKPORT})) | st.text(max_size=8)


@given(sort=st.sampled_from([Card, Recommendation, CardEvent]), line=st.dictionaries(NAMES, JSON, max_size=8))
def test_any_object_is_read_and_what_it_means_does_not_change_on_the_way_back(
    sort: type[Any], line: dict[str, Any]
) -> None:
    once = entry_of(sort, line, by="ann", at=NOW)
    again = entry_of(sort, json.loads(json.dumps(line_of(once))), by="ann", at=NOW)
    assert line_of(again) == line_of(once)
    assert meaning(again) == meaning(once)


@given(
    kind=st.sampled_from(sorted(SignalKind)), target=st.text(min_size=1), more=st.dictionaries(NAMES, JSON, max_size=4)
)
def test_any_signal_with_a_target_means_the_same_on_the_way_back(kind: str, target: str, more: dict[str, Any]) -> None:
    line = {**more, "kind": kind, "aha_id" if kind.startswith("aha") else "rec_id": target}
    once = read(Signal, line)
    assert line_of(read(Signal, line_of(once))) == line_of(once)
    assert once.target == target
