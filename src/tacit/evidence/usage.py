"""Usage signals: did a run use what it was shown, and how prominent does that make a version?

A procedure is used if its steps were done (see `attribution`). For an entry without steps, words decide: those that the
run can only have from the entry appear in what the agent then says and does. Where that cannot be decided, there is no
signal. Usage does not show that a skill works, so reliability does not depend on it.

Example: a norm says "Log through the helper in invoice.log, never print". The task does not say so. If the agent then writes
"I use the invoice helper for logging", two of the four words of the norm have come up (`ENOUGH`, `LEAST_MET`): it was used. Had
the task named the helper, these words would show nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from tacit.domain.evidence import Evidence, Following, Grade, Outcome
from tacit.domain.ledger import About, Remark, UsageSignal
from tacit.domain.skill import RULE_KINDS, Kind, SkillContent, SkillVersion
from tacit.domain.trajectory import Origin, Role, Step, Trajectory
from tacit.evidence.attribution import align
from tacit.evidence.friction import texts_of
from tacit.evidence.reliability import votes
from tacit.store.lexical_search import EVERYDAY
from tacit.text.words import STOP_WORDS, terms

ENOUGH = 0.3
"""The share of an entry's own words that must appear."""
LEAST_WORDS = 3
"""Own words that an entry must have before anything is decided."""
LEAST_MET = 2
"""Words that must appear in any case, since one may be chance."""
CEILING = 4
"""How many uses count beyond verified confirmations, so that what is shown often does not crowd out the rest."""

USUAL_IMPORTANCE, PERSON_IMPORTANCE = 0.5, 0.8
"""Of what agents found out, and of what a person decided, wrote or confirmed."""

_WORD = re.compile(r"[^\W\d_]{4,}")
_OWN = re.compile(r"<tacit-skills-(\w+)>.*?(?:</tacit-skills-\1>|\Z)", re.DOTALL)
"""Tacit's own output in a transcript; words from there do not count as known before."""


def was_used(
    content: SkillContent,
    trajectory: Trajectory,
    *,
    start: int,
    other_texts: Iterable[str] = (),
    asked: Collection[int] = (),
) -> bool | None:
    """Whether a run used an entry from its step `start` on; None where that cannot be decided.

    `other_texts` are the texts of whatever else it was shown, `asked` the steps whose observations are Tacit's own answers.
    """
    found = align(trajectory, content, start=start)
    if found is not None and found.following is not Following.PARTLY:
        return found.following is Following.FOLLOWED
    if found is not None or content.kind is Kind.PROCEDURE:
        return None
    seen = _words("\n".join(other_texts)) | _words(trajectory.task.text)
    for step in trajectory.steps[:start]:
        seen |= _received_words(step, asked) | _agent_words(step)
    # in short and at full length: of a long entry the agent may use the point and not the words
    texts = content.description, "\n".join([content.description, content.body, *(step.text for step in content.steps)])
    wholes = [own for text in texts if len(own := _words(text) - seen) >= LEAST_WORDS]
    spoken = (step for step in trajectory.steps[start:] if step.role is Role.AGENT)
    if not wholes or not any(step.is_action or step.text.strip() for step in spoken):
        return None
    met: set[str] = set()
    for step in trajectory.steps[start:]:
        met |= _agent_words(step) - seen  # first what the agent says: what a call returns is known only after it
        seen |= _received_words(step, asked)
    return any(len(own & met) >= max(LEAST_MET, ENOUGH * len(own)) for own in wholes)


def _agent_words(step: Step) -> set[str]:
    """The words of what the agent says and does in a step."""
    if step.role is not Role.AGENT:
        return set()
    return _words("\n".join([step.text, *texts_of(step.arguments)]))


def _received_words(step: Step, asked: Collection[int]) -> set[str]:
    """The words that a step gives to the agent."""
    text = "" if step.role is Role.AGENT else step.text
    return _words(text if step.index in asked else f"{text}\n{step.observation}")


def _words(text: str) -> set[str]:
    """The informative words of four letters and more, as they are indexed."""
    found = {term for word in set(_WORD.findall(_OWN.sub(" ", text))) for term in terms(word)}
    return found - EVERYDAY - STOP_WORDS


def prominence_of(
    version: SkillVersion, evidence: Iterable[Evidence], *, usage_signals: Iterable[UsageSignal] = ()
) -> tuple[int, datetime]:
    """Return how often a version was confirmed or used, minus how often it was ignored; and when it was last used.

    It is counted in order of time and never below zero: after ten ignored showings one use is enough to raise it again.
    Runs with verified evidence count by that evidence alone.
    """
    cast = votes(evidence)
    known = {item.trajectory_id for item in cast if item.trajectory_id}
    confirmed = max(0, len(version.provenance.trajectory_ids) - 1)
    moves = [(item.at, True, True) for item in cast if item.outcome is Outcome.SUCCESS]
    # of the signals of one use the latest counts, and one that it was used before any other
    ordered = sorted(usage_signals, key=lambda each: (each.heeded, each.at))
    one_per_use = {each.use_id or each.id: each for each in ordered}.values()
    moves += [(each.at, each.heeded, False) for each in one_per_use if each.trajectory_id not in known]
    count = confirmed
    for _, up, verified in sorted(moves):
        confirmed += verified
        if verified:
            count += 1
        elif up:
            count = min(count + 1, confirmed + CEILING)
        else:
            count = max(0, count - 1)
    return count, max((at for at, up, _ in moves if up), default=version.created_at)


def importance_of(version: SkillVersion, evidence: Iterable[Evidence] = (), *, remarks: Iterable[Remark] = ()) -> float:
    """Return how much a version matters, 0 to 1: as a person said last, or else by its kind and what it rests on.

    What a person decided, wrote or confirmed matters more than what an agent found out.
    """
    values = [remark.text for remark in remarks if remark.about is About.IMPORTANCE]
    if values:
        return float(values[-1])
    by_person = Origin.USER in version.origins.values() or any(
        each.grade is Grade.HUMAN and each.outcome is Outcome.SUCCESS for each in evidence
    )
    return PERSON_IMPORTANCE if by_person or version.content.kind in RULE_KINDS else USUAL_IMPORTANCE


def changes_prominence(
    version: SkillVersion, evidence: Sequence[Evidence], known: Sequence[UsageSignal], new: UsageSignal
) -> bool:
    """Whether a new signal changes the prominence; otherwise (ignored once more, used twice in a day) it need not
    be stored."""
    before, after = (
        prominence_of(version, evidence, usage_signals=usage_signals) for usage_signals in (known, [*known, new])
    )
    return before[0] != after[0] or (after[1] - before[1]).days >= 1
