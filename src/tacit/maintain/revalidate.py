"""Is a skill still true here? Its contract with the surroundings, and its steps tried again in the sandbox → care.

What a usable skill relies on is noted when it is first looked at, and held against what is found later. Steps are tried
again only where they are commands with a check, on a copy, in the sandbox; anything else is "not checkable here", which is
neither for nor against it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from tacit.domain.care import BY_ITSELF, Care, CareKind
from tacit.domain.contract import Ground, Reliance
from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.evidence import Evidence, Outcome
from tacit.domain.identity import canonical, digest
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store, Stored
from tacit.domain.remark import About, Remark
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.verification import Check
from tacit.evidence.replay import Replay
from tacit.maintain.refinement.composition import is_heading
from tacit.maintain.refinement.contract import Drift, drift, relies_on
from tacit.store.queries import newest_recallable
from tacit.store.records import unpack

NOT_HERE = "not checkable here"
PASSED, FAILED = "passed", "failed"
_TRIED = frozenset({*RECALLABLE, Status.STALE})

Look = Callable[[Reliance, Path], Ground]
Try = Callable[[SkillContent, Path], Check]
Tried = tuple[int, int, Care, Evidence | None]
"""How many are done, of how many, and what came of this one."""


def replayed(content: SkillContent, project: Path) -> Check:
    """Do what a skill says on a copy of the project's last commit, in the sandbox of this machine.

    Parameters have their examples as values, and the headings of a composite's phases are no steps to be done.
    """
    if not (project / ".git").exists():
        raise VerifierOutage(f"{NOT_HERE}: this project is no git repository", hint="git init, and commit")
    steps = (dataclasses.replace(step, optional=True) if is_heading(step) else step for step in content.steps)
    examples = {each.name: each.example for each in content.parameters if each.example}
    return Replay(dataclasses.replace(content, steps=tuple(steps)), project, examples).verify()


def note_contracts(store: Store, project: Path, look: Look, *, at: datetime) -> int:
    """Note what usable skills rely on as it is found now, of those that were never looked at; returns how many."""
    noted = {remark.subject for remark in store.remarks(about=About.CONTRACT)}
    new = [stored for stored in store.catalogue(statuses=RECALLABLE) if stored.version.id not in noted]
    found = {stored.version.id: look(relied, project) for stored in new if (relied := _relied(stored)) is not None}
    with store.transaction():
        for version_id, ground in found.items():
            store.add_remark(_noted(version_id, ground, at))
    return len(found)


def contracts(store: Store, project: Path | None, look: Look, *, at: datetime) -> list[Care]:
    """Usable skills whose surroundings are no longer as they were noted."""
    if project is None:
        return []
    noted = {remark.subject: remark.text for remark in store.remarks(about=About.CONTRACT)}
    found: list[Care] = []
    for stored in store.catalogue(statuses=RECALLABLE):
        relied, before = _relied(stored), noted.get(stored.version.id)
        if relied is not None and before is not None:
            noted_then, now = unpack(before.encode("utf-8"), Ground), look(relied, project)
            changes = drift(relied, noted_then, now)
            # What has left the project is still what the skill relies on; another program is the one to compare with now.
            ground = dataclasses.replace(noted_then, programs=now.programs)
            found += [_changed(stored, changes, ground, at)] if changes else []
    return found


def _changed(stored: Stored, changes: list[Drift], now: Ground, at: datetime) -> Care:
    version, reason = stored.version, "; ".join(each.text for each in changes)
    told = f"what it relies on has changed: {reason}"
    grave = any(each.grave for each in changes)
    return Care(
        kind=CareKind.CONTRACT,
        subject=version.id,
        name=version.name,
        reason=told,
        skill_id=stored.skill.id,
        move=stored.moved(Status.STALE, told, by=BY_ITSELF, at=at) if grave else None,
        remark=_noted(version.id, now, at),
        advice=f"tacit skills edit {version.name}",
    )


def _relied(stored: Stored) -> Reliance | None:
    relied = relies_on(stored.version.content)
    return None if relied.is_empty else relied


def _noted(version_id: str, ground: Ground, at: datetime) -> Remark:
    text = canonical(ground).decode("utf-8")
    return Remark(subject=version_id, about=About.CONTRACT, by=BY_ITSELF, at=at, text=text)


def revalidations(store: Store, project: Path, attempt: Try, *, at: datetime) -> Iterator[Tried]:
    """Try again the current version of what is usable or set aside: how many are done, of how many, and what came of this.

    A set-aside version that works again goes back on trial; one that fails loses by the evidence, as by any other. What a
    try of the same day has shown already is told, and is no evidence once more.
    """
    by_skill: dict[str, list[Stored]] = {}
    for each in store.catalogue(statuses=_TRIED, kinds={Kind.PROCEDURE}):
        by_skill.setdefault(each.skill.id, []).append(each)
    held = [newest_recallable(versions) for versions in by_skill.values()]
    for done, stored in enumerate(held, start=1):
        care, evidence = _tried(stored, project, attempt, at)
        if evidence and _was_shown(store, evidence):
            care, evidence = dataclasses.replace(care, remark=None), None
        yield done, len(held), care, evidence


def _was_shown(store: Store, evidence: Evidence) -> bool:
    """Whether the last try of that day had the same result."""
    known = [each for each in store.evidence([evidence.version_id])[evidence.version_id] if each.task == evidence.task]
    return bool(known) and known[-1].outcome is evidence.outcome


def _tried(stored: Stored, project: Path, attempt: Try, at: datetime) -> tuple[Care, Evidence | None]:
    version = stored.version
    try:
        check = attempt(version.content, project)
    except (VerifierOutage, Mistake) as outage:  # a mistake: an example that cannot be a value
        told = outage.message if NOT_HERE in outage.message else f"{NOT_HERE}: {outage.message}"
        return _told(stored, told, at), None
    evidence = Evidence(
        version_id=version.id,
        outcome=Outcome.SUCCESS if check.passed else Outcome.FAILURE,
        grade=check.counts_as,
        at=at,
        verifier=check.verifier,
        by=BY_ITSELF,
        principal=BY_ITSELF,
        task=digest(("replay", version.hash, at.date().isoformat())),
        note=check.doubt or check.detail[-200:],
    )
    back = check.passed and not check.doubt and stored.status is Status.STALE
    move = stored.moved(Status.TRIAL, f"it works again: {check.verifier}", by=BY_ITSELF, at=at) if back else None
    return _told(stored, PASSED if check.passed else f"{FAILED}: {check.detail[-200:]}", at, move=move), evidence


def _told(stored: Stored, result: str, at: datetime, *, move: Transition | None = None) -> Care:
    version = stored.version
    remark = Remark(subject=version.id, about=About.VALIDATION, by=BY_ITSELF, at=at, text=result)
    return Care(
        kind=CareKind.VALIDATION, subject=version.id, name=version.name, reason=result, skill_id=stored.skill.id,
        move=move, remark=None if result.startswith(NOT_HERE) else remark,
    )  # fmt: skip
