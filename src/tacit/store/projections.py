"""What a volatile store derives from what it keeps: bookmarks, outlines and renderings, none of them in the audit chain.

A part of `volatile.VolatileStore`, beside `meaning`; the store itself keeps what must not be lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.domain.bookmark import Bookmark
from tacit.domain.outline import Outline
from tacit.domain.ports import Hit, Rendering
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind
from tacit.store import laws
from tacit.store.held import Part, counting, counts, get, recallable, reread, unoutlined
from tacit.store.records import aware


class Projections(Part):
    """The part of a volatile store that can be made again."""

    def bookmark(self, path: str) -> Bookmark | None:
        """How far a file has been taken in; nothing if it never was."""
        with self._open():
            return self._state.bookmarks.get(path)

    def keep_bookmark(self, bookmark: Bookmark) -> None:
        """Note how far a file has been taken in, in place of what was noted before."""
        with self.transaction():
            self._state.bookmarks[bookmark.path] = reread(bookmark)
            self._state.log.append(lambda store: store.keep_bookmark(bookmark))

    def keep_outline(self, outline: Outline) -> None:
        """Keep the outline of a trajectory, in place of the one before; it waits to be mined."""
        with self.transaction():
            self._state.outlines.pop(outline.trajectory_id, None)
            self._state.outlines[outline.trajectory_id] = reread(outline)
            self._state.mined.discard(outline.trajectory_id)
            self._state.log.append(lambda store: store.keep_outline(outline))

    def outlines(self) -> list[Outline]:
        """The outlines of all trajectories that count, oldest first."""
        with self._open():
            return counting(self._state)

    def unoutlined(self) -> list[str]:
        """Ids of learned trajectories that count and have no outline of the present kind, oldest first."""
        with self._open():
            return unoutlined(self._state)

    def unmined(self) -> list[str]:
        """Ids of trajectories whose outlines wait to be mined, oldest first."""
        with self._open():
            return [id_ for id_ in self._state.outlines if id_ not in self._state.mined and counts(self._state, id_)]

    def mark_mined(self, trajectory_ids: Iterable[str]) -> None:
        """Note that these outlines have been mined together."""
        with self.transaction():
            taken = [identity for identity in trajectory_ids if identity in self._state.outlines]
            self._state.mined.update(taken)
            self._state.log.append(lambda store: store.mark_mined(taken))

    def put_rendering(self, rendering: Rendering) -> None:
        """Keep a recallable version as agents see it, until its status or evidence changes."""
        aware(rendering.fresh_at)
        with self.transaction():
            laws.check_rendered(get(self._state.versions, rendering.version_id, "version"))
            self._state.renderings[rendering.version_id] = reread(rendering)
            self._state.log.append(lambda store: store.put_rendering(rendering))

    def renderings(self, version_ids: Iterable[str]) -> dict[str, Rendering]:
        """Versions as agents see them."""
        with self._open():
            kept = self._state.renderings
            return {version_id: kept[version_id] for version_id in version_ids if version_id in kept}

    def unrendered(self) -> list[str]:
        """Ids of recallable versions that wait to be rendered, oldest first."""
        with self._open():
            return [id_ for id_ in recallable(self._state) if id_ not in self._state.renderings]

    def norms(self, scope: Scope, *, limit: int = 20, named: int = 0) -> list[Hit]:
        """Rendered norms that may be seen from a scope, the best served first, then the freshest."""
        with self._open():
            held = (
                (rendering, self._state.versions[version_id])
                for version_id, rendering in self._state.renderings.items()
            )
            norms = [
                (-rendering.rank, -rendering.fresh_at.timestamp(), stored.version.id, stored)
                for rendering, stored in held
                if stored.version.content.kind is Kind.NORM and stored.skill.scope.contains(scope)
            ]
            best = [stored for *_, stored in sorted(norms, key=lambda each: each[:3])[: limit + named]]
            words = self._state.version_words
            found = [Hit(stored=stored, words=words[stored.version.id]) for stored in best[:limit]]
            return [*found, *(Hit(stored=stored) for stored in best[limit:])]
