"""The whole story on one page: one short method per verb, wiring the stages.

experience → synthesis → gate → memory → recall → application → outcome, and around again. Stages do not know each other;
what one needs of another is fetched here and passed in. Times come from one clock, given at construction.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit import application, experience, gate, learning, outcome, publishing, retrieval, shelf
from tacit.config.place import Place
from tacit.config.settings import Config
from tacit.domain.candidate import Candidate, Finding, Relation, Verdict
from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.domain.evidence import Evidence, Grade, Outcome, Reliability, Use
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.model import Embedder, LanguageModel
from tacit.domain.origin import Origin
from tacit.domain.ports import AuditEntry, Counts, Damage, Episode, FoundEpisode, Store, Stored, Verifier
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Kind, Provenance, SkillContent, parse_kinds, parse_names
from tacit.domain.trajectory import Trajectory
from tacit.outcome import Followed, parse_outcome
from tacit.report import Applied, Captured, Learned
from tacit.text.redaction import redact
from tacit.text.words import estimate_tokens

Progress = Callable[[int, int], None]
"""Told how much is done, of how much."""


class Loop:
    """A memory of skills: everything one can do with it. Get one from `tacit.open()`."""

    def __init__(
        self,
        store: Store,
        *,
        config: Config | None = None,
        scope: Scope | None = None,
        place: Place | None = None,
        embedder: Embedder | Callable[[], Embedder | None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.config = config or Config()
        self.scope = scope or Scope(Level.PROJECT, "")
        self.place = place
        self._embedder = embedder
        self._now = clock

    @cached_property
    def embedder(self) -> Embedder | None:
        """What finds skills by meaning, opened when first needed; nothing where words must do."""
        return self._embedder() if callable(self._embedder) else self._embedder

    # --- experience ---------------------------------------------------------------------------------------------

    def capture(self, trajectories: Trajectory | Iterable[Trajectory], *, trust_outcomes: bool = False) -> Captured:
        """Keep what an agent did, secrets taken out first. Capturing the same attempt again adds nothing.

        `trust_outcomes` accepts an outcome written in the document, with the name of its verifier, as machine-verified.
        An attempt that was captured before without it then waits to be learned from again.
        """
        self._require_running()
        added: list[str] = []
        known = vouched = excluded = 0
        redacted: Counter[str] = Counter()
        for trajectory in [trajectories] if isinstance(trajectories, Trajectory) else trajectories:
            if self._excluded(trajectory):
                excluded += 1
                continue
            clean, found = experience.redacted(trajectory)
            assessment = outcome.assess(clean, trust_claim=trust_outcomes)
            if self.store.add_trajectory(clean, assessment, at=self._now()):
                added.append(clean.id)
                redacted.update(found)
            else:
                known += 1
                vouched += self.store.vouch(clean.id, assessment, at=self._now())
        return Captured(added=tuple(added), known=known, vouched=vouched, excluded=excluded, redacted=dict(redacted))

    # --- synthesis → gate → memory ------------------------------------------------------------------------------

    def learn(self, *, progress: Progress | None = None, model: LanguageModel | None = None) -> Learned:
        """Distil and gate everything not yet learned from, then compare it with what was there before.

        Each attempt is one transaction, and so is each group of attempts that are compared: all of it or nothing, so
        that what an interrupted pass did is not done again. A language model words what is new, within its own budget;
        where it fails, what was mined stands.
        """
        self._require_running()
        learned = learning.Pass(self.store, self, now=self._now, model=model).run(progress)
        self.prune()
        return learned

    def admit(self, candidate: Candidate) -> Verdict:
        """Put what was learned before the gate. Everything is learned at the project; narrower scopes come with sessions."""
        return self._admit(dataclasses.replace(candidate, scope=self.scope))

    def twin(self, candidate: Candidate) -> Stored | None:
        """The known skill that a candidate is the same as, if there is one."""
        here = dataclasses.replace(candidate, scope=self.scope)
        twin = gate.twin_of(here, shelf.alike(self.store, here), self.config.policy)
        return shelf.newest_standing(self.store.versions(twin.skill.id)) if twin else None

    def confirms(self, candidate: Candidate, known: Stored) -> bool:
        """Whether an attempt went the way of a known skill, whatever else it did."""
        return gate.carries_out(candidate.content, known.version.content)

    def turn_away(self, episode: Episode, reason: str, text: str) -> Verdict:
        """Note why an attempt gives nothing."""
        why, name = [Finding(rule=reason, message=text)], episode.task[:80]
        policy = self.config.policy
        verdict = gate.turned_away(why, trajectory_id=episode.id, name=name, policy=policy, at=self._now())
        self.store.add_verdict(verdict)
        return verdict

    def propose(
        self,
        content: SkillContent,
        *,
        by: str,
        origin: Origin = Origin.AGENT,
        revises: Stored | None = None,
        source: str = "",
    ) -> Verdict:
        """Put a skill before the gate, whoever wrote it: a new one, or the next version of the one it revises."""
        if by.startswith("tacit."):
            raise Mistake(f"{by!r} is a name of Tacit's own", hint="say who proposes it")
        before = [revises.version] if revises else []
        candidate = Candidate(
            content=content,
            scope=revises.skill.scope if revises else self.scope,
            origins=gate.origins_of_edit(content, origin, before),
            provenance=Provenance(made_by=by, source=source),
            revises=revises.skill.id if revises else "",
            parents=tuple(version.id for version in before),
            by=by,
        )
        with self.store.transaction():
            return self._admit(candidate)

    def _admit(self, candidate: Candidate) -> Verdict:
        """The one door: judge a candidate against what is known, and keep verdict and version together."""
        existing = shelf.existing(self.store, candidate.content.sub_skills, candidate.scope)
        known = shelf.alike(self.store, candidate)
        judgement = gate.judge(candidate, known, self.config.policy, at=self._now(), existing=existing)
        verdict = judgement.verdict
        skill, version, birth = judgement.skill, judgement.version, judgement.transition
        if skill and version and birth and not self.store.add_version(skill, version, birth):
            verdict = dataclasses.replace(verdict, relation=Relation.REINFORCE, id="")  # known, word for word
        self.store.add_verdict(verdict)
        publishing.publish(self.store, self.embedder)
        return verdict

    # --- review -------------------------------------------------------------------------------------------------

    def review(
        self, version_id: str, decision: gate.Review | str, *, by: str, reason: str = "", content_hash: str = ""
    ) -> Transition:
        """Carry out a person's decision on one exact version: approve, reject, retire, restore or reopen."""
        stored = self.version(version_id)
        transition = gate.decide(
            stored,
            decision,
            by=by,
            at=self._now(),
            reason=redact(reason).text,
            content_hash=content_hash or stored.version.hash,
        )
        with self.store.transaction():
            self.store.add_transition(transition)
            publishing.publish(self.store, self.embedder)
        return transition

    def waiting(self) -> list[Stored]:
        """What waits for a person's decision, oldest first: of each skill only the newest version, if it waits."""
        return shelf.waiting(self.store)

    def rollback(self, version_id: str, *, by: str) -> list[Transition]:
        """Make an earlier version current again by retiring what came after it."""
        target = self.version(version_id)
        moves: list[Transition] = []
        with self.store.transaction():
            for later in self.store.versions(target.skill.id):
                if later.sequence > target.sequence and later.status in RECALLABLE:
                    reason = f"rolled back to {target.version.id}"
                    moves.append(self.review(later.version.id, gate.Review.RETIRE, by=by, reason=reason))
            if target.status not in RECALLABLE:
                again = gate.Review.RESTORE if target.status in (Status.RETIRED, Status.STALE) else gate.Review.APPROVE
                moves.append(self.review(target.version.id, again, by=by, reason="rolled back to this version"))
        if not moves:
            raise Mistake(f"`{target.version.name}` {version_id} is already current", hint="nothing to roll back")
        return moves

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
        model: str = "",
        surface: str = "api",
        keep: bool = True,
    ) -> Selection:
        """Find the skills that fit a task, or explain why none is given. What is given is kept as a use, unless not wanted.

        `state` tells what the situation looks like (see `recall.state`), `model` which language model will use the skills.
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
        )
        selection = self.weigh(query)
        text = application.render_selection([item.text for item in (*selection.items, *selection.standing)])
        selection = dataclasses.replace(selection, text=text, tokens=estimate_tokens(text))
        if selection.abstained or not keep:
            return selection
        shown, asked = selection.version_ids, redact(task).text
        use = Use(version_ids=shown, task=asked, at=self._now(), surface=surface, model=model)
        self.store.add_use(use)
        return dataclasses.replace(selection, use_id=use.id)

    def weigh(self, query: Query) -> Selection:
        """Answer a query without keeping that it was asked: to see all scores, or to measure recall."""
        if self.paused:
            return Selection(query=query, reason="Tacit is paused here (tacit pause --resume ends it)")
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
        return shelf.offered(self.store, self.scope, project=project, home=home, reliability=self.reliability)

    def apply(
        self, name: str, *, home: Path | None = None, tools: Sequence[str] | None = None, surface: str = "api"
    ) -> Applied:
        """Activate one skill of the catalogue: its text with overlays, its files by name, and the tools it leaves open.

        A learned skill that is activated is kept as a use, so that its outcome can be recorded.
        """
        entry = next((entry for entry in self.catalogue(home).entries if entry.name == name), None)
        if entry is None:
            raise NotFound(f"no skill {name!r} may be applied here", hint="see `tacit skills list`")
        gated = application.gate_tools([entry], tools) if tools is not None else None
        text, files = application.body_of(entry), application.file_paths(entry)
        use_id = ""
        if entry.version_id and not self.paused:
            use = Use(version_ids=(entry.version_id,), task=f"apply {name}", at=self._now(), surface=surface)
            self.store.add_use(use)
            use_id = use.id
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
            check = verifier.verify()
            outcome, grade = (Outcome.SUCCESS if check.passed else Outcome.FAILURE), Grade.MACHINE
            details["verifier"] = check.verifier
        if outcome is None:
            hint = "outcome='success' or verifier=tacit.Command(…)"
            raise Mistake("record needs an outcome or a verifier", hint=hint)
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
        kept = outcome.evidence_for(use, result, grade=grade, at=self._now(), followed=followed, details=clean)
        with self.store.transaction():
            for item in kept:
                self.store.add_evidence(item)
            publishing.publish(self.store, self.embedder)
        return kept

    def reliability(self, version_id: str) -> Reliability:
        """How reliable one version has shown itself."""
        return outcome.reliability(self.store.evidence([version_id])[version_id])

    # --- looking and keeping ------------------------------------------------------------------------------------

    def version(self, reference: str) -> Stored:
        """Find a version by its id, the beginning of it, a skill's id, or a skill's name (its current version)."""
        return shelf.find(self.store, reference)

    def skills(self, *, statuses: Collection[Status] | None = None) -> list[Stored]:
        """The current version of each skill, by name."""
        return shelf.current(self.store, statuses=statuses)

    def history(self, subject: str = "") -> list[AuditEntry]:
        """What happened, link by link of the audit chain."""
        return self.store.history(subject)

    def stats(self) -> Counts:
        """How much there is."""
        return self.store.counts()

    def verify(self) -> list[Damage]:
        """Check that everything is as it was written; empty means intact."""
        return list(self.store.verify())

    def backup(self, path: Path) -> None:
        """Write a verified copy."""
        self.store.backup(path)

    def prune(self) -> int:
        """Drop old trajectories' steps as the settings say."""
        settings = self.config.store
        return self.store.prune(keep_days=settings.keep_days, cap_bytes=settings.cap_mb * 1024 * 1024, at=self._now())

    @property
    def paused(self) -> bool:
        """Whether capturing and recalling are switched off here."""
        return self.place is not None and self.place.paused_until is not None

    def _require_running(self) -> None:
        if self.paused:
            raise Refusal("Tacit is paused here", hint="tacit pause --resume")

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _excluded(self, trajectory: Trajectory) -> bool:
        workspace = trajectory.environment.workspace
        return any(fnmatch(workspace, pattern) for pattern in self.config.store.exclude)
