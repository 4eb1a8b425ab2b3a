"""Trajectories: each as a compressed, content-addressed blob, and a sealed row with its summary (episode).

Retention may drop the blob; the summary, its id and its links in the audit chain stay.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Assessment
from tacit.domain.stored import Episode, FoundEpisode
from tacit.domain.trajectory import Trajectory
from tacit.store import invariants
from tacit.store.audit import Audit, AuditNote, record_path
from tacit.store.connection import Connection, StoreDamaged, reads, writes
from tacit.store.encoding import UnreadableRecord, aware, pack, unpack
from tacit.store.lexical_search import (
    EPISODE_FIELDS,
    EPISODE_WEIGHTS,
    distinct,
    episode_words,
    rarity,
    score,
)
from tacit.store.rows import Columns, Records, Values
from tacit.store.seals import seal_of
from tacit.store.word_index import WordIndex
from tacit.text.words import expand_query, is_part_of_compound

TABLE = "trajectories"
_COLUMNS: Columns = {
    "id": "id",
    "session_id": "session_id",
    "outcome": lambda episode: invariants.known_outcome(episode.assessment),
    "captured_at": "captured_at",
    "learned": lambda episode: episode.learned_at is not None,
    "superseded": "superseded",
    "superseded_by": None,
    "pruned": "pruned",
    "blob": None,
}
_NOT_SUPERSEDED = "{row} NOT IN (SELECT seq FROM trajectories WHERE superseded = 1 AND superseded_by <> '')"
"""Reads two columns, so that one flipped bit cannot hide a row from the reader that would notice it."""
_LONGER = (
    "SELECT term, documents FROM episode_counts WHERE term NOT GLOB '_*' AND (substr(term, 1, {size}) IN "
    "(SELECT value FROM json_each(?)) OR substr(term, -{size}) IN (SELECT value FROM json_each(?)))"
)
"""One pass over all terms, whatever the number of words; the few terms found are then compared with each word."""
_EXTRA_MATCHES = 100
"""Matches beyond the limit, since the index weighs all terms of a query equally."""


class Trajectories:
    """The tables `trajectories` and `blobs`."""

    def __init__(self, connection: Connection, audit: Audit, tombstone: invariants.FindTombstone) -> None:
        self.rows = Records(connection, TABLE, kind=Episode, columns=_COLUMNS)
        self.index = WordIndex(
            connection, "episode", rows=self.rows, fields=EPISODE_FIELDS, weights=EPISODE_WEIGHTS,
            words_of=lambda row: episode_words(self.episode(row)),
        )  # fmt: skip
        self._connection = connection
        self._audit = audit
        self._tombstone = tombstone

    @writes
    def add(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is known. A longer one of the same session supersedes it."""
        invariants.check_trajectory(trajectory, self._tombstone)
        if self.rows.find(trajectory.id):
            return False
        content = pack(trajectory)
        kept = unpack(content, Trajectory)
        episode = unpack(pack(invariants.episode_of(kept, assessment, at=at)), Episode)
        same_session = self.rows.numbers("session_id = ? AND session_id <> ''", episode.session_id)
        earlier = [(row, old) for row, old in self._read(same_session) if invariants.same_attempt(old, episode)]
        longer = next((old.id for _, old in earlier if old.steps > episode.steps), "")
        episode = replace(episode, superseded=bool(longer))
        blob, data = _hash(content), zlib.compress(content, level=6)
        values = (blob, len(data), data)
        insert = "INSERT INTO blobs (hash, size, data, seal) VALUES (?, ?, ?, ?)"
        self._connection.run(insert, *values, seal_of("blobs", values))
        row = self.rows.add({**self.rows.columns_of(episode), "superseded_by": longer, "blob": blob})
        self.index.add(row)
        self._note("trajectory", row, actor=kept.environment.client, at=at)
        for older, old in earlier:
            if not old.superseded and old.steps <= episode.steps:
                self._change(older, replace(old, superseded=True), action="superseded", at=at, superseded_by=episode.id)
        return True

    @writes
    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Replace an unverified assessment by a verified one, so that the trajectory waits to be learned from again.

        False where that changes nothing: neither or both are verified, or the trajectory is superseded or pruned.
        """
        row = self._row(trajectory_id)
        episode = self.episode(row)
        better = assessment.grade.verified and not episode.assessment.grade.verified
        if not better or episode.superseded or episode.pruned:
            return False
        self._change(row, replace(episode, assessment=assessment, learned_at=None), action="vouched", at=at)
        return True

    @reads
    def whole(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole trajectory."""
        row = self._row(trajectory_id)
        if self.episode(row).pruned:
            raise NotFound(
                f"the steps of trajectory {trajectory_id} were pruned",
                code="steps_pruned",
                hint="its summary and hash are kept; see `tacit skills history`",
            )
        return self.content(row)

    @reads
    def summary(self, trajectory_id: str) -> Episode:
        """Fetch the summary of one trajectory."""
        return self.episode(self._row(trajectory_id))

    def check(self, row: Values) -> None:
        """Raise unless a row reads back, its words are indexed, and its steps are there unless they were pruned."""
        self.index.check_words(row)
        if not row["pruned"]:
            self.content(row)

    def content(self, row: Values) -> Trajectory:
        """Read the blob of a row and check its hash."""
        found = self._connection.run("SELECT size, data, seal FROM blobs WHERE hash = ?", row["blob"])
        if not found:
            raise self.rows.damage(row["id"], "missing_steps")
        size, data, seal = found[0]
        if seal != seal_of("blobs", (row["blob"], size, data)):
            raise self._blob_damage(row, "wrong_seal")
        try:
            content = zlib.decompress(data)
            trajectory = unpack(content, Trajectory)
        except (zlib.error, UnreadableRecord) as error:
            raise self._blob_damage(row, "unreadable", str(error)) from error
        if _hash(content) != row["blob"]:
            raise self._blob_damage(row, "wrong_hash")
        if trajectory.content_id() != row["id"] or trajectory.id != row["id"]:
            raise self.rows.damage(row["id"], "wrong_content")
        return trajectory

    def episode(self, row: Values) -> Episode:
        """Read the summary in a row."""
        episode = self.rows.value(row)
        if bool(row["superseded_by"]) != episode.superseded:
            raise self.rows.damage(row["id"], "wrong_record")
        return episode

    @reads
    def episodes(self, *, unlearned: bool = False, session_id: str = "", latest: int | None = None) -> list[Episode]:
        """Summaries of trajectories, oldest first: all, those of a session, or only the `latest`.

        `unlearned` leaves out learned, superseded and pruned ones.
        """
        if session_id:
            numbers = self.rows.numbers("session_id = ? AND session_id <> ''", session_id)[-(latest or 0) :]
        else:
            numbers = self.rows.latest_numbers(latest) if latest else self.rows.all_numbers()
        found = [episode for _, episode in self._read(numbers)]
        if not unlearned:
            return found
        return [each for each in found if each.learned_at is None and not each.superseded and not each.pruned]

    @reads
    def search(self, query: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find trajectories by the words of task and files, best first, newer first among equals.

        A text is searched with every spelling of its compound words; a list of terms is searched as it is.
        """
        if isinstance(query, str):
            weights = expand_query(query, lambda terms: self.index.frequencies(terms)[0], longer=self._longer_terms)
        else:
            weights = dict.fromkeys(distinct(query), 1.0)
        counts, total = counted = self.index.frequencies(list(weights))
        worth = {
            term: weight * rarity(counts[term], total, term=term)
            for term, weight in weights.items()
            if counts.get(term, 0) > 0
        }
        matches = self.index.search(counted, limit=limit and limit + _EXTRA_MATCHES, condition=_NOT_SUPERSEDED)
        scored = [(match.seq, score(worth, match.words, weights=EPISODE_WEIGHTS)) for match in matches]
        ranked = sorted((each for each in scored if each[1] > 0), key=lambda each: (-each[1], -each[0]))
        found = [(self.episode(self.rows.at(seq)), lexical) for seq, lexical in ranked[: max(0, limit)]]
        names = [field.name for field in fields(Episode)]
        return [
            FoundEpisode(**{name: getattr(each, name) for name in names}, lexical=lexical) for each, lexical in found
        ]

    def _longer_terms(self, words: Sequence[str]) -> dict[str, int]:
        """Terms that begin or end with one of the words. Terms in other scripts are stored as hex and not considered."""
        size = min(map(len, words))
        ends = json.dumps([word[:size] for word in words]), json.dumps([word[-size:] for word in words])
        rows = self._connection.run(_LONGER.format(size=size), *ends)
        return {term: count for term, count in rows if any(is_part_of_compound(term, word) for word in words)}

    @writes
    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note that a trajectory has been learned from."""
        row = self._row(trajectory_id)
        episode = self.episode(row)
        if episode.learned_at != aware(at):
            self._change(row, replace(episode, learned_at=at), action="learned", at=at)

    def unlearn(self, trajectory_id: str, *, at: datetime) -> None:
        """Let it wait to be learned from again."""
        row = self._row(trajectory_id)
        episode = self.episode(row)
        if episode.learned_at is not None:
            self._change(row, replace(episode, learned_at=None), action="unlearned", at=at)

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Delete the blobs that retention no longer covers; returns how many."""
        held, holdings = dict[str, tuple[Values, Episode]](), list[invariants.StoredSteps]()
        for row, episode in self._read(self.rows.all_numbers()):
            if episode.pruned:
                continue
            size = self._connection.single("SELECT size FROM blobs WHERE hash = ?", row["blob"])
            if size is None:
                raise self.rows.damage(row["id"], "missing_steps")
            held[episode.id] = row, episode
            droppable = episode.learned_at is not None or episode.superseded
            steps = invariants.StoredSteps(
                id=episode.id, captured_at=episode.captured_at, bytes=size, droppable=droppable
            )
            holdings.append(steps)
        chosen = invariants.choose_pruned(holdings, keep_days=keep_days, cap_bytes=cap_bytes, at=at)
        for identity in chosen:
            row, episode = held[identity]
            self._connection.run("DELETE FROM blobs WHERE hash = ?", row["blob"])
            self._change(row, replace(episode, pruned=True), action="prune", at=at)
        return len(chosen)

    def _row(self, trajectory_id: str) -> Values:
        return self._audit.existing(self.rows, trajectory_id, noun="trajectory")

    def _read(self, numbers: Sequence[int]) -> Iterator[tuple[Values, Episode]]:
        for row in map(self.rows.at, numbers):
            yield row, self.episode(row)

    def _blob_damage(self, row: Values, code: str, detail: str = "") -> StoreDamaged:
        return StoreDamaged(self._connection.path, f"blobs {row['blob']}", code, detail)

    def _change(self, row: Values, episode: Episode, *, action: str, at: datetime, superseded_by: str = "") -> None:
        other = {"superseded_by": superseded_by} if superseded_by else {}
        changed = self.rows.change(row, **self.rows.columns_of(episode), **other)
        self._note(action, changed, actor="tacit", at=at)

    def _note(self, action: str, row: Values, *, actor: str, at: datetime) -> None:
        note = AuditNote(action=action, subject=row["id"], actor=actor, at=at)
        self._audit.append(note, record=record_path(TABLE, row["id"]), digest=row["seal"])


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
