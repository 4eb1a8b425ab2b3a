"""Bundles: what they hold, by which names and keys, and that nothing in them is a machine's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.features.cards.backport.bundle import (
    APPEND,
    MANIFEST,
    PATCH,
    README,
    bundle_name,
    make_bundle,
    make_manifest,
)
from tacit.features.cards.backport.edit_plan import BackportStamp, EditPlan, KnowledgePiece, plan_edits
from tacit.features.cards.backport.markers import REFERENCE, card_ids, header_meta, read_markers
from tacit.features.cards.backport.targets import Target, TargetKind, fingerprint

STAMP = BackportStamp(backport_id="slbp_20260102T030405Z_0a1b2c", generated_at="2026-01-02T03:04:05Z")
SKILL = Target(
    kind=TargetKind.SKILL, name="deploy", path="a/deploy", main="a/deploy/SKILL.md", reference=f"a/deploy/{REFERENCE}"
)
AGENTS = Target(kind=TargetKind.INSTRUCTIONS, name="AGENTS.md", path="AGENTS.md", main="AGENTS.md")
ONE = KnowledgePiece(id="aha_one", title="One", steps=("Do it",))
WORKFLOW_KEYS = {
    "backport_id", "generated_at", "target_skill_name", "target_skill_path", "requested_card_ids", "existing_card_ids",
    "added_card_ids", "result_card_ids", "changes",
}  # fmt: skip


def _planned(target: Target, **held: bytes) -> EditPlan:
    files = dict.fromkeys(target.files) | {target.main: held.get("main", b"# D\n")}
    return plan_edits(target, files, [ONE], stamp=STAMP)


def _manifest(target: Target, planned: EditPlan) -> dict[str, Any]:
    files = make_bundle(target, planned, ["aha_one"], stamp=STAMP, with_patch=False)
    found: dict[str, Any] = json.loads(files[MANIFEST])
    return found


@pytest.mark.parametrize("with_patch", [True, False])
@pytest.mark.parametrize("target", [SKILL, AGENTS])
def test_a_bundle_holds_the_files_of_the_workflow(target: Target, with_patch: bool) -> None:
    files = make_bundle(target, _planned(target), ["aha_one"], stamp=STAMP, with_patch=with_patch)
    assert set(files) == {REFERENCE, APPEND, MANIFEST, README} | ({PATCH} if with_patch else set())
    assert card_ids(files[REFERENCE].decode()) == ["aha_one"]
    assert header_meta(files[REFERENCE].decode())["backport_id"] == STAMP.backport_id
    assert read_markers(files[APPEND].decode()).backport_ids == (STAMP.backport_id,)
    assert (b"git apply" in files[README]) is with_patch


def test_a_manifest_has_the_keys_of_the_workflow_and_what_each_file_becomes() -> None:
    planned = _planned(SKILL)
    manifest = _manifest(SKILL, planned)
    assert set(manifest) >= WORKFLOW_KEYS
    main, reference = manifest["changes"]
    assert (main["path"], main["kind"]) == ("SKILL.md", "append_or_update_marker_id")
    assert main["markers"]["start"].endswith(f"id={STAMP.backport_id} -->")
    assert (reference["path"], reference["kind"]) == (REFERENCE, "create_or_update")
    assert reference["sha256"] == {"before": "", "after": fingerprint(planned.changes[0].after)}


def test_a_manifest_tells_what_was_there_and_what_is_new() -> None:
    done = {change.path: change.after for change in _planned(SKILL).changes}
    two = KnowledgePiece(id="aha_two", title="Two")
    planned = plan_edits(SKILL, done, [ONE, two], stamp=STAMP)
    manifest = make_manifest(SKILL, planned, ["aha_one", "aha_two"], stamp=STAMP)
    told = {key: manifest[f"{key}_card_ids"] for key in ("requested", "existing", "added", "refreshed", "result")}
    assert told == {
        "requested": ["aha_one", "aha_two"],
        "existing": ["aha_one"],
        "added": ["aha_two"],
        "refreshed": [],
        "result": ["aha_one", "aha_two"],
    }


def test_the_block_of_a_bundle_is_the_block_of_the_target() -> None:
    planned = _planned(AGENTS)
    (change,) = planned.changes
    assert change.after is not None
    assert change.after.endswith(planned.block.encode())
    assert change.after == b"# D\n\n" + planned.block.encode()


def test_a_skill_at_the_root_of_its_repository_is_told_by_plain_paths() -> None:
    root = Target(kind=TargetKind.SKILL, name="repo", path=".", main="SKILL.md", reference=REFERENCE)
    changes: list[dict[str, str]] = _manifest(root, _planned(root))["changes"]
    assert [change["path"] for change in changes] == ["SKILL.md", REFERENCE]


def test_a_name_that_would_act_in_a_readme_does_not() -> None:
    hostile = Target(kind=TargetKind.PAGE, name="x --> <script>.md", path="x --> <script>.md", main="x --> <script>.md")
    readme = make_bundle(hostile, _planned(hostile), ["aha_one"], stamp=STAMP, with_patch=False)[README]
    assert b"<script>" not in readme
    assert b"-->" not in readme


@pytest.mark.parametrize("name", ["deploy", "日本" * 90, "a b"])
def test_the_folder_of_a_bundle_is_a_possible_name(name: str) -> None:
    target = Target(kind=TargetKind.PAGE, name=name, path=name, main=name)
    made = bundle_name(target, STAMP.backport_id)
    assert made.endswith(f"_{STAMP.backport_id}")
    assert len(made.encode()) < 255
    assert name.startswith(made.removesuffix(f"_{STAMP.backport_id}"))
