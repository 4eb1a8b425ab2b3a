"""What mining found, worded by a language model: names, descriptions and purposes, and proposals of what was missed.

Optional: nothing else in Tacit needs it. What a skill does is never taken from a model.
"""

from tacit.synthesis.language.keeping import kept_wording
from tacit.synthesis.language.refining import Refined, Refiner, refine
from tacit.synthesis.language.rewording import Remark

__all__ = ["Refined", "Refiner", "Remark", "kept_wording", "refine"]
