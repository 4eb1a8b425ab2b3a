"""A captured run → evidence for the skills that it was shown: the uses that fall into it, each aligned with what was done.

A session has several attempts, and something that was shown counts only for the steps after it. No verified outcome, no
evidence. All of it comes from the run and the use, its id and date too, so that crediting a run again adds nothing; a
longer capture of the same attempt gives later evidence for the same use. Nothing is kept here: that is for `publishing.keep`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Assessment, Effort, Evidence, Following, Outcome, Use
from tacit.domain.heed import Heed
from tacit.domain.identity import content_id
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Store
from tacit.domain.skill import SkillVersion
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Role, Step, Trajectory
from tacit.evidence.attribution import Alignment, align
from tacit.evidence.attribution.alignment import plain_skill
from tacit.evidence.attribution.wanting import wanted_of
from tacit.evidence.credit import NAMELESS, effort_of, task_digest
from tacit.evidence.heeding import heeded
from tacit.recall.filters import current_only
from tacit.recall.retrieval import parts_of
from tacit.text.shell import parse_command, shell_text

BY = "tacit.credit"
HOOK = "hook"
CONNECTION = "mcp-"
"""Begins the session of what was asked over MCP: no client tells its own there, so that each connection is one."""
CLIENT = "client"
"""Stands for a use that nobody noted: the client itself found an exported skill, and names it in the transcript."""
SAME_MOMENT = timedelta(seconds=10)
"""A hook answers at the moment of the message; the client may date the message itself a little later."""
BEFOREHAND = timedelta(minutes=5)
"""Who asks by themselves may do so somewhat before the first step."""
PARENT = timedelta(hours=1)
"""How long before a subagent began its parent may have been shown what it then acted on."""
LASTING = timedelta(days=1)
"""A run is believed to have ended at most so long after something was shown to it."""
SWEPT = timedelta(days=30)
"""How far back uses are looked for that nobody has credited."""
TACIT = "tacit"
_USE_ID = re.compile(r"\bu_[0-9a-f]{10,32}\b")
"""Whole over MCP, and its beginning at the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A version that an attempt was shown, or that was held back from it by lot."""

    use: Use
    version_id: str
    start: int
    """Index of the first step that it could have guided."""
    inherited: bool = False
    """Whether it was shown to the session that started this one."""

    @property
    def share(self) -> float:
        """The chance that the run had of going without it; 0: no lot was drawn."""
        shares = dict(zip(self.use.version_ids, self.use.shares, strict=False))
        return shares.get(self.version_id, 0.0)

    @property
    def control(self) -> bool:
        """Whether it was held back by lot."""
        return self.use.held_back and bool(self.use.shares)


@dataclass(frozen=True, slots=True)
class _Ran:
    """One run with what it came to, and one thing that it was shown."""

    trajectory: Trajectory
    assessment: Assessment
    effort: Effort
    shown: Shown


def credit(store: Store, trajectory: Trajectory, assessment: Assessment) -> list[Evidence]:
    """The evidence that a run gives for what it was shown; none without a verified outcome."""
    if not assessment.grade.verified or assessment.outcome is Outcome.UNKNOWN:
        return []
    found: dict[str, Evidence] = {}
    effort = effort_of(trajectory)
    for shown in shown_to(store, trajectory):
        try:
            version = store.version(shown.version_id).version
        except NotFound:
            continue  # purged since
        for version_id, aligned in _aligned(store, trajectory, version, shown):
            ran = _Ran(trajectory, assessment, effort, shown)
            made = _evidence(ran, version_id, aligned)
            if made is not None and (version_id not in found or version_id == shown.version_id):
                found[version_id] = made
    return list(found.values())


def heeds(store: Store, trajectory: Trajectory) -> list[Heed]:
    """Whether a run used what it was shown, however it ended; none where that cannot be told.

    It is dated by the run, so that looking at it again says the same.
    """
    told = [(shown, version) for shown in shown_to(store, trajectory) if (version := _held(store, shown))]
    asked = [step.index for step in trajectory.actions if _calls_tacit(step)]
    found: list[Heed] = []
    for shown, version in told:
        besides = [_said_by(other) for _, other in told if other.id != version.id]
        used = heeded(version.content, trajectory, start=shown.start, besides=besides, asked=asked)
        if used is None or (shown.inherited and not used):
            continue  # what was told to another context is not passed over here
        found.append(
            Heed(
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


def _held(store: Store, shown: Shown) -> SkillVersion | None:
    """What was shown, unless it was held back or purged since."""
    try:
        return None if shown.control else store.version(shown.version_id).version
    except NotFound:
        return None


def _said_by(version: SkillVersion) -> str:
    content = version.content
    return "\n".join([content.description, content.body, *(step.text for step in content.steps)])


def followed(store: Store, trajectory: Trajectory, assessment: Assessment) -> dict[str, int]:
    """What a verified success was shown by a use that was noted, and followed: version → the first step that it guided."""
    if not assessment.verified_success:
        return {}
    told = [item for item in credit(store, trajectory, assessment) if item.use_id]
    kept = {item.version_id for item in told if item.following is Following.FOLLOWED}
    return {version_id: start for version_id, start in guided_by(store, trajectory).items() if version_id in kept}


def sweep(store: Store, *, at: datetime) -> list[Evidence]:
    """What was missed because a use came to be known only after its attempt had been learned from."""
    uses = [use for use in store.uses() if use.session_id and use.at >= at - SWEPT and _tells(use)]
    kept = store.evidence({version_id for use in uses for version_id in use.version_ids})
    known = {item.id for items in kept.values() for item in items}
    credited = {item.use_id for items in kept.values() for item in items}
    waiting = {use.session_id for use in uses if use.id not in credited}
    found: list[Evidence] = []
    for episode in store.episodes():
        if _counts(episode) and waiting & {episode.session_id, episode.parent_session_id}:
            made = credit(store, store.trajectory(episode.id), episode.assessment)
            found += [item for item in made if item.id not in known]
    return found


def shown_to(store: Store, trajectory: Trajectory) -> list[Shown]:
    """What an attempt was shown or denied by lot, each version once: by lot first, then as early as possible."""
    own = store.uses(session_id=trajectory.session_id) if trajectory.session_id else []
    parent = store.uses(session_id=trajectory.parent_session_id) if trajectory.parent_session_id else []
    found: dict[str, Shown] = {}
    for use, inherited in [*((use, False) for use in own), *((use, True) for use in parent)]:
        start = _start(trajectory, use, inherited=inherited)
        if start is None or not _tells(use) or (use.held_back and inherited):
            continue
        for version_id in use.version_ids:
            shown = Shown(use=use, version_id=version_id, start=start, inherited=inherited)
            before = found.get(version_id)
            if before is None or (shown.share > 0 and not before.share):
                found[version_id] = shown
    for shown in _asked_for(store, trajectory):
        found.setdefault(shown.version_id, shown)
    return [*found.values(), *_taken_up(store, trajectory, known=found)]


def guided_by(store: Store, trajectory: Trajectory) -> dict[str, int]:
    """The versions that an attempt was shown, each with the first step that it could have guided."""
    return {each.version_id: each.start for each in shown_to(store, trajectory) if not each.control}


def _asked_for(store: Store, trajectory: Trajectory) -> Iterator[Shown]:
    """What the run asked Tacit for by itself, in a shell or over MCP: the answer in the transcript names the use.

    Only Tacit's own answers count, for anything may stand in a file; and only uses of no other session.
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
            own = use.session_id in ("", trajectory.session_id) or use.session_id.startswith(CONNECTION)
            if near and own and _tells(use):
                yield from (Shown(use=use, version_id=each, start=step.index + 1) for each in use.version_ids)


