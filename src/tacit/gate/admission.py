"""What comes in, through the stages and memory: trajectories are kept, candidates put before the gate with what it must know.

What an agent did → a count of what became of it; a candidate → a verdict, kept together with the version that comes of it.
What may be recalled is decided by the gate, and by people.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime

from tacit import gate
from tacit.config.settings import Policy
from tacit.domain.candidate import Candidate, Finding, Relation, Verdict
from tacit.domain.errors import Mistake
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, SkillContent
from tacit.gate import approvals as trusting
from tacit.store import queries as shelf


def judged(store: Store, candidate: Candidate, *, policy: Policy, at: datetime) -> gate.Judgement:
    """What the gate says of a candidate beside what is known; nothing is kept."""
    existing = shelf.existing(store, candidate.content.sub_skills, candidate.scope)
    known, proven = shelf.alike(store, candidate), trusting.successes(store)
    others = shelf.neighbours(store, candidate)
    beside = [
        *gate.composition(candidate.content, existing),
        *gate.disagreements(candidate, others),
        *gate.interference(candidate, known, others),
    ]
    return gate.judge(candidate, known, policy, at=at, beside=beside, successes=proven)


def admit(store: Store, candidate: Candidate, *, policy: Policy, at: datetime) -> Verdict:
    """Judge a candidate against what is known, and keep verdict and version; belongs into a transaction."""
    judgement = judged(store, candidate, policy=policy, at=at)
    verdict = judgement.verdict
    skill, version, move = judgement.skill, judgement.version, judgement.transition
    if skill and version and move:
        if not store.add_version(skill, version, move):
            verdict = dataclasses.replace(verdict, relation=Relation.REINFORCE, id="")  # known, word for word
    elif move:
        store.add_transition(move)
    store.add_verdict(verdict)
    return verdict


def proposed(
    store: Store, content: SkillContent, *, made: Provenance, origin: Origin, revises: Stored | None, scope: Scope
) -> Candidate:
    """What somebody wrote as a candidate: a new skill of the scope, or the next version of the one it revises."""
    by = made.made_by
    if by.startswith("tacit."):
        raise Mistake(f"{by!r} is a name of Tacit's own", hint="say who proposes it")
    before = [revises.version] if revises else []
    candidate = Candidate(
        content=content,
        scope=revises.skill.scope if revises else scope,
        origins={},
        provenance=made,
        revises=revises.skill.id if revises else "",
        parents=tuple(version.id for version in before),
        by=by,
    )
    # A known text does not become the writer's own under another name.
    known = [*shelf.named_in(store, content), *(held.version for held in shelf.alike(store, candidate))]
    origins = gate.origins_of_edit(content, origin, before, named=known)
    return dataclasses.replace(candidate, origins=origins)


def turn_away(store: Store, why: Finding, *, trajectory_id: str, name: str, policy: Policy, at: datetime) -> Verdict:
    """Note why an attempt gives nothing."""
    verdict = gate.turned_away([why], trajectory_id=trajectory_id, name=name, policy=policy, at=at)
    store.add_verdict(verdict)
    return verdict
