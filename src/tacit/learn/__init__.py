"""Learning: makes candidates of attempts, passes them to the gate, and ends lessons that no longer hold."""

from tacit.learn.attempt_outlines import outline_of
from tacit.learn.consensus import consensus
from tacit.learn.mining.candidates import is_mined
from tacit.learn.mining.miner import Mined, mine
from tacit.learn.origin_limits import AttemptTexts, attempt_texts, limit_origins
from tacit.learn.single_attempt import AttemptNote, AttemptNoteKind, Distillation, distil, draft_of

__all__ = [
    "AttemptNote",
    "AttemptNoteKind",
    "AttemptTexts",
    "Distillation",
    "Mined",
    "attempt_texts",
    "consensus",
    "distil",
    "draft_of",
    "is_mined",
    "limit_origins",
    "mine",
    "outline_of",
]
