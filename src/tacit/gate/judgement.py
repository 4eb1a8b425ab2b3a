"""Judgement: all rules together. Candidate and what is already known → Verdict, and the version to keep, if any.

By default a person decides on everything: the verdict is *hold*. Policy alone may accept into trial only under the open
dial, for machine-verified evidence in which no field has external origin and no rule found anything of weight.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Decision, Finding, Relation, Severity, Verdict
from tacit.domain.evidence import Grade
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.origin import Origin, lowest
from tacit.domain.ports import Stored
from tacit.domain.skill import Skill, SkillVersion
from tacit.domain.trajectory import Span
from tacit.gate.duplicates import adds_nothing, merge, moved, similarity
from tacit.gate.edits import edited_sentences
from tacit.gate.formation import REFUSING, composition, formation
from tacit.gate.remining import MINING, is_remined, remined, says_the_same, standing_edit
from tacit.gate.safety import SAFETY_RULES, safety

_WEIGHT = {severity: weight for weight, severity in enumerate(Severity)}
NAME_LENGTH_MAX = 64
_QUARANTINING = frozenset({"hidden_characters", "secret"})
_BIRTH = {
    Decision.ACCEPT: Status.TRIAL,
    Decision.HOLD: Status.CANDIDATE,
    Decision.QUARANTINE: Status.QUARANTINED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict with what is to be stored: a version born in a status, or nothing."""

    verdict: Verdict
    skill: Skill | None = None
    version: SkillVersion | None = None
    transition: Transition | None = None


def judge(
    candidate: Candidate,
    known: Sequence[Stored],
    policy: Policy,
    *,
    at: datetime,
    existing: Collection[str] | None = None,
) -> Judgement:
    """Judge one candidate against the policy and what is already known.

    `known` is the newest version of each similar skill; for a revision, the versions of its own. `existing` are the names
    of skills that a composite may be made of; without it nothing is said about missing parts.
    """
    own = sorted((s for s in known if s.skill.id == candidate.revises), key=lambda stored: stored.sequence)
    replacing: list[Finding] = []
    if own and is_remined(candidate):
        candidate, replacing = remined(candidate, own)
    formed = list(formation(candidate, policy))
    formed += composition(candidate.content, existing) if existing is not None else ()
    findings = [*formed, *safety(candidate), *replacing]
    if any(_WEIGHT[f.severity] >= _WEIGHT[REFUSING] for f in findings if f.rule not in _QUARANTINING):
        return _without_version(candidate, Decision.REJECT, findings, policy=policy, at=at)
    if own and is_remined(candidate):
        return _next_account(candidate, own, findings, policy=policy, at=at)
    return _beside(candidate, known, findings, policy=policy, at=at)


def _next_account(
    candidate: Candidate, own: Sequence[Stored], findings: list[Finding], *, policy: Policy, at: datetime
) -> Judgement:
    """What mining says anew of a known skill: its next version, unless it was said, or turned down, before."""
    same = [
        stored
        for stored in own
        if stored.version.provenance.made_by.startswith(MINING)  # one attempt's own account is told anew once
        and says_the_same(candidate.content, stored.version.content)
    ]
    if any(stored.status is Status.REJECTED for stored in same):
        findings.append(_rejected_before(same[-1]))
        return _without_version(candidate, Decision.REJECT, findings, policy=policy, at=at)
    if any(stored.status is Status.RETIRED for stored in own) and not any(s.status in RECALLABLE for s in own):
        told = f"`{own[-1].version.name}` was retired; approving this brings it back"
        findings.append(Finding(rule="retired_before", message=told, severity=Severity.MEDIUM))
    if same and same[-1] in (own[-1], standing_edit(own)):
        counted = Finding(rule="counted_again", message=f"`{same[-1].version.name}` says this already")
        return _reinforce(candidate, same[-1], [*findings, counted], policy=policy, at=at)
    return _with_version(candidate, own[-1], findings, policy=policy, at=at)


