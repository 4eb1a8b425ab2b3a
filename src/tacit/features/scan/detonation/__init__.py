"""Detonation: a skill's scripts, run in a sandbox among bait → what they tried, as findings. Never runs anything outside one.

It sees what a script does when it is started without arguments, or with the name of a file where it asks for one. What
waits for a date, a certain machine or a longer time stays hidden: finding nothing is no proof of harmlessness.
"""

from tacit.features.scan.detonation.canaries import Bait, lay_bait
from tacit.features.scan.detonation.running import Detonation, detonate
from tacit.features.scan.detonation.verdict import findings_of

__all__ = ["Bait", "Detonation", "detonate", "findings_of", "lay_bait"]
