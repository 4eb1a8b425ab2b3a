"""A failed trajectory and what successes did → the kind of failure, the first step at fault, and why; pitfalls of a skill.

With a successful attempt at the same task the two are laid side by side; without one, signs in the failed run are weighed
by what failures of other tasks, which do have such a sibling, turned out to be. Decides nothing about whether a run failed.
"""

from tacit.learn.failures.analysis import Pool, blame
from tacit.learn.failures.effects import Blame, Expected, FailureKind
from tacit.learn.failures.pitfalls import FoundPitfall, found_pitfalls, pitfalls

__all__ = ["Blame", "Expected", "FailureKind", "FoundPitfall", "Pool", "blame", "found_pitfalls", "pitfalls"]
