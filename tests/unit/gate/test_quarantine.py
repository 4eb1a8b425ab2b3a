"""The text of a quarantined version is left out until a person approves it."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Provenance, Skill, SkillContent, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import ASKED_BY_PROGRAM, Environment, Origin, Role, Span, Step, Task, Trajectory
from tacit.gate.quarantine import TASK_WITHHELD, attempts_with_external_text, is_withheld, withheld
from tacit.maintain.session_log import log_of
from tacit.store import open_store
from tests.unit.making import NOW

STEPS = (
    Step(index=0, role=Role.USER, text="Release it.\n\n> first run make publish"),
    Step(
        index=1, role=Role.CONTEXT, text="alpha", arguments={"attachment": "instructions", "place": "/w/shop/CLAUDE.md"}
    ),
    Step(index=2, role=Role.CONTEXT, text="beta", arguments={"block": "search_result"}),
    Step(index=3, role=Role.AGENT, tool="Read", arguments={"file_path": "/w/shop/Makefile"}, observation="gamma"),
    Step(index=4, role=Role.AGENT, tool="Bash", arguments={"command": "cat ../x Makefile"}, observation="delta"),
    Step(index=5, role=Role.AGENT, tool="WebFetch", arguments={"url": "https://a.b/c", "prompt": "x"}, observation="e"),
    Step(index=6, role=Role.AGENT, text="I do it."),
)
RUN = Trajectory(
    task=Task(text=STEPS[0].text),
    steps=STEPS,
    environment=Environment(workspace="/w/shop", client="claude-code"),
    session_id="5e55aaaa-1",
)


def version_of(run: Trajectory, **grounding: tuple[tuple[int, str], ...]) -> SkillVersion:
    return SkillVersion(
        skill_id="s_1",
        content=SkillContent(kind=Kind.LESSON, name="release", description="Release it.", body="Run make."),
        origins={"name": Origin.USER, "description": Origin.USER, "body": Origin.EXTERNAL},
        provenance=Provenance(
            trajectory_ids=(run.id,),
            grounding={
                path: tuple(Span(run.id, step, part) for step, part in spans) for path, spans in grounding.items()
            },
        ),
        created_at=NOW,
    )


def test_quarantined_text_is_left_out(made_stored):
    with Tacit(open_store(":memory:")) as memory:
        store = memory.context.store
        store.add_version(made_stored.skill, made_stored.version, born(made_stored, Status.CANDIDATE))
        assert withheld(store, made_stored) == made_stored
        quarantined = dataclasses.replace(made_stored, status=Status.QUARANTINED)
        bare = withheld(store, quarantined).version
        assert is_withheld(bare.content)
        assert (bare.id, bare.hash, bare.name) == (made_stored.version.id, made_stored.version.hash, "release")
        assert "make" not in str(bare.content)
        sentence = dataclasses.replace(made_stored.version.content, name="first-curl-evil-sh")
        version = dataclasses.replace(
            made_stored.version, content=sentence, origins={"name": Origin.EXTERNAL}, id="", hash=""
        )
        assert withheld(store, dataclasses.replace(quarantined, version=version)).version.name == version.id[:10]


def test_quarantined_text_stays_left_out_until_it_is_approved(made_stored):
    with Tacit(open_store(":memory:")) as memory:
        store, version_id = memory.context.store, made_stored.version.id
        memory.capture(RUN)
        store.add_version(made_stored.skill, made_stored.version, born(made_stored, Status.QUARANTINED))

        def is_hidden() -> bool:
            [found] = memory.archive.episodes("Release it", whole=False)
            is_task_hidden = found.task == TASK_WITHHELD
            assert is_withheld(withheld(store, memory.version(version_id)).version.content) is is_task_hidden
            return is_task_hidden

        for decision, after in (
            ("reject", Status.REJECTED),
            ("reopen", Status.QUARANTINED),
            ("reject", Status.REJECTED),
        ):
            memory.review(version_id, decision, by="ann")
            assert (memory.version(version_id).status, is_hidden()) == (after, True)
        memory.reviews.undo(version_id, by="ann")
        assert memory.version(version_id).status is Status.QUARANTINED
        ticked = [each.key for each in memory.reviews.examine(version_id).external_values]
        memory.review(version_id, "approve", by="ann", ticked=ticked)
        assert not is_hidden()
        memory.reviews.undo(version_id, by="ann")
        assert (memory.version(version_id).status, is_hidden()) == (Status.QUARANTINED, True)


def born(stored: StoredVersion, status: Status) -> Transition:
    version = stored.version
    return Transition(
        version_id=version.id, content_hash=version.hash, before=None, after=status, reason="r", by="ann", at=NOW
    )


@pytest.fixture
def made_stored() -> StoredVersion:
    version = version_of(RUN)
    skill = Skill(id="s_1", kind=Kind.LESSON, name="release", scope=Scope(), created_at=NOW)
    return StoredVersion(skill=skill, version=version, status=Status.CANDIDATE, sequence=1)


def test_tasks_that_no_person_wrote_are_left_out():
    asked = dataclasses.replace(STEPS[0], role=Role.CONTEXT)
    program = dataclasses.replace(
        RUN, task=Task(text=asked.text, by=ASKED_BY_PROGRAM), steps=(asked, *STEPS[1:]), id=""
    )
    with Tacit(open_store(":memory:")) as memory:
        memory.capture([program, dataclasses.replace(RUN, task=Task(text="Release it by hand."), id="")])
        found = memory.archive.episodes("Release it", whole=False)
        assert not any(episode.task.startswith("withheld") for episode in memory.archive.episodes("Release it"))
        whole, bare = (log_of(memory.context, RUN.session_id, whole=each).attempts for each in (True, False))
        assert [each.task == TASK_WITHHELD for each in whole] == [False, False]
        assert sorted(each.task == TASK_WITHHELD for each in bare) == [False, True]
        assert attempts_with_external_text(memory.context.store, [each.id for each in whole]) == {program.id}
    assert sorted(episode.task.startswith("withheld") for episode in found) == [False, True]


def test_tasks_of_pruned_attempts_are_left_out():
    with Tacit(open_store(":memory:")) as memory:
        memory.capture(RUN)
        memory.learn()
        memory.context.store.prune(keep_days=1, cap_bytes=None, at=memory.context.now() + timedelta(days=9))
        [found] = memory.archive.episodes("Release it", whole=False)
    assert found.task == TASK_WITHHELD
