"""People and their decisions: what they decided, what was expected of them, and what is learned from the difference."""

from tacit.features.people.intake import Answered, Interview
from tacit.features.people.knowing import Decided, Door, People, Queued
from tacit.features.people.reading import by_an_agent, from_moments, review_question, unready

__all__ = [
    "Answered", "Decided", "Door", "Interview", "People", "Queued", "by_an_agent", "from_moments", "review_question", "unready",
]  # fmt: skip