def _beside(
    candidate: Candidate, known: Sequence[Stored], findings: list[Finding], *, policy: Policy, at: datetime
) -> Judgement:
    """A candidate beside what is known: new, the same again, or the next version of the skill it is like."""
    twin, likeness = _nearest(candidate, known, policy)
    if twin is None:
        return _with_version(_renamed(candidate, known), None, findings, policy=policy, at=at)
    same = candidate.content.hash() == twin.version.hash
    adds = bool(candidate.revises) or not adds_nothing(candidate.content, twin.version.content)
    if twin.status is Status.REJECTED and not candidate.revises:
        findings.append(_rejected_before(twin))
        if same or not adds:
            return _without_version(candidate, Decision.REJECT, findings, policy=policy, at=at)
        # What was rejected stays out of it.
        return _with_version(_renamed(candidate, known), None, findings, policy=policy, at=at)
    known_as = f"`{twin.version.name}` (likeness {likeness:.2f})"
    near = Finding(rule="near_duplicate", message=f"very like {known_as}")
    written = candidate.assessment is None and not candidate.revises
    if written and not same and twin.version.name != candidate.content.name:
        # Somebody wrote it under a name of its own: point at the likeness, but swallow nothing.
        return _with_version(_renamed(candidate, known), None, [*findings, near], policy=policy, at=at)
    if same or not adds:
        near = dataclasses.replace(near, message=f"{known_as} says this already")
        return _reinforce(candidate, twin, [*findings, near], policy=policy, at=at)
    if candidate.revises:
        findings += edited_sentences(candidate.content, twin.version.content)
        return _with_version(candidate, twin, findings, policy=policy, at=at)
    near = dataclasses.replace(near, message=f"the same as {known_as} with other steps, so its next version")
    joined = _joined(candidate, twin.version)
    formed = [finding for finding in findings if finding.rule not in SAFETY_RULES]
    judgement = _with_version(joined, twin, [*formed, *safety(joined), near], policy=policy, at=at)
    verdict = dataclasses.replace(judgement.verdict, trajectory_ids=candidate.provenance.trajectory_ids, id="")
    return dataclasses.replace(judgement, verdict=verdict)


def twin_of(candidate: Candidate, known: Sequence[Stored], policy: Policy) -> Stored | None:
    """The known skill that a candidate would become the next version of, or only confirm; none a person turned down."""
    twin, _ = _nearest(candidate, known, policy)
    return twin if twin is not None and twin.status is not Status.REJECTED else None


def turned_away(findings: Iterable[Finding], *, trajectory_id: str, name: str, policy: Policy, at: datetime) -> Verdict:
    """Record why a trajectory yields nothing."""
    return Verdict(
        decision=Decision.REJECT,
        relation=Relation.NONE,
        findings=tuple(findings),
        at=at,
        name=name,
        trajectory_ids=(trajectory_id,),
        policy_hash=digest(policy),
    )


def _nearest(candidate: Candidate, known: Sequence[Stored], policy: Policy) -> tuple[Stored | None, float]:
    """The skill this candidate belongs to: the one it says it revises, else the most alike in the same scope."""
    if candidate.revises:
        own = [stored for stored in known if stored.skill.id == candidate.revises]
        return (max(own, key=lambda stored: stored.sequence), 1.0) if own else (None, 0.0)
    alike = [
        (similarity(candidate.content, stored.version.content), -stored.sequence, stored)
        for stored in known
        if stored.skill.scope == candidate.scope
    ]
    likeness, _, twin = max(alike, key=lambda entry: entry[:2], default=(0.0, 0, None))
    return (twin, likeness) if likeness >= policy.duplicate_similarity else (None, likeness)


def _renamed(candidate: Candidate, known: Sequence[Stored]) -> Candidate:
    """Give a new skill a name that no other one of its scope has, so that a name means one skill."""
    taken = {stored.version.name for stored in known if stored.skill.scope == candidate.scope}
    name, number = candidate.content.name, 2
    while name in taken:
        suffix = f"-{number}"
        name = candidate.content.name[: NAME_LENGTH_MAX - len(suffix)].rstrip("-") + suffix
        number += 1
    return dataclasses.replace(candidate, content=dataclasses.replace(candidate.content, name=name))


