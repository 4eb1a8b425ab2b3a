"""Sandboxes behind one port: a request → a confined run, or the reason why there is none. Judges nothing of what ran."""

from tacit.providers.sandbox.bubblewrap import Bubblewrap, open_sandbox

__all__ = ["Bubblewrap", "open_sandbox"]
