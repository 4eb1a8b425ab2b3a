"""What versions mean, in a volatile store: vectors in → the nearest versions out, in plain Python; and words made anew.

A part of `volatile.VolatileStore`, beside `projections`. Gives the same answers as the store on SQLite, digit by digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Hit
from tacit.domain.skill import Kind
from tacit.store import laws
from tacit.store.held import Part, get, recallable, wanted
from tacit.store.lexical import episode_words, version_words
from tacit.store.vectors import check_length, checked, direction_of, similarity


class Meaning(Part):
    """The part of a volatile store that finds by meaning."""

    def put_vectors(self, version_id: str, vectors: Sequence[bytes], *, space: str) -> None:
        """Keep the vectors of a recallable version in one embedder's space, until it stops being recallable."""
        with self.transaction():
            state = self._state
            laws.check_embedded(get(state.versions, version_id, "version"))
            kept = tuple(checked(vectors, space=space, dimensions=state.dimensions.get(space)))
            state.dimensions[space] = len(kept[0])
            state.vectors[space, version_id] = kept
            again = tuple(vectors)
            state.log.append(lambda store: store.put_vectors(version_id, again, space=space))

    def unembedded(self, space: str, *, limit: int | None = None) -> list[str]:
        """Ids of recallable versions without vectors in this space, oldest first."""
        with self._open():
            waiting = [id_ for id_ in recallable(self._state) if (space, id_) not in self._state.vectors]
            return waiting if limit is None else waiting[: max(0, limit)]

    def nearest(
        self, vector: bytes, *, space: str, kinds: Collection[Kind] | None = None, limit: int = 50
    ) -> list[Hit]:
        """The recallable versions nearest in meaning, exactly, best first: of each skill its newest one."""
        with self._open():
            state = self._state
            newest = {
                stored.skill.id: id_ for id_, stored in state.versions.items() if wanted(stored, RECALLABLE, kinds)
            }
            near = self.similarities(vector, newest.values(), space=space)
            stored = [state.versions[id_] for id_ in near]
            ranked = sorted(stored, key=lambda each: (-near[each.version.id], -each.sequence))
            return [
                Hit(stored=each, semantic=near[each.version.id], words=state.version_words[each.version.id])
                for each in ranked[: max(0, limit)]
            ]

    def similarities(self, vector: bytes, version_ids: Iterable[str], *, space: str) -> dict[str, float]:
        """How near these versions are; those without vectors in this space are left out."""
        direction = direction_of(vector)
        with self._open():
            state = self._state
            if space in state.dimensions:
                check_length(len(direction), space=space, dimensions=state.dimensions[space])
            parts = {id_: state.vectors.get((space, id_), ()) for id_ in version_ids}
            return {id_: max(similarity(codes, direction) for codes in kept) for id_, kept in parts.items() if kept}

    def spaces(self) -> dict[str, int]:
        """Embedders' spaces with vectors → how many versions have some in each."""
        with self._open():
            return dict(Counter(space for space, _ in self._state.vectors))

    def drop_space(self, space: str) -> None:
        """Forget all vectors of one space."""
        with self.transaction():
            state = self._state
            state.vectors = {key: kept for key, kept in state.vectors.items() if key[0] != space}
            state.dimensions.pop(space, None)
            state.log.append(lambda store: store.drop_space(space))

    def reindex(self) -> int:
        """Make the words anew from the versions and episodes; returns how many there are, with passages."""
        with self.transaction():
            state = self._state
            state.version_words = {id_: version_words(each.version.content) for id_, each in state.versions.items()}
            state.episode_words = {id_: episode_words(episode) for id_, episode in state.episodes.items()}
            passages = sum(map(len, state.passages.values()))
            return len(state.versions) + len(state.episodes) + passages