def _calls_tacit(step: Step) -> bool:
    if TACIT in step.tool.casefold().split("__"):
        return True
    return any(command.program == TACIT for command in parse_command(shell_text(step.arguments)))


def _taken_up(store: Store, trajectory: Trajectory, *, known: Collection[str]) -> Iterator[Shown]:
    """Skills that the client names in the transcript though no use was noted.

    Somebody's own skill may have the same name, so that only what has steps to look for counts, and only the one version
    that it can have been: recallable, the only one of its name, and made before the run.
    """
    steps = {plain_skill(step.skill): step for step in reversed(trajectory.steps) if step.skill}
    for name, step in reversed(steps.items()):
        held = current_only(store.catalogue(statuses=RECALLABLE, name=name)) if name else []
        version = held[0].version if len(held) == 1 else None
        if version is None or version.id in known or not wanted_of(version.content):
            continue
        at = step.at or trajectory.started_at
        if at is not None and version.created_at <= at:
            use = Use(version_ids=(version.id,), task=trajectory.task.text, at=at, surface=CLIENT)
            yield Shown(use=use, version_id=version.id, start=step.index)


def _tells(use: Use) -> bool:
    """Whether anything follows from a use: what was left out for want of room was neither shown nor held back by lot."""
    return bool(use.shares) or not use.held_back


