"""Codes, severities and English of the gate's own findings and reasons. The `checks` have theirs beside their rules.

A finding stores its rule (the code) and the sentence. A transition that the gate makes stores a `CodedReason`;
`reason_sentence` turns it into English.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from tacit.domain.candidate import Finding, Severity
from tacit.domain.lifecycle import CodedReason, parse_reasons
from tacit.domain.skill import ENTRY_NAMES

_INFO, _LOW, _MEDIUM, _HIGH, _CRITICAL = Severity

FINDING_TEMPLATES: Mapping[str, tuple[Severity, str]] = {
    # formation
    "task_failed": (_HIGH, "{why}"),
    "unverified": (_HIGH, "{why}"),
    "part_of_itself": (_HIGH, "`{name}` lists itself as a part"),
    "no_description": (_HIGH, "it has no description, so it can never be found"),
    "missing_part": (_MEDIUM, "its part `{name}` does not exist"),
    "composite": (_INFO, "made of {count} skills"),
    "primitive": (_INFO, "only {steps} step(s), but {why}"),
    "too_simple": (_HIGH, "{steps} step(s); a procedure needs at least {least}"),
    "recurrent_category": (_INFO, "{category} tasks often recur"),
    "recurring_keyword": (_INFO, "tasks with {words} often recur"),
    "seen_again": (_INFO, "such tasks were seen {count} times"),
    "one_time_task": (_LOW, "nothing shows that this kind of task recurs"),
    "overlay": (_INFO, "an overlay: shown with the skill `{name}`, whose file stays as it is"),
    # comparison with known skills
    "near_duplicate": (_INFO, "very similar to `{name}` (similarity {similarity:.2f})"),
    "near_duplicate/covered": (_INFO, "`{name}` already covers this (similarity {similarity:.2f})"),
    "near_duplicate/next_version": (
        _INFO,
        "same as `{name}` with different steps (similarity {similarity:.2f}), so it becomes its next version",
    ),
    "near_duplicate/reworded": (_INFO, "`{name}` says something else so far, so it becomes its next version"),
    "counted_again": (_INFO, "`{name}` already covers this; the new attempts are counted"),
    "retired_before": (_MEDIUM, "`{name}` was retired; approving this brings it back"),
    "rejected_before": (_MEDIUM, "`{name}`, which is the same or very similar, was rejected"),
    "replaces_an_edit": (_MEDIUM, "`{who}` wrote the current version; approving this replaces its {fields}"),
    "edited_sentence": (_LOW, "the text of step {step} was changed, but its tool call was not: do they still agree?"),
    "contradicts": (_MEDIUM, "contradicts `{name}`: {why}"),
    # origin and evidence
    "waits_for_a_person": (_INFO, "not accepted automatically: {why}"),
    "ungrounded_step": (_MEDIUM, "step {step} is not based on anything that was done in an attempt: {text}"),
    "standing_order": (_MEDIUM, "{where}: “{word}” applies to every task, not only to this one"),
    "undeclared_capability": (_HIGH, "it uses more than it declares: {more}"),
    "new_capability": (_MEDIUM, "it uses what no approved version of it used: {more}"),
    "external_text": (_MEDIUM, "contains text from tool output, a file or the web ({fields})"),
    "model_wording": (_MEDIUM, "worded or proposed by the language model {model}: compare it with the steps"),
    "hidden_characters": (_CRITICAL, "{where} contains characters that people do not see: {names}"),
    "secret": (_CRITICAL, "{where} contains what looks like a secret"),
    # approvals and purging
    "approval_stale": (_MEDIUM, "its approval no longer holds: {why}"),
    "purged": (_INFO, "{why}"),
}
"""Rule → severity and sentence. A variant of a rule has its name behind a slash."""


def finding(
    rule: str, *, field: str = "", severity: Severity | None = None, code: str = "", **values: object
) -> Finding:
    """Make a finding of a rule; `code` is stored instead of the rule's own name where one rule has several."""
    usual, sentence = FINDING_TEMPLATES[rule]
    message = sentence.format_map(values)
    return Finding(
        rule=code or rule.partition("/")[0],
        message=message,
        severity=usual if severity is None else severity,
        field=field,
    )


def field_name(path: str) -> str:
    """Return a field's path as a person reads it: `steps.1` → `step 2`."""
    name, _, rest = path.partition(".")
    number, _, _ = rest.partition(".")
    if number.isdigit():
        return f"{ENTRY_NAMES.get(name, name)} {int(number) + 1}"
    return f"{name} {rest}" if name == "metadata" and rest else name.replace("_", " ")


