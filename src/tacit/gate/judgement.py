"""Judgement: all rules together. Candidate and what is already known → Verdict, and the version to keep, if any.

By default a person decides on everything: the verdict is *hold*. Policy alone may accept into trial only under the open
dial: for machine-verified successes of several sessions behind every part, in which no field has external origin and no rule
found anything of weight. What the checks find grave is set apart, never turned away: a person may see why and decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Decision, Finding, Relation, Severity, Verdict
from tacit.domain.evidence import Grade
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import Skill, SkillVersion, accounted
from tacit.domain.stored import Stored
from tacit.domain.trajectory import Span
from tacit.gate.automatic import wants_a_person
from tacit.gate.duplicates import adds_nothing, merge, moved, similarity
from tacit.gate.edits import edited_from, edited_sentences
from tacit.gate.evidence import Successes, nobody, unproven
from tacit.gate.examination import WEIGHT, examined, new_capability
from tacit.gate.formation import REFUSING, formation
from tacit.gate.remining import MINING, is_remined, remined, says_the_same, standing_edit
from tacit.gate.safety import safety

NAME_LENGTH_MAX = 64
TOLD_MAX = 12
"""Findings that the reason of a version's birth repeats; the verdict has all."""
BY_POLICY = "policy: "
"""Begins the reason where policy alone let a version in that had waited."""
_BIRTH = {
    Decision.ACCEPT: Status.TRIAL,
    Decision.HOLD: Status.CANDIDATE,
    Decision.QUARANTINE: Status.QUARANTINED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict with what is to be stored: a version born in a status, a known one's step into trial, or nothing."""

    verdict: Verdict
    skill: Skill | None = None
    version: SkillVersion | None = None
    transition: Transition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What a judgement goes by, beside the candidate."""

    known: Sequence[Stored]
    policy: Policy
    at: datetime
    successes: Successes


def judge(
    candidate: Candidate,
    known: Sequence[Stored],
    policy: Policy,
    *,
    at: datetime,
    beside: Iterable[Finding] = (),
    successes: Successes = nobody,
) -> Judgement:
    """Judge one candidate against the policy and what is already known.

    `known` is the newest version of each similar skill; for a revision, the versions of its own. `beside` is what was
    found when it was held against the rest of the library. `successes` counts the independent ones among attempts.
    """
    around = _Around(known=known, policy=policy, at=at, successes=successes)
    own = sorted((s for s in known if s.skill.id == candidate.revises), key=lambda stored: stored.sequence)
    replacing: list[Finding] = []
    if own and is_remined(candidate):
        candidate, replacing = remined(candidate, own)
    formed = list(formation(candidate, policy))
    replacing += beside
    refusing = [finding for finding in formed if WEIGHT[finding.severity] >= WEIGHT[REFUSING]]
    if refusing and _confirms_one_in_use(candidate, known):
        formed = [finding for finding in formed if finding not in refusing]
    elif refusing:
        return _without_version(candidate, Decision.REJECT, [*formed, *replacing], around)
    if own and is_remined(candidate):
        return _next_account(candidate, own, [*formed, *replacing], around)
    return _beside(candidate, [*formed, *replacing], around)


def _confirms_one_in_use(candidate: Candidate, known: Sequence[Stored]) -> bool:
    """Whether a success shows again, word for word, what was let in: what a new skill must be made of is no question then."""
    if candidate.assessment is None or not candidate.assessment.verified_success:
        return False
    held = [stored for stored in known if stored.status in RECALLABLE and stored.skill.scope == candidate.scope]
    return any(stored.version.hash == candidate.content.hash() for stored in held)


def _next_account(candidate: Candidate, own: Sequence[Stored], findings: list[Finding], around: _Around) -> Judgement:
    """What mining says anew of a known skill: its next version, unless it was said, or turned down, before."""
    same = [
        stored
        for stored in own
        if stored.version.provenance.made_by.startswith(MINING)  # one attempt's own account is told anew once
        and says_the_same(candidate.content, stored.version.content)
    ]
    if any(stored.status is Status.REJECTED for stored in same):
        findings.append(_rejected_before(same[-1]))
        return _without_version(candidate, Decision.REJECT, findings, around)
    if any(stored.status is Status.RETIRED for stored in own) and not any(s.status in RECALLABLE for s in own):
        told = f"`{own[-1].version.name}` was retired; approving this brings it back"
        findings.append(Finding(rule="retired_before", message=told, severity=Severity.MEDIUM))
    if same and same[-1] in (own[-1], standing_edit(own)):
        counted = Finding(rule="counted_again", message=f"`{same[-1].version.name}` says this already")
        return _reinforce(candidate, same[-1], [*findings, counted], around)
    return _with_version(candidate, own[-1], findings, around)


def _beside(candidate: Candidate, findings: list[Finding], around: _Around) -> Judgement:
    """A candidate beside what is known: new, the same again, or the next version of the skill it is like."""
    known = around.known
    twin, likeness = _nearest(candidate, known, around.policy)
    if twin is None:
        return _with_version(_renamed(candidate, known), None, findings, around)
    same = candidate.content.hash() == twin.version.hash
    adds = bool(candidate.revises) or not adds_nothing(candidate.content, twin.version.content)
    if twin.status is Status.REJECTED and not candidate.revises:
        findings.append(_rejected_before(twin))
        if same or not adds:
            return _without_version(candidate, Decision.REJECT, findings, around)
        # What was rejected stays out of it.
        return _with_version(_renamed(candidate, known), None, findings, around)
    known_as = f"`{twin.version.name}` (likeness {likeness:.2f})"
    near = Finding(rule="near_duplicate", message=f"very like {known_as}")
    written = candidate.assessment is None and not candidate.revises
    if written and not same and twin.version.name != candidate.content.name:
        # Somebody wrote it under a name of its own: point at the likeness, but swallow nothing.
        return _with_version(_renamed(candidate, known), None, [*findings, near], around)
    if same or not adds:
        near = dataclasses.replace(near, message=f"{known_as} says this already")
        return _reinforce(candidate, twin, [*findings, near], around)
    if candidate.revises:
        findings += edited_sentences(candidate.content, edited_from(candidate, known, twin))
        return _with_version(candidate, twin, findings, around)
    near = dataclasses.replace(near, message=f"the same as {known_as} with other steps, so its next version")
    judgement = _with_version(joined(candidate, twin.version), twin, [*findings, near], around)
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
        policy_hash=policy.hash(),
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


def _with_version(candidate: Candidate, twin: Stored | None, findings: list[Finding], around: _Around) -> Judgement:
    """Make the version: the first of a new skill, or the next of a known one. Here all checks look at what it will be."""
    content = candidate.content
    skill = twin.skill if twin else Skill.found(content, candidate.scope, at=around.at)
    version = SkillVersion(
        skill_id=skill.id,
        content=content,
        origins=candidate.origins,
        provenance=candidate.provenance,
        created_at=around.at,
        parents=candidate.parents,
    )
    findings = [*findings, *_seen(candidate, skill.id, around.known)]
    decision, why = _decide(candidate, findings, around)
    findings += why
    transition = Transition(
        version_id=version.id,
        content_hash=version.hash,
        before=None,
        after=_BIRTH[decision],
        reason=_in_brief(findings),
        by=candidate.by,
        at=around.at,
    )
    verdict = _verdict(candidate, decision, findings, around)
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


def _seen(candidate: Candidate, skill_id: str, known: Sequence[Stored]) -> list[Finding]:
    """What safety and every check say of a candidate that is to be kept, and what it touches that is new to its skill."""
    examination = examined(candidate.content, candidate.origins, provenance=candidate.provenance)
    own = [finding for finding in safety(candidate) if not any(_says(each, finding) for each in examination.findings)]
    approved = [s.version.content for s in known if s.skill.id == skill_id and s.status in RECALLABLE]
    return [*own, *examination.findings, *new_capability(examination.needs, approved)]


def _says(other: Finding, finding: Finding) -> bool:
    """Whether another finding says the same, with no less weight and at least as exactly where."""
    within = finding.field == other.field or finding.field.startswith(f"{other.field}.")
    return within and other.rule == finding.rule and WEIGHT[other.severity] >= WEIGHT[finding.severity]


def _in_brief(findings: Sequence[Finding]) -> str:
    """The reasons as one text; of very many the heaviest."""
    ranked = sorted(findings, key=lambda finding: -WEIGHT[finding.severity]) if len(findings) > TOLD_MAX else findings
    more = f"; and {len(findings) - TOLD_MAX} more" if len(findings) > TOLD_MAX else ""
    return "; ".join(finding.message for finding in ranked[:TOLD_MAX]) + more or "nothing found against it"


def _decide(candidate: Candidate, findings: list[Finding], around: _Around) -> tuple[Decision, list[Finding]]:
    """The decision, and what policy alone misses where it was asked."""
    if any(WEIGHT[finding.severity] >= WEIGHT[Severity.HIGH] for finding in findings):
        return Decision.QUARANTINE, []
    policy = around.policy
    if candidate.lowest_origin is Origin.EXTERNAL and policy.strictness is Strictness.STRICT:
        return Decision.QUARANTINE, []
    if policy.strictness is not Strictness.OPEN or not _is_proven(candidate):
        return Decision.HOLD, []
    missing = objection(candidate, findings, policy) or _unproven(candidate, around)
    if not missing:
        return Decision.ACCEPT, []
    return Decision.HOLD, [Finding(rule="waits_for_a_person", message=f"policy alone does not let it in: {missing}")]


def _is_proven(candidate: Candidate) -> bool:
    """Whether a machine verified the attempt it came from."""
    assessment = candidate.assessment
    return assessment is not None and assessment.verified_success and assessment.grade is Grade.MACHINE


def objection(made: Candidate | SkillVersion, findings: Iterable[Finding], policy: Policy) -> str:
    """Say why policy alone may not let something be recalled, however often it was proven; empty where it may."""
    if policy.strictness is not Strictness.OPEN:
        return "a person decides"
    if made.lowest_origin is Origin.EXTERNAL:
        return "some of it came from outside"
    if person := wants_a_person(made):
        return person
    weighty = [finding for finding in findings if WEIGHT[finding.severity] >= WEIGHT[Severity.MEDIUM]]
    return f"{weighty[0].rule}: {weighty[0].message}" if weighty else ""


def _unproven(candidate: Candidate, around: _Around) -> str:
    """Say what has too little independent evidence behind it."""
    least = max(1, around.policy.independent_successes)
    return unproven(candidate.content, candidate.provenance, successes=around.successes, least=least)


def _reinforce(candidate: Candidate, twin: Stored, findings: list[Finding], around: _Around) -> Judgement:
    """Confirm what is known; where that was all that policy waited for, it goes on trial."""
    findings = [*findings, *safety(candidate)]
    move = _earned(candidate, twin, findings, around)
    decision = Decision.ACCEPT if move or twin.status in RECALLABLE else Decision.HOLD
    verdict = _verdict(candidate, decision, findings, around)
    verdict = dataclasses.replace(
        verdict,
        relation=Relation.REINFORCE,
        name=twin.version.name,
        content_hash=twin.version.hash,
        skill_id=twin.skill.id,
        version_id=twin.version.id,
        id="",
    )
    return Judgement(verdict=verdict, transition=move)


def _earned(candidate: Candidate, twin: Stored, findings: list[Finding], around: _Around) -> Transition | None:
    """Of the very same content that waits: whether more attempts have proven it now."""
    waits = twin.status is Status.CANDIDATE and candidate.content.hash() == twin.version.hash
    if not waits or twin.version.lowest_origin is Origin.EXTERNAL or not _is_proven(candidate):
        return None
    if any(objection(made, findings, around.policy) for made in (candidate, twin.version)):
        return None
    if _unproven(candidate, around):
        return None
    if objection(candidate, _seen(candidate, twin.skill.id, around.known), around.policy):
        return None
    reason = f"{BY_POLICY}enough independent machine-verified successes, and nothing against it"
    return twin.moved(Status.TRIAL, reason, by=candidate.by, at=around.at)


def _without_version(candidate: Candidate, decision: Decision, findings: list[Finding], around: _Around) -> Judgement:
    verdict = _verdict(candidate, decision, [*findings, *safety(candidate)], around)
    return Judgement(verdict=dataclasses.replace(verdict, relation=Relation.NONE, id=""))


def _verdict(candidate: Candidate, decision: Decision, findings: list[Finding], around: _Around) -> Verdict:
    return Verdict(
        decision=decision,
        findings=tuple(findings),
        at=around.at,
        name=candidate.content.name,
        content_hash=candidate.content.hash(),
        trajectory_ids=candidate.provenance.trajectory_ids,
        policy_hash=around.policy.hash(),
    )


def joined(candidate: Candidate, known: SkillVersion) -> Candidate:
    """The candidate and the version it is like as one, each field with the lower of its origins and both sides' sources."""
    merged = merge(candidate.content, known.content)
    origins: dict[str, Origin] = {}
    grounding: dict[str, tuple[Span, ...]] = {}
    sides = ((known, merged.from_known), (candidate, merged.from_newcomer))
    for side, places in sides:
        for path, origin in accounted(side.content, side.origins).items():
            at = moved(path, places)
            if not at:
                continue
            origins[at] = lowest((origin, origins.get(at, origin)))
        for path, spans in side.provenance.grounding.items():
            at = moved(path, places)
            if not at or (path == "surroundings" and not side.content.surroundings):
                continue  # attempts that told of no surroundings do not vouch for the other side's
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
