"""The only way into the library: a candidate is compared with what is known, judged, and stored with its verdict.

`Admission` is what other parts use; the functions below it are its steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from datetime import datetime

from tacit.config.settings import Policy
from tacit.domain.candidate import Candidate, Finding, Relation, Verdict
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, SkillContent, SkillVersion
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Origin
from tacit.gate.duplicates import disagreements
from tacit.gate.findings import finding
from tacit.gate.formation_policy import independent_successes, missing_parts
from tacit.gate.judgement import GateResult, judge, nearest_skill, rejection
from tacit.gate.origins import origins_of_edit
from tacit.recall import publishing
from tacit.store import Store, queries
from tacit.store.context import StoreContext


class Admission:
    """Admits candidates to a store. Only mirrors of approved skills enter otherwise; `maintain.mirroring` re-checks those."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def admit_in_scope(self, candidate: Candidate) -> Verdict:
        """Admit a learned candidate at this store's scope. What was purged before is rejected, not learned again."""
        try:
            return self.admit_at_own_scope(self._placed(candidate))
        except GateRefusal as refusal:
            first = next(iter(candidate.provenance.trajectory_ids), "")
            return self.record_rejection(finding("purged", why=refusal.message), first)

    def admit_at_own_scope(self, candidate: Candidate) -> Verdict:
        """Admit a candidate at its own scope: store the verdict, and the version and its transition if there are any."""
        context, store = self._context, self._context.store
        with store.transaction():
            result = judge_against_store(store, candidate, policy=context.config.policy, at=context.now())
            verdict = result.verdict
            if result.skill and result.version and result.transition:
                if not store.add_version(result.skill, result.version, result.transition):
                    # The same content was stored before.
                    verdict = dataclasses.replace(verdict, relation=Relation.REINFORCE, id="")
            elif result.transition:
                store.add_transition(result.transition)
            store.add(verdict)
            publishing.publish(store, context.embedder)
        return verdict

    def preview(self, candidate: Candidate) -> Verdict:
        """Return what the gate would decide on a candidate at its own scope; stores nothing."""
        context, store = self._context, self._context.store
        content = candidate.content
        if store.tombstones(content.hash()):
            message = f"`{content.name}` was purged and is refused"
            raise GateRefusal(message, code="purged", hint="see `tacit skills history`")
        verdict = judge_against_store(store, candidate, policy=context.config.policy, at=context.now()).verdict
        known = bool(verdict.version_id) and verdict.version_id in store.resolve(verdict.version_id)
        return dataclasses.replace(verdict, relation=Relation.REINFORCE) if known else verdict

    def _placed(self, candidate: Candidate) -> Candidate:
        """Return the candidate at its session's scope where nothing like it is known around it, else at this store's."""
        context, placed = self._context, self._context.at_this_scope(candidate)
        around = dataclasses.replace(placed, scope=context.scope)
        if placed.scope == around.scope:
            return placed
        similar = queries.similar_versions(context.store, around)
        return around if nearest_skill(around, similar, context.config.policy, rejected=True) else placed

    def matching_version(self, candidate: Candidate) -> StoredVersion | None:
        """Return the newest version of the skill that the candidate would extend or confirm, if there is one."""
        context = self._context
        here = context.at_this_scope(candidate)
        closest = nearest_skill(here, queries.similar_versions(context.store, here), context.config.policy)
        return queries.newest_not_rejected(context.store.versions(closest.skill.id)) if closest else None

    def reject_episode(self, episode: Episode, reason: str, text: str) -> Verdict:
        """Store why an attempt gives no candidate."""
        return self.record_rejection(Finding(rule=reason, message=text), episode.id, name=episode.task[:80])

    def record_rejection(self, why: Finding, trajectory_id: str, *, name: str = "") -> Verdict:
        """Store a rejection of an attempt that gives no candidate."""
        context = self._context
        policy, at = context.config.policy, context.now()
        verdict = rejection([why], trajectory_id=trajectory_id, name=name, policy=policy, at=at)
        context.store.add(verdict)
        return verdict


def judge_against_store(store: Store, candidate: Candidate, *, policy: Policy, at: datetime) -> GateResult:
    """Judge a candidate against the known skills; stores nothing."""
    existing = queries.existing_names(store, candidate.content.sub_skills, candidate.scope)
    similar = queries.similar_versions(store, candidate)
    others = queries.neighbours(store, candidate)
    overlay = [finding("overlay", name=candidate.content.extends)] if candidate.content.extends else []
    found = [*overlay, *missing_parts(candidate.content, existing), *disagreements(candidate, others)]

    def successes(trajectory_ids: Collection[str]) -> int:
        return independent_successes(map(store.episode, trajectory_ids))

    return judge(candidate, similar, policy, at=at, library_findings=found, successes=successes)


def candidate_from_proposal(
    store: Store,
    content: SkillContent,
    *,
    made: Provenance,
    origin: Origin,
    revises: StoredVersion | None,
    scope: Scope,
) -> Candidate:
    """Return what a person or agent wrote as a candidate: a new skill, or the next version of the one it revises."""
    by = made.made_by
    if made.by_tacit:
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
    copied_from: list[SkillVersion] = []
    if origin is not Origin.EXTERNAL:  # text of a known skill keeps its lower origin, also under another name
        copied_from += queries.versions_named_in(store, content)
        copied_from += (stored.version for stored in queries.similar_versions(store, candidate))
    origins = origins_of_edit(content, origin, before, named=copied_from)
    return dataclasses.replace(candidate, origins=origins)
