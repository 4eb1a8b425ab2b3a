"""The rooms of a memory beside the loop: each is opened by one property, and keeps its own verbs."""

from __future__ import annotations

from tacit.deciding import Deciding


class Offering(Deciding):
    """A memory with its rooms."""
