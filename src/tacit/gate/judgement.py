"""The gate's judgement of one candidate: compare it with the known skills, run the checks, decide. Stores nothing.

First `_Judgement` finds what the candidate is to the library: a new skill, the next version of a known one, a
confirmation of one, or nothing. Then it makes what is to be stored. By default a person decides on everything that is
stored (`GateDecision.HOLD`: it waits for a person). Only the open policy accepts by itself, and only machine-verified
successes of several sessions, without external origin and without findings of severity medium or higher. Grave findings
quarantine a version instead of rejecting it, so that a person can see why and decide.

Mining counts over all attempts every time, so its newest result replaces its earlier ones instead of being merged with
them. What a person wrote since is kept in the fields that mining leaves empty or does not set; where mining would replace
it, a finding reports that and a person decides. A result that differs in its counts alone makes no new version.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, GateDecision, Relation, Severity, Verdict
from tacit.domain.identity import canonical, plain
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, Transition, coded
from tacit.domain.skill import (
    MADE_BY_MINING,
    READ_INSTRUCTIONS,
    FieldRole,
    Skill,
    SkillContent,
    SkillStep,
    SkillVersion,
    fields_with,
    with_default_origins,
)
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Span, lowest
from tacit.gate.checks.safety import safety
from tacit.gate.content_checks import examine_content, new_capability
from tacit.gate.duplicates import adds_nothing, merge_contents, remap_path, repeats_calls, similarity
from tacit.gate.findings import GateReason, finding, reason_sentence
from tacit.gate.formation_policy import (
    REJECT_FROM,
    CountSuccesses,
    eligibility,
    is_machine_verified,
    missing_evidence,
    reason_against_acceptance,
)

T = TypeVar("T")
_MINED_FIELDS = fields_with(FieldRole.MINED)


def merge_remined(candidate: Candidate, own: Sequence[StoredVersion]) -> tuple[Candidate, list[Finding]]:
    """Return the candidate as the next version of its skill, and findings on what a person wrote that it would replace.

    `own` are the versions of the skill, oldest first; at least one.
    """
    edit = current_edit(own)
    earlier = (edit or own[-1]).version
    # The description may be replaced where it is Tacit's own, not a person's or a language model's.
    made = earlier.provenance
    is_own = made.by_tacit and (bool(candidate.provenance.model) or not made.model)
    from_mining = _MINED_FIELDS + fields_with(FieldRole.DESCRIBES) if is_own else _MINED_FIELDS
    content = dataclasses.replace(earlier.content, **{name: getattr(candidate.content, name) for name in from_mining})
    spans = [each.provenance.grounding.get(READ_INSTRUCTIONS, ()) for each in (candidate, earlier)]
    instructed = {READ_INSTRUCTIONS: tuple(dict.fromkeys(spans[0] + spans[1]))} if any(spans) else {}
    worded = candidate.provenance if candidate.provenance.model else earlier.provenance
    provenance = dataclasses.replace(
        candidate.provenance,
        grounding=_pick_fields(candidate.provenance.grounding, earlier.provenance.grounding, from_mining) | instructed,
        model=worded.model,
        prompt_version=worded.prompt_version,
    )
    again = dataclasses.replace(
        candidate,
        content=content,
        origins=_pick_fields(
            with_default_origins(candidate.content, candidate.origins),
            with_default_origins(earlier.content, earlier.origins),
            from_mining,
        ),
        provenance=provenance,
        parents=(earlier.id,),
    )
    if edit is None:
        return again, []
    before, after = _instructions(edit.version.content), _instructions(content)
    changed = [name for name in _MINED_FIELDS if before[name] != after[name]]
    who = edit.version.provenance.made_by
    return again, [finding("replaces_an_edit", field=each, who=who, fields=", ".join(changed)) for each in changed[:1]]


def current_edit(own: Sequence[StoredVersion]) -> StoredVersion | None:
    """Return the newest version that a person or agent wrote, unless it was rejected or replaced by an approved one."""
    for stored in sorted(own, key=lambda stored: -stored.sequence):
        made = stored.version.provenance
        is_written = bool(made.made_by) and not made.by_tacit
        if is_written and stored.status not in (Status.REJECTED, Status.RETIRED):
            return stored
        if stored.status in RECALLABLE:
            return None
    return None


def _pick_fields(new: Mapping[str, T], old: Mapping[str, T], from_new: Sequence[str]) -> dict[str, T]:
    """Take the entries of the fields in `from_new` from the new side, and the others from the old one."""
    kept = {path: value for path, value in old.items() if path.partition(".")[0] not in from_new}
    return kept | {path: value for path, value in new.items() if path.partition(".")[0] in from_new}


def _instructions(content: SkillContent) -> dict[str, Any]:
    """Return what a content instructs, without its counts, weights, examples and descriptions."""
    found: dict[str, Any] = {name: plain(getattr(content, name)) for name in _MINED_FIELDS}
    found["parameters"] = [(p.name, p.type, p.reading, p.key) for p in content.parameters]
    found["cases"] = sorted(repr(case.conditions) for case in content.cases)
    found["cues"] = sorted((cue.term, cue.weight > 0) for cue in content.cues)
    found["surroundings"] = ()  # one more tool on some machine does not change the skill
    found["pitfalls"] = sorted(repr((p.text, p.kind, p.step)) for p in content.pitfalls)
    return found


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


NAME_LENGTH_MAX = 64
SUMMARY_MAX = 12
"""Findings that the reason of a version's first transition repeats; the verdict has all."""
_FIRST_STATUS = {
    GateDecision.ACCEPT: Status.TRIAL,
    GateDecision.HOLD: Status.CANDIDATE,
    GateDecision.QUARANTINE: Status.QUARANTINED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The verdict with what is to be stored: a version and its first transition, a known version's transition, or nothing."""

    verdict: Verdict
    skill: Skill | None = None
    version: SkillVersion | None = None
    transition: Transition | None = None


def judge(
    candidate: Candidate,
    similar: Sequence[StoredVersion],
    policy: Policy,
    *,
    at: datetime,
    library_findings: Iterable[Finding] = (),
    successes: CountSuccesses = lambda _: 0,
) -> GateResult:
    """Judge one candidate against the policy and the known skills; return the verdict and what is to be stored.

    `similar` is the newest version of each similar skill; for a revision, all versions of its own. `library_findings` come
    from comparing it with the rest of the library. `successes` counts the independent verified ones among attempts.
    """
    # A merged candidate has the attempts of both sides; the verdict is about its own.
    judgement = _Judgement(similar, policy, at, successes, candidate.provenance.trajectory_ids)
    related = judgement.relate(candidate, list(library_findings))
    match related.relation:
        case Relation.NONE:
            findings = [*related.findings, *safety(related.candidate)]
            return GateResult(verdict=judgement.verdict(related, GateDecision.REJECT, findings))
        case Relation.REINFORCE:
            return judgement.confirmation(related)
        case Relation.NEW | Relation.MERGE:
            return judgement.new_version(related)


def nearest_skill(
    candidate: Candidate, similar: Sequence[StoredVersion], policy: Policy, *, rejected: bool = False
) -> StoredVersion | None:
    """Return the known skill that a candidate would extend or confirm; one that a person rejected only if `rejected`."""
    closest, _ = _nearest(candidate, similar, policy)
    return closest if closest is not None and (rejected or closest.status is not Status.REJECTED) else None


def rejection(findings: Iterable[Finding], *, trajectory_id: str, name: str, policy: Policy, at: datetime) -> Verdict:
    """Return the verdict on a trajectory that yields no candidate."""
    return Verdict(
        decision=GateDecision.REJECT,
        relation=Relation.NONE,
        findings=tuple(findings),
        at=at,
        name=name,
        trajectory_ids=(trajectory_id,),
        policy_hash=policy.hash(),
    )


@dataclass(frozen=True, slots=True)
class _Related:
    """A candidate, what it is to the library, and the findings so far."""

    relation: Relation
    candidate: Candidate
    findings: list[Finding]
    target: StoredVersion | None = None
    """The version of the skill that it extends or confirms."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    _similar: Sequence[StoredVersion]
    _policy: Policy
    _at: datetime
    _successes: CountSuccesses
    _attempts: tuple[str, ...]

    # --- what is it to the library? ---

    def relate(self, candidate: Candidate, library_findings: list[Finding]) -> _Related:
        own = sorted((s for s in self._similar if s.skill.id == candidate.revises), key=lambda stored: stored.sequence)
        mined_again = bool(own) and candidate.provenance.made_by.startswith(MADE_BY_MINING)
        if mined_again:
            candidate, replaced = merge_remined(candidate, own)
            library_findings = [*replaced, *library_findings]
        eligible = list(eligibility(candidate, self._policy))
        if any(each.severity.at_least(REJECT_FROM) for each in eligible):
            # The rules for new skills do not apply where a success repeats a recallable skill word for word.
            is_success = candidate.assessment is not None and candidate.assessment.verified_success
            repeated = (s for s in self._similar if s.status in RECALLABLE and s.skill.scope == candidate.scope)
            if not is_success or all(stored.version.hash != candidate.content.hash() for stored in repeated):
                return _Related(Relation.NONE, candidate, [*eligible, *library_findings])
            eligible = [each for each in eligible if not each.severity.at_least(REJECT_FROM)]
        findings = [*eligible, *library_findings]
        if mined_again:
            return self._relate_remined(candidate, own, findings)
        return self._relate_by_similarity(candidate, findings)

    def _relate_remined(self, candidate: Candidate, own: Sequence[StoredVersion], findings: list[Finding]) -> _Related:
        """Mining describes a known skill again: its next version, unless this was stored or rejected before."""
        same = [
            stored
            for stored in own
            # Only mined versions count: a version that was drafted from one attempt gets one mined version of the same text.
            if stored.version.provenance.made_by.startswith(MADE_BY_MINING)
            and _instructions(candidate.content) == _instructions(stored.version.content)
        ]
        if any(stored.status is Status.REJECTED for stored in same):
            findings.append(finding("rejected_before", name=same[-1].version.name))
            return _Related(Relation.NONE, candidate, findings)
        if any(stored.status is Status.RETIRED for stored in own) and not any(s.status in RECALLABLE for s in own):
            findings.append(finding("retired_before", name=own[-1].version.name))
        if same and same[-1] in (own[-1], current_edit(own)):
            findings.append(finding("counted_again", name=same[-1].version.name))
            return _Related(Relation.REINFORCE, candidate, findings, same[-1])
        return _Related(Relation.MERGE, candidate, findings, own[-1])

    def _relate_by_similarity(self, candidate: Candidate, findings: list[Finding]) -> _Related:
        """Compare with the nearest known skill: new, the same again, or its next version. The first row that applies decides:

        | nearest known skill    | candidate                                       | relation                            |
        | ---------------------- | ----------------------------------------------- | ----------------------------------- |
        | none                   | any                                             | NEW                                 |
        | rejected by a person   | no revision, adds nothing (`covered`)           | NONE                                |
        | rejected by a person   | no revision, adds something                     | NEW                                 |
        | has another name       | written, no attempt (`written`), not the same   | NEW, the similarity is reported     |
        | has the same name      | a written statement with another description    | MERGE, as it was written            |
        | any                    | adds nothing (`covered`, or the `same` content) | REINFORCE                           |
        | any                    | a revision of it                                | MERGE, as it was written            |
        | any                    | learned, or written under the same name         | MERGE, with the content of both     |

        A statement in use counts as near to what somebody writes under its name, even the opposite.
        """
        closest, alike = _nearest(candidate, self._similar, self._policy)
        written = candidate.assessment is None and not candidate.revises
        if closest is None and written:
            closest = self._restated(candidate)
        if closest is None:
            return self._as_new(candidate, findings)
        name = closest.version.name
        same = candidate.content.hash() == closest.version.hash
        covered = same or (not candidate.revises and adds_nothing(candidate.content, closest.version.content))
        if closest.status is Status.REJECTED and not candidate.revises:
            findings.append(finding("rejected_before", name=name))
            # What was rejected is not merged into the candidate.
            return _Related(Relation.NONE, candidate, findings) if covered else self._as_new(candidate, findings)
        repeats = same or (covered and repeats_calls(candidate.content, closest.version.content))
        if written and not repeats and name != candidate.content.name:
            # A person or an agent wrote it under its own name: report the similarity, but merge nothing.
            findings.append(finding("near_duplicate", name=name, similarity=alike))
            return self._as_new(candidate, findings)
        if written and _states_otherwise(candidate, closest.version.content):
            findings.append(finding("near_duplicate/reworded", name=name))
            revision = dataclasses.replace(candidate, revises=closest.skill.id, parents=(closest.version.id,))
            return _Related(Relation.MERGE, revision, findings, closest)
        if covered:
            findings.append(finding("near_duplicate/covered", name=name, similarity=alike))
            return _Related(Relation.REINFORCE, candidate, findings, closest)
        if candidate.revises:
            # An edit started from its parent if that is known, else from the newest version.
            parents = [stored for stored in self._similar if stored.version.id in candidate.parents]
            findings += changed_step_texts(candidate.content, (parents or [closest])[0].version.content)
            return _Related(Relation.MERGE, candidate, findings, closest)
        findings.append(finding("near_duplicate/next_version", name=name, similarity=alike))
        return _Related(Relation.MERGE, merge_candidate(candidate, closest.version), findings, closest)

    def _restated(self, candidate: Candidate) -> StoredVersion | None:
        """Return the newest statement of the candidate's name that says something else, such as the opposite."""
        content = candidate.content
        namesakes = (s for s in self._similar if s.version.name == content.name and s.skill.scope == candidate.scope)
        in_use = (s for s in namesakes if s.status in RECALLABLE and _states_otherwise(candidate, s.version.content))
        return max(in_use, key=lambda stored: stored.sequence, default=None)

    def _as_new(self, candidate: Candidate, findings: list[Finding]) -> _Related:
        """Give a new skill a name that no other one of its scope has, so that a name means one skill."""
        taken = {stored.version.name for stored in self._similar if stored.skill.scope == candidate.scope}
        name, number = candidate.content.name, 2
        while name in taken:
            suffix = f"-{number}"
            name = candidate.content.name[: NAME_LENGTH_MAX - len(suffix)].rstrip("-") + suffix
            number += 1
        renamed = dataclasses.replace(candidate, content=dataclasses.replace(candidate.content, name=name))
        return _Related(Relation.NEW, renamed, findings)

    # --- make what is to be stored ---

    def confirmation(self, related: _Related) -> GateResult:
        """Confirm a known version; where the policy waited for more successes only, it goes on trial.

        A confirmation puts nothing into the review queue. It is held where agents do not get the version yet or any more:
        one that waits is decided in its own time, and one that is stale or retired stays so until a person restores it.
        """
        assert related.target is not None
        stored, findings = related.target, [*related.findings, *safety(related.candidate)]
        move = self._earned_trial(related.candidate, stored, findings)
        decision = GateDecision.ACCEPT if move or stored.status in RECALLABLE else GateDecision.HOLD
        return GateResult(verdict=self.verdict(related, decision, findings, stored.version), transition=move)

    def new_version(self, related: _Related) -> GateResult:
        """Make the version, the first of a new skill or the next of a known one, and run all checks on it."""
        candidate = related.candidate
        skill = (
            related.target.skill if related.target else Skill.create(candidate.content, candidate.scope, at=self._at)
        )
        version = SkillVersion(
            skill_id=skill.id,
            content=candidate.content,
            origins=candidate.origins,
            provenance=candidate.provenance,
            created_at=self._at,
            parents=candidate.parents,
        )
        findings = [*related.findings, *self._run_checks(candidate, skill.id)]
        decision, reason = self._decide(candidate, findings)
        if reason is not None:
            findings.append(finding("waits_for_a_person", why=reason_sentence(reason)))
        transition = Transition(
            version_id=version.id,
            content_hash=version.hash,
            before=None,
            after=_FIRST_STATUS[decision],
            reason=str(_summary(findings)),
            by=candidate.by,
            at=self._at,
        )
        verdict = self.verdict(related, decision, findings, version)
        return GateResult(verdict=verdict, skill=skill, version=version, transition=transition)

    def _decide(self, candidate: Candidate, findings: list[Finding]) -> tuple[GateDecision, CodedReason | None]:
        """Return the decision, and why the open policy does not accept it by itself."""
        if any(each.severity.at_least(Severity.HIGH) for each in findings):
            return GateDecision.QUARANTINE, None
        if candidate.lowest_origin is Origin.EXTERNAL and self._policy.strictness is Strictness.STRICT:
            return GateDecision.QUARANTINE, None
        if self._policy.strictness is not Strictness.OPEN:
            return GateDecision.HOLD, None
        if not is_machine_verified(candidate):
            return GateDecision.HOLD, coded(GateReason.NOT_MACHINE_VERIFIED)
        reason = reason_against_acceptance(candidate, findings, self._policy) or self._missing_evidence(candidate)
        return (GateDecision.HOLD, reason) if reason else (GateDecision.ACCEPT, None)

    def _earned_trial(self, candidate: Candidate, stored: StoredVersion, findings: list[Finding]) -> Transition | None:
        """Return the transition to trial if the same content waits and the new attempts prove it."""
        waits = stored.status is Status.CANDIDATE and candidate.content.hash() == stored.version.hash
        if not waits or stored.version.lowest_origin is Origin.EXTERNAL or not is_machine_verified(candidate):
            return None
        if any(reason_against_acceptance(made, findings, self._policy) for made in (candidate, stored.version)):
            return None
        if self._missing_evidence(candidate):
            return None
        if reason_against_acceptance(candidate, self._run_checks(candidate, stored.skill.id), self._policy):
            return None
        return stored.transition_to(Status.TRIAL, str(coded(GateReason.POLICY_ACCEPTED)), by=candidate.by, at=self._at)

    def _missing_evidence(self, candidate: Candidate) -> CodedReason | None:
        least = max(1, self._policy.independent_successes)
        return missing_evidence(candidate.content, candidate.provenance, count=self._successes, least=least)

    def _run_checks(self, candidate: Candidate, skill_id: str) -> list[Finding]:
        """Run every check, and report what is new compared with the approved versions."""
        examination = examine_content(candidate.content, candidate.origins, provenance=candidate.provenance)
        approved = [s.version.content for s in self._similar if s.skill.id == skill_id and s.status in RECALLABLE]
        return [*examination.findings, *new_capability(examination.needs, approved)]

    def verdict(
        self, related: _Related, decision: GateDecision, findings: list[Finding], version: SkillVersion | None = None
    ) -> Verdict:
        """Return the verdict on the candidate, or on the version that it became or confirms."""
        content = version.content if version else related.candidate.content
        return Verdict(
            decision=decision,
            relation=related.relation,
            findings=tuple(findings),
            at=self._at,
            name=content.name,
            content_hash=version.hash if version else content.hash(),
            skill_id=version.skill_id if version else "",
            version_id=version.id if version else "",
            trajectory_ids=self._attempts,
            policy_hash=self._policy.hash(),
        )


def _nearest(
    candidate: Candidate, similar: Sequence[StoredVersion], policy: Policy
) -> tuple[StoredVersion | None, float]:
    """Return the skill that a candidate belongs to: the one it revises, else the most similar one in the same scope."""
    if candidate.revises:
        own = [stored for stored in similar if stored.skill.id == candidate.revises]
        return (max(own, key=lambda stored: stored.sequence), 1.0) if own else (None, 0.0)
    least = policy.duplicate_similarity
    alike = [
        (similarity(candidate.content, stored.version.content, duplicate_from=least), -stored.sequence, stored)
        for stored in similar
        if stored.skill.scope == candidate.scope
    ]
    best, _, closest = max(alike, key=lambda entry: entry[:2], default=(0.0, 0, None))
    return (closest, best) if best >= least else (None, best)


def _states_otherwise(candidate: Candidate, stored: SkillContent) -> bool:
    """Whether somebody wrote a statement without steps that has another description; merging both would drop it."""
    content = candidate.content
    is_statement = content.kind is stored.kind and not (content.steps or stored.steps or content.sub_skills)
    return is_statement and not candidate.provenance.by_tacit and content.description != stored.description


def _summary(findings: Sequence[Finding]) -> CodedReason:
    """Return the findings as one reason; of very many the most severe."""
    if not findings:
        return coded(GateReason.NOTHING_FOUND)
    many = len(findings) > SUMMARY_MAX
    ranked = sorted(findings, key=lambda each: -each.severity.rank) if many else findings
    more = f"; and {len(findings) - SUMMARY_MAX} more" if many else ""
    return coded(GateReason.FINDINGS, summary="; ".join(each.message for each in ranked[:SUMMARY_MAX]) + more)


def merge_candidate(candidate: Candidate, earlier: SkillVersion) -> Candidate:
    """Merge a candidate into a version: each field gets the lower of both origins, and the sources of both sides."""
    merged = merge_contents(candidate.content, earlier.content)
    origins: dict[str, Origin] = {}
    grounding: dict[str, tuple[Span, ...]] = {}
    sides = ((earlier, merged.from_stored), (candidate, merged.from_candidate))
    for side, new_paths in sides:
        for path, origin in with_default_origins(side.content, side.origins).items():
            if at := remap_path(path, new_paths):
                origins[at] = lowest((origin, origins.get(at, origin)))
        for path, spans in side.provenance.grounding.items():
            at = remap_path(path, new_paths)
            if not at or (path == "surroundings" and not side.content.surroundings):
                continue  # attempts without a record of their environment do not confirm the other side's
            grounding[at] = tuple(dict.fromkeys(grounding.get(at, ()) + spans))
    trajectory_ids = dict.fromkeys(earlier.provenance.trajectory_ids + candidate.provenance.trajectory_ids)
    worded = candidate.provenance if candidate.provenance.model else earlier.provenance
    provenance = dataclasses.replace(
        earlier.provenance,
        trajectory_ids=tuple(trajectory_ids),
        grounding=grounding,
        made_by=candidate.provenance.made_by,
        model=worded.model,
        prompt_version=worded.prompt_version,
    )
    return dataclasses.replace(
        candidate, content=merged.content, origins=origins, provenance=provenance, parents=(earlier.id,)
    )
