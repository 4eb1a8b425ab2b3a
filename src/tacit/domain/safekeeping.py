"""What vouches for a store from outside its file: the manifest of a backup, and the anchor of its audit chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tacit.domain.identity import content_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds, so that it can be checked without the store it came from."""

    sha256: str
    bytes: int
    schema: int
    store_id: str
    sequence: int
    """Of the last link of the audit chain."""
    head: str
    """Hash of that link."""
    at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    """Table → rows."""
    path: str = ""
    """Where it was written; known to the store only, not told in the file beside the backup."""
    purged_at: datetime | None = None
    """When something was purged from it, after it was made."""

    @property
    def id(self) -> str:
        """Names this very backup at this very place."""
        return content_id("b", (self.sha256, self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A link of a store's audit chain, noted outside its file: a chain without it has been cut or rewritten."""

    store_id: str
    sequence: int
    head: str
    at: datetime