def _counts(episode: Episode) -> bool:
    learned = episode.learned_at is not None and not episode.superseded and not episode.pruned
    return learned and episode.assessment.grade.verified and episode.assessment.outcome is not Outcome.UNKNOWN


def _start(trajectory: Trajectory, use: Use, *, inherited: bool) -> int | None:
    """The first step that a use could have guided; nothing if it does not belong to this attempt."""
    begun, ended = trajectory.started_at, trajectory.ended_at
    if begun is None or ended is None:
        return _start_by_words(trajectory, use, inherited=inherited)
    if use.at > ended:
        return None
    if use.at < begun - _reach(use, inherited=inherited) and not _lasts(trajectory, use):
        return None
    # A step without a time of its own was taken no earlier than the one before it.
    dated = begun
    for step in trajectory.steps:
        dated = step.at or dated
        if step.is_action and dated >= use.at:
            return step.index
    return None


def _reach(use: Use, *, inherited: bool) -> timedelta:
    """How long before the first step something may have been shown that belongs to it."""
    if inherited:
        return PARENT
    if not use.surface.startswith(HOOK):
        return BEFOREHAND
    return timedelta() if use.task == NAMELESS["call"] else SAME_MOMENT


def _lasts(trajectory: Trajectory, use: Use) -> bool:
    """Whether something from long before still belongs to an attempt: the session's start, or who asked in the same words."""
    if use.surface.startswith(HOOK):
        return use.task == NAMELESS["start"]
    return task_digest(use.task) in _asked(trajectory)


def _start_by_words(trajectory: Trajectory, use: Use, *, inherited: bool) -> int | None:
    """Where nothing is dated: after the message that was asked for."""
    places = {} if inherited else _asked(trajectory)
    return places.get(task_digest(use.task)) if use.task else None


def _asked(trajectory: Trajectory) -> Mapping[str, int]:
    """Everything that was asked in an attempt, as digests, with the index of the message."""
    said = [(step.text, step.index) for step in trajectory.steps if step.role is Role.USER and not step.is_action]
    found: dict[str, int] = {}
    for text, index in [(trajectory.task.text, 0), *said]:
        found.setdefault(task_digest(text), index)
    return {name: index for name, index in found.items() if name}


def _aligned(
    store: Store, trajectory: Trajectory, version: SkillVersion, shown: Shown
) -> Iterator[tuple[str, Alignment | None]]:
    """How the run stands to what was shown, and to each part of it: a composite's parts are credited for themselves."""
    if shown.control:
        yield version.id, None
        return
    parts = parts_of(store, version)
    contents = {part.name: part.content for part in parts}
    yield version.id, align(trajectory, version.content, start=shown.start, parts=contents)
    for part in parts:
        yield part.id, align(trajectory, part.content, start=shown.start)


def _evidence(ran: _Ran, version_id: str, aligned: Alignment | None) -> Evidence | None:
    """One piece of evidence; none where nothing can be told, unless a lot was drawn: then every run counts."""
    shown, use, trajectory = ran.shown, ran.shown.use, ran.trajectory
    # Of a subagent only the following ones are told, and no controls: they are no part of what the lot compares.
    drawn = shown.share if version_id == shown.version_id and not shown.inherited else 0.0
    if aligned is None and not drawn:
        return None
    if shown.inherited and (aligned is None or aligned.following is Following.IGNORED):
        return None  # it was told to another context
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
    return replace(made, id=content_id("e", made))  # of all that it says: told otherwise, it is other evidence
