"""Maintenance of the library: care, refinement, composition, promotion, revalidation, and the search index.

`plan` finds everything that could be done and only reads; `apply` makes planned changes for a person, one transaction each, and
lets new evidence change statuses. Nothing is deleted. Pinned skills are reported and left alone.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress

from tacit.domain.candidate import Candidate, Finding, GateDecision, Verdict
from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind
from tacit.domain.errors import GateRefusal, IllegalTransition, Mistake, NotFound, StaleVersion
from tacit.domain.evidence import Evidence
from tacit.domain.ledger import About, pinned
from tacit.domain.lifecycle import RECALLABLE, Status, Transition, coded
from tacit.domain.ports import LanguageModel
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, SkillContent
from tacit.domain.trajectory import Origin
from tacit.evidence.skill_usage import SkillUsage, missed_evidence
from tacit.gate.admission import Admission, candidate_from_proposal
from tacit.learn import friction_notes
from tacit.maintain import composition, contradictions, mirroring, promotion, revalidation, revision
from tacit.maintain.merging import merges, superseded
from tacit.maintain.revalidation import look
from tacit.maintain.status_changes import (
    LibraryView,
    Progress,
    apply_status_changes,
    earned_changes,
    stale_skills,
    suspended_versions,
    useless_skills,
)
from tacit.recall import publishing
from tacit.store import queries
from tacit.store.context import StoreContext


class _OutOfTime(Exception):
    """The time for a plan is up."""


_GONE = frozenset({Status.REJECTED, Status.RETIRED, Status.QUARANTINED})


class Maintenance:
    """Looks after the skills of one store. Plans change nothing; a person applies them."""

    def __init__(self, context: StoreContext, admission: Admission) -> None:
        self.context, self._store = context, context.store
        self._admission = admission

    # --- care ---------------------------------------------------------------------------------------------------

    def plan(
        self, *, only: Collection[CareKind] = (), progress: Progress | None = None, seconds: float = math.inf
    ) -> list[Care]:
        """Return everything that could be done for the library now, with reasons, by kind. Changes nothing.

        After so many seconds the rest is left for another time.
        """
        store, at, until = self._store, self.context.now(), time.monotonic() + seconds

        def watched(done: int, total: int) -> None:
            if time.monotonic() > until:
                raise _OutOfTime
            if progress:
                progress(done, total)

        library = LibraryView(store, self.context.config.policy, at=at, progress=watched)
        checks: tuple[Callable[[], Iterable[Care]], ...] = (
            lambda: earned_changes(library),
            lambda: suspended_versions(library),
            lambda: useless_skills(library),
            lambda: stale_skills(library),
            lambda: superseded(library),
            lambda: merges(library),
            lambda: contradictions.cares(store, at=at),
            lambda: composition.cares(store, at=at),
            lambda: revision.cares(store),
            lambda: promotion.cares(self.context, at=at),
            lambda: revalidation.contracts(store, self.context.project, look, at=at),
        )
        findings: list[Care] = []
        for check in checks:
            if time.monotonic() <= until:
                with suppress(_OutOfTime):
                    findings += check()
        moved: set[str] = set()
        cares: list[Care] = []
        for care in findings:
            if care.move and care.move.version_id in moved:
                continue  # the first check that changes a version's status wins
            moved |= {care.move.version_id} if care.move else set()
            if library.pinned.isdisjoint(_changed_skills(care)):
                cares.append(care)
            else:
                advice = (coded(Advice.PINNED),)
                cares.append(dataclasses.replace(care, move=None, candidate=None, remark=None, advice=advice))
        gone = {care.move.version_id for care in cares if care.move and care.move.after not in RECALLABLE}
        cares = [care for care in cares if care.kind is not CareKind.PROMOTION or care.subject not in gone]
        order = list(CareKind)
        return sorted((c for c in cares if not only or c.kind in only), key=lambda care: order.index(care.kind))

    def care_by_itself(self, *, seconds: float) -> int:
        """Put the merged and improved versions that `plan` finds through the gate; they wait for review.

        Return how many other findings need a person. Nothing else changes; for the background learner.
        """
        cares = self.plan(seconds=seconds)
        proposed = [care for care in cares if care.candidate and not care.move]
        for care in proposed:
            with suppress(StaleVersion, NotFound, GateRefusal), self._store.transaction():
                if care.candidate:
                    self._require_admission(care.candidate)
        return len(cares) - len(proposed)

    def apply(self, actions: Sequence[Care], *, by: str) -> tuple[list[Care], list[Transition]]:
        """Apply planned actions for a person; return what was done of each, and what evidence moved as well."""
        at = self.context.now()
        with self._store.transaction():
            late = missed_evidence(self._store, at=at)
            for evidence in late:
                self._store.add(evidence)
            for trajectory in map(self._store.trajectory, dict.fromkeys(each.trajectory_id for each in late)):
                guided = SkillUsage(self._store, trajectory).guided
                friction_notes.note_friction(self._store, trajectory, guided, at=at)
        left_alone = pinned(self._store.remarks(about=About.PIN))
        done = [self._applied(care, left_alone, by=by) for care in actions]
        moves = apply_status_changes(self._store, self.context.config.policy, at=at)
        self.record_dependencies()
        self._publish()
        return done, moves

    def _applied(self, care: Care, left_alone: Collection[str], *, by: str) -> Care:
        """Apply one finding, if it changes something and is not pinned; where that fails, the advice says why."""
        if not _changed_skills(care).isdisjoint(left_alone) or not (care.move or care.candidate or care.remark):
            return care
        try:
            with self._store.transaction():
                if care.candidate:
                    self._require_admission(care.candidate)
                if care.move:  # on standing evidence decides, not the person who applies it
                    who = BY_ITSELF if care.kind is CareKind.STANDING else by
                    self._store.add_transition(dataclasses.replace(care.move, by=who, at=self.context.now(), id=""))
                if care.remark:
                    self._store.add(care.remark)
        except (StaleVersion, IllegalTransition, NotFound, GateRefusal) as refusal:
            why = coded(Advice.NOT_APPLIED, error=refusal.code, message=refusal.message)
            return dataclasses.replace(care, advice=(why,))
        return dataclasses.replace(care, applied=True)

    def _require_admission(self, candidate: Candidate) -> None:
        for stored in map(self._store.version, candidate.parents):
            if stored.status in _GONE:  # turned down since the plan was made
                raise StaleVersion(f"`{stored.version.name}` is now {stored.status}", hint="run `tacit tend` again")
        verdict = self._admission.admit_in_scope(candidate)
        if verdict.decision is GateDecision.REJECT:
            why = "; ".join(each.message for each in verdict.findings[:2])
            raise GateRefusal(f"the gate rejected it: {why}", code="rejected_by_gate")

    def apply_status_changes(self, version_ids: Collection[str] | None = None) -> list[Transition]:
        """Apply the status changes that verified evidence calls for."""
        policy, at = self.context.config.policy, self.context.now()
        with self._store.transaction():
            moves = apply_status_changes(self._store, policy, at=at, version_ids=version_ids)
            if moves:
                self._publish()
        return moves

    def revalidate(self, *, keep: bool = False, progress: Progress | None = None) -> list[Care]:
        """Run procedures again in the sandbox on a copy of the project; with `keep` the result counts as evidence."""
        if self.context.place is None:
            raise Mistake(
                "there is no project to try anything in", code="no_project", hint="open the store of a project"
            )
        project, at = self.context.place.project, self.context.now()
        tried = revalidation.revalidations(self._store, project, revalidation.replayed, at=at, progress=progress)
        found = self.keep_results(tried, keep=keep)
        if keep:
            self._publish()
        return found

    def keep_results(self, tried: Iterable[tuple[Care, Evidence | None]], *, keep: bool = False) -> list[Care]:
        """Return what came of running skills again; with `keep` it is stored as evidence and may change statuses."""
        found: list[Care] = []
        left_alone, policy = pinned(self._store.remarks(about=About.PIN)), self.context.config.policy
        for care, evidence in tried:
            wanted = dataclasses.replace(care, move=None) if care.skill_id in left_alone else care
            if keep:
                with self._store.transaction():
                    if wanted.remark:
                        self._store.add(wanted.remark)
                    if evidence:
                        self._store.add(evidence)
                    if wanted.move:
                        self._store.add_transition(wanted.move)
                    apply_status_changes(self._store, policy, at=self.context.now(), version_ids=[wanted.subject])
            found.append(dataclasses.replace(wanted, applied=keep and bool(wanted.remark or wanted.move)))
        return found

    def record_dependencies(self) -> None:
        """Record what usable skills rely on in this project, so that later changes to it can be noticed."""
        if self.context.project is not None:
            revalidation.record_dependencies(self._store, self.context.project, look, at=self.context.now())

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> publishing.Indexed:
        """Bring the search index up to date: missing vectors, or with `rebuild` everything."""
        return publishing.index(self._store, self.context.embedder, rebuild=rebuild, progress=progress)

    def without_vectors(self) -> int:
        """Return how many recallable versions have no vectors of the present embedder."""
        embedder = self.context.embedder
        return len(self._store.vectors.missing(embedder.identity)) if embedder else 0

    def _publish(self) -> None:
        publishing.publish(self._store, self.context.embedder)

    # --- new versions from old ----------------------------------------------------------------------------------

    def refine(self, reference: str) -> Verdict | None:
        """Propose the next version that runs of a skill suggest; None where they suggest none, or it was proposed before.

        It waits for a person; once approved it is on trial next to its parent, with its own evidence.
        """
        candidate = revision.examine(self._store, queries.find(self._store, reference)).candidate
        if candidate is None:
            return None
        return self._admission.admit_in_scope(candidate)

    def contradictions(self, version_id: str) -> list[Finding]:
        """Return the skills in use that a version contradicts."""
        return contradictions.contradicted(self._store, self._store.version(version_id))

    def findings(self, reference: str = "") -> list[revision.SkillFindings]:
        """Return what runs ran into with one skill, or with every skill in use where they found something."""
        if reference:
            return [revision.examine(self._store, queries.find(self._store, reference))]
        return revision.examine_all(self._store)

    def compare_with_parent(self, version_id: str) -> revision.ParentComparison | None:
        """Compare a version's results with those of the version it was made from; None where there is none."""
        return revision.compare_with_parent(self._store, self._store.version(version_id))

    def compose(
        self, name: str, parts: Sequence[str], *, by: str, description: str = "", origin: Origin = Origin.AGENT
    ) -> Verdict:
        """Propose a procedure made of approved ones, or the next version of the composite of that name."""
        store, scope = self._store, self.context.scope
        content, made_of = composition.compose(store, name, description, parts)
        known = next((stored for stored in queries.current(store) if stored.version.name == name), None)
        made = Provenance(made_by=by, source="compose")
        whole = candidate_from_proposal(store, content, made=made, origin=origin, revises=known, scope=scope)
        parents = (*whole.parents, *(each.version.id for each in made_of))  # what it is made of, too
        return self._admission.admit_at_own_scope(dataclasses.replace(whole, parents=parents))

    def composite(self, name: str, parts: Sequence[str], *, description: str = "") -> SkillContent:
        """Return the content that `compose` would propose."""
        return composition.compose(self._store, name, description, parts)[0]

    # --- promotion ----------------------------------------------------------------------------------------------

    def promote(
        self,
        reference: str,
        to: Scope | str = "",
        *,
        by: str,
        ticked: Collection[str] | None = (),
        rewrite: bool = False,
        model: LanguageModel | None = None,
    ) -> promotion.Promoted:
        """Copy a version to a broader scope for a person, and approve it there; to the next scope if none is named.

        Confirmations are asked for as in `review`; `None` leaves it waiting there. `rewrite` replaces local values.
        """
        request = promotion.promotion_request(self.context, by=by, ticked=ticked, model=model)
        return promotion.promote_skill(self.context, reference, to, request, rewrite=rewrite)

    def preview(
        self, reference: str, to: Scope | None, *, by: str, rewrite: bool = False
    ) -> promotion.PromotionPreview:
        """Return what `promote` would copy, and what objects to it; raise `GateRefusal` where a gate is closed."""
        request = promotion.promotion_request(self.context, by=by)
        return promotion.preview_promotion(self.context, reference, to, request, rewrite=rewrite)

    def prospects(self) -> list[promotion.Prospect]:
        """Return what could move to a broader scope, and what the next gate still requires."""
        return promotion.promotion_prospects(self.context, promotion.promotion_request(self.context))

    def sync_from_home(self) -> mirroring.Synchronised:
        """Bring in what the person approved beyond this project, and report the results of this project there."""
        done = mirroring.synchronise(self.context)
        self._publish()
        return done


def _changed_skills(care: Care) -> set[str]:
    """Ids of the skills that a finding is about and would change."""
    return {care.skill_id, care.candidate.revises} if care.candidate else {care.skill_id}
