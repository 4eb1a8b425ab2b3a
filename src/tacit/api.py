"""The whole story on one page: one short method per verb, wiring the stages.

experience → synthesis → gate → memory → recall → application → outcome, and around again. Stages do not know each other;
what one needs of another is fetched here and passed in. Times come from one clock, given at construction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import evidence as outcome
from tacit import render as application
from tacit.config.checkout import commit_at_work, workspace
from tacit.config.later import Later
from tacit.domain.candidate import Candidate, Finding, Verdict
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.evidence import Evidence, Grade, Outcome, Reliability, Use
from tacit.domain.lifecycle import Transition
from tacit.domain.model import LanguageModel
from tacit.domain.origin import Origin
from tacit.domain.ports import Episode, FoundEpisode, Store, Stored
from tacit.domain.scope import Scope
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Capabilities, Kind, Provenance, SkillContent, parse_kinds, parse_names
from tacit.domain.trajectory import Trajectory
from tacit.domain.verification import Verifier
from tacit.evidence import Followed, capture, controls, parse_outcome
from tacit.evidence.capture import Captured
from tacit.evidence.verifiers import verify
from tacit.learn.report import Applied, Learned
from tacit.offering import Offering
from tacit.providers.ground import look
from tacit.recall import catalogue, publishing, retrieval
from tacit.store import queries as shelf
from tacit.text.allowance import allowance
from tacit.text.redaction import redact

if TYPE_CHECKING:
    from tacit import gate
    from tacit.gate import admission as intake
    from tacit.gate import approvals as trusting
    from tacit.learn import origin_cap as fencing
    from tacit.learn import pipeline as learning
    from tacit.maintain import care as tending
    from tacit.maintain import compose as composing
    from tacit.maintain import promotion as promoting
    from tacit.maintain import refine as refining
    from tacit.maintain import revalidate as validating
else:  # most commands use few of them, and none should wait for all
    gate, intake, trusting = Later("tacit.gate"), Later("tacit.gate.admission"), Later("tacit.gate.approvals")
    fencing, learning = Later("tacit.learn.origin_cap"), Later("tacit.learn.pipeline")
    tending, composing, promoting = (
        Later("tacit.maintain.care"),
        Later("tacit.maintain.compose"),
        Later("tacit.maintain.promotion"),
    )
    refining, validating = Later("tacit.maintain.refine"), Later("tacit.maintain.revalidate")

Progress = Callable[[int, int], None]
"""Told how much is done, of how much."""


class Loop(Offering):
    """A memory of skills: everything one can do with it. Get one from `tacit.open()`."""

    # --- experience ---------------------------------------------------------------------------------------------

    def capture(self, trajectories: Trajectory | Iterable[Trajectory], *, trust_outcomes: bool = False) -> Captured:
        """Keep what an agent did, secrets taken out first. Capturing the same attempt again adds nothing.

        `trust_outcomes` accepts an outcome written in the document, with the name of its verifier, as machine-verified.
        An attempt that was captured before without it then waits to be learned from again.
        """
        self._require_running()
        exclude, now = self.config.store.exclude, self._now
        return capture.capture(self.store, trajectories, exclude=exclude, trust_outcomes=trust_outcomes, now=now)

    # --- synthesis → gate → memory ------------------------------------------------------------------------------

    def learn(self, *, progress: Progress | None = None, model: LanguageModel | None = None) -> Learned:
        """Distil and gate everything not yet learned from, then compare it with what was there before.

        Each attempt is one transaction, and so is each group of attempts that are compared: all of it or nothing, so
        that what an interrupted pass did is not done again. A language model words what is new, within its own budget;
        where it fails, what was mined stands. Approvals that today's checks no longer bear out are taken back first, and at
        the end versions are moved that verified evidence says it of. What was approved beyond this project comes in before.
        """
        self._require_running()
        self.adopt()
        stale = trusting.keep_up(self.store, self.config.policy, at=self._now())
        learned = learning.Pass(self.store, self, now=self._now, model=model).run(progress)
        self.prune()
        self._note_ground()
        return dataclasses.replace(learned, verdicts=(*stale, *learned.verdicts), settled=tuple(self._settle()))

    def admit(self, candidate: Candidate) -> Verdict:
        """Put what was learned before the gate. Everything is learned at the project; narrower scopes come with sessions."""
        try:
            return self._admit(self.placed(candidate))
        except GateRefusal as refusal:  # what was purged is not learned again
            first = next(iter(candidate.provenance.trajectory_ids), "")
            return self._turn_away(Finding(rule="purged", message=refusal.message), first)

    def twin(self, candidate: Candidate) -> Stored | None:
        """The known skill that a candidate is the same as, if there is one."""
        here = self.placed(candidate)
        twin = gate.twin_of(here, shelf.alike(self.store, here), self.config.policy)
        return shelf.newest_standing(self.store.versions(twin.skill.id)) if twin else None

    def confirms(self, candidate: Candidate, known: Stored) -> bool:
        """Whether an attempt went the way of a known skill, whatever else it did."""
        return gate.carries_out(candidate.content, known.version.content)

    def turn_away(self, episode: Episode, reason: str, text: str) -> Verdict:
        """Note why an attempt gives nothing."""
        return self._turn_away(Finding(rule=reason, message=text), episode.id, name=episode.task[:80])

    def _turn_away(self, why: Finding, trajectory_id: str, *, name: str = "") -> Verdict:
        policy, at = self.config.policy, self._now()
        return intake.turn_away(self.store, why, trajectory_id=trajectory_id, name=name, policy=policy, at=at)

    def propose(
        self,
        content: SkillContent,
        *,
        by: str,
        origin: Origin = Origin.AGENT,
        revises: Stored | None = None,
        source: str = "",
        scope: Scope | None = None,
    ) -> Verdict:
        """Put a skill before the gate, whoever wrote it: a new one, or the next version of the one it revises.

        It belongs to this project, or to the team or session that `scope` names; broader ones are reached by promotion.
        """
        if scope is not None and scope.level in promoting.AT_HOME:
            raise Mistake(f"nothing is proposed at {scope}", hint="propose it here; `tacit promote` takes it further")
        made, here = Provenance(made_by=by, source=source), scope or self.scope
        candidate = intake.proposed(self.store, content, made=made, origin=origin, revises=revises, scope=here)
        if origin is Origin.AGENT:
            candidate = fencing.Fence(self.store).held_against_the_latest(candidate)
        with self.store.transaction():
            return self._admit(candidate)

    def compose(
        self, name: str, parts: Sequence[str], *, by: str, description: str = "", origin: Origin = Origin.AGENT
    ) -> Verdict:
        """Put a procedure made of approved ones before the gate, or the next version of the composite of that name."""
        content, made_of = composing.compose(self.store, name, description, parts)
        known = next((held for held in self.skills() if held.version.name == name), None)
        made = Provenance(made_by=by, source="compose")
        whole = intake.proposed(self.store, content, made=made, origin=origin, revises=known, scope=self.scope)
        with self.store.transaction():
            return self._admit(composing.derived(whole, made_of))

    def composite(self, name: str, parts: Sequence[str], *, description: str = "") -> SkillContent:
        """What `compose` would put before the gate."""
        return composing.compose(self.store, name, description, parts)[0]

    def refine(self, reference: str) -> Verdict | None:
        """Propose the next version that runs of a skill show; nothing where they show none, or it was proposed before.

        It waits for a person, and once approved it is on trial beside its parent, with evidence of its own.
        """
        return refining.refine(self.store, self, shelf.find(self.store, reference))

    def _admit(self, candidate: Candidate) -> Verdict:
        """The one door: judge a candidate against what is known, and keep verdict and version together."""
        verdict = intake.admit(self.store, candidate, policy=self.config.policy, at=self._now())
        publishing.publish(self.store, self.embedder)
        return verdict

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
    ) -> promoting.Promoted:
        """Take a version to a broader scope on a person's word, and approve that text there; the next rung if none is named.

        Ticks are asked for as in `review`; `None` leaves it waiting there. `rewrite` puts placeholders for what is local.
        """
        ask = promoting.asked(self, by=by, at=self._now(), ticked=ticked, model=model)
        return promoting.move_up(self, self._beside, reference, to, ask, rewrite=rewrite)

    def prospects(self) -> list[promoting.Prospect]:
        """What could move to a broader scope, and what its next gate still asks for."""
        return promoting.could_move(self, promoting.asked(self, at=self._now()))

    def adopt(self) -> promoting.Adopted:
        """Bring in what the person approved beyond this project, and tell their own store what came of it here."""
        met = promoting.meet(self, self._beside, promoting.asked(self, at=self._now()), settle=Loop._settle)
        publishing.publish(self.store, self.embedder)
        return met

    def _beside(self, store: Store, scope: Scope) -> Loop:
        return Loop(store, config=self.config, scope=scope, embedder=self._embedder, clock=self._now)

    # --- recall → application -----------------------------------------------------------------------------------

    def recall(
        self,
        task: str,
        *,
        k: int | None = None,
        budget_tokens: int | None = None,
        state: Mapping[str, Any] | None = None,
        tools: Sequence[str] | None = None,
        scope: Scope | str | None = None,
        kinds: Sequence[Kind | str] | str | None = None,
        category: str | None = None,
        min_reliability: float | None = None,
        allowed: Capabilities | Sequence[str] | None = None,
        model: str = "",
        person: str = "",
        surface: str = "api",
        session: str = "",
        keep: bool = True,
    ) -> Selection:
        """Find the skills that fit a task, or explain why none is given. What is given is kept as a use, unless not wanted.

        `state` tells what the situation looks like (see `recall.state`), `model` which language model will use the skills.
        `person` is who is helped, if not whoever works here. `session` names the session of the run, whose capture credits it.
        `allowed` leaves out whatever touches more (`["hosts=api.example.com", "commands=git"]`); not given: all may be.
        """
        query = Query(
            text=task,
            k=self.config.recall.k if k is None else k,
            budget_tokens=self.config.recall.budget_tokens if budget_tokens is None else budget_tokens,
            scope=Scope.parse(scope) if isinstance(scope, str) else scope or self.scope,
            state={} if state is None else state,
            tools=parse_names(tools),
            kinds=parse_kinds(kinds),
            category=category or "",
            min_reliability=min_reliability,
            model=model,
            allowed=allowance(allowed),
            person=person,
        )
        lots = controls.Lots.here(self.config.policy.hold_out if keep else 0.0, self.place, session=session)
        drawn = lots.draw(self.store, self.weigh(query))
        selection = retrieval.written(drawn.selection)
        if not keep:
            return selection
        commit = commit_at_work(self.place.project if self.place else None)
        use = Use(
            version_ids=selection.version_ids,
            task=redact(task).text,
            at=self._now(),
            surface=surface,
            session_id=session,
            model=model,
            commit=commit,
            scope=str(query.scope),
        )
        return self._asked(dataclasses.replace(drawn, selection=selection).keep(self.store, use), session)

    def weigh(self, query: Query) -> Selection:
        """Answer a query without keeping that it was asked: to see all scores, or to measure recall."""
        if self.paused:
            return Selection(query=query, reason="Tacit is paused here (tacit pause --resume ends it)")
        query = query if query.person else dataclasses.replace(query, person=self.person)
        least = self.config.recall.min_relevance
        selection = retrieval.choose(self.store, query, now=self._now(), min_relevance=least, embedder=self.embedder)
        empty = shelf.why_empty(self.store) if selection.abstained and not selection.left_out else ""
        return dataclasses.replace(selection, reason=empty or selection.reason)

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> publishing.Indexed:
        """Bring what skills are found by up to date: vectors of this embedder, or with `rebuild` everything."""
        return publishing.index(self.store, self.embedder, rebuild=rebuild, progress=progress)

    def episodes(self, task: str, *, limit: int = 5) -> list[FoundEpisode]:
        """Find past attempts at similar tasks."""
        return self.store.search_episodes(task, limit=limit)

    def catalogue(self, home: Path | None = None) -> application.Catalogue:
        """Everything an agent could be offered: skills in this project's and user's folders, and the learned ones."""
        project = self.place.project if self.place else None
        return catalogue.offered(self.store, self.may_see, project=project, home=home, reliability=self.reliability)

    def apply(
        self,
        name: str,
        *,
        home: Path | None = None,
        tools: Sequence[str] | None = None,
        allowed: Capabilities | Sequence[str] | None = None,
        surface: str = "api",
    ) -> Applied:
        """Activate one skill of the catalogue: its text with overlays, its files by name, and the tools it leaves open.

        A learned skill that is activated is kept as a use, so that its outcome can be recorded.
        """
        entry = next((entry for entry in self.catalogue(home).entries if entry.name == name), None)
        if entry is None:
            raise NotFound(f"no skill {name!r} may be applied here", hint="see `tacit skills list`")
        entry = trusting.within(entry, allowance(allowed))
        use_id = ""
        if entry.version_id and not self.paused:
            shown, commit = (entry.version_id,), commit_at_work(self.place.project if self.place else None)
            use = Use(version_ids=shown, task=f"apply {name}", at=self._now(), surface=surface, commit=commit)
            self.store.add_use(use)
            use_id = use.id
        text, files = application.body_of(entry), application.file_paths(entry)
        gated = application.gate_tools([entry], tools) if tools is not None else None
        return Applied(entry=entry, text=text, files=files, tools=gated, use_id=use_id)

    # --- outcome ------------------------------------------------------------------------------------------------

    def record(
        self,
        use_id: str,
        *,
        outcome: Outcome | str | None = None,
        verifier: Verifier | None = None,
        followed: Followed | None = None,
        by: str = "",
        grade: Grade = Grade.SELF,
    ) -> list[Evidence]:
        """Say what came of a use. A verifier is run here and now, and makes the outcome machine-verified.

        `followed` names the versions that the run really followed, if it is known, and may tell an outcome of each (the
        parts of a composite seldom fail together); otherwise all that were shown share the credit. `grade` is raised
        above self-reported only by a person's surface.
        """
        use = self.store.use(use_id)
        details = {"by": by}
        if verifier is not None:
            check = verify(verifier, use=use, project=workspace(self.place.project) if self.place else None)
            outcome, grade = (Outcome.SUCCESS if check.passed else Outcome.FAILURE), check.counts_as
            details |= {"verifier": check.verifier, "note": check.doubt or check.detail}
        if outcome is None:
            raise Mistake("record needs an outcome or a verifier", hint="outcome=… or verifier=tacit.Command(…)")
        return self._keep_evidence(use, parse_outcome(outcome), grade=grade, followed=followed, details=details)

    def feedback(
        self, use_id: str, *, helpful: bool, note: str = "", by: str = "", grade: Grade = Grade.SELF
    ) -> list[Evidence]:
        """Say whether what was shown helped."""
        result = Outcome.SUCCESS if helpful else Outcome.FAILURE
        details = {"verifier": "feedback", "note": note, "by": by}
        return self._keep_evidence(self.store.use(use_id), result, grade=grade, followed=None, details=details)

    def _keep_evidence(
        self, use: Use, result: Outcome, *, grade: Grade, followed: Followed | None, details: Mapping[str, str]
    ) -> list[Evidence]:
        clean = {key: redact(text).text for key, text in details.items()}
        at, held_back = self._now(), controls.beside(self.store, use)
        kept = outcome.evidence_for(use, result, grade=grade, at=at, followed=followed, details=clean)
        for control in held_back:  # the same run tells how it goes without them
            kept += outcome.evidence_for(control, result, grade=grade, at=at, details=clean)
        with self.store.transaction():  # a result and the move that it brings are seen together
            publishing.keep(self.store, kept, embedder=self.embedder)
            if grade.verified:  # nobody's own word moves anything
                self._settle([item.version_id for item in kept])
        return kept

    def _settle(self, version_ids: Collection[str] | None = None) -> list[Transition]:
        """Let verified evidence move versions, and show them to agents as they stand then."""
        with self.store.transaction():
            moves = tending.settle(self.store, self.config.policy, at=self._now(), version_ids=version_ids)
            if moves:
                publishing.publish(self.store, self.embedder)
        return moves

    # --- care ---------------------------------------------------------------------------------------------------

    def tend(self, *, only: Collection[CareKind] = (), progress: Progress | None = None) -> list[Care]:
        """Look after the library: all that could be done, and why. Changes nothing."""
        here = tending.Here(self.scope, self.place.project if self.place else None, self.place, self.embedder)
        return tending.plan(self.store, self.config.policy, at=self._now(), here=here, only=only, progress=progress)

    def carry_out(self, cares: Sequence[Care], *, by: str) -> tuple[list[Care], list[Transition]]:
        """Do what `tend` told, on a person's word; tells of each whether it was done, and what evidence moved beside."""
        done = tending.apply(cares, self, self.store, policy=self.config.policy, by=by, at=self._now())
        self._note_ground()
        publishing.publish(self.store, self.embedder)
        return done

    def revalidate(self, *, keep: bool = False, progress: Progress | None = None) -> list[Care]:
        """Try the steps of procedures again, in the sandbox, on a copy of this project; with `keep` that is evidence."""
        if self.place is None:
            raise Mistake("there is no project to try anything in", hint="open the store of a project")
        at, policy = self._now(), self.config.policy
        tried = validating.revalidations(self.store, self.place.project, validating.replayed, at=at)
        told = tending.revalidate(self.store, policy, tried, at=at, keep=keep, progress=progress)
        if keep:
            publishing.publish(self.store, self.embedder)
        return told

    def _note_ground(self) -> None:
        """Note what usable skills rely on here, of those that nobody looked at yet, so that drift can be told later."""
        if self.place is not None:
            validating.note_contracts(self.store, self.place.project, look, at=self._now())

    def reliability(self, version_id: str) -> Reliability:
        """How reliable one version has shown itself."""
        return outcome.reliability(self.store.evidence([version_id])[version_id])
