"""English sentences for reason codes of maintenance and promotion: the one place where they are worded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacit.domain.care import Advice, CareReason
from tacit.domain.lifecycle import CodedReason
from tacit.gate.findings import REASON_SENTENCES, reason_sentence, stored_sentence
from tacit.maintain.promotion_rules import PromotionReason

_RATE = "worked in {low:.0%} to {high:.0%} of {uses} verified uses"

SENTENCES: Mapping[str, str] = {
    "text": "{text}",
    **REASON_SENTENCES,
    # status changes from evidence
    CareReason.TRUST_EARNED: f"{_RATE}; {{line:.0%}} is enough for trust",
    CareReason.TRUST_LOST: f"{_RATE}; a trusted skill must be able to reach {{line:.0%}}",
    CareReason.BELOW_RETIREMENT_LINE: f"{_RATE}, clearly below {{line:.0%}}",
    CareReason.SUDDEN_DROP: "worked in {worked:.3g} of {before:.3g} verified uses, and then in {works:.3g} of {now:.3g}",
    CareReason.SUSPENDED: "suspended since {since}",
    CareReason.LAST_SUCCESS_TOO_OLD: "its last verified success was {days} days ago (limit: {limit})",
    CareReason.NEVER_CONFIRMED: "no verified success for {days} days (limit: {limit})",
    CareReason.NEVER_FOLLOWED: "shown {shown} times, and followed in none of the {examined} examined runs",
    CareReason.BETTER_WITHOUT: "runs with it succeed {least:.0%} to {most:.0%} less often than runs without it",
    CareReason.FIX_NO_LONGER_HELPS: "the last {sessions} sessions that met the error got no help from it",
    CareReason.TAKEN_BACK: "the person said otherwise in a later session: {why}",
    # merging
    CareReason.SAME_AS: "same content as the draft `{name}` (similarity {similarity:.2f})",
    CareReason.SUPERSEDED_BY_VERSION: "a newer version was approved: {id}",
    CareReason.SUPERSEDED_BY_SKILL: "`{name}` already covers it (similarity {similarity:.2f})",
    CareReason.MERGED_INTO: "merged into `{name}`",
    CareReason.SIMILAR_SKILL: "same content as `{name}` (similarity {similarity:.2f})",
    CareReason.STEP_KEPT: "step {step} keeps “{kept}”, not “{dropped}”",
    # contradictions
    CareReason.CONTRADICTS: "contradicts `{other}` ({kind}): {why}",
    CareReason.CONTRADICTION_OPEN: "still open",
    CareReason.OBSOLETE: "obsolete: contradicts the newer `{other}`: {why}",
    # composites and contracts
    CareReason.PART_MERGED: "its part `{part}` was merged into `{into}`",
    CareReason.PART_UNUSABLE: "its part `{part}` may not be used any more",
    CareReason.PART_CHANGED: "its part `{part}` changed: {fields}",
    CareReason.FILE_MISSING: "`{path}` is missing",
    CareReason.TARGET_MISSING: "`{target}` is no longer defined",
    CareReason.PROGRAM_MISSING: "`{program}` is not installed any more",
    CareReason.PROGRAM_CHANGED: "`{program}` was {before} and is {now}",
    # revalidation
    CareReason.PASSED: "passed",
    CareReason.FAILED: "failed: {detail}",
    CareReason.NOT_CHECKABLE: "not checkable here: {detail}",
    CareReason.WORKS_AGAIN: "works again: {verifier}",
    # revisions
    CareReason.STEP_DOES_NOT_WORK: "step {step} does not work as written ({kinds}), sessions: {sessions} ({detail})",
    CareReason.STEP_ADDED_BY_ALL: "after step {after}: all successes added {command}, sessions: {sessions}",
    CareReason.STEP_SKIPPED_BY_ALL: "step {step} becomes {result}: all successes skipped it, sessions: {sessions}",
    CareReason.SHORTER_WAY: "{sessions} sessions reached the same end with {length} of {required} changes and checks",
    CareReason.LOW_SUCCESS_RATE: "worked in {succeeded} of {verified} verified uses, less than {least:.0%}",
    CareReason.HIGH_FRICTION: "{per_use:.1f} frictions per use over {uses} uses",
    CareReason.REPEATED_CORRECTION: "corrected {count} times: {theme}",
    CareReason.FAILS_SOLVED_TASKS: "fails {tasks} of the tasks that an earlier version solved (verified)",
    # promotion
    CareReason.SEEN_IN_SESSIONS: "learned in {sessions} separate sessions",
    CareReason.KNOWN_ELSEWHERE: "another project knows it too",
    CareReason.TRUSTED_AND_PORTABLE: "trusted here, and portable",
    PromotionReason.NOT_CONTRADICTED: "not contradicted and not trivial at the session's end",
    PromotionReason.CONTRADICTED_BY: "`{name}` contradicts it",
    PromotionReason.TRIVIAL: "too little content",
    PromotionReason.SESSIONS_SEEN: "learned in {seen} sessions ({needed} needed)",
    PromotionReason.SESSIONS_MISSING: "{count} more sessions, or a person",
    PromotionReason.PROJECTS_SEEN: "known in {seen} projects ({needed} needed)",
    PromotionReason.PROJECTS_MISSING: "{count} more projects, or a person",
    PromotionReason.PERSON_DECIDES: "{person} decides",
    PromotionReason.PORTABLE: "portable",
    PromotionReason.NOT_PORTABLE: "not portable: {detail}",
    PromotionReason.PROJECT_CARD_STAYS: "the commands of a project stay in it",
    PromotionReason.PREFERENCE_STAYS: "a preference never leaves its person",
    PromotionReason.DOCUMENT_STAYS: "a document is quoted where it was added, and never promoted",
    PromotionReason.NO_JUDGE: "a judge must find it independent of any project (none has looked)",
    PromotionReason.JUDGE_FAILED: "a judge must find it independent of any project (the judge failed: {detail})",
    PromotionReason.JUDGED_AGNOSTIC: "independent of any project, by {judge}: {why}",
    PromotionReason.JUDGED_LOCAL: "not independent of its project, by {judge}: {why}",
    PromotionReason.POOR_RECORD: "worked in only {worked:g} of {votes} verified uses ({low:.0%} to {high:.0%})",
    PromotionReason.REMOVED_BY_EVIDENCE: "evidence took it out of use on {on}: {why}",
    PromotionReason.DOUBTED_ELSEWHERE: "in {project}: {doubt}",
    # mirroring
    "mirrored": "mirrors the person's own store",
    "approved_at_home": "approved in the person's own store by {by}",
    "approval_void": "the approval in the person's own store no longer holds: {why}",
    "status_at_home": "{status} in the person's own store",
    "unknown_at_home": "not in the person's own store any more",
    "recallable_at_home": "recallable in the person's own store again",
    # advice
    Advice.SHOW_SKILL: "tacit skills show {name}",
    Advice.RESTORE_OR_RETIRE: "tacit review {id} --restore, or tacit review {id} --retire",
    Advice.VERIFY_OR_PIN: "verify a use of it, or pin it; tacit review {name} --restore undoes it",
    Advice.IMPROVE_OR_RETIRE: "improve it, or retire it; tacit review {name} --restore undoes it",
    Advice.MERGE_OR_RETIRE: "a merged version would wait for `tacit review`; or tacit review {name} --retire",
    Advice.UNDO_SET_ASIDE: "it would be {after}; tacit review {id} {option} undoes it",
    Advice.RETIRE_ONE: "tacit review {id} --retire (`{stays}` stays)",
    Advice.RECOMPOSE: "tacit compose {name} {parts}",
    Advice.RESTORE_PART: "restore the part: tacit review {part} --restore; or without it:",
    Advice.RETIRE_SKILL: "tacit review {name} --retire",
    Advice.EDIT_SKILL: "tacit skills edit {name}",
    Advice.PROPOSE_REVISION: "tacit tend {name} --propose",
    Advice.REVIEW_WAITING: "tacit review {id}",
    Advice.ROLL_BACK: "tacit skills rollback {id}",
    Advice.PROMOTE: "tacit promote {name} --to {to}",
    Advice.PINNED: "pinned, so it is left alone",
    Advice.NOT_APPLIED: "not done: {message}; look again: tacit tend",
}


def sentence(reason: CodedReason) -> str:
    """Return one reason in English; a code without a sentence is shown as it is."""
    return reason_sentence(reason, SENTENCES)


def sentences(reasons: Iterable[CodedReason]) -> str:
    """Return several reasons in English, on one line."""
    return "; ".join(map(sentence, reasons))


def stored_reason(text: str) -> str:
    """Return the reason of a stored transition in English; a sentence that a person wrote stays as it is."""
    return stored_sentence(text, SENTENCES)
