"""Makes evidence of a captured run for the skills it was shown, by aligning the run with each skill.

What was shown counts only for the steps after it. Without a verified outcome there is no evidence. Ids and dates come from
the run and the use, so crediting a run again adds nothing. Nothing is stored here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Assessment, Effort, Evidence, Following, Outcome, Use
from tacit.domain.identity import content_id
from tacit.domain.ledger import UsageSignal
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import SkillVersion
from tacit.domain.stored import Episode, current_only
from tacit.domain.trajectory import Role, Step, Trajectory
from tacit.evidence.attribution import Alignment, align, plain_skill, wanted_operations
from tacit.evidence.credit import NAMELESS, effort_of, task_digest
from tacit.evidence.usage import was_used
from tacit.store import Store
from tacit.store.queries import parts_of
from tacit.text.shell import parse_command, shell_text

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
