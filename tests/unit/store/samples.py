"""Small domain values for tests of stores: every one differs by what is passed in and by nothing else."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

from tacit.domain.candidate import Finding, GateDecision, Verdict
from tacit.domain.evidence import Assessment, Evidence, Grade, Outcome, Use
from tacit.domain.ledger import About, Remark
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.outline import Move, Outline, Reading
from tacit.domain.scope import Scope
from tacit.domain.skill import Capabilities, Kind, Provenance, Skill, SkillContent, SkillStep, SkillVersion
from tacit.domain.stored import Bookmark, Mark, NoteKind, Passage, Rendering, SessionNote, StoredVersion
from tacit.domain.trajectory import Environment, Origin, Role, Span, Step, StepResult, Task, Trajectory
from tacit.domain.trust import Approval
from tacit.features.cards.card import Card
from tacit.store import Store

SPACE = "tiny:0f1e"
"""An embedder's space, of three dimensions."""
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SUCCESS = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier="pytest")


def at(minutes: float = 0) -> datetime:
    """A time, so many minutes after the start."""
    return START + timedelta(minutes=minutes)


def trajectory(task: str = "fix the build", *, steps: int = 2, session: str = "", **more: Any) -> Trajectory:
    """An attempt with so many steps, dated from the start."""
    made = tuple(
        Step(
            index=index,
            role=Role.AGENT,
            tool="Edit",
            arguments={"file_path": f"src/part{index}.py", "n": index},
            observation="ok",
            result=StepResult.OK,
            at=at(index),
        )
        for index in range(steps)
    )
    return Trajectory(
        task=Task(text=task, project=more.pop("project", "invoices")),
        steps=more.pop("made", made),
        environment=Environment(client="claude-code"),
        session_id=session,
        **more,
    )


def content(name: str = "deploy-service", **more: Any) -> SkillContent:
    """A procedure of one step."""
    more.setdefault("description", "Deploy the service to staging")
    more.setdefault("steps", (SkillStep(text="run make deploy", tool="Bash", arguments={"command": "make deploy"}),))
    return SkillContent(kind=more.pop("kind", Kind.PROCEDURE), name=name, **more)


def version_of(skill: Skill, what: SkillContent, *, minutes: float = 0) -> SkillVersion:
    """A version of a skill, with origins and provenance."""
    return SkillVersion(
        skill_id=skill.id,
        content=what,
        origins={"name": Origin.AGENT, "steps.0": Origin.EXTERNAL},
        provenance=Provenance(trajectory_ids=("t_1",), grounding={"steps.0": (Span("t_1", 3),)}, made_by="miner"),
        created_at=at(minutes),
    )


def step_to(stored: StoredVersion, after: Status, *, minutes: float = 1, **more: Any) -> Transition:
    """A transition from the present status."""
    fields = {"reason": "because", "by": "ana", "before": stored.status, "content_hash": stored.version.hash, **more}
    return Transition(version_id=stored.version.id, after=after, at=at(minutes), **fields)


def birth_of(version: SkillVersion, status: Status, *, minutes: float = 0) -> Transition:
    """The first transition of a version."""
    return Transition(
        version_id=version.id, content_hash=version.hash, before=None, after=status, reason="new", by="gate",
        at=at(minutes),
    )  # fmt: skip


def put_version(
    store: Store,
    name: str = "deploy-service",
    *,
    status: Status = Status.TRIAL,
    skill: Skill | None = None,
    **more: Any,
) -> StoredVersion:
    """Add a version, of a new skill unless one is given, and fetch it."""
    minutes = more.pop("minutes", 0)
    what = content(name, **more)
    founded = skill or Skill.create(what, Scope(), at=at(minutes))
    version = version_of(founded, what, minutes=minutes)
    assert store.add_version(founded, version, birth_of(version, status, minutes=minutes))
    return store.version(version.id)


def verdict(decision: GateDecision = GateDecision.ACCEPT, *, minutes: float = 0, **more: Any) -> Verdict:
    """A gate's answer with one finding."""
    return Verdict(decision=decision, findings=(Finding(rule="verified", message="it passed"),), at=at(minutes), **more)


