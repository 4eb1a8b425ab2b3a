"""Trajectories → candidates: what attempts teach, found without a language model. Judges and stores nothing."""

from tacit.learn.consensus import consensus
from tacit.learn.distil import distil, draft_of
from tacit.learn.mining.candidates import is_mined
from tacit.learn.mining.errors import error_lessons
from tacit.learn.mining.mine import Mined, mine
from tacit.learn.note import Distillation, Note, NoteKind
from tacit.learn.outlining import outline_of
from tacit.learn.sealing import Account, account_of, sealed

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
