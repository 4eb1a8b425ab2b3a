"""Decisions of a person → what they will probably decide next, how sure that is, and why. Pure; decides nothing."""

from tacit.features.people.forecast.activation import activation, presence
from tacit.features.people.forecast.asking import Ask, open_questions
from tacit.features.people.forecast.calibration import SURE, Settled, confidence
from tacit.features.people.forecast.conflicts import Conflict, ConflictKind, conflict_in
from tacit.features.people.forecast.outlook import Outlook, foresee
from tacit.features.people.forecast.prediction import Leaning, Mind, mind_of
from tacit.features.people.forecast.question import Question
from tacit.features.people.forecast.surprise import stirred, surprised
from tacit.features.people.forecast.tracking import Bin, Track, calibration_table, settled, track

__all__ = [
    "SURE",
    "Ask",
    "Bin",
    "Conflict",
    "ConflictKind",
    "Leaning",
    "Mind",
    "Outlook",
    "Question",
    "Settled",
    "Track",
    "activation",
    "calibration_table",
    "confidence",
    "conflict_in",
    "foresee",
    "mind_of",
    "open_questions",
    "presence",
    "settled",
    "stirred",
    "surprised",
    "track",
]
