"""What every store promises about trust: approvals are bound to one content, and what was purged stays away."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.archive import Descent, Source, SourceKind, Tombstone
from tacit.domain.candidate import Finding
from tacit.domain.errors import GateRefusal, Mistake, NotFound, StaleVersion
from tacit.domain.evidence import Use
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, Skill, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Trajectory
from tacit.features.cards.card import Card
from tacit.store import Store, open_store
from tests.raising import raises
from tests.unit.store.samples import (
    SPACE,
    SUCCESS,
    approval,
    at,
    birth_of,
    card,
    content,
    evidence,
    fill,
    outline,
    passages,
    put_version,
    remark,
    rendering,
    session_note,
    step_to,
    trajectory,
    use,
    vector,
    verdict,
)

MARKER = "zxq7marker"


def test_approvals_of_a_version_read_back_oldest_first(store: Store) -> None:
    stored, other = put_version(store), put_version(store, "other")
    first, second = approval(stored), approval(stored, minutes=2, by="ben", findings=())
    store.add(first)
    store.add(approval(other))
    store.add(second)
    assert store.approvals(stored.version.id) == [first, second]
    assert list(store.verify()) == []


def test_an_approval_is_kept_once_and_leaves_one_link(store: Store) -> None:
    stored = put_version(store)
    before = len(store.history())
    store.add(approval(stored))
    store.add(approval(stored))
    assert len(store.approvals(stored.version.id)) == 1
    link = store.history()[-1]
    assert (len(store.history()), link.action, link.actor) == (before + 1, "approval", "ana")
    assert link.subject == stored.version.id


def test_an_approval_of_another_content_is_stale(store: Store) -> None:
    stored = put_version(store)
    with raises(StaleVersion, "stale_content"):
        store.add(approval(stored, content_hash="sha256:0"))
    assert store.approvals(stored.version.id) == []


def test_an_approval_of_an_unknown_version_is_not_found(store: Store) -> None:
    stored = put_version(store)
    with raises(NotFound, "not_found"):
        store.add(replace(approval(stored), version_id="v_none"))
    with raises(NotFound, "not_found"):
        store.approvals("v_none")


def test_another_approval_under_a_taken_id_is_refused(store: Store) -> None:
    stored = put_version(store)
    store.add(approval(stored, id="a_1"))
    with raises(Mistake, "id_taken"):
        store.add(approval(stored, id="a_1", findings=(Finding(rule="x", message="y"),)))
    assert store.approvals(stored.version.id) == [approval(stored, id="a_1")]


def test_a_time_without_zone_is_refused_in_an_approval(store: Store) -> None:
    stored = put_version(store)
    with raises(Mistake, "no_time_zone"):
        store.add(replace(approval(stored), at=at().replace(tzinfo=None)))


def test_a_backup_holds_the_approvals(store: Store, tmp_path: Path) -> None:
    stored = fill(store)
    store.backup(tmp_path / "copy.db")
    copy = open_store(tmp_path / "copy.db")
    assert copy.approvals(stored.version.id) == store.approvals(stored.version.id) != []
    copy.close()


# --- purging --------------------------------------------------------------------------------------------------------


def of(kind: SourceKind, value: str) -> Source:
    return Source(kind=kind, value=value)


def learned(store: Store, name: str, *trajectories: Trajectory, **more: Any) -> StoredVersion:
    """A version learned from attempts, which are marked as learned from."""
    parents, by = more.pop("parents", ()), more.pop("by", "tacit")
    status, made_by, source = (
        more.pop("status", Status.TRIAL),
        more.pop("made_by", "tacit.miner"),
        more.pop("source", ""),
    )
    what = content(name, **more)
    skill = Skill.create(what, Scope(), at=at())
    ids = tuple(each.id for each in trajectories)
    version = SkillVersion(
        skill_id=skill.id, content=what, origins={"name": Origin.AGENT}, created_at=at(), parents=parents,
        provenance=Provenance(trajectory_ids=ids, made_by=made_by, source=source),
    )  # fmt: skip
    assert store.add_version(skill, version, replace(birth_of(version, status), by=by, id=""))
    for each in trajectories:
        store.mark_learned(each.id, at=at(1))
    return store.version(version.id)


def captured(store: Store, task: str, *, session: str = "", **more: Any) -> Trajectory:
    made = trajectory(task, session=session, **more)
    store.add_trajectory(made, SUCCESS, at=at())
    return made


def purge(store: Store, *sources: Source) -> Descent:
    descent = store.descent(*sources)
    store.purge(descent, by="ana", at=at(60), reason="a test")
    return descent


def purge_and_fail(store: Store, source: Source) -> None:
    with store.transaction():
        purge(store, source)
        raise ZeroDivisionError


def test_purging_a_session_takes_everything_that_came_from_it(store: Store) -> None:
    bad, good = captured(store, "poisoned words", session="bad"), captured(store, "clean words", session="good")
    gone, stays = learned(store, "poisoned", bad), learned(store, "clean", good)
    store.add(verdict(version_id=gone.version.id, trajectory_ids=(bad.id,), name="poisoned"))
    store.add(approval(gone))
    store.add(use(gone.version.id, id="u_gone"))
    store.add(evidence(gone.version.id))
    store.add(remark(gone.version.id))
    store.renderings.put(rendering(gone.version.id))
    store.vectors.put(gone.version.id, [vector(1, 0, 0)], space=SPACE)
    store.vectors.put(stays.version.id, [vector(0, 1, 0)], space=SPACE)
    store.outlines.put(outline(bad.id))
    store.add(card(session_id="bad"))
    store.passages.put(gone.version.id, passages("poisoned passage"))
    store.notes.put(session_note(session="bad"))
    store.notes.put(session_note(session="good"))
    descent = purge(store, of(SourceKind.SESSION, "bad"))
    assert descent.counts == {
        "trajectories": 1, "skills": 1, "versions": 1, "approvals": 1, "verdicts": 1, "uses": 1, "evidence": 1,
        "remarks": 1, "entries": 1, "jottings": 1,
    }  # fmt: skip
    for missing in (
        lambda: store.trajectory(bad.id),
        lambda: store.episode(bad.id),
        lambda: store.version(gone.version.id),
        lambda: store.versions(gone.skill.id),
        lambda: store.approvals(gone.version.id),
        lambda: store.use("u_gone"),
    ):
        with pytest.raises(NotFound):
            missing()
    assert [s.version.id for s in store.catalogue()] == [stays.version.id]
    assert store.verdicts() == []
    assert store.outlines.all() == []
    assert store.search(["poisoned"], statuses=frozenset(Status)) == [] == store.search_episodes("poisoned")
    assert [hit.stored.version.id for hit in store.search(["clean"], statuses=frozenset(Status))] == [stays.version.id]
    assert [hit.stored.version.id for hit in store.vectors.nearest(vector(1, 1, 0), space=SPACE)] == [stays.version.id]
    assert store.document_frequency(["poisoned", "clean"]) == ({"poisoned": 0, "clean": 1}, 1)
    assert not any((store.entries(Card), store.passages.search(["poisoned"]), store.notes.list("bad", at=at())))
    assert store.notes.list("good", at=at()) == [session_note(session="good")]
    assert list(store.verify()) == []


def test_a_purge_is_reported_by_the_chain_and_by_who_did_it(store: Store) -> None:
    bad = captured(store, "bad", session="s")
    gone = learned(store, "gone", bad)
    before = len(store.history())
    purge(store, of(SourceKind.TRAJECTORY, bad.id))
    reported = [(entry.actor, entry.action, entry.subject) for entry in store.history()[before:]]
    assert ("ana", "purge", bad.id) in reported
    assert ("ana", "purge", gone.version.id) in reported
    assert ("ana", "tombstone", gone.version.hash) in reported
    assert store.history(gone.version.id)[-1].action in ("purge", "tombstone")


def test_what_was_purged_does_not_come_back(store: Store) -> None:
    bad = captured(store, "bad", session="s")
    gone = learned(store, "gone", bad)
    purge(store, of(SourceKind.SESSION, "s"))
    assert len(store.tombstones(bad.id, gone.version.id, gone.version.hash)) == 3
    assert not store.tombstones("t_other")
    with raises(GateRefusal, "purged"):
        store.add_trajectory(bad, SUCCESS, at=at())
    with raises(GateRefusal, "purged"):  # another text of the same session
        captured(store, "bad, reported otherwise", session="s")
    with raises(GateRefusal, "purged"):  # what its subagents did
        captured(store, "part", session="child", parent_session_id="s")
    with raises(GateRefusal, "purged"):
        learned(store, "gone", source="elsewhere/SKILL.md")
    assert store.catalogue() == [] == store.episodes()
    assert list(store.verify()) == []


def test_attempts_left_over_wait_to_be_learned_from_again_and_may_give_the_same(store: Store) -> None:
    bad, good = captured(store, "bad", session="bad"), captured(store, "good", session="good")
    both = learned(store, "shared", bad, good)
    descent = purge(store, of(SourceKind.SESSION, "bad"))
    assert descent.relearned == (good.id,)
    assert [episode.id for episode in store.episodes(unlearned=True)] == [good.id]
    with pytest.raises(GateRefusal):
        learned(store, "shared", source="imported")
    with pytest.raises(GateRefusal):
        learned(store, "shared")
    again = learned(store, "shared", good)
    assert (again.version.id, again.version.provenance.trajectory_ids) == (both.version.id, (good.id,))
    assert list(store.verify()) == []


def test_descendants_of_versions_go_along_and_other_skills_stay(store: Store) -> None:
    bad, good = captured(store, "bad", session="bad"), captured(store, "good", session="good")
    parent = learned(store, "parent", bad)
    child = learned(store, "child", good, parents=(parent.version.id,))
    other = learned(store, "other", captured(store, "third"))
    descent = purge(store, of(SourceKind.TRAJECTORY, bad.id))
    assert descent.versions == (parent.version.id, child.version.id)
    assert [stored.version.id for stored in store.catalogue()] == [other.version.id]


def test_all_captures_of_an_attempt_and_its_subagents_go(store: Store) -> None:
    short, long = captured(store, "task", steps=2, session="s"), captured(store, "task", steps=4, session="s")
    part = captured(store, "part", session="child", parent_session_id="s")
    other = captured(store, "other", session="o")
    assert store.descent(of(SourceKind.TRAJECTORY, short.id)).trajectories == (short.id, long.id)
    assert purge(store, of(SourceKind.SESSION, "s")).trajectories == (short.id, long.id, part.id)
    assert [episode.id for episode in store.episodes()] == [other.id]


def test_an_import_is_purged_by_its_path_or_by_its_hash(store: Store) -> None:
    one = learned(store, "one", source="skills/one/SKILL.md", made_by="ana")
    two = learned(store, "two", source="skills/two/SKILL.md", made_by="ana")
    read = captured(store, "read from a log", source="logs/a.jsonl")
    assert purge(store, of(SourceKind.IMPORTED, "skills/one/SKILL.md")).versions == (one.version.id,)
    assert purge(store, of(SourceKind.IMPORTED, two.version.hash[7:27])).versions == (two.version.id,)
    assert store.descent(of(SourceKind.IMPORTED, two.version.hash[7:12])).is_empty  # too short to mean one content
    assert purge(store, of(SourceKind.IMPORTED, "logs/a.jsonl")).trajectories == (read.id,)
    assert list(store.verify()) == []


def test_what_lies_below_a_folder_or_in_an_archive_goes_with_it(store: Store) -> None:
    one = learned(store, "one", source="../sk/one", made_by="ana")
    two = learned(store, "two", source="/w/good.skill/two", made_by="ana")
    read = captured(store, "read from a log", source="logs/a.jsonl")
    learned(store, "three", source="mcp", made_by="agent")
    whole = Source(kind=SourceKind.IMPORTED, value="/w", root="/w/project")
    descent = store.descent(whole)
    assert (descent.versions, descent.trajectories) == ((one.version.id, two.version.id), (read.id,))
    archive = replace(whole, value="/w/good.skill")
    assert purge(store, archive).versions == (two.version.id,)
    assert purge(store, replace(whole, value="/w/sk/one/SKILL.md")).versions == (one.version.id,)


def test_the_reason_of_a_purge_is_kept_on_every_stone(store: Store) -> None:
    bad = captured(store, "bad", session="bad")
    learned(store, "gone", bad)
    store.purge(store.descent(of(SourceKind.SESSION, "bad")), by="ana", at=at(5), reason="a planted host")
    assert {(stone.reason, stone.at) for stone in store.tombstones()} == {("a planted host", at(5))}
    assert {entry.at for entry in store.history() if entry.action in ("purge", "tombstone")} == {at(5)}


def test_a_purge_that_buries_nothing_keeps_its_reason_all_the_same(store: Store) -> None:
    vouched = learned(store, "vouched", captured(store, "x"), status=Status.CANDIDATE)
    store.add(approval(vouched, by="mallory"))
    store.purge(store.descent(of(SourceKind.PRINCIPAL, "mallory")), by="ana", at=at(5), reason="a stolen laptop")
    assert [(stone.reason, stone.at) for stone in store.tombstones()] == [("a stolen laptop", at(5))]
    assert list(store.verify()) == []


def test_a_name_takes_along_what_it_made_and_what_it_vouched_for(store: Store) -> None:
    made = learned(store, "made", made_by="mallory", by="mallory")
    vouched = learned(store, "vouched", captured(store, "x"), status=Status.CANDIDATE)
    store.add(approval(vouched, by="mallory"))
    store.add_transition(step_to(vouched, Status.TRIAL, by="mallory"))
    twice = learned(store, "twice", captured(store, "y"), status=Status.CANDIDATE)
    store.add(approval(twice, by="mallory"))
    store.add(approval(twice, by="ben", minutes=1))
    store.add_transition(step_to(twice, Status.TRIAL, by="ben"))
    store.add(evidence(vouched.version.id, by="mallory"))
    store.renderings.put(rendering(vouched.version.id))
    asked = captured(store, "asked by mallory")
    whole = replace(asked, task=replace(asked.task, by="mallory"), id="")
    store.add_trajectory(whole, SUCCESS, at=at())
    descent = purge(store, of(SourceKind.PRINCIPAL, "mallory"))
    assert (descent.versions, descent.trajectories) == ((made.version.id,), (whole.id,))
    assert descent.demoted == (vouched.version.id,)
    assert store.version(vouched.version.id).status is Status.CANDIDATE
    assert store.renderings.get([vouched.version.id]).get(vouched.version.id) is None
    assert store.version(twice.version.id).status is Status.TRIAL
    assert [each.by for each in store.approvals(twice.version.id)] == ["ben"]
    assert store.evidence([vouched.version.id]) == {vouched.version.id: []}
    assert list(store.verify()) == []


def test_a_run_that_was_shown_it_is_no_evidence_and_its_session_is_named(store: Store) -> None:
    gone = learned(store, "gone", captured(store, "bad", session="bad"))
    stays = learned(store, "stays", captured(store, "good", session="good"))
    later = captured(store, "later", session="later")
    shown = Use(version_ids=(gone.version.id, stays.version.id), task="t", at=at(), session_id="later")
    store.add(shown)
    store.add(evidence(stays.version.id, use_id=shown.id))
    store.add(evidence(stays.version.id, minutes=1))
    descent = purge(store, of(SourceKind.SESSION, "bad"))
    assert descent.exposed == (later.id,)
    assert store.evidence([stays.version.id]) == {stays.version.id: [evidence(stays.version.id, minutes=1)]}
    assert store.trajectory(later.id) == later


def test_what_policy_admitted_on_purged_evidence_waits_again(store: Store) -> None:
    first, second = captured(store, "one", session="1"), captured(store, "two", session="2")
    admitted = learned(store, "admitted", first)
    store.add(evidence(admitted.version.id, trajectory_id=second.id))
    assert purge(store, of(SourceKind.SESSION, "2")).demoted == (admitted.version.id,)
    assert store.version(admitted.version.id).status is Status.CANDIDATE


def test_a_source_that_nothing_came_from_changes_nothing(store: Store) -> None:
    fill(store)
    before = store.history()
    for kind in SourceKind:
        assert store.descent(of(kind, "")).is_empty
        assert store.descent(of(kind, "nobody")).is_empty
    assert store.history() == before


def test_a_purge_stands_or_falls_with_its_transaction(store: Store) -> None:
    bad = captured(store, "bad", session="s")
    gone = learned(store, "gone", bad)
    with pytest.raises(ZeroDivisionError):
        purge_and_fail(store, of(SourceKind.SESSION, "s"))
    assert store.version(gone.version.id) == gone
    assert store.trajectory(bad.id) == bad
    assert not store.tombstones(bad.id)
    assert list(store.verify()) == []


def test_a_composite_is_rendered_again_when_a_part_comes_goes_or_is_purged(store: Store) -> None:
    part = learned(store, "restart-modem", captured(store, "x", session="bad"))
    other = learned(store, "check-cable", captured(store, "y"))
    whole = learned(store, "repair-line", captured(store, "z"), sub_skills=("check-cable", "restart-modem"))

    def render_all() -> None:
        for stored in store.catalogue(statuses=RECALLABLE):
            store.renderings.put(rendering(stored.version.id))

    render_all()
    store.add_transition(step_to(part, Status.TRUSTED))  # it says the same
    assert store.renderings.missing() == [part.version.id]
    retired = replace(step_to(part, Status.RETIRED), before=Status.TRUSTED)
    store.add_transition(retired)
    assert store.renderings.missing() == [whole.version.id]
    render_all()
    store.add_transition(replace(step_to(part, Status.TRIAL), before=Status.RETIRED))
    assert store.renderings.missing() == [part.version.id, whole.version.id]
    render_all()
    purge(store, of(SourceKind.SESSION, "bad"))
    assert store.renderings.missing() == [whole.version.id]
    assert store.renderings.get([other.version.id]).get(other.version.id) is not None
    render_all()
    learned(store, "restart-modem", captured(store, "again"), description="another one")
    assert whole.version.id in store.renderings.missing()


def test_tombstones_of_another_store_are_taken_over(store: Store) -> None:
    bad = trajectory("bad")
    store.add(Tombstone(id=bad.id, by="ana", at=at()))
    store.add(Tombstone(id=bad.id, by="ben", at=at(1)))
    assert [stone.by for stone in store.tombstones()] == ["ana"]
    with pytest.raises(GateRefusal):
        store.add_trajectory(bad, SUCCESS, at=at())


# --- backups --------------------------------------------------------------------------------------------------------


def test_a_backup_is_listed_and_its_manifest_tells_what_it_holds(store: Store, tmp_path: Path) -> None:
    fill(store)
    made = store.backup(tmp_path / "copy.db")
    assert store.backups() == [made]
    assert made.sha256 == hashlib.sha256((tmp_path / "copy.db").read_bytes()).hexdigest()
    assert made.counts["approvals"] == 1
    assert made.counts["versions"] == 1
    assert made.sequence == made.counts["audit"] > 0
    assert store.history()[-1].action == "backup"
    manifest = (tmp_path / "copy.db.manifest.json").read_text()
    assert json.loads(manifest)["sha256"] == made.sha256
    assert str(tmp_path) not in manifest
    assert list(store.verify()) == []


def test_a_backup_after_a_purge_holds_nothing_of_it(store: Store, tmp_path: Path) -> None:
    bad = captured(store, f"{MARKER} in a task", session="s")
    learned(store, "gone", bad, description=f"about {MARKER}")
    purge(store, of(SourceKind.SESSION, "s"))
    store.backup(tmp_path / "copy.db")
    assert MARKER.encode() not in (tmp_path / "copy.db").read_bytes()
    copy = open_store(tmp_path / "copy.db")
    with pytest.raises(GateRefusal):
        copy.add_trajectory(bad, SUCCESS, at=at())
    copy.close()
