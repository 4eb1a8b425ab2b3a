"""A store → the attempts that may be learned from: successes that a machine verified, each with its task, tools and teachers.

What is superseded or pruned is left out, and so is what only serves an agent itself: to-do lists, and Tacit's own tools. Which
task an attempt was made at is told by what was asked and by what it found when it began: the same words in another
situation are another task. What may not be learned from is judged by `consolidation`, not here.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.stored import Episode
from tacit.domain.tool import Tool, Turn, turns_of
from tacit.domain.trajectory import Role, Trajectory
from tacit.evidence.credit import task_digest
from tacit.evidence.workspace_changes import changes
from tacit.features.evaluate.task_overlap import initial_observations, same_start
from tacit.gate.content_checks import unquotable
from tacit.text.text_sources import Heard, directive_in, texts_in
from tacit.text.tool_calls import operations_of, plain_name, reads_by_name

_WINDOW, _LAP = 4000, 500
"""Characters of an outside text that are looked into at once, and how many of them once more with what follows."""
_HEAD, _TAIL = 160_000, 40_000
"""Of a longer text, what is looked into: an answer of that size is a log or a dump."""
_AT_MOST = timedelta(days=1)
"""No attempt is looked for that began longer before another one, and might still have been under way."""


def gather(
    store: Store,
    *,
    project: str = "",
    tools: Sequence[Tool] = (),
    named: Callable[[Trajectory], str] | None = None,
) -> list[VerifiedAttempt]:
    """The attempts of a store that a machine verified to have succeeded, oldest first; of one project, if named.

    `tools` are the tools as their documentation describes them; without them, what attempts have called is listed.
    `named` says which task an attempt was made at, where somebody knows that better than words and findings tell it.
    """
    episodes = [episode for episode in store.episodes() if not project or episode.project == project]
    sound = [episode for episode in episodes if _is_sound(episode)]
    whole = {episode.id: _at_work(store.trajectory(episode.id)) for episode in sound}
    crowds = _Crowds(store, episodes, whole)
    taught = _Teachers(store)
    described = _Described(whole.values(), tools)
    attempts = [
        VerifiedAttempt(
            trajectory=whole[episode.id],
            task_key="",
            tools=described.of(whole[episode.id]),
            assessment=episode.assessment,
            taught=taught.of(whole[episode.id]),
            crowded_by=crowds.of(episode),
            obeyed=_obeyed(whole[episode.id]),
        )
        for episode in sound
    ]
    if named:
        return [dataclasses.replace(each, task_key=named(each.trajectory)) for each in attempts]
    return list(_keyed(attempts))


def _is_sound(episode: Episode) -> bool:
    known = episode.assessment
    verified = known.outcome is Outcome.SUCCESS and known.grade is Grade.MACHINE
    return verified and not episode.superseded and not episode.pruned


def _at_work(trajectory: Trajectory) -> Trajectory:
    """An attempt without the calls that only serve the agent itself; it stays the attempt that it was."""
    steps = tuple(step for step in trajectory.steps if not step.is_action or operations_of(step.tool, step.arguments))
    return dataclasses.replace(trajectory, steps=steps, id=trajectory.id)


def _keyed(attempts: Sequence[VerifiedAttempt]) -> Iterator[VerifiedAttempt]:
    """Attempts with the keys of their tasks: the digest of what was asked and, of the first that began so, its id."""
    known: dict[str, list[tuple[Mapping[str, str], str]]] = {}
    for attempt in attempts:
        asked, seen = task_digest(attempt.trajectory.task.text), initial_observations(attempt.turns)
        begun = known.setdefault(asked, [])
        first = next((name for before, name in begun if same_start(before, seen)), "")
        if not first:
            first = attempt.trajectory.id[2:10]
            begun.append((seen, first))
        yield dataclasses.replace(attempt, task_key=f"{asked}.{first}" if asked else "")


def _obeyed(trajectory: Trajectory) -> str:
    """What the checks find grave in an outside text that a later call was taken from; empty: nothing.

    Agents take names and values from what they read all the time. Only a passage that the gate would not quote counts:
    an order that no check finds grave is followed, and learned, like any other advice.
    """
    heard: Heard[str] = Heard()
    heard.add(trajectory.task.text, "", vouched=True)
    for step in trajectory.steps:
        if step.is_action and (told := next(filter(None, map(heard.lender, texts_in(dict(step.arguments)))), None)):
            return told
        if step.text and step.origin_of("text") is not Origin.EXTERNAL and step.role is not Role.AGENT:
            heard.add(step.text, "", vouched=True)
        for text in (step.observation, step.text if step.role is Role.CONTEXT else ""):
            for shown in _windows(text):
                if directive_in(shown) and (found := unquotable(shown)):
                    heard.add(shown, found[0].message, vouched=False)
    return ""


def _windows(text: str) -> Iterator[str]:
    """A text in passages that overlap, so that none hides behind what stands before it or across a border."""
    parts = [text] if len(text) <= _HEAD + _TAIL else [text[:_HEAD], text[-_TAIL:]]
    for part in parts:
        for start in range(0, max(len(part) - _LAP, 1), _WINDOW - _LAP):
            yield part[start : start + _WINDOW]


class _Described:
    """The tools that attempts could have called, as far as documentation or calls tell."""

    def __init__(self, attempts: Iterable[Trajectory], documented: Sequence[Tool]) -> None:
        self._documented = tuple(documented)
        self._given: dict[str, list[frozenset[str]]] = {}
        self._at_hand: dict[tuple[str, str], set[str]] = {}
        for attempt in () if documented else attempts:
            for step in attempt.actions:
                self._given.setdefault(step.tool, []).append(frozenset(step.arguments))
                self._at_hand.setdefault(self._where(attempt), set()).add(step.tool)

    def of(self, attempt: Trajectory) -> tuple[Tool, ...]:
        """Those of one attempt: what it had at hand by its own account, else what attempts in its place have called."""
        if self._documented:
            return self._documented
        called = {step.tool for step in attempt.actions}
        own = {name for name in attempt.environment.tools if operations_of(name, {})}
        names = own | called if own else self._at_hand.get(self._where(attempt), called)
        return tuple(self._tool(name) for name in sorted(names))

    def _tool(self, name: str) -> Tool:
        given = self._given.get(name, [])
        always = frozenset.intersection(*given) if given else frozenset()
        sometimes = frozenset().union(*given) - always
        return Tool(
            name=name,
            required=tuple(sorted(always)),
            optional=tuple(sorted(sometimes)),
            read_only=reads_by_name(plain_name(name)),
        )

    @staticmethod
    def _where(attempt: Trajectory) -> tuple[str, str]:
        return attempt.environment.client, attempt.task.project


class _Teachers:
    """Which attempts the skills were learned from that an agent was shown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[str, tuple[str, ...]] = {}

    def of(self, attempt: Trajectory) -> tuple[tuple[str, ...], ...]:
        uses = self._store.uses(session_id=attempt.session_id) if attempt.session_id else []
        shown = dict.fromkeys(version for use in uses if not use.held_back for version in use.version_ids)
        return tuple(sources for version in shown if (sources := self._of_version(version)))

    def _of_version(self, version_id: str) -> tuple[str, ...]:
        if version_id not in self._sources:
            try:
                self._sources[version_id] = self._store.version(version_id).version.provenance.trajectory_ids
            except NotFound:  # purged since; then its attempts are gone as well
                self._sources[version_id] = ()
        return self._sources[version_id]


