"""Past attempts: the whole trajectory as a compressed, content-addressed blob, and a sealed summary row beside it.

Retention may drop the blob; the summary, its id and its audit entries stay. Judges no outcome.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from tacit.domain.evidence import Assessment, Outcome
from tacit.domain.ports import Episode, FoundEpisode
from tacit.domain.trajectory import Trajectory
from tacit.store import invariants
from tacit.store.attempts import as_found, best, match, wanted, worth
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection, Damaged, damaged
from tacit.store.encoding import Unreadable, aware, clean, compress, pack, stamp, unpack
from tacit.store.lexical_search import EPISODE_FIELDS, EPISODE_WEIGHTS, episode_words
from tacit.store.rows import Records, Values
from tacit.store.seals import seal_of
from tacit.store.word_index import WordIndex
from tacit.text import compounds

TABLE = "trajectories"
_COLUMNS = (
    "id", "session_id", "outcome", "captured_at", "learned", "superseded", "superseded_by", "pruned", "blob",
)  # fmt: skip
_NOT_SUPERSEDED = "{row} NOT IN (SELECT seq FROM trajectories WHERE superseded = 1 AND superseded_by <> '')"
"""Asks two columns, so that one flipped bit cannot hide a row from the reader that would notice it."""
_LONGER = (
    "SELECT term, documents FROM episode_counts WHERE term NOT GLOB '_*' AND (substr(term, 1, {size}) IN "
    "(SELECT value FROM json_each(?)) OR substr(term, -{size}) IN (SELECT value FROM json_each(?)))"
)
"""One pass over all terms, whatever the number of words; which of these hold a word is asked of the few that come back."""
_SPARE = 100
"""Matches beyond the limit, since the index gives all terms of a request the same weight."""


class Trajectories:
    """The tables `trajectories` and `blobs`."""

    def __init__(self, connection: Connection, audit: Audit) -> None:
        self.rows = Records(connection, TABLE, kind=Episode, derive=_of_episode, columns=_COLUMNS)
        self.index = WordIndex(connection, "episode", fields=EPISODE_FIELDS, weights=EPISODE_WEIGHTS)
        self._connection = connection
        self._audit = audit

    def add(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory unless its content is known; mark which of two captures of one session is superseded."""
        invariants.check_trajectory(trajectory)
        if self.rows.find(trajectory.id):
            return False
        content = pack(trajectory)
        kept = unpack(content, Trajectory)
        episode = unpack(pack(invariants.episode_of(kept, assessment, at=at)), Episode)
        earlier = [(row, old) for row, old in self._of_session(episode.session_id) if invariants.same_attempt(old, episode)]
        longer = next((old.id for _, old in earlier if old.steps > episode.steps), "")
        episode = replace(episode, superseded=bool(longer))
        blob = self._add_blob(content)
        row = self.rows.add({**self.rows.columns_of(episode), "superseded_by": longer, "blob": blob})
        self.index.add(row["seq"], episode_words(episode))
        self._note("trajectory", row, actor=kept.environment.client, at=at)
        for older, old in earlier:
            if not old.superseded and old.steps <= episode.steps:
                self._change(older, replace(old, superseded=True), action="superseded", at=at, superseded_by=episode.id)
        return True

    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Put a verified assessment in place of one that is not."""
        row = self._row(trajectory_id)
        changed = invariants.vouched(self.episode(row), assessment)
        if changed is not None:
            self._change(row, changed, action="vouched", at=at)
        return changed is not None

    def whole(self, trajectory_id: str) -> Trajectory:
        """Fetch one with all its steps."""
        row = self._row(trajectory_id)
        if self.episode(row).pruned:
            raise invariants.dropped(trajectory_id)
        return self.content(row)

    def brief(self, trajectory_id: str) -> Episode:
        """Fetch one without its steps."""
        return self.episode(self._row(trajectory_id))

    def content(self, row: Values) -> Trajectory:
        """Read the blob of a row under its hash."""
        found = self._connection.run("SELECT size, data, seal FROM blobs WHERE hash = ?", row["blob"])
        if not found:
            raise self.rows.damage(row["id"], "has lost its steps")
        size, data, seal = found[0]
        if seal != seal_of("blobs", (row["blob"], size, data)):
            raise self._blob_damage(row, "does not fit its seal")
        try:
            content = zlib.decompress(data)
            trajectory = unpack(content, Trajectory)
        except (zlib.error, Unreadable) as error:
            raise self._blob_damage(row, f"cannot be read: {error}") from error
        if _hash(content) != row["blob"]:
            raise self._blob_damage(row, "does not fit its hash")
        if trajectory.content_id() != row["id"] or trajectory.id != row["id"]:
            raise self.rows.damage(row["id"], "does not hold the content that its id names")
        return trajectory

    def episode(self, row: Values) -> Episode:
        """Read the summary in a row."""
        episode = self.rows.value(row)
        if bool(row["superseded_by"]) != episode.superseded:
            raise self.rows.damage(row["id"], "does not fit its record")
        return episode

    def episodes(self, *, unlearned: bool, outcome: Outcome | None, limit: int | None) -> list[Episode]:
        """List summaries, oldest first."""
        chosen: list[Episode] = []
        for _, episode in self._read(self.rows.all_numbers()):
            if limit is not None and len(chosen) >= limit:
                break
            passed_over = unlearned and (episode.learned_at is not None or episode.superseded or episode.pruned)
            if not passed_over and outcome in (None, episode.assessment.outcome):
                chosen.append(episode)
        return chosen

    def search(self, asked: str | Sequence[str], *, limit: int) -> list[FoundEpisode]:
        """Find summaries by a request or its terms; of a growing session only its longest capture."""
        weights = wanted(asked, self._counts, self._longer_terms)
        counts, total = self.index.frequencies(list(weights))
        query = worth(weights, counts, total)
        matches = self.index.search(list(query), limit=limit and limit + _SPARE, condition=_NOT_SUPERSEDED)
        matches.sort(key=lambda match: -match.seq)
        found = best(((each.seq, match(query, each.words)) for each in matches), limit=limit)
        return [as_found(self.episode(self.rows.at(seq)), lexical) for seq, lexical in found]

    def _counts(self, terms: Sequence[str]) -> dict[str, int]:
        return self.index.frequencies(terms)[0]

    def _longer_terms(self, words: Sequence[str]) -> dict[str, int]:
        """Terms that begin or end with a plain word; one in another script is kept as its bytes and is none."""
        size = min(map(len, words))
        ends = json.dumps([word[:size] for word in words]), json.dumps([word[-size:] for word in words])
        rows = self._connection.run(_LONGER.format(size=size), *ends)
        return {term: count for term, count in rows if any(compounds.holds(term, word) for word in words)}

    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note the time of the latest distillation."""
        row = self._row(trajectory_id)
        episode = self.episode(row)
        if episode.learned_at != aware(at):
            self._change(row, replace(episode, learned_at=at), action="learned", at=at)

    def unlearn(self, trajectory_id: str, *, at: datetime) -> None:
        """Let it wait to be distilled again."""
        row = self._row(trajectory_id)
        episode = self.episode(row)
        if episode.learned_at is not None:
            self._change(row, replace(episode, learned_at=None), action="unlearned", at=at)

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the blobs that retention no longer covers."""
        held = {row["id"]: (row, episode) for row, episode in self._read(self.rows.all_numbers()) if not episode.pruned}
        holdings = [self._holding(row, episode) for row, episode in held.values()]
        chosen = invariants.choose_pruned(holdings, keep_days=keep_days, cap_bytes=cap_bytes, at=at)
        for identity in chosen:
            row, episode = held[identity]
            self._connection.run("DELETE FROM blobs WHERE hash = ?", row["blob"])
            self._change(row, replace(episode, pruned=True), action="prune", at=at)
        return len(chosen)

    def _holding(self, row: Values, episode: Episode) -> invariants.Holding:
        size = self._connection.single("SELECT size FROM blobs WHERE hash = ?", row["blob"])
        if size is None:
            raise self.rows.damage(row["id"], "has lost its steps")
        droppable = episode.learned_at is not None or episode.superseded
        return invariants.Holding(id=episode.id, captured_at=episode.captured_at, bytes=size, droppable=droppable)

    def _row(self, trajectory_id: str) -> Values:
        row = self.rows.find(trajectory_id)
        if row is None:
            raise self._audit.absent(TABLE, trajectory_id, noun="trajectory")
        return row

    def _of_session(self, session_id: str) -> list[tuple[Values, Episode]]:
        if not session_id:
            return []
        return list(self._read(self.rows.numbers("session_id = ? AND session_id <> ''", session_id)))

    def _read(self, numbers: Sequence[int]) -> Iterator[tuple[Values, Episode]]:
        for row in map(self.rows.at, numbers):
            yield row, self.episode(row)

    def _add_blob(self, content: bytes) -> str:
        name, data = _hash(content), compress(content)
        values = (name, len(data), data)
        insert = "INSERT INTO blobs (hash, size, data, seal) VALUES (?, ?, ?, ?)"
        self._connection.run(insert, *values, seal_of("blobs", values))
        return name

    def _blob_damage(self, row: Values, problem: str) -> Damaged:
        return damaged(self._connection.path, f"blobs {row['blob']}", problem)

    def _change(self, row: Values, episode: Episode, *, action: str, at: datetime, superseded_by: str = "") -> None:
        other = {"superseded_by": superseded_by} if superseded_by else {}
        changed = self.rows.change(row, **self.rows.columns_of(episode), **other)
        self._note(action, changed, actor="tacit", at=at)

    def _note(self, action: str, row: Values, *, actor: str, at: datetime) -> None:
        note = Note(action=action, subject=row["id"], record=record_path(TABLE, row["id"]), actor=actor, at=at)
        self._audit.append(note, digest=row["seal"])


def _of_episode(episode: Episode) -> Values:
    return {
        "id": clean(episode.id),
        "session_id": clean(episode.session_id),
        "outcome": str(invariants.known_outcome(episode.assessment)),
        "captured_at": stamp(episode.captured_at),
        "learned": int(episode.learned_at is not None),
        "superseded": int(episode.superseded),
        "pruned": int(episode.pruned),
    }


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
