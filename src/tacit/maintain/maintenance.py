"""Maintenance of the library: care, refinement, composition, promotion, revalidation, and the search index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from tacit.config.lazy import LazyModule
from tacit.domain.candidate import Finding, Verdict
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import Mistake
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import Transition
from tacit.domain.origin import Origin
from tacit.domain.ports import LanguageModel
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, SkillContent
from tacit.evidence.reliability import reliability
from tacit.providers.ground import look
from tacit.recall import publishing
from tacit.store import queries
from tacit.store.context import StoreContext

if TYPE_CHECKING:
    from tacit.gate import admission
    from tacit.gate.admission import Admission
    from tacit.maintain import (
        composition,
        contradictions,
        library_care,
        mirroring,
        promotion,
        revalidation,
        revision,
        status_changes,
    )
else:  # a command that only recalls loads none of them
    admission, composition = LazyModule("tacit.gate.admission"), LazyModule("tacit.maintain.composition")
    library_care, mirroring = LazyModule("tacit.maintain.library_care"), LazyModule("tacit.maintain.mirroring")
    contradictions = LazyModule("tacit.maintain.contradictions")
    promotion, revision = LazyModule("tacit.maintain.promotion"), LazyModule("tacit.maintain.revision")
    revalidation, status_changes = (
        LazyModule("tacit.maintain.revalidation"),
        LazyModule("tacit.maintain.status_changes"),
    )

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


class Maintenance:
    """Looks after the skills of one store. Plans change nothing; a person applies them."""

    def __init__(self, context: StoreContext, admission: Admission) -> None:
        self.context = context
        self._admission = admission

    # --- care ---------------------------------------------------------------------------------------------------

    def plan(self, *, only: Collection[CareKind] = (), progress: Progress | None = None) -> list[Care]:
        """Return everything that could be done for the library, with reasons. Changes nothing."""
        return library_care.plan(self.context, only=only, progress=progress)

    def apply(self, actions: Sequence[Care], *, by: str) -> tuple[list[Care], list[Transition]]:
        """Apply planned actions for a person; return what was done of each, and what evidence moved as well."""
        context = self.context
        policy, at = context.config.policy, context.now()
        done = library_care.apply(actions, self._admission.admit_in_scope, context.store, policy=policy, by=by, at=at)
        self.record_dependencies()
        publishing.publish(context.store, context.embedder)
        return done

    def apply_status_changes(self, version_ids: Collection[str] | None = None) -> list[Transition]:
        """Apply the status changes that verified evidence calls for."""
        context = self.context
        with context.store.transaction():
            moves = status_changes.apply_status_changes(
                context.store, context.config.policy, at=context.now(), version_ids=version_ids
            )
            if moves:
                publishing.publish(context.store, context.embedder)
        return moves

    def revalidate(self, *, keep: bool = False, progress: Progress | None = None) -> list[Care]:
        """Run procedures again in the sandbox on a copy of the project; with `keep` the result counts as evidence."""
        context = self.context
        if context.place is None:
            raise Mistake(
                "there is no project to try anything in", code="no_project", hint="open the store of a project"
            )
        at, policy = context.now(), context.config.policy
        tried = revalidation.revalidations(context.store, context.place.project, revalidation.replayed, at=at)
        found = library_care.revalidate(context.store, policy, tried, at=at, keep=keep, progress=progress)
        if keep:
            publishing.publish(context.store, context.embedder)
        return found

    def record_dependencies(self) -> None:
        """Record what usable skills rely on in this project, so that later changes to it can be noticed."""
        context = self.context
        if context.project is not None:
            revalidation.record_dependencies(context.store, context.project, look, at=context.now())

    def reliability(self, version_id: str) -> Reliability:
        """Return how reliable one version has been."""
        return reliability(self.context.store.evidence([version_id])[version_id])

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> publishing.Indexed:
        """Bring the search index up to date: missing vectors, or with `rebuild` everything."""
        return publishing.index(self.context.store, self.context.embedder, rebuild=rebuild, progress=progress)

    def without_vectors(self) -> int:
        """Return how many recallable versions have no vectors of the present embedder."""
        embedder = self.context.embedder
        return len(self.context.store.vectors.missing(embedder.identity)) if embedder else 0

    # --- new versions from old ----------------------------------------------------------------------------------

    def refine(self, reference: str) -> Verdict | None:
        """Propose the next version that runs of a skill suggest; None where they suggest none, or it was proposed before.

        It waits for a person; once approved it is on trial next to its parent, with its own evidence.
        """
        store = self.context.store
        return revision.propose_revision(store, self._admission.admit_in_scope, queries.find(store, reference))

    def contradictions(self, version_id: str) -> list[Finding]:
        """Return the skills in use that a version contradicts."""
        return contradictions.contradicted(self.context.store, self.context.store.version(version_id))

    def findings(self, reference: str = "") -> list[revision.SkillFindings]:
        """Return what runs ran into with one skill, or with every skill in use where they found something."""
        store = self.context.store
        if reference:
            return [revision.examine(store, queries.find(store, reference))]
        return revision.examine_all(store)

    def compare_with_parent(self, version_id: str) -> revision.ParentComparison | None:
        """Compare a version's results with those of the version it was made from; None where there is none."""
        return revision.compare_with_parent(self.context.store, self.context.store.version(version_id))

    def compose(
        self, name: str, parts: Sequence[str], *, by: str, description: str = "", origin: Origin = Origin.AGENT
    ) -> Verdict:
        """Propose a procedure made of approved ones, or the next version of the composite of that name."""
        store, scope = self.context.store, self.context.scope
        content, made_of = composition.compose(store, name, description, parts)
        known = next((stored for stored in queries.current(store) if stored.version.name == name), None)
        made = Provenance(made_by=by, source="compose")
        whole = admission.proposed(store, content, made=made, origin=origin, revises=known, scope=scope)
        with store.transaction():
            return self._admission.admit_unchanged(composition.with_part_parents(whole, made_of))

    def composite(self, name: str, parts: Sequence[str], *, description: str = "") -> SkillContent:
        """Return the content that `compose` would propose."""
        return composition.compose(self.context.store, name, description, parts)[0]

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
        done = mirroring.synchronise(self.context, promotion.promotion_request(self.context))
        publishing.publish(self.context.store, self.context.embedder)
        return done