class _Crowds:
    """Which attempts changed the same workspace while another one was under way there."""

    def __init__(self, store: Store, episodes: Sequence[Episode], whole: Mapping[str, Trajectory]) -> None:
        self._store = store
        self._whole = dict(whole)
        self._dated = sorted(
            ((episode.started_at, episode) for episode in episodes if episode.started_at and not episode.pruned),
            key=lambda pair: (pair[0], pair[1].id),
        )

    def of(self, episode: Episode) -> str:
        """The id of an attempt that shared the workspace with this one; empty: none is known of."""
        own = self._whole[episode.id]
        began, ended = own.started_at, own.ended_at
        if not own.environment.workspace or began is None or ended is None:
            return ""
        first = bisect_left(self._dated, began - _AT_MOST, key=itemgetter(0))
        last = bisect_right(self._dated, ended, key=itemgetter(0))
        near = (other for _, other in self._dated[first:last] if not _is_kin(other, episode))
        return next((other.id for other in near if self._is_crowding(other, own)), "")

    def _is_crowding(self, episode: Episode, own: Trajectory) -> bool:
        other = self._whole.get(episode.id)
        if other is None:
            other = self._whole[episode.id] = self._store.trajectory(episode.id)
        here, there = own.environment, other.environment
        if (here.workspace, here.branch) != (there.workspace, there.branch):
            return False
        began, ended = own.started_at, own.ended_at
        meanwhile = [step for step in other.actions if step.at and began and ended and began <= step.at <= ended]
        return any(changes(step) for step in meanwhile)


def _is_kin(one: Episode, other: Episode) -> bool:
    """Whether two attempts are one, of one session, or one of them a subagent's of the other."""
    mine = {one.session_id, one.parent_session_id} - {""}
    return one.id == other.id or one.superseded or bool(mine & {other.session_id, other.parent_session_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedAttempt:
    """One attempt at a task with all that decides whether it may be learned from."""

    trajectory: Trajectory
    task_key: str
    """Which task it was: attempts with one key are attempts at one task."""
    tools: tuple[Tool, ...]
    """What the agent could have called, as it will be told while it works."""
    assessment: Assessment = Assessment()
    state: str = ""
    """A fingerprint of what the attempt began from, where somebody took one; empty: nobody knows."""
    taught: tuple[tuple[str, ...], ...] = ()
    """For each skill that the agent was shown: the trajectories which that skill was learned from."""
    crowded_by: str = ""
    """Id of an attempt that changed the same workspace while this one was under way; empty: none is known of."""
    obeyed: str = ""
    """An outside text that told its reader what to do, and that a later call was taken from; empty: none is known of."""

    @property
    def verified_by(self) -> str:
        """Who vouches for its success; empty: nobody."""
        return self.assessment.verifier or str(self.assessment.grade) if self.assessment.verified_success else ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The calls that were made, and what came back."""
        return tuple(turns_of(self.trajectory))
