"""Revisions of a known skill: what mining describes again from more attempts, and what a person edited. Pure.

Mining counts over all attempts every time, so its newest result replaces its earlier ones instead of being merged with
them. What a person wrote since is kept in the fields that mining leaves empty or does not set; where mining would replace
it, a finding reports that and a person decides. A result that differs in its counts alone makes no new version.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tacit.domain.candidate import Candidate, Finding
from tacit.domain.identity import canonical, plain
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.skill import READ_INSTRUCTIONS, Provenance, SkillContent, SkillStep, with_default_origins
from tacit.domain.stored import StoredVersion
from tacit.gate.findings import finding

T = TypeVar("T")
MINING = "tacit.mining"
_TACIT = "tacit."
MINED_FIELDS = (
    "steps", "parameters", "preconditions", "postconditions", "cases", "cues", "pitfalls", "after", "sub_skills",
    "surroundings",
)  # fmt: skip
"""Fields that mining determines."""
DESCRIPTION_FIELDS = ("description", "category", "tags", "example_queries", "body")


def is_remined(candidate: Candidate) -> bool:
    """Whether mining describes a known skill again."""
    return bool(candidate.revises) and candidate.provenance.made_by.startswith(MINING)


def merge_remined(candidate: Candidate, own: Sequence[StoredVersion]) -> tuple[Candidate, list[Finding]]:
    """Return the candidate as the next version of its skill, and findings on what a person wrote that it would replace.

    `own` are the versions of the skill, oldest first; at least one.
    """
    edit = current_edit(own)
    known = (edit or own[-1]).version
    from_mining = (
        MINED_FIELDS + DESCRIPTION_FIELDS
        if _may_replace_description(known.provenance, candidate.provenance)
        else MINED_FIELDS
    )
    content = dataclasses.replace(known.content, **{name: getattr(candidate.content, name) for name in from_mining})
    spans = [each.provenance.grounding.get(READ_INSTRUCTIONS, ()) for each in (candidate, known)]
    instructed = {READ_INSTRUCTIONS: tuple(dict.fromkeys(spans[0] + spans[1]))} if any(spans) else {}
    worded = candidate.provenance if candidate.provenance.model else known.provenance
    provenance = dataclasses.replace(
        candidate.provenance,
        grounding=_pick_fields(candidate.provenance.grounding, known.provenance.grounding, from_mining) | instructed,
        model=worded.model,
        prompt_version=worded.prompt_version,
    )
    again = dataclasses.replace(
        candidate,
        content=content,
        origins=_pick_fields(
            with_default_origins(candidate.content, candidate.origins),
            with_default_origins(known.content, known.origins),
            from_mining,
        ),
        provenance=provenance,
        parents=(known.id,),
    )
    return again, list(_replaced(content, edit)) if edit else []


def current_edit(own: Sequence[StoredVersion]) -> StoredVersion | None:
    """Return the newest version that a person or agent wrote, unless it was rejected or replaced by an approved one."""
    for stored in sorted(own, key=lambda stored: -stored.sequence):
        if _is_written(stored.version.provenance) and stored.status not in (Status.REJECTED, Status.RETIRED):
            return stored
        if stored.status in RECALLABLE:
            return None
    return None


def same_instructions(left: SkillContent, right: SkillContent) -> bool:
    """Whether two contents differ in nothing but counts, weights, examples and descriptions."""
    return _instructions(left) == _instructions(right)


def _is_written(provenance: Provenance) -> bool:
    """Whether a person or an agent wrote it, not Tacit itself."""
    return bool(provenance.made_by) and not provenance.made_by.startswith(_TACIT)


def _may_replace_description(known: Provenance, new: Provenance) -> bool:
    """Whether the description may be replaced: it is Tacit's own, not a person's or a language model's."""
    return known.made_by.startswith(_TACIT) and (bool(new.model) or not known.model)


def _pick_fields(new: Mapping[str, T], old: Mapping[str, T], from_new: Sequence[str]) -> dict[str, T]:
    """Take the entries of the fields in `from_new` from the new side, and the others from the old one."""
    kept = {path: value for path, value in old.items() if path.partition(".")[0] not in from_new}
    return kept | {path: value for path, value in new.items() if path.partition(".")[0] in from_new}


def _replaced(content: SkillContent, edit: StoredVersion) -> Iterator[Finding]:
    before, after = _instructions(edit.version.content), _instructions(content)
    changed = [name for name in MINED_FIELDS if before[name] != after[name]]
    if changed:
        who = edit.version.provenance.made_by
        yield finding("replaces_an_edit", field=changed[0], who=who, fields=", ".join(changed))


def _instructions(content: SkillContent) -> dict[str, Any]:
    """Return what a content instructs, without its counts."""
    found: dict[str, Any] = {name: plain(getattr(content, name)) for name in MINED_FIELDS}
    found["parameters"] = [(p.name, p.type, p.reading, p.key) for p in content.parameters]
    found["cases"] = sorted(repr(case.conditions) for case in content.cases)
    found["cues"] = sorted((cue.term, cue.weight > 0) for cue in content.cues)
    found["surroundings"] = ()  # one more tool on some machine does not change the skill
    found["pitfalls"] = sorted(repr((p.text, p.kind, p.step)) for p in content.pitfalls)
    return found


def edited_from(candidate: Candidate, known: Sequence[StoredVersion], newest: StoredVersion) -> SkillContent:
    """Return the content that an edit started from: its parent if known, else the newest version."""
    parents = [stored for stored in known if stored.version.id in candidate.parents]
    return (parents[0] if parents else newest).version.content


def changed_step_texts(content: SkillContent, before: SkillContent) -> Iterator[Finding]:
    """Report steps whose text was rewritten while their tool call stayed the same."""
    now, then = _sentences(content.steps), _sentences(before.steps)
    for call, steps in now.items():
        gone = [text for _, text in then[call] if text not in {text for _, text in steps}]
        new = [(number, text) for number, text in steps if text not in {text for _, text in then[call]}]
        for (number, _), _ in zip(new, gone, strict=False):  # the rest was added or removed
            yield finding("edited_sentence", field=f"steps.{number - 1}", step=number)


def _sentences(steps: Sequence[SkillStep]) -> defaultdict[bytes, list[tuple[int, str]]]:
    """Return tool call → number and text of each step that makes it."""
    found: defaultdict[bytes, list[tuple[int, str]]] = defaultdict(list)
    for number, step in enumerate(steps, start=1):
        if step.tool:
            found[canonical([step.tool, step.arguments])].append((number, step.text))
    return found
