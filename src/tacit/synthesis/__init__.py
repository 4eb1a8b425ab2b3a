"""Trajectories → candidates: what one attempt teaches, found without a language model. Judges and stores nothing."""

from tacit.synthesis.distil import distil
from tacit.synthesis.note import Distillation, Note, NoteKind

__all__ = ["Distillation", "Note", "NoteKind", "distil"]
