"""One learning pass: makes candidates of every attempt not yet learned from and passes them to the gate.

First each attempt alone, merged with earlier attempts at the same work; then the errors, requests and commands of all
attempts are counted, and attempts that use the same tools are compared. Each attempt and each group of attempts is one
transaction, so an interrupted pass resumes where it stopped and only counts again. A language model, if given, reads the
sessions last (`reading`), never inside a transaction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from tacit.config.environment import UserEnvironment
from tacit.domain.candidate import Candidate, Relation, Verdict
from tacit.domain.care import BY_ITSELF, CareReason
from tacit.domain.errors import NotFound, TacitError
from tacit.domain.ledger import About, pinned
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, Transition, coded
from tacit.domain.outline import CallRecord, Fact, Outline
from tacit.domain.ports import LanguageModel
from tacit.domain.reach import CARD
from tacit.domain.skill import RULE_KINDS, Kind, SkillContent, SkillVersion
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.evidence.skill_usage import SkillUsage
from tacit.gate.admission import Admission
from tacit.ingest.client_memories import Statement, find_statement, known_statements
from tacit.ingest.sources import client_homes
from tacit.learn import friction_notes, overlays
from tacit.learn.attempt_outlines import in_their_folders, outline_of, without_copies
from tacit.learn.fix_lessons import advice_of, fix_lesson, lesson_name, lesson_tags, refuted
from tacit.learn.fixes import CountedFix, FixCounter, SourcedCall
from tacit.learn.learning_report import LearningReport
from tacit.learn.like_runs import DraftMerger, acting_commands
from tacit.learn.mining.call_patterns import MIN_SUPPORT
from tacit.learn.mining.candidates import is_mined
from tacit.learn.mining.miner import mine
from tacit.learn.origin_limits import OriginLimiter
from tacit.learn.person_rules import repeated_wishes, taken_back
from tacit.learn.procedure import SkippedProcedure
from tacit.learn.project_facts import card_candidate, facts_card, project_facts
from tacit.learn.reading import Reader
from tacit.learn.reading.digest import SessionRecord
from tacit.learn.single_attempt import Distillation, distil
from tacit.recall import publishing
from tacit.store import Store
from tacit.store.context import StoreContext

_IN_USE_OR_WAITING = RECALLABLE | {Status.CANDIDATE}


class LearningPass:
    """One pass over every attempt that is not yet learned from."""

    def __init__(self, context: StoreContext, admission: Admission, *, model: LanguageModel | None = None) -> None:
        store = context.store
        self._store, self._admission, self._now, self._scope = store, admission, context.now, context.scope
        self._extensions = context.extensions
        self._reader = _reader(context, model) if model is not None else None
        self._origin_limiter = OriginLimiter(store)
        self._merger = DraftMerger(context, admission)
        self._static = overlays.StaticSkills(store, context.project)
        self._verdicts: list[Verdict] = []
        self._withdrawn: list[Transition] = []

    def run(self, progress: Callable[[int, int], None] | None = None) -> LearningReport:
        """Learn from each attempt, then from what attempts have in common."""
        waiting = self._store.episodes(unlearned=True)
        for done, episode in enumerate(waiting, start=1):
            self._learn_one(episode)
            if progress:
                progress(done, len(waiting))
        self._outline_older_attempts()
        self._learn_from_groups()
        if self._reader:
            self._learn_by_reading(self._reader, progress)
        if waiting or self._reader:
            self._withdraw_taken_back_rules()
        return LearningReport(
            trajectories=len(waiting),
            verdicts=tuple(self._verdicts),
            withdrawn=tuple(self._withdrawn),
            model=self._reader.report() if self._reader else None,
        )

    def _learn_one(self, episode: Episode) -> None:
        """Admit what one attempt teaches; a procedure is merged with earlier attempts at the same work."""
        trajectory = self._store.trajectory(episode.id)
        distilled = distil(trajectory, episode.assessment)
        candidates, skipped = self._merged_with_earlier(distilled, trajectory)
        with self._store.transaction():
            if self._store.episode(episode.id).learned_at is not None:
                return  # another process was faster
            before = len(self._verdicts)
            shared = [each for one in self._extensions for each in one.candidates(trajectory, at=self._now())]
            self._verdicts += [self._admit(candidate) for candidate in (*candidates, *shared)]
            self._verdicts += [self._admission.reject_episode(episode, each.reason, each.text) for each in skipped]
            self._store.outlines.put(distilled.outline)
            self._store.mark_learned(episode.id, at=self._now())
            usage = SkillUsage(self._store, trajectory)
            publishing.store_evidence(self._store, usage.evidence(episode.assessment))
            friction_notes.note_friction(self._store, trajectory, usage.guided, at=self._now())
            for extension in self._extensions:
                own = self._verdicts[before:]
                self._verdicts += extension.after_learning(trajectory, self._admit, verdicts=own, at=self._now())
            publishing.store_usage_signals(self._store, usage.signals())

    def _merged_with_earlier(
        self, distilled: Distillation, trajectory: Trajectory
    ) -> tuple[list[Candidate], list[SkippedProcedure]]:
        """Merge the procedure with attempts at the same work; until there are enough, return why it is not proposed."""
        candidates: list[Candidate] = []
        skipped = [distilled.skipped] if distilled.skipped else []
        for candidate in distilled.candidates:
            made: Candidate | SkippedProcedure = candidate
            if candidate.content.kind is Kind.PROCEDURE:
                made = self._merged(self._static.extended_by(candidate), trajectory)
            if isinstance(made, Candidate):
                candidates.append(made)
            else:
                skipped.append(made)
        return candidates, skipped

    def _merged(self, draft: Candidate, trajectory: Trajectory) -> Candidate | SkippedProcedure:
        """Merge a procedure with earlier attempts; one that only does what a static skill says is not proposed."""
        made = self._merger.merge(draft, trajectory)
        if isinstance(made, SkippedProcedure):
            return made
        static = made.content.extends
        if static and self._static.names_all(static, {name for _, name in acting_commands(made.content)}):
            return SkippedProcedure(reason="followed_skill", text=f"The run followed the skill `{static}`.")
        return made

    def _outline_older_attempts(self) -> None:
        """Outline attempts that were learned from before outlines were stored."""
        for trajectory_id in self._store.outlines.missing():
            trajectory = self._store.trajectory(trajectory_id)
            self._store.outlines.put(outline_of(trajectory, self._store.episode(trajectory_id).assessment))

    def _learn_from_groups(self) -> None:
        """Count over all sessions, then mine every group of attempts that has a new member.

        Attempts count as mined only after both, so an interrupted pass repeats what it had not finished.
        """
        waiting = set(self._store.outlines.unmined())
        if not waiting:
            return
        outlines = self._store.outlines.all()
        self._learn_by_counting(outlines, waiting)
        for mined in mine(outlines, waiting, self._store):
            with self._store.transaction():
                if waiting.intersection(mined.group.ids).isdisjoint(self._store.outlines.unmined()):
                    continue  # another process mined this group, perhaps with newer attempts
                self._admit_together(mined.candidates)
                for trajectory_id in mined.waiting:
                    text = f"Fewer than {MIN_SUPPORT} successes so far: too few to compare."
                    episode = self._store.episode(trajectory_id)
                    self._verdicts.append(self._admission.reject_episode(episode, "too_few_runs", text))
                self._store.outlines.mark_mined(mined.group.ids)
        with self._store.transaction():
            self._store.outlines.mark_mined(waiting)

    def _learn_by_counting(self, outlines: Sequence[Outline], waiting: set[str]) -> None:
        """Admit what fixes errors and what a person repeated, and keep the project's card current."""
        sessions = _sessions(outlines)
        counter = FixCounter((session, calls) for session, _, calls in sessions)
        fixes = counter.fixes()
        lessons = list(self._fix_lessons(fixes, waiting))
        wishes = list(repeated_wishes(outlines, waiting, self._store.trajectory))
        facts = project_facts(sessions)
        with self._store.transaction():
            if waiting.isdisjoint(self._store.outlines.unmined()):
                return  # another process was faster
            for lesson in filter(self._is_new, lessons):
                self._admit_lesson(lesson)
            self._verdicts += map(self._admit, filter(self._is_new, wishes))
            self._keep_card_current(facts)
            self._withdraw_lessons(counter, set(map(lesson_name, fixes)))

    def _learn_by_reading(self, reader: Reader, progress: Callable[[int, int], None] | None) -> None:
        """Let the model read the sessions it has not read, and admit what it proposes; never inside a transaction."""
        candidates = reader.read(self._store.outlines.all(), progress)
        with self._store.transaction():
            self._verdicts += map(self._admit, candidates)
            reader.mark_used()
            for version_id, by in reader.contradicted.items():
                self._withdraw(self._store.version(version_id), coded(CareReason.TAKEN_BACK, why=by))

    def _withdraw_taken_back_rules(self) -> None:
        """Withdraw the rules that a person spoke against in a later session than those that they come from."""
        rules = self._store.catalogue(kinds=RULE_KINDS, statuses=_IN_USE_OR_WAITING)
        counted = [(each, self._approved_at(each)) for each in rules if each.version.provenance.by_tacit]
        if counted:
            with self._store.transaction():
                for stored, words in taken_back(counted, self._store.outlines.all()):
                    self._withdraw(stored, coded(CareReason.TAKEN_BACK, why=words))

    def _withdraw_lessons(self, counter: FixCounter, confirmed: Collection[str]) -> None:
        """Withdraw the lessons that the count no longer supports; `confirmed` are the names that it supports."""
        lessons = self._store.catalogue(kinds={Kind.LESSON}, statuses=_IN_USE_OR_WAITING)
        for stored, sessions in refuted(counter, lessons, confirmed):
            reason = coded(CareReason.FIX_NO_LONGER_HELPS, sessions=sessions)
            self._withdraw(stored, reason, to=Status.RETIRED)

    def _approved_at(self, stored: StoredVersion) -> datetime | None:
        """Return when a version that is in use was last admitted; being trusted later does not count."""
        moves = self._store.transitions(stored.version.id) if stored.status in RECALLABLE else ()
        admitted = [each.at for each in moves if each.after in RECALLABLE and each.before not in RECALLABLE]
        return admitted[-1] if admitted else None

    def _withdraw(self, stored: StoredVersion, reason: CodedReason, *, to: Status = Status.STALE) -> None:
        """Set a version aside, or reject it where it waits; not one that a person pinned."""
        if stored.skill.id in pinned(self._store.remarks(stored.skill.id, about=About.PIN)):
            return
        if stored.status in _IN_USE_OR_WAITING:
            after = Status.REJECTED if stored.status is Status.CANDIDATE else to
            move = stored.transition_to(after, str(reason), by=BY_ITSELF, at=self._now())
            self._store.add_transition(move)
            self._withdrawn.append(move)

    def _fix_lessons(self, fixes: Iterable[CountedFix], waiting: set[str]) -> Iterator[Candidate]:
        """Yield what fixes errors by the count of all sessions, as far as new attempts bear on it."""
        for counted in fixes:
            cited = {call.trajectory_id for each in counted.retries for call in (each.failed, each.again)}
            if cited & waiting or self._is_outdated(counted):
                with suppress(TacitError):  # an attempt that was pruned or purged meanwhile
                    lesson = fix_lesson(counted, self._store.trajectory)
                    if lesson:
                        yield lesson

    def _is_outdated(self, counted: CountedFix) -> bool:
        """Whether calls without a new retry changed when the lesson is to be shown."""
        known = self._store.catalogue(name=lesson_name(counted), kinds={Kind.LESSON})
        return any(set(each.version.content.tags) != set(lesson_tags(counted)) for each in known)

    def _keep_card_current(self, facts: Sequence[Fact]) -> None:
        """Propose the project's card once; an approved one then shows what the counts say now."""
        text = facts_card(facts)
        known = self._store.catalogue(name=CARD, kinds={Kind.FACT})
        if not known:
            candidate = card_candidate(facts, text, scope=self._scope)
            self._verdicts += [self._admit(candidate)] if candidate else []
        for stored in known:
            publishing.publish_card(self._store, stored, text)

    def _admit_together(self, candidates: Iterable[Candidate]) -> None:
        """Admit candidates of one group; references to a skill that is stored under another name are renamed."""
        known_as: dict[str, str] = {}
        for candidate in candidates:
            verdict = self._admit(self._as_revision(_with_stored_names(candidate, known_as)))
            self._verdicts.append(verdict)
            if verdict.version_id:
                known_as[candidate.content.name] = verdict.name

    def _admit_lesson(self, lesson: Candidate) -> None:
        """Admit a lesson; as a new version of a known one where its advice changed."""
        verdict = self._admit(lesson)
        self._verdicts.append(verdict)
        if verdict.relation is Relation.REINFORCE and verdict.version_id:
            before = self._newest(verdict)  # the most similar one may be older
            if advice_of(before.content) != advice_of(lesson.content):
                again = dataclasses.replace(lesson, revises=verdict.skill_id, parents=(before.id,))
                self._verdicts.append(self._admit(again))

    def _is_new(self, counted: Candidate) -> bool:
        """Whether the count says more than it did: a pass that was interrupted while mining counted these attempts already."""
        content, attempts = counted.content, counted.provenance.trajectory_ids
        return not any(
            verdict.trajectory_ids == attempts
            and verdict.name == content.name
            and verdict.version_id
            and advice_of(self._newest(verdict).content) == advice_of(content)
            for verdict in self._store.verdicts(trajectory_id=attempts[0])
        )

    def _newest(self, verdict: Verdict) -> SkillVersion:
        return self._store.versions(verdict.skill_id)[-1].version

    def _admit(self, candidate: Candidate) -> Verdict:
        """Limit a candidate's origins in its final wording, then pass it to the gate."""
        overlay = self._static.extended_by(candidate)
        return self._admission.admit_in_scope(self._origin_limiter.limit_origins(overlay))

    def _as_revision(self, candidate: Candidate) -> Candidate:
        """Return a candidate as a revision of the skill mined earlier under its name or from the same attempts."""
        content = candidate.content
        for stored in self._store.catalogue(name=content.name, kinds={content.kind}):
            versions = [each.version for each in self._store.versions(stored.skill.id)]
            if any(is_mined(each.provenance) and _same_work(each.content, content) for each in versions):
                return dataclasses.replace(candidate, revises=stored.skill.id, parents=(stored.version.id,))
        # With more attempts a unit may grow, and its name changes.
        closest = self._admission.matching_version(candidate) if is_mined(candidate.provenance) else None
        if closest and is_mined(closest.version.provenance) and _shares_attempts(closest.version, candidate):
            return dataclasses.replace(candidate, revises=closest.skill.id, parents=(closest.version.id,))
        return candidate