def approval(stored: StoredVersion, *, minutes: float = 0, **more: Any) -> Approval:
    """A person's yes to the content that a version has."""
    more.setdefault("by", "ana")
    more.setdefault("content_hash", stored.version.hash)
    more.setdefault("origins", stored.version.origins)
    more.setdefault("findings", (Finding(rule="standing_order", message="says always", field="steps.0"),))
    more.setdefault("needs", Capabilities(commands=("make deploy",)))
    more.setdefault("ticked", ("command:make deploy",))
    more.setdefault("checks", ("tacit.commands 1",))
    return Approval(version_id=stored.version.id, at=at(minutes), **more)


def use(version_id: str, *, minutes: float = 0, **more: Any) -> Use:
    """A use of one version."""
    return Use(version_ids=(version_id,), task=more.pop("task", "deploy it"), at=at(minutes), **more)


def evidence(version_id: str, *, minutes: float = 0, **more: Any) -> Evidence:
    """A verified success, unless reported otherwise."""
    more.setdefault("outcome", Outcome.SUCCESS)
    more.setdefault("grade", Grade.MACHINE)
    return Evidence(version_id=version_id, at=at(minutes), **more)


def remark(subject: str, *, minutes: float = 0, **more: Any) -> Remark:
    """Resistance that a run met, unless reported otherwise."""
    more.setdefault("about", About.FRICTION)
    more.setdefault("by", "ana")
    return Remark(subject=subject, at=at(minutes), **more)


def card(key: str = "aha_1", *, minutes: float = 0, **more: Any) -> Card:
    """A version of a card."""
    more.setdefault("title", "Pin the compiler")
    more.setdefault("by", "ana")
    return Card(key=key, at=at(minutes), ts="2026-01-01T12:00:00Z", **more)


def passages(*texts: str) -> list[Passage]:
    """The passages of a document, one on each page."""
    return [
        Passage(index=index, text=text, section="Results", first_page=index + 1, last_page=index + 1)
        for index, text in enumerate(texts)
    ]


def session_note(
    text: str = "the port is 8081", *, session: str = "s1", minutes: float = 0, **more: Any
) -> SessionNote:
    """Something in working memory, for an hour."""
    more.setdefault("kind", NoteKind.CONTEXT)
    more.setdefault("expires_at", at(minutes + 60))
    return SessionNote(session_id=session, text=text, at=at(minutes), **more)


def bookmark(path: str = "logs/one.jsonl", *, size: int = 100) -> Bookmark:
    return Bookmark(path=path, size=size, modified_ns=7, mark=Mark(offset=40, line=2))


def outline(trajectory_id: str, **more: Any) -> Outline:
    """An attempt in outline."""
    more.setdefault("task", "cancel the order")
    more.setdefault("success", True)
    more.setdefault("moves", (Move(index=3, tool="cancel_order", arguments={"order_id": "#W1", "items": ["a"]}),))
    more.setdefault("readings", (Reading(index=2, tool="get_order", facts={"status": ("pending",), "lines[]": ()}),))
    return Outline(trajectory_id=trajectory_id, **more)


def rendering(version_id: str, text: str = "<tacit-skill>deploy</tacit-skill>", **more: Any) -> Rendering:
    """A version as agents see it."""
    more.setdefault("tokens", len(text) // 4)
    more.setdefault("reliability", 0.5)
    more.setdefault("fresh_at", at())
    return Rendering(version_id=version_id, text=text, **more)


def vector(*numbers: float) -> bytes:
    """An embedder's vector; with numbers of 0, 1 and -1 only, one that stores keep exactly."""
    length = math.hypot(*numbers)
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def fill(store: Store) -> StoredVersion:
    """Put one of everything into a store; returns the version."""
    store.add_trajectory(trajectory(), SUCCESS, at=at())
    stored = put_version(store)
    store.add_transition(step_to(stored, Status.TRUSTED))
    store.add(verdict(version_id=stored.version.id, trajectory_ids=(trajectory().id,)))
    store.add(use(stored.version.id))
    store.add(evidence(stored.version.id))
    store.mark_learned(trajectory().id, at=at(5))
    store.add(approval(stored))
    store.add(remark(stored.version.id))
    store.add(card(session_id="s1", sources=(stored.version.id,)))
    store.passages.put(stored.version.id, passages("attention is measured", "the deploy took an hour"))
    store.notes.put(session_note())
    store.bookmarks.put(bookmark())
    store.renderings.put(rendering(stored.version.id))
    store.vectors.put(stored.version.id, [vector(1, 0, 1), vector(0, -1, 0)], space=SPACE)
    return store.version(stored.version.id)
