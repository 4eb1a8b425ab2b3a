"""What a store promises: one test per promise of `tacit.store.Store`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.candidate import GateDecision
from tacit.domain.errors import IllegalTransition, Mistake, NotFound, StaleVersion, StoreOutage
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.outline import OUTLINE_VERSION
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Skill, SkillFile, SkillStep
from tacit.domain.trajectory import Claim, Role, Step, Trajectory
from tacit.store import Store, open_store
from tacit.store.lexical_search import version_words
from tacit.text.words import terms
from tests.raising import raises
from tests.unit.store.samples import (
    SUCCESS,
    at,
    birth_of,
    bookmark,
    content,
    evidence,
    fill,
    outline,
    put_version,
    rendering,
    step_to,
    trajectory,
    use,
    verdict,
    version_of,
)  # fmt: skip

ALL = frozenset(Status)


class Boom(Exception):
    """Something that goes wrong in the caller."""


def abandon(store: Store, *writes: Callable[[], object]) -> None:
    """Write in a transaction that then fails."""
    with store.transaction():
        for write in writes:
            write()
        raise Boom


def names(store: Store, query: str, **more: Any) -> list[str]:
    more.setdefault("statuses", ALL)
    return [hit.stored.version.name for hit in store.search(terms(query), **more)]


# --- transactions ---------------------------------------------------------------------------------------------------


def test_a_transaction_keeps_all_of_its_writes(store: Store) -> None:
    with store.transaction():
        stored = put_version(store)
        store.add(evidence(stored.version.id))
    assert store.counts().evidence == {"machine-verified": 1}


def test_an_exception_rolls_back_every_write_of_its_transaction(store: Store) -> None:
    fill(store)
    before = store.counts(), store.history()
    with pytest.raises(Boom):
        abandon(
            store,
            lambda: put_version(store, "other"),
            lambda: store.add_trajectory(trajectory("other"), SUCCESS, at=at()),
        )
    assert (store.counts(), store.history()) == before
    assert names(store, "other") == []


def test_a_nested_transaction_ends_with_the_outer_one(store: Store) -> None:
    def nested() -> None:
        with store.transaction():
            put_version(store)

    with pytest.raises(Boom):
        abandon(store, nested)
    assert store.counts().versions == 0


def test_a_failure_caught_inside_undoes_only_the_nested_part(store: Store) -> None:
    with store.transaction():
        put_version(store, "first")
        with pytest.raises(Boom):
            abandon(store, lambda: put_version(store, "second"))
    assert [stored.version.name for stored in store.catalogue()] == ["first"]


def test_a_refused_write_leaves_nothing_behind_in_its_transaction(store: Store) -> None:
    with store.transaction():
        stored = put_version(store)
        with pytest.raises(IllegalTransition):
            store.add_transition(step_to(stored, Status.REJECTED))
    assert len(store.transitions(stored.version.id)) == 1
    assert list(store.verify()) == []


def test_a_transaction_sees_its_own_writes(store: Store) -> None:
    with store.transaction():
        stored = put_version(store)
        assert store.version(stored.version.id) == stored
        assert names(store, "deploy") == ["deploy-service"]


def test_threads_take_turns(store: Store) -> None:
    stored = put_version(store)

    def write(number: int) -> None:
        for index in range(10):
            store.add(evidence(stored.version.id, note=f"{number}-{index}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.evidence([stored.version.id])[stored.version.id]) == 40
    assert list(store.verify()) == []


# --- trajectories ---------------------------------------------------------------------------------------------------


def test_a_trajectory_reads_back_as_it_was(store: Store) -> None:
    whole = trajectory("löse 问题 \ud800", session="s1", source="log.jsonl", claim=Claim(result="passed", score=1))
    assert store.add_trajectory(whole, SUCCESS, at=at())
    assert store.trajectory(whole.id) == whole


def test_the_same_content_is_kept_once(store: Store) -> None:
    assert store.add_trajectory(trajectory(), SUCCESS, at=at())
    assert not store.add_trajectory(replace(trajectory(), source="elsewhere"), SUCCESS, at=at(1))
    assert len(store.episodes()) == 1


def test_a_trajectory_under_a_false_id_is_refused(store: Store) -> None:
    with raises(Mistake, "id_mismatch"):
        store.add_trajectory(replace(trajectory(), id="t_false"), SUCCESS, at=at())


def test_an_unknown_trajectory_is_not_found(store: Store) -> None:
    for ask in (store.trajectory, store.episode):
        with raises(NotFound, "not_found"):
            ask("t_unknown")
    with raises(NotFound, "not_found"):
        store.mark_learned("t_unknown", at=at())


def test_what_cannot_be_read_back_is_refused_before_it_is_kept(store: Store) -> None:
    broken = trajectory(made=(Step(index=0, role=Role.AGENT, exit_code="zero"),))  # type: ignore[arg-type]
    with raises(Mistake, "not_storable"):
        store.add_trajectory(broken, SUCCESS, at=at())
    assert store.counts().trajectories == 0


def test_an_episode_sums_up_its_trajectory(store: Store) -> None:
    whole = trajectory("fix it", steps=3, session="s1", parent_session_id="s0", project="shop")
    store.add_trajectory(whole, SUCCESS, at=at(9))
    episode = store.episode(whole.id)
    assert [episode] == store.episodes()
    assert (episode.task, episode.project, episode.client) == ("fix it", "shop", "claude-code")
    assert (episode.session_id, episode.parent_session_id, episode.steps) == ("s1", "s0", 3)
    assert (episode.assessment, episode.started_at, episode.captured_at) == (SUCCESS, at(0), at(9))
    assert episode.learned_at is None
    assert not episode.superseded
    assert not episode.pruned


def test_an_episode_lists_the_files_its_steps_touched(store: Store) -> None:
    arguments: list[dict[str, Any]] = [
        {"file_path": "a.py"}, {"path": "b/"}, {"notebook_path": "c.ipynb"}, {"path": "b/"}, {"path": 7}, {"path": " "},
    ]  # fmt: skip
    arguments += [{"path": f"many/{number}"} for number in range(100)]
    made = tuple(Step(index=i, role=Role.AGENT, tool="T", arguments=given) for i, given in enumerate(arguments))
    whole = trajectory(made=made)
    store.add_trajectory(whole, SUCCESS, at=at())
    files = store.episode(whole.id).files
    assert files[:4] == ("a.py", "b/", "c.ipynb", "many/0")
    assert len(files) == 50


def test_episodes_are_listed_oldest_first(store: Store) -> None:
    for number in range(3):
        store.add_trajectory(trajectory(f"task {number}"), SUCCESS, at=at(-number))
    assert [episode.task for episode in store.episodes()] == ["task 0", "task 1", "task 2"]


def test_learned_trajectories_are_no_longer_waiting(store: Store) -> None:
    first, second = trajectory("one"), trajectory("two")
    for whole in (first, second):
        store.add_trajectory(whole, SUCCESS, at=at())
    store.mark_learned(first.id, at=at(3))
    assert [episode.id for episode in store.episodes(unlearned=True)] == [second.id]
    assert store.episode(first.id).learned_at == at(3)


def test_marking_learned_again_with_the_same_time_changes_nothing(store: Store) -> None:
    store.add_trajectory(trajectory(), SUCCESS, at=at())
    store.mark_learned(trajectory().id, at=at(3))
    before = store.history()
    store.mark_learned(trajectory().id, at=at(3))
    assert store.history() == before


def test_an_attempt_that_is_vouched_for_later_waits_to_be_learned_from_again(store: Store) -> None:
    claimed = Assessment(outcome=Outcome.SUCCESS, reason="the source claims it")
    whole = trajectory()
    store.add_trajectory(whole, claimed, at=at())
    store.mark_learned(whole.id, at=at(1))
    store.outlines.put(outline(whole.id))
    store.add(verdict(trajectory_ids=(whole.id,)))
    assert store.vouch(whole.id, SUCCESS, at=at(2))
    [episode] = store.episodes(unlearned=True)
    assert (episode.id, episode.assessment, episode.learned_at) == (whole.id, SUCCESS, None)
    assert episode.captured_at == at()
    assert store.counts().outcomes == {"success": 1}
    assert [entry.action for entry in store.history(whole.id)][-1] == "vouched"
    assert len(store.verdicts(trajectory_id=whole.id)) == 1
    assert list(store.verify()) == []


def test_only_a_better_word_replaces_an_assessment(store: Store) -> None:
    claimed = Assessment(outcome=Outcome.SUCCESS)
    verified, doubted = trajectory("verified"), trajectory("doubted")
    store.add_trajectory(verified, SUCCESS, at=at())
    store.add_trajectory(doubted, claimed, at=at())
    store.mark_learned(doubted.id, at=at(1))
    before = store.episodes(), store.history()
    assert not store.vouch(verified.id, claimed, at=at(2))
    assert not store.vouch(verified.id, replace(SUCCESS, outcome=Outcome.FAILURE), at=at(2))
    assert not store.vouch(doubted.id, Assessment(outcome=Outcome.FAILURE), at=at(2))
    assert (store.episodes(), store.history()) == before
    with raises(NotFound, "not_found"):
        store.vouch("t_unknown", SUCCESS, at=at())


def test_what_no_longer_counts_is_not_vouched_for(store: Store) -> None:
    claimed = Assessment(outcome=Outcome.SUCCESS)
    short, long = trajectory(steps=2, session="s1"), trajectory(steps=5, session="s1")
    for whole in (short, long):
        store.add_trajectory(whole, claimed, at=at())
    assert not store.vouch(short.id, SUCCESS, at=at(1))  # superseded
    store.mark_learned(long.id, at=at(1))
    store.prune(keep_days=None, cap_bytes=0, at=at(2))
    assert not store.vouch(long.id, SUCCESS, at=at(3))


def test_a_longer_capture_of_a_session_supersedes_the_shorter_one(store: Store) -> None:
    short, long = trajectory(steps=2, session="s1"), trajectory(steps=5, session="s1")
    store.add_trajectory(short, SUCCESS, at=at())
    store.add_trajectory(long, SUCCESS, at=at(1))
    assert store.episode(short.id).superseded
    assert not store.episode(long.id).superseded
    assert [episode.id for episode in store.episodes(unlearned=True)] == [long.id]
    assert store.trajectory(short.id) == short


def test_a_shorter_capture_that_arrives_late_is_superseded_at_once(store: Store) -> None:
    short, long = trajectory(steps=2, session="s1"), trajectory(steps=5, session="s1")
    store.add_trajectory(long, SUCCESS, at=at())
    assert store.add_trajectory(short, SUCCESS, at=at(1))
    assert store.episode(short.id).superseded
    assert not store.episode(long.id).superseded


def test_the_newer_of_two_captures_of_equal_length_stays(store: Store) -> None:
    one = trajectory(session="s1")
    other = replace(one, claim=Claim(result="passed"), id="")
    store.add_trajectory(one, SUCCESS, at=at())
    store.add_trajectory(other, SUCCESS, at=at(1))
    assert [store.episode(one.id).superseded, store.episode(other.id).superseded] == [True, False]


@pytest.mark.parametrize(
    "other",
    [
        trajectory(steps=5, session="s2"),
        trajectory(steps=5, session="s1", parent_session_id="s0"),
        trajectory("another task", steps=5, session="s1"),
        trajectory(session="s1", made=trajectory(steps=6).steps[1:]),
    ],
    ids=["another session", "a subagent", "another task", "another start"],
)
def test_another_attempt_supersedes_nothing(store: Store, other: Trajectory) -> None:
    store.add_trajectory(trajectory(steps=2, session="s1"), SUCCESS, at=at())
    store.add_trajectory(other, SUCCESS, at=at(1))
    assert not any(episode.superseded for episode in store.episodes())


@pytest.mark.parametrize("session", ["", "s1"])
def test_without_session_or_dates_nothing_is_superseded(store: Store, session: str) -> None:
    for count in (1, 2):
        made = tuple(Step(index=i, role=Role.AGENT, text="x", at=None if session else at(i)) for i in range(count))
        store.add_trajectory(trajectory(session=session, made=made), SUCCESS, at=at())
    assert not any(episode.superseded for episode in store.episodes())


def test_episodes_are_found_by_task_file_and_project(store: Store) -> None:
    store.add_trajectory(trajectory("repair the payment webhook", project="shop"), SUCCESS, at=at())
    store.add_trajectory(trajectory("write release notes", project="docs", steps=0), SUCCESS, at=at())
    for query in ("Payments?", "part1.py", "shop"):
        assert [e.task for e in store.search_episodes(terms(query))] == ["repair the payment webhook"]
    assert store.search_episodes(terms("nothing alike")) == []
    assert store.search_episodes(terms("payment"), limit=0) == []


def test_a_superseded_capture_is_not_found_together_with_its_successor(store: Store) -> None:
    for steps in (1, 2, 3):
        store.add_trajectory(trajectory("repair the webhook", steps=steps, session="s1"), SUCCESS, at=at(steps))
    assert [episode.steps for episode in store.search_episodes(terms("webhook"))] == [3]


# --- retention ------------------------------------------------------------------------------------------------------


def test_pruning_by_age_drops_the_steps_and_keeps_the_summary(store: Store) -> None:
    old, young = trajectory("old"), trajectory("young")
    store.add_trajectory(old, SUCCESS, at=at())
    store.add_trajectory(young, SUCCESS, at=at(60 * 24 * 9))
    for whole in (old, young):
        store.mark_learned(whole.id, at=at(60 * 24 * 9))
    assert store.prune(keep_days=5, cap_bytes=None, at=at(60 * 24 * 10)) == 1
    assert store.episode(old.id).pruned
    with raises(NotFound, "steps_pruned"):
        store.trajectory(old.id)
    assert store.trajectory(young.id) == young
    assert store.history(old.id)[-1].action == "prune"
    assert not store.add_trajectory(old, SUCCESS, at=at(60 * 24 * 11))
    assert list(store.verify()) == []


def test_pruning_never_touches_what_was_not_learned_from(store: Store) -> None:
    store.add_trajectory(trajectory(), SUCCESS, at=at())
    assert store.prune(keep_days=0, cap_bytes=0, at=at(60 * 24 * 365)) == 0
    assert store.trajectory(trajectory().id) == trajectory()


def test_pruning_may_drop_a_superseded_capture_that_was_not_learned_from(store: Store) -> None:
    for steps in (1, 2):
        store.add_trajectory(trajectory(steps=steps, session="s1"), SUCCESS, at=at())
    assert store.prune(keep_days=0, cap_bytes=None, at=at(1)) == 1
    assert [episode.pruned for episode in store.episodes()] == [True, False]


def test_pruning_to_a_cap_drops_the_oldest_first_and_no_more_than_needed(store: Store) -> None:
    everything = [trajectory(f"task {number}") for number in range(4)]
    for number, whole in enumerate(everything):
        store.add_trajectory(whole, SUCCESS, at=at(-number))
        store.mark_learned(whole.id, at=at())
    assert store.prune(keep_days=None, cap_bytes=10**9, at=at(1)) == 0
    dropped = store.prune(keep_days=None, cap_bytes=700, at=at(1))
    assert 0 < dropped < 4
    assert [episode.pruned for episode in store.episodes()] == [number >= 4 - dropped for number in range(4)]
    assert store.prune(keep_days=None, cap_bytes=700, at=at(2)) == 0


# --- skills and versions --------------------------------------------------------------------------------------------


def test_a_version_reads_back_as_it_was(store: Store) -> None:
    what = content(
        "naïve-名前", description="Ω \ud83d", tags=("a", "b"), metadata={"k": "v"},
        files=(SkillFile(path="run.sh", content="echo", executable=True),),
        steps=(SkillStep(text="do", arguments={"deep": {"list": [1, 2.5, None, True, 10**30]}}),),
    )  # fmt: skip
    skill = Skill.create(what, Scope(Level.PROJECT, "shop"), at=at())
    version = version_of(skill, what)
    assert store.add_version(skill, version, birth_of(version, Status.CANDIDATE))
    stored = store.version(version.id)
    assert (stored.skill, stored.version, stored.status, stored.sequence) == (skill, version, Status.CANDIDATE, 1)
    assert stored.version.content.hash() == version.hash


def test_a_known_version_is_not_kept_twice(store: Store) -> None:
    stored = put_version(store)
    again = replace(stored.version, created_at=at(50))
    assert not store.add_version(stored.skill, again, birth_of(again, Status.TRIAL, minutes=50))
    assert store.versions(stored.skill.id) == [stored]


def test_versions_of_a_skill_come_oldest_first(store: Store) -> None:
    first = put_version(store)
    put_version(store, "unrelated")
    second = put_version(store, body="more", skill=first.skill, status=Status.CANDIDATE)
    assert store.versions(first.skill.id) == [first, second]
    assert first.sequence < second.sequence


def test_unknown_skills_and_versions_are_not_found(store: Store) -> None:
    for ask in (store.version, store.versions, store.transitions, store.use):
        with raises(NotFound, "not_found"):
            ask("x_unknown")


def test_a_version_must_hold_what_its_id_and_hash_name(store: Store) -> None:
    what = content()
    skill = Skill.create(what, Scope(), at=at())
    honest = version_of(skill, what)
    for false in (replace(honest, hash="sha256:0"), replace(honest, id="v_0"), replace(honest, content=content("x"))):
        with pytest.raises(Mistake):
            store.add_version(skill, false, birth_of(honest, Status.TRIAL))
    with raises(Mistake, "wrong_skill"):
        store.add_version(replace(skill, id="s_other"), honest, birth_of(honest, Status.TRIAL))
    with raises(Mistake, "not_first_transition"):
        store.add_version(skill, honest, replace(birth_of(honest, Status.TRIAL), version_id="v_0"))
    with pytest.raises(IllegalTransition):
        store.add_version(skill, honest, birth_of(honest, Status.TRUSTED))
    assert store.counts().versions == 0


def test_a_transition_moves_the_status_and_is_kept(store: Store) -> None:
    stored = put_version(store)
    step = step_to(stored, Status.TRUSTED, evidence_ids=("e_1",))
    store.add_transition(step)
    assert store.version(stored.version.id).status is Status.TRUSTED
    assert store.transitions(stored.version.id)[1:] == [step]


def test_a_transition_from_another_status_is_stale(store: Store) -> None:
    stored = put_version(store)
    store.add_transition(step_to(stored, Status.STALE))
    with raises(StaleVersion, "stale_status"):
        store.add_transition(step_to(stored, Status.TRUSTED))
    assert store.version(stored.version.id).status is Status.STALE


def test_a_transition_about_other_content_is_stale(store: Store) -> None:
    stored = put_version(store)
    with raises(StaleVersion, "stale_content"):
        store.add_transition(step_to(stored, Status.TRUSTED, content_hash="sha256:other"))


def test_a_transition_that_the_lifecycle_lacks_is_illegal(store: Store) -> None:
    stored = put_version(store, status=Status.CANDIDATE)
    with pytest.raises(IllegalTransition):
        store.add_transition(step_to(stored, Status.TRUSTED))
    assert store.version(stored.version.id) == stored


def test_a_transition_of_an_unknown_version_is_not_found(store: Store) -> None:
    stored = put_version(store)
    with pytest.raises(NotFound):
        store.add_transition(replace(step_to(stored, Status.TRUSTED), version_id="v_unknown"))


def test_a_second_transition_under_a_taken_id_is_refused(store: Store) -> None:
    stored = put_version(store)
    store.add_transition(step_to(stored, Status.CANDIDATE, id="x_1"))
    with raises(Mistake, "id_taken"):
        store.add_transition(step_to(store.version(stored.version.id), Status.TRIAL, id="x_1"))
    assert store.version(stored.version.id).status is Status.CANDIDATE


def test_the_catalogue_is_ordered_by_name_and_then_arrival(store: Store) -> None:
    zebra = put_version(store, "zebra")
    ant = put_version(store, "ant", status=Status.CANDIDATE)
    later = put_version(store, "ant", body="more")
    assert store.catalogue() == [ant, later, zebra]


def test_the_catalogue_can_be_filtered(store: Store) -> None:
    one = put_version(store, "one", status=Status.CANDIDATE)
    two = put_version(store, "two", kind=Kind.LESSON)
    assert store.catalogue(statuses=[Status.CANDIDATE]) == [one]
    assert store.catalogue(kinds={Kind.LESSON}) == [two]
    assert store.catalogue(name="two") == [two]
    assert store.catalogue(statuses=(), name="two") == []
    assert store.catalogue(statuses=RECALLABLE, kinds=[Kind.PROCEDURE], name="one") == []


# --- search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "deploy", "DEPLOYING", "deploy: x/y", "deploy AND NOT", '"deploy', "deploy*", "NEAR(deploy)", "(deploy", "name:deploy",
        "deploy^2", "deploy -service", "{deploy}", "deploy'); DROP TABLE versions;--", "don't deploy", "deploy\x00service",
    ],
)  # fmt: skip
def test_any_punctuation_may_stand_in_a_query(store: Store, query: str) -> None:
    put_version(store)
    assert names(store, query) == ["deploy-service"]


@pytest.mark.parametrize("query", ["", '"', "*", "NEAR(", "''", "-", "the of", "\x00", "zzz", "\ud800"])
def test_a_query_without_known_words_finds_nothing(store: Store, query: str) -> None:
    put_version(store)
    assert names(store, query) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("数据库迁移步骤", "迁移"),
        ("データベースの移行", "移行"),
        ("배포하기", "배포"),
        ("Größe der Straße", "grösse"),
        ("déployer le système", "deployer"),
        ("развёртывание службы", "службы"),
        ("ترحيل قاعدة البيانات", "قاعدة"),
        ("डेटाबेस", "डेटाबेस"),
        ("𞤀𞤣𞤤𞤢𞤥", "𞤀𞤣𞤤𞤢𞤥"),
        ("don't panic", "don't"),
        ("makeMigration", "make_migration"),
    ],
)
def test_words_of_any_language_are_found(store: Store, text: str, query: str) -> None:
    put_version(store, "wanted", description=text, steps=())
    put_version(store, "unrelated", description="something else entirely", steps=())
    assert names(store, query) == ["wanted"]


@pytest.mark.parametrize("where", ["body", "signature", "category", "description"])
def test_every_text_of_a_skill_is_searched(store: Store, where: str) -> None:
    put_version(store, "plain")
    text: dict[str, Any] = {where: "xylophone"}
    put_version(store, "wanted", **text)
    put_version(store, "listed", tags=("xylophone",), steps=(SkillStep(text="play xylophone"),))
    assert set(names(store, "xylophones")) == {"wanted", "listed"}


def test_a_name_weighs_more_than_a_body(store: Store) -> None:
    put_version(store, "other", body="rotate rotate keys", description="x")
    put_version(store, "rotate", description="x")
    put_version(store, "filler", description="y")
    assert names(store, "rotate") == ["rotate", "other"]


def test_scores_are_positive_and_fall(store: Store) -> None:
    for number in range(5):
        put_version(store, f"skill{number}", body="deploy " * number)
    scores = [hit.lexical for hit in store.search(terms("deploy service"), statuses=ALL)]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


def test_search_keeps_to_statuses_kinds_and_limit(store: Store) -> None:
    put_version(store, "one", status=Status.CANDIDATE)
    put_version(store, "two", kind=Kind.LESSON)
    put_version(store, "three")
    assert set(names(store, "deploy", statuses=RECALLABLE)) == {"two", "three"}
    assert names(store, "deploy", kinds=[Kind.LESSON]) == ["two"]
    assert names(store, "deploy", statuses=[]) == []
    assert len(names(store, "deploy", limit=2)) == 2
    assert names(store, "deploy", limit=0) == []


def test_search_follows_a_change_of_status(store: Store) -> None:
    stored = put_version(store)
    store.add_transition(step_to(stored, Status.RETIRED))
    assert names(store, "deploy", statuses=RECALLABLE) == []
    assert names(store, "deploy", statuses=[Status.RETIRED]) == ["deploy-service"]


def test_a_query_may_be_very_long(store: Store) -> None:
    put_version(store)
    assert names(store, " ".join(f"word{number}" for number in range(5000)) + " deploy") == ["deploy-service"]


def test_document_frequency_counts_versions(store: Store) -> None:
    put_version(store, "one", description="deploy deploy")
    put_version(store, "two", description="nothing", steps=())
    frequency, total = store.document_frequency([*terms("deploy"), "数据", "deploy", ""])
    assert (frequency, total) == ({terms("deploy")[0]: 1, "数据": 0}, 2)


# --- ids ------------------------------------------------------------------------------------------------------------


def test_ids_are_resolved_by_prefix(store: Store) -> None:
    stored = fill(store)
    shown = use(stored.version.id)
    for identity in (stored.version.id, stored.skill.id, trajectory().id, shown.id):
        assert store.resolve(identity[:8]) == [identity]
        assert store.resolve(identity) == [identity]


@pytest.mark.parametrize("prefix", ["%", "_", "v%", "*", "v_?", "'", "V_", "\ud800"])
def test_a_prefix_is_taken_literally(store: Store, prefix: str) -> None:
    fill(store)
    assert store.resolve(prefix) == []


def test_at_most_ten_ids_are_resolved_in_order(store: Store) -> None:
    for number in range(12):
        store.add(use("v_1", id=f"u_{number:02}"))
    assert store.resolve("u_") == [f"u_{number:02}" for number in range(10)]


# --- verdicts, uses, evidence ---------------------------------------------------------------------------------------


def test_verdicts_come_newest_first_and_can_be_chosen(store: Store) -> None:
    one = verdict(version_id="v_1", trajectory_ids=("t_1", "t_2"), similarity=0.5)
    two = verdict(GateDecision.REJECT, minutes=1, trajectory_ids=("t_2",))
    for given in (one, two, one):
        store.add(given)
    assert store.verdicts() == [two, one]
    assert store.verdicts(trajectory_id="t_1") == [one]
    assert store.verdicts(trajectory_id="t_2", limit=1) == [two]
    assert store.verdicts(version_id="v_1") == [one]
    assert store.verdicts(version_id="v_1", trajectory_id="t_9") == []


def test_verdicts_about_an_attempt_are_found_from_a_time_on(store: Store) -> None:
    kept = [verdict(minutes=minute, trajectory_ids=(f"t_{minute % 2}",)) for minute in range(9)]
    for given in kept:
        store.add(given)
    for start in range(10):
        expected = [each for each in kept[start:] if "t_1" in each.trajectory_ids][::-1]
        assert store.verdicts(trajectory_id="t_1", since=at(start)) == expected


@pytest.mark.parametrize("many", [0, 40])
def test_the_newest_version_of_each_skill_is_listed_and_counted(store: Store, many: int) -> None:
    for number in range(many):  # whether an index or the order of arrival is read depends on how many there are
        put_version(store, name=f"other-{number}", status=Status.CANDIDATE)
    one, two = put_version(store, name="one"), put_version(store, name="two")
    again = put_version(store, name="one", body="two", skill=one.skill)
    put_version(store, name="two", body="waits", skill=two.skill, status=Status.CANDIDATE)
    listed, count = store.newest(statuses=RECALLABLE)
    assert ([each.version.id for each in listed], count) == ([again.version.id], 1)
    waiting, count = store.newest(statuses={Status.CANDIDATE}, limit=1)
    assert ([each.version.name for each in waiting], count) == (["two"], many + 1)
    assert store.newest(limit=1, skip=1)[0][0].version.id == again.version.id
    assert store.newest()[1] == many + 2
    assert store.newest(kinds={Kind.NORM}) == ([], 0)


def test_results_can_be_looked_for_among_the_newest_alone(store: Store) -> None:
    one, other = (put_version(store, name).version.id for name in ("one", "other"))
    for minute in range(4):
        store.add(evidence((one, other)[minute % 2], minutes=minute))
    whole = store.evidence([other])[other]
    assert len(whole) == 2
    assert store.evidence([other, "v_9"], among=2) == {other: whole[1:], "v_9": []}


def test_a_use_reads_back_and_is_kept_once(store: Store) -> None:
    shown = use("v_1", surface="hook", session_id="s1", model="m", held_back=True)
    store.add(shown)
    store.add(shown)
    assert store.use(shown.id) == shown
    assert store.counts().uses == 1


def test_evidence_is_grouped_by_version_oldest_first(store: Store) -> None:
    one, two = put_version(store, "one").version.id, put_version(store, "two").version.id
    late, early, other = evidence(one, minutes=9), evidence(one, minutes=3, adherence=1), evidence(two, note="n")
    for piece in (late, early, other):
        assert store.add(piece)
    assert store.evidence([one, two, "v_none"]) == {one: [early, late], two: [other], "v_none": []}


def test_the_same_evidence_counts_once(store: Store) -> None:
    piece = evidence(put_version(store).version.id)
    assert store.add(piece)
    assert not store.add(piece)
    assert store.counts().evidence == {"machine-verified": 1}


def test_evidence_about_an_unknown_version_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        store.add(evidence("v_unknown"))


def test_a_different_record_under_a_taken_id_is_refused_and_changes_nothing(store: Store) -> None:
    version_id = put_version(store).version.id
    store.add(use(version_id, id="u_1"))
    store.add(verdict(id="g_1"))
    store.add(evidence(version_id, id="e_1"))
    before = store.history()
    for write in (
        lambda: store.add(use(version_id, id="u_1", model="other")),
        lambda: store.add(verdict(GateDecision.HOLD, id="g_1")),
        lambda: store.add(evidence(version_id, id="e_1", outcome=Outcome.FAILURE)),
    ):
        with raises(Mistake, "id_taken"):
            write()
    assert store.history() == before


# --- audit, counts, verify, backup ----------------------------------------------------------------------------------


def test_every_change_leaves_one_link_in_the_chain(store: Store) -> None:
    stored = fill(store)
    links = [(entry.sequence, entry.actor, entry.action, entry.subject) for entry in store.history()]
    version_id, skill_id, whole_id = stored.version.id, stored.skill.id, trajectory().id
    assert links == [
        (1, "claude-code", "trajectory", whole_id),
        (2, "gate", "skill", skill_id),
        (3, "gate", "version trial", version_id),
        (4, "ana", "transition trusted", version_id),
        (5, "policy", "verdict accept", version_id),
        (6, "api", "use", use(version_id).id),
        (7, "tacit", "evidence success machine-verified", version_id),
        (8, "tacit", "learned", whole_id),
        (9, "ana", "approval", version_id),
        (10, "ana", "remark friction", version_id),
        (11, "ana", "entry card", "aha_1"),
        (12, "tacit", "passages", version_id),
    ]
    assert [entry.at for entry in store.history(whole_id)] == [at(), at(5)]
    assert len({entry.hash for entry in store.history()}) == 12


def test_the_history_of_a_skill_holds_that_of_its_versions(store: Store) -> None:
    stored = fill(store)
    other = put_version(store, "other")
    assert [entry.sequence for entry in store.history(stored.version.id)] == [3, 4, 5, 7, 9, 10, 12]
    assert [entry.sequence for entry in store.history(stored.skill.id)] == [2, 3, 4, 5, 7, 9, 10, 12]
    assert [entry.sequence for entry in store.history(other.skill.id)] == [13, 14]
    assert store.history("x_unknown") == []


def test_a_limit_on_history_keeps_the_newest_links(store: Store) -> None:
    stored = fill(store)
    assert [entry.sequence for entry in store.history(limit=2)] == [11, 12]
    assert [entry.sequence for entry in store.history(stored.version.id, limit=3)] == [9, 10, 12]
    assert store.history(limit=0) == []
    assert len(store.history(limit=100)) == 12


def test_the_chain_holds_no_content(store: Store) -> None:
    store.add_trajectory(trajectory("secret words"), SUCCESS, at=at())
    put_version(store, "secret-name", description="secret words")
    store.add(use("v_1", task="secret words"))
    assert "secret" not in repr(store.history())


def test_counts_tell_what_is_held(store: Store) -> None:
    fill(store)
    store.add_trajectory(trajectory("other"), replace(SUCCESS, outcome=Outcome.FAILURE), at=at())
    put_version(store, "lesson", kind=Kind.LESSON, status=Status.QUARANTINED)
    counts = store.counts()
    assert (counts.trajectories, counts.learned, counts.versions, counts.uses) == (2, 1, 2, 1)
    assert counts.outcomes == {"success": 1, "failure": 1}
    assert counts.skills == {"trusted": 1, "quarantined": 1}
    assert counts.kinds == {"procedure": 1, "lesson": 1}
    assert counts.evidence == {"machine-verified": 1}
    assert counts.audit == len(store.history())
    assert counts.bytes > 0


def test_a_claimed_outcome_counts_as_unknown(store: Store) -> None:
    for number, grade in enumerate(Grade):
        for outcome in (Outcome.SUCCESS, Outcome.FAILURE):
            whole = trajectory(f"task {number} {outcome}")
            store.add_trajectory(whole, Assessment(outcome=outcome, grade=grade), at=at())
    assert store.counts().outcomes == {"success": 2, "failure": 2, "unknown": 2}
    assert list(store.verify()) == []


def test_a_skill_counts_by_its_newest_recallable_version(store: Store) -> None:
    first = put_version(store)
    put_version(store, body="two", skill=first.skill, status=Status.CANDIDATE)
    assert store.counts().skills == {"trial": 1}
    store.add_transition(step_to(first, Status.RETIRED))
    assert store.counts().skills == {"candidate": 1}


def test_superseded_captures_are_not_counted(store: Store) -> None:
    for steps in (1, 2, 3):
        store.add_trajectory(trajectory(steps=steps, session="s1"), SUCCESS, at=at(steps))
    assert store.counts().trajectories == 1
    assert store.counts().outcomes == {"success": 1}


def test_an_intact_store_verifies(store: Store) -> None:
    assert list(store.verify()) == []
    fill(store)
    assert list(store.verify()) == []


def test_a_backup_holds_everything_and_verifies(store: Store, tmp_path: Path) -> None:
    stored = fill(store)
    store.add_trajectory(trajectory("old", steps=9), SUCCESS, at=at(-9999))
    store.mark_learned(trajectory("old", steps=9).id, at=at())
    store.prune(keep_days=1, cap_bytes=None, at=at())
    store.backup(tmp_path / "copies" / "backup.db")
    assert {path.name for path in (tmp_path / "copies").iterdir()} == {"backup.db", "backup.db.manifest.json"}
    copy = open_store(tmp_path / "copies" / "backup.db")
    try:
        assert list(copy.verify()) == []
        assert copy.catalogue() == store.catalogue()
        assert copy.episodes() == store.episodes()
        assert copy.transitions(stored.version.id) == store.transitions(stored.version.id)
        assert [entry.action for entry in copy.history()] == [entry.action for entry in store.history()][:-1]
    finally:
        copy.close()


def test_a_backup_overwrites_nothing(store: Store, tmp_path: Path) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    with raises(Mistake, "file_exists"):
        store.backup(taken)
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("path", ["a\udcff.db", "a\0b.db", "x" * 300, "y/" * 3000, "/dev/null/x.db", "/proc/x.db", ""])
def test_a_backup_to_a_path_that_cannot_be_is_reported(store: Store, path: str) -> None:
    with pytest.raises((Mistake, StoreOutage)) as caught:
        store.backup(Path(path))
    assert caught.value.hint
    assert caught.value.message.encode("utf-8")


def test_a_backup_inside_a_transaction_is_refused(store: Store, tmp_path: Path) -> None:
    with store.transaction(), raises(Mistake, "inside_transaction"):
        store.backup(tmp_path / "backup.db")


def test_times_without_a_zone_are_refused(store: Store) -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001
    version_id = put_version(store).version.id
    for write in (
        lambda: store.add_trajectory(trajectory(), SUCCESS, at=naive),
        lambda: store.add(replace(use(version_id), at=naive)),
        lambda: store.add(replace(evidence(version_id), at=naive)),
        lambda: store.add(replace(verdict(), at=naive)),
    ):
        with raises(Mistake, "no_time_zone"):
            write()


def test_grades_are_counted_apart(store: Store) -> None:
    version_id = put_version(store).version.id
    for grade in Grade:
        store.add(evidence(version_id, grade=grade))
    assert store.counts().evidence == {"machine-verified": 1, "human-verified": 1, "self-reported": 1}


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with raises(StoreOutage, "store_closed"):
        store.counts()
    with raises(StoreOutage, "store_closed"):
        store.add(use("v_1"))


# --- bookmarks ------------------------------------------------------------------------------------------------------


def test_a_file_without_a_bookmark_has_none(store: Store) -> None:
    assert store.bookmarks.get("never/read.jsonl") is None


def test_a_bookmark_takes_the_place_of_the_one_before(store: Store) -> None:
    store.bookmarks.put(bookmark(size=100))
    store.bookmarks.put(bookmark("other.jsonl"))
    store.bookmarks.put(bookmark(size=250))
    kept = store.bookmarks.get(bookmark().path)
    assert kept == bookmark(size=250)
    assert store.bookmarks.get("other.jsonl") == bookmark("other.jsonl")
    assert store.history() == []


def test_a_bookmark_stands_or_falls_with_its_transaction(store: Store) -> None:
    with pytest.raises(Boom):
        abandon(store, lambda: store.bookmarks.put(bookmark()))
    assert store.bookmarks.get(bookmark().path) is None


# --- outlines -------------------------------------------------------------------------------------------------------


def learned(store: Store, *numbers: int) -> list[str]:
    """Trajectories of different sessions that have been learned from."""
    ids = []
    for number in numbers:
        kept = trajectory(f"task {number}", session=f"session-{number}")
        store.add_trajectory(kept, SUCCESS, at=at(number))
        store.mark_learned(kept.id, at=at(number))
        ids.append(kept.id)
    return ids


def test_an_outline_reads_back_waits_to_be_mined_and_is_taken_in_once(store: Store) -> None:
    first, second = learned(store, 1, 2)
    assert store.outlines.missing() == [first, second]
    store.outlines.put(outline(first))
    store.outlines.put(outline(second, success=None))
    assert store.outlines.all() == [outline(first), outline(second, success=None)]
    assert store.outlines.missing() == []
    assert store.outlines.unmined() == [first, second]
    store.outlines.mark_mined([first, "t_unknown"])
    assert store.outlines.unmined() == [second]
    assert list(store.verify()) == []


def test_an_outline_rebuilt_waits_again(store: Store) -> None:
    (only,) = learned(store, 1)
    store.outlines.put(outline(only))
    store.outlines.mark_mined([only])
    store.outlines.put(outline(only, task="other words"))
    assert store.outlines.unmined() == [only]
    assert [kept.task for kept in store.outlines.all()] == ["other words"]


def test_an_outline_of_another_kind_counts_as_none(store: Store) -> None:
    (only,) = learned(store, 1)
    store.outlines.put(outline(only, version=OUTLINE_VERSION + 1))
    assert store.outlines.all() == []
    assert store.outlines.missing() == [only]


def test_outlines_of_superseded_and_pruned_trajectories_do_not_count(store: Store) -> None:
    first, second = learned(store, 1, 2)
    for identity in (first, second):
        store.outlines.put(outline(identity))
    longer = trajectory("task 1", session="session-1", steps=9)
    store.add_trajectory(longer, SUCCESS, at=at(3))
    assert [kept.trajectory_id for kept in store.outlines.all()] == [second]
    assert store.outlines.unmined() == [second]
    store.mark_learned(longer.id, at=at(4))
    store.prune(keep_days=0, cap_bytes=None, at=at(60 * 24 * 400))
    assert store.outlines.all() == []
    assert store.outlines.missing() == []


def test_an_outline_stands_or_falls_with_its_transaction(store: Store) -> None:
    (only,) = learned(store, 1)
    with pytest.raises(Boom):
        abandon(store, lambda: store.outlines.put(outline(only)))
    assert store.outlines.all() == []


# --- renderings -----------------------------------------------------------------------------------------------------


def test_a_rendering_reads_back_and_takes_the_place_of_the_one_before(store: Store) -> None:
    version_id = put_version(store).version.id
    store.renderings.put(rendering(version_id, "first", importance=0.75, reliability=0.25))
    assert store.renderings.get([version_id]).get(version_id) == rendering(
        version_id, "first", importance=0.75, reliability=0.25
    )
    store.renderings.put(rendering(version_id, "second \ud800", fresh_at=at(0.123456)))
    found = store.renderings.get([version_id]).get(version_id)
    assert found is not None
    assert found.text.startswith("second ")
    assert found.fresh_at == at(0.123456)
    assert list(store.verify()) == []


def test_renderings_are_read_together_without_those_that_are_not_there(store: Store) -> None:
    one, other, waiting = (put_version(store, name).version.id for name in ("one", "other", "waiting"))
    for version_id in (one, other):
        store.renderings.put(rendering(version_id, f"text of {version_id}"))
    found = store.renderings.get([other, "v_unknown", waiting, one])
    assert found == {each: rendering(each, f"text of {each}") for each in (one, other)}
    assert store.renderings.get([]) == {}


def test_norms_come_with_their_words_and_those_beyond_the_limit_without(store: Store) -> None:
    norms = [put_version(store, f"norm-{rank}", kind=Kind.NORM, body="Speak plainly.").version for rank in range(4)]
    for rank, version in enumerate(norms):
        store.renderings.put(rendering(version.id, reliability=rank / 10))
    hits = store.renderings.norms(Scope(), limit=2, named=1)
    assert [hit.stored.version.name for hit in hits] == ["norm-3", "norm-2", "norm-1"]
    assert [bool(hit.words) for hit in hits] == [True, True, False]
    assert len(store.renderings.norms(Scope(), limit=2)) == 2


def test_what_is_recallable_waits_to_be_rendered_oldest_first(store: Store) -> None:
    first, second = put_version(store, "b"), put_version(store, "a")
    put_version(store, "c", status=Status.CANDIDATE)
    assert store.renderings.missing() == [first.version.id, second.version.id]
    store.renderings.put(rendering(first.version.id))
    assert store.renderings.missing() == [second.version.id]


def test_a_change_of_status_ends_a_rendering(store: Store) -> None:
    stored = put_version(store)
    store.renderings.put(rendering(stored.version.id))
    store.add_transition(step_to(stored, Status.TRUSTED))
    assert store.renderings.get([stored.version.id]).get(stored.version.id) is None
    assert store.renderings.missing() == [stored.version.id]
    store.renderings.put(rendering(stored.version.id))
    store.add_transition(step_to(store.version(stored.version.id), Status.RETIRED, minutes=2))
    assert store.renderings.get([stored.version.id]).get(stored.version.id) is None
    assert store.renderings.missing() == []


def test_new_evidence_ends_the_rendering_of_its_version_only(store: Store) -> None:
    one, other = put_version(store, "one").version.id, put_version(store, "other").version.id
    for version_id in (one, other):
        store.renderings.put(rendering(version_id))
    store.add(evidence(one))
    assert store.renderings.missing() == [one]
    store.renderings.put(rendering(one))
    store.add(evidence(one))  # known already
    assert store.renderings.missing() == []


def test_only_what_is_recallable_is_rendered(store: Store) -> None:
    held = put_version(store, status=Status.CANDIDATE).version.id
    with raises(Mistake, "not_recallable"):
        store.renderings.put(rendering(held))
    with pytest.raises(NotFound):
        store.renderings.put(rendering("v_unknown"))
    with raises(Mistake, "no_time_zone"):
        store.renderings.put(rendering(put_version(store, "other").version.id, fresh_at=datetime(2026, 1, 1)))  # noqa: DTZ001


def test_a_rendering_stands_or_falls_with_its_transaction(store: Store) -> None:
    version_id = put_version(store).version.id
    with pytest.raises(Boom):
        abandon(store, lambda: store.renderings.put(rendering(version_id)))
    assert store.renderings.get([version_id]).get(version_id) is None


def test_a_backup_holds_the_renderings(store: Store, tmp_path: Path) -> None:
    kept, ended = put_version(store, "kept").version.id, put_version(store, "ended").version.id
    for version_id in (kept, ended):
        store.renderings.put(rendering(version_id))
    store.add(evidence(ended))
    store.backup(tmp_path / "copy.db")
    copy = open_store(tmp_path / "copy.db")
    assert copy.renderings.get([kept]).get(kept) == rendering(kept)
    assert copy.renderings.missing() == [ended]
    copy.close()


def test_a_hit_brings_the_words_that_are_kept_of_it(store: Store) -> None:
    put_version(store, "deploy-service", body="Größe 漢字 deploy deploy")
    (hit,) = store.search(terms("deploy"), statuses=ALL)
    assert [list(field) for field in hit.words] == [list(field) for field in version_words(hit.stored.version.content)]
