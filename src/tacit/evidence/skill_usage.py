"""Makes evidence of a captured run for the skills it was shown, by aligning the run with each skill.

What was shown counts only for the steps after it. Without a verified outcome there is no evidence. Ids and dates come from
the run and the use, so crediting a run again adds nothing. Nothing is stored here.

Usage signals say whether a run used what it was shown, and how prominent that makes a version. A procedure is used if its steps
were done (see `attribution`). For an entry without steps, words decide: those that the run can only have from the entry appear
in what the agent then says and does. Where that cannot be decided, there is no signal. Usage does not show that a skill works,
so reliability does not depend on it.

Example: a norm says "Log through the helper in invoice.log, never print". The task does not say so. If the agent then writes
"I use the invoice helper for logging", two of the four words of the norm have come up (`ENOUGH`, `LEAST_MET`): it was used. Had
the task named the helper, these words would show nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Assessment, Effort, Evidence, Following, Grade, Outcome, Use
from tacit.domain.identity import content_id
from tacit.domain.ledger import About, Remark, UsageSignal
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import RULE_KINDS, Kind, SkillContent, SkillVersion
from tacit.domain.stored import Episode, current_only
from tacit.domain.trajectory import Origin, Role, Step, Trajectory
from tacit.evidence.attribution import Alignment, align, plain_skill, wanted_operations
from tacit.evidence.credit import NAMELESS, effort_of, task_digest
from tacit.evidence.friction import texts_of
from tacit.evidence.reliability import votes
from tacit.store import Store
from tacit.store.lexical_search import EVERYDAY
from tacit.store.queries import parts_of
from tacit.text.shell import parse_command, shell_text
from tacit.text.words import STOP_WORDS, terms

BY = "tacit.credit"
HOOK = "hook"
CONNECTION = "mcp-"
"""Prefix of the session id of uses over MCP, where clients don't send a session: each connection is one session."""
CLIENT = "client"
"""Surface of a use that was not recorded: the client loaded an exported skill and names it in the transcript."""
SAME_MOMENT = timedelta(seconds=10)
"""A hook answers at the time of the message; the client may date the message slightly later."""
BEFOREHAND = timedelta(minutes=5)
"""How long before the first step an explicit query may come: an agent asks and then begins."""
PARENT = timedelta(hours=1)
"""How long before a subagent starts its parent may have been shown a skill: work is handed on in the same sitting."""
LASTING = timedelta(days=1)
"""The longest time between showing a skill and the evidence of it: a session that stays open for days is dated by its use."""
SWEPT = timedelta(days=30)
"""How far back uncredited uses are searched: older transcripts are mostly pruned, and each search reads all uses."""
TACIT = "tacit"
_USE_ID = re.compile(r"\bu_[0-9a-f]{10,32}\b")
"""A full use id over MCP, its first digits on the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSkill:
    """A version that an attempt was shown, or that was withheld at random."""

    use: Use
    version_id: str
    start: int
    """Index of the first step that it could have guided."""
    inherited: bool = False
    """Whether it was shown to the parent session."""

    @property
    def share(self) -> float:
        """The probability of withholding it; 0 without randomisation."""
        shares = dict(zip(self.use.version_ids, self.use.shares, strict=False))
        return shares.get(self.version_id, 0.0)

    @property
    def control(self) -> bool:
        """Whether it was withheld at random."""
        return self.use.held_back and bool(self.use.shares)


@dataclass(frozen=True, slots=True)
class _CreditedRun:
    """One run with its outcome, and one skill it was shown."""

    trajectory: Trajectory
    assessment: Assessment
    effort: Effort
    shown: ShownSkill


class SkillUsage:
    """What one run was shown or denied, and what it did with it."""

    def __init__(self, store: Store, trajectory: Trajectory) -> None:
        self._store, self._trajectory = store, trajectory

    @cached_property
    def shown(self) -> list[ShownSkill]:
        """What the run was shown or denied, each version once: randomised uses first, then the earliest."""
        store, trajectory = self._store, self._trajectory
        own = store.uses(session_id=trajectory.session_id) if trajectory.session_id else []
        parent = store.uses(session_id=trajectory.parent_session_id) if trajectory.parent_session_id else []
        found: dict[str, ShownSkill] = {}
        for use, inherited in [*((use, False) for use in own), *((use, True) for use in parent)]:
            start = _start(trajectory, use, inherited=inherited)
            if start is None or not _is_informative(use) or (use.held_back and inherited):
                continue
            for version_id in use.version_ids:
                shown = ShownSkill(use=use, version_id=version_id, start=start, inherited=inherited)
                before = found.get(version_id)
                if before is None or (shown.share > 0 and not before.share):
                    found[version_id] = shown
        for shown in _asked_for(store, trajectory):
            found.setdefault(shown.version_id, shown)
        return [*found.values(), *_named_by_client(store, trajectory, known=found)]

    @property
    def guided(self) -> dict[str, int]:
        """The versions that the run was shown, each with the first step it could have guided."""
        return {each.version_id: each.start for each in self.shown if not each.control}

    def evidence(self, assessment: Assessment) -> list[Evidence]:
        """Return the evidence of the run for the skills it was shown; none without a verified outcome."""
        if not assessment.grade.verified or assessment.outcome is Outcome.UNKNOWN:
            return []
        found: dict[str, Evidence] = {}
        effort = effort_of(self._trajectory)
        for shown in self.shown:
            try:
                version = self._store.version(shown.version_id).version
            except NotFound:
                continue  # purged since
            for version_id, aligned in _aligned(self._store, self._trajectory, version, shown):
                ran = _CreditedRun(self._trajectory, assessment, effort, shown)
                made = _evidence(ran, version_id, aligned)
                if made is not None and (version_id not in found or version_id == shown.version_id):
                    found[version_id] = made
        return list(found.values())

    def followed(self, assessment: Assessment) -> dict[str, int]:
        """Return the versions that a verified success was shown and followed, each with the first step it guided."""
        made = self.evidence(assessment) if assessment.verified_success else []
        kept = {each.version_id for each in made if each.use_id and each.following is Following.FOLLOWED}
        return {version_id: start for version_id, start in self.guided.items() if version_id in kept}

    def signals(self) -> list[UsageSignal]:
        """Return whether the run used each skill it was shown, whatever its outcome; unclear cases are left out.

        Signals are dated by the run, so that repeated calls return the same.
        """
        trajectory = self._trajectory
        versions = [(shown, version) for shown in self.shown if (version := _shown_version(self._store, shown))]
        asked = [step.index for step in trajectory.actions if _calls_tacit(step)]
        found: list[UsageSignal] = []
        for shown, version in versions:
            other_texts = [_text_of_version(other) for _, other in versions if other.id != version.id]
            used = was_used(version.content, trajectory, start=shown.start, other_texts=other_texts, asked=asked)
            if used is None or (shown.inherited and not used):
                continue  # a skill shown to the parent is not ignored here
            found.append(
                UsageSignal(
                    key=version.id,
                    at=min(trajectory.ended_at or shown.use.at, shown.use.at + LASTING),
                    by=BY,
                    session_id=trajectory.session_id,
                    sources=(version.id, trajectory.id),
                    heeded=used,
                    use_id=shown.use.id,
                    trajectory_id=trajectory.id,
                )
            )
        return found


def missed_evidence(store: Store, *, at: datetime) -> list[Evidence]:
    """Return evidence that was missed because a use was recorded after its attempt was learned from."""
    uses = [use for use in store.uses() if use.session_id and use.at >= at - SWEPT and _is_informative(use)]
    kept = store.evidence({version_id for use in uses for version_id in use.version_ids})
    known = {item.id for items in kept.values() for item in items}
    credited = {item.use_id for items in kept.values() for item in items}
    waiting = {use.session_id for use in uses if use.id not in credited}
    found: list[Evidence] = []
    for episode in store.episodes():
        if _is_credited(episode) and waiting & {episode.session_id, episode.parent_session_id}:
            made = SkillUsage(store, store.trajectory(episode.id)).evidence(episode.assessment)
            found += [item for item in made if item.id not in known]
    return found


def _shown_version(store: Store, shown: ShownSkill) -> SkillVersion | None:
    """Return the version that was shown, unless it was withheld or purged."""
    try:
        return None if shown.control else store.version(shown.version_id).version
    except NotFound:
        return None


def _text_of_version(version: SkillVersion) -> str:
    content = version.content
    return "\n".join([content.description, content.body, *(step.text for step in content.steps)])


def _asked_for(store: Store, trajectory: Trajectory) -> Iterator[ShownSkill]:
    """Yield the skills that the run requested from Tacit itself, on the command line or over MCP.

    Only use ids in Tacit's own answers count, and only uses of this session.
    """
    for step in trajectory.actions:
        if step.failed or not _calls_tacit(step):
            continue
        for use_id in dict.fromkeys(_USE_ID.findall(step.observation)):
            named = store.resolve(use_id)
            if len(named) != 1:
                continue
            use = store.use(named[0])
            near = step.at is None or abs(use.at - step.at) <= BEFOREHAND
            own = use.session_id in (
                "",
                trajectory.session_id,
                trajectory.parent_session_id,
            ) or use.session_id.startswith(CONNECTION)
            if near and own and _is_informative(use):
                yield from (ShownSkill(use=use, version_id=each, start=step.index + 1) for each in use.version_ids)


def _calls_tacit(step: Step) -> bool:
    if TACIT in step.tool.casefold().split("__"):
        return True
    return any(command.program == TACIT for command in parse_command(shell_text(step.arguments)))


def _named_by_client(store: Store, trajectory: Trajectory, *, known: Collection[str]) -> Iterator[ShownSkill]:
    """Yield skills that the client names in the transcript although no use was recorded.

    A skill of the user may have the same name, so only a version with steps counts that is recallable, the only one of its
    name, and older than the run.
    """
    steps = {plain_skill(step.skill): step for step in reversed(trajectory.steps) if step.skill}
    for name, step in reversed(steps.items()):
        named = current_only(store.catalogue(statuses=RECALLABLE, name=name)) if name else []
        version = named[0].version if len(named) == 1 else None
        if version is None or version.id in known or not wanted_operations(version.content):
            continue
        at = step.at or trajectory.started_at
        if at is not None and version.created_at <= at:
            use = Use(version_ids=(version.id,), task=trajectory.task.text, at=at, surface=CLIENT)
            yield ShownSkill(use=use, version_id=version.id, start=step.index)


def _is_informative(use: Use) -> bool:
    """Whether a use counts: a skill left out for lack of space was neither shown nor withheld at random."""
    return bool(use.shares) or not use.held_back


def _is_credited(episode: Episode) -> bool:
    learned = episode.learned_at is not None and not episode.superseded and not episode.pruned
    return learned and episode.assessment.grade.verified and episode.assessment.outcome is not Outcome.UNKNOWN


def _start(trajectory: Trajectory, use: Use, *, inherited: bool) -> int | None:
    """Return the first step that a use could have guided; nothing if it does not belong to this attempt."""
    begun, ended = trajectory.started_at, trajectory.ended_at
    if begun is None or ended is None:
        return _start_by_words(trajectory, use, inherited=inherited)
    if use.at > ended:
        return None
    if use.at < begun - _lead_time(use, inherited=inherited) and not _is_long_lived(trajectory, use):
        return None
    # A step without a time came no earlier than the one before it.
    dated = begun
    for step in trajectory.steps:
        dated = step.at or dated
        if step.is_action and dated >= use.at:
            return step.index
    return None


def _lead_time(use: Use, *, inherited: bool) -> timedelta:
    """Return how long before the first step a use may come."""
    if inherited:
        return PARENT
    if not use.surface.startswith(HOOK):
        return BEFOREHAND
    return timedelta() if use.task == NAMELESS["call"] else SAME_MOMENT


def _is_long_lived(trajectory: Trajectory, use: Use) -> bool:
    """Whether a use long before the attempt belongs to it: at session start, or with the same task text."""
    if use.surface.startswith(HOOK):
        return use.task == NAMELESS["start"]
    return task_digest(use.task) in _message_digests(trajectory)


def _start_by_words(trajectory: Trajectory, use: Use, *, inherited: bool) -> int | None:
    """Return the step after the message that the use was requested for, where no times are known."""
    places = {} if inherited else _message_digests(trajectory)
    return places.get(task_digest(use.task)) if use.task else None


def _message_digests(trajectory: Trajectory) -> Mapping[str, int]:
    """Return digests of all user messages, each with the index of its message."""
    messages = [(step.text, step.index) for step in trajectory.steps if step.role is Role.USER and not step.is_action]
    found: dict[str, int] = {}
    for text, index in [(trajectory.task.text, 0), *messages]:
        found.setdefault(task_digest(text), index)
    return {name: index for name, index in found.items() if name}


def _aligned(
    store: Store, trajectory: Trajectory, version: SkillVersion, shown: ShownSkill
) -> Iterator[tuple[str, Alignment | None]]:
    """Yield the alignment with a shown version and with each part of a composite, which is credited on its own."""
    if shown.control:
        yield version.id, None
        return
    parts = parts_of(store, version)
    contents = {part.name: part.content for part in parts}
    yield version.id, align(trajectory, version.content, start=shown.start, parts=contents)
    for part in parts:
        yield part.id, align(trajectory, part.content, start=shown.start)


def _evidence(ran: _CreditedRun, version_id: str, aligned: Alignment | None) -> Evidence | None:
    """Return one piece of evidence; none without an alignment, except in a randomised comparison, where every run counts."""
    shown, use, trajectory = ran.shown, ran.shown.use, ran.trajectory
    # Subagents give evidence only where they followed the skill: they are not part of the randomised comparison.
    drawn = shown.share if version_id == shown.version_id and not shown.inherited else 0.0
    if aligned is None and not drawn:
        return None
    if shown.inherited and (aligned is None or aligned.following is Following.IGNORED):
        return None  # it was shown to another context
    made = Evidence(
        version_id=version_id,
        outcome=ran.assessment.outcome,
        grade=ran.assessment.grade,
        at=min(trajectory.ended_at or use.at, use.at + LASTING),
        use_id="" if use.surface == CLIENT else use.id,
        trajectory_id=trajectory.id,
        verifier=ran.assessment.verifier,
        adherence=aligned.adherence if aligned else None,
        following=None if shown.control else aligned.following if aligned else Following.PARTLY,
        control=shown.control,
        share=drawn,
        effort=ran.effort,
        task=task_digest(trajectory.task.text) or task_digest(use.task),
        principal=use.principal,
        scope=use.scope,
        cost_usd=trajectory.usage.cost_usd,
        model=trajectory.environment.model or use.model,
        by=BY,
        note="; ".join(aligned.reasons) if aligned else "",
        id="e_",
    )
    return replace(made, id=content_id("e", made))  # the id covers every field


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
