"""Mined again from more attempts: the newcomer's account of a skill takes the place of the old one. Pure.

Counts are over all attempts, so two accounts of one skill are not united: the later one stands. What a person wrote since
is not thrown away unseen: their words stay where mining has none to offer, and where it has, a finding says so and a
person decides. An account that differs in its counts alone says nothing new.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.identity import plain
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.skill import INSTRUCTED, Provenance, SkillContent, accounted
from tacit.domain.stored import Stored

T = TypeVar("T")
MINING = "tacit.mining"
_TACIT = "tacit."
MINED = (
    "steps", "parameters", "preconditions", "postconditions", "cases", "cues", "pitfalls", "after", "sub_skills",
    "surroundings",
)  # fmt: skip
"""What mining finds out; the rest is words about it."""
WORDS = ("description", "category", "tags", "example_queries", "body")


def is_remined(candidate: Candidate) -> bool:
    """Whether mining offers a new account of a known skill."""
    return bool(candidate.revises) and candidate.provenance.made_by.startswith(MINING)


def remined(candidate: Candidate, own: Sequence[Stored]) -> tuple[Candidate, list[Finding]]:
    """The candidate as the next version of its skill, and what of a person's it would replace.

    `own` are the versions of the skill, oldest first; at least one.
    """
    edit = standing_edit(own)
    known = (edit or own[-1]).version
    taken = MINED + WORDS if _are_minings_words(known.provenance, candidate.provenance) else MINED
    content = dataclasses.replace(known.content, **{name: getattr(candidate.content, name) for name in taken})
    told = [each.provenance.grounding.get(INSTRUCTED, ()) for each in (candidate, known)]
    instructed = {INSTRUCTED: tuple(dict.fromkeys(told[0] + told[1]))} if any(told) else {}
    worded = candidate.provenance if candidate.provenance.model else known.provenance
    provenance = dataclasses.replace(
        candidate.provenance,
        grounding=_joint(candidate.provenance.grounding, known.provenance.grounding, taken) | instructed,
        model=worded.model,
        prompt_version=worded.prompt_version,
    )
    again = dataclasses.replace(
        candidate,
        content=content,
        origins=_joint(accounted(candidate.content, candidate.origins), accounted(known.content, known.origins), taken),
        provenance=provenance,
        parents=(known.id,),
    )
    return again, list(_replaced(content, edit)) if edit else []


def standing_edit(own: Sequence[Stored]) -> Stored | None:
    """What somebody wrote that still counts: not turned down, and not replaced by anything approved since."""
    for stored in sorted(own, key=lambda stored: -stored.sequence):
        if _is_written(stored.version.provenance) and stored.status not in (Status.REJECTED, Status.RETIRED):
            return stored
        if stored.status in RECALLABLE:
            return None
    return None


def says_the_same(left: SkillContent, right: SkillContent) -> bool:
    """Whether two accounts differ in nothing but counts, weights, examples and the words that tell of them."""
    return _said(left) == _said(right)


def _is_written(provenance: Provenance) -> bool:
    """Whether a person, or an agent, wrote it, rather than one of Tacit's own stages."""
    return bool(provenance.made_by) and not provenance.made_by.startswith(_TACIT)


def _are_minings_words(known: Provenance, new: Provenance) -> bool:
    """Whether the words about a skill are Tacit's own; a person's, or a language model's, stay."""
    return known.made_by.startswith(_TACIT) and (bool(new.model) or not known.model)


def _joint(new: Mapping[str, T], old: Mapping[str, T], taken: Sequence[str]) -> dict[str, T]:
    """Of each field what its side says of it."""
    kept = {path: value for path, value in old.items() if path.partition(".")[0] not in taken}
    return kept | {path: value for path, value in new.items() if path.partition(".")[0] in taken}


def _replaced(content: SkillContent, edit: Stored) -> Iterator[Finding]:
    before, after = _said(edit.version.content), _said(content)
    changed = [name for name in MINED if before[name] != after[name]]
    if changed:
        who = edit.version.provenance.made_by
        message = f"`{who}` wrote the version before; approving this replaces its {', '.join(changed)}"
        yield Finding(rule="replaces_an_edit", message=message, severity=Severity.MEDIUM, field=changed[0])


def _said(content: SkillContent) -> dict[str, Any]:
    """What an account says, without its counts."""
    told: dict[str, Any] = {name: plain(getattr(content, name)) for name in MINED}
    told["parameters"] = [(p.name, p.type, p.reading, p.key) for p in content.parameters]
    told["cases"] = sorted(repr(case.conditions) for case in content.cases)
    told["cues"] = sorted((cue.term, cue.weight > 0) for cue in content.cues)
    told["surroundings"] = ()  # one more tool somewhere is no news about the skill
    told["pitfalls"] = sorted(repr((p.text, p.kind, p.step)) for p in content.pitfalls)
    return told
