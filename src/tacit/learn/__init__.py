"""Trajectories → candidates: what attempts teach, found without a language model. Judges and stores nothing."""

from tacit.learn.attempt_outlines import outline_of
from tacit.learn.consensus import consensus
from tacit.learn.mining.candidates import is_mined
from tacit.learn.mining.error_lessons import error_lessons
from tacit.learn.mining.miner import Mined, mine
from tacit.learn.origin_limits import Account, account_of, sealed
from tacit.learn.single_attempt import Distillation, Note, NoteKind, distil, draft_of

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
