"""Connects adapters to a memory: a purge also removes the files of adapters that were trained on purged data."""

from __future__ import annotations

from tacit.domain.extension import Extension


class TrainExtension(Extension):
    """Removes adapter files after a purge."""

    def on_purge(self) -> None:
        """Remove the files of adapters that descend from what was purged."""
        from tacit.features.train.adapter_registry import Adapters  # heavy, and purges are rare

        self.notices += Adapters(self.memory, purged=True).notices