def learn_procedure(
    context: StoreContext, admission: Admission, *, model: LanguageModel, title: str, sessions: Sequence[str]
) -> LearningReport:
    """Let a model write one procedure from sessions that a person names, and admit it."""
    store, reader = context.store, _reader(context, model)
    made = reader.procedure(title, [_session_record(store, session) for session in sessions])
    verdicts: tuple[Verdict, ...] = ()
    if made:
        verdicts = (admission.admit_in_scope(OriginLimiter(store).limit_origins(made)),)
    return LearningReport(verdicts=verdicts, model=reader.report())


def _session_record(store: Store, named: str) -> SessionRecord:
    """Return the session whose id begins with a name, with the attempts of its subagents."""
    episodes = store.episodes()
    found = {each.session_id for each in episodes if named and each.session_id.startswith(named)}
    if len(found) != 1:
        problem = "several sessions begin with" if found else "no session is called"
        raise NotFound(f"{problem} {named}", code="no_such_session", hint="give its transcript, or more of the id")
    (session,) = found
    attempts = [each.id for each in episodes if session in (each.session_id, each.parent_session_id)]
    return SessionRecord(session, tuple(map(store.trajectory, attempts)))


def _reader(context: StoreContext, model: LanguageModel) -> Reader:
    """Return the reader of a store; what the project's files and the clients' own memories say is not proposed again."""
    known: tuple[Statement, ...] = ()
    if context.project:
        environment = UserEnvironment.read()
        known = known_statements(context.project, environment.user_home, client_folders=client_homes(environment))
    return Reader(
        model,
        context.store,
        now=context.now,
        scope=context.scope,
        other_vendors=context.config.model.other_vendors,
        already_written=lambda text: find_statement(text, known) is not None,
    )


