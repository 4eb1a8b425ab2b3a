"""Usage signals, from a captured run to prominence: stored once, only where they change it, never as evidence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.archive import Source, SourceKind
from tacit.domain.evidence import Assessment, Use
from tacit.domain.ledger import UsageSignal
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Role, Step
from tacit.evidence.skill_usage import CEILING, SkillUsage
from tacit.recall import publishing
from tacit.store import open_store
from tests.unit.evidence.test_skill_usage import SESSION, at, keep, run, use
from tests.unit.making import NOW, shell

RULE = "Write commit subjects in the imperative, with a ticket such as PAY-123, and squash fixups beforehand."
NORM = SkillContent(kind=Kind.NORM, name="commits", description=RULE)
USED = "git commit -m 'Add imperative subjects (ticket PAY-123), squash fixups'"


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    store = open_store(":memory:")
    yield store
    store.close()


def loop_of(store: Any, *, days: float = 0) -> Tacit:
    return Tacit(store, clock=lambda: NOW + timedelta(days=1 + days))


def learn(store: Any, *steps: Step, **fields: Any) -> None:
    loop = loop_of(store)
    loop.capture(run(*steps, **fields))
    loop.learn()


def standing(store: Any, version_id: str) -> tuple[int, Any]:
    found = store.renderings.get([version_id]).get(version_id)
    return found.reinforced, found.fresh_at


def test_a_norm_that_was_used_becomes_more_prominent(store):
    version_id = keep(store, NORM)
    publishing.publish(store)
    assert standing(store, version_id)[0] == 0
    store.add(use(version_id))
    learn(store, shell(USED))
    (kept,) = store.entries(UsageSignal, key=version_id)
    assert (kept.heeded, kept.session_id) == (True, SESSION)
    assert standing(store, version_id) == (1, kept.at)
    assert store.evidence([version_id])[version_id] == [], "it says nothing of whether it works"


def test_an_ignored_norm_loses_prominence_down_to_the_floor(store):
    version_id = keep(store, NORM)
    store.add(use(version_id))
    learn(store, shell(USED))
    fresh = standing(store, version_id)
    for number in (1, 2, 3):
        session = f"s-{number + 1}"
        store.add(use(version_id, seconds=3600 * number, session_id=session))
        learn(store, shell("sed -i s/a/b/ x.py"), shell("ls"), begun=3600.0 * number, session_id=session)
    assert standing(store, version_id) == (0, fresh[1])
    assert [each.heeded for each in store.entries(UsageSignal, key=version_id)] == [True, False], (
        "what changes nothing is not kept"
    )


def test_learning_again_adds_nothing(store):
    version_id = keep(store, NORM)
    store.add(use(version_id))
    trajectory = run(shell(USED))
    loop = loop_of(store)
    loop.capture(trajectory)
    loop.learn()
    loop.learn()
    assert publishing.store_usage_signals(store, SkillUsage(store, trajectory).signals()) == 0
    assert len(store.entries(UsageSignal, key=version_id)) == 1
    assert standing(store, version_id)[0] == 1


def test_a_longer_capture_of_the_same_run_counts_once(store):
    version_id = keep(store, NORM)
    store.add(use(version_id))
    learn(store, shell(USED))
    learn(store, shell(USED), shell("git push"))
    assert standing(store, version_id)[0] == 1


def test_what_was_not_shown_gives_no_signal(store):
    version_id = keep(store, NORM)
    learn(store, shell(USED))
    assert store.entries(UsageSignal) == []
    assert SkillUsage(store, run(shell("ls"))).signals() == []
    assert store.uses(version_id=version_id) == []


def test_without_a_transcript_nothing_is_reported(store):
    version_id = keep(store, NORM)
    store.add(use(version_id))
    loop_of(store).learn()
    assert store.entries(UsageSignal) == []


def test_what_was_held_out_gives_no_signal(store):
    version_id = keep(store, NORM)
    store.add(use(version_id, held_back=True, shares=(0.2,)))
    learn(store, shell("ls"), shell("sed -i s/a/b/ x.py"))
    assert store.entries(UsageSignal) == []


def test_what_the_parent_was_shown_counts_where_it_is_used_and_not_where_it_is_not(store):
    version_id = keep(store, NORM)
    store.add(use(version_id, session_id="parent"))
    child: dict[str, Any] = {"session_id": "child", "parent_session_id": "parent"}
    assert SkillUsage(store, run(shell("ls"), shell("make"), **child)).signals() == []
    (recorded,) = SkillUsage(store, run(shell(USED), **child)).signals()
    assert recorded.heeded


def test_what_the_agent_asked_tacit_for_is_used_where_its_words_come_back(store):
    version_id = keep(store, NORM)
    asked = Use(version_ids=(version_id,), task="how to commit", at=at(9), surface="cli")
    store.add(asked)
    recall = shell("tacit recall 'how to commit'", seen=f"{RULE}\nuse {asked.id}")
    (recorded,) = SkillUsage(store, run(recall, shell(USED))).signals()
    assert recorded.heeded
    (passed,) = SkillUsage(
        store, run(recall, shell("git push"), Step(index=0, role=Role.AGENT, text="Pushed."))
    ).signals()
    assert not passed.heeded


def test_uses_alone_never_lift_an_entry_beyond_the_ceiling(store):
    version_id = keep(store, NORM)
    for number in range(CEILING + 3):
        session = f"s-{number}"
        store.add(use(version_id, seconds=3600 * number, session_id=session))
        learn(store, shell(USED), begun=3600.0 * number, session_id=session)
    assert standing(store, version_id)[0] == CEILING
    assert len(store.entries(UsageSignal, key=version_id)) == CEILING


def test_recall_orders_by_what_was_used(store):
    loop = loop_of(store, days=1)
    same: dict[str, Any] = {"kind": Kind.LESSON, "body": "Look at it."}
    one, two = (
        SkillContent(name=f"lesson-{name}", description=f"Rotate the signing certificates {name}", **same)
        for name in ("alpha", "bravo")
    )
    ids = {made.name: keep(store, made) for made in (one, two)}
    loop.library.index()
    first = [item.name for item in loop.recall("rotate the signing certificates", keep=False).items]
    last = first[-1]
    for number in range(3):
        signal_of = UsageSignal(
            key=ids[last], at=at(60 * number), heeded=True, use_id=f"u_{number}", trajectory_id=f"t_{number}"
        )
        assert publishing.store_usage_signals(store, [signal_of]) == 1
    again = loop.recall("rotate the signing certificates", keep=False)
    assert again.items[0].name == last
    assert again.items[0].reliability == loop.archive.reliability(ids[last]), "no reliability rests on it"
    assert not again.items[0].reliability.known


def test_a_purge_of_the_run_takes_what_it_reported_with_it(store):
    version_id = keep(store, NORM)
    store.add(use(version_id))
    trajectory = run(shell(USED))
    loop = loop_of(store)
    loop.capture(trajectory)
    loop.learn()
    assert standing(store, version_id)[0] == 1
    loop.archive.purge(loop.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=trajectory.id)), by="ann")
    assert store.entries(UsageSignal) == []
    assert standing(store, version_id)[0] == 0, "nor does anything it brought stay behind"


def test_an_unverified_run_gives_signals_too(store):
    version_id = keep(store, NORM)
    store.add(use(version_id))
    trajectory = run(shell(USED))
    store.add_trajectory(trajectory, Assessment(), at=at(900))
    (recorded,) = SkillUsage(store, trajectory).signals()
    assert recorded.heeded
