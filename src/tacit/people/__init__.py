"""People and their decisions: what they decided, what was expected of them, and what is learned from the difference."""

from tacit.people.intake import Answered, Interview
from tacit.people.knowing import Decided, Door, People, Queued
from tacit.people.reading import from_moments, review_question

__all__ = ["Answered", "Decided", "Door", "Interview", "People", "Queued", "from_moments", "review_question"]
