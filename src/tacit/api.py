"""The public API: `tacit.open()` gives a `Tacit`, whose methods call the stages of a skill's life in order.

The stages are capture → learn → gate → store → recall → render → evidence → maintain. Which folder may import which is
another order, in docs/concepts/architecture.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tacit import render
from tacit.config.checkout import commit_at_work, workspace
from tacit.config.environment import UserEnvironment
from tacit.config.location import MEMORY, StoreLocation, find_location
from tacit.config.settings import Config, load_config
from tacit.config.signers import trusted_signers
from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.evidence import Evidence, Grade, Outcome, Use
from tacit.domain.extension import extension_classes
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.ports import Embedder, LanguageModel, Verifier
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Capabilities, Kind, Provenance, SkillContent, filled_fields, parse_kinds, parse_names
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Span, Trajectory
from tacit.evidence import capture, control_runs
from tacit.evidence.credit import Followed, evidence_for, parse_outcome
from tacit.evidence.verifiers.checks import verify
from tacit.learn.learning_report import LearningReport
from tacit.maintain.archive import Archive
from tacit.recall import publishing, reasons, retrieval, static_skills
from tacit.store import Store, open_store, queries
from tacit.store.context import StoreContext
from tacit.text.capabilities import allowance
from tacit.text.error_signatures import shows_failure
from tacit.text.redaction import redact


class LazyModule:
    """A module that is imported when one of its attributes is first used. For type checking, import the module itself."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    from tacit.evidence import journal_uses
    from tacit.gate import admission, content_checks, reviews
    from tacit.gate.review_rules import PersonDecision
    from tacit.learn import origin_limits, pipeline
    from tacit.maintain import exports, maintenance, promotion
    from tacit.maintain.status_changes import Progress
else:  # most commands use few of them; none should wait for all
    admission, content_checks = LazyModule("tacit.gate.admission"), LazyModule("tacit.gate.content_checks")
    reviews, promotion = LazyModule("tacit.gate.reviews"), LazyModule("tacit.maintain.promotion")
    maintenance = LazyModule("tacit.maintain.maintenance")
    exports, journal_uses = LazyModule("tacit.maintain.exports"), LazyModule("tacit.evidence.journal_uses")
    origin_limits, pipeline = LazyModule("tacit.learn.origin_limits"), LazyModule("tacit.learn.pipeline")