_Sessions = list[tuple[str, datetime | None, list[SourcedCall]]]
"""Each session with its time and its calls."""


def _sessions(outlines: Sequence[Outline]) -> _Sessions:
    """Join the calls of each session, in the order in which sessions began."""
    found: dict[str, tuple[str, datetime | None, list[SourcedCall]]] = {}
    folders: dict[str, str] = {}
    for outline in without_copies(outlines):
        session = outline.session or outline.trajectory_id
        _, _, calls = found.setdefault(session, (session, outline.at, []))
        records: Sequence[CallRecord] = outline.calls
        if outline.keeps_folder:
            records, folders[session] = in_their_folders(records, folders.get(session, ""))
        calls += (SourcedCall(outline.trajectory_id, record) for record in records)
    return [each for each in found.values() if each[2]]


def _with_stored_names(candidate: Candidate, known_as: Mapping[str, str]) -> Candidate:
    """Return a candidate with references to other skills changed to the names they are stored under."""
    content = candidate.content
    after, parts = ((known_as.get(name, name) for name in names) for names in (content.after, content.sub_skills))
    steps = [
        dataclasses.replace(step, text=step.text.replace(f"`{old}`", f"`{known_as.get(old, old)}`"))
        for step, old in zip(content.steps, content.sub_skills, strict=False)
    ]
    renamed = dataclasses.replace(
        content, after=tuple(after), sub_skills=tuple(parts), steps=(*steps, *content.steps[len(steps) :])
    )
    return dataclasses.replace(candidate, content=renamed)


def _shares_attempts(version: SkillVersion, candidate: Candidate) -> bool:
    return not set(version.provenance.trajectory_ids).isdisjoint(candidate.provenance.trajectory_ids)


def _same_work(left: SkillContent, right: SkillContent) -> bool:
    """Whether two mined skills of one name do the same: two servers may have tools of one name."""
    if left.sub_skills or right.sub_skills:
        return not set(left.sub_skills).isdisjoint(right.sub_skills)
    return left.tags[:1] == right.tags[:1]
