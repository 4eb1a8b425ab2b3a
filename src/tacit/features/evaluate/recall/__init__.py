"""Does recall find what it should, and is it silent where it should be? Labelled questions → figures with intervals.

`questions` reads them, `ranking` scores one ranked list, `measuring` asks a memory and sums up. Nothing is written to it.
"""

from tacit.features.evaluate.recall.measuring import GIVEN_FIRST, Answer, RecallReport, Speaking, measure
from tacit.features.evaluate.recall.questions import Question, read_questions

__all__ = ["GIVEN_FIRST", "Answer", "Question", "RecallReport", "Speaking", "measure", "read_questions"]
