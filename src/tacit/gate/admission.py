"""The only way into the library: a candidate is compared with what is known, judged, and stored with its verdict.

`Admission` is what other parts use; the functions below it are its steps.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime

from tacit import gate
from tacit.config.settings import Policy
from tacit.domain.candidate import Candidate, Finding, Relation, Verdict
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, SkillContent
from tacit.domain.stored import Episode, Stored
from tacit.gate import approvals
from tacit.gate.findings import finding
from tacit.recall import publishing
from tacit.store import queries
from tacit.store.context import StoreContext


class Admission:
    """Admits candidates to a store: everything that becomes a version passes here."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def admit(self, candidate: Candidate) -> Verdict:
        """Judge a learned candidate at this scope. What was purged before is rejected, not learned again."""
        try:
            return self.admit_as_is(self._context.at_this_scope(candidate))
        except GateRefusal as refusal:
            first = next(iter(candidate.provenance.trajectory_ids), "")
            return self.reject(finding("purged", why=refusal.message), first)

    def admit_as_is(self, candidate: Candidate) -> Verdict:
        """Judge a candidate at its own scope; store the verdict, and the version if there is one."""
        context = self._context
        verdict = admit(context.store, candidate, policy=context.config.policy, at=context.now())
        publishing.publish(context.store, context.embedder)
        return verdict

    def twin(self, candidate: Candidate) -> Stored | None:
        """Return the known skill that says the same as the candidate, if there is one."""
        context = self._context
        here = context.at_this_scope(candidate)
        twin = gate.twin_of(here, queries.similar_versions(context.store, here), context.config.policy)
        return queries.newest_not_rejected(context.store.versions(twin.skill.id)) if twin else None

    def confirms(self, candidate: Candidate, known: Stored) -> bool:
        """Whether an attempt did what a known skill says, whatever else it did."""
        return gate.carries_out(candidate.content, known.version.content)

    def turn_away(self, episode: Episode, reason: str, text: str) -> Verdict:
        """Store why an attempt gives no candidate."""
        return self.reject(Finding(rule=reason, message=text), episode.id, name=episode.task[:80])

    def reject(self, finding: Finding, trajectory_id: str, *, name: str = "") -> Verdict:
        """Store a rejection of something that never became a candidate."""
        context = self._context
        policy, at = context.config.policy, context.now()
        return turn_away(context.store, finding, trajectory_id=trajectory_id, name=name, policy=policy, at=at)


def judged(store: Store, candidate: Candidate, *, policy: Policy, at: datetime) -> gate.GateResult:
    """Judge a candidate against the known skills; stores nothing."""
    existing = queries.existing_names(store, candidate.content.sub_skills, candidate.scope)
    known, proven = queries.similar_versions(store, candidate), approvals.successes(store)
    others = queries.neighbours(store, candidate)
    extra_findings = [
        *gate.composition(candidate.content, existing),
        *gate.disagreements(candidate, others),
        *gate.interference(candidate, known, others),
    ]
    return gate.judge(candidate, known, policy, at=at, extra_findings=extra_findings, successes=proven)


def admit(store: Store, candidate: Candidate, *, policy: Policy, at: datetime) -> Verdict:
    """Judge a candidate and store the verdict, the version and its transition. Call it inside a transaction."""
    judgement = judged(store, candidate, policy=policy, at=at)
    verdict = judgement.verdict
    skill, version, move = judgement.skill, judgement.version, judgement.transition
    if skill and version and move:
        if not store.add_version(skill, version, move):
            verdict = dataclasses.replace(
                verdict, relation=Relation.REINFORCE, id=""
            )  # the same content was stored before
    elif move:
        store.add_transition(move)
    store.add(verdict)
    return verdict


def proposed(
    store: Store, content: SkillContent, *, made: Provenance, origin: Origin, revises: Stored | None, scope: Scope
) -> Candidate:
    """Return what a person or agent wrote as a candidate: a new skill, or the next version of the one it revises."""
    by = made.made_by
    if by.startswith("tacit."):
        raise Mistake(f"{by!r} is reserved for Tacit itself", code="reserved_name", hint="say who proposes it")
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
    # Text of a known skill keeps its origin even if it is proposed under another name.
    known = [
        *queries.versions_named_in(store, content),
        *(held.version for held in queries.similar_versions(store, candidate)),
    ]
    origins = gate.origins_of_edit(content, origin, before, named=known)
    return dataclasses.replace(candidate, origins=origins)


def turn_away(store: Store, why: Finding, *, trajectory_id: str, name: str, policy: Policy, at: datetime) -> Verdict:
    """Store why an attempt gives no candidate."""
    verdict = gate.turned_away([why], trajectory_id=trajectory_id, name=name, policy=policy, at=at)
    store.add(verdict)
    return verdict