def _with_version(
    candidate: Candidate, twin: Stored | None, findings: list[Finding], *, policy: Policy, at: datetime
) -> Judgement:
    """Make the version: the first of a new skill, or the next of a known one."""
    content = candidate.content
    skill = twin.skill if twin else Skill.found(content, candidate.scope, at=at)
    version = SkillVersion(
        skill_id=skill.id,
        content=content,
        origins=candidate.origins,
        provenance=candidate.provenance,
        created_at=at,
        parents=candidate.parents,
    )
    decision = _decide(candidate, findings, policy)
    reason = "; ".join(finding.message for finding in findings) or "nothing found against it"
    transition = Transition(
        version_id=version.id,
        content_hash=version.hash,
        before=None,
        after=_BIRTH[decision],
        reason=reason,
        by=candidate.by,
        at=at,
    )
    verdict = _verdict(candidate, decision, findings, policy=policy, at=at)
    verdict = dataclasses.replace(
        verdict,
        relation=Relation.MERGE if twin else Relation.NEW,
        name=content.name,
        content_hash=version.hash,
        skill_id=skill.id,
        version_id=version.id,
        id="",
    )
    return Judgement(verdict=verdict, skill=skill, version=version, transition=transition)


def _decide(candidate: Candidate, findings: list[Finding], policy: Policy) -> Decision:
    if any(finding.rule in _QUARANTINING for finding in findings):
        return Decision.QUARANTINE
    external = candidate.lowest_origin is Origin.EXTERNAL
    if external and policy.strictness is Strictness.STRICT:
        return Decision.QUARANTINE
    assessment = candidate.assessment
    machine = assessment is not None and assessment.verified_success and assessment.grade is Grade.MACHINE
    weighty = any(_WEIGHT[finding.severity] >= _WEIGHT[Severity.MEDIUM] for finding in findings)
    if policy.strictness is Strictness.OPEN and machine and not external and not weighty:
        return Decision.ACCEPT
    return Decision.HOLD


def _reinforce(
    candidate: Candidate, twin: Stored, findings: list[Finding], *, policy: Policy, at: datetime
) -> Judgement:
    decision = Decision.ACCEPT if twin.status in (Status.TRIAL, Status.TRUSTED) else Decision.HOLD
    verdict = _verdict(candidate, decision, findings, policy=policy, at=at)
    verdict = dataclasses.replace(
        verdict,
        relation=Relation.REINFORCE,
        name=twin.version.name,
        content_hash=twin.version.hash,
        skill_id=twin.skill.id,
        version_id=twin.version.id,
        id="",
    )
    return Judgement(verdict=verdict)


def _without_version(
    candidate: Candidate, decision: Decision, findings: list[Finding], *, policy: Policy, at: datetime
) -> Judgement:
    verdict = _verdict(candidate, decision, findings, policy=policy, at=at)
    return Judgement(verdict=dataclasses.replace(verdict, relation=Relation.NONE, id=""))


def _verdict(
    candidate: Candidate, decision: Decision, findings: list[Finding], *, policy: Policy, at: datetime
) -> Verdict:
    return Verdict(
        decision=decision,
        findings=tuple(findings),
        at=at,
        name=candidate.content.name,
        content_hash=candidate.content.hash(),
        trajectory_ids=candidate.provenance.trajectory_ids,
        policy_hash=digest(policy),
    )


def _joined(candidate: Candidate, known: SkillVersion) -> Candidate:
    """The candidate and the version it is like as one, each field with the lower of its origins and both sides' sources."""
    merged = merge(candidate.content, known.content)
    origins: dict[str, Origin] = {}
    grounding: dict[str, tuple[Span, ...]] = {}
    sides = ((known, merged.from_known), (candidate, merged.from_newcomer))
    for side, places in sides:
        for path, origin in side.origins.items():
            at = moved(path, places)
            origins[at] = lowest((origin, origins.get(at, origin)))
        for path, spans in side.provenance.grounding.items():
            at = moved(path, places)
            grounding[at] = tuple(dict.fromkeys(grounding.get(at, ()) + spans))
    trajectory_ids = dict.fromkeys(known.provenance.trajectory_ids + candidate.provenance.trajectory_ids)
    worded = candidate.provenance if candidate.provenance.model else known.provenance
    provenance = dataclasses.replace(
        known.provenance,
        trajectory_ids=tuple(trajectory_ids),
        grounding=grounding,
        made_by=candidate.provenance.made_by,
        model=worded.model,
        prompt_version=worded.prompt_version,
    )
    return dataclasses.replace(
        candidate, content=merged.content, origins=origins, provenance=provenance, parents=(known.id,)
    )


def _rejected_before(twin: Stored) -> Finding:
    message = f"a person rejected `{twin.version.name}`, which is the same or very like it"
    return Finding(rule="rejected_before", message=message, severity=Severity.MEDIUM)