class Tacit:
    """An open memory of skills. Get one from `tacit.open()`; use it as a context manager, or call `close()`.

    `reviews` holds a person's decisions, `library` maintenance, `archive` history, verification and backups.
    """

    def __init__(
        self,
        store: Store,
        *,
        config: Config | None = None,
        scope: Scope | None = None,
        place: StoreLocation | None = None,
        embedder: Embedder | Callable[[], Embedder | None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.context = StoreContext(
            store,
            config=config,
            scope=scope,
            place=place,
            embedder=embedder,
            clock=clock,
            extensions=lambda: [extension(self) for extension in extension_classes()],
        )
        self.archive = Archive(self.context)

    @cached_property
    def reviews(self) -> reviews.Reviews:
        """The review queue, and every decision a person can make."""
        return reviews.Reviews(self.context)

    @cached_property
    def library(self) -> maintenance.Maintenance:
        """Maintenance: care, refinement, composition, promotion, revalidation."""
        return maintenance.Maintenance(self.context, self._admission)

    @cached_property
    def _admission(self) -> admission.Admission:
        return admission.Admission(self.context)

    # --- learning -----------------------------------------------------------------------------------------------

    def capture(
        self, trajectories: Trajectory | Iterable[Trajectory], *, trust_outcomes: bool = False
    ) -> capture.Captured:
        """Store what an agent did, with secrets redacted. Capturing the same attempt again adds nothing.

        `trust_outcomes` accepts an outcome written in the document, with the name of its verifier, as machine-verified.
        An attempt that was captured before without it is then learned from again.
        """
        context = self.context
        context.require_running()
        exclude = context.config.store.exclude
        return capture.capture(
            context.store, trajectories, exclude=exclude, trust_outcomes=trust_outcomes, now=context.now
        )

    def learn(
        self,
        *,
        progress: Progress | None = None,
        model: LanguageModel | None = None,
        edited_by: str = "learner",
        on_journal_fault: journal_uses.OnFault = journal_uses.log_fault,
    ) -> LearningReport:
        """Learn from everything captured since the last time; return every verdict with its findings.

        Takes in hook journals and edits of exported skills (as made by `edited_by`), and re-checks existing approvals first.
        Finally applies the status changes that new verified evidence calls for, and exports what is approved.
        Each attempt is one transaction, so an interrupted run learns from none twice; only counting over all is repeated.
        A language model, if given, reads the sessions last, within its own budget, and proposes more; where it fails, the
        rest stands. A journal that cannot be read goes to
        `on_journal_fault`, and the rest is still learned from.
        """
        context = self.context
        context.require_running()
        # 1. Take in what happened outside the store: hook journals, edited exports, the person's own store.
        journal_uses.fold_journals(context, on_fault=on_journal_fault)
        exports.propose_edited(context, self.propose, by=edited_by)
        self.library.sync_from_home()
        # 2. Re-check approvals that were given under other checks: what is not valid any more waits for a person again.
        rechecked = self.reviews.recheck_outdated()
        # 3. Learn from the attempts that were captured since the last time; every candidate goes through the gate.
        learned = pipeline.LearningPass(context, self._admission, model=model).run(progress)
        # 4. Prune old attempts, and record what skills in use rely on in this project.
        self.archive.prune()
        self.library.record_dependencies()
        # 5. Apply the status changes that new verified evidence calls for, and export what is approved now.
        settled = tuple(self.library.apply_status_changes())
        exports.export(context)
        return dataclasses.replace(learned, verdicts=(*rechecked, *learned.verdicts), settled=settled)

    def learn_procedure(self, title: str, sessions: Sequence[str], *, model: LanguageModel) -> LearningReport:
        """Let a language model write one procedure from these sessions, given by their ids; it waits for review."""
        self.context.require_running()
        return pipeline.learn_procedure(self.context, self._admission, model=model, title=title, sessions=sessions)

    def admit(self, candidate: Candidate) -> Verdict:
        """Put a learned candidate through the gate, with origins no higher than the attempts behind it allow."""
        store = self.context.store
        with store.transaction():
            return self._admission.admit_in_scope(origin_limits.OriginLimiter(store).limit_origins(candidate))

    def propose(
        self,
        content: SkillContent,
        *,
        by: str,
        origin: Origin = Origin.AGENT,
        revises: StoredVersion | None = None,
        source: str = "",
        scope: Scope | None = None,
        evidence: Sequence[Span] = (),
        keep: bool = True,
    ) -> Verdict:
        """Put a skill that somebody wrote through the gate: a new one, or the next version of the one it revises.

        `evidence` are the places in captured attempts that show it. Without `keep` nothing is stored.
        It belongs to this project, or to the team or session that `scope` names; `library.promote` reaches broader scopes.
        """
        store = self.context.store
        if scope is not None and scope.level in promotion.HOME_LEVELS:
            raise Mistake(
                f"a skill cannot be proposed at {scope}",
                code="scope_too_broad",
                hint="propose it here, then use `tacit promote`",
            )
        shown_by = tuple(dict.fromkeys(span.trajectory_id for span in evidence))
        grounding = dict.fromkeys(filled_fields(content), tuple(evidence)) if evidence else {}
        made = Provenance(made_by=by, source=source, trajectory_ids=shown_by, grounding=grounding)
        here = scope or self.context.scope
        candidate = admission.candidate_from_proposal(
            store, content, made=made, origin=origin, revises=revises, scope=here
        )
        if origin is Origin.AGENT:
            # An agent may repeat a tool's output or a web page: fields that do so are external, whoever proposes them.
            limiter = origin_limits.OriginLimiter(store)
            candidate = limiter.limit_by_recent_sessions(limiter.limit_origins(candidate) if evidence else candidate)
        return self._admission.admit_at_own_scope(candidate) if keep else self._admission.preview(candidate)

    def review(
        self,
        version_id: str,
        decision: PersonDecision | str,
        *,
        by: str,
        reason: str = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Apply a person's decision to one exact version; see `Reviews.decide`.

        What makes a version recallable is signed: it needs an unlocked key (`tacit.unlock`), or the policy `open`.
        """
        return self.reviews.decide(version_id, decision, by=by, reason=reason, content_hash=content_hash, ticked=ticked)

    # --- looking up ---------------------------------------------------------------------------------------------

    def version(self, reference: str) -> StoredVersion:
        """Find a version by its id, the beginning of it, a skill's id, or a skill's name (its current version)."""
        return queries.find(self.context.store, reference)

    def skills(self, *, statuses: Collection[Status] | None = None) -> list[StoredVersion]:
        """Return the current version of each skill, by name."""
        return queries.current(self.context.store, statuses=statuses)

    # --- recall -------------------------------------------------------------------------------------------------

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
        """Find the skills that fit a task, or explain why none does. What is given is stored as a use unless `keep` is false.

        With `policy.hold_out` (off by default) it holds skills back from some runs at random, to measure what they add.
        `state` describes the situation (see `recall.weighing`), `model` names the language model that will use the skills.
        `person` is who is helped, if not whoever works here; `session` is the agent's, and finds what is kept for it too.
        `allowed` leaves out what uses more (`["hosts=api.example.com", "commands=git"]`); without it nothing is left out.
        """
        context, defaults = self.context, self.context.config.recall
        query = Query(
            text=task,
            k=defaults.k if k is None else k,
            budget_tokens=defaults.budget_tokens if budget_tokens is None else budget_tokens,
            scope=Scope.parse(scope) if isinstance(scope, str) else scope or context.scope.of_agents(session),
            state={} if state is None else state,
            tools=parse_names(tools),
            kinds=parse_kinds(kinds),
            category=category or "",
            min_reliability=min_reliability,
            model=model,
            allowed=allowance(allowed),
            person=person,
        )
        share = context.config.policy.hold_out if keep else 0.0
        ranked, place = self.rank(query), context.place
        drawn = control_runs.draw_controls(context.store, ranked, hold_out=share, session=session, place=place)
        selection = retrieval.with_rendered_block(static_skills.added(context, drawn.selection))
        if not keep:
            return selection
        use = self._use(
            selection.version_ids,
            redact(task).text,
            surface=surface,
            session_id=session,
            model=model,
            scope=str(query.scope.around),
        )
        selection = dataclasses.replace(drawn, selection=selection).store_uses(context.store, use)
        if session.strip() and not context.paused:
            for extension in context.extensions:
                extension.on_recall(session, selection)
        return selection

    def rank(self, query: Query) -> Selection:
        """Answer a query, with the scores of all candidates, and store nothing: to look at recall, or to measure it.

        Unlike `recall` it renders no block of text, and holds nothing back. A task that is the output of a failure finds
        the lessons about that error, too.
        """
        context = self.context
        if context.paused:
            code = ReasonCode.PAUSED
            return Selection(query=query, code=code, reason=reasons.nothing_given(code))
        query = query if query.person else dataclasses.replace(query, person=context.person)
        least = context.config.recall.min_relevance
        choose = partial(
            retrieval.choose, context.store, now=context.now(), min_relevance=least, embedder=context.embedder
        )
        selection = choose(query)
        waits = any(left.code is ReasonCode.OTHER_MOMENT for left in selection.left_out)
        if selection.abstained and waits and not query.state.get("error") and shows_failure(query.text):
            by_error = choose(dataclasses.replace(query, state={**query.state, "error": query.text}))
            selection = selection if by_error.abstained else by_error
        empty = queries.why_empty(context.store) if selection.abstained and not selection.left_out else None
        if empty is None:
            return selection
        reason = reasons.nothing_given(empty, count=len(queries.waiting(context.store)))
        return dataclasses.replace(selection, code=empty, reason=reason)

    def catalogue(self, home: Path | None = None) -> render.Catalogue:
        """Return everything an agent could be offered: skill folders of project and person, and the learned skills."""
        context = self.context
        return retrieval.offered(
            context.store, context.may_see, project=context.project, home=home, reliability=self.archive.reliability
        )

    def apply(
        self,
        name: str,
        *,
        home: Path | None = None,
        allowed: Capabilities | Sequence[str] | None = None,
        surface: str = "api",
    ) -> render.Applied:
        """Activate one skill of the catalogue: its text with overlays, its files by name, and the tools it unlocks.

        The learned skills in it, overlays included, are stored as a use, so that their outcome can be recorded.
        """
        self.context.require_running()
        entry = next((entry for entry in self.catalogue(home).entries if entry.name == name), None)
        if entry is None:
            raise NotFound(f"no skill {name!r} may be applied here", hint="see `tacit skills`")
        entry = content_checks.restrict_to_capabilities(entry, allowance(allowed))
        use_id = ""
        learned = tuple(each.version_id for each in (entry, *entry.overlays) if each.version_id)
        if learned:
            use = self._use(learned, f"apply {name}", surface=surface)
            self.context.store.add(use)
            use_id = use.id
        text, files = render.body_of(entry), render.file_paths(entry)
        unlocked = self.reviews.unlocked_tools(learned)
        return render.Applied(entry=entry, text=text, files=files, unlocked=unlocked, use_id=use_id)

    def _use(self, version_ids: tuple[str, ...], task: str, **fields: Any) -> Use:
        commit = commit_at_work(self.context.project)
        return Use(version_ids=version_ids, task=task, at=self.context.now(), commit=commit, **fields)

    # --- evidence -----------------------------------------------------------------------------------------------

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
        """Record the outcome of a use: the one given, or what a verifier finds that is run now.

        A verifier makes the outcome machine-verified, unless its check is doubtful: then it counts as self-reported.

        `followed` names the versions that the run really followed, if that is known, and may give an outcome for each;
        otherwise all that were shown share the credit. Only a person's surface passes a `grade` above self-reported.
        """
        if verifier is not None and outcome is not None:
            message = "the outcome is what the verifier finds, so give one of both"
            raise Mistake(message, code="one_result", hint="leave out outcome=… or verifier=…")
        use = self.context.store.use(use_id)
        details = {"by": by}
        if verifier is not None:
            project = workspace(self.context.project) if self.context.project else None
            check = verify(verifier, use=use, project=project)
            outcome, grade = (Outcome.SUCCESS if check.passed else Outcome.FAILURE), check.counts_as
            details |= {"verifier": check.verifier, "note": check.doubt or check.detail}
        if outcome is None:
            raise Mistake(
                "record needs an outcome or a verifier",
                code="outcome_missing",
                hint="outcome=… or verifier=tacit.Command(…)",
            )
        return self._add_evidence(use, parse_outcome(outcome), grade=grade, followed=followed, details=details)

    def feedback(
        self, use_id: str, *, helpful: bool, note: str = "", by: str = "", grade: Grade = Grade.SELF
    ) -> list[Evidence]:
        """Record whether what was shown helped: evidence of that use, and not how the task ended for what was held back."""
        result = Outcome.SUCCESS if helpful else Outcome.FAILURE
        details = {"verifier": "feedback", "note": note, "by": by}
        use = self.context.store.use(use_id)
        return self._add_evidence(use, result, grade=grade, followed=None, details=details, ends_task=False)

    def _add_evidence(
        self,
        use: Use,
        result: Outcome,
        *,
        grade: Grade,
        followed: Followed | None,
        details: Mapping[str, str],
        ends_task: bool = True,
    ) -> list[Evidence]:
        store, at = self.context.store, self.context.now()
        clean = {key: redact(text).text for key, text in details.items()}
        added = evidence_for(use, result, grade=grade, at=at, followed=followed, details=clean)
        # Skills that were held back from this run as controls get its result too: that is how the task goes without them.
        for control in control_runs.control_uses(store, use):
            added += evidence_for(control, result, grade=grade, at=at, details=clean)
        added = [each for each in added if ends_task or not each.control]
        with store.transaction():  # a result and the status change it causes are visible together
            publishing.store_evidence(store, added, embedder=self.context.embedder)
            if grade.verified:  # self-reported outcomes change no status
                self.library.apply_status_changes([item.version_id for item in added])
        return added

    # --- opening and closing ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the store."""
        self.context.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open(store: str | Path = "", *, config: Config | None = None) -> Tacit:  # noqa: A001 - tacit.open() is the public name
    """Open the nearest store (`.tacit/tacit.db` of this project), or the one at the given path.

    The store is created if there is none.
    """
    environment = UserEnvironment.read()
    place = find_location(environment, store=str(store))
    if config is None:
        folders = (Path.cwd(), place.project)
        config, _ = load_config(folders, file=environment.config_file, home=environment.person_home)
    return open_at(place, config=config, home=environment.person_home)


def open_at(place: StoreLocation, *, config: Config, home: Path) -> Tacit:
    """Open the store of a place; `home` is the folder of the person's own store, settings and embedders."""
    place = place.with_home(home)
    place.prepare()
    scope = Scope(Level.PROJECT, "" if place.is_projects_own else place.project_name)
    embedder = partial(_open_embedder, config.recall.embedder, home)
    store = open_store(place.database, home=home)
    needs_none = config.policy.is_open or place.database == MEMORY  # nobody else reads what dies with the process
    store.require_signatures(None if needs_none else trusted_signers(home))
    return Tacit(store, config=config, scope=scope, place=place, embedder=embedder)


@cache  # a server opens the store for every request, and weights take a while to load
def _open_embedder(choice: str, home: Path) -> Embedder | None:
    from tacit.providers.embedding.embedder_choice import open_embedder  # most commands need none

    return open_embedder(choice, home=home)