class GateReason(StrEnum):
    """Why the gate changed a status, does not accept something by itself, or no longer trusts an approval.

    Each has the code that is stored and the sentence that people read.
    """

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Self:
        """Make a member whose value is the code alone."""
        member = str.__new__(cls, code)
        member._value_, member.sentence = code, sentence
        return member

    NOTHING_FOUND = "nothing_found", "nothing was found against it"
    FINDINGS = "findings", "{summary}"
    POLICY_ACCEPTED = (
        "policy_accepted",
        "accepted automatically: enough independent machine-verified successes, and no finding of severity medium or higher",
    )
    APPROVAL_NO_LONGER_HOLDS = "approval_no_longer_holds", "its approval no longer holds"
    DECIDED_BY_PERSON = "decided_by_person", "{decision} by a person"
    REJECTED_AS = "rejected_as", "rejected by a person: {why}"
    PERSONS_WORDS = "said_by_person", "{text}"
    """A person's own words that read like one of these codes."""
    ROLLED_BACK = "rolled_back", "rolled back to {version}"
    INVALID = "invalid", "invalid: {why}"
    UNDONE = "undone", "undone: {why}"
    FORECAST = (
        "forecast_answered",
        "{person} would reject it ({sure} sure, gate `{gate}`), and lets the forecast answer",
    )
    FORECAST_MERGED = (
        "forecast_merged",
        "`{given}` repeats `{name}`: {person} would reject it ({sure} sure), and lets the forecast answer",
    )
    SEEN_AGAIN = "seen_again", "seen again since the forecast answered"
    # why the policy does not accept something without a person
    PERSON_DECIDES = "person_decides", "the policy leaves every decision to a person"
    NOT_MACHINE_VERIFIED = "not_machine_verified", "no machine verified the attempt that it comes from"
    EXTERNAL_ORIGIN = "external_origin", "some of it came from outside"
    LEAVES_WORKSPACE = "leaves_workspace", "{field} reaches out of the workspace ({kind} {value})"
    READ_INSTRUCTIONS = (
        "read_instructions",
        "the attempt read a text with instructions before it acted (step {step} of {attempt})",
    )
    HAS_FINDING = "has_finding", "{rule}: {message}"
    TOO_FEW_SUCCESSES = "too_few_successes", "{what} has fewer than {least} independent verified successes"
    # why an approval is no longer valid
    CONTENT_CHANGED = "content_changed", "the content has changed"
    ORIGINS_CHANGED = "origins_changed", "the origins of its fields have changed"
    POLICY_CHANGED = "policy_changed", "it was approved under another policy"
    NEW_FINDING = "new_finding", "new finding: {severity} {rule}: {message}"
    USES_MORE = "uses_more", "it uses more than was shown: {more}"
    NOT_CONFIRMED = "not_confirmed", "not confirmed: {keys}"
    POLICY_REJECTS = "policy_rejects", "the policy no longer accepts it: {why}"
    NO_EXAMINATION = "no_examination", "it was approved before examinations were stored"
    NOT_QUOTABLE = "not_quotable", "passage {passage} must not be quoted: {rule}: {message}"


REASON_SENTENCES: Mapping[str, str] = {reason: reason.sentence for reason in GateReason}
_NESTED = ("why", "doubt")
"""Values that may hold a stored reason themselves."""


def reason_sentence(reason: CodedReason, sentences: Mapping[str, str] = REASON_SENTENCES) -> str:
    """Return one reason in English; a code without a sentence, or without the values for it, stays as it is."""
    values = {
        key: stored_sentence(value, sentences) if key in _NESTED and isinstance(value, str) else value
        for key, value in reason.values.items()
    }
    try:
        return sentences[reason.code].format_map(values)
    except (KeyError, ValueError):  # stored by another version
        return str(reason)


def stored_sentence(text: str, sentences: Mapping[str, str] = REASON_SENTENCES) -> str:
    """Return a stored text of reasons in English; a sentence that a person wrote stays as it is."""
    reasons = parse_reasons(text)
    has_sentences = reasons is not None and all(reason.code in sentences for reason in reasons)
    return "; ".join(reason_sentence(reason, sentences) for reason in reasons) if reasons and has_sentences else text
