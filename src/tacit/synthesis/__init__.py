"""Trajectories → candidates: what attempts teach, found without a language model. Judges and stores nothing."""

from tacit.synthesis.consensus import consensus
from tacit.synthesis.distil import distil, draft_of
from tacit.synthesis.mining.candidates import is_mined
from tacit.synthesis.mining.errors import error_lessons
from tacit.synthesis.mining.mine import Mined, mine
from tacit.synthesis.note import Distillation, Note, NoteKind
from tacit.synthesis.outlining import outline_of
from tacit.synthesis.sealing import Account, account_of, sealed

__all__ = [
    "Account",
    "Distillation",
    "Mined",
    "Note",
    "NoteKind",
    "account_of",
    "consensus",
    "distil",
    "draft_of",
    "error_lessons",
    "is_mined",
    "mine",
    "outline_of",
    "sealed",
]
