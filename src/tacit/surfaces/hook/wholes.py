"""Composites beside their parts in what a hook would show: glimpses → which goes with which. Decides nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tacit.store.hook_index import Glimpse

    Known = Mapping[str, tuple[Sequence[str], Sequence[str]]]
    """Composite → the names of its parts, and the versions that it came from."""


class Wholes:
    """Which of these stand inside others of them."""

    __slots__ = ("_heads", "_parts", "copied")

    def __init__(self, glimpses: Sequence[Glimpse], known: Known) -> None:
        self._heads: dict[str, list[Glimpse]] = {}
        self._parts: dict[str, list[Glimpse]] = {}
        self.copied: dict[str, str] = {}
        """Part → the composite that took its steps over, and need not have it beside itself (see `recall.composites`)."""
        for place, whole in enumerate(glimpses):
            names, parents = known.get(whole.version_id, ((), ()))
            parts = [each for each in glimpses if each is not whole and each.name in names]
            for part in parts:
                self._heads.setdefault(part.version_id, []).append(whole)
            self._parts[whole.version_id] = parts
            own = [part for part in parts if part.version_id in parents]
            if len(own) > 1 or any(part in glimpses[place:] for part in own):
                for part in own:
                    self.copied.setdefault(part.version_id, whole.version_id)

    def head(self, glimpse: Glimpse) -> Glimpse | None:
        """Whose lot decides over it: the composite that it stands in, or itself; nothing where it stands in several."""
        seen = {glimpse.version_id}
        while heads := self._heads.get(glimpse.version_id):
            if len(heads) > 1 or heads[0].version_id in seen:
                return None
            (glimpse,) = heads
            seen.add(glimpse.version_id)
        return glimpse

    def depth(self, version_id: str) -> int:
        """How far inside others its steps stand."""
        seen = {version_id}
        while (version_id := self.copied.get(version_id, "")) and version_id not in seen:
            seen.add(version_id)
        return len(seen) - 1

    def has_needed(self, head: Glimpse) -> bool:
        """Whether one of its parts is never held back."""
        pending, seen = [head], {head.version_id}
        while pending:
            new = [part for part in self._parts.get(pending.pop().version_id, ()) if part.version_id not in seen]
            if any(not part.unproven for part in new):
                return True
            seen.update(part.version_id for part in new)
            pending += new
        return False
