"""The four learning moments, kept: what is assumed before work, checked on the way, objected to, and compared at the end.

`Moments` is the room of a memory for them; `settle` is what learning does with each run; `journalled` reads hooks' journals. A
wrong assumption becomes a lesson candidate at the one door. Nothing here runs a command, and nothing changes a skill.
"""

from tacit.features.people.moments.journalled import Line, journalled
from tacit.features.people.moments.refusals import note_refusal, note_refusals
from tacit.features.people.moments.room import Checkpoint, Moments, Told
from tacit.features.people.moments.settling import settle
from tacit.features.people.moments.stating import Speaker

__all__ = ["Checkpoint", "Line", "Moments", "Speaker", "Told", "journalled", "note_refusal", "note_refusals", "settle"]
