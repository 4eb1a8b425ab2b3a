"""The `Store` on one SQLite file: each method opens its transaction and hands over to the part that knows the table.

Nothing is decided here; see `skills`, `renderings`, `vectors`, `trajectories`, `outcomes`, `beside`, `audit` and `integrity`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.bookmark import Bookmark
from tacit.domain.candidate import Verdict
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.evidence import Assessment, Evidence, Outcome, Use
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.outline import Outline
from tacit.domain.ports import AuditEntry, Counts, Episode, FoundEpisode, Hit, Rendering, Stored
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.store.anchors import Anchors
from tacit.store.appended_records import Outcomes
from tacit.store.audit import Audit
from tacit.store.backups import Backups
from tacit.store.beside import Beside
from tacit.store.bookmarks import Bookmarks
from tacit.store.connection import PATIENCE_S, Connection
from tacit.store.counts import count_all, ids_with_prefix
from tacit.store.custody import Custody
from tacit.store.descent import check_may_enter, check_may_return
from tacit.store.migrations import Migration, migrate
from tacit.store.outlines import Outlines
from tacit.store.passages import Passages
from tacit.store.purge import Purging
from tacit.store.reindex import rebuild
from tacit.store.renderings import Renderings
from tacit.store.safekeeping import Safekeeping
from tacit.store.schema import MIGRATIONS, check_triggers
from tacit.store.session_notes import Jottings
from tacit.store.skills import Skills
from tacit.store.tombstones import Tombstones
from tacit.store.trajectories import Trajectories
from tacit.store.use_keys import asked_keys
from tacit.store.vectors import Vectors

if TYPE_CHECKING:
    from tacit.store.vector_search import Nearness


class SqliteStore(Beside, Custody, Safekeeping):
    """Keeps everything in one file. `patience_s` bounds the wait for other writers."""

    def __init__(
        self,
        path: str | Path,
        *,
        patience_s: float = PATIENCE_S,
        migrations: Sequence[Migration] = MIGRATIONS,
        anchors: Anchors | None = None,
    ) -> None:
        is_new = anchors is not None and not Path(path).exists()
        self._connection = Connection(path, patience_s=patience_s)
        self._migrations = tuple(migrations)
        self._anchors = anchors
        try:
            migrate(self._connection, migrations, check=check_triggers)
        except BaseException:
            self._connection.close()
            raise
        self._audit = Audit(self._connection)
        self._trajectories = Trajectories(self._connection, self._audit)
        self._skills = Skills(self._connection, self._audit)
        self._renderings = Renderings(self._connection, self._skills)
        self._vectors = Vectors(self._connection, self._skills)
        self._nearness: Nearness | None = None
        self._outcomes = Outcomes(self._connection, self._audit, schema=len(self._migrations))
        self._bookmarks = Bookmarks(self._connection)
        self._outlines = Outlines(self._connection)
        self._passages = Passages(self._connection, self._audit, self._skills)
        self._jottings = Jottings(self._connection)
        self._backups = Backups(self._connection, self._audit)
        self._tombstones = Tombstones(self._connection, self._audit, schema=len(self._migrations))
        self._purging = Purging(
            self._connection,
            self._audit,
            skills=self._skills,
            trajectories=self._trajectories,
            outcomes=self._outcomes,
            vectors=self._vectors,
        )
        if is_new:
            self._keep_anchor(anew=True)

    @property
    def path(self) -> str:
        """The file."""
        return self._connection.path

    def transaction(self) -> AbstractContextManager[None]:
        """Make several writes one: all or none."""
        return self._connection.writing()

    def add_trajectory(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is already known."""
        with self._connection.writing():
            check_may_enter(trajectory, self._tombstones.find)
            return self._trajectories.add(trajectory, assessment, at=at)

    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Put a verified assessment in place of one that is not; it is then learned from again."""
        with self._connection.writing():
            return self._trajectories.vouch(trajectory_id, assessment, at=at)

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole trajectory."""
        with self._connection.reading():
            return self._trajectories.whole(trajectory_id)

    def episodes(
        self, *, unlearned: bool = False, outcome: Outcome | None = None, limit: int | None = None
    ) -> list[Episode]:
        """List past trajectories in brief, oldest first."""
        with self._connection.reading():
            return self._trajectories.episodes(unlearned=unlearned, outcome=outcome, limit=limit)

    def episode(self, trajectory_id: str) -> Episode:
        """Fetch one past trajectory in brief."""
        with self._connection.reading():
            return self._trajectories.brief(trajectory_id)

    def search_episodes(self, asked: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find past trajectories by words of task and files, best first."""
        with self._connection.reading():
            return self._trajectories.search(asked, limit=limit)

    def bookmark(self, path: str) -> Bookmark | None:
        """How far a file has been taken in."""
        with self._connection.reading():
            return self._bookmarks.find(path)

    def keep_bookmark(self, bookmark: Bookmark) -> None:
        """Note how far a file has been taken in."""
        with self._connection.writing():
            self._bookmarks.keep(bookmark)

    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note that a trajectory has been distilled."""
        with self._connection.writing():
            self._trajectories.mark_learned(trajectory_id, at=at)

    def keep_outline(self, outline: Outline) -> None:
        """Keep the outline of a trajectory; it waits to be mined."""
        with self._connection.writing():
            self._outlines.keep(outline)

    def outlines(self) -> list[Outline]:
        """The outlines of all trajectories that count."""
        with self._connection.reading():
            return self._outlines.all()

    def unoutlined(self) -> list[str]:
        """Ids of learned trajectories without an outline of the present kind."""
        with self._connection.reading():
            return self._outlines.missing()

    def unmined(self) -> list[str]:
        """Ids of trajectories whose outlines wait to be mined."""
        with self._connection.reading():
            return self._outlines.unmined()

    def mark_mined(self, trajectory_ids: Iterable[str]) -> None:
        """Note that these outlines have been mined together."""
        with self._connection.writing():
            self._outlines.mark_mined(trajectory_ids)

    def add_verdict(self, verdict: Verdict) -> None:
        """Keep the gate's answer."""
        with self._connection.writing():
            self._outcomes.add_verdict(verdict)

    def verdicts(self, *, trajectory_id: str = "", version_id: str = "", limit: int | None = None) -> list[Verdict]:
        """The gate's answers, newest first."""
        with self._connection.reading():
            return self._outcomes.list_verdicts(trajectory_id=trajectory_id, version_id=version_id, limit=limit)

    def add_version(self, skill: Skill, version: SkillVersion, transition: Transition) -> bool:
        """Keep a version with its birth transition; False if it is known."""
        with self._connection.writing():
            check_may_return(version, self._tombstones.find)
            return self._skills.add(skill, version, transition)

    def add_transition(self, transition: Transition) -> None:
        """Change a status."""
        with self._connection.writing():
            self._skills.change(transition)
            if transition.after not in RECALLABLE:
                self._vectors.tidy()

    def version(self, version_id: str) -> Stored:
        """Fetch one version."""
        with self._connection.reading():
            return self._skills.version(version_id)

    def versions(self, skill_id: str) -> list[Stored]:
        """All versions of a skill, oldest first."""
        with self._connection.reading():
            return self._skills.of_skill(skill_id)

    def transitions(self, version_id: str) -> list[Transition]:
        """The life of a version, oldest first."""
        with self._connection.reading():
            return self._skills.life(version_id)

    def catalogue(
        self, *, statuses: Collection[Status] | None = None, kinds: Collection[Kind] | None = None, name: str = ""
    ) -> list[Stored]:
        """All versions in these statuses, by name and then arrival."""
        with self._connection.reading():
            return self._skills.catalogue(statuses=statuses, kinds=kinds, name=name)

    def search(
        self,
        terms: Sequence[str],
        *,
        statuses: Collection[Status],
        kinds: Collection[Kind] | None = None,
        limit: int = 50,
        cued_within: int = 0,
    ) -> list[Hit]:
        """Find versions by words, best first."""
        with self._connection.reading():
            return self._skills.search(terms, statuses=statuses, kinds=kinds, limit=limit, cued_within=cued_within)

    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many recallable versions each term occurs, and how many of them there are."""
        with self._connection.reading():
            return self._skills.index.frequencies(terms, recallable=True, total=self._skills.check_filters())

    def put_rendering(self, rendering: Rendering) -> None:
        """Keep a recallable version as agents see it."""
        with self._connection.writing():
            self._renderings.put(rendering)

    def renderings(self, version_ids: Iterable[str]) -> dict[str, Rendering]:
        """Versions as agents see them."""
        with self._connection.reading():
            return self._renderings.named(list(version_ids))

    def unrendered(self) -> list[str]:
        """Ids of recallable versions that wait to be rendered."""
        with self._connection.reading():
            return self._renderings.missing()

    def norms(self, scope: Scope, *, limit: int = 20, named: int = 0) -> list[Hit]:
        """Rendered norms that may be seen from a scope, the best served first, then the freshest."""
        with self._connection.reading():
            numbers = self._renderings.norms(str(scope), limit=limit + named)
            more = self._skills.held(numbers[limit:])
            return [*self._skills.hits(numbers[:limit]), *(Hit(stored=stored) for stored in more)]

    def put_vectors(self, version_id: str, vectors: Sequence[bytes], *, space: str) -> None:
        """Keep the vectors of a recallable version in one embedder's space."""
        with self._connection.writing():
            self._vectors.put(version_id, vectors, space=space)

    def unembedded(self, space: str, *, limit: int | None = None) -> list[str]:
        """Ids of recallable versions without vectors in this space."""
        with self._connection.reading():
            return self._vectors.missing(space, limit=limit)

    def nearest(
        self, vector: bytes, *, space: str, kinds: Collection[Kind] | None = None, limit: int = 50
    ) -> list[Hit]:
        """The recallable versions nearest in meaning, best first."""
        with self._connection.reading():
            return self._by_meaning().nearest(vector, space=space, kinds=kinds, limit=limit)

    def similarities(self, vector: bytes, version_ids: Iterable[str], *, space: str) -> dict[str, float]:
        """How near these versions are."""
        with self._connection.reading():
            return self._by_meaning().similarities(vector, version_ids, space=space)

    def spaces(self) -> dict[str, int]:
        """Embedders' spaces with vectors → how many versions have some in each."""
        with self._connection.reading():
            return self._vectors.counts()

    def drop_space(self, space: str) -> None:
        """Forget all vectors of one space."""
        with self._connection.writing():
            self._vectors.drop(space)

    def reindex(self) -> int:
        """Build the full-text indexes and the blocks of vectors anew from what they were made from."""
        with self._connection.writing():
            self._outcomes.keys.rebuild()
            return rebuild(
                self._connection,
                skills=self._skills,
                trajectories=self._trajectories,
                passages=self._passages,
                vectors=self._vectors,
            )

    def resolve(self, prefix: str) -> list[str]:
        """Ids that begin with `prefix`, at most ten."""
        with self._connection.reading():
            return ids_with_prefix(self._connection, prefix)

    def add_use(self, use: Use) -> None:
        """Keep what was shown."""
        with self._connection.writing():
            self._outcomes.add_use(use)

    def use(self, use_id: str) -> Use:
        """Fetch one use."""
        with self._connection.reading():
            return self._outcomes.use(use_id)

    def uses(self, *, session_id: str = "", version_id: str = "") -> list[Use]:
        """What was shown or held back, oldest first: in one session, of one version, or all of it."""
        with self._connection.reading():
            return self._outcomes.keys.uses(*asked_keys(session_id=session_id, version_id=version_id))

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep a result; False if this very one is known."""
        with self._connection.writing():
            return self._outcomes.add_evidence(evidence)

    def evidence(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Results by version, oldest first."""
        with self._connection.reading():
            return self._outcomes.by_version(version_ids)

    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """The newest links of the audit chain, oldest first; of one subject (a skill with its versions) if given."""
        with self._connection.reading():
            return self._audit.entries(self._with_versions(subject) if subject else None, limit=limit)

    def counts(self) -> Counts:
        """How much there is."""
        with self._connection.reading():
            return count_all(self._connection)

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""
        with self._connection.writing():
            dropped = self._trajectories.prune(keep_days=keep_days, cap_bytes=cap_bytes, at=at)
            if dropped:
                self._outlines.forget_dropped()
            self._jottings.forget(session_id="", at=at)
            return dropped

    def _by_meaning(self) -> Nearness:
        """What compares vectors; loaded when it is first needed, for numpy loads slowly and comes with an extra."""
        if self._nearness is None:
            try:
                from tacit.store.vector_search import Nearness
            except ModuleNotFoundError as error:
                raise Mistake("recall by meaning needs numpy", hint="pip install 'tacit[semantic]'") from error
            self._nearness = Nearness(self._connection, self._skills, self._vectors)
        return self._nearness

    def _with_versions(self, subject: str) -> frozenset[str]:
        try:
            versions = self._skills.of_skill(subject)
        except NotFound:
            return frozenset({subject})
        return frozenset({subject, *(stored.version.id for stored in versions)})
