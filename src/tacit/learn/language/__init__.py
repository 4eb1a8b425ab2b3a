"""Optional wording by a language model: names, descriptions and purposes, and proposals of missed lessons.

Nothing else needs it. What a skill does is never taken from a model.
"""

from tacit.learn.language.answers import ModelRemark, keep_wording
from tacit.learn.language.refiner import Refined, Refiner

__all__ = ["ModelRemark", "Refined", "Refiner", "keep_wording"]
