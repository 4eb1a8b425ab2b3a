"""What no policy lets in without a person, however often it was proven: made of attempts → why a person must look. Pure.

A skill that reaches out of its workspace, and one whose attempts had read a text that tells a reader what to do before
they did it: the deed may then be somebody else's wish in the agent's own words, which no comparison of texts shows.
"""

from __future__ import annotations

from tacit.domain.candidate import Candidate
from tacit.domain.skill import INSTRUCTED, SkillVersion
from tacit.domain.trust import Touched
from tacit.text.capabilities import Keyed, touched

_AT_HOME = frozenset({Touched.COMMAND, Touched.EFFECT})
"""What a procedure inside the workspace may touch; dangerous commands and effects are for the checks to find."""


def wants_a_person(made: Candidate | SkillVersion) -> str:
    """Say why only a person may let this be recalled; empty where policy may."""
    content = made.content
    outside = next((each for each in touched(Keyed(content, content.hash())) if each.kind not in _AT_HOME), None)
    if outside is not None:
        return f"{outside.field} reaches out of the workspace ({outside.kind} {outside.value})"
    spans = made.provenance.grounding.get(INSTRUCTED, ())
    if spans:
        first = spans[0]
        return f"what was read in step {first.step} of {first.trajectory_id} tells a reader what to do"
    return ""
